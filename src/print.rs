//! The print front end (`tiller -p`): runs one prompt and prints the answer or the events to stdout.

mod denials;

use std::io::{self, Write};

use self::denials::Denials;
use crate::agent::{AgentError, AgentSession, PromptOptions, Subscription, SubscriptionItem};
use crate::background_job::CommandJob;
use crate::event::{CompactionReason, EventKind, RunOutcome};
use crate::message::{AssistantMessage, Message, StopReason};
use crate::session::entry::Header;

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintOutput {
    /// The final answer.
    Text,
    /// The session header, then every event, one JSON line each.
    Json,
}

/// An error of a print run.
#[derive(Debug, thiserror::Error)]
pub enum PrintError {
    /// The session refused the prompt.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// Writing to stdout failed.
    #[error("can't write to stdout")]
    Stdout(#[from] io::Error),
    /// The session ended before the run was complete.
    #[error("the session ended before the answer was complete")]
    Incomplete,
}

/// Runs one prompt to its end.
///
/// Diagnostics go to `err`. Dropping the future doesn't stop the run; abort the session for that.
///
/// # Errors
/// If the prompt is refused, stdout is closed, or the session ends early.
pub async fn run(
    agent: &AgentSession,
    (prompt, options): (String, PromptOptions),
    output: PrintOutput,
    out: &mut impl Write,
    err: &mut impl Write,
) -> Result<RunOutcome, PrintError> {
    let mut subscription = Subscription::new(agent).buffered();
    let mut run = PrintRun::new(output, out, err);
    run.write_header(agent.reader().header())?;
    agent.prompt(prompt, options).await?;
    loop {
        // Flush when no further event is ready, so that readers get everything immediately.
        let received = match subscription.try_next() {
            Some(received) => received,
            None => {
                run.out.flush()?;
                subscription.next().await.ok_or(PrintError::Incomplete)?
            }
        };
        run.handle(&received)?;
        if matches!(&received, SubscriptionItem::Event(event) if matches!(event.kind, EventKind::AgentSettled))
        {
            run.name_stopped_jobs(&agent.background_jobs().await?)?;
            for agent in agent.running_agents().await? {
                writeln!(run.err, "stopped agent {} {}", agent.start.name, agent.start.agent_id.short())?;
            }
            for task in agent.waiting_tasks().await? {
                writeln!(run.err, "agent {} was not started: {}", task.name, task.short_task())?;
            }
            return run.end();
        }
    }
}

/// Warns of an answer that is empty or was cut off.
fn warn_of_short_answer(answer: &AssistantMessage, err: &mut impl Write) -> io::Result<()> {
    if answer.stop_reason == StopReason::Length {
        writeln!(
            err,
            "warning: the answer was cut off at the output limit\n  hint: raise --max-tokens if the model allows more, or ask for a shorter answer"
        )?;
    } else if answer.joined_text().trim().is_empty() {
        writeln!(err, "warning: the model's answer is empty")?;
    }
    Ok(())
}

struct PrintRun<'a, Out, Err> {
    output: PrintOutput,
    out: &'a mut Out,
    err: &'a mut Err,
    answer: Option<AssistantMessage>,
    outcome: RunOutcome,
    /// Number of events lost because stdout was too slow.
    lost_events: u64,
    denials: Denials,
}

impl<'a, Out: Write, Err: Write> PrintRun<'a, Out, Err> {
    fn new(output: PrintOutput, out: &'a mut Out, err: &'a mut Err) -> Self {
        Self {
            output,
            out,
            err,
            answer: None,
            outcome: RunOutcome::Failed,
            lost_events: 0,
            denials: Denials::default(),
        }
    }

    fn write_header(&mut self, header: &Header) -> io::Result<()> {
        if self.output == PrintOutput::Json {
            serde_json::to_writer(&mut *self.out, header)?;
            self.out.write_all(b"\n")?;
        }
        Ok(())
    }

    fn handle(&mut self, received: &SubscriptionItem) -> io::Result<()> {
        match received {
            SubscriptionItem::Event(event) => self.handle_event(&event.kind)?,
            SubscriptionItem::Missed { events, messages } => {
                self.lost_events += events;
                messages.iter().for_each(|message| self.keep_answer(message));
            }
        }
        if self.output == PrintOutput::Json { received.write_lines(self.out) } else { Ok(()) }
    }

    fn handle_event(&mut self, event: &EventKind) -> io::Result<()> {
        match event {
            EventKind::Warning { message, hint } => {
                let hint = hint.as_ref().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
                writeln!(self.err, "warning: {message}{hint}")?;
            }
            EventKind::AutoRetryStart { attempt, max_attempts, delay_ms, error_message }
            | EventKind::SummaryRetry { attempt, max_attempts, delay_ms, error_message } => {
                let seconds = delay_ms.div_ceil(1_000);
                writeln!(self.err, "retrying in {seconds} s ({attempt} of {max_attempts}): {error_message}")?;
            }
            EventKind::CompactionEnd {
                reason: CompactionReason::Overflow,
                error_message: Some(error),
                ..
            } => writeln!(self.err, "warning: {error}")?,
            EventKind::Notice { message } if self.output == PrintOutput::Text => {
                writeln!(self.out, "{}", message.trim_end())?;
            }
            EventKind::MessageEnd { message } => self.keep_answer(message),
            EventKind::ToolCallDenied(denial) => self.denials.add(denial),
            EventKind::AgentEnd { outcome, .. } => self.outcome = *outcome,
            _ => {}
        }
        Ok(())
    }

    /// Reports the background jobs that end with the session.
    fn name_stopped_jobs(&mut self, jobs: &[CommandJob]) -> io::Result<()> {
        for job in jobs.iter().filter(|job| job.status.is_running()) {
            writeln!(self.err, "stopped background job {}: {}", job.job_id, job.short_command())?;
        }
        Ok(())
    }

    fn keep_answer(&mut self, message: &Message) {
        if let Message::Assistant(answer) = message {
            self.answer = Some(answer.clone());
        }
    }

    fn end(self) -> Result<RunOutcome, PrintError> {
        let answer = self.answer.unwrap_or_default();
        if self.lost_events > 0 && self.output == PrintOutput::Json {
            let lost_events = self.lost_events;
            writeln!(
                self.err,
                "warning: {lost_events} events were skipped because stdout is slow; the session log has everything"
            )?;
        }
        if self.output == PrintOutput::Text
            && matches!(self.outcome, RunOutcome::Completed | RunOutcome::MaxTurns)
        {
            writeln!(self.out, "{}", answer.joined_text())?;
        }
        if matches!(self.outcome, RunOutcome::Completed | RunOutcome::MaxTurns) {
            warn_of_short_answer(&answer, self.err)?;
        }
        if let Some(line) = self.denials.line() {
            writeln!(self.err, "{line}")?;
        }
        match (&answer.error_message, self.outcome) {
            // A signal stopped the run, whereas the message names the user.
            (Some(_), RunOutcome::Aborted) => writeln!(self.err, "error: stopped")?,
            (Some(message), _) => writeln!(self.err, "error: {message}")?,
            (None, _) => {}
        }
        self.out.flush()?;
        Ok(self.outcome)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::AssistantBlock;

    #[test]
    fn short_answer_is_reported() {
        let warning = |stop_reason, text: &str| {
            let content = vec![AssistantBlock::Text { text: text.into(), text_signature: None }];
            let mut err = Vec::new();
            let answer = AssistantMessage { content, stop_reason, ..AssistantMessage::default() };
            warn_of_short_answer(&answer, &mut err).unwrap();
            String::from_utf8(err).unwrap()
        };
        assert!(warning(StopReason::Length, "half").starts_with("warning: the answer was cut off"));
        assert_eq!(warning(StopReason::Stop, " "), "warning: the model's answer is empty\n");
        assert_eq!(warning(StopReason::Stop, "Hi."), "");
    }
}
