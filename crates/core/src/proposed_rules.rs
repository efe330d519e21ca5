//! Settings rules that would allow a call, and the line of text in which the user edits them.

use serde::{Deserialize, Serialize};

/// Separates the patterns in the edited line, as it separates commands in a shell.
const SEPARATOR: &str = "&&";

/// Rules that would allow a call: one for each command that needs a rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ProposedRules {
    /// The tool that the rules are for.
    pub tool: String,
    /// Patterns for commands, a path or a host. Empty for a rule that covers every call of the tool.
    #[serde(rename = "match")]
    pub patterns: Vec<String>,
}

impl ProposedRules {
    /// Parses an edited line of patterns, such as `cargo build* && npm test*`; a blank line has no patterns.
    #[must_use]
    pub fn parse(tool: &str, line: &str) -> Self {
        let mut patterns = vec![Vec::new()];
        for word in line.split_whitespace() {
            match patterns.last_mut() {
                Some(pattern) if word != SEPARATOR => pattern.push(word),
                _ => patterns.push(Vec::new()),
            }
        }
        let is_blank = line.trim().is_empty();
        let patterns = if is_blank { Vec::new() } else { patterns };
        Self { tool: tool.to_owned(), patterns: patterns.iter().map(|words| words.join(" ")).collect() }
    }

    /// Returns the patterns as a line to edit.
    #[must_use]
    pub fn line(&self) -> String {
        self.patterns.join(&format!(" {SEPARATOR} "))
    }

    /// Returns true if a pattern contains a path relative to the working directory, whose meaning differs
    /// between projects: `./run.sh`, `rm -rf ../build`, `--output=target/report`.
    #[must_use]
    pub fn has_relative_path(&self) -> bool {
        let is_relative = |word: &str| {
            let word = word.rsplit('=').next().unwrap_or(word).trim_matches(['"', '\'']);
            word.contains('/') && !word.starts_with(['/', '~']) && !word.contains("://")
        };
        self.patterns.iter().flat_map(|pattern| pattern.split_whitespace()).any(is_relative)
    }

    /// Iterates over the pattern of each rule; `None` for a rule that covers every call of the tool.
    pub fn rules(&self) -> impl Iterator<Item = Option<&str>> {
        let general = self.patterns.is_empty().then_some(None);
        general.into_iter().chain(self.patterns.iter().map(|pattern| Some(pattern.as_str())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proposed_rules_are_parsed_from_their_line() {
        let rules = ProposedRules::parse("bash", " cargo  build* && npm test* ");
        assert_eq!(rules.patterns, ["cargo build*", "npm test*"]);
        assert_eq!(rules.line(), "cargo build* && npm test*");
        assert_eq!(ProposedRules::parse("bash", &rules.line()), rules);
        assert_eq!(ProposedRules::parse("bash", "make &&").patterns, ["make", ""], "a rule is missing");
    }

    #[test]
    fn proposed_rules_find_relative_paths() {
        let has = |line| ProposedRules::parse("bash", line).has_relative_path();
        for line in
            ["./run.sh *", "bash scripts/check.sh", "ls && rm -rf ../build", "x --out='a/b'", "src/**"]
        {
            assert!(has(line), "{line}");
        }
        for line in ["cargo test*", "/usr/bin/x ~/y", "x --out=/tmp/y", "curl https://example.com/x", ""] {
            assert!(!has(line), "{line}");
        }
    }

    #[test]
    fn proposed_rules_of_blank_line_cover_the_tool() {
        let rules = ProposedRules::parse("mcp__x__y", "  ");
        assert_eq!((rules.patterns.len(), rules.line().as_str()), (0, ""));
        assert_eq!(rules.rules().collect::<Vec<_>>(), [None]);
    }
}
