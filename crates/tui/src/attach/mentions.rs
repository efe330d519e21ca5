//! `@` mentions in a message: files to attach, among them images and PDF files, and mentioned paths that
//! don't exist.

use std::path::{Path, PathBuf};

use tiller_core::message::Image;
use tiller_engine::FileToAttach;

use crate::attach::{at_home, file, has_image_extension, has_pdf_extension, pdf_file};
use crate::text::one_line;

/// Punctuation that may follow a name and isn't part of it.
const TRAILING: [char; 10] = ['.', ',', ';', ':', '!', '?', ')', ']', '}', '\''];

/// Maximum number of files attached to one message; pasted text may mention many.
const MAX_FILES: usize = 20;

/// Maximum length of a file extension, in characters, for a word without a slash to count as a file name.
const MAX_EXTENSION: usize = 10;

/// Returns the words after an `@`, with trailing punctuation: `@shot.png` or `@"my shot.png"`.
fn mentioned_words(text: &str) -> impl Iterator<Item = &str> {
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

/// Returns the image paths that a text mentions, each once.
pub(crate) fn mentioned_images(text: &str, home: Option<&Path>) -> Vec<PathBuf> {
    mentioned_paths(text, home, has_image_extension)
}

fn mentioned_paths(text: &str, home: Option<&Path>, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let names =
        mentioned_words(text).map(|word| word.trim_end_matches(TRAILING)).filter(|name| is_wanted(name));
    for path in names.map(|name| at_home(name, home)) {
        if !found.contains(&path) {
            found.push(path);
        }
    }
    found
}

/// The images and files that a text mentions.
#[derive(Debug, Default)]
pub(crate) struct Mentions {
    /// The images and PDF files.
    pub(crate) images: Vec<Image>,
    /// The other files and directories, each once, in the order of the text.
    pub(crate) files: Vec<FileToAttach>,
    /// Messages about missing paths, unusable images and unusable PDF files.
    pub(crate) problems: Vec<String>,
}

/// Reads the images and PDF files that a text mentions, and finds the other files and directories. Relative
/// paths start at `cwd`.
pub(crate) fn resolve_mentions(text: &str, cwd: &Path, home: Option<&Path>) -> Mentions {
    let (mut images, mut problems) = (Vec::new(), Vec::new());
    let pictures = mentioned_images(text, home).into_iter().map(|path| cwd.join(path));
    let pictures = pictures.filter(|path| path.is_file()).map(|path| Ok(file(&path)?.image));
    let pdfs = mentioned_paths(text, home, has_pdf_extension).into_iter().map(|path| cwd.join(path));
    let pdfs = pdfs.filter(|path| path.is_file()).map(|path| pdf_file(&path));
    for read in pictures.chain(pdfs) {
        match read {
            Ok(image) => images.push(image),
            Err(why) => problems.push(why),
        }
    }
    problems.extend(missing_message(&missing(text, cwd, home)));
    let mut files = files_in(text, cwd, home);
    if files.len() > MAX_FILES {
        problems.push(format!("attached only the first {MAX_FILES} of {} files", files.len()));
        files.truncate(MAX_FILES);
    }
    Mentions { images, files, problems }
}

/// Returns the existing files and directories that a text mentions, except images and PDF files.
fn files_in(text: &str, cwd: &Path, home: Option<&Path>) -> Vec<FileToAttach> {
    let mut files: Vec<FileToAttach> = Vec::new();
    for word in mentioned_words(text).filter(|word| !word.is_empty()) {
        let name = word.trim_end_matches(TRAILING);
        let named = [word, name, without_line(name)].into_iter().filter(|name| !name.is_empty());
        let mut paths = named.map(|name| (name, cwd.join(at_home(name, home))));
        let Some((name, path)) = paths.find(|(_, path)| path.is_file() || path.is_dir()) else { continue };
        let is_known = files.iter().any(|file| file.path == path);
        let is_read = (has_image_extension(name) || has_pdf_extension(name)) && path.is_file();
        if !is_known && !is_read {
            files.push(FileToAttach { path, name: name.to_owned() });
        }
    }
    files
}

/// Returns the mentions that look like paths but don't exist, each once.
fn missing<'a>(text: &'a str, cwd: &Path, home: Option<&Path>) -> Vec<&'a str> {
    let mut missing = Vec::new();
    let is_there = |name: &str| cwd.join(at_home(name, home)).exists();
    for word in mentioned_words(text) {
        let name = word.trim_end_matches(TRAILING);
        let is_missing = is_like_path(name) && ![word, name, without_line(name)].into_iter().any(is_there);
        if is_missing && !missing.contains(&name) {
            missing.push(name);
        }
    }
    missing
}

/// Returns true if a name looks like a file: it has a slash or an extension. E-mail addresses, user names and
/// calls in pasted code don't.
fn is_like_path(name: &str) -> bool {
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
    let is_ending = |ending: &str| {
        (1..=MAX_EXTENSION).contains(&ending.len()) && ending.chars().all(|c| c.is_ascii_alphanumeric())
    };
    // `@server:scheme://path` is a server's resource.
    let is_resource = name.contains("://");
    !is_resource
        && (name.contains('/') || ending.is_some_and(is_ending))
        && !name.contains(['(', '<', '*', '@', '='])
}

/// Removes a line and column suffix from a path: `lexer.rs:12:5`.
fn without_line(name: &str) -> &str {
    let is_number = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '-');
    let cut = |name| match str::rsplit_once(name, ':') {
        Some((path, line)) if is_number(line) => path,
        _ => name,
    };
    cut(cut(name))
}

/// Returns the message about missing paths; the text itself was sent.
fn missing_message(missing: &[&str]) -> Option<String> {
    let names: Vec<String> = missing.iter().map(|name| one_line(name)).collect();
    let (last, others) = names.split_last()?;
    let all = if others.is_empty() { last.clone() } else { format!("{} or {last}", others.join(", ")) };
    Some(format!("no such file: {all}; sent as text"))
}

#[cfg(test)]
mod tests {
    use super::super::from_bytes;
    use super::super::tests::png;
    use super::*;

    #[test]
    fn mentioned_images_follow_an_at_sign() {
        let named = |text: &str| {
            let paths = mentioned_images(text, Some(Path::new("/home/ada")));
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
    fn resolve_mentions_attaches_images_and_reports_bad_ones() {
        let dir = tempfile::tempdir().unwrap();
        let image = from_bytes(&png(3, 2), "good.png").unwrap().image;
        std::fs::write(dir.path().join("good.png"), png(3, 2)).unwrap();
        std::fs::write(dir.path().join("bad.png"), "no").unwrap();
        let Mentions { images, problems, .. } =
            resolve_mentions("@missing.png @bad.png @good.png", dir.path(), None);
        assert_eq!(images, [image]);
        let bad = file(&dir.path().join("bad.png")).unwrap_err();
        assert_eq!(problems, [bad, "no such file: missing.png; sent as text".into()]);
    }

    #[test]
    fn resolve_mentions_finds_each_file_once() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("src")).unwrap();
        for name in ["src/a b.rs", "lexer.rs", "Makefile", "a.png"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let text = "see @lexer.rs:12, (@lexer.rs) @src/ @\"src/a b.rs\" @Makefile. @a.png @someone ada@lexer.rs @. @";
        let files = resolve_mentions(text, dir.path(), None).files;
        let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["lexer.rs", "src/", "src/a b.rs", "Makefile", "."]);
    }

    #[test]
    fn resolve_mentions_reports_only_missing_paths() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("src/(app)")).unwrap();
        std::fs::write(dir.path().join("src/my lexer.rs"), "").unwrap();
        std::fs::write(dir.path().join("lexer.rs"), "").unwrap();
        let problems = |text: &str| resolve_mentions(text, dir.path(), Some(dir.path())).problems;
        for present in [
            "@lexer.rs, (@./lexer.rs) @src @src/ @src/(app) @\"src/my lexer.rs\" @~/lexer.rs",
            "@lexer.rs:12 and @lexer.rs:3-5: and @lexer.rs:12:5.",
            "ask @someone or @some-one. or ada@example.org, see ... @ and @. too",
            "@docs:file:///guide.md, a resource of a server",
            "@pytest.mark.skipif(True) @app.get(\"/x\") @src/*.rs @v1.2=x @user@host.org",
        ] {
            assert_eq!(problems(present), [""; 0], "{present}");
        }
        assert_eq!(problems("see @lexer.tom"), ["no such file: lexer.tom; sent as text"]);
        assert_eq!(problems("(@src/x) @src/x"), ["no such file: src/x; sent as text"]);
        assert_eq!(
            problems("@~/a @\"/no where/a\nb\" @lexer.tom"),
            ["no such file: ~/a, /no where/a ⏎ b or lexer.tom; sent as text"]
        );
    }

    #[test]
    fn resolve_mentions_reads_pdf_files() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("paper.PDF"), b"%PDF-1.7 text").unwrap();
        std::fs::write(dir.path().join("fake.pdf"), b"text").unwrap();
        let mentions = resolve_mentions("sum up @paper.PDF, not @fake.pdf", dir.path(), None);
        assert_eq!(mentions.images.len(), 1);
        assert_eq!(mentions.images[0].mime_type, "application/pdf");
        assert!(mentions.problems[0].ends_with("fake.pdf is not a PDF file"), "{:?}", mentions.problems);
        assert_eq!((mentions.problems.len(), mentions.files.len()), (1, 0));
    }
}
