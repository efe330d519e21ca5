//! The file with the server's token, so that clients can reconnect after a restart.

use std::io::Write as _;
use std::path::Path;

use anyhow::Context;
use secrecy::{ExposeSecret as _, SecretString};
use tiller_server::{is_token, random_token};

use crate::cli::failure::CliFailure;
use crate::files;

/// Maximum size of the file, in bytes.
const MAX_BYTES: u64 = 1024;

/// Returns the token in the file, creating one if there is no valid token. Remove the file to get a new
/// token.
pub(super) fn load_or_create(path: &Path) -> Result<SecretString, CliFailure> {
    if let Ok(text) = files::read_text(path, MAX_BYTES)
        && is_token(text.trim())
    {
        files::make_private(path).with_context(|| failed(path)).map_err(CliFailure::run)?;
        return Ok(text.trim().into());
    }
    let token = random_token().map_err(CliFailure::run)?;
    store(path, &token).with_context(|| failed(path)).map_err(CliFailure::run)?;
    Ok(token)
}

fn store(path: &Path, token: &SecretString) -> std::io::Result<()> {
    files::make_private_dir(path.parent().unwrap_or(Path::new(".")))?;
    let mut file = files::create_private(path)?;
    file.write_all(token.expose_secret().as_bytes())
}

fn failed(path: &Path) -> String {
    format!("can't store the token in {}", path.display())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn token_file_is_private_and_reused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/server-token");
        let first = load_or_create(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        assert_eq!(load_or_create(&path).unwrap().expose_secret(), first.expose_secret());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        fs::write(&path, "short").unwrap();
        let second = load_or_create(&path).unwrap();
        assert_ne!(second.expose_secret(), first.expose_secret());
        assert_eq!(second.expose_secret().len(), 43);
    }
}
