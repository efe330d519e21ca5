//! The options with which git runs a program.

use super::arguments::HARMLESS_DEVICES;
use super::git_data_loss::split_command;

/// The use of an option's value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Meaning {
    /// A line that a shell runs.
    Line,
    /// The program that git runs in place of its own, or a line for it.
    Program,
    /// The directory of programs or hooks that git runs.
    Directory,
}

/// An option with a value.
struct GitOption {
    /// The subcommands that have it, separated by blanks; empty for git itself.
    commands: &'static str,
    /// The long name, which may be abbreviated.
    long: &'static str,
    meaning: Meaning,
    short: Option<char>,
    /// Letters of the subcommand's other options with a value: after one of them, a word has no more letters.
    other_values: &'static str,
    /// True if the value can't be the next word.
    is_joined: bool,
}

impl GitOption {
    const fn new(commands: &'static str, long: &'static str, meaning: Meaning) -> Self {
        Self { commands, long, meaning, short: None, other_values: "", is_joined: false }
    }

    const fn short(self, letter: char, other_values: &'static str) -> Self {
        Self { short: Some(letter), other_values, ..self }
    }

    const fn joined(self) -> Self {
        Self { is_joined: true, ..self }
    }

    /// Lists the values of the option.
    fn list_values<'a>(&self, words: &'a [String]) -> impl Iterator<Item = &'a str> {
        words.iter().enumerate().filter_map(|(at, word)| match self.match_word(word)? {
            Some(value) => Some(value),
            None if self.is_joined => None,
            None => words.get(at + 1).map(String::as_str),
        })
    }

    /// Returns the value joined with the option, or `Some(None)` for the option alone.
    fn match_word<'a>(&self, word: &'a str) -> Option<Option<&'a str>> {
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) =
                long.split_once('=').map_or((long, None), |(name, value)| (name, Some(value)));
            let is_meant = self.long.starts_with(name) && !name.is_empty() && !EXACT.contains(&name);
            return is_meant.then_some(value);
        }
        let (flags, value) = word.strip_prefix('-')?.split_once(self.short?)?;
        let is_own = !flags.contains(|letter| self.other_values.contains(letter));
        is_own.then(|| Some(value).filter(|value| !value.is_empty()))
    }
}

/// Options of `send-email` that aren't abbreviations of others.
const EXACT: &[&str] = &["cc", "to"];

/// The options (git 2.51), except those of commands that only run the user's configured programs.
const OPTIONS: &[GitOption] = &[
    GitOption::new("", "exec-path", Meaning::Directory).joined(),
    GitOption::new("archive fetch-pack ls-remote push send-pack", "exec", Meaning::Program),
    GitOption::new("clone", "upload-pack", Meaning::Program).short('u', "bcjo"),
    GitOption::new("clone init", "template", Meaning::Directory),
    GitOption::new("daemon", "access-hook", Meaning::Program),
    GitOption::new("difftool", "extcmd", Meaning::Program).short('x', "t"),
    GitOption::new("fetch fetch-pack ls-remote pull", "upload-pack", Meaning::Program),
    GitOption::new("grep", "open-files-in-pager", Meaning::Program).short('O', "ABCefm").joined(),
    GitOption::new("push send-pack", "receive-pack", Meaning::Program),
    GitOption::new("rebase", "exec", Meaning::Line).short('x', "CSXs"),
    GitOption::new("send-email", "cc-cmd", Meaning::Program),
    GitOption::new("send-email", "header-cmd", Meaning::Program),
    GitOption::new("send-email", "sendmail-cmd", Meaning::Program),
    GitOption::new("send-email", "to-cmd", Meaning::Program),
];

/// Lists the commands in the options of git and its subcommand.
pub(super) fn list_commands(arguments: &[String]) -> Vec<&str> {
    let lines = list_values(arguments, Meaning::Line).into_iter();
    let commands = lines.map(|(_, line)| line).chain(list_programs(arguments));
    commands.filter(|command| !command.is_empty()).collect()
}

/// Lists the commands that git runs in place of its own programs.
pub(super) fn list_programs(arguments: &[String]) -> Vec<&str> {
    list_values(arguments, Meaning::Program).into_iter().map(|(_, program)| program).collect()
}

/// Finds an option that names a directory with programs or hooks for git.
pub(super) fn find_directory(arguments: &[String]) -> Option<&'static str> {
    let is_used = |value: &str| !value.is_empty() && !HARMLESS_DEVICES.contains(&value);
    let mut dirs = list_values(arguments, Meaning::Directory).into_iter();
    dirs.find(|(_, dir)| is_used(dir)).map(|(option, _)| option)
}

/// Returns true for the address of a remote that contains a command, also in an option or a setting: `ext::…`,
/// `--remote=ext::…`, `-c url.ext::….insteadOf=…`.
pub(super) fn has_remote_command(word: &str) -> bool {
    word.split(['=', '.']).any(|part| part.starts_with("ext::"))
}

/// Lists the options of git and its subcommand with this meaning, each with its value.
fn list_values(arguments: &[String], meaning: Meaning) -> Vec<(&'static str, &str)> {
    let Some((command, rest)) = split_command(arguments) else { return Vec::new() };
    let own = &arguments[..arguments.len() - rest.len() - 1];
    let words = |option: &GitOption| match option.commands {
        "" => own,
        commands if commands.split(' ').any(|known| known == command) => rest,
        _ => &[],
    };
    let options = OPTIONS.iter().filter(|option| option.meaning == meaning);
    let values =
        options.flat_map(|option| option.list_values(words(option)).map(|value| (option.long, value)));
    values.collect()
}

#[cfg(test)]
mod tests {
    use super::super::risk_in_work;

    #[test]
    fn git_option_that_names_program_asks() {
        for line in [
            "git clone -u 'sh -c id' . x",
            "git clone -qu./x . x",
            "git clone --upload-pack=./x . y",
            "git clone --up ./x . y",
            "git fetch --upload-pack ./x origin",
            "git -C sub fetch --upl=./x origin",
            "git pull --upload-pack='sh -c id'",
            "git ls-remote --exec=./x .",
            "git archive --exec=./x --remote=. HEAD",
            "git archive --remote='ext::sh -c id' HEAD",
            "git archive --remote 'ext::sh -c id' HEAD",
            "git fetch 'ext::sh -c id'",
            "git remote add x 'ext::sh -c id'",
            "git remote set-url x 'ext::sh -c id'",
            "git config remote.x.url 'ext::sh -c id'",
            "git -c remote.x.url='ext::sh -c id' fetch x",
            "git -c url.'ext::sh -c id'.insteadOf=https://x fetch https://x",
            "git grep -nO./x foo",
            "git grep --open=./x foo",
            "git difftool -yx './x' HEAD",
            "git send-email --to-cmd=./x 0001.patch",
        ] {
            let expected = "runs a command in its arguments (git)";
            assert_eq!(risk_in_work(line).as_deref(), Some(expected), "{line}");
        }
        for (line, option) in [
            ("git --exec-path=./x log", "exec-path"),
            ("git clone --template=./t . x", "template"),
            ("git clone --template ./t . x", "template"),
            ("git init --templ=./t", "template"),
        ] {
            let expected = format!("configures a program for git to run (--{option})");
            assert_eq!(risk_in_work(line), Some(expected), "{line}");
        }
    }

    #[test]
    fn git_option_with_command_is_judged() {
        for (line, expected) in [
            ("git rebase -ix 'sudo x' main", "runs as another user (sudo)"),
            ("git clone -u 'rm -rf ~' . x", "deletes everything under ~"),
            ("git push --receive-pack='sudo x' origin", "runs as another user (sudo)"),
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn git_option_that_names_no_program_is_free() {
        for line in [
            "git --exec-path",
            "git clone --template= https://x y",
            "git clone --no-tags -b fix-u -bfix-u https://x y",
            "git init --template=",
            "git commit --template=./t; git commit -t ./t",
            "git fetch -u origin main:main; git fetch --update-head-ok",
            "git difftool -txxdiff HEAD",
            "git grep -O less foo; git grep -O foo; git grep -eFOO",
            "git rebase -Xours main; git rebase -x 'cargo test' main",
            "git archive -o x.tar HEAD",
            "git remote add x https://ext.example/y",
        ] {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }
}
