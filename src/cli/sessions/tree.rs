//! `tiller sessions tree`.

use std::fmt::Write;

use serde_json::json;

use super::{columns, fit, one_line, print_raw, say, warn};
use crate::cli::{CliFailure, wiring};
use crate::message::{Message, ModelRef, StopReason, joined_text};
use crate::session::annotations::Annotations;
use crate::session::tree::{BranchMark, Tree, TreeNode, TreeRow};
use crate::session::{Entry, EntryBody, EntryKind, Finding, Reader};
use crate::unit::UnixMs;

/// Most lines before a row, so that a session taken up again a hundred times still fits on a screen; how many more there
/// would be is said as a number.
const DEEPEST: usize = 12;

pub(super) fn tree(reader: &Reader, all: bool, as_json: bool) -> Result<(), CliFailure> {
    warn(reader, &reader.findings());
    if as_json {
        let begin = format!("{{\n\"leafId\": {},\n\"entries\": ", json!(reader.leaf()));
        return print_raw(reader, 0..reader.entry_count(), (&begin, "\n}"));
    }
    let drawing = TreeDrawing::of(reader)?;
    let mut text = String::new();
    for row in drawing
        .tree
        .rows(reader.leaf().as_ref(), |at, node| is_said(node) && (all || drawing.hidden_with[at].is_none()))
    {
        drawing.draw(&row, wiring::now(), &mut text);
    }
    if !all {
        text.push_str(&drawing.left_out());
    }
    say(&text)
}

/// A tree, and what its rows say.
struct TreeDrawing {
    tree: Tree,
    marks: Annotations,
    hidden_with: Vec<Option<usize>>,
    /// By position.
    texts: Vec<TreeText>,
    /// How wide a row may be.
    columns: usize,
}

/// What a row says of its entry.
#[derive(Default)]
struct TreeText {
    headline: String,
    /// Who answered, if that is somebody else than before on the same path.
    model: Option<ModelRef>,
}

impl TreeDrawing {
    /// Reads the whole log once; of each entry a line is kept.
    fn of(reader: &Reader) -> Result<Self, CliFailure> {
        let tree = reader.tree();
        let marks = Annotations::of(reader, &tree);
        let hidden_with = marks.hidden_with(&tree, reader.leaf().as_ref());
        let mut texts: Vec<TreeText> = Vec::with_capacity(tree.nodes().len());
        // Who answered last on the way to each entry.
        let mut answered: Vec<Option<ModelRef>> = Vec::with_capacity(tree.nodes().len());
        reader.visit(0, |entry| {
            let parent = tree.nodes().get(texts.len()).and_then(|node| node.parent);
            let before = parent.and_then(|parent| answered[parent].clone());
            let who = entry.as_ref().ok().and_then(answerer);
            let model = who.clone().filter(|who| before.as_ref().is_some_and(|before| before != who));
            texts.push(TreeText { headline: one_line(&headline(&entry)), model });
            answered.push(who.or(before));
        })?;
        Ok(Self { tree, marks, hidden_with, texts, columns: columns() })
    }

    fn draw(&self, row: &TreeRow, now: UnixMs, text: &mut String) {
        let node = &self.tree.nodes()[row.node];
        let Some(TreeText { headline, model }) = self.texts.get(row.node) else { return };
        // An unreadable moment is 1970.
        let age = if node.timestamp == UnixMs(0) { "?".to_owned() } else { node.timestamp.age(now) };
        let sign = match (row.on_path, self.hidden_with[row.node].is_some()) {
            (true, _) => "* ",
            (false, true) => "~ ",
            (false, false) => "  ",
        };
        let mut line = format!("{sign}{}{}  {age:>4}", branches(row), one_line(node.id.short()));
        // What is short stands before what may be cut off at the edge.
        if let Some(label) = self.marks.label(row.node) {
            let _ = write!(line, "  [{}]", one_line(label));
        }
        if self.marks.is_hidden(row.node) && !row.on_path {
            line.push_str("  (hidden)");
        }
        if let Some(model) = model {
            let _ = write!(line, "  ({})", one_line(&model.to_string()));
        }
        let _ = writeln!(text, "{}", fit(&format!("{line}  {headline}"), self.columns));
    }

    /// What isn't drawn because it is hidden, in a line; nothing if nothing is.
    fn left_out(&self) -> String {
        let nodes = self.tree.nodes();
        let hidden: Vec<usize> = (0..nodes.len()).filter(|at| self.hidden_with[*at].is_some()).collect();
        let begins = |at: &&usize| self.hidden_with[**at] == Some(**at);
        let said = hidden.iter().filter(|at| is_said(&nodes[**at])).count();
        match hidden.iter().filter(begins).count() {
            0 => String::new(),
            1 => format!("(a branch of {said} is hidden; --all draws it too)\n"),
            branches => format!("({branches} branches, {said} in all, are hidden; --all draws them too)\n"),
        }
    }
}

pub(super) fn is_said(node: &TreeNode) -> bool {
    matches!(
        node.kind,
        EntryKind::Message | EntryKind::Compaction | EntryKind::BranchSummary | EntryKind::CustomMessage
    )
}

/// The lines before a row.
fn branches(row: &TreeRow) -> String {
    let above = |levels: usize| match levels.checked_sub(DEEPEST) {
        Some(more @ 1..) => format!("⋯{more} {}", "│  ".repeat(DEEPEST)),
        Some(0) | None => "│  ".repeat(levels),
    };
    match row.branch {
        BranchMark::Continues => above(row.depth),
        BranchMark::Begins => above(row.depth.saturating_sub(1)) + "├─ ",
        BranchMark::BeginsLast => above(row.depth.saturating_sub(1)) + "└─ ",
    }
}

fn answerer(entry: &Entry) -> Option<ModelRef> {
    match &**entry.body.as_message()? {
        Message::Assistant(answer) if !answer.model.is_empty() => {
            Some(ModelRef { provider: answer.provider.clone(), id: answer.model.clone() })
        }
        _ => None,
    }
}

fn headline(entry: &Result<Entry, Finding>) -> String {
    let entry = match entry {
        Ok(entry) => entry,
        Err(finding) => return format!("(damaged: line {})", finding.line),
    };
    match &entry.body {
        EntryBody::Message(said) => message(&said.message),
        EntryBody::Compaction(_) => "(compacted)".to_owned(),
        EntryBody::BranchSummary { summary, .. } => format!("(another branch) {summary}"),
        EntryBody::CustomMessage { content, .. } => content.joined_text(),
        _ => String::new(),
    }
}

fn message(message: &Message) -> String {
    match message {
        Message::User(user) => format!("> {}", user.as_typed()),
        Message::Assistant(answer) => {
            let calls: Vec<&str> = answer.tool_calls().map(|call| call.name.as_str()).collect();
            let calls = if calls.is_empty() { String::new() } else { format!(" [{}]", calls.join(", ")) };
            match answer.joined_text() + &calls {
                text if !text.trim().is_empty() => text,
                _ if answer.stop_reason == StopReason::Error => "(failed)".to_owned(),
                _ if answer.stop_reason == StopReason::Aborted => "(stopped)".to_owned(),
                _ => "(nothing said)".to_owned(),
            }
        }
        Message::ToolResult(result) => format!("  {}: {}", result.tool_name, joined_text(&result.content)),
        Message::BashExecution(bash) => format!("!{}", bash.command),
        Message::System(_) => "(system prompt)".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deep_tree_leaves_room_for_its_rows() {
        let drawn = |depth| branches(&TreeRow { node: 0, depth, branch: BranchMark::Begins, on_path: false });
        assert_eq!(drawn(3), "│  │  ├─ ");
        assert_eq!(drawn(DEEPEST + 1), "│  ".repeat(DEEPEST) + "├─ ");
        assert_eq!(drawn(DEEPEST + 41), format!("⋯40 {}├─ ", "│  ".repeat(DEEPEST)));
    }
}
