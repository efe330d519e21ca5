//! Background jobs: their events, and the notes that tell the model when they end.

use tiller_core::background_job::JOB_NOTE_TYPE;
use tiller_core::event::EventKind;
use tiller_core::id::JobId;
use tiller_core::message::Content;
use tiller_core::setting::SyncPolicy;
use tiller_session::{EntryBody, SessionError};
use tiller_tools::tool::{JobChange, JobTable};

use super::Driver;
use super::commands::send_reply;
use crate::agents::BackgroundNote;
use crate::handle::{AgentError, BackgroundJobCommand, Reply};

impl Driver {
    pub(super) fn background_jobs(&self) -> &JobTable {
        self.services.tools.jobs()
    }

    pub(super) fn background_job_command(&mut self, command: BackgroundJobCommand) {
        match command {
            BackgroundJobCommand::List { reply } => send_reply(reply, Ok(self.background_jobs().list())),
            BackgroundJobCommand::Stop { id, reply } => self.stop_background_job(id, reply),
            BackgroundJobCommand::MoveCalls { reply } => send_reply(reply, self.move_to_background()),
        }
    }

    /// Stops a job, and replies when it has ended.
    fn stop_background_job(&self, id: JobId, reply: Reply<()>) {
        const NONE: AgentError = AgentError::NotFound("running background job with that id");
        let jobs = self.background_jobs().clone();
        if !jobs.stop(&id) {
            return send_reply(reply, Err(NONE));
        }
        tokio::spawn(async move {
            jobs.wait(&id).await;
            send_reply(reply, Ok(()));
        });
    }

    fn move_to_background(&self) -> Result<(), AgentError> {
        const NONE: AgentError = AgentError::NotFound("running command that can be moved to the background");
        let has_jobs =
            |name: &str| self.services.tools.find(name).is_some_and(|tool| tool.spec().traits.has_jobs);
        if self.jobs.move_to_background(has_jobs) { Ok(()) } else { Err(NONE) }
    }

    /// Emits changes to the jobs.
    pub(super) fn background_jobs_changed(&mut self) {
        self.append_notes_if_idle();
        for change in self.background_jobs().take_changes() {
            match change {
                JobChange::Started(job) => self.bus.emit(EventKind::BackgroundJobStart(job)),
                JobChange::Ended { job, warning } => {
                    self.bus.emit(EventKind::BackgroundJobEnd(job));
                    warning.into_iter().for_each(|warning| self.bus.warn(warning));
                }
            }
        }
    }

    /// Appends a note for each job that has ended without the model's knowledge. Returns true if there was
    /// one: the request with the notes waits until they are synced.
    pub(super) fn append_job_notes(&mut self) -> bool {
        match self.append_notes() {
            Ok(has_notes) => has_notes,
            Err(error) => {
                self.handle_store_failure(&error, None);
                true
            }
        }
    }

    /// Appends these notes immediately if no run is in progress, so that they are logged if the process is
    /// killed. Notes that can't be written wait for the next request.
    pub(super) fn append_notes_if_idle(&mut self) {
        if !self.turn.is_running()
            && let Err(error) = self.append_notes()
        {
            self.bus.warn(error.to_string());
        }
    }

    fn append_notes(&mut self) -> Result<bool, SessionError> {
        let ended = self.background_jobs().end_notes();
        let of_jobs = ended.iter().map(|note| note_entry(JOB_NOTE_TYPE, &note.text));
        let of_agents = self.agents.notes.iter().flat_map(BackgroundNote::entries);
        let entries: Vec<EntryBody> = of_jobs.chain(of_agents).collect();
        if entries.is_empty() {
            return Ok(false);
        }
        self.append_all(entries)?;
        self.agents.notes.clear();
        ended.iter().for_each(|note| self.background_jobs().mark_reported(&note.id));
        if self.services.options.sync == SyncPolicy::Turn {
            self.sync();
        }
        Ok(true)
    }
}

fn note_entry(custom_type: &str, text: &str) -> EntryBody {
    let content = Content::Text(text.to_owned());
    EntryBody::CustomMessage { custom_type: custom_type.to_owned(), content, display: true }
}
