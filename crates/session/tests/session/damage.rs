//! Tests of torn, damaged, orphaned and duplicate lines: each affects only itself.

use tiller_session::SessionError;

use super::*;

#[test]
fn reader_torn_last_line_costs_only_itself() {
    let sandbox = Sandbox::new();
    let expected = format!("{HEADER}\n{}\n", line("a", None, "one"));
    let last = line("b", Some("a"), "twö");
    for cut in 1..last.len() {
        let path = sandbox.file([expected.as_bytes(), &last.as_bytes()[..cut]].concat());
        let before = fs::read(&path).unwrap();
        let reader = Reader::open(&path).unwrap();
        assert_eq!(texts(&reader), ["one"], "cut at {cut}");
        assert_eq!(positions(&reader.findings()), [(3, expected.len() as u64)], "cut at {cut}");
        assert_eq!(fs::read(&path).unwrap(), before, "reading changed the file");

        let mut writer = Writer::open(&path).unwrap();
        assert_eq!(fs::read(&path).unwrap(), [&before[..], b"\n"].concat(), "cut at {cut}");
        let next = append_user(&mut writer, "three");
        assert_eq!(texts(&writer.reader()), ["one", "three"]);
        let reader = Reader::open(&path).unwrap();
        assert_eq!(texts(&reader), ["one", "three"]);
        assert_eq!(reader.path_to(&next).unwrap(), [EntryId::new("a"), next]);
        assert_eq!(positions(&reader.findings()), [(3, expected.len() as u64)], "cut at {cut}");
    }
}

#[test]
fn reader_last_line_without_newline_is_whole() {
    let sandbox = Sandbox::new();
    let path = sandbox.file(format!("{HEADER}\n{}", line("a", None, "one")));
    assert_eq!(texts(&Reader::open(&path).unwrap()), ["one"]);
    let mut writer = Writer::open(&path).unwrap();
    append_user(&mut writer, "two");
    let reader = Reader::open(&path).unwrap();
    assert_eq!((texts(&reader), reader.findings()), (vec!["one".into(), "two".into()], vec![]));
}

#[test]
fn writer_header_without_newline_is_closed() {
    let sandbox = Sandbox::new();
    let path = sandbox.file(HEADER);
    let mut writer = Writer::open(&path).unwrap();
    append_user(&mut writer, "one");
    let reader = Reader::open(&path).unwrap();
    assert_eq!((texts(&reader), reader.findings()), (vec!["one".into()], vec![]));
}

#[test]
fn reader_damaged_line_is_bridged() {
    let sandbox = Sandbox::new();
    let (one, three) = (line("a", None, "one"), line("c", Some("b"), "three"));
    let path = sandbox.log(&[&one, r#"{"type":"message","id":"b","#, &three]);
    let reader = Reader::open(&path).unwrap();
    let second = (HEADER.len() + one.len() + 2) as u64;
    let third = second + r#"{"type":"message","id":"b","#.len() as u64 + 1;
    assert_eq!(positions(&reader.findings()), [(3, second), (4, third)]);
    assert_eq!(
        reader.findings()[1].what,
        "its parent b was lost with the unreadable lines before it; a is used instead"
    );
    assert_eq!(texts(&reader), ["one", "three"]);
}

#[test]
fn reader_invalid_utf8_and_non_objects_are_reported() {
    let sandbox = Sandbox::new();
    let mut bytes = sandbox.log(&[&line("a", None, "one")]);
    let mut text = fs::read(&bytes).unwrap();
    let start = text.len() as u64;
    text.extend(b"\xff\xfe\n[1]\nnull\n\n   \n");
    text.extend(line("b", Some("a"), "two").as_bytes());
    text.push(b'\n');
    bytes = sandbox.file(text);
    let reader = Reader::open(&bytes).unwrap();
    assert_eq!(positions(&reader.findings()), [(3, start), (4, start + 3), (5, start + 7)]);
    assert_eq!(texts(&reader), ["one", "two"]);
}

#[test]
fn reader_unknown_parent_makes_root() {
    let sandbox = Sandbox::new();
    let path = sandbox.log(&[&line("a", None, "one"), &line("b", Some("lost"), "two")]);
    let reader = Reader::open(&path).unwrap();
    assert_eq!(texts(&reader), ["two"]);
    assert_eq!(
        reader.findings()[0].what,
        "its parent lost is not on an earlier line; the entry becomes a root"
    );
    assert_eq!(reader.tree().nodes().iter().map(|node| node.parent).collect::<Vec<_>>(), [None, None]);
}

#[test]
fn reader_unknown_parent_after_migrated_line_makes_root() {
    let sandbox = Sandbox::new();
    let header = HEADER.replace(r#""version":3"#, r#""version":2"#);
    let hook =
        line("a", None, "one").replace(r#""role":"user""#, r#""role":"hookMessage","customType":"lint""#);
    let orphan = line("b", Some("lost"), "two");
    assert!(header != HEADER && hook.contains("hookMessage"));
    let findings_of = |hook: &str| {
        let reader = Reader::open(&sandbox.file(format!("{header}\n{hook}\n{orphan}\n"))).unwrap();
        reader.findings().into_iter().map(|finding| finding.what).collect::<Vec<_>>()
    };
    assert_eq!(findings_of(&hook), ["its parent lost is not on an earlier line; the entry becomes a root"]);
    // The parent may be lost with the end of a line that is broken in its middle.
    assert_eq!(
        findings_of(&line("a", None, "one").replace(r#"one""#, "one")),
        ["its parent lost was lost with the unreadable lines before it; a is used instead"]
    );
}

#[test]
fn reader_later_or_own_parent_is_unknown() {
    let sandbox = Sandbox::new();
    let path = sandbox.log(&[&line("a", Some("b"), "one"), &line("b", Some("b"), "two")]);
    let reader = Reader::open(&path).unwrap();
    assert_eq!(texts(&reader), ["two"]);
    assert_eq!(reader.findings().len(), 2);
}

#[test]
fn reader_duplicate_id_means_nearest_earlier() {
    let sandbox = Sandbox::new();
    let lines = [
        line("a", None, "one"),
        line("b", Some("a"), "old"),
        line("c", Some("b"), "on old"),
        line("b", Some("a"), "new"),
        line("d", Some("b"), "on new"),
    ];
    let path = sandbox.log(&lines.each_ref().map(String::as_str));
    let reader = Reader::open(&path).unwrap();
    assert_eq!(texts(&reader), ["one", "new", "on new"]);
    let on_old = context::project(&reader.branch(&"c".into()).unwrap().0);
    assert_eq!(
        on_old.messages.iter().map(|m| text_of(&m.message)).collect::<Vec<_>>(),
        ["one", "old", "on old"]
    );
    assert_eq!(reader.findings().len(), 1);
    assert_eq!(reader.findings()[0].line, 5);
}

#[test]
fn find_part_of_duplicate_id_matches() {
    let sandbox = Sandbox::new();
    let path = sandbox.log(&[&line("aaaa1111", None, "one"), &line("aaaa1111", None, "two")]);
    assert_eq!(Reader::open(&path).unwrap().find("1111").unwrap().as_str(), "aaaa1111");
}

#[test]
fn reader_damaged_body_keeps_its_place() {
    let sandbox = Sandbox::new();
    let damaged = r#"{"type":"message","id":"b","parentId":"a","message":{"role":"oracle"}}"#;
    let path = sandbox.log(&[&line("a", None, "one"), damaged, &line("c", Some("b"), "three")]);
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.findings(), []);
    let (entries, findings) = reader.branch(&"c".into()).unwrap();
    assert_eq!(entries.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), ["a", "c"]);
    assert_eq!(findings.iter().map(|finding| finding.line).collect::<Vec<_>>(), [3]);
    let touched = reader.entry(&"b".into()).unwrap_err();
    assert!(matches!(touched, SessionError::Damaged { line: 3, .. }), "{touched}");
}

#[test]
fn reader_bad_header_is_error() {
    let sandbox = Sandbox::new();
    let entry = line("a", None, "one");
    for text in ["", "\n", "not json\n", "[]\n", entry.as_str(), r#"{"type":"session","version":3}"#] {
        let path = sandbox.file(text);
        let error = Reader::open(&path).unwrap_err();
        assert!(matches!(error, SessionError::Header { .. }), "{text:?}: {error}");
        assert!(matches!(Writer::open(&path).unwrap_err(), SessionError::Header { .. }), "{text:?}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text, "a file that is no session was changed");
    }
}
