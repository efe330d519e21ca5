//! Pictures that lie in the terminal's cells, by the protocol of iTerm2 (iterm2.com/documentation-images.html, November 2026).
//!
//! Whatever is written over such a picture takes its place, and nothing moves it or shows a part of it: where it stands elsewhere it
//! is sent again, all of it. So one is written only when it is on the screen as a whole and has stayed in its place for a moment;
//! a page that scrolls by sends none.

use std::fmt::Write;

use tiller_core::unit::UnixMs;
use tiller_render::RenderedImage;

use super::ImagePlacement;

/// How long a picture stays in its place before it is written, in milliseconds.
const REST_MS: u64 = 100;

/// The pictures in the cells of the screen.
#[derive(Debug, Default)]
pub(in crate::terminal) struct ItermImages {
    written: Vec<ImagePlacement>,
    /// Those that are to be written, and since when they have been where they are.
    resting: Vec<(ImagePlacement, UnixMs)>,
}

impl ItermImages {
    /// What is to be written before the cells of a frame with these pictures: blanks over those that are elsewhere by then.
    pub(in crate::terminal) fn part(&mut self, wanted: &[ImagePlacement]) -> String {
        let mut out = String::new();
        self.written.retain(|old| {
            let stays = wanted.contains(old);
            if !stays {
                blank(&mut out, old);
            }
            stays
        });
        out
    }

    /// A cell was written; a picture that lies in it is no longer whole.
    pub(in crate::terminal) fn cover(&mut self, column: u16, row: u16) {
        self.written.retain(|placement| !placement.holds(column, row));
    }

    /// What is to be written after the cells of a frame with these pictures.
    pub(in crate::terminal) fn show(&mut self, wanted: Vec<ImagePlacement>, now: UnixMs) -> String {
        let mut out = String::new();
        let before = std::mem::take(&mut self.resting);
        let missing = wanted
            .into_iter()
            .filter(|new| new.is_whole() && !self.written.contains(new))
            .collect::<Vec<_>>();
        for placement in missing {
            let since = before.iter().find(|(old, _)| *old == placement).map_or(now, |(_, since)| *since);
            if now.since_ms(since) < REST_MS {
                self.resting.push((placement, since));
            } else {
                write(&mut out, &placement);
                self.written.push(placement);
            }
        }
        out
    }

    /// Whether a later frame has more to write than this one, though nothing else changes.
    pub(in crate::terminal) fn waits(&self) -> bool {
        !self.resting.is_empty()
    }

    /// The cells were cleared.
    pub(in crate::terminal) fn clear(&mut self) {
        self.written.clear();
    }
}

fn blank(out: &mut String, placement: &ImagePlacement) {
    let blanks = " ".repeat(usize::from(placement.picture.cells.0));
    for row in placement.row..placement.row + placement.rows {
        let _ = write!(out, "\u{1b}[m\u{1b}[{};{}H{blanks}", row + 1, placement.column + 1);
    }
}

fn write(out: &mut String, ImagePlacement { picture, column, row, .. }: &ImagePlacement) {
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
        ImagePlacement { picture: Arc::new(picture), column: 2, row, from, rows }
    }

    const WRITTEN: &str = "\u{1b}[6;3H\u{1b}]1337;File=inline=1;size=3;width=4;height=2;\
        preserveAspectRatio=1;doNotMoveCursor=1:iVBO\u{7}";

    #[test]
    fn a_picture_is_written_once_it_has_stayed_in_its_place() {
        let mut pictures = ItermImages::default();
        assert_eq!(pictures.show(vec![placement(4, 0, 2)], UnixMs(0)), "");
        assert_eq!(pictures.show(vec![placement(5, 0, 2)], UnixMs(90)), "", "it moved meanwhile");
        assert_eq!(pictures.show(vec![placement(5, 0, 2)], UnixMs(180)), "");
        assert!(pictures.waits());
        assert_eq!(pictures.show(vec![placement(5, 0, 2)], UnixMs(190)), WRITTEN);
        assert!(!pictures.waits());
        assert_eq!(pictures.part(&[placement(5, 0, 2)]), "");
        assert_eq!(pictures.show(vec![placement(5, 0, 2)], UnixMs(900)), "");
    }

    #[test]
    fn one_that_goes_elsewhere_leaves_blank_cells_behind() {
        let mut pictures = ItermImages::default();
        pictures.show(vec![placement(5, 0, 2)], UnixMs(0));
        pictures.show(vec![placement(5, 0, 2)], UnixMs(100));
        assert_eq!(pictures.part(&[placement(4, 0, 2)]), "\u{1b}[m\u{1b}[6;3H    \u{1b}[m\u{1b}[7;3H    ");
        assert_eq!(pictures.part(&[]), "", "once");
    }

    #[test]
    fn of_one_that_is_cut_by_the_edge_nothing_is_written() {
        let mut pictures = ItermImages::default();
        for at in [0, 200] {
            assert_eq!(pictures.show(vec![placement(0, 1, 1)], UnixMs(at)), "");
        }
        assert!(!pictures.waits());
    }

    #[test]
    fn one_that_something_was_written_over_is_written_again() {
        let mut pictures = ItermImages::default();
        pictures.show(vec![placement(5, 0, 2)], UnixMs(0));
        pictures.show(vec![placement(5, 0, 2)], UnixMs(100));
        for beside in [(1, 5), (6, 5), (2, 4), (2, 7)] {
            pictures.cover(beside.0, beside.1);
        }
        assert_eq!(pictures.show(vec![placement(5, 0, 2)], UnixMs(200)), "");
        assert!(!pictures.waits());
        pictures.cover(5, 6);
        pictures.show(vec![placement(5, 0, 2)], UnixMs(300));
        assert_eq!(pictures.show(vec![placement(5, 0, 2)], UnixMs(400)), WRITTEN);
    }
}
