//! The folder of sessions: listing and finding.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use tiller_session::{SessionList, SessionScope};

use super::*;

/// A session with one message, last written to at `second`.
fn session(manager: &SessionManager, text: &str, second: u64) -> PathBuf {
    let mut writer = manager.create(NOW);
    say(&mut writer, text);
    let path = writer.reader().path().unwrap().to_owned();
    touch(&path, second);
    path
}

fn touch(path: &Path, second: u64) {
    let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
    fs::File::options().append(true).open(path).unwrap().set_modified(moment).unwrap();
}

fn prompts(listing: &SessionList) -> Vec<&str> {
    listing.sessions.iter().filter_map(|session| session.first_prompt.as_deref()).collect()
}

#[test]
fn the_session_written_to_last_comes_first() {
    let place = Place::new();
    session(&place.manager, "middle", 200);
    session(&place.manager, "oldest", 100);
    let newest = session(&place.manager, "newest", 300);
    assert_eq!(
        prompts(&place.manager.list(SessionScope::ThisDirectory).unwrap()),
        ["newest", "middle", "oldest"]
    );
    assert_eq!(place.manager.most_recent().unwrap().as_ref(), Some(&newest));
    let summary = place.manager.list(SessionScope::ThisDirectory).unwrap().sessions.remove(0);
    assert_eq!((&summary.path, summary.entries, summary.modified), (&newest, 1, UnixMs(300_000)));
    assert_eq!((summary.name.as_deref(), summary.cwd.as_str()), (None, CWD));
}

#[test]
fn an_empty_folder_and_none_at_all_have_no_sessions() {
    let place = Place::new();
    assert_eq!(place.manager.list(SessionScope::Everywhere).unwrap().sessions, []);
    assert_eq!(place.manager.most_recent().unwrap(), None);
    fs::create_dir(place.sessions()).unwrap();
    assert_eq!(place.manager.most_recent().unwrap(), None);
}

#[test]
fn look_ups_go_by_the_headers_directory_not_by_the_folders_name() {
    let place = Place::new();
    // Both directories' folders have the same name.
    let (dash, slash) = (place.manager_of("/home/dev-project"), place.manager_of(CWD));
    session(&dash, "dash", 200);
    let path = session(&slash, "slash", 100);
    assert_eq!(fs::read_dir(place.sessions()).unwrap().count(), 1);
    assert_eq!(prompts(&dash.list(SessionScope::ThisDirectory).unwrap()), ["dash"]);
    assert_eq!(prompts(&slash.list(SessionScope::ThisDirectory).unwrap()), ["slash"]);
    assert_eq!(prompts(&slash.list(SessionScope::Everywhere).unwrap()), ["dash", "slash"]);
    assert_eq!(slash.most_recent().unwrap(), Some(path));
}

#[test]
fn a_flat_folder_holds_the_sessions_of_all_directories() {
    let root = TempDir::new().unwrap();
    let flat = |cwd: &str| SessionManager::new(Placement::Flat(root.path().into()), cwd.into());
    let path = session(&flat("/a"), "in a", 100);
    session(&flat("/b"), "in b", 200);
    assert_eq!(path.parent(), Some(root.path()));
    assert_eq!(prompts(&flat("/a").list(SessionScope::ThisDirectory).unwrap()), ["in a"]);
    assert_eq!(prompts(&flat("/a").list(SessionScope::Everywhere).unwrap()), ["in b", "in a"]);
}

#[test]
fn a_directory_whose_name_is_no_unicode_finds_its_sessions_again() {
    let root = TempDir::new().unwrap();
    let cwd = PathBuf::from(OsStr::from_bytes(b"/home/caf\xe9"));
    let manager = SessionManager::new(Placement::ByDirectory(root.path().into()), cwd);
    session(&manager, "hello", 100);
    assert_eq!(prompts(&manager.list(SessionScope::ThisDirectory).unwrap()), ["hello"]);
}

#[test]
fn files_without_a_readable_header_are_passed_over_and_reported() {
    let place = Place::new();
    let good = session(&place.manager, "good", 100);
    let folder = good.parent().unwrap();
    fs::write(folder.join("torn.jsonl"), r#"{"type":"sess"#).unwrap();
    fs::write(folder.join("notes.txt"), "no log at all").unwrap();
    fs::create_dir(folder.join("folder.jsonl")).unwrap();
    let listing = place.manager.list(SessionScope::ThisDirectory).unwrap();
    assert_eq!(prompts(&listing), ["good"]);
    let mut reported: Vec<String> = listing.unreadable.iter().map(ToString::to_string).collect();
    reported.sort();
    assert_eq!(reported.len(), 2, "{reported:?}");
    assert!(
        reported[0].contains("folder.jsonl") && reported[1].contains("torn.jsonl, line 1: "),
        "{reported:?}"
    );
}

#[test]
fn a_session_is_found_by_path_id_beginning_or_end() {
    let place = Place::new();
    let path = session(&place.manager, "one", 100);
    let id = Reader::open(&path).unwrap().id().to_string();
    for words in [path.to_str().unwrap(), &id, &id[..id.len() - 1], &id[id.len() - 6..], &id.to_lowercase()] {
        assert_eq!(place.manager.find(words).unwrap(), path, "{words}");
    }
    // A session of another directory is found as well.
    assert_eq!(place.manager_of("/elsewhere").find(&id).unwrap(), path);
}

#[test]
fn words_that_name_no_session_or_several_say_so() {
    let place = Place::new();
    let folder = place.sessions().join("--x--");
    fs::create_dir_all(&folder).unwrap();
    for id in ["abcd1", "abcd12", "abcd3"] {
        let header = HEADER.replace(r#""id":"s1""#, &format!(r#""id":"{id}""#));
        fs::write(folder.join(format!("{id}.jsonl")), format!("{header}\n")).unwrap();
    }
    let refused = |words: &str| place.manager.find(words).unwrap_err().to_string();
    assert_eq!(refused("abcd"), "`abcd` names 3 sessions; give more of the id");
    assert_eq!(refused("nope"), "no session's id begins or ends with `nope`");
    assert_eq!(refused("abc"), "`abc` is too short for a part of an id; give 4 characters or more");
    assert_eq!(refused("gone.jsonl"), "there is no session file gone.jsonl");
    // The whole id of one is the beginning of another's.
    assert_eq!(place.manager.find("abcd1").unwrap(), folder.join("abcd1.jsonl"));
}

#[test]
fn a_folder_that_cannot_be_listed_costs_itself_alone() {
    let place = Place::new();
    let path = session(&place.manager, "good", 100);
    let id = Reader::open(&path).unwrap().id().to_string();
    let closed = place.sessions().join("--closed--");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, Permissions::from_mode(0o000)).unwrap();
    let listing = place.manager.list(SessionScope::Everywhere).unwrap();
    assert_eq!(prompts(&listing), ["good"]);
    if fs::read_dir(&closed).is_ok() {
        // Nothing is closed to root.
        return;
    }
    let reported: Vec<String> = listing.unreadable.iter().map(ToString::to_string).collect();
    assert!(reported.len() == 1 && reported[0].contains("--closed--: can't be listed"), "{reported:?}");
    assert_eq!(place.manager.most_recent().unwrap().as_ref(), Some(&path));
    assert_eq!(place.manager.find(&id).unwrap(), path);
}
