//! The text that the user is writing: the editor, its completion, and what the text is for.

use crossterm::event::KeyEvent;
use tiller_core::event::Decision;
use tiller_core::id::{CallId, EntryId};
use tiller_core::unit::UnixMs;

use crate::approval_panel::{decide, denial_reason};
use crate::completion::Completion;
use crate::component::{Context, Outcome};
use crate::editor::Editor;
use crate::keymap::{self, KeyCommand};

/// The editor with its completion.
#[derive(Debug)]
pub(crate) struct Composer {
    pub(crate) editor: Editor,
    pub(crate) completion: Completion,
    pub(crate) purpose: ComposePurpose,
    /// Time when the text changed its purpose without a key; Enter is ignored for a moment after.
    pub(crate) repurposed_at: Option<UnixMs>,
    /// A message withheld because the model can't take its attachments; sending it again confirms it.
    pub(crate) withheld: Option<String>,
    /// An unfinished reason for denying a call.
    put_aside: Option<(CallId, String)>,
}

/// The purpose of the text in the editor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ComposePurpose {
    /// A message to the model, or a command.
    #[default]
    Message,
    /// The reason for denying a call.
    DenialReason(CallId),
    /// An instruction for the summary of the branch that is left for this entry.
    SummaryInstruction(EntryId),
}

impl Composer {
    pub(crate) fn new(history: Vec<String>) -> Self {
        Self {
            editor: Editor::new(history),
            completion: Completion::default(),
            purpose: ComposePurpose::Message,
            repurposed_at: None,
            withheld: None,
            put_aside: None,
        }
    }

    /// Reports whether the text is the reason of a denial.
    pub(crate) fn is_writing_reason(&self) -> bool {
        matches!(self.purpose, ComposePurpose::DenialReason(_))
    }

    /// Takes the reason for denying a call; one that was put aside comes back.
    pub(crate) fn write_reason(&mut self, call: CallId) {
        if let Some((_, reason)) = self.put_aside.take_if(|(of, _)| *of == call) {
            self.editor.set_text(&reason);
        }
        self.purpose = ComposePurpose::DenialReason(call);
    }

    /// Ends the reason for a call that was answered elsewhere; returns true if its text becomes a draft, which the
    /// next Enter doesn't send.
    pub(crate) fn end_reason(&mut self, call: &CallId, now: UnixMs) -> bool {
        if self.purpose != ComposePurpose::DenialReason(call.clone()) {
            return false;
        }
        self.purpose = ComposePurpose::Message;
        self.repurposed_at = (!self.editor.is_empty()).then_some(now);
        self.repurposed_at.is_some()
    }

    /// Handles a key while a reason is written: Enter sends it to the model, Esc puts it aside.
    pub(crate) fn handle_reason_key(&mut self, key: KeyEvent, cx: &mut Context<'_>) -> Outcome {
        let ComposePurpose::DenialReason(call) = &self.purpose else { return Outcome::Ignored };
        let pending = cx.model.activity.approvals.first().map(|pending| &pending.request);
        let Some(request) = pending.filter(|request| request.tool_call_id == *call) else {
            return Outcome::Ignored;
        };
        match cx.ui.keymap.command(keymap::Context::Main, key) {
            Some(KeyCommand::Send) if self.editor.continue_line() => {}
            Some(KeyCommand::Send | KeyCommand::SteerNow | KeyCommand::FollowUp) => {
                let reason = denial_reason(&self.editor.take_text());
                self.purpose = ComposePurpose::Message;
                decide(request, Decision::Deny { reason }, cx);
            }
            Some(KeyCommand::Stop) => self.put_reason_aside(call.clone()),
            Some(KeyCommand::Clear) if self.editor.is_empty() => self.put_reason_aside(call.clone()),
            _ => return Outcome::Ignored,
        }
        Outcome::Consumed
    }

    /// Puts the reason aside; if the call is answered elsewhere, it is still in the history.
    fn put_reason_aside(&mut self, call: CallId) {
        let reason = self.editor.take_text();
        if !reason.trim().is_empty() {
            self.editor.remember(&reason);
        }
        self.put_aside = Some((call, reason));
        self.purpose = ComposePurpose::Message;
    }
}
