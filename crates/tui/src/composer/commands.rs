//! Execution of slash commands and submitted lines.
//!
//! Errors appear in one of two ways. An error in the typed text is a transient message, and the text returns
//! to the editor for correction. An error during execution stays in the transcript, marked `✗`.

use tiller_core::setting::TABLE;
use tiller_core::{setting, suggest};
use tiller_engine::agents::RaceOptions;
use tiller_engine::slash_command::InteractiveFrontEnd::Tui;
use tiller_engine::slash_command::{
    BuiltInCommand, ParsedLine, SlashCommandError, parse, parse_level, parse_mode,
};
use tiller_engine::{AgentCommand, BashContext, unrunnable};

use crate::action::{Action, BackgroundJob, ListAction, SessionEdit, Submit, TerminalAction};
use crate::component::Context;
use crate::composer::Composer;
use crate::delivery::DeliveryTime;
use crate::effect::{Effect, OverlayRequest};
use crate::help;
use crate::keymap::table::KeyCommand;
use crate::list_kind::ListKind;
use crate::login::LoginRequest;
use crate::navigate::Navigate;
use crate::pager::Pager;
use crate::picker::settings::setting_problem;
use crate::text::one_line;
use crate::tree::request::TreePurpose;

/// Returns the command of a shell line, and whether the model sees its output.
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

impl Composer {
    /// Runs a submitted line: a shell command, a slash command or a prompt.
    pub(super) fn execute(&mut self, text: String, when: DeliveryTime, cx: &mut Context<'_>) {
        let line = text.trim();
        if let Some((command, context)) = shell_command(line) {
            return self.run_in_shell(line, command, context, cx);
        }
        if suggest::is_quit_word(line) {
            return cx.push(Effect::quit());
        }
        let message = match parse(line, &cx.model.info.commands, Tui) {
            Ok(ParsedLine::BuiltIn(row, argument)) => return self.command(row.command, argument, cx),
            Err(error @ SlashCommandError::OnlyInPlain("queue" | "send" | "drop")) => {
                let message =
                    format!("{error}; press {} to edit the queue", cx.key_of(KeyCommand::EditQueue));
                return self.reject_input(text.clone(), message, cx);
            }
            Err(error) => return self.reject_input(text.clone(), error.to_string(), cx),
            Ok(ParsedLine::Agent(expanded)) if expanded != line => expanded.into_owned(),
            Ok(ParsedLine::Agent(_) | ParsedLine::Text) => text,
        };
        cx.push(Action::Submit(submission(message, when)));
    }

    /// Runs a command in the shell, unless it needs a terminal or would have no effect.
    fn run_in_shell(&mut self, line: &str, command: &str, context: BashContext, cx: &mut Context<'_>) {
        if let Some(reason) = unrunnable(command) {
            let suspend = cx.key_of(KeyCommand::Suspend);
            let elsewhere = format!("in another terminal, or suspend tiller with {suspend}");
            return self.reject_input(line.to_owned(), reason.message(&elsewhere), cx);
        }
        cx.push(Action::Submit(Submit::Bash(command.to_owned(), context)));
    }

    fn race(&mut self, argument: &str, cx: &mut Context<'_>) {
        if !argument.is_empty() {
            match RaceOptions::parse(argument) {
                Ok(options) => cx.push(Action::List(ListAction::StartRace(options))),
                Err(reason) => return self.reject_input(format!("/race {argument}"), reason, cx),
            }
        }
        cx.push(Effect::Open(OverlayRequest::list(ListKind::Race)));
    }

    #[allow(clippy::too_many_lines, reason = "one arm a command")]
    fn command(&mut self, command: BuiltInCommand, argument: &str, cx: &mut Context<'_>) {
        let text = Some(argument.to_owned()).filter(|text| !text.is_empty());
        if let Some(list) = list_of(command).filter(|_| text.is_none()) {
            return cx.push(Effect::Open(OverlayRequest::list(list)));
        }
        match command {
            BuiltInCommand::New => cx.push(Action::Navigate(Navigate::New)),
            BuiltInCommand::Resume => {
                cx.push(Effect::Open(OverlayRequest::Sessions { filter: argument.to_owned() }))
            }
            BuiltInCommand::Tree => cx.push(Effect::Open(OverlayRequest::Tree(TreePurpose::Go))),
            BuiltInCommand::Fork => cx.push(Effect::Open(OverlayRequest::Tree(TreePurpose::Fork))),
            BuiltInCommand::Clone => cx.push(Action::Navigate(Navigate::Clone)),
            BuiltInCommand::Name if argument.is_empty() => self.ask_for_name(cx),
            BuiltInCommand::Name => cx.push(Action::Edit(SessionEdit::Rename(argument.to_owned()))),
            BuiltInCommand::Label => cx.push(Action::Edit(SessionEdit::Label(text))),
            BuiltInCommand::Compact => cx.push(Action::Compact(text)),
            BuiltInCommand::Truncate => cx.push(Action::Truncate),
            BuiltInCommand::Model => cx.push(Action::Edit(SessionEdit::SetModel(argument.to_owned()))),
            BuiltInCommand::Thinking => match parse_level(argument) {
                Ok(level) => cx.push(Action::Edit(SessionEdit::SetThinking(level))),
                Err(message) => self.reject_input(format!("/thinking {argument}"), message, cx),
            },
            BuiltInCommand::Approval => match parse_mode(argument) {
                Ok(mode) => cx.push(Action::List(ListAction::SetApproval(mode))),
                Err(message) => self.reject_input(format!("/approval {argument}"), message, cx),
            },
            BuiltInCommand::Plan => cx.push(Action::List(ListAction::TogglePlan)),
            BuiltInCommand::AddDir if argument.is_empty() => {
                self.ask_for("/add-dir ", "Type a directory after /add-dir.", cx)
            }
            BuiltInCommand::AddDir => cx.push(Action::List(ListAction::AddDir(argument.to_owned()))),
            BuiltInCommand::Tools => cx.push(Action::List(ListAction::ToggleTool(argument.to_owned()))),
            BuiltInCommand::Settings => match argument.split_once(char::is_whitespace) {
                Some((name, value)) => self.set(name, value.trim(), cx),
                None => {
                    let filter = argument.to_owned();
                    cx.push(Effect::Open(OverlayRequest::List { kind: ListKind::Settings, filter }))
                }
            },
            BuiltInCommand::Copy => self.copy(argument, cx),
            BuiltInCommand::FollowUp if argument.is_empty() => {
                self.ask_for("/followup ", "Type a message after /followup.", cx)
            }
            BuiltInCommand::FollowUp => cx.push(Action::Submit(Submit::FollowUp(argument.to_owned()))),
            BuiltInCommand::Session => {
                cx.push(Action::ShowSessionInfo { width: Pager::columns(cx.ui.size.0) })
            }
            BuiltInCommand::Cost => cx.push(Action::ShowCost),
            BuiltInCommand::Context => cx.push(Action::ShowContext { width: Pager::columns(cx.ui.size.0) }),
            BuiltInCommand::Race => self.race(argument, cx),
            BuiltInCommand::Back => cx.push(Action::Terminal(TerminalAction::LeaveAgent)),
            BuiltInCommand::Mcp => cx.push(Action::ShowToolServers),
            BuiltInCommand::Export => cx.push(Action::Export(argument.to_owned())),
            BuiltInCommand::Import => {
                cx.flash("Importing…");
                cx.push(Action::List(ListAction::Import(argument.to_owned())));
            }
            BuiltInCommand::Login => log_in(argument, cx),
            BuiltInCommand::Logout => {
                cx.push(Action::List(ListAction::Key(LoginRequest::Remove(argument.to_owned()))))
            }
            BuiltInCommand::Theme => cx.push(Effect::ApplyTheme(argument.to_owned())),
            BuiltInCommand::Reload => cx.push(Action::ReloadResources),
            BuiltInCommand::Logs => cx.push(Action::Background(BackgroundJob::ShowLogs)),
            BuiltInCommand::Help => {
                let lines = help::page(&cx.ui.keymap, &cx.model.info.commands);
                cx.push(Effect::Open(OverlayRequest::Help { title: "help".to_owned(), lines }))
            }
            BuiltInCommand::Hotkeys => {
                let lines = help::keys(&cx.ui.keymap);
                cx.push(Effect::Open(OverlayRequest::Help { title: "keys".to_owned(), lines }))
            }
            BuiltInCommand::Quit => cx.push(Effect::quit()),
            // These take no argument, so that their list has opened.
            BuiltInCommand::Permissions
            | BuiltInCommand::Trust
            | BuiltInCommand::Agents
            | BuiltInCommand::Jobs
            // Only `--plain` has these; `parse` rejects them.
            | BuiltInCommand::Go
            | BuiltInCommand::Now
            | BuiltInCommand::Queue
            | BuiltInCommand::Send
            | BuiltInCommand::Drop
            | BuiltInCommand::Stop => {}
        }
    }

    fn ask_for(&mut self, beginning: &str, message: &str, cx: &mut Context<'_>) {
        self.editor.clear();
        self.editor.insert(beginning);
        cx.flash(message);
    }

    fn ask_for_name(&mut self, cx: &mut Context<'_>) {
        let message = match &cx.model.info.name {
            Some(name) => format!("Current name: {name}. Type a new name after /name."),
            None => "No name yet. Type one after /name.".to_owned(),
        };
        self.ask_for("/name ", &message, cx)
    }

    /// Sets a setting like the settings list.
    fn set(&mut self, name: &str, value: &str, cx: &mut Context<'_>) {
        let problem = match setting::find(name) {
            Some(setting) => match setting_problem(setting, value, cx.ui) {
                None => return cx.push(Action::List(ListAction::Set(setting, value.to_owned()))),
                Some(trouble) => trouble,
            },
            None => {
                let nearest = suggest::nearest(name, TABLE.iter().map(|setting| setting.name));
                let instead = nearest.map_or("/settings lists the settings".to_owned(), |name| {
                    format!("did you mean `{name}`?")
                });
                format!("unknown setting `{}`; {instead}", one_line(name))
            }
        };
        self.reject_input(format!("/settings {name} {value}"), problem, cx)
    }

    /// Copies an answer: the last one, or the one with this number, counted from the end.
    fn copy(&mut self, number: &str, cx: &mut Context<'_>) {
        let from_end = if number.is_empty() { Some(1) } else { number.parse().ok() };
        let typed = format!("/copy {number}");
        match from_end.filter(|from_end: &usize| *from_end > 0) {
            Some(from_end) => cx.push(Effect::CopyAnswer { from_end, typed }),
            None => {
                let message = "invalid number; /copy 1 copies the last answer, /copy 2 the one before";
                self.reject_input(typed, message, cx);
            }
        }
    }
}

/// Returns true if a line is a command and not a prompt.
pub(super) fn is_command(line: &str, agent_commands: &[AgentCommand]) -> bool {
    let line = line.trim();
    suggest::is_quit_word(line)
        || line.starts_with('!')
        || !matches!(parse(line, agent_commands, Tui), Ok(ParsedLine::Agent(_) | ParsedLine::Text))
}

/// The list that a command opens without an argument.
const fn list_of(command: BuiltInCommand) -> Option<ListKind> {
    Some(match command {
        BuiltInCommand::Model => ListKind::Models,
        BuiltInCommand::Thinking => ListKind::Thinking,
        BuiltInCommand::Approval => ListKind::Approval,
        BuiltInCommand::Permissions => ListKind::Permissions,
        BuiltInCommand::Trust => ListKind::Trust,
        BuiltInCommand::Tools => ListKind::Tools,
        BuiltInCommand::Agents => ListKind::Agents,
        BuiltInCommand::Jobs => ListKind::Jobs,
        BuiltInCommand::Import => ListKind::ForeignLogs,
        BuiltInCommand::Login => ListKind::Logins,
        BuiltInCommand::Logout => ListKind::Logouts,
        BuiltInCommand::Theme => ListKind::Themes,
        _ => return None,
    })
}

/// Asks for the key of a provider.
fn log_in(argument: &str, cx: &mut Context<'_>) {
    let (provider, key) = argument.split_once(char::is_whitespace).unwrap_or((argument, ""));
    if !key.trim().is_empty() {
        cx.flash("Don't type the key here: tiller prompts for it and hides it.");
    }
    cx.push(Effect::Open(OverlayRequest::Login(provider.to_owned())));
}
