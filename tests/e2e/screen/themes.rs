//! Themes through the real binary: the terminal's background, `/theme`, and files that change.

use std::fs;
use std::path::PathBuf;

use vt100::Color;

use crate::sandbox::Sandbox;
use crate::screen::prompting::enter;
use tiller_test_support::terminal::{Terminal, TerminalKey};

const DARK: Color = Color::Rgb(0x6c, 0xcf, 0xcf);
const LIGHT: Color = Color::Rgb(0x00, 0x6a, 0x75);
const GRUVBOX: Color = Color::Rgb(0xfa, 0xbd, 0x2f);
const WHITE_GROUND: &str = "\x1b]11;rgb:ffff/ffff/ffff\x07";

fn painted() -> Sandbox {
    Sandbox::new().with_variable("COLORTERM", "truecolor")
}

fn open(sandbox: &Sandbox, arguments: &[&str]) -> Terminal {
    sandbox.open_scripted(&[], arguments)
}

/// The color of the mark before the editor or a filter: the accent.
fn accent(screen: &vt100::Screen) -> Option<Color> {
    let (rows, columns) = screen.size();
    let cells = (0..rows.get()).flat_map(|row| (0..columns.get()).map(move |column| (row, column)));
    let mut marks = cells.filter_map(|(row, column)| screen.cell(row, column));
    marks.find(|cell| cell.contents() == "❯").map(vt100::Cell::fgcolor)
}

fn wait_for_accent(terminal: &Terminal, expected: Color) {
    terminal
        .wait_until_screen(&format!("an accent of {expected:?}"), |screen| accent(screen) == Some(expected));
}

#[test]
fn theme_query_reply_is_no_key() {
    let sandbox = painted();
    let mut terminal = open(&sandbox, &[]);
    terminal.wait_for("/hotkeys all keys");
    wait_for_accent(&terminal, DARK);
    let output = terminal.output();
    let question = output.find("\x1b]11;?\x07").unwrap();
    assert!(question > output.find("❯").unwrap());
    terminal.send(WHITE_GROUND);
    wait_for_accent(&terminal, LIGHT);
    terminal.send("typed");
    terminal.wait_for("❯ typed");
    assert!(!terminal.screen().contains("rgb"), "{}", terminal.screen());
}

#[test]
fn theme_query_reply_while_typing() {
    let sandbox = painted();
    let mut terminal = open(&sandbox, &[]);
    terminal.wait_for("/hotkeys all keys");
    terminal.send("hel");
    terminal.wait_for("❯ hel");
    terminal.send(&format!("l{WHITE_GROUND}o"));
    terminal.wait_for("❯ hello");
    wait_for_accent(&terminal, LIGHT);
    assert!(!terminal.screen().contains("rgb"), "{}", terminal.screen());
}

#[test]
fn theme_query_without_reply() {
    let sandbox = painted();
    let mut terminal = open(&sandbox, &[]);
    terminal.wait_for("/hotkeys all keys");
    terminal.send("?");
    terminal.wait_for("── help");
    // Alone it may be the beginning of a split reply.
    terminal.key(TerminalKey::Esc);
    terminal.wait_without("── help");
    terminal.send("\x1b]11;");
    terminal.wait_for("❯ 11;");
    wait_for_accent(&terminal, DARK);
}

#[test]
fn theme_from_environment_in_first_frame() {
    let sandbox = painted().with_variable("COLORFGBG", "0;15");
    let terminal = open(&sandbox, &[]);
    terminal.wait_for("/hotkeys all keys");
    wait_for_accent(&terminal, LIGHT);
    assert!(!terminal.output().contains("38;2;108;207;207"));
    let sandbox = Sandbox::new();
    let terminal = open(&sandbox, &["--theme", "gruvbox"]);
    terminal.wait_for("/hotkeys all keys");
    wait_for_accent(&terminal, Color::Idx(214));
    let sandbox = painted().with_variable("NO_COLOR", "1");
    let terminal = open(&sandbox, &["--theme", "gruvbox"]);
    terminal.wait_for("/hotkeys all keys");
    wait_for_accent(&terminal, Color::Default);
    assert!(!terminal.output().contains("\x1b]11;?"));
}

#[test]
fn theme_picker_previews_and_stores() {
    let sandbox = painted();
    let mut terminal = open(&sandbox, &[]);
    terminal.wait_for("/hotkeys all keys");
    enter(&mut terminal, "/theme");
    terminal.wait_for("── themes");
    terminal.send("gruv");
    wait_for_accent(&terminal, GRUVBOX);
    terminal.key(TerminalKey::Esc);
    terminal.wait_for("type to filter");
    terminal.key(TerminalKey::Esc);
    terminal.wait_without("── themes");
    wait_for_accent(&terminal, DARK);
    enter(&mut terminal, "/theme gruvbox");
    terminal.wait_for("Saved: theme is gruvbox.");
    wait_for_accent(&terminal, GRUVBOX);
    assert_eq!(terminal.quit().exit_code(), 0);
    let settings = fs::read_to_string(sandbox.home().join("tiller/settings.json")).unwrap();
    assert_eq!(settings, "{\n  \"theme\": \"gruvbox\"\n}\n");
    wait_for_accent(&open(&sandbox, &[]), GRUVBOX);
}

#[test]
fn theme_file_changes_are_applied() {
    let sandbox = painted();
    let dir = sandbox.home().join("tiller/themes");
    fs::create_dir_all(&dir).unwrap();
    let save = |accent: &str| {
        let text = format!(r#"{{"name": "mine", "kind": "dark", "roles": {{"accent": "{accent}"}}}}"#);
        fs::write(dir.join("mine.json"), text).unwrap();
    };
    save("#010203");
    let terminal = open(&sandbox, &["--theme", "mine"]);
    terminal.wait_for("/hotkeys all keys");
    wait_for_accent(&terminal, Color::Rgb(1, 2, 3));
    save("#04050");
    terminal.wait_for("at roles.accent: `#04050` is neither a color");
    wait_for_accent(&terminal, Color::Rgb(1, 2, 3));
    save("#040506");
    wait_for_accent(&terminal, Color::Rgb(4, 5, 6));
}

#[test]
fn theme_files_of_flags_and_trusted_projects() {
    let sandbox = painted();
    let write = |path: PathBuf, name: &str, accent: &str| {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!(r#"{{"name": "{name}", "roles": {{"accent": "{accent}"}}}}"#)).unwrap();
    };
    write(sandbox.project().join("one.json"), "one", "#010101");
    write(sandbox.project().join(".tiller/themes/ours.json"), "ours", "#020202");
    fs::write(sandbox.project().join(".tiller/settings.json"), r#"{"theme": "ours"}"#).unwrap();
    let trusting = open(&sandbox, &["--trust-project"]);
    trusting.wait_for("/hotkeys all keys");
    wait_for_accent(&trusting, Color::Rgb(2, 2, 2));
    drop(trusting);
    let mut with_flags = open(&sandbox, &["--trust-project", "--theme", "gruvbox", "--theme", "one.json"]);
    with_flags.wait_for("/hotkeys all keys");
    wait_for_accent(&with_flags, GRUVBOX);
    enter(&mut with_flags, "/theme one");
    wait_for_accent(&with_flags, Color::Rgb(1, 1, 1));
}
