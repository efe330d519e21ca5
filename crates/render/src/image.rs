//! Images: a line of text, followed by rows for the image if the front end can draw it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use base64::Engine;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

use super::image_row::{ImageRow, RenderedImage};
use super::{ControlChars, Line, Role, sanitize, truncate_to};

/// Length of the base64 that is searched for an image's size: enough for all but a few photographs.
const MAX_HEADER: usize = 256 * 1024;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Limits for images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageLimits {
    /// Width and height of a cell in pixels.
    pub cell: (u16, u16),
    /// Maximum rows of an image.
    pub rows: u16,
    /// Maximum length of an image's base64; larger ones are shown as text only.
    pub max_base64: usize,
}

/// Renders an image as a line of text. If `room` is given and the image is a PNG within the limits, rows for
/// drawing it follow. `data` is base64.
#[must_use]
pub fn render_image(mime_type: &str, data: &str, width: usize, room: Option<ImageLimits>) -> Vec<Line> {
    let size = size(data);
    let mut lines = vec![Line::new(truncate_to(&description(mime_type, data, size), width), Role::Muted)];
    let cells = size.zip(room).and_then(|(size, room)| cells(size, width, room));
    if let (Some(pixels), Some(cells)) = (size, cells)
        && mime_type == "image/png"
        && room.is_some_and(|room| data.len() <= room.max_base64)
        && data.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'='))
    {
        let picture = Arc::new(RenderedImage { data: data.to_owned(), key: key(data), pixels, cells });
        let row =
            |row| Line { image: Some(ImageRow { image: Arc::clone(&picture), row }), ..Line::default() };
        lines.extend((0..cells.1).map(row));
    }
    lines
}

/// Describes an image: `▣ image/png 640×480, 12 kB`.
fn description(mime_type: &str, data: &str, size: Option<(u32, u32)>) -> String {
    let kind = sanitize(mime_type.trim(), ControlChars::Visible).replace('\n', " ");
    let size = size.map(|(width, height)| format!(" {width}×{height}")).unwrap_or_default();
    format!("▣ {kind}{size}, {}", bytes(data.trim_end_matches('=').len() * 3 / 4))
}

fn bytes(count: usize) -> String {
    match count {
        0..1_000 => format!("{count} bytes"),
        1_000..1_000_000 => format!("{} kB", (count + 500) / 1_000),
        _ => format!("{}.{} MB", count / 1_000_000, count % 1_000_000 / 100_000),
    }
}

fn size(data: &str) -> Option<(u32, u32)> {
    let head = &data.as_bytes()[..data.len().min(MAX_HEADER) / 4 * 4];
    let size = imagesize::blob_size(&BASE64.decode(head).ok()?).ok()?;
    Some((u32::try_from(size.width).ok()?, u32::try_from(size.height).ok()?))
}

fn key(data: &str) -> u32 {
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    let [a, b, c, d, ..] = hasher.finish().to_le_bytes();
    u32::from_le_bytes([a, b, c, d]).max(1)
}

/// Returns the cells of an image, which keep its aspect ratio and exceed neither its own size nor the
/// available space.
fn cells((width, height): (u32, u32), columns: usize, room: ImageLimits) -> Option<(u16, u16)> {
    let (cell_width, cell_height) = (u64::from(room.cell.0.max(1)), u64::from(room.cell.1.max(1)));
    let (width, height) = (u64::from(width), u64::from(height));
    if width == 0 || height == 0 || room.rows == 0 || columns == 0 {
        return None;
    }
    let (max_width, max_height) = (columns as u64 * cell_width, u64::from(room.rows) * cell_height);
    // Scaled down to fit the more limited side; never enlarged.
    let (numerator, denominator) = if width * max_height >= height * max_width {
        (max_width.min(width), width)
    } else {
        (max_height.min(height), height)
    };
    let fit =
        |pixels: u64, cell: u64| u16::try_from((pixels * numerator / denominator).div_ceil(cell).max(1)).ok();
    let rows = fit(height, cell_height)?.min(room.rows);
    Some((fit(width, cell_width)?.min(u16::try_from(columns).unwrap_or(u16::MAX)), rows))
}

#[cfg(test)]
mod tests {
    use super::super::texts;
    use super::*;

    const ROOM: ImageLimits = ImageLimits { cell: (10, 20), rows: 8, max_base64: 1_000 };

    /// Returns the header of a PNG with this size.
    fn png(width: u32, height: u32) -> String {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend([8, 6, 0, 0, 0, 0, 0, 0, 0]);
        BASE64.encode(bytes)
    }

    #[test]
    fn render_image_has_a_line_of_text() {
        assert_eq!(
            texts(&render_image("image/png", &png(640, 480), 80, None)),
            ["▣ image/png 640×480, 33 bytes"]
        );
        assert_eq!(texts(&render_image("image/\u{1b}x", "!!", 80, Some(ROOM))), ["▣ image/␛x, 1 bytes"]);
        assert_eq!(texts(&render_image("image/png", "", 12, None)), ["▣ image/png…"]);
        assert_eq!([bytes(999), bytes(12_345), bytes(3_456_789)], ["999 bytes", "12 kB", "3.4 MB"]);
    }

    #[test]
    fn render_image_png_has_rows_by_aspect_ratio() {
        let rows = |width, height, columns| {
            let lines = render_image("image/png", &png(width, height), columns, Some(ROOM));
            lines.get(1).map(|line| line.image.as_ref().unwrap().image.cells).inspect(|cells| {
                assert_eq!(lines.len(), usize::from(cells.1) + 1);
            })
        };
        assert_eq!(rows(100, 40, 80), Some((10, 2)), "no larger than it is");
        assert_eq!(rows(1_600, 1_600, 80), Some((16, 8)), "no higher than there is room");
        assert_eq!(rows(4_000, 200, 40), Some((40, 1)), "no wider");
        assert_eq!(rows(0, 10, 40), None);
        assert_eq!(
            render_image("image/jpeg", &png(100, 40), 80, Some(ROOM)).len(),
            1,
            "other types have only the text"
        );
        assert_eq!(
            render_image("image/png", &png(100, 40), 80, Some(ImageLimits { max_base64: 10, ..ROOM })).len(),
            1,
            "too large"
        );
    }
}
