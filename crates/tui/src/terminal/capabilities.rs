//! What a terminal can do, as far as the environment tells: asking the terminal would delay the first frame.

use tiller_render::{Highlighting, LinkStyle, RenderOptions};

/// Terminals that make links of text (OSC 8), by `TERM_PROGRAM`.
const LINKING_PROGRAMS: [&str; 7] =
    ["iTerm.app", "WezTerm", "ghostty", "vscode", "rio", "Tabby", "WarpTerminal"];

/// The same by the beginning of `TERM`.
const LINKING_TERMS: [&str; 6] = ["xterm-kitty", "xterm-ghostty", "wezterm", "foot", "alacritty", "contour"];

/// What a terminal can do beyond text and colours. The default is none of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Abilities {
    /// Whether text can lead somewhere.
    pub links: LinkStyle,
    /// What becomes of images.
    pub images: Images,
    /// What becomes of italics.
    pub italics: Italics,
    /// Whether tmux is there to keep what is copied.
    pub has_tmux: bool,
}

/// What becomes of italics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Italics {
    /// They stand slanted.
    #[default]
    Slanted,
    /// They are underlined: on GNU screen what is written in italics comes out reversed.
    Underlined,
}

/// What becomes of images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Images {
    /// A line that says what it is.
    #[default]
    Line,
    /// The line, and the picture beneath it by the graphics protocol of kitty.
    Painted,
    /// The same by the protocol of iTerm2.
    Inline,
}

impl Abilities {
    /// What the terminal can do that these variables of the environment tell of. Inside tmux and screen, which keep what lies behind
    /// them to themselves, that is little.
    #[must_use]
    pub fn of(variable: impl Fn(&str) -> Option<String>) -> Self {
        let terminal = TerminalKind::of(variable);
        Self {
            links: if terminal.links() { LinkStyle::Live } else { LinkStyle::Spelled },
            images: terminal.images(),
            italics: terminal.italics(),
            has_tmux: terminal.has("TMUX"),
        }
    }

    /// In what manner text becomes lines on it.
    pub(crate) fn manner(self) -> RenderOptions {
        RenderOptions { links: self.links, code: Highlighting::Background }
    }
}

struct TerminalKind<F> {
    variable: F,
    term: String,
    program: String,
}

impl<F: Fn(&str) -> Option<String>> TerminalKind<F> {
    fn of(variable: F) -> Self {
        let text = |name| variable(name).unwrap_or_default();
        let (term, program) = (text("TERM"), text("TERM_PROGRAM"));
        Self { variable, term, program }
    }

    fn has(&self, name: &str) -> bool {
        (self.variable)(name).is_some_and(|value| !value.is_empty())
    }

    /// The number that a variable begins with, 0 without one.
    fn number(&self, name: &str) -> u32 {
        (self.variable)(name).and_then(|value| value.parse().ok()).unwrap_or(0)
    }

    /// Whether another program stands between.
    fn is_inside(&self) -> bool {
        self.has("TMUX")
            || self.has("STY")
            || self.term.starts_with("tmux")
            || self.term.starts_with("screen")
    }

    /// tmux knows italics by whatever name it goes.
    fn italics(&self) -> Italics {
        let is_screen = self.has("STY") || self.term.starts_with("screen");
        if is_screen && !self.has("TMUX") { Italics::Underlined } else { Italics::Slanted }
    }

    fn images(&self) -> Images {
        match () {
            () if self.is_inside() || self.term == "dumb" => Images::Line,
            // It has kitty's protocol too, but a picture shown twice is shown once by it.
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
        // Konsole has kitty's protocol since 22.04.
        is_known || self.number("KONSOLE_VERSION") >= 220_400
    }

    /// Of the two variables the second one comes along through ssh; a terminal that was started from iTerm2 says who it is by the first.
    fn is_iterm(&self) -> bool {
        let is_named = (self.variable)("LC_TERMINAL").is_some_and(|name| name == "iTerm2");
        self.program == "iTerm.app" || self.program.is_empty() && is_named
    }

    fn links(&self) -> bool {
        let is_known = LINKING_PROGRAMS.contains(&self.program.as_str())
            || LINKING_TERMS.iter().any(|term| self.term.starts_with(term))
            || ["KITTY_WINDOW_ID", "WT_SESSION", "ALACRITTY_WINDOW_ID"].iter().any(|name| self.has(name));
        // VTE has links since 0.50, Konsole since 20.12.
        let is_new = self.number("VTE_VERSION") >= 5_000 || self.number("KONSOLE_VERSION") >= 201_200;
        !self.is_inside() && self.term != "dumb" && (is_known || is_new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn abilities(variables: &[(&str, &str)]) -> Abilities {
        Abilities::of(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn italics_are_underlined_in_screen_which_would_reverse_them() {
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
    fn pictures_are_for_terminals_that_have_the_protocol_and_never_through_another_program() {
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
    fn links_are_for_terminals_that_are_known_to_have_them() {
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
            assert_eq!(abilities(variables).links, LinkStyle::Spelled, "{variables:?}");
        }
    }
}
