//! A session with a provider, a tool and an extension of one's own: `cargo run --example extending`. docs/extending.md goes
//! through it.

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
