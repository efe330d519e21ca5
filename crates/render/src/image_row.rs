//! An image, and the rows of a page that show it.

use std::sync::Arc;

/// An image with a place on the page.
#[derive(Debug, PartialEq, Eq)]
pub struct RenderedImage {
    /// PNG data in base64.
    pub data: String,
    /// A hash of the data, never 0.
    pub key: u32,
    /// Width and height in pixels.
    pub pixels: (u32, u32),
    /// Columns and rows.
    pub cells: (u16, u16),
}

/// A row of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageRow {
    /// The image.
    pub image: Arc<RenderedImage>,
    /// The row's index, from 0.
    pub row: u16,
}
