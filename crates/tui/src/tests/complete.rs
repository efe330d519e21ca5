//! Completion while typing.

use std::sync::Arc;

use crossterm::event::KeyCode;
use tiller_core::message::{Image, ThinkingLevel};
use tiller_core::setting;
use tiller_engine::{ApprovalMode, CommandSource, SessionState, SlashCommand};
use tiller_provider::catalog::ImageInput;

use super::harness::{Harness, SIZES, state};
use crate::app::{
    Action, BackgroundJob, ListAction, ListKind, ListResult, Msg, Navigate, SessionEdit, Submit, TaskResult,
};
use crate::attach::AttachedImage;
use crate::completion::{ArgumentValues, FileList, PathKind, PathQuery, Ranking, list_paths_for};
use crate::picker::{self, PickerChoice, PickerItem};

impl Harness {
    pub(super) fn told(&mut self, report: TaskResult) -> Vec<Action> {
        self.actions.clear();
        self.input(Msg::TaskResult(report));
        std::mem::take(&mut self.actions)
    }

    /// Does what the performer would do about files.
    fn ranked(&mut self, actions: Vec<Action>) {
        for action in actions {
            if let Action::List(ListAction::RankFiles(ranking)) = action {
                self.told(TaskResult::List(ListResult::Ranked(ranking.run())));
            }
        }
    }

    fn types(&mut self, text: &str) {
        for c in text.chars() {
            let actions = self.key(KeyCode::Char(c));
            self.ranked(actions);
        }
    }
}

fn files() -> Arc<FileList> {
    Arc::new(FileList::from(&["src/main.rs", "src/my notes.md", "src/", "docs/map.md", "shot.png"][..]))
}

#[test]
fn completion_file_after_at_sign() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut stage = Harness::new(width, height);
        stage.type_text("look at ");
        assert_eq!(
            stage.key(KeyCode::Char('@')),
            [Action::List(ListAction::WalkFiles("/home/ada/code/conf".into()))]
        );
        let actions = stage.told(TaskResult::List(ListResult::Files(files())));
        assert_eq!(
            actions,
            [Action::List(ListAction::RankFiles(Ranking { files: files(), query: String::new() }))]
        );
        stage.ranked(actions);
        stage.types("ma");
        insta::assert_snapshot!(format!("files_{width}x{height}"), stage.screen());
        assert_eq!(stage.key(KeyCode::Enter), []);
        assert_eq!(stage.app.editor.text(), "look at @src/main.rs ");
        stage.types("and @notes");
        stage.key(KeyCode::Tab);
        assert_eq!(stage.app.editor.text(), "look at @src/main.rs and @\"src/my notes.md\" ");
        let sent = Submit::Steer("look at @src/main.rs and @\"src/my notes.md\" ".into());
        assert!(stage.key(KeyCode::Enter).contains(&Action::Submit(sent)));
    }
}

#[test]
fn completion_early_tab_accepts_first_result() {
    let mut stage = Harness::new(80, 24);
    stage.key(KeyCode::Char('@'));
    let asked = stage.told(TaskResult::List(ListResult::Files(files())));
    stage.ranked(asked);
    let asked: Vec<Action> = "ma".chars().flat_map(|c| stage.key(KeyCode::Char(c))).collect();
    assert_eq!(stage.key(KeyCode::Tab), []);
    assert_eq!(stage.app.editor.text(), "@ma");
    stage.ranked(asked);
    assert_eq!(stage.app.editor.text(), "@src/main.rs ");

    // Another key takes it back.
    stage.types("@no");
    let asked = stage.key(KeyCode::Char('t'));
    stage.key(KeyCode::Tab);
    let more = stage.key(KeyCode::Char('e'));
    stage.ranked([asked, more].concat());
    assert_eq!(stage.app.editor.text(), "@src/main.rs @note");
}

#[test]
fn completion_rejected_walk_is_retried() {
    let mut stage = Harness::new(80, 24);
    let [walk] = &stage.key(KeyCode::Char('@'))[..] else { panic!("files are looked for") };
    assert_eq!(stage.key(KeyCode::Char('m')), [], "somebody is at it");
    stage.app.reject_action(walk.clone());
    assert_eq!(stage.key(KeyCode::Char('a')), std::slice::from_ref(walk));
}

#[test]
fn completion_image_is_attached() {
    let mut stage = Harness::new(80, 24);
    stage.told(TaskResult::List(ListResult::Files(files())));
    stage.types("what is @sho");
    assert_eq!(stage.key(KeyCode::Tab), [Action::Attach("shot.png".into(), "@shot.png ".into())]);
    assert_eq!(stage.app.editor.text(), "what is ");
    let image = Image { data: "QUJD".into(), mime_type: "image/png".into() };
    stage.told(TaskResult::Attached(AttachedImage { image: image.clone(), size: (3, 2) }));
    assert_eq!(stage.app.editor.text(), "what is [image #1: 3×2] ");
    let sent = Submit::Steer("what is [image #1: 3×2] ".into());
    let sent = Action::Submit(Submit::WithImages(Box::new(sent), vec![image]));
    assert!(stage.key(KeyCode::Enter).contains(&sent));
}

#[test]
fn image_for_text_only_model_is_held_once() {
    let mut stage = Harness::new(80, 24);
    let text_only = SessionState { image_input: ImageInput::Unsupported, ..state() };
    stage.told(TaskResult::State(Box::new(text_only)));
    let image = Image { data: "QUJD".into(), mime_type: "image/png".into() };
    stage.told(TaskResult::Attached(AttachedImage { image: image.clone(), size: (3, 2) }));
    assert!(stage.screen().contains("claude-sonnet-4-5 takes no images; ctrl+l chooses another model"));
    assert_eq!(stage.key(KeyCode::Enter), []);
    assert!(stage.screen().contains("claude-sonnet-4-5 takes no images; enter sends a line of text instead"));
    assert_eq!(stage.app.editor.text(), "[image #1: 3×2] ");
    stage.type_text("what is it?");
    assert_eq!(stage.key(KeyCode::Enter), [], "another message is another question");
    let said = Submit::Steer("[image #1: 3×2] what is it?".into());
    let sent = Action::Submit(Submit::WithImages(Box::new(said), vec![image]));
    assert!(stage.key(KeyCode::Enter).contains(&sent));
    stage.types("see @a.png ");
    assert_eq!(stage.key(KeyCode::Enter), [], "so is one that is only named");
    assert!(stage.key(KeyCode::Enter).contains(&Action::Submit(Submit::Steer("see @a.png ".into()))));
}

#[test]
fn completion_esc_dismisses() {
    let mut stage = Harness::new(80, 24);
    stage.told(TaskResult::List(ListResult::Files(files())));
    stage.types("see @src");
    assert!(stage.screen().contains("src/main.rs"));
    stage.key(KeyCode::Esc);
    assert!(!stage.screen().contains("src/main.rs"));
    assert_eq!(stage.app.editor.text(), "see @src");
    assert!(stage.key(KeyCode::Enter).contains(&Action::Submit(Submit::Steer("see @src".into()))));
}

#[test]
fn completion_complete_file_is_sent() {
    let mut stage = Harness::new(80, 24);
    stage.told(TaskResult::List(ListResult::Files(files())));
    stage.types("see @docs/map.md");
    assert!(stage.key(KeyCode::Enter).contains(&Action::Submit(Submit::Steer("see @docs/map.md".into()))));
}

#[test]
fn completion_tab_enters_folders() {
    let cases = [
        (&["docs/", "src/", "src/main.rs"][..], "@sr", ["@src/", "@src/main.rs "]),
        (&["my notes/", "my notes/map.md"][..], "@my", ["@\"my notes/", "@\"my notes/map.md\" "]),
    ];
    for (names, typed, expected) in cases {
        let mut stage = Harness::new(80, 24);
        stage.told(TaskResult::List(ListResult::Files(Arc::new(FileList::from(names)))));
        stage.types(typed);
        for expected in expected {
            // What follows from the text is looked at after the key.
            let actions = stage.key(KeyCode::Tab);
            stage.ranked(actions);
            assert_eq!(stage.app.editor.text(), expected);
        }
    }
    // A folder that is meant as it stands is sent.
    let mut stage = Harness::new(80, 24);
    stage.told(TaskResult::List(ListResult::Files(files())));
    stage.types("@src/");
    assert!(stage.screen().contains(" ▸ src/main.rs"), "{}", stage.screen());
    assert!(stage.key(KeyCode::Enter).contains(&Action::Submit(Submit::Steer("@src/".into()))));
}

#[test]
fn completion_stale_ranking_is_dropped() {
    let mut stage = Harness::new(80, 24);
    stage.told(TaskResult::List(ListResult::Files(files())));
    let early = stage.key(KeyCode::Char('@'));
    stage.key(KeyCode::Char('m'));
    stage.ranked(early);
    assert!(!stage.screen().contains("src/main.rs"), "{}", stage.screen());
}

#[test]
fn completion_tab_completes_common_prefix() {
    let folder = tempfile::TempDir::new().unwrap();
    for name in ["main.rs", "map.rs"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let mut stage = Harness::new(80, 24);
    stage.app.ui.cwd = folder.path().to_owned();
    stage.type_text("see ./m");
    let wanted = PathQuery {
        purpose: PathKind::Word,
        before: "see ./m".into(),
        typed: "./m".into(),
        cwd: folder.path().into(),
        home: stage.app.ui.home.clone(),
    };
    assert_eq!(stage.key(KeyCode::Tab), [Action::List(ListAction::ListPaths(wanted.clone()))]);
    stage.told(TaskResult::List(ListResult::Paths(list_paths_for(wanted))));
    assert_eq!(stage.app.editor.text(), "see ./ma");
    assert!(stage.screen().contains("map.rs"), "{}", stage.screen());
    stage.key(KeyCode::Down);
    stage.key(KeyCode::Tab);
    assert_eq!(stage.app.editor.text(), "see ./map.rs");
}

#[test]
fn completion_explicit_path_after_at_sign() {
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::create_dir_all(folder.path().join("notes/old")).unwrap();
    std::fs::write(folder.path().join("notes/map.md"), "").unwrap();
    std::fs::write(folder.path().join("notes/shot.png"), "").unwrap();
    let mut stage = Harness::new(80, 24);
    stage.app.ui.home = Some(folder.path().to_owned());
    let press = |stage: &mut Harness, code| {
        let mut actions = stage.key(code);
        while let Some(at) =
            actions.iter().position(|action| matches!(action, Action::List(ListAction::ListPaths(_))))
        {
            let Action::List(ListAction::ListPaths(wanted)) = actions.remove(at) else { unreachable!() };
            actions.extend(stage.told(TaskResult::List(ListResult::Paths(list_paths_for(wanted)))));
        }
        actions
    };
    let types = |stage: &mut Harness, text: &str| {
        text.chars().for_each(|c| _ = press(stage, KeyCode::Char(c)));
    };
    types(&mut stage, "see @~/no");
    assert!(stage.screen().contains(" ▸ notes/"), "{}", stage.screen());
    press(&mut stage, KeyCode::Enter);
    assert_eq!(stage.app.editor.text(), "see @~/notes/");
    assert!(stage.screen().contains("map.md") && stage.screen().contains("old/"), "{}", stage.screen());
    types(&mut stage, "ma");
    press(&mut stage, KeyCode::Tab);
    assert_eq!(stage.app.editor.text(), "see @~/notes/map.md ");
    types(&mut stage, "@~/notes/sh");
    let attach = Action::Attach(folder.path().join("notes/shot.png"), "@~/notes/shot.png ".into());
    assert_eq!(press(&mut stage, KeyCode::Tab), [attach], "pictures are attached");
    // A name that is whole is sent, and so is a folder.
    for whole in ["@~/notes/map.md", "@~/notes/", "@~/notes"] {
        stage.control('u');
        types(&mut stage, whole);
        assert!(stage.screen().contains(" ▸ "), "{whole}: {}", stage.screen());
        let sent = press(&mut stage, KeyCode::Enter);
        assert!(sent.contains(&Action::Submit(Submit::Steer(whole.into()))), "{whole}: {sent:?}");
    }
}

#[test]
fn completion_tab_on_explicit_path_waits() {
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::write(folder.path().join("map.md"), "").unwrap();
    let mut stage = Harness::new(80, 24);
    stage.app.ui.home = Some(folder.path().to_owned());
    stage.type_text("@~/");
    let [Action::List(ListAction::ListPaths(wanted))] = &stage.key(KeyCode::Char('m'))[..] else {
        panic!("it is looked for")
    };
    assert_eq!(stage.key(KeyCode::Tab), []);
    stage.told(TaskResult::List(ListResult::Paths(list_paths_for(wanted.clone()))));
    assert_eq!(stage.app.editor.text(), "@~/map.md ");
}

#[test]
fn completion_argument_candidates() {
    let mut stage = Harness::new(80, 24);
    let models = ArgumentValues::List(ListKind::Models);
    stage.types("/model");
    assert_eq!(stage.key(KeyCode::Char(' ')), [Action::List(ListAction::LoadArguments(models))]);
    let model =
        |name: &str| PickerItem::new(name, PickerChoice::Model(name.into())).with_note("thinks · 200k");
    let locked = PickerItem::new("openai/o3", PickerChoice::Unavailable("no key".into()));
    let items = vec![model("anthropic/claude-haiku-4-5"), model("openai/gpt-5"), locked];
    stage.told(TaskResult::List(ListResult::ArgumentValues { of: models, items }));
    stage.types("hai");
    for (width, height) in SIZES {
        stage.resize(width, height);
        insta::assert_snapshot!(format!("model_names_{width}x{height}"), stage.screen());
    }
    let actions = stage.key(KeyCode::Enter);
    assert!(
        actions.contains(&Action::Edit(SessionEdit::SetModel("anthropic/claude-haiku-4-5".into()))),
        "{actions:?}"
    );
    stage.types("/model");
    assert_eq!(
        stage.key(KeyCode::Char(' ')),
        [Action::List(ListAction::LoadArguments(models))],
        "others may be there by now"
    );
    assert!(
        stage.key(KeyCode::Enter).contains(&Action::List(ListAction::LoadItems(ListKind::Models))),
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
        let mut stage = Harness::new(80, 24);
        stage.types(line);
        assert!(stage.screen().contains(" ▸ "), "{}", stage.screen());
        let actions = stage.key(KeyCode::Enter);
        assert!(actions.contains(&expected), "{line}: {actions:?}");
    }
    for (width, height) in [(80, 24), (120, 40)] {
        let mut stage = Harness::new(width, height);
        stage.types("/theme ");
        insta::assert_snapshot!(format!("theme_names_{width}x{height}"), stage.screen());
    }
}

#[test]
fn completion_argument_in_no_name_is_not_taken() {
    let mut harness = Harness::new(80, 24);
    harness.types("/approval x");
    let actions = harness.key(KeyCode::Enter);
    assert!(!actions.iter().any(|action| matches!(action, Action::List(_))), "{actions:?}");
    assert!(harness.screen().contains("approval mode"), "{}", harness.screen());
}

#[test]
fn completion_setting_values() {
    let mut stage = Harness::new(80, 24);
    stage.types("/settings approval au");
    assert!(stage.screen().contains("approval auto"), "{}", stage.screen());
    let auto = Action::List(ListAction::Set(&tiller_core::setting::APPROVAL, "auto".into()));
    assert!(stage.key(KeyCode::Enter).contains(&auto), "it is taken and done");
    stage.types("/settings max_turns ");
    assert!(!stage.screen().contains("approval auto"), "{}", stage.screen());
}

#[test]
fn completion_thinking_supported_levels() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut stage = Harness::new(width, height);
        let of = ArgumentValues::List(ListKind::Thinking);
        stage.types("/thinking");
        assert_eq!(stage.key(KeyCode::Char(' ')), [Action::List(ListAction::LoadArguments(of))]);
        let can = vec![ThinkingLevel::Off, ThinkingLevel::Low, ThinkingLevel::High];
        let levels = picker::Levels { supported: can, current: ThinkingLevel::Low, model: state().model };
        stage.told(TaskResult::List(ListResult::ArgumentValues { of, items: picker::levels(&levels).0 }));
        insta::assert_snapshot!(format!("levels_{width}x{height}"), stage.screen());
        stage.types("xhi");
        assert!(!stage.screen().contains("xhigh"), "{}", stage.screen());
        (0..3).for_each(|_| _ = stage.key(KeyCode::Backspace));
        stage.types("hi");
        assert_eq!(
            stage.key(KeyCode::Enter)[1..],
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
        let mut stage = Harness::new(80, 24);
        stage.types(command);
        let of = ArgumentValues::List(list);
        assert_eq!(stage.key(KeyCode::Char(' ')), [Action::List(ListAction::LoadArguments(of))]);
        stage.types("b");
        let late = ArgumentValues::List(ListKind::Models);
        stage.told(TaskResult::List(ListResult::ArgumentValues {
            of: late,
            items: vec![PickerItem::new("big", PickerChoice::Model("big".into()))],
        }));
        assert!(!stage.screen().contains("big"), "that was for another command");
        stage.told(TaskResult::List(ListResult::ArgumentValues {
            of,
            items: vec![PickerItem::new("bash", choice)],
        }));
        assert!(stage.key(KeyCode::Enter).contains(&expected), "{command}");
    }
}

#[test]
fn completion_resume_opens_or_searches() {
    let mut stage = Harness::new(80, 24);
    let session = |name: &str| {
        let item =
            PickerItem::new(name, PickerChoice::Open(format!("/s/{name}").into())).with_note("10 messages");
        item.with_session(format!("01JD6X-{name}").as_str().into(), None)
    };
    stage.types("/resume ");
    let items = vec![session("lexer"), session("parser")];
    stage.told(TaskResult::List(ListResult::ArgumentValues { of: ArgumentValues::Sessions, items }));
    for (width, height) in SIZES {
        stage.resize(width, height);
        insta::assert_snapshot!(format!("session_offers_{width}x{height}"), stage.screen());
    }
    stage.types("parse");
    let actions = stage.key(KeyCode::Enter);
    assert!(
        actions.iter().any(|action| matches!(action, Action::SearchSessions(ask) if ask.words == "parse")),
        "{actions:?}"
    );
    stage.key(KeyCode::Esc);
    stage.key(KeyCode::Esc);
    stage.types("/resume ");
    stage.told(TaskResult::List(ListResult::ArgumentValues {
        of: ArgumentValues::Sessions,
        items: vec![session("lexer"), session("parser")],
    }));
    stage.key(KeyCode::Down);
    assert_eq!(stage.key(KeyCode::Enter), [Action::Navigate(Navigate::Open("/s/parser".into()))]);
    assert_eq!(stage.app.editor.text(), "");
}

#[test]
fn completion_path_argument() {
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::create_dir(folder.path().join("pages")).unwrap();
    let mut stage = Harness::new(80, 24);
    stage.app.ui.cwd = folder.path().to_owned();
    let typed = |stage: &mut Harness, text: &str| {
        for c in text.chars() {
            for action in stage.key(KeyCode::Char(c)) {
                if let Action::List(ListAction::ListPaths(wanted)) = action {
                    stage.told(TaskResult::List(ListResult::Paths(list_paths_for(wanted))));
                }
            }
        }
    };
    typed(&mut stage, "/export notes");
    assert!(stage.screen().contains("▸ notes.html"), "{}", stage.screen());
    let as_typed = Action::Export("notes".into());
    assert!(stage.key(KeyCode::Enter).contains(&as_typed), "nobody went to an offer");
    typed(&mut stage, "/export ");
    stage.key(KeyCode::Up);
    assert!(stage.screen().contains("   session.md                Markdown"), "{}", stage.screen());
    assert!(stage.screen().contains(" ▸ pages/"), "{}", stage.screen());
    let [Action::List(ListAction::ListPaths(wanted))] = &stage.key(KeyCode::Enter)[..] else {
        panic!("one goes on typing")
    };
    assert_eq!(stage.app.editor.text(), "/export pages/");
    assert_eq!(
        list_paths_for(wanted.clone()).candidates.len(),
        3,
        "it is empty but for the file that may come"
    );
    typed(&mut stage, "n.j");
    stage.key(KeyCode::Tab);
    assert!(stage.key(KeyCode::Enter).contains(&Action::Export("pages/n.jsonl".into())));
}

#[test]
fn completion_free_argument_has_hint() {
    let mut stage = Harness::new(80, 24);
    stage.types("/compact ");
    for (width, height) in SIZES {
        stage.resize(width, height);
        insta::assert_snapshot!(format!("argument_hint_{width}x{height}"), stage.screen());
    }
    stage.key(KeyCode::Esc);
    assert!(!stage.screen().contains("[QUERY]"), "{}", stage.screen());
    assert_eq!(stage.app.editor.text(), "/compact ");
    stage.types("the");
    assert!(!stage.screen().contains("[QUERY]"), "{}", stage.screen());
}

#[test]
fn completion_description_column_is_fixed() {
    let mut stage = Harness::new(80, 24);
    let command = |name: &str, hint: Option<&str>| SlashCommand {
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
    stage.told(TaskResult::Commands(commands));
    stage.type_text("/review");
    let screen = stage.screen();
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
    stage.type_text(" ");
    assert!(stage.screen().contains("   /review [file, branch or commit]  Review a change."));
}

#[test]
fn completion_other_directory_lists_files_again() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("@");
    stage.told(TaskResult::List(ListResult::Files(files())));
    stage.control('u');
    let elsewhere = SessionState { cwd: "/srv".into(), ..state() };
    stage.told(TaskResult::State(Box::new(elsewhere)));
    assert_eq!(stage.key(KeyCode::Char('@')), [Action::List(ListAction::WalkFiles("/srv".into()))]);
}

/// An editor in which something was typed, with skills for debugging and for committing.
fn with_skills(typed: &str) -> Harness {
    let mut stage = Harness::new(80, 24);
    let skill = |name: &str| SlashCommand {
        name: name.into(),
        description: "does it".into(),
        argument_hint: None,
        source: CommandSource::Skill,
        location: None,
    };
    stage.told(TaskResult::Commands(vec![skill("skill:debug"), skill("skill:commit")]));
    stage.type_text(typed);
    stage
}

#[test]
fn enter_fuzzy_command_is_completed_only() {
    for (typed, filled) in [("/bug", "/skill:debug "), ("/rsm", "/resume "), ("/re", "/resume ")] {
        let mut stage = with_skills(typed);
        stage.key(KeyCode::Enter);
        assert_eq!(stage.app.editor.text(), filled, "{typed}");
    }
    let mut stage = with_skills("/ide");
    let actions = stage.key(KeyCode::Enter);
    assert!(!actions.iter().any(|action| matches!(action, Action::Submit(_))), "{actions:?}");
}

#[test]
fn enter_exact_name_alias_or_unique_prefix_runs() {
    let said = |text: &str| Action::Submit(Submit::Steer(text.into()));
    for (typed, action) in [
        ("/debug", said("/skill:debug ")),
        ("/deb", said("/skill:debug ")),
        ("/skill:commit", said("/skill:commit ")),
        ("/clear", Action::Navigate(Navigate::New)),
        ("/clon", Action::Navigate(Navigate::Clone)),
    ] {
        let mut stage = with_skills(typed);
        let actions = stage.key(KeyCode::Enter);
        assert!(actions.contains(&action), "{typed}: {actions:?}");
    }
}

#[test]
fn enter_selected_command_runs() {
    let mut stage = with_skills("/tr");
    stage.key(KeyCode::Down);
    let actions = stage.key(KeyCode::Enter);
    assert!(actions.contains(&Action::Truncate), "{actions:?}");
}
