//! Attachments of a message: `@FILE`, `@DIRECTORY`, and a long message that is sent as a file.
//!
//! Each attachment becomes a text block after the message, truncated to the limits of `read_file`, with a
//! notice that explains how to read the rest. The session shows the message as typed, with one label per
//! block.

use serde::{Deserialize, Serialize};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tiller_core::media::{MEDIA_PREFIX, detect_media_type, max_media_bytes};
use tiller_core::message::Image;
use tiller_core::unit::thousands;
use tiller_files as files;
use tiller_files::walk::{WalkEntryKind, WalkOptions, walk};
use tiller_tools::tool::{OutputLimits, TruncationExtent, store_text};

/// Size limit of an attached file, in bytes. It exceeds every model's window.
pub const MAX_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// Maximum number of directory entries in a listing; the same limit as in `list_files`.
const MAX_ENTRIES: usize = 1_000;

/// Length of the prefix in which a NUL byte marks a file as binary; Git uses the same length.
const BINARY_PREFIX: usize = 8_000;

/// Limits of the beginning of a long message that is sent along with the name of its file.
const PREVIEW_LIMITS: OutputLimits = OutputLimits { max_lines: 20, max_chars: 2_000 };

/// A file or directory to attach.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileToAttach {
    /// Path of the file or directory.
    pub path: PathBuf,
    /// The name as typed.
    pub name: String,
}

/// Reads a file, a pipe or a directory as the text block of an attachment. The user has named it, so the
/// rules for tools don't apply.
///
/// # Errors
/// If it can't be read, is binary, or is larger than [`MAX_FILE_BYTES`].
pub fn read_attachment(file: &FileToAttach, limits: OutputLimits) -> io::Result<String> {
    let metadata = file.path.metadata()?;
    if metadata.is_dir() {
        return list_dir(file, limits);
    }
    let text = files::read_stream(&file.path, MAX_FILE_BYTES)?;
    if text.bytes().take(BINARY_PREFIX).any(|byte| byte == 0) {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the file is binary"));
    }
    // The content of a pipe can't be read again.
    let limits = if metadata.is_file() {
        limits
    } else {
        OutputLimits { max_lines: usize::MAX, max_chars: usize::MAX }
    };
    Ok(file_block(&file.name, &text, limits))
}

/// Reads an image or a PDF file, recognized by its first bytes. Returns `None` for other files, directories
/// and pipes, which are attached as text.
///
/// # Errors
/// If the file can't be read, or is larger than [`max_media_bytes`].
pub fn read_media(path: &Path) -> io::Result<Option<Image>> {
    if !path.metadata()?.is_file() {
        return Ok(None);
    }
    let mut file = files::open(path)?;
    let mut bytes = Vec::new();
    file.by_ref().take(MEDIA_PREFIX as u64).read_to_end(&mut bytes)?;
    if let Some(mime_type) = detect_media_type(&bytes) {
        file.take(max_media_bytes(mime_type) as u64).read_to_end(&mut bytes)?;
    }
    encode_media(&bytes)
}

/// Encodes the bytes of an image or a PDF file for a message. Returns `None` for any other content.
///
/// # Errors
/// If there are more than [`max_media_bytes`].
pub fn encode_media(bytes: &[u8]) -> io::Result<Option<Image>> {
    let Some(mime_type) = detect_media_type(bytes) else {
        return Ok(None);
    };
    let max_bytes = max_media_bytes(mime_type);
    if bytes.len() > max_bytes {
        let error = format!("the {mime_type} file is larger than {} bytes", thousands(max_bytes));
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, error));
    }
    Ok(Some(Image { data: STANDARD.encode(bytes), mime_type: mime_type.to_owned() }))
}

/// Writes a long message to a file in `scratch`, a private directory, and returns the block with the file's
/// name and the beginning of the text.
///
/// # Errors
/// If the file can't be written.
pub(super) fn attach_text(text: &str, scratch: &Path) -> io::Result<String> {
    let path = store_text(scratch, text)?;
    let block = file_block(&path.display().to_string(), text, PREVIEW_LIMITS);
    Ok(format!(
        "The message is long ({} bytes), so all of it is in this file; read it in parts:\n\n{block}",
        thousands(text.len())
    ))
}

fn file_block(name: &str, text: &str, limits: OutputLimits) -> String {
    let lines = text.lines().count();
    let head = limits.head(text);
    let mut body = head.text.trim_end_matches('\n').to_owned();
    let notice = match head.extent {
        TruncationExtent::Whole if lines == 0 => Some("the file is empty".to_owned()),
        TruncationExtent::Whole => None,
        TruncationExtent::Lines => Some(format!(
            "lines 1 to {} of {lines} are shown; continue with read_file, offset {}",
            head.lines,
            head.lines + 1
        )),
        TruncationExtent::PartOfLine => Some(format!(
            "only the first {} characters of line 1 of {lines} are shown; use bash (cut -c) for its rest",
            head.text.chars().count()
        )),
    };
    add_notice(&mut body, notice);
    format!("<file path=\"{}\" lines=\"{lines}\">\n{body}\n</file>", escape(name))
}

fn list_dir(file: &FileToAttach, limits: OutputLimits) -> io::Result<String> {
    let dir = files::open_dir(&file.path)?;
    let options = WalkOptions { max_depth: Some(1), ..WalkOptions::default() };
    let names: Vec<String> = walk(dir, &file.path.canonicalize()?, options)
        .map(|entry| {
            let mark = if entry.kind == WalkEntryKind::Directory { "/" } else { "" };
            format!("{}{mark}\n", entry.relative_path.display())
        })
        .collect();
    let listed = names[..names.len().min(MAX_ENTRIES)].concat();
    let head = limits.head(&listed);
    let mut body = head.text.trim_end_matches('\n').to_owned();
    let is_cut = head.lines < names.len();
    add_notice(
        &mut body,
        is_cut.then(|| format!("only the first {} entries are shown; list_files lists more", head.lines)),
    );
    Ok(format!("<folder path=\"{}\" entries=\"{}\">\n{body}\n</folder>", escape(&file.name), names.len()))
}

fn add_notice(body: &mut String, notice: Option<String>) {
    if let Some(notice) = notice {
        if !body.is_empty() {
            body.push('\n');
        }
        body.push_str(&format!("[{notice}]"));
    }
}

/// Escapes a name for a quoted attribute.
fn escape(name: &str) -> String {
    name.replace('&', "&amp;").replace('"', "&quot;").replace('\n', "&#10;")
}

fn unescape(name: &str) -> String {
    name.replace("&#10;", "⏎").replace("&quot;", "\"").replace("&amp;", "&")
}

/// Returns the labels of a message's attachments, such as `@src/lexer.rs · 212 lines`.
#[must_use]
pub fn attachment_labels(text: &str) -> Vec<String> {
    text.lines().filter_map(label).collect()
}

fn label(line: &str) -> Option<String> {
    let block = |tag: &str, unit: &str| {
        let rest = line.strip_prefix(tag)?.strip_prefix(" path=\"")?.strip_suffix("\">")?;
        let (name, count) = rest.split_once(&format!("\" {unit}=\""))?;
        Some((unescape(name), count.parse::<usize>().ok()?))
    };
    let (name, count, singular, plural) = match (block("<file", "lines"), block("<folder", "entries")) {
        (Some((name, count)), _) => (name, count, "line", "lines"),
        (None, Some((name, count))) => (name, count, "entry", "entries"),
        (None, None) => return None,
    };
    let unit = if count == 1 { singular } else { plural };
    Some(format!("@{name} · {} {unit}", thousands(count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: OutputLimits = OutputLimits { max_lines: 3, max_chars: 40 };

    fn read(dir: &Path, name: &str) -> Result<String, String> {
        let file = FileToAttach { path: dir.join(name), name: name.to_owned() };
        read_attachment(&file, LIMITS).map_err(|error| error.to_string())
    }

    #[test]
    fn read_attachment_file_is_truncated_to_the_limits() {
        let dir = tempfile::tempdir().unwrap();
        for (text, block) in [
            ("a\nb\n", "<file path=\"x\" lines=\"2\">\na\nb\n</file>"),
            ("", "<file path=\"x\" lines=\"0\">\n[the file is empty]\n</file>"),
            (
                "1\n2\n3\n4\n5\n",
                "<file path=\"x\" lines=\"5\">\n1\n2\n3\n[lines 1 to 3 of 5 are shown; continue with read_file, offset 4]\n</file>",
            ),
        ] {
            std::fs::write(dir.path().join("x"), text).unwrap();
            assert_eq!(read(dir.path(), "x"), Ok(block.to_owned()));
        }
        std::fs::write(dir.path().join("x"), "a".repeat(50)).unwrap();
        let long = read(dir.path(), "x").unwrap();
        assert!(long.contains("only the first 40 characters of line 1 of 1 are shown"), "{long}");
        std::fs::write(dir.path().join("x"), "a\0b").unwrap();
        assert_eq!(read(dir.path(), "x"), Err("the file is binary".to_owned()));
    }

    #[test]
    fn read_attachment_dir_leaves_out_git_ignored_files() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("d/sub")).unwrap();
        std::fs::create_dir_all(dir.path().join(".git")).unwrap();
        std::fs::write(dir.path().join(".gitignore"), "*.o\n").unwrap();
        for name in ["a.c", "a.o", "sub/b.c"] {
            std::fs::write(dir.path().join("d").join(name), "").unwrap();
        }
        let block = read(dir.path(), "d").unwrap();
        assert_eq!(block, "<folder path=\"d\" entries=\"2\">\na.c\nsub/\n</folder>");
        assert_eq!(attachment_labels(&block), ["@d · 2 entries"]);
    }

    #[test]
    fn attachment_labels_come_from_attachment_blocks_only() {
        let text = "see <file path=\"no\" lines=\"1\">\n<file path=\"a &quot;b&quot;.rs\" lines=\"1212\">\nx\n</file>\n<file path=\"c\">";
        assert_eq!(attachment_labels(text), ["@a \"b\".rs · 1,212 lines"]);
    }

    #[test]
    fn attach_text_writes_a_private_file_and_shows_its_beginning() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let text: String = (1..=500).map(|line| format!("line {line}\n")).collect();
        let block = attach_text(&text, &dir.path().join("outputs")).unwrap();
        let path = std::fs::read_dir(dir.path().join("outputs")).unwrap().next().unwrap().unwrap().path();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert!(
            block.contains(&format!("<file path=\"{}\" lines=\"500\">\nline 1\n", path.display())),
            "{block}"
        );
        assert!(
            block.contains("line 20\n[lines 1 to 20 of 500 are shown") && !block.contains("line 21"),
            "{block}"
        );
    }
}
