//! `tiller` in a terminal: the TUI over a session.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{sleep, timeout};

use super::first_prompt::{self, FirstPrompt, Stdin};
use super::frontend::FrontEnd;
use super::locked::{self, LockedChoice};
use super::resume::MovedProject;
use super::run::{RunInput, name};
use super::sessions::export::{self, ExportRequest};
use super::themes::Themes;
use super::wiring::key_variables;
use super::wiring::{self, Scratch, SessionChoice};
use super::{CliFailure, DONE, FAILED, INTERRUPTED, USAGE, add_dir, extensions, log, login, trust};
use crate::agent::AgentSession;
use crate::config::{Config, Project, WrongSetting, store_setting};
use crate::process;
use crate::provider::demo;
use crate::session::Reader;
use crate::setting;
use crate::tui::{
    self, Abilities, ExitReason, Exporter, Images, MouseUse, ReadSettings, SaveEffect, Services,
    SettingProblem, SettingsStore, SignalSettings, SignalSupport, TerminalOptions, TuiError, TuiFiles,
    TuiOptions,
};

/// Time that a screen whose terminal went away has to end by itself, and then the session's log to be closed.
const GRACE: Duration = Duration::from_secs(3);

/// What has to last as long as the session: the folder for its long outputs, and whoever watches over its end.
type LastingSession = Option<(Scratch, JoinSet<()>)>;

pub(super) async fn run(given: RunInput) -> Result<u8, CliFailure> {
    let mut which = SessionChoice::Named;
    let cwd = wiring::cwd(&given.arguments)?;
    let themes = Themes::load(&given.arguments, &given.config, (&cwd, given.project.as_ref()));
    loop {
        let mut lasting = None;
        let opening = async {
            let mut opened = open(&given, which, &mut lasting).await?;
            opened.notices.extend_from_slice(&themes.notices);
            Ok::<_, CliFailure>(opened)
        };
        let exit = tui::run(options(&given, &cwd, &themes), opening).await;
        let failure = match exit {
            Ok(exit) => return Ok(code(exit.reason)),
            Err(TuiError::Open(failure)) => failure,
            Err(error) => return Err(CliFailure::run(error)),
        };
        if let Some(undecided) = failure.error.downcast_ref::<MovedProject>() {
            which = SessionChoice::Chosen(undecided.ask()?);
            continue;
        }
        match locked::offer(failure)? {
            LockedChoice::Fork(path) => which = SessionChoice::ForkOf(path),
            LockedChoice::ReadAlong(path) => return locked::read_along(&path).await,
            LockedChoice::Quit => return Ok(DONE),
        }
    }
}

fn code(reason: ExitReason) -> u8 {
    match reason {
        ExitReason::Quit | ExitReason::Closed => DONE,
        ExitReason::Signal => INTERRUPTED,
        ExitReason::HungUp => FAILED,
    }
}

fn options(given: &RunInput, cwd: &Path, themes: &Themes) -> TuiOptions {
    let RunInput { arguments, config, .. } = given;
    let kept = |name| (!arguments.session.no_session).then(|| config.folders.state.join(name));
    let terminal = TerminalOptions {
        abilities: abilities(config),
        reach: reach(config),
        mouse: if config.settings.is(&setting::MOUSE, "off") { MouseUse::Terminal } else { MouseUse::Tiller },
    };
    let files = TuiFiles {
        drafts: kept("drafts"),
        history: kept("history.jsonl"),
        keybindings: Some(config.folders.config.join("keybindings.json")),
        log: log::path(config).filter(|_| !arguments.session.no_session),
        reports: kept("reports"),
        protected: config.private_folders(cwd),
    };
    TuiOptions {
        cwd: cwd.to_owned(),
        home: config.variable("HOME").map(Into::into),
        folders: folders(given, cwd),
        editor: config.variable("VISUAL").or_else(|| config.variable("EDITOR")).map(str::to_owned),
        themes: themes.options.clone(),
        terminal,
        files,
        desks: desks(given),
    }
}

/// The folders beside `cwd` that tools may reach; of those that aren't there it is said when the session is opened.
fn folders(RunInput { arguments, config, .. }: &RunInput, cwd: &Path) -> Vec<String> {
    let home = config.variable("HOME").map(Path::new);
    let added = add_dir::folders(&arguments.place.add_dir, cwd).unwrap_or_default();
    added.iter().map(|folder| add_dir::shown(folder, home)).collect()
}

fn desks(given: &RunInput) -> Services {
    // It makes pages too.
    let words = process::this_program().ok();
    let trusted = Arc::new(Mutex::new(given.project.clone()));
    Services {
        trust: Some(trust::desk(&given.arguments, Arc::clone(&trusted))),
        exporter: Some(exporter(given.config.variable("HOME").map(PathBuf::from), words.clone())),
        settings: Some(desk(given, trusted)),
        keys: Some(login::desk(&given.arguments, given.project.as_ref())),
        importer: Some(super::import::desk(given)),
        words,
    }
}

/// Where settings are read and written while the screen is there: as they would be read at the start.
fn desk(given: &RunInput, trusted: Arc<Mutex<Option<Project>>>) -> SettingsStore {
    let file = given.config.folders.config.join("settings.json");
    let told = |failure: CliFailure| (format!("{:#}", failure.error), failure.hint);
    let arguments = Arc::clone(&given.arguments);
    SettingsStore::new(
        ReadSettings { settings: given.config.settings.clone(), faults: faults(&given.config) },
        move || {
            let project = trusted.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let (config, changed) = trust::anew(&arguments, project.as_ref()).map_err(told)?;
            let changed =
                changed.map(|what| SettingProblem { what, instead: None, cost: SaveEffect::Everything });
            let faults = changed.into_iter().chain(faults(&config)).collect();
            Ok(ReadSettings { settings: config.settings, faults })
        },
        move |setting, text| store_setting(&file, setting, text).map_err(|error| told(error.into())),
    )
}

/// What of the files of settings isn't taken at its word.
fn faults(config: &Config) -> Vec<SettingProblem> {
    let passed_over = config.warnings.iter().cloned();
    let passed_over =
        passed_over.map(|what| SettingProblem { what, instead: None, cost: SaveEffect::Itself });
    let wrong = config.wrong.iter().cloned();
    let wrong = wrong.map(|WrongSetting { setting, what, instead }| {
        // A file that is no JSON may just be in somebody's editor.
        let cost = setting.map_or(SaveEffect::Everything, |_| SaveEffect::Itself);
        SettingProblem { what, instead: Some(instead), cost }
    });
    passed_over.chain(wrong).collect()
}

/// What this terminal can be told beside the screen.
fn reach(config: &Config) -> SignalSupport {
    let word = |setting| config.settings.text(setting).unwrap_or_default();
    let wishes = SignalSettings {
        title: word(&setting::TERMINAL_TITLE),
        progress: word(&setting::TERMINAL_PROGRESS),
        notify: word(&setting::NOTIFY),
        after_s: config.settings.count(&setting::NOTIFY_AFTER_S).unwrap_or_default(),
    };
    SignalSupport::choose(|name| config.variable(name), wishes)
}

/// Opens the session and starts its agent, on other threads: a long log takes a second to read.
async fn open(
    given: &RunInput,
    which: SessionChoice,
    lasting: &mut LastingSession,
) -> Result<tui::OpenedSession, CliFailure> {
    let opened =
        elsewhere(given, move |given| wiring::open(&given.arguments, &given.config, FrontEnd::Tui, which))
            .await?;
    let extensions = extensions::start(&given.config, given.project.as_ref(), &opened).await?;
    let (mut opened, first, scratch) = elsewhere(given, move |given| {
        let RunInput { arguments, config, .. } = &given;
        let assembled = wiring::assemble_around(opened, arguments, config, FrontEnd::Tui, extensions)?;
        let cwd = assembled.parts.manager.cwd().to_owned();
        let limits = wiring::output_limits(config);
        let first = first_prompt::first_prompt(&arguments.message, &cwd, limits, Stdin::Read)?;
        let provider = &assembled.parts.first.model.facts.provider;
        let (is_demo, keys) = (provider == demo::NAME, login::key_sources(&given, provider));
        let agent = AgentSession::start(assembled.parts)?;
        given.trace(&agent);
        let opened = tui::OpenedSession {
            agent,
            keys,
            prompt: None,
            paste: None,
            pick: assembled.pick,
            banner: banner(is_demo, &folders(&given, &cwd)),
            notices: assembled.notices,
        };
        Ok((opened, first, assembled.scratch))
    })
    .await?;
    let agent = opened.agent.clone();
    name(&given.arguments, &agent).await?;
    opened.notices.extend_from_slice(agent.notices());
    (opened.prompt, opened.paste) = first_input(first, &agent).await?;
    *lasting = Some((scratch, last_resort(agent)));
    Ok(opened)
}

/// Divides what was given at the start: with a message all of it is a prompt, piped text alone is for the editor.
async fn first_input(
    first: FirstPrompt,
    agent: &AgentSession,
) -> Result<(Option<tui::FirstPrompt>, Option<String>), CliFailure> {
    if !first.has_message() {
        return Ok((None, Some(first.text()).filter(|piped| !piped.is_empty())));
    }
    let wrong = |error| CliFailure { code: USAGE, ..CliFailure::run(error) };
    let typed = first.typed();
    let (text, options) = first.prompt_for(agent).await.map_err(wrong)?;
    Ok((Some(tui::FirstPrompt { text, typed, attached: options.attached }), None))
}

/// Does something that takes time on a thread where nobody waits for keys.
async fn elsewhere<T: Send + 'static>(
    given: &RunInput,
    work: impl FnOnce(RunInput) -> Result<T, CliFailure> + Send + 'static,
) -> Result<T, CliFailure> {
    let given = given.clone();
    match spawn_blocking(move || work(given)).await {
        Ok(done) => done,
        // A panic there is a panic here; nobody cancels it.
        Err(error) => std::panic::resume_unwind(error.into_panic()),
    }
}

/// What `/export` does: as `tiller sessions export`, the file's place beginning at the working directory.
fn exporter(home: Option<PathBuf>, pages: Option<PathBuf>) -> Exporter {
    Exporter::new(move |reader, cwd, file| {
        let output = match (file.strip_prefix("~/"), &home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => cwd.join(file),
        };
        let output = Some(&*output).filter(|_| !file.is_empty());
        export(reader, cwd, &ExportRequest { output, pages: pages.as_deref(), ..ExportRequest::default() })
    })
}

fn export(
    reader: &Reader,
    cwd: &Path,
    asked: &ExportRequest<'_>,
) -> Result<PathBuf, (String, Option<String>)> {
    match export::made(reader, cwd, asked) {
        Ok(path) => Ok(path.unwrap_or_default()),
        // On the screen there is no --force.
        Err(failure) if asked.output.is_some_and(Path::exists) => {
            Err((format!("{:#}", failure.error), Some("name another file".to_owned())))
        }
        // Nor is there a --format.
        Err(failure) if failure.hint.as_deref().is_some_and(|hint| hint.contains("--format")) => {
            Err((format!("{:#}", failure.error), Some("end it in .html, .md or .jsonl".to_owned())))
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

/// What an empty session shows; names of keys in braces, as the front end has them bound.
fn banner(is_demo: bool, folders: &[String]) -> Vec<String> {
    let mut lines = vec![format!("tiller {}", env!("CARGO_PKG_VERSION"))];
    if is_demo {
        lines.push("This is the demo model: canned answers, but real tool calls. Say anything.".into());
        lines.push(format!("For a real model: /login, or set {}.", key_variables()));
    } else {
        lines.push("Say what you want done: {send} sends it; while the agent works, {send} steers.".into());
    }
    if !folders.is_empty() {
        lines.push(format!("Tools also reach {}.", folders.join(" · ")));
    }
    lines.push("{help} shows the keys · /help the commands · {quit} quits".into());
    lines
}

/// What the terminal can do, as far as the user wants it done.
fn abilities(config: &Config) -> Abilities {
    let abilities = Abilities::of(|name| config.variable(name).map(str::to_owned));
    let wanted = if config.settings.is(&setting::IMAGES, "line") { Images::Line } else { abilities.images };
    Abilities { images: wanted, ..abilities }
}
