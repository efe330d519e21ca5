//! Recognizes downloaded code that is run: by an interpreter that reads its code from a pipe or a
//! substitution with a download, or as a file that the same line downloads and runs.

use super::super::shell::{self, Segment};
use super::arguments::{
    DOWNLOADERS, INTERPRETERS, SHELLS, base_name, has_flag, is_assignment, is_command_flag, line_of_shell,
    program, programs, targets, values,
};
use super::embedded::is_awk;
use super::variables::{EXPANSIONS, Variable, expand};
use super::writes;

/// The placeholder of a substitution in a word.
const SUBSTITUTION: &str = "$(…)";

/// Names of the standard input.
const STDIN_NAMES: &[&str] = &["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];

/// Python modules that read their input as data.
const DATA_MODULES: &[&str] = &["base64", "gzip", "json.tool", "quopri", "uu"];

/// Interpreters whose first word may be a subcommand.
const WITH_SUBCOMMANDS: &[&str] = &["bun", "deno"];

/// Long options of interpreters whose value is the next word.
const WITH_VALUES: &[&str] = &["--import", "--init-file", "--loader", "--rcfile", "--require"];

/// Maximum nesting depth at which command lines of shells are parsed.
const DEPTH: usize = 4;

/// Returns true if a line runs code that it downloads. Only considers one statement at a time, unless the
/// download can reach another statement through a variable, a function or an interpreter under another name.
pub(super) fn runs_download(line: &str, segments: &[Segment]) -> bool {
    let downloads = |segment: &&Segment| runs_any(segment, DOWNLOADERS);
    let has_function = || line.chars().filter(|c| !c.is_whitespace()).collect::<String>().contains("(){");
    let is_everywhere = segments.iter().any(assigns_interpreter)
        || segments.iter().any(|segment| assigns_output(segment, segments))
        || has_function();
    segments.iter().filter(downloads).any(|download| {
        let mut reached =
            segments.iter().filter(|other| is_everywhere || other.statement == download.statement);
        reached.any(|other| runs_input(&other.words, DEPTH))
    })
}

fn runs_any(segment: &Segment, names: &[&str]) -> bool {
    programs(&segment.words).iter().any(|(name, _)| names.contains(name))
}

fn assigns_interpreter(segment: &Segment) -> bool {
    let words = programs(&segment.words);
    words.iter().skip(1).any(|(name, _)| is_shell(name) || is_interpreter(name))
}

/// Returns true if a variable is assigned the output of a download.
fn assigns_output(segment: &Segment, segments: &[Segment]) -> bool {
    let is_match = |word: &String| is_assignment(word) && word.contains(SUBSTITUTION);
    let mut same_statement = segments.iter().filter(|other| other.statement == segment.statement);
    segment.words.iter().any(is_match) && same_statement.any(|other| runs_any(other, DOWNLOADERS))
}

fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

pub(super) fn is_interpreter(name: &str) -> bool {
    let version = name.strip_prefix("python").unwrap_or("x");
    INTERPRETERS.contains(&name) || version.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Returns true if the first word after a program is a script: for a shell or an interpreter, with any path.
pub(in crate::policy) fn takes_script(program: &str) -> bool {
    let name = base_name(program);
    (is_shell(name) || is_interpreter(name)) && !WITH_SUBCOMMANDS.contains(&name)
}

/// Returns true if a command runs code from its input or from a substitution.
pub(in crate::policy) fn runs_any_input(words: &[String]) -> bool {
    runs_input(words, DEPTH)
}

fn runs_input(words: &[String], depth: usize) -> bool {
    let first = words.iter().find(|word| !is_assignment(word));
    if first.is_some_and(|word| word == SUBSTITUTION) {
        return true;
    }
    let (_, arguments) = program(words);
    let prefix = &words[..words.len() - arguments.len()];
    let is_behind_xargs = prefix.iter().any(|word| base_name(word) == "xargs");
    programs(words).into_iter().any(|(name, arguments)| match name {
        "eval" => arguments.iter().any(|word| word.contains('$')),
        "." | "source" => arguments.first().is_some_and(|word| is_input(word)),
        _ if is_behind_xargs && (is_shell(name) || is_interpreter(name)) => true,
        _ if is_shell(name) => shell_runs_input(name, arguments, depth),
        _ if is_interpreter(name) => interpreter_runs_input(name, arguments),
        _ => false,
    })
}

pub(super) fn is_input(word: &str) -> bool {
    STDIN_NAMES.contains(&word) || word.contains(SUBSTITUTION)
}

fn shell_runs_input(name: &str, arguments: &[String], depth: usize) -> bool {
    if let Some(line) = line_of_shell(arguments) {
        let Some(depth) = depth.checked_sub(1) else { return true };
        let nested = || shell::segments(line).iter().any(|segment| runs_input(&segment.words, depth));
        return line.contains('$') || nested();
    }
    let reads_input = |word: &String| {
        word.starts_with('-') && !word.starts_with("--") && !is_command_flag(word) && word.contains('s')
    };
    arguments.iter().any(reads_input) || script(name, arguments).is_none_or(|script| is_input(script))
}

/// Returns true if a program runs its input: a shell or an interpreter with neither a script nor code in its
/// arguments, or one like make with `-f -`.
pub(super) fn takes_program_from_input(name: &str, arguments: &[String]) -> bool {
    let takes_file = ["gmake", "gsed", "make", "sed"].contains(&name) || is_awk(name);
    if takes_file && values(arguments, 'f', "file").any(is_input) {
        return true;
    }
    let is_shell = is_shell(name) && line_of_shell(arguments).is_none();
    let is_sourced = [".", "source"].contains(&name) && arguments.first().is_some_and(|word| is_input(word));
    (is_shell && shell_runs_input(name, arguments, DEPTH))
        || is_sourced
        || (is_interpreter(name)
            && !arguments.iter().any(|word| is_code_flag(name, word))
            && interpreter_runs_input(name, arguments))
}

/// Returns true if the script of a shell or an interpreter, or an interpreter's code, is the output of
/// another command.
pub(super) fn takes_program_from_substitution(name: &str, arguments: &[String]) -> bool {
    let is_substitution = |word: &String| word.starts_with(SUBSTITUTION);
    let code = || {
        let at = arguments.iter().position(|word| is_code_flag(name, word))?;
        arguments.get(at + 1)
    };
    match name {
        "." | "source" => arguments.first().is_some_and(is_substitution),
        _ if is_shell(name) => {
            line_of_shell(arguments).is_none() && script(name, arguments).is_some_and(is_substitution)
        }
        _ if is_interpreter(name) => {
            code().is_some_and(is_substitution) || script(name, arguments).is_some_and(is_substitution)
        }
        _ => false,
    }
}

/// Returns true if an interpreter has no script, no code in its arguments, and no module that reads data.
pub(super) fn interpreter_runs_input(name: &str, arguments: &[String]) -> bool {
    let is_python = name.starts_with("python");
    if let Some(at) = arguments.iter().position(|word| is_code_flag(name, word)) {
        return arguments[at..].iter().take(2).any(|word| word.contains(SUBSTITUTION));
    }
    if let Some(at) = arguments.iter().position(|word| is_python && word.starts_with("-m")) {
        let joined = arguments[at].strip_prefix("-m").filter(|module| !module.is_empty());
        let module = joined.or_else(|| arguments.get(at + 1).map(String::as_str)).unwrap_or_default();
        return !DATA_MODULES.contains(&module);
    }
    script(name, arguments).is_none_or(|script| is_input(script))
}

/// Returns true if an interpreter other than a shell takes code from this word or the next.
pub(super) fn is_code_flag(name: &str, word: &str) -> bool {
    match name {
        "node" => ["-e", "-p", "-pe", "--eval", "--print"].contains(&word),
        "Rscript" | "lua" | "luajit" => word == "-e",
        "bun" => ["-e", "-p", "--eval", "--print"].contains(&word),
        "deno" => word == "eval",
        "pwsh" => ["-c", "-command"].contains(&&*word.to_ascii_lowercase()),
        "perl" | "ruby" => word.starts_with('-') && !word.starts_with("-M") && word.contains(['e', 'E']),
        "php" => word == "-r",
        _ => name.starts_with("python") && is_command_flag(word),
    }
}

/// Returns the first argument that isn't an option.
fn script<'a>(name: &str, arguments: &'a [String]) -> Option<&'a String> {
    arguments.get(find_script(name, arguments))
}

/// Returns the index of the script among the arguments, or the number of arguments if there is no script.
fn find_script(name: &str, arguments: &[String]) -> usize {
    let mut at = 0;
    while let Some(word) = arguments.get(at) {
        let is_subcommand = at == 0 && word == "run" && WITH_SUBCOMMANDS.contains(&name);
        if !is_subcommand && (word == "-" || !word.starts_with(['-', '+'])) {
            return at;
        }
        at += 1 + count_values(name, word);
    }
    arguments.len()
}

/// Counts the following words that are values of an option. Short options may be joined: in a shell each `o`
/// and `O` takes a value; in other programs only the last letter does.
fn count_values(name: &str, word: &str) -> usize {
    if word.starts_with("--") {
        return usize::from(WITH_VALUES.contains(&word));
    }
    let letters = match name {
        _ if is_shell(name) => return word.matches(['o', 'O']).count(),
        "lua" | "luajit" => "l",
        "node" => "rC",
        "perl" => "I",
        "php" => "cdz",
        "ruby" => "CIr",
        _ => "WX",
    };
    usize::from(word.len() > 1 && word.ends_with(|c| letters.contains(c)))
}

/// The files that the downloads of a line write, by name without directory.
#[derive(Default)]
struct SavedFiles {
    names: Vec<String>,
    /// True if a file name can't be determined; it matches any name.
    has_unknown: bool,
}

impl SavedFiles {
    fn add(&mut self, path: &str, variables: &[Variable]) {
        if ["", "-"].contains(&path) {
            return;
        }
        match expand(path, variables, EXPANSIONS) {
            Some(paths) if paths.iter().all(|path| !is_unknown(base_name(path))) => {
                self.names.extend(paths.iter().map(|path| base_name(path).to_owned()));
                self.names.push(base_name(path).to_owned());
            }
            Some(_) | None => self.has_unknown = true,
        }
    }

    /// Adds the files that curl and wget name after the addresses.
    fn add_addresses(&mut self, name: &str, arguments: &[String], variables: &[Variable]) {
        let keeps_names = match name {
            "curl" => has_flag(arguments, 'O', "remote-name") || has_flag(arguments, 'O', "remote-name-all"),
            _ => writes::list_written(name, arguments).iter().any(String::is_empty),
        };
        let is_list =
            |word: &String| ["--input-file", "--config", "--mirror"].iter().any(|it| word.starts_with(it));
        let hidden = match name {
            "curl" => has_flag(arguments, 'J', "remote-header-name") || has_flag(arguments, 'K', "config"),
            _ => {
                has_flag(arguments, 'i', "content-disposition")
                    || has_flag(arguments, 'r', "recursive")
                    || has_flag(arguments, 'm', "trust-server-names")
            }
        };
        self.has_unknown |= hidden || arguments.iter().any(is_list);
        if !keeps_names {
            return;
        }
        let mut is_named = false;
        for word in targets(arguments) {
            let path = word.split_once("://").map_or(word.as_str(), |(_, rest)| rest);
            match path.rsplit_once('/') {
                Some((_, last)) if !last.is_empty() => {
                    is_named = true;
                    self.add(last, variables);
                    self.add(last.split(['?', '#']).next().unwrap_or(last), variables);
                }
                _ if word.contains("://") => self.has_unknown = true,
                _ => self.add(path, variables),
            }
        }
        self.has_unknown |= !is_named;
    }

    /// Returns true for a word that may name a saved file, possibly without its extension.
    fn may_name(&self, word: &str) -> bool {
        let name = base_name(word);
        let is_match = |saved: &String| {
            saved.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        !name.is_empty()
            && (self.has_unknown || self.names.iter().any(|saved| is_unknown(name) || is_match(saved)))
    }

    /// Returns true if a command runs a saved file: as a command, as the script of an interpreter, or as its
    /// input.
    fn is_run_by(&self, segment: &Segment, segments: &[Segment]) -> bool {
        let words = &segment.words;
        let (name, arguments) = program(words);
        let command = words.iter().rev().nth(arguments.len());
        let is_command =
            !name.is_empty() && command.is_some_and(|word| word.contains('/') && self.may_name(word));
        let is_sourced =
            [".", "source"].contains(&name) && arguments.first().is_some_and(|word| self.may_name(word));
        let is_script = words.iter().enumerate().any(|(at, word)| {
            let (name, arguments) = (base_name(word), &words[at + 1..]);
            let end = find_script(name, arguments) + 1;
            let is_code =
                |word: &String| if is_shell(name) { is_command_flag(word) } else { is_code_flag(name, word) };
            (is_shell(name) || is_interpreter(name))
                && arguments
                    .iter()
                    .take(end)
                    .take_while(|word| !is_code(word))
                    .any(|word| self.may_name(word))
        });
        let is_input = || {
            let mut same_statement = segments.iter().filter(|other| other.statement == segment.statement);
            runs_input(words, DEPTH)
                && same_statement
                    .any(|other| other.words.iter().chain(&other.inputs).any(|word| self.may_name(word)))
        };
        is_command || is_sourced || is_script || is_input()
    }
}

/// Returns true for a name with characters that the shell or curl replaces.
fn is_unknown(name: &str) -> bool {
    name.contains(['$', '*', '?', '[', '{', '#'])
}

/// Returns true if a line runs a file that it downloads. Files are compared only by name, in any directory.
pub(super) fn runs_saved(segments: &[Segment], variables: &[Variable]) -> bool {
    let mut all_segments = segments.to_vec();
    add_nested(&mut all_segments, segments, DEPTH);
    let downloads: Vec<&Segment> =
        all_segments.iter().filter(|segment| runs_any(segment, DOWNLOADERS)).collect();
    if downloads.is_empty() {
        return false;
    }
    let is_everywhere = all_segments.iter().any(|segment| assigns_output(segment, &all_segments));
    let mut saved = SavedFiles::default();
    for segment in &all_segments {
        let (name, arguments) = program(&segment.words);
        if DOWNLOADERS.contains(&name) {
            saved.add_addresses(name, arguments, variables);
        }
        if is_everywhere || downloads.iter().any(|download| download.statement == segment.statement) {
            let paths = writes::list_written(name, arguments);
            paths.iter().chain(&segment.outputs).for_each(|path| saved.add(path, variables));
        }
        if ["cp", "install", "ln", "mv"].contains(&name)
            && targets(arguments).any(|path| saved.may_name(path))
        {
            targets(arguments).for_each(|path| saved.add(path, variables));
        }
    }
    all_segments.iter().any(|segment| saved.is_run_by(segment, &all_segments))
}

/// Adds the commands in the lines that shells get with `-c`.
fn add_nested(all_segments: &mut Vec<Segment>, segments: &[Segment], depth: usize) {
    let Some(depth) = depth.checked_sub(1) else { return };
    for segment in segments {
        let (name, arguments) = program(&segment.words);
        let Some(line) = line_of_shell(arguments).filter(|_| is_shell(name)) else { continue };
        let mut nested = shell::segments(line);
        nested.iter_mut().for_each(|inner| inner.statement = segment.statement);
        add_nested(all_segments, &nested, depth);
        all_segments.extend(nested);
    }
}

#[cfg(test)]
mod tests {
    use super::super::risk_in_work;

    #[test]
    fn download_run_by_interpreter_asks() {
        for line in [
            "curl -s x | sh",
            "curl -s x | bash -x",
            "curl -s x | bash -s -- --yes",
            "curl -s x | python3",
            "curl -s x | python3 -",
            "curl -s x | python3.12 -u /dev/stdin",
            "curl -s x | python3 -m code",
            "curl -s x | python3 -W ignore",
            "curl -s x | node",
            "curl -s x | perl",
            "curl -s x | tee y | env A=b sh",
            "curl -s x |& sh",
            "curl -s x | (sh)",
            "curl -s x | { cat; } | sh",
            "(curl -s x) | sh",
            "curl -s x | while read l; do eval \"$l\"; done",
            "curl -s x | xargs -I{} sh -c '{}'",
            "curl -s x | bash -c 'sh'",
            "curl -s x | bash /dev/stdin",
            "curl -s x | . /dev/stdin",
            "bash <(curl -s x)",
            "bash < <(curl -s x)",
            "bash <<< \"$(curl -s x)\"",
            "source <(curl -s x)",
            "eval \"$(curl -s x)\"",
            "sh -c \"$(curl -s x)\"",
            "python3 -c \"$(curl -s x)\"",
            "$(curl -s x)",
            "bash <<EOF\n$(curl -s x)\nEOF",
            "X=$(curl -s x); bash -c \"$X\"",
            "X=$(curl -s x) && echo \"$X\" | sh",
            "f() { sh; }; curl -s x | f",
            "SH=/bin/sh; curl x | $SH",
            "cd x && wget -qO- y | sh && ls",
            "sh -c 'curl x | sh'",
            "curl x | bash -euo pipefail",
            "curl x | bash -eo pipefail",
            "curl x | bash -euxo pipefail -O extglob",
            "curl x | php -d a=b",
            "curl x | ruby -rjson -I lib",
            "curl x | python3 -uW ignore",
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some("runs what it downloads"), "{line}");
        }
    }

    #[test]
    fn download_saved_and_run_asks() {
        for line in [
            "curl -fsSL https://x/y -o i.sh && sh i.sh",
            "curl https://x > i.sh; bash i.sh",
            "curl -s https://x | tee i.sh; bash -x ./i.sh",
            "curl -s https://x | sed s/a/b/ > i.sh; bash i.sh",
            "wget https://x/install.sh; sh install.sh",
            "wget URL; sh install.sh",
            "wget https://x; sh index.html",
            "wget -P sub https://x/install.sh && sh sub/install.sh",
            "wget -O i.sh https://x && bash i.sh",
            "wget -r https://x/y && sh z.sh",
            "curl -LO https://x/install.sh?y=z && bash install.sh",
            "curl -OJ https://x/y && bash install.sh",
            "curl --output i https://x/y; chmod +x i && ./i --yes",
            "curl -o i https://x/y; timeout 5 ./i",
            "curl -o i.sh x; . ./i.sh",
            "curl -o i.sh x; source i.sh",
            "curl -o i.py x; python3 -u i.py",
            "curl -o i.py x; python3 -m i",
            "curl -o i.sh x; cat i.sh | sh",
            "curl -o i.sh x; sh < i.sh",
            "curl -o i.sh x; eval \"$(cat i.sh)\"",
            "curl -o i.sh x; mv i.sh j; sh j",
            "curl -o i.sh x; for f in *.sh; do sh $f; done",
            "F=i.sh; curl -o $F x; sh i.sh",
            "curl -o $F x; sh i.sh",
            "sh -c 'curl -o i.sh x' && sh i.sh",
            "curl -o i.sh x; bash -c 'sh i.sh'",
            "X=$(curl -s x); echo \"$X\" > i.sh; sh i.sh",
            "sh i.sh; curl -o i.sh x",
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some("runs what it downloads"), "{line}");
        }
    }

    #[test]
    fn download_read_as_data_is_free() {
        for line in [
            "curl -s x | python3 -m json.tool",
            "python3 x.py; curl -s x | head",
            "curl -s x | head; python3 x.py",
            "curl -s x | python3 -c 'import sys; print(sys.stdin.read())'",
            "curl -s x | python3 parse.py",
            "curl -s x | perl -ne 'print if /x/'",
            "curl -s x | node -e 'y'",
            "curl -s x | ruby -ne 'puts $_'",
            "curl -s x | bash check.sh",
            "curl -s x | sh -c 'wc -l'",
            "curl -s x | jq . && python3",
            "curl -s x -o y.json && python3 read.py y.json",
            "python3 -m http.server & curl -s localhost:8000",
            "bash build.sh && curl -s x",
            "curl -s x | xargs echo",
            "V=$(curl -s x | jq -r .v); python3 set.py \"$V\"",
            "source venv/bin/activate && curl -s x",
            "curl -s x -o data.json; python3 read.py data.json",
            "curl -s x > data.json && python3 read.py < data.json",
            "wget -q https://x/data.json && python3 read.py data.json",
            "F=/tmp/data.json; curl -s x -o $F; python3 read.py $F",
            "curl -s x -o data.json; jq . data.json | python3 read.py",
            "curl -s x | bash -euo pipefail check.sh",
            "curl -s x | php -d a=b parse.php",
            "curl -s x | python3 -O parse.py",
            "curl -LO https://x/y.tgz && tar xf y.tgz",
        ] {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }
}
