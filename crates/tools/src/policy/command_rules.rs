//! The settings rules for the commands of a tool.

use std::cell::RefCell;

use super::configured_rule::{ConfiguredRule, ConfiguredRules, RuleDecision};
use super::risk::RiskKind;
use super::run_command::RunCommand;

/// The rules that have covered a risk, in the order of their use.
pub(super) type CoveringRules = RefCell<Vec<ConfiguredRule>>;

/// The rules for the commands of one tool.
#[derive(Clone, Copy, Default)]
pub(super) struct CommandRules<'a> {
    rules: Option<(&'a ConfiguredRules, &'a str)>,
    /// Receives the rules that cover a risk.
    covering: Option<&'a CoveringRules>,
}

impl<'a> CommandRules<'a> {
    pub(super) const fn new(rules: &'a ConfiguredRules, tool: &'a str) -> Self {
        Self { rules: Some((rules, tool)), covering: None }
    }

    /// Records the rules that cover a risk.
    pub(super) const fn recording(self, covering: &'a CoveringRules) -> Self {
        Self { covering: Some(covering), ..self }
    }

    /// Finds the rule that decides on a command.
    pub(super) fn find(self, words: &[String]) -> Option<&'a ConfiguredRule> {
        let (rules, tool) = self.rules?;
        rules.find(tool, |rule| rule.covers_words(words))
    }

    /// Returns true, and records the rule, if a rule allows a command although it is risky: for a dangerous command the
    /// rule must name the program and another word, for other risks it must spell out the whole command.
    pub(super) fn cover_risk(self, words: &[String], kind: RiskKind) -> bool {
        let Some(rule) = self.find(words) else { return false };
        let is_named = match kind {
            RiskKind::Dangerous => rule.names_second_word(),
            RiskKind::Destroys
            | RiskKind::WritesProtected
            | RiskKind::ReadsCredentials
            | RiskKind::WritesOutside => rule.is_exact(),
        };
        let covers = rule.decision() == RuleDecision::Allow && is_named;
        if let Some(covering) = self.covering.filter(|_| covers) {
            covering.borrow_mut().push(rule.clone());
        }
        covers
    }

    /// Finds the strictest rule that decides on commands; an allowing rule counts only for commands that need
    /// one.
    pub(super) fn find_strictest(self, commands: &[RunCommand]) -> Option<&'a ConfiguredRule> {
        let found = commands.iter().filter_map(|command| {
            let rule = self.find(&command.words)?;
            (command.needs_allow || rule.decision() != RuleDecision::Allow).then_some(rule)
        });
        found.min_by_key(|rule| rule.decision())
    }

    /// Finds the first rule that denies commands of the tool.
    pub(super) fn find_denying(self) -> Option<&'a ConfiguredRule> {
        let (rules, tool) = self.rules?;
        rules.iter().find(|rule| rule.decision() == RuleDecision::Deny && rule.covers_tool(tool))
    }

    pub(super) fn is_empty(self) -> bool {
        self.rules.is_none_or(|(rules, _)| rules.iter().next().is_none())
    }
}
