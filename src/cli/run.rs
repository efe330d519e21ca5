//! Runs a session with an agent and a front end.

use std::sync::Arc;

use anyhow::Context;
use tokio::signal::unix::{SignalKind, signal};

use super::args::{CliArgs, RaceArgs, ServeArgs};
use super::failure::CliFailure;
use super::frontend::{FrontEnd, Stdio};
use super::run_input::RunInput;
use super::telemetry::TelemetryExport;
use super::trace::EventTrace;
use super::trust::{self, TrustPrompt};
use super::wrong_settings::reject_wrong_settings;
use super::{attach, log, print, race, repl, rpc, serve, startup, themes, tui};
use crate::cli::console::stderr_line;

/// Runs a race, a non-interactive session.
pub(super) fn run_race(mut arguments: CliArgs, options: &RaceArgs) -> Result<u8, CliFailure> {
    if options.resume {
        arguments.session = arguments.session.or_most_recent();
    }
    let trust_prompt =
        if Stdio::from_process().stdin_is_terminal { TrustPrompt::Terminal } else { TrustPrompt::Nobody };
    run_session(arguments, FrontEnd::Print, trust_prompt, async |input| race::run(&input, options).await)
}

/// Runs the server. It doesn't ask for trust: stored decisions about projects apply.
pub(super) fn run_server(arguments: CliArgs, options: &ServeArgs) -> Result<u8, CliFailure> {
    run_session(arguments, FrontEnd::Server, TrustPrompt::Nobody, async |input| {
        serve::run(&input, options).await
    })
}

pub(super) fn run(arguments: CliArgs) -> Result<u8, CliFailure> {
    let stdio = Stdio::from_process();
    let front = FrontEnd::choose(&arguments, stdio);
    attach::check(&arguments, front)?;
    if let Some(notice) = stdio.fallback_notice(&arguments) {
        stderr_line!("{notice}");
    }
    let trust_prompt = if front.has_person() { TrustPrompt::Terminal } else { TrustPrompt::Nobody };
    run_session(arguments, front, trust_prompt, async |input| match front {
        FrontEnd::Tui => tui::run(input).await,
        FrontEnd::Print => print::run(&input).await,
        FrontEnd::Server => unreachable!("`tiller serve` chooses it"),
        FrontEnd::Rpc(_) => rpc::run(&input, front).await,
        FrontEnd::Plain(_) => repl::run(&input, front).await,
    })
}

/// Runs a session's task on an async runtime, after loading the configuration and starting the log.
fn run_session(
    arguments: CliArgs,
    front: FrontEnd,
    trust_prompt: TrustPrompt,
    body: impl AsyncFnOnce(RunInput) -> Result<u8, CliFailure>,
) -> Result<u8, CliFailure> {
    let (config, project) = trust::config(&arguments, trust_prompt)?;
    reject_wrong_settings(&config, front)?;
    if front != FrontEnd::Tui && !arguments.environment.theme.is_empty() {
        let cwd = startup::cwd(&arguments)?;
        for problem in themes::problems(&arguments, &config, (&cwd, project.as_ref())) {
            stderr_line!("warning: {problem}");
        }
    }
    let trace = arguments.environment.trace.as_deref().map(EventTrace::create).transpose()?.map(Arc::new);
    if let Some(warning) = log::begin(&config, log::LogTargets::choose(&arguments, front)) {
        stderr_line!("warning: {warning}");
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("can't start the async runtime").map_err(CliFailure::run)?;
    let outcome = runtime.block_on(async {
        ignore_file_size_signal();
        let telemetry = TelemetryExport::start(&config)?;
        let (arguments, config) = (Arc::new(arguments), Arc::new(config));
        let input =
            RunInput { arguments, config, project, trace: trace.clone(), telemetry: telemetry.clone() };
        let outcome = body(input).await;
        if let Some(trace) = trace {
            trace.finish().await;
        }
        if let Some(telemetry) = telemetry {
            telemetry.finish().await;
        }
        outcome
    });
    // If the user quits while a long log is being opened, don't wait for it.
    runtime.shutdown_background();
    outcome
}

/// Makes exceeding the file size limit (`ulimit -f`) a write error, which is reported, instead of a fatal
/// signal. Child processes don't inherit the handler.
fn ignore_file_size_signal() {
    if let Err(error) = signal(SignalKind::from_raw(nix::sys::signal::Signal::SIGXFSZ as i32)) {
        tracing::warn!(%error, "can't ignore SIGXFSZ; exceeding the file size limit would kill tiller");
    }
}
