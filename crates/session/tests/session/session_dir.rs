//! Tests of the session directory: listing and finding.

use std::ffi::OsStr;
use std::fs::Permissions;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use tiller_session::{SessionList, SessionScope};

use super::*;

/// Creates a session with one message and this modification time in seconds.
fn session(manager: &SessionManager, text: &str, second: u64) -> PathBuf {
    let mut writer = manager.create(NOW);
    append_user(&mut writer, text);
    let path = writer.reader().path().unwrap().to_owned();
    touch(&path, second);
    path
}

fn touch(path: &Path, second: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
    fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
}

fn prompts(listing: &SessionList) -> Vec<&str> {
    listing.sessions.iter().filter_map(|session| session.first_prompt.as_deref()).collect()
}

#[test]
fn list_is_sorted_by_modification_time() {
    let sandbox = Sandbox::new();
    session(&sandbox.manager, "middle", 200);
    session(&sandbox.manager, "oldest", 100);
    let newest = session(&sandbox.manager, "newest", 300);
    assert_eq!(
        prompts(&sandbox.manager.list(SessionScope::ThisDirectory).unwrap()),
        ["newest", "middle", "oldest"]
    );
    assert_eq!(sandbox.manager.most_recent().unwrap().as_ref(), Some(&newest));
    let summary = sandbox.manager.list(SessionScope::ThisDirectory).unwrap().sessions.remove(0);
    assert_eq!((&summary.path, summary.entries, summary.modified), (&newest, 1, UnixMs(300_000)));
    assert_eq!((summary.name.as_deref(), summary.cwd.as_str()), (None, CWD));
}

#[test]
fn list_empty_or_missing_dir_is_empty() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.manager.list(SessionScope::Everywhere).unwrap().sessions, []);
    assert_eq!(sandbox.manager.most_recent().unwrap(), None);
    fs::create_dir(sandbox.sessions()).unwrap();
    assert_eq!(sandbox.manager.most_recent().unwrap(), None);
}

#[test]
fn list_goes_by_header_directory() {
    let sandbox = Sandbox::new();
    // Both directories' directories have the same name.
    let (dash, slash) = (sandbox.manager_of("/home/dev-project"), sandbox.manager_of(CWD));
    session(&dash, "dash", 200);
    let path = session(&slash, "slash", 100);
    assert_eq!(fs::read_dir(sandbox.sessions()).unwrap().count(), 1);
    assert_eq!(prompts(&dash.list(SessionScope::ThisDirectory).unwrap()), ["dash"]);
    assert_eq!(prompts(&slash.list(SessionScope::ThisDirectory).unwrap()), ["slash"]);
    assert_eq!(prompts(&slash.list(SessionScope::Everywhere).unwrap()), ["dash", "slash"]);
    assert_eq!(slash.most_recent().unwrap(), Some(path));
}

#[test]
fn list_flat_dir_holds_all_directories() {
    let root = TempDir::new().unwrap();
    let flat = |cwd: &str| SessionManager::new(Placement::Flat(root.path().into()), cwd.into());
    let path = session(&flat("/a"), "in a", 100);
    session(&flat("/b"), "in b", 200);
    assert_eq!(path.parent(), Some(root.path()));
    assert_eq!(prompts(&flat("/a").list(SessionScope::ThisDirectory).unwrap()), ["in a"]);
    assert_eq!(prompts(&flat("/a").list(SessionScope::Everywhere).unwrap()), ["in b", "in a"]);
}

#[test]
fn list_non_unicode_directory_is_found() {
    let root = TempDir::new().unwrap();
    let cwd = PathBuf::from(OsStr::from_bytes(b"/home/caf\xe9"));
    let manager = SessionManager::new(Placement::ByDirectory(root.path().into()), cwd);
    session(&manager, "hello", 100);
    assert_eq!(prompts(&manager.list(SessionScope::ThisDirectory).unwrap()), ["hello"]);
}

#[test]
fn list_unreadable_headers_are_reported() {
    let sandbox = Sandbox::new();
    let readable = session(&sandbox.manager, "good", 100);
    let dir = readable.parent().unwrap();
    fs::write(dir.join("torn.jsonl"), r#"{"type":"sess"#).unwrap();
    fs::write(dir.join("notes.txt"), "no log at all").unwrap();
    fs::create_dir(dir.join("directory.jsonl")).unwrap();
    let listing = sandbox.manager.list(SessionScope::ThisDirectory).unwrap();
    assert_eq!(prompts(&listing), ["good"]);
    let mut errors: Vec<String> = listing.unreadable.iter().map(ToString::to_string).collect();
    errors.sort();
    assert_eq!(errors.len(), 2, "{errors:?}");
    assert!(
        errors[0].contains("directory.jsonl") && errors[1].contains("torn.jsonl, line 1: "),
        "{errors:?}"
    );
}

#[test]
fn find_accepts_path_id_prefix_and_suffix() {
    let sandbox = Sandbox::new();
    let path = session(&sandbox.manager, "one", 100);
    let id = Reader::open(&path).unwrap().id().to_string();
    for query in [path.to_str().unwrap(), &id, &id[..id.len() - 1], &id[id.len() - 6..], &id.to_lowercase()] {
        assert_eq!(sandbox.manager.find(query).unwrap(), path, "{query}");
    }
    // A session of another directory is found as well.
    assert_eq!(sandbox.manager_of("/elsewhere").find(&id).unwrap(), path);
}

#[test]
fn find_no_match_or_several_is_error() {
    let sandbox = Sandbox::new();
    let dir = sandbox.sessions().join("--x--");
    fs::create_dir_all(&dir).unwrap();
    for id in ["abcd1", "abcd12", "abcd3"] {
        let header = HEADER.replace(r#""id":"s1""#, &format!(r#""id":"{id}""#));
        fs::write(dir.join(format!("{id}.jsonl")), format!("{header}\n")).unwrap();
    }
    let find_error = |query: &str| sandbox.manager.find(query).unwrap_err().to_string();
    assert_eq!(find_error("abcd"), "`abcd` matches 3 sessions; give more of the id");
    assert_eq!(find_error("nope"), "no session id begins or ends with `nope`");
    assert_eq!(find_error("abc"), "`abc` is too short; give at least 4 characters of the id");
    assert_eq!(find_error("gone.jsonl"), "there is no session file gone.jsonl");
    // One session's id is a prefix of another's.
    assert_eq!(sandbox.manager.find("abcd1").unwrap(), dir.join("abcd1.jsonl"));
}

#[test]
fn list_unreadable_dir_is_reported() {
    let sandbox = Sandbox::new();
    let path = session(&sandbox.manager, "good", 100);
    let id = Reader::open(&path).unwrap().id().to_string();
    let closed = sandbox.sessions().join("--closed--");
    fs::create_dir(&closed).unwrap();
    fs::set_permissions(&closed, Permissions::from_mode(0o000)).unwrap();
    let listing = sandbox.manager.list(SessionScope::Everywhere).unwrap();
    assert_eq!(prompts(&listing), ["good"]);
    if fs::read_dir(&closed).is_ok() {
        // Root ignores permissions.
        return;
    }
    let errors: Vec<String> = listing.unreadable.iter().map(ToString::to_string).collect();
    assert!(errors.len() == 1 && errors[0].contains("--closed--: can't be listed"), "{errors:?}");
    assert_eq!(sandbox.manager.most_recent().unwrap().as_ref(), Some(&path));
    assert_eq!(sandbox.manager.find(&id).unwrap(), path);
}
