//! Completion while typing.

use std::sync::Arc;

use crossterm::event::KeyCode;
use tiller_core::message::{Image, ThinkingLevel};
use tiller_core::setting;
use tiller_engine::{AgentCommand, ApprovalMode, CommandSource, SessionState};
use tiller_provider::catalog::ImageInput;

use crate::action::{Action, BackgroundJob, ListAction, SessionEdit, Submit};
use crate::address::Address;
use crate::attach::AttachedImage;
use crate::completion::files::{FileList, FileRankingJob};
use crate::completion::paths::{PathKind, PathQuery, list_paths_for};
use crate::completion::values::ArgumentValues;
use crate::list_kind::ListKind;
use crate::message::{CompletionResult, TaskResult};
use crate::navigate::Navigate;
use crate::picker;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::tests::harness::{Harness, SIZES, state};

impl Harness {
    pub(super) fn report(&mut self, report: TaskResult) -> Vec<Action> {
        self.actions.clear();
        self.report_result(report);
        std::mem::take(&mut self.actions)
    }

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
fn completion_file_after_at_sign() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut harness = Harness::new(width, height);
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
        insta::assert_snapshot!(format!("files_{width}x{height}"), harness.screen());
        assert_eq!(harness.key(KeyCode::Enter), []);
        assert_eq!(harness.app.composer.editor.text(), "look at @src/main.rs ");
        harness.type_and_rank("and @notes");
        harness.key(KeyCode::Tab);
        assert_eq!(harness.app.composer.editor.text(), "look at @src/main.rs and @\"src/my notes.md\" ");
        let sent = Submit::Steer("look at @src/main.rs and @\"src/my notes.md\" ".into());
        assert!(harness.key(KeyCode::Enter).contains(&Action::Submit(sent)));
    }
}

#[test]
fn completion_early_tab_accepts_first_result() {
    let mut harness = Harness::new(80, 24);
    harness.key(KeyCode::Char('@'));
    let actions = harness.report(TaskResult::Completion(CompletionResult::Files(files())));
    harness.rank_files(actions);
    let actions: Vec<Action> = "ma".chars().flat_map(|c| harness.key(KeyCode::Char(c))).collect();
    assert_eq!(harness.key(KeyCode::Tab), []);
    assert_eq!(harness.app.composer.editor.text(), "@ma");
    harness.rank_files(actions);
    assert_eq!(harness.app.composer.editor.text(), "@src/main.rs ");

    // Another key cancels it.
    harness.type_and_rank("@no");
    let actions = harness.key(KeyCode::Char('t'));
    harness.key(KeyCode::Tab);
    let more = harness.key(KeyCode::Char('e'));
    harness.rank_files([actions, more].concat());
    assert_eq!(harness.app.composer.editor.text(), "@src/main.rs @note");
}

#[test]
fn completion_rejected_walk_is_retried() {
    let mut harness = Harness::new(80, 24);
    let [walk] = &harness.key(KeyCode::Char('@'))[..] else { panic!("files are looked for") };
    assert_eq!(harness.key(KeyCode::Char('m')), [], "somebody is at it");
    harness.reject(Address::Composer, walk.clone());
    assert_eq!(harness.key(KeyCode::Char('a')), std::slice::from_ref(walk));
}

#[test]
fn completion_image_is_attached() {
    let mut harness = Harness::new(80, 24);
    harness.report(TaskResult::Completion(CompletionResult::Files(files())));
    harness.type_and_rank("what is @sho");
    assert_eq!(harness.key(KeyCode::Tab), [Action::Attach("shot.png".into(), "@shot.png ".into())]);
    assert_eq!(harness.app.composer.editor.text(), "what is ");
    let image = Image { data: "QUJD".into(), mime_type: "image/png".into() };
    harness.report(TaskResult::Attached(AttachedImage { image: image.clone(), size: (3, 2) }));
    assert_eq!(harness.app.composer.editor.text(), "what is [image #1: 3×2] ");
    let sent = Submit::Steer("what is [image #1: 3×2] ".into());
    let sent = Action::Submit(Submit::WithImages(Box::new(sent), vec![image]));
    assert!(harness.key(KeyCode::Enter).contains(&sent));
}

#[test]
fn image_for_text_only_model_is_held_once() {
    let mut harness = Harness::new(80, 24);
    let text_only = SessionState { image_input: ImageInput::Unsupported, ..state() };
    harness.report(TaskResult::State(Box::new(text_only)));
    let image = Image { data: "QUJD".into(), mime_type: "image/png".into() };
    harness.report(TaskResult::Attached(AttachedImage { image: image.clone(), size: (3, 2) }));
    assert!(
        harness.screen().contains("claude-sonnet-4-5 doesn't accept images; ctrl+l chooses another model.")
    );
    assert_eq!(harness.key(KeyCode::Enter), []);
    assert!(
        harness
            .screen()
            .contains("claude-sonnet-4-5 doesn't accept images; enter sends a line of text instead.")
    );
    assert_eq!(harness.app.composer.editor.text(), "[image #1: 3×2] ");
    harness.type_text("what is it?");
    assert_eq!(harness.key(KeyCode::Enter), [], "another message is another question");
    let message = Submit::Steer("[image #1: 3×2] what is it?".into());
    let sent = Action::Submit(Submit::WithImages(Box::new(message), vec![image]));
    assert!(harness.key(KeyCode::Enter).contains(&sent));
    harness.type_and_rank("see @a.png ");
    assert_eq!(harness.key(KeyCode::Enter), [], "so is one that is only named");
    assert!(harness.key(KeyCode::Enter).contains(&Action::Submit(Submit::Steer("see @a.png ".into()))));
}

#[test]
fn completion_esc_dismisses() {
    let mut harness = Harness::new(80, 24);
    harness.report(TaskResult::Completion(CompletionResult::Files(files())));
    harness.type_and_rank("see @src");
    assert!(harness.screen().contains("src/main.rs"));
    harness.key(KeyCode::Esc);
    assert!(!harness.screen().contains("src/main.rs"));
    assert_eq!(harness.app.composer.editor.text(), "see @src");
    assert!(harness.key(KeyCode::Enter).contains(&Action::Submit(Submit::Steer("see @src".into()))));
}

#[test]
fn completion_complete_file_is_sent() {
    let mut harness = Harness::new(80, 24);
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
        let mut harness = Harness::new(80, 24);
        harness.report(TaskResult::Completion(CompletionResult::Files(Arc::new(FileList::from(names)))));
        harness.type_and_rank(typed);
        for expected in expected {
            // Effects of the text are applied after the key.
            let actions = harness.key(KeyCode::Tab);
            harness.rank_files(actions);
            assert_eq!(harness.app.composer.editor.text(), expected);
        }
    }
    // A complete directory name is sent unchanged.
    let mut harness = Harness::new(80, 24);
    harness.report(TaskResult::Completion(CompletionResult::Files(files())));
    harness.type_and_rank("@src/");
    assert!(harness.screen().contains(" ▸ src/main.rs"), "{}", harness.screen());
    assert!(harness.key(KeyCode::Enter).contains(&Action::Submit(Submit::Steer("@src/".into()))));
}

#[test]
fn completion_stale_ranking_is_dropped() {
    let mut harness = Harness::new(80, 24);
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
    let mut harness = Harness::new(80, 24);
    harness.app.ui.cwd = dir.path().to_owned();
    harness.type_text("see ./m");
    let query = PathQuery {
        purpose: PathKind::Word,
        before: "see ./m".into(),
        typed: "./m".into(),
        cwd: dir.path().into(),
        home: harness.app.ui.home.clone(),
    };
    assert_eq!(harness.key(KeyCode::Tab), [Action::List(ListAction::ListPaths(query.clone()))]);
    harness.report(TaskResult::Completion(CompletionResult::Paths(list_paths_for(query))));
    assert_eq!(harness.app.composer.editor.text(), "see ./ma");
    assert!(harness.screen().contains("map.rs"), "{}", harness.screen());
    harness.key(KeyCode::Down);
    harness.key(KeyCode::Tab);
    assert_eq!(harness.app.composer.editor.text(), "see ./map.rs");
}

#[test]
fn completion_explicit_path_after_at_sign() {
    let dir = tempfile::TempDir::new().unwrap();
    std::fs::create_dir_all(dir.path().join("notes/old")).unwrap();
    std::fs::write(dir.path().join("notes/map.md"), "").unwrap();
    std::fs::write(dir.path().join("notes/shot.png"), "").unwrap();
    let mut harness = Harness::new(80, 24);
    harness.app.ui.home = Some(dir.path().to_owned());
    let press = |harness: &mut Harness, code| {
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
    let types = |harness: &mut Harness, text: &str| {
        text.chars().for_each(|c| _ = press(harness, KeyCode::Char(c)));
    };
    types(&mut harness, "see @~/no");
    assert!(harness.screen().contains(" ▸ notes/"), "{}", harness.screen());
    press(&mut harness, KeyCode::Enter);
    assert_eq!(harness.app.composer.editor.text(), "see @~/notes/");
    assert!(harness.screen().contains("map.md") && harness.screen().contains("old/"), "{}", harness.screen());
    types(&mut harness, "ma");
    press(&mut harness, KeyCode::Tab);
    assert_eq!(harness.app.composer.editor.text(), "see @~/notes/map.md ");
    types(&mut harness, "@~/notes/sh");
    let attach = Action::Attach(dir.path().join("notes/shot.png"), "@~/notes/shot.png ".into());
    assert_eq!(press(&mut harness, KeyCode::Tab), [attach], "pictures are attached");
    // A complete name is sent, and so is a directory.
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
    let mut harness = Harness::new(80, 24);
    harness.app.ui.home = Some(dir.path().to_owned());
    harness.type_text("@~/");
    let [Action::List(ListAction::ListPaths(query))] = &harness.key(KeyCode::Char('m'))[..] else {
        panic!("it is looked for")
    };
    assert_eq!(harness.key(KeyCode::Tab), []);
    harness.report(TaskResult::Completion(CompletionResult::Paths(list_paths_for(query.clone()))));
    assert_eq!(harness.app.composer.editor.text(), "@~/map.md ");
}

#[test]
fn completion_argument_candidates() {
    let mut harness = Harness::new(80, 24);
    let models = ArgumentValues::List(ListKind::Models);
    harness.type_and_rank("/model");
    assert_eq!(harness.key(KeyCode::Char(' ')), [Action::List(ListAction::LoadArguments(models))]);
    let model =
        |name: &str| PickerItem::new(name, PickerChoice::Model(name.into())).with_note("thinks · 200k");
    let locked = PickerItem::new("openai/o3", PickerChoice::Unavailable("no key".into()));
    let items = vec![model("anthropic/claude-haiku-4-5"), model("openai/gpt-5"), locked];
    harness.report(TaskResult::Completion(CompletionResult::ArgumentValues { of: models, items }));
    harness.type_and_rank("hai");
    for (width, height) in SIZES {
        harness.resize(width, height);
        insta::assert_snapshot!(format!("model_names_{width}x{height}"), harness.screen());
    }
    let actions = harness.key(KeyCode::Enter);
    assert!(
        actions.contains(&Action::Edit(SessionEdit::SetModel("anthropic/claude-haiku-4-5".into()))),
        "{actions:?}"
    );
    harness.type_and_rank("/model");
    assert_eq!(
        harness.key(KeyCode::Char(' ')),
        [Action::List(ListAction::LoadArguments(models))],
        "others may be there by now"
    );
    assert!(
        harness.key(KeyCode::Enter).contains(&Action::List(ListAction::LoadItems(ListKind::Models))),
        "nothing was typed of a name"
    );
}

#[test]
fn completion_argument_enter_accepts_best() {
    for (line, expected) in [
        ("/approval ro", Action::List(ListAction::SetApproval(ApprovalMode::ReadOnly))),
        (
            "/theme gruv",
            Action::Background(BackgroundJob::SaveSetting {
                setting: &setting::THEME,
                value: "gruvbox".into(),
            }),
        ),
        ("/settings steerpt", Action::List(ListAction::LoadItems(ListKind::Settings))),
    ] {
        let mut harness = Harness::new(80, 24);
        harness.type_and_rank(line);
        assert!(harness.screen().contains(" ▸ "), "{}", harness.screen());
        let actions = harness.key(KeyCode::Enter);
        assert!(actions.contains(&expected), "{line}: {actions:?}");
    }
    for (width, height) in [(80, 24), (120, 40)] {
        let mut harness = Harness::new(width, height);
        harness.type_and_rank("/theme ");
        insta::assert_snapshot!(format!("theme_names_{width}x{height}"), harness.screen());
    }
}

#[test]
fn completion_argument_in_no_name_is_not_taken() {
    let mut harness = Harness::new(80, 24);
    harness.type_and_rank("/approval x");
    let actions = harness.key(KeyCode::Enter);
    assert!(!actions.iter().any(|action| matches!(action, Action::List(_))), "{actions:?}");
    assert!(harness.screen().contains("approval mode"), "{}", harness.screen());
}

#[test]
fn completion_setting_values() {
    let mut harness = Harness::new(80, 24);
    harness.type_and_rank("/settings approval au");
    assert!(harness.screen().contains("approval auto"), "{}", harness.screen());
    let auto = Action::List(ListAction::Set(&tiller_core::setting::APPROVAL, "auto".into()));
    assert!(harness.key(KeyCode::Enter).contains(&auto), "it is taken and done");
    harness.type_and_rank("/settings max_turns ");
    assert!(!harness.screen().contains("approval auto"), "{}", harness.screen());
}

#[test]
fn completion_thinking_supported_levels() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut harness = Harness::new(width, height);
        let of = ArgumentValues::List(ListKind::Thinking);
        harness.type_and_rank("/thinking");
        assert_eq!(harness.key(KeyCode::Char(' ')), [Action::List(ListAction::LoadArguments(of))]);
        let can = vec![ThinkingLevel::Off, ThinkingLevel::Low, ThinkingLevel::High];
        let levels = picker::agent_options::Levels {
            supported: can,
            current: ThinkingLevel::Low,
            model: state().model,
        };
        harness.report(TaskResult::Completion(CompletionResult::ArgumentValues {
            of,
            items: picker::agent_options::levels(&levels).0,
        }));
        insta::assert_snapshot!(format!("levels_{width}x{height}"), harness.screen());
        harness.type_and_rank("xhi");
        assert!(!harness.screen().contains("xhigh"), "{}", harness.screen());
        (0..3).for_each(|_| _ = harness.key(KeyCode::Backspace));
        harness.type_and_rank("hi");
        assert_eq!(
            harness.key(KeyCode::Enter)[1..],
            [Action::Edit(SessionEdit::SetThinking(ThinkingLevel::High))]
        );
    }
}

#[test]
fn completion_tools_and_providers_are_current() {
    for (command, list, choice, expected) in [
        (
            "/tools",
            ListKind::Tools,
            PickerChoice::Tool("bash".into()),
            Action::List(ListAction::ToggleTool("bash".into())),
        ),
        (
            "/login",
            ListKind::Logins,
            PickerChoice::Login("bash".into()),
            Action::List(ListAction::LoadItems(ListKind::Logins)),
        ),
    ] {
        let mut harness = Harness::new(80, 24);
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
        assert!(harness.key(KeyCode::Enter).contains(&expected), "{command}");
    }
}

#[test]
fn completion_resume_opens_or_searches() {
    let mut harness = Harness::new(80, 24);
    let session = |name: &str| {
        let item =
            PickerItem::new(name, PickerChoice::Open(format!("/s/{name}").into())).with_note("10 messages");
        item.with_session(format!("01JD6X-{name}").as_str().into(), None)
    };
    harness.type_and_rank("/resume ");
    let items = vec![session("lexer"), session("parser")];
    harness.report(TaskResult::Completion(CompletionResult::ArgumentValues {
        of: ArgumentValues::Sessions,
        items,
    }));
    for (width, height) in SIZES {
        harness.resize(width, height);
        insta::assert_snapshot!(format!("session_offers_{width}x{height}"), harness.screen());
    }
    harness.type_and_rank("parse");
    let actions = harness.key(KeyCode::Enter);
    assert!(
        actions.iter().any(|action| matches!(action, Action::SearchSessions(ask) if ask.words == "parse")),
        "{actions:?}"
    );
    harness.key(KeyCode::Esc);
    harness.key(KeyCode::Esc);
    harness.type_and_rank("/resume ");
    harness.report(TaskResult::Completion(CompletionResult::ArgumentValues {
        of: ArgumentValues::Sessions,
        items: vec![session("lexer"), session("parser")],
    }));
    harness.key(KeyCode::Down);
    assert_eq!(harness.key(KeyCode::Enter), [Action::Navigate(Navigate::Open("/s/parser".into()))]);
    assert_eq!(harness.app.composer.editor.text(), "");
}

#[test]
fn completion_path_argument() {
    let dir = tempfile::TempDir::new().unwrap();
    std::fs::create_dir(dir.path().join("pages")).unwrap();
    let mut harness = Harness::new(80, 24);
    harness.app.ui.cwd = dir.path().to_owned();
    let typed = |harness: &mut Harness, text: &str| {
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
    assert_eq!(harness.app.composer.editor.text(), "/export pages/");
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
fn completion_free_argument_has_hint() {
    let mut harness = Harness::new(80, 24);
    harness.type_and_rank("/compact ");
    for (width, height) in SIZES {
        harness.resize(width, height);
        insta::assert_snapshot!(format!("argument_hint_{width}x{height}"), harness.screen());
    }
    harness.key(KeyCode::Esc);
    assert!(!harness.screen().contains("[QUERY]"), "{}", harness.screen());
    assert_eq!(harness.app.composer.editor.text(), "/compact ");
    harness.type_and_rank("the");
    assert!(!harness.screen().contains("[QUERY]"), "{}", harness.screen());
}

#[test]
fn completion_description_column_is_fixed() {
    let mut harness = Harness::new(80, 24);
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
    harness.report(TaskResult::Commands(commands));
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

#[test]
fn completion_other_directory_lists_files_again() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("@");
    harness.report(TaskResult::Completion(CompletionResult::Files(files())));
    harness.control('u');
    let elsewhere = SessionState { cwd: "/srv".into(), ..state() };
    harness.report(TaskResult::State(Box::new(elsewhere)));
    assert_eq!(harness.key(KeyCode::Char('@')), [Action::List(ListAction::WalkFiles("/srv".into()))]);
}

/// Returns an editor with this text, and with skills for debugging and committing.
fn with_skills(typed: &str) -> Harness {
    let mut harness = Harness::new(80, 24);
    let skill = |name: &str| AgentCommand {
        name: name.into(),
        description: "does it".into(),
        argument_hint: None,
        source: CommandSource::Skill,
        location: None,
    };
    harness.report(TaskResult::Commands(vec![skill("skill:debug"), skill("skill:commit")]));
    harness.type_text(typed);
    harness
}

#[test]
fn enter_fuzzy_command_is_completed_only() {
    for (typed, filled) in [("/bug", "/skill:debug "), ("/rsm", "/resume "), ("/re", "/resume ")] {
        let mut harness = with_skills(typed);
        harness.key(KeyCode::Enter);
        assert_eq!(harness.app.composer.editor.text(), filled, "{typed}");
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
