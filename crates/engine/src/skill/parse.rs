//! Parser of skill files. Checks the requirements of the format and reports deviations.

use serde::Deserialize;
use tiller_core::front_matter;
use tiller_files::search_path::ResourceOrigin;

use super::definition::{MAX_BYTES, Skill, SkillInvocation};
use super::walk::SkillFile;

/// Maximum length of a name, in characters.
const MAX_NAME: usize = 64;

/// Maximum length of a description, in characters.
const MAX_DESCRIPTION: usize = 1_024;

/// Maximum length of the compatibility note, in characters.
const MAX_COMPATIBILITY: usize = 500;

/// Front matter of a skill file. `license`, `metadata` and `allowed-tools` are accepted and ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct SkillFrontMatter {
    name: Option<String>,
    description: Option<String>,
    compatibility: Option<String>,
    disable_model_invocation: bool,
}

/// A skill, with remarks about harmless deviations from the format.
#[derive(Debug)]
pub(super) struct ParsedSkill {
    pub(super) skill: Skill,
    pub(super) remarks: Vec<String>,
}

/// Parses a skill.
///
/// # Errors
/// The reason the file can't be used.
pub(super) fn parse(bytes: &[u8], file: &SkillFile, origin: ResourceOrigin) -> Result<ParsedSkill, String> {
    if bytes.len() > MAX_BYTES {
        return Err(format!("larger than {} KiB", MAX_BYTES / 1024));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "not UTF-8 text".to_owned())?;
    let (head, body) = front_matter::parse::<SkillFrontMatter>(text).map_err(|error| error.to_string())?;
    let description = head.description.as_deref().map(one_line).filter(|text| !text.is_empty());
    let description = description.ok_or_else(|| front_matter::missing(text, "description"))?;
    let mut remarks = Vec::new();
    let name = name(head.name.as_deref(), &file.name, &mut remarks);
    if description.chars().count() > MAX_DESCRIPTION {
        remarks
            .push(format!("the description is longer than {MAX_DESCRIPTION} characters and was truncated"));
    }
    if head.compatibility.is_some_and(|text| text.chars().count() > MAX_COMPATIBILITY) {
        remarks.push(format!("`compatibility` is longer than {MAX_COMPATIBILITY} characters"));
    }
    let skill = Skill {
        name,
        description: description.chars().take(MAX_DESCRIPTION).collect(),
        body: body.into(),
        path: file.path.clone(),
        origin,
        invocation: match head.disable_model_invocation {
            true => SkillInvocation::UserOnly,
            false => SkillInvocation::Anyone,
        },
    };
    Ok(ParsedSkill { skill, remarks })
}

/// Returns the skill's name in a form that can be typed after `/skill:`.
fn name(declared: Option<&str>, file_name: &str, remarks: &mut Vec<String>) -> String {
    let declared = declared.map(str::trim).filter(|name| !name.is_empty());
    let name = declared.unwrap_or(file_name);
    match (declared, broken_rule(name)) {
        (_, Some(rule)) => remarks.push(format!("the name `{}` {rule}", one_line(name))),
        (None, None) => remarks.push(format!("it has no name; using `{name}`")),
        (Some(name), None) if name != file_name => {
            remarks
                .push(format!("its name `{name}` differs from that of its file or directory, `{file_name}`"));
        }
        (Some(_), None) => {}
    }
    let typed = name.split(|c: char| c.is_whitespace() || c.is_control()).filter(|part| !part.is_empty());
    typed.collect::<Vec<_>>().join("-")
}

/// Returns the rule of the format that a name violates.
fn broken_rule(name: &str) -> Option<String> {
    if name.chars().count() > MAX_NAME {
        return Some(format!("is longer than {MAX_NAME} characters"));
    }
    if !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
        return Some("has characters other than a-z, 0-9 and -".to_owned());
    }
    let is_loose = name.starts_with('-') || name.ends_with('-') || name.contains("--");
    is_loose.then(|| "has a hyphen that is not between letters or digits".to_owned())
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
