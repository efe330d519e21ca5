//! The commands that programs run in their arguments (`npx`, `flock`, …), and the mounts of containers.

use super::arguments::{is_assignment, values};
use table::{Operands, RUNNERS, Runner};

mod table;

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
    let Some((_, rest)) = find_runner(name, arguments) else { return Vec::new() };
    let starts = rest.iter().enumerate().filter(|(_, word)| !word.starts_with('-')).take(STARTS);
    let values =
        rest.iter().flat_map(|word| [word.as_str(), word.split_once('=').map_or("", |(_, value)| value)]);
    let values = values.map(strip_pipe);
    let lines = values.filter(|line| line.contains(char::is_whitespace));
    // `-c'git push'`
    let joined = rest.iter().filter_map(|word| Some(word.strip_prefix('-')?.split_once('c')?.1));
    let lines = lines.chain(joined.filter(|line| !line.is_empty())).map(|line| vec![line.to_owned()]);
    starts.map(|(at, _)| rest[at..].to_vec()).chain(lines).collect()
}

/// The command that a runner starts.
pub(super) struct StartedCommand<'a> {
    /// Words that may be the command's program or a line for a shell, and values that decide which code runs.
    pub candidates: Vec<&'a str>,
    /// The command; empty if only the runner can tell where it starts.
    pub words: &'a [String],
}

/// Finds the command that a runner starts outside of containers: it begins after the options and the runner's own
/// operands. Options that aren't listed are taken for flags.
pub(super) fn find_started<'a>(name: &str, arguments: &'a [String]) -> Option<StartedCommand<'a>> {
    let (runner, rest) = find_runner(name, arguments).filter(|_| !is_container(name))?;
    let (mut own, mut candidates) = (Vec::new(), Vec::new());
    let mut operands = runner.operands;
    let mut words = rest.iter().enumerate();
    while let Some((at, word)) = words.next() {
        let is_line = word.contains(char::is_whitespace);
        let may_be_own = match operands {
            Operands::Command { own: count } => own.len() < count,
            Operands::UntilDashes | Operands::UntilCommand => true,
            Operands::Commands => false,
        };
        if runner.operands.end_at(word) && may_be_own {
            operands = Operands::Command { own: 0 };
        } else if word.starts_with('-') && word.len() > 1 {
            let option = runner.value_of(word);
            let is_code = option.as_ref().is_some_and(|value| value.is_code);
            let next = || words.next().map(|(_, word)| word.as_str());
            let value = option.and_then(|value| value.joined.or_else(next)).unwrap_or_default();
            candidates.extend(Some(strip_pipe(value)).filter(|command| is_code || *command != value));
        } else if may_be_own {
            own.push(word.as_str());
            candidates.extend(Some(word.as_str()).filter(|_| operands == Operands::UntilCommand));
        } else if is_line || !is_assignment(word) {
            candidates.push(word);
            if operands != Operands::Commands && !is_line {
                return Some(StartedCommand { candidates, words: &rest[at..] });
            }
        }
    }
    // An own operand may become several words.
    let candidates = if candidates.is_empty() { own } else { candidates };
    Some(StartedCommand { candidates, words: &[] })
}

/// Returns the command in an option's value that names a pipe: `strace -o '|tee log'`.
fn strip_pipe(value: &str) -> &str {
    value.strip_prefix(['|', '!']).unwrap_or(value)
}

/// Returns the row of a program, and the arguments after the row's words.
fn find_runner<'a>(name: &str, arguments: &'a [String]) -> Option<(&'static Runner, &'a [String])> {
    RUNNERS.iter().find_map(|runner| {
        let mut words = runner.name.split(' ');
        let is_program = words.next() == Some(name);
        let rest = words.try_fold(arguments, |rest, word| {
            let at = rest.iter().position(|argument| argument == word)?;
            Some(&rest[at + 1..])
        });
        Some((runner, rest.filter(|_| is_program)?))
    })
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

    const UNKNOWN: &str = "runs a command that can't be determined: $X";

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
            "tmux new -c x -d \"$X\"",
            "tmux send-keys -t a \"$X\" Enter",
            "uv run --with x $X",
            "uv run -q --python 3.12 -- $X a",
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
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(UNKNOWN), "{line}");
        }
    }

    #[test]
    fn runner_of_unknown_code_or_line_asks() {
        for line in [
            "flock f -c 'A=1 $X'",
            "npx -c 'A=1 $X'",
            "script -qc 'A=1 $X' f",
            "nodemon --exec 'NODE_ENV=dev $X'",
            "hyperfine 'A=1 $X'",
            "tmux new -d 'A=1 $X'",
            "flock f -c\"$X\"",
            "flock f -c\"A=1 $X\"",
            "flock f -c'env $X'",
            "flock $X",
            "script -qc\"$X a\" f",
            "script -qc'env $X' f",
            "nodemon --exec=\"$X\"",
            "nodemon --exec \"$X\" x.js",
            "hyperfine --prepare=\"$X\" ls",
            "strace -o \"|$X\" ls",
            "strace -fo'!$X' ls",
            "mise exec -- flock f $X",
            "mise exec node@20 python@3.12 -- $X",
            "mise exec -c \"$X\"",
            "mise exec $X",
            "nix shell a b -c $X",
            "nix develop . a --command $X",
            "nix develop -c flock f $X",
            "nix shell $X -c ls",
            "nix develop --override-input nixpkgs $X -c make",
            "mise exec --command=\"$X\"",
            "bwrap --bind / / $X -- ls",
            "dotenv -c production -- $X",
            "hyperfine -s \"$X\" ls",
            "setarch -R $X a",
            "runcon -t x $X a",
            "ip netns e a $X",
            "gdb --ex=\"$X\" ./a",
            "npx --registry $X create-x",
            "uv run --python-platform linux $X",
            "dotenv -- flock f $X",
            "dotenv -e .env -- $X",
            "abduco -c name $X",
            "screen -S x -X stuff $X",
            "start-stop-daemon --start --exec $X",
            "ip netns exec a $X",
            "uv tool run $X",
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
            assert_eq!(risk_in_work(line).as_deref(), Some(UNKNOWN), "{line}");
        }
    }

    #[test]
    fn runner_of_unknown_value_or_input_asks() {
        for (line, word) in [
            ("uv run --with=$P --index-url=$U pytest", "$P"),
            ("uvx --with \"git+https://x/$Y\" ruff", "git+https://x/$Y"),
            ("X=$(cat y); flock f $X", "$X"),
            ("flock f ${X:-ls}", "${X:-ls}"),
            ("cat x | xargs flock f", "$(…)"),
            ("uvx black[jupyter]", "black[jupyter]"),
            ("watch '/bin/r?'", "/bin/r?"),
            ("flock f -c 'r? x'", "r?"),
            ("eval 'r?'", "r?"),
            ("X='r?'; flock f $X", "r?"),
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
            "uv run --no-progress pytest $X",
            "npx --ignore-scripts jest $X",
            "pdm run -v pytest $X",
            "strace --follow-forks ./x $Y",
            "strace --output=$X ls",
            "nodemon --inspect x.js $X",
            "nodemon --exec ts-node --watch 'src/**/*.ts' x.ts",
            "watchexec --watch src --filter '*.rs' cargo test",
            "apptainer exec --nv img.sif python x.py \"$X\"",
            "valgrind --tool=massif --massif-out-file=$O ./x",
            "uv run --cache-dir=$C pytest",
            "hyperfine 'x' --export-json \"$OUT\"",
            "ip netns add \"$NS\"",
            "ip netns exec $NS ping x",
            "uv tool install $X 'x[y]'",
            "flock $LOCK make",
            "mise exec node@20 -- pytest $X",
            "nix develop . -c make $X",
            "dotenv -- jest $X",
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
            "uvx 'black[jupyter]'; uv run --with='x[y]' pytest; pipx run 'black[d]'",
            "concurrently \"npm:lint\" \"npm:test:*\"",
            "bwrap --ro-bind / / --bind \"$PWD\" \"$PWD\" -- make",
            "tmux new -c \"$PWD\"; tmux new-session -d -c \"$DIR\" 'cargo test'",
            "uv run x.py < $X",
            "source venv/bin/activate",
            "[ -s \"$NVM_DIR/nvm.sh\" ] && . \"$NVM_DIR/nvm.sh\"",
            "source \"$VIRTUAL_ENV/bin/activate\"; source .venv*/bin/activate",
            "bash \"$DIR/x.sh\" $X; python3 -m pytest \"$X\"; python3 x.py \"$X\"",
            "curl -s file:///x; bash -s -- \"$X\"; sh -c 'ls' \"$X\"",
            "perl -ne '$x++; print' f; ruby -e 'puts $x' f; node -p '`${1}`'",
            "for f in tests/*.sh; do bash \"$f\"; done",
            ". \"$HOME/.cargo/env\"; source ~/.nvm/nvm.sh",
            "D=\"$HOME/.nvm\"; . \"$D/nvm.sh\"",
            "B=$HOME/.cargo/bin; $B/cargo test",
        ] {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }
}
