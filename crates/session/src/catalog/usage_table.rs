//! The catalog's table of usage: a row per log, model and quarter of an hour.
//!
//! The offset of every time zone from UTC is a multiple of a quarter of an hour, so quarters add up to the
//! days of any zone.

use std::collections::BTreeMap;

use rusqlite::{Connection, Row, Transaction, params};
use serde::Serialize;
use tiller_core::message::{Cost, Usage};
use tiller_core::unit::{Tokens, UnixMs, Usd};

/// A quarter of an hour, in milliseconds.
const QUARTER_MS: i64 = 15 * 60 * 1_000;

pub(super) const TABLE: &str = "
    CREATE TABLE usage (
        session INTEGER NOT NULL,
        quarter INTEGER NOT NULL,
        model TEXT NOT NULL,
        input INTEGER NOT NULL,
        output INTEGER NOT NULL,
        cache_read INTEGER NOT NULL,
        cache_write INTEGER NOT NULL,
        total INTEGER NOT NULL,
        cost REAL NOT NULL,
        PRIMARY KEY (session, quarter, model)
    ) WITHOUT ROWID;
    CREATE INDEX usage_by_quarter ON usage (quarter);
";

/// Usage of a model by the sessions of a directory, in a quarter of an hour.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct QuarterUsage {
    /// The start of the quarter.
    pub start: UnixMs,
    /// The working directory that the sessions now belong to.
    pub cwd: String,
    /// The model, as `provider/model`; empty if it isn't in the log.
    pub model: String,
    /// Tokens and cost. Of the cost, only the total is set.
    pub usage: Usage,
}

/// Usage in the scanned part of a log, by quarter and model.
#[derive(Debug, Default, PartialEq)]
pub(super) struct LogUsage(BTreeMap<(i64, String), Usage>);

impl LogUsage {
    pub(super) fn add(&mut self, time: UnixMs, model: &str, usage: &Usage) {
        self.0.entry((time.0.div_euclid(QUARTER_MS), model.to_owned())).or_default().add(usage);
    }
}

/// Adds the usage of a log's scanned part.
pub(super) fn add(transaction: &Transaction<'_>, session: i64, usage: &LogUsage) -> rusqlite::Result<()> {
    let mut upsert = transaction.prepare_cached(
        "INSERT INTO usage VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT DO UPDATE SET input = input + ?4, output = output + ?5, cache_read = cache_read + ?6,
             cache_write = cache_write + ?7, total = total + ?8, cost = cost + ?9",
    )?;
    for ((quarter, model), usage) in &usage.0 {
        let [input, output, cache_read, cache_write, total] =
            [usage.input, usage.output, usage.cache_read, usage.cache_write, usage.total()].map(to_column);
        let cost = cost_to_column(usage.cost.total);
        upsert.execute(params![
            session,
            quarter,
            model,
            input,
            output,
            cache_read,
            cache_write,
            total,
            cost
        ])?;
    }
    Ok(())
}

/// Removes the usage of a log.
pub(super) fn remove(transaction: &Transaction<'_>, session: i64) -> rusqlite::Result<()> {
    transaction.execute("DELETE FROM usage WHERE session = ?1", [session])?;
    Ok(())
}

/// Returns usage from the quarter that contains `since`, of logs whose path starts with `prefix`.
pub(super) fn select(
    connection: &Connection,
    prefix: &[u8],
    since: UnixMs,
) -> rusqlite::Result<Vec<QuarterUsage>> {
    let mut select = connection.prepare_cached(
        "SELECT quarter, cwd, model, sum(input), sum(output), sum(cache_read), sum(cache_write), sum(total), sum(cost)
         FROM usage JOIN sessions ON sessions.key = usage.session
         WHERE quarter >= ?1 AND substr(path, 1, ?2) = ?3
         GROUP BY quarter, cwd, model ORDER BY quarter, cwd, model",
    )?;
    let quarter = since.0.div_euclid(QUARTER_MS);
    select.query_map(params![quarter, prefix.len(), prefix], read_row)?.collect()
}

fn read_row(row: &Row<'_>) -> rusqlite::Result<QuarterUsage> {
    let tokens = |at: usize| row.get::<_, u64>(at).map(Tokens);
    let usage = Usage {
        input: tokens(3)?,
        output: tokens(4)?,
        cache_read: tokens(5)?,
        cache_write: tokens(6)?,
        total_tokens: tokens(7)?,
        cost: Cost { total: Usd(row.get(8)?), ..Cost::default() },
    };
    let start = UnixMs(row.get::<_, i64>(0)?.saturating_mul(QUARTER_MS));
    Ok(QuarterUsage { start, cwd: row.get(1)?, model: row.get(2)?, usage })
}

/// Converts a count for SQLite. A log may contain any number, so it is limited to a trillion: no sum
/// overflows.
fn to_column(tokens: Tokens) -> i64 {
    const MAX: u64 = 1_000_000_000_000;
    tokens.0.min(MAX).cast_signed()
}

/// Converts a cost for SQLite. It must be finite, because SQLite stores NaN as NULL.
fn cost_to_column(cost: Usd) -> f64 {
    const MAX: f64 = 1e9;
    if cost.0.is_finite() { cost.0.clamp(-MAX, MAX) } else { 0.0 }
}
