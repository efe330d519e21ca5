//! Tests of importing corrupted and unusual sources.

use proptest::prelude::*;

use super::*;

const SOURCES: [&str; 5] = [
    "claude/orchard.jsonl",
    "claude/bees.jsonl",
    "codex/sessions/rollout-mill.jsonl",
    "pi/pond.jsonl",
    "pi/damaged.jsonl",
];

/// A mutation of a source.
#[derive(Clone, Debug)]
enum Change {
    /// Replaces a byte.
    Byte(usize, u8),
    /// Removes a range.
    Cut(usize, usize),
    /// Copies a line to another position.
    Copy(usize, usize),
    /// Removes a line.
    Drop(usize),
    /// Replaces a string of a line by another string: ids, kinds, names.
    Text(usize, usize),
    /// Replaces a value by one of another type.
    Value(usize, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let sandbox = 0_usize..100_000;
    prop_oneof![
        (sandbox.clone(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        (sandbox.clone(), 0_usize..400).prop_map(|(at, length)| Change::Cut(at, length)),
        (sandbox.clone(), sandbox.clone()).prop_map(|(from, to)| Change::Copy(from, to)),
        sandbox.clone().prop_map(Change::Drop),
        (sandbox.clone(), sandbox.clone()).prop_map(|(from, to)| Change::Text(from, to)),
        (sandbox.clone(), sandbox).prop_map(|(at, kind)| Change::Value(at, kind)),
    ]
}

fn changed(mut bytes: Vec<u8>, change: &Change) -> Vec<u8> {
    if bytes.is_empty() {
        return bytes;
    }
    match *change {
        Change::Byte(at, byte) => {
            let at = at % bytes.len();
            bytes[at] = byte;
            bytes
        }
        Change::Cut(at, length) => {
            let at = at % bytes.len();
            let end = (at + length).min(bytes.len());
            bytes.drain(at..end);
            bytes
        }
        Change::Copy(from, to) => lines_changed(&bytes, |lines| {
            let line = lines[from % lines.len()].clone();
            let to = to % lines.len();
            lines.insert(to, line);
        }),
        Change::Drop(at) => lines_changed(&bytes, |lines| {
            let at = at % lines.len();
            lines.remove(at);
        }),
        Change::Text(from, to) => {
            let texts = texts_of(&bytes);
            if texts.is_empty() {
                return bytes;
            }
            let (from, to) = (texts[from % texts.len()].clone(), texts[to % texts.len()].clone());
            let text = bytes[from].to_vec();
            bytes.splice(to, text);
            bytes
        }
        Change::Value(at, kind) => {
            let texts = texts_of(&bytes);
            if texts.is_empty() {
                return bytes;
            }
            let values: [&[u8]; 6] = [b"null", b"7", b"[]", b"{}", b"-1e300", b"[{\"type\":\"text\"}]"];
            bytes.splice(texts[at % texts.len()].clone(), values[kind % values.len()].iter().copied());
            bytes
        }
    }
}

fn lines_changed(bytes: &[u8], change: impl FnOnce(&mut Vec<Vec<u8>>)) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = bytes.split(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
    change(&mut lines);
    lines.join(&b'\n')
}

/// Ranges of the JSON strings, including quotes.
fn texts_of(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let quotes: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at] == b'"').collect();
    quotes.chunks_exact(2).map(|pair| pair[0]..pair[1] + 1).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn import_mutated_source_gives_valid_session(
        which in 0..SOURCES.len(),
        changes in prop::collection::vec(change(), 1..6),
    ) {
        let sandbox = Sandbox::new();
        let original = fs::read(foreign(SOURCES[which])).unwrap();
        let bytes = changes.iter().fold(original, changed);
        let source = sandbox.root.path().join("source.jsonl");
        fs::write(&source, &bytes).unwrap();
        let first = sandbox.import(&source);
        prop_assert_eq!(fs::read(&source).unwrap(), bytes);
        let Some(path) = first.path else {
            prop_assert!(first.reason.is_some());
            return Ok(());
        };
        let reader = Reader::open(&path).unwrap();
        prop_assert_eq!(reader.findings(), vec![]);
        prop_assert_eq!(reader.entries().unwrap().1, vec![]);
        prop_assert_eq!(sandbox.import(&source).status, ImportStatus::Unchanged);
        // Every branch can be sent: calls and results are paired.
        let tree = reader.tree();
        for (at, node) in tree.nodes().iter().enumerate() {
            if tree.children(at).is_empty() {
                let projection = context::project(&reader.branch(&node.id).unwrap().0);
                let request = context::request_messages(projection.messages.iter().map(|projected| &projected.message));
                prop_assert!(is_paired(&request), "{:?}", request);
            }
        }
    }
}

fn is_paired(request: &[Arc<Message>]) -> bool {
    let mut pending = Vec::new();
    for message in request {
        match &**message {
            Message::ToolResult(result) if pending.first() == Some(&result.tool_call_id) => {
                pending.remove(0);
            }
            Message::ToolResult(_) => return false,
            _ if !pending.is_empty() => return false,
            Message::Assistant(answer) => {
                for call in answer.tool_calls() {
                    if !pending.contains(&call.id) {
                        pending.push(call.id.clone());
                    }
                }
            }
            _ => {}
        }
    }
    pending.is_empty()
}

#[test]
fn import_unknown_format_is_error_with_hint() {
    let sandbox = Sandbox::new();
    let source = sandbox.source("notes.jsonl", &[r#"{"dear":"diary"}"#]);
    let imported = sandbox.import(&source);
    assert_eq!((imported.status, imported.from), (ImportStatus::Failed, None));
    let reason = imported.reason.unwrap();
    assert!(reason.contains("notes.jsonl, line 1: not a Claude Code, Codex or pi log"), "{reason}");
    let empty = sandbox.import(&sandbox.source("empty.jsonl", &[] as &[&str]));
    assert_eq!((empty.status, empty.reason.as_deref()), (ImportStatus::Skipped, Some("the file is empty")));
    let imported = sandbox.import(&sandbox.root.path().join("gone.jsonl"));
    assert!(imported.reason.unwrap().contains("gone.jsonl: can't be opened"));
}

/// Large enough that quadratic work would take minutes.
const MANY: usize = 20_000;

#[test]
fn import_pi_same_id_everywhere_is_fast() {
    let sandbox = Sandbox::new();
    let header =
        r#"{"type":"session","version":3,"id":"x","timestamp":"2026-03-06T08:00:00.000Z","cwd":"/w"}"#;
    let message_line = r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-03-06T08:00:00.000Z","message":{"role":"user","content":"hi","timestamp":1}}"#;
    let lines: Vec<&str> = std::iter::once(header).chain(std::iter::repeat_n(message_line, MANY)).collect();
    let imported = sandbox.import(&sandbox.source("same.jsonl", &lines));
    assert_eq!((imported.status, imported.entries), (ImportStatus::Imported, MANY + 1));
}

/// A line in Claude Code's format.
fn claude(kind: &str, uuid: &str, parent: &str, message: &str) -> String {
    format!(
        r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"sessionId":"s","cwd":"/w","timestamp":"2026-03-06T08:00:00.000Z","message":{message}}}"#
    )
}

#[test]
fn import_claude_identical_lines_is_fast() {
    let sandbox = Sandbox::new();
    let line = claude("user", "u", "null", r#"{"role":"user","content":"hi"}"#);
    let imported = sandbox.import(&sandbox.source("same.jsonl", &vec![line; MANY]));
    assert_eq!((imported.status, imported.entries), (ImportStatus::Imported, MANY + 2));
}

#[test]
fn import_claude_results_without_calls_is_fast() {
    let sandbox = Sandbox::new();
    let mut lines = vec![claude("user", "u0", "null", r#"{"role":"user","content":"hi"}"#)];
    for at in 1..=2 * MANY {
        let message = format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c{at}","content":"x"}}]}}"#
        );
        lines.push(claude("user", &format!("u{at}"), &format!("\"u{}\"", at - 1), &message));
    }
    let imported = sandbox.import(&sandbox.source("results.jsonl", &lines));
    assert_eq!((imported.status, imported.entries), (ImportStatus::Imported, 3));
    assert_eq!(warnings(&imported), [(2, 2 * MANY as u64, "results without their calls")]);
}

#[test]
fn import_unknown_kinds_is_fast_and_brief() {
    let sandbox = Sandbox::new();
    let mut lines = vec![claude("user", "u", "null", r#"{"role":"user","content":"hi"}"#)];
    lines.extend((0..3 * MANY).map(|at| claude(&format!("kind-{at}"), &format!("k{at}"), "null", "{}")));
    let imported = sandbox.import(&sandbox.source("kinds.jsonl", &lines));
    let notes = warnings(&imported);
    assert_eq!((imported.status, notes.len()), (ImportStatus::Imported, 51));
    assert_eq!(notes[50], (52, 3 * MANY as u64 - 50, "and others"));
}

#[test]
fn import_pipe_is_refused() {
    let sandbox = Sandbox::new();
    let pipe = sandbox.root.path().join("pipe.jsonl");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let imported = sandbox.import(&pipe);
    assert_eq!(imported.status, ImportStatus::Failed);
    let reason = imported.reason.unwrap();
    assert!(reason.contains("pipe.jsonl: can't be opened: a pipe, not a regular file"), "{reason}");
}
