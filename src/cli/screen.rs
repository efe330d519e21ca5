//! `tiller` in a terminal: the TUI over a session.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::args::Arguments;
use super::assemble;
use super::front::Front;
use super::held::{self, Choice};
use super::input::{self, Stdin};
use super::run::start;
use super::sessions::export::{self, Asked};
use super::{DONE, FAILED, Failure, INTERRUPTED, extensions};
use crate::agent::AgentSession;
use crate::config::{Config, Project};
use crate::provider::demo;
use crate::session::Reader;
use crate::setting;
use crate::tui::{self, Colours, ExitReason, Exporter, Reach, TuiOptions, Wishes};

/// Time that a screen whose terminal went away has to end by itself, and then the session's log to be closed.
const GRACE: Duration = Duration::from_secs(3);

pub(super) async fn run(
    arguments: &Arguments,
    config: &Config,
    project: Option<&Project>,
) -> Result<u8, Failure> {
    let mut forked_from = None;
    let opened = match assemble::open(arguments, config, Front::Tui) {
        Ok(opened) => opened,
        Err(failure) => match held::offer(failure)? {
            Choice::Fork(path) => {
                let opened = assemble::open_fork(arguments, config, &path)?;
                forked_from = Some(path);
                opened
            }
            Choice::ReadAlong(path) => return held::read_along(&path).await,
            Choice::Quit => return Ok(DONE),
        },
    };
    let extensions = extensions::start(config, project, &opened).await?;
    let mut assembled = assemble::assemble_around(opened, arguments, config, Front::Tui, extensions)?;
    assembled.notices.extend(forked_from.map(|path| format!("this is a fork of {}", path.display())));
    let cwd = assembled.parts.manager.cwd().to_owned();
    let prompt = input::first_prompt(&arguments.message, &cwd, Stdin::Leave)?.text();
    let is_demo = assembled.parts.model.facts.provider == demo::NAME;
    let kept = |name| (!arguments.session.no_session).then(|| config.folders.state.join(name));
    let mut options = TuiOptions {
        prompt: (!prompt.is_empty()).then_some(prompt),
        pick: assembled.pick,
        draft_file: kept("draft.json"),
        history_file: kept("history.jsonl"),
        banner: banner(is_demo),
        notices: assembled.notices.clone(),
        colours: Colours::choose(config.variable("NO_COLOR"), config.variable("COLORFGBG")),
        editor: config.variable("VISUAL").or_else(|| config.variable("EDITOR")).map(str::to_owned),
        keybindings: Some(config.folders.config.join("keybindings.json")),
        reach: reach(config),
        home: config.variable("HOME").map(Into::into),
        exporter: Some(Exporter::new(export)),
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

/// What this terminal can be told beside the screen.
fn reach(config: &Config) -> Reach {
    let word = |setting| config.settings.text(setting).unwrap_or_default();
    let wishes = Wishes {
        title: word(&setting::TERMINAL_TITLE),
        progress: word(&setting::TERMINAL_PROGRESS),
        notify: word(&setting::NOTIFY),
        after_s: config.settings.count(&setting::NOTIFY_AFTER_S).unwrap_or_default(),
    };
    Reach::choose(|name| config.variable(name), wishes)
}

/// What `/export` does: as `tiller sessions export`, the file's place beginning at the working directory.
fn export(reader: &Reader, cwd: &Path, file: &str) -> Result<PathBuf, (String, Option<String>)> {
    let output = cwd.join(file);
    let output = (!file.is_empty()).then_some(output.as_path());
    let asked = Asked { output, ..Asked::default() };
    match export::made(reader, cwd, &asked) {
        Ok(path) => Ok(path.unwrap_or_default()),
        // On the screen there is no --force.
        Err(failure) if output.is_some_and(Path::exists) => {
            Err((format!("{:#}", failure.error), Some("name another file".to_owned())))
        }
        Err(failure) => Err((format!("{:#}", failure.error), failure.hint)),
    }
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
