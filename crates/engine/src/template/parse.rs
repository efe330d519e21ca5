//! Parser of template files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use tiller_core::front_matter;
use tiller_files::search_path::ResourceOrigin;

/// Maximum bytes of a template: it is a prompt, and 64 KiB are about 16,000 tokens.
pub const MAX_BYTES: usize = 64 * 1024;

/// Maximum length of a description, in characters; it has one line in a list.
const MAX_DESCRIPTION: usize = 200;

/// A valid template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The file's name without `.md`.
    pub name: String,
    /// One-line purpose; by default the body's first line.
    pub description: String,
    /// Hint for the arguments.
    pub argument_hint: Option<String>,
    /// The prompt.
    pub body: Arc<str>,
    /// Path of the file; for a built-in template a name in angle brackets.
    pub path: PathBuf,
    /// The place where the template was found.
    pub origin: ResourceOrigin,
}

/// Front matter of a template file.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "kebab-case")]
struct TemplateFrontMatter {
    description: Option<String>,
    argument_hint: Option<ArgumentHint>,
}

/// `argument-hint: [file]` is a list in YAML, but is meant as a string.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum ArgumentHint {
    Text(String),
    List(Vec<String>),
}

impl ArgumentHint {
    fn text(&self) -> String {
        match self {
            Self::Text(text) => one_line(text),
            Self::List(items) => format!("[{}]", one_line(&items.join(", "))),
        }
    }
}

pub(super) fn parse(bytes: &[u8], path: &Path, origin: ResourceOrigin) -> Result<Template, String> {
    if bytes.len() > MAX_BYTES {
        return Err(format!("larger than {} KiB", MAX_BYTES / 1024));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "not UTF-8 text".to_owned())?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_') {
        return Err(format!("`/{name}` isn't a valid name; use letters, digits, - and _"));
    }
    let (head, body) = front_matter::parse::<TemplateFrontMatter>(text).map_err(|error| error.to_string())?;
    if body.is_empty() {
        return Err("it is empty".to_owned());
    }
    let described = head.description.as_deref().map(one_line).filter(|text| !text.is_empty());
    let description = described.unwrap_or_else(|| one_line(body.lines().next().unwrap_or_default()));
    Ok(Template {
        name,
        description: description.chars().take(MAX_DESCRIPTION).collect(),
        argument_hint: head.argument_hint.map(|hint| hint.text()).filter(|hint| !hint.is_empty()),
        body: body.into(),
        path: path.to_owned(),
        origin,
    })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
