//! Servers that offer tools while a session runs, such as MCP servers. Their tools can appear, change and
//! disappear.

use serde::{Deserialize, Serialize};
use std::pin::Pin;
use std::sync::Arc;

use tiller_core::elicitation::{ElicitationAnswer, ElicitationKind};
use tiller_core::unit::Tokens;
use tokio::sync::{mpsc, oneshot};

use super::Tool;

/// Servers that offer tools while a session runs. Dropping them ends them.
pub trait ToolServers: Send + Sync {
    /// Returns the current tools to offer to a model with this context window.
    fn tools(&self, window: Tokens) -> Vec<ServedTool>;

    /// Returns the state of every server.
    fn status(&self) -> Vec<ToolServerStatus>;

    /// Returns the prompts of the servers.
    fn prompts(&self) -> Vec<ServedPrompt>;

    /// Returns the resources of the servers and their resource templates.
    fn resources(&self) -> Vec<ServedResource>;

    /// Returns true if a slash command is a prompt of a server, or may be one of a server that is still
    /// starting.
    fn takes_command(&self, command: &str) -> bool;

    /// Requests the text of a prompt for the typed arguments; waits for a server that is starting.
    fn prompt_text(self: Arc<Self>, command: String, arguments: String) -> PromptFuture;

    /// Requests the text of a server's resource; waits for a server that is starting.
    fn resource_text(self: Arc<Self>, server: String, uri: String) -> PromptFuture;

    /// Restarts the servers that have failed or ended.
    fn restart_failed(&self);
}

/// A future that resolves to the text of a prompt or resource, or to the reason there is none.
pub type PromptFuture = Pin<Box<dyn Future<Output = Result<String, String>> + Send>>;

/// A prompt of a server, which the user runs as a slash command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedPrompt {
    /// The name after the slash.
    pub command: String,
    /// One-line description.
    pub description: String,
    /// Hint for the arguments.
    pub argument_hint: Option<String>,
}

/// A resource of a server, which the user attaches with `@SERVER:URI`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServedResource {
    /// The server's name.
    pub server: String,
    /// The URI, or the URI template: `db://{table}`.
    pub uri: String,
    /// The name for display.
    pub name: String,
    /// One-line description.
    pub description: String,
    /// True if `uri` is a template.
    pub is_template: bool,
}

/// A tool and its server.
#[derive(Clone)]
pub struct ServedTool {
    /// The tool.
    pub tool: Arc<dyn Tool>,
    /// The server's name.
    pub server: String,
}

/// The servers of a session and their events.
pub struct ConnectedServers {
    /// The servers.
    pub servers: Arc<dyn ToolServers>,
    /// The servers' events, in order.
    pub events: mpsc::Receiver<ToolServersEvent>,
    /// The servers' questions to the user.
    pub questions: mpsc::Receiver<ServerQuestion>,
}

/// A question of a server to the user.
#[derive(Debug)]
pub struct ServerQuestion {
    /// The server's name.
    pub server: String,
    /// The server's text.
    pub message: String,
    /// The requested answer.
    pub kind: ElicitationKind,
    /// The channel for the answer. It is dropped if nobody can answer, and closed when the server withdraws
    /// the question.
    pub reply: oneshot::Sender<ElicitationAnswer>,
}

/// An event of the servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolServersEvent {
    /// A problem that the user should know about.
    Warning(String),
    /// Every server has started or failed, so that the first request no longer has to wait.
    Ready,
    /// Every server has listed its prompts and resources, or takes too long. Follows [`Ready`](Self::Ready).
    Listed,
    /// The tools, prompts or resources have changed.
    Changed,
}

/// A server's state, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolServerStatus {
    /// The server's name.
    pub name: String,
    /// The server's transport: `stdio` or `http`.
    pub transport: &'static str,
    /// The command or URL, as configured.
    pub address: String,
    /// The configuration's source: a file or a variable.
    pub origin: String,
    /// The server's state.
    pub state: ToolServerState,
    /// The last lines of the server's stderr.
    pub stderr: Vec<String>,
}

impl ToolServerStatus {
    /// Returns the state as lines of text; the first names the server.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![format!("{} ({}: {})", self.name, self.transport, self.address)];
        lines.push(format!("from {}", self.origin));
        match &self.state {
            ToolServerState::Starting => lines.push("starting".to_owned()),
            ToolServerState::Failed(reason) => lines.push(format!("failed: {reason}")),
            ToolServerState::Running { version, tools, prompts, resources } => {
                lines.push(format!("running: {version}"));
                lines.push(format!("tools: {}", tools.len()));
                lines.extend(tools.iter().map(|tool| format!("  {tool}")));
                if !prompts.is_empty() {
                    lines.push(format!("prompts: {}", prompts.len()));
                    lines.extend(prompts.iter().map(|command| format!("  /{command}")));
                }
                if !resources.is_empty() {
                    lines.push(format!("resources: {}", resources.len()));
                    let name = &self.name;
                    lines.extend(resources.iter().map(|uri| format!("  @{name}:{uri}")));
                }
            }
        }
        if !self.stderr.is_empty() {
            lines.push("stderr:".to_owned());
            lines.extend(self.stderr.iter().map(|line| format!("  {line}")));
        }
        lines
    }
}

/// A server's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolServerState {
    /// The server is starting.
    Starting,
    /// The server is running.
    Running {
        /// The name and version reported by the server.
        version: String,
        /// The server's tools.
        tools: Vec<ServedToolSummary>,
        /// Slash commands of the server's prompts.
        prompts: Vec<String>,
        /// URIs of the server's resources.
        resources: Vec<String>,
    },
    /// The server could not be started, or ended too often.
    Failed(String),
}

/// A tool of a server, for display.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedToolSummary {
    /// The name that the model uses.
    pub name: String,
    /// Hints by the server about the tool, such as `read-only`. They aren't verified and grant nothing.
    pub hints: Vec<&'static str>,
}

impl std::fmt::Display for ServedToolSummary {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        if self.hints.is_empty() { Ok(()) } else { write!(f, "  [{}]", self.hints.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_lines_name_tools_hints_and_stderr() {
        let tool = |name: &str, hints| ServedToolSummary { name: name.into(), hints };
        let state = ToolServerState::Running {
            prompts: vec!["mcp__git__review".into()],
            resources: vec!["git://head".into()],
            version: "git 1.2".into(),
            tools: vec![
                tool("mcp__git__log", vec!["read-only", "idempotent"]),
                tool("mcp__git__push", vec![]),
            ],
        };
        let status = ToolServerStatus {
            name: "git".into(),
            transport: "stdio",
            address: "git-server".into(),
            origin: "MCP_SERVERS".into(),
            state,
            stderr: vec!["ready".into()],
        };
        let expected = [
            "git (stdio: git-server)",
            "from MCP_SERVERS",
            "running: git 1.2",
            "tools: 2",
            "  mcp__git__log  [read-only, idempotent]",
            "  mcp__git__push",
            "prompts: 1",
            "  /mcp__git__review",
            "resources: 1",
            "  @git:git://head",
            "stderr:",
            "  ready",
        ];
        assert_eq!(status.lines(), expected);
        let failed =
            ToolServerStatus { state: ToolServerState::Failed("gone".into()), stderr: vec![], ..status };
        assert_eq!(failed.lines()[2..], ["failed: gone"]);
    }
}
