//! The plan of a task, above the editor.

use tiller_test_support::terminal::TerminalKey;

use crate::sandbox::Sandbox;

#[test]
fn plan_stays_above_the_editor_after_resuming_and_compacting() {
    let sandbox = Sandbox::new().with_variable("TILLER_COMPACTION_KEEP_TOKENS", "20");
    let plan = r#"{"calls": [{"name": "update_plan", "arguments": {"steps": [
        {"step": "count the bees", "status": "done"}, {"step": "find the queen", "status": "in_progress"}]}}]}"#;
    let plan = plan.replace('\n', " ");
    let lines = [&plan, r#"{"text": "word by word ", "repeat": 500}"#, r#"{"text": "Answer two."}"#];
    let shown = "Plan: 1 of 2 done";
    let mut terminal = sandbox.open_scripted(&lines, &[]);
    terminal.wait_for("❯");
    for (prompt, answer) in [("begin", "word by word"), ("go on", "Answer two.")] {
        terminal.send(prompt);
        terminal.key(TerminalKey::Enter);
        terminal.wait_for_answer(answer);
    }
    terminal.wait_for("▸ find the queen");
    terminal.send("\u{1b}t");
    terminal.wait_for("Plan: 1 of 2 done · find the queen · alt+t");
    assert_eq!(terminal.quit().exit_code(), 0);

    let summary = r#"{"when": "<conversation>", "text": "It is about bees."}"#;
    let mut terminal = sandbox.open_scripted(&[summary], &["-c"]);
    terminal.wait_for(shown);
    terminal.send("/compact");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("tokens, summary");
    terminal.wait_for(shown);
    assert_eq!(terminal.quit().exit_code(), 0);
    let log = sandbox.log();
    let compaction = log.iter().find(|entry| entry["type"] == "compaction").unwrap();
    let text = compaction["summary"].as_str().unwrap();
    assert!(
        text.ends_with("bees.\n\n<plan>\n- [x] count the bees\n- [ ] find the queen (in progress)\n</plan>"),
        "{text}"
    );

    let terminal = sandbox.open_scripted(&[], &["-c"]);
    terminal.wait_for(shown);
}
