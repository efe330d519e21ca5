//! What tiller notes beneath an output: that it was cut and where all of it is, that the command took too long.
//!
//! The notes are part of the text that the model reads. On the screen they stand apart, so that a folded output ends with what was
//! printed last.

use tiller_render::{
    self as render, Breaks, ControlChars, Indent, Line, LinkSource, Role, Span, sanitize, wrap,
};

/// How the note on a cut output begins: in the result of a call, and in the record of a command of the user's own.
const CUT: [&str; 2] = ["\n[output cut: ", "\noutput cut: "];

/// Bytes at the end of a text in which its notes stand: a few lines, one with a path.
const LONGEST: usize = 8 * 1024;

/// A text without the blank lines at its end; a carriage return there is none.
pub(super) fn trimmed(text: &str) -> &str {
    text.trim_end_matches([' ', '\t', '\n'])
}

/// What was printed, and the notes beneath it. Without a note on a cut there is none.
pub(super) fn split(text: &str) -> (&str, &str) {
    let text = trimmed(text);
    let from = text.ceil_char_boundary(text.len().saturating_sub(LONGEST));
    let found = CUT.iter().filter_map(|cut| text[from..].rfind(cut)).max();
    match found.map(|at| text.split_at(from + at)) {
        Some((printed, notes)) if notes.lines().skip(2).all(is_note) => (trimmed(printed), notes.trim()),
        Some(_) | None => (text, ""),
    }
}

/// Whether a line is tiller's, if the one on the cut before it is.
fn is_note(line: &str) -> bool {
    line.starts_with('[') && line.ends_with(']')
}

/// Notes as lines; a path is whole where a line has room for it.
pub(super) fn lines(notes: &str, width: usize) -> Vec<Line> {
    let line = |note: &str| {
        let note = note.trim_start_matches('[').trim_end_matches(']');
        let span = Span::new(sanitize(note, ControlChars::Visible).as_ref(), Role::Muted);
        wrap(&render::linked(vec![span], LinkSource::AsItIs), width, &Indent::default(), Breaks::Words)
    };
    notes.lines().flat_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_notes_beneath_an_output_are_told_from_what_was_printed() {
        let cut = "[output cut: the last 2 of 9 lines are shown; all of it is in /tmp/a]";
        let late = format!("{cut}\n[stopped after 3 s]");
        assert_eq!(split(&format!("8\n9\n{cut}")), ("8\n9", cut));
        assert_eq!(split(&format!("8\n9\n{late}\n")), ("8\n9", late.as_str()));
        assert_eq!(split("8\n9\n\noutput cut: so"), ("8\n9", "output cut: so"));
        for own in ["8\n[9]", "output cut: no", &format!("{cut}\n8\n9"), &format!("1\n{cut}\n8\n9")] {
            assert_eq!(split(own), (own, ""));
        }
    }

    #[test]
    fn a_path_that_fits_on_a_line_is_not_broken() {
        let path = "/home/ada/.cache/tiller/output-abc-def.txt";
        let lines = lines(&format!("[output cut: the last 2 lines are shown; all of it is in {path}]"), 46);
        assert_eq!(lines.last().unwrap().text().trim_end(), path);
    }
}
