//! The composer while candidates are offered: keys and results in, text, rows and actions out.

mod arguments;
mod clicks;

use std::sync::Arc;

use tiller_core::message::Image;
use tiller_core::setting;
use tiller_engine::{AgentCommand, CommandSource};

use super::*;
use crate::action::{ListAction, Submit};
use crate::address::Address;
use crate::attach::AttachedImage;
use crate::completion::files::{FileList, FileRankingJob};
use crate::completion::paths::{PathQuery, list_paths_for};
use crate::completion::values::ArgumentValues;
use crate::composer::testing::ComposerBench;
use crate::effect::{Effect, OverlayRequest};
use crate::list_kind::ListKind;
use crate::message::TaskResult;
use crate::picker::item::{PickerChoice, PickerItem};

impl ComposerBench {
    /// Ranks files, as the executor would.
    fn rank_files(&mut self, actions: Vec<Action>) {
        for action in actions {
            if let Action::List(ListAction::RankFiles(ranking)) = action {
                self.report(TaskResult::Completion(CompletionResult::Ranked(ranking.run())));
            }
        }
    }

    fn type_and_rank(&mut self, text: &str) {
        for c in text.chars() {
            let actions = self.key(KeyCode::Char(c));
            self.rank_files(actions);
        }
    }
}

fn files() -> Arc<FileList> {
    Arc::new(FileList::from(&["src/main.rs", "src/my notes.md", "src/", "docs/map.md", "shot.png"][..]))
}

#[test]
fn completion_early_tab_accepts_first_result() {
    let mut harness = ComposerBench::new();
    harness.key(KeyCode::Char('@'));
    let actions = harness.report(TaskResult::Completion(CompletionResult::Files(files())));
    harness.rank_files(actions);
    let actions: Vec<Action> = "ma".chars().flat_map(|c| harness.key(KeyCode::Char(c))).collect();
    assert_eq!(harness.key(KeyCode::Tab), []);
    assert_eq!(harness.text(), "@ma");
    harness.rank_files(actions);
    assert_eq!(harness.text(), "@src/main.rs ");

    // Another key takes it back.
    harness.type_and_rank("@no");
    let actions = harness.key(KeyCode::Char('t'));
    harness.key(KeyCode::Tab);
    let more = harness.key(KeyCode::Char('e'));
    harness.rank_files([actions, more].concat());
    assert_eq!(harness.text(), "@src/main.rs @note");
}

#[test]
fn completion_file_after_at_sign() {
    for size in [(80, 24), (120, 40)] {
        let mut harness = ComposerBench::new();
        harness.bench.ui.size = size;
        harness.type_text("look at ");
        assert_eq!(
            harness.key(KeyCode::Char('@')),
            [Action::List(ListAction::WalkFiles("/home/ada/code/conf".into()))]
        );
        let actions = harness.report(TaskResult::Completion(CompletionResult::Files(files())));
        assert_eq!(
            actions,
            [Action::List(ListAction::RankFiles(FileRankingJob {
                files: files(),
                resources: Arc::default(),
                query: String::new()
            }))]
        );
        harness.rank_files(actions);
        harness.type_and_rank("ma");
        assert_eq!(harness.screen(), " ▸ src/main.rs\n   docs/map.md");
        assert_eq!(harness.key(KeyCode::Enter), []);
        assert_eq!(harness.text(), "look at @src/main.rs ");
        harness.type_and_rank("and @notes");
        harness.key(KeyCode::Tab);
        assert_eq!(harness.text(), "look at @src/main.rs and @\"src/my notes.md\" ");
        let sent = Submit::Steer("look at @src/main.rs and @\"src/my notes.md\" ".into());
        assert!(harness.key(KeyCode::Enter).contains(&Action::Submit(sent)));
    }
}

#[test]
fn completion_rejected_walk_is_retried() {
    let mut harness = ComposerBench::new();
    let [walk] = &harness.key(KeyCode::Char('@'))[..] else { panic!("files are looked for") };
    assert_eq!(harness.key(KeyCode::Char('m')), [], "somebody is at it");
    harness.reject(walk.clone());
    assert_eq!(harness.key(KeyCode::Char('a')), std::slice::from_ref(walk));
}

#[test]
fn completion_image_is_attached() {
    let mut harness = ComposerBench::new();
    harness.report(TaskResult::Completion(CompletionResult::Files(files())));
    harness.type_and_rank("what is @sho");
    assert_eq!(harness.key(KeyCode::Tab), [Action::Attach("shot.png".into(), "@shot.png ".into())]);
    assert_eq!(harness.text(), "what is ");
    let image = Image { data: "QUJD".into(), mime_type: "image/png".into() };
    harness.report(TaskResult::Attached(AttachedImage { image: image.clone(), size: (3, 2) }));
    assert_eq!(harness.text(), "what is [image #1: 3×2] ");
    let sent = Submit::Steer("what is [image #1: 3×2] ".into());
    let sent = Action::Submit(Submit::WithImages(Box::new(sent), vec![image]));
    assert!(harness.key(KeyCode::Enter).contains(&sent));
}

#[test]
fn completion_esc_dismisses() {
    let mut harness = ComposerBench::new();
    harness.report(TaskResult::Completion(CompletionResult::Files(files())));
    harness.type_and_rank("see @src");
    assert!(harness.screen().contains("src/main.rs"));
    harness.key(KeyCode::Esc);
    assert!(!harness.screen().contains("src/main.rs"));
    assert_eq!(harness.text(), "see @src");
    assert!(harness.key(KeyCode::Enter).contains(&Action::Submit(Submit::Steer("see @src".into()))));
}

#[test]
fn completion_complete_file_is_sent() {
    let mut harness = ComposerBench::new();
    harness.report(TaskResult::Completion(CompletionResult::Files(files())));
    harness.type_and_rank("see @docs/map.md");
    assert!(harness.key(KeyCode::Enter).contains(&Action::Submit(Submit::Steer("see @docs/map.md".into()))));
}

#[test]
fn completion_tab_enters_dirs() {
    let cases = [
        (&["docs/", "src/", "src/main.rs"][..], "@sr", ["@src/", "@src/main.rs "]),
        (&["my notes/", "my notes/map.md"][..], "@my", ["@\"my notes/", "@\"my notes/map.md\" "]),
    ];
    for (names, typed, expected) in cases {
        let mut harness = ComposerBench::new();
        harness.report(TaskResult::Completion(CompletionResult::Files(Arc::new(FileList::from(names)))));
        harness.type_and_rank(typed);
        for expected in expected {
            // What follows from the text is looked at after the key.
            let actions = harness.key(KeyCode::Tab);
            harness.rank_files(actions);
            assert_eq!(harness.text(), expected);
        }
    }
    // A directory that is meant as it stands is sent.
    let mut harness = ComposerBench::new();
    harness.report(TaskResult::Completion(CompletionResult::Files(files())));
    harness.type_and_rank("@src/");
    assert!(harness.screen().contains(" ▸ src/main.rs"), "{}", harness.screen());
    assert!(harness.key(KeyCode::Enter).contains(&Action::Submit(Submit::Steer("@src/".into()))));
}

#[test]
fn completion_stale_ranking_is_dropped() {
    let mut harness = ComposerBench::new();
    harness.report(TaskResult::Completion(CompletionResult::Files(files())));
    let early = harness.key(KeyCode::Char('@'));
    harness.key(KeyCode::Char('m'));
    harness.rank_files(early);
    assert!(!harness.screen().contains("src/main.rs"), "{}", harness.screen());
}

#[test]
fn completion_tab_completes_common_prefix() {
    let dir = tempfile::TempDir::new().unwrap();
    for name in ["main.rs", "map.rs"] {
        std::fs::write(dir.path().join(name), "").unwrap();
    }
    let mut harness = ComposerBench::new();
    harness.bench.ui.cwd = dir.path().to_owned();
    harness.type_text("see ./m");
    let query = PathQuery {
        purpose: PathKind::Word,
        before: "see ./m".into(),
        typed: "./m".into(),
        cwd: dir.path().into(),
        home: harness.bench.ui.home.clone(),
    };
    assert_eq!(harness.key(KeyCode::Tab), [Action::List(ListAction::ListPaths(query.clone()))]);
    harness.report(TaskResult::Completion(CompletionResult::Paths(list_paths_for(query))));
    assert_eq!(harness.text(), "see ./ma");
    assert!(harness.screen().contains("map.rs"), "{}", harness.screen());
    harness.key(KeyCode::Down);
    harness.key(KeyCode::Tab);
    assert_eq!(harness.text(), "see ./map.rs");
}

#[test]
fn completion_explicit_path_after_at_sign() {
    let dir = tempfile::TempDir::new().unwrap();
    std::fs::create_dir_all(dir.path().join("notes/old")).unwrap();
    std::fs::write(dir.path().join("notes/map.md"), "").unwrap();
    std::fs::write(dir.path().join("notes/shot.png"), "").unwrap();
    let mut harness = ComposerBench::new();
    harness.bench.ui.home = Some(dir.path().to_owned());
    let press = |harness: &mut ComposerBench, code| {
        let mut actions = harness.key(code);
        while let Some(at) =
            actions.iter().position(|action| matches!(action, Action::List(ListAction::ListPaths(_))))
        {
            let Action::List(ListAction::ListPaths(query)) = actions.remove(at) else { unreachable!() };
            actions.extend(
                harness.report(TaskResult::Completion(CompletionResult::Paths(list_paths_for(query)))),
            );
        }
        actions
    };
    let types = |harness: &mut ComposerBench, text: &str| {
        text.chars().for_each(|c| _ = press(harness, KeyCode::Char(c)));
    };
    types(&mut harness, "see @~/no");
    assert!(harness.screen().contains(" ▸ notes/"), "{}", harness.screen());
    press(&mut harness, KeyCode::Enter);
    assert_eq!(harness.text(), "see @~/notes/");
    assert!(harness.screen().contains("map.md") && harness.screen().contains("old/"), "{}", harness.screen());
    types(&mut harness, "ma");
    press(&mut harness, KeyCode::Tab);
    assert_eq!(harness.text(), "see @~/notes/map.md ");
    types(&mut harness, "@~/notes/sh");
    let attach = Action::Attach(dir.path().join("notes/shot.png"), "@~/notes/shot.png ".into());
    assert_eq!(press(&mut harness, KeyCode::Tab), [attach], "pictures are attached");
    // A name that is whole is sent, and so is a directory.
    for whole in ["@~/notes/map.md", "@~/notes/", "@~/notes"] {
        harness.control('u');
        types(&mut harness, whole);
        assert!(harness.screen().contains(" ▸ "), "{whole}: {}", harness.screen());
        let sent = press(&mut harness, KeyCode::Enter);
        assert!(sent.contains(&Action::Submit(Submit::Steer(whole.into()))), "{whole}: {sent:?}");
    }
}

#[test]
fn completion_tab_on_explicit_path_waits() {
    let dir = tempfile::TempDir::new().unwrap();
    std::fs::write(dir.path().join("map.md"), "").unwrap();
    let mut harness = ComposerBench::new();
    harness.bench.ui.home = Some(dir.path().to_owned());
    harness.type_text("@~/");
    let [Action::List(ListAction::ListPaths(query))] = &harness.key(KeyCode::Char('m'))[..] else {
        panic!("it is looked for")
    };
    assert_eq!(harness.key(KeyCode::Tab), []);
    harness.report(TaskResult::Completion(CompletionResult::Paths(list_paths_for(query.clone()))));
    assert_eq!(harness.text(), "@~/map.md ");
}

#[test]
fn completion_setting_values() {
    let mut harness = ComposerBench::new();
    harness.type_and_rank("/settings approval au");
    assert!(harness.screen().contains("approval auto"), "{}", harness.screen());
    let auto = Action::List(ListAction::Set(&setting::APPROVAL, "auto".into()));
    assert!(harness.key(KeyCode::Enter).contains(&auto), "it is taken and done");
    harness.type_and_rank("/settings max_turns ");
    assert!(!harness.screen().contains("approval auto"), "{}", harness.screen());
}

#[test]
fn completion_path_argument() {
    let dir = tempfile::TempDir::new().unwrap();
    std::fs::create_dir(dir.path().join("pages")).unwrap();
    let mut harness = ComposerBench::new();
    harness.bench.ui.cwd = dir.path().to_owned();
    let typed = |harness: &mut ComposerBench, text: &str| {
        for c in text.chars() {
            for action in harness.key(KeyCode::Char(c)) {
                if let Action::List(ListAction::ListPaths(query)) = action {
                    harness.report(TaskResult::Completion(CompletionResult::Paths(list_paths_for(query))));
                }
            }
        }
    };
    typed(&mut harness, "/export notes");
    assert!(harness.screen().contains("▸ notes.html"), "{}", harness.screen());
    let as_typed = Action::Export("notes".into());
    assert!(harness.key(KeyCode::Enter).contains(&as_typed), "nobody went to an offer");
    typed(&mut harness, "/export ");
    harness.key(KeyCode::Up);
    assert!(harness.screen().contains("   session.md                Markdown"), "{}", harness.screen());
    assert!(harness.screen().contains(" ▸ pages/"), "{}", harness.screen());
    let [Action::List(ListAction::ListPaths(query))] = &harness.key(KeyCode::Enter)[..] else {
        panic!("one goes on typing")
    };
    assert_eq!(harness.text(), "/export pages/");
    assert_eq!(
        list_paths_for(query.clone()).candidates.len(),
        3,
        "it is empty but for the file that may come"
    );
    typed(&mut harness, "n.j");
    harness.key(KeyCode::Tab);
    assert!(harness.key(KeyCode::Enter).contains(&Action::Export("pages/n.jsonl".into())));
}

#[test]
fn completion_description_column_is_fixed() {
    let mut harness = ComposerBench::new();
    let command = |name: &str, hint: Option<&str>| AgentCommand {
        name: name.into(),
        description: "Review a change.".into(),
        argument_hint: hint.map(str::to_owned),
        source: CommandSource::Prompt,
        location: None,
    };
    let commands = vec![
        command("review", Some("[file, branch or commit]")),
        command("review-all", None),
        command("review-what-was-committed-today", Some("[NAME]")),
    ];
    harness.bench.model.info.commands = commands;
    harness.type_text("/review");
    let screen = harness.screen();
    let rows: Vec<&str> = screen.lines().filter(|line| line.contains("Review a change.")).collect();
    assert_eq!(
        rows,
        [
            " ▸ /review [file, branch o…  Review a change.",
            "   /review-all               Review a change.",
            "   /review-what-was-committed-today  Review a change.",
        ],
        "{screen}"
    );
    harness.type_text(" ");
    assert!(harness.screen().contains("   /review [file, branch or commit]  Review a change."));
}

/// An editor in which something was typed, with skills for debugging and for committing.
fn with_skills(typed: &str) -> ComposerBench {
    let mut harness = ComposerBench::new();
    let skill = |name: &str| AgentCommand {
        name: name.into(),
        description: "does it".into(),
        argument_hint: None,
        source: CommandSource::Skill,
        location: None,
    };
    harness.bench.model.info.commands = vec![skill("skill:debug"), skill("skill:commit")];
    harness.type_text(typed);
    harness
}

#[test]
fn enter_fuzzy_command_is_completed_only() {
    for (typed, filled) in [("/bug", "/skill:debug "), ("/rsm", "/resume "), ("/re", "/resume ")] {
        let mut harness = with_skills(typed);
        harness.key(KeyCode::Enter);
        assert_eq!(harness.text(), filled, "{typed}");
    }
    let mut harness = with_skills("/ide");
    let actions = harness.key(KeyCode::Enter);
    assert!(!actions.iter().any(|action| matches!(action, Action::Submit(_))), "{actions:?}");
}

#[test]
fn enter_exact_name_alias_or_unique_prefix_runs() {
    let message = |text: &str| Action::Submit(Submit::Steer(text.into()));
    for (typed, action) in [
        ("/debug", message("/skill:debug ")),
        ("/deb", message("/skill:debug ")),
        ("/skill:commit", message("/skill:commit ")),
        ("/clear", Action::Navigate(Navigate::New)),
        ("/clon", Action::Navigate(Navigate::Clone)),
    ] {
        let mut harness = with_skills(typed);
        let actions = harness.key(KeyCode::Enter);
        assert!(actions.contains(&action), "{typed}: {actions:?}");
    }
}

#[test]
fn enter_selected_command_runs() {
    let mut harness = with_skills("/tr");
    harness.key(KeyCode::Down);
    let actions = harness.key(KeyCode::Enter);
    assert!(actions.contains(&Action::Truncate), "{actions:?}");
}

#[test]
fn completion_tools_and_providers_are_current() {
    for (command, list, choice, expected) in [
        (
            "/tools",
            ListKind::Tools,
            PickerChoice::Tool("bash".into()),
            Effect::Perform(Address::Composer, Action::List(ListAction::ToggleTool("bash".into()))),
        ),
        (
            "/login",
            ListKind::Logins,
            PickerChoice::Login("bash".into()),
            Effect::Open(OverlayRequest::Login("bash".into())),
        ),
    ] {
        let mut harness = ComposerBench::new();
        harness.type_and_rank(command);
        let of = ArgumentValues::List(list);
        assert_eq!(harness.key(KeyCode::Char(' ')), [Action::List(ListAction::LoadArguments(of))]);
        harness.type_and_rank("b");
        let late = ArgumentValues::List(ListKind::Models);
        harness.report(TaskResult::Completion(CompletionResult::ArgumentValues {
            of: late,
            items: vec![PickerItem::new("big", PickerChoice::Model("big".into()))],
        }));
        assert!(!harness.screen().contains("big"), "that was for another command");
        harness.report(TaskResult::Completion(CompletionResult::ArgumentValues {
            of,
            items: vec![PickerItem::new("bash", choice)],
        }));
        assert!(harness.effects(KeyEvent::from(KeyCode::Enter)).contains(&expected), "{command}");
    }
}
