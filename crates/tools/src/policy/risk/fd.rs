//! Judges `fd`, also called `fdfind`: the files that it deletes and the commands that it runs.

use std::slice::from_ref;

use super::arguments::{has_flag, values};
use super::command_context::CommandContext;
use super::find;
use super::kind::{Risk, RiskKind};

/// Options followed by a command, up to `;`: the letters, and the long names (fd 10.3).
const RUNNERS: [(char, &str); 2] = [('x', "--exec"), ('X', "--exec-batch")];

/// Letters of the options whose value is the rest of the word or the next one.
const WITH_VALUES: &str = "cCdeEjoStT";

/// Long options whose value may be the next word.
const LONG_WITH_VALUES: &[&str] = &[
    "--and",
    "--base-directory",
    "--batch-size",
    "--changed-before",
    "--changed-within",
    "--color",
    "--exact-depth",
    "--exclude",
    "--extension",
    "--format",
    "--ignore-file",
    "--max-depth",
    "--max-results",
    "--min-depth",
    "--owner",
    "--path-separator",
    "--search-path",
    "--size",
    "--threads",
    "--type",
];

/// Placeholders of a found file's path, and of parts with its directory (fd 10.3). The simplest one is the last, because
/// a found file contains it.
const PLACEHOLDERS: &[&str] = &["{//}", "{.}", "{}"];

/// The name of an environment file.
const ENVIRONMENT_FILE: &str = ".env";

/// The words of a command before its actions.
#[derive(Default)]
struct Search<'a> {
    operands: Vec<&'a str>,
    /// True if an option restricts the files by more than their directory.
    is_selective: bool,
}

/// Lists the commands that `fd` runs, each with the placeholder of the file that it appends to them.
pub(super) fn list_run_commands(arguments: &[String]) -> Vec<Vec<String>> {
    let (mut runs, mut rest) = (Vec::new(), arguments);
    while let Some((at, joined)) = find_runner(rest) {
        rest = &rest[at + 1..];
        let end = rest.iter().position(|word| word == ";").unwrap_or(rest.len());
        let mut words: Vec<String> = joined.into_iter().map(str::to_owned).collect();
        words.extend(rest[..end].iter().cloned());
        if !words.iter().any(|word| word.contains('{')) {
            words.push("{}".to_owned());
        }
        runs.push(words);
        rest = &rest[end..];
    }
    runs
}

/// Lists the commands that `fd` runs, with the searched paths in place of the placeholders.
pub(super) fn list_runs_on_searched(arguments: &[String]) -> Vec<Vec<String>> {
    let found = find::list_found(&list_searched(arguments));
    let insert = |words: Vec<String>, placeholder: &&str| find::insert(&words, placeholder, &found);
    list_run_commands(arguments).into_iter().map(|words| PLACEHOLDERS.iter().fold(words, insert)).collect()
}

/// Finds the first option for a command: its index, and the program if it is joined with it.
fn find_runner(arguments: &[String]) -> Option<(usize, Option<&str>)> {
    arguments.iter().enumerate().find_map(|(at, word)| {
        let joined = RUNNERS.iter().find_map(|(letter, long)| runner_value(word, *letter, long))?;
        Some((at, Some(joined.trim_start_matches('=')).filter(|program| !program.is_empty())))
    })
}

/// Returns the text after an option for a command.
fn runner_value<'a>(word: &'a str, letter: char, long: &str) -> Option<&'a str> {
    if word.starts_with("--") {
        return word.strip_prefix(long).filter(|rest| rest.is_empty() || rest.starts_with('='));
    }
    let (flags, value) = word.strip_prefix('-')?.split_once(letter)?;
    (!flags.contains(|c| WITH_VALUES.contains(c))).then_some(value)
}

/// Finds the risk of deleting the files that `fd` selects, as for `find`.
pub(super) fn judge_deleted(arguments: &[String], context: CommandContext<'_>) -> Option<Risk> {
    let is_deleted = list_run_commands(arguments).iter().any(|words| find::deletes(words, |_| true));
    if !is_deleted {
        return None;
    }
    let search = read_search(arguments);
    let takes_all = !search.is_selective
        && search.operands.first().is_none_or(|pattern| ["", ".", ".*", "*"].contains(pattern));
    let searched = list_searched(arguments);
    let mut essential = searched.iter().filter(|path| takes_all && context.is_essential(path));
    let (kind, path) = match essential.next() {
        Some(path) => (RiskKind::Destroys, path),
        None => (RiskKind::Dangerous, searched.iter().find(|path| context.leads_out(path))?),
    };
    Some(Risk::new(kind, format!("deletes files found under {path}")))
}

/// Lists the directories that `fd` searches.
pub(super) fn list_searched(arguments: &[String]) -> Vec<&str> {
    let before = before_runner(arguments);
    let named = values(before, 'C', "base-directory").chain(values(before, '\0', "search-path"));
    let operands = read_search(arguments).operands;
    let searched: Vec<&str> = operands.into_iter().skip(1).chain(named).collect();
    if searched.is_empty() { vec!["."] } else { searched }
}

/// Lists the patterns of names: regular expressions without their anchors and escapes. Among hidden files, a part of
/// `.env` is a pattern for it.
pub(super) fn list_patterns(arguments: &[String]) -> Vec<String> {
    let before = before_runner(arguments);
    let shows_hidden = has_flag(before, 'H', "hidden") || has_flag(before, 'u', "unrestricted");
    let patterns = read_search(arguments).operands.into_iter().take(1).chain(values(before, '\0', "and"));
    let whole = |pattern: &str| {
        let plain = pattern.replace(['^', '$', '\\'], "");
        let is_part = shows_hidden && plain.len() > 1 && ENVIRONMENT_FILE.contains(&plain);
        if is_part { ENVIRONMENT_FILE.to_owned() } else { plain }
    };
    patterns.map(whole).collect()
}

/// Returns the arguments before the first command.
pub(super) fn before_runner(arguments: &[String]) -> &[String] {
    let end = find_runner(arguments).map_or(arguments.len(), |(at, _)| at);
    &arguments[..end]
}

fn read_search(arguments: &[String]) -> Search<'_> {
    let mut search = Search::default();
    let mut words = before_runner(arguments).iter();
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            search.operands.push(word);
            continue;
        };
        let takes_next = LONG_WITH_VALUES.contains(&word.as_str())
            || (!word.starts_with("--")
                && letters.find(|c| WITH_VALUES.contains(c)) == Some(letters.len() - 1));
        search.is_selective |=
            takes_next || letters.contains('=') || has_flag(from_ref(word), 'p', "full-path");
        if takes_next {
            words.next();
        }
    }
    search
}

#[cfg(test)]
mod tests {
    use super::super::{RiskKind, risk_and_kind, risk_in_work};

    #[test]
    fn fd_command_for_each_file_is_judged() {
        for (line, expected) in [
            ("fd -e o -x sudo rm", "runs as another user (sudo)"),
            ("fd -e o . build -X rm ../x", "writes outside the working directory: ../x"),
            ("fdfind x --exec sudo ls", "runs as another user (sudo)"),
            ("fd x --exec-batch=sudo ls", "runs as another user (sudo)"),
            ("fd -Hx sudo ls", "runs as another user (sudo)"),
            ("fd -xsudo ls", "runs as another user (sudo)"),
            ("fd x -x ls ';' -x sudo ls", "runs as another user (sudo)"),
            ("fd x -x sh -c 'sudo rm {}'", "runs as another user (sudo)"),
            ("fd x -x $CMD", "runs a command that can't be determined: $CMD"),
            ("fd x -X git", "runs a command that can't be determined: git {}"),
            ("fd -x rm", "deletes files found under ."),
            ("fd x .. -X rm -rf", "deletes files found under .."),
            ("fd --search-path ../y x -x rm", "deletes files found under ../y"),
            ("fd --base-directory ~/x y -x sh -c 'rm {}'", "deletes files found under ~/x"),
            ("fd -d 2 x / -x rm", "deletes files found under /"),
            ("fd . / -X rm -rf", "deletes files found under /"),
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(expected), "{line}");
        }
        let kind = |line| risk_and_kind(line).map(|risk| risk.kind);
        assert_eq!(kind("fd . / -X rm -rf"), Some(RiskKind::Destroys));
        assert_eq!(kind("fd -H . ~ -x rm -rf {}"), Some(RiskKind::Destroys));
        assert_eq!(kind("fd x / -X rm -rf"), Some(RiskKind::Dangerous));
        assert_eq!(kind("fd -e o . / -X rm -rf"), Some(RiskKind::Dangerous));
    }

    #[test]
    fn fd_with_harmless_command_is_free() {
        for line in [
            "fd",
            "fd -e rs",
            "fd -e rs -x wc -l",
            "fd -H config . --type f",
            "fd -e txt -X grep -n foo",
            "fd -e o . build -x rm",
            "fd x -x sh -c 'grep rm {}'",
            "fd -t x sudo",
            "fd test -x bash {}",
        ] {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }
}
