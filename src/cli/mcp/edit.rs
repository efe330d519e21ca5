//! `tiller mcp add` and `tiller mcp remove`: the servers in the user's settings or in a project's
//! `.mcp.json`.

use anyhow::anyhow;
use serde_json::{Map, Value, json};

use crate::cli::args::{CliArgs, McpAddArgs};
use crate::cli::console::stderr_line;
use crate::cli::failure::{CliFailure, DONE};
use crate::cli::startup;
use crate::config::{AppDirs, Environment, ServerFile};
use crate::mcp::config::{ConfigOrigin, check_name, parse_servers};

pub(super) fn add(arguments: &CliArgs, server: &McpAddArgs) -> Result<u8, CliFailure> {
    let name = server.name.as_str();
    check_name(name).map_err(|problem| CliFailure::usage(anyhow!("{name}: {problem}")))?;
    let value = encode(server)?;
    let file = file(arguments, server.project)?;
    check(name, &value)?;
    let before = file.store(name, Some(value))?;
    let verb = if before.is_some() { "replaced" } else { "added" };
    stderr_line!("{verb} {name} in {}", file.path().display());
    stderr_line!("  hint: `tiller mcp test {name}` starts it and lists its tools");
    Ok(DONE)
}

pub(super) fn remove(arguments: &CliArgs, name: &str, project: bool) -> Result<u8, CliFailure> {
    let file = file(arguments, project)?;
    let missing = || {
        let error = anyhow!("{}: no MCP server named {name}", file.path().display());
        CliFailure::usage(error).hint("`tiller mcp list` shows the servers and their files")
    };
    if !file.path().exists() {
        return Err(missing());
    }
    if file.store(name, None)?.is_none() {
        return Err(missing());
    }
    // A settings file may also have the server under a second key, which would now take effect.
    while file.store(name, None)?.is_some() {}
    stderr_line!("removed {name} from {}", file.path().display());
    Ok(DONE)
}

fn file(arguments: &CliArgs, project: bool) -> Result<ServerFile, CliFailure> {
    if project {
        return Ok(ServerFile::of_project(&startup::cwd(arguments)?));
    }
    Ok(ServerFile::User(AppDirs::find(&Environment::of_process())?.config.join("settings.json")))
}

/// Rejects a server that couldn't be read back. Variables may be unset now and set later.
fn check(name: &str, value: &Value) -> Result<(), CliFailure> {
    let servers = json!({ name: value });
    let any_value = |_: &str| Some("x".to_owned());
    let parsed = parse_servers(&servers, &ConfigOrigin::Environment("arguments"), &any_value);
    match parsed.problems.into_iter().next() {
        // A URL that consists of a variable is checked when it is used.
        Some(problem) if !value["url"].as_str().is_some_and(|url| url.starts_with("${")) => {
            Err(CliFailure::usage(anyhow!(problem)))
        }
        Some(_) | None => Ok(()),
    }
}

/// Returns the configuration of a server from the arguments.
fn encode(server: &McpAddArgs) -> Result<Value, CliFailure> {
    let is_url = |text: &str| ["http://", "https://", "${"].iter().any(|start| text.starts_with(start));
    let mut value = match server.target.as_slice() {
        [url] if is_url(url) => json!({"type": "http", "url": url}),
        [url, ..] if url.contains("://") => return Err(CliFailure::usage(invalid_url(url))),
        [command] => json!({"command": command}),
        [command, args @ ..] => json!({"command": command, "args": args}),
        [] => return Err(CliFailure::usage(anyhow!("no command and no URL"))),
    };
    let is_http = value.get("url").is_some();
    if is_http && !server.env.is_empty() {
        return Err(CliFailure::usage(anyhow!("--env is for commands; a URL takes --header")));
    }
    if !is_http && !server.header.is_empty() {
        return Err(CliFailure::usage(anyhow!("--header is for URLs; a command takes --env")));
    }
    for (key, items, separator) in [("env", &server.env, '='), ("headers", &server.header, ':')] {
        if !items.is_empty() {
            value[key] = pairs(items, separator)?;
        }
    }
    if let Some(timeout) = server.timeout {
        value["timeout"] = timeout.into();
    }
    Ok(value)
}

/// Returns the error for a URL that isn't the only word or isn't the address of a server.
fn invalid_url(url: &str) -> anyhow::Error {
    match url.split_once("://") {
        Some(("http" | "https", _)) => anyhow!("a URL takes no arguments"),
        _ => anyhow!("`{url}`: MCP servers are reached through http:// or https:// URLs"),
    }
}

fn pairs(items: &[String], separator: char) -> Result<Value, CliFailure> {
    let pair = |item: &String| {
        let (name, value) = item
            .split_once(separator)
            .ok_or_else(|| CliFailure::usage(anyhow!("`{item}` is not NAME{separator}VALUE")))?;
        Ok((name.trim().to_owned(), Value::from(value.trim())))
    };
    Ok(Value::Object(items.iter().map(pair).collect::<Result<Map<_, _>, CliFailure>>()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(target: &[&str], env: &[&str], header: &[&str]) -> McpAddArgs {
        let owned = |items: &[&str]| items.iter().map(|&item| item.to_owned()).collect();
        McpAddArgs {
            name: "x".into(),
            target: owned(target),
            env: owned(env),
            header: owned(header),
            timeout: None,
            project: false,
        }
    }

    #[test]
    fn encode_tells_urls_from_commands() {
        let encoded = |target: &[&str], env: &[&str], header: &[&str]| {
            encode(&arguments(target, env, header)).map_err(|failure| failure.error.to_string())
        };
        assert_eq!(encoded(&["server"], &[], &[]), Ok(json!({"command": "server"})));
        assert_eq!(
            encoded(&["npx", "-y", "ws://x"], &["A=b=c"], &[]),
            Ok(json!({"command": "npx", "args": ["-y", "ws://x"], "env": {"A": "b=c"}}))
        );
        assert_eq!(
            encoded(&["https://x.org/mcp"], &[], &["X-Key: ${KEY}"]),
            Ok(json!({"type": "http", "url": "https://x.org/mcp", "headers": {"X-Key": "${KEY}"}}))
        );
        for (target, env, header, error) in [
            (&["http://x"][..], &["A=b"][..], &[][..], "--env is for commands; a URL takes --header"),
            (&["x"], &[], &["A: b"], "--header is for URLs; a command takes --env"),
            (&["x"], &["A"], &[], "`A` is not NAME=VALUE"),
            (&["ftp://x"], &[], &[], "`ftp://x`: MCP servers are reached through http:// or https:// URLs"),
            (&["https://x", "y"], &[], &[], "a URL takes no arguments"),
        ] {
            assert_eq!(encoded(target, env, header), Err(error.to_owned()));
        }
    }
}
