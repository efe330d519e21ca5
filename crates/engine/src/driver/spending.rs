//! The cost of the session and of the day, and requests that wait for the user's consent to exceed a budget.

use jiff::Zoned;
use tiller_core::elicitation::{ElicitationAnswer, ElicitationKind};
use tiller_core::unit::{UnixMs, Usd};
use tiller_provider::{FailureKind, ProviderError, ToolChoice};
use tiller_session::{SessionManager, SessionScope};
use tokio::sync::oneshot;

use super::Driver;
use super::job_event::JobEvent;
use super::spending_state::{DayCost, SpendingEvent};
use crate::agents::LoggedUse;
use crate::budget::{BudgetCheck, BudgetPeriod, BudgetStatus, ExceededBudget, Spending};
use crate::turn::{Effect, TurnNumber};

impl Driver {
    /// Rejects a request beyond an agent's limits, and delays one that exceeds a budget until the user
    /// consents. Returns true if the request isn't sent now.
    pub(super) fn wait_for_budget(&mut self, turn: TurnNumber, tool_choice: ToolChoice) -> bool {
        if let Some(reason) = self.services.options.limits.exceeded() {
            self.jobs.refuse(turn, self.unsent(&reason, None));
            return true;
        }
        if self.agents.needs_logs() {
            let reader = self.active.reader();
            self.jobs.open(async move {
                let event = SpendingEvent::LogsRead(LoggedUse::read_in_background(reader).await);
                JobEvent::Spending { turn, tool_choice, event }
            });
            return true;
        }
        if let Some(reason) = self.agents.all.exceeded_now() {
            let hint = "The settings agents.max_turns, agents.max_tokens, agents.max_cost_usd and agents.max_time_s \
                        set the limits.";
            self.jobs.refuse(turn, self.unsent(&reason, Some(hint.to_owned())));
            return true;
        }
        if self.spending.budgets.is_empty() {
            return false;
        }
        self.warn_of_unknown_price();
        if self.spending.budgets.has(BudgetPeriod::Day) && self.spending.day.is_none() {
            let manager = self.services.manager.clone();
            self.jobs.open(async move {
                let read = tokio::task::spawn_blocking(move || cost_of_today(&manager)).await;
                let cost = read.map_err(|error| error.to_string()).flatten();
                JobEvent::Spending { turn, tool_choice, event: SpendingEvent::DayRead(cost) }
            });
            return true;
        }
        match self.spending.budgets.check(self.spent()) {
            BudgetCheck::Within { warnings } => {
                warnings.into_iter().for_each(|warning| self.bus.warn(warning));
                false
            }
            BudgetCheck::Exceeded(exceeded) => {
                self.ask_for_consent(turn, tool_choice, exceeded);
                true
            }
        }
    }

    fn warn_of_unknown_price(&mut self) {
        let model = self.active.model.reference().to_string();
        if self.active.model.facts.has_unknown_cost() && self.spending.unpriced.insert(model.clone()) {
            self.bus.warn(format!(
                "the price of {model} is unknown, so its requests don't count toward budgets; `tiller models refresh` \
                 fetches prices, and `cost` in models.json sets them"
            ));
        }
    }

    pub(super) fn budgets(&self) -> Vec<BudgetStatus> {
        self.spending.budgets.status(self.spent())
    }

    fn spent(&self) -> Spending {
        let session = self.active.reader().usage().cost.total;
        let day = self.spending.day.map_or(session, |read| Usd(read.day.0 + session.0 - read.session.0));
        Spending { session, day }
    }

    fn ask_for_consent(&mut self, turn: TurnNumber, tool_choice: ToolChoice, exceeded: ExceededBudget) {
        let message = format!(
            "{}.\nAccept to allow another {}. Decline to end the run.",
            capitalized(&exceeded.fact),
            exceeded.step
        );
        let (reply, answered) = oneshot::channel();
        self.ask_user(None, message, ElicitationKind::Form { fields: Vec::new() }, reply);
        self.jobs.open(async move {
            // Without an approver there is no answer.
            let consents = matches!(answered.await, Ok(ElicitationAnswer::Accept(_)));
            JobEvent::Spending { turn, tool_choice, event: SpendingEvent::Answered { exceeded, consents } }
        });
    }

    /// Sends or fails a request that has waited.
    pub(super) fn spending_event(&mut self, turn: TurnNumber, tool_choice: ToolChoice, event: SpendingEvent) {
        if self.turn.streaming() != Some(turn) {
            return;
        }
        match event {
            SpendingEvent::LogsRead(logged) => self.agents.count_logs(&logged),
            SpendingEvent::DayRead(read) => self.day_read(read),
            SpendingEvent::Answered { consents: true, .. } => self.spending.budgets.allow_more(self.spent()),
            SpendingEvent::Answered { exceeded, consents: false } => {
                return self.jobs.refuse(turn, self.budget_error(&exceeded));
            }
        }
        self.enqueue(vec![Effect::Request { turn, tool_choice }]);
        self.perform();
    }

    fn day_read(&mut self, read: Result<Usd, String>) {
        let session = self.active.reader().usage().cost.total;
        // The catalog has no in-memory sessions.
        let unlogged = if self.active.reader().path().is_none() { session } else { Usd::default() };
        let day = read.unwrap_or_else(|error| {
            self.bus.warn(format!("the cost of today's other sessions can't be read: {error}"));
            session
        });
        self.spending.day = Some(DayCost { day: day + unlogged, session });
    }

    fn budget_error(&self, exceeded: &ExceededBudget) -> ProviderError {
        let hint = format!("Raise {}, or accept when tiller prompts in a terminal.", exceeded.setting);
        self.unsent(&exceeded.fact, Some(hint))
    }

    fn unsent(&self, reason: &str, hint: Option<String>) -> ProviderError {
        let provider = self.active.model.facts.provider.clone();
        ProviderError { provider, failure: FailureKind::Fatal, message: format!("not sent: {reason}"), hint }
    }
}

/// Reads the cost of all sessions since local midnight from the catalog.
fn cost_of_today(manager: &SessionManager) -> Result<Usd, String> {
    let midnight = Zoned::now().start_of_day().map_err(|error| error.to_string())?;
    let since = UnixMs(midnight.timestamp().as_millisecond());
    let read = || {
        let mut catalog = manager.catalog()?;
        catalog.refresh(SessionScope::Everywhere, |_| ())?;
        catalog.usage_since(since)
    };
    let usage = read().map_err(|error| error.to_string())?;
    Ok(usage.iter().fold(Usd::default(), |sum, quarter| sum + quarter.usage.cost.total))
}

fn capitalized(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
