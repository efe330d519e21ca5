//! Messages of JSON errors for people. `serde_json` appends the position, which our messages name themselves.

/// Returns an error's message without its position.
///
/// ```
/// let error = serde_json::from_str::<u8>("{}").unwrap_err();
/// assert_eq!(tiller_core::json_error::without_position(&error), "invalid type: map, expected u8");
/// ```
#[must_use]
pub fn without_position(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    message.strip_suffix(&position).unwrap_or(&message).to_owned()
}

/// Describes a syntax error in a file, beginning with its position: `line 2, column 5: invalid JSON: expected value`.
#[must_use]
pub fn in_file(error: &serde_json::Error) -> String {
    let (line, column) = (error.line(), error.column());
    match column {
        _ if error.is_eof() => format!("line {line}: invalid JSON: unexpected end of file"),
        // A newline where something else is expected.
        0 => format!("line {line}: invalid JSON: {}", without_position(error)),
        _ => format!("line {line}, column {column}: invalid JSON: {}", without_position(error)),
    }
}

/// Rewords a message about an unknown value of an enum, which serde calls a variant. Other messages are unchanged.
///
/// ```
/// let message = "unknown variant `huge`, expected one of `off`, `low`, `high`";
/// let reworded = tiller_core::json_error::without_variant(message);
/// assert_eq!(reworded, "`huge` is not one of `off`, `low`, `high`");
/// ```
#[must_use]
pub fn without_variant(message: &str) -> String {
    let parts = message.strip_prefix("unknown variant ").and_then(|rest| rest.rsplit_once(", expected "));
    parts.map_or_else(|| message.to_owned(), |(value, expected)| format!("{value} is not {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_variant_names_value_and_choices() {
        assert_eq!(without_variant("unknown variant `a`, expected `b`"), "`a` is not `b`");
        assert_eq!(without_variant("unknown variant `a`, expected `b` or `c`"), "`a` is not `b` or `c`");
        assert_eq!(without_variant("unknown field `a`, expected `b`"), "unknown field `a`, expected `b`");
    }

    #[test]
    fn in_file_names_the_position_once() {
        let describe = |text: &str| in_file(&serde_json::from_str::<serde_json::Value>(text).unwrap_err());
        assert_eq!(describe("{\n"), "line 2: invalid JSON: unexpected end of file");
        assert_eq!(describe("{\n  \"a\": b}"), "line 2, column 8: invalid JSON: expected value");
        assert_eq!(
            describe("{\"a\n"),
            "line 2: invalid JSON: control character (\\u0000-\\u001F) found while parsing a string"
        );
    }
}
