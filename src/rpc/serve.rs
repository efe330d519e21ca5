//! The server loop for one client.

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
use super::options::{RpcError, RpcOptions};
use super::outbox::{Outbox, PumpMessage};
use super::outbox_item::SendMode;
use super::response::ResponseBody;
use crate::agent::{AgentSession, Subscription};

/// Time that the next command waits for one that is usually fast, such as an append to a slow disk or a hook.
const QUICK_COMMAND_TIMEOUT: Duration = Duration::from_millis(250);

/// Time that events are held back for a response that must precede them. It is longer than any disk takes; if
/// a hook takes longer, the events are sent first.
const HOLD_TIMEOUT: Duration = Duration::from_secs(5);

/// Time that a command waits for the run to stop, which may have to end programs.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of commands that run concurrently.
const MAX_CONCURRENT: usize = 64;

/// Time for the last responses and events to be written, and for commands to end.
const FINISH_TIMEOUT: Duration = Duration::from_secs(3);

type CommandFuture = Pin<Box<dyn Future<Output = ResponseBody> + Send>>;

/// Like [`super::run`], for lines that are already read.
pub(super) async fn serve(
    agent: AgentSession,
    lines: mpsc::Receiver<FramedLine>,
    output: impl Write + Send + 'static,
    stop: impl Future<Output = ()>,
    options: RpcOptions,
) -> Result<(), RpcError> {
    let outbox = Outbox::open(Subscription::new(&agent), output);
    let messages = outbox.messages();
    let mut server = Server {
        handler: Handler::new(agent.clone(), options),
        messages: outbox.messages(),
        background: JoinSet::new(),
    };
    tokio::select! {
        biased;
        () = stop => {}
        () = messages.closed() => {}
        () = server.run(lines) => {}
    }
    drop(messages);
    // Closing aborts the run, whose end is reported; commands that wait for it get their responses.
    if let Err(error) = agent.close().await {
        tracing::warn!(%error, "the session was already closed");
    }
    let finish = async {
        while server.background.join_next().await.is_some() {}
        drop(server);
        outbox.finish().await
    };
    match timeout(FINISH_TIMEOUT, finish).await {
        Ok(Err(error)) if error.kind() != io::ErrorKind::BrokenPipe => Err(RpcError::Stdout(error)),
        Ok(Ok(()) | Err(_)) => Ok(()),
        Err(_) => {
            tracing::warn!("stdout is not being read; the last lines are lost");
            Ok(())
        }
    }
}

struct Server {
    handler: Handler,
    messages: mpsc::Sender<PumpMessage>,
    background: JoinSet<()>,
}

impl Server {
    async fn run(&mut self, mut lines: mpsc::Receiver<FramedLine>) {
        while let Some(line) = lines.recv().await {
            while self.background.try_join_next().is_some() {}
            match parse_line(line) {
                Ok(Some(call)) => self.call(call).await,
                Ok(None) => {}
                Err(response) => self.send(PumpMessage::Last(response)).await,
            }
        }
    }

    async fn call(&mut self, PendingCommand { id, name, command }: PendingCommand) {
        if self.background.len() >= MAX_CONCURRENT {
            let outcome = Err("too many commands are running; wait for a response".to_owned());
            return self.send(PumpMessage::Last(ResponseBody { id, command: name, outcome })).await;
        }
        if let Some(send_mode) = send_mode(&command, id.as_ref()) {
            self.send(PumpMessage::SetMode(send_mode)).await;
        }
        let order = ResponseOrder::for_command(&command);
        if order == ResponseOrder::First {
            self.send(PumpMessage::Hold).await;
        }
        if command.stops_work() {
            // Later commands wait too, because they assume the state after it. If the run doesn't stop, the
            // command itself reports that.
            let _ = timeout(STOP_TIMEOUT, self.handler.stop_work()).await;
        }
        let wait = if command.is_slow() { Duration::ZERO } else { QUICK_COMMAND_TIMEOUT };
        let handler = self.handler.clone();
        let mut job: CommandFuture = Box::pin(async move {
            let outcome = handler.handle(command).await;
            ResponseBody { id, command: name, outcome }
        });
        // Even with a zero timeout, the first poll passes the command to the session, so that commands arrive
        // in order.
        match timeout(wait, &mut job).await {
            Ok(response) => order.send(response, &self.messages).await,
            Err(_) => {
                let messages = self.messages.clone();
                self.background.spawn(async move {
                    let response = match timeout(HOLD_TIMEOUT, &mut job).await {
                        Ok(response) => response,
                        Err(_) => {
                            if order == ResponseOrder::First {
                                let _ = messages.send(PumpMessage::Release).await;
                            }
                            job.await
                        }
                    };
                    order.send(response, &messages).await;
                });
            }
        }
    }

    async fn send(&self, message: PumpMessage) {
        // If stdout is closed, the receiver has been dropped; then the server ends.
        let _ = self.messages.send(message).await;
    }
}

/// The order of a response among events.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ResponseOrder {
    /// Before the events that the command causes: the client first learns that it was accepted.
    First,
    /// After the events that the command causes.
    Last,
    /// After the events that the command causes; no later event belongs to the command.
    LastOfBash,
}

impl ResponseOrder {
    const fn for_command(command: &RpcCommand) -> Self {
        match command {
            RpcCommand::Prompt { .. }
            | RpcCommand::Steer { .. }
            | RpcCommand::FollowUp { .. }
            | RpcCommand::SteerNow { message: Some(_), .. } => Self::First,
            RpcCommand::Bash { .. } => Self::LastOfBash,
            _ => Self::Last,
        }
    }

    async fn send(self, response: ResponseBody, messages: &mpsc::Sender<PumpMessage>) {
        let bash_ended = PumpMessage::SetMode(SendMode::BashEnded { id: response.id.clone() });
        let message =
            if self == Self::First { PumpMessage::First(response) } else { PumpMessage::Last(response) };
        let _ = messages.send(message).await;
        if self == Self::LastOfBash {
            let _ = messages.send(bash_ended).await;
        }
    }
}

/// Returns the change to event writing that a command causes.
fn send_mode(command: &RpcCommand, id: Option<&Id>) -> Option<SendMode> {
    match command {
        RpcCommand::SetDeltas { enabled } => Some(SendMode::Deltas(*enabled)),
        RpcCommand::Bash { command, .. } => Some(SendMode::Bash { line: command.0.clone(), id: id.cloned() }),
        _ => None,
    }
}

/// A parsed command with its id.
#[derive(Debug, PartialEq)]
struct PendingCommand {
    id: Option<Id>,
    name: String,
    command: RpcCommand,
}

/// Parses a line: `None` for an empty one, an error response for an invalid one.
fn parse_line(line: FramedLine) -> Result<Option<PendingCommand>, ResponseBody> {
    let parse_error =
        |error: String| ResponseBody { id: None, command: "parse".to_owned(), outcome: Err(error) };
    let bytes = match line {
        FramedLine::Complete(bytes) if bytes.trim_ascii().is_empty() => return Ok(None),
        FramedLine::Complete(bytes) => bytes,
        FramedLine::TooLong => return Err(parse_error(FramedLine::too_long())),
    };
    let mut fields = fields(&bytes).map_err(parse_error)?;
    let id = fields.remove("id").and_then(Id::from_field);
    let name = fields.remove("type").and_then(|name| serde_json::from_str::<String>(name.get()).ok());
    let Some(name) = name else {
        let outcome = Err("the field `type` must name a command".to_owned());
        return Err(ResponseBody { id, command: "parse".to_owned(), outcome });
    };
    let command =
        values(fields).and_then(|fields| RpcCommand::parse(&name, fields).map_err(|error| error.to_string()));
    match command {
        Ok(command) => Ok(Some(PendingCommand { id, name, command })),
        Err(error) => Err(ResponseBody { id, command: name, outcome: Err(error) }),
    }
}

/// Splits an object into unparsed fields, because an id may be a number that fits no numeric type.
fn fields(line: &[u8]) -> Result<HashMap<String, &RawValue>, String> {
    let not_json = |error| format!("not JSON: {error}");
    if line.trim_ascii_start().starts_with(b"{") {
        return serde_json::from_slice(line).map_err(not_json);
    }
    serde_json::from_slice::<IgnoredAny>(line).map_err(not_json)?;
    Err("a command must be a JSON object".to_owned())
}

/// Parses the fields; an error names the field.
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

    fn parse_failure(line: &[u8]) -> (Option<Id>, String, String) {
        let response = parse_line(FramedLine::Complete(line.to_vec())).unwrap_err();
        (response.id, response.command, response.outcome.unwrap_err())
    }

    #[test]
    fn parse_line_call_has_its_id() {
        let line = br#" {"id": "a", "type": "abort", "more": 1} "#.to_vec();
        let call =
            PendingCommand { id: Some("a".into()), name: "abort".into(), command: RpcCommand::Abort {} };
        assert_eq!(parse_line(FramedLine::Complete(line)).unwrap(), Some(call));
        assert_eq!(parse_line(FramedLine::Complete(b"  ".to_vec())).unwrap(), None);
    }

    #[test]
    fn parse_line_id_is_returned_byte_for_byte() {
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
            parse_line(FramedLine::Complete(line.into())).unwrap_err().write_line(&mut out).unwrap();
            let response = String::from_utf8(out).unwrap();
            assert!(response.starts_with(&format!(r#"{{"id":{id},"type":"response""#)), "{response}");
        }
    }

    #[test]
    fn parse_line_invalid_line_is_an_error_response() {
        let (id, command, error) = parse_failure(b"{\"type\": \"abort\"");
        assert_eq!((id, command.as_str()), (None, "parse"));
        assert!(error.starts_with("not JSON: EOF"), "{error}");
        assert_eq!(parse_failure(b"[1]").2, "a command must be a JSON object");
        let named =
            (Some(Value::from(4).into()), "parse".to_owned(), "the field `type` must name a command".into());
        assert_eq!(parse_failure(br#"{"id": 4, "type": 1}"#), named);
        let unknown = (Some("b".into()), "dance".to_owned(), "unknown command `dance`".into());
        assert_eq!(parse_failure(br#"{"type": "dance", "id": "b"}"#), unknown);
        let deep = "[".repeat(100_000) + &"]".repeat(100_000);
        assert_eq!(parse_failure(deep.as_bytes()).2, "a command must be a JSON object");
        let (id, command, error) =
            parse_failure(format!(r#"{{"id":1e400,"type":"abort","a":{deep}}}"#).as_bytes());
        assert_eq!((id.is_some(), command.as_str()), (true, "abort"));
        assert!(error.starts_with("the field `a` can't be read: recursion limit"), "{error}");
        assert!(parse_failure(b"[1").2.starts_with("not JSON: EOF"));
        assert!(parse_failure(b"{\"type\": \"\xff\"}").2.starts_with("not JSON: "));
        let too_long = parse_line(FramedLine::TooLong).unwrap_err().outcome.unwrap_err();
        assert_eq!(too_long, "the line is longer than 64 MiB");
    }
}
