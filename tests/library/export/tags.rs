//! The tags of a page, compared to the list of allowed ones.

/// Allowed tags.
const TAGS: [&str; 48] = [
    "html",
    "head",
    "link",
    "meta",
    "title",
    "style",
    "script",
    "body",
    "header",
    "div",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "p",
    "span",
    "input",
    "button",
    "aside",
    "details",
    "summary",
    "nav",
    "a",
    "kbd",
    "main",
    "article",
    "time",
    "ol",
    "ul",
    "li",
    "pre",
    "code",
    "em",
    "strong",
    "s",
    "blockquote",
    "hr",
    "br",
    "table",
    "thead",
    "tbody",
    "tr",
    "th",
    "td",
    "img",
    "template",
];

/// Their allowed attributes.
const ATTRIBUTES: [&str; 31] = [
    "lang",
    "charset",
    "http-equiv",
    "content",
    "name",
    "class",
    "id",
    "hidden",
    "type",
    "placeholder",
    "aria-label",
    "autocomplete",
    "spellcheck",
    "data-do",
    "data-part",
    "data-n",
    "data-p",
    "aria-pressed",
    "aria-live",
    "aria-current",
    "open",
    "href",
    "rel",
    "src",
    "alt",
    "decoding",
    "tabindex",
    "role",
    "datetime",
    "title",
    "start",
];

/// Fails unless the page has its two scripts and its style sheet, and its tags are valid.
pub(super) fn check(page: &str) {
    check_fragment(page);
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("<style").count(), 1);
}

/// Fails unless the tags are well formed, closed in order, known, and lead nowhere that could run or load anything.
pub(super) fn check_fragment(page: &str) {
    let mut rest = page;
    let mut open: Vec<&str> = Vec::new();
    while let Some(at) = rest.find('<') {
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix("!doctype html>") {
            rest = after;
            continue;
        }
        let (tag, after) = rest.split_once('>').unwrap();
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name), "<{tag}> closes another tag");
            continue;
        }
        let name = tag.split(' ').next().unwrap();
        assert!(TAGS.contains(&name), "<{tag}> isn't a tag of a page");
        attributes(tag);
        if matches!(name, "style" | "script") {
            rest = rest.split_once(&format!("</{name}>")).unwrap().1;
        } else if !matches!(name, "meta" | "link" | "input" | "img" | "br" | "hr") {
            open.push(name);
        }
    }
    assert_eq!(open, [""; 0], "what was opened was closed");
}

fn attributes(tag: &str) {
    let mut rest = tag.split_once(' ').map_or("", |(_, rest)| rest);
    while !rest.is_empty() {
        let end = rest.find(['=', ' ']).unwrap_or(rest.len());
        let name = &rest[..end];
        assert!(ATTRIBUTES.contains(&name), "`{name}` of <{tag}> isn't an attribute of a page");
        rest = &rest[end..];
        if let Some(quoted) = rest.strip_prefix("=\"") {
            let (value, after) = quoted.split_once('"').unwrap();
            assert!(!value.contains(['<', '>']), "{value}");
            match name {
                // The empty icon.
                "href" if value == "data:," => {}
                "href" => assert!(
                    ["#", "http://", "https://", "mailto:"]
                        .iter()
                        .any(|p| value.to_lowercase().starts_with(p)),
                    "{value}"
                ),
                "src" => assert!(value.starts_with("data:image/") && !value.contains("svg"), "{value}"),
                _ => {}
            }
            rest = after;
        }
        rest = rest.trim_start_matches(' ');
    }
}
