//! The page of `/cost`. Pure.

use tiller_core::counted::counted;
use tiller_core::usage_text;

use super::session_status::SessionStats;
use crate::budget::BudgetStatus;

impl SessionStats {
    /// Returns the lines of `/cost`: the session's usage by model, and the budgets.
    #[must_use]
    pub fn cost_lines(&self) -> Vec<String> {
        let (usage, models) = (&self.session.usage, &self.session.models);
        let tokens = counted(usage.total(), "token", "tokens");
        let mut lines = vec![
            format!("this session, all branches: {}, {tokens}", usage.cost.total),
            String::new(),
            usage_text::heading("model"),
        ];
        lines.extend(models.iter().map(|used| usage_text::row(&used.model.to_string(), &used.usage)));
        lines.push(usage_text::row("total", usage));
        if !self.budgets.is_empty() {
            lines.push(String::new());
            lines.extend(self.budgets.iter().map(BudgetStatus::line));
        }
        lines.extend([String::new(), "all sessions by day, model and project: `tiller stats`".to_owned()]);
        lines
    }
}

#[cfg(test)]
mod tests {
    use tiller_core::message::{Cost, ModelRef, Usage};
    use tiller_core::unit::{Tokens, Usd};
    use tiller_session::{ModelUsage, Totals};

    use super::*;
    use crate::budget::BudgetPeriod;
    use crate::handle::ContextUse;

    #[test]
    fn cost_lines_have_models_total_and_budgets() {
        let usage = |input: u64, dollars: f64| Usage {
            input: Tokens(input),
            output: Tokens(500),
            cache_read: Tokens(input),
            cost: Cost { total: Usd(dollars), ..Cost::default() },
            ..Usage::default()
        };
        let model = |id: &str, usage: Usage| ModelUsage {
            model: ModelRef { provider: "p".into(), id: id.into() },
            usage,
        };
        let models = vec![model("large", usage(1_000, 4.0)), model("small", usage(2_000, 0.5))];
        let mut session = Totals::default();
        (session.usage, session.models) = (usage(3_000, 4.5), models);
        let budget = |period, limit, allowed| BudgetStatus {
            period,
            limit: Usd(limit),
            allowed: Usd(allowed),
            spent: Usd(4.5),
        };
        let stats = SessionStats {
            branch: session.clone(),
            session,
            context: ContextUse { used: Tokens(0), window: Tokens(1) },
            budgets: vec![budget(BudgetPeriod::Session, 4.0, 8.0), budget(BudgetPeriod::Day, 20.0, 20.0)],
        };
        let expected = "\
this session, all branches: $4.50, 6.5k tokens

    cost   input  output  cached  written  hits  model
   $4.00    1.0k     500    1.0k        0   50%  p/large
   $0.50    2.0k     500    2.0k        0   50%  p/small
   $4.50    3.0k     500    3.0k        0   50%  total

budget.session_usd: $4.50 of $4.00, $8.00 with your consent
budget.day_usd: $4.50 of $20.00

all sessions by day, model and project: `tiller stats`";
        assert_eq!(stats.cost_lines().join("\n"), expected);
    }
}
