//! Tests of disk failures at every write of a session.

use tiller_session::{AppendedEntry, SessionError};
use tiller_test_support::faulty_disk::{Fault, FaultyDisk};

use super::*;

/// Number of writes of [`run_step`].
const STEPS: usize = 6;

/// Makes one of the writes: messages, a branch, a label.
fn run_step(writer: &mut Writer, step: usize) -> Result<Vec<AppendedEntry>, SessionError> {
    let first = writer.reader().tree().nodes().first().map(|node| node.id.clone());
    match step {
        0 => writer.append(user("one"), NOW),
        3 => writer.branch(first.as_ref(), NOW),
        4 => {
            let label = Some("here".to_owned());
            writer.append(EntryBody::Label { target_id: first.unwrap(), label }, NOW)
        }
        step => writer.append(user(&format!("step {step}")), NOW),
    }
}

fn faulty(sandbox: &Sandbox) -> (FaultyDisk, SessionManager) {
    let disk = FaultyDisk::default();
    (disk.clone(), sandbox.manager.clone().with_fs(Arc::new(disk)))
}

/// The state of a log in memory, to compare with its file.
fn contents(reader: &Reader) -> (Vec<Entry>, Option<EntryId>, Vec<(u64, u64)>) {
    (entries_of(reader), reader.leaf(), positions(&reader.findings()))
}

/// Asserts that memory and a fresh reader of the file agree.
#[track_caller]
fn assert_equals_file(writer: &Writer) {
    let reader = writer.reader();
    match Reader::open(reader.path().unwrap()) {
        Ok(reopened) => assert_eq!(contents(&reader), contents(&reopened)),
        Err(_) => assert_eq!((reader.exists(), reader.entry_count()), (false, 0)),
    }
}

fn bytes(writer: &Writer) -> Vec<u8> {
    fs::read(writer.reader().path().unwrap()).unwrap_or_default()
}

/// Makes all writes with one of them failing, and asserts that nothing else is lost.
#[track_caller]
fn run_with_fault(fault: &Fault, failing: usize) {
    let sandbox = Sandbox::new();
    let (disk, manager) = faulty(&sandbox);
    let mut writer = manager.create(NOW);
    for step in 0..STEPS {
        let (before, known_before) = (bytes(&writer), writer.reader().entry_count());
        if step == failing {
            disk.fail_write_after(0, fault.clone());
            let error = run_step(&mut writer, step).unwrap_err();
            let path = writer.reader().path().unwrap().display().to_string();
            assert!(error.to_string().contains(&path) && error.hint().is_some(), "{error}");
            assert!(std::error::Error::source(&error).is_some(), "it says why");
            assert_eq!(writer.reader().entry_count(), known_before, "it is not in the tree");
            assert!(bytes(&writer).starts_with(&before), "what was written before is as it was");
            assert_equals_file(&writer);
        }
        let is_torn = bytes(&writer).last().is_some_and(|last| *last != b'\n');
        let torn_at = bytes(&writer).len();
        assert_eq!(run_step(&mut writer, step).unwrap().len(), 1);
        assert!(!is_torn || bytes(&writer)[torn_at] == b'\n', "a partial line is closed first");
        assert!(bytes(&writer).starts_with(&before));
        assert_equals_file(&writer);
    }
    assert_eq!(writer.reader().entry_count(), STEPS);
    let path = writer.reader().path().unwrap().to_owned();
    let expected = contents(&writer.reader());
    drop(writer);
    assert_eq!(contents(&manager.open(&path).unwrap().reader()), expected);
}

#[test]
fn writer_disk_error_costs_only_the_entry() {
    for failing in 0..STEPS {
        run_with_fault(&Fault::Full, failing);
        run_with_fault(&Fault::Broken, failing);
    }
}

#[test]
fn writer_short_write_costs_only_the_line() {
    /// Lengths around closing braces.
    const END: usize = 16;
    for failing in 0..STEPS {
        // A line that lacks only its newline is complete, which another test covers.
        let max = line_length(failing) - 1;
        let lengths = (0..max).filter(|length| length % 7 == 0 || length + END > max);
        for length in lengths {
            run_with_fault(&Fault::Short(length), failing);
            run_with_fault(&Fault::BrokenAfter(length), failing);
        }
    }
}

/// Length of the line that a step writes, with its newline.
fn line_length(step: usize) -> usize {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.manager.create(NOW);
    (0..step).for_each(|step| drop(run_step(&mut writer, step).unwrap()));
    let before = if step == 0 { 0 } else { bytes(&writer).len() };
    run_step(&mut writer, step).unwrap();
    bytes(&writer).len() - before
}

#[test]
fn writer_line_missing_newline_is_kept() {
    for step in 1..STEPS {
        let sandbox = Sandbox::new();
        let (disk, manager) = faulty(&sandbox);
        let mut writer = manager.create(NOW);
        (0..step).for_each(|step| drop(run_step(&mut writer, step).unwrap()));
        disk.fail_write_after(0, Fault::Short(line_length(step) - 1));
        let appended = run_step(&mut writer, step).unwrap();
        assert_eq!(writer.reader().leaf().as_ref(), Some(&appended[0].id));
        assert_equals_file(&writer);
        append_user(&mut writer, "after it");
        assert_eq!((writer.reader().entry_count(), writer.reader().findings()), (step + 2, vec![]));
        assert_equals_file(&writer);
    }
}

#[test]
fn writer_repeated_failures_lose_nothing() {
    let sandbox = Sandbox::new();
    let (disk, manager) = faulty(&sandbox);
    let mut writer = manager.create(NOW);
    append_user(&mut writer, "one");
    for length in [40, 0, 1, 7, 3] {
        disk.fail_write_after(0, Fault::Short(length));
        assert!(writer.append(user("lost"), NOW).is_err());
        disk.fail_write_after(0, Fault::Full);
        assert!(writer.append(user("lost"), NOW).is_err());
        assert_equals_file(&writer);
    }
    append_user(&mut writer, "two");
    assert_eq!(texts(&writer.reader()), ["one", "two"]);
    assert_equals_file(&writer);
}

#[test]
fn writer_unsynced_dir_is_retried() {
    let sandbox = Sandbox::new();
    let (disk, manager) = faulty(&sandbox);
    let mut writer = manager.create(NOW);
    disk.fail_dir_syncs(true);
    let error = writer.append(user("one"), NOW).unwrap_err();
    let dir = writer.reader().path().unwrap().parent().unwrap().display().to_string();
    assert!(matches!(error, SessionError::Sync { .. }) && error.to_string().contains(&dir), "{error}");
    assert!(error.hint().is_some());
    assert!(!writer.reader().exists() && bytes(&writer).is_empty());
    disk.fail_dir_syncs(false);
    append_user(&mut writer, "one");
    assert_eq!(texts(&Reader::open(writer.reader().path().unwrap()).unwrap()), ["one"]);
}

#[test]
fn sync_failure_is_reported() {
    let sandbox = Sandbox::new();
    let (disk, manager) = faulty(&sandbox);
    let mut writer = manager.create(NOW);
    append_user(&mut writer, "one");
    disk.fail_syncs(true);
    assert!(tiller_session::sync(&*writer.file().unwrap()).is_err());
    append_user(&mut writer, "two");
    disk.fail_syncs(false);
    tiller_session::sync(&*writer.file().unwrap()).unwrap();
    assert_eq!((disk.syncs(), disk.dir_syncs()), (2, 1));
    assert_equals_file(&writer);
}

#[test]
fn writer_entry_is_one_write() {
    let sandbox = Sandbox::new();
    let (disk, manager) = faulty(&sandbox);
    let mut writer = manager.create(NOW);
    writer.append(EntryBody::SessionInfo { name: Some("n".into()) }, NOW).unwrap();
    assert_eq!(disk.writes(), 0);
    for step in 0..STEPS {
        run_step(&mut writer, step).unwrap();
        assert_eq!(disk.writes(), step + 1);
    }
    let path = writer.reader().path().unwrap().to_owned();
    drop(writer);
    let mut writer = manager.open(&path).unwrap();
    assert_eq!(disk.writes(), STEPS);
    append_user(&mut writer, "on");
    assert_eq!(disk.writes(), STEPS + 1);
}
