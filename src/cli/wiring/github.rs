//! The GitHub repository that the tools access, and the token for it.

use std::path::{Path, PathBuf};

use crate::config::Config;
use crate::tool::{GITHUB_API, GithubRepository, GithubToken};

/// Environment variables with a token, as read by GitHub's own programs.
const TOKEN_VARIABLES: [&str; 2] = ["GITHUB_TOKEN", "GH_TOKEN"];

/// Finds the repository of a Git remote, if there is a token for it: in the environment, or stored by `gh`,
/// which is run only when the token is needed.
pub(super) fn repository(remote: Option<&str>, config: &Config) -> Option<GithubRepository> {
    let known =
        TOKEN_VARIABLES.iter().find_map(|name| config.variable(name).filter(|token| !token.is_empty()));
    let token = match known {
        Some(token) => GithubToken::Known(token.into()),
        None if has_login(config) => GithubToken::GhProgram,
        None => return None,
    };
    let api = config.settings.github_api_url().unwrap_or(GITHUB_API);
    GithubRepository::find(remote?, api, token)
}

/// Returns true if the user has logged in with `gh auth login`.
fn has_login(config: &Config) -> bool {
    let dir = config.variable("GH_CONFIG_DIR").map(PathBuf::from).or_else(|| {
        let home = config.variable("HOME").map(Path::new)?;
        Some(home.join(".config/gh"))
    });
    dir.is_some_and(|dir| dir.join("hosts.yml").is_file())
}
