//! The URL of a repository's remote, read from its files without running git.

use std::path::Path;

use crate::files::git;

/// Returns the URL of `origin`, or of the first remote, of the repository that contains `cwd`, without
/// credentials.
pub(super) fn find_remote(cwd: &Path) -> Option<String> {
    let text = git::read_file(&git::common_dir(&git::find(cwd)?)?, "config")?;
    url(&text).and_then(|url| without_credentials(&url))
}

fn url(config: &str) -> Option<String> {
    let (mut section, mut first) = (None, None);
    for line in config.lines().map(str::trim) {
        if let Some(head) = line.strip_prefix('[') {
            let name = head.split(']').next().unwrap_or_default();
            section = name.strip_prefix("remote ").map(|name| name.trim().trim_matches('"').to_owned());
        } else if let (Some(remote), Some((key, value))) = (&section, line.split_once('='))
            && key.trim().eq_ignore_ascii_case("url")
        {
            let value = value.trim().trim_matches('"').to_owned();
            if remote == "origin" {
                return Some(value);
            }
            first = first.or(Some(value));
        }
    }
    first
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
            assert_eq!(find_remote(&root.join(dir)).as_deref(), Some("https://host/me/x.git"), "{dir}");
        }
        assert_eq!(url("[remote \"fork\"]\nurl = \"git@host:you/x.git\"\n").unwrap(), "git@host:you/x.git");
        assert_eq!(url("[branch \"main\"]\nurl = no\n"), None);
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
