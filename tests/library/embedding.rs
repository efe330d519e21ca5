//! Runs the embedding example as its page shows it.

use tempfile::TempDir;
use tiller::process::Runner;

#[path = "../../examples/embed.rs"]
#[allow(dead_code, reason = "its `main` is for people")]
mod example;

#[tokio::test]
async fn embedding_example_runs() {
    let dir = TempDir::new().unwrap();
    std::fs::write(dir.path().join("notes.txt"), "buy milk\n".repeat(300)).unwrap();
    let runner = Runner::with_supervisor(env!("CARGO_BIN_EXE_tiller"));
    let lines = example::run_steps(dir.path(), runner).await.unwrap();
    let expected = ["run: Milk.", "steered: Completed after 5 messages", "answer: Milk.", "fork: Du lait."];
    assert_eq!(lines[..4], expected, "{lines:?}");
    assert!(lines.iter().any(|line| line.starts_with("compacted: ")), "{lines:?}");
    assert_eq!(std::fs::read_dir(dir.path().join("logs")).unwrap().count(), 2);
}
