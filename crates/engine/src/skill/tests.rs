//! Tests that load skills from directories.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use tiller_files::search_path::ResourceOrigin;

use super::*;

/// Writes a file in a directory, creating missing parent directories.
fn write(dir: &Path, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

fn head(name: &str) -> String {
    format!("---\nname: {name}\ndescription: Does {name}.\n---\n\nBody of {name}.\n")
}

fn user_path(path: &Path) -> SearchPath {
    SearchPath { path: path.to_owned(), origin: ResourceOrigin::Project, bounds: None }
}

fn names(found: &LoadedSkills) -> Vec<&str> {
    found.skills.iter().map(|skill| skill.name.as_str()).collect()
}

fn messages(found: &LoadedSkills) -> Vec<String> {
    found.problems.iter().map(|problem| problem.message.clone()).collect()
}

#[test]
fn load_finds_skill_dirs_groups_and_single_files() {
    let dir = TempDir::new().unwrap();
    let path = write(dir.path(), "one/SKILL.md", head("one"));
    write(dir.path(), "one/scripts/other.md", "no skill");
    write(dir.path(), "group/two/SKILL.md", head("two"));
    write(dir.path(), "three.md", head("three"));
    write(dir.path(), "README.md", "of people");
    write(dir.path(), "group/note.md", "no skill");
    write(dir.path(), ".hidden/SKILL.md", head("hidden"));
    write(dir.path(), "node_modules/x/SKILL.md", head("x"));
    let found = load(&[user_path(dir.path())], &[]);
    assert_eq!((names(&found), messages(&found)), (vec!["two", "one", "three"], vec![]));
    let one = Skill {
        name: "one".into(),
        description: "Does one.".into(),
        body: "Body of one.".into(),
        path: path.clone(),
        origin: ResourceOrigin::Project,
        invocation: SkillInvocation::Anyone,
    };
    assert_eq!(found.skills[1], one);
    assert_eq!(one.dir(), path.parent().unwrap());
}

#[test]
fn load_path_may_be_one_skill_or_its_file() {
    let dir = TempDir::new().unwrap();
    let path = write(dir.path(), "one/SKILL.md", head("one"));
    let other = write(dir.path(), "other/two.md", head("two"));
    let given =
        |path: &Path| SearchPath { path: path.to_owned(), origin: ResourceOrigin::Given, bounds: None };
    let missing = given(&dir.path().join("missing"));
    let paths = [
        given(path.parent().unwrap()),
        given(&path),
        given(&other),
        missing,
        user_path(Path::new("/no/such")),
    ];
    let found = load(&paths, &[]);
    assert_eq!(names(&found), ["one", "two"]);
    assert_eq!(found.problems.len(), 1, "only what was given must be there: {:?}", found.problems);
    assert_eq!(messages(&found), ["can't load skills: No such file or directory"]);
}

#[test]
fn load_first_of_one_name_counts_and_both_paths_are_reported() {
    let (nearer, farther) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let first = write(nearer.path(), "x/SKILL.md", head("x"));
    let second = write(farther.path(), "x/SKILL.md", head("x"));
    let found = load(&[user_path(nearer.path()), user_path(farther.path())], &[]);
    assert_eq!(found.skills[0].path, first);
    assert_eq!(
        found.problems[0].to_string(),
        format!("{}: skill `x` ignored: {} already has that name", second.display(), first.display())
    );
    let linked = nearer.path().join("link");
    symlink(nearer.path(), &linked).unwrap();
    assert_eq!(
        load(&[user_path(nearer.path()), user_path(&linked)], &[]).problems,
        [],
        "the same file twice is one"
    );
}

#[test]
fn load_format_violations_are_reported_and_mostly_harmless() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "a/SKILL.md", "---\nname: a\n---\nBody");
    write(dir.path(), "b/SKILL.md", head("other"));
    write(dir.path(), "c/SKILL.md", "---\nname: Pdf Tools\ndescription: x\n---\n");
    write(dir.path(), "d/SKILL.md", "---\ndescription: |\n  two\n  lines\n---\n");
    write(dir.path(), "e/SKILL.md", format!("---\nname: e\ndescription: {}\n---\n", "y".repeat(1_025)));
    write(dir.path(), "f--g/SKILL.md", head("f--g"));
    write(dir.path(), "h/SKILL.md", format!("{}\n", head("h")).replace("name", "allowed-tools: Read\nname"));
    let found = load(&[user_path(dir.path())], &[]);
    assert_eq!(names(&found), ["other", "Pdf-Tools", "d", "e", "f--g", "h"]);
    assert_eq!(
        messages(&found),
        [
            "skill ignored: the front matter has no `description`",
            "its name `other` differs from that of its file or directory, `b`",
            "the name `Pdf Tools` has characters other than a-z, 0-9 and -",
            "it has no name; using `d`",
            "the description is longer than 1024 characters and was truncated",
            "the name `f--g` has a hyphen that is not between letters or digits",
        ]
    );
    assert_eq!(found.skills[2].description, "two lines");
    assert_eq!(found.skills[3].description.len(), 1_024);
}

#[test]
fn load_skill_may_be_for_users_only() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "a.md", "---\nname: a\ndescription: b\ndisable-model-invocation: true\n---\n");
    assert_eq!(load(&[user_path(dir.path())], &[]).skills[0].invocation, SkillInvocation::UserOnly);
}

#[test]
fn load_unusable_files_affect_only_themselves() {
    let dir = TempDir::new().unwrap();
    write(dir.path(), "a/SKILL.md", b"---\nname: \xff\n---\n");
    write(dir.path(), "b.md", "x".repeat(MAX_BYTES + 1));
    write(dir.path(), "c.md", "---\nname: [\n  x\n---\n");
    write(dir.path(), "d.md", head("d"));
    symlink(dir.path(), dir.path().join("loop")).unwrap();
    symlink("nowhere", dir.path().join("gone.md")).unwrap();
    let found = load(&[user_path(dir.path())], &[]);
    assert_eq!(names(&found), ["d"]);
    let messages = messages(&found);
    assert_eq!(messages.len(), 3, "{messages:?}");
    assert_eq!(messages[..2], ["skill ignored: not UTF-8 text", "skill ignored: larger than 128 KiB"]);
    assert!(messages[2].starts_with("skill ignored: the front matter can't be parsed: "), "{messages:?}");
}

#[test]
fn load_broken_file_keeps_its_version_and_deleted_one_is_gone() {
    let dir = TempDir::new().unwrap();
    let broken = write(dir.path(), "a/SKILL.md", head("a"));
    let deleted = write(dir.path(), "b/SKILL.md", head("b"));
    let first_load = load(&[user_path(dir.path())], &[]);
    fs::write(&broken, "---\nname: [\n---\n").unwrap();
    fs::remove_file(deleted).unwrap();
    let found = load(&[user_path(dir.path())], &first_load.skills);
    assert_eq!(found.skills, first_load.skills[..1]);
    assert!(messages(&found)[0].ends_with("; its previous version stays in use"), "{:?}", messages(&found));
    let first = found.problems[0].clone();
    assert_eq!(load(&[user_path(dir.path())], &first_load.skills).problems[0], first);
    fs::write(&broken, "---\nname: [\n---\nmore").unwrap();
    let repeated = load(&[user_path(dir.path())], &first_load.skills).problems.remove(0);
    assert!(
        repeated != first && repeated.message == first.message,
        "another state of the file is another problem"
    );
}
