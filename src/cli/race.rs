//! `tiller race`: gives a prompt to several agents, shows their results as a table, and continues with one of them.

use std::io::{self, BufRead as _, Write as _};

use anyhow::anyhow;
use tokio::task::spawn_blocking;

use super::args::{RaceArgs, RacePick};
use super::console;
use super::console::stderr_line;
use super::failure::{CliFailure, DONE, FAILED, INTERRUPTED};
use super::frontend::{FrontEnd, Stdio};
use super::run_input::RunInput;
use super::signals::SignalGuard;
use super::start::{print_notices, start, wire};
use super::stdout::print_text;
use crate::agent::AgentSession;
use crate::agent::agents::{LaneState, Race, RaceLane, RaceOptions, split_models};
use crate::id::EntryId;

pub(super) async fn run(input: &RunInput, arguments: &RaceArgs) -> Result<u8, CliFailure> {
    let wired = wire(input, FrontEnd::Print).await?;
    let _scratch = wired.scratch;
    let agent = start(input, wired.parts).await?;
    print_notices(&wired.notices, &agent, "open it in the TUI to send or drop them").await;
    let interruption = SignalGuard::watch(agent.clone());
    let outcome = tokio::select! {
        outcome = race(&agent, arguments) => outcome,
        () = interruption.wait() => Ok(INTERRUPTED),
    };
    // The lanes of a race that was interrupted are stopped, and their worktrees removed.
    let _ = agent.close().await;
    outcome
}

async fn race(agent: &AgentSession, arguments: &RaceArgs) -> Result<u8, CliFailure> {
    let options = options(arguments);
    let lanes = options.models.len();
    if let Some(RacePick::Lane(number)) = arguments.pick
        && !(1..=lanes).contains(&number)
    {
        return Err(CliFailure::usage(anyhow!("--pick: there is no lane {number}; the race has {lanes}")));
    }
    let mut race = Race::start(agent, options).await.map_err(CliFailure::usage)?;
    let mut shown: Vec<LaneState> = Vec::new();
    loop {
        let lanes = race.lanes();
        report_changes(&mut shown, &lanes);
        if !race.changed().await {
            break;
        }
    }
    let lanes = race.lanes();
    report_changes(&mut shown, &lanes);
    if arguments.json {
        print_text(&(serde_json::to_string_pretty(&lanes).map_err(CliFailure::run)? + "\n"))?;
    } else {
        print_text(&table(&lanes))?;
    }
    let picked = pick(&lanes, arguments).await?;
    if let Some(number) = picked {
        race.pick(number).await.map_err(CliFailure::run)?;
        stderr_line!("picked lane {number}; continue with: tiller --session {}", agent.reader().id());
    }
    let has_result = lanes.iter().any(|lane| lane.state == LaneState::Finished);
    let is_missing = arguments.pick.is_some() && picked.is_none();
    Ok(if has_result && !is_missing { DONE } else { FAILED })
}

fn options(arguments: &RaceArgs) -> RaceOptions {
    let models = arguments.models.as_deref().map(split_models).unwrap_or_default();
    RaceOptions {
        prompt: arguments.prompt.clone(),
        from: arguments.from.as_deref().map(EntryId::new),
        models: if models.is_empty() { vec![None; arguments.lanes] } else { models },
        check: arguments.check.clone(),
    }
}

/// Prints a line for each lane whose state has changed.
fn report_changes(shown: &mut Vec<LaneState>, lanes: &[RaceLane]) {
    for (at, lane) in lanes.iter().enumerate() {
        if shown.get(at) != Some(&lane.state) {
            let reason = if let LaneState::Failed(reason) = &lane.state {
                format!(": {reason}")
            } else {
                String::new()
            };
            stderr_line!("lane {} {}{reason}", lane.number, lane.state);
        }
    }
    *shown = lanes.iter().map(|lane| lane.state.clone()).collect();
}

/// The lanes as a table.
fn table(lanes: &[RaceLane]) -> String {
    let mut rows = vec![
        ["lane", "result", "check", "changes", "turns", "tokens", "cost", "time", "model"].map(str::to_owned),
    ];
    rows.extend(lanes.iter().map(|lane| {
        [
            lane.number.to_string(),
            lane.state.to_string(),
            lane.check_text().to_owned(),
            lane.changes.as_ref().map(ToString::to_string).unwrap_or_default(),
            lane.activity.turns.to_string(),
            lane.activity.tokens.to_string(),
            lane.activity.cost.to_string(),
            format!("{}s", lane.elapsed_ms / 1_000),
            lane.model.clone().unwrap_or_default(),
        ]
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..rows[0].len()).map(width).collect();
    let line = |row: &[String; 9]| {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// Chooses a lane, by the option or by asking; `None` for none.
async fn pick(lanes: &[RaceLane], arguments: &RaceArgs) -> Result<Option<usize>, CliFailure> {
    match arguments.pick {
        Some(RacePick::Passed) => {
            let has_passed = |lane: &&RaceLane| lane.check.as_ref().is_some_and(|check| check.has_passed);
            Ok(lanes.iter().find(has_passed).map(|lane| lane.number))
        }
        Some(RacePick::Lane(number)) => Ok(Some(number)),
        None if Stdio::from_process().stdin_is_terminal => ask(lanes).await,
        None => Ok(None),
    }
}

async fn ask(lanes: &[RaceLane]) -> Result<Option<usize>, CliFailure> {
    let numbers: Vec<usize> =
        lanes.iter().filter(|lane| lane.state == LaneState::Finished).map(|lane| lane.number).collect();
    if numbers.is_empty() {
        return Ok(None);
    }
    loop {
        let mut err = console::stderr();
        let _ = write!(err, "Pick a lane (Enter for none): ").and_then(|()| err.flush());
        let mut line = String::new();
        // Reading the terminal blocks.
        let read = spawn_blocking(move || io::stdin().lock().read_line(&mut line).map(|count| (count, line)));
        let (count, line) = read.await.map_err(CliFailure::run)?.map_err(CliFailure::run)?;
        match line.trim() {
            "" => return Ok(None),
            _ if count == 0 => return Ok(None),
            text => match text.parse() {
                Ok(number) if numbers.contains(&number) => return Ok(Some(number)),
                _ => stderr_line!("`{text}` is not a lane with a result"),
            },
        }
    }
}
