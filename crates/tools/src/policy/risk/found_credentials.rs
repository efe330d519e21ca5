//! Recognizes credential files that a command finds and another one reads: `find . -name .env | xargs cat`.

use super::super::shell::{SUBSTITUTION, Segment};
use super::arguments::{base_name, is_assignment, program, targets};
use super::command_context::CommandContext;
use super::outside::NAMING;
use super::{fd, find};

/// Returns true if a command lists credential files (`find`, `ls`, `git ls-files`, `echo`), or searches directories that
/// contain some, and another command gets their names to read the files: by an action, in a substitution, or from its
/// input in the same statement.
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
    let is_named = || names_credential(name, arguments, context);
    if !is_searched && !is_named() {
        return false;
    }
    let runs_reader = match name {
        "fd" | "fdfind" => fd::list_run_commands(arguments).iter().any(|words| is_reader(words)),
        _ => find::list_run_commands(arguments).into_iter().any(is_reader),
    };
    let takes_names = |other: &Segment| {
        let mut named = other.words.iter().chain(&other.inputs);
        let has_substitution = named.any(|word| word.contains(SUBSTITUTION));
        let assigns = other.words.iter().any(|word| is_assignment(word) && word.contains(SUBSTITUTION));
        let from_input = takes_input_names(other);
        (is_reader(&other.words) && (from_input || has_substitution)) || (assigns && is_named())
    };
    let mut same_statement = segments.iter().filter(|other| other.statement == segment.statement);
    runs_reader || same_statement.any(takes_names)
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

/// Returns true for a program that does more with the files named by its operands than to show their names: it may read
/// them, run a program that does, or change who may read them.
fn is_reader(words: &[String]) -> bool {
    let (name, arguments) = program(words);
    let shows_names =
        NAMING.contains(&name) && !arguments.iter().any(|word| word.starts_with("--files0-from"));
    !name.is_empty() && !shows_names && !PRINTING.contains(&name)
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
}
