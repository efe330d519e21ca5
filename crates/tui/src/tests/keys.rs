//! Input in the editor, and the effects of keys.

use crossterm::event::{KeyCode, KeyModifiers};
use tiller_core::event::{EventKind, QueueItem, QueueKind, RunOutcome};
use tiller_engine::{BashContext, CommandSource, SlashCommand};

use super::harness::{Harness, at_work};
use crate::app::{
    Action, BackgroundJob, LineExtra, Msg, Navigate, SessionEdit, Submit, TaskResult, TerminalAction,
};
use crate::keymap::Keymap;
use crate::{InitialPrompt, tree};

#[test]
fn enter_steers_and_alt_enter_queues() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("hello");
    let remember = Action::Background(BackgroundJob::AppendHistory(vec!["hello".into()]));
    assert_eq!(stage.key(KeyCode::Enter), [remember, Action::Submit(Submit::Steer("hello".into()))]);
    stage.type_text("later");
    let actions = stage.press(KeyCode::Enter, KeyModifiers::ALT);
    assert_eq!(actions[1..], [Action::Submit(Submit::FollowUp("later".into()))]);
    stage.type_text("!!env");
    assert_eq!(
        stage.key(KeyCode::Enter)[1..],
        [Action::Submit(Submit::Bash("env".into(), BashContext::Exclude))]
    );
    assert_eq!(stage.key(KeyCode::Enter), []);
}

#[test]
fn ctrl_c_twice_while_working_stops_only() {
    let mut stage = Harness::new(80, 24);
    at_work(&mut stage);
    stage.type_text("half");
    assert_eq!(stage.control('c'), []);
    assert_eq!(stage.control('c'), [Action::Abort]);
    assert_eq!(stage.control('c'), [Action::Abort]);
}

#[test]
fn slash_agent_command_is_sent_unknown_is_not() {
    let mut stage = Harness::new(80, 24);
    let command = SlashCommand {
        name: "greet".into(),
        description: "Greets\u{1b}[31m somebody".into(),
        argument_hint: Some("<who>".into()),
        source: CommandSource::Prompt,
        location: None,
    };
    stage.input(Msg::TaskResult(TaskResult::Commands(vec![command])));
    stage.type_text("/gr");
    assert!(stage.screen().contains("▸ /greet <who>"), "{}", stage.screen());
    assert_eq!(stage.key(KeyCode::Enter), []);
    stage.type_text("Ada");
    let sent = stage.key(KeyCode::Enter);
    assert!(sent.contains(&Action::Submit(Submit::Steer("/greet Ada".into()))), "{sent:?}");
    stage.type_text("/greet Bob");
    let sent = stage.press(KeyCode::Enter, KeyModifiers::ALT);
    assert!(sent.contains(&Action::Submit(Submit::FollowUp("/greet Bob".into()))), "{sent:?}");
    stage.type_text("/skill:nobody");
    let sent = stage.key(KeyCode::Enter);
    assert!(sent.iter().all(|action| !matches!(action, Action::Submit(Submit::Steer(_)))), "{sent:?}");
    assert_eq!(stage.app.editor.text(), "/skill:nobody");
    assert_eq!(stage.control('c'), []);
    stage.event(EventKind::ResourcesChanged { skills: 1, templates: 0, context_files: 0 });
    assert_eq!(stage.actions, [Action::LoadCommands]);
}

#[test]
fn esc_stops_and_returns_queue() {
    let mut stage = Harness::new(80, 24);
    at_work(&mut stage);
    stage.type_text("typed");
    assert_eq!(stage.key(KeyCode::Esc), [Action::Abort]);
    let item = QueueItem {
        id: "q".into(),
        kind: QueueKind::Steer,
        text: "waited".into(),
        typed: None,
        images: [].into(),
        held: false,
    };
    stage.input(Msg::TaskResult(TaskResult::ReturnedMessages(vec![item])));
    assert_eq!(stage.app.editor.text(), "waited\n\ntyped");
}

#[test]
fn esc_repeated_after_stop_opens_no_tree() {
    let mut stage = Harness::new(80, 24);
    at_work(&mut stage);
    assert_eq!(stage.key(KeyCode::Esc), [Action::Abort]);
    let outcome = RunOutcome::Aborted;
    stage.event(EventKind::AgentEnd { messages: Vec::new(), will_retry: false, outcome });
    stage.event(EventKind::AgentSettled);
    for _ in 0..6 {
        stage.wait(300);
        assert_eq!(stage.key(KeyCode::Esc), []);
        assert!(stage.app.overlays.is_empty());
    }
    stage.wait(1_100);
    stage.key(KeyCode::Esc);
    assert!(stage.app.overlays.is_empty());
    stage.wait(300);
    stage.key(KeyCode::Esc);
    assert_eq!(stage.app.overlays.len(), 1, "that is the tree");
}

#[test]
fn enter_again_delivers_steering_now() {
    let mut stage = Harness::new(80, 24);
    let item = QueueItem {
        id: "q".into(),
        kind: QueueKind::Steer,
        text: "wait".into(),
        typed: None,
        images: [].into(),
        held: false,
    };
    let waits = EventKind::queue_update(vec![item]);
    stage.event(waits.clone());
    assert_eq!(stage.press(KeyCode::Enter, KeyModifiers::NONE), [], "nothing is in flight");
    at_work(&mut stage);
    stage.event(waits);
    assert!(stage.screen().contains("↳ steer   wait · enter: now"), "{}", stage.screen());
    assert_eq!(stage.press(KeyCode::Enter, KeyModifiers::NONE), [Action::Submit(Submit::DeliverSteeringNow)]);
    stage.type_text("stop");
    let actions = stage.press(KeyCode::Enter, KeyModifiers::CONTROL);
    assert!(actions.contains(&Action::Submit(Submit::SteerNow("stop".into()))), "{actions:?}");
}

#[test]
fn history_search_finds_prompt() {
    let mut stage = Harness::new(80, 24);
    for text in ["fix the lexer", "write a poem", "fix the lexer"] {
        stage.type_text(text);
        stage.key(KeyCode::Enter);
    }
    stage.type_text("a draft");
    stage.control('r');
    assert_eq!(stage.screen().matches("fix the lexer").count(), 2, "once, and in its preview");
    stage.type_text("poem");
    assert_eq!(stage.key(KeyCode::Enter), []);
    assert_eq!(stage.app.editor.text(), "write a poem");
    stage.key(KeyCode::Down);
    stage.key(KeyCode::Down);
    assert_eq!(stage.app.editor.text(), "a draft");
}

#[test]
fn clone_command_requests_a_copy() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("/clone");
    assert_eq!(stage.key(KeyCode::Enter)[1..], [Action::Navigate(Navigate::Clone)]);
}

#[test]
fn ctrl_c_clears_then_quits() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("text");
    assert_eq!(stage.control('c'), []);
    assert!(stage.app.editor.is_empty());
    assert_eq!(stage.control('c'), [], "what cleared the text is no first press");
    assert_eq!(stage.control('c'), [Action::Terminal(TerminalAction::Quit)]);
    let mut stage = Harness::new(80, 24);
    assert_eq!(stage.control('c'), []);
    stage.wait(2_500);
    assert_eq!(stage.control('c'), [], "the first one is long ago");
    at_work(&mut stage);
    stage.wait(2_500);
    assert_eq!(stage.control('c'), [Action::Abort]);
}

#[test]
fn unknown_command_stays_with_suggestion() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("/modle gpt");
    let actions = stage.key(KeyCode::Enter);
    assert_eq!(actions, [Action::Background(BackgroundJob::AppendHistory(vec!["/modle gpt".into()]))]);
    assert_eq!(stage.app.editor.text(), "/modle gpt");
    assert!(stage.screen().contains("did you mean /model?"));
}

#[test]
fn invalid_arguments_stay_in_editor() {
    for line in ["/theme nope", "/thinking nope", "/approval nope"] {
        let mut stage = Harness::new(80, 24);
        stage.type_text(line);
        stage.key(KeyCode::Enter);
        assert_eq!(stage.app.editor.text(), line);
    }
}

#[test]
fn bang_without_command_is_not_sent() {
    for line in ["!", "!!", " ! "] {
        let mut stage = Harness::new(80, 24);
        stage.type_text(line);
        assert_eq!(stage.key(KeyCode::Enter), []);
        assert_eq!(stage.press(KeyCode::Enter, KeyModifiers::ALT), []);
        assert_eq!(stage.app.editor.text(), line);
        assert!(stage.screen().contains("Type a command after"), "{}", stage.screen());
    }
}

#[test]
fn name_without_argument_shows_name() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("/name");
    stage.key(KeyCode::Enter);
    stage.key(KeyCode::Enter);
    assert!(stage.screen().contains("current name: fix-crlf; type a new name after /name"));
    assert_eq!(stage.app.editor.text(), "/name ");
}

#[test]
fn flash_about_next_key_ends_with_it() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("text");
    stage.control('c');
    assert!(stage.screen().contains("cleared; alt+u brings it back"), "{}", stage.screen());
    stage.type_text("o");
    assert!(!stage.screen().contains("cleared;"), "{}", stage.screen());
}

#[test]
fn hotkeys_page_is_filtered_by_typing() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut stage = Harness::new(width, height);
        stage.type_text("/hotkeys");
        stage.key(KeyCode::Enter);
        insta::assert_snapshot!(format!("hotkeys_{width}x{height}"), stage.screen());
        stage.type_text("/queue_un");
        let screen = stage.screen();
        assert!(screen.contains("undo the last removal") && !screen.contains("steer it"), "{screen}");
        stage.key(KeyCode::Esc);
        assert!(stage.screen().contains("Anywhere"), "{}", stage.screen());
        stage.key(KeyCode::End);
        let screen = stage.screen();
        assert!(screen.contains("cancel and scroll back") && screen.contains("100%"), "{screen}");
        stage.key(KeyCode::Esc);
        assert!(!stage.screen().contains("── keys"), "{}", stage.screen());
    }
}

#[test]
fn footer_marks_unnamed_fork() {
    let mut stage = Harness::new(80, 24);
    stage.input(Msg::TaskResult(TaskResult::ForkId(Some("01JD6X9QWERTYUIOPASDFGHJKL".into()))));
    assert!(!stage.screen().contains("fork "), "its name tells it apart");
    let state = tiller_engine::SessionState { name: None, ..super::harness::state() };
    stage.input(Msg::TaskResult(TaskResult::State(Box::new(state))));
    assert!(stage.screen().contains("fork FGHJKL"), "{}", stage.screen());
}

#[test]
fn completion_counts_hidden_commands() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("/");
    let screen = stage.screen();
    assert!(screen.contains("7 of 31"), "{screen}");
    (0..8).for_each(|_| _ = stage.key(KeyCode::Down));
    assert!(stage.screen().contains("9 of 31"), "{}", stage.screen());
}

#[test]
fn completion_partial_command() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("/fo");
    assert!(stage.screen().contains("/followup TEXT"));
    stage.key(KeyCode::Down);
    stage.key(KeyCode::Tab);
    assert_eq!(stage.app.editor.text(), "/followup ");
    stage.control('u');
    stage.type_text("/tre");
    assert_eq!(
        stage.key(KeyCode::Enter)[1..],
        [Action::Background(BackgroundJob::Tree(tree::TreeRequest::Shape))]
    );
}

#[test]
fn label_command_sets_and_removes() {
    let mut stage = Harness::new(80, 24);
    for (line, label) in [("/label first try", Some("first try".to_owned())), ("/label", None)] {
        stage.type_text(line);
        let actions = stage.key(KeyCode::Enter);
        assert!(actions.contains(&Action::Edit(SessionEdit::Label(label))), "{actions:?}");
    }
}

#[test]
fn history_keeps_followup_as_typed() {
    let mut stage = Harness::new(80, 24);
    let prompt = InitialPrompt {
        text: "why? @parse.rs".into(),
        typed: "why? @parse.rs".into(),
        attached: "<file>…</file>".into(),
    };
    let actions = stage.app.send_first_prompt(prompt.clone());
    let extra = LineExtra::Attached(prompt.attached.clone());
    let said = Action::Submit(Submit::WithExtra(Box::new(Submit::Steer(prompt.text.clone())), extra));
    assert_eq!(
        actions,
        [Action::Background(BackgroundJob::AppendHistory(vec![prompt.typed.clone()])), said.clone()]
    );
    // The file of earlier times is read meanwhile, and may have it already.
    let earlier = vec!["long ago".to_owned(), prompt.typed.clone()];
    stage.input(Msg::TaskResult(TaskResult::History(earlier)));
    stage.key(KeyCode::Up);
    assert_eq!(stage.app.editor.text(), "why? @parse.rs");
    stage.key(KeyCode::Up);
    assert_eq!(stage.app.editor.text(), "an earlier prompt", "it is there once");
    assert_eq!(stage.app.send_first_prompt(prompt), [said], "the same again is not kept again");
}

#[test]
fn history_skips_followup_of_command() {
    let mut stage = Harness::new(80, 24);
    for words in ["!important: read the README", "/quit is how one leaves", " !rm"] {
        let prompt =
            InitialPrompt { text: words.to_owned(), typed: words.to_owned(), attached: String::new() };
        assert_eq!(stage.app.send_first_prompt(prompt), [Action::Submit(Submit::Steer(words.to_owned()))]);
    }
    stage.key(KeyCode::Up);
    assert_eq!(stage.app.editor.text(), "an earlier prompt");
}

/// The prompt history, newest first, as recalled by Up.
fn recalled(stage: &mut Harness, count: usize) -> Vec<String> {
    let prompts = (0..count).map(|_| {
        stage.key(KeyCode::Up);
        stage.app.editor.text()
    });
    prompts.collect()
}

#[test]
fn history_keeps_replaced_draft() {
    let draft = "another precious draft";
    let by_list = |stage: &mut Harness| {
        stage.control('r');
        stage.type_text("earl");
        stage.key(KeyCode::Enter);
    };
    let by_arrow = |stage: &mut Harness| _ = stage.key(KeyCode::Up);
    for take in [&by_list as &dyn Fn(&mut Harness), &by_arrow] {
        let mut stage = Harness::new(80, 24);
        stage.type_text(draft);
        take(&mut stage);
        assert_eq!(stage.app.editor.text(), "an earlier prompt");
        stage.press(KeyCode::Char('u'), KeyModifiers::ALT);
        assert_eq!(stage.app.editor.text(), draft);
        take(&mut stage);
        let actions = stage.key(KeyCode::Enter);
        let kept = vec![draft.to_owned(), "an earlier prompt".to_owned()];
        assert_eq!(actions[0], Action::Background(BackgroundJob::AppendHistory(kept)));
        assert_eq!(recalled(&mut stage, 3), ["an earlier prompt", draft, "an earlier prompt"]);
    }
}

#[test]
fn history_replaced_draft_keeps_pastes() {
    let mut stage = Harness::new(80, 24);
    let paste = |mark: &str| (0..40).map(|n| format!("{mark} {n}\n")).collect::<String>();
    stage.input(Msg::Paste(paste("first")));
    stage.key(KeyCode::Up);
    // As the reason of a no is taken, or words for a summary.
    stage.app.editor.take_text();
    stage.input(Msg::Paste(paste("second")));
    let actions = stage.key(KeyCode::Enter);
    let Action::Background(BackgroundJob::AppendHistory(kept)) = &actions[0] else { panic!("{actions:?}") };
    assert!(kept[0].starts_with("first 0\nfirst 1"), "{kept:?}");
}

#[test]
fn history_skips_restored_draft() {
    let undone = |stage: &mut Harness| _ = stage.press(KeyCode::Char('u'), KeyModifiers::ALT);
    let below = |stage: &mut Harness| _ = stage.key(KeyCode::Down);
    for come_back in [&undone as &dyn Fn(&mut Harness), &below] {
        let mut stage = Harness::new(80, 24);
        stage.type_text("half");
        stage.key(KeyCode::Up);
        come_back(&mut stage);
        stage.type_text(" a thought");
        stage.key(KeyCode::Enter);
        assert_eq!(recalled(&mut stage, 2), ["half a thought", "an earlier prompt"]);
    }
}

#[test]
fn history_keeps_edited_recalls() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("draft");
    stage.key(KeyCode::Up);
    stage.type_text(", better");
    stage.key(KeyCode::Down);
    assert_eq!(stage.app.editor.text(), "draft");
    stage.key(KeyCode::Up);
    stage.control('c');
    stage.type_text("something else");
    stage.key(KeyCode::Enter);
    assert_eq!(recalled(&mut stage, 3), ["something else", "draft", "an earlier prompt, better"]);
}

#[test]
fn external_editor_change_can_be_undone() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("dear draft");
    stage.input(Msg::TaskResult(TaskResult::Edited(String::new())));
    stage.press(KeyCode::Char('u'), KeyModifiers::ALT);
    assert_eq!(stage.app.editor.text(), "dear draft");
}

#[test]
fn history_skips_draft_with_api_key() {
    let mut stage = Harness::new(80, 24);
    stage.type_text("/login anthropic sk-ant-api03-0123456789abcdefghijklmnop");
    stage.key(KeyCode::Up);
    stage.control('c');
    stage.type_text("hello");
    let actions = stage.key(KeyCode::Enter);
    assert_eq!(actions[0], Action::Background(BackgroundJob::AppendHistory(vec!["hello".into()])));
}

#[test]
fn keybindings_reload_reports_changes_only() {
    let mut stage = Harness::new(120, 40);
    let mut read = |text: &str| {
        stage.app.set_keymap(Keymap::parse(text, "keys.json"));
        let screen = stage.screen();
        let lines = screen.lines().filter(|line| line.contains("keys.json"));
        lines.map(|line| line.trim().chars().take(30).collect::<String>()).collect::<Vec<_>>()
    };
    let (quit, send) = ("keys.json, line 1: unknown key ", "keys.json, line 2: send takes ");
    let shown = |sign: &str, text: &str| format!("{sign} {text}").chars().take(30).collect::<String>();
    let both = "{\"quitt\": \"f2\",\n\"send\": 7}";
    assert_eq!(read(both), [shown("!", quit), shown("!", send)]);
    assert_eq!(read(both), [shown("!", quit), shown("!", send)]);
    assert_eq!(read("{\"quitt\": \"f2\"}"), [shown("!", quit), shown("·", send)]);
    assert_eq!(read(both), [shown("!", quit), shown("·", send), shown("!", send)]);
}

#[test]
fn ctrl_d_while_working_names_quit_key() {
    let mut stage = Harness::new(80, 24);
    at_work(&mut stage);
    assert_eq!(stage.control('d'), []);
    assert!(stage.screen().contains("esc stops it, then ctrl+d quits"), "{}", stage.screen());
    stage.type_text("ab");
    stage.key(KeyCode::Home);
    stage.control('d');
    assert_eq!(stage.app.editor.text(), "b", "it deletes where there is something to delete");
}

#[test]
fn status_queued_steering_names_enter() {
    let mut stage = Harness::new(120, 40);
    at_work(&mut stage);
    assert!(stage.screen().contains("esc stops · enter steers"), "{}", stage.screen());
    let item = tiller_core::event::QueueItem {
        id: "q1".into(),
        kind: tiller_core::event::QueueKind::Steer,
        text: "look here".into(),
        typed: None,
        images: [].into(),
        held: false,
    };
    stage.event(EventKind::queue_update(vec![item]));
    assert!(stage.screen().contains("esc stops · enter sends the queued message now"), "{}", stage.screen());
    stage.type_text("x");
    assert!(stage.screen().contains("esc stops · enter steers"), "{}", stage.screen());
}

#[test]
fn shell_program_that_needs_a_terminal_is_not_run() {
    for (line, told) in [
        ("!vim notes.md", "vim needs a terminal of its own"),
        ("!!ssh host", "or suspend tiller with ctrl+z"),
        ("!cd src", "--cwd DIR"),
    ] {
        let mut stage = Harness::new(120, 40);
        stage.type_text(line);
        let actions = stage.key(KeyCode::Enter);
        assert!(!actions.iter().any(|action| matches!(action, Action::Submit(_))), "{line}: {actions:?}");
        assert_eq!(stage.app.editor.text(), line, "it is there to be changed");
        assert!(stage.screen().contains(told), "{}", stage.screen());
    }
}
