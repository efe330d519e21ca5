//! Sums of usage in a period, by day, model and project, as JSON and as text.

use std::collections::BTreeMap;

use anyhow::Context;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde::{Serialize, Serializer};
use tiller_core::counted::counted;

use super::chart::{BarStyle, bar};
use crate::cli::sessions::output::one_line;
use crate::cli::stdout::{fit, fit_end};
use crate::message::Usage;
use crate::session::QuarterUsage;
use crate::unit::{Tokens, UnixMs, Usd};
use crate::usage_text;

/// Maximum width of the chart, in columns: longer bars aren't clearer, and a file has no width.
const MAX_CHART_COLUMNS: usize = 120;

/// Entire days in a time zone, up to today.
pub(super) struct StatsPeriod {
    first: Date,
    last: Date,
    zone: TimeZone,
}

impl StatsPeriod {
    /// Creates the period of the last `days` days, including today.
    pub(super) fn until(now: Timestamp, days: u16, zone: TimeZone) -> anyhow::Result<Self> {
        let last = now.to_zoned(zone.clone()).date();
        let before = i64::from(days.saturating_sub(1)).days();
        let first = last.checked_sub(before).with_context(|| format!("--days {days} is too large"))?;
        Ok(Self { first, last, zone })
    }

    /// Returns the start of the first day.
    pub(super) fn since(&self) -> UnixMs {
        let start = self.first.to_zoned(self.zone.clone());
        UnixMs(start.map_or(i64::MIN, |start| start.timestamp().as_millisecond()))
    }

    /// Returns the day of a time. A later day, from a wrong clock, counts as today.
    fn day_of(&self, time: UnixMs) -> Date {
        let time = Timestamp::from_millisecond(time.0).unwrap_or(Timestamp::MAX);
        time.to_zoned(self.zone.clone()).date().min(self.last)
    }
}

/// Usage of a period.
#[derive(Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UsageReport {
    first_day: String,
    last_day: String,
    #[serde(serialize_with = "serialize_sums")]
    total: Usage,
    /// Every day from the first one with usage.
    days: Vec<NamedUsage>,
    /// The models, the most expensive first.
    models: Vec<NamedUsage>,
    /// The working directories, the most expensive first.
    projects: Vec<NamedUsage>,
}

/// Usage of a day, model or project.
#[derive(Debug, PartialEq, Serialize)]
struct NamedUsage {
    name: String,
    #[serde(flatten, serialize_with = "serialize_sums")]
    usage: Usage,
}

/// Sums of usage.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UsageSums {
    input: Tokens,
    output: Tokens,
    cache_read: Tokens,
    cache_write: Tokens,
    total_tokens: Tokens,
    cost: Usd,
    /// The share of the input that came from the cache; `None` without input.
    cache_hit_rate: Option<f64>,
}

fn serialize_sums<S: Serializer>(usage: &Usage, serializer: S) -> Result<S::Ok, S::Error> {
    let sums = UsageSums {
        input: usage.input,
        output: usage.output,
        cache_read: usage.cache_read,
        cache_write: usage.cache_write,
        total_tokens: usage.total(),
        cost: usage.cost.total,
        cache_hit_rate: usage.cache_hit_rate(),
    };
    sums.serialize(serializer)
}

impl UsageReport {
    pub(super) fn new(quarters: &[QuarterUsage], period: &StatsPeriod) -> Self {
        let mut total = Usage::default();
        let (mut days, mut models, mut projects) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        for quarter in quarters {
            total.add(&quarter.usage);
            add(&mut days, period.day_of(quarter.start), &quarter.usage);
            add(&mut models, quarter.model.as_str(), &quarter.usage);
            add(&mut projects, quarter.cwd.as_str(), &quarter.usage);
        }
        let first = days.keys().next().copied();
        let all_days = first.into_iter().flat_map(|first| first.series(1.day()));
        let days = all_days.take_while(|day| *day <= period.last).map(|day| NamedUsage {
            name: day.to_string(),
            usage: days.get(&day).cloned().unwrap_or_default(),
        });
        Self {
            first_day: period.first.to_string(),
            last_day: period.last.to_string(),
            total,
            days: days.collect(),
            models: by_cost(models),
            projects: by_cost(projects),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.days.is_empty()
    }

    pub(super) fn first_day(&self) -> &str {
        &self.first_day
    }

    /// Formats the report for lines of this many columns. In a file, names aren't cut.
    pub(super) fn text(&self, columns: usize, bars: BarStyle) -> String {
        let (cost, total_tokens) = (self.total.cost.total, counted(self.total.total(), "token", "tokens"));
        let mut lines =
            vec![format!("{} to {}: {cost}, {total_tokens}", self.first_day, self.last_day), String::new()];
        lines.extend(self.chart(columns.min(MAX_CHART_COLUMNS), bars));
        for (heading, rows) in [("model", &self.models), ("project", &self.projects)] {
            lines.push(String::new());
            lines.push(usage_text::heading(heading));
            let row = |row: &NamedUsage| {
                let room = columns.saturating_sub(usage_text::row("", &row.usage).len());
                usage_text::row(&fit_end(&shown_name(&row.name), room), &row.usage)
            };
            lines.extend(rows.iter().map(row));
        }
        lines.push(usage_text::row("total", &self.total));
        lines.iter().map(|line| fit(line.trim_end(), columns) + "\n").collect()
    }

    /// Draws a bar for each day: its cost, or its tokens if nothing cost anything.
    fn chart(&self, columns: usize, bars: BarStyle) -> Vec<String> {
        let is_free = self.total.cost.total <= Usd(0.0);
        // A day's tokens are far below 2^52, above which f64 isn't exact.
        #[expect(clippy::cast_precision_loss)]
        let value = |usage: &Usage| if is_free { usage.total().0 as f64 } else { usage.cost.total.0 };
        let label =
            |usage: &Usage| if is_free { usage.total().to_string() } else { usage.cost.total.to_string() };
        let max = self.days.iter().map(|day| value(&day.usage)).fold(f64::MIN_POSITIVE, f64::max);
        let label_width = self.days.iter().map(|day| label(&day.usage).len()).max().unwrap_or(0);
        let day_line = |day: &NamedUsage| {
            let start = format!("{}  {:>label_width$}  ", day.name, label(&day.usage));
            let width = columns.saturating_sub(start.len());
            start + &bar(value(&day.usage) / max, width, bars)
        };
        self.days.iter().map(day_line).collect()
    }
}

fn add<Key: Ord>(sums: &mut BTreeMap<Key, Usage>, key: Key, usage: &Usage) {
    sums.entry(key).or_default().add(usage);
}

fn by_cost(sums: BTreeMap<&str, Usage>) -> Vec<NamedUsage> {
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by(|(_, a), (_, b)| {
        b.cost.total.0.total_cmp(&a.cost.total.0).then_with(|| b.total().cmp(&a.total()))
    });
    let named = |(name, usage): (&str, Usage)| NamedUsage { name: name.to_owned(), usage };
    sums.into_iter().map(named).collect()
}

fn shown_name(name: &str) -> String {
    if name.is_empty() { "(unknown)".to_owned() } else { one_line(name) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Cost;

    /// Creates usage at a UTC time, nine tenths of which were read from the cache.
    fn quarter(time: &str, (cwd, model): (&str, &str), tokens: u64, cost: f64) -> QuarterUsage {
        let usage = Usage {
            input: Tokens(tokens),
            output: Tokens(tokens / 2),
            cache_read: Tokens(tokens * 9),
            cost: Cost { total: Usd(cost), ..Cost::default() },
            ..Usage::default()
        };
        QuarterUsage { start: UnixMs::from_iso(time).unwrap(), cwd: cwd.into(), model: model.into(), usage }
    }

    fn period(days: u16) -> StatsPeriod {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        StatsPeriod::until("2026-11-24T12:00:00Z".parse().unwrap(), days, zone).unwrap()
    }

    #[test]
    fn period_since_is_local_midnight() {
        assert_eq!(period(1).since().to_iso(), "2026-11-23T22:00:00.000Z");
        assert_eq!(period(30).since().to_iso(), "2026-10-25T22:00:00.000Z");
    }

    #[test]
    fn report_text_has_days_models_and_projects() {
        let quarters = [
            quarter("2026-11-21T10:00:00Z", ("/work/a", "p/large"), 1_000, 4.0),
            quarter("2026-11-22T21:45:00Z", ("/work/b", "p/small"), 100, 0.5),
            quarter("2026-11-22T22:00:00Z", ("/work/a", "p/small"), 100, 0.5),
            quarter("2026-11-25T10:00:00Z", ("/work/a", ""), 10, 2.0),
        ];
        let report = UsageReport::new(&quarters, &period(30));
        let expected = "\
2026-10-26 to 2026-11-24: $7.00, 13k to…

2026-11-21  $4.00  #####################
2026-11-22  $0.50  ###
2026-11-23  $0.50  ###
2026-11-24  $2.00  ###########

    cost   input  output  cached  writt…
   $4.00    1.0k     500    9.0k       …
   $2.00      10       5      90       …
   $1.00     200     100    1.8k       …
";
        let narrow = report.text(54, BarStyle::Ascii);
        assert!(
            narrow.ends_with("90%  …rk/b\n   $7.00    1.2k     605     11k        0   90%  total\n"),
            "{narrow}"
        );
        let text = report.text(40, BarStyle::Ascii);
        assert_eq!(text.lines().take(11).map(|line| format!("{line}\n")).collect::<String>(), expected);
        let table: Vec<String> =
            report.text(90, BarStyle::Ascii).lines().skip(11).map(str::to_owned).collect();
        assert_eq!(
            table,
            [
                "",
                "    cost   input  output  cached  written  hits  project",
                "   $6.50    1.1k     555     10k        0   90%  /work/a",
                "   $0.50     100      50     900        0   90%  /work/b",
                "   $7.00    1.2k     605     11k        0   90%  total",
            ]
        );
    }

    #[test]
    fn report_without_cost_shows_tokens() {
        let quarters = [quarter("2026-11-24T10:00:00Z", ("/work/a", "local/m"), 100, 0.0)];
        let text = UsageReport::new(&quarters, &period(1)).text(30, BarStyle::Blocks);
        assert_eq!(text.lines().nth(2), Some("2026-11-24  1.1k  ████████████"));
    }

    #[test]
    fn report_json_has_hit_rates() {
        let quarters = [quarter("2026-11-24T10:00:00Z", ("/work/a", "p/m"), 100, 0.5)];
        let json = serde_json::to_value(UsageReport::new(&quarters, &period(1))).unwrap();
        let sums = serde_json::json!({
            "input": 100, "output": 50, "cacheRead": 900, "cacheWrite": 0, "totalTokens": 1050, "cost": 0.5,
            "cacheHitRate": 0.9
        });
        let named = |name: &str| {
            let mut sums = sums.clone();
            sums["name"] = name.into();
            serde_json::json!([sums])
        };
        let expected = serde_json::json!({
            "firstDay": "2026-11-24", "lastDay": "2026-11-24", "total": sums,
            "days": named("2026-11-24"), "models": named("p/m"), "projects": named("/work/a")
        });
        assert_eq!(json, expected);
    }
}
