//! API keys of providers, and imports from other programs.

use tiller_core::suggest;
use tiller_engine::{AgentError, CredentialChange};
use tokio::task::spawn_blocking;

use super::{ExecutorWorker, now};
use crate::app::{ListKind, ListResult, TaskOrigin, TaskResult};
use crate::import;
use crate::login::{self, LoginRequest, LoginResult};
use crate::picker::StatusText;
use crate::tool_call::one_line;

impl ExecutorWorker {
    /// The providers and the sources of their keys.
    pub(super) async fn credentials(&self, list: ListKind) -> Vec<TaskResult> {
        let Some(desk) = self.options.desks.keys.clone() else { return vec![no_key_store()] };
        vec![match spawn_blocking(move || desk.list()).await {
            Ok(Ok(holders)) => {
                let items =
                    if list == ListKind::Logins { login::logins(&holders) } else { login::logouts(&holders) };
                TaskResult::List(ListResult::Items { list, items, selected: 0 })
            }
            Ok(Err((what, hint))) => TaskResult::Failed { what, hint, text: None },
            Err(_) => no_key_store(),
        }]
    }

    /// Stores or removes a key, then updates the provider in the agent.
    pub(super) async fn change_key(&self, order: LoginRequest) -> Result<Vec<TaskResult>, AgentError> {
        let Some(desk) = self.options.desks.keys.clone() else { return Ok(vec![no_key_store()]) };
        let asked = desk.clone();
        let is_typed = matches!(order, LoginRequest::Keep(..));
        if let LoginRequest::Forget(provider) = &order
            && let Some(slip) = self.unknown_provider(provider).await
        {
            return Ok(vec![slip]);
        }
        let changed = spawn_blocking(move || match order {
            LoginRequest::Keep(provider, key) => asked.keep(&provider, &key.secret()),
            LoginRequest::Forget(provider) => asked.forget(&provider),
        });
        let CredentialChange { change, said, hint } = match changed.await {
            Ok(Ok(change)) => change,
            // Reported in the list, next to the line where the key was typed.
            Ok(Err((what, hint))) if is_typed => {
                let what = hint.map_or(what.clone(), |hint| format!("{what}: {hint}"));
                return Ok(vec![TaskResult::List(ListResult::Said(StatusText::trouble(one_line(&what))))]);
            }
            Ok(Err((what, hint))) => return Ok(vec![TaskResult::Failed { what, hint, text: None }]),
            Err(_) => return Ok(vec![no_key_store()]),
        };
        let answers = self.agent.change_key(&desk, change).await?;
        Ok(vec![TaskResult::Key(LoginResult { said, hint, answers })])
    }

    /// Reports an unknown provider in `/logout`.
    async fn unknown_provider(&self, provider: &str) -> Option<TaskResult> {
        let desk = self.options.desks.keys.clone()?;
        let holders = spawn_blocking(move || desk.list()).await.ok()?.ok()?;
        let names = || holders.iter().map(|holder| holder.provider.as_str());
        if names().any(|name| name == provider) {
            return None;
        }
        let instead = suggest::nearest(provider, names());
        let instead = instead.map_or("/logout lists them".to_owned(), |name| format!("did you mean {name}?"));
        let what = format!("unknown provider {}; {}", one_line(provider), one_line(&instead));
        Some(TaskResult::slip(
            format!("/logout {provider}"),
            (what, None),
            TaskOrigin::List(ListKind::Logouts),
        ))
    }

    /// The logs of other programs.
    pub(super) async fn foreign_logs(&self) -> Vec<TaskResult> {
        let Some(desk) = self.options.desks.importer.clone() else { return vec![no_importer()] };
        vec![match spawn_blocking(move || desk.find()).await {
            Ok(Ok(found)) => {
                let home = self.options.home.as_deref();
                let items = match found.logs.as_slice() {
                    [] => import::places(&found.looked_in, home),
                    logs => import::logs(logs, now()),
                };
                TaskResult::List(ListResult::Items { list: ListKind::Foreign, items, selected: 0 })
            }
            Ok(Err((what, hint))) => TaskResult::Failed { what, hint, text: None },
            Err(_) => no_importer(),
        }]
    }

    /// Imports the log or directory that was named or chosen.
    pub(super) async fn import(
        &self,
        typed: String,
        beside: &mut tokio::task::JoinSet<()>,
    ) -> Result<Vec<TaskResult>, AgentError> {
        let Some(desk) = self.options.desks.importer.clone() else { return Ok(vec![no_importer()]) };
        let cwd = self.agent.state().await?.state.cwd;
        self.read_in_background(beside, move || match desk.take(&cwd, &typed) {
            Ok(imported) => import::told(&imported, &typed),
            Err(trouble) => {
                TaskResult::slip(format!("/import {typed}"), trouble, TaskOrigin::List(ListKind::Foreign))
            }
        });
        Ok(Vec::new())
    }
}

fn no_key_store() -> TaskResult {
    TaskResult::List(ListResult::Said(StatusText::trouble("API keys can't be stored here")))
}

fn no_importer() -> TaskResult {
    TaskResult::List(ListResult::Said(StatusText::trouble("import is not available")))
}
