//! Renders one entry.

use super::markdown::markdown;
use super::markup::{Markup, fragment};
use super::outline::{ItemKind, Outline, OutlineItem};
use super::tool_call;
use crate::message::{AssistantBlock, AssistantMessage, Message, StopReason, UserMessage};
use crate::session::entry::{DeliveryReceipt, MessageEntry};
use crate::session::{Entry, EntryBody, UNANSWERED};
use crate::unit::UnixMs;

/// Renders the entry at the position `at`, which `item` describes.
pub(super) fn article(outline: &Outline, at: usize, item: &OutlineItem, entry: &Entry) -> Markup {
    let mut out = Markup::default();
    out.tags("<article").attribute("class", class(item.kind)).attribute("id", &item.anchor);
    out.attribute("data-n", &at.to_string());
    if let Some(parent) = outline.ancestors[at] {
        out.attribute("data-p", &parent.to_string());
    }
    out.tags(" tabindex=\"-1\">");
    if let Some(label) = outline.label(at) {
        out.tags("<span class=\"label\">").text(label).tags("</span>");
    }
    out.markup(&body(outline, at, entry));
    branch_links(&mut out, outline, &outline.descendants[at]);
    out.tags("</article>\n");
    out
}

const fn class(kind: ItemKind) -> &'static str {
    match kind {
        ItemKind::User => "user",
        ItemKind::Answer => "answer",
        ItemKind::Tool => "tool",
        ItemKind::Bash => "tool bash",
        ItemKind::Rule => "rule",
    }
}

/// Renders the links to the branches that start at an entry.
pub(super) fn branch_links(out: &mut Markup, outline: &Outline, branches: &[usize]) {
    if branches.len() < 2 {
        return;
    }
    out.tags("<nav class=\"parting\" aria-label=\"Branches\"><p>").number(branches.len());
    out.tags(" branches from here</p><ol>");
    for &branch in branches {
        let Some(item) = &outline.items[branch] else { continue };
        out.tags("<li><a").attribute("href", &fragment(&item.anchor));
        out.attribute("data-n", &branch.to_string());
        if outline.on_path[branch] {
            out.tags(" aria-current=\"true\"");
        }
        out.tags(">").text(outline.branch_name(branch)).tags("</a></li>");
    }
    out.tags("</ol></nav>");
}

fn body(outline: &Outline, at: usize, entry: &Entry) -> Markup {
    let mut out = Markup::default();
    match &entry.body {
        EntryBody::Message(message_entry) => return message(outline, at, message_entry, entry.timestamp),
        EntryBody::ModelChange { provider, model_id } => {
            out.tags("<p class=\"turn\">model: ").text(&format!("{provider}/{model_id}")).tags("</p>");
        }
        EntryBody::ThinkingLevelChange { thinking_level } => {
            out.tags("<p class=\"turn\">thinking: ").text(thinking_level.name()).tags("</p>");
        }
        EntryBody::Compaction(compaction) => {
            let title = format!("compacted (was {} tokens)", compaction.tokens_before);
            folded_summary(&mut out, &title, &compaction.summary);
        }
        EntryBody::BranchSummary { summary, .. } => {
            folded_summary(&mut out, "summary of another branch", summary);
        }
        EntryBody::ContextEdit { target_id, replacement } => {
            let change = match replacement {
                Some(_) => "from this point, the model sees a replacement for ",
                None => "from this point, the model no longer sees ",
            };
            out.tags("<p class=\"turn\">")
                .text(change)
                .tags("<a")
                .attribute("href", &fragment(target_id.as_str()));
            out.tags(">an earlier entry</a></p>");
        }
        EntryBody::CustomMessage { custom_type, content, .. } => {
            header(&mut out, &format!("Added by {custom_type}"), "", entry.timestamp);
            tool_call::blocks(&mut out, &content.to_blocks(), user_text);
        }
        EntryBody::Custom { .. }
        | EntryBody::Label { .. }
        | EntryBody::SessionInfo { .. }
        | EntryBody::Usage { .. }
        | EntryBody::Unknown => {}
    }
    out
}

fn message(outline: &Outline, at: usize, entry: &MessageEntry, time_sent: UnixMs) -> Markup {
    let mut out = Markup::default();
    match &*entry.message {
        Message::User(message) => {
            let note = match (&entry.tiller_receipt, &entry.tiller_queue_id) {
                (Some(receipt), _) => delivery(receipt),
                (None, Some(_)) => "queued".to_owned(),
                (None, None) => String::new(),
            };
            header(&mut out, "You", &note, time_sent);
            user(&mut out, message);
            if !outline.is_followed(at) {
                out.tags("<p class=\"failed unfinished\">! ").text(UNANSWERED).tags("</p>");
            }
        }
        Message::Assistant(message) => answer(&mut out, outline, at, message),
        Message::ToolResult(message) => {
            let call = outline.find_call(outline.ancestors[at], &message.tool_call_id);
            out.markup(&tool_call::result(message, call.map(|(_, call)| call), &outline.tools));
        }
        Message::BashExecution(message) => _ = out.markup(&tool_call::bash(message)),
        Message::System(message) => folded_summary(&mut out, "system prompt", &message.content),
    }
    out
}

/// Describes the delivery of a queued message.
fn delivery(receipt: &DeliveryReceipt) -> String {
    let receipt_details = receipt.details();
    let parts = [receipt.label(), receipt_details.as_str()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · ")
}

fn header(out: &mut Markup, author: &str, note: &str, at: UnixMs) {
    out.tags("<header><h2>").text(author).tags("</h2>");
    if !note.is_empty() {
        out.tags("<span class=\"note\">").text(note).tags("</span>");
    }
    out.markup(&time(at)).tags("</header>\n");
}

/// Renders a user message as typed; the expanded text of a template or skill is folded below it.
fn user(out: &mut Markup, message: &UserMessage) {
    let blocks = message.content.to_blocks();
    match message.short() {
        Some(typed) => {
            user_text(out, &typed);
            tool_call::blocks(out, &blocks, |out, text| {
                out.tags("<details class=\"made\"><summary>text sent to the model</summary>\n<div class=\"prose\">");
                out.markup(&markdown(text)).tags("</div></details>\n");
            });
        }
        None => tool_call::blocks(out, &blocks, user_text),
    }
}

fn user_text(out: &mut Markup, text: &str) {
    out.tags("<p class=\"said\">").text(text.trim()).tags("</p>\n");
}

/// Renders a time as `14:02`, with the full timestamp as its title.
pub(super) fn time(at: UnixMs) -> Markup {
    let (mut out, iso) = (Markup::default(), at.to_iso());
    if at != UnixMs(0) {
        let clock = iso.split_once('T').and_then(|(_, time)| time.get(..5)).unwrap_or_default();
        out.tags("<time").attribute("datetime", &iso).attribute("title", &iso).tags(">");
        out.text(clock).tags(" UTC</time>");
    }
    out
}

fn answer(out: &mut Markup, outline: &Outline, at: usize, answer: &AssistantMessage) {
    for block in &answer.content {
        match block {
            AssistantBlock::Text { text, .. } if !text.trim().is_empty() => {
                out.tags("<div class=\"prose\">").markup(&markdown(text)).tags("</div>\n");
            }
            AssistantBlock::Thinking { thinking, .. } if !thinking.trim().is_empty() => {
                let first = thinking.trim().lines().next().unwrap_or_default();
                out.tags("<details class=\"thought\"><summary>Thought <span>").text(first.trim_matches('*'));
                out.tags("</span></summary>\n<div class=\"prose\">").markup(&markdown(thinking));
                out.tags("</div></details>\n");
            }
            AssistantBlock::ToolCall(call) if !outline.is_answered(at, &call.id) => {
                out.markup(&tool_call::unfinished(call, &outline.tools));
            }
            AssistantBlock::Text { .. }
            | AssistantBlock::Thinking { .. }
            | AssistantBlock::ToolCall(_)
            | AssistantBlock::Unknown => {}
        }
    }
    match answer.stop_reason {
        StopReason::Error => {
            let error = answer.error_message.as_deref().unwrap_or("the provider failed");
            out.tags("<p class=\"failed\">✗ ").text(error).tags("</p>");
        }
        StopReason::Aborted => _ = out.tags("<p class=\"turn\">stopped</p>"),
        StopReason::Length => _ = out.tags("<p class=\"failed\">! cut off at the output limit</p>"),
        StopReason::Stop | StopReason::ToolUse => {}
    }
}

fn folded_summary(out: &mut Markup, title: &str, summary: &str) {
    out.tags("<details><summary><span>").text(title).tags("</span></summary>\n<div class=\"prose\">");
    out.markup(&markdown(summary)).tags("</div></details>");
}
