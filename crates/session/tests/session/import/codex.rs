//! Tests of importing Codex's logs.

use tiller_core::message::ThinkingLevel;

use super::*;

#[test]
fn codex_only_model_history_becomes_messages() {
    let sandbox = Sandbox::new();
    let (_, reader) = import_source(&sandbox, &foreign("codex/sessions/rollout-mill.jsonl"));
    let seal = r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Look first."},{"type":"summary_text","text":"Then tell."}],"encrypted_content":"gAAA"}"#;
    let expected = [
        "user: is the wheel turning? [image/png iVBORw0KGgo=]".to_owned(),
        format!(
            "openai/gpt-wheat: {{Look first.\n\nThen tell.|{seal}}} <call_1 shell {{\"command\":[\"cat\",\"wheel\"]}}> \
             <call_2 local_shell {{\"type\":\"exec\",\"command\":[\"date\"]}}> (ToolUse)"
        ),
        "result call_2 local_shell: Wednesday".to_owned(),
        "result call_1 shell: turning [image/png iVBORw0KGgo=]".to_owned(),
        "openai/gpt-wheat: [web search: how mills work] It turns. (Stop)".to_owned(),
        "user: stop the wheel".to_owned(),
        "openai/gpt-rye: <call_3 apply_patch {\"input\":\"*** Begin Patch\"}> (ToolUse)".to_owned(),
        "result call_3 apply_patch: done".to_owned(),
        "openai/gpt-rye: Stopped. (Stop)".to_owned(),
        "user: grind the corn".to_owned(),
        "openai/gpt-rye: <call_4 shell \"not json\"> (Aborted)".to_owned(),
        "user: slowly".to_owned(),
        "/:  (error stream disconnected)".to_owned(),
        "openai/gpt-rye: Grinding. (Stop)".to_owned(),
        "user: and now?".to_owned(),
        "openai/gpt-rye: Flour. (Stop)".to_owned(),
    ];
    assert_eq!(messages(&reader), expected);
}

#[test]
fn codex_rolled_back_turns_are_a_branch() {
    let sandbox = Sandbox::new();
    let (_, reader) = import_source(&sandbox, &foreign("codex/sessions/rollout-mill.jsonl"));
    assert_eq!(reader.tree().branch_count(), 2);
    let request = request(&reader);
    assert!(request[0].contains("They ground corn.\n\nThe user had said:\n\nslowly\n"), "{request:?}");
    assert_eq!(request[1..], ["user: and now?", "openai/gpt-rye: Flour. (Stop)"]);
    let compaction = entries_of(&reader).into_iter().find_map(|entry| match entry.body {
        EntryBody::Compaction(compaction) => {
            Some((compaction.tokens_before.0, entry.id == compaction.first_kept_entry_id))
        }
        _ => None,
    });
    assert_eq!(compaction, Some((204, true)));
    // The path skips the rolled back turns.
    let leaf = reader.leaf().unwrap();
    let path: Vec<String> = reader
        .branch(&leaf)
        .unwrap()
        .0
        .iter()
        .filter_map(|entry| entry.body.as_message().map(|message| describe(message)))
        .collect();
    assert_eq!(
        path[4..6],
        ["openai/gpt-wheat: [web search: how mills work] It turns. (Stop)", "user: grind the corn"]
    );
}

#[test]
fn codex_repeated_token_counts_count_once() {
    let sandbox = Sandbox::new();
    let (_, reader) = import_source(&sandbox, &foreign("codex/sessions/rollout-mill.jsonl"));
    // 100 with 40 cached, 150 with 100 cached, 160, 200 and 50.
    assert_eq!(total_usage(&reader), [520, 26, 140, 0, 686]);
    let (_, reader) = import_source(&sandbox, &foreign("codex/sessions/rollout-hello.jsonl"));
    // Records count; the screen's count of the second one doesn't. One record ends one answer.
    assert_eq!(total_usage(&reader), [16, 11, 0, 6, 33]);
    assert_eq!(
        request(&reader),
        ["user: hello", "openai/gpt-wheat: Let me see. (Stop)", "openai/gpt-wheat: Hello. (Stop)"]
    );
}

#[test]
fn codex_names_models_and_times_are_kept() {
    let sandbox = Sandbox::new();
    let (imported_mill, mill) = import_source(&sandbox, &foreign("codex/sessions/rollout-mill.jsonl"));
    assert_eq!(mill.name().as_deref(), Some("The mill"));
    assert_eq!(
        (mill.header().cwd.as_str(), mill.header().timestamp.as_str()),
        ("/home/ada/mill", "2026-03-04T10:00:00.500Z")
    );
    let states: Vec<String> = entries_of(&mill)
        .iter()
        .filter_map(|entry| match &entry.body {
            EntryBody::ModelChange { provider, model_id } => Some(format!("{provider}/{model_id}")),
            EntryBody::ThinkingLevelChange { thinking_level } => Some(thinking_level.name().to_owned()),
            _ => None,
        })
        .collect();
    assert_eq!(states, ["openai/gpt-wheat", "high", "openai/gpt-rye", "off"]);
    assert_eq!(projection(&mill).thinking, ThinkingLevel::Off);
    assert_eq!(imported_mill.id.as_ref(), Some(mill.id()));
    // The other session's name is only in Codex's list.
    let (_, hello) = import_source(&sandbox, &foreign("codex/sessions/rollout-hello.jsonl"));
    assert_eq!(hello.name().as_deref(), Some("Greetings"));
}

#[test]
fn codex_warnings_count_dropped_items() {
    let sandbox = Sandbox::new();
    let imported = sandbox.import(&foreign("codex/sessions/rollout-mill.jsonl"));
    assert_eq!(
        warnings(&imported),
        [
            (2, 4, "skipped injected text"),
            (6, 1, "skipped images that are not in the log"),
            (14, 1, "web searches as text"),
            (19, 1, "skipped lines of unknown type (ghost_stuff)"),
            (40, 1, "results without their calls"),
        ]
    );
    let imported = sandbox.import(&foreign("codex/sessions/rollout-helper.jsonl"));
    assert_eq!((imported.status, imported.from), (ImportStatus::Skipped, Some(SourceFormat::Codex)));
}

#[test]
fn codex_roll_back_restores_model_and_level() {
    let sandbox = Sandbox::new();
    let context = |model: &str, effort: &str| {
        format!(r#"{{"type":"turn_context","payload":{{"model":"{model}","effort":"{effort}"}}}}"#)
    };
    let prompt = |text: &str| {
        format!(
            r#"{{"type":"response_item","payload":{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{text}"}}]}}}}"#
        )
    };
    let source = sandbox.source(
        "rollout-back.jsonl",
        &[
            r#"{"type":"session_meta","payload":{"id":"back","cwd":"/w","timestamp":"2026-03-04T10:00:00.000Z"}}"#.into(),
            context("gpt-a", "low"),
            prompt("one"),
            prompt("two"),
            context("gpt-b", "high"),
            prompt("three"),
            r#"{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":2}}"#.into(),
            context("gpt-b", "high"),
            prompt("four"),
        ],
    );
    let (_, reader) = import_source(&sandbox, &source);
    let projection = projection(&reader);
    assert_eq!(request(&reader), ["user: one", "user: four"]);
    assert_eq!(projection.thinking, ThinkingLevel::High);
    let model = projection.model.unwrap();
    assert_eq!((model.provider.as_str(), model.id.as_str()), ("openai", "gpt-b"));
}
