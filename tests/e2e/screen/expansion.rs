//! Skills and templates in the TUI: completion, expansion, and files that change during the session.

use std::fs;
use std::path::PathBuf;

use crate::sandbox::Sandbox;
use tiller_test_support::terminal::{Terminal, TerminalKey};

const ANSWERS: [&str; 2] = [r#"{"text": "Answer one."}"#, r#"{"text": "Answer two."}"#];

fn write(sandbox: &Sandbox, name: &str, text: &str) -> PathBuf {
    let path = sandbox.project().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

fn skill(name: &str, about: &str) -> String {
    format!("---\nname: {name}\ndescription: {about}\n---\n\nThe body of {name}.\n")
}

fn clear(terminal: &mut Terminal) {
    terminal.key(TerminalKey::Ctrl('c'));
    terminal.wait_for("Cleared");
}

#[test]
fn template_is_completed_and_expanded() {
    let sandbox = Sandbox::new();
    write(&sandbox, ".tiller/prompts/greet.md", "---\nargument-hint: <who>\n---\nGreet $1 warmly.");
    let mut terminal = sandbox.open_scripted(&ANSWERS, &[]);
    terminal.wait_for("Type a request");
    terminal.send("/gre");
    terminal.wait_for("▸ /greet <who>");
    terminal.wait_for("Greet $1 warmly.");
    terminal.key(TerminalKey::Enter);
    terminal.wait_without("▸ /greet");
    terminal.send("'Ada Lovelace'");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("▌ /greet 'Ada Lovelace'");
    terminal.wait_for("Answer one.");
    terminal.wait_without("warmly");
    terminal.key(TerminalKey::Ctrl('o'));
    terminal.wait_for("▌ Greet Ada Lovelace warmly.");
    assert!(sandbox.messages()[0].ends_with("Greet Ada Lovelace warmly."), "{:?}", sandbox.messages());
    assert!(terminal.quit().success());
    assert!(terminal.screen().contains("> /greet 'Ada Lovelace'"), "{}", terminal.screen());

    let resumed = sandbox.open_scripted(&ANSWERS, &["--continue"]);
    resumed.wait_for("▌ /greet 'Ada Lovelace'");
    resumed.wait_for("Answer one.");
    assert!(!resumed.screen().contains("warmly"), "{}", resumed.screen());
}

#[test]
fn skill_is_shown_as_typed_and_unfolds() {
    let sandbox = Sandbox::new();
    write(&sandbox, ".tiller/skills/tidy/SKILL.md", &skill("tidy", "Tidies up."));
    let mut terminal = sandbox.open_scripted(&ANSWERS, &[]);
    terminal.wait_for("Type a request");
    terminal.send("/tid");
    terminal.wait_for("▸ /skill:tidy");
    terminal.key(TerminalKey::Tab);
    terminal.wait_for("❯ /skill:tidy");
    terminal.send("gently");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("▌ /skill:tidy gently");
    terminal.wait_for("Answer one.");
    terminal.wait_without("The body of tidy.");
    terminal.key(TerminalKey::Ctrl('o'));
    terminal.wait_for("The body of tidy.");
    let messages = sandbox.messages();
    assert!(messages[0].contains("The body of tidy.\n</skill>\n\ngently"), "{messages:?}");
}

#[test]
fn skill_edits_are_noticed() {
    let sandbox = Sandbox::new();
    let path = write(&sandbox, ".tiller/skills/tidy/SKILL.md", &skill("tidy", "Tidies up."));
    let mut terminal = sandbox.open_scripted(&ANSWERS, &[]);
    terminal.wait_for("Type a request");
    terminal.send("/skill:t");
    terminal.wait_for("Tidies up.");
    fs::write(&path, skill("tidy", "Sweeps the floor.")).unwrap();
    terminal.wait_for("Sweeps the floor.");
    write(&sandbox, ".tiller/skills/trim/SKILL.md", &skill("trim", "Trims hedges."));
    terminal.wait_for("/skill:trim");
    clear(&mut terminal);
    fs::write(&path, "---\nname: [\n---\n").unwrap();
    terminal.wait_for("its previous version stays in use");
    terminal.send("/skill:ti");
    terminal.wait_for("Sweeps the floor.");
    fs::remove_file(&path).unwrap();
    terminal.wait_without("Sweeps the floor.");
}

#[test]
fn reload_reports_resources_and_name_conflicts() {
    let sandbox = Sandbox::new();
    write(&sandbox, ".tiller/prompts/new.md", "Mine.");
    write(&sandbox, "AGENTS.md", "Use tabs.");
    let mut terminal = sandbox.open_scripted(&ANSWERS, &["--no-skills"]);
    terminal.wait_for("template `new` ignored: /new is a command");
    terminal.send("/reload");
    terminal.wait_for("❯ /reload");
    terminal.key(TerminalKey::Enter);
    terminal.wait_for("0 skills, 4 templates, 1 context file; 1 with problems");
}
