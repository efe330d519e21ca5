//! The one loop: inputs in, frames and actions out.
//!
//! A frame that is due comes first, then keys, then everything else, so that no stream of events delays what is typed, and no
//! flood of keys what is shown. [`Pace`] says when a frame is due; when nothing changes, nothing is written. While one is awaited the
//! agent's events gather, and are taken all at once before it is drawn: a fast stream wakes the loop twice a frame, not once a piece.

mod event;
mod shutdown;
mod suspend;
mod terminal_handle;

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::Event as TerminalEvent;
use jiff::tz::TimeZone;
use tiller_engine::{EventStream, Lagged};
use tiller_render as render;
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until};

use self::event::{LoopEvent, Signals, next_event, next_heard, next_report, next_themes};
use self::suspend::SuspendReason;
use self::terminal_handle::TerminalHandle;
use super::app::{Action, App, Msg, TaskResult, TerminalAction, UiContext};
use super::block::NoticeLevel;
use super::clipboard::{self, BySystem, ByTerminal, Fallback, MOST_BY_TERMINAL, SystemClipboard};
use super::crash_report;
use super::draft::Draft;
use super::executor::{Executor, now};
use super::files;
use super::frame_pacer::{Dirty, FramePacer};
use super::history::HistoryReader;
use super::input::TermEvent;
use super::keymap::Keymap;
use super::terminal::Screen;
use super::terminal_signals::{Notifier, TerminalFocus};
use super::theme::ThemeState;
use super::transcript::CopiedText;
use super::{ExitReason, OpenedSession, TuiError, TuiExit, TuiOptions};

/// Time between two states of a spinner.
const TICK: Duration = Duration::from_millis(100);

/// Events of the agent taken before keys are looked at again: a few milliseconds' work.
const BATCH: usize = 4_096;

struct EventLoop {
    app: App,
    console: TerminalHandle,
    notifier: Notifier,
    draft: Draft,
    /// The prompts of earlier times.
    earlier: HistoryReader,
    /// `None` until the session is open.
    link: Option<AgentConnection>,
    /// What is to be done as soon as it is, or with the next frame when there was too much to do.
    waiting: Vec<Action>,
    signals: Signals,
    rhythm: FrameTiming,
    clipboard: SystemClipboard,
    options: TuiOptions,
    /// What is to be done next, without the terminal.
    errand: Option<SuspendReason>,
}

/// When something is drawn, and when time is looked at.
struct FrameTiming {
    tick: Interval,
    began: Instant,
    pace: FramePacer,
}

/// The agent's side.
struct AgentConnection {
    events: EventStream,
    reports: mpsc::Receiver<TaskResult>,
    performer: Executor,
    /// What the user is to know once the session is on the screen.
    notices: Vec<String>,
}

pub(super) async fn run<E: std::fmt::Debug>(
    options: TuiOptions,
    open: impl Future<Output = Result<OpenedSession, E>>,
) -> Result<TuiExit, TuiError<E>> {
    let mut front = EventLoop::start(options).map_err(TuiError::Terminal)?;
    // Whatever the loop awaits can be given up at any moment: it goes on where it was.
    let opened = tokio::select! {
        biased;
        reason = front.work() => return Ok(front.leave(reason).await),
        opened = open => opened,
    };
    match opened {
        Ok(opened) => {
            let agent = opened.agent.clone();
            front.join(opened);
            let reason = front.work().await;
            Ok(front.end(&agent, reason).await)
        }
        Err(error) => {
            front.leave(ExitReason::Closed).await;
            Err(TuiError::Open(error))
        }
    }
}

impl EventLoop {
    /// Takes the terminal over and draws the first frame; the session may still be opened.
    fn start(options: TuiOptions) -> std::io::Result<Self> {
        let earlier = HistoryReader::begin(options.files.history.as_deref());
        let keymap = keymap(&options);
        log_problems(keymap.problems());
        let place = UiContext {
            cwd: options.cwd.clone(),
            home: options.home.clone(),
            zone: TimeZone::system(),
            theme: ThemeState::of(&options.themes),
            banner: Vec::new(),
            keys: Vec::new(),
            keymap: Arc::new(keymap),
            manner: options.terminal.abilities.manner(),
            images: options.terminal.abilities.images,
            size: (80, 24),
            cell: (8, 16),
        };
        let mut app = App::new(place, Vec::new());
        let mut draft = Draft::new(options.files.drafts.clone());
        if let Some(text) = draft.load(&app.place.cwd) {
            app.editor.set_text(&text);
        }
        let signals = Signals::catch()?;
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        crash_report::on_panic(options.files.reports.clone());
        let screen = Screen::enter(&options.terminal)?;
        app.place.size = screen.size();
        app.now = now();
        app.work.opening_since = Some(app.now);
        let mut front = Self {
            app,
            console: TerminalHandle { screen: Some(screen), keys: None },
            notifier: Notifier::new(options.terminal.reach),
            draft,
            earlier,
            link: None,
            waiting: Vec::new(),
            signals,
            rhythm: FrameTiming { tick, began: Instant::now(), pace: FramePacer::default() },
            clipboard: SystemClipboard::new(if options.terminal.abilities.has_tmux {
                Fallback::Tmux
            } else {
                Fallback::Nobody
            }),
            options,
            errand: None,
        };
        front.frame();
        front.console.listen(front.options.themes.asking);
        Ok(front)
    }

    /// Takes the session up.
    fn join(&mut self, opened: OpenedSession) {
        let OpenedSession { agent, keys, prompt, paste, pick, banner, notices } = opened;
        self.app.place.keys = keys;
        self.app.place.banner = banner.iter().map(|line| self.app.place.keymap.name_keys(line)).collect();
        self.app.work.opening_since = None;
        // First the events, then the snapshot that the reload takes: nothing falls between the two.
        let events = agent.subscribe();
        let (performer, reports) = Executor::start(agent, self.options.clone());
        performer.tell(Action::Reload);
        self.app.expect_snapshot();
        self.link = Some(AgentConnection { events, reports, performer, notices });
        let has_paste = paste.is_some();
        paste.iter().for_each(|text| self.app.editor.paste_apart(text));
        let actions = match prompt {
            // What is to be said is for the session that is picked.
            Some(prompt) if pick => {
                self.app.editor.put_before(&[prompt.text]);
                self.app.browse("")
            }
            Some(prompt) => self.app.say_first(prompt),
            // Where something is typed, sessions are offered only when they are asked for.
            None if pick && has_paste => self.app.browse(""),
            None if pick => self.app.offer_sessions(now()),
            None => Vec::new(),
        };
        for action in actions.into_iter().chain(std::mem::take(&mut self.waiting)) {
            self.perform(action);
        }
        self.app.stale = Dirty::ByUser;
    }

    async fn work(&mut self) -> ExitReason {
        loop {
            if self.errand.is_some()
                && let Some(reason) = self.run_errand().await
            {
                return reason;
            }
            let input = match self.wake().await {
                LoopEvent::Hangup => return ExitReason::HungUp,
                LoopEvent::Signal => return ExitReason::Signal,
                LoopEvent::Stop => {
                    self.errand = Some(SuspendReason::Stop);
                    continue;
                }
                LoopEvent::Continued => match self.take_again() {
                    Some(reason) => return reason,
                    None => continue,
                },
                LoopEvent::Resized => match crossterm::terminal::size() {
                    Ok((width, height)) => Msg::Resize { width, height },
                    Err(_) => continue,
                },
                LoopEvent::Terminal(Some(Ok(heard))) => match self.input_of(heard) {
                    Some(input) => input,
                    None => continue,
                },
                LoopEvent::Keep => {
                    self.draft.keep(&self.app.place.cwd, self.app.unsent());
                    continue;
                }
                LoopEvent::Terminal(Some(Err(_)) | None) => return ExitReason::HungUp,
                LoopEvent::Frame => match self.frame() {
                    Some(reason) => return reason,
                    None => continue,
                },
                LoopEvent::Report(Some(report)) => Msg::Report(report),
                LoopEvent::Earlier(prompts) => Msg::Report(TaskResult::Earlier(prompts)),
                LoopEvent::Agent(Some(Ok(event))) => Msg::Agent(event),
                LoopEvent::Agent(Some(Err(Lagged(_)))) => Msg::Lagged,
                LoopEvent::Report(None) | LoopEvent::Agent(None) => return ExitReason::Closed,
                LoopEvent::Themes(library) => Msg::Themes(library),
                LoopEvent::Tick => {
                    if self.console.owes_pictures() {
                        self.app.stale = self.app.stale.max(Dirty::BySession);
                    }
                    Msg::Tick
                }
            };
            let loaded = matches!(input, Msg::Report(TaskResult::Loaded(_)));
            if let Some(reason) = self.take(input) {
                return reason;
            }
            if loaded && let Some(link) = &mut self.link {
                for notice in std::mem::take(&mut link.notices) {
                    self.app.say(NoticeLevel::Warning, notice, None);
                }
                self.tell_of_keys();
            }
        }
    }

    async fn wake(&mut self) -> LoopEvent {
        let due = self.rhythm.pace.due(self.app.stale).map(|due| self.rhythm.began + due);
        let keep = self.draft.due();
        self.console.listen(self.options.themes.asking);
        let owes = self.console.owes_pictures();
        let keys = self.console.keys.as_mut();
        let news = self.options.themes.news.as_mut();
        let (reports, events) = match &mut self.link {
            Some(link) => (Some(&mut link.reports), Some(&mut link.events)),
            None => (None, None),
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
            heard = next_heard(keys) => LoopEvent::Terminal(heard),
            prompts = self.earlier.done() => LoopEvent::Earlier(prompts),
            report = next_report(reports) => LoopEvent::Report(report),
            event = next_event(events), if due.is_none() => LoopEvent::Agent(event),
            library = next_themes(news) => LoopEvent::Themes(library),
            () = sleep_until(keep.unwrap_or_else(Instant::now)), if keep.is_some() => LoopEvent::Keep,
            _ = self.rhythm.tick.tick(), if owes || self.app.wants_ticks() => LoopEvent::Tick,
        }
    }

    /// What came from the terminal, as the state takes it.
    fn input_of(&mut self, heard: TermEvent) -> Option<Msg> {
        let event = match heard {
            TermEvent::Event(event) => event,
            TermEvent::Ground(ground) => return Some(Msg::Ground(ground)),
        };
        match event {
            TerminalEvent::Key(key) => {
                self.draft.typed(Instant::now());
                Some(match &mut self.console.keys {
                    Some(ears) => ears.input(key),
                    None => Msg::Key(key),
                })
            }
            TerminalEvent::Paste(text) => {
                self.draft.typed(Instant::now());
                Some(Msg::Paste(text))
            }
            TerminalEvent::Resize(width, height) => Some(Msg::Resize { width, height }),
            TerminalEvent::FocusGained => self.focus(TerminalFocus::Here),
            TerminalEvent::FocusLost => self.focus(TerminalFocus::Elsewhere),
            TerminalEvent::Mouse(event) => Some(Msg::Mouse(event)),
        }
    }

    fn focus(&mut self, focus: TerminalFocus) -> Option<Msg> {
        self.notifier.focus(focus);
        self.tell();
        None
    }

    /// Tells the terminal what it is told beside the screen.
    fn tell(&mut self) {
        let words = self.notifier.look(&self.app);
        self.console.tell(&words);
    }

    /// Says what of the user's keys doesn't hold.
    fn tell_of_keys(&mut self) {
        let keymap = Arc::clone(&self.app.place.keymap);
        for problem in keymap.problems() {
            self.app.say(NoticeLevel::Warning, problem.clone(), None);
        }
    }

    /// Takes the events that are there already.
    fn take_batch(&mut self) -> Option<ExitReason> {
        for _ in 0..BATCH {
            let input = match self.link.as_mut()?.events.try_next()? {
                Ok(event) => Msg::Agent(event),
                Err(Lagged(_)) => Msg::Lagged,
            };
            if let Some(reason) = self.take(input) {
                return Some(reason);
            }
        }
        None
    }

    fn take(&mut self, input: Msg) -> Option<ExitReason> {
        if let (Msg::Resize { .. }, Some(screen)) = (&input, &mut self.console.screen) {
            screen.repaint();
        }
        let actions = self.app.update(input, now());
        actions.into_iter().find_map(|action| self.perform(action))
    }

    /// Takes what gathered, and draws.
    fn frame(&mut self) -> Option<ExitReason> {
        if let Some(reason) = self.take_batch() {
            return Some(reason);
        }
        let before = self.rhythm.began.elapsed();
        self.app.stale = Dirty::No;
        self.app.now = now();
        if self.link.is_some() {
            for action in std::mem::take(&mut self.waiting) {
                self.perform(action);
            }
        }
        let drawn = self.console.screen.as_mut().map_or(Ok(()), |screen| screen.draw(&mut self.app));
        self.tell();
        let at = self.rhythm.began.elapsed();
        self.rhythm.pace.drew(at, at - before);
        if render::code_waits()
            && let Some(link) = &self.link
        {
            link.performer.tell_words();
        }
        drawn.err().map(|_| ExitReason::HungUp)
    }

    /// Does what needs the terminal; the rest is the performer's.
    fn perform(&mut self, action: Action) -> Option<ExitReason> {
        if action == Action::ReadResources {
            log_problems(&self.app.rebind(keymap(&self.options)));
        }
        match action {
            Action::Own(TerminalAction::Quit) => return Some(ExitReason::Quit),
            Action::Own(TerminalAction::Copy(copied)) => self.copy(copied),
            Action::Own(TerminalAction::Suspend) => self.errand = Some(SuspendReason::Stop),
            Action::Own(TerminalAction::EditElsewhere(text)) => self.errand = Some(SuspendReason::Edit(text)),
            action => match &self.link {
                Some(link) => match link.performer.tell(action) {
                    // Until it is done nothing else is shown of the session.
                    Some(Action::Reload) => self.waiting.push(Action::Reload),
                    Some(action) => self.app.refused(action),
                    None => {}
                },
                None => self.waiting.push(action),
            },
        }
        None
    }

    /// Gives a text to the terminal's clipboard and to the system's: either may be the one that the user pastes from. What the system
    /// makes of it is told later.
    fn copy(&mut self, CopiedText { text, what }: CopiedText) {
        let fits = text.len() <= MOST_BY_TERMINAL;
        let terminal = match self.console.screen.as_mut().filter(|_| fits).map(|screen| screen.copy(&text)) {
            _ if !fits => ByTerminal::TooLong,
            None | Some(Err(_)) => ByTerminal::Refused,
            Some(Ok(())) => ByTerminal::Sent,
        };
        if terminal != ByTerminal::TooLong {
            self.app.flash(clipboard::said(&what, terminal, BySystem::Nothing));
        }
        let reports = self.link.as_ref().map(|link| link.performer.reports());
        self.clipboard.put(text, move |system| {
            let is_news = system != BySystem::Nothing || terminal == ByTerminal::TooLong;
            if is_news && let Some(reports) = reports.and_then(|reports| reports.upgrade()) {
                // Whoever would show it may be gone.
                let _ = reports.blocking_send(TaskResult::Note(clipboard::said(&what, terminal, system)));
            }
        });
    }
}

fn keymap(options: &TuiOptions) -> Keymap {
    options.files.keybindings.as_deref().map(files::load_keymap).unwrap_or_default()
}

/// What of the user's keys doesn't hold goes to the log too.
fn log_problems(problems: &[String]) {
    problems.iter().for_each(|problem| tracing::warn!("{problem}"));
}
