//! The effect of each key, idle and running, in the bytes that terminals send.

mod away;
mod chord;
mod lists;
mod page;
mod text;
mod transcript;
mod tree;
mod walk;
mod work;

use std::fs;
use std::time::Duration;

use crate::sandbox::Sandbox;
use tiller_test_support::mock_server::{AnswerPart, MockServer, RecordedRequest, Reply};
use tiller_test_support::terminal::{Terminal, TerminalKey};

const HELLO: &str = r#"{"text": "Hello yourself."}"#;
const ENDLESS: &str = r#"{"text": "I could go on", "hang": true}"#;

/// A server that gets no request.
const NOWHERE: &str = "http://127.0.0.1:9";

/// Bytes of keys without a name in [`Key`]: in the kitty keyboard protocol, unless noted otherwise.
const CTRL_ENTER: &str = "\x1b[13;5u";
const SHIFT_ENTER: &str = "\x1b[13;2u";
const SHIFT_TAB: &str = "\x1b[Z";
const CTRL_J: &str = "\n";

fn open_idle(sandbox: &Sandbox) -> Terminal {
    let terminal = sandbox.open_scripted(&[HELLO], &[]);
    terminal.wait_for("Type a request");
    terminal
}

fn open_running(sandbox: &Sandbox) -> Terminal {
    let terminal = sandbox.open_scripted(&[ENDLESS, HELLO], &["talk"]);
    terminal.wait_for("I could go on");
    terminal.wait_for("esc stops");
    terminal
}

/// As above, with another model and an image on the clipboard.
fn open_idle_with_clipboard(sandbox: &Sandbox) -> Terminal {
    let terminal = sandbox.open_with_server(NOWHERE, &[HELLO], &[]);
    terminal.wait_for("Type a request");
    terminal
}

fn open_running_with_clipboard(sandbox: &Sandbox) -> Terminal {
    let terminal = sandbox.open_with_server(NOWHERE, &[ENDLESS, HELLO], &["talk"]);
    terminal.wait_for("I could go on");
    terminal.wait_for("esc stops");
    terminal
}

/// Tests of key sequences, and the list of the tested sequences.
macro_rules! sequences {
    ($($name:ident: $sequence:path,)*) => {
        const SEQUENCES: &[&walk::KeySequence] = &[$(&$sequence),*];

        $(#[test]
        fn $name() {
            $sequence.run();
        })*
    };
}

sequences! {
    keys_cursor_moves_in_text: text::MOVES,
    keys_text_is_cut_and_pasted: text::CUTS,
    keys_edits_are_undone_and_redone: text::UNDOES,
    keys_send_while_idle: work::SENDS,
    keys_steer_or_queue_while_running: work::STEERS,
    keys_of_screen_while_idle: work::IDLE,
    keys_of_screen_while_running: work::RUNNING,
    keys_model_thinking_and_image_while_idle: work::CHOICES_IDLE,
    keys_model_thinking_and_image_while_running: work::CHOICES_RUNNING,
    keys_queued_messages_are_moved_and_released: work::QUEUE,
    keys_approval_requests_are_answered: work::ASKS,
    keys_command_moves_to_the_background: work::BACKGROUND,
    keys_transcript_scrolls: transcript::SCROLLS,
    keys_transcript_scrolls_while_running: transcript::SCROLLS_RUNNING,
    keys_blocks_fold: transcript::FOLDS,
    keys_blocks_fold_while_running: transcript::FOLDS_RUNNING,
    keys_plan_folds: transcript::PLAN,
    keys_agents_are_listed: transcript::AGENTS,
    keys_search_finds_words: transcript::SEARCHES,
    keys_search_finds_words_while_running: transcript::SEARCHES_RUNNING,
    keys_list_is_navigated_and_filtered: lists::SETTINGS,
    keys_session_list_renames_trashes_and_groups: lists::SESSIONS,
    keys_tree_is_navigated: tree::TREE,
    keys_suspend_and_resume: away::AWAY,
}

/// Keys that do the same idle and running, as other terminals send them, and the resulting screens.
const OTHER_KEYS: [(&str, &str, &str); 5] = [
    ("ctrl+l, kitty", "\x1b[108;5u", "── models"),
    ("ctrl+l on a Russian keyboard, kitty", "\x1b[1076;5u", "── models"),
    ("backslash and enter", "one\\\rtwo", " ❯ one\n   two"),
    ("alt+b, and esc before a letter in one read", "one two\x1bbX", " ❯ one Xtwo"),
    ("ctrl+enter in tmux's own words, which mean nothing", "one\x1b[27;5;13~\x1b[27;6;112~two", " ❯ onetwo"),
];

#[test]
fn keys_do_the_same_idle_and_running() {
    for (name, bytes, expected) in OTHER_KEYS {
        for start in [open_idle, open_running] {
            let sandbox = Sandbox::new();
            let mut terminal = start(&sandbox);
            terminal.send(bytes);
            terminal.wait_until(&format!("{name}: {expected}"), |screen| screen.contains(expected));
        }
    }
}

#[test]
fn keys_are_equal_with_and_without_protocol() {
    for bytes in [CTRL_J, SHIFT_ENTER] {
        let sandbox = Sandbox::new();
        let mut terminal = open_idle(&sandbox);
        terminal.send("a");
        terminal.send(bytes);
        terminal.send("b");
        terminal.wait_for(" ❯ a\n   b");
        terminal.key(TerminalKey::Enter);
        terminal.wait_for("Hello yourself.");
        assert_eq!(sandbox.messages()[0], "user: a\nb");
    }
}

#[test]
fn keys_release_is_ignored_and_repeat_works() {
    let sandbox = Sandbox::new();
    let mut terminal = open_idle(&sandbox);
    terminal.send("\x1b[97;1:1u\x1b[97;1:2u\x1b[97;1:3u|");
    terminal.wait_for(" ❯ aa|");
}

#[test]
fn keys_ctrl_q_queues_like_alt_enter() {
    let sandbox = Sandbox::new();
    let mut terminal = open_running(&sandbox);
    terminal.send("afterwards");
    terminal.key(TerminalKey::Ctrl('q'));
    terminal.wait_for("↳ next    afterwards");
    terminal.send("and then");
    terminal.key(TerminalKey::AltEnter);
    terminal.wait_for("↳ next    and then");
}

#[test]
fn keys_ctrl_enter_steers_now() {
    let sandbox = Sandbox::new();
    let mut terminal = open_running(&sandbox);
    terminal.send("now");
    terminal.send(CTRL_ENTER);
    terminal.wait_for_answer("Hello yourself.");
    assert_eq!(
        sandbox.messages()[1..],
        ["assistant: I could go on", "user: now", "assistant: Hello yourself."]
    );

    let sandbox = Sandbox::new();
    let mut terminal = open_running(&sandbox);
    terminal.send("now");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("↳ steer   now");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("Hello yourself.");
}

/// The model and the thinking level of a request.
fn requested(server: &MockServer) -> (Vec<String>, Vec<bool>) {
    let requests = server.requests();
    let model = |request: &RecordedRequest| request.body["model"].as_str().unwrap_or_default().to_owned();
    let thinks = |request: &RecordedRequest| request.body.get("thinking").is_some();
    (requests.iter().map(model).collect(), requests.iter().map(thinks).collect())
}

#[test]
fn model_chosen_while_idle_is_used() {
    let (sandbox, server) =
        (Sandbox::new(), MockServer::start([Reply::answer([AnswerPart::Text("Sonnet here.".into())])]));
    let mut terminal = sandbox.open_with_server(&server.url, &[HELLO], &[]);
    terminal.wait_for("Type a request");
    terminal.key(TerminalKey::Ctrl('p'));
    terminal.wait_for("claude-sonnet-5-5  ");
    terminal.send(SHIFT_TAB);
    terminal.wait_for("claude-sonnet-5-5 · minimal");
    terminal.send("who is there?\r");
    terminal.wait_for("Sonnet here.");
    assert_eq!(requested(&server), (vec!["claude-sonnet-5-5".to_owned()], vec![true]));
}

#[test]
fn model_chosen_while_running_is_used_next_turn() {
    let (sandbox, server) =
        (Sandbox::new(), MockServer::start([Reply::answer([AnswerPart::Text("Sonnet here.".into())])]));
    let gate = r#"{"calls": [{"name": "bash", "arguments": {"command": "while [ ! -e gate ]; do sleep 0.02; done"}}]}"#;
    let mut terminal = sandbox.open_with_server(&server.url, &[gate, HELLO], &["wait"]);
    terminal.wait_for("running bash");
    terminal.key(TerminalKey::Ctrl('p'));
    terminal.wait_for("claude-sonnet-5-5  ");
    terminal.send(SHIFT_TAB);
    terminal.wait_for("claude-sonnet-5-5 · minimal");
    assert_eq!(requested(&server), (vec![], vec![]));
    sandbox.write("gate", "");
    terminal.wait_for("Sonnet here.");
    assert_eq!(requested(&server), (vec!["claude-sonnet-5-5".to_owned()], vec![true]));
}

#[test]
fn clipboard_image_is_sent_or_steers() {
    let sees = r#"{"when": "[image #1: 1×1]", "text": "A dot."}"#;
    for (lines, words) in [(&[HELLO, sees][..], &[][..]), (&[ENDLESS, sees], &["talk"])] {
        let sandbox = Sandbox::new();
        let mut terminal = sandbox.open_with_server(NOWHERE, lines, words);
        terminal.wait_for(if words.is_empty() { "Type a request" } else { "I could go on" });
        terminal.key(TerminalKey::Ctrl('v'));
        terminal.wait_for(" ❯ [image #1: 1×1]");
        terminal.send(CTRL_ENTER);
        terminal.wait_for("A dot.");
        let log = sandbox.log();
        let mut users = log.iter().filter(|line| line["message"]["role"] == "user");
        assert_eq!(users.next_back().unwrap()["message"]["content"][1]["mimeType"], "image/png");
    }
}

#[test]
fn keys_shift_tab_cycles_thinking() {
    let sandbox = Sandbox::new();
    let mut terminal = open_idle(&sandbox);
    terminal.send(SHIFT_TAB);
    terminal.wait_for("doesn't support thinking");
}

#[test]
fn keys_esc_twice_opens_the_tree() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&[HELLO], &["hello"]);
    terminal.wait_for_answer("Hello yourself.");
    // With and without the keyboard protocol, both in one piece.
    for twice in ["\x1b[27u\x1b[27u", "\x1b\x1b"] {
        // Shortly after Esc has closed the tree, it doesn't open it.
        terminal.wait_for_stable("❯", Duration::from_secs(1));
        terminal.send(twice);
        terminal.wait_for("── tree");
        terminal.key(TerminalKey::Esc);
        terminal.wait_without("── tree");
    }
}

#[test]
fn keys_ctrl_c_stops_run_if_editor_is_empty() {
    let sandbox = Sandbox::new();
    let mut terminal = open_running(&sandbox);
    terminal.key(TerminalKey::Ctrl('c'));
    terminal.wait_for("stopped");
    terminal.wait_without("esc stops");
}

/// The rows above the editor. Those below may change a moment after the run's end, with the size of the context.
fn rows_above_editor(screen: &str) -> String {
    let rule = "─".repeat(100);
    screen.lines().take_while(|row| *row != rule).collect::<Vec<_>>().join("\n")
}

#[test]
fn keys_fold_output_and_thinking() {
    let sandbox = Sandbox::new();
    let run = r#"{"think": "first thought\nsecond thought\nthird thought\nlast thought", "calls": [{"name": "bash", "arguments": {"command": "seq 1 40"}}]}"#;
    let mut terminal = sandbox.open_scripted(&[run, HELLO], &["count"]);
    terminal.wait_for_answer("Hello yourself.");
    let folded = rows_above_editor(&terminal.screen());
    let has_changed = |screen: &str| rows_above_editor(screen) != folded;
    terminal.key(TerminalKey::Ctrl('o'));
    terminal.wait_until("more of the output", |screen| screen.contains("│ 39") && has_changed(screen));
    terminal.key(TerminalKey::Ctrl('o'));
    terminal.wait_until("less of it", |screen| !has_changed(screen));
    terminal.key(TerminalKey::Ctrl('t'));
    terminal.wait_until("the thought", |screen| screen.contains("last thought") && has_changed(screen));
}

#[test]
fn keys_page_and_end_scroll() {
    let sandbox = Sandbox::new();
    let long_answer = r#"{"text": "line\n\n", "repeat": 80}"#;
    for (text, hang) in [("The end.", false), ("The end.", true)] {
        let last = format!(r#"{{"text": "{text}", "hang": {hang}}}"#);
        let call = long_answer.replace(
            "\"repeat\"",
            r#""calls": [{"name": "bash", "arguments": {"command": "true"}}], "repeat""#,
        );
        let mut terminal = sandbox.open_scripted(&[&call, &last], &["go"]);
        terminal.wait_for(text);
        terminal.key(TerminalKey::PageUp);
        // The end of the run may still be output.
        terminal.wait_for("below · end");
        terminal.wait_without(text);
        terminal.key(TerminalKey::Home);
        terminal.wait_for("▌ go");
        terminal.key(TerminalKey::PageDown);
        terminal.wait_without("▌ go");
        terminal.key(TerminalKey::End);
        terminal.wait_for(text);
        terminal.wait_without("below · end");
    }
}

#[test]
fn keys_edit_and_undo() {
    let sandbox = Sandbox::new();
    let mut terminal = open_idle(&sandbox);
    terminal.send("one two three");
    terminal.send("\x17\x17");
    terminal.wait_for(" ❯ one\n");
    terminal.send("\x01\x19");
    terminal.wait_for(" ❯ two threeone");
    terminal.send("\x1bu");
    terminal.wait_for(" ❯ one\n");
    terminal.send("\x05👩‍👩‍👧🇩🇪|\x7f\x7f");
    terminal.wait_without("|");
    terminal.send("x");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("Hello yourself.");
    assert_eq!(sandbox.messages()[0], "user: one 👩‍👩‍👧x");
}

#[test]
fn paste_of_a_megabyte_is_a_placeholder() {
    let sandbox = Sandbox::new();
    let mut terminal = open_idle(&sandbox);
    let pasted = "0123456789abcde\r".repeat(65_536);
    terminal.send(&format!("see \x1b[200~{pasted}\x1b[201~"));
    terminal.wait_for(" ❯ see [paste #1: 65536 lines]");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("about 262k tokens; the context window");
    terminal.key(TerminalKey::Down);
    terminal.wait_for("▸ send it anyway");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("Hello yourself.");
    assert_eq!(sandbox.messages()[0], format!("user: see {}", pasted.replace('\r', "\n")));
}

#[test]
fn paste_without_brackets_is_fast() {
    let sandbox = Sandbox::new();
    let mut terminal = open_idle(&sandbox);
    let pasted = "0123456789".repeat(2_000);
    let start = std::time::Instant::now();
    terminal.send(&format!("{pasted}!"));
    terminal.wait_for("9!");
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("Hello yourself.");
    assert_eq!(sandbox.messages()[0], format!("user: {pasted}!"));
}

/// An image of one pixel.
const PIXEL: &[u8] = include_bytes!("pixel.png");

#[test]
fn paste_of_image_path_attaches_it() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.project().join("a shot.png"), PIXEL).unwrap();
    sandbox.write("words.png", "no picture");
    let mut terminal = sandbox.open_scripted(&[r#"{"expect": "[image #1: 1×1]", "text": "A dot."}"#], &[]);
    terminal.wait_for("Type a request");
    let path = sandbox.project().join("a\\ shot.png").display().to_string();
    terminal.send(&format!("what is\x1b[200~{path}\x1b[201~"));
    terminal.wait_for(" ❯ what is [image #1: 1×1]");
    terminal.send("\x1b[200~./words.png\x1b[201~");
    terminal.wait_for("words.png is not an image that models accept");
    terminal.wait_for(" ❯ what is [image #1: 1×1] ./words.png");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("A dot.");
    let log = sandbox.log();
    let user_message = log.iter().find(|line| line["message"]["role"] == "user").unwrap();
    assert_eq!(user_message["message"]["content"][1]["type"], "image");
    assert_eq!(user_message["message"]["content"][1]["mimeType"], "image/png");
}

#[test]
fn clipboard_missing_is_reported() {
    let sandbox = Sandbox::new();
    let mut terminal = open_idle(&sandbox);
    terminal.key(TerminalKey::Ctrl('v'));
    terminal.wait_for("No clipboard available");
}

#[test]
fn keybindings_are_applied_and_conflicts_reported() {
    let sandbox = Sandbox::new();
    let config = sandbox.home().join("tiller");
    fs::create_dir_all(&config).unwrap();
    let file = config.join("keybindings.json");
    fs::write(&file, "{\n  \"pick_model\": \"ctrl+x\",\n  \"help\": \"h\"\n}").unwrap();
    let mut terminal = sandbox.open_scripted(&[HELLO], &[]);
    terminal.wait_for("keybindings.json, line 3: h is needed for typing; keeping `?` for `help`");
    terminal.key(TerminalKey::Ctrl('x'));
    terminal.wait_for("── models");
    terminal.key(TerminalKey::Esc);
    terminal.wait_without("── models");

    fs::write(&file, r#"{"pick_model": "f2"}"#).unwrap();
    terminal.send("/reload\r");
    terminal.wait_for("context files");
    terminal.send("\x1bOQ");
    terminal.wait_for("── models");
    terminal.key(TerminalKey::Esc);
    terminal.wait_without("── models");
    terminal.send("/hotkeys\r");
    terminal.wait_for("f2 *");
}

#[test]
fn attach_mentioned_image_is_sent() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.project().join("shot.png"), PIXEL).unwrap();
    let mut terminal = sandbox.open_scripted(&[r#"{"expect": "what is @shot.png", "text": "A dot."}"#], &[]);
    terminal.wait_for("Type a request");
    // After a space nothing is completed: it is sent as typed.
    terminal.send("what is @shot.png and @lost.png ");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("no such file: lost.png; sent as text");
    terminal.wait_for("A dot.");
    terminal.wait_for("▣ image/png 1×1");
    let log = sandbox.log();
    let user_message = log.iter().find(|line| line["message"]["role"] == "user").unwrap();
    let content = user_message["message"]["content"].as_array().unwrap();
    assert_eq!(content.len(), 2, "what isn't there is no picture: {content:?}");
    assert_eq!(content[1]["mimeType"], "image/png");
}

#[test]
fn demo_model_warns_about_images() {
    let sandbox = Sandbox::new();
    fs::write(sandbox.project().join("shot.png"), PIXEL).unwrap();
    let mut terminal = sandbox.open(&["--provider", "demo"]);
    terminal.wait_for("Type anything");
    terminal.send("what is @shot.png ");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("doesn't accept images; enter sends a line of text instead");
    terminal.wait_for(" ❯ what is @shot.png");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("does not accept images: each image is replaced with a line of text");
    terminal.wait_for("▣ image/png 1×1");
}
