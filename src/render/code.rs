//! Blocks of code.

use super::{Breaks, Carriage, Emphasis, Indent, Line, Role, Span, Style, clean, wrap};

/// Columns by which code stands in.
pub(super) const INDENT: &str = "  ";

/// A block of code with its language above it. The one place where highlighting will go.
#[must_use]
pub fn code_block(code: &str, language: &str, width: usize) -> Vec<Line> {
    let mut lines: Vec<Line> = label(language).into_iter().collect();
    lines.extend(clean(code, Carriage::Shown).lines().flat_map(|line| code_line(line, width)));
    lines
}

/// The line that names a block's language.
pub(super) fn label(language: &str) -> Option<Line> {
    let language = language.split([',', ' ', '{']).next().unwrap_or_default();
    let style = Style::from(Role::Muted).with(Emphasis::ITALIC);
    let text = format!("{INDENT}{}", clean(language, Carriage::Shown));
    (!language.is_empty()).then(|| Line::new(text, style))
}

/// One line of code, already clean.
pub(super) fn code_line(line: &str, width: usize) -> Vec<Line> {
    let indent = Indent::all(vec![Span::new(INDENT, Role::Code)]);
    wrap(&[Span::new(line, Role::Code)], width, &indent, Breaks::Anywhere)
}
