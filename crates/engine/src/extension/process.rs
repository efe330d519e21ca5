//! Extensions that run as a process: executables that speak JSON lines, as docs/extending.md describes.
//!
//! The processes run under the supervisor, so none outlives tiller, and without the environment variables
//! that hold secrets. A process that has ended counts as having no opinion. If it reviewed calls, or never
//! declared its hooks, calls need approval.

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::json;
use tiller_core::event::Event;
use tiller_core::message::{Message, ToolCall};
use tiller_tools::tool::{Tool, ToolOutput};
use tokio::task::JoinSet;

use super::host::Extensions;
use super::protocol::{self, ToProcess};
use super::remote_tool::RemoteTool;
pub use super::shared_process::{Launch, ProcessOptions, StartPermission};
use super::shared_process::{ProcessState, SharedProcess};
use super::{
    CallVerdict, CommandOutcome, EventDetail, Extension, ExtensionCommand, HookFuture, PromptVerdict,
    RequestChange, RequestContext, ResultChange, RunEnd, RunEndVerdict, SessionOpening, SessionSource,
};

impl Extensions {
    /// Starts executables in parallel and adds them in order. An executable that can't be started or isn't
    /// ready in time is added too, with a warning: its hooks are unknown, so calls need approval.
    pub async fn start(&mut self, launches: Vec<Launch>, options: &ProcessOptions) {
        let (limit, warn) = (self.timeout(), self.warn());
        self.mark_started(launches.iter().map(|launch| launch.path.clone()));
        let mut starting = JoinSet::new();
        for (at, launch) in launches.into_iter().enumerate() {
            let inner = SharedProcess::new(launch, options.clone(), warn.clone(), limit);
            starting.spawn(async move {
                inner.start().await;
                (at, inner)
            });
        }
        let mut started = starting.join_all().await;
        started.sort_by_key(|(at, _)| *at);
        for (_, inner) in started {
            self.add(Arc::new(Process { inner }));
        }
    }
}

/// An extension that runs as a process.
struct Process {
    inner: Arc<SharedProcess>,
}

impl Extension for Process {
    fn name(&self) -> &str {
        &self.inner.name
    }

    fn session_start<'a>(&'a self, opening: &'a SessionOpening) -> HookFuture<'a, Option<String>> {
        Box::pin(async move {
            // The process still has its context, and sees the events of the compaction.
            if opening.source == SessionSource::Compact {
                return Ok(None);
            }
            let params = || protocol::opening_params(opening);
            protocol::session_context(self.inner.request_if_declared("session_start", params).await?)
        })
    }

    fn prompt_submit<'a>(&'a self, prompt: &'a str) -> HookFuture<'a, PromptVerdict> {
        Box::pin(async move {
            let params = || json!({"prompt": prompt});
            protocol::prompt_verdict(self.inner.request_if_declared("prompt_submit", params).await?)
        })
    }

    fn run_end(&self, end: RunEnd) -> HookFuture<'_, RunEndVerdict> {
        Box::pin(async move {
            let params = || json!({"isContinued": end.is_continued});
            protocol::run_end_verdict(self.inner.request_if_declared("run_end", params).await?)
        })
    }

    fn before_agent_start<'a>(&'a self, opening: &'a RequestContext) -> HookFuture<'a, RequestChange> {
        Box::pin(async move {
            let answer = self
                .inner
                .request_if_declared("before_agent_start", || protocol::request_params(opening))
                .await?;
            protocol::request_change(answer)
        })
    }

    fn turn_start<'a>(&'a self, opening: &'a RequestContext) -> HookFuture<'a, RequestChange> {
        Box::pin(async move {
            protocol::request_change(
                self.inner.request_if_declared("turn_start", || protocol::request_params(opening)).await?,
            )
        })
    }

    fn turn_end<'a>(&'a self, answer: &'a Message, results: &'a [Arc<Message>]) -> HookFuture<'a, ()> {
        Box::pin(async move {
            match self.inner.state() {
                ProcessState { declared: Some(declared), transport: Some(transport), .. }
                    if declared.has("turn_end") && !transport.is_over() =>
                {
                    transport.notify(&ToProcess::TurnEnd { message: answer, tool_results: results }).await
                }
                _ => Ok(()),
            }
        })
    }

    fn tool_call<'a>(&'a self, call: &'a ToolCall) -> HookFuture<'a, CallVerdict> {
        Box::pin(async move {
            // A process without a declaration may have been a guard.
            match self.inner.declared() {
                Some(declared) if !declared.has("tool_call") => Ok(CallVerdict::Allow),
                _ => protocol::verdict(self.inner.ask("tool_call", protocol::call_params(call), None).await?),
            }
        })
    }

    fn tool_result<'a>(&'a self, call: &'a ToolCall, output: &'a ToolOutput) -> HookFuture<'a, ResultChange> {
        Box::pin(async move {
            protocol::result_change(
                self.inner
                    .request_if_declared("tool_result", || protocol::result_params(call, output))
                    .await?,
            )
        })
    }

    fn session_event<'a>(&'a self, event: &'a Event) -> HookFuture<'a, ()> {
        Box::pin(async move {
            match self.inner.state().transport {
                Some(transport) if !transport.is_over() => {
                    transport.notify(&ToProcess::Event { event }).await
                }
                _ => Ok(()),
            }
        })
    }

    fn event_detail(&self) -> EventDetail {
        self.inner.declared().map_or(EventDetail::Nothing, |declared| declared.event_detail())
    }

    fn reload(&self) -> HookFuture<'_, ()> {
        Box::pin(async move {
            self.inner.restart().await;
            Ok(())
        })
    }

    fn close(&self) -> HookFuture<'_, ()> {
        Box::pin(async move {
            self.inner.stop().await;
            Ok(())
        })
    }

    fn commands(&self) -> Vec<ExtensionCommand> {
        self.inner.declared().map(|declared| declared.commands.clone()).unwrap_or_default()
    }

    fn run_command<'a>(&'a self, name: &'a str, arguments: &'a str) -> HookFuture<'a, CommandOutcome> {
        Box::pin(async move {
            let params = json!({"name": name, "arguments": arguments});
            protocol::command_outcome(self.inner.ask("command", params, None).await?)
        })
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let Some(declared) = self.inner.declared() else { return Vec::new() };
        let tool = |declared| match RemoteTool::new(declared, Arc::clone(&self.inner)) {
            Ok(tool) => Some(Arc::new(tool) as Arc<dyn Tool>),
            Err(error) => {
                let (name, tool) = (&self.inner.name, &declared.name);
                self.inner.warn.send(format!("extension {name}: its tool {tool} is skipped: {error}"));
                None
            }
        };
        declared.tools.iter().filter_map(tool).collect()
    }

    fn skills(&self) -> Vec<PathBuf> {
        self.inner.declared().map(|declared| self.inner.resolved(&declared.skills)).unwrap_or_default()
    }

    fn prompts(&self) -> Vec<PathBuf> {
        self.inner.declared().map(|declared| self.inner.resolved(&declared.prompts)).unwrap_or_default()
    }
}
