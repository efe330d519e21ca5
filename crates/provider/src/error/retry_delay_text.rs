//! The retry delay in error messages: "Please try again in 9m38.016s" (Groq, OpenAI), "Please retry in
//! 20.04s" (Gemini).

use std::time::Duration;

/// Texts before the delay, in lower case.
const PREFIXES: [&str; 2] = ["try again in ", "retry in "];

/// Parses the delay in a message in lower case.
pub(super) fn parse_retry_delay(text: &str) -> Option<Duration> {
    PREFIXES.iter().find_map(|prefix| parse_delay(&text[text.find(prefix)? + prefix.len()..]))
}

/// Parses `1h2m3.5s`, `350ms`, `20 seconds`; the rest of the text is ignored.
pub(super) fn parse_delay(text: &str) -> Option<Duration> {
    let (mut rest, mut total) = (text, None);
    while let Some(end) = rest.find(|c: char| !c.is_ascii_digit() && c != '.').filter(|end| *end > 0) {
        // Ignore a period after the last unit.
        let Ok(number) = rest[..end].parse::<f64>() else { break };
        let after = rest[end..].trim_start();
        let unit = after.find(|c: char| !c.is_ascii_lowercase()).map_or(after, |end| &after[..end]);
        let (seconds, length) = unit_seconds(unit)?;
        total = Some(total.unwrap_or(0.0) + number * seconds);
        rest = &after[length..];
    }
    Duration::try_from_secs_f64(total?).ok()
}

/// Returns the seconds of a unit, and the length of its name.
fn unit_seconds(unit: &str) -> Option<(f64, usize)> {
    let known =
        [("ms", 0.001), ("milliseconds", 0.001), ("s", 1.0), ("sec", 1.0), ("second", 1.0), ("seconds", 1.0)];
    let longer =
        [("m", 60.0), ("min", 60.0), ("minute", 60.0), ("minutes", 60.0), ("h", 3_600.0), ("hours", 3_600.0)];
    let found = known.iter().chain(&longer).find(|(name, _)| *name == unit)?;
    Some((found.1, found.0.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_retry_delay_every_observed_form() {
        for (text, seconds) in [
            ("please try again in 4.77s. need more tokens?", Some(4.77)),
            ("please try again in 9m38.016s.", Some(578.016)),
            ("please retry in 20.04466179s.", Some(20.044_661_79)),
            ("try again in 350ms", Some(0.35)),
            ("please try again in 20 seconds", Some(20.0)),
            ("try again in 1h2m3s", Some(3_723.0)),
            ("please try again in a moment", None),
            ("please try again later", None),
            ("retry in 5 parsecs", None),
            ("retry in 1.2.3s", None),
        ] {
            let expected = seconds.map(Duration::from_secs_f64);
            assert_eq!(parse_retry_delay(text), expected, "{text}");
        }
    }
}
