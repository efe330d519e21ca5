//! Notices for the model in the text of a result, as a line in brackets.

use tiller_core::unit::thousands;

/// Returns the notice about a truncated result: `OUTPUT TRUNCATED: showing 40,000 of 120,000 characters from
/// bash; REST`. `rest` describes how to read the rest. Without `total`, the size of the omitted part isn't
/// known.
pub(super) fn truncation_notice(shown: usize, total: Option<usize>, source: &str, rest: &str) -> String {
    let total = total.map(|total| format!("of {} ", thousands(total))).unwrap_or_default();
    format!("OUTPUT TRUNCATED: showing {} {total}characters from {source}; {rest}", thousands(shown))
}

/// Appends a notice for the model to a string, on a separate line.
pub(super) fn push_notice(text: &mut String, notice: &str) {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(&format!("[{notice}]"));
}
