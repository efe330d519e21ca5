//! The terminal: taken over whole, and given back whatever happens.
//!
//! Given back on drop, and by the panic hook (`report`) before it says anything; signals end the loop, whose end is a drop. The
//! keyboard protocol is asked for without asking whether it is there: terminals that don't know it ignore it, and waiting for
//! an answer would delay the first frame wherever none comes.

mod backend;
mod capabilities;
mod kitty_images;
mod links;
mod wide_graphemes;

use std::io::{self, BufWriter, Stdout, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crossterm::clipboard::CopyToClipboard;
use crossterm::cursor::{SetCursorStyle, Show};
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, DisableMouseCapture, EnableBracketedPaste, EnableFocusChange,
    KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::style::Print;
use crossterm::terminal::{
    Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode,
    enable_raw_mode,
};
use crossterm::{execute, queue};
use ratatui::Terminal;
use ratatui::backend::Backend;
use ratatui::layout::Rect;

use super::app::App;
use super::options::TerminalOptions;
use super::view::{ScreenAreas, view};
pub(super) use backend::TerminalBackend;
pub use capabilities::{Abilities, Images, Italics};
pub(super) use kitty_images::ImagePlacement;
pub(super) use links::mark;
use tiller_core::unit::UnixMs;

/// Bytes gathered before they are written, so that a frame goes out in few writes.
const BUFFER: usize = 64 * 1024;

/// Presses, the wheel and dragging, with places beyond column 223. Not every move of the mouse, which would wake the loop for nothing.
const MOUSE_ON: &[u8] = b"\x1b[?1000h\x1b[?1002h\x1b[?1006h";

/// Whose the mouse is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MouseUse {
    /// Tiller's: the wheel scrolls, a click folds, dragging selects and copies.
    #[default]
    Tiller,
    /// The terminal's own.
    Terminal,
}

/// What is written last when the terminal is given back, beside what every terminal gets.
static FAREWELL: Mutex<String> = Mutex::new(String::new());

/// Whether the terminal is ours, and to be given back.
static IS_OURS: AtomicBool = AtomicBool::new(false);

/// Held by whoever sets the terminal's modes.
static MODES: Mutex<()> = Mutex::new(());

/// Where frames go, until a panic: by then the terminal is given back, and the rest of a frame would be stray text on it.
struct TerminalWriter(Stdout);

impl Write for TerminalWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if thread::panicking() { Ok(bytes.len()) } else { self.0.write(bytes) }
    }

    fn flush(&mut self) -> io::Result<()> {
        if thread::panicking() { Ok(()) } else { self.0.flush() }
    }
}

/// The terminal while it is ours.
pub(super) struct Screen {
    terminal: Terminal<TerminalBackend<BufWriter<TerminalWriter>>>,
    is_stale: bool,
}

impl Screen {
    /// Takes the terminal over.
    pub(super) fn enter(options: &TerminalOptions) -> io::Result<Self> {
        if let Ok(mut farewell) = FAREWELL.lock() {
            *farewell = options.reach.farewell();
        }
        IS_OURS.store(true, Ordering::SeqCst);
        with_modes(enable_raw_mode)?;
        // From here on a failure gives the terminal back.
        let given_back = RestoreGuard;
        execute!(
            io::stdout(),
            Print(options.reach.greeting()),
            EnterAlternateScreen,
            // Not `Terminal::clear`: that asks where the cursor is, and whoever still reads the keys takes the answer.
            Clear(ClearType::All),
            EnableBracketedPaste,
            EnableFocusChange,
            PushKeyboardEnhancementFlags(keyboard()),
            SetCursorStyle::SteadyBar
        )?;
        if options.mouse == MouseUse::Tiller {
            io::stdout().write_all(MOUSE_ON)?;
        }
        let writer = BufWriter::with_capacity(BUFFER, TerminalWriter(io::stdout()));
        let terminal = Terminal::new(TerminalBackend::new(writer, options.abilities))?;
        std::mem::forget(given_back);
        Ok(Self { terminal, is_stale: true })
    }

    /// Takes the terminal over although it is ours: somebody else may have had it while we were stopped. All of it can be said twice.
    pub(super) fn take_again(&mut self, mouse: MouseUse) -> io::Result<()> {
        // The modes are set anew only from those of the beginning.
        with_modes(|| disable_raw_mode().and_then(|()| enable_raw_mode()))?;
        let set = format!("\x1b[={};1u", keyboard().bits());
        let painter = self.terminal.backend_mut();
        queue!(painter, EnterAlternateScreen, EnableBracketedPaste, EnableFocusChange, Print(set))?;
        queue!(painter, SetCursorStyle::SteadyBar)?;
        if mouse == MouseUse::Tiller {
            painter.write_all(MOUSE_ON)?;
        }
        self.is_stale = true;
        Ok(())
    }

    /// Columns and rows.
    pub(super) fn size(&self) -> (u16, u16) {
        self.terminal.size().map_or((80, 24), |size| (size.width, size.height))
    }

    /// Draws the state. The terminal shows all of it or nothing yet; where nothing changed nothing is written.
    pub(super) fn draw(&mut self, app: &mut App) -> io::Result<()> {
        if self.is_stale {
            self.measure_anew();
        }
        self.terminal.autoresize()?;
        if self.is_stale {
            app.place.cell = self.cell();
        }
        let mut areas = prepared(app, self.terminal.get_frame().area());
        let painter = self.terminal.backend_mut();
        self.is_stale |= painter.learn(app.links());
        if std::mem::take(&mut self.is_stale) {
            self.forget()?;
        }
        self.paint(app, &mut areas)?;
        if self.terminal.backend().wants_whole() {
            self.forget()?;
            self.paint(app, &mut areas)?;
        }
        let painter = self.terminal.backend_mut();
        painter.show(app.pictures(&areas), app.now)?;
        painter.finish()
    }

    /// Draws the state as cells.
    fn paint(&mut self, app: &mut App, areas: &mut ScreenAreas) -> io::Result<()> {
        let pictures = app.pictures(areas);
        self.terminal.backend_mut().part(&pictures)?;
        self.terminal.draw(|frame| {
            // By now the size could be another one, and what was prepared would not fit the buffer.
            if (frame.area().width, frame.area().height) != app.place.size {
                *areas = prepared(app, frame.area());
            }
            view(app, areas, frame);
        })?;
        Ok(())
    }

    /// Has the terminal show nothing, and all of the next frame written.
    fn forget(&mut self) -> io::Result<()> {
        let painter = self.terminal.backend_mut();
        painter.forget()?;
        queue!(painter, Clear(ClearType::All))?;
        // Each swap empties one of the two buffers. `Terminal::clear` would ask where the cursor is.
        self.terminal.swap_buffers();
        self.terminal.swap_buffers();
        Ok(())
    }

    /// Whether the frame was left without pictures that a later one shows.
    pub(super) fn owes_pictures(&self) -> bool {
        self.terminal.backend().owes_pictures()
    }

    /// The size of a cell in pixels; where the terminal doesn't say, twice as high as wide.
    fn cell(&mut self) -> (u16, u16) {
        let size = self.terminal.backend_mut().window_size().ok().filter(|size| {
            size.pixels.width >= size.columns_rows.width && size.pixels.height >= size.columns_rows.height
        });
        size.map_or((8, 16), |size| {
            let cells = size.columns_rows;
            (size.pixels.width / cells.width.max(1), size.pixels.height / cells.height.max(1))
        })
    }

    /// Has the next frame written whole: what the terminal shows is no longer what was drawn, as after a resize, also one to
    /// a size and back before a frame noticed.
    pub(super) fn repaint(&mut self) {
        self.is_stale = true;
    }

    /// The terminal may have another size now.
    pub(super) fn measure_anew(&mut self) {
        self.terminal.backend_mut().measure_anew();
    }

    /// Writes a control sequence at once.
    pub(super) fn write(&mut self, sequence: &str) -> io::Result<()> {
        execute!(self.terminal.backend_mut(), Print(sequence))
    }

    /// Gives a text to the terminal's clipboard (OSC 52).
    pub(super) fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(self.terminal.backend_mut(), CopyToClipboard::to_clipboard_from(text))
    }
}

/// What of the keyboard protocol is asked for. The alternate keys tell what a key types with shift: `ctrl+_`, not `ctrl+shift+-`.
fn keyboard() -> KeyboardEnhancementFlags {
    KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES | KeyboardEnhancementFlags::REPORT_ALTERNATE_KEYS
}

fn prepared(app: &mut App, area: Rect) -> ScreenAreas {
    app.place.size = (area.width, area.height);
    app.prepare()
}

impl Drop for Screen {
    fn drop(&mut self) {
        let painter = self.terminal.backend_mut();
        // Nobody is left to tell when this fails.
        let _ = painter.show(Vec::new(), UnixMs(0)).and_then(|()| painter.finish());
        give_back();
    }
}

struct RestoreGuard;

impl Drop for RestoreGuard {
    fn drop(&mut self) {
        give_back();
    }
}

/// Makes the terminal what it was, once: to leave the alternate screen again would put the cursor on what was said since. Nobody is left
/// to tell when this fails.
pub(super) fn give_back() {
    if !IS_OURS.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    let _ = execute!(
        out,
        EndSynchronizedUpdate,
        DisableMouseCapture,
        PopKeyboardEnhancementFlags,
        DisableFocusChange,
        DisableBracketedPaste,
        SetCursorStyle::DefaultUserShape,
        LeaveAlternateScreen,
        Show,
        // A panic may come while it is locked; then the title stays.
        Print(FAREWELL.try_lock().map_or_else(|_| String::new(), |farewell| farewell.clone()))
    );
    let _ = out.flush();
    let _ = with_modes(disable_raw_mode);
}

/// Does something with the terminal's modes that nobody else may disturb.
fn with_modes<T>(act: impl FnOnce() -> T) -> T {
    let _modes = MODES.lock().unwrap_or_else(PoisonError::into_inner);
    act()
}

/// The same, unless the terminal was given back.
pub(super) fn while_ours(act: impl FnOnce()) {
    with_modes(|| {
        if IS_OURS.load(Ordering::SeqCst) {
            act();
        }
    });
}
