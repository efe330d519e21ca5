//! What stands between transcript and editor: the call that asks, what goes on, what waits, what a command may become.

use super::super::app::App;
use super::super::block::BlockKind;
use super::super::call::{argument, one_line, seconds};
use super::super::command::Completion;
use super::super::keymap::KeyCommand;
use super::super::layout::spinner;
use crate::agent::{Summarizing, SummaryOf};
use crate::event::{ApprovalRequest, CompactionReason, QueueKind};
use crate::render::{Breaks, Carriage, Emphasis, Indent, Line, Role, Span, Style, clean, cut_to, wrap};
use crate::resource::typed_skill;
use crate::unit::UnixMs;

/// Columns of a command's name and argument, unless they are more.
const NAME_WIDTH: usize = 25;

/// The call that asks, in full as far as the screen allows, why it asks, and what may be answered.
pub(super) fn approval(app: &App) -> Vec<Line> {
    let Some(asked) = app.work.approvals.first() else { return Vec::new() };
    let width = usize::from(app.size.0);
    let request = &asked.request;
    let more = match app.work.approvals.len() {
        1 => String::new(),
        count => format!("  1 of {count}"),
    };
    let mut lines = vec![Line::default()];
    let head = Style::from(Role::Warning).with(Emphasis::BOLD);
    let first = [
        Span::new("? ", head),
        Span::new(format!("{} asks: ", request.tool_name), head),
        Span::new(one_line(&request.reason), Role::Text),
        Span::new(more, Role::Muted),
    ];
    let indent = Indent::all(vec![Span::new("  ", Role::Text)]);
    lines.extend(wrap(&first, width, &indent, Breaks::Words));
    let most = usize::from(app.size.1).saturating_sub(10).max(3);
    lines.extend(limited(call_in_full(request, width), most));
    lines.extend(wrap(&answers(app, request), width, &indent, Breaks::Words));
    lines
}

fn answers(app: &App, request: &ApprovalRequest) -> Vec<Span> {
    if !app.editor.is_empty() {
        return vec![Span::new(
            match request.rule.as_str() {
                "" => "enter steers with what you typed; clear it to answer y or n",
                _ => "enter steers with what you typed; clear it to answer y, a or n",
            },
            Role::Muted,
        )];
    }
    let key = |key: &str| Span::new(key.to_owned(), Style::from(Role::Accent).with(Emphasis::BOLD));
    let said = |text: String| Span::new(text, Role::Muted);
    /// Columns of a rule beyond which it is cut: the call that it was made from stands above it in full.
    const MOST: usize = 40;
    let mut answers = vec![key("y"), said(" once · ".to_owned())];
    if !request.rule.is_empty() {
        let rule = cut_to(&one_line(&request.rule), MOST);
        answers.extend([key("a"), said(format!(" this session ({rule}) · "))]);
    }
    answers.extend([key("n"), said(" deny".to_owned())]);
    answers
}

fn call_in_full(request: &ApprovalRequest, width: usize) -> Vec<Line> {
    let indent = Indent::all(vec![Span::new("  │ ", Role::Warning)]);
    let row =
        |text: &str, role: Role| wrap(&[Span::new(text.to_owned(), role)], width, &indent, Breaks::Anywhere);
    let main = argument(&request.tool_name, &request.args);
    let mut lines = Vec::new();
    for line in clean(&main, Carriage::Shown).lines() {
        lines.extend(row(line, Role::Code));
    }
    for (name, value) in request.args.as_object().into_iter().flatten() {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if text == main {
            continue;
        }
        let text = clean(&text, Carriage::Shown).into_owned();
        if text.contains('\n') {
            lines.extend(row(&format!("{name}:"), Role::Muted));
            lines.extend(text.lines().flat_map(|line| row(&format!("  {line}"), Role::Code)));
        } else {
            lines.extend(row(&format!("{name}: {text}"), Role::Muted));
        }
    }
    lines
}

fn limited(mut lines: Vec<Line>, most: usize) -> Vec<Line> {
    if lines.len() > most {
        let hidden = lines.len() - most + 1;
        lines.truncate(most - 1);
        let note = format!("  │ … {hidden} more lines that this screen has no room for");
        lines.push(Line::new(note, Role::Warning));
    }
    lines
}

/// What goes on, or a word to the user; `None` when there is neither.
pub(super) fn status(app: &App) -> Option<Line> {
    if let Some((text, _)) = &app.notes.flash {
        return Some(Line::from(vec![
            Span::new("  · ", Role::Accent),
            Span::new(one_line(text), Role::Text),
        ]));
    }
    if app.leaving.is_some() {
        let key = |command| app.place.keymap.key_of(command);
        let text = format!(
            "what matters in the summary of what you leave? {} makes it · {} stays here",
            key(KeyCommand::Send),
            key(KeyCommand::Stop)
        );
        return Some(Line::from(vec![Span::new("  ? ", Role::Warning), Span::new(text, Role::Text)]));
    }
    if let Some(since) = app.work.opening_since {
        return opening(app, since);
    }
    let summary = app.work.summary.as_ref();
    let since = app.work.running_since.or(app.work.bash_since).or(summary.map(|summary| summary.since))?;
    let mut spans = vec![
        Span::new(format!("  {} ", spinner(app.now)), Role::Accent),
        Span::new(doing(app), Role::Text),
        Span::new(format!(" {}", seconds(app.now.since_ms(since))), Role::Text),
    ];
    if app.work.output > 0 {
        spans.push(Span::new(format!(" · ↓{}", crate::unit::Tokens(app.work.output)), Role::Muted));
    }
    if app.is_working() && summary.is_some() {
        spans.push(Span::new(" · compacting", Role::Muted));
    }
    let steerable = app.work.running_since.is_some() && app.work.approvals.is_empty();
    let used: usize = spans.iter().map(Span::width).sum();
    let key = |command| app.place.keymap.key_of(command);
    let stop = format!(" · {} stops", key(KeyCommand::Stop));
    let all = format!(
        "{stop} · {} steers · {} queues",
        key(KeyCommand::Send),
        key(KeyCommand::FollowUp)
    );
    let fits = used + all.chars().count() <= usize::from(app.size.0);
    spans.push(Span::new(if steerable && fits { all } else { stop }, Role::Muted));
    Some(spans.into())
}

/// That the session is being opened, once that takes long enough to be noticed.
fn opening(app: &App, since: UnixMs) -> Option<Line> {
    /// Milliseconds in which nobody asks what goes on.
    const UNNOTICED: u64 = 200;
    let taken = app.now.since_ms(since);
    let line = || {
        Line::from(vec![
            Span::new(format!("  {} ", spinner(app.now)), Role::Accent),
            Span::new(format!("opening the session… {}", seconds(taken)), Role::Text),
            Span::new(" · what you send now goes to it", Role::Muted),
        ])
    };
    (taken >= UNNOTICED).then(line)
}

fn doing(app: &App) -> String {
    if !app.work.approvals.is_empty() {
        return "waiting for your word".to_owned();
    }
    match app.work.calls.as_slice() {
        [] => {}
        [(_, name)] => return format!("running {}", one_line(name)),
        several => return format!("running {} calls", several.len()),
    }
    if let Some(retry) = app.work.retry {
        let left = retry.at.since_ms(app.now).div_ceil(1_000);
        return format!(
            "the request failed · trying again in {left}s ({} of {}) ·",
            retry.attempt, retry.most
        );
    }
    match &app.work.summary {
        Some(Summarizing { of: SummaryOf::Branch, .. }) => return "summing up the branch…".to_owned(),
        Some(Summarizing { of: SummaryOf::Context(reason), .. })
            if !app.is_working() || *reason == CompactionReason::Overflow =>
        {
            return "compacting…".to_owned();
        }
        Some(_) | None => {}
    }
    if app.work.running_since.is_none() {
        return "running your command".to_owned();
    }
    match app.transcript.live.last().map(|block| &block.kind) {
        Some(BlockKind::Thinking(_)) => "thinking…".to_owned(),
        Some(BlockKind::Call(call)) => format!("calling {}…", one_line(&call.name)),
        Some(_) => "answering…".to_owned(),
        None => "waiting for the model…".to_owned(),
    }
}

/// The messages that wait, in the order of their delivery.
pub(super) fn queue(app: &App) -> Vec<Line> {
    let width = usize::from(app.size.0).saturating_sub(14);
    let line = |item: &crate::event::QueueItem| {
        let kind = match item.kind {
            QueueKind::Steer => "steer",
            QueueKind::FollowUp => "next ",
        };
        let hurry = item.kind == QueueKind::Steer && !item.held && app.editor.is_empty();
        let mut spans = vec![Span::new(format!("  ↳ {kind}   "), Role::Accent)];
        if item.held {
            spans.push(Span::new("held, alt+up takes it back · ", Role::Warning));
        }
        let images = match item.images.len() {
            0 => String::new(),
            count => format!(" [{count} image(s)]"),
        };
        let hint = if hurry { " · enter: now" } else { "" };
        let typed = typed_skill(&item.text);
        let text = typed.as_deref().unwrap_or(&item.text);
        let text = cut_to(&one_line(text), width.saturating_sub(images.len() + hint.len()));
        spans.push(Span::new(text + &images + hint, Role::Muted));
        Line::from(spans)
    };
    app.work.queue.iter().map(line).collect()
}

/// What a half-typed command may become.
pub(super) fn completion(app: &App) -> Vec<Line> {
    let completions = app.completions();
    let height = usize::from(super::MOST_COMPLETIONS).min(usize::from(app.size.1 / 3).max(1));
    let top = app.completion.saturating_sub(height.saturating_sub(1));
    let row = |(at, command): (usize, &Completion<'_>)| {
        let chosen = at == app.completion;
        let (mark, role) = if chosen { ("▸ ", Role::Accent) } else { ("  ", Role::Text) };
        let name = one_line(&format!("/{} {}", command.name, command.argument));
        let name = Span::new(format!("{:<NAME_WIDTH$}", cut_to(&name, usize::from(app.size.0) / 2)), role);
        let room = usize::from(app.size.0).saturating_sub(4 + name.width());
        let about = cut_to(&one_line(command.about), room);
        let gap = Span::new(" ", Role::Muted);
        Line::from(vec![
            Span::new(format!(" {mark}"), Role::Accent),
            name,
            gap,
            Span::new(about, Role::Muted),
        ])
    };
    completions.iter().enumerate().skip(top).map(row).collect()
}
