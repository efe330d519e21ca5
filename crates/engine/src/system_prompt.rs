//! The system prompt: general instructions, environment, context files, and the list of skills. Pure.

use std::path::Path;

use tiller_core::skill_message::{escape_invisible, escape_xml};
use tiller_files::search_path::ResourceOrigin;

use crate::instructions::Instructions;
use crate::skill::{Skill, SkillInvocation};

/// The fixed part of the prompt.
const AGENT: &str = include_str!("../../../prompts/system/agent.md");

/// Precedes the list of skills.
const SKILLS: &str = include_str!("../../../prompts/system/skills.md");

/// The end of the prompt in plan mode.
pub(super) const PLAN: &str = include_str!("../../../prompts/system/plan.md");

/// Maximum bytes of the list of skills: about 8,000 tokens of every request.
const MAX_LISTING: usize = 32 * 1024;

/// Settings of the system prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SystemPrompt {
    /// Replacement for the built-in text.
    pub replacement: Option<String>,
    /// Text at the very end.
    pub appended: Option<String>,
    /// Date of the session: `2026-11-21`.
    pub date: String,
    /// Directories outside the working directory that tools may access.
    pub dirs: Vec<String>,
}

impl SystemPrompt {
    /// Renders the prompt for a working directory, with the context files and the skills that the model may use.
    #[must_use]
    pub fn text(&self, cwd: &Path, instructions: &[Instructions], skills: &[Skill]) -> String {
        let mut text = self.replacement.as_deref().unwrap_or(AGENT).trim_end().to_owned();
        text.push_str(&format!(
            "\n\n## Environment\n- Working directory: {}\n{}- Operating system: {}\n- Date: {}\n",
            cwd.display(),
            self.dirs.iter().map(|dir| format!("- Tools can also access: {dir}\n")).collect::<String>(),
            std::env::consts::OS,
            self.date
        ));
        let (user, project): (Vec<_>, Vec<_>) =
            instructions.iter().partition(|instructions| instructions.origin == ResourceOrigin::User);
        text.push_str(&section("User Instructions", &user));
        text.push_str(&section("Repository Instructions", &project));
        text.push_str(&skill_list(skills));
        if let Some(appended) = &self.appended {
            text.push_str(&format!("\n{}\n", appended.trim_end()));
        }
        text
    }
}

/// Renders context files under a heading, each with its path.
fn section(heading: &str, instructions: &[&Instructions]) -> String {
    if instructions.is_empty() {
        return String::new();
    }
    let file = |instructions: &&Instructions| {
        let path = escape_invisible(&instructions.path.to_string_lossy());
        format!("From `{path}`:\n\n{}\n", instructions.text.trim_end())
    };
    let files: Vec<String> = instructions.iter().map(file).collect();
    format!("\n## {heading}\n{}", files.join("\n"))
}

/// Renders the list of skills that the model may use without being asked to, up to [`MAX_LISTING`].
pub(super) fn skill_list(skills: &[Skill]) -> String {
    let mut rows = String::new();
    let mut left_out = 0_usize;
    for skill in skills.iter().filter(|skill| skill.invocation == SkillInvocation::Anyone) {
        let row = format!(
            "  <skill>\n    <name>{}</name>\n    <description>{}</description>\n    <location>{}</location>\n  </skill>\n",
            escape_xml(&escape_invisible(&skill.name)),
            escape_xml(&escape_invisible(&skill.description)),
            escape_xml(&escape_invisible(&skill.path.to_string_lossy()))
        );
        if rows.len() + row.len() > MAX_LISTING {
            left_out += 1;
        } else {
            rows.push_str(&row);
        }
    }
    if rows.is_empty() {
        return String::new();
    }
    let more = if left_out == 0 { String::new() } else { format!("({left_out} more are not listed.)\n") };
    format!("\n{}\n\n<available_skills>\n{rows}</available_skills>\n{more}", SKILLS.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instructions(path: &str, text: &str, origin: ResourceOrigin) -> Instructions {
        Instructions { path: path.into(), text: text.into(), origin }
    }

    fn skill(name: &str, description: &str) -> Skill {
        Skill {
            name: name.into(),
            description: description.into(),
            body: "never here".into(),
            path: format!("/s/{name}/SKILL.md").into(),
            origin: ResourceOrigin::User,
            invocation: SkillInvocation::Anyone,
        }
    }

    #[test]
    fn system_prompt_context_files_have_headings_and_paths() {
        let prompt = SystemPrompt { date: "2026-11-21".into(), ..SystemPrompt::default() };
        let files = [
            instructions("/c/AGENTS.md", "Be kind.\n", ResourceOrigin::User),
            instructions("/p/AGENTS.md", "Use tabs.\n", ResourceOrigin::Project),
            instructions("/p/a/CLAUDE.md", "Not here.", ResourceOrigin::Project),
        ];
        let text = prompt.text(Path::new("/p"), &files, &[]);
        let expected = "\n## User Instructions\nFrom `/c/AGENTS.md`:\n\nBe kind.\n\
            \n## Repository Instructions\nFrom `/p/AGENTS.md`:\n\nUse tabs.\n\nFrom `/p/a/CLAUDE.md`:\n\nNot here.\n";
        assert!(text.ends_with(expected), "{text}");
        assert!(text.contains("- Working directory: /p\n"), "{text}");
        assert!(text.contains("- Date: 2026-11-21\n"), "{text}");
    }

    #[test]
    fn system_prompt_added_dirs_follow_the_working_directory() {
        let prompt = SystemPrompt { dirs: vec!["/docs (read-only)".into()], ..SystemPrompt::default() };
        let text = prompt.text(Path::new("/p"), &[], &[]);
        assert!(
            text.contains("- Working directory: /p\n- Tools can also access: /docs (read-only)\n"),
            "{text}"
        );
    }

    #[test]
    fn system_prompt_replacement_keeps_the_environment() {
        let prompt = SystemPrompt {
            replacement: Some("Be brief.".into()),
            appended: Some("End.".into()),
            ..SystemPrompt::default()
        };
        let text = prompt.text(Path::new("/p"), &[], &[]);
        assert!(text.starts_with("Be brief.\n\n## Environment\n") && text.ends_with("\nEnd.\n"), "{text}");
    }

    #[test]
    fn system_prompt_lists_skills_except_user_only_ones() {
        let user_only = Skill { invocation: SkillInvocation::UserOnly, ..skill("own", "x") };
        let text =
            SystemPrompt::default().text(Path::new("/p"), &[], &[skill("a", "if x < 3 & y"), user_only]);
        let row = "<available_skills>\n  <skill>\n    <name>a</name>\n    <description>if x &lt; 3 &amp; y</description>\n    \
            <location>/s/a/SKILL.md</location>\n  </skill>\n</available_skills>\n";
        assert!(text.ends_with(row) && text.contains("`read_file`"), "{text}");
        assert!(!text.contains("never here"), "{text}");
        let none = SystemPrompt::default().text(Path::new("/p"), &[], &[]);
        assert!(!none.contains("skill"), "{none}");
    }

    #[test]
    fn system_prompt_long_skill_list_says_how_many_are_missing() {
        let skills: Vec<Skill> = (0..100).map(|at| skill(&format!("s{at}"), &"d".repeat(1_024))).collect();
        let text = SystemPrompt::default().text(Path::new("/p"), &[], &skills);
        let listed = text.matches("<skill>\n").count();
        assert!(
            text.len() < MAX_LISTING + 8_000
                && text.ends_with(&format!("({} more are not listed.)\n", 100 - listed))
        );
    }
}
