//! The terminal's capabilities, detected from the environment, because querying the terminal would delay the
//! first frame.

use tiller_render::{HighlightCache, Highlighting, LinkStyle, RenderOptions};

/// Values of `TERM_PROGRAM` for terminals with hyperlinks (OSC 8).
const LINKING_PROGRAMS: [&str; 7] =
    ["iTerm.app", "WezTerm", "ghostty", "vscode", "rio", "Tabby", "WarpTerminal"];

/// Prefixes of `TERM` for terminals with hyperlinks.
const LINKING_TERMS: [&str; 6] = ["xterm-kitty", "xterm-ghostty", "wezterm", "foot", "alacritty", "contour"];

/// Capabilities beyond text and colors. The default is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TerminalCapabilities {
    /// Hyperlinks.
    pub links: LinkStyle,
    /// The display of images.
    pub images: Images,
    /// The display of italics.
    pub italics: Italics,
    /// True inside tmux, which can store copied text.
    pub has_tmux: bool,
}

/// The display of italics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Italics {
    /// As italics.
    #[default]
    Slanted,
    /// Underlined, because GNU screen shows italics as reverse video.
    Underlined,
}

/// The display of images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Images {
    /// As a line of text.
    #[default]
    Line,
    /// As a line of text with the image beneath it, with kitty's graphics protocol.
    Painted,
    /// As a line of text with the image beneath it, with iTerm2's protocol.
    Inline,
}

impl TerminalCapabilities {
    /// Detects the capabilities from environment variables. Inside tmux and screen, which hide the outer
    /// terminal, there are few.
    #[must_use]
    pub fn detect(variable: impl Fn(&str) -> Option<String>) -> Self {
        let terminal = TerminalEnv::new(variable);
        Self {
            links: if terminal.links() { LinkStyle::Live } else { LinkStyle::Written },
            images: terminal.images(),
            italics: terminal.italics(),
            has_tmux: terminal.has("TMUX"),
        }
    }

    /// Returns the options for laying out text on this terminal, with the cache for its code.
    pub(crate) fn render_options(self, cache: HighlightCache) -> RenderOptions {
        RenderOptions { links: self.links, code: Highlighting::Background(cache) }
    }
}

struct TerminalEnv<F> {
    variable: F,
    term: String,
    program: String,
}

impl<F: Fn(&str) -> Option<String>> TerminalEnv<F> {
    fn new(variable: F) -> Self {
        let text = |name| variable(name).unwrap_or_default();
        let (term, program) = (text("TERM"), text("TERM_PROGRAM"));
        Self { variable, term, program }
    }

    fn has(&self, name: &str) -> bool {
        (self.variable)(name).is_some_and(|value| !value.is_empty())
    }

    /// The value of a variable as a number; 0 without one.
    fn number(&self, name: &str) -> u32 {
        (self.variable)(name).and_then(|value| value.parse().ok()).unwrap_or(0)
    }

    /// Returns true inside a multiplexer.
    fn is_inside(&self) -> bool {
        self.has("TMUX")
            || self.has("STY")
            || self.term.starts_with("tmux")
            || self.term.starts_with("screen")
    }

    /// Returns the display of italics. tmux shows italics regardless of `TERM`.
    fn italics(&self) -> Italics {
        let is_screen = self.has("STY") || self.term.starts_with("screen");
        if is_screen && !self.has("TMUX") { Italics::Underlined } else { Italics::Slanted }
    }

    fn images(&self) -> Images {
        match () {
            () if self.is_inside() || self.term == "dumb" => Images::Line,
            // WezTerm also has kitty's protocol, but shows an image with it only once the image appears
            // twice.
            () if self.program == "WezTerm" || self.term.starts_with("wezterm") => Images::Inline,
            () if self.paints() => Images::Painted,
            () if self.is_iterm() => Images::Inline,
            () => Images::Line,
        }
    }

    fn paints(&self) -> bool {
        let is_known = self.program == "ghostty"
            || ["xterm-kitty", "xterm-ghostty"].iter().any(|term| self.term.starts_with(term))
            || self.has("KITTY_WINDOW_ID");
        // Konsole supports kitty's protocol since 22.04.
        is_known || self.number("KONSOLE_VERSION") >= 220_400
    }

    /// Returns true for iTerm2. `LC_TERMINAL` is passed on by ssh; a terminal started from within iTerm2
    /// identifies itself with `TERM_PROGRAM`.
    fn is_iterm(&self) -> bool {
        let is_named = (self.variable)("LC_TERMINAL").is_some_and(|name| name == "iTerm2");
        self.program == "iTerm.app" || self.program.is_empty() && is_named
    }

    fn links(&self) -> bool {
        let is_known = LINKING_PROGRAMS.contains(&self.program.as_str())
            || LINKING_TERMS.iter().any(|term| self.term.starts_with(term))
            || ["KITTY_WINDOW_ID", "WT_SESSION", "ALACRITTY_WINDOW_ID"].iter().any(|name| self.has(name));
        // VTE supports hyperlinks since 0.50, Konsole since 20.12.
        let is_new = self.number("VTE_VERSION") >= 5_000 || self.number("KONSOLE_VERSION") >= 201_200;
        !self.is_inside() && self.term != "dumb" && (is_known || is_new)
    }
}

/// The program that handles the mouse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MouseUse {
    /// tiller: the wheel scrolls, a click folds, dragging selects and copies.
    #[default]
    Tiller,
    /// The terminal.
    Terminal,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn abilities(variables: &[(&str, &str)]) -> TerminalCapabilities {
        TerminalCapabilities::detect(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn capabilities_italics_are_underlined_in_screen() {
        for (variables, italics) in [
            (&[("TERM", "screen.xterm-256color"), ("STY", "1.pts")][..], Italics::Underlined),
            (&[("TERM", "screen-256color")], Italics::Underlined),
            (&[("TERM", "screen-256color"), ("TMUX", "/tmp/tmux,1,0")], Italics::Slanted),
            (&[("TERM", "xterm-256color")], Italics::Slanted),
        ] {
            assert_eq!(abilities(variables).italics, italics, "{variables:?}");
        }
    }

    #[test]
    fn capabilities_images_need_a_known_bare_terminal() {
        for variables in [
            &[("TERM", "xterm-kitty")][..],
            &[("TERM", "xterm-256color"), ("TERM_PROGRAM", "ghostty")],
            &[("TERM", "xterm-256color"), ("KONSOLE_VERSION", "230804")],
        ] {
            assert_eq!(abilities(variables).images, Images::Painted, "{variables:?}");
        }
        for variables in [
            &[("TERM", "xterm-256color"), ("TERM_PROGRAM", "iTerm.app"), ("LC_TERMINAL", "iTerm2")][..],
            &[("TERM", "xterm-256color"), ("LC_TERMINAL", "iTerm2")],
            &[("TERM", "xterm-256color"), ("TERM_PROGRAM", "WezTerm"), ("KITTY_WINDOW_ID", "1")],
        ] {
            assert_eq!(abilities(variables).images, Images::Inline, "{variables:?}");
        }
        for variables in [
            &[("TERM", "xterm-256color"), ("TERM_PROGRAM", "Apple_Terminal"), ("LC_TERMINAL", "iTerm2")][..],
            &[("TERM", "tmux-256color"), ("TERM_PROGRAM", "tmux"), ("LC_TERMINAL", "iTerm2")],
            &[("TERM", "xterm-256color"), ("TERM_PROGRAM", "iTerm.app"), ("TMUX", "/tmp/tmux,1,0")],
            &[("TERM", "tmux-256color"), ("KITTY_WINDOW_ID", "1")],
            &[("TERM", "xterm-kitty"), ("STY", "1.pts")],
        ] {
            assert_eq!(abilities(variables).images, Images::Line, "{variables:?}");
        }
    }

    #[test]
    fn capabilities_links_need_a_known_terminal() {
        for variables in [
            &[("TERM", "xterm-kitty")][..],
            &[("TERM", "xterm-256color"), ("TERM_PROGRAM", "iTerm.app")],
            &[("TERM", "xterm-256color"), ("VTE_VERSION", "7600")],
            &[("TERM", "foot-direct")],
        ] {
            assert_eq!(abilities(variables).links, LinkStyle::Live, "{variables:?}");
        }
        for variables in [
            &[][..],
            &[("TERM", "xterm-256color"), ("TERM_PROGRAM", "Apple_Terminal")],
            &[("TERM", "xterm-kitty"), ("TMUX", "/tmp/tmux,1,0")],
            &[("TERM", "screen-256color"), ("KITTY_WINDOW_ID", "1")],
            &[("TERM", "xterm"), ("VTE_VERSION", "4800")],
            &[("TERM", "dumb"), ("WT_SESSION", "x")],
        ] {
            assert_eq!(abilities(variables).links, LinkStyle::Written, "{variables:?}");
        }
    }
}
