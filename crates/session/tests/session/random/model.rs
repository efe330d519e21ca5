//! What a session amounts to, worked out from docs/session-format.md with plain vectors. It shares the words with the code
//! under test, and nothing else.

use std::collections::BTreeMap;

use tiller_core::message::{StopReason, ThinkingLevel};

/// An entry and where it hangs.
#[derive(Clone, Debug)]
pub(super) struct Noted {
    pub(super) id: String,
    pub(super) parent: Option<usize>,
    pub(super) says: Says,
}

/// What an entry says, as far as anything depends on it. Other entries are named by their ids.
#[derive(Clone, Debug)]
pub(super) enum Says {
    User { text: String, images: u64, delivers: Option<String> },
    Answer { text: String, calls: Vec<String>, end: StopReason, total: u64, model: String },
    Result { call: String, text: String },
    Bash { output: String, excluded: bool },
    System(String),
    Model(String),
    Level(ThinkingLevel),
    Compaction { summary: String, keeps: String },
    Left(String),
    Edit { target: String, replacement: Option<String> },
    Foreign(String),
    Label { target: String, label: Option<String> },
    Name(Name),
    Spent(u64),
    Queued(String),
    Unqueued(String),
    Nothing,
}

/// A session's name and how often it was forked since it got it.
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

/// A message of the context.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shown {
    pub(super) id: String,
    pub(super) role: &'static str,
    pub(super) text: String,
    /// Whether more words stand around the text: it is a summary.
    pub(super) wrapped: bool,
    /// UTF-16 units besides those of the text.
    units: u64,
    /// Tokens that the provider counted, if this is an answer that may be asked for them.
    measured: Option<u64>,
}

/// A session.
#[derive(Clone, Debug, Default)]
pub(super) struct Session {
    pub(super) entries: Vec<Noted>,
}

impl Session {
    pub(super) fn push(&mut self, id: &str, parent: Option<usize>, says: Says) {
        self.entries.push(Noted { id: id.to_owned(), parent, says });
    }

    pub(super) fn leaf(&self) -> Option<usize> {
        self.entries.len().checked_sub(1)
    }

    pub(super) fn parents(&self) -> Vec<Option<usize>> {
        self.entries.iter().map(|entry| entry.parent).collect()
    }

    /// The entries that nothing follows.
    pub(super) fn tips(&self) -> Vec<usize> {
        (0..self.entries.len())
            .filter(|at| self.entries.iter().all(|entry| entry.parent != Some(*at)))
            .collect()
    }

    fn path(&self, leaf: Option<usize>) -> Vec<&Noted> {
        let mut path = Vec::new();
        let mut at = leaf;
        while let Some(position) = at {
            path.insert(0, &self.entries[position]);
            at = self.entries[position].parent;
        }
        path
    }

    /// The path to a leaf as the beginning of another session, and what is added to it there.
    pub(super) fn forked(&self, leaf: usize) -> (Self, Vec<Says>) {
        let mut fork = Self::default();
        for entry in self.path(Some(leaf)) {
            fork.push(&entry.id, fork.leaf(), entry.says.clone());
        }
        let mut added: Vec<Says> = fork.waiting().into_iter().map(Says::Unqueued).collect();
        added.extend(self.last_name().map(|Name(name, times)| Says::Name(Name(name, times + 1))));
        (fork, added)
    }

    /// What the context shows at the end of the path to `leaf`.
    pub(super) fn shown(&self, leaf: Option<usize>) -> Vec<Shown> {
        let path = self.path(leaf);
        let cut = path.iter().rposition(|entry| matches!(entry.says, Says::Compaction { .. }));
        let mut places: Vec<usize> = (0..path.len()).collect();
        if let Some(cut) = cut
            && let Says::Compaction { keeps, .. } = &path[cut].says
        {
            let kept = (0..cut).rev().find(|&at| path[at].id == *keeps).unwrap_or(cut);
            places = std::iter::once(cut).chain(kept..cut).chain(cut + 1..path.len()).collect();
        }
        let older = |at: usize| Some(at) != cut && matches!(path[at].says, Says::Compaction { .. });
        let shown = places.into_iter().filter(|at| !older(*at)).filter_map(|at| shown(path[at]));
        shown.filter_map(|shown| edited(shown, &path)).collect()
    }

    /// How large the context is. `texts` are those of the messages with the words around summaries.
    pub(super) fn tokens(&self, leaf: Option<usize>, texts: &[String]) -> u64 {
        let path = self.path(leaf);
        let resets = |entry: &&Noted| matches!(entry.says, Says::Compaction { .. } | Says::Edit { .. });
        let since = path.iter().rposition(resets).map_or(0, |at| at + 1);
        let newer: Vec<&str> = path[since..].iter().map(|entry| entry.id.as_str()).collect();
        let shown = self.shown(leaf);
        let measured =
            shown.iter().enumerate().rev().find_map(|(at, shown)| {
                Some((at + 1, shown.measured.filter(|_| newer.contains(&&*shown.id))?))
            });
        let (from, known) = measured.unwrap_or((0, 0));
        let units = |(shown, text): (&Shown, &String)| match shown.role {
            "system" => 0,
            _ => (text.encode_utf16().count() as u64 + shown.units).div_ceil(4),
        };
        known + shown.iter().zip(texts).skip(from).map(units).sum::<u64>()
    }

    /// Who answers from here on.
    pub(super) fn model(&self, leaf: Option<usize>) -> Option<String> {
        self.path(leaf).iter().rev().find_map(|entry| match &entry.says {
            Says::Model(model) | Says::Answer { model, .. } => Some(model.clone()),
            _ => None,
        })
    }

    pub(super) fn level(&self, leaf: Option<usize>) -> ThinkingLevel {
        let level = self.path(leaf).iter().rev().find_map(|entry| match entry.says {
            Says::Level(level) => Some(level),
            _ => None,
        });
        level.unwrap_or(ThinkingLevel::Off)
    }

    fn last_name(&self) -> Option<&Name> {
        self.entries.iter().rev().find_map(|entry| match &entry.says {
            Says::Name(name) => Some(name),
            _ => None,
        })
    }

    pub(super) fn name(&self) -> Option<String> {
        self.last_name().map(Name::text)
    }

    /// Labels by the positions of the entries that bear them.
    pub(super) fn labels(&self) -> BTreeMap<usize, String> {
        let mut labels = BTreeMap::new();
        for entry in &self.entries {
            let Says::Label { target, label } = &entry.says else { continue };
            let Some(at) = self.entries.iter().position(|entry| entry.id == *target) else { continue };
            match label {
                Some(label) => drop(labels.insert(at, label.clone())),
                None => drop(labels.remove(&at)),
            }
        }
        labels
    }

    /// Tokens spent on everything, whatever the branch.
    pub(super) fn spent(&self) -> u64 {
        let spent = |entry: &Noted| match entry.says {
            Says::Answer { total, .. } | Says::Spent(total) => total,
            _ => 0,
        };
        self.entries.iter().map(spent).sum()
    }

    /// Queued messages that were neither taken back nor delivered, anywhere in the file.
    pub(super) fn waiting(&self) -> Vec<String> {
        let mut waiting: Vec<String> = Vec::new();
        for entry in &self.entries {
            match &entry.says {
                Says::Queued(id) => waiting.push(id.clone()),
                Says::Unqueued(gone) | Says::User { delivers: Some(gone), .. } => {
                    waiting.retain(|id| id != gone);
                }
                _ => {}
            }
        }
        waiting
    }
}

fn shown(entry: &Noted) -> Option<Shown> {
    let plain = |role, text: &str| Shown {
        id: entry.id.clone(),
        role,
        text: text.to_owned(),
        wrapped: false,
        units: 0,
        measured: None,
    };
    Some(match &entry.says {
        Says::User { text, images, .. } => Shown { units: images * 4_800, ..plain("user", text) },
        Says::Answer { text, calls, end, total, .. } => {
            let failed = matches!(end, StopReason::Error | StopReason::Aborted);
            let measured = Some(*total).filter(|total| !failed && *total > 0);
            // Each call is `look` with `{}`.
            Shown { units: calls.len() as u64 * 6, measured, ..plain("assistant", text) }
        }
        Says::Result { text, .. } => plain("toolResult", text),
        // The command is `ls`.
        Says::Bash { output, .. } => Shown { units: 2, ..plain("bashExecution", output) },
        Says::System(text) => plain("system", text),
        Says::Foreign(text) => plain("user", text),
        Says::Compaction { summary, .. } | Says::Left(summary) => {
            Shown { wrapped: true, ..plain("user", summary) }
        }
        _ => return None,
    })
}

/// What the last edit on the path makes of it.
fn edited(shown: Shown, path: &[&Noted]) -> Option<Shown> {
    let edit = path.iter().rev().find_map(|entry| match &entry.says {
        Says::Edit { target, replacement } if *target == shown.id => Some(replacement),
        _ => None,
    });
    match edit {
        None => Some(shown),
        Some(None) => None,
        Some(Some(text)) => {
            // Pictures go with the content; calls and commands stay.
            let units = if shown.role == "user" { 0 } else { shown.units };
            Some(Shown { text: text.clone(), wrapped: false, units, ..shown })
        }
    }
}
