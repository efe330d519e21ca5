//! Finds the paths that a program writes or links to, as far as its arguments show.

use std::path::Path;

use tiller_core::protected_path::Protection;

use super::super::shell::WILDCARDS;
use super::arguments::{INTERPRETERS, NAMING, SHELLS, base_name, has_flag, targets, values};
use super::command_context::CommandContext;
use super::embedded::{EDITORS, is_awk, list_editor_commands, list_sed_outputs, read_sed_arguments};
use super::git_data_loss;

/// Actions of find whose next word is a file to write (GNU findutils 4.10).
const FIND_OUTPUTS: &[&str] = &["-fls", "-fprint", "-fprint0", "-fprintf"];

/// Programs whose option `-o` names no output.
const OTHER_OUTPUT_OPTIONS: &[&str] = &["egrep", "fgrep", "find", "grep", "ls", "mount", "ps", "rg", "ssh"];

/// Programs that only read the files named by their operands, or only use the names.
const READERS: &[&str] = &[
    ".",
    "ag",
    "alias",
    "b2sum",
    "base64",
    "basename",
    "bat",
    "batcat",
    "cat",
    "cksum",
    "cmp",
    "code",
    "colordiff",
    "comm",
    "command",
    "complete",
    "cut",
    "declare",
    "delta",
    "diff",
    "dirname",
    "echo",
    "egrep",
    "exa",
    "export",
    "eza",
    "fgrep",
    "file",
    "fmt",
    "fold",
    "for",
    "getfacl",
    "getfattr",
    "grep",
    "hash",
    "head",
    "hexdump",
    "jq",
    "less",
    "local",
    "lsattr",
    "md5sum",
    "more",
    "nl",
    "od",
    "paste",
    "printf",
    "readlink",
    "readonly",
    "realpath",
    "return",
    "rg",
    "select",
    "set",
    "sha1sum",
    "sha224sum",
    "sha256sum",
    "sha384sum",
    "sha512sum",
    "shasum",
    "shellcheck",
    "source",
    "ssh",
    "strings",
    "sum",
    "tac",
    "tail",
    "tr",
    "tree",
    "type",
    "typeset",
    "unset",
    "wc",
    "which",
    "zcat",
    "zgrep",
];

/// Programs whose outputs [`list_written`] and the other modules find, so that their other operands aren't outputs.
const KNOWN_WRITERS: &[&str] = &[
    "chgrp",
    "chmod",
    "chown",
    "cp",
    "dd",
    "fd",
    "fdfind",
    "find",
    "git",
    "gsed",
    "iconv",
    "install",
    "ln",
    "mkdir",
    "mv",
    "rm",
    "rmdir",
    "rsync",
    "scp",
    "sed",
    "shred",
    "sort",
    "split",
    "ssh-keygen",
    "tee",
    "touch",
    "truncate",
    "uniq",
    "unlink",
    "xxd",
];

/// Finds a startup file among the arguments of a program that may write to it.
fn find_startup_file(name: &str, arguments: &[String], context: CommandContext<'_>) -> Option<Protection> {
    let lists = [READERS, KNOWN_WRITERS, NAMING, SHELLS, INTERPRETERS];
    let is_known = name.is_empty() || is_awk(name) || lists.iter().any(|list| list.contains(&name));
    let mut arguments = arguments.iter().filter(|_| !is_known);
    arguments.find_map(|word| context.find_startup_file(word))
}

/// Returns the reason a write to a program's outputs needs approval. The value of `-o` counts as one for most programs,
/// and startup files that it names count if tiller doesn't know the program.
pub(super) fn protection(
    name: &str,
    arguments: &[String],
    context: CommandContext<'_>,
) -> Option<Protection> {
    let startup_file = find_startup_file(name, arguments, context);
    let arguments = &without_quoted_wildcards(arguments, context.quoted);
    let named = values(arguments, 'o', "output").filter(|_| !OTHER_OUTPUT_OPTIONS.contains(&name));
    let named = named.filter(|path| path.contains('/') || path.starts_with('.')).map(str::to_owned);
    let mut paths = list_written(name, arguments).into_iter().chain(named);
    let written = paths.find_map(|path| context.protection_of_pattern(&path).filter(|_| path != "-"));
    written.or(startup_file)
}

/// Replaces the wildcards in quoted words, which are plain text for the shell, with a character that is none.
fn without_quoted_wildcards(arguments: &[String], quoted: &[String]) -> Vec<String> {
    let plain = |word: &String| match quoted.contains(word) {
        true => word.replace(WILDCARDS, "\u{fffd}"),
        false => word.clone(),
    };
    arguments.iter().map(plain).collect()
}

const LINKS_OUT: &str = "creates a link that leads out of the working directory";

/// Returns the reason the target of a link needs approval: a command may write or read through the link.
pub(super) fn judge_links(name: &str, arguments: &[String], context: CommandContext<'_>) -> Option<String> {
    let plain = list_link_sources(name, &without_quoted_wildcards(arguments, context.quoted));
    let protection = plain.iter().find_map(|path| context.protection_of_pattern(path));
    let sources = list_link_sources(name, arguments);
    protection.map(|it| it.reason().to_owned()).or_else(|| {
        let leads_out = sources.iter().any(|path| context.leads_out(path));
        leads_out.then(|| LINKS_OUT.to_owned())
    })
}

/// Lists the targets of the links that a program creates. The target of a symbolic link is relative to the
/// directory of the link, which is the last operand or its parent.
fn list_link_sources(name: &str, arguments: &[String]) -> Vec<String> {
    let is_symbolic = match name {
        "ln" => has_flag(arguments, 's', "symbolic") && !has_flag(arguments, 'r', "relative"),
        "cp" if has_flag(arguments, 's', "symbolic-link") || has_flag(arguments, 'l', "link") => false,
        _ => return Vec::new(),
    };
    let operands: Vec<&String> = targets(arguments).collect();
    let context = list_target_dirs(arguments);
    let (sources, last) = match operands.as_slice() {
        [sources @ .., last] if !sources.is_empty() && context.is_empty() => (sources, last.as_str()),
        all => (all, ""),
    };
    let parent = last.rsplit_once('/').map_or("", |(parent, _)| parent);
    let bases: Vec<&str> = [last, parent].into_iter().chain(context).collect();
    let resolved = |source: &str| match is_symbolic && !source.starts_with(['/', '~', '$']) {
        true => bases.iter().map(|base| Path::new(base).join(source).display().to_string()).collect(),
        false => vec![source.to_owned()],
    };
    sources.iter().flat_map(|source| resolved(source)).collect()
}

/// Lists the outputs of a compiler or linker, whose other options may contain the letter too: `-I../repo`.
fn list_compiled(arguments: &[String]) -> Vec<String> {
    let output = |(at, word): (usize, &String)| match word.strip_prefix("-o") {
        Some("") => arguments.get(at + 1).cloned(),
        Some(path) => Some(path.to_owned()),
        None => word.strip_prefix("--output=").map(str::to_owned),
    };
    arguments.iter().enumerate().filter_map(output).collect()
}

/// Lists the paths that a program changes; an empty path means the current directory.
pub(super) fn list_written(name: &str, arguments: &[String]) -> Vec<String> {
    let option_values = |short, long| values(arguments, short, long).map(str::to_owned);
    let operands = || targets(arguments).cloned();
    let current = || std::iter::once(String::new());
    match name {
        "cp" | "install" | "ln" => list_copies(&collect_sources(arguments), &list_target_dirs(arguments)),
        "mv" => {
            operands().chain(list_copies(&collect_sources(arguments), &list_target_dirs(arguments))).collect()
        }
        "rsync" | "scp" => list_copies(&targets(arguments).map(String::as_str).collect::<Vec<_>>(), &[]),
        "chgrp" | "chmod" | "chown" | "mkdir" | "patch" | "rm" | "rmdir" | "shred" | "tee" | "touch"
        | "sponge" | "truncate" | "unlink" => operands().collect(),
        "c++" | "cc" | "clang" | "clang++" | "g++" | "gcc" | "ld" | "rustc" => list_compiled(arguments),
        "dd" => arguments.iter().filter_map(|word| word.strip_prefix("of=")).map(str::to_owned).collect(),
        "iconv" | "sort" | "tree" => option_values('o', "output").collect(),
        "ssh-keygen" => option_values('f', "").collect(),
        "find" => {
            let outputs = arguments.windows(2).filter(|pair| FIND_OUTPUTS.contains(&pair[0].as_str()));
            outputs.map(|pair| pair[1].clone()).collect()
        }
        "git" => list_written_by_git(arguments),
        // The archive is extracted into the current directory; operands name members.
        "tar" | "bsdtar" if extracts(arguments) => {
            current().chain(operands()).chain(option_values('C', "directory")).collect()
        }
        "7z" | "7za" | "7zz" if arguments.first().is_some_and(|word| ["e", "x"].contains(&word.as_str())) => {
            let dir = |word: &String| word.strip_prefix("-o").map(str::to_owned);
            current().chain(arguments.iter().filter_map(dir)).collect()
        }
        "cpio" if has_flag(arguments, 'i', "extract") => {
            current().chain(option_values('D', "directory")).collect()
        }
        "unrar" => targets(arguments).skip(2).cloned().collect(),
        "unzip" if !arguments.iter().any(|word| ["-l", "-p", "-t", "-v", "-Z"].contains(&word.as_str())) => {
            current().chain(operands()).chain(option_values('d', "")).collect()
        }
        "curl" => {
            let is_named_remotely =
                has_flag(arguments, 'O', "remote-name") || has_flag(arguments, 'O', "remote-name-all");
            let outputs = option_values('o', "output").chain(option_values('o', "output-dir"));
            outputs.chain(current().filter(|_| is_named_remotely)).collect()
        }
        "wget" => {
            let outputs: Vec<String> = option_values('O', "output-document").collect();
            let writes_current = outputs.is_empty();
            let context = option_values('P', "directory-prefix");
            outputs.into_iter().chain(context).chain(current().filter(|_| writes_current)).collect()
        }
        _ => list_written_texts(name, arguments),
    }
}

/// Lists the files that a program for text changes: a filter, an editor or one that splits files.
fn list_written_texts(name: &str, arguments: &[String]) -> Vec<String> {
    let operands = || targets(arguments).cloned();
    let after_first =
        |with_values| operands_without_values(arguments, with_values).into_iter().skip(1).cloned().collect();
    match name {
        "uniq" => after_first("fsw"),
        "xxd" => after_first("Rcglnos"),
        "sed" | "gsed" => {
            let sed = read_sed_arguments(arguments);
            let edited = sed.files.into_iter().filter(|_| sed.edits_in_place).cloned();
            edited.chain(list_sed_outputs(arguments)).collect()
        }
        "perl" | "ruby" if edits_in_place(name, arguments) => {
            find_operands(arguments, &format!("i{}", joined_values(name)), "Ee")
                .into_iter()
                .cloned()
                .collect()
        }
        _ if is_awk(name) => {
            let is_inplace = values(arguments, 'i', "include").any(|library| library == "inplace");
            let edited = list_awk_files(arguments).into_iter().filter(|_| is_inplace).cloned();
            edited.chain(list_awk_outputs(arguments)).collect()
        }
        "csplit" => values(arguments, 'f', "prefix").chain([""]).map(str::to_owned).collect(),
        // The first operand is read; without a second one, the files are created in the current directory.
        "split" => {
            let prefix = operands_without_values(arguments, "abCln").get(1).map(|prefix| (*prefix).clone());
            vec![prefix.unwrap_or_default()]
        }
        "ed" | "emacs" | "nano" | "red" => operands().collect(),
        // `-c 'w FILE'`
        _ if name != "view" && EDITORS.contains(&name) => {
            let commands: Vec<&str> = list_editor_commands(arguments).collect();
            let named = commands.iter().flat_map(|line| line.split_whitespace().skip(1));
            let operands = targets(arguments).map(String::as_str).filter(|word| !commands.contains(word));
            operands.chain(named).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// Programs that change a file's name, mode or time, but not its content.
const KEEP_CONTENT: &[&str] = &["chgrp", "chmod", "chown", "ln", "mkdir", "rm", "rmdir", "touch", "unlink"];

/// Lists the paths whose content a program changes.
pub(super) fn list_overwritten(name: &str, arguments: &[String]) -> Vec<String> {
    if KEEP_CONTENT.contains(&name) { Vec::new() } else { list_written(name, arguments) }
}

/// Returns the operands without trailing slashes, for programs that ignore them; with a slash, rsync copies
/// the directory's content.
fn collect_sources(arguments: &[String]) -> Vec<&str> {
    targets(arguments).map(|path| path.trim_end_matches('/')).collect()
}

/// Lists the directories that options of cp, install, ln and mv name.
fn list_target_dirs(arguments: &[String]) -> Vec<&str> {
    values(arguments, 't', "target-directory").collect()
}

/// Lists the files that a copying, moving or linking program creates: the last operand, or files in that
/// directory with the names of the others. The first operand is only read; the last may precede a flag's
/// value.
fn list_copies(operands: &[&str], context: &[&str]) -> Vec<String> {
    let created = operands.iter().skip(1).copied().chain(context.iter().copied());
    // `ln FILE` creates a link in the current directory.
    let current = if operands.len() == 1 { "." } else { "" };
    let last = operands.iter().skip(1).rev().take(2).chain(context).copied();
    let last = last.chain(Some(current).filter(|current| !current.is_empty()));
    let within = last.flat_map(|dir| operands.iter().map(move |name| format!("{dir}/{}", copied_name(name))));
    created.map(str::to_owned).chain(within).collect()
}

/// Returns the last name of a path, which may be on another machine: `host:x/y`.
fn copied_name(path: &str) -> &str {
    let name = base_name(path);
    name.rsplit(':').next().unwrap_or(name)
}

/// Returns the options of perl or ruby whose value is the rest of the word, apart from `-i`.
fn joined_values(name: &str) -> &'static str {
    if name == "perl" { "CDEFIMVemx" } else { "CEFIKTWerx" }
}

/// Returns true if perl or ruby writes its output to the files.
fn edits_in_place(name: &str, arguments: &[String]) -> bool {
    let with_values = joined_values(name);
    let has_letter =
        |flags: &str| flags.split(|c| with_values.contains(c)).next().is_some_and(|it| it.contains('i'));
    arguments.iter().any(|word| word.strip_prefix('-').is_some_and(has_letter))
}

/// Short options of awk with a value (gawk 5.3).
const AWK_VALUES: &str = "EFefilv";

/// Lists the files that awk reads: the operands after the script, unless an option names the script.
fn list_awk_files(arguments: &[String]) -> Vec<&String> {
    let is_long =
        |name: &str| !name.is_empty() && ["exec", "file", "source"].iter().any(|long| long.starts_with(name));
    let names_script = arguments.iter().any(|word| match word.strip_prefix("--") {
        Some(long) => is_long(long.split('=').next().unwrap_or(long)),
        None => {
            let mut flags = word.strip_prefix('-').unwrap_or_default().chars();
            flags.find(|c| AWK_VALUES.contains(*c)).is_some_and(|letter| "Eef".contains(letter))
        }
    });
    let operands = operands_without_values(arguments, AWK_VALUES);
    operands.into_iter().skip(usize::from(!names_script)).collect()
}

/// Returns the operands of a program that has short options with a value in the next word.
fn operands_without_values<'a>(
    arguments: impl IntoIterator<Item = &'a String>,
    with_values: &str,
) -> Vec<&'a String> {
    find_operands(arguments, with_values, with_values)
}

/// Returns the operands of a program. In a group of letters, the first one `with_value` decides: the value is the rest
/// of the word, or the next word if the letter is `spaced`.
fn find_operands<'a>(
    arguments: impl IntoIterator<Item = &'a String>,
    with_value: &str,
    spaced: &str,
) -> Vec<&'a String> {
    let mut words = arguments.into_iter();
    let mut operands = Vec::new();
    while let Some(word) = words.next() {
        match word.strip_prefix('-').filter(|flags| !flags.is_empty()) {
            Some(flags)
                if !flags.starts_with('-')
                    && flags.find(|c| with_value.contains(c)) == Some(flags.len() - 1)
                    && flags.ends_with(|c| spaced.contains(c)) =>
            {
                words.next();
            }
            Some(_) => {}
            None => operands.push(word),
        }
    }
    operands
}

/// Lists the files and directories that git writes: outputs named by options (`--output` of log, `-o` of
/// archive and format-patch), the directory of a clone or of exported files, and the changed configuration file. `-C`
/// changes the directory first.
fn list_written_by_git(arguments: &[String]) -> Vec<String> {
    let dir = values(arguments, 'C', "").fold(String::new(), |dir, next| match next.starts_with('/') {
        true => format!("{next}/"),
        false => format!("{dir}{next}/"),
    });
    let mut paths: Vec<&str> = values(arguments, 'o', "output-directory").collect();
    if let Some(at) = arguments.iter().position(|word| word == "clone") {
        paths.extend(targets(&arguments[at + 1..]).skip(1).map(String::as_str));
    }
    match git_data_loss::split_command(arguments) {
        Some(("bundle", [action, rest @ ..])) if action == "create" => {
            paths.extend(targets(rest).take(1).map(String::as_str));
        }
        Some(("apply", rest)) => paths.extend(values(rest, '\0', "directory")),
        Some(("checkout-index", rest)) => paths.extend(values(rest, '\0', "prefix")),
        Some(("worktree", [action, rest @ ..])) => paths.extend(find_worktree(action, rest)),
        Some(_) | None => {}
    }
    if let Some(("config", rest)) = git_data_loss::split_command(arguments)
        && !reads_config(rest)
    {
        paths.extend(values(rest, 'f', "file"));
        let is_global = rest.iter().any(|word| is_option(word, "--global"));
        paths.extend(is_global.then_some("~/.gitconfig"));
    }
    let resolved = paths.iter().filter(|path| !path.starts_with('/')).map(|path| format!("{dir}{path}"));
    paths.iter().map(|path| (*path).to_owned()).chain(resolved).collect()
}

/// Returns the directory that `git worktree` creates.
fn find_worktree<'a>(action: &str, arguments: &'a [String]) -> Option<&'a str> {
    let is_value = |at: &usize| at.checked_sub(1).is_some_and(|at| is_option(&arguments[at], "--reason"));
    let words: Vec<&String> =
        (0..arguments.len()).filter(|at| !is_value(at)).map(|at| &arguments[at]).collect();
    let operands = operands_without_values(words, "Bb");
    let at = match action {
        "add" => 0,
        "move" => 1,
        _ => return None,
    };
    operands.get(at).map(|path| path.as_str())
}

/// Lists the files that the scripts of awk write: `print > "FILE"`, `print >> "FILE"`.
fn list_awk_outputs(arguments: &[String]) -> Vec<String> {
    let after_sign = arguments.iter().flat_map(|script| script.split('>').skip(1));
    let literals = after_sign.filter_map(|text| text.trim_start().strip_prefix('"')?.split_once('"'));
    literals.map(|(path, _)| path.to_owned()).collect()
}

/// Options of `git config` that change something without a value (git 2.51).
const CONFIG_CHANGES: &[&str] =
    &["-e", "--edit", "--remove-section", "--rename-section", "--unset", "--unset-all"];

/// Options of `git config` whose value is the next word (git 2.51).
const CONFIG_VALUES: &[&str] = &["--blob", "--comment", "--default", "--file", "--type", "--url", "--value"];

/// Returns true if git writes the configuration of all users.
pub(super) fn changes_system_config(arguments: &[String]) -> bool {
    git_data_loss::split_command(arguments).is_some_and(|(command, rest)| {
        command == "config" && !reads_config(rest) && rest.iter().any(|word| is_option(word, "--system"))
    })
}

/// Returns true if `git config` only reads with these arguments: because of its subcommand or an option, or
/// because there is only a key.
fn reads_config(arguments: &[String]) -> bool {
    let end = arguments.iter().position(|word| word == "--").unwrap_or(arguments.len());
    let mut operands = Vec::new();
    let mut changes = false;
    let mut words = arguments[..end].iter();
    while let Some(word) = words.next() {
        let is_valued = |option: &&str| is_option(word, option);
        match word.as_str() {
            "--list" | "-l" => return true,
            word if word.starts_with("--get") => return true,
            "-f" => drop(words.next()),
            word if word.starts_with("--") && CONFIG_VALUES.iter().any(is_valued) => drop(words.next()),
            word if word.starts_with('-') => changes |= CONFIG_CHANGES.iter().any(|it| is_option(word, it)),
            word => operands.push(word),
        }
    }
    operands.extend(arguments[end..].iter().skip(1).map(String::as_str));
    match operands.as_slice() {
        ["get" | "list", ..] => true,
        ["edit", ..] => false,
        [_] => !changes,
        _ => false,
    }
}

/// Returns true for a long option, possibly abbreviated.
fn is_option(word: &str, option: &str) -> bool {
    word == option || (word.len() > 3 && word.starts_with("--") && option.starts_with(word))
}

/// Returns true if tar extracts an archive; its first word may be flags without a dash.
pub(super) fn extracts(arguments: &[String]) -> bool {
    let is_bundled = arguments.first().is_some_and(|word| !word.starts_with('-') && word.contains('x'));
    is_bundled || ["extract", "get"].iter().any(|long| has_flag(arguments, 'x', long))
}

#[cfg(test)]
mod tests {
    use tiller_core::protected_path::Protection;

    use super::super::risk_in_work;
    use super::LINKS_OUT;

    #[test]
    fn writes_to_project_configuration_of_tiller_asks() {
        for line in [
            "echo x > .tiller/hooks/check.sh",
            "cp check.sh .tiller/hooks/",
            "cd .tiller && touch extensions/guard",
            "sed -i s/a/b/ sub/.mcp.json",
            "rm -rf .tiller",
            "D=.tiller; mkdir $D",
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(Protection::Project.reason()), "{line}");
        }
        for line in
            ["cat .tiller/settings.json .mcp.json", "cd .tiller && ls && cd .. && touch x", "touch .tillerx"]
        {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }

    #[test]
    fn writes_by_unknown_program_to_startup_file_ask() {
        for (line, expected) in [
            ("script -q ~/.bashrc -c true", Protection::Home),
            ("tar cf ~/.bashrc a", Protection::Home),
            ("openssl rand -out ~/.bashrc 10", Protection::Home),
            ("convert a.png ~/.bashrc", Protection::Home),
            ("pg_dump -f ~/.bashrc a", Protection::Home),
            ("pg_dump --file=$HOME/.bashrc a", Protection::Home),
            ("yq -i . ~/.zshrc", Protection::Home),
            ("aws s3 cp s3://a ~/.bashrc", Protection::Home),
            ("dos2unix .git/hooks/pre-commit", Protection::Git),
            ("timeout 5 ./x .git/config", Protection::Git),
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(expected.reason()), "{line}");
        }
        for line in ["7z x a -o$HOME", "cpio -idm -D ~", "unrar x a ~/", "git apply --directory=$HOME x"] {
            assert!(risk_in_work(line).is_some(), "{line}");
        }
        for line in [
            "cat ~/.bashrc | less; diff ~/.bashrc ~/.profile; grep -n x ~/.zshrc; source ~/.bashrc",
            "cp ~/.bashrc x; bash ~/.bashrc; for f in ~/.bashrc; do wc -l $f; done",
            "ls -l .git/hooks; cat .git/config; tar czf x.tgz .git; git -C x log .git/config",
            "prettier --check .bashrc; 7z x a; echo ~/.bashrc",
        ] {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }

    #[test]
    fn writes_in_git_ask() {
        for line in [
            "echo make > .git/hooks/pre-commit",
            "cp hook .git/hooks/pre-commit",
            "cp -t .git/hooks hook",
            "cp --target-directory=.git/hooks hook",
            "cp --target-directory .git/hooks hook",
            "cp -at .git/hooks hook",
            "cp -t.git/hooks hook",
            "install hook .git/hooks/pre-commit -m 755",
            "cd .git/hooks && cp x y",
            "cd .git; sh -c 'cd hooks && make > pre-commit'",
            "echo x | tee -a .git/config",
            "cd sub && mv hook ../.git/hooks/",
            "sed -i s/a/b/ .git/config",
            "chmod +x .git/hooks/pre-commit",
            "rm -rf .git",
            "ln -s ../x .git/hooks/x",
            "dd if=x of=.git/config",
            "sh -c 'touch .git/hooks/x'",
            "x 2>> .git/config",
            "x > .git$(y)/config",
            "cp x $(y) .git/hooks",
            "cd .git; touch hooks/x $(cd ..; ls)",
            "touch {.git/hooks/x,y}",
            "scp host:hook .git/hooks/pre-commit",
            "sort x -o .git/config",
            "tar -xzf hooks.tgz -C .git",
            "tar xf hooks.tar -C.git",
            "tar xzC .git -f hooks.tgz",
            "cat hooks.tar | tar --extract --directory=.git/hooks",
            "tar --get --directory .git/hooks -f hooks.tar",
            "tar xf hooks.tar .git/hooks/pre-commit",
            "cd .git && tar xf /tmp/hooks.tar",
            "unzip -o hooks.zip -d .git/hooks",
            "unzip hooks.zip -d.git/hooks",
            "cd .git/hooks && unzip /tmp/hooks.zip",
            "curl -fsSLo .git/hooks/pre-commit https://x",
            "curl https://x --output .git/config",
            "curl --output-dir .git/hooks -O https://x/pre-commit",
            "cd .git/hooks && curl -sO https://x/pre-commit",
            "wget -qO .git/hooks/pre-commit https://x",
            "ln -s .git/hooks h && cp x h/pre-commit",
            "ln -s ../.git/hooks sub/h",
            "ln .git/config c",
            "cp -rs .git h",
            "git config -f .git/config user.name x",
            "echo x > $'.git/hooks/pre-commit'",
            "echo x > $'.g\\x69t/hooks/pre-commit'",
            "echo x > $\".git/hooks/pre-commit\"",
            "wget --output-document=.git/config https://x",
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(Protection::Git.reason()), "{line}");
        }
    }

    #[test]
    fn writes_in_git_by_editors_ask() {
        for line in [
            "split -b 10 x .git/hooks/",
            "cd .git/hooks && split -l 1 /tmp/x",
            "csplit -f .git/hooks/x a 2",
            "ruby -pi -e 'x' .git/config",
            "ruby -i.bak -ne 'x' .git/config",
            "perl -0pi -e 'x' .git/config",
            "cmake -E rm .git/config",
            "cmake -E copy x .git/hooks/pre-commit",
            "cmake -E touch .git/hooks/x",
            "cmake -E env X=1 tee .git/config",
            "ed -s .git/config",
            "ex -sc 'g/x/d' .git/config",
            "ex -s -c 'w .git/hooks/x' y",
            "vim -es -c 'wq' .git/config",
            "vim -c 'saveas .git/config' x",
            "nano .git/config",
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(Protection::Git.reason()), "{line}");
        }
    }

    #[test]
    fn writes_to_pattern_for_protected_path_ask() {
        for (line, expected) in [
            ("cp pre-commit .gi?/hooks/", Protection::Git),
            ("echo x >> .gi?/config", Protection::Git),
            ("rm -rf .g*", Protection::Git),
            ("rm -rf sub/.gi?", Protection::Git),
            ("rm -f .*", Protection::Git),
            ("mv .gi* /tmp", Protection::Git),
            ("tee .gi*/config", Protection::Git),
            ("sed -i s/a/b/ .gi*/config", Protection::Git),
            ("chmod +x .gi*/hooks/x", Protection::Git),
            ("chmod +x .g[i]t/hooks/x", Protection::Git),
            ("ln -s .gi* h", Protection::Git),
            ("find .gi* -delete", Protection::Git),
            ("cd .git && rm h*", Protection::Git),
            ("eval rm -r '.g*'", Protection::Git),
            ("sh -c 'rm -r .g*'", Protection::Git),
            ("for d in '.g*'; do touch $d/config; done", Protection::Git),
            ("F='.g*'; tee $F/config '.g*'", Protection::Git),
            ("touch .g* '.g*'", Protection::Git),
            ("rm .til*/hooks/x", Protection::Project),
            ("touch ~/.bash*", Protection::Home),
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(expected.reason()), "{line}");
        }
        for line in [
            "rm -f *",
            "rm -f ./*; rm -rf target/* build-[0-9]*",
            "rm -f *.o *.log .*.swp",
            "mv *.[ch] src; chmod +x .github/*.sh bin/*",
            "sed -i 's/.*/x/' f; perl -pi -e 's/.*//' f; awk -i inplace '/.*/' f",
            "rsync -a --exclude '.gi*' src/ out",
            "touch '.g*'",
            "cat .g* > all; ls -d .*",
            "python3 -c 'import re; re.sub(\"x/.*\", \"\", \"y\")'",
        ] {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }

    #[test]
    fn writes_by_filter_count_its_files_but_not_its_script() {
        for line in [
            "sed -ni p .git/config",
            "sed -e p -i -- .git/config",
            "sed --in-place=.bak --expr p .git/config",
            "sed -i -f x .git/config",
            "sed -i '' p .git/config",
            "sed -i .bak p .git/config",
            "sed -ie p .git/config",
            "sed -l -i p .git/config",
            "sed -l 'w .git/x' a",
            "awk -i inplace -F , 1 .git/config",
            "awk -i inplace -f x .git/config",
            "awk --include=inplace --source 1 .git/config",
            "gawk -i inplace --csv 1 .git/config",
            "awk -i inplace -Sf x.awk .git/config",
            "sed s/a/b/ -i .git/config",
            "sed -n -e p -i .git/hooks/pre-commit",
            "perl -i.e -pe 1 .git/config",
            "perl -C -pi -e 1 .git/config",
            "perl -Mre -pi .git/config",
            "ruby -i -pe 1 .git/config",
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(Protection::Git.reason()), "{line}");
        }
        for line in [
            "sed -i '/foo/d' src/main.rs",
            "sed -i -e '/^#/d' -e '/x/d' f",
            "sed -i.bak '/x/d' f",
            "sed -i .bak '/x/d' f",
            "sed -i '' '/x/d' f",
            "sed -Ei '/foo/s/a/b/' f",
            "sed -i '/a/,/b/d' f",
            "sed -i '/foo/a bar' f",
            "sed -i '$a last' f",
            "sed --in-place --expression '/x/d' f",
            "awk -i inplace '/foo/{next}1' f",
            "awk -i inplace -v a=1 '/foo/' f",
            "perl -pi -e '/foo/ && s/a/b/' f",
            "ruby -i.bak -pe '/foo/' f",
        ] {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }

    #[test]
    fn writes_link_out_of_working_directory_asks() {
        for line in [
            "ln -s ~ h; cat h/.config/x",
            "ln -s .. h",
            "ln -s ../x y",
            "ln -s / h",
            "ln -sf /etc etc",
            "ln -s $X h",
            "ln /home/me/notes n",
            "ln -sr ../x sub/y",
            "cp -as /etc e",
            "cp --link ../x y",
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(LINKS_OUT), "{line}");
        }
    }

    #[test]
    fn writes_redirection_into_git_asks() {
        for line in [
            "x >| .git/config",
            "x >|.git/config",
            "x 2>|.git/config",
            "x >& .git/config",
            "x >&.git/config",
            "x 2>&.git/config",
            "x &> .git/config",
            "x &>>.git/config",
            "x <> .git/config",
            "x 1<>.git/config",
            "x {fd}>|.git/config",
            "x>|.git/config y",
            "cd .git && x >|config",
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(Protection::Git.reason()), "{line}");
        }
    }

    #[test]
    fn writes_git_output_into_git_asks() {
        for line in [
            "git log --output=.git/hooks/pre-commit",
            "git log -1 --output .git/hooks/pre-commit",
            "git log --outp=.git/hooks/pre-commit",
            "git diff --output=.git/config",
            "git archive -o .git/hooks/x HEAD",
            "git archive -o.git/hooks/x HEAD",
            "git format-patch -o .git/hooks -1",
            "git format-patch --output-directory=.git/hooks -1",
            "git -C .git log --output=hooks/pre-commit",
            "git -C .git -C hooks log --output=pre-commit",
            "git -C src show --output=../.git/x",
            "cd .git/hooks; git log --output=pre-commit",
            "git clone ../evil .git/hooks",
            "cp -r sub/.git .",
            "find . -fprint .git/hooks/pre-commit",
            "echo x | uniq - .git/config",
            "sed -n 'w .git/hooks/pre-commit' a",
            "awk '{print > \".git/hooks/pre-commit\"}' a",
            "gawk '{ print $1 >> \".git/config\" }' a",
            "awk -i inplace 1 .git/config",
            "gcc -o .git/hooks/pre-commit x.c",
            "go build -o .git/hooks/pre-commit .",
            "pandoc a.md --output=.git/hooks/x",
            "xxd -r a .git/hooks/pre-commit",
            "uniq -f 1 a .git/config",
            "wget -P .git/hooks https://x/pre-commit",
            "cd .git/hooks && wget https://x/pre-commit",
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(Protection::Git.reason()), "{line}");
        }
    }

    #[test]
    fn writes_read_in_git_is_free() {
        for line in [
            "git status > .gitignore",
            "cp .git/config /tmp/config",
            "cp -t /tmp config",
            "rsync -rt .git/ /tmp/copy",
            "cd .git && cat HEAD > /tmp/head",
            "cd .git/hooks && ls && cd ../.. && touch x",
            "cd .git && ls; cd - && touch x",
            "sed -n 1p .git/config",
            "cp x .github/workflows/ci.yml",
            "cat .git/HEAD | tee head.txt",
            "git config -f .git/config --get user.name",
            "git config --file .git/config user.name",
            "git config --file .git/config --list",
            "ln -s lib/x y",
            "ln -s ../lib/x bin/x",
            "ln -s /home/me/work/x y",
            "ln -sr lib/x bin/y",
            "ln x y",
            "tar czf /tmp/git.tgz -C .git .",
            "tar xf hooks.tar -C /tmp",
            "unzip -l .git/x.zip",
            "unzip x.zip -d build",
            "cd .git && curl -s https://x",
            "cd .git && wget -qO- https://x",
            "curl -o .github/x https://x",
            "wget -P /tmp https://x",
            "split -l 5 ../x part-",
            "split -n 3 .git/x /tmp/part",
            "ruby -Ilib -Itest ../x/test.rb",
            "perl -MList::Util -e 'print 1' ../x",
            "cmake -E copy ../x y",
            "cmake --build build",
            "vim -es -c '/x/d' -c wq x",
            "view ../x",
        ] {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }

    #[test]
    fn writes_home_startup_file_asks() {
        for line in [
            "echo x >> ~/.bashrc",
            "echo x >>~me/.bashrc",
            "echo x > $HOME/.profile",
            "echo x > \"$HOME\"/.profile",
            "echo x > \"${HOME}/.zshrc\"",
            "echo x > ${HOME}/.zshrc",
            "echo x >| ~/.zshenv",
            "echo x &> ../.bashrc",
            "echo x >> /home/me/.bashrc",
            "echo x > /home/me/work/../.bashrc",
            "cd && echo x >> .bashrc",
            "(cd /tmp && ls); echo x >> ../.bashrc",
            "cd ~; echo x >> .bashrc",
            "cd \"$HOME\" && echo x >> .bashrc",
            "cd ..; echo x >> .bashrc",
            "cd ~/.ssh && cat key >> authorized_keys",
            "cd /tmp; cd ~/.ssh; cd -; cd -; touch x",
            "pushd ~/.ssh; pushd /tmp; popd; touch x",
            "cat key | tee -a ~/.ssh/authorized_keys",
            "cp x ~/.ssh/config",
            "cp x/.bashrc ~",
            "cp x/.bashrc ~/",
            "cp -r x/.ssh/ $HOME",
            "cp x/.netrc ..",
            "cp -t ~ x/.netrc",
            "cp --target-directory=$HOME .npmrc",
            "mv x ~/.config/autostart/x.desktop",
            "ln -s /tmp/x ~/.local/bin/ls",
            "ln -sf /tmp/.bashrc ~",
            "cd ~ && ln -s /tmp/.bashrc",
            "install -m 755 x ~/bin/git",
            "rsync -a host:.ssh ~",
            "scp host:.netrc ~/",
            "sed -i 1d ~/.zshrc",
            "perl -pi -e 1 ~/.bashrc",
            "dd if=x of=$HOME/.bashrc",
            "sort x -o ~/.npmrc",
            "chmod 777 ~/.ssh",
            "rm ~/.ssh/known_hosts",
            "touch ~/.hushlogin ~/.bash_profile",
            "mkdir -p ~/.config/systemd/user",
            "truncate -s 0 ~/.gitconfig",
            "tar xf x.tar -C ~/.ssh",
            "cd ~/.vim && unzip /tmp/x.zip",
            "curl -o ~/.curlrc https://x",
            "curl https://x > ~/.gnupg/gpg.conf",
            "wget -P ~/.emacs.d https://x",
            "patch ~/.bashrc < x",
            "ssh-keygen -t ed25519 -f ~/.ssh/id",
            "git log --output=$HOME/.bashrc",
            "git clone https://x ~/.oh-my-zsh",
            "git -C ~ diff --output=.bashrc",
            "sh -c 'echo x >> ~/.bashrc'",
            "true && env X=1 tee ~/.kube/config",
            "find . -name x -exec cp {} ~/.aws/credentials \\;",
            "echo \"$(tee ~/.docker/config.json)\"",
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(Protection::Home.reason()), "{line}");
        }
    }

    #[test]
    fn writes_home_startup_file_by_filter_asks() {
        for line in ["uniq a ~/.bashrc", "cat a | sponge ~/.bashrc", "iconv -o ~/.bashrc a"] {
            assert_eq!(risk_in_work(line).as_deref(), Some(Protection::Home.reason()), "{line}");
        }
    }

    #[test]
    fn writes_current_dir_or_link_source_asks() {
        for line in [
            "echo x >> $PWD/../.bashrc",
            "echo x >> \"${PWD}/../.bashrc\"",
            "echo x >> ~+/../.bashrc",
            "cd $PWD/.. && echo x >> .bashrc",
            "ln -s ~/.ssh s; cat k >> s/authorized_keys",
            "ln -s /home/me/.ssh",
            "ln -t . -s ../.ssh",
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(Protection::Home.reason()), "{line}");
        }
    }

    #[test]
    fn writes_git_config_outside_repository_asks() {
        for line in [
            "git config --global user.name x",
            "git config user.name x --global",
            "git config --glob user.name x",
            "git config set --global user.name x",
            "git config --global --edit",
            "git config --global --unset user.name",
            "git config --global -- user.name -l",
            "git config -f ~/.gitconfig user.name x",
            "git config --file=../.gitconfig user.name x",
            "git -C .. config -f .gitconfig user.name x",
            "git config --file ~/.gitconfig --type bool x.y true",
            "cd /nope; cat k >> ../.ssh/authorized_keys",
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(Protection::Home.reason()), "{line}");
        }
    }

    #[test]
    fn writes_home_read_or_project_write_is_free() {
        for line in [
            "cat ~/.bashrc",
            "grep alias ~/.bashrc > aliases.txt",
            "cp ~/.gitconfig x",
            "echo x > .npmrc",
            "echo x > .config/settings",
            "mkdir -p bin .docker && touch bin/x",
            "sed -i 1d .bashrc",
            "cd sub && echo x > .env",
            "echo x > /tmp/.bashrc",
            "ls -la ~ ~/.ssh 2>&1",
            "cd ~ && ls .ssh > /tmp/x",
            "git config --global user.name",
            "git config --global --get user.name",
            "git config get --global user.name",
            "git config --global --list",
            "git config -l",
            "git config list --system",
            "git config -f x user.name y",
            "git config user.name x",
        ] {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }
}
