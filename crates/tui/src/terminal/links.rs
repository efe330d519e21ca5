//! Hyperlinks in the terminal.
//!
//! A ratatui cell has no field for a URL. Its underline color, which nothing else uses, contains a mark: a
//! hash of the URL, so that cells whose URL has changed differ from the previous frame. [`UrlMap`] maps marks
//! to URLs; a mark never reaches the terminal.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use ratatui::style::Color;

/// Maximum number of remembered URLs, more than many screens show.
const MAX_URLS: usize = 4_096;

/// The mark of a cell whose text links to `link`.
pub(crate) fn mark(link: Option<&str>) -> Color {
    let Some(address) = link else { return Color::Reset };
    let mut hasher = DefaultHasher::new();
    address.hash(&mut hasher);
    let [red, green, blue, ..] = hasher.finish().to_le_bytes();
    Color::Rgb(red, green, blue)
}

/// The URLs of marks.
#[derive(Debug, Default)]
pub(super) struct UrlMap {
    known: HashMap<Color, Arc<str>>,
    /// Marks with more than one URL. Their text isn't linked, because the link could be wrong.
    refused: HashSet<Color>,
}

impl UrlMap {
    /// Records the URLs of a frame. Returns true if two URLs have the same mark, which may be on the screen.
    pub(super) fn record<'a>(&mut self, links: impl Iterator<Item = &'a Arc<str>>) -> bool {
        let mut clash = false;
        if self.known.len() > MAX_URLS {
            self.known.clear();
        }
        for link in links {
            let mark = mark(Some(link));
            clash |= self.record_one(mark, link);
        }
        clash
    }

    fn record_one(&mut self, mark: Color, link: &Arc<str>) -> bool {
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

    pub(super) fn url(&self, mark: Color) -> Option<&Arc<str>> {
        self.known.get(&mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn url_map_mark_of_two_urls_is_refused_and_reported_once() {
        let (mut addresses, mark) = (UrlMap::default(), Color::Rgb(1, 2, 3));
        let (good, evil): (Arc<str>, Arc<str>) = ("http://good".into(), "http://evil".into());
        assert!(!addresses.record_one(mark, &good) && !addresses.record_one(mark, &good));
        assert_eq!(addresses.url(mark), Some(&good));
        assert!(addresses.record_one(mark, &evil));
        assert!(!addresses.record_one(mark, &good) && !addresses.record_one(mark, &evil));
        assert_eq!(addresses.url(mark), None);
    }
}
