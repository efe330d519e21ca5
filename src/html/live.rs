//! The live page of `tiller serve`, and the fragments that it requests while a session runs.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use serde_json::Value;

use super::entry::article;
use super::head::{BRANCHES_SCRIPT, PageHead, STYLE_SHEET};
use super::markdown::markdown;
use super::markup::Markup;
use super::outline::Outline;
use super::{chrome, preface, title, tool_call};
use crate::agent::built_in_tools;
use crate::id::{EntryId, SessionId};
use crate::message::{Message, ToolCall};
use crate::render::diff_lines;
use crate::session::{Entry, EntryBody, EntryKind, Reader, SessionError};

/// The list of sessions, and the form for a new one.
const SESSIONS_PANEL: &str = include_str!("live/sessions.html");

/// The actions on an entry of the outline.
const ENTRY_PANEL: &str = include_str!("live/entry.html");

/// The operations in progress, the questions, the queue, the composer and the status.
const COMPOSER_PANEL: &str = include_str!("live/composer.html");

/// The buttons that open a panel on a narrow screen.
const PANEL_TOGGLES: &str = include_str!("live/toggles.html");

const HEAD: PageHead<'static> = PageHead {
    title: "tiller",
    body: "<body class=\"live\">\n",
    style_sheets: &[STYLE_SHEET, include_str!("live/live.css")],
    scripts: &[
        BRANCHES_SCRIPT,
        include_str!("live/requests.js"),
        include_str!("live/attachments.js"),
        include_str!("live/composer.js"),
        include_str!("live/questions.js"),
        include_str!("live/background.js"),
        include_str!("live/run.js"),
        include_str!("live/sessions.js"),
    ],
    connect: "connect-src 'self'; ",
};

/// Entries of a session as HTML, for the live page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveEntries {
    /// The session's title, as text.
    pub title: String,
    /// The facts about the session.
    pub facts: String,
    /// The parts above the first entry.
    pub preface: String,
    /// The entries as `article` elements, in the order of the log. Their attribute `data-n` is the position
    /// in the log.
    pub articles: String,
    /// All rows of the outline; `None` if none has changed.
    pub outline: Option<String>,
    /// The position of the last visible entry of the current branch; `None` if there is none.
    pub leaf: Option<usize>,
    /// The last entry of the log at the time of rendering.
    pub last: Option<EntryId>,
}

/// The live page, without a session.
#[must_use]
pub fn live_page() -> &'static str {
    static PAGE: LazyLock<String> = LazyLock::new(|| {
        let mut out = Markup::default();
        HEAD.begin(&mut out);
        chrome::header(&mut out, HEAD.title, &Markup::default(), PANEL_TOGGLES);
        out.tags("<div class=\"columns\">\n<aside>\n").tags(SESSIONS_PANEL);
        chrome::outline(&mut out, &Markup::default());
        out.tags("</aside>\n<div class=\"stage\">\n<main><div class=\"preface\"></div></main>\n");
        out.tags(COMPOSER_PANEL).tags(ENTRY_PANEL).tags("</div>\n</div>\n");
        HEAD.end(&mut out);
        out.into_string()
    });
    &PAGE
}

/// Maximum number of outlines kept in memory; each has the arguments of its session's tool calls.
const MAX_OUTLINES: usize = 16;

/// The outlines of the sessions that pages showed last, so that an update reads only new entries.
#[derive(Default)]
pub struct LiveOutlines(Mutex<VecDeque<(SessionId, LiveOutline)>>);

/// The outline of a session. It is locked during an update, only by blocking tasks.
type LiveOutline = Arc<Mutex<Option<Outline>>>;

impl LiveOutlines {
    /// Renders the entries after `since`, or all, and earlier entries whose articles change because of them.
    ///
    /// # Errors
    /// If there is no such entry, or the log can't be read.
    pub fn entries(&self, reader: &Reader, since: Option<&EntryId>) -> Result<LiveEntries, SessionError> {
        let shared = self.of_session(reader.id());
        let mut known = shared.lock().unwrap_or_else(PoisonError::into_inner);
        let leaf = reader.leaf();
        let outline = match known.take() {
            Some(outline) => outline.update(reader, leaf.as_ref())?,
            None => Outline::load(reader, leaf.as_ref())?,
        };
        entries(reader, known.insert(outline), since)
    }

    fn of_session(&self, id: &SessionId) -> LiveOutline {
        let mut outlines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = outlines.iter().position(|(known, _)| known == id);
        let outline =
            at.and_then(|at| outlines.remove(at)).map_or_else(LiveOutline::default, |(_, known)| known);
        outlines.push_back((id.clone(), Arc::clone(&outline)));
        if outlines.len() > MAX_OUTLINES {
            outlines.pop_front();
        }
        outline
    }
}

fn entries(reader: &Reader, outline: &Outline, since: Option<&EntryId>) -> Result<LiveEntries, SessionError> {
    let leaf = outline.leaf.as_ref();
    let nodes = outline.tree.nodes();
    let position = |id: &EntryId| nodes.iter().rposition(|node| node.id == *id);
    let from = match since {
        None => 0,
        Some(id) => position(id).ok_or_else(|| SessionError::NoEntry(id.clone()))? + 1,
    };
    let is_listed = |at: usize| chrome::is_in_outline(outline, at) || nodes[at].kind == EntryKind::Label;
    let has_new_row = since.is_none() || (from..nodes.len()).any(is_listed);
    let leaf = leaf.and_then(position);
    let mut articles = Markup::default();
    for at in changed(reader, outline, from)? {
        if let (Some(item), Ok(entry)) = (&outline.items[at], reader.entry_at(at)) {
            articles.markup(&article(outline, at, item, &entry));
        }
    }
    Ok(LiveEntries {
        title: title(reader),
        facts: chrome::facts(reader, outline).into_string(),
        preface: preface(outline).into_string(),
        articles: articles.into_string(),
        outline: has_new_row.then(|| chrome::rows(outline).into_string()),
        leaf: leaf.and_then(|leaf| outline.items[leaf].as_ref().map(|_| leaf).or(outline.ancestors[leaf])),
        last: nodes.last().map(|node| node.id.clone()),
    })
}

/// Returns the positions of the entries from `from` on, and of earlier ones that they affect: their visible
/// ancestors, whose links to branches may change, the answers whose calls now have a result, the prompts that
/// now have an answer, and the targets of labels.
fn changed(reader: &Reader, outline: &Outline, from: usize) -> Result<BTreeSet<usize>, SessionError> {
    let mut changed: BTreeSet<usize> = (from..outline.items.len()).collect();
    if from == 0 {
        return Ok(changed);
    }
    let mut at = from;
    reader.visit(from, |entry| {
        if let (Ok(entry), true) = (entry, at < outline.items.len()) {
            changed.extend(outline.ancestors[at]);
            changed.extend(referenced_entry(outline, at, &entry));
        }
        at += 1;
    })?;
    Ok(changed)
}

fn referenced_entry(outline: &Outline, at: usize, entry: &Entry) -> Option<usize> {
    match &entry.body {
        EntryBody::Label { target_id, .. } => {
            outline.tree.nodes().iter().rposition(|node| node.id == *target_id)
        }
        EntryBody::Message(message) => match &*message.message {
            Message::ToolResult(result) => {
                outline.find_call(outline.ancestors[at], &result.tool_call_id).map(|(answer, _)| answer)
            }
            Message::User(_) | Message::Assistant(_) => outline.open_prompt_above(at),
            Message::BashExecution(_) | Message::System(_) => None,
        },
        _ => None,
    }
}

/// Renders plain text, with control and invisible characters made visible.
#[must_use]
pub fn render_text(text: &str) -> String {
    let mut out = Markup::default();
    out.text(text);
    out.into_string()
}

/// Renders Markdown, such as an incomplete answer.
#[must_use]
pub fn render_markdown(text: &str) -> String {
    markdown(text).into_string()
}

/// Renders command output, with its control sequences interpreted.
#[must_use]
pub fn render_output(text: &str) -> String {
    let mut out = Markup::default();
    tool_call::command_output(&mut out, text);
    out.into_string()
}

/// Renders a unified diff of the file at `path`, whose name determines the language.
#[must_use]
pub fn render_diff(diff: &str, path: &str) -> String {
    let mut out = Markup::default();
    tool_call::diff_block(&mut out, &diff_lines(diff, path));
    out.into_string()
}

/// Renders a call that is running or waiting for approval.
#[must_use]
pub fn render_call(name: String, arguments: Value) -> String {
    let call = ToolCall { id: "".into(), name, arguments, raw_arguments: None, thought_signature: None };
    tool_call::running(&call, &built_in_tools()).into_string()
}
