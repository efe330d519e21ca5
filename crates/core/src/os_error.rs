//! Messages of the operating system for people: without the error number that the standard library appends.

/// Returns a message without every ` (os error N)`.
///
/// ```
/// let error = std::io::Error::from_raw_os_error(2);
/// let message = format!("/x: {error}; skipped");
/// assert_eq!(tiller_core::os_error::without_code(&message), "/x: No such file or directory; skipped");
/// ```
#[must_use]
pub fn without_code(message: &str) -> String {
    const START: &str = " (os error ";
    let mut parts = message.split(START);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        match rest.strip_prefix(')') {
            Some(rest) if rest.len() + 1 < part.len() => text.push_str(rest),
            _ => text.extend([START, part]),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_code_removes_only_error_numbers() {
        let text = "a: No such file or directory (os error 2); b: Is a directory (os error 21)";
        assert_eq!(without_code(text), "a: No such file or directory; b: Is a directory");
        for text in ["", " (os error )", "x (os error two)", "y (os error 2"] {
            assert_eq!(without_code(text), text);
        }
    }
}
