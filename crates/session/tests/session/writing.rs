//! Tests of creating and appending to a log.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use tiller_session::{EntryKind, SessionScope};

use super::*;

fn model_change() -> EntryBody {
    EntryBody::ModelChange { provider: "demo".into(), model_id: "m".into() }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn writer_no_file_before_first_prompt() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    assert!(writer.append(model_change(), NOW).unwrap().is_empty());
    assert!(writer.append(EntryBody::SessionInfo { name: Some("n".into()) }, NOW).unwrap().is_empty());
    assert!(!sandbox.sessions().exists());
    assert!(!writer.reader().exists());
    assert_eq!((writer.reader().leaf(), writer.reader().entry_count()), (None, 0));

    let appended = writer.append(user("hello"), NOW).unwrap();
    let kinds: Vec<EntryKind> = writer.reader().tree().nodes().iter().map(|node| node.kind).collect();
    assert_eq!(kinds, [EntryKind::ModelChange, EntryKind::SessionInfo, EntryKind::Message]);
    assert_eq!(appended.len(), 3);
    assert_eq!(writer.reader().leaf().as_ref(), Some(&appended[2].id));
    assert_eq!(writer.reader().name().as_deref(), Some("n"));
}

#[test]
fn writer_without_dir_names_it() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.sessions(), "a file").unwrap();
    let mut writer = sandbox.create();
    let dir = writer.reader().path().unwrap().parent().unwrap().to_owned();
    let error = writer.append(user("hello"), NOW).unwrap_err();
    assert_eq!(error.to_string(), format!("can't create the directory {}", dir.display()));
}

#[test]
fn writer_bang_command_makes_file() {
    use tiller_session::entry::TillerEntry;
    let mut writer = Sandbox::new().create();
    let started = TillerEntry::Bash { command: "ls".into(), exclude: true };
    assert_eq!(writer.append(EntryBody::from_tiller(&started), NOW).unwrap().len(), 1);
    assert!(writer.reader().exists());
}

#[test]
fn writer_branch_to_root_makes_no_file() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    writer.append(model_change(), NOW).unwrap();
    assert!(writer.branch(None, NOW).unwrap().is_empty());
    assert!(!sandbox.sessions().exists());
    assert_eq!(writer.append(user("hello"), NOW).unwrap().len(), 2);
    assert_eq!(Reader::open(writer.reader().path().unwrap()).unwrap().entry_count(), 2);
}

/// Number of write calls of this thread so far.
#[cfg(target_os = "linux")]
fn write_calls() -> u64 {
    let counts = fs::read_to_string("/proc/thread-self/io").unwrap();
    counts.lines().find_map(|line| line.strip_prefix("syscw: ")).unwrap().parse().unwrap()
}

#[test]
#[cfg(target_os = "linux")]
fn writer_long_entry_is_one_write_call() {
    let mut writer = Sandbox::new().create();
    append_user(&mut writer, "hello");
    let before = write_calls();
    append_user(&mut writer, &"long".repeat(100_000));
    assert_eq!(write_calls() - before, 1);
}

#[test]
#[cfg(target_os = "linux")]
fn writer_append_all_is_one_write() {
    let mut writer = Sandbox::new().create();
    let first = append_user(&mut writer, "hello");
    let before = write_calls();
    let appended = writer.append_all(vec![model_change(), user("one"), user("two")], NOW).unwrap();
    assert_eq!(write_calls() - before, 1);
    let ids: Vec<EntryId> =
        std::iter::once(first).chain(appended.into_iter().map(|entry| entry.id)).collect();
    assert_eq!(writer.reader().path_to(&ids[3]).unwrap(), ids);
}

#[test]
fn writer_new_file_is_private_and_named_by_time() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    append_user(&mut writer, "hello");
    let dir = only_file(&sandbox.sessions());
    let file = only_file(&dir);
    let id = writer.reader().id().clone();
    assert_eq!(dir.file_name().unwrap(), "--home-dev-project--");
    assert_eq!(file.file_name().unwrap().to_str().unwrap(), format!("2026-11-21T03-16-58-249Z_{id}.jsonl"));
    assert_eq!(writer.reader().path(), Some(&*file));
    assert_eq!((mode(&sandbox.sessions()), mode(&dir), mode(&file)), (0o700, 0o700, 0o600));
}

#[test]
fn writer_header_key_order() {
    let mut writer = Sandbox::new().create();
    let entry = append_user(&mut writer, "hello");
    let text = fs::read_to_string(writer.reader().path().unwrap()).unwrap();
    let id = writer.reader().id().clone();
    assert_eq!(
        text,
        format!(
            "{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"timestamp\":\"2026-11-21T03:16:58.249Z\",\"cwd\":\"{CWD}\"}}\n\
             {{\"type\":\"message\",\"id\":\"{entry}\",\"parentId\":null,\"timestamp\":\"2026-11-21T03:16:58.249Z\",\"message\":{{\"role\":\"user\",\"content\":\"hello\",\"timestamp\":1795231018249}}}}\n"
        )
    );
}

#[test]
fn writer_ids_grow_across_processes() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    let mut ids = vec![writer.reader().id().to_string()];
    let path = sandbox.sessions();
    ids.push(append_user(&mut writer, "one").to_string());
    ids.push(writer.append(user("two"), UnixMs(NOW.0 - 60_000)).unwrap()[0].id.to_string());
    let path = writer.reader().path().map_or(path, Path::to_path_buf);
    drop(writer);
    let mut writer = Writer::open(&path).unwrap();
    ids.push(writer.append(user("three"), UnixMs(NOW.0 - 60_000)).unwrap()[0].id.to_string());
    assert!(ids.iter().all(|id| ulid::Ulid::from_string(id).is_ok()), "{ids:?}");
    assert!(ids.is_sorted_by(|a, b| a < b), "{ids:?}");
}

#[test]
fn writer_ids_follow_newest_ulid_in_log() {
    let sandbox = Sandbox::new();
    // In the year 2039.
    let newest = "01ZZZZZZZZZZZZZZZZZZZZZZZZ";
    for foreign_id in
        ["zzzzzzzzzzzzzzzzzzzzzzzzzz", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "not-a-ulid-of-26-letters!!"]
    {
        let path = sandbox.log(&[&line(newest, None, "a"), &line(foreign_id, Some(newest), "b")]);
        let mut writer = Writer::open(&path).unwrap();
        let (first, second) = (append_user(&mut writer, "c"), append_user(&mut writer, "d"));
        assert!(newest < first.as_str() && first < second, "{foreign_id}: {first} {second}");
        assert_ne!(first.as_str(), foreign_id);
    }
}

#[test]
fn writer_entries_round_trip() {
    let mut writer = Sandbox::new().create();
    let first = append_user(&mut writer, "line one\nline two \u{2028} \u{0} \"quoted\" ü \u{1f980}");
    let appended = writer.append(model_change(), NOW).unwrap().remove(0);
    let path = writer.reader().path().unwrap().to_owned();
    let text = fs::read_to_string(&path).unwrap();
    let lines: Vec<&str> = text.strip_suffix('\n').unwrap().split('\n').collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[2], appended.line.get());
    let mut value: Value = serde_json::from_str(lines[2]).unwrap();
    assert_eq!(value["id"].take(), json!(appended.id));
    assert_eq!(
        value,
        json!({"type": "model_change", "id": null, "parentId": first, "timestamp": NOW.to_iso(),
               "provider": "demo", "modelId": "m"})
    );
    let expected = [
        Entry {
            id: first.clone(),
            parent: None,
            timestamp: NOW,
            body: user("line one\nline two \u{2028} \u{0} \"quoted\" ü \u{1f980}"),
        },
        Entry { id: appended.id, parent: Some(first), timestamp: NOW, body: model_change() },
    ];
    assert_eq!(entries_of(&writer.reader()), expected);
    assert_eq!(entries_of(&Reader::open(&path).unwrap()), expected);
}

#[test]
fn writer_newer_version_is_refused() {
    let sandbox = Sandbox::new();
    let newer = HEADER.replace(r#""version":3"#, r#""version":4"#);
    let path = sandbox.file(format!("{newer}\n{}\n", line("a", None, "hello")));
    let before = fs::read(&path).unwrap();
    assert_eq!(texts(&Reader::open(&path).unwrap()), ["hello"]);
    let error = Writer::open(&path).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "session file {}: log version 4 can't be written; this version of tiller writes version 3",
            path.display()
        )
    );
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn writer_in_memory_makes_no_file() {
    let sandbox = Sandbox::new();
    let manager = SessionManager::new(Placement::Memory, CWD.into());
    let mut writer = manager.create(NOW);
    assert!(writer.append(model_change(), NOW).unwrap().is_empty());
    let first = append_user(&mut writer, "one");
    append_user(&mut writer, "two");
    writer.branch(Some(&first), NOW).unwrap();
    append_user(&mut writer, "three");
    let reader = writer.reader();
    assert_eq!((reader.path(), reader.header().cwd.as_str()), (None, CWD));
    assert_eq!(texts(&reader), ["one", "three"]);
    assert_eq!(texts(&manager.fork(&reader, Some(&first), NOW).unwrap().reader()), ["one"]);
    assert_eq!(manager.list(SessionScope::Everywhere).unwrap().sessions, []);
    assert!(!sandbox.sessions().exists());
}
