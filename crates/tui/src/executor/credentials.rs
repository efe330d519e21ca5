//! API keys of providers, and imports from other programs.

use tiller_core::suggest;
use tiller_engine::{AgentError, CredentialChange};
use tokio::task::spawn_blocking;

use crate::clock::now;
use crate::executor::ExecutorWorker;
use crate::list_kind::ListKind;
use crate::login::{LoginRequest, LoginResult};
use crate::message::{ListResult, TaskResult};
use crate::picker::line_prompt::StatusText;
use crate::text::one_line;
use crate::{import, picker};

impl ExecutorWorker {
    /// Lists the providers and the sources of their keys.
    pub(super) async fn credentials(&self, list: ListKind) -> Vec<TaskResult> {
        let Some(service) = self.options.services.keys.clone() else { return vec![no_key_store()] };
        match spawn_blocking(move || service.list()).await {
            Ok(Ok(credentials)) if list == ListKind::Logins => {
                picker::credentials::login_results(&credentials).map(TaskResult::List).into()
            }
            Ok(Ok(credentials)) => {
                let items = picker::credentials::logouts(&credentials);
                vec![TaskResult::List(ListResult::Items { items, selected: 0 })]
            }
            Ok(Err((message, hint))) => vec![TaskResult::Failed { message, hint, text: None }],
            Err(_) => vec![no_key_store()],
        }
    }

    /// Stores or removes a key, then updates the provider in the agent.
    pub(super) async fn change_key(&self, request: LoginRequest) -> Result<Vec<TaskResult>, AgentError> {
        let Some(service) = self.options.services.keys.clone() else { return Ok(vec![no_key_store()]) };
        let store = service.clone();
        let is_typed = matches!(request, LoginRequest::Store(..));
        if let LoginRequest::Remove(provider) = &request
            && let Some(slip) = self.unknown_provider(provider).await
        {
            return Ok(vec![slip]);
        }
        let changed = spawn_blocking(move || match request {
            LoginRequest::Store(provider, key) => store.store(&provider, &key.secret()),
            LoginRequest::Remove(provider) => store.remove(&provider),
        });
        let CredentialChange { change, message, hint } = match changed.await {
            Ok(Ok(change)) => change,
            // Shown in the list, next to the line where the key was typed.
            Ok(Err((message, hint))) if is_typed => {
                let message = hint.map_or(message.clone(), |hint| format!("{message}: {hint}"));
                return Ok(vec![TaskResult::List(ListResult::Status(StatusText::error(one_line(&message))))]);
            }
            Ok(Err((message, hint))) => return Ok(vec![TaskResult::Failed { message, hint, text: None }]),
            Err(_) => return Ok(vec![no_key_store()]),
        };
        let outcome = self.agent.change_key(&service, change).await?;
        Ok(vec![TaskResult::Login(LoginResult { message, hint, outcome })])
    }

    /// Reports an unknown provider in `/logout`.
    async fn unknown_provider(&self, provider: &str) -> Option<TaskResult> {
        let service = self.options.services.keys.clone()?;
        let credentials = spawn_blocking(move || service.list()).await.ok()?.ok()?;
        let names = || credentials.iter().map(|credential| credential.provider.as_str());
        if names().any(|name| name == provider) {
            return None;
        }
        let suggestion = suggest::nearest(provider, names());
        let suggestion = suggestion
            .map_or("/login lists the providers".to_owned(), |name| format!("did you mean {name}?"));
        let message = format!("unknown provider `{}`; {}", one_line(provider), one_line(&suggestion));
        Some(TaskResult::invalid_input(format!("/logout {provider}"), (message, None)))
    }

    /// Lists the logs of other programs.
    pub(super) async fn foreign_logs(&self) -> Vec<TaskResult> {
        let Some(service) = self.options.services.importer.clone() else { return vec![no_importer()] };
        vec![match spawn_blocking(move || service.find()).await {
            Ok(Ok(found)) => {
                let home = self.options.home.as_deref();
                let items = match found.logs.as_slice() {
                    [] => picker::foreign_logs::searched_places(&found.looked_in, home),
                    logs => picker::foreign_logs::foreign_logs(logs, now()),
                };
                TaskResult::List(ListResult::Items { items, selected: 0 })
            }
            Ok(Err((message, hint))) => TaskResult::Failed { message, hint, text: None },
            Err(_) => no_importer(),
        }]
    }

    /// Imports the log or directory that the user typed or chose.
    pub(super) async fn import(
        &self,
        typed: String,
        background: &mut tokio::task::JoinSet<()>,
    ) -> Result<Vec<TaskResult>, AgentError> {
        let Some(service) = self.options.services.importer.clone() else { return Ok(vec![no_importer()]) };
        let cwd = self.agent.state().await?.state.cwd;
        self.read_in_background(background, move || match service.import(&cwd, &typed) {
            Ok(imported) => import::import_result(&imported, &typed),
            Err(trouble) => TaskResult::invalid_input(format!("/import {typed}"), trouble),
        });
        Ok(Vec::new())
    }
}

fn no_key_store() -> TaskResult {
    TaskResult::List(ListResult::Status(StatusText::error("API keys can't be stored here")))
}

fn no_importer() -> TaskResult {
    TaskResult::List(ListResult::Status(StatusText::error("import is not available")))
}
