//! How many colours a terminal has, going by what its environment says. Pure.

/// How many colours there are to paint with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ColorDepth {
    /// None: bold, dim, underline and reverse only.
    None,
    /// The sixteen that the terminal's user chooses.
    Sixteen,
    /// Those, a cube and greys.
    #[default]
    TwoHundredFiftySix,
    /// All of 24 bits.
    Millions,
}

/// What an environment says about its terminal; a variable that isn't set is `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct TerminalHints<'a> {
    /// `NO_COLOR` (no-color.org): anything but nothing means no colours.
    pub no_color: Option<&'a str>,
    /// `COLORTERM`: `truecolor` or `24bit`.
    pub colorterm: Option<&'a str>,
    /// `TERM`.
    pub term: Option<&'a str>,
    /// `TERM_PROGRAM`.
    pub term_program: Option<&'a str>,
    /// `TMUX`, which tells tmux from screen where both call themselves `screen`.
    pub tmux: Option<&'a str>,
    /// `WT_SESSION`, which Windows Terminal sets.
    pub windows_terminal: Option<&'a str>,
}

/// Terminals with 24 bits that don't all say so, by a part of `TERM`.
const BY_TERM: [&str; 8] = ["kitty", "alacritty", "wezterm", "ghostty", "foot", "contour", "rio", "-direct"];

/// The same by `TERM_PROGRAM`.
const BY_PROGRAM: [&str; 8] =
    ["iTerm.app", "WezTerm", "ghostty", "vscode", "Hyper", "rio", "WarpTerminal", "zed"];

impl ColorDepth {
    /// Reads the value of the setting `colours`; `auto` and whatever else there isn't is `None`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "24bit" => Some(Self::Millions),
            "256" => Some(Self::TwoHundredFiftySix),
            "16" => Some(Self::Sixteen),
            "none" => Some(Self::None),
            _ => None,
        }
    }

    /// What the environment lets expect. Too few colours are never wrong, only plain: what is unknown has sixteen.
    #[must_use]
    pub fn choose(hints: &TerminalHints<'_>) -> Self {
        let term = hints.term.unwrap_or_default();
        let is_set = |value: Option<&str>| value.is_some_and(|value| !value.is_empty());
        if is_set(hints.no_color) || term == "dumb" {
            return Self::None;
        }
        let by_name = if term.contains("256color") { Self::TwoHundredFiftySix } else { Self::Sixteen };
        // screen hands COLORTERM on from the terminal that it runs in, and 24 bits not.
        if term.starts_with("screen") && !is_set(hints.tmux) {
            return by_name;
        }
        let says_so = matches!(hints.colorterm, Some("truecolor" | "24bit"));
        let known = BY_TERM.iter().any(|part| term.contains(part))
            || hints.term_program.is_some_and(|program| BY_PROGRAM.contains(&program));
        if says_so || known || is_set(hints.windows_terminal) { Self::Millions } else { by_name }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(term: &str, more: TerminalHints<'_>) -> ColorDepth {
        ColorDepth::choose(&TerminalHints { term: Some(term), ..more })
    }

    #[test]
    fn a_terminal_has_what_it_says_and_what_is_known_of_it() {
        let none = TerminalHints::default();
        let truecolor = TerminalHints { colorterm: Some("truecolor"), ..none };
        assert_eq!(of("xterm-256color", none), ColorDepth::TwoHundredFiftySix);
        assert_eq!(of("xterm-256color", truecolor), ColorDepth::Millions);
        assert_eq!(of("xterm", none), ColorDepth::Sixteen);
        assert_eq!(of("linux", none), ColorDepth::Sixteen);
        assert_eq!(of("xterm-kitty", none), ColorDepth::Millions);
        assert_eq!(of("xterm-direct", none), ColorDepth::Millions);
        let program = |name| TerminalHints { term_program: Some(name), ..none };
        assert_eq!(of("xterm-256color", program("vscode")), ColorDepth::Millions);
        assert_eq!(of("xterm-256color", program("Apple_Terminal")), ColorDepth::TwoHundredFiftySix);
        assert_eq!(
            of("xterm-256color", TerminalHints { windows_terminal: Some("{}"), ..none }),
            ColorDepth::Millions
        );
    }

    #[test]
    fn no_color_and_dumb_terminals_get_none_whatever_else_is_said() {
        let truecolor = TerminalHints { colorterm: Some("24bit"), ..TerminalHints::default() };
        assert_eq!(of("dumb", truecolor), ColorDepth::None);
        assert_eq!(of("xterm-kitty", TerminalHints { no_color: Some("1"), ..truecolor }), ColorDepth::None);
        assert_eq!(
            of("xterm-kitty", TerminalHints { no_color: Some(""), ..truecolor }),
            ColorDepth::Millions
        );
    }

    #[test]
    fn screen_does_not_have_what_it_hands_on_and_tmux_has() {
        let handed_on = TerminalHints { colorterm: Some("truecolor"), ..TerminalHints::default() };
        assert_eq!(of("screen-256color", handed_on), ColorDepth::TwoHundredFiftySix);
        assert_eq!(
            of("screen-256color", TerminalHints { tmux: Some("/tmp/x"), ..handed_on }),
            ColorDepth::Millions
        );
    }

    #[test]
    fn the_setting_knows_every_depth() {
        let read = ["24bit", "256", "16", "none", "auto"].map(ColorDepth::parse);
        let depths =
            [ColorDepth::Millions, ColorDepth::TwoHundredFiftySix, ColorDepth::Sixteen, ColorDepth::None];
        assert_eq!(read[..4], depths.map(Some));
        assert_eq!(read[4], None);
    }
}
