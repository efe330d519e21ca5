//! Images as tool output.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tiller_core::message::UserBlock;

use super::ToolOutput;

/// Maximum size of an image in bytes. Anthropic accepts 5 MiB of base64 per image (API docs, Vision, November 2026),
/// others more.
const MAX_BYTES: usize = 5 * 1024 * 1024 / 4 * 3;

/// Detects the type of an image from its first bytes, because the file name may be wrong.
pub(super) fn mime_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

/// Returns an image as a tool's output.
pub(super) fn output(display_path: &str, mime_type: &str, bytes: &[u8]) -> ToolOutput {
    if bytes.len() > MAX_BYTES {
        let text =
            format!("{display_path} is an image of {} bytes; at most {MAX_BYTES} can be shown", bytes.len());
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
