//! docs/extending.md shows the code that is compiled and run, and the code does what the page says.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as they do")]

use std::path::{Path, PathBuf};

#[path = "../../examples/extending/extension.rs"]
mod extension;
#[path = "../../examples/extending/provider.rs"]
mod provider;
#[path = "../../examples/extending/session.rs"]
mod session;
#[path = "../../examples/extending/tool.rs"]
mod tool;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl Into<PathBuf>) -> String {
    std::fs::read_to_string(root().join(path.into())).unwrap()
}

#[test]
fn extending_docs_show_the_example_files() {
    let page = read("docs/extending.md");
    for (language, path) in [
        ("rust", "examples/extending/provider.rs"),
        ("rust", "examples/extending/tool.rs"),
        ("rust", "examples/extending/extension.rs"),
        ("python", "docs/extensions/todo.py"),
    ] {
        let block = format!("```{language}\n{}```\n", read(path));
        assert!(page.contains(&block), "docs/extending.md doesn't show {path} as it is");
    }
}

#[test]
fn extending_docs_name_every_hook_and_message() {
    let page = read("docs/extending.md");
    let hooks = ["before_agent_start", "turn_start", "turn_end", "tool_call", "tool_result", "session_event"];
    let messages = ["hello", "ready", "request", "answer", "progress", "cancel", "event", "close"];
    for name in hooks.iter().chain(&messages) {
        assert!(page.contains(&format!("`{name}`")), "{name} is not on the page");
    }
}

#[tokio::test]
async fn extending_example_runs() {
    let agent = session::start(root()).unwrap();
    let messages_of = async |prompt| session::say(&agent, prompt).await.unwrap();
    assert_eq!(messages_of("hello").await, ["you: hello", "parrot: hello"]);
    assert_eq!(messages_of("/shout hello").await, ["you: HELLO", "parrot: HELLO"]);
    assert_eq!(messages_of("count: a b c").await, ["you: count: a b c", "tool: 3 words", "parrot: 3 words"]);
    let denied = "denied: that is a secret (extension discretion)";
    assert_eq!(messages_of("count: a secret").await[1], format!("tool: {denied}"));
    let commands = agent.slash_commands().await.unwrap();
    assert_eq!(commands[0].name, "shout");
}
