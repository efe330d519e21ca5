//! Pictures of overlays and panels: lists, queued messages, an approval.

use std::path::Path;

use serde_json::{Value, json};

use crate::project::{Project, call};
use crate::scenes::{enter, exploring_answer, quit, render_screen, say, text_answer};
use tiller_test_support::svg::DefaultColors;
use tiller_test_support::terminal::{Size, TerminalKey};

/// An extension that asks for approval of every edit.
const GUARD: &str = r#"#!/bin/sh
while read -r line; do
  case $line in
  *'"type":"hello"'*) echo '{"type": "ready", "protocol": 1, "hooks": ["tool_call"]}' ;;
  *'"type":"request"'*)
    id=${line#*'"id":'}
    id=${id%%[,\}]*}
    verdict='{"verdict": "allow"}'
    case $line in *'"toolName":"edit_file"'*) verdict='{"verdict": "ask", "reason": "src is frozen until the release"}' ;; esac
    echo "{\"type\": \"answer\", \"id\": $id, \"result\": $verdict}" ;;
  *'"type":"close"'*) exit ;;
  esac
done
"#;

/// The model list, with the facts of the selected model.
pub(crate) fn models(program: &Path) -> anyhow::Result<String> {
    let project = Project::new()?;
    project.write("tiller/.env", "ANTHROPIC_API_KEY=not-a-key\n")?;
    let mut terminal =
        project.open(program, Size(116, 24), (&[text_answer("Done.")], &["--name", "fix-crlf"]))?;
    terminal.wait_for("Describe a task");
    enter(&mut terminal, "/model");
    terminal.wait_for("needs OPENAI_API_KEY");
    terminal.send("5-5");
    terminal.wait_for("up to 128,000 tokens");
    terminal.key(TerminalKey::Down);
    terminal.wait_for("▸   anthropic/claude-sonnet-5-5");
    render_screen(&terminal, DefaultColors::DARK)
}

/// The session list, including a fork, with the last exchange of the selected session.
pub(crate) fn sessions(program: &Path) -> anyhow::Result<String> {
    let project = Project::new()?;
    let conversations = [
        (
            "tidy-readme",
            "shorten the README to one page",
            "It is one page now; the table of flags moved to docs/flags.md.",
        ),
        (
            "",
            "which flags are unused?",
            "`--legacy-quotes` and `--strict`: neither occurs in the last 400 commits.",
        ),
        (
            "fix-crlf",
            "the parser test fails on windows line endings, find out why",
            "`\\r\\n` became *two* newlines.\n\nThe lexer takes both at once now, and tests/lexer.rs says so.",
        ),
    ];
    for (name, prompt, answer) in conversations {
        let arguments: &[&str] = if name.is_empty() { &[] } else { &["--name", name] };
        let mut terminal = project.open(program, Size(116, 24), (&[text_answer(answer)], arguments))?;
        terminal.wait_for("Describe a task");
        say(&mut terminal, prompt, answer.rsplit(' ').next().unwrap_or_default());
        quit(terminal)?;
    }
    let answers =
        [text_answer(""), text_answer("The tokens keep their line now: `Token { kind, text, line }`.")];
    let mut terminal = project.open(program, Size(116, 24), (&answers, &["-c"]))?;
    terminal.wait_for("becam");
    enter(&mut terminal, "/clone");
    terminal.wait_for("Switched to a copy");
    say(&mut terminal, "let every token know its line", "The tokens keep");
    quit(terminal)?;
    let mut terminal = project.open(program, Size(116, 24), (&[], &["-r"]))?;
    terminal.wait_for("tidy-readme");
    terminal.wait_for("fix-crlf (fork)");
    while !terminal
        .screen()
        .lines()
        .any(|line| line.contains("▸") && line.contains("fix-crlf") && !line.contains("(fork)"))
    {
        let before = terminal.screen();
        terminal.key(TerminalKey::Down);
        terminal.wait_until("another row chosen", |screen| screen != before);
    }
    terminal.wait_for("takes both at once now");
    render_screen(&terminal, DefaultColors::DARK)
}

/// Queued messages, the lowest selected, below one that was delivered.
pub(crate) fn queue(program: &Path) -> anyhow::Result<String> {
    let project = Project::new()?;
    let work = json!({
        "text": "Understood, the fixture stays.",
        "calls": [call("bash", json!({"command": "cargo test"}))],
        "usage": {"input": 7_900, "output": 520, "cacheRead": 14_100, "cost": {"total": 0.041}},
    });
    let answers: [Value; 3] = [exploring_answer(), work, text_answer("Done.")];
    let prompt = "the parser test fails on windows line endings, find out why";
    let mut terminal = project.open(program, Size(116, 30), (&answers, &["--name", "fix-crlf", prompt]))?;
    terminal.wait_for("right: 4");
    enter(&mut terminal, "leave the fixture alone; fix the lexer");
    terminal.wait_for("↳ steer");
    project.let_through(1)?;
    terminal.wait_for("crlf_is_one_newline ... ok");
    enter(&mut terminal, "add a test for a lone \\r, too");
    terminal.wait_for("↳ steer");
    for later in ["then add a line to CHANGELOG.md", "and run the whole suite once more"] {
        terminal.send(later);
        terminal.wait_for(&format!("❯ {later}"));
        terminal.key(TerminalKey::AltEnter);
        terminal.wait_for(&format!("↳ next    {later}"));
    }
    terminal.key(TerminalKey::AltUp);
    terminal.key(TerminalKey::Up);
    terminal.wait_for("▸ ↳ next    then add");
    render_screen(&terminal, DefaultColors::DARK)
}

/// An edit that needs approval because of an extension.
pub(crate) fn approval(program: &Path) -> anyhow::Result<String> {
    let project = Project::new()?;
    project.add_program("tiller/extensions/guard", GUARD)?;
    let old = "        self.take(1, Kind::Newline)\n";
    let new = "        // One token for both, on every system.\n        self.take(breaks(self.rest), Kind::Newline)\n";
    let work = json!({
        "text": "`newline` makes **two** tokens of `\\r\\n`. It has to take both at once:",
        "calls": [
            call("read_file", json!({"path": "src/lexer.rs"})),
            call("edit_file", json!({"path": "src/lexer.rs", "old_text": old, "new_text": new})),
        ],
        "usage": {"input": 7_900, "output": 520, "cacheRead": 14_100, "cost": {"total": 0.041}},
    });
    let prompt = "the parser test fails on windows line endings, find out why";
    let terminal = project.open(
        program,
        Size(116, 28),
        (&[work, text_answer("Done.")], &["--name", "fix-crlf", prompt]),
    )?;
    terminal.wait_for("edit_file needs approval");
    terminal.wait_for("deny + why");
    render_screen(&terminal, DefaultColors::DARK)
}
