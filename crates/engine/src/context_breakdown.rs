//! Breakdown of the estimated context size by kind of content. Pure.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::Arc;

use tiller_core::message::Message;
use tiller_core::tool_spec::ToolSpec;
use tiller_core::unit::Tokens;
use tiller_session::context::{estimate, estimate_text, request_messages};

use super::handle::snapshot::ContextUse;

/// The parts of the context that the next request would send.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextBreakdown {
    /// Size of the whole context, by the provider's count if there is one, and of the model's window.
    pub context: ContextUse,
    /// The parts, in the order of a request.
    pub parts: Vec<ContextPart>,
}

/// One part of the context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ContextPart {
    /// The part's kind.
    pub kind: ContextKind,
    /// Number of items of that kind.
    pub count: usize,
    /// Estimated size.
    pub tokens: Tokens,
}

/// The content of a part of the context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ContextKind {
    /// The system prompt without the parts listed separately.
    SystemPrompt,
    /// A context file.
    ContextFile(PathBuf),
    /// The list of skills in the system prompt.
    Skills,
    /// Names, descriptions and parameters of the tools.
    Tools,
    /// User messages, and summaries of older messages.
    UserMessages,
    /// Answers with their thinking and calls.
    Answers,
    /// Results of tool calls.
    ToolResults,
    /// The user's shell commands, with their output.
    ShellCommands,
}

/// Input of the estimate.
#[derive(Debug)]
pub(super) struct ContextSource {
    pub(super) context: ContextUse,
    pub(super) system: String,
    pub(super) files: Vec<(PathBuf, String)>,
    /// The list of skills in the system prompt, and the number of skills.
    pub(super) skills: (String, usize),
    pub(super) tools: Arc<[ToolSpec]>,
    pub(super) messages: Vec<Arc<Message>>,
}

impl ContextBreakdown {
    /// Estimates the parts; empty kinds are omitted.
    pub(super) fn new(source: &ContextSource) -> Self {
        let part = |kind, count, tokens| ContextPart { kind, count, tokens };
        let files: Vec<ContextPart> = source
            .files
            .iter()
            .map(|(path, text)| part(ContextKind::ContextFile(path.clone()), 1, estimate_text(text)))
            .collect();
        let skills = estimate_text(&source.skills.0);
        let listed_separately = files.iter().fold(skills, |sum, file| sum + file.tokens);
        let system = Tokens(estimate_text(&source.system).0.saturating_sub(listed_separately.0));
        let tools = source.tools.iter().fold(Tokens(0), |sum, tool| {
            sum + estimate_text(&tool.name)
                + estimate_text(&tool.description)
                + estimate_text(&tool.parameters.to_string())
        });
        let mut parts = vec![
            part(ContextKind::SystemPrompt, 1, system),
            part(ContextKind::Skills, source.skills.1, skills),
            part(ContextKind::Tools, source.tools.len(), tools),
        ];
        parts.extend(files);
        parts.extend(message_parts(&source.messages));
        parts.retain(|part| part.count > 0);
        Self { context: source.context, parts }
    }

    /// Returns the tokens in use: the provider's count, or the sum of the parts if that is larger.
    #[must_use]
    pub fn used(&self) -> Tokens {
        let sum = self.parts.iter().fold(Tokens(0), |sum, part| sum + part.tokens);
        sum.max(self.context.used)
    }

    /// Returns the free tokens of the window.
    #[must_use]
    pub fn free(&self) -> Tokens {
        Tokens(self.context.window.0.saturating_sub(self.used().0))
    }

    /// Returns the paths of the context files.
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        self.parts.iter().filter_map(|part| match &part.kind {
            ContextKind::ContextFile(path) => Some(path),
            _ => None,
        })
    }
}

impl ContextPart {
    /// Returns the label; `format_path` formats the path of a context file.
    pub fn label(&self, format_path: impl FnOnce(&PathBuf) -> String) -> String {
        let counted = |noun: &str| format!("{noun} ({})", self.count);
        match &self.kind {
            ContextKind::SystemPrompt => "system prompt".to_owned(),
            ContextKind::ContextFile(path) => format_path(path),
            ContextKind::Skills => counted("list of skills"),
            ContextKind::Tools => counted("tools"),
            ContextKind::UserMessages => counted("user messages"),
            ContextKind::Answers => counted("answers"),
            ContextKind::ToolResults => counted("tool results"),
            ContextKind::ShellCommands => counted("shell commands"),
        }
    }
}

fn message_parts(messages: &[Arc<Message>]) -> Vec<ContextPart> {
    let kinds = [
        ContextKind::UserMessages,
        ContextKind::Answers,
        ContextKind::ToolResults,
        ContextKind::ShellCommands,
    ];
    let mut parts = kinds.map(|kind| ContextPart { kind, count: 0, tokens: Tokens(0) });
    for message in request_messages(messages) {
        let at = match &*message {
            Message::User(_) => 0,
            Message::Assistant(_) => 1,
            Message::ToolResult(_) => 2,
            Message::BashExecution(_) => 3,
            Message::System(_) => continue,
        };
        parts[at].count += 1;
        parts[at].tokens += estimate(&message);
    }
    parts.into()
}

#[cfg(test)]
mod tests {
    use tiller_core::message::{BashExecutionMessage, UserMessage};
    use tiller_core::unit::UnixMs;

    use super::*;

    fn source() -> ContextSource {
        let bash = |exclude_from_context| {
            let command = "x".repeat(40);
            Arc::new(Message::BashExecution(BashExecutionMessage {
                command,
                exclude_from_context,
                ..BashExecutionMessage::default()
            }))
        };
        let user = Arc::new(Message::User(UserMessage::text("y".repeat(80), UnixMs(0))));
        ContextSource {
            context: ContextUse { used: Tokens(0), window: Tokens(1_000) },
            system: "s".repeat(400),
            files: vec![("/p/AGENTS.md".into(), "f".repeat(100))],
            skills: (String::new(), 0),
            tools: Arc::default(),
            messages: vec![user, bash(false), bash(true)],
        }
    }

    #[test]
    fn breakdown_parts_are_the_sent_content() {
        let breakdown = ContextBreakdown::new(&source());
        let parts: Vec<(String, u64)> = breakdown
            .parts
            .iter()
            .map(|part| (part.label(|path| path.display().to_string()), part.tokens.0))
            .collect();
        let expected = [
            ("system prompt", 75),
            ("/p/AGENTS.md", 25),
            ("user messages (1)", 20),
            ("shell commands (1)", 10),
        ];
        assert_eq!(parts, expected.map(|(label, tokens)| (label.to_owned(), tokens)));
        assert_eq!((breakdown.used(), breakdown.free()), (Tokens(130), Tokens(870)));
    }

    #[test]
    fn breakdown_larger_provider_count_counts() {
        let context = ContextUse { used: Tokens(1_200), window: Tokens(1_000) };
        let breakdown = ContextBreakdown::new(&ContextSource { context, ..source() });
        assert_eq!((breakdown.used(), breakdown.free()), (Tokens(1_200), Tokens(0)));
    }
}
