//! Requests that would exceed a budget wait for the user's consent.

use tiller_core::elicitation::{ElicitationAnswer, ElicitationRequest};
use tiller_core::message::Usage;
use tiller_core::unit::Usd;
use tiller_provider::catalog::{self, Price};

use super::*;

/// Returns an answer that costs a dollar.
fn dear(text: &str) -> ScriptedAnswer {
    let usage = Usage { output: Tokens(1_000_000), ..Usage::default() };
    ScriptedAnswer { text: text.into(), usage, ..ScriptedAnswer::default() }
}

/// Creates a session whose model costs a dollar per million tokens.
fn harness(dir: TempDir, answers: Vec<ScriptedAnswer>, budget: BudgetOptions) -> Harness {
    let root = dir.path().canonicalize().unwrap();
    let manager = SessionManager::new(Placement::Flat(root.join("logs")), root);
    Harness::configured(dir, (manager, None), Access::Reads, answers, |parts| {
        let dollar = Usd(1.0);
        let price = Price { input: dollar, output: dollar, cache_read: dollar, cache_write: dollar };
        let mut facts = (*parts.first.model.facts).clone();
        facts.price = Some(price);
        parts.first.model.facts = Arc::new(facts);
        parts.options.budget = budget;
    })
}

async fn run(harness: &mut Harness, text: &str) -> RunOutcome {
    harness.prompt(text).await;
    harness.settled().await
}

async fn asked(harness: &mut Harness) -> ElicitationRequest {
    let request = |event: &EventKind| match event {
        EventKind::ElicitationRequested(request) => Some(request.clone()),
        _ => None,
    };
    harness.wait_for_event(request).await
}

fn accept() -> ElicitationAnswer {
    ElicitationAnswer::Accept(serde_json::Map::new())
}

#[tokio::test]
async fn budget_of_a_session_warns_then_asks() {
    let answers = ["1", "2", "3", "4"].map(dear).to_vec();
    let budget = BudgetOptions { session: Some(Usd(2.0)), day: None };
    let mut harness = harness(TempDir::new().unwrap(), answers, budget);
    for prompt in ["a", "b"] {
        assert_eq!(run(&mut harness, prompt).await, RunOutcome::Completed);
    }
    harness.prompt("c").await;
    let request = asked(&mut harness).await;
    assert_eq!(request.server, None);
    assert_eq!(
        request.message,
        "This session has cost $2.00; budget.session_usd is $2.00.\nAccept to allow another $2.00. Decline to end the \
         run."
    );
    assert_eq!(harness.requests().len(), 2, "the third request waits");
    harness.agent.answer_elicitation(request.elicitation_id, accept()).await.unwrap();
    assert_eq!(harness.settled().await, RunOutcome::Completed);
    assert_eq!(run(&mut harness, "d").await, RunOutcome::Completed, "the consent is for two dollars");

    harness.prompt("e").await;
    let request = asked(&mut harness).await;
    harness.agent.answer_elicitation(request.elicitation_id, ElicitationAnswer::Decline).await.unwrap();
    assert_eq!(harness.settled().await, RunOutcome::Failed);
    assert_eq!(harness.requests().len(), 4);
    let budgets = harness.agent.stats().await.unwrap().budgets;
    assert_eq!((budgets[0].spent, budgets[0].allowed), (Usd(4.0), Usd(4.0)));
}

#[tokio::test]
async fn budget_question_ends_with_the_run() {
    let budget = BudgetOptions { session: Some(Usd(1.0)), day: None };
    let mut harness = harness(TempDir::new().unwrap(), vec![dear("1"), dear("2")], budget);
    run(&mut harness, "a").await;
    harness.prompt("b").await;
    asked(&mut harness).await;
    harness.agent.abort().await.unwrap();
    assert_eq!(harness.settled().await, RunOutcome::Aborted);
    assert!(harness.agent.snapshot().await.unwrap().in_progress.elicitations.is_empty());
    harness.prompt("c").await;
    let request = asked(&mut harness).await;
    harness.agent.answer_elicitation(request.elicitation_id, accept()).await.unwrap();
    assert_eq!(harness.settled().await, RunOutcome::Completed);
}

#[tokio::test]
async fn budget_of_a_day_counts_other_sessions() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().to_owned();
    let mut first = harness(dir, vec![dear("1")], BudgetOptions::default());
    run(&mut first, "a").await;

    let root = path.canonicalize().unwrap();
    let second_dir = TempDir::new().unwrap();
    let manager = SessionManager::new(Placement::Flat(root.join("logs")), root);
    let mut second =
        Harness::configured(second_dir, (manager, None), Access::Reads, vec![dear("2")], |parts| {
            parts.options.approver = Approver::Absent;
            parts.options.budget = BudgetOptions { session: None, day: Some(Usd(0.5)) };
        });
    assert_eq!(run(&mut second, "b").await, RunOutcome::Failed, "nobody can consent");
    assert_eq!(second.requests().len(), 0);
    let message = |message: &Arc<Message>| match &**message {
        Message::Assistant(answer) => answer.error_message.clone(),
        _ => None,
    };
    let messages = second.agent.messages().await.unwrap();
    let error = messages.iter().find_map(message).unwrap();
    assert!(error.contains("today's sessions have cost $1.00; budget.day_usd is $0.50"), "{error}");
}

#[tokio::test]
async fn budget_model_without_price_is_warned_about_once() {
    let dir = TempDir::new().unwrap();
    let root = dir.path().canonicalize().unwrap();
    let manager = SessionManager::new(Placement::Flat(root.join("logs")), root);
    let answers = vec![text_answer("one"), text_answer("two")];
    let harness = Harness::configured(dir, (manager, None), Access::Reads, answers, |parts| {
        parts.options.budget = BudgetOptions { session: Some(Usd(1.0)), day: None };
        parts.first.model.facts = Arc::new(catalog::assumed("openrouter", "some/model"));
    });
    let mut events = harness.agent.subscribe();
    let (mut warnings, mut settled) = (Vec::new(), 0);
    harness.prompt("first").await;
    while settled < 2 {
        match events.next().await.unwrap().unwrap().kind.clone() {
            EventKind::Warning { message, .. } => warnings.push(message),
            EventKind::AgentSettled => {
                settled += 1;
                harness.prompt("second").await;
            }
            _ => {}
        }
    }
    let expected = "the price of openrouter/some/model is unknown, so its requests don't count toward budgets; `tiller \
                    models refresh` fetches prices, and `cost` in models.json sets them";
    assert_eq!(warnings, [expected]);
}
