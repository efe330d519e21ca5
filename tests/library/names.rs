//! Rules about names of types and modules: one meaning a word, and no private language.

use std::collections::BTreeMap;

use crate::source_code::{production_code, root};

/// Names of types and modules that say nothing to a reader of other Rust code.
const STOP_LIST: &[&str] = &[
    "beside",
    "clerk",
    "crew",
    "deeds",
    "desk",
    "ears",
    "elsewhere",
    "errand",
    "farewell",
    "given",
    "heard",
    "here",
    "kept",
    "manner",
    "manners",
    "nobody",
    "others",
    "own",
    "said",
    "scribe",
    "shelf",
    "somebody",
    "teller",
    "there",
    "told",
    "wanted",
];

/// Every typed tool defines its arguments: they are an associated type of `TypedTool`.
const ASSOCIATED: &str = "Arguments";

/// Maximum number of definitions of one type name.
const MOST_DEFINITIONS: usize = 2;

/// Names of the structs, enums, traits, unions and free type aliases in code without comments and tests.
fn type_names(code: &str) -> Vec<&str> {
    let mut names = Vec::new();
    for line in code.lines() {
        let is_indented = line.starts_with(' ');
        let line = line.trim_start();
        let line = line.strip_prefix("pub").map_or(line, |rest| {
            let rest =
                rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest);
            rest.trim_start()
        });
        let Some((keyword, rest)) = line.split_once(' ') else { continue };
        // An indented alias is an associated type.
        if matches!(keyword, "struct" | "enum" | "trait" | "union") || keyword == "type" && !is_indented {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            names.push(&rest[..end]);
        }
    }
    names
}

#[test]
fn type_names_are_defined_at_most_twice() {
    let code = production_code();
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (file, code) in &code {
        let file = file.strip_prefix(root()).unwrap().display().to_string();
        for name in type_names(code) {
            places.entry(name).or_default().push(file.clone());
        }
    }
    places.retain(|name, files| files.len() > MOST_DEFINITIONS && *name != ASSOCIATED);
    assert!(places.is_empty(), "{places:#?}");
}

#[test]
fn names_on_the_stop_list_are_not_used() {
    let mut found = Vec::new();
    for (file, code) in production_code() {
        let is_stopped = |name: &str| STOP_LIST.contains(&name.to_lowercase().as_str());
        let module = file.file_stem().and_then(|stem| stem.to_str()).unwrap();
        let types = type_names(&code);
        let names = types.into_iter().chain([module]).filter(|name| is_stopped(name));
        found.extend(names.map(|name| format!("{}: {name}", file.display())));
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn type_names_are_found_behind_visibility_and_indentation() {
    let code = "pub struct A<T>(T);\n    pub(in crate::x) enum B {\ntype C = u8;\n    type Error = D;\ntrait E: F {}\nfn g() {}";
    assert_eq!(type_names(code), ["A", "B", "C", "E"]);
}
