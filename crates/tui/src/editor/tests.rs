//! Tests of the whole editor: keys in, text and rows out.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::*;

fn press(editor: &mut Editor, code: KeyCode, modifiers: KeyModifiers) -> bool {
    editor.key(KeyEvent::new(code, modifiers), &Keymap::default())
}

fn control(editor: &mut Editor, c: char) -> bool {
    press(editor, KeyCode::Char(c), KeyModifiers::CONTROL)
}

fn alt(editor: &mut Editor, c: char) -> bool {
    press(editor, KeyCode::Char(c), KeyModifiers::ALT)
}

fn typed(text: &str) -> Editor {
    let mut editor = Editor::new(vec!["first".into(), "second\nline".into()]);
    editor.lay_out(40, 8);
    for c in text.chars() {
        press(&mut editor, KeyCode::Char(c), KeyModifiers::NONE);
    }
    editor
}

fn height(text: &str, columns: u16) -> u16 {
    let mut editor = typed(text);
    editor.lay_out(columns, 8);
    editor.height()
}

fn picture() -> Image {
    Image { data: "QUJD".into(), mime_type: "image/png".into() }
}

#[test]
fn editor_kill_yank_and_undo() {
    let mut editor = typed("one two");
    control(&mut editor, 'w');
    assert_eq!(editor.text(), "one ");
    control(&mut editor, 'a');
    control(&mut editor, 'y');
    assert_eq!(editor.text(), "twoone ");
    alt(&mut editor, 'u');
    assert_eq!(editor.text(), "one ");
    alt(&mut editor, 'r');
    assert_eq!(editor.text(), "twoone ");
}

#[test]
fn editor_yank_before_goes_back() {
    let mut editor = typed("one two");
    control(&mut editor, 'w');
    control(&mut editor, 'e');
    control(&mut editor, 'u');
    control(&mut editor, 'y');
    assert_eq!(editor.text(), "one ");
    alt(&mut editor, 'y');
    assert_eq!(editor.text(), "two");
    assert!(!control(&mut typed("x"), 'y'), "nothing was cut yet");
}

#[test]
fn editor_undo_restores_cleared_text() {
    let mut editor = typed("dear draft");
    editor.clear();
    assert!(editor.is_empty());
    alt(&mut editor, 'u');
    assert_eq!(editor.text(), "dear draft");
}

#[test]
fn editor_long_paste_is_a_placeholder() {
    let mut editor = typed("see ");
    let long = "line\r\n".repeat(20);
    editor.paste(&long);
    assert_eq!(editor.text(), "see [paste #1: 20 lines]");
    editor.paste("!");
    assert_eq!(editor.take_text(), format!("see {}!", "line\n".repeat(20)));
    assert!(editor.is_empty());
}

#[test]
fn editor_placeholder_is_one_step() {
    let mut editor = typed("ab");
    editor.edit(EditCommand::Left);
    editor.paste(&"x".repeat(2_000));
    editor.edit(EditCommand::Left);
    editor.insert("|");
    assert_eq!(editor.text(), "a|[paste #1: 2000 characters]b");
    editor.edit(EditCommand::DeleteForward);
    assert_eq!(editor.text(), "a|b");
    editor.paste(&"y".repeat(2_000));
    editor.edit(EditCommand::DeleteBack);
    assert_eq!(editor.text(), "a|b");
}

#[test]
fn editor_cursor_never_inside_placeholder() {
    let mut editor = typed("see ");
    editor.paste(&"line\n".repeat(20));
    editor.insert(" now\nand then");
    editor.lay_out(40, 8);
    let token = "[paste #1: 20 lines]".len();
    for (column, before) in
        [(2, 2), (4, 4), (5, 4), (4 + token / 2 + 2, 4 + token), (4 + token + 2, 4 + token + 2)]
    {
        editor.click(0, u16::try_from(column).unwrap(), 2);
        assert_eq!(editor.before_cursor().len(), before, "a click on column {column}");
    }
    editor.click(1, 8, 2);
    press(&mut editor, KeyCode::Up, KeyModifiers::NONE);
    assert_eq!(editor.before_cursor(), "see ");
    press(&mut editor, KeyCode::Down, KeyModifiers::NONE);
    assert!(editor.before_cursor().ends_with("and then"), "to the column that it came from");
}

#[test]
fn editor_wrapped_placeholder_is_passed_both_ways() {
    let mut editor = typed("a ");
    editor.paste(&"line\n".repeat(20));
    editor.insert("b");
    editor.lay_out(9, 8);
    press(&mut editor, KeyCode::Up, KeyModifiers::NONE);
    assert_eq!(editor.before_cursor(), "a ");
    press(&mut editor, KeyCode::Down, KeyModifiers::NONE);
    assert_eq!(editor.before_cursor(), "a [paste #1: 20 lines]");
}

#[test]
fn editor_click_in_reduced_area_hits_drawn_row() {
    let mut editor = typed("");
    editor.insert("one\ntwo\nthree\nfour");
    editor.lay_out(40, 8);
    editor.click(0, 1, 2);
    assert_eq!(editor.before_cursor(), "one\ntwo\nt", "the third row was the first to be seen");
    editor.click(7, 99, 1);
    assert_eq!(editor.text().len(), editor.before_cursor().len(), "below the last row there is only that");
}

#[test]
fn editor_image_is_sent_with_its_placeholder() {
    let mut editor = typed("look:");
    editor.attach(picture(), (640, 480));
    assert_eq!(editor.text(), "look: [image #1: 640×480] ");
    assert_eq!(editor.images(), [picture()]);
    assert_eq!(editor.take_text(), "look: [image #1: 640×480] ");
    editor.attach(picture(), (1, 1));
    editor.edit(EditCommand::DeleteBack);
    editor.edit(EditCommand::DeleteBack);
    assert_eq!(editor.images(), []);
}

#[test]
fn editor_returned_message_has_its_images() {
    let mut editor = typed("");
    editor.restore_images("see [image #1: 640×480] and [image #2: 1×1]", &[picture(), picture()]);
    editor.set_text("see [image #2: 1×1]");
    assert_eq!(editor.images(), [picture()]);
    let text = editor.take_text();
    editor.set_text(&text);
    assert_eq!(editor.images(), [picture()], "what failed to be sent can be sent again");
}

#[test]
fn editor_returned_messages_keep_images_apart() {
    let other = |data: &str| Image { data: data.into(), ..picture() };
    let mut editor = typed("");
    editor.attach(picture(), (640, 480));
    let mut texts = vec![editor.text()];
    for data in ["two", "three"] {
        texts.push(editor.restore_images("see [image #1: 640×480]", &[other(data)]));
    }
    assert_eq!(texts[1..], ["see [image #2: 640×480]", "see [image #3: 640×480]"].map(String::from));
    editor.set_text(&texts.concat());
    assert_eq!(editor.images(), [picture(), other("two"), other("three")]);
}

#[test]
fn editor_history_at_edges_keeps_draft() {
    let mut editor = typed("draft");
    assert!(editor.edit(EditCommand::Up));
    assert_eq!(editor.text(), "second\nline");
    editor.edit(EditCommand::Up);
    editor.edit(EditCommand::Up);
    assert_eq!(editor.text(), "first");
    assert!(!editor.edit(EditCommand::Up));
    editor.edit(EditCommand::Down);
    editor.edit(EditCommand::Down);
    assert_eq!(editor.text(), "draft");
}

#[test]
fn editor_vertical_moves_keep_column() {
    let mut editor = typed("");
    editor.set_text("a long first line\nx\nanother line");
    editor.lay_out(40, 8);
    editor.edit(EditCommand::Up);
    editor.insert("!");
    assert_eq!(editor.text(), "a long first line\nx!\nanother line");
    editor.edit(EditCommand::Down);
    editor.edit(EditCommand::TextEnd);
    editor.edit(EditCommand::Up);
    editor.edit(EditCommand::Up);
    editor.insert("|");
    assert_eq!(editor.text(), "a long first| line\nx!\nanother line");
}

#[test]
fn editor_backslash_enter_breaks_line() {
    let mut editor = typed("one\\");
    assert!(editor.continue_line());
    assert_eq!(editor.text(), "one\n");
    assert!(!editor.continue_line());
}

#[test]
fn editor_joined_emoji_is_one_step() {
    let mut editor = typed("a");
    editor.paste("👩‍👩‍👧‍👦🇩🇪");
    editor.edit(EditCommand::DeleteBack);
    assert_eq!(editor.text(), "a👩‍👩‍👧‍👦");
    editor.edit(EditCommand::DeleteBack);
    assert_eq!(editor.text(), "a");
}

#[test]
fn editor_height_counts_wrapped_rows() {
    assert_eq!(height("", 11), 1);
    assert_eq!(height("one two three", 9), 2);
    assert_eq!(height("日本語日本語", 7), 2);
    assert_eq!(height("日本語日本語日本語", 3), 8);
    assert_eq!(height(&"long ".repeat(100), 11), 8);
}

#[test]
fn editor_window_follows_cursor_without_blank_rows() {
    let mut editor = typed("");
    editor.set_text("1\n2\n3\n4\n5\n6");
    editor.lay_out(10, 3);
    let area = Rect::new(0, 0, 10, 3);
    let draw = |editor: &Editor| {
        let mut buffer = Buffer::empty(area);
        editor.draw(area, Style::default(), &mut buffer);
        let cursor = editor.cursor(area);
        ((0..3).map(|y| buffer[(0, y)].symbol().to_owned()).collect::<String>(), (cursor.x, cursor.y))
    };
    assert_eq!(draw(&editor), ("456".into(), (1, 2)));
    editor.edit(EditCommand::TextStart);
    assert_eq!(draw(&editor), ("123".into(), (0, 0)));
    editor.edit(EditCommand::Down);
    assert_eq!(draw(&editor), ("123".into(), (0, 1)), "what is to be seen stays where it is");
}

#[test]
fn editor_kind_detects_shell_lines() {
    assert_eq!(typed("!ls").kind(), EditKind::Command);
    assert_eq!(typed("!!ls").kind(), EditKind::PrivateCommand);
    assert_eq!(typed("so!").kind(), EditKind::Message);
}
