//! Limits of what agents use: tokens and cost of one task, or of all agents of a session. They are checked before each
//! request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tiller_core::message::Usage;
use tiller_core::unit::{Tokens, Usd};

/// Limits of tokens and cost; `None` for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UsageLimit {
    /// Maximum tokens of all requests.
    pub tokens: Option<Tokens>,
    /// Maximum cost.
    pub cost: Option<Usd>,
}

/// A limit and what was used so far. Clones share both.
#[derive(Clone, Debug)]
pub struct UsageScope {
    /// The work that counts, as the beginning of a sentence: `this task has`.
    subject: &'static str,
    /// A mutex, because agents run on different threads; it is held only to add.
    state: Arc<Mutex<ScopeState>>,
}

#[derive(Debug, Default)]
struct ScopeState {
    limit: UsageLimit,
    tokens: Tokens,
    cost: Usd,
}

/// The limits of a session's requests, from the outermost in.
#[derive(Clone, Debug, Default)]
pub struct UsageScopes {
    scopes: Vec<UsageScope>,
}

impl UsageScope {
    fn new(subject: &'static str, limit: UsageLimit) -> Self {
        Self { subject, state: Arc::new(Mutex::new(ScopeState { limit, ..ScopeState::default() })) }
    }

    /// Creates the scope of a task.
    #[must_use]
    pub fn task(limit: UsageLimit) -> Self {
        Self::new("this task has", limit)
    }

    /// Creates the scope of all agents of a session.
    #[must_use]
    pub fn all_agents(limit: UsageLimit) -> Self {
        Self::new("the agents of this session have", limit)
    }

    /// Creates the scope of agents that use what is left of a budget.
    pub(crate) fn budget() -> Self {
        Self::new("the agents that share the rest of the budget have", UsageLimit::default())
    }

    /// Returns the cost so far.
    pub(crate) fn cost(&self) -> Usd {
        self.state().cost
    }

    /// Sets the maximum cost.
    pub(crate) fn set_max_cost(&self, cost: Option<Usd>) {
        self.state().limit.cost = cost;
    }

    fn state(&self) -> MutexGuard<'_, ScopeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn exceeded(&self) -> Option<String> {
        let ScopeState { limit, tokens, cost } = &*self.state();
        let subject = self.subject;
        if let Some(limit) = limit.tokens.filter(|limit| tokens >= limit) {
            return Some(format!("{subject} used {tokens} tokens; the limit is {limit}"));
        }
        let limit = limit.cost.filter(|limit| cost >= limit)?;
        Some(format!("{subject} cost {cost}; the limit is {limit}"))
    }
}

impl UsageScopes {
    /// Adds a scope inside of these.
    #[must_use]
    pub fn with(mut self, scope: UsageScope) -> Self {
        self.scopes.push(scope);
        self
    }

    /// Counts an answer in every scope.
    pub(crate) fn add(&self, usage: &Usage) {
        for scope in &self.scopes {
            let mut state = scope.state();
            state.tokens += usage.total();
            state.cost += usage.cost.total;
        }
    }

    /// Returns the reason why no further request may be sent.
    pub(crate) fn exceeded(&self) -> Option<String> {
        self.scopes.iter().find_map(UsageScope::exceeded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_count_in_every_scope_until_one_is_exceeded() {
        let all = UsageScope::all_agents(UsageLimit { tokens: Some(Tokens(100)), cost: None });
        let agent = || UsageScopes::default().with(all.clone()).with(UsageScope::task(UsageLimit::default()));
        let (one, other) = (agent(), agent());
        let usage = Usage { output: Tokens(60), ..Usage::default() };
        one.add(&usage);
        assert_eq!(other.exceeded(), None);
        other.add(&usage);
        let reason = "the agents of this session have used 120 tokens; the limit is 100";
        assert_eq!(one.exceeded().as_deref(), Some(reason));
    }

    #[test]
    fn limits_of_cost_are_named() {
        let limit = UsageLimit { tokens: None, cost: Some(Usd(0.5)) };
        let limits = UsageScopes::default().with(UsageScope::task(limit));
        let mut usage = Usage::default();
        usage.cost.total = Usd(0.5);
        limits.add(&usage);
        assert_eq!(limits.exceeded().as_deref(), Some("this task has cost $0.50; the limit is $0.50"));
    }
}
