//! Formats events as text. Its state is only what is needed to place the next text.

use std::borrow::Cow;
use std::io::{self, Write};

use super::options::{InputMode, Outputs};
use crate::agent::SubscriptionItem;
use crate::event::{AssistantDelta, CompactionReason, EventKind, QueueKind, RunOutcome, ToolOutcome};
use crate::id::CallId;
use crate::message::{BashExecutionMessage, Message, joined_text};
use crate::render::{ControlChars, sanitize, truncate_to};
use crate::tool_catalog::ToolCatalog;

/// Prints events, answers and notices.
pub(super) struct EventPrinter<Out, Err> {
    outputs: Outputs<Out, Err>,
    input_mode: InputMode,
    /// The tools, which determine the shown arguments of calls.
    tools: ToolCatalog,
    /// True if the last line on stdout hasn't ended with a line feed.
    is_open: bool,
    /// True if the input prompt is shown.
    has_prompt: bool,
    /// True if part of the streaming answer was printed.
    has_streamed: bool,
    /// Length of the queue at its last update.
    queue_length: usize,
    /// Error of the newest answer.
    error: Option<String>,
    calls: Vec<RunningToolCall>,
}

struct RunningToolCall {
    id: CallId,
    summary: String,
    /// True if other calls have started since, so that the report of its end must identify it.
    is_parallel: bool,
}

/// Beginnings of the results of calls that weren't run or were stopped.
const NOT_RUN: [&str; 5] = ["denied:", "skipped:", "not run:", "not started:", "aborted:"];

/// Number of lines to print from the beginning and the end of a command's output.
const HEAD_AND_TAIL_LINES: [usize; 2] = [2, 4];

/// Maximum width of such a line, in columns.
const MAX_COLUMNS: usize = 400;

impl<Out: Write, Err: Write> EventPrinter<Out, Err> {
    pub(super) fn new(outputs: Outputs<Out, Err>, input_mode: InputMode, tools: ToolCatalog) -> Self {
        Self {
            outputs,
            input_mode,
            tools,
            is_open: false,
            has_prompt: false,
            has_streamed: false,
            queue_length: 0,
            error: None,
            calls: Vec::new(),
        }
    }

    /// Writes to stdout.
    pub(super) fn print(&mut self, text: &str) -> io::Result<()> {
        let text = sanitize(text, ControlChars::Visible);
        if text.is_empty() {
            return Ok(());
        }
        self.end_prompt_line()?;
        self.outputs.out.write_all(text.as_bytes())?;
        if let Some(last) = text.chars().next_back() {
            self.is_open = last != '\n';
        }
        self.outputs.out.flush()
    }

    /// Writes a notice on separate lines.
    pub(super) fn note(&mut self, text: &str) -> io::Result<()> {
        self.close_line()?;
        self.end_prompt_line()?;
        writeln!(self.outputs.err, "{}", sanitize(text, ControlChars::Visible))?;
        self.outputs.err.flush()
    }

    /// Ends an open line.
    pub(super) fn close_line(&mut self) -> io::Result<()> {
        if self.is_open { self.print("\n") } else { Ok(()) }
    }

    /// Shows the input prompt once.
    pub(super) fn show_prompt(&mut self) -> io::Result<()> {
        if self.input_mode == InputMode::Batch || self.has_prompt {
            return Ok(());
        }
        self.close_line()?;
        self.has_prompt = true;
        write!(self.outputs.err, "> ")?;
        self.outputs.err.flush()
    }

    /// Marks the input prompt as answered.
    pub(super) fn clear_prompt(&mut self) {
        self.has_prompt = false;
    }

    /// Ends the line with the input prompt, so that the next text is on a new line.
    fn end_prompt_line(&mut self) -> io::Result<()> {
        if std::mem::take(&mut self.has_prompt) { writeln!(self.outputs.err) } else { Ok(()) }
    }

    pub(super) fn handle(&mut self, received: &SubscriptionItem) -> io::Result<()> {
        match received {
            SubscriptionItem::Event(event) => self.event(&event.kind),
            SubscriptionItem::Missed { messages, .. } => {
                self.note("some events were skipped because the output is slow")?;
                self.has_streamed = false;
                self.calls.clear();
                messages.iter().try_for_each(|message| self.message(message))
            }
        }
    }

    fn event(&mut self, event: &EventKind) -> io::Result<()> {
        match event {
            EventKind::MessageStart { message } if matches!(**message, Message::Assistant(_)) => {
                (self.has_streamed, self.error) = (false, None);
                Ok(())
            }
            EventKind::MessageUpdate { assistant_message_event, .. } => self.delta(assistant_message_event),
            EventKind::MessageEnd { message } => self.message(message),
            EventKind::ToolExecutionStart { tool_call_id, tool_name, args } => {
                let summary = self.tools.traits(tool_name).shown_argument.one_line(args);
                self.note(&format!("tool {tool_name}: {summary}"))?;
                self.calls.iter_mut().for_each(|call| call.is_parallel = true);
                let is_parallel = !self.calls.is_empty();
                self.calls.push(RunningToolCall { id: tool_call_id.clone(), summary, is_parallel });
                Ok(())
            }
            EventKind::ToolExecutionEnd { tool_call_id, tool_name, result, is_error } => {
                let at = self.calls.iter().position(|call| call.id == *tool_call_id);
                let call = at.map(|at| self.calls.remove(at)).filter(|call| call.is_parallel);
                let label =
                    call.map_or_else(|| tool_name.clone(), |call| format!("{tool_name} {}", call.summary));
                let print_output_line =
                    result.details.as_ref().is_some_and(|details| details["exitCode"].is_i64());
                if !print_output_line {
                    return self.note(&tool_text(&label, result, *is_error));
                }
                self.note(&format!("tool {label}: {}", if *is_error { "failed" } else { "done" }))?;
                self.output(&joined_text(&result.content))
            }
            EventKind::AgentEnd { outcome, .. } => {
                self.calls.clear();
                self.run_ended(*outcome)
            }
            EventKind::QueueUpdate { items, .. } => {
                let newest = items.last().filter(|_| items.len() > self.queue_length);
                self.queue_length = items.len();
                newest.map_or(Ok(()), |item| self.note(&queue_text(item.kind, item.held)))
            }
            EventKind::Notice { message } => self.print(&format!("{}\n", message.trim_end())),
            EventKind::BashExecutionUpdate { delta, .. } => self.print(delta),
            EventKind::BashExecutionEnd { message, .. } => self.note(&bash_text(message)),
            event => background_text(event).map_or(Ok(()), |text| self.note(&text)),
        }
    }

    /// Prints the beginning and the end of a command's output.
    fn output(&mut self, text: &str) -> io::Result<()> {
        let lines: Vec<&str> = text.lines().collect();
        let [head, tail] = HEAD_AND_TAIL_LINES;
        let hidden = lines.len().saturating_sub(head + tail);
        let (head, tail) = if hidden > 1 { lines.split_at(head) } else { lines.split_at(lines.len()) };
        head.iter().try_for_each(|line| self.print_output_line(line))?;
        if hidden > 1 {
            self.note(&format!("  … {hidden} more lines"))?;
        }
        tail.iter().skip(hidden).try_for_each(|line| self.print_output_line(line))
    }

    fn print_output_line(&mut self, line: &str) -> io::Result<()> {
        self.note(&format!("  {}", truncate_to(line, MAX_COLUMNS)))
    }

    fn delta(&mut self, delta: &AssistantDelta) -> io::Result<()> {
        match delta {
            AssistantDelta::TextDelta { delta, .. } => {
                self.has_streamed = true;
                self.print(delta)
            }
            AssistantDelta::ThinkingStart { .. } if self.input_mode == InputMode::Conversation => {
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

    /// Prints a complete message, unless its text was streamed.
    fn message(&mut self, message: &Message) -> io::Result<()> {
        let Message::Assistant(answer) = message else { return Ok(()) };
        self.error.clone_from(&answer.error_message);
        if !std::mem::take(&mut self.has_streamed) {
            self.print(&answer.joined_text())?;
        }
        self.close_line()
    }

    fn run_ended(&mut self, outcome: RunOutcome) -> io::Result<()> {
        let error = self.error.take();
        let text: Cow<'static, str> = match (outcome, error) {
            (RunOutcome::Completed, _) if self.input_mode == InputMode::Batch => return Ok(()),
            (RunOutcome::Completed, _) => "done".into(),
            (RunOutcome::Failed, Some(error)) => format!("error: {error}").into(),
            (RunOutcome::Failed, None) => "error: the run failed".into(),
            (RunOutcome::Aborted, _) => "stopped".into(),
            (RunOutcome::MaxTurns, _) => "stopped after a final answer".into(),
        };
        self.note(&text)
    }
}

fn tool_text(name: &str, result: &ToolOutcome, is_error: bool) -> String {
    if !is_error {
        return format!("tool {name}: done");
    }
    let text = joined_text(&result.content);
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let was_run = !NOT_RUN.iter().any(|prefix| first.starts_with(prefix));
    format!("tool {name}: {}{first}", if was_run { "failed: " } else { "" })
}

fn queue_text(kind: QueueKind, held: bool) -> String {
    match (kind, held) {
        (_, true) => "an earlier queued message is held; /queue shows it".to_owned(),
        (QueueKind::Steer, false) => "queued: will steer at the next opportunity".to_owned(),
        (QueueKind::FollowUp, false) => "queued: will be sent after the agent has finished".to_owned(),
    }
}

fn bash_text(record: &BashExecutionMessage) -> String {
    let file = record.full_output_path.as_ref();
    let full_output = file.map(|path| format!("; full output in {path}")).unwrap_or_default();
    let run_ended = match (record.cancelled, record.exit_code) {
        (true, _) => "was stopped".to_owned(),
        (false, Some(0)) => "finished".to_owned(),
        (false, Some(code)) => format!("failed with exit code {code}"),
        (false, None) => "was killed".to_owned(),
    };
    format!("the command {run_ended}{full_output}")
}

/// Formats events of background work; `None` for events that are handled elsewhere or not shown.
fn background_text(event: &EventKind) -> Option<String> {
    Some(match event {
        EventKind::AutoRetryStart { attempt, max_attempts, delay_ms, error_message } => {
            let seconds = delay_ms.div_ceil(1_000);
            format!("retrying in {seconds} s ({attempt} of {max_attempts}): {error_message}")
        }
        EventKind::SummaryRetry { attempt, max_attempts, delay_ms, error_message } => {
            let seconds = delay_ms.div_ceil(1_000);
            format!("retrying the summary in {seconds} s ({attempt} of {max_attempts}): {error_message}")
        }
        EventKind::CompactionStart { reason } => match reason {
            CompactionReason::Overflow => "the context is too long; compacting".to_owned(),
            CompactionReason::Manual | CompactionReason::Threshold => "compacting the context".to_owned(),
        },
        EventKind::CompactionEnd { result: Some(result), .. } => {
            format!("context compacted; it had {} tokens", result.tokens_before)
        }
        EventKind::CompactionEnd { error_message: Some(message), .. } => {
            format!("compaction failed: {message}")
        }
        EventKind::BackgroundJobStart(job) => {
            format!("background job {}: {}", job.job_id, job.short_command())
        }
        EventKind::BackgroundJobEnd(job) => format!("background job {}: {}", job.job_id, job.status),
        EventKind::AgentTaskStart(task) => {
            let first = task.task.lines().next().unwrap_or_default();
            format!("agent {} {}: {first}", task.name, task.agent_id.short())
        }
        EventKind::AgentTaskEnd(end) => {
            let outcome = end.error.as_deref().unwrap_or("finished");
            format!("agent {}: {outcome}", end.agent_id.short())
        }
        EventKind::BranchSummaryStart => "summarizing the branch".to_owned(),
        EventKind::Warning { message, hint } => {
            let hint = hint.as_ref().map(|hint| format!("\n  hint: {hint}")).unwrap_or_default();
            format!("warning: {message}{hint}")
        }
        EventKind::ApprovalResolved { decision, .. } => match decision {
            crate::event::Decision::Once | crate::event::Decision::Session => "allowed".to_owned(),
            crate::event::Decision::Deny { reason } => format!("denied: {reason}"),
        },
        EventKind::ElicitationResolved { withdrawn: true, .. } => {
            "the server has withdrawn its question".to_owned()
        }
        EventKind::ElicitationResolved { action, .. } => match action {
            crate::elicitation::ElicitationAction::Accept => "answered".to_owned(),
            crate::elicitation::ElicitationAction::Decline => "declined".to_owned(),
            crate::elicitation::ElicitationAction::Cancel => "the question was canceled".to_owned(),
        },
        EventKind::ModelChanged { model } => {
            format!("{} takes effect on the next turn", model.display_name())
        }
        EventKind::ThinkingLevelChanged { level } => format!("thinking: {}", level.name()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::UserBlock;

    #[test]
    fn tool_text_failed_call_differs_from_one_not_run() {
        let line = |text: &str| {
            let content = vec![UserBlock::Text { text: text.to_owned() }];
            tool_text("bash", &ToolOutcome { content, details: None }, true)
        };
        assert_eq!(line("\nno such file\nmore"), "tool bash: failed: no such file");
        for text in ["denied: the user rejected it: maybe", "skipped: the user steered", "aborted: stopped"] {
            assert_eq!(line(text), format!("tool bash: {text}"));
        }
    }
}
