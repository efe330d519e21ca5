//! Loads the data that the tree requests: structure, row texts, previews. Runs on a thread that may block on
//! the disk.

use tiller_core::message::{Message, ToolResultMessage};
use tiller_core::tool_catalog::ToolCatalog;
use tiller_session::{Entry, EntryBody, Reader};

use crate::block::notice_level::NoticeLevel;
use crate::block::shell::ShellState;
use crate::block::{Block, BlockKind};
use crate::log_blocks::{BlockBuilder, PathContext, set_call_result};
use crate::tree::entry_text::EntryText;
use crate::tree::model::TreeModel;
use crate::tree::request::{LoadedPreview, LoadedTexts, TextRequest, TreeRequest, TreeResult};

/// Maximum bytes of a text in a preview, far more than fits on any screen.
const LONGEST: usize = 8_000;

/// Number of entries after an answer that are searched for its calls' results.
const RESULTS: usize = 32;

/// Handles the tree's requests, except searches.
pub(crate) fn load(reader: &Reader, tools: &ToolCatalog, request: &TreeRequest) -> Option<TreeResult> {
    Some(match request {
        TreeRequest::Shape => TreeResult::Shape(Box::new(TreeModel::load(reader))),
        TreeRequest::Texts(requests) => {
            TreeResult::Texts(requests.iter().map(|request| load_text(reader, tools, request)).collect())
        }
        TreeRequest::Preview(node) => TreeResult::Preview(Box::new(load_preview(reader, tools, *node))),
        TreeRequest::Search(_) | TreeRequest::EndSearch => return None,
    })
}

fn load_text(reader: &Reader, tools: &ToolCatalog, request: &TextRequest) -> LoadedTexts {
    let text = reader
        .entry_at(request.node)
        .map_or_else(|_| EntryText::damaged(), |entry| EntryText::from_entry(&entry, tools));
    let model = request.answer.and_then(|answer| model(&reader.entry_at(answer).ok()?));
    LoadedTexts { request: *request, text, model }
}

/// Returns the model of an answer.
fn model(entry: &Entry) -> Option<String> {
    match &**entry.body.as_message()? {
        Message::Assistant(answer) if !answer.model.is_empty() => Some(answer.model.clone()),
        _ => None,
    }
}

fn load_preview(reader: &Reader, tools: &ToolCatalog, node: usize) -> LoadedPreview {
    let Ok(entry) = reader.entry_at(node) else {
        let text = EntryText::damaged().text;
        return LoadedPreview {
            node,
            facts: Vec::new(),
            blocks: vec![Block::notice(NoticeLevel::Error, text, None)],
        };
    };
    let context = PathContext::without_branch_points(tools.clone());
    let mut blocks = BlockBuilder::from_entries([&entry], &context).blocks;
    blocks.iter_mut().for_each(shorten);
    for result in results(reader, node, &entry) {
        for block in blocks.iter_mut().filter(|block| is_call_of(block, &result)) {
            set_call_result(block, &result, None);
        }
    }
    if blocks.is_empty() {
        blocks.push(Block::notice(NoticeLevel::Note, text_of(&entry, tools), None));
    }
    LoadedPreview { node, facts: facts(&entry), blocks }
}

/// Returns the text of an entry that has no block in the transcript.
fn text_of(entry: &Entry, tools: &ToolCatalog) -> String {
    match entry.body.as_message().map(|message| &**message) {
        Some(Message::ToolResult(_)) => {
            let mut text = super::entry_text::full_text(entry);
            truncate(&mut text);
            text
        }
        _ => EntryText::from_entry(entry, tools).text,
    }
}

/// Returns the results of an answer's calls, which follow it closely.
fn results(reader: &Reader, node: usize, entry: &Entry) -> Vec<ToolResultMessage> {
    let calls = match entry.body.as_message().map(|message| &**message) {
        Some(Message::Assistant(answer)) => answer.tool_calls().count(),
        _ => 0,
    };
    let after = (node + 1..=node + RESULTS).map_while(|at| reader.entry_at(at).ok());
    let results = after.filter_map(|entry| match entry.body.as_message().map(|message| &**message) {
        Some(Message::ToolResult(result)) => Some(result.clone()),
        _ => None,
    });
    // Without calls nothing is read.
    results.take(calls).collect()
}

fn is_call_of(block: &Block, result: &ToolResultMessage) -> bool {
    matches!(&block.kind, BlockKind::Call(call) if call.id == result.tool_call_id)
}

/// Truncates long text.
fn shorten(block: &mut Block) {
    match &mut block.kind {
        BlockKind::User { text, .. }
        | BlockKind::Answer(text)
        | BlockKind::Thinking(text)
        | BlockKind::Rule { text, .. } => truncate(text),
        BlockKind::BranchPoint(point) => point.summary.iter_mut().for_each(truncate),
        BlockKind::Shell(shell) if matches!(shell.state, ShellState::Finished { .. }) => {
            truncate(&mut shell.output.text);
        }
        _ => {}
    }
}

fn truncate(text: &mut String) {
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
}

/// The entry's model and cost.
fn facts(entry: &Entry) -> Vec<String> {
    let usage = match &entry.body {
        EntryBody::Message(message) => match &*message.message {
            Message::Assistant(answer) => Some((answer.model.clone(), answer.usage.clone())),
            _ => None,
        },
        EntryBody::Compaction(compaction) => {
            let made_by = compaction.made_by.as_ref().map(|by| by.model.clone()).unwrap_or_default();
            compaction.usage.clone().map(|usage| (made_by, usage))
        }
        EntryBody::BranchSummary { usage, made_by, .. } => {
            let made_by = made_by.as_ref().map(|by| by.model.clone()).unwrap_or_default();
            usage.clone().map(|usage| (made_by, usage))
        }
        _ => None,
    };
    let Some((model, usage)) = usage else { return Vec::new() };
    let read = usage.input + usage.cache_read + usage.cache_write;
    let mut facts = vec![crate::text::one_line(&model)];
    if usage.total().0 > 0 {
        facts.push(format!("↑{read} ↓{}", usage.output));
    }
    if usage.cost.total.0 > 0.0 {
        facts.push(usage.cost.total.to_string());
    }
    facts.retain(|fact| !fact.is_empty());
    facts
}
