//! Rules about names and doc comments: one meaning a word, no private language, no question in the place of a noun.

use std::collections::BTreeMap;

use crate::source_code::{all_code, production_code, root};

/// Names of types and modules that say nothing to a reader of other Rust code: metaphors, adverbs, participles.
const STOP_LIST: &[&str] = &[
    "announced",
    "answered",
    "appended",
    "asker",
    "beside",
    "clerk",
    "crew",
    "declared",
    "decoded",
    "deeds",
    "described",
    "desk",
    "ears",
    "elsewhere",
    "errand",
    "farewell",
    "folded",
    "given",
    "handled",
    "heard",
    "here",
    "imported",
    "joint",
    "kept",
    "lagged",
    "listening",
    "manner",
    "manners",
    "nobody",
    "others",
    "own",
    "post",
    "ranked",
    "received",
    "recognized",
    "running",
    "said",
    "scribe",
    "settled",
    "shelf",
    "sides",
    "somebody",
    "started",
    "summarizing",
    "teller",
    "there",
    "told",
    "truncated",
    "unfolded",
    "visit",
    "wanted",
    "wire",
    "wrapped",
];

/// Every typed tool defines its arguments: they are an associated type of `TypedTool`.
const ASSOCIATED: &str = "Arguments";

/// Maximum number of definitions of one type name.
const MOST_DEFINITIONS: usize = 2;

/// Maximum length of a test's name, in characters.
const LONGEST_TEST_NAME: usize = 60;

/// Words that don't begin a doc comment: it begins with a noun or a third-person verb.
const QUESTION_WORDS: &[&str] = &["How", "What", "Whether", "Who"];

/// Returns the identifier that a text begins with.
fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    &text[..end]
}

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
            names.push(identifier(rest));
        }
    }
    names
}

/// Names of the tests, including tokio's.
fn test_names(code: &str) -> Vec<&str> {
    let (mut names, mut is_test) = (Vec::new(), false);
    for line in code.lines().map(str::trim_start) {
        is_test |= line.starts_with("#[test]") || line.starts_with("#[tokio::test");
        let Some((_, rest)) = line.split_once("fn ") else { continue };
        if std::mem::take(&mut is_test) {
            names.push(identifier(rest));
        }
    }
    names
}

/// First lines of the doc comments that begin with a question word.
fn question_comments(code: &str) -> Vec<&str> {
    let (mut found, mut is_inside) = (Vec::new(), false);
    for line in code.lines().map(str::trim_start) {
        let text = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let first_word =
            text.and_then(|text| text.split(|c: char| !c.is_alphabetic()).find(|word| !word.is_empty()));
        if !is_inside && first_word.is_some_and(|word| QUESTION_WORDS.contains(&word)) {
            found.push(line);
        }
        is_inside = text.is_some();
    }
    found
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
fn test_names_are_short() {
    let code = all_code();
    let names =
        code.iter().flat_map(|(file, code)| test_names(code).into_iter().map(move |name| (file, name)));
    let names: Vec<_> = names.collect();
    assert!(names.len() > 1_000, "{}", names.len());
    let long: Vec<_> = names.iter().filter(|(_, name)| name.len() > LONGEST_TEST_NAME).collect();
    assert!(long.is_empty(), "longer than {LONGEST_TEST_NAME} characters: {long:#?}");
}

#[test]
fn doc_comments_begin_with_no_question_word() {
    let mut found = Vec::new();
    for (file, code) in all_code() {
        found.extend(question_comments(&code).iter().map(|line| format!("{}: {line}", file.display())));
    }
    assert!(found.is_empty(), "begin with a noun or a verb:\n{}", found.join("\n"));
}

#[test]
fn test_names_are_found_behind_attributes() {
    let code = "#[test]\n#[ignore]\nfn a() {}\nfn b() {}\n    #[tokio::test(start_paused = true)]\n    async fn c() {}";
    assert_eq!(test_names(code), ["a", "c"]);
}

#[test]
fn question_comments_are_found_at_their_first_line() {
    let code = "//! What it is.\n\n/// Whether.\nfn a() {}\n/// Checks\n/// How it is.\n/// Whoever\n// What";
    assert_eq!(question_comments(code), ["//! What it is.", "/// Whether."]);
}

#[test]
fn type_names_are_found_behind_visibility_and_indentation() {
    let code = "pub struct A<T>(T);\n    pub(in crate::x) enum B {\ntype C = u8;\n    type Error = D;\ntrait E: F {}\nfn g() {}";
    assert_eq!(type_names(code), ["A", "B", "C", "E"]);
}
