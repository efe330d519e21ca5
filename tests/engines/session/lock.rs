//! One writer a log.

use tiller::session::SessionError;

use super::*;

#[test]
fn a_session_that_is_written_to_cannot_be_opened_for_writing_again() {
    let place = Place::new();
    let mut writer = place.create();
    say(&mut writer, "one");
    let path = writer.reader().path().unwrap().to_owned();
    let refused = Writer::open(&path).unwrap_err();
    assert!(matches!(&refused, SessionError::Held { path: held } if *held == path), "{refused}");
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
