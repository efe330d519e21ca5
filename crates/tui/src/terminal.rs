//! The terminal: takes it over, draws frames, and always restores it.
//!
//! It is restored on drop, and by the panic hook (`crash_report`) before the hook prints; signals end the
//! loop, which drops it. The keyboard protocol is requested without checking for support: other terminals
//! ignore the request, and waiting for a reply would delay the first frame if no reply arrives.

pub(crate) mod backend;
pub(crate) mod capabilities;
pub(crate) mod image_placement;
pub(crate) mod kitty_images;
pub(crate) mod links;
pub(crate) mod modes;
mod wide_graphemes;

use std::io::{BufWriter, Stdout, Write};
use std::sync::Arc;
use std::{io, thread};

use crossterm::clipboard::CopyToClipboard;
use crossterm::cursor::SetCursorStyle;
use crossterm::event::{
    EnableBracketedPaste, EnableFocusChange, KeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::style::Print;
use crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, disable_raw_mode, enable_raw_mode};
use crossterm::{execute, queue};
use ratatui::Terminal;
use ratatui::backend::Backend;
use ratatui::layout::Rect;
use tiller_core::unit::UnixMs;

use crate::app::App;
use crate::options::TerminalOptions;
use crate::screen_areas::ScreenAreas;
use crate::terminal::backend::TerminalBackend;
use crate::terminal::capabilities::MouseUse;
use crate::terminal::modes::TerminalModes;
use crate::view::view;

/// Size of the write buffer in bytes, so that a frame takes few writes.
const BUFFER_SIZE: usize = 64 * 1024;

/// Enables presses, wheel and drags with columns beyond 223, but not plain motion, which would wake the loop
/// needlessly.
const MOUSE_ON: &[u8] = b"\x1b[?1000h\x1b[?1002h\x1b[?1006h";

/// Writes frames, except during a panic: the terminal is then already restored, and the rest of a frame would
/// be stray text.
struct TerminalWriter(Stdout);

impl Write for TerminalWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if thread::panicking() { Ok(bytes.len()) } else { self.0.write(bytes) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if thread::panicking() { Ok(()) } else { self.0.flush() }
    }
}

/// The terminal while it is taken over.
pub(super) struct Screen {
    terminal: Terminal<TerminalBackend<BufWriter<TerminalWriter>>>,
    needs_redraw: bool,
    modes: Arc<TerminalModes>,
}

impl Screen {
    /// Takes over the terminal.
    pub(super) fn enter(options: &TerminalOptions, modes: &Arc<TerminalModes>) -> io::Result<Self> {
        modes.take_over(options.signals.teardown())?;
        // From this point, a failure restores the terminal.
        let guard = RestoreGuard(modes);
        execute!(
            io::stdout(),
            Print(options.signals.setup()),
            EnterAlternateScreen,
            // `Terminal::clear` would query the cursor position, and the reader of the keys could take the
            // reply.
            Clear(ClearType::All),
            EnableBracketedPaste,
            EnableFocusChange,
            PushKeyboardEnhancementFlags(keyboard_flags()),
            SetCursorStyle::SteadyBar
        )?;
        if options.mouse == MouseUse::Tiller {
            io::stdout().write_all(MOUSE_ON)?;
        }
        let writer = BufWriter::with_capacity(BUFFER_SIZE, TerminalWriter(io::stdout()));
        let terminal = Terminal::new(TerminalBackend::new(writer, options.abilities))?;
        std::mem::forget(guard);
        Ok(Self { terminal, needs_redraw: true, modes: Arc::clone(modes) })
    }

    /// Sets up the terminal again after a stop, in which another program may have used it. Sending a sequence
    /// twice is harmless.
    pub(super) fn reenter(&mut self, mouse: MouseUse) -> io::Result<()> {
        // crossterm sets raw mode only from the original modes.
        self.modes.change(|| disable_raw_mode().and_then(|()| enable_raw_mode()))?;
        let set = format!("\x1b[={};1u", keyboard_flags().bits());
        let painter = self.terminal.backend_mut();
        queue!(painter, EnterAlternateScreen, EnableBracketedPaste, EnableFocusChange, Print(set))?;
        queue!(painter, SetCursorStyle::SteadyBar)?;
        if mouse == MouseUse::Tiller {
            painter.write_all(MOUSE_ON)?;
        }
        self.needs_redraw = true;
        Ok(())
    }

    /// Returns columns and rows.
    pub(super) fn size(&self) -> (u16, u16) {
        self.terminal.size().map_or((80, 24), |size| (size.width, size.height))
    }

    /// Draws a frame as one update; writes nothing if nothing changed.
    pub(super) fn draw(&mut self, app: &mut App) -> io::Result<()> {
        if self.needs_redraw {
            self.forget_size();
        }
        self.terminal.autoresize()?;
        if self.needs_redraw {
            app.ui.cell_pixels = self.cell_pixels();
        }
        let mut areas = prepare(app, self.terminal.get_frame().area());
        let painter = self.terminal.backend_mut();
        self.needs_redraw |= painter.record_urls(app.transcript.links(&app.view_context()));
        if std::mem::take(&mut self.needs_redraw) {
            self.clear()?;
        }
        self.paint(app, &mut areas)?;
        if self.terminal.backend().needs_full_redraw() {
            self.clear()?;
            self.paint(app, &mut areas)?;
        }
        let painter = self.terminal.backend_mut();
        painter.images_after_cells(app.transcript.images(&app.view_context()), app.now)?;
        painter.finish()
    }

    /// Draws the app's state into cells.
    fn paint(&mut self, app: &mut App, areas: &mut ScreenAreas) -> io::Result<()> {
        let pictures = app.transcript.images(&app.view_context());
        self.terminal.backend_mut().images_before_cells(&pictures)?;
        self.terminal.draw(|frame| {
            // If the size has changed in the meantime, the prepared areas don't fit the buffer.
            if (frame.area().width, frame.area().height) != app.ui.size {
                *areas = prepare(app, frame.area());
            }
            view(app, areas, frame);
        })?;
        Ok(())
    }

    /// Clears the terminal and forces a full redraw.
    fn clear(&mut self) -> io::Result<()> {
        let painter = self.terminal.backend_mut();
        painter.forget()?;
        queue!(painter, Clear(ClearType::All))?;
        // Each swap clears one of the two buffers. `Terminal::clear` would query the cursor position.
        self.terminal.swap_buffers();
        self.terminal.swap_buffers();
        Ok(())
    }

    /// Returns true if a later frame has to show images that are still missing.
    pub(super) fn has_pending_images(&self) -> bool {
        self.terminal.backend().has_pending_images()
    }

    /// The size of a cell in pixels; twice as high as wide if the terminal doesn't report it.
    fn cell_pixels(&mut self) -> (u16, u16) {
        let size = self.terminal.backend_mut().window_size().ok().filter(|size| {
            size.pixels.width >= size.columns_rows.width && size.pixels.height >= size.columns_rows.height
        });
        size.map_or((8, 16), |size| {
            let cells = size.columns_rows;
            (size.pixels.width / cells.width.max(1), size.pixels.height / cells.height.max(1))
        })
    }

    /// Forces a full redraw, because the screen no longer shows the last frame, for example after a resize,
    /// even one back to the same size.
    pub(super) fn force_redraw(&mut self) {
        self.needs_redraw = true;
    }

    /// Discards the cached size.
    pub(super) fn forget_size(&mut self) {
        self.terminal.backend_mut().forget_size();
    }

    /// Writes a control sequence immediately.
    pub(super) fn write(&mut self, sequence: &str) -> io::Result<()> {
        execute!(self.terminal.backend_mut(), Print(sequence))
    }

    /// Copies text to the terminal's clipboard (OSC 52).
    pub(super) fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(self.terminal.backend_mut(), CopyToClipboard::to_clipboard_from(text))
    }
}

/// Returns the requested keyboard protocol flags. With alternate keys, `ctrl+_` isn't reported as
/// `ctrl+shift+-`.
fn keyboard_flags() -> KeyboardEnhancementFlags {
    KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES | KeyboardEnhancementFlags::REPORT_ALTERNATE_KEYS
}

fn prepare(app: &mut App, area: Rect) -> ScreenAreas {
    app.ui.size = (area.width, area.height);
    app.prepare()
}

impl Drop for Screen {
    fn drop(&mut self) {
        let painter = self.terminal.backend_mut();
        // An error can't be reported anymore.
        let _ = painter.images_after_cells(Vec::new(), UnixMs(0)).and_then(|()| painter.finish());
        self.modes.restore();
    }
}

/// Restores the terminal if taking it over fails.
struct RestoreGuard<'a>(&'a TerminalModes);

impl Drop for RestoreGuard<'_> {
    fn drop(&mut self) {
        self.0.restore();
    }
}
