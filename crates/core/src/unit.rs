//! Quantities with their unit in the type: points in time, tokens, money.

use std::fmt;
use std::ops::{Add, AddAssign, Range};
use std::time::SystemTime;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A point in time, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct UnixMs(pub i64);

impl UnixMs {
    /// Formats the time as ISO-8601 UTC with milliseconds, `2026-11-21T03:16:58.198Z`.
    ///
    /// A time outside the years -9999 to 9999 is formatted as the nearest one inside.
    #[must_use]
    pub fn to_iso(self) -> String {
        let time = jiff::Timestamp::from_millisecond(self.0).unwrap_or(if self.0 < 0 {
            jiff::Timestamp::MIN
        } else {
            jiff::Timestamp::MAX
        });
        format!("{time:.3}")
    }

    /// Parses an ISO-8601 time with an offset; `None` if it isn't one.
    #[must_use]
    pub fn from_iso(text: &str) -> Option<Self> {
        Self::from_common_iso(text)
            .or_else(|| text.parse::<jiff::Timestamp>().ok().map(|time| Self(time.as_millisecond())))
    }

    /// Parses `2026-11-21T03:16:58.198Z`, the form of nearly every time in a log, many times faster than the
    /// general parser. `None` for every other form, leap seconds included.
    fn from_common_iso(text: &str) -> Option<Self> {
        let digits = <&[u8; 24]>::try_from(text.as_bytes()).ok()?;
        for (at, separator) in
            [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')]
        {
            if digits[at] != separator {
                return None;
            }
        }
        let number = |range: Range<usize>| {
            digits[range]
                .iter()
                .try_fold(0_i64, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + i64::from(byte - b'0')))
        };
        let (year, month, day) = (number(0..4)?, number(5..7)?, number(8..10)?);
        let (hour, minute, second) = (number(11..13)?, number(14..16)?, number(17..19)?);
        // Every month has days up to 28; the general parser handles later ones.
        if !(1..=12).contains(&month) || !(1..=28).contains(&day) || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let days = days_since_1970(year, month, day);
        Some(Self((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000 + number(20..23)?))
    }

    /// Returns the milliseconds since `earlier`, never negative.
    #[must_use]
    pub fn since_ms(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }

    /// Returns the age at `now` in the largest unit that fits: `now`, `5m`, `3h`, `2d`.
    #[must_use]
    pub fn age(self, now: Self) -> String {
        match now.since_ms(self) / 60_000 {
            0 => "now".to_owned(),
            m @ 1..=59 => format!("{m}m"),
            m @ 60..=1_439 => format!("{}h", m / 60),
            m => format!("{}d", m / 1_440),
        }
    }
}

impl From<SystemTime> for UnixMs {
    fn from(time: SystemTime) -> Self {
        let duration = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(duration.as_millis()).unwrap_or(i64::MAX))
    }
}

/// Returns the days from 1970-01-01 to a day of the Gregorian calendar, in the year 0 or later. The year is
/// counted from March, so that the leap day is its last.
const fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    /// Days from 0000-03-01 to 1970-01-01.
    const BEFORE_1970: i64 = 719_468;
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - BEFORE_1970
}

/// Formats a number with thousands separators: `12,345`.
#[must_use]
pub fn thousands(count: usize) -> String {
    let digits = count.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number of tokens, as counted by a provider.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Tokens(pub u64);

impl Add for Tokens {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Tokens {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl From<u8> for Tokens {
    fn from(count: u8) -> Self {
        Self(count.into())
    }
}

/// Formats `950`, `3.1k`, `48k`, `1.2M`, rounded.
impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n @ 0..=999 => write!(f, "{n}"),
            n @ 1_000..=9_949 => write!(f, "{:.1}k", n as f64 / 1e3),
            n @ 9_950..=999_499 => write!(f, "{:.0}k", n as f64 / 1e3),
            n => write!(f, "{:.1}M", n as f64 / 1e6),
        }
    }
}

/// US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Usd(pub f64);

impl Add for Usd {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0 + other.0)
    }
}

impl AddAssign for Usd {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

/// Formats `$0.21`; below a cent `$0.0042`.
impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 > 0.0 && self.0 < 0.01 { write!(f, "${:.4}", self.0) } else { write!(f, "${:.2}", self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unix_ms_to_iso_and_back_is_unchanged() {
        let time = UnixMs(1_795_231_018_198);
        assert_eq!(time.to_iso(), "2026-11-21T03:16:58.198Z");
        assert_eq!(UnixMs::from_iso("2026-11-21T03:16:58.198Z"), Some(time));
        assert_eq!(UnixMs::from_iso("yesterday"), None);
        assert_eq!(UnixMs(0).to_iso(), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn unix_ms_usual_form_parses_like_general_one() {
        let days = (0..400_000_i64).step_by(3).map(|day| day * 86_400_000 + day * 7_919 - 62_000_000_000_000);
        for time in days.map(UnixMs) {
            let text = time.to_iso();
            let general = text.parse::<jiff::Timestamp>().unwrap().as_millisecond();
            assert_eq!(UnixMs::from_iso(&text), Some(UnixMs(general)), "{text}");
        }
        for invalid in ["2026-02-30T00:00:00.000Z", "2026-13-01T00:00:00.000Z", "2026-01-01T24:00:00.000Z"] {
            assert_eq!(UnixMs::from_iso(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn unix_ms_age_is_short() {
        let age = |ms: i64| UnixMs(200_000_000 - ms).age(UnixMs(200_000_000));
        assert_eq!(
            [age(-1), age(5_000), age(300_000), age(7_300_000), age(190_000_000)],
            ["now", "now", "5m", "2h", "2d"]
        );
    }
    #[test]
    fn thousands_are_grouped() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn tokens_are_displayed_short() {
        let shown: Vec<_> = [0, 950, 3_149, 8_192, 9_960, 48_700, 999_600, 1_250_001]
            .into_iter()
            .map(|n| Tokens(n).to_string())
            .collect();
        assert_eq!(shown, ["0", "950", "3.1k", "8.2k", "10k", "49k", "1.0M", "1.3M"]);
    }

    #[test]
    fn usd_below_a_cent_keeps_its_digits() {
        assert_eq!(Usd(0.0042).to_string(), "$0.0042");
        assert_eq!(Usd(0.211).to_string(), "$0.21");
        assert_eq!(Usd(0.0).to_string(), "$0.00");
    }
}
