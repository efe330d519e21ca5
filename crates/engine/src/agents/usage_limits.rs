//! Limits on the usage of agents: requests, tokens, cost and time of one task, or of a session with all its
//! agents. They are checked before each request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tiller_core::message::Usage;
use tiller_core::setting::Settings;
use tiller_core::unit::{Tokens, Usd};
use tokio::time::Instant;

use super::logged_use::LoggedUse;

/// Limits on the usage of agents; `None` for no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct UsageLimit {
    /// Maximum number of answered requests.
    pub turns: Option<u64>,
    /// Maximum time during which the session or at least one of its agents is working. A single task has a
    /// [`Timeout`](super::Timeout) instead.
    pub time: Option<Duration>,
    /// Maximum tokens of all requests.
    pub tokens: Option<Tokens>,
    /// Maximum cost.
    pub cost: Option<Usd>,
}

impl From<&Settings> for UsageLimit {
    /// Reads the limit of a single task.
    fn from(settings: &Settings) -> Self {
        Self {
            turns: settings.agents_max_turns(),
            time: settings.agents_max_time_s().map(Duration::from_secs),
            tokens: settings.agents_max_tokens().map(Tokens),
            cost: settings.agents_max_cost_usd().map(Usd),
        }
    }
}

/// A limit and the usage so far. Clones share both.
#[derive(Clone, Debug)]
pub struct UsageScope {
    /// The subject of the limit's message, with its verb: `this task has`.
    subject: &'static str,
    /// A mutex, because agents run on different threads; it is held only to add usage.
    state: Arc<Mutex<ScopeState>>,
}

#[derive(Debug, Default)]
struct ScopeState {
    limit: UsageLimit,
    turns: u64,
    tokens: Tokens,
    cost: Usd,
    /// Number of working agents, and the time when the first of them started.
    at_work: usize,
    since: Option<Instant>,
    /// The working time before that.
    time: Duration,
}

impl ScopeState {
    fn time(&self, now: Instant) -> Duration {
        self.time + self.since.map_or(Duration::ZERO, |since| now.duration_since(since))
    }
}

/// The limits that apply to a session's requests, outermost first.
#[derive(Clone, Debug, Default)]
pub struct UsageScopes {
    scopes: Vec<UsageScope>,
}

impl UsageScope {
    fn new(subject: &'static str, limit: UsageLimit) -> Self {
        Self { subject, state: Arc::new(Mutex::new(ScopeState { limit, ..ScopeState::default() })) }
    }

    /// Creates the scope of a single task.
    #[must_use]
    pub fn task(limit: UsageLimit) -> Self {
        Self::new("this task has", limit)
    }

    /// Creates the scope of a session and all its agents.
    #[must_use]
    pub fn with_agents(limit: UsageLimit) -> Self {
        Self::new("this session and its agents have", limit)
    }

    /// Creates the scope of agents that share the rest of a budget.
    pub(crate) fn budget() -> Self {
        Self::new("the agents that share the rest of the budget have", UsageLimit::default())
    }

    /// Sets the maximum cost.
    pub(crate) fn set_max_cost(&self, cost: Option<Usd>) {
        self.state().limit.cost = cost;
    }

    /// Returns true if anything is limited.
    pub(crate) fn is_limited(&self) -> bool {
        self.state().limit != UsageLimit::default()
    }

    /// Adds the usage recorded in the logs.
    pub(crate) fn add_logged(&self, LoggedUse { turns, usage, time }: &LoggedUse) {
        let mut state = self.state();
        state.turns += turns;
        state.tokens += usage.total();
        state.cost += usage.cost.total;
        state.time += *time;
    }

    /// Adds the usage of an answer.
    pub(crate) fn add(&self, usage: &Usage) {
        let mut state = self.state();
        state.turns += 1;
        state.tokens += usage.total();
        state.cost += usage.cost.total;
    }

    /// Returns the reason to send no further request, if a limit is exceeded.
    pub(crate) fn exceeded_now(&self) -> Option<String> {
        self.exceeded(Instant::now())
    }

    /// Starts counting the time of an agent.
    pub(crate) fn enter(&self, now: Instant) {
        let mut state = self.state();
        state.at_work += 1;
        state.since.get_or_insert(now);
    }

    /// Stops counting the time of an agent.
    pub(crate) fn leave(&self, now: Instant) {
        let mut state = self.state();
        state.at_work = state.at_work.saturating_sub(1);
        if state.at_work == 0 {
            state.time = state.time(now);
            state.since = None;
        }
    }

    fn state(&self) -> MutexGuard<'_, ScopeState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn exceeded(&self, now: Instant) -> Option<String> {
        let state = self.state();
        let ScopeState { limit, turns, tokens, cost, .. } = &*state;
        let subject = self.subject;
        if let Some(limit) = limit.turns.filter(|limit| turns >= limit) {
            return Some(format!("{subject} made {turns} requests; the limit is {limit}"));
        }
        if let Some(limit) = limit.time.filter(|limit| state.time(now) >= *limit) {
            return Some(format!("{subject} worked for {} s, which is the limit", limit.as_secs()));
        }
        if let Some(limit) = limit.tokens.filter(|limit| tokens >= limit) {
            return Some(format!("{subject} used {tokens} tokens; the limit is {limit}"));
        }
        let limit = limit.cost.filter(|limit| cost >= limit)?;
        Some(format!("{subject} cost {cost}; the limit is {limit}"))
    }
}

impl UsageScopes {
    /// Adds a scope inside the existing ones.
    #[must_use]
    pub fn with(mut self, scope: UsageScope) -> Self {
        self.scopes.push(scope);
        self
    }

    /// Adds the usage of an answer to every scope.
    pub(crate) fn add(&self, usage: &Usage) {
        self.scopes.iter().for_each(|scope| scope.add(usage));
    }

    /// Returns the reason to send no further request, if a limit is exceeded.
    pub(crate) fn exceeded(&self) -> Option<String> {
        let now = Instant::now();
        self.scopes.iter().find_map(|scope| scope.exceeded(now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_count_in_every_scope_until_one_is_exceeded() {
        let all = UsageScope::with_agents(UsageLimit { tokens: Some(Tokens(100)), ..UsageLimit::default() });
        let agent = || UsageScopes::default().with(all.clone()).with(UsageScope::task(UsageLimit::default()));
        let (one, other) = (agent(), agent());
        let usage = Usage { output: Tokens(60), ..Usage::default() };
        one.add(&usage);
        assert_eq!(other.exceeded(), None);
        other.add(&usage);
        let reason = "this session and its agents have used 120 tokens; the limit is 100";
        assert_eq!(one.exceeded().as_deref(), Some(reason));
    }

    #[test]
    fn limits_of_cost_are_named() {
        let limit = UsageLimit { cost: Some(Usd(0.5)), ..UsageLimit::default() };
        let limits = UsageScopes::default().with(UsageScope::task(limit));
        let mut usage = Usage::default();
        usage.cost.total = Usd(0.5);
        limits.add(&usage);
        assert_eq!(limits.exceeded().as_deref(), Some("this task has cost $0.50; the limit is $0.50"));
    }

    #[test]
    fn limits_of_turns_are_named() {
        let limit = UsageLimit { turns: Some(2), ..UsageLimit::default() };
        let limits = UsageScopes::default().with(UsageScope::with_agents(limit));
        limits.add(&Usage::default());
        assert_eq!(limits.exceeded(), None);
        limits.add(&Usage::default());
        let reason = "this session and its agents have made 2 requests; the limit is 2";
        assert_eq!(limits.exceeded().as_deref(), Some(reason));
    }

    #[test]
    fn limits_of_time_count_while_an_agent_works() {
        let limit = UsageLimit { time: Some(Duration::from_secs(10)), ..UsageLimit::default() };
        let (scope, start) = (UsageScope::with_agents(limit), Instant::now());
        let at = |seconds| start + Duration::from_secs(seconds);
        scope.enter(at(0));
        scope.enter(at(4));
        scope.leave(at(4));
        scope.leave(at(6));
        scope.enter(at(100));
        assert_eq!(scope.exceeded(at(103)), None);
        let reason = "this session and its agents have worked for 10 s, which is the limit";
        assert_eq!(scope.exceeded(at(104)).as_deref(), Some(reason));
    }
}
