//! `.env` files: `NAME=VALUE` lines. Pure.

/// What a file says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parsed {
    pub(super) variables: Vec<(String, String)>,
    /// Numbers of the lines that say nothing, from 1.
    pub(super) unread: Vec<usize>,
}

/// Reads `NAME=VALUE` lines; `export` before the name, quotes around the value, blank lines and `#` comments are allowed.
pub(super) fn parse(text: &str) -> Parsed {
    let mut parsed = Parsed::default();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let line = line.strip_prefix("export ").unwrap_or(line);
        match line.split_once('=') {
            Some((name, value)) if is_name(name.trim()) => {
                parsed.variables.push((name.trim().to_owned(), unquoted(value.trim()).to_owned()));
            }
            Some(_) | None => parsed.unread.push(at + 1),
        }
    }
    parsed
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

fn unquoted(value: &str) -> &str {
    let within = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    within('"').or_else(|| within('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_read_and_the_rest_is_named() {
        let parsed = parse("# keys\nA=1\nexport B = \"two words\"\n\nnonsense\nC='x=y'\n");
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(parsed.variables, [pair("A", "1"), pair("B", "two words"), pair("C", "x=y")]);
        assert_eq!(parsed.unread, [5]);
    }
}
