//! The one task that owns a session: its log's writer, the turn machine, and every job.
//!
//! Thin on purpose. Commands and reports of jobs come in; the machine in [`turn`](super::turn) decides; the effects are performed in
//! order, and one that waits for the disk holds back those after it, never the loop. Persist, then act, then tell.

mod active_session;
mod bash;
mod branch_summary;
mod commands;
mod compaction;
mod compaction_state;
mod effects;
mod external_appends;
mod hooks;
mod job_events;
mod jobs;
mod model;
mod queries;
mod resource_state;
mod run_tracing;
mod summarize_job;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tiller_core::event::{Event, EventKind, QueueItem};
use tiller_core::message::{Message, ModelRef, ThinkingLevel};
use tiller_core::unit::{Tokens, UnixMs};
use tiller_provider::catalog::thinking_budget;
use tiller_provider::{Model, ModelFacts, ProviderRegistry};
use tiller_session::{Reader, SessionError, SessionManager, Writer};
use tiller_tools::policy::Policy;
use tiller_tools::process::Runner;
use tiller_tools::tool::{OutputLimits, Tools};
use tokio::sync::{broadcast, mpsc, watch};

use super::approvals::{Approvals, Approver};
use super::compaction::CompactionOptions;
use super::extension::{EventForwarder, Extensions};
use super::handle::{AgentError, AgentSession, COMMANDS, EVENTS, Reply, SessionCommand, Settled};
use super::message_builder::MessageBuilder;
use super::queue::Queue;
use super::resources::Resources;
use super::retry::RetryOptions;
use super::system_prompt::SystemPrompt;
use super::turn::{Effect, Input, OpenEvents, Turn, TurnOptions};

use active_session::{ActiveSession, RunFacts};
use compaction_state::Summaries;
use hooks::Hooks;
use jobs::Jobs;
use resource_state::ResourceState;
use run_tracing::RunTracer;

pub(super) use jobs::JobEvent;

/// Reports that jobs may have waiting; a full channel slows the stream down, not the loop.
const REPORTS: usize = 1_024;

/// How long a close waits for the end of a command: longer than a process that is asked to end is given until it is killed.
const BASH_END: Duration = Duration::from_secs(1);

/// Everything a session is made of; the caller chooses each.
pub struct SessionParts {
    /// Where sessions are.
    pub manager: SessionManager,
    /// The session to begin with.
    pub writer: Writer,
    /// Who can be asked.
    pub providers: ProviderRegistry,
    /// Who is asked first.
    pub first: FirstModel,
    /// What the model may call.
    pub tools: Tools,
    /// Who takes part in it. Their tools are joined to `tools`, unless [`Extensions::equip`] did that already; their skills and
    /// templates are in `resources` if [`Extensions::contribute`] put them there.
    pub extensions: Extensions,
    /// How commands of the user's own are run.
    pub runner: Runner,
    /// What the model is told before everything else.
    pub system_prompt: SystemPrompt,
    /// The skills, templates and context files that there are.
    pub resources: Resources,
    /// How it all behaves.
    pub options: AgentOptions,
}

/// The model that is asked first, unless the session's log says otherwise and has the word.
#[derive(Clone, Debug)]
pub struct FirstModel {
    /// The model.
    pub model: Model,
    /// How much it thinks.
    pub thinking: ThinkingLevel,
    /// Whose word counts when the log names another model.
    pub choice: ModelChoice,
    /// Whose word counts when the log names another level.
    pub thinking_choice: ModelChoice,
}

/// Who chooses the model and thinking level of a session that was there before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelChoice {
    /// Whoever started tiller: a model was named.
    Caller,
    /// The log.
    Log,
}

/// How an agent's session behaves.
#[derive(Clone, Debug)]
pub struct AgentOptions {
    /// How the turn machine is set.
    pub turn: TurnOptions,
    /// When failed requests are tried again.
    pub retry: RetryOptions,
    /// How the context is kept within the model's window.
    pub compaction: CompactionOptions,
    /// When the log is synced.
    pub sync: SyncPolicy,
    /// How models answer.
    pub answers: AnswerOptions,
    /// Which calls are asked about.
    pub policy: Policy,
    /// Whether anybody can answer.
    pub audience: Approver,
    /// What is kept of the output of `!` commands.
    pub output: OutputOptions,
    /// Which of the tools the model is told of at the start.
    pub offer: ToolOffer,
    /// What the log says of this process: `tui`, `print`.
    pub mode: &'static str,
    /// The origin of the repository that the working directory is in, without credentials; the log names it, so that the
    /// session is found when the project has moved.
    pub remote: Option<String>,
}

/// How models answer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AnswerOptions {
    /// Most tokens of one answer. By default as many as the model gives, at most 32,000.
    pub max_tokens: Option<Tokens>,
    /// Sampling temperature; `None` leaves it to the provider.
    pub temperature: Option<f64>,
}

impl AnswerOptions {
    /// Most tokens of an answer by default, thinking included: more than anybody reads at once, and less than the longest that
    /// a model may go on when it repeats itself.
    const MAX_TOKENS: Tokens = Tokens(32_000);

    /// Tokens left for the answer beside a thinking budget by default.
    const BESIDE_THINKING: Tokens = Tokens(16_000);

    /// Most tokens of the answer to a context of this size, thinking included: no more than the window has room for, but
    /// always `reserve`, what compaction keeps free in it.
    pub(crate) fn max_tokens(
        &self,
        model: &ModelFacts,
        thinking: ThinkingLevel,
        context: Tokens,
        reserve: Tokens,
    ) -> Tokens {
        let reference = ModelRef { provider: model.provider.clone(), id: model.id.clone() };
        let budget = thinking_budget(&reference, thinking);
        let usual = Self::MAX_TOKENS.max(budget.map_or(Tokens(0), |budget| budget + Self::BESIDE_THINKING));
        let wanted = self.max_tokens.unwrap_or(usual).min(model.max_output);
        // What the estimate misses, and the system prompt and tools where they aren't counted.
        let margin = model.window.0 / 20;
        let free = model.window.0.saturating_sub(context.0 + margin);
        wanted.min(Tokens(free).max(reserve))
    }
}

/// What is kept of the output of `!` commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputOptions {
    /// How much of it the log keeps.
    pub limits: OutputLimits,
    /// Folder for what is more.
    pub scratch: PathBuf,
}

impl AgentOptions {
    /// The defaults of the settings, for a session in a working directory where nobody can be asked. Outputs over the limits go to
    /// files in `scratch`.
    #[must_use]
    pub fn new(work_dir: PathBuf, scratch: PathBuf) -> Self {
        Self {
            turn: TurnOptions::default(),
            retry: RetryOptions::default(),
            compaction: CompactionOptions::default(),
            sync: SyncPolicy::Turn,
            answers: AnswerOptions::default(),
            policy: Policy { root: work_dir, ..Policy::default() },
            audience: Approver::Absent,
            output: OutputOptions { limits: OutputLimits::default(), scratch },
            offer: ToolOffer::All,
            mode: "embedded",
            remote: None,
        }
    }
}

/// Which of the tools a model is told of at the start. The others are there all the same, and can be offered later.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolOffer {
    /// All of them.
    #[default]
    All,
    /// Those of these names, in this order; a name that no tool has means nothing.
    Only {
        /// The names.
        names: Vec<String>,
        /// Who says so, for people: `--tools`, the setting `tools` of a file.
        says: String,
    },
}

impl ToolOffer {
    fn of(&self, tools: &Tools) -> Tools {
        match self {
            Self::All => tools.clone(),
            Self::Only { names, .. } => {
                let known = names.iter().filter(|name| tools.find(name).is_some()).cloned();
                tools.restrict(&known.collect::<Vec<_>>()).unwrap_or_default()
            }
        }
    }
}

/// When the log is synced to the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyncPolicy {
    /// After every entry.
    Always,
    /// After user messages and at each turn's end.
    Turn,
    /// When the system likes.
    Never,
}

/// The driver's own possessions.
struct Driver {
    fixed: Services,
    shelf: ResourceState,
    current: ActiveSession,
    turn: Turn,
    agenda: EffectQueue,
    jobs: Jobs,
    partial: Option<MessageBuilder>,
    approvals: Approvals,
    retry: RetryOptions,
    hooks: Hooks,
    summaries: Summaries,
    teller: EventBus,
}

/// What is still to be done.
#[derive(Default)]
struct EffectQueue {
    work: VecDeque<QueuedEffect>,
    /// Syncs under way; the work waits for them.
    syncs: usize,
}

/// What stays as it is for a driver's life.
struct Services {
    manager: SessionManager,
    providers: ProviderRegistry,
    tools: Tools,
    /// Those of them that the model is told of.
    offered: Tools,
    runner: Runner,
    options: AgentOptions,
    run: RunFacts,
}

/// Something still to be done, in order.
enum QueuedEffect {
    Effect(Box<Effect>),
    /// Answers whoever gave the command that led to the effects before it.
    Reply(Box<dyn FnOnce(Result<(), AgentError>) + Send>),
    /// As that, with messages that were taken out of the queue.
    HandBack(ReturnQueued),
}

/// Messages that are handed to whoever had them taken out of the queue.
struct ReturnQueued {
    items: Vec<QueueItem>,
    reply: Box<dyn FnOnce(Result<Vec<QueueItem>, AgentError>) + Send>,
}

impl ReturnQueued {
    /// Something could not be written. What waits no longer all the same is with nobody else: it is handed over.
    fn after_failure(self, waiting: &Queue, reason: &str) {
        let waits = |item: &QueueItem| waiting.items().iter().any(|waiting| waiting.id == item.id);
        let items: Vec<QueueItem> = self.items.into_iter().filter(|item| !waits(item)).collect();
        let is_lost = !items.is_empty();
        (self.reply)(if is_lost { Ok(items) } else { Err(AgentError::Store(reason.to_owned())) });
    }
}

/// The end of the last run, and whoever waits for the next one.
#[derive(Default)]
struct SettleWaiters {
    last: Option<Settled>,
    /// Messages of the run that is going on, as far as its pauses named them.
    named: Vec<Arc<Message>>,
    replies: Vec<Reply<Settled>>,
}

impl SettleWaiters {
    /// Takes note of the ends of runs. A run that pauses goes on, so its messages are gathered over its pauses.
    fn hear(&mut self, event: &EventKind) {
        match event {
            EventKind::AgentEnd { messages, will_retry, outcome } => {
                self.named.extend(messages.iter().cloned());
                if !will_retry {
                    let messages = std::mem::take(&mut self.named);
                    self.last = Some(Settled { outcome: *outcome, messages });
                }
            }
            EventKind::AgentSettled => self.named.clear(),
            // Nothing else ends a run.
            _ => {}
        }
    }
}

/// Everything that is told: stamps events, sends them to whoever listens, and knows what was begun.
struct EventBus {
    events: broadcast::Sender<Arc<Event>>,
    seq: u64,
    told: OpenEvents,
    settling: SettleWaiters,
    reader: watch::Sender<Reader>,
    journal: RunTracer,
}

impl EventBus {
    fn new(events: broadcast::Sender<Arc<Event>>, reader: watch::Sender<Reader>) -> Self {
        let (told, settling) = (OpenEvents::default(), SettleWaiters::default());
        Self { events, seq: 0, told, settling, reader, journal: RunTracer::default() }
    }

    fn tell(&mut self, kind: EventKind) {
        let time = now();
        self.told.hear(&kind, time);
        self.journal.note(&kind, time);
        self.seq += 1;
        // Nobody listening is fine.
        let _ = self.events.send(Arc::new(Event { kind, seq: self.seq, time }));
    }

    /// Warns, and logs that.
    fn warn(&mut self, message: impl Into<String>) {
        let message = message.into();
        tracing::warn!("{message}");
        self.warn_unlogged(message);
    }

    /// Warns of what is logged already, or is none of the log's business.
    fn warn_unlogged(&mut self, message: String) {
        self.tell(EventKind::Warning { message, hint: None });
    }
}

fn now() -> UnixMs {
    SystemTime::now().into()
}

impl AgentSession {
    /// Starts the agent of a session, on the tokio runtime this is called in.
    ///
    /// # Errors
    /// When the session's log can't be read.
    pub fn start(parts: SessionParts) -> Result<Self, SessionError> {
        let (commands, received) = mpsc::channel(COMMANDS);
        let (events, _) = broadcast::channel(EVENTS);
        // The driver alone keeps the events open, so that they end with it.
        let watched = events.downgrade();
        let told = events.clone();
        let (driver, reader, notices) = Driver::with_reports(parts, events)?;
        let listeners = Arc::new(EventForwarder::begin(driver.driver.hooks.crew().clone(), &told));
        tokio::spawn(driver.run(received));
        Ok(Self { commands, events: watched, reader, notices: notices.into(), listeners })
    }
}

impl Driver {
    fn with_reports(
        parts: SessionParts,
        events: broadcast::Sender<Arc<Event>>,
    ) -> Result<(DriverWithReports, watch::Receiver<Reader>, Vec<String>), SessionError> {
        let (report, reports) = mpsc::channel(REPORTS);
        let (mut current, queue, mut notices) =
            ActiveSession::load(parts.writer, parts.first.model, parts.first.thinking)?;
        notices.extend(current.follow_the_log(
            &parts.providers,
            parts.first.choice,
            parts.first.thinking_choice,
        ));
        notices.extend(current.too_long_notice());
        notices.extend(parts.resources.problems().iter().map(ToString::to_string));
        let cwd = parts.manager.cwd().to_owned();
        let (tools, crew, warnings) = parts.extensions.join(parts.tools, &mut notices);
        let offered = parts.options.offer.of(&tools);
        let (shelf, keeper) = ResourceState::new(parts.resources, parts.system_prompt, cwd, &offered);
        let run = RunFacts {
            mode: parts.options.mode,
            cwd: parts.manager.cwd().display().to_string(),
            remote: parts.options.remote.clone(),
        };
        let fixed = Services {
            run,
            manager: parts.manager,
            providers: parts.providers,
            offered,
            tools,
            runner: parts.runner,
            options: parts.options,
        };
        run_tracing::opened(&current.reader());
        notices.iter().for_each(|notice| tracing::warn!("{notice}"));
        let (reader, watched) = watch::channel(current.reader());
        let mut jobs = Jobs::new(report, keeper);
        jobs.hear(warnings);
        let driver = Self {
            turn: Turn::new(fixed.options.turn, queue),
            summaries: Summaries::new(fixed.options.compaction),
            approvals: Approvals::new(
                fixed.options.policy.clone(),
                fixed.options.audience,
                fixed.tools.workspace().cloned(),
            ),
            retry: fixed.options.retry,
            fixed,
            shelf,
            current,
            agenda: EffectQueue::default(),
            jobs,
            partial: None,
            hooks: Hooks::new(crew),
            teller: EventBus::new(events, reader),
        };
        Ok((DriverWithReports { driver, reports }, watched, notices))
    }

    /// Begins with another session's log; what the user should know of it.
    fn adopt(&mut self, writer: Writer) -> Result<Vec<String>, SessionError> {
        let (model, thinking) = (self.current.usual_model(), self.current.thinking);
        let mut notices = writer.reader().remarks(self.fixed.manager.cwd());
        let (current, queue, found) = ActiveSession::load(writer, model, thinking)?;
        notices.extend(found);
        run_tracing::closed(&self.current.reader());
        run_tracing::opened(&current.reader());
        self.current = current;
        self.approvals.forget();
        self.folders_changed();
        notices.extend(self.current.follow_the_log(
            &self.fixed.providers,
            ModelChoice::Log,
            ModelChoice::Log,
        ));
        notices.extend(self.current.too_long_notice());
        self.begin(queue);
        Ok(notices)
    }

    /// A machine at rest over the session as it is now.
    fn begin(&mut self, queue: Queue) {
        self.turn = Turn::new(self.turn.options(), queue).after(&self.turn);
        self.summaries.futile = None;
        self.teller.reader.send_replace(self.current.reader());
    }

    fn queue(&mut self, effects: Vec<Effect>) {
        self.agenda.work.extend(effects.into_iter().map(|effect| QueuedEffect::Effect(Box::new(effect))));
    }

    fn apply(&mut self, input: Input) {
        let effects = self.turn.step(input, now());
        self.queue(effects);
        self.perform();
    }

    /// Steps the machine, which takes these messages out of the queue; hands them over when it is done.
    fn apply_and_hand_back(
        &mut self,
        input: Input,
        items: Vec<QueueItem>,
        reply: impl FnOnce(Result<Vec<QueueItem>, AgentError>) + Send + 'static,
    ) {
        let effects = self.turn.step(input, now());
        self.queue(effects);
        self.agenda.work.push_back(QueuedEffect::HandBack(ReturnQueued { items, reply: Box::new(reply) }));
        self.perform();
    }

    /// Applies an input and answers once its effects are performed.
    fn apply_and_reply(&mut self, input: Input, reply: impl FnOnce(Result<(), AgentError>) + Send + 'static) {
        let effects = self.turn.step(input, now());
        self.queue(effects);
        self.agenda.work.push_back(QueuedEffect::Reply(Box::new(reply)));
        self.perform();
    }
}

/// A driver and the channel that its jobs report on; apart, so that the loop can hold both.
struct DriverWithReports {
    driver: Driver,
    reports: mpsc::Receiver<JobEvent>,
}

impl DriverWithReports {
    /// Stops a command of the user's and waits for what it printed, not for long.
    async fn end_bash(&mut self) {
        self.driver.stop_bash();
        let ended = async {
            while self.driver.jobs.bash_running().is_some() {
                let Some(report) = self.reports.recv().await else { return };
                self.driver.report(report);
            }
        };
        // What is left then of a command that can't be ended is cut off by the close.
        let _ = tokio::time::timeout(BASH_END, ended).await;
    }

    async fn run(mut self, mut commands: mpsc::Receiver<SessionCommand>) {
        let mut batch = Vec::with_capacity(REPORTS);
        loop {
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(SessionCommand::Close { reply }) => {
                        self.end_bash().await;
                        let closed = self.driver.close();
                        // Whoever waits for this wants the log to be free.
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
                _ = self.reports.recv_many(&mut batch, REPORTS) => {
                    for report in batch.drain(..) {
                        self.driver.report(report);
                    }
                }
                () = self.driver.jobs.reap() => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tiller_provider::catalog;

    use super::*;

    #[test]
    fn answers_get_what_the_model_gives_and_the_window_has_room_for() {
        let most = |max_tokens, model: &ModelFacts, thinking, context| {
            let options = AnswerOptions { max_tokens, temperature: None };
            options.max_tokens(model, thinking, Tokens(context), Tokens(16_384))
        };
        let opus = catalog::facts("anthropic", "claude-opus-4-5").unwrap();
        assert_eq!(most(None, &opus, ThinkingLevel::Off, 1_000), Tokens(32_000));
        assert_eq!(most(None, &opus, ThinkingLevel::High, 1_000), Tokens(20_480 + 16_000));
        assert_eq!(most(None, &opus, ThinkingLevel::Off, 165_000), Tokens(25_000));
        assert_eq!(most(None, &opus, ThinkingLevel::Off, 300_000), Tokens(16_384));
        assert_eq!(most(Some(Tokens(50_000)), &opus, ThinkingLevel::High, 0), Tokens(50_000));
        let unknown = catalog::assumed("openai", "my-model");
        assert_eq!(most(None, &unknown, ThinkingLevel::Off, 0), Tokens(8_192));
    }
}
