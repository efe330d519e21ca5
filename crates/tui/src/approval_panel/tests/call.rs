//! The call in the panel: its rows, and the answers below them.

use crossterm::event::KeyModifiers;
use serde_json::json;
use tiller_core::event::{FileChange, Preview};

use super::*;

const RULE: &str = "cargo test [any arguments, safe options]";

fn command(line: &str) -> ApprovalRequest {
    ApprovalRequest {
        args: json!({"command": line, "timeout": 60}),
        rule: RULE.into(),
        ..approval_request(line)
    }
}

fn long_command() -> ApprovalRequest {
    let lines: Vec<String> = (1..=40).map(|n| format!("echo step {n}")).collect();
    let line = lines.join("\n");
    ApprovalRequest { rule: format!("exactly `{line}`"), ..command(&line) }
}

/// The panel at this size, with a call that has been visible for a second.
fn shown((width, height): (u16, u16), request: ApprovalRequest) -> Harness {
    let mut harness = Harness::asking(request).sized(width, height);
    harness.wait(0);
    harness
}

fn scroll(harness: &mut Harness, code: KeyCode) {
    harness.send(UiEvent::Key(KeyEvent::new(code, KeyModifiers::SHIFT)));
}

#[test]
fn panel_command_is_shown_with_its_rule() {
    let request = || command("cargo test parse\necho \"done\"");
    insta::assert_snapshot!(shown((80, 8), request()).drawn(), @r#"
    ? bash needs approval: runs a command
    │ cargo test parse
    │ echo "done"
    │ in ~/code/conf · timeout 1m 00s
    [y] once · [a] cargo test [any arguments, safe options], for this session
      [n] deny · [d] deny + why
    "#);
    insta::assert_snapshot!(shown((120, 8), request()).drawn(), @r#"
    ? bash needs approval: runs a command
    │ cargo test parse
    │ echo "done"
    │ in ~/code/conf · timeout 1m 00s
    [y] once · [a] cargo test [any arguments, safe options], for this session · [n] deny · [d] deny + why
    "#);
}

#[test]
fn panel_edit_is_shown_as_diff() {
    let diff = "--- a\n+++ b\n@@ -2,3 +2,3 @@\n [section]\n-name = \"a\"\n+name = \"b\"\n port = 1\n";
    let change = FileChange { path: "conf/a.toml".into(), diff: diff.into(), added: 1, removed: 1 };
    let request = || ApprovalRequest {
        tool_name: "edit_file".into(),
        args: json!({"path": "conf/a.toml", "old_text": "a", "new_text": "b"}),
        reason: "writes outside of src (extension guard)".into(),
        preview: Some(Preview::Change(change.clone())),
        ..approval_request("")
    };
    insta::assert_snapshot!(shown((80, 10), request()).drawn(), @r#"
    ? edit_file needs approval: writes outside of src (extension guard)
    │ conf/a.toml  +1 −1
    │   2   [section]
    │   3 - name = "a"
    │   3 + name = "b"
    │   4   port = 1
    [y] once · [n] deny · [d] deny + why
    "#);
    insta::assert_snapshot!(shown((120, 10), request()).drawn(), @r#"
    ? edit_file needs approval: writes outside of src (extension guard)
    │ conf/a.toml  +1 −1
    │   2   2   [section]
    │   3     - name = "a"
    │       3 + name = "b"
    │   4   4   port = 1
    [y] once · [n] deny · [d] deny + why
    "#);
}

#[test]
fn panel_long_command_shows_both_ends() {
    let mut harness = shown((80, 16), long_command());
    insta::assert_snapshot!(harness.drawn(), @r"
    ? bash needs approval: runs a command
    │ echo step 1
    │ echo step 2
    │ echo step 3
    │ echo step 4
    │ echo step 5
    │ echo step 6
    │ echo step 7
    │ echo step 8
    │ … 29 more lines between · shift+down scrolls · v shows all
    │ echo step 38
    │ echo step 39
    │ echo step 40
    │ in ~/code/conf · timeout 1m 00s
    v shows all; then you can allow it · [n] deny · [d] deny + why
    ");
    scroll(&mut harness, KeyCode::Down);
    let rows = harness.drawn();
    assert!(!rows.contains("echo step 1\n") && !rows.contains("echo step 40"), "{rows}");
    let rows = shown((120, 32), long_command()).drawn();
    assert!(rows.contains("│ echo step 19\n  │ … 13 more lines between"), "{rows}");
    assert!(rows.contains("v shows all\n  │ echo step 33\n"), "{rows}");
}

#[test]
fn panel_scrolling_is_not_opening() {
    for size in [(80, 16), (120, 32)] {
        let mut harness = shown(size, long_command());
        let too_long = flashed("The call is longer than its panel; v shows all of it.");
        assert_eq!(harness.letter('y'), too_long);
        for _ in 0..10 {
            scroll(&mut harness, KeyCode::Down);
        }
        let rows = harness.drawn();
        assert!(rows.contains("echo step 40") && rows.contains("more lines above · shift+up"), "{rows}");
        assert_eq!(harness.letter('y'), too_long);
        harness.letter('v');
        let rows = harness.drawn();
        assert!(rows.contains("[a] this command, for this session"), "{rows}");
        assert_eq!(harness.letter('y'), decided(Decision::Once));
    }
}

#[test]
fn panel_allows_what_it_shows_whole() {
    let rule = "`cargo test --workspace --all-features --locked` and whatever begins like that".to_owned();
    for lines in 1..30 {
        let line: Vec<String> = (1..=lines).map(|n| format!("echo {n}")).collect();
        let request = ApprovalRequest { rule: rule.clone(), ..command(&line.join("\n")) };
        let mut harness = shown((40, 2), request);
        for height in 2..30 {
            harness.area.height = height;
            let rows = harness.drawn();
            let is_visible = (1..=lines).all(|n| rows.contains(&format!("echo {n}\n")));
            let can_allow = harness.letter('y') == decided(Decision::Once);
            assert_eq!(can_allow, is_visible, "{lines} lines in {height} rows: {rows}");
        }
    }
}

#[test]
fn panel_call_of_an_agent_names_its_dir() {
    let request = ApprovalRequest { cwd: Some("/srv/code.tiller-a-1".into()), ..command("ls") };
    let rows = shown((60, 8), request).drawn();
    assert!(rows.contains("in /srv/code.tiller-a-1"), "{rows}");
}

#[test]
fn panel_enter_gives_the_selected_answer() {
    let press = |codes: &[KeyCode]| {
        let mut harness = shown((80, 8), command("cargo test"));
        codes.iter().for_each(|code| _ = harness.key(*code));
        (harness.drawn(), harness.key(KeyCode::Enter))
    };
    let (rows, _) = press(&[KeyCode::Right]);
    assert!(rows.contains("▸ [y] once"), "{rows}");
    let (rows, given) = press(&[KeyCode::Right, KeyCode::Right]);
    assert!(rows.contains(&format!("▸ [a] {RULE}, for this session")), "{rows}");
    assert_eq!(given, decided(Decision::Session));
    let (_, given) = press(&[KeyCode::Left, KeyCode::Left]);
    assert_eq!(given, decided(Decision::Deny { reason: "the user rejected it".into() }));
}

#[test]
fn panel_several_calls_in_turn() {
    let mut harness = shown((80, 8), command("cargo test one"));
    for (id, line) in [("c2", "cargo test two"), ("c3", "cargo test three")] {
        let request = ApprovalRequest { tool_call_id: id.into(), ..command(line) };
        harness.model.activity.approvals.push(PendingApproval { request, since: UnixMs(0) });
    }
    insta::assert_snapshot!(harness.drawn(), @r"
    ? bash needs approval: runs a command  1 of 3
    │ cargo test one
    │ in ~/code/conf · timeout 1m 00s
    [y] once · [a] cargo test [any arguments, safe options], for this session
      [n] deny · [d] deny + why
    ");
    assert_eq!(harness.letter('y'), decided(Decision::Once));
    harness.model.activity.approvals.remove(0);
    harness.wait(500);
    let rows = harness.drawn();
    assert!(rows.contains("cargo test two") && rows.contains("1 of 2"), "{rows}");
    harness.model.activity.approvals.remove(0);
    harness.wait(0);
    let says = "Ignored: pressed too soon. Press y again.";
    let (_, effects) = harness.letter('y');
    let flash = Effect::Flash(FlashText { text: says.into(), call: Some("c3".into()) });
    assert_eq!(effects, [flash], "the next call has just appeared");
    harness.wait(400);
    assert_eq!(harness.letter('y'), decided_for("c3", Decision::Once));
}

#[test]
fn panel_ctrl_letter_is_no_answer() {
    assert_eq!(shown((80, 8), command("ls")).chord(KeyModifiers::CONTROL, 'a'), IGNORED);
}

#[test]
fn panel_without_rule_has_no_session_answer() {
    let mut harness = shown((80, 8), approval_request("ls"));
    let rows = harness.drawn();
    assert!(rows.contains("[y] once · [n] deny · [d] deny + why"), "{rows}");
    assert_eq!(harness.letter('a'), IGNORED, "a letter without a meaning is text");
}
