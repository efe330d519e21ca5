//! The results of delegated tasks that a crash interrupted, derived from the logs of the session and its agents.

use serde::Deserialize;
use serde_json::{Value, json};
use tiller_core::delegated_task::{DelegatedTask, short_tasks};
use tiller_core::id::SessionId;
use tiller_core::message::{Message, ToolCall, ToolResultMessage, UserBlock};
use tiller_session::Reader;

use super::agent_at_work::{AgentAtWork, resume_hint};
use super::task_record::{TaskRecord, TaskRecords, UnreportedCall};
use super::task_states::sections;

/// The arguments of the delegation tools.
#[derive(Deserialize)]
#[serde(untagged)]
enum DelegatingArguments {
    Several { tasks: Vec<DelegatedTaskArguments> },
    One(DelegatedTaskArguments),
}

#[derive(Deserialize)]
struct DelegatedTaskArguments {
    agent: String,
}

/// Adds the outcomes of the delegated tasks, in order, to the result of an interrupted call. Doesn't change
/// the results of other calls.
pub(crate) fn describe_tasks(result: &mut ToolResultMessage, call: &ToolCall, records: &TaskRecords) {
    let Ok(arguments) = serde_json::from_value(call.arguments.clone()) else { return };
    let tasks = match arguments {
        DelegatingArguments::Several { tasks } => tasks,
        DelegatingArguments::One(task) => vec![task],
    };
    let is_of = |start: &DelegatedTask, number: usize| {
        start.tool_call_id.as_ref() == Some(&call.id) && start.number == Some(number)
    };
    let tasks: Vec<(&str, Option<&TaskRecord>)> = tasks
        .iter()
        .enumerate()
        .map(|(at, task)| {
            (task.agent.as_str(), records.all().iter().find(|record| is_of(&record.start, at + 1)))
        })
        .collect();
    let details: Vec<Value> =
        tasks.iter().filter_map(|(_, record)| record.map(TaskRecord::details)).collect();
    result.content.push(UserBlock::Text { text: outcomes(&tasks) });
    result.details = Some(json!({ "agents": details }));
}

/// Returns the note for the model about background tasks that haven't been reported: tiller was killed, or the session
/// was closed.
pub(super) fn unreported_note(unreported: &UnreportedCall, records: &[TaskRecord]) -> String {
    let record_of = |agent: &SessionId| records.iter().find(|record| record.start.agent_id == *agent);
    let tasks = &unreported.call.tasks;
    let with_records: Vec<(&str, Option<&TaskRecord>)> = tasks
        .iter()
        .map(|task| (task.name.as_str(), unreported.agent_of(task).and_then(record_of)))
        .collect();
    let subjects = short_tasks(tasks);
    format!(
        "tiller exited before its background tasks had finished: {subjects}\n\n{}",
        outcomes(&with_records)
    )
}

/// Describes the outcomes of tasks, each with the agent's name and its record if it has started.
fn outcomes(tasks: &[(&str, Option<&TaskRecord>)]) -> String {
    let text = |(agent, record): &(_, Option<&TaskRecord>)| match record {
        None => (*agent, format!("the task for {agent} was not started")),
        Some(record) => (*agent, record.outcome_text()),
    };
    format!("{}\n\n{}", sections(tasks.iter().map(text)).trim_end(), resume_hint())
}

impl TaskRecord {
    fn is_error(&self) -> bool {
        self.end.as_ref().is_none_or(|end| end.error.is_some())
    }

    fn branch(&self) -> Option<String> {
        match &self.end {
            Some(end) => end.branch.clone(),
            None => self.start.worktree.as_ref().map(|worktree| worktree.branch.clone()),
        }
    }

    /// Returns the agent's answer, or the reason there is none.
    fn outcome_text(&self) -> String {
        let leftover = self.leftover_worktree();
        let work = AgentAtWork { id: self.start.agent_id.clone(), branch: self.branch(), leftover };
        let (name, branch) = (work.name(&self.start.name), work.branch_clause());
        match self.end.as_ref().map(|end| &end.error) {
            Some(None) => {
                let answer = self.last_text().unwrap_or_else(|| "(its log can't be read)".to_owned());
                format!("{answer}\n\n[{name} finished{branch}]")
            }
            Some(Some(error)) => format!("{name} returned no answer: {error}{branch}"),
            None => {
                let text = self.last_text().map(|text| format!("; its last message:\n\n{text}"));
                format!("{name} was interrupted{branch}{}", text.unwrap_or_default())
            }
        }
    }

    fn details(&self) -> Value {
        json!({
            "agentId": self.start.agent_id,
            "name": self.start.name,
            "isError": self.is_error(),
            "branch": self.branch(),
        })
    }

    /// Returns the text of the agent's newest message, from its log.
    fn last_text(&self) -> Option<String> {
        let reader = Reader::open(self.start.path.as_ref()?).ok()?;
        let (entries, _) = reader.branch(&reader.leaf()?).ok()?;
        let answer = |message: &Message| match message {
            Message::Assistant(answer) => Some(answer.joined_text()).filter(|text| !text.is_empty()),
            _ => None,
        };
        let texts = entries.iter().rev().filter(|entry| entry.timestamp >= self.since);
        texts.filter_map(|entry| answer(entry.body.as_message()?)).next()
    }
}
