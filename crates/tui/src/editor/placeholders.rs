//! Short signs in the text that stand for something long: a paste, a picture.

use std::ops::Range;

use tiller_core::message::Image;

/// A paste longer than this, in lines or characters, collapses to a token until it is sent.
const PASTE_LINES: usize = 8;
const PASTE_CHARS: usize = 1_000;

/// What the token of a picture begins with, before its number.
const PICTURE: &str = "[image #";

/// What the tokens in a text stand for.
#[derive(Debug, Default)]
pub(super) struct Placeholders {
    tokens: Vec<(String, PlaceholderKind)>,
    /// Whether the text that they stood in was sent. They stay until others come: what was sent may come back.
    are_retired: bool,
}

#[derive(Debug)]
enum PlaceholderKind {
    Text(String),
    Picture(Image),
}

impl Placeholders {
    /// The text was sent.
    pub(super) fn retire(&mut self) {
        self.are_retired = true;
    }

    fn add(&mut self, token: String, meaning: PlaceholderKind) {
        self.tokens.push((token, meaning));
    }

    fn begin(&mut self) {
        if std::mem::take(&mut self.are_retired) {
            self.tokens.clear();
        }
    }

    /// What is to stand in the text for a paste: the paste itself when it is short.
    pub(super) fn paste(&mut self, text: String) -> String {
        let lines = text.lines().count();
        if lines <= PASTE_LINES && text.len() <= PASTE_CHARS {
            return text;
        }
        self.begin();
        let number = self.number(|meaning| matches!(meaning, PlaceholderKind::Text(_)));
        let token = if lines > 1 {
            format!("[paste #{number}: {lines} lines]")
        } else {
            format!("[paste #{number}: {} characters]", text.chars().count())
        };
        self.add(token.clone(), PlaceholderKind::Text(text));
        token
    }

    /// What is to stand in the text for a picture of so many columns and rows of pixels.
    pub(super) fn picture(&mut self, image: Image, (width, height): (usize, usize)) -> String {
        self.begin();
        let number = self.number(|meaning| matches!(meaning, PlaceholderKind::Picture(_)));
        self.stand_for(format!("{PICTURE}{number}: {width}×{height}]"), image)
    }

    /// Takes up the pictures that the tokens in a text stand for, in their order. Answers with the text, in which a token that stands
    /// for another picture already is another one.
    pub(super) fn adopt(&mut self, text: &str, pictures: &[Image]) -> String {
        self.begin();
        let (mut adopted, mut rest, mut pictures) = (String::new(), text, pictures.iter());
        while let Some(at) = rest.find(PICTURE)
            && let Some(length) = rest[at..].find(']')
            && let Some(picture) = pictures.next()
        {
            let (before, token) = (&rest[..at], rest[at..=at + length].to_owned());
            adopted.push_str(before);
            adopted.push_str(&self.stand_for(token, picture.clone()));
            rest = &rest[at + length + 1..];
        }
        adopted + rest
    }

    /// Has a token stand for a picture, or another one of its size where that stands for something else.
    fn stand_for(&mut self, mut token: String, picture: Image) -> String {
        let size = token.split_once(": ").map_or("]", |(_, size)| size).to_owned();
        let mut number = self.number(|meaning| matches!(meaning, PlaceholderKind::Picture(_)));
        while let Some((_, meaning)) = self.tokens.iter().find(|(known, _)| *known == token) {
            if matches!(meaning, PlaceholderKind::Picture(known) if *known == picture) {
                return token;
            }
            token = format!("{PICTURE}{number}: {size}");
            number += 1;
        }
        self.add(token.clone(), PlaceholderKind::Picture(picture));
        token
    }

    fn number(&self, is_of_kind: impl Fn(&PlaceholderKind) -> bool) -> usize {
        self.tokens.iter().filter(|(_, meaning)| is_of_kind(meaning)).count() + 1
    }

    /// A text with pastes in the place of their tokens.
    pub(super) fn expand(&self, text: &str) -> String {
        self.tokens.iter().fold(text.to_owned(), |text, (token, meaning)| match meaning {
            PlaceholderKind::Text(paste) => text.replace(token, paste),
            PlaceholderKind::Picture(_) => text,
        })
    }

    /// The same without the signs of pictures, which are in no text.
    pub(super) fn lasting(&self, text: &str) -> String {
        self.tokens.iter().fold(self.expand(text), |text, (token, meaning)| match meaning {
            PlaceholderKind::Text(_) => text,
            PlaceholderKind::Picture(_) => text.replace(&format!("{token} "), "").replace(token, ""),
        })
    }

    /// The pictures whose tokens stand in a text, in the order of their numbers.
    pub(super) fn pictures(&self, text: &str) -> Vec<Image> {
        let wanted = self.tokens.iter().filter(|(token, _)| text.contains(token));
        let picture = |(_, meaning): &(String, PlaceholderKind)| match meaning {
            PlaceholderKind::Picture(image) => Some(image.clone()),
            PlaceholderKind::Text(_) => None,
        };
        wanted.filter_map(picture).collect()
    }

    /// The token that a place in a text is within, neither before it nor behind.
    pub(super) fn around(&self, text: &str, at: usize) -> Option<Range<usize>> {
        let places = self.tokens.iter().flat_map(|(token, _)| text.match_indices(token.as_str()));
        let mut places = places.map(|(start, token)| start..start + token.len());
        places.find(|place| place.start < at && at < place.end)
    }

    /// Bytes of the token that a text ends with.
    pub(super) fn at_end(&self, text: &str) -> Option<usize> {
        self.tokens.iter().map(|(token, _)| token).find(|token| text.ends_with(*token)).map(String::len)
    }

    /// Bytes of the token that a text begins with.
    pub(super) fn at_start(&self, text: &str) -> Option<usize> {
        self.tokens.iter().map(|(token, _)| token).find(|token| text.starts_with(*token)).map(String::len)
    }
}
