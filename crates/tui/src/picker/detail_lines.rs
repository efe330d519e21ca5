//! Lines of an item's detail.

use jiff::tz::TimeZone;
use tiller_core::unit::UnixMs;
use tiller_render::{Emphasis, Line, Role, Span, Style};

use crate::clock::now;
use crate::text::one_line;

/// The mark before the current entry.
pub(crate) const fn mark(is_current: bool) -> &'static str {
    if is_current { "● " } else { "  " }
}

pub(crate) fn fact(name: &str, value: impl Into<String>) -> Line {
    Line::from(vec![Span::new(format!("{name:<11}"), Role::Muted), Span::new(value, Role::Text)])
}

pub(crate) fn heading(text: &str) -> Line {
    Line::new(one_line(text), Style::from(Role::Text).with(Emphasis::BOLD))
}

/// Formats the local time of a start: `14:02`, with the date if it isn't today's.
fn local_time(time: UnixMs, now: UnixMs, zone: &TimeZone) -> String {
    let local =
        |time: UnixMs| jiff::Timestamp::from_millisecond(time.0).unwrap_or_default().to_zoned(zone.clone());
    let format = if local(time).date() == local(now).date() { "%H:%M" } else { "%Y-%m-%d %H:%M" };
    local(time).strftime(format).to_string()
}

/// Returns a line with the local time of a start.
pub(crate) fn started(since: UnixMs) -> Line {
    fact("started", local_time(since, now(), &TimeZone::system()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn local_time_of_another_day_has_the_date() {
        let hour = |hour: i64| UnixMs(hour * 3_600_000);
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(local_time(hour(20), hour(21), &zone), "22:00");
        assert_eq!(local_time(hour(20), hour(23), &zone), "1970-01-01 22:00");
    }
}
