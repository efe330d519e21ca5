//! The newest race of a session, derived from its log. Pure.

use serde::{Deserialize, Serialize};
use tiller_core::id::SessionId;
use tiller_session::{Entry, EntryBody, Reader, SessionError};

use super::log_entries::{START_TYPE, agent_entry};
use super::race_arguments::RaceOptions;
use super::task_record::TaskRecord;

/// Type of the entry with a [`RaceStart`].
const RACE_TYPE: &str = "tiller.race";

/// Type of the entry with a [`RaceEnd`].
const RACE_END_TYPE: &str = "tiller.race_end";

/// The start of a race. The tasks of its lanes follow.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RaceStart {
    /// The session that the race belongs to. A fork has a copy of the entry, but not the lanes' branches.
    session_id: SessionId,
    #[serde(flatten)]
    options: RaceOptions,
}

/// The record that a race has ended.
#[derive(Serialize, Deserialize)]
struct RaceEnd {
    /// The picked lane; `None` if the results were discarded, or if there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lane: Option<usize>,
}

/// The newest race of a session that hasn't ended.
#[derive(Debug, PartialEq)]
pub(super) struct RaceRecord {
    pub options: RaceOptions,
    /// The newest task of each lane, if one has started.
    pub lanes: Vec<Option<TaskRecord>>,
}

/// Returns the entry for the start of a race.
pub(super) fn start_entry(session_id: SessionId, options: &RaceOptions) -> EntryBody {
    agent_entry(RACE_TYPE, &RaceStart { session_id, options: options.clone() })
}

/// Returns the entry for the end of a race: the pick of a lane, or none.
pub(super) fn end_entry(lane: Option<usize>) -> EntryBody {
    agent_entry(RACE_END_TYPE, &RaceEnd { lane })
}

impl RaceRecord {
    /// Reads the newest race from a session's log; `None` if it has ended, or if there is none.
    pub(super) fn read(reader: &Reader, tasks: &[TaskRecord]) -> Result<Option<Self>, SessionError> {
        let (entries, _) = reader.tiller_entries()?;
        Ok(Self::find(reader.id(), &entries, tasks))
    }

    fn find(session: &SessionId, entries: &[Entry], tasks: &[TaskRecord]) -> Option<Self> {
        let (mut options, mut agents) = (None, Vec::new());
        for entry in entries {
            let EntryBody::Custom { custom_type, data: Some(data) } = &entry.body else { continue };
            match custom_type.as_str() {
                RACE_TYPE => {
                    let start = serde_json::from_value::<RaceStart>(data.clone()).ok();
                    options = start.filter(|start| start.session_id == *session).map(|start| start.options);
                    agents.clear();
                }
                RACE_END_TYPE => options = None,
                START_TYPE => agents.push(data["agentId"].clone()),
                _ => {}
            }
        }
        let options: RaceOptions = options?;
        let is_lane = |task: &&TaskRecord, number: usize| {
            task.start.lane == Some(number) && agents.iter().any(|id| id == task.start.agent_id.as_str())
        };
        // A lane that had to start over has two tasks.
        let newest = |number| tasks.iter().rfind(|task| is_lane(task, number)).cloned();
        let lanes = (1..=options.models.len()).map(newest).collect();
        Some(Self { options, lanes })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tiller_core::unit::UnixMs;

    use super::*;
    use crate::agents::task_record::TaskRecords;

    fn entries(of: &[(&str, Value)]) -> Vec<Entry> {
        let body = |(custom_type, data): &(&str, Value)| EntryBody::Custom {
            custom_type: (*custom_type).to_owned(),
            data: Some(data.clone()),
        };
        let entry = |(at, of)| Entry {
            id: format!("{at}").as_str().into(),
            parent: None,
            timestamp: UnixMs(1),
            body: body(of),
        };
        of.iter().enumerate().map(entry).collect()
    }

    /// Returns the agents of the lanes of session `s`.
    fn lanes(of: &[(&str, Value)]) -> Option<Vec<Option<String>>> {
        let entries = entries(of);
        let mut tasks = TaskRecords::empty("a-session".into(), None);
        entries.iter().for_each(|entry| tasks.apply(&entry.body, entry.timestamp));
        let record = RaceRecord::find(&"s".into(), &entries, tasks.all())?;
        let agent = |task: Option<TaskRecord>| task.map(|task| task.start.agent_id.to_string());
        Some(record.lanes.into_iter().map(agent).collect())
    }

    #[test]
    fn race_record_has_the_newest_task_of_each_lane() {
        let race = ("tiller.race", json!({ "sessionId": "s", "prompt": "Go.", "models": [null, "m"] }));
        let task = |agent: &str, lane| {
            let data = json!({ "agentId": agent, "name": "race", "task": "Go.", "lane": lane });
            ("tiller.agent", data)
        };
        let picked = ("tiller.race_end", json!({ "lane": 1 }));
        let some = |id: &str| Some(id.to_owned());
        assert_eq!(lanes(&[]), None);
        assert_eq!(lanes(&[race.clone(), task("a", 1)]), Some(vec![some("a"), None]));
        let again = [race.clone(), task("a", 1), task("b", 2), task("c", 1), task("d", 3)];
        assert_eq!(lanes(&again), Some(vec![some("c"), some("b")]));
        assert_eq!(lanes(&[race.clone(), task("a", 1), race.clone()]), Some(vec![None, None]));
        assert_eq!(lanes(&[race.clone(), task("a", 1), picked]), None);
        let other = ("tiller.race", json!({ "sessionId": "other", "prompt": "Go.", "models": [null] }));
        assert_eq!(lanes(&[race, other]), None);
    }
}
