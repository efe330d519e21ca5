//! The conversation with one client.

use std::collections::HashMap;
use std::future::Future;
use std::io::{self, Write};
use std::pin::Pin;
use std::time::Duration;

use serde::de::IgnoredAny;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::command::RpcCommand;
use super::framing::FramedLine;
use super::handler::Handler;
use super::id::Id;
use super::outbox::{Outbox, OutboxNote, SendMode};
use super::response::ResponseBody;
use super::{RpcError, RpcOptions};
use crate::agent::{AgentSession, Subscription};

/// How long the next command waits for one that is quick as a rule: appending to a log on a slow disk, a hook.
const PATIENCE: Duration = Duration::from_millis(250);

/// How long events wait for the answer to what leads to them. Longer than any disk takes; a hook may take longer still, and then
/// they go first.
const HELD: Duration = Duration::from_secs(5);

/// How long a command waits for what it stops first: a run may have programs to end.
const REST: Duration = Duration::from_secs(10);

/// Commands that are carried out beside others at most.
const BESIDE: usize = 64;

/// How long answers and events may take to be written at the end, and commands to be over.
const GRACE: Duration = Duration::from_secs(3);

type CommandFuture = Pin<Box<dyn Future<Output = ResponseBody> + Send>>;

/// As [`super::run`], for lines that are read already.
pub(super) async fn serve(
    agent: AgentSession,
    lines: mpsc::Receiver<FramedLine>,
    output: impl Write + Send + 'static,
    stop: impl Future<Output = ()>,
    options: RpcOptions,
) -> Result<(), RpcError> {
    let outbox = Outbox::open(Subscription::new(&agent), output);
    let notes = outbox.notes();
    let mut server = Server {
        handler: Handler::new(agent.clone(), options),
        notes: outbox.notes(),
        beside: JoinSet::new(),
    };
    tokio::select! {
        biased;
        () = stop => {}
        () = notes.closed() => {}
        () = server.work(lines) => {}
    }
    drop(notes);
    // The run ends as an aborted one, and says so; what waits for it has its answer.
    if let Err(error) = agent.close().await {
        tracing::warn!(%error, "the session was closed before");
    }
    let ended = async {
        while server.beside.join_next().await.is_some() {}
        drop(server);
        outbox.finish().await
    };
    match timeout(GRACE, ended).await {
        Ok(Err(error)) if error.kind() != io::ErrorKind::BrokenPipe => Err(RpcError::Stdout(error)),
        Ok(Ok(()) | Err(_)) => Ok(()),
        Err(_) => {
            tracing::warn!("nobody reads stdout; the last lines are lost");
            Ok(())
        }
    }
}

struct Server {
    handler: Handler,
    notes: mpsc::Sender<OutboxNote>,
    beside: JoinSet<()>,
}

impl Server {
    async fn work(&mut self, mut lines: mpsc::Receiver<FramedLine>) {
        while let Some(line) = lines.recv().await {
            while self.beside.try_join_next().is_some() {}
            match read(line) {
                Ok(Some(call)) => self.call(call).await,
                Ok(None) => {}
                Err(answer) => self.note(OutboxNote::Last(answer)).await,
            }
        }
    }

    async fn call(&mut self, PendingCall { id, name, command }: PendingCall) {
        if self.beside.len() >= BESIDE {
            let outcome = Err("too many commands are being carried out; wait for an answer".to_owned());
            return self.note(OutboxNote::Last(ResponseBody { id, command: name, outcome })).await;
        }
        if let Some(manner) = manner(&command, id.as_ref()) {
            self.note(OutboxNote::Manner(manner)).await;
        }
        let order = PendingOrder::of(&command);
        if order == PendingOrder::First {
            self.note(OutboxNote::Hold).await;
        }
        if command.stops_work() {
            // Others wait too, for they are meant for what comes after it. What doesn't end is told by the command itself.
            let _ = timeout(REST, self.handler.stop_work()).await;
        }
        let patience = if command.is_slow() { Duration::ZERO } else { PATIENCE };
        let handler = self.handler.clone();
        let mut work: CommandFuture = Box::pin(async move {
            let outcome = handler.handle(command).await;
            ResponseBody { id, command: name, outcome }
        });
        // A first poll hands the command to the session even without any patience, so that commands arrive in order.
        match timeout(patience, &mut work).await {
            Ok(answer) => order.tell(answer, &self.notes).await,
            Err(_) => {
                let notes = self.notes.clone();
                self.beside.spawn(async move {
                    let answer = match timeout(HELD, &mut work).await {
                        Ok(answer) => answer,
                        Err(_) => {
                            if order == PendingOrder::First {
                                let _ = notes.send(OutboxNote::Release).await;
                            }
                            work.await
                        }
                    };
                    order.tell(answer, &notes).await;
                });
            }
        }
    }

    async fn note(&self, note: OutboxNote) {
        // Nobody takes notes any more when stdout is closed; then it is all over.
        let _ = self.notes.send(note).await;
    }
}

/// Where an answer stands among events.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PendingOrder {
    /// Before what it leads to: that something was accepted is known before it begins.
    First,
    /// After what it led to.
    Last,
    /// After what it led to, which no event tells any more.
    LastOfBash,
}

impl PendingOrder {
    const fn of(command: &RpcCommand) -> Self {
        match command {
            RpcCommand::Prompt { .. }
            | RpcCommand::Steer { .. }
            | RpcCommand::FollowUp { .. }
            | RpcCommand::SteerNow { message: Some(_), .. } => Self::First,
            RpcCommand::Bash { .. } => Self::LastOfBash,
            _ => Self::Last,
        }
    }

    async fn tell(self, answer: ResponseBody, notes: &mpsc::Sender<OutboxNote>) {
        let over = OutboxNote::Manner(SendMode::BashOver { id: answer.id.clone() });
        let note = if self == Self::First { OutboxNote::First(answer) } else { OutboxNote::Last(answer) };
        let _ = notes.send(note).await;
        if self == Self::LastOfBash {
            let _ = notes.send(over).await;
        }
    }
}

/// What a command changes about how events are written.
fn manner(command: &RpcCommand, id: Option<&Id>) -> Option<SendMode> {
    match command {
        RpcCommand::SetDeltas { enabled } => Some(SendMode::Deltas(*enabled)),
        RpcCommand::Bash { command, .. } => Some(SendMode::Bash { line: command.0.clone(), id: id.cloned() }),
        _ => None,
    }
}

/// A command as it was called.
#[derive(Debug, PartialEq)]
struct PendingCall {
    id: Option<Id>,
    name: String,
    command: RpcCommand,
}

/// Reads a line; nothing for an empty one, the answer for one that is no command.
fn read(line: FramedLine) -> Result<Option<PendingCall>, ResponseBody> {
    let unreadable =
        |error: String| ResponseBody { id: None, command: "parse".to_owned(), outcome: Err(error) };
    let bytes = match line {
        FramedLine::Whole(bytes) if bytes.trim_ascii().is_empty() => return Ok(None),
        FramedLine::Whole(bytes) => bytes,
        FramedLine::TooLong => return Err(unreadable(FramedLine::too_long())),
    };
    let mut fields = fields(&bytes).map_err(unreadable)?;
    let id = fields.remove("id").and_then(Id::of);
    let name = fields.remove("type").and_then(|name| serde_json::from_str::<String>(name.get()).ok());
    let Some(name) = name else {
        let outcome = Err("the field `type` must name a command".to_owned());
        return Err(ResponseBody { id, command: "parse".to_owned(), outcome });
    };
    let command =
        values(fields).and_then(|fields| RpcCommand::parse(&name, fields).map_err(|error| error.to_string()));
    match command {
        Ok(command) => Ok(Some(PendingCall { id, name, command })),
        Err(error) => Err(ResponseBody { id, command: name, outcome: Err(error) }),
    }
}

/// The fields of a line that holds an object, not looked into: a number that we can't hold may be an id.
fn fields(line: &[u8]) -> Result<HashMap<String, &RawValue>, String> {
    let not_json = |error| format!("not JSON: {error}");
    if line.trim_ascii_start().starts_with(b"{") {
        return serde_json::from_slice(line).map_err(not_json);
    }
    serde_json::from_slice::<IgnoredAny>(line).map_err(not_json)?;
    Err("a command is a JSON object".to_owned())
}

/// The fields looked into; what can't be held is named.
fn values(fields: HashMap<String, &RawValue>) -> Result<Map<String, Value>, String> {
    let value = |(name, raw): (String, &RawValue)| match serde_json::from_str(raw.get()) {
        Ok(value) => Ok((name, value)),
        Err(error) => Err(format!("the field `{name}` can't be read: {error}")),
    };
    fields.into_iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &[u8]) -> (Option<Id>, String, String) {
        let answer = read(FramedLine::Whole(line.to_vec())).unwrap_err();
        (answer.id, answer.command, answer.outcome.unwrap_err())
    }

    #[test]
    fn a_line_is_a_call_with_its_id() {
        let line = br#" {"id": "a", "type": "abort", "more": 1} "#.to_vec();
        let call = PendingCall { id: Some("a".into()), name: "abort".into(), command: RpcCommand::Abort {} };
        assert_eq!(read(FramedLine::Whole(line)).unwrap(), Some(call));
        assert_eq!(read(FramedLine::Whole(b"  ".to_vec())).unwrap(), None);
    }

    #[test]
    fn an_id_is_answered_to_the_letter() {
        let (digits, letters) = ("7".repeat(100_000), format!("\"{}\"", "a\\\"".repeat(100_000)));
        let deep = [vec![b'['; 1_000], vec![b']'; 1_000]].concat();
        let deep = String::from_utf8(deep).unwrap();
        for id in [
            "123456789012345678901234567890",
            "-0.10",
            "1e400",
            "1E400",
            "-1e+0400",
            "-0",
            "1.0",
            r#""\u0041""#,
            r#""\/\"\\\n\ud83d\ude00 \ud800 é""#,
            "[1,  2.50]",
            r#"{"a" :1e999,"a":[ ]}"#,
            &digits,
            &letters,
            &deep,
        ] {
            let line = format!(r#"{{"type": "dance", "id": {id}}}"#);
            let mut out = Vec::new();
            read(FramedLine::Whole(line.into())).unwrap_err().write_line(&mut out).unwrap();
            let answer = String::from_utf8(out).unwrap();
            assert!(answer.starts_with(&format!(r#"{{"id":{id},"type":"response""#)), "{answer}");
        }
    }

    #[test]
    fn a_line_that_is_no_command_is_answered_with_what_is_wrong() {
        let (id, command, error) = refused(b"{\"type\": \"abort\"");
        assert_eq!((id, command.as_str()), (None, "parse"));
        assert!(error.starts_with("not JSON: EOF"), "{error}");
        assert_eq!(refused(b"[1]").2, "a command is a JSON object");
        let named =
            (Some(Value::from(4).into()), "parse".to_owned(), "the field `type` must name a command".into());
        assert_eq!(refused(br#"{"id": 4, "type": 1}"#), named);
        let unknown = (Some("b".into()), "dance".to_owned(), "unknown command `dance`".into());
        assert_eq!(refused(br#"{"type": "dance", "id": "b"}"#), unknown);
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(refused(deep.as_bytes()).2, "a command is a JSON object");
        let (id, command, error) = refused(format!(r#"{{"id":1e400,"type":"abort","a":{deep}}}"#).as_bytes());
        assert_eq!((id.is_some(), command.as_str()), (true, "abort"));
        assert!(error.starts_with("the field `a` can't be read: recursion limit"), "{error}");
        assert!(refused(b"[1").2.starts_with("not JSON: EOF"));
        assert!(refused(b"{\"type\": \"\xff\"}").2.starts_with("not JSON: "));
        let too_long = read(FramedLine::TooLong).unwrap_err().outcome.unwrap_err();
        assert_eq!(too_long, "the line is longer than 64 MiB");
    }
}
