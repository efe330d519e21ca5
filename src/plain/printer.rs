//! Events in words. Holds only what is needed to put the next words in their place.

use std::borrow::Cow;
use std::io::{self, Write};

use super::{InputMode, Outputs};
use crate::agent::Received;
use crate::event::{AssistantDelta, CompactionReason, EventKind, QueueKind, RunOutcome, ToolOutcome};
use crate::id::CallId;
use crate::message::{BashExecutionMessage, Message, ToolCall, joined_text};
use crate::render::{ControlChars, cut_to, sanitize};

/// Says what happens.
pub(super) struct Printer<Out, Err> {
    outputs: Outputs<Out, Err>,
    manner: InputMode,
    /// Whether the last line on stdout is still open.
    is_open: bool,
    /// Whether a line is waited for, and that was shown.
    has_invited: bool,
    /// Whether text of the growing answer was told already.
    has_told: bool,
    /// Messages that waited when the queue was told last.
    waiting: usize,
    /// What went wrong with the newest answer.
    trouble: Option<String>,
    calls: Vec<RunningToolCall>,
}

/// A call at work.
struct RunningToolCall {
    id: CallId,
    /// The argument that matters.
    summary: String,
    /// Whether others were told meanwhile, so that its end has to say whose it is.
    is_beside: bool,
}

/// Lines of a command's output that are told, from its beginning and from its end.
const TOLD: [usize; 2] = [2, 4];

/// Columns of such a line.
const LONGEST: usize = 400;

impl<Out: Write, Err: Write> Printer<Out, Err> {
    pub(super) fn new(outputs: Outputs<Out, Err>, manner: InputMode) -> Self {
        Self {
            outputs,
            manner,
            is_open: false,
            has_invited: false,
            has_told: false,
            waiting: 0,
            trouble: None,
            calls: Vec::new(),
        }
    }

    /// Writes what was asked for.
    pub(super) fn say(&mut self, text: &str) -> io::Result<()> {
        let text = sanitize(text, ControlChars::Visible);
        if text.is_empty() {
            return Ok(());
        }
        self.withdraw()?;
        self.outputs.out.write_all(text.as_bytes())?;
        if let Some(last) = text.chars().next_back() {
            self.is_open = last != '\n';
        }
        self.outputs.out.flush()
    }

    /// Writes what happens, on lines of its own.
    pub(super) fn note(&mut self, text: &str) -> io::Result<()> {
        self.close_line()?;
        self.withdraw()?;
        writeln!(self.outputs.err, "{}", sanitize(text, ControlChars::Visible))?;
        self.outputs.err.flush()
    }

    /// Ends the line at hand.
    pub(super) fn close_line(&mut self) -> io::Result<()> {
        if self.is_open { self.say("\n") } else { Ok(()) }
    }

    /// Shows that a line is waited for, once.
    pub(super) fn invite(&mut self) -> io::Result<()> {
        if self.manner == InputMode::Batch || self.has_invited {
            return Ok(());
        }
        self.close_line()?;
        self.has_invited = true;
        write!(self.outputs.err, "> ")?;
        self.outputs.err.flush()
    }

    /// A line was typed where it was waited for.
    pub(super) fn was_answered(&mut self) {
        self.has_invited = false;
    }

    /// What is told next stands on a line of its own, not behind the sign that waits.
    fn withdraw(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.has_invited) { writeln!(self.outputs.err) } else { Ok(()) }
    }

    pub(super) fn hear(&mut self, heard: &Received) -> io::Result<()> {
        match heard {
            Received::Event(event) => self.event(&event.kind),
            Received::Missed { messages, .. } => {
                self.note("some of what happened was passed over because the output is slow")?;
                self.has_told = false;
                self.calls.clear();
                messages.iter().try_for_each(|message| self.message(message))
            }
        }
    }

    fn event(&mut self, event: &EventKind) -> io::Result<()> {
        match event {
            EventKind::MessageStart { message } if matches!(**message, Message::Assistant(_)) => {
                (self.has_told, self.trouble) = (false, None);
                Ok(())
            }
            EventKind::MessageUpdate { assistant_message_event, .. } => self.delta(assistant_message_event),
            EventKind::MessageEnd { message } => self.message(message),
            EventKind::ToolExecutionStart { tool_call_id, tool_name, args } => {
                let call = ToolCall {
                    id: tool_call_id.clone(),
                    name: tool_name.clone(),
                    arguments: args.clone(),
                    raw_arguments: None,
                };
                let summary = call.summary();
                self.note(&format!("tool {tool_name}: {summary}"))?;
                self.calls.iter_mut().for_each(|call| call.is_beside = true);
                let is_beside = !self.calls.is_empty();
                self.calls.push(RunningToolCall { id: call.id, summary, is_beside });
                Ok(())
            }
            EventKind::ToolExecutionEnd { tool_call_id, tool_name, result, is_error } => {
                let at = self.calls.iter().position(|call| call.id == *tool_call_id);
                let call = at.map(|at| self.calls.remove(at)).filter(|call| call.is_beside);
                let which =
                    call.map_or_else(|| tool_name.clone(), |call| format!("{tool_name} {}", call.summary));
                let printed = result.details.as_ref().is_some_and(|details| details["exitCode"].is_i64());
                if !printed {
                    return self.note(&tool_ended(&which, result, *is_error));
                }
                self.note(&format!("tool {which}: {}", if *is_error { "failed" } else { "done" }))?;
                self.output(&joined_text(&result.content))
            }
            EventKind::AgentEnd { outcome, .. } => {
                self.calls.clear();
                self.ended(*outcome)
            }
            EventKind::QueueUpdate { items, .. } => {
                let newest = items.last().filter(|_| items.len() > self.waiting);
                self.waiting = items.len();
                newest.map_or(Ok(()), |item| self.note(&queued(item.kind, item.held)))
            }
            EventKind::Notice { message } => self.say(&format!("{}\n", message.trim_end())),
            EventKind::BashExecutionUpdate { delta, .. } => self.say(delta),
            EventKind::BashExecutionEnd { message, .. } => self.note(&bash_ended(message)),
            event => upkeep(event).map_or(Ok(()), |text| self.note(&text)),
        }
    }

    /// What a command printed: as much of it as tells how it went.
    fn output(&mut self, text: &str) -> io::Result<()> {
        let lines: Vec<&str> = text.lines().collect();
        let [head, tail] = TOLD;
        let hidden = lines.len().saturating_sub(head + tail);
        let (head, tail) = if hidden > 1 { lines.split_at(head) } else { lines.split_at(lines.len()) };
        head.iter().try_for_each(|line| self.printed(line))?;
        if hidden > 1 {
            self.note(&format!("  … {hidden} more lines"))?;
        }
        tail.iter().skip(hidden).try_for_each(|line| self.printed(line))
    }

    fn printed(&mut self, line: &str) -> io::Result<()> {
        self.note(&format!("  {}", cut_to(line, LONGEST)))
    }

    fn delta(&mut self, delta: &AssistantDelta) -> io::Result<()> {
        match delta {
            AssistantDelta::TextDelta { delta, .. } => {
                self.has_told = true;
                self.say(delta)
            }
            AssistantDelta::ThinkingStart { .. } if self.manner == InputMode::Conversation => {
                self.note("thinking")
            }
            AssistantDelta::TextEnd { .. } => self.close_line(),
            AssistantDelta::TextStart { .. }
            | AssistantDelta::ThinkingStart { .. }
            | AssistantDelta::ThinkingDelta { .. }
            | AssistantDelta::ThinkingEnd { .. }
            | AssistantDelta::ToolcallStart { .. }
            | AssistantDelta::ToolcallDelta { .. }
            | AssistantDelta::ToolcallEnd { .. } => Ok(()),
        }
    }

    /// A whole message: its text, unless that was told piece by piece.
    fn message(&mut self, message: &Message) -> io::Result<()> {
        let Message::Assistant(answer) = message else { return Ok(()) };
        self.trouble.clone_from(&answer.error_message);
        if !std::mem::take(&mut self.has_told) {
            self.say(&answer.joined_text())?;
        }
        self.close_line()
    }

    fn ended(&mut self, outcome: RunOutcome) -> io::Result<()> {
        let trouble = self.trouble.take();
        let text: Cow<'static, str> = match (outcome, trouble) {
            (RunOutcome::Completed, _) if self.manner == InputMode::Batch => return Ok(()),
            (RunOutcome::Completed, _) => "done".into(),
            (RunOutcome::Failed, Some(trouble)) => format!("error: {trouble}").into(),
            (RunOutcome::Failed, None) => "error: the run failed".into(),
            (RunOutcome::Aborted, _) => "stopped".into(),
            (RunOutcome::MaxTurns, _) => "the limit of requests was reached and forced this answer".into(),
        };
        self.note(&text)
    }
}

fn tool_ended(name: &str, result: &ToolOutcome, is_error: bool) -> String {
    if !is_error {
        return format!("tool {name}: done");
    }
    let text = joined_text(&result.content);
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    format!("tool {name}: failed: {}", first.trim())
}

fn queued(kind: QueueKind, held: bool) -> String {
    match (kind, held) {
        (_, true) => "a message of an earlier time still waits; /queue shows it".to_owned(),
        (QueueKind::Steer, false) => "it waits for the next gap, to steer".to_owned(),
        (QueueKind::FollowUp, false) => "it waits until the agent has finished".to_owned(),
    }
}

fn bash_ended(record: &BashExecutionMessage) -> String {
    let file = record.full_output_path.as_ref();
    let whole = file.map(|path| format!("; its whole output is in {path}")).unwrap_or_default();
    let ended = match (record.cancelled, record.exit_code) {
        (true, _) => "was stopped".to_owned(),
        (false, Some(0)) => "is done".to_owned(),
        (false, Some(code)) => format!("failed with exit code {code}"),
        (false, None) => "was killed".to_owned(),
    };
    format!("the command {ended}{whole}")
}

/// What goes on beside the conversation; nothing for what is told elsewhere or concerns nobody.
fn upkeep(event: &EventKind) -> Option<String> {
    Some(match event {
        EventKind::AutoRetryStart { attempt, max_attempts, delay_ms, error_message } => {
            let seconds = delay_ms.div_ceil(1_000);
            format!("{error_message}; trying again in {seconds} s, {attempt} of {max_attempts}")
        }
        EventKind::SummaryRetry { attempt, max_attempts, delay_ms, error_message } => {
            let seconds = delay_ms.div_ceil(1_000);
            format!(
                "no summary yet: {error_message}; trying again in {seconds} s, {attempt} of {max_attempts}"
            )
        }
        EventKind::CompactionStart { reason } => match reason {
            CompactionReason::Overflow => "the context is too long and is being made smaller".to_owned(),
            CompactionReason::Manual | CompactionReason::Threshold => {
                "the context is being made smaller".to_owned()
            }
        },
        EventKind::CompactionEnd { result: Some(result), .. } => {
            format!("the context is smaller now; it had {} tokens", result.tokens_before)
        }
        EventKind::CompactionEnd { error_message: Some(message), .. } => {
            format!("the context was not made smaller: {message}")
        }
        EventKind::BranchSummaryStart => "a summary of the branch is being made".to_owned(),
        EventKind::Warning { message, hint } => {
            let hint = hint.as_ref().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
            format!("warning: {message}{hint}")
        }
        EventKind::ApprovalResolved { decision, .. } => match decision {
            crate::event::Decision::Once | crate::event::Decision::Session => "allowed".to_owned(),
            crate::event::Decision::Deny { reason } => format!("denied: {reason}"),
        },
        EventKind::ModelChanged { model } => format!("{} answers from the next turn on", model.shown()),
        EventKind::ThinkingLevelChanged { level } => format!("thinking: {}", level.name()),
        _ => return None,
    })
}
