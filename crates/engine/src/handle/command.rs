//! The handle of a session, and the commands that it sends to the driver.
//!
//! They are in one file because they depend on each other: an agent's session is passed to the delegating
//! session.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;
use tiller_core::setting::{DeliveryMode, SteeringPoint, Switch};

use tiller_core::background_job::CommandJob;
use tiller_core::delegated_task::{BackgroundCall, BackgroundTask, DelegatedTask};
use tiller_core::elicitation::ElicitationAnswer;
use tiller_core::event::{
    CompactionChoice, CompactionResult, Decision, Event, QueueItem, QueueKind, SessionChange,
};
use tiller_core::id::{CallId, ElicitationId, EntryId, JobId, QueueId, SessionId};
use tiller_core::message::{BashExecutionMessage, Message, ModelRef, ThinkingLevel};
use tiller_core::setting::SettingScope;
use tiller_core::tool_catalog::ToolCatalog;
use tiller_provider::{CycleDirection, Model, ScopedModel};
use tiller_session::{Catalog, EntryBody, ModelUsage, Reader, SessionList, SessionScope, Visibility};
use tiller_tools::policy::{ApprovalMode, ConfiguredRules, PermissionRule};
use tiller_tools::tool::{ServedResource, ToolServerStatus};
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::error::AgentError;
use super::model_change::{ChosenModel, LockedModel, ProviderChange};
use super::offered_tool::OfferedTool;
use super::prompt::{BashContext, PromptOptions};
use super::session_status::{RunReport, SessionStats, Status};
use super::snapshot::Snapshot;
use crate::agents::{AgentDefinition, BackgroundNote, EndedTask, ParentSession, RunningAgent, TaskRecord};
use crate::approvals::Approver;
use crate::attachment::FileToAttach;
use crate::context_breakdown::ContextBreakdown;
use crate::extension::EventForwarder;
use crate::queue::QueueEdit;
use crate::remote_session::ConnectionState;
use crate::resources::{AgentCommand, Inventory, ReloadRequest};
use crate::turn::{AbortCause, QueueHandling};

/// A handle to a session with an agent. Clones share the session; it closes when the last one is dropped.
///
/// [`SessionBuilder`](crate::SessionBuilder) starts a session with defaults.
///
/// # Examples
/// A session with the demo, which needs no network. Other providers come from [`ProviderRegistry::with_keys`].
///
/// ```no_run
/// use std::sync::Arc;
///
/// use tiller_engine::{PromptOptions, SessionBuilder};
/// use tiller_provider::ProviderRegistry;
/// use tiller_provider::demo::Demo;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut providers = ProviderRegistry::default();
/// providers.add(Arc::new(Demo), vec![Demo::facts()]);
///
/// let agent = SessionBuilder::new(providers).start(&std::env::temp_dir())?;
/// agent.prompt("Hello", PromptOptions::default()).await?;
/// agent.follow_up("Thank you").await?;
/// agent.settled().await?;
/// println!("{}", agent.last_answer_text().await?.unwrap_or_default());
/// agent.close().await?;
/// # Ok(())
/// # }
/// ```
///
/// [`ProviderRegistry::with_keys`]: tiller_provider::ProviderRegistry::with_keys
#[derive(Clone)]
pub struct AgentSession {
    pub(crate) commands: mpsc::Sender<DriverCommand>,
    pub(crate) events: broadcast::WeakSender<Arc<Event>>,
    pub(crate) reader: watch::Receiver<Reader>,
    pub(crate) notices: Arc<[String]>,
    pub(crate) tool_catalog: ToolCatalog,
    /// `None` in a front end of another process's session, which has the extensions.
    pub(crate) forwarder: Option<Arc<EventForwarder>>,
    /// The connection to the process that has the session open; `None` if this process has it open.
    pub(crate) connection: Option<watch::Receiver<ConnectionState>>,
}

impl AgentSession {
    pub(super) async fn send<T>(
        &self,
        command: impl FnOnce(Reply<T>) -> DriverCommand,
    ) -> Result<T, AgentError> {
        let result = send(&self.commands, command).await;
        let is_lost = || self.connection.as_ref().is_some_and(|state| state.borrow().is_lost());
        result.map_err(|error| match error {
            AgentError::Closed if is_lost() => AgentError::Disconnected,
            error => error,
        })
    }

    /// Returns the state of the connection to the process that has the session open; `None` if this process has
    /// it open.
    #[must_use]
    pub fn connection(&self) -> Option<watch::Receiver<ConnectionState>> {
        self.connection.clone()
    }

    /// Returns a handle that doesn't keep the session open.
    pub(crate) fn downgrade(&self) -> WeakSession {
        WeakSession { commands: self.commands.downgrade() }
    }
}

/// A handle that doesn't keep its session open.
#[derive(Clone, Debug)]
pub(crate) struct WeakSession {
    commands: mpsc::WeakSender<DriverCommand>,
}

impl WeakSession {
    pub(crate) async fn send<T>(
        &self,
        command: impl FnOnce(Reply<T>) -> DriverCommand,
    ) -> Result<T, AgentError> {
        let commands = self.commands.upgrade().ok_or(AgentError::Closed)?;
        send(&commands, command).await
    }

    /// Returns the state that the session's agents inherit.
    pub(crate) async fn parent(&self) -> Result<ParentSession, AgentError> {
        let parent: Box<ParentSession> =
            self.send(|reply| DriverCommand::Delegation(DelegationCommand::Parent { reply })).await?;
        Ok(*parent)
    }
}

async fn send<T>(
    commands: &mpsc::Sender<DriverCommand>,
    command: impl FnOnce(Reply<T>) -> DriverCommand,
) -> Result<T, AgentError> {
    let (reply, answer) = oneshot::channel();
    commands.send(command(reply)).await.map_err(|_| AgentError::Closed)?;
    answer.await.map_err(|_| AgentError::Closed)?
}

pub(crate) type Reply<T> = oneshot::Sender<Result<T, AgentError>>;

/// Commands that create attachment blocks.
pub(crate) enum AttachCommand {
    Read { files: Vec<FileToAttach>, reply: Reply<Vec<Result<String, String>>> },
    Text { text: String, reply: Reply<String> },
}

pub(crate) enum DriverCommand {
    Prompt { text: String, options: PromptOptions, reply: Reply<()> },
    Abort { queue: QueueHandling, cause: AbortCause, reply: Reply<Vec<QueueItem>> },
    SteerNow { text: Option<String>, options: PromptOptions, reply: Reply<()> },
    Attach(AttachCommand),
    AbortRetry { reply: Reply<()> },
    EditQueued { id: QueueId, edit: QueueEdit, reply: Reply<QueueItem> },
    Hold { id: QueueId, reply: Reply<()> },
    Release { id: QueueId, reply: Reply<()> },
    PutBack { item: QueueItem, position: usize, reply: Reply<()> },
    ClearQueue { kind: Option<QueueKind>, reply: Reply<Vec<QueueItem>> },
    RemoveQueued { id: QueueId, reply: Reply<QueueItem> },
    SetApprover { approver: Approver, reply: Reply<()> },
    Decide { call: CallId, decision: Decision, reply: Reply<()> },
    AnswerElicitation { id: ElicitationId, answer: ElicitationAnswer, reply: Reply<()> },
    Permission(PermissionCommand),
    Delegation(DelegationCommand),
    BackgroundJob(BackgroundJobCommand),
    Bash { line: String, context: BashContext, reply: Reply<()> },
    ExecuteBash { line: String, context: BashContext, reply: Reply<BashExecutionMessage> },
    AbortBash { reply: Reply<()> },
    SetModel { words: String, reply: Reply<ModelRef> },
    CycleModel { direction: CycleDirection, reply: Reply<Option<ChosenModel>> },
    ChangeProvider { change: ProviderChange, reply: Reply<()> },
    ScopedModels { reply: Reply<Vec<ScopedModel>> },
    SetThinking { level: ThinkingLevel, reply: Reply<ThinkingLevel> },
    CycleThinking { reply: Reply<Option<ThinkingLevel>> },
    ThinkingLevels { reply: Reply<Vec<ThinkingLevel>> },
    Configure { change: OptionChange, reply: Reply<()> },
    TogglePlan { reply: Reply<Option<String>> },
    CreateLog { reply: Reply<()> },
    Rename { name: String, reply: Reply<()> },
    Label { entry: EntryId, label: Option<String>, reply: Reply<()> },
    Hide { entry: EntryId, visibility: Visibility, reply: Reply<()> },
    Switch { to: SwitchTarget, reply: Reply<SessionSwitched> },
    CreateFork { entry: EntryId, reply: Reply<ForkedSession> },
    Expand { text: String, reply: Reply<String> },
    LeaveBranch { entry: EntryId, instructions: Option<String>, reply: Reply<SessionSwitched> },
    Compact { instructions: Option<String>, reply: Reply<CompactionResult> },
    Truncate { reply: Reply<CompactionResult> },
    AbortCompaction { reply: Reply<()> },
    ResolveCompaction { choice: CompactionChoice, reply: Reply<()> },
    Resources { request: ReloadRequest, reply: Reply<Inventory> },
    ServedResources { reply: Reply<Vec<ServedResource>> },
    SlashCommands { reply: Reply<Vec<AgentCommand>> },
    Models { reply: Reply<Vec<Model>> },
    LockedModels { reply: Reply<Vec<LockedModel>> },
    Tools { reply: Reply<Vec<OfferedTool>> },
    ToolServers { reply: Reply<Vec<ToolServerStatus>> },
    OfferTools { names: Vec<String>, reply: Reply<()> },
    ChangeSession { path: PathBuf, operation: OtherSessionOp, reply: Reply<()> },
    Sessions { scope: SessionScope, reply: Reply<SessionList> },
    Catalog { reply: Reply<Catalog> },
    Snapshot { reply: Reply<Box<Snapshot>> },
    Status { reply: Reply<Box<Status>> },
    Settled { reply: Reply<RunReport> },
    Stats { reply: Reply<Box<SessionStats>> },
    ContextBreakdown { reply: Reply<Box<ContextBreakdown>> },
    Messages { reply: Reply<Vec<Arc<Message>>> },
    Close { reply: Reply<()> },
}

/// Commands on the session's permissions.
pub(crate) enum PermissionCommand {
    List { reply: Reply<Vec<PermissionRule>> },
    Revoke { rule: PermissionRule, reply: Reply<()> },
    Configured { reply: Reply<ConfiguredRules> },
    Configure { rules: ConfiguredRules, reply: Reply<Vec<CallId>> },
    ConfigureFile { scope: SettingScope, rules: ConfiguredRules, reply: Reply<Vec<CallId>> },
    AddDir { typed: String, reply: Reply<PermissionRule> },
}

/// Commands about agents that are working for the session.
pub(crate) enum DelegationCommand {
    Parent { reply: Reply<Box<ParentSession>> },
    Started { start: Box<DelegatedTask>, session: AgentSession, reply: Reply<()> },
    Ended { task: EndedTask, reply: Reply<()> },
    BackgroundStarted { call: Option<BackgroundCall>, reply: Reply<()> },
    CouldNotStart { call: CallId, number: usize, reply: Reply<()> },
    Notify { note: BackgroundNote, reply: Reply<()> },
    Used { usage: Vec<ModelUsage>, reply: Reply<()> },
    EndInterrupted { reply: Reply<()> },
    RecordRace { entry: EntryBody, reply: Reply<()> },
    List { reply: Reply<Vec<RunningAgent>> },
    Tasks { reply: Reply<Vec<TaskRecord>> },
    Waiting { reply: Reply<Vec<BackgroundTask>> },
    Definitions { reply: Reply<Vec<AgentDefinition>> },
    Find { id: SessionId, reply: Reply<AgentSession> },
}

/// Commands about background jobs.
pub(crate) enum BackgroundJobCommand {
    List { reply: Reply<Vec<CommandJob>> },
    Stop { id: JobId, reply: Reply<()> },
    MoveCalls { reply: Reply<()> },
}

/// An option that can change at run time.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) enum OptionChange {
    SteeringPoint(SteeringPoint),
    SteeringMode(DeliveryMode),
    FollowUpMode(DeliveryMode),
    Retry(Switch),
    Compaction(Switch),
    AgentDeltas(Switch),
    Approval(ApprovalMode),
    /// Sets the most permissive mode that can be set, and the mode if the current one is more permissive.
    ApprovalLimit(ApprovalMode),
    ConfiguredApproval(ApprovalMode),
}

pub(crate) enum SwitchTarget {
    New,
    NewAfter(PathBuf),
    Copy,
    Open(PathBuf),
    Fork(EntryId),
    ForkOf(PathBuf),
    Leaf { entry: EntryId, summary: Option<String> },
}

/// An operation on a session, which might not be the active one.
pub(crate) enum OtherSessionOp {
    Name(String),
    Trash,
    Restore,
}

/// A session that was forked without switching to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForkedSession {
    /// Its id.
    pub session: SessionId,
    /// Path of its log; `None` if sessions are kept in memory only.
    pub path: Option<PathBuf>,
}

/// Result of switching the session or branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionSwitched {
    /// Kind of the switch.
    pub change: SessionChange,
    /// Id of the session that is active now.
    pub session: SessionId,
    /// Text for the editor: the text of the user message after the new leaf.
    pub editor: Option<String>,
}
