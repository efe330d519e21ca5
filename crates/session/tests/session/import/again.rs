//! Importing what was imported before.

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

/// The lines of a source, each whole.
fn lines_of(name: &str) -> Vec<String> {
    fs::read_to_string(foreign(name)).unwrap().lines().map(str::to_owned).collect()
}

fn bytes_and_time(path: &Path) -> (Vec<u8>, SystemTime) {
    (fs::read(path).unwrap(), fs::metadata(path).unwrap().modified().unwrap())
}

#[test]
fn a_second_import_changes_neither_the_source_nor_the_session() {
    for name in SOURCES {
        let place = Place::new();
        let source = place.copy(name);
        let before = bytes_and_time(&source);
        let first = place.import(&source);
        let path = first.path.clone().unwrap();
        let session = bytes_and_time(&path);
        let second = place.import(&source);
        assert_eq!(
            (second.status, second.entries, second.path, second.id),
            (ImportStatus::Unchanged, 0, first.path, first.id),
            "{name}"
        );
        assert_eq!(bytes_and_time(&path), session, "{name}");
        assert_eq!(bytes_and_time(&source), before, "{name}");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let folder = path.parent().unwrap();
        assert_eq!(fs::metadata(folder).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(fs::read_dir(folder).unwrap().count(), 1, "nothing else is left in the folder");
    }
}

#[test]
fn a_dry_run_says_the_same_and_writes_nothing() {
    for name in SOURCES {
        let place = Place::new();
        let would = place.importer(ImportMode::DryRun).file(&foreign(name));
        assert!(!place.sessions().exists());
        assert_eq!(would, place.import(&foreign(name)), "{name}");
    }
}

#[test]
fn a_source_that_grew_line_by_line_ends_as_if_it_had_been_imported_whole() {
    for name in SOURCES {
        let place = Place::new();
        let lines = lines_of(name);
        let source = place.source("growing.jsonl", &lines[..1]);
        // Codex's name for it comes from a list beside the log.
        let _ = fs::copy(foreign("codex/session_index.jsonl"), place.root.path().join("session_index.jsonl"));
        let mut statuses = Vec::new();
        for count in 1..=lines.len() {
            place.source("growing.jsonl", &lines[..count]);
            let imported = place.import(&source);
            assert_ne!(imported.status, ImportStatus::Failed, "{name} at {count}: {imported:?}");
            if let Some(path) = &imported.path {
                assert_eq!(Reader::open(path).unwrap().findings(), [], "{name} at {count}");
            }
            statuses.push(imported.status);
        }
        assert!(statuses.contains(&ImportStatus::Updated), "{name}: {statuses:?}");
        let (_, grown) = imported(&place, &source);
        let other = Place::new();
        let (_, whole) = imported(&other, &foreign(name));
        assert_eq!(sent(&grown), sent(&whole), "{name}");
        assert_eq!(grown.name(), whole.name(), "{name}");
    }
}

#[test]
fn what_the_source_gained_follows_what_was_imported() {
    let place = Place::new();
    let lines = lines_of("claude/bees.jsonl");
    let source = place.source("bees.jsonl", &lines[..4]);
    let (first, reader) = imported(&place, &source);
    assert_eq!(sent(&reader).len(), 2);
    place.source("bees.jsonl", &lines);
    let (second, reader) = imported(&place, &source);
    assert_eq!((second.status, &second.path, &second.id), (ImportStatus::Updated, &first.path, &first.id));
    assert_eq!(sent(&reader).len(), 5);
    assert_eq!(reader.tree().branch_count(), 1);
    assert_eq!(second.entries, 7, "two messages, a compaction, two more, the name and the end");
}

#[test]
fn a_session_that_was_gone_on_with_keeps_its_leaf_and_gets_what_is_new_as_a_branch() {
    let place = Place::new();
    let lines = lines_of("claude/bees.jsonl");
    let source = place.source("bees.jsonl", &lines[..4]);
    let path = place.import(&source).path.unwrap();
    let mut writer = Writer::open(&path).unwrap();
    say(&mut writer, "what of hornets?");
    writer.append(EntryBody::SessionInfo { name: Some("mine".into()) }, NOW).unwrap();
    drop(writer);
    touch(&path, 1_795_231_100);
    let before = sent(&Reader::open(&path).unwrap());
    let written = bytes_and_time(&path);
    place.source("bees.jsonl", &lines);
    let (second, reader) = imported(&place, &source);
    assert_eq!(second.status, ImportStatus::Updated);
    assert_eq!(sent(&reader), before);
    assert_eq!(
        before,
        ["user: where do bees live?", "anthropic/claude-pear-4: In hives. (Stop)", "user: what of hornets?"]
    );
    assert_eq!(reader.name().as_deref(), Some("mine"));
    assert!(messages(&reader).contains(&"user: and ants?".to_owned()));
    let (bytes, time) = bytes_and_time(&path);
    assert!(bytes.starts_with(&written.0));
    assert_eq!(time, written.1, "it is as old as what the user did last");
    assert!(notes(&second)[0].2.contains("your place is kept"), "{second:?}");
    // And once more there is nothing to do.
    assert_eq!(place.import(&source).status, ImportStatus::Unchanged);
    assert_eq!(bytes_and_time(&path).0, bytes);
}

#[test]
fn an_older_copy_of_a_log_changes_nothing_and_one_that_only_stepped_back_is_followed() {
    for name in ["claude/bees.jsonl", "pi/pond.jsonl"] {
        let place = Place::new();
        let lines = lines_of(name);
        let path = place.import(&place.source("whole.jsonl", &lines)).path.unwrap();
        let before = bytes_and_time(&path);
        for count in 1..lines.len() {
            let older = place.import(&place.source("older.jsonl", &lines[..count]));
            assert!(
                matches!(older.status, ImportStatus::Unchanged | ImportStatus::Skipped),
                "{name} at {count}: {older:?}"
            );
            assert_eq!(bytes_and_time(&path), before, "{name} at {count}");
        }
    }
    let place = Place::new();
    let mut lines = lines_of("codex/sessions/rollout-mill.jsonl");
    let source = place.source("mill.jsonl", &lines);
    let (_, reader) = imported(&place, &source);
    let before = sent(&reader);
    lines.push(r#"{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}"#.into());
    place.source("mill.jsonl", &lines);
    let (back, reader) = imported(&place, &source);
    assert_eq!((back.status, back.entries), (ImportStatus::Updated, 1));
    assert_eq!(sent(&reader), before[..before.len() - 2]);
}

#[test]
fn an_update_that_is_cut_off_leaves_the_user_at_his_place() {
    for writes in 0..3 {
        let place = Place::new();
        let lines = lines_of("claude/bees.jsonl");
        let source = place.source("bees.jsonl", &lines[..4]);
        let path = place.import(&source).path.unwrap();
        say(&mut Writer::open(&path).unwrap(), "what of hornets?");
        let before = sent(&Reader::open(&path).unwrap());
        place.source("bees.jsonl", &lines);
        let disk = FaultyDisk::default();
        disk.fail_write_after(writes, Fault::Full);
        let manager = place.manager.clone().on_disk(Arc::new(disk));
        let importer = Importer { manager: &manager, only: None, mode: ImportMode::Write, now: NOW };
        let status = importer.file(&source).status;
        assert_eq!(status, if writes == 0 { ImportStatus::Failed } else { ImportStatus::Updated });
        assert_eq!(sent(&Reader::open(&path).unwrap()), before, "after {writes} writes");
    }
}

fn touch(path: &Path, second: u64) {
    let moment = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(second);
    fs::File::options().append(true).open(path).unwrap().set_modified(moment).unwrap();
}

#[test]
fn a_session_that_is_open_elsewhere_is_not_written_to() {
    let place = Place::new();
    let lines = lines_of("claude/bees.jsonl");
    let source = place.source("bees.jsonl", &lines[..4]);
    let path = place.import(&source).path.unwrap();
    let held = Writer::open(&path).unwrap();
    place.source("bees.jsonl", &lines);
    let imported = place.import(&source);
    assert_eq!(imported.status, ImportStatus::Failed);
    assert!(imported.reason.unwrap().contains("another tiller has it open"));
    drop(held);
    assert_eq!(place.import(&source).status, ImportStatus::Updated);
}

#[test]
fn what_a_killed_import_left_is_written_over_and_never_taken_for_a_session() {
    let place = Place::new();
    let source = foreign("claude/bees.jsonl");
    let path = place.importer(ImportMode::DryRun).file(&source).path.unwrap();
    let folder = path.parent().unwrap();
    fs::create_dir_all(folder).unwrap();
    let stem = path.file_stem().unwrap().to_str().unwrap();
    let left = folder.join(format!(".{stem}.importing"));
    fs::write(&left, "{\"type\":\"session\",\"version\":3".repeat(1_000)).unwrap();
    let listing = place.manager.list(tiller_session::SessionScope::Everywhere).unwrap();
    assert_eq!((listing.sessions.len(), listing.unreadable.len()), (0, 0));
    let (_, reader) = imported(&place, &source);
    assert_eq!(sent(&reader).len(), 5);
    assert!(!left.exists());
}

#[test]
fn a_flat_folder_takes_sessions_of_every_directory() {
    let root = TempDir::new().unwrap();
    let manager = SessionManager::new(Placement::Flat(root.path().into()), CWD.into());
    let importer =
        Importer { manager: &manager, only: Some(SourceFormat::Pi), mode: ImportMode::Write, now: NOW };
    let sources = logs_beneath(&foreign("")).logs;
    let statuses: Vec<ImportStatus> = sources.iter().map(|source| importer.file(source).status).collect();
    use ImportStatus::{Failed, Imported, Skipped};
    // Three of Claude's, Codex's list of names, three logs of Codex's, two of pi's.
    assert_eq!(statuses, [Skipped, Skipped, Skipped, Failed, Skipped, Skipped, Skipped, Imported, Imported]);
    assert_eq!(fs::read_dir(root.path()).unwrap().count(), 2);
}
