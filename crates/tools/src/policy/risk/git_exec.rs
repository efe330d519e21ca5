//! Recognizes commands that tell git the name of a program to run.

use super::writes::values;
use super::{HARMLESS_DEVICES, INTERPRETERS, SHELLS, targets};

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

/// Finds the setting by which a command tells git to run something, from now on or just this time.
pub(super) fn find_git_setting(arguments: &[String]) -> Option<String> {
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

/// Checks whether git runs something that wasn't there before if a key has a value. What is only called by its name is there already.
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

#[cfg(test)]
mod tests {
    use super::super::risk_in_work;

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
            assert_eq!(risk_in_work(line), Some(expected), "{line}");
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
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }
}
