//! What may follow a command: words that are known here, words that somebody else has to gather, paths.

use tiller_core::setting::{self, SettingKind};
use tiller_engine::ApprovalMode;
use tiller_render::Role;

use super::paths::{PathKind, PathQuery};
use super::{Candidate, CompletionKind, OnAccept};
use crate::app::{Action, App, ListAction, ListKind};
use crate::picker::{MatchMode, PickerChoice, PickerItem, fitting, mode_about};
use crate::slash_command::{self, BuiltInCommand};
use crate::theme;
use crate::tool_call::one_line;

/// Offers of one kind at most: more than anybody reads.
const MOST: usize = 50;

/// Words that are not known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ArgumentValues {
    /// Those of a list.
    Of(ListKind),
    /// The sessions of this directory.
    Sessions,
}

/// Whether the words that are offered are all that may be typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Range {
    /// They are, so that Enter takes the one that fits best.
    #[default]
    Closed,
    /// Something else may be meant: Enter sends what is typed, unless one went to an offer.
    Open,
}

/// What was gathered last.
#[derive(Debug)]
pub(super) struct ArgumentSources {
    words: ArgumentValues,
    items: Vec<PickerItem>,
}

/// What may follow a command.
enum NextArgument {
    /// Some of these.
    Items(Vec<PickerItem>),
    Gathered(ArgumentValues),
    Path(PathKind),
    /// Whatever somebody likes, or nothing.
    Free,
}

impl App {
    /// Offers what may follow a command.
    pub(super) fn mind_argument(&mut self, command: &str, typed: &str) -> Vec<Action> {
        let agents = self.facts.commands.iter().any(|other| other.name == command);
        let own = slash_command::named(command).filter(|row| row.name == command || !agents);
        match own.map_or(NextArgument::Free, |row| self.following(row.verb, typed)) {
            NextArgument::Items(items) => self.offer_items(&items, typed, Range::Closed),
            NextArgument::Gathered(words) => return self.offer_gathered(words, typed),
            NextArgument::Path(purpose) => return self.ask_for_paths(purpose, typed),
            NextArgument::Free => {
                self.complete.offer(Vec::new());
                self.complete.hint = self.hint(command).filter(|_| typed.is_empty());
            }
        }
        Vec::new()
    }

    fn following(&self, verb: BuiltInCommand, typed: &str) -> NextArgument {
        match verb {
            BuiltInCommand::Approval => NextArgument::Items(modes()),
            BuiltInCommand::Theme => NextArgument::Items(theme::names(&self.place.theme)),
            BuiltInCommand::Settings => NextArgument::Items(settings(typed)),
            BuiltInCommand::Model => NextArgument::Gathered(ArgumentValues::Of(ListKind::Models)),
            // Which of them there are depends on the model.
            BuiltInCommand::Thinking => NextArgument::Gathered(ArgumentValues::Of(ListKind::Thinking)),
            BuiltInCommand::Tools => NextArgument::Gathered(ArgumentValues::Of(ListKind::Tools)),
            BuiltInCommand::Login => NextArgument::Gathered(ArgumentValues::Of(ListKind::Logins)),
            BuiltInCommand::Logout => NextArgument::Gathered(ArgumentValues::Of(ListKind::Logouts)),
            BuiltInCommand::Resume => NextArgument::Gathered(ArgumentValues::Sessions),
            BuiltInCommand::Export => NextArgument::Path(PathKind::Export),
            BuiltInCommand::Import => NextArgument::Path(PathKind::Import),
            BuiltInCommand::New
            | BuiltInCommand::Tree
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
            | BuiltInCommand::Session
            | BuiltInCommand::Context
            | BuiltInCommand::Reload
            | BuiltInCommand::Logs
            | BuiltInCommand::Help
            | BuiltInCommand::Hotkeys
            | BuiltInCommand::Quit => NextArgument::Free,
        }
    }

    /// What may follow a command that takes what somebody likes.
    fn hint(&self, command: &str) -> Option<Candidate> {
        let own = slash_command::named(command).map(|row| (row.argument, row.about));
        let agents = self.facts.commands.iter().find(|other| other.name == command);
        let agents =
            agents.and_then(|other| Some((other.argument_hint.as_deref()?, other.description.as_str())));
        let (argument, about) = agents.or(own).filter(|(argument, _)| !argument.is_empty())?;
        Some(Candidate {
            name: format!("/{command}"),
            argument: argument.to_owned(),
            about: about.to_owned(),
            ..Candidate::default()
        })
    }

    fn offer_items(&mut self, items: &[PickerItem], typed: &str, range: Range) {
        let way = if range == Range::Open { MatchMode::Prose } else { MatchMode::Names };
        let best = fitting(items, typed, way).into_iter().take(MOST);
        self.complete.offer(best.filter_map(|at| offer(&items[at])).collect());
        (self.complete.way, self.complete.range) = (way, range);
    }

    fn offer_gathered(&mut self, words: ArgumentValues, typed: &str) -> Vec<Action> {
        match self.complete.gathered.take() {
            Some(gathered) if gathered.words == words => {
                self.offer_items(&gathered.items, typed, words.range());
                self.complete.gathered = Some(gathered);
                Vec::new()
            }
            _ => {
                self.complete.gathered = Some(ArgumentSources { words, items: Vec::new() });
                self.complete.offer(Vec::new());
                vec![Action::InList(ListAction::GatherWords(words))]
            }
        }
    }

    /// Takes words that were gathered, if they are wanted still.
    pub(crate) fn know_words(&mut self, words: ArgumentValues, items: Vec<PickerItem>) {
        let is_wanted = self.complete.gathered.as_ref().is_some_and(|gathered| gathered.words == words);
        let CompletionKind::Argument { typed, .. } = self.complete.asked.clone() else { return };
        if is_wanted {
            self.offer_items(&items, &typed, words.range());
            self.complete.gathered = Some(ArgumentSources { words, items });
        }
    }

    pub(super) fn ask_for_paths(&mut self, purpose: PathKind, typed: &str) -> Vec<Action> {
        self.complete.is_stale = true;
        let before = self.editor.line_before_cursor().to_owned();
        let (cwd, home) = (self.place.cwd.clone(), self.place.home.clone());
        vec![Action::InList(ListAction::ListPaths(PathQuery {
            purpose,
            before,
            typed: typed.to_owned(),
            cwd,
            home,
        }))]
    }
}

impl ArgumentValues {
    const fn range(self) -> Range {
        match self {
            Self::Of(_) => Range::Closed,
            Self::Sessions => Range::Open,
        }
    }
}

/// What a list offers, offered while one types. What can't be chosen there can't be typed either.
fn offer(item: &PickerItem) -> Option<Candidate> {
    let (insert, then) = match &item.choice {
        PickerChoice::Model(word)
        | PickerChoice::Theme(word)
        | PickerChoice::Tool(word)
        | PickerChoice::Login(word)
        | PickerChoice::Logout(word) => (word.clone(), OnAccept::Send),
        PickerChoice::Thinking(level) => (level.name().to_owned(), OnAccept::Send),
        PickerChoice::Approval(mode) => (mode.name().to_owned(), OnAccept::Send),
        PickerChoice::Setting(setting, _) => (setting.name.to_owned(), OnAccept::Send),
        PickerChoice::Word(setting, word) => (format!("{} {word}", setting.name), OnAccept::Send),
        PickerChoice::Open(path) => (item.tag.as_ref()?.id.to_string(), OnAccept::Open(path.clone())),
        // The other choices are none of a word.
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

/// The settings; behind the name of one, what that may be, if it is one of a few words.
fn settings(typed: &str) -> Vec<PickerItem> {
    if let Some((name, _)) = typed.split_once(char::is_whitespace) {
        let Some(setting) = setting::named(name) else { return Vec::new() };
        let SettingKind::Choice(words) = setting.kind else { return Vec::new() };
        let item = |word: &&'static str| {
            let note = if *word == setting.default { "default" } else { "" };
            PickerItem::new(format!("{name} {word}"), PickerChoice::Word(setting, word)).with_note(note)
        };
        return words.iter().map(item).collect();
    }
    let item = |setting: &'static setting::Setting| {
        let choice = PickerChoice::Setting(setting, String::new());
        PickerItem::new(setting.name, choice).with_note(setting.plain_about()).in_role(Role::Text)
    };
    setting::TABLE.iter().map(|setting| item(setting)).collect()
}
