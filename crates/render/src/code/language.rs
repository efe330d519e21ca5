//! The language of code.

use serde::{Deserialize, Serialize};

use super::grammar;

/// The way to find the language of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language<'a> {
    /// By name, as after a fence: `rust`, `sh`, `C++`.
    Named(&'a str),
    /// By file name.
    OfFile(&'a str),
}

/// An owned [`Language`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) enum LanguageId {
    Named(String),
    OfFile(String),
}

impl LanguageId {
    pub(crate) fn new(language: Language<'_>) -> Self {
        match language {
            Language::Named(name) => Self::Named(grammar::first_word(name).to_lowercase()),
            // Files of one kind have the same grammar.
            Language::OfFile(path) => Self::OfFile(grammar::kind_of_file(path).to_owned()),
        }
    }

    pub(super) fn as_language(&self) -> Language<'_> {
        match self {
            Self::Named(name) => Language::Named(name),
            Self::OfFile(path) => Language::OfFile(path),
        }
    }
}
