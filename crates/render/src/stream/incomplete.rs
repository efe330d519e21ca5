//! The end of Markdown that is still arriving: what of it may be shown, and as what.

use std::borrow::Cow;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use crate::markdown::options;

/// Bytes of a link that may be held back: its text, its address and its title.
const LONGEST_LINK: usize = 2_500;

/// What of a text that goes on may be shown, whatever comes next: without an end that may yet turn into something else, and with
/// what is open at its end closed.
pub(super) fn arriving(text: &str) -> Cow<'_, str> {
    let leaf = Leaf::last(text);
    let kept = steady(text, leaf);
    let leaf = if kept.len() == text.len() { leaf } else { Leaf::last(kept) };
    closed(kept, leaf)
}

/// Closes what the last block leaves open, so that a word doesn't show its marks before it shows its style.
pub(super) fn mended(text: &str) -> Cow<'_, str> {
    closed(text, Leaf::last(text))
}

/// What a text ends with, whatever that stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaf {
    /// Words that are read as Markdown, from here on.
    Words(usize),
    Table(usize),
    Fence,
    IndentedCode,
}

impl Leaf {
    fn last(text: &str) -> Self {
        let (mut last, mut is_open) = (Self::Words(0), false);
        for (event, range) in Parser::new_ext(text, options()).into_offset_iter() {
            let begun = match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => Self::Fence,
                Event::Start(Tag::CodeBlock(CodeBlockKind::Indented)) => Self::IndentedCode,
                Event::Start(Tag::Table(_)) => Self::Table(line_start(text, range.start)),
                Event::End(TagEnd::CodeBlock | TagEnd::Table) => {
                    is_open = false;
                    continue;
                }
                _ if is_open => continue,
                Event::Start(Tag::Paragraph | Tag::Heading { .. } | Tag::Item | Tag::HtmlBlock) => {
                    Self::Words(range.start)
                }
                // In a list without free lines words have no paragraph of their own.
                Event::Text(_) | Event::Code(_) if !matches!(last, Self::Words(_)) => {
                    Self::Words(range.start)
                }
                _ => continue,
            };
            (last, is_open) = (begun, !matches!(begun, Self::Words(_)));
        }
        last
    }
}

/// Leaves out an end that may yet turn into something else: a line of marks, a fence without its end, a table's head, a row of it, a
/// link whose address isn't there yet.
fn steady(text: &str, leaf: Leaf) -> &str {
    let start = line_start(text, text.len());
    let line = &text[start..];
    let is_fence = {
        let line = behind_marks(line);
        let behind = line.trim_start_matches(['`', '~']);
        let length = line.len() - behind.len();
        // What has marks behind it is code in a line.
        (length >= 3 && !behind.contains('`')) || (length > 0 && length == line.trim_end().len())
    };
    match leaf {
        Leaf::Fence if is_fence => &text[..start],
        Leaf::Fence | Leaf::IndentedCode => text,
        Leaf::Table(from) => &text[..table_head(&text[from..start]).map_or(start, |at| from + at)],
        Leaf::Words(_) if is_fence || is_undecided(line) => &text[..start],
        Leaf::Words(from) => {
            let from = line_start(text, from);
            let head = table_head(&text[from..]).map(|at| from + at);
            let link =
                || open_link(line).map(|at| if is_undecided(&line[..at]) { start } else { start + at });
            &text[..head.or_else(link).unwrap_or(text.len())]
        }
    }
}

/// Where the line begins that goes on at `at`.
fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |at| at + 1)
}

/// What of a line stands behind the marks of quotes and of items.
fn behind_marks(line: &str) -> &str {
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

/// Whether a line that goes on may become anything: it has marks only, or a number that may count an item.
fn is_undecided(line: &str) -> bool {
    let is_number = |text: &str| {
        let rest = text.trim_start_matches(|c: char| c.is_ascii_digit());
        rest.len() < text.len() && matches!(rest.trim_end(), "" | "." | ")")
    };
    let inner = behind_marks(line);
    !line.trim().is_empty() && (inner.chars().all(|c| "-=*_#>`~+ ".contains(c)) || is_number(inner))
}

/// Where lines begin at the end of a text that are too few to tell whether they are a table.
fn table_head(text: &str) -> Option<usize> {
    let is_row = |line: &str| behind_marks(line).starts_with('|');
    let rows: usize = text.split_inclusive('\n').rev().take_while(|line| is_row(line)).map(str::len).sum();
    let head = &text[text.len() - rows..];
    (rows > 0 && head.matches('\n').count() < 2).then_some(text.len() - rows)
}

/// Where in a line a link begins that isn't complete, or a character whose meaning is changed by the next one.
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
                        return (rest.len() < LONGEST_LINK).then_some(at - usize::from(is_image));
                    }
                },
            };
    }
    None
}

/// Bytes of what a bracket opens, if it is closed and what follows can't make more of it.
fn link_length(text: &str) -> Option<usize> {
    let closed = closing(text, '[', ']')?;
    match text[closed..].chars().next()? {
        '(' => Some(closed + closing(&text[closed..], '(', ')')?),
        _ => Some(closed),
    }
}

/// Where after the bracket that closes the first one the text goes on.
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

/// Bytes of the inline code that begins `text`, marks and all; `None` where its end isn't there.
fn code_length(text: &str) -> Option<usize> {
    let marks = |text: &str| text.len() - text.trim_start_matches('`').len();
    let length = marks(text);
    let mut at = length;
    loop {
        at += text[at..].find('`')?;
        let found = marks(&text[at..]);
        at += found;
        if found == length {
            return Some(at);
        }
    }
}

/// A text with what its last words leave open closed.
fn closed(text: &str, leaf: Leaf) -> Cow<'_, str> {
    let Leaf::Words(from) = leaf else { return text.into() };
    let bare = text.trim_end_matches(['*', '_', '`', '~']);
    let text = if bare.is_empty() || bare.ends_with(char::is_whitespace) { bare } else { text };
    let open = Open::of(&text[from.min(text.len())..]);
    if open.marks.is_empty() && open.half == 0 {
        return text.into();
    }
    let closing: String = open.marks.into_iter().rev().collect();
    let padding = if open.is_padded { " " } else { "" };
    format!("{}{padding}{closing}", text[..text.len() - open.half].trim_end()).into()
}

/// What words leave open at their end.
#[derive(Default)]
struct Open<'a> {
    /// The marks that are opened and not closed.
    marks: Vec<&'a str>,
    /// How many bytes at the end are half of such a mark.
    half: usize,
    /// Whether a blank belongs before the mark that closes, as one stands behind the mark that opened: of inline code.
    is_padded: bool,
}

impl<'a> Open<'a> {
    fn of(words: &'a str) -> Self {
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
                    return Self { half: if is_half { mark.len() } else { 0 }, ..open };
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

    /// The same with inline code that begins `rest` and has no end.
    fn in_code(mut self, rest: &'a str) -> Self {
        let inner = rest.trim_start_matches('`');
        let said = inner.trim_end_matches('`');
        if said.trim().is_empty() {
            return Self { half: rest.len(), ..self };
        }
        self.marks.push(&rest[..rest.len() - inner.len()]);
        Self { half: inner.len() - said.len(), is_padded: inner.starts_with(' '), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_is_closed() {
        for (text, mended_to) in [
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
            assert_eq!(mended(text), mended_to, "{text}");
        }
    }

    #[test]
    fn a_link_waits_for_its_address_and_brackets_for_what_follows_them() {
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
            assert_eq!(steady(text, Leaf::last(text)), shown, "{text}");
        }
        let long = format!("[{}", "x".repeat(LONGEST_LINK));
        assert_eq!(steady(&long, Leaf::last(&long)), long);
    }
}
