//! Runs the example of the page about agents.

use tempfile::TempDir;

#[path = "../../examples/orchestrator.rs"]
#[allow(dead_code, reason = "its `main` is for people")]
mod example;

#[tokio::test]
async fn orchestrator_example_delegates_to_both_specialists() {
    let dir = TempDir::new().unwrap();
    let lines = example::run_steps(dir.path()).await.unwrap();
    let expected = [
        "researcher starts: FIND a fact",
        "An octopus has three hearts.",
        "poet starts: RHYME it",
        "Three hearts beat slow / in the deep below.",
        "The poem is done.",
    ];
    assert_eq!(lines, expected);
}
