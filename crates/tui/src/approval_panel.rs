//! The approval panel: shows the first pending call above the editor or on a separate page, and handles its
//! answer.
//!
//! The rule for keys: **an answer counts while the editor is empty and the request has been visible for 0.4
//! s; a call longer than its panel can be allowed only after it was opened.** Letters with other meanings go
//! into the editor, so a message can be typed at any time. Text that arrives in one read (a paste, fast
//! typing) isn't an answer.

pub(crate) mod answer;
mod call_lines;
pub(crate) mod decision;
pub(crate) mod view;

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tiller_core::event::{ApprovalRequest, Decision};
use tiller_core::id::CallId;
use tiller_render::Line;

use crate::approval_panel::answer::ApprovalAnswer;
use crate::approval_panel::call_lines::LayoutContext;
use crate::approval_panel::decision::decide;
use crate::component::{Component, Context, Outcome, UiEvent, ViewContext};
use crate::denial::denial_reason;
use crate::effect::{Effect, FlashText, OverlayRequest};
use crate::keymap::chord::Chord;
use crate::keymap::table::{KeyCommand, KeyContext};
use crate::pattern_subject::PatternSubject;
use crate::shown_since::ShownSince;
use crate::text::one_line;

/// The state of the panel for the first pending call.
#[derive(Debug, Default)]
pub(crate) struct ApprovalPanel {
    call: Option<CallId>,
    /// Time since when the call has been visible; `None` while an overlay covers it.
    visible_since: Option<ShownSince>,
    /// The answer selected with the arrow keys.
    selected: Option<ApprovalAnswer>,
    /// True once the call was opened on its page.
    is_opened: bool,
    /// True if all lines of the call are in the panel.
    is_whole: bool,
    lines: CallLines,
}

/// The laid-out call.
#[derive(Debug, Default)]
struct CallLines {
    width: usize,
    highlight_generation: u64,
    lines: Vec<Line>,
    /// The first visible line, and the number of visible lines.
    top: usize,
    rows: usize,
}

impl Component for ApprovalPanel {
    fn handle(&mut self, event: &UiEvent<'_>, cx: &mut Context<'_>) -> Outcome {
        let Some(request) = first_request(cx) else { return Outcome::Ignored };
        match *event {
            UiEvent::Key(key) => self.handle_key(key, request, cx),
            UiEvent::Text(text) => {
                cx.push(Effect::InsertText(text.to_owned()));
                Outcome::Consumed
            }
            UiEvent::Paste(_) | UiEvent::Mouse(_) => Outcome::Ignored,
        }
    }

    fn refresh(&mut self, cx: &mut Context<'_>) {
        let Some(request) = first_request(cx) else { return *self = Self::default() };
        if self.call.as_ref() != Some(&request.tool_call_id) {
            *self = Self { call: Some(request.tool_call_id.clone()), ..Self::default() };
        }
        let is_visible = !cx.focus.is_covered || cx.focus.is_on_call_page;
        self.visible_since = is_visible.then(|| self.visible_since.unwrap_or_else(|| ShownSince::at(cx.now)));
        self.lay_out_lines(request, cx);
    }

    fn lay_out(&mut self, area: Rect, view: &ViewContext<'_>) {
        let rows = self.body_rows(usize::from(area.height), view);
        self.lines.rows = rows;
        self.is_whole = !self.lines.lines.is_empty() && rows >= self.lines.lines.len();
        self.lines.scroll(0);
    }

    fn render(&self, area: Rect, buffer: &mut Buffer, view: &ViewContext<'_>) {
        crate::draw::lines(&self.rows(usize::from(area.height), view), area, buffer, &view.ui.theme);
    }
}

impl ApprovalPanel {
    fn handle_key(&mut self, key: KeyEvent, request: &ApprovalRequest, cx: &mut Context<'_>) -> Outcome {
        if cx.focus.is_writing_reason {
            return Outcome::Ignored;
        }
        let Some(command) = self.command(key, request, cx) else {
            return self.handle_enter_alone(key, request, cx);
        };
        if let KeyCommand::CallUp | KeyCommand::CallDown = command {
            self.scroll(command);
        } else if !cx.focus.is_editor_empty {
            return Outcome::Ignored;
        } else if !self.visible_since.is_some_and(|since| since.is_long_enough(cx.now)) {
            flash_about(
                request,
                format!("Ignored: pressed too soon. Press {} again.", Chord::from_event(key)),
                cx,
            );
        } else {
            self.perform(command, request, cx);
        }
        Outcome::Consumed
    }

    /// Returns true if an answer is selected.
    pub(crate) fn has_selection(&self) -> bool {
        self.selected.is_some()
    }

    /// Returns true if the call can be allowed: all of it is in the panel, or it was opened.
    fn is_shown_whole(&self) -> bool {
        self.is_whole || self.is_opened
    }

    fn lay_out_lines(&mut self, request: &ApprovalRequest, cx: &mut Context<'_>) {
        let (width, generation) = (usize::from(cx.ui.size.0), cx.ui.highlight_generation());
        let is_wider = self.lines.width != width || self.lines.lines.is_empty();
        if !is_wider && self.lines.highlight_generation == generation {
            return;
        }
        let context = LayoutContext {
            cwd: request.cwd.as_deref().unwrap_or(&cx.ui.cwd),
            home: cx.ui.home.as_deref(),
            tools: &cx.model.info.tools,
            options: cx.ui.render_options.clone(),
        };
        let lines = call_lines::lines(request, &context, width);
        let (top, rows) = if is_wider { (0, 0) } else { (self.lines.top, self.lines.rows) };
        self.lines = CallLines { width, highlight_generation: generation, lines, top, rows };
        if is_wider {
            let (call, lines) = (request.tool_call_id.clone(), self.lines.for_page());
            cx.push(Effect::UpdateCallPage { call, lines });
        }
    }

    /// Returns the command of a key. Digits select the answers in the displayed order, as in other agents.
    /// Enter and Esc have a meaning only while an answer is selected.
    fn command(&self, key: KeyEvent, request: &ApprovalRequest, cx: &Context<'_>) -> Option<KeyCommand> {
        let bound = cx.ui.keymap.command(KeyContext::Approval, key);
        match bound.or_else(|| numbered_answer(key, request))? {
            KeyCommand::ConfirmAnswer | KeyCommand::ClearAnswer if self.selected.is_none() => None,
            KeyCommand::AllowSession if request.rule.is_empty() => None,
            KeyCommand::AllowAlways if request.proposed.is_none() => None,
            KeyCommand::ShowCall if cx.focus.is_on_call_page => None,
            command => Some(command),
        }
    }

    /// Shows the answer keys when Enter is pressed without a selected answer.
    fn handle_enter_alone(&self, key: KeyEvent, request: &ApprovalRequest, cx: &mut Context<'_>) -> Outcome {
        let is_enter = key.code == KeyCode::Enter && key.modifiers.is_empty();
        if !is_enter || !cx.focus.is_editor_empty {
            return Outcome::Ignored;
        }
        let [allow, deny, reason] = [KeyCommand::Allow, KeyCommand::Deny, KeyCommand::DenyWithReason]
            .map(|command| cx.key_of(command));
        let text = format!("Press {allow} to allow, {deny} to deny, {reason} to deny with a reason.");
        flash_about(request, text, cx);
        Outcome::Consumed
    }

    fn perform(&mut self, command: KeyCommand, request: &ApprovalRequest, cx: &mut Context<'_>) {
        match command {
            KeyCommand::Allow => self.answer(ApprovalAnswer::Once, request, cx),
            KeyCommand::AllowSession => self.answer(ApprovalAnswer::Session, request, cx),
            KeyCommand::AllowAlways => self.answer(ApprovalAnswer::Always, request, cx),
            KeyCommand::Deny => self.answer(ApprovalAnswer::Deny, request, cx),
            KeyCommand::DenyWithReason => self.answer(ApprovalAnswer::DenyWithReason, request, cx),
            KeyCommand::ConfirmAnswer => {
                self.selected.into_iter().for_each(|answer| self.answer(answer, request, cx));
            }
            KeyCommand::NextAnswer => self.select(1, request),
            KeyCommand::PreviousAnswer => self.select(-1, request),
            KeyCommand::ClearAnswer => self.selected = None,
            KeyCommand::ShowCall => self.open_page(request, cx),
            _ => {}
        }
    }

    fn answer(&self, answer: ApprovalAnswer, request: &ApprovalRequest, cx: &mut Context<'_>) {
        if !answer.denies() && !self.is_shown_whole() {
            let key = cx.key_of(KeyCommand::ShowCall);
            return flash_about(
                request,
                format!("The call is longer than its panel; {key} shows all of it."),
                cx,
            );
        }
        match answer {
            ApprovalAnswer::Once => decide(request, Decision::Once, cx),
            ApprovalAnswer::Session => decide(request, Decision::Session, cx),
            ApprovalAnswer::Always => {
                let call = request.tool_call_id.clone();
                let opening = request.proposed.clone().map(|rules| {
                    let subject = PatternSubject::find(request, &rules);
                    OverlayRequest::RuleForm { call, rules, subject }
                });
                opening.into_iter().for_each(|form| cx.push(Effect::Open(form)));
            }
            ApprovalAnswer::Deny => decide(request, Decision::Deny { reason: denial_reason("") }, cx),
            ApprovalAnswer::DenyWithReason => {
                cx.push(Effect::CloseCallPage(request.tool_call_id.clone()));
                cx.push(Effect::WriteReason(request.tool_call_id.clone()));
            }
        }
    }

    /// Selects the next or previous answer; the first key selects the first or last.
    fn select(&mut self, delta: isize, request: &ApprovalRequest) {
        let answers = ApprovalAnswer::possible(request);
        let selected =
            self.selected.and_then(|selected| answers.iter().position(|answer| *answer == selected));
        let at = match selected {
            Some(at) => at.saturating_add_signed(delta).min(answers.len() - 1),
            None if delta > 0 => 0,
            None => answers.len() - 1,
        };
        self.selected = Some(answers[at]);
    }

    fn open_page(&mut self, request: &ApprovalRequest, cx: &mut Context<'_>) {
        self.is_opened = true;
        let title = format!("{} needs approval", one_line(&request.tool_name));
        let (call, lines) = (request.tool_call_id.clone(), self.lines.for_page());
        cx.push(Effect::Open(OverlayRequest::CallPage { call, title, lines }));
    }

    /// Scrolls by pages within the panel; one line overlaps, for orientation.
    fn scroll(&mut self, command: KeyCommand) {
        let page = isize::try_from(self.lines.rows.saturating_sub(1).max(1)).unwrap_or(1);
        self.lines.scroll(if command == KeyCommand::CallUp { -page } else { page });
    }
}

impl CallLines {
    /// Returns the lines for the call's page.
    fn for_page(&self) -> Vec<Line> {
        self.lines.iter().map(call_lines::without_bar).collect()
    }

    fn scroll(&mut self, delta: isize) {
        let last = self.lines.len().saturating_sub(self.rows);
        self.top = self.top.saturating_add_signed(delta).min(last);
    }
}

fn first_request<'a>(view: &ViewContext<'a>) -> Option<&'a ApprovalRequest> {
    view.model.activity.approvals.first().map(|pending| &pending.request)
}

/// Returns the answer at the position of a digit key.
fn numbered_answer(key: KeyEvent, request: &ApprovalRequest) -> Option<KeyCommand> {
    let KeyCode::Char(digit) = key.code else { return None };
    let at = usize::try_from(digit.to_digit(10)?).ok()?.checked_sub(1)?;
    let answers = ApprovalAnswer::possible(request);
    answers.get(at).filter(|_| key.modifiers.is_empty()).map(|answer| answer.command())
}

/// Shows a message that disappears with the pending call.
fn flash_about(request: &ApprovalRequest, text: String, cx: &mut Context<'_>) {
    cx.push(Effect::Flash(FlashText { text, call: Some(request.tool_call_id.clone()) }));
}

#[cfg(test)]
pub(crate) mod tests;
