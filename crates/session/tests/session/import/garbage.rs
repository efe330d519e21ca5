//! Sources that nobody wrote on purpose.

use proptest::prelude::*;

use super::*;

const SOURCES: [&str; 5] = [
    "claude/orchard.jsonl",
    "claude/bees.jsonl",
    "codex/sessions/rollout-mill.jsonl",
    "pi/pond.jsonl",
    "pi/damaged.jsonl",
];

/// What happens to a source's bytes.
#[derive(Clone, Debug)]
enum Change {
    /// Another byte stands somewhere.
    Byte(usize, u8),
    /// A piece is gone.
    Cut(usize, usize),
    /// A line stands once more somewhere else.
    Copy(usize, usize),
    /// A line is gone.
    Drop(usize),
    /// One of the texts of a line takes another one's place: ids, kinds, names.
    Text(usize, usize),
    /// A value of a line is of another kind.
    Value(usize, usize),
}

fn change() -> impl Strategy<Value = Change> {
    let place = 0_usize..100_000;
    prop_oneof![
        (place.clone(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        (place.clone(), 0_usize..400).prop_map(|(at, length)| Change::Cut(at, length)),
        (place.clone(), place.clone()).prop_map(|(from, to)| Change::Copy(from, to)),
        place.clone().prop_map(Change::Drop),
        (place.clone(), place.clone()).prop_map(|(from, to)| Change::Text(from, to)),
        (place.clone(), place).prop_map(|(at, kind)| Change::Value(at, kind)),
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

/// Where the JSON texts stand, their quotes among them.
fn texts_of(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let quotes: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at] == b'"').collect();
    quotes.chunks_exact(2).map(|pair| pair[0]..pair[1] + 1).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whatever_was_done_to_a_source_its_session_is_whole_and_can_be_sent(
        which in 0..SOURCES.len(),
        changes in prop::collection::vec(change(), 1..6),
    ) {
        let place = Place::new();
        let original = fs::read(foreign(SOURCES[which])).unwrap();
        let bytes = changes.iter().fold(original, changed);
        let source = place.root.path().join("source.jsonl");
        fs::write(&source, &bytes).unwrap();
        let first = place.import(&source);
        prop_assert_eq!(fs::read(&source).unwrap(), bytes);
        let Some(path) = first.path else {
            prop_assert!(first.reason.is_some());
            return Ok(());
        };
        let reader = Reader::open(&path).unwrap();
        prop_assert_eq!(reader.findings(), vec![]);
        prop_assert_eq!(reader.entries().unwrap().1, vec![]);
        prop_assert_eq!(place.import(&source).status, ImportStatus::Unchanged);
        // Every branch can be sent: calls and results pair up.
        let tree = reader.tree();
        for (at, node) in tree.nodes().iter().enumerate() {
            if tree.children(at).is_empty() {
                let projection = context::project(&reader.branch(&node.id).unwrap().0);
                let sent = context::sendable(projection.messages.iter().map(|projected| &projected.message));
                prop_assert!(pairs_up(&sent), "{:?}", sent);
            }
        }
    }
}

fn pairs_up(sent: &[Arc<Message>]) -> bool {
    let mut waiting = Vec::new();
    for message in sent {
        match &**message {
            Message::ToolResult(result) if waiting.first() == Some(&result.tool_call_id) => {
                waiting.remove(0);
            }
            Message::ToolResult(_) => return false,
            _ if !waiting.is_empty() => return false,
            Message::Assistant(answer) => {
                for call in answer.tool_calls() {
                    if !waiting.contains(&call.id) {
                        waiting.push(call.id.clone());
                    }
                }
            }
            _ => {}
        }
    }
    waiting.is_empty()
}

#[test]
fn a_file_that_is_nothing_known_says_which_line_and_what_to_do() {
    let place = Place::new();
    let source = place.source("notes.jsonl", &[r#"{"dear":"diary"}"#]);
    let imported = place.import(&source);
    assert_eq!((imported.status, imported.from), (ImportStatus::Failed, None));
    let reason = imported.reason.unwrap();
    assert!(reason.contains("notes.jsonl, line 1: not a log of Claude Code, Codex or pi; "), "{reason}");
    let empty = place.import(&place.source("empty.jsonl", &[] as &[&str]));
    assert_eq!((empty.status, empty.reason.as_deref()), (ImportStatus::Skipped, Some("the file is empty")));
    let gone = place.import(&place.root.path().join("gone.jsonl"));
    assert!(gone.reason.unwrap().contains("gone.jsonl: can't be opened"));
}

/// Long enough that work for each line which grows with the lines before it would take minutes.
const MANY: usize = 20_000;

#[test]
fn a_pi_log_with_one_id_on_every_line_is_imported_in_time() {
    let place = Place::new();
    let header =
        r#"{"type":"session","version":3,"id":"x","timestamp":"2026-03-06T08:00:00.000Z","cwd":"/w"}"#;
    let said = r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-03-06T08:00:00.000Z","message":{"role":"user","content":"hi","timestamp":1}}"#;
    let lines: Vec<&str> = std::iter::once(header).chain(std::iter::repeat_n(said, MANY)).collect();
    let imported = place.import(&place.source("same.jsonl", &lines));
    assert_eq!((imported.status, imported.entries), (ImportStatus::Imported, MANY + 1));
}

/// A line of Claude Code's.
fn claude(kind: &str, uuid: &str, parent: &str, message: &str) -> String {
    format!(
        r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":{parent},"sessionId":"s","cwd":"/w","timestamp":"2026-03-06T08:00:00.000Z","message":{message}}}"#
    )
}

#[test]
fn a_claude_log_that_says_the_same_on_every_line_is_imported_in_time() {
    let place = Place::new();
    let line = claude("user", "u", "null", r#"{"role":"user","content":"hi"}"#);
    let imported = place.import(&place.source("same.jsonl", &vec![line; MANY]));
    assert_eq!((imported.status, imported.entries), (ImportStatus::Imported, MANY + 2));
}

#[test]
fn a_claude_log_of_results_without_calls_is_imported_in_time() {
    let place = Place::new();
    let mut lines = vec![claude("user", "u0", "null", r#"{"role":"user","content":"hi"}"#)];
    for at in 1..=2 * MANY {
        let message = format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"c{at}","content":"x"}}]}}"#
        );
        lines.push(claude("user", &format!("u{at}"), &format!("\"u{}\"", at - 1), &message));
    }
    let imported = place.import(&place.source("results.jsonl", &lines));
    assert_eq!((imported.status, imported.entries), (ImportStatus::Imported, 3));
    assert_eq!(notes(&imported), [(2, 2 * MANY as u64, "results without their calls")]);
}

#[test]
fn a_log_of_unknown_kinds_is_imported_in_time_and_doesnt_name_them_all() {
    let place = Place::new();
    let mut lines = vec![claude("user", "u", "null", r#"{"role":"user","content":"hi"}"#)];
    lines.extend((0..3 * MANY).map(|at| claude(&format!("kind-{at}"), &format!("k{at}"), "null", "{}")));
    let imported = place.import(&place.source("kinds.jsonl", &lines));
    let notes = notes(&imported);
    assert_eq!((imported.status, notes.len()), (ImportStatus::Imported, 51));
    assert_eq!(notes[50], (52, 3 * MANY as u64 - 50, "and others"));
}

#[test]
fn a_pipe_is_no_log_and_nobody_waits_for_it() {
    let place = Place::new();
    let pipe = place.root.path().join("pipe.jsonl");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let imported = place.import(&pipe);
    assert_eq!(imported.status, ImportStatus::Failed);
    let reason = imported.reason.unwrap();
    assert!(reason.contains("pipe.jsonl: can't be opened: not a regular file but a pipe"), "{reason}");
}
