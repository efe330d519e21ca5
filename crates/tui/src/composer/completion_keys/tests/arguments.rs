//! Candidates for a command's name and its argument.

use tiller_core::message::{ModelRef, ThinkingLevel};
use tiller_engine::ApprovalMode;

use super::*;
use crate::action::SessionEdit;
use crate::picker::agent_options;

const SIZES: [(u16, u16); 2] = [(80, 24), (120, 40)];

#[test]
fn completion_argument_candidates() {
    let mut harness = ComposerBench::new();
    let models = ArgumentValues::List(ListKind::Models);
    harness.type_and_rank("/model");
    assert_eq!(harness.key(KeyCode::Char(' ')), [Action::List(ListAction::LoadArguments(models))]);
    let model =
        |name: &str| PickerItem::new(name, PickerChoice::Model(name.into())).with_note("thinks · 200k");
    let locked = PickerItem::new("openai/o3", PickerChoice::Unavailable("no key".into()));
    let items = vec![model("anthropic/claude-haiku-4-5"), model("openai/gpt-5"), locked];
    harness.report(TaskResult::Completion(CompletionResult::ArgumentValues { of: models, items }));
    harness.type_and_rank("hai");
    for size in SIZES {
        harness.bench.ui.size = size;
        assert_eq!(harness.screen(), " ▸ anthropic/claude-haiku-4-5  thinks · 200k");
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
    let effects = harness.effects(KeyEvent::from(KeyCode::Enter));
    let lists = Effect::Open(OverlayRequest::list(ListKind::Models));
    assert!(effects.contains(&lists), "nothing was typed of a name: {effects:?}");
}

#[test]
fn completion_argument_enter_accepts_best() {
    let mode = Action::List(ListAction::SetApproval(ApprovalMode::ReadOnly));
    let list = OverlayRequest::List { kind: ListKind::Settings, filter: "steering_point".into() };
    for (line, expected) in [
        ("/approval ro", Effect::Perform(Address::Composer, mode)),
        ("/theme gruv", Effect::ApplyTheme("gruvbox".into())),
        ("/settings steerpt", Effect::Open(list)),
    ] {
        let mut harness = ComposerBench::new();
        harness.type_and_rank(line);
        assert!(harness.screen().contains(" ▸ "), "{}", harness.screen());
        let effects = harness.effects(KeyEvent::from(KeyCode::Enter));
        assert!(effects.contains(&expected), "{line}: {effects:?}");
    }
}

#[test]
fn completion_counts_candidates_at_the_right() {
    let mut harness = ComposerBench::new();
    harness.type_and_rank("/theme ");
    insta::assert_snapshot!(harness.screen(), @r"
    ▸ auto                      follows the terminal's background
      dark                      dark
      light                     light
      high-contrast             dark
      high-contrast-light       light
      color-blind-safe          dark
      color-blind-safe-light    light                                       7 of 10
    ");
    harness.bench.ui.size = (120, 40);
    let screen = harness.screen();
    let last = screen.lines().last().unwrap();
    assert_eq!(last, format!("   color-blind-safe-light    light{}7 of 10", " ".repeat(79)));
}

#[test]
fn completion_argument_in_no_name_is_not_taken() {
    let mut harness = ComposerBench::new();
    harness.type_and_rank("/approval x");
    let actions = harness.key(KeyCode::Enter);
    assert!(!actions.iter().any(|action| matches!(action, Action::List(_))), "{actions:?}");
    assert!(harness.flash.contains("approval mode"), "{}", harness.flash);
}

#[test]
fn completion_thinking_supported_levels() {
    for size in SIZES {
        let mut harness = ComposerBench::new();
        harness.bench.ui.size = size;
        let of = ArgumentValues::List(ListKind::Thinking);
        harness.type_and_rank("/thinking");
        assert_eq!(harness.key(KeyCode::Char(' ')), [Action::List(ListAction::LoadArguments(of))]);
        let can = vec![ThinkingLevel::Off, ThinkingLevel::Low, ThinkingLevel::High];
        let levels = agent_options::Levels {
            supported: can,
            current: ThinkingLevel::Low,
            model: ModelRef { provider: "anthropic".into(), id: "claude-sonnet-4-5".into() },
        };
        harness.report(TaskResult::Completion(CompletionResult::ArgumentValues {
            of,
            items: agent_options::levels(&levels).0,
        }));
        let rows = [
            " ▸ off                       no thinking: fastest",
            "   low                       low: simple tasks · up to 4,096 tokens",
            "   high                      high: hard bugs, designs · up to 20,480 tokens",
        ];
        assert_eq!(harness.screen(), rows.join("\n"));
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
    let mut harness = ComposerBench::new();
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
    for size in SIZES {
        harness.bench.ui.size = size;
        let rows = " ▸ lexer                     10 messages\n   parser                    10 messages";
        assert_eq!(harness.screen(), rows);
    }
    harness.type_and_rank("parse");
    let effects = harness.effects(KeyEvent::from(KeyCode::Enter));
    let searches = Effect::Open(OverlayRequest::Sessions { filter: "parse".into() });
    assert!(effects.contains(&searches), "{effects:?}");
    harness.type_and_rank("/resume ");
    harness.report(TaskResult::Completion(CompletionResult::ArgumentValues {
        of: ArgumentValues::Sessions,
        items: vec![session("lexer"), session("parser")],
    }));
    harness.key(KeyCode::Down);
    assert_eq!(harness.key(KeyCode::Enter), [Action::Navigate(Navigate::Open("/s/parser".into()))]);
    assert_eq!(harness.text(), "");
}

#[test]
fn completion_free_argument_has_hint() {
    let mut harness = ComposerBench::new();
    harness.type_and_rank("/compact ");
    insta::assert_snapshot!(harness.screen(), @"   /compact [FOCUS]          summarize the older part of the conversation; FOC…");
    harness.bench.ui.size = (120, 40);
    insta::assert_snapshot!(harness.screen(), @"   /compact [FOCUS]          summarize the older part of the conversation; FOCUS: what to emphasize");
    harness.key(KeyCode::Esc);
    assert!(!harness.screen().contains("[QUERY]"), "{}", harness.screen());
    assert_eq!(harness.text(), "/compact ");
    harness.type_and_rank("the");
    assert!(!harness.screen().contains("[QUERY]"), "{}", harness.screen());
}

#[test]
fn completion_counts_hidden_commands() {
    let mut harness = ComposerBench::new();
    harness.type_text("/");
    let screen = harness.screen();
    assert!(screen.contains("7 of 38"), "{screen}");
    (0..8).for_each(|_| _ = harness.key(KeyCode::Down));
    assert!(harness.screen().contains("9 of 38"), "{}", harness.screen());
}
