//! Images and PDF files: the types that models accept and the largest files of each.

use crate::message::PDF_TYPE;

/// Maximum size of an image in bytes. Anthropic accepts 5 MiB of base64 per image (API docs, Vision, November
/// 2026), others more.
pub const MAX_IMAGE_BYTES: usize = 3_900_000;

/// Maximum size of a PDF file in bytes. In base64 and with a conversation it fits in a request to Gemini (20
/// MB), the lowest limit (ai.google.dev/gemini-api/docs/document-processing; Anthropic accepts 32 MB, OpenAI
/// 50 MB).
const MAX_PDF_BYTES: usize = 10_000_000;

/// Number of bytes at the beginning of a file that [`detect_media_type`] needs.
pub const MEDIA_PREFIX: usize = 12;

/// Detects the MIME type of an image or a PDF file from its first bytes, because the file's name may be
/// wrong. `None` for everything else.
#[must_use]
pub fn detect_media_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        [b'%', b'P', b'D', b'F', b'-', ..] => Some(PDF_TYPE),
        _ => None,
    }
}

/// Returns the size in bytes of the largest file of a MIME type that is sent to a model.
#[must_use]
pub fn max_media_bytes(mime_type: &str) -> usize {
    if mime_type == PDF_TYPE { MAX_PDF_BYTES } else { MAX_IMAGE_BYTES }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_type_comes_from_the_first_bytes() {
        for (bytes, mime_type) in [
            (b"\x89PNG\r\n\x1a\n\0\0\0\x0d", Some("image/png")),
            (b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01", Some("image/jpeg")),
            (b"GIF89a\x01\0\x01\0\0\0", Some("image/gif")),
            (b"RIFF\x24\0\0\0WEBP", Some("image/webp")),
            (b"RIFF\x24\0\0\0WAVE", None),
            (b"%PDF-1.7\n%\xe2\xe3", Some(PDF_TYPE)),
            (b"plain text \n", None),
        ] {
            let bytes: &[u8; MEDIA_PREFIX] = bytes;
            assert_eq!(detect_media_type(bytes), mime_type, "{bytes:?}");
        }
    }
}
