//! Terminal signals besides the screen, suspending, and external editors.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Instant;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::sandbox::Sandbox;
use tiller_test_support::terminal::{DEADLINE, Size, Terminal, TerminalKey, TerminalStart};

const HELLO: &str = r#"{"text": "Hello yourself."}"#;
const SLOW: &str = r#"{"text": "Hello yourself.", "chunk": 5, "delay_ms": 100}"#;
const ENDLESS: &str = r#"{"text": "I could go on", "hang": true}"#;
const FOCUS_LOST: &str = "\x1b[O";
const FOCUS_GAINED: &str = "\x1b[I";

pub(super) fn wait_until(condition: &str, condition_holds: impl Fn() -> bool) {
    let deadline = Instant::now() + DEADLINE;
    while !condition_holds() {
        assert!(Instant::now() < deadline, "there never was {condition}");
        std::thread::yield_now();
    }
}

fn wait_for_bytes(terminal: &Terminal, bytes: &str) {
    wait_until(&format!("{bytes:?}"), || terminal.output().contains(bytes));
}

/// A terminal that supports titles, progress and notifications.
fn sandbox() -> Sandbox {
    Sandbox::new().with_variable("TERM_PROGRAM", "ghostty").with_variable("TILLER_NOTIFY_AFTER_S", "0")
}

#[test]
fn title_and_progress_are_set_and_restored() {
    let sandbox = sandbox();
    let mut terminal = sandbox.open_scripted(&[SLOW], &["hello", "--name", "greeting"]);
    terminal.wait_for_answer("Hello yourself.");
    wait_for_bytes(&terminal, "\x1b]2;tiller · greeting · working\x07");
    wait_for_bytes(&terminal, "\x1b]2;tiller · greeting\x07");
    assert_eq!(terminal.quit().exit_code(), 0);
    let output = terminal.output();
    let places = ["\x1b[22;2t", "\x1b]9;4;3;0\x07", "\x1b]9;4;0;0\x07", "\x1b]2;\x07\x1b[23;2t"];
    let places: Vec<usize> = places.iter().map(|bytes| output.find(bytes).unwrap()).collect();
    assert!(places.is_sorted(), "{places:?}");
    let pushed = output.matches("\x1b[>5u").count();
    assert_eq!((pushed, output.matches("\x1b[<1u").count()), (1, 1), "keyboard flags are taken back");
    assert!(output.contains("\x1b[?1004h") && output.contains("\x1b[?1004l"));
}

#[test]
fn notification_only_without_focus() {
    let sandbox = sandbox();
    let mut terminal = sandbox.open_scripted(&[HELLO, SLOW], &["--name", "greeting"]);
    terminal.wait_for("Type a request");
    terminal.send(FOCUS_GAINED);
    terminal.send("one\r");
    terminal.wait_for_answer("Hello yourself.");
    terminal.send(FOCUS_LOST);
    terminal.send("two\r");
    wait_for_bytes(&terminal, "\x1b]9;tiller: greeting: done\x07");
    assert_eq!(terminal.output().matches("]9;tiller").count(), 1, "the terminal had the focus before");
}

#[test]
fn notification_is_bell_without_focus_events() {
    let sandbox = Sandbox::new().with_variable("TILLER_NOTIFY_AFTER_S", "0");
    let mut terminal = sandbox.open_scripted(&[SLOW], &["hello"]);
    terminal.wait_for("Hello yourself.");
    wait_until("a bell that ends no sequence", || {
        let output = terminal.output();
        output.match_indices('\x07').any(|(at, _)| {
            let before = &output[..at];
            before.rfind("\x1b]").is_none_or(|sequence_start| before[sequence_start..].contains('\x07'))
        })
    });
    terminal.quit();
    assert!(!terminal.output().contains("\x1b]9;"), "nothing that it may not understand");
}

/// An interactive shell with job control that runs tiller and writes its process id to a file.
pub(super) fn in_a_shell(sandbox: &Sandbox, answer: &str) -> Terminal {
    let script = sandbox.script(&[answer]);
    let tiller = env!("CARGO_BIN_EXE_tiller");
    sandbox.write(
        "run.sh",
        &format!("echo $$ > pid\nexec {tiller} --yes --provider scripted --model {script} talk\n"),
    );
    let mut terminal = Terminal::start(&TerminalStart {
        program: "bash".into(),
        arguments: vec!["--norc".into(), "--noprofile".into(), "-i".into()],
        cwd: sandbox.project().to_owned(),
        variables: vec![
            ("HOME".into(), sandbox.home().display().to_string()),
            ("TILLER_HOME".into(), sandbox.home().join("tiller").display().to_string()),
            ("PS1".into(), "shell> ".into()),
            ("EDITOR".into(), "sh editor.sh".into()),
        ],
        size: Size(100, 40),
    });
    terminal.wait_for("shell>");
    terminal.send("sh run.sh\r");
    terminal.wait_for("I could go on");
    terminal
}

fn is_back(terminal: &mut Terminal) {
    // After SIGSTOP, the last frame stays above the shell's prompt until the shell clears the screen.
    terminal.wait_until("tiller's screen without the shell's prompt", |screen| {
        screen.contains("esc stops") && screen.contains("I could go on") && !screen.contains("shell>")
    });
    wait_until("the alternate screen", || terminal.inspect(vt100::Screen::alternate_screen));
    terminal.send("typed again");
    terminal.wait_for("❯ typed again");
    assert!(!terminal.screen().contains("shell>"), "{}", terminal.screen());
}

#[test]
fn suspend_restores_the_terminal() {
    let sandbox = Sandbox::new();
    let mut terminal = in_a_shell(&sandbox, ENDLESS);
    terminal.key(TerminalKey::Ctrl('z'));
    terminal.wait_for("Stopped");
    let (alternate, bracketed) =
        terminal.inspect(|screen| (screen.alternate_screen(), screen.application_keypad()));
    assert_eq!((alternate, bracketed), (false, false));
    terminal.send("echo still $((1 + 1))\r");
    terminal.wait_for("still 2");
    terminal.resize(Size(90, 30));
    terminal.send("fg\r");
    is_back(&mut terminal);
    let rule = "─".repeat(90);
    terminal.wait_until("the editor at its size", |screen| screen.lines().any(|line| line == rule));
}

/// tiller's process in a shell.
fn pid(sandbox: &Sandbox) -> Pid {
    let pid = fs::read_to_string(sandbox.project().join("pid")).unwrap();
    Pid::from_raw(pid.trim().parse().unwrap())
}

#[test]
fn suspend_by_sigstop_resumes() {
    let sandbox = Sandbox::new();
    let mut terminal = in_a_shell(&sandbox, ENDLESS);
    for signal in [Signal::SIGSTOP, Signal::SIGTSTP] {
        let prompts = terminal.output().matches("shell>").count();
        kill(pid(&sandbox), signal).unwrap();
        wait_until("the shell's prompt", || terminal.output().matches("shell>").count() > prompts);
        if signal == Signal::SIGTSTP {
            assert!(!terminal.inspect(vt100::Screen::alternate_screen), "the screen was given back before");
        }
        terminal.send("clear; fg\r");
        is_back(&mut terminal);
        terminal.key(TerminalKey::Ctrl('c'));
        terminal.wait_without("typed again");
    }
}

#[test]
fn suspend_second_sigcont_is_harmless() {
    let sandbox = Sandbox::new();
    let mut terminal = in_a_shell(&sandbox, ENDLESS);
    let [left, titles] = ["\x1b[?1049l", "\x1b[22;2t"];
    let count = |terminal: &Terminal, bytes: &str| terminal.output().matches(bytes).count();
    for nth in 1..=3 {
        kill(pid(&sandbox), Signal::SIGCONT).unwrap();
        wait_until("another alternate screen", || count(&terminal, "\x1b[?1049h") > nth);
    }
    is_back(&mut terminal);
    assert_eq!((count(&terminal, left), count(&terminal, titles)), (0, 1), "it is ours all the time");
    terminal.key(TerminalKey::Ctrl('z'));
    terminal.wait_for("Stopped");
    terminal.send("clear; fg\r");
    terminal.wait_for("❯ typed again");
    terminal.key(TerminalKey::Esc);
    terminal.wait_without("esc stops");
    terminal.key(TerminalKey::Ctrl('c'));
    terminal.key(TerminalKey::Ctrl('d'));
    terminal.wait_for("shell>");
    assert_eq!((count(&terminal, left), count(&terminal, titles)), (2, 2), "given back once for each time");
    assert_eq!(count(&terminal, "\x1b[>5u"), count(&terminal, "\x1b[<1u"));
}

#[test]
fn suspend_in_external_editor_resumes_both() {
    let sandbox = Sandbox::new();
    sandbox.write("editor.sh", "echo editing; kill -TSTP 0; printf ' and more' >> \"$1\"\n");
    let mut terminal = in_a_shell(&sandbox, ENDLESS);
    terminal.send("a draft");
    terminal.wait_for("❯ a draft");
    terminal.key(TerminalKey::Ctrl('g'));
    terminal.wait_for("Stopped");
    terminal.wait_for("editing");
    terminal.send("clear; fg\r");
    terminal.wait_for("❯ a draft and more");
    terminal.wait_for("esc stops");
}

#[test]
fn suspend_without_job_control_is_refused() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&[HELLO], &[]);
    terminal.wait_for("Type a request");
    terminal.key(TerminalKey::Ctrl('z'));
    wait_until("the screen given back", || terminal.output().contains("\x1b[?1049l"));
    terminal.send("still here");
    terminal.wait_for("❯ still here");
    assert!(terminal.inspect(vt100::Screen::alternate_screen) && !terminal.is_cooked());
}

/// A fake external editor.
pub(super) fn editor(sandbox: Sandbox, script: &str) -> Sandbox {
    let path = sandbox.write("editor.sh", &format!("#!/bin/sh\n{script}\n"));
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    let command = format!("{} --wait", path.display());
    sandbox.with_variable("EDITOR", &command)
}

#[test]
fn external_editor_runs_beside_the_agent() {
    let sandbox = editor(
        Sandbox::new(),
        "echo editing $1; while [ ! -e gate ]; do sleep 0.02; done; printf ' and more\\n' >> $2",
    );
    let answer = r#"{"text": "word ", "repeat": 200, "delay_ms": 2}"#;
    let mut terminal = sandbox.open_scripted(&[answer], &["go"]);
    terminal.wait_for("word");
    terminal.send("draft");
    terminal.wait_for("❯ draft");
    terminal.key(TerminalKey::Ctrl('g'));
    terminal.wait_for("editing --wait");
    assert!(!terminal.inspect(vt100::Screen::alternate_screen) && terminal.is_cooked());
    wait_until("the answer in the log", || {
        sandbox.messages().iter().any(|message| message.starts_with("assistant: word"))
    });
    sandbox.write("gate", "");
    terminal.wait_for("❯ draft and more");
    terminal.wait_without("esc stops");
    assert!(terminal.inspect(vt100::Screen::alternate_screen) && !terminal.is_cooked());
}

#[test]
fn external_editor_gets_the_keys() {
    let sandbox =
        editor(Sandbox::new(), "echo editing; read said < /dev/tty; printf ' and %s\\n' \"$said\" >> $2");
    let mut terminal = sandbox.open_scripted(&[HELLO], &[]);
    terminal.wait_for("Type a request");
    terminal.send("!sleep 300\r");
    terminal.wait_for("! sleep 300");
    terminal.send("draft");
    terminal.wait_for("❯ draft");
    terminal.key(TerminalKey::Ctrl('g'));
    terminal.wait_for("editing");
    for key in "what is typed here\r".chars() {
        terminal.send(&key.to_string());
    }
    terminal.wait_for("❯ draft and what is typed here");
    for key in " and there".chars() {
        terminal.send(&key.to_string());
    }
    terminal.wait_for("❯ draft and what is typed here and there");
}

#[test]
fn external_editor_failure_keeps_text() {
    for (sandbox, condition) in [
        (Sandbox::new().with_variable("VISUAL", "no-such-editor"), "program not found: `no-such-editor`"),
        (editor(Sandbox::new(), "echo gone > $2; exit 3"), "failed: exit status: 3"),
    ] {
        let mut terminal = sandbox.open_scripted(&[HELLO], &[]);
        terminal.wait_for("Type a request");
        terminal.send("dear draft");
        terminal.wait_for("❯ dear draft");
        terminal.key(TerminalKey::Ctrl('g'));
        terminal.wait_for(condition);
        terminal.wait_for("❯ dear draft");
    }
}

#[test]
fn draft_survives_a_kill() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&[HELLO], &[]);
    terminal.wait_for("Type a request");
    terminal.send("half a thought");
    let drafts = || -> Vec<String> {
        let files = fs::read_dir(sandbox.home().join("tiller/state/drafts")).into_iter().flatten();
        let paths = files.filter_map(|file| Some(file.ok()?.path()));
        // A file that is being written has a temporary name.
        let draft_files = paths.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        draft_files.filter_map(|path| fs::read_to_string(path).ok()).collect()
    };
    wait_until("a draft", || drafts().iter().any(|text| text.contains("half a thought")));
    terminal.signal(Signal::SIGKILL);
    terminal.wait();

    let mut terminal = sandbox.open_scripted(&[HELLO], &[]);
    terminal.wait_for("❯ half a thought");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("Hello yourself.");
    wait_until("no draft", || drafts().is_empty());
}
