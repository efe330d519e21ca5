//! A workspace surrounded by files that no tool may access, with the tools and the policy.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use serde_json::Value;
use tempfile::TempDir;
use tiller_core::message::joined_text;
use tiller_core::protected_path::ProtectedPaths;
use tiller_tools::policy::{ApprovalMode, Policy, PolicyVerdict, SessionRules};
use tiller_tools::process::Runner;
use tiller_tools::tool::{ToolEnvironment, ToolInvocation, ToolProgress, Tools};
use tiller_tools::workspace::Workspace;

/// The text of every file that no tool may read.
const SECRET: &str = "SECRET-7f3a";

/// Time after which a call counts as hanging, generous for a busy machine.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A call's result.
#[derive(Debug)]
pub(super) enum Outcome {
    /// The policy, the check of the arguments or the tool rejected the call, for this reason.
    Refused(String),
    /// The text of a successful call.
    Succeeded(String),
    /// The output of the call, which contains the secret.
    Leaked(String),
    Hung,
}

/// The working directory `top/work`, with `top/outside` and `home`, which must not be read or changed.
pub(super) struct Bench {
    dir: TempDir,
    tools: Tools,
    policy: Policy,
    /// The original content of `outside` and `home`.
    untouched: BTreeMap<PathBuf, String>,
}

impl Bench {
    /// Removes the pipe because of which the git tools refuse to run.
    pub(super) fn remove_ignore_pipe(&self) {
        let _ = fs::remove_file(self.dir.path().join("top/work/sub/.gitignore"));
    }

    pub(super) fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let own = root.join("home/.config/tiller");
        write_files(&root);
        make_links(&root);
        make_special_files(&root);
        let protected = ProtectedPaths {
            homes: vec![root.join("home")],
            tiller_dirs: vec![own.clone()],
            ..ProtectedPaths::default()
        };
        let workspace = Workspace::new(root.join("top/work"))
            .unwrap()
            .with_protected([own])
            .with_approved_paths(protected.clone());
        let runner = Runner::with_supervisor(env!("CARGO_BIN_EXE_tools-supervisor"));
        let policy = Policy {
            mode: ApprovalMode::Auto,
            root: workspace.root().to_owned(),
            protected,
            ..Policy::default()
        };
        let tools = Tools::built_in(ToolEnvironment::new(workspace, runner, root.join("scratch")));
        let untouched = contents(&root, &["top/outside", "home"]);
        Self { dir, tools, policy, untouched }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    /// Returns the directory that contains `work` and `outside`, with links resolved.
    pub(super) fn top(&self) -> PathBuf {
        self.root().join("top")
    }

    /// Runs a call like the agent: the policy decides, the arguments are checked, the preview is made.
    pub(super) async fn call(&self, tool: &str, arguments: Value) -> Outcome {
        let tool = self.tools.find(tool).unwrap();
        match self.policy.judge(tool.spec(), &arguments, &SessionRules::default()) {
            verdict if verdict.runs() => {}
            PolicyVerdict::Ask { reason, .. } => return Outcome::Refused(format!("asks: {reason}")),
            verdict => return Outcome::Refused(format!("{verdict:?}")),
        }
        if let Err(reason) = tool.check(&arguments) {
            return Outcome::Refused(reason);
        }
        let call = async {
            let preview = match tool.preview(&arguments) {
                Some(preview) => format!("{:?}", preview.await),
                None => String::new(),
            };
            let output = tool.run(ToolInvocation { arguments, progress: ToolProgress::new(|_| {}) }).await;
            (preview, output)
        };
        let Ok((preview, output)) = tokio::time::timeout(TIMEOUT, call).await else { return Outcome::Hung };
        let text = joined_text(&output.content);
        // Everything that the user or the model sees.
        let seen = format!("{preview}{text}{:?}{:?}", output.details, output.warning);
        match output.is_error {
            _ if seen.contains(SECRET) => Outcome::Leaked(seen),
            true => Outcome::Refused(text),
            false => Outcome::Succeeded(text),
        }
    }

    /// Returns true if the files outside the working directory are unchanged.
    pub(super) fn is_untouched(&self) -> bool {
        contents(&self.root(), &["top/outside", "home"]) == self.untouched
    }
}

fn write_files(root: &Path) {
    let secret = format!("{SECRET}\n");
    for (name, text) in [
        ("top/outside/secret", secret.as_str()),
        ("top/outside/folder/secret", &secret),
        ("top/outside/linked", "linked text\n"),
        ("home/.ssh/id_rsa", &secret),
        ("home/.bashrc", &secret),
        ("home/.config/tiller/auth.json", &secret),
        ("home/.config/tiller/settings.json", &secret),
        ("top/work/notes.txt", "mine\n"),
        ("top/work/sub/file", "mine\n"),
        ("top/work/caf\u{e9}", "composed\n"),
        ("top/work/hidden/inner", "mine\n"),
    ] {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let git = ["init", "--quiet", "--template="];
    assert!(Command::new("git").args(git).arg(root.join("top/work")).status().unwrap().success());
    fs::create_dir_all(root.join("top/work/.git/hooks")).unwrap();
}

fn make_links(root: &Path) {
    let work = root.join("top/work");
    let absolute = |name: &str| root.join(name).display().to_string();
    for (name, target) in [
        ("link-file", "../outside/secret".into()),
        ("link-file-absolute", absolute("top/outside/secret")),
        ("link-folder", "../outside".into()),
        ("link-folder-absolute", absolute("top/outside")),
        ("link-folder-slash", "../outside/".into()),
        ("link-folder-dots", "sub/../../outside/./folder/..".into()),
        ("chain-1", "chain-2".into()),
        ("chain-2", "./sub/../chain-3".into()),
        ("chain-3", absolute("top/outside")),
        ("sub/up", "../../outside".into()),
        ("through", "sub/up".into()),
        ("parent", "..".into()),
        ("loop-a", "loop-b".into()),
        ("loop-b", "loop-a".into()),
        ("loop-self", "loop-self/x".into()),
        ("dangling", "../outside/new".into()),
        ("dangling-folder", "../outside/newfolder".into()),
        ("dangling-inside", "nowhere".into()),
        ("all", "/".into()),
        ("proc-root", "/proc/self/root".into()),
        ("proc-cwd", "/proc/self/cwd".into()),
        ("proc-fd", "/proc/self/fd".into()),
        ("zero", "/dev/zero".into()),
        ("tty", "/dev/tty".into()),
        ("stdin", "/dev/stdin".into()),
        ("git-link", ".git".into()),
        ("hooks", ".git/hooks".into()),
        ("git-config", ".git/config".into()),
        ("own", absolute("home/.config/tiller")),
        ("own-settings", absolute("home/.config/tiller/settings.json")),
        ("keys", absolute("home/.ssh")),
        ("bashrc", absolute("home/.bashrc")),
        ("home-link", absolute("home")),
        ("link-pipe", "pipe".into()),
        ("link-pipe-outside", "../outside/pipe".into()),
        ("hidden/.ignore", "../../outside/secret".into()),
        ("link-work", absolute("top/work")),
        ("link\u{202e}tx", "../outside/secret".into()),
        ("link\nfile", "../outside/secret".into()),
    ] {
        symlink(target, work.join(name)).unwrap();
    }
    fs::hard_link(root.join("top/outside/linked"), work.join("hard")).unwrap();
    fs::hard_link(root.join("home/.config/tiller/auth.json"), work.join("hard-own")).unwrap();
}

fn make_special_files(root: &Path) {
    for name in ["top/work/pipe", "top/work/sub/.gitignore", "top/outside/pipe"] {
        mkfifo(&root.join(name), Mode::S_IRWXU).unwrap();
    }
    drop(UnixListener::bind(root.join("top/work/socket")).unwrap());
}

/// Reads all files of these directories: mode, and text or target of each.
fn contents(root: &Path, dirs: &[&str]) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    let mut waiting: Vec<PathBuf> = dirs.iter().map(|dir| root.join(dir)).collect();
    while let Some(path) = waiting.pop() {
        let metadata = path.symlink_metadata().unwrap();
        let content = if metadata.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            String::new()
        } else if metadata.is_file() {
            String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()
        } else {
            String::new()
        };
        found.insert(path, format!("{:o} {content}", metadata.permissions().mode()));
    }
    found
}
