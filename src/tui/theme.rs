//! What roles look like on a terminal.
//!
//! The palette is the terminal's own sixteen colours wherever they will do, so that tiller follows the colours its user
//! chose; only the grounds of changed words are colours of the 256. One accent. Nothing is said by colour alone.

use ratatui::style::{Color, Modifier, Style};

use crate::render::{self, Ansi, Emphasis, Role};

/// Which colours there are to paint with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colours {
    /// For a dark ground.
    #[default]
    Dark,
    /// For a light ground.
    Light,
    /// None: bold, dim and underline only.
    None,
}

/// How everything looks.
#[derive(Clone, Debug)]
pub(super) struct Theme {
    colours: Colours,
}

impl Theme {
    pub(super) fn of(colours: Colours) -> Self {
        Self { colours }
    }

    /// How a style looks.
    pub(super) fn style(&self, style: render::Style) -> Style {
        self.colours.style(style)
    }
}

impl Colours {
    /// Chooses by the values of `NO_COLOR` and `COLORFGBG` (`15;0`: foreground, background; 7 and 15 are light grounds).
    #[must_use]
    pub fn choose(no_color: Option<&str>, colorfgbg: Option<&str>) -> Self {
        if no_color.is_some_and(|value| !value.is_empty()) {
            return Self::None;
        }
        match colorfgbg.and_then(|value| value.rsplit(';').next()) {
            Some("7" | "15") => Self::Light,
            Some(_) | None => Self::Dark,
        }
    }

    /// How a style looks.
    fn style(self, style: render::Style) -> Style {
        let mut look = match self {
            Self::None => colourless(style.role),
            Self::Dark | Self::Light => self.coloured(style.role),
        };
        let modifiers = [
            (Emphasis::BOLD, Modifier::BOLD),
            (Emphasis::ITALIC, Modifier::ITALIC),
            (Emphasis::DIM, Modifier::DIM),
            (Emphasis::UNDERLINE, Modifier::UNDERLINED),
            (Emphasis::STRIKE, Modifier::CROSSED_OUT),
            (Emphasis::REVERSED, Modifier::REVERSED),
        ];
        for (emphasis, modifier) in modifiers {
            if style.emphasis.has(emphasis) {
                look = look.add_modifier(modifier);
            }
        }
        if self != Self::None {
            look.bg = style.ground.map_or(look.bg, |ground| self.coloured(ground).bg);
            look.fg = style.fg.map(colour).or(look.fg);
            look.bg = style.bg.map(colour).or(look.bg);
        }
        look
    }

    fn coloured(self, role: Role) -> Style {
        let light = self == Self::Light;
        let pick = |dark: Color, on_light: Color| if light { on_light } else { dark };
        let style = Style::new();
        match role {
            Role::Text | Role::User => style,
            Role::Muted => style.fg(pick(Color::Indexed(245), Color::Indexed(242))),
            Role::Thinking => {
                style.fg(pick(Color::Indexed(245), Color::Indexed(242))).add_modifier(Modifier::ITALIC)
            }
            Role::Accent | Role::Quote => style.fg(pick(Color::Indexed(80), Color::Indexed(30))),
            Role::Heading => style.fg(pick(Color::Indexed(80), Color::Indexed(30))),
            Role::Code => style.fg(pick(Color::Indexed(180), Color::Indexed(94))),
            Role::Link => style.fg(pick(Color::Indexed(111), Color::Indexed(25))),
            Role::DiffAdded | Role::Success => style.fg(pick(Color::Indexed(114), Color::Indexed(28))),
            Role::DiffRemoved | Role::Error => style.fg(pick(Color::Indexed(174), Color::Indexed(124))),
            Role::DiffAddedWord => style
                .fg(pick(Color::Indexed(157), Color::Indexed(22)))
                .bg(pick(Color::Indexed(22), Color::Indexed(194))),
            Role::DiffRemovedWord => style
                .fg(pick(Color::Indexed(217), Color::Indexed(88)))
                .bg(pick(Color::Indexed(52), Color::Indexed(224))),
            Role::Warning => style.fg(pick(Color::Indexed(179), Color::Indexed(130))),
            Role::Keyword => style.fg(pick(Color::Indexed(140), Color::Indexed(90))),
            Role::String => style.fg(pick(Color::Indexed(108), Color::Indexed(29))),
            Role::Comment => {
                style.fg(pick(Color::Indexed(244), Color::Indexed(243))).add_modifier(Modifier::ITALIC)
            }
            Role::Constant => style.fg(pick(Color::Indexed(173), Color::Indexed(130))),
            Role::Function => style.fg(pick(Color::Indexed(110), Color::Indexed(25))),
            Role::Type => style.fg(pick(Color::Indexed(180), Color::Indexed(94))),
            Role::Operator => style.fg(pick(Color::Indexed(249), Color::Indexed(240))),
            Role::Name => style.fg(pick(Color::Indexed(109), Color::Indexed(24))),
        }
    }
}

/// A colour of a command's own choice: the first sixteen are the terminal's.
const fn colour(ansi: Ansi) -> Color {
    match ansi {
        Ansi::Basic(index) | Ansi::Indexed(index) => Color::Indexed(index),
        Ansi::Rgb(red, green, blue) => Color::Rgb(red, green, blue),
    }
}

fn colourless(role: Role) -> Style {
    let style = Style::new();
    match role {
        Role::Text | Role::User | Role::Code | Role::Quote | Role::DiffAdded | Role::DiffRemoved => style,
        // Bold and dim are for reading by; more than two kinds of word would be noise without colours.
        Role::String | Role::Constant | Role::Function | Role::Type | Role::Operator | Role::Name => style,
        Role::Keyword => style.add_modifier(Modifier::BOLD),
        Role::Muted | Role::Comment => style.add_modifier(Modifier::DIM),
        Role::Thinking => style.add_modifier(Modifier::DIM).add_modifier(Modifier::ITALIC),
        Role::Accent | Role::Heading | Role::Success | Role::Error | Role::Warning => {
            style.add_modifier(Modifier::BOLD)
        }
        Role::Link => style.add_modifier(Modifier::UNDERLINED),
        Role::DiffAddedWord | Role::DiffRemovedWord => style.add_modifier(Modifier::REVERSED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_decides_on_colours() {
        assert_eq!(Colours::choose(Some("1"), Some("0;15")), Colours::None);
        assert_eq!(Colours::choose(Some(""), Some("0;15")), Colours::Light);
        assert_eq!(Colours::choose(None, Some("15;0")), Colours::Dark);
        assert_eq!(Colours::choose(None, None), Colours::Dark);
    }

    #[test]
    fn without_colours_no_role_has_one() {
        for role in [Role::Error, Role::DiffAddedWord, Role::Accent, Role::Muted, Role::Code] {
            let style = Colours::None.style(role.into());
            assert_eq!((style.fg, style.bg), (None, None));
        }
    }
}
