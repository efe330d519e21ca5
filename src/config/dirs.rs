//! The directories of tiller's own files.

use std::path::PathBuf;

use super::environment::Environment;
use super::error::ConfigError;
use super::trust::executables;

/// tiller's directories; they may not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppDirs {
    /// `settings.json`, `auth.json`, `.env`, extensions, themes.
    pub config: PathBuf,
    /// The parent of `sessions/`.
    pub data: PathBuf,
    /// Logs, drafts, prompt history.
    pub state: PathBuf,
}

impl AppDirs {
    /// Lists the user's extensions: executables directly in `extensions`, sorted by name.
    #[must_use]
    pub fn extensions(&self) -> Vec<PathBuf> {
        executables(&self.config.join("extensions"))
    }

    /// Finds the directories: subdirectories of `TILLER_HOME` if it is set, otherwise the XDG directories,
    /// also on macOS.
    ///
    /// # Errors
    /// If neither `TILLER_HOME` nor a home directory is known.
    pub fn find(environment: &Environment) -> Result<Self, ConfigError> {
        if let Some(home) = environment.value("TILLER_HOME") {
            let home = PathBuf::from(home);
            return Ok(Self { state: home.join("state"), config: home.clone(), data: home });
        }
        let home = || environment.value("HOME").map(PathBuf::from).or_else(dirs::home_dir);
        let dir = |variable: &str, fallback: &str| {
            // The XDG specification requires that relative paths are ignored.
            let configured = environment.value(variable).map(PathBuf::from).filter(|path| path.is_absolute());
            let base = configured.or_else(|| home().map(|home| home.join(fallback)));
            base.map(|base| base.join("tiller")).ok_or(ConfigError::NoHome)
        };
        Ok(Self {
            config: dir("XDG_CONFIG_HOME", ".config")?,
            data: dir("XDG_DATA_HOME", ".local/share")?,
            state: dir("XDG_STATE_HOME", ".local/state")?,
        })
    }

    /// Returns all three directories; tools never access them.
    #[must_use]
    pub fn all(&self) -> Vec<PathBuf> {
        vec![self.config.clone(), self.data.clone(), self.state.clone()]
    }

    /// Returns the subdirectories that commands may read: skills, and outputs of earlier commands.
    #[must_use]
    pub fn readable(&self) -> Vec<PathBuf> {
        vec![self.config.join("skills"), self.state.join("skills"), self.state.join("outputs")]
    }

    /// Returns the path of the user's file of providers and models.
    #[must_use]
    pub fn models(&self) -> PathBuf {
        self.config.join("models.json")
    }

    /// Returns the path of the file of models listed by servers.
    #[must_use]
    pub fn listed_models(&self) -> PathBuf {
        self.state.join("listed-models.json")
    }

    /// Returns the path of the file of API keys.
    #[must_use]
    pub fn auth(&self) -> PathBuf {
        self.config.join("auth.json")
    }

    /// Returns the path of the file of logins to MCP servers.
    #[must_use]
    pub fn mcp_auth(&self) -> PathBuf {
        self.config.join("mcp-auth.json")
    }

    /// Returns the directory of the session logs.
    #[must_use]
    pub fn sessions(&self) -> PathBuf {
        self.data.join("sessions")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dirs_xdg_variables_are_used_unless_relative() {
        let environment =
            Environment::from([("HOME", "/h"), ("XDG_CONFIG_HOME", "/c"), ("XDG_DATA_HOME", "relative")]);
        let dirs = AppDirs::find(&environment).unwrap();
        assert_eq!(dirs.config, PathBuf::from("/c/tiller"));
        assert_eq!(dirs.sessions(), PathBuf::from("/h/.local/share/tiller/sessions"));
        assert_eq!(dirs.state, PathBuf::from("/h/.local/state/tiller"));
    }

    #[test]
    fn dirs_tiller_home_contains_all() {
        let dirs = AppDirs::find(&Environment::from([("TILLER_HOME", "/t"), ("HOME", "/h")])).unwrap();
        assert_eq!(dirs.config, PathBuf::from("/t"));
        assert_eq!(dirs.sessions(), PathBuf::from("/t/sessions"));
        assert_eq!(dirs.state, PathBuf::from("/t/state"));
    }
}
