//! Where the front end runs, and on what.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::tz::TimeZone;

use crate::render::Manner;
use crate::tui::ProviderKey;
use crate::tui::keymap::Keymap;
use crate::tui::terminal::Images;
use crate::tui::theme::Theme;

/// Where the front end runs.
#[derive(Clone, Debug)]
pub(in crate::tui) struct Place {
    pub(in crate::tui) cwd: PathBuf,
    pub(in crate::tui) home: Option<PathBuf>,
    pub(in crate::tui) zone: TimeZone,
    pub(in crate::tui) theme: Theme,
    pub(in crate::tui) banner: Vec<String>,
    /// Where keys of providers come from.
    pub(in crate::tui) keys: Vec<ProviderKey>,
    pub(in crate::tui) keymap: Arc<Keymap>,
    /// In what manner text becomes lines.
    pub(in crate::tui) manner: Manner,
    pub(in crate::tui) images: Images,
    /// Columns and rows of the screen.
    pub(in crate::tui) size: (u16, u16),
    /// The width and height of a cell in pixels.
    pub(in crate::tui) cell: (u16, u16),
}
