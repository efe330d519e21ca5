//! Tests of the turn machine that compare whole effect vectors, written as lines: `append user "…"`, `run a
//! b`, `emit turn_end`.

mod end_review;
mod fallback;
mod random;
mod receipts;

use std::time::Duration;
use tiller_core::setting::{DeliveryMode, SteeringPoint, Switch};

use serde_json::json;
use tiller_core::event::{Decider, Decision, DenialCause, QueueItem, ToolOutcome};
use tiller_core::id::QueueId;
use tiller_core::message::{AssistantBlock, Content, ToolCall, ToolResultMessage, UserBlock};
use tiller_core::tool_spec::Access;
use tiller_core::unit::Tokens;
use tiller_session::entry::{QueueChange, TillerEntry};

use super::*;
use crate::fallback::FallbackModel;
use crate::queue::QueueEdit;

const NOW: UnixMs = UnixMs(5);

fn machine(options: TurnOptions) -> Turn {
    Turn::new(options, Queue::default())
}

fn prompt(text: &str) -> Input {
    prompt_of(text, QueueKind::Steer)
}

fn prompt_of(text: &str, kind: QueueKind) -> Input {
    Input::Prompt(TurnPrompt {
        text: text.into(),
        typed: None,
        kind,
        id: QueueId::new(format!("q-{text}")),
        images: Vec::new(),
    })
}

fn partial_output(answer: Option<AssistantMessage>) -> PartialOutput {
    PartialOutput { answer, ..PartialOutput::default() }
}

fn abort(partial: Option<AssistantMessage>) -> Input {
    Input::Abort {
        partial_output: partial_output(partial),
        queue: QueueHandling::Return,
        cause: AbortCause::User,
    }
}

fn follow_up(text: &str) -> Input {
    prompt_of(text, QueueKind::FollowUp)
}

fn waiting_item(id: &str, text: &str) -> QueueItem {
    let (id, kind) = (id.into(), QueueKind::FollowUp);
    QueueItem { id, kind, text: text.into(), typed: None, images: [].into(), held: false }
}

fn call(id: &str) -> ToolCall {
    ToolCall {
        id: id.into(),
        name: "bash".into(),
        arguments: json!({}),
        raw_arguments: None,
        thought_signature: None,
    }
}

/// Returns an answer of request `turn` with tool calls. The first letter of an id sets the decision: `r…`
/// reads, `w…` writes, `?…` needs approval, `!…` is refused.
fn calls(turn: TurnNumber, ids: &[&str]) -> [Input; 2] {
    let decision = |id: &str| match &id[..1] {
        "r" => CallDecision::Run(Access::Reads),
        "w" => CallDecision::Run(Access::Writes),
        "?" => CallDecision::Ask { reason: "it runs".into(), rule: "all".into() },
        _ => CallDecision::Refuse { reason: "unknown tool".into(), details: None },
    };
    let plan = ids.iter().map(|id| PlannedCall { call: call(id), decision: decision(id) }).collect();
    let content = ids.iter().map(|id| AssistantBlock::ToolCall(call(id))).collect();
    [end_answer(turn, StopReason::ToolUse, content), Input::Planned { turn, plan }]
}

fn text_answer(turn: TurnNumber, stop_reason: StopReason) -> Input {
    end_answer(turn, stop_reason, vec![AssistantBlock::text("done")])
}

fn end_answer(turn: TurnNumber, stop_reason: StopReason, content: Vec<AssistantBlock>) -> Input {
    let answer = AssistantMessage { content, stop_reason, ..AssistantMessage::default() };
    Input::Answered { turn, answer }
}

fn failure(turn: TurnNumber, action: AfterFailure) -> Input {
    let answer = AssistantMessage {
        stop_reason: StopReason::Error,
        error_message: Some("busy".into()),
        ..AssistantMessage::default()
    };
    Input::Failed { turn, answer, action }
}

fn retry() -> AfterFailure {
    AfterFailure::Retry { delay: Duration::from_secs(3), max_attempts: 5 }
}

fn model(name: &str) -> ModelRef {
    ModelRef { provider: "p".into(), id: name.into() }
}

fn switch_model(failed: &str, candidates: &[&str]) -> AfterFailure {
    let candidate = |name: &&str| FallbackModel { model: model(name), thinking: None };
    AfterFailure::SwitchModel(ModelSwitch {
        failed: model(failed),
        cause: "p is down".into(),
        candidates: candidates.iter().map(candidate).collect(),
    })
}

fn tool_ended(turn: TurnNumber, id: &str) -> Input {
    let content = vec![UserBlock::Text { text: "ok".into() }];
    let result = ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: "bash".into(),
        content,
        details: None,
        is_error: false,
        timestamp: NOW,
    };
    Input::ToolEnded { turn, result }
}

fn step(turn: &mut Turn, input: Input) -> Vec<String> {
    turn.step(input, NOW).iter().map(line).collect()
}

/// Applies an answer and the plan for its calls.
fn step_calls(turn: &mut Turn, [end_answer, planned]: [Input; 2]) -> Vec<String> {
    let mut lines = step(turn, end_answer);
    let last = lines.pop();
    assert!(last.as_ref().is_some_and(|line| line.starts_with("plan ")), "{last:?}");
    lines.extend(step(turn, planned));
    lines
}

fn line(effect: &Effect) -> String {
    match effect {
        Effect::Append(body) => format!("append {}", body_line(body)),
        Effect::AppendAll(bodies) => {
            format!("append {}", bodies.iter().map(body_line).collect::<Vec<_>>().join(", "))
        }
        Effect::RepairDanglingCalls => "repair".into(),
        Effect::Sync => "sync".into(),
        Effect::Request { turn, tool_choice: ToolChoice::Auto } => format!("request {turn}"),
        Effect::Request { turn, tool_choice: ToolChoice::None } => format!("request {turn} without tools"),
        Effect::Sleep { turn, delay } => format!("sleep {turn}: {} s", delay.as_secs()),
        Effect::Compact => "compact".into(),
        Effect::SwitchModel { to, cause } => format!("switch to {}: {cause}", to.model),
        Effect::RestoreModel => "restore model".into(),
        Effect::Plan { turn, calls } => format!("plan {turn}: {}", ids(calls)),
        Effect::Run { turn, calls } => format!("run {turn}: {}", ids(calls)),
        Effect::Ask { call, .. } => format!("ask {}", call.id),
        Effect::ReviewEnd { turn, is_continued } => format!("review end {turn} {is_continued}"),
        Effect::StopStream => "stop stream".into(),
        Effect::StopTools => "stop tools".into(),
        Effect::StopCompaction => "stop compaction".into(),
        Effect::Emit(event) => format!("emit {}", event_line(event)),
    }
}

fn ids(calls: &[ToolCall]) -> String {
    calls.iter().map(|call| call.id.as_str()).collect::<Vec<_>>().join(" ")
}

fn body_line(body: &EntryBody) -> String {
    match (body, body.as_tiller()) {
        (_, Some(TillerEntry::Queue(QueueChange::Add { text, .. }))) => format!("queue add {text}"),
        (_, Some(TillerEntry::Queue(QueueChange::Edit { queue_id, kind, text, order, .. }))) => {
            format!("queue edit {queue_id} {kind:?} {text} {order:?}")
        }
        (EntryBody::CustomMessage { custom_type, content, .. }, _) => {
            format!("{custom_type} {}", content.joined_text())
        }
        (EntryBody::Compaction(compaction), _) => format!("compaction {}", compaction.summary),
        (_, Some(TillerEntry::Queue(QueueChange::Remove { queue_id }))) => format!("queue remove {queue_id}"),
        (_, Some(TillerEntry::Approval { tool_call_id, decision, by, .. })) => {
            format!("approval {tool_call_id} {decision} {by}")
        }
        (EntryBody::Message(entry), _) => {
            let receipt = entry.tiller_receipt.as_ref().filter(|receipt| receipt.kind == QueueKind::Steer);
            let receipt = receipt.map(|r| format!(" after {} skipped {}", r.after_calls, r.skipped_calls));
            format!("{}{}", message_line(&entry.message), receipt.unwrap_or_default())
        }
        _ => format!("{body:?}"),
    }
}

fn message_line(message: &Message) -> String {
    match message {
        Message::User(UserMessage { content: Content::Blocks(blocks), .. }) => {
            format!("user {}", tiller_core::message::joined_text(blocks))
        }
        Message::Assistant(answer) => format!("answer {:?}", answer.stop_reason),
        Message::ToolResult(result) => {
            format!("result {} {}", result.tool_call_id, tiller_core::message::joined_text(&result.content))
        }
        Message::BashExecution(bash) => format!("bash {}", bash.command),
        Message::User(_) | Message::System(_) => format!("{message:?}"),
    }
}

fn event_line(event: &EventKind) -> String {
    let value = serde_json::to_value(event).unwrap();
    let name = value["type"].as_str().unwrap().to_owned();
    match event {
        EventKind::QueueUpdate { items, .. } => {
            let items: Vec<_> = items
                .iter()
                .map(|item| format!("{}{}", item.text, if item.held { " (held)" } else { "" }))
                .collect();
            format!("{name} [{}]", items.join(", "))
        }
        EventKind::AgentEnd { messages, will_retry: true, .. } => {
            format!("{name} to retry {}", messages.len())
        }
        EventKind::AgentEnd { messages, outcome, .. } => format!("{name} {outcome:?} {}", messages.len()),
        EventKind::AutoRetryStart { attempt, max_attempts, delay_ms, error_message } => {
            format!("{name} {attempt} of {max_attempts} in {delay_ms}: {error_message}")
        }
        EventKind::AutoRetryEnd { success, attempt, final_error } => {
            format!("{name} {success} {attempt} {final_error:?}")
        }
        EventKind::CompactionEnd { result, aborted, will_retry, error_message, .. } => {
            let result = result.as_ref().map(|result| result.summary.as_str());
            format!("{name} {result:?} aborted {aborted} retry {will_retry} {error_message:?}")
        }
        EventKind::TurnEnd { tool_results, .. } => format!("{name} {}", tool_results.len()),
        EventKind::ToolExecutionStart { tool_call_id, .. }
        | EventKind::ToolExecutionEnd { tool_call_id, .. } => {
            format!("{name} {tool_call_id}")
        }
        EventKind::ApprovalResolved { tool_call_id, decision } => {
            format!("{name} {tool_call_id} {}", decision.name())
        }
        EventKind::MessageStart { message } | EventKind::MessageEnd { message } => {
            format!("{name} {}", message_line(message))
        }
        _ => name,
    }
}

/// Returns the lines of the effects that follow a call that never ran.
fn skipped_call_lines(id: &str, reason: &str) -> Vec<String> {
    let mut lines = vec![format!("emit tool_execution_start {id}")];
    lines.extend(result_lines(id, reason));
    lines
}

fn result_lines(id: &str, text: &str) -> Vec<String> {
    vec![
        format!("append result {id} {text}"),
        format!("emit tool_execution_end {id}"),
        format!("emit message_start result {id} {text}"),
        format!("emit message_end result {id} {text}"),
    ]
}

fn user(text: &str, receipt: &str) -> Vec<String> {
    vec![
        format!("append user {text}{receipt}"),
        format!("emit message_start user {text}"),
        format!("emit message_end user {text}"),
    ]
}

fn run_started() -> Vec<String> {
    vec!["emit agent_start".into(), "repair".into()]
}

fn request_sent(turn: TurnNumber) -> Vec<String> {
    vec!["sync".into(), format!("request {turn}")]
}

fn settled(outcome: &str, messages: usize) -> Vec<String> {
    vec!["sync".into(), format!("emit agent_end {outcome} {messages}"), "emit agent_settled".into()]
}

/// Returns the effects of a paused run's end: it continues only to emit its final end.
fn settled_after_pause(outcome: &str) -> Vec<String> {
    let mut lines = settled(outcome, 0);
    lines.insert(1, "emit agent_start".into());
    lines
}

fn lines(parts: &[&[String]]) -> Vec<String> {
    parts.concat()
}

fn single_line(line: &str) -> Vec<String> {
    vec![line.into()]
}

fn answer(stop: &str) -> Vec<String> {
    vec![format!("append answer {stop}"), format!("emit message_end answer {stop}")]
}

#[test]
fn prompt_is_logged_and_synced_before_the_request() {
    let mut turn = machine(TurnOptions::default());
    assert_eq!(step(&mut turn, prompt("go")), lines(&[&run_started(), &user("go", ""), &request_sent(1)]));
    assert_eq!(
        step(&mut turn, text_answer(1, StopReason::Stop)),
        lines(&[&answer("Stop"), &single_line("emit turn_end 0"), &settled("Completed", 2)])
    );
    assert!(!turn.is_running());
}

/// Returns the effects of a call that the mode allows: its decision is logged.
fn run_lines(call: &str) -> [String; 3] {
    [
        format!("append approval {call} once mode"),
        format!("emit tool_execution_start {call}"),
        format!("run 1: {call}"),
    ]
}

#[test]
fn calls_run_in_sequence_and_another_request_follows() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    assert_eq!(
        step_calls(&mut turn, calls(1, &["w1", "w2"])),
        lines(&[&answer("ToolUse"), &run_lines("w1")])
    );
    assert_eq!(step(&mut turn, tool_ended(1, "w1")), lines(&[&result_lines("w1", "ok"), &run_lines("w2")]));
    assert_eq!(
        step(&mut turn, tool_ended(1, "w2")),
        lines(&[&result_lines("w2", "ok"), &single_line("emit turn_end 2"), &request_sent(2)])
    );
}

#[test]
fn steering_between_first_and_second_call_skips_two() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    step_calls(&mut turn, calls(1, &["w1", "w2", "w3"]));
    assert_eq!(step(&mut turn, prompt("wait")), ["append queue add wait", "emit queue_update [wait]"]);
    assert_eq!(
        step(&mut turn, tool_ended(1, "w1")),
        lines(&[
            &result_lines("w1", "ok"),
            &skipped_call_lines("w2", "skipped: the user steered"),
            &skipped_call_lines("w3", "skipped: the user steered"),
            &single_line("emit turn_end 3"),
            &user("wait", " after 1 skipped 2"),
            &single_line("emit queue_update []"),
            &request_sent(2),
        ])
    );
}

#[test]
fn steering_is_delivered_before_an_older_follow_up() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    step(&mut turn, follow_up("later"));
    step(&mut turn, prompt("now"));
    assert_eq!(
        step(&mut turn, text_answer(1, StopReason::Stop)),
        lines(&[
            &answer("Stop"),
            &single_line("emit turn_end 0"),
            &user("now", " after 0 skipped 0"),
            &single_line("emit queue_update [later]"),
            &request_sent(2),
        ])
    );
    assert_eq!(
        step(&mut turn, text_answer(2, StopReason::Stop)),
        lines(&[
            &answer("Stop"),
            &single_line("emit turn_end 0"),
            &user("later", ""),
            &single_line("emit queue_update []"),
            &request_sent(3),
        ])
    );
    assert_eq!(
        step(&mut turn, text_answer(3, StopReason::Stop)),
        lines(&[&answer("Stop"), &single_line("emit turn_end 0"), &settled("Completed", 6)])
    );
}

#[test]
fn steering_second_message_waits_for_the_next_gap() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    step_calls(&mut turn, calls(1, &["w1", "w2"]));
    step(&mut turn, prompt("one"));
    step(&mut turn, tool_ended(1, "w1"));
    assert_eq!(step(&mut turn, prompt("two")), ["append queue add two", "emit queue_update [two]"]);
    assert_eq!(
        step_calls(&mut turn, calls(2, &["w3"])),
        lines(&[
            &answer("ToolUse"),
            &skipped_call_lines("w3", "skipped: the user steered"),
            &single_line("emit turn_end 1"),
            &user("two", " after 0 skipped 1"),
            &single_line("emit queue_update []"),
            &request_sent(3),
        ])
    );
}

#[test]
fn steering_two_messages_go_in_one_at_a_time_or_together() {
    let waiting = |options| {
        let mut turn = machine(options);
        step(&mut turn, prompt("go"));
        step(&mut turn, prompt("a"));
        step(&mut turn, prompt("b"));
        let effects = step(&mut turn, text_answer(1, StopReason::Stop));
        effects.into_iter().filter(|line| line.starts_with("append user")).collect::<Vec<_>>()
    };
    let one_at_a_time = TurnOptions { steering_mode: DeliveryMode::OneAtATime, ..TurnOptions::default() };
    assert_eq!(waiting(one_at_a_time), ["append user a after 0 skipped 0"]);
    assert_eq!(
        waiting(TurnOptions::default()),
        ["append user a after 0 skipped 0", "append user b after 0 skipped 0"]
    );
}

#[test]
fn steering_after_the_answer_skips_no_call() {
    let options = TurnOptions { steering_point: SteeringPoint::AfterAnswer, ..TurnOptions::default() };
    let mut turn = machine(options);
    step(&mut turn, prompt("go"));
    step_calls(&mut turn, calls(1, &["w1", "w2"]));
    step(&mut turn, prompt("wait"));
    step(&mut turn, tool_ended(1, "w1"));
    assert_eq!(
        step(&mut turn, tool_ended(1, "w2")),
        lines(&[
            &result_lines("w2", "ok"),
            &single_line("emit turn_end 2"),
            &user("wait", " after 2 skipped 0"),
            &single_line("emit queue_update []"),
            &request_sent(2),
        ])
    );
}

#[test]
fn reading_calls_run_in_groups_of_eight_that_always_finish() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    let ids = ["r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "w1"];
    let effects = step_calls(&mut turn, calls(1, &ids));
    assert_eq!(effects.last().unwrap(), "run 1: r1 r2 r3 r4 r5 r6 r7 r8");
    step(&mut turn, prompt("wait"));
    for id in &ids[1..8] {
        assert_eq!(step(&mut turn, tool_ended(1, id)), result_lines(id, "ok"));
    }
    let effects = step(&mut turn, tool_ended(1, "r1"));
    assert!(effects.contains(&"append result r9 skipped: the user steered".to_owned()), "{effects:?}");
    assert!(effects.contains(&"append user wait after 8 skipped 2".to_owned()), "{effects:?}");
}

#[test]
fn reading_calls_without_groups_run_one_by_one() {
    let mut turn = machine(TurnOptions { parallel_tools: Switch::Off, ..TurnOptions::default() });
    step(&mut turn, prompt("go"));
    assert_eq!(step_calls(&mut turn, calls(1, &["r1", "r2"])).last().unwrap(), "run 1: r1");
}

#[test]
fn abort_in_the_stream_keeps_the_text_and_returns_the_queue() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    step(&mut turn, follow_up("later"));
    assert_eq!(
        step(&mut turn, abort(Some(AssistantMessage::default()))),
        lines(&[
            &single_line("stop stream"),
            &answer("Aborted"),
            &["append queue remove q-later".into(), "emit queue_update []".into(), "emit turn_end 0".into()],
            &settled("Aborted", 2),
        ])
    );
    assert!(step(&mut turn, text_answer(1, StopReason::Stop)).is_empty(), "a late answer is dropped");
}

#[test]
fn abort_in_a_tool_gives_every_call_a_result() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    step_calls(&mut turn, calls(1, &["w1", "w2"]));
    let mut running = result_lines("w1", "aborted: the user stopped it; it may have had effects");
    running.extend(skipped_call_lines("w2", "not run: the user stopped the agent"));
    assert_eq!(
        step(&mut turn, abort(None)),
        lines(&[
            &single_line("stop tools"),
            &running,
            &single_line("emit turn_end 2"),
            &settled("Aborted", 4)
        ])
    );
    assert!(step(&mut turn, tool_ended(1, "w1")).is_empty(), "a late result is dropped");
}

#[test]
fn abort_at_the_end_of_a_task_isnt_blamed_on_the_user() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    step_calls(&mut turn, calls(1, &["w1", "w2"]));
    let end = Input::Abort {
        partial_output: partial_output(None),
        queue: QueueHandling::Return,
        cause: AbortCause::TaskEnd,
    };
    let texts = step(&mut turn, end).join("\n");
    let [running, not_started] =
        ["aborted: the task ended; it may have had effects", "not run: the task ended"]
            .map(|it| texts.contains(it));
    assert!(running && not_started && !texts.contains("user stopped"), "{texts}");
}

#[test]
fn abort_keeps_partial_output_after_the_stop_notice() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    step_calls(&mut turn, calls(1, &["w1", "w2"]));
    let shown = ToolOutcome {
        content: vec![UserBlock::Text { text: "1\n2\n".into() }],
        details: Some(json!({"fullOutputPath": "/x"})),
    };
    let calls = [("w1".into(), shown.clone())].into();
    let partial_output = PartialOutput { answer: None, calls };
    step(&mut turn, prompt("now"));
    let effects = turn.step(Input::SteerNow { prompt: None, partial_output }, NOW);
    let result = effects.iter().find_map(|effect| match effect {
        Effect::Append(body) => match &**body.as_message()? {
            Message::ToolResult(result) => Some(result.clone()),
            _ => None,
        },
        _ => None,
    });
    let reason = "aborted: the user steered; it may have had effects";
    let content = vec![UserBlock::Text { text: reason.into() }, shown.content[0].clone()];
    let result = result.unwrap();
    assert_eq!((result.content, result.details, result.is_error), (content, shown.details, true));
}

#[test]
fn held_message_is_delivered_after_release() {
    let held = || {
        let mut turn = machine(TurnOptions::default());
        step(&mut turn, prompt("go"));
        step(&mut turn, follow_up("later"));
        let hold = step(&mut turn, Input::Hold { id: "q-later".into() });
        assert_eq!(hold, single_line("emit queue_update [later (held)]"), "the log hears nothing of it");
        turn
    };
    let release = || Input::Release { id: "q-later".into() };
    let mut turn = held();
    assert!(!turn.queue().has_waiting(QueueKind::FollowUp));
    step(&mut turn, release());
    assert!(
        step(&mut turn, text_answer(1, StopReason::Stop))
            .iter()
            .any(|line| line.contains("append user later"))
    );

    let mut turn = held();
    let ends = step(&mut turn, text_answer(1, StopReason::Stop));
    assert!(ends.iter().all(|line| !line.contains("append user")) && !turn.is_running(), "{ends:?}");
    assert!(step(&mut turn, release()).iter().any(|line| line.contains("append user later")));
}

#[test]
fn abort_between_calls_answers_the_pending_call() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    assert_eq!(step_calls(&mut turn, calls(1, &["?1", "w2"])).last().unwrap(), "ask ?1");
    assert_eq!(
        step(&mut turn, abort(None)),
        lines(&[
            &[
                "stop tools".into(),
                "append approval ?1 deny user".into(),
                "emit approval_resolved ?1 deny".into(),
            ],
            &skipped_call_lines("?1", "not run: the user stopped the agent"),
            &skipped_call_lines("w2", "not run: the user stopped the agent"),
            &single_line("emit turn_end 2"),
            &settled("Aborted", 4),
        ])
    );
}

#[test]
fn abort_when_idle_does_nothing() {
    assert!(step(&mut machine(TurnOptions::default()), abort(None)).is_empty());
}

#[test]
fn decision_is_logged_before_it_takes_effect() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    step_calls(&mut turn, calls(1, &["?1", "?2"]));
    let decide =
        |id: &str, decision| Input::Decided { call: id.into(), decision, decider: Decider::User, rule: None };
    assert_eq!(
        step(&mut turn, decide("?1", Decision::Once)),
        [
            "append approval ?1 once user",
            "emit approval_resolved ?1 once",
            "emit tool_execution_start ?1",
            "run 1: ?1"
        ]
    );
    step(&mut turn, tool_ended(1, "?1"));
    let effects = step(&mut turn, decide("?2", Decision::Deny { reason: "not here".into() }));
    assert_eq!(
        effects,
        lines(&[
            &["append approval ?2 deny user".into(), "emit approval_resolved ?2 deny".into()],
            &skipped_call_lines("?2", "denied: not here"),
            &single_line("emit turn_end 2"),
            &request_sent(2),
        ])
    );
    assert!(step(&mut turn, decide("?2", Decision::Once)).is_empty(), "a late word is dropped");
}

#[test]
fn decision_preview_of_another_call_with_the_same_id_is_ignored() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    step_calls(&mut turn, calls(1, &["?1"]));
    assert!(turn.asks(&"?1".into(), &json!({})));
    assert!(!turn.asks(&"?1".into(), &json!({"command": "ls"})));
}

#[test]
fn decision_made_in_advance_is_logged_with_its_decider() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    let [end_answer, _] = calls(1, &["a", "b", "c"]);
    step(&mut turn, end_answer);
    let call = |id: &str| ToolCall {
        id: id.into(),
        name: "t".into(),
        arguments: json!({}),
        raw_arguments: None,
        thought_signature: None,
    };
    let granted =
        |decider, rule: Option<&str>| CallDecision::Granted { decider, rule: rule.map(str::to_owned) };
    let denied = CallDecision::Deny(DeniedCall {
        cause: DenialCause::NoApprover,
        reason: "no".into(),
        allowed_by: None,
        rule: None,
    });
    let decisions = [granted(Decider::YesFlag, None), granted(Decider::Rule, Some("ls")), denied];
    let plan = ["a", "b", "c"]
        .into_iter()
        .zip(decisions)
        .map(|(id, decision)| PlannedCall { call: call(id), decision });
    let mut effects = step(&mut turn, Input::Planned { turn: 1, plan: plan.collect() });
    effects.extend(["a", "b"].into_iter().flat_map(|id| step(&mut turn, tool_ended(1, id))));
    let logged: Vec<&String> = effects.iter().filter(|line| line.starts_with("append approval")).collect();
    assert_eq!(
        logged,
        ["append approval a once yes-flag", "append approval b once rule", "append approval c deny nobody"]
    );
    assert!(
        effects.contains(&"append result c denied: no, and no one can approve it".to_owned()),
        "{effects:?}"
    );
}

#[test]
fn steering_denies_the_pending_call() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    step_calls(&mut turn, calls(1, &["?1", "w2"]));
    assert_eq!(
        step(&mut turn, prompt("no")),
        lines(&[
            &[
                "append queue add no".into(),
                "emit queue_update [no]".into(),
                "append approval ?1 deny steering".into(),
                "emit approval_resolved ?1 deny".into()
            ],
            &skipped_call_lines("?1", "skipped: the user steered"),
            &skipped_call_lines("w2", "skipped: the user steered"),
            &single_line("emit turn_end 2"),
            &user("no", " after 0 skipped 2"),
            &single_line("emit queue_update []"),
            &request_sent(2),
        ])
    );
}

#[test]
fn refused_call_has_its_result_and_the_next_one_runs() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    assert_eq!(
        step_calls(&mut turn, calls(1, &["!1", "w2"])),
        lines(&[&answer("ToolUse"), &skipped_call_lines("!1", "unknown tool"), &run_lines("w2")])
    );
}

#[test]
fn cut_off_answer_runs_no_calls() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    let [Input::Answered { mut answer, .. }, _] = calls(1, &["w1"]) else { unreachable!() };
    answer.stop_reason = StopReason::Length;
    let effects = step(&mut turn, Input::Answered { turn: 1, answer });
    assert!(effects[3].starts_with("append result w1 not run: the answer was cut off"), "{effects:?}");
    assert_eq!(effects.last().unwrap(), "request 2");
}

#[test]
fn turn_limit_sends_a_last_request_without_tools() {
    let mut turn = machine(TurnOptions { max_turns: Some(1), ..TurnOptions::default() });
    step(&mut turn, prompt("go"));
    step_calls(&mut turn, calls(1, &["w1"]));
    let effects = step(&mut turn, tool_ended(1, "w1"));
    assert_eq!(effects.last().unwrap(), "request 2 without tools");
    assert_eq!(
        step(&mut turn, text_answer(2, StopReason::Stop)),
        lines(&[&answer("Stop"), &single_line("emit turn_end 0"), &settled("MaxTurns", 4)])
    );
}

#[test]
fn failed_answer_ends_the_run_and_holds_the_queue() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    step(&mut turn, follow_up("later"));
    assert_eq!(
        step(&mut turn, failure(1, AfterFailure::GiveUp)),
        lines(&[
            &answer("Error"),
            &["emit turn_end 0".into(), "emit queue_update [later (held)]".into()],
            &settled("Failed", 2),
        ])
    );
}

#[test]
fn bash_record_waits_for_the_end_of_the_turn() {
    let record =
        || Input::BashEnded(BashExecutionMessage { command: "ls".into(), ..BashExecutionMessage::default() });
    let mut turn = machine(TurnOptions::default());
    assert_eq!(step(&mut turn, record()), ["append bash ls"]);
    step(&mut turn, prompt("go"));
    step_calls(&mut turn, calls(1, &["w1"]));
    assert!(step(&mut turn, record()).is_empty());
    assert_eq!(
        step(&mut turn, tool_ended(1, "w1")),
        lines(&[
            &result_lines("w1", "ok"),
            &["append bash ls".into(), "emit turn_end 1".into()],
            &request_sent(2)
        ])
    );
}

fn store_failed(run: Option<Vec<Arc<Message>>>, queue: Queue, records: Vec<BashExecutionMessage>) -> Input {
    let since = run.as_ref().map(|_| NOW);
    let open_events = OpenEvents { since, messages: run.unwrap_or_default(), ..OpenEvents::default() };
    Input::StoreFailed(AppendFailure { reason: "no space".into(), hint: None, open_events, queue, records })
}

#[test]
fn store_failure_of_the_last_answer_ends_the_run() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    step(&mut turn, text_answer(1, StopReason::Stop));
    assert!(!turn.is_running(), "for the machine it is over");
    let message = Arc::new(Message::User(UserMessage::text("go", NOW)));
    let effects = step(&mut turn, store_failed(Some(vec![message]), Queue::default(), Vec::new()));
    assert_eq!(effects[5..], ["emit agent_end Failed 1", "emit agent_settled"]);
    let idle = step(&mut turn, store_failed(None, Queue::default(), Vec::new()));
    assert!(!idle.contains(&"emit agent_settled".to_owned()), "{idle:?}");
}

#[test]
fn store_failure_ends_the_run_and_holds_the_queue() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    step(&mut turn, follow_up("later"));
    let mut waiting = Queue::default();
    waiting.add(waiting_item("q", "logged"), UnixMs(5));
    let message = Arc::new(Message::User(UserMessage::text("go", NOW)));
    assert_eq!(
        step(&mut turn, store_failed(Some(vec![message]), waiting, Vec::new())),
        [
            "stop stream",
            "stop tools",
            "stop compaction",
            "emit warning",
            "emit queue_update [logged (held)]",
            "emit agent_end Failed 1",
            "emit agent_settled"
        ]
    );
    assert!(!turn.is_running());
    assert!(turn.queue().items()[0].held);
}

#[test]
fn abort_before_the_request_was_sent_leaves_no_answer() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    assert_eq!(step(&mut turn, abort(None)), lines(&[&single_line("stop stream"), &settled("Aborted", 1)]));
    assert_eq!(turn.streaming(), None);
}

#[test]
fn bash_record_that_failed_is_written_at_the_next_turns_end() {
    let record = BashExecutionMessage { command: "ls".into(), ..BashExecutionMessage::default() };
    let mut turn = machine(TurnOptions::default());
    let failure = store_failed(None, Queue::default(), vec![record]);
    step(&mut turn, failure);
    step(&mut turn, prompt("go"));
    let effects = step(&mut turn, text_answer(2, StopReason::Stop));
    assert!(effects.contains(&"append bash ls".to_owned()), "{effects:?}");
}

#[test]
fn awaits_only_started_calls_without_result() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    step_calls(&mut turn, calls(1, &["w1", "w2"]));
    assert!(turn.awaits(&"w1".into()) && !turn.awaits(&"w2".into()));
    step(&mut turn, abort(None));
    assert!(!turn.awaits(&"w1".into()));
}

#[test]
fn retry_after_a_delay_ends_with_an_answer() {
    let mut turn = machine(TurnOptions { max_turns: Some(1), ..TurnOptions::default() });
    step(&mut turn, prompt("go"));
    assert_eq!(
        step(&mut turn, failure(1, retry())),
        lines(&[
            &answer("Error"),
            &[
                "emit turn_end 0".into(),
                "emit agent_end to retry 2".into(),
                "emit auto_retry_start 1 of 5 in 3000: busy".into(),
                "sync".into(),
                "sleep 1: 3 s".into()
            ]
        ])
    );
    assert!(turn.is_running() && turn.streaming().is_none());
    assert_eq!(
        step(&mut turn, Input::RetryDue { turn: 1 }),
        lines(&[&single_line("emit agent_start"), &request_sent(2)]),
        "the try doesn't count as a turn"
    );
    assert!(step(&mut turn, Input::RetryDue { turn: 2 }).is_empty(), "a late alarm is nothing");
    step(&mut turn, failure(2, retry()));
    step(&mut turn, Input::RetryDue { turn: 2 });
    assert_eq!(turn.retries(), 2);
    assert_eq!(
        step(&mut turn, text_answer(3, StopReason::Stop)),
        lines(&[
            &answer("Stop"),
            &["emit auto_retry_end true 2 None".into(), "emit turn_end 0".into()],
            &settled("Completed", 1)
        ])
    );
    assert_eq!(turn.retries(), 0);
}

#[test]
fn retry_last_one_fails_the_run() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    step(&mut turn, failure(1, retry()));
    step(&mut turn, Input::RetryDue { turn: 1 });
    assert_eq!(
        step(&mut turn, failure(2, AfterFailure::GiveUp)),
        lines(&[
            &answer("Error"),
            &["emit auto_retry_end false 1 Some(\"busy\")".into(), "emit turn_end 0".into()],
            &settled("Failed", 1)
        ])
    );
}

#[test]
fn retry_wait_can_be_cancelled_aborted_or_steered() {
    let waiting = || {
        let mut turn = machine(TurnOptions::default());
        step(&mut turn, prompt("go"));
        step(&mut turn, failure(1, retry()));
        turn
    };
    let retry_end = |reason: &str| format!("emit auto_retry_end false 1 Some({reason:?})");
    assert_eq!(
        step(&mut waiting(), Input::CancelRetry),
        lines(&[
            &["stop stream".into(), retry_end("the retry was canceled")],
            &settled_after_pause("Failed")
        ])
    );
    assert_eq!(
        step(&mut waiting(), abort(None)),
        lines(&[&["stop stream".into(), retry_end("stopped by the user")], &settled_after_pause("Aborted")])
    );
    let mut turn = waiting();
    step(&mut turn, prompt("wait"));
    assert_eq!(
        step(&mut turn, Input::RetryDue { turn: 1 }),
        lines(&[
            &single_line("emit agent_start"),
            &user("wait", " after 0 skipped 0"),
            &single_line("emit queue_update []"),
            &request_sent(2)
        ])
    );
    let mut turn = waiting();
    assert_eq!(
        step(&mut turn, steer_now("hurry")),
        lines(&[
            &[
                "append queue add hurry".into(),
                "emit queue_update [hurry]".into(),
                "stop stream".into(),
                retry_end("the user steered"),
                "emit agent_start".into()
            ],
            &user("hurry", " after 0 skipped 0"),
            &single_line("emit queue_update []"),
            &request_sent(2)
        ])
    );
    assert!(step(&mut machine(TurnOptions::default()), Input::CancelRetry).is_empty());
}

fn steer_now(text: &str) -> Input {
    let Input::Prompt(prompt) = prompt(text) else { unreachable!() };
    Input::SteerNow {
        prompt: Some(prompt),
        partial_output: partial_output(Some(AssistantMessage::default())),
    }
}

#[test]
fn steer_now_stops_the_stream_and_delivers_all_steering() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    step(&mut turn, prompt("a"));
    step(&mut turn, follow_up("later"));
    assert_eq!(
        step(&mut turn, steer_now("b")),
        lines(&[
            &["append queue add b".into(), "emit queue_update [a, later, b]".into(), "stop stream".into()],
            &answer("Aborted"),
            &single_line("emit turn_end 0"),
            &user("a", " after 0 skipped 0"),
            &user("b", " after 0 skipped 0"),
            &single_line("emit queue_update [later]"),
            &request_sent(2),
        ])
    );
}

#[test]
fn steer_now_stops_the_running_call_and_skips_the_rest() {
    let mut turn =
        machine(TurnOptions { steering_point: SteeringPoint::AfterAnswer, ..TurnOptions::default() });
    step(&mut turn, prompt("go"));
    step_calls(&mut turn, calls(1, &["w1", "w2", "w3"]));
    step(&mut turn, tool_ended(1, "w1"));
    step(&mut turn, prompt("now"));
    assert_eq!(
        step(&mut turn, Input::SteerNow { prompt: None, partial_output: PartialOutput::default() }),
        lines(&[
            &single_line("stop tools"),
            &result_lines("w2", "aborted: the user steered; it may have had effects"),
            &skipped_call_lines("w3", "skipped: the user steered"),
            &single_line("emit turn_end 3"),
            &user("now", " after 2 skipped 1"),
            &single_line("emit queue_update []"),
            &request_sent(2),
        ])
    );
    assert!(
        step(&mut turn, Input::SteerNow { prompt: None, partial_output: PartialOutput::default() })
            .is_empty(),
        "nothing steers"
    );
}

#[test]
fn steer_now_starts_a_run_when_idle() {
    let mut turn = machine(TurnOptions::default());
    assert_eq!(step(&mut turn, steer_now("go")), lines(&[&run_started(), &user("go", ""), &request_sent(1)]));
}

#[test]
fn plan_is_awaited_and_abort_before_it_gives_results() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    let [end_answer, planned] = calls(1, &["w1", "w2"]);
    assert_eq!(step(&mut turn, end_answer), lines(&[&answer("ToolUse"), &single_line("plan 1: w1 w2")]));
    assert_eq!(turn.planning(), Some(1));
    assert_eq!(
        step(&mut turn, abort(None)),
        lines(&[
            &single_line("stop tools"),
            &skipped_call_lines("w1", "not run: the user stopped the agent"),
            &skipped_call_lines("w2", "not run: the user stopped the agent"),
            &single_line("emit turn_end 2"),
            &settled("Aborted", 4)
        ])
    );
    assert!(step(&mut turn, planned).is_empty(), "a late plan is dropped");
}

fn compaction(summary: &str) -> Compaction {
    Compaction {
        summary: summary.into(),
        first_kept_entry_id: "kept".into(),
        tokens_before: Tokens(9),
        details: None,
        usage: None,
        made_by: None,
    }
}

fn compacted(reason: CompactionReason) -> Input {
    Input::Compacted { reason, compaction: compaction("short") }
}

fn shrunk(retry: bool) -> Vec<String> {
    vec![
        "append compaction short".into(),
        format!("emit compaction_end Some(\"short\") aborted false retry {retry} None"),
    ]
}

#[test]
fn overflow_request_is_retried_after_compaction() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    assert_eq!(
        step(&mut turn, failure(1, AfterFailure::Compact)),
        lines(&[
            &answer("Error"),
            &["emit turn_end 0".into(), "emit agent_end to retry 2".into(), "sync".into(), "compact".into()]
        ])
    );
    assert!(turn.is_compacting() && turn.has_compacted());
    step(&mut turn, prompt("wait"));
    assert!(
        step(&mut turn, Input::SteerNow { prompt: None, partial_output: PartialOutput::default() })
            .is_empty(),
        "it can't be hurried"
    );
    assert_eq!(
        step(&mut turn, compacted(CompactionReason::Overflow)),
        lines(&[
            &shrunk(true),
            &single_line("emit agent_start"),
            &user("wait", " after 0 skipped 0"),
            &single_line("emit queue_update []"),
            &request_sent(2)
        ])
    );
    assert!(turn.has_compacted(), "once is enough for one request");
    step(&mut turn, text_answer(2, StopReason::Stop));
    assert!(!turn.has_compacted());
}

#[test]
fn overflow_compaction_made_during_the_request_suffices() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    assert!(step(&mut turn, compacted(CompactionReason::Threshold)).is_empty());
    assert_eq!(
        step(&mut turn, failure(1, AfterFailure::Compact)),
        lines(&[
            &answer("Error"),
            &single_line("emit turn_end 0"),
            &shrunk(false),
            &["emit agent_end to retry 2".into(), "emit agent_start".into()],
            &request_sent(2)
        ])
    );
    assert!(turn.has_compacted());
}

#[test]
fn overflow_earlier_compaction_ends_the_wait() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    step(&mut turn, failure(1, AfterFailure::Compact));
    assert_eq!(
        step(&mut turn, compacted(CompactionReason::Threshold)),
        lines(&[&shrunk(true), &single_line("emit agent_start"), &request_sent(2)])
    );
}

#[test]
fn overflow_without_compaction_ends_the_run() {
    let too_long = || {
        let mut turn = machine(TurnOptions::default());
        step(&mut turn, prompt("go"));
        step(&mut turn, failure(1, AfterFailure::Compact));
        turn
    };
    let failure = NoCompactionReason::Failed("no".into());
    let reason = CompactionReason::Overflow;
    assert_eq!(
        step(&mut too_long(), Input::NotCompacted { reason, cause: failure }),
        lines(&[
            &single_line("emit compaction_end None aborted false retry false Some(\"no\")"),
            &settled_after_pause("Failed")
        ])
    );
    assert_eq!(
        step(&mut too_long(), abort(None)),
        lines(&[
            &["stop compaction".into(), "emit compaction_end None aborted true retry false None".into()],
            &settled_after_pause("Aborted")
        ])
    );
}

#[test]
fn compaction_is_appended_between_turns_or_at_once_when_idle() {
    let mut turn = machine(TurnOptions::default());
    assert_eq!(step(&mut turn, compacted(CompactionReason::Manual)), shrunk(false));
    step(&mut turn, prompt("go"));
    step_calls(&mut turn, calls(1, &["w1"]));
    assert!(step(&mut turn, compacted(CompactionReason::Threshold)).is_empty());
    assert_eq!(
        step(&mut turn, tool_ended(1, "w1")),
        lines(&[
            &result_lines("w1", "ok"),
            &single_line("emit turn_end 1"),
            &shrunk(false),
            &request_sent(2)
        ])
    );
}

#[test]
fn released_message_starts_a_run_when_idle_or_waits_its_turn() {
    let mut queue = Queue::default();
    queue.add(waiting_item("q1", "one"), UnixMs(5));
    queue.add(waiting_item("q2", "two"), UnixMs(5));
    queue.hold_all();
    let mut turn = Turn::new(TurnOptions::default(), queue);
    let release = |id: &str| Input::Release { id: id.into() };
    assert_eq!(
        step(&mut turn, release("q1")),
        lines(&[
            &run_started(),
            &user("one", ""),
            &request_sent(1),
            &single_line("emit queue_update [two (held)]")
        ])
    );
    assert_eq!(step(&mut turn, release("q2")), ["emit queue_update [two]"]);
    let effects = step(&mut turn, text_answer(1, StopReason::Stop));
    assert!(effects.contains(&"append user two".to_owned()), "{effects:?}");
}

#[test]
fn follow_up_promoted_to_steering_denies_the_pending_call() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    step_calls(&mut turn, calls(1, &["?1"]));
    step(&mut turn, follow_up("later"));
    let edit = QueueEdit { kind: Some(QueueKind::Steer), ..QueueEdit::default() };
    let effects = step(&mut turn, Input::EditQueued { id: "q-later".into(), edit });
    assert_eq!(effects[0], "append queue edit q-later Steer later None");
    assert!(effects.contains(&"append user later after 0 skipped 1".to_owned()), "{effects:?}");
}

#[test]
fn close_holds_the_queue_and_abort_returns_no_held_messages() {
    let mut queue = Queue::default();
    queue.add(waiting_item("q1", "old"), UnixMs(5));
    queue.hold_all();
    let running = || {
        let mut turn = Turn::new(TurnOptions::default(), queue.clone());
        step(&mut turn, prompt("go"));
        step(&mut turn, follow_up("new"));
        turn
    };
    let appended = |effects: Vec<String>| -> Vec<String> {
        effects.into_iter().filter(|line| line.starts_with("append queue")).collect()
    };
    let mut turn = running();
    let hold = Input::Abort {
        partial_output: PartialOutput::default(),
        queue: QueueHandling::Hold,
        cause: AbortCause::User,
    };
    assert!(appended(step(&mut turn, hold)).is_empty());
    assert_eq!(turn.queue().items().iter().filter(|item| item.held).count(), 2);
    let mut turn = running();
    assert_eq!(appended(step(&mut turn, abort(None))), ["append queue remove q-new"]);
    assert_eq!(turn.queue().items().len(), 1);
}

#[test]
fn bash_record_is_written_at_once_while_a_run_pauses() {
    let record = BashExecutionMessage { command: "ls".into(), ..BashExecutionMessage::default() };
    for action in [retry(), AfterFailure::Compact] {
        let mut turn = machine(TurnOptions::default());
        step(&mut turn, prompt("go"));
        step(&mut turn, failure(1, action));
        assert_eq!(step(&mut turn, Input::BashEnded(record.clone())), ["append bash ls"]);
    }
}

#[test]
fn retries_that_end_in_an_overflow_have_an_end_event() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    step(&mut turn, failure(1, retry()));
    step(&mut turn, Input::RetryDue { turn: 1 });
    step(&mut turn, failure(2, AfterFailure::Compact));
    let failure = NoCompactionReason::Failed("no".into());
    let effects = step(&mut turn, Input::NotCompacted { reason: CompactionReason::Overflow, cause: failure });
    assert!(effects.contains(&"emit auto_retry_end false 1 Some(\"no\")".to_owned()), "{effects:?}");
}

#[test]
fn compactions_for_the_same_gap_both_have_an_end_event() {
    let mut turn = machine(TurnOptions::default());
    step(&mut turn, prompt("go"));
    step(&mut turn, compacted(CompactionReason::Threshold));
    let effects = step(&mut turn, compacted(CompactionReason::Manual));
    assert_eq!(
        effects,
        ["emit compaction_end None aborted false retry false Some(\"another compaction came first\")"]
    );
}
