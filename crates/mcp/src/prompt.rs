//! A server's prompt: a slash command whose text the server generates.

use rmcp::model::{
    ClientRequest, GetPromptRequest, GetPromptRequestParams, GetPromptResult, Role, ServerResult,
};
use serde_json::{Map, Value};
use tiller_core::message::{UserBlock, joined_text};
use tiller_tools::tool::{ServedPrompt, ToolProgress};

use crate::requests::RequestExchange;
use crate::result::block;
use crate::tool::ToolServer;
use crate::tool_name::tool_name;

/// A prompt of a server.
pub(crate) struct McpPrompt {
    /// The name of the slash command.
    pub(crate) command: String,
    /// The name at the server.
    remote_name: String,
    description: String,
    arguments: Vec<PromptArgument>,
    server: ToolServer,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct PromptArgument {
    name: String,
    is_required: bool,
}

impl McpPrompt {
    pub(crate) fn new(declared: rmcp::model::Prompt, server: ToolServer) -> Self {
        let arguments = declared.arguments.unwrap_or_default().into_iter();
        let argument = |declared: rmcp::model::PromptArgument| PromptArgument {
            name: declared.name,
            is_required: declared.required == Some(true),
        };
        Self {
            command: tool_name(&server.name, &declared.name),
            description: declared.description.or(declared.title).unwrap_or_default(),
            arguments: arguments.map(argument).collect(),
            remote_name: declared.name,
            server,
        }
    }

    pub(crate) fn summary(&self) -> ServedPrompt {
        let hint = |argument: &PromptArgument| {
            let name = argument.name.to_uppercase();
            if argument.is_required { name } else { format!("[{name}]") }
        };
        let hints: Vec<String> = self.arguments.iter().map(hint).collect();
        ServedPrompt {
            command: self.command.clone(),
            description: self.description.lines().next().unwrap_or_default().to_owned(),
            argument_hint: (!hints.is_empty()).then(|| hints.join(" ")),
        }
    }

    /// Requests the text of the prompt.
    ///
    /// # Errors
    /// A sentence with the reason.
    pub(crate) async fn text(&self, typed: &str) -> Result<String, String> {
        let arguments = assign(&self.arguments, typed)?;
        let live = self.server.link.wait_until_live().await?;
        let limit = self.server.call_timeout;
        let exchange = RequestExchange { live: &live, limit, progress: ToolProgress::new(drop) };
        let answered = exchange.perform(|input, state| {
            let mut params =
                GetPromptRequestParams::new(self.remote_name.clone()).with_arguments(arguments.clone());
            (params.input_responses, params.request_state) = (input, state);
            ClientRequest::GetPromptRequest(GetPromptRequest::new(params))
        });
        match answered.await?.result {
            ServerResult::GetPromptResult(result) => Ok(joined(result)),
            _ => Err("its response is not a prompt".to_owned()),
        }
    }
}

/// Assigns words to arguments in order; the last argument takes the rest.
fn assign(arguments: &[PromptArgument], typed: &str) -> Result<Map<String, Value>, String> {
    let mut rest = typed.trim();
    let mut assigned = Map::new();
    for (at, argument) in arguments.iter().enumerate() {
        let (value, following) = match rest.split_once(char::is_whitespace) {
            Some((word, following)) if at + 1 < arguments.len() => (word, following.trim_start()),
            _ => (rest, ""),
        };
        if !value.is_empty() {
            assigned.insert(argument.name.clone(), value.into());
        } else if argument.is_required {
            return Err(format!("the argument {} is missing", argument.name));
        }
        rest = following;
    }
    Ok(assigned)
}

/// Joins a prompt's messages to one string; the assistant's are marked.
fn joined(result: GetPromptResult) -> String {
    let text = |message: rmcp::model::PromptMessage| {
        let text = match block(message.content) {
            UserBlock::Image { mime_type, .. } => format!("[an image: {mime_type}]"),
            other => joined_text(&[other]),
        };
        if message.role == Role::Assistant { format!("Assistant: {text}") } else { text }
    };
    result.messages.into_iter().map(text).collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn assign_gives_the_rest_to_the_last_argument() {
        let argument = |name: &str, is_required| PromptArgument { name: name.into(), is_required };
        let arguments = [argument("who", true), argument("what", false)];
        let assigned = |typed: &str| assign(&arguments, typed).map(Value::Object);
        assert_eq!(assigned(" Ada  all of it "), Ok(json!({"who": "Ada", "what": "all of it"})));
        assert_eq!(assigned("Ada"), Ok(json!({"who": "Ada"})));
        assert_eq!(assigned(""), Err("the argument who is missing".to_owned()));
        assert_eq!(assign(&[], "ignored"), Ok(Map::new()));
    }
}
