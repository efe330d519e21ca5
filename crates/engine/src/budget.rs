//! Cost limits of a session and of a day, with warnings and requests for consent. Pure.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tiller_core::setting::Settings;
use tiller_core::unit::Usd;

/// Cost limits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BudgetOptions {
    /// Limit of a session, over all branches; `None` for no limit.
    pub session: Option<Usd>,
    /// Limit of all sessions during a local day; `None` for no limit.
    pub day: Option<Usd>,
}

impl From<&Settings> for BudgetOptions {
    fn from(settings: &Settings) -> Self {
        Self { session: settings.budget_session_usd().map(Usd), day: settings.budget_day_usd().map(Usd) }
    }
}

/// The period of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum BudgetPeriod {
    /// A session.
    Session,
    /// A local day.
    Day,
}

impl BudgetPeriod {
    const fn setting(self) -> &'static str {
        match self {
            Self::Session => "budget.session_usd",
            Self::Day => "budget.day_usd",
        }
    }

    /// Returns the subject of the cost message.
    const fn subject(self) -> &'static str {
        match self {
            Self::Session => "this session has",
            Self::Day => "today's sessions have",
        }
    }
}

/// A budget and the cost so far.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BudgetStatus {
    /// The budget's period.
    pub period: BudgetPeriod,
    /// The configured limit.
    pub limit: Usd,
    /// The limit plus the amounts that the user has allowed beyond it.
    pub allowed: Usd,
    /// The cost so far.
    pub spent: Usd,
}

impl BudgetStatus {
    /// Returns the line about the budget for `/cost`.
    pub(crate) fn line(&self) -> String {
        let Self { period, limit, spent, .. } = self;
        format!("{}: {spent} of {limit}{}", period.setting(), consent_note(*limit, self.allowed))
    }
}

/// Cost so far in each period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spending {
    pub session: Usd,
    pub day: Usd,
}

impl Spending {
    const fn of(&self, period: BudgetPeriod) -> Usd {
        match period {
            BudgetPeriod::Session => self.session,
            BudgetPeriod::Day => self.day,
        }
    }
}

/// The budgets that apply to a session.
#[derive(Debug)]
pub(crate) struct Budgets {
    budgets: Vec<Budget>,
}

#[derive(Debug)]
struct Budget {
    period: BudgetPeriod,
    limit: Usd,
    /// The limit, plus the same amount each time the user consents.
    allowed: Usd,
    has_warned: bool,
}

/// The outcome of a check before a request.
#[derive(Debug, PartialEq)]
pub(crate) enum BudgetCheck {
    /// The request may be sent; the user gets the warnings.
    Within { warnings: Vec<String> },
    /// The request needs the user's consent.
    Exceeded(ExceededBudget),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ExceededBudget {
    /// The cost and the limit, as a sentence without a trailing period.
    pub fact: String,
    /// The setting with the limit.
    pub setting: &'static str,
    /// The amount that each consent adds.
    pub step: Usd,
}

/// Share of the allowed amount at which the user is warned.
const WARNING_SHARE: f64 = 0.8;

impl Budgets {
    pub(crate) fn new(options: BudgetOptions) -> Self {
        let limits = [(BudgetPeriod::Session, options.session), (BudgetPeriod::Day, options.day)];
        let budget = |(period, limit): (BudgetPeriod, Option<Usd>)| {
            limit.map(|limit| Budget { period, limit, allowed: limit, has_warned: false })
        };
        Self { budgets: limits.into_iter().filter_map(budget).collect() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.budgets.is_empty()
    }

    pub(crate) fn has(&self, period: BudgetPeriod) -> bool {
        self.budgets.iter().any(|budget| budget.period == period)
    }

    /// Checks the cost before a request. Each budget warns once, and again after each consent.
    pub(crate) fn check(&mut self, spending: Spending) -> BudgetCheck {
        let exceeded = self.budgets.iter().find(|budget| spending.of(budget.period) >= budget.allowed);
        if let Some(budget) = exceeded {
            return BudgetCheck::Exceeded(ExceededBudget {
                fact: budget.fact(spending.of(budget.period)),
                setting: budget.period.setting(),
                step: budget.limit,
            });
        }
        let mut warnings = Vec::new();
        for budget in &mut self.budgets {
            let spent = spending.of(budget.period);
            if !budget.has_warned && spent.0 >= budget.allowed.0 * WARNING_SHARE {
                budget.has_warned = true;
                warnings.push(budget.fact(spent));
            }
        }
        BudgetCheck::Within { warnings }
    }

    /// Raises every exceeded budget by its limit, as often as needed, after the user's consent.
    pub(crate) fn allow_more(&mut self, spending: Spending) {
        for budget in &mut self.budgets {
            let spent = spending.of(budget.period);
            if spent >= budget.allowed {
                let times = (spent.0 / budget.limit.0).floor() + 1.0;
                (budget.allowed, budget.has_warned) = (Usd(budget.limit.0 * times), false);
            }
        }
    }

    /// Discards the session's consents and warnings when another session is opened.
    pub(crate) fn reset_session(&mut self) {
        for budget in self.budgets.iter_mut().filter(|budget| budget.period == BudgetPeriod::Session) {
            (budget.allowed, budget.has_warned) = (budget.limit, false);
        }
    }

    pub(crate) fn status(&self, spending: Spending) -> Vec<BudgetStatus> {
        let status = |budget: &Budget| BudgetStatus {
            period: budget.period,
            limit: budget.limit,
            allowed: budget.allowed,
            spent: spending.of(budget.period),
        };
        self.budgets.iter().map(status).collect()
    }
}

impl Budget {
    fn fact(&self, spent: Usd) -> String {
        let (subject, setting) = (self.period.subject(), self.period.setting());
        let consent = consent_note(self.limit, self.allowed);
        format!("{subject} cost {spent}; {setting} is {}{consent}", self.limit)
    }
}

fn consent_note(limit: Usd, allowed: Usd) -> String {
    if allowed == limit { String::new() } else { format!(", {allowed} with your consent") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spending(session: f64, day: f64) -> Spending {
        Spending { session: Usd(session), day: Usd(day) }
    }

    fn budgets(session: Option<f64>, day: Option<f64>) -> Budgets {
        Budgets::new(BudgetOptions { session: session.map(Usd), day: day.map(Usd) })
    }

    fn within(warnings: &[&str]) -> BudgetCheck {
        BudgetCheck::Within { warnings: warnings.iter().map(|text| (*text).to_owned()).collect() }
    }

    #[test]
    fn budgets_warn_once_at_80_percent() {
        let mut budgets = budgets(Some(5.0), Some(20.0));
        assert_eq!(budgets.check(spending(3.9, 3.9)), within(&[]));
        let fact = "this session has cost $4.00; budget.session_usd is $5.00";
        assert_eq!(budgets.check(spending(4.0, 4.0)), within(&[fact]));
        assert_eq!(budgets.check(spending(4.5, 4.5)), within(&[]));
        let fact = "today's sessions have cost $16.00; budget.day_usd is $20.00";
        assert_eq!(budgets.check(spending(4.6, 16.0)), within(&[fact]));
    }

    #[test]
    fn budgets_ask_at_the_limit_and_again_after_each_further_one() {
        let mut budgets = budgets(Some(5.0), None);
        let exceeded = |fact: &str| {
            let setting = "budget.session_usd";
            BudgetCheck::Exceeded(ExceededBudget { fact: fact.to_owned(), setting, step: Usd(5.0) })
        };
        let fact = "this session has cost $5.00; budget.session_usd is $5.00";
        assert_eq!(budgets.check(spending(5.0, 99.0)), exceeded(fact));
        budgets.allow_more(spending(5.0, 99.0));
        assert_eq!(budgets.check(spending(7.9, 99.0)), within(&[]));
        let fact = "this session has cost $8.00; budget.session_usd is $5.00, $10.00 with your consent";
        assert_eq!(budgets.check(spending(8.0, 99.0)), within(&[fact]), "it warns again");
        budgets.allow_more(spending(10.0, 99.0));
        assert_eq!(budgets.status(spending(1.0, 2.0))[0].allowed, Usd(15.0));
        budgets.allow_more(spending(37.0, 99.0));
        assert_eq!(budgets.status(spending(1.0, 2.0))[0].allowed, Usd(40.0), "one consent is enough");
    }

    #[test]
    fn budgets_forget_consents_of_another_session() {
        let mut budgets = budgets(Some(5.0), Some(5.0));
        budgets.allow_more(spending(5.0, 5.0));
        budgets.reset_session();
        let allowed: Vec<Usd> =
            budgets.status(spending(0.0, 0.0)).iter().map(|status| status.allowed).collect();
        assert_eq!(allowed, [Usd(5.0), Usd(10.0)]);
    }
}
