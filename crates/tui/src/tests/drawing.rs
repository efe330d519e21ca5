//! Terminal output: cells, links, images, and no bytes for unchanged frames.

use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;

use crossterm::event::{KeyCode, KeyModifiers};
use ratatui::backend::Backend;
use ratatui::buffer::Cell;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use serde_json::json;
use tiller_core::message::{AssistantBlock, Image, Message, ToolResultMessage, UserBlock, UserMessage};
use tiller_core::unit::UnixMs;
use tiller_render::{ControlChars, LinkStyle, sanitize};

use crate::frame_pacer::Dirty;
use crate::message::{Msg, TaskResult};
use crate::terminal::backend::TerminalBackend;
use crate::terminal::capabilities::{Images, Italics, TerminalCapabilities};
use crate::tests::harness::{Harness, SIZES, call, steered, text};
use crate::view::view;

/// A PNG of one pixel.
const DOT: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Records the output to a terminal.
#[derive(Clone, Default)]
struct Recorder(Rc<RefCell<Vec<u8>>>);

impl Write for Recorder {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A terminal of 80 columns and 24 rows with a recorder.
struct RecordedTerminal {
    terminal: Terminal<TerminalBackend<Recorder>>,
    recorder: Recorder,
}

impl RecordedTerminal {
    fn new() -> Self {
        Self::with_images(Images::Painted)
    }

    /// Creates a terminal with this display of images.
    fn with_images(images: Images) -> Self {
        Self::with_abilities(TerminalCapabilities { images, ..TerminalCapabilities::default() })
    }

    fn with_abilities(abilities: TerminalCapabilities) -> Self {
        let viewport = Viewport::Fixed(Rect::new(0, 0, 80, 24));
        let recorder = Recorder::default();
        let terminal = Terminal::with_options(
            TerminalBackend::new(recorder.clone(), abilities),
            TerminalOptions { viewport },
        )
        .unwrap();
        Self { terminal, recorder }
    }

    /// Forces a full redraw of the next frame.
    fn redraw_next(&mut self) {
        self.terminal.backend_mut().forget().unwrap();
        self.terminal.swap_buffers();
        self.terminal.swap_buffers();
    }

    /// Draws the current state and returns the written bytes.
    fn draw(&mut self, harness: &mut Harness) -> String {
        let areas = harness.app.prepare();
        assert!(
            !self
                .terminal
                .backend_mut()
                .record_urls(harness.app.transcript.links(&harness.app.view_context()))
        );
        self.terminal
            .backend_mut()
            .images_before_cells(&harness.app.transcript.images(&harness.app.view_context()))
            .unwrap();
        self.terminal.draw(|frame| view(&harness.app, &areas, frame)).unwrap();
        let backend = self.terminal.backend_mut();
        backend
            .images_after_cells(harness.app.transcript.images(&harness.app.view_context()), harness.app.now)
            .unwrap();
        backend.finish().unwrap();
        String::from_utf8(self.recorder.0.take()).unwrap()
    }
}

#[test]
fn italics_are_underlined_if_reversed() {
    for (italics, sequence, second_harness) in
        [(Italics::Slanted, "\u{1b}[3m", "\u{1b}[4m"), (Italics::Underlined, "\u{1b}[4m", "\u{1b}[3m")]
    {
        let mut harness = Harness::new(80, 24);
        answer(&mut harness, "It is *slanted*.");
        let output = RecordedTerminal::with_abilities(TerminalCapabilities {
            italics,
            ..TerminalCapabilities::default()
        })
        .draw(&mut harness);
        assert!(output.contains(sequence) && !output.contains(second_harness), "{italics:?}: {output:?}");
    }
}

fn answer(harness: &mut Harness, said: &str) {
    harness.answer(vec![text(said)]);
}

#[test]
fn frame_unchanged_writes_nothing() {
    let (mut harness, mut recorded) = (Harness::new(80, 24), RecordedTerminal::new());
    harness.app.ui.render_options.links = LinkStyle::Live;
    harness.app.ui.images = Images::Painted;
    steered(&mut harness);
    answer(&mut harness, "see [the docs](https://docs.example/a)");
    harness.message(Message::User(UserMessage::with_images("look", &[dot("image/png")], UnixMs(0))));
    let first = recorded.draw(&mut harness);
    assert!(first.starts_with("\u{1b}[?2026h") && first.ends_with("\u{1b}[?2026l"), "one update: {first:?}");
    assert!(first.contains("fixture") && first.contains("\u{1b}]8;") && first.contains("\u{1b}_Ga=p"));
    assert_eq!(recorded.draw(&mut harness), "");
    harness.type_text("x");
    assert_eq!(sanitize(&recorded.draw(&mut harness), ControlChars::Interpreted), "x");
    assert_eq!(recorded.draw(&mut harness), "");
    harness.key(KeyCode::Left);
    let moved = recorded.draw(&mut harness);
    assert!(
        moved.len() < 32 && sanitize(&moved, ControlChars::Interpreted).is_empty(),
        "only the cursor: {moved:?}"
    );
}

#[test]
fn frame_late_highlight_waits() {
    let mut harness = Harness::new(80, 24);
    harness.app.dirty = Dirty::No;
    let highlighted = || Msg::TaskResult(TaskResult::CodeHighlighted.into());
    for (input, stale) in [
        (highlighted(), Dirty::BySession),
        (Msg::Paste("x".into()), Dirty::ByUser),
        (highlighted(), Dirty::ByUser),
    ] {
        harness.input(input);
        assert_eq!(harness.app.dirty, stale);
    }
}

#[test]
fn frame_wide_grapheme_row_is_redrawn() {
    let (mut harness, mut recorded) = (Harness::new(80, 24), RecordedTerminal::new());
    answer(&mut harness, "from 🇨🇭 to 🇩🇪");
    let cells = |recorded: &mut RecordedTerminal, harness: &mut Harness| {
        let areas = harness.app.prepare();
        recorded.terminal.draw(|frame| view(&harness.app, &areas, frame)).unwrap();
        recorded.terminal.backend().needs_full_redraw()
    };
    assert!(
        cells(&mut recorded, &mut harness)
            && !String::from_utf8_lossy(&recorded.recorder.0.borrow()).contains("from")
    );
    recorded.redraw_next();
    let output = recorded.draw(&mut harness);
    for flag in ["🇨🇭", "🇩🇪"] {
        let behind = output.split(flag).nth(1).and_then(|rest| rest.split_once("\u{1b}[K")).unwrap().0;
        assert_eq!(sanitize(behind, ControlChars::Interpreted), "", "erased at once");
    }
    harness.type_text("x");
    assert_eq!(sanitize(&recorded.draw(&mut harness), ControlChars::Interpreted), "x", "another row");
    answer(&mut harness, &"- what moves the flags up\n".repeat(30));
    assert!(cells(&mut recorded, &mut harness));
}

#[test]
fn link_wraps_its_cells() {
    let (mut harness, mut recorded) = (Harness::new(80, 24), RecordedTerminal::new());
    harness.app.ui.render_options.links = LinkStyle::Live;
    answer(
        &mut harness,
        "see [the docs](https://docs.example/a) or https://b.example, not [x](javascript:alert)",
    );
    let output = recorded.draw(&mut harness);
    let links: Vec<&str> = output.split("\u{1b}]8;id=").skip(1).collect();
    let address_and_text = |link: &str| {
        let (address, rest) = link.split_once("\u{1b}\\").unwrap();
        let text = rest.split_once("\u{1b}]8;;\u{1b}\\").unwrap().0;
        (
            address.split_once(';').unwrap().1.to_owned(),
            sanitize(text, ControlChars::Interpreted).into_owned(),
        )
    };
    assert_eq!(
        links.iter().map(|link| address_and_text(link)).collect::<Vec<_>>(),
        [
            ("https://docs.example/a".to_owned(), "the docs".to_owned()),
            ("https://b.example".to_owned(), "https://b.example".to_owned())
        ]
    );
    assert!(!output.contains("\u{1b}[58"), "the mark of a link is no color");
}

#[test]
fn link_target_change_redraws_cell() {
    let (mut harness, mut recorded) = (Harness::new(80, 24), RecordedTerminal::new());
    harness.app.ui.render_options.links = LinkStyle::Live;
    answer(&mut harness, "[here](https://a.example)");
    recorded.draw(&mut harness);
    let mut second_harness = Harness::new(80, 24);
    second_harness.app.ui.render_options.links = LinkStyle::Live;
    answer(&mut second_harness, "[here](https://b.example)");
    let output = recorded.draw(&mut second_harness);
    assert!(output.contains("https://b.example") && output.contains("here"), "{output:?}");
    assert!(!output.contains("https://a.example"));
}

#[test]
fn link_unsupported_spells_out_address() {
    let (mut harness, mut recorded) = (Harness::new(80, 24), RecordedTerminal::new());
    answer(&mut harness, "see [the docs](https://docs.example/a)");
    let screen = harness.screen();
    assert!(screen.contains("see the docs (https://docs.example/a)"), "{screen}");
    assert!(!recorded.draw(&mut harness).contains("\u{1b}]8;"));
}

fn dot(mime_type: &str) -> Image {
    Image { data: DOT.to_owned(), mime_type: mime_type.to_owned() }
}

/// Returns a harness with one image from the user and two from a tool.
fn images(images: Images) -> Harness {
    let mut harness = Harness::new(80, 24);
    harness.app.ui.images = images;
    harness.message(Message::User(UserMessage::with_images("what is this?", &[dot("image/png")], UnixMs(0))));
    harness.answer(vec![call("c0", "read_file", json!({"path": "dot.png"}))]);
    harness.start("c0", "read_file");
    let block = |kind: &str| UserBlock::Image { data: DOT.into(), mime_type: kind.into() };
    harness.message(Message::ToolResult(ToolResultMessage {
        tool_call_id: "c0".into(),
        tool_name: "read_file".into(),
        content: vec![block("image/png"), block("image/jpeg")],
        details: None,
        is_error: false,
        timestamp: UnixMs(0),
    }));
    harness
}

#[test]
fn images_are_lines_and_kitty_pictures() {
    let mut lines = images(Images::Line);
    for (width, height) in SIZES {
        lines.resize(width, height);
        insta::assert_snapshot!(format!("images_{width}x{height}"), lines.screen());
    }
    let output = RecordedTerminal::new().draw(&mut images(Images::Line));
    assert!(!output.contains("\u{1b}_G"), "{output:?}");

    let (mut harness, mut recorded) = (images(Images::Painted), RecordedTerminal::new());
    let output = recorded.draw(&mut harness);
    assert_eq!((output.matches("a=t,").count(), output.matches("a=p,").count()), (1, 2), "{output:?}");
    assert!(output.contains(&format!("q=2,m=0;{DOT}\u{1b}\\")));
    assert_eq!(recorded.draw(&mut harness), "");
}

#[test]
fn images_covered_or_scrolled_away_are_removed() {
    let (mut harness, mut recorded) = (images(Images::Painted), RecordedTerminal::new());
    recorded.draw(&mut harness);
    harness.key(KeyCode::Char('?'));
    assert!(recorded.draw(&mut harness).contains("a=d,d=I"), "help lies over them");
    harness.key(KeyCode::Esc);
    assert_eq!(recorded.draw(&mut harness).matches("a=p,").count(), 2);
    for _ in 0..40 {
        harness.answer(vec![AssistantBlock::text("more")]);
    }
    let output = recorded.draw(&mut harness);
    assert!(output.contains("a=d,d=I") && !output.contains("a=t,"), "{output:?}");
    harness.press(KeyCode::Home, KeyModifiers::NONE);
    assert!(recorded.draw(&mut harness).contains("a=t,"), "sent again when they are back");
}

/// Returns the positions (row, column) of inline image sequences.
fn inline(output: &str) -> Vec<&str> {
    let places = output.split("\u{1b}]1337;File=inline=1;").collect::<Vec<_>>();
    let before = &places[..places.len() - 1];
    before.iter().map(|text| text.rsplit("\u{1b}[").next().unwrap()).collect()
}

#[test]
fn iterm_images_wait_for_a_resting_screen() {
    let (mut harness, mut recorded) = (images(Images::Inline), RecordedTerminal::with_images(Images::Inline));
    assert_eq!(inline(&recorded.draw(&mut harness)), [""; 0]);
    assert!(recorded.terminal.backend().has_pending_images());
    harness.wait(100);
    let output = recorded.draw(&mut harness);
    let places = inline(&output);
    assert_eq!(places.len(), 2, "{output:?}");
    assert!(!output.contains("\u{1b}_G") && output.contains(&format!("doNotMoveCursor=1:{DOT}\u{7}")));
    assert!(!recorded.terminal.backend().has_pending_images());
    assert_eq!(recorded.draw(&mut harness), "");

    harness.answer(vec![AssistantBlock::text("more\n\nmore\n\nmore")]);
    for _ in 0..9 {
        harness.answer(vec![AssistantBlock::text("more")]);
    }
    let moved = recorded.draw(&mut harness);
    assert_eq!(inline(&moved), [""; 0], "a page that moves sends none");
    for place in places {
        assert!(moved.contains(&format!("\u{1b}[m\u{1b}[{place} ")), "blank at {place:?}: {moved:?}");
    }
}

#[test]
fn iterm_image_is_redrawn_when_uncovered() {
    let (mut harness, mut recorded) = (images(Images::Inline), RecordedTerminal::with_images(Images::Inline));
    let rested = |harness: &mut Harness, recorded: &mut RecordedTerminal| {
        let first = recorded.draw(harness);
        harness.wait(100);
        first + &recorded.draw(harness)
    };
    rested(&mut harness, &mut recorded);
    harness.key(KeyCode::Char('?'));
    assert_eq!(inline(&rested(&mut harness, &mut recorded)), [""; 0], "help lies over them");
    harness.key(KeyCode::Esc);
    let back = rested(&mut harness, &mut recorded);
    let places = inline(&back);
    let (row, column) = places[0].trim_end_matches(['H', '\u{1b}']).split_once(';').unwrap();
    let (row, column) = (row.parse::<u16>().unwrap() - 1, column.parse::<u16>().unwrap() - 1);
    assert_eq!(places.len(), 2);
    let cell = Cell::new("x");
    recorded.terminal.backend_mut().draw(std::iter::once((column, row, &cell))).unwrap();
    let _ = recorded.draw(&mut harness);
    harness.wait(100);
    assert_eq!(inline(&recorded.draw(&mut harness)), [places[0]], "only the one that was written over");
}
