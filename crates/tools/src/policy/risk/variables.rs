//! The variables that a command line sets, and paths that start with a variable.

use super::super::shell::{SUBSTITUTION, Segment};
use super::arguments::{has_flag, is_assignment, program, values};

/// Directories for temporary files.
pub(super) const TEMPORARY: &[&str] = &["/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/dev/shm"];

/// A variable that a line sets, with its values.
#[derive(Clone, Debug)]
pub(in crate::policy) struct Variable {
    name: String,
    values: Vec<String>,
}

/// Lists the variables that the commands of a line set: by assignments, and by loops over words. In a line that changes
/// the directory, an assigned one (`X=$PWD`) isn't known.
pub(super) fn list_variables(segments: &[Segment]) -> Vec<Variable> {
    let changes_dir = |segment: &Segment| ["cd", "popd", "pushd"].contains(&program(&segment.words).0);
    let is_moved = segments.iter().any(changes_dir);
    let mut variables = Vec::new();
    for segment in segments {
        for word in segment.words.iter().filter(|word| is_assignment(word)) {
            let Some((name, value)) = word.split_once('=') else { continue };
            let temporary = || find_temporary(segment, segments);
            let value = match value {
                SUBSTITUTION => temporary().unwrap_or(value),
                _ if is_moved && (value.contains("$PWD") || value.contains("${PWD")) => UNKNOWN_VALUE,
                _ => value,
            };
            // The existing text that a value is appended to isn't known.
            let value =
                if name.ends_with('+') { format!("{UNKNOWN_VALUE}{value}") } else { value.to_owned() };
            let name = name.trim_end_matches('+').to_owned();
            variables.push(Variable { name, values: vec![value] });
        }
        variables.extend(list_read_variables(&segment.words));
        let loop_variable = find_loop(segment);
        variables.extend(
            loop_variable.map(|(name, values)| Variable { name: name.to_owned(), values: values.to_vec() }),
        );
    }
    variables
}

/// The path that `mktemp` prints: a new one in a directory for temporary files.
const NEW_TEMPORARY: &str = "/tmp/tmp.XXXXXXXXXX";

/// The path that a substitution with `mktemp` among other commands prints.
const UNKNOWN_TEMPORARY: &str = "/tmp/$(…)";

/// Returns true for a command that prints a new path of its own choice.
fn names_temporary(words: &[String]) -> bool {
    let (name, arguments) = program(words);
    name == "mktemp" && arguments.iter().all(|word| ["-d", "-q", "--directory"].contains(&word.as_str()))
}

/// Returns the value of a substitution that runs `mktemp`.
fn find_temporary(segment: &Segment, segments: &[Segment]) -> Option<&'static str> {
    let same_statement = segments.iter().filter(|other| other.statement == segment.statement);
    let others: Vec<bool> = same_statement
        .filter(|other| !std::ptr::eq(*other, segment))
        .map(|other| names_temporary(&other.words))
        .collect();
    match others.iter().all(|is_temporary| *is_temporary) {
        _ if !others.contains(&true) => None,
        true => Some(NEW_TEMPORARY),
        false => Some(UNKNOWN_TEMPORARY),
    }
}

/// Returns the variable of a loop over words, and the words.
fn find_loop(segment: &Segment) -> Option<(&str, &[String])> {
    match segment.words.as_slice() {
        [first, name, second, values @ ..] if first == "for" && second == "in" => Some((name, values)),
        _ => None,
    }
}

/// The value of a variable that is set, but to an unknown value.
const UNKNOWN_VALUE: &str = SUBSTITUTION;

/// Lists the variables whose values a command reads or computes: `read X`, `printf -v X`, `declare -n X=Y`.
fn list_read_variables(words: &[String]) -> Vec<Variable> {
    let (name, arguments) = program(words);
    let names: Vec<&str> = match name {
        "getopts" | "mapfile" | "read" | "readarray" | "unset" => {
            arguments.iter().map(String::as_str).collect()
        }
        "printf" => values(arguments, 'v', "v").collect(),
        "declare" | "local" | "typeset" if has_flag(arguments, 'n', "n") => {
            arguments.iter().filter_map(|word| Some(word.split_once('=')?.0)).collect()
        }
        _ => Vec::new(),
    };
    let unknown = |name: &str| Variable { name: name.to_owned(), values: vec![UNKNOWN_VALUE.to_owned()] };
    names.into_iter().filter(|name| name.chars().all(is_name_character)).map(unknown).collect()
}

const fn is_name_character(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// Lists the variants of a line's commands: as written, because a variable may not be set yet, then with each of its
/// variables' values and with the default values of others. Values with blanks are also split into words, because the
/// quotes around a variable aren't known here.
pub(super) fn list_variants(segments: &[Segment], variables: &[Variable]) -> Vec<Vec<Segment>> {
    let mut lines = vec![segments.to_vec()];
    let expanded: Vec<Vec<Segment>> =
        segments.iter().map(|segment| expand_segment(segment, variables)).collect();
    let count = expanded.iter().map(Vec::len).max().unwrap_or_default();
    lines.extend((0..count).map(|at| {
        let forms = segments.iter().zip(&expanded);
        forms.map(|(written, forms)| forms.get(at).or(forms.last()).unwrap_or(written).clone()).collect()
    }));
    lines
}

/// Lists the variants of a command with known variables replaced; none if it names no such variable.
fn expand_segment(segment: &Segment, variables: &[Variable]) -> Vec<Segment> {
    let expand = |word: &String| -> Vec<String> {
        let values = expand_word(&insert_defaults(word), variables);
        values.iter().map(|value| insert_defaults(value)).collect()
    };
    let expand = |words: &[String]| -> Vec<Vec<String>> { words.iter().map(expand).collect() };
    let parts = [&segment.words, &segment.outputs, &segment.inputs].map(|words| expand(words));
    let count = parts.iter().flatten().map(Vec::len).max().unwrap_or_default();
    let nth = |forms: &[Vec<String>], at: usize| -> Vec<String> {
        forms.iter().filter_map(|forms| forms.get(at).or(forms.last())).cloned().collect()
    };
    let mut expanded = Vec::new();
    for at in 0..count {
        let [words, outputs, inputs] = [0, 1, 2].map(|part| nth(&parts[part], at));
        let changed: Vec<&String> = words
            .iter()
            .zip(&segment.words)
            .filter(|(word, written)| word != written)
            .map(|it| it.0)
            .collect();
        let is_changed = |text: &String| {
            changed.iter().any(|word| *word == text || word.split_whitespace().any(|part| part == text))
        };
        let quoted: Vec<String> = segment.quoted.iter().filter(|text| !is_changed(text)).cloned().collect();
        let split: Vec<String> =
            words.iter().zip(&segment.words).flat_map(|(word, written)| split_value(word, written)).collect();
        let whole = Segment { words, quoted, outputs, inputs, ..segment.clone() };
        let split = Segment { words: split, ..whole.clone() };
        expanded.extend([whole, split]);
    }
    expanded.dedup();
    expanded.retain(|form| form != segment);
    expanded
}

/// Replaces the references to variables that have a default value (`${X:-a}`) with this value.
fn insert_defaults(word: &str) -> String {
    let Some((before, rest)) = word.split_once("${") else { return word.to_owned() };
    let name = rest.trim_start_matches(is_name_character);
    let value = name.strip_prefix(':').unwrap_or(name).strip_prefix(['-', '=']);
    match value.filter(|_| name.len() < rest.len()).and_then(|value| value.split_once('}')) {
        Some((value, after)) => format!("{before}{value}{}", insert_defaults(after)),
        None => format!("{before}${{{}", insert_defaults(rest)),
    }
}

/// Splits a word at its blanks if a variable has changed it. The parentheses of an array aren't part of its
/// values.
fn split_value(word: &str, written: &str) -> Vec<String> {
    if word == written || !word.contains(char::is_whitespace) {
        return vec![word.to_owned()];
    }
    word.split_whitespace().map(str::to_owned).collect()
}

/// Maximum number of variants of a word.
const MAX_VARIANTS: usize = 32;

/// Lists the possible values of a word, with the variables that the line sets replaced with their values.
/// Other variables aren't replaced: `$HOME`.
pub(super) fn expand_word(word: &str, variables: &[Variable]) -> Vec<String> {
    let mut forms = vec![word.to_owned()];
    for _ in 0..EXPANSIONS {
        let next: Vec<String> =
            forms.iter().flat_map(|form| replace_first(form, variables)).take(MAX_VARIANTS).collect();
        if next == forms {
            break;
        }
        forms = next;
    }
    forms
}

/// Replaces the first variable that the line sets with each of its values.
fn replace_first(word: &str, variables: &[Variable]) -> Vec<String> {
    for (at, _) in word.match_indices('$') {
        let Some((name, length)) = read_reference(&word[at..]) else { continue };
        let known = variables.iter().filter(|variable| variable.name == name && !is_fixed(name));
        let known: Vec<&String> = known.flat_map(|variable| &variable.values).collect();
        if known.is_empty() || known.iter().any(|value| value.contains(&format!("${name}"))) {
            continue;
        }
        let (before, after) = (&word[..at], &word[at + length..]);
        let elements = |value: &str| {
            let inner = value.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
            inner.unwrap_or(value).to_owned()
        };
        return known.into_iter().map(|value| format!("{before}{}{after}", elements(value))).collect();
    }
    vec![word.to_owned()]
}

/// Returns true for a variable that path resolution handles.
fn is_fixed(name: &str) -> bool {
    ["HOME", "PWD"].contains(&name)
}

/// Returns true if a line sets a variable that path resolution takes for the shell's own.
pub(super) fn sets_fixed(variables: &[Variable]) -> bool {
    variables.iter().any(|variable| is_fixed(&variable.name))
}

/// Strips the home directory or the current directory from the start of a path: `$HOME/x`. Returns other words
/// unchanged.
pub(super) fn strip_fixed<'a>(word: &'a str, variables: &[Variable]) -> &'a str {
    let reference = read_reference(word).filter(|(name, _)| is_fixed(name) && !sets_fixed(variables));
    let rest = reference.map(|(_, length)| &word[length..]).filter(|rest| rest.starts_with('/'));
    rest.unwrap_or(word)
}

/// Returns true for the home directory or the current directory.
pub(super) fn is_fixed_dir(word: &str, variables: &[Variable]) -> bool {
    let reference = read_reference(word).filter(|(name, _)| is_fixed(name) && !sets_fixed(variables));
    reference.is_some_and(|(_, length)| length == word.len())
}

/// Reads a plain reference at the start of a string, `$X`, `${X}` or `${X[@]}`, and returns the name and the
/// length of the reference. A reference with an operator, such as `${X#a}`, changes the value.
fn read_reference(text: &str) -> Option<(&str, usize)> {
    let rest = text.strip_prefix('$')?;
    let braced = rest.strip_prefix('{');
    let rest = braced.unwrap_or(rest);
    let name = &rest[..rest.find(|c| !is_name_character(c)).unwrap_or(rest.len())];
    if name.is_empty() {
        return None;
    }
    if braced.is_none() {
        return Some((name, 1 + name.len()));
    }
    let after = &rest[name.len()..];
    let end = after.find('}')?;
    let is_plain = end == 0 || (after.starts_with('[') && after[..end].ends_with(']'));
    is_plain.then_some((name, "${".len() + name.len() + end + 1))
}

/// Returns true for a word that is nothing but a variable.
pub(super) fn is_reference(word: &str) -> bool {
    read_reference(word).is_some_and(|(_, length)| length == word.len())
}

/// Returns true if the line's variables determine the whole value of a word.
pub(super) fn is_word_known(word: &str, variables: &[Variable]) -> bool {
    let splits_otherwise = variables.iter().any(|variable| variable.name == "IFS");
    let is_known = |text: &String| !strip_fixed(text, variables).contains(['$', '`']);
    !splits_otherwise && expand_word(word, variables).iter().all(is_known)
}

/// Replaces a variable at the start of a path with its values; `None` if they aren't known.
pub(super) fn expand(path: &str, variables: &[Variable], depth: usize) -> Option<Vec<String>> {
    let Some(rest) = path.strip_prefix('$') else { return Some(vec![path.to_owned()]) };
    let braced = rest.strip_prefix('{');
    let rest = braced.unwrap_or(rest);
    let end = rest.find(|c| !is_name_character(c)).unwrap_or(rest.len());
    let (name, suffix) = rest.split_at(end);
    let suffix = braced.map_or(suffix, |_| suffix.find('}').map_or("", |at| &suffix[at + 1..]));
    let assigned = variables.iter().filter(|variable| variable.name == name);
    let assigned: Vec<&String> = assigned.flat_map(|variable| &variable.values).collect();
    let depth = depth.checked_sub(1)?;
    if name == "TMPDIR" && assigned.is_empty() {
        return Some(vec![format!("{}{suffix}", TEMPORARY[0])]);
    }
    if is_fixed(name) || assigned.is_empty() {
        return (is_fixed(name) && assigned.is_empty()).then(|| vec![path.to_owned()]);
    }
    let values = assigned.into_iter().map(|value| expand(&format!("{value}{suffix}"), variables, depth));
    values.collect::<Option<Vec<_>>>().map(|values| values.concat())
}

/// Maximum depth of variables that name other variables.
pub(super) const EXPANSIONS: usize = 4;

#[cfg(test)]
mod tests {
    use super::super::{RiskKind, risk_and_kind};
    use super::insert_defaults;

    #[test]
    fn insert_defaults_replaces_only_defaults() {
        for (word, expected) in [
            ("${x:-/}", "/"),
            ("a${x=b}c${y-d}", "abcd"),
            ("${x} ${y#a} ${z:1} $x", "${x} ${y#a} ${z:1} $x"),
            ("${:-a} ${x:-", "${:-a} ${x:-"),
        ] {
            assert_eq!(insert_defaults(word), expected, "{word}");
        }
    }

    #[test]
    fn default_value_counts_like_a_set_one() {
        for line in ["rm -rf ${x:-/}", "rm -rf \"${x-$HOME}\"", "${R:=rm} -rf ~", "X=${Y:-/}; rm -rf $X"] {
            assert_eq!(risk_and_kind(line).map(|risk| risk.kind), Some(RiskKind::Destroys), "{line}");
        }
        let kind = risk_and_kind("rm -rf \"${DIR:-build}\"").map(|risk| risk.kind);
        assert_eq!(kind, Some(RiskKind::Dangerous));
    }

    #[test]
    fn pattern_that_may_match_system_dir_destroys() {
        for line in
            ["rm -rf /u*", "rm -rf /[a-z]*", "rm -rf /h*/me", "chmod -R 777 /?sr/lib", "find /e*c -delete"]
        {
            assert_eq!(risk_and_kind(line).map(|risk| risk.kind), Some(RiskKind::Destroys), "{line}");
        }
        let kind = risk_and_kind("rm -rf /srv/x*").map(|risk| risk.kind);
        assert_eq!(kind, Some(RiskKind::Dangerous));
        assert_eq!(risk_and_kind("rm -rf build/[a-z]* /tmp/[a-z]*"), None);
    }
}
