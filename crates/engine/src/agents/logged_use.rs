//! The usage of a session and its agents, read from their logs.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use tiller_core::id::EntryId;
use tiller_core::message::{Message, StopReason, Usage};
use tiller_core::unit::UnixMs;
use tiller_session::Reader;

/// The usage recorded before the session was opened.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LoggedUse {
    /// Number of answered requests.
    pub turns: u64,
    /// Tokens and cost.
    pub usage: Usage,
    /// The time taken by the session's answers and calls, including the time of the agents that it waited
    /// for.
    pub time: Duration,
}

impl LoggedUse {
    /// Reads the logs of a session, its agents, and their agents in turn, on another thread.
    pub(crate) async fn read_in_background(reader: Reader) -> Self {
        let read = tokio::task::spawn_blocking(move || Self::read(&reader)).await;
        // A panic is reported by its hook.
        read.unwrap_or_default()
    }

    /// Reads the logs of a session, its agents, and their agents in turn. Unreadable logs don't count.
    fn read(reader: &Reader) -> Self {
        let mut answers = HashSet::new();
        let time_ms = collect_answers(reader, &mut answers);
        // The session's totals already include its agents.
        let (turns, usage) = (answers.len() as u64, reader.usage());
        Self { turns, usage, time: Duration::from_millis(time_ms) }
    }
}

/// Adds the ids of the answers in a log and in the logs of its agents. An id counts once, because the lanes
/// of a race start with a copy of the conversation and become branches of it. Returns the duration of the
/// log's own answers and calls in milliseconds.
fn collect_answers(reader: &Reader, answers: &mut HashSet<EntryId>) -> u64 {
    let (mut time_ms, mut before) = (0, None::<UnixMs>);
    let visited = reader.visit(0, |entry| {
        let Ok(entry) = entry else { return };
        let is_work = match entry.body.as_message().map(|message| &**message) {
            Some(Message::Assistant(answer)) => {
                if !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted) {
                    answers.insert(entry.id.clone());
                }
                true
            }
            Some(Message::ToolResult(_)) => true,
            _ => false,
        };
        if let (true, Some(before)) = (is_work, before) {
            time_ms += entry.timestamp.since_ms(before);
        }
        before = Some(entry.timestamp);
    });
    if let Err(error) = visited {
        tracing::warn!(%error, "a session's usage can't be read");
    }
    reader.agents_dir().into_iter().for_each(|dir| visit_logs(&dir, answers));
    time_ms
}

fn visit_logs(dir: &Path, answers: &mut HashSet<EntryId>) {
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten().map(|file| file.path());
    for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")) {
        if let Ok(reader) = Reader::open(&path) {
            collect_answers(&reader, answers);
        }
    }
}
