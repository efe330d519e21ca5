//! Messages that fill most of the context window: asks how to send them.

use tiller_session::context::estimate_text;

use super::effect::Opening;
use super::picker::{PickerChoice, PickerItem};
use crate::action::DeliveryTime;
use crate::action::{Action, LineExtra, Submit};
use crate::app::App;

/// Divisor of the context window: a message above one half of it is asked about.
const PART_OF_WINDOW: u64 = 2;

/// Maximum number of characters of the text that replaces a message attached as a file.
const MAX_SHORT: usize = 500;

/// The ways to send a long message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LongMessage {
    /// Unchanged.
    Whole,
    /// As a file that the model reads in parts.
    AsFile,
}

impl App {
    /// The dialog for a message that takes more than half of the context window; `None` for a shorter one.
    pub(super) fn length_dialog(&self, when: DeliveryTime) -> Option<Opening> {
        let (text, window) = (self.composer.editor.expanded(), self.model.info.context.window);
        let tokens = estimate_text(&text);
        let is_long = window.0 > 0 && tokens.0 > window.0 / PART_OF_WINDOW;
        if !is_long || self.is_command(&text) {
            return None;
        }
        let items = vec![
            PickerItem::new(
                "attach it as a file, which the model reads in parts",
                PickerChoice::LongMessage(LongMessage::AsFile, when),
            ),
            PickerItem::new("send it anyway", PickerChoice::LongMessage(LongMessage::Whole, when)),
            PickerItem::new("back to the editor", PickerChoice::Nothing),
        ];
        let title =
            format!("about {tokens} tokens in one message; {} reads {window}", self.model.model_name());
        Some(Opening::Question { title, items })
    }

    /// The text that replaces a message attached as a file: its placeholders, or its beginning.
    pub(super) fn short_text(&self) -> String {
        let text = self.composer.editor.text();
        match text.char_indices().nth(MAX_SHORT) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}

/// Limits the attached files to those that `typed` names, the text without the contents of pastes: a paste
/// may come from anyone.
pub(super) fn without_files_of_pastes(action: Action, typed: &str) -> Action {
    match action {
        Action::Submit(submit) if names_more_files(&submit, typed) => {
            Action::Submit(Submit::WithExtra(Box::new(submit), LineExtra::FilesOf(typed.to_owned())))
        }
        action => action,
    }
}

/// Reports whether a message names files that `typed` doesn't.
fn names_more_files(submit: &Submit, typed: &str) -> bool {
    match submit {
        Submit::Steer(text) | Submit::SteerNow(text) | Submit::FollowUp(text) => {
            text.matches('@').count() > typed.matches('@').count()
        }
        Submit::DeliverSteeringNow | Submit::Bash(..) | Submit::WithImages(..) | Submit::WithExtra(..) => {
            false
        }
    }
}

/// Applies the chosen way to send a long message; `short` replaces the text when it is attached as a file.
pub(super) fn apply_long_choice(action: Action, long: Option<LongMessage>, short: &str) -> Action {
    let (Some(long), Action::Submit(submit)) = (long, &action) else { return action };
    let short = || short.to_owned();
    let with = |submit, extra| Action::Submit(Submit::WithExtra(Box::new(submit), extra));
    match (long, submit) {
        (LongMessage::Whole, Submit::Steer(_) | Submit::SteerNow(_) | Submit::FollowUp(_)) => {
            with(submit.clone(), LineExtra::AnyLength)
        }
        (LongMessage::AsFile, Submit::Steer(whole)) => {
            with(Submit::Steer(short()), LineExtra::AsFile(whole.clone()))
        }
        (LongMessage::AsFile, Submit::SteerNow(whole)) => {
            with(Submit::SteerNow(short()), LineExtra::AsFile(whole.clone()))
        }
        (LongMessage::AsFile, Submit::FollowUp(whole)) => {
            with(Submit::FollowUp(short()), LineExtra::AsFile(whole.clone()))
        }
        (
            _,
            Submit::DeliverSteeringNow | Submit::Bash(..) | Submit::WithImages(..) | Submit::WithExtra(..),
        ) => action,
    }
}
