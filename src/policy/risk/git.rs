//! Which commands make git run something: those that write in a `.git`, and those that tell git the name of a program.

use std::path::Path;

use super::{HARMLESS_DEVICES, INTERPRETERS, SHELLS, has_flag, targets};

/// Why writing in `.git` is dangerous: its hooks and the programs that its configuration names run with the next command of git.
pub(in crate::policy) const IN_GIT: &str = "writes in .git, and git runs what is there";

/// The keys of git's configuration whose values it runs, by section and last part, in small letters: `filter.lfs.clean` is `filter` and
/// `clean`. `git help config` lists them.
const RUNNING_KEYS: &[(&str, &str)] = &[
    ("core", "askpass"),
    ("core", "editor"),
    ("core", "fsmonitor"),
    ("core", "gitproxy"),
    ("core", "pager"),
    ("core", "sshcommand"),
    ("credential", "helper"),
    ("diff", "command"),
    ("diff", "external"),
    ("diff", "textconv"),
    ("difftool", "cmd"),
    ("filter", "clean"),
    ("filter", "process"),
    ("filter", "smudge"),
    ("gpg", "program"),
    ("merge", "driver"),
    ("mergetool", "cmd"),
    ("sequence", "editor"),
];

/// Keys that name a file or a folder with what git runs.
const LEADING_KEYS: &[(&str, &str)] = &[("core", "hookspath"), ("include", "path"), ("includeif", "path")];

/// Whether a program changes something in a `.git` beside git itself, as far as its arguments tell.
pub(super) fn writes_in(name: &str, arguments: &[String], here: &Path) -> bool {
    let is_there = |path: &str| path != "-" && is_within(path, here);
    let is_target = || targets(arguments).any(|path| is_there(path));
    let names = |short, long| values(arguments, short, long).any(is_there);
    match name {
        // The first is what is read; a value of a flag may stand behind the last.
        "rsync" | "scp" => targets(arguments).skip(1).any(|path| is_there(path)),
        "cp" | "install" | "ln" => {
            targets(arguments).skip(1).any(|path| is_there(path)) || names('t', "target-directory")
        }
        "chmod" | "mkdir" | "mv" | "patch" | "rm" | "tee" | "touch" | "truncate" => is_target(),
        "perl" | "sed" => {
            let in_place = |word: &String| word.starts_with("--in-place") || word.starts_with("-i");
            (arguments.iter().any(in_place) || has_flag(arguments, 'i', "in-place")) && is_target()
        }
        "dd" => arguments.iter().any(|word| word.strip_prefix("of=").is_some_and(is_there)),
        "sort" => names('o', "output"),
        // It writes where it stands, and so do the members that are named.
        "tar" | "bsdtar" if extracts(arguments) => is_there("") || is_target() || names('C', "directory"),
        "unzip" if !arguments.iter().any(|word| ["-l", "-p", "-t", "-v", "-Z"].contains(&word.as_str())) => {
            is_there("") || is_target() || names('d', "")
        }
        "curl" => {
            let keeps_its_name =
                has_flag(arguments, 'O', "remote-name") || has_flag(arguments, 'O', "remote-name-all");
            names('o', "output") || names('o', "output-dir") || (keeps_its_name && is_there(""))
        }
        "wget" => {
            let is_led = values(arguments, 'O', "output-document").next().is_some();
            names('O', "output-document") || names('P', "directory-prefix") || (!is_led && is_there(""))
        }
        _ => false,
    }
}

/// Whether tar takes files out of an archive; its first word may be flags without a dash.
fn extracts(arguments: &[String]) -> bool {
    let is_bundled = arguments.first().is_some_and(|word| !word.starts_with('-') && word.contains('x'));
    is_bundled || ["extract", "get"].iter().any(|long| has_flag(arguments, 'x', long))
}

/// The values of a flag, in any of the ways to write it; its long name may be cut.
pub(super) fn values<'a>(
    arguments: &'a [String],
    short: char,
    long: &'a str,
) -> impl Iterator<Item = &'a str> {
    arguments.iter().enumerate().filter_map(move |(at, word)| {
        let behind = match word.strip_prefix("--") {
            Some(word) => {
                let (name, value) = word.split_once('=').unwrap_or((word, ""));
                (long.starts_with(name) && !name.is_empty()).then_some(value)?
            }
            None => word.strip_prefix('-')?.split_once(short)?.1,
        };
        if behind.is_empty() { arguments.get(at + 1).map(String::as_str) } else { Some(behind) }
    })
}

/// What a command of git tells git to run, from now on or just this time.
pub(super) fn told_to_run(arguments: &[String]) -> Option<String> {
    // `clone` has a long name for it.
    let once = values(arguments, 'c', "config");
    // The value is in a variable, so anything. This name can't be cut, unlike that of `clone` (git 2.47).
    let hidden = arguments.iter().enumerate().filter_map(|(at, word)| {
        let behind = word.strip_prefix("--config-env")?;
        let value = if behind.is_empty() { arguments.get(at + 1)? } else { behind.strip_prefix('=')? };
        value.split_once('=')
    });
    let mut settings: Vec<(&str, &str)> =
        once.map(|word| word.split_once('=').unwrap_or((word, ""))).collect();
    settings.extend(hidden.map(|(key, _)| (key, "$")));
    let asks = |word: &String| word.starts_with("--get") || word.starts_with("--unset");
    let is_get = arguments.windows(2).any(|pair| pair[0] == "config" && pair[1] == "get");
    if targets(arguments).any(|word| word == "config") && !is_get && !arguments.iter().any(asks) {
        settings.extend(arguments.windows(2).map(|pair| (pair[0].as_str(), pair[1].as_str())));
    }
    let (key, _) = settings.into_iter().find(|(key, value)| runs(key, value))?;
    Some(format!("tells git what to run ({key})"))
}

/// Whether git runs something that wasn't there before if a key has a value. What is only called by its name is there already.
fn runs(key: &str, value: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let (Some((section, _)), Some((_, last))) = (key.split_once('.'), key.rsplit_once('.')) else {
        return false;
    };
    let is_name = !value.contains(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
        && !SHELLS.contains(&value)
        && !INTERPRETERS.contains(&value);
    if LEADING_KEYS.contains(&(section, last)) {
        return !value.is_empty() && !HARMLESS_DEVICES.contains(&value);
    }
    match section {
        "alias" => value.starts_with('!'),
        "pager" => !is_name,
        _ => RUNNING_KEYS.contains(&(section, last)) && !is_name,
    }
}

/// Whether a path is a `.git`, or leads through one. There are file systems for which `.GIT` is the same.
pub(in crate::policy) fn is_within(path: &str, root: &Path) -> bool {
    root.join(path).components().any(|component| component.as_os_str().eq_ignore_ascii_case(".git"))
}

#[cfg(test)]
mod tests {
    use super::super::of;
    use super::*;

    #[test]
    fn what_writes_in_git_is_seen() {
        for line in [
            "echo make > .git/hooks/pre-commit",
            "cp hook .git/hooks/pre-commit",
            "cp -t .git/hooks hook",
            "cp --target-directory=.git/hooks hook",
            "cp --target-directory .git/hooks hook",
            "cp -at .git/hooks hook",
            "cp -t.git/hooks hook",
            "install hook .git/hooks/pre-commit -m 755",
            "cd .git/hooks && cp x y",
            "cd .git; sh -c 'cd hooks && make > pre-commit'",
            "echo x | tee -a .git/config",
            "cd sub && mv hook ../.git/hooks/",
            "sed -i s/a/b/ .git/config",
            "chmod +x .git/hooks/pre-commit",
            "rm -rf .git",
            "ln -s ../x .git/hooks/x",
            "dd if=x of=.git/config",
            "sh -c 'touch .git/hooks/x'",
            "x 2>> .git/config",
            "x > .git$(y)/config",
            "cp x $(y) .git/hooks",
            "cd .git; touch hooks/x $(cd ..; ls)",
            "touch {.git/hooks/x,y}",
            "scp host:hook .git/hooks/pre-commit",
            "sort x -o .git/config",
            "tar -xzf hooks.tgz -C .git",
            "tar xf hooks.tar -C.git",
            "tar xzC .git -f hooks.tgz",
            "cat hooks.tar | tar --extract --directory=.git/hooks",
            "tar --get --directory .git/hooks -f hooks.tar",
            "tar xf hooks.tar .git/hooks/pre-commit",
            "cd .git && tar xf /tmp/hooks.tar",
            "unzip -o hooks.zip -d .git/hooks",
            "unzip hooks.zip -d.git/hooks",
            "cd .git/hooks && unzip /tmp/hooks.zip",
            "curl -fsSLo .git/hooks/pre-commit https://x",
            "curl https://x --output .git/config",
            "curl --output-dir .git/hooks -O https://x/pre-commit",
            "cd .git/hooks && curl -sO https://x/pre-commit",
            "wget -qO .git/hooks/pre-commit https://x",
            "wget --output-document=.git/config https://x",
            "wget -P .git/hooks https://x/pre-commit",
            "cd .git/hooks && wget https://x/pre-commit",
        ] {
            assert_eq!(of(line, Path::new("/work")).as_deref(), Some(IN_GIT), "{line}");
        }
    }

    #[test]
    fn what_reads_there_or_writes_elsewhere_is_not() {
        for line in [
            "git status > .gitignore",
            "cp .git/config /tmp/config",
            "cp -t /tmp config",
            "rsync -rt .git/ /tmp/copy",
            "cd .git && cat HEAD > /tmp/head",
            "cd .git/hooks && ls && cd ../.. && touch x",
            "cd .git && ls; cd - && touch x",
            "sed -n 1p .git/config",
            "cp x .github/workflows/ci.yml",
            "cat .git/HEAD | tee head.txt",
            "tar czf /tmp/git.tgz -C .git .",
            "tar xf hooks.tar -C /tmp",
            "unzip -l .git/x.zip",
            "unzip x.zip -d build",
            "cd .git && curl -s https://x",
            "cd .git && wget -qO- https://x",
            "curl -o .github/x https://x",
            "wget -P /tmp https://x",
        ] {
            assert_eq!(of(line, Path::new("/work")), None, "{line}");
        }
    }

    #[test]
    fn git_is_told_what_to_run() {
        for (line, key) in [
            ("git config core.hooksPath hooks", "core.hooksPath"),
            ("git config --global core.hooksPath /tmp/x", "core.hooksPath"),
            ("git config set --local CORE.HOOKSPATH x", "CORE.HOOKSPATH"),
            ("git -c core.hooksPath=./x commit -m y", "core.hooksPath"),
            ("git --config-env=core.hooksPath=X commit", "core.hooksPath"),
            ("git --config-env core.pager=X log", "core.pager"),
            ("git -C sub config core.fsmonitor ./x.sh", "core.fsmonitor"),
            ("git config core.sshCommand 'sh -c x'", "core.sshCommand"),
            ("git -c core.pager=sh log", "core.pager"),
            ("git config alias.st '!x'", "alias.st"),
            ("git config core.hooksPath get", "core.hooksPath"),
            ("git clone --config core.fsmonitor=./x y", "core.fsmonitor"),
            ("git clone --config=core.fsmonitor=./x y", "core.fsmonitor"),
            ("git config filter.x.clean ./x", "filter.x.clean"),
            ("git config --add include.path ../x", "include.path"),
        ] {
            let expected = format!("tells git what to run ({key})");
            assert_eq!(of(line, Path::new("/work")), Some(expected), "{line}");
        }
    }

    #[test]
    fn git_may_be_told_other_things() {
        for line in [
            "git config user.name x",
            "git config --get core.hooksPath",
            "git config core.hooksPath",
            "git config --unset core.hooksPath x",
            "git config get core.hooksPath",
            "git -c core.hooksPath=/dev/null commit -m x",
            "git -c core.hooksPath= commit",
            "git -c core.pager=cat log",
            "git clone --config core.pager=cat u",
            "git clone --config=core.pager=cat u",
            "git clone --config core.hooksPath=/dev/null u",
            "git --config-env user.name=X commit",
            "git -c core.editor=true rebase --continue",
            "git config alias.st status",
            "git config credential.helper store",
            "git switch -c core.x",
            "git commit -m 'git config core.hooksPath x'",
        ] {
            assert_eq!(of(line, Path::new("/work")), None, "{line}");
        }
    }
}
