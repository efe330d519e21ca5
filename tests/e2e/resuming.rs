//! Resuming sessions: the newest, one by name or search, and one whose project was moved.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use serde_json::Value;

use super::sandbox::{RunOutput, Sandbox};
use tiller_test_support::terminal::TerminalKey;

/// Arguments of a print-mode run that answers every prompt with "Yes.".
fn ask(sandbox: &Sandbox, more: &[&str]) -> RunOutput {
    let script = sandbox.script(&[r#"{"text": "Yes."}"#; 9]);
    sandbox.run(&[&["-p", "--provider", "scripted", "--model", &script], more].concat())
}

/// Writes a log of another directory into the sandbox, as if by tiller.
fn log_of(sandbox: &Sandbox, cwd: &str, id: &str, prompt: &str, remote: Option<&str>) -> PathBuf {
    let folder =
        sandbox.home().join(format!("tiller/sessions/--{}--", cwd.trim_start_matches('/').replace('/', "-")));
    fs::create_dir_all(&folder).unwrap();
    let header = format!(
        r#"{{"type":"session","version":3,"id":"{id}","timestamp":"2026-11-21T03:16:58.249Z","cwd":"{cwd}"}}"#
    );
    let remote = remote.map(|remote| format!(r#","remote":"{remote}""#)).unwrap_or_default();
    let run = format!(
        r#"{{"type":"custom","id":"{id}r","parentId":null,"timestamp":"2026-11-21T03:16:58.249Z","customType":"tiller.run","data":{{"mode":"tui","resumed":false,"version":"0"{remote}}}}}"#
    );
    let said = format!(
        r#"{{"type":"message","id":"{id}m","parentId":"{id}r","timestamp":"2026-11-21T03:16:58.249Z","message":{{"role":"user","content":"{prompt}","timestamp":1}}}}"#
    );
    let path = folder.join(format!("2026-11-21T03-16-58-249Z_{id}.jsonl"));
    fs::write(&path, format!("{header}\n{run}\n{said}\n")).unwrap();
    path
}

fn touch(path: &Path, second: u64) {
    let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
    fs::File::options().append(true).open(path).unwrap().set_modified(moment).unwrap();
}

/// The path of a directory that no longer exists.
fn gone(sandbox: &Sandbox, name: &str) -> String {
    sandbox.home().join("gone").join(name).display().to_string()
}

fn here(sandbox: &Sandbox) -> String {
    sandbox.project().canonicalize().unwrap().file_name().unwrap().to_str().unwrap().to_owned()
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

fn list(sandbox: &Sandbox, more: &[&str]) -> Vec<Value> {
    let ran = sandbox.run(&[&["sessions", "list", "--json"], more].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    serde_json::from_str(&ran.out).unwrap()
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
    let went_on: Vec<PathBuf> =
        sandbox.logs().into_iter().filter(|path| text(path).contains("go on")).collect();
    assert_eq!(went_on.len(), 1);
    assert!(text(&went_on[0]).contains("the newer one"));
}

#[test]
fn resume_by_id_name_or_text() {
    let sandbox = Sandbox::new();
    ask(&sandbox, &["--name", "lexer work", "please fix the tokenizer"]);
    ask(&sandbox, &["an unrelated question"]);
    let session = list(&sandbox, &[]).into_iter().find(|session| session["name"] == "lexer work").unwrap();
    let (id, path) = (session["id"].as_str().unwrap(), session["path"].as_str().unwrap());
    for (words, said) in [(&id[id.len() - 6..], "by id"), ("Lexer", "by name"), ("tokeniz", "by words")] {
        let ran = ask(&sandbox, &["-r", words, said]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(text(Path::new(path)).contains(said), "{said}");
    }
    // A file of that name in the working directory is something else.
    sandbox.write("tokeniz", "no session");
    assert_eq!(ask(&sandbox, &["-r", "tokeniz", "and again"]).code, Some(0));
    assert!(text(Path::new(path)).contains("and again"));
    let ran = ask(&sandbox, &["-r", "nothing like it", "hello"]);
    assert_eq!((ran.out.as_str(), ran.code), ("", Some(2)));
    assert!(ran.err.contains("matches `nothing like it`") && ran.err.contains("search --all"), "{}", ran.err);
    let ran = ask(&sandbox, &["hello", "-r"]);
    assert_eq!((ran.out.as_str(), ran.code), ("", Some(2)));
    assert!(ran.err.contains("no session given"), "{}", ran.err);
}

#[test]
fn search_finds_text_here_and_everywhere() {
    let sandbox = Sandbox::new();
    ask(&sandbox, &["--name", "lexer work", "please fix the tokenizer now"]);
    log_of(&sandbox, "/somewhere/else", "FOREIGN1", "another tokenizer \\u001b[2J elsewhere", None);
    let ran = sandbox.run(&["sessions", "search", "tokenizer"]);
    let session = &list(&sandbox, &[])[0];
    let id = session["id"].as_str().unwrap();
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
    assert!(ran.out.starts_with(&id[id.len() - 6..]), "{}", ran.out);
    assert!(ran.out.ends_with("lexer work\n    please fix the **tokenizer** now\n"), "{}", ran.out);
    let all = sandbox.run(&["sessions", "search", "--all", "another", "tok"]).out;
    assert!(all.contains("**another** **tokenizer**") && all.contains("/somewhere/else"), "{all}");
    assert!(!all.contains('\u{1b}'), "{all:?}");
    let hits: Vec<Value> =
        serde_json::from_str(&sandbox.run(&["sessions", "search", "tokenizer", "--json"]).out).unwrap();
    assert_eq!(hits.len(), 1);
    assert_eq!(hits[0]["session"]["id"], id);
    assert_eq!(hits[0]["snippet"][1], serde_json::json!({"text": "tokenizer", "matched": true}));
    assert!(text(Path::new(session["path"].as_str().unwrap())).contains(hits[0]["entry"].as_str().unwrap()));
    let ran = sandbox.run(&["sessions", "search", "nobody said this"]);
    assert_eq!((ran.out.as_str(), ran.code), ("", Some(0)));
    assert!(ran.err.contains("--all"), "{}", ran.err);
}

#[test]
fn list_is_paged() {
    let sandbox = Sandbox::new();
    for (second, id) in (1_000_000_000..).zip(["AAAA1111", "BBBB2222", "CCCC3333"]) {
        touch(&log_of(&sandbox, "/somewhere", id, id, None), second);
    }
    let ran = sandbox.run(&["sessions", "list", "--all", "--limit", "2"]);
    let ids: Vec<&str> = ran.out.lines().map(|line| &line[..6]).collect();
    assert_eq!(ids, ["CC3333", "BB2222"]);
    assert!(ran.err.contains("--offset 2"), "{}", ran.err);
    let ran = sandbox.run(&["sessions", "list", "--all", "--limit", "2", "--offset", "2"]);
    assert!(ran.out.starts_with("AA1111") && ran.out.lines().count() == 1 && ran.err.is_empty(), "{ran:?}");
    assert_eq!(list(&sandbox, &["--all", "--limit", "0"]).len(), 3);
}

#[test]
fn resume_session_of_moved_project() {
    let sandbox = Sandbox::new();
    let log = log_of(&sandbox, &gone(&sandbox, &here(&sandbox)), "MOVED123", "from before", None);
    let ran = ask(&sandbox, &["-c", "still there?"]);
    assert_eq!((ran.out.as_str(), ran.code), ("Yes.\n", Some(0)), "{}", ran.err);
    assert!(
        ran.err.contains("continuing session VED123") && ran.err.contains("no longer exists"),
        "{}",
        ran.err
    );
    assert_eq!(sandbox.logs(), std::slice::from_ref(&log), "the log goes on where it is");
    let run = text(&log).lines().rev().find(|line| line.contains("tiller.run")).unwrap().to_owned();
    let run: Value = serde_json::from_str(&run).unwrap();
    assert_eq!(run["data"]["cwd"], sandbox.project().canonicalize().unwrap().to_str().unwrap());
    // From now on it is a session of this directory, without a notice, even if the catalog is lost.
    for ending in ["", "-wal", "-shm"] {
        let _ = fs::remove_file(sandbox.home().join(format!("tiller/state/sessions.db{ending}")));
    }
    let again = ask(&sandbox, &["-c", "and now?"]);
    assert_eq!((again.out.as_str(), again.err.as_str()), ("Yes.\n", ""));
    assert_eq!(list(&sandbox, &[]).len(), 1);
}

#[test]
fn resume_moved_project_by_remote_without_credentials() {
    let sandbox = Sandbox::new();
    fs::create_dir(sandbox.project().join(".git")).unwrap();
    sandbox.write(".git/config", "[remote \"origin\"]\n\turl = https://me:t0ken@host.org/me/x.git\n");
    let log =
        log_of(&sandbox, &gone(&sandbox, "other-name"), "REMOTE12", "hi", Some("git@host.org:me/x.git"));
    log_of(&sandbox, &gone(&sandbox, "stranger"), "STRANGER", "hi", Some("git@host.org:you/x.git"));
    let ran = ask(&sandbox, &["-c", "go on"]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(text(&log).contains(r#""remote":"https://host.org/me/x.git""#));
    assert!(!text(&log).contains("t0ken"));
}

#[test]
fn resume_several_moved_sessions_is_an_error_in_print() {
    let sandbox = Sandbox::new();
    let cwd = gone(&sandbox, &here(&sandbox));
    log_of(&sandbox, &cwd, "MOVED111", "one", None);
    log_of(&sandbox, &cwd, "MOVED222", "two", None);
    let ran = ask(&sandbox, &["-c", "go on"]);
    assert_eq!((ran.out.as_str(), ran.code), ("", Some(2)));
    assert!(ran.err.contains("VED111") && ran.err.contains("VED222"), "{}", ran.err);
}

#[test]
fn resume_several_moved_sessions_asks_at_a_terminal() {
    let sandbox = Sandbox::new();
    let cwd = gone(&sandbox, &here(&sandbox));
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
    terminal.wait_for("sessions of this directory");
    terminal.wait_for("lexer work");
    terminal.notice("an unrelated question");
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
    let ran: RunOutput =
        command.stdout(writer).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap().into();
    assert_eq!((ran.code, ran.err.as_str()), (Some(0), ""));
}

#[test]
fn move_reassigns_all_sessions() {
    let sandbox = Sandbox::new();
    let old = gone(&sandbox, "elsewhere");
    let paths = ["01AAAAAAAAAAAAAAAAAAAAAAAA", "01BBBBBBBBBBBBBBBBBBBBBBBB"]
        .map(|id| log_of(&sandbox, &old, id, "hello", None));
    touch(&paths[0], 1_000_000);
    let before = paths.each_ref().map(|path| text(path));
    assert_eq!(list(&sandbox, &[]).len(), 0);
    let ran = sandbox.run(&["sessions", "move", &old]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    assert!(ran.out.starts_with("2 sessions of "), "{}", ran.out);
    assert_eq!(list(&sandbox, &[]).len(), 2);
    for (path, before) in paths.iter().zip(before) {
        assert!(text(path).starts_with(&before), "{}", path.display());
    }
    let since = fs::metadata(&paths[0]).unwrap().modified().unwrap();
    assert_eq!(since.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs(), 1_000_000);

    let again = sandbox.run(&["sessions", "move", &old]);
    assert_eq!(again.code, Some(2));
    assert!(again.err.contains("has no sessions"), "{}", again.err);
    let there = sandbox.project().display().to_string();
    assert!(sandbox.run(&["sessions", "move", &there]).err.contains("still exists"));
}
