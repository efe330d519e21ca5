//! Races of the session.

use tiller_engine::AgentError;
use tiller_engine::agents::{Race, RaceLane, RaceOptions};

use crate::executor::ExecutorWorker;
use crate::executor::open_race::OpenRace;
use crate::message::TaskResult;

impl ExecutorWorker {
    /// Starts a race, unless another race has results that must be picked or discarded first. If the race
    /// can't start, its prompt returns to the composer.
    pub(super) async fn start_race(&mut self, options: RaceOptions) -> Result<Vec<TaskResult>, AgentError> {
        if self.race.is_some() {
            let text = "A race already exists: pick a lane, stop it, or discard its results first.";
            return Ok(vec![TaskResult::Note(text.to_owned()), TaskResult::BeforeDraft(options.prompt)]);
        }
        let prompt = options.prompt.clone();
        match Race::start(&self.agent, options).await {
            Ok(race) => {
                self.race = Some(OpenRace { race, prompt: Some(prompt) });
                Ok(Vec::new())
            }
            Err(error) => Ok(vec![TaskResult::Warning(error.to_string()), TaskResult::BeforeDraft(prompt)]),
        }
    }

    pub(super) fn lanes(&self) -> Vec<RaceLane> {
        self.race.as_ref().map(|open| open.race.lanes()).unwrap_or_default()
    }

    pub(super) async fn pick_lane(&mut self, number: usize) -> Result<Vec<TaskResult>, AgentError> {
        let Some(open) = &self.race else { return Ok(Vec::new()) };
        match open.race.pick(number).await {
            Ok(()) => {
                self.race = None;
                let text = format!("Lane {number} continues; its changes are in the working directory.");
                Ok(vec![TaskResult::Note(text)])
            }
            Err(error) => Ok(vec![TaskResult::Warning(error.to_string())]),
        }
    }

    /// Stops the race, or discards its results. Lanes that have ended stay in the tree.
    pub(super) fn end_race(&mut self) -> Vec<TaskResult> {
        self.race = None;
        vec![TaskResult::Note("The race is over. Finished lanes stay in the tree.".to_owned())]
    }
}
