//! Recognizes credential files that a command finds and another one reads: `find . -name .env | xargs cat`.

use super::super::shell::{SUBSTITUTION, Segment};
use super::arguments::{NAMING, base_name, is_assignment, program, targets};
use super::command_context::CommandContext;
use super::embedded::SETTERS;
use super::outside::UNREAD_BY_GIT;
use super::{fd, find, git_data_loss};

/// Returns true if a command lists credential files (`find`, `ls`, `git ls-files`, `echo`), or searches directories that
/// contain some, and another command gets their names to read the files: by an action, in a substitution or a variable,
/// or from its input in the same statement.
pub(super) fn passes_on_credentials(
    segment: &Segment,
    segments: &[Segment],
    context: CommandContext<'_>,
) -> bool {
    let (name, arguments) = program(&segment.words);
    let holds = |paths: Vec<&str>| {
        paths.into_iter().any(|path| context.holds_credentials(path) || context.names_credential(path))
    };
    let is_searched = match name {
        "fd" | "fdfind" => holds(fd::list_searched(arguments)),
        "find" => holds(find::list_searched(arguments)),
        "echo" | "git" | "ls" | "printf" => targets(arguments).any(|path| context.names_credential(path)),
        _ => return false,
    };
    let is_search = ["fd", "fdfind", "find"].contains(&name);
    let is_named = names_credential(name, arguments, context) || (is_searched && !is_search);
    if !is_searched && !is_named {
        return false;
    }
    let runs_reader = match name {
        "fd" | "fdfind" => fd::list_run_commands(arguments).iter().any(|words| is_reader(words)),
        _ => find::list_run_commands(arguments).into_iter().any(is_reader),
    };
    runs_reader || reach_reader(segment.statement, segments, is_named)
}

/// Returns true if a command reads the files whose names a statement prints. Only names that match a pattern (`is_named`)
/// are followed into assigned variables.
fn reach_reader(statement: usize, segments: &[Segment], is_named: bool) -> bool {
    let (mut statements, mut variables) = (vec![statement], Vec::new());
    let mut at = 0;
    while let Some(statement) = statements.get(at).copied() {
        at += 1;
        let takers = segments.iter().filter(|other| other.statement == statement && takes_names(other));
        for taker in takers {
            let set = list_set_variables(&taker.words);
            if set.is_empty() && is_reader(&taker.words) {
                return true;
            }
            let is_assignment = program(&taker.words).0.is_empty();
            variables.extend(set.into_iter().filter(|_| is_named || !is_assignment));
        }
        let users = segments.iter().filter(|user| variables.iter().any(|name| uses(user, name)));
        for user in users {
            let is_copied = user.words.iter().any(|word| is_assignment(word) && word.contains('$'));
            let is_input = user.inputs.iter().any(|path| path.contains('$'));
            if is_copied || is_input || is_reader(&user.words) {
                return true;
            }
            if prints_operands(&user.words) && !statements.contains(&user.statement) {
                statements.push(user.statement);
            }
        }
    }
    false
}

/// Returns true if a command may get the names that another one of its statement prints.
fn takes_names(segment: &Segment) -> bool {
    let mut named = segment.words.iter().chain(&segment.inputs);
    named.any(|word| word.contains(SUBSTITUTION)) || takes_input_names(segment)
}

/// Lists the variables that a command sets to what it gets: by assignments, in a loop, or with `read`.
fn list_set_variables(words: &[String]) -> Vec<&str> {
    let (name, arguments) = program(words);
    match (words, name) {
        ([first, variable, ..], _) if first == "for" => vec![variable.as_str()],
        (_, "") => words.iter().filter_map(|word| word.split_once('=')?.0.split(['+', '[']).next()).collect(),
        (_, "mapfile" | "read" | "readarray") => {
            let named = targets(arguments).map(String::as_str);
            let mut named: Vec<&str> = named.filter(|name| name.starts_with(char::is_alphabetic)).collect();
            if named.is_empty() {
                named.push(if name == "read" { "REPLY" } else { "MAPFILE" });
            }
            named
        }
        _ => Vec::new(),
    }
}

/// Returns true if a command uses a variable, or passes it on to other programs.
fn uses(segment: &Segment, variable: &str) -> bool {
    let forms = [format!("${variable}"), format!("${{{variable}")];
    let mut texts = segment.words.iter().chain(&segment.inputs).chain(&segment.texts);
    let is_exported =
        || SETTERS.contains(&program(&segment.words).0) && segment.words.iter().any(|word| word == variable);
    texts.any(|text| forms.iter().any(|form| text.contains(form))) || is_exported()
}

/// Returns true if a command takes the names of files from its input: for another command, for an archive, or into a
/// variable.
fn takes_input_names(segment: &Segment) -> bool {
    let takes_list = |words: &[String]| words[0] == "-T" && words[1] == "-";
    let takes = |word: &String| {
        ["parallel", "xargs"].contains(&base_name(word)) || word == "-@" || word.ends_with("-from=-")
    };
    segment.words.iter().any(takes)
        || segment.words.windows(2).any(takes_list)
        || ["cpio", "mapfile", "read", "readarray"].contains(&program(&segment.words).0)
}

/// Programs that print their operands or parts of them.
const PRINTING: &[&str] = &["basename", "dirname", "echo", "printf"];

/// Programs that print the names of the files that their operands name.
const LISTING: &[&str] = &["du", "ls", "stat"];

fn prints_operands(words: &[String]) -> bool {
    let (name, _) = program(words);
    PRINTING.contains(&name) || LISTING.contains(&name)
}

/// Returns true for a program that does more with the files named by its operands than to show their names: it may read
/// them, run a program that does, or change who may read them.
fn is_reader(words: &[String]) -> bool {
    let (name, arguments) = program(words);
    let shows_names =
        NAMING.contains(&name) && !arguments.iter().any(|word| word.starts_with("--files0-from"));
    let is_unread =
        || git_data_loss::split_command(arguments).is_some_and(|it| UNREAD_BY_GIT.contains(&it.0));
    let only_names = shows_names || PRINTING.contains(&name) || (name == "git" && is_unread());
    !name.is_empty() && !only_names
}

/// Returns true if the patterns of a `find` or `fd` select environment files or other credential files.
fn names_credential(name: &str, arguments: &[String], context: CommandContext<'_>) -> bool {
    let patterns = match name {
        "fd" | "fdfind" => fd::list_patterns(arguments),
        "find" => find::list_patterns(arguments),
        _ => Vec::new(),
    };
    patterns.iter().any(|pattern| {
        // A wildcard also matches the dot at the beginning of a name, unlike in a shell.
        let rest = strip_wildcard(pattern);
        let names_environment = rest.len() < pattern.len() && rest.to_ascii_lowercase().starts_with("env");
        context.names_credential(pattern)
            || (names_environment && context.names_credential(&format!(".{rest}")))
    })
}

/// Strips the wildcard at the beginning of a pattern.
fn strip_wildcard(pattern: &str) -> &str {
    let set = pattern.strip_prefix('[').and_then(|rest| Some(rest.split_once(']')?.1));
    set.unwrap_or_else(|| pattern.trim_start_matches(['*', '?']))
}

#[cfg(test)]
mod tests {
    use super::super::outside::READS_CREDENTIALS;
    use super::super::risk_in_work;

    #[test]
    fn found_credentials_that_are_read_ask() {
        for line in [
            "find . -name '.env*' -exec cat {} +",
            "find . -iname .ENV -exec sh -c 'cat \"$1\"' _ {} \\;",
            "find . -name '.e*' -print0 | xargs -0 cat",
            "find . -name '*env' | parallel cat",
            "find . -path './*/.env' -exec grep KEY {} +",
            "find . -regex '.*/\\.env' -exec cat {} +",
            "find . -samefile .env -exec cat {} +",
            "find . -not -name x -name .env -exec cat {} +",
            "find . -name '.env*' | while read -r f; do cat \"$f\"; done",
            "cat $(find . -name .env)",
            "F=$(find . -name .env); cat $F",
            "for f in $(find . -name '.env*'); do cat $f; done",
            "while read -r f; do cat \"$f\"; done < <(find . -name .env)",
            "fd -H '^\\.env' -x cat",
            "fd -H .env -X grep KEY",
            "fd -HI .env | xargs cat",
            "fd -HI env -x cat",
            "fd id_rsa ~ -x cat",
            "find . -exec cat .env {} +",
            "find . -name '[.]env' -exec cat {} +",
            "find . -name '?env' -exec cat {} +",
            "find . -name .env | cpio -o",
            "find . -name .env | zip -@ x",
            "find . -name .env -print0 | tar cf x --null -T -",
            "mapfile -t F < <(find . -name .env); cat \"${F[@]}\"",
            "find . -regextype posix-extended -regex '.*/.(env|x)' -exec cat {} +",
            "N=.env; find . -name $N -exec cat {} +",
            "find . \\( -name a -o -name .{env,x} \\) -exec cat {} +",
            "git ls-files -o .env | xargs cat",
            "echo .env | xargs cat",
            "cat $(printf %s .env)",
            "cat < \"$(find . -name .env)\"",
            "fd x -x cat .env",
            "find ~ -name id_rsa -exec chmod 644 {} +",
            "find ~ -name id_rsa | xargs chmod 644",
            "find ~ -name x | xargs rm",
            "find ~ -name id_rsa | xargs -I{} find {} -exec cat {} \\;",
            "find ~ -name .ssh -exec fd . {} -x cat \\;",
            "find ~ -name id_rsa -exec du --files0-from={} \\;",
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(READS_CREDENTIALS), "{line}");
        }
        for line in [
            "find . -name .env",
            "find . -name '.env*' -exec ls -l {} +",
            "find . -name '*.rs' -not -name '.env*' -exec cat {} +",
            "find . ! -name '.*' -exec wc -l {} +",
            "find . -path '*/.*' -prune -o -type f -exec grep -n x {} +",
            "find . -name '*.*' | xargs grep -n x",
            "find . -name .env; cat x",
            "echo .env >> .gitignore; git ls-files | xargs cat",
            "fd -H .env",
            "fd env -x cat; fd -H environment -x cat",
            "fd -H .env -x ls -l",
            "find . -name '.env*' | xargs -n1 dirname",
            "find . -name '.env*' -exec basename {} \\;",
        ] {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }
    #[test]
    fn found_credentials_in_variables_are_followed() {
        for line in [
            "F=$(find . -name .env); echo \"$F\" | xargs cat",
            "F=$(find . -name .env); echo $F | while read g; do cat $g; done",
            "F=$(find . -name .env); G=$F; cat $G",
            "F=$(find . -name .env); export F; ./x",
            "find . -name .env | while read; do cat $REPLY; done",
            "find . -name .env | while read f; do echo \"$(< $f)\"; done",
            "find ~ -type f | while read -r f; do cat \"$f\"; done",
            "F=$(find . -name .env); if [ -n \"$F\" ]; then sh -c \"cat $F\"; fi",
            "find . -not \\( -not -name .env \\) -exec cat {} +",
            "find . \\( -name .env \\) -not -name x | xargs cat",
            "echo .env | xargs git show",
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(READS_CREDENTIALS), "{line}");
        }
        for line in [
            "N=$(find . -name '.env*' | wc -l); echo $N; [ $N -gt 0 ] && make",
            "F=$(find . -name .env -print -quit); [ -n \"$F\" ] && echo found",
            "find . -name '.env*' | while read f; do echo $f; done",
            "for f in $(find . -name '.env*'); do echo \"${f}\"; git rm --cached \"$f\"; done",
            "echo .env | xargs git rm --cached; git rm --cached $(git ls-files '*.env')",
            "find . -not \\( -name .env -o -name x \\) -type f | xargs grep x",
        ] {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }
}
