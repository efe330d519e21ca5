//! Paths that Tab completes: what a directory holds that begins as the last part does.

use std::path::{Path, PathBuf};

use super::{Offer, Then};
use crate::tui::call::one_line;

/// Names that are offered of one directory.
const MOST: usize = 200;

/// A path to be completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::tui) struct Wanted {
    /// The text before the cursor: what comes is for it alone.
    pub(in crate::tui) before: String,
    pub(in crate::tui) typed: String,
    pub(in crate::tui) cwd: PathBuf,
    pub(in crate::tui) home: Option<PathBuf>,
}

/// What a path may become.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::tui) struct Listing {
    pub(in crate::tui) before: String,
    pub(in crate::tui) typed: String,
    pub(in crate::tui) offers: Vec<Offer>,
}

/// Looks into the directory of a path. Hidden names are offered once their dot is typed.
pub(in crate::tui) fn list(wanted: Wanted) -> Listing {
    let Wanted { before, typed, cwd, home } = wanted;
    let (folder, start) = match typed.rsplit_once('/') {
        Some((folder, start)) => (format!("{folder}/"), start.to_owned()),
        None if typed == "~" || typed.starts_with('.') => (format!("{typed}/"), String::new()),
        None => (String::new(), typed.clone()),
    };
    let place = match (folder.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => cwd.join(&folder),
    };
    let mut offers: Vec<Offer> = std::fs::read_dir(&place)
        .into_iter()
        .flatten()
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let is_meant = name.starts_with(&start) && (start.starts_with('.') || !name.starts_with('.'));
            is_meant.then(|| offer(&folder, &name, &place))
        })
        .collect();
    offers.sort_by(|a, b| a.name.cmp(&b.name));
    offers.truncate(MOST);
    Listing { before, typed, offers }
}

fn offer(folder: &str, name: &str, place: &Path) -> Offer {
    let end = if place.join(name).is_dir() { "/" } else { "" };
    Offer {
        name: one_line(&format!("{name}{end}")),
        insert: format!("{folder}{name}{end}"),
        then: Then::GoOn,
        ..Offer::default()
    }
}

/// What all of them begin with.
pub(super) fn common(offers: &[Offer]) -> String {
    let mut common = offers.first().map(|offer| offer.insert.clone()).unwrap_or_default();
    for offer in offers {
        let same = common.char_indices().zip(offer.insert.chars()).take_while(|((_, a), b)| a == b);
        let end = same.last().map_or(0, |((at, c), _)| at + c.len_utf8());
        common.truncate(end);
    }
    common
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_path_becomes_what_its_directory_holds() {
        let folder = tempfile::TempDir::new().unwrap();
        fs::create_dir_all(folder.path().join("src/map")).unwrap();
        for name in ["src/main.rs", "src/map.rs", "src/.hidden"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        let listed = |typed: &str, cwd: &Path| {
            let (before, home) = (String::new(), Some(folder.path().to_owned()));
            list(Wanted { before, typed: typed.into(), cwd: cwd.into(), home }).offers
        };
        let inserts = |offers: &[Offer]| offers.iter().map(|offer| offer.insert.clone()).collect::<Vec<_>>();
        let offers = listed("./src/ma", folder.path());
        assert_eq!(inserts(&offers), ["./src/main.rs", "./src/map.rs", "./src/map/"]);
        assert_eq!(common(&offers), "./src/ma");
        assert_eq!(inserts(&listed("~/src/map.", Path::new("/"))), ["~/src/map.rs"]);
        assert_eq!(inserts(&listed("src/.", folder.path())), ["src/.hidden"]);
        assert_eq!(inserts(&listed("~", Path::new("/"))), ["~/src/"]);
        assert!(listed("nowhere/x", folder.path()).is_empty());
    }
}
