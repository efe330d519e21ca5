//! The environment of the front end: directories, theme, keymap, screen size.

use std::path::PathBuf;
use std::sync::Arc;

use tiller_core::id::SessionId;
use tiller_core::setting::{self, Setting};
use tiller_render::theme::{ColorDepth, resolve_theme};
use tiller_render::{HighlightCache, Highlighting, ImageLimits, RenderOptions};

use crate::action::{Action, BackgroundJob};
use crate::effect::Effect;
use crate::keymap::Keymap;
use crate::local_zone::LocalZone;
use crate::opened_session::ProviderKey;
use crate::terminal::capabilities::Images;
use crate::text::one_line;
use crate::theme;
use crate::theme::check::ThemeCheck;
use crate::theme::{ThemeOptions, ThemeState};

/// Maximum base64 length of a displayed image; writing it takes some tens of milliseconds.
const MAX_PAINTED: usize = 2 * 1024 * 1024;

/// Maximum base64 length of an image in one control sequence: iTerm2 rejects more than 1,048,576 bytes.
const MAX_INLINE: usize = 1_000_000;

/// An agent whose session is open.
#[derive(Clone, Debug)]
pub(crate) struct ShownAgent {
    pub(crate) name: String,
    pub(crate) id: SessionId,
}

/// The environment of the front end.
#[derive(Clone, Debug)]
pub(crate) struct UiContext {
    pub(crate) cwd: PathBuf,
    pub(crate) home: Option<PathBuf>,
    pub(crate) zone: LocalZone,
    pub(crate) theme: ThemeState,
    pub(crate) banner: Vec<String>,
    /// The agents whose sessions were opened, each from the one before; the last one is shown. Empty in the
    /// user's session.
    pub(crate) agents: Vec<ShownAgent>,
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

impl UiContext {
    /// Returns the size limits of a displayed image, at most a third of the screen.
    pub(crate) fn image_limits(&self) -> Option<ImageLimits> {
        let max_base64 = match self.images {
            Images::Line => return None,
            Images::Painted => MAX_PAINTED,
            Images::Inline => MAX_INLINE,
        };
        Some(ImageLimits { cell: self.cell_pixels, rows: self.size.1 / 3, max_base64 })
    }

    /// Creates the environment with the default keys, images as lines, and a screen of 80 by 24.
    pub(crate) fn new(cwd: PathBuf, home: Option<PathBuf>, zone: LocalZone, themes: &ThemeOptions) -> Self {
        Self {
            cwd,
            home,
            zone,
            theme: ThemeState::new(themes),
            banner: Vec::new(),
            agents: Vec::new(),
            provider_keys: Vec::new(),
            keymap: Arc::default(),
            render_options: RenderOptions::default(),
            images: Images::default(),
            size: (80, 24),
            cell_pixels: (8, 16),
        }
    }

    pub(crate) fn check_theme(&self, setting: &Setting, name: &str) -> ThemeCheck {
        theme::check::check(&self.theme.library, setting, &self.resolve_theme(name))
    }

    /// Sets a theme by name or file and saves the choice; a name that can't be set returns to the editor.
    pub(crate) fn choose_theme(&mut self, name: &str) -> Vec<Effect> {
        let problem = match self.check_theme(&setting::THEME, name) {
            ThemeCheck::Known => None,
            ThemeCheck::NotLoaded => {
                let name = one_line(name);
                Some(format!("theme `{name}` is not loaded; start with `tiller --theme FILE` to load it"))
            }
            ThemeCheck::Invalid(problem) => Some(problem),
        };
        if let Some(reason) = problem {
            return vec![Effect::RejectInput { typed: format!("/theme {name}").into(), reason }];
        }
        let value = self.resolve_theme(name);
        self.theme.set_theme(&setting::THEME, &value);
        let colorless = (self.theme.depth == ColorDepth::None)
            .then(|| Effect::flash(format!("Theme {value}: saved, but this terminal shows no colors.")));
        let save = BackgroundJob::SaveSetting { setting: &setting::THEME, value };
        colorless.into_iter().chain([Action::Background(save).into()]).collect()
    }

    /// A theme's name, or the absolute path of its file.
    pub(crate) fn resolve_theme(&self, name: &str) -> String {
        resolve_theme(name, &self.cwd, self.home.as_deref())
    }

    /// Returns the cache of highlighted code, if code is highlighted in the background.
    pub(crate) fn highlight_cache(&self) -> Option<&HighlightCache> {
        match &self.render_options.code {
            Highlighting::Background(cache) => Some(cache),
            Highlighting::Sync | Highlighting::Off => None,
        }
    }

    /// Returns the generation of the highlighted code. A new one makes layouts with unhighlighted code
    /// outdated.
    pub(crate) fn highlight_generation(&self) -> u64 {
        self.highlight_cache().map_or(0, HighlightCache::generation)
    }
}

#[cfg(test)]
impl UiContext {
    /// Returns the environment shared by tests: no colors, UTC, 80 by 24.
    pub(crate) fn example() -> Self {
        let themes = ThemeOptions { depth: ColorDepth::None, ..ThemeOptions::default() };
        Self {
            banner: vec![
                "tiller 0.1.0".into(),
                "demo model: canned answers; connect a real one with ANTHROPIC_API_KEY".into(),
            ],
            provider_keys: vec![ProviderKey {
                provider: "anthropic".into(),
                source: "key from auth.json".into(),
            }],
            ..Self::new(
                "/home/ada/code/conf".into(),
                Some("/home/ada".into()),
                jiff::tz::TimeZone::UTC.into(),
                &themes,
            )
        }
    }
}
