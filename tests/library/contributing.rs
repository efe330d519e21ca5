//! CONTRIBUTING.md names files that exist.

use std::fs;

use crate::source_code::root;

/// Folders of the root that the table names; all other paths are relative to `crates/`.
const ROOT_FOLDERS: &[&str] = &["src/", "docs/", "tests/", "prompts/", "themes/"];

#[test]
fn contributing_table_names_existing_paths() {
    let page = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let rows = page.lines().filter(|line| line.starts_with("| "));
    let quoted = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    let paths: Vec<&str> = quoted.filter(|text| text.contains('/') && !text.starts_with('/')).collect();
    assert!(paths.len() > 30, "{paths:?}");
    let path_of = |path: &str| match ROOT_FOLDERS.iter().any(|folder| path.starts_with(folder)) {
        true => root().join(path),
        false => root().join("crates").join(path),
    };
    let missing: Vec<_> = paths.into_iter().filter(|path| !path_of(path).exists()).collect();
    assert_eq!(missing, Vec::<&str>::new(), "update the table in CONTRIBUTING.md");
}
