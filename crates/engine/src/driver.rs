//! The task that owns a session: the log's writer, the turn machine, and all jobs.
//!
//! Commands and job events come in; the machines in [`turn`](super::turn) and
//! [`compaction`](super::compaction) decide; the effects are performed in order. An effect that waits for the
//! disk delays the effects after it, never the loop. Order: persist, act, then emit events.

mod active_session;
mod attached_resources;
mod background_jobs;
mod bash;
mod child_agents;
mod child_agents_state;
mod clock;
mod commands;
mod compaction;
mod effects;
mod elicitation_state;
mod elicitations;
mod external_appends;
mod fallback;
mod first_model;
mod hook_state;
mod hooks;
pub(super) mod job_event;
mod job_events;
mod jobs;
mod model;
mod prompt_review;
mod queries;
mod resource_prompts;
mod resource_state;
mod resources;
mod run_tracing;
mod served_tools;
mod spending;
mod spending_state;
mod summarize_job;
mod summary_state;
mod tool_servers;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tiller_core::event::{Event, EventKind, QueueItem};
use tiller_core::message::Message;
use tiller_core::tool_catalog::ToolCatalog;
use tiller_provider::ProviderRegistry;
use tiller_session::{Reader, SessionError, SessionManager, Writer};
use tiller_tools::process::Runner;
use tiller_tools::tool::{ConnectedServers, Tools};
use tokio::sync::{broadcast, mpsc, watch};

use super::agents::SessionLink;
use super::approvals::Approvals;
use super::extension::{EventForwarder, ExtensionHost, Extensions, SessionSource};
use super::handle::{AgentError, AgentSession, COMMANDS, DriverCommand, EVENTS, Reply, RunReport};
use super::message_builder::MessageBuilder;
use super::options::{AgentOptions, BackgroundTasks};
use super::queue::Queue;
use super::resources::Resources;
use super::retry::RetryOptions;
use super::system_prompt::SystemPrompt;
use super::turn::{Effect, Input, OpenEvents, Turn};

use active_session::{ActiveSession, RunFacts};
use child_agents_state::ChildAgents;
use clock::now;
use elicitation_state::Elicitations;
use hook_state::Hooks;
use job_event::JobEvent;
use jobs::Jobs;
use resource_prompts::PromptsWithResources;
use resource_state::ResourceState;
use run_tracing::RunTracer;
use served_tools::ServedTools;
use spending_state::SpendingState;
use summary_state::SummaryState;

pub use first_model::{FirstModel, ModelChoice};

/// Capacity of the job event channel; a full channel slows the stream down, not the loop.
const JOB_EVENT_CAPACITY: usize = 1_024;

/// Maximum wait for a command's end on close. It is longer than the grace period between a process's
/// termination signal and its kill.
const BASH_END_TIMEOUT: Duration = Duration::from_secs(1);

/// The parts of a session, provided by the caller.
pub struct SessionParts {
    /// Access to the stored sessions.
    pub manager: SessionManager,
    /// The log of the first session.
    pub writer: Writer,
    /// The usable providers.
    pub providers: ProviderRegistry,
    /// The initial model.
    pub first: FirstModel,
    /// The tools that the model may call.
    pub tools: Tools,
    /// The extensions. Their tools are added to `tools`, unless [`Extensions::add_tools`] has done so
    /// already; their skills and templates are in `resources` if [`Extensions::add_resource_paths`] has added
    /// them.
    pub extensions: Extensions,
    /// The servers whose tools are added to `tools`. The first request waits until they have started.
    pub tool_servers: Option<ConnectedServers>,
    /// The link between the delegation tools and the session, if there are any:
    /// [`Delegation::link`](crate::agents::Delegation::link).
    pub agent_link: Option<SessionLink>,
    /// Runs the user's shell commands.
    pub runner: Runner,
    /// The system prompt.
    pub system_prompt: SystemPrompt,
    /// The skills, templates and context files.
    pub resources: Resources,
    /// Options of the session.
    pub options: AgentOptions,
}

struct Driver {
    services: DriverServices,
    resources: ResourceState,
    active: ActiveSession,
    turn: Turn,
    effects: EffectQueue,
    jobs: Jobs,
    partial: Option<MessageBuilder>,
    approvals: Approvals,
    retry: RetryOptions,
    hooks: Hooks,
    served: ServedTools,
    resource_prompts: PromptsWithResources,
    elicitations: Elicitations,
    summaries: SummaryState,
    spending: SpendingState,
    agents: ChildAgents,
    bus: EventBus,
}

/// Effects that are waiting to be performed.
#[derive(Default)]
struct EffectQueue {
    items: VecDeque<QueuedEffect>,
    /// Number of syncs in progress; the effects wait for them.
    syncs: usize,
}

/// The driver's services and options.
struct DriverServices {
    manager: SessionManager,
    providers: ProviderRegistry,
    tools: Tools,
    /// The traits of `tools`, and of tools that earlier calls may have used.
    tool_catalog: ToolCatalog,
    /// The tools that are offered to the model.
    offered_tools: Tools,
    agent_link: Option<SessionLink>,
    runner: Runner,
    options: AgentOptions,
    run: RunFacts,
}

/// A queued effect or reply.
enum QueuedEffect {
    Effect(Box<Effect>),
    /// Replies to the command that caused the preceding effects.
    Reply(Box<dyn FnOnce(Result<(), AgentError>) + Send>),
    /// Replies with messages that were removed from the queue.
    ReturnQueued(ReturnQueued),
}

/// Messages to return to the caller that removed them from the queue.
struct ReturnQueued {
    items: Vec<QueueItem>,
    reply: Box<dyn FnOnce(Result<Vec<QueueItem>, AgentError>) + Send>,
}

impl ReturnQueued {
    /// Replies after a failed write. Returns the messages that left the queue all the same, because they
    /// exist nowhere else.
    fn fail(self, waiting: &Queue, reason: &str) {
        let is_queued = |item: &QueueItem| waiting.items().iter().any(|waiting| waiting.id == item.id);
        let items: Vec<QueueItem> = self.items.into_iter().filter(|item| !is_queued(item)).collect();
        let is_lost = !items.is_empty();
        (self.reply)(if is_lost { Ok(items) } else { Err(AgentError::Store(reason.to_owned())) });
    }
}

/// The end of the last run, and the callers that wait for the next one.
#[derive(Default)]
struct SettleWaiters {
    last: Option<RunReport>,
    /// Messages of the current run that its pauses have reported so far.
    messages: Vec<Arc<Message>>,
    replies: Vec<Reply<RunReport>>,
}

impl SettleWaiters {
    /// Records that runs ended. A paused run continues, so its messages are collected across pauses.
    fn record(&mut self, event: &EventKind) {
        match event {
            EventKind::AgentEnd { messages, will_retry, outcome } => {
                self.messages.extend(messages.iter().cloned());
                if !will_retry {
                    let messages = std::mem::take(&mut self.messages);
                    self.last = Some(RunReport { outcome: *outcome, messages });
                }
            }
            EventKind::AgentSettled => self.messages.clear(),
            // Other events don't end a run.
            _ => {}
        }
    }
}

/// Adds a number and a time to events, broadcasts them, and tracks unfinished operations.
struct EventBus {
    events: broadcast::Sender<Arc<Event>>,
    seq: u64,
    open: OpenEvents,
    settle_waiters: SettleWaiters,
    reader: watch::Sender<Reader>,
    tracer: RunTracer,
}

impl EventBus {
    fn new(events: broadcast::Sender<Arc<Event>>, reader: watch::Sender<Reader>) -> Self {
        let (forwarded, settle_waiters) = (OpenEvents::default(), SettleWaiters::default());
        Self { events, seq: 0, open: forwarded, settle_waiters, reader, tracer: RunTracer::default() }
    }

    fn emit(&mut self, kind: EventKind) {
        let time = now();
        self.open.update(&kind, time);
        self.tracer.note(&kind, time);
        self.seq += 1;
        // Having no subscriber is fine.
        let _ = self.events.send(Arc::new(Event { kind, seq: self.seq, time }));
    }

    /// Emits a warning and logs it.
    fn warn(&mut self, message: impl Into<String>) {
        let message = message.into();
        tracing::warn!("{message}");
        self.warn_unlogged(message);
    }

    /// Emits a warning that is already logged, or that doesn't belong in the log.
    fn warn_unlogged(&mut self, message: String) {
        self.emit(EventKind::Warning { message, hint: None });
    }
}

impl AgentSession {
    /// Starts the agent of a session on the current tokio runtime.
    ///
    /// # Errors
    /// If the session's log can't be read.
    pub fn start(parts: SessionParts) -> Result<Self, SessionError> {
        let link = parts.agent_link.clone();
        let (commands, received) = mpsc::channel(COMMANDS);
        let (events, _) = broadcast::channel(EVENTS);
        // Only the driver holds a strong sender, so the event streams end with the driver.
        let watched = events.downgrade();
        let forwarded = events.clone();
        let (mut driver, reader, notices) = Driver::build(parts, events)?;
        driver.driver.permissions_changed();
        driver.driver.start_session_hooks(SessionSource::Startup);
        let tool_catalog = driver.driver.services.tool_catalog.clone();
        let forwarder = EventForwarder::start(driver.driver.hooks.extensions().clone(), &forwarded);
        let forwarder = Some(Arc::new(forwarder));
        tokio::spawn(driver.run(received));
        let session = Self {
            commands,
            events: watched,
            reader,
            notices: notices.into(),
            tool_catalog,
            forwarder,
            connection: None,
        };
        link.inspect(|link| link.connect(&session));
        Ok(session)
    }
}

impl Driver {
    fn build(
        parts: SessionParts,
        events: broadcast::Sender<Arc<Event>>,
    ) -> Result<(DriverLoop, watch::Receiver<Reader>, Vec<String>), SessionError> {
        let (sender, job_events) = mpsc::channel(JOB_EVENT_CAPACITY);
        let (mut current, queue, mut notices) =
            ActiveSession::load(parts.writer, parts.first.model, parts.first.thinking)?;
        notices.extend(current.adopt_log_model(
            &parts.providers,
            parts.first.choice,
            parts.first.thinking_choice,
        ));
        notices.extend(current.window_notices());
        notices.extend(parts.resources.problems().iter().map(ToString::to_string));
        let cwd = parts.manager.cwd().to_owned();
        let (tools, extensions, warnings) = parts.extensions.join(parts.tools, &mut notices);
        let offered_tools = parts.options.offer.select(&tools);
        let (resource_state, reloader) =
            ResourceState::new(parts.resources, parts.system_prompt, cwd, &offered_tools);
        let services = DriverServices {
            run: run_facts(&parts.options, parts.manager.cwd()),
            manager: parts.manager,
            providers: parts.providers,
            offered_tools,
            agent_link: parts.agent_link,
            tool_catalog: tools.catalog(),
            tools,
            runner: parts.runner,
            options: parts.options,
        };
        run_tracing::opened(&current.reader());
        notices.iter().for_each(|notice| tracing::warn!("{notice}"));
        let (reader, watched) = watch::channel(current.reader());
        services.tools.jobs().number_after(current.reader().last_job());
        let mut jobs = Jobs::new(sender, reloader, services.tools.jobs());
        jobs.forward(warnings, JobEvent::ExtensionWarning);
        let served = serve_tools(parts.tool_servers, services.tools.clone(), &mut jobs);
        let agents = ChildAgents::new(services.options.agent_limit, services.options.agent_deltas);
        let mut driver = Self {
            turn: new_turn(&services.options, queue, &extensions),
            summaries: SummaryState::new(services.options.compaction),
            spending: SpendingState::new(services.options.budget),
            approvals: Approvals::new(
                (services.options.policy.clone(), services.options.loosest_approval),
                services.options.approver,
                services.tools.workspace().cloned(),
            ),
            retry: services.options.retry,
            services,
            resources: resource_state,
            active: current,
            effects: EffectQueue::default(),
            jobs,
            partial: None,
            hooks: Hooks::new(extensions),
            served,
            agents,
            resource_prompts: PromptsWithResources::default(),
            elicitations: Elicitations::default(),
            bus: EventBus::new(events, reader),
        };
        driver.approvals.reset(driver.active.reader().leaf());
        driver.restore_seen_files();
        Ok((DriverLoop { driver, job_events }, watched, notices))
    }

    /// Switches to another session's log; returns notices for the user.
    fn load_session(&mut self, writer: Writer) -> Result<Vec<String>, SessionError> {
        let (model, thinking) = (self.active.default_model(), self.active.thinking);
        let mut notices = writer.reader().warnings(self.services.manager.cwd());
        let (current, queue, queue_notices) = ActiveSession::load(writer, model, thinking)?;
        notices.extend(queue_notices);
        run_tracing::closed(&self.active.reader());
        run_tracing::opened(&current.reader());
        self.active = current;
        self.approvals.reset(self.active.reader().leaf());
        self.restore_seen_files();
        self.spending.switch_session();
        // The agents' notes are about tasks of the previous session.
        self.agents.switch_session();
        self.background_jobs().clear();
        self.background_jobs().number_after(self.active.reader().last_job());
        self.permissions_changed();
        notices.extend(self.active.adopt_log_model(
            &self.services.providers,
            ModelChoice::Log,
            ModelChoice::Log,
        ));
        notices.extend(self.active.window_notices());
        self.reset_turn(queue);
        self.start_session_hooks(SessionSource::Clear);
        Ok(notices)
    }

    /// Restores the record of files that the model has seen: before the last compaction, and since.
    fn restore_seen_files(&self) {
        let compaction = self.active.projection.compaction.as_ref();
        let messages = self.active.projection.messages.iter();
        let details = messages.filter_map(|projected| match &*projected.message {
            Message::ToolResult(result) => result.details.as_ref(),
            _ => None,
        });
        let before = compaction.and_then(|compaction| compaction.details.as_ref());
        self.services.tools.restore_seen(before.into_iter().chain(details));
    }

    /// Starts a new, idle turn machine on the current session.
    fn reset_turn(&mut self, queue: Queue) {
        self.turn = Turn::new(self.turn.options(), queue).after(&self.turn);
        self.summaries.machine.forget_failure();
        self.bus.reader.send_replace(self.active.reader());
    }

    fn enqueue(&mut self, effects: Vec<Effect>) {
        self.effects.items.extend(effects.into_iter().map(|effect| QueuedEffect::Effect(Box::new(effect))));
    }

    fn apply(&mut self, input: Input) {
        let effects = self.turn.step(input, now());
        self.enqueue(effects);
        self.perform();
    }

    /// Applies an input that removes these messages from the queue; returns the messages once its effects are
    /// performed.
    fn apply_and_return(
        &mut self,
        input: Input,
        items: Vec<QueueItem>,
        reply: impl FnOnce(Result<Vec<QueueItem>, AgentError>) + Send + 'static,
    ) {
        let effects = self.turn.step(input, now());
        self.enqueue(effects);
        self.effects
            .items
            .push_back(QueuedEffect::ReturnQueued(ReturnQueued { items, reply: Box::new(reply) }));
        self.perform();
    }

    /// Applies an input and replies once its effects are performed.
    fn apply_and_reply(&mut self, input: Input, reply: impl FnOnce(Result<(), AgentError>) + Send + 'static) {
        let effects = self.turn.step(input, now());
        self.enqueue(effects);
        self.effects.items.push_back(QueuedEffect::Reply(Box::new(reply)));
        self.perform();
    }
}

/// Creates the state of the servers' tools, and forwards their events and questions to the driver.
fn serve_tools(connected: Option<ConnectedServers>, tools: Tools, jobs: &mut Jobs) -> ServedTools {
    let servers = connected.map(|ConnectedServers { servers, events, questions }| {
        jobs.forward(events, JobEvent::ToolServers);
        jobs.forward(questions, JobEvent::ServerQuestion);
        servers
    });
    ServedTools::new(servers, tools)
}

fn run_facts(options: &AgentOptions, cwd: &Path) -> RunFacts {
    RunFacts { mode: options.mode, cwd: cwd.display().to_string(), remote: options.remote.clone() }
}

/// Returns an idle turn machine. At the end of a run, extensions review it, or it waits for background tasks.
fn new_turn(options: &AgentOptions, queue: Queue, extensions: &ExtensionHost) -> Turn {
    let turn = Turn::new(options.turn, queue);
    let is_reviewed = !extensions.is_empty() || options.background_tasks == BackgroundTasks::Await;
    if is_reviewed { turn.with_end_review() } else { turn }
}

/// A driver and the channel of its jobs, separate so that the loop can borrow both.
struct DriverLoop {
    driver: Driver,
    job_events: mpsc::Receiver<JobEvent>,
}

impl DriverLoop {
    /// Stops the user's command and waits briefly for its output.
    async fn end_bash(&mut self) {
        self.driver.stop_bash();
        let ended = async {
            while self.driver.jobs.bash_running().is_some() {
                let Some(sender) = self.job_events.recv().await else { return };
                self.driver.handle_job_event(sender);
            }
        };
        // `close` cuts off a command that didn't end in time.
        let _ = tokio::time::timeout(BASH_END_TIMEOUT, ended).await;
    }

    async fn run(mut self, mut commands: mpsc::Receiver<DriverCommand>) {
        let mut batch = Vec::with_capacity(JOB_EVENT_CAPACITY);
        loop {
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(DriverCommand::Close { reply }) => {
                        self.end_bash().await;
                        let closed = self.driver.close();
                        // The caller expects the log to be closed when the reply arrives.
                        drop(self);
                        let _ = reply.send(closed);
                        return;
                    }
                    Some(command) => self.driver.command(command),
                    None => {
                        self.end_bash().await;
                        if let Err(error) = self.driver.close() {
                            tracing::error!(%error, "the log could not be synced at the end");
                        }
                        return;
                    }
                },
                _ = self.job_events.recv_many(&mut batch, JOB_EVENT_CAPACITY) => {
                    for sender in batch.drain(..) {
                        self.driver.handle_job_event(sender);
                    }
                }
                () = self.driver.jobs.reap() => {}
            }
        }
    }
}
