//! Who imports whom, held against the table in docs/architecture.md.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as they do")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::engines::source_code::{bare, production_code, root, without_tests};

/// What stands before the table.
const MARK: &str = "<!-- layers: read by tests/engines/layers.rs -->";

/// What a module may import: paths that begin with one of these and with none of those.
#[derive(Debug, Default)]
struct Permit {
    all: bool,
    allowed: Vec<String>,
    forbidden: Vec<String>,
}

impl Permit {
    fn allows(&self, path: &str) -> bool {
        let begins = |prefix: &String| path == prefix || path.starts_with(&format!("{prefix}::"));
        self.all || (self.allowed.iter().any(begins) && !self.forbidden.iter().any(begins))
    }
}

/// Names in backquotes.
fn quoted(text: &str) -> Vec<String> {
    text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The modules that the page calls by one word: `*words* are …;` or `*engines* are ….`
fn group(page: &str, word: &str) -> Vec<String> {
    let (_, rest) = page.split_once(&format!("*{word}* are ")).unwrap();
    quoted(&rest[..rest.find([';', '.']).unwrap()])
}

/// The table of the page, by module.
fn table(page: &str) -> BTreeMap<String, Permit> {
    let (_, rest) = page.split_once(MARK).unwrap();
    let rows = rest.trim_start().lines().take_while(|line| line.starts_with('|')).skip(2);
    let mut table = BTreeMap::new();
    for row in rows {
        let cells: Vec<&str> = row.trim_matches('|').split('|').collect();
        let [modules, imports] = cells[..] else { panic!("{row}") };
        for module in quoted(modules) {
            assert!(table.insert(module.clone(), permit(page, imports)).is_none(), "{module} has two rows");
        }
    }
    table
}

fn permit(page: &str, imports: &str) -> Permit {
    let mut permit = Permit::default();
    for item in imports.split(',').map(str::trim) {
        match item {
            "–" => {}
            "all" => permit.all = true,
            "words" | "engines" => permit.allowed.extend(group(page, item)),
            _ if item.starts_with("not `") => permit.forbidden.extend(quoted(item)),
            _ => {
                let names = quoted(item);
                assert_eq!(names.len(), 1, "`{item}` is none of the table's words");
                permit.allowed.extend(names);
            }
        }
    }
    permit
}

/// The module of the crate that a file belongs to; `lib.rs` is none.
fn module_of(file: &Path) -> Option<String> {
    let first = file.strip_prefix(root().join("src")).unwrap().components().next().unwrap();
    let name = Path::new(first.as_os_str()).file_stem().unwrap().to_str().unwrap();
    (name != "lib").then(|| name.to_owned())
}

/// Every path after `crate::`, groups taken apart.
fn imports(bare: &str) -> BTreeSet<String> {
    let mut paths = BTreeSet::new();
    for (at, _) in bare.match_indices("crate::") {
        let is_word = bare[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_' || c == '$');
        if !is_word {
            expand(&bare[at + "crate::".len()..], "", &mut paths);
        }
    }
    paths
}

/// Takes one path, or a group of them, and gives what follows.
fn expand<'a>(code: &'a str, prefix: &str, paths: &mut BTreeSet<String>) -> &'a str {
    let code = code.trim_start();
    if let Some(mut rest) = code.strip_prefix('{') {
        loop {
            rest = rest.trim_start();
            if let Some(after) = rest.strip_prefix('}') {
                return after;
            }
            let before = rest.len();
            rest = expand(rest, prefix, paths).trim_start();
            rest = rest.strip_prefix(',').unwrap_or(rest);
            assert!(rest.len() < before, "a group that can't be read: {}", &code[..code.len().min(80)]);
        }
    }
    let length = code.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(code.len());
    let path = match &code[..length] {
        "" | "self" => prefix.to_owned(),
        name if prefix.is_empty() => name.to_owned(),
        name => format!("{prefix}::{name}"),
    };
    let rest = code[length..].trim_start_matches(|c: char| c == '*' || c.is_whitespace());
    match rest.strip_prefix("::") {
        Some(rest) => expand(rest, &path, paths),
        None => {
            paths.insert(path);
            let alias = rest
                .strip_prefix("as ")
                .map(|rest| rest.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_'));
            alias.unwrap_or(rest)
        }
    }
}

#[test]
fn every_import_is_one_that_the_table_allows() {
    let page = fs::read_to_string(root().join("docs/architecture.md")).unwrap();
    let table = table(&page);
    let mut wrong = Vec::new();
    for (file, code) in production_code() {
        let Some(module) = module_of(&file) else { continue };
        let Some(permit) = table.get(&module) else {
            wrong.push(format!("{module} has no row in the table"));
            continue;
        };
        let own = format!("{module}::");
        for path in imports(&code).iter().filter(|path| **path != module && !path.starts_with(&own)) {
            if !permit.allows(path) {
                wrong.push(format!("{}: {module} may not import {path}", file.display()));
            }
        }
    }
    wrong.dedup();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn paths_are_found_in_groups_and_bodies_but_not_in_strings_comments_and_tests() {
    let code = r##"
        use crate::a::{self, b::{C, d as e},
            f::*};
        // use crate::comment;
        fn g<'a>(x: &'a str) -> char { let _ = r#"crate::raw"#; let _ = "\"crate::text"; crate::h::i(x); '"' }
        use other_crate::no; /* crate::block */
        #[cfg(test)]
        mod tests { fn t() { use crate::test_only; } }
        use crate::j;
    "##;
    let found: Vec<String> = imports(&without_tests(&bare(code))).into_iter().collect();
    assert_eq!(found, ["a", "a::b::C", "a::b::d", "a::f", "h::i", "j"]);
}
