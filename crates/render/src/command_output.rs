//! Command output as styled lines: colors are kept, and anything that could affect a terminal is removed.
//!
//! Carriage returns and escape sequences are already interpreted by [`ansi`](tiller_core::ansi).

use tiller_core::ansi::{SgrState, StyleRun, StyledText, TAB};

use super::sanitize::expand;
use super::{CopyAs, Line, Span, Style};

/// Returns the lines of command output, not wrapped; text without a style of its own gets `style`.
#[must_use]
pub fn command_output(output: &StyledText, style: impl Into<Style>) -> Vec<Line> {
    let base = style.into();
    let (mut style_runs, mut at) = (output.style_runs.as_slice(), 0);
    let mut lines = Vec::new();
    for text in output.text.split_terminator('\n') {
        lines.push(split_by_runs(expand(text, base, TAB), style_runs, at).into());
        at += text.chars().count() + 1;
        let passed = style_runs.iter().take_while(|style_run| style_run.end() <= at).count();
        style_runs = &style_runs[passed..];
    }
    lines
}

/// Splits a line's spans by style runs; `at` is the index of the line's first character in the output.
fn split_by_runs(spans: Vec<Span>, style_runs: &[StyleRun], mut at: usize) -> Vec<Span> {
    if style_runs.is_empty() {
        return spans;
    }
    let mut style_runs = style_runs.iter().peekable();
    let (mut out, mut sgr) = (Vec::new(), SgrState::default());
    for span in spans {
        let mut rest = span.text.as_str();
        while !rest.is_empty() {
            while style_runs.next_if(|style_run| style_run.end() <= at).is_some() {}
            let length = match span.style.copy_as {
                CopyAs::Nothing => usize::MAX,
                CopyAs::Itself | CopyAs::Char(_) => match style_runs.peek() {
                    Some(style_run) if style_run.start <= at => {
                        sgr = style_run.style;
                        style_run.end() - at
                    }
                    next => {
                        sgr = SgrState::default();
                        next.map_or(usize::MAX, |style_run| style_run.start - at)
                    }
                },
            };
            let cut = rest.char_indices().nth(length).map_or(rest.len(), |(at, _)| at);
            out.push(Span::new(&rest[..cut], with_sgr(span.style, sgr)));
            at += match span.style.copy_as {
                CopyAs::Itself => rest[..cut].chars().count(),
                CopyAs::Char(_) => 1,
                CopyAs::Nothing => 0,
            };
            rest = &rest[cut..];
        }
    }
    out
}

fn with_sgr(base: Style, sgr: SgrState) -> Style {
    let SgrState { emphasis, fg, bg } = sgr;
    Style { fg: fg.or(base.fg), bg: bg.or(base.bg), ..base }.with(emphasis)
}

#[cfg(test)]
mod tests;
