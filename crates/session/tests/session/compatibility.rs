//! Tests of compatibility: reading other programs' logs, and writing logs that they can read.

use serde_json::{Value, json};
use tiller_core::message::ThinkingLevel;
use tiller_core::unit::{Tokens, Usd};
use tiller_session::annotations::Annotations;
use tiller_session::context::request_messages;
use tiller_test_support::format_check;

use super::fixtures::fixture;
use super::*;

/// The expected properties of another program's log.
#[derive(Debug, PartialEq)]
struct Expected {
    leaf: &'static str,
    context: &'static [&'static str],
    /// The request messages: `user`, `answer`, and results by their calls, with `!` for failed ones.
    request: &'static [&'static str],
    model: &'static str,
    level: ThinkingLevel,
    tokens: u64,
    /// Total tokens, and cost in thousandths of a dollar.
    totals: (u64, u64),
}

/// Model and thinking level of all these logs except one.
const DEFAULT_MODEL: (&str, ThinkingLevel) = ("local/small-2", ThinkingLevel::Low);

fn assert_fixture(name: &str, expected: &Expected) {
    let reader = fixture(name);
    let (projection, damaged) = reader.projection(&reader.leaf().unwrap()).unwrap();
    assert_eq!((reader.findings(), damaged), (vec![], vec![]), "{name}");
    assert_eq!(reader.leaf().unwrap().as_str(), expected.leaf, "{name}");
    let context: Vec<&str> = projection.messages.iter().map(|message| message.entry.as_str()).collect();
    assert_eq!(context, expected.context, "{name}");
    let request = request_messages(projection.messages.iter().map(|projected| &projected.message));
    assert_eq!(request.iter().map(|message| role(message)).collect::<Vec<_>>(), expected.request, "{name}");
    assert_eq!(projection.model.as_ref().unwrap().to_string(), expected.model, "{name}");
    assert_eq!(
        (projection.thinking, projection.tokens()),
        (expected.level, Tokens(expected.tokens)),
        "{name}"
    );
    let cost = Usd(expected.totals.1 as f64 / 1_000.0);
    assert_eq!(
        (reader.usage().total(), reader.usage().cost.total),
        (Tokens(expected.totals.0), cost),
        "{name}"
    );
}

fn role(message: &Message) -> String {
    match message {
        Message::User(_) => "user".into(),
        Message::Assistant(_) => "answer".into(),
        Message::ToolResult(result) if result.is_error => format!("{}!", result.tool_call_id),
        Message::ToolResult(result) => result.tool_call_id.to_string(),
        Message::BashExecution(execution) => format!("$ {}", execution.command),
        Message::System(_) => "system".into(),
    }
}

#[test]
fn reader_foreign_steered_run_is_in_order() {
    let (model, level) = DEFAULT_MODEL;
    assert_fixture(
        "foreign-steered",
        &Expected {
            leaf: "5eed0035",
            context: &[
                "5eed0003", "5eed0010", "5eed0011", "5eed0020", "5eed0021", "5eed0022", "5eed0030",
                "5eed0031", "5eed0032", "5eed0033", "5eed0034", "5eed0035",
            ],
            request: &[
                "user", "answer", "k1", "k2", "k3", "user", "answer", "user", "answer", "user", "answer",
            ],
            model,
            level,
            tokens: 360,
            totals: (220 + 480 + 320 + 360, 750),
        },
    );
}

#[test]
fn sendable_foreign_failed_answer_is_dropped() {
    let (model, level) = DEFAULT_MODEL;
    assert_fixture(
        "foreign-retried",
        &Expected {
            leaf: "5eed0013",
            context: &["5eed0003", "5eed0010", "5eed0013"],
            request: &["user", "answer"],
            model,
            level,
            tokens: 220,
            totals: (220, 0),
        },
    );
}

#[test]
fn sendable_foreign_stopped_calls_keep_results() {
    let (model, level) = DEFAULT_MODEL;
    assert_fixture(
        "foreign-aborted-tools",
        &Expected {
            leaf: "5eed0031",
            context: &[
                "5eed0003", "5eed0010", "5eed0011", "5eed0020", "5eed0021", "5eed0022", "5eed0030",
                "5eed0031",
            ],
            request: &["user", "answer", "k1!", "k2!", "k3!", "user"],
            model,
            level,
            // 220 were measured; then three results of 19 characters, and a message of 13.
            tokens: 220 + 3 * 5 + 4,
            totals: (220, 0),
        },
    );
}

#[test]
fn sendable_foreign_killed_calls_get_results() {
    let (model, level) = DEFAULT_MODEL;
    assert_fixture(
        "foreign-killed-tools",
        &Expected {
            leaf: "5eed0013",
            context: &["5eed0003", "5eed0010", "5eed0011", "5eed0012", "5eed0013"],
            request: &["user", "answer", "k1!", "k2!", "k3!", "user", "answer"],
            model,
            level,
            tokens: 300,
            totals: (220 + 300, 0),
        },
    );
}

#[test]
fn reader_foreign_commands_and_labels() {
    assert_fixture(
        "foreign-bash",
        &Expected {
            leaf: "5eed0062",
            context: &["5eed0003", "5eed0010", "5eed0011", "5eed0020", "5eed0012", "5eed0050", "5eed0051"],
            request: &["user", "answer", "k1", "answer", "$ git branch"],
            model: "local/large-2",
            level: ThinkingLevel::High,
            // 250 were measured; then `git branch` with `main\n`, and `cat .env` with what it printed.
            tokens: 250 + 4 + 5,
            totals: (220 + 250, 125),
        },
    );
    let reader = fixture("foreign-bash");
    assert_eq!(reader.name().as_deref(), Some("branches"));
    let tree = reader.tree();
    let marks = Annotations::read(&reader, &tree);
    let labels =
        (0..tree.nodes().len()).filter_map(|at| Some((tree.nodes()[at].id.as_str(), marks.label(at)?)));
    assert_eq!(labels.collect::<Vec<_>>(), [("5eed0010", "question")]);
}

fn line_of(entry: Value) -> String {
    format!("{HEADER}\n{entry}\n")
}

/// A valid entry with these keys replaced; null removes one.
fn entry_with(changes: Value) -> Value {
    let mut entry = json!({"type": "message", "id": "a", "parentId": null, "timestamp": "2026-11-21T03:16:58.249Z",
        "message": {"role": "user", "content": [{"type": "text", "text": "hi"}], "timestamp": 1}});
    for (key, value) in changes.as_object().unwrap() {
        match value {
            Value::Null => drop(entry.as_object_mut().unwrap().shift_remove(key)),
            value => entry[key] = value.clone(),
        }
    }
    entry
}

#[test]
fn format_check_rejects_wrong_entries() {
    assert_eq!(format_check::check(&line_of(entry_with(json!({})))), Ok(()));
    assert_eq!(format_check::check(&line_of(entry_with(json!({"tillerQueueId": "q"})))), Ok(()));
    for (changes, reason) in [
        (json!({"queueId": "q"}), "unknown key queueId"),
        (json!({"type": "note"}), "no type is called note"),
        (json!({"parentId": "z"}), "its parent z is not before it"),
        (json!({"timestamp": "2026-11-21T03:16:58Z"}), "timestamp: it can't be"),
        (json!({"timestamp": null}), "timestamp is missing"),
        (json!({"message": {"role": "oracle", "timestamp": 1}}), "message: no role is called oracle"),
        (json!({"message": {"role": "user", "content": "hi"}}), "message: timestamp is missing"),
        (
            json!({"message": {"role": "user", "content": [{"type": "sound"}], "timestamp": 1}}),
            "called sound",
        ),
        (json!({"type": "session_info", "message": null}), "name is missing"),
        (json!({"type": "thinking_level_change", "thinkingLevel": "huge", "message": null}), "thinkingLevel"),
    ] {
        let error = format_check::check(&line_of(entry_with(changes))).unwrap_err();
        assert!(error.starts_with("line 2: ") && error.contains(reason), "{error}");
    }
    let duplicated = format!("{HEADER}\n{}\n{}\n", entry_with(json!({})), entry_with(json!({})));
    assert!(format_check::check(&duplicated).unwrap_err().contains("the id \"a\" is taken"));
    assert!(format_check::check(HEADER).unwrap_err().contains("no end"));
    assert!(format_check::check(&HEADER.replace("3,", "4,")).is_err());
}

#[test]
fn writer_log_passes_format_check() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    let first = append_user(&mut writer, "one");
    let second = append_user(&mut writer, "two");
    writer.label(&second, Some("left"), NOW).unwrap();
    writer.label(&second, None, NOW).unwrap();
    writer.name(Some("numbers"), NOW).unwrap();
    writer.branch(Some(&first), NOW).unwrap();
    writer.hide(&second, Visibility::Hidden, NOW).unwrap();
    writer.branch_with_summary(None, "numbers were said", NOW).unwrap();
    let fork = sandbox.manager.fork(&writer.reader(), Some(&second), NOW).unwrap();
    writer.name(None, NOW).unwrap();
    for reader in [writer.reader(), fork.reader()] {
        let log = fs::read_to_string(reader.path().unwrap()).unwrap();
        assert_eq!(format_check::check(&log), Ok(()));
    }
}
