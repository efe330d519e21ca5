//! The last line: where, which session, which model, how full, how much, how careful.

use std::path::Path;

use super::super::app::App;
use super::spread;
use crate::message::ThinkingLevel;
use crate::render::{Line, Role, Span, cut_to};

/// A fact with its rank: the highest rank goes first when room is short.
struct Fact {
    text: String,
    role: Role,
    rank: u8,
}

pub(super) fn line(app: &App) -> Line {
    let width = usize::from(app.place.size.0).saturating_sub(2);
    let (mut left, mut right) = (left(app), right(app));
    while wide(&left) + wide(&right) + 2 > width {
        let highest = left.iter().chain(&right).map(|fact| fact.rank).max().unwrap_or(0);
        if highest == 0 {
            break;
        }
        left.retain(|fact| fact.rank != highest);
        right.retain(|fact| fact.rank != highest);
    }
    if right.is_empty() || wide(&left) + wide(&right) + 2 > width {
        let text: Vec<&str> = left.iter().chain(&right).map(|fact| fact.text.as_str()).collect();
        return Line::new(format!(" {}", cut_to(&text.join(" "), width)), Role::Muted);
    }
    let mut spans = vec![Span::new(" ", Role::Text)];
    spans.extend(joined(left));
    let mut line = spread(spans, Span::new(" ".repeat(wide(&right)), Role::Text), width + 1);
    line.spans.pop();
    line.spans.extend(joined(right));
    line
}

fn wide(facts: &[Fact]) -> usize {
    let gaps = 2 * facts.len().saturating_sub(1);
    facts.iter().map(|fact| Span::new(fact.text.clone(), fact.role).width()).sum::<usize>() + gaps
}

fn joined(facts: Vec<Fact>) -> Vec<Span> {
    let mut spans = Vec::new();
    for fact in facts {
        if !spans.is_empty() {
            spans.push(Span::new("  ", Role::Text));
        }
        spans.push(Span::new(fact.text, fact.role));
    }
    spans
}

fn left(app: &App) -> Vec<Fact> {
    let branch = app.facts.branch.as_ref().map(|branch| format!(" ({branch})")).unwrap_or_default();
    let folder = shortened(&app.place.cwd, app.place.home.as_deref());
    let mut facts = vec![Fact { text: format!("{folder}{branch}"), role: Role::Muted, rank: 4 }];
    // A fork looks like what it comes from: without a name its id tells them apart.
    let fork = app.facts.fork.as_ref().map(|id| format!("fork {}", id.short()));
    if let Some(name) = app.facts.name.as_ref().or(fork.as_ref()) {
        facts.push(Fact { text: cut_to(name, 30), role: Role::Text, rank: 5 });
    }
    facts
}

fn right(app: &App) -> Vec<Fact> {
    let facts = &app.facts;
    let mut shown = Vec::new();
    let mut add = |text: String, role, rank| shown.push(Fact { text, role, rank });
    if let Some(model) = &facts.model {
        let thinking = match facts.thinking {
            ThinkingLevel::Off => String::new(),
            level => format!(" · {}", level.name()),
        };
        add(format!("{}{thinking}", cut_to(&model.id, 32)), Role::Text, 0);
    }
    if let Some(percent) = (facts.context.used.0 * 100).checked_div(facts.context.window.0) {
        let role = match percent {
            0..=69 => Role::Muted,
            70..=89 => Role::Warning,
            _ => Role::Error,
        };
        add(format!("ctx {percent}%"), role, 2);
    }
    let input = facts.usage.input + facts.usage.cache_read + facts.usage.cache_write;
    if input.0 > 0 || facts.usage.output.0 > 0 {
        add(format!("↑{input} ↓{}", facts.usage.output), Role::Muted, 6);
    }
    if facts.usage.cost.total.0 > 0.0 {
        add(facts.usage.cost.total.to_string(), Role::Muted, 3);
    }
    if !facts.approval.is_empty() {
        let role = if facts.approval == "yes" { Role::Warning } else { Role::Muted };
        add(facts.approval.clone(), role, 1);
    }
    shown
}

/// A folder with `~` for the home, and of a long one its end.
fn shortened(folder: &Path, home: Option<&Path>) -> String {
    /// Columns of a folder beyond which its beginning is left out.
    const MOST: usize = 36;
    let text = match home.and_then(|home| folder.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => folder.display().to_string(),
    };
    if text.chars().count() <= MOST {
        return text;
    }
    let skip = text.chars().count() - MOST + 1;
    let end: String = text.chars().skip(skip).collect();
    format!("…{}", end.find('/').map_or(end.as_str(), |at| &end[at..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_shortened_from_its_beginning() {
        let home = Path::new("/home/ada");
        assert_eq!(shortened(Path::new("/home/ada"), Some(home)), "~");
        assert_eq!(shortened(Path::new("/home/ada/code/x"), Some(home)), "~/code/x");
        assert_eq!(shortened(Path::new("/home/adam"), Some(home)), "/home/adam");
        let long = "/srv/builds/of/a/very/deep/tree/of/folders/project";
        assert_eq!(shortened(Path::new(long), Some(home)), "…/very/deep/tree/of/folders/project");
    }
}
