//! The end of Markdown that is still arriving: what of it may be shown, and as what.

use std::borrow::Cow;

/// Bytes of a link that may be held back: its text, its address and its title.
const LONGEST_LINK: usize = 2_500;

/// Leaves out an end that may yet turn into something else: a line of marks, a fence without its end, a table's head, a link
/// whose address isn't there yet.
pub(super) fn steady(text: &str) -> &str {
    let start = text.rfind('\n').map_or(0, |at| at + 1);
    let line = text[start..].trim_start();
    if line.starts_with("```") || line.starts_with("~~~") {
        return &text[..start];
    }
    if !line.is_empty() && line.chars().all(|c| "-=*_#>`~+ ".contains(c)) {
        return &text[..start];
    }
    let block = text.rfind("\n\n").map_or(0, |at| at + 2);
    if text[block..].trim_start().starts_with('|') {
        let rows = text[block..].matches('\n').count();
        return if rows < 2 { &text[..block] } else { &text[..start] };
    }
    &text[..open_link(&text[start..]).map_or(text.len(), |at| start + at)]
}

/// Where in a line a link begins that isn't complete.
fn open_link(line: &str) -> Option<usize> {
    let mut from = 0;
    while let Some(at) = line[from..].find('[').map(|at| from + at) {
        let Some(length) = link_length(&line[at..]) else {
            let is_image = line[..at].ends_with('!');
            return (line.len() - at < LONGEST_LINK).then_some(at - usize::from(is_image));
        };
        from = at + length;
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

/// Closes what the last block leaves open, so that a word doesn't show its marks before it shows its style.
pub(super) fn mended(text: &str) -> Cow<'_, str> {
    let bare = text.trim_end_matches(['*', '_', '`', '~']);
    let text = if bare.is_empty() || bare.ends_with(char::is_whitespace) { bare } else { text };
    let block = text.rsplit("\n\n").next().unwrap_or_default();
    let (open, half) = open_marks(block);
    if open.is_empty() {
        return text.into();
    }
    let closing: String = open.into_iter().rev().collect();
    format!("{}{closing}", text[..text.len() - half].trim_end()).into()
}

/// The marks that a block opens and doesn't close, and how many bytes at its end are half of such a mark.
fn open_marks(block: &str) -> (Vec<&str>, usize) {
    const MARKS: [&str; 5] = ["**", "__", "~~", "*", "_"];
    let (mut open, mut at, mut before): (Vec<&str>, usize, char) = (Vec::new(), 0, ' ');
    while let Some(c) = block[at..].chars().next() {
        let rest = &block[at..];
        if c == '`' {
            let fence = &rest[..rest.len() - rest.trim_start_matches('`').len()];
            let Some(end) = rest[fence.len()..].find(fence) else {
                open.push(fence);
                return (open, 0);
            };
            (at, before) = (at + end + 2 * fence.len(), '`');
            continue;
        }
        let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) else {
            (at, before) = (at + c.len_utf8(), c);
            continue;
        };
        let after = rest[mark.len()..].chars().next();
        let opened = open.iter().rposition(|other| other == mark);
        match opened {
            Some(opened) if !before.is_whitespace() => _ = open.remove(opened),
            _ if after.is_none() => {
                let is_half = open.iter().any(|other| other.len() == 2 && other.starts_with(mark));
                return (open, if is_half { mark.len() } else { 0 });
            }
            _ if after.is_some_and(|c| !c.is_whitespace()) && !before.is_alphanumeric() => open.push(mark),
            _ => {}
        }
        (at, before) = (at + mark.len(), c);
    }
    (open, 0)
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
        ] {
            assert_eq!(steady(text), shown, "{text}");
        }
        let long = format!("[{}", "x".repeat(LONGEST_LINK));
        assert_eq!(steady(&long), long);
    }
}
