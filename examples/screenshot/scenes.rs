//! The scenes of the pictures.

use std::path::Path;

use anyhow::Context;
use serde_json::{Value, json};

use crate::project::{Project, call};
use tiller::render::Role;
use tiller::theme::{ColorDepth, Rgb, Theme};
use tiller_test_support::svg::{DefaultColors, ScreenCapture};
use tiller_test_support::terminal::{Size, Terminal, TerminalKey};

const SIZE: Size = Size(116, 36);
const PROMPT: &str = "the parser test fails on windows line endings, find out why";
const STEERING: &str = "leave the fixture alone, users send us files like that; fix the lexer";
const FOLLOW_UP: &str = "then add a line to CHANGELOG.md";

/// The agent at work: steered once, a command running, a message queued.
pub(crate) fn running_agent(program: &Path) -> anyhow::Result<String> {
    let project = Project::new()?;
    let mut terminal = project.open(
        program,
        SIZE,
        (&[exploring_answer(), fix_answer(), text_answer("Done.")], &["--name", "fix-crlf", PROMPT]),
    )?;
    terminal.wait_for("right: 4");
    enter(&mut terminal, STEERING);
    terminal.wait_for("↳ steer");
    project.let_through(1)?;
    terminal.wait_for("crlf_is_one_newline ... ok");
    terminal.send(FOLLOW_UP);
    terminal.wait_for(FOLLOW_UP);
    terminal.key(TerminalKey::AltEnter);
    terminal.wait_for("↳ next");
    terminal.send("and a test for a lone \\r");
    terminal.wait_for("a lone \\r");
    render_screen(&terminal, DefaultColors::DARK)
}

/// The tree of a session with two branch points.
pub(crate) fn tree(program: &Path) -> anyhow::Result<String> {
    let project = Project::new()?;
    project.let_through(1)?;
    project.let_through(2)?;
    let first_answers = [exploring_answer(), text_answer("The lexer makes two newlines of `\\r\\n`.")];
    let open = |later: &[&str], arguments: &[&str]| {
        let later = later.iter().map(|text| text_answer(text));
        let answers: Vec<Value> = first_answers.iter().cloned().chain(later).collect();
        project.open(program, Size(116, 20), (&answers, arguments))
    };

    let mut terminal =
        open(&["It counts 4 lines now, but a quoted string lost its `\\r`."], &["--name", "fix-crlf"])?;
    say(&mut terminal, PROMPT, "two newlines of");
    say(&mut terminal, "normalize the line endings when the file is read", "a quoted string lost");
    back_to(&mut terminal, "normalize");
    quit(terminal)?;

    let mut terminal =
        open(&["One token for both; strings keep their bytes.", "Entry written, under “Fixed”."], &["-c"])?;
    terminal.wait_for("two newlines of");
    say(&mut terminal, "fix it in the lexer instead, strings must keep their bytes", "One token for both");
    say(&mut terminal, FOLLOW_UP, "under “Fixed”");
    back_to(&mut terminal, FOLLOW_UP);
    quit(terminal)?;

    let mut terminal =
        open(&["", "A lone `\\r` is unchanged; a test covers it.", "All 15 tests pass."], &["-c"])?;
    terminal.wait_for("One token for both");
    say(&mut terminal, "add a test for a lone \\r first", "a test covers it");
    say(&mut terminal, "run the whole suite", "All 15 tests pass.");
    enter(&mut terminal, "/tree");
    terminal.wait_until("the newest answer chosen", |screen| {
        screen.lines().any(|line| line.contains('▸') && line.contains("All 15 tests pass."))
    });
    up_to(&mut terminal, "▌ fix it");
    render_screen(&terminal, DefaultColors::DARK)
}

/// All elements of a theme: thinking, highlighted code, an edit, a failed call, an approval.
pub(crate) fn theme_elements(program: &Path, theme: &Theme) -> anyhow::Result<String> {
    let project = Project::new()?;
    let arguments = ["--theme", &theme.name, "--name", &theme.name, PROMPT];
    let terminal =
        project.open(program, Size(96, 34), (&[theme_answer(), text_answer("Done.")], &arguments))?;
    terminal.wait_for("git push --force");
    terminal.wait_until("the call in full", |screen| screen.contains("deny") || screen.contains("no"));
    terminal.wait_until_screen("highlighted code", |screen| is_highlighted(screen, "fn "));
    let style_of = |role| theme.style(role, ColorDepth::Millions);
    if style_of(Role::Function) != style_of(Role::Text) {
        terminal.wait_until_screen("a highlighted command", |screen| is_highlighted(screen, "│ git "));
    }
    let Rgb(red, green, blue) = theme.background;
    render_screen(&terminal, DefaultColors::for_background((red, green, blue)))
}

pub(crate) fn text_answer(text: &str) -> Value {
    json!({"text": text, "usage": {"input": 2_100, "output": 140, "cacheRead": 9_400}})
}

/// The answer that explores and is steered in the middle of its calls.
pub(crate) fn exploring_answer() -> Value {
    let edit = json!({"path": "tests/fixtures/mixed.conf", "old_text": "\r\r\n", "new_text": "\r\n"});
    json!({
        "text": "I'll look at the lexer first.",
        "calls": [
            call("grep", json!({"pattern": "newline", "path": "src"})),
            call("read_file", json!({"path": "src/lexer.rs"})),
            call("bash", json!({"command": "cargo test lexer"})),
            call("edit_file", edit),
            call("bash", json!({"command": "cargo test"})),
        ],
        "usage": {"input": 6_200, "output": 310, "cacheRead": 8_800, "cost": {"total": 0.026}},
    })
}

/// The answer to the steering: an edit, and a command that still runs in the picture.
fn fix_answer() -> Value {
    let old = "        self.take(1, Kind::Newline)\n";
    let new = "        self.take(if self.rest.starts_with(\"\\r\\n\") { 2 } else { 1 }, Kind::Newline)\n";
    json!({
        "text": "Understood, the fixture stays. `newline` makes **two** tokens of `\\r\\n`, one each; it has to take both at once:",
        "calls": [
            call("edit_file", json!({"path": "src/lexer.rs", "old_text": old, "new_text": new})),
            call("bash", json!({"command": "cargo test"})),
        ],
        // Slow enough for the footer to count the first answer, and only that, in every picture.
        "delay_ms": 15,
        "usage": {"input": 7_900, "output": 520, "cacheRead": 14_100, "cost": {"total": 0.041}},
    })
}

/// The answer of the theme pictures.
fn theme_answer() -> Value {
    let text = "`newline` makes **two** tokens of `\\r\\n`. It has to take both at once, as [the grammar](https://toml.io) has it:\n\n\
        ```rust\n/// Bytes of the line break at the beginning.\nfn breaks(rest: &str) -> usize {\n    \
        if rest.starts_with(\"\\r\\n\") { 2 } else { 1 } // never 0\n}\n```\n";
    let old = "        self.take(1, Kind::Newline)\n";
    let new = "        self.take(breaks(self.rest), Kind::Newline)\n";
    json!({
        "think": "The fixture has mixed endings, so the lexer has to cope.",
        "text": text,
        "calls": [
            call("read_file", json!({"path": "src/lexer.rs"})),
            call("edit_file", json!({"path": "src/lexer.rs", "old_text": old, "new_text": new})),
            call("read_file", json!({"path": "src/token.rs"})),
            call("bash", json!({"command": "git push --force origin crlf"})),
        ],
        "usage": {"input": 7_900, "output": 520, "cacheRead": 14_100, "cost": {"total": 0.041}},
    })
}

pub(crate) fn enter(terminal: &mut Terminal, line: &str) {
    terminal.send(line);
    terminal.wait_for(&format!("❯ {line}"));
    terminal.key(TerminalKey::Enter);
}

pub(crate) fn say(terminal: &mut Terminal, prompt: &str, answer: &str) {
    terminal.wait_for("❯");
    enter(terminal, prompt);
    terminal.wait_for(answer);
    terminal.wait_without("esc stops");
}

/// Goes back to before a user message without a summary.
fn back_to(terminal: &mut Terminal, beginning: &str) {
    enter(terminal, "/tree");
    terminal.wait_until("the tree", |screen| screen.contains("── tree") && screen.contains('▸'));
    terminal.key(TerminalKey::Up);
    terminal.wait_until("the message chosen", |screen| {
        screen.lines().any(|line| line.contains('▸') && line.contains(&format!("▌ {beginning}")))
    });
    terminal.key(TerminalKey::Enter);
    terminal.wait_for_question("▸ no summary");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for(&format!("❯ {beginning}"));
    terminal.key(TerminalKey::Ctrl('c'));
    terminal.wait_without(&format!("❯ {beginning}"));
}

/// Returns true if a word before another one has a different style everywhere: highlighting arrives a moment
/// after the text.
fn is_highlighted(screen: &vt100::Screen, word: &str) -> bool {
    let (_, columns) = screen.size();
    let style_at = |row: u16, column: usize| {
        let cell = screen.cell(row, u16::try_from(column).ok()?)?;
        Some((cell.fgcolor(), cell.bold()))
    };
    let mut functions = (0_u16..).zip(screen.rows(0, columns.get())).filter_map(|(row, text)| {
        let before = text.find(word)?;
        Some((row, text[..before + word.len()].chars().count()))
    });
    functions.all(|(row, column)| style_at(row, column - 2) != style_at(row, column))
}

/// Moves up to the row with this text.
fn up_to(terminal: &mut Terminal, text: &str) {
    let selected_row = |screen: &str| screen.lines().find(|line| line.contains('▸')).map(str::to_owned);
    loop {
        let before = selected_row(&terminal.screen());
        if before.as_ref().is_some_and(|row| row.contains(text)) {
            return;
        }
        terminal.key(TerminalKey::Up);
        terminal.wait_until("another row chosen", |screen| selected_row(screen) != before);
    }
}

pub(crate) fn quit(mut terminal: Terminal) -> anyhow::Result<()> {
    terminal.key(TerminalKey::Ctrl('d'));
    let status = terminal.wait();
    status.success().then_some(()).with_context(|| format!("tiller ended with {status}"))
}

pub(crate) fn render_screen(terminal: &Terminal, colors: DefaultColors) -> anyhow::Result<String> {
    let mut picture = terminal.inspect(|screen| ScreenCapture::new(colors, screen));
    picture.mask(mask);
    Ok(picture.to_svg("tiller — ~/code/conf"))
}

/// Replaces clocks, durations and spinners by fixed values of the same width.
fn mask(row: &mut [char]) {
    for c in row.iter_mut().filter(|c| ('\u{2801}'..='\u{28ff}').contains(*c)) {
        *c = '⠹';
    }
    clock(row);
    duration(row);
    home(row);
    id(row);
}

/// Replaces the temporary home directory by `~`, and moves the following text up to it.
fn home(row: &mut [char]) {
    let begins = "/tmp/.tmp".chars().collect::<Vec<_>>();
    let Some(at) = row.windows(begins.len()).position(|at| at == begins) else { return };
    let end = row[at + begins.len()..]
        .iter()
        .position(|c| *c == '/')
        .map_or(row.len(), |to| at + begins.len() + to);
    row[at] = '~';
    row[at + 1..].rotate_left(end - at - 1);
    let length = row.len();
    row[length - (end - at - 1)..].fill(' ');
}

/// Masks the end of a session's id after its age, derived from the text before it.
fn id(row: &mut [char]) {
    let before = " now · ".chars().collect::<Vec<_>>();
    let Some(at) = row.windows(before.len()).position(|at| at == before).map(|at| at + before.len()) else {
        return;
    };
    if row.len() < at + 6 || !row[at..at + 6].iter().all(char::is_ascii_alphanumeric) {
        return;
    }
    let digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ".chars().collect::<Vec<_>>();
    let mut sum = row[..at].iter().fold(7_usize, |sum, c| sum.wrapping_mul(31).wrapping_add(*c as usize));
    for c in &mut row[at..at + 6] {
        *c = digits[sum % digits.len()];
        sum /= 3;
    }
}

/// Replaces `06:55` by `14:02`.
fn clock(row: &mut [char]) {
    let is_clock = |at: &[char]| {
        at.iter().enumerate().all(|(index, c)| if index == 2 { *c == ':' } else { c.is_ascii_digit() })
    };
    if let Some(at) = row.windows(5).position(is_clock) {
        row[at..at + 5].copy_from_slice(&['1', '4', ':', '0', '2']);
    }
}

/// Replaces the last `1.2s` of a row by `0.4s`.
fn duration(row: &mut [char]) {
    let is_duration = |at: &[char]| {
        at[0] == ' ' && at[1].is_ascii_digit() && at[2] == '.' && at[3].is_ascii_digit() && at[4] == 's'
    };
    if let Some(at) = row.windows(5).rposition(is_duration) {
        row[at + 1..at + 4].copy_from_slice(&['0', '.', '4']);
    }
}
