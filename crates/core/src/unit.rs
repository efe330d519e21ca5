//! Quantities that carry their unit in their type: moments, tokens, money.

use std::fmt;
use std::ops::{Add, AddAssign, Range};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

/// A moment, in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMs(pub i64);

impl UnixMs {
    /// Writes the moment as ISO-8601 UTC with milliseconds, `2026-11-21T03:16:58.198Z`.
    ///
    /// A moment outside the years -9999 to 9999 is written as the nearest one inside.
    #[must_use]
    pub fn to_iso(self) -> String {
        let moment = jiff::Timestamp::from_millisecond(self.0).unwrap_or(if self.0 < 0 {
            jiff::Timestamp::MIN
        } else {
            jiff::Timestamp::MAX
        });
        format!("{moment:.3}")
    }

    /// Reads an ISO-8601 moment with an offset; `None` when it isn't one.
    #[must_use]
    pub fn from_iso(text: &str) -> Option<Self> {
        Self::from_usual_iso(text)
            .or_else(|| text.parse::<jiff::Timestamp>().ok().map(|moment| Self(moment.as_millisecond())))
    }

    /// Reads `2026-11-21T03:16:58.198Z`, the form of nearly every moment in a log, many times faster than the general
    /// form. `None` for every other, leap seconds among them.
    fn from_usual_iso(text: &str) -> Option<Self> {
        let digits = <&[u8; 24]>::try_from(text.as_bytes()).ok()?;
        for (at, sign) in [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':'), (19, b'.'), (23, b'Z')] {
            if digits[at] != sign {
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
        // Days up to 28 are in every month; the general form knows the others.
        if !(1..=12).contains(&month) || !(1..=28).contains(&day) || hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        let days = days_since_1970(year, month, day);
        Some(Self((((days * 24 + hour) * 60 + minute) * 60 + second) * 1_000 + number(20..23)?))
    }

    /// Milliseconds from `earlier` to here, never negative.
    #[must_use]
    pub fn since_ms(self, earlier: Self) -> u64 {
        u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0)
    }

    /// How long ago the moment is at `now`, in the largest unit that fits: `now`, `5m`, `3h`, `2d`.
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
    fn from(moment: SystemTime) -> Self {
        let since = moment.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// Days from 1970-01-01 to a day of the Gregorian calendar from the year 0 on. The year is taken to begin in March, so that the
/// leap day is its last.
const fn days_since_1970(year: i64, month: i64, day: i64) -> i64 {
    /// From 0000-03-01 to 1970-01-01.
    const BEFORE_1970: i64 = 719_468;
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + day_of_year - BEFORE_1970
}

/// A count with separators, as people read it: `12,345`.
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

/// A number of tokens, as a provider counts them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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

/// Shows `950`, `3.1k`, `48k`, `1.2M`.
impl fmt::Display for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n @ 0..=999 => write!(f, "{n}"),
            n @ 1_000..=9_999 => write!(f, "{}.{}k", n / 1_000, n % 1_000 / 100),
            n @ 10_000..=999_999 => write!(f, "{}k", n / 1_000),
            n => write!(f, "{}.{}M", n / 1_000_000, n % 1_000_000 / 100_000),
        }
    }
}

/// US dollars.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
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

/// Shows `$0.21`; below a cent `$0.0042`.
impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 > 0.0 && self.0 < 0.01 { write!(f, "${:.4}", self.0) } else { write!(f, "${:.2}", self.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_goes_to_iso_and_back() {
        let moment = UnixMs(1_795_231_018_198);
        assert_eq!(moment.to_iso(), "2026-11-21T03:16:58.198Z");
        assert_eq!(UnixMs::from_iso("2026-11-21T03:16:58.198Z"), Some(moment));
        assert_eq!(UnixMs::from_iso("yesterday"), None);
        assert_eq!(UnixMs(0).to_iso(), "1970-01-01T00:00:00.000Z");
    }

    #[test]
    fn the_usual_form_of_a_moment_reads_like_the_general_one() {
        let days = (0..400_000_i64).step_by(3).map(|day| day * 86_400_000 + day * 7_919 - 62_000_000_000_000);
        for moment in days.map(UnixMs) {
            let text = moment.to_iso();
            let general = text.parse::<jiff::Timestamp>().unwrap().as_millisecond();
            assert_eq!(UnixMs::from_iso(&text), Some(UnixMs(general)), "{text}");
        }
        for wrong in ["2026-02-30T00:00:00.000Z", "2026-13-01T00:00:00.000Z", "2026-01-01T24:00:00.000Z"] {
            assert_eq!(UnixMs::from_iso(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn ages_are_short() {
        let age = |ms: i64| UnixMs(200_000_000 - ms).age(UnixMs(200_000_000));
        assert_eq!(
            [age(-1), age(5_000), age(300_000), age(7_300_000), age(190_000_000)],
            ["now", "now", "5m", "2h", "2d"]
        );
    }
    #[test]
    fn counts_are_grouped() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(thousands), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn tokens_are_shown_short() {
        let shown: Vec<_> =
            [0, 950, 3_149, 48_200, 1_250_000].into_iter().map(|n| Tokens(n).to_string()).collect();
        assert_eq!(shown, ["0", "950", "3.1k", "48k", "1.2M"]);
    }

    #[test]
    fn money_below_a_cent_keeps_its_digits() {
        assert_eq!(Usd(0.0042).to_string(), "$0.0042");
        assert_eq!(Usd(0.211).to_string(), "$0.21");
        assert_eq!(Usd(0.0).to_string(), "$0.00");
    }
}
