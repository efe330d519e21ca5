//! Puts lines together to units: what becomes one message, and which unit each follows. Pure.

use std::collections::{HashMap, HashSet};

use super::super::warning::ImportWarnings;
use super::head::{Boundary, Head, Kind, Part};

/// What becomes one message, or the results of one line.
#[derive(Debug)]
pub(super) struct Unit {
    pub(super) kind: UnitKind,
    /// Positions of its lines, in the order of the conversation.
    pub(super) heads: Vec<usize>,
    /// The unit it follows, which stands before it.
    pub(super) parent: Option<usize>,
    /// The answer that it is or whose results it is among.
    answer: Option<usize>,
    /// With an answer: the last unit with its results.
    tail: Option<usize>,
}

/// What a unit becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum UnitKind {
    /// A user message.
    Prompt,
    /// A user message that a slash command stands for.
    Command,
    /// The text that a slash command was expanded to.
    Expansion,
    /// Results, and what the user said with them.
    Results,
    /// An answer.
    Answer {
        /// Whether the user stopped it.
        aborted: bool,
    },
    /// A summary for what came before, except what follows the unit that is named.
    Compaction {
        /// The first unit that stays.
        kept: Option<usize>,
        /// Size of the context before.
        tokens: u64,
    },
    /// A `!` command.
    Bash,
}

/// The tree.
pub(super) struct Grown {
    /// A parent stands before its children.
    pub(super) units: Vec<Unit>,
    /// Where the conversation would go on.
    pub(super) leaf: Option<usize>,
}

/// Grows the tree from the lines' heads. `noted` is the leaf that the program noted last, with the number of that line.
pub(super) fn grow(heads: &[Head], noted: Option<(String, u64)>, notes: &mut ImportWarnings) -> Grown {
    let links = Links::find(heads, notes);
    let mut grower = Grower::new(heads, &links);
    for at in links.order() {
        grower.take(at, notes);
    }
    let newest = heads.iter().rposition(|head| head.kind != Kind::Passing);
    let noted = noted.and_then(|(uuid, line)| {
        let is_newer = newest.is_none_or(|newest| heads[newest].span.number < line);
        links.named(&uuid, heads.len()).filter(|_| is_newer)
    });
    let leaf = noted.or(newest).and_then(|at| grower.anchors[at]);
    let leaf = leaf.map(|unit| grower.after_results(unit));
    Grown { units: grower.units, leaf }
}

/// Which line follows which.
struct Links {
    parents: Vec<Option<usize>>,
    by_uuid: HashMap<String, Vec<usize>>,
}

impl Links {
    fn find(heads: &[Head], notes: &mut ImportWarnings) -> Self {
        let mut by_uuid: HashMap<String, Vec<usize>> = HashMap::new();
        for (at, head) in heads.iter().enumerate() {
            if let Some(uuid) = &head.uuid {
                by_uuid.entry(uuid.clone()).or_default().push(at);
            }
        }
        let mut links = Self { parents: Vec::with_capacity(heads.len()), by_uuid };
        for (at, head) in heads.iter().enumerate() {
            let parent = links.parent(at, head, notes);
            links.parents.push(parent);
        }
        links.break_cycles(heads, notes);
        links
    }

    /// The line of that name before `at`, else the first one after it.
    fn named(&self, uuid: &str, at: usize) -> Option<usize> {
        let places = self.by_uuid.get(uuid)?;
        let before = places.partition_point(|&place| place < at);
        before
            .checked_sub(1)
            .map(|last| places[last])
            .or_else(|| places.iter().copied().find(|&place| place != at))
    }

    fn parent(&self, at: usize, head: &Head, notes: &mut ImportWarnings) -> Option<usize> {
        let named = match (&head.parent, &head.kind) {
            // A boundary has no parent, and says elsewhere what it follows.
            (None, Kind::Boundary(boundary)) => boundary.before.as_ref(),
            (parent, _) => parent.as_ref(),
        }?;
        let found = self.named(named, at);
        if found.is_some() {
            return found;
        }
        let line = head.span.number;
        if head.after_gap && at > 0 {
            notes.add(line, "parents lost with unreadable lines: the line before is followed instead");
            return Some(at - 1);
        }
        notes.add(line, "parents that are missing: a branch of its own begins");
        None
    }

    /// Makes a root of a line in every circle of parents.
    fn break_cycles(&mut self, heads: &[Head], notes: &mut ImportWarnings) {
        // The walk that first came by each line.
        let mut walked = vec![usize::MAX; self.parents.len()];
        for start in 0..self.parents.len() {
            let mut at = start;
            while walked[at] == usize::MAX {
                walked[at] = start;
                let Some(parent) = self.parents[at] else { break };
                if walked[parent] == start {
                    notes.add(heads[at].span.number, "parents in a circle: a branch of its own begins");
                    self.parents[at] = None;
                    break;
                }
                at = parent;
            }
        }
    }

    /// The lines in their order in the file, but none before its parent.
    fn order(&self) -> Vec<usize> {
        let (mut order, mut placed) = (Vec::new(), vec![false; self.parents.len()]);
        for start in 0..self.parents.len() {
            let above = |&at: &usize| self.parents[at].filter(|&parent| !placed[parent]);
            let chain: Vec<usize> =
                std::iter::successors(Some(start).filter(|&at| !placed[at]), above).collect();
            for at in chain.into_iter().rev() {
                placed[at] = true;
                order.push(at);
            }
        }
        order
    }
}

struct Grower<'a> {
    heads: &'a [Head],
    links: &'a Links,
    units: Vec<Unit>,
    /// The unit that a line's children hang on, by line.
    anchors: Vec<Option<usize>>,
    /// The newest unit of each answer.
    answers: HashMap<&'a str, usize>,
    /// The newest answer with each call.
    calls: HashMap<&'a str, usize>,
    /// Results that stand already: answer and call.
    answered: HashSet<(usize, &'a str)>,
    /// Slash commands that no model was asked for, by line.
    local: HashSet<usize>,
    /// Last lines that a compaction kept, with the compaction that later lines follow.
    kept_ends: HashMap<usize, (u64, usize)>,
}

impl<'a> Grower<'a> {
    fn new(heads: &'a [Head], links: &'a Links) -> Self {
        let outputs = heads.iter().enumerate().filter(|(_, head)| head.kind == Kind::LocalOutput);
        Self {
            heads,
            links,
            units: Vec::new(),
            anchors: vec![None; heads.len()],
            answers: HashMap::new(),
            calls: HashMap::new(),
            answered: HashSet::new(),
            local: outputs.filter_map(|(at, _)| links.parents[at]).collect(),
            kept_ends: HashMap::new(),
        }
    }

    fn take(&mut self, at: usize, notes: &mut ImportWarnings) {
        let heads = self.heads;
        let head = &heads[at];
        let above = self.above(at);
        self.anchors[at] = match &head.kind {
            Kind::Passing => above,
            Kind::Interrupted => {
                self.interrupt(above);
                above
            }
            Kind::Prompt => self.unit(UnitKind::Prompt, at, above),
            Kind::Results(calls) => self.results(at, above, calls),
            Kind::Answer(part) => self.answer(at, above, part),
            Kind::Boundary(boundary) => self.boundary(at, above, boundary),
            Kind::Summary => self.summary(at, above),
            Kind::Command if !self.local.contains(&at) => self.unit(UnitKind::Command, at, above),
            Kind::Injected if self.is_expansion(at) => self.unit(UnitKind::Expansion, at, above),
            Kind::Injected => {
                notes.add(head.span.number, "injected texts left out");
                above
            }
            Kind::BashInput => self.unit(UnitKind::Bash, at, above),
            Kind::BashOutput if self.joins_bash(at, above) => above,
            Kind::Command | Kind::LocalOutput | Kind::BashOutput => {
                notes.add(head.span.number, "local commands left out");
                above
            }
        };
    }

    /// The unit that a line hangs on.
    fn above(&self, at: usize) -> Option<usize> {
        let parent = self.links.parents[at]?;
        match self.kept_ends.get(&parent) {
            // What is said after a compaction hangs on the last line it kept, as the program sees it.
            Some((line, compaction)) if self.heads[at].span.number > *line => Some(*compaction),
            Some(_) | None => self.anchors[parent],
        }
    }

    fn unit(&mut self, kind: UnitKind, at: usize, above: Option<usize>) -> Option<usize> {
        let parent = above.map(|above| self.after_results(above));
        Some(self.push(kind, at, parent))
    }

    fn push(&mut self, kind: UnitKind, at: usize, parent: Option<usize>) -> usize {
        let unit = self.units.len();
        let answer = match kind {
            UnitKind::Answer { .. } => Some(unit),
            UnitKind::Results => parent.and_then(|parent| self.units[parent].answer),
            _ => None,
        };
        self.units.push(Unit { kind, heads: vec![at], parent, answer, tail: None });
        unit
    }

    /// The last result of an answer when `unit` is one of them; else the unit itself.
    fn after_results(&self, unit: usize) -> usize {
        let answer = match self.units[unit].kind {
            UnitKind::Results => self.units[unit].answer,
            _ => None,
        };
        answer.and_then(|answer| self.units[answer].tail).unwrap_or(unit)
    }

    /// The answer that a line follows, directly or behind its results.
    fn answer_of(&self, above: Option<usize>) -> Option<usize> {
        above.and_then(|above| self.units[above].answer)
    }

    fn answer(&mut self, at: usize, above: Option<usize>, part: &'a Part) -> Option<usize> {
        let before = self.answers.get(part.answer.as_str()).copied();
        let unit = match before.filter(|&before| self.answer_of(above) == Some(before)) {
            Some(unit) => {
                self.units[unit].heads.push(at);
                unit
            }
            None => self.unit(UnitKind::Answer { aborted: false }, at, above)?,
        };
        self.answers.insert(&part.answer, unit);
        for (call, _) in &part.calls {
            self.calls.insert(call, unit);
        }
        Some(unit)
    }

    /// Results stand one behind the other, whichever line of the answer each hangs on.
    fn results(&mut self, at: usize, above: Option<usize>, calls: &'a [String]) -> Option<usize> {
        let answer = calls.iter().find_map(|call| self.calls.get(call.as_str())).copied();
        let answer = answer.filter(|&answer| self.answer_of(above) == Some(answer));
        let Some(answer) = answer else { return self.unit(UnitKind::Results, at, above) };
        // A second result of the same call is another branch.
        let is_first = calls.iter().all(|call| self.answered.insert((answer, call)));
        let parent = if is_first { self.units[answer].tail.unwrap_or(answer) } else { answer };
        let unit = self.push(UnitKind::Results, at, Some(parent));
        if is_first {
            self.units[answer].tail = Some(unit);
        }
        Some(unit)
    }

    fn boundary(&mut self, at: usize, above: Option<usize>, boundary: &Boundary) -> Option<usize> {
        // Without a word on what came before it is what stands before.
        let above = above.or_else(|| self.units.len().checked_sub(1));
        let kept = boundary.kept.as_ref().and_then(|(first, last)| {
            let first = self.links.named(first, at).and_then(|first| self.anchors[first]);
            first.zip(self.links.named(last, at))
        });
        let kind = UnitKind::Compaction { kept: kept.map(|(first, _)| first), tokens: boundary.tokens };
        let unit = self.unit(kind, at, above)?;
        if let Some((_, last)) = kept {
            self.kept_ends.insert(last, (self.heads[at].span.number, unit));
        }
        Some(unit)
    }

    fn summary(&mut self, at: usize, above: Option<usize>) -> Option<usize> {
        if let Some(unit) = above
            && matches!(self.units[unit].kind, UnitKind::Compaction { .. })
            && self.units[unit].heads.len() == 1
        {
            self.units[unit].heads.push(at);
            return Some(unit);
        }
        // Older versions have no boundary: the summary is a root.
        let above = above.or_else(|| self.units.len().checked_sub(1));
        self.unit(UnitKind::Compaction { kept: None, tokens: 0 }, at, above)
    }

    fn is_expansion(&self, at: usize) -> bool {
        self.links.parents[at]
            .is_some_and(|parent| self.heads[parent].kind == Kind::Command && !self.local.contains(&parent))
    }

    fn joins_bash(&mut self, at: usize, above: Option<usize>) -> bool {
        let Some(unit) = above.filter(|&unit| self.units[unit].kind == UnitKind::Bash) else { return false };
        let joins = self.units[unit].heads.len() == 1;
        if joins {
            self.units[unit].heads.push(at);
        }
        joins
    }

    /// An answer that doesn't say why it ended was cut off.
    fn interrupt(&mut self, above: Option<usize>) {
        let Some(unit) = above else { return };
        let ended = self.units[unit].heads.iter().any(|&at| match &self.heads[at].kind {
            Kind::Answer(part) => part.ended,
            _ => false,
        });
        if let UnitKind::Answer { aborted } = &mut self.units[unit].kind {
            *aborted = !ended;
        }
    }
}
