//! The table of commands that are safe with any operands, and their harmless options.
//!
//! No row runs code given as an argument: not `python3 -c`, `sh -c`, `npx` or `xargs`. A row that runs a project's
//! script or target includes its name and covers no operands.
//!
//! A command belongs in the table if its operands are inputs to view, test or record: paths, revisions, filters,
//! numbers. It doesn't if an operand can be a subcommand, a script, a target, a remote, or a file to delete or
//! overwrite.
//!
//! An option belongs in the table if no value of it can name a program, a file to write, a configuration, a remote or
//! another directory, and if it neither deletes nor forces. Sources: the manual pages of git 2.47, cargo 1.90, ripgrep
//! 14, GNU and BSD tools, Go 1.24, pytest 8, gh 2, docker 28, kubectl 1.33.

use super::command_pattern::Options::{Any, Joined, Whole};
use super::command_pattern::{CommandPattern, Operands, Options, ScriptName};

/// Options that are harmless for every command in the table.
pub(super) const UNIVERSAL_OPTIONS: &str = "-- -q -v --quiet --verbose";

/// Harmless options between a program and its subcommand.
pub(super) const GLOBAL_OPTIONS: &[(&str, &str)] =
    &[("git", "--no-pager --no-optional-locks"), ("cargo", "-q -v --quiet --verbose --locked --offline")];

/// The options of `cargo build` that select parts of the project.
const CARGO: &str = "-p= -j= -F= -r --package= --jobs= --features= --all-features --no-default-features --release --workspace \
    --all --all-targets --lib --bin= --bins --test= --tests --example= --examples --bench= --benches --doc --locked --offline \
    --frozen --keep-going --no-fail-fast --no-run --message-format= --color= -- --nocapture --show-output --exact --ignored \
    --include-ignored --test-threads= --skip= --list";

/// The lints of rustc follow `--`.
const CLIPPY: &str = "-p= -j= --package= --jobs= --features= --all-features --no-default-features --release --workspace --all \
    --all-targets --lib --bin= --bins --test= --tests --examples --benches --locked --offline --keep-going \
    --message-format= --no-deps -D= -W= -A=";

/// Not listed: `--output`, `--ext-diff`, `--textconv`, `--show-signature` and `--no-index`.
const GIT_LOG: &str = "-# -n= -p -s -u -U= -w -b -z -S= -G= -L= -i -E -F --oneline --graph --all --branches --tags --remotes \
    --decorate --decorate= --no-decorate --stat --numstat --shortstat --summary --name-only --name-status --patch --no-patch \
    --raw --reverse --follow --merges --no-merges --first-parent --max-count= --skip= --since= --until= --after= --before= \
    --author= --committer= --grep= --format= --pretty= --date= --abbrev-commit --cached --staged --check --unified= \
    --word-diff --color= --color --no-color --diff-filter= --ignore-all-space --ignore-space-change --ignore-blank-lines \
    --minimal --patience --histogram --exit-code --no-ext-diff --no-textconv --find-renames --no-renames --merge-base \
    --left-right --cherry-pick";

const GO: &str =
    "-run= -count= -race -short -cover -timeout= -bench= -benchmem -failfast -json -tags= -parallel=";

/// Not listed: `-p`, `-c`, `--rootdir` and reports.
const PYTEST: Options = Joined(
    "-x -s -l -k= -m= --lf --ff --nf --tb= --maxfail= --collect-only --co --durations= --no-header --exitfirst",
);

/// `discover` and its directories are tests, and so are its operands.
const UNITTEST: Options = Whole("-b -c -k -s -p -t --failfast --buffer --catch --locals --durations=");

/// Not listed: plugins, programs, configurations and reports.
const MYPY: Options =
    Whole("--strict --ignore-missing-imports --show-error-codes --pretty --no-error-summary");

const JSON_TOOL: Options = Whole("--compact --indent= --sort-keys --no-ensure-ascii --json-lines --tab");

const fn pattern(command: &'static str, options: Options) -> CommandPattern {
    CommandPattern { command, options, operands: Operands::Names, name: ScriptName::None }
}

const fn without_operands(command: &'static str, options: Options) -> CommandPattern {
    CommandPattern { operands: Operands::None, ..pattern(command, options) }
}

/// A command that runs a named script or target of a project; the rule includes the name.
const fn with_script_name(command: &'static str, options: Options) -> CommandPattern {
    CommandPattern { name: ScriptName::Fixed, ..without_operands(command, options) }
}

/// A program that only prints, searches or records its operands.
const fn reader(command: &'static str, options: Options) -> CommandPattern {
    CommandPattern { operands: Operands::Text, ..pattern(command, options) }
}

/// No command is a prefix of another one.
pub(super) const TABLE: &[CommandPattern] = &[
    // These only print.
    reader("cat", Any),
    reader("cut", Any),
    reader("df", Any),
    reader("du", Any),
    reader("echo", Any),
    reader("grep", Any),
    reader("head", Any),
    reader("ls", Any),
    reader("pwd", Any),
    reader("stat", Any),
    reader("tail", Any),
    reader("wc", Any),
    reader("which", Any),
    // `-l` runs pr.
    reader("diff", Joined("-u -r -N -w -b -B -i -s -y -U= --unified --recursive --brief --color")),
    // `-C` writes.
    reader("file", Whole("-b -i -L --brief --mime --mime-type")),
    // Not listed: `-exec`, `-ok`, `-delete` and `-fprint`.
    reader(
        "find",
        Whole(
            "-name -iname -path -ipath -regex -iregex -type -maxdepth -mindepth -depth -size -mtime -mmin -newer -empty \
             -print -print0 -not -o -a -or -and -prune -H -L -P",
        ),
    ),
    // `--pre`, `--hostname-bin` and `-z` run programs.
    reader(
        "rg",
        Joined(
            "-n -i -l -w -F -c -s -S -x -o -U -H -I -N -P -a -L -g= -t= -T= -e= -A= -B= -C= -m= -j= --hidden --no-ignore \
             --files --files-with-matches --type= --glob= --iglob= --count --count-matches --line-number --no-line-number \
             --ignore-case --smart-case --fixed-strings --word-regexp --only-matching --multiline --max-count= --max-depth= \
             --context= --after-context= --before-context= --sort= --stats --json --no-heading --heading --color= --follow",
        ),
    ),
    // `-o` writes, even when joined to `-L`.
    reader("tree", Whole("-# -a -d -f -s -h -L -I -P --dirsfirst --noreport --gitignore")),
    pattern("cargo bench", Joined(CARGO)),
    pattern("cargo build", Joined(CARGO)),
    pattern("cargo check", Joined(CARGO)),
    pattern("cargo clippy", Joined(CLIPPY)),
    pattern(
        "cargo doc",
        Joined(
            "-p= -j= --package= --no-deps --all-features --workspace --lib --document-private-items --locked",
        ),
    ),
    pattern("cargo test", Joined(CARGO)),
    pattern(
        "cargo tree",
        Joined("-p= -i= -d -e= --package= --invert= --duplicates --edges= --depth= --workspace --locked"),
    ),
    pattern("docker compose logs", Whole("--tail= --since= --timestamps --no-color --no-log-prefix")),
    pattern("docker compose ps", Whole("-a --all --services")),
    pattern("docker images", Whole("-a --all --no-trunc")),
    pattern("docker logs", Whole("--tail= --since= --timestamps")),
    pattern("docker ps", Whole("-a --all --no-trunc --size --latest")),
    // `-R` and addresses name another repository.
    pattern("gh issue list", Whole("-L --limit= --state= --label= --author= --assignee= --json=")),
    pattern("gh issue view", Whole("--comments --json=")),
    pattern("gh pr checks", Whole("--json=")),
    pattern("gh pr diff", Whole("--name-only --patch --color=")),
    pattern("gh pr list", Whole("-L --limit= --state= --label= --author= --assignee= --json=")),
    pattern("gh pr status", Whole("--json=")),
    pattern("gh pr view", Whole("--comments --json=")),
    pattern("gh run list", Whole("-L --limit= --status= --json=")),
    pattern("gh run view", Whole("--log --log-failed --json=")),
    // Not listed: `-f`, `-e`, `-i` and `-p`.
    reader("git add", Joined("-A -u -n -N --all --update --dry-run --intent-to-add")),
    reader("git blame", Joined("-L= -w -M -C -s -e -l -t --porcelain --line-porcelain --date= --show-email")),
    reader("git cat-file", Whole("-p -t -s -e")),
    // Not listed: files with the message, `--amend` and `--no-verify`.
    reader("git commit", Joined("-a -m= -s --all --message= --signoff")),
    reader(
        "git describe",
        Whole("--tags --always --dirty --long --abbrev= --all --match= --exact-match --contains"),
    ),
    reader("git diff", Joined(GIT_LOG)),
    // `-O` runs a pager.
    reader(
        "git grep",
        Joined(
            "-n -i -l -L -w -c -E -F -G -P -h -H -o -a -I -W -p -e= -A= -B= -C= -m= --cached --untracked --line-number --count \
             --ignore-case --word-regexp --files-with-matches --name-only --heading --break --and --or --not --all-match \
             --max-depth=",
        ),
    ),
    reader("git log", Joined(GIT_LOG)),
    reader(
        "git ls-files",
        Joined("-c -d -m -o -s -u -z --cached --deleted --modified --others --stage --exclude-standard"),
    ),
    reader("git ls-tree", Joined("-r -t -d -l -z --name-only --long --full-tree --full-name --abbrev=")),
    reader("git merge-base", Whole("--is-ancestor --all --fork-point --octopus")),
    reader(
        "git rev-list",
        Joined(
            "-# -n= --count --all --max-count= --since= --until= --no-merges --merges --reverse --left-right",
        ),
    ),
    reader(
        "git rev-parse",
        Whole(
            "--short --short= --abbrev-ref --show-toplevel --show-prefix --git-dir --verify --symbolic-full-name --is-inside-work-tree",
        ),
    ),
    reader("git shortlog", Joined("-s -n -e --summary --numbered --email --since= --until= --no-merges")),
    reader("git show", Joined(GIT_LOG)),
    reader("git stash list", Joined(GIT_LOG)),
    reader("git stash show", Joined(GIT_LOG)),
    reader(
        "git status",
        Joined(
            "-s -b -u= -z --short --branch --porcelain --porcelain= --long --untracked-files= --ignored --show-stash",
        ),
    ),
    // Not listed: `-exec`, `-toolexec`, `-o`, `-c`, profiles, and `-C`.
    pattern("go build", Whole("-race -tags=")),
    pattern("go test", Whole(GO)),
    pattern("go vet", Whole("-json -tags=")),
    // Other resources may be secret.
    pattern("kubectl get pods", Whole("-A -n -o --all-namespaces --namespace= --show-labels")),
    pattern("kubectl logs", Whole("-n --namespace= --tail= --since= --previous --timestamps")),
    // Scripts and targets of projects. Not listed for `make`: variables, files and shells.
    without_operands("dotnet test", Whole("--no-build --no-restore")),
    without_operands("gradle test", Whole("--info --stacktrace --offline")),
    with_script_name("just", Whole("")),
    with_script_name("make", Whole("-# -j -k -s -n --keep-going --silent --dry-run")),
    without_operands("mvn test", Whole("-B -o --batch-mode --offline")),
    with_script_name("npm run", Whole("-s --silent")),
    with_script_name("pnpm run", Whole("-s --silent")),
    with_script_name("yarn run", Whole("-s --silent")),
    // The operands are filters for the project's own script.
    pattern("npm test", Whole("")),
    pattern("pnpm test", Whole("")),
    pattern("yarn test", Whole("")),
    pattern("pytest", PYTEST),
    // Python modules that test or check. Other modules, like `-c`, may run code from their arguments.
    pattern("mypy", MYPY),
    pattern("python -m mypy", MYPY),
    pattern("python -m pytest", PYTEST),
    pattern("python -m unittest", UNITTEST),
    pattern("python3 -m mypy", MYPY),
    pattern("python3 -m pytest", PYTEST),
    pattern("python3 -m unittest", UNITTEST),
    CommandPattern { operands: Operands::Single, ..reader("python -m json.tool", JSON_TOOL) },
    CommandPattern { operands: Operands::Single, ..reader("python3 -m json.tool", JSON_TOOL) },
    // Not listed: `--fix` and `--config`.
    pattern("ruff check", Whole("--no-fix --statistics --preview")),
];
