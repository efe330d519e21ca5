//! What a text names with an `@`: pictures, which go with it, and paths at which there is nothing.

use std::path::{Path, PathBuf};

use tiller_core::message::Image;
use tiller_engine::FileToAttach;

use super::{at_home, file, has_ending};
use crate::tool_call::one_line;

/// Characters that may stand behind a name without belonging to it.
const AFTER_NAME: [char; 10] = ['.', ',', ';', ':', '!', '?', ')', ']', '}', '\''];

/// Most files that go with one message: text that was pasted may name many.
const MOST_FILES: usize = 20;

/// Longest ending by which a word without a slash is taken for a file's name, in characters.
const LONGEST_ENDING: usize = 10;

/// The words that a text has after an `@`, each with what may stand behind a name: `@shot.png` or `@"my shot.png"`.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('@').filter_map(|(at, _)| {
        let begins = text[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || "([{\"'".contains(c));
        let rest = &text[at + 1..];
        let word = match rest.strip_prefix('"') {
            Some(quoted) => quoted.split('"').next(),
            None => rest.split(char::is_whitespace).next(),
        };
        word.filter(|_| begins)
    })
}

/// The pictures that a text names with an `@` before them, each once.
pub(crate) fn named_in(text: &str, home: Option<&Path>) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let names = words(text).map(|word| word.trim_end_matches(AFTER_NAME)).filter(|name| has_ending(name));
    for path in names.map(|name| at_home(name, home)) {
        if !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

/// The pictures and files that a text names.
#[derive(Debug, Default)]
pub(crate) struct Mention {
    /// The pictures, read.
    pub(crate) images: Vec<Image>,
    /// The other files and the folders, each once, in the order of their names in the text.
    pub(crate) files: Vec<FileToAttach>,
    /// Names that lead nowhere, and pictures that can't be sent.
    pub(crate) problems: Vec<String>,
}

/// Reads the pictures that a text names, and finds the files and folders. Paths begin in `cwd`.
pub(crate) fn gathered(text: &str, cwd: &Path, home: Option<&Path>) -> Mention {
    let (mut images, mut problems) = (Vec::new(), Vec::new());
    let there = named_in(text, home).into_iter().map(|path| cwd.join(path)).filter(|path| path.is_file());
    for path in there {
        match file(&path) {
            Ok(picture) => images.push(picture.image),
            Err(why) => problems.push(why),
        }
    }
    problems.extend(told(&missing(text, cwd, home)));
    let mut files = files_in(text, cwd, home);
    if files.len() > MOST_FILES {
        problems.push(format!("only the first {MOST_FILES} of {} files are attached", files.len()));
        files.truncate(MOST_FILES);
    }
    Mention { images, files, problems }
}

/// The files and folders that a text names and that are there, pictures aside.
fn files_in(text: &str, cwd: &Path, home: Option<&Path>) -> Vec<FileToAttach> {
    let mut files: Vec<FileToAttach> = Vec::new();
    for word in words(text).filter(|word| !word.is_empty()) {
        let name = word.trim_end_matches(AFTER_NAME);
        let named = [word, name, without_line(name)].into_iter().filter(|name| !name.is_empty());
        let mut paths = named.map(|name| (name, cwd.join(at_home(name, home))));
        let Some((name, path)) = paths.find(|(_, path)| path.is_file() || path.is_dir()) else { continue };
        let is_known = files.iter().any(|file| file.path == path);
        let is_picture = has_ending(name) && path.is_file();
        if !is_known && !is_picture {
            files.push(FileToAttach { path, name: name.to_owned() });
        }
    }
    files
}

/// The names in a text that look like paths and lead nowhere, each once.
fn missing<'a>(text: &'a str, cwd: &Path, home: Option<&Path>) -> Vec<&'a str> {
    let mut missing = Vec::new();
    let is_there = |name: &str| cwd.join(at_home(name, home)).exists();
    for word in words(text) {
        let name = word.trim_end_matches(AFTER_NAME);
        let is_missing = is_like_path(name) && ![word, name, without_line(name)].into_iter().any(is_there);
        if is_missing && !missing.contains(&name) {
            missing.push(name);
        }
    }
    missing
}

/// Whether a name can be meant for a file: it has a slash or an ending. An address, a person or a call in pasted code is none.
fn is_like_path(name: &str) -> bool {
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
    let is_ending = |ending: &str| {
        (1..=LONGEST_ENDING).contains(&ending.len()) && ending.chars().all(|c| c.is_ascii_alphanumeric())
    };
    (name.contains('/') || ending.is_some_and(is_ending)) && !name.contains(['(', '<', '*', '@', '='])
}

/// A path without the line, or line and column, that it is followed by: `lexer.rs:12:5`.
fn without_line(name: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '-');
    let cut = |name| match str::rsplit_once(name, ':') {
        Some((path, line)) if is_number(line) => path,
        _ => name,
    };
    cut(cut(name))
}

/// Says that names lead nowhere, though they were sent.
fn told(missing: &[&str]) -> Option<String> {
    let names: Vec<String> = missing.iter().map(|name| one_line(name)).collect();
    let (last, others) = names.split_last()?;
    let all = if others.is_empty() { last.clone() } else { format!("{} or {last}", others.join(", ")) };
    Some(format!("there is nothing at {all}; sent as it stands"))
}

#[cfg(test)]
mod tests {
    use super::super::of_bytes;
    use super::super::tests::png;
    use super::*;

    #[test]
    fn pictures_are_named_by_an_at_sign() {
        let named = |text: &str| {
            let paths = named_in(text, Some(Path::new("/home/ada")));
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        assert_eq!(
            named("see @a.png, (@src/B.JPG) and @\"my shot.webp\"."),
            ["a.png", "src/B.JPG", "my shot.webp"]
        );
        assert_eq!(named("@~/a.gif @a.png\n@a.png"), ["/home/ada/a.gif", "a.png"]);
        for none in ["a.png", "ada@a.png", "@a.txt", "@ a.png", "@\"a.png b", "@"] {
            assert_eq!(named(none), [""; 0], "{none}");
        }
    }

    #[test]
    fn a_picture_goes_along_and_one_that_is_none_or_nowhere_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let image = of_bytes(&png(3, 2), "good.png").unwrap().image;
        std::fs::write(folder.path().join("good.png"), png(3, 2)).unwrap();
        std::fs::write(folder.path().join("bad.png"), "no").unwrap();
        let Mention { images, problems, .. } =
            gathered("@missing.png @bad.png @good.png", folder.path(), None);
        assert_eq!(images, [image]);
        let bad = file(&folder.path().join("bad.png")).unwrap_err();
        assert_eq!(problems, [bad, "there is nothing at missing.png; sent as it stands".into()]);
    }

    #[test]
    fn files_that_a_text_names_are_found_once() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("src")).unwrap();
        for name in ["src/a b.rs", "lexer.rs", "Makefile", "a.png"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let text = "see @lexer.rs:12, (@lexer.rs) @src/ @\"src/a b.rs\" @Makefile. @a.png @someone ada@lexer.rs @. @";
        let files = gathered(text, folder.path(), None).files;
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["lexer.rs", "src/", "src/a b.rs", "Makefile", "."]);
    }

    #[test]
    fn paths_that_lead_nowhere_are_told_and_what_only_has_an_at_sign_is_not() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("src/(app)")).unwrap();
        std::fs::write(folder.path().join("src/my lexer.rs"), "").unwrap();
        std::fs::write(folder.path().join("lexer.rs"), "").unwrap();
        let told = |text: &str| gathered(text, folder.path(), Some(folder.path())).problems;
        for there in [
            "@lexer.rs, (@./lexer.rs) @src @src/ @src/(app) @\"src/my lexer.rs\" @~/lexer.rs",
            "@lexer.rs:12 and @lexer.rs:3-5: and @lexer.rs:12:5.",
            "ask @someone or @some-one. or ada@example.org, see ... @ and @. too",
            "@pytest.mark.skipif(True) @app.get(\"/x\") @src/*.rs @v1.2=x @user@host.org",
        ] {
            assert_eq!(told(there), [""; 0], "{there}");
        }
        assert_eq!(told("see @lexer.tom"), ["there is nothing at lexer.tom; sent as it stands"]);
        assert_eq!(told("(@src/x) @src/x"), ["there is nothing at src/x; sent as it stands"]);
        assert_eq!(
            told("@~/a @\"/no where/a\nb\" @lexer.tom"),
            ["there is nothing at ~/a, /no where/a ⏎ b or lexer.tom; sent as it stands"]
        );
    }
}
