//! The settings rules for the commands of a tool.

use super::configured_rule::{ConfiguredRule, ConfiguredRules, RuleDecision};
use super::risk::{Risk, RiskKind};
use super::run_command::{Certainty, RunCommand};

/// The rules for the commands of one tool.
#[derive(Clone, Copy, Default)]
pub(super) struct CommandRules<'a> {
    rules: Option<(&'a ConfiguredRules, &'a str)>,
}

impl<'a> CommandRules<'a> {
    pub(super) const fn new(rules: &'a ConfiguredRules, tool: &'a str) -> Self {
        Self { rules: Some((rules, tool)) }
    }

    /// Finds the rule that decides on a command.
    pub(super) fn find(self, words: &[String]) -> Option<&'a ConfiguredRule> {
        let (rules, tool) = self.rules?;
        rules.find(tool, |rule| rule.covers_words(words))
    }

    /// Adds the rule that allows a command although it has this risk, in place of the rules for the commands that it
    /// runs. For a dangerous command the rule must name the program and another word, for other risks it must spell out
    /// the whole command.
    pub(super) fn cover(self, words: &[String], risk: Risk) -> Risk {
        let rule = self.find(words).filter(|rule| rule.decision() == RuleDecision::Allow);
        match rule.filter(|rule| covers(rule, risk.kind)) {
            Some(rule) => Risk { covered_by: vec![rule.clone()], ..risk },
            None => risk,
        }
    }

    /// Finds the strictest rule that decides on commands; an allowing rule counts only for commands that need
    /// one.
    pub(super) fn find_strictest(self, commands: &[RunCommand]) -> Option<&'a ConfiguredRule> {
        let certain = commands.iter().filter(|command| command.certainty != Certainty::InCode);
        let found = certain.filter_map(|command| {
            let rule = self.find(&command.words)?;
            (command.needs_allow || rule.decision() != RuleDecision::Allow).then_some(rule)
        });
        found.min_by_key(|rule| rule.decision())
    }

    /// Finds a rule that denies or asks for a command, if the command's unknown words are what the rule names, or if code
    /// runs the command.
    pub(super) fn find_possible(self, commands: &[RunCommand]) -> Option<&'a ConfiguredRule> {
        let (rules, tool) = self.rules?;
        let may_apply = |rule: &ConfiguredRule, command: &RunCommand| match command.certainty {
            Certainty::Certain | Certainty::Unexpanded => rule.may_cover_words(&command.words),
            Certainty::Expanded => false,
            Certainty::InCode => rule.covers_words(&command.words) || rule.may_cover_words(&command.words),
        };
        let restricting = rules.iter().filter(|rule| rule.decision() != RuleDecision::Allow);
        let mut restricting = restricting.filter(|rule| rule.covers_tool(tool));
        restricting.find(|rule| commands.iter().any(|command| may_apply(rule, command)))
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

/// Returns true if a rule is narrow enough for a risk of this kind.
fn covers(rule: &ConfiguredRule, kind: RiskKind) -> bool {
    match kind {
        RiskKind::Dangerous => rule.names_second_word(),
        RiskKind::Destroys
        | RiskKind::WritesProtected
        | RiskKind::ReadsCredentials
        | RiskKind::WritesOutside => rule.is_exact(),
    }
}
