//! The commands that xargs runs with the output of the command before it.

use super::super::shell::{self, SUBSTITUTION, Segment, WILDCARDS};
use super::arguments::{
    SHELLS, base_name, has_flag, is_command_flag, is_recursive, line_of_shell, program, targets,
};
use super::command_context::CommandContext;
use super::kind::{Risk, RiskKind};
use super::{fd, find};

/// Options of xargs whose value is the next word (`xargs --help`, GNU findutils 4.10).
const WITH_VALUES: &[&str] = &["-a", "-d", "-E", "-I", "-L", "-n", "-P", "-s"];

/// Finds the risk of an `xargs` after a `find` that deletes the working directory or something outside it. An
/// `rm` without `-r` is allowed, as with named files, unless it gets all files of a system or a home
/// directory.
pub(super) fn judge_xargs(segments: &[Segment], context: CommandContext<'_>) -> Option<Risk> {
    let searched = segments.iter().enumerate().find_map(|(at, segment)| {
        let ("find", arguments) = program(&segment.words) else { return None };
        Some((at, find::find_deleted(arguments, context)?))
    });
    let (at, risk) = searched?;
    let rest = &segments[at + 1..];
    let gets_all = rest.first().is_some_and(|next| !find_xargs_command(&next.words).is_empty());
    let is_deleted = |all: fn(&[String]) -> bool| {
        rest.iter().any(|segment| find::deletes(find_xargs_command(&segment.words), all))
    };
    match risk.kind {
        RiskKind::Destroys if gets_all && is_deleted(|_| true) => Some(risk),
        _ => is_deleted(is_recursive).then(|| Risk::dangerous(risk.reason)),
    }
}

/// Returns the command of an xargs with an operand that isn't known. After a `find`, its operands are what it finds.
pub(super) fn add_unknown_operand(segment: &Segment, before: &[Segment]) -> Option<Vec<String>> {
    let command = find_xargs_command(&segment.words);
    let mut same_statement = before.iter().filter(|other| other.statement == segment.statement);
    if command.is_empty() || same_statement.any(|other| program(&other.words).0 == "find") {
        return None;
    }
    Some(add_operands(segment, &[SUBSTITUTION.to_owned()]))
}

/// Returns the command of an xargs with the operands that a command before it prints: an `echo` or `printf`, or one
/// that lists files.
pub(super) fn add_printed_operands(segment: &Segment, before: &[Segment]) -> Option<Vec<String>> {
    let command = find_xargs_command(&segment.words);
    let same_statement = before.iter().filter(|other| other.statement == segment.statement);
    let mut printed: Vec<String> = same_statement.flat_map(|other| list_files(&other.words)).collect();
    let printer = before.last().filter(|other| other.statement == segment.statement);
    if let Some(("echo" | "printf", words)) = printer.map(|printer| program(&printer.words)) {
        printed.extend(words.join(" ").replace("\\n", " ").split_whitespace().map(str::to_owned));
    }
    if command.is_empty() || printed.is_empty() {
        return None;
    }
    Some(add_operands(segment, &printed))
}

/// Returns the command of an xargs with operands, in the place of its placeholder or at the end.
fn add_operands(segment: &Segment, operands: &[String]) -> Vec<String> {
    let command = find_xargs_command(&segment.words);
    let options = &segment.words[..segment.words.len() - command.len()];
    match find_replaced(options) {
        Some(text) => command.iter().map(|word| word.replace(&text, &operands.join(" "))).collect(),
        None => [command, operands].concat(),
    }
}

/// Lists the paths that a command finds or lists.
fn list_files(words: &[String]) -> Vec<String> {
    let (name, arguments) = program(words);
    match name {
        "fd" | "fdfind" => find::list_found(&fd::list_searched(arguments)),
        "find" => find::list_found(&find::list_searched(arguments)),
        // Otherwise, only names are printed.
        "ls" => {
            let prints_path = |word: &&str| word.contains(WILDCARDS) || has_flag(arguments, 'd', "directory");
            let paths = targets(arguments).map(String::as_str).filter(prints_path);
            find::list_found(&paths.collect::<Vec<_>>())
        }
        _ => Vec::new(),
    }
}

/// Returns true if an xargs builds its command from the input: the program, the line of a shell, or a part of
/// the line that names a program.
pub(super) fn takes_line_from_input(words: &[String]) -> bool {
    let command = find_xargs_command(words);
    let replaced = find_replaced(&words[..words.len() - command.len()]);
    let is_replaced = |word: &String| replaced.as_ref().is_some_and(|text| word.contains(text));
    let names_program = |words: &[String]| {
        let (name, arguments) = program(words);
        is_replaced(&name.to_owned()) || (name == "eval" && arguments.iter().any(is_replaced))
    };
    let (name, arguments) = program(command);
    let is_shell = SHELLS.contains(&name);
    match line_of_shell(arguments).filter(|_| is_shell) {
        Some(line) => shell::segments(line).iter().any(|segment| names_program(&segment.words)),
        None if name.is_empty() => !command.is_empty(),
        None => names_program(command) || (is_shell && arguments.iter().any(|word| is_command_flag(word))),
    }
}

/// Returns the text that an xargs with these options replaces with its input.
fn find_replaced(options: &[String]) -> Option<String> {
    options.iter().enumerate().find_map(|(at, word)| {
        let value = match word.strip_prefix("--") {
            Some(long) => long.strip_prefix("replace")?.trim_start_matches('='),
            None => word.strip_prefix('-')?.split_once(['I', 'i'])?.1,
        };
        match value {
            "" if word.ends_with('I') => options.get(at + 1).cloned(),
            "" => Some("{}".into()),
            value => Some(value.to_owned()),
        }
    })
}

/// Returns the command that xargs runs; empty if there is no xargs.
fn find_xargs_command(words: &[String]) -> &[String] {
    let Some(at) = words.iter().position(|word| base_name(word) == "xargs") else { return &[] };
    let mut rest = &words[at + 1..];
    while let [option, after @ ..] = rest
        && option.starts_with('-')
    {
        let has_value = WITH_VALUES.contains(&option.as_str()) && !after.is_empty();
        rest = if has_value { &after[1..] } else { after };
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::super::risk_in_work;

    #[test]
    fn xargs_after_printed_names_is_free() {
        for line in [
            "ls ../../../srv | xargs mkdir -p; ls .git/hooks | xargs -I{} touch hooks/{}",
            "fd -t f . .git/hooks -x cp {} hooks/{/}",
        ] {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }
}
