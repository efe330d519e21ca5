//! Completion of the text before the cursor: commands, their arguments, files after `@`, paths.
//!
//! Candidates depend on the text alone, so they are updated after every input that changes it. Files are
//! listed and ranked in the background; in the meantime the previous candidates stay visible but can't be
//! accepted.

pub(crate) mod arguments;
pub(crate) mod candidate;
mod commands;
pub(crate) mod files;
pub(crate) mod paths;
mod resources;
pub(crate) mod values;
pub(crate) mod word;

use std::sync::Arc;

use crossterm::event::KeyEvent;
use tiller_core::unit::UnixMs;
use tiller_engine::AgentCommand;
use tiller_engine::slash_command::InteractiveFrontEnd::Tui;
use tiller_engine::slash_command::certain_name;

use crate::action::{Action, ListAction};
use crate::completion::candidate::{Candidate, Range};
use crate::completion::files::{FileList, FileRankingJob, RankedFiles};
use crate::completion::paths::{PathKind, PathQuery};
use crate::completion::values::ArgumentSources;
use crate::completion::word::{CompletionKind, completion_kind};
use crate::component::{Context, ViewContext};
use crate::fuzzy::{FuzzyQuery, MatchMode};
use crate::list_cursor::ListCursor;

/// Milliseconds before the project's files are listed again at the next `@`.
const FILES_MAX_AGE_MS: u64 = 15_000;

/// The project's files.
#[derive(Debug, Default)]
struct FileCandidates {
    /// The files, with the time of their listing.
    known: Option<(Arc<FileList>, UnixMs)>,
    /// True if a listing is in progress.
    is_walking: bool,
    /// True to accept the best candidate when it arrives, because Tab was pressed early.
    is_awaited: bool,
}

/// The candidates and the selection.
#[derive(Debug, Default)]
pub(super) struct Completion {
    candidates: Vec<Candidate>,
    /// The selection. Enter always accepts a candidate that the user selected.
    cursor: ListCursor,
    kind: CompletionKind,
    /// The text before the cursor at the last update.
    seen: String,
    /// [`SessionInfo::listing_changes`] at the last update.
    ///
    /// [`SessionInfo::listing_changes`]: crate::session_model::SessionInfo::listing_changes
    seen_listing: u64,
    is_stale: bool,
    files: FileCandidates,
    /// Values of the current command's argument, collected in the background.
    gathered: Option<ArgumentSources>,
    /// A hint about the command's argument, if the argument is free text.
    hint: Option<Candidate>,
    match_mode: MatchMode,
    range: Range,
}

impl Completion {
    pub(super) fn candidates(&self) -> &[Candidate] {
        &self.candidates
    }

    pub(super) fn selected(&self) -> usize {
        self.cursor.row
    }

    /// Returns the hint about an argument that is free text.
    pub(super) fn hint(&self) -> Option<&Candidate> {
        self.hint.as_ref()
    }

    /// Returns the number of rows needed to show everything.
    pub(super) fn rows(&self) -> usize {
        self.candidates.len() + usize::from(self.hint.is_some())
    }

    /// Returns the query for highlighting matches. For paths, this is only the last part.
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

    /// Records that the executor rejected the job to collect arguments; the next key retries it.
    pub(super) fn cancel_gathering(&mut self) {
        self.gathered = None;
    }

    /// Records that the executor rejected the job to list files; the next key retries it.
    pub(super) fn cancel_walk(&mut self) {
        self.files.is_walking = false;
    }

    /// Moves the selection, wrapping around.
    fn step(&mut self, rows: isize) {
        let count = self.candidates.len().cast_signed();
        if count > 0 {
            let to = (self.cursor.row.cast_signed() + rows).rem_euclid(count).cast_unsigned();
            self.cursor.select(to, self.candidates.len());
            self.cursor.release();
        }
    }

    /// Moves the selection, stopping at the ends.
    pub(super) fn step_within(&mut self, rows: isize) {
        if !self.candidates.is_empty() {
            self.cursor.step(rows, self.candidates.len());
        }
    }

    /// Returns the index of the first visible candidate in `height` rows.
    pub(super) fn top(&self, height: usize) -> usize {
        self.cursor.top((self.cursor.row + 1).saturating_sub(height), height)
    }

    /// Returns the candidates in `height` lines.
    pub(super) fn visible_rows(&self, height: usize) -> std::ops::Range<usize> {
        let top = self.top(height);
        top..self.candidates.len().min(top + height)
    }

    /// Selects a clicked candidate; returns true if the user had already selected it.
    pub(super) fn click(&mut self, row: usize, height: usize) -> bool {
        self.cursor.click(row, self.top(height), self.candidates.len())
    }

    fn show(&mut self, candidates: Vec<Candidate>) {
        let selected = self
            .candidates
            .get(self.cursor.row)
            .filter(|_| self.cursor.is_user_selected)
            .map(|candidate| candidate.name.clone());
        self.candidates = candidates;
        self.is_stale = false;
        self.hint = None;
        (self.match_mode, self.range) = (MatchMode::Names, Range::Closed);
        let at =
            selected.and_then(|name| self.candidates.iter().position(|candidate| candidate.name == name));
        self.cursor.release();
        self.cursor.follow(at);
    }

    /// Hides the candidates until the text changes.
    fn dismiss(&mut self) {
        self.kind = CompletionKind::Nothing;
        self.gathered = None;
        self.show(Vec::new());
    }
}

impl Completion {
    /// Updates the candidates if the text before the cursor, or the data listed for it, has changed.
    pub(crate) fn update(&mut self, text: &EditedText<'_>, cx: &mut Context<'_>) {
        let listing = std::mem::replace(&mut self.seen_listing, cx.model.info.listing_changes);
        if text.before == self.seen && listing == self.seen_listing {
            return;
        }
        // Text that the user didn't type isn't completed until it is edited: in a recalled prompt the arrow
        // keys browse the history, and a prefilled prompt is usually sent unchanged.
        self.kind = match text.is_unedited {
            true => CompletionKind::Nothing,
            false => completion_kind(text.before, text.begins_command),
        };
        text.before.clone_into(&mut self.seen);
        self.files.is_awaited = false;
        if !matches!(self.kind, CompletionKind::Argument { .. }) {
            // Collected again next time, because the values may have changed.
            self.gathered = None;
        }
        match self.kind.clone() {
            CompletionKind::Nothing | CompletionKind::Path(_) => self.show(Vec::new()),
            CompletionKind::Command(typed) => {
                self.show(commands::candidates(&typed, &cx.model.info.commands));
            }
            CompletionKind::Argument { command, typed } => self.update_argument(&command, &typed, cx),
            CompletionKind::File(query) => self.request_files(query, cx),
            CompletionKind::Place(typed) => self.request_paths(PathKind::Mention, &typed, cx),
        }
    }

    fn request_files(&mut self, query: String, cx: &mut Context<'_>) {
        let is_fresh = |since: UnixMs| cx.now.since_ms(since) < FILES_MAX_AGE_MS;
        if !self.files.is_walking && self.files.known.as_ref().is_none_or(|(_, since)| !is_fresh(*since)) {
            self.files.is_walking = true;
            cx.push(Action::List(ListAction::WalkFiles(cx.ui.cwd.clone())));
        }
        self.is_stale = true;
        if let Some((files, _)) = &self.files.known {
            let resources = Arc::clone(&cx.model.info.resources);
            cx.push(Action::List(ListAction::RankFiles(FileRankingJob {
                files: Arc::clone(files),
                resources,
                query,
            })));
        }
    }

    /// Requests the directory of a typed path.
    fn request_paths(&mut self, purpose: PathKind, typed: &str, cx: &mut Context<'_>) {
        self.is_stale = true;
        cx.push(list_paths_action(purpose, &self.seen, typed, cx));
    }

    /// Stores the project's files.
    pub(crate) fn set_project_files(&mut self, files: Arc<FileList>, cx: &mut Context<'_>) {
        self.files.is_walking = false;
        self.files.known = Some((Arc::clone(&files), cx.now));
        if let CompletionKind::File(query) = &self.kind {
            let (resources, query) = (Arc::clone(&cx.model.info.resources), query.clone());
            cx.push(Action::List(ListAction::RankFiles(FileRankingJob { files, resources, query })));
        }
    }

    /// Shows ranked files if the query is unchanged; returns true if it is.
    pub(crate) fn show_ranked_files(&mut self, ranked: RankedFiles) -> bool {
        let is_current = matches!(&self.kind, CompletionKind::File(words) if *words == ranked.query);
        if is_current {
            self.show(ranked.candidates);
            self.match_mode = MatchMode::Paths;
        }
        is_current
    }

    /// Shows the paths of a directory for a mention or an argument.
    pub(crate) fn show_paths(&mut self, candidates: Vec<Candidate>) {
        self.show(candidates);
        (self.match_mode, self.range) = (MatchMode::Paths, Range::Open);
    }

    /// Shows the paths that match a typed path after it was completed to their common prefix.
    pub(crate) fn show_path_word(&mut self, before: &str, common: String, candidates: Vec<Candidate>) {
        before.clone_into(&mut self.seen);
        self.kind = CompletionKind::Path(common);
        self.show(candidates);
    }

    /// Returns true if a directory listing is for the current text; Esc may have dismissed it.
    pub(crate) fn expects_paths(&self, purpose: PathKind) -> bool {
        purpose != PathKind::Mention || matches!(self.kind, CompletionKind::Place(_))
    }

    /// Returns true if the user requested the best candidate before it arrived, and clears the request.
    pub(crate) fn take_awaited(&mut self) -> bool {
        std::mem::take(&mut self.files.is_awaited)
    }

    /// Returns the selected candidate, and the length in characters of the text that it replaces.
    pub(crate) fn take_selected(&mut self) -> Option<(Candidate, usize)> {
        let candidate = self.candidates.get(self.cursor.row)?.clone();
        self.cursor.is_user_selected = false;
        Some((candidate, self.kind.length()))
    }

    /// Returns true if a file or a path is being completed.
    pub(crate) fn is_of_files(&self) -> bool {
        matches!(self.kind, CompletionKind::File(_) | CompletionKind::Place(_))
    }

    /// Handles a key: Up and Down select, Esc hides the candidates. The caller, which owns the text, handles
    /// Tab and Enter.
    pub(crate) fn handle(&mut self, key: KeyEvent) -> CompletionKey {
        use crossterm::event::KeyCode::{Down, Enter, Esc, Tab, Up};
        if !key.modifiers.is_empty() {
            return CompletionKey::Ignored;
        }
        let count = self.candidates.len();
        match key.code {
            Tab if self.is_stale && self.is_of_files() => self.files.is_awaited = true,
            Tab if count == 0 => return CompletionKey::CompletePath,
            Up if count > 1 => self.step(-1),
            Down if count > 1 => self.step(1),
            Esc if count > 0 || self.hint.is_some() => self.dismiss(),
            Tab if !self.is_stale => return CompletionKey::Insert,
            Enter if count > 0 && !self.is_stale => return CompletionKey::Accept,
            _ => return CompletionKey::Ignored,
        }
        CompletionKey::Consumed
    }

    pub(crate) fn is_stale(&self) -> bool {
        self.is_stale
    }

    /// Returns the meaning of Enter on the selected candidate.
    ///
    /// A command runs if the user selected it or typed its name; otherwise Enter completes it like Tab.
    pub(crate) fn enter(&mut self, agent_commands: &[AgentCommand]) -> EnterMeaning {
        if let CompletionKind::Command(typed) = &self.kind
            && !self.cursor.is_user_selected
        {
            let insert = certain_name(typed, agent_commands, Tui).map(|name| format!("/{name} "));
            let at = self.candidates.iter().position(|candidate| Some(&candidate.insert) == insert.as_ref());
            let Some(at) = at else { return EnterMeaning::Insert };
            self.cursor.row = at;
        }
        let Some(candidate) = self.candidates.get(self.cursor.row) else { return EnterMeaning::Send };
        let completes = self.cursor.is_user_selected
            || match &self.kind {
                CompletionKind::Nothing | CompletionKind::Path(_) => false,
                CompletionKind::Command(_) => true,
                CompletionKind::Argument { typed, .. } => !typed.is_empty() && self.range == Range::Closed,
                CompletionKind::File(words) => !is_whole_file(words, &candidate.name),
                CompletionKind::Place(path) => !is_whole(path, &candidate.name),
            };
        if completes { EnterMeaning::Accept } else { EnterMeaning::Send }
    }
}

/// The text that is being completed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EditedText<'a> {
    /// The current line up to the cursor.
    pub(crate) before: &'a str,
    /// True if this is the first line.
    pub(crate) begins_command: bool,
    /// True if the user hasn't typed the text: it is an unedited prompt from the history, or was inserted by
    /// tiller.
    pub(crate) is_unedited: bool,
}

/// The meaning of a key during completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompletionKey {
    Consumed,
    Ignored,
    /// Inserts the selected candidate.
    Insert,
    /// Accepts the selected candidate like Enter.
    Accept,
    /// Completes the path before the cursor.
    CompletePath,
}

/// The meaning of Enter on a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EnterMeaning {
    /// Inserts the candidate; the user continues typing.
    Insert,
    /// Inserts the candidate and applies its effect.
    Accept,
    /// The text is complete and is sent.
    Send,
}

/// Returns the action that lists the directory of a typed path.
pub(crate) fn list_paths_action(
    purpose: PathKind,
    before: &str,
    typed: &str,
    view: &ViewContext<'_>,
) -> Action {
    let (cwd, home) = (view.ui.cwd.clone(), view.ui.home.clone());
    let (before, typed) = (before.to_owned(), typed.to_owned());
    Action::List(ListAction::ListPaths(PathQuery { purpose, before, typed, cwd, home }))
}

/// Returns true if a typed project path is complete: it is the candidate or one of its parent directories.
fn is_whole_file(path: &str, candidate: &str) -> bool {
    path == candidate || path.ends_with('/') && candidate.starts_with(path)
}

/// Returns true if a typed path is complete: it ends with the candidate's name or directory.
fn is_whole(path: &str, name: &str) -> bool {
    let typed = path.rsplit('/').next().unwrap_or_default();
    typed.is_empty() || typed == name.trim_end_matches('/')
}
