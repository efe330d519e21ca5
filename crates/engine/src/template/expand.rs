//! Insertion of arguments into a template's body. Pure.
//!
//! The body is scanned once from left to right, and inserted text is not scanned again: an argument `$1`
//! stays `$1`.

use super::arguments::TemplateArguments;
use super::parse::Template;

/// A placeholder in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Placeholder<'a> {
    /// `$1`, `${12}`
    Argument(usize),
    /// `$@`, `$ARGUMENTS`
    All,
    /// `${@:2}`, `${@:2:3}`
    Slice(usize, usize),
    /// `${1:-default}`
    WithDefault(DefaultedPlaceholder, &'a str),
}

/// A placeholder that may have a default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DefaultedPlaceholder {
    One(usize),
    All,
}

impl Template {
    /// Returns the prompt with these arguments, which are quoted as in a shell. Missing arguments are empty.
    /// If the body has no placeholder, the arguments follow it.
    #[must_use]
    pub fn expand(&self, arguments: &str) -> String {
        let text = arguments.trim();
        let arguments = TemplateArguments::parse(text);
        let mut expanded = String::with_capacity(self.body.len() + text.len());
        let mut rest: &str = &self.body;
        let mut used = false;
        while let Some(at) = rest.find('$') {
            expanded.push_str(&rest[..at]);
            rest = &rest[at..];
            match parse_placeholder(&rest[1..]) {
                Some((placeholder, length)) => {
                    expanded.push_str(&substitute(placeholder, &arguments));
                    rest = &rest[1 + length..];
                    used = true;
                }
                None => {
                    expanded.push('$');
                    rest = &rest[1..];
                }
            }
        }
        expanded.push_str(rest);
        if !used && !text.is_empty() {
            expanded.push_str("\n\n");
            expanded.push_str(text);
        }
        expanded
    }
}

fn substitute(placeholder: Placeholder<'_>, arguments: &TemplateArguments) -> String {
    match placeholder {
        Placeholder::Argument(position) => arguments.at(position).unwrap_or_default().to_owned(),
        Placeholder::All => arguments.all(),
        Placeholder::Slice(position, count) => arguments.from(position, count),
        Placeholder::WithDefault(base, default) => {
            let argument = match base {
                DefaultedPlaceholder::One(position) => arguments.at(position).unwrap_or_default().to_owned(),
                DefaultedPlaceholder::All => arguments.all(),
            };
            if argument.is_empty() { default.to_owned() } else { argument }
        }
    }
}

/// Parses the placeholder after a `$`; returns it with its length in bytes, or `None` if the `$` is literal.
fn parse_placeholder(text: &str) -> Option<(Placeholder<'_>, usize)> {
    match text.chars().next()? {
        '{' => {
            let end = text.find('}')?;
            Some((parse_braced(&text[1..end])?, end + 1))
        }
        '@' => Some((Placeholder::All, 1)),
        // `$12` is the twelfth argument, as in pi, not the first one followed by a 2, as in a shell.
        '1'..='9' => {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            Some((Placeholder::Argument(text[..digits].parse().ok()?), digits))
        }
        _ => {
            let after = text.strip_prefix("ARGUMENTS")?;
            let goes_on = after.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            (!goes_on).then_some((Placeholder::All, "ARGUMENTS".len()))
        }
    }
}

fn parse_braced(inner: &str) -> Option<Placeholder<'_>> {
    if let Some((base, default)) = inner.split_once(":-") {
        return Some(Placeholder::WithDefault(self::parse_base(base)?, default));
    }
    if let Some(range) = inner.strip_prefix("@:") {
        let (from, count) = match range.split_once(':') {
            Some((from, count)) => (from, parse_number(count)?),
            None => (range, usize::MAX),
        };
        return Some(Placeholder::Slice(parse_number(from)?, count));
    }
    Some(match parse_base(inner)? {
        DefaultedPlaceholder::One(position) => Placeholder::Argument(position),
        DefaultedPlaceholder::All => Placeholder::All,
    })
}

fn parse_base(text: &str) -> Option<DefaultedPlaceholder> {
    match text {
        "@" | "ARGUMENTS" => Some(DefaultedPlaceholder::All),
        number => parse_number(number).filter(|number| *number > 0).map(DefaultedPlaceholder::One),
    }
}

fn parse_number(text: &str) -> Option<usize> {
    let text = text.trim();
    text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use tiller_files::search_path::ResourceOrigin;

    use super::*;

    fn expand(body: &str, arguments: &str) -> String {
        let template = Template {
            name: "t".into(),
            description: String::new(),
            argument_hint: None,
            body: body.into(),
            path: "/t.md".into(),
            origin: ResourceOrigin::User,
        };
        template.expand(arguments)
    }

    #[test]
    fn expand_arguments_replace_their_placeholders() {
        assert_eq!(expand("$1 and $2, not $3.", r#""a b" c"#), "a b and c, not .");
        assert_eq!(
            expand("$@ | $ARGUMENTS | ${@} | ${ARGUMENTS}", "a  'b c'"),
            "a b c | a b c | a b c | a b c"
        );
        assert_eq!(expand("${10}${1}0 $10", "a b c d e f g h i j"), "ja0 j");
        assert_eq!(expand("${@:2}|${@:2:2}|${@:9}|${@:0:1}", "a b c d"), "b c d|b c||a");
        assert_eq!(expand("${1:-all} ${2:-of it} ${@:-x} ${ARGUMENTS:-y}", ""), "all of it x y");
        assert_eq!(expand("${1:-all} ${2:-of it} ${@:-x}", "src ''"), "src of it src ");
    }

    #[test]
    fn expand_other_dollar_signs_are_literal() {
        let body = "costs $5.00 $0 $$ $x ${ ${x} ${1 $ARGUMENTSX ${@:x} ${0} $";
        assert_eq!(expand(&body.replace("$5", "$ 5"), "a"), format!("{}\n\na", body.replace("$5", "$ 5")));
    }

    #[test]
    fn expand_inserted_text_is_not_expanded_again() {
        assert_eq!(expand("$1 $2", "'$2' '$1 ${@}'"), "$2 $1 ${@}");
        assert_eq!(expand("${1:-$2} $ARGUMENTS", ""), "$2 ");
    }

    #[test]
    fn expand_arguments_without_placeholder_follow_the_body() {
        assert_eq!(expand("Review it.", " the 'parser'\nnow "), "Review it.\n\nthe 'parser'\nnow");
        assert_eq!(expand("Review it.", "  "), "Review it.");
        assert_eq!(expand("Review $1.", "a b"), "Review a.");
    }
}
