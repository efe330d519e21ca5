//! Completion of the text before the cursor: commands, their arguments, files after `@`, paths.
//!
//! Candidates depend on the text alone, so they are updated after every input that changes it. Files are listed and
//! ranked in the background; until then the previous candidates stay visible but can't be accepted.

mod arguments;
mod files;
mod paths;
mod word;

use std::path::PathBuf;
use std::sync::Arc;

use tiller_core::unit::UnixMs;
use tiller_engine::slash_command::InteractiveFrontEnd::Tui;
use tiller_engine::slash_command::certain_name;

use super::attach;
use super::slash_command;
use crate::action::{Action, ListAction, Navigate};
use crate::app::App;

use self::arguments::{ArgumentSources, Range};
use super::picker::{FuzzyQuery, MatchMode};

pub(super) use arguments::ArgumentValues;
pub(super) use files::{FileList, Ranked, Ranking, list_files};
pub(super) use paths::{PathKind, PathListing, PathQuery, list_paths_for};
pub(super) use word::{CompletionKind, completion_kind};

/// Time in milliseconds before the project's files are listed again at the next `@`.
const FILES_MAX_AGE_MS: u64 = 15_000;

/// A completion candidate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Candidate {
    /// Its name in the list.
    pub(super) name: String,
    /// Its argument or meaning, shown after the name.
    pub(super) argument: String,
    pub(super) about: String,
    /// The text inserted when it is accepted.
    pub(super) insert: String,
    pub(super) then: OnAccept,
}

/// The effect of Enter on a candidate, besides inserting it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum OnAccept {
    /// None; the user goes on typing.
    #[default]
    GoOn,
    /// Sends the message.
    Send,
    /// Opens the session at this path; nothing is sent.
    Open(PathBuf),
}

/// The project's files.
#[derive(Debug, Default)]
struct FileCandidates {
    /// The files, with the time of their listing.
    known: Option<(Arc<FileList>, UnixMs)>,
    /// True if a listing is in progress.
    is_walking: bool,
    /// True to accept the best candidate as soon as it arrives, because Tab was pressed early.
    is_awaited: bool,
}

/// The candidates and the selection.
#[derive(Debug, Default)]
pub(super) struct Completion {
    candidates: Vec<Candidate>,
    selected: usize,
    /// The first visible row at the last click; rows stay in place under the mouse.
    clicked: Option<usize>,
    /// True if the user moved the selection; Enter then accepts it in any case.
    is_user_selected: bool,
    kind: CompletionKind,
    /// The text before the cursor at the last update.
    seen: String,
    is_stale: bool,
    files: FileCandidates,
    /// Gathered arguments of the current command.
    gathered: Option<ArgumentSources>,
    /// A hint about the command's argument, if that is free text.
    hint: Option<Candidate>,
    match_mode: MatchMode,
    range: Range,
}

impl Completion {
    pub(super) fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    pub(super) fn selected(&self) -> usize {
        self.selected
    }

    /// A hint about the argument of a command that takes free text.
    pub(super) fn hint(&self) -> Option<&Candidate> {
        self.hint.as_ref()
    }

    /// Number of rows to show everything.
    pub(super) fn rows(&self) -> usize {
        self.candidates.len() + usize::from(self.hint.is_some())
    }

    /// The query for highlighting matches. For paths, only the last part.
    pub(super) fn query(&self) -> FuzzyQuery {
        let typed = self.kind.typed();
        let is_path =
            matches!(self.kind, CompletionKind::Path(_) | CompletionKind::Place(_)) || self.asks_for_path();
        let part = if is_path { typed.rsplit('/').next().unwrap_or(typed) } else { typed };
        FuzzyQuery::new(part, self.match_mode)
    }

    fn asks_for_path(&self) -> bool {
        self.match_mode == MatchMode::Paths && matches!(self.kind, CompletionKind::Argument { .. })
    }

    /// Drops the listed files after the directory has changed.
    pub(super) fn forget_files(&mut self) {
        self.files.known = None;
    }

    /// Notes that the job to gather arguments was rejected because of load; the next key tries again.
    pub(super) fn cancel_gathering(&mut self) {
        self.gathered = None;
    }

    /// Notes that the job to list files was rejected because of load; the next key tries again.
    pub(super) fn cancel_walk(&mut self) {
        self.files.is_walking = false;
    }

    /// Moves the selection, wrapping around.
    fn step(&mut self, rows: isize) {
        let count = self.candidates.len().cast_signed();
        if count > 0 {
            self.selected = (self.selected.cast_signed() + rows).rem_euclid(count).cast_unsigned();
            self.is_user_selected = true;
            self.clicked = None;
        }
    }

    /// Moves the selection, stopping at the ends.
    pub(super) fn step_within(&mut self, rows: isize) {
        let last = self.candidates.len().saturating_sub(1).cast_signed();
        let to = (self.selected.cast_signed() + rows).clamp(0, last);
        self.step(to - self.selected.cast_signed());
    }

    /// The first visible candidate, with `height` rows.
    pub(super) fn top(&self, height: usize) -> usize {
        let min = (self.selected + 1).saturating_sub(height);
        self.clicked.map_or(min, |top| top.clamp(min, self.selected))
    }

    /// Returns true if there is a candidate on this line of `height` lines.
    pub(super) fn has_line(&self, line: usize, height: usize) -> bool {
        line < height && self.top(height) + line < self.candidates.len()
    }

    /// Selects the candidate on a line; returns whether the user had selected it before.
    pub(super) fn click(&mut self, line: usize, height: usize) -> bool {
        let (top, before, was_user_selected) = (self.top(height), self.selected, self.is_user_selected);
        self.selected = (top + line).min(self.candidates.len().saturating_sub(1));
        (self.is_user_selected, self.clicked) = (true, Some(top));
        was_user_selected && self.selected == before
    }

    fn show(&mut self, candidates: Vec<Candidate>) {
        let selected = self
            .candidates
            .get(self.selected)
            .filter(|_| self.is_user_selected)
            .map(|candidate| candidate.name.clone());
        self.candidates = candidates;
        self.is_stale = false;
        (self.hint, self.clicked) = (None, None);
        (self.match_mode, self.range) = (MatchMode::Names, Range::Closed);
        let at =
            selected.and_then(|name| self.candidates.iter().position(|candidate| candidate.name == name));
        self.is_user_selected = at.is_some();
        self.selected = at.unwrap_or(0);
    }

    /// Forces an update although the text is the same, because the candidates may differ.
    pub(super) fn invalidate(&mut self) {
        "\0".clone_into(&mut self.seen);
    }

    /// Hides the candidates until the text changes.
    fn dismiss(&mut self) {
        self.kind = CompletionKind::Nothing;
        self.gathered = None;
        self.show(Vec::new());
    }
}

impl App {
    /// Updates the candidates if the text before the cursor has changed.
    pub(super) fn update_completion(&mut self) -> Vec<Action> {
        let before = self.composer.editor.line_before_cursor();
        if before == self.composer.completion.seen {
            return Vec::new();
        }
        // In a recalled prompt the arrow keys browse the history until it is edited.
        self.composer.completion.kind = match self.composer.editor.is_recalled() {
            true => CompletionKind::Nothing,
            false => completion_kind(before, self.composer.editor.begins_command()),
        };
        before.clone_into(&mut self.composer.completion.seen);
        self.composer.completion.files.is_awaited = false;
        let kind = self.composer.completion.kind.clone();
        if !matches!(kind, CompletionKind::Argument { .. }) {
            // Gathered again next time, because it may have changed.
            self.composer.completion.gathered = None;
        }
        let candidates = match kind {
            CompletionKind::Nothing | CompletionKind::Path(_) => Vec::new(),
            CompletionKind::Command(typed) => slash_command::candidates(&typed, &self.model.info.commands),
            CompletionKind::Argument { command, typed } => return self.update_argument(&command, &typed),
            CompletionKind::File(query) => return self.request_files(query),
            CompletionKind::Place(typed) => return self.request_paths(PathKind::Mention, &typed),
        };
        self.composer.completion.show(candidates);
        Vec::new()
    }

    fn request_files(&mut self, query: String) -> Vec<Action> {
        let complete = &mut self.composer.completion;
        let mut actions = Vec::new();
        let is_fresh = |since: UnixMs| self.now.since_ms(since) < FILES_MAX_AGE_MS;
        if !complete.files.is_walking
            && complete.files.known.as_ref().is_none_or(|(_, since)| !is_fresh(*since))
        {
            complete.files.is_walking = true;
            actions.push(Action::List(ListAction::WalkFiles(self.ui.cwd.clone())));
        }
        complete.is_stale = true;
        if let Some((files, _)) = &complete.files.known {
            actions.push(Action::List(ListAction::RankFiles(Ranking { files: Arc::clone(files), query })));
        }
        actions
    }

    /// Stores the project's files.
    pub(super) fn set_project_files(&mut self, files: Arc<FileList>) -> Vec<Action> {
        self.composer.completion.files.is_walking = false;
        self.composer.completion.files.known = Some((Arc::clone(&files), self.now));
        match &self.composer.completion.kind {
            CompletionKind::File(words) => {
                vec![Action::List(ListAction::RankFiles(Ranking { files, query: words.clone() }))]
            }
            _ => Vec::new(),
        }
    }

    /// Shows ranked files, if the query is still the same.
    pub(super) fn show_ranked_files(&mut self, ranked: Ranked) -> Vec<Action> {
        if !matches!(&self.composer.completion.kind, CompletionKind::File(words) if *words == ranked.query) {
            return Vec::new();
        }
        self.composer.completion.show(ranked.candidates);
        self.composer.completion.match_mode = MatchMode::Paths;
        self.accept_awaited()
    }

    /// Accepts the best candidate, if Tab was pressed before it arrived.
    fn accept_awaited(&mut self) -> Vec<Action> {
        match std::mem::take(&mut self.composer.completion.files.is_awaited) {
            true => self.insert_selected().map_or_else(Vec::new, |(_, actions)| actions),
            false => Vec::new(),
        }
    }

    /// Handles a directory listing: a single name is inserted; for several, their common prefix is, and they are
    /// shown.
    pub(super) fn show_listed_paths(&mut self, listing: PathListing) -> Vec<Action> {
        // Esc may have dismissed it.
        let is_current = listing.purpose != PathKind::Mention
            || matches!(self.composer.completion.kind, CompletionKind::Place(_));
        if self.composer.editor.line_before_cursor() != listing.before || !is_current {
            return Vec::new();
        }
        if listing.purpose != PathKind::Word {
            self.composer.completion.show(listing.candidates);
            (self.composer.completion.match_mode, self.composer.completion.range) =
                (MatchMode::Paths, Range::Open);
            return self.accept_awaited();
        }
        match listing.candidates.as_slice() {
            [] => self.flash("No matching path."),
            [only] => self.insert(&only.insert.clone(), listing.typed.chars().count()),
            several => {
                let common = paths::common(several);
                if common.len() > listing.typed.len() {
                    self.insert(&common, listing.typed.chars().count());
                }
                self.composer.editor.line_before_cursor().clone_into(&mut self.composer.completion.seen);
                self.composer.completion.kind = CompletionKind::Path(common);
                self.composer.completion.show(listing.candidates);
            }
        }
        Vec::new()
    }

    fn insert(&mut self, text: &str, replaced: usize) {
        self.composer.editor.replace_before(replaced, text);
    }

    /// Inserts the selected candidate; returns its effect on Enter and the resulting actions. An image is attached:
    /// the job that reads it inserts its placeholder, or the name again if it isn't an image.
    fn insert_selected(&mut self) -> Option<(OnAccept, Vec<Action>)> {
        let candidate = self.composer.completion.candidates.get(self.composer.completion.selected)?.clone();
        let typed = self.composer.completion.kind.length();
        self.composer.completion.is_user_selected = false;
        let is_file =
            matches!(self.composer.completion.kind, CompletionKind::File(_) | CompletionKind::Place(_))
                && self.accepts_images();
        let images = attach::mentioned_images(&candidate.insert, self.ui.home.as_deref());
        Some(match images.into_iter().next().filter(|_| is_file) {
            Some(image) => {
                self.insert("", typed);
                (candidate.then, vec![Action::Attach(image, candidate.insert)])
            }
            None => {
                self.insert(&candidate.insert, typed);
                (candidate.then, Vec::new())
            }
        })
    }

    /// Handles Up, Down, Tab, Enter and Esc while there are candidates, and Tab after a path; `None` for every other
    /// key.
    pub(super) fn completion_key(&mut self, key: crossterm::event::KeyEvent) -> Option<Vec<Action>> {
        use crossterm::event::KeyCode::{Down, Enter, Esc, Tab, Up};
        if !key.modifiers.is_empty() {
            return None;
        }
        let count = self.composer.completion.candidates.len();
        match key.code {
            Tab if self.composer.completion.is_stale
                && matches!(
                    self.composer.completion.kind,
                    CompletionKind::File(_) | CompletionKind::Place(_)
                ) =>
            {
                self.composer.completion.files.is_awaited = true;
            }
            Tab if count == 0 => return self.list_paths(),
            Up if count > 1 => self.composer.completion.step(-1),
            Down if count > 1 => self.composer.completion.step(1),
            Esc if count > 0 || self.composer.completion.hint.is_some() => self.composer.completion.dismiss(),
            Tab if !self.composer.completion.is_stale => {
                return self.insert_selected().map(|(_, actions)| actions);
            }
            Enter if count > 0 && !self.composer.completion.is_stale => return self.enter_candidate(),
            _ => return None,
        }
        Some(Vec::new())
    }

    /// Accepts a candidate; for a complete command, returns `None` so that it is sent.
    ///
    /// A command runs if the user selected it or typed its name; otherwise Enter completes it as Tab does.
    fn enter_candidate(&mut self) -> Option<Vec<Action>> {
        if let CompletionKind::Command(typed) = &self.composer.completion.kind
            && !self.composer.completion.is_user_selected
        {
            let insert = certain_name(typed, &self.model.info.commands, Tui).map(|name| format!("/{name} "));
            let at = self
                .composer
                .completion
                .candidates
                .iter()
                .position(|candidate| Some(&candidate.insert) == insert.as_ref());
            let Some(at) = at else { return self.insert_selected().map(|(_, actions)| actions) };
            self.composer.completion.selected = at;
        }
        let complete = &self.composer.completion;
        let candidate = complete.candidates.get(complete.selected)?;
        let is_complete = complete.is_user_selected
            || match &complete.kind {
                CompletionKind::Nothing | CompletionKind::Path(_) => false,
                CompletionKind::Command(_) => true,
                CompletionKind::Argument { typed, .. } => {
                    !typed.is_empty() && complete.range == Range::Closed
                }
                CompletionKind::File(words) => !is_whole_file(words, &candidate.name),
                CompletionKind::Place(path) => !is_whole(path, &candidate.name),
            };
        if !is_complete {
            return None;
        }
        match self.insert_selected()? {
            (OnAccept::GoOn, actions) => Some(actions),
            // The caller sends it.
            (OnAccept::Send, _) => None,
            (OnAccept::Open(path), _) => {
                self.composer.editor.take_text();
                Some(vec![Action::Navigate(Navigate::Open(path))])
            }
        }
    }

    /// Accepts the selected candidate as Enter does. If that sends the text, it goes where the editor's text goes at
    /// the moment: a prompt, an edited queued message, or the reason of a denial.
    pub(super) fn accept_candidate(&mut self) -> Vec<Action> {
        if self.composer.completion.is_stale {
            return Vec::new();
        }
        match self.enter_candidate() {
            Some(actions) => actions,
            None => self.send_typed(),
        }
    }

    fn list_paths(&mut self) -> Option<Vec<Action>> {
        let before = self.composer.editor.line_before_cursor().to_owned();
        let typed = word::path(&before)?.to_owned();
        let (cwd, home) = (self.ui.cwd.clone(), self.ui.home.clone());
        let purpose = PathKind::Word;
        Some(vec![Action::List(ListAction::ListPaths(paths::PathQuery {
            purpose,
            before,
            typed,
            cwd,
            home,
        }))])
    }
}

/// Returns true if a typed project path is complete: the candidate itself or a folder that contains it.
fn is_whole_file(path: &str, candidate: &str) -> bool {
    path == candidate || path.ends_with('/') && candidate.starts_with(path)
}

/// Returns true if a typed path is complete: it ends with the candidate's name or with its directory.
fn is_whole(path: &str, name: &str) -> bool {
    let typed = path.rsplit('/').next().unwrap_or_default();
    typed.is_empty() || typed == name.trim_end_matches('/')
}
