//! Resuming sessions: the newest, one by name or search, and one whose project was moved.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::sandbox::{RunOutput, Sandbox};
use tiller_test_support::terminal::TerminalKey;

/// Arguments of a print-mode run that answers every prompt with "Yes.".
fn ask(sandbox: &Sandbox, extra_arguments: &[&str]) -> RunOutput {
    let script = sandbox.script(&[r#"{"text": "Yes."}"#; 9]);
    sandbox.run(&[&["-p", "--provider", "scripted", "--model", &script], extra_arguments].concat())
}

/// Writes a log of another directory into the sandbox, as if by tiller.
fn log_of(sandbox: &Sandbox, cwd: &str, id: &str, prompt: &str, remote: Option<&str>) -> PathBuf {
    let dir =
        sandbox.home().join(format!("tiller/sessions/--{}--", cwd.trim_start_matches('/').replace('/', "-")));
    fs::create_dir_all(&dir).unwrap();
    let header = format!(
        r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-11-21T03:16:58.249Z","cwd":"{cwd}"}}"#
    );
    let remote = remote.map(|remote| format!(r#","remote":"{remote}""#)).unwrap_or_default();
    let run = format!(
        r#"{{"type":"custom","id":"{id}r","parentId":null,"timestamp":"2026-11-21T03:16:58.249Z","customType":"tiller.run","data":{{"mode":"tui","resumed":false,"version":"0"{remote}}}}}"#
    );
    let message = format!(
        r#"{{"type":"message","id":"{id}m","parentId":"{id}r","timestamp":"2026-11-21T03:16:58.249Z","message":{{"role":"user","content":"{prompt}","timestamp":1}}}}"#
    );
    let path = dir.join(format!("2026-11-21T03-16-58-249Z_{id}.jsonl"));
    fs::write(&path, format!("{header}\n{run}\n{message}\n")).unwrap();
    path
}

fn touch(path: &Path, second: u64) {
    let modified = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
    fs::File::options().append(true).open(path).unwrap().set_modified(modified).unwrap();
}

/// The path of a directory that no longer exists.
fn missing_dir(sandbox: &Sandbox, name: &str) -> String {
    sandbox.home().join("gone").join(name).display().to_string()
}

fn project_dir(sandbox: &Sandbox) -> String {
    sandbox.project().canonicalize().unwrap().file_name().unwrap().to_str().unwrap().to_owned()
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn list(sandbox: &Sandbox, extra_arguments: &[&str]) -> Vec<Value> {
    let output = sandbox.run(&[&["sessions", "list", "--json"], extra_arguments].concat());
    assert_eq!(output.code, Some(0), "{}", output.err);
    serde_json::from_str(&output.out).unwrap()
}

#[test]
fn continue_opens_the_newest_session() {
    let sandbox = Sandbox::new();
    ask(&sandbox, &["the older one"]);
    let older = sandbox.logs().remove(0);
    touch(&older, 1_000_000_000);
    ask(&sandbox, &["the newer one"]);
    log_of(&sandbox, "/somewhere/else", "FOREIGN1", "not this one", None);
    assert_eq!(ask(&sandbox, &["-c", "go on"]).code, Some(0));
    let continued: Vec<PathBuf> =
        sandbox.logs().into_iter().filter(|path| text(path).contains("go on")).collect();
    assert_eq!(continued.len(), 1);
    assert!(text(&continued[0]).contains("the newer one"));
}

#[test]
fn resume_by_id_name_or_text() {
    let sandbox = Sandbox::new();
    ask(&sandbox, &["--name", "lexer work", "please fix the tokenizer"]);
    ask(&sandbox, &["an unrelated question"]);
    let session = list(&sandbox, &[]).into_iter().find(|session| session["name"] == "lexer work").unwrap();
    let (id, path) = (session["id"].as_str().unwrap(), session["path"].as_str().unwrap());
    for (words, expected) in [(&id[id.len() - 6..], "by id"), ("Lexer", "by name"), ("tokeniz", "by words")] {
        let output = ask(&sandbox, &["-r", words, expected]);
        assert_eq!(output.code, Some(0), "{}", output.err);
        assert!(text(Path::new(path)).contains(expected), "{expected}");
    }
    // A file of that name in the working directory is something else.
    sandbox.write("tokeniz", "no session");
    assert_eq!(ask(&sandbox, &["-r", "tokeniz", "and again"]).code, Some(0));
    assert!(text(Path::new(path)).contains("and again"));
    let output = ask(&sandbox, &["-r", "nothing like it", "hello"]);
    assert_eq!((output.out.as_str(), output.code), ("", Some(2)));
    assert!(
        output.err.contains("matches `nothing like it`") && output.err.contains("search --all"),
        "{}",
        output.err
    );
    let output = ask(&sandbox, &["hello", "-r"]);
    assert_eq!((output.out.as_str(), output.code), ("", Some(2)));
    assert!(output.err.contains("no session given"), "{}", output.err);
}

#[test]
fn search_finds_text_here_and_everywhere() {
    let sandbox = Sandbox::new();
    ask(&sandbox, &["--name", "lexer work", "please fix the tokenizer now"]);
    log_of(&sandbox, "/somewhere/else", "FOREIGN1", "another tokenizer \\u001b[2J elsewhere", None);
    let output = sandbox.run(&["sessions", "search", "tokenizer"]);
    let session = &list(&sandbox, &[])[0];
    let id = session["id"].as_str().unwrap();
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
    assert!(output.out.starts_with(&id[id.len() - 6..]), "{}", output.out);
    assert!(output.out.ends_with("lexer work\n    please fix the [tokenizer] now\n"), "{}", output.out);
    let all = sandbox.run(&["sessions", "search", "--all", "another", "tok"]).out;
    assert!(all.contains("[another] [tokenizer]") && all.contains("/somewhere/else"), "{all}");
    assert!(!all.contains('\u{1b}'), "{all:?}");
    let hits: Vec<Value> =
        serde_json::from_str(&sandbox.run(&["sessions", "search", "tokenizer", "--json"]).out).unwrap();
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0]["session"]["id"], id);
    assert_eq!(hits[0]["snippet"][1], serde_json::json!({"text": "tokenizer", "matched": true}));
    assert!(text(Path::new(session["path"].as_str().unwrap())).contains(hits[0]["entry"].as_str().unwrap()));
    let output = sandbox.run(&["sessions", "search", "nobody said this"]);
    assert_eq!((output.out.as_str(), output.code), ("", Some(0)));
    assert!(output.err.contains("--all"), "{}", output.err);
}

#[test]
fn list_is_paged() {
    let sandbox = Sandbox::new();
    for (second, id) in (1_000_000_000..).zip(["AAAA1111", "BBBB2222", "CCCC3333"]) {
        touch(&log_of(&sandbox, "/somewhere", id, id, None), second);
    }
    let output = sandbox.run(&["sessions", "list", "--all", "--limit", "2"]);
    let ids: Vec<&str> = output.out.lines().map(|line| &line[..6]).collect();
    assert_eq!(ids, ["CC3333", "BB2222"]);
    assert!(output.err.contains("--offset 2"), "{}", output.err);
    let output = sandbox.run(&["sessions", "list", "--all", "--limit", "2", "--offset", "2"]);
    assert!(
        output.out.starts_with("AA1111") && output.out.lines().count() == 1 && output.err.is_empty(),
        "{output:?}"
    );
    assert_eq!(list(&sandbox, &["--all", "--limit", "0"]).len(), 3);
}

#[test]
fn resume_session_of_moved_project() {
    let sandbox = Sandbox::new();
    let log =
        log_of(&sandbox, &missing_dir(&sandbox, &project_dir(&sandbox)), "MOVED123", "from before", None);
    let output = ask(&sandbox, &["-c", "still there?"]);
    assert_eq!((output.out.as_str(), output.code), ("Yes.\n", Some(0)), "{}", output.err);
    assert!(
        output.err.contains("continuing session VED123") && output.err.contains("no longer exists"),
        "{}",
        output.err
    );
    assert_eq!(sandbox.logs(), std::slice::from_ref(&log), "the log is extended in place");
    let run = text(&log).lines().rev().find(|line| line.contains("tiller.run")).unwrap().to_owned();
    let run: Value = serde_json::from_str(&run).unwrap();
    assert_eq!(run["data"]["cwd"], sandbox.project().canonicalize().unwrap().to_str().unwrap());
    // It is now a session of this directory: it opens without a notice, even if the catalog is lost.
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(sandbox.home().join(format!("tiller/state/sessions.db{ending}")));
    }
    let second_output = ask(&sandbox, &["-c", "and now?"]);
    assert_eq!((second_output.out.as_str(), second_output.err.as_str()), ("Yes.\n", ""));
    assert_eq!(list(&sandbox, &[]).len(), 1);
}

#[test]
fn resume_moved_project_by_remote_without_credentials() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.project().join(".git")).unwrap();
    sandbox.write(".git/config", "[remote \"origin\"]\n\turl = https://me:t0ken@host.org/me/x.git\n");
    let log = log_of(
        &sandbox,
        &missing_dir(&sandbox, "other-name"),
        "REMOTE12",
        "hi",
        Some("git@host.org:me/x.git"),
    );
    log_of(&sandbox, &missing_dir(&sandbox, "stranger"), "STRANGER", "hi", Some("git@host.org:you/x.git"));
    let output = ask(&sandbox, &["-c", "go on"]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(text(&log).contains(r#""remote":"https://host.org/me/x.git""#));
    assert!(!text(&log).contains("t0ken"));
}

#[test]
fn resume_several_moved_sessions_is_an_error_in_print() {
    let sandbox = Sandbox::new();
    let cwd = missing_dir(&sandbox, &project_dir(&sandbox));
    log_of(&sandbox, &cwd, "MOVED111", "one", None);
    log_of(&sandbox, &cwd, "MOVED222", "two", None);
    let output = ask(&sandbox, &["-c", "go on"]);
    assert_eq!((output.out.as_str(), output.code), ("", Some(2)));
    assert!(output.err.contains("VED111") && output.err.contains("VED222"), "{}", output.err);
}

#[test]
fn resume_several_moved_sessions_asks_at_a_terminal() {
    let sandbox = Sandbox::new();
    let cwd = missing_dir(&sandbox, &project_dir(&sandbox));
    touch(&log_of(&sandbox, &cwd, "MOVED111", "the first question", None), 1_000_000_000);
    let newest = log_of(&sandbox, &cwd, "MOVED222", "the second question", None);
    let mut terminal = sandbox.open_scripted(&[r#"{"text": "Here I am."}"#], &["-c"]);
    terminal.wait_for("Continue which session?");
    let screen = terminal.screen();
    assert!(screen.contains("1  VED222") && screen.contains("2  VED111"), "{screen}");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("▌ the second question");
    terminal.wait_for("which no longer exists");
    terminal.send("go on");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("Here I am.");
    assert!(text(&newest).contains("go on"));
}

#[test]
fn resume_picker_searches_text() {
    let sandbox = Sandbox::new();
    ask(&sandbox, &["--name", "lexer work", "please fix the tokenizer"]);
    ask(&sandbox, &["-c", "mind the flumox too"]);
    ask(&sandbox, &["an unrelated question"]);
    log_of(&sandbox, "/somewhere/else", "FOREIGN1", "a foreign prompt", None);
    let mut terminal = sandbox.open_scripted(&[r#"{"text": "Here I am."}"#], &["-r"]);
    terminal.wait_for("sessions in this directory");
    terminal.wait_for("lexer work");
    terminal.wait_for_question("an unrelated question");
    terminal.send("\t");
    terminal.wait_for("a foreign prompt");
    terminal.send("flumo");
    terminal.wait_for("» mind the flumox too");
    terminal.wait_without("a foreign prompt");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("▌ please fix the tokenizer");
    terminal.wait_without("sessions of");
}

#[test]
fn search_closed_stdout_is_no_failure() {
    let sandbox = Sandbox::new();
    log_of(&sandbox, "/somewhere/else", "FOREIGN1", "a tokenizer", None);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = sandbox.command(&["sessions", "search", "--all", "tokenizer"]);
    let output: RunOutput =
        command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap().into();
    assert_eq!((output.code, output.err.as_str()), (Some(0), ""));
}

#[test]
fn move_reassigns_all_sessions() {
    let sandbox = Sandbox::new();
    let old = missing_dir(&sandbox, "elsewhere");
    let paths = ["01AAAAAAAAAAAAAAAAAAAAAAAA", "01BBBBBBBBBBBBBBBBBBBBBBBB"]
        .map(|id| log_of(&sandbox, &old, id, "hello", None));
    touch(&paths[0], 1_000_000);
    let before = paths.each_ref().map(|path| text(path));
    assert_eq!(list(&sandbox, &[]).len(), 0);
    let output = sandbox.run(&["sessions", "move", &old]);
    assert_eq!(output.code, Some(0), "{}", output.err);
    assert!(output.out.starts_with("moved 2 sessions from "), "{}", output.out);
    assert_eq!(list(&sandbox, &[]).len(), 2);
    for (path, before) in paths.iter().zip(before) {
        assert!(text(path).starts_with(&before), "{}", path.display());
    }
    let since = fs::metadata(&paths[0]).unwrap().modified().unwrap();
    assert_eq!(since.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs(), 1_000_000);

    let second_output = sandbox.run(&["sessions", "move", &old]);
    assert_eq!(second_output.code, Some(2));
    assert!(second_output.err.contains("has no sessions"), "{}", second_output.err);
    let cwd = sandbox.project().display().to_string();
    assert!(sandbox.run(&["sessions", "move", &cwd]).err.contains("still exists"));
}
