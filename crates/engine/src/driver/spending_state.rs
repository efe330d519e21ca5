//! The budgets of a session and the cost so far; `spending` changes them.

use std::collections::BTreeSet;

use tiller_core::unit::Usd;

use crate::agents::LoggedUse;
use crate::budget::{BudgetOptions, Budgets, ExceededBudget};

/// The budgets, and the cost of the day's sessions.
pub(super) struct SpendingState {
    pub(super) budgets: Budgets,
    /// Read from the catalog before the first request of each run, if a budget for a day is set.
    pub(super) day: Option<DayCost>,
    /// The models without a known price that the user was warned about, as `provider/id`.
    pub(super) unpriced: BTreeSet<String>,
}

/// The day's cost at a point in time.
#[derive(Clone, Copy)]
pub(super) struct DayCost {
    pub(super) day: Usd,
    /// The session's cost at the same time.
    pub(super) session: Usd,
}

/// The result of a job that a request waits for.
pub(crate) enum SpendingEvent {
    /// The usage of the session and its agents before the session was opened.
    LogsRead(LoggedUse),
    /// The day's cost from the catalog, or the error of reading it.
    DayRead(Result<Usd, String>),
    /// The user's answer about a budget.
    Answered { exceeded: ExceededBudget, consents: bool },
}

impl SpendingState {
    pub(super) fn new(options: BudgetOptions) -> Self {
        Self { budgets: Budgets::new(options), day: None, unpriced: BTreeSet::new() }
    }

    /// Discards the day's cost, so that the next request reads it again.
    pub(super) fn begin_run(&mut self) {
        self.day = None;
    }

    /// Prepares for another session.
    pub(super) fn switch_session(&mut self) {
        self.budgets.reset_session();
        self.day = None;
    }
}
