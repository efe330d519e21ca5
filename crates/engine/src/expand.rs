//! Expansion of `/skill:name` and `/template` at the start of a prompt. Pure.

use std::borrow::Cow;

use tiller_core::skill_message::skill_message;
use tiller_core::suggest;

use super::resources::Resources;
use crate::skill::Skill;

/// Prefix of a skill's command.
const SKILL: &str = "/skill:";

/// A prompt that names an unknown skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnknownSkill {
    pub(super) name: String,
    /// The skill with the most similar name.
    pub(super) nearest: Option<String>,
}

/// Expands a prompt for the model. A prompt that starts with a slash but names neither a skill nor a template
/// isn't changed.
pub(super) fn expand<'a>(text: &'a str, resources: &Resources) -> Result<Cow<'a, str>, UnknownSkill> {
    let line = text.trim_start();
    if let Some(rest) = line.strip_prefix(SKILL) {
        let (name, arguments) = name_and_arguments(rest);
        let skill = resources.skills().iter().find(|skill| skill.name == name);
        return skill
            .map(|skill| Cow::Owned(message(skill, arguments)))
            .ok_or_else(|| unknown(name, resources));
    }
    let Some(rest) = line.strip_prefix('/') else { return Ok(Cow::Borrowed(text)) };
    let (name, arguments) = name_and_arguments(rest);
    let template = resources.templates().iter().find(|template| template.name == name);
    Ok(template.map_or(Cow::Borrowed(text), |template| Cow::Owned(template.expand(arguments))))
}

fn message(skill: &Skill, arguments: &str) -> String {
    skill_message(&skill.name, &skill.path.to_string_lossy(), &skill.body, arguments)
}

fn name_and_arguments(text: &str) -> (&str, &str) {
    let (name, arguments) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (name, arguments.trim())
}

fn unknown(name: &str, resources: &Resources) -> UnknownSkill {
    let names = resources.skills().iter().map(|skill| skill.name.as_str());
    UnknownSkill { name: name.to_owned(), nearest: suggest::nearest(name, names).map(str::to_owned) }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use tempfile::TempDir;
    use tiller_files::search_path::{ResourceOrigin, SearchPath};

    use super::*;
    use crate::resources::ResourcePaths;

    fn resources(dir: &TempDir) -> Resources {
        fs::write(dir.path().join("tidy.md"), "---\nname: tidy\ndescription: d\n---\n\nTidy up.\n").unwrap();
        fs::create_dir(dir.path().join("prompts")).unwrap();
        fs::write(dir.path().join("prompts/ask.md"), "Ask $1 about ${@:2}.").unwrap();
        let search_path = |path| vec![SearchPath { path, origin: ResourceOrigin::User, bounds: None }];
        Resources::load(ResourcePaths {
            skills: search_path(dir.path().to_owned()),
            templates: search_path(dir.path().join("prompts")),
            ..ResourcePaths::default()
        })
    }

    #[test]
    fn expand_skill_becomes_its_body_and_the_arguments() {
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("tidy.md");
        let block = format!("<skill name=\"tidy\" location=\"{}\">\nTidy up.\n</skill>", path.display());
        let resources = resources(&dir);
        assert_eq!(expand("/skill:tidy", &resources).unwrap(), block);
        assert_eq!(
            expand(" /skill:tidy\n src \"and $1\"\n", &resources).unwrap(),
            format!("{block}\n\nsrc \"and $1\"")
        );
    }

    #[test]
    fn expand_unknown_skill_names_the_nearest() {
        let resources = resources(&TempDir::new().unwrap());
        let unknown = |nearest: Option<&str>, name: &str| {
            Err(UnknownSkill { name: name.to_owned(), nearest: nearest.map(str::to_owned) })
        };
        assert_eq!(expand("/skill:tody up", &resources), unknown(Some("tidy"), "tody"));
        assert_eq!(expand("/skill:deploy", &resources), unknown(None, "deploy"));
        assert_eq!(expand("/skill: x", &resources), unknown(None, ""));
    }

    #[test]
    fn expand_template_takes_arguments_and_other_text_stays() {
        let resources = resources(&TempDir::new().unwrap());
        assert_eq!(expand("/ask me 'the parser'", &resources).unwrap(), "Ask me about the parser.");
        for text in ["/asks x", "/usr/bin/env", "say /ask", "//ask", "/", ""] {
            assert_eq!(expand(text, &resources), Ok(Cow::Borrowed(text)));
        }
    }
}
