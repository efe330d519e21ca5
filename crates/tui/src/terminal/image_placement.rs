//! The position of an image on the screen.

use std::sync::Arc;

use tiller_render::RenderedImage;

/// An image on the screen, or its visible part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ImagePlacement {
    pub(crate) image: Arc<RenderedImage>,
    pub(crate) column: u16,
    pub(crate) row: u16,
    /// The first visible row of the image, and the number of visible rows.
    pub(crate) from: u16,
    pub(crate) rows: u16,
}

impl ImagePlacement {
    /// Returns true if all rows are visible.
    pub(crate) fn is_whole(&self) -> bool {
        self.from == 0 && self.rows == self.image.cells.1
    }

    pub(crate) fn holds(&self, column: u16, row: u16) -> bool {
        (self.row..self.row + self.rows).contains(&row)
            && (self.column..self.column + self.image.cells.0).contains(&column)
    }
}
