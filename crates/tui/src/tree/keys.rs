//! Key handling of the tree. Typed text is the search text; all other keys are bound in the keymap.

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tiller_core::id::EntryId;
use tiller_session::Visibility;

use crate::action::{Action, BackgroundJob, SessionEdit};
use crate::component::{Component, Context, Outcome, UiEvent, ViewContext};
use crate::dialog::Dialog;
use crate::draw::put;
use crate::effect::{Effect, LeaveScope, OverlayRequest};
use crate::keymap::Keymap;
use crate::keymap::table::{KeyCommand, KeyContext};
use crate::line_input::{LineInput, pop_grapheme, typed_char};
use crate::list_click::handle_mouse;
use crate::message::{ListResult, TaskResult};
use crate::navigate::Navigate;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::tree::request::{TreePurpose, TreeRequest};
use crate::tree::{LabelInput, PendingNavigation, TreeEffect, TreeView};

/// Lines per scroll step of the preview.
const PREVIEW_LINES: usize = 3;

/// Maximum length of a label, in characters; longer ones are slow to lay out.
const MAX_LABEL: usize = 1_000;

/// The effect of a key beyond the tree's own state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TreeKeyOutcome {
    Nothing,
    Back,
    Close,
    Choose(TreePurpose),
    Hide(EntryId, Visibility),
    Label(EntryId, Option<String>),
}

impl Component for TreeView {
    fn handle(&mut self, event: &UiEvent<'_>, cx: &mut Context<'_>) -> Outcome {
        match *event {
            UiEvent::Key(key) => self.handle_key(key, cx),
            UiEvent::Paste(text) => self.paste(text),
            UiEvent::Mouse(event) => return handle_mouse(self, event, cx),
            UiEvent::Text(_) => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    /// Requests data for the visible rows, and starts a navigation that waited for the agent to stop.
    fn refresh(&mut self, cx: &mut Context<'_>) {
        for request in self.take_requests(cx.ui.size) {
            cx.push(Action::Background(BackgroundJob::Tree(request)));
        }
        if !cx.model.is_working() {
            self.going.leave_once_stopped().into_iter().for_each(|go| cx.push(Action::Navigate(go)));
        }
    }

    fn take(&mut self, result: TaskResult, _cx: &mut Context<'_>) -> Option<TaskResult> {
        match result {
            TaskResult::List(ListResult::Tree { session, news }) => self.apply_result(&session, news),
            result => return Some(result),
        }
        None
    }

    /// Takes back a rejected navigation; the text typed in the meantime goes to the editor.
    fn rejected(&mut self, action: Action, cx: &mut Context<'_>) -> Option<Action> {
        let Action::Navigate(_) = action else { return Some(action) };
        self.stay().into_iter().for_each(|typed| cx.push(Effect::PutBeforeDraft(typed)));
        None
    }

    fn lay_out(&mut self, area: Rect, view: &ViewContext<'_>) {
        self.area = area;
        self.lay_out_lines(&view.ui.keymap, &view.render_context());
    }

    fn render(&self, area: Rect, buffer: &mut Buffer, view: &ViewContext<'_>) {
        for (position, line) in &self.drawn.lines {
            put(line, position.intersection(area), buffer, &view.ui.theme);
        }
    }

    fn cursor(&self, _area: Rect, _view: &ViewContext<'_>) -> Option<Position> {
        Some(self.drawn.cursor.into())
    }
}

impl TreeView {
    fn handle_key(&mut self, key: KeyEvent, cx: &mut Context<'_>) {
        let keymap = &cx.ui.keymap;
        let command = keymap.command(KeyContext::Tree, key);
        let command = command.or_else(|| keymap.command(KeyContext::Popup, key));
        self.place.refused = None;
        self.place.cursor.release();
        let outcome = match (command, typed_char(key)) {
            _ if self.labelling.is_some() => self.label_key(command, key),
            _ if matches!(self.going, PendingNavigation::Leaving(_)) => self.leaving_key(command, key),
            (Some(command), _) => self.command(command),
            (None, Some(c)) => self.type_text(&c.to_string()),
            (None, None) if key.code == KeyCode::Backspace => self.erase(),
            (None, None) => TreeKeyOutcome::Nothing,
        };
        self.apply(outcome, cx);
    }

    /// Pastes into the label, the text typed during navigation, or the search.
    fn paste(&mut self, text: &str) {
        if let PendingNavigation::Leaving(ahead) = &mut self.going {
            return ahead.push_str(text);
        }
        let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
        match &mut self.labelling {
            Some(labelling) => labelling.push(&text),
            None => _ = self.type_text(&text),
        }
    }

    /// Ends the search in the background.
    pub(crate) fn end_search() -> Action {
        Action::Background(BackgroundJob::Tree(TreeRequest::EndSearch))
    }

    /// Navigates once the agent has stopped.
    pub(crate) fn navigate_once_stopped(&mut self, navigate: Navigate) {
        self.going = PendingNavigation::OnceStopped(navigate);
    }

    pub(super) fn apply(&mut self, outcome: TreeKeyOutcome, cx: &mut Context<'_>) {
        match outcome {
            TreeKeyOutcome::Nothing => {}
            TreeKeyOutcome::Back => cx.push(Effect::Leave(LeaveScope::Top)),
            TreeKeyOutcome::Close => cx.push(Effect::Leave(LeaveScope::All)),
            TreeKeyOutcome::Choose(purpose) => self.choose_entry(purpose, cx),
            TreeKeyOutcome::Hide(entry, Visibility::Hidden) => {
                cx.push(Action::Background(BackgroundJob::AskToHide(entry)));
            }
            TreeKeyOutcome::Hide(entry, Visibility::Shown) => {
                cx.push(Action::Edit(SessionEdit::Hide(entry, Visibility::Shown)));
            }
            TreeKeyOutcome::Label(entry, label) => {
                cx.push(Action::Edit(SessionEdit::LabelEntry(entry, label)));
            }
        }
    }

    /// Navigates to the entry at the cursor; asks first while the agent is working.
    fn choose_entry(&mut self, purpose: TreePurpose, cx: &mut Context<'_>) {
        let Some((node, entry)) = self.chosen().zip(self.chosen_id()) else { return };
        match self.effect_for(purpose, node) {
            TreeEffect::Show => {
                let with = self.hiding_ancestors(node).unwrap_or(entry);
                cx.push(Action::Edit(SessionEdit::Hide(with, Visibility::Shown)));
            }
            TreeEffect::Stay => {
                cx.push(Effect::CloseAll);
                cx.push(Self::end_search());
            }
            _ if cx.model.is_working() => {
                let items = busy_items(purpose, &entry, self.is_first(node));
                cx.push(Effect::Open(OverlayRequest::Question {
                    title: "the agent is working".to_owned(),
                    items,
                }));
            }
            TreeEffect::Before | TreeEffect::From => {
                self.going = PendingNavigation::started();
                cx.push(Action::Navigate(Navigate::AskForSummary(entry)));
            }
            TreeEffect::Fork | TreeEffect::ForkBefore => {
                self.going = PendingNavigation::started();
                cx.push(Action::Navigate(Navigate::Fork(entry)));
            }
        }
    }
}

/// Returns the question about hiding an entry and its `count - 1` descendants.
pub(crate) fn hide_dialog(entry: EntryId, count: usize, keymap: &Keymap) -> Dialog {
    let entries = match count {
        1 => "this entry".to_owned(),
        2 => "this entry and the one after it".to_owned(),
        count => format!("this entry and the {} after it", count - 1),
    };
    let key = keymap.key_of(KeyCommand::ShowHidden);
    let label = format!("hide {entries}; nothing is deleted, {key} shows hidden entries");
    let items = vec![
        PickerItem::new(label, PickerChoice::Hide(entry)),
        PickerItem::new("cancel", PickerChoice::Nothing),
    ];
    Dialog { title: "hide this branch?".to_owned(), items }
}

/// Returns the choices for navigating while the agent is working.
fn busy_items(purpose: TreePurpose, entry: &EntryId, is_first: bool) -> Vec<PickerItem> {
    let (stop, go) = match purpose {
        TreePurpose::Go => ("stop it and go there", Navigate::AskForSummary(entry.clone())),
        TreePurpose::Fork => ("stop it and fork there", Navigate::Fork(entry.clone())),
    };
    let mut items = vec![
        PickerItem::new("stay here; the agent continues", PickerChoice::Nothing),
        PickerItem::new(stop, PickerChoice::Stop(go)),
    ];
    if !is_first {
        let label = "fork a new session there; the agent continues";
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

    /// Returns true for a user message without a parent.
    fn is_first(&self, node: usize) -> bool {
        let Some(shape) = &self.shape else { return true };
        self.effect_for(TreePurpose::Fork, node) == TreeEffect::ForkBefore
            && shape.node(node).parent.is_none()
    }

    /// Returns the hidden entry that hides this one.
    fn hiding_ancestors(&self, node: usize) -> Option<EntryId> {
        let shape = self.shape.as_ref()?;
        shape.hiding_ancestors[node].map(|with| shape.node(with).id.clone())
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

    pub(super) fn command(&mut self, command: KeyCommand) -> TreeKeyOutcome {
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

    /// Handles commands that change the filter or move by the tree's structure.
    fn view_command(&mut self, command: KeyCommand) {
        match command {
            KeyCommand::Fold => self.fold(),
            KeyCommand::Unfold => self.unfold(),
            KeyCommand::FoldOthers => self.fold_others(),
            KeyCommand::ForkPoint => self.go_to_fork_point(),
            KeyCommand::NextBranch => {
                self.rows.branch_below(self.place.cursor.row).into_iter().for_each(|row| self.go_to(row))
            }
            KeyCommand::PreviousBranch => {
                self.rows.branch_above(self.place.cursor.row).into_iter().for_each(|row| self.go_to(row));
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

    /// Hides the entry at the cursor with its descendants, or restores it.
    fn hide(&mut self) -> TreeKeyOutcome {
        let Some((node, entry)) = self.chosen().zip(self.chosen_id()) else { return TreeKeyOutcome::Nothing };
        if self.is_in_use() {
            self.place.refused = Some("can't hide the current branch; go to another one first");
            return TreeKeyOutcome::Nothing;
        }
        match self.hiding_ancestors(node) {
            Some(with) => TreeKeyOutcome::Hide(with, Visibility::Shown),
            None => TreeKeyOutcome::Hide(entry, Visibility::Hidden),
        }
    }

    /// Returns true if the entry at the cursor is on the current path.
    pub(super) fn is_in_use(&self) -> bool {
        self.rows.get(self.place.cursor.row).is_some_and(|row| row.on_path)
    }

    /// Handles a key during navigation: typed text is kept for the destination.
    fn leaving_key(&mut self, command: Option<KeyCommand>, key: KeyEvent) -> TreeKeyOutcome {
        let PendingNavigation::Leaving(ahead) = &mut self.going else { return TreeKeyOutcome::Nothing };
        match (command, typed_char(key)) {
            (Some(KeyCommand::Back), _) => return TreeKeyOutcome::Back,
            (Some(KeyCommand::Close), _) => return TreeKeyOutcome::Close,
            (_, Some(c)) => ahead.push(c),
            (_, None) if key.code == KeyCode::Backspace => pop_grapheme(ahead),
            _ => {}
        }
        TreeKeyOutcome::Nothing
    }

    /// Ends the navigation; returns the text typed in the meantime.
    pub(crate) fn stay(&mut self) -> Option<String> {
        self.going.stay()
    }

    fn begin_label(&mut self) {
        let (Some(shape), Some(node)) = (&self.shape, self.chosen()) else { return };
        let line = LineInput::from(shape.marks.label(node).unwrap_or_default());
        self.labelling = Some(LabelInput { node, line });
    }

    fn label_key(&mut self, command: Option<KeyCommand>, key: KeyEvent) -> TreeKeyOutcome {
        let Some(labelling) = &mut self.labelling else { return TreeKeyOutcome::Nothing };
        match (command, typed_char(key)) {
            (_, Some(c)) => labelling.push(&c.to_string()),
            (Some(KeyCommand::Accept), _) => {
                let label = Some(labelling.line.text().trim().to_owned()).filter(|label| !label.is_empty());
                let node = labelling.node;
                self.labelling = None;
                let entry = self.shape.as_ref().map(|shape| shape.node(node).id.clone());
                return entry.map_or(TreeKeyOutcome::Nothing, |entry| TreeKeyOutcome::Label(entry, label));
            }
            (Some(KeyCommand::Back | KeyCommand::Close), _) => self.labelling = None,
            _ => _ = labelling.line.edit(key, command),
        }
        TreeKeyOutcome::Nothing
    }
}

impl LabelInput {
    fn push(&mut self, text: &str) {
        let room = MAX_LABEL.saturating_sub(self.line.text().chars().count());
        self.line.push(&text.chars().take(room).collect::<String>());
    }
}
