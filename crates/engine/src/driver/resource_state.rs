//! Skills, templates and context files as the driver holds them: what a request begins with, what a prompt becomes, and
//! the change from one state of the files to the next.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use tiller_core::event::EventKind;
use tiller_tools::tool::Tools;
use tokio::sync::mpsc;

use super::Driver;
use super::jobs::JobEvent;
use crate::expand::{UnknownSkill, expand};
use crate::handle::{AgentError, Expansion, Reply};
use crate::resources::{Inventory, Read, ReloadRequest, ResourceReloader, Resources};
use crate::skill::Skill;
use crate::system_prompt::{SystemPrompt, listing};

/// The tool that a model reads skills with; without it they aren't listed.
const READER: &str = "read_file";

/// What the files say at the moment.
pub(super) struct ResourceState {
    pub(super) resources: Arc<Resources>,
    /// The system prompt made from them. It is made anew only when they say something else, because providers keep what
    /// requests have in common.
    system: String,
    prompt: SystemPrompt,
    /// Folders that tools reach in this session only.
    session_folders: Vec<String>,
    cwd: PathBuf,
    skills: Listed,
    orders: mpsc::Sender<ReloadRequest>,
    /// Whoever gave orders, in their order.
    waiting: VecDeque<Reply<Inventory>>,
}

/// Whether the model is told of skills.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Listed {
    Yes,
    No,
}

impl ResourceState {
    /// What was read, and the task that will read it anew.
    pub(super) fn new(
        resources: Resources,
        prompt: SystemPrompt,
        cwd: PathBuf,
        tools: &Tools,
    ) -> (Self, ResourceReloader) {
        let resources = Arc::new(resources);
        let (keeper, orders) = ResourceReloader::new(Arc::clone(&resources));
        let skills = if tools.find(READER).is_some() { Listed::Yes } else { Listed::No };
        let waiting = VecDeque::new();
        let (system, session_folders) = (String::new(), Vec::new());
        let mut shelf = Self { resources, system, prompt, session_folders, cwd, skills, orders, waiting };
        shelf.write_system();
        (shelf, keeper)
    }

    /// What the model is told before everything else.
    pub(super) fn system(&self) -> &str {
        &self.system
    }

    /// The list of skills in the system prompt, and how many it names.
    pub(super) fn skills_listing(&self) -> (String, usize) {
        let listing = listing(self.listed_skills());
        let count = listing.matches("  <skill>\n").count();
        (listing, count)
    }

    fn listed_skills(&self) -> &[Skill] {
        match self.skills {
            Listed::Yes => self.resources.skills(),
            Listed::No => &[],
        }
    }

    fn write_system(&mut self) {
        let mut prompt = self.prompt.clone();
        prompt.folders.extend_from_slice(&self.session_folders);
        self.system = prompt.text(&self.cwd, self.resources.instructions(), self.listed_skills());
    }

    /// Names other folders that tools reach in this session only.
    pub(super) fn set_session_folders(&mut self, folders: Vec<String>) {
        if folders != self.session_folders {
            self.session_folders = folders;
            self.write_system();
        }
    }

    /// The prompt as the model gets it.
    pub(super) fn expand(&self, text: String, expansion: Expansion) -> Result<String, AgentError> {
        match expansion {
            Expansion::Verbatim => Ok(text),
            Expansion::Expand => match expand(&text, &self.resources) {
                Ok(expanded) => Ok(expanded.into_owned()),
                Err(UnknownSkill { name, nearest }) => Err(AgentError::UnknownSkill { name, nearest }),
            },
        }
    }

    /// Has everything read anew, and answers when that is done.
    pub(super) fn order(&mut self, order: ReloadRequest, reply: Reply<Inventory>) {
        match self.orders.try_send(order) {
            Ok(()) => self.waiting.push_back(reply),
            Err(_) => _ = reply.send(Err(AgentError::Running)),
        }
    }
}

impl Driver {
    /// What was read takes the place of what was there: the next request and the next prompt see it.
    pub(super) fn resources_read(&mut self, read: Read) {
        let Read { resources, ordered, trouble } = read;
        let before = std::mem::replace(&mut self.shelf.resources, resources);
        let now = Arc::clone(&self.shelf.resources);
        if let Some(trouble) = trouble {
            self.teller.warn(trouble);
        }
        // Whoever asked wants to hear all of it.
        let told = if ordered { Arc::default() } else { Arc::clone(&before) };
        for problem in now.problems_since(&told) {
            self.teller.warn(problem.to_string());
        }
        let inventory = now.inventory();
        if !now.says_the_same(&before) {
            self.shelf.write_system();
            let Inventory { skills, templates, context_files, .. } = inventory;
            self.teller.tell(EventKind::ResourcesChanged { skills, templates, context_files });
        }
        if let Some(reply) = ordered.then(|| self.shelf.waiting.pop_front()).flatten() {
            let _ = reply.send(Ok(inventory));
        }
    }
}

/// Lets a keeper work beside the loop.
pub(super) async fn keep(keeper: ResourceReloader, reports: mpsc::Sender<JobEvent>) {
    keeper
        .keep(|read| {
            let reports = reports.clone();
            async move { reports.send(JobEvent::ResourcesRead(read)).await.is_ok() }
        })
        .await;
}
