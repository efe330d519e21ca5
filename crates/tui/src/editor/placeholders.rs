//! Placeholders in the text for pastes and images.

use std::ops::Range;

use tiller_core::message::Image;

/// A longer paste, in lines or bytes, is replaced with a placeholder until the message is sent.
const PASTE_LINES: usize = 8;
const PASTE_CHARS: usize = 1_000;

/// Prefix of image placeholders, before the number.
const IMAGE: &str = "[image #";

/// The placeholders in the editor's text and their contents.
#[derive(Debug, Default)]
pub(super) struct Placeholders {
    entries: Vec<(String, PlaceholderKind)>,
    /// True if the text was sent. Its placeholders stay until new ones are added, because the text may be
    /// returned.
    are_retired: bool,
}

#[derive(Debug)]
enum PlaceholderKind {
    Text(String),
    Image(Image),
}

impl Placeholders {
    /// Marks the placeholders as belonging to a sent text.
    pub(super) fn retire(&mut self) {
        self.are_retired = true;
    }

    fn add(&mut self, token: String, content: PlaceholderKind) {
        self.entries.push((token, content));
    }

    fn drop_retired(&mut self) {
        if std::mem::take(&mut self.are_retired) {
            self.entries.clear();
        }
    }

    /// Returns the text to insert for a paste: the paste itself if it is short, otherwise a placeholder.
    pub(super) fn add_paste(&mut self, text: String) -> String {
        let lines = text.lines().count();
        if lines <= PASTE_LINES && text.len() <= PASTE_CHARS {
            return text;
        }
        self.drop_retired();
        let number = self.number(|content| matches!(content, PlaceholderKind::Text(_)));
        let token = if lines > 1 {
            format!("[paste #{number}: {lines} lines]")
        } else {
            format!("[paste #{number}: {} characters]", text.chars().count())
        };
        self.add(token.clone(), PlaceholderKind::Text(text));
        token
    }

    /// Adds an image of this size in pixels; returns its placeholder.
    pub(super) fn add_image(&mut self, image: Image, (width, height): (usize, usize)) -> String {
        self.drop_retired();
        let number = self.number(|content| matches!(content, PlaceholderKind::Image(_)));
        self.register(format!("{IMAGE}{number}: {width}×{height}]"), image)
    }

    /// Registers the images of the placeholders in a text, in order. Returns the text, with new placeholders
    /// for those in use for other images.
    pub(super) fn adopt(&mut self, text: &str, images: &[Image]) -> String {
        self.drop_retired();
        let (mut out, mut rest, mut images) = (String::new(), text, images.iter());
        while let Some(at) = rest.find(IMAGE)
            && let Some(length) = rest[at..].find(']')
            && let Some(image) = images.next()
        {
            let (before, token) = (&rest[..at], rest[at..=at + length].to_owned());
            out.push_str(before);
            out.push_str(&self.register(token, image.clone()));
            rest = &rest[at + length + 1..];
        }
        out + rest
    }

    /// Registers an image under a placeholder, or under a new one of the same size if the placeholder is in
    /// use.
    fn register(&mut self, mut token: String, image: Image) -> String {
        let size = token.split_once(": ").map_or("]", |(_, size)| size).to_owned();
        let mut number = self.number(|content| matches!(content, PlaceholderKind::Image(_)));
        while let Some((_, content)) = self.entries.iter().find(|(known, _)| *known == token) {
            if matches!(content, PlaceholderKind::Image(known) if *known == image) {
                return token;
            }
            token = format!("{IMAGE}{number}: {size}");
            number += 1;
        }
        self.add(token.clone(), PlaceholderKind::Image(image));
        token
    }

    fn number(&self, is_of_kind: impl Fn(&PlaceholderKind) -> bool) -> usize {
        self.entries.iter().filter(|(_, content)| is_of_kind(content)).count() + 1
    }

    /// Replaces paste placeholders with their texts.
    pub(super) fn expand(&self, text: &str) -> String {
        self.entries.iter().fold(text.to_owned(), |text, (token, content)| match content {
            PlaceholderKind::Text(paste) => text.replace(token, paste),
            PlaceholderKind::Image(_) => text,
        })
    }

    /// Replaces paste placeholders with their texts, and removes image placeholders.
    pub(super) fn expand_without_images(&self, text: &str) -> String {
        self.entries.iter().fold(self.expand(text), |text, (token, content)| match content {
            PlaceholderKind::Text(_) => text,
            PlaceholderKind::Image(_) => text.replace(&format!("{token} "), "").replace(token, ""),
        })
    }

    /// The images whose placeholders occur in a text, in numerical order.
    pub(super) fn images(&self, text: &str) -> Vec<Image> {
        let used = self.entries.iter().filter(|(token, _)| text.contains(token));
        let image = |(_, content): &(String, PlaceholderKind)| match content {
            PlaceholderKind::Image(image) => Some(image.clone()),
            PlaceholderKind::Text(_) => None,
        };
        used.filter_map(image).collect()
    }

    /// The placeholder around a position, strictly inside.
    pub(super) fn around(&self, text: &str, at: usize) -> Option<Range<usize>> {
        let places = self.entries.iter().flat_map(|(token, _)| text.match_indices(token.as_str()));
        let mut places = places.map(|(start, token)| start..start + token.len());
        places.find(|place| place.start < at && at < place.end)
    }

    /// Length in bytes of the placeholder at the end of a text.
    pub(super) fn at_end(&self, text: &str) -> Option<usize> {
        self.entries.iter().map(|(token, _)| token).find(|token| text.ends_with(*token)).map(String::len)
    }

    /// Length in bytes of the placeholder at the beginning of a text.
    pub(super) fn at_start(&self, text: &str) -> Option<usize> {
        self.entries.iter().map(|(token, _)| token).find(|token| text.starts_with(*token)).map(String::len)
    }
}
