//! The settings rule that decides on a command line.

use super::command_rules::CommandRules;
use super::configured_rule::{ConfiguredRule, RuleDecision};
use super::risk::{self, CommandContext};
use super::run_command::RunCommand;
use super::shell::{self, Segment};

/// Programs that only print, filter their input or change the directory. They need no rule of their own next
/// to a command that has one.
const HARMLESS_FILTERS: &[&str] = &["cd", "cut", "echo", "false", "grep", "head", "tail", "tr", "true", "wc"];

/// Finds the rule that decides on a line: the strictest rule for any of its commands, however the command is
/// run. A line is allowed if each of its commands, and each command that those run, is allowed, or only
/// prints or filters. A line that can't be parsed may contain a denied command.
pub(super) fn find_rule<'a>(rules: CommandRules<'a>, line: &str) -> Option<&'a ConfiguredRule> {
    if rules.is_empty() {
        return None;
    }
    let Ok(segments) = shell::parse(line) else { return rules.find_denying() };
    let commands = risk::list_commands(line);
    if commands.len() >= risk::MAX_COMMANDS {
        return rules.find_denying();
    }
    let strictest = rules.find_strictest(&commands);
    if strictest.is_some_and(|rule| rule.decision() != RuleDecision::Allow) {
        return strictest;
    }
    let has_rule = |command: &RunCommand| !command.needs_allow || rules.find(&command.words).is_some();
    let is_covered = |segment: &Segment| {
        is_harmless_filter(segment)
            || (!segment.words.is_empty() && risk::list_run_commands(&segment.words).iter().all(has_rule))
    };
    strictest.filter(|_| segments.iter().all(is_covered))
}

/// Finds a rule that may deny or ask for a command of a line: one with unknown words, or one in code.
pub(super) fn find_possible_rule<'a>(rules: CommandRules<'a>, line: &str) -> Option<&'a ConfiguredRule> {
    if rules.is_empty() { None } else { rules.find_possible(&risk::list_commands(line)) }
}

/// Lists the rules that together allow a line; none if they don't allow it.
pub(super) fn list_allowing<'a>(rules: CommandRules<'a>, line: &str) -> Vec<&'a ConfiguredRule> {
    let strictest = find_rule(rules, line).filter(|rule| rule.decision() == RuleDecision::Allow);
    let Some(strictest) = strictest else { return Vec::new() };
    let segments = shell::segments(line);
    let ruled = segments.iter().filter(|segment| !is_harmless_filter(segment));
    let commands = ruled.flat_map(|segment| risk::list_run_commands(&segment.words));
    let needed = commands.filter(|command| command.needs_allow);
    let needed: Vec<&ConfiguredRule> = needed.filter_map(|command| rules.find(&command.words)).collect();
    // No command needs a rule, but one has it.
    if needed.is_empty() { vec![strictest] } else { needed }
}

/// Returns true if an allowed line may use TCP, for which the rule of each of its commands must allow it.
/// Commands that only print or filter need no such rule.
pub(super) fn allow_tcp(rules: CommandRules<'_>, line: &str) -> bool {
    let may_run = find_rule(rules, line).is_some_and(|rule| rule.decision() != RuleDecision::Deny);
    let has_network = |command: &RunCommand| {
        !command.needs_allow || rules.find(&command.words).is_some_and(ConfiguredRule::allows_network)
    };
    let may_connect = |segment: &Segment| {
        is_harmless_filter(segment) || risk::list_run_commands(&segment.words).iter().all(has_network)
    };
    may_run && shell::segments(line).iter().all(may_connect)
}

/// Returns true for a command that only prints, filters its input or changes the directory within the working
/// directory.
pub(super) fn is_harmless_filter(segment: &Segment) -> bool {
    let Some((name, arguments)) = segment.words.split_first() else { return segment.inputs.is_empty() };
    let leads_out = |path: &str| path.starts_with(['/', '~']) || path.split('/').any(|part| part == "..");
    let is_inside = |word: &String| {
        !word.contains(['$', '`']) && !CommandContext::list_paths(word).into_iter().any(leads_out)
    };
    let is_single = name != "cd" || (arguments.len() == 1 && !arguments[0].starts_with('-'));
    HARMLESS_FILTERS.contains(&name.as_str())
        && segment.inputs.is_empty()
        && is_single
        && arguments.iter().all(is_inside)
}

#[cfg(test)]
mod tests;
