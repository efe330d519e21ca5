//! The transcript: blocks of the log, blocks that are still growing, and the stretch of them that is on the screen.
//!
//! Blocks have numbers that stay theirs when older ones are put before them. What is above the screen is neither
//! measured nor, in a long session, even read: laying out begins at the bottom or at the anchor and goes on until the
//! screen is full.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use super::block::{Block, BlockKind, Level};
use super::call::CallState;
use super::layout::Ctx;
use super::record::{Orphan, Stretch, finish_call};
use crate::id::{CallId, EntryId};
use crate::message::ToolResultMessage;
use crate::session::Entry;
use crate::unit::UnixMs;

/// Everything that was said, from the oldest block read so far to the newest.
#[derive(Debug, Default)]
pub(super) struct Transcript {
    blocks: VecDeque<Block>,
    /// The number of the first block.
    first: i64,
    /// Blocks of the answer that is arriving; they are thrown away when it is in the log.
    pub(super) live: Vec<Block>,
    /// Calls without a result.
    calls: HashMap<CallId, i64>,
    orphans: Vec<Orphan>,
    /// Entries of the path that are not read yet, oldest first.
    older: Vec<EntryId>,
    scroll: Scroll,
    /// Something arrived below what is on the screen.
    unseen: bool,
    rows: Vec<Row>,
}

/// Which part of the transcript is on the screen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Scroll {
    /// Its end, whatever is added.
    #[default]
    Follows,
    /// From this row of this block on.
    From { block: i64, row: usize },
}

/// A row of the screen: a block's line, or free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Row {
    Free,
    Line { block: i64, line: usize },
}

impl Transcript {
    /// The transcript of a path: its newest entries, and the ids of those before them.
    pub(super) fn of(older: Vec<EntryId>, entries: &[Entry]) -> Self {
        let mut stretch = Stretch::of(entries);
        let orphans = std::mem::take(&mut stretch.orphans);
        let mut transcript = Self { older, orphans, ..Self::default() };
        stretch.blocks.into_iter().for_each(|block| transcript.push(block));
        transcript
    }

    /// Takes older entries, which end where the oldest read so far begins.
    pub(super) fn prepend(&mut self, entries: &[Entry]) {
        let mut stretch = Stretch::of(entries);
        for orphan in std::mem::take(&mut self.orphans) {
            let Some(result) = orphan.result() else { continue };
            match stretch.blocks.iter_mut().rfind(|block| waits_for(block, &result.tool_call_id)) {
                Some(block) => finish_call(block, result, None),
                None => stretch.orphans.push(orphan),
            }
        }
        self.orphans = stretch.orphans;
        for mut block in stretch.blocks.into_iter().rev() {
            lose(&mut block);
            self.first -= 1;
            self.blocks.push_front(block);
        }
    }

    /// Takes an entry that was just appended.
    pub(super) fn append(&mut self, entry: &Entry, at: UnixMs) {
        let stretch = Stretch::of([entry]);
        if !stretch.blocks.is_empty() {
            self.unseen |= self.scroll != Scroll::Follows;
        }
        stretch.blocks.into_iter().for_each(|block| self.push(block));
        for orphan in &stretch.orphans {
            if let Some(result) = orphan.result() {
                self.finish(result, at);
            }
        }
    }

    /// Adds a block at the end.
    pub(super) fn push(&mut self, block: Block) {
        if let BlockKind::Call(call) = &block.kind
            && !matches!(call.state, CallState::Done { .. })
        {
            self.calls.insert(call.id.clone(), self.end());
        }
        self.blocks.push_back(block);
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
        if let Some(number) = self.calls.remove(&result.tool_call_id)
            && let Some(block) = self.block_mut(number)
        {
            finish_call(block, result, Some(at));
        }
    }

    /// Nothing runs any more: calls without a result won't get one.
    pub(super) fn settle(&mut self) {
        for number in std::mem::take(&mut self.calls).into_values() {
            if let Some(block) = self.block_mut(number) {
                lose(block);
            }
        }
    }

    /// The newest block that `wanted` accepts, among those of the log.
    pub(super) fn find_last(&mut self, wanted: impl Fn(&Block) -> bool) -> Option<&mut Block> {
        self.blocks.iter_mut().rev().take(200).find(|block| wanted(block))
    }

    /// Removes the newest block that `wanted` accepts.
    pub(super) fn remove_last(&mut self, wanted: impl Fn(&Block) -> bool) {
        if self.blocks.back().is_some_and(wanted) {
            self.blocks.pop_back();
        }
    }

    /// Whether an entry is shown already, among the newest.
    pub(super) fn shows(&self, id: &EntryId) -> bool {
        self.blocks.iter().rev().take(500).any(|block| block.entry.as_ref() == Some(id))
    }

    /// Whether there is nothing to show.
    pub(super) fn is_empty(&self) -> bool {
        self.blocks.is_empty() && self.older.is_empty()
    }

    /// Whether some block changes by itself.
    pub(super) fn is_alive(&self) -> bool {
        self.rows.iter().any(|row| match row {
            Row::Line { block, .. } => self.block(*block).is_some_and(Block::is_alive),
            Row::Free => false,
        })
    }

    /// The newest answer in the log, in Markdown.
    pub(super) fn last_answer(&self) -> Option<&str> {
        self.blocks.iter().rev().find_map(|block| match &block.kind {
            BlockKind::Answer(text) => Some(text.as_str()),
            _ => None,
        })
    }

    /// What the user said last, and the answer to it.
    pub(super) fn last_exchange(&self) -> Option<(&str, Option<&str>)> {
        let mut answer = None;
        for block in self.blocks.iter().rev() {
            match &block.kind {
                BlockKind::Answer(text) if answer.is_none() => answer = Some(text.as_str()),
                BlockKind::User { text, .. } => return Some((text, answer)),
                _ => {}
            }
        }
        None
    }

    /// Takes the ids of the `count` newest entries that are not read yet.
    pub(super) fn take_older(&mut self, count: usize) -> Vec<EntryId> {
        self.older.split_off(self.older.len().saturating_sub(count))
    }

    /// Whether what is on the screen begins so near the top that more should be read.
    pub(super) fn wants_older(&self) -> bool {
        /// Blocks above the screen that should be there before they are asked for.
        const AHEAD: i64 = 20;
        let top = self.rows.iter().find_map(|row| match row {
            Row::Line { block, .. } => Some(*block),
            Row::Free => None,
        });
        !self.older.is_empty() && top.is_none_or(|top| top < self.first + AHEAD)
    }

    /// Something was added to the live blocks.
    pub(super) fn grew(&mut self) {
        self.unseen |= self.scroll != Scroll::Follows;
    }

    /// Whether something arrived below the screen.
    pub(super) fn has_unseen(&self) -> bool {
        self.unseen
    }

    /// Whether the end is on the screen, whatever is added.
    pub(super) fn follows(&self) -> bool {
        self.scroll == Scroll::Follows
    }

    fn end(&self) -> i64 {
        self.first + i64::try_from(self.blocks.len()).unwrap_or(i64::MAX)
    }

    fn live_end(&self) -> i64 {
        self.end() + i64::try_from(self.live.len()).unwrap_or(i64::MAX)
    }

    fn block(&self, number: i64) -> Option<&Block> {
        let at = usize::try_from(number - self.first).ok()?;
        self.blocks.get(at).or_else(|| self.live.get(at.checked_sub(self.blocks.len())?))
    }

    fn block_mut(&mut self, number: i64) -> Option<&mut Block> {
        let at = usize::try_from(number - self.first).ok()?;
        let count = self.blocks.len();
        if at < count { self.blocks.get_mut(at) } else { self.live.get_mut(at - count) }
    }

    /// Rows of a block, the free one above it among them.
    fn height(&mut self, number: i64, ctx: &Ctx) -> usize {
        let lines = self.block_mut(number).map_or(0, |block| block.measure(ctx));
        lines + usize::from(lines > 0 && self.gap(number))
    }

    fn gap(&self, number: i64) -> bool {
        match (self.block(number - 1), self.block(number)) {
            (Some(above), Some(block)) => block.stands_apart(above),
            _ => false,
        }
    }

    /// Goes `count` rows up, or as far as there is something.
    pub(super) fn scroll_up(&mut self, mut count: usize, ctx: &Ctx) {
        let Some((mut block, mut row)) = self.top() else { return };
        while count > row {
            if block == self.first {
                count = row;
                break;
            }
            count -= row;
            block -= 1;
            row = self.height(block, ctx);
        }
        self.scroll = Scroll::From { block, row: row - count };
    }

    /// Goes `count` rows down; at the end it follows again.
    pub(super) fn scroll_down(&mut self, count: usize, ctx: &Ctx) {
        let Scroll::From { mut block, row } = self.scroll else { return };
        let mut row = row + count;
        loop {
            let height = self.height(block, ctx);
            if row < height || block >= self.live_end() {
                break;
            }
            row -= height;
            block += 1;
        }
        self.scroll = Scroll::From { block, row };
    }

    /// Goes to the oldest block that is read.
    pub(super) fn scroll_to_top(&mut self) {
        self.scroll = Scroll::From { block: self.first, row: 0 };
    }

    /// Goes to the end and stays there.
    pub(super) fn follow(&mut self) {
        self.scroll = Scroll::Follows;
        self.unseen = false;
    }

    fn top(&self) -> Option<(i64, usize)> {
        if let Scroll::From { block, row } = self.scroll {
            return Some((block, row));
        }
        match *self.rows.first()? {
            Row::Line { block, line } => Some((block, line + usize::from(self.gap(block)))),
            Row::Free => match *self.rows.get(1)? {
                Row::Line { block, .. } => Some((block, 0)),
                Row::Free => None,
            },
        }
    }

    /// Lays out the `height` rows that are on the screen.
    pub(super) fn lay_out(&mut self, height: usize, ctx: &Ctx) {
        if let Scroll::From { block, row } = self.scroll {
            self.rows = self.rows_from(block.max(self.first), row, height, ctx);
            if self.rows.len() >= height {
                return;
            }
            if self.rows_up(height, ctx).len() == self.rows.len() {
                return self.follow();
            }
            self.follow();
        }
        self.rows = self.rows_up(height, ctx);
    }

    fn rows_from(&mut self, from: i64, skip: usize, height: usize, ctx: &Ctx) -> Vec<Row> {
        let (mut rows, mut skip) = (Vec::new(), skip);
        for block in from..self.live_end() {
            if rows.len() >= height {
                break;
            }
            let count = self.height(block, ctx);
            skip = skip.min(if block == from { count.saturating_sub(1) } else { 0 });
            let last = count.min(skip + height - rows.len());
            rows.extend(self.rows_of(block, std::mem::take(&mut skip)..last));
        }
        rows
    }

    /// The last `height` rows there are.
    fn rows_up(&mut self, height: usize, ctx: &Ctx) -> Vec<Row> {
        let (mut parts, mut missing) = (Vec::new(), height);
        let mut block = self.live_end();
        while block > self.first && missing > 0 {
            block -= 1;
            let count = self.height(block, ctx);
            let taken = count.min(missing);
            parts.push((block, count - taken..count));
            missing -= taken;
        }
        parts.into_iter().rev().flat_map(|(block, rows)| self.rows_of(block, rows)).collect()
    }

    /// Rows of a block that was measured, the free one above it being the first: no more than are asked for, of a block however long.
    fn rows_of(&self, block: i64, rows: Range<usize>) -> impl Iterator<Item = Row> + use<> {
        let gap = usize::from(self.gap(block));
        rows.map(move |row| row.checked_sub(gap).map_or(Row::Free, |line| Row::Line { block, line }))
    }

    /// What is on the screen, top to bottom: columns left free, and the line; `None` is a free row.
    pub(super) fn visible(&self) -> impl Iterator<Item = Option<(usize, &crate::render::Line)>> {
        self.rows.iter().map(|row| match *row {
            Row::Free => None,
            Row::Line { block, line } => {
                let block = self.block(block)?;
                Some((block.inset(), block.line(line)?))
            }
        })
    }
}

impl Transcript {
    /// Where the links on the screen lead, once for each piece of text.
    pub(super) fn links(&self) -> impl Iterator<Item = &Arc<str>> {
        let lines = self.visible().flatten().map(|(_, line)| line);
        lines.flat_map(|line| &line.spans).filter_map(|span| span.link.as_ref())
    }
}

fn waits_for(block: &Block, id: &CallId) -> bool {
    matches!(&block.kind, BlockKind::Call(call) if call.id == *id && matches!(call.state, CallState::Waits))
}

/// A call that hasn't its result by now won't get it.
fn lose(block: &mut Block) {
    if let BlockKind::Call(call) = &mut block.kind
        && !matches!(call.state, CallState::Done { .. })
    {
        call.state = CallState::Lost;
        block.touch();
    }
}

impl Transcript {
    /// Adds something tiller has to say.
    pub(super) fn say(&mut self, level: Level, text: impl Into<String>, hint: Option<String>) {
        self.push(Block::notice(level, text, hint));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Message, UserMessage};
    use crate::session::EntryBody;

    fn said(at: usize) -> Entry {
        let message = Message::User(UserMessage::text(format!("m{at}"), UnixMs(0)));
        Entry {
            id: EntryId::new(format!("e{at}")),
            parent: None,
            timestamp: UnixMs(0),
            body: EntryBody::message(Arc::new(message)),
        }
    }

    fn shown(transcript: &Transcript) -> Vec<String> {
        let text =
            |row: Option<(usize, &crate::render::Line)>| row.map(|(_, line)| line.text()).unwrap_or_default();
        transcript.visible().map(text).map(|text| text.trim_start_matches("▌ ").to_owned()).collect()
    }

    fn transcript(count: usize) -> Transcript {
        let entries: Vec<Entry> = (0..count).map(said).collect();
        Transcript::of(Vec::new(), &entries)
    }

    #[test]
    fn the_end_is_shown_and_followed() {
        let (mut transcript, ctx) = (transcript(10), Ctx::default());
        transcript.lay_out(3, &ctx);
        assert_eq!(shown(&transcript), ["m8", "", "m9"]);
        transcript.append(&said(10), UnixMs(0));
        transcript.lay_out(3, &ctx);
        assert_eq!(shown(&transcript), ["m9", "", "m10"]);
    }

    #[test]
    fn scrolled_up_it_stays_where_it_is_and_says_that_there_is_more() {
        let (mut transcript, ctx) = (transcript(10), Ctx::default());
        transcript.lay_out(3, &ctx);
        transcript.scroll_up(4, &ctx);
        transcript.lay_out(3, &ctx);
        assert_eq!(shown(&transcript), ["m6", "", "m7"]);
        transcript.append(&said(10), UnixMs(0));
        transcript.lay_out(3, &ctx);
        assert_eq!((shown(&transcript)[0].as_str(), transcript.has_unseen()), ("m6", true));
        transcript.scroll_down(100, &ctx);
        transcript.lay_out(3, &ctx);
        assert_eq!((shown(&transcript)[2].as_str(), transcript.has_unseen()), ("m10", false));
        assert!(transcript.follows());
    }

    #[test]
    fn older_entries_are_put_before_without_moving_the_screen() {
        let ctx = Ctx::default();
        let entries: Vec<Entry> = (5..10).map(said).collect();
        let older = (0..5).map(|at| EntryId::new(format!("e{at}"))).collect();
        let mut transcript = Transcript::of(older, &entries);
        transcript.lay_out(3, &ctx);
        transcript.scroll_up(100, &ctx);
        transcript.lay_out(3, &ctx);
        assert_eq!(shown(&transcript), ["m5", "", "m6"]);
        assert!(transcript.wants_older());
        assert_eq!(transcript.take_older(2), ["e3".into(), "e4".into()]);
        transcript.prepend(&[said(3), said(4)]);
        transcript.lay_out(3, &ctx);
        assert_eq!(shown(&transcript)[1..], ["m5", ""]);
        transcript.scroll_up(2, &ctx);
        transcript.lay_out(3, &ctx);
        assert_eq!(shown(&transcript)[..2], ["", "m4"]);
    }

    #[test]
    fn only_what_is_on_the_screen_is_measured() {
        let (mut transcript, ctx) = (transcript(1_000), Ctx::default());
        transcript.lay_out(10, &ctx);
        let measured = transcript.blocks.iter().filter(|block| block.line(0).is_some()).count();
        assert!(measured <= 10, "{measured} blocks were laid out for 10 rows");
    }

    #[test]
    fn a_transcript_shorter_than_the_screen_cannot_be_scrolled() {
        let (mut transcript, ctx) = (transcript(2), Ctx::default());
        transcript.lay_out(20, &ctx);
        transcript.scroll_up(5, &ctx);
        transcript.lay_out(20, &ctx);
        assert!(transcript.follows());
        assert_eq!(shown(&transcript), ["m0", "", "m1"]);
    }
}
