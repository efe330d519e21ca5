//! The server of the tests on stdio: `mcp-test-server MODE`.

use std::process::ExitCode;
use std::time::Duration;

use rmcp::ServiceExt as _;

mod handler;

use handler::{Lifecycle, TestServer};

#[tokio::main]
async fn main() -> ExitCode {
    let mode = std::env::args().nth(1).unwrap_or_default();
    eprintln!("mode {mode}");
    let lifecycle = match mode.as_str() {
        "modern" | "noisy" => Lifecycle::Modern,
        "legacy" => Lifecycle::Legacy,
        "unanswered" => Lifecycle::Unanswered,
        "fails" => return ExitCode::from(3),
        "silent" => {
            tokio::time::sleep(Duration::from_secs(600)).await;
            return ExitCode::SUCCESS;
        }
        _ => return ExitCode::from(2),
    };
    if mode == "noisy" {
        println!("Welcome!\n{{\"broken\": ");
    }
    let variable = std::env::var("TEST_VARIABLE").unwrap_or_default();
    let server = TestServer::new(lifecycle, variable).serve(rmcp::transport::stdio()).await;
    let Ok(running) = server else { return ExitCode::from(4) };
    let _ = running.waiting().await;
    ExitCode::SUCCESS
}
