//! Where text leads: addresses that may be links, and those that stand in a text without being marked as such.
//!
//! A link leads to the web or to a file and nowhere else. Its address is plain ASCII without spaces and controls, so that none
//! can end the sequence that it is written in.

use std::borrow::Cow;
use std::sync::Arc;

use super::{Emphasis, Role, Span};

/// Bytes of the longest address that is a link; some terminals take no longer ones.
const LONGEST: usize = 2_083;

const SCHEMES: [&str; 3] = ["http://", "https://", "file://"];

/// What the text of an address that was found looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkSource {
    /// As what is around it: in what a command printed.
    AsItIs,
    /// As a link.
    AsLink,
}

/// The address that a link may lead to: `http`, `https` or `file`, of at most 2,083 bytes, without anything that a terminal
/// could take for something else. Letters beyond ASCII are written as `%C3%BC`.
#[must_use]
pub fn safe_address(address: &str) -> Option<Arc<str>> {
    let address = address.trim();
    let scheme = SCHEMES.iter().find(|scheme| starts_with_ignoring_case(address, scheme))?;
    let hidden = |c: char| c.is_control() || c.is_whitespace();
    if address.len() == scheme.len() || address.contains(hidden) {
        return None;
    }
    let escaped: Cow<'_, str> = if address.is_ascii() {
        Cow::Borrowed(address)
    } else {
        let escape = |byte: u8| match byte {
            b'!'..=b'~' => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        };
        address.bytes().map(escape).collect::<String>().into()
    };
    (escaped.len() <= LONGEST).then(|| Arc::from(escaped.as_ref()))
}

fn starts_with_ignoring_case(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// The same text with the addresses in it leading where they say. What is code, or leads somewhere already, stays as it is.
#[must_use]
pub fn linked(spans: Vec<Span>, found: LinkSource) -> Vec<Span> {
    let mut out: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        // Markdown comes in pieces that end in the middle of an address.
        match out.last_mut() {
            Some(last) if last.style == span.style && last.link == span.link => {
                last.text.push_str(&span.text)
            }
            _ => out.push(span),
        }
    }
    if !out.iter().any(may_hold_address) {
        return out;
    }
    let mut spans = Vec::with_capacity(out.len() + 2);
    for span in out {
        if may_hold_address(&span) { split(&span, found, &mut spans) } else { spans.push(span) }
    }
    spans
}

fn may_hold_address(span: &Span) -> bool {
    span.link.is_none() && span.style.role != Role::Code && span.text.contains("://")
}

fn split(span: &Span, found: LinkSource, out: &mut Vec<Span>) {
    let (mut from, mut look) = (0, 0);
    let piece = |text: &str| Span::new(text, span.style);
    while let Some(at) = span.text[look..].find("://").map(|at| look + at) {
        look = at + 3;
        let Some(start) = scheme_start(&span.text[from..at]).map(|start| from + start) else { continue };
        let end = start + address_length(&span.text[start..]);
        let Some(link) = safe_address(&span.text[start..end]) else { continue };
        out.extend((start > from).then(|| piece(&span.text[from..start])));
        let mut address = piece(&span.text[start..end]).leading_to(Some(link));
        if found == LinkSource::AsLink {
            address.style = address.style.in_role(Role::Link).with(Emphasis::UNDERLINE);
        }
        out.push(address);
        (from, look) = (end, end.max(look));
    }
    out.extend((from < span.text.len()).then(|| piece(&span.text[from..])));
}

/// Where the scheme begins that ends `before`, if it is one that links have and no longer word ends with it.
fn scheme_start(before: &str) -> Option<usize> {
    let word = before
        .rfind(|c: char| !c.is_ascii_alphanumeric())
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let scheme = &before[word..];
    SCHEMES.iter().any(|known| known.trim_end_matches("://").eq_ignore_ascii_case(scheme)).then_some(word)
}

/// Bytes of the address that `text` begins with: what ends the sentence doesn't belong to it, nor a bracket that it didn't open.
fn address_length(text: &str) -> usize {
    let ends = |c: char| c.is_whitespace() || c.is_control() || "<>\"`{}|\\^│".contains(c);
    let mut address = text.split(ends).next().unwrap_or_default();
    loop {
        let (open, close) = match address.chars().next_back() {
            Some('.' | ',' | ';' | ':' | '!' | '?' | '\'' | '*' | '_' | '…') => (' ', ' '),
            Some(')') => ('(', ')'),
            Some(']') => ('[', ']'),
            Some(_) | None => return address.len(),
        };
        let count = |c| address.matches(c).count();
        if open != ' ' && count(open) >= count(close) {
            return address.len();
        }
        let last = address.chars().next_back().map_or(0, char::len_utf8);
        address = &address[..address.len() - last];
    }
}

/// Whether the text of a link names another place than where it leads: another host, or another address.
pub(super) fn misleads(text: &str, address: &str) -> bool {
    let (text, address) = (plain(text), plain(address));
    if text == address {
        return false;
    }
    let Some(word) = text.split_whitespace().find(|word| is_address(word)) else { return false };
    let whole = word.len() == text.len();
    if whole && word.contains('/') { true } else { host(word) != host(&address) }
}

/// An address without what doesn't change where it leads.
fn plain(address: &str) -> String {
    let lower = address.trim().to_lowercase();
    let bare = lower.split_once("://").map_or(lower.as_str(), |(_, rest)| rest);
    bare.strip_prefix("www.").unwrap_or(bare).trim_end_matches('/').to_owned()
}

/// Whether a word reads as an address: `a.example`, `a.example/b`, `http://…`.
fn is_address(word: &str) -> bool {
    let host = host(word);
    let labels: Vec<&str> = host.split('.').collect();
    let is_label = |label: &&str| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-');
    let top = labels.last().copied().unwrap_or_default();
    word.contains("://")
        || (labels.len() > 1
            && labels.iter().all(is_label)
            && top.len() > 1
            && top.chars().any(char::is_alphabetic))
}

/// The host of an address without its scheme: what is before it is a name to log in with, which says nothing.
fn host(address: &str) -> &str {
    let authority = address.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    host.strip_prefix("www.").unwrap_or(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(text: &str) -> Vec<String> {
        let spans = linked(vec![Span::new(text, Role::Text)], LinkSource::AsLink);
        assert_eq!(spans.iter().map(|span| span.text.as_str()).collect::<String>(), text);
        spans.into_iter().filter(|span| span.link.is_some()).map(|span| span.text).collect()
    }

    #[test]
    fn addresses_in_a_text_lead_where_they_say() {
        assert_eq!(
            links("see https://a.b/c_d?e=f#g, or HTTP://x.y."),
            ["https://a.b/c_d?e=f#g", "HTTP://x.y"]
        );
        assert_eq!(
            links("(http://a.b/c_(d)) [http://e.f] <http://g.h>"),
            ["http://a.b/c_(d)", "http://e.f", "http://g.h"]
        );
        assert_eq!(links("file:///etc/hosts and \"https://a.b\""), ["file:///etc/hosts", "https://a.b"]);
        assert_eq!(links("ühttps://a.b nothttp://c.d ftp://e.f http:// ://"), ["https://a.b"]);
    }

    #[test]
    fn an_address_in_pieces_is_one() {
        let pieces = ["http://a.b/x", "_", "y z"].map(|text| Span::new(text, Role::Text));
        let spans = linked(pieces.to_vec(), LinkSource::AsItIs);
        assert_eq!(
            (spans[0].text.as_str(), spans[0].link.as_deref()),
            ("http://a.b/x_y", Some("http://a.b/x_y"))
        );
        assert_eq!(spans[0].style, Role::Text.into());
    }

    #[test]
    fn code_is_left_alone() {
        let code = vec![Span::new("http://a.b", Role::Code)];
        assert_eq!(linked(code.clone(), LinkSource::AsLink), code);
    }

    #[test]
    fn links_lead_to_the_web_and_to_files_only_and_end_no_sequence() {
        assert_eq!(safe_address(" https://ü.b/c ").as_deref(), Some("https://%C3%BC.b/c"));
        for address in [
            "javascript:alert(1)",
            "data:text/html,x",
            "mailto:a@b",
            "docs/a.md",
            "http://",
            "http://a\u{1b}\\b",
            "http://a b",
            "http://a\u{7}",
        ] {
            assert_eq!(safe_address(address), None, "{address}");
        }
        let longest = format!("http://{}", "a".repeat(LONGEST - 7));
        assert!(safe_address(&longest).is_some() && safe_address(&format!("{longest}a")).is_none());
    }

    #[test]
    fn a_text_that_names_another_place_misleads() {
        for (text, address) in [
            ("good.example", "https://evil.example"),
            ("https://good.example/a", "https://good.example/b"),
            ("good.example", "https://good.example@evil.example"),
            ("visit good.example now", "http://evil.example"),
            ("www.good.example", "file:///good.example"),
        ] {
            assert!(misleads(text, address), "{text} → {address}");
        }
        for (text, address) in [
            ("the docs", "https://docs.example/a"),
            ("good.example", "https://www.good.example/a"),
            ("http://a.example", "https://a.example/"),
            ("1.2", "https://a.example"),
            ("see a.example", "https://a.example:8080/b"),
        ] {
            assert!(!misleads(text, address), "{text} → {address}");
        }
    }
}
