//! Images with kitty's graphics protocol (sw.kovidgoyal.net/kitty/graphics-protocol, November 2026).
//!
//! An image's data is sent once, when it becomes visible, and deleted when it is no longer visible. In
//! between only its placement changes: the position and the visible part. Images are drawn over the cells,
//! which stay blank beneath them. `iterm_images` handles terminals that draw images in the cells.

pub(crate) mod iterm_images;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use tiller_core::unit::UnixMs;
use tiller_render::RenderedImage;

use crate::terminal::capabilities::Images;
use crate::terminal::image_placement::ImagePlacement;
use crate::terminal::kitty_images::iterm_images::ItermImages;

/// Maximum bytes of data per control sequence, the protocol's limit.
const CHUNK: usize = 4_096;

/// The images on the screen, for the terminal's protocol.
#[derive(Debug)]
pub(super) enum ScreenImages {
    /// Over the cells (kitty).
    Over(KittyImages),
    /// In the cells (iTerm2).
    In(ItermImages),
}

impl ScreenImages {
    pub(super) fn new(images: Images) -> Self {
        match images {
            Images::Line | Images::Painted => Self::Over(KittyImages::default()),
            Images::Inline => Self::In(ItermImages::default()),
        }
    }

    /// Returns the output before the cells of a frame with these images.
    pub(super) fn before_cells(&mut self, placements: &[ImagePlacement]) -> String {
        match self {
            Self::Over(_) => String::new(),
            Self::In(pictures) => pictures.before_cells(placements),
        }
    }

    /// Records a written cell.
    pub(super) fn cell_written(&mut self, column: u16, row: u16) {
        if let Self::In(pictures) = self {
            pictures.cell_written(column, row);
        }
    }

    /// Returns the output after the cells of a frame with these images.
    pub(super) fn after_cells(&mut self, placements: Vec<ImagePlacement>, now: UnixMs) -> String {
        match self {
            Self::Over(pictures) => pictures.show(placements),
            Self::In(pictures) => pictures.after_cells(placements, now),
        }
    }

    /// Returns true if a later frame has to write images even if nothing else changes.
    pub(super) fn has_pending(&self) -> bool {
        matches!(self, Self::In(pictures) if pictures.has_pending())
    }

    /// Returns the output that removes all images before the screen is cleared.
    pub(super) fn clear(&mut self) -> &'static str {
        match self {
            Self::Over(pictures) => pictures.clear(),
            Self::In(pictures) => {
                pictures.clear();
                ""
            }
        }
    }
}

/// An image's key and the number of its placement, from 1.
type ImagePosition = (u32, u32);

/// The images placed in the terminal.
#[derive(Debug, Default)]
pub(super) struct KittyImages {
    placed: BTreeMap<ImagePosition, ImagePlacement>,
}

impl KittyImages {
    /// Returns the output that shows exactly these images; empty if they are already shown.
    pub(super) fn show(&mut self, placements: Vec<ImagePlacement>) -> String {
        let mut out = String::new();
        let mut placed = BTreeMap::new();
        for placement in placements {
            let key = placement.image.key;
            let nth = placed.range((key, 0)..=(key, u32::MAX)).count();
            placed.insert((key, u32::try_from(nth).unwrap_or(0) + 1), placement);
        }
        let before = std::mem::replace(&mut self.placed, placed);
        let known: BTreeSet<u32> = before.keys().map(|(key, _)| *key).collect();
        let needed: BTreeSet<u32> = self.placed.keys().map(|(key, _)| *key).collect();
        for key in known.difference(&needed) {
            let _ = write!(out, "\u{1b}_Ga=d,d=I,i={key},q=2\u{1b}\\");
        }
        for (key, nth) in before
            .keys()
            .filter(|position| needed.contains(&position.0) && !self.placed.contains_key(position))
        {
            let _ = write!(out, "\u{1b}_Ga=d,d=i,i={key},p={nth},q=2\u{1b}\\");
        }
        let mut sent = known;
        for (position, placement) in &self.placed {
            if sent.insert(position.0) {
                send(&mut out, &placement.image);
            }
            if before.get(position) != Some(placement) {
                self::place(&mut out, *position, placement);
            }
        }
        out
    }

    /// Returns the output that removes all images.
    pub(super) fn clear(&mut self) -> &'static str {
        let had = !std::mem::take(&mut self.placed).is_empty();
        if had { "\u{1b}_Ga=d,d=A,q=2\u{1b}\\" } else { "" }
    }
}

fn send(out: &mut String, picture: &RenderedImage) {
    let data = picture.data.as_bytes();
    let mut chunks = data.chunks(CHUNK).peekable();
    let mut head = format!("a=t,f=100,i={},q=2,", picture.key);
    while let Some(chunk) = chunks.next() {
        let more = u8::from(chunks.peek().is_some());
        // Base64 is ASCII.
        let _ = write!(out, "\u{1b}_G{head}m={more};{}\u{1b}\\", String::from_utf8_lossy(chunk));
        head.clear();
    }
}

/// Writes the placement of the visible part; an existing placement with the same number is moved.
fn place(out: &mut String, (key, nth): ImagePosition, placement: &ImagePlacement) {
    let ImagePlacement { image: picture, column, row, from, rows } = placement;
    let (width, height) = picture.pixels;
    let pixel = |row: u16| u64::from(height) * u64::from(row) / u64::from(picture.cells.1.max(1));
    let (top, bottom) = (pixel(*from), pixel(from + rows));
    let _ = write!(
        out,
        "\u{1b}[{};{}H\u{1b}_Ga=p,i={key},p={nth},x=0,y={top},w={width},h={},c={},r={rows},C=1,q=2\u{1b}\\",
        row + 1,
        column + 1,
        (bottom - top).max(1),
        picture.cells.0,
    );
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn placement(row: u16, from: u16, rows: u16) -> ImagePlacement {
        let picture = RenderedImage { data: "iVBO".repeat(1_500), key: 7, pixels: (100, 80), cells: (10, 4) };
        ImagePlacement { image: Arc::new(picture), column: 2, row, from, rows }
    }

    #[test]
    fn kitty_image_is_sent_once_in_chunks_and_placed() {
        let mut pictures = KittyImages::default();
        let written = pictures.show(vec![placement(5, 0, 4)]);
        assert!(written.starts_with("\u{1b}_Ga=t,f=100,i=7,q=2,m=1;iVBO"));
        assert_eq!(written.matches("\u{1b}_Gm=0;").count(), 1, "6,000 bytes are two chunks");
        assert!(
            written.ends_with("\u{1b}[6;3H\u{1b}_Ga=p,i=7,p=1,x=0,y=0,w=100,h=80,c=10,r=4,C=1,q=2\u{1b}\\")
        );
        assert_eq!(pictures.show(vec![placement(5, 0, 4)]), "");
    }

    #[test]
    fn kitty_image_is_cropped_while_scrolling_and_then_deleted() {
        let mut pictures = KittyImages::default();
        pictures.show(vec![placement(0, 0, 4)]);
        assert_eq!(
            pictures.show(vec![placement(0, 1, 3)]),
            "\u{1b}[1;3H\u{1b}_Ga=p,i=7,p=1,x=0,y=20,w=100,h=60,c=10,r=3,C=1,q=2\u{1b}\\"
        );
        assert_eq!(pictures.show(Vec::new()), "\u{1b}_Ga=d,d=I,i=7,q=2\u{1b}\\");
        assert!(pictures.show(vec![placement(0, 0, 4)]).contains("a=t"), "sent again when visible again");
        assert_eq!((pictures.clear(), pictures.clear()), ("\u{1b}_Ga=d,d=A,q=2\u{1b}\\", ""));
    }

    #[test]
    fn kitty_image_shown_twice_is_sent_once() {
        let mut pictures = KittyImages::default();
        let written = pictures.show(vec![placement(0, 0, 4), placement(8, 0, 4)]);
        assert_eq!((written.matches("a=t").count(), written.matches("a=p").count()), (1, 2));
        assert_eq!(pictures.show(vec![placement(0, 0, 4)]), "\u{1b}_Ga=d,d=i,i=7,p=2,q=2\u{1b}\\");
    }
}
