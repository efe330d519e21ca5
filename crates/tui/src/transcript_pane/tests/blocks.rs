//! Messages, calls and notices in the pane: their rows, and how they are found and copied.

use tiller_core::background_job::JOB_NOTE_TYPE;
use tiller_core::event::{CompactionReason, QueueKind};
use tiller_core::message::{BashExecutionMessage, Content};
use tiller_core::unit::Tokens;
use tiller_session::entry::{Compaction, DeliveryReceipt, MessageEntry, QueueHistory};

use super::*;

/// 14:02 UTC.
const START: i64 = 1_795_269_720_000;

/// A pane of this size at 14:02.
fn pane(width: u16, height: u16) -> Harness {
    let mut harness = Harness::at(Rect::new(0, 0, width, height));
    harness.now = START;
    harness
}

impl Harness {
    /// Copies an answer, counted from the end; returns its text.
    fn copied_answer(&mut self, from_end: usize) -> Result<String, String> {
        let typed = format!("/copy {from_end}");
        let effects = self.work(|pane, cx| pane.copy_answer(from_end, typed.clone(), cx));
        match <[Effect; 1]>::try_from(effects).unwrap() {
            [Effect::Perform(_, Action::Terminal(TerminalAction::Copy(copied)))] => Ok(copied.text),
            [Effect::RejectInput { typed: returned, reason }] if returned == typed.clone().into() => {
                Err(reason)
            }
            [effect] => panic!("{effect:?}"),
        }
    }
}

#[test]
fn pane_delivered_message_has_receipt() {
    let waited =
        |queued_as| QueueHistory { queued_at: Some(UnixMs(START)), queued_as, ..QueueHistory::default() };
    let (base, followup) = (DeliveryReceipt::default, QueueKind::FollowUp);
    let receipts = [
        DeliveryReceipt { after_calls: 2, skipped_calls: 3, waited: waited(None), ..base() },
        DeliveryReceipt {
            cut_off: true,
            waited: QueueHistory { edited: true, ..waited(Some(followup)) },
            ..base()
        },
        DeliveryReceipt { kind: followup, waited: waited(None), ..base() },
    ];
    for width in [80, 120] {
        let mut harness = pane(width, 12);
        harness.now += 240_000;
        let words = "wait — the fixture itself has mixed endings";
        let message = Arc::new(Message::User(UserMessage::text(words, UnixMs(harness.now))));
        for (at, receipt) in receipts.iter().enumerate() {
            harness.entry(&EntryBody::Message(MessageEntry {
                message: Arc::clone(&message),
                tiller_queue_id: Some(format!("q{at}").as_str().into()),
                tiller_receipt: Some(receipt.clone()),
            }));
        }
        let gap = " ".repeat(usize::from(width) - 80);
        let rows = [
            format!("▌ wait — the fixture itself has mixed endings{gap}                     steered 14:06"),
            "▌ ↳ after 2 of 5 calls, 3 skipped".to_owned(),
            String::new(),
            format!("▌ wait — the fixture itself has mixed endings{gap}                     steered 14:06"),
            "▌ ↳ cut the answer off · queued as a follow-up · edited".to_owned(),
            String::new(),
            format!("▌ wait — the fixture itself has mixed endings{gap}          queued 14:02, sent 14:06"),
        ];
        assert_eq!(harness.screen(), rows.join("\n"));
    }
}

#[test]
fn pane_shell_record_takes_log_position() {
    let mut harness = pane(80, 18);
    let (id, command) = (|| "b".into(), || "make".to_owned());
    harness.event(EventKind::BashExecutionStart {
        id: id(),
        command: command(),
        exclude_from_context: false,
    });
    harness.event(EventKind::BashExecutionUpdate { id: id(), delta: "built\n".into() });
    harness.user("what is in it?");
    harness.answer(vec![text("Not known yet.")]);
    harness.now += 3_200;
    let record = BashExecutionMessage {
        command: command(),
        output: "built\n".into(),
        exit_code: Some(0),
        timestamp: UnixMs(harness.now),
        ..BashExecutionMessage::default()
    };
    harness.message(Message::BashExecution(record.clone()));
    harness.event(EventKind::BashExecutionEnd { id: id(), message: Arc::new(record) });
    let screen = harness.screen();
    let at = |text: &str| screen.find(text).unwrap_or_else(|| panic!("{text}: {screen}"));
    assert!(at("! make started here; its output is below") < at("what is in it?"), "{screen}");
    assert!(at("Not known yet.") < at("built"), "{screen}");
    let head = screen.lines().find(|line| line.contains("✓ ! make")).unwrap();
    assert!(head.trim_end().ends_with("3.2s"), "{screen}");
}

#[test]
fn pane_message_time_takes_first_row_only() {
    let mut harness = pane(40, 12);
    harness.user(&"four ".repeat(20));
    let screen = harness.screen();
    let rows: Vec<&str> = screen.lines().filter(|line| line.starts_with("▌ ")).collect();
    let count = |row: &str| row.matches("four").count();
    assert_eq!(rows.iter().map(|row| count(row)).collect::<Vec<_>>(), [6, 7, 7], "{screen}");
    assert!(rows[0].trim_end().ends_with(|c: char| c.is_ascii_digit()), "{screen}");
}

#[test]
fn pane_long_user_message_is_folded() {
    let mut harness = pane(80, 36);
    let long: String = (0..50).map(|n| format!("row {n}\n")).collect();
    harness.user(&long);
    assert!(harness.screen().contains("▌ … 38 more lines (ctrl+o)"), "{}", harness.screen());
    let row = harness.row("row 3");
    harness.click((5, row));
    assert!(harness.screen().contains("▌ row 30"), "{}", harness.screen());
}

#[test]
fn pane_hints_name_the_unfold_key() {
    let mut harness = Harness::with_command();
    let key = harness.ui.keymap.key_of(KeyCommand::UnfoldOutput);
    assert!(harness.screen().contains(&format!("more lines ({key})")), "{}", harness.screen());
}

#[test]
fn pane_message_shows_its_attachments() {
    let mut harness = pane(80, 12);
    let text = "see @src/lexer.rs\n\n<file path=\"src/lexer.rs\" lines=\"212\">\nfn lex() {}\n</file>";
    let typed = Some("see @src/lexer.rs".to_owned());
    harness.message(Message::User(UserMessage::text(text, UnixMs(START)).typed_as(typed)));
    let screen = harness.screen();
    assert!(screen.contains("@src/lexer.rs · 212 lines") && !screen.contains("fn lex()"), "{screen}");
}

#[test]
fn pane_keys_jump_between_prompts_and_ends() {
    let mut harness = Harness::with_exchanges(30);
    harness.focus.is_editor_empty = false;
    let top = |harness: &mut Harness| harness.screen().lines().take(2).collect::<String>();
    for _ in 0..3 {
        harness.command(KeyCommand::OlderPrompt);
        harness.screen();
    }
    let third = top(&mut harness);
    harness.command(KeyCommand::NewerPrompt);
    assert_ne!(top(&mut harness), third);
    harness.command(KeyCommand::OlderPrompt);
    assert_eq!(top(&mut harness), third);
    assert!(third.contains("▌ prompt"), "{third}");
    harness.command(KeyCommand::Oldest);
    assert!(harness.screen().starts_with("▌ prompt 0"), "{}", harness.screen());
    harness.user("something new");
    harness.answer(vec![text("and more")]);
    let below = |harness: &mut Harness| {
        harness.screen();
        harness.with(|pane, cx| pane.below_label(cx)).0.map(|label| label.text)
    };
    assert_eq!(below(&mut harness).as_deref(), Some(" ↓ 2 new below · end "));
    harness.command(KeyCommand::Newest);
    assert!(harness.screen().contains("and more"), "{}", harness.screen());
    assert_eq!(below(&mut harness), None);
}

#[test]
fn pane_wheel_scrolls_three_lines() {
    let mut harness = Harness::with_exchanges(20);
    let before = harness.row("prompt 18");
    harness.mouse(MouseEventKind::ScrollUp, (5, 5));
    assert_eq!(harness.row("prompt 18"), before + 3);
    harness.mouse(MouseEventKind::ScrollDown, (5, 5));
    assert_eq!(harness.row("prompt 18"), before);
}

#[test]
fn pane_copies_a_numbered_answer() {
    let mut harness = Harness::new();
    for answer in ["one", "two", "three"] {
        harness.answer(vec![text(answer)]);
    }
    for (from_end, expected) in [(1, "three"), (2, "two"), (3, "one")] {
        assert_eq!(harness.copied_answer(from_end).as_deref(), Ok(expected));
    }
    let reason = "there are only 3 answers; /copy 3 copies the first";
    assert_eq!(harness.copied_answer(4), Err(reason.to_owned()));
}

#[test]
fn pane_partly_loaded_says_which_answers_it_copies() {
    let mut harness = Harness::new();
    let earlier: Vec<_> = (0..300).map(|at| format!("p{at}").as_str().into()).collect();
    harness.component.replace(LoadedPath::from_path(&earlier, Vec::new()));
    harness.answer(vec![text("one")]);
    let reason = harness.copied_answer(9).unwrap_err();
    assert!(reason.contains("only the last 1 answers are loaded"), "{reason}");
}

#[test]
fn pane_truncation_note_is_under_its_call_only() {
    let mut harness = pane(80, 36);
    let call = ToolCall {
        id: "c2".into(),
        name: "bash".into(),
        arguments: json!({"command": "seq 20"}),
        raw_arguments: None,
        thought_signature: None,
    };
    harness.answer(vec![AssistantBlock::ToolCall(call)]);
    let cut = "OUTPUT TRUNCATED: showing 20 of 99 characters from bash; full output in /tmp/a";
    for message in ["something else", cut] {
        harness.event(EventKind::Warning { message: message.into(), hint: None });
    }
    let lines: String = (1..=20).map(|n| format!("line {n}\n")).collect();
    harness.result("c2", "bash", &format!("{lines}[{cut}]"), json!({"exitCode": 0}));
    let screen = harness.screen();
    assert_eq!(screen.matches("OUTPUT TRUNCATED").count(), 1, "{screen}");
    assert!(screen.contains("! something else"), "{screen}");
}

#[test]
fn pane_context_overflow_names_remedies() {
    let mut harness = pane(80, 12);
    harness.event(EventKind::CompactionEnd {
        reason: CompactionReason::Overflow,
        result: None,
        aborted: false,
        will_retry: false,
        error_message: Some("too long".into()),
    });
    let screen = harness.screen();
    assert!(
        screen.contains("✗ too long") && screen.contains("→ use /model, /tree or /new to continue"),
        "{screen}"
    );
}

#[test]
fn pane_job_note_is_a_notice_not_a_message_of_the_user() {
    let mut harness = pane(80, 12);
    let text = "Background job job_1 (`make`) ended with exit status 2. Its last lines:\nno rule".to_owned();
    let (custom_type, content) = (JOB_NOTE_TYPE.to_owned(), Content::Text(text));
    harness.entry(&EntryBody::CustomMessage { custom_type, content, display: true });
    let screen = harness.screen();
    assert!(screen.contains("Background job job_1 (`make`) ended with exit status 2."), "{screen}");
    assert!(screen.contains("no rule") && !screen.contains("added"), "{screen}");
}

#[test]
fn pane_compaction_and_branches_are_rules() {
    let screen = |width| {
        let mut harness = pane(width, 18);
        harness.user("first");
        harness.entry(&EntryBody::Compaction(Compaction {
            summary: "The lexer counts `\\r` as a line of its own.\n\nNext: mend it.".into(),
            first_kept_entry_id: "e1".into(),
            tokens_before: Tokens(170_000),
            details: None,
            usage: None,
            made_by: None,
        }));
        harness.user("second");
        let summary = serde_json::from_value(json!({
            "type": "branch_summary", "fromId": "e9", "summary": "A first try went nowhere."
        }));
        harness.entry(&summary.unwrap());
        harness.user("third");
        harness.screen()
    };
    insta::assert_snapshot!(screen(80), @r"
    ▌ first                                                                   14:02

    ──────────────── compacted (was 170k tokens): summary (ctrl+o) ────────────────

    ▌ second                                                                  14:02

    ─────────────────── summary of the branch you left (ctrl+o) ───────────────────

    ▌ third                                                                   14:02
    ");
    insta::assert_snapshot!(screen(120), @r"
    ▌ first                                                                                                           14:02

    ──────────────────────────────────── compacted (was 170k tokens): summary (ctrl+o) ────────────────────────────────────

    ▌ second                                                                                                          14:02

    ─────────────────────────────────────── summary of the branch you left (ctrl+o) ───────────────────────────────────────

    ▌ third                                                                                                           14:02
    ");
}

fn numbered(count: usize) -> String {
    (1..=count).map(|n| format!("line {n}\n")).collect()
}

impl Harness {
    /// Runs a command of the user for 3.2 s, which prints this and ends.
    fn run_command(&mut self, command: &str, output: &str, record: BashExecutionMessage) {
        let id = || "b1".into();
        let exclude_from_context = record.exclude_from_context;
        self.event(EventKind::BashExecutionStart { id: id(), command: command.into(), exclude_from_context });
        self.event(EventKind::BashExecutionUpdate { id: id(), delta: output.into() });
        self.now += 3_200;
        let (command, output, timestamp) = (command.into(), output.into(), UnixMs(self.now));
        let record = BashExecutionMessage { command, output, timestamp, ..record };
        self.event(EventKind::BashExecutionEnd { id: id(), message: Arc::new(record.clone()) });
        self.message(Message::BashExecution(record));
    }
}

#[test]
fn pane_shell_output_shows_a_screenful() {
    for (width, height) in [(80, 20), (120, 36)] {
        let mut harness = pane(width, height);
        let (id, command) = ("b0".into(), "git log".to_owned());
        harness.event(EventKind::BashExecutionStart { id, command, exclude_from_context: false });
        harness.event(EventKind::BashExecutionUpdate { id: "b0".into(), delta: numbered(60) });
        let screen = harness.screen();
        assert!(screen.contains("│ line 60") && screen.contains("│ line 45"), "{screen}");
        let mut harness = pane(width, height);
        let record = BashExecutionMessage { exit_code: Some(0), ..BashExecutionMessage::default() };
        harness.run_command("git log", &numbered(60), record);
        let screen = harness.screen();
        let rows: Vec<&str> = screen.lines().skip_while(|row| row.is_empty()).collect();
        assert!(rows[0].starts_with("  ✓ ! git log"), "{screen}");
        assert_eq!(rows[1], "    │ … 44 more lines (ctrl+o)");
        let last: Vec<String> = (45..=60).map(|n| format!("    │ line {n}")).collect();
        assert_eq!(rows[2..], last);
        harness.command(KeyCommand::UnfoldOutput);
        harness.command(KeyCommand::Top);
        assert!(harness.screen().contains("│ line 1\n"), "{}", harness.screen());
    }
}

#[test]
fn pane_shell_result_has_note_and_duration() {
    let screen = |width| {
        let mut harness = pane(width, 18);
        let long = format!("for f in {}; do cat $f; done", "one.txt two.txt ".repeat(8).trim());
        for (command, exclude_from_context) in [("echo lost; exit 4", false), (&long, true)] {
            let record = BashExecutionMessage {
                exit_code: Some(4),
                exclude_from_context,
                ..BashExecutionMessage::default()
            };
            harness.run_command(command, "lost\n", record);
        }
        harness.screen()
    };
    insta::assert_snapshot!(screen(80), @r"
      ✗ ! echo lost; exit 4                          exit 4                    3.2s
        │ lost

      ✗ !! for f in one.txt two.txt one.txt two.txt one.txt two.txt one.txt two.txt
      one.txt two.txt one.txt two.txt one.txt two.txt one.txt two.txt; do cat $f;
      done                                       exit 4, not sent to the model 3.2s
        │ lost
    ");
    insta::assert_snapshot!(screen(120), @r"
      ✗ ! echo lost; exit 4                                        exit 4                                              3.2s
        │ lost

      ✗ !! for f in one.txt two.txt one.txt two.txt one.txt two.txt one.txt two.txt one.txt two.txt one.txt two.txt one.txt
      two.txt one.txt two.txt; do cat $f; done                     exit 4, not sent to the model                       3.2s
        │ lost
    ");
}
