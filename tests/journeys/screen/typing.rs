//! Typing and resizing while an answer streams.

use crate::journeys::house::House;
use crate::terminal::{Key, Size};

#[test]
fn what_is_typed_shows_while_an_answer_streams_at_full_speed() {
    const PIECES: usize = 500_000;
    let house = House::new();
    let answer = format!(r#"{{"text": "word and **more**\n", "repeat": {PIECES}, "hang": true}}"#);
    let mut terminal = house.play(&[&answer], &["go"]);
    terminal.wait_for("word and more");
    terminal.send("typed meanwhile");
    terminal.wait_for("❯ typed meanwhile");
    terminal.key(Key::Esc);
    terminal.wait_for("stopped");
    terminal.wait_for("❯ typed meanwhile");
    let said = house.said();
    let pieces = said[1].matches("word").count();
    assert!(pieces < PIECES, "the answer was over before the keys were read: {pieces} pieces");
}

#[test]
fn the_screen_is_whole_at_every_size_while_an_answer_streams() {
    let house = House::new();
    let answer = r#"{"text": "One **word** and `another`, then a line.\n", "repeat": 5000, "delay_ms": 1, "hang": true}"#;
    let mut terminal = house.play(&[answer], &["go"]);
    terminal.wait_for("One word and another");
    for size in [Size(20, 5), Size(1, 1), Size(200, 60), Size(20, 5), Size(100, 40)] {
        terminal.resize(size);
        let Size(columns, _) = size;
        if columns >= 20 {
            terminal.wait_until("the editor at its size", |screen| {
                let rule = screen.lines().any(|line| line == "─".repeat(columns.into()));
                screen.contains("❯") && rule
            });
        }
    }
    terminal.wait_for("One word and another, then a line.");
    terminal.wait_for("esc stops");
    terminal.key(Key::Esc);
    terminal.wait_for("stopped");
    let screen = terminal.screen();
    let rule = "─".repeat(100);
    assert_eq!(screen.lines().filter(|line| *line == rule).count(), 2, "{screen}");
    assert_eq!(screen.matches('❯').count(), 1, "{screen}");
    terminal.key(Key::Ctrl('d'));
    assert_eq!(terminal.wait().exit_code(), 0);
}
