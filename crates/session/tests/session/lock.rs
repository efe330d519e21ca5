//! One writer a log.

use serde_json::{Value, json};
use tiller_session::{ExternalChange, LockHolder, SessionError, SessionScope};
use tiller_test_support::faulty_disk::FaultyDisk;

use super::*;

/// The note beside a log.
fn note(path: &Path) -> PathBuf {
    PathBuf::from(format!("{}.lock", path.display()))
}

fn holder(path: &Path) -> Option<LockHolder> {
    match Writer::open(path).unwrap_err() {
        SessionError::Held { holder, .. } => holder,
        error => panic!("{error}"),
    }
}

#[test]
fn a_session_that_is_written_to_cannot_be_opened_for_writing_again() {
    let place = Place::new();
    let mut writer = place.create();
    say(&mut writer, "one");
    let path = writer.reader().path().unwrap().to_owned();
    let refused = Writer::open(&path).unwrap_err();
    assert!(matches!(&refused, SessionError::Held { path: held, .. } if *held == path), "{refused}");
    assert_eq!(texts(&Reader::open(&path).unwrap()), ["one"]);
    drop(writer);
    let writer = Writer::open(&path).unwrap();
    assert!(Writer::open(&path).is_err());
    drop(writer);
}

#[test]
fn a_held_session_with_a_torn_line_is_left_alone() {
    let place = Place::new();
    let path = place.log(&[&line("a", None, "one")]);
    let writer = Writer::open(&path).unwrap();
    // What the holder has written so far of its next line.
    let mut text = fs::read(&path).unwrap();
    text.extend(br#"{"type":"#);
    fs::write(&path, &text).unwrap();
    assert!(matches!(Writer::open(&path), Err(SessionError::Held { .. })));
    assert_eq!(fs::read(&path).unwrap(), text);
    drop(writer);
}

#[test]
fn a_session_is_free_once_its_writer_is_gone_even_if_somebody_still_reads_it() {
    let place = Place::new();
    let mut writer = place.create();
    say(&mut writer, "one");
    let reader = writer.reader();
    drop(writer);
    let mut writer = Writer::open(reader.path().unwrap()).unwrap();
    say(&mut writer, "two");
    assert_eq!(texts(&reader), ["one"]);
}

#[test]
fn a_fork_is_held_like_any_other_session() {
    let place = Place::new();
    let mut writer = place.create();
    let first = say(&mut writer, "one");
    let fork = place.manager.fork(&writer.reader(), Some(&first), NOW).unwrap();
    assert!(matches!(Writer::open(fork.reader().path().unwrap()), Err(SessionError::Held { .. })));
}

#[test]
fn a_note_says_who_has_a_session_open_and_goes_with_the_lock() {
    let place = Place::new();
    let mut writer = place.create();
    say(&mut writer, "one");
    let path = writer.reader().path().unwrap().to_owned();
    let text: Value = serde_json::from_slice(&fs::read(note(&path)).unwrap()).unwrap();
    let holder = holder(&path).unwrap();
    assert_eq!(text, json!({"pid": std::process::id(), "host": holder.host, "since": holder.since}));
    let since = tiller_core::unit::UnixMs::from_iso(&holder.since).unwrap();
    assert!(since.0 > NOW.0 / 2, "{holder}");
    let refused = Writer::open(&path).unwrap_err();
    let named = format!("(pid {} on {}, since {})", std::process::id(), holder.host, holder.since);
    assert!(refused.to_string().contains(&named), "{refused}");
    drop(writer);
    assert!(!note(&path).exists());
    let writer = Writer::open(&path).unwrap();
    assert!(note(&path).exists());
    drop(writer);
    assert!(!note(&path).exists());
}

#[test]
fn a_note_that_a_kill_left_behind_holds_nothing_and_is_written_over() {
    let place = Place::new();
    let path = place.log(&[&line("a", None, "one")]);
    fs::write(note(&path), r#"{"pid":1,"host":"elsewhere","since":"2020-01-01T00:00:00.000Z"}"#).unwrap();
    let writer = Writer::open(&path).unwrap();
    assert_eq!(holder(&path).unwrap().pid, i32::try_from(std::process::id()).unwrap());
    drop(writer);
}

#[test]
fn a_note_of_a_process_that_is_over_is_not_believed_even_while_somebody_has_the_lock() {
    let place = Place::new();
    let path = place.log(&[&line("a", None, "one")]);
    let writer = Writer::open(&path).unwrap();
    let mut over = std::process::Command::new("true").spawn().unwrap();
    over.wait().unwrap();
    let host = holder(&path).unwrap().host;
    let stale = json!({"pid": over.id(), "host": host, "since": "2020-01-01T00:00:00.000Z"});
    fs::write(note(&path), stale.to_string()).unwrap();
    assert_eq!(holder(&path), None);
    fs::write(note(&path), "not a note").unwrap();
    assert_eq!(holder(&path), None);
    drop(writer);
}

#[test]
fn a_note_is_no_session() {
    let place = Place::new();
    let mut writer = place.create();
    say(&mut writer, "one");
    assert!(note(writer.reader().path().unwrap()).exists());
    let listing = place.manager.list(SessionScope::Everywhere).unwrap();
    assert_eq!((listing.sessions.len(), listing.unreadable.len()), (1, 0));
}

#[test]
fn on_a_file_system_without_locks_the_user_is_told_once() {
    let place = Place::new();
    let disk = FaultyDisk::default().without_locks();
    let manager = place.manager.clone().on_disk(Arc::new(disk));
    let mut writer = manager.create(NOW);
    assert_eq!(writer.take_disturbances(), []);
    say(&mut writer, "one");
    let path = writer.reader().path().unwrap().to_owned();
    let told = writer.take_disturbances();
    assert_eq!(told, [ExternalChange::NoLocks { path: path.clone() }]);
    assert!(told[0].to_string().contains("no locks") && !told[0].hint().is_empty());
    say(&mut writer, "two");
    assert_eq!(writer.take_disturbances(), []);
    assert!(!note(&path).exists(), "without a lock nobody would believe it");
    assert_eq!(manager.open(&path).unwrap().take_disturbances(), [ExternalChange::NoLocks { path }]);
}
