//! The engine: runs an agent on a session.
//!
//! [`AgentSession`] is a handle for commands, events and queries. Behind it, one task, the driver, owns the
//! log's writer, the queue and all jobs. Two pure state machines make the decisions: `turn` for runs,
//! [`compaction`] for summaries. Front ends hold only the handle and a [`Reader`](tiller_session::Reader).

pub mod agents;
mod approval_strictness;
mod approvals;
mod attachment;
mod bash;
mod budget;
pub mod compaction;
mod context_breakdown;
mod credentials;
mod definition_files;
mod driver;
mod embed;
mod expand;
pub mod extension;
mod fallback;
mod foreign_tools;
mod handle;
pub mod instructions;
mod interactive;
mod message_builder;
mod options;
pub mod queue;
pub mod remote_session;
mod repetition;
mod resource_mention;
mod resources;
mod retry;
mod rule_store;
mod sent_item;
pub mod skill;
pub mod slash_command;
mod strip_images;
mod subscription;
mod system_prompt;
mod task_plan;
pub mod template;
mod turn;
pub mod views;
pub mod watch;

pub use approvals::{Approver, only_reads};
pub use attachment::{
    FileToAttach, MAX_FILE_BYTES, attachment_labels, encode_media, read_attachment, read_media,
};
pub use budget::{BudgetOptions, BudgetPeriod, BudgetStatus};
pub use context_breakdown::{ContextBreakdown, ContextKind, ContextPart};
pub use credentials::{
    CredentialChange, CredentialOrigin, CredentialStore, KeyChangeOutcome, ProviderCredential,
    SUBSCRIPTION_NOTE,
};
pub use driver::{FirstModel, ModelChoice, SessionParts};
pub use embed::{EmbedError, RunRequest, RunResult, SessionBuilder, run};
pub use handle::{
    Activity, AgentError, AgentOverview, AgentSession, BashContext, BranchSummary, ChosenModel, ContextUse,
    CycleScope, EventStream, Expansion, ForkedSession, InFlight, Lag, LengthCheck, LockedModel, OfferState,
    OfferedTool, PromptOptions, ProviderChange, QueueStatus, RunReport, RunningBash, RunningCall,
    SessionState, SessionStats, SessionSwitched, Snapshot, Status, StreamingBehavior, SummaryInProgress,
    SummarySubject,
};
pub use interactive::{CommandRefusal, unrunnable};
pub use options::{AgentOptions, AnswerOptions, BackgroundTasks, ToolOffer};
pub use resources::{AgentCommand, CommandSource, Inventory, ResourcePaths, Resources, WatchMode};
pub use retry::RetryOptions;
pub use rule_store::{RuleFile, RuleFiles, RuleStore};
pub use subscription::{BufferedSubscription, Subscription, SubscriptionItem};
pub use system_prompt::SystemPrompt;
pub use tiller_core::setting::{ApprovalMode, SteeringPoint, Switch, SyncPolicy};
pub use tiller_provider::CycleDirection;
pub use tiller_tools::policy::{
    ConfiguredRule, ConfiguredRules, DirAccess, PermissionRule as Permission, RuleSource,
};
pub use tiller_tools::tool::{ServedResource, ToolServerStatus, built_in_tools};
pub use turn::{RetryAnnouncement, TurnOptions};
