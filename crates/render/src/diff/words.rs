//! Word-level changes and syntax highlighting of a hunk.

use similar::{ChangeTag, TextDiff};

use super::line::{ChangedLines, DiffKind, DiffLine};
use crate::{Line, Role, Span, Style};

/// Maximum number of lines in a change whose words are compared; a larger change is a rewrite.
const MAX_COMPARED_LINES: usize = 200;

/// Returns the removed and the added lines, with changed words marked if there are both.
pub(super) fn mark_lines(change: &ChangedLines) -> (Vec<Vec<Span>>, Vec<Vec<Span>>) {
    let is_compared = !change.removed.is_empty()
        && !change.added.is_empty()
        && change.removed.len() + change.added.len() <= MAX_COMPARED_LINES;
    if !is_compared {
        let unmarked = |lines: &[String], role: Role| {
            lines.iter().map(|line| vec![Span::new(line.clone(), role)]).collect()
        };
        return (unmarked(&change.removed, Role::DiffRemoved), unmarked(&change.added, Role::DiffAdded));
    }
    let joined = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let (removed, added) = (joined(&change.removed), joined(&change.added));
    let diff = TextDiff::from_lines(&removed, &added);
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for change in diff.ops().iter().flat_map(|op| diff.iter_inline_changes(op)) {
        let values: Vec<(bool, String)> =
            change.iter_strings_lossy().map(|(marked, text)| (marked, text.into_owned())).collect();
        if change.tag() != ChangeTag::Insert {
            removed.push(mark_changed_words(&values, Role::DiffRemoved, Role::DiffRemovedWord));
        }
        if change.tag() != ChangeTag::Delete {
            added.push(mark_changed_words(&values, Role::DiffAdded, Role::DiffAddedWord));
        }
    }
    (removed, added)
}

/// Returns a line with its changed words marked; no word is marked if all are new.
fn mark_changed_words(values: &[(bool, String)], line: Role, word: Role) -> Vec<Span> {
    let is_new = values.iter().all(|(marked, text)| *marked || text.trim().is_empty());
    let span = |(marked, text): &(bool, String)| {
        Span::new(text.trim_end_matches('\n'), Style::from(if *marked && !is_new { word } else { line }))
    };
    values.iter().map(span).filter(|span| !span.text.is_empty()).collect()
}

/// Highlights each side of a hunk as one text, using `highlight`.
pub(super) fn highlight_hunk(hunk: &mut [DiffLine], mut highlight: impl FnMut(&str) -> Vec<Line>) {
    for side in [DiffKind::Removed, DiffKind::Added] {
        let is_on_side = |line: &DiffLine| line.kind == side || line.kind == DiffKind::Same;
        if !hunk.iter().any(|line| line.kind == side) {
            continue;
        }
        let text: String =
            hunk.iter().filter(|line| is_on_side(line)).map(|line| line.text() + "\n").collect();
        let mut highlighted = highlight(&text).into_iter();
        for line in hunk.iter_mut().filter(|line| is_on_side(line)) {
            let Some(tokens) = highlighted.next() else { break };
            // Lines that both sides have are highlighted with the new side.
            if line.kind == side || side == DiffKind::Added {
                line.spans = merge(&line.spans, &tokens);
            }
        }
    }
}

/// Merges a line's diff spans with its token spans: changed words keep their role, and tokens without a role
/// get the line's.
fn merge(spans: &[Span], tokens: &Line) -> Vec<Span> {
    let mut out: Vec<Span> = Vec::new();
    let mut tokens = tokens.spans.iter().map(|span| (span.text.len(), span.style.role));
    let mut token = tokens.next();
    for span in spans {
        let mut rest = span.text.as_str();
        while !rest.is_empty() {
            let (length, role) = token.unwrap_or((rest.len(), Role::Text));
            let cut = if rest.is_char_boundary(length.min(rest.len())) {
                length.min(rest.len())
            } else {
                rest.len()
            };
            let style = merged_style(span.style, role);
            match out.last_mut() {
                Some(last) if last.style == style => last.text.push_str(&rest[..cut]),
                _ => out.push(Span::new(&rest[..cut], style)),
            }
            rest = &rest[cut..];
            token = if length > cut { Some((length - cut, role)) } else { tokens.next() };
        }
    }
    out
}

fn merged_style(diff_style: Style, role: Role) -> Style {
    let is_word = matches!(diff_style.role, Role::DiffAddedWord | Role::DiffRemovedWord);
    if is_word || matches!(role, Role::Text | Role::Code) {
        return diff_style;
    }
    let line_role = matches!(diff_style.role, Role::DiffAdded | Role::DiffRemoved).then_some(diff_style.role);
    Style { role, background_role: line_role, ..diff_style }
}
