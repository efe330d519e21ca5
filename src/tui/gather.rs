//! What pickers offer: models, sessions, the tree, messages to fork before; and the facts of a session.

use std::collections::HashSet;

use super::app::Report;
use super::call::one_line;
use super::picker::{Choice, Item, MARKS};
use crate::agent::compaction::BranchPlan;
use crate::agent::{BranchSummary, State};
use crate::id::EntryId;
use crate::message::{AssistantMessage, Message, ModelRef, UserMessage};
use crate::provider::catalog::ModelFacts;
use crate::render::{self, Line, Role, Span};
use crate::resource::typed_skill;
use crate::session::marks::Marks;
use crate::session::tree::BranchMark;
use crate::session::{Entry, EntryBody, Hit, Piece, Reader, Scope, SessionSummary, Visibility};
use crate::unit::UnixMs;

/// Characters of a label that are looked at, for drawing and for narrowing.
const LONGEST: usize = 300;

/// Characters of a directory beside a session.
const LONGEST_PLACE: usize = 28;

/// Characters of a title beside what was said.
const LONGEST_TITLE: usize = 24;
/// Most characters of branches before a row: a deep tree must leave room for what it is made of.
const WIDEST_LEAD: usize = 30;

/// Models to choose from.
pub(super) fn models<'a>(
    facts: impl Iterator<Item = &'a ModelFacts>,
    current: Option<&ModelRef>,
) -> (Vec<Item>, usize) {
    let items: Vec<Item> = facts.map(model).collect();
    let current = current.map(ToString::to_string);
    let selected = items.iter().position(|item| Some(&item.label) == current.as_ref()).unwrap_or(0);
    (items, selected)
}

fn model(facts: &ModelFacts) -> Item {
    let name = format!("{}/{}", facts.provider, facts.id);
    let mut notes = vec![format!("{} window", facts.window)];
    notes.extend(facts.thinks.then(|| "thinks".to_owned()));
    notes.extend(facts.price.map(|price| format!("{} in, {} out", price.input, price.output)));
    Item::new(name.clone(), Choice::Model(name)).with_note(notes.join(" · "))
}

/// Sessions to choose from; where they are is said when they may be anywhere.
pub(super) fn sessions(list: &[SessionSummary], scope: Scope, now: UnixMs) -> Vec<Item> {
    let item = |session: &SessionSummary| {
        let size = format!("{} entries", session.entries);
        let about = if scope == Scope::Everywhere { tail(&session.cwd) } else { size };
        Item::new(title_and_prompt(session), Choice::Open(session.path.clone())).with_note(format!(
            "{about} · {} · {}",
            age(session.modified, now),
            session.id.short()
        ))
    };
    list.iter().map(item).collect()
}

/// What was said in sessions, to choose them by.
pub(super) fn hits(hits: &[Hit], now: UnixMs) -> Vec<Item> {
    let item = |hit: &Hit| {
        let piece = |piece: &Piece| match piece.matched {
            true => format!("{}{}{}", MARKS[0], piece.text, MARKS[1]),
            false => piece.text.clone(),
        };
        let said: String = hit.snippet.iter().map(piece).collect();
        let title: String = title(&hit.session).chars().take(LONGEST_TITLE).collect();
        let label = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let note = format!("{title} · {} · {}", age(hit.timestamp, now), hit.session.id.short());
        let item = Item::new(label, Choice::Open(hit.session.path.clone())).with_note(note);
        item.with_lead("» ").in_role(Role::Muted)
    };
    hits.iter().map(item).collect()
}

/// What it is called and what was said first: either may be what somebody remembers.
fn title_and_prompt(session: &SessionSummary) -> String {
    match (&session.name, &session.first_prompt) {
        (Some(name), Some(prompt)) => {
            let prompt: String = prompt.chars().take(LONGEST).collect();
            spaced(&format!("{name} · {prompt}"))
        }
        _ => title(session),
    }
}

fn title(session: &SessionSummary) -> String {
    let said = session.title().unwrap_or("(nothing said)");
    spaced(&said.chars().take(LONGEST).collect::<String>())
}

/// The end of a path, where its name is.
fn tail(path: &str) -> String {
    let cut = path.chars().count().saturating_sub(LONGEST_PLACE);
    if cut == 0 {
        one_line(path)
    } else {
        one_line(&format!("…{}", path.chars().skip(cut + 1).collect::<String>()))
    }
}

/// How long ago a moment is: `now`, `5m`, `3h`, `2d`.
fn age(moment: UnixMs, now: UnixMs) -> String {
    let age = moment.age(now);
    if age == "now" { age } else { format!("{age} ago") }
}

/// The session as a tree, with or without its hidden branches, and where its leaf is. Results of tools are left out: nobody
/// goes back to them.
pub(super) fn tree(reader: &Reader, hidden: Visibility) -> (Vec<Item>, usize) {
    let (tree, leaf) = (reader.tree(), reader.leaf());
    let marks = Marks::of(reader, &tree);
    let hidden_with = marks.hidden_with(&tree, leaf.as_ref());
    let mut labels: Vec<Option<(String, Role)>> = Vec::with_capacity(tree.nodes().len());
    // One that can't be read is shown by nobody; the log's findings name it.
    let _ = reader.visit(0, |entry| labels.push(entry.ok().as_ref().and_then(label)));
    labels.resize(tree.nodes().len(), None);
    let is_shown = |at: usize| hidden == Visibility::Shown || hidden_with[at].is_none();
    let rows = tree.rows(leaf.as_ref(), |at, _| labels[at].is_some() && is_shown(at));
    let mut open: Vec<bool> = Vec::new();
    let mut items = Vec::with_capacity(rows.len());
    let mut selected = 0;
    for row in rows {
        let Some((text, role)) = labels[row.node].take() else { continue };
        let id = |at: usize| tree.nodes()[at].id.clone();
        if row.on_path {
            selected = items.len();
        }
        let label = marks.label(row.node).map(|label| format!("[{}]", spaced(label)));
        let place = match (hidden_with[row.node], row.on_path) {
            (Some(_), _) => Some("hidden".to_owned()),
            (None, true) => Some("●".to_owned()),
            (None, false) => None,
        };
        let choice = hidden_with[row.node].map_or(Choice::Navigate(id(row.node)), |at| Choice::Show(id(at)));
        let note = label.into_iter().chain(place).collect::<Vec<_>>().join(" ");
        let item = Item::new(text, choice).with_lead(lead(&mut open, row.depth, row.branch));
        items.push(item.with_note(note).in_role(if row.on_path { role } else { Role::Muted }));
    }
    (items, selected)
}

/// The question whether an entry and what follows it are to be hidden.
pub(super) fn hiding(reader: &Reader, entry: EntryId) -> Report {
    let (tree, leaf) = (reader.tree(), reader.leaf());
    let path = leaf.and_then(|leaf| reader.path_to(&leaf).ok()).unwrap_or_default();
    if path.contains(&entry) {
        return Report::Failed {
            what: "the branch in use can't be hidden".to_owned(),
            hint: Some("go to another one first: /tree".to_owned()),
            text: None,
        };
    }
    let count = tree.count_from(&entry);
    let entries = if count == 1 {
        "this entry".to_owned()
    } else {
        format!("this and the {} entries after it", count - 1)
    };
    let items = vec![
        Item::new(
            format!("hide {entries}; nothing is deleted, ctrl+a shows what is hidden"),
            Choice::Hide(entry),
        ),
        Item::new("leave the tree as it is", Choice::Nothing),
    ];
    Report::Ask { title: "hide this branch?".to_owned(), items }
}

/// Where choosing this entry leads, and what is to be told there of what is left behind; goes at once when nothing is.
pub(super) fn leaving(reader: &Reader, entry: &EntryId) -> Option<Report> {
    let chosen = reader.entry(entry).ok()?;
    let to = match chosen.body.as_message().map(|message| &**message) {
        Some(Message::User(_)) => chosen.parent,
        _ => Some(chosen.id),
    };
    let left = reader.left_behind(&reader.leaf()?, to.as_ref()).ok()?;
    BranchPlan::new(left)?;
    let made = BranchSummary::Made { instructions: None };
    let items = vec![
        Item::new("say nothing of it to the model", Choice::Leave(entry.clone(), BranchSummary::None)),
        Item::new("tell the model in a summary", Choice::Leave(entry.clone(), made)),
        Item::new("tell it in a summary, and I say what matters", Choice::Instruct(entry.clone())),
        Item::new("stay here", Choice::Nothing),
    ];
    Some(Report::Ask { title: "what happened since is left behind".to_owned(), items })
}

/// What was said last on the path to the leaf, by the user or the model.
pub(super) fn newest_message(reader: &Reader) -> Option<EntryId> {
    let path = reader.leaf().and_then(|leaf| reader.path_to(&leaf).ok())?;
    path.into_iter().rev().find(|id| {
        reader.entry(id).is_ok_and(|entry| {
            matches!(
                entry.body.as_message().map(|said| &**said),
                Some(Message::User(_) | Message::Assistant(_))
            )
        })
    })
}

/// The branches drawn before a row. `open` says for each depth whether more branches follow below.
fn lead(open: &mut Vec<bool>, depth: usize, branch: BranchMark) -> String {
    open.resize(depth, false);
    let begins = branch != BranchMark::Continues;
    let (above, own) = match (begins, depth) {
        (true, 1..) => (depth - 1, if branch == BranchMark::Begins { "├─ " } else { "└─ " }),
        _ => (depth, ""),
    };
    let mut text: String = open[..above].iter().map(|open| if *open { "│  " } else { "   " }).collect();
    text.push_str(own);
    if begins && depth > 0 {
        open[depth - 1] = branch == BranchMark::Begins;
    }
    match text.chars().count().checked_sub(WIDEST_LEAD) {
        Some(more @ 1..) => text.chars().skip(more).collect::<String>().replacen(|_: char| true, "⋯", 1),
        Some(0) | None => text,
    }
}

/// How an entry is shown in the tree; `None` for those that aren't.
fn label(entry: &Entry) -> Option<(String, Role)> {
    let cut = |text: &str| spaced(&text.chars().take(LONGEST).collect::<String>());
    match &entry.body {
        EntryBody::Message(said) => match &*said.message {
            Message::User(user) => Some((format!("▌ {}", cut(&typed(user))), Role::Text)),
            Message::Assistant(answer) => Some((cut(&answer_label(answer)), Role::Text)),
            Message::BashExecution(bash) => Some((format!("! {}", cut(&bash.command)), Role::Muted)),
            Message::ToolResult(_) | Message::System(_) => None,
        },
        EntryBody::Compaction(_) => Some(("── compacted ──".to_owned(), Role::Muted)),
        EntryBody::BranchSummary { .. } => Some(("── summary of another branch ──".to_owned(), Role::Muted)),
        _ => None,
    }
}

/// What the user typed for a message.
fn typed(user: &UserMessage) -> String {
    typed_text(&user.content.joined_text())
}

/// What the user typed for a text.
fn typed_text(text: &str) -> String {
    typed_skill(text).unwrap_or_else(|| text.to_owned())
}

/// A text on one line, with one space wherever there was more.
fn spaced(text: &str) -> String {
    one_line(&text.split_whitespace().collect::<Vec<_>>().join(" "))
}

fn answer_label(answer: &AssistantMessage) -> String {
    let text = answer.joined_text();
    let calls: Vec<&str> = answer.tool_calls().map(|call| call.name.as_str()).collect();
    match (text.trim().is_empty(), calls.is_empty()) {
        (false, _) => {
            let text: String = text.chars().take(LONGEST).collect();
            let lines = render::markdown(&text, LONGEST);
            lines.iter().map(Line::text).collect::<Vec<_>>().join(" ")
        }
        (true, false) => format!("→ {}", calls.join(", ")),
        (true, true) => "(no answer)".to_owned(),
    }
}

/// The user's messages on the path, newest first, to fork before.
pub(super) fn forks(reader: &Reader) -> Vec<Item> {
    let path = reader.leaf().and_then(|leaf| reader.path_to(&leaf).ok()).unwrap_or_default();
    let item = |id: &EntryId| {
        let entry = reader.entry(id).ok()?;
        let Message::User(user) = &**entry.body.as_message()? else { return None };
        let label = spaced(&typed(user).chars().take(LONGEST).collect::<String>());
        Some(Item::new(label, Choice::Fork(id.clone())))
    };
    path.iter().rev().filter_map(item).collect()
}

/// Prompts of earlier times, newest first, each once.
pub(super) fn prompts(history: &[String]) -> Vec<Item> {
    let mut seen = HashSet::new();
    let newest = history.iter().rev().filter(|text| seen.insert(text.as_str()));
    let item = |text: &String| {
        let label = spaced(&text.chars().take(LONGEST).collect::<String>());
        Item::new(label, Choice::Prompt(text.clone()))
    };
    newest.map(item).collect()
}

/// What there is to know about a session.
pub(super) fn facts(state: &State, reader: &Reader) -> Vec<Line> {
    let usage = &state.usage;
    let path = state.path.as_ref().map_or("in memory only".to_owned(), |path| path.display().to_string());
    let context = format!("{} of {} tokens", state.context.used, state.context.window);
    let tokens = format!(
        "↑{} ↓{} · from cache {} · to cache {}",
        usage.input, usage.output, usage.cache_read, usage.cache_write
    );
    let entries = format!("{} on {} branches", reader.entry_count(), reader.tree().branch_count());
    let rows = [
        ("session", state.session.to_string()),
        ("name", state.name.clone().unwrap_or_default()),
        ("file", path),
        ("folder", state.cwd.display().to_string()),
        ("model", state.model.to_string()),
        ("thinking", state.thinking.name().to_owned()),
        ("context", context),
        ("tokens", tokens),
        ("cost", usage.cost.total.to_string()),
        ("entries", entries),
        ("unreadable", reader.findings().len().to_string()),
        ("resume with", format!("tiller --session {}", state.session.short())),
    ];
    let row = |(name, value): (&str, String)| {
        Line::from(vec![Span::new(format!("{name:<13}"), Role::Muted), Span::new(value, Role::Text)])
    };
    rows.into_iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_are_drawn_as_long_as_others_follow() {
        use BranchMark::{Begins, BeginsLast, Continues};
        let mut open = Vec::new();
        let rows = [
            (0, Continues),
            (1, Begins),
            (2, Begins),
            (2, BeginsLast),
            (2, Continues),
            (1, BeginsLast),
            (1, Continues),
        ];
        let drawn: Vec<String> = rows.into_iter().map(|(depth, mark)| lead(&mut open, depth, mark)).collect();
        assert_eq!(drawn, ["", "├─ ", "│  ├─ ", "│  └─ ", "│     ", "└─ ", "   "]);
    }

    #[test]
    fn a_deep_tree_leaves_room_for_its_rows() {
        let mut open = Vec::new();
        let drawn: Vec<String> = (1..=20).map(|depth| lead(&mut open, depth, BranchMark::Begins)).collect();
        assert_eq!(drawn[9], "│  │  │  │  │  │  │  │  │  ├─ ");
        assert_eq!(drawn[10], "⋯  │  │  │  │  │  │  │  │  ├─ ");
        assert_eq!(drawn[19], drawn[10]);
    }
}
