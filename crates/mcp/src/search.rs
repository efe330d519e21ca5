//! The search tool. It replaces the servers' tools if their schemas would take too much of the context window. Tools
//! that it finds are offered starting with the next request.

use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use serde_json::{Value, json};
use tiller_core::tool_spec::{Access, ToolSet, ToolSpec, ToolTraits};
use tiller_core::unit::Tokens;
use tiller_tools::tool::{
    ArgumentSchema, RunFuture, ServedTool, Tool, ToolInvocation, ToolOutput, ToolServersEvent,
};
use tokio::sync::mpsc;

/// The source of the search tool, in place of a server's name.
pub(crate) const SERVER: &str = "search";

/// The search tool's name.
const NAME: &str = "mcp_search";

/// Characters of JSON for one token, as in other estimates.
const CHARS_PER_TOKEN: usize = 4;

/// Maximum number of tools that one search finds.
const MAX_FOUND: usize = 10;

/// Returns whether the declarations of these tools take more than this fraction of the window; a fraction of 1 is never
/// exceeded.
pub(crate) fn is_needed(tools: &[ServedTool], window: Tokens, threshold: f64) -> bool {
    let chars: usize = tools.iter().map(|served| declaration_chars(served.tool.spec())).sum();
    threshold < 1.0 && (chars / CHARS_PER_TOKEN) as f64 > window.0 as f64 * threshold
}

fn declaration_chars(spec: &ToolSpec) -> usize {
    spec.name.len() + spec.description.len() + spec.parameters.to_string().len()
}

/// The tools that were found in this session.
pub(crate) struct FoundTools {
    /// Locked only briefly, never across an await.
    names: Mutex<BTreeSet<String>>,
    events: mpsc::Sender<ToolServersEvent>,
}

impl FoundTools {
    pub(crate) fn new(events: mpsc::Sender<ToolServersEvent>) -> Self {
        Self { names: Mutex::default(), events }
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).contains(name)
    }

    async fn add(&self, names: Vec<String>) {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).extend(names);
        // Nobody listens after the session is closed.
        let _ = self.events.send(ToolServersEvent::Changed).await;
    }
}

/// The tool that finds other tools.
pub(crate) struct SearchTool {
    spec: ToolSpec,
    /// Names and descriptions.
    tools: Vec<(String, String)>,
    found: Arc<FoundTools>,
}

impl SearchTool {
    pub(crate) fn new(tools: &[ServedTool], found: Arc<FoundTools>) -> Self {
        let mut servers: Vec<&str> = tools.iter().map(|served| served.server.as_str()).collect();
        servers.dedup();
        let spec = ToolSpec {
            name: NAME.to_owned(),
            description: format!(
                "Finds MCP tools by words in their names and descriptions. The tools that it finds can be \
                 called starting with your next message. Servers: {}.",
                servers.join(", ")
            ),
            parameters: Arc::new(parameters()),
            traits: ToolTraits { set: Some(ToolSet::Mcp), ..ToolTraits::new(Access::Reads) },
        };
        let tools = tools.iter().map(|served| {
            let spec = served.tool.spec();
            (spec.name.clone(), spec.description.clone())
        });
        Self { spec, tools: tools.collect(), found }
    }

    /// Returns the tools that match best: a word in the name counts more than one in the description.
    fn find(&self, query: &str) -> Vec<&(String, String)> {
        let query = query.to_lowercase();
        let words: Vec<&str> = query.split_whitespace().collect();
        let score = |(name, description): &(String, String)| -> usize {
            let (name, description) = (name.to_lowercase(), description.to_lowercase());
            let points = |word: &&str| {
                3 * usize::from(name.contains(*word)) + usize::from(description.contains(*word))
            };
            words.iter().map(points).sum()
        };
        let mut scored: Vec<_> =
            self.tools.iter().map(|tool| (score(tool), tool)).filter(|(score, _)| *score > 0).collect();
        scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        scored.into_iter().take(MAX_FOUND).map(|(_, tool)| tool).collect()
    }
}

fn parameters() -> Value {
    let query = json!({"type": "string", "description": "Words to look for."});
    json!({"type": "object", "properties": {"query": query}, "required": ["query"], "additionalProperties": false})
}

impl Tool for SearchTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn check(&self, arguments: &Value) -> Result<(), String> {
        static SCHEMA: LazyLock<ArgumentSchema> =
            LazyLock::new(|| ArgumentSchema::compile(&parameters()).expect("the schema above is valid"));
        SCHEMA.check(arguments)
    }

    fn run(&self, invocation: ToolInvocation) -> RunFuture<'_> {
        Box::pin(async move {
            let found = self.find(invocation.arguments["query"].as_str().unwrap_or_default());
            if found.is_empty() {
                return ToolOutput::text("No tool matches. Try different or fewer words.");
            }
            let lines = found.iter().map(|(name, description)| format!("{name}: {description}"));
            let text = lines.collect::<Vec<_>>().join("\n");
            self.found.add(found.into_iter().map(|(name, _)| name.clone()).collect()).await;
            ToolOutput::text(text)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search() -> (SearchTool, mpsc::Receiver<ToolServersEvent>) {
        let (events, received) = mpsc::channel(4);
        let tool = |name: &str, description: &str| (name.to_owned(), description.to_owned());
        let tools = vec![
            tool("mcp__git__log", "Shows commits of an issue."),
            tool("mcp__hub__list_issues", "Lists what is open."),
            tool("mcp__hub__close", "Closes a thing."),
        ];
        let found = Arc::new(FoundTools::new(events));
        (SearchTool { tools, ..SearchTool::new(&[], found) }, received)
    }

    #[tokio::test]
    async fn search_offers_what_it_finds_best_first() {
        let (search, mut events) = search();
        let progress = tiller_tools::tool::ToolProgress::new(|_| {});
        let run = |query: &str| {
            search.run(ToolInvocation { arguments: json!({"query": query}), progress: progress.clone() })
        };
        let expected =
            "mcp__hub__list_issues: Lists what is open.\nmcp__git__log: Shows commits of an issue.";
        assert_eq!(run("Issue").await, ToolOutput::text(expected));
        let offered = ["git__log", "hub__list_issues", "hub__close"]
            .map(|name| search.found.contains(&format!("mcp__{name}")));
        assert_eq!((offered, events.try_recv()), ([true, true, false], Ok(ToolServersEvent::Changed)));
        assert_eq!(run("nothing").await, ToolOutput::text("No tool matches. Try different or fewer words."));
        assert!(events.try_recv().is_err());
    }

    #[test]
    fn is_needed_above_the_share_of_the_window() {
        let (search, _events) = search();
        let tools = [ServedTool { tool: Arc::new(search), server: "s".into() }];
        let tokens = declaration_chars(tools[0].tool.spec()) / CHARS_PER_TOKEN;
        let needed = |window: usize, threshold| is_needed(&tools, Tokens(window as u64), threshold);
        assert!(needed(tokens * 10 - 10, 0.1));
        assert!(!needed(tokens * 10, 0.1));
        assert!(needed(1_000_000, 0.0) && !needed(0, 1.0));
    }
}
