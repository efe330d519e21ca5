//! The URL of a repository's remote, read from its files without running git.

use std::path::Path;

use crate::config::Config;
use crate::files::{self, CONFIG_LIMIT, git};

/// The user's configuration files of Git, relative to the home directory.
const USER_FILES: [&str; 2] = [".config/git/config", ".gitconfig"];

/// Returns the URL of `origin`, or of the first remote, of the repository that contains `cwd`, without
/// credentials.
pub(super) fn find_remote(cwd: &Path, config: &Config) -> Option<String> {
    find(cwd, config.home_dirs().first().map(|home| &**home))
}

fn find(cwd: &Path, home: Option<&Path>) -> Option<String> {
    let repository = git::read_file(&git::common_dir(&git::find(cwd)?)?, "config")?;
    let read = |name| files::read_text(&home?.join(name), CONFIG_LIMIT).ok();
    let user: Vec<String> = USER_FILES.into_iter().filter_map(read).collect();
    let own = parse(&repository);
    let rules = user.iter().flat_map(|text| parse(text)).chain(own.clone());
    without_credentials(&rewrite(url(&own)?, rules))
}

/// A value in a configuration of Git, such as `url` in the section `[remote "origin"]`.
#[derive(Clone)]
struct ConfigValue<'a> {
    section: &'a str,
    subsection: &'a str,
    key: &'a str,
    value: &'a str,
}

impl ConfigValue<'_> {
    fn is(&self, section: &str, key: &str) -> bool {
        self.section.eq_ignore_ascii_case(section) && self.key.eq_ignore_ascii_case(key)
    }
}

fn parse(config: &str) -> Vec<ConfigValue<'_>> {
    let (mut values, mut section, mut subsection) = (Vec::new(), "", "");
    for line in config.lines().map(str::trim) {
        if let Some(head) = line.strip_prefix('[') {
            let head = head.split(']').next().unwrap_or_default();
            (section, subsection) = head.split_once(' ').unwrap_or((head, ""));
            subsection = subsection.trim().trim_matches('"');
        } else if let Some((key, value)) = line.split_once('=') {
            let (key, value) = (key.trim(), value.trim().trim_matches('"'));
            values.push(ConfigValue { section, subsection, key, value });
        }
    }
    values
}

fn url<'a>(values: &[ConfigValue<'a>]) -> Option<&'a str> {
    let urls = || values.iter().filter(|value| value.is("remote", "url"));
    let origin = urls().find(|url| url.subsection == "origin").or_else(|| urls().next());
    origin.map(|url| url.value)
}

/// Replaces the beginning of a URL according to `insteadOf`; the longest match wins, and the first of equal ones
/// (git-config(1)).
fn rewrite<'a>(url: &str, values: impl DoubleEndedIterator<Item = ConfigValue<'a>>) -> String {
    let rules = values.filter(|value| value.is("url", "insteadOf") && url.starts_with(value.value));
    match rules.rev().max_by_key(|rule| rule.value.len()) {
        Some(rule) => format!("{}{}", rule.subsection, &url[rule.value.len()..]),
        None => url.to_owned(),
    }
}

/// Removes user name, password and query (which may contain a key) from a remote's URL. Returns `None` if
/// they can't be identified with certainty.
fn without_credentials(url: &str) -> Option<String> {
    let Some((scheme, rest)) = url.split_once("://") else {
        // `me:secret@host:path` isn't a valid URL, but users write it by mistake.
        return match url.rsplit_once('@') {
            Some((user, rest)) if user.contains(':') => Some(rest.to_owned()),
            Some(_) | None => Some(url.to_owned()),
        };
    };
    let (authority, path) = rest.split_once('/').map_or((rest, ""), |(host, path)| (host, path));
    let (host, path_is_certain) = match authority.rsplit_once('@') {
        Some((_, host)) => (host, true),
        // It may be a password that contains a slash, or a port and an unusual path.
        None => (authority, !authority.contains(':') || !path.contains('@')),
    };
    let host = host.split(['?', '#']).next().unwrap_or(host);
    let path = path.split(['?', '#']).next().unwrap_or(path);
    let url =
        if path.is_empty() { format!("{scheme}://{host}") } else { format!("{scheme}://{host}/{path}") };
    (path_is_certain && is_host(host)).then_some(url)
}

/// Returns true for a host name or address with an optional port.
fn is_host(text: &str) -> bool {
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => (name, port),
        Some(_) | None => (text, ""),
    };
    port.chars().all(|c| c.is_ascii_digit())
        && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '[' | ']' | ':'))
        && (name.starts_with('[') || !name.contains(':'))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn git_remote_worktree_has_origin_of_its_repository() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        fs::create_dir_all(root.join("repo/.git/worktrees/w")).unwrap();
        fs::create_dir_all(root.join("repo/src")).unwrap();
        fs::create_dir_all(root.join("w")).unwrap();
        let config = "[core]\n\turl = no\n[remote \"fork\"]\n\turl = git@host:you/x.git\n\
                      [remote \"origin\"]\n\tfetch = +refs\n\tURL = https://me:t0ken@host/me/x.git\n";
        fs::write(root.join("repo/.git/config"), config).unwrap();
        fs::write(root.join("repo/.git/worktrees/w/commondir"), "../..\n").unwrap();
        fs::write(root.join("w/.git"), "gitdir: ../repo/.git/worktrees/w\n").unwrap();
        for dir in ["repo", "repo/src", "w"] {
            assert_eq!(find(&root.join(dir), None).as_deref(), Some("https://host/me/x.git"), "{dir}");
        }
        let url = |config| url(&parse(config));
        assert_eq!(url("[remote \"fork\"]\nurl = \"git@host:you/x.git\"\n").unwrap(), "git@host:you/x.git");
        assert_eq!(url("[branch \"main\"]\nurl = no\n"), None);
    }

    #[test]
    fn git_remote_abbreviated_url_is_resolved() {
        let dir = tempfile::tempdir().unwrap();
        let (repo, home) = (dir.path().join("repo"), dir.path().join("home"));
        fs::create_dir_all(repo.join(".git")).unwrap();
        fs::create_dir_all(&home).unwrap();
        let user = "[url \"https://me:t0ken@host/\"]\n\tinsteadOf = hub:\n[url \"git@host:\"]\n\tinsteadof = \"gh:\"\n";
        fs::write(home.join(".gitconfig"), user).unwrap();
        for (own, expected) in [
            ("url = hub:ada/x.git", "https://host/ada/x.git"),
            ("url = gh:ada/x.git", "git@host:ada/x.git"),
            ("url = hub:ada/x.git\n[url \"git@other:\"]\ninsteadOf = hub:ada/", "git@other:x.git"),
            ("url = other:ada/x.git", "other:ada/x.git"),
        ] {
            fs::write(repo.join(".git/config"), format!("[remote \"origin\"]\n{own}\n")).unwrap();
            assert_eq!(find(&repo, Some(&home)).as_deref(), Some(expected), "{own}");
        }
    }

    #[test]
    fn git_remote_credentials_are_removed() {
        let cases = [
            ("https://ghp_secret@github.com/me/x.git", "https://github.com/me/x.git"),
            ("https://me:p@ss@host:8443/x", "https://host:8443/x"),
            ("https://host/x.git?access_token=secret", "https://host/x.git"),
            ("ssh://git@host/me/x.git", "ssh://host/me/x.git"),
            ("git@host:me/x.git", "git@host:me/x.git"),
            ("me:secret@host:x.git", "host:x.git"),
            ("/srv/git/x.git", "/srv/git/x.git"),
            ("https://me:pa#ss@host.org/x.git", "https://host.org/x.git"),
            ("https://host/@me/x.git#frag", "https://host/@me/x.git"),
            ("ssh://git@[::1]:22/x", "ssh://[::1]:22/x"),
        ];
        for (url, plain) in cases {
            assert_eq!(without_credentials(url).as_deref(), Some(plain));
        }
        let uncertain = [
            "https://me:pa/ss@host.org/x.git",
            "https://me:pa#ss",
            "https://me:12/ss@host/x",
            "https://me:pa?x/y",
        ];
        for url in uncertain {
            assert_eq!(without_credentials(url), None, "{url}");
        }
    }
}
