//! A simple model of a session, implemented from docs/session-format.md with plain vectors. It shares no code with the
//! implementation, except for names.

use std::collections::BTreeMap;

use tiller_core::message::{StopReason, ThinkingLevel};

/// An entry and its parent.
#[derive(Clone, Debug)]
pub(super) struct ModelEntry {
    pub(super) id: String,
    pub(super) parent: Option<usize>,
    pub(super) content: EntryContent,
}

/// The content of an entry as far as the model needs it. Other entries are named by their ids.
#[derive(Clone, Debug)]
pub(super) enum EntryContent {
    User { text: String, images: u64, delivers: Option<String> },
    Answer { text: String, calls: Vec<String>, end: StopReason, total: u64, model: String },
    Result { call: String, text: String },
    Bash { output: String, excluded: bool },
    System(String),
    Model(String),
    Level(ThinkingLevel),
    Compaction { summary: String, first_kept: String },
    BranchSummary(String),
    Edit { target: String, replacement: Option<String> },
    Foreign(String),
    Label { target: String, label: Option<String> },
    Name(Name),
    Usage(u64),
    Queued(String),
    Unqueued(String),
    Other,
}

/// A session's name, and the number of forks since it was set.
#[derive(Clone, Debug)]
pub(super) struct Name(pub(super) &'static str, pub(super) usize);

impl Name {
    pub(super) fn text(&self) -> String {
        match self {
            Self(name, 0) => (*name).to_owned(),
            Self(name, 1) => format!("{name} (fork)"),
            Self(name, times) => format!("{name} (fork {times})"),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct ContextMessage {
    pub(super) id: String,
    pub(super) role: &'static str,
    pub(super) text: String,
    /// True for a summary, which has more words around the text.
    pub(super) wrapped: bool,
    /// Additional UTF-16 units, apart from the text's.
    units: u64,
    /// The provider's token count, for an answer whose usage is valid.
    measured: Option<u64>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Session {
    pub(super) entries: Vec<ModelEntry>,
}

impl Session {
    pub(super) fn push(&mut self, id: &str, parent: Option<usize>, content: EntryContent) {
        self.entries.push(ModelEntry { id: id.to_owned(), parent, content });
    }

    pub(super) fn leaf(&self) -> Option<usize> {
        self.entries.len().checked_sub(1)
    }

    pub(super) fn parents(&self) -> Vec<Option<usize>> {
        self.entries.iter().map(|entry| entry.parent).collect()
    }

    /// The entries without children.
    pub(super) fn leaves(&self) -> Vec<usize> {
        (0..self.entries.len())
            .filter(|at| self.entries.iter().all(|entry| entry.parent != Some(*at)))
            .collect()
    }

    fn path(&self, leaf: Option<usize>) -> Vec<&ModelEntry> {
        let mut path = Vec::new();
        let mut at = leaf;
        while let Some(position) = at {
            path.insert(0, &self.entries[position]);
            at = self.entries[position].parent;
        }
        path
    }

    /// A fork at a leaf: its path and the added entries.
    pub(super) fn forked(&self, leaf: usize) -> (Self, Vec<EntryContent>) {
        let mut fork = Self::default();
        for entry in self.path(Some(leaf)) {
            fork.push(&entry.id, fork.leaf(), entry.content.clone());
        }
        let mut added: Vec<EntryContent> = fork.queued().into_iter().map(EntryContent::Unqueued).collect();
        added.extend(self.last_name().map(|Name(name, times)| EntryContent::Name(Name(name, times + 1))));
        (fork, added)
    }

    pub(super) fn context_messages(&self, leaf: Option<usize>) -> Vec<ContextMessage> {
        let path = self.path(leaf);
        let cut = path.iter().rposition(|entry| matches!(entry.content, EntryContent::Compaction { .. }));
        let mut positions: Vec<usize> = (0..path.len()).collect();
        if let Some(cut) = cut
            && let EntryContent::Compaction { first_kept, .. } = &path[cut].content
        {
            let first_kept = (0..cut).rev().find(|&at| path[at].id == *first_kept).unwrap_or(cut);
            positions = std::iter::once(cut).chain(first_kept..cut).chain(cut + 1..path.len()).collect();
        }
        let older =
            |at: usize| Some(at) != cut && matches!(path[at].content, EntryContent::Compaction { .. });
        let messages =
            positions.into_iter().filter(|at| !older(*at)).filter_map(|at| context_message(path[at]));
        messages.filter_map(|message| edited(message, &path)).collect()
    }

    /// The size of the context. `texts` are the messages' texts, with the words around summaries.
    pub(super) fn tokens(&self, leaf: Option<usize>, texts: &[String]) -> u64 {
        let path = self.path(leaf);
        let resets = |entry: &&ModelEntry| {
            matches!(entry.content, EntryContent::Compaction { .. } | EntryContent::Edit { .. })
        };
        let start = path.iter().rposition(resets).map_or(0, |at| at + 1);
        let newer: Vec<&str> = path[start..].iter().map(|entry| entry.id.as_str()).collect();
        let message = self.context_messages(leaf);
        let measured = message.iter().enumerate().rev().find_map(|(at, message)| {
            Some((at + 1, message.measured.filter(|_| newer.contains(&&*message.id))?))
        });
        let estimate = |(message, text): (&ContextMessage, &String)| match message.role {
            "system" => 0,
            _ => (text.encode_utf16().count() as u64 + message.units).div_ceil(4),
        };
        let estimates: Vec<u64> = message.iter().zip(texts).map(estimate).collect();
        // A count far below the estimate of what it counts is ignored.
        let (first_estimated, measured_tokens) = measured
            .filter(|(count, measured)| estimates[..*count].iter().sum::<u64>() <= 4 * measured)
            .unwrap_or((0, 0));
        measured_tokens + estimates[first_estimated..].iter().sum::<u64>()
    }

    /// The current model.
    pub(super) fn model(&self, leaf: Option<usize>) -> Option<String> {
        self.path(leaf).iter().rev().find_map(|entry| match &entry.content {
            EntryContent::Model(model) | EntryContent::Answer { model, .. } => Some(model.clone()),
            _ => None,
        })
    }

    pub(super) fn level(&self, leaf: Option<usize>) -> ThinkingLevel {
        let level = self.path(leaf).iter().rev().find_map(|entry| match entry.content {
            EntryContent::Level(level) => Some(level),
            _ => None,
        });
        level.unwrap_or(ThinkingLevel::Off)
    }

    fn last_name(&self) -> Option<&Name> {
        self.entries.iter().rev().find_map(|entry| match &entry.content {
            EntryContent::Name(name) => Some(name),
            _ => None,
        })
    }

    pub(super) fn name(&self) -> Option<String> {
        self.last_name().map(Name::text)
    }

    /// Labels by the positions of their targets.
    pub(super) fn labels(&self) -> BTreeMap<usize, String> {
        let mut labels = BTreeMap::new();
        for entry in &self.entries {
            let EntryContent::Label { target, label } = &entry.content else { continue };
            let Some(at) = self.entries.iter().position(|entry| entry.id == *target) else { continue };
            match label {
                Some(label) => drop(labels.insert(at, label.clone())),
                None => drop(labels.remove(&at)),
            }
        }
        labels
    }

    /// Total tokens on all branches.
    pub(super) fn total_tokens(&self) -> u64 {
        let tokens = |entry: &ModelEntry| match entry.content {
            EntryContent::Answer { total, .. } | EntryContent::Usage(total) => total,
            _ => 0,
        };
        self.entries.iter().map(tokens).sum()
    }

    /// Queued messages that were neither removed nor delivered, in the whole file.
    pub(super) fn queued(&self) -> Vec<String> {
        let mut queued: Vec<String> = Vec::new();
        for entry in &self.entries {
            match &entry.content {
                EntryContent::Queued(id) => queued.push(id.clone()),
                EntryContent::Unqueued(removed) | EntryContent::User { delivers: Some(removed), .. } => {
                    queued.retain(|id| id != removed);
                }
                _ => {}
            }
        }
        queued
    }
}

fn context_message(entry: &ModelEntry) -> Option<ContextMessage> {
    let plain = |role, text: &str| ContextMessage {
        id: entry.id.clone(),
        role,
        text: text.to_owned(),
        wrapped: false,
        units: 0,
        measured: None,
    };
    Some(match &entry.content {
        EntryContent::User { text, images, .. } => {
            ContextMessage { units: images * 4_800, ..plain("user", text) }
        }
        EntryContent::Answer { text, calls, end, total, .. } => {
            let failed = matches!(end, StopReason::Error | StopReason::Aborted);
            let measured = Some(*total).filter(|total| !failed && *total > 0);
            // Each call is `look` with `{}`.
            ContextMessage { units: calls.len() as u64 * 6, measured, ..plain("assistant", text) }
        }
        EntryContent::Result { text, .. } => plain("toolResult", text),
        // The command is `ls`.
        EntryContent::Bash { output, .. } => ContextMessage { units: 2, ..plain("bashExecution", output) },
        EntryContent::System(text) => plain("system", text),
        EntryContent::Foreign(text) => plain("user", text),
        EntryContent::Compaction { summary, .. } | EntryContent::BranchSummary(summary) => {
            ContextMessage { wrapped: true, ..plain("user", summary) }
        }
        _ => return None,
    })
}

/// Applies the last edit on the path to a message.
fn edited(message: ContextMessage, path: &[&ModelEntry]) -> Option<ContextMessage> {
    let edit = path.iter().rev().find_map(|entry| match &entry.content {
        EntryContent::Edit { target, replacement } if *target == message.id => Some(replacement),
        _ => None,
    });
    match edit {
        None => Some(message),
        Some(None) => None,
        Some(Some(text)) => {
            // An edit replaces images too; calls and commands stay.
            let units = if message.role == "user" { 0 } else { message.units };
            Some(ContextMessage { text: text.clone(), wrapped: false, units, ..message })
        }
    }
}
