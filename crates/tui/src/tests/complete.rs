//! Completion while typing.

use std::sync::Arc;

use crossterm::event::KeyCode;
use tiller_core::message::{Image, ThinkingLevel};
use tiller_core::setting;
use tiller_engine::{ApprovalMode, SessionState};
use tiller_provider::catalog::ImageInput;

use crate::action::{Action, BackgroundJob, ListAction, SessionEdit, Submit};
use crate::attach::AttachedImage;
use crate::completion::files::{FileList, FileRankingJob};
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
fn completion_other_directory_lists_files_again() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("@");
    harness.report(TaskResult::Completion(CompletionResult::Files(files())));
    harness.control('u');
    let elsewhere = SessionState { cwd: "/srv".into(), ..state() };
    harness.report(TaskResult::State(Box::new(elsewhere)));
    assert_eq!(harness.key(KeyCode::Char('@')), [Action::List(ListAction::WalkFiles("/srv".into()))]);
}
