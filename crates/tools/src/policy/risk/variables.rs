//! The variables that a command line sets, and the paths that begin with one.

use super::super::shell::Segment;
use super::arguments::{is_assignment, program};

/// Directories for temporary files.
pub(super) const TEMPORARY: &[&str] = &["/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/dev/shm"];

/// A variable that a line sets, and its values.
#[derive(Debug)]
pub(in crate::policy) struct Variable {
    name: String,
    values: Vec<String>,
}

/// Lists the variables that the commands of a line set: by assignments, and by loops over words.
pub(super) fn list_variables(segments: &[Segment]) -> Vec<Variable> {
    let mut variables = Vec::new();
    for segment in segments {
        let makes_temporary = || {
            let mut same_statement = segments.iter().filter(|other| other.statement == segment.statement);
            same_statement.any(|other| program(&other.words).0 == "mktemp")
        };
        for word in segment.words.iter().filter(|word| is_assignment(word)) {
            let Some((name, value)) = word.split_once('=') else { continue };
            let value = if value == "$(…)" && makes_temporary() { TEMPORARY[0] } else { value };
            let name = name.trim_end_matches('+').to_owned();
            variables.push(Variable { name, values: vec![value.to_owned()] });
        }
        let words = segment.words.iter().map(String::as_str).collect::<Vec<_>>();
        if let Some(at) = words.iter().position(|word| *word == "for")
            && let [name, "in", values @ ..] = &words[at + 1..]
        {
            let values = values.iter().map(|value| (*value).to_owned()).collect();
            variables.push(Variable { name: (*name).to_owned(), values });
        }
    }
    variables
}

/// Replaces a variable at the beginning of a path by its values; `None` if they aren't known.
pub(super) fn expand(path: &str, variables: &[Variable], depth: usize) -> Option<Vec<String>> {
    let Some(rest) = path.strip_prefix('$') else { return Some(vec![path.to_owned()]) };
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let braced = rest.strip_prefix('{');
    let rest = braced.unwrap_or(rest);
    let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
    let (name, suffix) = rest.split_at(end);
    let suffix = braced.map_or(suffix, |_| suffix.find('}').map_or("", |at| &suffix[at + 1..]));
    let assigned = variables.iter().filter(|variable| variable.name == name);
    let assigned: Vec<&String> = assigned.flat_map(|variable| &variable.values).collect();
    let depth = depth.checked_sub(1)?;
    if name == "TMPDIR" && assigned.is_empty() {
        return Some(vec![format!("{}{suffix}", TEMPORARY[0])]);
    }
    if ["HOME", "PWD"].contains(&name) || assigned.is_empty() {
        return None;
    }
    let values = assigned.into_iter().map(|value| expand(&format!("{value}{suffix}"), variables, depth));
    values.collect::<Option<Vec<_>>>().map(|values| values.concat())
}

/// Maximum depth of variables that name other variables.
pub(super) const EXPANSIONS: usize = 4;
