//! A custom tool that counts words.

use schemars::JsonSchema;
use serde::Deserialize;
use tiller::tool::{ToolOutput, ToolProgress, TypedTool};
use tiller::tool_spec::{Access, ToolTraits};

/// Counts words.
pub(crate) struct CountWords;

/// The arguments. The model reads the comments of the fields.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// The text to count in.
    text: String,
    /// Only words of this many letters or more.
    #[serde(default)]
    at_least: Option<usize>,
}

impl TypedTool for CountWords {
    type Arguments = Arguments;
    const NAME: &'static str = "count_words";
    // It reads only its arguments, so it needs no approval and may run in parallel.
    const TRAITS: ToolTraits = ToolTraits::new(Access::Reads);

    fn description(&self) -> String {
        "Counts the words in a string.".to_owned()
    }

    fn check(&self, arguments: &Arguments) -> Result<(), String> {
        match arguments.at_least {
            Some(0) => Err("argument `at_least`: expected 1 or more".to_owned()),
            _ => Ok(()),
        }
    }

    async fn run(&self, Arguments { text, at_least }: Arguments, _progress: ToolProgress) -> ToolOutput {
        let min_letters = at_least.unwrap_or(1);
        let count = text.split_whitespace().filter(|word| word.chars().count() >= min_letters).count();
        ToolOutput::text(format!("{count} words"))
    }
}
