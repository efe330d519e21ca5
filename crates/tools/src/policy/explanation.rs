//! The commands of a line with their rules and risks, for a person who asks.

use tiller_core::tool_spec::ToolSpec;

use super::command_rules::CommandRules;
use super::{ConfiguredRule, Policy, line_rules, risk};

/// One command of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainedCommand {
    /// Its words and redirections, without quotes.
    pub command: String,
    /// The reason for which it needs approval in every mode that runs commands.
    pub risk: Option<String>,
    /// The rule of the settings that decides on it.
    pub rule: Option<ConfiguredRule>,
    /// True if it only prints, filters its input or changes the folder, so that it needs no rule of its own.
    pub is_harmless_filter: bool,
}

impl Policy {
    /// Lists the commands of a line that a tool would run: those in pipelines, substitutions and here-documents, too.
    ///
    /// # Errors
    /// If the line isn't in the shell's grammar; the reason.
    pub fn explain(&self, spec: &ToolSpec, line: &str) -> Result<Vec<ExplainedCommand>, String> {
        let rules = CommandRules::new(&self.rules, &spec.name);
        let listed = risk::list_risks(line, self.folders().with_rules(rules));
        let listed = listed.map_err(|unreadable| unreadable.to_string())?;
        Ok(listed
            .into_iter()
            .map(|(segment, risks)| ExplainedCommand {
                rule: rules.find_strictest(&risk::list_runs(&segment.words)).cloned(),
                is_harmless_filter: line_rules::is_harmless_filter(&segment),
                command: segment.to_string(),
                risk: risk::find_worst(risks).map(|risk| risk.reason),
            })
            .collect())
    }
}
