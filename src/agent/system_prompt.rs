//! The system prompt: how to work, where, and what the repository asks for. Pure.

use std::path::Path;

use crate::instructions::Instructions;

/// The part that is the same everywhere.
const AGENT: &str = include_str!("../../prompts/system/agent.md");

/// What the system prompt is made from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemPrompt {
    /// Takes the place of tiller's own text.
    pub replaced_by: Option<String>,
    /// Comes at the very end.
    pub appended: Option<String>,
    /// The repository's own instructions.
    pub instructions: Option<Instructions>,
    /// `2026-11-21`
    pub date: String,
}

impl SystemPrompt {
    /// The prompt's text for a working directory.
    #[must_use]
    pub fn text(&self, cwd: &Path) -> String {
        let mut text = self.replaced_by.as_deref().unwrap_or(AGENT).trim_end().to_owned();
        text.push_str(&format!(
            "\n\n## Environment\n- Working directory: {}\n- Operating system: {}\n- Date: {}\n",
            cwd.display(),
            std::env::consts::OS,
            self.date
        ));
        if let Some(instructions) = &self.instructions {
            let (path, said) = (instructions.path.display(), instructions.text.trim_end());
            text.push_str(&format!("\n## Repository Instructions\nFrom `{path}`:\n\n{said}\n"));
        }
        if let Some(appended) = &self.appended {
            text.push_str(&format!("\n{}\n", appended.trim_end()));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repositorys_instructions_stand_under_their_heading_with_their_path() {
        let prompt = SystemPrompt {
            instructions: Some(Instructions { path: "/p/AGENTS.md".into(), text: "Use tabs.\n".into() }),
            date: "2026-11-21".into(),
            ..SystemPrompt::default()
        };
        let text = prompt.text(Path::new("/p"));
        assert!(text.contains("\n## Repository Instructions\nFrom `/p/AGENTS.md`:\n\nUse tabs.\n"), "{text}");
        assert!(text.contains("- Working directory: /p\n"), "{text}");
        assert!(text.contains("- Date: 2026-11-21\n"), "{text}");
    }

    #[test]
    fn a_replaced_prompt_keeps_the_environment() {
        let prompt = SystemPrompt {
            replaced_by: Some("Be brief.".into()),
            appended: Some("End.".into()),
            ..SystemPrompt::default()
        };
        let text = prompt.text(Path::new("/p"));
        assert!(text.starts_with("Be brief.\n\n## Environment\n") && text.ends_with("\nEnd.\n"), "{text}");
    }
}
