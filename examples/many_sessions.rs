//! Fills a directory with sessions, to measure lists and searches with very many of them.
//!
//! ```text
//! cargo run --release --example many_sessions -- /tmp/many 10000 5GB
//! TILLER_HOME=/tmp/many tiller sessions list --all
//! TILLER_HOME=/tmp/many tiller sessions search --all parser
//! ```
//!
//! The sessions belong to forty projects that don't exist, except the first project's sessions, which belong to
//! `DIR/project`. Most of their bytes are tool output, as in real sessions.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::{Context, anyhow};
use serde_json::{Value, json};
use tiller::unit::UnixMs;

/// Number of projects that share the sessions.
const PROJECTS: usize = 40;

/// Start of the oldest session: 2026-01-01T00:00:00Z.
const FIRST: i64 = 1_767_225_600_000;

/// Time between two sessions, in milliseconds.
const APART: i64 = 60_000;

const WORDS: [&str; 48] = [
    "parser", "lexer", "token", "buffer", "socket", "thread", "query", "index", "cache", "branch", "merge",
    "commit", "schema", "table", "column", "render", "layout", "widget", "cursor", "editor", "session",
    "prompt", "answer", "error", "retry", "timeout", "stream", "chunk", "header", "footer", "config",
    "setting", "folder", "file", "path", "test", "fixture", "bench", "release", "build", "linker", "macro",
    "trait", "struct", "enum", "closure", "future", "task",
];

fn main() -> anyhow::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [dir, count, size] = arguments.as_slice() else {
        return Err(anyhow!("say where, how many, and how much: many_sessions DIR 10000 5GB"));
    };
    let dir = std::path::absolute(dir)?;
    let count: usize = count.parse().context("how many sessions?")?;
    let total = bytes(size).context("how much in all? 500MB, 5GB")?;
    fs::create_dir_all(dir.join("project"))?;
    let mut rng = Rng(0x9e37_79b9_7f4a_7c15);
    let mut written_bytes = 0;
    for at in 0..count {
        // Sizes vary as in practice: half of all bytes are in a tenth of the sessions.
        let share = total / count as u64;
        let size = if at.is_multiple_of(10) { share * 5 } else { share * 5 / 9 };
        written_bytes += session(&dir, at, size, &mut rng)?;
    }
    println!("{count} sessions, {} MB in {}", written_bytes / 1_000_000, dir.display());
    println!("TILLER_HOME={} tiller --cwd {} sessions list", dir.display(), dir.join("project").display());
    Ok(())
}

fn bytes(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let unit = match &text[digits.len()..] {
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return None,
    };
    Some(digits.parse::<u64>().ok()? * unit)
}

/// Reproducible random numbers (xorshift).
struct Rng(u64);

impl Rng {
    fn next_u64(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap_or(0)
    }

    fn words(&mut self, count: usize) -> String {
        let words: Vec<&str> = (0..count).map(|_| WORDS[self.next_u64(WORDS.len())]).collect();
        words.join(" ")
    }
}

/// Writes a session of about this many bytes.
fn session(root: &Path, at: usize, size: u64, rng: &mut Rng) -> anyhow::Result<u64> {
    let project = at % PROJECTS;
    let cwd =
        if project == 0 { root.join("project") } else { PathBuf::from(format!("/projects/p{project:02}")) };
    let cwd = cwd.display().to_string();
    let start = UnixMs(FIRST + at as i64 * APART);
    let id = format!("01MANY{at:020}");
    let dir = root.join(format!("sessions/--{}--", cwd.trim_start_matches('/').replace('/', "-")));
    fs::create_dir_all(&dir)?;
    let name = format!("{}_{id}.jsonl", start.to_iso().replace([':', '.'], "-"));
    let file = File::create(dir.join(name))?;
    let mut log = Log { out: BufWriter::new(&file), written_bytes: 0, entries: 0, start };
    let header = json!({"type": "session", "version": 3, "id": id, "timestamp": start.to_iso(), "cwd": cwd});
    log.line(&header)?;
    while log.written_bytes < size {
        turn(&mut log, rng)?;
    }
    if at.is_multiple_of(4) {
        log.entry("session_info", &json!({"name": rng.words(3)}))?;
    }
    let written_bytes = log.written_bytes;
    log.out.flush()?;
    drop(log);
    let modified = u64::try_from(start.0).unwrap_or(0);
    file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_millis(modified))?;
    Ok(written_bytes)
}

/// A prompt, a call, its output, and an answer.
fn turn(log: &mut Log<'_>, rng: &mut Rng) -> anyhow::Result<()> {
    let usage = json!({"input": 900, "output": 100, "totalTokens": 1000, "cost": {"total": 0.01}});
    let prompt = rng.words(12);
    log.message(&json!({"role": "user", "content": prompt, "timestamp": log.start}))?;
    let call = json!({"type": "toolCall", "id": "c", "name": "bash", "arguments": {"command": rng.words(4)}});
    log.message(&json!({"role": "assistant", "content": [call], "provider": "mock", "model": "m", "usage": usage, "stopReason": "toolUse"}))?;
    let lines = 20 + rng.next_u64(300);
    let printed = format!("{}\n", rng.words(8)).repeat(lines);
    log.message(&json!({"role": "toolResult", "toolCallId": "c", "toolName": "bash", "content": [{"type": "text", "text": printed}], "isError": false}))?;
    let answer = json!({"type": "text", "text": rng.words(60)});
    log.message(&json!({"role": "assistant", "content": [answer], "provider": "mock", "model": "m", "usage": usage, "stopReason": "stop"}))
}

struct Log<'a> {
    out: BufWriter<&'a File>,
    written_bytes: u64,
    entries: usize,
    start: UnixMs,
}

impl Log<'_> {
    fn message(&mut self, message: &Value) -> anyhow::Result<()> {
        self.entry("message", &json!({"message": message}))
    }

    fn entry(&mut self, kind: &str, body: &Value) -> anyhow::Result<()> {
        let parent = self.entries.checked_sub(1).map(|parent| format!("e{parent:07}"));
        let timestamp = UnixMs(self.start.0 + self.entries as i64 * 1_000).to_iso();
        let mut entry = json!({"type": kind, "id": format!("e{:07}", self.entries), "parentId": parent, "timestamp": timestamp});
        if let (Value::Object(entry), Value::Object(body)) = (&mut entry, body) {
            entry.extend(body.clone());
        }
        self.entries += 1;
        self.line(&entry)
    }

    fn line(&mut self, line: &Value) -> anyhow::Result<()> {
        let text = format!("{line}\n");
        self.out.write_all(text.as_bytes())?;
        self.written_bytes += text.len() as u64;
        Ok(())
    }
}
