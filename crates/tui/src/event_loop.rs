//! The event loop: messages in, frames and actions out.
//!
//! A due frame has priority over keys, and keys over everything else, so that events don't delay keys and
//! keys don't delay frames. [`FramePacer`] decides when a frame is due; nothing is written if nothing has
//! changed. Until the next frame, the agent's events accumulate; they are applied together before it is
//! drawn. So a fast stream wakes the loop twice per frame, not once per event.

mod connection;
mod event;
mod shutdown;
mod suspend;
pub(crate) mod suspend_reason;
mod terminal_handle;

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::Event as TerminalEvent;
use tiller_engine::remote_session::ConnectionState;
use tiller_engine::{EventStream, Lag};
use tiller_render::HighlightCache;
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

use crate::action::{Action, ActionRequest, CopiedText, TerminalAction};
use crate::app::App;
use crate::block::notice_level::NoticeLevel;
use crate::clipboard::{
    CopyFallback, MAX_BY_TERMINAL, SystemClipboard, SystemCopyResult, TerminalCopyResult,
};
use crate::clock::now;
use crate::crash_report::NewestReport;
use crate::draft::DraftSaver;
use crate::effect::{Effect, OverlayRequest};
use crate::event_loop::event::{
    LoopEvent, Signals, next_connection, next_event, next_result, next_terminal_event, next_themes,
};
use crate::event_loop::suspend_reason::SuspendReason;
use crate::event_loop::terminal_handle::TerminalHandle;
use crate::executor::Executor;
use crate::exit::{ExitReason, TuiError, TuiExit};
use crate::frame_pacer::{Dirty, FramePacer};
use crate::history::HistoryReader;
use crate::input::TermEvent;
use crate::keymap::Keymap;
use crate::keymap::table::KeyCommand;
use crate::local_zone::LocalZone;
use crate::message::{Msg, TaskReport, TaskResult};
use crate::opened_session::OpenedSession;
use crate::options::TuiOptions;
use crate::terminal::Screen;
use crate::terminal::modes::TerminalModes;
use crate::terminal_signals::{Notifier, TerminalFocus};
use crate::ui_context::UiContext;
use crate::{clipboard, crash_report};

/// Time between two frames of a spinner.
const TICK: Duration = Duration::from_millis(100);

/// Maximum number of agent events applied before keys are checked again; it takes a few milliseconds.
const BATCH: usize = 4_096;

struct EventLoop {
    app: App,
    terminal: TerminalHandle,
    notifier: Notifier,
    draft: DraftSaver,
    /// Loads the prompt history.
    history: HistoryReader,
    /// `None` until the session is open.
    connection: Option<AgentConnection>,
    /// Connections to the sessions above the shown agent, the user's session first.
    above: Vec<AgentConnection>,
    /// Actions that wait for the session, or for the next frame if the executor's queue was full.
    pending: Vec<ActionRequest>,
    signals: Signals,
    timing: FrameTiming,
    clipboard: SystemClipboard,
    options: TuiOptions,
    /// The report of a crash that didn't end the program.
    crashes: NewestReport,
    /// The reason for the next release of the terminal.
    suspend: Option<SuspendReason>,
}

/// The timing of frames and ticks.
struct FrameTiming {
    tick: Interval,
    started: Instant,
    pacer: FramePacer,
}

struct AgentConnection {
    events: EventStream,
    /// The connection to the process that has the session open; `None` if this process has it open.
    state: Option<watch::Receiver<ConnectionState>>,
    results: mpsc::Receiver<TaskReport>,
    executor: Executor,
    /// Warnings to show once the session is loaded.
    notices: Vec<String>,
}

pub(super) async fn run<E: std::fmt::Debug>(
    options: TuiOptions,
    open: impl Future<Output = Result<OpenedSession, E>>,
) -> Result<TuiExit, TuiError<E>> {
    let mut event_loop = EventLoop::start(options).map_err(TuiError::Terminal)?;
    // Everything that the loop awaits is cancel-safe.
    let opened = tokio::select! {
        biased;
        reason = event_loop.run_loop() => return Ok(event_loop.end_without_session(reason).await),
        opened = open => opened,
    };
    match opened {
        Ok(opened) => {
            let agent = opened.agent.clone();
            event_loop.connect(opened);
            let reason = event_loop.run_loop().await;
            Ok(event_loop.end(&agent, reason).await)
        }
        Err(error) => {
            event_loop.end_without_session(ExitReason::Closed).await;
            Err(TuiError::Open(error))
        }
    }
}

impl EventLoop {
    /// Takes over the terminal and draws the first frame; the session may still be opening.
    fn start(options: TuiOptions) -> std::io::Result<Self> {
        let earlier = HistoryReader::start(options.files.history.as_deref());
        let keymap = keymap(&options);
        log_problems(keymap.problems());
        let (cwd, home) = (options.cwd.clone(), options.home.clone());
        let ui = UiContext {
            keymap: Arc::new(keymap),
            render_options: options.terminal.abilities.render_options(HighlightCache::default()),
            images: options.terminal.abilities.images,
            ..UiContext::new(cwd, home, LocalZone::default(), &options.themes)
        };
        let mut app = App::new(ui, Vec::new());
        let mut draft = DraftSaver::new(options.files.drafts.clone());
        if let Some(text) = draft.load(&app.ui.cwd) {
            app.composer.editor.set_text(&text);
        }
        let signals = Signals::catch()?;
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let modes = Arc::<TerminalModes>::default();
        let crashes =
            crash_report::install_panic_hook(options.files.crash_reports.clone(), Arc::clone(&modes));
        let screen = Screen::enter(&options.terminal, &modes)?;
        app.ui.size = screen.size();
        app.opening(now());
        let mut event_loop = Self {
            app,
            terminal: TerminalHandle { screen: Some(screen), input: None, modes },
            notifier: Notifier::new(options.terminal.signals),
            draft,
            history: earlier,
            connection: None,
            above: Vec::new(),
            pending: Vec::new(),
            signals,
            timing: FrameTiming { tick, started: Instant::now(), pacer: FramePacer::default() },
            clipboard: SystemClipboard::new(if options.terminal.abilities.has_tmux {
                CopyFallback::Tmux
            } else {
                CopyFallback::None
            }),
            options,
            crashes,
            suspend: None,
        };
        event_loop.frame();
        event_loop.terminal.listen(event_loop.options.themes.query);
        Ok(event_loop)
    }

    fn connect(&mut self, opened: OpenedSession) {
        let OpenedSession { agent, keys, prompt, paste, pick, banner, notices } = opened;
        self.app.ui.provider_keys = keys;
        self.app.ui.banner = banner.iter().map(|line| self.app.ui.keymap.name_keys(line)).collect();
        self.app.opened();
        self.connection = Some(self.connection_to(agent, notices));
        let has_paste = paste.is_some();
        paste.iter().for_each(|text| self.app.composer.editor.paste_on_new_line(text));
        let actions = match prompt {
            // The prompt is meant for the session that is picked.
            Some(prompt) if pick => {
                self.app.composer.editor.put_before(&[prompt.text]);
                self.app.apply(Effect::Open(OverlayRequest::sessions()))
            }
            Some(prompt) => self.app.with_composer(|composer, cx| composer.send_first_prompt(prompt, cx)),
            // With text in the editor, the picker opens only on request.
            None if pick && has_paste => self.app.apply(Effect::Open(OverlayRequest::sessions())),
            None if pick => self.app.offer_sessions(now()),
            None => Vec::new(),
        };
        for request in actions.into_iter().chain(std::mem::take(&mut self.pending)) {
            self.perform(request);
        }
        self.app.dirty = Dirty::ByUser;
    }

    async fn run_loop(&mut self) -> ExitReason {
        loop {
            if self.suspend.is_some()
                && let Some(reason) = self.run_suspension().await
            {
                return reason;
            }
            let event = self.next_event().await;
            if let Some(reason) = self.handle(event) {
                return reason;
            }
        }
    }

    /// Handles an event; returns the reason to end the loop.
    fn handle(&mut self, event: LoopEvent) -> Option<ExitReason> {
        match event {
            LoopEvent::Hangup | LoopEvent::Terminal(Some(Err(_)) | None) => return Some(ExitReason::HungUp),
            LoopEvent::Signal => return Some(ExitReason::Signal),
            LoopEvent::Stop => self.suspend = Some(SuspendReason::Stop),
            LoopEvent::Continued => return self.restore_terminal(),
            LoopEvent::Resized => {
                let size = crossterm::terminal::size().ok();
                return size.and_then(|(width, height)| self.apply(Msg::Resize { width, height }));
            }
            LoopEvent::Terminal(Some(Ok(event))) => {
                return self.message_of(event).and_then(|message| self.apply(message));
            }
            LoopEvent::SaveDraft => self.draft.save(&self.app.ui.cwd, self.app.composer.unsent_text()),
            LoopEvent::Frame => return self.frame(),
            LoopEvent::TaskResult(Some(TaskReport { result: TaskResult::AgentOpened(agent), .. })) => {
                self.open_agent(*agent);
            }
            LoopEvent::TaskResult(Some(report)) => return self.apply_report(report),
            LoopEvent::History(prompts) => return self.apply_report(TaskResult::History(prompts).into()),
            LoopEvent::Agent(Some(Ok(event))) => return self.apply(Msg::Agent(event)),
            LoopEvent::Connection(state) => return self.apply(Msg::Connection(state)),
            LoopEvent::Agent(Some(Err(Lag(_)))) => return self.apply(Msg::Lagged),
            LoopEvent::MainSession(Some(event)) => self.notice_of_main_session(&event),
            LoopEvent::MainSession(None) => return Some(ExitReason::Closed),
            LoopEvent::TaskResult(None) | LoopEvent::Agent(None) => {
                if !self.leave_agent() {
                    return Some(ExitReason::Closed);
                }
                self.app.flash("The agent has ended.".to_owned());
            }
            LoopEvent::Themes(library) => return self.apply(Msg::Themes(library)),
            LoopEvent::Tick => {
                if self.terminal.has_pending_images() {
                    self.app.dirty = self.app.dirty.max(Dirty::BySession);
                }
                return self.apply(Msg::Tick);
            }
        }
        None
    }

    fn apply_report(&mut self, report: TaskReport) -> Option<ExitReason> {
        let is_loaded = matches!(report.result, TaskResult::Loaded(_));
        let reason = self.apply(Msg::TaskResult(report));
        if reason.is_none()
            && is_loaded
            && let Some(link) = &mut self.connection
        {
            for notice in std::mem::take(&mut link.notices) {
                self.app.transcript.notice(NoticeLevel::Warning, notice, None);
            }
            self.warn_about_keys();
        }
        reason
    }

    async fn next_event(&mut self) -> LoopEvent {
        let due = self.timing.pacer.due(self.app.dirty).map(|due| self.timing.started + due);
        let keep = self.draft.due();
        self.terminal.listen(self.options.themes.query);
        let owes = self.terminal.has_pending_images();
        let keys = self.terminal.input.as_mut();
        let news = self.options.themes.updates.as_mut();
        let main = self.above.first_mut().map(|main| &mut main.events);
        let (reports, events, state) = match &mut self.connection {
            Some(link) => (Some(&mut link.results), Some(&mut link.events), link.state.as_mut()),
            None => (None, None, None),
        };
        tokio::select! {
            biased;
            _ = self.signals.hangup.recv() => LoopEvent::Hangup,
            _ = self.signals.terminate.recv() => LoopEvent::Signal,
            _ = self.signals.interrupt.recv() => LoopEvent::Signal,
            _ = self.signals.stop.recv() => LoopEvent::Stop,
            _ = self.signals.continued.recv() => LoopEvent::Continued,
            _ = self.signals.resized.recv() => LoopEvent::Resized,
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => LoopEvent::Frame,
            event = next_terminal_event(keys) => LoopEvent::Terminal(event),
            prompts = self.history.prompts() => LoopEvent::History(prompts),
            report = next_result(reports) => LoopEvent::TaskResult(report),
            state = next_connection(state) => LoopEvent::Connection(state),
            event = next_event(events), if due.is_none() => LoopEvent::Agent(event),
            event = next_event(main), if due.is_none() => LoopEvent::MainSession(event),
            library = next_themes(news) => LoopEvent::Themes(library),
            () = sleep_until(keep.unwrap_or_else(Instant::now)), if keep.is_some() => LoopEvent::SaveDraft,
            _ = self.timing.tick.tick(), if owes || self.app.wants_ticks() => LoopEvent::Tick,
        }
    }

    /// Converts a terminal event into a message for the app.
    fn message_of(&mut self, event: TermEvent) -> Option<Msg> {
        let event = match event {
            TermEvent::Event(event) => event,
            TermEvent::Background(ground) => return Some(Msg::Background(ground)),
        };
        match event {
            TerminalEvent::Key(key) => {
                self.draft.note_typing(Instant::now());
                Some(match &mut self.terminal.input {
                    Some(ears) => ears.coalesce(key),
                    None => Msg::Key(key),
                })
            }
            TerminalEvent::Paste(text) => {
                self.draft.note_typing(Instant::now());
                Some(Msg::Paste(text))
            }
            TerminalEvent::Resize(width, height) => Some(Msg::Resize { width, height }),
            TerminalEvent::FocusGained => self.focus(TerminalFocus::Focused),
            TerminalEvent::FocusLost => self.focus(TerminalFocus::Unfocused),
            TerminalEvent::Mouse(event) => Some(Msg::Mouse(event)),
        }
    }

    fn focus(&mut self, focus: TerminalFocus) -> Option<Msg> {
        self.notifier.set_focus(focus);
        self.update_signals();
        None
    }

    /// Writes the title, progress and notifications to the terminal.
    fn update_signals(&mut self) {
        let sequences = self.notifier.update(&self.app);
        self.terminal.write(&sequences);
    }

    /// Warns about problems in the keymap file.
    fn warn_about_keys(&mut self) {
        let keymap = Arc::clone(&self.app.ui.keymap);
        for problem in keymap.problems() {
            self.app.transcript.notice(NoticeLevel::Warning, problem.clone(), None);
        }
    }

    /// Applies the events that are already in the channel.
    fn apply_batch(&mut self) -> Option<ExitReason> {
        for _ in 0..BATCH {
            let input = match self.connection.as_mut()?.events.try_next()? {
                Ok(event) => Msg::Agent(event),
                Err(Lag(_)) => Msg::Lagged,
            };
            if let Some(reason) = self.apply(input) {
                return Some(reason);
            }
        }
        None
    }

    fn apply(&mut self, input: Msg) -> Option<ExitReason> {
        if let (Msg::Resize { .. }, Some(screen)) = (&input, &mut self.terminal.screen) {
            screen.force_redraw();
        }
        let actions = self.app.update(input, now());
        actions.into_iter().find_map(|request| self.perform(request))
    }

    /// Applies pending events and draws a frame.
    fn frame(&mut self) -> Option<ExitReason> {
        if let Some(reason) = self.apply_batch() {
            return Some(reason);
        }
        let before = self.timing.started.elapsed();
        self.app.dirty = Dirty::No;
        self.app.now = now();
        if self.connection.is_some() {
            for request in std::mem::take(&mut self.pending) {
                self.perform(request);
            }
        }
        let result = self.terminal.screen.as_mut().map_or(Ok(()), |screen| screen.draw(&mut self.app));
        self.update_signals();
        let at = self.timing.started.elapsed();
        self.timing.pacer.frame_drawn(at, at - before);
        if let Some(link) = &self.connection {
            link.executor.highlight();
        }
        result.err().map(|_| ExitReason::HungUp)
    }

    /// Performs actions that need the terminal; passes the others to the executor.
    fn perform(&mut self, ActionRequest { from, action }: ActionRequest) -> Option<ExitReason> {
        if action == Action::ReloadResources {
            log_problems(&self.app.set_keymap(keymap(&self.options)));
        }
        match action {
            Action::Terminal(TerminalAction::Quit) => return Some(ExitReason::Quit),
            Action::Terminal(TerminalAction::Attach(path)) => return Some(ExitReason::Attach(path)),
            Action::Terminal(TerminalAction::LeaveAgent) => {
                if !self.leave_agent() {
                    self.app.flash("This isn't an agent's session.".to_owned());
                }
            }
            // An agent's session belongs to its delegated task.
            action @ Action::Navigate(_) if !self.above.is_empty() => {
                let key = self.app.ui.keymap.key_of(KeyCommand::Agents);
                let reason = format!("You can't leave an agent's session this way; {key} returns.");
                self.app.reject(ActionRequest { from, action }, &reason);
            }
            Action::Terminal(TerminalAction::Copy(copied)) => self.copy(copied),
            Action::Terminal(TerminalAction::Suspend) => self.suspend = Some(SuspendReason::Stop),
            Action::Terminal(TerminalAction::EditExternally(text)) => {
                self.suspend = Some(SuspendReason::Edit(text))
            }
            action => match &self.connection {
                Some(link) => match link.executor.queue(ActionRequest { from, action }) {
                    // Nothing else from the session is shown before the reload.
                    Some(request) if request.action == Action::Reload => self.pending.push(request),
                    // The executor's queue is full.
                    Some(request) => self.app.reject(request, "Busy: try again in a moment."),
                    None => {}
                },
                None => self.pending.push(ActionRequest { from, action }),
            },
        }
        None
    }

    /// Copies text to both the terminal's and the system's clipboard, because the user may paste from either.
    /// The system's result arrives later.
    fn copy(&mut self, CopiedText { text, summary }: CopiedText) {
        let fits = text.len() <= MAX_BY_TERMINAL;
        let terminal = match self.terminal.screen.as_mut().filter(|_| fits).map(|screen| screen.copy(&text)) {
            _ if !fits => TerminalCopyResult::TooLong,
            None | Some(Err(_)) => TerminalCopyResult::Refused,
            Some(Ok(())) => TerminalCopyResult::Sent,
        };
        if terminal != TerminalCopyResult::TooLong {
            self.app.flash(clipboard::message(&summary, terminal, SystemCopyResult::Nothing));
        }
        let reports = self.connection.as_ref().map(|link| link.executor.result_sender());
        self.clipboard.put(text, move |system| {
            let is_news = system != SystemCopyResult::Nothing || terminal == TerminalCopyResult::TooLong;
            if is_news && let Some(reports) = reports.and_then(|reports| reports.upgrade()) {
                // The loop may have ended.
                let _ = reports
                    .blocking_send(TaskResult::Note(clipboard::message(&summary, terminal, system)).into());
            }
        });
    }
}

/// Reads the user's keymap file.
fn keymap(options: &TuiOptions) -> Keymap {
    options.files.keybindings.as_deref().map(Keymap::load).unwrap_or_default()
}

/// Also writes problems of the keymap file to the log.
fn log_problems(problems: &[String]) {
    problems.iter().for_each(|problem| tracing::warn!("{problem}"));
}
