//! Many sessions: the first page of a list, the newest of a directory, and a search.
#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::fs;
use std::sync::Arc;

use divan::{Bencher, black_box};
use tempfile::TempDir;
use tiller::message::{Message, UserMessage};
use tiller::session::{EntryBody, PageRequest, Placement, SessionManager, SessionScope};
use tiller::unit::UnixMs;

/// Number of sessions.
const MANY: usize = 500;

/// Prompts in each.
const PROMPTS: usize = 20;

/// The timestamp of all entries.
const NOW: UnixMs = UnixMs(1_795_231_018_249);

/// Sessions shown on a screen.
const PAGE: PageRequest = PageRequest { offset: 0, limit: Some(50) };

fn main() {
    divan::main();
}

fn manager(dir: &TempDir) -> SessionManager {
    let logs = Placement::ByDirectory(dir.path().join("sessions"));
    let manager = SessionManager::new(logs, "/home/dev/project".into());
    manager.with_catalog(dir.path().join("sessions.db"))
}

fn write_sessions(dir: &TempDir) -> SessionManager {
    let manager = manager(dir);
    for session in 0..MANY {
        let mut writer = manager.create(NOW);
        for prompt in 0..PROMPTS {
            let text =
                format!("prompt {prompt} of session {session}: look at the parser of w{}", session % 50);
            let message = Message::User(UserMessage::text(text, NOW));
            writer.append(EntryBody::message(Arc::new(message)), NOW).unwrap();
        }
    }
    manager
}

#[divan::bench]
fn first_page_when_all_is_known(bencher: Bencher) {
    let dir = TempDir::new().unwrap();
    let manager = write_sessions(&dir);
    manager.list(SessionScope::ThisDirectory).unwrap();
    bencher.bench_local(|| {
        let listing = manager.catalog().unwrap().page(black_box(SessionScope::ThisDirectory), PAGE).unwrap();
        assert_eq!(listing.sessions.len(), 50);
    });
}

#[divan::bench]
fn first_page_when_nothing_is_known(bencher: Bencher) {
    let dir = TempDir::new().unwrap();
    let manager = write_sessions(&dir);
    let forget = || drop(fs::remove_file(dir.path().join("sessions.db")));
    bencher.with_inputs(forget).bench_local_values(|()| {
        let listing = manager.catalog().unwrap().page(black_box(SessionScope::ThisDirectory), PAGE).unwrap();
        assert_eq!(listing.sessions.len(), 50);
    });
}

#[divan::bench]
fn the_newest_session(bencher: Bencher) {
    let dir = TempDir::new().unwrap();
    let manager = write_sessions(&dir);
    manager.list(SessionScope::ThisDirectory).unwrap();
    bencher.bench_local(|| black_box(&manager).most_recent().unwrap().unwrap());
}

#[divan::bench]
fn a_search(bencher: Bencher) {
    let dir = TempDir::new().unwrap();
    let manager = write_sessions(&dir);
    manager.list(SessionScope::ThisDirectory).unwrap();
    let mut catalog = manager.catalog().unwrap();
    bencher.bench_local(|| {
        let hits = catalog.search(black_box("parser w7"), SessionScope::Everywhere, 20).unwrap();
        assert_eq!(hits.len(), 20);
    });
}
