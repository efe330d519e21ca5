//! Finds the files that `find` deletes and the commands that it runs.

use super::shell::{self, Segment};
use super::{CommandFolders, SHELLS, base_name, is_recursive, judge_run, line_of_shell, program};

/// Actions that have a command behind them, up to `;` or `+`.
const RUNNERS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];

/// Finds the danger of find with these arguments: what it deletes, if that isn't somewhere within the working directory
/// alone, or what it runs.
pub(super) fn of(arguments: &[String], folders: CommandFolders<'_>, depth: usize) -> Option<String> {
    let runs_rm = arguments.split(|word| is_runner(word)).skip(1).any(|words| deletes(words, |_| true));
    if runs_rm || arguments.iter().any(|word| word == "-delete") {
        let searched = list_searched(arguments).into_iter().find(|path| folders.leads_out(path));
        if searched.is_some() {
            return searched.map(|path| format!("deletes what it finds beneath {path}"));
        }
    }
    let mut rest = arguments;
    while let Some(at) = rest.iter().position(|word| is_runner(word)) {
        rest = &rest[at + 1..];
        let end = rest.iter().position(|word| word == ";" || word == "+").unwrap_or(rest.len());
        if let Some(what) = judge_run(&rest[..end], folders, depth) {
            return Some(what);
        }
        rest = &rest[end..];
    }
    None
}

fn is_runner(word: &str) -> bool {
    RUNNERS.contains(&word)
}

/// Checks whether a find searches folders that hold credential files, and a command gets what it finds: by an action, or by an
/// `xargs` behind it in its statement.
pub(super) fn hands_on_credentials(
    segment: &Segment,
    behind: &[Segment],
    folders: CommandFolders<'_>,
) -> bool {
    let ("find", arguments) = program(&segment.words) else { return false };
    let mut own = behind.iter().filter(|other| other.statement == segment.statement);
    let is_xargs = |other: &Segment| other.words.iter().any(|word| base_name(word) == "xargs");
    let hands_on = arguments.iter().any(|word| is_runner(word)) || own.any(is_xargs);
    hands_on && list_searched(arguments).into_iter().any(|path| folders.holds_credentials(path))
}

/// The places it searches.
fn list_searched(arguments: &[String]) -> Vec<&str> {
    let mut paths = arguments.iter().map(String::as_str).peekable();
    while let Some(option) =
        paths.next_if(|word| ["-H", "-L", "-P", "-D"].contains(word) || word.starts_with("-O"))
    {
        if option == "-D" {
            paths.next();
        }
    }
    let is_expression = |word: &&str| word.starts_with(['-', '(', '!']);
    let paths: Vec<&str> = paths.take_while(|word| !is_expression(word)).collect();
    if paths.is_empty() { vec!["."] } else { paths }
}

/// Checks whether a command deletes what it is given, be it in a shell, by an `rm` with arguments that are meant.
fn deletes(words: &[String], is_meant: fn(&[String]) -> bool) -> bool {
    match program(words) {
        ("rm", arguments) => is_meant(arguments),
        (name, arguments) if SHELLS.contains(&name) => line_of_shell(arguments).is_some_and(|line| {
            shell::segments(line).iter().any(|segment| deletes(&segment.words, is_meant))
        }),
        _ => false,
    }
}

/// Options of xargs with a value in the next word (`xargs --help`, GNU findutils 4.10).
const WITH_VALUES: &[&str] = &["-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s"];

/// Finds the folder that is deleted by the `xargs` behind a find, if that isn't somewhere within the working directory
/// alone. An `rm` of single files is left alone, as it is when they are named.
pub(super) fn judge_xargs(segments: &[Segment], folders: CommandFolders<'_>) -> Option<String> {
    let searched = segments.iter().enumerate().find_map(|(at, segment)| {
        let ("find", arguments) = program(&segment.words) else { return None };
        let path = list_searched(arguments).into_iter().find(|path| folders.leads_out(path))?;
        Some((at, path))
    });
    let (at, path) = searched?;
    let is_deleted =
        segments[at + 1..].iter().any(|segment| deletes(find_xargs_command(&segment.words), is_recursive));
    is_deleted.then(|| format!("deletes what it finds beneath {path}"))
}

/// Returns the command that xargs runs; nothing without an xargs.
fn find_xargs_command(words: &[String]) -> &[String] {
    let Some(at) = words.iter().position(|word| base_name(word) == "xargs") else { return &[] };
    let mut rest = &words[at + 1..];
    while let [option, behind @ ..] = rest
        && option.starts_with('-')
    {
        let has_value = WITH_VALUES.contains(&option.as_str()) && !behind.is_empty();
        rest = if has_value { &behind[1..] } else { behind };
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::super::risk_in_work;

    #[test]
    fn what_find_deletes_and_runs_is_seen() {
        for (line, expected) in [
            ("find . -exec sudo rm {} +", "runs as another user (sudo)"),
            ("find . -exec env rm {} +", "deletes what it finds beneath ."),
            ("find / -name x -exec sh -c 'rm -rf {}' +", "deletes what it finds beneath /"),
            ("find . -exec bash -ec 'ls \"$1\" && rm \"$1\"' _ {} \\;", "deletes what it finds beneath ."),
            ("find / -okdir rm {} +", "deletes what it finds beneath /"),
            ("find / -ok rm {} ';'", "deletes what it finds beneath /"),
            ("find build -exec rm -rf / +", "deletes everything beneath /"),
            ("find build -exec ls {} + -exec rm -rf ~/x \\;", "deletes everything beneath ~/x"),
            ("find build -type d -execdir git -C {} clean -fd \\;", "deletes files that git doesn't know"),
            ("find . -name x | xargs rm -rf", "deletes what it finds beneath ."),
            ("find ~ -print0 | grep -z x | xargs -0 -n 5 rm -r --", "deletes what it finds beneath ~"),
            ("find / | xargs -I {} rm -rf {}", "deletes what it finds beneath /"),
            ("find .. | xargs -I% sh -c 'ls % && /bin/rm -fr %'", "deletes what it finds beneath .."),
            ("find . | env X=1 xargs -P4 env rm -R", "deletes what it finds beneath ."),
            ("find x -exec cp {} .git/hooks \\;", "writes in .git, and git runs what is there"),
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn what_find_may_run_is_not() {
        for line in [
            "find . -name '*.rs'",
            "find . -exec grep -n rm {} +",
            "find . -exec sh -c 'grep rm \"$1\"' _ {} \\;",
            "find build -exec sh -c 'rm -rf {}' +",
            "find build -exec rm {} +",
            "find build -type d | xargs rm -rf",
            "find . -name '*.orig' | xargs rm -f",
            "find . -name '*.rs' | xargs grep -r rm",
            "find . -name '*.rs' | xargs -I {} cp -r {} rm",
            "ls build | xargs rm -rf; find . -name x",
            "xargs",
            "find . -exec git log {} \\; -name reset --hard",
            "find . -type f -exec chmod u+w {} \\; -exec ls -l {} \\;",
        ] {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }
}
