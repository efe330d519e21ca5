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
/// lane has a result, the race is dropped and its prompt returns to the composer. Cancel-safe.
pub(super) async fn announce_end(open: &mut Option<OpenRace>) -> Vec<TaskResult> {
    let Some(OpenRace { race, prompt }) = open.as_mut().filter(|open| open.prompt.is_some()) else {
        return std::future::pending().await;
    };
    while race.changed().await {}
    let (lanes, prompt) = (race.lanes(), prompt.take());
    let results = results_of_end(&lanes, prompt);
    if !lanes.iter().any(has_result)
        && let Some(open) = open.take()
    {
        // A separate task, because waiting could lose the results. On an error the race is found again.
        if !open.race.is_resumed() {
            tokio::spawn(async move { drop(open.race.discard().await) });
        }
    }
    results
}

fn has_result(lane: &RaceLane) -> bool {
    lane.state == LaneState::Finished
}

fn results_of_end(lanes: &[RaceLane], prompt: Option<String>) -> Vec<TaskResult> {
    match lanes.iter().filter(|lane| has_result(lane)).count() {
        0 => {
            let warning = format!("No lane of the race has a result: {}", reasons(lanes));
            let prompt = prompt.map(TaskResult::BeforeDraft);
            [TaskResult::Warning(warning)].into_iter().chain(prompt).collect()
        }
        finished => {
            let count = lanes.len();
            let text =
                format!("All lanes have ended: {finished} of {count} have a result. Pick one with /race.");
            vec![TaskResult::Note(text)]
        }
    }
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
    use super::*;
    use crate::picker::race::lane_in_state as lane;

    fn announced(states: impl IntoIterator<Item = LaneState>) -> Vec<String> {
        let lanes: Vec<RaceLane> = states.into_iter().enumerate().map(|(at, it)| lane(at + 1, it)).collect();
        let results = results_of_end(&lanes, Some("Go.".to_owned())).into_iter();
        let texts = results.map(|result| match result {
            TaskResult::Note(text) => format!("note {text}"),
            TaskResult::Warning(text) => format!("warning {text}"),
            TaskResult::BeforeDraft(text) => format!("draft {text}"),
            _ => "other".to_owned(),
        });
        texts.collect()
    }

    #[test]
    fn race_end_is_announced_and_a_failed_one_returns_the_prompt() {
        let failed = |reason: &str| LaneState::Failed(reason.to_owned());
        let note = "note All lanes have ended: 1 of 2 have a result. Pick one with /race.";
        assert_eq!(announced([LaneState::Finished, failed("no key")]), [note]);
        let expected = ["warning No lane of the race has a result: no key; stopped", "draft Go."];
        assert_eq!(announced([failed("no key"), LaneState::Stopped, failed("no key")]), expected);
    }
}
