//! `/trust`: asks about the files of a project that take effect only when it is trusted. The caller of the
//! front end provides the service; the front end doesn't read settings files itself.

use std::sync::Arc;

use tiller_render::Role;

use crate::picker::item::{PickerChoice, PickerItem};

type FindUntrustedProject = dyn Fn() -> Result<UntrustedProject, String> + Send + Sync;
type TrustProject = dyn Fn() -> Result<(), String> + Send + Sync;

/// An untrusted project, as display texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntrustedProject {
    /// The project's root directory.
    pub root: String,
    /// The files that would take effect.
    pub files: Vec<String>,
}

/// Finds the untrusted project and trusts it.
#[derive(Clone)]
pub struct TrustService {
    find: Arc<FindUntrustedProject>,
    trust: Arc<TrustProject>,
}

impl TrustService {
    /// Creates a service from two functions; both return a reason on failure.
    pub fn new(
        find: impl Fn() -> Result<UntrustedProject, String> + Send + Sync + 'static,
        trust: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self { find: Arc::new(find), trust: Arc::new(trust) }
    }

    /// Returns the list items: the answers, with no first, and the files in question.
    pub(super) fn items(&self) -> Vec<PickerItem> {
        match (self.find)() {
            Ok(project) => items(&project),
            Err(why) => vec![PickerItem::new(why.clone(), PickerChoice::Unavailable(why))],
        }
    }

    pub(super) fn trust(&self) -> Result<(), String> {
        (self.trust)()
    }
}

impl std::fmt::Debug for TrustService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TrustService")
    }
}

fn items(project: &UntrustedProject) -> Vec<PickerItem> {
    let yes = format!("trust {}", project.root);
    let mut items = vec![
        PickerItem::new("no, keep ignoring these files", PickerChoice::Nothing),
        PickerItem::new(yes, PickerChoice::Trust).with_note("only if you trust the authors of these files"),
    ];
    let file = |path: &String| {
        let item = PickerItem::new(
            path.clone(),
            PickerChoice::Unavailable("a file that takes effect once trusted".to_owned()),
        );
        item.in_role(Role::Muted)
    };
    items.extend(project.files.iter().map(file));
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trust_items_begin_with_no_and_name_the_files() {
        let project =
            || UntrustedProject { root: "/p".into(), files: vec!["/p/.tiller/settings.json".into()] };
        let service = TrustService::new(move || Ok(project()), || Ok(()));
        let items = service.items();
        let labels: Vec<&str> = items.iter().map(|item| item.label.as_str()).collect();
        assert_eq!(labels, ["no, keep ignoring these files", "trust /p", "/p/.tiller/settings.json"]);
        assert_eq!([&items[0].choice, &items[1].choice], [&PickerChoice::Nothing, &PickerChoice::Trust]);
        let none = TrustService::new(|| Err("there is nothing to trust here".into()), || Ok(()));
        assert_eq!(none.items()[0].label, "there is nothing to trust here");
    }
}
