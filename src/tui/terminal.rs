//! The terminal: taken over whole, and given back whatever happens.
//!
//! Given back on drop, and by the panic hook (`report`) before it says anything; signals end the loop, whose end is a drop. The
//! keyboard protocol is asked for without asking whether it is there: terminals that don't know it ignore it, and waiting for
//! an answer would delay the first frame wherever none comes.

use std::io::{self, BufWriter, Stdout, Write};
use std::sync::Mutex;

use crossterm::clipboard::CopyToClipboard;
use crossterm::cursor::{SetCursorStyle, Show};
use crossterm::event::{
    DisableBracketedPaste, DisableFocusChange, EnableBracketedPaste, EnableFocusChange,
    KeyboardEnhancementFlags, PopKeyboardEnhancementFlags, PushKeyboardEnhancementFlags,
};
use crossterm::style::Print;
use crossterm::terminal::{
    BeginSynchronizedUpdate, Clear, ClearType, EndSynchronizedUpdate, EnterAlternateScreen,
    LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{execute, queue};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;

use super::app::App;
use super::notify::Reach;
use super::view::view;

/// Bytes gathered before they are written, so that a frame goes out in few writes.
const BUFFER: usize = 64 * 1024;

/// What is written last when the terminal is given back, beside what every terminal gets.
static FAREWELL: Mutex<String> = Mutex::new(String::new());

/// The terminal while it is ours.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<BufWriter<Stdout>>>,
    is_stale: bool,
}

impl Screen {
    /// Takes the terminal over.
    pub(super) fn enter(reach: &Reach) -> io::Result<Self> {
        if let Ok(mut farewell) = FAREWELL.lock() {
            *farewell = reach.farewell();
        }
        enable_raw_mode()?;
        // From here on a failure gives the terminal back.
        let given_back = GiveBack;
        // The alternate keys tell what a key types with shift: `ctrl+_`, not `ctrl+shift+-`.
        let flags = KeyboardEnhancementFlags::DISAMBIGUATE_ESCAPE_CODES
            | KeyboardEnhancementFlags::REPORT_ALTERNATE_KEYS;
        execute!(
            io::stdout(),
            Print(reach.greeting()),
            EnterAlternateScreen,
            // Not `Terminal::clear`: that asks where the cursor is, and whoever still reads the keys takes the answer.
            Clear(ClearType::All),
            EnableBracketedPaste,
            EnableFocusChange,
            PushKeyboardEnhancementFlags(flags),
            SetCursorStyle::SteadyBar
        )?;
        let writer = BufWriter::with_capacity(BUFFER, io::stdout());
        let terminal = Terminal::new(CrosstermBackend::new(writer))?;
        std::mem::forget(given_back);
        Ok(Self { terminal, is_stale: false })
    }

    /// Columns and rows.
    pub(super) fn size(&self) -> (u16, u16) {
        self.terminal.size().map_or((80, 24), |size| (size.width, size.height))
    }

    /// Draws the state. The terminal shows all of it or nothing yet.
    pub(super) fn draw(&mut self, app: &mut App) -> io::Result<()> {
        queue!(self.terminal.backend_mut(), BeginSynchronizedUpdate)?;
        if std::mem::take(&mut self.is_stale) {
            queue!(self.terminal.backend_mut(), Clear(ClearType::All))?;
            // Each swap empties one of the two buffers. `Terminal::clear` would ask where the cursor is.
            self.terminal.swap_buffers();
            self.terminal.swap_buffers();
        }
        self.terminal.draw(|frame| {
            // Asked for again, the size could be another one by now, and the frame would not fit its buffer.
            app.size = (frame.area().width, frame.area().height);
            let areas = app.prepare();
            view(app, &areas, frame);
        })?;
        execute!(self.terminal.backend_mut(), EndSynchronizedUpdate)
    }

    /// Has the next frame written whole: what the terminal shows is no longer what was drawn, as after a resize, also one to
    /// a size and back before a frame noticed.
    pub(super) fn repaint(&mut self) {
        self.is_stale = true;
    }

    /// Writes what is no part of the screen.
    pub(super) fn tell(&mut self, bytes: &str) -> io::Result<()> {
        execute!(self.terminal.backend_mut(), Print(bytes))
    }

    /// Gives a text to the terminal's clipboard (OSC 52).
    pub(super) fn copy(&mut self, text: &str) -> io::Result<()> {
        execute!(self.terminal.backend_mut(), CopyToClipboard::to_clipboard_from(text))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

struct GiveBack;

impl Drop for GiveBack {
    fn drop(&mut self) {
        give_back();
    }
}

/// Makes the terminal what it was. Nobody is left to tell when this fails.
pub(super) fn give_back() {
    let mut out = io::stdout();
    let _ = execute!(
        out,
        EndSynchronizedUpdate,
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
    let _ = disable_raw_mode();
}
