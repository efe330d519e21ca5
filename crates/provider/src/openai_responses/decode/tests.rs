//! Tests of the decoder, event by event.

use serde_json::{Value, json};

use super::*;
use crate::FailureKind;

type Item = Result<StreamEvent, ProviderFault>;

fn decode_text(datas: &[String]) -> Vec<Item> {
    let mut decoder = ResponsesDecoder::new("T".into());
    let mut all = Vec::new();
    for data in datas {
        let event = SseEvent { data: data.clone(), ..SseEvent::default() };
        let mut parts = Vec::new();
        let result = decoder.decode_event(&event, &mut parts);
        all.extend(parts.into_iter().map(Ok));
        if let Err(fault) = result {
            all.push(Err(fault));
            break;
        }
    }
    all
}

fn decode(events: &[Value]) -> Vec<Item> {
    decode_text(&events.iter().map(Value::to_string).collect::<Vec<_>>())
}

/// Returns the text of all pieces of a kind.
fn joined(items: &[Item]) -> String {
    let pieces = items.iter().filter_map(|item| match item {
        Ok(StreamEvent::Text { text, .. } | StreamEvent::Thinking { text, .. }) => Some(text.as_str()),
        Ok(StreamEvent::Arguments { json, .. }) => Some(json),
        _ => None,
    });
    pieces.collect()
}

fn last_stop(items: &[Item]) -> StopReason {
    let Some(Ok(StreamEvent::Finished(reason))) = items.last() else { panic!("{items:?}") };
    *reason
}

fn event(kind: &str, index: u64, mut fields: Value) -> Value {
    fields["type"] = json!(format!("response.{kind}"));
    fields["output_index"] = json!(index);
    fields
}

fn added(index: u64, item: Value) -> Value {
    event("output_item.added", index, json!({ "item": item }))
}

fn done(index: u64, item: Value) -> Value {
    event("output_item.done", index, json!({ "item": item }))
}

fn message(text: &str) -> Value {
    json!({ "type": "message", "id": "msg", "content": [{ "type": "output_text", "text": text }] })
}

fn text_delta(index: u64, delta: &str) -> Value {
    event("output_text.delta", index, json!({ "delta": delta }))
}

fn call(arguments: &str) -> Value {
    json!({ "type": "function_call", "id": "fc", "call_id": "c", "name": "ls", "arguments": arguments })
}

fn arguments_delta(index: u64, delta: &str) -> Value {
    event("function_call_arguments.delta", index, json!({ "delta": delta }))
}

fn completed() -> Value {
    json!({ "type": "response.completed", "response": { "status": "completed" } })
}

fn incomplete_because(reason: Value) -> Value {
    let response = json!({ "status": "incomplete", "incomplete_details": { "reason": reason } });
    json!({ "type": "response.incomplete", "response": response })
}

fn assert_interrupted(items: &[Item], case: &str) {
    let Some(Err(fault)) = items.last() else { panic!("{case}: {items:?}") };
    assert_eq!(fault.failure, FailureKind::Interrupted, "{case}");
    assert!(fault.message.starts_with("the answer is damaged: "), "{fault:?}");
}

#[test]
fn decode_damaged_or_misplaced_event_is_interrupted() {
    let nameless = json!({ "type": "function_call", "id": "fc", "call_id": "c", "arguments": "" });
    let cases = [
        vec![json!([])],
        vec![json!({})],
        vec![json!({ "type": 7 })],
        vec![json!({ "type": "response.completed" })],
        vec![json!({ "type": "response.completed", "response": [] })],
        vec![json!({ "type": "response.output_item.added" })],
        vec![added(0, json!({ "type": "message", "id": 7 }))],
        vec![done(0, json!({ "type": "message", "content": "text" }))],
        vec![done(0, json!({ "type": "reasoning", "summary": {} }))],
        vec![event("output_text.delta", 0, json!({}))],
        vec![event("output_text.delta", 0, json!({ "delta": 7 }))],
        vec![added(0, nameless.clone())],
        vec![done(0, nameless)],
        vec![arguments_delta(0, "{}")],
        vec![added(0, message("")), added(0, call(""))],
        vec![added(0, call("")), text_delta(0, "hi")],
        vec![added(0, message("")), arguments_delta(0, "{}")],
        vec![added(0, message("")), done(0, call("{}"))],
        vec![done(0, message("hi")), text_delta(0, "!")],
        vec![done(0, call("{}")), arguments_delta(0, "{}")],
        vec![added(0, call("")), arguments_delta(0, "{}"), completed()],
    ];
    for case in &cases {
        assert_interrupted(&decode(case), &format!("{case:?}"));
    }
    for data in ["", r#"{"type":"response.output_text.delta","delta":"h"#] {
        assert_interrupted(&decode_text(&[data.to_owned()]), data);
    }
}

#[test]
fn decode_arguments_that_differ_from_their_deltas_interrupt() {
    let whole = r#"{"path": "a b"}"#;
    for (delta, is_same) in [
        (r#"{"path":"a b"}"#, true),
        (r#"{"path": "a"#, true),
        ("", true),
        (r#"{"path":"a"}"#, false),
        (r#"{"path": b"}"#, false),
    ] {
        let items =
            decode(&[added(0, call("")), arguments_delta(0, delta), done(0, call(whole)), completed()]);
        if is_same {
            assert_eq!(last_stop(&items), StopReason::ToolUse, "{delta}");
            let value = |json: &str| serde_json::from_str::<Value>(json).unwrap();
            assert_eq!(value(&joined(&items)), value(whole), "{delta}");
        } else {
            assert_interrupted(&items, delta);
        }
    }
}

#[test]
fn decode_whole_text_adds_only_what_deltas_lacked() {
    let whole = |text: &str| event("output_text.done", 0, json!({ "text": text }));
    let cases = [
        (vec![text_delta(0, "ab"), whole("abcd"), done(0, message("abcdef"))], "abcdef"),
        (vec![text_delta(0, "ab"), whole(""), done(0, message("ab"))], "ab"),
        (vec![text_delta(0, "a"), text_delta(0, "c"), whole("abc"), done(0, message("abc"))], "ac"),
        (vec![whole("abc"), whole("abc"), done(0, message("abc")), done(0, message("abc"))], "abc"),
        (vec![done(0, message("abc")), whole("abc")], "abc"),
    ];
    for (mut events, expected) in cases {
        events.push(completed());
        let items = decode(&events);
        assert_eq!(joined(&items), expected, "{events:?}");
        assert_eq!(last_stop(&items), StopReason::Stop);
    }
}

#[test]
fn decode_final_response_ends_open_items() {
    let response = json!({ "output": [message("abc"), call(r#"{"x":1}"#)] });
    let last = json!({ "type": "response.completed", "response": response });
    let items = decode(&[
        added(0, message("")),
        added(1, call("")),
        text_delta(0, "ab"),
        arguments_delta(1, r#"{"x""#),
        last,
    ]);
    let expected = [
        Ok(StreamEvent::Text { block: 0, text: "c".into() }),
        Ok(StreamEvent::End { block: 0 }),
        Ok(StreamEvent::Arguments { block: 1, json: ":1}".into() }),
        Ok(StreamEvent::End { block: 1 }),
        Ok(StreamEvent::Finished(StopReason::ToolUse)),
    ];
    assert_eq!(items[4..], expected);
    let unfinished = decode(&[text_delta(0, "ab"), completed()]);
    assert_eq!(unfinished[2], Ok(StreamEvent::End { block: 0 }));
    assert_eq!(last_stop(&unfinished), StopReason::Stop);
}

#[test]
fn decode_items_are_found_by_id_or_by_index() {
    let delta = |index: u64, id: &str, delta: &str| {
        let mut event = arguments_delta(index, delta);
        event["item_id"] = json!(id);
        event
    };
    let call = |id: &str, arguments: &str| json!({ "type": "function_call", "id": id, "call_id": format!("call_{id}"), "name": "ls", "arguments": arguments });
    let by_id = [
        added(0, call("a", "")),
        delta(0, "a", "{"),
        delta(0, "a", "}"),
        done(0, call("a", "{}")),
        added(0, call("b", "")),
        delta(0, "b", "[]"),
        done(0, call("b", "[]")),
        completed(),
    ];
    let by_index = [
        added(0, call("a", "")),
        added(1, call("b", "")),
        delta(1, "new-1", "[]"),
        delta(0, "new-2", "{}"),
        done(0, call("new-3", "{}")),
        done(1, call("new-4", "[]")),
        completed(),
    ];
    for events in [&by_id[..], &by_index[..]] {
        let items = decode(events);
        let arguments = |of: usize| -> String {
            let pieces = items.iter().filter_map(|item| match item {
                Ok(StreamEvent::Arguments { block, json }) if *block == of => Some(json.as_str()),
                _ => None,
            });
            pieces.collect()
        };
        assert_eq!((arguments(0), arguments(1)), ("{}".to_owned(), "[]".to_owned()));
        assert_eq!(last_stop(&items), StopReason::ToolUse);
    }
}

#[test]
fn decode_call_without_call_id_has_its_items_or_a_unique_one() {
    let id = |item: Value| match decode(&[done(0, item)]).swap_remove(0) {
        Ok(StreamEvent::Call { id, .. }) => id.to_string(),
        other => panic!("{other:?}"),
    };
    assert_eq!(id(call("{}")), "c");
    let without = json!({ "type": "function_call", "id": "fc", "call_id": "", "name": "ls" });
    assert_eq!(id(without), "fc");
    let without = json!({ "type": "function_call", "id": "", "name": "ls", "arguments": null });
    assert_eq!(id(without), "call_T_0");
}

#[test]
fn decode_arguments_as_object_become_text() {
    let mut item = call("");
    item["arguments"] = json!({ "path": "." });
    let items = decode(&[done(0, item), completed()]);
    assert_eq!(joined(&items), r#"{"path":"."}"#);
}

#[test]
fn decode_reasoning_shows_the_summary_or_the_text() {
    let summary = |index: u64, delta: &str| {
        event("reasoning_summary_text.delta", 0, json!({ "summary_index": index, "delta": delta }))
    };
    let text = |delta: &str| event("reasoning_text.delta", 0, json!({ "content_index": 0, "delta": delta }));
    let item = json!({
        "type": "reasoning",
        "summary": [{ "type": "summary_text", "text": "one" }, { "type": "summary_text", "text": "two" }],
        "content": [{ "type": "reasoning_text", "text": "long" }],
    });
    let start = added(0, json!({ "type": "reasoning" }));
    let thinking = |deltas: &[Value]| {
        joined(&decode(
            &[std::slice::from_ref(&start), deltas, &[done(0, item.clone()), completed()]].concat(),
        ))
    };
    assert_eq!(thinking(&[]), "one\n\ntwo");
    assert_eq!(thinking(&[summary(0, "on"), summary(0, "e"), summary(1, "tw")]), "one\n\ntwo");
    assert_eq!(thinking(&[text("lo")]), "long");
    assert_eq!(thinking(&[text("lo"), summary(0, "one")]), "long");
}

#[test]
fn decode_halves_of_surrogate_pair_are_joined() {
    let delta = |name: &str, text: &str| {
        format!(r#"{{"type":"response.{name}.delta","output_index":0,"delta":"{text}"}}"#)
    };
    for name in ["output_text", "refusal", "reasoning_text", "reasoning_summary_text"] {
        let deltas = [delta(name, r"a\ud83d"), delta(name, r"\ude00b\ud83d"), completed().to_string()];
        assert_eq!(joined(&decode_text(&deltas)), "a😀b\u{fffd}", "{name}");
    }
    let whole = done(0, message("X")).to_string().replace('X', r"a\ud83d\ude00b\ud83d");
    let deltas = [delta("output_text", r"a\ud83d"), whole, completed().to_string()];
    assert_eq!(joined(&decode_text(&deltas)), "a😀b\u{fffd}");
}

#[test]
fn decode_each_end_has_its_stop_reason_or_error() {
    let stop = |end: Value| last_stop(&decode(&[done(0, call("{}")), end]));
    assert_eq!(stop(completed()), StopReason::ToolUse);
    for reason in [json!("max_output_tokens"), json!("steered"), Value::Null] {
        assert_eq!(stop(incomplete_because(reason)), StopReason::Length);
    }
    let late = json!({ "type": "response.completed", "response": { "status": "incomplete" } });
    assert_eq!(stop(late), StopReason::Length);

    let fault = |end: Value| decode(&[end]).pop().unwrap().unwrap_err();
    let transient = FailureKind::Transient { retry_after: None };
    let failed = |error: Value| json!({ "type": "response.failed", "response": { "status": "failed", "error": error } });
    let error = |code: &str| json!({ "code": code, "message": "No." });
    let nested = json!({ "type": "error", "error": error("invalid_prompt") });
    let cases = [
        (incomplete_because(json!("content_filter")), FailureKind::Fatal),
        (failed(error("server_error")), transient),
        (failed(error("context_length_exceeded")), FailureKind::Overflow),
        (failed(error("invalid_prompt")), FailureKind::Fatal),
        (failed(error("image_too_large")), FailureKind::Fatal),
        (failed(Value::Null), transient),
        (json!({ "type": "response.completed", "response": { "status": "cancelled" } }), transient),
        (json!({ "type": "error", "code": "insufficient_quota", "message": "No." }), FailureKind::Quota),
        (nested, FailureKind::Fatal),
        (json!({ "error": error("401") }), FailureKind::Auth),
    ];
    for (end, expected) in cases {
        assert_eq!(fault(end.clone()).failure, expected, "{end}");
    }
    assert_eq!(fault(failed(error("server_error"))).message, "No.");
}

#[test]
fn decode_end_without_final_response_is_incomplete() {
    let mut decoder = ResponsesDecoder::new("T".into());
    for data in [done(0, message("hi")).to_string(), "[DONE]".to_owned()] {
        decoder.decode_event(&SseEvent { data, ..SseEvent::default() }, &mut Vec::new()).unwrap();
    }
    assert_eq!(decoder.end_stream(&mut Vec::new()), Err(incomplete()));
}

#[test]
fn decode_unknown_events_and_items_are_traced() {
    let search = json!({ "type": "web_search_call", "id": "ws" });
    let items = decode(&[
        json!({ "type": "keepalive" }),
        json!({ "type": "response.web_search_call.in_progress" }),
        json!({ "type": "response.brand_new.delta", "delta": [] }),
        added(0, search.clone()),
        done(0, search),
        text_delta(1, "hi"),
    ]);
    assert!(
        items[..5].iter().all(|item| matches!(item, Ok(StreamEvent::Trace { name: "unknown_event", .. })))
    );
    assert_eq!(items[5], Ok(StreamEvent::Text { block: 0, text: String::new() }));
}

#[test]
fn decode_usage_input_excludes_the_cache() {
    let usage = |usage: Value| {
        let response = json!({ "usage": usage });
        match decode(&[json!({ "type": "response.completed", "response": response })]).swap_remove(0) {
            Ok(StreamEvent::Usage(usage)) => {
                [usage.input, usage.output, usage.cache_read, usage.cache_write, usage.total_tokens]
                    .map(|count| count.0)
            }
            other => panic!("{other:?}"),
        }
    };
    let details = json!({ "cached_tokens": 60, "cache_write_tokens": 30 });
    let counts = json!({ "input_tokens": 100, "input_tokens_details": details, "output_tokens": 7, "total_tokens": 107 });
    assert_eq!(usage(counts), [10, 7, 60, 30, 107]);
    assert_eq!(usage(json!({ "input_tokens": 5, "output_tokens": 1 })), [5, 1, 0, 0, 6]);
    let unreadable = json!({ "type": "response.completed", "response": { "usage": "none" } });
    assert_eq!(decode(&[unreadable]), [Ok(StreamEvent::Finished(StopReason::Stop))]);
}

#[test]
fn decode_phase_of_message_is_its_signature() {
    let mut commentary = message("I look.");
    commentary["phase"] = json!("commentary");
    let items = decode(&[added(0, message("")), done(0, commentary), done(1, message("Done.")), completed()]);
    let signatures = items.iter().filter_map(|item| match item {
        Ok(StreamEvent::Signature { block, text }) => Some((*block, text.as_str())),
        _ => None,
    });
    let expected = (0, r#"{"v":1,"id":"msg","phase":"commentary"}"#);
    assert_eq!(signatures.collect::<Vec<_>>(), [expected]);
}
