//! The cost of a frame: for sessions of any length, and during a long streaming answer.
#![allow(missing_docs, clippy::unwrap_used, reason = "a benchmark fails by panicking")]

#[path = "support/off_screen.rs"]
mod off_screen;

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseButton, MouseEvent, MouseEventKind};
use divan::{Bencher, black_box};
use serde_json::json;
use tiller::agent::InFlight;
use tiller::event::{AssistantDelta, Event, EventKind};
use tiller::message::{
    AssistantBlock, AssistantMessage, Message, StopReason, ToolCall, ToolResultMessage, Usage, UserBlock,
    UserMessage,
};
use tiller::render;
use tiller::session::{EntryBody, Placement, SessionManager};
use tiller::tui::OffScreen;

use off_screen::NOW;

/// Typical Markdown of a model, about 500 bytes.
const PIECE: &str = "## What happens\n\nThe **lexer** counts `\\r` as a line of its own, which is why line numbers drift apart in files with \
mixed endings. Three places are concerned:\n\n- `Lexer::next`, which looks at one character only\n- `Lexer::line`, which trusts it\n- \
the fixture, which nobody looked at\n\n```rust\nfn next(&mut self) -> Option<char> {\n    let c = self.chars.next()?;\n    self.line += \
usize::from(c == '\\n');\n    Some(c)\n}\n```\n\n| file | before | after |\n|---|--:|--:|\n| a.toml | 12 | 11 |\n\n";

fn main() {
    divan::main();
}

/// An entry of a session: a prompt, an answer with a call, its result, and so on.
fn entry(at: usize) -> EntryBody {
    let id = format!("c{}", at / 3);
    let message = match at % 3 {
        0 => Message::User(UserMessage::text(format!("prompt {at}: why does line {at} drift?"), NOW)),
        1 => Message::Assistant(AssistantMessage {
            content: vec![
                AssistantBlock::text(PIECE),
                AssistantBlock::ToolCall(ToolCall {
                    id: id.as_str().into(),
                    name: "bash".into(),
                    arguments: json!({"command": "cargo test lexer"}),
                    raw_arguments: None,
                    thought_signature: None,
                }),
            ],
            stop_reason: StopReason::ToolUse,
            ..AssistantMessage::default()
        }),
        _ => Message::ToolResult(ToolResultMessage {
            tool_call_id: id.as_str().into(),
            tool_name: "bash".into(),
            content: vec![UserBlock::Text { text: "test lexer::crlf ... ok\n".repeat(30) }],
            details: Some(json!({"exitCode": 0})),
            is_error: false,
            timestamp: NOW,
        }),
    };
    EntryBody::message(Arc::new(message))
}

fn screen(entries: usize) -> OffScreen {
    let manager = SessionManager::new(Placement::Memory, "/home/ada/code".into());
    let mut writer = manager.create(NOW);
    for at in 0..entries {
        writer.append(entry(at), NOW).unwrap();
    }
    off_screen::screen(writer.reader(), InFlight { running_since: Some(NOW), ..InFlight::default() })
}

fn press(screen: &mut OffScreen, code: KeyCode) {
    screen.key(KeyEvent::new(code, KeyModifiers::NONE), NOW);
}

/// A frame at the end of a session, one tick later.
#[divan::bench(args = [100, 10_000, 100_000])]
fn at_the_end(bencher: Bencher<'_, '_>, entries: usize) {
    let (mut screen, mut now) = (screen(entries), NOW);
    bencher.bench_local(move || {
        now.0 += 100;
        black_box(screen.draw(now));
    });
}

/// A page up and a frame, in a session that was shown completely once.
#[divan::bench(args = [100, 10_000, 100_000])]
fn a_page_up(bencher: Bencher<'_, '_>, entries: usize) {
    let mut screen = screen(entries);
    press(&mut screen, KeyCode::Home);
    screen.draw(NOW);
    let mut pages = 0;
    bencher.bench_local(move || {
        press(&mut screen, if pages % 20 == 0 { KeyCode::End } else { KeyCode::PageUp });
        pages += 1;
        black_box(screen.draw(NOW));
    });
}

/// Unfolding or folding everything, and a frame.
#[divan::bench(args = [100, 10_000, 100_000])]
fn everything_unfolded(bencher: Bencher<'_, '_>, entries: usize) {
    let mut screen = screen(entries);
    screen.draw(NOW);
    bencher.bench_local(move || {
        screen.key(KeyEvent::new(KeyCode::Char('o'), KeyModifiers::CONTROL), NOW);
        black_box(screen.draw(NOW));
    });
}

/// Jumps to the beginning and the end, with a frame each; the part between is not read.
#[divan::bench(args = [100, 10_000, 100_000])]
fn from_end_to_end(bencher: Bencher<'_, '_>, entries: usize) {
    let mut screen = screen(entries);
    screen.draw(NOW);
    bencher.bench_local(move || {
        for code in [KeyCode::Home, KeyCode::End] {
            press(&mut screen, code);
            black_box(screen.draw(NOW));
        }
    });
}

/// The next match of a search with a match in every answer, and a frame with all of them marked.
#[divan::bench(args = [100, 10_000])]
fn a_place_of_a_search(bencher: Bencher<'_, '_>, entries: usize) {
    let mut screen = screen(entries);
    screen.draw(NOW);
    screen.key(KeyEvent::new(KeyCode::Char('f'), KeyModifiers::CONTROL), NOW);
    screen.paste("lexer".into(), NOW);
    bencher.bench_local(move || {
        press(&mut screen, KeyCode::Up);
        black_box(screen.draw(NOW));
    });
}

/// A step of a mouse selection, and a frame.
#[divan::bench(args = [100, 100_000])]
fn a_selection(bencher: Bencher<'_, '_>, entries: usize) {
    let mut screen = screen(entries);
    screen.draw(NOW);
    let event = |kind, row| MouseEvent { kind, column: 30, row, modifiers: KeyModifiers::NONE };
    screen.mouse(event(MouseEventKind::Down(MouseButton::Left), 2), NOW);
    let mut rows = (3..30).cycle();
    bencher.bench_local(move || {
        let row = rows.next().unwrap_or_default();
        screen.mouse(event(MouseEventKind::Drag(MouseButton::Left), row), NOW);
        black_box(screen.draw(NOW));
    });
}

/// Another delta of an answer that already has this many bytes, and a frame.
#[divan::bench(args = [1_000, 100_000, 1_000_000])]
fn a_piece_of_an_answer(bencher: Bencher<'_, '_>, bytes: usize) {
    let mut screen = screen(100);
    let mut seq = 0;
    let mut append_text = move |screen: &mut OffScreen, text: &str| {
        seq += 1;
        let delta = AssistantDelta::TextDelta { content_index: 0, delta: text.into() };
        let kind = EventKind::MessageUpdate { usage: Usage::default(), assistant_message_event: delta };
        screen.event(Arc::new(Event { kind, seq, time: NOW }), NOW);
    };
    append_text(&mut screen, &PIECE.repeat(bytes / PIECE.len() + 1));
    screen.draw(NOW);
    let mut deltas = ["and ", "so **the** ", "line `ends`.\n", "\n"].into_iter().cycle();
    bencher.bench_local(move || {
        append_text(&mut screen, deltas.next().unwrap_or_default());
        black_box(screen.draw(NOW));
    });
}

/// Highlighting of this many lines of code.
#[divan::bench(args = [10, 1_000])]
fn code(bencher: Bencher<'_, '_>, lines: usize) {
    let code = "    let next = self.chars.next().filter(|c| *c != '\n')?; // not yet
"
    .repeat(lines);
    let highlight = move || {
        black_box(render::highlight(&code, render::Language::Named("rust"), &render::Highlighting::Sync))
    };
    highlight();
    bencher.bench_local(highlight);
}
