//! What `find` deletes, and what it runs.

use super::{Place, SHELLS, leads_out, line_of_shell, of_run, program, shell};

/// What has a command behind it, up to `;` or `+`.
const RUNNERS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];

/// What is dangerous about find with these arguments: what it deletes, if that isn't somewhere within the working directory
/// alone, or what it runs.
pub(super) fn of(arguments: &[String], place: Place<'_>, depth: usize) -> Option<String> {
    let runs_rm = arguments.split(|word| is_runner(word)).skip(1).any(deletes);
    if runs_rm || arguments.iter().any(|word| word == "-delete") {
        let searched = places(arguments).into_iter().find(|path| leads_out(path, place.root));
        if searched.is_some() {
            return searched.map(|path| format!("deletes what it finds beneath {path}"));
        }
    }
    let mut rest = arguments;
    while let Some(at) = rest.iter().position(|word| is_runner(word)) {
        rest = &rest[at + 1..];
        let end = rest.iter().position(|word| word == ";" || word == "+").unwrap_or(rest.len());
        if let Some(what) = of_run(&rest[..end], place, depth) {
            return Some(what);
        }
        rest = &rest[end..];
    }
    None
}

fn is_runner(word: &str) -> bool {
    RUNNERS.contains(&word)
}

/// The places it searches.
fn places(arguments: &[String]) -> Vec<&str> {
    let options = arguments.iter().take_while(|word| ["-H", "-L", "-P"].contains(&word.as_str())).count();
    let is_expression = |word: &&str| word.starts_with(['-', '(', '!']);
    let places = arguments[options..].iter().map(String::as_str);
    let places: Vec<&str> = places.take_while(|word| !is_expression(word)).collect();
    if places.is_empty() { vec!["."] } else { places }
}

/// Whether a command deletes what it is given, be it in a shell.
fn deletes(words: &[String]) -> bool {
    match program(words) {
        ("rm", _) => true,
        (name, arguments) if SHELLS.contains(&name) => line_of_shell(arguments)
            .is_some_and(|line| shell::segments(line).iter().any(|segment| deletes(&segment.words))),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::of;

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
            ("find x -exec cp {} .git/hooks \\;", "writes in .git, and git runs what is there"),
        ] {
            assert_eq!(of(line, Path::new("/work")).as_deref(), Some(expected), "{line}");
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
            "find . -exec git log {} \\; -name reset --hard",
            "find . -type f -exec chmod u+w {} \\; -exec ls -l {} \\;",
        ] {
            assert_eq!(of(line, Path::new("/work")), None, "{line}");
        }
    }
}
