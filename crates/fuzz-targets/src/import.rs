//! Logs of other programs.

use tempfile::TempDir;
use tiller_core::unit::UnixMs;
use tiller_session::context::{project, request_messages};
use tiller_session::import::{ImportMode, ImportStatus, Importer, SourceFormat};
use tiller_session::verify::verify;
use tiller_session::{Placement, Reader, SessionManager};

use super::log::{assert_paired, read, write};

/// Imports a log of Claude Code; see `import`.
///
/// # Panics
/// If a property doesn't hold.
pub fn import_claude(data: &[u8]) {
    import(data, SourceFormat::Claude);
}

/// Imports a rollout of Codex; see `import`.
///
/// # Panics
/// If a property doesn't hold.
pub fn import_codex(data: &[u8]) {
    import(data, SourceFormat::Codex);
}

/// Imports a session of pi; see `import`.
///
/// # Panics
/// If a property doesn't hold.
pub fn import_pi(data: &[u8]) {
    import(data, SourceFormat::Pi);
}

/// Imports a foreign log.
///
/// - The source isn't changed, and a log that isn't imported has a reason.
/// - The session lies in the directory of sessions, every entry can be read, and `verify` counts the same entries.
/// - Calls and results in the request messages of every branch pair up.
/// - A second import finds nothing new.
fn import(data: &[u8], origin: SourceFormat) {
    let dir = TempDir::new().unwrap();
    let sessions = dir.path().join("sessions");
    let source = write(&dir, "source.jsonl", data);
    let manager = SessionManager::new(Placement::ByDirectory(sessions.clone()), "/home/me/work".into());
    let importer =
        Importer { manager: &manager, only: Some(origin), mode: ImportMode::Write, now: UnixMs(0) };
    let first = importer.file(&source);
    assert_eq!(read(&source), data, "the source was changed");
    let Some(path) = first.path else {
        assert!(first.reason.is_some(), "{:?} without a reason", first.status);
        return;
    };
    assert_eq!((first.status, first.from), (ImportStatus::Imported, Some(origin)));
    assert!(path.canonicalize().unwrap().starts_with(sessions.canonicalize().unwrap()), "{path:?}");
    let reader = Reader::open(&path).unwrap();
    assert_eq!((reader.findings(), reader.entries().unwrap().1), (vec![], vec![]));
    assert_eq!(verify(&path).unwrap().entries, reader.entry_count());
    let tree = reader.tree();
    for (at, node) in tree.nodes().iter().enumerate() {
        if tree.children(at).is_empty() {
            let projection = project(&reader.branch(&node.id).unwrap().0);
            assert_paired(&request_messages(projection.messages.iter().map(|projected| &projected.message)));
        }
    }
    assert_eq!(importer.file(&source).status, ImportStatus::Unchanged);
}
