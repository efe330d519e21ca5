//! The tools of the tests' server.

use std::sync::Arc;

use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ClientResult, ContentBlock, DiscoverResult,
    ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation,
    InputRequiredResult, ListPromptsResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, Prompt, PromptArgument, PromptMessage, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, Resource, ResourceContents, Role, ServerCapabilities,
    ServerConfig, ServerRequest, SubscriptionFilter, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer, SubscriptionContext};
use serde_json::{Value, json};
use tokio::sync::watch;

/// The handshake that the server knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lifecycle {
    Modern,
    Legacy,
    /// Like `Legacy`, but only lists of tools are answered.
    #[allow(dead_code, reason = "only the program has it")]
    Unanswered,
}

#[derive(Clone)]
pub(crate) struct TestServer {
    lifecycle: Lifecycle,
    variable: String,
    /// Number of tools that were added.
    added: Arc<watch::Sender<usize>>,
}

impl TestServer {
    pub(crate) fn new(lifecycle: Lifecycle, variable: String) -> Self {
        Self { lifecycle, variable, added: Arc::new(watch::channel(0).0) }
    }

    async fn grow(&self, context: &RequestContext<RoleServer>) {
        self.added.send_modify(|added| *added += 1);
        if self.lifecycle != Lifecycle::Modern {
            let _ = context.peer.notify_tool_list_changed().await;
        }
    }

    /// Asks the user in the way of the protocol's version; the result is the answer as JSON. `times` asks several
    /// questions, one after the other, or with `at_once` together; the result is the list of answers.
    async fn ask(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = |answer: Value| CallToolResult::success(vec![ContentBlock::text(answer.to_string())]);
        if let Some(mut responses) = request.input_responses {
            assert_eq!(request.request_state.as_deref(), Some("opaque"));
            return Ok(match responses.remove("answer") {
                Some(answer) => text(answer).into(),
                None => text(responses.into_values().collect()).into(),
            });
        }
        let arguments = request.arguments.unwrap_or_default();
        let times = arguments.get("times").and_then(Value::as_u64);
        let question = json!({"method": "elicitation/create", "params": arguments["question"]});
        if self.lifecycle == Lifecycle::Modern {
            let question = || serde_json::from_value(question.clone()).map_err(invalid);
            let asked = match times {
                None => [("answer".to_owned(), question()?)].into_iter().collect(),
                Some(times) => {
                    (0..times).map(|n| Ok((n.to_string(), question()?))).collect::<Result<_, _>>()?
                }
            };
            return Ok(InputRequiredResult::new(Some(asked), Some("opaque".into())).into());
        }
        let question: ServerRequest = serde_json::from_value(question).map_err(invalid)?;
        let ask = || {
            let (peer, question) = (context.peer.clone(), question.clone());
            async move {
                match peer.send_request(question).await {
                    Ok(ClientResult::ElicitResult(answer)) => json!(answer),
                    other => json!(format!("{other:?}")),
                }
            }
        };
        let answer = match times {
            None => ask().await,
            Some(times) if arguments.contains_key("at_once") => {
                let asked: Vec<_> = (0..times).map(|_| tokio::spawn(ask())).collect();
                let mut answers = Vec::new();
                for answer in asked {
                    answers.push(answer.await.unwrap_or_default());
                }
                Value::Array(answers)
            }
            Some(times) => {
                let mut answers = Vec::new();
                for _ in 0..times {
                    answers.push(ask().await);
                }
                Value::Array(answers)
            }
        };
        eprintln!("answered {answer}");
        Ok(text(answer).into())
    }

    async fn answer_list(&self) {
        if self.lifecycle == Lifecycle::Unanswered {
            std::future::pending().await
        }
    }

    async fn count(&self, context: &RequestContext<RoleServer>) {
        let Some(token) = context.meta.get_progress_token() else { return };
        let mut params = ProgressNotificationParam::new(token, 1.0);
        params.total = Some(2.0);
        params.message = Some("half".to_owned());
        let _ = context.peer.notify_progress(params).await;
        // The client stops the call when it has seen the progress.
        context.ct.cancelled().await;
        eprintln!("cancelled");
    }
}

fn invalid(error: serde_json::Error) -> ErrorData {
    ErrorData::invalid_params(error.to_string(), None)
}

fn tool(name: &'static str, properties: Value) -> Tool {
    let required: Vec<&String> = properties.as_object().map(|p| p.keys().collect()).unwrap_or_default();
    let schema = json!({"type": "object", "properties": properties, "required": required});
    let Value::Object(schema) = schema else { unreachable!("it is an object") };
    Tool::new(name, format!("The tool {name}."), schema)
}

impl ServerHandler for TestServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_prompts()
            .enable_resources()
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new("test", "1.2"))
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        if self.lifecycle != Lifecycle::Modern {
            return Err(ErrorData::method_not_found::<rmcp::model::DiscoverRequestMethod>());
        }
        let _ = context;
        Ok(DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), self.get_info()))
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut added = self.added.subscribe();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                Ok(()) = added.changed() => {
                    let _ = context.sink().notify_tool_list_changed().await;
                }
            }
        }
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let mut tools = vec![
            tool("echo", json!({"text": {"type": "string"}}))
                .with_annotations(ToolAnnotations::new().read_only(true)),
            tool("variable", json!({})),
            tool("picture", json!({})),
            tool("structured", json!({})),
            tool("fail", json!({})),
            tool("count", json!({})),
            tool("grow", json!({})),
            tool("crash", json!({})),
            tool("ask", json!({"question": {"type": "object"}})),
            tool("visit", json!({})),
        ];
        let broken = tool("broken", json!({"x": {"type": "nothing"}}));
        tools.push(broken);
        tools.extend((0..*self.added.borrow()).map(|_| tool("added", json!({}))));
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        self.answer_list().await;
        Ok(ListResourcesResult::with_all_items(vec![Resource::new("note://one", "one")]))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if request.uri != "note://one" {
            return Err(ErrorData::resource_not_found("no such note", None));
        }
        let picture = ResourceContents::blob("aWNvbg==", "note://icon").with_mime_type("image/png");
        Ok(ReadResourceResult::new(vec![ResourceContents::text("first", "note://one"), picture]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        self.answer_list().await;
        let who = PromptArgument::new("who").with_required(true);
        let how = PromptArgument::new("how").with_required(false);
        let greet = Prompt::new("greet", Some("Greets.\nOr not."), Some(vec![who, how]));
        Ok(ListPromptsResult::with_all_items(vec![greet]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let messages = vec![
            PromptMessage::new_text(Role::User, format!("greet {arguments}")),
            PromptMessage::new_text(Role::Assistant, "Whom?"),
        ];
        Ok(GetPromptResult::new(messages).into())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = |text: &str| CallToolResult::success(vec![ContentBlock::text(text)]);
        if request.name == "ask" {
            return self.ask(request, &context).await;
        }
        let result = match &*request.name {
            "echo" => {
                let arguments = request.arguments.unwrap_or_default();
                text(arguments.get("text").and_then(Value::as_str).unwrap_or_default())
            }
            "variable" => text(&self.variable),
            "picture" => CallToolResult::success(vec![ContentBlock::image("aWNvbg==", "image/png")]),
            "structured" => CallToolResult::structured(json!({"n": 1})),
            "fail" => CallToolResult::error(vec![ContentBlock::text("it failed")]),
            "count" => {
                self.count(&context).await;
                text("counted")
            }
            "grow" => {
                self.grow(&context).await;
                text("grown")
            }
            "visit" => {
                let page = json!({"mode": "url", "message": "Sign in.", "url": "https://x.org/in", "elicitationId": "1"});
                let data = json!({"elicitations": [page]});
                return Err(ErrorData::new(ErrorCode(-32042), "a visit is required", Some(data)));
            }
            "crash" => {
                eprintln!("about to crash");
                std::process::exit(7)
            }
            other => return Err(ErrorData::invalid_params(format!("no tool {other}"), None)),
        };
        Ok(result.into())
    }
}
