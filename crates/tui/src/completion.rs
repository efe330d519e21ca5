//! What the text before the cursor may become: commands, what may follow them, files after `@`, paths.
//!
//! What is offered follows from the text alone, so it is looked at anew after every input that changed it. Files are found and ranked
//! elsewhere: until that is done, what was offered for the text before stays, and can't be taken.

mod arguments;
mod files;
mod paths;
mod word;

use std::path::PathBuf;
use std::sync::Arc;

use tiller_core::unit::UnixMs;

use super::app::{Action, App, ListAction, Navigate};
use super::attach;
use super::slash_command;

use self::arguments::{ArgumentSources, Range};
use super::picker::{FuzzyQuery, MatchMode};

pub(super) use arguments::ArgumentValues;
pub(super) use files::{FileList, Ranked, Ranking, list_files};
pub(super) use paths::{PathKind, PathListing, PathQuery, list};
pub(super) use word::{CompletionKind, asked};

/// How long what was found of the project's files counts, in milliseconds; then they are looked for again at the next `@`.
const FRESH_MS: u64 = 15_000;

/// Something that the text may become.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Candidate {
    /// What it is called in the list.
    pub(super) name: String,
    /// What may follow it, and what it is.
    pub(super) argument: String,
    pub(super) about: String,
    /// What stands in the place of what was typed once it is taken.
    pub(super) insert: String,
    pub(super) then: OnAccept,
}

/// What Enter does with an offer beside taking it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum OnAccept {
    /// Nothing: one goes on typing.
    #[default]
    GoOn,
    /// It sends what is typed.
    Send,
    /// It goes to the session at this path; nothing is sent.
    Open(PathBuf),
}

/// The project's files, as far as they are known.
#[derive(Debug, Default)]
struct FileCandidates {
    /// Those there were at a moment.
    known: Option<(Arc<FileList>, UnixMs)>,
    /// Whether somebody looks for them already.
    is_walking: bool,
    /// Whether the best one is to be taken as soon as it is known: Tab came before it.
    is_awaited: bool,
}

/// What is offered, and which of it is chosen.
#[derive(Debug, Default)]
pub(super) struct Completion {
    offers: Vec<Candidate>,
    chosen: usize,
    /// The first one on the screen when one was clicked on: they stay where they are under the mouse.
    clicked: Option<usize>,
    /// Whether it was gone to: then Enter takes it whatever it would do else.
    is_held: bool,
    /// What is asked for.
    asked: CompletionKind,
    /// The text before the cursor when it was looked at last.
    seen: String,
    is_stale: bool,
    files: FileCandidates,
    /// What may follow the command that is typed, if that had to be gathered.
    gathered: Option<ArgumentSources>,
    /// What may follow it, where that isn't one of some words.
    hint: Option<Candidate>,
    /// How words are looked for among what is offered.
    way: MatchMode,
    range: Range,
}

impl Completion {
    pub(super) fn offers(&self) -> &[Candidate] {
        &self.offers
    }

    /// The chosen offer's place.
    pub(super) fn chosen(&self) -> usize {
        self.chosen
    }

    /// A word on what may follow a command that takes what somebody likes.
    pub(super) fn hint(&self) -> Option<&Candidate> {
        self.hint.as_ref()
    }

    /// Rows that would show all of it.
    pub(super) fn rows(&self) -> usize {
        self.offers.len() + usize::from(self.hint.is_some())
    }

    /// What was typed of it, to be shown in what is offered. Of paths only the last part is.
    pub(super) fn query(&self) -> FuzzyQuery {
        let typed = self.asked.typed();
        let is_path =
            matches!(self.asked, CompletionKind::Path(_) | CompletionKind::Place(_)) || self.asks_for_path();
        let part = if is_path { typed.rsplit('/').next().unwrap_or(typed) } else { typed };
        FuzzyQuery::new(part, self.way)
    }

    fn asks_for_path(&self) -> bool {
        self.way == MatchMode::Paths && matches!(self.asked, CompletionKind::Argument { .. })
    }

    /// The directory is another one: its files are to be looked for.
    pub(super) fn forget_files(&mut self) {
        self.files.known = None;
    }

    /// Nobody gathers what may follow the command: there was too much else to do. The next key asks again.
    pub(super) fn words_refused(&mut self) {
        self.gathered = None;
    }

    /// Nobody looks for files: there was too much else to do. The next key asks again.
    pub(super) fn walk_refused(&mut self) {
        self.files.is_walking = false;
    }

    /// Moves the choice, from the last to the first.
    fn step(&mut self, rows: isize) {
        let count = self.offers.len().cast_signed();
        if count > 0 {
            self.chosen = (self.chosen.cast_signed() + rows).rem_euclid(count).cast_unsigned();
            self.is_held = true;
            self.clicked = None;
        }
    }

    /// Moves the choice, stopping at the ends.
    pub(super) fn step_within(&mut self, rows: isize) {
        let last = self.offers.len().saturating_sub(1).cast_signed();
        let to = (self.chosen.cast_signed() + rows).clamp(0, last);
        self.step(to - self.chosen.cast_signed());
    }

    /// The first offer of as many as are on the screen at once.
    pub(super) fn top(&self, height: usize) -> usize {
        let least = (self.chosen + 1).saturating_sub(height);
        self.clicked.map_or(least, |top| top.clamp(least, self.chosen))
    }

    /// Whether an offer stands on this line of so many at most.
    pub(super) fn has_line(&self, line: usize, height: usize) -> bool {
        line < height && self.top(height) + line < self.offers.len()
    }

    /// Goes to the offer on this line of so many; says whether the user had chosen it already.
    pub(super) fn click(&mut self, line: usize, height: usize) -> bool {
        let (top, before, was_users) = (self.top(height), self.chosen, self.is_held);
        self.chosen = (top + line).min(self.offers.len().saturating_sub(1));
        (self.is_held, self.clicked) = (true, Some(top));
        was_users && self.chosen == before
    }

    fn offer(&mut self, offers: Vec<Candidate>) {
        let held = self.offers.get(self.chosen).filter(|_| self.is_held).map(|offer| offer.name.clone());
        self.offers = offers;
        self.is_stale = false;
        (self.hint, self.clicked) = (None, None);
        (self.way, self.range) = (MatchMode::Names, Range::Closed);
        let at = held.and_then(|name| self.offers.iter().position(|offer| offer.name == name));
        self.is_held = at.is_some();
        self.chosen = at.unwrap_or(0);
    }

    /// Looks at the text anew, though it is the same: what can be offered is not.
    pub(super) fn forget(&mut self) {
        "\0".clone_into(&mut self.seen);
    }

    /// Offers nothing until the text is another.
    fn dismiss(&mut self) {
        self.asked = CompletionKind::Nothing;
        self.gathered = None;
        self.offer(Vec::new());
    }
}

impl App {
    /// Looks at the text before the cursor, if it is another than before.
    pub(super) fn mind_completion(&mut self) -> Vec<Action> {
        let before = self.editor.line_before_cursor();
        if before == self.complete.seen {
            return Vec::new();
        }
        // In a prompt of earlier times the arrows lead to others, until something is changed in it.
        self.complete.asked = match self.editor.is_recalled() {
            true => CompletionKind::Nothing,
            false => asked(before, self.editor.begins_command()),
        };
        before.clone_into(&mut self.complete.seen);
        self.complete.files.is_awaited = false;
        let asked = self.complete.asked.clone();
        if !matches!(asked, CompletionKind::Argument { .. }) {
            // The next time it is gathered anew: it may be something else then.
            self.complete.gathered = None;
        }
        let offers = match asked {
            CompletionKind::Nothing | CompletionKind::Path(_) => Vec::new(),
            CompletionKind::Command(typed) => slash_command::offers(&typed, &self.facts.commands),
            CompletionKind::Argument { command, typed } => return self.mind_argument(&command, &typed),
            CompletionKind::File(words) => return self.ask_for_files(words),
            CompletionKind::Place(typed) => return self.ask_for_paths(PathKind::Name, &typed),
        };
        self.complete.offer(offers);
        Vec::new()
    }

    fn ask_for_files(&mut self, words: String) -> Vec<Action> {
        let complete = &mut self.complete;
        let mut actions = Vec::new();
        let is_fresh = |since: UnixMs| self.now.since_ms(since) < FRESH_MS;
        if !complete.files.is_walking
            && complete.files.known.as_ref().is_none_or(|(_, since)| !is_fresh(*since))
        {
            complete.files.is_walking = true;
            actions.push(Action::InList(ListAction::WalkFiles(self.place.cwd.clone())));
        }
        complete.is_stale = true;
        if let Some((files, _)) = &complete.files.known {
            actions.push(Action::InList(ListAction::RankFiles(Ranking { files: Arc::clone(files), words })));
        }
        actions
    }

    /// Takes the project's files.
    pub(super) fn know_files(&mut self, files: Arc<FileList>) -> Vec<Action> {
        self.complete.files.is_walking = false;
        self.complete.files.known = Some((Arc::clone(&files), self.now));
        match &self.complete.asked {
            CompletionKind::File(words) => {
                vec![Action::InList(ListAction::RankFiles(Ranking { files, words: words.clone() }))]
            }
            _ => Vec::new(),
        }
    }

    /// Takes files that fit, if these are the words still.
    pub(super) fn files_ranked(&mut self, ranked: Ranked) -> Vec<Action> {
        if !matches!(&self.complete.asked, CompletionKind::File(words) if *words == ranked.words) {
            return Vec::new();
        }
        self.complete.offer(ranked.offers);
        self.complete.way = MatchMode::Paths;
        self.take_awaited()
    }

    /// Takes the best offer, if Tab came before it.
    fn take_awaited(&mut self) -> Vec<Action> {
        match std::mem::take(&mut self.complete.files.is_awaited) {
            true => self.take_offer().map_or_else(Vec::new, |(_, actions)| actions),
            false => Vec::new(),
        }
    }

    /// Takes what is in a directory: one name is put in, of several what they have in common, and they are offered.
    pub(super) fn paths_listed(&mut self, listing: PathListing) -> Vec<Action> {
        // Esc may have put it away meanwhile.
        let is_wanted =
            listing.purpose != PathKind::Name || matches!(self.complete.asked, CompletionKind::Place(_));
        if self.editor.line_before_cursor() != listing.before || !is_wanted {
            return Vec::new();
        }
        if listing.purpose != PathKind::Word {
            self.complete.offer(listing.offers);
            (self.complete.way, self.complete.range) = (MatchMode::Paths, Range::Open);
            return self.take_awaited();
        }
        match listing.offers.as_slice() {
            [] => self.flash("no path begins like that"),
            [only] => self.insert(&only.insert.clone(), listing.typed.chars().count()),
            several => {
                let common = paths::common(several);
                if common.len() > listing.typed.len() {
                    self.insert(&common, listing.typed.chars().count());
                }
                self.editor.line_before_cursor().clone_into(&mut self.complete.seen);
                self.complete.asked = CompletionKind::Path(common);
                self.complete.offer(listing.offers);
            }
        }
        Vec::new()
    }

    fn insert(&mut self, text: &str, instead_of: usize) {
        self.editor.replace_before(instead_of, text);
    }

    /// Puts the chosen offer into the text; answers with what Enter does then, and with what is to be done for it. A picture is
    /// attached: whoever reads it puts the sign for it into the text, or the name again if it is none.
    fn take_offer(&mut self) -> Option<(OnAccept, Vec<Action>)> {
        let offer = self.complete.offers.get(self.complete.chosen)?.clone();
        let typed = self.complete.asked.length();
        self.complete.is_held = false;
        let is_file = matches!(self.complete.asked, CompletionKind::File(_) | CompletionKind::Place(_))
            && self.takes_pictures();
        let named = attach::named_in(&offer.insert, self.place.home.as_deref());
        Some(match named.into_iter().next().filter(|_| is_file) {
            Some(picture) => {
                self.insert("", typed);
                (offer.then, vec![Action::Attach(picture, offer.insert)])
            }
            None => {
                self.insert(&offer.insert, typed);
                (offer.then, Vec::new())
            }
        })
    }

    /// Up, Down, Tab, Enter and Esc while something is offered, and Tab after what looks like a path. `None` for every other key.
    pub(super) fn completion_key(&mut self, key: crossterm::event::KeyEvent) -> Option<Vec<Action>> {
        use crossterm::event::KeyCode::{Down, Enter, Esc, Tab, Up};
        if !key.modifiers.is_empty() {
            return None;
        }
        let count = self.complete.offers.len();
        match key.code {
            Tab if self.complete.is_stale
                && matches!(self.complete.asked, CompletionKind::File(_) | CompletionKind::Place(_)) =>
            {
                self.complete.files.is_awaited = true;
            }
            Tab if count == 0 => return self.list_paths(),
            Up if count > 1 => self.complete.step(-1),
            Down if count > 1 => self.complete.step(1),
            Esc if count > 0 || self.complete.hint.is_some() => self.complete.dismiss(),
            Tab if !self.complete.is_stale => {
                return self.take_offer().map(|(_, actions)| actions);
            }
            Enter if count > 0 && !self.complete.is_stale => return self.enter_offer(),
            _ => return None,
        }
        Some(Vec::new())
    }

    /// Takes an offer; a whole command is sent then, as if nothing had been offered.
    ///
    /// A command runs when it was gone to, or when what is typed names it; otherwise Enter fills it in as Tab does.
    fn enter_offer(&mut self) -> Option<Vec<Action>> {
        if let CompletionKind::Command(typed) = &self.complete.asked
            && !self.complete.is_held
        {
            let insert =
                slash_command::certain_name(typed, &self.facts.commands).map(|name| format!("/{name} "));
            let at = self.complete.offers.iter().position(|offer| Some(&offer.insert) == insert.as_ref());
            let Some(at) = at else { return self.take_offer().map(|(_, actions)| actions) };
            self.complete.chosen = at;
        }
        let complete = &self.complete;
        let offer = complete.offers.get(complete.chosen)?;
        let is_meant = complete.is_held
            || match &complete.asked {
                CompletionKind::Nothing | CompletionKind::Path(_) => false,
                CompletionKind::Command(_) => true,
                CompletionKind::Argument { typed, .. } => {
                    !typed.is_empty() && complete.range == Range::Closed
                }
                CompletionKind::File(words) => !is_whole_file(words, &offer.name),
                CompletionKind::Place(path) => !is_whole(path, &offer.name),
            };
        if !is_meant {
            return None;
        }
        match self.take_offer()? {
            (OnAccept::GoOn, actions) => Some(actions),
            // What was completed is sent by whoever has Enter else.
            (OnAccept::Send, _) => None,
            (OnAccept::Open(path), _) => {
                self.editor.take();
                Some(vec![Action::Go(Navigate::Open(path))])
            }
        }
    }

    /// Takes the chosen offer as Enter does. What is sent then is sent by whoever has Enter else, as it is meant there: the words of a
    /// message that waits, or of a no.
    pub(super) fn take_chosen_offer(&mut self) -> Vec<Action> {
        if self.complete.is_stale {
            return Vec::new();
        }
        match self.enter_offer() {
            Some(actions) => actions,
            None => self.send_typed(),
        }
    }

    fn list_paths(&mut self) -> Option<Vec<Action>> {
        let before = self.editor.line_before_cursor().to_owned();
        let typed = word::path(&before)?.to_owned();
        let (cwd, home) = (self.place.cwd.clone(), self.place.home.clone());
        let purpose = PathKind::Word;
        Some(vec![Action::InList(ListAction::ListPaths(paths::PathQuery {
            purpose,
            before,
            typed,
            cwd,
            home,
        }))])
    }
}

/// Whether a path of the project needs nothing of what is offered: it is that, or the folder that holds it.
fn is_whole_file(path: &str, offered: &str) -> bool {
    path == offered || path.ends_with('/') && offered.starts_with(path)
}

/// Whether a path needs nothing of a name in its directory: it ends with that name, or with the directory.
fn is_whole(path: &str, name: &str) -> bool {
    let typed = path.rsplit('/').next().unwrap_or_default();
    typed.is_empty() || typed == name.trim_end_matches('/')
}
