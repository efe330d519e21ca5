//! The transcript: blocks of the log, blocks that are still growing, and the stretch of them that is on the screen.
//!
//! The path is kept in [`part`]s. What is above or below the screen is neither measured nor, in a long session, even in memory:
//! laying out ([`rows`]) begins at the bottom or at the line on top and goes on until the screen is full; what lies far away is
//! forgotten and read again. [`go`] leads to places that may have to be read first; [`select`] holds what the mouse marks.

mod banner;
mod chunk;
mod jump;
mod reload;
mod selection;
#[cfg(test)]
mod tests;
mod viewport;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tiller_core::id::{CallId, EntryId};
use tiller_core::message::{ToolResultMessage, joined_text};
use tiller_core::unit::UnixMs;
use tiller_session::{BranchPoints, Entry, Section};

use super::block::{Block, BlockKind, Fold, NoticeLevel};
use super::layout::{Folds, RenderContext};
use super::log_blocks::{BlockBuilder, cut_off, finish_call};
use super::logical_line::LogicalLine;
use super::recovery::{Recovery, find_recovery};
use super::search_term::SearchTerm;
use super::tool_call::CallState;

pub(super) use chunk::BlockPos;
pub(super) use chunk::ENTRIES;
use chunk::{Chunk, ChunkContent};
pub(super) use jump::{Direction, JumpTarget};
pub(super) use reload::ScrollAnchor;
pub(super) use selection::{CopiedText, Granularity, TextPos, amount};
pub(super) use viewport::ShownRows;
use viewport::Viewport;

/// Ids of the newest entries that are remembered.
const RECENT: usize = 500;

/// Everything that was said, from the beginning of the path to its end.
#[derive(Debug)]
pub(super) struct Transcript {
    /// Never empty; what is new goes into the last one.
    parts: Vec<Chunk>,
    /// Blocks of the answer that is arriving; they are thrown away when it is in the log. Their numbers follow those of the last part.
    pub(super) live: Vec<Block>,
    /// Calls without a result.
    calls: HashMap<CallId, BlockPos>,
    view: Viewport,
    /// What is folded where nothing else was said of a block.
    pub(super) folds: Folds,
    /// Told apart from the transcripts before it, so that what was read for those is dropped.
    epoch: u64,
    /// Blocks that were added at the end, those among them that were taken away since.
    added: usize,
    /// Blocks that were taken away from the end.
    removed: usize,
    /// A prompt at the end that nobody answered.
    unanswered: Option<EntryId>,
    /// Ids of the newest entries, oldest first.
    recent: VecDeque<EntryId>,
    points: Arc<BranchPoints>,
}

/// A path whose newest entries are read.
#[derive(Debug, Default)]
pub(super) struct NewestMarker {
    /// What stands before them.
    pub(super) older: Vec<Section>,
    /// Where they are; `None` when there are none.
    pub(super) section: Option<Section>,
    /// Those of them that could be read.
    pub(super) ids: Vec<EntryId>,
    /// What they amount to.
    pub(super) stretch: BlockBuilder,
    /// Where other branches go on from the path.
    pub(super) points: Arc<BranchPoints>,
}

#[cfg(test)]
impl NewestMarker {
    /// Entries of a path, and the ids of those before them.
    pub(super) fn of(older: &[EntryId], entries: Vec<Entry>) -> Self {
        let section = |last: &EntryId, count| Section { last: last.clone(), count };
        Self {
            older: older.chunks(ENTRIES).map(|ids| section(&ids[ids.len() - 1], ids.len())).collect(),
            section: entries.last().map(|last| section(&last.id, entries.len())),
            ids: entries.iter().map(|entry| entry.id.clone()).collect(),
            stretch: BlockBuilder::of(&entries),
            points: Arc::default(),
        }
    }
}

/// Part of the path to be read.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ScrollRequest {
    epoch: u64,
    part: usize,
    /// The entries.
    pub(super) section: Section,
    /// Those after them, in which results of their calls may stand.
    pub(super) ahead: Option<Section>,
}

impl ScrollRequest {
    /// The number of the part.
    pub(super) fn part(&self) -> usize {
        self.part
    }
}

/// A stretch of the path, to be looked through.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct UnseenBelow {
    pub(super) part: usize,
    pub(super) section: Section,
}

/// What a place is followed or preceded by.
enum FoldStep {
    To(BlockPos),
    /// A part that isn't in memory.
    Unread(usize),
    /// Nothing.
    End,
}

impl Default for Transcript {
    fn default() -> Self {
        Self::of(0, NewestMarker::default())
    }
}

impl Transcript {
    /// The transcript of a path.
    pub(super) fn of(epoch: u64, newest: NewestMarker) -> Self {
        let NewestMarker { older, section, ids, stretch, points } = newest;
        let mut parts: Vec<Chunk> = older.into_iter().map(Chunk::unread).collect();
        parts.push(Chunk::read(section));
        let mut transcript = Self {
            parts,
            live: Vec::new(),
            calls: HashMap::new(),
            view: Viewport::default(),
            folds: Folds::default(),
            epoch,
            added: 0,
            removed: 0,
            unanswered: stretch.unanswered(),
            recent: ids.into(),
            points,
        };
        stretch.blocks.into_iter().for_each(|block| transcript.push(block));
        transcript
    }

    /// The one that takes the place of this: the same session read anew, or another one. Answers with what this one leaves to it.
    pub(super) fn replace(&mut self, newest: NewestMarker) -> ScrollAnchor {
        let (folds, next, former) = (self.folds, self.view.next, self.leave());
        *self = Self { folds, ..Self::of(self.epoch + 1, newest) };
        // It may be one of several that were asked for at once.
        self.view.next = next;
        former
    }

    /// Takes a part that was read.
    pub(super) fn take(&mut self, wanted: &ScrollRequest, entries: &[Entry], ahead: &[Entry]) {
        let Some(part) = self.parts.get_mut(wanted.part).filter(|_| wanted.epoch == self.epoch) else {
            return;
        };
        if matches!(part.content, ChunkContent::Asked) {
            let mut stretch = BlockBuilder::branching(entries, &self.points);
            stretch.take_results(ahead);
            cut_off(stretch.blocks.iter_mut());
            part.fill(stretch.blocks);
            self.reach_goal();
        }
    }

    /// Parts near the screen, or on the way to where somebody goes, that are to be read now.
    pub(super) fn take_wanted(&mut self) -> Vec<ScrollRequest> {
        let mut wanted = Vec::new();
        for part in self.near().into_iter().flatten() {
            let ahead = self.parts.get(part + 1).and_then(Chunk::section).cloned();
            if let Some(section) = self.parts[part].ask() {
                wanted.push(ScrollRequest { epoch: self.epoch, part, section, ahead });
            }
        }
        wanted
    }

    /// A part was asked for and won't come: it is asked for again.
    pub(super) fn unask(&mut self, part: usize) {
        if let Some(part) = self.parts.get_mut(part)
            && matches!(part.content, ChunkContent::Asked)
        {
            part.content = ChunkContent::Unread;
        }
    }

    /// The path but for its last part, newest first; the last part is always in memory.
    pub(super) fn unseen(&self) -> Vec<UnseenBelow> {
        let parts = self.parts[..self.last()].iter().enumerate().rev();
        parts.filter_map(|(part, it)| Some(UnseenBelow { part, section: it.section()?.clone() })).collect()
    }

    /// The number of the last part.
    pub(super) fn newest_part(&self) -> usize {
        self.last()
    }

    /// Blocks that were added at the end so far, those that are gone among them: another number whenever there is another one.
    pub(super) fn added(&self) -> usize {
        self.added
    }

    /// How much there is of the answer that is arriving: another number when it has grown, or is gone.
    pub(super) fn arrived(&self) -> usize {
        let size = |block: &Block| match &block.kind {
            BlockKind::Growing(stream) => stream.text().len(),
            BlockKind::Thinking(text) => text.len(),
            BlockKind::Musing(musing) => musing.text().len(),
            // A call can be searched once it is complete.
            BlockKind::Call(call) => 1 + usize::from(!call.args.is_null()),
            _ => 1,
        };
        self.live.iter().map(size).sum()
    }

    /// The parts in memory from one on, with their blocks that the log makes, or will make of the answer that is arriving.
    pub(super) fn tail(&self, from: usize) -> impl Iterator<Item = (usize, impl Iterator<Item = &Block>)> {
        let parts = self.parts.iter().enumerate().skip(from);
        parts.filter_map(|(part, it)| {
            it.blocks()?;
            Some((part, self.known(part).map(|(_, block)| block)))
        })
    }

    /// The blocks that the log will make of the answer that is arriving, and the place of the first: its part, and its number there.
    pub(super) fn arriving(&self) -> ((usize, usize), impl Iterator<Item = &Block>) {
        let blocks = self.parts.last().and_then(Chunk::blocks).unwrap_or_default();
        let logged = blocks.iter().filter(|block| block.entry.is_some()).count();
        ((self.last(), logged), self.live.iter().filter(|block| !block.is_blank()))
    }

    /// The blocks of a part that the log makes, or will make, each with its number among all.
    fn known(&self, part: usize) -> impl Iterator<Item = (usize, &Block)> {
        let blocks = self.parts.get(part).and_then(Chunk::blocks).unwrap_or_default();
        let live = if part == self.last() { self.live.as_slice() } else { &[] };
        let logged = blocks.iter().enumerate().filter(|(_, block)| block.entry.is_some());
        let live = (blocks.len()..).zip(live).filter(|(_, block)| !block.is_blank());
        logged.chain(live)
    }

    /// Whether a part is in memory.
    pub(super) fn is_read(&self, part: usize) -> bool {
        self.count(part).is_some()
    }

    /// The place of the block that is this one of the log's in its part.
    pub(super) fn logged(&self, (part, index): (usize, usize)) -> Option<BlockPos> {
        let (block, _) = self.known(part).nth(index)?;
        Some(BlockPos { part, block })
    }

    /// Where on the lines of a block words are: line and column.
    pub(super) fn places_of(
        &mut self,
        at: BlockPos,
        words: &SearchTerm,
        ctx: &RenderContext,
    ) -> Vec<(usize, usize)> {
        let (count, mut places, mut line) = (self.height(at, ctx), Vec::new(), 0);
        let Some(block) = self.block(at) else { return places };
        while line < count {
            let passage = LogicalLine::around(block, line);
            let found = words
                .find(&passage.text)
                .into_iter()
                .filter_map(|found| passage.places(&found).into_iter().next());
            places.extend(found.map(|(line, columns)| (line, columns.start)));
            line = passage.lines.end.max(line + 1);
        }
        places
    }

    /// Folds a block as all others of its kind.
    pub(super) fn shut(&mut self, at: BlockPos) {
        self.mark_place();
        if let Some(block) = self.block_mut(at) {
            block.fold = Fold::AsAll;
        }
        self.refolded();
    }

    /// Takes an entry that was just appended.
    pub(super) fn append(&mut self, entry: &Entry, at: UnixMs) {
        let stretch = BlockBuilder::of([entry]);
        self.unanswered = None;
        if stretch.answers() {
            self.end_live();
        } else if stretch.asks() {
            self.begin_part();
        }
        let last = self.last();
        self.parts[last].lengthen(&entry.id);
        self.remember(&entry.id);
        if !stretch.blocks.is_empty() {
            self.grew();
        }
        if let Some(sent) = stretch.succeeded() {
            self.recover(sent);
        }
        for result in stretch.results() {
            let text = joined_text(&result.content);
            self.remove_last(|block| block.is_warning_in(&text));
            self.finish(result, at);
        }
        for block in stretch.blocks {
            if !self.newest_logged().is_some_and(|last| last.absorb(&block)) {
                self.push(block);
            }
        }
    }

    fn remember(&mut self, id: &EntryId) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(id.clone());
    }

    /// The newest block of the log in the last part, which takes in what says the same again. One of an earlier part doesn't: read
    /// again they are the same.
    fn newest_logged(&mut self) -> Option<&mut Block> {
        let blocks = self.parts.last_mut().and_then(Chunk::blocks_mut)?;
        blocks.iter_mut().rev().find(|block| block.entry.is_some())
    }

    /// Begins another part when the last one is long enough, so that it can be forgotten. While an answer arrives its blocks have
    /// their numbers already.
    pub(super) fn begin_part(&mut self) {
        let is_full = self.parts.last().is_some_and(|part| part.count() >= ENTRIES);
        if is_full && self.live.is_empty() {
            self.parts.push(Chunk::read(None));
        }
    }

    /// Adds a block at the end.
    pub(super) fn push(&mut self, block: Block) {
        let at =
            BlockPos { part: self.last(), block: self.count(self.last()).unwrap_or(0) - self.live.len() };
        if let BlockKind::Call(call) = &block.kind
            && call.is_open()
        {
            self.calls.insert(call.id.clone(), at);
        }
        self.added += 1;
        if !self.live.is_empty() {
            self.make_room(at);
        }
        if let Some(blocks) = self.parts.last_mut().and_then(Chunk::blocks_mut) {
            blocks.push(block);
        }
    }

    /// Changes the block of a call that has no result yet.
    pub(super) fn with_call(&mut self, id: &CallId, change: impl FnOnce(&mut CallState)) {
        let Some(at) = self.calls.get(id).copied() else { return };
        if let Some(block) = self.block_mut(at)
            && let BlockKind::Call(call) = &mut block.kind
        {
            change(&mut call.state);
            block.touch();
        }
    }

    fn finish(&mut self, result: &ToolResultMessage, at: UnixMs) {
        if let Some(place) = self.calls.remove(&result.tool_call_id)
            && let Some(block) = self.block_mut(place)
        {
            finish_call(block, result, Some(at));
        }
    }

    /// Nothing runs any more: calls without a result won't get one.
    pub(super) fn settle(&mut self) {
        let first = self.calls.values().min().copied();
        self.calls.clear();
        if let Some(first) = first {
            let parts = self.parts[first.part..].iter_mut().filter_map(Chunk::blocks_mut);
            cut_off(parts.flatten());
        }
    }

    /// The newest block that `wanted` accepts, among those of the log.
    pub(super) fn find_last(&mut self, wanted: impl Fn(&Block) -> bool) -> Option<&mut Block> {
        let parts = self.parts.iter_mut().rev().map_while(Chunk::blocks_mut);
        parts.flat_map(|blocks| blocks.iter_mut().rev()).take(200).find(|block| wanted(block))
    }

    /// Whether something of the log stands behind the newest block that `wanted` accepts.
    pub(super) fn is_overtaken(&self, wanted: impl Fn(&Block) -> bool) -> bool {
        self.newest().take_while(|block| !wanted(block)).any(|block| block.entry.is_some())
    }

    /// An answer follows: the requests before it that failed are one line now. Those of an earlier part stay: read again they are the
    /// same.
    fn recover(&mut self, sent: UnixMs) {
        let part = self.last();
        let Some(blocks) = self.parts.last_mut().and_then(Chunk::blocks_mut) else { return };
        let Some(Recovery { at, block, gone }) = find_recovery(blocks, sent) else { return };
        blocks[at] = block;
        gone.iter().for_each(|gone| _ = blocks.remove(*gone));
        self.calls.retain(|_, call| call.part != part || call.block != at && !gone.contains(&call.block));
        for gone in gone {
            let moved = self.calls.values_mut().filter(|call| call.part == part && call.block > gone);
            moved.for_each(|call| call.block -= 1);
            self.removed += 1;
            self.close_gap(BlockPos { part, block: gone });
        }
    }

    /// Removes the newest block if `wanted` accepts it.
    pub(super) fn remove_last(&mut self, wanted: impl Fn(&Block) -> bool) {
        if let Some(blocks) = self.parts.last_mut().and_then(Chunk::blocks_mut)
            && blocks.last().is_some_and(wanted)
        {
            blocks.pop();
            let block = blocks.len();
            self.removed += 1;
            self.close_gap(BlockPos { part: self.last(), block });
        }
    }

    /// Whether an entry is shown already, among the newest. Several may be one block.
    pub(super) fn shows(&self, id: &EntryId) -> bool {
        self.recent.contains(id) || self.newest().take(RECENT).any(|block| block.entry.as_ref() == Some(id))
    }

    /// Whether nothing was said, as far as it is read.
    pub(super) fn is_empty(&self) -> bool {
        self.newest().all(Block::is_bare_point)
    }

    /// Whether all of it is read.
    pub(super) fn is_whole(&self) -> bool {
        self.parts.len() == 1
    }

    /// The prompt at the end that was sent and never answered.
    pub(super) fn unanswered(&self) -> Option<&EntryId> {
        self.unanswered.as_ref()
    }

    /// Blocks of the log that are in memory without a hole, newest first.
    fn newest(&self) -> impl Iterator<Item = &Block> {
        self.parts.iter().rev().map_while(Chunk::blocks).flat_map(|blocks| blocks.iter().rev())
    }

    /// The answer of this number from the end, 1 for the newest, in Markdown, if it is read.
    pub(super) fn answer(&self, from_end: usize) -> Option<&str> {
        self.all_answers().nth(from_end.checked_sub(1)?)
    }

    /// Whether all of it is in memory.
    pub(super) fn is_read_whole(&self) -> bool {
        self.parts.iter().all(|part| part.blocks().is_some())
    }

    /// How many answers are read.
    pub(super) fn answers(&self) -> usize {
        self.all_answers().count()
    }

    /// The answers that are read, the newest first.
    fn all_answers(&self) -> impl Iterator<Item = &str> {
        self.newest().filter_map(|block| match &block.kind {
            BlockKind::Answer(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// What the user said last, as it was typed, and the answer to it.
    pub(super) fn last_exchange(&self) -> Option<(&str, Option<&str>)> {
        let mut answer = None;
        for block in self.newest() {
            match &block.kind {
                BlockKind::Answer(text) if answer.is_none() => answer = Some(text.as_str()),
                BlockKind::User { text, typed, .. } => {
                    return Some((typed.as_deref().unwrap_or(text), answer));
                }
                _ => {}
            }
        }
        None
    }

    /// The branch points of the path.
    pub(super) fn points(&self) -> &Arc<BranchPoints> {
        &self.points
    }

    /// Which of all transcripts this is.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Other branches are hidden than before.
    pub(super) fn recount(&mut self, epoch: u64, points: Arc<BranchPoints>) {
        if epoch != self.epoch {
            return;
        }
        self.points = points;
        for block in self.parts.iter_mut().filter_map(Chunk::blocks_mut).flatten() {
            block.recount(&self.points);
        }
    }

    /// Adds something tiller has to say.
    pub(super) fn say(&mut self, level: NoticeLevel, text: impl Into<String>, hint: Option<String>) {
        self.push(Block::notice(level, text, hint));
    }

    /// What tiller said does not hold any more; it stays, and says that.
    pub(super) fn overcome(&mut self, said: &str) {
        for part in &mut self.parts {
            part.asides_mut().for_each(|block| block.overcome(said));
        }
    }

    /// The number of the last part.
    fn last(&self) -> usize {
        self.parts.len() - 1
    }

    /// Blocks of a part, those that grow among them; `None` of one that isn't in memory.
    fn count(&self, part: usize) -> Option<usize> {
        let live = if part == self.last() { self.live.len() } else { 0 };
        Some(self.parts.get(part)?.blocks()?.len() + live)
    }

    /// A block.
    pub(super) fn block(&self, at: BlockPos) -> Option<&Block> {
        let blocks = self.parts.get(at.part)?.blocks()?;
        let live = || (at.part == self.last()).then(|| self.live.get(at.block - blocks.len())).flatten();
        blocks.get(at.block).or_else(live)
    }

    fn block_mut(&mut self, at: BlockPos) -> Option<&mut Block> {
        let is_last = at.part == self.last();
        let blocks = self.parts.get_mut(at.part)?.blocks_mut()?;
        let count = blocks.len();
        match at.block.checked_sub(count) {
            None => blocks.get_mut(at.block),
            Some(live) if is_last => self.live.get_mut(live),
            Some(_) => None,
        }
    }

    /// The end: where the next block would be.
    fn end(&self) -> BlockPos {
        BlockPos { part: self.last(), block: self.count(self.last()).unwrap_or(0) }
    }

    /// The first block at a place or after it.
    fn from(&self, mut at: BlockPos) -> FoldStep {
        loop {
            match self.count(at.part) {
                _ if at.part >= self.parts.len() => return FoldStep::End,
                None => return FoldStep::Unread(at.part),
                Some(count) if at.block < count => return FoldStep::To(at),
                Some(_) => at = BlockPos { part: at.part + 1, block: 0 },
            }
        }
    }

    fn after(&self, at: BlockPos) -> FoldStep {
        self.from(BlockPos { block: at.block + 1, ..at })
    }

    /// The last block before a place.
    fn before(&self, mut at: BlockPos) -> FoldStep {
        loop {
            if let Some(block) = at.block.checked_sub(1) {
                return FoldStep::To(BlockPos { block, ..at });
            }
            let Some(part) = at.part.checked_sub(1) else { return FoldStep::End };
            match self.count(part) {
                None => return FoldStep::Unread(part),
                Some(block) => at = BlockPos { part, block },
            }
        }
    }
}
