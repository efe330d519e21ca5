//! Ways to send a message that fills most of the context window.

use crate::action::{Action, MessageExtra, Submit};
use crate::delivery::LongMessage;

/// Limits the attached files to those that `typed` mentions. It is the text without the contents of pastes,
/// because a paste may come from anyone.
pub(super) fn without_files_of_pastes(action: Action, typed: &str) -> Action {
    match action {
        Action::Submit(submit) if names_more_files(&submit, typed) => {
            Action::Submit(Submit::WithExtra(Box::new(submit), MessageExtra::FilesOf(typed.to_owned())))
        }
        action => action,
    }
}

/// Returns true if a message mentions files that `typed` doesn't.
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
            with(submit.clone(), MessageExtra::AnyLength)
        }
        (LongMessage::AsFile, Submit::Steer(whole)) => {
            with(Submit::Steer(short()), MessageExtra::AsFile(whole.clone()))
        }
        (LongMessage::AsFile, Submit::SteerNow(whole)) => {
            with(Submit::SteerNow(short()), MessageExtra::AsFile(whole.clone()))
        }
        (LongMessage::AsFile, Submit::FollowUp(whole)) => {
            with(Submit::FollowUp(short()), MessageExtra::AsFile(whole.clone()))
        }
        (
            _,
            Submit::DeliverSteeringNow | Submit::Bash(..) | Submit::WithImages(..) | Submit::WithExtra(..),
        ) => action,
    }
}
