//! The commands that a line or a command runs, each in all forms that a rule may be written for.

use super::super::run_command::{Certainty, RunCommand};
use super::super::shell::{self, Segment};
use super::arguments::{list_lines, programs, values, wrapped_lines};
use super::variables::{is_word_known, list_variables, list_variants};
use super::{code, fd, find, git_data_loss, git_exec, runners, xargs};

/// Maximum depth of commands in commands.
const DEPTH: usize = 6;

/// Maximum number of listed commands: with nested `sudo` their number grows by a factor at each level.
pub(in crate::policy) const MAX_COMMANDS: usize = 2_000;

/// Number of words after `sudo` and similar programs among which their command may start.
const STARTS: usize = 8;

/// Lists all commands that a line runs, including those in the arguments of other programs.
pub(in crate::policy) fn list_commands(line: &str) -> Vec<RunCommand> {
    let mut commands = Vec::new();
    add_line(line, DEPTH, &mut commands);
    commands
}

/// Lists a command and those that it runs.
pub(in crate::policy) fn list_run_commands(words: &[String]) -> Vec<RunCommand> {
    let mut commands = Vec::new();
    add_command(words, DEPTH, &mut commands);
    commands
}

fn add_line(line: &str, depth: usize, commands: &mut Vec<RunCommand>) {
    let segments = shell::segments(line);
    let variables = list_variables(&segments);
    // `G=git; $G push`
    let variants = list_variants(&segments, &variables);
    for segments in &variants {
        for (at, segment) in segments.iter().enumerate() {
            let known = commands.len();
            let is_expanded = segment.words.iter().all(|word| is_word_known(word, &variables));
            let is_listed = |listed: &RunCommand| match listed.certainty {
                Certainty::Certain | Certainty::Unexpanded => true,
                Certainty::Expanded => is_expanded,
                Certainty::InCode => false,
            };
            if !commands.iter().any(|listed| listed.words == segment.words && is_listed(listed)) {
                add_command(&segment.words, depth, commands);
            }
            let certainty = if is_expanded { Certainty::Expanded } else { Certainty::Unexpanded };
            // Those of a nested line have theirs, because its shell has other variables.
            let added = commands[known..].iter_mut().filter(|it| it.certainty == Certainty::Certain);
            added.for_each(|command| command.certainty = certainty);
            add_input(segment, &segments[..at], depth, commands);
        }
    }
}

/// Adds the command that an xargs builds from its input, and those in code that an interpreter reads.
fn add_input(segment: &Segment, before: &[Segment], depth: usize, commands: &mut Vec<RunCommand>) {
    let printed = xargs::add_printed_operands(segment, before);
    let built = [printed, xargs::add_unknown_operand(segment, before)].into_iter().flatten();
    add_possible(built.collect::<Vec<_>>().iter().map(Vec::as_slice), depth, commands);
    code::list_input_code(segment).iter().for_each(|code| add_code(code, depth, commands));
}

/// Adds the commands that code may run.
fn add_code(code: &str, depth: usize, commands: &mut Vec<RunCommand>) {
    let known = commands.len();
    let runs = code::list_run_commands(&code::list_literals(code));
    add_possible(runs.iter().map(Vec::as_slice), depth, commands);
    commands[known..].iter_mut().for_each(|command| command.certainty = Certainty::InCode);
}

fn add_command(words: &[String], depth: usize, commands: &mut Vec<RunCommand>) {
    let has_room = !words.is_empty() && commands.len() < MAX_COMMANDS;
    let Some(depth) = depth.checked_sub(1).filter(|_| has_room) else { return };
    commands.push(RunCommand { words: words.to_vec(), needs_allow: true, certainty: Certainty::Certain });
    for (name, arguments) in programs(words) {
        let plain = [&[name.to_owned()], arguments].concat();
        if !name.is_empty() && plain != words {
            // Only the program's directory is omitted.
            let needs_allow = plain.len() != words.len();
            commands.push(RunCommand { words: plain, needs_allow, certainty: Certainty::Certain });
        }
        commands.extend(short_forms(name, arguments));
        add_run_by(name, arguments, depth, commands);
        let possible = runners::list_run_commands(name, arguments);
        add_possible(possible.iter().map(Vec::as_slice), depth, commands);
        code::list_code(name, arguments).for_each(|code| add_code(code, depth, commands));
    }
    let wrapped: Vec<[String; 1]> = wrapped_lines(words).into_iter().map(|line| [line]).collect();
    add_possible(wrapped.iter().map(|line| line.as_slice()), depth, commands);
}

/// Adds commands that a program may run.
fn add_possible<'a>(runs: impl Iterator<Item = &'a [String]>, depth: usize, commands: &mut Vec<RunCommand>) {
    let known = commands.len();
    runs.for_each(|words| add_run(words, depth, commands));
    commands[known..].iter_mut().for_each(|command| command.needs_allow = false);
}

/// Adds the commands in the arguments of a program.
fn add_run_by(name: &str, arguments: &[String], depth: usize, commands: &mut Vec<RunCommand>) {
    match name {
        "cmake" => runners::find_cmake_command(arguments)
            .into_iter()
            .for_each(|words| add_command(&words, depth, commands)),
        "fd" | "fdfind" => {
            fd::list_run_commands(arguments).iter().for_each(|words| add_command(words, depth, commands));
        }
        "find" => find::list_run_commands(arguments)
            .into_iter()
            .for_each(|words| add_command(words, depth, commands)),
        "git" => {
            git_exec::list_run_commands(arguments).iter().for_each(|words| add_run(words, depth, commands))
        }
        "su" => values(arguments, 'c', "command").for_each(|line| add_line(line, depth, commands)),
        "doas" | "run0" | "runuser" | "ssh" | "sudo" => {
            let starts = arguments.iter().enumerate().filter(|(_, word)| !word.starts_with('-')).take(STARTS);
            starts.for_each(|(at, _)| add_run(&arguments[at..], depth, commands));
        }
        _ => list_lines(name, arguments).iter().for_each(|line| add_line(line, depth, commands)),
    }
}

/// Adds a command that another program runs. A single word is a line for a shell.
fn add_run(words: &[String], depth: usize, commands: &mut Vec<RunCommand>) {
    match words {
        [line] if line.contains(char::is_whitespace) => add_line(line, depth, commands),
        words => add_command(words, depth, commands),
    }
}

/// Returns a command without the options before its subcommand: `npm --prefix web publish` is `npm publish`
/// if `--prefix` takes a value. The options of git that do are known.
fn short_forms(name: &str, arguments: &[String]) -> Vec<RunCommand> {
    let form = |words| RunCommand { words, needs_allow: false, certainty: Certainty::Certain };
    if name == "git"
        && let Some((command, rest)) = git_data_loss::split_command(arguments)
    {
        return vec![form([&["git".to_owned(), command.to_owned()], rest].concat())];
    }
    let is_option = |word: &String| word.starts_with(['-', '+']);
    let mut short_forms = Vec::new();
    for has_values in [false, true] {
        let mut rest = arguments;
        while let Some((_, after)) = rest.split_first().filter(|(first, _)| is_option(first)) {
            let with_value = has_values && after.first().is_some_and(|word| !is_option(word));
            rest = if with_value { &after[1..] } else { after };
        }
        if rest.len() < arguments.len() {
            let words = [&[name.to_owned()], rest].concat();
            short_forms.push(words);
        }
    }
    short_forms.into_iter().map(form).collect()
}
