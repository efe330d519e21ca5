//! The one loop: inputs in, frames and actions out.
//!
//! A frame that is due comes first, then keys, then everything else, so that no stream of events delays what is typed, and no
//! flood of keys what is shown. [`Pace`] says when a frame is due; when nothing changes, nothing is written. While one is awaited the agent's events gather, and are taken all
//! at once before it is drawn: a fast stream wakes the loop twice a frame, not once a piece.

use std::future::pending;
use std::io::Write;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crossterm::event::Event as TerminalEvent;
use futures_util::FutureExt;
use jiff::tz::TimeZone;
use nix::sys::signal::{Signal, raise};
use tokio::signal::unix::{Signal as SignalStream, SignalKind, signal};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval, sleep_until, timeout_at};

use super::app::{Action, App, Input, Place, Report, Say};
use super::block::Level;
use super::clipboard::{MOST_BY_TERMINAL, SystemClipboard};
use super::draft::Draft;
use super::ears::{self, Ears, Heard};
use super::files;
use super::keymap::Keymap;
use super::mouse::Mouse;
use super::notify::{Focus, Notifier};
use super::pace::{Pace, Stale};
use super::perform::{Performer, now};
use super::report;
use super::terminal::Screen;
use super::theme::Theme;
use super::transcript::Copied;
use super::{Asking, ExitReason, Opened, TuiError, TuiExit, TuiOptions};
use crate::agent::{AgentSession, EventStream, Lagged};
use crate::event::Event;
use crate::render;
use crate::theme::Library;

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
    /// The process goes on after it was stopped.
    Continued,
    Terminal(Option<std::io::Result<Heard>>),
    Themes(Arc<Library>),
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
    keys: Option<Ears>,
    notifier: Notifier,
    draft: Draft,
    /// `None` until the session is open.
    link: Option<Link>,
    /// What is to be done as soon as it is, or with the next frame when there was too much to do.
    waiting: Vec<Action>,
    signals: Signals,
    tick: Interval,
    began: Instant,
    pace: Pace,
    clipboard: SystemClipboard,
    options: TuiOptions,
}

/// The agent's side.
struct Link {
    events: EventStream,
    reports: mpsc::Receiver<Report>,
    performer: Performer,
    /// What the user is to know once the session is on the screen.
    notices: Vec<String>,
}

struct Signals {
    terminate: SignalStream,
    interrupt: SignalStream,
    hangup: SignalStream,
    continued: SignalStream,
}

pub(super) async fn run<E: std::fmt::Debug>(
    options: TuiOptions,
    open: impl Future<Output = Result<Opened, E>>,
) -> Result<TuiExit, TuiError<E>> {
    let mut front = Front::start(options).map_err(TuiError::Terminal)?;
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

impl Front {
    /// Takes the terminal over and draws the first frame; the session may still be opened.
    fn start(options: TuiOptions) -> std::io::Result<Self> {
        let history = options.history_file.as_deref().map(files::load_history).unwrap_or_default();
        let place = Place {
            cwd: options.cwd.clone(),
            home: options.home.clone(),
            zone: TimeZone::system(),
            theme: Theme::of(&options.themes),
            banner: Vec::new(),
            keymap: Arc::new(keymap(&options)),
            manner: options.abilities.manner(),
            images: options.abilities.images,
            cell: (8, 16),
        };
        let mut app = App::new(place, history);
        let mut draft = Draft::new(options.draft_file.clone());
        if let Some(text) = draft.load(&app.place.cwd) {
            app.editor.set_text(&text);
        }
        let signals = Signals::catch()?;
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
        report::on_panic(options.report_folder.clone());
        let screen = Screen::enter(&options.reach, options.mouse, options.abilities.images)?;
        app.size = screen.size();
        app.now = now();
        app.work.opening_since = Some(app.now);
        let (began, pace) = (Instant::now(), Pace::default());
        let mut front = Self {
            app,
            screen: Some(screen),
            keys: None,
            notifier: Notifier::new(options.reach),
            draft,
            link: None,
            waiting: Vec::new(),
            signals,
            tick,
            began,
            pace,
            clipboard: SystemClipboard::default(),
            options,
        };
        front.frame();
        front.listen();
        Ok(front)
    }

    /// Takes the session up.
    fn join(&mut self, opened: Opened) {
        let Opened { agent, prompt, pick, banner, notices } = opened;
        self.app.place.banner = banner;
        self.app.work.opening_since = None;
        // First the events, then the snapshot that the reload takes: nothing falls between the two.
        let events = agent.subscribe();
        let (performer, reports) = Performer::start(agent, self.options.clone());
        performer.tell(Action::Reload);
        self.app.expect_snapshot();
        self.link = Some(Link { events, reports, performer, notices });
        match prompt {
            // What is to be said is for the session that is picked.
            Some(prompt) if pick => self.app.editor.put_before(&[prompt]),
            Some(prompt) => _ = self.perform(Action::Say(Say::Steer(prompt))),
            None => {}
        }
        let actions = if pick { self.app.browse("") } else { Vec::new() };
        for action in actions.into_iter().chain(std::mem::take(&mut self.waiting)) {
            self.perform(action);
        }
        self.app.stale = Stale::ByUser;
    }

    /// Ends before there is a session. What was to be said to it is a draft again.
    async fn leave(mut self, reason: ExitReason) -> TuiExit {
        self.keys = None;
        self.screen = None;
        let said = self.waiting.iter().filter_map(|action| match action {
            Action::Say(say) => say.text(),
            _ => None,
        });
        let said: Vec<String> = said.collect();
        if !said.is_empty() {
            self.app.editor.put_before(&said);
        }
        self.store_draft().await;
        TuiExit { session: None, reason }
    }

    async fn work(&mut self) -> ExitReason {
        loop {
            let input = match self.wake().await {
                Wake::Hangup => return ExitReason::HungUp,
                Wake::Signal => return ExitReason::Signal,
                Wake::Continued => match self.away(|_| ()) {
                    Some(reason) => return reason,
                    None => continue,
                },
                Wake::Terminal(Some(Ok(heard))) => match self.input_of(heard).await {
                    Some(input) => input,
                    None => continue,
                },
                Wake::Keep => {
                    self.draft.keep(&self.app.place.cwd, self.app.unsent());
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
                Wake::Themes(library) => Input::Themes(library),
                Wake::Tick => {
                    if self.owes_pictures() {
                        self.app.stale = self.app.stale.max(Stale::BySession);
                    }
                    Input::Tick
                }
            };
            let loaded = matches!(input, Input::Report(Report::Loaded(_)));
            if let Some(reason) = self.take(input) {
                return reason;
            }
            if loaded && let Some(link) = &mut self.link {
                for notice in std::mem::take(&mut link.notices) {
                    self.app.say(Level::Note, notice, None);
                }
                self.tell_of_keys();
            }
        }
    }

    async fn wake(&mut self) -> Wake {
        let due = self.pace.due(self.app.stale).map(|due| self.began + due);
        let keep = self.draft.due();
        self.listen();
        let owes = self.owes_pictures();
        let keys = self.keys.as_mut();
        let news = self.options.themes.news.as_mut();
        let (reports, events) = match &mut self.link {
            Some(link) => (Some(&mut link.reports), Some(&mut link.events)),
            None => (None, None),
        };
        tokio::select! {
            biased;
            _ = self.signals.hangup.recv() => Wake::Hangup,
            _ = self.signals.terminate.recv() => Wake::Signal,
            _ = self.signals.interrupt.recv() => Wake::Signal,
            _ = self.signals.continued.recv() => Wake::Continued,
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => Wake::Frame,
            heard = next_heard(keys) => Wake::Terminal(heard),
            report = next_report(reports) => Wake::Report(report),
            event = next_event(events), if due.is_none() => Wake::Agent(event),
            library = next_themes(news) => Wake::Themes(library),
            () = sleep_until(keep.unwrap_or_else(Instant::now)), if keep.is_some() => Wake::Keep,
            _ = self.tick.tick(), if owes || self.app.wants_ticks() => Wake::Tick,
        }
    }

    fn owes_pictures(&self) -> bool {
        self.screen.as_ref().is_some_and(Screen::owes_pictures)
    }

    /// What came from the terminal, as the state takes it.
    async fn input_of(&mut self, heard: Heard) -> Option<Input> {
        let event = match heard {
            Heard::Event(event) => event,
            Heard::Ground(ground) => return Some(Input::Ground(ground)),
        };
        match event {
            TerminalEvent::Key(key) => {
                self.draft.typed(Instant::now());
                Some(match &mut self.keys {
                    Some(ears) => ears.input(key).await,
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
            TerminalEvent::Mouse(event) => Some(Input::Mouse(event)),
        }
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
            let _ = screen.write(&words);
        }
    }

    /// Says what of the user's keys doesn't hold.
    fn tell_of_keys(&mut self) {
        let keymap = Arc::clone(&self.app.place.keymap);
        for problem in keymap.problems() {
            self.app.say(Level::Warning, problem.clone(), None);
        }
    }

    /// Listens to the terminal, if nobody does, and asks for the colour of its ground. Only now: the first frame is on its way, so
    /// the question delays nothing.
    fn listen(&mut self) {
        let Some(screen) = self.screen.as_mut().filter(|_| self.keys.is_none()) else { return };
        let mut ears = Ears::open();
        let asks = self.options.themes.asking == Asking::AfterFirstFrame;
        if asks && screen.write(ears::QUESTION).is_ok() {
            ears.expect();
        }
        self.keys = Some(ears);
    }

    /// Takes the events that are there already.
    fn take_batch(&mut self) -> Option<ExitReason> {
        for _ in 0..BATCH {
            let input = match self.link.as_mut()?.events.try_next()? {
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
        if self.link.is_some() {
            for action in std::mem::take(&mut self.waiting) {
                self.perform(action);
            }
        }
        let drawn = self.screen.as_mut().map_or(Ok(()), |screen| screen.draw(&mut self.app));
        self.tell();
        let at = self.began.elapsed();
        self.pace.drew(at, at - before);
        // A full channel is no harm: the next frame asks again.
        if render::code_waits()
            && let Some(link) = &self.link
        {
            link.performer.tell(Action::TellCode);
        }
        drawn.err().map(|_| ExitReason::HungUp)
    }

    /// Does what needs the terminal; the rest is the performer's.
    fn perform(&mut self, action: Action) -> Option<ExitReason> {
        if action == Action::ReadResources {
            self.app.place.keymap = Arc::new(keymap(&self.options));
            self.tell_of_keys();
        }
        match action {
            Action::Quit => return Some(ExitReason::Quit),
            Action::Copy(copied) => self.copy(copied),
            Action::Suspend => return self.away(|_| _ = raise(Signal::SIGTSTP)),
            Action::EditElsewhere(text) => return self.away(|front| front.edit(&text)),
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
        // Whether the button is still held, nobody heard.
        self.app.moving.mouse = Mouse::default();
        // What was meant for somebody else who had the terminal, and that we go on again, is known.
        let _ = (self.signals.interrupt.recv().now_or_never(), self.signals.continued.recv().now_or_never());
        self.notifier.forget();
        match Screen::enter(&self.options.reach, self.options.mouse, self.options.abilities.images) {
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
            Ok(text) => {
                self.draft.typed(Instant::now());
                self.take(Input::Report(Report::Edited(text)));
            }
            Err(error) => {
                let hint = Some("set VISUAL or EDITOR to the editor you like".to_owned());
                self.app.say(Level::Error, format!("the editor failed: {error}"), hint);
            }
        }
    }

    async fn store_draft(&mut self) {
        self.draft.keep(&self.app.place.cwd, self.app.unsent());
        self.draft.settle().await;
    }

    /// Lets what was typed last reach the agent; what it refuses is a draft again.
    async fn settle(&mut self) {
        let Some(Link { performer, mut reports, .. }) = self.link.take() else { return };
        let _task = performer.finish();
        let until = Instant::now() + SETTLE;
        while let Ok(Some(report)) = timeout_at(until, reports.recv()).await {
            if matches!(report, Report::Failed { text: Some(_), .. }) {
                self.app.update(Input::Report(report), now());
                self.store_draft().await;
            }
        }
    }

    async fn end(mut self, agent: &AgentSession, reason: ExitReason) -> TuiExit {
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
        TuiExit { session: Some(reader.id().clone()), reason }
    }
}

/// The next report; none before there is somebody who reports.
async fn next_report(reports: Option<&mut mpsc::Receiver<Report>>) -> Option<Report> {
    match reports {
        Some(reports) => reports.recv().await,
        None => pending().await,
    }
}

/// The next event; none before there is an agent.
async fn next_event(events: Option<&mut EventStream>) -> Option<Result<Arc<Event>, Lagged>> {
    match events {
        Some(events) => events.next().await,
        None => pending().await,
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

/// The next thing from the terminal; nothing as long as nobody listens.
async fn next_heard(ears: Option<&mut Ears>) -> Option<std::io::Result<Heard>> {
    match ears {
        Some(ears) => ears.next().await,
        None => std::future::pending().await,
    }
}

/// The themes when others are known than before; whoever told of them may have gone.
async fn next_themes(news: Option<&mut watch::Receiver<Arc<Library>>>) -> Arc<Library> {
    if let Some(news) = news
        && news.changed().await.is_ok()
    {
        return Arc::clone(&news.borrow_and_update());
    }
    std::future::pending().await
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
