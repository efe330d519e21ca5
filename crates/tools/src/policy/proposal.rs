//! Proposes settings rules for a call that needs approval. They cover only similar calls.

use std::path::Path;

use serde_json::Value;
use tiller_core::proposed_rules::ProposedRules;
use tiller_core::tool_spec::{Access, ToolSpec, TouchedPaths};

use super::command_rules::CommandRules;
use super::configured_rule::{RuleDecision, RuleSource};
use super::pattern::is_plain_name;
use super::risk::{JudgedCommand, Risk, RiskKind};
use super::{Policy, SessionRules, line_rules, network, risk};

/// Maximum length of a pattern in bytes: nobody reads a longer one, and a command that long isn't repeated.
const MAX_LINE: usize = 200;

/// Maximum number of patterns, for the same reason.
const MAX_PATTERNS: usize = 8;

/// Commands that build, check or test a project. They run the project's code regardless of further words.
const PROJECT_COMMANDS: &[&str] = &[
    "./gradlew build",
    "./gradlew test",
    "bun test",
    "cargo bench",
    "cargo build",
    "cargo check",
    "cargo clippy",
    "cargo doc",
    "cargo fmt",
    "cargo nextest run",
    "cargo test",
    "dotnet build",
    "dotnet test",
    "go build",
    "go test",
    "go vet",
    "gradle build",
    "gradle test",
    "mix test",
    "mvn compile",
    "mvn test",
    "npm test",
    "pnpm test",
    "poetry run pytest",
    "pytest",
    "python -m pytest",
    "python -m unittest",
    "python3 -m pytest",
    "python3 -m unittest",
    "swift build",
    "swift test",
    "tox",
    "uv run pytest",
    "yarn test",
];

/// Commands whose next word is the name of a project's script.
const SCRIPT_RUNNERS: &[&str] = &["bun run", "npm run", "pnpm run", "yarn run"];

/// Programs that only run the command in their arguments, which needs its own rule.
const PLAIN_WRAPPERS: &[&str] = &["nice", "nohup", "time", "timeout"];

/// The width of the patterns for commands without a risk.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PatternWidth {
    /// Any further words after a command that runs the project's code.
    Alike,
    /// Exactly the words of the command.
    Exact,
}

impl Policy {
    /// Proposes settings rules that allow a call. Returns `None` for calls that no rule should allow:
    /// protected paths, keys and passwords, the destruction of a system, code from the input, a dangerous
    /// command that runs other commands; and for calls that no rule can allow.
    #[must_use]
    pub fn propose(&self, spec: &ToolSpec, arguments: &Value) -> Option<ProposedRules> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str);
        let tree = Some(".").filter(|_| spec.traits.paths == TouchedPaths::Tree);
        let line = text("command").filter(|_| spec.traits.access == Access::Executes);
        let patterns = match (line, text("path").or(tree), text("url")) {
            (Some(line), _, _) => [PatternWidth::Alike, PatternWidth::Exact]
                .into_iter()
                .filter_map(|width| self.propose_for_line(&spec.name, line, width))
                .collect(),
            (None, Some(path), _) => self.propose_for_path(spec, arguments, path),
            (None, None, Some(address)) => {
                network::host_of(address).into_iter().map(|host| vec![globset::escape(&host)]).collect()
            }
            (None, None, None) => vec![Vec::new()],
        };
        let proposed =
            patterns.into_iter().map(|patterns| ProposedRules { tool: spec.name.clone(), patterns });
        proposed.into_iter().find(|proposed| self.is_allowed_with(proposed, spec, arguments))
    }

    /// Returns this policy with the proposed rules.
    ///
    /// # Errors
    /// If a pattern is malformed.
    pub fn with_proposed(&self, proposed: &ProposedRules) -> Result<Self, String> {
        let mut policy = self.clone();
        policy.rules.add_proposed(proposed, &RuleSource::Program(String::new()))?;
        Ok(policy)
    }

    fn is_allowed_with(&self, proposed: &ProposedRules, spec: &ToolSpec, arguments: &Value) -> bool {
        let policy = self.with_proposed(proposed);
        policy.is_ok_and(|policy| policy.judge(spec, arguments, &SessionRules::default()).runs())
    }

    /// Proposes a pattern for each command of a line that needs a rule.
    fn propose_for_line(&self, tool: &str, line: &str, width: PatternWidth) -> Option<Vec<String>> {
        let rules = CommandRules::new(&self.rules, tool);
        let dirs = self.context().with_rules(rules);
        let mut patterns = Vec::new();
        for JudgedCommand { written: segment, risks, .. } in risk::list_risks(line, dirs).ok()? {
            if line_rules::is_harmless_filter(&segment) {
                continue;
            }
            let runs = risk::list_run_commands(&segment.words).into_iter().filter(|run| run.needs_allow);
            let runs: Vec<Vec<String>> = runs.map(|run| run.words).collect();
            let of_runs = runs.iter().flat_map(|words| risk::list_command_risks(words, dirs));
            let runs_danger = runs.len() > 1 && !risks.is_empty();
            let runs_input =
                runs.iter().any(|words| risk::runs_any_input(words) && !is_project_command(words));
            if runs_danger
                || runs_input
                || risks.iter().cloned().chain(of_runs).any(|risk| never_has_rule(&risk))
            {
                return None;
            }
            let width = if risks.is_empty() { width } else { PatternWidth::Exact };
            for words in &runs {
                let is_covered = rules.find(words).is_some_and(|rule| rule.decision() == RuleDecision::Allow);
                if !is_covered || !risks.is_empty() {
                    let runs_other = runs.len() > 1 && Some(words) == runs.first();
                    patterns.push(pattern_for(words, width, runs_other)?);
                }
            }
        }
        patterns.dedup();
        (1..=MAX_PATTERNS).contains(&patterns.len()).then_some(patterns)
    }

    /// Proposes the directory of a path that is read, or the path.
    fn propose_for_path(&self, spec: &ToolSpec, arguments: &Value, path: &str) -> Vec<Vec<String>> {
        let real = self.context().resolve_path(path);
        let is_guarded = |path: &Path| self.is_guarded(path) || self.protected.is_secret(path);
        if is_guarded(&real) {
            return Vec::new();
        }
        let is_tree = spec.traits.paths == TouchedPaths::Tree;
        let reads = spec.traits.access_with(arguments) == Access::Reads;
        let dir = if is_tree { Some(&*real) } else { real.parent().filter(|_| reads) };
        let dir = dir.filter(|dir| dir.parent().is_some() && !is_guarded(dir));
        let is_inside = real.starts_with(&self.root);
        let dir = dir.filter(|_| !is_inside).map(|dir| format!("{}/**", self.path_pattern(dir)));
        dir.into_iter().chain([self.path_pattern(&real)]).map(|pattern| vec![pattern]).collect()
    }

    /// Formats a path as a pattern, relative to the working directory or the home directory.
    fn path_pattern(&self, path: &Path) -> String {
        let home = self.protected.homes.first().and_then(|home| path.strip_prefix(home).ok());
        match (path.strip_prefix(&self.root), home) {
            (Ok(inside), _) => globset::escape(&inside.display().to_string()),
            (Err(_), Some(rest)) => format!("~/{}", globset::escape(&rest.display().to_string())),
            (Err(_), None) => globset::escape(&path.display().to_string()),
        }
    }
}

fn never_has_rule(risk: &Risk) -> bool {
    match risk.kind {
        RiskKind::Destroys | RiskKind::WritesProtected | RiskKind::ReadsCredentials => true,
        RiskKind::Dangerous | RiskKind::WritesOutside => false,
    }
}

fn pattern_for(words: &[String], width: PatternWidth, runs_other: bool) -> Option<String> {
    let is_wrapper = runs_other && words.first().is_some_and(|name| PLAIN_WRAPPERS.contains(&name.as_str()));
    let alike = match width {
        PatternWidth::Alike if is_wrapper => Some(format!("{} *", words[0])),
        PatternWidth::Alike if !runs_other => alike_pattern(words),
        PatternWidth::Alike | PatternWidth::Exact => None,
    };
    alike.or_else(|| exact_pattern(words)).filter(|pattern| pattern.len() <= MAX_LINE)
}

/// Returns the number of words in the row that a command starts with.
fn length_of(rows: &[&str], words: &[String]) -> Option<usize> {
    let mut lengths = rows.iter().map(|row| (row, row.split(' ').count()));
    lengths.find(|(row, count)| row.split(' ').eq(words.iter().take(*count))).map(|(_, count)| count)
}

fn is_project_command(words: &[String]) -> bool {
    length_of(PROJECT_COMMANDS, words).is_some()
}

/// Returns the pattern with any further words for a command that runs the project's code anyway: one that
/// builds or tests it, or one of its scripts. `None` for any other command, because its further words may do
/// something else.
fn alike_pattern(words: &[String]) -> Option<String> {
    let word = |at: usize| words.get(at).map(String::as_str);
    let program = word(0)?;
    let script_of_interpreter =
        || risk::takes_script(program).then(|| word(1).is_some_and(is_script).then_some(2));
    let script = || (program.contains('/') && is_script(program)).then_some(1);
    let named_script = || {
        let count = length_of(SCRIPT_RUNNERS, words)?;
        word(count).is_some_and(is_plain_name).then_some(count + 1)
    };
    let count = length_of(PROJECT_COMMANDS, words)
        .or_else(named_script)
        .or_else(|| script_of_interpreter().unwrap_or_else(script))?;
    Some(exact_pattern(&words[..count])? + " *")
}

/// Returns true for a word that can only be a file in the working directory.
fn is_script(word: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    !word.starts_with(['-', '/']) && word.chars().all(is_plain) && !word.split('/').any(|part| part == "..")
}

/// Returns the pattern that covers exactly these words; `None` if no pattern can.
fn exact_pattern(words: &[String]) -> Option<String> {
    let is_plain = |c: char| c.is_alphanumeric() || (c.is_ascii_graphic() && c != '\\');
    let can_be_spelled = |word: &String| !word.is_empty() && word != "&&" && word.chars().all(is_plain);
    let escaped: Vec<String> = words.iter().map(|word| globset::escape(word)).collect();
    (!words.is_empty() && words.iter().all(can_be_spelled)).then(|| escaped.join(" "))
}

#[cfg(test)]
mod tests;
