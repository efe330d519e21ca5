//! Images and PDF files as tool output.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tiller_core::message::{PDF_TYPE, UserBlock};

use super::ToolOutput;

/// Maximum size of an image in bytes. Anthropic accepts 5 MiB of base64 per image (API docs, Vision, November 2026),
/// others more.
const MAX_BYTES: usize = 5 * 1024 * 1024 / 4 * 3;

/// Maximum size of a PDF file in bytes: in base64, and with a conversation, below the 20 MB of a request to Gemini, the
/// lowest limit (ai.google.dev/gemini-api/docs/document-processing; Anthropic accepts 32 MB, OpenAI 50 MB).
const MAX_PDF_BYTES: usize = 10 * 1024 * 1024;

/// Detects the type of an image from its first bytes, because the file name may be wrong.
pub(super) fn mime_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        [b'%', b'P', b'D', b'F', b'-', ..] => Some(PDF_TYPE),
        _ => None,
    }
}

/// Returns an image or a PDF file as a tool's output.
pub(super) fn output(display_path: &str, mime_type: &str, bytes: &[u8]) -> ToolOutput {
    let (kind, max_bytes) = match mime_type {
        PDF_TYPE => ("a PDF file", MAX_PDF_BYTES),
        _ => ("an image", MAX_BYTES),
    };
    if bytes.len() > max_bytes {
        let text =
            format!("{display_path} is {kind} of {} bytes; at most {max_bytes} can be shown", bytes.len());
        return ToolOutput::error(text);
    }
    ToolOutput {
        content: vec![
            UserBlock::Text { text: format!("{display_path} ({mime_type}, {} bytes)", bytes.len()) },
            UserBlock::Image { data: STANDARD.encode(bytes), mime_type: mime_type.into() },
        ],
        details: Some(json!({ "mimeType": mime_type, "bytes": bytes.len() })),
        ..ToolOutput::default()
    }
}
