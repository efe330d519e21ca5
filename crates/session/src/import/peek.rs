//! A first look at a foreign log, for a list of many: whose it is, where it was at work, and what was asked first.

use std::path::Path;

use serde_json::Value;

use super::detect::{SourceFormat, told};
use super::source::{Source, parse, text};

/// Lines that are looked at.
const LOOKED_AT: u64 = 60;

/// Most characters of what was asked first.
const WORDS: usize = 200;

/// What the beginning of a foreign log says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LogPeek {
    /// The program that wrote it, if that can be told.
    pub from: Option<SourceFormat>,
    /// The directory that was worked in.
    pub cwd: Option<String>,
    /// What the user said first.
    pub words: Option<String>,
}

impl LogPeek {
    fn is_whole(&self) -> bool {
        self.from.is_some() && self.cwd.is_some() && self.words.is_some()
    }

    fn take(&mut self, line: &Value) {
        self.from = self.from.or_else(|| told(line));
        let payload = line.get("payload").unwrap_or(line);
        let cwd = text(line, "cwd").or_else(|| text(payload, "cwd"));
        self.cwd = self.cwd.take().or_else(|| cwd.map(str::to_owned));
        self.words = self.words.take().or_else(|| words(line.get("message").unwrap_or(payload)));
    }
}

/// Looks at the beginning of a foreign log; what can't be read says nothing.
#[must_use]
pub fn glance(path: &Path) -> LogPeek {
    let (mut glance, mut lines) = (LogPeek::default(), 0);
    if let Ok(source) = Source::open(path) {
        // A log that can't be read to the end of its beginning says as much as was read.
        let _ = source.scan(|line| {
            lines += 1;
            if let Some((value, _)) = line.bytes().and_then(|bytes| parse(bytes).ok()) {
                glance.take(&value);
            }
            !glance.is_whole() && lines < LOOKED_AT
        });
    }
    glance
}

/// What a user's message says, unless a program said it in the user's name.
fn words(message: &Value) -> Option<String> {
    if text(message, "role") != Some("user") {
        return None;
    }
    let content = message.get("content")?;
    let blocks = content.as_array().into_iter().flatten();
    let said = content.as_str().or_else(|| blocks.filter_map(|block| text(block, "text")).next())?;
    let is_a_programs = said.trim_start().starts_with(['<', '#']);
    (!is_a_programs && !said.trim().is_empty()).then(|| said.trim().chars().take(WORDS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_every_programs_log_says_whose_it_is_and_what_was_asked() {
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
            let expected = LogPeek { from: Some(from), cwd: Some(cwd.into()), words: Some(words.into()) };
            assert_eq!(glance(&fixtures.join(file)), expected, "{file}");
        }
        assert_eq!(glance(Path::new("/nowhere/at-all.jsonl")), LogPeek::default());
    }
}
