//! The agent: what makes the engines converse.
//!
//! [`AgentSession`] is a handle: commands in, events out, queries. Behind it one task, the driver, owns the log's
//! writer, the queues and every job; what happens next is decided by the pure machine in [`turn`]. Front ends hold a
//! handle and a [`Reader`](tiller_session::Reader), and nothing else.

mod approvals;
mod attachment;
mod bash;
pub mod compaction;
mod context_breakdown;
mod driver;
mod embed;
mod expand;
pub mod extension;
mod handle;
pub mod instructions;
mod interactive;
mod keys;
mod listener;
pub mod partial;
pub mod queue;
mod resources;
pub mod retry;
mod sight;
pub mod skill;
mod system_prompt;
pub mod template;
pub mod turn;
pub mod watch;

pub use approvals::Audience;
pub use attachment::{FileToAttach, LARGEST_FILE, attachment_labels, read_attachment};
pub use context_breakdown::{ContextBreakdown, ContextKind, ContextPart};
pub use driver::{AgentOptions, AnswerOptions, Choice, FirstModel, Offer, OutputOptions, Parts, SyncPolicy};
pub use embed::{EmbedError, RunRequest, RunResult, Setup, run};
pub use handle::{
    Activity, AgentError, AgentSession, BashContext, Beside, BranchSummary, ChosenModel, ContextUse,
    CycleScope, EventStream, Expansion, Lagged, Length, Live, LockedModel, Moved, OfferedTool, PromptOptions,
    ProviderChange, QueueStatus, RunningBash, RunningCall, SessionStats, Settled, Snapshot, State, Status,
    StreamingBehavior, Summarizing, SummaryOf, ToolStanding,
};
pub use interactive::{Unrunnable, unrunnable};
pub use keys::{Answers, KeyChange, KeyDesk, KeyHolder, KeyOrigin};
pub use listener::{Buffered, Heard, Listener};
pub use resources::{CommandSource, Inventory, Resources, SlashCommand, Sources, Watching};
pub use system_prompt::SystemPrompt;
pub use tiller_provider::Direction;
pub use tiller_tools::policy::{FolderAccess, Mode as ApprovalMode, Rule as Permission};
