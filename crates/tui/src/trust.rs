//! `/trust`: asks about the files of a project that take effect only when it is trusted. Handed in by the code that starts the
//! front end, which reads no files of settings itself.

use std::sync::Arc;

use tiller_render::Role;

use super::picker::{PickerChoice, PickerItem};

type Find = dyn Fn() -> Result<UntrustedProject, String> + Send + Sync;
type Trust = dyn Fn() -> Result<(), String> + Send + Sync;

/// A project that isn't trusted, as texts that a terminal can show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntrustedProject {
    /// Its folder.
    pub root: String,
    /// The files that would take effect.
    pub files: Vec<String>,
}

/// Finds the project, and trusts it as it was found.
#[derive(Clone)]
pub struct TrustService {
    find: Arc<Find>,
    trust: Arc<Trust>,
}

impl TrustService {
    /// Finds by the one and trusts by the other, which says why where that can't be.
    pub fn new(
        find: impl Fn() -> Result<UntrustedProject, String> + Send + Sync + 'static,
        trust: impl Fn() -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        Self { find: Arc::new(find), trust: Arc::new(trust) }
    }

    /// The answers to the question, no being the first, and the files that it is about.
    pub(super) fn items(&self) -> Vec<PickerItem> {
        match (self.find)() {
            Ok(project) => items(&project),
            Err(why) => vec![PickerItem::new(why.clone(), PickerChoice::Cant(why))],
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
        PickerItem::new("no, go on ignoring these files", PickerChoice::Nothing),
        PickerItem::new(yes, PickerChoice::Trust).with_note("only if you trust who wrote them"),
    ];
    let file = |path: &String| {
        let item = PickerItem::new(
            path.clone(),
            PickerChoice::Cant("a file that takes effect once trusted".to_owned()),
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
    fn items_begin_with_no_and_name_the_files() {
        let project =
            || UntrustedProject { root: "/p".into(), files: vec!["/p/.tiller/settings.json".into()] };
        let desk = TrustService::new(move || Ok(project()), || Ok(()));
        let items = desk.items();
        let labels: Vec<&str> = items.iter().map(|item| item.label.as_str()).collect();
        assert_eq!(labels, ["no, go on ignoring these files", "trust /p", "/p/.tiller/settings.json"]);
        assert_eq!([&items[0].choice, &items[1].choice], [&PickerChoice::Nothing, &PickerChoice::Trust]);
        let none = TrustService::new(|| Err("there is nothing to trust here".into()), || Ok(()));
        assert_eq!(none.items()[0].label, "there is nothing to trust here");
    }
}
