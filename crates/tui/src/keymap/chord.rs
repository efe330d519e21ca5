//! A key with its modifiers, and its text form: `ctrl+shift+p`, `alt+enter`, `?`.

use std::fmt;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

/// Names of keys that aren't characters. If a key has several names, the first is displayed.
const NAMES: [(&str, KeyCode); 20] = [
    ("enter", KeyCode::Enter),
    ("return", KeyCode::Enter),
    ("esc", KeyCode::Esc),
    ("escape", KeyCode::Esc),
    ("tab", KeyCode::Tab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("pgup", KeyCode::PageUp),
    ("pageup", KeyCode::PageUp),
    ("pgdn", KeyCode::PageDown),
    ("pagedown", KeyCode::PageDown),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("space", KeyCode::Char(' ')),
    ("plus", KeyCode::Char('+')),
];

/// Names of modifiers, in display order.
const MODIFIERS: [(&str, KeyModifiers); 4] = [
    ("ctrl", KeyModifiers::CONTROL),
    ("alt", KeyModifiers::ALT),
    ("shift", KeyModifiers::SHIFT),
    ("super", KeyModifiers::SUPER),
];

/// A key with its modifiers, normalized across the ways in which terminals report it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Chord {
    code: KeyCode,
    modifiers: KeyModifiers,
}

impl Chord {
    pub(crate) fn from_event(key: KeyEvent) -> Self {
        let known = MODIFIERS.iter().fold(KeyModifiers::NONE, |all, (_, one)| all | *one);
        let mut modifiers = key.modifiers & known;
        let code = match key.code {
            KeyCode::BackTab => {
                modifiers |= KeyModifiers::SHIFT;
                KeyCode::Tab
            }
            // With ctrl or alt, the letter is the key; otherwise, the character is the typed one and already
            // includes shift.
            KeyCode::Char(c) if modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
                if c.is_uppercase() {
                    modifiers |= KeyModifiers::SHIFT;
                }
                KeyCode::Char(latin(c.to_lowercase().next().unwrap_or(c)))
            }
            KeyCode::Char(c) => {
                modifiers -= KeyModifiers::SHIFT;
                KeyCode::Char(c)
            }
            code => code,
        };
        Self { code, modifiers }
    }

    /// Returns true if the key types a character.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.code, KeyCode::Char(_)) && self.modifiers.is_empty()
    }

    /// Parses `ctrl+shift+p`.
    ///
    /// # Errors
    ///
    /// A message that names the unknown modifier or key.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let lower = text.trim().to_lowercase();
        let (before, name) = match lower.rfind('+') {
            // The plus sign itself: `+`, `ctrl++`.
            Some(at) if at + 1 == lower.len() => (lower[..at].trim_end_matches('+'), "+"),
            Some(at) => (&lower[..at], &lower[at + 1..]),
            None => ("", lower.as_str()),
        };
        let mut modifiers = KeyModifiers::NONE;
        for word in before.split('+').filter(|word| !word.is_empty()) {
            let known = MODIFIERS.iter().find(|(name, _)| *name == word);
            let (_, modifier) = known.ok_or_else(|| {
                format!("`{text}`: unknown modifier `{word}`; use ctrl, alt, shift or super")
            })?;
            modifiers |= *modifier;
        }
        let code = code(name).ok_or_else(|| match before {
            "" => format!("unknown key `{text}`"),
            _ => format!("`{text}`: unknown key `{name}`"),
        })?;
        let typed = KeyEvent::new(code, modifiers);
        // A character without modifiers is case-sensitive.
        let typed = match (code, text.trim().chars().next()) {
            (KeyCode::Char(_), Some(c)) if before.is_empty() && name.chars().count() == 1 => {
                KeyEvent::new(KeyCode::Char(c), modifiers)
            }
            _ => typed,
        };
        Ok(Self::from_event(typed))
    }
}

/// Letters of other scripts, and the letters on the same keys of a US keyboard.
const SCRIPTS: [(&str, &str); 2] = [
    ("йцукенгшщзхъфывапролджэячсмитьбю", "qwertyuiop[]asdfghjkl;'zxcvbnm,."),
    ("ςερτυθιοπασδφγηξκλζχψωβνμ", "wertyuiopasdfghjklzxcvbnm"),
];

/// Returns the letter on the same key of a US keyboard. With the keyboard protocol, terminals report the
/// layout's character; without it, the control character, which is the same on every layout.
fn latin(c: char) -> char {
    let at = |from: &str, to: &str| to.chars().nth(from.chars().position(|other| other == c)?);
    SCRIPTS.iter().find_map(|(from, to)| at(from, to)).unwrap_or(c)
}

fn code(name: &str) -> Option<KeyCode> {
    if let Some((_, code)) = NAMES.iter().find(|(known, _)| *known == name) {
        return Some(*code);
    }
    if let Some(number) = name.strip_prefix('f').and_then(|number| number.parse().ok()) {
        return (1..=12).contains(&number).then_some(KeyCode::F(number));
    }
    let mut chars = name.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => Some(KeyCode::Char(c)),
        _ => None,
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, _) in MODIFIERS.iter().filter(|(_, modifier)| self.modifiers.contains(*modifier)) {
            write!(f, "{name}+")?;
        }
        let named = NAMES.iter().find(|(_, code)| *code == self.code);
        match (named, self.code) {
            (Some(("plus", _)), _) => f.write_str("+"),
            (Some((name, _)), _) => f.write_str(name),
            (None, KeyCode::Char(c)) => write!(f, "{c}"),
            (None, KeyCode::F(number)) => write!(f, "f{number}"),
            (None, code) => write!(f, "{code:?}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chord(text: &str) -> Chord {
        Chord::parse(text).unwrap()
    }

    #[test]
    fn chord_parse_round_trips() {
        for text in
            ["ctrl+shift+p", "alt+enter", "?", "G", "g", "f5", "shift+tab", "+", "ctrl++", "esc", "space"]
        {
            assert_eq!(chord(text).to_string(), text);
        }
        assert_eq!(chord("Escape"), chord("esc"));
        assert_eq!(chord("shift+ctrl+P"), chord("ctrl+shift+p"));
    }

    #[test]
    fn chord_normalizes_terminal_variants() {
        let shifted = KeyModifiers::CONTROL | KeyModifiers::SHIFT;
        for key in [
            KeyEvent::new(KeyCode::Char('P'), KeyModifiers::CONTROL),
            KeyEvent::new(KeyCode::Char('P'), shifted),
            KeyEvent::new(KeyCode::Char('p'), shifted),
        ] {
            assert_eq!(Chord::from_event(key), chord("ctrl+shift+p"), "{key:?}");
        }
        assert_eq!(
            Chord::from_event(KeyEvent::new(KeyCode::BackTab, KeyModifiers::NONE)),
            chord("shift+tab")
        );
        assert_eq!(Chord::from_event(KeyEvent::new(KeyCode::Char('?'), KeyModifiers::SHIFT)), chord("?"));
    }

    #[test]
    fn chord_control_letter_ignores_the_script() {
        for (letter, key) in [('с', "ctrl+c"), ('з', "ctrl+p"), ('ψ', "ctrl+c"), ('π', "ctrl+p")] {
            assert_eq!(
                Chord::from_event(KeyEvent::new(KeyCode::Char(letter), KeyModifiers::CONTROL)),
                chord(key)
            );
        }
        for (from, to) in SCRIPTS {
            assert_eq!(from.chars().count(), to.chars().count());
        }
    }

    #[test]
    fn chord_parse_error_names_the_part() {
        assert_eq!(
            Chord::parse("hyper+x").unwrap_err(),
            "`hyper+x`: unknown modifier `hyper`; use ctrl, alt, shift or super"
        );
        assert_eq!(Chord::parse("ctrl+banana").unwrap_err(), "`ctrl+banana`: unknown key `banana`");
        assert!(Chord::parse("").is_err());
    }
}
