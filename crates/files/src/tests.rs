use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use nix::sys::stat::Mode;
use nix::unistd::mkfifo;
use tempfile::TempDir;

use super::walk::{CancelFlag, HiddenFiles, WalkOptions, walk};
use super::*;

/// Creates a trap at a path.
type Trap = fn(&Path);

/// Files that a cloned repository, or another user, can put in place of a file that tiller reads on its own.
const TRAPS: [(&str, Trap); 9] = [
    ("a link to an endless device", |path| symlink("/dev/zero", path).unwrap()),
    ("a link to the terminal", |path| symlink("/dev/tty", path).unwrap()),
    ("a link to the kernel's messages", |path| symlink("/proc/kmsg", path).unwrap()),
    ("a link to a file outside", |path| {
        let outside = path.ancestors().nth(2).unwrap().join("outside-rules");
        fs::write(&outside, "a\nb\n").unwrap();
        symlink(outside, path).unwrap();
    }),
    ("a link to itself", |path| symlink(path, path).unwrap()),
    ("a pipe", |path| mkfifo(path, Mode::S_IRWXU).unwrap()),
    ("a link to a pipe", |path| {
        let pipe = path.with_extension("pipe");
        mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        symlink(pipe, path).unwrap();
    }),
    ("a directory", |path| fs::create_dir(path).unwrap()),
    ("three gigabytes of nothing", |path| File::create(path).unwrap().set_len(3 << 30).unwrap()),
];

#[test]
fn read_within_trap_is_an_error_at_once() {
    for (name, trap) in TRAPS {
        let dir = TempDir::new().unwrap();
        let root = dir.path().join("root");
        fs::create_dir(&root).unwrap();
        let path = root.join("settings.json");
        trap(&path);
        assert!(read_within(&root, &path, CONFIG_LIMIT).is_err(), "{name}");
        let is_users_own = name == "a link to a file outside";
        assert_eq!(read(&path, CONFIG_LIMIT).is_ok(), is_users_own, "{name}");
    }
}

#[test]
fn read_within_link_that_stays_inside_is_followed() {
    let dir = TempDir::new().unwrap();
    fs::create_dir(dir.path().join("sub")).unwrap();
    fs::write(dir.path().join("sub/real"), "x").unwrap();
    symlink("sub", dir.path().join("link")).unwrap();
    symlink(dir.path().join("link/real"), dir.path().join("absolute")).unwrap();
    for name in ["link/real", "absolute"] {
        assert_eq!(read_text_within(dir.path(), &dir.path().join(name), 1).unwrap(), "x", "{name}");
    }
}

#[test]
fn read_error_names_the_cause() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("file");
    fs::write(&path, [b'x'; 2049]).unwrap();
    let error_text = |path: &Path, limit| read_text(path, limit).unwrap_err().to_string();
    assert_eq!(error_text(&path, 2048), "larger than the limit of 2 KiB");
    assert_eq!(error_text(Path::new("/dev/zero"), 1), "a device, not a regular file");
    fs::write(&path, b"\xff").unwrap();
    assert_eq!(error_text(&path, 2048), "not UTF-8 text");
}

#[test]
fn read_stream_pipe_is_read_up_to_the_limit() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("pipe");
    mkfifo(&path, Mode::S_IRWXU).unwrap();
    let send = |text: &'static str| {
        let path = path.clone();
        std::thread::spawn(move || fs::write(path, text))
    };
    let writer = send("key");
    assert_eq!(read_stream(&path, 3).unwrap(), "key");
    writer.join().unwrap().unwrap();
    let writer = send("keys");
    assert!(read_stream(&path, 3).is_err());
    let _ = writer.join().unwrap();
    assert!(read_stream(Path::new("/dev/zero"), 3).is_err());
}

#[test]
fn git_dir_that_is_a_trap_is_none() {
    for (name, trap) in TRAPS {
        let dir = tree(&[("root/x", "")]);
        let root = dir.path().join("root");
        trap(&root.join("there"));
        fs::write(root.join(".git"), "gitdir: there\n").unwrap();
        let found = git::dir(&root.join(".git")).and_then(|dir| git::read_file(&dir, "HEAD"));
        assert_eq!(found, None, "{name}");
        let mut names =
            walk_paths(&root, WalkOptions { hidden: HiddenFiles::Skipped, ..WalkOptions::default() });
        names.retain(|name| !name.starts_with("there"));
        assert_eq!(names, ["x"], "{name}");
    }
}

#[test]
fn read_null_device_is_empty() {
    assert_eq!(read_text(Path::new("/dev/null"), 1).unwrap(), "");
    assert_eq!(read_stream(Path::new("/dev/null"), 1).unwrap(), "");
}

fn tree(files: &[(&str, &str)]) -> TempDir {
    let dir = TempDir::new().unwrap();
    for (name, text) in files {
        let path = dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    dir
}

fn walk_paths(dir: &Path, options: WalkOptions) -> Vec<String> {
    let entries = walk(File::open(dir).unwrap(), dir, options);
    entries.map(|entry| entry.relative_path.display().to_string()).collect()
}

#[test]
fn walk_ignore_file_that_is_a_trap_is_skipped() {
    for file in [".gitignore", ".ignore", ".git/info/exclude", "sub/.gitignore"] {
        for (name, trap) in TRAPS {
            let dir = tree(&[("root/a", ""), ("root/sub/b", ""), ("root/.git/info/x", "")]);
            let root = dir.path().join("root");
            trap(&root.join(file));
            let options = WalkOptions { hidden: HiddenFiles::Skipped, ..WalkOptions::default() };
            let mut found = walk_paths(&root, options);
            found.retain(|path| !path.ends_with(".pipe") && !path.ends_with("outside-rules"));
            assert_eq!(found, ["a", "sub", "sub/b"], "{file}: {name}");
        }
    }
}

#[test]
fn walk_skips_files_that_git_ignores() {
    let dir = tree(&[
        (".git/info/exclude", "excluded\n"),
        (".gitignore", "*.log\n!keep.log\n/target/\n"),
        (".ignore", "!seen.log\nsecret\n"),
        ("a.log", ""),
        ("excluded", ""),
        ("keep.log", ""),
        ("secret", ""),
        ("seen.log", ""),
        ("src/.gitignore", "!deep.log\nbuilt\n"),
        ("src/built/x", ""),
        ("src/deep.log", ""),
        ("src/target/x", ""),
        ("target/x", ""),
        ("inner/.git/HEAD", ""),
        ("inner/other.log", ""),
        ("inner/secret", ""),
    ]);
    assert_eq!(
        walk_paths(dir.path(), WalkOptions::default()),
        [
            ".gitignore",
            ".ignore",
            "inner",
            "inner/other.log",
            "keep.log",
            "seen.log",
            "src",
            "src/.gitignore",
            "src/deep.log",
            "src/target",
            "src/target/x",
        ]
    );
    let below = walk_paths(&dir.path().join("src"), WalkOptions::default());
    assert_eq!(below, [".gitignore", "deep.log", "target", "target/x"]);
    let shallow = WalkOptions { max_depth: Some(1), hidden: HiddenFiles::Skipped, ..WalkOptions::default() };
    assert_eq!(walk_paths(dir.path(), shallow), ["inner", "keep.log", "seen.log", "src"]);
}

#[test]
fn walk_lists_links_without_following() {
    let dir = tree(&[("real/x", "")]);
    symlink("real", dir.path().join("link")).unwrap();
    symlink("/", dir.path().join("out")).unwrap();
    assert_eq!(walk_paths(dir.path(), WalkOptions::default()), ["link", "out", "real", "real/x"]);
}

#[test]
fn walk_dir_swapped_for_link_lists_nothing() {
    let (dir, outside) = (tree(&[("a", ""), ("sub/x", "")]), tree(&[("secret", "")]));
    let mut entries = walk(File::open(dir.path()).unwrap(), dir.path(), WalkOptions::default());
    assert_eq!(entries.next().unwrap().relative_path, PathBuf::from("a"));
    fs::rename(dir.path().join("sub"), dir.path().join("moved")).unwrap();
    symlink(outside.path(), dir.path().join("sub")).unwrap();
    let rest: Vec<PathBuf> = entries.map(|entry| entry.relative_path).collect();
    assert_eq!(rest, [PathBuf::from("sub")], "the link itself, without its target's entries");
}

#[test]
fn walk_cancelled_ends() {
    let dir = tree(&[("a", ""), ("b", "")]);
    let cancel = CancelFlag::default();
    let options = WalkOptions { cancel: cancel.clone(), ..WalkOptions::default() };
    let mut entries = walk(File::open(dir.path()).unwrap(), dir.path(), options);
    assert!(entries.next().is_some());
    cancel.set();
    assert!(entries.next().is_none());
}

#[test]
fn walk_excluded_dir_is_skipped_by_any_name() {
    let dir = tree(&[("a/x", ""), ("b/x", "")]);
    let excluded = vec![FileId::from(&dir.path().join("a").metadata().unwrap())];
    let options = WalkOptions { excluded, ..WalkOptions::default() };
    assert_eq!(walk_paths(dir.path(), options), ["b", "b/x"]);
}
