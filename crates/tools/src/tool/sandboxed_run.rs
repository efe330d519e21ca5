//! Sandboxed commands of tools: reports operations that the sandbox may have denied, and changes to files
//! that make git or tiller run programs.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use tiller_core::message::joined_text;
use tiller_files::git;

use super::command_run::{self, CommandLimits};
use super::environment::ToolEnvironment;
use super::job_table::EndNotices;
use super::{ToolOutput, ToolProgress};
use crate::policy::SandboxStrength;
use crate::process::{NetworkAccess, ProcessError, Runner, RunningCommand};
use crate::sandbox::Sandbox;
use crate::workspace::Workspace;

/// Error messages of denied writes.
const REFUSED_WRITES: &[&str] = &[
    "permission denied",
    "operation not permitted",
    "read-only file system",
    "permissionerror",
    "eacces",
    "eperm",
];

/// Error messages of programs that don't report why they couldn't connect.
const REFUSED_CONNECTIONS: &[&str] = &[
    "could not connect to",
    "couldn't connect to",
    "failed to connect to",
    "unable to connect to",
    "can't connect to",
    // `fetch` of Node.js.
    "fetch failed",
];

/// Beginnings of the results of programs that print nothing if they can't connect: `curl -s` exits with 7 (curl's
/// manual, "Exit codes"), and `wget -q` with 4 (wget's manual, "Exit Status"). Others try again until they are stopped.
const SILENT_FAILURES: &[&str] =
    &["[no output]\n[exit code 4]", "[no output]\n[exit code 7]", "[no output]\n[stopped after "];

/// Bytes up to which the output of a successful command is searched for a refusal, which a pipe or `|| true` hides. A
/// longer one is more likely to quote such a message.
const SHORT_OUTPUT: usize = 500;

/// Runs commands in the sandbox.
#[derive(Clone, Debug)]
pub(super) struct SandboxedRunner {
    runner: Runner,
    sandbox: Sandbox,
    workspace: Workspace,
}

impl From<&ToolEnvironment> for SandboxedRunner {
    fn from(environment: &ToolEnvironment) -> Self {
        let ToolEnvironment { runner, sandbox, workspace, .. } = environment;
        Self { runner: runner.clone(), sandbox: sandbox.clone(), workspace: workspace.clone() }
    }
}

impl SandboxedRunner {
    /// Returns this runner with the network access granted to a command.
    pub(super) fn with_network(&self, network: NetworkAccess) -> Self {
        Self { sandbox: self.sandbox.clone().with_network(network), ..self.clone() }
    }

    /// Returns the runner without the sandbox.
    pub(super) fn unrestricted(&self) -> &Runner {
        &self.runner
    }

    /// Returns the runner with the sandbox, if one is active.
    pub(super) fn runner(&self) -> Runner {
        match self.sandbox.profile(&self.workspace) {
            Some(profile) => self.runner.clone().with_sandbox(profile),
            None => self.runner.clone(),
        }
    }

    /// Describes the sandbox for the model; `None` without one.
    pub(super) fn describe(&self) -> Option<String> {
        self.sandbox.describe()
    }

    /// Runs a command to its end, like [`command_run::run`].
    pub(super) async fn run(
        &self,
        start: impl FnOnce(&Runner) -> Result<RunningCommand, ProcessError>,
        limits: &CommandLimits,
        progress: &ToolProgress,
    ) -> ToolOutput {
        let review = self.review();
        let mut output = command_run::run(start(&self.runner()), limits, progress).await;
        if let Some(review) = review {
            review.complete(&mut output);
        }
        output
    }

    /// Starts the review of a command that is about to run in the sandbox; `None` without one.
    pub(super) fn review(&self) -> Option<SandboxReview> {
        let restrictions = self.describe()?;
        let programs = ProgramReview::start(self.workspace.root());
        Some(SandboxReview { restrictions, strength: self.sandbox.strength(), programs })
    }
}

/// The review of one command in the sandbox: the state before the command, for comparison with the state
/// afterwards.
#[derive(Debug)]
pub(super) struct SandboxReview {
    restrictions: String,
    strength: SandboxStrength,
    programs: ProgramReview,
}

impl SandboxReview {
    /// Adds notices to the command's result.
    pub(super) fn complete(&self, output: &mut ToolOutput) {
        let EndNotices { for_model, warning } = self.notices(&joined_text(&output.content), output.is_error);
        for notice in &for_model {
            output.push_notice(notice);
        }
        warning.into_iter().for_each(|warning| output.push_warning(warning));
    }

    /// Returns notices about changes to files that make git or tiller run programs, and about operations that
    /// may have been denied.
    pub(super) fn notices(&self, text: &str, is_error: bool) -> EndNotices {
        let warning = self.programs.find_changes("the command");
        let is_searched = is_error || text.len() <= SHORT_OUTPUT;
        let refusal = (is_searched && may_be_refused(text, self.strength)).then(|| {
            let restrictions = &self.restrictions;
            format!(
                "the sandbox may have refused this: commands {restrictions}; if the command needs more, call bash \
                 with `unsandboxed: true`, which needs the user's approval"
            )
        });
        EndNotices { for_model: warning.clone().into_iter().chain(refusal).collect(), warning }
    }
}

/// Returns true if a command's output suggests that the sandbox denied something.
fn may_be_refused(text: &str, strength: SandboxStrength) -> bool {
    let text = text.to_ascii_lowercase();
    let contains = |traces: &[&str]| traces.iter().any(|trace| text.contains(trace));
    let is_silent = || SILENT_FAILURES.iter().any(|beginning| text.starts_with(beginning));
    contains(REFUSED_WRITES)
        || (strength == SandboxStrength::WritesAndTcp && (contains(REFUSED_CONNECTIONS) || is_silent()))
}

/// Maximum number of components of a submodule's path.
const SUBMODULE_DEPTH: usize = 8;

/// Lists the repository directories of submodules, and of nested submodules, in the repository's directory `modules`.
fn list_submodules(modules: &Path, depth: usize) -> Vec<PathBuf> {
    let Some(depth) = depth.checked_sub(1) else { return Vec::new() };
    let entries = std::fs::read_dir(modules).into_iter().flatten().flatten();
    let dirs = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let submodules = dirs.flat_map(|entry| {
        let dir = entry.path();
        match dir.join("HEAD").exists() {
            true => [list_submodules(&dir.join("modules"), depth), vec![dir]].concat(),
            // `libs/x` is in `modules/libs/x`.
            false => list_submodules(&dir, depth),
        }
    });
    submodules.collect()
}

/// The state of the files that make git and tiller run programs.
#[derive(Debug, Default, PartialEq, Eq)]
struct Programs {
    git: FileStates,
    project: FileStates,
}

impl Programs {
    fn read(cwd: &Path) -> Self {
        Self { git: read_git_programs(cwd), project: read_project_programs(cwd) }
    }

    /// Lists notices about the differences between two states, which `author` made.
    fn list_changes(&self, after: &Self, author: &str) -> Vec<String> {
        let changes = [
            (self.git != after.git, ".git/config or .git/hooks, from which git runs programs"),
            (self.project != after.project, ".tiller or .mcp.json, whose programs tiller runs"),
        ];
        let changes = changes.into_iter().filter(|(has_changed, _)| *has_changed);
        changes.map(|(_, files)| format!("{author} changed {files}")).collect()
    }
}

/// The state of the files that make git and tiller run programs, before something that may change them.
#[derive(Debug)]
pub struct ProgramReview {
    before: Programs,
    root: PathBuf,
}

impl ProgramReview {
    /// Reads the state of the files for a working directory.
    #[must_use]
    pub fn start(root: &Path) -> Self {
        Self { before: Programs::read(root), root: root.to_owned() }
    }

    /// Returns a notice about the changes since then, which `author` made.
    #[must_use]
    pub fn find_changes(&self, author: &str) -> Option<String> {
        let changes = self.before.list_changes(&Programs::read(&self.root), author);
        (!changes.is_empty()).then(|| changes.join("; "))
    }
}

/// The state of files, by path.
type FileStates = Vec<(PathBuf, GitFileState)>;

fn read_states(paths: impl Iterator<Item = PathBuf>) -> FileStates {
    let state = |path: PathBuf| Some((path.symlink_metadata().ok()?.into(), path));
    let mut files: Vec<_> = paths.filter_map(state).map(|(state, path)| (path, state)).collect();
    files.sort_by(|a, b| a.0.cmp(&b.0));
    files.dedup();
    files
}

/// The metadata of a file needed to detect a change.
#[derive(Debug, PartialEq, Eq)]
struct GitFileState {
    inode: u64,
    size: u64,
    mode: u32,
    /// The time of the last change, which programs can't set, in seconds and nanoseconds.
    changed: (i64, i64),
}

impl From<Metadata> for GitFileState {
    fn from(metadata: Metadata) -> Self {
        let changed = (metadata.ctime(), metadata.ctime_nsec());
        Self { inode: metadata.ino(), size: metadata.len(), mode: metadata.mode(), changed }
    }
}

/// Reads the state of the configurations and hooks of a working directory's repository and its submodules.
fn read_git_programs(cwd: &Path) -> FileStates {
    let Some(dot_git) = git::find(cwd) else { return FileStates::default() };
    let dirs = [git::dir(&dot_git), git::common_dir(&dot_git)];
    let modules = dirs[1].iter().flat_map(|dir| list_submodules(&dir.join("modules"), SUBMODULE_DEPTH));
    let modules: Vec<PathBuf> = modules.collect();
    let named = dirs.into_iter().flatten().chain(modules).flat_map(|dir| {
        let hooks = list_entries(&dir.join("hooks"));
        ["config", "config.worktree"].map(|name| dir.join(name)).into_iter().chain(hooks)
    });
    read_states([dot_git.clone()].into_iter().filter(|path| path.is_file()).chain(named))
}

/// Directories in a project's `.tiller` with programs, or with settings that determine which programs may
/// run.
const PROGRAM_DIRS: [&str; 3] = ["agents", "extensions", "hooks"];

/// Reads the state of the files that make tiller run programs in a working directory and its parent
/// directories within the repository. In subdirectories, only the modification times of directories are
/// checked.
fn read_project_programs(cwd: &Path) -> FileStates {
    read_states(git::up_to_repository(cwd).into_iter().flat_map(|dir| {
        let own = dir.join(".tiller");
        let programs = PROGRAM_DIRS.iter().flat_map(|name| list_entries(&own.join(name)));
        let programs: Vec<PathBuf> = programs.collect();
        [dir.join(".mcp.json"), own.join("settings.json")].into_iter().chain(programs)
    }))
}

fn list_entries(dir: &Path) -> Vec<PathBuf> {
    std::fs::read_dir(dir).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn git_programs_notice_changes_of_config_and_hooks() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        assert_eq!(Programs::read(root), Programs::default());
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        fs::write(root.join(".git/config"), "").unwrap();
        let hook = root.join(".git/hooks/pre-commit");
        let module = root.join(".git/modules/libs/x/modules/y");
        fs::create_dir_all(module.join("hooks")).unwrap();
        fs::write(root.join(".git/modules/libs/x/HEAD"), "").unwrap();
        fs::write(module.join("HEAD"), "").unwrap();
        let changes: [&dyn Fn(); 6] = [
            &|| fs::write(module.join("hooks/pre-commit"), "").unwrap(),
            &|| fs::write(root.join(".git/modules/libs/x/config"), "").unwrap(),
            &|| fs::write(&hook, "#!/bin/sh\n").unwrap(),
            &|| fs::remove_file(&hook).unwrap(),
            &|| fs::write(root.join(".git/config"), "[core]\n").unwrap(),
            &|| fs::write(root.join(".git/config.worktree"), "").unwrap(),
        ];
        let mut last = Programs::read(root);
        for change in changes {
            change();
            let now = Programs::read(root);
            assert_ne!(now, last);
            last = now;
        }
        fs::write(root.join(".git/index"), "x").unwrap();
        assert_eq!(Programs::read(root), last);
    }

    #[test]
    fn project_programs_notice_changes_up_to_the_repository() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        let cwd = root.join("sub");
        fs::create_dir_all(cwd.join(".tiller/skills")).unwrap();
        fs::create_dir_all(root.join(".tiller/hooks")).unwrap();
        fs::create_dir_all(root.join(".tiller/extensions/lib")).unwrap();
        fs::create_dir(root.join(".git")).unwrap();
        let changes: [&dyn Fn(); 5] = [
            &|| fs::write(root.join(".tiller/hooks/check.sh"), "").unwrap(),
            &|| fs::write(root.join(".tiller/hooks/check.sh"), "#!/bin/sh\n").unwrap(),
            &|| fs::write(root.join(".tiller/extensions/lib/x"), "").unwrap(),
            &|| fs::write(cwd.join(".tiller/settings.json"), "{}").unwrap(),
            &|| fs::write(cwd.join(".mcp.json"), "{}").unwrap(),
        ];
        let mut last = Programs::read(&cwd);
        for change in changes {
            change();
            let now = Programs::read(&cwd);
            let notice = "the command changed .tiller or .mcp.json, whose programs tiller runs";
            assert_eq!(last.list_changes(&now, "the command"), [notice]);
            last = now;
        }
        fs::write(cwd.join(".tiller/skills/x.md"), "x").unwrap();
        assert_eq!(Programs::read(&cwd), last);
    }

    #[test]
    fn may_be_refused_looks_for_messages() {
        let refused = |text: &str, strength| may_be_refused(text, strength);
        let (writes, tcp) = (SandboxStrength::Writes, SandboxStrength::WritesAndTcp);
        assert!(refused("touch: cannot touch 'x': Permission denied\n[exit code 1]", writes));
        assert!(refused("Error: EACCES: open 'x'", writes));
        assert!(refused("fatal: Failed to connect to example.org port 443", tcp));
        assert!(!refused("fatal: Failed to connect to example.org port 443", writes));
        assert!(!refused("error[E0308]: mismatched types", tcp));
        for silent in ["[exit code 7]", "[exit code 4]", "[stopped after 120 s, along with everything]"] {
            let text = format!("[no output]\n{silent}");
            assert_eq!((refused(&text, tcp), refused(&text, writes)), (true, false), "{text}");
        }
        assert!(!refused("[no output]\n[exit code 1]", tcp));
        assert!(!refused("compiling\n[stopped after 120 s, along with everything it had started]", tcp));
    }

    #[test]
    fn review_searches_short_output_of_a_successful_command() {
        let dir = tempfile::tempdir().unwrap();
        let programs = ProgramReview::start(dir.path());
        let review =
            SandboxReview { restrictions: String::new(), strength: SandboxStrength::WritesAndTcp, programs };
        let hidden = "curl: (7) Failed to connect to localhost port 9200";
        let notices = |text: &str, is_error| review.notices(text, is_error).for_model.len();
        let quoted = "a".repeat(SHORT_OUTPUT) + hidden;
        assert_eq!([notices(hidden, false), notices(&quoted, false), notices(&quoted, true)], [1, 0, 1]);
    }

    #[test]
    fn review_changed_git_keeps_an_earlier_warning() {
        let dir = tempfile::tempdir().unwrap();
        let programs = ProgramReview::start(dir.path());
        let review =
            SandboxReview { restrictions: String::new(), strength: SandboxStrength::Writes, programs };
        fs::create_dir(dir.path().join(".git")).unwrap();
        fs::write(dir.path().join(".git/config"), "").unwrap();
        let mut output = ToolOutput { warning: Some("cut".into()), ..ToolOutput::text("ok") };
        review.complete(&mut output);
        let notice = "the command changed .git/config or .git/hooks, from which git runs programs";
        let expected = ToolOutput {
            warning: Some(format!("cut; {notice}")),
            ..ToolOutput::text(format!("ok\n[{notice}]"))
        };
        assert_eq!(output, expected);
    }
}
