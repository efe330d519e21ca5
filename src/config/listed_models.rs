//! The models that servers listed when `tiller models refresh` last queried them, in `listed-models.json` in
//! the state directory.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::edit::{FilePermissions, replace};
use super::error::ConfigError;
use crate::files;
use crate::provider::model_list::ListedModel;

/// Maximum size of the file, in bytes. The longest list, with 1,000 models, has about 200 kB.
const LIMIT: u64 = 16 * 1024 * 1024;

/// The lists by provider.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ListedModels(BTreeMap<String, Vec<ListedModel>>);

/// Reads the lists. A file that can't be read counts as missing, because servers can be queried again.
pub(super) fn load(path: &Path) -> ListedModels {
    let text = files::read_text(path, LIMIT).unwrap_or_default();
    serde_json::from_str(&text).unwrap_or_default()
}

impl ListedModels {
    pub(super) fn of(&self, provider: &str) -> &[ListedModel] {
        self.0.get(provider).map_or(&[], Vec::as_slice)
    }
}

/// Stores the lists of some providers, keeping those of other providers.
///
/// # Errors
/// If the file can't be written.
pub fn store_listed_models(
    path: &Path,
    lists: BTreeMap<String, Vec<ListedModel>>,
) -> Result<(), ConfigError> {
    let mut seen = load(path);
    seen.0.extend(lists);
    let text = serde_json::to_string(&seen).unwrap_or_default();
    replace(path, &text, FilePermissions::Keep)
        .map_err(|source| ConfigError::Io { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_listed_models_keeps_the_lists_of_other_providers() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("state/listed-models.json");
        let list = |id: &str| vec![ListedModel { id: id.to_owned(), ..ListedModel::default() }];
        store_listed_models(&path, [("a".to_owned(), list("1")), ("b".to_owned(), list("2"))].into())
            .unwrap();
        store_listed_models(&path, [("b".to_owned(), list("3"))].into()).unwrap();
        let seen = load(&path);
        assert_eq!((seen.of("a"), seen.of("b"), seen.of("c")), (&*list("1"), &*list("3"), &[][..]));
        std::fs::write(&path, "{").unwrap();
        assert_eq!(load(&path).of("a"), []);
    }
}
