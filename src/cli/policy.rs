//! `tiller policy`: the permission rules, and the decisions on a command line.

use std::fmt::Write as _;
use std::sync::Arc;

use anyhow::Context;
use serde_json::{Value, json};

use super::args::{CliArgs, PolicyCommand};
use super::failure::{CliFailure, DONE};
use super::stdout::print_text;
use super::trust::{self, TrustPrompt};
use super::{add_dir, startup, wiring};
use crate::cli::console::stderr_line;
use crate::config::Config;
use crate::policy::{AllowReason, ExplainedCommand, Policy, PolicyVerdict, SandboxStrength, SessionRules};
use crate::setting::ApprovalMode;
use crate::tool::built_in_tools;
use crate::tool_spec::{Access, ShownArgument, ToolSpec, ToolTraits};
use crate::workspace::FileAccess;

/// Runs a subcommand of `tiller policy`.
pub(super) fn run(arguments: &CliArgs, command: &PolicyCommand) -> Result<u8, CliFailure> {
    let (config, _) = trust::config(arguments, TrustPrompt::Nobody)?;
    for warning in config.notices() {
        stderr_line!("warning: {warning}");
    }
    match command {
        PolicyCommand::Rules => print_text(&list_rules(&config))?,
        PolicyCommand::Explain { command, json } => {
            let explanation = Explanation::new(arguments, &config, command)?;
            print_text(&if *json { explanation.to_json() } else { explanation.to_text() })?;
        }
    }
    Ok(DONE)
}

fn list_rules(config: &Config) -> String {
    let line = |rule: &crate::policy::ConfiguredRule| format!("{:<44} {}\n", rule.to_string(), rule.source());
    let lines: String = config.rules.iter().map(line).collect();
    if lines.is_empty() {
        let path = config.dirs.config.join("settings.json");
        return format!("no rules; add them under `policy.rules` in {}\n", path.display());
    }
    lines
}

/// The decisions of the policy on a command line.
struct Explanation {
    commands: Result<Vec<ExplainedCommand>, String>,
    /// The decision in each mode.
    decisions: Vec<(ApprovalMode, String)>,
    sandbox: SandboxStrength,
}

impl Explanation {
    fn new(arguments: &CliArgs, config: &Config, command: &[String]) -> Result<Self, CliFailure> {
        let line = match command {
            [line] => line.clone(),
            words => shlex::try_join(words.iter().map(String::as_str)).map_err(CliFailure::usage)?,
        };
        let policy = policy(arguments, config)?;
        let spec = shell_tool()?;
        let decide = |mode| (mode, decision(&Policy { mode, ..policy.clone() }, &spec, &line));
        let decisions = ApprovalMode::ALL.map(decide).to_vec();
        Ok(Self { commands: policy.explain(&spec, &line), decisions, sandbox: policy.sandbox })
    }

    fn to_text(&self) -> String {
        let mut text = String::new();
        match &self.commands {
            Ok(commands) => {
                for command in commands {
                    let _ = writeln!(text, "{}", command.command);
                    let _ = writeln!(text, "    {}", command_decision(command));
                }
            }
            Err(reason) => text.push_str(&format!("{reason}\n")),
        }
        text.push('\n');
        for (mode, decision) in &self.decisions {
            let _ = writeln!(text, "{:<10} {decision}", mode.name());
        }
        let _ = writeln!(text, "\n{}", describe_sandbox(self.sandbox));
        text
    }

    fn to_json(&self) -> String {
        let command = |command: &ExplainedCommand| {
            let rule = command.rule.as_ref().map(|rule| {
                json!({ "rule": rule.to_string(), "decision": rule.decision().name(), "origin": rule.source().to_string() })
            });
            let decision = command_decision(command);
            json!({ "command": command.command, "decision": decision, "risk": command.risk, "rule": rule })
        };
        let commands: Option<Vec<Value>> =
            self.commands.as_ref().ok().map(|commands| commands.iter().map(command).collect());
        let decisions: serde_json::Map<String, Value> =
            self.decisions.iter().map(|(mode, decision)| (mode.name().to_owned(), json!(decision))).collect();
        let error = self.commands.as_ref().err();
        format!(
            "{:#}\n",
            json!({ "commands": commands, "error": error, "decisions": decisions, "sandbox": self.sandbox != SandboxStrength::None })
        )
    }
}

fn policy(arguments: &CliArgs, config: &Config) -> Result<Policy, CliFailure> {
    let cwd = startup::cwd(arguments)?;
    let sandbox = wiring::sandbox(config, &cwd);
    let protected = config.protected_paths(&cwd);
    let added = add_dir::dirs(&arguments.environment.add_dir, &cwd)?.into_iter();
    let writable = added.filter(|(_, access)| *access == FileAccess::Write).map(|(path, _)| path).collect();
    let strength = (sandbox.strength(), sandbox.listed().to_vec());
    Ok(Policy { writable, ..wiring::policy(arguments, config, (cwd, protected), strength) })
}

/// Returns the built-in tool that runs command lines.
fn shell_tool() -> Result<ToolSpec, CliFailure> {
    let catalog = built_in_tools();
    let runs_lines = |traits: &ToolTraits| {
        traits.access == Access::Executes && traits.shown_argument == ShownArgument::Named("command")
    };
    let found = catalog.iter().find(|(_, traits)| runs_lines(traits));
    let (name, traits) = found.context("no built-in tool runs command lines").map_err(CliFailure::run)?;
    let parameters = Arc::new(Value::Null);
    Ok(ToolSpec { name: name.to_owned(), description: String::new(), parameters, traits })
}

const fn describe_sandbox(strength: SandboxStrength) -> &'static str {
    match strength {
        SandboxStrength::None => "Commands run without a sandbox.",
        SandboxStrength::Writes => "Commands run in the sandbox, which restricts writes.",
        SandboxStrength::WritesAndTcp => {
            "Commands run in the sandbox, which restricts writes and blocks TCP."
        }
    }
}

/// Formats the decision on one command of a line.
fn command_decision(command: &ExplainedCommand) -> String {
    let rule = command.rule.as_ref().map(|rule| format!("rule: {rule} ({})", rule.source()));
    let described = describe(command.verdict.clone(), || command.only_reads);
    match (rule, &command.risk) {
        (Some(rule), Some(_)) => format!("{rule}; {described}"),
        (Some(rule), None) => rule,
        (None, None) if command.is_harmless_filter && !command.verdict.runs() => {
            "allow if the other commands are allowed: only prints, filters or changes the directory".into()
        }
        (None, _) => described,
    }
}

fn decision(policy: &Policy, spec: &ToolSpec, line: &str) -> String {
    let verdict = policy.judge(spec, &json!({ "command": line }), &SessionRules::default());
    describe(verdict, || policy.only_reads(line))
}

fn describe(verdict: PolicyVerdict, only_reads: impl Fn() -> bool) -> String {
    match verdict {
        PolicyVerdict::Allow => "allow".into(),
        PolicyVerdict::Granted(AllowReason::Setting(rule)) => format!("allow: {rule}"),
        PolicyVerdict::Granted(AllowReason::Yes) => "allow: --yes".into(),
        PolicyVerdict::Granted(AllowReason::Rule(rule)) => format!("allow: {rule}"),
        PolicyVerdict::Ask { .. } if only_reads() => {
            "allow if it reads only inside the workspace; otherwise ask".into()
        }
        PolicyVerdict::DenyUnlessReading { .. } if only_reads() => {
            "allow if it reads only inside the workspace; otherwise deny".into()
        }
        PolicyVerdict::Ask { reason, .. } => format!("ask: {reason}"),
        PolicyVerdict::Deny { reason, .. } | PolicyVerdict::DenyUnlessReading { reason } => {
            format!("deny: {reason}")
        }
    }
}
