//! Races of the session.

use tiller_engine::AgentError;
use tiller_engine::agents::{LaneState, Race, RaceLane, RaceOptions, TaskRecord};

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
                let text =
                    format!("Continuing from lane {number}; its changes are now in the working directory.");
                Ok(vec![TaskResult::Note(text)])
            }
            Err(error) => Ok(vec![TaskResult::Warning(error.to_string())]),
        }
    }

    /// Finds agents of the session that has just been opened that were interrupted when tiller exited.
    pub(super) async fn find_interrupted_agents(&self) -> Option<TaskResult> {
        // The process that has the session open runs its agents.
        if self.agent.connection().is_some() || self.race_session.as_ref() == Some(self.agent.reader().id()) {
            return None;
        }
        let (tasks, running) =
            (self.agent.agent_tasks().await.ok()?, self.agent.running_agents().await.ok()?);
        let is_interrupted = |task: &&TaskRecord| {
            let is_running = running.iter().any(|agent| agent.start.agent_id == task.start.agent_id);
            task.end.is_none() && task.start.lane.is_none() && !is_running
        };
        let text = match tasks.iter().filter(is_interrupted).count() {
            0 => return None,
            1 => "An agent of this session was interrupted. /agents lists it; the model gets its state with your next prompt.".to_owned(),
            count => format!("{count} agents of this session were interrupted. /agents lists them; the model gets their states with your next prompt."),
        };
        Some(TaskResult::Note(text))
    }

    /// Finds the race of the session that has just been opened: one that was interrupted, or whose result wasn't
    /// picked.
    pub(super) async fn find_race(&mut self) -> Option<TaskResult> {
        let session = self.agent.reader().id().clone();
        // The process that has the session open runs its races.
        if self.agent.connection().is_some() || self.race_session.as_ref() == Some(&session) {
            return None;
        }
        self.race_session = Some(session);
        let found = Race::find(&self.agent).await;
        let race =
            found.inspect_err(|error| tracing::warn!(%error, "the race can't be found")).ok().flatten();
        self.race = race.map(|race| OpenRace { race, prompt: None });
        let lanes = self.lanes();
        let text = match lanes.iter().filter(|lane| lane.state == LaneState::Interrupted).count() {
            _ if lanes.is_empty() => return None,
            0 => "A race of this session has results. Pick one with /race.",
            _ => "A race of this session was interrupted. /race resumes it.",
        };
        Some(TaskResult::Note(text.to_owned()))
    }

    /// Continues the interrupted lanes of the race.
    pub(super) async fn resume_race(&mut self) -> Vec<TaskResult> {
        let Some(open) = &mut self.race else { return Vec::new() };
        match open.race.resume().await {
            Ok(()) => {
                open.prompt = Some(open.race.prompt().to_owned());
                Vec::new()
            }
            Err(error) => vec![TaskResult::Warning(error.to_string())],
        }
    }

    /// Stops the race. If all lanes have ended meanwhile, their results are kept.
    pub(super) async fn stop_race(&mut self) -> Vec<TaskResult> {
        match self.lanes().iter().all(|lane| lane.state.is_over()) {
            // Their end is announced.
            true => Vec::new(),
            false => self.discard_race().await,
        }
    }

    /// Ends the race, and discards its results. Lanes that have ended stay in the tree.
    pub(super) async fn discard_race(&mut self) -> Vec<TaskResult> {
        let Some(open) = self.race.take() else { return Vec::new() };
        match open.race.discard().await {
            Ok(()) => {
                vec![TaskResult::Note("The race is over. Finished lanes stay in the tree.".to_owned())]
            }
            Err(error) => vec![TaskResult::Warning(error.to_string())],
        }
    }
}
