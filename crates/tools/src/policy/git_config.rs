//! A check of a git repository's configuration: whether it can make git run a program.

/// Settings that don't make git run a program or read a file elsewhere, by section; `*` means all keys of the
/// section. For a section with a name, as in `[remote "origin"]`, the first word counts.
const HARMLESS: &[(&str, &[&str])] = &[
    ("advice", &["*"]),
    ("branch", &["*"]),
    ("color", &["*"]),
    ("commit", &["gpgsign", "verbose"]),
    (
        "core",
        &[
            "abbrev",
            "autocrlf",
            "bare",
            "compression",
            "eol",
            "filemode",
            "ignorecase",
            "logallrefupdates",
            "precomposeunicode",
            "quotepath",
            "repositoryformatversion",
            "safecrlf",
            "symlinks",
            "untrackedcache",
        ],
    ),
    ("extensions", &["objectformat", "worktreeconfig"]),
    ("fetch", &["prune", "prunetags", "writecommitgraph"]),
    ("gc", &["auto"]),
    ("init", &["defaultbranch"]),
    ("merge", &["conflictstyle", "ff"]),
    ("pull", &["ff", "rebase"]),
    ("push", &["autosetupremote", "default", "followtags"]),
    ("rebase", &["autosquash", "autostash", "updaterefs"]),
    ("remote", &["fetch", "gh-resolved", "mirror", "prune", "push", "pushurl", "tagopt", "url"]),
    ("rerere", &["autoupdate", "enabled"]),
    ("status", &["*"]),
    ("tag", &["gpgsign", "sort"]),
    ("user", &["email", "name", "signingkey"]),
];

/// Returns true if a configuration contains only settings from the harmless list; any syntax beyond plain
/// `key = value` makes it false.
#[must_use]
pub fn is_harmless(text: &str) -> bool {
    let mut section = String::new();
    text.lines().all(|line| is_harmless_line(line.trim(), &mut section))
}

/// Checks one line, and updates the current section at a section header.
fn is_harmless_line(line: &str, section: &mut String) -> bool {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
    if line.is_empty() || line.starts_with(['#', ';']) {
        return true;
    }
    if let Some(header) = line.strip_prefix('[') {
        let Some((name, "")) = header.split_once(']') else { return false };
        *section = name.split(|c| !is_name(c)).next().unwrap_or_default().to_ascii_lowercase();
        return HARMLESS.iter().any(|(known, _)| known == section);
    }
    let (key, value) = line.split_once('=').unwrap_or((line, ""));
    let key = key.trim().to_ascii_lowercase();
    // A trailing backslash continues the value on the next line.
    !value.ends_with('\\')
        && HARMLESS
            .iter()
            .filter(|(known, _)| known == section)
            .any(|(_, keys)| keys.contains(&"*") || keys.contains(&key.as_str()))
}

#[cfg(test)]
mod tests {
    use super::is_harmless;

    #[test]
    fn is_harmless_plain_settings_is_true() {
        for text in [
            "",
            "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogAllRefUpdates = true\n",
            "# x\n[remote \"origin\"]\n\turl = https://x/y.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
            "[branch \"a/b\"]\n  remote = origin\n  merge = refs/heads/a/b\n; x\n[user]\n  name = x",
        ] {
            assert!(is_harmless(text), "{text}");
        }
    }

    #[test]
    fn is_harmless_running_or_unknown_setting_is_false() {
        for text in [
            "[core]\n\tfsmonitor = ./x",
            "[core]\n\tFSMonitor = ./x",
            "[CORE] fsmonitor = ./x",
            "[core]fsmonitor=./x",
            "[core]\n\thooksPath = hooks",
            "[core]\n\tpager = x",
            "[core]\n\tsshCommand = x",
            "[core]\n\teditor = x",
            "[core]\n\tworktree = ..",
            "[core]\n\tbare = \\\n fsmonitor = x",
            "[pager]\n\tlog = x",
            "[diff]\n\texternal = x",
            "[diff \"a\"]\n\ttextconv = x",
            "[filter \"a\"]\n\tclean = x",
            "[include]\n\tpath = ../x",
            "[includeIf \"gitdir:/\"]\n\tpath = ../x",
            "[alias]\n\tst = !x",
            "[gpg]\n\tprogram = x",
            "[extensions]\n\tpartialClone = origin",
            "[remote \"origin\"]\n\tuploadpack = x",
            "[remote \"a]\nb\"]\n\turl = x",
            "fsmonitor = x",
            "[log]\n\tshowSignature = true",
        ] {
            assert!(!is_harmless(text), "{text}");
        }
    }
}
