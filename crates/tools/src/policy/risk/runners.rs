//! Programs that run a command in their arguments, after options that aren't known here, and the mounts of
//! containers.

use super::arguments::values;

/// The programs, those with a subcommand by both words. The command starts at one of the words after them.
/// [`arguments`](super::arguments) has the wrappers whose options are known.
const RUNNERS: &[&str] = &[
    "asdf exec",
    "aws-vault exec",
    "bun x",
    "bundle exec",
    "bunx",
    "busybox",
    "bwrap",
    "chroot",
    "chrt",
    "composer exec",
    "concurrently",
    "conda run",
    "cross-env",
    "dbus-run-session",
    "direnv exec",
    "docker exec",
    "docker run",
    "doppler run",
    "dotenv",
    "dumb-init",
    "eatmydata",
    "entr",
    "faketime",
    "fakeroot",
    "firejail",
    "flatpak-spawn",
    "flock",
    "gdb",
    "gosu",
    "hatch run",
    "hyperfine",
    "kubectl exec",
    "lldb",
    "ltrace",
    "mise exec",
    "mise x",
    "nix develop",
    "nix run",
    "nix shell",
    "nix-shell",
    "nodemon",
    "npm exec",
    "npm x",
    "npx",
    "nsenter",
    "numactl",
    "op run",
    "pdm run",
    "perf record",
    "perf stat",
    "pipenv run",
    "pipx run",
    "pixi run",
    "pkexec",
    "pnpm dlx",
    "pnpm exec",
    "pnpx",
    "podman exec",
    "podman run",
    "poetry run",
    "prlimit",
    "proxychains",
    "proxychains4",
    "pyenv exec",
    "rbenv exec",
    "rlwrap",
    "runcon",
    "rye run",
    "script",
    "sem",
    "setarch",
    "setpriv",
    "sg",
    "ssh-agent",
    "strace",
    "systemd-inhibit",
    "systemd-run",
    "taskset",
    "tini",
    "tmux",
    "torsocks",
    "toybox",
    "trickle",
    "unshare",
    "uv run",
    "uv tool",
    "uvx",
    "valgrind",
    "watchexec",
    "xvfb-run",
    "yarn dlx",
    "yarn exec",
];

/// Number of words after a runner among which its command may start.
const STARTS: usize = 8;

/// Programs that run commands in another file system.
const CONTAINERS: &[&str] = &["docker", "kubectl", "nerdctl", "podman"];

/// The commands of `cmake -E` and their equivalents in a shell (cmake 4.0).
const CMAKE_COMMANDS: &[(&str, &str)] = &[
    ("cat", "cat"),
    ("chdir", "env -C"),
    ("copy", "cp"),
    ("copy_directory", "cp -r"),
    ("copy_directory_if_different", "cp -r"),
    ("copy_if_different", "cp"),
    ("create_hardlink", "ln"),
    ("create_symlink", "ln -s"),
    ("env", "env"),
    ("make_directory", "mkdir"),
    ("remove", "rm"),
    ("remove_directory", "rm -r"),
    ("rename", "mv"),
    ("rm", "rm"),
    ("tar", "tar"),
    ("time", "time"),
    ("touch", "touch"),
    ("touch_nocreate", "touch"),
];

/// Returns true if the commands that a program runs see the files of another system.
pub(super) fn is_container(name: &str) -> bool {
    CONTAINERS.contains(&name)
}

/// Lists the directories and files mounted into a container: `-v DIR:…`, `--mount source=DIR,…`.
pub(super) fn list_mounts<'a>(name: &str, arguments: &'a [String]) -> Vec<&'a str> {
    if !is_container(name) {
        return Vec::new();
    }
    let volumes = values(arguments, 'v', "volume").filter_map(|volume| volume.split(':').next());
    let mounts = arguments.iter().flat_map(|word| word.split(','));
    let sources = mounts.filter_map(|part| {
        let (key, source) = part.rsplit_once('=')?;
        (key.ends_with("source") || key.ends_with("src")).then_some(source)
    });
    volumes.chain(sources).collect()
}

/// Returns the command that `cmake -E` runs.
pub(super) fn find_cmake_command(arguments: &[String]) -> Option<Vec<String>> {
    let [option, name, rest @ ..] = arguments else { return None };
    let (_, command) = CMAKE_COMMANDS.iter().find(|(own, _)| own == name).filter(|_| option == "-E")?;
    Some(command.split(' ').map(str::to_owned).chain(rest.iter().cloned()).collect())
}

/// Lists the commands that a program may run: each suffix of its arguments that doesn't start with an option,
/// and each line for a shell (`nodemon --exec 'git push'`). A command of one word is a line, too.
pub(super) fn list_run_commands(name: &str, arguments: &[String]) -> Vec<Vec<String>> {
    let Some(rest) = RUNNERS.iter().find_map(|row| arguments_of(row, name, arguments)) else {
        return Vec::new();
    };
    let starts = rest.iter().enumerate().filter(|(_, word)| !word.starts_with('-')).take(STARTS);
    let values =
        rest.iter().flat_map(|word| [word.as_str(), word.split_once('=').map_or("", |(_, value)| value)]);
    let lines = values.filter(|line| line.contains(char::is_whitespace)).map(|line| vec![line.to_owned()]);
    starts.map(|(at, _)| rest[at..].to_vec()).chain(lines).collect()
}

/// Returns the first operand of a program that runs a command, unless the command runs in a container.
pub(super) fn find_operand<'a>(name: &str, arguments: &'a [String]) -> Option<&'a String> {
    let rest = RUNNERS.iter().find_map(|row| arguments_of(row, name, arguments))?;
    rest.iter().find(|word| !word.starts_with('-')).filter(|_| !is_container(name))
}

/// Returns the arguments after the words of a row; `None` for another program.
fn arguments_of<'a>(row: &str, name: &str, arguments: &'a [String]) -> Option<&'a [String]> {
    match row.split_once(' ') {
        Some((program, subcommand)) if program == name => {
            let at = arguments.iter().position(|word| word == subcommand)?;
            Some(&arguments[at + 1..])
        }
        Some(_) => None,
        None => (row == name).then_some(arguments),
    }
}

/// Options of ssh that are followed by a value.
const SSH_OPTIONS: &str = "BbcDEeFIiJLlmOoPpQRSWw";

/// Returns the words of the command that ssh runs on the host.
pub(super) fn split_ssh_command(arguments: &[String]) -> &[String] {
    let mut rest = arguments;
    while let [option, after @ ..] = rest
        && let Some(letters) = option.strip_prefix('-')
    {
        let takes_next = letters.len() == 1 && SSH_OPTIONS.contains(letters);
        rest = if takes_next { after.get(1..).unwrap_or_default() } else { after };
    }
    rest.get(1..).unwrap_or_default()
}
