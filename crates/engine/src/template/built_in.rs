//! The templates that are built into the binary.

use std::path::Path;

use tiller_files::search_path::ResourceOrigin;

use super::parse::{Template, parse};

/// File name and text of each template.
const TEXTS: [(&str, &str); 4] = [
    ("<built-in>/explain.md", include_str!("../../../../prompts/explain.md")),
    ("<built-in>/fix.md", include_str!("../../../../prompts/fix.md")),
    ("<built-in>/review.md", include_str!("../../../../prompts/review.md")),
    ("<built-in>/test.md", include_str!("../../../../prompts/test.md")),
];

pub(super) fn templates() -> impl Iterator<Item = Template> {
    TEXTS.iter().map(|(path, text)| {
        let parsed = parse(text.as_bytes(), Path::new(path), ResourceOrigin::BuiltIn);
        parsed.expect("a test reads every built-in template")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn built_in_templates_have_descriptions_and_placeholders() {
        let names: Vec<String> = templates().map(|template| template.name).collect();
        assert_eq!(names, ["explain", "fix", "review", "test"]);
        for template in templates() {
            assert!(template.argument_hint.is_some(), "{}", template.name);
            let (with, without) = (template.expand("<the arguments>"), template.expand(""));
            assert!(with.contains("<the arguments>") && !with.ends_with("\n\n<the arguments>"), "{with}");
            assert!(!without.contains("  ") && !without.contains('$'), "{without}");
        }
    }
}
