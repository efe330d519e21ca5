//! The end of incomplete Markdown: determines the part of it to show, and closes open marks.

use std::borrow::Cow;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use crate::markdown::options;

/// Maximum length of a link that is held back, in bytes: text, address and title.
const MAX_LINK: usize = 2_500;

/// Returns the part of a growing text that may be shown whatever follows: without an end whose meaning may
/// change, and with open marks closed.
pub(super) fn shown_part(text: &str) -> Cow<'_, str> {
    let leaf = Leaf::last(text);
    let stable = stable_part(text, leaf);
    let leaf = if stable.len() == text.len() { leaf } else { Leaf::last(stable) };
    close_marks(stable, leaf)
}

/// Closes the marks that are open in the last block, so that text appears in its style immediately.
pub(super) fn close_open_marks(text: &str) -> Cow<'_, str> {
    close_marks(text, Leaf::last(text))
}

/// The innermost block at the end of a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaf {
    /// Inline Markdown that starts here.
    Inline(usize),
    Table(usize),
    Fence,
    IndentedCode,
}

impl Leaf {
    fn last(text: &str) -> Self {
        let (mut last, mut is_open) = (Self::Inline(0), false);
        for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
            let started = match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => Self::Fence,
                Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) => Self::IndentedCode,
                Event::Start(Tag::Table(_)) => Self::Table(line_start(text, range.start)),
                Event::End(TagEnd::CodeBlock | TagEnd::Table) => {
                    is_open = false;
                    continue;
                }
                _ if is_open => continue,
                Event::Start(Tag::Paragraph | Tag::Heading { .. } | Tag::Item | Tag::HtmlBlock) => {
                    Self::Inline(range.start)
                }
                // The text of a tight list has no paragraph.
                Event::Text(_) | Event::Code(_) if !matches!(last, Self::Inline(_)) => {
                    Self::Inline(range.start)
                }
                _ => continue,
            };
            (last, is_open) = (started, !matches!(started, Self::Inline(_)));
        }
        last
    }
}

/// Removes an end whose meaning may change: a line of marks, an unfinished fence, a table's head or row, or a
/// link without its address.
fn stable_part(text: &str, leaf: Leaf) -> &str {
    let start = line_start(text, text.len());
    let line = &text[start..];
    let is_fence = {
        let line = after_marks(line);
        let after = line.trim_start_matches(['`', '~']);
        let length = line.len() - after.len();
        // Backticks later in the line make it inline code.
        (length >= 3 && !after.contains('`')) || (length > 0 && length == line.trim_end().len())
    };
    match leaf {
        Leaf::Fence if is_fence => &text[..start],
        Leaf::Fence | Leaf::IndentedCode => text,
        Leaf::Table(from) => &text[..table_head(&text[from..start]).map_or(start, |at| from + at)],
        Leaf::Inline(_) if is_fence || is_undecided(line) => &text[..start],
        Leaf::Inline(from) => {
            let from = line_start(text, from);
            let head = table_head(&text[from..]).map(|at| from + at);
            let link =
                || open_link(line).map(|at| if is_undecided(&line[..at]) { start } else { start + at });
            &text[..head.or_else(link).unwrap_or(text.len())]
        }
    }
}

/// Returns the start of the line at this position.
pub(super) fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |at| at + 1)
}

/// Returns the part of a line after the marks of quotes and items.
fn after_marks(line: &str) -> &str {
    let mut rest = line.trim_start();
    loop {
        let number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let marks = if number.len() < rest.len() { [". ", ") "] } else { ["- ", "* "] };
        let inner = marks.iter().chain(&["+ ", ">"]).find_map(|mark| number.strip_prefix(mark));
        match inner {
            Some(inner) => rest = inner.trim_start(),
            None => return rest,
        }
    }
}

/// Returns true if an unfinished line may become a block of any kind: it has only marks, or a number that may
/// start an item.
fn is_undecided(line: &str) -> bool {
    let is_number = |text: &str| {
        let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < text.len() && matches!(rest.trim_end(), "" | "." | ")")
    };
    let inner = after_marks(line);
    !line.trim().is_empty() && (inner.chars().all(|c| "-=*_#>`~+ ".contains(c)) || is_number(inner))
}

/// Finds the start of the last lines of a string if they are too few to recognize a table.
fn table_head(text: &str) -> Option<usize> {
    let is_row = |line: &str| after_marks(line).starts_with('|');
    let rows: usize = text.split_inclusive('\n').rev().take_while(|line| is_row(line)).map(str::len).sum();
    let head = &text[text.len() - rows..];
    (rows > 0 && head.matches('\n').count() < 2).then_some(text.len() - rows)
}

/// Finds the start of an incomplete link in a line, or of a character whose meaning depends on the next one.
fn open_link(line: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = line[from..].find(['[', '`', '\\']).map(|at| from + at) {
        let rest = &line[at..];
        from = at
            + match rest.as_bytes()[0] {
                b'`' => code_length(rest)?,
                b'\\' => match rest[1..].chars().next() {
                    Some(c) => 1 + c.len_utf8(),
                    None => return Some(at),
                },
                _ => match link_length(rest) {
                    Some(length) => length,
                    None => {
                        let is_image = line[..at].ends_with('!');
                        return (rest.len() < MAX_LINK).then_some(at - usize::from(is_image));
                    }
                },
            };
    }
    None
}

/// Returns the length of a complete bracketed text or link, if no following text can extend it.
fn link_length(text: &str) -> Option<usize> {
    let closed = closing(text, '[', ']')?;
    match text[closed..].chars().next()? {
        '(' => Some(closed + closing(&text[closed..], '(', ')')?),
        _ => Some(closed),
    }
}

/// Finds the position after the bracket that closes the first one.
fn closing(text: &str, open: char, close: char) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
            if depth == 0 {
                return Some(at + c.len_utf8());
            }
        }
    }
    None
}

/// Returns the length of the inline code at the start of `text`, with its marks; `None` if it isn't closed.
fn code_length(text: &str) -> Option<usize> {
    let marks = |text: &str| text.len() - text.trim_start_matches('`').len();
    let length = marks(text);
    let mut at = length;
    loop {
        at += text[at..].find('`')?;
        let length_found = marks(&text[at..]);
        at += length_found;
        if length_found == length {
            return Some(at);
        }
    }
}

/// Closes the marks that are open at the end of the text.
fn close_marks(text: &str, leaf: Leaf) -> Cow<'_, str> {
    let Leaf::Inline(from) = leaf else { return text.into() };
    let trimmed = text.trim_end_matches(['*', '_', '`', '~']);
    let text = if trimmed.is_empty() || trimmed.ends_with(char::is_whitespace) { trimmed } else { text };
    let open = OpenMarks::parse(&text[from.min(text.len())..]);
    if open.marks.is_empty() && open.partial == 0 {
        return text.into();
    }
    let closing: String = open.marks.into_iter().rev().collect();
    let padding = if open.is_padded { " " } else { "" };
    format!("{}{padding}{closing}", text[..text.len() - open.partial].trim_end()).into()
}

/// The state at the end of inline text.
#[derive(Default)]
struct OpenMarks<'a> {
    /// The open marks.
    marks: Vec<&'a str>,
    /// The number of bytes at the end that are an incomplete mark.
    partial: usize,
    /// For inline code: true if the closing mark needs a space before it, because a space follows the opening
    /// one.
    is_padded: bool,
}

impl<'a> OpenMarks<'a> {
    fn parse(words: &'a str) -> Self {
        const MARKS: [&str; 5] = ["**", "__", "~~", "*", "_"];
        let (mut open, mut at, mut before) = (Self::default(), 0, ' ');
        while let Some(c) = words[at..].chars().next() {
            let rest = &words[at..];
            if c == '`' {
                let Some(length) = code_length(rest) else { return open.in_code(rest) };
                (at, before) = (at + length, '`');
                continue;
            }
            if c == '\\' {
                before = rest[1..].chars().next().unwrap_or(c);
                at += 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
                continue;
            }
            let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) else {
                (at, before) = (at + c.len_utf8(), c);
                continue;
            };
            let after = rest[mark.len()..].chars().next();
            let opened = open.marks.iter().rposition(|other| other == mark);
            match opened {
                Some(opened) if !before.is_whitespace() => _ = open.marks.remove(opened),
                _ if after.is_none() => {
                    let is_half = open.marks.iter().any(|other| other.len() == 2 && other.starts_with(mark));
                    return Self { partial: if is_half { mark.len() } else { 0 }, ..open };
                }
                _ if after.is_some_and(|c| !c.is_whitespace()) && !before.is_alphanumeric() => {
                    open.marks.push(mark);
                }
                _ => {}
            }
            (at, before) = (at + mark.len(), c);
        }
        open
    }

    /// Adds unclosed inline code that begins at `rest`.
    fn in_code(mut self, rest: &'a str) -> Self {
        let inner = rest.trim_start_matches('`');
        let content = inner.trim_end_matches('`');
        if content.trim().is_empty() {
            return Self { partial: rest.len(), ..self };
        }
        self.marks.push(&rest[..rest.len() - inner.len()]);
        Self { partial: inner.len() - content.len(), is_padded: inner.starts_with(' '), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_open_marks_closes_each_mark() {
        for (text, expected) in [
            ("a **b", "a **b**"),
            ("a **b*", "a **b**"),
            ("a **b `c", "a **b `c`**"),
            ("*a ~~b", "*a ~~b~~*"),
            ("***both***", "***both***"),
            ("a ", "a "),
            ("a **", "a "),
            ("2 * 3 and a_b", "2 * 3 and a_b"),
            ("`*` and `**", "`*` and "),
            ("over **two\nlines", "over **two\nlines**"),
            ("**a\n\nb", "**a\n\nb"),
            (r"use \*args and \_x and \`", r"use \*args and \_x and \`"),
            (r"a\\ *b", r"a\\ *b*"),
            ("`` `a", "`` `a ``"),
            ("`co``", "`co`"),
            ("a `", "a "),
            ("- *b\n- **c", "- *b\n- **c**"),
            ("- a\n  ```sh\n  ls *.rs `a", "- a\n  ```sh\n  ls *.rs `a"),
            ("    indented *a", "    indented *a"),
        ] {
            assert_eq!(close_open_marks(text), expected, "{text}");
        }
    }

    #[test]
    fn stable_part_holds_back_incomplete_links() {
        for (text, shown) in [
            ("see [the", "see "),
            ("see [the docs]", "see "),
            ("see [the docs](http://a", "see "),
            ("see [the docs](http://a(b)) x", "see [the docs](http://a(b)) x"),
            ("see ![alt", "see "),
            ("[![alt](u)](v", ""),
            ("a[0] = [1, 2].", "a[0] = [1, 2]."),
            ("line [x\nnext", "line [x\nnext"),
            ("a\n```r", "a\n"),
            ("a\n```ls``` b", "a\n```ls``` b"),
        ] {
            assert_eq!(stable_part(text, Leaf::last(text)), shown, "{text}");
        }
        let long = format!("[{}", "x".repeat(MAX_LINK));
        assert_eq!(stable_part(&long, Leaf::last(&long)), long);
    }
}
