//! Copies that begin with another session's path.

use serde_json::Value;
use tiller_core::event::{QueueItem, QueueKind};
use tiller_engine::queue::{self, Queue};

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

/// What waits according to a log.
fn waiting(path: &Path) -> Vec<String> {
    let entries = all(&Reader::open(path).unwrap());
    Queue::left_over(&entries).items().iter().map(|item| item.text.clone()).collect()
}

fn wait(writer: &mut Writer, id: &str) {
    let (kind, images) = (QueueKind::FollowUp, [].into());
    let item = QueueItem { id: id.into(), kind, text: id.into(), typed: None, images, held: true };
    writer.append(queue::added(&item), NOW).unwrap();
}

#[test]
fn what_waits_in_a_session_does_not_wait_in_its_fork() {
    let place = Place::new();
    let mut writer = place.create();
    say(&mut writer, "one");
    wait(&mut writer, "taken back");
    wait(&mut writer, "still waiting");
    let before = writer.reader().leaf().unwrap();
    writer.append(queue::removed(&"taken back".into()), NOW).unwrap();
    // In the fork at this entry not even the message that was taken back later may wait.
    for upto in [before, writer.reader().leaf().unwrap()] {
        let fork = place.manager.fork(&writer.reader(), Some(&upto), NOW).unwrap();
        let file = fork.reader().path().unwrap().to_owned();
        assert_eq!(waiting(&file), Vec::<String>::new());
        assert_eq!(texts(&fork.reader()), ["one"]);
        assert_eq!(Reader::open(&file).unwrap().findings(), []);
        drop(fork);
        fs::remove_file(file).unwrap();
    }
    assert_eq!(waiting(writer.reader().path().unwrap()), ["still waiting"]);
}

#[test]
fn a_fork_without_anything_waiting_is_the_path_and_nothing_else() {
    let place = Place::new();
    let mut writer = place.create();
    let leaf = say(&mut writer, "one");
    let fork = place.manager.fork(&writer.reader(), Some(&leaf), NOW).unwrap();
    let lines = body_lines(fork.reader().path().unwrap());
    assert_eq!(lines, body_lines(writer.reader().path().unwrap()));
}

#[test]
fn a_fork_of_a_named_session_is_named_as_such_wherever_it_begins() {
    let place = Place::new();
    let mut writer = place.create();
    let first = say(&mut writer, "one");
    writer.name(Some("numbers"), NOW).unwrap();
    let leaf = writer.reader().leaf();
    let mut begun = place.manager.fork(&writer.reader(), None, NOW).unwrap();
    say(&mut begun, "instead");
    let short = place.manager.fork(&writer.reader(), Some(&first), NOW).unwrap();
    let whole = place.manager.fork(&writer.reader(), leaf.as_ref(), NOW).unwrap();
    let again = place.manager.fork(&whole.reader(), whole.reader().leaf().as_ref(), NOW).unwrap();
    let names = [&writer, &begun, &short, &whole, &again].map(|writer| writer.reader().name().unwrap());
    assert_eq!(names, ["numbers", "numbers (fork)", "numbers (fork)", "numbers (fork)", "numbers (fork 2)"]);
    assert_eq!(texts(&again.reader()), ["one"]);
}

#[test]
fn a_fork_at_an_entry_that_is_not_there_makes_no_file() {
    let place = Place::new();
    let mut writer = place.create();
    say(&mut writer, "one");
    let refused = place.manager.fork(&writer.reader(), Some(&"nowhere".into()), NOW).unwrap_err();
    assert_eq!(refused.to_string(), "no entry `nowhere` in this session");
    only_file(&only_file(&place.sessions()));
}

#[test]
fn a_fork_names_its_parent_so_that_it_is_found_from_everywhere() {
    let place = Place::new();
    let mut writer = place.create();
    let entry = say(&mut writer, "one");
    let path = writer.reader().path().unwrap().to_owned();
    let here = std::env::current_dir().unwrap();
    let up: PathBuf = here.components().skip(1).map(|_| "..").collect();
    let relative = up.join(path.strip_prefix("/").unwrap());
    let fork = place.manager.fork(&Reader::open(&relative).unwrap(), Some(&entry), NOW).unwrap();
    let parent = PathBuf::from(fork.reader().header().parent_session.clone().unwrap());
    assert!(parent.is_absolute(), "{}", parent.display());
    assert_eq!(parent.canonicalize().unwrap(), path.canonicalize().unwrap());
}

#[test]
fn a_log_of_a_newer_version_is_not_forked_into_an_older_one() {
    let place = Place::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions-fixtures/version-4.jsonl");
    let reader = Reader::open(&fixture).unwrap();
    let refused = place.manager.fork(&reader, reader.leaf().as_ref(), NOW).unwrap_err();
    assert!(matches!(refused, tiller_session::SessionError::Version { version: 4, .. }), "{refused}");
    assert!(!place.sessions().exists());
}

#[test]
fn a_fork_of_what_goes_on_with_an_older_log_names_that_log() {
    let place = Place::new();
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions-fixtures/version-1.jsonl");
    let old = place.file(fs::read(fixture).unwrap());
    let staged = Writer::open(&old).unwrap();
    let fork = place.manager.fork(&staged.reader(), staged.reader().leaf().as_ref(), NOW).unwrap();
    assert_eq!(fork.reader().header().parent_session.as_deref(), old.to_str());
}
