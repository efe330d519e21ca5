//! The log directories of other programs.

use std::path::PathBuf;

use super::environment::Environment;
use super::error::ConfigError;

/// Log directories by program; they may not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportDirs {
    /// Claude Code.
    pub claude: Vec<PathBuf>,
    /// Codex, including archived sessions.
    pub codex: Vec<PathBuf>,
    /// Pi.
    pub pi: Vec<PathBuf>,
}

impl ImportDirs {
    /// Finds the directories by the variables that the programs themselves use: `CLAUDE_CONFIG_DIR`,
    /// `CODEX_HOME`, `PI_CODING_AGENT_DIR`.
    pub(super) fn find(environment: &Environment) -> Result<Self, ConfigError> {
        let home = environment.value("HOME").map(PathBuf::from).or_else(dirs::home_dir);
        let dir = |variable: &str, fallback: &str| {
            let configured = environment.value(variable).map(PathBuf::from);
            configured.or_else(|| home.as_ref().map(|home| home.join(fallback))).ok_or(ConfigError::NoHome)
        };
        let codex = dir("CODEX_HOME", ".codex")?;
        Ok(Self {
            claude: vec![dir("CLAUDE_CONFIG_DIR", ".claude")?.join("projects")],
            codex: vec![codex.join("sessions"), codex.join("archived_sessions")],
            pi: vec![dir("PI_CODING_AGENT_DIR", ".pi/agent")?.join("sessions")],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn import_dirs_follow_the_programs_variables() {
        let logs = ImportDirs::find(&Environment::from([("HOME", "/h"), ("CODEX_HOME", "/c")])).unwrap();
        let expected = ImportDirs {
            claude: vec!["/h/.claude/projects".into()],
            codex: vec!["/c/sessions".into(), "/c/archived_sessions".into()],
            pi: vec!["/h/.pi/agent/sessions".into()],
        };
        assert_eq!(logs, expected);
    }
}
