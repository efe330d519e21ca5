//! The user's shell commands: start, output, record.

use std::sync::Arc;

use tiller_core::ansi::OutputBuffer;
use tiller_core::event::EventKind;
use tiller_core::id::EntryId;
use tiller_core::message::BashExecutionMessage;
use tiller_session::EntryBody;
use tiller_session::entry::TillerEntry;
use tiller_tools::process;
use tiller_tools::tool::OutputCapture;

use super::Driver;
use super::clock::now;
use super::job_event::BashEnd;
use crate::handle::{AgentError, BashContext, Reply, RunningBash};
use crate::turn::Input;

impl Driver {
    /// Starts a command. `waits` receives its record, or the reason it was not started.
    pub(super) fn execute_bash(
        &mut self,
        line: String,
        context: BashContext,
        reply: Reply<BashExecutionMessage>,
    ) {
        match self.try_start_bash(line, context) {
            Ok(StartedBash::Running) => self.jobs.await_bash(reply),
            Ok(StartedBash::Over(record)) => _ = reply.send(Ok(record)),
            Err(error) => _ = reply.send(Err(error)),
        }
    }

    /// Starts a command.
    pub(super) fn start_bash(&mut self, line: String, context: BashContext) -> Result<(), AgentError> {
        self.try_start_bash(line, context).map(|_| ())
    }

    fn try_start_bash(&mut self, line: String, context: BashContext) -> Result<StartedBash, AgentError> {
        if self.jobs.bash_running().is_some() {
            return Err(AgentError::BashRunning);
        }
        if self.summaries.machine.is_summarizing_branch() {
            return Err(AgentError::Summarizing);
        }
        let exclude = context == BashContext::Exclude;
        self.append(EntryBody::from_tiller(&TillerEntry::Bash { command: line.clone(), exclude }))?;
        let id = self.active.reader().leaf().ok_or(AgentError::Closed)?;
        let command =
            process::ShellCommand { line: line.clone(), cwd: self.services.manager.cwd().to_owned() };
        let command_state = RunningBash {
            id: id.clone(),
            line: line.clone(),
            context,
            since: now(),
            output: OutputBuffer::default(),
        };
        let output = &self.services.options.output;
        let capture = OutputCapture::new("the command", output.limits, output.scratch.clone());
        let started = self.services.runner.start(&command);
        self.bus.emit(EventKind::BashExecutionStart {
            id: id.clone(),
            command: line,
            exclude_from_context: exclude,
        });
        match started {
            Ok(process) => {
                self.jobs.bash(command_state, process, capture);
                Ok(StartedBash::Running)
            }
            Err(error) => {
                let record = self.failed_record(command_state, error.to_string());
                self.store_bash(record.clone(), id);
                Ok(StartedBash::Over(record))
            }
        }
    }

    fn failed_record(&mut self, command: RunningBash, message: String) -> BashExecutionMessage {
        self.bus.warn_unlogged(message.clone());
        BashExecutionMessage {
            command: command.line,
            output: message,
            cancelled: true,
            exclude_from_context: command.context == BashContext::Exclude,
            timestamp: now(),
            ..BashExecutionMessage::default()
        }
    }

    /// Stops the running command.
    pub(super) fn stop_bash(&mut self) {
        if let Some(bash) = self.jobs.bash_mut() {
            bash.stop();
        }
    }

    pub(super) fn bash_output(&mut self, id: &EntryId, delta: String, output: OutputBuffer) {
        let Some(bash) = self.jobs.bash_mut().filter(|bash| bash.shown.id == *id) else { return };
        bash.shown.output = output;
        if !delta.is_empty() {
            self.bus.emit(EventKind::BashExecutionUpdate { id: id.clone(), delta });
        }
    }

    pub(super) fn bash_ended(&mut self, id: &EntryId, end: BashEnd) {
        if self.jobs.bash_running().is_none_or(|running| running.id != *id) {
            return;
        }
        if let Some(error) = &end.error {
            self.bus.warn_unlogged(error.clone());
        }
        if let Some(mut bash) = self.jobs.take_bash() {
            let reply = bash.take_reply();
            self.finish_bash(bash.into_record(end, now()), id.clone(), reply);
        }
    }

    /// Ends the command immediately; the output captured so far is stored.
    pub(super) fn cut_off_bash(&mut self) {
        if let Some(mut bash) = self.jobs.take_bash() {
            let (id, reply) = (bash.shown.id.clone(), bash.take_reply());
            self.finish_bash(bash.into_cut_off_record(now()), id, reply);
        }
    }

    fn finish_bash(
        &mut self,
        record: BashExecutionMessage,
        id: EntryId,
        reply: Option<Reply<BashExecutionMessage>>,
    ) {
        self.store_bash(record.clone(), id);
        if let Some(reply) = reply {
            // The caller may be gone.
            let _ = reply.send(Ok(record));
        }
    }

    /// Appends the record of a command, then emits its end.
    fn store_bash(&mut self, record: BashExecutionMessage, id: EntryId) {
        self.apply(Input::BashEnded(record.clone()));
        self.bus.emit(EventKind::BashExecutionEnd { id, message: Arc::new(record) });
    }
}

/// A command that was started.
enum StartedBash {
    Running,
    /// The command could not be started; this is its record.
    Over(BashExecutionMessage),
}
