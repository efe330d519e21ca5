//! Starts the sessions of a server, each with the configuration of its working directory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Parser as _;
use tiller_server::{
    HostError, HostFuture, HostedSession, NewSession, RenderBody, RenderedEntries, ResumeRequest,
    SessionHost, SessionSettings, SkillSummary,
};
use tokio::task::spawn_blocking;

use crate::agent::Resources;
use crate::cli::args::{CliArgs, ModelArgs, ModelPrecedence};
use crate::cli::failure::{CliFailure, USAGE};
use crate::cli::frontend::FrontEnd;
use crate::cli::run_input::RunInput;
use crate::cli::scratch::ScratchDir;
use crate::cli::session_arguments::session_arguments;
use crate::cli::sessions::export;
use crate::cli::start::{run_blocking, start, wire};
use crate::cli::trust::{self, TrustPrompt};
use crate::cli::wiring::{self, ModelList, NoModel};
use crate::cli::wrong_settings::reject_wrong_settings;
use crate::cli::{resource_paths, startup};
use crate::html;
use crate::id::{EntryId, SessionId};
use crate::process;
use crate::provider::{Model, ModelError};
use crate::session::{
    DeleteMode, PageRequest, PendingDelete, Reader, SessionError, SessionManager, SessionScope,
    SessionSummary,
};

/// Maximum number of sessions to search for an exact match among those whose ids contain an id.
const MAX_SAME_ID: usize = 16;

/// Starts the sessions of a server.
#[derive(Clone)]
pub(super) struct SessionStarter {
    input: RunInput,
    html_worker: Option<Arc<Path>>,
    outlines: Arc<html::LiveOutlines>,
}

impl SessionStarter {
    pub(super) fn new(input: &RunInput) -> Self {
        let html_worker = process::this_program().ok().map(Arc::from);
        Self { input: input.clone(), html_worker, outlines: Arc::default() }
    }

    /// Runs file operations on a blocking thread.
    fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> Result<T, CliFailure> + Send + 'static,
    ) -> HostFuture<'static, T> {
        let this = self.clone();
        Box::pin(async move {
            match spawn_blocking(move || work(&this)).await {
                Ok(outcome) => outcome.map_err(host_error),
                Err(error) => Err(HostError::Internal(error.to_string())),
            }
        })
    }

    fn manager(&self) -> Result<SessionManager, CliFailure> {
        let RunInput { arguments, config, .. } = &self.input;
        Ok(wiring::manager(arguments, config, startup::cwd(arguments)?))
    }

    /// Builds the arguments of a session in a working directory.
    fn arguments(&self, workspace: &Path, more: Vec<String>) -> Result<CliArgs, CliFailure> {
        let mut line = session_arguments(&self.input.arguments, Some(workspace));
        line.extend(more);
        CliArgs::try_parse_from(line).map_err(CliFailure::usage)
    }

    /// Starts a session with the configuration of its working directory.
    async fn start(
        &self,
        workspace: PathBuf,
        line: Vec<String>,
        precedence: ModelPrecedence,
    ) -> Result<HostedSession, CliFailure> {
        let mut arguments = self.arguments(&workspace, line)?;
        arguments.model.precedence = precedence;
        // The server's key is for its provider, whichever model the session has.
        let RunInput { arguments: server, config, .. } = &self.input;
        arguments.model.api_key = server.model.api_key.clone();
        arguments.model.key_provider = wiring::key_provider(server, config).map(str::to_owned);
        let load = move |server: RunInput| {
            let (config, project) = trust::config(&arguments, TrustPrompt::Nobody)?;
            reject_wrong_settings(&config, FrontEnd::Server)?;
            config.notices().for_each(|notice| tracing::warn!("{notice}"));
            let (arguments, config) = (Arc::new(arguments), Arc::new(config));
            Ok(RunInput { arguments, config, project, trace: None, telemetry: server.telemetry })
        };
        let input = run_blocking(&self.input, load).await?;
        let wired = wire(&input, FrontEnd::Server).await?;
        let agent = start(&input, wired.parts).await?;
        wiring::add_local_models(&input, agent.clone());
        Ok(HostedSession { agent, resources: Box::new(wired.scratch) })
    }

    /// Finds the session with this id among those whose ids contain it.
    fn with_id(&self, id: &SessionId) -> Result<Option<SessionSummary>, CliFailure> {
        let found = self.manager()?.catalog()?.sessions_by_id(id.as_str(), MAX_SAME_ID)?;
        Ok(found.into_iter().find(|found| found.id == *id))
    }
}

/// Returns the arguments for a session's model: those of the client, else those of the server.
fn first_model_arguments(settings: SessionSettings, server: &ModelArgs) -> Vec<String> {
    let ModelArgs { model, provider, thinking, .. } = server;
    let is_chosen = settings.provider.is_some() || settings.model.is_some();
    let mut line = match is_chosen {
        true => model_arguments(settings),
        false => model_arguments(SessionSettings { provider: provider.clone(), model: model.clone() }),
    };
    line.extend(flag("--thinking", thinking.clone().filter(|_| !is_chosen)));
    line
}

/// Returns the arguments that choose a model.
fn model_arguments(settings: SessionSettings) -> Vec<String> {
    [flag("--provider", settings.provider), flag("--model", settings.model)].into_iter().flatten().collect()
}

fn flag(name: &str, value: Option<String>) -> Option<String> {
    value.map(|value| format!("{name}={value}"))
}

impl SessionHost for SessionStarter {
    fn create(&self, request: NewSession) -> HostFuture<'_, HostedSession> {
        Box::pin(async move {
            if request.approves_all && self.input.arguments.agent.approval.is_some() {
                let reason = "the server was started with an approval mode, so `autoApprove` isn't available";
                return Err(HostError::Invalid(reason.to_owned()));
            }
            let mut line = first_model_arguments(request.settings, &self.input.arguments.model);
            line.extend(request.name.map(|name| format!("--name={name}")));
            line.extend(request.approves_all.then(|| "--yes".to_owned()));
            self.start(request.workspace, line, ModelPrecedence::Arguments).await.map_err(host_error)
        })
    }

    fn resume(&self, request: ResumeRequest) -> HostFuture<'_, HostedSession> {
        Box::pin(async move {
            let precedence = match request.settings == SessionSettings::default() {
                true => ModelPrecedence::Session,
                false => ModelPrecedence::Arguments,
            };
            let mut line = first_model_arguments(request.settings, &self.input.arguments.model);
            line.push(format!("--session={}", request.log.display()));
            self.start(request.workspace, line, precedence).await.map_err(host_error)
        })
    }

    fn list(&self) -> HostFuture<'_, Vec<SessionSummary>> {
        self.blocking(|this| {
            let page = this.manager()?.catalog()?.page(SessionScope::Everywhere, PageRequest::default())?;
            page.unreadable.iter().for_each(|error| tracing::warn!(%error, "a session can't be listed"));
            Ok(page.sessions)
        })
    }

    fn search(&self, words: String, limit: usize) -> HostFuture<'_, Vec<SessionSummary>> {
        self.blocking(move |this| {
            let mut catalog = this.manager()?.catalog()?;
            catalog.refresh(SessionScope::Everywhere, |_| {})?;
            let hits = catalog.search_sessions(&words, SessionScope::Everywhere, limit)?;
            Ok(hits.into_iter().map(|hit| hit.session).collect())
        })
    }

    fn find(&self, id: SessionId) -> HostFuture<'_, Option<SessionSummary>> {
        self.blocking(move |this| this.with_id(&id))
    }

    fn delete(&self, log: PathBuf, mode: DeleteMode) -> HostFuture<'_, ()> {
        Box::pin(async move {
            let path = log.clone();
            let deleted = self.blocking(move |_| Ok(PendingDelete::lock(&log)?.remove(mode)?)).await;
            deleted.map(drop).map_err(|error| if_there(&path, error))
        })
    }

    fn export_html(&self, session: Reader) -> HostFuture<'_, Vec<u8>> {
        let log = session.path().map(Path::to_owned);
        let page = self.blocking(move |this| export::html_page(&session, this.html_worker.as_deref()));
        Box::pin(async move {
            page.await.map_err(|error| match log {
                Some(log) => if_there(&log, error),
                None => error,
            })
        })
    }

    fn page(&self) -> &'static str {
        html::live_page()
    }

    fn articles(&self, session: Reader, since: Option<EntryId>) -> HostFuture<'_, RenderedEntries> {
        self.blocking(move |this| {
            let html::LiveEntries { title, facts, preface, articles, outline, leaf, last } =
                this.outlines.entries(&session, since.as_ref())?;
            Ok(RenderedEntries { title, facts, preface, articles, outline, leaf, last_id: last })
        })
    }

    fn render(&self, body: RenderBody) -> HostFuture<'_, String> {
        self.blocking(move |_| {
            Ok(match body {
                RenderBody::Text { text } => html::render_text(&text),
                RenderBody::Markdown { text } => html::render_markdown(&text),
                RenderBody::Output { text } => html::render_output(&text),
                RenderBody::Diff { diff, path } => html::render_diff(&diff, &path),
                RenderBody::Call { name, arguments } => html::render_call(name, arguments),
            })
        })
    }

    fn models(&self) -> HostFuture<'_, Vec<Model>> {
        self.blocking(|this| {
            let RunInput { arguments, config, .. } = &this.input;
            let ModelList { providers, .. } = wiring::named_models(arguments, config)?;
            Ok(providers.models())
        })
    }

    fn skills(&self, workspace: PathBuf) -> HostFuture<'_, Vec<SkillSummary>> {
        self.blocking(move |this| {
            let arguments = this.arguments(&workspace, Vec::new())?;
            let (config, _) = trust::config(&arguments, TrustPrompt::Nobody)?;
            let scratch = ScratchDir::choose(&arguments, &config)?;
            let place = (&*workspace, FrontEnd::Server);
            let resources =
                Resources::load(resource_paths::resource_paths(&arguments, &config, place, &scratch));
            let skill = |skill: &crate::skill::Skill| SkillSummary {
                name: skill.name.clone(),
                description: skill.description.clone(),
            };
            Ok(resources.skills().iter().map(skill).collect())
        })
    }
}

/// Returns the error, or that the session is gone if another client has deleted its log.
fn if_there(log: &Path, error: HostError) -> HostError {
    if log.exists() { error } else { HostError::NotFound }
}

/// Converts a failure. Only messages without paths of this machine are sent to the client.
fn host_error(failure: CliFailure) -> HostError {
    // Hints are for the command line.
    if let Some(error) = failure.error.downcast_ref::<ModelError>() {
        return HostError::Invalid(error.without_hint());
    }
    if failure.error.is::<NoModel>() {
        return HostError::Invalid(failure.error.to_string());
    }
    match failure.error.downcast_ref::<SessionError>() {
        Some(SessionError::Locked { .. }) => return HostError::Locked,
        Some(SessionError::NoTrash { .. }) => return HostError::NoTrash,
        Some(SessionError::NotFound(_)) => return HostError::NotFound,
        Some(_) => return HostError::Internal(failure.text()),
        None => {}
    }
    if failure.code == USAGE {
        tracing::warn!(error = %failure.text(), "a client's session can't be started");
        let reason = "a session can't be started with these settings; the server's log has the reason";
        return HostError::Invalid(reason.to_owned());
    }
    HostError::Internal(failure.text())
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    fn line_of(server: &[&str], provider: Option<&str>, model: Option<&str>) -> String {
        let server = CliArgs::try_parse_from([&["tiller"], server, &["serve"]].concat()).unwrap();
        let settings =
            SessionSettings { provider: provider.map(str::to_owned), model: model.map(str::to_owned) };
        first_model_arguments(settings, &server.model).join(" ")
    }

    #[test]
    fn first_model_arguments_is_the_clients_or_the_servers() {
        let server = ["--provider", "openai", "--model", "gpt-5", "--thinking", "high"];
        assert_eq!(line_of(&server, None, None), "--provider=openai --model=gpt-5 --thinking=high");
        assert_eq!(line_of(&server, Some("demo"), None), "--provider=demo");
        assert_eq!(line_of(&server, None, Some("opus")), "--model=opus");
        assert_eq!(line_of(&server, Some("openai"), None), "--provider=openai");
        assert_eq!(line_of(&["--provider", "demo"], None, None), "--provider=demo");
        assert_eq!(line_of(&[], None, None), "");
    }

    #[test]
    fn host_error_has_neither_hints_nor_paths() {
        let no_key = ModelError::NoKey { model: "x/y".to_owned(), key_name: "X_API_KEY".to_owned() };
        for (failure, expected) in [
            (wiring::no_provider("anthropic"), "no API key for anthropic"),
            (CliFailure::usage(no_key).hint("run `tiller login`"), "no API key for x/y"),
        ] {
            let HostError::Invalid(reason) = host_error(failure) else { panic!() };
            assert_eq!(reason, expected);
        }
        let setting = CliFailure::usage(anyhow!("settings file /home/ann/settings.json: not valid JSON"));
        let HostError::Invalid(reason) = host_error(setting.hint("edit /home/ann")) else { panic!() };
        assert!(!reason.contains("ann"), "{reason}");
        let gone = SessionError::NotFound("no session file".to_owned());
        assert!(matches!(host_error(CliFailure::run(gone)), HostError::NotFound));
    }
}
