//! The active session: its writer, and the state derived from its log.

use std::path::Path;
use std::sync::Arc;

use tiller_core::id::EntryId;
use tiller_core::message::{BashExecutionMessage, Message, ModelRef, ThinkingLevel};
use tiller_core::unit::{Tokens, UnixMs};
use tiller_provider::descriptor::ProviderDescriptor;
use tiller_provider::{Model, ModelFacts, ProviderRegistry};
use tiller_session::context::{Projection, RequestMessages};
use tiller_session::entry::TillerEntry;
use tiller_session::{AppendedEntry, Entry, EntryBody, Finding, Reader, SessionError, Writer};

use super::clock::now;
use super::external_appends::ExternalAppends;
use super::first_model::ModelChoice;
use crate::agents::TaskRecords;
use crate::queue::Queue;

/// The active session.
pub(super) struct ActiveSession {
    pub(super) writer: Writer,
    pub(super) projection: Projection,
    /// Converts the projection to request messages; reset with it.
    pub(super) request_messages: RequestMessages,
    pub(super) model: Model,
    /// The previous model, while the log's model is unavailable and no model answers.
    previous_model: Option<Model>,
    /// The user's model, while another model answers for the rest of the run.
    replaced_model: Option<Model>,
    /// The fallback model's thinking level, if the setting `fallback` sets one.
    fallback_thinking: Option<ThinkingLevel>,
    /// The model of the last request; the user may have chosen another one since.
    pub(super) requested_model: Arc<ModelFacts>,
    pub(super) thinking: ThinkingLevel,
    /// The level that the user requested. The active model may not support it.
    pub(super) requested_thinking: ThinkingLevel,
    pub(super) name: Option<String>,
    /// The delegated tasks.
    pub(super) tasks: TaskRecords,
    /// Entries that other processes have appended to the log.
    pub(super) external: ExternalAppends,
    /// State of the log before this process's first entry; `None` once that entry is written.
    pending_run_entries: Option<PendingRunEntries>,
}

/// Facts about this process that are recorded in the log.
pub(super) struct RunFacts {
    pub(super) mode: &'static str,
    pub(super) cwd: String,
    pub(super) remote: Option<String>,
}

struct PendingRunEntries {
    resumed: bool,
    cut_off_commands: Vec<BashExecutionMessage>,
}

impl ActiveSession {
    /// Loads a session. Returns it with the queue left by an earlier process and the problems found in the
    /// log.
    pub(super) fn load(
        writer: Writer,
        model: Model,
        thinking: ThinkingLevel,
    ) -> Result<(Self, Queue, Vec<String>), SessionError> {
        let reader = writer.reader();
        let (facts, mut damaged) = reader.tiller_entries()?;
        let mut current = Self {
            writer,
            projection: Projection::default(),
            request_messages: RequestMessages::default(),
            requested_model: Arc::clone(&model.facts),
            model,
            previous_model: None,
            replaced_model: None,
            fallback_thinking: None,
            thinking,
            requested_thinking: thinking,
            name: reader.name(),
            tasks: TaskRecords::new(&reader, &facts),
            external: ExternalAppends::default(),
            pending_run_entries: None,
        };
        damaged.extend(current.project()?);
        let resumed = reader.entry_count() > 0;
        let cut_off_commands = cut_off_commands(&facts, own_since(&reader));
        current.pending_run_entries = Some(PendingRunEntries { resumed, cut_off_commands });
        let notice = |finding: &Finding| format!("session log, byte {}: {}", finding.byte, finding.what);
        let mut notices: Vec<String> = damaged.iter().map(notice).collect();
        let disturbances = current.writer.take_external_changes();
        notices.extend(disturbances.iter().map(|found| format!("{found}; {}", found.hint())));
        Ok((current, Queue::restore(&facts), notices))
    }

    pub(super) fn reader(&self) -> Reader {
        self.writer.reader()
    }

    /// Derives the context from the path to the leaf; returns the unreadable parts.
    pub(super) fn project(&mut self) -> Result<Vec<Finding>, SessionError> {
        self.request_messages = RequestMessages::default();
        let reader = self.writer.reader();
        let Some(leaf) = reader.leaf() else {
            self.projection = Projection::default();
            return Ok(Vec::new());
        };
        let loaded = max_loaded(self.model.facts.window);
        let (projection, damaged) = reader.newest_projection(&leaf, loaded)?;
        self.projection = projection;
        Ok(damaged)
    }

    /// Adopts the log's model and level, as far as the log takes precedence; after a crash in a run that a
    /// fallback model finished, the user's model. Returns a notice if that model is unavailable; then the
    /// current model stays, unless it is the demo.
    pub(super) fn adopt_log_model(
        &mut self,
        providers: &ProviderRegistry,
        model: ModelChoice,
        thinking: ModelChoice,
    ) -> Option<String> {
        let replaced = self.projection.replaced.clone();
        let (named, level) =
            replaced.or_else(|| Some((self.projection.model.clone()?, self.projection.thinking)))?;
        let mut notice = None;
        if model == ModelChoice::Log {
            match providers.exact(&named) {
                Ok(model) => self.set_model(model),
                // A conversation with a local model isn't sent to another provider without the user's
                // consent.
                Err(error) if !is_local(&named) && providers.is_usable_fallback(&self.model) => {
                    notice = Some(format!("{error}; continuing with {}", self.model.reference()));
                }
                Err(error) => {
                    let keyless = providers.unavailable_model(&named, &error);
                    let before = std::mem::replace(&mut self.model, keyless);
                    self.previous_model.get_or_insert(before);
                    notice = Some(format!("{error}; to continue, add a key or choose another model"));
                }
            }
        }
        if thinking == ModelChoice::Log {
            (self.requested_thinking, self.thinking) = (level, level);
        }
        self.thinking = self.model.facts.clamp(self.thinking);
        notice
    }

    /// Sets the model that the user or the log has chosen.
    pub(super) fn set_model(&mut self, model: Model) {
        (self.previous_model, self.replaced_model, self.fallback_thinking) = (None, None, None);
        self.replace_model(model);
    }

    /// Replaces the model, or its facts.
    ///
    /// If the model's window is so large that more of the log has to be loaded, and that part can't be read,
    /// the conversation counts as too long.
    pub(super) fn replace_model(&mut self, model: Model) {
        let loaded = max_loaded(self.model.facts.window);
        self.model = model;
        if self.projection.unloaded.is_some()
            && max_loaded(self.model.facts.window) > loaded
            && let Err(error) = self.project()
        {
            tracing::error!(%error, "the context could not be loaded for a larger window");
        }
    }

    /// Sets a fallback model for the rest of the run, with its level; `None` keeps the user's level.
    pub(super) fn set_fallback_model(&mut self, model: Model, thinking: Option<ThinkingLevel>) {
        let replaced = self.replaced_model.take().unwrap_or_else(|| self.model.clone());
        self.set_model(model);
        (self.replaced_model, self.fallback_thinking) = (Some(replaced), thinking);
    }

    /// Sets the level that the user chose.
    pub(super) fn set_requested_thinking(&mut self, level: ThinkingLevel) {
        (self.requested_thinking, self.fallback_thinking) = (level, None);
    }

    /// Returns the level for the active model, before it is clamped.
    pub(super) fn unclamped_thinking(&self) -> ThinkingLevel {
        self.fallback_thinking.unwrap_or(self.requested_thinking)
    }

    /// Returns the user's model while a fallback model answers for the rest of the run.
    pub(super) fn replaced_model(&self) -> Option<&Model> {
        self.replaced_model.as_ref()
    }

    /// Returns notices about a window that is too small for tiller, or for the conversation.
    pub(super) fn window_notices(&self) -> impl Iterator<Item = String> {
        self.model.facts.window_warning().into_iter().chain(self.too_long_notice())
    }

    /// Returns the error of a conversation that is too long, as a notice with the next step.
    fn too_long_notice(&self) -> Option<String> {
        let reason = self.unsendable_reason()?;
        Some(format!(
            "{reason}; /compact summarizes its newest part, /truncate drops the older part without a summary, \
             and the next prompt follows the setting compaction.strategy"
        ))
    }

    /// Returns an error if the conversation is so much longer than the window that only part of it is loaded,
    /// and it can't be sent.
    pub(super) fn unsendable_reason(&self) -> Option<String> {
        self.projection.unloaded?;
        let (size, facts) = (self.projection.tokens(), &self.model.facts);
        Some(format!(
            "the conversation has about {size} tokens, {} times the context window of {} ({})",
            size.0 / facts.window.0.max(1),
            facts.id,
            facts.window
        ))
    }

    /// Returns the model for a session whose log names no model.
    pub(super) fn default_model(&self) -> Model {
        self.previous_model.as_ref().unwrap_or(&self.model).clone()
    }

    /// Adopts the path's model and level after a move within the session. If the path's model is unavailable,
    /// the session's current choice stays.
    pub(super) fn adopt_path_model(&mut self, providers: &ProviderRegistry) -> Option<String> {
        let (before, was_usual) = (self.model.clone(), self.previous_model.is_none());
        let notice = self.adopt_log_model(providers, ModelChoice::Log, ModelChoice::Log);
        if was_usual && self.previous_model.is_some() {
            self.thinking = before.facts.clamp(self.requested_thinking);
            self.set_model(before);
            return None;
        }
        notice
    }

    /// Creates the log's file with the introduction of this process, unless there is a file.
    pub(super) fn create_log(&mut self, run: &RunFacts) -> Result<Vec<AppendedEntry>, SessionError> {
        if self.writer.is_kept() {
            return Ok(Vec::new());
        }
        self.writer.keep_empty();
        self.append(Vec::new(), run)
    }

    /// Appends entries, after the introduction of this process if it is due. Appends all or none of them.
    pub(super) fn append(
        &mut self,
        new_entries: Vec<EntryBody>,
        run: &RunFacts,
    ) -> Result<Vec<AppendedEntry>, SessionError> {
        let creates_the_file = new_entries.iter().any(EntryBody::creates_file);
        let is_kept = creates_the_file || self.writer.is_kept();
        let mut bodies = if is_kept { self.introduction_entries(run) } else { Vec::new() };
        if self.has_written_to_log() && creates_the_file {
            bodies.extend(self.state_changes());
        }
        bodies.extend(new_entries);
        bodies.extend(self.model_correction(bodies.last()));
        let (at, count) = (now(), bodies.len());
        let appended = self.writer.append_all(bodies, at)?;
        if is_kept {
            self.pending_run_entries = None;
        }
        // Entries that the writer had buffered come first; they contain no message.
        let new = &appended[appended.len().saturating_sub(count)..];
        for AppendedEntry { id, body, .. } in new {
            self.tasks.apply(body, at);
            self.projection.apply_settings(body);
            if let Some(message) = body.as_message() {
                self.projection.push(id.clone(), Arc::clone(message));
            }
        }
        if new.iter().any(|entry| changes_projection(&entry.body)) {
            self.project()?;
        }
        Ok(appended)
    }

    /// Returns the run entry, the model and the level, as far as the log doesn't contain them already, and
    /// entries for commands and agents that were interrupted when an earlier process was killed.
    fn introduction_entries(&self, run: &RunFacts) -> Vec<EntryBody> {
        let mut bodies = Vec::new();
        let Some(before) = &self.pending_run_entries else { return bodies };
        bodies.push(EntryBody::from_tiller(&TillerEntry::Run {
            mode: run.mode.to_owned(),
            resumed: before.resumed,
            version: env!("CARGO_PKG_VERSION").to_owned(),
            cwd: moved_cwd(&self.reader().header().cwd, &run.cwd),
            remote: run.remote.clone(),
        }));
        for record in &before.cut_off_commands {
            bodies.push(EntryBody::message(Arc::new(Message::BashExecution(record.clone()))));
        }
        // Reads logs of agents, but only after a crash.
        bodies.extend(self.tasks.interrupted_entries());
        let changes = self.state_changes();
        let says_level = changes.iter().any(|body| matches!(body, EntryBody::ThinkingLevelChange { .. }));
        bodies.extend(changes);
        if !says_level && !before.resumed {
            bodies.push(EntryBody::ThinkingLevelChange { thinking_level: self.thinking });
        }
        bodies
    }

    /// Returns true if an earlier process has left tasks of agents open, and this process hasn't recorded that they
    /// ended.
    pub(super) fn has_interrupted_tasks(&self) -> bool {
        self.pending_run_entries.is_some() && self.tasks.has_open()
    }

    /// Returns the newest compaction on the path.
    pub(super) fn compaction(&self) -> Option<EntryId> {
        self.projection
            .compaction
            .as_ref()
            .and_then(|_| Some(self.projection.messages.first()?.entry.clone()))
    }

    /// Returns model and level changes if the path differs: after a move to a point with another model, or
    /// with none.
    fn state_changes(&self) -> Vec<EntryBody> {
        let model = self.model.reference();
        let model = (self.projection.model.as_ref() != Some(&model)).then(|| model_change(&model));
        let level = (self.projection.thinking != self.thinking)
            .then_some(EntryBody::ThinkingLevelChange { thinking_level: self.thinking });
        model.into_iter().chain(level).collect()
    }

    /// Returns a model change if an answer by another model was appended after the choice, because the last
    /// model in the log applies.
    fn model_correction(&self, body: Option<&EntryBody>) -> Option<EntryBody> {
        let mut state = Projection::default();
        state.apply_settings(body.filter(|body| body.as_message().is_some())?);
        let chosen = self.model.reference();
        state.model.filter(|named| *named != chosen).map(|_| model_change(&chosen))
    }

    /// Returns true if this process has written to the log, so that changes must be appended one by one.
    pub(super) fn has_written_to_log(&self) -> bool {
        self.pending_run_entries.is_none()
    }
}

fn is_local(model: &ModelRef) -> bool {
    ProviderDescriptor::find(&model.provider).is_some_and(ProviderDescriptor::is_local)
}

/// Returns true if an entry changes the projection by more than a message at its end.
fn changes_projection(body: &EntryBody) -> bool {
    matches!(body, EntryBody::ContextEdit { .. } | EntryBody::Compaction(_) | EntryBody::CustomMessage { .. })
}

/// Returns the maximum tokens of a conversation that are kept in memory for this window. Beyond four windows
/// by estimate, a smaller count from the provider isn't trusted ([`Projection::tokens`]), so the unloaded
/// part could not be sent.
fn max_loaded(window: Tokens) -> Tokens {
    /// A few megabytes; most conversations are shorter.
    const MIN_LOADED: Tokens = Tokens(2_000_000);
    MIN_LOADED.max(Tokens(window.0.saturating_mul(4)))
}

pub(super) fn model_change(model: &ModelRef) -> EntryBody {
    EntryBody::ModelChange { provider: model.provider.clone(), model_id: model.id.clone() }
}

/// Returns the project's new directory if it was moved. If the old directory still exists, the session stays
/// there.
fn moved_cwd(from: &str, to: &str) -> Option<String> {
    (from != to && !Path::new(from).exists()).then(|| to.to_owned())
}

/// Returns the time since when the log's entries belong to this session, and not to the session it was forked
/// from.
fn own_since(reader: &Reader) -> UnixMs {
    let header = reader.header();
    let forked = header.parent_session.as_ref().and_then(|_| UnixMs::from_iso(&header.timestamp));
    forked.unwrap_or(UnixMs(i64::MIN))
}

/// Returns the `!` commands with a start entry but no record, because tiller was killed before it could write
/// one.
fn cut_off_commands(entries: &[Entry], since: UnixMs) -> Vec<BashExecutionMessage> {
    let mut open: Vec<BashExecutionMessage> = Vec::new();
    for entry in entries {
        if let Some(TillerEntry::Bash { command, exclude }) = entry.body.as_tiller() {
            if entry.timestamp < since {
                continue;
            }
            open.push(BashExecutionMessage {
                command,
                cancelled: true,
                exclude_from_context: exclude,
                timestamp: now(),
                ..BashExecutionMessage::default()
            });
        } else if let Some(Message::BashExecution(record)) = entry.body.as_message().map(|message| &**message)
            && let Some(at) = open.iter().position(|command| command.command == record.command)
        {
            open.remove(at);
        }
    }
    open
}
