//! Attacks by a cloned repository, a model or a provider.

use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

use serde_json::json;

use super::sandbox::Sandbox;
use tiller_test_support::terminal::TerminalKey;

/// Escape sequences that a terminal acts on, and characters that change the visible text.
const ESCAPES: [&str; 6] = [
    "\u{1b}]52;c;ZXZpbA==\u{7}",
    "\u{1b}]0;owned\u{7}",
    "\u{1b}Pq\u{1b}\\",
    "\u{9b}2J",
    "\u{202e}txt",
    "\u{200b}x",
];

fn acts_on_a_terminal(output: &str) -> bool {
    ["\u{1b}]52", "\u{1b}]0;owned", "\u{1b}Pq", "\u{9b}", "\u{202e}", "\u{200b}"]
        .iter()
        .any(|sequence| output.contains(sequence))
}

fn make_pipe(path: &std::path::Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn attacks_own_dirs_are_denied_to_tools_at_home() {
    let sandbox = Sandbox::new();
    fs::create_dir_all(sandbox.home().join("tiller/extensions")).unwrap();
    fs::write(sandbox.home().join("seen"), "needle").unwrap();
    fs::write(sandbox.home().join("tiller/unseen"), "needle").unwrap();
    let script = sandbox.script(&[
        r#"{"calls": [
            {"name": "write_file", "arguments": {"path": "tiller/extensions/guard", "content": "evil"}},
            {"name": "write_file", "arguments": {"path": "tiller/.env", "content": "ANTHROPIC_BASE_URL=http://evil"}},
            {"name": "grep", "arguments": {"pattern": "^needle"}}]}"#
            .replace('\n', "")
            .as_str(),
        r#"{"text": "Tried."}"#,
    ]);
    // A search of the whole home directory needs approval, because it may contain keys.
    let home = sandbox.home().to_str().unwrap().to_owned();
    let mut terminal = sandbox.open(&["--yes", "--cwd", &home, "--provider", "scripted", "--model", &script]);
    terminal.wait_for("the working directory is your home directory");
    terminal.send("go");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("Tried.");
    assert!(terminal.quit().success());
    let results: Vec<String> =
        sandbox.messages().into_iter().filter(|line| line.starts_with("toolResult")).collect();
    let refusal = "toolResult: tiller/extensions/guard is one of tiller's own files, which tools can't access; ask the user to change it";
    assert_eq!(results[0], refusal);
    assert!(
        !sandbox.home().join("tiller/extensions/guard").exists()
            && !sandbox.home().join("tiller/.env").exists()
    );
    assert_eq!(results[2].trim_end(), "toolResult: seen:1:needle");
}

#[test]
fn attacks_commands_naming_own_dirs_ask_in_auto() {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[
        r#"{"calls": [{"name": "bash", "arguments": {"command": "cat $HOME/tiller/auth.json; ls"}},
            {"name": "bash", "arguments": {"command": "echo x >> ~/.bashrc"}},
            {"name": "bash", "arguments": {"command": "echo free"}}]}"#
            .replace('\n', "")
            .as_str(),
        r#"{"text": "Tried."}"#,
    ]);
    let fixed = ["-p", "--approval", "auto", "--provider", "scripted", "--model", script.as_str()];
    assert_eq!(sandbox.run(&[&fixed[..], &["go"]].concat()).code, Some(0));
    let results: Vec<String> =
        sandbox.messages().into_iter().filter(|line| line.starts_with("toolResult")).collect();
    assert!(results[0].contains("accesses tiller's own configuration, keys or sessions"), "{results:?}");
    assert!(results[1].contains("changes startup or credential files in your home directory"), "{results:?}");
    assert_eq!(results[2].trim_end(), "toolResult: free");
    assert!(!sandbox.home().join(".bashrc").exists());
}

#[test]
fn attacks_repository_links_neither_hang_nor_leak_keys() {
    for (name, target) in [(".gitignore", "/dev/tty"), (".ignore", "/dev/zero"), ("AGENTS.md", "/dev/tty")] {
        let sandbox = Sandbox::new();
        symlink(target, sandbox.project().join(name)).unwrap();
        fs::create_dir_all(sandbox.project().join(".git/info")).unwrap();
        fs::create_dir_all(sandbox.project().join(".tiller/extensions")).unwrap();
        make_pipe(&sandbox.project().join(".git/info/exclude"));
        make_pipe(&sandbox.project().join(".git/HEAD"));
        make_pipe(&sandbox.project().join(".tiller/settings.json"));
        symlink("/dev/zero", sandbox.project().join(".env")).unwrap();
        sandbox.write("notes.txt", "hello\n");
        let lines = [r#"{"calls": [{"name": "list_files", "arguments": {}}]}"#, r#"{"text": "Listed."}"#];
        let mut terminal = sandbox.open_scripted(&lines, &[]);
        terminal.wait_for("❯");
        terminal.send("@no");
        terminal.wait_for("notes.txt");
        terminal.key(TerminalKey::Enter);
        terminal.send(" go");
        terminal.key(TerminalKey::Enter);
        terminal.wait_for("Listed.");
        assert!(terminal.quit().success(), "{name}");
        let listed = sandbox.messages().into_iter().find(|line| line.starts_with("toolResult")).unwrap();
        assert!(listed.contains("notes.txt"), "{listed}");
    }
}

#[test]
fn attacks_devices_and_pipes_are_rejected() {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[r#"{"text": "Hi."}"#]);
    let fixed = ["--provider", "scripted", "--model", script.as_str()];
    let command = json!({"id": "1", "type": "switch_session", "sessionPath": "/dev/zero"});
    let output = sandbox.run_with_stdin(&[&["--mode", "rpc"], &fixed[..]].concat(), &format!("{command}\n"));
    let answer = output.out.lines().find(|line| line.contains("switch_session")).unwrap();
    assert!(answer.contains("a device, not a regular file"), "{answer}");

    let output = sandbox.run(&[&["-p"], &fixed[..], &["@/dev/zero"]].concat());
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("can't read /dev/zero: a device, not a regular file"), "{}", output.err);

    assert_eq!(sandbox.run(&[&["-p"], &fixed[..], &["hello"]].concat()).code, Some(0));
    let pipe = sandbox.project().join("out.md");
    make_pipe(&pipe);
    let log = sandbox.logs()[0].display().to_string();
    let output = sandbox.run(&["sessions", "export", &log, "--force", "-o", pipe.to_str().unwrap()]);
    assert_eq!(output.code, Some(2));
    assert!(output.err.contains("it exists and is not a regular file"), "{}", output.err);
}

#[test]
fn attacks_arguments_from_process_substitution_are_read() {
    let sandbox = Sandbox::new();
    let script = sandbox.script(&[r#"{"text": "Hi."}"#]);
    let tiller = env!("CARGO_BIN_EXE_tiller");
    let line = format!(
        "exec {tiller} -p --provider scripted --model {script} --env-file <(echo TILLER_MAX_TOKENS=77) @<(echo piped words)"
    );
    let mut command = Command::new("bash");
    command.arg("-c").arg(line).current_dir(sandbox.project()).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap()).env("TILLER_HOME", sandbox.home().join("tiller"));
    let output: super::sandbox::RunOutput = command.output().unwrap().into();
    assert_eq!((output.code, output.out.as_str()), (Some(0), "Hi.\n"), "{}", output.err);
    assert!(sandbox.messages()[0].contains("piped words"), "{:?}", sandbox.messages());
}

#[test]
fn attacks_escape_sequences_never_reach_the_terminal() {
    for escape in ESCAPES {
        let sandbox = Sandbox::new();
        fs::create_dir_all(sandbox.project().join(".tiller/extensions")).unwrap();
        sandbox.write(&format!(".tiller/extensions/x{}", escape.replace('/', "_")), "");
        let text = json!({"text": format!("said {escape} so")}).to_string();
        let error = json!({"error": {"failure": "fatal", "message": format!("bad {escape}")}}).to_string();
        let (model, missing) = (format!("no{escape}"), format!("@no{escape}"));
        let visible = tiller::render::sanitize(escape, tiller::render::ControlChars::Visible);
        for (case, lines, arguments) in [
            ("answer", vec![text.as_str()], vec!["-p", "x"]),
            ("error", vec![error.as_str()], vec!["-p", "x"]),
            ("query", vec![text.as_str()], vec!["-p", "--session", model.as_str(), "x"]),
            ("file", vec![text.as_str()], vec!["-p", missing.as_str()]),
            ("option", vec![], vec!["--approval", model.as_str()]),
        ] {
            let mut terminal = sandbox.open_scripted(&lines, &arguments);
            terminal.wait();
            let output = terminal.output();
            assert!(!acts_on_a_terminal(&output), "{case} {escape:?}: {output:?}");
            // The terminal may wrap the line; the option parser strips some sequences itself.
            let joined = output.replace(['\r', '\n'], "");
            assert!(case == "option" || joined.contains(&*visible), "{case} {escape:?}: {output:?}");
        }
        let settings = sandbox.run(&["settings"]);
        assert!(!acts_on_a_terminal(&settings.err), "{:?}", settings.err);
    }
}
