//! Read-only lines and the paths that they read. Such a line consists of plain commands from the table of
//! patterns and filters, joined by pipes, `&&`, `||` and `;`.

use std::path::{Path, PathBuf};

use tiller_core::protected_path::normalize;

use super::pattern::CommandPattern;
use super::risk::CommandContext;
use super::shell::{self, ControlOperator, PlainCommand};

/// State of the repository whose `.git` lies in the working directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepositoryState {
    /// There is no repository, it wasn't checked, or its configuration may run something. Files written by a
    /// tool could pass for a repository, and git runs programs that its configuration names.
    #[default]
    Unknown,
    /// A real repository whose configuration runs nothing.
    Harmless,
}

/// The read-only commands, each with the options that disqualify it because they follow links out of the
/// operands, wait forever, or read a file that the option names. Commands that may write, run or send
/// something aren't listed, nor are rarely needed ones.
const READING: &[(&str, &[&str])] = &[
    ("cat", &[]),
    ("cut", &[]),
    // Recursively, it would follow links.
    ("diff", &["-r", "--recursive"]),
    ("echo", &[]),
    ("file", &["-f", "-m", "--files-from", "--magic-file"]),
    // It would follow links.
    ("find", &["-L", "-follow"]),
    ("git blame", &[]),
    ("git cat-file", &[]),
    ("git describe", &[]),
    ("git diff", &[]),
    ("git grep", &["-f"]),
    ("git log", &[]),
    ("git ls-files", &[]),
    ("git ls-tree", &[]),
    ("git merge-base", &[]),
    ("git rev-list", &[]),
    ("git rev-parse", &[]),
    ("git shortlog", &[]),
    ("git show", &[]),
    ("git stash list", &[]),
    ("git stash show", &[]),
    ("git status", &[]),
    ("grep", &["-R", "-f", "--dereference-recursive", "--exclude-from", "--file"]),
    ("head", &[]),
    ("ls", &["-L", "--dereference"]),
    ("pwd", &[]),
    ("rg", &["-L", "-f", "--file", "--follow", "--ignore-file"]),
    ("stat", &[]),
    ("tail", &["-f", "-F", "--follow", "--retry"]),
    ("tree", &["-l"]),
    ("wc", &["--files0-from"]),
    ("which", &[]),
];

/// Commands whose first operand is a pattern, unless one of [`PATTERN_OPTIONS`] is present.
const SEARCHING: &[&str] = &["grep", "rg"];

/// Options that set a pattern, or list files without one.
const PATTERN_OPTIONS: &[&str] = &["--", "-e", "--files", "--regexp", "--type-list"];

/// A path that a read-only command reads, relative to the working directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadPath {
    /// A file or a directory.
    Named(String),
    /// A file; for a directory, the command would follow the links in it.
    File(String),
    /// A pattern with `*` and `?`, which the shell replaces with the names of files.
    Pattern(String),
}

/// Maximum number of directories in which a command of a line may run.
const MAX_DIRECTORIES: usize = 16;

/// Lists the paths that the commands of a line name, if all of them only read. Every word that may be a path
/// counts as one, and so does every option value. Commands after a `cd` that may have failed can run in
/// several directories.
pub(super) fn list_paths(
    line: &str,
    context: CommandContext<'_>,
    repository: impl FnOnce() -> RepositoryState,
) -> Option<Vec<ReadPath>> {
    let commands = shell::plain_commands(line)?;
    let changes_directory = |command: &PlainCommand| command.words[0].text == "cd";
    let has_cd = commands.iter().any(changes_directory);
    if has_cd && commands.iter().any(|command| command.joint == ControlOperator::Or) {
        return None;
    }
    let root = context.resolve_path(".");
    let (mut current, mut visited) = (vec![PathBuf::new()], vec![PathBuf::new()]);
    let (mut paths, mut uses_git) = (Vec::new(), false);
    for (at, command) in commands.iter().enumerate() {
        if command.joint == ControlOperator::Sequence {
            current.clone_from(&visited);
        }
        if changes_directory(command) {
            let is_piped =
                |command: Option<&PlainCommand>| command.is_some_and(|it| it.joint == ControlOperator::Pipe);
            if is_piped(Some(command)) || is_piped(commands.get(at + 1)) {
                return None;
            }
            let target = cd_target(command)?;
            current.iter_mut().for_each(|dir| dir.push(target));
            visited.extend(current.iter().cloned());
            paths.extend(current.iter().map(|dir| ReadPath::Named(dir.display().to_string())));
        } else {
            let read = list_command_paths(command, context)?;
            paths.extend(current.iter().flat_map(|dir| read.iter().map(|path| path.within(dir))));
        }
        // Another directory may have its own repository.
        let is_root = || current.iter().all(|dir| normalize(&root.join(dir)) == root);
        let is_git = command.words[0].text == "git";
        if visited.len() > MAX_DIRECTORIES || (is_git && !is_root()) {
            return None;
        }
        uses_git |= is_git;
    }
    (!uses_git || repository() == RepositoryState::Harmless).then_some(paths)
}

impl ReadPath {
    fn within(&self, dir: &Path) -> Self {
        let join = |path: &String| match dir.as_os_str().is_empty() {
            true => path.clone(),
            false => dir.join(path).display().to_string(),
        };
        match self {
            Self::Named(path) => Self::Named(join(path)),
            Self::File(path) => Self::File(join(path)),
            Self::Pattern(path) => Self::Pattern(join(path)),
        }
    }
}

/// Returns the directory that a `cd` names; `None` with `..`, which the shell resolves without links.
fn cd_target(command: &PlainCommand) -> Option<&str> {
    let [_, target] = command.words.as_slice() else { return None };
    let is_plain = !target.is_pattern && !target.text.is_empty() && !target.text.starts_with(['-', '~']);
    (is_plain && !target.text.split('/').any(|name| name == "..")).then_some(&target.text)
}

/// Lists the paths that a command reads, from the directory that it runs in.
fn list_command_paths(command: &PlainCommand, context: CommandContext<'_>) -> Option<Vec<ReadPath>> {
    let words: Vec<&str> = command.words.iter().map(|word| word.text.as_str()).collect();
    // Words with wildcards that the shell expands are listed as patterns.
    let context = context.with_quotes();
    let named = list_filter_paths(&words, context).or_else(|| list_reading_paths(&words, context))?;
    let patterns = command.words.iter().filter(|word| word.is_pattern);
    // After the letters of an option, a wildcard is part of the option's value.
    let patterns = patterns.filter(|word| !(word.text.starts_with('-') && word.text.contains('=')));
    let patterns: Vec<&str> = patterns.map(|word| word.text.as_str()).collect();
    let is_risky = |pattern: &&str| {
        // Some shells search all directories below for `**`.
        pattern.starts_with(['-', '~'])
            || pattern.contains("**")
            || pattern.split('/').any(|name| name.starts_with('.') && name != ".")
    };
    if patterns.iter().any(is_risky) || (words[0] == "diff" && !patterns.is_empty()) {
        return None;
    }
    let named = named.into_iter().map(|path| match words[0] {
        "diff" => ReadPath::File(path),
        _ => ReadPath::Named(path),
    });
    Some(named.chain(patterns.into_iter().map(|pattern| ReadPath::Pattern(pattern.to_owned()))).collect())
}

/// The filters, each with the options that disqualify it because they write a file, run a program, or read a
/// file with further file names or code.
const FILTERS: &[(&str, &[&str])] = &[
    ("false", &[]),
    ("jq", &["-f", "-L", "--from-file", "--library-path", "--run-tests"]),
    ("sed", &[]),
    ("sort", &["-T", "-o", "--compress-program", "--files0-from", "--output", "--temporary-directory"]),
    ("tr", &[]),
    ("true", &[]),
    ("uniq", &[]),
];

/// Parts of a jq program that read other files or the environment.
const READING_JQ: &[&str] = &["env", "ENV", "import", "include"];

/// Lists the paths that a filter names.
fn list_filter_paths(words: &[&str], context: CommandContext<'_>) -> Option<Vec<String>> {
    let (name, arguments) = words.split_first()?;
    let (_, refused_options) = FILTERS.iter().find(|(filter, _)| filter == name)?;
    let is_refused = |word: &&str| refused_options.iter().any(|option| may_be(word, option)) || *word == "--";
    let is_secret = |word: &&str| word.starts_with('~') || context.names_secret(word);
    if arguments.iter().any(|word| is_refused(word) || is_secret(word)) {
        return None;
    }
    let options = arguments.iter().filter(|word| word.starts_with('-'));
    let values = options.flat_map(|word| CommandContext::list_paths(word));
    let values = values.filter(|value| !value.starts_with(['-', '=']));
    let mut operands = arguments.iter().filter(|word| !word.starts_with('-')).copied();
    match *name {
        "jq" => {
            let has_any = |text: &&str| READING_JQ.iter().any(|part| text.contains(part));
            if arguments.iter().any(has_any) {
                return None;
            }
            operands.next();
        }
        "sed" => {
            let ["-n", script, files @ ..] = arguments else { return None };
            if !prints_lines(script) || files.iter().any(|word| word.starts_with('-')) {
                return None;
            }
            operands.next();
        }
        "tr" => return Some(Vec::new()),
        // The program writes to the second operand.
        "uniq" if arguments.iter().filter(|word| **word == "-" || !word.starts_with('-')).count() > 1 => {
            return None;
        }
        _ => {}
    }
    Some(operands.chain(values).map(str::to_owned).collect())
}

/// Returns true if a sed script only prints lines by their numbers: `5p`, `1,$p;9p`.
fn prints_lines(script: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit());
    script.split(';').all(|command| {
        let Some(lines) = command.trim().strip_suffix('p') else { return false };
        let (first, last) = lines.split_once(',').unwrap_or((lines, "$"));
        is_number(first) && (last == "$" || is_number(last.trim_start_matches('+')))
    })
}

/// Lists the paths that one of the [`READING`] commands names.
fn list_reading_paths(words: &[&str], context: CommandContext<'_>) -> Option<Vec<String>> {
    let covered = CommandPattern::find(&shell::quote_words(words.iter().copied())?, context)?;
    let (command, refused_options) = READING.iter().find(|(command, _)| *command == covered.command())?;
    let words = &words[1..];
    let is_refused = |word: &&str| refused_options.iter().any(|option| may_be(word, option));
    if words.iter().any(|word| is_refused(word) || word.starts_with('~')) {
        return None;
    }
    // After `--`, a word with a dash is a path.
    if words.iter().skip_while(|word| **word != "--").skip(1).any(|word| word.starts_with('-')) {
        return None;
    }
    let options = words.iter().filter(|word| word.starts_with('-'));
    let has_pattern = |word: &&str| PATTERN_OPTIONS.iter().any(|it| word == it || may_be(word, it));
    let is_pattern_first = SEARCHING.contains(command) && !options.clone().any(has_pattern);
    let values = options.flat_map(|word| CommandContext::list_paths(word));
    let values = values.filter(|value| !value.starts_with(['-', '=']));
    let operands = words.iter().filter(|word| !word.starts_with('-')).copied();
    Some(operands.skip(usize::from(is_pattern_first)).chain(values).map(str::to_owned).collect())
}

/// Returns true for a word that may be an option, either among joined letters or as the prefix of a long
/// name.
fn may_be(word: &str, option: &str) -> bool {
    let name = word.split('=').next().unwrap_or(word);
    match option.strip_prefix("--") {
        Some(_) => name.len() > 2 && option.starts_with(name),
        None => {
            word.starts_with('-') && !word.starts_with("--") && word.contains(option.trim_start_matches('-'))
        }
    }
}

#[cfg(test)]
mod tests {
    use tiller_core::protected_path::ProtectedPaths;

    use super::{ReadPath, RepositoryState};
    use crate::policy::Policy;

    fn paths(line: &str) -> Option<Vec<String>> {
        let protected = ProtectedPaths { homes: vec!["/home/me".into()], ..ProtectedPaths::default() };
        let policy = Policy { root: "/home/me/work".into(), protected, ..Policy::default() };
        let paths = policy.list_read_paths(line, || RepositoryState::Harmless)?;
        let shown = |path: ReadPath| match path {
            ReadPath::Named(path) => path,
            ReadPath::File(path) => format!("file:{path}"),
            ReadPath::Pattern(path) => format!("<{path}>"),
        };
        Some(paths.into_iter().map(shown).collect())
    }

    #[test]
    fn list_read_paths_read_only_command_is_some() {
        for (line, expected) in [
            ("git status", "status"),
            ("git --no-pager diff --stat src/a.rs", "diff src/a.rs"),
            ("git log --oneline -20", "log"),
            ("ls -la src", "src"),
            ("cat a b", "a b"),
            ("head -n 5 a", "5 a"),
            ("wc -l a", "a"),
            ("rg -n 'a.*b' src", "src"),
            ("rg 'a$'", ""),
            ("rg --files /etc", "/etc"),
            ("rg -e x /etc", "x /etc"),
            ("grep -rn x . --include='*.rs'", ". *.rs"),
            ("grep -n \"foo|bar\" src", "src"),
            ("grep -rn 'f(x; y) & {z} `!#' src", "src"),
            ("grep -rn \"/api/v1\" src", "src"),
            ("grep -nre x /etc/a", "x /etc/a"),
            ("grep --reg=x /etc/a", "/etc/a x"),
            ("grep -- x /etc/a", "x /etc/a"),
            ("git grep x a", "grep x a"),
            ("git log --format=%h", "log %h"),
            ("cat a\u{a0}b", "a\u{a0}b"),
            ("find . -name '*.rs'", ". *.rs"),
            ("pwd", ""),
            ("cat ../x", "../x"),
            ("cat a | head -5", "a"),
            ("cat a; ls b && cat c || true", "a b c"),
            ("git log --oneline | grep fix | sort | uniq -c | wc -l", "log"),
            ("cd src && ls; cat a", "src a src/a"),
            ("cd a && cd b && cat c", "a a/b a/b/c"),
            ("cd /home/me/work && git status", "/home/me/work /home/me/work/status"),
            ("cd a; cd b; cat c", "a b a/b c a/c b/c a/b/c"),
            ("cd /etc && cat passwd", "/etc /etc/passwd"),
            ("wc -l src/*.rs", "src/*.rs <src/*.rs>"),
            ("cat *.rs a?", "*.rs a? <*.rs> <a?>"),
            ("cd a && cat *.rs", "a a/*.rs <a/*.rs>"),
            ("grep -rn x src --include=*.rs", "src *.rs"),
            ("grep a* b", "b <a*>"),
            ("ls x 2>/dev/null", "x"),
            ("ls x 2>&1 | tail -n 3", "x 3"),
            ("diff -u a b", "file:a file:b"),
            ("sort -k2 -t, a", "a ,"),
            ("uniq -c", ""),
            ("uniq -c -", ""),
            ("ls -laRh src", "src"),
            ("tree -L 2 src", "2 src"),
            ("tr a-z A-Z", ""),
            ("cut -d: -f1 a", "a :"),
            ("jq '.a/b | keys' x.json", "x.json"),
            ("jq '.[].name' x.json", "x.json"),
            ("git log -S'.*'", "log .*"),
            ("jq -r --arg k v .x /etc/a", "v .x /etc/a"),
            ("sed -n 5p a", "a"),
            ("sed -n '1,$p;7,9p' a", "a"),
            ("ls\npwd", ""),
        ] {
            assert_eq!(paths(line).map(|paths| paths.join(" ")).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn list_read_paths_any_other_command_is_none() {
        for line in [
            "cat a > b",
            "cat < a",
            "cat $(ls)",
            "cat `ls`",
            "cat $X",
            "cat src/[a]x",
            "cat ~/x",
            "cat ~root/x",
            "cat ~/.ssh/id_rsa",
            "cat ../.ssh/id_rsa",
            "cat /proc/self/environ",
            "X=1 ls",
            "./ls",
            "env ls",
            "ls\nrm x",
            "ls &",
            "git -c core.pager=x log",
            "git -C .. log",
            "git log --output=x",
            "git diff --ext-diff",
            "git diff --no-index a b",
            "git grep -Oless x",
            "find . -exec rm {} +",
            "find . -delete",
            "find . -fprint x",
            "rg --pre x y",
            "rg -L x",
            "rg -nL x",
            "rg --follow x",
            "grep -R x .",
            "grep -nR x .",
            "grep --deref x .",
            "wc --files0-from=x",
            "tail -f x",
            "tail --fol x",
            "diff -r a b",
            "cat -- -link",
            "grep -- -x /etc/a",
            "grep --file=link y",
            "grep --fil link y",
            "grep -flink y",
            "grep -nf link y",
            "grep -f/etc/x y",
            "grep --exclude-from=link x .",
            "rg --ignore-file link x",
            "grep \"a$x\" y",
            "grep \"`x`\" y",
            "grep 'a'|b",
            "grep \"'\"|b",
            "grep '\"'|b",
            "grep $'a' b",
        ] {
            assert_eq!(paths(line), None, "{line}");
        }
    }

    #[test]
    fn list_read_paths_line_that_may_do_more_is_none() {
        for line in [
            "tree -o x",
            "awk 1 x",
            "cargo test",
            "python3 -m json.tool x",
            "rg -f link",
            "file -f link",
            "grep 'x y",
            "git branch x",
            "git push",
            "git fetch",
            "cat a | tee b",
            "ls && touch x",
            "ls | xargs rm",
            "cat .env | head",
            "cat *.rs > x",
            "cat .*",
            "cat **/x",
            "cat -*",
            "cat ~/*",
            "cat a/.*/b",
            "cat [ab]",
            "cat 'a'*",
            "diff a*",
            "diff -ur a b",
            "diff -l a b",
            "sort -o x y",
            "sort -uo x y",
            "sort --out=x y",
            "sort --compress-program=x y",
            "sort -T /tmp y",
            "uniq a b",
            "uniq -c -f 1 a",
            "jq -f x y",
            "jq -L/x . y",
            "jq 'import \"x\" as x; .' y",
            "jq -n env",
            "sed 1p x",
            "sed -n 1w x",
            "sed -n '1e ls' x",
            "sed -n '/a/p' x",
            "sed -n 1p -i x",
            "sed -i -n 1p x",
            "cd",
            "cd -",
            "cd ..",
            "cd a/.. && ls",
            "cd ~ && ls",
            "cd a b",
            "cd a* && ls",
            "cd a | ls",
            "cd a || ls",
            "cd a || cd b && ls",
            "cd a && git status",
            "cd a; git status",
            "cd a &",
        ] {
            assert_eq!(paths(line), None, "{line}");
        }
    }

    #[test]
    fn list_read_paths_hidden_output_or_link_is_none() {
        for line in [
            "uniq - b",
            "uniq - .git/config",
            "uniq - b -c",
            "uniq -z - ./b",
            "cat a | uniq -c - b",
            "ls -RL",
            "ls --dereference a",
            "find -L . -name x",
            "find . -follow",
            "tree -l",
            "jq --run-tests /etc/group",
        ] {
            assert_eq!(paths(line), None, "{line}");
        }
    }

    #[test]
    fn list_read_paths_in_home_or_without_git_is_none() {
        let protected = ProtectedPaths { homes: vec!["/home/me".into()], ..ProtectedPaths::default() };
        let policy =
            |root: &str| Policy { root: root.into(), protected: protected.clone(), ..Policy::default() };
        for root in ["/home/me", "/home", "/home/me/.config/nvim"] {
            assert_eq!(policy(root).list_read_paths("ls", || RepositoryState::Unknown), None, "{root}");
        }
        assert_eq!(policy("/work").list_read_paths("git status", || RepositoryState::Unknown), None);
        assert!(policy("/work").list_read_paths("ls", || RepositoryState::Unknown).is_some());
    }
}
