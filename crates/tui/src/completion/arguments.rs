//! Completion of command arguments from values known to the app, values collected in the background, and
//! paths.

use tiller_core::setting;
use tiller_core::setting::SettingKind;
use tiller_engine::slash_command::InteractiveFrontEnd::Tui;
use tiller_engine::slash_command::{BuiltInCommand, find_command};
use tiller_engine::{AgentCommand, ApprovalMode};
use tiller_render::Role;

use crate::action::{Action, ListAction};
use crate::completion::Completion;
use crate::completion::candidate::{Candidate, OnAccept, Range};
use crate::completion::paths::PathKind;
use crate::completion::values::{ArgumentSources, ArgumentValues};
use crate::completion::word::CompletionKind;
use crate::component::{Context, ViewContext};
use crate::fuzzy::{FuzzyQuery, MatchMode};
use crate::list_kind::ListKind;
use crate::picker::approval_modes::mode_about;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::picker::narrowing::with_match_mode;
use crate::picker::themes::theme_names;
use crate::text::one_line;

/// Maximum number of candidates.
const MAX_CANDIDATES: usize = 50;

/// The values of a command's argument.
enum NextArgument {
    Items(Vec<PickerItem>),
    Gathered(ArgumentValues),
    Path(PathKind),
    /// Free text or none.
    Free,
}

impl Completion {
    /// Shows candidates for a command's argument.
    pub(super) fn update_argument(&mut self, command: &str, typed: &str, cx: &mut Context<'_>) {
        let agent = cx.model.info.commands.iter().any(|other| other.name == command);
        let built_in = find_command(command, Tui).filter(|row| row.name == command || !agent);
        match built_in.map_or(NextArgument::Free, |row| argument_of(row.command, typed, cx)) {
            NextArgument::Items(items) => self.show_items(&items, typed, Range::Closed),
            NextArgument::Gathered(values) => self.show_gathered(values, typed, cx),
            NextArgument::Path(purpose) => self.request_paths(purpose, typed, cx),
            NextArgument::Free => {
                self.show(Vec::new());
                self.hint = hint(command, &cx.model.info.commands).filter(|_| typed.is_empty());
            }
        }
    }

    fn show_items(&mut self, items: &[PickerItem], typed: &str, range: Range) {
        let (mode, matches) = match range {
            Range::Open => (MatchMode::Prose, with_match_mode(items, typed, MatchMode::Prose)),
            // Enter takes the best match, so descriptions aren't matched: `x` is in "commands ask, except …".
            Range::Closed => {
                let mut query = FuzzyQuery::new(typed, MatchMode::Names);
                (MatchMode::Names, query.rank(items, |item| (&item.label, "")))
            }
        };
        let best = matches.into_iter().take(MAX_CANDIDATES);
        self.show(best.filter_map(|at| candidate(&items[at])).collect());
        (self.match_mode, self.range) = (mode, range);
    }

    fn show_gathered(&mut self, values: ArgumentValues, typed: &str, cx: &mut Context<'_>) {
        match self.gathered.take() {
            Some(gathered) if gathered.values == values => {
                self.show_items(&gathered.items, typed, values.range());
                self.gathered = Some(gathered);
            }
            _ => {
                self.gathered = Some(ArgumentSources { values, items: Vec::new() });
                self.show(Vec::new());
                cx.push(Action::List(ListAction::LoadArguments(values)));
            }
        }
    }

    /// Stores collected values if they are still needed.
    pub(crate) fn show_argument_values(&mut self, values: ArgumentValues, items: Vec<PickerItem>) {
        let is_current = self.gathered.as_ref().is_some_and(|gathered| gathered.values == values);
        let CompletionKind::Argument { typed, .. } = self.kind.clone() else { return };
        if is_current {
            self.show_items(&items, &typed, values.range());
            self.gathered = Some(ArgumentSources { values, items });
        }
    }
}

fn argument_of(command: BuiltInCommand, typed: &str, view: &ViewContext<'_>) -> NextArgument {
    match command {
        BuiltInCommand::Approval => NextArgument::Items(modes()),
        BuiltInCommand::Theme => NextArgument::Items(theme_names(&view.ui.theme)),
        BuiltInCommand::Settings => NextArgument::Items(settings(typed)),
        BuiltInCommand::Model => NextArgument::Gathered(ArgumentValues::List(ListKind::Models)),
        // The levels depend on the model.
        BuiltInCommand::Thinking => NextArgument::Gathered(ArgumentValues::List(ListKind::Thinking)),
        BuiltInCommand::Tools => NextArgument::Gathered(ArgumentValues::List(ListKind::Tools)),
        BuiltInCommand::Login => NextArgument::Gathered(ArgumentValues::List(ListKind::Logins)),
        BuiltInCommand::Logout => NextArgument::Gathered(ArgumentValues::List(ListKind::Logouts)),
        BuiltInCommand::Resume => NextArgument::Gathered(ArgumentValues::Sessions),
        BuiltInCommand::Export => NextArgument::Path(PathKind::Export),
        BuiltInCommand::Import => NextArgument::Path(PathKind::Import),
        BuiltInCommand::New
        | BuiltInCommand::Tree
        | BuiltInCommand::Go
        | BuiltInCommand::Fork
        | BuiltInCommand::Clone
        | BuiltInCommand::Name
        | BuiltInCommand::Label
        | BuiltInCommand::Compact
        | BuiltInCommand::Truncate
        | BuiltInCommand::Copy
        | BuiltInCommand::Permissions
        | BuiltInCommand::AddDir
        | BuiltInCommand::Trust
        | BuiltInCommand::FollowUp
        | BuiltInCommand::Now
        | BuiltInCommand::Queue
        | BuiltInCommand::Send
        | BuiltInCommand::Drop
        | BuiltInCommand::Stop
        | BuiltInCommand::Session
        | BuiltInCommand::Cost
        | BuiltInCommand::Context
        | BuiltInCommand::Mcp
        | BuiltInCommand::Jobs
        | BuiltInCommand::Agents
        | BuiltInCommand::Back
        | BuiltInCommand::Race
        | BuiltInCommand::Plan
        | BuiltInCommand::Reload
        | BuiltInCommand::Logs
        | BuiltInCommand::Help
        | BuiltInCommand::Hotkeys
        | BuiltInCommand::Quit => NextArgument::Free,
    }
}

/// Returns a hint about the argument of a command that takes free text.
fn hint(command: &str, agent_commands: &[AgentCommand]) -> Option<Candidate> {
    let built_in = find_command(command, Tui).map(|row| row.usage(Tui));
    let built_in = built_in.map(|usage| (usage.argument.to_string(), usage.summary));
    let agent = agent_commands.iter().find(|other| other.name == command);
    let agent = agent.and_then(|other| Some((other.argument_hint.clone()?, other.description.as_str())));
    let (argument, about) = agent.or(built_in).filter(|(argument, _)| !argument.is_empty())?;
    Some(Candidate { name: format!("/{command}"), argument, about: about.to_owned(), ..Candidate::default() })
}

/// Converts a list item into a candidate; `None` for items that can't be typed.
fn candidate(item: &PickerItem) -> Option<Candidate> {
    let (insert, then) = match &item.choice {
        PickerChoice::Model(value)
        | PickerChoice::Theme(value)
        | PickerChoice::Tool(value)
        | PickerChoice::Login(value)
        | PickerChoice::Logout(value) => (value.clone(), OnAccept::Send),
        PickerChoice::Thinking(level) => (level.name().to_owned(), OnAccept::Send),
        PickerChoice::Approval(mode) => (mode.name().to_owned(), OnAccept::Send),
        PickerChoice::Setting(setting, _) => (setting.name.to_owned(), OnAccept::Send),
        PickerChoice::SettingValue(setting, value) => (format!("{} {value}", setting.name), OnAccept::Send),
        PickerChoice::Open(path) => (item.tag.as_ref()?.id.to_string(), OnAccept::Open(path.clone())),
        // Other choices have no text form.
        _ => return None,
    };
    Some(Candidate {
        name: one_line(&item.label),
        about: item.note.clone(),
        insert,
        then,
        ..Candidate::default()
    })
}

fn modes() -> Vec<PickerItem> {
    let item = |mode: ApprovalMode| {
        PickerItem::new(mode.name(), PickerChoice::Approval(mode)).with_note(mode_about(mode))
    };
    ApprovalMode::ALL.map(item).to_vec()
}

/// Returns the settings, or after the name of a setting, its values if they are a fixed set.
fn settings(typed: &str) -> Vec<PickerItem> {
    if let Some((name, _)) = typed.split_once(char::is_whitespace) {
        let Some(setting) = setting::find(name) else { return Vec::new() };
        let SettingKind::Choice(values) = setting.kind else { return Vec::new() };
        let item = |value: &&'static str| {
            let note = if *value == setting.default { "default" } else { "" };
            PickerItem::new(format!("{name} {value}"), PickerChoice::SettingValue(setting, value))
                .with_note(note)
        };
        return values.iter().map(item).collect();
    }
    let item = |setting: &'static setting::Setting| {
        let choice = PickerChoice::Setting(setting, String::new());
        PickerItem::new(setting.name, choice).with_note(setting.plain_about()).in_role(Role::Text)
    };
    setting::TABLE.iter().map(|setting| item(setting)).collect()
}
