//! Formats of text fields.

use serde::{Deserialize, Serialize};

/// The format of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TextFormat {
    /// An e-mail address.
    Email,
    /// A URI with its scheme.
    Uri,
    /// A date: `2026-11-30`.
    Date,
    /// A date and time with its offset: `2026-11-30T14:00:00Z` (RFC 3339).
    DateTime,
}

impl TextFormat {
    /// Checks a string.
    ///
    /// # Errors
    /// The expected format, with an example.
    pub fn check(self, text: &str) -> Result<(), String> {
        let (is_valid, expected) = match self {
            Self::Email => (is_email(text), "an e-mail address: name@example.org"),
            Self::Uri => (is_uri(text), "an address with its scheme: https://example.org"),
            Self::Date => (is_date(text), "a date: 2026-11-30"),
            Self::DateTime => (is_date_time(text), "a date and time with its offset: 2026-11-30T14:00:00Z"),
        };
        if is_valid { Ok(()) } else { Err(format!("not {expected}")) }
    }

    /// Returns the format's display name.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Email => "e-mail address",
            Self::Uri => "address (URI)",
            Self::Date => "date, 2026-11-30",
            Self::DateTime => "date and time, 2026-11-30T14:00:00Z",
        }
    }
}

/// Checks for one `@` between a name and a domain; only a mail server can check more.
fn is_email(text: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && !part.contains(char::is_whitespace);
    matches!(text.rsplit_once('@'), Some((name, domain)) if is_part(name) && !name.contains('@') && is_part(domain))
}

/// Checks for a scheme (RFC 3986, section 3.1) and something after it, without whitespace.
fn is_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c))
        && !rest.is_empty()
        && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

fn is_date(text: &str) -> bool {
    text.len() == "2026-11-30".len() && text.parse::<jiff::civil::Date>().is_ok()
}

fn is_date_time(text: &str) -> bool {
    // The parser also accepts time zone names in brackets.
    !text.contains('[') && text.contains(['T', 't']) && text.parse::<jiff::Timestamp>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn format_check_accepts_only_its_own() {
        let texts = [
            "ada@example.org",
            "https://example.org/a?b",
            "2026-11-30",
            "2026-11-30T14:00:00+01:00",
            "urn:isbn:1",
        ];
        let accepted = |format: TextFormat| texts.map(|text| format.check(text).is_ok());
        assert_eq!(accepted(TextFormat::Email), [true, false, false, false, false]);
        assert_eq!(accepted(TextFormat::Uri), [false, true, false, false, true]);
        assert_eq!(accepted(TextFormat::Date), [false, false, true, false, false]);
        assert_eq!(accepted(TextFormat::DateTime), [false, false, false, true, false]);
        for (format, text) in [
            (TextFormat::Email, "a@b@c"),
            (TextFormat::Email, "a b@c"),
            (TextFormat::Email, "@c"),
            (TextFormat::Uri, "1x:a"),
            (TextFormat::Uri, "http:"),
            (TextFormat::Uri, "http://a b"),
            (TextFormat::Date, "2026-02-30"),
            (TextFormat::Date, "20261130"),
            (TextFormat::DateTime, "2026-11-30T14:00:00"),
            (TextFormat::DateTime, "2026-11-30T14:00:00+01:00[Europe/Berlin]"),
        ] {
            assert!(format.check(text).is_err(), "{format:?} {text}");
        }
    }
}
