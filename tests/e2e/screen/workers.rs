//! The highlight worker, which can be killed at any time, and the page worker.

use std::io::Write as _;
use std::process::Stdio;

use crate::sandbox::Sandbox;
use tiller_test_support::terminal::{DEADLINE, Terminal, TerminalKey};

/// An answer with code that is still streaming.
const CODE: &str = r#"{"text": "```rust\nlet one = 1;\n```\n\nmore", "hang": true}"#;

/// Waits until this text, which is on the screen once, starts in another color than the text after it.
fn wait_for_color(terminal: &Terminal, text: &str) {
    terminal.wait_until_screen("words in their colors", |screen| {
        let rows: Vec<String> = screen.rows(0, screen.size().1.get()).collect();
        let position = rows.iter().enumerate().find_map(|(row, line)| Some((row, line.find(text)?)));
        let color = |(row, column): (usize, usize)| {
            let cell = screen.cell(u16::try_from(row).ok()?, u16::try_from(column).ok()?);
            cell.map(vt100::Cell::fgcolor)
        };
        position.is_some_and(|(row, at)| color((row, at)) != color((row, at + text.len())))
    });
}

/// The highlight worker of this process.
#[cfg(target_os = "linux")]
fn highlight_worker(terminal: &Terminal) -> Option<u32> {
    let tiller = terminal.pid()?;
    let ids = std::fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    ids.into_iter().find(|id: &u32| {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/{id}/{name}")).unwrap_or_default();
        read("status").contains(&format!("PPid:\t{tiller}\n")) && read("cmdline").contains("__words")
    })
}

#[cfg(target_os = "linux")]
#[test]
fn highlight_worker_survives_kill_and_exits_with_tiller() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    let pid = |id: u32| Pid::from_raw(i32::try_from(id).unwrap());
    let sandbox = Sandbox::new();
    let second = r#"{"text": "```rust\nlet two = 2;\n```"}"#;
    let mut terminal = sandbox.open_scripted(&[CODE, second], &["write code"]);
    wait_for_color(&terminal, "let");
    let first = highlight_worker(&terminal).expect("at work");
    kill(pid(first), Signal::SIGKILL).unwrap();
    terminal.key(TerminalKey::Esc);
    terminal.wait_without("esc stops");
    terminal.send("more code");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("two = 2");
    wait_for_color(&terminal, "let two");
    let next = highlight_worker(&terminal).expect("at work");
    assert_ne!(next, first);
    terminal.signal(Signal::SIGKILL);
    let start = std::time::Instant::now();
    while kill(pid(next), None).is_ok() {
        assert!(start.elapsed() < DEADLINE, "it outlived tiller");
        std::thread::yield_now();
    }
}

/// Private memory of tiller in kilobytes.
#[cfg(target_os = "linux")]
fn own_memory(terminal: &Terminal) -> u64 {
    let tiller = terminal.pid().expect("it runs");
    let status = std::fs::read_to_string(format!("/proc/{tiller}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("linux tells");
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn page_worker_keeps_memory_of_grammars_out() {
    let sandbox = Sandbox::new();
    let code = ["rust", "python", "typescript", "cpp"].map(|name| format!("```{name}\\nlet x = 1;\\n```\\n"));
    let answer = format!(r#"{{"text": "{}\nThat is all."}}"#, code.concat());
    let mut terminal = sandbox.open_scripted(&[&answer], &["write code"]);
    terminal.wait_for("That is all.");
    wait_for_color(&terminal, "let x");
    terminal.wait_without("esc stops");
    let before = own_memory(&terminal);
    terminal.send("/export page.html");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("Exported to");
    let page = std::fs::read_to_string(sandbox.project().join("page.html")).unwrap();
    assert!(page.contains("<span class=\"k\">let</span>"), "{page}");
    // The smallest of these grammars needs more.
    let growth = own_memory(&terminal).saturating_sub(before);
    assert!(growth < 8 * 1024, "{growth} kB more");
}

#[test]
fn page_worker_writes_page_or_error() {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[r#"{"text": "Four."}"#]);
    sandbox.run(&["-p", "--provider", "scripted", "--model", &script, "what is 2 + 2?"]);
    let log = sandbox.logs().remove(0);
    let run_output = sandbox.run(&["__page", log.to_str().unwrap()]);
    assert!(
        run_output.code == Some(0)
            && run_output.out.starts_with("<!doctype html>")
            && run_output.out.contains("Four.")
    );
    let run_output = sandbox.run(&["__page", "/nowhere/log.jsonl"]);
    assert_eq!((run_output.code, run_output.out.as_str()), (Some(1), ""));
    assert!(run_output.err.contains("/nowhere/log.jsonl"), "{}", run_output.err);
}

#[test]
fn highlight_worker_answers_each_line() {
    let sandbox = Sandbox::new();
    let mut command = sandbox.command(&["__words"]);
    let mut child = sandbox.start(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
    let mut input = child.stdin.take().unwrap();
    input
        .write_all(b"{\"language\":{\"Named\":\"rust\"},\"thread\":null,\"lines\":[\"let\",\"\"]}\n")
        .unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "[[[3,\"Keyword\"]],[]]\n");
}
