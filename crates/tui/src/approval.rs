//! A call that waits for the user's word: what is shown of it, how much of that has been on the screen, and which answer is in
//! the making.
//!
//! Nothing is allowed that wasn't seen: the answers that let a call run count only when all of it has been on the screen, here or on a
//! page of its own. `sheet` lays the call out, `keys` says what keys do.

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
pub(super) use keys::words_of;

/// A call that waits for the user's word.
#[derive(Clone, Debug)]
pub(super) struct PendingApproval {
    pub(super) request: ApprovalRequest,
    /// Since when it asks, as far as is known here.
    pub(super) since: UnixMs,
    pub(super) ready: Ready,
    /// The letter that answers it when no other key follows at once.
    answer: Option<HeldKey>,
    pub(super) mode: PanelMode,
    /// A reason that was begun, and put aside.
    reason: String,
    pub(super) sheet: CallDetail,
}

/// From when on keys answer a call that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ready {
    /// It came by itself: when it has been on the screen for a moment.
    Noticed(ShownSince),
    /// A key answered the one before, and whoever pressed it looks: when it is drawn.
    Drawn,
    /// It was drawn for somebody who looks. Allowed it can be when it has been there for a moment.
    Now(ShownSince),
}

/// What the user is about to do about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PanelMode {
    /// Nothing, or to take the answer that the arrows chose.
    Choosing(Option<ApprovalAnswer>),
    /// To tell the model why not.
    Reasoning,
}

/// What may be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ApprovalAnswer {
    Once,
    Session,
    Deny,
    DenyWithWord,
}

impl ApprovalAnswer {
    /// The action of the key that gives the answer.
    fn command(self) -> KeyCommand {
        match self {
            Self::Once => KeyCommand::Allow,
            Self::Session => KeyCommand::AllowSession,
            Self::Deny => KeyCommand::Deny,
            Self::DenyWithWord => KeyCommand::DenyWithWord,
        }
    }

    /// Whether the call isn't made then.
    pub(super) fn denies(self) -> bool {
        matches!(self, Self::Deny | Self::DenyWithWord)
    }
}

/// The call in full, laid out.
#[derive(Clone, Debug, Default)]
pub(super) struct CallDetail {
    width: usize,
    /// How often code had been told apart.
    code_told: u64,
    pub(super) lines: Vec<Line>,
    /// The first line on the screen.
    pub(super) top: usize,
    /// Which lines have been on the screen, here or on a page of its own.
    pub(super) seen: SeenRows,
    /// Since when all of them have.
    whole_since: Option<ShownSince>,
}

impl PendingApproval {
    pub(super) fn new(request: ApprovalRequest, since: UnixMs) -> Self {
        Self {
            request,
            since,
            ready: Ready::Noticed(ShownSince::at(since)),
            answer: None,
            mode: PanelMode::Choosing(None),
            reason: String::new(),
            sheet: CallDetail::default(),
        }
    }

    /// What may be answered. Without a rule there is no "this session".
    pub(super) fn answers(&self) -> Vec<ApprovalAnswer> {
        let all = [
            ApprovalAnswer::Once,
            ApprovalAnswer::Session,
            ApprovalAnswer::Deny,
            ApprovalAnswer::DenyWithWord,
        ];
        all.into_iter()
            .filter(|answer| *answer != ApprovalAnswer::Session || !self.request.rule.is_empty())
            .collect()
    }

    /// Whether keys answer it by now.
    fn is_ready(&self, now: UnixMs) -> bool {
        match self.ready {
            Ready::Noticed(since) => since.is_noticed(now),
            Ready::Drawn => false,
            Ready::Now(_) => true,
        }
    }

    /// Whether it can be allowed by now, which takes longer than to be answered: nobody reads a call at once.
    fn is_readable(&self, now: UnixMs) -> bool {
        match self.ready {
            Ready::Noticed(since) | Ready::Now(since) => since.is_noticed(now),
            Ready::Drawn => false,
        }
    }

    /// Whether an answer is chosen, or a reason being written.
    pub(super) fn is_half_answered(&self) -> bool {
        self.mode != PanelMode::Choosing(None)
    }

    /// Whether the editor's text is the reason of a no.
    pub(super) fn is_reasoning(&self) -> bool {
        self.mode == PanelMode::Reasoning
    }

    /// Whether all of the call has been on the screen.
    pub(super) fn is_seen(&self) -> bool {
        self.sheet.seen.is_all()
    }

    /// Whether whoever presses a key by now can have seen all of the call, and not only the part that was there before.
    fn is_seen_for_a_moment(&self, now: UnixMs) -> bool {
        self.sheet.whole_since.is_some_and(|since| since.is_noticed(now))
    }
}

/// The page that shows this call.
fn page_of<'a>(popups: &'a mut [Overlay], call: &CallId) -> Option<&'a mut Pager> {
    let shows = |popup: &&mut Overlay| popup.call() == Some(call);
    match popups.iter_mut().find(shows)? {
        Overlay::Read(page) => Some(page),
        Overlay::Pick(_) | Overlay::Tree(_) => None,
    }
}

impl CallDetail {
    /// The lines as they stand on a page of their own.
    fn bare(&self) -> Vec<Line> {
        self.lines.iter().map(detail::bare).collect()
    }

    /// Moves by so many lines of which `rows` are on the screen at once, stopping at the ends.
    fn step(&mut self, by: isize, rows: usize) {
        let last = self.lines.len().saturating_sub(rows);
        self.top = self.top.saturating_add_signed(by).min(last);
    }

    /// Notes that `rows` lines are on the screen, and so many of its end.
    fn shows(&mut self, rows: usize, end: usize) {
        self.seen.note(self.top..self.top + rows);
        self.seen.note(self.lines.len().saturating_sub(end)..self.lines.len());
    }
}

impl App {
    /// Lays the call out that asks, unless it is already.
    pub(super) fn look_at_question(&mut self) {
        let (width, code_told) = (usize::from(self.place.size.0), render::code_told());
        let Some(asked) = self.work.approvals.first_mut() else { return };
        let place = detail::CallLocation {
            cwd: &self.place.cwd,
            home: self.place.home.as_deref(),
            manner: self.place.manner,
        };
        if asked.sheet.width != width || asked.sheet.lines.is_empty() {
            // What was seen at another width was seen.
            let was_seen = asked.is_seen() && !asked.sheet.lines.is_empty();
            let lines = detail::lines(&asked.request, &place, width);
            let seen = if was_seen { SeenRows::all_of(lines.len()) } else { SeenRows::none_of(lines.len()) };
            let whole_since = asked.sheet.whole_since;
            asked.sheet = CallDetail { width, code_told, top: 0, seen, lines, whole_since };
            if let Some(page) = page_of(&mut self.popups, &asked.request.tool_call_id) {
                page.renew(asked.sheet.bare(), asked.sheet.seen.clone());
            }
        } else if asked.sheet.code_told != code_told {
            // The same lines, in other colours.
            asked.sheet.code_told = code_told;
            asked.sheet.lines = detail::lines(&asked.request, &place, width);
        }
        self.lay_out_page();
        let shown = if self.popups.is_empty() { Some(view::question_rows(self)) } else { None };
        let now = self.now;
        let read = self.popups.last().and_then(Overlay::call);
        let Some(asked) = self.work.approvals.first_mut() else { return };
        if let Some((rows, _)) = shown {
            asked.sheet.step(0, rows);
        } else if !asked.sheet.seen.is_any() && read != Some(&asked.request.tool_call_id) {
            // Something lies over it: it hasn't appeared yet.
            asked.ready = Ready::Noticed(ShownSince::at(now));
        }
    }

    /// Notes what of the call that asks the frame shows that is about to be drawn: what keys only passed by was on no screen.
    pub(super) fn question_is_seen(&mut self) {
        let now = self.now;
        if self.popups.is_empty() && !self.work.approvals.is_empty() {
            let (rows, end) = view::question_rows(self);
            self.work.approvals[0].sheet.shows(rows, end);
        } else {
            self.page_is_seen();
        }
        if let Some(asked) = self.work.approvals.first_mut() {
            asked.sheet.whole_since =
                asked.is_seen().then(|| asked.sheet.whole_since.unwrap_or(ShownSince::at(now)));
        }
    }

    /// The same of a page of its own.
    fn page_is_seen(&mut self) {
        self.lay_out_page();
        let Some(Overlay::Read(page)) = self.popups.last_mut() else { return };
        page.is_drawn();
        let asked = self.work.approvals.first_mut();
        let Some(asked) = asked.filter(|asked| page.call() == Some(&asked.request.tool_call_id)) else {
            return;
        };
        if page.is_seen() {
            asked.sheet.seen = SeenRows::all_of(asked.sheet.lines.len());
        } else if page.find().is_none() {
            asked.sheet.seen.take_in(page.seen());
        }
    }

    /// Shows the whole call on a page of its own.
    fn show_whole(&mut self) {
        if let Some(asked) = self.work.approvals.first_mut() {
            let title = format!("{} asks", super::tool_call::one_line(&asked.request.tool_name));
            let lines = asked.sheet.bare();
            let (call, seen) = (asked.request.tool_call_id.clone(), asked.sheet.seen.clone());
            self.popups.push(Overlay::Read(Pager::new(&title, lines).of_call(call, seen)));
        }
    }

    /// The call that asks, if it is what the page on top shows.
    pub(super) fn asked_on_page(&self) -> Option<&PendingApproval> {
        let shown = self.popups.last().and_then(Overlay::call)?;
        self.work.approvals.first().filter(|asked| asked.request.tool_call_id == *shown)
    }

    /// A call asks. If it is one of several, and a key has just answered the one before, whoever pressed it looks.
    pub(super) fn question_comes(&mut self, request: &ApprovalRequest) {
        let mut asked = PendingApproval::new(request.clone(), self.now);
        let answered = self.notes.answered.as_mut().filter(|answered| answered.after == AfterAnswer::Others);
        let is_looking = answered.is_some_and(|answered| {
            answered.after = AfterAnswer::Nothing;
            self.now.since_ms(answered.at) < keys::LOOKING_MS
        });
        let is_looked_at = is_looking && self.popups.is_empty() && !self.is_typing();
        if is_looked_at && self.work.approvals.is_empty() {
            asked.ready = Ready::Drawn;
            self.stale = Dirty::ByUser;
        }
        self.work.approvals.push(asked);
    }

    /// The screen is about to be drawn, and with it the question unless something lies over it.
    pub(super) fn question_is_drawn(&mut self) {
        let asked = self.work.approvals.first_mut().filter(|_| self.popups.is_empty());
        if let Some(asked) = asked.filter(|asked| asked.ready == Ready::Drawn) {
            asked.ready = Ready::Now(ShownSince::at(self.now));
        }
    }

    /// A call asks no longer: it was answered here or elsewhere, or the run is over.
    pub(super) fn question_resolved(&mut self, call: &CallId) {
        let Some(at) = self.work.approvals.iter().position(|asked| asked.request.tool_call_id == *call)
        else {
            return;
        };
        let asked = self.work.approvals.remove(at);
        self.drop_words_about(call);
        if asked.mode == PanelMode::Reasoning && !self.editor.is_empty() {
            self.notes.shifted = Some(self.now);
            self.flash("the call was answered otherwise; what you wrote is a draft now");
        }
        asked.answer.into_iter().for_each(|held| self.keep_letter(held));
        if at == 0 {
            self.next_question();
        }
    }

    /// Says something about the call that asks, for as long as it does.
    fn say_of_call(&mut self, words: impl Into<String>) {
        self.flash(words);
        let call = self.work.approvals.first().map(|asked| asked.request.tool_call_id.clone());
        self.notes.flash_about = call;
    }

    /// Removes the notice about a call that no longer asks.
    fn drop_words_about(&mut self, call: &CallId) {
        if self.notes.flash_about.as_ref() == Some(call) {
            (self.notes.flash, self.notes.flash_about) = (None, None);
        }
    }

    /// Takes what asks as a snapshot tells it. Of what asked before, what was seen and the answer in the making stay.
    pub(super) fn questions_are(&mut self, requests: &[ApprovalRequest]) {
        let before = self.work.approvals.iter().map(|asked| &asked.request);
        let gone = before.filter(|request| !requests.contains(request));
        let gone: Vec<CallId> = gone.map(|request| request.tool_call_id.clone()).collect();
        gone.iter().for_each(|call| self.question_resolved(call));
        let mut before = std::mem::take(&mut self.work.approvals);
        let now = self.now;
        let asked = |request: &ApprovalRequest| match before.iter().position(|one| one.request == *request) {
            Some(at) => before.remove(at),
            None => PendingApproval::new(request.clone(), now),
        };
        self.work.approvals = requests.iter().map(asked).collect();
    }

    /// Another call is the first that asks without a key: none that was meant for the one before answers it.
    fn next_question(&mut self) {
        if let Some(next) = self.work.approvals.first_mut() {
            next.ready = Ready::Noticed(ShownSince::at(self.now));
        }
    }
}
