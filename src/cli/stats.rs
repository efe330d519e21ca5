//! `tiller stats`: tokens, cache hits and cost of all sessions by day, model and project, from the catalog.

mod chart;
mod report;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use self::chart::BarStyle;
use self::report::{StatsPeriod, UsageReport};
use super::args::CliArgs;
use super::console::stderr_line;
use super::failure::{CliFailure, DONE};
use super::progress::ProgressLine;
use super::sessions;
use super::stdout::{columns, print_text};
use crate::config::Environment;
use crate::session::SessionScope;

pub(super) fn run(arguments: &CliArgs, days: u16, as_json: bool) -> Result<u8, CliFailure> {
    let (_, manager) = sessions::open_manager(arguments)?;
    let period = StatsPeriod::until(Timestamp::now(), days, TimeZone::system()).map_err(CliFailure::usage)?;
    let mut catalog = manager.catalog()?;
    let mut line = ProgressLine::new();
    catalog.refresh(SessionScope::Everywhere, |progress| line.update(progress))?;
    drop(line);
    let report = UsageReport::new(&catalog.usage_since(period.since())?, &period);
    if as_json {
        sessions::output::print_json(&report)?;
    } else if report.is_empty() {
        stderr_line!("no usage since {}; `--days N` goes further back", report.first_day());
    } else {
        print_text(&report.text(columns(), bar_style()))?;
    }
    Ok(DONE)
}

/// Chooses block characters on a terminal with a UTF-8 locale, else ASCII.
fn bar_style() -> BarStyle {
    let environment = Environment::of_process();
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| environment.value(name));
    let locale = locale.unwrap_or_default().to_ascii_lowercase();
    let is_utf8 = ["utf-8", "utf8"].into_iter().any(|charset| locale.ends_with(charset));
    let is_terminal = columns() != usize::MAX;
    if is_utf8 && is_terminal { BarStyle::Blocks } else { BarStyle::Ascii }
}
