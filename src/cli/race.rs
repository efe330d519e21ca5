//! `tiller race`: gives a prompt to several agents, shows their results as a table, and continues with one of
//! them.

use std::collections::HashSet;
use std::io::{self, BufRead as _, Write as _};

use anyhow::anyhow;
use serde::Serialize;
use tokio::task::spawn_blocking;

use super::args::{RaceArgs, RacePick};
use super::console;
use super::console::stderr_line;
use super::failure::{CliFailure, DONE, FAILED, INTERRUPTED};
use super::frontend::{FrontEnd, Stdio};
use super::run_input::RunInput;
use super::signals::SignalGuard;
use super::start::{print_notices, start, wire};
use super::stdout::{columns, fit_lines, print_text, stderr_columns};
use crate::agent::AgentSession;
use crate::agent::agents::{LaneState, Race, RaceError, RaceLane, RaceOptions, split_models};
use crate::id::EntryId;

pub(super) async fn run(input: &RunInput, arguments: &RaceArgs) -> Result<u8, CliFailure> {
    let wired = wire(input, FrontEnd::Print).await?;
    let _scratch = wired.scratch;
    let agent = start(input, wired.parts).await?;
    print_notices(&wired.notices, &agent, "open it in the TUI to send or drop them").await;
    let interruption = SignalGuard::watch(agent.clone());
    let outcome = tokio::select! {
        outcome = race(&agent, arguments) => outcome,
        () = interruption.wait() => {
            print_hint(&agent, "interrupted; continue the race with", "");
            Ok(INTERRUPTED)
        }
    };
    // After an interrupt, the lanes are stopped and their worktrees removed.
    let _ = agent.close().await;
    outcome
}

async fn race(agent: &AgentSession, arguments: &RaceArgs) -> Result<u8, CliFailure> {
    let mut race = match &arguments.prompt {
        Some(prompt) => {
            let options = options(arguments, prompt);
            check_pick(arguments, options.models.len(), options.check.as_deref())?;
            Race::start(agent, options).await.map_err(|error| match error {
                RaceError::Entry(error) => error.into(),
                error => CliFailure::usage(error),
            })?
        }
        None => resume(agent, arguments).await?,
    };
    let mut progress = RaceProgress::new();
    loop {
        progress.show(&race.lanes());
        if !race.changed().await {
            break;
        }
    }
    let lanes = race.lanes();
    progress.finish(&lanes);
    if !arguments.json {
        print_text(&fit_lines(&table(&lanes), columns()))?;
    }
    if !lanes.iter().any(|lane| lane.state == LaneState::Finished) {
        print_json(arguments, &lanes, None)?;
        end_without_result(agent, race).await?;
        return Ok(FAILED);
    }
    let picked = pick(&lanes, arguments).await?;
    let outcome = match picked {
        Some(number) => race.pick(number).await,
        None => Ok(()),
    };
    print_json(arguments, &lanes, picked.filter(|_| outcome.is_ok()))?;
    outcome.map_err(CliFailure::run)?;
    if let Some(number) = picked {
        let reader = agent.reader();
        match reader.is_persistent() {
            true => stderr_line!("picked lane {number}; continue with: tiller --session {}", reader.id()),
            false => stderr_line!("picked lane {number}; the session was not saved"),
        }
    } else {
        print_hint(agent, "no lane picked; pick one with", " --pick N");
    }
    let is_missing = arguments.pick.is_some() && picked.is_none();
    Ok(if is_missing { FAILED } else { DONE })
}

/// A lane in the output of `--json`.
#[derive(Serialize)]
struct LaneOutput<'a> {
    #[serde(flatten)]
    lane: &'a RaceLane,
    /// True if the session continues with this lane.
    picked: bool,
}

/// Prints the lanes for `--json`.
fn print_json(arguments: &RaceArgs, lanes: &[RaceLane], picked: Option<usize>) -> Result<(), CliFailure> {
    if !arguments.json {
        return Ok(());
    }
    let output: Vec<LaneOutput<'_>> =
        lanes.iter().map(|lane| LaneOutput { lane, picked: picked == Some(lane.number) }).collect();
    print_text(&(serde_json::to_string_pretty(&output).map_err(CliFailure::run)? + "\n"))
}

/// Ends a race without a result, unless a lane can be resumed, and prints the next step.
async fn end_without_result(agent: &AgentSession, race: Race) -> Result<(), CliFailure> {
    let is_unfinished = race.reload_unfinished().await.map_err(CliFailure::run)?.is_some();
    if is_unfinished && agent.reader().is_persistent() {
        print_hint(agent, "no lane has a result; try again with", "");
        return Ok(());
    }
    let lanes = race.lanes();
    race.discard().await.map_err(CliFailure::run)?;
    let branches: Vec<&str> = lanes.iter().filter_map(RaceLane::branch).collect();
    match branches.is_empty() {
        true => stderr_line!("no lane has a result; the race is over"),
        false => stderr_line!(
            "no lane has a result; the race is over; changes remain on the branches: {}",
            branches.join(", ")
        ),
    }
    Ok(())
}

/// Finds the race of the session, and continues its interrupted lanes.
async fn resume(agent: &AgentSession, arguments: &RaceArgs) -> Result<Race, CliFailure> {
    let race = Race::find(agent).await.map_err(CliFailure::run)?;
    let mut race = race.ok_or_else(|| {
        let id = agent.reader().id().clone();
        CliFailure::usage(anyhow!(
            "session {id} has no race to resume; name another session, as in: tiller --session ID race --resume"
        ))
    })?;
    check_pick(arguments, race.lanes().len(), race.check())?;
    race.resume().await.map_err(CliFailure::run)?;
    Ok(race)
}

/// Prints the command that resumes the race, with more options, if the session is saved.
fn print_hint(agent: &AgentSession, text: &str, options: &str) {
    let reader = agent.reader();
    if reader.is_persistent() {
        stderr_line!("{text}: tiller --session {} race --resume{options}", reader.id());
    }
}

fn check_pick(arguments: &RaceArgs, lanes: usize, check: Option<&str>) -> Result<(), CliFailure> {
    match arguments.pick {
        Some(RacePick::Passed) if check.is_none() => {
            Err(CliFailure::usage(anyhow!("--pick passed: the race has no check; --check sets one")))
        }
        Some(RacePick::Lane(number)) if !(1..=lanes).contains(&number) => {
            Err(CliFailure::usage(anyhow!("--pick: there is no lane {number}; the race has {lanes}")))
        }
        _ => Ok(()),
    }
}

fn options(arguments: &RaceArgs, prompt: &str) -> RaceOptions {
    let models = arguments.models.as_deref().map(split_models).unwrap_or_default();
    RaceOptions {
        prompt: prompt.to_owned(),
        from: arguments.from.as_deref().map(EntryId::new),
        models: if models.is_empty() { vec![None; arguments.lanes] } else { models },
        check: arguments.check.clone(),
    }
}

/// Progress of the lanes on standard error: on a terminal a table that is redrawn in place, otherwise a line
/// for each lane that ends.
enum RaceProgress {
    Table {
        /// The number of lines that are drawn.
        lines: usize,
    },
    Lines {
        /// The lanes whose end has been printed.
        ended: HashSet<usize>,
    },
}

impl RaceProgress {
    fn new() -> Self {
        match console::stderr_is_terminal() {
            true => Self::Table { lines: 0 },
            false => Self::Lines { ended: HashSet::new() },
        }
    }

    fn show(&mut self, lanes: &[RaceLane]) {
        match self {
            Self::Table { lines } => {
                let table = table(lanes);
                console::redraw(lines, &table);
            }
            Self::Lines { ended } => {
                for lane in lanes.iter().filter(|lane| lane.state.is_over()) {
                    if ended.insert(lane.number) {
                        stderr_line!("{}", end_line(lane));
                    }
                }
            }
        }
    }

    /// Shows the end of the lanes. The table is removed, because the final one follows; that one doesn't show
    /// the reasons for failures, so they are printed here.
    fn finish(mut self, lanes: &[RaceLane]) {
        match &mut self {
            Self::Table { lines } => {
                console::redraw(lines, "");
                let failed = lanes.iter().filter(|lane| reason(lane).is_some());
                failed.for_each(|lane| stderr_line!("{}", end_line(lane)));
            }
            Self::Lines { .. } => self.show(lanes),
        }
    }
}

/// Returns the reason a lane failed.
fn reason(lane: &RaceLane) -> Option<&str> {
    if let LaneState::Failed(reason) = &lane.state { Some(reason) } else { None }
}

fn end_line(lane: &RaceLane) -> String {
    let mut line = format!("lane {} {}", lane.number, lane.state);
    reason(lane).into_iter().for_each(|reason| line.push_str(&format!(": {reason}")));
    if lane.check.is_some() {
        line.push_str(&format!(" · check {}", lane.check_text()));
    }
    lane.changes.iter().for_each(|changes| line.push_str(&format!(" · {changes}")));
    line
}

/// Formats the lanes as a table without empty columns. The model comes last, because its name may be long.
fn table(lanes: &[RaceLane]) -> String {
    const HEADINGS: [&str; 10] =
        ["lane", "result", "check", "changes", "turns", "tokens", "cost", "denied", "time", "model"];
    let mut rows = vec![HEADINGS.map(str::to_owned)];
    rows.extend(lanes.iter().map(|lane| {
        [
            lane.number.to_string(),
            lane.state.to_string(),
            lane.check_text().to_owned(),
            lane.changes.as_ref().map(ToString::to_string).unwrap_or_default(),
            lane.activity.turns.to_string(),
            lane.activity.tokens.to_string(),
            lane.activity.cost.to_string(),
            Some(lane.activity.denied)
                .filter(|denied| *denied > 0)
                .map(|it| it.to_string())
                .unwrap_or_default(),
            format!("{}s", lane.elapsed_ms / 1_000),
            lane.model.clone().unwrap_or_default(),
        ]
    }));
    let is_used = |column: &usize| rows[1..].iter().any(|row| !row[*column].is_empty());
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let columns: Vec<(usize, usize)> =
        (0..HEADINGS.len()).filter(is_used).map(|column| (column, width(column))).collect();
    let line = |row: &[String; HEADINGS.len()]| {
        let cells: Vec<String> =
            columns.iter().map(|(column, width)| format!("{:<width$}", row[*column])).collect();
        cells.join("  ").trim_end().to_owned() + "\n"
    };
    rows.iter().map(line).collect()
}

/// Chooses a lane, by the option or by asking the user; `None` if none is chosen.
async fn pick(lanes: &[RaceLane], arguments: &RaceArgs) -> Result<Option<usize>, CliFailure> {
    match arguments.pick {
        Some(RacePick::Passed) => {
            let has_passed = |lane: &&RaceLane| {
                lane.state == LaneState::Finished && lane.check.as_ref().is_some_and(|check| check.has_passed)
            };
            Ok(lanes.iter().find(has_passed).map(|lane| lane.number))
        }
        Some(RacePick::Lane(number)) => Ok(Some(number)),
        None if Stdio::from_process().stdin_is_terminal => {
            // The JSON is printed after the answer.
            if arguments.json {
                stderr_line!("{}", fit_lines(&table(lanes), stderr_columns()).trim_end());
            }
            ask(lanes).await
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::agents::AgentActivity;

    fn lane(number: usize) -> RaceLane {
        RaceLane {
            number,
            model: None,
            agent_id: None,
            state: LaneState::Finished,
            activity: AgentActivity::default(),
            elapsed_ms: 1_000,
            check: None,
            changes: None,
            leaf: None,
        }
    }

    #[test]
    fn table_omits_columns_without_values() {
        let denied = AgentActivity { denied: 2, ..AgentActivity::default() };
        let lanes = [lane(1), RaceLane { activity: denied, ..lane(2) }];
        let expected = "\
lane  result    turns  tokens  cost   denied  time
1     finished  0      0       $0.00          1s
2     finished  0      0       $0.00  2       1s
";
        assert_eq!(table(&lanes), expected);
    }

    #[test]
    fn check_pick_of_a_passed_lane_needs_a_check() {
        let arguments = RaceArgs {
            prompt: Some("Go.".to_owned()),
            resume: false,
            lanes: 2,
            models: None,
            check: None,
            from: None,
            pick: Some(RacePick::Passed),
            json: false,
        };
        assert!(check_pick(&arguments, 2, None).is_err());
        assert!(check_pick(&arguments, 2, Some("true")).is_ok());
    }
}
