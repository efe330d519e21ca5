//! What the text before the cursor may become: commands, what may follow them, files after `@`, paths.
//!
//! What is offered follows from the text alone, so it is looked at anew after every input that changed it. Files are found and ranked
//! elsewhere: until that is done, what was offered for the text before stays, and can't be taken.

mod files;
mod paths;
mod word;

use std::sync::Arc;

use super::app::{Action, App};
use super::attach;
use super::command;
use crate::unit::UnixMs;

pub(super) use files::{FileList, Ranked, Ranking, walk};
pub(super) use paths::{Listing, Wanted, list};
pub(super) use word::{Asked, asked};

/// How long what was found of the project's files counts, in milliseconds; then they are looked for again at the next `@`.
const FRESH_MS: u64 = 15_000;

/// Something that the text may become.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Offer {
    /// What it is called in the list.
    pub(super) name: String,
    /// What may follow it, and what it is.
    pub(super) argument: String,
    pub(super) about: String,
    /// What stands in the place of what was typed once it is taken.
    pub(super) insert: String,
    pub(super) then: Then,
}

/// What Enter does with an offer beside taking it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Then {
    /// Nothing: one goes on typing.
    #[default]
    GoOn,
    /// It sends what is typed.
    Send,
}

/// What is offered, and which of it is chosen.
#[derive(Debug, Default)]
pub(super) struct Completing {
    offers: Vec<Offer>,
    chosen: usize,
    /// Whether it was gone to: then Enter takes it whatever it would do else.
    is_held: bool,
    /// What is asked for.
    asked: Asked,
    /// The text before the cursor when it was looked at last.
    seen: String,
    is_stale: bool,
    files: Option<(Arc<FileList>, UnixMs)>,
    /// Whether somebody looks for files already.
    is_walking: bool,
    /// The names of models, for `/model`.
    models: Vec<String>,
}

impl Completing {
    pub(super) fn offers(&self) -> &[Offer] {
        &self.offers
    }

    /// The chosen offer's place.
    pub(super) fn chosen(&self) -> usize {
        self.chosen
    }

    /// What was typed of it, to be shown in what is offered.
    pub(super) fn typed(&self) -> &str {
        self.asked.typed()
    }

    /// The directory is another one: its files are to be looked for.
    pub(super) fn forget_files(&mut self) {
        self.files = None;
    }

    pub(super) fn know_models(&mut self, names: Vec<String>) {
        self.models = names;
    }

    /// Nobody looks for files: there was too much else to do. The next key asks again.
    pub(super) fn walk_refused(&mut self) {
        self.is_walking = false;
    }

    /// Moves the choice, from the last to the first.
    fn step(&mut self, rows: isize) {
        let count = self.offers.len().cast_signed();
        if count > 0 {
            self.chosen = (self.chosen.cast_signed() + rows).rem_euclid(count).cast_unsigned();
            self.is_held = true;
        }
    }

    fn offer(&mut self, offers: Vec<Offer>) {
        let held = self.offers.get(self.chosen).filter(|_| self.is_held).map(|offer| offer.name.clone());
        self.offers = offers;
        self.is_stale = false;
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
        self.asked = Asked::Nothing;
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
            true => Asked::Nothing,
            false => asked(before, self.editor.begins_command()),
        };
        before.clone_into(&mut self.complete.seen);
        let complete = &self.complete;
        let offers = match &complete.asked {
            Asked::Nothing | Asked::Path(_) => Vec::new(),
            Asked::Command(typed) => command::offers(typed, &self.facts.commands),
            Asked::Argument { command, typed } => command::arguments(command, typed, &complete.models),
            Asked::File(words) => return self.ask_for_files(words.clone()),
        };
        self.complete.offer(offers);
        Vec::new()
    }

    fn ask_for_files(&mut self, words: String) -> Vec<Action> {
        let complete = &mut self.complete;
        let mut actions = Vec::new();
        let is_fresh = |since: UnixMs| self.now.since_ms(since) < FRESH_MS;
        if !complete.is_walking && complete.files.as_ref().is_none_or(|(_, since)| !is_fresh(*since)) {
            complete.is_walking = true;
            actions.push(Action::WalkFiles(self.place.cwd.clone()));
        }
        complete.is_stale = true;
        if let Some((files, _)) = &complete.files {
            actions.push(Action::RankFiles(Ranking { files: Arc::clone(files), words }));
        }
        actions
    }

    /// Takes the project's files.
    pub(super) fn know_files(&mut self, files: Arc<FileList>) -> Vec<Action> {
        self.complete.is_walking = false;
        self.complete.files = Some((Arc::clone(&files), self.now));
        match &self.complete.asked {
            Asked::File(words) => vec![Action::RankFiles(Ranking { files, words: words.clone() })],
            _ => Vec::new(),
        }
    }

    /// Takes files that fit, if these are the words still.
    pub(super) fn files_ranked(&mut self, ranked: Ranked) {
        if matches!(&self.complete.asked, Asked::File(words) if *words == ranked.words) {
            self.complete.offer(ranked.offers);
        }
    }

    /// Takes what is in a directory: one name is put in, of several what they have in common, and they are offered.
    pub(super) fn paths_listed(&mut self, listing: Listing) {
        if self.editor.line_before_cursor() != listing.before {
            return;
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
                self.complete.asked = Asked::Path(common);
                self.complete.offer(listing.offers);
            }
        }
    }

    fn insert(&mut self, text: &str, instead_of: usize) {
        self.editor.replace_before(instead_of, text);
    }

    /// Puts the chosen offer into the text; answers with what Enter does then, and with what is to be done for it. A picture is
    /// attached: whoever reads it puts the sign for it into the text, or the name again if it is none.
    fn take_offer(&mut self) -> Option<(Then, Vec<Action>)> {
        let offer = self.complete.offers.get(self.complete.chosen)?.clone();
        let typed = self.complete.asked.length();
        self.complete.is_held = false;
        let is_file = matches!(self.complete.asked, Asked::File(_)) && self.takes_pictures();
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
            Tab if count == 0 => return self.list_paths(),
            Up if count > 1 => self.complete.step(-1),
            Down if count > 1 => self.complete.step(1),
            Esc if count > 0 => self.complete.dismiss(),
            Tab if count > 0 && !self.complete.is_stale => {
                return self.take_offer().map(|(_, actions)| actions);
            }
            Enter if count > 0 && !self.complete.is_stale => return self.enter_offer(),
            _ => return None,
        }
        Some(Vec::new())
    }

    /// Takes an offer; a whole command is sent then, as if nothing had been offered.
    fn enter_offer(&mut self) -> Option<Vec<Action>> {
        let complete = &self.complete;
        let offer = complete.offers.get(complete.chosen)?;
        let is_meant = complete.is_held
            || match &complete.asked {
                Asked::Nothing | Asked::Path(_) => false,
                Asked::Command(_) => true,
                Asked::Argument { typed, .. } => !typed.is_empty(),
                Asked::File(words) => *words != offer.name,
            };
        if !is_meant {
            return None;
        }
        match self.take_offer()? {
            (Then::GoOn, actions) => Some(actions),
            // What was completed is sent by whoever has Enter else.
            (Then::Send, _) => None,
        }
    }

    fn list_paths(&mut self) -> Option<Vec<Action>> {
        let before = self.editor.line_before_cursor().to_owned();
        let typed = word::path(&before)?.to_owned();
        let (cwd, home) = (self.place.cwd.clone(), self.place.home.clone());
        Some(vec![Action::ListPaths(paths::Wanted { before, typed, cwd, home })])
    }
}
