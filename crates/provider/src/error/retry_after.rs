//! The retry delay in response headers: `retry-after-ms`, or `retry-after` in seconds or as a date (RFC 9110,
//! 10.2.3).

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use reqwest::header::{HeaderMap, RETRY_AFTER};

/// Parses the delay from `headers` at the time `now`; zero for a date in the past.
pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(ms) = text("retry-after-ms").and_then(parse_number) {
        return seconds(ms / 1_000.0);
    }
    let value = text(RETRY_AFTER.as_str())?;
    match parse_number(value) {
        Some(number) => seconds(number),
        None => duration_until(value, now),
    }
}

fn parse_number(text: &str) -> Option<f64> {
    text.parse().ok()
}

fn seconds(number: f64) -> Option<Duration> {
    Duration::try_from_secs_f64(number).ok()
}

fn duration_until(date: &str, now: Timestamp) -> Option<Duration> {
    static PARSER: DateTimeParser = DateTimeParser::new();
    let time = PARSER.parse_timestamp(date).ok()?;
    Some(Duration::try_from(time.duration_since(now)).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use reqwest::header::{HeaderName, HeaderValue};

    use super::*;

    fn wait(pairs: &[(&'static str, &'static str)]) -> Option<Duration> {
        let headers = pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect();
        retry_after(&headers, "2026-11-21T07:28:00Z".parse().unwrap())
    }

    #[test]
    fn retry_after_every_form_is_parsed() {
        let seconds = |n| Some(Duration::from_secs(n));
        assert_eq!(wait(&[("retry-after", "20")]), seconds(20));
        assert_eq!(wait(&[("retry-after", " 1.5 ")]), Some(Duration::from_millis(1_500)));
        assert_eq!(
            wait(&[("retry-after", "20"), ("retry-after-ms", "250")]),
            Some(Duration::from_millis(250))
        );
        assert_eq!(wait(&[("retry-after", "Sat, 21 Nov 2026 07:28:30 GMT")]), seconds(30));
        assert_eq!(wait(&[("retry-after", "Sat, 21 Nov 2026 07:00:00 GMT")]), seconds(0));
    }

    #[test]
    fn retry_after_invalid_value_is_none() {
        for value in ["", "soon", "-3", "NaN", "1e400"] {
            assert_eq!(wait(&[("retry-after", value)]), None, "{value}");
        }
        assert_eq!(wait(&[]), None);
    }
}
