//! The banner of a new session.

use tiller_render as render;
use tiller_render::{Emphasis, Line, Role, Span, Style, truncate_to};

use crate::text::one_line;

/// Width of a row's name in columns.
pub(crate) const NAME_WIDTH: usize = 10;

/// The text above the editor in a new session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Banner {
    /// Lines of text; the first is emphasized, long ones are wrapped.
    pub(crate) lines: Vec<String>,
    /// Rows of a name and a value; long values are truncated.
    pub(crate) facts: Vec<(&'static str, String)>,
}

impl Banner {
    /// Returns the texts for searching and copying.
    pub(crate) fn texts(&self) -> Vec<String> {
        let facts = self.facts.iter().map(|(name, fact)| format!("{name}: {fact}"));
        self.lines.iter().cloned().chain(facts).collect()
    }

    pub(crate) fn rows(&self, width: usize) -> Vec<Line> {
        let title = Style::from(Role::Accent).with(Emphasis::BOLD);
        let (first, rest) =
            self.lines.split_first().map_or((None, &[][..]), |(first, rest)| (Some(first), rest));
        let title = first.into_iter().flat_map(|line| render::plain(line, title, width));
        let facts = self.facts.iter().map(|(name, fact)| {
            let room = width.saturating_sub(NAME_WIDTH);
            Line::from(vec![
                Span::new(format!("{name:<NAME_WIDTH$}"), Role::Muted),
                Span::new(truncate_to(&one_line(fact), room), Role::Text),
            ])
        });
        let muted = Style::from(Role::Muted);
        let rest = rest.iter().flat_map(|line| render::plain(line, muted, width));
        title.chain(facts).chain(rest).collect()
    }
}
