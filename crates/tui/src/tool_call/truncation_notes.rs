//! Notes under tool output: the output was truncated, with the location of the full output, or the command
//! timed out.
//!
//! The notes are part of the text for the model. The screen separates them, so that folded output ends with
//! the last printed lines.

use tiller_render::{
    self as render, AddressStyle, BreakMode, ControlChars, Indent, Line, Role, Span, sanitize, wrap,
};

/// Prefix of the truncation note: in a tool result, and in the record of a user's shell command.
const TRUNCATED: [&str; 2] = ["\n[OUTPUT TRUNCATED: ", "\nOUTPUT TRUNCATED: "];

/// Bytes at the end of a text that are searched for notes; enough for a few lines, one with a path.
const MAX_NOTES: usize = 8 * 1024;

/// A text without trailing blank lines. A trailing carriage return is kept.
pub(super) fn trimmed(text: &str) -> &str {
    text.trim_end_matches([' ', '\t', '\n'])
}

/// Splits a text into output and notes. Without a truncation note there are no notes.
pub(super) fn split(text: &str) -> (&str, &str) {
    let text = trimmed(text);
    let from = text.ceil_char_boundary(text.len().saturating_sub(MAX_NOTES));
    let found = TRUNCATED.iter().filter_map(|prefix| text[from..].rfind(prefix)).max();
    match found.map(|at| text.split_at(from + at)) {
        Some((printed, notes)) if notes.lines().skip(2).all(is_note) => (trimmed(printed), notes.trim()),
        Some(_) | None => (text, ""),
    }
}

/// Returns true if a line after a truncation note is also a note.
fn is_note(line: &str) -> bool {
    line.starts_with('[') && line.ends_with(']')
}

/// Returns the lines of notes; a path isn't broken if it fits on a line.
pub(super) fn lines(notes: &str, width: usize) -> Vec<Line> {
    let line = |note: &str| {
        let note = note.trim_start_matches('[').trim_end_matches(']');
        let span = Span::new(sanitize(note, ControlChars::Visible).as_ref(), Role::Muted);
        wrap(
            &render::link_addresses(vec![span], AddressStyle::AsItIs),
            width,
            &Indent::default(),
            BreakMode::Words,
        )
    };
    notes.lines().flat_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_split_output_and_notes() {
        let cut = "[OUTPUT TRUNCATED: the last 2 of 9 lines are shown; full output in /tmp/a]";
        let late = format!("{cut}\n[stopped after 3 s]");
        assert_eq!(split(&format!("8\n9\n{cut}")), ("8\n9", cut));
        assert_eq!(split(&format!("8\n9\n{late}\n")), ("8\n9", late.as_str()));
        assert_eq!(split("8\n9\n\nOUTPUT TRUNCATED: so"), ("8\n9", "OUTPUT TRUNCATED: so"));
        for own in ["8\n[9]", "OUTPUT TRUNCATED: no", &format!("{cut}\n8\n9"), &format!("1\n{cut}\n8\n9")] {
            assert_eq!(split(own), (own, ""));
        }
    }

    #[test]
    fn notes_fitting_path_is_not_broken() {
        let path = "/home/ada/.cache/tiller/output-abc-def.txt";
        let lines =
            lines(&format!("[OUTPUT TRUNCATED: the last 2 lines are shown; full output in {path}]"), 46);
        assert_eq!(lines.last().unwrap().text().trim_end(), path);
    }
}
