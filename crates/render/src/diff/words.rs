//! What the words of a changed line are: which of them differ, and what they are in their language.

use similar::{ChangeTag, TextDiff};

use super::{Change, DiffKind, DiffLine};
use crate::{Line, Role, Span, Style};

/// Lines of one change beyond which words aren't compared: whoever rewrote that much rewrote it all.
const MOST_COMPARED: usize = 200;

/// The lines that went and those that came, with the words marked by which they differ when old and new stand side by side.
pub(super) fn marked_lines(change: &Change) -> (Vec<Vec<Span>>, Vec<Vec<Span>>) {
    let compared = !change.removed.is_empty()
        && !change.added.is_empty()
        && change.removed.len() + change.added.len() <= MOST_COMPARED;
    if !compared {
        let whole = |lines: &[String], role: Role| {
            lines.iter().map(|line| vec![Span::new(line.clone(), role)]).collect()
        };
        return (whole(&change.removed, Role::DiffRemoved), whole(&change.added, Role::DiffAdded));
    }
    let closed = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    let (old, new) = (closed(&change.removed), closed(&change.added));
    let diff = TextDiff::from_lines(&old, &new);
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for change in diff.ops().iter().flat_map(|op| diff.iter_inline_changes(op)) {
        let values: Vec<(bool, String)> =
            change.iter_strings_lossy().map(|(marked, text)| (marked, text.into_owned())).collect();
        if change.tag() != ChangeTag::Insert {
            removed.push(marked(&values, Role::DiffRemoved, Role::DiffRemovedWord));
        }
        if change.tag() != ChangeTag::Delete {
            added.push(marked(&values, Role::DiffAdded, Role::DiffAddedWord));
        }
    }
    (removed, added)
}

/// A line with the words marked that differ; of one in which nothing is the same none are.
fn marked(values: &[(bool, String)], line: Role, word: Role) -> Vec<Span> {
    let is_new = values.iter().all(|(marked, text)| *marked || text.trim().is_empty());
    let span = |(marked, text): &(bool, String)| {
        Span::new(text.trim_end_matches('\n'), Style::from(if *marked && !is_new { word } else { line }))
    };
    values.iter().map(span).filter(|span| !span.text.is_empty()).collect()
}

/// Tells apart the words of a hunk's code, each side of it as one text; `highlight` does it for a side.
pub(super) fn tell(hunk: &mut [DiffLine], mut highlight: impl FnMut(&str) -> Vec<Line>) {
    for side in [DiffKind::Removed, DiffKind::Added] {
        let is_there = |line: &DiffLine| line.kind == side || line.kind == DiffKind::Same;
        if !hunk.iter().any(|line| line.kind == side) {
            continue;
        }
        let text: String = hunk.iter().filter(|line| is_there(line)).map(|line| line.text() + "\n").collect();
        let mut told = highlight(&text).into_iter();
        for line in hunk.iter_mut().filter(|line| is_there(line)) {
            let Some(words) = told.next() else { break };
            // What both sides have is told with the new one.
            if line.kind == side || side == DiffKind::Added {
                line.spans = laid_over(&line.spans, &words);
            }
        }
    }
}

/// The pieces of a line as the diff and as its language has them: a word that differs stays that, and what is nothing in
/// particular keeps the role of its line.
fn laid_over(spans: &[Span], words: &Line) -> Vec<Span> {
    let mut out: Vec<Span> = Vec::new();
    let mut words = words.spans.iter().map(|span| (span.text.len(), span.style.role));
    let mut word = words.next();
    for span in spans {
        let mut rest = span.text.as_str();
        while !rest.is_empty() {
            let (length, role) = word.unwrap_or((rest.len(), Role::Text));
            let cut = if rest.is_char_boundary(length.min(rest.len())) {
                length.min(rest.len())
            } else {
                rest.len()
            };
            let style = told(span.style, role);
            match out.last_mut() {
                Some(last) if last.style == style => last.text.push_str(&rest[..cut]),
                _ => out.push(Span::new(&rest[..cut], style)),
            }
            rest = &rest[cut..];
            word = if length > cut { Some((length - cut, role)) } else { words.next() };
        }
    }
    out
}

fn told(of_diff: Style, role: Role) -> Style {
    let is_word = matches!(of_diff.role, Role::DiffAddedWord | Role::DiffRemovedWord);
    if is_word || matches!(role, Role::Text | Role::Code) {
        return of_diff;
    }
    let ground = matches!(of_diff.role, Role::DiffAdded | Role::DiffRemoved).then_some(of_diff.role);
    Style { role, ground, ..of_diff }
}
