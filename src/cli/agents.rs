//! `tiller agents`: the agents to which tasks can be delegated.

use serde_json::json;

use super::args::{AgentsCommand, CliArgs};
use super::console::stderr_line;
use super::failure::{CliFailure, DONE};
use super::frontend::FrontEnd;
use super::scratch::ScratchDir;
use super::stdout::print_text;
use super::trust::{self, TrustPrompt};
use super::{resource_paths, startup};
use crate::agent::Resources;
use crate::agent::agents::AgentDefinition;

pub(super) fn run(arguments: &CliArgs, command: &AgentsCommand) -> Result<u8, CliFailure> {
    let AgentsCommand::List { json } = command;
    let (config, _) = trust::config(arguments, TrustPrompt::Nobody)?;
    let (cwd, scratch) = (startup::cwd(arguments)?, ScratchDir::choose(arguments, &config)?);
    let sources = resource_paths::resource_paths(arguments, &config, (&cwd, FrontEnd::Print), &scratch);
    let resources = Resources::load(sources);
    config.notices().for_each(|notice| stderr_line!("warning: {notice}"));
    resources.problems().iter().for_each(|problem| stderr_line!("warning: {problem}"));
    let agents = resources.agents();
    if *json {
        let agents: Vec<_> = agents.iter().map(view).collect();
        print_text(&(serde_json::to_string_pretty(&agents).map_err(CliFailure::run)? + "\n"))?;
    } else if agents.is_empty() {
        stderr_line!("no agents: the setting agents.enabled is off");
    } else {
        print_text(&agents.iter().map(line).collect::<String>())?;
    }
    Ok(DONE)
}

fn line(agent: &AgentDefinition) -> String {
    format!("{}  {}\n    {}\n", agent.name, agent.path.display(), agent.description)
}

fn view(agent: &AgentDefinition) -> serde_json::Value {
    json!({
        "name": agent.name,
        "description": agent.description,
        "path": agent.path,
        "tools": agent.tools,
        "excludedTools": agent.excluded_tools,
        "model": agent.model,
        "thinking": agent.thinking,
        "maxTurns": agent.max_turns,
        "maxTokens": agent.limit.tokens,
        "maxCostUsd": agent.limit.cost,
        "timeoutS": agent.timeout.map(|timeout| timeout.as_secs()),
        "skills": agent.skills,
        "approval": agent.approval.map(|mode| mode.name()),
        "isolation": agent.isolation.name(),
        "background": agent.background,
    })
}
