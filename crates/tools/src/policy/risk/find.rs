//! Judges `find`: the files that it deletes and the commands that it runs.

use super::super::shell;
use super::arguments::{SHELLS, line_of_shell, program};
use super::command_context::CommandContext;
use super::kind::{Risk, RiskKind};

/// Actions followed by a command, up to `;` or `+`.
const RUNNERS: &[&str] = &["-exec", "-execdir", "-ok", "-okdir"];

/// Expressions of `find` with a pattern for the names of files, or with one file.
const PATTERNS: &[&str] = &[
    "-ilname",
    "-iname",
    "-ipath",
    "-iregex",
    "-iwholename",
    "-lname",
    "-name",
    "-path",
    "-regex",
    "-samefile",
    "-wholename",
];

/// Expressions of `find` that don't restrict the files by their properties, and those whose value is the next
/// word.
const UNSELECTIVE: &[&str] = &["-delete", "-depth", "-mount", "-print", "-print0", "-xdev"];
const UNSELECTIVE_WITH_VALUE: &[&str] = &["-maxdepth", "-mindepth", "-type"];

/// Finds the risk of `find` with these arguments: it deletes outside the working directory, or the directory
/// itself.
pub(super) fn judge_find(arguments: &[String], context: CommandContext<'_>) -> Option<Risk> {
    let runs_rm = arguments.split(|word| is_runner(word)).skip(1).any(|words| deletes(words, |_| true));
    let is_deleted = runs_rm || arguments.iter().any(|word| word == "-delete");
    if is_deleted { find_deleted(arguments, context) } else { None }
}

/// Finds the risk of deleting the files that a `find` selects. It destroys a system or a home directory if it
/// selects all files there.
pub(super) fn find_deleted(arguments: &[String], context: CommandContext<'_>) -> Option<Risk> {
    let searched = list_searched(arguments);
    let mut essential = searched.iter().filter(|path| takes_all(arguments) && context.is_essential(path));
    let (kind, path) = match essential.next() {
        Some(path) => (RiskKind::Destroys, path),
        None => (RiskKind::Dangerous, searched.iter().find(|path| context.leads_out(path))?),
    };
    Some(Risk::new(kind, format!("deletes files found under {path}")))
}

/// Returns true if a `find` selects all files, or all of a type.
fn takes_all(arguments: &[String]) -> bool {
    let is_path = |word: &&str| ["-H", "-L", "-P"].contains(word) || !word.starts_with(['-', '(', '!']);
    let mut words = arguments.iter().map(String::as_str).skip_while(is_path);
    while let Some(word) = words.next() {
        match word {
            _ if is_runner(word) => drop(words.by_ref().find(|word| [";", "+"].contains(word))),
            _ if UNSELECTIVE_WITH_VALUE.contains(&word) => drop(words.next()),
            _ if UNSELECTIVE.contains(&word) => {}
            _ => return false,
        }
    }
    true
}

/// Lists the commands that `find` with these arguments runs.
pub(super) fn list_run_commands(arguments: &[String]) -> Vec<&[String]> {
    let (mut runs, mut rest) = (Vec::new(), arguments);
    while let Some(at) = rest.iter().position(|word| is_runner(word)) {
        rest = &rest[at + 1..];
        let end = rest.iter().position(|word| word == ";" || word == "+").unwrap_or(rest.len());
        runs.push(&rest[..end]);
        rest = &rest[end..];
    }
    runs
}

/// Returns the arguments before the first command.
pub(super) fn before_runner(arguments: &[String]) -> &[String] {
    let end = arguments.iter().position(|word| is_runner(word)).unwrap_or(arguments.len());
    &arguments[..end]
}

fn is_runner(word: &str) -> bool {
    RUNNERS.contains(&word)
}

/// Lists the patterns of a `find` for the files that it selects.
pub(super) fn list_patterns(arguments: &[String]) -> Vec<String> {
    let (mut patterns, mut negated_groups, mut is_negated) = (Vec::new(), Vec::new(), false);
    for (at, pair) in arguments.windows(2).enumerate() {
        let in_negated = negated_groups.last().copied().unwrap_or_default();
        let is_pruned =
            || arguments[at + 2..].iter().find(|word| *word != ")").is_some_and(|it| it == "-prune");
        match pair[0].as_str() {
            "!" | "-not" => {
                is_negated = !is_negated;
                continue;
            }
            "(" => negated_groups.push(in_negated != is_negated),
            ")" => drop(negated_groups.pop()),
            option if PATTERNS.contains(&option) && in_negated == is_negated && !is_pruned() => {
                patterns.push(plain_pattern(option, &pair[1]));
            }
            _ => {}
        }
        is_negated = false;
    }
    patterns
}

/// Returns the pattern of an option; a regular expression counts by the name in it.
fn plain_pattern(option: &str, pattern: &str) -> String {
    let is_environment = option.ends_with("regex") && pattern.contains("env");
    if is_environment { ".env".to_owned() } else { pattern.to_owned() }
}

/// Lists the commands that `find` with these arguments runs, with the searched paths in place of `{}`; `-delete` is an
/// `rm`.
pub(super) fn list_runs_on_searched(arguments: &[String]) -> Vec<Vec<String>> {
    let found = list_found(&list_searched(arguments));
    let is_deleted = arguments.iter().any(|word| word == "-delete");
    let delete = ["rm".to_owned(), "{}".to_owned()];
    let runs = list_run_commands(arguments).into_iter().chain(is_deleted.then_some(&delete[..]));
    runs.map(|words| insert(words, "{}", &found)).collect()
}

/// Returns a file found under each of the searched paths. Below a protected file, a path is protected too.
pub(super) fn list_found(searched: &[&str]) -> Vec<String> {
    searched.iter().map(|path| format!("{}/{{}}", path.trim_end_matches('/'))).collect()
}

/// Replaces a placeholder in a command with paths: a word is repeated for each path, and so is a line for a shell.
pub(super) fn insert(words: &[String], placeholder: &str, paths: &[String]) -> Vec<String> {
    let replaced = |word: &String| {
        let forms: Vec<String> = paths.iter().map(|path| word.replace(placeholder, path)).collect();
        match word.contains(placeholder) {
            true if word.contains(char::is_whitespace) => vec![forms.join("\n")],
            true => forms,
            false => vec![word.clone()],
        }
    };
    words.iter().flat_map(replaced).collect()
}

/// Lists the directories that `find` searches.
pub(super) fn list_searched(arguments: &[String]) -> Vec<&str> {
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

/// Returns true if a command, possibly in a shell, is an `rm` whose arguments match.
pub(super) fn deletes(words: &[String], matches: fn(&[String]) -> bool) -> bool {
    match program(words) {
        ("rm", arguments) => matches(arguments),
        (name, arguments) if SHELLS.contains(&name) => line_of_shell(arguments)
            .is_some_and(|line| shell::segments(line).iter().any(|segment| deletes(&segment.words, matches))),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use tiller_core::protected_path::Protection;

    use super::super::risk_in_work;

    #[test]
    fn find_that_deletes_or_runs_danger_asks() {
        for (line, expected) in [
            ("find . -exec sudo rm {} +", "runs as another user (sudo)"),
            ("find . -exec env rm {} +", "deletes files found under ."),
            ("find / -name x -exec sh -c 'rm -rf {}' +", "deletes files found under /"),
            ("find . -exec bash -ec 'ls \"$1\" && rm \"$1\"' _ {} \\;", "deletes files found under ."),
            ("find / -okdir rm {} +", "deletes files found under /"),
            ("find / -ok rm {} ';'", "deletes files found under /"),
            ("find build -exec rm -rf / +", "deletes everything under /"),
            ("find build -exec ls {} + -exec rm -rf ~/x \\;", "deletes everything under ~/x"),
            ("find build -type d -execdir git -C {} clean -fd \\;", "deletes untracked files"),
            ("find . -type f | xargs rm -rf", "deletes files found under ."),
            ("find . -delete", "deletes files found under ."),
            ("find . -mtime +1 -delete", "deletes files found under ."),
            ("find . -name '*' -delete", "deletes files found under ."),
            ("find . ! -name x -delete", "deletes files found under ."),
            ("find . -name .git -exec rm -rf {} +", "deletes files found under ."),
            ("find . -name '*it' -delete", "deletes files found under ."),
            ("find . -path './.git/*' -delete", "deletes files found under ."),
            ("find . -name x -o -delete", "deletes files found under ."),
            ("find . -print0 -name x | xargs -0 rm -rf", "deletes files found under ."),
            ("find -L . -name x -delete", "deletes files found under ."),
            ("cd .. && find . -name x -delete", "deletes files found under ."),
            ("find /tmp -name x -delete", "deletes files found under /tmp"),
            ("find ~ -print0 | grep -z x | xargs -0 -n 5 rm -r --", "deletes files found under ~"),
            ("find / | xargs -I {} rm -rf {}", "deletes files found under /"),
            ("find .. | xargs -I% sh -c 'ls % && /bin/rm -fr %'", "deletes files found under .."),
            ("find . | env X=1 xargs -P4 env rm -R", "deletes files found under ."),
            ("ls build | xargs rm -rf; find . -name x", "deletes everything under $(…)"),
            ("find / -exec chmod -R 777 {} +", "changes everything under /{}"),
            ("find / | xargs chmod -R 777", "changes everything under /{}"),
            ("find ~ -maxdepth 1 -exec chown -R nobody {} \\;", "changes everything under ~/{}"),
            ("xargs -a list rm -rf", "deletes everything under $(…)"),
            ("cat x | xargs -I{} sh -c 'rm -rf {}'", "deletes everything under $(…)"),
            ("cat x | xargs chmod -R 777", "changes everything under $(…)"),
            ("find x -exec cp {} .git/hooks \\;", "writes to .git, where git may run files"),
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn find_that_changes_protected_path_asks() {
        for (line, expected) in [
            ("find .git -delete", Protection::Git),
            ("find -L src .git/hooks -type f -delete", Protection::Git),
            ("find .tiller .mcp.json -delete", Protection::Project),
            ("find .git -exec rm -rf {} +", Protection::Git),
            ("find src .git -exec sh -c 'rm {}' \\;", Protection::Git),
            ("find .git/hooks -exec chmod +x {} +", Protection::Git),
            ("find .git/hooks -exec sed -i s/a/b/ {} +", Protection::Git),
            ("find . .git -exec cp x {}/hooks \\;", Protection::Git),
            ("find .git | xargs rm -rf", Protection::Git),
            ("find .git -print0 | grep -z x | xargs -0 -I% sh -c 'rm %'", Protection::Git),
            ("ls .git/hooks/* | xargs rm", Protection::Git),
            ("cd .git && find hooks -delete", Protection::Git),
            ("cd sub && find ../.mcp.json -exec sed -i s/a/b/ {} +", Protection::Project),
            ("fd -H . .git -X rm -rf", Protection::Git),
            ("fd . .git -x tee {//}/config", Protection::Git),
            ("fd . .git | xargs rm", Protection::Git),
            ("ls ~/.ssh/* | xargs rm -f", Protection::Home),
            ("find ~/.bashrc -exec sed -i s/a/b/ {} +", Protection::Home),
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(expected.reason()), "{line}");
        }
        for line in [
            "find .git -type f -exec cat {} +",
            "find .git -name config -exec cp {} /tmp/x \\;",
            "find .git | xargs ls -l; ls .git | xargs echo",
            "find . -name '*.so' -exec ln -s {} lib/ \\;",
            "find . -name '*.rs' -exec sed -i s/a/b/ {} +",
            "find src /tmp/x -name '*.rs' | xargs sed -i s/a/b/",
            "fd -e rs . src -x touch",
            "ls src/*.rs | xargs touch",
        ] {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }

    #[test]
    fn find_that_runs_harmless_command_is_free() {
        for line in [
            "find /tmp/x -delete",
            "find . -name '*.rs'",
            "find . -exec grep -n rm {} +",
            "find . -exec sh -c 'grep rm \"$1\"' _ {} \\;",
            "find build -exec sh -c 'rm -rf {}' +",
            "find build -exec rm {} +",
            "find build -type d | xargs rm -rf",
            "find . -name '*.orig' | xargs rm -f",
            "find . -name '*.rs' | xargs grep -r rm",
            "find . -name '*.rs' | xargs -I {} cp -r {} rm",
            "ls build | xargs rm -f; find . -name x",
            "git ls-files | xargs sed -i s/a/b/",
            "xargs",
            "find . -exec git log {} \\; -name reset --hard",
            "find . -type f -exec chmod u+w {} \\; -exec ls -l {} \\;",
        ] {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }
}
