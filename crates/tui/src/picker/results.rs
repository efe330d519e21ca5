//! Results of actions that a list requested.

use crate::action::Action;
use crate::component::Context;
use crate::effect::Effect;
use crate::message::{ListResult, TaskResult};
use crate::picker::Picker;
use crate::picker::line_prompt::StatusText;
use crate::picker::settings::setting_items;

impl Picker {
    pub(super) fn take_result(&mut self, result: TaskResult) -> Option<TaskResult> {
        match result {
            TaskResult::Note(text) => self.set_status(Some(StatusText::note(text))),
            // The choice stays selected.
            TaskResult::InvalidInput { message, .. } => self.set_status(Some(StatusText::error(message))),
            TaskResult::List(result) => return self.take_list_result(result).map(TaskResult::List),
            result => return Some(result),
        }
        None
    }

    fn take_list_result(&mut self, result: ListResult) -> Option<ListResult> {
        match result {
            ListResult::Items { items, selected } => self.fill(items, selected),
            ListResult::Settings(settings) => self.fill(setting_items(&settings), 0),
            ListResult::Narrowed(done) => self.apply_narrowed(&done),
            ListResult::Preview { of, lines } => self.show_preview(&of, lines),
            ListResult::Sessions { query_id, scope, result } => self.browsed(query_id, scope, &result),
            ListResult::Status(status) => {
                // The pending session switch has failed; the text typed in the meantime stays in the list.
                _ = self.cancel_open();
                self.set_status(Some(status));
            }
            ListResult::RenameFailed { path, name, reason } => {
                self.ask_for_name_again(&path, &name);
                self.set_status(Some(reason));
            }
            result => return Some(result),
        }
        None
    }

    /// Takes back a rejected session switch; the text typed in the meantime goes to the editor.
    pub(super) fn take_back(&mut self, action: Action, cx: &mut Context<'_>) -> Option<Action> {
        let Action::Navigate(_) = action else { return Some(action) };
        self.cancel_open().into_iter().for_each(|typed| cx.push(Effect::PutBeforeDraft(typed)));
        None
    }
}
