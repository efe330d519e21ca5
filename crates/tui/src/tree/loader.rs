//! Reading what the tree asks for: the shape, texts of rows, one entry in full. On a thread that may wait for the disk.

use tiller_core::message::{Message, ToolResultMessage};
use tiller_render::Role;
use tiller_session::{Entry, EntryBody, Reader};

use super::entry_text::EntryText;
use super::model::TreeModel;
use super::{LoadedPreview, LoadedTexts, TreeRequest, TreeResult, TreeWant};
use crate::block::{Block, BlockKind, NoticeLevel, ShellState};
use crate::log_blocks::{BlockBuilder, finish_call};

/// Bytes of a text that a preview shows: many times more than fits on any screen.
const LONGEST: usize = 8_000;

/// Entries after an answer among which the results of its calls are looked for.
const RESULTS: usize = 32;

/// Answers what the tree asks, other than what is searched for.
pub(crate) fn look(reader: &Reader, ask: &TreeRequest) -> Option<TreeResult> {
    Some(match ask {
        TreeRequest::Shape => TreeResult::Shape(Box::new(TreeModel::of(reader))),
        TreeRequest::Texts(wants) => {
            TreeResult::Texts(wants.iter().map(|want| texted(reader, want)).collect())
        }
        TreeRequest::Preview(node) => TreeResult::Preview(Box::new(previewed(reader, *node))),
        TreeRequest::Search(_) | TreeRequest::EndSearch => return None,
    })
}

fn texted(reader: &Reader, want: &TreeWant) -> LoadedTexts {
    let said =
        reader.entry_at(want.node).map_or_else(|_| EntryText::damaged(), |entry| EntryText::of(&entry));
    let model = want.answer.and_then(|answer| model(&reader.entry_at(answer).ok()?));
    LoadedTexts { want: *want, said, model }
}

/// The model that gave an answer.
fn model(entry: &Entry) -> Option<String> {
    match &**entry.body.as_message()? {
        Message::Assistant(answer) if !answer.model.is_empty() => Some(answer.model.clone()),
        _ => None,
    }
}

fn previewed(reader: &Reader, node: usize) -> LoadedPreview {
    let Ok(entry) = reader.entry_at(node) else {
        let said = EntryText::damaged().text;
        return LoadedPreview {
            node,
            facts: Vec::new(),
            blocks: vec![Block::notice(NoticeLevel::Error, said, None)],
        };
    };
    let mut blocks = BlockBuilder::of([&entry]).blocks;
    blocks.iter_mut().for_each(shorten);
    for result in results(reader, node, &entry) {
        for block in blocks.iter_mut().filter(|block| is_call_of(block, &result)) {
            finish_call(block, &result, None);
        }
    }
    if blocks.is_empty() {
        blocks.push(Block::notice(NoticeLevel::Note, text_of(&entry), None));
    }
    LoadedPreview { node, facts: facts(&entry), blocks }
}

/// What an entry says that makes no block of the transcript.
fn text_of(entry: &Entry) -> String {
    match entry.body.as_message().map(|message| &**message) {
        Some(Message::ToolResult(_)) => {
            let mut text = super::entry_text::whole(entry);
            cut(&mut text);
            text
        }
        _ => EntryText::of(entry).text,
    }
}

/// The results of an answer's calls: they follow it closely.
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
    // Without calls nothing is read at all.
    results.take(calls).collect()
}

fn is_call_of(block: &Block, result: &ToolResultMessage) -> bool {
    matches!(&block.kind, BlockKind::Call(call) if call.id == result.tool_call_id)
}

/// Leaves out what no screen has room for.
fn shorten(block: &mut Block) {
    match &mut block.kind {
        BlockKind::User { text, .. }
        | BlockKind::Answer(text)
        | BlockKind::Thinking(text)
        | BlockKind::Rule { text, .. } => cut(text),
        BlockKind::BranchPoint(point) => point.summary.iter_mut().for_each(cut),
        BlockKind::Shell(shell) if matches!(shell.state, ShellState::Over { .. }) => {
            cut(&mut shell.output.text);
        }
        _ => {}
    }
}

fn cut(text: &mut String) {
    if text.len() > LONGEST {
        text.truncate(text.floor_char_boundary(LONGEST));
        text.push('…');
    }
}

/// Who answered, and what it took.
fn facts(entry: &Entry) -> Vec<String> {
    let usage = match &entry.body {
        EntryBody::Message(said) => match &*said.message {
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
    let mut facts = vec![crate::tool_call::one_line(&model)];
    if usage.total().0 > 0 {
        facts.push(format!("↑{read} ↓{}", usage.output));
    }
    if usage.cost.total.0 > 0.0 {
        facts.push(usage.cost.total.to_string());
    }
    facts.retain(|fact| !fact.is_empty());
    facts
}

impl EntryText {
    /// Whether it may be overlooked.
    pub(super) fn is_muted(&self) -> bool {
        self.role == Role::Muted
    }
}
