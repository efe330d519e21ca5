//! Finds commands whose program isn't known before they run.

use super::super::shell::{self, Segment};
use super::arguments::{
    SHELLS, base_name, is_assignment, line_of_shell, list_program_words, program, targets,
};
use super::command_context::CommandContext;
use super::variables::{Variable, is_fixed_dir, is_reference, is_word_known, strip_fixed};
use super::{download, git_data_loss, runners, xargs};

/// Returns the reason it is unknown what a command runs: a word that names a program comes from a variable or a
/// substitution or is a pattern, or a shell or an interpreter runs the output of another command.
pub(super) fn find_unknown(words: &[String], context: CommandContext<'_>) -> Option<String> {
    if only_looks_up(words) {
        return None;
    }
    let variables = context.variables;
    let (name, arguments) = program(words);
    if let Some(word) = list_program_words(words).into_iter().find(|word| is_unknown(word, context)) {
        return Some(undetermined(word));
    }
    let started = runners::find_started(name, arguments);
    let mut candidates = started.iter().flat_map(|started| started.candidates.iter().copied());
    if let Some(reason) = candidates.find_map(|word| find_unknown_run(word, context)) {
        return Some(reason);
    }
    let first = words.iter().find(|word| !is_assignment(word))?;
    match name {
        "eval" if arguments.iter().any(|word| word.contains('$')) => {
            Some("runs a command that can't be determined (eval)".into())
        }
        "git" => {
            find_unknown_subcommand(arguments, variables).map(|word| undetermined(&format!("git {word}")))
        }
        _ if download::takes_program_from_substitution(name, arguments) => {
            Some(format!("executes the output of another command ({name})"))
        }
        "." | "source" => list_sourced(arguments)
            .find(|word| is_script_unknown(word, context))
            .map(|word| undetermined(&format!("{name} {word}"))),
        _ if xargs::takes_line_from_input(words) => {
            Some("executes the output of another command (xargs)".into())
        }
        "" | "::::" if base_name(first) == "parallel" => {
            Some("executes the output of another command (parallel)".into())
        }
        _ if download::takes_script(name) => {
            find_unknown_script(name, arguments, context).map(|word| undetermined(&format!("{name} {word}")))
        }
        _ => None,
    }
}

fn undetermined(command: &str) -> String {
    format!("runs a command that can't be determined: {command}")
}

/// Returns the reason it is unknown what a word runs that may be a program or a line for a shell. The home directory
/// and the current one are neither.
fn find_unknown_run(word: &str, context: CommandContext<'_>) -> Option<String> {
    if word.contains(char::is_whitespace) {
        let of_segment = |segment: &Segment| {
            find_unknown(&segment.words, CommandContext { quoted: &segment.quoted, ..context })
        };
        return shell::segments(word).iter().find_map(of_segment);
    }
    let is_run = is_unknown(word, context) && !is_fixed_dir(word, context.variables);
    is_run.then(|| undetermined(word))
}

/// Iterates over the words that may name the file whose commands a shell reads: the first one, or all after an option.
fn list_sourced(arguments: &[String]) -> impl Iterator<Item = &String> {
    let has_option = arguments.first().is_some_and(|word| word.starts_with('-'));
    arguments.iter().take(if has_option { arguments.len() } else { 1 })
}

/// Returns the code or the script of a shell or an interpreter if it isn't known: code that is only a variable, or a
/// script whose name has one. A shell's operands are arguments if it has a line or reads one from its input (`-s`).
fn find_unknown_script<'a>(
    name: &str,
    arguments: &'a [String],
    context: CommandContext<'_>,
) -> Option<&'a str> {
    let reads_line = || line_of_shell(arguments).is_some() || arguments.iter().any(|word| word == "-s");
    if SHELLS.contains(&name) && reads_line() {
        return None;
    }
    match arguments.iter().position(|word| download::is_code_flag(name, word)) {
        Some(at) => {
            let code = arguments.get(at + 1)?;
            (is_reference(code) && !is_word_known(code, context.variables)).then_some(code)
        }
        None => {
            let script = targets(arguments).next()?;
            (script.contains('$') && is_script_unknown(script, context)).then_some(script)
        }
    }
}

/// Returns true if a variable or a substitution may decide which file a word names. Its directory may be unknown:
/// `"$NVM_DIR/nvm.sh"`.
fn is_script_unknown(word: &str, context: CommandContext<'_>) -> bool {
    let is_fixed = !base_name(word).contains(['$', '`', '*', '?', '[']) && word.contains('/');
    !is_fixed && is_unknown(word, context)
}

/// Returns the reason it is unknown what a command with a pipe as its input runs.
pub(super) fn find_unknown_input(segment: &Segment) -> Option<String> {
    let (name, arguments) = program(&segment.words);
    let runs = runners::list_run_commands(name, arguments);
    let runs = runs.iter().filter(|_| !runners::is_container(name)).map(|words| program(words));
    let mut takers = [(name, arguments)].into_iter().chain(runs);
    // `uv run -`
    let starts_input = |name: &str, arguments: &[String]| {
        let started = runners::find_started(name, arguments);
        started.is_some_and(|started| started.candidates.iter().any(|word| download::is_input(word)))
    };
    let (name, _) = takers.find(|(name, arguments)| {
        download::takes_program_from_input(name, arguments) || starts_input(name, arguments)
    })?;
    segment.reads_pipe.then(|| format!("executes the output of another command ({name})"))
}

/// Returns the subcommand of git if it isn't known: the arguments of git decide what it does.
fn find_unknown_subcommand<'a>(arguments: &'a [String], variables: &[Variable]) -> Option<&'a str> {
    let (word, _) = git_data_loss::split_command(arguments)?;
    let is_name = word.starts_with(|c: char| c.is_alphabetic() || c == '$');
    (!is_name || is_pattern(word) || !is_word_known(word, variables)).then_some(word)
}

/// Returns true for `command -v NAME`, which runs nothing.
fn only_looks_up(words: &[String]) -> bool {
    let [first, option, ..] = words else { return false };
    first == "command" && option.starts_with('-') && option.contains(['v', 'V'])
}

/// Returns true if a variable, a substitution or a pattern decides what a word names. A name in quotes, `'x[y]'`, isn't a
/// pattern, but a path may be one for a shell that another program starts.
fn is_unknown(word: &str, context: CommandContext<'_>) -> bool {
    let name = strip_fixed(word, context.variables);
    let is_variable = name.contains(['$', '`']) && !is_word_known(name, context.variables);
    let is_quoted = |quoted: &String| {
        quoted.strip_suffix(word).is_some_and(|before| before.is_empty() || before.ends_with('='))
    };
    let is_plain = || !name.contains('/') && context.quoted.iter().any(is_quoted);
    is_variable || (!name.contains('$') && is_pattern(name) && !is_plain())
}

/// Checks whether a word is a pattern, for which the shell inserts the names of files. `[` and `[[` are commands.
fn is_pattern(word: &str) -> bool {
    word.contains(['*', '?']) || (word.contains('[') && !word.ends_with('['))
}

#[cfg(test)]
mod tests {
    use super::super::risk_in_work;

    #[test]
    fn script_or_code_from_variable_asks() {
        for (line, word) in [
            ("source $X/$Y", "source $X/$Y"),
            ("bash \"$X\"", "bash $X"),
            ("sh -x $X/$Y a", "sh $X/$Y"),
            ("python3 \"$X\"", "python3 $X"),
            ("python3 -u -c \"$X\"", "python3 $X"),
            ("node -e \"$X\"", "node $X"),
            ("uv run python \"$X\"", "python $X"),
        ] {
            let expected = format!("runs a command that can't be determined: {word}");
            assert_eq!(risk_in_work(line), Some(expected), "{line}");
        }
    }
}
