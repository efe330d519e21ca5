//! Compaction and branch summaries through the handle.

use tiller_core::event::{CompactionChoice, CompactionReason, CompactionResult};
use tiller_core::message::{AssistantBlock, AssistantMessage, Usage, UserMessage};
use tiller_core::setting::{CompactionStrategy, Switch};
use tiller_engine::compaction::CompactionError;
use tiller_engine::{LengthCheck, SummaryInProgress, SummarySubject};
use tiller_session::EntryBody;
use tiller_session::entry::Compaction;
use tiller_tools::tool::ToolEnvironment;
use tiller_tools::workspace::Workspace;

use super::*;

/// Returns a prompt of about 1,200 tokens; a summary quotes 500 of them.
fn long_prompt(word: &str) -> String {
    format!("{word} {}", "lorem ipsum ".repeat(400))
}

/// Returns the answer to every summary request; it costs 300 tokens.
fn summary(text: &str) -> ScriptedAnswer {
    serde_json::from_value(
        json!({"when": "<conversation>", "text": text, "usage": {"input": 280, "output": 20}}),
    )
    .unwrap()
}

/// Returns an answer that nearly fills the window of 200,000 tokens.
fn filling_answer(text: &str) -> ScriptedAnswer {
    serde_json::from_value(json!({"text": text, "usage": {"totalTokens": 190_000}})).unwrap()
}

fn failing_summary(failure: &str, times: u32) -> ScriptedAnswer {
    let error = json!({"failure": failure, "message": "no luck", "times": times});
    serde_json::from_value(json!({"when": "<conversation>", "text": "At last.", "error": error})).unwrap()
}

/// Creates a harness that keeps so few messages that a second prompt displaces the first one.
fn configured(answers: Vec<ScriptedAnswer>, configure: impl FnOnce(&mut AgentOptions)) -> Harness {
    let dir = TempDir::new().unwrap();
    let logs = dir.path().join("logs");
    let manager = SessionManager::new(Placement::Flat(logs), dir.path().canonicalize().unwrap());
    Harness::configured(dir, (manager, None), Access::Reads, answers, |parts| {
        parts.options.compaction.keep = Some(Tokens(1_500));
        configure(&mut parts.options);
    })
}

fn harness(answers: Vec<ScriptedAnswer>) -> Harness {
    configured(answers, |_| {})
}

fn without_approver(answers: Vec<ScriptedAnswer>) -> Harness {
    configured(answers, |options| options.approver = Approver::Absent)
}

impl Harness {
    async fn prompt_long(&mut self, text: &str) -> RunOutcome {
        self.prompt(&long_prompt(text)).await;
        self.settled().await
    }

    async fn compaction_began(&mut self) -> CompactionReason {
        let is_start = |event: &EventKind| match event {
            EventKind::CompactionStart { reason } => Some(*reason),
            _ => None,
        };
        self.wait_for_event(is_start).await
    }

    /// Returns the result, or the aborted flag and the error.
    async fn compaction_ended(&mut self) -> Result<CompactionResult, (bool, Option<String>)> {
        let ended = |event: &EventKind| match event {
            EventKind::CompactionEnd { result, aborted, error_message, .. } => Some(match result {
                Some(result) => Ok((**result).clone()),
                None => Err((*aborted, error_message.clone())),
            }),
            _ => None,
        };
        self.wait_for_event(ended).await
    }

    async fn compaction_failed(&mut self) -> String {
        let failed = |event: &EventKind| match event {
            EventKind::CompactionFailed { error_message, choices, .. }
                if choices[..] == CompactionChoice::ALL =>
            {
                Some(error_message.clone())
            }
            _ => None,
        };
        self.wait_for_event(failed).await
    }

    fn bodies(&self) -> Vec<EntryBody> {
        let reader = self.agent.reader();
        let (entries, _) = reader.branch(&reader.leaf().unwrap()).unwrap();
        entries.into_iter().map(|entry| entry.body).collect()
    }

    fn compactions(&self) -> Vec<Compaction> {
        let compaction = |body| match body {
            EntryBody::Compaction(compaction) => Some(compaction),
            _ => None,
        };
        self.bodies().into_iter().filter_map(compaction).collect()
    }

    /// Returns the texts of the newest request's messages.
    fn last_request_texts(&self) -> Vec<String> {
        texts(self.requests().last().unwrap())
    }

    async fn context_tokens(&self) -> Tokens {
        self.agent.snapshot().await.unwrap().state.context.used
    }
}

fn texts(request: &Request) -> Vec<String> {
    let text = |message: &Arc<Message>| match &**message {
        Message::User(user) => user.content.joined_text(),
        Message::Assistant(answer) => answer.joined_text(),
        Message::ToolResult(result) => joined_text(&result.content),
        Message::BashExecution(bash) => bash.output.clone(),
        Message::System(system) => system.content.clone(),
    };
    request.messages.iter().map(text).collect()
}

#[tokio::test]
async fn compact_replaces_older_messages_and_counts_the_cost() {
    let mut harness = harness(vec![
        text_answer("one"),
        text_answer("two"),
        summary("## Goal\nTo see."),
        text_answer("three"),
    ]);
    harness.prompt_long("first").await;
    harness.prompt_long("second").await;
    let before = harness.context_tokens().await;
    let result = harness.agent.compact(Some("mind the lexer".into())).await.unwrap();
    assert_eq!(harness.compaction_began().await, CompactionReason::Manual);
    assert_eq!(harness.compaction_ended().await.unwrap(), result);
    assert!(result.summary.starts_with("<first-message>\nfirst lorem"));
    assert!(
        result.summary.ends_with(" more characters]\n</first-message>\n\n## Goal\nTo see."),
        "{result:?}"
    );
    assert_eq!(result.tokens_before, before);
    let request = harness.requests().pop().unwrap();
    assert!(request.tools.is_empty() && request.messages.len() == 1);
    let summary_prompt = &texts(&request)[0];
    assert!(summary_prompt.contains("[User] first lorem") && !summary_prompt.contains("second lorem"));
    assert!(summary_prompt.ends_with("mind the lexer"));
    let state = harness.agent.snapshot().await.unwrap().state;
    assert!(state.context.used < before, "{:?}", state.context);
    assert_eq!(state.usage.total(), Tokens(300));
    assert_eq!(harness.compactions()[0].usage.as_ref().unwrap().total(), Tokens(300));

    harness.prompt("third").await;
    harness.settled().await;
    let texts = harness.last_request_texts();
    assert!(texts[0].contains("## Goal\nTo see.") && texts[1].starts_with("second lorem"));
    assert_eq!(texts[2..], ["two", "third"]);
}

#[tokio::test]
async fn compact_updates_an_earlier_summary_and_keeps_first_message() {
    let mut harness =
        harness(vec![text_answer("one"), text_answer("two"), summary("It is known."), text_answer("three")]);
    harness.prompt_long("first").await;
    harness.prompt_long("second").await;
    harness.agent.compact(None).await.unwrap();
    // The request contains one answer fewer than the session.
    harness.prompt_long("third").await;
    let result = harness.agent.compact(None).await.unwrap();
    let summary_prompt = harness.last_request_texts().remove(0);
    assert!(summary_prompt.contains("<previous-summary>\nIt is known.\n</previous-summary>"));
    assert!(summary_prompt.contains("[User] second") && !summary_prompt.contains("first lorem"));
    assert!(result.summary.starts_with("<first-message>\nfirst lorem"));
}

#[tokio::test]
async fn compact_everything_kept_is_nothing_to_compact() {
    let mut harness = harness(vec![text_answer("one")]);
    harness.prompt("short").await;
    harness.settled().await;
    let error = harness.agent.compact(None).await.unwrap_err();
    let expected = "nothing to compact: the newest 1.5k tokens of messages are always kept (setting compaction.keep_tokens)";
    assert_eq!(error.to_string(), expected);
    assert_eq!(harness.requests().len(), 1);
}

#[tokio::test]
async fn truncate_short_conversation_loses_nothing() {
    let mut harness = configured(vec![text_answer("one")], |options| {
        options.compaction.strategy = CompactionStrategy::Truncate
    });
    harness.prompt_long("first").await;
    let error = harness.agent.compact(None).await.unwrap_err();
    assert!(matches!(error, AgentError::Compaction(CompactionError::Nothing { .. })), "{error}");
    assert_eq!(harness.compactions(), []);
}

#[tokio::test]
async fn compact_summary_that_is_too_long_changes_nothing_but_costs() {
    let mut harness = harness(vec![text_answer("one"), text_answer("two"), summary(&"much ".repeat(900))]);
    harness.prompt_long("first").await;
    harness.prompt_long("second").await;
    let error = harness.agent.compact(None).await.unwrap_err();
    assert!(matches!(error, AgentError::Compaction(CompactionError::NotSmaller { .. })), "{error}");
    assert!(harness.compactions().is_empty());
    assert_eq!(harness.agent.reader().usage().total(), Tokens(300));
}

#[tokio::test]
async fn compact_full_window_runs_in_background_between_two_turns() {
    let gate = ScriptedAnswer { usage: filling_answer("").usage, ..calls(&[json!({})]) };
    let mut harness =
        harness(vec![text_answer("one"), gate, calls(&[json!({})]), text_answer("done"), summary("Short.")]);
    harness.prompt_long("first").await;
    harness.model.summaries.forget_permits(Semaphore::MAX_PERMITS);
    harness.prompt(&long_prompt("second")).await;
    harness.permits.add_permits(1);
    // The next request is sent while the summary is in progress, and its call starts.
    assert_eq!(harness.compaction_began().await, CompactionReason::Threshold);
    harness.wait_for_event(|event| matches!(event, EventKind::ToolExecutionStart { .. }).then_some(())).await;
    let live = harness.agent.snapshot().await.unwrap().in_progress;
    assert!(matches!(
        live.summary,
        Some(SummaryInProgress { of: SummarySubject::Context(_), failed: None, .. })
    ));
    assert!(harness.compactions().is_empty());
    harness.model.summaries.add_permits(1);
    while harness.agent.snapshot().await.unwrap().in_progress.summary.is_some() {
        tokio::task::yield_now().await;
    }
    assert!(harness.compactions().is_empty(), "the turn is not over");
    // The smaller request contains fewer answers, so the script plays its third one again.
    harness.permits.add_permits(2);
    harness.compaction_ended().await.unwrap();
    harness.settled().await;
    let kinds: Vec<&str> = harness.bodies().iter().map(kind).collect();
    let ends = ["answer", "other", "result", "compaction", "answer", "other", "result", "answer"];
    assert!(kinds.ends_with(&ends), "{kinds:?}");
    let texts = harness.last_request_texts();
    assert!(texts[0].contains("Short.") && texts[1].starts_with("second lorem"));
}

fn kind(body: &EntryBody) -> &'static str {
    match body {
        EntryBody::Compaction(_) => "compaction",
        EntryBody::Message(said) => match &*said.message {
            Message::User(_) => "user",
            Message::Assistant(_) => "answer",
            Message::ToolResult(_) => "result",
            Message::BashExecution(_) | Message::System(_) => "other",
        },
        _ => "other",
    }
}

#[tokio::test]
async fn compact_without_approver_delays_settled_until_it_is_logged() {
    let mut harness = without_approver(vec![filling_answer("one"), text_answer("two"), summary("Short.")]);
    harness.prompt_long("first").await;
    assert!(harness.compactions().is_empty(), "nothing follows that it could be for");
    harness.model.summaries.forget_permits(Semaphore::MAX_PERMITS);
    harness.prompt(&long_prompt("second")).await;
    let end = |event: &EventKind| match event {
        EventKind::AgentEnd { .. } => Some("end"),
        EventKind::CompactionEnd { .. } => Some("compacted"),
        EventKind::AgentSettled => Some("settled"),
        _ => None,
    };
    assert_eq!(harness.wait_for_event(end).await, "end");
    harness.model.summaries.add_permits(1);
    assert_eq!(harness.wait_for_event(end).await, "compacted");
    assert_eq!(harness.wait_for_event(end).await, "settled");
    assert_eq!(harness.compactions().len(), 1);
}

fn overflowing() -> ScriptedAnswer {
    let error = json!({"failure": "overflow", "message": "prompt is too long", "times": 1});
    serde_json::from_value(json!({"text": "fits", "error": error})).unwrap()
}

#[tokio::test]
async fn overflow_request_is_retried_after_compaction() {
    let mut harness = harness(vec![text_answer("one"), overflowing(), summary("Short.")]);
    harness.prompt_long("first").await;
    harness.prompt(&long_prompt("second")).await;
    assert_eq!(harness.compaction_began().await, CompactionReason::Overflow);
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    let kinds: Vec<&str> = harness.bodies().iter().map(kind).filter(|kind| *kind != "other").collect();
    assert_eq!(kinds, ["user", "answer", "user", "answer", "compaction", "answer"]);
    let texts = harness.last_request_texts();
    assert!(texts.len() == 2 && texts[0].contains("Short.") && texts[1].starts_with("second"));
}

#[tokio::test]
async fn overflow_that_still_does_not_fit_is_an_error() {
    let unmatched = json!({"when": "second lorem", "error": {"failure": "overflow", "message": "too long"}});
    let answers = vec![text_answer("one"), serde_json::from_value(unmatched).unwrap(), summary("Short.")];
    let mut harness = harness(answers);
    harness.prompt_long("first").await;
    harness.prompt(&long_prompt("second")).await;
    harness.compaction_ended().await.unwrap();
    assert_eq!(harness.settled().await, RunOutcome::Failed);
    assert_eq!(harness.compactions().len(), 1);
}

#[tokio::test]
async fn compact_switched_off_does_not_happen_automatically() {
    let mut harness = harness(vec![filling_answer("one"), overflowing(), summary("Short.")]);
    harness.agent.set_auto_compaction(Switch::Off).await.unwrap();
    assert_eq!(harness.agent.state().await.unwrap().auto_compaction, Switch::Off);
    harness.prompt_long("first").await;
    assert_eq!(harness.prompt_long("second").await, RunOutcome::Failed);
    assert!(harness.message_lines().pop().unwrap().ends_with("Error"));
    assert!(harness.compactions().is_empty());
    harness.agent.compact(None).await.unwrap();
}

#[tokio::test]
async fn compact_failed_summary_request_is_retried() {
    let mut harness = harness(vec![text_answer("one"), text_answer("two"), failing_summary("transient", 2)]);
    harness.prompt_long("first").await;
    harness.prompt_long("second").await;
    let result = harness.agent.compact(None).await.unwrap();
    assert!(result.summary.ends_with("At last."));
    assert_eq!(harness.requests().len(), 2 + 3);
    let tries = |event: &EventKind| match event {
        EventKind::SummaryRetry { attempt, max_attempts: 5, error_message, .. } => {
            Some((*attempt, error_message.clone()))
        }
        _ => None,
    };
    for attempt in [1, 2] {
        assert_eq!(harness.wait_for_event(tries).await, (attempt, "scripted: no luck".to_owned()));
    }
}

#[tokio::test]
async fn overflow_that_can_not_be_compacted_names_the_next_step() {
    let mut harness = harness(vec![overflowing()]);
    harness.prompt("short").await;
    let (aborted, error) = harness.compaction_ended().await.unwrap_err();
    let expected = "the conversation is longer than the model's window and can't be shortened; \
                    use a model with a larger window, continue from an earlier point, or start a new session";
    assert_eq!((aborted, error.as_deref()), (false, Some(expected)));
    assert_eq!(harness.settled().await, RunOutcome::Failed);
}

#[tokio::test]
async fn compact_conversation_too_long_for_a_summary_is_halved() {
    let mut harness = harness(vec![
        text_answer("one"),
        text_answer("two"),
        text_answer("three"),
        failing_summary("overflow", 1),
    ]);
    harness.agent.set_auto_compaction(Switch::Off).await.unwrap();
    for word in ["first", "second", "third"] {
        harness.prompt(&format!("{word} {}", "x".repeat(200_000))).await;
        harness.settled().await;
    }
    harness.agent.compact(None).await.unwrap();
    let requests = harness.requests();
    let [first, second, _turn] =
        requests.last_chunk::<3>().unwrap().each_ref().map(|one| texts(one).remove(0));
    assert!(first.contains("[User] first") && !second.contains("[User] first"));
    assert!(second.contains("1 earlier message omitted for lack of space"));
}

#[tokio::test]
async fn compact_failed_summary_asks_the_user() {
    for choice in CompactionChoice::ALL {
        let mut harness = harness(vec![text_answer("one"), overflowing(), failing_summary("fatal", 1)]);
        harness.prompt_long("first").await;
        harness.prompt(&long_prompt("second")).await;
        assert_eq!(harness.compaction_failed().await, "scripted: no luck");
        let live = harness.agent.snapshot().await.unwrap().in_progress;
        assert_eq!(live.summary.unwrap().failed.as_deref(), Some("scripted: no luck"));
        harness.agent.resolve_compaction(choice).await.unwrap();
        let ended = harness.compaction_ended().await;
        let outcome = harness.settled().await;
        match choice {
            CompactionChoice::Retry => assert!(ended.unwrap().summary.ends_with("At last.")),
            CompactionChoice::Truncate => {
                let summary = ended.unwrap().summary;
                assert!(summary.contains("first lorem") && summary.contains("were omitted"), "{summary}");
            }
            CompactionChoice::GoOn => {
                let (aborted, error) = ended.unwrap_err();
                assert!(!aborted && error.unwrap().contains("window: scripted: no luck; use a model"));
            }
        }
        let expected =
            if choice == CompactionChoice::GoOn { RunOutcome::Failed } else { RunOutcome::Completed };
        assert_eq!(outcome, expected, "{choice:?}");
        assert!(matches!(harness.agent.resolve_compaction(choice).await, Err(AgentError::NotFound(_))));
    }
}

#[tokio::test]
async fn compact_failed_summary_without_approver_truncates() {
    let mut harness = without_approver(vec![text_answer("one"), overflowing(), failing_summary("fatal", 9)]);
    harness.prompt_long("first").await;
    harness.prompt(&long_prompt("second")).await;
    let warning = |event: &EventKind| match event {
        EventKind::Warning { message, .. } => Some(message.clone()),
        _ => None,
    };
    let expected =
        "the summary failed (scripted: no luck); the older part of the conversation is dropped instead";
    assert_eq!(harness.wait_for_event(warning).await, expected);
    assert!(harness.compaction_ended().await.unwrap().summary.contains("were omitted"));
    assert_eq!(harness.settled().await, RunOutcome::Completed);
}

#[tokio::test]
async fn truncate_sends_no_request_and_the_next_one_is_smaller() {
    let mut harness =
        configured(vec![text_answer("one"), text_answer("two"), text_answer("three")], |options| {
            options.compaction = CompactionOptions {
                strategy: CompactionStrategy::Truncate,
                max_messages: Some(4),
                ..CompactionOptions::default()
            };
        });
    harness.prompt_long("first").await;
    harness.prompt_long("second").await;
    assert!(harness.compactions().is_empty());
    harness.prompt_long("third").await;
    assert_eq!(harness.requests().len(), 3);
    let texts = harness.last_request_texts();
    assert_eq!(texts.len(), 4);
    assert!(texts[0].contains("<first-message>\nfirst lorem"));
    assert!(texts[1].starts_with("second") && texts[2] == "two" && texts[3].starts_with("third"));
}

#[tokio::test]
async fn compact_summary_of_a_branch_left_is_dropped_but_costs() {
    let mut harness = harness(vec![text_answer("one"), filling_answer("two"), summary("Short.")]);
    harness.model.summaries.forget_permits(Semaphore::MAX_PERMITS);
    harness.prompt_long("first").await;
    let reader = harness.agent.reader();
    let first = reader.leaf().unwrap();
    harness.prompt(&long_prompt("second")).await;
    assert_eq!(harness.compaction_began().await, CompactionReason::Threshold);
    while harness.agent.navigate(first.clone(), BranchSummary::None).await.is_err() {
        tokio::task::yield_now().await;
    }
    harness.model.summaries.add_permits(1);
    let (aborted, error) = harness.compaction_ended().await.unwrap_err();
    assert!(!aborted && error.unwrap().contains("was discarded"));
    assert!(harness.compactions().is_empty());
    let spent = harness.bodies().pop().unwrap();
    assert!(matches!(spent, EntryBody::Usage { ref kind, .. } if kind == "compaction"), "{spent:?}");
}

#[tokio::test]
async fn abort_stops_a_compaction_and_its_caller_gets_an_error() {
    let hanging_summary = ScriptedAnswer { hang: true, ..summary("Sho") };
    let mut harness = harness(vec![text_answer("one"), text_answer("two"), hanging_summary]);
    harness.prompt_long("first").await;
    harness.prompt_long("second").await;
    let agent = harness.agent.clone();
    let compacting = tokio::spawn(async move { agent.compact(None).await });
    harness.compaction_began().await;
    assert!(matches!(harness.agent.compact(None).await, Err(AgentError::Summarizing)));
    harness.agent.abort().await.unwrap();
    assert_eq!(harness.compaction_ended().await, Err((true, None)));
    let result = compacting.await.unwrap();
    assert!(matches!(result, Err(AgentError::Compaction(CompactionError::Stopped))), "{result:?}");
    assert!(matches!(harness.agent.abort_compaction().await, Err(AgentError::NotFound(_))));
}

#[tokio::test]
async fn abort_stops_a_run_and_the_compaction_it_waits_for() {
    for stops_all in [true, false] {
        let hanging_summary = ScriptedAnswer { hang: true, ..summary("Sho") };
        let mut harness = harness(vec![text_answer("one"), overflowing(), hanging_summary]);
        harness.prompt_long("first").await;
        harness.prompt(&long_prompt("second")).await;
        harness.compaction_began().await;
        if stops_all {
            harness.agent.abort().await.unwrap();
        } else {
            harness.agent.abort_compaction().await.unwrap();
        }
        assert_eq!(harness.compaction_ended().await, Err((true, None)));
        assert_eq!(harness.settled().await, RunOutcome::Aborted);
        assert!(harness.agent.snapshot().await.unwrap().in_progress.summary.is_none());
    }
}

/// Returns the error of a server whose window is far smaller than the known 200,000 tokens.
fn too_long(message: &str) -> ScriptedAnswer {
    let error = json!({"failure": "overflow", "message": message, "times": 1});
    serde_json::from_value(json!({"text": "fits", "error": error})).unwrap()
}

#[tokio::test]
async fn overflow_is_compacted_whatever_window_was_known() {
    let answers =
        vec![text_answer("one"), text_answer("two"), too_long("prompt is too long"), summary("Short.")];
    let mut harness = configured(answers, |options| options.compaction.keep = None);
    harness.prompt_long("first").await;
    harness.prompt_long("second").await;
    assert_eq!(harness.prompt_long("third").await, RunOutcome::Completed);
    assert_eq!(harness.compactions().len(), 1);
    assert!(
        harness.last_request_texts().iter().all(|text| !text.starts_with("second")),
        "{:?}",
        harness.last_request_texts()
    );
}

#[tokio::test]
async fn overflow_window_named_by_the_server_is_used() {
    let words = "request (5000 tokens) exceeds the available context size (4096 tokens)";
    let answers = vec![text_answer("one"), text_answer("two"), too_long(words), summary("Short.")];
    let mut harness = configured(answers, |options| options.compaction.keep = None);
    harness.prompt_long("first").await;
    harness.prompt_long("second").await;
    harness.prompt(&long_prompt("third")).await;
    let warned = |event: &EventKind| match event {
        EventKind::Warning { message, .. } => Some(message.clone()),
        _ => None,
    };
    let expected = "the server of scripted/(in memory) reports a context window of 4.1k tokens instead of 200k; using the reported value";
    assert_eq!(harness.wait_for_event(warned).await, expected);
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    let state = harness.agent.state().await.unwrap().state;
    assert_eq!(state.context.window, Tokens(4_096));
    assert_eq!(harness.compactions().len(), 1);
}

#[tokio::test]
async fn compact_cost_belongs_to_the_model_that_made_the_summary() {
    let mut harness = configured(vec![text_answer("one"), text_answer("two"), summary("Short.")], |_| {});
    harness.prompt_long("first").await;
    harness.prompt_long("second").await;
    harness.agent.compact(None).await.unwrap();
    let log = std::fs::read_to_string(harness.agent.reader().path().unwrap()).unwrap();
    let line: Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    assert_eq!(line["type"], "compaction");
    assert_eq!((&line["provider"], &line["model"]), (&json!("scripted"), &json!("(in memory)")));
    let made_by = harness.compactions()[0].made_by.clone().unwrap();
    assert_eq!((made_by.provider.as_str(), made_by.model.as_str()), ("scripted", "(in memory)"));
}

fn branch_ended(event: &EventKind) -> Option<(bool, Option<String>)> {
    match event {
        EventKind::BranchSummaryEnd { aborted, error_message } => Some((*aborted, error_message.clone())),
        _ => None,
    }
}

#[tokio::test]
async fn branch_summary_is_made_by_the_model_on_leaving() {
    let mut harness = harness(vec![
        text_answer("one"),
        text_answer("two"),
        summary("It led nowhere."),
        text_answer("three"),
    ]);
    harness.prompt("first").await;
    harness.settled().await;
    let first = harness.agent.reader().leaf().unwrap();
    harness.prompt("second").await;
    harness.settled().await;
    let left_leaf = harness.agent.reader().leaf().unwrap();
    let summary_choice = BranchSummary::Made { instructions: Some("only the errors".into()) };
    harness.agent.navigate(first, summary_choice).await.unwrap();
    assert_eq!(harness.wait_for_event(branch_ended).await, (false, None));
    let summary_prompt = harness.last_request_texts().remove(0);
    assert!(summary_prompt.contains("[User] second") && !summary_prompt.contains("[User] first"));
    assert!(summary_prompt.ends_with("only the errors"));
    let EntryBody::BranchSummary { from_id, summary, usage, details, made_by } =
        harness.bodies().pop().unwrap()
    else {
        panic!("no summary")
    };
    assert_eq!(made_by.unwrap().provider, "scripted");
    assert_eq!((from_id.as_str(), summary.as_str()), (left_leaf.as_str(), "It led nowhere."));
    assert_eq!(usage.unwrap().total(), Tokens(300));
    assert_eq!(details.unwrap()["modifiedFiles"], json!([]));
    harness.prompt("third").await;
    harness.settled().await;
    let texts = harness.last_request_texts();
    assert!(texts[..2] == ["first", "one"] && texts[2].contains("It led nowhere."));
}

#[tokio::test]
async fn branch_summary_of_a_compacted_branch_has_the_kept_part() {
    let mut harness = harness(vec![
        text_answer("one"),
        text_answer("two"),
        text_answer("three"),
        summary("Short."),
        text_answer("four"),
    ]);
    harness.prompt_long("first").await;
    harness.prompt_long("second").await;
    let leaf = harness.agent.reader().leaf().unwrap();
    harness.prompt("on the branch before").await;
    harness.settled().await;
    harness.agent.compact(None).await.unwrap();
    harness.prompt("on the branch after").await;
    harness.settled().await;
    harness.agent.navigate(leaf, BranchSummary::Made { instructions: None }).await.unwrap();
    let summary_prompt = harness.last_request_texts().remove(0);
    assert!(
        summary_prompt.contains("[User] on the branch before")
            && summary_prompt.contains("[User] on the branch after")
    );
    assert!(
        !summary_prompt.contains("Short.") && !summary_prompt.contains("second lorem"),
        "{summary_prompt}"
    );
}

#[tokio::test]
async fn branch_summary_can_be_aborted_and_nothing_moves() {
    let hanging_summary = ScriptedAnswer { hang: true, ..summary("It l") };
    let mut harness = harness(vec![text_answer("one"), text_answer("two"), hanging_summary]);
    harness.prompt("first").await;
    harness.settled().await;
    let first = harness.agent.reader().leaf().unwrap();
    harness.prompt("second").await;
    harness.settled().await;
    let leaf = harness.agent.reader().leaf();
    let agent = harness.agent.clone();
    let summary_choice = BranchSummary::Made { instructions: None };
    let navigating = tokio::spawn(async move { agent.navigate(first, summary_choice).await });
    harness.wait_for_event(|event| matches!(event, EventKind::BranchSummaryStart).then_some(())).await;
    let error = harness.agent.prompt("third", PromptOptions::default()).await;
    assert!(matches!(error, Err(AgentError::Summarizing)), "{error:?}");
    harness.agent.abort().await.unwrap();
    assert_eq!(harness.wait_for_event(branch_ended).await, (true, None));
    assert!(navigating.await.unwrap().is_err());
    assert_eq!(harness.agent.reader().leaf(), leaf);
}

#[tokio::test]
async fn branch_summary_is_not_made_of_an_empty_branch() {
    let mut harness = harness(vec![text_answer("one")]);
    harness.prompt("first").await;
    harness.settled().await;
    let leaf = harness.agent.reader().leaf().unwrap();
    harness.agent.navigate(leaf, BranchSummary::Made { instructions: None }).await.unwrap();
    assert_eq!(harness.requests().len(), 1);
}

/// Creates a session of some three million tokens, 1.5 times the maximum that is loaded, whose answers report
/// hardly any usage.
fn far_too_long_log(dir: &TempDir) -> PathBuf {
    let manager =
        SessionManager::new(Placement::Flat(dir.path().join("logs")), dir.path().canonicalize().unwrap());
    let mut writer = manager.create(UnixMs(1_700_000_000_000));
    for at in 0..420 {
        let prompt = UserMessage::text(format!("prompt {at} {}", "lorem ipsum ".repeat(2_500)), UnixMs(1));
        let usage = Usage { input: Tokens(10), ..Usage::default() };
        let content = vec![AssistantBlock::text(format!("answer {at}"))];
        let answer = AssistantMessage { content, usage, ..AssistantMessage::default() };
        for message in [Message::User(prompt), Message::Assistant(answer)] {
            writer.append(EntryBody::message(Arc::new(message)), UnixMs(1)).unwrap();
        }
    }
    writer.reader().path().unwrap().to_owned()
}

fn far_too_long_harness(answers: Vec<ScriptedAnswer>, configure: impl FnOnce(&mut AgentOptions)) -> Harness {
    let dir = TempDir::new().unwrap();
    let open = far_too_long_log(&dir);
    let logs = dir.path().join("logs");
    let manager = SessionManager::new(Placement::Flat(logs), dir.path().canonicalize().unwrap());
    Harness::configured(dir, (manager, Some(open)), Access::Reads, answers, |parts| {
        configure(&mut parts.options)
    })
}

#[tokio::test]
async fn session_far_beyond_the_window_is_compacted_before_it_is_sent() {
    let mut harness = far_too_long_harness(
        vec![summary("## Goal\nTo see."), text_answer("one"), text_answer("two")],
        |_| {},
    );
    let notice = harness.agent.notices().join("\n");
    assert!(
        notice.contains("the conversation has about 3.2M tokens, 15 times the context window of"),
        "{notice}"
    );
    assert!(harness.context_tokens().await > Tokens(3_000_000));
    harness.prompt("go on").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    let requests = harness.requests();
    let [summary_request, prompt_request] = &requests[..] else { panic!("{} requests", requests.len()) };
    let summary_prompt = texts(summary_request).concat();
    assert!(
        summary_prompt.starts_with("<conversation>\n[")
            && summary_prompt.contains(" earlier messages omitted for lack of space")
    );
    let texts = texts(prompt_request);
    assert!(texts[0].contains("<first-message>\nprompt 0 ") && texts[0].contains("To see."), "{}", texts[0]);
    assert_eq!(texts.last().map(String::as_str), Some("go on"));
    assert!(harness.context_tokens().await < Tokens(40_000));
}

#[tokio::test]
async fn session_far_beyond_the_window_is_truncated_on_request() {
    let mut harness =
        far_too_long_harness(vec![text_answer("one"), text_answer("two"), text_answer("three")], |_| {});
    let result = harness.agent.truncate().await.unwrap();
    assert!(result.tokens_before > Tokens(3_000_000));
    harness.prompt("go on").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(
        (harness.requests().len(), harness.last_request_texts().last().unwrap().as_str()),
        (1, "go on")
    );
}

#[tokio::test]
async fn session_far_beyond_the_window_is_not_sent_uncompacted() {
    let mut harness = far_too_long_harness(vec![text_answer("three")], |options| {
        options.compaction.strategy = CompactionStrategy::Off;
    });
    harness.prompt("go on").await;
    assert_eq!(harness.settled().await, RunOutcome::Failed);
    assert!(harness.requests().is_empty());
    let last = harness.message_lines().pop().unwrap();
    assert!(last.starts_with("answer  Error"), "{last}");
}

/// Returns a message of some 300,000 tokens, beyond the window of 200,000.
fn too_long_prompt() -> String {
    format!("beyond {}", "x".repeat(1_200_000))
}

#[tokio::test]
async fn prompt_longer_than_the_window_is_rejected_unsent() {
    let mut harness = harness(vec![text_answer("one")]);
    let error = harness.agent.prompt(too_long_prompt(), PromptOptions::default()).await.unwrap_err();
    assert!(matches!(error, AgentError::TooLong { tokens: Tokens(300_002), .. }), "{error}");
    let attached = PromptOptions { attached: too_long_prompt(), ..PromptOptions::default() };
    assert!(matches!(harness.agent.prompt("see", attached).await, Err(AgentError::TooLong { .. })));
    harness.prompt("short").await;
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!((harness.requests().len(), harness.last_request_texts()), (1, vec!["short".to_owned()]));
}

#[tokio::test]
async fn message_longer_than_the_window_is_not_compacted() {
    let mut harness = harness(vec![filling_answer("one"), overflowing(), summary("Short.")]);
    harness.agent.set_auto_compaction(Switch::Off).await.unwrap();
    harness.prompt_long("first").await;
    harness.agent.set_auto_compaction(Switch::On).await.unwrap();
    let options = PromptOptions { length_check: LengthCheck::Skip, ..PromptOptions::default() };
    harness.agent.prompt(too_long_prompt(), options).await.unwrap();
    let (_, error) = harness.compaction_ended().await.unwrap_err();
    let expected = "the conversation is longer than the model's window: the newest message has about 300k tokens, \
                    more than the model's context window (200k); ";
    assert!(error.as_ref().unwrap().starts_with(expected), "{error:?}");
    assert_eq!(harness.settled().await, RunOutcome::Failed);
    assert_eq!(harness.requests().len(), 2, "no summary was requested");
}

#[tokio::test]
async fn prompt_with_attachments_is_shown_as_typed() {
    let mut harness = harness(vec![text_answer("one")]);
    let options = PromptOptions { attached: "<file>…</file>".into(), ..PromptOptions::default() };
    harness.agent.prompt("see @a.rs", options).await.unwrap();
    harness.settled().await;
    assert_eq!(harness.last_request_texts(), ["see @a.rs\n\n<file>…</file>"]);
    let user = harness.bodies().into_iter().find_map(|body| {
        match body.as_message().map(|message| (**message).clone()) {
            Some(Message::User(user)) => Some(user),
            _ => None,
        }
    });
    assert_eq!(user.unwrap().as_typed(), "see @a.rs");
}

/// Creates a harness with the built-in tools, which keeps as few messages as [`harness`].
fn with_built_in_tools(dir: TempDir, open: Option<PathBuf>, answers: Vec<ScriptedAnswer>) -> Harness {
    let real = dir.path().canonicalize().unwrap();
    let manager = SessionManager::new(Placement::Flat(real.join("logs")), real.clone());
    Harness::configured(dir, (manager, open), Access::Reads, answers, |parts| {
        let (workspace, runner) = (Workspace::new(&real).unwrap(), parts.runner.clone());
        parts.tools = Tools::built_in(ToolEnvironment::new(workspace, runner, real.join("outputs")));
        parts.options.compaction.keep = Some(Tokens(1_500));
        parts.options.policy.root = real;
    })
}

#[tokio::test]
async fn resume_after_compaction_protects_files_read_before_it() {
    let call = |name: &str, arguments: Value| -> ScriptedAnswer {
        serde_json::from_value(json!({"calls": [{"name": name, "arguments": arguments}]})).unwrap()
    };
    let dir = TempDir::new().unwrap();
    let file = dir.path().join("a");
    std::fs::write(&file, "old\n").unwrap();
    let answers = vec![
        call("read_file", json!({"path": "a"})),
        text_answer("one"),
        text_answer("two"),
        summary("## Goal\nTo see."),
        text_answer("three"),
    ];
    let mut harness = with_built_in_tools(dir, None, answers);
    for prompt in ["first", "second"] {
        harness.prompt_long(prompt).await;
    }
    harness.agent.compact(None).await.unwrap();
    // The second compaction takes the file from the details of the first one.
    harness.prompt_long("third").await;
    harness.agent.compact(None).await.unwrap();
    let path = harness.agent.reader().path().unwrap().to_owned();
    harness.agent.close().await.unwrap();
    std::fs::write(&file, "changed by others\n").unwrap();
    let write = call("write_file", json!({"path": "a", "content": "new\n"}));
    // The context has one answer.
    let answers = vec![text_answer("three"), write, text_answer("four")];
    let mut resumed = with_built_in_tools(harness.dir, Some(path), answers);
    resumed.prompt("write").await;
    resumed.settled().await;
    let results = resumed.message_lines().join("\n");
    assert!(results.contains("result a has changed since you read or wrote it"), "{results}");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "changed by others\n");
}
