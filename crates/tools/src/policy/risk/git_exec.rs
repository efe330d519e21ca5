//! Recognizes commands that configure a program for git to run.

use super::arguments::{HARMLESS_DEVICES, INTERPRETERS, SHELLS, append_quoted, targets, values};
use super::git_data_loss::{self, split_command};
use super::git_options;

/// The keys of git's configuration whose values are run, by section and last part, in lower case:
/// `filter.lfs.clean` is `filter` and `clean`. `git help config` lists them.
const RUNNING_KEYS: &[(&str, &str)] = &[
    ("browser", "cmd"),
    ("browser", "path"),
    ("core", "alternaterefscommand"),
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
    ("difftool", "path"),
    ("filter", "clean"),
    ("filter", "process"),
    ("filter", "smudge"),
    ("gpg", "defaultkeycommand"),
    ("gpg", "program"),
    ("guitool", "cmd"),
    ("imap", "tunnel"),
    ("instaweb", "httpd"),
    ("interactive", "difffilter"),
    ("man", "cmd"),
    ("man", "path"),
    ("merge", "driver"),
    ("mergetool", "cmd"),
    ("mergetool", "path"),
    ("remote", "receivepack"),
    ("remote", "uploadpack"),
    ("sendemail", "cccmd"),
    ("sendemail", "headercmd"),
    ("sendemail", "sendmailcmd"),
    ("sendemail", "tocmd"),
    ("sequence", "editor"),
    ("tar", "command"),
    ("trailer", "cmd"),
    ("trailer", "command"),
    ("uploadpack", "packobjectshook"),
];

/// Keys that name a file or a directory with programs that git runs.
const LEADING_KEYS: &[(&str, &str)] =
    &[("core", "hookspath"), ("include", "path"), ("includeif", "path"), ("init", "templatedir")];

/// Finds the setting, or the directory, with which a command makes git run a program, once or permanently.
pub(super) fn find_git_setting(arguments: &[String]) -> Option<String> {
    let setting = list_settings(arguments).into_iter().find(|(key, value)| runs(key, value));
    let setting = setting.map(|(key, _)| key.to_owned());
    let name = setting.or_else(|| Some(format!("--{}", git_options::find_directory(arguments)?)))?;
    Some(format!("configures a program for git to run ({name})"))
}

/// Lists the commands that git runs with these arguments, and those of the aliases that they define. A single word is a
/// line for a shell.
pub(super) fn list_run_commands(arguments: &[String]) -> Vec<Vec<String>> {
    let in_options = git_options::list_commands(arguments).into_iter().map(str::to_owned);
    let lines = in_options.chain(list_alias_lines(arguments)).map(|line| vec![line]);
    git_data_loss::list_run_commands(arguments).into_iter().chain(lines).collect()
}

/// Lists the lines that the aliases run which a command defines, once or permanently. Only the line of a call
/// has the words after the alias.
fn list_alias_lines(arguments: &[String]) -> Vec<String> {
    let command = split_command(arguments);
    let aliases = list_settings(arguments).into_iter();
    let aliases = aliases.filter_map(|(key, value)| Some((split_key(key)?, value)));
    let aliases = aliases.filter(|((section, name), _)| *section == "alias" && !name.is_empty());
    let line = |((_, name), value): ((String, String), &str)| {
        let line = value.strip_prefix('!').map_or_else(|| format!("git {value}"), str::to_owned);
        let operands = command.filter(|(command, _)| command.eq_ignore_ascii_case(&name));
        let operands = operands.map(|(_, rest)| rest.iter().map(String::as_str)).into_iter().flatten();
        format!("{line}{}", append_quoted(operands))
    };
    aliases.map(line).collect()
}

/// Lists the settings that a command makes, once or permanently.
fn list_settings(arguments: &[String]) -> Vec<(&str, &str)> {
    // `clone` has a long name for `-c`.
    let inline = values(arguments, 'c', "config");
    // The value is in a variable, so it may be anything. This option can't be abbreviated, unlike `clone`'s
    // (git 2.47).
    let from_variable = arguments.iter().enumerate().filter_map(|(at, word)| {
        let rest = word.strip_prefix("--config-env")?;
        let value = if rest.is_empty() { arguments.get(at + 1)? } else { rest.strip_prefix('=')? };
        value.split_once('=')
    });
    let mut settings: Vec<(&str, &str)> =
        inline.map(|word| word.split_once('=').unwrap_or((word, ""))).collect();
    settings.extend(from_variable.map(|(key, _)| (key, "$")));
    let is_query = |word: &String| word.starts_with("--get") || word.starts_with("--unset");
    let is_get = arguments.windows(2).any(|pair| pair[0] == "config" && pair[1] == "get");
    if targets(arguments).any(|word| word == "config") && !is_get && !arguments.iter().any(is_query) {
        settings.extend(arguments.windows(2).map(|pair| (pair[0].as_str(), pair[1].as_str())));
    }
    settings
}

/// Returns the section and the last part of a key, in lower case.
fn split_key(key: &str) -> Option<(String, String)> {
    let key = key.to_ascii_lowercase();
    Some((key.split_once('.')?.0.to_owned(), key.rsplit_once('.')?.1.to_owned()))
}

/// Returns true if a key's value makes git run a new program. A bare name runs a program that is already
/// installed.
fn runs(key: &str, value: &str) -> bool {
    let Some((section, last)) = split_key(key) else { return false };
    let key = (section.as_str(), last.as_str());
    let is_name = !value.contains(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_')
        && !SHELLS.contains(&value)
        && !INTERPRETERS.contains(&value);
    if LEADING_KEYS.contains(&key) {
        return !value.is_empty() && !HARMLESS_DEVICES.contains(&value);
    }
    match key.0 {
        "alias" => value.starts_with(['!', '$']),
        "submodule" => key.1 == "update" && value.starts_with(['!', '$']),
        "pager" => !is_name,
        _ => RUNNING_KEYS.contains(&key) && !is_name,
    }
}

#[cfg(test)]
mod tests {
    use super::super::risk_in_work;

    #[test]
    fn git_setting_that_runs_program_asks() {
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
            ("git -c alias.x='!ls' x", "alias.x"),
            ("git config --add include.path ../x", "include.path"),
            ("git config init.templateDir ./t", "init.templateDir"),
            ("git config submodule.x.update '!./x'", "submodule.x.update"),
            ("git config remote.origin.uploadpack ./x", "remote.origin.uploadpack"),
            ("git -c tar.x.command=./x archive --format=x HEAD", "tar.x.command"),
            ("git -c interactive.diffFilter=./x add -p", "interactive.diffFilter"),
        ] {
            let expected = format!("configures a program for git to run ({key})");
            assert_eq!(risk_in_work(line), Some(expected), "{line}");
        }
    }

    #[test]
    fn git_alias_is_judged_as_the_line_that_it_runs() {
        for (line, expected) in [
            ("git -c alias.p='push --force' p", "overwrites pushed commits"),
            ("git -c alias.p=push p --force", "overwrites pushed commits"),
            ("git -c ALIAS.P=push p -f", "overwrites pushed commits"),
            ("git -c alias.x='!rm -rf ~' x", "deletes everything under ~"),
            ("git -c alias.x='!rm' x -rf ../y", "deletes everything under ../y"),
            ("git -c alias.a=b -c alias.b='reset --hard' a", "discards uncommitted changes"),
            ("git config alias.p 'push --force'", "overwrites pushed commits"),
            ("git config set --global alias.x '!sudo x'", "runs as another user (sudo)"),
            ("git -c alias.x=\"$X\" x", "runs a command that can't be determined: git $X"),
            ("git --config-env=alias.x=X x", "runs a command that can't be determined: git $"),
            ("git --config-env Alias.x=X x", "runs a command that can't be determined: git $"),
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn git_setting_that_runs_nothing_is_free() {
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
            "git config alias.co checkout",
            "git -c alias.l='log --oneline' l -5",
            "git config credential.helper store",
            "git config submodule.x.update rebase",
            "git config remote.origin.url https://x/y",
            "git switch -c core.x",
            "git commit -m 'git config core.hooksPath x'",
        ] {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }
}
