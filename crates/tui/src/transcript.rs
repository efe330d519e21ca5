//! The transcript: the blocks of the log, the blocks of the streaming answer, and the part of them on the
//! screen.
//!
//! The path is stored in [`chunk`]s. Blocks outside the screen aren't laid out, and in a long session not
//! even in memory: layout ([`scroll`]) starts at the bottom or at the top line and stops when the screen is
//! full; distant chunks are dropped and read again on demand. [`jump`] scrolls to positions that may have to
//! be read first; [`selected_text`] handles the mouse selection, and [`reload`] preserves the top line.

pub(crate) mod anchor;
mod banner;
mod blank_row;
pub(crate) mod chunk;

mod jump;
pub(crate) mod jump_target;
mod reload;
pub(crate) mod row;
mod scroll;
pub(crate) mod section;
mod selected_text;
pub(crate) mod selection;
#[cfg(test)]
mod tests;
mod viewport;

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use tiller_core::id::{CallId, EntryId};
use tiller_core::message::{ToolResultMessage, joined_text};
use tiller_core::unit::UnixMs;
use tiller_session::{BranchPoints, Entry};

use crate::block::notice_level::NoticeLevel;
use crate::block::{Block, BlockKind, FoldState};
use crate::layout::{FoldDefaults, RenderContext};
use crate::log_blocks::{BlockBuilder, PathContext, mark_cut_off, set_call_result};
use crate::logical_line::LogicalLine;
use crate::recovery::{DraftRecovery, find_recovery};
use crate::search_term::SearchTerm;
use crate::tool_call::CallState;
use crate::transcript::anchor::ScrollAnchor;
use crate::transcript::chunk::{BlockPos, Chunk, ChunkContent, ENTRIES};
use crate::transcript::section::{LoadedPath, PathSection, SectionRequest};
use crate::transcript::viewport::Viewport;

/// Maximum number of newest entries whose ids are kept.
const RECENT: usize = 500;

/// The blocks of a path.
#[derive(Debug)]
pub(super) struct Transcript {
    /// Never empty; new blocks are added to the last one.
    parts: Vec<Chunk>,
    /// Blocks of the streaming answer, dropped when it is in the log. Their numbers continue those of the
    /// last part.
    pub(super) live: Vec<Block>,
    /// Calls without a result.
    calls: HashMap<CallId, BlockPos>,
    view: Viewport,
    /// The fold state of blocks that don't have their own.
    pub(super) folds: FoldDefaults,
    /// The transcript's generation. Results of reads for earlier generations are dropped.
    epoch: u64,
    /// Number of blocks added at the end, including those removed since.
    added: usize,
    /// Number of blocks removed from the end.
    removed: usize,
    /// The last prompt, if it has no answer.
    unanswered: Option<EntryId>,
    /// Ids of the newest entries, oldest first.
    recent: VecDeque<EntryId>,
    context: PathContext,
}

/// The neighbor of a block.
enum BlockStep {
    To(BlockPos),
    /// A part that is not in memory.
    Unread(usize),
    /// No neighbor.
    End,
}

impl Default for Transcript {
    fn default() -> Self {
        Self::of(0, LoadedPath::default())
    }
}

impl Transcript {
    pub(super) fn of(epoch: u64, newest: LoadedPath) -> Self {
        let LoadedPath { older, section, ids, builder, context } = newest;
        let mut parts: Vec<Chunk> = older.into_iter().map(Chunk::unread).collect();
        parts.push(Chunk::read(section));
        let mut transcript = Self {
            parts,
            live: Vec::new(),
            calls: HashMap::new(),
            view: Viewport::default(),
            folds: FoldDefaults::default(),
            epoch,
            added: 0,
            removed: 0,
            unanswered: builder.unanswered(),
            recent: ids.into(),
            context,
        };
        builder.blocks.into_iter().for_each(|block| transcript.push(block));
        transcript
    }

    /// Replaces the transcript after a reload, or with another session's; returns state of the previous one.
    pub(super) fn replace(&mut self, newest: LoadedPath) -> ScrollAnchor {
        let (folds, next, former) = (self.folds, self.view.next, self.leave());
        *self = Self { folds, ..Self::of(self.epoch + 1, newest) };
        // This may be one of several reloads requested together.
        self.view.next = next;
        former
    }

    /// Inserts a part that was read.
    pub(super) fn insert_section(&mut self, request: &SectionRequest, entries: &[Entry], ahead: &[Entry]) {
        let Some(part) = self.parts.get_mut(request.part).filter(|_| request.epoch == self.epoch) else {
            return;
        };
        if matches!(part.content, ChunkContent::Asked) {
            let mut builder = BlockBuilder::from_entries(entries, &self.context);
            builder.push_results(ahead);
            mark_cut_off(builder.blocks.iter_mut(), &self.context.tools);
            part.fill(builder.blocks);
            self.reach_goal();
        }
    }

    /// Returns requests for the parts near the screen or a jump target that must be read now.
    pub(super) fn take_requests(&mut self) -> Vec<SectionRequest> {
        let mut requests = Vec::new();
        for part in self.near().into_iter().flatten() {
            let ahead = self.parts.get(part + 1).and_then(Chunk::section).cloned();
            if let Some(section) = self.parts[part].ask() {
                requests.push(SectionRequest { epoch: self.epoch, part, section, ahead });
            }
        }
        requests
    }

    /// Cancels the request for a part, so that it is requested again.
    pub(super) fn cancel_request(&mut self, part: usize) {
        if let Some(part) = self.parts.get_mut(part)
            && matches!(part.content, ChunkContent::Asked)
        {
            part.content = ChunkContent::Unread;
        }
    }

    /// Returns all sections but the last, newest first; the last is always in memory.
    pub(super) fn unseen(&self) -> Vec<PathSection> {
        let parts = self.parts[..self.last()].iter().enumerate().rev();
        parts.filter_map(|(part, it)| Some(PathSection { part, section: it.section()?.clone() })).collect()
    }

    /// The index of the last part.
    pub(super) fn newest_part(&self) -> usize {
        self.last()
    }

    /// Number of blocks ever added; changes with every new block.
    pub(super) fn added(&self) -> usize {
        self.added
    }

    /// Returns the size of the streaming answer; it changes when the answer grows or ends.
    pub(super) fn arrived(&self) -> usize {
        let size = |block: &Block| match &block.kind {
            BlockKind::StreamingAnswer(stream) => stream.text().len(),
            BlockKind::Thinking(text) => text.len(),
            BlockKind::StreamingThinking(musing) => musing.text().len(),
            // A call can be searched once its arguments are complete.
            BlockKind::Call(call) => 1 + usize::from(!call.args.is_null()),
            _ => 1,
        };
        self.live.iter().map(size).sum()
    }

    /// Returns the parts in memory, beginning with `from`, with their log blocks and the blocks of the
    /// streaming answer.
    pub(super) fn tail(&self, from: usize) -> impl Iterator<Item = (usize, impl Iterator<Item = &Block>)> {
        let parts = self.parts.iter().enumerate().skip(from);
        parts.filter_map(|(part, it)| {
            it.blocks()?;
            Some((part, self.known(part).map(|(_, block)| block)))
        })
    }

    /// Returns the blocks of the streaming answer, and the position of the first: its part and its number
    /// there.
    pub(super) fn arriving(&self) -> ((usize, usize), impl Iterator<Item = &Block>) {
        let blocks = self.parts.last().and_then(Chunk::blocks).unwrap_or_default();
        let logged = blocks.iter().filter(|block| block.entry.is_some()).count();
        ((self.last(), logged), self.live.iter().filter(|block| !block.is_blank()))
    }

    /// Returns the log blocks of a part and of the streaming answer, each with its number among all blocks.
    fn known(&self, part: usize) -> impl Iterator<Item = (usize, &Block)> {
        let blocks = self.parts.get(part).and_then(Chunk::blocks).unwrap_or_default();
        let live = if part == self.last() { self.live.as_slice() } else { &[] };
        let logged = blocks.iter().enumerate().filter(|(_, block)| block.entry.is_some());
        let live = (blocks.len()..).zip(live).filter(|(_, block)| !block.is_blank());
        logged.chain(live)
    }

    pub(super) fn is_read(&self, part: usize) -> bool {
        self.count(part).is_some()
    }

    /// Returns the position of a log block, given by its number in its part.
    pub(super) fn logged(&self, (part, index): (usize, usize)) -> Option<BlockPos> {
        let (block, _) = self.known(part).nth(index)?;
        Some(BlockPos { part, block })
    }

    /// Lines and columns of a term in a block.
    pub(super) fn places_of(
        &mut self,
        at: BlockPos,
        term: &SearchTerm,
        ctx: &RenderContext,
    ) -> Vec<(usize, usize)> {
        let (count, mut places, mut line) = (self.height(at, ctx), Vec::new(), 0);
        let Some(block) = self.block(at) else { return places };
        while line < count {
            let logical = LogicalLine::around(block, line);
            let found = term
                .find(&logical.text)
                .into_iter()
                .filter_map(|found| logical.places(&found).into_iter().next());
            places.extend(found.map(|(line, columns)| (line, columns.start)));
            line = logical.lines.end.max(line + 1);
        }
        places
    }

    /// Removes a block's own fold state.
    pub(super) fn fold_default(&mut self, at: BlockPos) {
        self.mark_top_line();
        if let Some(block) = self.block_mut(at) {
            block.fold = FoldState::Inherit;
        }
        self.invalidate_layout();
    }

    /// Adds an entry that was just appended.
    pub(super) fn append(&mut self, entry: &Entry, at: UnixMs) {
        let context = PathContext::without_branch_points(self.context.tools.clone());
        let builder = BlockBuilder::from_entries([entry], &context);
        self.unanswered = None;
        if builder.ends_with_answer() {
            self.end_streaming();
        } else if builder.ends_with_prompt() {
            self.begin_part();
        }
        let last = self.last();
        self.parts[last].append_entry(&entry.id);
        self.remember_id(&entry.id);
        if !builder.blocks.is_empty() {
            self.note_growth();
        }
        if let Some(sent) = builder.succeeded() {
            self.recover(sent);
        }
        for result in builder.results() {
            let text = joined_text(&result.content);
            self.remove_last(|block| block.is_warning_in(&text));
            self.finish(result, at);
        }
        for block in builder.blocks {
            if !self.newest_logged().is_some_and(|last| last.absorb(&block)) {
                self.push(block);
            }
        }
    }

    fn remember_id(&mut self, id: &EntryId) {
        if self.recent.len() == RECENT {
            self.recent.pop_front();
        }
        self.recent.push_back(id.clone());
    }

    /// Returns the newest log block of the last part, which absorbs repetitions. Blocks of earlier parts
    /// don't, so that reading them again gives the same result.
    fn newest_logged(&mut self) -> Option<&mut Block> {
        let blocks = self.parts.last_mut().and_then(Chunk::blocks_mut)?;
        blocks.iter_mut().rev().find(|block| block.entry.is_some())
    }

    /// Starts another part when the last one is full, so that it can be dropped. Does nothing while an answer
    /// streams, because its blocks are already numbered.
    pub(super) fn begin_part(&mut self) {
        let is_full = self.parts.last().is_some_and(|part| part.count() >= ENTRIES);
        if is_full && self.live.is_empty() {
            self.parts.push(Chunk::read(None));
        }
    }

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

    /// Changes the state of a call without a result.
    pub(super) fn with_call(&mut self, id: &CallId, change: impl FnOnce(&mut CallState)) {
        let Some(at) = self.calls.get(id).copied() else { return };
        if let Some(block) = self.block_mut(at)
            && let BlockKind::Call(call) = &mut block.kind
        {
            change(&mut call.state);
            block.invalidate();
        }
    }

    fn finish(&mut self, result: &ToolResultMessage, at: UnixMs) {
        if let Some(place) = self.calls.remove(&result.tool_call_id)
            && let Some(block) = self.block_mut(place)
        {
            set_call_result(block, result, Some(at));
        }
    }

    /// Marks calls without a result as interrupted at the end of a run. A call that a crash interrupted may get its
    /// result with the next prompt.
    pub(super) fn close_calls(&mut self) {
        let first = self.calls.values().min().copied();
        if let Some(first) = first {
            let parts = self.parts[first.part..].iter_mut().filter_map(Chunk::blocks_mut);
            mark_cut_off(parts.flatten(), &self.context.tools);
        }
    }

    /// The newest log block for which `predicate` is true.
    pub(super) fn find_last(&mut self, predicate: impl Fn(&Block) -> bool) -> Option<&mut Block> {
        let parts = self.parts.iter_mut().rev().map_while(Chunk::blocks_mut);
        parts.flat_map(|blocks| blocks.iter_mut().rev()).take(200).find(|block| predicate(block))
    }

    /// Returns true if a log block follows the newest block for which `predicate` is true.
    pub(super) fn has_block_after(&self, predicate: impl Fn(&Block) -> bool) -> bool {
        self.newest().take_while(|block| !predicate(block)).any(|block| block.entry.is_some())
    }

    /// Merges failed requests before a successful answer into one line. Those in an earlier part aren't
    /// changed, so that reading them again gives the same result.
    fn recover(&mut self, sent: UnixMs) {
        let part = self.last();
        let Some(blocks) = self.parts.last_mut().and_then(Chunk::blocks_mut) else { return };
        let Some(DraftRecovery { at, block, missing }) = find_recovery(blocks, sent) else { return };
        blocks[at] = block;
        missing.iter().for_each(|missing| _ = blocks.remove(*missing));
        self.calls.retain(|_, call| call.part != part || call.block != at && !missing.contains(&call.block));
        for missing in missing {
            let moved = self.calls.values_mut().filter(|call| call.part == part && call.block > missing);
            moved.for_each(|call| call.block -= 1);
            self.removed += 1;
            self.close_gap(BlockPos { part, block: missing });
        }
    }

    /// Removes the newest block if `predicate` is true for it.
    pub(super) fn remove_last(&mut self, predicate: impl Fn(&Block) -> bool) {
        if let Some(blocks) = self.parts.last_mut().and_then(Chunk::blocks_mut)
            && blocks.last().is_some_and(predicate)
        {
            blocks.pop();
            let block = blocks.len();
            self.removed += 1;
            self.close_gap(BlockPos { part: self.last(), block });
        }
    }

    /// Returns true if an entry is one of the newest ones and shown. Several entries may form one block.
    pub(super) fn shows(&self, id: &EntryId) -> bool {
        self.recent.contains(id) || self.newest().take(RECENT).any(|block| block.entry.as_ref() == Some(id))
    }

    /// Returns true if the loaded part has no messages.
    pub(super) fn is_empty(&self) -> bool {
        self.newest().all(Block::is_bare_point)
    }

    /// Returns true if the path is a single part, which is always in memory.
    pub(super) fn is_single_part(&self) -> bool {
        self.parts.len() == 1
    }

    /// Returns the last prompt if it has no answer.
    pub(super) fn unanswered(&self) -> Option<&EntryId> {
        self.unanswered.as_ref()
    }

    /// Returns the consecutive log blocks in memory, newest first.
    fn newest(&self) -> impl Iterator<Item = &Block> {
        self.parts.iter().rev().map_while(Chunk::blocks).flat_map(|blocks| blocks.iter().rev())
    }

    /// Returns the Markdown of an answer, counted from the end starting at 1, if it is in memory.
    pub(super) fn answer(&self, from_end: usize) -> Option<&str> {
        self.all_answers().nth(from_end.checked_sub(1)?)
    }

    /// Returns true if all parts are in memory.
    pub(super) fn is_read_whole(&self) -> bool {
        self.parts.iter().all(|part| part.blocks().is_some())
    }

    /// Number of answers in memory.
    pub(super) fn answers(&self) -> usize {
        self.all_answers().count()
    }

    /// The answers in memory, newest first.
    fn all_answers(&self) -> impl Iterator<Item = &str> {
        self.newest().filter_map(|block| match &block.kind {
            BlockKind::Answer(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// Returns the last prompt, as typed, and its answer.
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

    pub(super) fn context(&self) -> &PathContext {
        &self.context
    }

    /// The transcript's generation.
    pub(super) fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Updates the branch points after branches were hidden or restored.
    pub(super) fn update_branch_points(&mut self, epoch: u64, points: Arc<BranchPoints>) {
        if epoch != self.epoch {
            return;
        }
        self.context.points = points;
        for block in self.parts.iter_mut().filter_map(Chunk::blocks_mut).flatten() {
            block.recount(&self.context.points);
        }
    }

    /// Adds a notice from tiller.
    pub(super) fn notice(&mut self, level: NoticeLevel, text: impl Into<String>, hint: Option<String>) {
        self.push(Block::notice(level, text, hint));
    }

    /// Marks notices with this text as outdated.
    pub(super) fn mark_outdated(&mut self, text: &str) {
        for part in &mut self.parts {
            part.unlogged_blocks_mut().for_each(|block| block.mark_outdated(text));
        }
    }

    fn last(&self) -> usize {
        self.parts.len() - 1
    }

    /// Number of blocks of a part, including streaming ones; `None` if it isn't in memory.
    fn count(&self, part: usize) -> Option<usize> {
        let live = if part == self.last() { self.live.len() } else { 0 };
        Some(self.parts.get(part)?.blocks()?.len() + live)
    }

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

    /// The position after the last block.
    fn end(&self) -> BlockPos {
        BlockPos { part: self.last(), block: self.count(self.last()).unwrap_or(0) }
    }

    /// The first block at or after a position.
    fn from(&self, mut at: BlockPos) -> BlockStep {
        loop {
            match self.count(at.part) {
                _ if at.part >= self.parts.len() => return BlockStep::End,
                None => return BlockStep::Unread(at.part),
                Some(count) if at.block < count => return BlockStep::To(at),
                Some(_) => at = BlockPos { part: at.part + 1, block: 0 },
            }
        }
    }

    fn after(&self, at: BlockPos) -> BlockStep {
        self.from(BlockPos { block: at.block + 1, ..at })
    }

    /// The last block before a position.
    fn before(&self, mut at: BlockPos) -> BlockStep {
        loop {
            if let Some(block) = at.block.checked_sub(1) {
                return BlockStep::To(BlockPos { block, ..at });
            }
            let Some(part) = at.part.checked_sub(1) else { return BlockStep::End };
            match self.count(part) {
                None => return BlockStep::Unread(part),
                Some(block) => at = BlockPos { part, block },
            }
        }
    }
}
