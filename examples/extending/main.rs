//! A session with a custom provider, tool and extension: `cargo run --example extending`. docs/extending.md
//! explains it.

mod extension;
mod provider;
mod session;
mod tool;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = session::start(&std::env::current_dir()?)?;
    for prompt in ["hello", "/shout hello", "count: one two three", "count: my secret"] {
        for line in session::say(&agent, prompt).await? {
            println!("{line}");
        }
    }
    agent.close().await?;
    Ok(())
}
