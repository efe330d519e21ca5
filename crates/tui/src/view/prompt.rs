//! What stands between transcript and editor: what goes on, what a command may become.

use tiller_core::event::CompactionReason;
use tiller_core::message::advice_in;
use tiller_core::unit::{Tokens, UnixMs};
use tiller_engine::turn::AnnouncedRetry;
use tiller_engine::{Summarizing, SummaryOf};
use tiller_render::{Breaks, Indent, Line, Role, Span, cut_to, wrap};

use super::super::app::App;
use super::super::approval::PendingApproval;
use super::super::block::BlockKind;
use super::super::completion::Candidate;
use super::super::keymap::KeyCommand;
use super::super::layout::{spinner, within};
use super::super::tool_call::{one_line, seconds};
use super::ROOMY;

/// Column in which stands what an offer is, unless its name is longer.
const ABOUT: usize = 29;

/// Most rows of a word to the user on a screen that isn't small.
const WORD_ROWS: usize = 3;

/// Columns between what an offer is called and what it is.
const GAP: usize = 2;

/// What goes on, or a word to the user; nothing when there is neither. Only a word takes more than a line.
pub(super) fn status(app: &App) -> Vec<Line> {
    let search = super::transcript::search(app);
    match &app.notes.flash {
        Some((text, _)) if search.is_none() => flash(app, text),
        _ => search.or_else(|| lasting(app)).into_iter().collect(),
    }
}

/// What goes on, or what is to be done.
fn lasting(app: &App) -> Option<Line> {
    if let Some(line) = super::transcript::chosen(app) {
        return Some(line);
    }
    if app.notes.leaving.is_some() {
        let text = "what matters in the summary of what you leave?";
        let text = format!(
            "{text} {} makes it · {} stays here",
            key(app, KeyCommand::Send),
            key(app, KeyCommand::Stop)
        );
        return Some(Line::from(vec![Span::new("  ? ", Role::Warning), Span::new(text, Role::Text)]));
    }
    if let Some(since) = app.work.opening_since {
        return opening(app, since);
    }
    if app.queue.is_editing() {
        let (send, stop) = (key(app, KeyCommand::Send), key(app, KeyCommand::Stop));
        let does = if app.editing_sends() { "sends it" } else { "puts it back" };
        let text = format!("a message that waits: {send} {does} · {stop} leaves it as it was");
        return Some(Line::from(vec![Span::new("  ✎ ", Role::Accent), Span::new(text, Role::Text)]));
    }
    let Some(mut spans) = activity(app) else { return errand(app) };
    // While the keys are somebody else's, Esc and Enter mean something else.
    let is_elsewhere =
        app.queue.has_keys() || app.work.approvals.first().is_some_and(PendingApproval::is_half_answered);
    if is_elsewhere {
        return Some(spans.into());
    }
    let steerable = app.work.running_since.is_some() && app.work.approvals.is_empty();
    let used: usize = spans.iter().map(Span::width).sum();
    let stops = format!(" · {} stops", key(app, KeyCommand::Stop));
    let send = key(app, KeyCommand::Send);
    let says = match app.is_steered() && app.editor.is_empty() {
        true => format!(" · {send} sends the waiting message now"),
        false => format!(" · {send} steers · {} queues", key(app, KeyCommand::FollowUp)),
    };
    let fits = used + stops.chars().count() + says.chars().count() <= usize::from(app.place.size.0);
    spans.push(Span::new(if steerable && fits { stops + &says } else { stops }, Role::Muted));
    Some(spans.into())
}

/// A word to the user, beside what goes on: that never looks as if it had stopped.
fn flash(app: &App, text: &str) -> Vec<Line> {
    let width = usize::from(app.place.size.0);
    let (sign, text) = match (activity(app), text.strip_prefix("✗ ")) {
        (Some(mut spans), _) => {
            let used: usize = spans.iter().map(Span::width).sum();
            let words = Span::new(one_line(text), Role::Text);
            if used + 3 + words.width() <= width {
                spans.extend([Span::new(" · ", Role::Accent), words]);
                return vec![spans.into()];
            }
            // Where both have no room the spinner has to do.
            (spinning(app), text)
        }
        // What brings a sign of its own needs no other.
        (None, Some(trouble)) => (Span::new("  ✗ ", Role::Error), trouble),
        (None, None) => (Span::new("  · ", Role::Accent), text),
    };
    let rows = if app.place.size.1 < ROOMY { 1 } else { WORD_ROWS };
    let indent = Indent { rest: vec![Span::new(" ".repeat(sign.width()), Role::Text)], first: vec![sign] };
    let words = [Span::new(one_line(text), Role::Text)];
    within(wrap(&words, width, &indent, Breaks::Words), rows, width)
}

fn spinning(app: &App) -> Span {
    Span::new(format!("  {} ", spinner(app.now)), Role::Accent)
}

/// What goes on and since when; `None` when nothing does.
fn activity(app: &App) -> Option<Vec<Span>> {
    let taken = seconds(app.now.since_ms(begun(app)?));
    let mut spans =
        vec![spinning(app), Span::new(doing(app), Role::Text), Span::new(format!(" {taken}"), Role::Text)];
    let arriving = app.work.output.words();
    spans.extend(arriving.map(|words| Span::new(format!(" · {words}"), Role::Muted)));
    if let Some(summary) = beside(app) {
        let note = match pending_try(app, summary) {
            Some(retry) => format!(" · no summary yet, {}", countdown(app, retry)),
            None => " · compacting".to_owned(),
        };
        spans.push(Span::new(note, Role::Muted));
    }
    if let Some(errand) = long_errand(app) {
        spans.push(Span::new(format!(" · {errand}"), Role::Muted));
    }
    Some(spans)
}

/// Since when what is said to go on goes on: a question and calls for themselves, everything else with the run that it is part of.
fn begun(app: &App) -> Option<UnixMs> {
    let summary = app.work.summary.as_ref().map(|summary| summary.since);
    let whole = app.work.running_since.or(app.work.bash_since).or(summary);
    let asked = app.work.approvals.first().map(|asked| asked.since);
    let calls = app.work.calls.iter().map(|call| call.since).min();
    whole.map(|whole| asked.or(calls).unwrap_or(whole))
}

/// When a failed request goes out again.
fn countdown(app: &App, retry: &AnnouncedRetry) -> String {
    let left = retry.at.since_ms(app.now).div_ceil(1_000);
    format!("trying again in {left}s ({} of {})", retry.attempt, retry.most)
}

/// The same with the reason, as far as that fits beside the time and the key that stops it.
fn failed_try(app: &App, what: &str, retry: &AnnouncedRetry) -> String {
    /// Columns of the spinner before it, and of the time and the key behind it.
    const BESIDE: usize = 4 + 24;
    let waits = format!("{what}{}", countdown(app, retry));
    let room = usize::from(app.place.size.0).saturating_sub(BESIDE + waits.chars().count() + 3);
    // What to do about it stands in the transcript.
    match cut_to(&one_line(advice_in(&retry.why).0), room) {
        why if why.chars().count() < 8 => format!("{waits} ·"),
        why => format!("{waits} · {why} ·"),
    }
}

/// The key of a command, as it is bound.
fn key(app: &App, command: KeyCommand) -> String {
    app.place.keymap.key_of(command)
}

/// That the session is being opened, once that takes long enough to be noticed.
fn opening(app: &App, since: UnixMs) -> Option<Line> {
    is_noticed(app, since).then(|| {
        let mut spans = since_when(app, "opening the session…", since);
        spans.push(Span::new(" · what you send now goes to it", Role::Muted));
        spans.into()
    })
}

/// What was asked for and isn't done yet, when nothing else goes on.
fn errand(app: &App) -> Option<Line> {
    let (_, since) = app.work.errands.first()?;
    Some(since_when(app, long_errand(app)?, *since).into())
}

/// What was asked for and isn't done yet, once that takes long enough to be noticed.
fn long_errand(app: &App) -> Option<&'static str> {
    let (errand, since) = app.work.errands.first()?;
    is_noticed(app, *since).then(|| errand.doing())
}

fn since_when(app: &App, doing: &str, since: UnixMs) -> Vec<Span> {
    let taken = seconds(app.now.since_ms(since));
    vec![spinning(app), Span::new(format!("{doing} {taken}"), Role::Text)]
}

/// Whether something has gone on for so long that somebody asks what it is.
fn is_noticed(app: &App, since: UnixMs) -> bool {
    /// Milliseconds in which nobody does.
    const UNNOTICED: u64 = 200;
    app.now.since_ms(since) >= UNNOTICED
}

/// A summary that is made beside something else that goes on, and that nothing waits for.
fn beside(app: &App) -> Option<&Summarizing> {
    let is_waited_for = |of| matches!(of, SummaryOf::Branch | SummaryOf::Context(CompactionReason::Overflow));
    app.work.summary.as_ref().filter(|summary| app.is_working() && !is_waited_for(summary.of))
}

/// That the context is being summed up, and how much there is of it: that is what one waits for.
fn compacting(app: &App) -> String {
    match app.facts.context.used {
        Tokens(0) => "compacting…".to_owned(),
        used => format!("compacting {used} tokens…"),
    }
}

/// The try that a summary waits for.
fn pending_try<'a>(app: &App, summary: &'a Summarizing) -> Option<&'a AnnouncedRetry> {
    summary.retry.as_ref().filter(|retry| retry.at.since_ms(app.now) > 0)
}

fn doing(app: &App) -> String {
    if !app.work.approvals.is_empty() {
        return "waiting for your word".to_owned();
    }
    match app.work.calls.as_slice() {
        [] => {}
        [call] => return format!("running {}", one_line(&call.name)),
        several => return format!("running {} calls", several.len()),
    }
    if let Some(retry) = &app.work.retry {
        return failed_try(app, "", retry);
    }
    if let Some(summary) = app.work.summary.as_ref().filter(|_| beside(app).is_none()) {
        return match (pending_try(app, summary), summary.of) {
            (Some(retry), _) => failed_try(app, "no summary yet, ", retry),
            (None, SummaryOf::Branch) => "summing up the branch…".to_owned(),
            (None, SummaryOf::Context(_)) => compacting(app),
        };
    }
    if app.work.running_since.is_none() {
        return "running your command".to_owned();
    }
    match app.transcript.live.last().map(|block| &block.kind) {
        Some(BlockKind::Thinking(_) | BlockKind::Musing(_)) => "thinking…".to_owned(),
        Some(BlockKind::Call(call)) => format!("calling {}…", one_line(&call.name)),
        Some(_) => "answering…".to_owned(),
        None => "waiting for the model…".to_owned(),
    }
}

/// Most offers that are on the screen at once.
pub(crate) fn most_offers(app: &App) -> usize {
    usize::from(super::MOST_COMPLETIONS).min(usize::from(app.place.size.1 / 3).max(1))
}

/// What the text before the cursor may become.
pub(super) fn completion(app: &App) -> Vec<Line> {
    let offers = app.complete.offers();
    // Nearly always; what finds matches takes its time to set up.
    if offers.is_empty() && app.complete.hint().is_none() {
        return Vec::new();
    }
    let height = most_offers(app);
    let top = app.complete.top(height);
    let width = usize::from(app.place.size.0);
    let mut query = app.complete.query();
    if let Some(hint) = app.complete.hint() {
        return vec![argument_hint(hint, width)];
    }
    let last = top + height - 1;
    let mut row = |(at, offer): (usize, &Candidate)| {
        // Where not all of them have room the last row says how many there are.
        let count =
            (at == last && offers.len() > height).then(|| format!("  {} of {}", at + 1, offers.len()));
        let width = width.saturating_sub(count.as_ref().map_or(0, String::len));
        let chosen = at == app.complete.chosen();
        let (mark, role) = if chosen { ("▸ ", Role::Accent) } else { ("  ", Role::Text) };
        let name = one_line(&offer.name);
        let room = if offer.about.is_empty() { width.saturating_sub(4) } else { width / 2 };
        let mut line = Line::new(format!(" {mark}"), Role::Accent);
        line.spans.extend(super::list::label(&name, role.into(), &mut query, room));
        line.spans.push(Span::new(argument(offer, line.width(), width), Role::Muted));
        let gap = ABOUT.saturating_sub(line.width()).max(GAP);
        let about = cut_to(&one_line(&offer.about), width.saturating_sub(line.width() + gap + 1));
        line.spans.push(Span::new(" ".repeat(gap) + &about, Role::Muted));
        match count {
            Some(count) => {
                super::spread(line.spans, Span::new(count.clone(), Role::Muted), width + count.len())
            }
            None => line,
        }
    };
    offers.iter().enumerate().skip(top).take(height).map(&mut row).collect()
}

/// What may follow an offer whose row is filled up to a column, as far as there is room before what it is.
fn argument(offer: &Candidate, column: usize, width: usize) -> String {
    /// Columns of which fewer say nothing.
    const LEAST: usize = 5;
    let whole = format!(" {}", one_line(&offer.argument));
    let end = if offer.about.is_empty() { width.saturating_sub(1) } else { ABOUT - GAP };
    match end.saturating_sub(column) {
        room if room < LEAST || offer.argument.is_empty() => String::new(),
        room => cut_to(&whole, room),
    }
}

/// What may follow a command, and what that does: nothing to choose. Here it is said in full.
fn argument_hint(hint: &Candidate, width: usize) -> Line {
    let what = format!("   {} {}", one_line(&hint.name), one_line(&hint.argument));
    let gap = ABOUT.saturating_sub(Span::new(what.as_str(), Role::Muted).width()).max(GAP);
    let text = format!("{what}{}{}", " ".repeat(gap), one_line(&hint.about));
    Line::new(cut_to(&text, width.saturating_sub(1)), Role::Muted)
}
