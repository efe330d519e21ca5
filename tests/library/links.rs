//! Relative links of the pages lead to files that exist.

use std::fs;
use std::path::{Path, PathBuf};

use crate::source_code::root;

/// Lists the pages: those of `docs` and its directories, and those of the root.
fn pages() -> Vec<PathBuf> {
    let mut pages = ["README.md", "CONTRIBUTING.md"].map(|name| root().join(name)).to_vec();
    let mut dirs = vec![root().join("docs")];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => dirs.push(path),
                false if path.extension().is_some_and(|extension| extension == "md") => pages.push(path),
                false => {}
            }
        }
    }
    pages
}

/// Lists the targets of a page's links and images, outside of code.
fn targets(page: &str) -> Vec<&str> {
    let mut is_code = false;
    let lines = page.lines().filter(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    });
    // Every second part of a line stands in backticks.
    let texts = lines.flat_map(|line| line.split('`').step_by(2));
    texts.flat_map(|text| text.split("](").skip(1)).filter_map(|rest| rest.split([')', ' ']).next()).collect()
}

/// Checks a relative link; those to a part of the page, to addresses and to directories of the web aren't files.
fn is_broken(page: &Path, target: &str) -> bool {
    let file = target.split('#').next().unwrap_or_default();
    let is_relative = !file.is_empty() && !file.contains(':');
    is_relative && !page.parent().unwrap().join(file).exists()
}

#[test]
fn links_of_pages_lead_to_files() {
    let (mut found, mut broken) = (0, Vec::new());
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for target in targets(&text) {
            found += 1;
            if is_broken(&page, target) {
                broken.push(format!("{}: {target}", page.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(found > 200, "{found}");
    assert!(broken.is_empty(), "{broken:#?}");
}
