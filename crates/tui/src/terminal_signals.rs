//! Signals to the terminal in addition to the screen's cells: title, progress, and alerts while the terminal
//! is unfocused.
//!
//! [`SignalSupport`] describes the terminal; [`Notifier`] compares the app's state with the signals sent so
//! far and returns the bytes to write, if anything has changed. The event loop writes them.

use tiller_core::setting::{NotifyMode, ProgressMode, Switch};
use tiller_core::unit::UnixMs;

use crate::app::App;
use crate::text::one_line;

/// Maximum width of a title in columns; terminals truncate titles anyway.
const MAX_TITLE: usize = 80;

/// A way to alert the user.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Alert {
    /// No alert.
    #[default]
    Silence,
    /// The bell.
    Bell,
    /// `OSC 9 ; text` (iTerm2, Ghostty, WezTerm).
    Osc9,
    /// `OSC 777 ; notify ; title ; text` (foot, rxvt-unicode).
    Osc777,
    /// `OSC 99` (kitty).
    Osc99,
}

/// The signals that a terminal supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SignalSupport {
    /// True if the terminal can set the title and restore the previous one.
    pub has_title: bool,
    /// True if the terminal shows progress: `OSC 9 ; 4`. Other terminals show the sequence as a notification
    /// or ignore it.
    pub has_progress: bool,
    /// The alert while the terminal is unfocused.
    pub alert: Alert,
    /// Minimum duration of a run for an alert at its end, in seconds.
    pub after_s: u64,
}

/// The settings of terminal signals.
#[derive(Clone, Copy, Debug)]
pub struct SignalSettings {
    /// `terminal.title`.
    pub title: Switch,
    /// `terminal.progress`.
    pub progress: ProgressMode,
    /// `notify.mode`.
    pub notify: NotifyMode,
    /// `notify.after_s`.
    pub after_s: u64,
}

impl SignalSupport {
    /// Returns the signals that are supported by the terminal, according to these environment variables, and
    /// enabled in the settings.
    #[must_use]
    pub fn choose<'a>(variable: impl Fn(&str) -> Option<&'a str>, settings: SignalSettings) -> Self {
        let terminal = KnownTerminal::detect(&variable);
        let has_progress = match settings.progress {
            ProgressMode::On => true,
            ProgressMode::Off => false,
            ProgressMode::Auto => terminal.has_progress(&variable),
        };
        let alert = match settings.notify {
            NotifyMode::Off => Alert::Silence,
            NotifyMode::Bell => Alert::Bell,
            NotifyMode::Auto => terminal.alert(),
        };
        let has_title = settings.title == Switch::On && terminal != KnownTerminal::Console;
        Self { has_title, has_progress, alert, after_s: settings.after_s }
    }

    /// The sequence written when the terminal is taken over: saves its title.
    pub(super) fn setup(&self) -> &'static str {
        if self.has_title { "\x1b[22;2t" } else { "" }
    }

    /// Returns the sequence written when the terminal is released. The title is first set to empty, for
    /// terminals that didn't save theirs.
    pub(super) fn teardown(&self) -> String {
        let progress = if self.has_progress { progress_sequence(ProgressState::None) } else { "" };
        let title = if self.has_title { "\x1b]2;\x07\x1b[23;2t" } else { "" };
        format!("{progress}{title}")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KnownTerminal {
    /// A terminal multiplexer: tmux, screen.
    Multiplexer,
    Kitty,
    Ghostty,
    WezTerm,
    ITerm,
    WindowsTerminal,
    ConEmu,
    /// foot, rxvt-unicode.
    Osc777,
    /// The Linux console or a dumb terminal.
    Console,
    Other,
}

impl KnownTerminal {
    fn detect<'a>(variable: &impl Fn(&str) -> Option<&'a str>) -> Self {
        let has = |name: &str| variable(name).is_some_and(|value| !value.is_empty());
        let term = variable("TERM").unwrap_or_default();
        let program = variable("TERM_PROGRAM").unwrap_or_default();
        match (program, term) {
            _ if has("TMUX") || has("STY") => Self::Multiplexer,
            (_, "linux" | "dumb" | "") => Self::Console,
            ("ghostty", _) | (_, "xterm-ghostty") => Self::Ghostty,
            ("WezTerm", _) => Self::WezTerm,
            ("iTerm.app", _) => Self::ITerm,
            (_, "xterm-kitty") => Self::Kitty,
            (_, "foot" | "foot-extra" | "rxvt-unicode" | "rxvt-unicode-256color") => Self::Osc777,
            _ if has("WT_SESSION") => Self::WindowsTerminal,
            _ if has("ConEmuPID") => Self::ConEmu,
            _ => Self::Other,
        }
    }

    /// Returns true if the terminal shows progress. iTerm2 does since version 3.6; earlier versions show
    /// every `OSC 9` as a notification.
    fn has_progress<'a>(self, variable: &impl Fn(&str) -> Option<&'a str>) -> bool {
        match self {
            Self::Ghostty | Self::WezTerm | Self::WindowsTerminal | Self::ConEmu => true,
            Self::ITerm => variable("TERM_PROGRAM_VERSION").is_some_and(|version| {
                let mut parts = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
                (parts.next().unwrap_or(0), parts.next().unwrap_or(0)) >= (3, 6)
            }),
            Self::Multiplexer | Self::Kitty | Self::Osc777 | Self::Console | Self::Other => false,
        }
    }

    const fn alert(self) -> Alert {
        match self {
            Self::Kitty => Alert::Osc99,
            Self::Ghostty | Self::WezTerm | Self::ITerm => Alert::Osc9,
            Self::Osc777 => Alert::Osc777,
            Self::Multiplexer | Self::WindowsTerminal | Self::ConEmu | Self::Console | Self::Other => {
                Alert::Bell
            }
        }
    }
}

/// The focus of the terminal window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TerminalFocus {
    /// Not reported yet.
    #[default]
    Unknown,
    Focused,
    Unfocused,
}

/// The progress state shown in the title or taskbar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ProgressState {
    #[default]
    None,
    Working,
    /// The agent is waiting for the user.
    Waiting,
    Failed,
}

const fn progress_sequence(state: ProgressState) -> &'static str {
    match state {
        ProgressState::None => "\x1b]9;4;0;0\x07",
        ProgressState::Working => "\x1b]9;4;3;0\x07",
        ProgressState::Waiting => "\x1b]9;4;4;100\x07",
        ProgressState::Failed => "\x1b]9;4;2;100\x07",
    }
}

/// Tracks the signals sent to the terminal.
#[derive(Debug, Default)]
pub(super) struct Notifier {
    support: SignalSupport,
    focus: TerminalFocus,
    title: String,
    progress: ProgressState,
    /// Start of the run in progress at the last update.
    running_since: Option<UnixMs>,
    /// The id of the pending call or question at the last update.
    pending: Option<String>,
}

impl Notifier {
    pub(super) fn new(reach: SignalSupport) -> Self {
        Self { support: reach, ..Self::default() }
    }

    pub(super) fn set_focus(&mut self, focus: TerminalFocus) {
        self.focus = focus;
    }

    /// Resets the state after the terminal was released and taken over again.
    pub(super) fn reset(&mut self) {
        (self.title, self.progress) = (String::new(), ProgressState::None);
        self.focus = TerminalFocus::Unknown;
    }

    /// The sequences to write for the app's current state; empty if nothing changed.
    pub(super) fn update(&mut self, app: &App) -> String {
        let mut out = String::new();
        if self.support.has_title {
            let title = title(app);
            if title != self.title {
                out.push_str(&format!("\x1b]2;{title}\x07"));
                self.title = title;
            }
        }
        let progress_now = self.progress_of(app);
        if self.support.has_progress && progress_now != self.progress {
            out.push_str(progress_sequence(progress_now));
        }
        self.progress = progress_now;
        if let Some(text) = self.alert_text(app) {
            out.push_str(&self.alert_sequence(&text));
        }
        out
    }

    fn progress_of(&self, app: &App) -> ProgressState {
        match SignalState::of(app) {
            SignalState::Waiting => ProgressState::Waiting,
            SignalState::Working => ProgressState::Working,
            SignalState::Failed if self.focus != TerminalFocus::Focused => ProgressState::Failed,
            SignalState::Failed | SignalState::Idle => ProgressState::None,
        }
    }

    fn alert_text(&mut self, app: &App) -> Option<String> {
        let asked = pending(app);
        let asked_now = asked.as_ref().map(|(id, _)| id.clone());
        let asks_anew = asked_now.is_some() && asked_now != self.pending;
        self.pending = asked_now;
        let previous_run = std::mem::replace(&mut self.running_since, app.model().activity.running_since);
        let ended = previous_run.filter(|_| app.model().activity.running_since.is_none());
        let name = name(app);
        match (asked.filter(|_| asks_anew), ended) {
            (Some((_, text)), _) => Some(format!("{name}: {text}")),
            (None, Some(since)) if app.now.since_ms(since) >= self.support.after_s * 1_000 => {
                let how = if SignalState::of(app) == SignalState::Failed { "failed" } else { "done" };
                Some(format!("{name}: {how}"))
            }
            _ => None,
        }
    }

    /// Returns the sequence of an alert; empty while the terminal is focused, and at most the bell if the
    /// focus is unknown.
    fn alert_sequence(&self, text: &str) -> String {
        let alert = match (self.focus, self.support.alert) {
            (TerminalFocus::Focused, _) => Alert::Silence,
            (TerminalFocus::Unknown, Alert::Silence) => Alert::Silence,
            (TerminalFocus::Unknown, _) => Alert::Bell,
            (TerminalFocus::Unfocused, alert) => alert,
        };
        // A semicolon would end the field.
        let text = text.replace(';', ",");
        match alert {
            Alert::Silence => String::new(),
            Alert::Bell => "\x07".to_owned(),
            Alert::Osc9 => format!("\x1b]9;tiller: {text}\x07"),
            Alert::Osc777 => format!("\x1b]777;notify;tiller;{text}\x07"),
            Alert::Osc99 => format!("\x1b]99;;tiller: {text}\x1b\\"),
        }
    }
}

/// The app's activity for signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SignalState {
    Idle,
    Working,
    Waiting,
    Failed,
}

impl SignalState {
    fn of(app: &App) -> Self {
        if pending(app).is_some() {
            return Self::Waiting;
        }
        if app.model().is_working() || app.model().activity.summary.is_some() {
            return Self::Working;
        }
        if app.model().activity.last_run_failed { Self::Failed } else { Self::Idle }
    }
}

/// Returns the id of the call or question that is waiting for the user, and its kind.
fn pending(app: &App) -> Option<(String, String)> {
    let activity = &app.model().activity;
    let call = activity.approvals.first().map(|pending| {
        let text = format!("{} needs approval", one_line(&pending.request.tool_name));
        (pending.request.tool_call_id.to_string(), text)
    });
    let question = activity.elicitations.first().map(|request| {
        (request.elicitation_id.to_string(), format!("{} needs input", one_line(&request.asker())))
    });
    call.or(question)
}

/// Returns the session's name, or else the directory's.
fn name(app: &App) -> String {
    let dir = || app.ui.cwd.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = app.model().info.name.clone().or_else(dir).unwrap_or_else(|| "/".to_owned());
    tiller_render::truncate_to(&one_line(&name), MAX_TITLE)
}

/// Formats the title: `tiller · fix-crlf · working`.
fn title(app: &App) -> String {
    let state = match SignalState::of(app) {
        SignalState::Idle => "",
        SignalState::Working => " · working",
        SignalState::Waiting if app.model().activity.approvals.is_empty() => " · needs an answer",
        SignalState::Waiting => " · needs approval",
        SignalState::Failed => " · failed",
    };
    format!("tiller · {}{state}", name(app))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn support(variables: &[(&str, &str)], settings: SignalSettings) -> SignalSupport {
        SignalSupport::choose(
            |name| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value),
            settings,
        )
    }

    const AUTO: SignalSettings = SignalSettings {
        title: Switch::On,
        progress: ProgressMode::Auto,
        notify: NotifyMode::Auto,
        after_s: 10,
    };

    #[test]
    fn signals_auto_follows_the_terminal() {
        let chosen = |variables: &[(&str, &str)]| {
            let support = support(variables, AUTO);
            (support.has_progress, support.alert)
        };
        let xterm = ("TERM", "xterm-256color");
        assert_eq!(chosen(&[xterm]), (false, Alert::Bell));
        assert_eq!(chosen(&[xterm, ("WT_SESSION", "1")]), (true, Alert::Bell));
        assert_eq!(chosen(&[xterm, ("TERM_PROGRAM", "ghostty")]), (true, Alert::Osc9));
        assert_eq!(chosen(&[("TERM", "xterm-kitty")]), (false, Alert::Osc99));
        assert_eq!(chosen(&[("TERM", "foot")]), (false, Alert::Osc777));
        let iterm = ("TERM_PROGRAM", "iTerm.app");
        assert_eq!(chosen(&[xterm, iterm, ("TERM_PROGRAM_VERSION", "3.5.14")]), (false, Alert::Osc9));
        assert_eq!(chosen(&[xterm, iterm, ("TERM_PROGRAM_VERSION", "3.6.2")]), (true, Alert::Osc9));
        assert_eq!(
            chosen(&[xterm, iterm, ("TERM_PROGRAM_VERSION", "3.6"), ("TMUX", "/tmp/x")]),
            (false, Alert::Bell)
        );
    }

    #[test]
    fn signals_settings_override_the_terminal() {
        let xterm = [("TERM", "xterm")];
        assert_eq!(support(&xterm, SignalSettings { notify: NotifyMode::Off, ..AUTO }).alert, Alert::Silence);
        assert_eq!(
            support(&[("TERM", "foot")], SignalSettings { notify: NotifyMode::Bell, ..AUTO }).alert,
            Alert::Bell
        );
        assert!(support(&xterm, SignalSettings { progress: ProgressMode::On, ..AUTO }).has_progress);
        assert!(
            !support(
                &[("TERM", "xterm"), ("WT_SESSION", "1")],
                SignalSettings { progress: ProgressMode::Off, ..AUTO }
            )
            .has_progress
        );
        assert!(!support(&xterm, SignalSettings { title: Switch::Off, ..AUTO }).has_title);
        assert!(!support(&[("TERM", "linux")], AUTO).has_title);
        assert_eq!(SignalSupport::default().teardown(), "");
    }
}
