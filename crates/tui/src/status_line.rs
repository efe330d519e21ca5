//! The status line between transcript and editor: the search bar, a flash, a hint, or the agent's activity.

use tiller_core::event::CompactionReason;
use tiller_core::message::split_advice;
use tiller_core::unit::{Tokens, UnixMs};
use tiller_engine::{RetryAnnouncement, SummaryInProgress, SummarySubject};
use tiller_render::{BreakMode, Indent, Line, Role, Span, truncate_to, wrap};

use crate::block::BlockKind;
use crate::component::ViewContext;
use crate::keymap::table::KeyCommand;
use crate::layout::{MIN_SPACED_HEIGHT, limit_rows, spinner};
use crate::text::{one_line, short_duration};

/// Maximum rows of a flash on a screen that isn't small.
const FLASH_ROWS: usize = 3;

/// The content of the status line besides the activity.
#[derive(Debug)]
pub(crate) struct StatusLine<'a> {
    pub(crate) search: Option<Line>,
    pub(crate) flash: Option<&'a str>,
    pub(crate) hint: Option<Line>,
    pub(crate) arriving: Option<&'a BlockKind>,
}

impl StatusLine<'_> {
    /// Returns the search bar, the flash, a hint or the activity; empty if there is none. Only a flash takes
    /// more than one line.
    pub(crate) fn lines(self, view: &ViewContext<'_>) -> Vec<Line> {
        let Self { search, flash: text, hint, arriving } = self;
        match text {
            Some(text) if search.is_none() => flash(view, text, arriving),
            _ => search.or(hint).or_else(|| lasting(view, arriving)).into_iter().collect(),
        }
    }
}

/// Returns the activity, with the keys that apply to it.
fn lasting(view: &ViewContext<'_>, arriving: Option<&BlockKind>) -> Option<Line> {
    if let Some(since) = view.model.activity.opening_since {
        return opening(view, since);
    }
    let Some(mut spans) = activity(view, arriving) else { return background_job(view) };
    // While another panel has the keys, Esc and Enter have other meanings.
    if view.focus.is_in_queue || view.focus.is_writing_reason || view.focus.is_choosing_answer {
        return Some(spans.into());
    }
    let steerable = view.model.activity.running_since.is_some() && view.model.activity.approvals.is_empty();
    let used: usize = spans.iter().map(Span::width).sum();
    let stops = format!(" · {} stops", view.key_of(KeyCommand::Stop));
    let send = view.key_of(KeyCommand::Send);
    let hints = match view.model.has_waiting_steering() && view.focus.is_editor_empty {
        true => format!(" · {send} sends the queued message now"),
        false => format!(" · {send} steers · {} queues", view.key_of(KeyCommand::FollowUp)),
    };
    let moves = match view.model.has_movable_call() && view.focus.is_editor_empty {
        true => format!(" · {} to background", view.key_of(KeyCommand::MoveToBackground)),
        false => String::new(),
    };
    let room = usize::from(view.ui.size.0).saturating_sub(used);
    let fits = |text: &String| steerable && text.chars().count() <= room;
    let texts = [format!("{stops}{hints}{moves}"), format!("{stops}{hints}")];
    spans.push(Span::new(texts.into_iter().find(fits).unwrap_or(stops), Role::Muted));
    Some(spans.into())
}

/// Returns the flash next to the activity, so that a running turn never looks stopped.
fn flash(view: &ViewContext<'_>, text: &str, arriving: Option<&BlockKind>) -> Vec<Line> {
    let width = usize::from(view.ui.size.0);
    let (sign, text) = match (activity(view, arriving), text.strip_prefix("✗ ")) {
        (Some(mut spans), _) => {
            let used: usize = spans.iter().map(Span::width).sum();
            let message = Span::new(one_line(text), Role::Text);
            if used + 3 + message.width() <= width {
                spans.extend([Span::new(" · ", Role::Accent), message]);
                return vec![spans.into()];
            }
            // If there isn't room for both, only the spinner shows the activity.
            (spinning(view), text)
        }
        // A text with its own sign gets no other.
        (None, Some(trouble)) => (Span::new("  ✗ ", Role::Error), trouble),
        (None, None) => (Span::new("  · ", Role::Accent), text),
    };
    let rows = if view.ui.size.1 < MIN_SPACED_HEIGHT { 1 } else { FLASH_ROWS };
    let indent = Indent { rest: vec![Span::new(" ".repeat(sign.width()), Role::Text)], first: vec![sign] };
    let message = [Span::new(one_line(text), Role::Text)];
    limit_rows(wrap(&message, width, &indent, BreakMode::Words), rows, width)
}

fn spinning(view: &ViewContext<'_>) -> Span {
    Span::new(format!("  {} ", spinner(view.now)), Role::Accent)
}

/// The current activity with its duration; `None` when idle.
fn activity(view: &ViewContext<'_>, arriving: Option<&BlockKind>) -> Option<Vec<Span>> {
    let duration = short_duration(view.now.since_ms(started_at(view)?));
    let mut spans = vec![
        spinning(view),
        Span::new(activity_text(view, arriving), Role::Text),
        Span::new(format!(" {duration}"), Role::Text),
    ];
    let progress = view.model.activity.streaming.label();
    spans.extend(progress.map(|progress| Span::new(format!(" · {progress}"), Role::Muted)));
    if let Some(summary) = background_summary(view) {
        let note = match pending_try(view, summary) {
            Some(retry) => format!(" · summary failed, {}", countdown(view, retry)),
            None => " · compacting".to_owned(),
        };
        spans.push(Span::new(note, Role::Muted));
    }
    if let Some(errand) = long_job(view) {
        spans.push(Span::new(format!(" · {errand}"), Role::Muted));
    }
    Some(spans)
}

/// Returns the start of the displayed activity: approvals and calls have their own; the rest uses the start
/// of the run.
fn started_at(view: &ViewContext<'_>) -> Option<UnixMs> {
    let summary = view.model.activity.summary.as_ref().map(|summary| summary.since);
    let run_start = view.model.activity.running_since.or(view.model.activity.bash_since).or(summary);
    let pending = view.model.activity.approvals.first().map(|pending| pending.since);
    let calls = view.model.activity.calls.iter().map(|call| call.since).min();
    run_start.map(|run_start| pending.or(calls).unwrap_or(run_start))
}

fn countdown(view: &ViewContext<'_>, retry: &RetryAnnouncement) -> String {
    let seconds = retry.due.since_ms(view.now).div_ceil(1_000);
    format!("retrying in {seconds}s ({} of {})", retry.attempt, retry.max_attempts)
}

/// Returns the countdown with the error, truncated to fit beside the duration and the key that stops it.
fn failed_try(view: &ViewContext<'_>, subject: &str, retry: &RetryAnnouncement) -> String {
    /// Columns of the spinner before the error, and of the duration and the key after it.
    const RESERVED_COLUMNS: usize = 4 + 24;
    let status = format!("{subject}{}", countdown(view, retry));
    let room = usize::from(view.ui.size.0).saturating_sub(RESERVED_COLUMNS + status.chars().count() + 3);
    // The hint is in the transcript.
    match truncate_to(&one_line(split_advice(&retry.error).0), room) {
        why if why.chars().count() < 8 => format!("{status} ·"),
        why => format!("{status} · {why} ·"),
    }
}

/// Returns the status while a session opens, if it takes noticeably long.
fn opening(view: &ViewContext<'_>, since: UnixMs) -> Option<Line> {
    is_noticeable(view, since).then(|| {
        let mut spans = with_duration(view, "opening the session…", since);
        spans.push(Span::new(" · messages sent now go to it", Role::Muted));
        spans.into()
    })
}

/// Returns the background job, if nothing else is running.
fn background_job(view: &ViewContext<'_>) -> Option<Line> {
    let (_, since) = view.model.activity.jobs.first()?;
    Some(with_duration(view, long_job(view)?, *since).into())
}

/// Returns a background job that takes noticeably long.
fn long_job(view: &ViewContext<'_>) -> Option<&'static str> {
    let (errand, since) = view.model.activity.jobs.first()?;
    is_noticeable(view, *since).then(|| errand.label())
}

fn with_duration(view: &ViewContext<'_>, doing: &str, since: UnixMs) -> Vec<Span> {
    let taken = short_duration(view.now.since_ms(since));
    vec![spinning(view), Span::new(format!("{doing} {taken}"), Role::Text)]
}

/// Returns true for an activity that has been running for a noticeable time.
fn is_noticeable(view: &ViewContext<'_>, since: UnixMs) -> bool {
    /// Milliseconds without a message.
    const THRESHOLD_MS: u64 = 200;
    view.now.since_ms(since) >= THRESHOLD_MS
}

/// Returns a summary in the background that nothing is waiting for.
fn background_summary<'a>(view: &ViewContext<'a>) -> Option<&'a SummaryInProgress> {
    let is_waited_for =
        |of| matches!(of, SummarySubject::Branch | SummarySubject::Context(CompactionReason::Overflow));
    view.model
        .activity
        .summary
        .as_ref()
        .filter(|summary| view.model.is_working() && !is_waited_for(summary.of))
}

/// Formats the compaction with the size of the context, which determines its duration.
fn compacting(view: &ViewContext<'_>) -> String {
    match view.model.info.context.used {
        Tokens(0) => "compacting…".to_owned(),
        used => format!("compacting {used} tokens…"),
    }
}

/// Returns the retry that a summary is waiting for.
fn pending_try<'a>(view: &ViewContext<'_>, summary: &'a SummaryInProgress) -> Option<&'a RetryAnnouncement> {
    summary.retry.as_ref().filter(|retry| retry.due.since_ms(view.now) > 0)
}

fn activity_text(view: &ViewContext<'_>, arriving: Option<&BlockKind>) -> String {
    if !view.model.activity.approvals.is_empty() {
        return "waiting for your approval".to_owned();
    }
    if let Some(request) = view.model.activity.elicitations.first() {
        return format!("question from {}: clear the prompt to see it", one_line(&request.asker()));
    }
    match view.model.activity.calls.as_slice() {
        [] => {}
        [call] => return format!("running {}", one_line(&call.name)),
        several => return format!("running {} calls", several.len()),
    }
    if let Some(retry) = &view.model.activity.retry {
        return failed_try(view, "", retry);
    }
    if let Some(summary) = view.model.activity.summary.as_ref().filter(|_| background_summary(view).is_none())
    {
        return match (pending_try(view, summary), summary.of) {
            (Some(retry), _) => failed_try(view, "summary failed, ", retry),
            (None, SummarySubject::Branch) => "summarizing the branch…".to_owned(),
            (None, SummarySubject::Context(_)) => compacting(view),
        };
    }
    if view.model.activity.running_since.is_none() {
        return "running your command".to_owned();
    }
    match arriving {
        Some(BlockKind::Thinking(_) | BlockKind::StreamingThinking(_)) => "thinking…".to_owned(),
        Some(BlockKind::Call(call)) => format!("calling {}…", one_line(&call.name)),
        Some(_) => "answering…".to_owned(),
        None => "waiting for the model…".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use tiller_core::event::QueueKind;
    use tiller_engine::built_in_tools;

    use super::*;
    use crate::approval_panel::tests::approval_request;
    use crate::component::FocusState;
    use crate::component::testing::queue_item;
    use crate::layout::FoldDefaults;
    use crate::session_model::{CallInProgress, Job, PendingApproval, SessionActivity, SessionModel};
    use crate::ui_context::UiContext;

    /// The environment of a status line, 12 s after the start.
    struct Status {
        model: SessionModel,
        ui: UiContext,
        focus: FocusState,
        now: i64,
    }

    impl Status {
        fn of(activity: SessionActivity) -> Self {
            let model = SessionModel { activity, ..SessionModel::default() };
            let focus = FocusState { is_editor_empty: true, ..FocusState::default() };
            Self { model, ui: UiContext::example(), focus, now: 12_000 }
        }

        fn sized(mut self, width: u16, height: u16) -> Self {
            self.ui.size = (width, height);
            self
        }

        fn lines(&self, flash: Option<&str>, hint: Option<&str>) -> Vec<String> {
            let (model, ui, focus) = (&self.model, &self.ui, self.focus);
            let (now, folds) = (UnixMs(self.now), FoldDefaults::default());
            let view = ViewContext { model, ui, now, focus, folds };
            let hint = hint.map(|hint| Line::new(hint, Role::Text));
            let lines = StatusLine { search: None, flash, hint, arriving: None }.lines(&view);
            lines.iter().map(Line::text).collect()
        }

        /// The line without a flash or a hint.
        fn line(&self) -> String {
            self.lines(None, None).concat()
        }
    }

    fn shown(activity: SessionActivity, flash: Option<&str>, hint: Option<&str>) -> Vec<String> {
        Status::of(activity).lines(flash, hint)
    }

    fn running() -> SessionActivity {
        SessionActivity { running_since: Some(UnixMs(0)), ..SessionActivity::default() }
    }

    #[test]
    fn status_line_shows_what_matters_most() {
        let waiting = queue_item("q1", QueueKind::Steer, "go on");
        let retry =
            RetryAnnouncement { attempt: 2, max_attempts: 5, due: UnixMs(15_000), error: "busy".into() };
        let idle = SessionActivity::default;
        let rows = [
            ("idle", idle(), None, None),
            ("flash", idle(), Some("saved"), Some("a hint")),
            ("error", idle(), Some("✗ unknown"), None),
            ("hint", running(), None, Some("a hint")),
            ("run", running(), None, None),
            ("both", running(), Some("saved"), None),
            ("steer", SessionActivity { queue: vec![waiting], ..running() }, None, None),
            ("retry", SessionActivity { retry: Some(retry), ..running() }, None, None),
            ("opening", SessionActivity { opening_since: Some(UnixMs(0)), ..running() }, None, None),
            ("job", SessionActivity { jobs: vec![(Job::Export, UnixMs(0))], ..idle() }, None, None),
        ];
        let rows = rows.map(|(name, activity, flash, hint)| {
            format!("{name:<8}│{}", shown(activity, flash, hint).join("⏎"))
        });
        insta::assert_snapshot!(rows.join("\n"), @r"
        idle    │
        flash   │  · saved
        error   │  ✗ unknown
        hint    │a hint
        run     │  ⠋ waiting for the model… 12s · esc stops · enter steers · alt+enter queues
        both    │  ⠋ waiting for the model… 12s · saved
        steer   │  ⠋ waiting for the model… 12s · esc stops · enter sends the queued message now
        retry   │  ⠋ retrying in 3s (2 of 5) · 12s · esc stops · enter steers · alt+enter queues
        opening │  ⠋ opening the session… 12s · messages sent now go to it
        job     │  ⠋ exporting the session… 12s
        ");
    }

    #[test]
    fn status_line_queued_steering_waits_for_an_empty_editor() {
        let queue = vec![queue_item("q1", QueueKind::Steer, "look here")];
        let mut status = Status::of(SessionActivity { queue, ..running() }).sized(120, 40);
        assert!(
            status.line().contains("esc stops · enter sends the queued message now"),
            "{}",
            status.line()
        );
        status.focus.is_editor_empty = false;
        assert!(status.line().contains("esc stops · enter steers"), "{}", status.line());
    }

    #[test]
    fn status_line_names_the_background_key_where_it_fits() {
        let calls = vec![CallInProgress { id: "c1".into(), name: "bash".into(), since: UnixMs(12_000) }];
        for (width, is_named) in [(120, true), (80, false)] {
            let mut status = Status::of(SessionActivity { calls: calls.clone(), ..running() });
            status.model.info.tools = built_in_tools();
            let line = status.sized(width, 24).line();
            assert!(line.contains("alt+enter queues"), "{line}");
            assert_eq!(line.contains(" · ctrl+b to background"), is_named, "{line}");
        }
    }

    #[test]
    fn status_line_shows_a_long_job() {
        let jobs = vec![(Job::Export, UnixMs(0))];
        let mut status = Status::of(SessionActivity { jobs: jobs.clone(), ..SessionActivity::default() });
        status.now = 199;
        assert_eq!(status.line(), "");
        status.now = 1_200;
        assert!(status.line().contains("exporting the session… 1.2s"), "{}", status.line());
        let status = Status::of(SessionActivity { jobs, ..running() });
        assert!(status.line().contains(" · exporting the session…"), "{}", status.line());
    }

    #[test]
    fn status_line_counts_from_the_request_or_the_call() {
        let request = PendingApproval { request: approval_request("cargo test"), since: UnixMs(5_000) };
        let mut status = Status::of(SessionActivity { approvals: vec![request], ..running() });
        status.now = 26_000;
        assert!(status.line().contains("waiting for your approval 21s"), "{}", status.line());
        status.model.activity.approvals.clear();
        assert!(status.line().contains("waiting for the model… 26s"), "{}", status.line());
        let call = CallInProgress { id: "c2".into(), name: "bash".into(), since: UnixMs(26_000) };
        status.model.activity.calls.push(call);
        status.now = 29_000;
        assert!(status.line().contains("running bash 3.0s"), "{}", status.line());
    }

    #[test]
    fn status_line_counts_down_to_the_next_summary() {
        let summary = |reason| {
            let error = "busy".to_owned();
            let retry = RetryAnnouncement { attempt: 1, max_attempts: 5, due: UnixMs(4_000), error };
            let of = SummarySubject::Context(reason);
            Some(SummaryInProgress { of, since: UnixMs(0), retry: Some(retry), failed: None })
        };
        let activity =
            SessionActivity { summary: summary(CompactionReason::Manual), ..SessionActivity::default() };
        let mut status = Status::of(activity).sized(120, 24);
        (status.now, status.model.info.context.used) = (0, Tokens(68_000));
        let text = "summary failed, retrying in 4s (1 of 5)";
        assert!(status.line().contains(&format!("{text} · ")), "{}", status.line());
        status.now = 4_000;
        assert!(status.line().contains("compacting 68k tokens… 4.0s"), "{}", status.line());
        let activity = SessionActivity { summary: summary(CompactionReason::Threshold), ..running() };
        let mut status = Status::of(activity).sized(120, 24);
        status.now = 0;
        assert!(
            status.line().contains(&format!("waiting for the model… 0.0s · {text}")),
            "{}",
            status.line()
        );
    }

    #[test]
    fn flash_is_cut_after_three_rows() {
        let rows = |message: &str, height| {
            Status::of(SessionActivity::default()).sized(40, height).lines(Some(message), None)
        };
        let advice = "one two three four five six seven eight nine ten: then do this and that";
        let expected =
            ["  · one two three four five six seven", "    eight nine ten: then do this and", "    that"];
        assert_eq!(rows(advice, 24), expected);
        let trouble = format!("✗ {advice}, {advice}");
        let cut = rows(&trouble, 24);
        assert_eq!(cut.len(), 3, "{cut:?}");
        // The next step is at the end.
        assert!(cut[0].starts_with("  ✗ one two") && cut[0].ends_with('…'), "{cut:?}");
        assert!(cut[1..].iter().all(|row| row.starts_with("    ")) && cut[2].ends_with("that"), "{cut:?}");
        assert!(cut.iter().all(|row| row.chars().count() <= 40), "{cut:?}");
        // On a small screen there is one row.
        let cut = rows(&trouble, 12);
        assert!(cut.len() == 1 && cut[0].ends_with('…'), "{cut:?}");
    }
}
