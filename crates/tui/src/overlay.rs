//! The kinds of overlays: lists, pages and the tree.

pub(crate) mod scroll;

use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use ratatui::widgets::{Clear, Widget};
use tiller_core::id::CallId;

use crate::action::Action;
use crate::address::{Address, OverlayId};
use crate::component::{Component, Context, Outcome, UiEvent, ViewContext};
use crate::elicitation_form::ElicitationForm;
use crate::list_kind::ListKind;
use crate::message::TaskResult;
use crate::pager::Pager;
use crate::picker::Picker;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::tree::TreeView;

/// A panel that covers everything but the footer.
#[derive(Debug)]
pub(crate) enum Overlay {
    Picker(Box<Picker>),
    Pager(Pager),
    Tree(Box<TreeView>),
    /// A server's question.
    Form(Box<ElicitationForm>),
}

impl Component for Overlay {
    fn handle(&mut self, event: &UiEvent<'_>, cx: &mut Context<'_>) -> Outcome {
        cx.for_address(self.address(), |cx| self.component_mut().handle(event, cx))
    }

    fn refresh(&mut self, cx: &mut Context<'_>) {
        cx.for_address(self.address(), |cx| self.component_mut().refresh(cx));
    }

    fn take(&mut self, result: TaskResult, cx: &mut Context<'_>) -> Option<TaskResult> {
        cx.for_address(self.address(), |cx| self.component_mut().take(result, cx))
    }

    fn rejected(&mut self, action: Action, cx: &mut Context<'_>) -> Option<Action> {
        cx.for_address(self.address(), |cx| self.component_mut().rejected(action, cx))
    }

    fn lay_out(&mut self, area: Rect, view: &ViewContext<'_>) {
        self.component_mut().lay_out(area, view);
    }

    fn render(&self, area: Rect, buffer: &mut Buffer, view: &ViewContext<'_>) {
        Clear.render(area, buffer);
        self.component().render(area, buffer, view);
    }

    fn cursor(&self, area: Rect, view: &ViewContext<'_>) -> Option<Position> {
        self.component().cursor(area, view)
    }
}

impl Overlay {
    fn component(&self) -> &dyn Component {
        match self {
            Self::Picker(picker) => &**picker,
            Self::Pager(pager) => pager,
            Self::Tree(tree) => &**tree,
            Self::Form(form) => &**form,
        }
    }

    fn component_mut(&mut self) -> &mut dyn Component {
        match self {
            Self::Picker(picker) => &mut **picker,
            Self::Pager(pager) => pager,
            Self::Tree(tree) => &mut **tree,
            Self::Form(form) => &mut **form,
        }
    }

    /// Returns the id, if the overlay requests actions.
    pub(crate) fn id(&self) -> Option<OverlayId> {
        match self {
            Self::Picker(picker) => Some(picker.id),
            Self::Tree(tree) => Some(tree.id),
            Self::Pager(_) | Self::Form(_) => None,
        }
    }

    pub(crate) fn address(&self) -> Address {
        self.id().map_or(Address::Screen, Address::Overlay)
    }

    pub(crate) fn set_id(&mut self, id: OverlayId) {
        match self {
            Self::Picker(picker) => picker.id = id,
            Self::Tree(tree) => tree.id = id,
            Self::Pager(_) | Self::Form(_) => {}
        }
    }

    pub(crate) fn as_picker(&mut self) -> Option<&mut Picker> {
        match self {
            Self::Picker(picker) => Some(picker),
            Self::Pager(_) | Self::Tree(_) | Self::Form(_) => None,
        }
    }

    pub(crate) fn as_tree(&mut self) -> Option<&mut TreeView> {
        match self {
            Self::Tree(tree) => Some(tree),
            Self::Picker(_) | Self::Pager(_) | Self::Form(_) => None,
        }
    }

    pub(crate) fn as_pager(&mut self) -> Option<&mut Pager> {
        match self {
            Self::Pager(pager) => Some(pager),
            Self::Picker(_) | Self::Tree(_) | Self::Form(_) => None,
        }
    }

    pub(crate) fn as_form(&self) -> Option<&ElicitationForm> {
        match self {
            Self::Form(form) => Some(form),
            Self::Picker(_) | Self::Pager(_) | Self::Tree(_) => None,
        }
    }

    /// Cancels a pending navigation; returns the text typed in the meantime.
    pub(crate) fn cancel_navigation(&mut self) -> Option<String> {
        match self {
            Self::Picker(picker) => picker.cancel_open(),
            Self::Tree(tree) => tree.stay(),
            Self::Pager(_) | Self::Form(_) => None,
        }
    }

    /// Returns the pending call that the overlay shows.
    pub(crate) fn call(&self) -> Option<&CallId> {
        match self {
            Self::Pager(page) => page.call(),
            Self::Picker(_) | Self::Tree(_) | Self::Form(_) => None,
        }
    }

    /// Returns the pending call whose rules the overlay edits.
    pub(crate) fn edited_call(&self) -> Option<&CallId> {
        match self {
            Self::Picker(picker) => match &picker.prompt()?.purpose {
                PickerChoice::Rules(call, ..) => Some(call),
                _ => None,
            },
            Self::Pager(_) | Self::Tree(_) | Self::Form(_) => None,
        }
    }

    /// Returns true for the dialog about a failed summary.
    pub(crate) fn is_failure_dialog(&self) -> bool {
        let is_retry_choice = |item: &PickerItem| matches!(item.choice, PickerChoice::AfterFailure(_));
        matches!(self, Self::Picker(picker) if picker.chosen().is_some_and(is_retry_choice))
    }

    pub(crate) fn is_list(&self, list: ListKind) -> bool {
        matches!(self, Self::Picker(picker) if picker.kind() == Some(list))
    }
}
