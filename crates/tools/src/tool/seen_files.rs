//! The file versions that the model has seen, to prevent it from replacing a file that has changed since
//! then.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::ToolOutput;

/// The key in `details` for the file that a call has read or written: `{path, sha256}`. In the `details` of a
/// compaction it has a list of them.
const SEEN: &str = "seen";

/// Maximum number of files. When it is reached all are dropped, which only weakens the check.
const MAX_FILES: usize = 10_000;

/// The files that the model has read or written, with the hashes of their contents. Clones share them.
///
/// Contents are compared because a file can change and keep its size and times.
#[derive(Clone, Debug, Default)]
pub struct SeenFiles(Arc<Mutex<HashMap<PathBuf, String>>>);

impl SeenFiles {
    /// Records that the model has seen this content of a file.
    pub(super) fn record(&self, path: &Path, content: &[u8]) {
        let hash = hash_of(content);
        let mut files = self.lock();
        if files.len() >= MAX_FILES {
            files.clear();
        }
        files.insert(path.to_owned(), hash);
    }

    /// Returns true if the file's content differs from what the model has seen.
    pub(super) fn has_changed(&self, path: &Path, content: &[u8]) -> bool {
        let seen = self.lock().get(path).cloned();
        seen.is_some_and(|seen| seen != hash_of(content))
    }

    /// Replaces the files with these. `resolve` returns the path in the form that [`SeenFiles::record`] gets.
    pub(super) fn restore(&self, hashes: SeenHashes, resolve: impl Fn(&str) -> Option<PathBuf>) {
        let hashes = hashes.0.into_iter();
        let resolved = hashes.filter_map(|(path, hash)| Some((resolve(&path)?, hash)));
        *self.lock() = resolved.take(MAX_FILES).collect();
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PathBuf, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The hashes of the newest contents of files that results and compactions name in their `details`, by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SeenHashes(BTreeMap<String, String>);

impl SeenHashes {
    /// Adds the files in later `details`.
    pub fn add(&mut self, details: &Value) {
        let seen = details.get(SEEN);
        let list = seen.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let entries = seen.filter(|seen| seen.is_object()).into_iter().chain(list);
        self.0.extend(entries.filter_map(|entry| {
            let text = |name: &str| entry.get(name).and_then(Value::as_str).map(str::to_owned);
            Some((text("path")?, text("sha256")?))
        }));
    }

    /// Adds later hashes.
    pub fn merge(&mut self, later: Self) {
        self.0.extend(later.0);
    }

    /// Adds the files to the `details` of a compaction.
    pub fn add_to_details(&self, details: &mut Value) {
        if let Value::Object(details) = details
            && !self.0.is_empty()
        {
            let entry = |(path, hash)| json!({ "path": path, "sha256": hash });
            details.insert(SEEN.to_owned(), self.0.iter().map(entry).collect());
        }
    }
}

/// Adds the file that a call has read or written to the `details` of its result, for later processes.
pub(super) fn add_seen(output: &mut ToolOutput, path: &str, content: &[u8]) {
    let details = output.details.get_or_insert_with(|| Value::Object(Map::new()));
    if let Value::Object(details) = details {
        details.insert(SEEN.to_owned(), json!({ "path": path, "sha256": hash_of(content) }));
    }
}

/// Returns the SHA-256 hash of a content in hexadecimal.
fn hash_of(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}
