//! Tests that load templates from directories.

use tempfile::TempDir;

use std::fs;

use super::*;

fn write(dir: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    fs::create_dir_all(dir).unwrap();
    fs::write(dir.join(name), text).unwrap();
    dir.join(name)
}

fn search_path(path: &Path, origin: ResourceOrigin) -> SearchPath {
    SearchPath { path: path.to_owned(), origin, bounds: None }
}

fn names(found: &LoadedTemplates) -> Vec<&str> {
    found.templates.iter().map(|template| template.name.as_str()).collect()
}

fn messages(found: &LoadedTemplates) -> Vec<String> {
    found.problems.iter().map(|problem| problem.message.clone()).collect()
}

#[test]
fn load_description_and_hint_default_to_the_first_line() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "a.md", "---\ndescription: Does a\nargument-hint: <file> [line]\n---\nDo $1.");
    write(dir.path(), "b.md", "\n\nFirst  line.\nSecond.");
    write(dir.path(), "c.md", "---\nargument-hint: [file]\n---\nBody");
    write(dir.path(), "README.md", "of people");
    let found = load(
        &[search_path(dir.path(), ResourceOrigin::User)],
        BuiltIn::LeftOut,
        ReservedNames::default(),
        &[],
    );
    let rows =
        found.templates.iter().map(|t| (t.name.as_str(), t.description.as_str(), t.argument_hint.as_deref()));
    let expected =
        [("a", "Does a", Some("<file> [line]")), ("b", "First line.", None), ("c", "Body", Some("[file]"))];
    assert_eq!(rows.collect::<Vec<_>>(), expected);
    assert_eq!((&*found.templates[0].body, found.problems), ("Do $1.", vec![]));
}

#[test]
fn load_first_of_one_name_counts_and_reserved_names_are_refused() {
    let (nearer, farther) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let first = write(nearer.path(), "x.md", "near");
    write(farther.path(), "x.md", "far");
    write(farther.path(), "review.md", "mine");
    write(farther.path(), "new.md", "mine");
    let search_paths = [
        search_path(nearer.path(), ResourceOrigin::Project),
        search_path(farther.path(), ResourceOrigin::User),
    ];
    let reserved = ["new".to_owned()];
    let found = load(&search_paths, BuiltIn::Included, ReservedNames { names: &reserved }, &[]);
    assert_eq!(names(&found), ["x", "review", "explain", "fix", "test"]);
    assert_eq!((&*found.templates[0].body, &*found.templates[1].body), ("near", "mine"));
    assert_eq!(
        messages(&found),
        [
            "template `new` ignored: /new is a command".to_owned(),
            format!("template `x` ignored: {} already has that name", first.display()),
        ]
    );
}

#[test]
fn load_unusable_files_are_reported_and_affect_only_themselves() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "a b.md", "x");
    write(dir.path(), "b.md", b"\xff");
    write(dir.path(), "c.md", "---\nx: y\n---\n");
    write(dir.path(), "d.md", "x".repeat(MAX_BYTES + 1));
    write(dir.path(), "e.md", "---\nopen");
    write(dir.path(), "f.md", "good");
    let missing = search_path(&dir.path().join("missing"), ResourceOrigin::Given);
    let search_paths = [search_path(dir.path(), ResourceOrigin::User), missing];
    let found = load(&search_paths, BuiltIn::LeftOut, ReservedNames::default(), &[]);
    assert_eq!(names(&found), ["f"]);
    let messages = messages(&found);
    assert_eq!(
        messages[..4],
        [
            "template ignored: `/a b` isn't a valid name; use letters, digits, - and _",
            "template ignored: not UTF-8 text",
            "template ignored: it is empty",
            "template ignored: larger than 64 KiB",
        ]
    );
    assert!(
        messages[4].ends_with("end it with a `---` line")
            && messages[5].starts_with("can't load templates: ")
            && !messages[5].contains("os error"),
        "{messages:?}"
    );
}

#[test]
fn load_broken_file_keeps_its_version_and_deleted_one_is_gone() {
    let dir = TempDir::new().unwrap();
    let broken = write(dir.path(), "a.md", "one");
    let deleted = write(dir.path(), "b.md", "two");
    let search_paths = [search_path(dir.path(), ResourceOrigin::User)];
    let first_load = load(&search_paths, BuiltIn::LeftOut, ReservedNames::default(), &[]);
    fs::write(&broken, "---\nopen").unwrap();
    fs::remove_file(deleted).unwrap();
    let found = load(&search_paths, BuiltIn::LeftOut, ReservedNames::default(), &first_load.templates);
    assert_eq!(found.templates, first_load.templates[..1]);
    assert!(messages(&found)[0].ends_with("; its previous version stays in use"), "{:?}", messages(&found));
}
