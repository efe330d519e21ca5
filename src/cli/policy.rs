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
use crate::agent::only_reads;
use crate::cli::console::stderr_line;
use crate::config::Config;
use crate::policy::{
    AllowReason, ExplainedCommand, Policy, PolicyVerdict, RuleDecision, SandboxStrength, SessionRules,
};
use crate::setting::ApprovalMode;
use crate::tool::built_in_tools;
use crate::tool_spec::{Access, ShownArgument, ToolSpec, ToolTraits};
use crate::workspace::{FileAccess, Workspace};

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
        return format!("no valid rules; add them under `policy.rules` in {}\n", path.display());
    }
    lines
}

/// The decisions of the policy on a command line.
struct Explanation {
    /// The decision on each command, and the command.
    commands: Result<Vec<(String, ExplainedCommand)>, String>,
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
        let (policy, workspace) = policy(arguments, config)?;
        let spec = shell_tool()?;
        let decide = |mode| {
            let policy = Policy { mode, ..policy.clone() };
            let verdict = policy.judge(&spec, &json!({ "command": line }), &SessionRules::default());
            (mode, describe(verdict, || reads_freely(&policy, &workspace, &spec, &line)))
        };
        let decisions = ApprovalMode::ALL.map(decide).to_vec();
        let commands = policy.explain(&spec, &line).map(|commands| {
            let describe = |command: &ExplainedCommand| command_decision(command, &policy, &workspace);
            commands.into_iter().map(|command| (describe(&command), command)).collect()
        });
        Ok(Self { commands, decisions, sandbox: policy.sandbox })
    }

    fn to_text(&self) -> String {
        let mut text = String::new();
        match &self.commands {
            Ok(commands) => {
                for (decision, command) in commands {
                    let _ = writeln!(text, "{}\n    {decision}", command.command);
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
        let command = |(decision, command): &(String, ExplainedCommand)| {
            let rule = command.rule.as_ref().map(|rule| {
                json!({ "rule": rule.to_string(), "decision": rule.decision().name(), "origin": rule.source().to_string() })
            });
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

/// Returns the policy of a session in the working directory, and the directories that its tools can access.
fn policy(arguments: &CliArgs, config: &Config) -> Result<(Policy, Workspace), CliFailure> {
    let cwd = startup::cwd(arguments)?;
    let sandbox = wiring::sandbox(config, &cwd);
    let protected = config.protected_paths(&cwd);
    let added = add_dir::dirs(&arguments.environment.add_dir, &cwd)?;
    let workspace = Workspace::new(&cwd).map_err(CliFailure::usage)?;
    let workspace = added.iter().fold(workspace, |it, (path, access)| it.with_dir(path, *access));
    let workspace = workspace.with_protected(config.private_dirs(&cwd));
    let added = added.into_iter().filter(|(_, access)| *access == FileAccess::Write);
    let writable = added.map(|(path, _)| path).collect();
    let strength = (sandbox.strength(), sandbox.listed().to_vec());
    let policy = wiring::policy(arguments, config, (cwd, protected), strength);
    Ok((Policy { writable, ..policy }, workspace))
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
fn command_decision(command: &ExplainedCommand, policy: &Policy, workspace: &Workspace) -> String {
    let rule = command.rule.as_ref().map(|rule| format!("rule: {rule} ({})", rule.source()));
    let described = describe(command.verdict.clone(), || only_reads(policy, workspace, &command.line));
    match (rule, &command.risk) {
        (Some(rule), Some(_)) => format!("{rule}; {described}"),
        (Some(rule), None) => rule,
        (None, None) if command.is_harmless_filter && !command.verdict.runs() => {
            "allow if the other commands are allowed: only prints, filters or changes the directory".into()
        }
        (None, _) => described,
    }
}

/// Returns true for a line that runs because it only reads. A rule that asks prevents that.
fn reads_freely(policy: &Policy, workspace: &Workspace, spec: &ToolSpec, line: &str) -> bool {
    let rule = policy.find_configured(spec, &json!({ "command": line }));
    rule.is_none_or(|rule| rule.decision() != RuleDecision::Ask) && only_reads(policy, workspace, line)
}

fn describe(verdict: PolicyVerdict, only_reads: impl Fn() -> bool) -> String {
    match verdict {
        PolicyVerdict::Allow => "allow".into(),
        PolicyVerdict::Granted(AllowReason::Setting(rule)) => format!("allow: {rule}"),
        PolicyVerdict::Granted(AllowReason::Yes) => "allow: --yes".into(),
        PolicyVerdict::Granted(AllowReason::Rule(rule)) => format!("allow: {rule}"),
        PolicyVerdict::Ask { .. } | PolicyVerdict::DenyUnlessReading { .. } if only_reads() => {
            "allow: only reads in the workspace".into()
        }
        PolicyVerdict::Ask { reason, .. } => format!("ask: {reason}"),
        PolicyVerdict::Deny { reason, .. } | PolicyVerdict::DenyUnlessReading { reason } => {
            format!("deny: {reason}")
        }
    }
}
