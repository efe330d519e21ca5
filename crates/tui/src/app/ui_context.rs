//! The environment of the front end: directories, theme, keymap, screen size.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::tz::TimeZone;
use tiller_render::RenderOptions;

use crate::ProviderKey;
use crate::keymap::Keymap;
use crate::terminal::Images;
use crate::theme::ThemeState;

/// The environment of the front end.
#[derive(Clone, Debug)]
pub(crate) struct UiContext {
    pub(crate) cwd: PathBuf,
    pub(crate) home: Option<PathBuf>,
    pub(crate) zone: TimeZone,
    pub(crate) theme: ThemeState,
    pub(crate) banner: Vec<String>,
    /// Sources of the providers' API keys.
    pub(crate) provider_keys: Vec<ProviderKey>,
    pub(crate) keymap: Arc<Keymap>,
    pub(crate) render_options: RenderOptions,
    pub(crate) images: Images,
    /// Columns and rows of the screen.
    pub(crate) size: (u16, u16),
    /// Width and height of a cell in pixels.
    pub(crate) cell_pixels: (u16, u16),
}
