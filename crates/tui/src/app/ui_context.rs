//! Where the front end runs, and on what.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::tz::TimeZone;
use tiller_render::RenderOptions;

use crate::ProviderKey;
use crate::keymap::Keymap;
use crate::terminal::Images;
use crate::theme::ThemeState;

/// Where the front end runs.
#[derive(Clone, Debug)]
pub(crate) struct UiContext {
    pub(crate) cwd: PathBuf,
    pub(crate) home: Option<PathBuf>,
    pub(crate) zone: TimeZone,
    pub(crate) theme: ThemeState,
    pub(crate) banner: Vec<String>,
    /// Where keys of providers come from.
    pub(crate) keys: Vec<ProviderKey>,
    pub(crate) keymap: Arc<Keymap>,
    /// In what manner text becomes lines.
    pub(crate) manner: RenderOptions,
    pub(crate) images: Images,
    /// Columns and rows of the screen.
    pub(crate) size: (u16, u16),
    /// The width and height of a cell in pixels.
    pub(crate) cell: (u16, u16),
}
