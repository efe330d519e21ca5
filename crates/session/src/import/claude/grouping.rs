//! Grouping of lines into messages, with each group's parent. Pure.

use std::collections::{HashMap, HashSet};

use super::super::warning::ImportWarnings;
use super::head::{AnswerPart, Boundary, ConversationLine, LineKind};

/// Lines that become one message, or the results in one line.
#[derive(Debug)]
pub(super) struct MessageGroup {
    pub(super) kind: GroupKind,
    /// Indices of its lines, in the order of the conversation.
    pub(super) heads: Vec<usize>,
    /// The parent, an earlier group.
    pub(super) parent: Option<usize>,
    /// The answer: this group itself, or the answer that its results belong to.
    answer: Option<usize>,
    /// For an answer: the last group with its results.
    last_result: Option<usize>,
}

/// The kind of entry that a group becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GroupKind {
    /// A user message.
    Prompt,
    /// A slash command, as a user message.
    Command,
    /// The expansion of a slash command.
    Expansion,
    /// Tool results, and user text with them.
    Results,
    /// An answer.
    Answer {
        /// True if the user stopped it.
        aborted: bool,
    },
    /// A compaction of all earlier messages before the kept group.
    Compaction {
        /// The first kept group.
        first_kept: Option<usize>,
        /// Size of the context before the compaction, in tokens.
        tokens: u64,
    },
    /// A `!` command.
    Bash,
}

pub(super) struct GroupTree {
    /// Groups; a parent comes before its children.
    pub(super) groups: Vec<MessageGroup>,
    /// The group where the conversation would continue.
    pub(super) leaf: Option<usize>,
}

/// Builds the tree from the heads of the lines. `recorded_leaf` is the leaf that the program recorded last, with the
/// number of that line.
pub(super) fn group_lines(
    heads: &[ConversationLine],
    recorded_leaf: Option<(String, u64)>,
    warnings: &mut ImportWarnings,
) -> GroupTree {
    let links = ParentLinks::new(heads, warnings);
    let mut grouper = Grouper::new(heads, &links);
    for at in links.order() {
        grouper.add_line(at, warnings);
    }
    let newest = heads.iter().rposition(|head| head.kind != LineKind::Passing);
    let recorded_leaf = recorded_leaf.and_then(|(uuid, line)| {
        let is_newer = newest.is_none_or(|newest| heads[newest].span.number < line);
        links.resolve(&uuid, heads.len()).filter(|_| is_newer)
    });
    let leaf = recorded_leaf.or(newest).and_then(|at| grouper.parent_groups[at]);
    let leaf = leaf.map(|group| grouper.after_results(group));
    GroupTree { groups: grouper.groups, leaf }
}

/// The parent of each line.
struct ParentLinks {
    parents: Vec<Option<usize>>,
    by_uuid: HashMap<String, Vec<usize>>,
}

impl ParentLinks {
    fn new(heads: &[ConversationLine], warnings: &mut ImportWarnings) -> Self {
        let mut by_uuid: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, head) in heads.iter().enumerate() {
            if let Some(uuid) = &head.uuid {
                by_uuid.entry(uuid.clone()).or_default().push(at);
            }
        }
        let mut links = Self { parents: Vec::with_capacity(heads.len()), by_uuid };
        for (at, head) in heads.iter().enumerate() {
            let parent = links.parent(at, head, warnings);
            links.parents.push(parent);
        }
        links.break_cycles(heads, warnings);
        links
    }

    /// Returns the last line with this uuid before `at`, or else the first one after it.
    fn resolve(&self, uuid: &str, at: usize) -> Option<usize> {
        let indices = self.by_uuid.get(uuid)?;
        let earlier = indices.partition_point(|&index| index < at);
        earlier
            .checked_sub(1)
            .map(|last| indices[last])
            .or_else(|| indices.iter().copied().find(|&index| index != at))
    }

    fn parent(&self, at: usize, head: &ConversationLine, warnings: &mut ImportWarnings) -> Option<usize> {
        let parent_uuid = match (&head.parent, &head.kind) {
            // A boundary has no `parentUuid`; its parent is under another key.
            (None, LineKind::Boundary(boundary)) => boundary.previous_leaf.as_ref(),
            (parent, _) => parent.as_ref(),
        }?;
        let parent_index = self.resolve(parent_uuid, at);
        if parent_index.is_some() {
            return parent_index;
        }
        let line = head.span.number;
        if head.after_gap && at > 0 {
            warnings.add(line, "parents lost with unreadable lines: the line before becomes the parent");
            return Some(at - 1);
        }
        warnings.add(line, "missing parents: a new branch starts");
        None
    }

    /// Breaks cycles of parents by making one line of each a root.
    fn break_cycles(&mut self, heads: &[ConversationLine], warnings: &mut ImportWarnings) {
        // The number of the walk that first visited each line.
        let mut visitor = vec![usize::MAX; self.parents.len()];
        for start in 0..self.parents.len() {
            let mut at = start;
            while visitor[at] == usize::MAX {
                visitor[at] = start;
                let Some(parent) = self.parents[at] else { break };
                if visitor[parent] == start {
                    warnings.add(heads[at].span.number, "circular parents: a new branch starts");
                    self.parents[at] = None;
                    break;
                }
                at = parent;
            }
        }
    }

    /// Returns the lines in file order, except that parents come before their children.
    fn order(&self) -> Vec<usize> {
        let (mut order, mut placed) = (Vec::new(), vec![false; self.parents.len()]);
        for start in 0..self.parents.len() {
            let parent = |&at: &usize| self.parents[at].filter(|&parent| !placed[parent]);
            let chain: Vec<usize> =
                std::iter::successors(Some(start).filter(|&at| !placed[at]), parent).collect();
            for at in chain.into_iter().rev() {
                placed[at] = true;
                order.push(at);
            }
        }
        order
    }
}

struct Grouper<'a> {
    heads: &'a [ConversationLine],
    links: &'a ParentLinks,
    groups: Vec<MessageGroup>,
    /// For each line, the group that becomes the parent of its children.
    parent_groups: Vec<Option<usize>>,
    /// The newest group of each answer.
    answers: HashMap<&'a str, usize>,
    /// The newest answer with each call.
    calls: HashMap<&'a str, usize>,
    /// Results seen so far: answer and call.
    results_seen: HashSet<(usize, &'a str)>,
    /// Lines with local slash commands, which send no request to a model.
    local: HashSet<usize>,
    /// The last line that each compaction keeps, with the boundary's line number and the compaction's group.
    kept_ends: HashMap<usize, (u64, usize)>,
}

impl<'a> Grouper<'a> {
    fn new(heads: &'a [ConversationLine], links: &'a ParentLinks) -> Self {
        let outputs = heads.iter().enumerate().filter(|(_, head)| head.kind == LineKind::LocalOutput);
        Self {
            heads,
            links,
            groups: Vec::new(),
            parent_groups: vec![None; heads.len()],
            answers: HashMap::new(),
            calls: HashMap::new(),
            results_seen: HashSet::new(),
            local: outputs.filter_map(|(at, _)| links.parents[at]).collect(),
            kept_ends: HashMap::new(),
        }
    }

    fn add_line(&mut self, at: usize, warnings: &mut ImportWarnings) {
        let heads = self.heads;
        let head = &heads[at];
        let parent = self.group_above(at);
        self.parent_groups[at] = match &head.kind {
            LineKind::Passing => parent,
            LineKind::Interrupted => {
                self.interrupt(parent);
                parent
            }
            LineKind::Prompt => self.group(GroupKind::Prompt, at, parent),
            LineKind::Results(calls) => self.results(at, parent, calls),
            LineKind::Answer(part) => self.answer(at, parent, part),
            LineKind::Boundary(boundary) => self.boundary(at, parent, boundary),
            LineKind::Summary => self.summary(at, parent),
            LineKind::Command if !self.local.contains(&at) => self.group(GroupKind::Command, at, parent),
            LineKind::Injected if self.is_expansion(at) => self.group(GroupKind::Expansion, at, parent),
            LineKind::Injected => {
                warnings.add(head.span.number, "skipped injected text");
                parent
            }
            LineKind::BashInput => self.group(GroupKind::Bash, at, parent),
            LineKind::BashOutput if self.add_bash_output(at, parent) => parent,
            LineKind::Command | LineKind::LocalOutput | LineKind::BashOutput => {
                warnings.add(head.span.number, "skipped local commands");
                parent
            }
        };
    }

    /// Returns the parent group of a line.
    fn group_above(&self, at: usize) -> Option<usize> {
        let parent = self.links.parents[at]?;
        match self.kept_ends.get(&parent) {
            // In the file, a line after a compaction has the last kept line as its parent.
            Some((line, compaction)) if self.heads[at].span.number > *line => Some(*compaction),
            Some(_) | None => self.parent_groups[parent],
        }
    }

    fn group(&mut self, kind: GroupKind, at: usize, parent: Option<usize>) -> Option<usize> {
        let parent = parent.map(|parent| self.after_results(parent));
        Some(self.push(kind, at, parent))
    }

    fn push(&mut self, kind: GroupKind, at: usize, parent: Option<usize>) -> usize {
        let group = self.groups.len();
        let answer = match kind {
            GroupKind::Answer { .. } => Some(group),
            GroupKind::Results => parent.and_then(|parent| self.groups[parent].answer),
            _ => None,
        };
        self.groups.push(MessageGroup { kind, heads: vec![at], parent, answer, last_result: None });
        group
    }

    /// Returns the last result group of the answer if `group` is one of its results, else `group`.
    fn after_results(&self, group: usize) -> usize {
        let answer = match self.groups[group].kind {
            GroupKind::Results => self.groups[group].answer,
            _ => None,
        };
        answer.and_then(|answer| self.groups[answer].last_result).unwrap_or(group)
    }

    /// Returns the answer that a line follows, directly or after its results.
    fn answer_of(&self, parent: Option<usize>) -> Option<usize> {
        parent.and_then(|parent| self.groups[parent].answer)
    }

    fn answer(&mut self, at: usize, parent: Option<usize>, part: &'a AnswerPart) -> Option<usize> {
        let previous = self.answers.get(part.answer.as_str()).copied();
        let group = match previous.filter(|&previous| self.answer_of(parent) == Some(previous)) {
            Some(group) => {
                self.groups[group].heads.push(at);
                group
            }
            None => self.group(GroupKind::Answer { aborted: false }, at, parent)?,
        };
        self.answers.insert(&part.answer, group);
        for (call, _) in &part.calls {
            self.calls.insert(call, group);
        }
        Some(group)
    }

    /// Adds results. They form a chain, regardless of which line of the answer is their parent.
    fn results(&mut self, at: usize, parent: Option<usize>, calls: &'a [String]) -> Option<usize> {
        let answer = calls.iter().find_map(|call| self.calls.get(call.as_str())).copied();
        let answer = answer.filter(|&answer| self.answer_of(parent) == Some(answer));
        let Some(answer) = answer else { return self.group(GroupKind::Results, at, parent) };
        // A second result of the same call starts a branch.
        let is_first = calls.iter().all(|call| self.results_seen.insert((answer, call)));
        let parent = if is_first { self.groups[answer].last_result.unwrap_or(answer) } else { answer };
        let group = self.push(GroupKind::Results, at, Some(parent));
        if is_first {
            self.groups[answer].last_result = Some(group);
        }
        Some(group)
    }

    fn boundary(&mut self, at: usize, parent: Option<usize>, boundary: &Boundary) -> Option<usize> {
        // Without a recorded parent it is the previous group.
        let parent = parent.or_else(|| self.groups.len().checked_sub(1));
        let kept_groups = boundary.kept_range.as_ref().and_then(|(first, last)| {
            let first = self.links.resolve(first, at).and_then(|first| self.parent_groups[first]);
            first.zip(self.links.resolve(last, at))
        });
        let kind = GroupKind::Compaction {
            first_kept: kept_groups.map(|(first, _)| first),
            tokens: boundary.tokens,
        };
        let group = self.group(kind, at, parent)?;
        if let Some((_, last)) = kept_groups {
            self.kept_ends.insert(last, (self.heads[at].span.number, group));
        }
        Some(group)
    }

    fn summary(&mut self, at: usize, parent: Option<usize>) -> Option<usize> {
        if let Some(group) = parent
            && matches!(self.groups[group].kind, GroupKind::Compaction { .. })
            && self.groups[group].heads.len() == 1
        {
            self.groups[group].heads.push(at);
            return Some(group);
        }
        // Older versions have no boundary: the summary is a root.
        let parent = parent.or_else(|| self.groups.len().checked_sub(1));
        self.group(GroupKind::Compaction { first_kept: None, tokens: 0 }, at, parent)
    }

    fn is_expansion(&self, at: usize) -> bool {
        self.links.parents[at].is_some_and(|parent| {
            self.heads[parent].kind == LineKind::Command && !self.local.contains(&parent)
        })
    }

    fn add_bash_output(&mut self, at: usize, parent: Option<usize>) -> bool {
        let Some(group) = parent.filter(|&group| self.groups[group].kind == GroupKind::Bash) else {
            return false;
        };
        let is_output = self.groups[group].heads.len() == 1;
        if is_output {
            self.groups[group].heads.push(at);
        }
        is_output
    }

    /// Marks an answer without a stop reason as aborted.
    fn interrupt(&mut self, parent: Option<usize>) {
        let Some(group) = parent else { return };
        let has_ended = self.groups[group].heads.iter().any(|&at| match &self.heads[at].kind {
            LineKind::Answer(part) => part.has_stop_reason,
            _ => false,
        });
        if let GroupKind::Answer { aborted } = &mut self.groups[group].kind {
            *aborted = !has_ended;
        }
    }
}
