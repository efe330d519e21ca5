//! The description of the API, OpenAPI 3.1, generated from the types of bodies and parameters.

mod responses;

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use tiller_core::event::CompactionResult;
use tiller_core::message::BashExecutionMessage;
use tiller_engine::AgentOverview;
use tiller_engine::views::{ModelView, QueueView, StatsView};

use crate::host::{RenderBody, RenderedEntries};
use crate::problem::Problem;
use crate::requests::{
    ApprovalBody, BashBody, ChatBody, ClearQuery, CompactBody, CompactionBody, CreateBody, DeleteQuery,
    ElicitationBody, EntriesQuery, ForkBody, LabelBody, ListQuery, MessageBody, ModelBody, NavigateBody,
    QueueBody, ResumeBody, SkillsQuery, StreamQuery, ThinkingBody,
};
use crate::session_view::{
    ContextUsage, ForkedId, Health, LevelView, NavigatedView, RenderedHtml, RootList, SessionDetails,
    SessionPage,
};
use responses::{AvailableModels, EntryList, EntryTree, SkillList, StoppedRun};

/// An operation of the API.
pub(crate) struct Operation {
    pub(crate) method: &'static str,
    pub(crate) path: &'static str,
    summary: &'static str,
    query: Option<SchemaOf>,
    body: Option<SchemaOf>,
    answer: Answer,
}

/// Generates the schema of a type.
type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

/// The successful response.
#[derive(Clone, Copy)]
enum Answer {
    /// JSON with a status.
    Json(u16, SchemaOf),
    /// Text of another type, and its description.
    Other(&'static str, &'static str),
    /// No content, with a status.
    Empty(u16),
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

const fn operation(
    method: &'static str,
    path: &'static str,
    answer: Answer,
    summary: &'static str,
) -> Operation {
    Operation { method, path, summary, query: None, body: None, answer }
}

impl Operation {
    const fn query(self, query: SchemaOf) -> Self {
        Self { query: Some(query), ..self }
    }

    const fn body(self, body: SchemaOf) -> Self {
        Self { body: Some(body), ..self }
    }

    /// True if it needs no token.
    fn is_public(&self) -> bool {
        self.path == "/healthz"
    }
}

use Answer::{Empty, Json, Other};

/// The description of the stream.
const STREAM: &str = "Server-sent events. `id` continues the stream as `Last-Event-ID`, `event` is a name, and `data` is \
    a JSON object: docs/server.md lists the names, and docs/rpc.md the fields of each event. Lines that begin with `:` \
    show that the connection is alive.";

/// All operations.
pub(crate) const OPERATIONS: &[Operation] = &[
    operation("post", "/api/sessions", Json(201, of::<SessionDetails>), "Start a session")
        .body(of::<CreateBody>),
    operation("get", "/api/sessions", Json(200, of::<SessionPage>), "List or search sessions")
        .query(of::<ListQuery>),
    operation("get", "/api/sessions/{id}", Json(200, of::<SessionDetails>), "Show a session"),
    operation("delete", "/api/sessions/{id}", Empty(204), "Close a session and remove its log")
        .query(of::<DeleteQuery>),
    operation(
        "post",
        "/api/sessions/{id}/resume",
        Json(200, of::<SessionDetails>),
        "Reopen a closed session",
    )
    .body(of::<ResumeBody>),
    operation("post", "/api/sessions/{id}/close", Empty(204), "Close a session; its log stays"),
    operation(
        "get",
        "/api/sessions/{id}/stream",
        Other("text/event-stream", STREAM),
        "Stream a session's events",
    )
    .query(of::<StreamQuery>),
    operation("get", "/api/sessions/{id}/attach", Empty(101), "Upgrade the connection for `tiller --attach`"),
    operation("post", "/api/sessions/{id}/chat", Empty(202), "Send a message").body(of::<ChatBody>),
    operation("post", "/api/sessions/{id}/steer", Empty(202), "Steer the run").body(of::<MessageBody>),
    operation("post", "/api/sessions/{id}/follow-up", Empty(202), "Queue a follow-up")
        .body(of::<MessageBody>),
    operation(
        "post",
        "/api/sessions/{id}/abort",
        Json(200, of::<StoppedRun>),
        "Stop the run, and return the queued messages",
    ),
    operation("post", "/api/sessions/{id}/jobs/{jobId}/stop", Empty(204), "Stop a background job"),
    operation(
        "get",
        "/api/sessions/{id}/agents",
        Json(200, of::<AgentOverview>),
        "List the agents of the session",
    ),
    operation(
        "get",
        "/api/sessions/{id}/agents/{agentId}/entries",
        Json(200, of::<EntryList>),
        "List the entries of an agent's log",
    )
    .query(of::<EntriesQuery>),
    operation("post", "/api/sessions/{id}/agents/{agentId}/steer", Empty(202), "Steer an agent at work")
        .body(of::<MessageBody>),
    operation("post", "/api/sessions/{id}/agents/{agentId}/stop", Empty(204), "Stop an agent of the session"),
    operation("post", "/api/sessions/{id}/approvals/{callId}", Empty(204), "Answer an approval request")
        .body(of::<ApprovalBody>),
    operation("post", "/api/sessions/{id}/elicitations/{elicitationId}", Empty(204), "Answer a question")
        .body(of::<ElicitationBody>),
    operation("get", "/api/sessions/{id}/queue", Json(200, of::<QueueView>), "Show the queued messages"),
    operation(
        "put",
        "/api/sessions/{id}/queue",
        Json(200, of::<QueueView>),
        "Change, order and remove messages of the queue whose `ETag` is in `If-Match`",
    )
    .body(of::<QueueBody>),
    operation("delete", "/api/sessions/{id}/queue", Json(200, of::<QueueView>), "Remove queued messages")
        .query(of::<ClearQuery>),
    operation("get", "/api/sessions/{id}/entries", Json(200, of::<EntryList>), "Show the entries of the log")
        .query(of::<EntriesQuery>),
    operation(
        "get",
        "/api/sessions/{id}/articles",
        Json(200, of::<RenderedEntries>),
        "Render the entries of the log for the page",
    )
    .query(of::<EntriesQuery>),
    operation("get", "/api/sessions/{id}/tree", Json(200, of::<EntryTree>), "Show the tree of entries"),
    operation(
        "get",
        "/api/sessions/{id}/context",
        Json(200, of::<ContextUsage>),
        "Show the parts of the context",
    ),
    operation("get", "/api/sessions/{id}/stats", Json(200, of::<StatsView>), "Show counts, tokens and cost"),
    operation(
        "get",
        "/api/sessions/{id}/export.html",
        Other("text/html", "The page"),
        "Export the session as a page",
    ),
    operation(
        "post",
        "/api/sessions/{id}/fork",
        Json(201, of::<ForkedId>),
        "Create a session from a part of this one",
    )
    .body(of::<ForkBody>),
    operation(
        "post",
        "/api/sessions/{id}/navigate",
        Json(200, of::<NavigatedView>),
        "Continue from another entry",
    )
    .body(of::<NavigateBody>),
    operation("post", "/api/sessions/{id}/label", Empty(204), "Label an entry").body(of::<LabelBody>),
    operation(
        "post",
        "/api/sessions/{id}/compact",
        Json(200, of::<CompactionResult>),
        "Summarize older messages",
    )
    .body(of::<CompactBody>),
    operation(
        "post",
        "/api/sessions/{id}/compaction",
        Empty(204),
        "Choose the next step after a failed compaction",
    )
    .body(of::<CompactionBody>),
    operation("post", "/api/sessions/{id}/model", Json(200, of::<ModelView>), "Choose the model")
        .body(of::<ModelBody>),
    operation("post", "/api/sessions/{id}/thinking", Json(200, of::<LevelView>), "Choose the thinking level")
        .body(of::<ThinkingBody>),
    operation("post", "/api/sessions/{id}/bash", Json(200, of::<BashExecutionMessage>), "Run a user command")
        .body(of::<BashBody>),
    operation("get", "/api/models", Json(200, of::<AvailableModels>), "List models"),
    operation("get", "/api/skills", Json(200, of::<SkillList>), "List the skills of a working directory")
        .query(of::<SkillsQuery>),
    operation("get", "/api/roots", Json(200, of::<RootList>), "List the directories of the option --root"),
    operation(
        "post",
        "/api/render",
        Json(200, of::<RenderedHtml>),
        "Render text, output, a diff or a call for the page",
    )
    .body(of::<RenderBody>),
    operation("get", "/", Other("text/html", "The page"), "Show the live page"),
    operation("get", "/openapi.json", Json(200, of::<Map<String, Value>>), "Describe the API"),
    operation("get", "/healthz", Json(200, of::<Health>), "Check that the server responds; needs no token"),
    operation("get", "/metrics", Other("text/plain", "The counters"), "Show counters for Prometheus"),
];

/// A header that an operation reads.
struct Header {
    /// The end of the operation's path.
    path: &'static str,
    method: &'static str,
    name: &'static str,
    is_required: bool,
}

impl Header {
    fn applies_to(&self, operation: &Operation) -> bool {
        operation.path.ends_with(self.path) && operation.method == self.method
    }
}

const HEADERS: &[Header] = &[
    Header { path: "/stream", method: "get", name: "Last-Event-ID", is_required: false },
    Header { path: "/attach", method: "get", name: "Last-Event-ID", is_required: false },
    Header { path: "/queue", method: "put", name: "If-Match", is_required: true },
];

/// The description.
pub(crate) static DOCUMENT: LazyLock<Value> = LazyLock::new(document);

/// The schema generators. A field with a default is optional in a request, and always present in a response.
struct Generators {
    requests: SchemaGenerator,
    responses: SchemaGenerator,
}

impl Generators {
    fn new() -> Self {
        let settings = SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
        });
        let responses = settings.clone().for_serialize().into_generator();
        Self { requests: settings.into_generator(), responses }
    }

    /// Returns all schemas by name. A type in both requests and responses must look the same in them.
    fn into_definitions(mut self) -> Map<String, Value> {
        let mut schemas = self.requests.take_definitions(true);
        for (name, schema) in self.responses.take_definitions(true) {
            let other = schemas.insert(name, schema.clone());
            assert!(other.is_none_or(|other| other == schema), "{schema}");
        }
        schemas
    }
}

fn document() -> Value {
    let mut generators = Generators::new();
    let problem = generators.responses.subschema_for::<Problem>();
    let mut paths = Map::new();
    for operation in OPERATIONS {
        let described = describe(operation, &mut generators);
        let path = paths.entry(operation.path).or_insert_with(|| json!({}));
        path[operation.method] = described;
    }
    let responses: Map<String, Value> = PROBLEMS
        .iter()
        .map(|(name, description)| {
            let content = json!({"application/problem+json": {"schema": problem}});
            ((*name).to_owned(), json!({"description": description, "content": content}))
        })
        .collect();
    json!({
        "openapi": "3.1.0",
        "info": {"title": "tiller", "version": env!("CARGO_PKG_VERSION")},
        // Relative to the address of this description, which may be below a base path.
        "servers": [{"url": "."}],
        "paths": paths,
        "components": {
            "schemas": generators.into_definitions(),
            "responses": responses,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    })
}

/// The responses that report a problem: their names in the document, and their descriptions.
const PROBLEMS: &[(&str, &str)] = &[
    ("InvalidRequest", "A parameter or the body is invalid"),
    ("Unauthorized", "The token is missing or wrong"),
    ("NotFound", "The session, or another thing that the request names, doesn't exist"),
    ("Conflict", "The session isn't open, is open elsewhere, or its state doesn't allow this"),
    ("QueueChanged", "The queue has changed since the client read it"),
    ("NoCondition", "The header `If-Match` is missing"),
    ("Failed", "Another problem"),
];

/// Returns the problems of an operation by status.
fn problems(operation: &Operation) -> impl Iterator<Item = (&'static str, &'static str)> {
    let has_input = operation.query.is_some() || operation.body.is_some();
    let of_session = operation.path.contains("{id}");
    let is_conditional = HEADERS.iter().any(|header| header.applies_to(operation) && header.is_required);
    [
        ("400", "InvalidRequest", has_input),
        ("401", "Unauthorized", !operation.is_public()),
        ("404", "NotFound", of_session),
        ("409", "Conflict", of_session),
        ("412", "QueueChanged", is_conditional),
        ("428", "NoCondition", is_conditional),
        ("default", "Failed", true),
    ]
    .into_iter()
    .filter_map(|(status, name, applies)| applies.then_some((status, name)))
}

fn describe(operation: &Operation, generators: &mut Generators) -> Value {
    let mut parameters: Vec<Value> = operation.path.split('/').filter_map(path_parameter).collect();
    if let Some(query) = operation.query {
        let generator = &mut generators.requests;
        parameters.extend(query_parameters(&query(generator), generator));
    }
    for header in HEADERS.iter().filter(|header| header.applies_to(operation)) {
        let schema = json!({"type": "string"});
        parameters.push(
            json!({"name": header.name, "in": "header", "required": header.is_required, "schema": schema}),
        );
    }
    let (status, content) = match operation.answer {
        Json(status, schema) => {
            (status, Some(json!({"application/json": {"schema": schema(&mut generators.responses)}})))
        }
        Other(media_type, description) => {
            (200, Some(json!({media_type: {"schema": {"type": "string", "description": description}}})))
        }
        Empty(status) => (status, None),
    };
    let mut answer = json!({"description": "Done"});
    if let Some(content) = content {
        answer["content"] = content;
    }
    let mut responses = Map::from_iter([(status.to_string(), answer)]);
    for (status, name) in problems(operation) {
        responses.insert(status.to_owned(), json!({"$ref": format!("#/components/responses/{name}")}));
    }
    let mut described =
        json!({"summary": operation.summary, "parameters": parameters, "responses": responses});
    if let Some(body) = operation.body {
        let generator = &mut generators.requests;
        let schema = body(generator);
        // Without a body, all fields have their defaults.
        let required = definition(&schema, generator)
            .is_some_and(|object| object.get("required").is_some() || object.get("oneOf").is_some());
        described["requestBody"] =
            json!({"required": required, "content": {"application/json": {"schema": schema}}});
    }
    if operation.is_public() {
        described["security"] = json!([]);
    }
    described
}

fn path_parameter(part: &str) -> Option<Value> {
    let name = part.strip_prefix('{')?.strip_suffix('}')?;
    Some(json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
}

/// Returns the referenced definition.
fn definition<'a>(schema: &Schema, generator: &'a SchemaGenerator) -> Option<&'a Value> {
    let name = schema.get("$ref")?.as_str()?.rsplit('/').next()?;
    generator.definitions().get(name)
}

/// Returns the fields of a referenced object as parameters.
fn query_parameters(schema: &Schema, generator: &SchemaGenerator) -> Vec<Value> {
    let Some(object) = definition(schema, generator) else { return Vec::new() };
    let is_required = |name: &str| {
        let required = object.get("required").and_then(Value::as_array);
        required.is_some_and(|required| required.iter().any(|field| field == name))
    };
    let fields = object.get("properties").and_then(Value::as_object).into_iter().flatten();
    let parameter = |(name, schema): (&String, &Value)| json!({"name": name, "in": "query", "required": is_required(name), "schema": schema});
    fields.map(parameter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows every reference of the document.
    fn check_references(value: &Value, document: &Value) {
        match value {
            Value::Object(object) => {
                if let Some(reference) = object.get("$ref").and_then(Value::as_str) {
                    let pointer = reference.strip_prefix('#').expect("a local reference");
                    assert!(document.pointer(pointer).is_some(), "{reference}");
                }
                object.values().for_each(|value| check_references(value, document));
            }
            Value::Array(values) => values.iter().for_each(|value| check_references(value, document)),
            _ => {}
        }
    }

    #[test]
    fn document_is_generated_from_the_types() {
        let document = document();
        check_references(&document, &document);
        let body = document.pointer("/components/schemas/CreateBody").unwrap();
        assert_eq!(body["required"], json!(["workspacePath"]));
        assert_eq!(body["properties"]["autoApprove"]["type"], "boolean");
        let list = &document["paths"]["/api/sessions"]["get"];
        let names: Vec<&Value> =
            list["parameters"].as_array().unwrap().iter().map(|parameter| &parameter["name"]).collect();
        assert_eq!(names, ["limit", "offset", "query"]);
        assert_eq!(document["paths"]["/healthz"]["get"]["security"], json!([]));
        let is_required = |path: &str| document["paths"][path]["post"]["requestBody"]["required"].clone();
        let queue = &document["paths"]["/api/sessions/{id}/queue"]["get"]["responses"]["200"];
        assert_eq!(
            queue.pointer("/content/application~1json/schema"),
            Some(&json!({"$ref": "#/components/schemas/QueueView"}))
        );
        assert_eq!(is_required("/api/sessions/{id}/chat"), true);
        assert_eq!(is_required("/api/render"), true);
        assert_eq!(is_required("/api/sessions/{id}/resume"), false);
    }
}
