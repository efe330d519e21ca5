//! The command line: what was asked for, and the putting together of config, engines, agent and one front end.
//!
//! Here and in `main` errors are told to people: what happened, why, and what to do about it, on stderr, with an exit code.

mod added;
mod args;
mod assemble;
mod choose;
mod console;
mod extensions;
mod front;
mod held;
mod import;
mod input;
mod log;
mod login;
mod manual;
mod models;
mod out;
mod plain;
mod print;
mod progress;
mod remote;
mod rpc;
mod run;
mod screen;
mod sessions;
mod settings;
mod signals;
mod slip;
mod sources;
mod themes;
mod trace;
mod transcript;
mod trust;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;

use self::console::{stderr_line, stderr_text};
use args::{Arguments, Command};

/// The run ended as it should.
const DONE: u8 = 0;
/// The run failed: the provider, an abort, a forced final answer.
const FAILED: u8 = 1;
/// Wrong usage or configuration.
const USAGE: u8 = 2;
/// Interrupted from the keyboard.
const INTERRUPTED: u8 = 130;

/// An error with advice and an exit code.
#[derive(Debug)]
struct Failure {
    error: anyhow::Error,
    hint: Option<String>,
    code: u8,
}

impl Failure {
    fn usage(error: impl Into<anyhow::Error>) -> Self {
        Self { error: error.into(), hint: None, code: USAGE }
    }

    fn run(error: impl Into<anyhow::Error>) -> Self {
        Self { error: error.into(), hint: None, code: FAILED }
    }

    fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl From<crate::session::SessionError> for Failure {
    fn from(error: crate::session::SessionError) -> Self {
        let hint = error.hint().map(str::to_owned);
        Self { hint, ..Self::usage(error) }
    }
}

impl From<crate::config::ConfigError> for Failure {
    fn from(error: crate::config::ConfigError) -> Self {
        let hint = error.hint().map(str::to_owned);
        Self { hint, ..Self::usage(error) }
    }
}

/// Runs the program with these arguments, the first being its name.
#[must_use]
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    std::panic::set_hook(Box::new(|panic| stderr_line!("internal error: {panic}")));
    let typed: Vec<OsString> = arguments.into_iter().collect();
    // What stands behind it is a prompt, whatever it looks like.
    let is_plainly_said = typed.iter().any(|argument| argument == "--");
    let arguments = match Arguments::try_parse_from(typed) {
        Ok(arguments) => arguments,
        Err(error) => {
            // clap's own words; --help and --version come this way too, and are no failure.
            if error.use_stderr() {
                stderr_text!("{}", error.render());
            } else {
                let _ = error.print();
            }
            return ExitCode::from(if error.use_stderr() { USAGE } else { DONE });
        }
    };
    let words = if is_plainly_said { &[][..] } else { &arguments.message };
    match slip::refuse(words).and_then(|()| dispatch(arguments)) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            report(&failure);
            ExitCode::from(failure.code)
        }
    }
}

fn dispatch(arguments: Arguments) -> Result<u8, Failure> {
    match &arguments.command {
        Some(Command::Sessions(what)) => sessions::run(&arguments, what),
        Some(Command::Settings { json }) => settings::run(&arguments, *json),
        Some(Command::Login { provider }) => login::log_in(&arguments, provider.as_deref()),
        Some(Command::Logout { provider }) => login::log_out(&arguments, provider.as_deref()),
        Some(Command::Models { query, json }) => models::run(&arguments, query.as_deref(), *json),
        Some(Command::Completions { shell }) => manual::completions(*shell),
        Some(Command::Man) => manual::man_page(),
        None => run::run(arguments),
    }
}

fn report(failure: &Failure) {
    stderr_line!("error: {:#}", failure.error);
    if let Some(hint) = &failure.hint {
        stderr_line!("  hint: {hint}");
    }
}
