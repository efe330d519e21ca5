//! Values of theme files: colors, styles and variables.

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

/// A color in a file: `"#88c0d0"`, `"blue"`, `"name-of-a-variable"`, `""`, `110`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WrittenColor {
    Text(String),
    Index(u8),
}

/// A style in a file: only the text's color, or an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum WrittenStyle {
    Foreground(WrittenColor),
    FullStyle(FullStyle),
}

/// A style as an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct FullStyle {
    fg: Option<WrittenColor>,
    bg: Option<WrittenColor>,
    bold: bool,
    dim: bool,
    italic: bool,
    underline: bool,
    strike: bool,
    reverse: bool,
}

/// Colors by variable name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub(super) struct Variables(BTreeMap<String, WrittenColor>);

struct ColorVisitor;

impl Visitor<'_> for ColorVisitor {
    type Value = WrittenColor;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a color: \"#rrggbb\", a name, or a number from 0 to 255")
    }

    fn visit_str<E>(self, text: &str) -> Result<WrittenColor, E> {
        Ok(WrittenColor::Text(text.to_owned()))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<WrittenColor, E> {
        let index = u8::try_from(number)
            .map_err(|_| E::custom(format!("{number} is not one of the 256 colors, 0 to 255")))?;
        Ok(WrittenColor::Index(index))
    }
}

impl<'de> Deserialize<'de> for WrittenColor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ColorVisitor)
    }
}

struct StyleVisitor;

impl<'de> Visitor<'de> for StyleVisitor {
    type Value = WrittenStyle;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a color, or an object with fg, bg, bold, dim, italic, underline, strike, reverse")
    }

    fn visit_str<E>(self, text: &str) -> Result<WrittenStyle, E> {
        Ok(WrittenStyle::Foreground(WrittenColor::Text(text.to_owned())))
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<WrittenStyle, E> {
        ColorVisitor.visit_u64(number).map(WrittenStyle::Foreground)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<WrittenStyle, A::Error> {
        FullStyle::deserialize(MapAccessDeserializer::new(map))
            .map(WrittenStyle::FullStyle)
            .map_err(A::Error::custom)
    }
}

impl<'de> Deserialize<'de> for WrittenStyle {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StyleVisitor)
    }
}

impl FullStyle {
    fn emphasis(&self) -> Emphasis {
        let all = [
            (self.bold, Emphasis::BOLD),
            (self.dim, Emphasis::DIM),
            (self.italic, Emphasis::ITALIC),
            (self.underline, Emphasis::UNDERLINE),
            (self.strike, Emphasis::STRIKE),
            (self.reverse, Emphasis::REVERSED),
        ];
        let set = all.into_iter().filter(|(is_set, _)| *is_set);
        set.fold(Emphasis::NONE, |sum, (_, emphasis)| sum.and(emphasis))
    }
}

impl Variables {
    /// Resolves a color; `None` is the terminal's default. `path` is the value's path for errors.
    pub(super) fn color(&self, value: &WrittenColor, path: &str) -> Result<Option<ThemeColor>, ThemeError> {
        let mut value = value;
        // Each variable occurs at most once in a valid chain.
        for _ in 0..=self.0.len() {
            let text = match value {
                WrittenColor::Index(index) => return Ok(Some(ThemeColor::Indexed(*index))),
                WrittenColor::Text(text) => text,
            };
            if text.is_empty() || text == "default" {
                return Ok(None);
            }
            match self.0.get(text) {
                Some(next) => value = next,
                None => {
                    return ThemeColor::parse(text).map(Some).ok_or_else(|| self.unknown_color(text, path));
                }
            }
        }
        let WrittenColor::Text(variable) = value else { return Ok(None) };
        Err(ThemeError::Cycle { path: path.to_owned(), variable: variable.clone() })
    }

    fn unknown_color(&self, value: &str, path: &str) -> ThemeError {
        let names = self.0.keys().map(String::as_str).chain(color::NAMES);
        let nearest = suggest::nearest(value, names).filter(|_| !value.starts_with('#')).map(str::to_owned);
        ThemeError::UnknownColor { path: path.to_owned(), value: value.to_owned(), nearest }
    }

    pub(super) fn style(&self, value: &WrittenStyle, path: &str) -> Result<ThemeStyle, ThemeError> {
        let full = match value {
            WrittenStyle::Foreground(fg) => {
                return Ok(ThemeStyle { fg: self.color(fg, path)?, ..ThemeStyle::PLAIN });
            }
            WrittenStyle::FullStyle(full) => full,
        };
        let field_color = |value: &Option<WrittenColor>, name: &str| match value {
            Some(value) => self.color(value, &format!("{path}.{name}")),
            None => Ok(None),
        };
        Ok(ThemeStyle {
            fg: field_color(&full.fg, "fg")?,
            bg: field_color(&full.bg, "bg")?,
            emphasis: full.emphasis(),
        })
    }
}
