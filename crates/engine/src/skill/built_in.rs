//! The built-in skills. They are part of the binary, and written to a directory so that a model can read them
//! like other skills.

use std::io::{self, Write as _};
use std::path::Path;

use tiller_files as files;
use tiller_files::search_path::{ResourceOrigin, ResourceProblem};

use super::definition::LoadedSkills;
use super::parse;
use super::walk::SkillFile;

/// Name and text of each skill.
const TEXTS: [(&str, &str); 4] = [
    ("code-review", include_str!("../../../../skills/code-review/SKILL.md")),
    ("commit", include_str!("../../../../skills/commit/SKILL.md")),
    ("debug", include_str!("../../../../skills/debug/SKILL.md")),
    ("write-tests", include_str!("../../../../skills/write-tests/SKILL.md")),
];

/// Returns the built-in skills after writing missing ones to a directory. They are usable even if writing
/// fails.
#[must_use]
pub fn built_in(dir: &Path) -> LoadedSkills {
    let mut loaded = LoadedSkills::default();
    for (name, text) in TEXTS {
        let path = dir.join(name).join("SKILL.md");
        if let Err(error) = write_if_changed(&path, text) {
            loaded.problems.push(ResourceProblem::new(&path, format!("can't be written: {error}")));
        }
        let file = SkillFile { path, name: name.to_owned() };
        let parsed = parse::parse(text.as_bytes(), &file, ResourceOrigin::BuiltIn);
        loaded.skills.push(parsed.expect("a test reads every built-in skill").skill);
    }
    loaded
}

/// Writes a file unless it already has this content; readers see either the old or the new content.
fn write_if_changed(path: &Path, text: &str) -> io::Result<()> {
    if files::read(path, text.len() as u64).is_ok_and(|existing| existing == text.as_bytes()) {
        return Ok(());
    }
    let dir = path.parent().unwrap_or(Path::new("/"));
    files::make_private_dir(dir)?;
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(text.as_bytes())?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn built_in_skills_are_valid_and_written_to_their_paths() {
        let dir = tempfile::TempDir::new().unwrap();
        let loaded = built_in(dir.path());
        assert_eq!((loaded.problems, loaded.skills.len()), (vec![], TEXTS.len()));
        for (skill, (name, text)) in loaded.skills.iter().zip(TEXTS) {
            let file = SkillFile { path: skill.path.clone(), name: name.to_owned() };
            let parsed = parse::parse(text.as_bytes(), &file, ResourceOrigin::BuiltIn).unwrap();
            assert_eq!((skill.name.as_str(), parsed.remarks), (name, vec![]));
            assert_eq!(fs::read_to_string(&skill.path).unwrap(), text);
        }
    }

    #[test]
    fn built_in_existing_file_is_rewritten_only_if_it_differs() {
        let dir = tempfile::TempDir::new().unwrap();
        let first = built_in(dir.path()).skills.remove(0).path;
        let before = fs::metadata(&first).unwrap().modified().unwrap();
        assert_eq!(built_in(dir.path()).problems, []);
        assert_eq!(fs::metadata(&first).unwrap().modified().unwrap(), before);
        fs::write(&first, "of another version").unwrap();
        assert_eq!(built_in(dir.path()).problems, []);
        assert_eq!(fs::read_to_string(&first).unwrap(), TEXTS[0].1);
        assert_eq!(fs::read_dir(first.parent().unwrap()).unwrap().count(), 1, "nothing is left over");
    }

    #[test]
    fn built_in_unwritable_dir_leaves_skills_usable() {
        let dir = tempfile::TempDir::new().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        let loaded = built_in(&file);
        assert_eq!((loaded.skills.len(), loaded.problems.len()), (TEXTS.len(), TEXTS.len()));
    }
}
