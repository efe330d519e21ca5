//! Session commands: checking, naming, labeling, hiding, moving, removing.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::sandbox::{RunOutput, Sandbox};

/// A sandbox with a session of two branches, and the session's file: `one` and its answer `First.`, then `left` with
/// `Left.` and, in use, `right` with `Right.`.
fn sandbox() -> (Sandbox, PathBuf) {
    let sandbox = Sandbox::new();
    let file = sandbox.home().join("tiller/sessions/--p--/two.jsonl");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let cwd = sandbox.project().canonicalize().unwrap();
    let header = json!({"type": "session", "version": 3, "id": "session-two", "timestamp": TIME, "cwd": cwd});
    let lines = [
        header,
        user("user0001", Value::Null, "one"),
        answer("answ0001", "user0001", "First.", "small"),
        user("user0002", json!("answ0001"), "left"),
        answer("answ0002", "user0002", "Left.", "small"),
        user("user0003", json!("answ0001"), "right"),
        answer("answ0003", "user0003", "Right.", "large"),
    ];
    fs::write(&file, lines.map(|line| line.to_string() + "\n").concat()).unwrap();
    (sandbox, file)
}

const TIME: &str = "2020-01-02T03:04:05.678Z";

fn user(id: &str, parent: Value, text: &str) -> Value {
    json!({"type": "message", "id": id, "parentId": parent, "timestamp": TIME, "mood": "good",
           "message": {"role": "user", "content": text, "timestamp": 1}})
}

fn answer(id: &str, parent: &str, text: &str, model: &str) -> Value {
    json!({"type": "message", "id": id, "parentId": parent, "timestamp": TIME,
           "message": {"role": "assistant", "content": [{"type": "text", "text": text}],
                       "provider": "p", "model": model, "stopReason": "stop"}})
}

/// Runs a session command that has to succeed.
fn run_session_command(sandbox: &Sandbox, arguments: &[&str]) -> String {
    let run_output = sandbox.run(&[&["sessions"], arguments].concat());
    assert_eq!(run_output.code, Some(0), "{arguments:?}: {}", run_output.err);
    run_output.out
}

fn as_json(sandbox: &Sandbox, arguments: &[&str]) -> Value {
    serde_json::from_str(&run_session_command(sandbox, &[arguments, &["--json"]].concat())).unwrap()
}

/// Runs a session command that has to fail.
fn run_refused_command(sandbox: &Sandbox, arguments: &[&str]) -> RunOutput {
    let run_output = sandbox.run(&[&["sessions"], arguments].concat());
    assert_eq!(
        (run_output.out.as_str(), run_output.code),
        ("", Some(2)),
        "{arguments:?}: {}",
        run_output.err
    );
    run_output
}

/// The tree without ages, which change.
fn tree_lines(sandbox: &Sandbox, extra_arguments: &[&str]) -> Vec<String> {
    let text = run_session_command(sandbox, &[&["tree", "session-two"], extra_arguments].concat());
    let without_age = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let is_age = |word: &&&str| {
            word.strip_suffix('d').is_some_and(|days| !days.is_empty() && days.parse::<u32>().is_ok())
        };
        words.iter().filter(|word| !is_age(word)).copied().collect::<Vec<_>>().join(" ").replace("   ", "  ")
    };
    text.lines().map(without_age).collect()
}

fn last_line(file: &Path) -> Value {
    serde_json::from_str(fs::read_to_string(file).unwrap().lines().last().unwrap()).unwrap()
}

#[test]
fn tree_shows_path_labels_and_models() {
    let (sandbox, _) = sandbox();
    run_session_command(&sandbox, &["label", "session-two", "user0002", "a try"]);
    assert_eq!(
        tree_lines(&sandbox, &[]),
        [
            "* er0001  > one",
            "* sw0001  First.",
            "  ├─ er0002  [a try]  > left",
            "  │  sw0002  Left.",
            "* └─ er0003  > right",
            "* │  sw0003  (p/large)  Right.",
        ]
    );
    run_session_command(&sandbox, &["label", "session-two", "user0002"]);
    assert_eq!(tree_lines(&sandbox, &[])[2], "  ├─ er0002  > left");
}

#[test]
fn tree_hidden_branch_is_counted_and_restored() {
    let (sandbox, file) = sandbox();
    let all_lines = tree_lines(&sandbox, &[]);
    let output = as_json(&sandbox, &["hide", "session-two", "user0002"]);
    assert_eq!(output["appended"][0]["data"], json!({"targetId": "user0002", "hidden": true}));
    assert_eq!(output["leaf"], last_line(&file)["id"]);
    assert_eq!(
        tree_lines(&sandbox, &[]),
        [
            "* er0001  > one",
            "* sw0001  First.",
            "* er0003  > right",
            "* sw0003  (p/large)  Right.",
            "(2 hidden in one branch; --all draws it too)",
        ]
    );
    let reports = tree_lines(&sandbox, &["--all"]);
    assert_eq!(reports[2..4], ["~ ├─ er0002  (hidden)  > left", "~ │  sw0002  Left."]);
    run_session_command(&sandbox, &["hide", "session-two", "user0002", "--undo"]);
    assert_eq!(tree_lines(&sandbox, &[]), all_lines);
    let before = fs::read(&file).unwrap();
    let run_output = run_refused_command(&sandbox, &["hide", "session-two", "answ0001"]);
    assert!(
        run_output.err.contains("is on the current branch") && run_output.err.contains("hint: switch"),
        "{}",
        run_output.err
    );
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn show_json_prints_entries_unchanged() {
    let (sandbox, file) = sandbox();
    let lines: Vec<Value> = fs::read_to_string(&file)
        .unwrap()
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let tree = as_json(&sandbox, &["tree", "session-two"]);
    assert_eq!(tree, json!({"leafId": "answ0003", "entries": lines}));
    let output = as_json(&sandbox, &["show", "session-two"]);
    let path = [0, 1, 4, 5].map(|at| lines[at].clone());
    assert_eq!(output, json!(path));
    // Equal bytes, not only equal values.
    let text = run_session_command(&sandbox, &["tree", "session-two", "--json"]);
    for line in fs::read_to_string(&file).unwrap().lines().skip(1) {
        assert!(text.contains(line), "{line}");
    }
    let fresh = sandbox.home().join("fresh.jsonl");
    fs::write(&fresh, format!("{}\n", fs::read_to_string(&file).unwrap().lines().next().unwrap())).unwrap();
    let empty = as_json(&sandbox, &["tree", fresh.to_str().unwrap()]);
    assert_eq!(empty, json!({"leafId": null, "entries": []}));
}

#[test]
fn branch_continues_from_the_entry() {
    let (sandbox, file) = sandbox();
    run_session_command(&sandbox, &["branch", "session-two", "answ0002"]);
    let moved = last_line(&file);
    assert_eq!((&moved["parentId"], &moved["customType"]), (&json!("answ0002"), &json!("tiller.leaf")));
    assert!(run_session_command(&sandbox, &["show", "session-two"]).ends_with("Left.\n"));

    let output = as_json(&sandbox, &["branch", "session-two", "user0001", "--summary", "Left was tried."]);
    let summary = last_line(&file);
    assert_eq!(output["appended"], json!([summary]));
    assert_eq!(
        [&summary["type"], &summary["parentId"], &summary["fromId"], &summary["summary"]],
        ["branch_summary", "user0001", moved["id"].as_str().unwrap(), "Left was tried."]
    );
    let context = run_session_command(&sandbox, &["show", "session-two", "--context"]);
    assert!(context.contains("Left was tried.") && !context.contains("Left.\n"), "{context}");

    run_session_command(&sandbox, &["branch", "session-two", "root"]);
    assert_eq!(run_session_command(&sandbox, &["show", "session-two"]), "");
    assert_eq!(last_line(&file)["parentId"], Value::Null);
    let run_output = run_refused_command(&sandbox, &["branch", "session-two", "nowhere"]);
    assert!(run_output.err.contains("no entry `nowhere` in this session"), "{}", run_output.err);
}

#[test]
fn rename_sets_and_removes_the_name() {
    let (sandbox, file) = sandbox();
    assert_eq!(
        run_session_command(&sandbox, &["rename", "session-two", " two ways "]),
        "on-two is now named two ways\n"
    );
    assert_eq!(as_json(&sandbox, &["list", "--all"])[0]["name"], "two ways");
    let output = as_json(&sandbox, &["rename", "session-two", ""]);
    assert_eq!((&output["path"], &output["id"]), (&json!(file), &json!("session-two")));
    assert_eq!(as_json(&sandbox, &["list", "--all"])[0].get("name"), None);
}

#[test]
fn edit_of_locked_session_is_refused() {
    let (sandbox, file) = sandbox();
    let writer = tiller::session::Writer::open(&file).unwrap();
    let before = fs::read(&file).unwrap();
    let verbs: [&[&str]; 5] = [
        &["rename", "session-two", "x"],
        &["label", "session-two", "user0001", "x"],
        &["hide", "session-two", "user0002"],
        &["branch", "session-two", "root"],
        &["rm", "--yes", "session-two"],
    ];
    for verb in verbs {
        let run_output = run_refused_command(&sandbox, verb);
        assert!(
            run_output.err.contains("another tiller process has it open"),
            "{verb:?}: {}",
            run_output.err
        );
        assert!(run_output.err.contains("hint: close the other tiller first"), "{}", run_output.err);
    }
    assert_eq!(fs::read(&file).unwrap(), before);
    drop(writer);
    run_session_command(&sandbox, verbs[0]);
}

#[test]
fn verify_reports_positions_and_fails_on_errors_only() {
    let (sandbox, file) = sandbox();
    assert_eq!(
        run_session_command(&sandbox, &["verify", "session-two"]),
        "1 file with 6 entries: no errors, no notes\n"
    );
    let run_output = sandbox.run(&["sessions", "verify", "nobody", "session-two", "no-one"]);
    assert_eq!(run_output.out, "1 file with 6 entries: no errors, no notes\n");
    for unknown in ["nobody", "no-one"] {
        let error = format!("error: no session id begins or ends with `{unknown}`\n");
        assert!(run_output.err.contains(&error), "{}", run_output.err);
    }
    assert_eq!(run_output.code, Some(2));

    let with_torn_line = fs::read_to_string(&file).unwrap() + r#"{"type":"mess"#;
    fs::write(&file, &with_torn_line).unwrap();
    let byte = with_torn_line.len() - r#"{"type":"mess"#.len();
    let output = run_session_command(&sandbox, &["verify", file.to_str().unwrap()]);
    let prefix = format!("{}:8 (byte {byte}): note: torn: ", file.display());
    assert!(output.starts_with(&prefix), "{output}");
    assert!(output.ends_with("\n1 file with 6 entries: no errors, 1 note\n"), "{output}");
    assert_eq!(fs::read_to_string(&file).unwrap(), with_torn_line, "checking changed the file");

    let empty_log = file.with_file_name("empty.jsonl");
    fs::write(&empty_log, "").unwrap();
    let run_output = sandbox.run(&["sessions", "verify", "--all", "--json"]);
    assert_eq!(run_output.code, Some(1), "{}", run_output.err);
    let reports: Value = serde_json::from_str(&run_output.out).unwrap();
    assert_eq!((&reports["files"], &reports["entries"]), (&json!(2), &json!(6)));
    let found: Vec<_> = reports["findings"].as_array().unwrap().iter().collect();
    assert_eq!(found.len(), 2);
    assert_eq!(
        *found[0],
        json!({"path": empty_log, "line": 1, "byte": 0, "what": "the file is empty; tiller can't open it", "severity": "error"})
    );
    assert_eq!(
        [&found[1]["path"], &found[1]["line"], &found[1]["byte"], &found[1]["severity"]],
        [&json!(file), &json!(8), &json!(byte), &json!("note")]
    );
}

#[test]
fn rm_moves_to_the_trash() {
    let (sandbox, file) = sandbox();
    fs::write(file.with_file_name("two.jsonl.lock"), "{}").unwrap();
    fs::create_dir(file.with_extension("agents")).unwrap();
    let text = fs::read(&file).unwrap();
    let output = as_json(&sandbox, &["rm", "--yes", "session-two", file.to_str().unwrap()]);
    assert_eq!(output, json!({"removed": [{"path": file, "trashed": true}]}));
    assert_eq!(fs::read_dir(file.parent().unwrap()).unwrap().count(), 0);
    assert_eq!(fs::read(sandbox.home().join(".local/share/Trash/files/two.jsonl")).unwrap(), text);
}

#[test]
fn rm_without_trash_needs_permanently() {
    let (sandbox, file) = sandbox();
    let sandbox = sandbox.with_variable("XDG_DATA_HOME", "/dev/null/nowhere");
    let text = fs::read(&file).unwrap();
    let run_output = run_refused_command(&sandbox, &["rm", "--yes", "session-two"]);
    assert!(run_output.err.contains("can't be moved to the trash"), "{}", run_output.err);
    assert!(
        run_output.err.contains("hint: --permanently deletes the file without the trash"),
        "{}",
        run_output.err
    );
    assert_eq!(fs::read(&file).unwrap(), text);
    run_session_command(&sandbox, &["rm", "--yes", "--permanently", "session-two"]);
    assert!(!file.exists());
}

#[test]
fn rm_needs_confirmation_and_a_session() {
    let (sandbox, file) = sandbox();
    let run_output = run_refused_command(&sandbox, &["rm", "session-two"]);
    assert!(run_output.err.contains("--yes removes the sessions without confirmation"), "{}", run_output.err);
    let letter = sandbox.write("letter.txt", "Dear all,\n");
    let run_output = run_refused_command(&sandbox, &["rm", "--yes", "session-two", letter.to_str().unwrap()]);
    assert!(run_output.err.contains("this file was not changed"), "{}", run_output.err);
    assert!(letter.exists() && file.exists());

    let mut terminal = sandbox.open(&["sessions", "rm", "session-two"]);
    terminal.wait_for("one (6 entries)");
    terminal.wait_for("Move to the trash? [y/N]");
    terminal.send("n\r");
    terminal.wait_for("nothing removed");
    assert_eq!(terminal.wait().exit_code(), 0);
    assert!(file.exists());
    let mut terminal = sandbox.open(&["sessions", "rm", "session-two"]);
    terminal.wait_for("[y/N]");
    terminal.send("y\r");
    terminal.wait_for("moved to the trash");
    assert_eq!(terminal.wait().exit_code(), 0);
    assert!(!file.exists());
}

#[test]
fn fork_ends_at_the_given_entry() {
    let (sandbox, file) = sandbox();
    let script = sandbox.script(&[r#"{"text": "One."}"#, r#"{"text": "Two."}"#, r#"{"text": "Three."}"#]);
    let fork = |from: &str| {
        sandbox.run(&["-p", "--provider", "scripted", "--model", &script, "--fork", from, "and then?"])
    };
    for (from, expected) in [
        ("session-two@zzzz", "no entry `zzzz` in this session"),
        ("session-two@0002", "`0002` matches 2 entries"),
        ("session-six@er0002", "no session id begins or ends with `session-six`"),
    ] {
        let run_output = fork(from);
        assert_eq!(run_output.code, Some(2), "{from}: {}", run_output.err);
        assert!(
            run_output.err.contains(expected) && run_output.err.contains("hint: "),
            "{from}: {}",
            run_output.err
        );
    }
    assert_eq!(sandbox.logs(), std::slice::from_ref(&file));

    run_session_command(&sandbox, &["rename", "session-two", "two ways"]);
    let before = fs::read(&file).unwrap();
    let run_output = fork("session-two@er0002");
    assert_eq!((run_output.out.as_str(), run_output.code), ("Two.\n", Some(0)), "{}", run_output.err);
    assert_eq!(fs::read(&file).unwrap(), before, "a fork leaves the original alone");
    let fork = sandbox.logs().into_iter().find(|path| *path != file).unwrap();
    let output = run_session_command(&sandbox, &["show", fork.to_str().unwrap()]);
    assert!(
        output.contains("> left\n") && !output.contains("Left.") && output.ends_with("Two.\n"),
        "{output}"
    );
    let list = as_json(&sandbox, &["list"]);
    assert_eq!((list.as_array().unwrap().len(), &list[0]["name"]), (1, &json!("two ways (fork)")));
}

#[test]
fn rename_keeps_modification_time() {
    let (sandbox, file) = sandbox();
    let before = fs::metadata(&file).unwrap().modified().unwrap();
    run_session_command(&sandbox, &["rename", "session-two", "new name"]);
    run_session_command(&sandbox, &["label", "session-two", "user0002", "here"]);
    assert_eq!(fs::metadata(&file).unwrap().modified().unwrap(), before);
    assert!(fs::read_to_string(&file).unwrap().contains("new name"));
}

#[test]
fn show_sanitizes_text_of_the_log() {
    let (sandbox, _) = sandbox();
    let evil = "\u{1b}[2J\u{1b}]0;pwned\u{7}a\nb";
    run_session_command(&sandbox, &["label", "session-two", "user0002", evil]);
    run_session_command(&sandbox, &["rename", "session-two", evil]);
    for words in [
        &["tree", "session-two"][..],
        &["show", "session-two"],
        &["show", "session-two", "--stats"],
        &["list", "--all"],
    ] {
        let run_output = sandbox.run(&[&["sessions"], words].concat());
        assert!(!run_output.out.contains(['\u{1b}', '\u{7}']), "{words:?}: {:?}", run_output.out);
    }
}

#[test]
#[cfg(unix)]
fn rm_removes_a_link_not_its_target() {
    let (sandbox, file) = sandbox();
    let target = sandbox.project().join("kept.jsonl");
    fs::rename(&file, &target).unwrap();
    std::os::unix::fs::symlink(&target, &file).unwrap();
    let path = file.to_str().unwrap();
    let run_output = sandbox.run(&["sessions", "rm", path, "--permanently", "--yes"]);
    assert_eq!(run_output.code, Some(0), "{}", run_output.err);
    assert!(target.exists() && !file.is_symlink());
}
