//! Starts an agent's session with the parts that it inherits from the parent session.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use tiller_core::delegated_task::TaskWorktree;
use tiller_core::id::EntryId;
use tiller_core::message::ThinkingLevel;
use tiller_provider::Model;
use tiller_session::Reader;
use tiller_tools::policy::{ApprovalMode, AskBehavior};
use tiller_tools::tool::{Tools, Worktree, WorktreeError, find_leftover_worktrees, remove_leftover_worktree};

use super::agent::Agent;
use super::answer::AgentFailure;
use super::isolation::Isolation;
use super::link::ChildDelegation;
use super::owned_worktree::OwnedWorktree;
use super::parent::ParentSession;
use super::spec::AgentSpec;
use super::task_record::TaskRecord;
use super::tool_selection::ToolSelection;
use super::usage_limits::UsageScope;
use crate::approval_strictness::stricter;
use crate::driver::{FirstModel, ModelChoice, SessionParts};
use crate::embed::EmbedError;
use crate::handle::AgentSession;
use crate::options::{BackgroundTasks, ToolOffer};
use crate::system_prompt::SystemPrompt;

/// Maximum number of requests for one task, if neither the agent nor the session sets a limit.
const MAX_TURNS: u64 = 100;

pub(super) struct Child {
    pub agent: Agent,
    /// Deviations from the specification, reported to the delegating model.
    pub notices: Vec<String>,
}

/// The start of an agent's conversation.
pub(super) enum ConversationStart {
    New,
    /// Continues the conversation of the agent's log, with another task.
    Resumed(PathBuf),
    /// Continues the conversation of the agent's log, with the model that it used before.
    Reopened(PathBuf),
    /// Continues the delegating session's conversation from this entry.
    Forked(EntryId),
}

impl ConversationStart {
    /// Returns a notice for an agent whose earlier conversation took place in another directory.
    fn notice(&self, cwd: &Path) -> Option<String> {
        let (Self::Resumed(path) | Self::Reopened(path)) = self else { return None };
        let before = Reader::open(path).ok()?.header().cwd.clone();
        (Path::new(&before) != cwd)
            .then(|| format!("it previously worked in {before}; now it works in {}", cwd.display()))
    }
}

impl ParentSession {
    /// Opens or creates the worktree of a task, if it has one. A resumed task needs its earlier worktree: in
    /// the working directory, the agent would change files that its conversation isn't about.
    pub(super) async fn task_worktree(
        &self,
        stem: &str,
        earlier: Option<&TaskRecord>,
        isolation: Isolation,
    ) -> Result<Option<OwnedWorktree>, String> {
        match (earlier.filter(|task| task.start.worktree.is_some()), isolation) {
            (Some(earlier), _) => self.reopen_worktree(earlier).await.map(Some).map_err(|error| {
                format!("it can't continue in its worktree: {error}; delegate the task to a new agent")
            }),
            (None, Isolation::Worktree) => self.make_worktree(stem).await.map(Some),
            (None, Isolation::None) => Ok(None),
        }
    }

    /// Creates a worktree for an agent.
    pub(super) async fn make_worktree(&self, stem: &str) -> Result<OwnedWorktree, String> {
        self.check_worktree_mode()?;
        let cwd = self.manager.cwd();
        for leftover in find_leftover_worktrees(cwd, &self.runner).await {
            if let Err(error) = remove_leftover_worktree(&leftover, cwd, &self.runner).await {
                tracing::warn!(dir = %leftover.dir.display(), %error, "can't remove a leftover worktree");
            }
        }
        let worktree = Worktree::create(cwd, stem, &self.runner).await;
        worktree.map(OwnedWorktree::new).map_err(|error| error.to_string())
    }

    /// Opens the worktree in which an agent has worked before.
    pub(super) async fn reopen_worktree(&self, task: &TaskRecord) -> Result<OwnedWorktree, String> {
        let worktree = self.find_worktree(task).await?;
        let branch = task.start.worktree.as_ref().map(|worktree| worktree.branch.clone());
        worktree.ok_or_else(|| WorktreeError::NoBranch(branch.unwrap_or_default()).to_string())
    }

    /// Opens the worktree in which an agent has worked before, unless its branch is gone.
    pub(super) async fn find_worktree(&self, task: &TaskRecord) -> Result<Option<OwnedWorktree>, String> {
        self.check_worktree_mode()?;
        let Some(TaskWorktree { branch, base, .. }) = task.remaining_worktree() else { return Ok(None) };
        match Worktree::reopen(self.manager.cwd(), branch, base, &self.runner).await {
            Ok(worktree) => Ok(Some(OwnedWorktree::new(worktree))),
            Err(WorktreeError::NoBranch(_)) => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }

    pub(super) fn check_worktree_mode(&self) -> Result<(), String> {
        let mode = self.options.policy.mode;
        match mode {
            ApprovalMode::Plan | ApprovalMode::ReadOnly => {
                Err(format!("worktrees aren't available in mode {}", mode.name()))
            }
            ApprovalMode::Ask | ApprovalMode::Auto => Ok(()),
        }
    }

    /// Moves the agent into a worktree.
    pub(super) fn at(self, root: &Path) -> Self {
        let mut options = self.options;
        options.policy.root = root.to_owned();
        Self { manager: self.manager.with_cwd(root.to_owned()), tools: self.tools.at(root), options, ..self }
    }

    /// Starts an agent in the worktree, if it has one. Removes the worktree if the agent can't start.
    pub(super) async fn start_in(
        self,
        worktree: Option<OwnedWorktree>,
        spec: AgentSpec,
        delegation: ChildDelegation,
        conversation: ConversationStart,
    ) -> Result<(Child, Option<OwnedWorktree>), String> {
        let parent = match &worktree {
            Some(worktree) => self.at(worktree.root()),
            None => self,
        };
        let error = match parent.start(spec, delegation, conversation) {
            Ok(child) => return Ok((child, worktree)),
            Err(error) => error.to_string(),
        };
        match worktree {
            Some(worktree) => match worktree.release().await {
                Ok(()) => Err(error),
                Err(kept) => Err(format!("{error}; {kept}")),
            },
            None => Err(error),
        }
    }

    pub(super) fn start(
        self,
        spec: AgentSpec,
        delegation: ChildDelegation,
        conversation: ConversationStart,
    ) -> Result<Child, AgentFailure> {
        let mut notices: Vec<String> = conversation.notice(self.manager.cwd()).into_iter().collect();
        let (model, thinking) = self.model(&spec, &mut notices);
        let thinking = model.facts.clamp(thinking);
        let ChildDelegation { tools: delegation_tools, all_names, link } = delegation;
        let (tools, offer) = self.tools(&spec, &delegation_tools, &all_names, &mut notices);
        notices.extend(self.unknown_skills(&spec));
        let mut options = self.options;
        let max_turns = [spec.max_turns, options.turn.max_turns].into_iter().flatten().min();
        options.turn.max_turns = max_turns.or(Some(MAX_TURNS));
        options.limits = options.limits.with(UsageScope::task(spec.limit));
        // With `--yes`, the session's mode limits nothing until it changes.
        options.loosest_approval =
            (options.policy.ask_behavior == AskBehavior::User).then_some(options.policy.mode);
        options.policy.mode = stricter(options.policy.mode, spec.approval.unwrap_or(options.policy.mode));
        options.offer = offer;
        options.mode = "agent";
        // The session ends with the task.
        options.background_tasks = BackgroundTasks::Await;
        let choice = match conversation {
            ConversationStart::Reopened(_) => ModelChoice::Log,
            ConversationStart::New | ConversationStart::Resumed(_) | ConversationStart::Forked(_) => {
                ModelChoice::Caller
            }
        };
        let now = SystemTime::now().into();
        let writer = match conversation {
            ConversationStart::Resumed(path) | ConversationStart::Reopened(path) => self.manager.open(&path),
            ConversationStart::Forked(entry) => self.manager.fork(&self.reader, Some(&entry), now),
            ConversationStart::New => Ok(match self.reader.path() {
                Some(parent) => self.manager.create_after(parent, now),
                None => self.manager.create(now),
            }),
        };
        let system_prompt = match spec.instructions.is_empty() {
            true => self.system_prompt.clone(),
            false => SystemPrompt { replacement: Some(spec.instructions), ..self.system_prompt.clone() },
        };
        let parts = SessionParts {
            manager: self.manager,
            writer: writer.map_err(EmbedError::from)?,
            providers: self.providers,
            first: FirstModel { model, thinking, choice, thinking_choice: choice },
            tools,
            extensions: self.guards,
            tool_servers: None,
            runner: self.runner,
            system_prompt,
            resources: self.resources.for_agent(spec.skills.as_deref()),
            agent_link: Some(link),
            options,
        };
        let session = AgentSession::start(parts).map_err(EmbedError::from)?;
        Ok(Child { agent: Agent::new(spec.name, session, spec.middleware), notices })
    }

    /// Returns the agent's model, or the session's if no model has that name.
    fn model(&self, spec: &AgentSpec, notices: &mut Vec<String>) -> (Model, ThinkingLevel) {
        let Some(words) = &spec.model else {
            return (self.model.clone(), spec.thinking.unwrap_or(self.thinking));
        };
        match self.providers.find(words) {
            Ok(found) => (found.model, found.thinking.or(spec.thinking).unwrap_or(self.thinking)),
            Err(error) => {
                notices.push(format!(
                    "model {words} is unavailable ({error}); used {} instead",
                    self.model.reference()
                ));
                (self.model.clone(), spec.thinking.unwrap_or(self.thinking))
            }
        }
    }

    /// Returns a notice about the agent's skills that don't exist.
    fn unknown_skills(&self, spec: &AgentSpec) -> Option<String> {
        let is_unknown = |name: &&String| self.resources.skills().iter().all(|skill| skill.name != **name);
        let unknown: Vec<&str> =
            spec.skills.iter().flatten().filter(is_unknown).map(String::as_str).collect();
        (!unknown.is_empty()).then(|| format!("unknown skills: {}", unknown.join(", ")))
    }

    /// Returns the session's tools and the agent's own, which take precedence.
    fn tools(
        &self,
        spec: &AgentSpec,
        delegation_tools: &Tools,
        all_delegation_names: &[String],
        notices: &mut Vec<String>,
    ) -> (Tools, ToolOffer) {
        let all = self.tools.clone().replaced_by(delegation_tools).replaced_by(&spec.tools);
        let selection = ToolSelection::from(spec);
        let unknown = selection.unknown(&all);
        if !unknown.is_empty() {
            notices.push(format!("unavailable tools: {}", unknown.join(", ")));
        }
        let mut names = selection.names(&all);
        // The parent's delegation tools would delegate on the parent's behalf.
        names.retain(|name| {
            !all_delegation_names.contains(name)
                || [delegation_tools, &spec.tools].iter().any(|tools| tools.find(name).is_some())
        });
        if names.is_empty() && spec.inherited_tools.is_some() {
            notices.push("none of its tools is available, so it has none".to_owned());
        }
        let source = format!("the agent {}", spec.name);
        (all.restrict(&names).unwrap_or_default(), ToolOffer::Only { names, source })
    }
}
