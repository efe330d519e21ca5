//! The race of a session, and the announcement of its end.

use tiller_engine::agents::{LaneState, Race, RaceLane};

use crate::message::TaskResult;

pub(super) struct OpenRace {
    /// The race; its lanes are stopped when this is dropped.
    pub(super) race: Race,
    /// The race's prompt, until its end is announced.
    pub(super) prompt: Option<String>,
}

/// Waits for the end of a race that isn't announced yet, and announces it; pending if there is none. If no
/// lane has a result, the race ends and its prompt returns to the composer, unless a lane can be resumed.
/// Cancel-safe.
pub(super) async fn announce_end(open: &mut Option<OpenRace>) -> Vec<TaskResult> {
    let Some(OpenRace { race, prompt }) = open.as_mut().filter(|open| open.prompt.is_some()) else {
        return std::future::pending().await;
    };
    while race.changed().await {}
    let lanes = race.lanes();
    if lanes.iter().any(has_result) {
        *prompt = None;
        return vec![finished_note(&lanes)];
    }
    let unfinished = race.reload_unfinished().await;
    let unfinished =
        unfinished.inspect_err(|error| tracing::warn!(%error, "the race can't be read")).ok().flatten();
    if let Some(race) = unfinished {
        *open = Some(OpenRace { race, prompt: None });
        let warning = format!("{}. /race resumes it.", failure_text(&lanes));
        return vec![TaskResult::Warning(warning)];
    }
    let prompt = prompt.take();
    if let Some(open) = open.take() {
        // A separate task, because waiting could lose the results. On an error the race isn't ended in the log.
        tokio::spawn(async move { drop(open.race.discard().await) });
    }
    results_of_failure(&lanes, prompt)
}

fn has_result(lane: &RaceLane) -> bool {
    lane.state == LaneState::Finished
}

fn finished_note(lanes: &[RaceLane]) -> TaskResult {
    let (finished, count) = (lanes.iter().filter(|lane| has_result(lane)).count(), lanes.len());
    let text = format!("All lanes have ended: {finished} of {count} have a result. Pick one with /race.");
    TaskResult::Note(text)
}

/// Returns the warning about a race that has ended without a result, and the prompt for the composer.
fn results_of_failure(lanes: &[RaceLane], prompt: Option<String>) -> Vec<TaskResult> {
    let mut warning = failure_text(lanes);
    let branches: Vec<&str> = lanes.iter().filter_map(RaceLane::branch).collect();
    if !branches.is_empty() {
        warning.push_str(&format!(". Changes remain on the branches: {}", branches.join(", ")));
    }
    let prompt = prompt.map(TaskResult::BeforeDraft);
    [TaskResult::Warning(warning)].into_iter().chain(prompt).collect()
}

fn failure_text(lanes: &[RaceLane]) -> String {
    format!("No lane of the race has a result: {}", reasons(lanes))
}

/// Joins the reasons of lanes without a result, each once.
fn reasons(lanes: &[RaceLane]) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    for lane in lanes {
        let reason = match &lane.state {
            LaneState::Failed(reason) => reason.as_str(),
            LaneState::Stopped => "stopped",
            LaneState::Starting
            | LaneState::Working
            | LaneState::Checking
            | LaneState::Interrupted
            | LaneState::Finished => continue,
        };
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons.join("; ")
}

#[cfg(test)]
mod tests {
    use tiller_tools::tool::WorktreeChanges;

    use super::*;
    use crate::picker::race::lane_in_state as lane;

    #[test]
    fn race_end_is_announced_with_the_number_of_results() {
        let TaskResult::Note(text) =
            finished_note(&[lane(1, LaneState::Finished), lane(2, LaneState::Stopped)])
        else {
            panic!("a note")
        };
        assert_eq!(text, "All lanes have ended: 1 of 2 have a result. Pick one with /race.");
    }

    #[test]
    fn race_without_a_result_names_branches_and_returns_the_prompt() {
        let failed = |number| lane(number, LaneState::Failed("no key".to_owned()));
        let changes = |branch: &str| {
            Some(WorktreeChanges { branch: Some(branch.to_owned()), files: 1, ..WorktreeChanges::default() })
        };
        let lanes = [
            failed(1),
            RaceLane { changes: changes("tiller/race-2-1"), ..lane(2, LaneState::Stopped) },
            failed(3),
        ];
        let texts: Vec<String> = results_of_failure(&lanes, Some("Go.".to_owned()))
            .into_iter()
            .map(|result| match result {
                TaskResult::Warning(text) => format!("warning {text}"),
                TaskResult::BeforeDraft(text) => format!("draft {text}"),
                _ => "other".to_owned(),
            })
            .collect();
        let warning = "warning No lane of the race has a result: no key; stopped. Changes remain on the branches: \
                       tiller/race-2-1";
        assert_eq!(texts, [warning, "draft Go."]);
    }
}
