//! The front end as a whole: scripted events and keys in, actions and screens out.

use std::sync::Arc;
use std::time::Duration;

use crossterm::event::{KeyCode, KeyModifiers};

use super::app::{Action, Browsed, Go, Input, Loaded, Report, Say};
use super::browse::Ask;
use super::pace::{Pace, Stale};
use super::picker::{Choice, Item, Word, hits, sessions};
use crate::agent::{BashContext, BranchSummary, CommandSource, Live, SlashCommand, Snapshot};
use crate::event::{
    AssistantDelta, CompactionChoice, CompactionReason, EventKind, QueueItem, QueueKind, ToolOutcome,
};
use crate::message::{Message, UserMessage};
use crate::render::{Line, Role};
use crate::resource::skill_message;
use crate::session::{Entry, EntryBody, Hit, Piece, Scope, SessionSummary};
use crate::unit::{Tokens, UnixMs, Usd};

mod approval;
mod complete;
mod drawing;
mod lists;
mod login;
mod moving;
mod queue;
mod seams;
mod stage;
mod themes;
mod tree;

use stage::{START, Stage, at_work, state, steered};

#[test]
fn the_start_says_where_one_is_and_how_to_connect_a_model() {
    for (width, height) in [(80, 24), (120, 40)] {
        insta::assert_snapshot!(format!("start_{width}x{height}"), Stage::new(width, height).screen());
    }
}

#[test]
fn work_shows_each_call_and_what_waits() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut stage = Stage::new(width, height);
        at_work(&mut stage);
        let item = |kind, text: &str, held| QueueItem {
            id: text.into(),
            kind,
            text: text.into(),
            typed: None,
            images: [].into(),
            held,
        };
        let items = vec![
            item(QueueKind::Steer, "and add a test for a lone \\r", false),
            item(QueueKind::FollowUp, "then run the whole suite", true),
        ];
        stage.event(EventKind::QueueUpdate { steering: vec![], follow_up: vec![], items });
        insta::assert_snapshot!(format!("work_{width}x{height}"), stage.screen());
    }
}

#[test]
fn an_answer_streams_in_as_markdown() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut stage = Stage::new(width, height);
        stage.user("explain");
        stage.event(EventKind::AgentStart);
        let delta = "A short list will do.".into();
        stage.delta(AssistantDelta::ThinkingDelta { content_index: 0, delta });
        stage.text(1, "Two things:\n\n1. the **lexer** counts `\\r`\n2. the fixture is mix");
        stage.text(1, "ed\n\n```rust\nfn next(&mut self) -> Option<char> {\n    self.chars.n");
        stage.wait(2_300);
        insta::assert_snapshot!(format!("streaming_{width}x{height}"), stage.screen());
    }
}

#[test]
fn a_steered_run_says_what_was_skipped_and_why() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut stage = Stage::new(width, height);
        steered(&mut stage);
        insta::assert_snapshot!(format!("steered_{width}x{height}"), stage.screen());
    }
}

fn compaction_fails(stage: &mut Stage) {
    stage.event(EventKind::CompactionFailed {
        reason: CompactionReason::Threshold,
        error_message: "anthropic: overloaded".into(),
        choices: CompactionChoice::ALL.to_vec(),
    });
}

#[test]
fn a_summary_that_could_not_be_made_asks_what_now_and_esc_leaves_everything_as_it_is() {
    let mut stage = Stage::new(80, 24);
    stage.event(EventKind::CompactionStart { reason: CompactionReason::Threshold });
    assert!(stage.screen().contains("compacting… 0.0s · esc stops"), "{}", stage.screen());
    compaction_fails(&mut stage);
    assert!(stage.screen().contains("no summary: anthropic: overloaded"), "{}", stage.screen());
    assert_eq!(stage.key(KeyCode::Enter), [Action::ResolveCompaction(CompactionChoice::Retry)]);
    compaction_fails(&mut stage);
    assert_eq!(stage.key(KeyCode::Esc), [Action::ResolveCompaction(CompactionChoice::GoOn)]);
    compaction_fails(&mut stage);
    stage.event(EventKind::CompactionEnd {
        reason: CompactionReason::Threshold,
        result: None,
        aborted: false,
        will_retry: false,
        error_message: Some("anthropic: overloaded".into()),
    });
    let screen = stage.screen();
    assert!(!screen.contains("try again") && !screen.contains("compacting"), "{screen}");
    assert!(screen.contains("the conversation was not made shorter: anthropic: overloaded"), "{screen}");
}

#[test]
fn something_else_that_fails_leaves_the_question_about_a_summary_open() {
    let mut stage = Stage::new(80, 24);
    compaction_fails(&mut stage);
    let failed = Report::Failed { what: "no room".into(), hint: None, text: None };
    stage.input(Input::Report(failed));
    assert_eq!(stage.key(KeyCode::Enter), [Action::ResolveCompaction(CompactionChoice::Retry)]);
}

#[test]
fn what_to_do_after_a_failed_summary_is_not_asked_over_what_is_being_typed() {
    let mut stage = Stage::new(80, 24);
    stage.type_text("and al");
    compaction_fails(&mut stage);
    stage.type_text("so");
    let screen = stage.screen();
    assert!(screen.contains("❯ and also") && !screen.contains("try again"), "{screen}");
    stage.key(KeyCode::Enter);
    assert!(stage.screen().contains("try again"), "{}", stage.screen());
}

#[test]
fn compact_takes_the_users_words_and_esc_stops_it() {
    let mut stage = Stage::new(80, 24);
    stage.type_text("/compact mind the lexer");
    let actions = stage.key(KeyCode::Enter);
    assert!(actions.contains(&Action::Compact(Some("mind the lexer".into()))), "{actions:?}");
    stage.event(EventKind::CompactionStart { reason: CompactionReason::Manual });
    assert_eq!(stage.key(KeyCode::Esc), [Action::Abort]);
}

#[test]
fn what_matters_in_the_summary_of_a_branch_is_typed_into_the_editor() {
    let mut stage = Stage::new(80, 24);
    let choose = |stage: &mut Stage| {
        let item = Item::new("say what matters", Choice::Instruct("e1".into()));
        stage.input(Input::Report(Report::Ask { title: "t".into(), items: vec![item] }));
        assert_eq!(stage.key(KeyCode::Enter), []);
    };
    choose(&mut stage);
    assert!(stage.screen().contains("what matters in the summary"), "{}", stage.screen());
    assert_eq!(stage.key(KeyCode::Esc), []);
    choose(&mut stage);
    stage.type_text("the errors");
    let made = BranchSummary::Made { instructions: Some("the errors".into()) };
    assert_eq!(stage.key(KeyCode::Enter), [Action::Go(Go::Navigate("e1".into(), made))]);
    stage.key(KeyCode::Up);
    assert_eq!(stage.app.editor.text(), "the errors", "the summary may fail");
}

fn summary(number: i64, name: Option<&str>, prompt: &str, cwd: &str) -> SessionSummary {
    SessionSummary {
        path: format!("/s/{number}.jsonl").into(),
        id: format!("01JD6X9QWERTY00000{number:08}").as_str().into(),
        cwd: cwd.into(),
        name: name.map(str::to_owned),
        first_prompt: Some(prompt.into()),
        entries: 12,
        messages: 10,
        tokens: Tokens(5_000),
        cost: Usd(0.1),
        modified: UnixMs(START - number * 7_200_000),
        last_activity: UnixMs(START),
        model: None,
        remote: None,
        parent_session: None,
        bytes: 1_000,
    }
}

fn summaries() -> Vec<SessionSummary> {
    let long = "the parser test fails on windows line endings, find out why and then fix whatever it is";
    vec![
        summary(0, Some("fix-crlf"), long, "/home/ada/code/conf"),
        summary(1, None, long, "/home/ada/code/a-project-with-quite-a-long-name"),
        summary(30, None, "write\n the\u{1b}[31m release notes", "/srv"),
    ]
}

fn hit(session: SessionSummary, pieces: &[(&str, bool)]) -> Hit {
    let snippet = pieces.iter().map(|(text, matched)| Piece { text: (*text).into(), matched: *matched });
    Hit { entry: "e1".into(), timestamp: session.modified, session, snippet: snippet.collect() }
}

/// What was looked for, by scope and words.
fn ask(scope: Scope, words: &str) -> Action {
    Action::Browse(Ask { scope, words: words.into() })
}

impl Stage {
    fn browsed(&mut self, scope: Scope, what: Browsed) {
        self.input(Input::Report(Report::Browsed { scope, what }));
    }

    fn know_sessions(&mut self, scope: Scope) {
        let items = sessions(&summaries(), scope, UnixMs(self.now));
        self.browsed(scope, Browsed::Sessions(items));
    }
}

#[test]
fn sessions_are_listed_and_what_was_said_in_others_appears_below() {
    for (width, height) in [(80, 24), (120, 40)] {
        let mut stage = Stage::new(width, height);
        stage.type_text("/resume");
        assert_eq!(stage.key(KeyCode::Enter)[1..], [ask(Scope::ThisDirectory, "")]);
        stage.know_sessions(Scope::ThisDirectory);
        assert_eq!(stage.key(KeyCode::Tab), [ask(Scope::Everywhere, "")]);
        stage.know_sessions(Scope::Everywhere);
        stage.browsed(Scope::Everywhere, Browsed::Indexing(Some((1_204, 10_000))));
        for (words, key) in [("w", 'w'), ("wi", 'i'), ("win", 'n')] {
            assert_eq!(stage.key(KeyCode::Char(key))[0], ask(Scope::Everywhere, words));
        }
        let found = [
            hit(
                summary(9, Some("elsewhere"), "", "/srv"),
                &[("…open the ", false), ("window", true), (" again", false)],
            ),
            hit(summaries().remove(0), &[("shown already", true)]),
        ];
        let items = hits(&found, UnixMs(stage.now));
        stage.browsed(Scope::Everywhere, Browsed::Hits { words: "win".into(), items });
        insta::assert_snapshot!(format!("sessions_{width}x{height}"), stage.screen());
        assert_eq!(stage.key(KeyCode::End), [Action::Preview("/s/9.jsonl".into())]);
        let lines = vec![Line::new("▌ open the window", Role::User)];
        let of = |name: &str| Choice::Open(format!("/s/{name}.jsonl").into());
        stage.input(Input::Report(Report::Preview { of: of("9"), lines }));
        let late = vec![Line::new("of another one", Role::User)];
        stage.input(Input::Report(Report::Preview { of: of("0"), lines: late }));
        insta::assert_snapshot!(format!("session_previewed_{width}x{height}"), stage.screen());
        assert_eq!(stage.key(KeyCode::Enter), [Action::Go(Go::Open("/s/9.jsonl".into()))]);
        assert_eq!(stage.key(KeyCode::Esc), [Action::EndBrowse], "until it is there one can stay here");
    }
}

#[test]
fn a_session_is_named_and_trashed_in_its_list_and_brought_back() {
    let scope = Scope::ThisDirectory;
    for (width, height) in [(80, 24), (120, 40)] {
        let mut stage = Stage::new(width, height);
        stage.type_text("/resume");
        stage.key(KeyCode::Enter);
        stage.know_sessions(scope);
        stage.control('r');
        stage.type_text("better name");
        insta::assert_snapshot!(format!("session_named_{width}x{height}"), stage.screen());
        let named = Action::NameSession("/s/0.jsonl".into(), "better name".into());
        assert_eq!(stage.key(KeyCode::Enter), [named]);
        assert_eq!(stage.control('z'), [], "nothing went to the trash yet");
        assert_eq!(stage.control('x'), [Action::TrashSession("/s/0.jsonl".into())]);
        stage.actions.clear();
        let word = Word::note("moved to the trash");
        let trashed = Some("/s/0.jsonl".into());
        stage.input(Input::Report(Report::SessionsChanged { word, trashed }));
        assert_eq!(stage.actions, [Action::EndBrowse, ask(scope, "")]);
        assert!(stage.screen().contains("moved to the trash"));
        assert_eq!(stage.control('z'), [Action::RestoreSession("/s/0.jsonl".into())]);
        assert_eq!(stage.control('z'), []);
    }
}

#[test]
fn forks_stand_beneath_their_session_until_the_newest_is_to_come_first() {
    let mut stage = Stage::new(80, 24);
    stage.type_text("/resume");
    stage.key(KeyCode::Enter);
    let scope = Scope::ThisDirectory;
    let mut known = summaries();
    known[0].parent_session = Some("/s/30.jsonl".into());
    stage.browsed(scope, Browsed::Sessions(sessions(&known, scope, UnixMs(stage.now))));
    insta::assert_snapshot!("threads_80x24", stage.screen());
    stage.control('t');
    let screen = stage.screen();
    assert!(screen.contains("   fix-crlf") && !screen.contains("└─"), "{screen}");
}

#[test]
fn what_a_look_found_for_other_words_or_another_scope_is_dropped() {
    let mut stage = Stage::new(80, 24);
    stage.type_text("/resume not there");
    assert_eq!(stage.key(KeyCode::Enter)[1..], [ask(Scope::ThisDirectory, "not there")]);
    stage.know_sessions(Scope::Everywhere);
    assert!(stage.screen().contains("looking…"));
    stage.know_sessions(Scope::ThisDirectory);
    let items = hits(&[hit(summary(9, None, "p", "/srv"), &[("said", true)])], UnixMs(stage.now));
    stage.browsed(Scope::ThisDirectory, Browsed::Hits { words: "not".into(), items: items.clone() });
    assert!(stage.screen().contains("nothing fits"));
    stage.browsed(Scope::ThisDirectory, Browsed::Hits { words: "not there".into(), items });
    assert!(stage.screen().contains("» said"));
    assert_eq!(stage.key(KeyCode::Esc), [Action::EndBrowse]);
}

#[test]
fn the_choice_stays_with_its_session_when_the_list_grows() {
    let mut stage = Stage::new(80, 24);
    stage.type_text("/resume");
    stage.key(KeyCode::Enter);
    let scope = Scope::ThisDirectory;
    let items = sessions(&summaries(), scope, UnixMs(stage.now));
    stage.browsed(scope, Browsed::Sessions(sessions(&summaries()[1..], scope, UnixMs(stage.now))));
    stage.key(KeyCode::Down);
    stage.browsed(scope, Browsed::Sessions(items));
    assert_eq!(stage.key(KeyCode::Enter)[0], Action::Go(Go::Open("/s/30.jsonl".into())));
}

#[test]
fn a_label_is_given_and_taken_away_by_name() {
    let mut stage = Stage::new(80, 24);
    for (line, label) in [("/label first try", Some("first try".to_owned())), ("/label", None)] {
        stage.type_text(line);
        let actions = stage.key(KeyCode::Enter);
        assert!(actions.contains(&Action::Label(label)), "{actions:?}");
    }
}

#[test]
fn no_screen_is_too_small() {
    let mut stage = Stage::new(20, 5);
    steered(&mut stage);
    stage.type_text("hello there, this wraps");
    insta::assert_snapshot!("narrow_20x5", stage.screen());
    for (width, height) in [(1, 1), (2, 2), (5, 3), (20, 5), (40, 10), (300, 100)] {
        let mut stage = Stage::new(width, height);
        steered(&mut stage);
        stage.asks();
        stage.type_text("日本 x");
        stage.screen();
        stage.control('l');
        stage.screen();
        stage.key(KeyCode::Esc);
        stage.key(KeyCode::PageUp);
        stage.screen();
    }
}

#[test]
fn enter_steers_and_alt_enter_follows_up() {
    let mut stage = Stage::new(80, 24);
    stage.type_text("hello");
    let remember = Action::Remember("hello".into());
    assert_eq!(stage.key(KeyCode::Enter), [remember, Action::Say(Say::Steer("hello".into()))]);
    stage.type_text("later");
    let actions = stage.press(KeyCode::Enter, KeyModifiers::ALT);
    assert_eq!(actions[1..], [Action::Say(Say::FollowUp("later".into()))]);
    stage.type_text("!!env");
    assert_eq!(stage.key(KeyCode::Enter)[1..], [Action::Say(Say::Bash("env".into(), BashContext::Exclude))]);
    assert_eq!(stage.key(KeyCode::Enter), []);
}

#[test]
fn control_c_twice_while_the_agent_works_clears_and_stops_and_does_not_quit() {
    let mut stage = Stage::new(80, 24);
    at_work(&mut stage);
    stage.type_text("half");
    assert_eq!(stage.control('c'), []);
    assert_eq!(stage.control('c'), [Action::Abort]);
    assert_eq!(stage.control('c'), [Action::Abort]);
}

#[test]
fn a_message_of_a_skill_is_shown_as_it_was_typed_wherever_it_stands() {
    let message = skill_message("tidy", "/s/tidy/SKILL.md", "Body of it.", "gently");
    let mut stage = Stage::new(80, 24);
    let item = QueueItem {
        id: "q".into(),
        kind: QueueKind::Steer,
        text: message.clone(),
        typed: None,
        images: [].into(),
        held: false,
    };
    let update = |items| EventKind::QueueUpdate { steering: vec![], follow_up: vec![], items };
    stage.event(update(vec![item.clone()]));
    assert!(stage.screen().contains("↳ steer   /skill:tidy gently"), "{}", stage.screen());
    stage.input(Input::Report(Report::Queue(vec![item])));
    assert_eq!(stage.app.editor.text(), "/skill:tidy gently");
    stage.event(update(vec![]));
    stage.app.editor.clear();
    stage.user(&message);
    let folded = stage.screen();
    assert!(folded.contains("▌ /skill:tidy gently") && folded.contains("ctrl+o 14:02"), "{folded}");
    assert!(!folded.contains("Body of it."), "{folded}");
    stage.control('o');
    let open = stage.screen();
    assert!(open.contains("▌ Body of it.") && open.contains("▌ gently"), "{open}");
}

#[test]
fn what_the_agent_makes_of_a_slash_is_sent_and_what_nobody_knows_is_not() {
    let mut stage = Stage::new(80, 24);
    let command = SlashCommand {
        name: "greet".into(),
        description: "Greets\u{1b}[31m somebody".into(),
        argument_hint: Some("<who>".into()),
        source: CommandSource::Prompt,
        location: None,
    };
    stage.input(Input::Report(Report::Commands(vec![command])));
    stage.type_text("/gr");
    assert!(stage.screen().contains("▸ /greet <who>"), "{}", stage.screen());
    assert_eq!(stage.key(KeyCode::Enter), []);
    stage.type_text("Ada");
    let sent = stage.key(KeyCode::Enter);
    assert!(sent.contains(&Action::Say(Say::Steer("/greet Ada".into()))), "{sent:?}");
    stage.type_text("/greet Bob");
    let sent = stage.press(KeyCode::Enter, KeyModifiers::ALT);
    assert!(sent.contains(&Action::Say(Say::FollowUp("/greet Bob".into()))), "{sent:?}");
    stage.type_text("/skill:nobody");
    let sent = stage.key(KeyCode::Enter);
    assert!(sent.iter().all(|action| !matches!(action, Action::Say(Say::Steer(_)))), "{sent:?}");
    assert_eq!(stage.app.editor.text(), "/skill:nobody");
    assert_eq!(stage.control('c'), []);
    stage.event(EventKind::ResourcesChanged { skills: 1, templates: 0, context_files: 0 });
    assert_eq!(stage.actions, [Action::AskCommands]);
}

#[test]
fn escape_stops_the_run_and_what_waited_comes_back_into_the_editor() {
    let mut stage = Stage::new(80, 24);
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
    stage.input(Input::Report(Report::Queue(vec![item])));
    assert_eq!(stage.app.editor.text(), "waited\n\ntyped");
}

#[test]
fn enter_again_hurries_what_steers_and_ctrl_enter_steers_at_once() {
    let mut stage = Stage::new(80, 24);
    let item = QueueItem {
        id: "q".into(),
        kind: QueueKind::Steer,
        text: "wait".into(),
        typed: None,
        images: [].into(),
        held: false,
    };
    let waits = EventKind::QueueUpdate { steering: vec![], follow_up: vec![], items: vec![item] };
    stage.event(waits.clone());
    assert_eq!(stage.press(KeyCode::Enter, KeyModifiers::NONE), [], "nothing is in flight");
    at_work(&mut stage);
    stage.event(waits);
    assert!(stage.screen().contains("↳ steer   wait · enter: now"), "{}", stage.screen());
    assert_eq!(stage.press(KeyCode::Enter, KeyModifiers::NONE), [Action::Say(Say::Hurry)]);
    stage.type_text("stop");
    let actions = stage.press(KeyCode::Enter, KeyModifiers::CONTROL);
    assert!(actions.contains(&Action::Say(Say::SteerNow("stop".into()))), "{actions:?}");
}

#[test]
fn a_failed_request_counts_down_to_its_next_try() {
    let mut stage = Stage::new(80, 24);
    at_work(&mut stage);
    stage.event(EventKind::ToolExecutionEnd {
        tool_call_id: "c2".into(),
        tool_name: "bash".into(),
        result: ToolOutcome::default(),
        is_error: false,
    });
    stage.event(EventKind::AutoRetryStart {
        attempt: 2,
        max_attempts: 5,
        delay_ms: 8_000,
        error_message: "busy".into(),
    });
    let screen = stage.screen();
    assert!(screen.contains("the request failed · trying again in 8s (2 of 5)"), "{screen}");
    stage.event(EventKind::AgentStart);
    assert!(!stage.screen().contains("trying again"));
}

#[test]
fn an_earlier_prompt_is_found_by_its_words() {
    let mut stage = Stage::new(80, 24);
    for text in ["fix the lexer", "write a poem", "fix the lexer"] {
        stage.type_text(text);
        stage.key(KeyCode::Enter);
    }
    stage.type_text("a draft");
    stage.control('r');
    assert_eq!(stage.screen().matches("fix the lexer").count(), 1);
    stage.type_text("poem");
    assert_eq!(stage.key(KeyCode::Enter), []);
    assert_eq!(stage.app.editor.text(), "write a poem");
    stage.key(KeyCode::Down);
    stage.key(KeyCode::Down);
    assert_eq!(stage.app.editor.text(), "a draft");
}

#[test]
fn a_copy_is_asked_for_by_name() {
    let mut stage = Stage::new(80, 24);
    stage.type_text("/clone");
    assert_eq!(stage.key(KeyCode::Enter)[1..], [Action::Go(Go::Clone)]);
}

#[test]
fn ctrl_c_clears_then_quits() {
    let mut stage = Stage::new(80, 24);
    stage.type_text("text");
    assert_eq!(stage.control('c'), []);
    assert!(stage.app.editor.is_empty());
    assert_eq!(stage.control('c'), [Action::Quit]);
    let mut stage = Stage::new(80, 24);
    assert_eq!(stage.control('c'), []);
    stage.wait(2_500);
    assert_eq!(stage.control('c'), [], "the first one is long ago");
    at_work(&mut stage);
    stage.wait(2_500);
    assert_eq!(stage.control('c'), [Action::Abort]);
}

#[test]
fn a_refused_message_comes_back_into_the_editor() {
    let mut stage = Stage::new(80, 24);
    let what = "no space left".to_owned();
    stage.input(Input::Report(Report::Failed { what, hint: None, text: Some("my words".into()) }));
    assert_eq!(stage.app.editor.text(), "my words");
    assert!(stage.screen().contains("✗ no space left"));
}

#[test]
fn an_unknown_command_stays_in_the_editor_and_suggests() {
    let mut stage = Stage::new(80, 24);
    stage.type_text("/modle gpt");
    let actions = stage.key(KeyCode::Enter);
    assert_eq!(actions, [Action::Remember("/modle gpt".into())]);
    assert_eq!(stage.app.editor.text(), "/modle gpt");
    assert!(stage.screen().contains("did you mean /model?"));
}

#[test]
fn a_half_typed_command_is_completed() {
    let mut stage = Stage::new(80, 24);
    stage.type_text("/fo");
    assert!(stage.screen().contains("/followup TEXT"));
    stage.key(KeyCode::Down);
    stage.key(KeyCode::Tab);
    assert_eq!(stage.app.editor.text(), "/followup ");
    stage.control('u');
    stage.type_text("/tr");
    assert_eq!(stage.key(KeyCode::Enter)[1..], [Action::Tree(super::tree::Ask::Shape)]);
}

#[test]
fn events_that_a_snapshot_told_are_passed_over() {
    let mut stage = Stage::new(80, 24);
    let snapshot = Snapshot { seq: 5, state: state(), live: Live::default() };
    stage.input(Input::Report(Report::Loaded(Box::new(Loaded { snapshot, older: vec![], entries: vec![] }))));
    stage.text(0, "told before");
    assert!(!stage.screen().contains("told before"));
    stage.seq = 5;
    stage.text(0, "told after");
    assert!(stage.screen().contains("told after"));
}

#[test]
fn an_entry_read_from_the_log_is_not_shown_again_when_its_event_comes() {
    let mut stage = Stage::new(80, 24);
    let entry = Entry {
        id: "e1".into(),
        parent: None,
        timestamp: UnixMs(START),
        body: EntryBody::message(Arc::new(Message::User(UserMessage::text("only once", UnixMs(START))))),
    };
    let snapshot = Snapshot { seq: 0, state: state(), live: Live::default() };
    stage.input(Input::Report(Report::Loaded(Box::new(Loaded {
        snapshot,
        older: vec![],
        entries: vec![entry],
    }))));
    stage.user("only once");
    assert_eq!(stage.screen().matches("only once").count(), 1);
}

#[test]
fn when_nothing_changes_nothing_is_drawn() {
    let mut stage = Stage::new(80, 24);
    stage.screen();
    stage.app.stale = Stale::No;
    stage.wait(100);
    assert!(stage.app.stale == Stale::No && !stage.app.wants_ticks(), "idle: no clock, no frame");
    at_work(&mut stage);
    stage.screen();
    stage.app.stale = Stale::No;
    assert!(stage.app.wants_ticks());
    stage.wait(100);
    assert!(stage.app.stale == Stale::BySession, "the spinner turns");
}

#[test]
fn a_thousand_pieces_in_a_second_are_drawn_some_thirty_times_and_then_never_again() {
    let (mut stage, mut pace, mut frames) = (Stage::new(80, 24), Pace::default(), 0);
    let mut draw_if_due = |stage: &mut Stage| {
        let at = Duration::from_millis(u64::try_from(stage.now - START).unwrap());
        if pace.due(stage.app.stale).is_some_and(|due| due <= at) {
            stage.app.stale = Stale::No;
            pace.drew(at, Duration::ZERO);
            frames += 1;
        }
        frames
    };
    for _ in 0..1_000 {
        stage.text(0, "word ");
        stage.wait(1);
        draw_if_due(&mut stage);
    }
    stage.event(EventKind::AgentSettled);
    let mut drawn = Vec::new();
    for _ in 0..10 {
        stage.wait(100);
        drawn.push(draw_if_due(&mut stage));
    }
    assert_eq!(drawn, [32; 10], "one more frame for the end");
}

#[test]
fn a_word_at_the_foot_goes_by_itself() {
    let mut stage = Stage::new(80, 24);
    stage.input(Input::Report(Report::Note("copied".into())));
    assert!(stage.screen().contains("copied") && stage.app.wants_ticks());
    stage.wait(5_000);
    assert!(!stage.screen().contains("copied") && !stage.app.wants_ticks());
}

#[test]
fn a_command_of_the_users_own_streams_and_its_record_takes_its_place() {
    use crate::message::BashExecutionMessage;
    let mut stage = Stage::new(80, 24);
    let id = || "b1".into();
    stage.event(EventKind::BashExecutionStart { id: id(), command: "ls".into(), exclude_from_context: true });
    stage.event(EventKind::BashExecutionUpdate { id: id(), delta: "Cargo.toml\n".into() });
    assert!(stage.screen().contains("│ Cargo.toml"));
    let record = BashExecutionMessage {
        command: "ls".into(),
        output: "Cargo.toml\nsrc\n".into(),
        exit_code: Some(2),
        exclude_from_context: true,
        ..BashExecutionMessage::default()
    };
    stage.event(EventKind::BashExecutionEnd { id: id(), message: Arc::new(record.clone()) });
    stage.said(Message::BashExecution(record));
    let screen = stage.screen();
    assert_eq!(screen.matches("!! ls  exit 2, not sent to the model").count(), 1, "{screen}");
}

#[test]
fn what_happens_while_a_snapshot_is_on_its_way_is_not_forgotten_when_it_arrives() {
    let mut stage = Stage::new(80, 24);
    stage.app.expect_snapshot();
    stage.event(EventKind::AgentStart);
    let snapshot = Snapshot { seq: 0, state: state(), live: Live::default() };
    stage.input(Input::Report(Report::Loaded(Box::new(Loaded { snapshot, older: vec![], entries: vec![] }))));
    assert!(stage.app.work.running_since.is_some(), "the snapshot was older than the event");
    stage.event(EventKind::AgentSettled);
    assert!(stage.app.work.running_since.is_none(), "and nothing waits any more");
}
