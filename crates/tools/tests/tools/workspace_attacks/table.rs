//! A table of attacks: each is rejected with a clear error or harmless, and none hangs.

use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::bench::{Bench, Outcome};

/// The expected outcome of an attack.
#[derive(Clone, Copy, Debug)]
enum Expected {
    /// The call is rejected, with this text in the reason.
    Refused(&'static str),
    /// The call succeeds, with this text in the result.
    Harmless(&'static str),
}

use Expected::{Harmless, Refused};

const OUTSIDE: Expected = Refused("is outside the working directory");
const OWN: Expected = Refused("is one of tiller's own files");
const MISSING: Expected = Refused("does not exist");
const BROKEN: Expected = Refused("is a dangling symbolic link");
const ASKS_GIT: Expected = Refused("asks: writes to .git");
const ASKS_KEYS: Expected = Refused("asks: reads keys");
const HIDDEN: Expected = Refused("is a symbolic link to a file that can't be written");
const NOT_A_FILE: Expected = Refused("is a device, pipe or socket");

/// Tools that change nothing.
const READING: &[&str] = &["read_file", "list_files", "find_files", "grep", "git_diff", "git_log"];

/// Each row is a tool, its path (or all its arguments as JSON) and the outcome. `$TOP` is replaced with the
/// directory that contains `work` and `outside`, and `$LONG` with a name that is too long for a file.
const ATTACKS: &[(&str, &str, Expected)] = &[
    // `..` and absolute paths.
    ("read_file", "../outside/secret", OUTSIDE),
    ("read_file", "./../outside/secret", OUTSIDE),
    ("read_file", "sub/../../outside/secret", OUTSIDE),
    ("read_file", "missing/../../outside/secret", OUTSIDE),
    ("read_file", "notes.txt/../../outside/secret", OUTSIDE),
    ("read_file", "..//outside///secret", OUTSIDE),
    ("read_file", "../work/../outside/secret", OUTSIDE),
    ("read_file", "../work-not/../outside/secret", OUTSIDE),
    ("read_file", "../../../../../../../../../../../../etc/passwd", OUTSIDE),
    ("read_file", "/etc/passwd", OUTSIDE),
    ("read_file", "//etc/passwd", OUTSIDE),
    ("read_file", "/..//etc/passwd", OUTSIDE),
    ("read_file", "$TOP/outside/secret", OUTSIDE),
    ("read_file", "$TOP/work/../outside/secret", OUTSIDE),
    ("read_file", "$TOP/worked", OUTSIDE),
    ("read_file", "", Refused("is a directory")),
    ("read_file", "/", ASKS_KEYS),
    ("read_file", "..", OUTSIDE),
    ("write_file", "../outside/secret", OUTSIDE),
    ("write_file", "../outside/new", OUTSIDE),
    ("write_file", "../new/folder/file", OUTSIDE),
    ("write_file", "$TOP/outside/secret", OUTSIDE),
    ("write_file", "$TOP/new", OUTSIDE),
    ("write_file", "sub/../../outside/secret", OUTSIDE),
    ("write_file", "missing/../../outside/new", OUTSIDE),
    ("write_file", "/tmp/../$TOP/outside/secret", OUTSIDE),
    ("write_file", ".", Refused("is a directory")),
    ("write_file", "sub/..", Refused("is a directory")),
    ("write_file", "", Refused("is a directory")),
    ("write_file", "..", OUTSIDE),
    ("edit_file", "../outside/secret", OUTSIDE),
    ("edit_file", "$TOP/outside/secret", OUTSIDE),
    ("edit_file", "notes.txt/../../outside/secret", OUTSIDE),
    ("list_files", "..", OUTSIDE),
    ("list_files", "../outside", OUTSIDE),
    ("list_files", "/", ASKS_KEYS),
    ("list_files", "$TOP", OUTSIDE),
    ("find_files", "../outside", OUTSIDE),
    ("find_files", "sub/../..", OUTSIDE),
    ("find_files", r#"{"pattern": "../outside/*"}"#, Harmless("[nothing found]")),
    ("find_files", r#"{"pattern": "/**/secret"}"#, Harmless("[nothing found]")),
    ("find_files", r#"{"pattern": "{..,sub}/**"}"#, Harmless("sub/file")),
    ("grep", "..", OUTSIDE),
    ("grep", "../outside/secret", OUTSIDE),
    ("grep", "$TOP/outside", OUTSIDE),
    ("grep", r#"{"pattern": "SECRET", "glob": "../outside/**"}"#, Harmless("[no matches]")),
    ("grep", r#"{"pattern": "SECRET", "glob": "**/secret"}"#, Harmless("[no matches]")),
    ("grep", ".", Harmless("[no matches]")),
    // Links to files and directories: absolute, relative, chained, looping, dangling.
    ("read_file", "link-file", OUTSIDE),
    ("read_file", "link-file-absolute", OUTSIDE),
    ("read_file", "link-folder/secret", OUTSIDE),
    ("read_file", "link-folder/../outside/secret", OUTSIDE),
    ("read_file", "link-folder-absolute/secret", OUTSIDE),
    ("read_file", "link-folder-slash/folder/secret", OUTSIDE),
    ("read_file", "link-folder-dots/secret", OUTSIDE),
    ("read_file", "link-file/../secret", OUTSIDE),
    ("read_file", "chain-1/secret", OUTSIDE),
    ("read_file", "sub/up/secret", OUTSIDE),
    ("read_file", "through/secret", OUTSIDE),
    ("read_file", "parent/outside/secret", OUTSIDE),
    ("read_file", "parent/work/parent/outside/secret", OUTSIDE),
    ("read_file", "parent/work/notes.txt", Harmless("mine")),
    ("read_file", "link-work/link-work/notes.txt", Harmless("mine")),
    ("read_file", "link-work/../outside/secret", OUTSIDE),
    ("read_file", "loop-a", Refused("loop-a: ")),
    ("read_file", "loop-a/../link-file", Refused("loop-a: ")),
    ("read_file", "loop-self", Refused("loop-self: ")),
    ("read_file", "dangling", BROKEN),
    ("read_file", "link\u{202e}tx", OUTSIDE),
    ("read_file", "link\nfile", OUTSIDE),
    ("write_file", "link-file", OUTSIDE),
    ("write_file", "link-file-absolute", OUTSIDE),
    ("write_file", "link-folder/secret", OUTSIDE),
    ("write_file", "link-folder/new", OUTSIDE),
    ("write_file", "link-folder/new/deep/file", OUTSIDE),
    ("write_file", "chain-1/new", OUTSIDE),
    ("write_file", "through/folder/secret", OUTSIDE),
    ("write_file", "dangling", BROKEN),
    ("write_file", "dangling-folder/new", BROKEN),
    ("write_file", "dangling-inside", BROKEN),
    ("write_file", "loop-a", Refused("loop-a: ")),
    ("write_file", "loop-self/file", Refused("loop-self: ")),
    ("write_file", "parent/outside/new", OUTSIDE),
    ("write_file", "parent/work/made", Harmless("created made")),
    ("edit_file", "link-file", OUTSIDE),
    ("edit_file", "chain-1/folder/secret", OUTSIDE),
    ("edit_file", "link-folder-dots/secret", OUTSIDE),
    ("list_files", "link-folder", OUTSIDE),
    ("list_files", "chain-1", OUTSIDE),
    ("list_files", "sub/up/folder", OUTSIDE),
    ("list_files", "loop-a", Refused("loop-a: ")),
    ("list_files", r#"{"depth": 100}"#, Harmless("link-folder\n")),
    ("find_files", "through", OUTSIDE),
    ("find_files", r#"{"pattern": "**/secret"}"#, Harmless("[nothing found]")),
    ("find_files", r#"{"pattern": "link-folder/**"}"#, Harmless("[nothing found]")),
    ("grep", "link-file", OUTSIDE),
    ("grep", "link-folder", OUTSIDE),
    ("grep", "chain-1/secret", OUTSIDE),
    ("grep", r#"{"pattern": "SECRET", "glob": "link-*"}"#, Harmless("[no matches]")),
    // Ignore files that are links or pipes.
    ("list_files", "hidden", Harmless("inner")),
    ("list_files", "sub", Harmless("file")),
    ("find_files", "sub", Harmless("sub/file")),
    ("grep", r#"{"pattern": "mine", "path": "sub"}"#, Harmless("sub/file:1:mine")),
    // The process's own directory of /proc.
    ("read_file", "/proc/self/root/etc/passwd", OUTSIDE),
    ("read_file", "/proc/self/root$TOP/outside/secret", OUTSIDE),
    ("read_file", "/proc/self/root$TOP/work/notes.txt", Harmless("mine")),
    ("read_file", "/proc/self/environ", ASKS_KEYS),
    ("read_file", "/proc/thread-self/root/etc/passwd", OUTSIDE),
    ("read_file", "proc-root$TOP/outside/secret", OUTSIDE),
    ("read_file", "proc-cwd/Cargo.toml", OUTSIDE),
    ("read_file", "all$TOP/outside/secret", OUTSIDE),
    ("write_file", "/proc/self/root$TOP/outside/secret", OUTSIDE),
    ("write_file", "proc-root$TOP/outside/new", OUTSIDE),
    ("write_file", "all$TOP/outside/secret", OUTSIDE),
    ("write_file", "proc-cwd/new", OUTSIDE),
    ("list_files", "proc-fd", OUTSIDE),
    ("list_files", "proc-root", OUTSIDE),
    ("grep", "all", OUTSIDE),
    // Pipes, sockets and devices.
    ("read_file", "pipe", NOT_A_FILE),
    ("read_file", "link-pipe", NOT_A_FILE),
    ("read_file", "link-pipe-outside", OUTSIDE),
    ("read_file", "socket", NOT_A_FILE),
    ("read_file", "zero", OUTSIDE),
    ("read_file", "tty", OUTSIDE),
    ("read_file", "/dev/zero", OUTSIDE),
    ("read_file", "/dev/fd/0", OUTSIDE),
    ("write_file", "pipe", NOT_A_FILE),
    ("write_file", "link-pipe", NOT_A_FILE),
    ("write_file", "socket", NOT_A_FILE),
    ("write_file", "pipe/file", Refused("a part of the path is a file")),
    ("write_file", "zero", OUTSIDE),
    ("write_file", "/dev/null", OUTSIDE),
    ("edit_file", "pipe", NOT_A_FILE),
    ("edit_file", "socket", NOT_A_FILE),
    ("list_files", "pipe", Refused("is not a directory")),
    ("grep", "pipe", Refused("is neither a file nor a directory")),
    ("grep", "socket", NOT_A_FILE),
    ("grep", "tty", OUTSIDE),
    ("find_files", "socket", Refused("is not a directory")),
    // NUL, and paths that are too long.
    ("read_file", "notes.txt\0", Refused("NUL")),
    ("read_file", "../outside/secret\0.txt", Refused("NUL")),
    ("read_file", "missing/\0/../../outside/secret", Refused("NUL")),
    ("write_file", "new\0/../../outside/secret", Refused("NUL")),
    ("edit_file", "\0", Refused("NUL")),
    ("list_files", "sub\0", Refused("NUL")),
    ("grep", "\0../outside", Refused("NUL")),
    ("read_file", "$LONG", Refused("name too long")),
    ("write_file", "$LONG/../../outside/new", Refused("name too long")),
    // Forms of paths that shells, browsers and other systems expand.
    ("read_file", "~/.ssh/id_rsa", ASKS_KEYS),
    ("read_file", "~/../outside/secret", OUTSIDE),
    ("read_file", "~root/.profile", MISSING),
    ("read_file", "$HOME/secret", MISSING),
    ("read_file", "${HOME}/secret", MISSING),
    ("read_file", "*/secret", MISSING),
    ("read_file", "file://$TOP/outside/secret", MISSING),
    ("read_file", "%2e%2e/outside/secret", MISSING),
    ("read_file", "..%2foutside%2fsecret", MISSING),
    ("read_file", "..\\outside\\secret", MISSING),
    ("read_file", "C:\\outside\\secret", MISSING),
    ("read_file", "C:/outside/secret", MISSING),
    ("read_file", "\\\\?\\C:\\secret", MISSING),
    ("read_file", "\\\\localhost\\c$\\secret", MISSING),
    ("read_file", "//localhost/c$/secret", OUTSIDE),
    ("read_file", "notes.txt:secret", MISSING),
    ("write_file", "~/.bashrc", Refused("asks: changes startup")),
    ("write_file", "~/new", OUTSIDE),
    ("write_file", "~", OUTSIDE),
    ("write_file", "C:\\new", Harmless("created C:\\new")),
    ("write_file", "\\\\server\\share\\new", Harmless("created")),
    ("write_file", "..\\outside\\secret", Harmless("created ..\\outside\\secret")),
    ("write_file", "%2e%2e/outside/secret", Harmless("created %2e%2e")),
    ("write_file", "CON", Harmless("created CON")),
    ("list_files", "~", ASKS_KEYS),
    ("list_files", "~/.config", ASKS_KEYS),
    ("grep", "~/.ssh", ASKS_KEYS),
    // Characters that look like others, or are invisible; dots and spaces that some systems remove.
    ("read_file", "\u{ff0e}\u{ff0e}/outside/secret", MISSING),
    ("read_file", "\u{2025}/outside/secret", MISSING),
    ("read_file", "..\u{2215}outside\u{2215}secret", MISSING),
    ("read_file", "..\u{200b}/outside/secret", MISSING),
    ("read_file", ".. /outside/secret", MISSING),
    ("read_file", ".../outside/secret", MISSING),
    ("read_file", " ../outside/secret", MISSING),
    ("read_file", "notes.txt ", MISSING),
    ("read_file", "notes.txt\n", MISSING),
    ("read_file", "../outside/secret\n", OUTSIDE),
    ("read_file", "\u{feff}/etc/passwd", MISSING),
    ("write_file", "\u{ff0e}\u{ff0e}/outside/secret", Harmless("created")),
    ("write_file", "..\u{200b}/outside/new", Harmless("created")),
    ("write_file", "\u{202e}txt", Harmless("created")),
    ("write_file", "link-file ", Harmless("created")),
    ("write_file", "a\u{1b}]0;x\u{7}", Harmless("created")),
    // Git's own files, under any name.
    ("write_file", ".git/config", ASKS_GIT),
    ("write_file", ".git/hooks/pre-commit", ASKS_GIT),
    ("write_file", ".GIT/config", ASKS_GIT),
    ("write_file", ".Git/hooks/pre-commit", ASKS_GIT),
    ("write_file", ".git./config", ASKS_GIT),
    ("write_file", ".git /hooks/pre-commit", ASKS_GIT),
    ("write_file", "GIT~1/config", ASKS_GIT),
    ("write_file", ".git::$INDEX_ALLOCATION/config", ASKS_GIT),
    ("write_file", ".g\u{200c}it/config", ASKS_GIT),
    ("write_file", "\u{feff}.git/hooks/pre-commit", ASKS_GIT),
    ("write_file", "~/.\u{17f}\u{17f}h/authorized_keys", Refused("asks: changes startup")),
    ("read_file", "~/.\u{17f}\u{17f}h/id_rsa", ASKS_KEYS),
    ("write_file", "~/.con\u{fb01}g/tiller/settings.json", OWN),
    ("write_file", "./sub/../.git/config", ASKS_GIT),
    ("write_file", "sub/.git/config", ASKS_GIT),
    ("write_file", "sub/.git", ASKS_GIT),
    ("write_file", "$TOP/work/.git/HEAD", ASKS_GIT),
    ("write_file", "git-link/config", HIDDEN),
    ("write_file", "git-link/hooks/pre-commit", HIDDEN),
    ("write_file", "hooks/pre-commit", HIDDEN),
    ("write_file", "git-config", HIDDEN),
    ("write_file", "link-work/hooks/new", HIDDEN),
    ("edit_file", ".git/config", ASKS_GIT),
    ("edit_file", "git-config", HIDDEN),
    ("list_files", ".", Harmless("notes.txt")),
    // tiller's own files and the user's keys.
    ("read_file", "own/auth.json", OWN),
    ("read_file", "own/../tiller/auth.json", OWN),
    ("read_file", "own-settings", OWN),
    ("read_file", "hard-own", OWN),
    ("read_file", "~/.config/tiller/settings.json", OWN),
    ("read_file", "home-link/.config/tiller/auth.json", OWN),
    ("read_file", "keys/id_rsa", OUTSIDE),
    ("read_file", "bashrc", OUTSIDE),
    ("write_file", "own/settings.json", OWN),
    ("write_file", "own/extensions/new", OWN),
    ("write_file", "own-settings", OWN),
    ("write_file", "~/.config/TILLER/settings.json", OWN),
    ("write_file", "hard-own", OWN),
    ("write_file", "~/.config/tiller/trust.json", OWN),
    ("write_file", "keys/authorized_keys", HIDDEN),
    ("write_file", "bashrc", HIDDEN),
    ("edit_file", "own/settings.json", OWN),
    ("edit_file", "hard-own", OWN),
    ("list_files", "own", OWN),
    ("find_files", "own", OWN),
    ("grep", "own", OWN),
    ("grep", "hard-own", OWN),
    ("grep", "keys", OUTSIDE),
    // A hard link may be read; writing replaces it.
    ("read_file", "hard", Harmless("linked text")),
    ("write_file", "hard", Harmless("replaced hard")),
    (
        "edit_file",
        r#"{"path": "hard", "old_text": "linked", "new_text": "changed"}"#,
        Harmless("edited hard"),
    ),
    // The git tools.
    ("git_diff", "../outside", OUTSIDE),
    ("git_diff", "link-folder/secret", OUTSIDE),
    ("git_diff", "sub\0", Refused("NUL")),
    ("git_diff", r#"{"revision": "$TOP/outside/secret"}"#, Refused("bad revision")),
    ("git_diff", r#"{"revision": "../outside/secret"}"#, Refused("bad revision")),
    ("git_diff", r#"{"revision": "--no-index", "path": "notes.txt"}"#, Refused("must not begin with `-`")),
    ("git_diff", r#"{"revision": "--output=$TOP/outside/new"}"#, Refused("must not begin with `-`")),
    ("git_diff", r#"{"revision": ""}"#, Refused("must not be empty")),
    ("git_diff", ":(top,exclude)sub", Harmless("[no changes]")),
    ("git_log", "link-file", Refused("does not have any commits yet")),
    ("git_log", "link-folder/secret", OUTSIDE),
    ("git_log", "$TOP/outside", OUTSIDE),
    ("git_log", r#"{"revision": "--output=$TOP/outside/new"}"#, Refused("must not begin with `-`")),
    ("git_log", r#"{"revision": "$TOP/outside/secret"}"#, Refused("outside/secret")),
    ("git_add", "../outside/secret", OUTSIDE),
    ("git_add", "through/secret", OUTSIDE),
    ("git_add", "/etc", OUTSIDE),
    // A link itself is staged, without its target.
    ("git_add", "own", Harmless("add 'own'")),
    ("git_add", "own/credentials.json", OWN),
    ("git_add", "link-folder", Harmless("add 'link-folder'")),
    ("git_add", r#"{"paths": ["notes.txt", "link-folder/secret"]}"#, OUTSIDE),
    ("git_add", r#"{"paths": [":(exclude)../outside"]}"#, Refused("did not match any files")),
    ("git_add", "--pathspec-from-file=$TOP/outside/secret", Refused("did not match any files")),
    ("git_branch", r#"{"name": "--orphan=x"}"#, Refused("must not begin with `-`")),
    ("git_branch", r#"{"name": "../../outside/new", "create": true}"#, Refused("not a valid branch name")),
];

#[test]
fn workspace_attacks_are_refused_or_harmless() {
    assert!(ATTACKS.len() >= 100);
    let runtime = Runtime::new().unwrap();
    let (mut refused, mut harmless, mut failures) = (0, 0, Vec::new());
    let mut bench = Bench::new();
    // Only Linux has /proc.
    let attacks = ATTACKS.iter().filter(|(_, path, _)| cfg!(target_os = "linux") || !path.contains("proc"));
    for (tool, path, expected) in attacks {
        if tool.starts_with("git_") {
            bench.remove_ignore_pipe();
        }
        let outcome = runtime.block_on(bench.call(tool, arguments(&bench, tool, path)));
        match (&outcome, expected) {
            (Outcome::Refused(reason), Refused(part)) if reason.contains(part) => refused += 1,
            (Outcome::Succeeded(text), Harmless(part)) if text.contains(part) => harmless += 1,
            _ => failures.push(format!("{tool} {path:?}: {outcome:?}, expected {expected:?}")),
        }
        if !bench.is_untouched() {
            failures.push(format!("{tool} {path:?} changed a file outside"));
        }
        // The next row expects the original files.
        if matches!(outcome, Outcome::Succeeded(_)) && !READING.contains(tool) {
            bench = Bench::new();
        }
    }
    // A call that hangs would also block the end of the runtime.
    runtime.shutdown_background();
    let list = failures.join("\n");
    assert!(failures.is_empty(), "{refused} refused, {harmless} harmless, the others:\n{list}");
}

/// Returns the arguments of an attack.
fn arguments(bench: &Bench, tool: &str, path: &str) -> Value {
    let path = path.replace("$TOP", bench.top().to_str().unwrap()).replace("$LONG", &"a".repeat(300));
    if path.starts_with('{') {
        return serde_json::from_str(&path).unwrap();
    }
    match tool {
        "write_file" => json!({"path": path, "content": "changed\n"}),
        "edit_file" => json!({"path": path, "old_text": "SECRET", "new_text": "changed"}),
        "find_files" => json!({"pattern": "*", "path": path}),
        "grep" => json!({"pattern": "SECRET", "path": path}),
        "git_log" => json!({"path": path, "show": "patch"}),
        "git_add" => json!({"paths": [path]}),
        _ => json!({"path": path}),
    }
}
