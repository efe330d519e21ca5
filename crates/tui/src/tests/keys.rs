//! Tests of input in the editor and of the effects of keys.

use crossterm::event::{KeyCode, KeyModifiers};
use tiller_core::event::{EventKind, QueueItem, QueueKind, RunOutcome};
use tiller_core::message::Image;
use tiller_engine::{AgentCommand, BashContext, CommandSource};

use crate::action::{Action, BackgroundJob, MessageExtra, SessionEdit, Submit, TerminalAction};
use crate::keymap::Keymap;
use crate::message::{Msg, TaskResult};
use crate::navigate::Navigate;
use crate::opened_session::InitialPrompt;
use crate::tests::harness::{Harness, at_work};
use crate::tree;

#[test]
fn enter_steers_and_alt_enter_queues() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("hello");
    let remember = Action::Background(BackgroundJob::AppendHistory(vec!["hello".into()]));
    assert_eq!(harness.key(KeyCode::Enter), [remember, Action::Submit(Submit::Steer("hello".into()))]);
    harness.type_text("later");
    let actions = harness.press(KeyCode::Enter, KeyModifiers::ALT);
    assert_eq!(actions[1..], [Action::Submit(Submit::FollowUp("later".into()))]);
    harness.type_text("!!env");
    assert_eq!(
        harness.key(KeyCode::Enter)[1..],
        [Action::Submit(Submit::Bash("env".into(), BashContext::Exclude))]
    );
    assert_eq!(harness.key(KeyCode::Enter), []);
}

#[test]
fn ctrl_c_twice_while_working_stops_only() {
    let mut harness = Harness::new(80, 24);
    at_work(&mut harness);
    harness.type_text("half");
    assert_eq!(harness.control('c'), []);
    assert_eq!(harness.control('c'), [Action::Abort]);
    assert_eq!(harness.control('c'), [Action::Abort]);
}

#[test]
fn slash_agent_command_is_sent_unknown_is_not() {
    let mut harness = Harness::new(80, 24);
    let command = AgentCommand {
        name: "greet".into(),
        description: "Greets\u{1b}[31m somebody".into(),
        argument_hint: Some("<who>".into()),
        source: CommandSource::Prompt,
        location: None,
    };
    harness.report_result(TaskResult::Commands(vec![command]));
    harness.type_text("/gr");
    assert!(harness.screen().contains("▸ /greet <who>"), "{}", harness.screen());
    assert_eq!(harness.key(KeyCode::Enter), []);
    harness.type_text("Ada");
    let sent = harness.key(KeyCode::Enter);
    assert!(sent.contains(&Action::Submit(Submit::Steer("/greet Ada".into()))), "{sent:?}");
    harness.type_text("/greet Bob");
    let sent = harness.press(KeyCode::Enter, KeyModifiers::ALT);
    assert!(sent.contains(&Action::Submit(Submit::FollowUp("/greet Bob".into()))), "{sent:?}");
    harness.type_text("/skill:nobody");
    let sent = harness.key(KeyCode::Enter);
    assert!(sent.iter().all(|action| !matches!(action, Action::Submit(Submit::Steer(_)))), "{sent:?}");
    assert_eq!(harness.app.composer.editor.text(), "/skill:nobody");
    assert_eq!(harness.control('c'), []);
    harness.event(EventKind::ResourcesChanged { skills: 1, templates: 0, context_files: 0 });
    assert_eq!(harness.actions, [Action::LoadCommands]);
}

#[test]
fn esc_stops_and_returns_queue() {
    let mut harness = Harness::new(80, 24);
    at_work(&mut harness);
    harness.type_text("typed");
    assert_eq!(harness.key(KeyCode::Esc), [Action::Abort]);
    let item = QueueItem {
        id: "q".into(),
        kind: QueueKind::Steer,
        text: "waited".into(),
        typed: None,
        images: [].into(),
        held: false,
    };
    harness.report_result(TaskResult::ReturnedMessages(vec![item]));
    assert_eq!(harness.app.composer.editor.text(), "waited\n\ntyped");
}

#[test]
fn esc_repeated_after_stop_opens_no_tree() {
    let mut harness = Harness::new(80, 24);
    at_work(&mut harness);
    assert_eq!(harness.key(KeyCode::Esc), [Action::Abort]);
    let outcome = RunOutcome::Aborted;
    harness.event(EventKind::AgentEnd { messages: Vec::new(), will_retry: false, outcome });
    harness.event(EventKind::AgentSettled);
    for _ in 0..6 {
        harness.wait(300);
        assert_eq!(harness.key(KeyCode::Esc), []);
        assert!(harness.app.compositor.overlays.is_empty());
    }
    harness.wait(1_100);
    harness.key(KeyCode::Esc);
    assert!(harness.app.compositor.overlays.is_empty());
    harness.wait(300);
    harness.key(KeyCode::Esc);
    assert_eq!(harness.app.compositor.overlays.len(), 1, "that is the tree");
}

#[test]
fn enter_again_delivers_steering_now() {
    let mut harness = Harness::new(80, 24);
    let item = QueueItem {
        id: "q".into(),
        kind: QueueKind::Steer,
        text: "wait".into(),
        typed: None,
        images: [].into(),
        held: false,
    };
    let queue_event = EventKind::queue_update(vec![item]);
    harness.event(queue_event.clone());
    assert_eq!(harness.press(KeyCode::Enter, KeyModifiers::NONE), [], "nothing is in flight");
    at_work(&mut harness);
    harness.event(queue_event);
    assert!(harness.screen().contains("↳ steer   wait · enter now"), "{}", harness.screen());
    assert_eq!(
        harness.press(KeyCode::Enter, KeyModifiers::NONE),
        [Action::Submit(Submit::DeliverSteeringNow)]
    );
    harness.type_text("stop");
    let actions = harness.press(KeyCode::Enter, KeyModifiers::CONTROL);
    assert!(actions.contains(&Action::Submit(Submit::SteerNow("stop".into()))), "{actions:?}");
}

#[test]
fn history_search_finds_prompt() {
    let mut harness = Harness::new(80, 24);
    for text in ["fix the lexer", "write a poem", "fix the lexer"] {
        harness.type_text(text);
        harness.key(KeyCode::Enter);
    }
    harness.type_text("a draft");
    harness.control('r');
    assert_eq!(harness.screen().matches("fix the lexer").count(), 2, "once, and in its preview");
    harness.type_text("poem");
    assert_eq!(harness.key(KeyCode::Enter), []);
    assert_eq!(harness.app.composer.editor.text(), "write a poem");
    harness.key(KeyCode::Down);
    harness.key(KeyCode::Down);
    assert_eq!(harness.app.composer.editor.text(), "a draft");
}

#[test]
fn clone_command_requests_a_copy() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("/clone");
    assert_eq!(harness.key(KeyCode::Enter)[1..], [Action::Navigate(Navigate::Clone)]);
}

#[test]
fn ctrl_c_clears_then_quits() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("text");
    assert_eq!(harness.control('c'), []);
    assert!(harness.app.composer.editor.is_empty());
    assert_eq!(harness.control('c'), [], "what cleared the text is no first press");
    assert_eq!(harness.control('c'), [Action::Terminal(TerminalAction::Quit)]);
    let mut harness = Harness::new(80, 24);
    assert_eq!(harness.control('c'), []);
    harness.wait(2_500);
    assert_eq!(harness.control('c'), [], "the first one is long ago");
    at_work(&mut harness);
    harness.wait(2_500);
    assert_eq!(harness.control('c'), [Action::Abort]);
}

#[test]
fn unknown_command_stays_with_suggestion() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("/modle gpt");
    let actions = harness.key(KeyCode::Enter);
    assert_eq!(actions, [Action::Background(BackgroundJob::AppendHistory(vec!["/modle gpt".into()]))]);
    assert_eq!(harness.app.composer.editor.text(), "/modle gpt");
    assert!(harness.screen().contains("did you mean /model?"));
}

#[test]
fn invalid_arguments_stay_in_editor() {
    for line in ["/theme nope", "/thinking nope", "/approval nope"] {
        let mut harness = Harness::new(80, 24);
        harness.type_text(line);
        harness.key(KeyCode::Enter);
        assert_eq!(harness.app.composer.editor.text(), line);
    }
}

#[test]
fn bang_without_command_is_not_sent() {
    for line in ["!", "!!", " ! "] {
        let mut harness = Harness::new(80, 24);
        harness.type_text(line);
        assert_eq!(harness.key(KeyCode::Enter), []);
        assert_eq!(harness.press(KeyCode::Enter, KeyModifiers::ALT), []);
        assert_eq!(harness.app.composer.editor.text(), line);
        assert!(harness.screen().contains("Type a command after"), "{}", harness.screen());
    }
}

#[test]
fn name_without_argument_shows_name() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("/name");
    harness.key(KeyCode::Enter);
    harness.key(KeyCode::Enter);
    assert!(harness.screen().contains("Current name: fix-crlf. Type a new name after /name."));
    assert_eq!(harness.app.composer.editor.text(), "/name ");
}

#[test]
fn flash_about_next_key_ends_with_it() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("text");
    harness.control('c');
    assert!(harness.screen().contains("Cleared; alt+u restores it."), "{}", harness.screen());
    harness.type_text("o");
    assert!(!harness.screen().contains("cleared;"), "{}", harness.screen());
}

#[test]
fn hotkeys_page_is_filtered_by_typing() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut harness = Harness::new(width, height);
        harness.type_text("/hotkeys");
        harness.key(KeyCode::Enter);
        insta::assert_snapshot!(format!("hotkeys_{width}x{height}"), harness.screen());
        harness.type_text("/queue_un");
        let screen = harness.screen();
        assert!(screen.contains("undo the last removal") && !screen.contains("steer it"), "{screen}");
        harness.key(KeyCode::Esc);
        assert!(harness.screen().contains("Anywhere"), "{}", harness.screen());
        harness.key(KeyCode::End);
        let screen = harness.screen();
        assert!(screen.contains("cancel and scroll back") && screen.contains("100%"), "{screen}");
        harness.key(KeyCode::Esc);
        assert!(!harness.screen().contains("── keys"), "{}", harness.screen());
    }
}

#[test]
fn footer_marks_unnamed_fork() {
    let mut harness = Harness::new(80, 24);
    harness.report_result(TaskResult::ForkId(Some("01JD6X9QWERTYUIOPASDFGHJKL".into())));
    assert!(!harness.screen().contains("fork "), "its name tells it apart");
    let state = tiller_engine::SessionState { name: None, ..super::harness::state() };
    harness.report_result(TaskResult::State(Box::new(state)));
    assert!(harness.screen().contains("fork FGHJKL"), "{}", harness.screen());
}

#[test]
fn completion_counts_hidden_commands() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("/");
    let screen = harness.screen();
    assert!(screen.contains("7 of 38"), "{screen}");
    (0..8).for_each(|_| _ = harness.key(KeyCode::Down));
    assert!(harness.screen().contains("9 of 38"), "{}", harness.screen());
}

#[test]
fn completion_partial_command() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("/fo");
    assert!(harness.screen().contains("/followup TEXT"));
    harness.key(KeyCode::Down);
    harness.key(KeyCode::Tab);
    assert_eq!(harness.app.composer.editor.text(), "/followup ");
    harness.control('u');
    harness.type_text("/tre");
    assert_eq!(
        harness.key(KeyCode::Enter)[1..],
        [Action::Background(BackgroundJob::Tree(tree::request::TreeRequest::Shape))]
    );
}

#[test]
fn label_command_sets_and_removes() {
    let mut harness = Harness::new(80, 24);
    for (line, label) in [("/label first try", Some("first try".to_owned())), ("/label", None)] {
        harness.type_text(line);
        let actions = harness.key(KeyCode::Enter);
        assert!(actions.contains(&Action::Edit(SessionEdit::Label(label))), "{actions:?}");
    }
}

#[test]
fn history_keeps_followup_as_typed() {
    let mut harness = Harness::new(80, 24);
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
    harness.report_result(TaskResult::History(earlier));
    harness.key(KeyCode::Up);
    assert_eq!(harness.app.composer.editor.text(), "why? @parse.rs");
    harness.key(KeyCode::Up);
    assert_eq!(harness.app.composer.editor.text(), "an earlier prompt", "it is there once");
    assert_eq!(harness.send_first_prompt(prompt), [submit], "the same again is not kept again");
}

#[test]
fn first_prompt_sends_its_images_once() {
    let mut harness = Harness::new(80, 24);
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
    let mut harness = Harness::new(80, 24);
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
    assert_eq!(harness.app.composer.editor.text(), "an earlier prompt");
}

/// Returns the prompt history, newest first, as recalled by Up.
fn recalled(harness: &mut Harness, count: usize) -> Vec<String> {
    let prompts = (0..count).map(|_| {
        harness.key(KeyCode::Up);
        harness.app.composer.editor.text()
    });
    prompts.collect()
}

#[test]
fn history_keeps_replaced_draft() {
    let draft = "another precious draft";
    let by_list = |harness: &mut Harness| {
        harness.control('r');
        harness.type_text("earl");
        harness.key(KeyCode::Enter);
    };
    let by_arrow = |harness: &mut Harness| _ = harness.key(KeyCode::Up);
    for take in [&by_list as &dyn Fn(&mut Harness), &by_arrow] {
        let mut harness = Harness::new(80, 24);
        harness.type_text(draft);
        take(&mut harness);
        assert_eq!(harness.app.composer.editor.text(), "an earlier prompt");
        harness.press(KeyCode::Char('u'), KeyModifiers::ALT);
        assert_eq!(harness.app.composer.editor.text(), draft);
        take(&mut harness);
        let actions = harness.key(KeyCode::Enter);
        let history = vec![draft.to_owned(), "an earlier prompt".to_owned()];
        assert_eq!(actions[0], Action::Background(BackgroundJob::AppendHistory(history)));
        assert_eq!(recalled(&mut harness, 3), ["an earlier prompt", draft, "an earlier prompt"]);
    }
}

#[test]
fn history_replaced_draft_keeps_pastes() {
    let mut harness = Harness::new(80, 24);
    let paste = |mark: &str| (0..40).map(|n| format!("{mark} {n}\n")).collect::<String>();
    harness.input(Msg::Paste(paste("first")));
    harness.key(KeyCode::Up);
    // Takes the text like the reason of a denial or an instruction for a summary.
    harness.app.composer.editor.take_text();
    harness.input(Msg::Paste(paste("second")));
    let actions = harness.key(KeyCode::Enter);
    let Action::Background(BackgroundJob::AppendHistory(history)) = &actions[0] else {
        panic!("{actions:?}")
    };
    assert!(history[0].starts_with("first 0\nfirst 1"), "{history:?}");
}

#[test]
fn history_skips_restored_draft() {
    let undone = |harness: &mut Harness| _ = harness.press(KeyCode::Char('u'), KeyModifiers::ALT);
    let below = |harness: &mut Harness| _ = harness.key(KeyCode::Down);
    for come_back in [&undone as &dyn Fn(&mut Harness), &below] {
        let mut harness = Harness::new(80, 24);
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
    let mut harness = Harness::new(80, 24);
    harness.type_text("draft");
    harness.key(KeyCode::Up);
    harness.type_text(", better");
    harness.key(KeyCode::Down);
    assert_eq!(harness.app.composer.editor.text(), "draft");
    harness.key(KeyCode::Up);
    harness.control('c');
    harness.type_text("something else");
    harness.key(KeyCode::Enter);
    assert_eq!(recalled(&mut harness, 3), ["something else", "draft", "an earlier prompt, better"]);
}

#[test]
fn external_editor_change_can_be_undone() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("dear draft");
    harness.report_result(TaskResult::Edited(String::new()));
    harness.press(KeyCode::Char('u'), KeyModifiers::ALT);
    assert_eq!(harness.app.composer.editor.text(), "dear draft");
}

#[test]
fn history_skips_draft_with_api_key() {
    let mut harness = Harness::new(80, 24);
    harness.type_text("/login anthropic sk-ant-api03-0123456789abcdefghijklmnop");
    harness.key(KeyCode::Up);
    harness.control('c');
    harness.type_text("hello");
    let actions = harness.key(KeyCode::Enter);
    assert_eq!(actions[0], Action::Background(BackgroundJob::AppendHistory(vec!["hello".into()])));
}

#[test]
fn keybindings_reload_reports_changes_only() {
    let mut harness = Harness::new(120, 40);
    let mut read_key = |text: &str| {
        harness.app.set_keymap(Keymap::parse(text, "keys.json"));
        let screen = harness.screen();
        let lines = screen.lines().filter(|line| line.contains("keys.json"));
        lines.map(|line| line.trim().chars().take(30).collect::<String>()).collect::<Vec<_>>()
    };
    let (quit, send) = ("keys.json, line 1: unknown acti", "keys.json, line 2: send takes ");
    let shown = |sign: &str, text: &str| format!("{sign} {text}").chars().take(30).collect::<String>();
    let both = "{\"quitt\": \"f2\",\n\"send\": 7}";
    assert_eq!(read_key(both), [shown("!", quit), shown("!", send)]);
    assert_eq!(read_key(both), [shown("!", quit), shown("!", send)]);
    assert_eq!(read_key("{\"quitt\": \"f2\"}"), [shown("!", quit), shown("·", send)]);
    assert_eq!(read_key(both), [shown("!", quit), shown("·", send), shown("!", send)]);
}

#[test]
fn ctrl_d_while_working_names_quit_key() {
    let mut harness = Harness::new(80, 24);
    at_work(&mut harness);
    assert_eq!(harness.control('d'), []);
    assert!(harness.screen().contains("esc stops it, then ctrl+d quits"), "{}", harness.screen());
    harness.type_text("ab");
    harness.key(KeyCode::Home);
    harness.control('d');
    assert_eq!(harness.app.composer.editor.text(), "b", "it deletes where there is something to delete");
}

#[test]
fn status_queued_steering_names_enter() {
    let mut harness = Harness::new(120, 40);
    at_work(&mut harness);
    assert!(harness.screen().contains("esc stops · enter steers"), "{}", harness.screen());
    let item = tiller_core::event::QueueItem {
        id: "q1".into(),
        kind: tiller_core::event::QueueKind::Steer,
        text: "look here".into(),
        typed: None,
        images: [].into(),
        held: false,
    };
    harness.event(EventKind::queue_update(vec![item]));
    assert!(
        harness.screen().contains("esc stops · enter sends the queued message now"),
        "{}",
        harness.screen()
    );
    harness.type_text("x");
    assert!(harness.screen().contains("esc stops · enter steers"), "{}", harness.screen());
}

#[test]
fn shell_program_that_needs_a_terminal_is_not_run() {
    for (line, told) in [
        ("!vim notes.md", "vim is interactive"),
        ("!!ssh host", "or suspend tiller with ctrl+z"),
        ("!cd src", "--cwd DIR"),
    ] {
        let mut harness = Harness::new(120, 40);
        harness.type_text(line);
        let actions = harness.key(KeyCode::Enter);
        assert!(!actions.iter().any(|action| matches!(action, Action::Submit(_))), "{line}: {actions:?}");
        assert_eq!(harness.app.composer.editor.text(), line, "it is there to be changed");
        assert!(harness.screen().contains(told), "{}", harness.screen());
    }
}
