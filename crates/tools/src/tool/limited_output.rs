//! Results that exceed the limits: as much as fits, with a notice about the rest.

use std::path::PathBuf;

use tiller_core::message::UserBlock;

use super::notice::{push_notice, truncation_notice};
use super::truncation::OutputLimits;
use super::{ToolOutput, store_text};

/// Limits of results, and the directory for longer ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputOptions {
    /// Limits of one result.
    pub limits: OutputLimits,
    /// Directory for the full text of truncated results; readable by the tools.
    pub scratch: PathBuf,
}

/// Truncates the text blocks of a result to the limits, which apply to all blocks together. The full text is
/// stored in a file, which the model can read. Details over the limit are omitted, because the log stores
/// them and the text has the same content.
#[must_use]
pub fn limit_output(mut output: ToolOutput, source: &str, options: &OutputOptions) -> ToolOutput {
    let OutputOptions { limits, scratch } = options;
    output.details.take_if(|details| details.to_string().len() > limits.max_chars);
    let texts: Vec<&str> = output.content.iter().filter_map(UserBlock::as_text).collect();
    let whole = texts.join("\n");
    let mut shown = limits.head(&whole).text.to_owned();
    if shown.len() == whole.len() {
        return output;
    }
    let rest = match store_text(scratch, &whole) {
        Ok(path) => format!("full output in {}", path.display()),
        Err(error) => format!("the full output could not be saved: {error}"),
    };
    let (count, total) = (shown.chars().count(), whole.chars().count());
    let notice = truncation_notice(count, Some(total), source, &rest);
    push_notice(&mut shown, &notice);
    output.content.retain(|block| block.as_text().is_none());
    output.content.insert(0, UserBlock::Text { text: shown });
    output.push_warning(notice);
    output
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;

    fn options(dir: &TempDir) -> OutputOptions {
        let limits = OutputLimits { max_lines: 2, max_chars: 100 };
        OutputOptions { limits, scratch: dir.path().into() }
    }

    #[test]
    fn limit_output_long_result_is_stored() {
        let dir = TempDir::new().unwrap();
        let image = UserBlock::Image { data: "AA==".into(), mime_type: "image/png".into() };
        let text = |text: &str| UserBlock::Text { text: text.into() };
        let content = vec![text("one\ntwo"), image.clone(), text("drei€\n")];
        let details = Some(json!({ "a": 1 }));
        let whole =
            ToolOutput { content, details: details.clone(), is_error: true, warning: Some("slow".into()) };

        let cut = limit_output(whole, "mcp__a__b", &options(&dir));

        let stored = std::fs::read_dir(dir.path()).unwrap().next().unwrap().unwrap().path();
        assert_eq!(std::fs::read_to_string(&stored).unwrap(), "one\ntwo\ndrei€\n");
        let notice = format!(
            "OUTPUT TRUNCATED: showing 8 of 14 characters from mcp__a__b; full output in {}",
            stored.display()
        );
        let expected = ToolOutput {
            content: vec![text(&format!("one\ntwo\n[{notice}]")), image],
            details,
            is_error: true,
            warning: Some(format!("slow; {notice}")),
        };
        assert_eq!(cut, expected);
    }

    #[test]
    fn limit_output_short_result_stays() {
        let dir = TempDir::new().unwrap();
        let short = ToolOutput::text("one\ntwo\n");
        assert_eq!(limit_output(short.clone(), "a", &options(&dir)), short);
        let details = Some(json!({ "a": "b".repeat(100) }));
        let long_details = ToolOutput { details, ..short.clone() };
        assert_eq!(limit_output(long_details, "a", &options(&dir)), short, "its text says the same");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is stored");
    }
}
