//! The budgets of a session task and the cost so far; `spending` changes them.

use std::collections::BTreeSet;

use tiller_core::unit::Usd;

use crate::agents::LoggedUse;
use crate::budget::{BudgetOptions, Budgets, ExceededBudget};

/// The budgets, and the cost of the day's sessions.
pub(super) struct SpendingState {
    pub(super) budgets: Budgets,
    /// Read from the catalog before the first request of each run with a budget for a day.
    pub(super) day: Option<DayCost>,
    /// The models without a known price about which the user was warned, by `provider/id`.
    pub(super) unpriced: BTreeSet<String>,
}

/// The cost of the day at a time.
#[derive(Clone, Copy)]
pub(super) struct DayCost {
    pub(super) day: Usd,
    /// The cost of the session at that time.
    pub(super) session: Usd,
}

/// The outcome of a job that a request waits for.
pub(crate) enum SpendingEvent {
    /// The usage of the session and its agents before it was opened.
    LogsRead(LoggedUse),
    /// The catalog's cost of the day, or the error of reading it.
    DayRead(Result<Usd, String>),
    /// The user's answer about a budget.
    Answered { exceeded: ExceededBudget, consents: bool },
}

impl SpendingState {
    pub(super) fn new(options: BudgetOptions) -> Self {
        Self { budgets: Budgets::new(options), day: None, unpriced: BTreeSet::new() }
    }

    /// Discards the cost of the day, so that the next request reads it again.
    pub(super) fn begin_run(&mut self) {
        self.day = None;
    }

    /// Prepares for another session.
    pub(super) fn switch_session(&mut self) {
        self.budgets.reset_session();
        self.day = None;
    }
}
