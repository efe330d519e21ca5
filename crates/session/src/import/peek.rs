//! A preview of a foreign log for lists: its program, working directory and first prompt.

use std::path::Path;

use serde_json::Value;

use super::detect::{SourceFormat, detect_line};
use super::source::{SourceLog, parse, text};

/// Maximum number of lines to read.
const MAX_LINES: u64 = 60;

/// Maximum length of the first prompt, in characters.
const MAX_PROMPT_CHARS: usize = 200;

/// The data in a log's first lines.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPeek {
    /// The program that wrote it, if detected.
    pub from: Option<SourceFormat>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The first prompt.
    pub first_prompt: Option<String>,
}

impl LogPeek {
    fn is_complete(&self) -> bool {
        self.from.is_some() && self.cwd.is_some() && self.first_prompt.is_some()
    }

    fn read_line(&mut self, line: &Value) {
        self.from = self.from.or_else(|| detect_line(line));
        let payload = line.get("payload").unwrap_or(line);
        let cwd = text(line, "cwd").or_else(|| text(payload, "cwd"));
        self.cwd = self.cwd.take().or_else(|| cwd.map(str::to_owned));
        self.first_prompt =
            self.first_prompt.take().or_else(|| prompt_text(line.get("message").unwrap_or(payload)));
    }
}

/// Reads the first lines of a foreign log; unreadable data is ignored.
#[must_use]
pub fn peek(path: &Path) -> LogPeek {
    let (mut peek, mut lines) = (LogPeek::default(), 0);
    if let Ok(source) = SourceLog::open(path) {
        // After a read error, the data so far is returned.
        let _ = source.scan(|line| {
            lines += 1;
            if let Some((value, _)) = line.bytes().and_then(|bytes| parse(bytes).ok()) {
                peek.read_line(&value);
            }
            !peek.is_complete() && lines < MAX_LINES
        });
    }
    peek
}

/// The text of a user message, unless the program injected it.
fn prompt_text(message: &Value) -> Option<String> {
    if text(message, "role") != Some("user") {
        return None;
    }
    let content = message.get("content")?;
    let blocks = content.as_array().into_iter().flatten();
    let prompt = content.as_str().or_else(|| blocks.filter_map(|block| text(block, "text")).next())?;
    let is_injected = prompt.trim_start().starts_with(['<', '#']);
    (!is_injected && !prompt.trim().is_empty())
        .then(|| prompt.trim().chars().take(MAX_PROMPT_CHARS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peek_reads_format_cwd_and_first_prompt() {
        let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/foreign");
        let cases = [
            (
                "claude/orchard.jsonl",
                SourceFormat::Claude,
                "/home/ada/orchard",
                "count the trees in this picture",
            ),
            (
                "codex/sessions/rollout-mill.jsonl",
                SourceFormat::Codex,
                "/home/ada/mill",
                "is the wheel turning?",
            ),
            ("pi/pond.jsonl", SourceFormat::Pi, "/home/ada/pond", "feed the fish"),
        ];
        for (file, from, cwd, words) in cases {
            let expected =
                LogPeek { from: Some(from), cwd: Some(cwd.into()), first_prompt: Some(words.into()) };
            assert_eq!(peek(&fixtures.join(file)), expected, "{file}");
        }
        assert_eq!(peek(Path::new("/nowhere/at-all.jsonl")), LogPeek::default());
    }
}
