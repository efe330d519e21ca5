//! The composer: the text that the user is writing, its completion and its purpose.
//!
//! `submit` sends the text, `commands` executes slash commands, `purpose` handles text that isn't a message.

mod commands;
mod completion_keys;
pub(crate) mod compose_purpose;
pub(crate) mod other_purposes;
mod submit;
#[cfg(test)]
pub(crate) mod testing;
pub(crate) mod view;

use crossterm::event::{KeyEvent, MouseButton, MouseEvent, MouseEventKind};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tiller_core::event::QueueItem;
use tiller_core::id::CallId;
use tiller_core::unit::UnixMs;
use tiller_provider::catalog::ImageInput;
use tiller_render::{Line, Role, Span};

use crate::action::{Action, BackgroundJob, ListAction, TerminalAction, UserText};
use crate::attach::{self, AttachedImage};
use crate::completion::Completion;
use crate::component::{Component, Context, Outcome, UiEvent, ViewContext};
use crate::composer::compose_purpose::ComposePurpose;
use crate::delivery::DeliveryTime;
use crate::editor::edit_command::EditCommand;
use crate::editor::{Editor, EditorDraft};
use crate::effect::{Effect, OverlayRequest, QueueEditRequest};
use crate::keymap::table::{KeyCommand, KeyContext};
use crate::list_click::handle_mouse;
use crate::list_data;
use crate::message::TaskResult;
use crate::queue::in_order;

/// The editor with its completion.
#[derive(Debug)]
pub(crate) struct Composer {
    pub(crate) editor: Editor,
    pub(crate) completion: Completion,
    pub(crate) purpose: ComposePurpose,
    /// The editor's content before the edit of a queued message.
    stashed_draft: Option<Box<EditorDraft>>,
    /// Time when the text changed its purpose without a key; Enter is ignored for a moment afterwards.
    repurposed_at: Option<UnixMs>,
    /// A message that wasn't sent because the model doesn't accept its attachments. Sending it again confirms it.
    unconfirmed: Option<String>,
    /// An unfinished reason for denying a call.
    stashed_reason: Option<(CallId, String)>,
    /// The areas of the editor and of the completion.
    area: Rect,
    completion_area: Rect,
}

impl Component for Composer {
    /// Handles keys of the completion and of the text's purpose, and keys that send or replace the text.
    /// Typing comes last, in [`Self::type_key`], because a binding of the screen may be a character.
    fn handle(&mut self, event: &UiEvent<'_>, cx: &mut Context<'_>) -> Outcome {
        match *event {
            UiEvent::Key(key) if self.completion_key(key, cx) == Outcome::Consumed => Outcome::Consumed,
            UiEvent::Key(key) => self.handle_without_completion(key, cx),
            UiEvent::Paste(text) => self.paste(text, cx),
            UiEvent::Mouse(event) => self.handle_mouse(event, cx),
            UiEvent::Text(_) => Outcome::Ignored,
        }
    }

    /// Follows the queue and the pending calls that the text refers to, and updates the completion.
    fn refresh(&mut self, cx: &mut Context<'_>) {
        self.follow_purpose(cx);
        self.update_completion(cx);
    }

    fn take(&mut self, result: TaskResult, cx: &mut Context<'_>) -> Option<TaskResult> {
        match result {
            TaskResult::Completion(result) => self.apply_completion(result, cx),
            TaskResult::ReturnedMessages(items) => self.restore_messages(&items),
            TaskResult::ReturnedInput(typed) => {
                typed.iter().rev().for_each(|typed| self.restore_input(typed))
            }
            TaskResult::History(prompts) => self.editor.prepend_history(prompts),
            TaskResult::Attached(image) => self.attach_image(image, cx),
            TaskResult::Edited(text) => self.editor.set_text(&text),
            TaskResult::BeforeDraft(text) => self.editor.put_before(&[text]),
            TaskResult::Paste(text) => self.editor.paste(&text),
            result => return Some(result),
        }
        None
    }

    /// Returns typed text to the editor.
    fn rejected(&mut self, action: Action, _cx: &mut Context<'_>) -> Option<Action> {
        match action {
            Action::List(ListAction::WalkFiles(_)) => self.completion.cancel_walk(),
            Action::List(ListAction::LoadArguments(_)) => self.completion.cancel_gathering(),
            Action::Attach(_, text) => self.editor.paste(&text),
            action => match action.typed() {
                Some(typed) => self.restore_input(&typed),
                None => return Some(action),
            },
        }
        None
    }

    fn lay_out(&mut self, area: Rect, _view: &ViewContext<'_>) {
        self.area = area;
    }

    fn render(&self, area: Rect, buffer: &mut Buffer, view: &ViewContext<'_>) {
        if !area.is_empty() {
            view::draw(&self.editor, area, buffer, view);
        }
    }

    fn cursor(&self, area: Rect, _view: &ViewContext<'_>) -> Option<Position> {
        (!area.is_empty()).then(|| self.editor.cursor(view::text_area(area)))
    }

    fn status_hint(&self, view: &ViewContext<'_>) -> Option<Line> {
        let ComposePurpose::SummaryInstruction(_) = self.purpose else { return None };
        let (send, stop) = (view.key_of(KeyCommand::Send), view.key_of(KeyCommand::Stop));
        let text = format!("what should the branch summary focus on? {send} starts it · {stop} cancels");
        Some(Line::from(vec![Span::new("  ? ", Role::Warning), Span::new(text, Role::Text)]))
    }
}

impl Composer {
    pub(crate) fn new(history: Vec<String>) -> Self {
        Self {
            editor: Editor::new(history),
            completion: Completion::default(),
            purpose: ComposePurpose::Message,
            stashed_draft: None,
            repurposed_at: None,
            unconfirmed: None,
            stashed_reason: None,
            area: Rect::default(),
            completion_area: Rect::default(),
        }
    }

    fn handle_without_completion(&mut self, key: KeyEvent, cx: &mut Context<'_>) -> Outcome {
        if self.editor.is_empty() {
            self.unconfirmed = None;
        }
        let command = cx.ui.keymap.command(KeyContext::Main, key);
        if self.purpose_key(command, cx) == Outcome::Consumed {
            return Outcome::Consumed;
        }
        match command {
            Some(KeyCommand::Send) if self.editor.continue_line() => {}
            Some(KeyCommand::Send) => self.submit(DeliveryTime::NextStep, cx),
            Some(KeyCommand::FollowUp) => self.submit(DeliveryTime::AfterRun, cx),
            Some(KeyCommand::SteerNow) => self.submit(DeliveryTime::Now, cx),
            Some(KeyCommand::Newline) => self.editor.newline(),
            Some(KeyCommand::Clear) if !self.editor.is_empty() => self.clear(cx),
            Some(KeyCommand::SearchHistory) => self.search_history(cx),
            Some(KeyCommand::ExternalEditor) => {
                cx.push(Action::Terminal(TerminalAction::EditExternally(self.editor.expanded())));
            }
            Some(KeyCommand::PasteImage) => cx.push(Action::Background(BackgroundJob::PasteImage)),
            _ => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    /// Inserts pasted text; attaches an image if the text is its path.
    fn paste(&mut self, text: &str, cx: &mut Context<'_>) -> Outcome {
        match attach::image_path(text, cx.ui.home.as_deref()) {
            Some(path) => cx.push(Action::Attach(path, text.to_owned())),
            None => self.editor.paste(text),
        }
        Outcome::Consumed
    }

    /// Wraps the text for a screen size, so that its height is known.
    pub(crate) fn wrap_text(&mut self, (width, height): (u16, u16)) {
        self.editor.lay_out(width.saturating_sub(view::SIGN_WIDTH), height / 3);
    }

    pub(crate) fn lay_out_completion(&mut self, area: Rect) {
        self.completion_area = area;
    }

    /// Handles the mouse in the completion, and a click in the editor.
    fn handle_mouse(&mut self, event: MouseEvent, cx: &mut Context<'_>) -> Outcome {
        let position = Position { x: event.column, y: event.row };
        if self.completion_area.contains(position) {
            return handle_mouse(self, event, cx);
        }
        if event.kind != MouseEventKind::Down(MouseButton::Left) || !self.area.contains(position) {
            return Outcome::Ignored;
        }
        let (row, column) = (position.y - self.area.y, position.x.saturating_sub(view::SIGN_WIDTH));
        self.editor.click(row, column, self.area.height);
        Outcome::Consumed
    }

    /// Types a key into the editor, or moves its cursor.
    pub(crate) fn type_key(&mut self, event: &UiEvent<'_>, cx: &mut Context<'_>) -> Outcome {
        let UiEvent::Key(key) = *event else { return Outcome::Ignored };
        if self.editor.key(key, &cx.ui.keymap) && !self.editor.is_empty() {
            cx.push(Effect::Typed);
        }
        Outcome::Consumed
    }

    /// Clears the draft; undo restores it.
    fn clear(&mut self, cx: &mut Context<'_>) {
        self.editor.clear();
        let undo = cx.key_of(KeyCommand::Edit(EditCommand::Undo));
        cx.flash(format!("Cleared; {undo} restores it."));
        cx.push(Effect::DraftCleared);
    }

    fn search_history(&self, cx: &mut Context<'_>) {
        let items = list_data::prompts(self.editor.history());
        cx.push(Effect::Open(OverlayRequest::Prompts(items)));
    }

    /// Returns true if the text is a message or command, without a special purpose.
    pub(crate) fn is_for_message(&self) -> bool {
        self.purpose == ComposePurpose::Message
    }

    /// Returns true if images can accompany the text in the editor.
    pub(crate) fn accepts_images(&self) -> bool {
        matches!(self.purpose, ComposePurpose::Message | ComposePurpose::SummaryInstruction(_))
    }

    /// Attaches an image to the text in the editor, unless the text is sent without images.
    fn attach_image(&mut self, AttachedImage { image, size }: AttachedImage, cx: &mut Context<'_>) {
        if !self.accepts_images() {
            return cx.flash("Images can't be attached here; send them with a message.");
        }
        self.editor.attach(image, size);
        if cx.model.info.image_input == ImageInput::Unsupported {
            let (model, models) = (cx.model.model_name(), cx.key_of(KeyCommand::PickModel));
            cx.flash(format!("{model} doesn't accept images; {models} chooses another model."));
        }
    }

    /// Moves messages from the queue to the editor, in the order of the queue panel.
    pub(crate) fn restore_messages(&mut self, items: &[QueueItem]) {
        let adopt = |item: &QueueItem| self.editor.restore_images(&item.as_typed(), &item.images);
        let texts: Vec<String> = in_order(items).into_iter().map(adopt).collect();
        if !texts.is_empty() {
            self.editor.put_before(&texts);
        }
    }

    /// Returns user input to the editor, with its images.
    pub(crate) fn restore_input(&mut self, typed: &UserText) {
        let text = self.editor.restore_images(&typed.text, &typed.images);
        self.editor.put_before(&[text]);
    }

    /// Rejects input: shows `reason` and returns the text to the editor for correction. If the editor
    /// contains the reason of a denial, the text goes to the prompt history instead, because the reason is
    /// cleared with the call.
    pub(crate) fn reject_input(
        &mut self,
        typed: impl Into<UserText>,
        message: impl Into<String>,
        cx: &mut Context<'_>,
    ) {
        let typed = typed.into();
        if self.is_writing_reason() {
            let text = self.editor.restore_images(&typed.text, &typed.images);
            self.editor.remember(&text);
            cx.flash(format!("{}; your text is in the prompt history", message.into()));
        } else {
            self.put_before_draft(&typed);
            cx.flash(message);
        }
    }

    /// Inserts text with its images before the draft. While a queued message is being edited, the draft is
    /// the editor's previous content.
    fn put_before_draft(&mut self, typed: &UserText) {
        let Some(draft) = self.stashed_draft.take() else { return self.restore_input(typed) };
        let edited = self.editor.stash();
        self.editor.restore(*draft);
        self.restore_input(typed);
        self.stashed_draft = Some(Box::new(self.editor.stash()));
        self.editor.restore(edited);
    }

    /// Returns the text to save as the draft. While a queued message is being edited, this is the editor's
    /// previous content.
    pub(crate) fn unsent_text(&self) -> String {
        match &self.stashed_draft {
            Some(draft) => draft.text_without_images(),
            None => self.editor.text_without_images(),
        }
    }

    /// Starts editing a queued message; the editor's content is restored afterwards.
    pub(crate) fn edit_queued(&mut self, edit: QueueEditRequest) {
        self.stashed_draft = Some(Box::new(self.editor.stash()));
        self.editor.set_text(&edit.shown);
        self.purpose = ComposePurpose::QueuedMessage(edit);
    }
}

#[cfg(test)]
mod tests;
