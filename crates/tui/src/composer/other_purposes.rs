//! Text that isn't a message: a denial's reason, a queued message, an instruction for a summary.

use tiller_core::event::Decision;
use tiller_core::id::CallId;

use crate::action::Action;
use crate::approval_panel::decision::decide;
use crate::component::{Context, Outcome};
use crate::composer::Composer;
use crate::composer::compose_purpose::ComposePurpose;
use crate::denial::denial_reason;
use crate::effect::{Effect, QueueEditRequest};
use crate::keymap::table::KeyCommand;
use crate::queue::{AfterQueueEdit, MESSAGE_GONE, QueueAction};

impl Composer {
    /// Handles a command according to the text's purpose: sending applies the text, stopping abandons it.
    pub(super) fn purpose_key(&mut self, command: Option<KeyCommand>, cx: &mut Context<'_>) -> Outcome {
        let Some(command) = command else { return Outcome::Ignored };
        let sends = matches!(command, KeyCommand::Send | KeyCommand::SteerNow | KeyCommand::FollowUp);
        let leaves = command == KeyCommand::Stop || command == KeyCommand::Clear && self.editor.is_empty();
        match self.purpose.clone() {
            ComposePurpose::Message => return Outcome::Ignored,
            ComposePurpose::SummaryInstruction(_) if command == KeyCommand::Stop => {
                self.purpose = ComposePurpose::Message;
                cx.flash("Canceled: you stay on this branch.");
            }
            ComposePurpose::SummaryInstruction(_) => return Outcome::Ignored,
            _ if command == KeyCommand::Send && self.editor.continue_line() => {}
            ComposePurpose::DenialReason(call) if sends => self.deny_with_reason(&call, cx),
            ComposePurpose::DenialReason(call) if leaves => self.stash_reason(call),
            ComposePurpose::QueuedMessage(edit) if sends => self.finish_queue_edit(edit, cx),
            ComposePurpose::QueuedMessage(edit) if leaves => self.leave_queue_edit(edit, cx),
            ComposePurpose::QueuedMessage(_) if command == KeyCommand::EditQueue => {}
            ComposePurpose::DenialReason(_) | ComposePurpose::QueuedMessage(_) => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    /// Follows the call or the queued message that the text refers to. When it is gone, the text becomes a
    /// draft, which the next Enter doesn't send. A set-aside reason becomes a draft too, if nothing else was
    /// typed.
    pub(super) fn follow_purpose(&mut self, cx: &mut Context<'_>) {
        let activity = &cx.model.activity;
        let is_pending =
            |call: &CallId| activity.approvals.iter().any(|pending| pending.request.tool_call_id == *call);
        if let Some((_, reason)) = self.stashed_reason.take_if(|(call, _)| !is_pending(call))
            && self.editor.is_empty()
            && !reason.trim().is_empty()
        {
            self.editor.set_text(&reason);
            self.repurposed_at = Some(cx.now);
            cx.flash("The call has already ended; your reason is kept as a draft.");
        }
        match self.purpose.clone() {
            ComposePurpose::DenialReason(call) if !is_pending(&call) => {
                self.purpose = ComposePurpose::Message;
                if !self.editor.is_empty() {
                    self.repurposed_at = Some(cx.now);
                    cx.flash("Already answered elsewhere; your text is kept as a draft.");
                }
            }
            ComposePurpose::QueuedMessage(edit) if !activity.queue.iter().any(|item| item.id == edit.id) => {
                let text = self.editor.expanded();
                self.restore_stashed();
                self.queued_message_removed(Some(text).filter(|text| *text != edit.shown), cx);
            }
            _ => {}
        }
    }

    /// Returns true if the text is the reason of a denial.
    pub(crate) fn is_writing_reason(&self) -> bool {
        matches!(self.purpose, ComposePurpose::DenialReason(_))
    }

    /// Starts writing the reason for denying a call; restores a set-aside reason.
    pub(crate) fn write_reason(&mut self, call: CallId) {
        if let Some((_, reason)) = self.stashed_reason.take_if(|(of, _)| *of == call) {
            self.editor.set_text(&reason);
        }
        self.purpose = ComposePurpose::DenialReason(call);
    }

    /// Drops the set-aside reason of a call that was answered without it; the history still has it.
    pub(crate) fn drop_reason(&mut self, call: &CallId) {
        self.stashed_reason.take_if(|(of, _)| of == call);
    }

    fn deny_with_reason(&mut self, call: &CallId, cx: &mut Context<'_>) {
        let pending = cx.model.activity.approvals.iter().map(|pending| &pending.request);
        let request = pending.into_iter().find(|request| request.tool_call_id == *call);
        let reason = denial_reason(&self.editor.take_text());
        self.purpose = ComposePurpose::Message;
        request
            .into_iter()
            .for_each(|request| decide(request, Decision::Deny { reason: reason.clone() }, cx));
    }

    /// Sets the reason aside until the user continues it, or the call is over.
    fn stash_reason(&mut self, call: CallId) {
        let reason = self.editor.take_text();
        if !reason.trim().is_empty() {
            self.editor.remember(&reason);
        }
        self.stashed_reason = Some((call, reason));
        self.purpose = ComposePurpose::Message;
    }

    fn finish_queue_edit(&mut self, edit: QueueEditRequest, cx: &mut Context<'_>) {
        let text = self.editor.expanded();
        if text.trim().is_empty() {
            let key = cx.key_of(KeyCommand::Stop);
            return cx.flash(format!("Nothing to send; {key} leaves the message unchanged."));
        }
        self.restore_stashed();
        // After a failure all messages are held until the user releases them; an edit changes only the text.
        let then = if cx.model.activity.last_run_failed { AfterQueueEdit::Keep } else { edit.then };
        let action = match then {
            _ if text != edit.shown => Some(QueueAction::Edit(edit.id, text, then)),
            AfterQueueEdit::Release => Some(QueueAction::Release(edit.id)),
            AfterQueueEdit::Keep => None,
        };
        cx.push(Effect::QueueEditEnded);
        action.into_iter().for_each(|action| cx.push(Action::Queue(action)));
    }

    /// Discards the edit; the text is saved in the history. If the run has ended in the meantime, the message
    /// stays held like all others.
    fn leave_queue_edit(&mut self, edit: QueueEditRequest, cx: &mut Context<'_>) {
        let text = self.editor.expanded();
        if text != edit.shown && !text.trim().is_empty() {
            self.editor.remember(&text);
        }
        self.restore_stashed();
        cx.push(Effect::QueueEditEnded);
        if edit.then == AfterQueueEdit::Release && cx.model.activity.running_since.is_some() {
            cx.push(Action::Queue(QueueAction::Release(edit.id)));
        }
    }

    fn restore_stashed(&mut self) {
        if let Some(draft) = self.stashed_draft.take() {
            self.editor.restore(*draft);
        }
        self.purpose = ComposePurpose::Message;
    }

    /// Reports that a message left the queue before its edit was applied; the text becomes a draft.
    pub(crate) fn queued_message_removed(&mut self, text: Option<String>, cx: &mut Context<'_>) {
        match text {
            Some(text) => {
                self.editor.put_before(&[text]);
                self.repurposed_at = Some(cx.now);
                cx.flash("Already delivered unedited; your edit is kept as a draft.");
            }
            None => cx.flash(MESSAGE_GONE),
        }
    }
}
