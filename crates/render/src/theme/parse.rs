//! Values of theme files: a colour as it is written, a look as it is written, and the variables that colours may name.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use tiller_core::suggest;

use super::color::{self, ThemeColor};
use super::error::ThemeError;
use super::style::ThemeStyle;
use crate::Emphasis;

/// A colour as it is written: `"#88c0d0"`, `"blue"`, `"name-of-a-variable"`, `""`, `110`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Written {
    Text(String),
    Index(u8),
}

/// A look as it is written: the colour of its text alone, or everything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WrittenLook {
    Fg(Written),
    Full(Full),
}

/// A look written out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Full {
    fg: Option<Written>,
    bg: Option<Written>,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
    strike: bool,
    reverse: bool,
}

/// Colours by the names that a theme gives them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(super) struct Variables(BTreeMap<String, Written>);

struct WrittenVisitor;

impl Visitor<'_> for WrittenVisitor {
    type Value = Written;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a colour: \"#rrggbb\", a name, or a number of 0 to 255")
    }

    fn visit_str<E>(self, text: &str) -> Result<Written, E> {
        Ok(Written::Text(text.to_owned()))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Written, E> {
        let index = u8::try_from(number)
            .map_err(|_| E::custom(format!("{number} is not one of the 256 colours, 0 to 255")))?;
        Ok(Written::Index(index))
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(WrittenVisitor)
    }
}

struct LookVisitor;

impl<'de> Visitor<'de> for LookVisitor {
    type Value = WrittenLook;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a colour, or an object with fg, bg, bold, dim, italic, underline, strike, reverse")
    }

    fn visit_str<E>(self, text: &str) -> Result<WrittenLook, E> {
        Ok(WrittenLook::Fg(Written::Text(text.to_owned())))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<WrittenLook, E> {
        WrittenVisitor.visit_u64(number).map(WrittenLook::Fg)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WrittenLook, A::Error> {
        Full::deserialize(MapAccessDeserializer::new(map)).map(WrittenLook::Full).map_err(A::Error::custom)
    }
}

impl<'de> Deserialize<'de> for WrittenLook {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LookVisitor)
    }
}

impl Full {
    fn emphasis(&self) -> Emphasis {
        let all = [
            (self.bold, Emphasis::BOLD),
            (self.dim, Emphasis::DIM),
            (self.italic, Emphasis::ITALIC),
            (self.underline, Emphasis::UNDERLINE),
            (self.strike, Emphasis::STRIKE),
            (self.reverse, Emphasis::REVERSED),
        ];
        let given = all.into_iter().filter(|(is_so, _)| *is_so);
        given.fold(Emphasis::NONE, |sum, (_, emphasis)| sum.and(emphasis))
    }
}

impl Variables {
    /// The colour that is meant; `None` is the terminal's own. `place` is where it stands.
    pub(super) fn colour(&self, written: &Written, place: &str) -> Result<Option<ThemeColor>, ThemeError> {
        let mut written = written;
        // Each variable is passed at most once on a way that leads somewhere.
        for _ in 0..=self.0.len() {
            let text = match written {
                Written::Index(index) => return Ok(Some(ThemeColor::Indexed(*index))),
                Written::Text(text) => text,
            };
            if text.is_empty() || text == "default" {
                return Ok(None);
            }
            match self.0.get(text) {
                Some(next) => written = next,
                None => return ThemeColor::parse(text).map(Some).ok_or_else(|| self.unknown(text, place)),
            }
        }
        let Written::Text(variable) = written else { return Ok(None) };
        Err(ThemeError::Circle { place: place.to_owned(), variable: variable.clone() })
    }

    fn unknown(&self, value: &str, place: &str) -> ThemeError {
        let names = self.0.keys().map(String::as_str).chain(color::NAMES);
        let nearest = suggest::nearest(value, names).filter(|_| !value.starts_with('#')).map(str::to_owned);
        ThemeError::UnknownColour { place: place.to_owned(), value: value.to_owned(), nearest }
    }

    /// The look that is meant.
    pub(super) fn look(&self, written: &WrittenLook, place: &str) -> Result<ThemeStyle, ThemeError> {
        let full = match written {
            WrittenLook::Fg(fg) => {
                return Ok(ThemeStyle { fg: self.colour(fg, place)?, ..ThemeStyle::PLAIN });
            }
            WrittenLook::Full(full) => full,
        };
        let part = |written: &Option<Written>, name: &str| match written {
            Some(written) => self.colour(written, &format!("{place}.{name}")),
            None => Ok(None),
        };
        Ok(ThemeStyle { fg: part(&full.fg, "fg")?, bg: part(&full.bg, "bg")?, emphasis: full.emphasis() })
    }
}
