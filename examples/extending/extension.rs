//! A custom extension: it blocks a word, adds to the system prompt, and provides a tool and a command.

use std::sync::Arc;

use tiller::agent::extension::{
    CallVerdict, CommandOutcome, Extension, ExtensionCommand, HookError, HookFuture, RequestChange,
    RequestContext,
};
use tiller::message::ToolCall;
use tiller::tool::{Tool, TypedToolAdapter};

use super::tool::CountWords;

/// Denies calls that count the words of a secret.
pub(crate) struct Discretion;

impl Extension for Discretion {
    fn name(&self) -> &str {
        "discretion"
    }

    fn turn_start<'a>(&'a self, context: &'a RequestContext) -> HookFuture<'a, RequestChange> {
        Box::pin(async move {
            let system = format!("{}\nNever reveal secrets.\n", context.system);
            Ok(RequestChange { system: Some(system), ..RequestChange::default() })
        })
    }

    fn tool_call<'a>(&'a self, call: &'a ToolCall) -> HookFuture<'a, CallVerdict> {
        Box::pin(async move {
            Ok(if call.arguments.to_string().contains("secret") {
                CallVerdict::Deny { reason: "that is a secret".to_owned() }
            } else {
                CallVerdict::Allow
            })
        })
    }

    fn commands(&self) -> Vec<ExtensionCommand> {
        vec![ExtensionCommand {
            name: "shout".to_owned(),
            description: "says it louder".to_owned(),
            argument_hint: Some("TEXT".to_owned()),
        }]
    }

    fn run_command<'a>(&'a self, _name: &'a str, arguments: &'a str) -> HookFuture<'a, CommandOutcome> {
        Box::pin(async move {
            match arguments {
                "" => Err(HookError::new("there is nothing to shout")),
                text => Ok(CommandOutcome::Prompt(text.to_uppercase())),
            }
        })
    }

    fn tools(&self) -> Vec<Arc<dyn Tool>> {
        vec![Arc::new(TypedToolAdapter::new(CountWords))]
    }
}
