//! Recognizes git commands that lose changes which aren't committed, stashed or pushed. Only the words are
//! known: whether `x` in `git checkout x` is a branch or a file depends on the repository.

use super::arguments::{has_flag, targets};
use super::command_context::strip_current;

const UNCOMMITTED: &str = "discards uncommitted changes";
const PUSHED: &str = "overwrites pushed commits";
const STASHED: &str = "deletes stashed changes";
const UNKNOWN: &str = "deletes untracked files";
const REWRITES: &str = "rewrites the history of branches";

/// Options of git itself whose value is the next word (`git help git`, 2.47).
const WITH_VALUES: &[&str] =
    &["-C", "-c", "--attr-source", "--config-env", "--git-dir", "--namespace", "--work-tree"];

/// Finds the data loss by git with these arguments.
pub(super) fn judge_git(arguments: &[String]) -> Option<String> {
    let (command, rest) = split_command(arguments)?;
    let loss = match command {
        "checkout" => discards_by_checkout(rest).then_some(UNCOMMITTED),
        "clean" | "filter-branch" | "filter-repo" | "push" | "reset" => judge_plain(command, rest),
        "restore" => {
            let is_staged = has_flag(rest, 'S', "staged") && !has_flag(rest, 'W', "worktree");
            (!is_staged && !rest.is_empty()).then_some(UNCOMMITTED)
        }
        // After a flag or `push` these words are a message or a path.
        "stash" => {
            rest.first().is_some_and(|word| ["clear", "drop"].contains(&word.as_str())).then_some(STASHED)
        }
        "switch" => {
            let discards = rest.iter().any(|word| word == "--discard-changes");
            (discards || forces(rest, ['c', 'C'])).then_some(UNCOMMITTED)
        }
        "checkout-index" => {
            let mut prefixes = rest.iter().filter_map(|word| word.strip_prefix("--prefix="));
            let writes_elsewhere = prefixes.any(|prefix| !is_whole_tree(prefix));
            (has_flag(rest, 'f', "force") && !writes_elsewhere).then_some(UNCOMMITTED)
        }
        "read-tree" => {
            let resets = rest.iter().any(|word| word == "--reset");
            (resets && has_flag(rest, 'u', "u")).then_some(UNCOMMITTED)
        }
        "rm" => {
            let deletes = has_flag(rest, 'f', "force") && has_flag(rest, 'r', "r");
            let is_kept = has_flag(rest, 'n', "dry-run") || rest.iter().any(|word| word == "--cached");
            (deletes && targets(rest).any(|path| is_whole_tree(path)) && !is_kept).then_some(UNCOMMITTED)
        }
        "worktree" => {
            let removes = rest.first().is_some_and(|word| word == "remove");
            (removes && has_flag(rest, 'f', "force")).then_some(UNCOMMITTED)
        }
        _ => judge_unknown(rest),
    };
    loss.map(str::to_owned)
}

/// Returns true for a path without a name, which is the current directory, the root, all files of the working tree or a
/// directory above.
fn is_whole_tree(path: &str) -> bool {
    strip_current(path).trim_start_matches(['.', '/', '*', ':']).is_empty()
}

/// Returns git's subcommand and the words after it.
pub(super) fn split_command(arguments: &[String]) -> Option<(&str, &[String])> {
    let mut words = arguments.iter();
    let mut command = words.next()?;
    while command.starts_with('-') {
        if WITH_VALUES.contains(&command.as_str()) {
            words.next();
        }
        command = words.next()?;
    }
    Some((command, words.as_slice()))
}

/// Judges commands that are recognized by their name and a flag in any position.
fn judge_plain(command: &str, rest: &[String]) -> Option<&'static str> {
    match command {
        "clean" => has_flag(rest, 'f', "force").then_some(UNKNOWN),
        "filter-branch" | "filter-repo" => Some(REWRITES),
        "push" => {
            let forces = has_flag(rest, 'f', "force") || has_flag(rest, 'f', "mirror");
            let is_forced = |word: &String| word.starts_with("--force-") || word.starts_with('+');
            (forces || rest.iter().any(is_forced)).then_some(PUSHED)
        }
        "reset" => {
            let discards = |word: &String| ["--hard", "--merge"].contains(&word.as_str());
            rest.iter().any(discards).then_some(UNCOMMITTED)
        }
        _ => None,
    }
}

/// Returns true if git sends commits to a remote.
pub(super) fn pushes(arguments: &[String]) -> bool {
    match split_command(arguments) {
        Some(("http-push" | "push" | "send-pack", _)) => true,
        Some(("lfs" | "subtree", rest)) => rest.iter().any(|word| word == "push"),
        Some(_) | None => false,
    }
}

/// Lists the commands in the operands of git. A single word is a line for a shell.
pub(super) fn list_run_commands(arguments: &[String]) -> Vec<Vec<String>> {
    let line = |line: &str| vec![line.to_owned()];
    match split_command(arguments) {
        Some(("bisect", rest)) => vec![words_after(rest, "run").to_vec()],
        Some(("filter-branch", rest)) => {
            rest.iter().filter(|filter| filter.contains(char::is_whitespace)).map(|it| line(it)).collect()
        }
        Some(("submodule", rest)) => vec![words_after(rest, "foreach").to_vec()],
        Some(_) | None => Vec::new(),
    }
}

/// Judges an alias, or a git command that runs another one in an unknown way: any later word may be a
/// subcommand.
fn judge_unknown(rest: &[String]) -> Option<&'static str> {
    rest.iter().enumerate().find_map(|(at, word)| judge_plain(word, &rest[at + 1..]))
}

/// Returns the words after a word and the flags that follow it.
fn words_after<'a>(words: &'a [String], word: &str) -> &'a [String] {
    let words = words.iter().position(|other| other == word).map_or(&[][..], |at| &words[at + 1..]);
    let flags = words.iter().take_while(|word| word.starts_with('-')).count();
    &words[flags..]
}

/// Returns true if a flag forces the operation. The `f` in the name of a new branch (`-bfix`) doesn't count.
fn forces(words: &[String], named: [char; 2]) -> bool {
    let is_short = |word: &&String| word.starts_with('-') && !word.starts_with("--");
    let has_short = |word: &String| word.split(named).next().is_some_and(|flags| flags.contains('f'));
    words.iter().any(|word| word == "--force") || words.iter().filter(is_short).any(has_short)
}

fn discards_by_checkout(rest: &[String]) -> bool {
    let is_dir = |word: &String| {
        [".", ".."].contains(&word.as_str())
            || word.starts_with("./")
            || word.starts_with("../")
            || word.ends_with('/')
            || word.contains("/$(…)")
    };
    // A comment neither names paths nor creates a branch.
    let end = rest.iter().position(|word| word.starts_with('#')).unwrap_or(rest.len());
    let operands = &rest[..end];
    let has_paths = || operands.iter().any(is_dir) || names_paths(operands);
    forces(rest, ['b', 'B'])
        || rest.iter().any(|word| word == "--")
        || (!takes_no_paths(operands) && has_paths())
}

/// Returns true if `git checkout` creates a branch or detaches, so that it takes no paths.
fn takes_no_paths(rest: &[String]) -> bool {
    rest.iter().any(|word| match word.strip_prefix("--") {
        Some(name) => ["detach", "orphan", "track"].contains(&name.split('=').next().unwrap_or(name)),
        None => word.starts_with('-') && word.contains(['b', 'B', 'd', 't']),
    })
}

fn names_paths(rest: &[String]) -> bool {
    // A lone `-` is the previous branch.
    let is_flag = |word: &str| word.starts_with('-') && word != "-";
    let words: Vec<&str> = rest.iter().map(String::as_str).filter(|word| !is_flag(word)).collect();
    words.len() > 1 || words.first().is_some_and(|word| is_like_a_path(word))
}

/// Returns true for a word that is a path rather than a branch, because of a wildcard or a file extension.
/// `v1.2`, `release-1.x` and `@{1.day.ago}` don't count as paths; a branch named `fix.js` does.
fn is_like_a_path(word: &str) -> bool {
    let has_ending = word.rsplit_once('.').is_some_and(|(_, ending)| {
        ending.starts_with(|c: char| c.is_ascii_alphabetic())
            && ending.chars().all(|c| c.is_ascii_alphanumeric())
            && ending != "x"
    });
    has_ending || word.contains(['*', '?', '['])
}

#[cfg(test)]
mod tests {
    use super::super::risk_in_work;
    use super::{PUSHED, REWRITES, STASHED, UNCOMMITTED, UNKNOWN};

    const DEEP: &str = "too many nested shells to check";

    #[test]
    fn git_that_loses_data_asks() {
        for (line, expected) in [
            ("git --git-dir ~/.dotfiles --work-tree ~ checkout -f", UNCOMMITTED),
            ("git --git-dir .git reset --hard", UNCOMMITTED),
            ("git --git-dir=.git --attr-source x stash drop", STASHED),
            ("git --exec-path=x --config-env a.b=X restore .", UNCOMMITTED),
            ("git --namespace x push -f", PUSHED),
            ("git --namespace x switch -f main", UNCOMMITTED),
            ("git submodule foreach git reset --hard", UNCOMMITTED),
            ("git submodule foreach --recursive git clean -fdx", UNKNOWN),
            ("git submodule foreach --recursive git checkout -f", UNCOMMITTED),
            ("git submodule foreach 'git checkout . || :'", UNCOMMITTED),
            ("git submodule --quiet foreach git stash clear", STASHED),
            ("git submodule foreach sudo ls", "runs as another user (sudo)"),
            ("git rebase -x git reset --hard main", UNCOMMITTED),
            ("git rebase -i --exec 'git checkout -- .' main", UNCOMMITTED),
            ("git rebase --exec='rm -rf ../x' main", "deletes everything under ../x"),
            ("git bisect run sh -c 'git restore .'", UNCOMMITTED),
            ("git bisect run git bisect run git bisect run git bisect run git bisect run x", DEEP),
            ("git again push --force", PUSHED),
            ("git checkout HEAD src/lib.rs", UNCOMMITTED),
            ("git checkout HEAD~1 Makefile", UNCOMMITTED),
            ("git checkout main src/lib.rs README.md", UNCOMMITTED),
            ("git checkout - src", UNCOMMITTED),
            ("git checkout -q main src", UNCOMMITTED),
            ("git checkout src/lib.rs", UNCOMMITTED),
            ("git checkout .gitignore", UNCOMMITTED),
            ("git checkout '*.rs'", UNCOMMITTED),
            ("git checkout 'src/*'", UNCOMMITTED),
            ("git checkout ../src", UNCOMMITTED),
            ("git checkout src/ # drop the failed -dirty edit", UNCOMMITTED),
            ("git checkout . # undo -b", UNCOMMITTED),
            ("git checkout main.rs # not --detach", UNCOMMITTED),
            ("git checkout -fb x", UNCOMMITTED),
            ("git checkout --force -b x", UNCOMMITTED),
            ("git switch -fc x", UNCOMMITTED),
            ("git filter-branch --msg-filter cat HEAD", REWRITES),
            ("git filter-branch -f --tree-filter 'rm -f x' -- --all", REWRITES),
            ("git filter-branch --tree-filter 'rm -rf ~' HEAD", "deletes everything under ~"),
            ("git filter-branch --index-filter 'sudo rm x' HEAD", "runs as another user (sudo)"),
            ("git filter-repo --path x", REWRITES),
            ("git stash clear", STASHED),
            ("git reset --merge", UNCOMMITTED),
            ("git read-tree --reset -u HEAD", UNCOMMITTED),
            ("git checkout-index -fa", UNCOMMITTED),
            ("git rm -rf .", UNCOMMITTED),
            ("git rm -rf ./*", UNCOMMITTED),
            ("git rm -rf \"$PWD\"", UNCOMMITTED),
            ("git rm -rf '**'", UNCOMMITTED),
            ("git rm -rf ../", UNCOMMITTED),
            ("git checkout-index -fa --prefix=", UNCOMMITTED),
            ("git checkout-index -fa --prefix=./", UNCOMMITTED),
            ("git worktree remove --force x", UNCOMMITTED),
            ("git stash drop stash@{1}", STASHED),
        ] {
            assert_eq!(risk_in_work(line).as_deref(), Some(expected), "{line}");
        }
    }

    #[test]
    fn git_that_loses_nothing_is_free() {
        for line in [
            "git --git-dir reset status --hard",
            "git --work-tree push -C clean log -f",
            "git submodule foreach git fetch --all",
            "git submodule update --init --recursive",
            "git rebase -x 'cargo test' main",
            "git bisect run cargo test",
            "git checkout v1.2",
            "git checkout release-1.2",
            "git checkout origin/2.x",
            "git checkout user.name/fix",
            "git checkout -b \"fix/$(date +%s)\" origin/main",
            "git checkout lodash-4.17.21-rc1",
            "git checkout HEAD@{1.day.ago}",
            "git checkout -q -",
            "git checkout main # and back",
            "git checkout main # without src/",
            "git checkout -b fix.rs origin/main",
            "git checkout -bfix main",
            "git checkout -qBfix main",
            "git checkout -t origin/fix.rs",
            "git checkout --track=inherit fix.rs",
            "git checkout --orphan new main",
            "git checkout --detach fix.rs",
            "git checkout main 2>/dev/null",
            "git checkout",
            "git switch -cfix main",
            "git stash",
            "git stash push -m drop",
            "git stash save clear",
            "git stash list --grep drop",
            "git rm -rf --cached .; git rm -r x; git rm -f y; git rm -rf docs/old",
            "git rm -rfn .; git rm -rf '*.o' .github",
            "git checkout-index -a -f --prefix=out/",
            "git worktree remove x; git read-tree HEAD; git checkout-index -a",
            "git commit -m reset -m clean",
        ] {
            assert_eq!(risk_in_work(line), None, "{line}");
        }
    }
}
