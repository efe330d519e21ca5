//! The prompts that the history keeps, and how drafts survive it.

use crossterm::event::{KeyCode, KeyModifiers};
use tiller_core::message::Image;

use crate::action::{Action, BackgroundJob, MessageExtra, Submit};
use crate::composer::testing::{ComposerBench, actions};
use crate::message::TaskResult;
use crate::opened_session::InitialPrompt;

impl ComposerBench {
    fn send_first_prompt(&mut self, prompt: InitialPrompt) -> Vec<Action> {
        actions(self.work(|composer, cx| composer.send_first_prompt(prompt, cx)))
    }
}

#[test]
fn history_keeps_followup_as_typed() {
    let mut harness = ComposerBench::new();
    let prompt = InitialPrompt {
        text: "why? @parse.rs".into(),
        typed: "why? @parse.rs".into(),
        attached: "<file>…</file>".into(),
        images: Vec::new(),
    };
    let actions = harness.send_first_prompt(prompt.clone());
    let extra = MessageExtra::Attached(prompt.attached.clone());
    let submit = Action::Submit(Submit::WithExtra(Box::new(Submit::Steer(prompt.text.clone())), extra));
    assert_eq!(
        actions,
        [Action::Background(BackgroundJob::AppendHistory(vec![prompt.typed.clone()])), submit.clone()]
    );
    // The history file is read later, and may already contain the prompt.
    let earlier = vec!["long ago".to_owned(), prompt.typed.clone()];
    harness.report(TaskResult::History(earlier));
    harness.key(KeyCode::Up);
    assert_eq!(harness.text(), "why? @parse.rs");
    harness.key(KeyCode::Up);
    assert_eq!(harness.text(), "an earlier prompt", "it is there once");
    assert_eq!(harness.send_first_prompt(prompt), [submit], "the same again is not kept again");
}

#[test]
fn first_prompt_sends_its_images_once() {
    let mut harness = ComposerBench::new();
    let image = Image { data: "AA==".into(), mime_type: "image/png".into() };
    let text = "see @a.png".to_owned();
    let prompt = InitialPrompt {
        text: text.clone(),
        typed: text.clone(),
        attached: String::new(),
        images: vec![image.clone()],
    };
    let actions = harness.send_first_prompt(prompt);
    // If files are already attached, the mentions in the text aren't read again.
    let extra = MessageExtra::Attached(String::new());
    let submit = Submit::WithExtra(Box::new(Submit::Steer(text)), extra);
    assert_eq!(actions[1..], [Action::Submit(Submit::WithImages(Box::new(submit), vec![image]))]);
}

#[test]
fn history_skips_followup_of_command() {
    let mut harness = ComposerBench::new();
    for words in ["!important: read the README", "/quit is how one leaves", " !rm"] {
        let prompt = InitialPrompt {
            text: words.to_owned(),
            typed: words.to_owned(),
            attached: String::new(),
            images: Vec::new(),
        };
        assert_eq!(harness.send_first_prompt(prompt), [Action::Submit(Submit::Steer(words.to_owned()))]);
    }
    harness.key(KeyCode::Up);
    assert_eq!(harness.text(), "an earlier prompt");
}

/// Returns the prompt history, newest first, as recalled by Up.
fn recalled(harness: &mut ComposerBench, count: usize) -> Vec<String> {
    let prompts = (0..count).map(|_| {
        harness.key(KeyCode::Up);
        harness.text()
    });
    prompts.collect()
}

#[test]
fn history_keeps_replaced_draft() {
    let draft = "another precious draft";
    let by_list = |harness: &mut ComposerBench| {
        harness.work(|composer, _| composer.editor.recall_text("an earlier prompt"));
    };
    let by_arrow = |harness: &mut ComposerBench| _ = harness.key(KeyCode::Up);
    for take in [&by_list as &dyn Fn(&mut ComposerBench), &by_arrow] {
        let mut harness = ComposerBench::new();
        harness.type_text(draft);
        take(&mut harness);
        assert_eq!(harness.text(), "an earlier prompt");
        harness.press(KeyCode::Char('u'), KeyModifiers::ALT);
        assert_eq!(harness.text(), draft);
        take(&mut harness);
        let actions = harness.key(KeyCode::Enter);
        let history = vec![draft.to_owned(), "an earlier prompt".to_owned()];
        assert_eq!(actions[0], Action::Background(BackgroundJob::AppendHistory(history)));
        assert_eq!(recalled(&mut harness, 3), ["an earlier prompt", draft, "an earlier prompt"]);
    }
}

#[test]
fn history_replaced_draft_keeps_pastes() {
    let mut harness = ComposerBench::new();
    let paste = |mark: &str| (0..40).map(|n| format!("{mark} {n}\n")).collect::<String>();
    harness.paste(&paste("first"));
    harness.key(KeyCode::Up);
    // Takes the text like the reason of a denial or an instruction for a summary.
    harness.bench.component.editor.take_text();
    harness.paste(&paste("second"));
    let actions = harness.key(KeyCode::Enter);
    let Action::Background(BackgroundJob::AppendHistory(history)) = &actions[0] else {
        panic!("{actions:?}")
    };
    assert!(history[0].starts_with("first 0\nfirst 1"), "{history:?}");
}

#[test]
fn history_skips_restored_draft() {
    let undone = |harness: &mut ComposerBench| _ = harness.press(KeyCode::Char('u'), KeyModifiers::ALT);
    let below = |harness: &mut ComposerBench| _ = harness.key(KeyCode::Down);
    for come_back in [&undone as &dyn Fn(&mut ComposerBench), &below] {
        let mut harness = ComposerBench::new();
        harness.type_text("half");
        harness.key(KeyCode::Up);
        come_back(&mut harness);
        harness.type_text(" a thought");
        harness.key(KeyCode::Enter);
        assert_eq!(recalled(&mut harness, 2), ["half a thought", "an earlier prompt"]);
    }
}

#[test]
fn history_keeps_edited_recalls() {
    let mut harness = ComposerBench::new();
    harness.type_text("draft");
    harness.key(KeyCode::Up);
    harness.type_text(", better");
    harness.key(KeyCode::Down);
    assert_eq!(harness.text(), "draft");
    harness.key(KeyCode::Up);
    harness.control('c');
    harness.type_text("something else");
    harness.key(KeyCode::Enter);
    assert_eq!(recalled(&mut harness, 3), ["something else", "draft", "an earlier prompt, better"]);
}

#[test]
fn external_editor_change_can_be_undone() {
    let mut harness = ComposerBench::new();
    harness.type_text("dear draft");
    harness.report(TaskResult::Edited(String::new()));
    harness.press(KeyCode::Char('u'), KeyModifiers::ALT);
    assert_eq!(harness.text(), "dear draft");
}

#[test]
fn history_skips_draft_with_api_key() {
    let mut harness = ComposerBench::new();
    harness.type_text("/login anthropic sk-ant-api03-0123456789abcdefghijklmnop");
    harness.key(KeyCode::Up);
    harness.control('c');
    harness.type_text("hello");
    let actions = harness.key(KeyCode::Enter);
    assert_eq!(actions[0], Action::Background(BackgroundJob::AppendHistory(vec!["hello".into()])));
}

#[test]
fn history_prompt_has_expanded_paste() {
    let mut harness = ComposerBench::new();
    let pasted = "one line\n".repeat(9);
    harness.paste(&pasted);
    harness.key(KeyCode::Enter);
    harness.paste(&"another\n".repeat(9));
    harness.control('c');
    harness.key(KeyCode::Up);
    assert_eq!(harness.bench.component.editor.expanded(), pasted);
}

#[test]
fn completion_leaves_arrows_to_history() {
    let mut harness = ComposerBench::new();
    harness.bench.component.editor.remember("/t");
    harness.key(KeyCode::Up);
    assert_eq!(harness.text(), "/t");
    harness.key(KeyCode::Up);
    assert_eq!(harness.text(), "an earlier prompt");
    harness.key(KeyCode::Down);
    harness.type_text("r");
    assert!(
        !harness.bench.component.completion.candidates().is_empty(),
        "changed, it is a text like any other"
    );
}
