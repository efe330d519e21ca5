//! Claude Code's logs: `<config>/projects/**/*.jsonl`.
//!
//! Their lines form a tree too, by `uuid` and `parentUuid`, but a line is smaller than an entry: an answer is
//! spread over lines with one block each, and results are children of the line with their call. A first pass
//! collects the head of every line; `grouping` joins heads to groups, each of which becomes a message;
//! `convert` reads the lines again and converts them. The format is undocumented; docs/import.md describes
//! the known parts.

mod convert;
mod grouping;
mod head;

use std::collections::HashSet;

use serde_json::Value;
use tiller_core::unit::UnixMs;

use super::conversion::{ConversionContext, Inspection};
use super::detect::SourceFormat;
use super::entry_builder::ConversionEnd;
use super::source::{LineSpan, SourceLog, flag, text};
use super::source_info::SourceInfo;
use super::warning::ImportWarnings;
use crate::error::SessionError;

use grouping::MessageGroup;
use head::ConversationLine;

/// The structure of a log, before the content of its lines is read.
#[derive(Debug)]
pub(super) struct ClaudePlan {
    pub(super) info: SourceInfo,
    groups: Vec<MessageGroup>,
    heads: Vec<ConversationLine>,
    /// The group where the conversation would continue.
    leaf: Option<usize>,
    name: Option<String>,
}

/// The result of the first pass.
#[derive(Default)]
struct LogStructure {
    heads: Vec<ConversationLine>,
    titles: Titles,
    /// The leaf that the program recorded last, and the number of that line.
    recorded_leaf: Option<(String, u64)>,
    session: Option<String>,
    version: Option<String>,
    cwd: Option<String>,
    start: Option<UnixMs>,
    sidechain: u64,
    /// True directly after an unreadable line.
    gap: bool,
}

/// Titles of the session, by source.
#[derive(Default)]
struct Titles {
    user: Option<String>,
    model: Option<String>,
    /// Summaries with their leaves; older versions include other sessions' summaries.
    summaries: Vec<(String, String)>,
}

impl ClaudePlan {
    pub(super) fn inspect(
        source: &SourceLog,
        warnings: &mut ImportWarnings,
    ) -> Result<Inspection<Self>, SessionError> {
        let mut pass = LogStructure::default();
        source.objects(warnings, |span, line, warnings| {
            match line {
                Some(line) => pass.read_line(span, &line, warnings),
                None => pass.gap = true,
            }
            Ok(())
        })?;
        if pass.heads.is_empty() {
            let reason = if pass.sidechain > 0 { "log of a sub-agent" } else { "no messages" };
            return Ok(Inspection::Skip(Some(SourceFormat::Claude), reason));
        }
        let name = pass.name();
        let stem = source.path.file_stem().unwrap_or_default().to_string_lossy();
        let info = SourceInfo {
            origin: SourceFormat::Claude,
            session: pass.session.unwrap_or_else(|| stem.into_owned()),
            version: pass.version,
            cwd: pass.cwd.unwrap_or_default(),
            start: pass.start.unwrap_or_default(),
        };
        let tree = grouping::group_lines(&pass.heads, pass.recorded_leaf, warnings);
        let plan = Self { info, groups: tree.groups, leaf: tree.leaf, heads: pass.heads, name };
        Ok(Inspection::Plan(plan))
    }

    pub(super) fn convert(
        &self,
        context: &mut ConversionContext<'_, '_>,
    ) -> Result<ConversionEnd, SessionError> {
        let leaf = convert::write_groups(&self.groups, &self.heads, self.leaf, context)?;
        Ok(ConversionEnd { leaf, name: self.name.clone() })
    }
}

impl LogStructure {
    fn read_line(&mut self, span: LineSpan, line: &Value, warnings: &mut ImportWarnings) {
        if flag(line, "isSidechain") {
            self.sidechain += 1;
            warnings.add(span.number, "skipped lines of sub-agents");
            return;
        }
        self.read_session(line);
        let kind = text(line, "type").unwrap_or_default();
        match kind {
            "custom-title" => set_title(&mut self.titles.user, text(line, "customTitle")),
            "ai-title" => set_title(&mut self.titles.model, text(line, "aiTitle")),
            "summary" => {
                if let (Some(title), Some(leaf)) = (text(line, "summary"), text(line, "leafUuid")) {
                    self.titles.summaries.push((title.to_owned(), leaf.to_owned()));
                }
            }
            "last-prompt" => {
                if let Some(leaf) = text(line, "leafUuid") {
                    self.recorded_leaf = Some((leaf.to_owned(), span.number));
                }
            }
            _ => match ConversationLine::read(span, line, std::mem::take(&mut self.gap), warnings) {
                Some(head) => self.heads.push(head),
                None if head::SKIPPED_KINDS.contains(&kind) => {}
                None => warnings.add(span.number, format!("skipped lines of unknown type ({kind})")),
            },
        }
    }

    /// Sets the session's metadata from the first line that has it; later lines may differ.
    fn read_session(&mut self, line: &Value) {
        let first = |field: &mut Option<String>, key: &str| {
            if field.is_none() {
                *field = text(line, key).filter(|value| !value.is_empty()).map(str::to_owned);
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
        let is_of_this_log = |(_, leaf): &&(String, String)| uuids.contains(leaf.as_str());
        let summary = titles.summaries.iter().rev().find(is_of_this_log).map(|(title, _)| title.clone());
        titles.user.or(titles.model).or(summary).filter(|name| !name.trim().is_empty())
    }
}

fn set_title(title: &mut Option<String>, value: Option<&str>) {
    if let Some(value) = value {
        *title = Some(value.to_owned());
    }
}
