//! Programs that run a command in their arguments, most of whose options aren't known here, and the mounts of
//! containers.

use super::arguments::{is_assignment, values};

/// The programs, those with a subcommand by both words. The command starts at one of the words after them.
/// [`arguments`](super::arguments) has the wrappers, whose options are known.
const RUNNERS: &[&str] = &[
    "abduco",
    "apptainer exec",
    "asdf exec",
    "aws-vault exec",
    "bun x",
    "bundle exec",
    "bunx",
    "busybox",
    "bwrap",
    "cgexec",
    "choom",
    "chpst",
    "chroot",
    "chrt",
    "composer exec",
    "concurrently",
    "conda run",
    "cpulimit",
    "cross-env",
    "daemonize",
    "dbus-run-session",
    "direnv exec",
    "docker exec",
    "docker run",
    "doppler run",
    "dotenv",
    "dtach",
    "dumb-init",
    "eatmydata",
    "entr",
    "fakeroot",
    "faketime",
    "firejail",
    "flatpak-spawn",
    "flock",
    "fnm exec",
    "gdb",
    "gosu",
    "hatch run",
    "heaptrack",
    "hyperfine",
    "ip netns",
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
    "proot",
    "proxychains",
    "proxychains4",
    "pyenv exec",
    "rbenv exec",
    "rlwrap",
    "rr record",
    "runcon",
    "rye run",
    "screen",
    "script",
    "sem",
    "setarch",
    "setpriv",
    "sg",
    "singularity exec",
    "ssh-agent",
    "start-stop-daemon",
    "strace",
    "su-exec",
    "systemd-inhibit",
    "systemd-nspawn",
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
    "volta run",
    "watchexec",
    "xvfb-run",
    "yarn dlx",
    "yarn exec",
    "zellij run",
];

/// The words of a runner before its command.
struct Usage {
    name: &'static str,
    /// Number of its own operands.
    operands: usize,
    /// Options without a value, separated by blanks.
    flags: &'static str,
    /// Options whose value is the next word and neither a command nor code.
    values: &'static str,
}

impl Usage {
    const fn new(name: &'static str, operands: usize, flags: &'static str, values: &'static str) -> Self {
        Self { name, operands, flags, values }
    }

    /// Returns true if an option is joined with a value that is neither a command nor code.
    fn is_joined_value(&self, option: &str) -> bool {
        let mut values = self.values.split(' ');
        match option.split_once('=').filter(|_| option.starts_with("--")) {
            Some((name, _)) => values.any(|known| known == name),
            None => matches!(self.word_after(option), WordAfter::Operand),
        }
    }

    /// Returns the meaning of the word after an option.
    fn word_after(&self, option: &str) -> WordAfter {
        let has = |options: &str, option: &str| options.split(' ').any(|known| known == option);
        if option == "--" || option.contains('=') || has(self.flags, option) {
            return WordAfter::Operand;
        }
        if has(self.values, option) {
            return WordAfter::Value;
        }
        if option.starts_with("--") {
            return WordAfter::Unknown;
        }
        for (at, letter) in option.char_indices().skip(1) {
            let short = format!("-{letter}");
            let is_last = at + letter.len_utf8() == option.len();
            match has(self.values, &short) {
                true if is_last => return WordAfter::Value,
                true => return WordAfter::Operand,
                false if !has(self.flags, &short) => return WordAfter::Unknown,
                false => {}
            }
        }
        WordAfter::Operand
    }
}

/// The meaning of the word after an option.
enum WordAfter {
    /// It isn't the option's value.
    Operand,
    Value,
    /// It may be the option's value.
    Unknown,
}

/// A runner without own operands, all of whose options may have a value.
const PLAIN_USAGE: Usage = Usage::new("", 0, "", "");

/// The usage of runners that have own operands, or options that are common before a command (`--help` of each, 2026).
const USAGES: &[Usage] = &[
    Usage::new("apptainer exec", 1, "", ""),
    Usage::new("aws-vault exec", 1, "", "-d --duration"),
    Usage::new("bun x", 0, "--bun", ""),
    Usage::new("bunx", 0, "--bun", ""),
    // Some of its options have two values.
    Usage::new("bwrap", usize::MAX, "", ""),
    Usage::new("chroot", 1, "", "--groups"),
    Usage::new("chrt", 1, "-a -b -d -f -i -m -o -p -r -v", "-D -P -T"),
    Usage::new(
        "concurrently",
        usize::MAX,
        "-k -r -g --raw --kill-others --kill-others-on-fail",
        "-n -c --names",
    ),
    Usage::new("conda run", 0, "--live-stream --no-capture-output -v", "-n -p --name --prefix --cwd"),
    Usage::new("direnv exec", 1, "", ""),
    Usage::new("doppler run", 0, "", "-c -p --config --project"),
    Usage::new("dotenv", 1, "-o -q", "-e -f --file"),
    Usage::new("entr", 0, "-a -c -d -n -p -r -x -z", ""),
    Usage::new("faketime", 1, "-f -m", ""),
    Usage::new(
        "flock",
        1,
        "-e -F -n -o -s -u -x --exclusive --no-fork --nonblock --shared --verbose",
        "-E -w --timeout",
    ),
    Usage::new("gdb", 0, "-args -batch -nx -q -quiet --args --batch --nx --quiet", "-p --pid"),
    Usage::new("gosu", 1, "", ""),
    Usage::new("hatch run", 0, "-v", "-e"),
    Usage::new(
        "hyperfine",
        usize::MAX,
        "-i -N --ignore-failure --show-output",
        "-m -M -n -r -w --runs --warmup",
    ),
    Usage::new("ip netns", 2, "", ""),
    Usage::new("lldb", 0, "-b --batch", "-p"),
    Usage::new("ltrace", 0, "-b -c -C -f -i -L -r -S -t -tt -T", "-a -A -D -e -F -l -n -o -p -s -u -w -x"),
    Usage::new("mise exec", 1, "-q -v", "-C -E -j"),
    Usage::new("mise x", 1, "-q -v", "-C -E -j"),
    Usage::new("nix develop", 1, "-c --command --impure", ""),
    Usage::new("nix shell", 1, "-c --command --impure", ""),
    Usage::new("nix-shell", usize::MAX, "--pure", "-A"),
    Usage::new("npm exec", 0, "-y --yes -q --quiet -s --silent", "-w --prefix --workspace"),
    Usage::new("npm x", 0, "-y --yes -q --quiet -s --silent", "-w --prefix --workspace"),
    Usage::new(
        "npx",
        0,
        "-y --yes --no --no-install --offline --prefer-offline -q --quiet -s --silent",
        "-w --prefix --workspace",
    ),
    Usage::new("nsenter", 0, "-a -C -F -i -m -n -p -r -T -u -U", "-G -S -t --setgid --setuid --target"),
    Usage::new("numactl", 0, "-l", "-C -i -m -N"),
    Usage::new("pdm run", 0, "-s", "-p"),
    Usage::new("perf record", 0, "-a -g -q -v", "-c -e -F -o -p -t --call-graph"),
    Usage::new("perf stat", 0, "-a -B -d -v", "-C -e -I -o -p -r -t -x"),
    Usage::new("pipx run", 0, "-q -v", "--python"),
    Usage::new("pixi run", 0, "-q -v --frozen --locked", "-e --environment --manifest-path"),
    Usage::new("pnpm exec", 0, "-r --recursive --silent", "--filter"),
    Usage::new("poetry run", 0, "-n -q -v", "-C --directory --project"),
    Usage::new("runcon", 1, "", "-l -r -t -u"),
    Usage::new("screen", 0, "-d -D -m -U", "-e -p -r -S -t -T -x"),
    Usage::new("script", 1, "-a -e -f -q --append --flush --quiet --return", "-E -o"),
    Usage::new("sem", 0, "--fg --wait", "-j --id --jobs"),
    Usage::new("setarch", 1, "-3 -R -v", ""),
    Usage::new(
        "setpriv",
        0,
        "--clear-groups --init-groups --keep-groups --nnp --no-new-privs",
        "--regid --reuid",
    ),
    Usage::new("sg", 1, "", ""),
    Usage::new(
        "strace",
        0,
        "-A -c -C -d -D -f -F -i -k -n -q -r -t -T -v -w -x -y -z -Z",
        "-a -b -e -E -I -o -O -p -P -s -S -u -U -X",
    ),
    Usage::new("singularity exec", 1, "", ""),
    Usage::new("su-exec", 1, "", ""),
    Usage::new(
        "systemd-run",
        0,
        "-d -G -P -q -t --collect --pipe --pty --quiet --scope --user --wait",
        "-E -u --setenv --unit",
    ),
    Usage::new("taskset", 1, "-a -c -p", ""),
    Usage::new("tini", 0, "-g -s -v", "-e -p"),
    Usage::new("tmux", usize::MAX, "-A -d -D -h -l -P -v", "-F -L -n -s -S -t -x -y"),
    Usage::new(
        "uv run",
        0,
        "-m -n -q -s -U -v --active --all-extras --all-groups --dev --exact --frozen --isolated --locked --module \
         --no-cache --no-config --no-dev --no-editable --no-project --no-sync --offline --quiet --script --verbose",
        "-p --directory --env-file --extra --group --only-group --package --project --python",
    ),
    Usage::new("uv tool", 1, "-q -v --offline --isolated", "-p --python"),
    Usage::new("uvx", 0, "-q -v --offline --isolated", "-p --python"),
    Usage::new(
        "unshare",
        0,
        "-c -C -f -i -m -n -p -r -T -u -U --fork --map-root-user --mount-proc",
        "-G -R -S -w --root --wd",
    ),
    Usage::new("valgrind", 0, "-q -v", "--log-file --suppressions --tool --xml-file"),
    Usage::new("watchexec", 0, "-c -n -N -p -q -r --restart", "-d -e -f -i -s -w --exts --ignore --watch"),
    Usage::new("xvfb-run", 0, "-a -l --auto-servernum", "-e -f -n -p -s -w --server-args --server-num"),
    Usage::new("yarn exec", 0, "-q --quiet", ""),
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
    let lines = values.filter(|line| line.contains(char::is_whitespace));
    // `-c'git push'`
    let joined = rest.iter().filter_map(|word| Some(word.strip_prefix('-')?.split_once('c')?.1));
    let lines = lines.chain(joined.filter(|line| !line.is_empty())).map(|line| vec![line.to_owned()]);
    starts.map(|(at, _)| rest[at..].to_vec()).chain(lines).collect()
}

/// The command that a runner starts.
pub(super) struct StartedCommand<'a> {
    /// The operands up to the command's program, and options with a value that isn't known. Each may be the command, or
    /// a line for a shell.
    pub candidates: Vec<&'a String>,
    /// The command; empty if only the runner can tell where it starts.
    pub words: &'a [String],
}

/// Finds the command that a runner starts outside of containers: it begins at the first operand that is neither one of
/// the runner's own, nor a line for a shell, and that can't be the value of an option.
pub(super) fn find_started<'a>(name: &str, arguments: &'a [String]) -> Option<StartedCommand<'a>> {
    let find = |row: &&'static str| Some((*row, arguments_of(row, name, arguments)?));
    let (row, rest) = RUNNERS.iter().find_map(find).filter(|_| !is_container(name))?;
    let usage = USAGES.iter().find(|usage| usage.name == row).unwrap_or(&PLAIN_USAGE);
    let (mut candidates, mut own, mut may_be_value) = (Vec::new(), usage.operands, false);
    let mut words = rest.iter().enumerate();
    while let Some((at, word)) = words.next() {
        if word.starts_with('-') && word.len() > 1 {
            let after = usage.word_after(word);
            // `-c"$X"`
            candidates
                .extend(Some(word).filter(|_| word.contains(['$', '`']) && !usage.is_joined_value(word)));
            may_be_value = matches!(after, WordAfter::Unknown);
            if matches!(after, WordAfter::Value) {
                words.next();
            }
        } else if !is_assignment(word) || word.contains(char::is_whitespace) {
            candidates.push(word);
            let is_value = std::mem::take(&mut may_be_value);
            if !is_value && own == 0 && !word.contains(char::is_whitespace) {
                return Some(StartedCommand { candidates, words: &rest[at..] });
            }
            own = own.saturating_sub(usize::from(!is_value));
        }
    }
    Some(StartedCommand { candidates, words: &[] })
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

#[cfg(test)]
mod tests {
    use super::super::risk_in_work;

    #[test]
    fn runner_of_unknown_command_asks() {
        for line in [
            "taskset 1 $X",
            "taskset -c 0,1 $X",
            "flock f $X",
            "flock -n f $X a",
            "flock f -c \"$X\"",
            "flock f -c \"ls; $X\"",
            "flock f flock g $X",
            "flock -w 5 f env A=b $X",
            "chroot / $X",
            "strace -o f $X",
            "strace -fe trace=x $X",
            "script -q f -c \"$X\"",
            "busybox sh -c \"$X\"",
            "tmux new -d \"$X\"",
            "tmux send-keys -t a \"$X\" Enter",
            "uv run --with x $X",
            "uv run -q --python 3.12 -- $X a",
            "uv run --unknown x $X",
            "uv run bash -c \"$X\"",
            "unshare -r $X",
            "setpriv --nnp $X",
            "nsenter -t 1 $X",
            "nsenter -t 1 -m bash -c \"$X\"",
            "hyperfine ls \"$X\"",
            "hyperfine ls \"$X a\"",
            "nix-shell x.nix --run \"$X\"",
            "mise exec node@20 -- $X",
            "cross-env A=b $X",
            "npx -p a -c \"$X\"",
            "find . -exec flock f $X {} +",
            "bwrap --ro-bind / / $X",
            "P=flock; $P f $X",
            "/usr/bin/taskset -c 0 -- $X",
            "f() { flock f $X; }; f",
            "tmux new -d \\; send-keys \"$X\"",
            "cat x | xargs flock f $X",
            "flock f -c 'A=1 $X'",
            "npx -c 'A=1 $X'",
            "script -qc 'A=1 $X' f",
            "nodemon --exec 'NODE_ENV=dev $X'",
            "hyperfine 'A=1 $X'",
            "tmux new -d 'A=1 $X'",
            "gdb -batch -x $X",
            "lldb -f $X",
            "tmux -c \"$X\"",
            "screen -c $X",
            "systemd-run -p $X true",
            "npx -y -p $X jest",
            "bunx --package $X jest",
            "uvx --from $X ruff",
            "uv run --with-requirements $X pytest",
            "uv run --index-url $X pytest",
            "pipx run --spec $X ruff",
            "nix shell -f $X -c ls",
            "nix-shell -p $X --run ls",
        ] {
            let expected = "runs a command that can't be determined: $X";
            assert_eq!(risk_in_work(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn runner_of_unknown_value_or_input_asks() {
        for (line, word) in [
            ("flock f -c\"$X\"", "-c$X"),
            ("script -qc\"$X a\" f", "-qc$X"),
            ("nodemon --exec=\"$X\"", "--exec=$X"),
            ("hyperfine --prepare=\"$X\" ls", "--prepare=$X"),
            ("uv run --with=$P --index-url=$U pytest", "--with=$P"),
            ("uvx --with \"git+https://x/$Y\" ruff", "git+https://x/$Y"),
            ("X=$(cat y); flock f $X", "$X"),
            ("flock f ${X:-ls}", "${X:-ls}"),
            ("cat x | xargs flock f", "$(…)"),
            ("cat x | xargs -I{} uv run {}", "$(…)"),
        ] {
            let expected = format!("runs a command that can't be determined: {word}");
            assert_eq!(risk_in_work(line), Some(expected), "{line}");
        }
        assert_eq!(risk_in_work("flock f -c'sudo x'").as_deref(), Some("runs as another user (sudo)"));
    }

    #[test]
    fn runner_of_known_command_is_free() {
        for line in [
            "npx -y jest $X *.test.js",
            "git ls-files | xargs npx prettier --write",
            "ls | xargs -n1 -P4 uv run pytest",
            "uv run --directory=$D pytest",
            "strace -o$LOG ls",
            "npx --workspace web jest $X",
            "npx --no-install eslint $X",
            "uv run pytest $X tests/*.py",
            "uv run -q --with x --python $V pytest $X",
            "uv run -m pytest \"$X\"",
            "uv run --no-sync python -m pytest \"$X\"",
            "poetry run python x.py \"$X\"",
            "bundle exec rspec $X",
            "while read -r f; do npx prettier --write \"$f\"; done < x",
            "strace -f -o $LOG ls $X",
            "flock -n f make $X",
            "taskset -c 0-3 make $X",
            "xvfb-run -a npm test -- $X",
            "hyperfine -w 3 \"ls $X\"",
            "perf stat -e cycles ls $X",
            "tmux kill-session -t $X",
            "tmux new -d -s $X 'cargo test'",
            "nix develop -c cargo test $X",
            "mise exec -- npm test $X",
            "cross-env NODE_ENV=$X jest $Y",
            "npx -p typescript tsc $X",
            "uvx --from x ruff check $X",
            "valgrind --leak-check=full ./x $X",
            "gdb -batch --args ./x $X",
            "docker run --rm x $X",
            "uv run x.py < $X",
            "source venv/bin/activate",
            ". \"$HOME/.cargo/env\"; source ~/.nvm/nvm.sh",
            "D=\"$HOME/.nvm\"; . \"$D/nvm.sh\"",
            "B=$HOME/.cargo/bin; $B/cargo test",
        ] {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }
}
