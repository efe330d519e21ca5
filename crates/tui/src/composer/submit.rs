//! Sending the text in the editor: as a message, as a command, or for its purpose.

use tiller_core::message::Image;
use tiller_engine::BranchSummary;
use tiller_provider::catalog::ImageInput;
use tiller_session::context::estimate_text;

use crate::action::{Action, BackgroundJob, MessageExtra, Submit};
use crate::attach;
use crate::component::{Context, ViewContext};
use crate::composer::Composer;
use crate::composer::commands::is_command;
use crate::composer::compose_purpose::ComposePurpose;
use crate::delivery::{DeliveryTime, LongMessage};
use crate::effect::{Effect, OverlayRequest};
use crate::keymap::table::KeyCommand;
use crate::login::may_hold_key;
use crate::long_message::{apply_long_choice, without_files_of_pastes};
use crate::navigate::Navigate;
use crate::opened_session::InitialPrompt;
use crate::picker::item::{PickerChoice, PickerItem};

/// Milliseconds for which Enter is ignored after the editor's content has changed its purpose: longer than
/// the delay of a key that is already on its way.
const REPURPOSED_MS: u64 = 600;

/// Divisor of the context window: a message above half of it needs confirmation.
const PART_OF_WINDOW: u64 = 2;

/// Maximum length of the text that replaces a message attached as a file, in characters.
const MAX_SHORT: usize = 500;

impl Composer {
    pub(super) fn submit(&mut self, when: DeliveryTime, cx: &mut Context<'_>) {
        if self.repurposed_at.take().is_some_and(|at| cx.now.since_ms(at) < REPURPOSED_MS) {
            return cx.flash("Ignored: your text is now a new message. Press the key again to send it.");
        }
        if let ComposePurpose::SummaryInstruction(entry) = self.purpose.clone() {
            self.purpose = ComposePurpose::Message;
            let instructions = Some(self.editor.take_text()).filter(|text| !text.trim().is_empty());
            // If the summary is stopped or fails, the instruction is still in the history.
            instructions.iter().for_each(|text| _ = self.editor.remember(text));
            let summary = BranchSummary::Made { instructions };
            return cx.push(Action::Navigate(Navigate::ToEntry(entry, summary)));
        }
        if self.editor.expanded().trim().is_empty() {
            return submit_nothing(when, cx);
        }
        if self.lacks_command(cx) || self.withhold_if_mistyped(cx) {
            return;
        }
        match self.length_question(when, cx) {
            Some(question) => cx.push(Effect::Open(question)),
            None => self.send(when, None, cx),
        }
    }

    /// Sends the typed text; `long` selects the way to send a long message.
    pub(crate) fn send(&mut self, when: DeliveryTime, long: Option<LongMessage>, cx: &mut Context<'_>) {
        cx.push(Effect::ClearFlash);
        let (short, typed) = (self.short_text(), self.editor.text());
        let mut prompts = self.editor.take_replaced();
        prompts.push(self.editor.history_text());
        let images = self.editor.images();
        let text = self.editor.take_text();
        self.add_to_history(prompts, cx);
        let mut executed = Context::new(cx.view(), cx.address());
        self.execute(text, when, &mut executed);
        let mut to_model = false;
        for effect in executed.into_effects() {
            let Effect::Perform(_, action) = effect else {
                cx.push(effect);
                continue;
            };
            let action = without_files_of_pastes(apply_long_choice(action, long, &short), &typed);
            to_model |= is_sent_to_model(&action);
            cx.push(with_images(action, &images));
        }
        cx.push(Effect::Sent { to_model });
    }

    /// Sends the prompt of the command line. It is added to the history unless it looks like a command.
    pub(crate) fn send_first_prompt(&mut self, prompt: InitialPrompt, cx: &mut Context<'_>) {
        let InitialPrompt { text, typed, attached, images } = prompt;
        let is_plain = text == typed && attached.is_empty() && images.is_empty();
        if !is_command(&typed, &cx.model.info.commands) {
            self.add_to_history(vec![typed], cx);
        }
        let submit = Submit::Steer(text);
        let action = Action::Submit(match is_plain {
            true => submit,
            false => Submit::WithExtra(Box::new(submit), MessageExtra::Attached(attached)),
        });
        cx.push(with_images(action, &images));
    }

    /// Adds prompts to the history, oldest first, except duplicates and prompts that may contain an API key.
    fn add_to_history(&mut self, mut prompts: Vec<String>, cx: &mut Context<'_>) {
        prompts.retain(|prompt| !may_hold_key(prompt) && self.editor.remember(prompt));
        if !prompts.is_empty() {
            cx.push(Action::Background(BackgroundJob::AppendHistory(prompts)));
        }
    }

    /// Returns drafts that were replaced with a prompt from the history; they are saved in the history at the
    /// end.
    pub(crate) fn replaced_drafts(&mut self) -> Vec<String> {
        let mut drafts = self.editor.take_replaced();
        drafts.retain(|draft| !may_hold_key(draft));
        drafts
    }

    /// Returns true for `!` or `!!` without a command; the text stays in the editor.
    fn lacks_command(&self, cx: &mut Context<'_>) -> bool {
        let text = self.editor.expanded();
        let lacks = matches!(text.trim(), "!" | "!!");
        if lacks {
            cx.flash(format!("Type a command after {}.", text.trim()));
        }
        lacks
    }

    /// Withholds text that is probably sent by mistake and shows the reason. Sending it again unchanged
    /// confirms it.
    fn withhold_if_mistyped(&mut self, cx: &mut Context<'_>) -> bool {
        let text = self.editor.text();
        let reason = self.withhold_reason(cx).filter(|_| self.unconfirmed.as_ref() != Some(&text));
        self.unconfirmed = reason.is_some().then_some(text);
        let is_withheld = reason.is_some();
        reason.into_iter().for_each(|reason| cx.flash(reason));
        is_withheld
    }

    /// Returns the reason to withhold a text: it has images and the model doesn't accept them.
    fn withhold_reason(&self, view: &ViewContext<'_>) -> Option<String> {
        let send = view.key_of(KeyCommand::Send);
        let has_images = !self.editor.images().is_empty()
            || !attach::mentions::mentioned_images(&self.editor.expanded(), view.ui.home.as_deref())
                .is_empty();
        let model = view.model.model_name();
        (has_images && view.model.info.image_input == ImageInput::Unsupported)
            .then(|| format!("{model} doesn't accept images; {send} sends a line of text instead."))
    }

    /// Returns the question about a message that takes more than half of the context window; `None` for a
    /// shorter one.
    fn length_question(&self, when: DeliveryTime, view: &ViewContext<'_>) -> Option<OverlayRequest> {
        let (text, window) = (self.editor.expanded(), view.model.info.context.window);
        let tokens = estimate_text(&text);
        let is_long = window.0 > 0 && tokens.0 > window.0 / PART_OF_WINDOW;
        if !is_long || is_command(&text, &view.model.info.commands) {
            return None;
        }
        let choice = |long| PickerChoice::LongMessage(long, when);
        let items = vec![
            PickerItem::new(
                "attach it as a file, which the model reads in parts",
                choice(LongMessage::AsFile),
            ),
            PickerItem::new("send it anyway", choice(LongMessage::Whole)),
            PickerItem::new("back to the editor", PickerChoice::Nothing),
        ];
        let model = view.model.model_name();
        let title = format!("about {tokens} tokens; the context window of {model} is {window}");
        Some(OverlayRequest::Question { title, items })
    }

    /// Returns the text that replaces a message attached as a file: its placeholders, or its beginning.
    fn short_text(&self) -> String {
        let text = self.editor.text();
        match text.char_indices().nth(MAX_SHORT) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    }
}

/// Handles Enter in an empty editor: delivers a waiting steering message immediately, or takes back an
/// unanswered prompt.
fn submit_nothing(when: DeliveryTime, cx: &mut Context<'_>) {
    if !cx.model.is_working() {
        cx.push(Effect::TakeBackPrompt);
    } else if when != DeliveryTime::AfterRun && cx.model.has_waiting_steering() {
        cx.push(Action::Submit(Submit::DeliverSteeringNow));
    }
}

fn is_sent_to_model(action: &Action) -> bool {
    match action {
        Action::Submit(submit) => !matches!(submit, Submit::Bash(..) | Submit::DeliverSteeringNow),
        _ => false,
    }
}

/// Adds images to a message.
fn with_images(action: Action, images: &[Image]) -> Action {
    match action {
        Action::Submit(
            submit @ (Submit::Steer(_) | Submit::SteerNow(_) | Submit::FollowUp(_) | Submit::WithExtra(..)),
        ) if !images.is_empty() => Action::Submit(Submit::WithImages(Box::new(submit), images.to_vec())),
        action => action,
    }
}
