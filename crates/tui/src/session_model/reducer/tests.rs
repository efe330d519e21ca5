use std::sync::Arc;

use serde_json::json;
use tiller_core::elicitation::{ElicitationKind, ElicitationRequest};
use tiller_core::entry_line::EntryLine;
use tiller_core::event::{CompactionReason, Decision, Event, QueueItem, QueueKind, ToolOutcome};
use tiller_core::message::{AssistantMessage, ModelRef, ThinkingLevel};
use tiller_core::unit::Tokens;
use tiller_engine::{AgentCommand, CommandSource};
use tiller_session::EntryBody;

use super::*;
use crate::session_model::Welcome;

/// Applies events that occurred at 1,000 ms and arrive at 1,050 ms.
fn applied(mut model: SessionModel, kinds: Vec<EventKind>) -> SessionModel {
    for kind in kinds {
        let event = Event { kind, seq: model.info.seq + 1, time: UnixMs(1_000) };
        model.apply(&AgentEvent::parse(&event, UnixMs(1_050)));
    }
    model
}

/// Returns a model with this activity after `seq` events.
fn with_activity(seq: u64, activity: SessionActivity) -> SessionModel {
    SessionModel { info: SessionInfo { seq, ..SessionInfo::default() }, activity }
}

/// Compares whole models. Their events have no equality, so the debug texts are compared.
#[track_caller]
fn assert_model(model: &SessionModel, expected: &SessionModel) {
    assert_eq!(format!("{model:#?}"), format!("{expected:#?}"));
}

fn request(id: &str) -> ApprovalRequest {
    ApprovalRequest {
        tool_call_id: id.into(),
        tool_name: "bash".into(),
        args: json!({"command": "ls"}),
        reason: "runs a command".into(),
        rule: String::new(),
        proposed: None,
        agent: None,
        cwd: None,
        preview: None,
        later: 0,
    }
}

fn pending(id: &str, since: i64) -> PendingApproval {
    PendingApproval { request: request(id), since: UnixMs(since) }
}

fn run_ended(outcome: RunOutcome, will_retry: bool) -> EventKind {
    EventKind::AgentEnd { messages: Vec::new(), will_retry, outcome }
}

fn call_started(id: &str) -> EventKind {
    EventKind::ToolExecutionStart { tool_call_id: id.into(), tool_name: "bash".into(), args: json!(null) }
}

fn text(delta: &str) -> EventKind {
    let usage = Usage { output: Tokens(7), ..Usage::default() };
    let delta = AssistantDelta::TextDelta { content_index: 0, delta: delta.into() };
    EventKind::MessageUpdate { usage, assistant_message_event: delta }
}

#[test]
fn model_run_starts_and_settles() {
    let running = applied(SessionModel::default(), vec![EventKind::AgentStart, call_started("c1")]);
    let call = CallInProgress { id: "c1".into(), name: "bash".into(), since: UnixMs(1_000) };
    let activity = SessionActivity {
        running_since: Some(UnixMs(1_000)),
        calls: vec![call],
        ..SessionActivity::default()
    };
    assert_model(&running, &with_activity(2, activity));
    let ends = vec![run_ended(RunOutcome::Failed, false), EventKind::AgentSettled];
    let activity = SessionActivity { last_run_failed: true, ..SessionActivity::default() };
    assert_model(&applied(running, ends), &with_activity(4, activity));
}

#[test]
fn model_retried_run_has_not_failed() {
    let error = "overloaded".to_owned();
    let retry =
        EventKind::AutoRetryStart { attempt: 1, max_attempts: 3, delay_ms: 500, error_message: error };
    let model = applied(SessionModel::default(), vec![run_ended(RunOutcome::Failed, true), retry]);
    let announced =
        RetryAnnouncement { attempt: 1, max_attempts: 3, due: UnixMs(1_500), error: "overloaded".into() };
    let activity = SessionActivity { retry: Some(announced), ..SessionActivity::default() };
    assert_model(&model, &with_activity(2, activity));
    let ends = EventKind::AutoRetryEnd { success: true, attempt: 1, final_error: None };
    assert_model(&applied(model, vec![ends]), &with_activity(3, SessionActivity::default()));
}

#[test]
fn model_answer_is_counted_while_it_streams() {
    let model = applied(SessionModel::default(), vec![text("Hi "), text("there")]);
    let streaming = StreamingAnswer { counted_tokens: Tokens(7), bytes: 8 };
    let activity = SessionActivity { streaming, ..SessionActivity::default() };
    assert_model(&model, &with_activity(2, activity));
    let answer = Message::Assistant(AssistantMessage::default());
    let body = serde_json::to_string(&EntryBody::message(Arc::new(answer.clone()))).unwrap();
    let entry = EntryLine::new(&body);
    for ends in [
        EventKind::EntryAppended { entry_id: "e1".into(), entry },
        EventKind::MessageStart { message: Arc::new(answer) },
        EventKind::AgentSettled,
    ] {
        let ended = applied(model.clone(), vec![ends]);
        assert_model(&ended, &with_activity(3, SessionActivity::default()));
    }
}

#[test]
fn model_approval_ends_with_decision_or_call() {
    let asks = ["c1", "c2"].map(|id| EventKind::ApprovalRequested(request(id)));
    let model = applied(SessionModel::default(), asks.to_vec());
    let approvals = vec![pending("c1", 1_050), pending("c2", 1_050)];
    let activity = SessionActivity { approvals, ..SessionActivity::default() };
    assert_model(&model, &with_activity(2, activity));
    for ends in [
        EventKind::ApprovalResolved { tool_call_id: "c1".into(), decision: Decision::Once },
        EventKind::ToolExecutionEnd {
            tool_call_id: "c1".into(),
            tool_name: "bash".into(),
            result: ToolOutcome::default(),
            is_error: true,
        },
    ] {
        let activity =
            SessionActivity { approvals: vec![pending("c2", 1_050)], ..SessionActivity::default() };
        assert_model(&applied(model.clone(), vec![ends]), &with_activity(3, activity));
    }
}

#[test]
fn model_queue_is_replaced() {
    let item = |id: &str| QueueItem {
        id: id.into(),
        kind: QueueKind::Steer,
        text: "go on".into(),
        typed: None,
        images: [].into(),
        held: false,
    };
    let updates = vec![
        EventKind::queue_update(vec![item("q1"), item("q2")]),
        EventKind::queue_update(vec![item("q2")]),
    ];
    let activity = SessionActivity { queue: vec![item("q2")], ..SessionActivity::default() };
    assert_model(&applied(SessionModel::default(), updates), &with_activity(2, activity));
}

#[test]
fn model_summary_lasts_until_its_end() {
    let of = SummarySubject::Context(CompactionReason::Manual);
    let began = EventKind::CompactionStart { reason: CompactionReason::Manual };
    let error = "timeout".to_owned();
    let retry = EventKind::SummaryRetry { attempt: 2, max_attempts: 3, delay_ms: 10, error_message: error };
    let model = applied(SessionModel::default(), vec![retry.clone(), began, retry]);
    let announced =
        RetryAnnouncement { attempt: 2, max_attempts: 3, due: UnixMs(1_010), error: "timeout".into() };
    let summary = SummaryInProgress { of, since: UnixMs(1_000), retry: Some(announced), failed: None };
    let activity = SessionActivity { summary: Some(summary), ..SessionActivity::default() };
    assert_model(&model, &with_activity(3, activity));
    let ended = EventKind::BranchSummaryEnd { aborted: true, error_message: None };
    assert_model(&applied(model, vec![ended]), &with_activity(4, SessionActivity::default()));
}

#[test]
fn model_shell_command_counts_as_work() {
    let began = EventKind::BashExecutionStart {
        id: "s1".into(),
        command: "make".into(),
        exclude_from_context: false,
    };
    let model = applied(SessionModel::default(), vec![began]);
    let activity = SessionActivity { bash_since: Some(UnixMs(1_000)), ..SessionActivity::default() };
    assert_model(&model, &with_activity(1, activity));
    assert!(model.is_working());
}

#[test]
fn model_properties_follow_their_events() {
    let other = ModelRef { provider: "openai".into(), id: "gpt-5".into() };
    let changes = vec![
        EventKind::ModelChanged { model: other.clone() },
        EventKind::ThinkingLevelChanged { level: ThinkingLevel::High },
        EventKind::SessionInfoChanged { name: Some("fix".into()) },
        EventKind::Notice { message: "only shown".into() },
    ];
    let info = SessionInfo {
        seq: 4,
        model: Some(other),
        thinking: ThinkingLevel::High,
        name: Some("fix".into()),
        ..SessionInfo::default()
    };
    let expected = SessionModel { info, activity: SessionActivity::default() };
    assert_model(&applied(SessionModel::default(), changes), &expected);
}

#[test]
fn model_snapshot_keeps_jobs_and_known_requests() {
    let jobs = vec![(Job::Export, UnixMs(5))];
    let mut model = with_activity(
        9,
        SessionActivity {
            jobs: jobs.clone(),
            approvals: vec![pending("c1", 10), pending("c2", 20)],
            opening_since: Some(UnixMs(1)),
            last_run_failed: true,
            ..SessionActivity::default()
        },
    );
    let live = InFlight {
        running_since: Some(UnixMs(8)),
        approvals: vec![request("c2"), request("c3")],
        ..InFlight::default()
    };
    assert_eq!(model.restore(30, &live, UnixMs(1_050)), [CallId::from("c1")], "answered elsewhere");
    let activity = SessionActivity {
        jobs,
        running_since: Some(UnixMs(8)),
        approvals: vec![pending("c2", 20), pending("c3", 1_050)],
        ..SessionActivity::default()
    };
    assert_model(&model, &with_activity(30, activity));
}

#[test]
fn apply_result_with_a_plan_replaces_the_plan() {
    let end = |plan, is_error| EventKind::ToolExecutionEnd {
        tool_call_id: "c".into(),
        tool_name: "update_plan".into(),
        result: ToolOutcome { content: Vec::new(), details: Some(json!({ "plan": plan })) },
        is_error,
    };
    let steps = json!([{"step": "a", "status": "pending"}]);
    let model =
        applied(SessionModel::default(), vec![end(steps, false), end(json!([]), true), call_started("d")]);
    let shown = model.info.plan.map(|plan| plan.to_text());
    assert_eq!(shown.as_deref(), Some("- [ ] a\n"), "a failed call changes nothing");
}

#[test]
fn model_events_are_buffered_until_the_snapshot() {
    let event = |seq| Arc::new(Event { kind: EventKind::AgentStart, seq, time: UnixMs(1_000) });
    let mut model = SessionModel::default();
    assert!(model.receive(event(1)).is_some(), "applied at once");
    model.expect_snapshot();
    assert!(model.expects_snapshot());
    assert!(model.receive(event(2)).is_none());
    let missed: Vec<u64> = model.snapshot_arrived().iter().map(|event| event.seq).collect();
    assert_eq!(missed, [2]);
    assert!(!model.expects_snapshot() && model.receive(event(3)).is_some());
}

#[test]
fn model_opening_and_connection_are_set() {
    let mut model = SessionModel::default();
    model.opening(UnixMs(7));
    let opening = SessionActivity { opening_since: Some(UnixMs(7)), ..SessionActivity::default() };
    assert_model(&model, &with_activity(0, opening));
    model.opened();
    assert_model(&model, &SessionModel::default());
    model.set_connection(ConnectionState::Lost { attempt: 2 });
    assert!(model.info.connection.is_lost());
}

#[test]
fn model_results_change_the_state() {
    let welcome = || Welcome { files: vec!["AGENTS.md".into()], last: None };
    let command = || AgentCommand {
        name: "tidy".into(),
        description: "Tidies.".into(),
        argument_hint: None,
        source: CommandSource::Skill,
        location: None,
    };
    let info = |change: fn(&mut SessionInfo)| {
        let mut model = SessionModel::default();
        change(&mut model.info);
        model
    };
    let rows = [
        (TaskResult::Began(Job::Export), {
            let jobs = vec![(Job::Export, UnixMs(9))];
            with_activity(0, SessionActivity { jobs, ..SessionActivity::default() })
        }),
        (TaskResult::ForkId(Some("s1".into())), info(|info| info.fork_id = Some("s1".into()))),
        (TaskResult::Branch(Some("main".into())), info(|info| info.branch = Some("main".into()))),
        (TaskResult::Welcome(welcome()), {
            let info = SessionInfo { welcome: Some(welcome()), ..SessionInfo::default() };
            SessionModel { info, ..SessionModel::default() }
        }),
        (TaskResult::Commands(vec![command()]), {
            let info =
                SessionInfo { commands: vec![command()], listing_changes: 1, ..SessionInfo::default() };
            SessionModel { info, ..SessionModel::default() }
        }),
        (TaskResult::Resources(Vec::new()), info(|info| info.listing_changes = 1)),
    ];
    for (result, expected) in rows {
        let mut model = SessionModel::default();
        assert!(model.apply_result(result, UnixMs(9)).is_none());
        assert_model(&model, &expected);
    }
    let mut model = SessionModel::default();
    assert!(model.apply_result(TaskResult::CodeHighlighted, UnixMs(9)).is_some(), "not the model's");
    for result in [TaskResult::Began(Job::Copy), TaskResult::Ended(Job::Copy)] {
        assert!(model.apply_result(result, UnixMs(9)).is_none());
    }
    assert_model(&model, &SessionModel::default());
}

#[test]
fn model_answers_given_here_end_their_requests() {
    let question = ElicitationRequest {
        elicitation_id: "q1".into(),
        server: Some("deploy".into()),
        agent: None,
        message: "Where?".into(),
        kind: ElicitationKind::Form { fields: Vec::new() },
    };
    let activity = SessionActivity {
        approvals: vec![pending("c1", 1), pending("c2", 2)],
        elicitations: vec![question],
        ..SessionActivity::default()
    };
    let mut model = with_activity(0, activity);
    model.call_answered(&"c1".into());
    model.question_answered(&"q1".into());
    let left = SessionActivity { approvals: vec![pending("c2", 2)], ..SessionActivity::default() };
    assert_model(&model, &with_activity(0, left));
}

#[test]
fn model_snapshot_sets_streamed_bytes_and_tools() {
    let mut model = SessionModel::default();
    model.set_streamed_bytes(480);
    model.set_tools(ToolCatalog::default());
    let streaming = StreamingAnswer { bytes: 480, ..StreamingAnswer::default() };
    assert_model(&model, &with_activity(0, SessionActivity { streaming, ..SessionActivity::default() }));
}
