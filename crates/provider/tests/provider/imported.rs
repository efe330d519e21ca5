//! Requests in sessions imported from other programs.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use tempfile::TempDir;
use tiller_core::message::Message;
use tiller_core::unit::UnixMs;
use tiller_provider::Request;
use tiller_session::import::{ImportMode, Importer};
use tiller_session::{Placement, Reader, SessionManager, context};

use super::bodies::{record_anthropic_request, record_open_ai_request, record_responses_request};
use super::gemini::record_gemini_request;
use crate::hello;

const SOURCES: [&str; 6] = [
    "claude/orchard.jsonl",
    "claude/bees.jsonl",
    "codex/sessions/rollout-mill.jsonl",
    "codex/sessions/rollout-hello.jsonl",
    "pi/pond.jsonl",
    "pi/damaged.jsonl",
];

/// Returns the messages of a request at the end of each branch of an imported source.
fn conversations(source: &str) -> Vec<Vec<Arc<Message>>> {
    let root = TempDir::new().unwrap();
    let manager = SessionManager::new(Placement::Flat(root.path().into()), "/".into());
    let importer = Importer { manager: &manager, only: None, mode: ImportMode::Write, now: UnixMs(0) };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/foreign").join(source);
    let reader = Reader::open(&importer.file(&source).path.unwrap()).unwrap();
    let tree = reader.tree();
    let leaves = (0..tree.nodes().len()).filter(|&at| tree.children(at).is_empty());
    leaves
        .map(|at| {
            let projection = context::project(&reader.branch(&tree.nodes()[at].id).unwrap().0);
            context::request_messages(projection.messages.iter().map(|projected| &projected.message))
        })
        .collect()
}

fn ids(blocks: &Value, kind: &str, key: &str) -> Vec<String> {
    let blocks = blocks.as_array().into_iter().flatten().filter(|block| block["type"] == kind);
    blocks.map(|block| block[key].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn anthropic_imported_results_follow_their_calls() {
    let mut calls_seen = BTreeSet::new();
    for messages in SOURCES.into_iter().flat_map(conversations) {
        let body = record_anthropic_request(Request { messages, ..hello("claude-opus-4-5") }).await.body;
        let messages = body["messages"].as_array().unwrap();
        for (at, message) in messages.iter().enumerate() {
            let expected = if at % 2 == 0 { "user" } else { "assistant" };
            assert_eq!(message["role"], expected, "{body:#}");
            let results = ids(&message["content"], "tool_result", "tool_use_id");
            let calls =
                at.checked_sub(1).map(|previous| ids(&messages[previous]["content"], "tool_use", "id"));
            assert_eq!(calls.unwrap_or_default(), results, "{body:#}");
            calls_seen.extend(results);
        }
        assert_eq!(ids(&messages.last().unwrap()["content"], "tool_use", "id"), [""; 0], "{body:#}");
    }
    // The aborted call is not sent.
    assert_eq!(calls_seen.into_iter().collect::<Vec<_>>(), ["call_1", "call_2", "call_3", "t1", "t2", "t3"]);
}

#[tokio::test]
async fn open_ai_imported_results_follow_their_calls() {
    for messages in SOURCES.into_iter().flat_map(conversations) {
        let body = record_open_ai_request(Request { messages, ..hello("gpt-5") }).await.body;
        let mut pending_ids: Vec<String> = Vec::new();
        for message in body["messages"].as_array().unwrap() {
            if message["role"] == "tool" {
                assert_eq!(message["tool_call_id"], pending_ids.remove(0), "{body:#}");
                continue;
            }
            assert!(pending_ids.is_empty(), "{body:#}");
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            pending_ids = calls.map(|call| call["id"].as_str().unwrap().to_owned()).collect();
        }
        assert!(pending_ids.is_empty(), "{body:#}");
    }
}

#[tokio::test]
async fn responses_imported_results_follow_their_calls() {
    let mut results = 0;
    // A model of the imported session from Codex. Its reasoning belongs to another account, which OpenAI checks.
    for messages in SOURCES.into_iter().flat_map(conversations) {
        let body = record_responses_request(Request { messages, ..hello("gpt-wheat") }).await.body;
        let mut pending_ids: Vec<&Value> = Vec::new();
        for item in body["input"].as_array().unwrap() {
            match item["type"].as_str() {
                Some("function_call") => pending_ids.push(&item["call_id"]),
                Some("function_call_output") => {
                    assert_eq!(&item["call_id"], pending_ids.remove(0), "{body:#}");
                    results += 1;
                }
                Some("reasoning") => panic!("{body:#}"),
                Some("message") => {}
                _ => assert!(pending_ids.is_empty(), "{body:#}"),
            }
        }
        assert!(pending_ids.is_empty(), "{body:#}");
    }
    assert!(results >= 6, "{results}");
}

#[tokio::test]
async fn gemini_imported_results_follow_their_calls() {
    let ids = |content: &Value, kind: &str| -> Vec<String> {
        let parts = content["parts"].as_array().unwrap().iter();
        parts.filter_map(|part| part.get(kind)?["id"].as_str().map(str::to_owned)).collect()
    };
    for messages in SOURCES.into_iter().flat_map(conversations) {
        let body = record_gemini_request(Request { messages, ..hello("gemini-4-carbon") }).await.body;
        let mut pending_ids: Vec<String> = Vec::new();
        for (at, content) in body["contents"].as_array().unwrap().iter().enumerate() {
            assert_eq!(content["role"], if at % 2 == 0 { "user" } else { "model" }, "{body:#}");
            assert_eq!(ids(content, "functionResponse"), pending_ids, "{body:#}");
            pending_ids = ids(content, "functionCall");
        }
        assert!(pending_ids.is_empty(), "{body:#}");
    }
}
