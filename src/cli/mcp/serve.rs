//! `tiller mcp serve`: sessions as an MCP server on stdin and stdout.

use std::sync::Arc;

use anyhow::{Context, anyhow};
use clap::Parser as _;
use tokio::task::spawn_blocking;

use crate::agent::PromptOptions;
use crate::cli::args::CliArgs;
use crate::cli::failure::{CliFailure, DONE};
use crate::cli::frontend::FrontEnd;
use crate::cli::run_input::RunInput;
use crate::cli::session_arguments::session_arguments;
use crate::cli::sessions::output::branch;
use crate::cli::start::{start, wire};
use crate::cli::telemetry::TelemetryExport;
use crate::cli::trust::{self, TrustPrompt};
use crate::cli::{log, startup, transcript, wiring};
use crate::config::Config;
use crate::event::RunOutcome;
use crate::mcp::{ServedScope, SessionReply, SessionService, serve_sessions};
use crate::print::{self, PrintOutput};
use crate::session::{PageRequest, Reader, SessionManager, SessionScope};

pub(super) fn run(arguments: &CliArgs) -> Result<u8, CliFailure> {
    let (config, project) = trust::config(arguments, TrustPrompt::Nobody)?;
    // Stdout belongs to the client, so warnings go to the log.
    let warnings = config.notices().chain(log::begin(&config, log::LogTargets::for_command(arguments)));
    warnings.for_each(|warning| tracing::warn!("{warning}"));
    let cwd = arguments.environment.cwd.as_deref();
    let line = session_arguments(arguments, cwd);
    let prompt_arguments = CliArgs::try_parse_from(&line).map_err(CliFailure::usage)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.context("can't start the async runtime").map_err(CliFailure::run)?;
    runtime.block_on(async {
        let telemetry = TelemetryExport::start(&config)?;
        let (arguments, config) = (Arc::new(prompt_arguments), Arc::new(config));
        let input = RunInput { arguments, config, project, trace: None, telemetry: telemetry.clone() };
        let outcome = serve_sessions(ServedSessions { input, line: line.into() }).await;
        if let Some(telemetry) = telemetry {
            telemetry.finish().await;
        }
        outcome.map_err(CliFailure::run)
    })?;
    // A pending read of stdin would block the shutdown.
    runtime.shutdown_background();
    Ok(DONE)
}

#[derive(Clone)]
struct ServedSessions {
    input: RunInput,
    /// The command line for a prompt in a new session.
    line: Arc<[String]>,
}

impl ServedSessions {
    fn manager(&self) -> Result<SessionManager, CliFailure> {
        let RunInput { arguments, config, .. } = &self.input;
        Ok(wiring::manager(arguments, config, startup::cwd(arguments)?))
    }

    /// Runs file operations on a blocking thread.
    fn query(
        &self,
        work: impl FnOnce(&SessionManager, &Config) -> Result<String, CliFailure> + Send + 'static,
    ) -> SessionReply<'static> {
        let this = self.clone();
        Box::pin(async move {
            let job = move || this.manager().and_then(|manager| work(&manager, &this.input.config));
            match spawn_blocking(job).await {
                Ok(outcome) => outcome.map_err(|failure| message(&failure)),
                Err(_) => Err("internal error".to_owned()),
            }
        })
    }

    async fn run_prompt(&self, session: Option<String>, text: String) -> Result<String, CliFailure> {
        let mut line = self.line.to_vec();
        line.extend(session.map(|session| format!("--session={session}")));
        let arguments = Arc::new(CliArgs::try_parse_from(line).map_err(CliFailure::usage)?);
        let input = RunInput { arguments, ..self.input.clone() };
        let wired = wire(&input, FrontEnd::Print).await?;
        let _scratch = wired.scratch;
        let agent = start(&input, wired.parts).await?;
        let id = agent.reader().id().clone();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let prompt = (text, PromptOptions::default());
        let outcome = print::run(&agent, prompt, PrintOutput::Text, &mut out, &mut err).await;
        let _ = agent.close().await;
        let outcome = outcome.map_err(CliFailure::run)?;
        let (answer, notes) = (String::from_utf8_lossy(&out), String::from_utf8_lossy(&err));
        if !matches!(outcome, RunOutcome::Completed | RunOutcome::MaxTurns) {
            return Err(CliFailure::run(anyhow!("{answer}{notes}\n(session {id})")));
        }
        // Warnings aren't part of the answer.
        notes.lines().for_each(|warning| tracing::warn!(session = %id, "{warning}"));
        Ok(format!("{answer}\n(session {id})"))
    }
}

impl SessionService for ServedSessions {
    fn list(&self, scope: ServedScope, limit: usize) -> SessionReply<'_> {
        self.query(move |manager, _| {
            let page = PageRequest { offset: 0, limit: Some(limit) };
            json(&manager.catalog()?.page(session_scope(scope), page)?.sessions)
        })
    }

    fn search(&self, query: String, scope: ServedScope, limit: usize) -> SessionReply<'_> {
        self.query(move |manager, _| {
            let mut catalog = manager.catalog()?;
            catalog.refresh(session_scope(scope), |_| {})?;
            json(&catalog.search(&query, session_scope(scope), limit)?)
        })
    }

    fn read(&self, session: String) -> SessionReply<'_> {
        self.query(move |manager, config| {
            let reader = Reader::open(&manager.find(&session)?)?;
            let whole = transcript::transcript(&branch(&reader)?);
            let end = wiring::output_limits(config).tail(&whole).text;
            let left_out = whole.len() - end.len();
            Ok(if left_out == 0 { whole } else { format!("[{left_out} earlier bytes omitted]\n{end}") })
        })
    }

    fn prompt(&self, session: Option<String>, text: String) -> SessionReply<'_> {
        Box::pin(async move { self.run_prompt(session, text).await.map_err(|failure| message(&failure)) })
    }
}

fn session_scope(scope: ServedScope) -> SessionScope {
    match scope {
        ServedScope::Directory => SessionScope::ThisDirectory,
        ServedScope::Everywhere => SessionScope::Everywhere,
    }
}

fn json(value: &impl serde::Serialize) -> Result<String, CliFailure> {
    serde_json::to_string_pretty(value).map_err(|error| CliFailure::run(anyhow!(error)))
}

fn message(failure: &CliFailure) -> String {
    match &failure.hint {
        Some(hint) => format!("{} ({hint})", failure.text()),
        None => failure.text(),
    }
}
