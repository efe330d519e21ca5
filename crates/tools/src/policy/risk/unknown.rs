//! Finds commands whose program isn't known before they run.

use super::super::shell::Segment;
use super::arguments::{base_name, is_assignment, program};
use super::variables::{Variable, is_word_known, strip_fixed};
use super::{download, find};

/// Returns the reason it is unknown what a command runs: its program comes from a variable or a substitution,
/// or it is a shell or an interpreter that runs the output of another command.
pub(super) fn find_unknown(segment: &Segment, variables: &[Variable]) -> Option<String> {
    let words = &segment.words;
    let command = words.iter().find(|word| !is_assignment(word))?;
    let name = strip_fixed(command, variables);
    let is_variable = name.contains(['$', '`']) && !is_word_known(name, variables);
    if is_variable || (!name.contains('$') && is_pattern(name)) {
        return Some(format!("runs a command that can't be determined: {command}"));
    }
    let (name, arguments) = program(words);
    match name {
        "eval" if arguments.iter().any(|word| word.contains('$')) => {
            Some("runs a command that can't be determined (eval)".into())
        }
        _ if download::takes_program_from_substitution(name, arguments) => {
            Some(format!("executes the output of another command ({name})"))
        }
        _ if find::takes_line_from_input(words) => {
            Some("executes the output of another command (xargs)".into())
        }
        "" if base_name(command) == "parallel" => {
            Some("executes the output of another command (parallel)".into())
        }
        _ if segment.reads_pipe && download::takes_program_from_input(name, arguments) => {
            Some(format!("executes the output of another command ({name})"))
        }
        _ => None,
    }
}

/// Checks whether a word is a pattern, for which the shell inserts the names of files. `[` and `[[` are commands.
fn is_pattern(word: &str) -> bool {
    word.contains(['*', '?']) || (word.contains('[') && !word.ends_with('['))
}
