//! Read-only commands and the paths that they read: one plain command from the table of patterns, without wildcards.

use super::pattern::CommandPattern;
use super::risk::CommandFolders;
use super::shell;

/// State of the repository whose `.git` lies in the working directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepositoryState {
    /// There is no repository, it wasn't checked, or its configuration may run something: files that a tool wrote could
    /// pass for a repository, and git runs programs that its configuration names.
    #[default]
    Unknown,
    /// A real repository whose configuration runs nothing.
    Harmless,
}

/// The read-only commands, each with the options that disqualify it: they follow links out of the operands, wait
/// forever, or read a file that the option names. Commands that may write, run or send something are left out, and so
/// are those that are rarely needed.
const READING: &[(&str, &[&str])] = &[
    ("cat", &[]),
    ("cut", &[]),
    ("echo", &[]),
    ("file", &["-f", "-m", "--files-from", "--magic-file"]),
    ("find", &[]),
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
    ("ls", &[]),
    ("pwd", &[]),
    ("rg", &["-L", "-f", "--file", "--follow", "--ignore-file"]),
    ("stat", &[]),
    ("tail", &["-f", "-F", "--follow", "--retry"]),
    ("tree", &[]),
    ("wc", &["--files0-from"]),
    ("which", &[]),
];

/// Commands whose first operand is a pattern, unless one of [`PATTERN_OPTIONS`] is present.
const SEARCHING: &[&str] = &["grep", "rg"];

/// Options that give a pattern, or list files without one.
const PATTERN_OPTIONS: &[&str] = &["--", "-e", "--files", "--regexp", "--type-list"];

/// Lists the paths that a read-only command names. Every word that may be a path counts as one, and so does every
/// option value.
pub(super) fn list_paths(
    line: &str,
    folders: CommandFolders<'_>,
    repository: impl FnOnce() -> RepositoryState,
) -> Option<Vec<String>> {
    if shell::has_wildcard(line) {
        return None;
    }
    let covered = CommandPattern::find(line, folders)?;
    let (command, refused_options) = READING.iter().find(|(command, _)| *command == covered.command())?;
    if command.starts_with("git ") && repository() == RepositoryState::Unknown {
        return None;
    }
    let words = shell::simple_words(line)?;
    let words = &words[1..];
    let is_refused = |word: &String| refused_options.iter().any(|option| may_be(word, option));
    if words.iter().any(|word| is_refused(word) || word.starts_with('~')) {
        return None;
    }
    // After `--`, a word with a dash is a path.
    if words.iter().skip_while(|word| *word != "--").skip(1).any(|word| word.starts_with('-')) {
        return None;
    }
    let options = words.iter().filter(|word| word.starts_with('-'));
    let has_pattern = |word: &String| PATTERN_OPTIONS.iter().any(|it| word == it || may_be(word, it));
    let is_pattern_first = SEARCHING.contains(command) && !options.clone().any(has_pattern);
    let values = options.flat_map(|word| CommandFolders::list_paths(word));
    let values = values.filter(|value| !value.starts_with(['-', '=']));
    let operands = words.iter().filter(|word| !word.starts_with('-')).map(String::as_str);
    Some(operands.skip(usize::from(is_pattern_first)).chain(values).map(str::to_owned).collect())
}

/// Checks whether a word may be an option: as one of joined letters, or as the prefix of a long name.
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

    use super::RepositoryState;
    use crate::policy::Policy;

    fn paths(line: &str) -> Option<Vec<String>> {
        let protected = ProtectedPaths { homes: vec!["/home/me".into()], ..ProtectedPaths::default() };
        let policy = Policy { root: "/home/me/work".into(), protected, ..Policy::default() };
        policy.list_read_paths(line, || RepositoryState::Harmless)
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
        ] {
            assert_eq!(paths(line).map(|paths| paths.join(" ")).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn list_read_paths_any_other_command_is_none() {
        for line in [
            "cat a > b",
            "cat < a",
            "cat a | head",
            "cat a; ls",
            "cat a && ls",
            "cat $(ls)",
            "cat `ls`",
            "cat $X",
            "cat src/*",
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
            "git branch x",
            "git push",
            "git fetch",
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
            "diff a b",
            "cat -- -link",
            "grep -- -x /etc/a",
            "grep --file=link y",
            "grep --fil link y",
            "grep -flink y",
            "grep -nf link y",
            "grep -f/etc/x y",
            "grep --exclude-from=link x .",
            "rg --ignore-file link x",
            "rg -f link",
            "file -f link",
            "grep 'x y",
            "grep \"a$x\" y",
            "grep \"`x`\" y",
            "grep 'a'|b",
            "grep \"'\"|b",
            "grep '\"'|b",
            "grep $'a' b",
            "tree -o x",
            "sed -n 1p x",
            "awk 1 x",
            "sort x",
            "cargo test",
            "python3 -m json.tool x",
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
