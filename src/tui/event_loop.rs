//! The one loop: inputs in, frames and actions out.
//!
//! A frame that is due comes first, then keys, then everything else, so that no stream of events delays what is typed, and no
//! flood of keys what is shown. [`Pace`] says when a frame is due; when nothing changes, nothing is written. While one is awaited the agent's events gather, and are taken all
//! at once before it is drawn: a fast stream wakes the loop twice a frame, not once a piece.

use std::io::Write;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{Event as TerminalEvent, EventStream as Keys};
use futures_util::StreamExt;
use jiff::tz::TimeZone;
use nix::sys::signal::{Signal, raise};
use tokio::signal::unix::{Signal as SignalStream, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until, timeout_at};

use super::app::{Action, App, Input, Place, Report, Say};
use super::block::Level;
use super::clipboard::{MOST_BY_TERMINAL, SystemClipboard};
use super::files;
use super::pace::{Pace, Stale};
use super::perform::{Performer, now};
use super::terminal::Screen;
use super::theme::Theme;
use super::transcript::Copied;
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

/// Lines of the last exchange that are left on the normal screen.
const FAREWELL: usize = 40;

/// Something that woke the loop.
enum Wake {
    Hangup,
    Signal,
    Terminal(Option<std::io::Result<TerminalEvent>>),
    Frame,
    Report(Option<Report>),
    Agent(Option<Result<Arc<Event>, Lagged>>),
    Tick,
}

struct Front {
    app: App,
    screen: Option<Screen>,
    keys: Option<Keys>,
    events: EventStream,
    reports: mpsc::Receiver<Report>,
    /// There until the end.
    performer: Option<Performer>,
    signals: Signals,
    tick: Interval,
    began: Instant,
    pace: Pace,
    clipboard: SystemClipboard,
    options: TuiOptions,
}

struct Signals {
    terminate: SignalStream,
    interrupt: SignalStream,
    hangup: SignalStream,
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
            keymap: Arc::default(),
        };
        let mut app = App::new(place, history);
        if let Some(draft) =
            options.draft_file.as_deref().and_then(|path| files::load_draft(path, &app.place.cwd))
        {
            app.editor.set_text(&draft);
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
        let screen = Screen::enter(options.mouse).map_err(TuiError::Terminal)?;
        app.size = screen.size();
        let (screen, keys) = (Some(screen), Some(Keys::new()));
        let performer = Some(performer);
        let (began, pace) = (Instant::now(), Pace::default());
        let clipboard = SystemClipboard::default();
        Ok(Self { app, screen, keys, events, reports, performer, signals, tick, began, pace, clipboard, options })
    }

    async fn work(&mut self) -> ExitReason {
        let mut noticed = false;
        loop {
            let input = match self.wake().await {
                Wake::Hangup => return ExitReason::HungUp,
                Wake::Signal => return ExitReason::Signal,
                Wake::Terminal(Some(Ok(event))) => match input_of(event) {
                    Some(input) => input,
                    None => continue,
                },
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
            }
        }
    }

    async fn wake(&mut self) -> Wake {
        let due = self.pace.due(self.app.stale).map(|due| self.began + due);
        let keys = self.keys.get_or_insert_with(Keys::new);
        tokio::select! {
            biased;
            _ = self.signals.hangup.recv() => Wake::Hangup,
            _ = self.signals.terminate.recv() => Wake::Signal,
            _ = self.signals.interrupt.recv() => Wake::Signal,
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => Wake::Frame,
            event = keys.next() => Wake::Terminal(event),
            report = self.reports.recv() => Wake::Report(report),
            event = self.events.next(), if due.is_none() => Wake::Agent(event),
            _ = self.tick.tick(), if self.app.wants_ticks() => Wake::Tick,
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
        let at = self.began.elapsed();
        self.pace.drew(at, at - before);
        drawn.err().map(|_| ExitReason::HungUp)
    }

    /// Does what needs the terminal; the rest is the performer's.
    fn perform(&mut self, action: Action) -> Option<ExitReason> {
        match action {
            Action::Quit => return Some(ExitReason::Quit),
            Action::Copy(copied) => self.copy(copied),
            Action::Suspend => return self.away(|_| _ = raise(Signal::SIGTSTP)),
            Action::EditElsewhere(text) => return self.away(|front| front.edit(&text)),
            action => {
                if !self.performer.as_ref().is_some_and(|performer| performer.tell(action)) {
                    self.app.flash("busy; try again in a moment");
                }
            }
        }
        None
    }

    /// Gives a text to the terminal's clipboard and to the system's: either may be the one that the user pastes from.
    fn copy(&mut self, Copied { text, what }: Copied) {
        let fits = text.len() <= MOST_BY_TERMINAL;
        let copied = fits && self.screen.as_mut().is_some_and(|screen| screen.copy(&text).is_ok());
        self.app.flash(match (copied, fits) {
            (true, _) => format!("copied {what}"),
            (false, true) => "the terminal didn't take it".to_owned(),
            (false, false) => format!(
                "copied {what} to the system's clipboard only: a terminal takes no more than {} kB",
                MOST_BY_TERMINAL / 1_000
            ),
        });
        self.clipboard.put(text);
    }

    /// Gives the terminal back, does something, and takes it over again. Nothing reads the keys meanwhile.
    fn away(&mut self, what: impl FnOnce(&mut Self)) -> Option<ExitReason> {
        self.keys = None;
        self.screen = None;
        what(self);
        match Screen::enter(self.options.mouse) {
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

    fn store_draft(&self) {
        if let Some(path) = &self.options.draft_file {
            files::store_draft(path, &self.app.place.cwd, &self.app.editor.expanded());
        }
    }

    /// Lets what was typed last reach the agent; what it refuses is a draft again.
    async fn settle(&mut self) {
        let _task = self.performer.take().map(Performer::finish);
        let until = Instant::now() + SETTLE;
        while let Ok(Some(report)) = timeout_at(until, self.reports.recv()).await {
            if matches!(report, Report::Failed { text: Some(_), .. }) {
                self.app.update(Input::Report(report), now());
                self.store_draft();
            }
        }
    }

    async fn end(mut self, agent: &AgentSession, reason: ExitReason) -> Result<TuiExit, TuiError> {
        // The thread that reads the keys spins on a terminal that is gone; it ends here, before anything that may take time.
        self.keys = None;
        self.screen = None;
        self.store_draft();
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
        })
    }
}

fn input_of(event: TerminalEvent) -> Option<Input> {
    match event {
        TerminalEvent::Key(key) => Some(Input::Key(key)),
        TerminalEvent::Paste(text) => Some(Input::Paste(text)),
        TerminalEvent::Resize(width, height) => Some(Input::Resize { width, height }),
        TerminalEvent::Mouse(event) => Some(Input::Mouse(event)),
        TerminalEvent::FocusGained | TerminalEvent::FocusLost => None,
    }
}

fn edited(editor: &str, text: &str) -> std::io::Result<String> {
    let mut file = tempfile::Builder::new().prefix("tiller-").suffix(".md").tempfile()?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    // The editor is a shell's words (`code --wait`); the file's name is passed beside them, never as one of them.
    let status =
        Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(file.path()).status()?;
    if !status.success() {
        return Err(std::io::Error::other(format!("`{editor}` ended with {status}")));
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
