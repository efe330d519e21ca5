//! Where things live.

use std::path::PathBuf;

use super::trust::executables;
use super::{ConfigError, Environment};

/// Tiller's folders. They need not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Folders {
    /// `settings.json`, `auth.json`, `.env`.
    pub config: PathBuf,
    /// `sessions/` is here.
    pub data: PathBuf,
    /// Logs, drafts, the history of prompts.
    pub state: PathBuf,
}

impl Folders {
    /// The user's own extensions: executables directly in `extensions`, in the order of names.
    #[must_use]
    pub fn extensions(&self) -> Vec<PathBuf> {
        executables(&self.config.join("extensions"))
    }

    /// All beneath `TILLER_HOME` where that is set, else the XDG folders, on macOS too.
    ///
    /// # Errors
    /// When there is neither that nor a home directory.
    pub fn find(environment: &Environment) -> Result<Self, ConfigError> {
        if let Some(home) = environment.value("TILLER_HOME") {
            let home = PathBuf::from(home);
            return Ok(Self { state: home.join("state"), config: home.clone(), data: home });
        }
        let home = || environment.value("HOME").map(PathBuf::from).or_else(dirs::home_dir);
        let folder = |variable: &str, fallback: &str| {
            // The specification passes over relative paths.
            let named = environment.value(variable).map(PathBuf::from).filter(|path| path.is_absolute());
            let base = named.or_else(|| home().map(|home| home.join(fallback)));
            base.map(|base| base.join("tiller")).ok_or(ConfigError::NoHome)
        };
        Ok(Self {
            config: folder("XDG_CONFIG_HOME", ".config")?,
            data: folder("XDG_DATA_HOME", ".local/share")?,
            state: folder("XDG_STATE_HOME", ".local/state")?,
        })
    }

    /// All of them: what tools never reach.
    #[must_use]
    pub fn all(&self) -> Vec<PathBuf> {
        vec![self.config.clone(), self.data.clone(), self.state.clone()]
    }

    /// What commands may read of them: skills, the user's and the built-in ones, and outputs of earlier commands.
    #[must_use]
    pub fn readable(&self) -> Vec<PathBuf> {
        vec![self.config.join("skills"), self.state.join("skills"), self.state.join("outputs")]
    }

    /// The file of keys.
    #[must_use]
    pub fn auth(&self) -> PathBuf {
        self.config.join("auth.json")
    }

    /// The folder of the session logs.
    #[must_use]
    pub fn sessions(&self) -> PathBuf {
        self.data.join("sessions")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_xdg_folders_are_honoured_and_relative_ones_passed_over() {
        let environment =
            Environment::from([("HOME", "/h"), ("XDG_CONFIG_HOME", "/c"), ("XDG_DATA_HOME", "relative")]);
        let folders = Folders::find(&environment).unwrap();
        assert_eq!(folders.config, PathBuf::from("/c/tiller"));
        assert_eq!(folders.sessions(), PathBuf::from("/h/.local/share/tiller/sessions"));
        assert_eq!(folders.state, PathBuf::from("/h/.local/state/tiller"));
    }

    #[test]
    fn everything_is_under_one_roof_with_tiller_home() {
        let folders = Folders::find(&Environment::from([("TILLER_HOME", "/t"), ("HOME", "/h")])).unwrap();
        assert_eq!(folders.config, PathBuf::from("/t"));
        assert_eq!(folders.sessions(), PathBuf::from("/t/sessions"));
        assert_eq!(folders.state, PathBuf::from("/t/state"));
    }
}
