//! An HTML builder that escapes all text and attribute values.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::render::{ControlChars, Role, Span, sanitize};

/// The HTML so far. Only string literals in the program are written unescaped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Markup(String);

impl Markup {
    /// Adds tags, unescaped.
    pub(super) fn tags(&mut self, tags: &'static str) -> &mut Self {
        self.0.push_str(tags);
        self
    }

    /// Adds text, escaped.
    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.escaped(text, ControlChars::Visible)
    }

    /// Adds command output, escaped, with control sequences interpreted.
    pub(super) fn command_output(&mut self, text: &str) -> &mut Self {
        self.escaped(text, ControlChars::Interpreted)
    }

    pub(super) fn number(&mut self, number: usize) -> &mut Self {
        self.0.push_str(&number.to_string());
        self
    }

    /// Adds an attribute to the open tag.
    pub(super) fn attribute(&mut self, name: &'static str, value: &str) -> &mut Self {
        self.tags(" ").tags(name).tags("=\"").text(value).tags("\"")
    }

    pub(super) fn markup(&mut self, other: &Self) -> &mut Self {
        self.0.push_str(&other.0);
        self
    }

    /// Adds styled text.
    pub(super) fn spans(&mut self, spans: &[Span]) -> &mut Self {
        for span in spans {
            match class(span.style.role) {
                Some(class) => {
                    self.tags("<span").attribute("class", class).tags(">").text(&span.text).tags("</span>")
                }
                None => self.text(&span.text),
            };
        }
        self
    }

    #[cfg(test)]
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    pub(super) fn into_string(self) -> String {
        self.0
    }

    fn escaped(&mut self, text: &str, control_chars: ControlChars) -> &mut Self {
        for c in sanitize(text, control_chars).chars() {
            match c {
                '&' => self.0.push_str("&amp;"),
                '<' => self.0.push_str("&lt;"),
                '>' => self.0.push_str("&gt;"),
                '"' => self.0.push_str("&quot;"),
                '\'' => self.0.push_str("&#39;"),
                c => self.0.push(c),
            }
        }
        self
    }
}

/// Returns the CSS class of a role; plain text has none.
const fn class(role: Role) -> Option<&'static str> {
    Some(match role {
        Role::Keyword => "k",
        Role::String => "s",
        Role::Comment => "c",
        Role::Constant => "n",
        Role::Function => "f",
        Role::Type => "t",
        Role::Operator => "o",
        Role::Name => "a",
        Role::DiffAdded => "add",
        Role::DiffRemoved => "del",
        Role::DiffAddedWord | Role::DiffRemovedWord => "word",
        Role::Heading => "h",
        Role::Link => "f",
        Role::Text
        | Role::Muted
        | Role::Accent
        | Role::Code
        | Role::Quote
        | Role::Error
        | Role::Success
        | Role::Warning
        | Role::User
        | Role::Thinking => return None,
    })
}

/// Returns the link to an entry's anchor, percent-encoded.
pub(super) fn fragment(anchor: &str) -> String {
    const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
    format!("#{}", utf8_percent_encode(anchor, ESCAPED))
}

/// Returns the address if a link may lead to it: to the web or mail, but to nothing that runs or loads
/// anything.
pub(super) fn safe_address(address: &str) -> Option<&str> {
    let address = address.trim();
    let lower = address.to_ascii_lowercase();
    let is_known = ["http://", "https://", "mailto:"].iter().any(|scheme| lower.starts_with(scheme));
    (is_known && !address.contains(|c: char| c.is_control() || c.is_whitespace())).then_some(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_text_and_values_are_escaped() {
        let mut markup = Markup::default();
        markup.tags("<a").attribute("title", "\"><script>'").tags(">").text("<!-- & \u{2028}\u{0}");
        assert_eq!(
            markup.as_str(),
            "<a title=\"&quot;&gt;&lt;script&gt;&#39;\">&lt;!-- &amp; &lt;U+2028&gt;\u{2400}"
        );
    }

    #[test]
    fn safe_address_allows_web_and_mail_only() {
        assert_eq!(safe_address(" HTTPS://a.b/c?d#e "), Some("HTTPS://a.b/c?d#e"));
        assert_eq!(safe_address("mailto:a@b"), Some("mailto:a@b"));
        for address in [
            "javascript:x",
            "java\nscript:x",
            "data:text/html,x",
            "//a.b",
            "file:///x",
            "#x",
            "http://a\u{0}",
        ] {
            assert_eq!(safe_address(address), None, "{address}");
        }
    }

    #[test]
    fn fragment_encodes_any_id() {
        assert_eq!(fragment("a b/\"ü~1"), "#a%20b%2F%22%C3%BC~1");
    }
}
