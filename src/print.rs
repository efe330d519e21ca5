//! The front end without a screen: one prompt to its end, the answer or the events on stdout.

use std::collections::HashSet;
use std::io::{self, Write};
use std::mem;
use std::sync::Arc;

use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::agent::{AgentError, AgentSession, EventStream, Lagged, PromptOptions};
use crate::event::{Event, EventKind, RunOutcome};
use crate::id::EntryId;
use crate::message::{AssistantMessage, Message};
use crate::session::{Entry, Reader};

/// What goes to stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The final answer.
    Text,
    /// The session's header, then every event, a JSON line each.
    Json,
}

/// Why a run could not be printed.
#[derive(Debug, thiserror::Error)]
pub enum PrintError {
    /// The session said no.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// Stdout said no.
    #[error("can't write to stdout")]
    Stdout(#[from] io::Error),
    /// The session ended before the run did.
    #[error("the session ended before the answer was complete")]
    Cut,
}

/// Runs one prompt to its end.
///
/// Diagnostics go to `err`. Dropping the future stops nothing; abort the session for that.
///
/// # Errors
/// When the prompt was not accepted, stdout is closed, or the session ended in between.
pub async fn run(
    agent: &AgentSession,
    prompt: String,
    output: Output,
    out: &mut impl Write,
    err: &mut impl Write,
) -> Result<RunOutcome, PrintError> {
    let mut events = Buffered::new(agent.subscribe());
    let mut printer = Printer::new(output, out, err);
    printer.begin(&agent.reader())?;
    agent.prompt(prompt, PromptOptions::default()).await?;
    loop {
        // What is written is read as it happens: nothing stays in the buffer while nothing follows.
        let event = match events.received.try_recv() {
            Ok(event) => event,
            Err(_) => {
                printer.out.flush()?;
                events.received.recv().await.ok_or(PrintError::Cut)?
            }
        };
        match event {
            Ok(event) => {
                printer.event(&event)?;
                if matches!(event.kind, EventKind::AgentSettled) {
                    return printer.end();
                }
            }
            Err(Lagged(count)) => printer.catch_up(count, &agent.reader())?,
        }
    }
}

/// Events that may wait for stdout. A model that streams faster than stdout takes is waited out up to here (some 20 MB);
/// after that events are lost, which is said, and the log is read instead.
const BUFFERED: usize = 65_536;

/// Takes events off the session as they come, so that a burst doesn't outrun stdout.
struct Buffered {
    received: mpsc::Receiver<Result<Arc<Event>, Lagged>>,
    _forwarder: JoinSet<()>,
}

impl Buffered {
    fn new(mut events: EventStream) -> Self {
        let (sender, received) = mpsc::channel(BUFFERED);
        let mut forwarder = JoinSet::new();
        forwarder.spawn(async move {
            while let Some(event) = events.next().await {
                if sender.send(event).await.is_err() {
                    return;
                }
            }
        });
        Self { received, _forwarder: forwarder }
    }
}

/// The entry of the message whose end comes next; its `EntryAppended` goes before.
enum Announced {
    Nothing,
    Entry(EntryId),
    /// Events were lost since. Whatever an end is now of was in the log before it was told, and was told from there.
    Lost,
}

struct Printer<'a, Out, Err> {
    output: Output,
    out: &'a mut Out,
    err: &'a mut Err,
    /// The newest message that was told, from which to catch up.
    last_told: Option<EntryId>,
    announced: Announced,
    /// Messages that were told from the log and whose own events may still come.
    caught_up: HashSet<EntryId>,
    answer: Option<AssistantMessage>,
    outcome: RunOutcome,
    /// Events that were lost because stdout was too slow.
    lost: u64,
}

impl<'a, Out: Write, Err: Write> Printer<'a, Out, Err> {
    fn new(output: Output, out: &'a mut Out, err: &'a mut Err) -> Self {
        Self {
            output,
            out,
            err,
            last_told: None,
            announced: Announced::Nothing,
            caught_up: HashSet::new(),
            answer: None,
            outcome: RunOutcome::Failed,
            lost: 0,
        }
    }

    fn begin(&mut self, reader: &Reader) -> io::Result<()> {
        self.last_told = reader.leaf();
        if self.output == Output::Json {
            self.line(reader.header())?;
        }
        Ok(())
    }

    fn event(&mut self, event: &Arc<Event>) -> io::Result<()> {
        match &event.kind {
            EventKind::Warning { message, hint } => {
                let hint = hint.as_ref().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
                writeln!(self.err, "warning: {message}{hint}")?;
            }
            EventKind::Notice { message } if self.output == Output::Text => {
                writeln!(self.out, "{}", message.trim_end())?;
            }
            EventKind::MessageEnd { .. } if self.was_told() => return Ok(()),
            EventKind::MessageEnd { message } => self.note(message),
            EventKind::EntryAppended { entry_id, .. } => self.announced = Announced::Entry(entry_id.clone()),
            EventKind::AgentEnd { outcome, .. } => self.outcome = *outcome,
            _ => {}
        }
        if self.output == Output::Json {
            self.line(event)?;
        }
        Ok(())
    }

    /// Whether the message that ends was told from the log already.
    fn was_told(&mut self) -> bool {
        match mem::replace(&mut self.announced, Announced::Nothing) {
            Announced::Lost => true,
            Announced::Entry(entry) if self.caught_up.remove(&entry) => true,
            Announced::Entry(entry) => {
                self.last_told = Some(entry);
                false
            }
            Announced::Nothing => false,
        }
    }

    fn note(&mut self, message: &Message) {
        if let Message::Assistant(answer) = message {
            self.answer = Some(answer.clone());
        }
    }

    /// Events are gone; what they told of is in the log.
    fn catch_up(&mut self, count: u64, reader: &Reader) -> io::Result<()> {
        self.lost += count;
        self.announced = Announced::Lost;
        for entry in missed(reader, self.last_told.as_ref()) {
            if let Some(message) = entry.body.as_message() {
                self.note(message);
                if self.output == Output::Json {
                    self.line(&serde_json::json!({"type": "message_end", "message": message}))?;
                }
                self.caught_up.insert(entry.id.clone());
            }
            self.last_told = Some(entry.id);
        }
        Ok(())
    }

    fn end(self) -> Result<RunOutcome, PrintError> {
        let answer = self.answer.unwrap_or_default();
        if self.lost > 0 && self.output == Output::Json {
            let lost = self.lost;
            writeln!(
                self.err,
                "warning: {lost} events were passed over because stdout is slow; the log has everything"
            )?;
        }
        if self.output == Output::Text && matches!(self.outcome, RunOutcome::Completed | RunOutcome::MaxTurns)
        {
            writeln!(self.out, "{}", answer.joined_text())?;
        }
        if let Some(message) = &answer.error_message {
            writeln!(self.err, "error: {message}")?;
        }
        self.out.flush()?;
        Ok(self.outcome)
    }

    fn line(&mut self, value: &impl serde::Serialize) -> io::Result<()> {
        serde_json::to_writer(&mut *self.out, value)?;
        self.out.write_all(b"\n")
    }
}

/// The entries of the current branch after `last`.
fn missed(reader: &Reader, last: Option<&EntryId>) -> Vec<Entry> {
    let Some(leaf) = reader.leaf() else { return Vec::new() };
    let path = reader.path_to(&leaf).unwrap_or_default();
    let known = last.and_then(|last| path.iter().rposition(|id| id == last));
    path.iter().skip(known.map_or(0, |at| at + 1)).filter_map(|id| reader.entry(id).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::UserMessage;
    use crate::session::{EntryBody, Placement, SessionManager, Writer};
    use crate::unit::UnixMs;

    fn user(text: &str) -> Arc<Message> {
        Arc::new(Message::User(UserMessage::text(text.to_owned(), UnixMs(0))))
    }

    /// Appends a message; answers with the events that tell of it.
    fn say(writer: &mut Writer, text: &str) -> [Arc<Event>; 2] {
        let message = user(text);
        let entry =
            writer.append(EntryBody::message(Arc::clone(&message)), UnixMs(0)).unwrap().pop().unwrap();
        let appended = EventKind::EntryAppended { entry_id: entry.id, entry: entry.line };
        [appended, EventKind::MessageEnd { message }]
            .map(|kind| Arc::new(Event { kind, seq: 1, time: UnixMs(0) }))
    }

    /// The texts of the messages whose ends were printed.
    fn told(out: &[u8]) -> Vec<String> {
        let lines = std::str::from_utf8(out).unwrap().lines();
        let values = lines.map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let ends = values.filter(|value| value["type"] == "message_end");
        ends.map(|end| end["message"]["content"].to_string()).collect()
    }

    #[test]
    fn every_message_of_a_run_is_told_once_wherever_events_were_lost() {
        // Events `from..to` of the six are lost; the log is read when all of it is written.
        for (from, to) in (0..6).flat_map(|from| (from + 1..=6).map(move |to| (from, to))) {
            let manager = SessionManager::new(Placement::Memory, "/".into());
            let mut writer = manager.create(UnixMs(0));
            say(&mut writer, "of an earlier run");
            let (mut out, mut err) = (Vec::new(), Vec::new());
            let mut printer = Printer::new(Output::Json, &mut out, &mut err);
            printer.begin(&writer.reader()).unwrap();
            let events: Vec<_> =
                ["one", "two", "three"].iter().flat_map(|text| say(&mut writer, text)).collect();
            for event in &events[..from] {
                printer.event(event).unwrap();
            }
            printer.catch_up(1, &writer.reader()).unwrap();
            for event in &events[to..] {
                printer.event(event).unwrap();
            }
            printer.catch_up(1, &writer.reader()).unwrap();
            let content = |text| serde_json::to_value(&*user(text)).unwrap()["content"].to_string();
            assert_eq!(told(&out), ["one", "two", "three"].map(content), "{from}..{to}");
        }
    }
}
