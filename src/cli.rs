//! The command line: argument parsing, and the wiring of configuration, engine and one front end.
//!
//! Errors end here and in `main`: stderr gets the error, its cause and a hint; the process ends with an exit
//! code.

mod add_dir;
mod agents;
mod args;
mod attach;
mod console;
mod doctor;
mod extensions;
mod failure;
mod first_prompt;
mod frontend;
mod git_remote;
mod import;
mod locked;
mod log;
mod login;
mod manual;
mod mcp;
mod models;
mod policy;
mod print;
mod progress;
mod race;
mod repl;
mod resource_paths;
mod resume;
mod rpc;
mod rules;
mod run;
mod run_input;
mod scratch;
mod serve;
mod session_arguments;
mod sessions;
mod settings;
mod signals;
mod start;
mod startup;
mod stats;
mod stdout;
mod telemetry;
mod themes;
mod tool_servers;
mod trace;
mod transcript;
mod trust;
mod trusted_project;
mod tui;
mod typo;
mod wiring;
mod wrong_settings;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use self::console::{stderr_line, stderr_text};
use args::{CliArgs, CliCommand, ModelsCommand};
use failure::{CliFailure, DONE, USAGE};

/// Runs the program with these arguments; the first is the program's name.
#[must_use]
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    std::panic::set_hook(Box::new(|panic| stderr_line!("internal error: {panic}")));
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    // After `--`, all arguments are the prompt.
    let has_separator = arguments.iter().any(|argument| argument == "--");
    let arguments = match CliArgs::try_parse_from(&arguments) {
        Ok(arguments) => arguments,
        Err(mut error) => {
            typo::explain_order(&mut error, &arguments);
            // clap's own message; `--help` and `--version` also arrive as errors.
            if error.use_stderr() {
                stderr_text!("{}", error.render());
            } else {
                let _ = error.print();
            }
            return ExitCode::from(if error.use_stderr() { USAGE } else { DONE });
        }
    };
    let words = if has_separator { &[][..] } else { &arguments.message };
    match typo::refuse(words).and_then(|()| dispatch(arguments)) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            report(&failure);
            ExitCode::from(failure.code)
        }
    }
}

fn dispatch(arguments: CliArgs) -> Result<u8, CliFailure> {
    match &arguments.command {
        Some(CliCommand::Sessions(command)) => sessions::run(&arguments, command),
        Some(CliCommand::Settings { json }) => settings::run(&arguments, *json),
        Some(CliCommand::Doctor { json }) => doctor::run(&arguments, *json),
        Some(CliCommand::Policy(command)) => policy::run(&arguments, command),
        Some(CliCommand::Login { provider }) => login::log_in(&arguments, provider.as_deref()),
        Some(CliCommand::Logout { provider }) => login::log_out(&arguments, provider),
        Some(CliCommand::Models { command: Some(ModelsCommand::Refresh { provider }), .. }) => {
            models::refresh::run(&arguments, provider.as_deref())
        }
        Some(CliCommand::Models { query, json, .. }) => models::run(&arguments, query.as_deref(), *json),
        Some(CliCommand::Stats { days, json }) => stats::run(&arguments, *days, *json),
        Some(CliCommand::Mcp(command)) => mcp::run(&arguments, command),
        Some(CliCommand::Completions { shell }) => manual::completions(*shell),
        Some(CliCommand::Man) => manual::man_page(),
        Some(CliCommand::Agents(command)) => agents::run(&arguments, command),
        Some(CliCommand::Race(race)) => {
            let race = race.clone();
            run::run_race(arguments, &race)
        }
        Some(CliCommand::Serve(serve)) => {
            let serve = serve.clone();
            run::run_server(arguments, &serve)
        }
        None => run::run(arguments),
    }
}

fn report(failure: &CliFailure) {
    stderr_line!("error: {}", failure.text());
    if let Some(hint) = &failure.hint {
        stderr_line!("  hint: {hint}");
    }
}
