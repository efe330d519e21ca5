//! `tiller sessions tree`.

use std::fmt::Write;

use serde_json::json;

use super::output::{one_line, print_raw, warn};
use crate::cli::failure::CliFailure;
use crate::cli::startup;
use crate::cli::stdout::{columns, fit, print_text};
use crate::message::{Message, ModelRef, StopReason, joined_text};
use crate::session::annotations::Annotations;
use crate::session::tree::{BranchMark, Tree, TreeNode, TreeRow};
use crate::session::{Entry, EntryBody, EntryKind, Finding, Reader};
use crate::unit::UnixMs;

/// Maximum number of lines drawn before a row, so that a session with a hundred nested branches fits on a
/// screen; the number of omitted lines is shown.
const MAX_DEPTH: usize = 12;

pub(super) fn tree(reader: &Reader, all: bool, as_json: bool) -> Result<(), CliFailure> {
    warn(reader, &reader.findings());
    if as_json {
        let beginning = format!("{{\n\"leafId\": {},\n\"entries\": ", json!(reader.leaf()));
        return print_raw(reader, 0..reader.entry_count(), (&beginning, "\n}"));
    }
    let drawing = TreeDrawing::load(reader)?;
    let mut text = String::new();
    for row in drawing.tree.rows(reader.leaf().as_ref(), |at, node| {
        is_message(node) && (all || drawing.hiding_ancestors[at].is_none())
    }) {
        drawing.draw(&row, startup::now(), &mut text);
    }
    if !all {
        text.push_str(&drawing.hidden_summary());
    }
    print_text(&text)
}

/// A tree and the text of its rows.
struct TreeDrawing {
    tree: Tree,
    annotations: Annotations,
    hiding_ancestors: Vec<Option<usize>>,
    texts: Vec<TreeText>,
    /// Maximum width of a row.
    columns: usize,
}

#[derive(Default)]
struct TreeText {
    headline: String,
    /// The model, if it differs from the previous one on the same path.
    model: Option<ModelRef>,
}

impl TreeDrawing {
    /// Reads the log once and keeps one line per entry.
    fn load(reader: &Reader) -> Result<Self, CliFailure> {
        let tree = reader.tree();
        let annotations = Annotations::read(reader, &tree);
        let hiding_ancestors = annotations.hiding_ancestors(&tree, reader.leaf().as_ref());
        let mut texts: Vec<TreeText> = Vec::with_capacity(tree.nodes().len());
        // The last model on the path to each entry.
        let mut models: Vec<Option<ModelRef>> = Vec::with_capacity(tree.nodes().len());
        reader.visit(0, |entry| {
            let parent = tree.nodes().get(texts.len()).and_then(|node| node.parent);
            let previous = parent.and_then(|parent| models[parent].clone());
            let answering = entry.as_ref().ok().and_then(answering_model);
            let model =
                answering.clone().filter(|model| previous.as_ref().is_some_and(|previous| previous != model));
            texts.push(TreeText { headline: one_line(&headline(&entry)), model });
            models.push(answering.or(previous));
        })?;
        Ok(Self { tree, annotations, hiding_ancestors, texts, columns: columns() })
    }

    fn draw(&self, row: &TreeRow, now: UnixMs, text: &mut String) {
        let node = &self.tree.nodes()[row.node];
        let Some(TreeText { headline, model }) = self.texts.get(row.node) else { return };
        // A timestamp that can't be parsed is read as 1970.
        let age = if node.timestamp == UnixMs(0) { "?".to_owned() } else { node.timestamp.age(now) };
        let marker = match (row.on_path, self.hiding_ancestors[row.node].is_some()) {
            (true, _) => "* ",
            (false, true) => "~ ",
            (false, false) => "  ",
        };
        let mut line = format!("{marker}{}{}  {age:>4}", branches(row), one_line(node.id.short()));
        // Short parts come before the text, which may be cut off.
        if let Some(label) = self.annotations.label(row.node) {
            let _ = write!(line, "  [{}]", one_line(label));
        }
        if self.annotations.is_hidden(row.node) && !row.on_path {
            line.push_str("  (hidden)");
        }
        if let Some(model) = model {
            let _ = write!(line, "  ({})", one_line(&model.to_string()));
        }
        let _ = writeln!(text, "{}", fit(&format!("{line}  {headline}"), self.columns));
    }

    /// Formats a line about hidden branches; empty if there are none.
    fn hidden_summary(&self) -> String {
        let nodes = self.tree.nodes();
        let hidden: Vec<usize> = (0..nodes.len()).filter(|at| self.hiding_ancestors[*at].is_some()).collect();
        let begins = |at: &&usize| self.hiding_ancestors[**at] == Some(**at);
        let messages = hidden.iter().filter(|at| is_message(&nodes[**at])).count();
        match hidden.iter().filter(begins).count() {
            0 => String::new(),
            1 => format!("({messages} hidden in one branch; --all draws it too)\n"),
            branches => format!("({messages} hidden in {branches} branches; --all draws them too)\n"),
        }
    }
}

pub(super) fn is_message(node: &TreeNode) -> bool {
    matches!(
        node.kind,
        EntryKind::Message | EntryKind::Compaction | EntryKind::BranchSummary | EntryKind::CustomMessage
    )
}

/// Returns the branch lines before a row.
fn branches(row: &TreeRow) -> String {
    let indent = |levels: usize| match levels.checked_sub(MAX_DEPTH) {
        Some(deeper @ 1..) => format!("⋯{deeper} {}", "│  ".repeat(MAX_DEPTH)),
        Some(0) | None => "│  ".repeat(levels),
    };
    match row.branch {
        BranchMark::Continues => indent(row.depth),
        BranchMark::Begins => indent(row.depth.saturating_sub(1)) + "├─ ",
        BranchMark::BeginsLast => indent(row.depth.saturating_sub(1)) + "└─ ",
    }
}

fn answering_model(entry: &Entry) -> Option<ModelRef> {
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
        EntryBody::Message(entry) => message(&entry.message),
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
                _ => "(empty)".to_owned(),
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
    fn branches_deep_row_is_abbreviated() {
        let drawn = |depth| branches(&TreeRow { node: 0, depth, branch: BranchMark::Begins, on_path: false });
        assert_eq!(drawn(3), "│  │  ├─ ");
        assert_eq!(drawn(MAX_DEPTH + 1), "│  ".repeat(MAX_DEPTH) + "├─ ");
        assert_eq!(drawn(MAX_DEPTH + 41), format!("⋯40 {}├─ ", "│  ".repeat(MAX_DEPTH)));
    }
}
