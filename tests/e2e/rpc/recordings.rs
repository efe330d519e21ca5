//! Recorded conversations, replayed line by line.
//!
//! A recording in `tests/conversations` is a file of lines. `$ NAME=VALUE` sets a variable of the environment;
//! `@ …` is an answer of the model's script; `>` is sent; `<` is received, in this order and nothing else; `=
//! NAME` ends reading at the event, or the response to the command, of that name. Variable parts are replaced:
//! ids are numbered in order of appearance (`ulid1`, also in sent lines), paths are `$PROJECT` and `$HOME`,
//! times, sequence numbers and sizes are omitted. `TILLER_TEST_RECORD=1` writes the `<` lines again; read them
//! before you keep them.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::client::Client;
use crate::sandbox::Sandbox;

/// Fields that differ each time.
const VOLATILE_FIELDS: [&str; 10] = [
    "timestamp",
    "time",
    "seq",
    "since",
    "runningSince",
    "delayMs",
    "modified",
    "lastActivity",
    "bytes",
    "queuedAt",
];

/// Length of an id that tiller makes.
const ULID: usize = 26;

#[test]
fn rpc_recorded_conversations_replay() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/conversations");
    let mut paths: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(paths.len() >= 8, "{paths:?}");
    for path in paths {
        replay(&path);
    }
}

fn replay(path: &Path) {
    let text = fs::read_to_string(path).unwrap();
    let script: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("@ ")).collect();
    let variables = text.lines().filter_map(|line| line.strip_prefix("$ ")?.split_once('='));
    let sandbox = variables.fold(Sandbox::new(), |sandbox, (name, value)| sandbox.with_variable(name, value));
    let model = sandbox.script(&script);
    let mut client = Client::start(&sandbox, &["--yes", "--provider", "scripted", "--model", &model]);
    let mut names = Placeholders::new(&sandbox, &model);
    let mut replayed = String::new();
    for line in text.lines().filter(|line| !line.starts_with("< ")) {
        replayed += &format!("{line}\n");
        if let Some(sent) = line.strip_prefix("> ") {
            client.send_bytes(names.replay_line(sent).as_bytes());
        } else if let Some(name) = line.strip_prefix("= ") {
            // Received lines precede the line that ends reading.
            replayed.truncate(replayed.len() - line.len() - 1);
            for received in client.wait_for(name) {
                replayed += &format!("< {}\n", names.record_line(received));
            }
            replayed += &format!("{line}\n");
        }
    }
    assert_eq!(client.end(), Some(0), "{}", path.display());
    if std::env::var_os("TILLER_TEST_RECORD").is_some() {
        fs::write(path, replayed).unwrap();
        return;
    }
    for (expected, received) in text.lines().zip(replayed.lines()) {
        assert_eq!(expected, received, "{}", path.display());
    }
    assert_eq!(text.lines().count(), replayed.lines().count(), "{}", path.display());
}

/// Texts that differ each time.
struct Placeholders {
    /// The text, and its name in a recording.
    names: Vec<(String, String)>,
    ulids: Vec<String>,
}

impl Placeholders {
    fn new(sandbox: &Sandbox, model: &str) -> Self {
        let real_path = |path: &Path| path.canonicalize().unwrap().display().to_string();
        let version = env!("CARGO_PKG_VERSION");
        let names = vec![
            (model.to_owned(), "$SCRIPT".to_owned()),
            (real_path(sandbox.project()), "$PROJECT".to_owned()),
            (dir_name(&real_path(sandbox.project())), "$FOLDER".to_owned()),
            (real_path(sandbox.home()), "$HOME".to_owned()),
            (format!("\"version\":\"{version}\""), "\"version\":\"$VERSION\"".to_owned()),
        ];
        Self { names, ulids: Vec::new() }
    }

    /// A line as in the recording.
    fn record_line(&mut self, mut line: Value) -> String {
        remove_volatile_fields(&mut line);
        let mut text = line.to_string();
        for (real_path, name) in &self.names {
            text = text.replace(real_path, name);
        }
        for ulid in ulids(&text) {
            if !self.ulids.contains(&ulid) {
                self.ulids.push(ulid);
            }
        }
        for (at, ulid) in self.ulids.iter().enumerate().rev() {
            text = text.replace(ulid, &format!("ulid{}", at + 1));
        }
        without_timestamps(&text)
    }

    /// A line of the recording as it is sent.
    fn replay_line(&self, line: &str) -> String {
        let mut text = line.to_owned();
        for (at, ulid) in self.ulids.iter().enumerate().rev() {
            text = text.replace(&format!("ulid{}", at + 1), ulid);
        }
        for (real_path, name) in &self.names {
            text = text.replace(name, real_path);
        }
        text
    }
}

/// The name of a directory's session directory.
fn dir_name(path: &str) -> String {
    format!("--{}--", path.trim_start_matches('/').replace('/', "-"))
}

fn remove_volatile_fields(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !VOLATILE_FIELDS.contains(&name.as_str()));
            fields.values_mut().for_each(remove_volatile_fields);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_volatile_fields),
        _ => {}
    }
}

/// Ids made by tiller, in order of appearance.
fn ulids(text: &str) -> Vec<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let is_ulid =
        |word: &&str| word.len() == ULID && word.starts_with("01") && !word.contains(char::is_lowercase);
    words.filter(is_ulid).map(str::to_owned).collect()
}

/// The names of logs begin with a time: `2026-11-21T03-16-58-198Z_…`.
fn without_timestamps(text: &str) -> String {
    let mut rest = text;
    let mut out = String::new();
    while let Some(at) = rest.find("Z_ulid") {
        let from = at.saturating_sub("2026-11-21T03-16-58-198".len());
        out += &rest[..from];
        out += "$MOMENT";
        rest = &rest[at + 1..];
    }
    out + rest
}
