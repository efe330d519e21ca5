//! The words of a command: its program, flags and operands.

pub(in crate::policy) const SHELLS: &[&str] =
    &["ash", "bash", "csh", "dash", "fish", "ksh", "mksh", "sh", "tcsh", "zsh"];
pub(super) const INTERPRETERS: &[&str] =
    &["Rscript", "bun", "deno", "lua", "luajit", "node", "perl", "php", "pwsh", "python", "python3", "ruby"];
pub(super) const DOWNLOADERS: &[&str] = &["curl", "wget"];

/// Programs that run the command after them.
const WRAPPERS: &[&str] = &[
    "builtin",
    "caffeinate",
    "command",
    "do",
    "elif",
    "else",
    "env",
    "exec",
    "if",
    "ionice",
    "nice",
    "nohup",
    "parallel",
    "setsid",
    "stdbuf",
    "then",
    "time",
    "timeout",
    "unbuffer",
    "until",
    "watch",
    "while",
    "xargs",
];

/// Programs that at most show the names of their operands, or only change the directory, and words of the shell that
/// compare names.
pub(super) const NAMING: &[&str] = &["[", "[[", "case", "cd", "du", "ls", "pushd", "stat", "test"];

/// Devices that are safe to write to.
pub(super) const HARMLESS_DEVICES: &[&str] = &["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"];

/// Lists the lines for a shell in the arguments of a program.
pub(super) fn list_lines(name: &str, arguments: &[String]) -> Vec<String> {
    match name {
        "alias" => arguments.iter().filter_map(|word| Some(word.split_once('=')?.1.to_owned())).collect(),
        "eval" => vec![arguments.join(" ")],
        // `parallel ::: LINE LINE`
        ":::" => arguments.iter().filter(|word| *word != ":::").cloned().collect(),
        "mapfile" | "readarray" => values(arguments, 'C', "").map(str::to_owned).collect(),
        "trap" => arguments.first().cloned().into_iter().collect(),
        _ if SHELLS.contains(&name) => line_of_shell(arguments).cloned().into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Returns the line that a shell gets with `-c`.
pub(super) fn line_of_shell(arguments: &[String]) -> Option<&String> {
    arguments.iter().skip_while(|word| !is_command_flag(word)).nth(1)
}

/// Returns true for `-c`, `-lc`, `-ce` and similar words.
pub(super) fn is_command_flag(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.contains('c')
}

/// Returns the program of a command, and the path assigned before it, because a later command may run that
/// path: `X=/usr/bin/sudo; $X ls`.
pub(super) fn programs(words: &[String]) -> Vec<(&str, &[String])> {
    let (name, arguments) = program(words);
    let prefix = &words[..words.len() - arguments.len()];
    let assigned = prefix.iter().position(|word| is_assignment(word) && word.contains('/'));
    let assigned = assigned.map(|at| (base_name(&words[at]), &words[at + 1..]));
    [(name, arguments)].into_iter().chain(assigned).collect()
}

/// Lists the lines that a command has instead of a program: `watch 'ls -l'`, `env -S'ls -l' x`. Further words
/// are the lines' arguments.
pub(super) fn wrapped_lines(words: &[String]) -> Vec<String> {
    let program = find_program(words);
    let at = program.unwrap_or(words.len());
    let name = words.get(at).filter(|word| word.contains(char::is_whitespace));
    let options = words[..at].iter().skip_while(|word| base_name(word) != "env").skip(1);
    let split = options.filter_map(|word| match word.strip_prefix("--") {
        Some(long) => long.strip_prefix("split-string="),
        None => word.strip_prefix('-')?.split_once('S').map(|(_, line)| line),
    });
    let of_name = name.map(|line| (line.as_str(), &words[at + 1..]));
    let of_options = split.filter(|line| !line.is_empty()).map(|line| (line, &words[at..]));
    let joined =
        |(line, rest): (&str, &[String])| format!("{line}{}", append_quoted(rest.iter().map(String::as_str)));
    of_name.into_iter().chain(of_options).map(joined).collect()
}

/// Formats words as further words of a line for a shell.
pub(super) fn append_quoted<'a>(words: impl Iterator<Item = &'a str>) -> String {
    words.map(|word| format!(" '{}'", word.replace('\'', r"'\''"))).collect()
}

/// Returns true for an assignment: `X=…`, `X+=…`, `X[1]=…`.
pub(in crate::policy) fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else { return false };
    let name = name.trim_end_matches('+').split('[').next().unwrap_or(name);
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

pub(in crate::policy) fn base_name(word: &str) -> &str {
    word.rsplit('/').next().unwrap_or(word)
}

/// The options of wrappers whose value is the next word: letters, and long names.
const WRAPPER_VALUES: &[(&str, &str, &[&str])] = &[
    ("env", "Cu", &["--chdir", "--unset"]),
    ("exec", "a", &[]),
    ("ionice", "cn", &["--class", "--classdata"]),
    ("nice", "n", &["--adjustment"]),
    (
        "parallel",
        "ajINnLP",
        &["--arg-file", "--colsep", "--delay", "--joblog", "--jobs", "--max-args", "--sshlogin", "--timeout"],
    ),
    ("stdbuf", "eio", &["--error", "--input", "--output"]),
    ("time", "fo", &["--format", "--output"]),
    ("timeout", "ks", &["--kill-after", "--signal"]),
    ("watch", "n", &["--interval"]),
    ("xargs", "EILPadns", &["--arg-file", "--delimiter", "--max-args", "--max-chars", "--max-procs"]),
];

/// Returns true if the value of a wrapper's option is the next word.
fn has_value(wrapper: &str, option: &str) -> bool {
    let row = WRAPPER_VALUES.iter().find(|(name, _, _)| *name == wrapper);
    row.is_some_and(|(_, letters, names)| {
        let is_short = option.len() > 1 && option.starts_with('-') && !option.starts_with("--");
        names.contains(&option) || (is_short && option.ends_with(|c| letters.contains(c)))
    })
}

/// Returns the program of a command without its directory, and its arguments. Skips assignments, `{fd}`
/// before a redirection, and wrappers.
pub(super) fn program(words: &[String]) -> (&str, &[String]) {
    find_program(words).map_or(("", &[]), |at| (base_name(&words[at]), &words[at + 1..]))
}

/// Returns the index of the program of a command.
fn find_program(words: &[String]) -> Option<usize> {
    find_program_after(words, |_| {})
}

/// Lists the words that name a program: the wrappers, variables that may be empty, and the program itself. A program
/// behind a wrapper may be a line for a shell, which [`wrapped_lines`] returns.
pub(super) fn list_program_words(words: &[String]) -> Vec<&String> {
    let mut named = Vec::new();
    let program = find_program_after(words, |at| named.push(&words[at]));
    let is_line = |word: &&String| !named.is_empty() && word.contains(char::is_whitespace);
    let program = program.map(|at| &words[at]).filter(|word| !is_line(word));
    named.retain(|word| !is_assignment(word));
    named.into_iter().chain(program).collect()
}

/// Returns the index of the program of a command, after passing on the indices of the wrappers before it.
fn find_program_after(words: &[String], mut pass_wrapper: impl FnMut(usize)) -> Option<usize> {
    let (mut wrapper, mut at) = (None, 0);
    while let Some(word) = words.get(at) {
        let name = base_name(word);
        let is_wrapper_option =
            wrapper.is_some() && (word.starts_with('-') || word.starts_with(|c: char| c.is_ascii_digit()));
        let is_descriptor = word.starts_with('{') && word.ends_with('}') && word.len() > 2;
        // The variable may be empty.
        if WRAPPERS.contains(&name) || name.starts_with('$') {
            wrapper = Some(name);
            pass_wrapper(at);
        } else if is_wrapper_option && wrapper.is_some_and(|wrapper| has_value(wrapper, word)) {
            at += 1;
        } else if !is_wrapper_option
            && !is_descriptor
            && !name.contains('=')
            && !is_assignment(word)
            && name != "!"
        {
            return Some(at);
        }
        at += 1;
    }
    None
}

/// Lists the directories that programs enter, one after the other, before they run a command: `env -C DIR`,
/// `env --chdir=DIR`, then `cmake -E chdir DIR`.
pub(super) fn list_entered_dirs(words: &[String]) -> Vec<&str> {
    let start = find_program(words).unwrap_or(words.len());
    let env = words.iter().position(|word| base_name(word) == "env");
    let of_env = env.and_then(|at| values(&words[at + 1..start.max(at + 1)], 'C', "chdir").last());
    let of_cmake = match &words[start..] {
        [program, option, command, dir, ..]
            if base_name(program) == "cmake" && option == "-E" && command == "chdir" =>
        {
            Some(dir.as_str())
        }
        _ => None,
    };
    of_env.into_iter().chain(of_cmake).collect()
}

/// Returns true if `rm` with these arguments deletes directories.
pub(super) fn is_recursive(arguments: &[String]) -> bool {
    has_flag(arguments, 'r', "recursive") || has_flag(arguments, 'R', "recursive")
}

/// Iterates over the arguments that aren't flags.
pub(super) fn targets(arguments: &[String]) -> impl Iterator<Item = &String> {
    arguments.iter().filter(|word| !word.starts_with('-'))
}

pub(super) fn has_flag(arguments: &[String], short: char, long: &str) -> bool {
    arguments.iter().any(|word| match word.strip_prefix("--") {
        Some(name) => name == long,
        None => word.starts_with('-') && word.contains(short),
    })
}

/// Returns the values of a flag in any spelling; its long name may be abbreviated.
pub(super) fn values<'a>(
    arguments: &'a [String],
    short: char,
    long: &'a str,
) -> impl Iterator<Item = &'a str> {
    arguments.iter().enumerate().filter_map(move |(at, word)| {
        let value = match word.strip_prefix("--") {
            Some(word) => {
                let (name, value) = word.split_once('=').unwrap_or((word, ""));
                (long.starts_with(name) && !name.is_empty()).then_some(value)?
            }
            None => word.strip_prefix('-')?.split_once(short)?.1,
        };
        if value.is_empty() { arguments.get(at + 1).map(String::as_str) } else { Some(value) }
    })
}
