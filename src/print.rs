//! The front end without a screen: one prompt to its end, the answer or the events on stdout.

mod denials;

use std::io::{self, Write};

use self::denials::Denials;
use crate::agent::{AgentError, AgentSession, PromptOptions, Received, Subscription};
use crate::event::{CompactionReason, EventKind, RunOutcome};
use crate::message::{AssistantMessage, Message};
use crate::session::entry::Header;

/// What goes to stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintOutput {
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
    (prompt, options): (String, PromptOptions),
    output: PrintOutput,
    out: &mut impl Write,
    err: &mut impl Write,
) -> Result<RunOutcome, PrintError> {
    let mut listener = Subscription::new(agent).buffered();
    let mut printer = Printer::new(output, out, err);
    printer.begin(agent.reader().header())?;
    agent.prompt(prompt, options).await?;
    loop {
        // What is written is read as it happens: nothing stays in the buffer while nothing follows.
        let heard = match listener.try_next() {
            Some(heard) => heard,
            None => {
                printer.out.flush()?;
                listener.next().await.ok_or(PrintError::Cut)?
            }
        };
        printer.hear(&heard)?;
        if matches!(&heard, Received::Event(event) if matches!(event.kind, EventKind::AgentSettled)) {
            return printer.end();
        }
    }
}

struct Printer<'a, Out, Err> {
    output: PrintOutput,
    out: &'a mut Out,
    err: &'a mut Err,
    answer: Option<AssistantMessage>,
    outcome: RunOutcome,
    /// Events that were lost because stdout was too slow.
    lost: u64,
    denials: Denials,
}

impl<'a, Out: Write, Err: Write> Printer<'a, Out, Err> {
    fn new(output: PrintOutput, out: &'a mut Out, err: &'a mut Err) -> Self {
        Self {
            output,
            out,
            err,
            answer: None,
            outcome: RunOutcome::Failed,
            lost: 0,
            denials: Denials::default(),
        }
    }

    fn begin(&mut self, header: &Header) -> io::Result<()> {
        if self.output == PrintOutput::Json {
            serde_json::to_writer(&mut *self.out, header)?;
            self.out.write_all(b"\n")?;
        }
        Ok(())
    }

    fn hear(&mut self, heard: &Received) -> io::Result<()> {
        match heard {
            Received::Event(event) => self.event(&event.kind)?,
            Received::Missed { events, messages } => {
                self.lost += events;
                messages.iter().for_each(|message| self.note(message));
            }
        }
        if self.output == PrintOutput::Json { heard.write_lines(self.out) } else { Ok(()) }
    }

    fn event(&mut self, event: &EventKind) -> io::Result<()> {
        match event {
            EventKind::Warning { message, hint } => {
                let hint = hint.as_ref().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
                writeln!(self.err, "warning: {message}{hint}")?;
            }
            EventKind::AutoRetryStart { attempt, max_attempts, delay_ms, error_message }
            | EventKind::SummaryRetry { attempt, max_attempts, delay_ms, error_message } => {
                let seconds = delay_ms.div_ceil(1_000);
                writeln!(
                    self.err,
                    "{error_message}; trying again in {seconds} s ({attempt} of {max_attempts})"
                )?;
            }
            EventKind::CompactionEnd {
                reason: CompactionReason::Overflow,
                error_message: Some(error),
                ..
            } => writeln!(self.err, "warning: {error}")?,
            EventKind::Notice { message } if self.output == PrintOutput::Text => {
                writeln!(self.out, "{}", message.trim_end())?;
            }
            EventKind::MessageEnd { message } => self.note(message),
            EventKind::ToolCallDenied(denial) => self.denials.add(denial),
            EventKind::AgentEnd { outcome, .. } => self.outcome = *outcome,
            _ => {}
        }
        Ok(())
    }

    fn note(&mut self, message: &Message) {
        if let Message::Assistant(answer) = message {
            self.answer = Some(answer.clone());
        }
    }

    fn end(self) -> Result<RunOutcome, PrintError> {
        let answer = self.answer.unwrap_or_default();
        if self.lost > 0 && self.output == PrintOutput::Json {
            let lost = self.lost;
            writeln!(
                self.err,
                "warning: {lost} events were passed over because stdout is slow; the log has everything"
            )?;
        }
        if self.output == PrintOutput::Text
            && matches!(self.outcome, RunOutcome::Completed | RunOutcome::MaxTurns)
        {
            writeln!(self.out, "{}", answer.joined_text())?;
        }
        if let Some(line) = self.denials.line() {
            writeln!(self.err, "{line}")?;
        }
        if let Some(message) = &answer.error_message {
            writeln!(self.err, "error: {message}")?;
        }
        self.out.flush()?;
        Ok(self.outcome)
    }
}
