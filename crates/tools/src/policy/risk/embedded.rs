//! Recognizes commands that other programs run because they are in an option, a script in the program's own
//! language, or a variable: `tar --to-command`, `awk 'BEGIN { system("…") }'`, `GIT_EDITOR=…`.

use super::super::shell::SUBSTITUTION;
use super::arguments::{
    INTERPRETERS, SHELLS, base_name, has_flag, is_assignment, is_command_flag, program, values,
};
use super::git_options;

const AWKS: &[&str] = &["awk", "gawk", "mawk", "nawk", "original-awk"];

/// Returns true for awk under any of its names.
pub(super) fn is_awk(name: &str) -> bool {
    AWKS.contains(&name)
}

pub(super) const EDITORS: &[&str] = &["ex", "gvim", "nvim", "rvim", "vi", "view", "vim", "vimdiff"];

const NETCATS: &[&str] = &["nc", "nc.openbsd", "nc.traditional", "ncat", "netcat"];

/// Types of socat's addresses that run a command (socat 1.8).
const SOCAT_COMMANDS: &[&str] = &["exec:", "shell:", "system:"];

/// Parts of an editor's command that run another program or code.
const RUNNING_EDITOR_COMMANDS: &[&str] = &[
    "!",
    "execute(",
    "job_start",
    "jobstart",
    "lua",
    "mzscheme",
    "perl",
    "py ",
    "py3",
    "python",
    "pyx",
    "ruby",
    "source",
    "system",
    "term ",
    "terminal",
];

/// Functions of Emacs Lisp that run programs.
const RUNNING_LISP: &[&str] = &["call-process", "make-process", "shell-command", "start-process"];

/// Long options whose value is a command, by program.
const COMMAND_OPTIONS: &[(&str, &str)] = &[
    ("make", "eval"),
    ("rsync", "rsync-path"),
    ("sort", "compress-program"),
    ("split", "filter"),
    ("tar", "info-script"),
    ("tar", "new-volume-script"),
    ("tar", "rmt-command"),
    ("tar", "rsh-command"),
    ("tar", "to-command"),
    ("zip", "unzip-command"),
];

/// Short options whose value is a command, by program.
const SHORT_COMMAND_OPTIONS: &[(&str, char)] = &[("scp", 'S'), ("sftp", 'S'), ("tar", 'F')];

/// The beginnings of commands that run a line for a shell, or code, by the program that gets them as an argument.
const RUNNING_COMMANDS: &[(&str, &[&str])] = &[
    ("gdb", &["!", "make ", "pipe ", "python ", "shell ", "source "]),
    ("lldb", &["command script ", "platform shell ", "script ", "shell "]),
    ("sqlite3", &[".load", ".shell", ".system"]),
];

/// Clients of databases with a command for the shell, which may follow other commands.
const ESCAPING_CLIENTS: &[&str] = &["mariadb", "mysql", "psql"];

/// Programs that are common as the value of an option or a variable, with any options of their own.
const USUAL: &[&str] = &[
    ":", "bat", "bzip2", "cat", "delta", "gzip", "lbzip2", "less", "lz4", "lzip", "lzma", "lzop", "more",
    "pbzip2", "pigz", "ssh", "true", "xz", "zstd", "zstdmt",
];

/// Options of ssh that name a command.
const SSH_COMMANDS: &[&str] = &["knownhostscommand", "localcommand", "proxycommand"];

/// Variables whose value other programs run as a command.
const COMMAND_VARIABLES: &[&str] = &[
    "EDITOR",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "MANPAGER",
    "PAGER",
    "RSYNC_RSH",
    "SSH_ASKPASS",
    "VISUAL",
];

/// Variables that name code or a configuration for other programs.
const CODE_VARIABLES: &[&str] = &[
    "BASH_ENV",
    "DYLD_INSERT_LIBRARIES",
    "GIT_CONFIG",
    "GIT_CONFIG_COUNT",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_PARAMETERS",
    "GIT_CONFIG_SYSTEM",
    "GIT_EXEC_PATH",
    "GIT_TEMPLATE_DIR",
    "LD_AUDIT",
    "LD_PRELOAD",
    "LESSCLOSE",
    "LESSOPEN",
    "PROMPT_COMMAND",
];

/// Variables in whose value a shell runs substitutions: the file that an interactive one reads first, and prompts.
const EXPANDED_VARIABLES: &[&str] = &["ENV", "PS0", "PS1", "PS2", "PS4"];

/// Commands that set variables.
pub(super) const SETTERS: &[&str] = &["declare", "export", "local", "readonly", "typeset"];

/// Finds a command in the arguments of a program that runs it.
pub(super) fn find_command(name: &str, arguments: &[String]) -> Option<String> {
    let runs = match name {
        _ if AWKS.contains(&name) => arguments.iter().any(|word| runs_in_awk(word)),
        "sed" | "gsed" => read_sed_arguments(arguments).scripts.into_iter().any(runs_in_sed),
        "man" => values(arguments, 'P', "pager").any(|command| !is_usual(command)),
        "tar" | "gtar" | "bsdtar" => runs_in_tar(arguments),
        "rsync" => values(arguments, 'e', "rsh").any(|command| !is_usual(command)),
        "scp" | "sftp" | "ssh" => arguments.iter().any(|word| names_ssh_command(word)),
        "emacs" => has_any(arguments, RUNNING_LISP),
        "git" => {
            arguments.iter().any(|word| git_options::has_remote_command(word))
                || git_options::list_programs(arguments).into_iter().any(|command| !is_usual(command))
        }
        // A shell runs the value for each line of its input.
        "mapfile" | "readarray" => values(arguments, 'C', "").next().is_some(),
        "socat" => arguments.iter().any(|word| contains_any(&word.to_ascii_lowercase(), SOCAT_COMMANDS)),
        _ if NETCATS.contains(&name) => {
            let is_long = |word: &String| word.starts_with("--") && word.contains("-exec");
            has_flag(arguments, 'e', "exec")
                || has_flag(arguments, 'c', "sh-exec")
                || arguments.iter().any(is_long)
        }
        _ if EDITORS.contains(&name) => {
            list_editor_commands(arguments).any(|command| contains_any(command, RUNNING_EDITOR_COMMANDS))
        }
        "enable" => has_flag(arguments, 'f', ""),
        "gmake" | "make" => arguments.iter().any(|word| sets_other_shell(word)),
        "zip" => arguments.windows(2).any(|pair| pair[0] == "-TT" && !is_usual(&pair[1])),
        _ if ESCAPING_CLIENTS.contains(&name) => arguments.iter().any(|word| word.contains("\\!")),
        _ => RUNNING_COMMANDS.iter().filter(|(program, _)| *program == name).any(|(_, commands)| {
            arguments.iter().any(|word| commands.iter().any(|command| word.trim_start().starts_with(command)))
        }),
    };
    let short = SHORT_COMMAND_OPTIONS.iter().filter(|(program, _)| *program == name);
    let runs = runs || short.flat_map(|(_, option)| values(arguments, *option, "")).any(|it| !is_usual(it));
    let options = COMMAND_OPTIONS.iter().filter(|(program, _)| *program == name);
    let mut options = options.flat_map(|(_, option)| list_long_values(arguments, option));
    (runs || options.any(|command| !is_usual(command)))
        .then(|| format!("runs a command in its arguments ({name})"))
}

/// Returns true for an argument of make that replaces its shell with another program.
fn sets_other_shell(word: &str) -> bool {
    word.strip_prefix("SHELL=").is_some_and(|path| {
        let is_installed =
            !path.contains('/') || ["/bin/", "/usr/bin/"].iter().any(|dir| path.starts_with(dir));
        !(is_installed && SHELLS.contains(&base_name(path)))
    })
}

/// Finds a variable that makes other programs run a command, among those that a command sets.
pub(super) fn find_variable(words: &[String]) -> Option<String> {
    let (name, arguments) = program(words);
    let set = if SETTERS.contains(&name) { words } else { &words[..words.len() - arguments.len()] };
    let mut assigned = set.iter().filter(|word| is_assignment(word)).filter_map(|word| word.split_once('='));
    let (name, _) = assigned.find(|(name, value)| {
        (COMMAND_VARIABLES.contains(name) && !is_usual(value) && !is_plain_program(value))
            || (CODE_VARIABLES.contains(name) && !["", "/dev/null"].contains(value))
            || (EXPANDED_VARIABLES.contains(name) && runs_in_shell(name, value))
    })?;
    Some(format!("sets a program that other programs will run ({name})"))
}

/// Returns true if a shell runs code because of the value of a variable. The value of `ENV` names a file.
fn runs_in_shell(name: &str, value: &str) -> bool {
    value.contains('`') || value.contains("$(") || (name == "ENV" && value.contains(['/', '$']))
}

/// Finds the definition of an alias, or a value that is expanded like a prompt.
pub(super) fn find_redefinition(words: &[String]) -> Option<String> {
    let (name, arguments) = program(words);
    let defined = arguments.iter().find(|word| name == "alias" && word.contains('='));
    let alias = defined.map(|word| format!("defines an alias ({})", word.split('=').next().unwrap_or(word)));
    let has_subscript = match name {
        "printf" => values(arguments, 'v', "").any(runs_in_subscript),
        _ => EVALUATING.contains(&name) && arguments.iter().any(|word| runs_in_subscript(word)),
    };
    let subscript = has_subscript.then(|| format!("runs a substitution in a subscript ({name})"));
    let expands = || words.iter().any(|word| word.contains("${") && word.contains("@P}"));
    alias.or(subscript).or_else(|| expands().then(|| "runs the substitutions in a value (${…@P})".into()))
}

/// Builtins that evaluate the subscripts in the names that they get, even in quotes: `read 'a[$(x)]'`.
const EVALUATING: &[&str] = &[
    "[",
    "[[",
    "declare",
    "export",
    "let",
    "local",
    "mapfile",
    "read",
    "readarray",
    "test",
    "typeset",
    "unset",
    "wait",
];

/// Returns true if a quoted word is a variable with a substitution in its subscript. Those that the shell runs itself
/// have been replaced.
fn runs_in_subscript(word: &str) -> bool {
    let quoted = word.replace(SUBSTITUTION, "");
    let is_variable =
        |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    quoted.split_once('[').is_some_and(|(name, rest)| is_variable(name) && contains_any(rest, &["$(", "`"]))
}

/// Returns true for a common program that runs no other program.
fn is_usual(command: &str) -> bool {
    let name = command.split_whitespace().next().unwrap_or(":");
    let is_single = !command.contains([';', '&', '|', '$', '`', '<', '>', '\n']);
    USUAL.contains(&name) && is_single && !names_ssh_command(command)
}

/// Returns true for the bare name of an installed program that runs no code from its arguments.
fn is_plain_program(command: &str) -> bool {
    command.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
        && !SHELLS.contains(&command)
        && !INTERPRETERS.contains(&command)
}

fn names_ssh_command(text: &str) -> bool {
    contains_any(&text.to_ascii_lowercase(), SSH_COMMANDS)
}

fn contains_any(text: &str, parts: &[&str]) -> bool {
    parts.iter().any(|part| text.contains(part))
}

fn has_any(arguments: &[String], parts: &[&str]) -> bool {
    arguments.iter().any(|word| contains_any(word, parts))
}

/// Lists the values of a long option, which may be abbreviated to four letters.
fn list_long_values<'a>(arguments: &'a [String], option: &'a str) -> impl Iterator<Item = &'a str> {
    arguments.iter().enumerate().filter_map(move |(at, word)| {
        let (name, value) = match word.strip_prefix("--")?.split_once('=') {
            Some((name, value)) => (name, value),
            None => (&word[2..], arguments.get(at + 1)?.as_str()),
        };
        (name.len() >= 4 && option.starts_with(name)).then_some(value)
    })
}

fn runs_in_tar(arguments: &[String]) -> bool {
    let mut actions = list_long_values(arguments, "checkpoint-action");
    let mut compressors = values(arguments, 'I', "use-compress-program");
    actions.any(|action| action.starts_with("exec")) || compressors.any(|command| !is_usual(command))
}

/// Returns true if an awk script calls `system`, or has a pipe to or from a command.
fn runs_in_awk(script: &str) -> bool {
    let calls = script.match_indices("system").any(|(at, name)| {
        let is_word = !script[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        is_word && script[at + name.len()..].trim_start().starts_with('(')
    });
    let pipes = script.match_indices('|').any(|(at, _)| {
        let (before, after) = (&script[..at], script[at + 1..].trim_start_matches('&'));
        let is_or = before.ends_with('|') || after.starts_with('|');
        let is_command = |text: &str| text.starts_with('"') || text.starts_with("getline");
        // `/a|b/` contains no blanks.
        let is_variable = before.ends_with(' ') && after.starts_with(' ');
        !is_or && (is_command(after.trim_start()) || is_variable)
    });
    calls || pipes
}

/// The arguments of sed.
#[derive(Default)]
pub(super) struct SedArguments<'a> {
    scripts: Vec<&'a str>,
    pub files: Vec<&'a String>,
    /// True if it writes its output to the files.
    pub edits_in_place: bool,
}

/// Reads the arguments of sed: the scripts are the values of `-e`, or else the first operand. In a group of letters, the
/// first one with a value decides; the value of `-i` is the rest of the word, or in BSD the next one. It starts with a
/// dot, like no script, and may be a file as well.
pub(super) fn read_sed_arguments(arguments: &[String]) -> SedArguments<'_> {
    let mut sed = SedArguments::default();
    let (mut has_script, mut suffix, mut words) = (false, None, arguments.iter().peekable());
    while let Some(word) = words.next() {
        if word == "--" {
            sed.files.extend(words.by_ref());
        } else if let Some(option) = word.strip_prefix('-').filter(|option| !option.is_empty()) {
            let (option, value) = split_sed_option(option);
            let mut value = |is_value: fn(&str) -> bool| match value {
                "" => words.next_if(|word| is_value(word)).map(String::as_str),
                value => Some(value),
            };
            has_script |= ['e', 'f'].contains(&option);
            match option {
                'e' => sed.scripts.extend(value(|_| true)),
                'f' => drop(value(|_| true)),
                'i' => {
                    sed.edits_in_place = true;
                    if value(str::is_empty).is_none() {
                        suffix = suffix.or(words.next_if(|word| word.starts_with('.')));
                    }
                }
                'l' => drop(value(|word| word.parse::<u16>().is_ok())),
                _ => {}
            }
        } else {
            sed.files.push(word);
        }
    }
    if !has_script && !sed.files.is_empty() {
        sed.scripts.push(sed.files.remove(0));
    }
    sed.files.extend(suffix);
    sed
}

/// Returns the letter of the option of sed that may have a value, a blank if there is none, and the value joined with
/// it.
fn split_sed_option(option: &str) -> (char, &str) {
    if let Some(long) = option.strip_prefix('-') {
        let (name, value) = long.split_once('=').unwrap_or((long, ""));
        let names = [('e', "expression"), ('f', "file"), ('i', "in-place"), ('l', "line-length")];
        let letter = names.iter().find(|(_, long)| long.starts_with(name)).map_or(' ', |(letter, _)| *letter);
        return (letter, value);
    }
    let at = option.find(['e', 'f', 'i', 'l']);
    let letter = at.and_then(|at| option[at..].chars().next()).unwrap_or(' ');
    (letter, at.map_or("", |at| &option[at + 1..]))
}

/// Returns true if a sed script has the command `e`, or a substitution with the flag `e`.
fn runs_in_sed(script: &str) -> bool {
    scan_sed(script, |_| {})
}

/// Lists the files that the scripts of sed write: `w FILE`, `s/a/b/w FILE`.
pub(super) fn list_sed_outputs(arguments: &[String]) -> Vec<String> {
    let mut outputs = Vec::new();
    for script in read_sed_arguments(arguments).scripts {
        scan_sed(script, |rest| {
            let line = rest.split('\n').next().unwrap_or_default();
            outputs.push(line.trim().to_owned());
        });
    }
    outputs
}

/// Passes on the text after each `w`, and returns true at a command or flag `e`.
fn scan_sed<'a>(script: &'a str, mut write: impl FnMut(&'a str)) -> bool {
    let mut rest = script;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        rest = match c {
            'e' => return true,
            '/' => skip_part(after, '/'),
            '\\' => match after.chars().next() {
                Some(delimiter) => skip_part(&after[delimiter.len_utf8()..], delimiter),
                None => return false,
            },
            's' | 'y' => {
                let Some(delimiter) = after.chars().next() else { return false };
                let parts = &after[delimiter.len_utf8()..];
                let flags = skip_part(skip_part(parts, delimiter), delimiter);
                let end = flags.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(flags.len());
                // A file name follows `w`.
                let known = flags[..end].split('w').next().unwrap_or_default();
                if c == 's' && known.contains('e') {
                    return true;
                }
                if known.len() < end {
                    write(&flags[known.len() + 1..]);
                    skip_line(flags)
                } else {
                    &flags[end..]
                }
            }
            'w' | 'W' => {
                write(after);
                skip_line(after)
            }
            'a' | 'c' | 'i' | 'r' | 'R' | '#' => skip_line(after),
            ':' | 'b' | 't' | 'T' => after.trim_start_matches(|c| c != ';' && c != '\n' && c != '}'),
            _ => after,
        };
    }
    false
}

fn skip_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

/// Returns the text after an unescaped delimiter.
fn skip_part(text: &str, delimiter: char) -> &str {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == delimiter => return &text[at + c.len_utf8()..],
            _ => {}
        }
    }
    ""
}

/// Lists the commands that an editor runs at its start: `-c COMMAND`, `--cmd COMMAND`, `+COMMAND`. Letters may precede
/// the `c`.
pub(super) fn list_editor_commands(arguments: &[String]) -> impl Iterator<Item = &str> {
    arguments.iter().enumerate().filter_map(|(at, word)| match word.as_str() {
        "--cmd" => arguments.get(at + 1).map(String::as_str),
        word if is_command_flag(word) && word.ends_with('c') => arguments.get(at + 1).map(String::as_str),
        word => word.strip_prefix('+').or_else(|| word.strip_prefix("-c")),
    })
}

#[cfg(test)]
mod tests {
    use super::super::risk_in_work;

    #[test]
    fn embedded_command_of_client_or_option_asks() {
        for line in [
            "sqlite3 x.db '.shell ls'",
            "psql -c '\\! ls'",
            "mysql -e '\\! ls'",
            "gdb -batch -ex 'shell ls'",
            "zip -TT ls a b",
            "tar -F ls -cf a b",
            "scp -S ./x a b:",
            "rsync --rsync-path='sudo rsync' a b:",
            "make --eval='$(shell ls)'",
            "make SHELL=./x",
            "make SHELL=./bash",
            "enable -f ./x.so y",
        ] {
            let reason = risk_in_work(line).unwrap_or_default();
            assert!(reason.starts_with("runs a command in its arguments"), "{line}: {reason}");
        }
        for line in [
            "sqlite3 x.db .schema 'select 1'",
            "psql -c 'select 1'",
            "gdb -batch -ex bt --args python x.py",
            "make SHELL=/bin/bash test",
            "zip -T a b",
            "enable -n test",
        ] {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }

    #[test]
    fn embedded_substitution_in_subscript_asks() {
        for line in [
            "test -v 'x[$(ls)]'",
            "[ -v 'x[`ls`]' ]",
            "printf -v 'a[$(ls)]' x",
            "read 'a[$(ls)]'",
            "unset 'a[$(ls)]'",
            "[[ x -eq 'a[$(ls)]' ]]",
        ] {
            let reason = risk_in_work(line).unwrap_or_default();
            assert!(reason.starts_with("runs a substitution in a subscript"), "{line}: {reason}");
        }
        for line in [
            "test -n \"a[$(ls)]\"",
            "printf '%s [%s]' \"$(ls)\" x",
            "grep '[$(]' x",
            "unset 'a[1]'",
            "export GREETING='[x] $(date)'",
            "[[ $a == '[$(b)]' ]]",
        ] {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }

    #[test]
    fn embedded_command_asks() {
        for line in [
            "awk 'BEGIN{system(\"ls\")}'",
            "awk 'BEGIN { system (\"ls\") }' x",
            "gawk '{ print | \"sh\" }' x",
            "awk '{ \"date\" | getline d; print d }' x",
            "awk '{ print | cmd }' cmd=sh x",
            "sed '1e ls' x",
            "sed -n e x",
            "sed 's/a/b/e' x",
            "sed 's|a|b|2ge' x",
            "sed -e p -e 's,a,b,e' x",
            "sed --expression='/x/ e ls' x",
            "sed '/e\\/x/{s/a/b/;e ls\n}' x",
            "tar xf x.tar --to-command='sh -c x'",
            "tar xf x.tar --to-com=./x",
            "tar cf x.tar --checkpoint=1 --checkpoint-action=exec=./x .",
            "tar cf x.tar --checkpoint-action exec=./x .",
            "tar -I ./x -xf y",
            "tar --use-compress-program='sh -c x' -xf y",
            "rsync -e 'sh -c x' a b",
            "rsync -ave ./x a b",
            "rsync --rsh='ssh -o ProxyCommand=x' a b",
            "ssh -o ProxyCommand=x host",
            "scp -oLocalCommand=x a b:",
            "vim -c '!ls' x",
            "vim '+!ls' x",
            "nvim --cmd 'call system(\"x\")'",
            "vim -es -c 'term ls' x",
            "emacs --batch --eval '(shell-command \"x\")'",
            "split --filter='sh -c x' y",
            "sort --compress-program=./x y",
            "git clone 'ext::sh -c x'",
            "git fetch --upload-pack='sh -c x' y",
            "git grep -O'sh x' foo",
            "git grep --open-files-in-pager=./x foo",
            "git difftool -x 'sh x' HEAD",
            "git difftool -y --extcmd=./x HEAD",
            "man -P 'sh -c x' ls",
            "mapfile -C 'rm -f' < x",
            "readarray -t -c1 -Cx a < y",
            "nc -e /bin/sh host 1",
            "nc -lp 1 -e ./x",
            "ncat -lc 'cat x' 1",
            "ncat --sh-exec 'cat x' host 1",
            "ncat --lua-exec x.lua host 1",
            "socat TCP-LISTEN:1,fork EXEC:/bin/sh",
            "socat - system:'ls x',pty",
        ] {
            let risk = risk_in_work(line).unwrap_or_default();
            assert!(risk.starts_with("runs a command in its arguments ("), "{line}: {risk}");
        }
    }

    #[test]
    fn embedded_command_in_variable_asks() {
        for (line, name) in [
            ("GIT_EDITOR='sed -i s/a/b/' git rebase -i x", "GIT_EDITOR"),
            ("GIT_SEQUENCE_EDITOR=./x git rebase -i y", "GIT_SEQUENCE_EDITOR"),
            ("env EDITOR='sh -c x' git commit", "EDITOR"),
            ("export GIT_SSH_COMMAND='ssh -o ProxyCommand=x'; git fetch", "GIT_SSH_COMMAND"),
            ("PAGER=sh git log", "PAGER"),
            ("LD_PRELOAD=./x.so ls", "LD_PRELOAD"),
            ("BASH_ENV=x bash y", "BASH_ENV"),
            ("ENV=./x sh -i", "ENV"),
            ("ENV='$(ls)' sh -i", "ENV"),
            ("PS4='$(ls)' bash -x y", "PS4"),
            ("export PS4='`ls`'; set -x; ls", "PS4"),
            ("f() { local PS4='$(ls)'; set -x; }; f", "PS4"),
            ("PROMPT_COMMAND=ls bash -i", "PROMPT_COMMAND"),
            (
                "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.pager GIT_CONFIG_VALUE_0=./x git log",
                "GIT_CONFIG_COUNT",
            ),
            ("GIT_CONFIG_GLOBAL=./x git log", "GIT_CONFIG_GLOBAL"),
            ("GIT_TEMPLATE_DIR=./t git init", "GIT_TEMPLATE_DIR"),
        ] {
            let expected = format!("sets a program that other programs will run ({name})");
            assert_eq!(risk_in_work(line), Some(expected), "{line}");
        }
    }

    #[test]
    fn embedded_alias_is_judged_and_asks() {
        for (line, expected) in [
            ("shopt -s expand_aliases; alias x='ls -l'\nx", "defines an alias (x)"),
            ("alias -g x=y", "defines an alias (x)"),
            ("alias a='sudo x'", "runs as another user (sudo)"),
            ("shopt -s expand_aliases\nalias x='rm -rf ~'\nx", "deletes everything under ~"),
            ("mapfile -C 'rm -rf ~' < x", "deletes everything under ~"),
            ("X='$(ls)'; echo \"${X@P}\"", "runs the substitutions in a value (${…@P})"),
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn embedded_nothing_is_free() {
        for line in [
            "awk '{print $1}' x",
            "awk -F'|' '$1 ~ /a|b/ || $2 == \"c\" { print $2 }' x",
            "awk '/filesystem(s)/ { n++ } END { print n }' x",
            "sed -i 's/one/there/g; s/e/f/' x",
            "sed -n '/begin/,/end/p' x",
            "sed '/e/d; $!N; y/e/f/; :e; te' x",
            "sed 's/a/b/w e' x",
            "sed -e 's/a/b/' -e '/^#/d' x",
            "sed 'a hello' x",
            "tar -xzf x.tar.gz",
            "tar --zstd -cf x .",
            "tar -I 'zstd -19 -T0' -cf x .",
            "rsync -av --exclude node_modules a b",
            "rsync -ave 'ssh -p 22' a host:b",
            "ssh -o StrictHostKeyChecking=no host ls",
            "vim -c 'set number termguicolors copyindent' x",
            "vim +12 x",
            "GIT_EDITOR=true git rebase --continue",
            "EDITOR=vim git commit",
            "PAGER='less -R' git log",
            "GIT_PAGER=cat git log",
            "GIT_SSH_COMMAND='ssh -i key' git fetch",
            "GIT_CONFIG_GLOBAL=/dev/null git log",
            "GIT_CONFIG_NOSYSTEM=1 git log",
            "git log --grep EDITOR=sh",
            "git grep -O less",
            "git clean -nx ./x",
            "man -P less ls",
            "split -l 5 x",
            "alias",
            "alias ls",
            "mapfile -t lines < x",
            "nc -zv localhost 8080",
            "socat - TCP:localhost:80",
            "ENV=production npm start",
            "ENV=dev.local make",
            "grep '@P}' x",
            "PS4='+ ${BASH_SOURCE}:${LINENO}: ' bash -x y",
        ] {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }
}
