//! The commands of a line with their rules and risks, explained for the user.

use tiller_core::tool_spec::ToolSpec;

use super::command_rules::CommandRules;
use super::risk::{JudgedCommand, Risk, RiskKind};
use super::{
    AskBehavior, ConfiguredRule, PermissionRule, Policy, PolicyVerdict, SessionRules, line_rules, risk,
};
use serde_json::json;

/// One command of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedCommand {
    /// Its words and redirections, without quotes.
    pub command: String,
    /// The command as a line of its own, with the values of the line's variables.
    pub line: String,
    /// The reason it needs approval in every mode that runs commands.
    pub risk: Option<String>,
    /// The settings rule that decides on the command.
    pub rule: Option<ConfiguredRule>,
    /// The decision on the command alone, in the policy's mode.
    pub verdict: PolicyVerdict,
    /// True if the command only prints, filters its input or changes the directory, so that it needs no rule
    /// of its own.
    pub is_harmless_filter: bool,
}

impl Policy {
    /// Lists the commands of a line that a tool would run, including those in pipelines, substitutions and
    /// here-documents.
    ///
    /// # Errors
    /// If the line isn't valid shell syntax; returns the reason.
    pub fn explain(&self, spec: &ToolSpec, line: &str) -> Result<Vec<ExplainedCommand>, String> {
        let rules = CommandRules::new(&self.rules, &spec.name);
        let listed = risk::list_risks(line, self.context().with_rules(rules));
        let listed = listed.map_err(|unreadable| unreadable.to_string())?;
        Ok(listed
            .into_iter()
            .map(|JudgedCommand { written, expanded, risks }| {
                let risk = risk::find_worst(risks);
                let line = expanded.as_ref().unwrap_or(&written).to_line();
                ExplainedCommand {
                    rule: rules.find_strictest(&risk::list_run_commands(&written.words)).cloned(),
                    verdict: self.judge_in_line(spec, &line, risk.as_ref()),
                    line,
                    is_harmless_filter: line_rules::is_harmless_filter(&written),
                    command: written.to_string(),
                    risk: risk.map(|risk| risk.reason),
                }
            })
            .collect())
    }

    /// Decides on one command of a line. Alone, it may be less risky than after a `cd`.
    fn judge_in_line(&self, spec: &ToolSpec, command: &str, risk: Option<&Risk>) -> PolicyVerdict {
        let arguments = json!({ "command": command });
        let verdict = self.judge(spec, &arguments, &SessionRules::default());
        let may_run = verdict.runs() || matches!(verdict, PolicyVerdict::Ask { .. });
        match risk.filter(|_| may_run) {
            Some(risk) if risk.kind == RiskKind::Destroys => PolicyVerdict::denied_in_every_mode(risk),
            Some(Risk { reason, .. }) if self.ask_behavior == AskBehavior::User => {
                let rule = PermissionRule::for_call(&spec.name, Some(command), None);
                PolicyVerdict::Ask { reason: reason.clone(), rule }
            }
            Some(_) | None => verdict,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::ApprovalMode;
    use super::*;
    use crate::tool::built_in_tools;

    #[test]
    fn explain_agrees_with_the_decision_on_variables() {
        let traits = built_in_tools().traits("bash");
        let parameters = Arc::new(json!({}));
        let spec = ToolSpec { name: "bash".into(), description: String::new(), parameters, traits };
        let policy = Policy { mode: ApprovalMode::Auto, root: "/work".into(), ..Policy::default() };
        let decide =
            |line: &str| match policy.judge(&spec, &json!({ "command": line }), &SessionRules::default()) {
                verdict if verdict.runs() => "runs",
                PolicyVerdict::Ask { .. } => "asks",
                _ => "denied",
            };
        for (line, expected) in [
            ("C=cargo; $C test", "runs"),
            ("G=git; $G push --force", "asks"),
            ("R=rm; $R -rf /", "denied"),
            ("X=ls; read X; $X", "asks"),
            ("for f in *.txt; do wc -l $f; done", "runs"),
            ("case $X in a) rm -rf /;; esac", "denied"),
        ] {
            let commands = policy.explain(&spec, line).unwrap();
            assert!(!format!("{commands:?}").contains("can't be checked"), "{commands:?}");
            let last = &commands.last().unwrap().verdict;
            let explained = match last {
                verdict if verdict.runs() => "runs",
                PolicyVerdict::Ask { .. } => "asks",
                _ => "denied",
            };
            assert_eq!((decide(line), explained), (expected, expected), "{line}");
        }
    }
}
