//! Key dispatch of the main screen.
//!
//! Order of the handlers: the top overlay, the transcript search, the queue panel if it has the keys,
//! completion, a focused block, a pending approval (while the editor is empty, so that typed text is never
//! taken for an answer), the screen's bindings, the editor.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};
use tiller_core::message::{Image, ThinkingLevel};
use tiller_core::unit::UnixMs;
use tiller_engine::{ApprovalMode, BranchSummary, CycleDirection};
use tiller_provider::catalog::ImageInput;

use super::attach;
use super::component::Component;
use super::component::ViewContext;
use super::composer::ComposePurpose;
use super::compositor::KeyIntent;
use super::editor::EditCommand;
use super::effect::{Effect, Opening};
use super::keymap::{Context, KeyCommand};
use super::login::may_hold_key;
use super::long_message::{LongMessage, apply_long_choice, without_files_of_pastes};
use super::picker::{ListSource, PromptList};
use super::tree::TreePurpose;
use super::{InitialPrompt, help, list_data};
use crate::action::{
    Action, BackgroundJob, DeliveryTime, LineExtra, ListAction, ListKind, Navigate, SessionEdit, Submit,
    TerminalAction,
};
use crate::app::App;

/// Time for which Enter is ignored after the editor's content changed its purpose, in milliseconds: longer
/// than a key already on its way.
const REPURPOSED_MS: u64 = 600;

/// Maximum time between two presses of Esc that open the tree, in milliseconds.
const TWICE_ESCAPE_MS: u64 = 600;

/// Time after an Esc that stopped a run, or after its repeat, in which Esc does nothing else, in
/// milliseconds: the user may keep pressing it.
const STOPPING_MS: u64 = 1_000;

/// Maximum time between two presses of Ctrl+C that quit, in milliseconds.
const TWICE_INTERRUPT_MS: u64 = 2_000;

/// Maximum number of bytes that fast typing or a slow connection delivers at once; more are a paste.
const FAST_TYPING: usize = 64;

/// A key with another meaning when pressed twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DoubleKey {
    Escape,
    /// Esc that stopped a run, and its repeats; these never open the tree.
    Stopping,
    Interrupt,
    /// The key that cleared the editor. A second press does nothing, but the flash about it also disappears
    /// with the next key.
    Clear,
}

impl App {
    pub(super) fn handle_key(&mut self, key: KeyEvent) -> Vec<Action> {
        if key.kind == KeyEventKind::Release {
            return Vec::new();
        }
        if self.compositor.is_consumed(key, self.now) || self.ignore_queue_key(key) {
            return Vec::new();
        }
        let pressed = self.double_key.take();
        if matches!(pressed, Some((DoubleKey::Interrupt | DoubleKey::Clear, _))) {
            // The flash of the first press applies to this key only.
            self.flash.clear();
        }
        if self.composer.editor.is_empty() {
            self.composer.withheld = None;
        }
        let mut actions = self.defer_unread(KeyIntent::from_key(key));
        let owner = self.compositor.focus_owner(&self.view_context());
        actions.extend(self.dispatch_key(key, pressed));
        let focus = self.focus_state();
        let view = ViewContext { model: &self.model, ui: &self.ui, now: self.now, focus };
        self.compositor.record_consumed(key, owner, &view);
        actions
    }

    /// Passes a key to the handlers in their order.
    fn dispatch_key(&mut self, key: KeyEvent, pressed: Option<(DoubleKey, UnixMs)>) -> Vec<Action> {
        if !self.compositor.is_empty() {
            return self.overlay_key(key).or_else(|| self.call_page_key(key)).unwrap_or_default();
        }
        if let Some(actions) = self.context_key(key).or_else(|| self.screen_key(key, pressed)) {
            return actions;
        }
        if self.composer.editor.key(key, &self.ui.keymap) && !self.composer.editor.is_empty() {
            // Typing ends the block's focus, which would take the first letters of the next message.
            self.transcript.unfocus();
        }
        Vec::new()
    }

    /// Passes a key to the handlers before the screen's bindings and the editor.
    fn context_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        if self.transcript.is_searching() {
            return self.transcript_key(key);
        }
        if self.queue.has_keys() {
            return self.queue_key(key);
        }
        self.completion_key(key).or_else(|| self.key_after_completion(key))
    }

    /// Passes a key to the handlers after completion.
    fn key_after_completion(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        let handled = self.queue_key(key).or_else(|| self.transcript_key(key));
        handled.or_else(|| self.approval_key(key)).or_else(|| self.reason_key(key))
    }

    /// Offers a key to the search bar or the focused block.
    fn transcript_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        self.offer_transcript(|pane, cx| pane.handle(key, cx))
    }

    /// Sends the typed text, like Enter without completion.
    pub(super) fn send_typed(&mut self) -> Vec<Action> {
        let key = KeyEvent::from(KeyCode::Enter);
        let sent = self.key_after_completion(key).or_else(|| self.screen_key(key, None));
        sent.unwrap_or_default()
    }

    /// Handles characters that arrived at once, each as if typed. Where they can only be text they are inserted
    /// together: many of them, and any that answer a pending call, because an answer is a single key.
    pub(super) fn handle_text(&mut self, text: &str) -> Vec<Action> {
        let mut actions = Vec::new();
        self.with_transcript(|pane, cx| pane.unfocus_for(text, cx));
        for (at, c) in text.char_indices() {
            let key = KeyEvent::from(KeyCode::Char(c));
            let is_elsewhere =
                !self.compositor.is_empty() || self.queue.has_keys() || self.transcript.is_searching();
            let is_text = match self.model.activity.approvals.is_empty() {
                true => text.len() > FAST_TYPING && !self.composer.editor.is_empty(),
                false => text.chars().nth(1).is_some() && !self.compositor.is_consumed(key, self.now),
            };
            if is_text && !is_elsewhere {
                self.double_key = None;
                self.composer.editor.insert(&text[at..]);
                break;
            }
            actions.extend(self.handle_key(key));
        }
        actions
    }

    fn screen_key(&mut self, key: KeyEvent, pressed: Option<(DoubleKey, UnixMs)>) -> Option<Vec<Action>> {
        let command = self.ui.keymap.command(Context::Main, key)?;
        let at_rest = self.composer.editor.is_empty();
        Some(match command {
            KeyCommand::Send => self.enter(),
            KeyCommand::FollowUp => self.submit(DeliveryTime::AfterRun),
            KeyCommand::SteerNow => self.submit(DeliveryTime::Now),
            KeyCommand::Newline => self.newline(),
            KeyCommand::Stop => self.escape(pressed),
            KeyCommand::Clear => self.interrupt(pressed),
            KeyCommand::Quit if at_rest && !self.model.is_working() => {
                vec![Action::Terminal(TerminalAction::Quit)]
            }
            KeyCommand::Quit if at_rest => self.flash_how_to_quit(),
            KeyCommand::EditQueue => self.enter_queue(),
            KeyCommand::PickModel => self.apply(Effect::Open(Opening::list(ListKind::Models))),
            KeyCommand::NextModel => vec![Action::Edit(SessionEdit::CycleModel(CycleDirection::Forward))],
            KeyCommand::PreviousModel => vec![Action::Edit(SessionEdit::CycleModel(CycleDirection::Back))],
            KeyCommand::NextThinking => self.next_thinking(),
            KeyCommand::NextApproval => self.next_approval(),
            KeyCommand::SearchHistory => self.search_history(),
            KeyCommand::EditElsewhere => {
                vec![Action::Terminal(TerminalAction::EditExternally(self.composer.editor.expanded()))]
            }
            KeyCommand::PasteImage => vec![Action::Background(BackgroundJob::PasteImage)],
            KeyCommand::Suspend => vec![Action::Terminal(TerminalAction::Suspend)],
            KeyCommand::Help if at_rest => {
                let lines = help::page(&self.ui.keymap, &self.model.info.commands);
                self.apply(Effect::Open(Opening::Help { title: "help".to_owned(), lines }))
            }
            command => return self.offer_transcript(|pane, cx| pane.command(command, cx)),
        })
    }

    fn search_history(&mut self) -> Vec<Action> {
        let items = list_data::prompts(self.composer.editor.history());
        let (source, title) = (&PromptList, PromptList.title().to_owned());
        self.apply(Effect::Open(Opening::Items { source, title, items, selected: 0 }))
    }

    fn newline(&mut self) -> Vec<Action> {
        self.composer.editor.newline();
        Vec::new()
    }

    pub(super) fn enter(&mut self) -> Vec<Action> {
        if self.composer.editor.continue_line() {
            return Vec::new();
        }
        self.submit(DeliveryTime::NextStep)
    }

    fn submit(&mut self, when: DeliveryTime) -> Vec<Action> {
        if self.composer.repurposed_at.take().is_some_and(|at| self.now.since_ms(at) < REPURPOSED_MS) {
            self.flash("Your text is a message of its own now. Press the key again to send it.");
            return Vec::new();
        }
        if let ComposePurpose::SummaryInstruction(entry) = self.composer.purpose.clone() {
            self.composer.purpose = ComposePurpose::Message;
            let instructions =
                Some(self.composer.editor.take_text()).filter(|words| !words.trim().is_empty());
            // If the summary is stopped or fails, the instruction is still in the history.
            instructions.iter().for_each(|words| _ = self.composer.editor.remember(words));
            return vec![Action::Navigate(Navigate::ToEntry(entry, BranchSummary::Made { instructions }))];
        }
        if self.composer.editor.expanded().trim().is_empty() {
            if let Some(action) = self.transcript.take_back_prompt(&self.view_context()) {
                return vec![action];
            }
            let hurries = when != DeliveryTime::AfterRun && self.model.has_waiting_steering();
            return if hurries { vec![Action::Submit(Submit::DeliverSteeringNow)] } else { Vec::new() };
        }
        if self.lacks_command() || self.withhold() {
            return Vec::new();
        }
        if let Some(question) = self.length_dialog(when) {
            return self.apply(Effect::Open(question));
        }
        self.send(when, None)
    }

    /// Sends the typed text; `long` is the way to send a long message.
    pub(super) fn send(&mut self, when: DeliveryTime, long: Option<LongMessage>) -> Vec<Action> {
        self.flash.clear();
        self.transcript.follow();
        self.transcript.unfocus();
        let (short, typed) = (self.short_text(), self.composer.editor.text());
        let mut prompts = self.composer.editor.take_replaced();
        prompts.push(self.composer.editor.history_text());
        let pictures = self.composer.editor.images();
        let text = self.composer.editor.take_text();
        let mut actions: Vec<Action> = self.add_to_history(prompts).into_iter().collect();
        let executed =
            self.execute(text, when).into_iter().map(|action| apply_long_choice(action, long, &short));
        let executed = executed.map(|action| without_files_of_pastes(action, &typed));
        let executed = executed.map(|action| with_images(action, &pictures));
        actions.extend(executed);
        if actions.iter().any(goes_to_the_model) {
            self.flash_command_runs();
        }
        actions
    }

    /// Sends the prompt of the command line. It is added to the history unless it looks like a command.
    pub(super) fn send_first_prompt(&mut self, prompt: InitialPrompt) -> Vec<Action> {
        let InitialPrompt { text, typed, attached } = prompt;
        let is_said = !self.is_command(&typed);
        let is_plain = text == typed && attached.is_empty();
        let submit = Submit::Steer(text);
        let submit = if is_plain {
            submit
        } else {
            Submit::WithExtra(Box::new(submit), LineExtra::Attached(attached))
        };
        let history = if is_said { self.add_to_history(vec![typed]) } else { None };
        history.into_iter().chain([Action::Submit(submit)]).collect()
    }

    /// Adds prompts to the history, oldest first, except repeats and prompts that may contain an API key.
    fn add_to_history(&mut self, mut prompts: Vec<String>) -> Option<Action> {
        prompts.retain(|prompt| !may_hold_key(prompt) && self.composer.editor.remember(prompt));
        (!prompts.is_empty()).then_some(Action::Background(BackgroundJob::AppendHistory(prompts)))
    }

    /// Drafts that were replaced with a prompt of the history; saved in the history at the end.
    pub(super) fn replaced_drafts(&mut self) -> Vec<String> {
        let mut drafts = self.composer.editor.take_replaced();
        drafts.retain(|draft| !may_hold_key(draft));
        drafts
    }

    /// Checks for `!` or `!!` without a command; the text stays in the editor.
    fn lacks_command(&mut self) -> bool {
        let text = self.composer.editor.expanded();
        let wants = matches!(text.trim(), "!" | "!!");
        if wants {
            self.flash(format!("Type a command after {}.", text.trim()));
        }
        wants
    }

    /// Withholds text that is probably sent by mistake and shows why; sent again unchanged it goes out.
    fn withhold(&mut self) -> bool {
        let text = self.composer.editor.text();
        let reason = self.withhold_reason().filter(|_| self.composer.withheld.as_ref() != Some(&text));
        self.composer.withheld = reason.is_some().then_some(text);
        let is_withheld = reason.is_some();
        reason.into_iter().for_each(|reason| self.flash(reason));
        is_withheld
    }

    /// The reason to withhold a text: it has images and the model takes none.
    fn withhold_reason(&self) -> Option<String> {
        let send = self.ui.keymap.key_of(KeyCommand::Send);
        let shows = !self.composer.editor.images().is_empty()
            || !attach::mentioned_images(&self.composer.editor.expanded(), self.ui.home.as_deref())
                .is_empty();
        let model = self.model.model_name();
        (shows && self.model.info.image_input == ImageInput::Unsupported)
            .then(|| format!("{model} takes no images; {send} sends a line of text instead."))
    }

    fn escape(&mut self, pressed: Option<(DoubleKey, UnixMs)>) -> Vec<Action> {
        if let ComposePurpose::SummaryInstruction(_) = self.composer.purpose {
            self.composer.purpose = ComposePurpose::Message;
            self.flash("Canceled: you stay on this branch.");
            return Vec::new();
        }
        let is_working = self.model.is_stoppable();
        if is_working || self.is_second(pressed, DoubleKey::Stopping, STOPPING_MS) {
            self.double_key = Some((DoubleKey::Stopping, self.now));
            return if is_working { vec![Action::Abort] } else { Vec::new() };
        }
        if !self.composer.editor.is_empty() {
            return Vec::new();
        }
        if self.is_second(pressed, DoubleKey::Escape, TWICE_ESCAPE_MS) {
            return self.apply(Effect::Open(Opening::Tree(TreePurpose::Go)));
        }
        self.double_key = Some((DoubleKey::Escape, self.now));
        Vec::new()
    }

    /// Clears the editor; if it is empty, stops the agent; if nothing runs, quits on the second press.
    fn interrupt(&mut self, pressed: Option<(DoubleKey, UnixMs)>) -> Vec<Action> {
        let is_second = self.is_second(pressed, DoubleKey::Interrupt, TWICE_INTERRUPT_MS);
        if !self.composer.editor.is_empty() {
            self.composer.editor.clear();
            let undo = self.ui.keymap.key_of(KeyCommand::Edit(EditCommand::Undo));
            self.flash(format!("Cleared; {undo} restores it."));
            // Quitting takes two presses with an empty editor.
            self.double_key = Some((DoubleKey::Clear, self.now));
            return Vec::new();
        } else if self.model.is_stoppable() {
            return vec![Action::Abort];
        } else if is_second {
            return vec![Action::Terminal(TerminalAction::Quit)];
        } else {
            let clear = self.ui.keymap.key_of(KeyCommand::Clear);
            self.flash(format!("Press {clear} again to quit."));
        }
        self.double_key = Some((DoubleKey::Interrupt, self.now));
        Vec::new()
    }

    /// Tells how to quit: the quit key does nothing during a run, so that no run is stopped by accident.
    fn flash_how_to_quit(&mut self) -> Vec<Action> {
        let key = |command| self.ui.keymap.key_of(command);
        let (stop, quit) = (key(KeyCommand::Stop), key(KeyCommand::Quit));
        self.flash(format!("Still running: {stop} stops it, then {quit} quits."));
        Vec::new()
    }

    fn is_second(&self, pressed: Option<(DoubleKey, UnixMs)>, key: DoubleKey, within_ms: u64) -> bool {
        pressed.is_some_and(|(before, at)| before == key && self.now.since_ms(at) <= within_ms)
    }

    fn next_thinking(&mut self) -> Vec<Action> {
        let at = ThinkingLevel::ALL.iter().position(|level| *level == self.model.info.thinking).unwrap_or(0);
        vec![Action::Edit(SessionEdit::SetThinking(ThinkingLevel::ALL[(at + 1) % ThinkingLevel::ALL.len()]))]
    }

    fn next_approval(&mut self) -> Vec<Action> {
        let modes = ApprovalMode::ALL;
        let at = modes.iter().position(|mode| mode.name() == self.model.info.approval);
        let next = modes[at.map_or(0, |at| (at + 1) % modes.len())];
        vec![Action::List(ListAction::SetApproval(next))]
    }

    /// Offers a key that the page of a pending call ignored to the approval panel.
    fn call_page_key(&mut self, key: KeyEvent) -> Option<Vec<Action>> {
        if self.focus_state().is_on_call_page { self.approval_key(key) } else { None }
    }
}

fn goes_to_the_model(action: &Action) -> bool {
    match action {
        Action::Submit(say) => !matches!(say, Submit::Bash(..) | Submit::DeliverSteeringNow),
        _ => false,
    }
}

/// Adds images to a message.
fn with_images(action: Action, pictures: &[Image]) -> Action {
    match action {
        Action::Submit(
            say @ (Submit::Steer(_) | Submit::SteerNow(_) | Submit::FollowUp(_) | Submit::WithExtra(..)),
        ) if !pictures.is_empty() => Action::Submit(Submit::WithImages(Box::new(say), pictures.to_vec())),
        action => action,
    }
}
