//! Tests of forks.

use serde_json::Value;
use tiller_core::event::{QueueItem, QueueKind};
use tiller_engine::queue::{self, Queue};
use tiller_session::Graft;

use super::*;

/// The lines of a file after its header.
fn body_lines(path: &Path) -> Vec<String> {
    fs::read_to_string(path).unwrap().lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn fork_copies_lines_byte_for_byte() {
    let sandbox = Sandbox::new();
    let lines = [
        r#"{ "id":"a", "type":"message",  "parentId":null, "later":{"x":[1E5, 0.10]}, "message":{"role":"user","content":"one","mood":"good"}}"#,
        r#"{"type":"hologram","id":"b","parentId":"a","beams":3}"#,
        r#"{"type":"message","id":"x","parentId":"a","message":{"role":"user","content":"left"}}"#,
        r#"{"type":"message","id":"c","parentId":"b","message":{"role":"user","content":"two\ud83e\udd80"}}"#,
        r#"{"type":"message","id":"d","parentId":"c","message":{"role":"user","content":"three"}}"#,
    ];
    let path = sandbox.log(&lines);
    let reader = Reader::open(&path).unwrap();
    let mut fork = sandbox.manager.fork(&reader, Some(&"c".into()), NOW).unwrap();
    let file = fork.reader().path().unwrap().to_owned();
    assert_eq!(body_lines(&file), [lines[0], lines[1], lines[3]]);
    let header: Value =
        serde_json::from_str(fs::read_to_string(&file).unwrap().lines().next().unwrap()).unwrap();
    assert_eq!(header["parentSession"], path.display().to_string());
    assert_eq!(header["id"], fork.reader().id().as_str());
    assert_ne!(fork.reader().id(), reader.id());
    assert_eq!(fork.reader().leaf(), Some("c".into()));
    append_user(&mut fork, "four");
    assert_eq!(texts(&fork.reader()), ["one", "two\u{1f980}", "four"]);
    assert_eq!(reader.entry_count(), 5);
}

#[test]
fn fork_before_first_entry_makes_no_file_yet() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    append_user(&mut writer, "one");
    let mut fork = sandbox.manager.fork(&writer.reader(), None, NOW).unwrap();
    assert!(!fork.reader().exists());
    append_user(&mut fork, "two");
    let header = Reader::open(fork.reader().path().unwrap()).unwrap().header().clone();
    assert_eq!(header.parent_session, writer.reader().path().map(|path| path.display().to_string()));
    assert_eq!(texts(&fork.reader()), ["two"]);
}

#[test]
fn fork_duplicate_ids_copies_nearest_entry() {
    let sandbox = Sandbox::new();
    let lines = [
        line("a", None, "old"),
        line("b", Some("a"), "on old"),
        line("a", None, "new"),
        line("c", Some("a"), "on new"),
    ];
    let path = sandbox.log(&lines.each_ref().map(String::as_str));
    let reader = Reader::open(&path).unwrap();
    let fork = sandbox.manager.fork(&reader, Some(&"b".into()), NOW).unwrap();
    assert_eq!(texts(&fork.reader()), ["old", "on old"]);
}

#[test]
fn fork_damaged_line_is_copied() {
    let sandbox = Sandbox::new();
    let (one, damaged, three) = (line("a", None, "one"), r#"{"type":"mess"#, line("c", Some("b"), "three"));
    let path = sandbox.log(&[&one, damaged, &three]);
    let reader = Reader::open(&path).unwrap();
    let fork = sandbox.manager.fork(&reader, reader.leaf().as_ref(), NOW).unwrap();
    assert_eq!(texts(&fork.reader()), ["one", "three"]);
    assert_eq!(body_lines(fork.reader().path().unwrap()), [&one, damaged, &three]);
    assert_eq!(fork.reader().findings().len(), 2);
}

/// Texts of the queued messages of a log.
fn queued_texts(path: &Path) -> Vec<String> {
    let entries = entries_of(&Reader::open(path).unwrap());
    Queue::restore(&entries).items().iter().map(|item| item.text.clone()).collect()
}

fn queue_message(writer: &mut Writer, id: &str) {
    let (kind, images) = (QueueKind::FollowUp, [].into());
    let item = QueueItem { id: id.into(), kind, text: id.into(), typed: None, images, held: true };
    writer.append(queue::added(&item), NOW).unwrap();
}

#[test]
fn fork_drops_queued_messages() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    append_user(&mut writer, "one");
    queue_message(&mut writer, "taken back");
    queue_message(&mut writer, "still waiting");
    let before = writer.reader().leaf().unwrap();
    writer.append(queue::removed(&"taken back".into()), NOW).unwrap();
    // A fork before the removal must not contain the removed message either.
    for last_entry in [before, writer.reader().leaf().unwrap()] {
        let fork = sandbox.manager.fork(&writer.reader(), Some(&last_entry), NOW).unwrap();
        let file = fork.reader().path().unwrap().to_owned();
        assert_eq!(queued_texts(&file), Vec::<String>::new());
        assert_eq!(texts(&fork.reader()), ["one"]);
        assert_eq!(Reader::open(&file).unwrap().findings(), []);
        drop(fork);
        fs::remove_file(file).unwrap();
    }
    assert_eq!(queued_texts(writer.reader().path().unwrap()), ["still waiting"]);
}

#[test]
fn fork_empty_queue_adds_no_entries() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    let leaf = append_user(&mut writer, "one");
    let fork = sandbox.manager.fork(&writer.reader(), Some(&leaf), NOW).unwrap();
    let lines = body_lines(fork.reader().path().unwrap());
    assert_eq!(lines, body_lines(writer.reader().path().unwrap()));
}

#[test]
fn fork_named_session_gets_fork_name() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    let first = append_user(&mut writer, "one");
    writer.name(Some("numbers"), NOW).unwrap();
    let leaf = writer.reader().leaf();
    let mut from_start = sandbox.manager.fork(&writer.reader(), None, NOW).unwrap();
    append_user(&mut from_start, "instead");
    let short = sandbox.manager.fork(&writer.reader(), Some(&first), NOW).unwrap();
    let fork = sandbox.manager.fork(&writer.reader(), leaf.as_ref(), NOW).unwrap();
    let second_fork = sandbox.manager.fork(&fork.reader(), fork.reader().leaf().as_ref(), NOW).unwrap();
    let names =
        [&writer, &from_start, &short, &fork, &second_fork].map(|writer| writer.reader().name().unwrap());
    assert_eq!(names, ["numbers", "numbers (fork)", "numbers (fork)", "numbers (fork)", "numbers (fork 2)"]);
    assert_eq!(texts(&second_fork.reader()), ["one"]);
}

#[test]
fn fork_unknown_entry_makes_no_file() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    append_user(&mut writer, "one");
    let error = sandbox.manager.fork(&writer.reader(), Some(&"nowhere".into()), NOW).unwrap_err();
    assert_eq!(error.to_string(), "no entry `nowhere` in this session");
    only_file(&only_file(&sandbox.sessions()));
}

#[test]
fn fork_parent_path_is_absolute() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    let entry = append_user(&mut writer, "one");
    let path = writer.reader().path().unwrap().to_owned();
    let current_dir = std::env::current_dir().unwrap();
    let to_root: PathBuf = current_dir.components().skip(1).map(|_| "..").collect();
    let relative = to_root.join(path.strip_prefix("/").unwrap());
    let fork = sandbox.manager.fork(&Reader::open(&relative).unwrap(), Some(&entry), NOW).unwrap();
    let parent = PathBuf::from(fork.reader().header().parent_session.clone().unwrap());
    assert!(parent.is_absolute(), "{}", parent.display());
    assert_eq!(parent.canonicalize().unwrap(), path.canonicalize().unwrap());
}

#[test]
fn fork_newer_version_is_refused() {
    let sandbox = Sandbox::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions-fixtures/version-4.jsonl");
    let reader = Reader::open(&fixture).unwrap();
    let error = sandbox.manager.fork(&reader, reader.leaf().as_ref(), NOW).unwrap_err();
    assert!(matches!(error, tiller_session::SessionError::Version { version: 4, .. }), "{error}");
    assert!(!sandbox.sessions().exists());
}

#[test]
fn fork_of_migrated_log_names_original() {
    let sandbox = Sandbox::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions-fixtures/version-1.jsonl");
    let old = sandbox.file(fs::read(fixture).unwrap());
    let staged = Writer::open(&old).unwrap();
    let fork = sandbox.manager.fork(&staged.reader(), staged.reader().leaf().as_ref(), NOW).unwrap();
    assert_eq!(fork.reader().header().parent_session.as_deref(), old.to_str());
}

#[test]
fn graft_appends_the_conversation_as_a_branch() {
    let sandbox = Sandbox::new();
    let mut parent = sandbox.manager.create(NOW);
    let common = append_user(&mut parent, "one");
    let mut child = sandbox.manager.fork(&parent.reader(), Some(&common), NOW).unwrap();
    child.name(Some("lane"), NOW).unwrap();
    append_user(&mut child, "two");
    append_user(&mut parent, "three");

    let graft = Graft::read(&child.reader(), Some(&common), None).unwrap();
    parent.graft(&graft, NOW).unwrap();
    let reader = parent.reader();
    let texts = |leaf: &EntryId| -> Vec<String> {
        let (entries, _) = reader.branch(leaf).unwrap();
        let text = |entry: &Entry| match &**entry.body.as_message()? {
            Message::User(message) => Some(message.content.joined_text()),
            _ => None,
        };
        entries.iter().filter_map(text).collect()
    };
    assert_eq!(texts(&reader.leaf().unwrap()), ["one", "three"]);
    assert_eq!(texts(graft.leaf().unwrap()), ["one", "two"]);
    assert_eq!(reader.name(), None, "the name of the other session is left out");
    assert_eq!(Reader::open(reader.path().unwrap()).unwrap().leaf(), reader.leaf());
}

#[test]
fn graft_has_no_usage_that_is_already_counted() {
    let answer = |id: &str, parent: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","message":{{"role":"assistant","content":[],"provider":"p","model":"m","usage":{{"output":7,"totalTokens":7}},"stopReason":"stop"}}}}"#
        )
    };
    let sandbox = Sandbox::new();
    let (first, second) = (answer("b", "a"), answer("d", "c"));
    let path = sandbox.log(&[
        r#"{"type":"message","id":"a","parentId":null,"message":{"role":"user","content":"one"}}"#,
        &first,
        r#"{"type":"usage","id":"c","parentId":"b","kind":"agent","provider":"p","model":"m","usage":{"output":5}}"#,
        &second,
    ]);
    let lane = Reader::open(&path).unwrap();
    let used_after = |counted: &str| {
        let mut parent = sandbox.manager.create(NOW);
        append_user(&mut parent, "zero");
        parent.graft(&Graft::read(&lane, None, Some(&counted.into())).unwrap(), NOW).unwrap();
        let reader = parent.reader();
        assert_eq!(reader.usage().output, reader.totals().unwrap().usage.output);
        assert_eq!(reader.totals().unwrap().assistant_messages, 2);
        reader.usage().output.0
    };
    assert_eq!(["a", "b", "c", "d"].map(used_after), [19, 12, 7, 0]);
}
