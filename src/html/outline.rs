//! The structure of a page: visible entries, their parents and children, and their text in the outline.

use std::collections::{HashMap, HashSet};

use super::tool_call;
use crate::agent::built_in_tools;
use crate::id::{CallId, EntryId};
use crate::message::{AssistantMessage, Message, ToolCall, Usage};
use crate::session::annotations::Annotations;
use crate::session::import::foreign_file_tools;
use crate::session::tree::{Tree, TreeNode};
use crate::session::{Entry, EntryBody, Finding, Reader, SessionError, Speaker};
use crate::tool_catalog::ToolCatalog;

/// Maximum length of an entry's text in the outline, in characters.
const MAX_HEADLINE: usize = 90;

/// The structure of a session, from which its page is rendered.
pub(super) struct Outline {
    /// All entries of the log.
    pub(super) tree: Tree,
    /// The visible items by position; `None` for entries that aren't shown.
    pub(super) items: Vec<Option<OutlineItem>>,
    /// The nearest visible ancestor of each entry.
    pub(super) ancestors: Vec<Option<usize>>,
    /// The nearest visible descendants of each visible entry.
    pub(super) descendants: Vec<Vec<usize>>,
    /// Visible entries without a visible ancestor.
    pub(super) roots: Vec<usize>,
    /// True for entries on the open branch.
    pub(super) on_path: Vec<bool>,
    pub(super) leaf: Option<EntryId>,
    pub(super) labels: HashMap<EntryId, String>,
    pub(super) usage: Usage,
    /// The models in the order of their first answers.
    pub(super) models: Vec<String>,
    pub(super) findings: Vec<Finding>,
    /// The tools that logs may mention: the built-in ones and other programs'.
    pub(super) tools: ToolCatalog,
    /// True for hidden entries, which aren't on the page.
    hidden: Vec<bool>,
    /// The problems with entries, which are also among the findings.
    damaged: Vec<Finding>,
    /// The nearest prompt at or above each entry, without an answer in between.
    open_prompts: Vec<Option<usize>>,
    /// Prompts after which an answer or another prompt follows on any branch.
    followed_prompts: HashSet<usize>,
    calls: HashMap<usize, Vec<ToolCall>>,
    answered_calls: HashSet<(usize, CallId)>,
}

/// A visible entry.
pub(super) struct OutlineItem {
    /// The entry's unique anchor on the page.
    pub(super) anchor: String,
    /// The entry's text in the outline; `None` if it isn't listed.
    pub(super) headline: Option<String>,
    pub(super) kind: ItemKind,
}

/// The kind of a visible entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ItemKind {
    User,
    Answer,
    Tool,
    Bash,
    Rule,
}

impl Outline {
    /// Reads a session once.
    pub(super) fn load(reader: &Reader, leaf: Option<&EntryId>) -> Result<Self, SessionError> {
        let mut outline = Self::empty(reader.tree(), leaf);
        outline.hidden = hidden_entries(reader, &outline.tree, leaf);
        outline.read_entries(reader)?;
        Ok(outline)
    }

    /// Reads the entries after those of an earlier outline, or all entries if that outline no longer fits the
    /// log.
    pub(super) fn update(self, reader: &Reader, leaf: Option<&EntryId>) -> Result<Self, SessionError> {
        let tree = reader.tree();
        let hidden = hidden_entries(reader, &tree, leaf);
        let known = self.items.len();
        let is_continued = tree.nodes().get(..known).is_some_and(|nodes| nodes == self.tree.nodes())
            && hidden[..known] == self.hidden
            // If a later entry has the id of an earlier one, the anchor of the earlier one changes.
            && anchors(&tree).iter().zip(&self.items).all(|(anchor, item)| {
                item.as_ref().is_none_or(|item| item.anchor == *anchor)
            });
        if !is_continued {
            return Self::load(reader, leaf);
        }
        let mut outline = Self { on_path: tree.path_marks(leaf), leaf: leaf.cloned(), tree, hidden, ..self };
        outline.descendants.resize(outline.tree.nodes().len(), Vec::new());
        outline.read_entries(reader)?;
        Ok(outline)
    }

    fn empty(tree: Tree, leaf: Option<&EntryId>) -> Self {
        let count = tree.nodes().len();
        Self {
            items: Vec::with_capacity(count),
            ancestors: Vec::with_capacity(count),
            descendants: vec![Vec::new(); count],
            roots: Vec::new(),
            on_path: tree.path_marks(leaf),
            leaf: leaf.cloned(),
            labels: HashMap::new(),
            usage: Usage::default(),
            models: Vec::new(),
            findings: Vec::new(),
            damaged: Vec::new(),
            tools: built_in_tools().with(foreign_file_tools()),
            hidden: Vec::new(),
            open_prompts: Vec::with_capacity(count),
            followed_prompts: HashSet::new(),
            calls: HashMap::new(),
            answered_calls: HashSet::new(),
            tree,
        }
    }

    /// Reads the entries that have no item yet.
    fn read_entries(&mut self, reader: &Reader) -> Result<(), SessionError> {
        let anchors = anchors(&self.tree);
        reader.visit(self.items.len(), |entry| {
            // Entries that were appended after the tree was read are ignored.
            if self.items.len() < anchors.len() {
                self.add_entry(entry, &anchors);
            }
        })?;
        self.findings = reader.findings().into_iter().chain(self.damaged.iter().cloned()).collect();
        Ok(())
    }

    fn add_entry(&mut self, entry: Result<Entry, Finding>, anchors: &[String]) {
        let at = self.items.len();
        let parent = self.tree.nodes()[at].parent;
        let ancestor = parent.and_then(|parent| match &self.items[parent] {
            Some(_) => Some(parent),
            None => self.ancestors[parent],
        });
        self.add_speaker(at, entry.as_ref().ok().and_then(Speaker::of));
        let item = match entry {
            Ok(entry) if self.hidden[at] => {
                self.add_usage(&entry.body);
                None
            }
            Ok(entry) => self.entry(at, ancestor, &entry, anchors),
            Err(finding) => {
                self.damaged.push(finding);
                None
            }
        };
        if item.is_some() {
            match ancestor {
                Some(ancestor) => self.descendants[ancestor].push(at),
                None => self.roots.push(at),
            }
        }
        self.items.push(item);
        self.ancestors.push(ancestor);
    }

    fn add_speaker(&mut self, at: usize, speaker: Option<Speaker>) {
        let above = self.open_prompt_above(at);
        if speaker.is_some() {
            self.followed_prompts.extend(above);
        }
        self.open_prompts.push(match speaker {
            Some(Speaker::User(_)) => Some(at),
            Some(Speaker::Model) => None,
            None => above,
        });
    }

    fn entry(
        &mut self,
        at: usize,
        ancestor: Option<usize>,
        entry: &Entry,
        anchors: &[String],
    ) -> Option<OutlineItem> {
        self.add_usage(&entry.body);
        let (kind, headline) = match &entry.body {
            EntryBody::Message(entry) => self.message(at, ancestor, &entry.message)?,
            EntryBody::Compaction(_) => (ItemKind::Rule, Some("compacted".to_owned())),
            EntryBody::BranchSummary { .. } => (ItemKind::Rule, Some("summary of another branch".to_owned())),
            EntryBody::CustomMessage { content, display: true, .. } => {
                (ItemKind::User, Some(headline(&content.joined_text())))
            }
            EntryBody::ModelChange { .. }
            | EntryBody::ThinkingLevelChange { .. }
            | EntryBody::ContextEdit { .. } => (ItemKind::Rule, None),
            EntryBody::Label { target_id, label } => {
                match label {
                    Some(label) => self.labels.insert(target_id.clone(), label.clone()),
                    None => self.labels.remove(target_id),
                };
                return None;
            }
            EntryBody::CustomMessage { display: false, .. }
            | EntryBody::Custom { .. }
            | EntryBody::SessionInfo { .. }
            | EntryBody::Usage { .. }
            | EntryBody::Unknown => return None,
        };
        Some(OutlineItem { anchor: anchors[at].clone(), headline, kind })
    }

    fn message(
        &mut self,
        at: usize,
        ancestor: Option<usize>,
        message: &Message,
    ) -> Option<(ItemKind, Option<String>)> {
        Some(match message {
            Message::User(user) => (ItemKind::User, Some(headline(&user.as_typed()))),
            Message::Assistant(answer) => {
                let calls: Vec<ToolCall> = answer.tool_calls().cloned().collect();
                if !calls.is_empty() {
                    self.calls.insert(at, calls);
                }
                (ItemKind::Answer, answer_headline(answer))
            }
            Message::ToolResult(result) => {
                if let Some((answer, call)) = self.find_call(ancestor, &result.tool_call_id) {
                    let id = call.id.clone();
                    self.answered_calls.insert((answer, id));
                }
                (ItemKind::Tool, None)
            }
            Message::BashExecution(bash) => (ItemKind::Bash, Some(headline(&format!("! {}", bash.command)))),
            Message::System(system) if system.content.is_empty() => return None,
            Message::System(_) => (ItemKind::Rule, None),
        })
    }

    /// Finds the call that a result below `ancestor` belongs to, and the position of its answer.
    pub(super) fn find_call(&self, ancestor: Option<usize>, id: &CallId) -> Option<(usize, &ToolCall)> {
        std::iter::successors(ancestor, |&at| self.ancestors[at])
            .take(tool_call::MAX_DISTANCE)
            .find_map(|at| Some((at, self.calls.get(&at)?.iter().find(|call| call.id == *id)?)))
    }

    /// Returns true if a call of the answer at `at` has a result on any branch.
    pub(super) fn is_answered(&self, at: usize, call: &CallId) -> bool {
        self.answered_calls.contains(&(at, call.clone()))
    }

    /// Returns the nearest prompt above an entry, without an answer in between.
    pub(super) fn open_prompt_above(&self, at: usize) -> Option<usize> {
        self.tree.nodes()[at].parent.and_then(|parent| self.open_prompts[parent])
    }

    /// Returns true if an answer or another prompt follows the prompt at `at` on any branch.
    pub(super) fn is_followed(&self, at: usize) -> bool {
        self.followed_prompts.contains(&at)
    }

    pub(super) fn hidden_count(&self) -> usize {
        self.hidden.iter().filter(|hidden| **hidden).count()
    }

    pub(super) fn branch_count(&self) -> usize {
        self.items
            .iter()
            .zip(&self.descendants)
            .filter(|(item, descendants)| item.is_some() && descendants.is_empty())
            .count()
    }

    pub(super) fn label(&self, at: usize) -> Option<&str> {
        self.labels.get(&self.tree.nodes()[at].id).map(String::as_str)
    }

    /// Returns the name of a branch: the headline of its first entry, or of the first descendant that has
    /// one.
    pub(super) fn branch_name(&self, at: usize) -> &str {
        let first = |&at: &usize| self.descendants[at].first().copied();
        std::iter::successors(Some(at), first)
            .take(tool_call::MAX_DISTANCE)
            .find_map(|at| self.items[at].as_ref()?.headline.as_deref())
            .unwrap_or("…")
    }

    fn add_usage(&mut self, body: &EntryBody) {
        match body {
            EntryBody::Usage { usage, .. } | EntryBody::BranchSummary { usage: Some(usage), .. } => {
                self.usage.add(usage);
            }
            EntryBody::Compaction(compaction) => {
                self.usage.add(&compaction.usage.clone().unwrap_or_default());
            }
            EntryBody::Message(entry) => {
                if let Message::Assistant(answer) = &*entry.message {
                    self.usage.add(&answer.usage);
                    if !answer.model.is_empty() && !self.models.contains(&answer.model) {
                        self.models.push(answer.model.clone());
                    }
                }
            }
            _ => {}
        }
    }
}

fn hidden_entries(reader: &Reader, tree: &Tree, leaf: Option<&EntryId>) -> Vec<bool> {
    let hidden = Annotations::read(reader, tree).hiding_ancestors(tree, leaf);
    hidden.into_iter().map(|with| with.is_some()).collect()
}

/// Returns the anchor of each entry, which is its id. If several entries have the same id, the last one gets
/// it, and the positions of the others are appended to theirs.
fn anchors(tree: &Tree) -> Vec<String> {
    let nodes = tree.nodes();
    let last: HashMap<&EntryId, usize> = nodes.iter().enumerate().map(|(at, node)| (&node.id, at)).collect();
    let name = |(at, node): (usize, &TreeNode)| match last[&node.id] {
        newest if newest == at => node.id.to_string(),
        _ => format!("{}~{at}", node.id),
    };
    nodes.iter().enumerate().map(name).collect()
}

/// Returns the headline of an answer; `None` for one that only calls tools.
fn answer_headline(answer: &AssistantMessage) -> Option<String> {
    let text = answer.joined_text();
    let prose = text.split("```").next().filter(|prose| !prose.trim().is_empty()).unwrap_or(&text);
    let line = headline(prose.trim_start_matches(['#', ' ', '*', '\n'])).replace(['`', '*'], "");
    (!line.is_empty()).then_some(line)
}

/// Shortens a string to one line.
pub(super) fn headline(text: &str) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.extend(word.chars().take(MAX_HEADLINE));
        if line.chars().count() > MAX_HEADLINE {
            return line.chars().take(MAX_HEADLINE - 1).chain(['…']).collect();
        }
    }
    line
}
