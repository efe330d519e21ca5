//! Images and PDF files as tool output.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tiller_core::media::max_media_bytes;
use tiller_core::message::{PDF_TYPE, UserBlock};

use super::ToolOutput;

/// Returns an image or a PDF file as a tool's output.
pub(super) fn output(display_path: &str, mime_type: &str, bytes: &[u8]) -> ToolOutput {
    let kind = if mime_type == PDF_TYPE { "a PDF file" } else { "an image" };
    let max_bytes = max_media_bytes(mime_type);
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
