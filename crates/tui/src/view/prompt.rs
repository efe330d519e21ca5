//! The status line and completion between transcript and editor.

use tiller_core::event::CompactionReason;
use tiller_core::message::split_advice;
use tiller_core::unit::{Tokens, UnixMs};
use tiller_engine::{AnnouncedRetry, Summarizing, SummaryOf};
use tiller_render::{Breaks, Indent, Line, Role, Span, truncate_to, wrap};

use crate::app::App;
use crate::block::BlockKind;
use crate::completion::candidate::Candidate;
use crate::composer::compose_purpose::ComposePurpose;
use crate::keymap::KeyCommand;
use crate::layout::{limit_rows, spinner};
use crate::text::{one_line, short_duration};
use crate::view::ROOMY;

/// Column of a candidate's description, unless its name is longer.
const ABOUT: usize = 29;

/// Maximum rows of a flash on a screen that isn't small.
const FLASH_ROWS: usize = 3;

/// Columns between a candidate's name and its description.
const GAP: usize = 2;

/// The flash, the search bar or the activity; empty if there is none. Only a flash takes more than one line.
pub(super) fn status(app: &App) -> Vec<Line> {
    let search = app.transcript.search_line(&app.view_context());
    match app.flash.text() {
        Some(text) if search.is_none() => flash(app, text),
        _ => search.or_else(|| persistent(app)).into_iter().collect(),
    }
}

/// The persistent status: an inline question, a hint or the activity.
fn persistent(app: &App) -> Option<Line> {
    if let Some(line) = app.transcript.focus_hints(&app.view_context()) {
        return Some(line);
    }
    if let ComposePurpose::SummaryInstruction(_) = app.composer.purpose {
        let text = "what matters in the summary of the branch you leave?";
        let text = format!(
            "{text} {} starts it · {} cancels",
            key(app, KeyCommand::Send),
            key(app, KeyCommand::Stop)
        );
        return Some(Line::from(vec![Span::new("  ? ", Role::Warning), Span::new(text, Role::Text)]));
    }
    if let Some(since) = app.model.activity.opening_since {
        return opening(app, since);
    }
    if app.queue.is_editing() {
        let (send, stop) = (key(app, KeyCommand::Send), key(app, KeyCommand::Stop));
        let does = if app.queue.editing_sends(&app.view_context()) { "sends it" } else { "puts it back" };
        let text = format!("editing a queued message: {send} {does} · {stop} discards the change");
        return Some(Line::from(vec![Span::new("  ✎ ", Role::Accent), Span::new(text, Role::Text)]));
    }
    let Some(mut spans) = activity(app) else { return background_job(app) };
    // While another panel has the keys, Esc and Enter have other meanings.
    let other_panel_has_keys =
        app.queue.has_keys() || app.composer.is_writing_reason() || app.approvals.has_selection();
    if other_panel_has_keys {
        return Some(spans.into());
    }
    let steerable = app.model.activity.running_since.is_some() && app.model.activity.approvals.is_empty();
    let used: usize = spans.iter().map(Span::width).sum();
    let stops = format!(" · {} stops", key(app, KeyCommand::Stop));
    let send = key(app, KeyCommand::Send);
    let hints = match app.model.has_waiting_steering() && app.composer.editor.is_empty() {
        true => format!(" · {send} sends the queued message now"),
        false => format!(" · {send} steers · {} queues", key(app, KeyCommand::FollowUp)),
    };
    let fits = used + stops.chars().count() + hints.chars().count() <= usize::from(app.ui.size.0);
    spans.push(Span::new(if steerable && fits { stops + &hints } else { stops }, Role::Muted));
    Some(spans.into())
}

/// The flash, next to the activity, so that a running turn never looks stopped.
fn flash(app: &App, text: &str) -> Vec<Line> {
    let width = usize::from(app.ui.size.0);
    let (sign, text) = match (activity(app), text.strip_prefix("✗ ")) {
        (Some(mut spans), _) => {
            let used: usize = spans.iter().map(Span::width).sum();
            let message = Span::new(one_line(text), Role::Text);
            if used + 3 + message.width() <= width {
                spans.extend([Span::new(" · ", Role::Accent), message]);
                return vec![spans.into()];
            }
            // Without room for both, only the spinner shows the activity.
            (spinning(app), text)
        }
        // A text with its own sign gets no other.
        (None, Some(trouble)) => (Span::new("  ✗ ", Role::Error), trouble),
        (None, None) => (Span::new("  · ", Role::Accent), text),
    };
    let rows = if app.ui.size.1 < ROOMY { 1 } else { FLASH_ROWS };
    let indent = Indent { rest: vec![Span::new(" ".repeat(sign.width()), Role::Text)], first: vec![sign] };
    let message = [Span::new(one_line(text), Role::Text)];
    limit_rows(wrap(&message, width, &indent, Breaks::Words), rows, width)
}

fn spinning(app: &App) -> Span {
    Span::new(format!("  {} ", spinner(app.now)), Role::Accent)
}

/// The current activity with its duration; `None` when idle.
fn activity(app: &App) -> Option<Vec<Span>> {
    let duration = short_duration(app.now.since_ms(started_at(app)?));
    let mut spans = vec![
        spinning(app),
        Span::new(activity_text(app), Role::Text),
        Span::new(format!(" {duration}"), Role::Text),
    ];
    let arriving = app.model.activity.streaming.label();
    spans.extend(arriving.map(|progress| Span::new(format!(" · {progress}"), Role::Muted)));
    if let Some(summary) = background_summary(app) {
        let note = match pending_try(app, summary) {
            Some(retry) => format!(" · summary failed, {}", countdown(app, retry)),
            None => " · compacting".to_owned(),
        };
        spans.push(Span::new(note, Role::Muted));
    }
    if let Some(errand) = long_job(app) {
        spans.push(Span::new(format!(" · {errand}"), Role::Muted));
    }
    Some(spans)
}

/// The start of the displayed activity: approvals and calls have their own, everything else that of the run.
fn started_at(app: &App) -> Option<UnixMs> {
    let summary = app.model.activity.summary.as_ref().map(|summary| summary.since);
    let run_start = app.model.activity.running_since.or(app.model.activity.bash_since).or(summary);
    let pending = app.model.activity.approvals.first().map(|pending| pending.since);
    let calls = app.model.activity.calls.iter().map(|call| call.since).min();
    run_start.map(|run_start| pending.or(calls).unwrap_or(run_start))
}

/// The countdown to a retry.
fn countdown(app: &App, retry: &AnnouncedRetry) -> String {
    let seconds = retry.due.since_ms(app.now).div_ceil(1_000);
    format!("retrying in {seconds}s ({} of {})", retry.attempt, retry.max_attempts)
}

/// The countdown with the error, cut to fit beside the duration and the key that stops it.
fn failed_try(app: &App, subject: &str, retry: &AnnouncedRetry) -> String {
    /// Columns of the spinner before it, and of the duration and the key after it.
    const BESIDE: usize = 4 + 24;
    let status = format!("{subject}{}", countdown(app, retry));
    let room = usize::from(app.ui.size.0).saturating_sub(BESIDE + status.chars().count() + 3);
    // The hint is in the transcript.
    match truncate_to(&one_line(split_advice(&retry.error).0), room) {
        why if why.chars().count() < 8 => format!("{status} ·"),
        why => format!("{status} · {why} ·"),
    }
}

fn key(app: &App, command: KeyCommand) -> String {
    app.ui.keymap.key_of(command)
}

/// The status while a session opens, once that takes noticeably long.
fn opening(app: &App, since: UnixMs) -> Option<Line> {
    is_noticeable(app, since).then(|| {
        let mut spans = with_duration(app, "opening the session…", since);
        spans.push(Span::new(" · messages sent now go to it", Role::Muted));
        spans.into()
    })
}

/// A background job, if nothing else runs.
fn background_job(app: &App) -> Option<Line> {
    let (_, since) = app.model.activity.jobs.first()?;
    Some(with_duration(app, long_job(app)?, *since).into())
}

/// A background job that takes noticeably long.
fn long_job(app: &App) -> Option<&'static str> {
    let (errand, since) = app.model.activity.jobs.first()?;
    is_noticeable(app, *since).then(|| errand.label())
}

fn with_duration(app: &App, doing: &str, since: UnixMs) -> Vec<Span> {
    let taken = short_duration(app.now.since_ms(since));
    vec![spinning(app), Span::new(format!("{doing} {taken}"), Role::Text)]
}

/// Returns true if something runs for a noticeably long time.
fn is_noticeable(app: &App, since: UnixMs) -> bool {
    /// Milliseconds without a message.
    const THRESHOLD_MS: u64 = 200;
    app.now.since_ms(since) >= THRESHOLD_MS
}

/// A summary made in the background, which nothing waits for.
fn background_summary(app: &App) -> Option<&Summarizing> {
    let is_waited_for = |of| matches!(of, SummaryOf::Branch | SummaryOf::Context(CompactionReason::Overflow));
    app.model.activity.summary.as_ref().filter(|summary| app.model.is_working() && !is_waited_for(summary.of))
}

/// The compaction with the size of the context, which determines its duration.
fn compacting(app: &App) -> String {
    match app.model.info.context.used {
        Tokens(0) => "compacting…".to_owned(),
        used => format!("compacting {used} tokens…"),
    }
}

/// The retry that a summary waits for.
fn pending_try<'a>(app: &App, summary: &'a Summarizing) -> Option<&'a AnnouncedRetry> {
    summary.retry.as_ref().filter(|retry| retry.due.since_ms(app.now) > 0)
}

fn activity_text(app: &App) -> String {
    if !app.model.activity.approvals.is_empty() {
        return "waiting for your approval".to_owned();
    }
    match app.model.activity.calls.as_slice() {
        [] => {}
        [call] => return format!("running {}", one_line(&call.name)),
        several => return format!("running {} calls", several.len()),
    }
    if let Some(retry) = &app.model.activity.retry {
        return failed_try(app, "", retry);
    }
    if let Some(summary) = app.model.activity.summary.as_ref().filter(|_| background_summary(app).is_none()) {
        return match (pending_try(app, summary), summary.of) {
            (Some(retry), _) => failed_try(app, "summary failed, ", retry),
            (None, SummaryOf::Branch) => "summarizing the branch…".to_owned(),
            (None, SummaryOf::Context(_)) => compacting(app),
        };
    }
    if app.model.activity.running_since.is_none() {
        return "running your command".to_owned();
    }
    match app.transcript.content().live.last().map(|block| &block.kind) {
        Some(BlockKind::Thinking(_) | BlockKind::StreamingThinking(_)) => "thinking…".to_owned(),
        Some(BlockKind::Call(call)) => format!("calling {}…", one_line(&call.name)),
        Some(_) => "answering…".to_owned(),
        None => "waiting for the model…".to_owned(),
    }
}

/// Maximum number of visible candidates.
pub(crate) fn most_offers(app: &App) -> usize {
    usize::from(super::MAX_COMPLETIONS).min(usize::from(app.ui.size.1 / 3).max(1))
}

/// The lines of the completion list.
pub(super) fn completion(app: &App) -> Vec<Line> {
    let candidates = app.composer.completion.candidates();
    // The usual case; setting up the matcher takes time.
    if candidates.is_empty() && app.composer.completion.hint().is_none() {
        return Vec::new();
    }
    let height = most_offers(app);
    let top = app.composer.completion.top(height);
    let width = usize::from(app.ui.size.0);
    let mut query = app.composer.completion.query();
    if let Some(hint) = app.composer.completion.hint() {
        return vec![argument_hint(hint, width)];
    }
    let last = top + height - 1;
    let mut row = |(at, candidate): (usize, &Candidate)| {
        // If not all fit, the last row shows the count.
        let count = (at == last && candidates.len() > height)
            .then(|| format!("  {} of {}", at + 1, candidates.len()));
        let width = width.saturating_sub(count.as_ref().map_or(0, String::len));
        let chosen = at == app.composer.completion.selected();
        let (mark, role) = if chosen { ("▸ ", Role::Accent) } else { ("  ", Role::Text) };
        let name = one_line(&candidate.name);
        let room = if candidate.about.is_empty() { width.saturating_sub(4) } else { width / 2 };
        let mut line = Line::new(format!(" {mark}"), Role::Accent);
        line.spans.extend(crate::picker::view::label(&name, role.into(), &mut query, room));
        line.spans.push(Span::new(argument(candidate, line.width(), width), Role::Muted));
        let gap = ABOUT.saturating_sub(line.width()).max(GAP);
        let about = truncate_to(&one_line(&candidate.about), width.saturating_sub(line.width() + gap + 1));
        line.spans.push(Span::new(" ".repeat(gap) + &about, Role::Muted));
        match count {
            Some(count) => {
                crate::draw::spread(line.spans, Span::new(count.clone(), Role::Muted), width + count.len())
            }
            None => line,
        }
    };
    candidates.iter().enumerate().skip(top).take(height).map(&mut row).collect()
}

/// A candidate's argument after its name, as far as there is room before the description.
fn argument(candidate: &Candidate, column: usize, width: usize) -> String {
    /// Minimum number of columns.
    const MIN_COLUMNS: usize = 5;
    let whole = format!(" {}", one_line(&candidate.argument));
    let end = if candidate.about.is_empty() { width.saturating_sub(1) } else { ABOUT - GAP };
    match end.saturating_sub(column) {
        room if room < MIN_COLUMNS || candidate.argument.is_empty() => String::new(),
        room => truncate_to(&whole, room),
    }
}

/// The hint about a command's argument, without anything to select.
fn argument_hint(hint: &Candidate, width: usize) -> Line {
    let hint_text = format!("   {} {}", one_line(&hint.name), one_line(&hint.argument));
    let gap = ABOUT.saturating_sub(Span::new(hint_text.as_str(), Role::Muted).width()).max(GAP);
    let text = format!("{hint_text}{}{}", " ".repeat(gap), one_line(&hint.about));
    Line::new(truncate_to(&text, width.saturating_sub(1)), Role::Muted)
}
