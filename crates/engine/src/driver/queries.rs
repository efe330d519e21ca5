//! Queries of the session's state, and changes to its options at run time.

use std::path::Path;
use std::sync::Arc;

use tiller_core::message::Message;
use tiller_core::tool_spec::ToolSpec;
use tiller_session::{Reader, SessionError, Totals};
use tiller_tools::policy::AskBehavior;
use tiller_tools::tool::ToolSource;

use super::Driver;
use super::clock::now;
use super::commands::send_reply;
use crate::approval_strictness::stricter;
use crate::budget::BudgetStatus;
use crate::context_breakdown::{ContextBreakdown, ContextSource};
use crate::handle::{
    Activity, AgentError, ContextUse, InFlight, LockedModel, OfferState, OfferedTool, OptionChange,
    QueueStatus, Reply, RunReport, SessionState, SessionStats, Snapshot, Status,
};
use crate::options::ToolOffer;
use crate::task_plan;

impl Driver {
    pub(super) fn snapshot(&self) -> Snapshot {
        let live = InFlight {
            running_since: self.bus.open.since,
            retry: self.bus.open.retry.clone().filter(|_| self.turn.is_retrying()),
            partial: self.partial.as_ref().map(|_| self.partial_answer()),
            calls: self.jobs.calls().cloned().collect(),
            queue: self.turn.queue().select(|_| true),
            approvals: self.approvals.pending().iter().chain(self.agents.approvals()).cloned().collect(),
            elicitations: self
                .elicitations
                .requests()
                .into_iter()
                .chain(self.agents.questions().cloned())
                .collect(),
            bash: self.jobs.bash_running().cloned(),
            background_jobs: self.background_jobs().list(),
            agents: self.agents.statuses(),
            summary: self.summaries.machine.status(now()),
        };
        Snapshot { seq: self.bus.seq, state: self.state(), in_progress: live }
    }

    fn state(&self) -> SessionState {
        let reader = self.active.reader();
        let mut usage = reader.usage();
        // The log has an agent's usage only once its task has ended.
        usage.cost.total += self.agents.running_cost();
        SessionState {
            session: reader.id().clone(),
            path: reader.path().map(Path::to_owned),
            name: self.active.name.clone(),
            cwd: self.services.manager.cwd().to_owned(),
            model: self.active.model.reference(),
            thinking: self.active.thinking,
            image_input: self.active.model.facts.image_input,
            context: self.context(),
            usage,
            approval: self.approvals.mode_name().to_owned(),
            plan: task_plan::current(&self.active.projection),
        }
    }

    fn context(&self) -> ContextUse {
        let window = self.active.model.facts.window;
        ContextUse { used: self.active.projection.tokens(), window }
    }

    pub(super) fn status(&self) -> Status {
        let options = self.turn.options();
        Status {
            state: self.state(),
            auto_compaction: self.summaries.machine.options().automatic,
            activity: Activity {
                is_running: self.bus.open.since.is_some() || self.turn.is_running(),
                is_compacting: self.summaries.machine.is_compacting(),
                is_retrying: self.turn.is_retrying(),
            },
            queue: QueueStatus {
                items: self.turn.queue().select(|_| true),
                steering_point: options.steering_point,
                steering_mode: options.steering_mode,
                follow_up_mode: options.follow_up_mode,
            },
            auto_retry: self.retry.mode,
            leaf: self.active.reader().leaf(),
            messages: self.active.projection.message_count(),
        }
    }

    pub(super) fn messages(&self) -> Vec<Arc<Message>> {
        let projected = self.active.projection.messages.iter();
        projected.map(|projected| Arc::clone(&projected.message)).collect()
    }

    /// Replies immediately, or at the end of the run.
    pub(super) fn settled(&mut self, reply: Reply<RunReport>) {
        self.bus.settle_waiters.replies.push(reply);
        if self.bus.open.since.is_none() && !self.turn.is_running() {
            self.reply_settled();
        }
    }

    /// Replies to the callers that wait for the session to settle.
    pub(super) fn reply_settled(&mut self) {
        for reply in self.bus.settle_waiters.replies.drain(..) {
            // The caller may be gone.
            let _ = reply.send(self.bus.settle_waiters.last.clone().ok_or(AgentError::Empty));
        }
    }

    /// Counts messages, tokens and cost on a blocking thread, because it reads the whole log.
    pub(super) fn stats(&self, reply: Reply<Box<SessionStats>>) {
        let (reader, context, budgets) = (self.active.reader(), self.context(), self.budgets());
        tokio::task::spawn_blocking(move || {
            let totals = count(&reader, context, budgets).map(Box::new).map_err(AgentError::from);
            // The caller may be gone.
            let _ = reply.send(totals);
        });
    }

    /// Estimates the context's parts on a blocking thread, because it reads every message.
    pub(super) fn context_breakdown(&self, reply: Reply<Box<ContextBreakdown>>) {
        let files = self.resources.resources.instructions().iter();
        let source = ContextSource {
            context: self.context(),
            system: self.resources.system().to_owned(),
            files: files.map(|file| (file.path.clone(), file.text.clone())).collect(),
            skills: self.resources.skills_listing(),
            tools: self.services.offered_tools.specs(),
            messages: self.messages(),
        };
        tokio::task::spawn_blocking(move || {
            // The caller may be gone.
            let _ = reply.send(Ok(Box::new(ContextBreakdown::new(&source))));
        });
    }

    pub(super) fn locked_models(&self) -> Vec<LockedModel> {
        let locked = self.services.providers.locked();
        locked.into_iter().map(|(facts, key_name)| LockedModel { facts, key_name }).collect()
    }

    pub(super) fn tools(&self) -> Vec<OfferedTool> {
        let tools = &self.services.tools;
        let tool = |spec: &ToolSpec| OfferedTool {
            spec: spec.clone(),
            source: tools.source(&spec.name).cloned().unwrap_or(ToolSource::Host),
            offer: self.offer_state(&spec.name),
        };
        tools.specs().iter().map(tool).collect()
    }

    fn offer_state(&self, name: &str) -> OfferState {
        match &self.services.options.offer {
            _ if self.services.offered_tools.find(name).is_some() => OfferState::Offered,
            offer @ ToolOffer::Only { source, .. }
                if offer.select(&self.services.tools).find(name).is_none() =>
            {
                OfferState::LeftOut(source.clone())
            }
            ToolOffer::Only { .. } | ToolOffer::All => OfferState::Removed,
        }
    }

    /// Offers these tools, starting with the next request. Keeps the session's order of tools, so that the
    /// caller's order doesn't change the prompt.
    pub(super) fn offer_tools(&mut self, names: &[String]) -> Result<(), AgentError> {
        if names.iter().any(|name| self.services.tools.find(name).is_none()) {
            return Err(AgentError::NotFound("tool of that name"));
        }
        let tool_names = self.services.tools.names();
        let selected: Vec<String> = tool_names
            .filter(|name| names.iter().any(|selected| selected == name))
            .map(str::to_owned)
            .collect();
        self.services.offered_tools = self.services.tools.restrict(&selected).unwrap_or_default();
        Ok(())
    }

    pub(super) fn configure(&mut self, change: OptionChange, reply: Reply<()>) {
        let mut options = self.turn.options();
        let mut result = Ok(());
        match change {
            OptionChange::SteeringPoint(point) => options.steering_point = point,
            OptionChange::SteeringMode(mode) => options.steering_mode = mode,
            OptionChange::FollowUpMode(mode) => options.follow_up_mode = mode,
            OptionChange::Retry(mode) => self.retry.mode = mode,
            OptionChange::Compaction(automatic) => self.summaries.machine.set_automatic(automatic),
            OptionChange::AgentDeltas(deltas) => self.set_agent_deltas(deltas),
            OptionChange::Approval(mode) => result = self.choose_approval(mode),
            OptionChange::ApprovalLimit(mode) => {
                self.approvals.set_loosest(mode);
                let current = self.approvals.policy();
                let stricter = stricter(current.mode, mode);
                if stricter != current.mode || current.ask_behavior != AskBehavior::User {
                    self.change_approval(stricter);
                }
            }
            OptionChange::ConfiguredApproval(mode) => {
                result = self.choose_approval(mode);
                if result.is_ok() {
                    self.approvals.keep_mode();
                }
            }
        }
        self.turn.set_options(options);
        send_reply(reply, result);
    }
}

fn count(
    reader: &Reader,
    context: ContextUse,
    budgets: Vec<BudgetStatus>,
) -> Result<SessionStats, SessionError> {
    let branch = match reader.leaf() {
        Some(leaf) => reader.totals_to(&leaf)?,
        None => Totals::default(),
    };
    Ok(SessionStats { session: reader.totals()?, branch, context, budgets })
}
