//! The cost of a key in the tree of a long session: 100,000 entries; every twentieth starts a branch.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark fails by panicking")]

#[path = "support/off_screen.rs"]
mod off_screen;

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use divan::{Bencher, black_box};
use tempfile::TempDir;
use tiller::agent::InFlight;
use tiller::id::EntryId;
use tiller::message::{AssistantBlock, AssistantMessage, Message, StopReason, UserMessage};
use tiller::session::{EntryBody, Placement, Reader, SessionManager};
use tiller::tui::OffScreen;

use off_screen::{NOW, screen};

const ENTRIES: usize = 100_000;

/// Number of entries after which the session continues from an earlier one.
const BRANCH: usize = 20;

fn main() {
    divan::main();
}

fn message(at: usize) -> EntryBody {
    let text = format!("entry {at}: why does line {at} of the lexer drift, and since when? ");
    let message = if at.is_multiple_of(2) {
        Message::User(UserMessage::text(text, NOW))
    } else {
        Message::Assistant(AssistantMessage {
            content: vec![AssistantBlock::text(text.repeat(10))],
            model: "claude-sonnet-4-5".into(),
            stop_reason: StopReason::Stop,
            ..AssistantMessage::default()
        })
    };
    EntryBody::message(Arc::new(message))
}

fn session(dir: &TempDir) -> Reader {
    let manager = SessionManager::new(Placement::Flat(dir.path().into()), "/home/ada/code".into());
    let mut writer = manager.create(NOW);
    let mut ids: Vec<EntryId> = Vec::with_capacity(ENTRIES);
    while ids.len() < ENTRIES {
        let at = ids.len();
        if at > BRANCH && at.is_multiple_of(BRANCH) {
            // Mostly near, sometimes far away.
            let back = 1 + (at * 7_919) % if at.is_multiple_of(400) { at } else { 3 * BRANCH };
            writer.branch(Some(&ids[at.saturating_sub(back)]), NOW).unwrap();
            ids.push(writer.reader().leaf().unwrap());
        }
        ids.extend(writer.append(message(at), NOW).unwrap().into_iter().map(|appended| appended.id));
    }
    writer.reader()
}

fn press(screen: &mut OffScreen, code: KeyCode, modifiers: KeyModifiers) {
    screen.key(KeyEvent::new(code, modifiers), NOW);
    black_box(screen.draw(NOW));
}

fn open(screen: &mut OffScreen) {
    for c in "/tree".chars() {
        press(screen, KeyCode::Char(c), KeyModifiers::NONE);
    }
    press(screen, KeyCode::Enter, KeyModifiers::NONE);
}

/// Opens the tree with its first screen, and closes it.
#[divan::bench]
fn opening(bencher: Bencher<'_, '_>) {
    let dir = TempDir::new().unwrap();
    let mut screen = screen(session(&dir), InFlight::default());
    bencher.bench_local(move || {
        open(&mut screen);
        press(&mut screen, KeyCode::Esc, KeyModifiers::NONE);
    });
}

/// Two keys of one kind, and back.
fn keys(bencher: Bencher<'_, '_>, forward: (KeyCode, KeyModifiers), backward: (KeyCode, KeyModifiers)) {
    let dir = TempDir::new().unwrap();
    let mut screen = screen(session(&dir), InFlight::default());
    open(&mut screen);
    let mut keys = [forward, backward].into_iter().cycle();
    bencher.bench_local(move || {
        let (code, modifiers) = keys.next().unwrap();
        press(&mut screen, code, modifiers);
    });
}

#[divan::bench]
fn a_page(bencher: Bencher<'_, '_>) {
    keys(bencher, (KeyCode::PageUp, KeyModifiers::NONE), (KeyCode::PageUp, KeyModifiers::NONE));
}

#[divan::bench]
fn from_end_to_end(bencher: Bencher<'_, '_>) {
    keys(bencher, (KeyCode::Home, KeyModifiers::NONE), (KeyCode::End, KeyModifiers::NONE));
}

#[divan::bench]
fn another_filter(bencher: Bencher<'_, '_>) {
    keys(bencher, (KeyCode::Tab, KeyModifiers::NONE), (KeyCode::Tab, KeyModifiers::NONE));
}

#[divan::bench]
fn folding_all_others(bencher: Bencher<'_, '_>) {
    let fold = (KeyCode::Char('f'), KeyModifiers::CONTROL);
    keys(bencher, fold, fold);
}

/// Adds or removes a character of a search, and runs it to its end.
#[divan::bench(sample_count = 10)]
fn a_search(bencher: Bencher<'_, '_>) {
    let dir = TempDir::new().unwrap();
    let mut screen = screen(session(&dir), InFlight::default());
    open(&mut screen);
    "entry 777".chars().for_each(|c| press(&mut screen, KeyCode::Char(c), KeyModifiers::NONE));
    let mut keys = [KeyCode::Char('7'), KeyCode::Backspace].into_iter().cycle();
    bencher.bench_local(move || press(&mut screen, keys.next().unwrap(), KeyModifiers::NONE));
}
