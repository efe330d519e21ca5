//! The git tools in real repositories.

mod worktree;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;
use tiller_core::message::joined_text;
use tiller_tools::process::Runner;
use tiller_tools::tool::{ToolEnvironment, ToolInvocation, ToolProgress, Tools};
use tiller_tools::workspace::Workspace;

/// A repository with one commit, and the tools in it.
struct Repository {
    dir: TempDir,
    tools: Tools,
}

impl Repository {
    fn new() -> Self {
        let dir = TempDir::new().unwrap();
        let work = dir.path().join("work");
        fs::create_dir(&work).unwrap();
        git(&work, &["init", "--quiet", "--initial-branch=main"]);
        for (key, value) in
            [("user.name", "Ada"), ("user.email", "ada@example.org"), ("commit.gpgSign", "false")]
        {
            git(&work, &["config", key, value]);
        }
        fs::write(work.join("a.txt"), "one\n").unwrap();
        git(&work, &["add", "."]);
        git(&work, &["commit", "--quiet", "--message=first commit"]);
        let tools = tools(&dir);
        Self { dir, tools }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("work").join(name)
    }

    fn write(&self, name: &str, content: &str) {
        fs::write(self.path(name), content).unwrap();
    }

    fn git(&self, arguments: &[&str]) -> String {
        git(&self.path(""), arguments)
    }

    /// Returns the text of a call, and true if it is an error.
    async fn call(&self, name: &str, arguments: Value) -> (String, bool) {
        let tool = self.tools.find(name).unwrap();
        tool.check(&arguments).unwrap();
        let output = tool.run(ToolInvocation { arguments, progress: ToolProgress::new(|_| {}) }).await;
        (joined_text(&output.content), output.is_error)
    }

    async fn ok(&self, name: &str, arguments: Value) -> String {
        let (text, is_error) = self.call(name, arguments).await;
        assert!(!is_error, "{text}");
        text
    }
}

fn tools(dir: &TempDir) -> Tools {
    let workspace = Workspace::new(dir.path().join("work")).unwrap();
    let runner = Runner::with_supervisor(env!("CARGO_BIN_EXE_tools-supervisor"));
    Tools::built_in(ToolEnvironment::new(workspace, runner, dir.path().join("scratch")))
}

fn git(dir: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git").current_dir(dir).args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn git_tools_are_offered_in_a_repository() {
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("work")).unwrap();
    let tools = tools(&dir);
    assert!(tools.names().all(|name| !name.starts_with("git_")));
    assert_eq!(tools.expand_sets(&["git".into()]), Vec::<String>::new());
    let names = Repository::new().tools.expand_sets(&["grep".into(), "git".into()]);
    assert_eq!(names, ["grep", "git_status", "git_diff", "git_log", "git_branch", "git_add", "git_commit"]);
}

#[tokio::test]
async fn git_changes_are_shown_staged_and_committed() {
    let repository = Repository::new();
    assert_eq!(repository.ok("git_status", json!({})).await, "## main\n");
    assert_eq!(repository.ok("git_diff", json!({})).await, "[no changes]");
    repository.write("a.txt", "two\n");
    repository.write("-new file", "x\n");
    assert_eq!(repository.ok("git_status", json!({})).await, "## main\n M a.txt\n?? \"-new file\"\n");
    let diff = repository.ok("git_diff", json!({"path": "a.txt"})).await;
    assert!(diff.ends_with("@@ -1 +1 @@\n-one\n+two\n"), "{diff}");
    let added = repository.ok("git_add", json!({"paths": ["a.txt", "-new file"]})).await;
    assert_eq!(added, "add 'a.txt'\nadd '-new file'\n");
    assert_eq!(repository.ok("git_diff", json!({})).await, "[no changes]");
    let staged = repository.ok("git_diff", json!({"staged": true, "stat": true})).await;
    assert!(staged.contains("2 files changed, 2 insertions(+), 1 deletion(-)"), "{staged}");
    let committed = repository.ok("git_commit", json!({"message": "-second\n\nWith a reason."})).await;
    assert!(committed.starts_with("[main ") && committed.contains("] -second\n"), "{committed}");
    assert_eq!(repository.git(&["log", "-1", "--format=%B"]), "-second\n\nWith a reason.\n\n");
    let log = repository.ok("git_log", json!({"limit": 1})).await;
    assert!(log.ends_with(" Ada (HEAD -> main) -second\n"), "{log}");
    let log = repository.ok("git_log", json!({"path": "a.txt", "show": "patch", "revision": "HEAD~1"})).await;
    assert!(log.contains("    first commit\n") && log.ends_with("@@ -0,0 +1 @@\n+one\n"), "{log}");
    let range = repository.ok("git_diff", json!({"revision": "HEAD~1..HEAD", "path": "a.txt"})).await;
    assert!(range.ends_with("-one\n+two\n"), "{range}");
}

#[tokio::test]
async fn git_pipe_in_place_of_a_file_is_refused() {
    let repository = Repository::new();
    fs::create_dir_all(repository.path("sub/deep")).unwrap();
    let nested = ["sub/.gitignore", "sub/deep/.gitattributes"];
    let in_repository = ["commondir", "index", "info/exclude", "objects/info/alternates", "refs/heads/other"];
    let in_repository = in_repository.map(|name| format!(".git/{name}"));
    let top = [".gitignore", ".gitattributes", ".mailmap"];
    let names = top.into_iter().chain(nested).chain(in_repository.iter().map(String::as_str));
    for name in names {
        let path = repository.path(name);
        let _ = fs::remove_file(&path);
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        for (tool, arguments) in [("git_status", json!({})), ("git_add", json!({"paths": ["a.txt"]}))] {
            let (text, is_error) = repository.call(tool, arguments).await;
            let reason = format!("{name} is not a regular file; git would block on it");
            assert!(is_error && text.ends_with(&reason), "{text}");
        }
        fs::remove_file(path).unwrap();
    }
    nix::unistd::mkfifo(&repository.path("sub/pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
    symlink("/dev/null", repository.path(".git/info/exclude")).unwrap();
    repository.ok("git_status", json!({})).await;
    symlink("../../sub/pipe", repository.path(".git/info/attributes")).unwrap();
    let (text, _) = repository.call("git_status", json!({})).await;
    assert!(text.ends_with("info/attributes is not a regular file; git would block on it"), "{text}");
}

#[tokio::test]
async fn git_symbolic_link_is_tracked_itself() {
    let repository = Repository::new();
    fs::create_dir(repository.path("sub")).unwrap();
    symlink("../../elsewhere", repository.path("sub/link")).unwrap();
    symlink("a.txt", repository.path("inside")).unwrap();
    let added = repository.ok("git_add", json!({"paths": ["sub/link", "inside"]})).await;
    assert_eq!(added, "add 'inside'\nadd 'sub/link'\n");
    let staged = repository.ok("git_diff", json!({"staged": true, "path": "sub/link"})).await;
    assert!(staged.contains("new file mode 120000") && staged.contains("+../../elsewhere"), "{staged}");
}

#[tokio::test]
async fn git_branch_lists_creates_and_switches() {
    let repository = Repository::new();
    let created =
        repository.ok("git_branch", json!({"name": "topic", "create": true, "start": "main"})).await;
    assert_eq!(created, "Switched to a new branch 'topic'\n");
    let branches = repository.ok("git_branch", json!({})).await;
    let names: Vec<&str> = branches.lines().map(|line| &line[..7]).collect();
    assert_eq!(names, ["  main ", "* topic"]);
    repository.ok("git_branch", json!({"name": "main"})).await;
    assert_eq!(repository.git(&["branch", "--show-current"]), "main\n");
    let (text, is_error) = repository.call("git_branch", json!({"name": "none"})).await;
    assert_eq!((text.as_str(), is_error), ("fatal: invalid reference: none\n[exit code 128]", true));
}

#[tokio::test]
async fn git_failed_hook_is_an_error_and_nothing_is_committed() {
    let repository = Repository::new();
    let hook = repository.path(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\necho 'no tests' >&2\nexit 1\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    repository.write("a.txt", "two\n");
    let (text, is_error) = repository.call("git_commit", json!({"message": "second", "all": true})).await;
    assert_eq!((text.as_str(), is_error), ("no tests\n[exit code 1]", true));
    assert_eq!(repository.git(&["log", "--format=%s"]), "first commit\n");
}

/// Prepares a repository in which each of git's ways to start a program creates a file named after it.
fn hostile() -> Repository {
    let repository = Repository::new();
    fs::write(repository.path(".gitattributes"), b"a.txt filter=f\nb.txt diff=d\nc.txt filter=\xff\n")
        .unwrap();
    repository.write("b.txt", "b\n");
    repository.write("c.txt", "c\n");
    repository.git(&["add", "."]);
    repository.git(&["commit", "--quiet", "--message=second commit"]);
    let traps = repository.dir.path().join("traps");
    fs::create_dir(&traps).unwrap();
    let trap = |name: &str| {
        let script = traps.join(format!("{name}.sh"));
        let marker = traps.join(name);
        fs::write(&script, format!("#!/bin/sh\ntouch '{}'\ncat\n", marker.display())).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        script.display().to_string()
    };
    for (key, name) in [
        ("core.fsmonitor", "fsmonitor"),
        ("diff.external", "external"),
        ("diff.d.textconv", "textconv"),
        ("filter.f.clean", "clean"),
    ] {
        repository.git(&["config", key, &trap(name)]);
    }
    // A name with any bytes.
    let mut config = fs::read(repository.path(".git/config")).unwrap();
    config.extend_from_slice(b"[filter \"\xff\"]\n\tclean = ");
    config.extend_from_slice(trap("bytes").as_bytes());
    fs::write(repository.path(".git/config"), config).unwrap();
    repository.git(&["config", "core.worktree", "/"]);
    for hook in ["post-index-change", "reference-transaction"] {
        fs::create_dir_all(repository.path(".git/hooks")).unwrap();
        fs::copy(trap(hook), repository.path(".git/hooks").join(hook)).unwrap();
    }
    repository.write("a.txt", "two\n");
    repository.write("c.txt", "other\n");
    repository
}

fn sprung(repository: &Repository) -> Vec<String> {
    let entries = fs::read_dir(repository.dir.path().join("traps")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| !name.ends_with(".sh")).collect();
    names.sort();
    names
}

#[tokio::test]
async fn git_reading_tools_start_no_program_of_the_repository() {
    let repository = hostile();
    let diff = repository.ok("git_diff", json!({})).await;
    assert!(diff.contains("-one\n+two\n"), "{diff}");
    let status = repository.ok("git_status", json!({})).await;
    assert_eq!(status, "## main\n M a.txt\n M c.txt\n", "the files of the working directory");
    repository.ok("git_log", json!({"show": "patch"})).await;
    repository.ok("git_branch", json!({})).await;
    assert_eq!(sprung(&repository), Vec::<String>::new());
    // The traps work.
    repository.git(&["--work-tree=.", "status"]);
    repository.git(&["--work-tree=.", "diff"]);
    repository.git(&["--work-tree=.", "log", "--patch"]);
    assert_eq!(
        sprung(&repository),
        ["bytes", "clean", "external", "fsmonitor", "post-index-change", "textconv"]
    );
}

#[test]
fn git_invalid_arguments_are_named() {
    let repository = Repository::new();
    for (tool, arguments, expected) in [
        ("git_diff", json!({"revision": "--output=x"}), "argument `revision`: must not begin with `-`"),
        ("git_log", json!({"revision": ""}), "argument `revision`: must not be empty"),
        (
            "git_log",
            json!({"limit": 0}),
            "argument `limit`: invalid value: integer `0`, expected a whole number, at least 1",
        ),
        ("git_branch", json!({"name": "-D"}), "argument `name`: must not begin with `-`"),
        ("git_branch", json!({"create": true}), "argument `create`: only with `name`"),
        ("git_branch", json!({"name": "x", "start": "y"}), "argument `start`: only with `create`"),
        ("git_add", json!({"paths": []}), "argument `paths`: at least one path"),
        ("git_commit", json!({"message": " "}), "argument `message`: must not be empty"),
    ] {
        let error = repository.tools.find(tool).unwrap().check(&arguments).unwrap_err();
        assert_eq!(error, expected, "{tool} {arguments}");
    }
}

#[tokio::test]
async fn git_paths_outside_the_working_directory_are_refused() {
    let repository = Repository::new();
    for (tool, arguments) in [
        ("git_diff", json!({"path": "../secret"})),
        ("git_log", json!({"path": "/etc/passwd"})),
        ("git_add", json!({"paths": ["a.txt", "../secret"]})),
    ] {
        let (text, is_error) = repository.call(tool, arguments).await;
        assert!(is_error && text.contains("is outside the working directory"), "{tool}: {text}");
    }
}
