//! Tests of importing pi's logs, which have tiller's format.

use super::*;

#[test]
fn pi_lines_are_copied_under_new_header() {
    let sandbox = Sandbox::new();
    let source = foreign("pi/pond.jsonl");
    let (imported, reader) = import_source(&sandbox, &source);
    let (from, into) =
        (fs::read_to_string(&source).unwrap(), fs::read_to_string(reader.path().unwrap()).unwrap());
    let lines: Vec<&str> = into.lines().collect();
    assert_eq!(lines[1..lines.len() - 1], from.lines().skip(1).collect::<Vec<_>>());
    let header = reader.header();
    assert_eq!((header.cwd.as_str(), header.version), ("/home/ada/pond", 3));
    assert_eq!(header.parent_session, Some(imported.source.display().to_string()));
    assert_ne!(header.id.as_str(), "pi-1");
    assert_eq!(
        request(&reader),
        ["user: feed the fish", "anthropic/claude-carp-1: Fed. (Stop)", "user: and the ducks?"]
    );
    assert_eq!((reader.name().as_deref(), reader.tree().branch_count()), (Some("Pond"), 2));
    assert_eq!(warnings(&imported), []);
}

#[test]
fn pi_damaged_lines_are_dropped() {
    let sandbox = Sandbox::new();
    let (imported, reader) = import_source(&sandbox, &foreign("pi/damaged.jsonl"));
    let tree: Vec<(String, Option<String>)> = entries_of(&reader)
        .iter()
        .filter(|entry| entry.body.as_message().is_some())
        .map(|entry| (entry.id.to_string(), entry.parent.as_ref().map(ToString::to_string)))
        .collect();
    let expected = [
        ("d1", None),
        ("d3", Some("d1")),
        ("d5", Some("d3")),
        ("d5-2", Some("d5")),
        ("d6", Some("d5-2")),
        ("d7", None),
        ("d8", Some("d7")),
    ];
    assert_eq!(tree, expected.map(|(id, parent)| (id.to_owned(), parent.map(str::to_owned))));
    assert_eq!(request(&reader), ["user: seven", "user: ei\u{fffd}ght"]);
    assert_eq!(
        warnings(&imported),
        [
            (3, 2, "skipped unreadable lines"),
            (4, 1, "parents lost with unreadable lines: the entry before becomes the parent"),
            (7, 1, "duplicate ids: replaced with new ones"),
            (9, 1, "missing parents: a new branch starts"),
            (10, 1, "lines with invalid UTF-8 or unpaired surrogates, read with replacement characters"),
        ]
    );
}

#[test]
fn pi_newer_version_is_refused() {
    let sandbox = Sandbox::new();
    let header =
        r#"{"type":"session","version":4,"id":"x","timestamp":"2026-03-06T08:00:00.000Z","cwd":"/w"}"#;
    let imported = sandbox.import(&sandbox.source("new.jsonl", &[header]));
    let reason = imported.reason.unwrap();
    assert_eq!(imported.status, ImportStatus::Failed);
    assert!(reason.contains("new.jsonl, line 1: log version 4 is newer than this tiller"), "{reason}");
}

#[test]
fn pi_own_session_is_skipped() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    append_user(&mut writer, "hello");
    let path = writer.reader().path().unwrap().to_owned();
    drop(writer);
    let imported = sandbox.import(&path);
    assert_eq!((imported.status, imported.path), (ImportStatus::Skipped, None));
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn pi_older_versions_are_migrated() {
    let sandbox = Sandbox::new();
    for name in ["version-1-compacted", "version-2-hook-message"] {
        let fixture =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../sessions-fixtures/{name}.jsonl"));
        let old = Reader::open(&fixture).unwrap();
        let imported = sandbox.import(&fixture);
        assert_eq!(imported.status, ImportStatus::Imported, "{:?}", imported.reason);
        let new = Reader::open(&imported.path.unwrap()).unwrap();
        assert_eq!((new.header().version, new.findings()), (3, vec![]), "{name}");
        assert_eq!(texts(&new), texts(&old), "{name}");
        assert_eq!(new.usage(), old.usage(), "{name}");
        assert_eq!(sandbox.import(&fixture).status, ImportStatus::Unchanged, "{name}");
    }
}

#[test]
fn pi_reimport_new_lines_follow_last_import() {
    let line = |id: &str, parent: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-03-06T08:00:00.000Z","message":{{"role":"user","content":"{id}","timestamp":1}}}}"#
        )
    };
    let sandbox = Sandbox::new();
    let lines = [
        r#"{"type":"session","version":3,"id":"x","timestamp":"2026-03-06T08:00:00.000Z","cwd":"/w"}"#.into(),
        line("a", "null"),
        r#"{"type":"session_info","id":"b","parentId":"a","timestamp":"2026-03-06T08:00:00.000Z","name":"N"}"#
            .into(),
        line("c", "\"b\""),
        line("d", "\"c\""),
    ];
    let mut ids = Vec::new();
    for count in 3..=lines.len() {
        let (_, reader) = import_source(&sandbox, &sandbox.source("grows.jsonl", &lines[..count]));
        ids.push((reader.entry_count(), reader.tree().branch_count()));
        assert_eq!(sandbox.import(&sandbox.root.path().join("grows.jsonl")).status, ImportStatus::Unchanged);
    }
    assert_eq!(ids, [(3, 1), (5, 1), (7, 1)]);
}
