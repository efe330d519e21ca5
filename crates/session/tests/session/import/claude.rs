//! Tests of importing Claude Code's logs.

use super::*;

#[test]
fn claude_split_answer_becomes_one_message() {
    let sandbox = Sandbox::new();
    let (_, reader) = import_source(&sandbox, &foreign("claude/orchard.jsonl"));
    assert_eq!(
        request(&reader),
        [
            "user: count the trees in this picture [image/png iVBORw0KGgo=]",
            "anthropic/claude-pear-4: {Two tools will do.|seal-1} I look at both rows. \
             <t1 Bash {\"command\":\"ls row-1\"}> \
             <t2 Read {\"file_path\":\"/home/ada/orchard/row-2\"}> (ToolUse)",
            "result t1 Bash: apple\npear",
            "result t2 Read: plum [image/png iVBORw0KGgo=]",
            "user: and the bushes",
            "anthropic/claude-pear-4: Three trees, no bushes. (Stop)",
            "user: how old are they?",
            "anthropic/claude-pear-4: <t3 Bash {\"command\":\"cat ages\"}> (ToolUse)",
            "error t3 Bash: The user does not want this.",
            "user: guess instead",
            "anthropic/claude-pear-4: Ten years. (Stop)",
        ]
    );
}

#[test]
fn claude_abandoned_lines_are_a_branch() {
    let sandbox = Sandbox::new();
    let (_, reader) = import_source(&sandbox, &foreign("claude/orchard.jsonl"));
    let abandoned: Vec<String> = messages(&reader).into_iter().skip(6).take(7).collect();
    assert_eq!(
        abandoned,
        [
            "!wc -l rows: \"2 rows\\nwarn\\n\"",
            "user: /prune row 2",
            "anthropic/claude-plum-5: [web search: when to prune plums] In summer. (Stop)",
            "user: now water them",
            "anthropic/claude-plum-5: I open the (Aborted)",
            "user: water the first row only",
            "/:  (error API Error: overloaded)",
        ]
    );
    assert_eq!(reader.tree().branch_count(), 2);
    let expansions: Vec<EntryBody> = entries_of(&reader)
        .into_iter()
        .map(|entry| entry.body)
        .filter(|body| matches!(body, EntryBody::CustomMessage { .. }))
        .collect();
    let [EntryBody::CustomMessage { custom_type, content, display: false }] = &expansions[..] else {
        panic!("{expansions:?}")
    };
    assert_eq!(
        (custom_type.as_str(), content.joined_text().as_str()),
        ("claude.command", "Prune every tree of row 2.")
    );
}

#[test]
fn claude_usage_is_counted_once_per_answer() {
    let sandbox = Sandbox::new();
    let (_, reader) = import_source(&sandbox, &foreign("claude/orchard.jsonl"));
    // Six answers; the last line of the first one has its complete output count.
    assert_eq!(total_usage(&reader), [600, 14 + 6 + 8 + 2 + 5 + 3, 120, 42, 800]);
    let models: Vec<String> = entries_of(&reader)
        .iter()
        .filter_map(|entry| match &entry.body {
            EntryBody::ModelChange { provider, model_id } => Some(format!("{provider}/{model_id}")),
            _ => None,
        })
        .collect();
    assert_eq!(models, ["anthropic/claude-pear-4", "anthropic/claude-plum-5"]);
}

#[test]
fn claude_header_name_and_times_are_kept() {
    let sandbox = Sandbox::new();
    let (imported, reader) = import_source(&sandbox, &foreign("claude/orchard.jsonl"));
    let header = reader.header();
    assert_eq!(
        (header.cwd.as_str(), header.timestamp.as_str()),
        ("/home/ada/orchard", "2026-03-04T10:00:01.000Z")
    );
    assert_eq!(reader.name().as_deref(), Some("The orchard"));
    let entries = entries_of(&reader);
    // An answer has the time of its first line.
    let answer = entries.iter().find(|entry| {
        matches!(entry.body.as_message().map(|message| &**message), Some(Message::Assistant(_)))
    });
    assert_eq!(answer.unwrap().timestamp.to_iso(), "2026-03-04T10:00:06.000Z");
    let origin = serde_json::to_value(&entries[0].body).unwrap();
    let source = imported.source.display().to_string();
    assert_eq!(origin["customType"], "tiller.import");
    assert_eq!(
        origin["data"],
        serde_json::json!({"from": "claude", "path": source, "session": "5b0f8a52-70a1-4f0e-9a51-2f6f1f0c1a01", "version": "2.1.40"})
    );
    // The file has the last entry's time, so that an import doesn't make a session the most recent.
    let modified = fs::metadata(reader.path().unwrap()).unwrap().modified().unwrap();
    let since = modified.duration_since(SystemTime::UNIX_EPOCH).unwrap();
    assert_eq!(
        i64::try_from(since.as_millis()).unwrap(),
        entries.iter().map(|entry| entry.timestamp.0).max().unwrap()
    );
}

#[test]
fn claude_warnings_count_dropped_items() {
    let sandbox = Sandbox::new();
    let imported = sandbox.import(&foreign("claude/orchard.jsonl"));
    assert_eq!(
        (imported.status, imported.entries, imported.from),
        (ImportStatus::Imported, 24, Some(SourceFormat::Claude))
    );
    assert_eq!(
        warnings(&imported),
        [
            (3, 2, "skipped local commands"),
            (6, 1, "skipped attachments (todo_reminder)"),
            (20, 1, "searches by the provider, as text"),
            (20, 1, "skipped blocks (web_search_tool_result)"),
            (21, 1, "skipped injected text"),
            (22, 1, "skipped lines of sub-agents"),
            (25, 1, "skipped interruption markers"),
            (34, 1, "skipped lines of unknown type (hologram)"),
            (35, 1, "skipped unreadable lines"),
        ]
    );
}

#[test]
fn claude_compaction_keeps_named_lines() {
    let sandbox = Sandbox::new();
    let (_, reader) = import_source(&sandbox, &foreign("claude/bees.jsonl"));
    let request = request(&reader);
    assert!(request[0].contains("They talked about bees."), "{request:?}");
    assert_eq!(
        request[1..],
        [
            "user: and wasps?",
            "anthropic/claude-pear-4: In nests. (Stop)",
            "user: and ants?",
            "anthropic/claude-pear-4: In hills. (Length)",
        ]
    );
    use EntryKind::{Compaction, Custom, Message, ModelChange, SessionInfo};
    assert_eq!(
        kinds(&reader),
        [
            Custom,
            Message,
            ModelChange,
            Message,
            Message,
            Message,
            Compaction,
            Message,
            Message,
            SessionInfo,
            Custom
        ]
    );
    let compaction = entries_of(&reader).into_iter().find_map(|entry| match entry.body {
        EntryBody::Compaction(compaction) => Some(compaction),
        _ => None,
    });
    assert_eq!(compaction.unwrap().tokens_before.0, 4_321);
    // A summary of an unknown line belongs to another session.
    assert_eq!(reader.name().as_deref(), Some("Bees"));
}

#[test]
fn claude_sub_agent_log_is_skipped() {
    let sandbox = Sandbox::new();
    let imported = sandbox.import(&foreign("claude/agent-side.jsonl"));
    assert_eq!(
        (imported.status, imported.reason.as_deref()),
        (ImportStatus::Skipped, Some("log of a sub-agent"))
    );
    assert!(!sandbox.sessions().exists());
}

/// A line of a handwritten conversation.
fn line(kind: &str, uuid: &str, parent: &str, content: &str) -> String {
    format!(
        r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":"{parent}","sessionId":"s","cwd":"/w","timestamp":"2026-03-04T10:00:00Z","message":{{"role":"{kind}","id":"m-{uuid}","model":"m","content":"{content}"}}}}"#
    )
}

#[test]
fn claude_entry_after_one_result_follows_all() {
    let sandbox = Sandbox::new();
    let call = |uuid: &str, parent: &str, id: &str| {
        line("assistant", uuid, parent, "BLOCKS").replace(&format!("m-{uuid}"), "m-1").replace(
            "\"BLOCKS\"",
            &format!(r#"[{{"type":"tool_use","id":"{id}","name":"Bash","input":{{}}}}]"#),
        )
    };
    let result = |uuid: &str, parent: &str, id: &str| {
        line("user", uuid, parent, "BLOCKS").replace(
            "\"BLOCKS\"",
            &format!(r#"[{{"type":"tool_result","tool_use_id":"{id}","content":"{uuid}"}}]"#),
        )
    };
    let lines = [
        line("user", "u", "", "go"),
        call("a1", "u", "t1"),
        call("a2", "a1", "t2"),
        result("r1", "a1", "t1"),
        result("r2", "a2", "t2"),
        line("user", "v", "r1", "on"),
    ];
    let (_, reader) = import_source(&sandbox, &sandbox.source("parallel.jsonl", &lines));
    let answer = "anthropic/m: <t1 Bash {}> <t2 Bash {}> (ToolUse)";
    assert_eq!(
        request(&reader),
        ["user: go", answer, "result t1 Bash: r1", "result t2 Bash: r2", "user: on"]
    );
}

#[test]
fn claude_odd_parents_make_roots() {
    let sandbox = Sandbox::new();
    let lines = [
        line("user", "b", "a", "second"),
        line("user", "a", "", "first"),
        line("user", "x", "z", "circle 1"),
        line("user", "y", "x", "circle 2"),
        line("user", "z", "y", "circle 3"),
        line("user", "o", "nobody", "orphan"),
    ];
    let (imported, reader) = import_source(&sandbox, &sandbox.source("odd.jsonl", &lines));
    assert_eq!(
        messages(&reader),
        ["user: first", "user: second", "user: circle 2", "user: circle 3", "user: circle 1", "user: orphan"]
    );
    assert_eq!(
        warnings(&imported),
        [(2, 2, "missing parents: a new branch starts"), (4, 1, "circular parents: a new branch starts"),]
    );
    assert_eq!(request(&reader), ["user: orphan"]);
}

#[test]
fn claude_lost_parent_is_bridged() {
    let sandbox = Sandbox::new();
    let lines = [line("user", "a", "", "first"), "{\"type\":\"us".into(), line("user", "c", "b", "third")];
    let (_, reader) = import_source(&sandbox, &sandbox.source("torn.jsonl", &lines));
    assert_eq!(request(&reader), ["user: first", "user: third"]);
}

#[test]
fn claude_last_noted_leaf_wins() {
    let sandbox = Sandbox::new();
    let last_prompt = |leaf: &str| format!(r#"{{"type":"last-prompt","leafUuid":"{leaf}","sessionId":"s"}}"#);
    let mut lines = vec![line("user", "a", "", "first"), line("user", "b", "a", "left"), last_prompt("a")];
    let (_, reader) = import_source(&sandbox, &sandbox.source("noted.jsonl", &lines));
    assert_eq!(request(&reader), ["user: first"]);
    lines.push(line("user", "c", "b", "newest"));
    let (_, reader) = import_source(&sandbox, &sandbox.source("noted.jsonl", &lines));
    assert_eq!(request(&reader), ["user: first", "user: left", "user: newest"]);
}
