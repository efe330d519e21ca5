//! Usage as a text table. Pure.

use crate::message::Usage;

/// Returns the heading of a table whose rows are about `subject`.
#[must_use]
pub fn heading(subject: &str) -> String {
    line(["cost", "input", "output", "cached", "written", "hits"], subject)
}

/// Returns a row of the table.
#[must_use]
pub fn row(name: &str, usage: &Usage) -> String {
    let cost = usage.cost.total.to_string();
    let [input, output, cache_read, cache_write] =
        &[usage.input, usage.output, usage.cache_read, usage.cache_write].map(|count| count.to_string());
    let hits = usage.cache_hit_rate().map_or("-".to_owned(), |rate| format!("{:.0}%", rate * 100.0));
    line([&cost, input, output, cache_read, cache_write, &hits], name)
}

/// Formats a row. The name comes last, so that a narrow terminal cuts it and not the numbers.
fn line([cost, input, output, cache_read, cache_write, hits]: [&str; 6], name: &str) -> String {
    format!("{cost:>8}  {input:>6}  {output:>6}  {cache_read:>6}  {cache_write:>7}  {hits:>4}  {name}")
}
