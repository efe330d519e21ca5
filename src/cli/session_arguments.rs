//! The command line of a session that a server starts.

use std::path::Path;

use clap::ValueEnum as _;
use clap::builder::PossibleValue;

use super::args::CliArgs;

/// Returns the command line for a prompt in this directory, with the server's global options and those that
/// limit the agent.
pub(super) fn session_arguments(arguments: &CliArgs, cwd: Option<&Path>) -> Vec<String> {
    let mut line = vec!["tiller".to_owned(), "-p".to_owned()];
    let mut add = |flag: &str, value: Option<String>| {
        line.extend(value.map(|value| format!("{flag}={value}")));
    };
    let environment = &arguments.environment;
    add("--cwd", cwd.map(|path| path.display().to_string()));
    add("--env-file", environment.env_file.as_ref().map(|path| path.display().to_string()));
    add("--session-dir", arguments.session.session_dir.clone());
    // The new command line limits the agent as this one does.
    let agent = &arguments.agent;
    let name = |value: Option<PossibleValue>| value.map(|value| value.get_name().to_owned());
    add("--max-turns", agent.max_turns.clone());
    add("--tools", agent.tools.clone());
    add("--approval", name(agent.approval.and_then(|mode| mode.to_possible_value())));
    add("--sandbox", name(agent.sandbox.and_then(|mode| mode.to_possible_value())));
    line.extend(agent.no_tools.then(|| "--no-tools".to_owned()));
    line
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[test]
    fn session_arguments_keep_the_limits() {
        let line = |words: &[&str]| {
            let arguments =
                CliArgs::try_parse_from([&["tiller"], words, &["mcp", "serve"]].concat()).unwrap();
            session_arguments(&arguments, arguments.environment.cwd.as_deref())[2..].join(" ")
        };
        assert_eq!(line(&["--no-tools"]), "--no-tools");
        assert_eq!(
            line(&[
                "--max-turns",
                "5",
                "--tools",
                "read_file",
                "--approval",
                "read-only",
                "--sandbox",
                "workspace",
                "--cwd",
                "/x"
            ]),
            "--cwd=/x --max-turns=5 --tools=read_file --approval=read-only --sandbox=workspace"
        );
    }
}
