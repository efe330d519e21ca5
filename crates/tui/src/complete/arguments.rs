//! What may follow a command: words that are known here, words that somebody else has to gather, paths.

use tiller_core::setting::{self, SettingKind};
use tiller_engine::ApprovalMode;
use tiller_render::Role;

use super::paths::{Purpose, Wanted};
use super::{Asked, Offer, Then};
use crate::app::{Action, App, InList, List};
use crate::call::one_line;
use crate::command::{self, Verb};
use crate::picker::{Choice, Item, Way, fitting, mode_about};
use crate::theme;

/// Offers of one kind at most: more than anybody reads.
const MOST: usize = 50;

/// Words that are not known here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    /// Those of a list.
    Of(List),
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
pub(super) struct Gathered {
    words: Words,
    items: Vec<Item>,
}

/// What may follow a command.
enum Following {
    /// Some of these.
    Items(Vec<Item>),
    Gathered(Words),
    Path(Purpose),
    /// Whatever somebody likes, or nothing.
    Free,
}

impl App {
    /// Offers what may follow a command.
    pub(super) fn mind_argument(&mut self, command: &str, typed: &str) -> Vec<Action> {
        let agents = self.facts.commands.iter().any(|other| other.name == command);
        let own = command::named(command).filter(|row| row.name == command || !agents);
        match own.map_or(Following::Free, |row| self.following(row.verb, typed)) {
            Following::Items(items) => self.offer_items(&items, typed, Range::Closed),
            Following::Gathered(words) => return self.offer_gathered(words, typed),
            Following::Path(purpose) => return self.ask_for_paths(purpose, typed),
            Following::Free => {
                self.complete.offer(Vec::new());
                self.complete.hint = self.hint(command).filter(|_| typed.is_empty());
            }
        }
        Vec::new()
    }

    fn following(&self, verb: Verb, typed: &str) -> Following {
        match verb {
            Verb::Approval => Following::Items(modes()),
            Verb::Theme => Following::Items(theme::names(&self.place.theme)),
            Verb::Settings => Following::Items(settings(typed)),
            Verb::Model => Following::Gathered(Words::Of(List::Models)),
            // Which of them there are depends on the model.
            Verb::Thinking => Following::Gathered(Words::Of(List::Thinking)),
            Verb::Tools => Following::Gathered(Words::Of(List::Tools)),
            Verb::Login => Following::Gathered(Words::Of(List::Logins)),
            Verb::Logout => Following::Gathered(Words::Of(List::Logouts)),
            Verb::Resume => Following::Gathered(Words::Sessions),
            Verb::Export => Following::Path(Purpose::Export),
            Verb::Import => Following::Path(Purpose::Import),
            Verb::New
            | Verb::Tree
            | Verb::Fork
            | Verb::Clone
            | Verb::Name
            | Verb::Label
            | Verb::Compact
            | Verb::Truncate
            | Verb::Copy
            | Verb::Permissions
            | Verb::AddDir
            | Verb::Trust
            | Verb::FollowUp
            | Verb::Session
            | Verb::Context
            | Verb::Reload
            | Verb::Logs
            | Verb::Help
            | Verb::Hotkeys
            | Verb::Quit => Following::Free,
        }
    }

    /// What may follow a command that takes what somebody likes.
    fn hint(&self, command: &str) -> Option<Offer> {
        let own = command::named(command).map(|row| (row.argument, row.about));
        let agents = self.facts.commands.iter().find(|other| other.name == command);
        let agents =
            agents.and_then(|other| Some((other.argument_hint.as_deref()?, other.description.as_str())));
        let (argument, about) = agents.or(own).filter(|(argument, _)| !argument.is_empty())?;
        Some(Offer {
            name: format!("/{command}"),
            argument: argument.to_owned(),
            about: about.to_owned(),
            ..Offer::default()
        })
    }

    fn offer_items(&mut self, items: &[Item], typed: &str, range: Range) {
        let way = if range == Range::Open { Way::Prose } else { Way::Names };
        let best = fitting(items, typed, way).into_iter().take(MOST);
        self.complete.offer(best.filter_map(|at| offer(&items[at])).collect());
        (self.complete.way, self.complete.range) = (way, range);
    }

    fn offer_gathered(&mut self, words: Words, typed: &str) -> Vec<Action> {
        match self.complete.gathered.take() {
            Some(gathered) if gathered.words == words => {
                self.offer_items(&gathered.items, typed, words.range());
                self.complete.gathered = Some(gathered);
                Vec::new()
            }
            _ => {
                self.complete.gathered = Some(Gathered { words, items: Vec::new() });
                self.complete.offer(Vec::new());
                vec![Action::InList(InList::GatherWords(words))]
            }
        }
    }

    /// Takes words that were gathered, if they are wanted still.
    pub(crate) fn know_words(&mut self, words: Words, items: Vec<Item>) {
        let is_wanted = self.complete.gathered.as_ref().is_some_and(|gathered| gathered.words == words);
        let Asked::Argument { typed, .. } = self.complete.asked.clone() else { return };
        if is_wanted {
            self.offer_items(&items, &typed, words.range());
            self.complete.gathered = Some(Gathered { words, items });
        }
    }

    pub(super) fn ask_for_paths(&mut self, purpose: Purpose, typed: &str) -> Vec<Action> {
        self.complete.is_stale = true;
        let before = self.editor.line_before_cursor().to_owned();
        let (cwd, home) = (self.place.cwd.clone(), self.place.home.clone());
        vec![Action::InList(InList::ListPaths(Wanted {
            purpose,
            before,
            typed: typed.to_owned(),
            cwd,
            home,
        }))]
    }
}

impl Words {
    const fn range(self) -> Range {
        match self {
            Self::Of(_) => Range::Closed,
            Self::Sessions => Range::Open,
        }
    }
}

/// What a list offers, offered while one types. What can't be chosen there can't be typed either.
fn offer(item: &Item) -> Option<Offer> {
    let (insert, then) = match &item.choice {
        Choice::Model(word)
        | Choice::Theme(word)
        | Choice::Tool(word)
        | Choice::Login(word)
        | Choice::Logout(word) => (word.clone(), Then::Send),
        Choice::Thinking(level) => (level.name().to_owned(), Then::Send),
        Choice::Approval(mode) => (mode.name().to_owned(), Then::Send),
        Choice::Setting(setting, _) => (setting.name.to_owned(), Then::Send),
        Choice::Word(setting, word) => (format!("{} {word}", setting.name), Then::Send),
        Choice::Open(path) => (item.tag.as_ref()?.id.to_string(), Then::Open(path.clone())),
        // The other choices are none of a word.
        _ => return None,
    };
    Some(Offer { name: one_line(&item.label), about: item.note.clone(), insert, then, ..Offer::default() })
}

fn modes() -> Vec<Item> {
    let item =
        |mode: ApprovalMode| Item::new(mode.name(), Choice::Approval(mode)).with_note(mode_about(mode));
    ApprovalMode::ALL.map(item).to_vec()
}

/// The settings; behind the name of one, what that may be, if it is one of a few words.
fn settings(typed: &str) -> Vec<Item> {
    if let Some((name, _)) = typed.split_once(char::is_whitespace) {
        let Some(setting) = setting::named(name) else { return Vec::new() };
        let SettingKind::Choice(words) = setting.kind else { return Vec::new() };
        let item = |word: &&'static str| {
            let note = if *word == setting.default { "default" } else { "" };
            Item::new(format!("{name} {word}"), Choice::Word(setting, word)).with_note(note)
        };
        return words.iter().map(item).collect();
    }
    let item = |setting: &'static setting::Setting| {
        let choice = Choice::Setting(setting, String::new());
        Item::new(setting.name, choice).with_note(setting.plain_about()).in_role(Role::Text)
    };
    setting::TABLE.iter().map(|setting| item(setting)).collect()
}
