//! Blocks of code in an answer that arrives: whose words are told, and which lines wait for theirs.

use std::collections::VecDeque;
use std::ops::Range;

use crate::code::streaming::Arriving;
use crate::code::{self, backend};
use crate::markdown::marked;
use crate::sanitize::sourced;
use crate::{ControlChars, Language, Line, sanitize};

/// The blocks of code of one answer whose words are told beside.
#[derive(Clone, Debug, Default)]
pub(super) struct Blocks {
    /// With the place in the text where each begins; what is told of them stays when the text is read again.
    begun: Vec<(usize, Arriving)>,
    /// Lines that were finished before their words were told, oldest first.
    plain: VecDeque<Plain>,
}

#[derive(Clone, Debug)]
struct Plain {
    block: Arriving,
    /// Its number in the block.
    line: usize,
    /// As it was written.
    source: String,
    /// Where its rows are among the finished lines.
    rows: Range<usize>,
}

impl Blocks {
    /// The block that begins at `from` in the text.
    pub(super) fn begin(&mut self, from: usize, language: Language<'_>) -> Arriving {
        if let Some((_, block)) = self.begun.iter().find(|(begins, _)| *begins == from) {
            return block.clone();
        }
        let block = Arriving::begin(language);
        self.begun.push((from, block.clone()));
        block
    }

    /// The same text is read again from its beginning.
    pub(super) fn again(self) -> Self {
        Self { plain: VecDeque::new(), ..self }
    }

    /// A line of a block was finished, its words not told.
    pub(super) fn wait(&mut self, block: Arriving, line: usize, source: String, rows: Range<usize>) {
        self.plain.push_back(Plain { block, line, source, rows });
    }

    /// Gives the lines whose words were told meanwhile these words.
    pub(super) fn settle(&mut self, finished: &mut [Line], width: usize) {
        while let Some(first) = self.plain.front()
            && let Some(words) = first.block.words(first.line)
        {
            let line = sanitize(&first.source, ControlChars::Visible);
            let told = sourced(backend::spans(&line, &words), &first.source);
            let rows = marked(code::code_line(&told, width));
            // Words don't change where a line breaks; should they, it stays plain.
            if let Some(plain) =
                finished.get_mut(first.rows.clone()).filter(|plain| plain.len() == rows.len())
            {
                plain.clone_from_slice(&rows);
            }
            self.plain.pop_front();
        }
    }
}
