//! `read_file`: reads a text file, or a part of it, an image or a PDF file.

use std::borrow::Cow;
use std::num::NonZeroUsize;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tiller_core::counted::counted;
use tiller_core::media::detect_media_type;
use tiller_core::tool_spec::{Access, OutputKind, ToolSet, ToolTraits, TouchedPaths};

use super::atomic_write::FileContent;
use super::notice::truncation_notice;
use super::seen_files::{SeenFiles, add_seen};
use super::truncation::{OutputLimits, TruncatedText, TruncationExtent};
use super::{ToolEnvironment, ToolOutput, ToolProgress, TypedTool, atomic_write, blocking, image};
use crate::workspace::{FileAccess, Workspace};

/// Length of the prefix in which a NUL byte marks a file as binary, as in git.
const BINARY_PREFIX: usize = 8_000;

#[derive(Debug)]
pub(super) struct ReadFile {
    workspace: Workspace,
    limits: OutputLimits,
    seen: SeenFiles,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// File to read, relative to the working directory.
    path: String,
    /// First line to show, counted from 1. Default: 1.
    #[serde(default)]
    offset: Option<NonZeroUsize>,
    /// Maximum lines to show. Default: as many as fit.
    #[serde(default)]
    limit: Option<NonZeroUsize>,
}

impl From<&ToolEnvironment> for ReadFile {
    fn from(environment: &ToolEnvironment) -> Self {
        let (limits, seen) = (environment.limits, environment.seen.clone());
        Self { workspace: environment.readable(), limits, seen }
    }
}

impl TypedTool for ReadFile {
    type Arguments = Arguments;
    const NAME: &'static str = "read_file";
    const TRAITS: ToolTraits = ToolTraits {
        output: OutputKind::File,
        paths: TouchedPaths::File,
        set: Some(ToolSet::Files),
        ..ToolTraits::new(Access::Reads)
    };

    fn description(&self) -> String {
        let OutputLimits { max_lines, max_chars } = self.limits;
        format!(
            "Shows a text file, an image (png, jpeg, gif, webp) or a PDF file. At most {max_lines} lines or {max_chars} \
             characters per call; use offset to continue in a long file."
        )
    }

    async fn run(&self, arguments: Arguments, _progress: ToolProgress) -> ToolOutput {
        let (workspace, limits, seen) = (self.workspace.clone(), self.limits, self.seen.clone());
        blocking::run(move |_| read(&workspace, limits, &seen, &arguments).unwrap_or_else(ToolOutput::error))
            .await
    }
}

fn read(
    workspace: &Workspace,
    limits: OutputLimits,
    seen: &SeenFiles,
    arguments: &Arguments,
) -> Result<ToolOutput, String> {
    let resolved = workspace.resolve(&arguments.path, FileAccess::Read).map_err(|error| error.to_string())?;
    let FileContent { bytes, .. } = atomic_write::read(workspace, &resolved)?;
    seen.record(&resolved.path(), &bytes);
    let display_path = resolved.display_path();
    if let Some(mime_type) = detect_media_type(&bytes) {
        let mut output = image::output(display_path, mime_type, &bytes);
        add_seen(&mut output, display_path, &bytes);
        return Ok(output);
    }
    if bytes.iter().take(BINARY_PREFIX).any(|byte| *byte == 0) {
        return Err(format!(
            "{display_path} is a binary file of {} bytes; use bash (file, xxd, strings)",
            bytes.len()
        ));
    }
    let text = String::from_utf8_lossy(&bytes);
    let is_lossy = matches!(text, Cow::Owned(_));
    let mut output = show(display_path, text.trim_start_matches('\u{feff}'), limits, arguments)?;
    if is_lossy {
        output.push_notice("not UTF-8: invalid bytes are shown as \u{fffd}");
    }
    add_seen(&mut output, display_path, &bytes);
    Ok(output)
}

fn show(
    display_path: &str,
    text: &str,
    limits: OutputLimits,
    arguments: &Arguments,
) -> Result<ToolOutput, String> {
    let total = text.lines().count();
    let first = arguments.offset.map_or(1, NonZeroUsize::get);
    if total == 0 {
        return Ok(ToolOutput {
            details: Some(json!({ "lines": 0 })),
            ..ToolOutput::text("[the file is empty]")
        });
    }
    if first > total {
        return Err(format!(
            "argument `offset`: {display_path} has only {}",
            counted(total, "line", "lines")
        ));
    }
    let part = lines_of(text, first, arguments.limit.map(NonZeroUsize::get));
    let head = limits.head(part);
    let mut output = ToolOutput::text(head.text);
    output.details = Some(json!({ "lines": head.lines }));
    let notice = notice(&head, first, total);
    if head.extent != TruncationExtent::Whole {
        let (shown, whole) = (head.text.chars().count(), part.chars().count());
        let rest = notice.as_deref().unwrap_or_default();
        output.push_cut(truncation_notice(shown, Some(whole), ReadFile::NAME, rest));
    } else if let Some(notice) = notice {
        output.push_notice(&notice);
    }
    Ok(output)
}

/// Returns the part of a text from line `first`, at most `limit` lines.
fn lines_of(text: &str, first: usize, limit: Option<usize>) -> &str {
    let start_of = |text: &str, line: usize| {
        memchr::memchr_iter(b'\n', text.as_bytes()).nth(line).map_or(text.len(), |at| at + 1)
    };
    let part = if first == 1 { text } else { &text[start_of(text, first - 2)..] };
    limit.map_or(part, |limit| &part[..start_of(part, limit - 1)])
}

fn notice(head: &TruncatedText<'_>, first: usize, total: usize) -> Option<String> {
    let last = first + head.lines - 1;
    if head.extent == TruncationExtent::PartOfLine {
        let chars = head.text.chars().count();
        let on = if last < total { format!("; continue with offset {}", last + 1) } else { String::new() };
        return Some(format!(
            "only the first {chars} characters of line {first} are shown; use bash (cut -c) for its rest{on}"
        ));
    }
    (last < total)
        .then(|| format!("lines {first} to {last} of {total} are shown; continue with offset {}", last + 1))
}
