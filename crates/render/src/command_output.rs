//! What a command printed, as styled lines: its colours kept, and nothing in it that could act on a terminal.
//!
//! What carriage returns and escape sequences do was done before, by [`ansi`](tiller_core::ansi).

use tiller_core::ansi::{SgrState, StyleRun, StyledText, TAB};

use super::sanitize::spelled;
use super::{CopyAs, Line, Span, Style};

/// The lines of what a command printed, in `style` where it chose nothing else; not wrapped.
#[must_use]
pub fn command_output(printed: &StyledText, style: impl Into<Style>) -> Vec<Line> {
    let ground = style.into();
    let (mut strokes, mut at) = (printed.strokes.as_slice(), 0);
    let mut lines = Vec::new();
    for text in printed.text.split_terminator('\n') {
        lines.push(coloured(spelled(text, ground, TAB), strokes, at).into());
        at += text.chars().count() + 1;
        let over = strokes.iter().take_while(|stroke| stroke.end() <= at).count();
        strokes = &strokes[over..];
    }
    lines
}

/// The same as one text without styles.
pub(super) fn bare(text: &str) -> String {
    let lines: Vec<String> =
        command_output(&StyledText::of(text), Style::default()).iter().map(Line::text).collect();
    let mut out = lines.join("\n");
    if text.ends_with('\n') {
        out.push('\n');
    }
    out
}

/// The pieces of a line, whose first character is number `at`, in the colours of their strokes.
fn coloured(pieces: Vec<Span>, strokes: &[StyleRun], mut at: usize) -> Vec<Span> {
    if strokes.is_empty() {
        return pieces;
    }
    let mut strokes = strokes.iter().peekable();
    let (mut out, mut pen) = (Vec::new(), SgrState::default());
    for piece in pieces {
        let mut rest = piece.text.as_str();
        while !rest.is_empty() {
            while strokes.next_if(|stroke| stroke.end() <= at).is_some() {}
            let length = match piece.style.stands {
                CopyAs::ForNothing => usize::MAX,
                CopyAs::ForItself | CopyAs::For(_) => match strokes.peek() {
                    Some(stroke) if stroke.start <= at => {
                        pen = stroke.pen;
                        stroke.end() - at
                    }
                    next => {
                        pen = SgrState::default();
                        next.map_or(usize::MAX, |stroke| stroke.start - at)
                    }
                },
            };
            let cut = rest.char_indices().nth(length).map_or(rest.len(), |(at, _)| at);
            out.push(Span::new(&rest[..cut], inked(piece.style, pen)));
            at += match piece.style.stands {
                CopyAs::ForItself => rest[..cut].chars().count(),
                CopyAs::For(_) => 1,
                CopyAs::ForNothing => 0,
            };
            rest = &rest[cut..];
        }
    }
    out
}

fn inked(ground: Style, pen: SgrState) -> Style {
    let SgrState { emphasis, fg, bg } = pen;
    Style { fg: fg.or(ground.fg), bg: bg.or(ground.bg), ..ground }.with(emphasis)
}

#[cfg(test)]
mod tests;
