//! Approval of a tool call: its display, the rows that have been visible, and the answer in progress.
//!
//! A call can be allowed only after all of it has been on the screen, in the panel or on its own page.
//! `detail` lays out the call, `keys` handles keys, `debounce` holds back letters that may not be answers.

mod debounce;
mod detail;
mod keys;

use tiller_core::event::ApprovalRequest;
use tiller_core::id::CallId;
use tiller_core::unit::UnixMs;
use tiller_render::{self as render, Line};

use self::debounce::AfterAnswer;
use super::app::App;
use super::dialog::ShownSince;
use super::frame_pacer::Dirty;
use super::keymap::KeyCommand;
use super::overlay::Overlay;
use super::pager::Pager;
use super::seen_rows::SeenRows;
use super::view;

pub(super) use debounce::{AnsweredCall, HeldKey};
pub(super) use keys::user_reason;

/// A call that waits for the user's approval.
#[derive(Clone, Debug)]
pub(super) struct ApprovalPrompt {
    pub(super) request: ApprovalRequest,
    /// Time of the request, as far as known here.
    pub(super) since: UnixMs,
    pub(super) ready: Ready,
    /// A letter that answers the call unless another key follows at once.
    held_key: Option<HeldKey>,
    pub(super) mode: PanelMode,
    /// An unfinished reason that was put aside.
    reason: String,
    pub(super) detail: CallDetail,
}

/// Time from which keys answer a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ready {
    /// After it has been visible for a moment: it appeared by itself.
    AfterDelay(ShownSince),
    /// When it is drawn: a key just answered the previous call, so the user is looking.
    OnDraw,
    /// Now: it was drawn while the user was looking. Allowing still requires that it was visible for a
    /// moment.
    Visible(ShownSince),
}

/// The state of the approval panel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PanelMode {
    /// No answer, or the one selected with the arrow keys.
    Choosing(Option<ApprovalAnswer>),
    /// The user is writing a reason for the model.
    WritingReason,
}

/// An answer to an approval request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ApprovalAnswer {
    Once,
    Session,
    Deny,
    DenyWithReason,
}

impl ApprovalAnswer {
    /// The command of the key that gives this answer.
    fn command(self) -> KeyCommand {
        match self {
            Self::Once => KeyCommand::Allow,
            Self::Session => KeyCommand::AllowSession,
            Self::Deny => KeyCommand::Deny,
            Self::DenyWithReason => KeyCommand::DenyWithReason,
        }
    }

    pub(super) fn denies(self) -> bool {
        matches!(self, Self::Deny | Self::DenyWithReason)
    }
}

/// The laid-out call.
#[derive(Clone, Debug, Default)]
pub(super) struct CallDetail {
    width: usize,
    /// The highlighting generation of `lines`.
    highlight_generation: u64,
    pub(super) lines: Vec<Line>,
    /// The first visible line.
    pub(super) top: usize,
    /// Lines that have been visible, in the panel or on the call's page.
    pub(super) seen: SeenRows,
    /// Time from which all of them have been visible.
    seen_since: Option<ShownSince>,
}

impl ApprovalPrompt {
    pub(super) fn new(request: ApprovalRequest, since: UnixMs) -> Self {
        Self {
            request,
            since,
            ready: Ready::AfterDelay(ShownSince::at(since)),
            held_key: None,
            mode: PanelMode::Choosing(None),
            reason: String::new(),
            detail: CallDetail::default(),
        }
    }

    /// The possible answers; "this session" requires a rule.
    pub(super) fn answers(&self) -> Vec<ApprovalAnswer> {
        let answers = [
            ApprovalAnswer::Once,
            ApprovalAnswer::Session,
            ApprovalAnswer::Deny,
            ApprovalAnswer::DenyWithReason,
        ];
        answers
            .into_iter()
            .filter(|answer| *answer != ApprovalAnswer::Session || !self.request.rule.is_empty())
            .collect()
    }

    fn is_ready(&self, now: UnixMs) -> bool {
        match self.ready {
            Ready::AfterDelay(since) => since.is_long_enough(now),
            Ready::OnDraw => false,
            Ready::Visible(_) => true,
        }
    }

    /// Reports whether it can be allowed. That takes longer than accepting keys, because a call can't be read
    /// at once.
    fn is_readable(&self, now: UnixMs) -> bool {
        match self.ready {
            Ready::AfterDelay(since) | Ready::Visible(since) => since.is_long_enough(now),
            Ready::OnDraw => false,
        }
    }

    /// Reports whether an answer is selected or a reason being written.
    pub(super) fn has_partial_answer(&self) -> bool {
        self.mode != PanelMode::Choosing(None)
    }

    /// Reports whether the editor holds the reason for a denial.
    pub(super) fn is_writing_reason(&self) -> bool {
        self.mode == PanelMode::WritingReason
    }

    /// Reports whether the whole call has been visible.
    pub(super) fn is_seen(&self) -> bool {
        self.detail.seen.is_all()
    }

    /// Reports whether the whole call, and not only a part, has been visible long enough to be read.
    fn is_seen_long_enough(&self, now: UnixMs) -> bool {
        self.detail.seen_since.is_some_and(|since| since.is_long_enough(now))
    }
}

/// The page that shows this call.
fn pager_of_call<'a>(popups: &'a mut [Overlay], call: &CallId) -> Option<&'a mut Pager> {
    let shows = |popup: &&mut Overlay| popup.call() == Some(call);
    match popups.iter_mut().find(shows)? {
        Overlay::Pager(page) => Some(page),
        Overlay::Picker(_) | Overlay::Tree(_) => None,
    }
}

impl CallDetail {
    /// The lines for the call's own page.
    fn page_lines(&self) -> Vec<Line> {
        self.lines.iter().map(detail::without_bar).collect()
    }

    /// Scrolls by `by` lines within the call; `rows` lines are visible at once.
    fn scroll(&mut self, delta: isize, rows: usize) {
        let last = self.lines.len().saturating_sub(rows);
        self.top = self.top.saturating_add_signed(delta).min(last);
    }

    /// Records that `rows` lines from the top and the last `end` lines are visible.
    fn record_visible(&mut self, rows: usize, end: usize) {
        self.seen.mark(self.top..self.top + rows);
        self.seen.mark(self.lines.len().saturating_sub(end)..self.lines.len());
    }
}

impl App {
    /// Lays out the first pending call if its width or highlighting changed.
    pub(super) fn lay_out_approval(&mut self) {
        let (width, code_told) = (usize::from(self.ui.size.0), render::highlight_generation());
        let Some(pending) = self.model.activity.approvals.first_mut() else { return };
        let context = detail::LayoutContext {
            cwd: &self.ui.cwd,
            home: self.ui.home.as_deref(),
            tools: &self.transcript.context().tools,
            manner: self.ui.render_options,
        };
        if pending.detail.width != width || pending.detail.lines.is_empty() {
            // Rows seen at another width count as seen.
            let was_seen = pending.is_seen() && !pending.detail.lines.is_empty();
            let lines = detail::lines(&pending.request, &context, width);
            let seen = if was_seen { SeenRows::all_seen(lines.len()) } else { SeenRows::unseen(lines.len()) };
            let whole_since = pending.detail.seen_since;
            pending.detail = CallDetail {
                width,
                highlight_generation: code_told,
                top: 0,
                seen,
                lines,
                seen_since: whole_since,
            };
            if let Some(page) = pager_of_call(&mut self.overlays, &pending.request.tool_call_id) {
                page.replace_lines(pending.detail.page_lines(), pending.detail.seen.clone());
            }
        } else if pending.detail.highlight_generation != code_told {
            // Same lines with other colors.
            pending.detail.highlight_generation = code_told;
            pending.detail.lines = detail::lines(&pending.request, &context, width);
        }
        self.lay_out_page();
        let shown = if self.overlays.is_empty() { Some(view::approval_rows(self)) } else { None };
        let now = self.now;
        let read = self.overlays.last().and_then(Overlay::call);
        let Some(pending) = self.model.activity.approvals.first_mut() else { return };
        if let Some((rows, _)) = shown {
            pending.detail.scroll(0, rows);
        } else if !pending.detail.seen.is_any() && read != Some(&pending.request.tool_call_id) {
            // An overlay covers it, so it hasn't appeared yet.
            pending.ready = Ready::AfterDelay(ShownSince::at(now));
        }
    }

    /// Records the rows of the call in the frame that is about to be drawn. Rows that were scrolled past
    /// between two frames don't count.
    pub(super) fn record_approval_rows(&mut self) {
        let now = self.now;
        if self.overlays.is_empty() && !self.model.activity.approvals.is_empty() {
            let (rows, end) = view::approval_rows(self);
            self.model.activity.approvals[0].detail.record_visible(rows, end);
        } else {
            self.record_page_rows();
        }
        if let Some(pending) = self.model.activity.approvals.first_mut() {
            pending.detail.seen_since =
                pending.is_seen().then(|| pending.detail.seen_since.unwrap_or(ShownSince::at(now)));
        }
    }

    /// Records the rows of the call's own page.
    fn record_page_rows(&mut self) {
        self.lay_out_page();
        let Some(Overlay::Pager(page)) = self.overlays.last_mut() else { return };
        page.is_drawn();
        let pending = self.model.activity.approvals.first_mut();
        let Some(pending) = pending.filter(|pending| page.call() == Some(&pending.request.tool_call_id))
        else {
            return;
        };
        if page.is_seen() {
            pending.detail.seen = SeenRows::all_seen(pending.detail.lines.len());
        } else if page.find().is_none() {
            pending.detail.seen.merge(page.seen());
        }
    }

    /// Opens the whole call on a page of its own.
    fn open_call_page(&mut self) {
        if let Some(pending) = self.model.activity.approvals.first_mut() {
            let title = format!("{} needs approval", super::tool_call::one_line(&pending.request.tool_name));
            let lines = pending.detail.page_lines();
            let (call, seen) = (pending.request.tool_call_id.clone(), pending.detail.seen.clone());
            self.overlays.push(Overlay::Pager(Pager::new(&title, lines).for_call(call, seen)));
        }
    }

    /// The first pending call, if the page on top shows it.
    pub(super) fn approval_on_page(&self) -> Option<&ApprovalPrompt> {
        let shown = self.overlays.last().and_then(Overlay::call)?;
        self.model.activity.approvals.first().filter(|pending| pending.request.tool_call_id == *shown)
    }

    /// Adds a pending call. If a key has just answered the previous one of a series, the user is looking.
    pub(super) fn approval_requested(&mut self, request: &ApprovalRequest) {
        let mut pending = ApprovalPrompt::new(request.clone(), self.now);
        let answered =
            self.transient.answered_call.as_mut().filter(|answered| answered.after == AfterAnswer::MoreCalls);
        let is_looking = answered.is_some_and(|answered| {
            answered.after = AfterAnswer::Nothing;
            self.now.since_ms(answered.at) < keys::WATCHING_MS
        });
        let is_looked_at = is_looking && self.overlays.is_empty() && !self.is_typing();
        if is_looked_at && self.model.activity.approvals.is_empty() {
            pending.ready = Ready::OnDraw;
            self.dirty = Dirty::ByUser;
        }
        self.model.activity.approvals.push(pending);
    }

    /// Marks the first pending call as drawn unless an overlay covers it.
    pub(super) fn approval_drawn(&mut self) {
        let pending = self.model.activity.approvals.first_mut().filter(|_| self.overlays.is_empty());
        if let Some(pending) = pending.filter(|pending| pending.ready == Ready::OnDraw) {
            pending.ready = Ready::Visible(ShownSince::at(self.now));
        }
    }

    /// Removes a call that was answered here or elsewhere, or whose run ended.
    pub(super) fn approval_resolved(&mut self, call: &CallId) {
        let Some(at) =
            self.model.activity.approvals.iter().position(|pending| pending.request.tool_call_id == *call)
        else {
            return;
        };
        let pending = self.model.activity.approvals.remove(at);
        self.clear_flash_about(call);
        if pending.mode == PanelMode::WritingReason && !self.editor.is_empty() {
            self.transient.repurposed_at = Some(self.now);
            self.flash("Already answered elsewhere; your text is kept as a draft.");
        }
        pending.held_key.into_iter().for_each(|held| self.keep_as_draft(held));
        if at == 0 {
            self.delay_next_approval();
        }
    }

    /// Shows a flash that disappears with the pending call.
    fn flash_about_call(&mut self, text: impl Into<String>) {
        self.flash(text);
        let call = self.model.activity.approvals.first().map(|pending| pending.request.tool_call_id.clone());
        self.transient.flash_call = call;
    }

    /// Removes the flash about a call that is no longer pending.
    fn clear_flash_about(&mut self, call: &CallId) {
        if self.transient.flash_call.as_ref() == Some(call) {
            (self.transient.flash, self.transient.flash_call) = (None, None);
        }
    }

    /// Replaces the pending calls by those of a snapshot. Calls that stay keep their visible rows and the
    /// answer in progress.
    pub(super) fn set_approvals(&mut self, requests: &[ApprovalRequest]) {
        let before = self.model.activity.approvals.iter().map(|pending| &pending.request);
        let removed = before.filter(|request| !requests.contains(request));
        let removed: Vec<CallId> = removed.map(|request| request.tool_call_id.clone()).collect();
        removed.iter().for_each(|call| self.approval_resolved(call));
        let mut before = std::mem::take(&mut self.model.activity.approvals);
        let now = self.now;
        let pending =
            |request: &ApprovalRequest| match before.iter().position(|pending| pending.request == *request) {
                Some(at) => before.remove(at),
                None => ApprovalPrompt::new(request.clone(), now),
            };
        self.model.activity.approvals = requests.iter().map(pending).collect();
    }

    /// Requires the new first call to be visible for a moment: keys meant for the previous one must not
    /// answer it.
    fn delay_next_approval(&mut self) {
        if let Some(next) = self.model.activity.approvals.first_mut() {
            next.ready = Ready::AfterDelay(ShownSince::at(self.now));
        }
    }
}
