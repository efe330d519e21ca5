//! The color depth of a terminal, derived from its environment. Pure.

/// The number of available colors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ColorDepth {
    /// No colors: bold, dim, underline and reverse only.
    None,
    /// The sixteen colors that the terminal's user chooses.
    Sixteen,
    /// The sixteen colors, a color cube and grays.
    #[default]
    TwoHundredFiftySix,
    /// 24-bit colors.
    Millions,
}

/// Environment variables about the terminal; `None` if unset.
#[derive(Clone, Copy, Debug, Default)]
pub struct TerminalHints<'a> {
    /// `NO_COLOR` (no-color.org): any nonempty value disables colors.
    pub no_color: Option<&'a str>,
    /// `COLORTERM`: `truecolor` or `24bit`.
    pub colorterm: Option<&'a str>,
    /// `TERM`.
    pub term: Option<&'a str>,
    /// `TERM_PROGRAM`.
    pub term_program: Option<&'a str>,
    /// `TMUX`, which distinguishes tmux from screen if both use the name `screen`.
    pub tmux: Option<&'a str>,
    /// `WT_SESSION`, set by Windows Terminal.
    pub windows_terminal: Option<&'a str>,
}

/// Terminals with 24-bit colors that don't always report them, by a part of `TERM`.
const BY_TERM: [&str; 8] = ["kitty", "alacritty", "wezterm", "ghostty", "foot", "contour", "rio", "-direct"];

/// The same terminals by `TERM_PROGRAM`.
const BY_PROGRAM: [&str; 8] =
    ["iTerm.app", "WezTerm", "ghostty", "vscode", "Hyper", "rio", "WarpTerminal", "zed"];

impl ColorDepth {
    /// Returns the color depth to expect. Too few colors do no harm, so an unknown terminal gets sixteen.
    #[must_use]
    pub fn choose(hints: &TerminalHints<'_>) -> Self {
        let term = hints.term.unwrap_or_default();
        let is_set = |value: Option<&str>| value.is_some_and(|value| !value.is_empty());
        if is_set(hints.no_color) || term == "dumb" {
            return Self::None;
        }
        let by_name = if term.contains("256color") { Self::TwoHundredFiftySix } else { Self::Sixteen };
        // screen passes on its terminal's COLORTERM, but not 24-bit colors.
        if term.starts_with("screen") && !is_set(hints.tmux) {
            return by_name;
        }
        let is_reported = matches!(hints.colorterm, Some("truecolor" | "24bit"));
        let is_known = BY_TERM.iter().any(|part| term.contains(part))
            || hints.term_program.is_some_and(|program| BY_PROGRAM.contains(&program));
        if is_reported || is_known || is_set(hints.windows_terminal) { Self::Millions } else { by_name }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth_of(term: &str, hints: TerminalHints<'_>) -> ColorDepth {
        ColorDepth::choose(&TerminalHints { term: Some(term), ..hints })
    }

    #[test]
    fn color_depth_from_variables_and_known_terminals() {
        let none = TerminalHints::default();
        let truecolor = TerminalHints { colorterm: Some("truecolor"), ..none };
        assert_eq!(depth_of("xterm-256color", none), ColorDepth::TwoHundredFiftySix);
        assert_eq!(depth_of("xterm-256color", truecolor), ColorDepth::Millions);
        assert_eq!(depth_of("xterm", none), ColorDepth::Sixteen);
        assert_eq!(depth_of("linux", none), ColorDepth::Sixteen);
        assert_eq!(depth_of("xterm-kitty", none), ColorDepth::Millions);
        assert_eq!(depth_of("xterm-direct", none), ColorDepth::Millions);
        let program = |name| TerminalHints { term_program: Some(name), ..none };
        assert_eq!(depth_of("xterm-256color", program("vscode")), ColorDepth::Millions);
        assert_eq!(depth_of("xterm-256color", program("Apple_Terminal")), ColorDepth::TwoHundredFiftySix);
        assert_eq!(
            depth_of("xterm-256color", TerminalHints { windows_terminal: Some("{}"), ..none }),
            ColorDepth::Millions
        );
    }

    #[test]
    fn color_depth_no_color_and_dumb_have_none() {
        let truecolor = TerminalHints { colorterm: Some("24bit"), ..TerminalHints::default() };
        assert_eq!(depth_of("dumb", truecolor), ColorDepth::None);
        assert_eq!(
            depth_of("xterm-kitty", TerminalHints { no_color: Some("1"), ..truecolor }),
            ColorDepth::None
        );
        assert_eq!(
            depth_of("xterm-kitty", TerminalHints { no_color: Some(""), ..truecolor }),
            ColorDepth::Millions
        );
    }

    #[test]
    fn color_depth_screen_ignores_colorterm() {
        let inherited = TerminalHints { colorterm: Some("truecolor"), ..TerminalHints::default() };
        assert_eq!(depth_of("screen-256color", inherited), ColorDepth::TwoHundredFiftySix);
        assert_eq!(
            depth_of("screen-256color", TerminalHints { tmux: Some("/tmp/x"), ..inherited }),
            ColorDepth::Millions
        );
    }
}
