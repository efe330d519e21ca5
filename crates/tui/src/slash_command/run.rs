//! Execution of slash commands and submitted lines.
//!
//! Errors appear in one of two ways. An error in the typed text is a transient message, and the text returns to the
//! editor for correction; an error during execution stays in the transcript, marked `✗`.

use tiller_core::setting::{self, TABLE};
use tiller_core::suggest;
use tiller_engine::slash_command::InteractiveFrontEnd::Tui;
use tiller_engine::slash_command::{BuiltInCommand, ParsedLine, parse, parse_level, parse_mode};
use tiller_engine::{BashContext, unrunnable};

use super::super::effect::{Effect, Opening};
use super::super::help;
use super::super::keymap::KeyCommand;
use super::super::pager::Pager;
use super::super::picker::setting_problem;
use super::super::transcript::CopiedText;
use super::super::tree::TreePurpose;
use crate::action::DeliveryTime;
use crate::action::{
    Action, BackgroundJob, ListAction, ListKind, Navigate, SessionEdit, Submit, TerminalAction, UserText,
};
use crate::app::App;
use crate::login::LoginRequest;
use crate::message::TaskOrigin;
use crate::tool_call::one_line;

/// The command of a shell line, and whether the model sees its output.
fn shell_command(line: &str) -> Option<(&str, BashContext)> {
    let private = line.strip_prefix("!!").map(str::trim).filter(|command| !command.is_empty());
    let shared = || line.strip_prefix('!').map(str::trim).filter(|command| !command.is_empty());
    let private = private.map(|command| (command, BashContext::Exclude));
    private.or_else(|| shared().map(|command| (command, BashContext::Include)))
}

fn submission(text: String, when: DeliveryTime) -> Submit {
    match when {
        DeliveryTime::Now => Submit::SteerNow(text),
        DeliveryTime::NextStep => Submit::Steer(text),
        DeliveryTime::AfterRun => Submit::FollowUp(text),
    }
}

impl App {
    /// Runs a submitted line: a shell command, a slash command or a prompt.
    pub(crate) fn execute(&mut self, text: String, when: DeliveryTime) -> Vec<Action> {
        let line = text.trim();
        if let Some((command, context)) = shell_command(line) {
            return self.run_in_shell(line, command, context);
        }
        if suggest::is_quit_word(line) {
            return self.command(BuiltInCommand::Quit, "");
        }
        match parse(line, &self.model.info.commands, Tui) {
            Ok(ParsedLine::BuiltIn(row, argument)) => self.command(row.command, argument),
            Err(error) => self.reject_input(text.clone(), error.to_string()),
            Ok(ParsedLine::Agent(whole)) if whole == line => vec![Action::Submit(submission(text, when))],
            Ok(ParsedLine::Agent(whole)) => vec![Action::Submit(submission(whole.into_owned(), when))],
            Ok(ParsedLine::Text) => vec![Action::Submit(submission(text, when))],
        }
    }

    /// Runs a command in the shell, unless it needs a terminal or would have no effect.
    fn run_in_shell(&mut self, line: &str, command: &str, context: BashContext) -> Vec<Action> {
        if let Some(why) = unrunnable(command) {
            let suspend = self.ui.keymap.key_of(KeyCommand::Suspend);
            let elsewhere = format!("in another terminal, or suspend tiller with {suspend}");
            return self.reject_input(line.to_owned(), why.message(&elsewhere));
        }
        vec![Action::Submit(Submit::Bash(command.to_owned(), context))]
    }

    /// Returns true if a line is a command and not a prompt.
    pub(crate) fn is_command(&self, line: &str) -> bool {
        let line = line.trim();
        suggest::is_quit_word(line)
            || line.starts_with('!')
            || !matches!(
                parse(line, &self.model.info.commands, Tui),
                Ok(ParsedLine::Agent(_) | ParsedLine::Text)
            )
    }

    #[allow(clippy::too_many_lines, reason = "one arm a command")]
    fn command(&mut self, command: BuiltInCommand, argument: &str) -> Vec<Action> {
        let text = Some(argument.to_owned()).filter(|text| !text.is_empty());
        match command {
            BuiltInCommand::New => vec![Action::Navigate(Navigate::New)],
            BuiltInCommand::Resume => {
                self.apply(Effect::Open(Opening::Sessions { filter: argument.to_owned() }))
            }
            BuiltInCommand::Tree => self.apply(Effect::Open(Opening::Tree(TreePurpose::Go))),
            BuiltInCommand::Fork => self.apply(Effect::Open(Opening::Tree(TreePurpose::Fork))),
            BuiltInCommand::Clone => vec![Action::Navigate(Navigate::Clone)],
            BuiltInCommand::Name if argument.is_empty() => self.ask_for_name(),
            BuiltInCommand::Name => vec![Action::Edit(SessionEdit::Rename(argument.to_owned()))],
            BuiltInCommand::Label => vec![Action::Edit(SessionEdit::Label(text))],
            BuiltInCommand::Compact => vec![Action::Compact(text)],
            BuiltInCommand::Truncate => vec![Action::Truncate],
            BuiltInCommand::Model if argument.is_empty() => self.open_list(ListKind::Models),
            BuiltInCommand::Model => vec![Action::Edit(SessionEdit::SetModel(argument.to_owned()))],
            BuiltInCommand::Thinking if argument.is_empty() => self.open_list(ListKind::Thinking),
            BuiltInCommand::Thinking => match parse_level(argument) {
                Ok(level) => vec![Action::Edit(SessionEdit::SetThinking(level))],
                Err(what) => self.reject_input(format!("/thinking {argument}"), what),
            },
            BuiltInCommand::Approval if argument.is_empty() => self.open_list(ListKind::Approval),
            BuiltInCommand::Approval => match parse_mode(argument) {
                Ok(mode) => vec![Action::List(ListAction::SetApproval(mode))],
                Err(what) => self.reject_input(format!("/approval {argument}"), what),
            },
            BuiltInCommand::Permissions => self.open_list(ListKind::Permissions),
            BuiltInCommand::Trust => self.open_list(ListKind::Trust),
            BuiltInCommand::AddDir if argument.is_empty() => {
                self.ask_for("/add-dir ", "type the path of a folder after /add-dir")
            }
            BuiltInCommand::AddDir => vec![Action::List(ListAction::AddFolder(argument.to_owned()))],
            BuiltInCommand::Tools if argument.is_empty() => self.open_list(ListKind::Tools),
            BuiltInCommand::Tools => vec![Action::List(ListAction::ToggleTool(argument.to_owned()))],
            BuiltInCommand::Settings => match argument.split_once(char::is_whitespace) {
                Some((name, value)) => self.set(name, value.trim()),
                None => {
                    let filter = argument.to_owned();
                    self.apply(Effect::Open(Opening::List { kind: ListKind::Settings, filter }))
                }
            },
            BuiltInCommand::Copy => self.copy(argument),
            BuiltInCommand::FollowUp if argument.is_empty() => {
                self.ask_for("/followup ", "type a message after /followup")
            }
            BuiltInCommand::FollowUp => vec![Action::Submit(Submit::FollowUp(argument.to_owned()))],
            BuiltInCommand::Session => {
                vec![Action::ShowSessionInfo { width: Pager::columns(self.ui.size.0) }]
            }
            BuiltInCommand::Context => vec![Action::ShowContext { width: Pager::columns(self.ui.size.0) }],
            BuiltInCommand::Export => vec![Action::Export(argument.to_owned())],
            BuiltInCommand::Import => self.import(argument),
            BuiltInCommand::Login => self.log_in(argument),
            BuiltInCommand::Logout => self.log_out(argument),
            BuiltInCommand::Theme if argument.is_empty() => self.open_list(ListKind::Themes),
            BuiltInCommand::Theme => self.apply_theme(argument),
            BuiltInCommand::Reload => vec![Action::ReloadResources],
            BuiltInCommand::Logs => vec![Action::Background(BackgroundJob::ShowLogs)],
            BuiltInCommand::Help => {
                let lines = help::page(&self.ui.keymap, &self.model.info.commands);
                self.apply(Effect::Open(Opening::Help { title: "help".to_owned(), lines }))
            }
            BuiltInCommand::Hotkeys => {
                let lines = help::keys(&self.ui.keymap);
                self.apply(Effect::Open(Opening::Help { title: "keys".to_owned(), lines }))
            }
            BuiltInCommand::Quit => vec![Action::Terminal(TerminalAction::Quit)],
            // Only `--plain` has these; `parse` rejects them.
            BuiltInCommand::Go
            | BuiltInCommand::Now
            | BuiltInCommand::Queue
            | BuiltInCommand::Send
            | BuiltInCommand::Drop
            | BuiltInCommand::Stop => Vec::new(),
        }
    }

    fn open_list(&mut self, kind: ListKind) -> Vec<Action> {
        self.apply(Effect::Open(Opening::list(kind)))
    }

    /// Imports a path, or opens the list of logs.
    fn import(&mut self, path: &str) -> Vec<Action> {
        if path.is_empty() {
            return self.open_list(ListKind::ForeignLogs);
        }
        self.flash("Importing…");
        vec![Action::List(ListAction::Import(path.to_owned()))]
    }

    /// Opens the list of providers, filtered; with a provider's name, asks for its key.
    fn log_in(&mut self, argument: &str) -> Vec<Action> {
        let mut words = argument.split_whitespace();
        let provider = words.next().map(str::to_owned);
        if words.next().is_some() {
            self.flash("Don't type the key here: tiller prompts for it, hidden.");
        }
        let opening = provider.map_or_else(|| Opening::list(ListKind::Logins), Opening::Login);
        self.apply(Effect::Open(opening))
    }

    /// Removes a provider's key, or lists the providers that have one.
    fn log_out(&mut self, provider: &str) -> Vec<Action> {
        if provider.is_empty() {
            return self.open_list(ListKind::Logouts);
        }
        vec![Action::List(ListAction::Key(LoginRequest::Remove(provider.to_owned())))]
    }

    fn ask_for(&mut self, beginning: &str, what: &str) -> Vec<Action> {
        self.composer.editor.set_text(beginning);
        self.flash(what);
        Vec::new()
    }

    fn ask_for_name(&mut self) -> Vec<Action> {
        let what = match &self.model.info.name {
            Some(name) => format!("Current name: {name}. Type a new name after /name."),
            None => "No name yet. Type one after /name.".to_owned(),
        };
        self.ask_for("/name ", &what)
    }

    /// Rejects input: shows `what` and puts the text back into the editor for correction. If the editor holds the
    /// reason of a denial, the text goes to the prompt history instead.
    pub(crate) fn reject_input(
        &mut self,
        typed: impl Into<UserText>,
        what: impl Into<String>,
    ) -> Vec<Action> {
        let typed = typed.into();
        if self.composer.is_writing_reason() {
            // The editor belongs to the reason, and is cleared with it.
            let text = self.composer.editor.restore_images(&typed.text, &typed.images);
            self.composer.editor.remember(&text);
            self.flash(format!("{}; your text is in the prompt history", what.into()));
        } else {
            self.put_before_draft(&typed);
            self.flash(what);
        }
        Vec::new()
    }

    /// Rejects input that failed during execution. A choice stays selected in its list; typed text becomes a draft
    /// again, even under a list opened since.
    pub(crate) fn reject_executed(&mut self, typed: UserText, what: String, origin: TaskOrigin) {
        let list = match origin {
            TaskOrigin::List(list) => Some(list),
            TaskOrigin::Editor => None,
        };
        if !self.compositor.show_input_error(list, &what) {
            self.reject_input(typed, what);
        }
    }

    /// Sets a setting as the settings list does.
    fn set(&mut self, name: &str, value: &str) -> Vec<Action> {
        let problem = match setting::find(name) {
            Some(setting) => match setting_problem(setting, value, &self.ui) {
                None => return vec![Action::List(ListAction::Set(setting, value.to_owned()))],
                Some(trouble) => trouble,
            },
            None => {
                let nearest = suggest::nearest(name, TABLE.iter().map(|setting| setting.name));
                let instead =
                    nearest.map_or("/settings lists them".to_owned(), |name| format!("did you mean {name}?"));
                format!("unknown setting {}; {instead}", one_line(name))
            }
        };
        self.reject_input(format!("/settings {name} {value}"), problem)
    }

    /// Copies an answer: the last one, or the one with that number from the end.
    fn copy(&mut self, number: &str) -> Vec<Action> {
        let from_end = if number.is_empty() { Some(1) } else { number.parse().ok() };
        let Some(from_end) = from_end.filter(|from_end: &usize| *from_end > 0) else {
            let what = "invalid number; /copy 1 copies the last answer, /copy 2 the one before";
            return self.reject_input(format!("/copy {number}"), what);
        };
        if let Some(text) = self.transcript.content().answer(from_end) {
            let (text, what) = (
                text.to_owned(),
                match from_end {
                    1 => "the last answer".to_owned(),
                    from_end => format!("answer {from_end} from the end"),
                },
            );
            return vec![Action::Terminal(TerminalAction::Copy(CopiedText { text, what }))];
        }
        match self.transcript.content().answers() {
            0 => {
                self.flash("No answer to copy yet.");
                Vec::new()
            }
            count => {
                let what = match (self.transcript.content().is_read_whole(), count) {
                    (true, 1) => "there is only one answer; copy it with /copy".to_owned(),
                    (true, count) => {
                        format!("there are only {count} answers; /copy {count} copies the first")
                    }
                    (false, count) => {
                        format!("only the last {count} answers are loaded; scroll up to load more")
                    }
                };
                self.reject_input(format!("/copy {number}"), what)
            }
        }
    }
}
