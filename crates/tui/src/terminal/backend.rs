//! The ratatui backend: cells through crossterm, hyperlinks and images, and no output if nothing changed.

use std::cell::Cell as Kept;
use std::io;
use std::io::Write;
use std::sync::Arc;

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::queue;
use crossterm::style::Print;
use crossterm::terminal::{BeginSynchronizedUpdate, Clear, ClearType as Cleared, EndSynchronizedUpdate};
use ratatui::backend::{Backend, ClearType, CrosstermBackend, WindowSize};
use ratatui::buffer::{Cell, CellWidth as _};
use ratatui::layout::{Position, Size};
use ratatui::style::{Color, Modifier};
use tiller_core::unit::UnixMs;

use crate::terminal::capabilities::{Italics, TerminalCapabilities};
use crate::terminal::image_placement::ImagePlacement;
use crate::terminal::kitty_images::ScreenImages;
use crate::terminal::links::UrlMap;
use crate::terminal::wide_graphemes::{PlacedCell, WideGraphemes, has_disputed_width};

/// Writes frames, each as one synchronized update.
#[derive(Debug)]
pub(crate) struct TerminalBackend<W: Write> {
    cells: CrosstermBackend<W>,
    urls: UrlMap,
    images: ScreenImages,
    italics: Italics,
    /// The terminal's size, cached until a resize because querying it opens a file.
    size: Kept<Option<Size>>,
    wide_graphemes: WideGraphemes,
    /// True once output of this frame has started.
    is_writing: bool,
    /// The cursor's position and visibility; `None` if unknown.
    cursor: Option<Position>,
    shows_cursor: Option<bool>,
}

impl<W: Write> TerminalBackend<W> {
    pub(crate) fn new(writer: W, abilities: TerminalCapabilities) -> Self {
        Self {
            cells: CrosstermBackend::new(writer),
            urls: UrlMap::default(),
            images: ScreenImages::new(abilities.images),
            italics: abilities.italics,
            size: Kept::new(None),
            wide_graphemes: WideGraphemes::default(),
            is_writing: false,
            cursor: None,
            shows_cursor: None,
        }
    }

    /// Records the URLs of the next frame; returns true if the whole screen must be redrawn for them.
    pub(crate) fn record_urls<'a>(&mut self, links: impl Iterator<Item = &'a Arc<str>>) -> bool {
        self.urls.record(links)
    }

    /// Resets the written state, so that the next frame is written in full.
    pub(crate) fn forget(&mut self) -> io::Result<()> {
        (self.cursor, self.shows_cursor) = (None, None);
        self.wide_graphemes.begin_full();
        self.begin()?;
        let pictures = self.images.clear();
        queue!(self.cells, Print(pictures))
    }

    /// Discards the cached size.
    pub(crate) fn forget_size(&mut self) {
        self.size.set(None);
    }

    /// Writes the output of images before a frame's cells, which makes room for new images.
    pub(crate) fn images_before_cells(&mut self, pictures: &[ImagePlacement]) -> io::Result<()> {
        let bytes = self.images.before_cells(pictures);
        if bytes.is_empty() {
            return Ok(());
        }
        self.begin()?;
        self.cursor = None;
        queue!(self.cells, Print(bytes))
    }

    /// Writes the output of images after a frame's cells.
    pub(crate) fn images_after_cells(
        &mut self,
        pictures: Vec<ImagePlacement>,
        now: UnixMs,
    ) -> io::Result<()> {
        let bytes = self.images.after_cells(pictures, now);
        if !bytes.is_empty() {
            self.begin()?;
            queue!(self.cells, Print(bytes))?;
            if let Some(cursor) = self.cursor {
                queue!(self.cells, MoveTo(cursor.x, cursor.y))?;
            }
        }
        Ok(())
    }

    /// Returns true if a later frame has to write images even if nothing else changes.
    pub(crate) fn has_pending_images(&self) -> bool {
        self.images.has_pending()
    }

    /// Returns true if the changes were withheld, because in a row with a wide emoji only a full redraw is
    /// reliable.
    pub(crate) fn needs_full_redraw(&self) -> bool {
        self.wide_graphemes.needs_full_redraw()
    }

    /// Ends the frame.
    pub(crate) fn finish(&mut self) -> io::Result<()> {
        self.wide_graphemes.finish();
        if std::mem::take(&mut self.is_writing) {
            queue!(self.cells, EndSynchronizedUpdate)?;
            Write::flush(&mut self.cells)?;
        }
        Ok(())
    }

    fn begin(&mut self) -> io::Result<()> {
        if !std::mem::replace(&mut self.is_writing, true) {
            queue!(self.cells, BeginSynchronizedUpdate)?;
        }
        Ok(())
    }

    /// Writes cells with the same mark.
    fn write_run(&mut self, run: &[PlacedCell<'_>], mark: Color) -> io::Result<()> {
        let address = self.urls.url(mark).map(Arc::clone);
        if let (Some(address), Color::Rgb(red, green, blue)) = (&address, mark) {
            // The id makes all parts of a link highlight together, across lines.
            let open = format!("\u{1b}]8;id={red:02x}{green:02x}{blue:02x};{address}\u{1b}\\");
            queue!(self.cells, Print(open))?;
        }
        if mark == Color::Reset && self.italics == Italics::Slanted {
            self.cells.draw(run.iter().copied())?;
        } else {
            let bare = |cell: &Cell| with_italics(self.italics, without_mark(cell));
            let bare: Vec<(u16, u16, Cell)> = run.iter().map(|(x, y, cell)| (*x, *y, bare(cell))).collect();
            self.cells.draw(bare.iter().map(|(x, y, cell)| (*x, *y, cell)))?;
        }
        if address.is_some() {
            queue!(self.cells, Print("\u{1b}]8;;\u{1b}\\"))?;
        }
        if let Some((column, row, cell)) = run.last().filter(|cell| has_disputed_width(cell)) {
            let behind = column.saturating_add(cell.cell_width());
            // The cursor can't move past the edge, and there is nothing to erase.
            if self.size().map_or(true, |size| behind < size.width) {
                queue!(self.cells, MoveTo(behind, *row), Clear(Cleared::UntilNewLine))?;
            }
        }
        Ok(())
    }
}

fn without_mark(cell: &Cell) -> Cell {
    let mut cell = cell.clone();
    cell.underline_color = Color::Reset;
    cell
}

fn with_italics(italics: Italics, mut cell: Cell) -> Cell {
    if italics == Italics::Underlined && cell.modifier.contains(Modifier::ITALIC) {
        cell.modifier.remove(Modifier::ITALIC);
        cell.modifier.insert(Modifier::UNDERLINED);
    }
    cell
}

impl<W: Write> Write for TerminalBackend<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.cells.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Write::flush(&mut self.cells)
    }
}

impl<W: Write> Backend for TerminalBackend<W> {
    type Error = io::Error;

    fn draw<'a, I>(&mut self, content: I) -> io::Result<()>
    where
        I: Iterator<Item = (u16, u16, &'a Cell)>,
    {
        let cells: Vec<PlacedCell<'_>> = content.collect();
        if cells.is_empty() || !self.wide_graphemes.may_write(&cells) {
            return Ok(());
        }
        self.begin()?;
        self.cursor = None;
        cells.iter().for_each(|(column, row, _)| self.images.cell_written(*column, *row));
        let goes_on = |a: &PlacedCell<'_>, b: &PlacedCell<'_>| {
            a.2.underline_color == b.2.underline_color && !has_disputed_width(a)
        };
        for run in cells.chunk_by(goes_on) {
            self.write_run(run, run[0].2.underline_color)?;
        }
        Ok(())
    }

    fn hide_cursor(&mut self) -> io::Result<()> {
        if self.shows_cursor.replace(false) != Some(false) {
            self.begin()?;
            queue!(self.cells, Hide)?;
        }
        Ok(())
    }

    fn show_cursor(&mut self) -> io::Result<()> {
        if self.shows_cursor.replace(true) != Some(true) {
            self.begin()?;
            queue!(self.cells, Show)?;
        }
        Ok(())
    }

    fn get_cursor_position(&mut self) -> io::Result<Position> {
        self.cells.get_cursor_position()
    }

    fn set_cursor_position<P: Into<Position>>(&mut self, position: P) -> io::Result<()> {
        let position = position.into();
        if self.cursor.replace(position) != Some(position) {
            self.begin()?;
            queue!(self.cells, MoveTo(position.x, position.y))?;
        }
        Ok(())
    }

    fn clear(&mut self) -> io::Result<()> {
        self.forget()?;
        self.cells.clear()
    }

    fn clear_region(&mut self, clear_type: ClearType) -> io::Result<()> {
        self.forget()?;
        self.cells.clear_region(clear_type)
    }

    fn append_lines(&mut self, count: u16) -> io::Result<()> {
        self.forget()?;
        self.cells.append_lines(count)
    }

    fn size(&self) -> io::Result<Size> {
        if let Some(size) = self.size.get() {
            return Ok(size);
        }
        let size = self.cells.size()?;
        self.size.set(Some(size));
        Ok(size)
    }

    fn window_size(&mut self) -> io::Result<WindowSize> {
        self.cells.window_size()
    }

    fn flush(&mut self) -> io::Result<()> {
        // `finish` flushes, once per frame.
        Ok(())
    }

    fn scroll_region_up(&mut self, region: std::ops::Range<u16>, amount: u16) -> io::Result<()> {
        self.forget()?;
        self.cells.scroll_region_up(region, amount)
    }

    fn scroll_region_down(&mut self, region: std::ops::Range<u16>, amount: u16) -> io::Result<()> {
        self.forget()?;
        self.cells.scroll_region_down(region, amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the output for a family emoji in this column of a screen ten columns wide.
    fn output_of_family(column: u16) -> String {
        let mut written = Vec::new();
        let mut painter = TerminalBackend::new(&mut written, TerminalCapabilities::default());
        painter.size.set(Some(Size::new(10, 2)));
        painter.wide_graphemes.begin_full();
        let mut cell = Cell::default();
        cell.set_symbol("👨\u{200d}👩\u{200d}👧");
        painter.draw([(column, 0, &cell)].into_iter()).unwrap();
        drop(painter);
        String::from_utf8(written).unwrap()
    }

    #[test]
    fn backend_erases_row_behind_wide_emoji_but_not_at_the_edge() {
        let to_the_end = "\u{1b}[K";
        assert!(
            output_of_family(7).contains(&format!("\u{1b}[1;10H{to_the_end}")),
            "{:?}",
            output_of_family(7)
        );
        assert!(!output_of_family(8).contains(to_the_end), "{:?}", output_of_family(8));
    }
}
