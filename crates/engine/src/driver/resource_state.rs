//! The loaded skills, templates and context files. They form the system prompt, expand prompts, and are
//! replaced on reload.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use tiller_core::tool_spec::{Access, ToolSpec, TouchedPaths};
use tiller_tools::tool::Tools;
use tokio::sync::mpsc;

use super::job_event::JobEvent;
use crate::expand::{UnknownSkill, expand};
use crate::handle::{AgentError, Expansion, Reply};
use crate::resources::{Inventory, ReloadRequest, ResourceReloader, Resources};
use crate::skill::Skill;
use crate::system_prompt::{PLAN, SystemPrompt, skill_list};

/// The current resources.
pub(super) struct ResourceState {
    pub(super) resources: Arc<Resources>,
    /// The system prompt. It is rebuilt only when its sources change, because providers cache the common
    /// prefix of requests.
    system: String,
    prompt: SystemPrompt,
    /// Directories that tools may access in this session only.
    session_dirs: Vec<String>,
    /// True in plan mode.
    is_planning: bool,
    cwd: PathBuf,
    skills: SkillListing,
    requests: mpsc::Sender<ReloadRequest>,
    /// Callers of pending reload requests, in order.
    pub(super) waiting: VecDeque<Reply<Inventory>>,
}

/// Listing of skills in the system prompt.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SkillListing {
    Yes,
    No,
}

impl SkillListing {
    /// Lists skills if the model has a tool that reads files.
    fn with(tools: &Tools) -> Self {
        let reads_files =
            |spec: &ToolSpec| (spec.traits.access, spec.traits.paths) == (Access::Reads, TouchedPaths::File);
        if tools.specs().iter().any(reads_files) { Self::Yes } else { Self::No }
    }
}

impl ResourceState {
    /// Returns the settings of the system prompt, including the directories added in this session.
    pub(super) fn prompt_settings(&self) -> SystemPrompt {
        let dirs = self.prompt.dirs.iter().chain(&self.session_dirs).cloned().collect();
        SystemPrompt { dirs, ..self.prompt.clone() }
    }

    /// Creates the state and the task that reloads it.
    pub(super) fn new(
        resources: Resources,
        prompt: SystemPrompt,
        cwd: PathBuf,
        tools: &Tools,
    ) -> (Self, ResourceReloader) {
        let resources = Arc::new(resources);
        let (reloader, requests) = ResourceReloader::new(Arc::clone(&resources));
        let skills = SkillListing::with(tools);
        let waiting = VecDeque::new();
        let (system, session_dirs, is_planning) = (String::new(), Vec::new(), false);
        let mut state =
            Self { resources, system, prompt, session_dirs, is_planning, cwd, skills, requests, waiting };
        state.write_system();
        (state, reloader)
    }

    pub(super) fn system(&self) -> &str {
        &self.system
    }

    /// Returns the list of skills in the system prompt, and their number.
    pub(super) fn skills_listing(&self) -> (String, usize) {
        let listing = skill_list(self.listed_skills());
        let count = listing.matches("  <skill>\n").count();
        (listing, count)
    }

    fn listed_skills(&self) -> &[Skill] {
        match self.skills {
            SkillListing::Yes => self.resources.skills(),
            SkillListing::No => &[],
        }
    }

    pub(super) fn write_system(&mut self) {
        let mut prompt = self.prompt.clone();
        prompt.dirs.extend_from_slice(&self.session_dirs);
        self.system = prompt.text(&self.cwd, self.resources.instructions(), self.listed_skills());
        if self.is_planning {
            self.system.push_str(&format!("\n{}", PLAN));
        }
    }

    /// Sets the directories that tools may access in this session only, and plan mode.
    pub(super) fn set_permissions(&mut self, dirs: Vec<String>, is_planning: bool) {
        if (&dirs, is_planning) != (&self.session_dirs, self.is_planning) {
            self.session_dirs = dirs;
            self.is_planning = is_planning;
            self.write_system();
        }
    }

    /// Expands a prompt for the model.
    pub(super) fn expand(&self, text: String, expansion: Expansion) -> Result<String, AgentError> {
        match expansion {
            Expansion::Verbatim => Ok(text),
            Expansion::Expand => match expand(&text, &self.resources) {
                Ok(expanded) => Ok(expanded.into_owned()),
                Err(UnknownSkill { name, nearest }) => Err(AgentError::UnknownSkill { name, nearest }),
            },
        }
    }

    /// Requests a reload, and replies when it is done.
    pub(super) fn request_reload(&mut self, request: ReloadRequest, reply: Reply<Inventory>) {
        match self.requests.try_send(request) {
            Ok(()) => self.waiting.push_back(reply),
            Err(_) => _ = reply.send(Err(AgentError::Running)),
        }
    }
}

/// Runs a reloader and reports its results.
pub(super) async fn run_reloader(reloader: ResourceReloader, events: mpsc::Sender<JobEvent>) {
    reloader
        .run(|read| {
            let events = events.clone();
            async move { events.send(JobEvent::ResourcesRead(read)).await.is_ok() }
        })
        .await;
}
