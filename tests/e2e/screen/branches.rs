//! Navigation in a session, and the transcript after it.

use crate::sandbox::Sandbox;
use crate::screen::prompting::{enter, prompt_and_wait};
use tiller_test_support::terminal::TerminalKey;

/// The script gives the second answer to the second prompt of any branch.
const ANSWERS: [&str; 2] = [r#"{"text": "Answer one."}"#, r#"{"text": "Answer two."}"#];

const RULE: &str = "── branch point · 1 other branch · /tree ──";

#[test]
fn branch_rule_separates_old_and_new_messages() {
    let sandbox = Sandbox::new();
    let mut terminal = sandbox.open_scripted(&ANSWERS, &[]);
    prompt_and_wait(&mut terminal, "question one", "Answer one.");
    prompt_and_wait(&mut terminal, "question two", "Answer two.");
    enter(&mut terminal, "/tree");
    terminal.wait_for("▸●   Answer two.");
    terminal.send("answer one");
    terminal.wait_for("1 found");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for_question("▸ no summary");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for(RULE);
    terminal.wait_without("question two");
    prompt_and_wait(&mut terminal, "question three", "Answer two.");
    terminal.wait_for(RULE);
    assert!(terminal.quit().success());
    let terminal = sandbox.open_scripted(&ANSWERS, &["-r", "question three"]);
    terminal.wait_for("Answer two.");
    let screen = terminal.screen();
    let at = |words: &str| screen.find(words).unwrap_or_else(|| panic!("no {words}:\n{screen}"));
    assert!(at("Answer one.") < at(RULE) && at(RULE) < at("question three"), "{screen}");
}
