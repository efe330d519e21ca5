//! The tree over the transcript: which rows there are, which one is chosen, what is being typed.
//!
//! The shape of a session comes whole and at once from the log's index ([`shape`]); what entries say is read as their rows come on the
//! screen. The state here is pure: what it lacks it asks for ([`Ask`]), one thing of a kind at a time, and takes as [`News`]. Cost
//! depends on what is visible, but for rows: they are made anew when what is shown changes, in one pass over numbers.

mod click;
mod draw;
mod entry_text;
mod keys;
mod loader;
mod model;
mod moves;
mod preview;
mod rows;
mod search;
mod search_worker;
mod text_cache;

use std::collections::{HashMap, HashSet};

use ratatui::layout::Rect;
use tiller_core::id::{EntryId, SessionId};
use tiller_session::{LineRole, Visibility};

use super::app::{Action, Navigate};
use super::block::Block;

pub(super) use draw::DrawnTree;
use entry_text::EntryText;
pub(super) use keys::leaves_tree;
pub(super) use loader::look;
pub(super) use model::{TreeFilter, TreeModel};
use preview::EntryPreview;
use rows::VisibleRows;
use search::TreeSearch;
pub(super) use search_worker::{SearchTerms, TreeQuery, find};
use text_cache::TextCache;

/// Rows that stay between the cursor and the edge of the list.
const MARGIN: usize = 2;

/// Columns from which on the preview stands beside the list.
const WIDE: u16 = 110;

/// Rows of a body from which on there is room for a preview beneath the list.
const TALL: u16 = 12;

/// Something that the tree wants to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TreeRequest {
    /// The session's shape as it is now.
    Shape,
    /// What rows say.
    Texts(Vec<TreeWant>),
    /// All that an entry says.
    Preview(usize),
    Search(TreeQuery),
    /// What was looked for last isn't wanted any more.
    EndSearch,
}

/// What a row lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TreeWant {
    node: usize,
    /// The answer whose model the row names, if it begins a branch.
    answer: Option<usize>,
}

/// What a row lacked.
#[derive(Clone, Debug)]
pub(super) struct LoadedTexts {
    want: TreeWant,
    said: EntryText,
    model: Option<String>,
}

/// An entry in full.
#[derive(Clone, Debug)]
pub(super) struct LoadedPreview {
    node: usize,
    facts: Vec<String>,
    blocks: Vec<Block>,
}

/// What came of an [`Ask`].
#[derive(Debug)]
pub(super) enum TreeResult {
    Shape(Box<TreeModel>),
    Texts(Vec<LoadedTexts>),
    Preview(Box<LoadedPreview>),
    Found(search_worker::TreeHits),
}

/// What choosing an entry is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TreePurpose {
    /// To go on from there.
    Go,
    /// To go on from there in a new session.
    Fork,
}

/// How far what is known of the shape is out of date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freshness {
    Fresh,
    /// The log has grown.
    Stale,
    /// It was asked for; the flag says whether the log has grown since.
    Asked {
        stale: bool,
    },
}

/// How far somebody is on the way to an entry.
#[derive(Debug, Default, PartialEq)]
enum PendingNavigation {
    #[default]
    Nowhere,
    /// There, as soon as the agent has stopped.
    OnceStopped(Navigate),
    /// On the way; with what was typed since.
    Leaving(String),
}

impl PendingNavigation {
    /// Nothing was typed yet on the way.
    fn begun() -> Self {
        Self::Leaving(String::new())
    }

    /// The agent has stopped: where to go, if somebody waits for that.
    fn leave_once_stopped(&mut self) -> Option<Navigate> {
        match std::mem::take(self) {
            Self::OnceStopped(go) => {
                *self = Self::begun();
                Some(go)
            }
            other => {
                *self = other;
                None
            }
        }
    }

    /// Nobody is on the way any more; what was typed since somebody was. Where to go once the agent has stopped stays.
    fn stay(&mut self) -> Option<String> {
        let Self::Leaving(typed) = self else { return None };
        let typed = std::mem::take(typed);
        *self = Self::Nowhere;
        Some(typed).filter(|typed| !typed.is_empty())
    }
}

/// A label that is being edited.
#[derive(Clone, Debug)]
struct LabelInput {
    node: usize,
    text: String,
}

/// Which entries have rows.
#[derive(Debug)]
struct TreeFilterState {
    filter: TreeFilter,
    hidden: Visibility,
    folded: HashSet<usize>,
    /// Rows that each of them would have beneath it.
    kept_back: HashMap<usize, usize>,
}

/// The tree as it is shown.
#[derive(Debug)]
pub(super) struct TreeView {
    pub(super) purpose: TreePurpose,
    shape: Option<Box<TreeModel>>,
    freshness: Freshness,
    sieve: TreeFilterState,
    search: TreeSearch,
    rows: VisibleRows,
    place: TreeCursor,
    texts: TextCache,
    preview: EntryPreview,
    labelling: Option<LabelInput>,
    /// How far somebody is on the way to an entry.
    going: PendingNavigation,
    pub(super) drawn: DrawnTree,
}

/// Where one is in the tree.
#[derive(Debug, Default)]
struct TreeCursor {
    /// The entry, which stays the same whatever is shown.
    node: usize,
    row: usize,
    /// The first row on the screen.
    top: usize,
    /// Rows on the screen.
    height: usize,
    /// Whether it was clicked on: then it stays where it is, however near to an end of the screen.
    is_clicked: bool,
    /// Whether a click or a key of the user's went to it: then a click takes it.
    is_users: bool,
    /// What can't be done there, said until the next key.
    refused: Option<&'static str>,
}

/// Where the parts of the tree lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TreeAreas {
    list: Rect,
    preview: Option<Rect>,
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
            sieve: TreeFilterState {
                filter,
                hidden: Visibility::Hidden,
                folded: HashSet::new(),
                kept_back: HashMap::new(),
            },
            search: TreeSearch::default(),
            rows: VisibleRows::default(),
            place: TreeCursor::default(),
            texts: TextCache::default(),
            preview: EntryPreview::default(),
            labelling: None,
            going: PendingNavigation::default(),
            drawn: DrawnTree::default(),
        }
    }

    /// The session has other entries than before, or other marks on them.
    pub(super) fn outdate(&mut self) {
        self.freshness = match self.freshness {
            Freshness::Asked { .. } => Freshness::Asked { stale: true },
            Freshness::Fresh | Freshness::Stale => Freshness::Stale,
        };
    }

    /// What is to be asked for now.
    pub(super) fn asks(&mut self, size: (u16, u16)) -> Vec<TreeRequest> {
        let areas = self.areas(size);
        self.place.height = usize::from(areas.list.height);
        self.keep_in_sight();
        let mut asks = Vec::new();
        if self.freshness == Freshness::Stale {
            self.freshness = Freshness::Asked { stale: false };
            asks.push(TreeRequest::Shape);
        }
        asks.extend(self.search.ask(self.sieve.filter));
        let Some(shape) = &self.shape else { return asks };
        let ahead = self.place.top.saturating_sub(self.place.height)..self.place.top + 2 * self.place.height;
        asks.extend(self.texts.ask(shape, &self.rows, ahead));
        if areas.preview.is_some() {
            asks.extend(self.rows.get(self.place.row).and_then(|row| self.preview.ask(row.node)));
        }
        asks
    }

    /// Takes what was asked for; `session` is the one it is about.
    pub(super) fn take(&mut self, session: &SessionId, news: TreeResult) {
        if let TreeResult::Shape(shape) = news {
            return self.take_shape(shape);
        }
        if self.shape.as_ref().is_none_or(|shape| shape.session != *session) {
            return;
        }
        match news {
            TreeResult::Shape(_) => {}
            TreeResult::Texts(texts) => self.texts.take(texts),
            TreeResult::Preview(previewed) => self.preview.take(*previewed),
            TreeResult::Found(found) => {
                let entries = self.shape.as_ref().map_or(0, |shape| shape.len());
                if self.search.take(found, self.sieve.filter, entries) {
                    self.arrange();
                }
            }
        }
    }

    /// Where one is stays where it is: numbers of entries don't change when a log grows.
    fn take_shape(&mut self, shape: Box<TreeModel>) {
        let grew = matches!(self.freshness, Freshness::Asked { stale: true });
        self.freshness = if grew { Freshness::Stale } else { Freshness::Fresh };
        let same = self.shape.as_ref().is_some_and(|before| before.session == shape.session);
        if !same {
            (self.texts, self.preview) = (TextCache::default(), self.preview.begun_anew());
            (self.sieve.folded, self.labelling) = (HashSet::new(), None);
            self.place = TreeCursor { node: shape.here.unwrap_or(0), ..TreeCursor::default() };
        }
        self.search.outdate(shape.len());
        self.preview.outdate();
        self.shape = Some(shape);
        self.arrange();
    }

    /// Makes the rows anew, for other entries are to be shown.
    fn arrange(&mut self) {
        let Some(shape) = &self.shape else { return };
        let found = self.search.found();
        // What was found is shown, however deep it was folded away.
        let folded =
            if found.is_some() { None } else { Some(shape.beneath(self.sieve.folded.iter().copied())) };
        let takes = |at: usize| {
            let is_in_tree = self.sieve.hidden == Visibility::Shown || shape.hidden_with[at].is_none();
            is_in_tree && self.sieve.filter.takes(shape.node(at), shape.marks.label(at))
        };
        let shown = |at: usize| {
            takes(at)
                && folded.as_ref().is_none_or(|folded| !folded[at])
                && found.is_none_or(|found| found.get(at).copied().unwrap_or(false))
        };
        let kept_back = shape.kept_back(&self.sieve.folded, takes);
        let above = self.place.row.saturating_sub(self.place.top);
        self.rows = VisibleRows::of(shape, shown);
        self.sieve.kept_back = kept_back;
        self.place.row = self.rows.nearest(shape, self.place.node);
        self.place.is_users &= self.rows.get(self.place.row).is_some_and(|row| row.node == self.place.node);
        // The cursor stays where it was on the screen, too.
        self.place.top = self.place.row.saturating_sub(above);
        self.keep_in_sight();
    }

    fn keep_in_sight(&mut self) {
        let TreeCursor { row, top, height, .. } = self.place;
        let margin = if self.place.is_clicked { 0 } else { MARGIN.min(height.saturating_sub(1) / 2) };
        let most = self.rows.len().saturating_sub(height);
        let lowest = (row + margin + 1).saturating_sub(height);
        self.place.top = top.min(row.saturating_sub(margin)).max(lowest).min(most);
    }

    fn go_to(&mut self, row: usize) {
        self.place.row = row.min(self.rows.len().saturating_sub(1));
        if let Some(row) = self.rows.get(self.place.row) {
            self.place.node = row.node;
        }
        self.preview.top = 0;
        self.place.is_users = true;
        self.keep_in_sight();
    }

    fn step(&mut self, rows: isize) {
        self.go_to(self.place.row.saturating_add_signed(rows));
    }

    /// The entry under the cursor.
    fn chosen(&self) -> Option<usize> {
        self.rows.get(self.place.row).map(|row| row.node)
    }

    fn chosen_id(&self) -> Option<EntryId> {
        Some(self.shape.as_ref()?.node(self.chosen()?).id.clone())
    }

    fn areas(&self, (width, height): (u16, u16)) -> TreeAreas {
        let area = area((width, height));
        // A row for the title, one for the search, and where there is room one for the keys.
        let keys = u16::from(area.height >= 8);
        let body =
            Rect { y: area.y + 2.min(area.height), height: area.height.saturating_sub(2 + keys), ..area };
        if !self.preview.is_open {
            return TreeAreas { list: body, preview: None };
        }
        if width >= WIDE {
            // The list gets somewhat more: a row has to say what it is, the preview can wrap.
            let list = width * 11 / 20;
            let preview = Rect { x: body.x + list, width: width - list, ..body };
            return TreeAreas { list: Rect { width: list, ..body }, preview: Some(preview) };
        }
        if body.height < TALL {
            return TreeAreas { list: body, preview: None };
        }
        let beneath = body.height * 2 / 5;
        let list = Rect { height: body.height - beneath, ..body };
        TreeAreas { list, preview: Some(Rect { y: list.bottom(), height: beneath, ..body }) }
    }

    /// What going there would do.
    fn effect(&self, node: usize) -> TreeEffect {
        let Some(shape) = &self.shape else { return TreeEffect::Stay };
        let is_user = shape.node(node).role == Some(LineRole::User);
        match self.purpose {
            _ if shape.hidden_with[node].is_some() => TreeEffect::Show,
            TreePurpose::Fork if is_user => TreeEffect::ForkBefore,
            TreePurpose::Fork => TreeEffect::Fork,
            TreePurpose::Go if is_user => TreeEffect::Before,
            TreePurpose::Go if shape.here == Some(node) => TreeEffect::Stay,
            TreePurpose::Go => TreeEffect::From,
        }
    }

    /// What is to be done as soon as nothing runs.
    pub(super) fn once_stopped(&mut self) -> Option<Action> {
        let go = self.going.leave_once_stopped()?;
        Some(Action::Go(go))
    }
}

/// What choosing an entry does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TreeEffect {
    /// It comes back into the tree.
    Show,
    /// One goes to just before it, its text in the editor.
    Before,
    /// One goes on from it.
    From,
    /// One is there already.
    Stay,
    Fork,
    ForkBefore,
}

impl TreeEffect {
    fn words(self) -> &'static str {
        match self {
            Self::Show => "brings it back into the tree",
            Self::Before => "goes to before it, its text in the editor",
            Self::From => "goes on from here",
            Self::Stay => "you are here; back to the transcript",
            Self::Fork => "goes on from here in a new session",
            Self::ForkBefore => "forks before it, its text in the editor",
        }
    }
}

/// The part of the screen that the tree takes: all but the facts at the foot.
fn area((width, height): (u16, u16)) -> Rect {
    Rect { x: 0, y: 0, width, height: height - u16::from(height >= 4) }
}
