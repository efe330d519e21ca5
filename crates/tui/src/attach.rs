//! Images and PDF files attached to a message: from the clipboard, from a pasted or dropped path, or from a
//! mention.
//!
//! Everything here may block and must not run on the event loop's thread.

pub(crate) mod clipboard;
pub(crate) mod mentions;

use std::io;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use tiller_core::message::{Image, PDF_TYPE};
use tiller_engine::{encode_media, read_media};

/// Maximum length of a paste that can be a file's path.
const MAX_PATH: usize = 4_096;

/// File extensions of image formats that models accept.
const EXTENSIONS: [&str; 5] = ["png", "jpg", "jpeg", "gif", "webp"];

/// An image that can be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct AttachedImage {
    pub(super) image: Image,
    /// Width and height in pixels.
    pub(super) size: (usize, usize),
}

/// Reads an image file; `Err` is a message for the user.
pub(super) fn file(path: &Path) -> Result<AttachedImage, String> {
    attached_image(read_media(path), &path.display().to_string())
}

/// Reads a PDF file; `Err` is a message for the user.
fn pdf_file(path: &Path) -> Result<Image, String> {
    let name = path.display();
    let media = read_media(path).map_err(|error| format!("{name}: {error}"))?;
    media.filter(|media| media.mime_type == PDF_TYPE).ok_or_else(|| format!("{name} is not a PDF file"))
}

fn from_bytes(bytes: &[u8], name: &str) -> Result<AttachedImage, String> {
    attached_image(encode_media(bytes), name)
}

fn attached_image(media: io::Result<Option<Image>>, name: &str) -> Result<AttachedImage, String> {
    let image =
        media.map_err(|error| format!("{name}: {error}"))?.filter(|media| media.mime_type != PDF_TYPE);
    let image =
        image.ok_or_else(|| format!("{name} is not an image that models accept (png, jpeg, gif, webp)"))?;
    let bytes = STANDARD.decode(&image.data).map_err(|error| format!("{name}: {error}"))?;
    let size = imagesize::blob_size(&bytes).map_err(|error| format!("{name}: {error}"))?;
    Ok(AttachedImage { image, size: (size.width, size.height) })
}

/// Returns the path of an image file if the paste contains nothing else: plain, quoted, with backslash
/// escapes as terminals drop file names, or as a `file://` URL.
pub(super) fn image_path(paste: &str, home: Option<&Path>) -> Option<PathBuf> {
    let text = paste.trim();
    if text.is_empty() || text.len() > MAX_PATH || text.contains(['\n', '\r']) {
        return None;
    }
    let quoted = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote);
    let path = match (quoted('\'').or_else(|| quoted('"')), text.strip_prefix("file://")) {
        (Some(inside), _) => inside.to_owned(),
        (None, Some(address)) => percent_decode_str(address).decode_utf8_lossy().into_owned(),
        (None, None) => unescape(text),
    };
    let is_rooted = path.starts_with(['/', '.']) || path.starts_with("~/") || path.contains('/');
    (has_image_extension(&path) && is_rooted).then(|| at_home(&path, home))
}

fn has_image_extension(name: &str) -> bool {
    extension(name).is_some_and(|ending| EXTENSIONS.contains(&ending.as_str()))
}

/// Returns true if a name has the extension of a PDF file.
fn has_pdf_extension(name: &str) -> bool {
    extension(name).as_deref() == Some("pdf")
}

fn extension(name: &str) -> Option<String> {
    Path::new(name).extension().and_then(|ending| ending.to_str()).map(str::to_lowercase)
}

fn at_home(path: &str, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
    }
}

/// Removes the backslashes that escape characters of a path.
fn unescape(text: &str) -> String {
    let mut chars = text.chars();
    std::iter::from_fn(|| chars.next().and_then(|c| if c == '\\' { chars.next() } else { Some(c) })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the beginning of a PNG file with its format and size.
    pub(super) fn png(width: u32, height: u32) -> Vec<u8> {
        let (width, height) = (width.to_be_bytes(), height.to_be_bytes());
        [b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR", &width[..], &height, &[8, 6, 0, 0, 0], &[0; 4]].concat()
    }

    #[test]
    fn file_image_is_recognized_by_its_bytes() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("shot.png");
        std::fs::write(&path, b"not a picture").unwrap();
        let error = file(&path).unwrap_err();
        assert!(
            error.ends_with("shot.png is not an image that models accept (png, jpeg, gif, webp)"),
            "{error}"
        );
        let data = png(3, 2);
        std::fs::write(&path, &data).unwrap();
        let picture = file(&path).unwrap();
        assert_eq!((picture.size, picture.image.mime_type.as_str()), ((3, 2), "image/png"));
        std::fs::write(&path, [data, vec![0; 3_900_000]].concat()).unwrap();
        assert!(file(&path).unwrap_err().ends_with("the image/png file is larger than 3,900,000 bytes"));
    }

    #[test]
    fn file_device_is_not_read_despite_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("endless.png");
        std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
        assert!(
            file(&path)
                .unwrap_err()
                .ends_with("endless.png is not an image that models accept (png, jpeg, gif, webp)")
        );
    }

    #[test]
    fn image_path_accepts_all_forms_of_dropped_paths() {
        let home = Path::new("/home/ada");
        let path = |paste: &str| image_path(paste, Some(home)).map(|path| path.display().to_string());
        assert_eq!(path("/tmp/a.png"), Some("/tmp/a.png".into()));
        assert_eq!(path("'/tmp/my shot.PNG' "), Some("/tmp/my shot.PNG".into()));
        assert_eq!(path("/tmp/my\\ shot\\\\.jpg"), Some("/tmp/my shot\\.jpg".into()));
        assert_eq!(path("file:///tmp/my%20shot%C3%A9.webp"), Some("/tmp/my shoté.webp".into()));
        assert_eq!(path("~/a.gif"), Some("/home/ada/a.gif".into()));
        assert_eq!(path("./a.jpeg"), Some("./a.jpeg".into()));
        for no in ["look at a.png", "/tmp/a.txt", "/tmp/a.png\n/tmp/b.png", "", "a.png"] {
            assert_eq!(path(no), None, "{no}");
        }
    }
}
