//! Overrides that prevent git from starting other programs, because a repository from elsewhere may name any
//! program in its configuration.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;

/// Environment variables.
const VARIABLES: &[(&str, &str)] = &[
    // A clone without all objects fetches the missing ones with the programs of its remote.
    ("GIT_ALLOW_PROTOCOL", ""),
    ("GIT_NO_LAZY_FETCH", "1"),
];

/// Configuration keys. Options of the commands disable other programs.
const OVERRIDES: &[(&str, &str)] = &[
    ("color.ui", "always"),
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.quotePath", "false"),
    ("diff.ignoreSubmodules", "dirty"),
    ("diff.submodule", "short"),
    ("log.showSignature", "false"),
    ("safe.bareRepository", "explicit"),
    ("status.submoduleSummary", "false"),
    ("submodule.recurse", "false"),
];

/// Returns environment variables that disable the programs in the configuration. `config` is the output of
/// `git config --list --show-scope -z`.
pub(super) fn variables(config: &[u8]) -> impl Iterator<Item = (String, OsString)> {
    let fixed = OVERRIDES.iter().map(|(key, value)| ((*key).into(), *value));
    let overrides: Vec<(OsString, &str)> = fixed.chain(filters(config)).collect();
    let count = ("GIT_CONFIG_COUNT".to_owned(), overrides.len().to_string().into());
    let entries = overrides.into_iter().enumerate().flat_map(|(index, (key, value))| {
        [(format!("GIT_CONFIG_KEY_{index}"), key), (format!("GIT_CONFIG_VALUE_{index}"), value.into())]
    });
    let variables = VARIABLES.iter().map(|(name, value)| ((*name).to_owned(), (*value).into()));
    variables.chain([count]).chain(entries)
}

/// Returns true if git has applied the overrides when it read its configuration; git before 2.31 ignores
/// them.
pub(super) fn are_adopted(config: &[u8]) -> bool {
    entries(config).any(|entry| entry == (&b"command"[..], &b"core.fsmonitor\nfalse"[..]))
}

/// Returns the entries with their scope: `key`, a newline and the value.
fn entries(config: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut fields = config.split(|byte| *byte == 0);
    std::iter::from_fn(move || Some((fields.next()?, fields.next()?)))
}

/// Returns overrides for the filters that the repository defines. Filters in the user's configuration aren't
/// disabled, because without them all large files that are stored elsewhere would be shown as changed.
fn filters(config: &[u8]) -> impl Iterator<Item = (OsString, &'static str)> + '_ {
    let keys = entries(config).filter_map(|(scope, entry)| {
        let is_local = scope == b"local" || scope == b"worktree";
        let key = entry.split(|byte| *byte == b'\n').next().unwrap_or_default();
        is_local.then_some(key)
    });
    keys.filter_map(|key| {
        let variable = key.strip_prefix(b"filter.")?.rsplit(|byte| *byte == b'.').next()?;
        let value = match variable {
            b"clean" | b"smudge" | b"process" => "",
            b"required" => "false",
            _ => return None,
        };
        // The name may contain any bytes but a newline.
        Some((OsString::from_vec(key.to_vec()), value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_only_of_the_repository_are_disabled() {
        let config = b"global\0filter.lfs.clean\ngit-lfs clean\0local\0core.bare\nfalse\0local\0filter.a.b.clean\ntouch \
            x\0worktree\0filter.c.required\0local\0filter.c.name\nx\0";
        let disabled: Vec<_> = filters(config).collect();
        assert_eq!(disabled, [("filter.a.b.clean".into(), ""), ("filter.c.required".into(), "false")]);
        assert!(!are_adopted(config));
        assert!(are_adopted(b"local\0core.bare\nfalse\0command\0core.fsmonitor\nfalse\0"));
    }
}
