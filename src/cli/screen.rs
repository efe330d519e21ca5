//! `tiller` in a terminal: the TUI over a session.

use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::args::Arguments;
use super::assemble::{self, Front};
use super::input::{self, Stdin};
use super::run::start;
use super::{DONE, FAILED, Failure, INTERRUPTED};
use crate::agent::AgentSession;
use crate::config::Config;
use crate::provider::demo;
use crate::tui::{self, Colours, ExitReason, TuiOptions};

/// Time that a screen whose terminal went away has to end by itself, and then the session's log to be closed.
const GRACE: Duration = Duration::from_secs(3);

pub(super) async fn run(arguments: &Arguments, config: &Config) -> Result<u8, Failure> {
    let assembled = assemble::assemble(arguments, config, Front::Tui)?;
    let cwd = assembled.parts.manager.cwd().to_owned();
    let prompt = input::first_prompt(&arguments.message, &cwd, Stdin::Leave)?;
    let is_demo = assembled.parts.model.facts.provider == demo::NAME;
    let kept = |name| (!arguments.session.no_session).then(|| config.folders.state.join(name));
    let mut options = TuiOptions {
        prompt: (!prompt.is_empty()).then_some(prompt),
        draft_file: kept("draft.json"),
        history_file: kept("history.jsonl"),
        banner: banner(is_demo),
        notices: assembled.notices.clone(),
        colours: Colours::choose(config.variable("NO_COLOR"), config.variable("COLORFGBG")),
        editor: config.variable("VISUAL").or_else(|| config.variable("EDITOR")).map(str::to_owned),
        home: config.variable("HOME").map(Into::into),
    };
    let _scratch = assembled.scratch;
    let agent = start(arguments, assembled.parts).await?;
    options.notices.extend_from_slice(agent.notices());
    let _last_resort = last_resort(agent.clone());
    let exit = tui::run(agent, options).await.map_err(Failure::run)?;
    Ok(match exit.reason {
        ExitReason::Quit | ExitReason::Closed => DONE,
        ExitReason::Signal => INTERRUPTED,
        ExitReason::HungUp => FAILED,
    })
}

/// Ends the process some time after its terminal went away. The screen does that by itself, unless it was just reading keys:
/// crossterm reads the end of a terminal for ever, and whoever polls it never comes back.
fn last_resort(agent: AgentSession) -> JoinSet<()> {
    let mut watcher = JoinSet::new();
    if let Ok(mut hangup) = signal(SignalKind::hangup()) {
        watcher.spawn(async move {
            hangup.recv().await;
            sleep(GRACE).await;
            let _ = timeout(GRACE, agent.close()).await;
            std::process::exit(FAILED.into());
        });
    }
    watcher
}

/// What an empty session shows.
fn banner(is_demo: bool) -> Vec<String> {
    let mut lines = vec![format!("tiller {}", env!("CARGO_PKG_VERSION"))];
    if is_demo {
        lines.push(
            "This is the demo model: offline, its answers are canned, its tools really run. Say anything."
                .into(),
        );
        lines.push("For a real model set ANTHROPIC_API_KEY or OPENAI_API_KEY and start tiller again.".into());
    } else {
        lines.push("Say what you want done. Enter sends; while the agent works, Enter steers it.".into());
    }
    lines.push("? shows the keys · /help the commands · Ctrl+D quits".into());
    lines
}
