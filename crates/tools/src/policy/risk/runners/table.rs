//! Programs that run a command in their arguments, and those of their options that have a value (`--help` of each,
//! 2026). [`arguments`](super::super::arguments) has the wrappers, all of whose options are known.

/// A program that runs a command.
pub(super) struct Runner {
    /// The program, with the subcommand that runs a command.
    pub name: &'static str,
    pub operands: Operands,
    /// Options whose value is neither a command nor code, separated by blanks.
    pub values: &'static str,
    /// Options whose value is a command, or decides which code runs, separated by blanks.
    pub code: &'static str,
}

/// The operands of a runner.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operands {
    /// A number of its own operands, then the command.
    Command { own: usize },
    /// Any number of its own operands up to `--`, then the command.
    UntilDashes,
    /// Any number of its own operands, which decide which code runs, up to `--`, `-c` or `--command`, then the command.
    UntilCommand,
    /// Each of them may be a command.
    Commands,
}

impl Operands {
    /// Returns true for the word before the command.
    pub(super) fn end_at(self, word: &str) -> bool {
        match self {
            Self::UntilDashes => word == "--",
            Self::UntilCommand => ["--", "--command", "-c"].contains(&word),
            Self::Command { .. } | Self::Commands => false,
        }
    }
}

impl Runner {
    /// Returns a runner whose first operand is the command.
    const fn new(name: &'static str) -> Self {
        Self { name, operands: Operands::Command { own: 0 }, values: "", code: "" }
    }

    const fn own(self, own: usize) -> Self {
        Self { operands: Operands::Command { own }, ..self }
    }

    const fn until_command(self) -> Self {
        Self { operands: Operands::UntilCommand, ..self }
    }

    const fn until_dashes(self) -> Self {
        Self { operands: Operands::UntilDashes, ..self }
    }

    const fn commands(self) -> Self {
        Self { operands: Operands::Commands, ..self }
    }

    const fn values(self, values: &'static str) -> Self {
        Self { values, ..self }
    }

    const fn code(self, code: &'static str) -> Self {
        Self { code, ..self }
    }

    /// Returns the value of an option; `None` for an option without a value.
    pub(super) fn value_of<'a>(&self, option: &'a str) -> Option<OptionValue<'a>> {
        let is_code = |option: &str| self.code.split(' ').any(|known| known == option);
        let has_value = |option: &str| is_code(option) || self.values.split(' ').any(|known| known == option);
        if has_value(option) {
            return Some(OptionValue { is_code: is_code(option), joined: None });
        }
        if option.starts_with("--") {
            let (name, value) = option.split_once('=')?;
            return has_value(name).then(|| OptionValue { is_code: is_code(name), joined: Some(value) });
        }
        // `-fo FILE`, `-foFILE`
        option.char_indices().skip(1).find_map(|(at, letter)| {
            let short = format!("-{letter}");
            let joined = option[at + letter.len_utf8()..].trim_start_matches('=');
            let joined = Some(joined).filter(|value| !value.is_empty());
            has_value(&short).then(|| OptionValue { is_code: is_code(&short), joined })
        })
    }
}

/// The value of an option.
pub(super) struct OptionValue<'a> {
    /// True if it is a command, or decides which code runs.
    pub is_code: bool,
    /// The value in the same word; otherwise it is the next word.
    pub joined: Option<&'a str>,
}

const MISE_VALUES: &str = "-C -E -j --cd --env --jobs";
const NIX_CODE: &str = "-E -I -f --expr --file --include --inputs-from --override-input";
const NPM_VALUES: &str = "-w --cache --loglevel --prefix --workspace";
const NPM_CODE: &str =
    "-c -p --call --globalconfig --node-options --package --registry --script-shell --userconfig";
const SINGULARITY_VALUES: &str = "-B -H -S -W -o --app --bind --cwd --env --env-file --home --hostname \
    --mount --network --overlay --pwd --scratch --security --workdir";
const TMUX_VALUES: &str = "-F -c -e -l -n -p -s -t -x -y";
const UV_VALUES: &str = "-C -P -b -c -p --allow-insecure-host --build-constraints --cache-dir --constraints \
    --color --config-file --config-setting --directory --env-file --exclude-newer --extra --fork-strategy \
    --group --index-strategy --keyring-provider --link-mode --no-binary-package --no-build-package --no-extra \
    --no-group --only-group --overrides --package --prerelease --project --python --python-platform \
    --refresh-package --reinstall-package --resolution --torch-backend --upgrade-package";
const UV_CODE: &str = "-f -i -w --default-index --extra-index-url --find-links --from --index --index-url \
    --with --with-editable --with-requirements";

pub(super) const RUNNERS: &[Runner] = &[
    Runner::new("abduco").own(1).values("-e"),
    Runner::new("apptainer exec").own(1).values(SINGULARITY_VALUES),
    Runner::new("asdf exec"),
    Runner::new("aws-vault exec").own(1).values("-d -t --duration --mfa-token --region"),
    Runner::new("bun x").code("-p --package"),
    Runner::new("bundle exec").code("--gemfile"),
    Runner::new("bunx").code("-p --package"),
    Runner::new("busybox"),
    Runner::new("bwrap").commands(),
    Runner::new("cgexec").values("-g"),
    Runner::new("choom").values("-n -p --adjust --pid"),
    Runner::new("chpst").values("-/ -C -U -b -c -d -e -f -l -m -n -o -p -t -u"),
    Runner::new("chroot").own(1).values("--groups --userspec"),
    Runner::new("chrt").own(1).values("-D -P -T --sched-deadline --sched-period --sched-runtime"),
    Runner::new("composer exec").values("-d --working-dir"),
    Runner::new("concurrently").commands().code("--teardown").values(
        "-c -l -m -n -p -s -t --kill-signal --max-processes --names --prefix --prefix-colors \
            --restart-after --restart-tries --success --timestamp-format",
    ),
    Runner::new("conda run").values("-n -p --cwd --name --prefix"),
    Runner::new("cpulimit").values("-P -e -l -p --exe --limit --path --pid"),
    Runner::new("cross-env"),
    Runner::new("daemonize").values("-E -c -e -l -o -p -u"),
    Runner::new("dbus-run-session").values("--config-file").code("--dbus-daemon"),
    Runner::new("direnv exec").own(1),
    Runner::new("docker exec"),
    Runner::new("docker run"),
    Runner::new("doppler run").values("-c -p -t --config --project --token").code("--command"),
    Runner::new("dotenv").until_dashes().values("-c -e -f -v --file"),
    Runner::new("dtach").values("-A -N -c -e -n -r"),
    Runner::new("dumb-init").values("-r --rewrite"),
    Runner::new("eatmydata"),
    Runner::new("entr"),
    Runner::new("fakeroot").values("-b -i -s").code("-l --faked --lib"),
    Runner::new("faketime").own(1).values("-p --pid"),
    Runner::new("firejail"),
    Runner::new("flatpak-spawn"),
    Runner::new("flock").own(1).values("-E -w --conflict-exit-code --timeout --wait").code("-c --command"),
    Runner::new("fnm exec").values("--fnm-dir --log-level --node-dist-mirror --using"),
    Runner::new("gdb")
        .values("-p -tty --cd --core --pid")
        .code("-ex -iex -ix -x --command --eval-command --ex --iex --init-command --init-eval-command --ix"),
    Runner::new("gosu").own(1),
    Runner::new("hatch run").values("-e -p --cache-dir --config --data-dir --env --project"),
    Runner::new("heaptrack").values("-o -p --output --pid"),
    Runner::new("hyperfine")
        .commands()
        .values(
            "-M -m -n -r -u -w --command-name --export-asciidoc --export-csv --export-json \
            --export-markdown --export-orgmode --input --max-runs --min-runs --output --runs --sort --style \
            --time-unit --warmup",
        )
        .code("-C -S -c -p -s --cleanup --conclude --prepare --reference --setup --shell"),
    Runner::new("ip netns e").own(1),
    Runner::new("ip netns ex").own(1),
    Runner::new("ip netns exe").own(1),
    Runner::new("ip netns exec").own(1),
    Runner::new("kubectl exec"),
    Runner::new("lldb").values("-a -c -n -p --arch --attach-name --attach-pid --core").code(
        "-K -O -S -f -k -o -s --file --one-line --one-line-before-file --one-line-on-crash --source \
             --source-before-file --source-on-crash",
    ),
    Runner::new("ltrace").values("-A -D -F -a -e -l -n -o -p -s -u -w -x"),
    Runner::new("mise exec").until_command().values(MISE_VALUES).code("-c --command"),
    Runner::new("mise x").until_command().values(MISE_VALUES).code("-c --command"),
    Runner::new("nix develop").until_command().code(NIX_CODE),
    Runner::new("nix run").code(NIX_CODE),
    Runner::new("nix shell").until_command().code(NIX_CODE),
    Runner::new("nix-shell")
        .commands()
        .values("-A --attr")
        .code("-E -I -p --command --expr --packages --run"),
    Runner::new("nodemon")
        .values("-d -e -i -s -w --cwd --delay --ext --ignore --signal --watch")
        .code("-r -x --config --exec --require"),
    Runner::new("npm exec").values(NPM_VALUES).code(NPM_CODE),
    Runner::new("npm x").values(NPM_VALUES).code(NPM_CODE),
    Runner::new("npx").values(NPM_VALUES).code(NPM_CODE),
    Runner::new("nsenter").values("-G -S -t --setgid --setuid --target"),
    Runner::new("numactl")
        .values("-C -N -i -m -p --cpunodebind --interleave --membind --physcpubind --preferred"),
    Runner::new("op run").values("--account --env-file"),
    Runner::new("pdm run").values("-p --project"),
    Runner::new("perf record")
        .values("-C -D -F -c -e -m -o -p -t -u --call-graph --delay --event --freq --output --pid"),
    Runner::new("perf stat")
        .values("-C -D -G -I -e -o -p -r -t -x --delay --event --output --repeat")
        .code("--post --pre"),
    Runner::new("pipenv run"),
    Runner::new("pipx run").values("--python").code("-i --index-url --pip-args --spec --with"),
    Runner::new("pixi run").values("-e --environment --manifest-path"),
    Runner::new("pkexec").values("--user"),
    Runner::new("pnpm dlx").values("-C --dir --reporter").code("--package"),
    Runner::new("pnpm exec").values("-C -F --dir --filter --reporter --resume-from --workspace-concurrency"),
    Runner::new("pnpx").values("-C --dir --reporter").code("--package"),
    Runner::new("podman exec"),
    Runner::new("podman run"),
    Runner::new("poetry run").values("-C -P --directory --project"),
    Runner::new("prlimit").values("-o -p --output --pid"),
    Runner::new("proot").values("-R -S -b -i -k -m -r -w --bind --cwd --rootfs").code("-q --qemu"),
    Runner::new("proxychains").values("-f"),
    Runner::new("proxychains4").values("-f"),
    Runner::new("pyenv exec"),
    Runner::new("rbenv exec"),
    Runner::new("rlwrap").values("-C -D -H -S -b -f -g -l -q -s -t -w").code("-z --filter"),
    Runner::new("rr record").values("-o --env --output-trace-dir"),
    Runner::new("runcon").commands().values("-l -r -t -u --range --role --type --user"),
    Runner::new("rye run"),
    Runner::new("screen").values("-S -T -e -h -p -r -t -x").code("-X -c -s"),
    Runner::new("script")
        .commands()
        .values("-B -E -I -O -T -o --echo --log-in --log-io --log-out")
        .code("-c --command"),
    Runner::new("sem").values("-j --id --jobs --semaphore-name --timeout"),
    Runner::new("setarch").commands(),
    Runner::new("setpriv")
        .values("--ambient-caps --bounding-set --groups --inh-caps --pdeathsig --regid --reuid --securebits"),
    Runner::new("sg").own(1).code("-c"),
    Runner::new("singularity exec").own(1).values(SINGULARITY_VALUES),
    Runner::new("ssh-agent").values("-E -O -P -a -t"),
    Runner::new("start-stop-daemon")
        .values(
            "-I -N -P -R -c -d -g -k -n -p -r -s -u --chdir --chuid --group --name --pidfile --retry \
            --signal --user",
        )
        .code("-a -x --exec --startas"),
    Runner::new("strace")
        .values("-E -I -O -P -S -U -X -a -b -e -o -p -s -u --attach --env --output --string-limit --trace"),
    Runner::new("su-exec").own(1),
    Runner::new("systemd-inhibit").values("--mode --what --who --why"),
    Runner::new("systemd-nspawn").values("-D -M -i -u --bind --bind-ro --directory --image --machine --user"),
    Runner::new("systemd-run")
        .values(
            "-E -H -M -u --description --gid --host --machine --nice --on-active --on-boot \
             --on-calendar --on-startup --on-unit-active --on-unit-inactive --service-type --setenv --slice \
            --uid --unit --working-directory",
        )
        .code("-p --property"),
    Runner::new("taskset").own(1),
    Runner::new("tini").values("-e -p"),
    Runner::new("tmux new").commands().values(TMUX_VALUES),
    Runner::new("tmux new-session").commands().values(TMUX_VALUES),
    Runner::new("tmux new-window").commands().values(TMUX_VALUES),
    Runner::new("tmux neww").commands().values(TMUX_VALUES),
    Runner::new("tmux split-window").commands().values(TMUX_VALUES),
    Runner::new("tmux splitw").commands().values(TMUX_VALUES),
    Runner::new("tmux").commands().values("-F -L -n -s -S -t -x -y").code("-c -f"),
    Runner::new("torsocks").values("-P -a -p -u"),
    Runner::new("toybox"),
    Runner::new("trickle").values("-N -P -d -l -n -t -u -w"),
    Runner::new("unshare").values(
        "-G -R -S -w --map-group --map-groups --map-user --map-users --propagation --root --setgid \
             --setuid --wd",
    ),
    Runner::new("uv run").values(UV_VALUES).code(UV_CODE),
    Runner::new("uv tool run").values(UV_VALUES).code(UV_CODE),
    Runner::new("uvx").values(UV_VALUES).code(UV_CODE),
    Runner::new("valgrind"),
    Runner::new("volta run").values("--node --npm --pnpm --yarn"),
    Runner::new("watchexec")
        .values(
            "-E -W -d -e -f -i -o -s -w --debounce --env --exts --filter --filter-file --fs-events --ignore \
            --map-signal --on-busy-update --project-origin --signal --stop-signal --watch --workdir",
        )
        .code("-j --filter-prog --shell"),
    Runner::new("xvfb-run")
        .values("-e -f -n -p -s -w --auth-file --error-file --server-args --server-num --wait"),
    Runner::new("yarn dlx").code("-p --package"),
    Runner::new("yarn exec").values("--cwd"),
    Runner::new("zellij run").values("-d -n -x -y --cwd --direction --height --name --width"),
];
