//! Link targets: checks addresses, and finds addresses in text.
//!
//! A link may lead only to the web or to a file. Its address is ASCII without spaces and control characters,
//! so that it can't end the escape sequence that contains it.

use std::borrow::Cow;
use std::sync::Arc;

use percent_encoding::{CONTROLS, utf8_percent_encode};

use super::{Emphasis, Role, Span};

/// Maximum length of a link's address, in bytes; some terminals don't support longer ones.
const MAX_BYTES: usize = 2_083;

const SCHEMES: [&str; 3] = ["http://", "https://", "file://"];

/// The appearance of addresses that are found in text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressStyle {
    /// Like the surrounding text, for command output.
    AsItIs,
    /// Like a link.
    AsLink,
}

/// Returns the address if a link may lead to it: `http`, `https` or `file`, at most 2,083 bytes, without
/// characters that a terminal could interpret. Non-ASCII characters are percent-encoded.
#[must_use]
pub fn safe_address(address: &str) -> Option<Arc<str>> {
    let address = address.trim();
    let scheme = SCHEMES.iter().find(|scheme| starts_with_ignoring_case(address, scheme))?;
    let is_forbidden = |c: char| c.is_control() || c.is_whitespace();
    if address.len() == scheme.len() || address.contains(is_forbidden) {
        return None;
    }
    let escaped: Cow<'_, str> = utf8_percent_encode(address, CONTROLS).into();
    (escaped.len() <= MAX_BYTES).then(|| Arc::from(escaped.as_ref()))
}

fn starts_with_ignoring_case(text: &str, start: &str) -> bool {
    text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start))
}

/// Turns addresses in text into links. Code and existing links are unchanged.
#[must_use]
pub fn link_addresses(spans: Vec<Span>, style: AddressStyle) -> Vec<Span> {
    let mut out: Vec<Span> = Vec::with_capacity(spans.len());
    for span in spans {
        // Markdown text arrives in pieces, which may end in the middle of an address.
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
        if may_hold_address(&span) { split(&span, style, &mut spans) } else { spans.push(span) }
    }
    spans
}

fn may_hold_address(span: &Span) -> bool {
    span.link.is_none() && span.style.role != Role::Code && span.text.contains("://")
}

fn split(span: &Span, style: AddressStyle, out: &mut Vec<Span>) {
    let (mut from, mut search_from) = (0, 0);
    let piece = |text: &str| Span::new(text, span.style);
    while let Some(at) = span.text[search_from..].find("://").map(|at| search_from + at) {
        search_from = at + 3;
        let Some(start) = scheme_start(&span.text[from..at]).map(|start| from + start) else { continue };
        let end = start + address_length(&span.text[start..]);
        let Some(link) = safe_address(&span.text[start..end]) else { continue };
        out.extend((start > from).then(|| piece(&span.text[from..start])));
        let mut address = piece(&span.text[start..end]).with_link(Some(link));
        if style == AddressStyle::AsLink {
            address.style = address.style.in_role(Role::Link).with(Emphasis::UNDERLINE);
        }
        out.push(address);
        (from, search_from) = (end, end.max(search_from));
    }
    out.extend((from < span.text.len()).then(|| piece(&span.text[from..])));
}

/// Finds the start of a known scheme at the end of `before`, unless it is part of a longer word.
fn scheme_start(before: &str) -> Option<usize> {
    let word = before
        .rfind(|c: char| !c.is_ascii_alphanumeric())
        .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
    let scheme = &before[word..];
    SCHEMES.iter().any(|known| known.trim_end_matches("://").eq_ignore_ascii_case(scheme)).then_some(word)
}

/// Returns the length in bytes of the address at the start of `text`, without trailing punctuation and
/// unbalanced brackets.
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

/// Returns true if a link's text looks like an address but its target has another host or path.
pub(super) fn is_misleading(text: &str, address: &str) -> bool {
    let (text, address) = (normalize(text), normalize(address));
    if text == address {
        return false;
    }
    let Some(word) = text.split_whitespace().find(|word| is_address(word)) else { return false };
    let is_whole = word.len() == text.len();
    if is_whole && word.contains('/') { true } else { host(word) != host(&address) }
}

fn normalize(address: &str) -> String {
    let lower = address.trim().to_lowercase();
    let bare = lower.split_once("://").map_or(lower.as_str(), |(_, rest)| rest);
    bare.strip_prefix("www.").unwrap_or(bare).trim_end_matches('/').to_owned()
}

/// Returns true if a word looks like an address: `a.example`, `a.example/b`, `http://…`.
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

/// Returns the host of an address without its scheme. A user name before the host is ignored.
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
        let spans = link_addresses(vec![Span::new(text, Role::Text)], AddressStyle::AsLink);
        assert_eq!(spans.iter().map(|span| span.text.as_str()).collect::<String>(), text);
        spans.into_iter().filter(|span| span.link.is_some()).map(|span| span.text).collect()
    }

    #[test]
    fn linked_addresses_in_text_are_links() {
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
    fn linked_address_in_several_spans_is_one_link() {
        let pieces = ["http://a.b/x", "_", "y z"].map(|text| Span::new(text, Role::Text));
        let spans = link_addresses(pieces.to_vec(), AddressStyle::AsItIs);
        assert_eq!(
            (spans[0].text.as_str(), spans[0].link.as_deref()),
            ("http://a.b/x_y", Some("http://a.b/x_y"))
        );
        assert_eq!(spans[0].style, Role::Text.into());
    }

    #[test]
    fn linked_code_is_unchanged() {
        let code = vec![Span::new("http://a.b", Role::Code)];
        assert_eq!(link_addresses(code.clone(), AddressStyle::AsLink), code);
    }

    #[test]
    fn safe_address_allows_web_and_files_only() {
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
        let longest = format!("http://{}", "a".repeat(MAX_BYTES - 7));
        assert!(safe_address(&longest).is_some() && safe_address(&format!("{longest}a")).is_none());
    }

    #[test]
    fn misleads_text_with_another_host_or_address() {
        for (text, address) in [
            ("good.example", "https://evil.example"),
            ("https://good.example/a", "https://good.example/b"),
            ("good.example", "https://good.example@evil.example"),
            ("visit good.example now", "http://evil.example"),
            ("www.good.example", "file:///good.example"),
        ] {
            assert!(is_misleading(text, address), "{text} → {address}");
        }
        for (text, address) in [
            ("the docs", "https://docs.example/a"),
            ("good.example", "https://www.good.example/a"),
            ("http://a.example", "https://a.example/"),
            ("1.2", "https://a.example"),
            ("see a.example", "https://a.example:8080/b"),
        ] {
            assert!(!is_misleading(text, address), "{text} → {address}");
        }
    }
}
