//! Environment variables and variables from `.env` files.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::{Path, PathBuf};

/// Environment variables: the process's own, or those of a test.
#[derive(Clone, Debug, Default)]
pub struct Environment {
    pub(super) variables: BTreeMap<String, String>,
    /// The `.env` files of variables that were read from files.
    pub(super) files: BTreeMap<String, PathBuf>,
}

impl Environment {
    /// Returns the process's variables, except those that aren't UTF-8.
    #[must_use]
    pub fn of_process() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        Self { variables: std::env::vars_os().filter_map(text).collect(), files: BTreeMap::new() }
    }

    /// Returns the value of a variable that is set and not empty.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Adds variables from a file, unless they are already set.
    pub(super) fn fill(&mut self, variables: Vec<(String, String)>, file: &Path) {
        for (name, value) in variables {
            if let Entry::Vacant(free) = self.variables.entry(name) {
                self.files.insert(free.key().clone(), file.to_owned());
                free.insert(value);
            }
        }
    }
}

impl<const N: usize> From<[(&str, &str); N]> for Environment {
    fn from(variables: [(&str, &str); N]) -> Self {
        let owned = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Self { variables: owned.into_iter().collect(), files: BTreeMap::new() }
    }
}
