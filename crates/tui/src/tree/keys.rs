//! Key handling of the tree. Text is searched for; all other keys are bound in the keymap.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use tiller_core::id::{EntryId, SessionId};
use tiller_session::Visibility;

use super::{LabelInput, PendingNavigation, TreeEffect, TreePurpose, TreeRequest, TreeResult, TreeView};
use crate::action::{Action, BackgroundJob, Navigate, SessionEdit};
use crate::app::App;
use crate::block::NoticeLevel;
use crate::dialog::Dialog;
use crate::keymap::{Context, KeyCommand};
use crate::overlay::Overlay;
use crate::picker::{Picker, PickerChoice, PickerItem};

/// Lines per scroll step of the preview.
const PREVIEW_LINES: usize = 3;

/// Maximum characters of a label; longer ones are slow to lay out.
const MAX_LABEL: usize = 1_000;

/// The outcome of a key beyond the tree's own state.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TreeKeyOutcome {
    Nothing,
    Back,
    Close,
    Choose(TreePurpose),
    Hide(EntryId, Visibility),
    Label(EntryId, Option<String>),
}

impl App {
    pub(crate) fn open_tree(&mut self, purpose: TreePurpose) -> Vec<Action> {
        self.overlays.push(Overlay::Tree(Box::new(TreeView::new(purpose))));
        Vec::new()
    }

    /// The tree, anywhere in the overlay stack.
    fn tree(&mut self) -> Option<&mut TreeView> {
        self.overlays.iter_mut().find_map(|popup| match popup {
            Overlay::Tree(tree) => Some(&mut **tree),
            Overlay::Picker(_) | Overlay::Pager(_) => None,
        })
    }

    /// The requests and navigation of the tree after any input.
    pub(crate) fn tree_actions(&mut self) -> Vec<Action> {
        let (size, is_working) = (self.ui.size, self.model.is_working());
        let Some(tree) = self.tree() else { return Vec::new() };
        let requests: Vec<TreeRequest> = tree.take_requests(size);
        let go = if is_working { None } else { tree.once_stopped() };
        requests.into_iter().map(BackgroundJob::Tree).map(Action::Background).chain(go).collect()
    }

    /// Marks the tree as stale after the session's entries have changed.
    pub(crate) fn outdate_tree(&mut self) {
        if let Some(tree) = self.tree() {
            tree.mark_stale();
        }
    }

    pub(crate) fn handle_tree_result(&mut self, session: &SessionId, result: TreeResult) {
        if let Some(tree) = self.tree() {
            tree.take(session, result);
        }
    }

    /// Reports a new fork.
    pub(crate) fn forked_beside(&mut self, session: &SessionId) {
        self.overlays.clear();
        let short = session.short();
        let hint = format!("open it with tiller --session {short}; the chosen prompt is in its editor");
        self.add_notice(NoticeLevel::Note, format!("forked into session {short}"), Some(hint));
    }

    /// Handles a key, if the tree is on top.
    pub(crate) fn tree_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        let keymap = &self.ui.keymap;
        let command = keymap.command(Context::Tree, key).or_else(|| keymap.command(Context::Popup, key));
        let Some(Overlay::Tree(tree)) = self.overlays.last_mut() else { return None };
        (tree.place.refused, tree.place.is_clicked) = (None, false);
        let outcome = match (command, typed(key)) {
            _ if tree.labelling.is_some() => tree.label_key(command, key),
            _ if matches!(tree.going, PendingNavigation::Leaving(_)) => tree.leaving_key(command, key),
            (Some(command), _) => tree.command(command),
            (None, Some(c)) => tree.type_text(&c.to_string()),
            (None, None) if key.code == KeyCode::Backspace => tree.erase(),
            (None, None) => TreeKeyOutcome::Nothing,
        };
        Some(self.tree_outcome(outcome))
    }

    /// Accepts the entry at the cursor as Enter does.
    pub(crate) fn accept_in_tree(&mut self) -> Vec<Action> {
        let Some(Overlay::Tree(tree)) = self.overlays.last_mut() else { return Vec::new() };
        let outcome = tree.command(KeyCommand::Accept);
        self.tree_outcome(outcome)
    }

    fn tree_outcome(&mut self, outcome: TreeKeyOutcome) -> Vec<Action> {
        match outcome {
            TreeKeyOutcome::Nothing => Vec::new(),
            TreeKeyOutcome::Back => {
                self.restore_typed_ahead();
                self.overlays.pop();
                vec![Action::Background(BackgroundJob::Tree(TreeRequest::EndSearch))]
            }
            TreeKeyOutcome::Close => {
                self.restore_typed_ahead();
                self.overlays.clear();
                vec![Action::Background(BackgroundJob::Tree(TreeRequest::EndSearch))]
            }
            TreeKeyOutcome::Choose(purpose) => self.choose_entry(purpose),
            TreeKeyOutcome::Hide(entry, Visibility::Hidden) => {
                vec![Action::Background(BackgroundJob::AskToHide(entry))]
            }
            TreeKeyOutcome::Hide(entry, Visibility::Shown) => {
                vec![Action::Edit(SessionEdit::Hide(entry, Visibility::Shown))]
            }
            TreeKeyOutcome::Label(entry, label) => {
                vec![Action::Edit(SessionEdit::LabelEntry(entry, label))]
            }
        }
    }

    /// Navigates to the entry at the cursor; while the agent works, asks first.
    fn choose_entry(&mut self, purpose: TreePurpose) -> Vec<Action> {
        let is_working = self.model.is_working();
        let Some(Overlay::Tree(tree)) = self.overlays.last_mut() else { return Vec::new() };
        let Some((node, entry)) = tree.chosen().zip(tree.chosen_id()) else { return Vec::new() };
        match tree.effect_for(purpose, node) {
            TreeEffect::Show => {
                let with = tree.hidden_with(node).unwrap_or(entry);
                vec![Action::Edit(SessionEdit::Hide(with, Visibility::Shown))]
            }
            TreeEffect::Stay => {
                self.overlays.clear();
                vec![Action::Background(BackgroundJob::Tree(TreeRequest::EndSearch))]
            }
            _ if is_working => {
                let items = busy_items(purpose, &entry, tree.is_first(node));
                self.overlays
                    .push(Overlay::Picker(Box::new(Picker::with_items("the agent is working", items))));
                Vec::new()
            }
            TreeEffect::Before | TreeEffect::From => {
                tree.going = PendingNavigation::started();
                vec![Action::Navigate(Navigate::AskForSummary(entry))]
            }
            TreeEffect::Fork | TreeEffect::ForkBefore => {
                tree.going = PendingNavigation::started();
                vec![Action::Navigate(Navigate::Fork(entry))]
            }
        }
    }

    /// Asks whether to hide an entry and `count - 1` entries after it.
    pub(crate) fn ask_to_hide(&mut self, entry: EntryId, count: usize) {
        let entries = match count {
            1 => "this entry".to_owned(),
            2 => "this entry and the one after it".to_owned(),
            count => format!("this entry and the {} after it", count - 1),
        };
        let key = self.ui.keymap.key_of(KeyCommand::ShowHidden);
        let label = format!("hide {entries}; nothing is deleted, {key} shows hidden entries");
        let items = vec![
            PickerItem::new(label, PickerChoice::Hide(entry)),
            PickerItem::new("cancel", PickerChoice::Nothing),
        ];
        self.open_dialog(Dialog { title: "hide this branch?".to_owned(), items });
    }

    /// Stops the agent, then navigates.
    pub(crate) fn stop_and_navigate(&mut self, go: Navigate) -> Vec<Action> {
        let is_working = self.model.is_working();
        if let Some(tree) = self.tree() {
            tree.going = PendingNavigation::OnceStopped(go);
        }
        if is_working { vec![Action::Abort] } else { Vec::new() }
    }
}

/// The character that a key types, if it types one.
fn typed(key: KeyEvent) -> Option<char> {
    match key.code {
        KeyCode::Char(c) if (key.modifiers - KeyModifiers::SHIFT).is_empty() => Some(c),
        _ => None,
    }
}

/// The choices for navigating while the agent works.
fn busy_items(purpose: TreePurpose, entry: &EntryId, is_first: bool) -> Vec<PickerItem> {
    let (stop, go) = match purpose {
        TreePurpose::Go => ("stop it and go there", Navigate::AskForSummary(entry.clone())),
        TreePurpose::Fork => ("stop it and fork there", Navigate::Fork(entry.clone())),
    };
    let mut items = vec![
        PickerItem::new("stay here and let it work", PickerChoice::Nothing),
        PickerItem::new(stop, PickerChoice::Stop(go)),
    ];
    if !is_first {
        let label = "fork a separate session there and let it work";
        items.push(PickerItem::new(label, PickerChoice::ForkBeside(entry.clone())));
    }
    items
}

impl TreeView {
    fn effect_for(&self, purpose: TreePurpose, node: usize) -> TreeEffect {
        match (self.effect(node), purpose) {
            (TreeEffect::Before, TreePurpose::Fork) => TreeEffect::ForkBefore,
            (TreeEffect::From | TreeEffect::Stay, TreePurpose::Fork) => TreeEffect::Fork,
            (effect, _) => effect,
        }
    }

    /// Returns true if it is a user message without a parent.
    fn is_first(&self, node: usize) -> bool {
        let Some(shape) = &self.shape else { return true };
        self.effect_for(TreePurpose::Fork, node) == TreeEffect::ForkBefore
            && shape.node(node).parent.is_none()
    }

    /// The hidden entry that hides this one.
    fn hidden_with(&self, node: usize) -> Option<EntryId> {
        let shape = self.shape.as_ref()?;
        shape.hidden_with[node].map(|with| shape.node(with).id.clone())
    }

    /// Pastes into the label, the text typed ahead, or the search.
    pub(crate) fn paste(&mut self, text: &str) {
        if let PendingNavigation::Leaving(ahead) = &mut self.going {
            return ahead.push_str(text);
        }
        let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match &mut self.labelling {
            Some(labelling) => labelling.push(&text),
            None => _ = self.type_text(&text),
        }
    }

    fn type_text(&mut self, text: &str) -> TreeKeyOutcome {
        text.chars().filter(|c| !c.is_control()).for_each(|c| self.search.push(c));
        self.narrow()
    }

    fn erase(&mut self) -> TreeKeyOutcome {
        self.search.pop();
        self.narrow()
    }

    fn narrow(&mut self) -> TreeKeyOutcome {
        if self.search.settle() {
            self.arrange();
        }
        TreeKeyOutcome::Nothing
    }

    fn command(&mut self, command: KeyCommand) -> TreeKeyOutcome {
        let page = isize::try_from(self.place.height).unwrap_or(10).saturating_sub(1).max(1);
        match command {
            KeyCommand::Up => self.step(-1),
            KeyCommand::Down => self.step(1),
            KeyCommand::PopupPageUp => self.step(-page),
            KeyCommand::PopupPageDown => self.step(page),
            KeyCommand::First => self.go_to(0),
            KeyCommand::Last => self.go_to(usize::MAX),
            KeyCommand::Accept => return TreeKeyOutcome::Choose(self.purpose),
            KeyCommand::ForkHere => return TreeKeyOutcome::Choose(TreePurpose::Fork),
            KeyCommand::Back if self.search.words().is_empty() => return TreeKeyOutcome::Back,
            KeyCommand::Back | KeyCommand::ClearFilter => {
                self.search.clear();
                return self.narrow();
            }
            KeyCommand::DeleteWord => {
                self.search.pop_word();
                return self.narrow();
            }
            KeyCommand::Close => return TreeKeyOutcome::Close,
            KeyCommand::Hide => return self.hide(),
            command => self.view_command(command),
        }
        TreeKeyOutcome::Nothing
    }

    /// Keys that change the filter, or move by the tree's structure.
    fn view_command(&mut self, command: KeyCommand) {
        match command {
            KeyCommand::Fold => self.fold(),
            KeyCommand::Unfold => self.unfold(),
            KeyCommand::FoldOthers => self.fold_others(),
            KeyCommand::ForkPoint => self.go_to_fork_point(),
            KeyCommand::NextBranch => {
                self.rows.branch_below(self.place.row).into_iter().for_each(|row| self.go_to(row))
            }
            KeyCommand::PreviousBranch => {
                self.rows.branch_above(self.place.row).into_iter().for_each(|row| self.go_to(row));
            }
            KeyCommand::Leaf => self.go_to_leaf(),
            KeyCommand::NextFilter => {
                self.filters.filter = self.filters.filter.next();
                self.arrange();
            }
            KeyCommand::ShowHidden => {
                self.filters.hidden = match self.filters.hidden {
                    Visibility::Shown => Visibility::Hidden,
                    Visibility::Hidden => Visibility::Shown,
                };
                self.arrange();
            }
            KeyCommand::EditLabel => self.begin_label(),
            KeyCommand::TogglePreview => self.preview.is_open = !self.preview.is_open,
            KeyCommand::PreviewDown => self.preview.top += PREVIEW_LINES,
            KeyCommand::PreviewUp => self.preview.top = self.preview.top.saturating_sub(PREVIEW_LINES),
            _ => {}
        }
    }

    /// Hides the entry at the cursor with what follows, or restores it.
    fn hide(&mut self) -> TreeKeyOutcome {
        let Some((node, entry)) = self.chosen().zip(self.chosen_id()) else { return TreeKeyOutcome::Nothing };
        if self.is_in_use() {
            self.place.refused = Some("can't hide the current branch; go to another one first");
            return TreeKeyOutcome::Nothing;
        }
        match self.hidden_with(node) {
            Some(with) => TreeKeyOutcome::Hide(with, Visibility::Shown),
            None => TreeKeyOutcome::Hide(entry, Visibility::Hidden),
        }
    }

    /// Returns true if the entry at the cursor is on the current path.
    pub(super) fn is_in_use(&self) -> bool {
        self.rows.get(self.place.row).is_some_and(|row| row.on_path)
    }

    /// A key during navigation: typed text is kept for the destination.
    fn leaving_key(&mut self, command: Option<KeyCommand>, key: KeyEvent) -> TreeKeyOutcome {
        let PendingNavigation::Leaving(ahead) = &mut self.going else { return TreeKeyOutcome::Nothing };
        match (command, typed(key)) {
            (Some(KeyCommand::Back), _) => return TreeKeyOutcome::Back,
            (Some(KeyCommand::Close), _) => return TreeKeyOutcome::Close,
            (_, Some(c)) => ahead.push(c),
            (_, None) if key.code == KeyCode::Backspace => _ = ahead.pop(),
            _ => {}
        }
        TreeKeyOutcome::Nothing
    }

    /// Ends the navigation; returns the text typed since.
    pub(crate) fn stay(&mut self) -> Option<String> {
        self.going.stay()
    }

    fn begin_label(&mut self) {
        let (Some(shape), Some(node)) = (&self.shape, self.chosen()) else { return };
        let text = shape.marks.label(node).unwrap_or_default().to_owned();
        self.labelling = Some(LabelInput { node, text });
    }

    fn label_key(&mut self, command: Option<KeyCommand>, key: KeyEvent) -> TreeKeyOutcome {
        let Some(labelling) = &mut self.labelling else { return TreeKeyOutcome::Nothing };
        match (command, typed(key)) {
            (_, Some(c)) => labelling.push(&c.to_string()),
            (Some(KeyCommand::Accept), _) => {
                let label = Some(labelling.text.trim().to_owned()).filter(|label| !label.is_empty());
                let node = labelling.node;
                self.labelling = None;
                let entry = self.shape.as_ref().map(|shape| shape.node(node).id.clone());
                return entry.map_or(TreeKeyOutcome::Nothing, |entry| TreeKeyOutcome::Label(entry, label));
            }
            (Some(KeyCommand::Back | KeyCommand::Close), _) => self.labelling = None,
            (Some(KeyCommand::ClearFilter | KeyCommand::DeleteWord), _) => labelling.text.clear(),
            (None, None) if key.code == KeyCode::Backspace => _ = labelling.text.pop(),
            _ => {}
        }
        TreeKeyOutcome::Nothing
    }
}

impl LabelInput {
    fn push(&mut self, text: &str) {
        let room = MAX_LABEL.saturating_sub(self.text.chars().count());
        self.text.extend(text.chars().filter(|c| !c.is_control()).take(room));
    }
}

/// Returns true if the tree closes when this is chosen.
pub(crate) fn leaves_tree(choice: &PickerChoice) -> bool {
    matches!(choice, PickerChoice::Instruct(_) | PickerChoice::Leave(..))
}
