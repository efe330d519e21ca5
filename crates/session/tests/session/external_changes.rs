//! Tests of changes by other programs to a log that is open for writing.

use std::fs::OpenOptions;
use std::io::Write;

use tiller_session::{ExternalChange, SessionError};
use tiller_test_support::faulty_disk::{Fault, FaultyDisk};

use super::*;

/// Creates a log of two messages, open for writing.
fn open_log(sandbox: &Sandbox) -> (Writer, PathBuf) {
    let mut writer = sandbox.create();
    append_user(&mut writer, "one");
    append_user(&mut writer, "two");
    let path = writer.reader().path().unwrap().to_owned();
    (writer, path)
}

/// Appends to a log without its lock, like another program.
fn append_foreign(path: &Path, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// Asserts that memory and file agree, and contain these texts.
#[track_caller]
fn assert_texts(writer: &Writer, expected: &[&str]) {
    let reopened = Reader::open(writer.reader().path().unwrap()).unwrap();
    assert_eq!(texts(&reopened), expected);
    assert_eq!(entries_of(&writer.reader()), entries_of(&reopened));
    assert_eq!(positions(&writer.reader().findings()), positions(&reopened.findings()));
}

/// Other files in the directory whose names start with the log's name.
fn siblings(path: &Path) -> Vec<PathBuf> {
    let is_sibling = |sibling: &PathBuf| {
        sibling != path && sibling.display().to_string().starts_with(&path.display().to_string())
    };
    let files = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    files.filter(is_sibling).filter(|sibling| sibling.extension().unwrap() != "lock").collect()
}

#[test]
fn writer_foreign_append_is_read_first() {
    let sandbox = Sandbox::new();
    let (mut writer, path) = open_log(&sandbox);
    let two = writer.reader().leaf().unwrap();
    append_foreign(
        &path,
        &format!("{}\n{}\n", line("x", Some(two.as_str()), "three"), line("y", Some("x"), "four")),
    );
    append_user(&mut writer, "five");
    assert_eq!(writer.take_external_changes(), [ExternalChange::Appended { path, entries: 2 }]);
    assert_texts(&writer, &["one", "two", "three", "four", "five"]);
    append_user(&mut writer, "six");
    assert_eq!(writer.take_external_changes(), []);
}

#[test]
fn writer_branch_to_foreign_entry_works() {
    let sandbox = Sandbox::new();
    let (mut writer, path) = open_log(&sandbox);
    append_foreign(&path, &(line("x", None, "another beginning") + "\n"));
    append_foreign(&path, &(line("y", Some("x"), "and more") + "\n"));
    writer.branch(Some(&"x".into()), NOW).unwrap();
    append_user(&mut writer, "on from there");
    assert_texts(&writer, &["another beginning", "on from there"]);
}

#[test]
fn writer_foreign_torn_line_is_closed() {
    let sandbox = Sandbox::new();
    let (mut writer, path) = open_log(&sandbox);
    let two = writer.reader().leaf().unwrap();
    let three = line("x", Some(two.as_str()), "three");
    append_foreign(&path, &format!("{three}\n{}", &three[..40]));
    append_user(&mut writer, "four");
    assert_texts(&writer, &["one", "two", "three", "four"]);
    assert_eq!(positions(&writer.reader().findings()).len(), 1, "the torn line is named");
}

#[test]
fn writer_foreign_append_to_own_torn_line_is_read() {
    let sandbox = Sandbox::new();
    let disk = FaultyDisk::default();
    let mut writer = sandbox.manager.clone().with_fs(Arc::new(disk.clone())).create(NOW);
    let first = append_user(&mut writer, "one");
    let path = writer.reader().path().unwrap().to_owned();
    disk.fail_write_after(0, Fault::Short(30));
    writer.append(user("lost"), NOW).unwrap_err();
    append_foreign(&path, &format!("spoilt\n{}\n", line("x", Some(first.as_str()), "two")));
    append_user(&mut writer, "three");
    assert_texts(&writer, &["one", "two", "three"]);
}

#[test]
fn writer_simultaneous_append_is_noticed_next_time() {
    let sandbox = Sandbox::new();
    let disk = FaultyDisk::default();
    let mut writer = sandbox.manager.clone().with_fs(Arc::new(disk.clone())).create(NOW);
    let first = append_user(&mut writer, "one");
    disk.fail_write_after(0, Fault::Overtaken(line("x", Some(first.as_str()), "aside") + "\n"));
    append_user(&mut writer, "two");
    append_user(&mut writer, "three");
    assert_eq!(writer.take_external_changes().len(), 1);
    assert_texts(&writer, &["one", "two", "three"]);
    assert_eq!(writer.reader().entry_count(), 4);
}

#[test]
fn writer_removed_log_is_rewritten() {
    use std::os::unix::fs::PermissionsExt;
    for whole_dir in [false, true] {
        let sandbox = Sandbox::new();
        let (mut writer, path) = open_log(&sandbox);
        let before = fs::read(&path).unwrap();
        if whole_dir {
            fs::remove_dir_all(sandbox.sessions()).unwrap();
        } else {
            fs::remove_file(&path).unwrap();
        }
        let reader = writer.reader();
        append_user(&mut writer, "three");
        let changes = writer.take_external_changes();
        assert_eq!(changes, [ExternalChange::Missing { path: path.clone() }]);
        assert!(changes[0].to_string().contains(&path.display().to_string()));
        assert!(fs::read(&path).unwrap().starts_with(&before));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_texts(&writer, &["one", "two", "three"]);
        assert_eq!(texts(&reader), ["one", "two", "three"], "those who read it go on too");
        assert!(matches!(Writer::open(&path), Err(SessionError::Locked { .. })), "it is locked");
        append_user(&mut writer, "four");
        assert_eq!(writer.take_external_changes(), []);
        assert_texts(&writer, &["one", "two", "three", "four"]);
    }
}

#[test]
fn writer_moved_log_is_rewritten_at_its_path() {
    let sandbox = Sandbox::new();
    let (mut writer, path) = open_log(&sandbox);
    let moved = sandbox.root.path().join("moved.jsonl");
    fs::rename(&path, &moved).unwrap();
    append_user(&mut writer, "three");
    assert_texts(&writer, &["one", "two", "three"]);
    assert_eq!(texts(&Writer::open(&moved).unwrap().reader()), ["one", "two"]);
}

#[test]
fn writer_failed_rewrite_is_retried() {
    let sandbox = Sandbox::new();
    let disk = FaultyDisk::default();
    let mut writer = sandbox.manager.clone().with_fs(Arc::new(disk.clone())).create(NOW);
    append_user(&mut writer, "one");
    let path = writer.reader().path().unwrap().to_owned();
    fs::remove_file(&path).unwrap();
    disk.fail_write_after(0, Fault::Short(20));
    let error = writer.append(user("two"), NOW).unwrap_err();
    assert!(matches!(error, SessionError::Append { .. }), "{error}");
    assert!(!path.exists(), "no part of a log is left");
    append_user(&mut writer, "two");
    assert_texts(&writer, &["one", "two"]);
    assert_eq!(writer.take_external_changes(), [ExternalChange::Missing { path }]);
}

#[test]
fn writer_replacing_file_is_moved_aside() {
    let sandbox = Sandbox::new();
    let (mut writer, path) = open_log(&sandbox);
    let edited = sandbox.root.path().join("edited");
    fs::write(&edited, "somebody's work\n").unwrap();
    fs::rename(&edited, &path).unwrap();
    append_user(&mut writer, "three");
    let backups = siblings(&path);
    assert_eq!(backups.len(), 1);
    assert_eq!(fs::read_to_string(&backups[0]).unwrap(), "somebody's work\n");
    assert!(!backups[0].display().to_string().ends_with(".jsonl"));
    let changes = writer.take_external_changes();
    assert_eq!(changes, [ExternalChange::Replaced { path: path.clone(), backup: backups[0].clone() }]);
    let text = changes[0].to_string();
    assert!(
        text.contains(&format!("{}:", path.display())) && text.contains(&backups[0].display().to_string())
    );
    assert_texts(&writer, &["one", "two", "three"]);

    // The same millisecond again: the first file keeps its name.
    fs::write(&edited, "more work\n").unwrap();
    fs::rename(&edited, &path).unwrap();
    append_user(&mut writer, "four");
    let mut contents: Vec<String> =
        siblings(&path).iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    contents.sort();
    assert_eq!(contents, ["more work\n", "somebody's work\n"]);
}

#[test]
fn writer_replacing_file_in_use_is_left_alone() {
    let sandbox = Sandbox::new();
    let (mut writer, path) = open_log(&sandbox);
    fs::rename(&path, sandbox.root.path().join("elsewhere")).unwrap();
    fs::write(&path, format!("{HEADER}\n{}\n", line("a", None, "theirs"))).unwrap();
    let mut other_writer = Writer::open(&path).unwrap();
    let error = writer.append(user("three"), NOW).unwrap_err();
    assert!(matches!(error, SessionError::Locked { holder: Some(_), .. }), "{error}");
    append_user(&mut other_writer, "on");
    assert_texts(&other_writer, &["theirs", "on"]);
    assert_eq!(other_writer.take_external_changes(), []);
    drop(other_writer);
    append_user(&mut writer, "three");
    assert_texts(&writer, &["one", "two", "three"]);
    assert_eq!(siblings(&path).len(), 1);
}

#[test]
fn writer_truncated_log_is_error_counting_losses() {
    let sandbox = Sandbox::new();
    let (mut writer, path) = open_log(&sandbox);
    let length = fs::metadata(&path).unwrap().len();
    append_user(&mut writer, "three");
    // Truncated in the middle of a line, which leaves a torn line.
    OpenOptions::new().write(true).open(&path).unwrap().set_len(length - 10).unwrap();
    let error = writer.append(user("four"), NOW).unwrap_err();
    assert!(matches!(&error, SessionError::Cut { lost: 2, backup: None, .. }), "{error}");
    assert!(error.to_string().contains(&path.display().to_string()) && error.hint().is_some(), "{error}");
    assert_texts(&writer, &["one"]);
    append_user(&mut writer, "four");
    assert_texts(&writer, &["one", "four"]);
}

#[test]
fn writer_overwritten_log_is_error() {
    let sandbox = Sandbox::new();
    let (mut writer, path) = open_log(&sandbox);
    let other_line = line("x", None, &"long".repeat(1_000));
    fs::write(&path, format!("{HEADER}\n{other_line}\n")).unwrap();
    let error = writer.append(user("three"), NOW).unwrap_err();
    assert!(matches!(&error, SessionError::Cut { lost: 2, backup: None, .. }), "{error}");
    append_user(&mut writer, "three");
    assert_texts(&writer, &[&"long".repeat(1_000), "three"]);
}

#[test]
fn writer_overwritten_entries_of_same_length_are_error() {
    let sandbox = Sandbox::new();
    let (mut writer, path) = open_log(&sandbox);
    let two = writer.reader().leaf().unwrap();
    let replacement = "x".repeat(two.as_str().len());
    let text = fs::read_to_string(&path).unwrap().replace(two.as_str(), &replacement);
    fs::write(&path, format!("{text}{}\n", line("y", Some(&replacement), "their three"))).unwrap();
    let error = writer.append(user("four"), NOW).unwrap_err();
    assert!(matches!(&error, SessionError::Cut { lost: 1, backup: None, .. }), "{error}");
    append_user(&mut writer, "four");
    assert_texts(&writer, &["one", "two", "their three", "four"]);
}

#[test]
fn writer_lost_header_moves_file_aside() {
    for length in [0, 10] {
        let sandbox = Sandbox::new();
        let (mut writer, path) = open_log(&sandbox);
        let id = writer.reader().id().clone();
        OpenOptions::new().write(true).open(&path).unwrap().set_len(length).unwrap();
        let error = writer.append(user("three"), NOW).unwrap_err();
        let SessionError::Cut { lost: 2, backup: Some(backup), .. } = &error else { panic!("{error}") };
        assert_eq!(fs::metadata(backup).unwrap().len(), length);
        assert!(error.to_string().contains(&backup.display().to_string()), "{error}");
        assert_eq!((writer.reader().leaf(), writer.reader().exists()), (None, false));
        append_user(&mut writer, "three");
        assert_texts(&writer, &["three"]);
        assert_eq!((writer.reader().path(), writer.reader().id()), (Some(&*path), &id));
        assert!(matches!(Writer::open(&path), Err(SessionError::Locked { .. })));
    }
}
