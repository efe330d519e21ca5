//! `tiller doctor`: checks the installation and its environment, with one line per check.

use std::path::{Path, PathBuf};

use nix::sys::statvfs::statvfs;
use nix::unistd::{AccessFlags, access};
use serde::Serialize;

use super::args::CliArgs;
use super::failure::{CliFailure, DONE, FAILED};
use super::frontend::{FrontEnd, Stdio};
use super::scratch::ScratchDir;
use super::stdout::print_text;
use super::trust::{self, TrustPrompt};
use super::{resource_paths, startup, themes, tool_servers, wiring};
use crate::agent::Resources;
use crate::config::Config;
use crate::process::{ExitStatus, SandboxSupport, ShellCommand, on_path};
use crate::provider::ProxyUse;
use crate::provider::descriptor::PROVIDERS;
use crate::sandbox::{Sandbox, SandboxMode};
use crate::tool::{LeftoverWorktree, ToolServerState, ToolServerStatus, find_leftover_worktrees};
use crate::tui::keybinding_problems;
use crate::workspace::Workspace;

/// Programs that read or write the clipboard.
const CLIPBOARD: &[&str] = &["wl-copy", "wl-paste", "xclip", "xsel", "pbcopy", "pbpaste"];

/// Variables that name a proxy, or servers that are reached without one.
const PROXY_VARIABLES: &[&str] = &[
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
    "NO_PROXY",
    "no_proxy",
];

/// Minimum free space for sessions: the log of a long one takes tens of megabytes.
const MIN_FREE_BYTES: u64 = 50 * 1024 * 1024;

#[derive(Serialize)]
struct Check {
    name: &'static str,
    state: CheckState,
    detail: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum CheckState {
    /// It works.
    Ok,
    /// It is missing, but tiller works without it.
    Absent,
    /// It doesn't work.
    Broken,
}

impl CheckState {
    const fn mark(self) -> char {
        match self {
            Self::Ok => '✓',
            Self::Absent => '–',
            Self::Broken => '✗',
        }
    }
}

impl Check {
    fn new(name: &'static str, state: CheckState, detail: impl Into<String>) -> Self {
        Self { name, state, detail: detail.into() }
    }

    /// Returns the lines of the report. All lines of the detail begin in its column.
    fn lines(&self) -> String {
        let detail = self.detail.replace('\n', &format!("\n{:17}", ""));
        format!("{} {:<14} {detail}\n", self.state.mark(), self.name)
    }
}

/// Runs all checks; fails if something is broken.
pub(super) fn run(arguments: &CliArgs, json: bool) -> Result<u8, CliFailure> {
    let mut checks = vec![check_program()];
    match trust::config(arguments, TrustPrompt::Nobody) {
        Ok((config, _)) => {
            let cwd = startup::cwd(arguments)?;
            let sandbox = wiring::sandbox(&config, &cwd);
            let problems = resource_problems(arguments, &config, &cwd);
            checks.extend([
                check_config(&config, &problems),
                check_keys(&config),
                check_proxy(),
                check_sandbox(&config, &sandbox),
            ]);
            checks.push(check_supervisor(&config, &sandbox, &cwd));
            checks.push(check_worktrees(&config, &cwd));
            checks.push(check_servers(&config, &cwd));
            checks.push(check_sessions(&sessions_dir(&config, &cwd)));
        }
        Err(failure) => {
            checks.push(Check::new("configuration", CheckState::Broken, failure.text()));
        }
    }
    checks.extend([check_terminal(), check_clipboard(), check_git()]);
    if json {
        print_text(&(serde_json::to_string_pretty(&checks).map_err(CliFailure::run)? + "\n"))?;
    } else {
        print_text(&checks.iter().map(Check::lines).collect::<String>())?;
    }
    let is_broken = checks.iter().any(|check| check.state == CheckState::Broken);
    Ok(if is_broken { FAILED } else { DONE })
}

fn check_program() -> Check {
    let version = env!("CARGO_PKG_VERSION");
    match std::env::current_exe() {
        Ok(path) => Check::new("tiller", CheckState::Ok, format!("{version}, {}", path.display())),
        Err(error) => {
            let detail = format!("{version}; can't find the program's own path: {error}");
            Check::new("tiller", CheckState::Broken, detail)
        }
    }
}

/// Returns the problems with the files of skills, templates, agents, context files, themes and keys.
fn resource_problems(arguments: &CliArgs, config: &Config, cwd: &Path) -> Vec<String> {
    let scratch = match ScratchDir::choose(arguments, config) {
        Ok(scratch) => scratch,
        Err(failure) => return vec![failure.text()],
    };
    let paths = resource_paths::resource_paths(arguments, config, (cwd, FrontEnd::Print), &scratch);
    let resources = Resources::load(paths);
    let problems = resources.problems().iter().map(ToString::to_string);
    let of_keys = keybinding_problems(&config.dirs.config.join("keybindings.json"));
    problems.chain(themes::problems(arguments, config, (cwd, None))).chain(of_keys).collect()
}

fn check_config(config: &Config, resource_problems: &[String]) -> Check {
    let notices: Vec<String> = config.notices().chain(resource_problems.iter().cloned()).collect();
    if notices.is_empty() {
        return Check::new("configuration", CheckState::Ok, config.dirs.config.display().to_string());
    }
    // Guard problems: a rule or hook that may deny something can't be read.
    let is_broken = !config.invalid.is_empty() || !config.guard_problems.is_empty();
    let state = if is_broken { CheckState::Broken } else { CheckState::Absent };
    Check::new("configuration", state, notices.join("\n"))
}

fn check_keys(config: &Config) -> Check {
    let names = PROVIDERS.iter().map(|provider| provider.name);
    let found: Vec<&str> = names.filter(|name| config.key_source(name).is_some()).collect();
    if found.is_empty() {
        return Check::new("keys", CheckState::Absent, "none; `tiller login PROVIDER` stores one");
    }
    Check::new("keys", CheckState::Ok, found.join(", "))
}

/// Checks the variables that name the proxies of requests.
fn check_proxy() -> Check {
    const NAME: &str = "proxy";
    // Any host that isn't this machine.
    let servers = ["https://example.com", "http://example.com"];
    let fault = |proxy| if let ProxyUse::Invalid(fault) = proxy { Some(fault) } else { None };
    if let Some(fault) = servers.into_iter().map(wiring::proxy_use).find_map(fault) {
        return Check::new(NAME, CheckState::Broken, fault);
    }
    let is_set = |name: &&str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let set: Vec<&str> = PROXY_VARIABLES.iter().copied().filter(is_set).collect();
    if set.is_empty() {
        return Check::new(NAME, CheckState::Absent, "none");
    }
    Check::new(NAME, CheckState::Ok, set.join(", "))
}

fn check_sandbox(config: &Config, sandbox: &Sandbox) -> Check {
    let system = match SandboxSupport::detect() {
        SandboxSupport::Missing => "not supported by this system".to_owned(),
        SandboxSupport::Landlock { abi: abi @ 0..=3 } => {
            format!("Landlock ABI {abi}: can restrict writes, but not TCP")
        }
        SandboxSupport::Landlock { abi: abi @ 4..=5 } => format!("Landlock ABI {abi}"),
        SandboxSupport::Landlock { abi } => format!("Landlock ABI {abi} or later"),
        SandboxSupport::Seatbelt => "sandbox-exec".to_owned(),
    };
    match (sandbox.describe(), config.settings.sandbox_mode()) {
        (Some(restrictions), mode) => Check::new(
            "sandbox",
            CheckState::Ok,
            format!("{}: commands {restrictions} ({system})", mode.name()),
        ),
        (None, SandboxMode::Off) => Check::new("sandbox", CheckState::Absent, format!("off ({system})")),
        (None, _) => Check::new("sandbox", CheckState::Absent, system),
    }
}

/// Runs `true` as if the model had called it.
fn check_supervisor(config: &Config, sandbox: &Sandbox, cwd: &Path) -> Check {
    match run_true(config, sandbox, cwd) {
        Ok(ExitStatus::Code(0)) => {
            Check::new("commands", CheckState::Ok, "supervisor and shell start correctly")
        }
        Ok(status) => Check::new("commands", CheckState::Broken, format!("`true` ended with {status:?}")),
        Err(error) => Check::new("commands", CheckState::Broken, format!("{error:#}")),
    }
}

fn run_true(config: &Config, sandbox: &Sandbox, cwd: &Path) -> anyhow::Result<ExitStatus> {
    let mut runner = wiring::command_runner(config).map_err(|failure| failure.error)?;
    if let Some(profile) = sandbox.profile(&Workspace::new(cwd)?) {
        runner = runner.with_sandbox(profile);
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let running = runner.start(&ShellCommand { line: "true".into(), cwd: cwd.to_owned() })?;
        Ok(running.wait().await?.status)
    })
}

/// Looks for agents' worktrees that are left over from a crash.
fn check_worktrees(config: &Config, cwd: &Path) -> Check {
    let find = || -> anyhow::Result<Vec<LeftoverWorktree>> {
        let runner = wiring::command_runner(config).map_err(|failure| failure.error)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(runtime.block_on(find_leftover_worktrees(cwd, &runner)))
    };
    let leftovers = find().unwrap_or_default();
    if leftovers.is_empty() {
        return Check::new("worktrees", CheckState::Ok, "none left by interrupted agents");
    }
    let list: Vec<String> =
        leftovers.iter().map(|found| format!("{} ({})", found.dir.display(), found.branch)).collect();
    let detail = format!(
        "left by interrupted agents: {}; `tiller race --resume` continues a race, the next race or isolated agent \
         commits their changes and removes them, except those with a new Git repository in them",
        list.join(", ")
    );
    Check::new("worktrees", CheckState::Absent, detail)
}

fn sessions_dir(config: &Config, cwd: &Path) -> PathBuf {
    match config.settings.session_dir() {
        Some(dir) => cwd.join(dir),
        None => config.dirs.sessions(),
    }
}

/// Checks the directory, or its nearest existing ancestor: tiller creates the missing ones.
fn check_sessions(dir: &Path) -> Check {
    let broken =
        |reason: String| Check::new("sessions", CheckState::Broken, format!("{}: {reason}", dir.display()));
    let Some(existing) = dir.ancestors().find(|dir| dir.exists()) else {
        return broken("no such directory".into());
    };
    if !existing.is_dir() || access(existing, AccessFlags::W_OK | AccessFlags::X_OK).is_err() {
        return broken(format!("can't write in {}", existing.display()));
    }
    // The types differ between systems.
    #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "u32 on macOS")]
    let free = statvfs(existing).map(|stat| stat.blocks_available() as u64 * stat.fragment_size() as u64);
    match free {
        Ok(free) if free < MIN_FREE_BYTES => broken(format!("only {} free", size(free))),
        Ok(free) => {
            let detail = format!("{}, {} free", dir.display(), size(free));
            Check::new("sessions", CheckState::Ok, detail)
        }
        Err(errno) => broken(errno.to_string()),
    }
}

/// Formats a size in whole MB or GB.
fn size(bytes: u64) -> String {
    match bytes / 1_000_000 {
        megabytes @ 0..1_000 => format!("{megabytes} MB"),
        megabytes => format!("{} GB", megabytes / 1_000),
    }
}

/// Starts each MCP server.
fn check_servers(config: &Config, cwd: &Path) -> Check {
    const NAME: &str = "MCP servers";
    if config.mcp.servers.is_empty() {
        return Check::new(NAME, CheckState::Absent, "none; `tiller mcp add` adds one");
    }
    match tool_servers::try_servers(config.mcp.servers.clone(), config, cwd) {
        Ok(servers) => {
            let is_running =
                |server: &ToolServerStatus| matches!(server.state, ToolServerState::Running { .. });
            let state = if servers.iter().all(is_running) { CheckState::Ok } else { CheckState::Broken };
            Check::new(NAME, state, servers.iter().map(describe_server).collect::<Vec<_>>().join(", "))
        }
        Err(failure) => Check::new(NAME, CheckState::Broken, failure.text()),
    }
}

fn describe_server(server: &ToolServerStatus) -> String {
    let state = match &server.state {
        ToolServerState::Starting => "did not start".to_owned(),
        ToolServerState::Running { tools, .. } => format!("{} tools", tools.len()),
        ToolServerState::Failed(reason) => reason.clone(),
    };
    format!("{} ({state})", server.name)
}

fn check_terminal() -> Check {
    let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
    let term = variable("TERM").unwrap_or_else(|| "TERM is not set".into());
    if !Stdio::from_process().stdout_is_terminal {
        return Check::new("terminal", CheckState::Absent, format!("stdout is not a terminal ({term})"));
    }
    let program = variable("TERM_PROGRAM").map(|program| format!(", {program}")).unwrap_or_default();
    let colors = variable("COLORTERM").map(|colors| format!(", {colors}")).unwrap_or_default();
    let size = crossterm::terminal::size().map(|(width, height)| format!(", {width}×{height}"));
    let state = if term == "dumb" { CheckState::Absent } else { CheckState::Ok };
    Check::new("terminal", state, format!("{term}{program}{colors}{}", size.unwrap_or_default()))
}

fn check_clipboard() -> Check {
    let found: Vec<&str> = CLIPBOARD.iter().copied().filter(|program| on_path(program).is_some()).collect();
    if found.is_empty() {
        let detail = "no clipboard program; copying needs a terminal with OSC 52, and images can't be pasted";
        return Check::new("clipboard", CheckState::Absent, detail);
    }
    Check::new("clipboard", CheckState::Ok, found.join(", "))
}

fn check_git() -> Check {
    match on_path("git") {
        Some(path) => Check::new("git", CheckState::Ok, path.display().to_string()),
        None => Check::new("git", CheckState::Absent, "not on PATH; the git tools need it"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doctor_sessions_dir_that_cannot_be_created_is_broken() {
        let dir = tempfile::tempdir().unwrap();
        let state = |path: &str| check_sessions(&dir.path().join(path)).state;
        std::fs::write(dir.path().join("file"), "").unwrap();
        assert!(state("new/sessions") != CheckState::Broken);
        assert!(state("file/sessions") == CheckState::Broken);
    }

    #[test]
    fn doctor_size_is_in_mb_or_gb() {
        assert_eq!([49_000_000, 999_999_999, 75_146_000_000].map(size), ["49 MB", "999 MB", "75 GB"]);
    }

    #[test]
    fn doctor_line_begins_with_a_mark() {
        let line = |state| Check::new("git", state, "x").lines();
        assert_eq!(line(CheckState::Ok), "✓ git            x\n");
        assert_eq!(line(CheckState::Absent), "– git            x\n");
        assert_eq!(line(CheckState::Broken), "✗ git            x\n");
    }
}
