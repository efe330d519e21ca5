//! Lines of an item's detail.

use tiller_render::{Emphasis, Line, Role, Span, Style};

use crate::text::one_line;

/// The mark before the current entry.
pub(crate) const fn mark(is_current: bool) -> &'static str {
    if is_current { "● " } else { "  " }
}

pub(crate) fn fact(name: &str, value: impl Into<String>) -> Line {
    Line::from(vec![Span::new(format!("{name:<11}"), Role::Muted), Span::new(value, Role::Text)])
}

pub(crate) fn heading(text: &str) -> Line {
    Line::new(one_line(text), Style::from(Role::Text).with(Emphasis::BOLD))
}
