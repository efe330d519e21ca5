//! The MCP server of `tiller mcp serve`: sessions as tools on stdin and stdout.

use std::pin::Pin;
use std::sync::Arc;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{QuitReason, RequestContext, RoleServer, ServiceExt as _};
use serde_json::{Map, Value, json};

/// Number of sessions or matches by default.
const DEFAULT_LIMIT: u64 = 20;

/// An operation's result: a string, or the reason it failed.
pub type SessionReply<'a> = Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'a>>;

/// The sessions that are served.
pub trait SessionService: Send + Sync + 'static {
    /// Lists the newest sessions, at most `limit`.
    fn list(&self, scope: ServedScope, limit: usize) -> SessionReply<'_>;

    /// Searches the text of sessions; returns at most `limit` matches.
    fn search(&self, query: String, scope: ServedScope, limit: usize) -> SessionReply<'_>;

    /// Returns the transcript of a session's current branch.
    fn read(&self, session: String) -> SessionReply<'_>;

    /// Runs a prompt in a session, or in a new one, to its end; returns the answer. Dropping the future stops the run.
    fn prompt(&self, session: Option<String>, text: String) -> SessionReply<'_>;
}

/// The sessions that an operation considers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServedScope {
    /// The sessions of the working directory.
    Directory,
    /// All sessions.
    Everywhere,
}

/// An error that ended the server.
#[derive(Debug, thiserror::Error)]
#[error("the MCP connection failed: {0}")]
pub struct ServeError(String);

/// Serves sessions on stdin and stdout until the client closes them.
///
/// # Errors
/// If the handshake fails.
pub async fn serve_sessions(service: impl SessionService) -> Result<(), ServeError> {
    let server = SessionServer { service: Arc::new(service) };
    let running = server.serve(rmcp::transport::stdio()).await;
    match running.map_err(|error| ServeError(error.to_string()))?.waiting().await {
        Ok(QuitReason::Closed | QuitReason::Cancelled) => Ok(()),
        Ok(_) | Err(_) => Err(ServeError("it ended early".to_owned())),
    }
}

struct SessionServer<S> {
    service: Arc<S>,
}

impl<S: SessionService> SessionServer<S> {
    async fn run(
        &self,
        name: &str,
        arguments: Map<String, Value>,
    ) -> Result<Result<String, String>, ErrorData> {
        let text = |name: &str| arguments.get(name).and_then(Value::as_str).map(str::to_owned);
        let required = |name: &str| {
            text(name).ok_or_else(|| ErrorData::invalid_params(format!("missing argument `{name}`"), None))
        };
        let is_all = arguments.get("all").and_then(Value::as_bool) == Some(true);
        let scope = if is_all { ServedScope::Everywhere } else { ServedScope::Directory };
        let limit = arguments.get("limit").and_then(Value::as_u64).unwrap_or(DEFAULT_LIMIT).max(1);
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(match name {
            "list_sessions" => self.service.list(scope, limit).await,
            "search_sessions" => self.service.search(required("query")?, scope, limit).await,
            "read_session" => self.service.read(required("session")?).await,
            "prompt_session" => self.service.prompt(text("session"), required("text")?).await,
            other => return Err(ErrorData::invalid_params(format!("unknown tool `{other}`"), None)),
        })
    }
}

impl<S: SessionService> ServerHandler for SessionServer<S> {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let implementation = Implementation::new("tiller", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(implementation)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let outcome = tokio::select! {
            outcome = self.run(&request.name, request.arguments.unwrap_or_default()) => outcome?,
            () = context.ct.cancelled() => Err("cancelled".to_owned()),
        };
        Ok(match outcome {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(reason) => CallToolResult::error(vec![ContentBlock::text(reason)]),
        }
        .into())
    }
}

/// The declarations of the tools.
fn tools() -> Vec<Tool> {
    let session = || json!({"type": "string", "description": "The session's id, or at least 4 characters from its start or end."});
    let all = || json!({"type": "boolean", "description": "Include the sessions in all directories, not only in this one."});
    let limit = || json!({"type": "integer", "minimum": 1, "description": "Maximum number of results; 20 by default."});
    let reads = ToolAnnotations::new().read_only(true);
    vec![
        tool(
            "list_sessions",
            "Lists tiller's sessions, newest first.",
            &[],
            json!({"all": all(), "limit": limit()}),
        )
        .with_annotations(reads.clone()),
        tool(
            "search_sessions",
            "Searches the text of tiller's sessions; all words must match.",
            &["query"],
            json!({"query": {"type": "string", "description": "The search words."}, "all": all(), "limit": limit()}),
        )
        .with_annotations(reads.clone()),
        tool(
            "read_session",
            "Returns the transcript of a session's current branch.",
            &["session"],
            json!({"session": session()}),
        )
        .with_annotations(reads),
        tool(
            "prompt_session",
            "Sends a prompt to tiller's coding agent, in an existing session or in a new one, waits until the agent has \
             finished, and returns its answer. Calls that need approval are denied.",
            &["text"],
            json!({"session": session(), "text": {"type": "string", "description": "The prompt."}}),
        ),
    ]
}

fn tool(name: &'static str, description: &'static str, required: &[&str], properties: Value) -> Tool {
    let schema = [
        ("type".to_owned(), Value::from("object")),
        ("properties".to_owned(), properties),
        ("required".to_owned(), required.into()),
        ("additionalProperties".to_owned(), false.into()),
    ];
    Tool::new(name, description, schema.into_iter().collect::<Map<_, _>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the calls that it gets.
    struct Echo;

    impl SessionService for Echo {
        fn list(&self, scope: ServedScope, limit: usize) -> SessionReply<'_> {
            Box::pin(async move { Ok(format!("list {scope:?} {limit}")) })
        }

        fn search(&self, query: String, scope: ServedScope, limit: usize) -> SessionReply<'_> {
            Box::pin(async move { Ok(format!("search {query} {scope:?} {limit}")) })
        }

        fn read(&self, session: String) -> SessionReply<'_> {
            Box::pin(async move { Err(format!("no session {session}")) })
        }

        fn prompt(&self, session: Option<String>, text: String) -> SessionReply<'_> {
            Box::pin(async move { Ok(format!("prompt {session:?} {text}")) })
        }
    }

    #[tokio::test]
    async fn session_server_passes_arguments_on() {
        let server = SessionServer { service: Arc::new(Echo) };
        let run = async |name: &str, arguments: Value| {
            let outcome = server.run(name, arguments.as_object().cloned().unwrap_or_default()).await;
            outcome.map_err(|error| error.message.into_owned())
        };
        let ok = |text: &str| Ok(Ok(text.to_owned()));
        assert_eq!(run("list_sessions", json!({})).await, ok("list Directory 20"));
        assert_eq!(run("list_sessions", json!({"all": true, "limit": 0})).await, ok("list Everywhere 1"));
        assert_eq!(run("search_sessions", json!({"query": "q"})).await, ok("search q Directory 20"));
        assert_eq!(run("search_sessions", json!({})).await, Err("missing argument `query`".to_owned()));
        assert_eq!(run("read_session", json!({"session": "x"})).await, Ok(Err("no session x".to_owned())));
        assert_eq!(run("prompt_session", json!({"text": "t"})).await, ok("prompt None t"));
        assert_eq!(run("other", json!({})).await, Err("unknown tool `other`".to_owned()));
    }
}
