//! The session tree overlay: its rows, selection, filters and inputs.
//!
//! The structure of a session is available immediately from the log's index ([`model`]); texts of entries are
//! read when their rows become visible. The state is pure: it requests missing data ([`TreeRequest`]), one
//! request of a kind at a time, and receives [`TreeResult`]s. The cost depends on the visible rows, except
//! that the row list is rebuilt in one pass over the nodes when the filter changes.

mod click;
pub(crate) mod draw;
pub(crate) mod drawn_tree;
mod entry_text;
pub(crate) mod keys;
pub(crate) mod loader;
pub(crate) mod model;
mod moves;
mod preview;
pub(crate) mod request;
mod rows;
mod search;
pub(crate) mod search_worker;
mod text_cache;

use std::collections::{HashMap, HashSet};

use ratatui::layout::Rect;
use tiller_core::id::{EntryId, SessionId};
use tiller_session::{LineRole, Visibility};

use crate::address::OverlayId;
use crate::line_input::LineInput;
use crate::list_cursor::ListCursor;
use crate::navigate::Navigate;
use crate::preview_area::{PreviewSplit, split};
use crate::tree::drawn_tree::DrawnTree;
use crate::tree::model::{TreeFilter, TreeModel};
use crate::tree::preview::EntryPreview;
use crate::tree::request::{TreePurpose, TreeRequest, TreeResult};
use crate::tree::rows::VisibleRows;
use crate::tree::search::TreeSearch;
use crate::tree::text_cache::TextCache;

/// Number of rows between the cursor and the edge of the list.
const MARGIN: usize = 2;

/// Minimum screen width for a preview beside the list.
const WIDE: u16 = 110;

/// Minimum body height for a preview below the list.
const TALL: u16 = 12;

/// Freshness of the structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freshness {
    Fresh,
    Stale,
    /// Requested; `stale` is true if the log has grown since then.
    Asked {
        stale: bool,
    },
}

/// The state of navigating to an entry.
#[derive(Debug, Default, PartialEq)]
enum PendingNavigation {
    #[default]
    Nowhere,
    /// Will navigate when the agent has stopped.
    OnceStopped(Navigate),
    /// Navigating, with the text typed in the meantime.
    Leaving(String),
}

impl PendingNavigation {
    fn started() -> Self {
        Self::Leaving(String::new())
    }

    /// Starts the navigation that waited for the agent to stop, and returns it.
    fn leave_once_stopped(&mut self) -> Option<Navigate> {
        match std::mem::take(self) {
            Self::OnceStopped(go) => {
                *self = Self::started();
                Some(go)
            }
            other => {
                *self = other;
                None
            }
        }
    }

    /// Ends the navigation; returns the text typed in the meantime. Doesn't end a navigation that waits for
    /// the agent to stop.
    fn stay(&mut self) -> Option<String> {
        let Self::Leaving(typed) = self else { return None };
        let typed = std::mem::take(typed);
        *self = Self::Nowhere;
        Some(typed).filter(|typed| !typed.is_empty())
    }
}

#[derive(Clone, Debug)]
struct LabelInput {
    node: usize,
    line: LineInput,
}

#[derive(Debug)]
struct TreeFilterState {
    filter: TreeFilter,
    hidden: Visibility,
    folded: HashSet<usize>,
    /// Number of hidden rows for each folded entry.
    hidden_counts: HashMap<usize, usize>,
}

/// The tree overlay.
#[derive(Debug)]
pub(super) struct TreeView {
    pub(super) purpose: TreePurpose,
    shape: Option<Box<TreeModel>>,
    freshness: Freshness,
    filters: TreeFilterState,
    search: TreeSearch,
    rows: VisibleRows,
    place: TreeViewport,
    texts: TextCache,
    preview: EntryPreview,
    labelling: Option<LabelInput>,
    /// A pending navigation.
    going: PendingNavigation,
    pub(super) drawn: DrawnTree,
    /// The area of the last layout.
    area: Rect,
    pub(super) id: OverlayId,
}

/// The selected entry and the visible rows.
#[derive(Debug, Default)]
struct TreeViewport {
    /// The selected entry, which doesn't depend on the filter.
    node: usize,
    cursor: ListCursor,
    /// The first visible row.
    top: usize,
    /// Number of visible rows.
    height: usize,
    /// An error message shown until the next key.
    refused: Option<&'static str>,
}

impl TreeView {
    pub(super) fn new(purpose: TreePurpose) -> Self {
        let filter = match purpose {
            TreePurpose::Go => TreeFilter::NoTools,
            TreePurpose::Fork => TreeFilter::User,
        };
        Self {
            purpose,
            shape: None,
            freshness: Freshness::Stale,
            filters: TreeFilterState {
                filter,
                hidden: Visibility::Hidden,
                folded: HashSet::new(),
                hidden_counts: HashMap::new(),
            },
            search: TreeSearch::default(),
            rows: VisibleRows::default(),
            place: TreeViewport::default(),
            texts: TextCache::default(),
            preview: EntryPreview::default(),
            labelling: None,
            going: PendingNavigation::default(),
            drawn: DrawnTree::default(),
            area: Rect::default(),
            id: OverlayId::default(),
        }
    }

    /// Marks the structure as stale after entries or annotations have changed.
    pub(super) fn mark_stale(&mut self) {
        self.freshness = match self.freshness {
            Freshness::Asked { .. } => Freshness::Asked { stale: true },
            Freshness::Fresh | Freshness::Stale => Freshness::Stale,
        };
    }

    /// The requests to send now.
    pub(super) fn take_requests(&mut self, size: (u16, u16)) -> Vec<TreeRequest> {
        let areas = self.areas(area(size));
        self.place.height = usize::from(areas.rows.height);
        self.scroll_to_cursor();
        let mut requests = Vec::new();
        if self.freshness == Freshness::Stale {
            self.freshness = Freshness::Asked { stale: false };
            requests.push(TreeRequest::Shape);
        }
        requests.extend(self.search.ask(self.filters.filter));
        let Some(shape) = &self.shape else { return requests };
        let ahead = self.place.top.saturating_sub(self.place.height)..self.place.top + 2 * self.place.height;
        requests.extend(self.texts.ask(shape, &self.rows, ahead));
        if areas.preview.is_some() {
            requests.extend(self.rows.get(self.place.cursor.row).and_then(|row| self.preview.ask(row.node)));
        }
        requests
    }

    /// Applies a result; `session` is the session it belongs to.
    fn apply_result(&mut self, session: &SessionId, result: TreeResult) {
        if let TreeResult::Shape(shape) = result {
            return self.set_model(shape);
        }
        if self.shape.as_ref().is_none_or(|shape| shape.session != *session) {
            return;
        }
        match result {
            TreeResult::Shape(_) => {}
            TreeResult::Texts(texts) => self.texts.take(texts),
            TreeResult::Preview(previewed) => self.preview.take(*previewed),
            TreeResult::Found(found) => {
                let entries = self.shape.as_ref().map_or(0, |shape| shape.len());
                if self.search.take(found, self.filters.filter, entries) {
                    self.arrange();
                }
            }
        }
    }

    /// Replaces the structure. The cursor stays on its entry, because indexes don't change when a log grows.
    fn set_model(&mut self, shape: Box<TreeModel>) {
        let grew = matches!(self.freshness, Freshness::Asked { stale: true });
        self.freshness = if grew { Freshness::Stale } else { Freshness::Fresh };
        let same = self.shape.as_ref().is_some_and(|before| before.session == shape.session);
        if !same {
            (self.texts, self.preview) = (TextCache::default(), self.preview.for_other_session());
            (self.filters.folded, self.labelling) = (HashSet::new(), None);
            self.place = TreeViewport { node: shape.current.unwrap_or(0), ..TreeViewport::default() };
        }
        self.search.outdate(shape.len());
        self.preview.outdate();
        self.shape = Some(shape);
        self.arrange();
    }

    /// Rebuilds the rows.
    fn arrange(&mut self) {
        let Some(shape) = &self.shape else { return };
        let found = self.search.found();
        // Search hits are shown even under folded entries.
        let folded = if found.is_some() {
            None
        } else {
            Some(shape.is_below_any(self.filters.folded.iter().copied()))
        };
        let takes = |at: usize| {
            let is_in_tree = self.filters.hidden == Visibility::Shown || shape.hiding_ancestors[at].is_none();
            is_in_tree && self.filters.filter.accepts(shape.node(at), shape.marks.label(at))
        };
        let shown = |at: usize| {
            takes(at)
                && folded.as_ref().is_none_or(|folded| !folded[at])
                && found.is_none_or(|found| found.get(at).copied().unwrap_or(false))
        };
        let hidden_counts = shape.count_descendants(&self.filters.folded, takes);
        let above = self.place.cursor.row.saturating_sub(self.place.top);
        self.rows = VisibleRows::new(shape, shown);
        self.filters.hidden_counts = hidden_counts;
        self.place.cursor.row = self.rows.nearest(shape, self.place.node);
        self.place.cursor.is_user_selected &=
            self.rows.get(self.place.cursor.row).is_some_and(|row| row.node == self.place.node);
        // Preserve the cursor's position on the screen.
        self.place.top = self.place.cursor.row.saturating_sub(above);
        self.scroll_to_cursor();
    }

    fn scroll_to_cursor(&mut self) {
        let TreeViewport { top, height, cursor: ListCursor { row, .. }, .. } = self.place;
        let margin =
            if self.place.cursor.is_clicked() { 0 } else { MARGIN.min(height.saturating_sub(1) / 2) };
        let most = self.rows.len().saturating_sub(height);
        let lowest = (row + margin + 1).saturating_sub(height);
        self.place.top = top.min(row.saturating_sub(margin)).max(lowest).min(most);
    }

    fn go_to(&mut self, row: usize) {
        self.place.cursor.select(row, self.rows.len());
        self.selection_moved();
    }

    /// Shows the entry that the user selected.
    fn selection_moved(&mut self) {
        if let Some(row) = self.rows.get(self.place.cursor.row) {
            self.place.node = row.node;
        }
        self.preview.top = 0;
        self.scroll_to_cursor();
    }

    fn step(&mut self, rows: isize) {
        self.go_to(self.place.cursor.row.saturating_add_signed(rows));
    }

    /// The entry at the cursor.
    fn chosen(&self) -> Option<usize> {
        self.rows.get(self.place.cursor.row).map(|row| row.node)
    }

    fn chosen_id(&self) -> Option<EntryId> {
        Some(self.shape.as_ref()?.node(self.chosen()?).id.clone())
    }

    fn areas(&self, area: Rect) -> PreviewSplit {
        let width = area.width;
        // One row for the title, one for the search, and one for key hints if there is room.
        let keys = u16::from(area.height >= 8);
        let body =
            Rect { y: area.y + 2.min(area.height), height: area.height.saturating_sub(2 + keys), ..area };
        if !self.preview.is_open {
            return PreviewSplit { rows: body, preview: None };
        }
        // The list gets more than half: a row must show its text, while the preview can wrap.
        let beside = (width >= WIDE).then_some(width * 11 / 20);
        split(body, beside, TALL)
    }

    /// The effect of accepting an entry.
    fn effect(&self, node: usize) -> TreeEffect {
        let Some(shape) = &self.shape else { return TreeEffect::Stay };
        let is_user = shape.node(node).role == Some(LineRole::User);
        match self.purpose {
            _ if shape.hiding_ancestors[node].is_some() => TreeEffect::Show,
            TreePurpose::Fork if is_user => TreeEffect::ForkBefore,
            TreePurpose::Fork => TreeEffect::Fork,
            TreePurpose::Go if is_user => TreeEffect::Before,
            TreePurpose::Go if shape.current == Some(node) => TreeEffect::Stay,
            TreePurpose::Go => TreeEffect::From,
        }
    }
}

/// The effect of accepting an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TreeEffect {
    /// Restores a hidden entry.
    Show,
    /// Goes to the entry before a prompt and puts the prompt's text into the editor.
    Before,
    /// Continues from the entry.
    From,
    /// Closes the tree, because the entry is the current one.
    Stay,
    Fork,
    ForkBefore,
}

impl TreeEffect {
    /// Describes the effect of the key that accepts.
    fn description(self, key: &str) -> String {
        let effect = match self {
            Self::Show => "unhide",
            Self::Before => "continue before it, with its text to edit",
            Self::From => "continue from here",
            Self::Stay => return format!("you are here · {key} returns to the transcript"),
            Self::Fork => "fork a new session here",
            Self::ForkBefore => "fork before it, with its text to edit",
        };
        format!("{key}: {effect}")
    }
}

/// Returns the screen without the footer, used before the first layout.
fn area((width, height): (u16, u16)) -> Rect {
    Rect { x: 0, y: 0, width, height: height - u16::from(height >= 4) }
}

#[cfg(test)]
pub(crate) mod tests;
