//! Tests of the lock: one writer per log.

use serde_json::{Value, json};
use tiller_session::{ExternalChange, LockHolder, SessionError, SessionScope};
use tiller_test_support::faulty_disk::FaultyDisk;

use super::*;

/// The note next to a log.
fn lock_note(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}.lock", path.display()))
}

fn holder(path: &Path) -> Option<LockHolder> {
    match Writer::open(path).unwrap_err() {
        SessionError::Locked { holder, .. } => holder,
        error => panic!("{error}"),
    }
}

#[test]
fn lock_second_writer_is_refused() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    append_user(&mut writer, "one");
    let path = writer.reader().path().unwrap().to_owned();
    let error = Writer::open(&path).unwrap_err();
    assert!(matches!(&error, SessionError::Locked { path: held, .. } if *held == path), "{error}");
    assert_eq!(texts(&Reader::open(&path).unwrap()), ["one"]);
    drop(writer);
    let writer = Writer::open(&path).unwrap();
    assert!(Writer::open(&path).is_err());
    drop(writer);
}

#[test]
fn lock_refused_writer_does_not_close_torn_line() {
    let sandbox = Sandbox::new();
    let path = sandbox.log(&[&line("a", None, "one")]);
    let writer = Writer::open(&path).unwrap();
    // A partly written line of the holder.
    let mut text = fs::read(&path).unwrap();
    text.extend(br#"{"type":"#);
    fs::write(&path, &text).unwrap();
    assert!(matches!(Writer::open(&path), Err(SessionError::Locked { .. })));
    assert_eq!(fs::read(&path).unwrap(), text);
    drop(writer);
}

#[test]
fn lock_ends_with_writer_not_with_reader() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    append_user(&mut writer, "one");
    let reader = writer.reader();
    drop(writer);
    let mut writer = Writer::open(reader.path().unwrap()).unwrap();
    append_user(&mut writer, "two");
    assert_eq!(texts(&reader), ["one"]);
}

#[test]
fn lock_covers_forks() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    let first = append_user(&mut writer, "one");
    let fork = sandbox.manager.fork(&writer.reader(), Some(&first), NOW).unwrap();
    assert!(matches!(Writer::open(fork.reader().path().unwrap()), Err(SessionError::Locked { .. })));
}

#[test]
fn lock_note_names_holder_and_goes_with_lock() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    append_user(&mut writer, "one");
    let path = writer.reader().path().unwrap().to_owned();
    let text: Value = serde_json::from_slice(&fs::read(lock_note(&path)).unwrap()).unwrap();
    let holder = holder(&path).unwrap();
    assert_eq!(text, json!({"pid": std::process::id(), "host": holder.host, "since": holder.since}));
    let since = tiller_core::unit::UnixMs::from_iso(&holder.since).unwrap();
    assert!(since.0 > NOW.0 / 2, "{holder}");
    let error = Writer::open(&path).unwrap_err();
    let holder_text = format!("(pid {} on {}, since {})", std::process::id(), holder.host, holder.since);
    assert!(error.to_string().contains(&holder_text), "{error}");
    drop(writer);
    assert!(!lock_note(&path).exists());
    let writer = Writer::open(&path).unwrap();
    assert!(lock_note(&path).exists());
    drop(writer);
    assert!(!lock_note(&path).exists());
}

#[test]
fn lock_note_left_by_kill_is_overwritten() {
    let sandbox = Sandbox::new();
    let path = sandbox.log(&[&line("a", None, "one")]);
    fs::write(lock_note(&path), r#"{"pid":1,"host":"elsewhere","since":"2020-01-01T00:00:00.000Z"}"#)
        .unwrap();
    let writer = Writer::open(&path).unwrap();
    assert_eq!(holder(&path).unwrap().pid, i32::try_from(std::process::id()).unwrap());
    drop(writer);
}

#[test]
fn lock_note_of_dead_process_is_ignored() {
    let sandbox = Sandbox::new();
    let path = sandbox.log(&[&line("a", None, "one")]);
    let writer = Writer::open(&path).unwrap();
    let mut process = std::process::Command::new("true").spawn().unwrap();
    process.wait().unwrap();
    let host = holder(&path).unwrap().host;
    let stale = json!({"pid": process.id(), "host": host, "since": "2020-01-01T00:00:00.000Z"});
    fs::write(lock_note(&path), stale.to_string()).unwrap();
    assert_eq!(holder(&path), None);
    fs::write(lock_note(&path), "not a note").unwrap();
    assert_eq!(holder(&path), None);
    drop(writer);
}

#[test]
fn lock_note_is_not_listed() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    append_user(&mut writer, "one");
    assert!(lock_note(writer.reader().path().unwrap()).exists());
    let listing = sandbox.manager.list(SessionScope::Everywhere).unwrap();
    assert_eq!((listing.sessions.len(), listing.unreadable.len()), (1, 0));
}

#[test]
fn lock_unsupported_is_reported_once() {
    let sandbox = Sandbox::new();
    let disk = FaultyDisk::default().without_locks();
    let manager = sandbox.manager.clone().with_fs(Arc::new(disk));
    let mut writer = manager.create(NOW);
    assert_eq!(writer.take_external_changes(), []);
    append_user(&mut writer, "one");
    let path = writer.reader().path().unwrap().to_owned();
    let changes = writer.take_external_changes();
    assert_eq!(changes, [ExternalChange::NoLocks { path: path.clone() }]);
    assert!(changes[0].to_string().contains("no locks") && !changes[0].hint().is_empty());
    append_user(&mut writer, "two");
    assert_eq!(writer.take_external_changes(), []);
    assert!(!lock_note(&path).exists(), "the note is not written without a lock");
    assert_eq!(manager.open(&path).unwrap().take_external_changes(), [ExternalChange::NoLocks { path }]);
}
