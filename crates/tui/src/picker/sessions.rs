//! Session lists: rows, search hits, threads of forks, and previews.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use tiller_core::counted::counted;
use tiller_core::id::{EntryId, SessionId};
use tiller_core::message::{Message, UserMessage};
use tiller_core::unit::{UnixMs, thousands};
use tiller_render::{self as render, ControlChars, Emphasis, Line, Role, Span, Style, Wrap, sanitize};
use tiller_session::{Reader, SearchHit, SessionScope, SessionSummary, Snippet};

use crate::picker::detail_lines::{fact, heading};
use crate::picker::item::{MARKS, PickerChoice, PickerItem};
use crate::picker::session_query::SessionExcerpt;
use crate::text::{MAX_CHARS, age, one_line, spaced, typed};

/// Maximum length of a directory in a row, in characters.
const MAX_DIRECTORY: usize = 28;

/// Maximum length of a title next to a search hit, in characters.
const MAX_TITLE: usize = 24;

/// Width of the preview's layout; the list wraps it to its actual width.
const PREVIEW_WIDTH: usize = 48;

/// Maximum lines of the prompt and of the answer in a preview.
const PREVIEW_LINES: usize = 40;

/// Number of context lines before a match.
const LINES_BEFORE: usize = 3;

/// Number of entries at the end of the path that are searched for the last exchange.
const LAST_ENTRIES: usize = 200;

/// Maximum size in bytes of a log that is read for a preview; larger logs would delay moving through the
/// list.
const MAX_PREVIEW_BYTES: u64 = 64 << 20;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SortOrder {
    /// Forks under their parents, threads by their newest session.
    #[default]
    Threads,
    /// Last modified first.
    Newest,
}

/// Sessions, newest first, each with its parent's path.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sessions {
    rows: Vec<(PickerItem, Option<PathBuf>)>,
}

/// Returns the sessions as items, with their directories if they can differ.
pub(crate) fn session_items(list: &[SessionSummary], scope: SessionScope, now: UnixMs) -> Sessions {
    let row = |session: &SessionSummary| {
        let size = match session.messages {
            1 => "1 message".to_owned(),
            count => format!("{} messages", thousands(count)),
        };
        let about = if scope == SessionScope::Everywhere { tail(&session.cwd) } else { size };
        let note = format!("{about} · {} · {}", age(session.modified, now), session.id.short());
        let item = PickerItem::new(title_and_prompt(session), PickerChoice::Open(session.path.clone()))
            .with_note(note);
        let item =
            item.with_detail(detail(session, now)).with_session(session.id.clone(), session.name.clone());
        (item, session.parent_session.as_ref().map(PathBuf::from))
    };
    Sessions { rows: list.iter().map(row).collect() }
}

#[cfg(test)]
impl From<Vec<PickerItem>> for Sessions {
    fn from(items: Vec<PickerItem>) -> Self {
        Self { rows: items.into_iter().map(|item| (item, None)).collect() }
    }
}

impl Sessions {
    pub(crate) fn mark_open(self, open: &SessionId) -> Self {
        let mark = |(item, parent): (PickerItem, Option<PathBuf>)| {
            let is_open = item.tag.as_ref().is_some_and(|tag| tag.id == *open);
            (if is_open { item.marked_open() } else { item }, parent)
        };
        Self { rows: self.rows.into_iter().map(mark).collect() }
    }

    pub(crate) fn items(&self, order: SortOrder) -> Vec<PickerItem> {
        match order {
            SortOrder::Newest => self.rows.iter().map(|(item, _)| item.clone()).collect(),
            SortOrder::Threads => self.threads(),
        }
    }

    /// Groups forks under their parents. A thread takes the position of its newest session.
    fn threads(&self) -> Vec<PickerItem> {
        let at: HashMap<&Path, usize> =
            self.rows.iter().enumerate().filter_map(|(at, (item, _))| Some((path(item)?, at))).collect();
        let parents: Vec<Option<usize>> =
            self.rows.iter().map(|(_, parent)| at.get(parent.as_deref()?).copied()).collect();
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.rows.len()];
        let (mut roots, mut known) = (Vec::new(), HashSet::new());
        for at in 0..self.rows.len() {
            let root = root_of(&parents, at);
            if known.insert(root) {
                roots.push(root);
            }
            if let Some(parent) = parents[at].filter(|_| at != root) {
                children[parent].push(at);
            }
        }
        let mut items = Vec::with_capacity(self.rows.len());
        // Depth first without recursion, because threads may be deep.
        let mut todo: Vec<(usize, String, &str)> =
            roots.into_iter().rev().map(|at| (at, String::new(), "")).collect();
        while let Some((at, before, own)) = todo.pop() {
            items.push(self.rows[at].0.clone().with_lead(format!("{before}{own}")));
            let before = match own {
                "" => before,
                "├─ " => before + "│  ",
                _ => before + "   ",
            };
            for (place, child) in children[at].iter().rev().enumerate() {
                todo.push((*child, before.clone(), if place == 0 { "└─ " } else { "├─ " }));
            }
        }
        items
    }
}

fn path(item: &PickerItem) -> Option<&Path> {
    match &item.choice {
        PickerChoice::Open(path) => Some(path),
        _ => None,
    }
}

/// Returns the root of a thread. Logs that name each other as parents are their own roots.
fn root_of(parents: &[Option<usize>], from: usize) -> usize {
    let mut at = from;
    for _ in 0..parents.len() {
        match parents[at] {
            Some(parent) => at = parent,
            None => return at,
        }
    }
    from
}

pub(crate) fn hits(hits: &[SearchHit], now: UnixMs) -> Vec<PickerItem> {
    let item = |hit: &SearchHit| {
        let piece = |piece: &Snippet| match piece.matched {
            true => format!("{}{}{}", MARKS[0], piece.text, MARKS[1]),
            false => piece.text.clone(),
        };
        let snippet: String = hit.snippet.iter().map(piece).collect();
        let title: String = title(&hit.session).chars().take(MAX_TITLE).collect();
        let label = snippet.split_whitespace().collect::<Vec<_>>().join(" ");
        let note = format!("{title} · {} · {}", age(hit.timestamp, now), hit.session.id.short());
        let item = PickerItem::new(label, PickerChoice::Open(hit.session.path.clone())).with_note(note);
        let item = item.with_lead("» ").in_role(Role::Muted).with_detail(detail(&hit.session, now));
        let words = hit.snippet.iter().find(|piece| piece.matched).map(|piece| piece.text.clone());
        let extract = SessionExcerpt::Around(hit.entry.clone(), words.unwrap_or_default());
        item.with_session(hit.session.id.clone(), hit.session.name.clone()).with_excerpt(extract)
    };
    hits.iter().map(item).collect()
}

/// Returns sessions in their order, without threads.
pub(crate) fn newest(list: &[SessionSummary], now: UnixMs) -> Vec<PickerItem> {
    session_items(list, SessionScope::ThisDirectory, now).items(SortOrder::Newest)
}

/// Returns sessions found by a part of their id, in any directory.
pub(crate) fn sessions_by_id(list: &[SessionSummary], now: UnixMs) -> Vec<PickerItem> {
    let sessions = session_items(list, SessionScope::Everywhere, now);
    sessions.rows.into_iter().map(|(item, _)| item.with_lead("» ")).collect()
}

fn detail(session: &SessionSummary, now: UnixMs) -> Vec<Line> {
    let kilobytes = thousands(usize::try_from(session.bytes.div_ceil(1_024)).unwrap_or(usize::MAX));
    let size = format!("{} entries, {kilobytes} KB", thousands(session.entries));
    let mut lines = vec![heading(&title(session)), fact("directory", one_line(&session.cwd))];
    lines.extend(session.model.as_ref().map(|model| fact("model", one_line(model))));
    let used = format!("{}, {}", counted(session.tokens, "token", "tokens"), session.cost);
    lines.push(fact("size", format!("{size} · {used}")));
    lines.push(fact("last used", age(session.modified, now)));
    lines
}

/// Returns name and first prompt, because users remember either.
fn title_and_prompt(session: &SessionSummary) -> String {
    match (&session.name, &session.first_prompt) {
        (Some(name), Some(prompt)) => {
            let prompt: String = prompt.chars().take(MAX_CHARS).collect();
            spaced(&format!("{name} · {prompt}"))
        }
        _ => title(session),
    }
}

fn title(session: &SessionSummary) -> String {
    let text = session.title().unwrap_or("(empty session)");
    spaced(&text.chars().take(MAX_CHARS).collect::<String>())
}

/// Returns the end of a path.
fn tail(path: &str) -> String {
    let cut = path.chars().count().saturating_sub(MAX_DIRECTORY);
    if cut == 0 {
        one_line(path)
    } else {
        one_line(&format!("…{}", path.chars().skip(cut + 1).collect::<String>()))
    }
}

/// Reads the preview of the session at `path` from its file.
pub(crate) fn read_excerpt(path: &Path, extract: &SessionExcerpt) -> Vec<Line> {
    let muted = |text: &str| vec![Line::default(), Line::new(text, Role::Muted)];
    match std::fs::metadata(path) {
        Ok(facts) if facts.len() > MAX_PREVIEW_BYTES => return muted("too large for a preview"),
        Ok(_) => {}
        Err(_) => return muted("the file no longer exists"),
    }
    let Ok(reader) = Reader::open(path) else { return muted("the file can't be read") };
    match extract {
        SessionExcerpt::End => last_exchange(&reader),
        // Hits outside of messages, such as names or summaries, are shown in their rows.
        SessionExcerpt::Around(entry, words) => {
            around(&reader, entry, words).unwrap_or_else(|| last_exchange(&reader))
        }
    }
}

/// Returns an entry's text, starting a few lines before the first match.
fn around(reader: &Reader, entry: &EntryId, words: &str) -> Option<Vec<Line>> {
    let entry = reader.entry(entry).ok()?;
    let (mark, text) = match &**entry.body.as_message()? {
        Message::User(user) => (Span::new("▌ ", Role::Accent), typed(user)),
        Message::Assistant(answer) => (Span::new("  ", Role::Text), answer.joined_text()),
        Message::BashExecution(bash) => (Span::new("! ", Role::Muted), bash.command.clone()),
        Message::ToolResult(_) | Message::System(_) => return None,
    };
    let lines: Vec<&str> = text.lines().collect();
    let found = lines.iter().position(|line| !words.is_empty() && line.contains(words)).unwrap_or(0);
    let from = found.saturating_sub(LINES_BEFORE);
    let mut shown = vec![Line::default()];
    if from > 0 {
        shown.push(Line::new("…", Role::Muted));
    }
    for line in lines.iter().skip(from).take(PREVIEW_LINES) {
        let mut spans = vec![mark.clone()];
        spans.extend(highlighted(line, words));
        shown.push(Line::from(spans));
    }
    Some(shown)
}

/// Returns a line with the match highlighted. Long lines are cut around the match.
fn highlighted(line: &str, words: &str) -> Vec<Span> {
    let found = Style::from(Role::Accent).with(Emphasis::BOLD.and(Emphasis::UNDERLINE));
    // Whitespace at the ends of the pieces belongs to the line and is kept.
    let shown = |text: &str| sanitize(text, ControlChars::Visible).into_owned();
    let cut = |text: &str| shown(&text.chars().take(MAX_CHARS).collect::<String>());
    let Some((before, after)) = line.split_once(words).filter(|_| !words.is_empty()) else {
        return vec![Span::new(cut(line), Role::Text)];
    };
    let skipped = before.chars().count().saturating_sub(MAX_CHARS / 2);
    let start: String = before.chars().skip(skipped).collect();
    let start = if skipped > 0 { format!("…{start}") } else { start };
    vec![
        Span::new(shown(&start), Role::Text),
        Span::new(shown(words), found),
        Span::new(cut(after), Role::Text),
    ]
}

fn last_exchange(reader: &Reader) -> Vec<Line> {
    let ids = reader.leaf().and_then(|leaf| reader.path_to(&leaf).ok()).unwrap_or_default();
    let (mut prompt, mut answer) = (None, None);
    for id in ids.iter().rev().take(LAST_ENTRIES) {
        let Ok(entry) = reader.entry(id) else { continue };
        match entry.body.as_message().map(|message| &**message) {
            Some(Message::Assistant(message))
                if answer.is_none() && !message.joined_text().trim().is_empty() =>
            {
                answer = Some(message.joined_text());
            }
            Some(Message::User(user)) => {
                prompt = Some(prompt_text(user));
                break;
            }
            _ => {}
        }
    }
    exchange(prompt.as_deref(), answer.as_deref())
}

fn prompt_text(user: &UserMessage) -> String {
    typed(user).chars().take(MAX_CHARS).collect()
}

fn exchange(prompt: Option<&str>, answer: Option<&str>) -> Vec<Line> {
    let mut lines = Vec::new();
    for line in prompt.unwrap_or("(no prompt)").lines().take(PREVIEW_LINES) {
        let text = Span::new(one_line(line), Style::from(Role::User).with(Emphasis::BOLD));
        lines.push(Line::from(vec![Span::new("▌ ", Role::Accent), text]));
    }
    if let Some(answer) = answer {
        let cut: String = answer.chars().take(PREVIEW_WIDTH * PREVIEW_LINES).collect();
        lines.push(Line::default());
        let answer = render::markdown(&cut, PREVIEW_WIDTH).into_iter().take(PREVIEW_LINES);
        lines.extend(unwrapped(answer));
    }
    lines.insert(0, Line::default());
    lines
}

/// Joins wrapped lines, because the list wraps them to the width of its preview.
fn unwrapped(lines: impl Iterator<Item = Line>) -> Vec<Line> {
    let mut whole: Vec<Line> = Vec::new();
    for line in lines {
        match (line.wrap, whole.last_mut()) {
            (Wrap::Soft { spaces }, Some(last)) => {
                last.spans.push(Span::new(" ".repeat(spaces), Role::Text));
                last.spans.extend(line.content().iter().cloned());
            }
            (Wrap::Hard | Wrap::Soft { .. }, _) => whole.push(line),
        }
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[(&str, Option<&str>)]) -> Sessions {
        let row = |(name, parent): &(&str, Option<&str>)| {
            (PickerItem::new(*name, PickerChoice::Open(name.into())), parent.map(PathBuf::from))
        };
        Sessions { rows: rows.iter().map(row).collect() }
    }

    fn drawn(sessions: &Sessions, order: SortOrder) -> Vec<String> {
        sessions.items(order).iter().map(|item| format!("{}{}", item.lead, item.label)).collect()
    }

    #[test]
    fn sessions_preview_is_unwrapped() {
        let answer = format!("{}\n\n- {}", ["word"; 40].join(" "), ["item"; 30].join(" "));
        let lines: Vec<String> = exchange(Some("why?"), Some(&answer)).iter().map(Line::text).collect();
        let expected = [
            String::new(),
            "▌ why?".to_owned(),
            String::new(),
            ["word"; 40].join(" "),
            String::new(),
            format!("• {}", ["item"; 30].join(" ")),
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn sessions_threads_group_forks() {
        let sessions = rows(&[
            ("newest", Some("fork")),
            ("alone", None),
            ("other", Some("root")),
            ("fork", Some("root")),
            ("orphan", Some("gone")),
            ("root", None),
        ]);
        assert_eq!(
            drawn(&sessions, SortOrder::Threads),
            ["root", "├─ other", "└─ fork", "   └─ newest", "alone", "orphan"]
        );
        assert_eq!(drawn(&sessions, SortOrder::Newest)[..2], ["newest", "alone"]);
    }

    #[test]
    fn sessions_cyclic_parents_are_listed_once() {
        let sessions = rows(&[("a", Some("b")), ("b", Some("a")), ("self", Some("self"))]);
        let mut drawn = drawn(&sessions, SortOrder::Threads);
        drawn.sort();
        assert_eq!(drawn, ["a", "b", "self"]);
    }

    #[test]
    fn sessions_long_line_shows_its_match() {
        let line = format!("{}the window{}", "a".repeat(MAX_CHARS), "b".repeat(2 * MAX_CHARS));
        let shown = highlighted(&line, "window");
        let texts: Vec<&str> = shown.iter().map(|span| span.text.as_str()).collect();
        assert_eq!(texts[0], format!("…{}the ", "a".repeat(MAX_CHARS / 2 - 4)));
        assert_eq!((texts[1], texts[2].len()), ("window", MAX_CHARS));
        assert_eq!(highlighted("nothing", "window").len(), 1);
    }
}
