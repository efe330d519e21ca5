//! Execution of slash commands and submitted lines.
//!
//! Errors appear in one of two ways. An error in the typed text is a transient message, and the text returns to the
//! editor for correction; an error during execution stays in the transcript, marked `✗`.

use tiller_core::setting::{self, TABLE};
use tiller_core::suggest;
use tiller_engine::{BashContext, unrunnable};

use super::super::app::{
    Action, App, BackgroundJob, ListAction, ListKind, Navigate, SessionEdit, Submit, TaskOrigin,
    TerminalAction, UserText,
};
use super::super::approval::PendingApproval;
use super::super::help;
use super::super::keymap::KeyCommand;
use super::super::keys::KeyValidity;
use super::super::overlay::Overlay;
use super::super::pager::Pager;
use super::super::picker::StatusText;
use super::super::transcript::CopiedText;
use super::super::tree::TreePurpose;
use super::{BuiltInCommand, ParsedLine, parse, parse_level, parse_mode};
use crate::tool_call::one_line;

/// The command of a shell line, and whether the model sees its output.
fn shell_command(line: &str) -> Option<(&str, BashContext)> {
    let private = line.strip_prefix("!!").map(str::trim).filter(|command| !command.is_empty());
    let shared = || line.strip_prefix('!').map(str::trim).filter(|command| !command.is_empty());
    let private = private.map(|command| (command, BashContext::Exclude));
    private.or_else(|| shared().map(|command| (command, BashContext::Include)))
}

fn submission(text: String, when: KeyValidity) -> Submit {
    match when {
        KeyValidity::AtOnce => Submit::SteerNow(text),
        KeyValidity::Next => Submit::Steer(text),
        KeyValidity::Afterwards => Submit::FollowUp(text),
    }
}

impl App {
    /// Runs a submitted line: a shell command, a slash command or a prompt.
    pub(crate) fn carry_out(&mut self, text: String, when: KeyValidity) -> Vec<Action> {
        let line = text.trim();
        if let Some((command, context)) = shell_command(line) {
            return self.run_in_shell(line, command, context);
        }
        if suggest::is_quit_word(line) {
            return self.command(BuiltInCommand::Quit, "");
        }
        match parse(line, &self.facts.commands) {
            ParsedLine::Known(command, argument) if command.argument.is_empty() && !argument.is_empty() => {
                let name = command.name;
                self.slip(line.to_owned(), format!("/{name} takes no arguments"))
            }
            ParsedLine::Known(command, argument) => self.command(command.action, argument),
            ParsedLine::Unknown { name, nearest } => {
                let instead = nearest
                    .map_or("/help lists all commands".to_owned(), |name| format!("did you mean /{name}?"));
                self.slip(text.clone(), format!("unknown command /{name}; {instead}"))
            }
            ParsedLine::Agent(whole) if whole == line => vec![Action::Say(submission(text, when))],
            ParsedLine::Agent(whole) => vec![Action::Say(submission(whole.into_owned(), when))],
            ParsedLine::Text => vec![Action::Say(submission(text, when))],
        }
    }

    /// Runs a command in the shell, unless it needs a terminal or would have no effect.
    fn run_in_shell(&mut self, line: &str, command: &str, context: BashContext) -> Vec<Action> {
        if let Some(why) = unrunnable(command) {
            let suspend = self.place.keymap.key_of(KeyCommand::Suspend);
            let elsewhere = format!("in another one, or suspend tiller with {suspend}");
            return self.slip(line.to_owned(), why.message(&elsewhere));
        }
        vec![Action::Say(Submit::Bash(command.to_owned(), context))]
    }

    /// Whether a line is a command and not a prompt.
    pub(crate) fn means_command(&self, line: &str) -> bool {
        let line = line.trim();
        suggest::is_quit_word(line)
            || line.starts_with('!')
            || !matches!(parse(line, &self.facts.commands), ParsedLine::Agent(_) | ParsedLine::Text)
    }

    #[allow(clippy::too_many_lines, reason = "one arm a command")]
    fn command(&mut self, command: BuiltInCommand, argument: &str) -> Vec<Action> {
        let text = Some(argument.to_owned()).filter(|text| !text.is_empty());
        match command {
            BuiltInCommand::New => vec![Action::Go(Navigate::New)],
            BuiltInCommand::Resume => self.browse(argument),
            BuiltInCommand::Tree => self.open_tree(TreePurpose::Go),
            BuiltInCommand::Fork => self.open_tree(TreePurpose::Fork),
            BuiltInCommand::Clone => vec![Action::Go(Navigate::Clone)],
            BuiltInCommand::Name if argument.is_empty() => self.ask_for_name(),
            BuiltInCommand::Name => vec![Action::Change(SessionEdit::Rename(argument.to_owned()))],
            BuiltInCommand::Label => vec![Action::Change(SessionEdit::Label(text))],
            BuiltInCommand::Compact => vec![Action::Compact(text)],
            BuiltInCommand::Truncate => vec![Action::Truncate],
            BuiltInCommand::Model if argument.is_empty() => self.pick("models", ListKind::Models),
            BuiltInCommand::Model => vec![Action::Change(SessionEdit::SetModel(argument.to_owned()))],
            BuiltInCommand::Thinking if argument.is_empty() => self.pick("thinking", ListKind::Thinking),
            BuiltInCommand::Thinking => match parse_level(argument) {
                Ok(level) => vec![Action::Change(SessionEdit::SetThinking(level))],
                Err(what) => self.slip(format!("/thinking {argument}"), what),
            },
            BuiltInCommand::Approval if argument.is_empty() => self.pick("approval", ListKind::Approval),
            BuiltInCommand::Approval => match parse_mode(argument) {
                Ok(mode) => vec![Action::InList(ListAction::SetApproval(mode))],
                Err(what) => self.slip(format!("/approval {argument}"), what),
            },
            BuiltInCommand::Permissions => self.pick("permissions", ListKind::Permissions),
            BuiltInCommand::Trust => self.pick("trust this project?", ListKind::Trust),
            BuiltInCommand::AddDir if argument.is_empty() => {
                self.ask_for("/add-dir ", "type the path of a folder after /add-dir")
            }
            BuiltInCommand::AddDir => vec![Action::InList(ListAction::AddFolder(argument.to_owned()))],
            BuiltInCommand::Tools if argument.is_empty() => self.pick("tools", ListKind::Tools),
            BuiltInCommand::Tools => vec![Action::InList(ListAction::ToggleTool(argument.to_owned()))],
            BuiltInCommand::Settings => match argument.split_once(char::is_whitespace) {
                Some((name, value)) => self.set(name, value.trim()),
                None => self.pick_from("settings", ListKind::Settings, argument),
            },
            BuiltInCommand::Copy => self.copy(argument),
            BuiltInCommand::FollowUp if argument.is_empty() => {
                self.ask_for("/followup ", "type a message after /followup")
            }
            BuiltInCommand::FollowUp => vec![Action::Say(Submit::FollowUp(argument.to_owned()))],
            BuiltInCommand::Session => vec![Action::ShowFacts { width: Pager::columns(self.place.size.0) }],
            BuiltInCommand::Context => vec![Action::ShowContext { width: Pager::columns(self.place.size.0) }],
            BuiltInCommand::Export => vec![Action::Export(argument.to_owned())],
            BuiltInCommand::Import => self.import(argument),
            BuiltInCommand::Login => self.log_in(argument),
            BuiltInCommand::Logout => self.log_out(argument),
            BuiltInCommand::Theme if argument.is_empty() => self.pick_theme(),
            BuiltInCommand::Theme => self.wear_theme(argument),
            BuiltInCommand::Reload => vec![Action::ReadResources],
            BuiltInCommand::Logs => vec![Action::Beside(BackgroundJob::ShowLogs)],
            BuiltInCommand::Help => {
                let page = help::page(&self.place.keymap, &self.facts.commands);
                self.read_help("help", page)
            }
            BuiltInCommand::Hotkeys => {
                let keys = help::keys(&self.place.keymap);
                self.read_help("keys", keys)
            }
            BuiltInCommand::Quit => vec![Action::Own(TerminalAction::Quit)],
        }
    }

    fn ask_for(&mut self, beginning: &str, what: &str) -> Vec<Action> {
        self.editor.set_text(beginning);
        self.flash(what);
        Vec::new()
    }

    fn ask_for_name(&mut self) -> Vec<Action> {
        let what = match &self.facts.name {
            Some(name) => format!("current name: {name}; type a new name after /name"),
            None => "no name yet; type one after /name".to_owned(),
        };
        self.ask_for("/name ", &what)
    }

    /// Rejects input: shows `what` and puts the text back into the editor for correction. If the editor holds the
    /// reason of a denial, the text goes to the prompt history instead.
    pub(crate) fn slip(&mut self, typed: impl Into<UserText>, what: impl Into<String>) -> Vec<Action> {
        let typed = typed.into();
        if self.work.approvals.first().is_some_and(PendingApproval::is_reasoning) {
            // The editor belongs to the reason, and is cleared with it.
            let text = self.editor.adopt(&typed.text, &typed.images);
            self.editor.remember(&text);
            self.flash(format!("{}; your text is in the prompt history", what.into()));
        } else {
            self.put_before_draft(&typed);
            self.flash(what);
        }
        Vec::new()
    }

    /// Rejects input that failed during execution. A choice stays selected in its list; typed text becomes a draft
    /// again, even under a list opened since.
    pub(crate) fn slipped(&mut self, typed: UserText, what: String, origin: TaskOrigin) {
        let is_chosen = |list| self.popups.last().is_some_and(|popup| popup.lists(list));
        if !matches!(origin, TaskOrigin::List(list) if is_chosen(list)) {
            self.slip(typed, what.clone());
        }
        if let Some(picker) = self.popups.last_mut().and_then(Overlay::as_picker) {
            picker.say(Some(StatusText::trouble(what)));
        }
    }

    /// Sets a setting as the settings list does.
    fn set(&mut self, name: &str, value: &str) -> Vec<Action> {
        let problem = match setting::named(name) {
            Some(setting) => match self.setting_trouble(setting, value) {
                None => return vec![Action::InList(ListAction::Set(setting, value.to_owned()))],
                Some(trouble) => trouble,
            },
            None => {
                let nearest = suggest::nearest(name, TABLE.iter().map(|setting| setting.name));
                let instead =
                    nearest.map_or("/settings lists them".to_owned(), |name| format!("did you mean {name}?"));
                format!("unknown setting {}; {instead}", one_line(name))
            }
        };
        self.slip(format!("/settings {name} {value}"), problem)
    }

    /// Copies an answer: the last one, or the one with that number from the end.
    fn copy(&mut self, number: &str) -> Vec<Action> {
        let from_end = if number.is_empty() { Some(1) } else { number.parse().ok() };
        let Some(from_end) = from_end.filter(|from_end: &usize| *from_end > 0) else {
            let what = "invalid number; /copy 1 copies the last answer, /copy 2 the one before";
            return self.slip(format!("/copy {number}"), what);
        };
        if let Some(text) = self.transcript.answer(from_end) {
            let (text, what) = (
                text.to_owned(),
                match from_end {
                    1 => "the last answer".to_owned(),
                    from_end => format!("answer {from_end} from the end"),
                },
            );
            return vec![Action::Own(TerminalAction::Copy(CopiedText { text, what }))];
        }
        match self.transcript.answers() {
            0 => {
                self.flash("no answer to copy yet");
                Vec::new()
            }
            count => {
                let what = match (self.transcript.is_read_whole(), count) {
                    (true, 1) => "there is only one answer; copy it with /copy".to_owned(),
                    (true, count) => {
                        format!("there are only {count} answers; /copy {count} copies the first")
                    }
                    (false, count) => {
                        format!("only the last {count} answers are loaded; scroll up to load more")
                    }
                };
                self.slip(format!("/copy {number}"), what)
            }
        }
    }
}
