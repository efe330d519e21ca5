//! Claude Code's logs: `<config>/projects/**/*.jsonl`.
//!
//! Their lines form a tree too, by `uuid` and `parentUuid`, but they are smaller than entries: an answer is spread over
//! lines with one block each, and all results of its calls hang wherever the call stood. A first pass keeps every line's
//! *head*; `tree` puts the heads together to units, each of which becomes a message; `emit` reads the lines again and
//! writes them. Nothing of this format is documented by its makers; what is known of it is in docs/import.md.

mod convert;
mod grouping;
mod head;

use std::collections::HashSet;

use serde_json::Value;
use tiller_core::unit::UnixMs;

use super::source::{Source, Span, flag, text};
use super::warning::ImportWarnings;
use super::{About, End, Look, SourceFormat, Work};
use crate::error::SessionError;

use grouping::Unit;
use head::Head;

/// What a log amounts to, before its lines are read for what they say.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) about: About,
    units: Vec<Unit>,
    heads: Vec<Head>,
    /// The unit where the conversation would go on.
    leaf: Option<usize>,
    name: Option<String>,
}

/// What the first pass gathers.
#[derive(Default)]
struct Gathered {
    heads: Vec<Head>,
    titles: Titles,
    /// The leaf that the program noted last, and the line with it.
    noted_leaf: Option<(String, u64)>,
    session: Option<String>,
    version: Option<String>,
    cwd: Option<String>,
    start: Option<UnixMs>,
    sidechain: u64,
    /// A line that could not be read stands directly before.
    gap: bool,
}

/// What the session was called, by whom.
#[derive(Default)]
struct Titles {
    user: Option<String>,
    model: Option<String>,
    /// Summaries with the leaf that each is of: older versions put those of other sessions here too.
    summaries: Vec<(String, String)>,
}

impl Plan {
    pub(super) fn make(source: &Source, notes: &mut ImportWarnings) -> Result<Look, SessionError> {
        let mut gathered = Gathered::default();
        source.objects(notes, |span, line, notes| {
            match line {
                Some(line) => gathered.take(span, &line, notes),
                None => gathered.gap = true,
            }
            Ok(())
        })?;
        if gathered.heads.is_empty() {
            let reason =
                if gathered.sidechain > 0 { "the log of a sub-agent" } else { "nothing was said in it" };
            return Ok(Look::Nothing(Some(SourceFormat::Claude), reason));
        }
        let name = gathered.name();
        let stem = source.path.file_stem().unwrap_or_default().to_string_lossy();
        let about = About {
            origin: SourceFormat::Claude,
            session: gathered.session.unwrap_or_else(|| stem.into_owned()),
            version: gathered.version,
            cwd: gathered.cwd.unwrap_or_default(),
            start: gathered.start.unwrap_or_default(),
        };
        let grown = grouping::grow(&gathered.heads, gathered.noted_leaf, notes);
        let plan = Self { about, units: grown.units, leaf: grown.leaf, heads: gathered.heads, name };
        Ok(Look::Plan(super::Plan::Claude(plan)))
    }

    pub(super) fn convert(&self, work: &mut Work<'_, '_>) -> Result<End, SessionError> {
        let leaf = convert::emit(&self.units, &self.heads, self.leaf, work)?;
        Ok(End { leaf, name: self.name.clone() })
    }
}

impl Gathered {
    fn take(&mut self, span: Span, line: &Value, notes: &mut ImportWarnings) {
        if flag(line, "isSidechain") {
            self.sidechain += 1;
            notes.add(span.number, "lines of sub-agents left out");
            return;
        }
        self.note_session(line);
        let kind = text(line, "type").unwrap_or_default();
        match kind {
            "custom-title" => set(&mut self.titles.user, text(line, "customTitle")),
            "ai-title" => set(&mut self.titles.model, text(line, "aiTitle")),
            "summary" => {
                if let (Some(title), Some(leaf)) = (text(line, "summary"), text(line, "leafUuid")) {
                    self.titles.summaries.push((title.to_owned(), leaf.to_owned()));
                }
            }
            "last-prompt" => {
                if let Some(leaf) = text(line, "leafUuid") {
                    self.noted_leaf = Some((leaf.to_owned(), span.number));
                }
            }
            _ => match Head::read(span, line, std::mem::take(&mut self.gap), notes) {
                Some(head) => self.heads.push(head),
                None if head::HOUSEKEEPING.contains(&kind) => {}
                None => notes.add(span.number, format!("lines left out, of an unknown kind ({kind})")),
            },
        }
    }

    /// The first line that names them counts: later ones may be of another directory or version.
    fn note_session(&mut self, line: &Value) {
        let first = |known: &mut Option<String>, key: &str| {
            if known.is_none() {
                *known = text(line, key).filter(|value| !value.is_empty()).map(str::to_owned);
            }
        };
        first(&mut self.session, "sessionId");
        first(&mut self.version, "version");
        first(&mut self.cwd, "cwd");
        if self.start.is_none() {
            self.start = text(line, "timestamp").and_then(UnixMs::from_iso);
        }
    }

    fn name(&mut self) -> Option<String> {
        let titles = std::mem::take(&mut self.titles);
        let uuids: HashSet<&str> = self.heads.iter().filter_map(|head| head.uuid.as_deref()).collect();
        let own = |(_, leaf): &&(String, String)| uuids.contains(leaf.as_str());
        let summary = titles.summaries.iter().rev().find(own).map(|(title, _)| title.clone());
        titles.user.or(titles.model).or(summary).filter(|name| !name.trim().is_empty())
    }
}

fn set(title: &mut Option<String>, given: Option<&str>) {
    if let Some(given) = given {
        *title = Some(given.to_owned());
    }
}
