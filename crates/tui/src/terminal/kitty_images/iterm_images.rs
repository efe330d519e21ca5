//! Inline images in the terminal's cells, with iTerm2's protocol (iterm2.com/documentation-images.html,
//! November 2026).
//!
//! Later output overwrites such an image, and it can't be moved or cropped: in another position it is sent
//! again in full. So an image is written only when it is completely visible and has stayed in place for a
//! moment; scrolling past it sends nothing.

use std::fmt::Write;

use tiller_core::unit::UnixMs;
use tiller_render::RenderedImage;

use crate::terminal::image_placement::ImagePlacement;

/// Milliseconds for which an image must stay in place before it is written.
const STILL_MS: u64 = 100;

/// The images in the cells of the screen.
#[derive(Debug, Default)]
pub(in crate::terminal) struct ItermImages {
    written: Vec<ImagePlacement>,
    /// Images to be written, with the time since when they have been in place.
    resting: Vec<(ImagePlacement, UnixMs)>,
}

impl ItermImages {
    /// Returns the output before the cells of a frame: blanks over images that were removed or moved.
    pub(in crate::terminal) fn before_cells(&mut self, placements: &[ImagePlacement]) -> String {
        let mut out = String::new();
        self.written.retain(|old| {
            let stays = placements.contains(old);
            if !stays {
                blank(&mut out, old);
            }
            stays
        });
        out
    }

    /// Records a written cell; an image there is no longer complete.
    pub(in crate::terminal) fn cell_written(&mut self, column: u16, row: u16) {
        self.written.retain(|placement| !placement.holds(column, row));
    }

    /// Returns the output after the cells of a frame with these images.
    pub(in crate::terminal) fn after_cells(
        &mut self,
        placements: Vec<ImagePlacement>,
        now: UnixMs,
    ) -> String {
        let mut out = String::new();
        let before = std::mem::take(&mut self.resting);
        let missing = placements
            .into_iter()
            .filter(|new| new.is_whole() && !self.written.contains(new))
            .collect::<Vec<_>>();
        for placement in missing {
            let since = before.iter().find(|(old, _)| *old == placement).map_or(now, |(_, since)| *since);
            if now.since_ms(since) < STILL_MS {
                self.resting.push((placement, since));
            } else {
                write(&mut out, &placement);
                self.written.push(placement);
            }
        }
        out
    }

    /// Returns true if a later frame has to write images even if nothing else changes.
    pub(in crate::terminal) fn has_pending(&self) -> bool {
        !self.resting.is_empty()
    }

    /// Records that the cells were cleared.
    pub(in crate::terminal) fn clear(&mut self) {
        self.written.clear();
    }
}

fn blank(out: &mut String, placement: &ImagePlacement) {
    let blanks = " ".repeat(usize::from(placement.image.cells.0));
    for row in placement.row..placement.row + placement.rows {
        let _ = write!(out, "\u{1b}[m\u{1b}[{};{}H{blanks}", row + 1, placement.column + 1);
    }
}

fn write(out: &mut String, ImagePlacement { image: picture, column, row, .. }: &ImagePlacement) {
    let RenderedImage { data, cells: (columns, rows), .. } = &**picture;
    let size = data.trim_end_matches('=').len() * 3 / 4;
    let _ = write!(
        out,
        "\u{1b}[{};{}H\u{1b}]1337;File=inline=1;size={size};width={columns};height={rows};\
         preserveAspectRatio=1;doNotMoveCursor=1:{data}\u{7}",
        row + 1,
        column + 1,
    );
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn placement(row: u16, from: u16, rows: u16) -> ImagePlacement {
        let picture = RenderedImage { data: "iVBO".into(), key: 7, pixels: (100, 80), cells: (4, 2) };
        ImagePlacement { image: Arc::new(picture), column: 2, row, from, rows }
    }

    const WRITTEN: &str = "\u{1b}[6;3H\u{1b}]1337;File=inline=1;size=3;width=4;height=2;\
        preserveAspectRatio=1;doNotMoveCursor=1:iVBO\u{7}";

    #[test]
    fn iterm_image_is_written_after_staying_in_place() {
        let mut pictures = ItermImages::default();
        assert_eq!(pictures.after_cells(vec![placement(4, 0, 2)], UnixMs(0)), "");
        assert_eq!(pictures.after_cells(vec![placement(5, 0, 2)], UnixMs(90)), "", "it moved meanwhile");
        assert_eq!(pictures.after_cells(vec![placement(5, 0, 2)], UnixMs(180)), "");
        assert!(pictures.has_pending());
        assert_eq!(pictures.after_cells(vec![placement(5, 0, 2)], UnixMs(190)), WRITTEN);
        assert!(!pictures.has_pending());
        assert_eq!(pictures.before_cells(&[placement(5, 0, 2)]), "");
        assert_eq!(pictures.after_cells(vec![placement(5, 0, 2)], UnixMs(900)), "");
    }

    #[test]
    fn iterm_image_that_moves_leaves_blanks() {
        let mut pictures = ItermImages::default();
        pictures.after_cells(vec![placement(5, 0, 2)], UnixMs(0));
        pictures.after_cells(vec![placement(5, 0, 2)], UnixMs(100));
        assert_eq!(
            pictures.before_cells(&[placement(4, 0, 2)]),
            "\u{1b}[m\u{1b}[6;3H    \u{1b}[m\u{1b}[7;3H    "
        );
        assert_eq!(pictures.before_cells(&[]), "", "once");
    }

    #[test]
    fn iterm_image_cut_by_the_edge_is_not_written() {
        let mut pictures = ItermImages::default();
        for at in [0, 200] {
            assert_eq!(pictures.after_cells(vec![placement(0, 1, 1)], UnixMs(at)), "");
        }
        assert!(!pictures.has_pending());
    }

    #[test]
    fn iterm_image_is_written_again_after_output_over_it() {
        let mut pictures = ItermImages::default();
        pictures.after_cells(vec![placement(5, 0, 2)], UnixMs(0));
        pictures.after_cells(vec![placement(5, 0, 2)], UnixMs(100));
        for (column, row) in [(1, 5), (6, 5), (2, 4), (2, 7)] {
            pictures.cell_written(column, row);
        }
        assert_eq!(pictures.after_cells(vec![placement(5, 0, 2)], UnixMs(200)), "");
        assert!(!pictures.has_pending());
        pictures.cell_written(5, 6);
        pictures.after_cells(vec![placement(5, 0, 2)], UnixMs(300));
        assert_eq!(pictures.after_cells(vec![placement(5, 0, 2)], UnixMs(400)), WRITTEN);
    }
}
