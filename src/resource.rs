//! What skills, templates and context files have in common: where they come from, what is wrong with one, and the shape
//! of the message that a skill becomes. Pure.

use std::fmt;
use std::path::PathBuf;

use serde::Serialize;

/// Who a resource is from; of several with one name the first in this order counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// Named when tiller was started.
    Given,
    /// The project's own.
    Project,
    /// The user's own.
    User,
    /// An extension's.
    Extension,
    /// Tiller's.
    BuiltIn,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Given => "given",
            Self::Project => "project",
            Self::User => "user",
            Self::Extension => "extension",
            Self::BuiltIn => "built-in",
        })
    }
}

/// A file or folder to look for resources in. It need not exist, unless it was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Absolute.
    pub path: PathBuf,
    /// Whose it is.
    pub origin: Origin,
}

/// Something that is wrong with a file, for the user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Problem {
    /// The file or folder.
    pub path: PathBuf,
    /// What is wrong and what became of it: `not used: not UTF-8 text`.
    pub what: String,
    /// Tells one state of the file from another: a file that was changed and is still wrong is a new problem.
    pub state: u64,
}

impl Problem {
    /// A problem that doesn't depend on what a file holds.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        Self { path: path.into(), what: what.into(), state: 0 }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.what)
    }
}

/// Writes the message that a skill becomes: its body in a block that names it, and what was said beside its name.
#[must_use]
pub fn skill_message(name: &str, location: &str, body: &str, arguments: &str) -> String {
    let (name, location) = (escaped(name), escaped(location));
    let mut text = format!("<skill name=\"{name}\" location=\"{location}\">\n{body}\n</skill>");
    if !arguments.is_empty() {
        text.push_str("\n\n");
        text.push_str(arguments);
    }
    text
}

/// What was typed for a message that a skill became: `/skill:name arguments`; `None` for any other text.
#[must_use]
pub fn typed_skill(text: &str) -> Option<String> {
    const END: &str = "\n</skill>";
    let rest = text.strip_prefix("<skill name=\"")?;
    let (name, rest) = rest.split_once("\" location=\"")?;
    let (location, rest) = rest.split_once("\">\n")?;
    if name.contains(['"', '\n']) || location.contains(['"', '\n']) {
        return None;
    }
    // A body may be empty; its line end is still there.
    let (_, after) = rest.rsplit_once(END).or_else(|| rest.rsplit_once(END.trim_start()))?;
    let arguments = match after {
        "" => "",
        after => after.strip_prefix("\n\n")?,
    };
    let name = name.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&");
    Some(format!("/skill:{name} {arguments}").trim_end().to_owned())
}

/// A text as it stands in XML, between tags and in attributes.
#[must_use]
pub fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skills_message_holds_its_body_and_then_what_was_said() {
        assert_eq!(
            skill_message("x", "/s/x/SKILL.md", "Do it.", "with care"),
            "<skill name=\"x\" location=\"/s/x/SKILL.md\">\nDo it.\n</skill>\n\nwith care"
        );
        assert_eq!(
            skill_message("x", "/a\"b", "B", ""),
            "<skill name=\"x\" location=\"/a&quot;b\">\nB\n</skill>"
        );
    }

    #[test]
    fn what_was_typed_comes_back_from_the_message() {
        for (body, arguments) in
            [("Do it.", "with care"), ("", ""), ("a\n</skill>\n\nb", "two\nlines"), ("<skill>", "")]
        {
            let message = skill_message("a&b", "/s/\"x\"", body, arguments);
            assert_eq!(typed_skill(&message), Some(format!("/skill:a&b {arguments}").trim_end().to_owned()));
        }
        for other in ["", "<skill name=\"x\">", "say <skill name=\"x\" location=\"y\">\nz\n</skill>"] {
            assert_eq!(typed_skill(other), None, "{other}");
        }
        assert_eq!(typed_skill("<skill name=\"x\" location=\"y\">\nz\n</skill> and"), None);
    }
}
