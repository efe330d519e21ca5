//! The one loop: inputs in, frames and actions out.
//!
//! A frame that is due comes first, then keys, then everything else, so that no stream of events delays what is typed, and no
//! flood of keys what is shown. [`Pace`] says when a frame is due; when nothing changes, nothing is written. While one is awaited the agent's events gather, and are taken all
//! at once before it is drawn: a fast stream wakes the loop twice a frame, not once a piece.

use std::io::Write;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{Event as TerminalEvent, EventStream as Keys, KeyCode, KeyEvent, KeyEventKind};
use futures_util::{FutureExt, StreamExt};
use jiff::tz::TimeZone;
use nix::sys::signal::{Signal, raise};
use tokio::signal::unix::{Signal as SignalStream, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until, timeout_at};

use super::app::{Action, App, Input, Place, Report, Say};
use super::block::Level;
use super::draft::Draft;
use super::files;
use super::keymap::{Chord, Keymap};
use super::notify::{Focus, Notifier};
use super::pace::{Pace, Stale};
use super::perform::{Performer, now};
use super::terminal::Screen;
use super::theme::Theme;
use super::{ExitReason, TuiError, TuiExit, TuiOptions};
use crate::agent::{AgentSession, EventStream, Lagged};
use crate::event::Event;
use crate::render;
use crate::resource::typed_skill;

/// Time between two states of a spinner.
const TICK: Duration = Duration::from_millis(100);

/// Events of the agent taken before keys are looked at again: a few milliseconds' work.
const BATCH: usize = 4_096;

/// Time that messages sent just before the end have to reach the agent: some syncs of a slow disk.
const SETTLE: Duration = Duration::from_secs(2);

/// Characters that are taken at once when they come faster than keys can be pressed: a paste that the terminal doesn't mark.
const RUN: usize = 16 * 1024;

/// Lines of the last exchange that are left on the normal screen.
const FAREWELL: usize = 40;

/// Something that woke the loop.
enum Wake {
    Hangup,
    Signal,
    /// The process goes on after it was stopped.
    Continued,
    Terminal(Option<std::io::Result<TerminalEvent>>),
    Frame,
    /// The draft is to be kept.
    Keep,
    Report(Option<Report>),
    Agent(Option<Result<Arc<Event>, Lagged>>),
    Tick,
}

struct Front {
    app: App,
    screen: Option<Screen>,
    keys: Option<Keys>,
    /// What came from the terminal behind a run of characters that was taken at once.
    held: Option<std::io::Result<TerminalEvent>>,
    notifier: Notifier,
    draft: Draft,
    events: EventStream,
    reports: mpsc::Receiver<Report>,
    /// There until the end.
    performer: Option<Performer>,
    signals: Signals,
    tick: Interval,
    began: Instant,
    pace: Pace,
    options: TuiOptions,
}

struct Signals {
    terminate: SignalStream,
    interrupt: SignalStream,
    hangup: SignalStream,
    continued: SignalStream,
}

pub(super) async fn run(agent: AgentSession, options: TuiOptions) -> Result<TuiExit, TuiError> {
    let mut front = Front::start(&agent, options).await?;
    let reason = front.work().await;
    front.end(&agent, reason).await
}

impl Front {
    async fn start(agent: &AgentSession, options: TuiOptions) -> Result<Self, TuiError> {
        // First the events, then the snapshot: nothing falls between the two.
        let events = agent.subscribe();
        let state = agent.snapshot().await?.state;
        let history = options.history_file.as_deref().map(files::load_history).unwrap_or_default();
        let place = Place {
            cwd: state.cwd,
            home: options.home.clone(),
            zone: TimeZone::system(),
            theme: Theme::of(options.colours),
            banner: options.banner.clone(),
            keymap: Arc::new(keymap(&options)),
        };
        let mut app = App::new(place, history);
        let mut draft = Draft::new(options.draft_file.clone());
        if let Some(text) = draft.load(&app.place.cwd) {
            app.editor.set_text(&text);
        }
        let (performer, reports) =
            Performer::start(agent.clone(), options.history_file.clone(), options.exporter.clone());
        performer.tell(Action::Reload);
        app.expect_snapshot();
        match options.prompt.clone() {
            // What is to be said is for the session that is picked.
            Some(prompt) if options.pick => app.editor.set_text(&prompt),
            Some(prompt) => _ = performer.tell(Action::Say(Say::Steer(prompt))),
            None => {}
        }
        if options.pick {
            for action in app.browse("") {
                performer.tell(action);
            }
        }
        let signals = Signals::catch().map_err(TuiError::Terminal)?;
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let screen = Screen::enter(&options.reach).map_err(TuiError::Terminal)?;
        app.size = screen.size();
        let (screen, keys) = (Some(screen), Some(Keys::new()));
        let performer = Some(performer);
        let (began, pace) = (Instant::now(), Pace::default());
        let (held, notifier) = (None, Notifier::new(options.reach));
        Ok(Self {
            app,
            screen,
            keys,
            held,
            notifier,
            draft,
            events,
            reports,
            performer,
            signals,
            tick,
            began,
            pace,
            options,
        })
    }

    async fn work(&mut self) -> ExitReason {
        let mut noticed = false;
        loop {
            let input = match self.wake().await {
                Wake::Hangup => return ExitReason::HungUp,
                Wake::Signal => return ExitReason::Signal,
                Wake::Continued => match self.away(|_| ()) {
                    Some(reason) => return reason,
                    None => continue,
                },
                Wake::Terminal(Some(Ok(event))) => match self.input_of(event) {
                    Some(input) => input,
                    None => continue,
                },
                Wake::Keep => {
                    self.draft.keep(&self.app.place.cwd, self.app.editor.expanded());
                    continue;
                }
                Wake::Terminal(Some(Err(_)) | None) => return ExitReason::HungUp,
                Wake::Frame => match self.frame() {
                    Some(reason) => return reason,
                    None => continue,
                },
                Wake::Report(Some(report)) => Input::Report(report),
                Wake::Agent(Some(Ok(event))) => Input::Agent(event),
                Wake::Agent(Some(Err(Lagged(_)))) => Input::Lagged,
                Wake::Report(None) | Wake::Agent(None) => return ExitReason::Closed,
                Wake::Tick => Input::Tick,
            };
            let loaded = matches!(input, Input::Report(Report::Loaded(_)));
            if let Some(reason) = self.take(input) {
                return reason;
            }
            if loaded && !std::mem::replace(&mut noticed, true) {
                for notice in std::mem::take(&mut self.options.notices) {
                    self.app.say(Level::Note, notice, None);
                }
                self.tell_of_keys();
            }
        }
    }

    async fn wake(&mut self) -> Wake {
        let due = self.pace.due(self.app.stale).map(|due| self.began + due);
        if due.is_none_or(|due| due > Instant::now())
            && let Some(event) = self.held.take()
        {
            return Wake::Terminal(Some(event));
        }
        let keep = self.draft.due();
        let keys = self.keys.get_or_insert_with(Keys::new);
        tokio::select! {
            biased;
            _ = self.signals.hangup.recv() => Wake::Hangup,
            _ = self.signals.terminate.recv() => Wake::Signal,
            _ = self.signals.interrupt.recv() => Wake::Signal,
            _ = self.signals.continued.recv() => Wake::Continued,
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => Wake::Frame,
            event = keys.next() => Wake::Terminal(event),
            report = self.reports.recv() => Wake::Report(report),
            event = self.events.next(), if due.is_none() => Wake::Agent(event),
            () = sleep_until(keep.unwrap_or_else(Instant::now)), if keep.is_some() => Wake::Keep,
            _ = self.tick.tick(), if self.app.wants_ticks() => Wake::Tick,
        }
    }

    /// What came from the terminal, as the state takes it.
    fn input_of(&mut self, event: TerminalEvent) -> Option<Input> {
        match event {
            TerminalEvent::Key(key) => {
                self.draft.typed(Instant::now());
                Some(match typed(&key) {
                    Some(c) => self.run_of(c, key),
                    None => Input::Key(key),
                })
            }
            TerminalEvent::Paste(text) => {
                self.draft.typed(Instant::now());
                Some(Input::Paste(text))
            }
            TerminalEvent::Resize(width, height) => Some(Input::Resize { width, height }),
            TerminalEvent::FocusGained => self.focus(Focus::Here),
            TerminalEvent::FocusLost => self.focus(Focus::Elsewhere),
            TerminalEvent::Mouse(_) => None,
        }
    }

    /// The characters that are there already, in one piece.
    fn run_of(&mut self, first: char, key: KeyEvent) -> Input {
        let mut text = String::from(first);
        while let Some(keys) = self.keys.as_mut().filter(|_| text.len() < RUN) {
            match keys.next().now_or_never() {
                Some(Some(Ok(TerminalEvent::Key(key)))) if let Some(c) = typed(&key) => text.push(c),
                Some(Some(event)) => {
                    self.held = Some(event);
                    break;
                }
                // Its end comes again.
                Some(None) | None => break,
            }
        }
        if text.len() == first.len_utf8() { Input::Key(key) } else { Input::Typed(text) }
    }

    fn focus(&mut self, focus: Focus) -> Option<Input> {
        self.notifier.focus(focus);
        self.tell();
        None
    }

    /// Tells the terminal what it is told beside the screen. That it doesn't take it shows with the next frame.
    fn tell(&mut self) {
        let words = self.notifier.look(&self.app);
        if let Some(screen) = self.screen.as_mut().filter(|_| !words.is_empty()) {
            let _ = screen.tell(&words);
        }
    }

    /// Says what of the user's keys doesn't hold.
    fn tell_of_keys(&mut self) {
        let keymap = Arc::clone(&self.app.place.keymap);
        for problem in keymap.problems() {
            self.app.say(Level::Warning, problem.clone(), None);
        }
    }

    /// Takes the events that are there already.
    fn take_batch(&mut self) -> Option<ExitReason> {
        for _ in 0..BATCH {
            let input = match self.events.try_next()? {
                Ok(event) => Input::Agent(event),
                Err(Lagged(_)) => Input::Lagged,
            };
            if let Some(reason) = self.take(input) {
                return Some(reason);
            }
        }
        None
    }

    fn take(&mut self, input: Input) -> Option<ExitReason> {
        if let (Input::Resize { .. }, Some(screen)) = (&input, &mut self.screen) {
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
        let before = self.began.elapsed();
        self.app.stale = Stale::No;
        self.app.now = now();
        let drawn = self.screen.as_mut().map_or(Ok(()), |screen| screen.draw(&mut self.app));
        self.tell();
        let at = self.began.elapsed();
        self.pace.drew(at, at - before);
        drawn.err().map(|_| ExitReason::HungUp)
    }

    /// Does what needs the terminal; the rest is the performer's.
    fn perform(&mut self, action: Action) -> Option<ExitReason> {
        match action {
            Action::Quit => return Some(ExitReason::Quit),
            Action::Copy(text) => {
                let copied = self.screen.as_mut().is_some_and(|screen| screen.copy(&text).is_ok());
                self.app.flash(if copied { "copied the last answer" } else { "the terminal didn't take it" });
            }
            Action::Suspend => return self.away(|_| _ = raise(Signal::SIGTSTP)),
            Action::EditElsewhere(text) => return self.away(|front| front.edit(&text)),
            action => {
                if action == Action::ReadResources {
                    self.app.place.keymap = Arc::new(keymap(&self.options));
                    self.tell_of_keys();
                }
                if !self.performer.as_ref().is_some_and(|performer| performer.tell(action)) {
                    self.app.flash("busy; try again in a moment");
                }
            }
        }
        None
    }

    /// Gives the terminal back, does something, and takes it over again. Nothing reads the keys meanwhile.
    fn away(&mut self, what: impl FnOnce(&mut Self)) -> Option<ExitReason> {
        self.keys = None;
        self.screen = None;
        what(self);
        // What was meant for somebody else who had the terminal, and that we go on again, is known.
        let _ = (self.signals.interrupt.recv().now_or_never(), self.signals.continued.recv().now_or_never());
        self.notifier.forget();
        match Screen::enter(&self.options.reach) {
            Ok(screen) => {
                self.app.size = screen.size();
                self.screen = Some(screen);
                self.app.stale = Stale::ByUser;
                None
            }
            Err(_) => Some(ExitReason::HungUp),
        }
    }

    /// Lets the user edit the draft with a program of theirs.
    fn edit(&mut self, text: &str) {
        match edited(self.options.editor.as_deref().unwrap_or("vi"), text) {
            Ok(text) => self.app.editor.set_text(&text),
            Err(error) => {
                let hint = Some("set VISUAL or EDITOR to the editor you like".to_owned());
                self.app.say(Level::Error, format!("the editor failed: {error}"), hint);
            }
        }
    }

    async fn store_draft(&mut self) {
        self.draft.keep(&self.app.place.cwd, self.app.editor.expanded());
        self.draft.settle().await;
    }

    /// Lets what was typed last reach the agent; what it refuses is a draft again.
    async fn settle(&mut self) {
        let _task = self.performer.take().map(Performer::finish);
        let until = Instant::now() + SETTLE;
        while let Ok(Some(report)) = timeout_at(until, self.reports.recv()).await {
            if matches!(report, Report::Failed { text: Some(_), .. }) {
                self.app.update(Input::Report(report), now());
                self.store_draft().await;
            }
        }
    }

    async fn end(mut self, agent: &AgentSession, reason: ExitReason) -> Result<TuiExit, TuiError> {
        // The thread that reads the keys spins on a terminal that is gone; it ends here, before anything that may take time.
        self.keys = None;
        self.screen = None;
        self.store_draft().await;
        self.settle().await;
        let reader = agent.reader();
        // Closed already is closed.
        let _ = agent.close().await;
        if reason != ExitReason::HungUp {
            let mut lines = farewell(&self.app);
            if reader.exists() {
                lines.push(format!("tiller --session {}", reader.id()));
            }
            // A closed output is nobody to tell.
            let _ = writeln!(std::io::stdout(), "{}", lines.join("\n"));
        }
        Ok(TuiExit { session: reader.id().clone(), reason })
    }
}

impl Signals {
    fn catch() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            continued: signal(SignalKind::from_raw(Signal::SIGCONT as i32))?,
        })
    }
}

fn keymap(options: &TuiOptions) -> Keymap {
    options.keybindings.as_deref().map(files::load_keymap).unwrap_or_default()
}

/// The character that a key types, held down or not.
fn typed(key: &KeyEvent) -> Option<char> {
    match key.code {
        KeyCode::Char(c) if key.kind != KeyEventKind::Release && Chord::of(*key).is_text() => Some(c),
        _ => None,
    }
}

fn edited(editor: &str, text: &str) -> std::io::Result<String> {
    let mut file = tempfile::Builder::new().prefix("tiller-").suffix(".md").tempfile()?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    // The editor is a shell's words (`code --wait`); the file's name is passed beside them, never as one of them.
    let status =
        Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(file.path()).status()?;
    match status.code() {
        Some(0) => {}
        // So says the shell of what isn't there, or can't be run.
        Some(127) => return Err(std::io::Error::other(format!("there is no program `{editor}`"))),
        Some(126) => return Err(std::io::Error::other(format!("`{editor}` can't be run"))),
        _ => return Err(std::io::Error::other(format!("`{editor}` ended with {status}"))),
    }
    let text = std::fs::read_to_string(file.path())?;
    Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
}

/// The last exchange, as plain text.
fn farewell(app: &App) -> Vec<String> {
    let width = usize::from(app.size.0).max(20);
    let Some((prompt, answer)) = app.transcript.last_exchange() else { return Vec::new() };
    let typed = typed_skill(prompt);
    let prompt = typed.as_deref().unwrap_or(prompt);
    let mut lines: Vec<String> =
        prompt.lines().map(|line| format!("> {}", render::clean(line, render::Carriage::Shown))).collect();
    if let Some(answer) = answer {
        lines.push(String::new());
        lines.extend(render::markdown(answer, width).iter().map(|line| line.text().trim_end().to_owned()));
    }
    if lines.len() > FAREWELL {
        lines.splice(FAREWELL / 2..lines.len() - FAREWELL / 2, ["…".to_owned()]);
    }
    lines.push(String::new());
    lines
}
