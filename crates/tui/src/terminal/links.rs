//! Links on their way to the terminal.
//!
//! A cell of the screen has no room for an address. What it has is the colour of its underline, which nothing here uses: there
//! it carries a mark made from the address, so that a cell whose address alone changed differs from the one before. [`Addresses`] knows
//! which address a mark stands for; the mark itself never reaches the terminal.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use ratatui::style::Color;

/// Addresses that are remembered: more than many screens show.
const MOST: usize = 4_096;

/// What a cell carries whose text leads to `link`.
pub(crate) fn mark(link: Option<&str>) -> Color {
    let Some(address) = link else { return Color::Reset };
    let mut hasher = DefaultHasher::new();
    address.hash(&mut hasher);
    let [red, green, blue, ..] = hasher.finish().to_le_bytes();
    Color::Rgb(red, green, blue)
}

/// The addresses that marks stand for.
#[derive(Debug, Default)]
pub(super) struct Addresses {
    known: HashMap<Color, Arc<str>>,
    /// Marks that would stand for more than one: such links are none, rather than lead somewhere else than they say.
    refused: HashSet<Color>,
}

impl Addresses {
    /// Learns where the links of a frame lead. True when one has the mark of another, which may be on the screen.
    pub(super) fn learn<'a>(&mut self, links: impl Iterator<Item = &'a Arc<str>>) -> bool {
        let mut clash = false;
        if self.known.len() > MOST {
            self.known.clear();
        }
        for link in links {
            let mark = mark(Some(link));
            clash |= self.learn_one(mark, link);
        }
        clash
    }

    fn learn_one(&mut self, mark: Color, link: &Arc<str>) -> bool {
        match self.known.get(&mark) {
            Some(known) if known == link => false,
            Some(_) => {
                self.known.remove(&mark);
                self.refused.insert(mark)
            }
            None if self.refused.contains(&mark) => false,
            None => {
                self.known.insert(mark, Arc::clone(link));
                false
            }
        }
    }

    /// Where the text of a cell with this mark leads.
    pub(super) fn of(&self, mark: Color) -> Option<&Arc<str>> {
        self.known.get(&mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_of_two_addresses_stands_for_none_and_says_so_once() {
        let (mut addresses, mark) = (Addresses::default(), Color::Rgb(1, 2, 3));
        let (good, evil): (Arc<str>, Arc<str>) = ("http://good".into(), "http://evil".into());
        assert!(!addresses.learn_one(mark, &good) && !addresses.learn_one(mark, &good));
        assert_eq!(addresses.of(mark), Some(&good));
        assert!(addresses.learn_one(mark, &evil));
        assert!(!addresses.learn_one(mark, &good) && !addresses.learn_one(mark, &evil));
        assert_eq!(addresses.of(mark), None);
    }
}
