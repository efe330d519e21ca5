//! Commands from the handle.

use std::io;
use std::path::{Path, PathBuf};

use tiller_core::event::{Decider, Decision, EventKind, QueueItem, QueueKind, SessionChange};
use tiller_core::id::{CallId, EntryId, QueueId};
use tiller_core::message::{Image, PDF_TYPE};
use tiller_core::os_error::without_code;
use tiller_core::skill_message::typed_skill;
use tiller_provider::ImageInput;
use tiller_session::context::estimate_text;
use tiller_session::{
    BranchSummaryText, DeleteMode, EntryBody, NavigationTarget, PendingDelete, Reader, SessionError,
    SessionManager, Visibility, Writer, normalize_name, restore_from_trash,
};
use tiller_tools::policy::{ApprovalMode, ConfiguredRules, DirAccess, PermissionRule};
use tiller_tools::workspace::{FileAccess, parse_dir};
use tokio::sync::oneshot;

use super::clock::now;
use super::hook_state::{PromptDelivery, SubmittedPrompt};
use super::{Driver, run_tracing};

use crate::approvals::Approver;
use crate::attachment::{FileToAttach, attach_text, read_attachment};
use crate::compaction::machine::SummaryInput;
use crate::handle::{
    AgentError, AttachCommand, DriverCommand, Expansion, ForkedSession, LengthCheck, OtherSessionOp,
    PermissionCommand, PromptOptions, Reply, SessionSwitched, StreamingBehavior, SwitchTarget, answer_text,
};
use crate::queue::{self, MAX_WAITING, Queue, QueueEdit};
use crate::resources::ReloadRequest;
use crate::turn::{AbortCause, Input, QueueHandling, TurnPrompt};

impl Driver {
    #[allow(clippy::too_many_lines, reason = "one arm a command")]
    pub(super) fn command(&mut self, command: DriverCommand) {
        match command {
            DriverCommand::Prompt { text, options, reply } => self.prompt(text, options, reply),
            DriverCommand::SteerNow { text, options, reply } => self.steer_now(text, options, reply),
            DriverCommand::Attach(command) => self.attach(command),
            DriverCommand::AbortRetry { reply } => self.abort_retry(reply),
            DriverCommand::Abort { queue, cause, reply } => self.abort(queue, cause, reply),
            DriverCommand::ClearQueue { kind, reply } => self.clear_queue(kind, reply),
            DriverCommand::EditQueued { id, edit, reply } => self.edit_queued(id, edit, reply),
            DriverCommand::Hold { id, reply } => self.hold(id, reply),
            DriverCommand::Release { id, reply } => self.release(id, reply),
            DriverCommand::PutBack { item, position, reply } => self.put_back(item, position, reply),
            DriverCommand::RemoveQueued { id, reply } => self.remove_queued(&id, reply),
            DriverCommand::SetApprover { approver, reply } => send_reply(reply, self.set_approver(approver)),
            DriverCommand::Decide { call, decision, reply } => {
                if let Some((call, decision, reply)) = self.decide_for_agent(call, decision, reply) {
                    self.decide(call, decision, reply);
                }
            }
            DriverCommand::AnswerElicitation { id, answer, reply } => {
                if let Some((id, answer, reply)) = self.answer_for_agent(id, answer, reply) {
                    self.answer_elicitation(&id, answer, reply);
                }
            }
            DriverCommand::Permission(command) => self.permission(command),
            DriverCommand::Delegation(command) => self.delegation_command(command),
            DriverCommand::BackgroundJob(command) => self.background_job_command(command),
            DriverCommand::Bash { line, context, reply } => send_reply(reply, self.start_bash(line, context)),
            DriverCommand::ExecuteBash { line, context, reply } => self.execute_bash(line, context, reply),
            DriverCommand::AbortBash { reply } => self.abort_bash(reply),
            DriverCommand::SetModel { words, reply } => send_reply(reply, self.set_model(&words)),
            DriverCommand::CycleModel { direction, reply } => send_reply(reply, self.cycle_model(direction)),
            DriverCommand::ChangeProvider { change, reply } => self.change_provider(change, reply),
            DriverCommand::ScopedModels { reply } => send_reply(reply, Ok(self.services.providers.scoped())),
            DriverCommand::CycleThinking { reply } => send_reply(reply, self.cycle_thinking()),
            DriverCommand::ThinkingLevels { reply } => {
                send_reply(reply, Ok(self.active.model.facts.levels().to_vec()));
            }
            DriverCommand::Configure { change, reply } => self.configure(change, reply),
            DriverCommand::TogglePlan { reply } => send_reply(reply, self.toggle_plan()),
            DriverCommand::Status { reply } => send_reply(reply, Ok(Box::new(self.status()))),
            DriverCommand::Settled { reply } => self.settled(reply),
            DriverCommand::Stats { reply } => self.stats(reply),
            DriverCommand::ContextBreakdown { reply } => self.context_breakdown(reply),
            DriverCommand::Messages { reply } => send_reply(reply, Ok(self.messages())),
            DriverCommand::SetThinking { level, reply } => send_reply(reply, self.set_thinking(level)),
            DriverCommand::CreateLog { reply } => send_reply(reply, self.create_log()),
            DriverCommand::Rename { name, reply } => send_reply(reply, self.rename(&name)),
            DriverCommand::Label { entry, label, reply } => {
                send_reply(reply, self.label(&entry, label.as_deref()))
            }
            DriverCommand::Hide { entry, visibility, reply } => {
                send_reply(reply, self.hide(&entry, visibility))
            }
            DriverCommand::Switch { to, reply } => send_reply(reply, self.switch(to)),
            DriverCommand::CreateFork { entry, reply } => send_reply(reply, self.create_fork(entry)),
            DriverCommand::Expand { text, reply } => {
                send_reply(reply, self.resources.expand(text, Expansion::Expand))
            }
            DriverCommand::LeaveBranch { entry, instructions, reply } => {
                self.leave_branch(entry, instructions, reply)
            }
            DriverCommand::Compact { instructions, reply } => self.compact(instructions, reply),
            DriverCommand::Truncate { reply } => self.truncate(reply),
            DriverCommand::AbortCompaction { reply } => send_reply(reply, self.abort_compaction()),
            DriverCommand::ResolveCompaction { choice, reply } => {
                send_reply(reply, self.resolve_compaction(choice))
            }
            DriverCommand::Resources { request, reply } => {
                if matches!(request, ReloadRequest::Reload) {
                    self.served.restart_failed();
                }
                self.resources.request_reload(request, reply);
            }
            DriverCommand::ServedResources { reply } => send_reply(reply, Ok(self.served.resources())),
            DriverCommand::SlashCommands { reply } => send_reply(reply, Ok(self.slash_commands())),
            DriverCommand::Models { reply } => send_reply(reply, Ok(self.services.providers.models())),
            DriverCommand::LockedModels { reply } => send_reply(reply, Ok(self.locked_models())),
            DriverCommand::Tools { reply } => send_reply(reply, Ok(self.tools())),
            DriverCommand::ToolServers { reply } => send_reply(reply, Ok(self.served.status())),
            DriverCommand::OfferTools { names, reply } => send_reply(reply, self.offer_tools(&names)),
            DriverCommand::ChangeSession { path, operation, reply } => {
                self.change_session(path, operation, reply)
            }
            DriverCommand::Sessions { scope, reply } => {
                self.spawn_query(reply, move |manager| manager.list(scope))
            }
            DriverCommand::Catalog { reply } => self.spawn_query(reply, |manager| manager.catalog()),
            DriverCommand::Snapshot { reply } => send_reply(reply, Ok(Box::new(self.snapshot()))),
            DriverCommand::Close { reply } => send_reply(reply, self.close()),
        }
    }

    fn abort_bash(&mut self, reply: Reply<()>) {
        self.stop_bash();
        send_reply(reply, Ok(()));
    }

    pub(super) fn prompt(&mut self, text: String, options: PromptOptions, reply: Reply<()>) {
        if self.summaries.machine.is_summarizing_branch() {
            return send_reply(reply, Err(AgentError::Summarizing));
        }
        let Some((text, options, reply)) = self.extension_command(text, options, reply) else { return };
        self.submit(SubmittedPrompt { text, options, reply, delivery: PromptDelivery::Usual });
    }

    /// Queues a prompt whose commands and resources are resolved.
    pub(super) fn queue_prompt(&mut self, text: String, options: PromptOptions, reply: Reply<()>) {
        let kind = match options.streaming_behavior {
            None if self.turn.is_running() => return send_reply(reply, Err(AgentError::Busy)),
            None | Some(StreamingBehavior::Steer) => QueueKind::Steer,
            Some(StreamingBehavior::FollowUp) => QueueKind::FollowUp,
        };
        if let Some(full) = self.queue_full() {
            return send_reply(reply, Err(full));
        }
        let prompt = match self.build_prompt(text, kind, options) {
            Ok(prompt) => prompt,
            Err(error) => return send_reply(reply, Err(error)),
        };
        self.apply_and_reply(Input::Prompt(prompt), |result| send_reply(reply, result));
    }

    fn steer_now(&mut self, text: Option<String>, options: PromptOptions, reply: Reply<()>) {
        if self.summaries.machine.is_summarizing_branch() {
            return send_reply(reply, Err(AgentError::Summarizing));
        }
        if text.is_none() && !self.turn.queue().has_waiting(QueueKind::Steer) {
            return send_reply(reply, Err(AgentError::NotFound("queued steering message")));
        }
        match text {
            Some(text) => {
                self.submit(SubmittedPrompt { text, options, reply, delivery: PromptDelivery::SteerNow });
            }
            None => self.steer_now_reviewed(None, options, reply),
        }
    }

    /// Delivers a reviewed message and all waiting ones immediately.
    pub(super) fn steer_now_reviewed(
        &mut self,
        text: Option<String>,
        options: PromptOptions,
        reply: Reply<()>,
    ) {
        if let Some(full) = self.queue_full().filter(|_| text.is_some()) {
            return send_reply(reply, Err(full));
        }
        let prompt = match text.map(|text| self.build_prompt(text, QueueKind::Steer, options)).transpose() {
            Ok(prompt) => prompt,
            Err(error) => return send_reply(reply, Err(error)),
        };
        let partial_output = self.partial_output();
        self.apply_and_reply(Input::SteerNow { prompt, partial_output }, |result| send_reply(reply, result));
    }

    /// Returns an error if the queue holds [`MAX_WAITING`] messages.
    fn queue_full(&self) -> Option<AgentError> {
        let waiting = self.turn.queue().items().len();
        (self.turn.is_running() && waiting >= MAX_WAITING).then_some(AgentError::QueueFull(waiting))
    }

    /// Expands the user's message into an input of the turn machine.
    fn build_prompt(
        &mut self,
        text: String,
        kind: QueueKind,
        options: PromptOptions,
    ) -> Result<TurnPrompt, AgentError> {
        let mut text_to_send = self.resources.expand(text.clone(), options.expand_templates)?;
        // A message created by a skill records its own origin.
        let is_template = text_to_send != text && typed_skill(&text_to_send).is_none();
        let typed = (is_template || !options.attached.is_empty()).then(|| text.trim().to_owned());
        if !options.attached.is_empty() {
            text_to_send = format!("{}\n\n{}", text_to_send.trim_end(), options.attached);
        }
        if options.length_check == LengthCheck::Enforce {
            self.check_length(&text_to_send)?;
        }
        self.warn_unseen_images(&options.images);
        let id = self.active.writer.queue_id(now());
        Ok(TurnPrompt { text: text_to_send, typed, images: options.images, kind, id })
    }

    /// Rejects a message longer than the model's window: no compaction could make room for it.
    fn check_length(&self, text: &str) -> Result<(), AgentError> {
        let (facts, tokens) = (&self.active.model.facts, estimate_text(text));
        if tokens <= facts.window {
            return Ok(());
        }
        Err(AgentError::TooLong { tokens, model: facts.id.clone(), window: facts.window })
    }

    fn abort_retry(&mut self, reply: Reply<()>) {
        self.apply_and_reply(Input::CancelRetry, |result| send_reply(reply, result));
    }

    fn put_back(&mut self, item: QueueItem, position: usize, reply: Reply<()>) {
        self.apply_and_reply(Input::PutBack { item, position }, |result| send_reply(reply, result));
    }

    /// Creates the attachment blocks of a message.
    fn attach(&self, command: AttachCommand) {
        match command {
            AttachCommand::Read { files, reply } => self.read_attachments(files, reply),
            AttachCommand::Text { text, reply } => self.attach_text(text, reply),
        }
    }

    /// Reads attached files on a blocking thread.
    fn read_attachments(&self, files: Vec<FileToAttach>, reply: Reply<Vec<Result<String, String>>>) {
        let limits = self.services.options.output.limits;
        tokio::task::spawn_blocking(move || {
            let read = |file: &FileToAttach| {
                read_attachment(file, limits).map_err(|error| format!("{}: {error}", file.name))
            };
            send_reply(reply, Ok(files.iter().map(read).collect()));
        });
    }

    /// Writes a long message to a file on a blocking thread.
    fn attach_text(&self, text: String, reply: Reply<String>) {
        let scratch = self.services.options.output.scratch.clone();
        tokio::task::spawn_blocking(move || {
            let block = attach_text(&text, &scratch);
            let failed =
                |error| AgentError::Store(format!("the message could not be written to a file: {error}"));
            send_reply(reply, block.map_err(failed));
        });
    }

    /// Warns if the model can't see images, or read PDF files.
    fn warn_unseen_images(&mut self, images: &[Image]) {
        let facts = &self.active.model.facts;
        let (files, images): (Vec<&Image>, Vec<&Image>) =
            images.iter().partition(|image| image.mime_type == PDF_TYPE);
        let mut warnings = Vec::new();
        if !images.is_empty() && facts.image_input == ImageInput::Unsupported {
            warnings.push(format!(
                "{} does not accept images: each image is replaced with a line of text",
                facts.id
            ));
        }
        if !files.is_empty() && !facts.takes_pdf {
            warnings.push(format!(
                "{} does not accept PDF files: each is replaced with a line of text",
                facts.id
            ));
        }
        warnings.into_iter().for_each(|warning| self.bus.warn(warning));
    }

    fn edit_queued(&mut self, id: QueueId, edit: QueueEdit, reply: Reply<QueueItem>) {
        let mut queue = self.turn.queue().clone();
        queue.edit(&id, edit.clone());
        let Some(item) = queue.find(&id) else {
            return send_reply(reply, Err(AgentError::NotFound("queued message with that id")));
        };
        self.apply_and_reply(Input::EditQueued { id, edit }, |result| {
            send_reply(reply, result.map(|()| item))
        });
    }

    fn hold(&mut self, id: QueueId, reply: Reply<()>) {
        if self.turn.queue().items().iter().all(|item| item.id != id) {
            return send_reply(reply, Err(AgentError::NotFound("queued message with that id")));
        }
        self.apply_and_reply(Input::Hold { id }, |result| send_reply(reply, result));
    }

    fn release(&mut self, id: QueueId, reply: Reply<()>) {
        if self.turn.queue().items().iter().all(|item| item.id != id) {
            return send_reply(reply, Err(AgentError::NotFound("queued message with that id")));
        }
        if self.summaries.machine.is_summarizing_branch() {
            return send_reply(reply, Err(AgentError::Summarizing));
        }
        self.apply_and_reply(Input::Release { id }, |result| send_reply(reply, result));
    }

    fn abort(&mut self, queue: QueueHandling, cause: AbortCause, reply: Reply<Vec<QueueItem>>) {
        self.stop_bash();
        self.stop_commands();
        self.stop_prompt_reviews();
        self.stop_reading_resources();
        self.cancel_elicitations();
        // The turn machine stops a compaction that the run is waiting for.
        if !self.turn.is_compacting() {
            self.stop_summary();
        }
        let is_handed_back = self.turn.is_running() && queue == QueueHandling::Return;
        let items = self.turn.queue().select(|item| is_handed_back && !item.held);
        let partial_output = self.partial_output();
        self.apply_and_return(Input::Abort { partial_output, queue, cause }, items, |result| {
            send_reply(reply, result)
        });
    }

    fn abort_compaction(&mut self) -> Result<(), AgentError> {
        if !self.summaries.machine.is_compacting() {
            return Err(AgentError::NotFound("summary in progress"));
        }
        self.stop_summary();
        Ok(())
    }

    fn clear_queue(&mut self, kind: Option<QueueKind>, reply: Reply<Vec<QueueItem>>) {
        let items = self.turn.queue().select(|item| kind.is_none_or(|kind| item.kind == kind));
        let ids = items.iter().map(|item| item.id.clone()).collect();
        self.apply_and_return(Input::Unqueue(ids), items, |result| send_reply(reply, result));
    }

    fn remove_queued(&mut self, id: &QueueId, reply: Reply<QueueItem>) {
        const GONE: AgentError = AgentError::NotFound("queued message with that id");
        match self.turn.queue().find(id) {
            Some(item) => {
                let input = Input::Unqueue(vec![id.clone()]);
                self.apply_and_return(input, vec![item], |result| {
                    send_reply(reply, result.and_then(|mut items| items.pop().ok_or(GONE)));
                });
            }
            None => send_reply(reply, Err(GONE)),
        }
    }

    /// Sets whether an approver is present. Without one, pending requests are denied and questions declined.
    fn set_approver(&mut self, approver: Approver) -> Result<(), AgentError> {
        self.approvals.set_approver(approver);
        self.share_approver(approver);
        if approver == Approver::Absent {
            let facts = self.conversation_facts();
            self.apply_summary(SummaryInput::ApproverLeft { facts });
            for request in self.approvals.take_pending() {
                let (call, decider) = (request.tool_call_id, Decider::Nobody);
                self.apply(Input::Decided { call, decision: no_approver(), decider, rule: None });
            }
            self.decline_elicitations();
        }
        Ok(())
    }

    fn decide(&mut self, call: CallId, decision: Decision, reply: Reply<()>) {
        let Some(request) = self.approvals.remove_request(&call) else {
            return send_reply(reply, Err(AgentError::NotFound("pending approval request for that call")));
        };
        self.approvals.note_answer(&request, !matches!(decision, Decision::Deny { .. }));
        let tool = self.services.tools.find(&request.tool_name);
        // A call for which an extension requires approval needs it every time.
        let decision = match decision {
            Decision::Session if self.approvals.requires_approval(&call) => Decision::Once,
            decision => decision,
        };
        if let Some(tool) = tool.filter(|_| decision == Decision::Session) {
            let source = self.services.tools.source(&request.tool_name).cloned();
            self.approvals.allow_for_session(&request, tool.spec(), source.as_ref());
            self.permissions_changed();
        }
        let input = Input::Decided { call, decision, decider: Decider::User, rule: None };
        self.apply_and_reply(input, |result| send_reply(reply, result));
    }

    fn permission(&mut self, command: PermissionCommand) {
        match command {
            PermissionCommand::List { reply } => send_reply(reply, Ok(self.approvals.rules())),
            PermissionCommand::Revoke { rule, reply } => send_reply(reply, self.revoke(&rule)),
            PermissionCommand::Configured { reply } => {
                send_reply(reply, Ok(self.approvals.configured_rules().clone()))
            }
            PermissionCommand::Configure { rules, reply } => self.configure_rules(rules, reply),
            PermissionCommand::ConfigureFile { scope, rules, reply } => {
                let mut all = self.approvals.configured_rules().clone();
                all.replace(scope, rules);
                self.configure_rules(all, reply);
            }
            PermissionCommand::AddDir { typed, reply } => send_reply(reply, self.add_dir(&typed)),
        }
    }

    /// Sets the settings rules. The reply has the calls that still wait for approval, those of agents included.
    fn configure_rules(&mut self, rules: ConfiguredRules, reply: Reply<Vec<CallId>>) {
        let mut of_agents = self.share_rules(&rules);
        self.approvals.configure_rules(rules);
        self.resolve_pending();
        let pending = self.approvals.pending().iter();
        let mut waiting: Vec<CallId> = pending.map(|request| request.tool_call_id.clone()).collect();
        if of_agents.is_empty() {
            return send_reply(reply, Ok(waiting));
        }
        tokio::spawn(async move {
            while let Some(of_agent) = of_agents.join_next().await {
                waiting.extend(of_agent.unwrap_or_default());
            }
            send_reply(reply, Ok(waiting));
        });
    }

    /// Revokes a rule of the session.
    fn revoke(&mut self, rule: &PermissionRule) -> Result<(), AgentError> {
        if !self.approvals.revoke(rule) {
            return Err(AgentError::NotFound("permission of that kind"));
        }
        self.permissions_changed();
        Ok(())
    }

    /// Lets tools access another directory during the session.
    fn add_dir(&mut self, typed: &str) -> Result<PermissionRule, AgentError> {
        let homes = &self.services.options.policy.protected.homes;
        let rule = dir_rule(typed, self.services.manager.cwd(), homes.last().map(PathBuf::as_path));
        let failed = |error: io::Error| AgentError::Directory {
            path: typed.to_owned(),
            reason: without_code(&error.to_string()),
        };
        let rule = rule.map_err(failed)?;
        self.approvals.add_rule(rule.clone());
        self.permissions_changed();
        Ok(rule)
    }

    /// Enters plan mode, or leaves it and returns the plan: the newest answer since plan mode was entered.
    fn toggle_plan(&mut self) -> Result<Option<String>, AgentError> {
        let mode = self.approvals.toggled_plan();
        let plan = if self.approvals.is_planning() { self.find_plan() } else { None };
        self.choose_approval(mode)?;
        Ok(plan)
    }

    /// Sets the approval mode that the user chose, unless it is more permissive than an agent's may be.
    pub(super) fn choose_approval(&mut self, mode: ApprovalMode) -> Result<(), AgentError> {
        self.approvals.check_mode(mode).map_err(AgentError::LooserThanSession)?;
        self.change_approval(mode);
        Ok(())
    }

    /// Sets the approval mode, also for waiting calls.
    pub(super) fn change_approval(&mut self, mode: ApprovalMode) {
        self.approvals.set_mode(mode, self.active.reader().leaf());
        self.share_approval_mode(mode);
        self.permissions_changed();
        self.resolve_pending();
    }

    fn find_plan(&self) -> Option<String> {
        let reader = self.active.reader();
        let path = reader.path_to(&reader.leaf()?).ok()?;
        let from = match self.approvals.plan_start() {
            Some(start) => path.iter().position(|entry| entry == start)? + 1,
            None => 0,
        };
        let mut newest = self.active.projection.messages.iter().rev();
        newest.find_map(|it| answer_text(&it.message).filter(|_| path[from..].contains(&it.entry)))
    }

    /// Updates the directories and the mode in the system prompt, starting with the next request.
    pub(super) fn permissions_changed(&mut self) {
        let dirs = self.approvals.session_dirs();
        self.resources.set_permissions(dirs, self.approvals.is_planning());
    }

    fn create_log(&mut self) -> Result<(), AgentError> {
        let appended = self.active.create_log(&self.services.run);
        Ok(self.emit_appended(appended)?)
    }

    fn rename(&mut self, name: &str) -> Result<(), AgentError> {
        let name = normalize_name(name);
        self.append(EntryBody::SessionInfo { name: name.clone() })?;
        self.active.name.clone_from(&name);
        self.bus.emit(EventKind::SessionInfoChanged { name });
        Ok(())
    }

    pub(super) fn label(&mut self, entry: &EntryId, label: Option<&str>) -> Result<(), AgentError> {
        let appended = self.active.writer.label(entry, label, now());
        Ok(self.emit_appended(appended)?)
    }

    fn hide(&mut self, entry: &EntryId, visibility: Visibility) -> Result<(), AgentError> {
        let appended = self.active.writer.hide(entry, visibility, now());
        Ok(self.emit_appended(appended)?)
    }

    /// Returns an error unless the session is idle and may be left or its leaf moved.
    pub(super) fn ensure_idle(&self) -> Result<(), AgentError> {
        // Entries that are waiting to be written belong to this session.
        let is_writing = self.effects.syncs > 0 || !self.effects.items.is_empty();
        let is_working = self.turn.is_running() || self.hooks.is_busy();
        if is_working || self.jobs.bash_running().is_some() || is_writing {
            return Err(AgentError::Running);
        }
        if self.summaries.machine.is_summarizing_branch() { Err(AgentError::Summarizing) } else { Ok(()) }
    }

    fn switch(&mut self, to: SwitchTarget) -> Result<SessionSwitched, AgentError> {
        self.ensure_idle()?;
        // The agents' ends and costs belong to this session.
        let has_agents = !self.agents.children.is_empty() || *self.agents.background.borrow() > 0;
        if !matches!(to, SwitchTarget::Leaf { .. }) && has_agents {
            return Err(AgentError::AgentsAtWork);
        }
        match to {
            SwitchTarget::New => {
                self.stop_summary();
                let writer = self.services.manager.create(now());
                self.enter_session(writer, SessionChange::New, None)
            }
            SwitchTarget::NewAfter(parent) => {
                self.stop_summary();
                let writer = self.services.manager.create_after(&parent, now());
                self.enter_session(writer, SessionChange::New, None)
            }
            SwitchTarget::Copy => {
                let reader = self.active.reader();
                let leaf = reader.leaf().ok_or(AgentError::Empty)?;
                self.stop_summary();
                let writer = self.services.manager.fork(&reader, Some(&leaf), now())?;
                self.enter_session(writer, SessionChange::Fork, None)
            }
            SwitchTarget::Open(path) => self.open(&path),
            SwitchTarget::Fork(entry) => {
                let reader = self.active.reader();
                let NavigationTarget { entry: end, text: editor } = reader.navigation_target(&entry)?;
                self.stop_summary();
                let writer = self.services.manager.fork(&reader, end.as_ref(), now())?;
                self.enter_session(writer, SessionChange::Fork, editor)
            }
            SwitchTarget::ForkOf(path) => {
                let reader = Reader::open(&path)?;
                let leaf = reader.leaf().ok_or(AgentError::Empty)?;
                self.stop_summary();
                let writer = self.services.manager.fork(&reader, Some(&leaf), now())?;
                self.enter_session(writer, SessionChange::Fork, None)
            }
            SwitchTarget::Leaf { entry, summary } => {
                let NavigationTarget { entry: to, text: editor } =
                    self.active.reader().navigation_target(&entry)?;
                self.move_to(to.as_ref(), editor, summary.as_deref().map(BranchSummaryText::from))
            }
        }
    }

    /// Creates a fork next to this session. A run continues.
    fn create_fork(&self, entry: EntryId) -> Result<ForkedSession, AgentError> {
        let reader = self.active.reader();
        let NavigationTarget { entry: end, text: text_to_queue } = reader.navigation_target(&entry)?;
        let end = end.ok_or(AgentError::Empty)?;
        let mut writer = self.services.manager.fork(&reader, Some(&end), now())?;
        if let Some(text) = text_to_queue {
            let id = writer.queue_id(now());
            let (kind, images) = (QueueKind::FollowUp, [].into());
            let item = QueueItem { id, kind, text, typed: None, images, held: true };
            writer.append(queue::added(&item), now())?;
        }
        let fork = writer.reader();
        Ok(ForkedSession { session: fork.id().clone(), path: fork.path().map(Path::to_owned) })
    }

    /// Switches to another session's log.
    fn enter_session(
        &mut self,
        writer: Writer,
        change: SessionChange,
        editor: Option<String>,
    ) -> Result<SessionSwitched, AgentError> {
        let notices = self.load_session(writer)?;
        Ok(self.emit_switch(change, editor, notices))
    }

    /// Emits the switch, then its notices: front ends start a new transcript at a switch.
    fn emit_switch(
        &mut self,
        change: SessionChange,
        editor: Option<String>,
        notices: impl IntoIterator<Item = String>,
    ) -> SessionSwitched {
        let session = self.active.reader().id().clone();
        self.bus.emit(EventKind::SessionChanged { reason: change, session_id: session.clone() });
        self.bus.emit(self.turn.queue().update());
        for notice in notices {
            self.bus.warn(notice);
        }
        SessionSwitched { change, session, editor }
    }

    /// Opens a log. If that fails, the current session stays. Does nothing if the log belongs to the current
    /// session.
    fn open(&mut self, path: &Path) -> Result<SessionSwitched, AgentError> {
        if self.active.reader().is_at(path) {
            return Ok(self.emit_switch(SessionChange::Open, None, None));
        }
        let writer = self.services.manager.open(path)?;
        self.stop_summary();
        self.enter_session(writer, SessionChange::Open, None)
    }

    /// Moves the leaf.
    pub(super) fn move_to(
        &mut self,
        to: Option<&EntryId>,
        editor: Option<String>,
        summary: Option<BranchSummaryText>,
    ) -> Result<SessionSwitched, AgentError> {
        let writer = &mut self.active.writer;
        let branched = match summary {
            Some(summary) => writer.branch_with_summary(to, summary, now()),
            None => writer.branch(to, now()),
        };
        self.emit_appended(branched)?;
        self.active.project()?;
        // Before this process has written an entry, its model is the one it was started with.
        let is_ours = self.active.has_written_to_log();
        let notice = if is_ours { self.active.adopt_path_model(&self.services.providers) } else { None };
        let queue: Queue = self.turn.queue().clone();
        self.reset_turn(queue);
        Ok(self.emit_switch(SessionChange::Leaf, editor, notice))
    }

    /// Changes a session that may be the active one.
    fn change_session(&mut self, path: PathBuf, operation: OtherSessionOp, reply: Reply<()>) {
        let is_here = self.active.reader().is_at(&path);
        match operation {
            OtherSessionOp::Name(name) if is_here => send_reply(reply, self.rename(&name)),
            OtherSessionOp::Name(name) => {
                self.spawn_query(reply, move |manager| manager.name(&path, &name, now()));
            }
            OtherSessionOp::Trash if is_here => send_reply(reply, Err(AgentError::SessionOpen)),
            OtherSessionOp::Trash => {
                self.spawn_query(reply, move |_| {
                    PendingDelete::lock(&path)?.remove(DeleteMode::ToTrash).map(drop)
                });
            }
            OtherSessionOp::Restore => self.spawn_query(reply, move |_| restore_from_trash(&path)),
        }
    }

    /// Runs a slow operation on the sessions directory on a blocking thread.
    fn spawn_query<T: Send + 'static>(
        &self,
        reply: Reply<T>,
        query: impl FnOnce(&SessionManager) -> Result<T, SessionError> + Send + 'static,
    ) {
        let manager = self.services.manager.clone();
        tokio::task::spawn_blocking(move || send_reply(reply, query(&manager).map_err(AgentError::from)));
    }

    /// Stops all jobs and syncs the log. Blocks during the last sync, because nothing else is running any
    /// more.
    pub(super) fn close(&mut self) -> Result<(), AgentError> {
        self.stop_summary();
        self.stop_commands();
        self.stop_prompt_reviews();
        self.stop_reading_resources();
        self.cut_off_bash();
        self.background_jobs().clear();
        self.close_agents();
        let partial_output = self.partial_output();
        if self.turn.is_running() {
            let (queue, cause) = (QueueHandling::Hold, AbortCause::User);
            self.apply(Input::Abort { partial_output, queue, cause });
        }
        // Syncs in progress delay nothing now; the last sync below covers them.
        while std::mem::take(&mut self.effects.syncs) > 0 {
            self.perform();
        }
        run_tracing::closed(&self.active.reader());
        let Some(file) = self.active.writer.file() else { return Ok(()) };
        let path = self.active.reader().path().map_or_else(Default::default, Path::to_owned);
        tiller_session::sync(&*file).map_err(|source| SessionError::Sync { path, source }.into())
    }
}

/// Parses a typed directory into a rule.
fn dir_rule(typed: &str, cwd: &Path, home: Option<&Path>) -> io::Result<PermissionRule> {
    let (dir, purpose) = parse_dir(typed, cwd, home)?;
    let access = match purpose {
        FileAccess::Read => DirAccess::ReadOnly,
        FileAccess::Write => DirAccess::Write,
    };
    Ok(PermissionRule::Directory { dir, access })
}

/// Sends a reply; ignores a caller that is gone.
pub(super) fn send_reply<T>(reply: oneshot::Sender<Result<T, AgentError>>, result: Result<T, AgentError>) {
    let _ = reply.send(result);
}

/// Returns the denial for calls without an approver.
pub(super) fn no_approver() -> Decision {
    Decision::Deny { reason: "no one can approve it anymore".to_owned() }
}
