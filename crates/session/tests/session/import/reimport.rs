//! Tests of repeated imports.

use std::os::unix::fs::PermissionsExt;

use tiller_test_support::faulty_disk::{Fault, FaultyDisk};

use super::*;

const SOURCES: [&str; 6] = [
    "claude/orchard.jsonl",
    "claude/bees.jsonl",
    "codex/sessions/rollout-mill.jsonl",
    "codex/sessions/rollout-hello.jsonl",
    "pi/pond.jsonl",
    "pi/damaged.jsonl",
];

/// The lines of a source.
fn lines_of(name: &str) -> Vec<String> {
    fs::read_to_string(foreign(name)).unwrap().lines().map(str::to_owned).collect()
}

fn bytes_and_time(path: &Path) -> (Vec<u8>, SystemTime) {
    (fs::read(path).unwrap(), fs::metadata(path).unwrap().modified().unwrap())
}

#[test]
fn reimport_unchanged_source_changes_nothing() {
    for name in SOURCES {
        let sandbox = Sandbox::new();
        let source = sandbox.copy(name);
        let before = bytes_and_time(&source);
        let first = sandbox.import(&source);
        let path = first.path.clone().unwrap();
        let session = bytes_and_time(&path);
        let second = sandbox.import(&source);
        assert_eq!(
            (second.status, second.entries, second.path, second.id),
            (ImportStatus::Unchanged, 0, first.path, first.id),
            "{name}"
        );
        assert_eq!(bytes_and_time(&path), session, "{name}");
        assert_eq!(bytes_and_time(&source), before, "{name}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let dir = path.parent().unwrap();
        assert_eq!(fs::metadata(dir).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(dir).unwrap().count(), 1, "nothing else is left in the directory");
    }
}

#[test]
fn dry_run_reports_and_writes_nothing() {
    for name in SOURCES {
        let sandbox = Sandbox::new();
        let planned = sandbox.importer(ImportMode::DryRun).file(&foreign(name));
        assert!(!sandbox.sessions().exists());
        assert_eq!(planned, sandbox.import(&foreign(name)), "{name}");
    }
}

#[test]
fn reimport_line_by_line_equals_whole_import() {
    for name in SOURCES {
        let sandbox = Sandbox::new();
        let lines = lines_of(name);
        let source = sandbox.source("growing.jsonl", &lines[..1]);
        // Codex's session names come from a list next to the log.
        let _ =
            fs::copy(foreign("codex/session_index.jsonl"), sandbox.root.path().join("session_index.jsonl"));
        let mut statuses = Vec::new();
        for count in 1..=lines.len() {
            sandbox.source("growing.jsonl", &lines[..count]);
            let imported = sandbox.import(&source);
            assert_ne!(imported.status, ImportStatus::Failed, "{name} at {count}: {imported:?}");
            if let Some(path) = &imported.path {
                assert_eq!(Reader::open(path).unwrap().findings(), [], "{name} at {count}");
            }
            statuses.push(imported.status);
        }
        assert!(statuses.contains(&ImportStatus::Updated), "{name}: {statuses:?}");
        let (_, reader) = import_source(&sandbox, &source);
        let second_sandbox = Sandbox::new();
        let (_, expected) = import_source(&second_sandbox, &foreign(name));
        assert_eq!(request(&reader), request(&expected), "{name}");
        assert_eq!(reader.name(), expected.name(), "{name}");
    }
}

#[test]
fn reimport_new_lines_follow_earlier_ones() {
    let sandbox = Sandbox::new();
    let lines = lines_of("claude/bees.jsonl");
    let source = sandbox.source("bees.jsonl", &lines[..4]);
    let (first, reader) = import_source(&sandbox, &source);
    assert_eq!(request(&reader).len(), 2);
    sandbox.source("bees.jsonl", &lines);
    let (second, reader) = import_source(&sandbox, &source);
    assert_eq!((second.status, &second.path, &second.id), (ImportStatus::Updated, &first.path, &first.id));
    assert_eq!(request(&reader).len(), 5);
    assert_eq!(reader.tree().branch_count(), 1);
    assert_eq!(second.entries, 7, "two messages, a compaction, two more, the name and the end");
}

#[test]
fn reimport_continued_session_keeps_leaf() {
    let sandbox = Sandbox::new();
    let lines = lines_of("claude/bees.jsonl");
    let source = sandbox.source("bees.jsonl", &lines[..4]);
    let path = sandbox.import(&source).path.unwrap();
    let mut writer = Writer::open(&path).unwrap();
    append_user(&mut writer, "what of hornets?");
    writer.append(EntryBody::SessionInfo { name: Some("mine".into()) }, NOW).unwrap();
    drop(writer);
    touch(&path, 1_795_231_100);
    let before = request(&Reader::open(&path).unwrap());
    let bytes_before = bytes_and_time(&path);
    sandbox.source("bees.jsonl", &lines);
    let (second, reader) = import_source(&sandbox, &source);
    assert_eq!(second.status, ImportStatus::Updated);
    assert_eq!(request(&reader), before);
    assert_eq!(
        before,
        ["user: where do bees live?", "anthropic/claude-pear-4: In hives. (Stop)", "user: what of hornets?"]
    );
    assert_eq!(reader.name().as_deref(), Some("mine"));
    assert!(messages(&reader).contains(&"user: and ants?".to_owned()));
    let (bytes, time) = bytes_and_time(&path);
    assert!(bytes.starts_with(&bytes_before.0));
    assert_eq!(time, bytes_before.1, "it is as old as what the user did last");
    assert!(warnings(&second)[0].2.contains("your position is kept"), "{second:?}");
    // A third import changes nothing.
    assert_eq!(sandbox.import(&source).status, ImportStatus::Unchanged);
    assert_eq!(bytes_and_time(&path).0, bytes);
}

#[test]
fn reimport_older_copy_changes_nothing() {
    for name in ["claude/bees.jsonl", "pi/pond.jsonl"] {
        let sandbox = Sandbox::new();
        let lines = lines_of(name);
        let path = sandbox.import(&sandbox.source("whole.jsonl", &lines)).path.unwrap();
        let bytes_before = bytes_and_time(&path);
        for count in 1..lines.len() {
            let older = sandbox.import(&sandbox.source("older.jsonl", &lines[..count]));
            assert!(
                matches!(older.status, ImportStatus::Unchanged | ImportStatus::Skipped),
                "{name} at {count}: {older:?}"
            );
            assert_eq!(bytes_and_time(&path), bytes_before, "{name} at {count}");
        }
    }
    let sandbox = Sandbox::new();
    let mut lines = lines_of("codex/sessions/rollout-mill.jsonl");
    let source = sandbox.source("mill.jsonl", &lines);
    let (_, reader) = import_source(&sandbox, &source);
    let before = request(&reader);
    lines.push(r#"{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}"#.into());
    sandbox.source("mill.jsonl", &lines);
    let (back, reader) = import_source(&sandbox, &source);
    assert_eq!((back.status, back.entries), (ImportStatus::Updated, 1));
    assert_eq!(request(&reader), before[..before.len() - 2]);
}

#[test]
fn reimport_interrupted_update_keeps_leaf() {
    for writes in 0..3 {
        let sandbox = Sandbox::new();
        let lines = lines_of("claude/bees.jsonl");
        let source = sandbox.source("bees.jsonl", &lines[..4]);
        let path = sandbox.import(&source).path.unwrap();
        append_user(&mut Writer::open(&path).unwrap(), "what of hornets?");
        let before = request(&Reader::open(&path).unwrap());
        sandbox.source("bees.jsonl", &lines);
        let disk = FaultyDisk::default();
        disk.fail_write_after(writes, Fault::Full);
        let manager = sandbox.manager.clone().with_fs(Arc::new(disk));
        let importer = Importer { manager: &manager, only: None, mode: ImportMode::Write, now: NOW };
        let status = importer.file(&source).status;
        assert_eq!(status, if writes == 0 { ImportStatus::Failed } else { ImportStatus::Updated });
        assert_eq!(request(&Reader::open(&path).unwrap()), before, "after {writes} writes");
    }
}

fn touch(path: &Path, second: u64) {
    let time = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(second);
    fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
}

#[test]
fn reimport_locked_session_is_refused() {
    let sandbox = Sandbox::new();
    let lines = lines_of("claude/bees.jsonl");
    let source = sandbox.source("bees.jsonl", &lines[..4]);
    let path = sandbox.import(&source).path.unwrap();
    let writer = Writer::open(&path).unwrap();
    sandbox.source("bees.jsonl", &lines);
    let imported = sandbox.import(&source);
    assert_eq!(imported.status, ImportStatus::Failed);
    assert!(imported.reason.unwrap().contains("another tiller process has it open"));
    drop(writer);
    assert_eq!(sandbox.import(&source).status, ImportStatus::Updated);
}

#[test]
fn import_partial_file_is_overwritten() {
    let sandbox = Sandbox::new();
    let source = foreign("claude/bees.jsonl");
    let path = sandbox.importer(ImportMode::DryRun).file(&source).path.unwrap();
    let dir = path.parent().unwrap();
    fs::create_dir_all(dir).unwrap();
    let stem = path.file_stem().unwrap().to_str().unwrap();
    let partial_file = dir.join(format!(".{stem}.importing"));
    fs::write(&partial_file, "{\"type\":\"session\",\"version\":3".repeat(1_000)).unwrap();
    let listing = sandbox.manager.list(tiller_session::SessionScope::Everywhere).unwrap();
    assert_eq!((listing.sessions.len(), listing.unreadable.len()), (0, 0));
    let (_, reader) = import_source(&sandbox, &source);
    assert_eq!(request(&reader).len(), 5);
    assert!(!partial_file.exists());
}

#[test]
fn import_flat_dir_takes_all_directories() {
    let root = TempDir::new().unwrap();
    let manager = SessionManager::new(Placement::Flat(root.path().into()), CWD.into());
    let importer =
        Importer { manager: &manager, only: Some(SourceFormat::Pi), mode: ImportMode::Write, now: NOW };
    let sources = find_logs(&foreign("")).logs;
    let statuses: Vec<ImportStatus> = sources.iter().map(|source| importer.file(source).status).collect();
    use ImportStatus::{Failed, Imported, Skipped};
    // Three logs of Claude Code, Codex's list of names, three logs of Codex, two of pi.
    assert_eq!(statuses, [Skipped, Skipped, Skipped, Failed, Skipped, Skipped, Skipped, Imported, Imported]);
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2);
}
