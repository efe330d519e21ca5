//! Copies that begin with another session's path.

use serde_json::Value;

use super::*;

/// The lines of a file after its header.
fn body_lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn a_fork_copies_the_lines_of_the_path_byte_for_byte() {
    let place = Place::new();
    let lines = [
        r#"{ "id":"a", "type":"message",  "parentId":null, "later":{"x":[1E5, 0.10]}, "message":{"role":"user","content":"one","mood":"good"}}"#,
        r#"{"type":"hologram","id":"b","parentId":"a","beams":3}"#,
        r#"{"type":"message","id":"x","parentId":"a","message":{"role":"user","content":"left"}}"#,
        r#"{"type":"message","id":"c","parentId":"b","message":{"role":"user","content":"two\ud83e\udd80"}}"#,
        r#"{"type":"message","id":"d","parentId":"c","message":{"role":"user","content":"three"}}"#,
    ];
    let path = place.log(&lines);
    let reader = Reader::open(&path).unwrap();
    let mut fork = place.manager.fork(&reader, Some(&"c".into()), NOW).unwrap();
    let file = fork.reader().path().unwrap().to_owned();
    assert_eq!(body_lines(&file), [lines[0], lines[1], lines[3]]);
    let header: Value =
        serde_json::from_str(fs::read_to_string(&file).unwrap().lines().next().unwrap()).unwrap();
    assert_eq!(header["parentSession"], path.display().to_string());
    assert_eq!(header["id"], fork.reader().id().as_str());
    assert_ne!(fork.reader().id(), reader.id());
    assert_eq!(fork.reader().leaf(), Some("c".into()));
    say(&mut fork, "four");
    assert_eq!(texts(&fork.reader()), ["one", "two\u{1f980}", "four"]);
    assert_eq!(reader.entry_count(), 5);
}

#[test]
fn a_fork_from_before_the_first_entry_waits_for_a_message_like_a_fresh_session() {
    let place = Place::new();
    let mut writer = place.create();
    say(&mut writer, "one");
    let mut fork = place.manager.fork(&writer.reader(), None, NOW).unwrap();
    assert!(!fork.reader().exists());
    say(&mut fork, "two");
    let header = Reader::open(fork.reader().path().unwrap()).unwrap().header().clone();
    assert_eq!(header.parent_session, writer.reader().path().map(|path| path.display().to_string()));
    assert_eq!(texts(&fork.reader()), ["two"]);
}

#[test]
fn a_fork_of_a_path_with_doubled_ids_copies_the_entry_that_is_meant() {
    let place = Place::new();
    let lines = [
        line("a", None, "old"),
        line("b", Some("a"), "on old"),
        line("a", None, "new"),
        line("c", Some("a"), "on new"),
    ];
    let path = place.log(&lines.each_ref().map(String::as_str));
    let reader = Reader::open(&path).unwrap();
    let fork = place.manager.fork(&reader, Some(&"b".into()), NOW).unwrap();
    assert_eq!(texts(&fork.reader()), ["old", "on old"]);
}

#[test]
fn a_fork_across_a_damaged_line_keeps_the_bridge_and_the_line() {
    let place = Place::new();
    let (one, damaged, three) = (line("a", None, "one"), r#"{"type":"mess"#, line("c", Some("b"), "three"));
    let path = place.log(&[&one, damaged, &three]);
    let reader = Reader::open(&path).unwrap();
    let fork = place.manager.fork(&reader, reader.leaf().as_ref(), NOW).unwrap();
    assert_eq!(texts(&fork.reader()), ["one", "three"]);
    assert_eq!(body_lines(fork.reader().path().unwrap()), [&one, damaged, &three]);
    assert_eq!(fork.reader().findings().len(), 2);
}
