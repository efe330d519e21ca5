//! `tiller` on a terminal: a session in the TUI.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::attach::{AttachedSession, SharedSessions};
use super::failure::{CliFailure, DONE, FAILED, INTERRUPTED, USAGE};
use super::first_prompt::{self, PromptInput, Stdin};
use super::frontend::FrontEnd;
use super::locked::{self, AttachSupport, LockedChoice};
use super::resume::MovedProject;
use super::run_input::RunInput;
use super::scratch::ScratchDir;
use super::sessions::export::{self, ExportRequest};
use super::start::{name, run_blocking};
use super::startup;
use super::themes::Themes;
use super::trusted_project::TrustedProject;
use super::wiring::key_variables;
use super::wiring::{self, SessionChoice};
use super::{add_dir, attach, extensions, log, login, rules, trust};
use crate::agent::remote_session::ConnectionState;
use crate::agent::{AgentSession, PromptOptions};
use crate::cli::console::stderr_line;
use crate::config::{Config, WrongSetting, store_setting};
use crate::process;
use crate::provider::demo;
use crate::session::{Reader, SessionError};
use crate::setting::{ImageMode, Switch};
use crate::tui::{
    self, AttachCheck, ExitReason, Exporter, Images, MouseUse, ProblemScope, ReadSettings, SettingProblem,
    SettingsStore, SignalSettings, SignalSupport, TerminalCapabilities, TerminalOptions, TuiError, TuiExit,
    TuiFiles, TuiOptions, TuiServices,
};

/// Time for the TUI to end after its terminal has closed, and then for the session's log to be closed.
const EXIT_TIMEOUT: Duration = Duration::from_secs(3);

/// Resources that live as long as the session: the directory for long outputs, the socket for other front
/// ends, and the task that prevents the exit from hanging.
type SessionResources = Option<(ScratchDir, Option<SharedSessions>, JoinSet<()>)>;

pub(super) async fn run(input: RunInput) -> Result<u8, CliFailure> {
    if let Some(target) = &input.arguments.session.attach {
        return show_attached(&input, attach::connect(&input, target).await?, FirstInput::Read).await;
    }
    let mut choice = SessionChoice::Named;
    let cwd = startup::cwd(&input.arguments)?;
    let themes = Themes::load(&input.arguments, &input.config, (&cwd, input.project.as_ref()));
    loop {
        let mut resources = None;
        let opening = async {
            let mut opened = open(&input, choice, &mut resources).await?;
            opened.notices.extend_from_slice(&themes.notices);
            Ok::<_, CliFailure>(opened)
        };
        let exit = tui::run(options(&input, &cwd, &themes), opening).await;
        let failure = match exit {
            Ok(TuiExit { reason: ExitReason::Attach(path), .. }) => {
                drop(resources);
                let attached = attach::connect_to_log(&input, &path).await?;
                return show_attached(&input, attached, FirstInput::InDraft).await;
            }
            Ok(exit) => return Ok(code(&exit.reason)),
            Err(TuiError::Open(failure)) => failure,
            Err(error) => return Err(CliFailure::run(error)),
        };
        if let Some(moved) = failure.error.downcast_ref::<MovedProject>() {
            choice = SessionChoice::Chosen(moved.ask()?);
            continue;
        }
        let attaching = match failure.error.downcast_ref() {
            Some(SessionError::Locked { holder: Some(holder), .. })
                if attach::is_reachable(&input, holder) =>
            {
                AttachSupport::Supported
            }
            _ => AttachSupport::Unsupported,
        };
        match locked::offer(failure, attaching)? {
            LockedChoice::Attach(path) => {
                let attached = attach::connect_to_log(&input, &path).await?;
                return show_attached(&input, attached, FirstInput::Read).await;
            }
            LockedChoice::Fork(path) => choice = SessionChoice::ForkOf(path),
            LockedChoice::Follow(path) => return locked::follow(&path).await,
            LockedChoice::Quit => return Ok(DONE),
        }
    }
}

/// The input from the command line and stdin for an attached session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FirstInput {
    Read,
    /// An earlier TUI has read it, and kept it as the draft.
    InDraft,
}

/// Shows a session that another process has open, until the user quits or the other process closes it.
async fn show_attached(
    input: &RunInput,
    attached: AttachedSession,
    first: FirstInput,
) -> Result<u8, CliFailure> {
    let AttachedSession { agent, return_command, open_command } = attached;
    let connection = agent.connection();
    let state = agent.state().await.map_err(CliFailure::run)?.state;
    let (arguments, session) = (Arc::clone(&input.arguments), state.session.clone());
    let themes = Themes::load(&arguments, &input.config, (&state.cwd, input.project.as_ref()));
    let limits = wiring::output_limits(&input.config);
    let (prompt, paste) = match first {
        FirstInput::Read => {
            // Files on the command line are on this machine, unlike those mentioned in the editor.
            let own_cwd = startup::cwd(&arguments)?;
            let first = first_prompt::read_first_prompt(&arguments.message, &own_cwd, limits, Stdin::Read)?;
            first_input(first, &agent).await?
        }
        FirstInput::InDraft => (None, None),
    };
    let _watcher = exit_after_hangup(agent.clone());
    let mut notices = vec![format!("Attached to session {}: quitting leaves it open.", session.short())];
    notices.extend_from_slice(&themes.notices);
    let opened = tui::OpenedSession {
        agent,
        keys: Vec::new(),
        prompt,
        paste,
        pick: false,
        banner: banner(false, &[]),
        notices,
    };
    let opening = async { Ok::<_, CliFailure>(opened) };
    let options = TuiOptions { return_command: Some(return_command), ..options(input, &state.cwd, &themes) };
    match tui::run(options, opening).await {
        Ok(exit) => {
            if exit.reason == ExitReason::Closed {
                let reason = match connection.map(|state| state.borrow().clone()) {
                    Some(ConnectionState::Ended { reason }) => format!(": {reason}"),
                    _ => String::new(),
                };
                stderr_line!("Session {session} is no longer attached{reason}.");
                if let Some(command) = open_command {
                    stderr_line!("Resume this session with: {command}");
                }
            }
            Ok(code(&exit.reason))
        }
        Err(TuiError::Open(failure)) => Err(failure),
        Err(error) => Err(CliFailure::run(error)),
    }
}

const fn code(reason: &ExitReason) -> u8 {
    match reason {
        ExitReason::Quit | ExitReason::Closed | ExitReason::Attach(_) => DONE,
        ExitReason::Signal => INTERRUPTED,
        ExitReason::HungUp => FAILED,
    }
}

fn options(input: &RunInput, cwd: &Path, themes: &Themes) -> TuiOptions {
    let RunInput { arguments, config, .. } = input;
    let state_file = |name| (!arguments.session.no_session).then(|| config.dirs.state.join(name));
    let terminal = TerminalOptions {
        abilities: terminal_capabilities(config),
        signals: signal_support(config),
        mouse: match config.settings.mouse() {
            Switch::On => MouseUse::Tiller,
            Switch::Off => MouseUse::Terminal,
        },
    };
    let files = TuiFiles {
        drafts: state_file("drafts"),
        history: state_file("history.jsonl"),
        keybindings: Some(config.dirs.config.join("keybindings.json")),
        log: log::path(config).filter(|_| !arguments.session.no_session),
        crash_reports: state_file("reports"),
        hidden_dirs: config.private_dirs(cwd),
    };
    TuiOptions {
        cwd: cwd.to_owned(),
        home: config.variable("HOME").map(Into::into),
        dirs: dirs(input, cwd),
        editor: config.variable("VISUAL").or_else(|| config.variable("EDITOR")).map(str::to_owned),
        themes: themes.options.clone(),
        terminal,
        files,
        services: services(input),
        return_command: None,
    }
}

/// Describes the directories of `--add-dir`. Missing ones are reported when the session is opened.
fn dirs(RunInput { arguments, config, .. }: &RunInput, cwd: &Path) -> Vec<String> {
    let home = config.variable("HOME").map(Path::new);
    let added = add_dir::dirs(&arguments.environment.add_dir, cwd).unwrap_or_default();
    added.iter().map(|dir| add_dir::describe_for_user(dir, home)).collect()
}

fn services(input: &RunInput) -> TuiServices {
    // The HTML worker is the same program.
    let program = process::this_program().ok();
    let trusted = TrustedProject::new(input.project.clone());
    TuiServices {
        trust: Some(trust::trust_service(&input.arguments, trusted.clone())),
        exporter: Some(exporter(input.config.variable("HOME").map(PathBuf::from), program.clone())),
        settings: Some(settings_store(input, trusted.clone())),
        keys: Some(login::credential_store(&input.arguments, &trusted)),
        rules: Some(rules::rule_store(input, trusted)),
        importer: Some(super::import::import_service(input)),
        attaching: Some(attach_check(input.clone())),
        highlighter: program,
    }
}

fn attach_check(input: RunInput) -> AttachCheck {
    AttachCheck::new(move |holder| attach::is_reachable(&input, holder))
}

/// Builds the settings store of the TUI, which reads settings as they are read at startup.
fn settings_store(input: &RunInput, trusted: TrustedProject) -> SettingsStore {
    let file = input.config.dirs.config.join("settings.json");
    let describe = |failure: CliFailure| (failure.text(), failure.hint);
    let arguments = Arc::clone(&input.arguments);
    SettingsStore::new(
        ReadSettings { settings: input.config.settings.clone(), problems: setting_problems(&input.config) },
        move || {
            let (config, changed) =
                trust::reload(&arguments, trusted.current().as_ref()).map_err(describe)?;
            let changed =
                changed.map(|what| SettingProblem { what, instead: None, scope: ProblemScope::Everything });
            let problems = changed.into_iter().chain(setting_problems(&config)).collect();
            Ok(ReadSettings { settings: config.settings, problems })
        },
        move |setting, text| store_setting(&file, setting, text).map_err(|error| describe(error.into())),
    )
}

/// Returns the problems with the settings files.
fn setting_problems(config: &Config) -> Vec<SettingProblem> {
    let ignored = config.warnings.iter().cloned();
    let ignored = ignored.map(|what| SettingProblem { what, instead: None, scope: ProblemScope::Setting });
    let invalid = config.invalid.iter().cloned();
    let invalid = invalid.map(|WrongSetting { setting, problem, replacement }| {
        // A file with invalid JSON may just be being edited.
        let scope = setting.map_or(ProblemScope::Everything, |_| ProblemScope::Setting);
        SettingProblem { what: problem, instead: Some(replacement), scope }
    });
    ignored.chain(invalid).collect()
}

/// Returns the signals that the terminal supports and the user wants.
fn signal_support(config: &Config) -> SignalSupport {
    let settings = &config.settings;
    let settings = SignalSettings {
        title: settings.terminal_title(),
        progress: settings.terminal_progress(),
        notify: settings.notify_mode(),
        after_s: settings.notify_after_s(),
    };
    SignalSupport::choose(|name| config.variable(name), settings)
}

/// Opens the session and starts its agent on other threads, because reading a long log takes a second.
async fn open(
    input: &RunInput,
    choice: SessionChoice,
    resources: &mut SessionResources,
) -> Result<tui::OpenedSession, CliFailure> {
    let opened = run_blocking(input, move |input| {
        wiring::open(&input.arguments, &input.config, FrontEnd::Tui, choice)
    })
    .await?;
    let extensions = extensions::start(&input.config, input.project.as_ref(), &opened).await?;
    let (mut opened, first, scratch) = run_blocking(input, move |input| {
        let RunInput { arguments, config, .. } = &input;
        let assembled = wiring::assemble(opened, arguments, config, FrontEnd::Tui, extensions)?;
        let cwd = assembled.parts.manager.cwd().to_owned();
        let limits = wiring::output_limits(config);
        let first = first_prompt::read_first_prompt(&arguments.message, &cwd, limits, Stdin::Read)?;
        let provider = &assembled.parts.first.model.facts.provider;
        let (is_demo, keys) = (provider == demo::NAME, login::key_sources(&input, provider));
        let agent = AgentSession::start(assembled.parts)?;
        input.record_events(&agent);
        let opened = tui::OpenedSession {
            agent,
            keys,
            prompt: None,
            paste: None,
            pick: assembled.pick,
            banner: banner(is_demo, &dirs(&input, &cwd)),
            notices: assembled.notices,
        };
        Ok((opened, first, assembled.scratch))
    })
    .await?;
    let agent = opened.agent.clone();
    name(&input.arguments, &agent).await?;
    opened.notices.extend_from_slice(agent.notices());
    (opened.prompt, opened.paste) = first_input(first, &agent).await?;
    wiring::add_local_models(input, agent.clone());
    wiring::renew_local_windows(input, &agent);
    *resources = Some((scratch, attach::share_session(input, &agent), exit_after_hangup(agent)));
    Ok(opened)
}

/// Splits the input that was given at startup. With a message, all of it is a prompt; piped text alone is put
/// in the editor.
async fn first_input(
    first: PromptInput,
    agent: &AgentSession,
) -> Result<(Option<tui::InitialPrompt>, Option<String>), CliFailure> {
    if !first.has_message() {
        return Ok((None, Some(first.text()).filter(|piped| !piped.is_empty())));
    }
    let usage_error = |error| CliFailure { code: USAGE, ..CliFailure::run(error) };
    let typed = first.typed();
    let (text, options) = first.prompt_for(agent).await.map_err(usage_error)?;
    let PromptOptions { attached, images, .. } = options;
    Ok((Some(tui::InitialPrompt { text, typed, attached, images }), None))
}

/// Builds the service behind `/export`, which exports like `tiller sessions export`; relative paths start at
/// the working directory.
fn exporter(home: Option<PathBuf>, html_worker: Option<PathBuf>) -> Exporter {
    Exporter::new(move |reader, cwd, file| {
        let output = match (file.strip_prefix("~/"), &home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => cwd.join(file),
        };
        let output = Some(&*output).filter(|_| !file.is_empty());
        export(
            reader,
            cwd,
            &ExportRequest { output, html_worker: html_worker.as_deref(), ..ExportRequest::default() },
        )
    })
}

fn export(
    reader: &Reader,
    cwd: &Path,
    request: &ExportRequest<'_>,
) -> Result<PathBuf, (String, Option<String>)> {
    match export::export_session(reader, cwd, request) {
        Ok(path) => Ok(path.unwrap_or_default()),
        // The TUI has no `--force`.
        Err(failure) if request.output.is_some_and(Path::exists) => {
            Err((failure.text(), Some("choose another file".to_owned())))
        }
        // The TUI has no `--format` either.
        Err(failure) if failure.hint.as_deref().is_some_and(|hint| hint.contains("--format")) => {
            Err((failure.text(), Some("use the extension .html, .md or .jsonl".to_owned())))
        }
        Err(failure) => Err((failure.text(), failure.hint)),
    }
}

/// Exits the process some time after its terminal has closed. Normally the TUI does so itself, but not if it
/// was reading keys: then crossterm loops forever at the end of the terminal's input, and its poll never
/// returns.
fn exit_after_hangup(agent: AgentSession) -> JoinSet<()> {
    let mut watcher = JoinSet::new();
    if let Ok(mut hangup) = signal(SignalKind::hangup()) {
        watcher.spawn(async move {
            hangup.recv().await;
            sleep(EXIT_TIMEOUT).await;
            let _ = timeout(EXIT_TIMEOUT, agent.close()).await;
            std::process::exit(FAILED.into());
        });
    }
    watcher
}

/// Returns the banner of an empty session; the TUI replaces names in braces with key bindings.
fn banner(is_demo: bool, dirs: &[String]) -> Vec<String> {
    let mut lines = vec![format!("tiller {}", env!("CARGO_PKG_VERSION"))];
    if is_demo {
        lines.push("This is the demo model: canned answers, real tool calls. Type anything.".into());
        lines.push(format!("For a real model: /login, or set {}.", key_variables()));
    } else {
        lines.push("Type a request: {send} sends it; while the agent works, {send} steers.".into());
    }
    if !dirs.is_empty() {
        lines.push(format!("Tools can also access {}.", dirs.join(" · ")));
    }
    lines.push("{help} help · /hotkeys all keys · {quit} quit".into());
    lines
}

/// Returns the terminal's capabilities, as limited by settings.
fn terminal_capabilities(config: &Config) -> TerminalCapabilities {
    let capabilities = TerminalCapabilities::detect(|name| config.variable(name).map(str::to_owned));
    let images = match config.settings.image_mode() {
        ImageMode::Auto => capabilities.images,
        ImageMode::Line => Images::Line,
    };
    TerminalCapabilities { images, ..capabilities }
}
