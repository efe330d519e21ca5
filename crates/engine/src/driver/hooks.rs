//! Extension hooks: before a request is sent, before calls run, after a result, and extension commands.
//!
//! Hooks run in jobs outside the loop. Without extensions, nothing waits and nothing is copied.

use std::collections::HashSet;

use tiller_core::event::{EventKind, RunOutcome};
use tiller_core::message::{Content, Message, ToolCall, ToolResultMessage, UserBlock};
use tiller_provider::ToolChoice;
use tiller_session::EntryBody;
use tiller_session::entry::Replacement;
use tiller_tools::tool::Tools;

use super::hook_state::{OpenedRequest, PendingCommand};
use super::job_event::{CallReviewResult, JobEvent};
use super::{Driver, QueuedEffect};
use crate::extension::{CommandOutcome, ExtensionCommand, RequestContext, RequestPosition, ReviewedCall};
use crate::handle::{AgentError, Expansion, PromptOptions, Reply};
use crate::resources::{AgentCommand, CommandSource};
use crate::turn::{CallDecision, Effect, Input, PlannedCall, TurnNumber};

impl Driver {
    /// Marks the start of a run. A retry belongs to the same run.
    pub(super) fn mark_run_start(&mut self) {
        let is_again = self.turn.retries() > 0 || self.turn.has_compacted();
        if !is_again {
            self.hooks.begins_run = true;
            self.hooks.opened = None;
            self.approvals.begin_run();
            self.spending.begin_run();
        }
    }

    /// Sends a request after the extensions' hooks have run. Hooks see a retry as the same request.
    pub(super) fn open_request(&mut self, turn: TurnNumber, tool_choice: ToolChoice) {
        let is_again = self.turn.retries() > 0 || self.turn.has_compacted();
        let is_open = |opened: &OpenedRequest| opened.turn == turn || is_again;
        let is_open = self.hooks.opened.as_ref().is_some_and(is_open);
        if !is_open {
            if self.wait_for_servers(turn, tool_choice) {
                return;
            }
            self.update_served_tools();
            if self.wait_for_budget(turn, tool_choice) {
                return;
            }
        }
        if self.hooks.extensions.is_empty() || is_open {
            return self.send_request(turn, tool_choice);
        }
        let begins = std::mem::take(&mut self.hooks.begins_run);
        let position = if begins { RequestPosition::RunStart } else { RequestPosition::Turn };
        let (host, before) = (self.hooks.extensions.clone(), self.request_context());
        self.jobs.open(async move {
            let after = Box::new(host.review_request(position, before.clone()).await);
            JobEvent::RequestOpened { turn, tool_choice, before: Box::new(before), after }
        });
    }

    fn request_context(&self) -> RequestContext {
        // The text as typed, without earlier edits: otherwise edits of edits would accumulate from request to
        // request.
        let prompt =
            self.last_user_message().and_then(|(entry, _)| self.typed_text(&entry)).unwrap_or_default();
        RequestContext {
            session: self.active.reader().id().clone(),
            model: self.active.model.reference(),
            prompt,
            system: self.resources.system().to_owned(),
            tools: self.services.offered_tools.names().map(str::to_owned).collect(),
        }
    }

    /// Returns the user's newest message on the path, as the model reads it.
    fn last_user_message(&self) -> Option<(tiller_core::id::EntryId, Content)> {
        let reader = self.active.reader();
        let is_message = |entry: &tiller_core::id::EntryId| {
            reader.entry(entry).is_ok_and(|entry| entry.body.as_message().is_some())
        };
        self.active.projection.messages.iter().rev().find_map(|projected| match &*projected.message {
            // A summary has the form of a user message, too.
            Message::User(user) if is_message(&projected.entry) => {
                Some((projected.entry.clone(), user.content.clone()))
            }
            _ => None,
        })
    }

    /// Returns the user's text in an entry, without the extensions' edits.
    fn typed_text(&self, entry: &tiller_core::id::EntryId) -> Option<String> {
        let entry = self.active.reader().entry(entry).ok()?;
        match &**entry.body.as_message()? {
            Message::User(user) => Some(user.content.joined_text()),
            _ => None,
        }
    }

    /// Logs the extensions' changes to the prompt, then sends the request.
    pub(super) fn request_opened(
        &mut self,
        (turn, tool_choice): (TurnNumber, ToolChoice),
        before: &RequestContext,
        after: RequestContext,
    ) {
        if self.turn.streaming() != Some(turn) {
            return;
        }
        let tools = if before.tools == after.tools {
            self.services.offered_tools.clone()
        } else {
            // The extensions' tool names were checked against the same set.
            self.services.tools.restrict(&after.tools).unwrap_or_default()
        };
        self.hooks.opened = Some(OpenedRequest { turn, system: after.system, tools });
        let edit = (before.prompt != after.prompt).then(|| self.edit_entry(&after.prompt)).flatten();
        let written = edit.into_iter().flat_map(|edit| [Effect::Append(edit), Effect::Sync]);
        self.enqueue(written.chain([Effect::Request { turn, tool_choice }]).collect());
        self.perform();
    }

    /// Returns an entry that replaces the text of the user's message for the model and keeps its images;
    /// `None` if the model already gets that text.
    fn edit_entry(&self, text: &str) -> Option<EntryBody> {
        let (target_id, content) =
            self.last_user_message().filter(|(_, content)| content.joined_text() != text)?;
        let images = content.to_blocks().into_iter().filter(|block| matches!(block, UserBlock::Image { .. }));
        let blocks = [UserBlock::Text { text: text.to_owned() }].into_iter().chain(images).collect();
        let replacement = Some(Replacement { content: Content::Blocks(blocks) });
        Some(EntryBody::ContextEdit { target_id, replacement })
    }

    /// Returns the system prompt of the current request.
    pub(super) fn system(&self) -> &str {
        self.hooks.opened.as_ref().map_or(self.resources.system(), |opened| &opened.system)
    }

    /// Returns the tools offered in the current request.
    pub(super) fn offered_tools(&self) -> &Tools {
        self.hooks.opened.as_ref().map_or(&self.services.offered_tools, |opened| &opened.tools)
    }

    /// Decides on calls after the extensions have reviewed those that would run or need approval.
    pub(super) fn plan_calls(&mut self, turn: TurnNumber, calls: &[ToolCall]) {
        self.hooks.rewritten.clear();
        self.approvals.clear_outside_paths();
        let plan: Vec<PlannedCall> = calls.iter().map(|call| self.plan(call)).collect();
        if self.hooks.extensions.is_empty() {
            let plan = self.guard_repetitions(plan);
            return self.step_next(Input::Planned { turn, plan });
        }
        let (host, tools) = (self.hooks.extensions.clone(), self.offered_tools().clone());
        self.jobs.plan(async move {
            let mut reviewed = Vec::with_capacity(plan.len());
            for planned in plan {
                reviewed.push(match (&planned.decision, tools.find(&planned.call.name)) {
                    (
                        CallDecision::Run(_) | CallDecision::Granted { .. } | CallDecision::Ask { .. },
                        Some(tool),
                    ) => CallReviewResult::Reviewed(host.review_call(planned.call, &*tool).await),
                    _ => CallReviewResult::Refused(planned),
                });
            }
            JobEvent::CallsReviewed { turn, reviewed }
        });
    }

    /// Applies the extensions' reviews. The policy judges a call with changed arguments again.
    pub(super) fn calls_reviewed(&mut self, turn: TurnNumber, reviewed: Vec<CallReviewResult>) {
        if self.turn.planning() != Some(turn) {
            return;
        }
        let plan = reviewed.into_iter().map(|reviewed| match reviewed {
            CallReviewResult::Refused(planned) => planned,
            CallReviewResult::Reviewed(review) => self.plan_reviewed(review),
        });
        let plan = plan.collect();
        let plan = self.guard_repetitions(plan);
        self.apply(Input::Planned { turn, plan });
    }

    fn guard_repetitions(&mut self, plan: Vec<PlannedCall>) -> Vec<PlannedCall> {
        let tools = &self.services.tools;
        let waits = |call: &ToolCall| {
            tools.find(&call.name).is_some_and(|tool| tool.spec().traits.waits_with(&call.arguments))
        };
        self.approvals.guard_repetitions(plan, waits)
    }

    fn plan_reviewed(&mut self, review: ReviewedCall) -> PlannedCall {
        let ReviewedCall { call, opinion, rewritten_by } = review;
        if !rewritten_by.is_empty() {
            self.hooks.rewritten.insert(call.id.clone(), rewritten_by);
        }
        let PlannedCall { call, decision } = self.plan(&call);
        let decision = self.approvals.apply_opinion(&call, decision, opinion);
        PlannedCall { call, decision }
    }

    /// Adds a note to a result if its call ran with changed arguments.
    pub(super) fn note_rewrite(
        &mut self,
        result: &mut ToolResultMessage,
        arguments: Option<serde_json::Value>,
    ) {
        let Some(extension) = self.hooks.rewritten.remove(&result.tool_call_id) else { return };
        let details = result.details.get_or_insert_with(|| serde_json::json!({}));
        if let Some(details) = details.as_object_mut() {
            details
                .insert("rewritten".to_owned(), serde_json::json!({"by": extension, "arguments": arguments}));
        }
    }

    /// Returns the slash commands. Extensions' commands come first, because they take precedence; servers'
    /// prompts come last.
    pub(super) fn slash_commands(&self) -> Vec<AgentCommand> {
        let of_extension = |command: ExtensionCommand| AgentCommand {
            name: command.name,
            description: command.description,
            argument_hint: command.argument_hint,
            source: CommandSource::Extension,
            location: None,
        };
        let mut commands: Vec<_> = self.hooks.extensions.commands().into_iter().map(of_extension).collect();
        let resource_commands = self.resources.resources.slash_commands();
        let resource_commands: Vec<_> = resource_commands
            .into_iter()
            .filter(|other| commands.iter().all(|c| c.name != other.name))
            .collect();
        commands.extend(resource_commands);
        let names: HashSet<String> = commands.iter().map(|command| command.name.clone()).collect();
        let of_servers = self.served.prompts().into_iter().filter(|prompt| !names.contains(&prompt.command));
        commands.extend(of_servers.map(|prompt| AgentCommand {
            name: prompt.command,
            description: prompt.description,
            argument_hint: prompt.argument_hint,
            source: CommandSource::Prompt,
            location: None,
        }));
        commands
    }

    /// Runs the extension command or the server prompt that a prompt names; returns the prompt if it names
    /// none.
    pub(super) fn extension_command(
        &mut self,
        text: String,
        options: PromptOptions,
        reply: Reply<()>,
    ) -> Option<(String, PromptOptions, Reply<()>)> {
        let (name, arguments) = split_command(&text, &options).unwrap_or_default();
        let id = self.hooks.next;
        let task = match self.hooks.extensions.command(name, arguments) {
            Some(work) => self.jobs.spawn(async move { JobEvent::CommandEnded { id, outcome: work.await } }),
            None => {
                let Some(work) = self.served.prompt(name, arguments) else {
                    return Some((text, options, reply));
                };
                let prompt = async move { work.await.map(CommandOutcome::Prompt) };
                self.jobs.spawn(async move { JobEvent::CommandEnded { id, outcome: prompt.await } })
            }
        };
        self.hooks.next += 1;
        self.hooks.commands.insert(id, PendingCommand { options, reply, task });
        None
    }

    pub(super) fn command_ended(&mut self, id: u64, outcome: Result<CommandOutcome, String>) {
        let Some(PendingCommand { options, reply, .. }) = self.hooks.commands.remove(&id) else { return };
        match outcome {
            Ok(CommandOutcome::Prompt(text)) => {
                let options = PromptOptions { expand_templates: Expansion::Verbatim, ..options };
                self.prompt(text, options, reply);
            }
            Ok(CommandOutcome::Notice(text)) => self.notice(text, reply),
            Err(error) => drop(reply.send(Err(AgentError::Extension(error)))),
        }
    }

    /// Emits a command's message. The caller waits for the end of a run, so an end is emitted too.
    fn notice(&mut self, message: String, reply: Reply<()>) {
        let notice = Effect::Emit(EventKind::Notice { message });
        let effects = if self.turn.is_running() {
            vec![notice]
        } else {
            let outcome = RunOutcome::Completed;
            let end = EventKind::AgentEnd { messages: Vec::new(), will_retry: false, outcome };
            let around = [Effect::Emit(end), Effect::Emit(EventKind::AgentSettled)];
            [Effect::Emit(EventKind::AgentStart), notice].into_iter().chain(around).collect()
        };
        self.enqueue(effects);
        self.effects.items.push_back(QueuedEffect::Reply(Box::new(move |result| drop(reply.send(result)))));
        self.perform();
    }

    /// Stops all running commands.
    pub(super) fn stop_commands(&mut self) {
        for (_, PendingCommand { reply, task, .. }) in self.hooks.commands.drain() {
            task.abort();
            let _ = reply.send(Err(AgentError::Extension("the command was stopped".to_owned())));
        }
    }
}

/// Splits a prompt that may be a command into name and arguments.
fn split_command<'a>(text: &'a str, options: &PromptOptions) -> Option<(&'a str, &'a str)> {
    if options.expand_templates == Expansion::Verbatim {
        return None;
    }
    let line = text.strip_prefix('/')?;
    let end = line.find(char::is_whitespace).unwrap_or(line.len());
    let (name, arguments) = line.split_at(end);
    (!name.is_empty()).then_some((name, arguments.trim()))
}
