//! The form that edits and saves the rules of a pending call.

use serde_json::{Value, json};
use tiller_core::event::ApprovalRequest;
use tiller_core::setting::SettingScope;
use tiller_engine::RuleFile;

use super::lists::{ListBench, SMALL, perform};
use super::*;
use crate::action::ListAction;
use crate::approval_panel::tests::approval_request;
use crate::picker::rule_form::rule_file_items;

/// The form with the files to save to, which has been visible for a moment.
fn form(line: &str) -> ListBench {
    form_for("bash", line, PatternSubject::Command)
}

fn form_for(tool: &str, line: &str, subject: PatternSubject) -> ListBench {
    let rules = ProposedRules::parse(tool, line);
    let mut form = Picker::editing_rules("c1".into(), &rules, subject);
    form.set_appeared(ShownSince::at(UnixMs(0)));
    let mut list = ListBench::new(SMALL, form);
    let file = |scope, path: &str| RuleFile { scope, path: path.into() };
    let files = [
        file(SettingScope::User, "/home/ada/settings.json"),
        file(SettingScope::Project, "/p/.tiller/settings.json"),
    ];
    list.fill((rule_file_items(&files, None), 0));
    list.0.now = 400;
    list
}

fn save(scope: SettingScope, line: &str) -> Vec<Effect> {
    perform(ListAction::SaveRules { call: "c1".into(), scope, rules: ProposedRules::parse("bash", line) })
}

#[test]
fn rule_form_saves_the_edited_line_to_the_selected_file() {
    let mut list = form("cargo test*");
    insta::assert_snapshot!(list.screen(), @r"
    ── always allow ─────────────────────────────────────────────────────────── 2 ──
     bash ❯ cargo test*
     ▸ in your settings                                     /home/ada/settings.json
       in the project's settings                           /p/.tiller/settings.json










    ────────────────────────────────────────────────────────────────────────────────
       in your settings

       file       /home/ada/settings.json
       the rule applies in all directories

       * matches any text within a word; a trailing * matches all remaining words.
       Use && to separate rules for several commands.
       enter save · esc cancel
    ");
    assert_eq!(list.key(KeyCode::Enter), save(SettingScope::User, "cargo test*"));
    assert!(list.screen().contains("saving…"));
    list.key(KeyCode::Backspace);
    list.0.type_keys(" parse");
    list.key(KeyCode::Down);
    assert_eq!(list.key(KeyCode::Enter), save(SettingScope::Project, "cargo test parse"));
}

#[test]
fn rule_form_shows_all_that_enter_saves() {
    let long = format!("cargo test {} && rm -rf ../build", "parse ".repeat(30).trim_end());
    let mut list = form(&long);
    let screen = list.screen();
    let rows: Vec<&str> = screen.lines().skip(1).take(4).collect();
    assert!(rows[2].ends_with("rm -rf ../build") && rows[3].starts_with("   in your"), "{screen}");
    assert_eq!(list.key(KeyCode::Enter), save(SettingScope::Project, &long));
    list.0.type_keys(&" x".repeat(600));
    assert_eq!(list.key(KeyCode::Enter), [], "{}", list.screen());
    let screen = list.screen();
    assert!(screen.contains("✗ the rule doesn't fit on the screen") && screen.contains("in your settings"));
}

#[test]
fn rule_form_with_relative_path_selects_the_project() {
    let mut list = form("./run.sh *");
    assert!(list.screen().contains("▸ in the project's settings"), "{}", list.screen());
    assert_eq!(list.key(KeyCode::Enter), save(SettingScope::Project, "./run.sh *"));
}

#[test]
fn rule_form_shows_the_syntax_of_its_patterns() {
    assert!(form("cargo test*").screen().contains("a trailing * matches all remaining words"));
    let shown = |args: Value, patterns: &str| {
        let request = ApprovalRequest { args, ..approval_request("") };
        let rules = ProposedRules::parse("read_file", patterns);
        form_for("read_file", patterns, PatternSubject::find(&request, &rules)).screen()
    };
    let path = shown(json!({"path": "/etc/hosts"}), "/etc/**");
    assert!(path.contains("* matches within a path component, ** across components."), "{path}");
    assert!(!path.contains("remaining words") && !path.contains("&&"), "{path}");
    let host = shown(json!({"url": "https://example.org/a"}), "example.org");
    assert!(!host.contains("* matches"), "{host}");
}

#[test]
fn rule_form_reports_problems_in_place() {
    let mut list = form("cargo test*");
    list.0.type_keys("[");
    assert_eq!(list.key(KeyCode::Enter), []);
    assert!(list.screen().contains("✗ `match`: error parsing glob"), "{}", list.screen());
    list.0.chord(KeyModifiers::CONTROL, 'u');
    assert_eq!(list.key(KeyCode::Enter), []);
    assert!(list.screen().contains("✗ an empty rule would cover every call"), "{}", list.screen());
    list.0.type_keys("cargo*");
    assert_eq!(list.key(KeyCode::Enter), save(SettingScope::User, "cargo*"));
    let failed = StatusText::error("can't access /home/ada/settings.json");
    list.0.take(TaskResult::List(ListResult::Status(failed)));
    let screen = list.screen();
    assert!(screen.contains("✗ can't access") && screen.contains("bash ❯ cargo*"), "{screen}");
}
