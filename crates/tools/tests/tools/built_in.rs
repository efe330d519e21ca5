//! The built-in tools through the registry, as the agent calls them.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use serde_json::{Value, json};
use tempfile::TempDir;
use tiller_core::ansi::StyledText;
use tiller_core::event::Preview;
use tiller_core::message::{UserBlock, joined_text};
use tiller_core::tool_spec::{Access, OutputKind, ShownArgument, ToolSet, ToolTraits, TouchedPaths};
use tiller_tools::process::Runner;
use tiller_tools::tool::{
    OutputLimits, ToolEnvironment, ToolInvocation, ToolOutput, ToolProgress, Tools, built_in_tools,
};
use tiller_tools::workspace::Workspace;

/// Timeout for real processes to start or end on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A working directory `work`, a directory `outside` next to it with a file `secret`, and the tools.
struct Bench {
    dir: TempDir,
    tools: Tools,
}

impl Bench {
    fn new() -> Self {
        Self::with_limits(OutputLimits::default())
    }

    fn with_limits(limits: OutputLimits) -> Self {
        let dir = TempDir::new().unwrap();
        fs::create_dir(dir.path().join("work")).unwrap();
        fs::create_dir(dir.path().join("outside")).unwrap();
        fs::write(dir.path().join("outside/secret"), "secret text\n").unwrap();
        let workspace = Workspace::new(dir.path().join("work")).unwrap();
        let runner = Runner::with_supervisor(env!("CARGO_BIN_EXE_tools-supervisor"));
        let environment =
            ToolEnvironment { limits, ..ToolEnvironment::new(workspace, runner, dir.path().join("scratch")) };
        Self { tools: Tools::built_in(environment), dir }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join("work").join(name)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn content(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs a call; returns its output without the hash of the file.
    async fn call(&self, tool: &str, arguments: Value) -> ToolOutput {
        let mut output = self.call_with_hash(tool, arguments).await;
        output.details.iter_mut().filter_map(Value::as_object_mut).for_each(|details| {
            details.remove("seen");
        });
        output
    }

    async fn call_with_hash(&self, tool: &str, arguments: Value) -> ToolOutput {
        let tool = self.tools.find(tool).unwrap();
        tool.check(&arguments).unwrap();
        tool.run(ToolInvocation { arguments, progress: ToolProgress::new(|_| {}) }).await
    }

    /// Returns the text of a successful call.
    async fn ok(&self, tool: &str, arguments: Value) -> String {
        let output = self.call(tool, arguments).await;
        assert!(!output.is_error, "{output:?}");
        joined_text(&output.content)
    }

    /// Returns the text of a failed call.
    async fn error_text(&self, tool: &str, arguments: Value) -> String {
        let output = self.call(tool, arguments).await;
        assert!(output.is_error, "{output:?}");
        joined_text(&output.content)
    }

    fn check(&self, tool: &str, arguments: Value) -> String {
        self.tools.find(tool).unwrap().check(&arguments).unwrap_err()
    }
}

fn lines(count: usize) -> String {
    (1..=count).map(|n| format!("{n}\n")).collect()
}

#[tokio::test]
async fn preview_shows_the_diff_and_changes_nothing() {
    let bench = Bench::new();
    bench.write("a", "one\ntwo\n");
    let edit = json!({"path": "a", "old_text": "two", "new_text": "2"});
    let write = json!({"path": "b/new", "content": "x\n"});
    for (tool, arguments, path, added, removed) in
        [("edit_file", edit.clone(), "a", 1, 1), ("write_file", write, "b/new", 1, 0)]
    {
        let preview = bench.tools.find(tool).unwrap().preview(&arguments).unwrap().await;
        let Preview::Change(change) = preview else { panic!("{preview:?}") };
        assert_eq!((change.path.as_str(), change.added, change.removed), (path, added, removed));
        let details = bench.call(tool, arguments).await.details.unwrap();
        assert_eq!(details["diff"], change.diff, "the preview equals the result");
        if tool == "edit_file" {
            bench.write("a", "one\ntwo\n");
        }
    }
    let tool = bench.tools.find("edit_file").unwrap();
    assert!(matches!(tool.preview(&edit).unwrap().await, Preview::Change(_)));
    assert_eq!(bench.content("a"), "one\ntwo\n", "nothing was changed");
    let edit = json!({"path": "gone", "old_text": "two", "new_text": "2"});
    let failure = Preview::Failure { message: "gone does not exist".into() };
    assert_eq!(tool.preview(&edit).unwrap().await, failure);
    assert!(bench.tools.find("bash").unwrap().preview(&json!({"command": "ls"})).is_none());
}

#[test]
fn restrict_unknown_tool_lists_the_available() {
    let tools = Bench::new().tools;
    let names: Vec<&str> = tools.names().collect();
    assert_eq!(
        names,
        [
            "read_file",
            "list_files",
            "find_files",
            "grep",
            "edit_file",
            "write_file",
            "bash",
            "job",
            "web_fetch",
            "update_plan"
        ]
    );
    let some = tools.restrict(&["bash".into(), "grep".into()]).unwrap();
    assert_eq!(some.specs().iter().map(|spec| spec.name.as_str()).collect::<Vec<_>>(), ["bash", "grep"]);
    let error = some.restrict(&["read_file".into()]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown tool `read_file`; available tools: bash, grep; tool sets: files, bash, git, github, web, plan, agents, mcp"
    );
}

#[test]
fn catalog_has_built_in_tools_and_those_of_the_session() {
    let session = Bench::new().tools.without_programs();
    assert_eq!(
        session.names().collect::<Vec<_>>(),
        [
            "read_file",
            "list_files",
            "find_files",
            "grep",
            "edit_file",
            "write_file",
            "web_fetch",
            "update_plan"
        ]
    );
    let tree = ToolTraits {
        output: OutputKind::Listing,
        paths: TouchedPaths::Tree,
        set: Some(ToolSet::Files),
        ..ToolTraits::new(Access::Reads)
    };
    let search = ToolTraits { shown_argument: ShownArgument::PatternAndPath, ..tree };
    let file = |access, output| ToolTraits {
        output,
        paths: TouchedPaths::File,
        set: Some(ToolSet::Files),
        ..ToolTraits::new(access)
    };
    let command = ToolTraits {
        shown_argument: ShownArgument::Named("command"),
        output: OutputKind::Command,
        set: Some(ToolSet::Bash),
        uses_sandbox: true,
        has_jobs: true,
        ..ToolTraits::new(Access::Executes)
    };
    let expected = [
        ("read_file", file(Access::Reads, OutputKind::File)),
        ("list_files", tree),
        ("find_files", search),
        ("grep", search),
        ("edit_file", file(Access::Writes, OutputKind::Diff)),
        ("write_file", file(Access::Writes, OutputKind::Diff)),
        ("bash", command),
    ];
    for (name, traits) in expected {
        assert_eq!(built_in_tools().find(name), Some(traits), "{name}");
    }
    assert_eq!(session.catalog(), built_in_tools());
}

#[test]
fn schema_of_each_tool_is_plain_closed_object() {
    for spec in Bench::new().tools.specs().iter() {
        let schema = &spec.parameters;
        assert_eq!((&schema["type"], &schema["additionalProperties"]), (&json!("object"), &json!(false)));
        for (name, property) in schema["properties"].as_object().unwrap() {
            assert!(
                property["type"].is_string() && property["description"].is_string(),
                "{} {name}",
                spec.name
            );
        }
    }
    let specs = Bench::new().tools.specs();
    let edit = specs.iter().find(|spec| spec.name == "edit_file").unwrap();
    assert_eq!(edit.parameters["required"], json!(["path"]));
    let edits = &edit.parameters["properties"]["edits"]["items"];
    assert_eq!(edits["required"], json!(["old_text", "new_text"]));
}

#[test]
fn check_line_before_the_first_names_the_first() {
    let bench = Bench::new();
    for offset in [0, -1] {
        let expected = format!(
            "argument `offset`: invalid value: integer `{offset}`, expected a whole number, at least 1"
        );
        let arguments = json!({"path": "a", "offset": offset});
        assert_eq!(bench.check("read_file", arguments), expected);
    }
}

#[test]
fn check_number_below_the_minimum_is_told_the_minimum() {
    let bench = Bench::new();
    for (tool, mut arguments, name) in [
        ("grep", json!({"pattern": "x"}), "limit"),
        ("find_files", json!({"pattern": "x"}), "limit"),
        ("list_files", json!({}), "limit"),
        ("list_files", json!({}), "depth"),
        ("bash", json!({"command": "ls"}), "timeout"),
        ("job", json!({"action": "list"}), "timeout"),
    ] {
        for value in [json!(0), json!(-1), json!(1.5)] {
            arguments[name] = value.clone();
            let error = bench.check(tool, arguments.clone());
            let start = format!("argument `{name}`: invalid ");
            assert!(error.starts_with(&start), "{tool} {value}: {error}");
            assert!(error.ends_with("expected a whole number, at least 1"), "{tool} {value}: {error}");
        }
    }
}

#[test]
fn check_timeout_of_a_job_has_no_maximum() {
    let bench = Bench::new();
    let bash = bench.tools.find("bash").unwrap();
    bash.check(&json!({"command": "ls", "timeout": u64::MAX, "background": true})).unwrap();
}

#[test]
fn check_invalid_argument_is_named() {
    let bench = Bench::new();
    for (tool, arguments, expected) in [
        ("read_file", json!({}), "missing argument `path`"),
        ("read_file", json!({"path": 3}), "argument `path`: invalid type"),
        ("read_file", json!({"path": "a", "limit": "x"}), "argument `limit`: invalid type"),
        ("read_file", json!({"path": "a", "lines": 3}), "unknown argument `lines`"),
        ("write_file", json!({"path": "a"}), "missing argument `content`"),
        (
            "edit_file",
            json!({"path": "a", "old_text": "", "new_text": "x"}),
            "argument `old_text`: must not be",
        ),
        (
            "edit_file",
            json!({"path": "a", "old_text": "x", "new_text": "x"}),
            "argument `new_text`: is the same",
        ),
        ("edit_file", json!({"path": "a", "new_text": "x"}), "missing argument `old_text`"),
        ("edit_file", json!({"path": "a", "edits": []}), "argument `edits`: at least one edit"),
        (
            "edit_file",
            json!({"path": "a", "old_text": "x", "edits": []}),
            "argument `edits`: can't be combined with old_text and new_text",
        ),
        (
            "edit_file",
            json!({"path": "a", "edits": [{"old_text": "x", "new_text": "y"}, {"old_text": "", "new_text": "y"}]}),
            "argument `edits[1].old_text`: must not be",
        ),
        ("find_files", json!({"pattern": "a{"}), "argument `pattern`"),
        ("grep", json!({"pattern": "("}), "argument `pattern`"),
        ("grep", json!({"pattern": "x", "glob": "["}), "argument `glob`"),
        ("grep", json!({"pattern": "x", "context": 51}), "argument `context`: at most 50 lines"),
        (
            "update_plan",
            json!({"steps": [{"step": "a", "status": "open"}]}),
            "argument `steps[0].status`: unknown variant `open`",
        ),
        (
            "update_plan",
            json!({"steps": [{"step": "a", "status": "in_progress"}, {"step": "b", "status": "in_progress"}]}),
            "argument `steps`: at most one step may be in progress",
        ),
        (
            "update_plan",
            json!({"steps": [{"step": " ", "status": "done"}]}),
            "argument `steps[0].step`: must not be empty",
        ),
        ("bash", json!({"command": "  "}), "argument `command`: must not be empty"),
        ("bash", json!({"command": "a\0b"}), "argument `command`: must not contain NUL"),
        ("bash", json!({"command": "ls", "timeout": 601}), "argument `timeout`: at most 600 seconds"),
    ] {
        let error = bench.check(tool, arguments.clone());
        assert!(error.contains(expected), "{tool} {arguments}: {error}");
    }
}

#[tokio::test]
async fn tools_outside_the_working_directory_are_refused() {
    let bench = Bench::new();
    symlink("../outside", bench.path("link")).unwrap();
    symlink("../outside/secret", bench.path("file-link")).unwrap();
    let secret = bench.dir.path().join("outside/secret").display().to_string();
    for path in ["../outside/secret", &secret, "link/secret", "link/new/deep", "file-link"] {
        for (tool, arguments) in [
            ("read_file", json!({ "path": path })),
            ("list_files", json!({ "path": path })),
            ("find_files", json!({ "path": path, "pattern": "*" })),
            ("grep", json!({ "path": path, "pattern": "secret" })),
            ("edit_file", json!({ "path": path, "old_text": "secret", "new_text": "x" })),
            ("write_file", json!({ "path": path, "content": "x" })),
        ] {
            let error = bench.error_text(tool, arguments).await;
            assert!(
                error.starts_with(&format!("{path} is outside the working directory /")),
                "{tool}: {error}"
            );
        }
    }
    assert_eq!(fs::read_to_string(secret).unwrap(), "secret text\n");
    assert_eq!(bench.ok("grep", json!({"pattern": "secret"})).await, "[no matches]");
    assert_eq!(bench.ok("find_files", json!({"pattern": "**/secret"})).await, "[nothing found]");
}

#[tokio::test]
async fn update_plan_result_holds_the_plan() {
    let steps = json!([{"step": "a", "status": "done"}, {"step": "b", "status": "pending"}]);
    let output = Bench::new().call("update_plan", json!({ "steps": steps })).await;
    assert_eq!(
        output,
        ToolOutput { details: Some(json!({ "plan": steps })), ..ToolOutput::text("1 of 2 steps done") }
    );
}

mod read_file {
    use super::*;

    #[tokio::test]
    async fn read_file_shows_whole_file_or_part() {
        let bench = Bench::new();
        bench.write("src/a.txt", "\u{feff}one\r\ntwo\nthree");
        bench.write("empty", "");
        assert_eq!(bench.ok("read_file", json!({"path": "src/a.txt"})).await, "one\r\ntwo\nthree");
        let part = bench.ok("read_file", json!({"path": "src/a.txt", "offset": 2, "limit": 1})).await;
        assert_eq!(part, "two\n[lines 2 to 2 of 3 are shown; continue with offset 3]");
        assert_eq!(bench.ok("read_file", json!({"path": "src/a.txt", "offset": 3})).await, "three");
        assert_eq!(bench.ok("read_file", json!({"path": "empty"})).await, "[the file is empty]");
    }

    #[tokio::test]
    async fn read_file_is_cut_at_2000_lines_with_notice_and_warning() {
        let bench = Bench::new();
        bench.write("long", lines(2_001));
        let output = bench.call("read_file", json!({"path": "long"})).await;
        let notice = "OUTPUT TRUNCATED: showing 8,893 of 8,898 characters from read_file; lines 1 to 2000 of 2001 are \
                      shown; continue with offset 2001";
        let expected = ToolOutput {
            details: Some(json!({"lines": 2_000})),
            warning: Some(notice.into()),
            ..ToolOutput::text(format!("{}[{notice}]", lines(2_000)))
        };
        assert_eq!(output, expected);
        bench.write("long", lines(2_000));
        assert_eq!(bench.call("read_file", json!({"path": "long"})).await.warning, None);
    }

    #[tokio::test]
    async fn read_file_is_cut_at_40000_characters_with_notice() {
        let bench = Bench::new();
        let line = format!("{}\n", "ä".repeat(9_999));
        bench.write("wide", line.repeat(5));
        let output = bench.call("read_file", json!({"path": "wide"})).await;
        let notice = "OUTPUT TRUNCATED: showing 40,000 of 50,000 characters from read_file; lines 1 to 4 of 5 are \
                      shown; continue with offset 5";
        assert_eq!(joined_text(&output.content), format!("{}[{notice}]", line.repeat(4)));
        assert_eq!(output.warning.unwrap(), notice);
        bench.write("one-line", "x".repeat(40_001));
        let output = bench.call("read_file", json!({"path": "one-line"})).await;
        let notice = "OUTPUT TRUNCATED: showing 40,000 of 40,001 characters from read_file; only the first 40000 \
                      characters of line 1 are shown; use bash (cut -c) for its rest";
        assert_eq!(joined_text(&output.content), format!("{}\n[{notice}]", "x".repeat(40_000)));
        assert_eq!(output.warning.unwrap(), notice);
    }

    #[tokio::test]
    async fn read_file_not_text_is_shown_refused_or_marked() {
        let bench = Bench::new();
        bench.write("a.dat", b"\x89PNG\r\n\x1a\nrest");
        bench.write("binary", b"a\0b");
        bench.write("latin1", b"caf\xe9\n");
        fs::create_dir(bench.path("folder")).unwrap();
        let output = bench.call("read_file", json!({"path": "a.dat"})).await;
        let image = UserBlock::Image { data: "iVBORw0KGgpyZXN0".into(), mime_type: "image/png".into() };
        assert_eq!(output.content[1], image);
        assert_eq!(output.details, Some(json!({"mimeType": "image/png", "bytes": 12})));
        bench.write("paper", b"%PDF-1.7\0");
        let output = bench.call("read_file", json!({"path": "paper"})).await;
        let pdf = UserBlock::Image { data: "JVBERi0xLjcA".into(), mime_type: "application/pdf".into() };
        assert_eq!(output.content[1], pdf);
        bench.write("book", [b"%PDF-".as_slice(), &vec![0; 10 * 1024 * 1024]].concat());
        let error_text = async |path: &str| bench.error_text("read_file", json!({ "path": path })).await;
        let too_large = "book is a PDF file of 10485765 bytes; at most 10000000 can be shown";
        assert_eq!(error_text("book").await, too_large);
        assert_eq!(
            error_text("binary").await,
            "binary is a binary file of 3 bytes; use bash (file, xxd, strings)"
        );
        assert_eq!(error_text("folder").await, "folder is a directory; list_files shows what is in it");
        assert_eq!(error_text("none").await, "none does not exist");
        let text = bench.ok("read_file", json!({"path": "latin1"})).await;
        assert_eq!(text, "caf\u{fffd}\n[not UTF-8: invalid bytes are shown as \u{fffd}]");
        let error = bench.error_text("read_file", json!({"path": "latin1", "offset": 2})).await;
        assert_eq!(error, "argument `offset`: latin1 has only 1 line");
    }

    #[tokio::test]
    async fn read_file_pipe_or_socket_does_not_block() {
        let bench = Bench::new();
        nix::unistd::mkfifo(&bench.path("pipe"), nix::sys::stat::Mode::S_IRWXU).unwrap();
        let error = bench.error_text("read_file", json!({"path": "pipe"})).await;
        assert_eq!(error, "pipe is a device, pipe or socket, not a file");
        let _listener = std::os::unix::net::UnixListener::bind(bench.path("socket")).unwrap();
        let error = bench.error_text("read_file", json!({"path": "socket"})).await;
        assert_eq!(error, "socket is a device, pipe or socket, not a file");
    }
}

mod write_file {
    use super::*;

    #[tokio::test]
    async fn write_file_new_file_is_created_with_its_dirs() {
        let bench = Bench::new();
        let output = bench.call("write_file", json!({"path": "new/deep/a.txt", "content": "a\nb\n"})).await;
        let diff = "--- new/deep/a.txt\n+++ new/deep/a.txt\n@@ -0,0 +1,2 @@\n+a\n+b\n";
        let expected = ToolOutput {
            details: Some(json!({"diff": diff, "path": "new/deep/a.txt", "added": 2, "removed": 0})),
            ..ToolOutput::text("created new/deep/a.txt (2 lines, 4 bytes)")
        };
        assert_eq!(output, expected);
        assert_eq!(bench.content("new/deep/a.txt"), "a\nb\n");
    }

    #[tokio::test]
    async fn write_file_replaced_file_keeps_its_mode_but_no_set_id() {
        let bench = Bench::new();
        bench.write("run.sh", "old\n");
        fs::set_permissions(bench.path("run.sh"), fs::Permissions::from_mode(0o6754)).unwrap();
        let text = bench.ok("write_file", json!({"path": "run.sh", "content": "new\n"})).await;
        assert_eq!(
            (text.as_str(), bench.content("run.sh").as_str()),
            ("replaced run.sh (1 line, 4 bytes)", "new\n")
        );
        assert_eq!(fs::metadata(bench.path("run.sh")).unwrap().permissions().mode() & 0o7777, 0o754);
        assert_eq!(fs::read_dir(bench.path("")).unwrap().count(), 1, "no temporary file is left");
    }

    #[tokio::test]
    async fn write_file_seen_by_an_earlier_process_is_guarded() {
        let bench = Bench::new();
        bench.write("read", "old\n");
        bench.write("edited", "old\n");
        let mut details = Vec::new();
        for (tool, arguments) in [
            ("read_file", json!({"path": "read"})),
            ("edit_file", json!({"path": "edited", "old_text": "old", "new_text": "new"})),
            ("write_file", json!({"path": "written", "content": "x\n"})),
        ] {
            details.extend(bench.call_with_hash(tool, arguments).await.details);
        }
        let files = ["read", "edited", "written"];
        bench.tools.restore_seen(details.iter());
        for path in files {
            bench.write(path, bench.content(path));
            bench.ok("write_file", json!({"path": path, "content": bench.content(path)})).await;
        }
        bench.tools.restore_seen(details.iter());
        for path in files {
            bench.write(path, "changed by others\n");
            let error = bench.error_text("write_file", json!({"path": path, "content": "y\n"})).await;
            assert!(error.contains("has changed since you read or wrote it"), "{error}");
        }
        bench.tools.restore_seen(std::iter::empty());
        bench.ok("write_file", json!({"path": "read", "content": "y\n"})).await;
    }

    #[tokio::test]
    async fn write_file_change_by_others_is_not_overwritten_unseen() {
        let bench = Bench::new();
        bench.write("a", "old\n");
        bench.ok("read_file", json!({"path": "a"})).await;
        bench.write("a", "changed by others\n");
        let write = |content: &str| json!({"path": "a", "content": content});
        let error = bench.error_text("write_file", write("new\n")).await;
        assert_eq!(
            error,
            "a has changed since you read or wrote it; read it again, so that no change is lost"
        );
        assert_eq!(bench.content("a"), "changed by others\n");
        bench.ok("read_file", json!({"path": "a"})).await;
        bench.ok("write_file", write("new\n")).await;
        bench.ok("write_file", write("newer\n")).await;
        assert_eq!(bench.content("a"), "newer\n", "the model knows what it wrote");
    }

    #[tokio::test]
    async fn write_file_change_with_the_old_time_and_size_is_noticed() {
        let bench = Bench::new();
        bench.write("a", "v1\n");
        let modified = fs::metadata(bench.path("a")).unwrap().modified().unwrap();
        bench.ok("read_file", json!({"path": "a"})).await;
        bench.write("a", "v2\n");
        fs::File::options().write(true).open(bench.path("a")).unwrap().set_modified(modified).unwrap();
        let error = bench.error_text("write_file", json!({"path": "a", "content": "v3\n"})).await;
        assert!(error.contains("has changed since you read or wrote it"), "{error}");
    }

    #[tokio::test]
    async fn write_file_new_mode_and_time_are_no_change() {
        let bench = Bench::new();
        bench.ok("write_file", json!({"path": "a", "content": "v1\n"})).await;
        fs::set_permissions(bench.path("a"), fs::Permissions::from_mode(0o755)).unwrap();
        bench.write("a", "v1\n");
        bench.ok("write_file", json!({"path": "a", "content": "v2\n"})).await;
    }

    #[tokio::test]
    async fn write_file_after_an_edit_keeps_unseen_changes() {
        let bench = Bench::new();
        bench.write("a", "one\n");
        bench.ok("read_file", json!({"path": "a"})).await;
        bench.write("a", "one\nby others\n");
        bench.ok("edit_file", json!({"path": "a", "old_text": "one", "new_text": "1"})).await;
        bench.error_text("write_file", json!({"path": "a", "content": "1\n"})).await;
        assert_eq!(bench.content("a"), "1\nby others\n");
    }

    #[tokio::test]
    async fn write_file_not_writable_is_left_alone() {
        let bench = Bench::new();
        bench.write("folder/x", "x");
        bench.write("locked", "x");
        fs::set_permissions(bench.path("locked"), fs::Permissions::from_mode(0o444)).unwrap();
        let error_text =
            async |path: &str| bench.error_text("write_file", json!({"path": path, "content": "y"})).await;
        assert_eq!(error_text("locked").await, "locked is write-protected");
        assert_eq!(error_text("folder").await, "folder is a directory; list_files shows what is in it");
        assert!(error_text("locked/x").await.starts_with("locked/x: a part of the path is a file"));
    }

    #[tokio::test]
    async fn write_file_link_inside_is_followed() {
        let bench = Bench::new();
        bench.write("real", "x");
        symlink("real", bench.path("link")).unwrap();
        assert_eq!(
            bench.ok("write_file", json!({"path": "link", "content": "y"})).await,
            "replaced real (1 line, 1 byte)"
        );
        assert_eq!(bench.content("real"), "y");
        assert!(bench.path("link").is_symlink());
    }
}

mod edit_file {
    use super::*;

    fn arguments(old: &str, new: &str) -> Value {
        json!({"path": "a", "old_text": old, "new_text": new})
    }

    #[tokio::test]
    async fn edit_file_shows_its_diff() {
        let bench = Bench::new();
        bench.write("a", "one\ntwo\nthree\n");
        let output = bench.call("edit_file", arguments("two", "2\n2b")).await;
        let diff = "--- a\n+++ a\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n+2b\n three\n";
        let expected = ToolOutput {
            details: Some(json!({"diff": diff, "path": "a", "added": 2, "removed": 1})),
            ..ToolOutput::text("edited a, line 2: +2 −1")
        };
        assert_eq!(output, expected);
    }

    #[tokio::test]
    async fn edit_file_several_edits_are_made_together_or_not_at_all() {
        let bench = Bench::new();
        bench.write("a", "one\ntwo\nthree\n");
        let edits = |second: &str| {
            json!({"path": "a", "edits": [
                {"old_text": "three", "new_text": "one"},
                {"old_text": second, "new_text": "1"},
            ]})
        };
        let error = bench.error_text("edit_file", edits("four")).await;
        assert_eq!(error, "edits[1]: old_text is not in a; read the file again; nothing changed");
        let text = bench.ok("edit_file", edits("one")).await;
        assert_eq!(text, "edited a, line 1: +2 −2, 2 places");
        assert_eq!(bench.content("a"), "1\ntwo\none\n");
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn edit_file_edits_at_the_same_time_are_all_kept() {
        let bench = std::sync::Arc::new(Bench::new());
        bench.write("a", (0..20).map(|n| format!("<{n}>\n")).collect::<String>());
        let edits = (0..20).map(|n| {
            let bench = std::sync::Arc::clone(&bench);
            let arguments = json!({"path": "a", "old_text": format!("<{n}>"), "new_text": format!("[{n}]")});
            tokio::spawn(async move { bench.ok("edit_file", arguments).await })
        });
        for edit in edits.collect::<Vec<_>>() {
            edit.await.unwrap();
        }
        assert_eq!(bench.content("a"), (0..20).map(|n| format!("[{n}]\n")).collect::<String>());
    }

    #[tokio::test]
    async fn edit_file_keeps_line_ends_byte_order_mark_and_mode() {
        let bench = Bench::new();
        bench.write("a", "\u{feff}one\r\ntwo\r\n");
        fs::set_permissions(bench.path("a"), fs::Permissions::from_mode(0o755)).unwrap();
        bench.ok("edit_file", arguments("one\ntwo\n", "1\n2\n3\n")).await;
        assert_eq!(bench.content("a"), "\u{feff}1\r\n2\r\n3\r\n");
        assert_eq!(fs::metadata(bench.path("a")).unwrap().permissions().mode() & 0o777, 0o755);
    }

    #[tokio::test]
    async fn edit_file_similar_text_is_edited_with_a_notice() {
        let bench = Bench::new();
        bench.write("a", "say “hi”  \nend\n");
        let text = bench.ok("edit_file", arguments("say \"hi\"\nend", "bye")).await;
        assert!(
            text.ends_with("[old_text matched only after normalizing trailing spaces, quotes and dashes]")
        );
        assert_eq!(bench.content("a"), "bye\n");
    }

    #[tokio::test]
    async fn edit_file_ambiguous_edit_changes_nothing() {
        let bench = Bench::new();
        bench.write("a", "x\ny\nx\n");
        let error_text = async |old: &str| bench.error_text("edit_file", arguments(old, "new")).await;
        assert!(
            error_text("x")
                .await
                .starts_with("old_text is in a 2 times (lines 1, 3); include surrounding lines")
        );
        assert_eq!(error_text("z z z").await, "old_text is not in a; read the file again");
        assert_eq!(bench.content("a"), "x\ny\nx\n");
        bench.write("a", b"caf\xe9");
        assert!(error_text("caf").await.starts_with("a is not UTF-8 text"));
        fs::remove_file(bench.path("a")).unwrap();
        assert_eq!(error_text("x").await, "a does not exist");
    }

    #[tokio::test]
    async fn edit_file_replace_all_replaces_every_place() {
        let bench = Bench::new();
        bench.write("a", "x\ny\nx\n");
        let arguments = json!({"path": "a", "old_text": "x", "new_text": "z", "replace_all": true});
        assert_eq!(bench.ok("edit_file", arguments).await, "edited a, line 1: +2 −2, 2 places");
        assert_eq!(bench.content("a"), "z\ny\nz\n");
    }
}

mod list_files {
    use super::*;

    fn bench() -> Bench {
        let bench = Bench::new();
        for name in ["b.rs", "src/a.rs", "src/deep/c.rs", "target/x.rs", ".github/w.yml", ".git/config"] {
            bench.write(name, "");
        }
        bench.write(".gitignore", "target/\n");
        bench
    }

    #[tokio::test]
    async fn list_files_is_sorted_without_ignored_files() {
        let output = bench().call("list_files", json!({})).await;
        let expected = ToolOutput {
            details: Some(json!({"files": 4})),
            ..ToolOutput::text(".github/\n.gitignore\nb.rs\nsrc/\n")
        };
        assert_eq!(output, expected);
    }

    #[tokio::test]
    async fn list_files_depth_and_dir_are_chosen() {
        let bench = bench();
        let list = async |arguments: Value| bench.ok("list_files", arguments).await;
        assert_eq!(list(json!({"path": "src", "depth": 2})).await, "a.rs\ndeep/\ndeep/c.rs\n");
        assert_eq!(list(json!({"path": "target"})).await, "x.rs\n", "requested by name");
        fs::create_dir(bench.path("empty")).unwrap();
        assert_eq!(list(json!({"path": "empty"})).await, "[nothing found]");
    }

    #[tokio::test]
    async fn find_files_newest_first_at_any_depth() {
        let bench = bench();
        for (name, age) in [("src/a.rs", 30), ("b.rs", 20), ("src/deep/c.rs", 10)] {
            let time = std::time::SystemTime::now() - Duration::from_secs(age);
            fs::File::options().append(true).open(bench.path(name)).unwrap().set_modified(time).unwrap();
        }
        let find = async |arguments: Value| bench.ok("find_files", arguments).await;
        assert_eq!(find(json!({"pattern": "*.rs"})).await, "src/deep/c.rs\nb.rs\nsrc/a.rs\n");
        assert_eq!(find(json!({"pattern": "src/*.rs"})).await, "src/a.rs\n");
        assert_eq!(find(json!({"pattern": "*.rs", "path": "src"})).await, "src/deep/c.rs\nsrc/a.rs\n");
        assert_eq!(find(json!({"pattern": "*.py"})).await, "[nothing found]");
        let limited = find(json!({"pattern": "*.rs", "limit": 1})).await;
        assert_eq!(limited, "src/deep/c.rs\n[only the first 1 entries are shown; narrow it down]");
    }

    #[tokio::test]
    async fn list_files_is_cut_at_its_limit_and_the_output_limit() {
        let bench = bench();
        let text = bench.ok("list_files", json!({"limit": 1})).await;
        assert_eq!(text, ".github/\n[only the first 1 entries are shown; narrow it down]");
        let bench = Bench::with_limits(OutputLimits { max_lines: 2, max_chars: 40_000 });
        ["a", "b", "c"].iter().for_each(|name| bench.write(name, ""));
        let output = bench.call("list_files", json!({})).await;
        let notice = output.warning.unwrap();
        assert_eq!(joined_text(&output.content), format!("a\nb\n[{notice}]"));
        let whole = whole_output(&notice, "OUTPUT TRUNCATED: showing 4 of 6 characters from list_files; ");
        assert_eq!(whole, "a\nb\nc\n");
    }

    #[tokio::test]
    async fn list_files_file_and_missing_dir_are_errors() {
        let bench = bench();
        let error_text = async |path: &str| bench.error_text("list_files", json!({ "path": path })).await;
        assert_eq!(error_text("b.rs").await, "b.rs is not a directory; read_file shows files");
        assert_eq!(error_text("none").await, "none does not exist");
    }
}

/// Reads the file named in a notice about a truncated result.
fn whole_output(notice: &str, start: &str) -> String {
    let path = notice.strip_prefix(start).and_then(|rest| rest.strip_prefix("full output in "));
    fs::read_to_string(path.unwrap_or_else(|| panic!("{notice}"))).unwrap()
}

mod grep {
    use super::*;

    fn bench() -> Bench {
        let bench = Bench::new();
        bench.write("b.txt", "alpha\nbeta\ngamma\ndelta\n");
        bench.write("a/x.rs", "fn alpha() {}\r\n// a.b\n");
        bench.write("binary", b"alpha\0");
        bench.write("ignored.log", "alpha\n");
        bench.write(".gitignore", "*.log\n");
        bench
    }

    #[tokio::test]
    async fn grep_matching_lines_have_path_and_number() {
        let output = bench().call("grep", json!({"pattern": "alpha"})).await;
        let text = "a/x.rs:1:fn alpha() {}\nb.txt:1:alpha\n";
        assert_eq!(
            output,
            ToolOutput { details: Some(json!({"matches": 2, "files": 2})), ..ToolOutput::text(text) }
        );
    }

    #[tokio::test]
    async fn grep_arguments_narrow_and_widen_the_search() {
        let bench = bench();
        for (arguments, expected) in [
            (json!({"pattern": "ALPHA", "ignore_case": true, "path": "b.txt"}), "b.txt:1:alpha\n"),
            (json!({"pattern": "alpha", "glob": "*.rs"}), "a/x.rs:1:fn alpha() {}\n"),
            (json!({"pattern": "alpha", "path": "a"}), "a/x.rs:1:fn alpha() {}\n"),
            (json!({"pattern": "a.b", "literal": true}), "a/x.rs:2:// a.b\n"),
            (json!({"pattern": "^g", "context": 1}), "b.txt-2-beta\nb.txt:3:gamma\nb.txt-4-delta\n"),
            (json!({"pattern": "none"}), "[no matches]"),
            (json!({"pattern": "alpha", "path": "ignored.log"}), "ignored.log:1:alpha\n"),
            (json!({"pattern": "a", "show": "files", "context": 1}), "a/x.rs\nb.txt\n"),
            (json!({"pattern": "a", "show": "counts"}), "a/x.rs:2\nb.txt:4\n"),
            (json!({"pattern": "none", "show": "counts"}), "[no matches]"),
        ] {
            assert_eq!(bench.ok("grep", arguments.clone()).await, expected, "{arguments}");
        }
        let text = bench.ok("grep", json!({"pattern": "alpha", "context": 1})).await;
        assert_eq!(text, "a/x.rs:1:fn alpha() {}\na/x.rs-2-// a.b\n--\nb.txt:1:alpha\nb.txt-2-beta\n");
    }

    #[tokio::test]
    async fn grep_many_matches_and_long_lines_are_cut() {
        let bench = Bench::new();
        bench.write("a", "x\n".repeat(3));
        bench.write("b", format!("x{}", "y".repeat(600)));
        let notice =
            "[there may be more matches than are shown; narrow the search with path, glob or pattern]";
        let text = bench.ok("grep", json!({"pattern": "x", "limit": 2})).await;
        assert_eq!(text, format!("a:1:x\na:2:x\n{notice}"));
        let text = bench.ok("grep", json!({"pattern": "x", "show": "counts", "limit": 1})).await;
        assert_eq!(text, format!("a:3\n{notice}"));
        let text = bench.ok("grep", json!({"pattern": "x", "path": "b"})).await;
        assert_eq!(text, format!("b:1:x{}… [line cut]\n", "y".repeat(499)));
        bench.write("a", "x\n".repeat(3_000));
        let output = bench.call("grep", json!({"pattern": "x", "path": "a", "limit": 5_000})).await;
        let text = joined_text(&output.content);
        let warning = output.warning.unwrap();
        let last = format!("[{warning}]");
        assert_eq!((text.lines().count(), text.lines().last()), (2_001, Some(last.as_str())));
        let whole =
            whole_output(&warning, "OUTPUT TRUNCATED: showing 16,893 of 25,893 characters from grep; ");
        assert_eq!(whole.lines().last(), Some("a:3000:x"));
    }
}

mod bash {
    use super::*;

    fn details(code: i32) -> Option<Value> {
        Some(json!({"exitCode": code, "timedOut": false}))
    }

    /// Waits until the file contains a line, and returns the process id in it.
    async fn pid_in(bench: &Bench, name: &str) -> Pid {
        let start = Instant::now();
        loop {
            let text = fs::read_to_string(bench.path(name)).unwrap_or_default();
            if let Some(pid) = text.strip_suffix('\n') {
                return Pid::from_raw(pid.parse().unwrap());
            }
            assert!(start.elapsed() < TIMEOUT, "no process id in {name}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    async fn assert_dies(pid: Pid) {
        let start = Instant::now();
        while kill(pid, None) != Err(Errno::ESRCH) {
            assert!(start.elapsed() < TIMEOUT, "process {pid} is still alive");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    #[tokio::test]
    async fn bash_output_and_exit_code_are_returned() {
        let bench = Bench::new();
        let output = bench.call("bash", json!({"command": "echo out; echo err >&2"})).await;
        assert_eq!(output, ToolOutput { details: details(0), ..ToolOutput::text("out\nerr\n") });
        let output = bench.call("bash", json!({"command": "printf x; exit 3"})).await;
        assert_eq!(output, ToolOutput { details: details(3), ..ToolOutput::error("x\n[exit code 3]") });
        assert_eq!(bench.ok("bash", json!({"command": "pwd > where"})).await, "[no output]");
        assert_eq!(bench.content("where").trim(), bench.path("").canonicalize().unwrap().to_str().unwrap());
        let output = bench.call("bash", json!({"command": "kill -9 $$"})).await;
        let killed = ToolOutput::error("[no output]\n[killed by signal 9 (SIGKILL)]");
        assert_eq!(
            output,
            ToolOutput { details: Some(json!({"exitCode": null, "timedOut": false})), ..killed }
        );
        let text = bench.ok("bash", json!({"command": "sleep 1000 & echo up"})).await;
        assert_eq!(text, "up\n[a process that it left in the background was stopped]");
    }

    #[tokio::test]
    async fn bash_long_output_is_cut_and_kept_for_read_file() {
        let bench = Bench::new();
        let output = bench.call("bash", json!({"command": "seq 1 2001"})).await;
        let path = output.details.unwrap()["fullOutputPath"].as_str().unwrap().to_owned();
        let notice =
            format!("OUTPUT TRUNCATED: showing 8,894 of 8,898 characters from bash; full output in {path}");
        let end: String = (502..=2_001).map(|n| format!("{n}\n")).collect();
        let text = joined_text(&output.content);
        assert_eq!(text, format!("{}[… 1 line omitted …]\n{end}[{notice}]", lines(500)));
        assert_eq!(output.warning, Some(notice));
        assert_eq!(fs::read_to_string(&path).unwrap(), lines(2_001));
        let text = bench.ok("read_file", json!({"path": path, "limit": 1})).await;
        assert!(text.starts_with("1\n"));
        let error = bench.error_text("write_file", json!({"path": path, "content": ""})).await;
        assert!(error.contains("outside the working directory"), "{error}");
    }

    #[tokio::test]
    async fn bash_wide_output_is_cut_at_40000_characters() {
        let bench = Bench::new();
        let output = bench.call("bash", json!({"command": "yes xxxxxxxxx | head -n 4001 | tr x ä"})).await;
        let text = joined_text(&output.content);
        let notice = text.lines().last().unwrap();
        assert!(notice.starts_with("[OUTPUT TRUNCATED: showing "), "{notice}");
        assert!(text[..text.len() - notice.len()].chars().count() <= 40_000);
        assert!(output.warning.is_some());
    }

    #[tokio::test]
    async fn bash_timeout_stops_the_command_and_its_children() {
        let bench = Bench::new();
        let command = "setsid sh -c 'echo $$ > pid; exec sleep 1000' & echo before; sleep 1000";
        let output = bench.call("bash", json!({"command": command, "timeout": 1})).await;
        let expected = ToolOutput::error("before\n[stopped after 1 s, along with everything it had started]");
        let details = Some(json!({"exitCode": null, "timedOut": true}));
        assert_eq!(output, ToolOutput { details, ..expected });
        assert_dies(pid_in(&bench, "pid").await).await;
    }

    #[tokio::test]
    async fn bash_dropped_call_stops_the_command_and_its_children() {
        let bench = Bench::new();
        let command = "setsid sh -c 'echo $$ > child; exec sleep 1000' & echo $$ > shell; wait";
        let tool = bench.tools.find("bash").unwrap();
        let call = tokio::spawn(async move {
            let arguments = json!({ "command": command });
            tool.run(ToolInvocation { arguments, progress: ToolProgress::new(|_| {}) }).await
        });
        let (shell, child) = (pid_in(&bench, "shell").await, pid_in(&bench, "child").await);
        call.abort();
        assert_dies(shell).await;
        assert_dies(child).await;
    }

    #[tokio::test]
    async fn bash_progress_shows_the_end_without_control_characters() {
        let bench = Bench::new();
        let outputs = Arc::new(Mutex::new(Vec::new()));
        let sink = outputs.clone();
        let progress = ToolProgress::new(move |printed: StyledText| sink.lock().unwrap().push(printed.text));
        let command =
            r"seq 1 100; printf '\033[31mred\0\a\n'; while ! [ -e go ]; do sleep 0.01; done; echo end";
        let tool = bench.tools.find("bash").unwrap();
        let call = tool.run(ToolInvocation { arguments: json!({ "command": command }), progress });
        let go = async {
            while !outputs.lock().unwrap().iter().any(|text| text.ends_with("99\n100\nred\n")) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            bench.write("go", "");
        };
        let (output, ()) = tokio::join!(call, go);
        assert!(!output.is_error);
        assert!(outputs.lock().unwrap().iter().all(|text| text.lines().count() <= 40));
    }
}
