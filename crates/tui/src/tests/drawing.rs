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

use super::harness::{Harness, SIZES, call, steered, text};
use crate::app::{Msg, TaskResult};
use crate::frame_pacer::Dirty;
use crate::terminal::{Abilities, Images, Italics, TerminalBackend};
use crate::view::view;

/// A PNG of one pixel.
const DOT: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Keeps what is written to a terminal.
#[derive(Clone, Default)]
struct Tap(Rc<RefCell<Vec<u8>>>);

impl Write for Tap {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.borrow_mut().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A terminal of 80 columns and 24 rows, and what is written to it.
struct Paper {
    terminal: Terminal<TerminalBackend<Tap>>,
    tap: Tap,
}

impl Paper {
    fn new() -> Self {
        Self::with(Images::Painted)
    }

    /// One whose pictures are of this kind.
    fn with(images: Images) -> Self {
        Self::on(Abilities { images, ..Abilities::default() })
    }

    fn on(abilities: Abilities) -> Self {
        let viewport = Viewport::Fixed(Rect::new(0, 0, 80, 24));
        let tap = Tap::default();
        let terminal = Terminal::with_options(
            TerminalBackend::new(tap.clone(), abilities),
            TerminalOptions { viewport },
        )
        .unwrap();
        Self { terminal, tap }
    }

    /// Has all of the next frame written.
    fn forget(&mut self) {
        self.terminal.backend_mut().forget().unwrap();
        self.terminal.swap_buffers();
        self.terminal.swap_buffers();
    }

    /// The bytes of drawing the current state.
    fn written(&mut self, stage: &mut Harness) -> String {
        let areas = stage.app.prepare();
        assert!(!self.terminal.backend_mut().record_urls(stage.app.links()));
        self.terminal.backend_mut().images_before_cells(&stage.app.pictures(&areas)).unwrap();
        self.terminal.draw(|frame| view(&stage.app, &areas, frame)).unwrap();
        let painter = self.terminal.backend_mut();
        painter.images_after_cells(stage.app.pictures(&areas), stage.app.now).unwrap();
        painter.finish().unwrap();
        String::from_utf8(self.tap.0.take()).unwrap()
    }
}

#[test]
fn italics_are_underlined_if_reversed() {
    for (italics, sequence, other) in
        [(Italics::Slanted, "\u{1b}[3m", "\u{1b}[4m"), (Italics::Underlined, "\u{1b}[4m", "\u{1b}[3m")]
    {
        let mut stage = Harness::new(80, 24);
        said(&mut stage, "It is *slanted*.");
        let written = Paper::on(Abilities { italics, ..Abilities::default() }).written(&mut stage);
        assert!(written.contains(sequence) && !written.contains(other), "{italics:?}: {written:?}");
    }
}

fn said(stage: &mut Harness, said: &str) {
    stage.answer(vec![text(said)]);
}

#[test]
fn frame_unchanged_writes_nothing() {
    let (mut stage, mut paper) = (Harness::new(80, 24), Paper::new());
    stage.app.ui.render_options.links = LinkStyle::Live;
    stage.app.ui.images = Images::Painted;
    steered(&mut stage);
    said(&mut stage, "see [the docs](https://docs.example/a)");
    stage.said(Message::User(UserMessage::with_images("look", &[dot("image/png")], UnixMs(0))));
    let first = paper.written(&mut stage);
    assert!(first.starts_with("\u{1b}[?2026h") && first.ends_with("\u{1b}[?2026l"), "one update: {first:?}");
    assert!(first.contains("fixture") && first.contains("\u{1b}]8;") && first.contains("\u{1b}_Ga=p"));
    assert_eq!(paper.written(&mut stage), "");
    stage.type_text("x");
    assert_eq!(sanitize(&paper.written(&mut stage), ControlChars::Interpreted), "x");
    assert_eq!(paper.written(&mut stage), "");
    stage.key(KeyCode::Left);
    let moved = paper.written(&mut stage);
    assert!(
        moved.len() < 32 && sanitize(&moved, ControlChars::Interpreted).is_empty(),
        "only the cursor: {moved:?}"
    );
}

#[test]
fn frame_late_highlight_waits() {
    let mut stage = Harness::new(80, 24);
    stage.app.dirty = Dirty::No;
    let told = || Msg::TaskResult(TaskResult::CodeHighlighted);
    for (input, stale) in
        [(told(), Dirty::BySession), (Msg::Paste("x".into()), Dirty::ByUser), (told(), Dirty::ByUser)]
    {
        stage.input(input);
        assert_eq!(stage.app.dirty, stale);
    }
}

#[test]
fn frame_wide_grapheme_row_is_redrawn() {
    let (mut stage, mut paper) = (Harness::new(80, 24), Paper::new());
    said(&mut stage, "from 🇨🇭 to 🇩🇪");
    let cells = |paper: &mut Paper, stage: &mut Harness| {
        let areas = stage.app.prepare();
        paper.terminal.draw(|frame| view(&stage.app, &areas, frame)).unwrap();
        paper.terminal.backend().needs_full_redraw()
    };
    assert!(
        cells(&mut paper, &mut stage) && !String::from_utf8_lossy(&paper.tap.0.borrow()).contains("from")
    );
    paper.forget();
    let written = paper.written(&mut stage);
    for flag in ["🇨🇭", "🇩🇪"] {
        let behind = written.split(flag).nth(1).and_then(|rest| rest.split_once("\u{1b}[K")).unwrap().0;
        assert_eq!(sanitize(behind, ControlChars::Interpreted), "", "erased at once");
    }
    stage.type_text("x");
    assert_eq!(sanitize(&paper.written(&mut stage), ControlChars::Interpreted), "x", "another row");
    said(&mut stage, &"- what moves the flags up\n".repeat(30));
    assert!(cells(&mut paper, &mut stage));
}

#[test]
fn link_wraps_its_cells() {
    let (mut stage, mut paper) = (Harness::new(80, 24), Paper::new());
    stage.app.ui.render_options.links = LinkStyle::Live;
    said(
        &mut stage,
        "see [the docs](https://docs.example/a) or https://b.example, not [x](javascript:alert)",
    );
    let written = paper.written(&mut stage);
    let links: Vec<&str> = written.split("\u{1b}]8;id=").skip(1).collect();
    let shown = |link: &str| {
        let (address, rest) = link.split_once("\u{1b}\\").unwrap();
        let text = rest.split_once("\u{1b}]8;;\u{1b}\\").unwrap().0;
        (
            address.split_once(';').unwrap().1.to_owned(),
            sanitize(text, ControlChars::Interpreted).into_owned(),
        )
    };
    assert_eq!(
        links.iter().map(|link| shown(link)).collect::<Vec<_>>(),
        [
            ("https://docs.example/a".to_owned(), "the docs".to_owned()),
            ("https://b.example".to_owned(), "https://b.example".to_owned())
        ]
    );
    assert!(!written.contains("\u{1b}[58"), "the mark of a link is no colour");
}

#[test]
fn link_target_change_redraws_cell() {
    let (mut stage, mut paper) = (Harness::new(80, 24), Paper::new());
    stage.app.ui.render_options.links = LinkStyle::Live;
    said(&mut stage, "[here](https://a.example)");
    paper.written(&mut stage);
    let mut other = Harness::new(80, 24);
    other.app.ui.render_options.links = LinkStyle::Live;
    said(&mut other, "[here](https://b.example)");
    let written = paper.written(&mut other);
    assert!(written.contains("https://b.example") && written.contains("here"), "{written:?}");
    assert!(!written.contains("https://a.example"));
}

#[test]
fn link_unsupported_spells_out_address() {
    let (mut stage, mut paper) = (Harness::new(80, 24), Paper::new());
    said(&mut stage, "see [the docs](https://docs.example/a)");
    let shown = stage.screen();
    assert!(shown.contains("see the docs (https://docs.example/a)"), "{shown}");
    assert!(!paper.written(&mut stage).contains("\u{1b}]8;"));
}

fn dot(mime_type: &str) -> Image {
    Image { data: DOT.to_owned(), mime_type: mime_type.to_owned() }
}

/// A stage on which the user showed an image, and a tool two.
fn images(shown: Images) -> Harness {
    let mut stage = Harness::new(80, 24);
    stage.app.ui.images = shown;
    stage.said(Message::User(UserMessage::with_images("what is this?", &[dot("image/png")], UnixMs(0))));
    stage.answer(vec![call("c0", "read_file", json!({"path": "dot.png"}))]);
    stage.start("c0", "read_file");
    let block = |kind: &str| UserBlock::Image { data: DOT.into(), mime_type: kind.into() };
    stage.said(Message::ToolResult(ToolResultMessage {
        tool_call_id: "c0".into(),
        tool_name: "read_file".into(),
        content: vec![block("image/png"), block("image/jpeg")],
        details: None,
        is_error: false,
        timestamp: UnixMs(0),
    }));
    stage
}

#[test]
fn images_are_lines_and_kitty_pictures() {
    let mut lines = images(Images::Line);
    for (width, height) in SIZES {
        lines.resize(width, height);
        insta::assert_snapshot!(format!("images_{width}x{height}"), lines.screen());
    }
    let written = Paper::new().written(&mut images(Images::Line));
    assert!(!written.contains("\u{1b}_G"), "{written:?}");

    let (mut stage, mut paper) = (images(Images::Painted), Paper::new());
    let written = paper.written(&mut stage);
    assert_eq!((written.matches("a=t,").count(), written.matches("a=p,").count()), (1, 2), "{written:?}");
    assert!(written.contains(&format!("q=2,m=0;{DOT}\u{1b}\\")));
    assert_eq!(paper.written(&mut stage), "");
}

#[test]
fn images_covered_or_scrolled_away_are_removed() {
    let (mut stage, mut paper) = (images(Images::Painted), Paper::new());
    paper.written(&mut stage);
    stage.key(KeyCode::Char('?'));
    assert!(paper.written(&mut stage).contains("a=d,d=I"), "help lies over them");
    stage.key(KeyCode::Esc);
    assert_eq!(paper.written(&mut stage).matches("a=p,").count(), 2);
    for _ in 0..40 {
        stage.answer(vec![AssistantBlock::Text { text: "more".into() }]);
    }
    let written = paper.written(&mut stage);
    assert!(written.contains("a=d,d=I") && !written.contains("a=t,"), "{written:?}");
    stage.press(KeyCode::Home, KeyModifiers::NONE);
    assert!(paper.written(&mut stage).contains("a=t,"), "sent again when they are back");
}

/// The positions (row, column) of inline image sequences.
fn inline(written: &str) -> Vec<&str> {
    let places = written.split("\u{1b}]1337;File=inline=1;").collect::<Vec<_>>();
    let before = &places[..places.len() - 1];
    before.iter().map(|text| text.rsplit("\u{1b}[").next().unwrap()).collect()
}

#[test]
fn iterm_images_wait_for_a_resting_screen() {
    let (mut stage, mut paper) = (images(Images::Inline), Paper::with(Images::Inline));
    assert_eq!(inline(&paper.written(&mut stage)), [""; 0]);
    assert!(paper.terminal.backend().has_pending_images());
    stage.wait(100);
    let written = paper.written(&mut stage);
    let places = inline(&written);
    assert_eq!(places.len(), 2, "{written:?}");
    assert!(!written.contains("\u{1b}_G") && written.contains(&format!("doNotMoveCursor=1:{DOT}\u{7}")));
    assert!(!paper.terminal.backend().has_pending_images());
    assert_eq!(paper.written(&mut stage), "");

    stage.answer(vec![AssistantBlock::Text { text: "more\n\nmore\n\nmore".into() }]);
    for _ in 0..9 {
        stage.answer(vec![AssistantBlock::Text { text: "more".into() }]);
    }
    let moved = paper.written(&mut stage);
    assert_eq!(inline(&moved), [""; 0], "a page that moves sends none");
    for place in places {
        assert!(moved.contains(&format!("\u{1b}[m\u{1b}[{place} ")), "blank at {place:?}: {moved:?}");
    }
}

#[test]
fn iterm_image_is_redrawn_when_uncovered() {
    let (mut stage, mut paper) = (images(Images::Inline), Paper::with(Images::Inline));
    let rested = |stage: &mut Harness, paper: &mut Paper| {
        let first = paper.written(stage);
        stage.wait(100);
        first + &paper.written(stage)
    };
    rested(&mut stage, &mut paper);
    stage.key(KeyCode::Char('?'));
    assert_eq!(inline(&rested(&mut stage, &mut paper)), [""; 0], "help lies over them");
    stage.key(KeyCode::Esc);
    let back = rested(&mut stage, &mut paper);
    let places = inline(&back);
    let (row, column) = places[0].trim_end_matches(['H', '\u{1b}']).split_once(';').unwrap();
    let (row, column) = (row.parse::<u16>().unwrap() - 1, column.parse::<u16>().unwrap() - 1);
    assert_eq!(places.len(), 2);
    let cell = Cell::new("x");
    paper.terminal.backend_mut().draw(std::iter::once((column, row, &cell))).unwrap();
    let _ = paper.written(&mut stage);
    stage.wait(100);
    assert_eq!(inline(&paper.written(&mut stage)), [places[0]], "only the one that was written over");
}
