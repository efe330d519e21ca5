//! The reference of the tools, which is made from their specs.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as they do")]

use std::fmt::Write as _;
use std::fs;

use serde_json::Value;
use tempfile::TempDir;
use tiller::agent::agents::{AgentRegistry, Delegation, DelegationLimits};
use tiller::process::Runner;
use tiller::tool::{GITHUB_API, GithubRepository, GithubToken, ToolEnvironment, Tools};
use tiller::tool_spec::{Access, ToolSet, ToolSpec};
use tiller::workspace::Workspace;

/// All built-in tools, with those for delegation.
fn tools() -> Tools {
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join(".git")).unwrap();
    let workspace = Workspace::new(dir.path()).unwrap();
    let github = GithubRepository::find("git@github.com:ada/conf", GITHUB_API, GithubToken::GhProgram);
    let tools = Tools::built_in(ToolEnvironment {
        github,
        ..ToolEnvironment::new(workspace, Runner::none(), "/scratch")
    });
    Delegation::new(AgentRegistry::default(), DelegationLimits::default()).add_tools(tools)
}

fn access(spec: &ToolSpec) -> String {
    let access = match spec.traits.access {
        Access::Reads => "reads",
        Access::Writes => "writes files",
        Access::Network => "reads from the network",
        Access::Publishes => "publishes in your name",
        Access::Executes => "runs programs",
    };
    match spec.traits.reads_without {
        Some(argument) => format!("{access}; only reads without `{argument}`"),
        None => access.to_owned(),
    }
}

fn arguments(schema: &Value, prefix: &str, page: &mut String) {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, property) in schema["properties"].as_object().unwrap() {
        let mark = if required.contains(&name.as_str()) { "" } else { "?" };
        let about = property["description"].as_str().unwrap().replace('|', "\\|").replace('\n', " ");
        writeln!(page, "| `{prefix}{name}`{mark} | {about} |").unwrap();
        if property["items"]["properties"].is_object() {
            arguments(&property["items"], &format!("{prefix}{name}[]."), page);
        }
    }
}

fn markdown() -> String {
    let mut page = String::new();
    let specs = tools().specs();
    for set in ToolSet::ALL.iter().filter(|set| **set != ToolSet::Mcp) {
        writeln!(page, "\n## Set `{}`", set.name()).unwrap();
        for spec in specs.iter().filter(|spec| spec.traits.set == Some(*set)) {
            writeln!(page, "\n### `{}`\n\n{}\n\n*Access:* {}.", spec.name, spec.description, access(spec))
                .unwrap();
            if spec.parameters["properties"].as_object().is_some_and(|properties| !properties.is_empty()) {
                page.push_str("\n| argument | meaning |\n|---|---|\n");
                arguments(&spec.parameters, "", &mut page);
            }
        }
    }
    page
}

#[test]
fn tools_page_matches_the_specs() {
    let page = fs::read_to_string(crate::source_code::root().join("docs/tools.md")).unwrap();
    let (_, rest) = page.split_once("<!-- tools -->\n").unwrap();
    let (tools, _) = rest.split_once("\n<!-- end of tools -->").unwrap();
    assert!(tools == markdown().trim_end(), "between its marks it is to be:\n{}", markdown().trim_end());
}
