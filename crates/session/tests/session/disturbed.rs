//! What other programs do to a log that is open for writing.

use std::fs::OpenOptions;
use std::io::Write;

use tiller_session::{ExternalChange, SessionError};
use tiller_test_support::faulty_disk::{Fault, FaultyDisk};

use super::*;

/// A log of two messages that is open for writing.
fn begun(place: &Place) -> (Writer, PathBuf) {
    let mut writer = place.create();
    say(&mut writer, "one");
    say(&mut writer, "two");
    let path = writer.reader().path().unwrap().to_owned();
    (writer, path)
}

/// Appends as a program would that asks for no lock.
fn intrude(path: &Path, text: &str) {
    OpenOptions::new().append(true).open(path).unwrap().write_all(text.as_bytes()).unwrap();
}

/// Memory and file say the same, and this.
#[track_caller]
fn assert_says(writer: &Writer, wanted: &[&str]) {
    let fresh = Reader::open(writer.reader().path().unwrap()).unwrap();
    assert_eq!(texts(&fresh), wanted);
    assert_eq!(all(&writer.reader()), all(&fresh));
    assert_eq!(places(&writer.reader().findings()), places(&fresh.findings()));
}

/// The files beside a log whose names begin with its name.
fn beside(path: &Path) -> Vec<PathBuf> {
    let is_beside = |other: &PathBuf| {
        other != path && other.display().to_string().starts_with(&path.display().to_string())
    };
    let files = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    files.filter(is_beside).filter(|other| other.extension().unwrap() != "lock").collect()
}

#[test]
fn what_another_program_appended_is_read_before_the_next_entry_follows_it() {
    let place = Place::new();
    let (mut writer, path) = begun(&place);
    let two = writer.reader().leaf().unwrap();
    intrude(
        &path,
        &format!("{}\n{}\n", line("x", Some(two.as_str()), "three"), line("y", Some("x"), "four")),
    );
    say(&mut writer, "five");
    assert_eq!(writer.take_disturbances(), [ExternalChange::Grown { path, entries: 2 }]);
    assert_says(&writer, &["one", "two", "three", "four", "five"]);
    say(&mut writer, "six");
    assert_eq!(writer.take_disturbances(), []);
}

#[test]
fn a_move_to_an_entry_that_another_program_appended_finds_it() {
    let place = Place::new();
    let (mut writer, path) = begun(&place);
    intrude(&path, &(line("x", None, "another beginning") + "\n"));
    intrude(&path, &(line("y", Some("x"), "and more") + "\n"));
    writer.branch(Some(&"x".into()), NOW).unwrap();
    say(&mut writer, "on from there");
    assert_says(&writer, &["another beginning", "on from there"]);
}

#[test]
fn a_line_that_another_program_left_torn_is_closed_first() {
    let place = Place::new();
    let (mut writer, path) = begun(&place);
    let two = writer.reader().leaf().unwrap();
    let three = line("x", Some(two.as_str()), "three");
    intrude(&path, &format!("{three}\n{}", &three[..40]));
    say(&mut writer, "four");
    assert_says(&writer, &["one", "two", "three", "four"]);
    assert_eq!(places(&writer.reader().findings()).len(), 1, "the torn line is named");
}

#[test]
fn what_another_program_appends_to_a_torn_line_of_ours_is_read_for_what_it_is() {
    let place = Place::new();
    let disk = FaultyDisk::default();
    let mut writer = place.manager.clone().on_disk(Arc::new(disk.clone())).create(NOW);
    let one = say(&mut writer, "one");
    let path = writer.reader().path().unwrap().to_owned();
    disk.fail_write_after(0, Fault::Short(30));
    writer.append(user("lost"), NOW).unwrap_err();
    intrude(&path, &format!("spoilt\n{}\n", line("x", Some(one.as_str()), "two")));
    say(&mut writer, "three");
    assert_says(&writer, &["one", "two", "three"]);
}

#[test]
fn another_program_that_appends_at_the_same_moment_is_noticed_at_the_next_entry() {
    let place = Place::new();
    let disk = FaultyDisk::default();
    let mut writer = place.manager.clone().on_disk(Arc::new(disk.clone())).create(NOW);
    let one = say(&mut writer, "one");
    disk.fail_write_after(0, Fault::Overtaken(line("x", Some(one.as_str()), "aside") + "\n"));
    say(&mut writer, "two");
    say(&mut writer, "three");
    assert_eq!(writer.take_disturbances().len(), 1);
    assert_says(&writer, &["one", "two", "three"]);
    assert_eq!(writer.reader().entry_count(), 4);
}

#[test]
fn a_log_that_was_removed_is_written_anew_with_everything_in_it() {
    use std::os::unix::fs::PermissionsExt;
    for whole_folder in [false, true] {
        let place = Place::new();
        let (mut writer, path) = begun(&place);
        let before = fs::read(&path).unwrap();
        if whole_folder {
            fs::remove_dir_all(place.sessions()).unwrap();
        } else {
            fs::remove_file(&path).unwrap();
        }
        let reader = writer.reader();
        say(&mut writer, "three");
        let disturbances = writer.take_disturbances();
        assert_eq!(disturbances, [ExternalChange::Gone { path: path.clone() }]);
        assert!(disturbances[0].to_string().contains(&path.display().to_string()));
        assert!(fs::read(&path).unwrap().starts_with(&before));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_says(&writer, &["one", "two", "three"]);
        assert_eq!(texts(&reader), ["one", "two", "three"], "those who read it go on too");
        assert!(matches!(Writer::open(&path), Err(SessionError::Held { .. })), "it is locked");
        say(&mut writer, "four");
        assert_eq!(writer.take_disturbances(), []);
        assert_says(&writer, &["one", "two", "three", "four"]);
    }
}

#[test]
fn a_log_that_was_moved_is_free_where_it_is_and_goes_on_at_its_own_path() {
    let place = Place::new();
    let (mut writer, path) = begun(&place);
    let moved = place.root.path().join("moved.jsonl");
    fs::rename(&path, &moved).unwrap();
    say(&mut writer, "three");
    assert_says(&writer, &["one", "two", "three"]);
    assert_eq!(texts(&Writer::open(&moved).unwrap().reader()), ["one", "two"]);
}

#[test]
fn a_log_that_could_not_be_written_anew_is_tried_again() {
    let place = Place::new();
    let disk = FaultyDisk::default();
    let mut writer = place.manager.clone().on_disk(Arc::new(disk.clone())).create(NOW);
    say(&mut writer, "one");
    let path = writer.reader().path().unwrap().to_owned();
    fs::remove_file(&path).unwrap();
    disk.fail_write_after(0, Fault::Short(20));
    let error = writer.append(user("two"), NOW).unwrap_err();
    assert!(matches!(error, SessionError::Append { .. }), "{error}");
    assert!(!path.exists(), "no part of a log is left");
    say(&mut writer, "two");
    assert_says(&writer, &["one", "two"]);
    assert_eq!(writer.take_disturbances(), [ExternalChange::Gone { path }]);
}

#[test]
fn a_file_in_the_logs_place_is_moved_aside_whole() {
    let place = Place::new();
    let (mut writer, path) = begun(&place);
    let edited = place.root.path().join("edited");
    fs::write(&edited, "somebody's work\n").unwrap();
    fs::rename(&edited, &path).unwrap();
    say(&mut writer, "three");
    let aside = beside(&path);
    assert_eq!(aside.len(), 1);
    assert_eq!(fs::read_to_string(&aside[0]).unwrap(), "somebody's work\n");
    assert!(!aside[0].display().to_string().ends_with(".jsonl"));
    let disturbances = writer.take_disturbances();
    assert_eq!(disturbances, [ExternalChange::Replaced { path: path.clone(), aside: aside[0].clone() }]);
    let told = disturbances[0].to_string();
    assert!(told.contains(&format!("{}:", path.display())) && told.contains(&aside[0].display().to_string()));
    assert_says(&writer, &["one", "two", "three"]);

    // The same millisecond once more: the first one keeps its name.
    fs::write(&edited, "more work\n").unwrap();
    fs::rename(&edited, &path).unwrap();
    say(&mut writer, "four");
    let mut works: Vec<String> = beside(&path).iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    works.sort();
    assert_eq!(works, ["more work\n", "somebody's work\n"]);
}

#[test]
fn a_file_in_the_logs_place_that_another_tiller_writes_to_is_left_to_it() {
    let place = Place::new();
    let (mut writer, path) = begun(&place);
    fs::rename(&path, place.root.path().join("elsewhere")).unwrap();
    fs::write(&path, format!("{HEADER}\n{}\n", line("a", None, "theirs"))).unwrap();
    let mut theirs = Writer::open(&path).unwrap();
    let refused = writer.append(user("three"), NOW).unwrap_err();
    assert!(matches!(refused, SessionError::Held { holder: Some(_), .. }), "{refused}");
    say(&mut theirs, "on");
    assert_says(&theirs, &["theirs", "on"]);
    assert_eq!(theirs.take_disturbances(), []);
    drop(theirs);
    say(&mut writer, "three");
    assert_says(&writer, &["one", "two", "three"]);
    assert_eq!(beside(&path).len(), 1);
}

#[test]
fn a_log_cut_short_is_an_error_that_counts_what_is_lost_and_the_next_entry_follows_what_is_left() {
    let place = Place::new();
    let (mut writer, path) = begun(&place);
    let length = fs::metadata(&path).unwrap().len();
    say(&mut writer, "three");
    // In the middle of a line: what is left of it is one more torn line.
    OpenOptions::new().write(true).open(&path).unwrap().set_len(length - 10).unwrap();
    let error = writer.append(user("four"), NOW).unwrap_err();
    assert!(matches!(&error, SessionError::Cut { lost: 2, aside: None, .. }), "{error}");
    assert!(error.to_string().contains(&path.display().to_string()) && error.hint().is_some(), "{error}");
    assert_says(&writer, &["one"]);
    say(&mut writer, "four");
    assert_says(&writer, &["one", "four"]);
}

#[test]
fn a_log_written_over_with_something_longer_is_an_error_too() {
    let place = Place::new();
    let (mut writer, path) = begun(&place);
    let others = line("x", None, &"long".repeat(1_000));
    fs::write(&path, format!("{HEADER}\n{others}\n")).unwrap();
    let error = writer.append(user("three"), NOW).unwrap_err();
    assert!(matches!(&error, SessionError::Cut { lost: 2, aside: None, .. }), "{error}");
    say(&mut writer, "three");
    assert_says(&writer, &[&"long".repeat(1_000), "three"]);
}

#[test]
fn a_log_written_over_with_other_entries_of_the_same_length_and_more_is_an_error_too() {
    let place = Place::new();
    let (mut writer, path) = begun(&place);
    let two = writer.reader().leaf().unwrap();
    let theirs = "x".repeat(two.as_str().len());
    let text = fs::read_to_string(&path).unwrap().replace(two.as_str(), &theirs);
    fs::write(&path, format!("{text}{}\n", line("y", Some(&theirs), "their three"))).unwrap();
    let error = writer.append(user("four"), NOW).unwrap_err();
    assert!(matches!(&error, SessionError::Cut { lost: 1, aside: None, .. }), "{error}");
    say(&mut writer, "four");
    assert_says(&writer, &["one", "two", "their three", "four"]);
}

#[test]
fn a_log_whose_header_is_lost_makes_way_and_begins_anew() {
    for left in [0, 10] {
        let place = Place::new();
        let (mut writer, path) = begun(&place);
        let id = writer.reader().id().clone();
        OpenOptions::new().write(true).open(&path).unwrap().set_len(left).unwrap();
        let error = writer.append(user("three"), NOW).unwrap_err();
        let SessionError::Cut { lost: 2, aside: Some(aside), .. } = &error else { panic!("{error}") };
        assert_eq!(fs::metadata(aside).unwrap().len(), left);
        assert!(error.to_string().contains(&aside.display().to_string()), "{error}");
        assert_eq!((writer.reader().leaf(), writer.reader().exists()), (None, false));
        say(&mut writer, "three");
        assert_says(&writer, &["three"]);
        assert_eq!((writer.reader().path(), writer.reader().id()), (Some(&*path), &id));
        assert!(matches!(Writer::open(&path), Err(SessionError::Held { .. })));
    }
}
