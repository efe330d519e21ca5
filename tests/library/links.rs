//! Relative links of the pages lead to files and headings that exist.

use std::fs;
use std::path::{Path, PathBuf};

use crate::source_code::root;

/// Lists the pages: those in `docs` and its directories, and those in the root.
fn pages() -> Vec<PathBuf> {
    let mut pages = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md"].map(|name| root().join(name)).to_vec();
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

/// Lists the lines of a page outside of code.
fn prose(page: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    page.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// Lists the targets of a page's links and images, outside of code.
fn targets(page: &str) -> Vec<&str> {
    // Every second part of a line is in backticks.
    let texts = prose(page).flat_map(|line| line.split('`').step_by(2));
    texts.flat_map(|text| text.split("](").skip(1)).filter_map(|rest| rest.split([')', ' ']).next()).collect()
}

/// Returns a heading's anchor by GitHub's rule: lower case, hyphens for spaces, no punctuation.
fn anchor(heading: &str) -> String {
    let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    heading.trim().to_lowercase().chars().filter(is_kept).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Returns true if a page has a heading with this anchor. Repeated headings (`#name-1`) are not supported.
fn has_heading(page: &str, wanted: &str) -> bool {
    prose(page)
        .filter(|line| line.starts_with('#'))
        .any(|line| anchor(line.trim_start_matches('#')) == wanted)
}

/// Checks a relative link: its file exists and, if it has an anchor, the page has that heading.
fn is_broken(page: &Path, target: &str) -> bool {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    if file.contains(':') {
        return false;
    }
    let path = match file {
        "" => page.to_owned(),
        _ => page.parent().unwrap().join(file),
    };
    let is_page = path.extension().is_some_and(|extension| extension == "md");
    !path.exists()
        || is_page && !anchor.is_empty() && !has_heading(&fs::read_to_string(path).unwrap(), anchor)
}

#[test]
fn links_of_pages_lead_to_files_and_headings() {
    let (mut found, mut with_anchor, mut broken) = (0, 0, Vec::new());
    for page in pages() {
        let text = fs::read_to_string(&page).unwrap();
        for target in targets(&text) {
            found += 1;
            with_anchor += usize::from(!target.contains(':') && target.contains('#'));
            if is_broken(&page, target) {
                broken.push(format!("{}: {target}", page.strip_prefix(root()).unwrap().display()));
            }
        }
    }
    assert!(found > 200 && with_anchor > 50, "{found}, {with_anchor}");
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn anchor_drops_punctuation_and_joins_words() {
    assert_eq!(anchor(" Sessions: `/resume`, `tiller -r`"), "sessions-resume-tiller--r");
    assert!(!has_heading("# First\n```\n# Second\n```\n", "second"), "a comment in code isn't a heading");
}
