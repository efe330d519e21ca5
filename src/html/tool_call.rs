//! Renders tool calls with their results, and the user's shell commands.

use std::borrow::Cow;

use serde_json::Value;

use super::markdown::code;
use super::markup::Markup;
use crate::message::{BashExecutionMessage, ToolCall, ToolResultMessage, UserBlock, joined_text};
use crate::render::{DiffKind, DiffLine, Language, diff_lines, final_arguments, result_note};
use crate::tool_catalog::ToolCatalog;
use crate::tool_spec::OutputKind;

/// Maximum distance between a result and its call, in visible entries. An answer makes hundreds of calls at
/// most.
pub(super) const MAX_DISTANCE: usize = 1_000;

/// Maximum length, in lines, of a diff that is shown unfolded.
const SHORT_DIFF: usize = 40;

/// Image types that browsers display and that can't contain scripts.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// The outcome of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ResultState {
    Succeeded,
    Failed,
    /// It was not run: skipped, denied or invalid.
    NotRun,
    Running,
}

/// Renders a result with its call, if the log has that.
pub(super) fn result(result: &ToolResultMessage, call: Option<&ToolCall>, tools: &ToolCatalog) -> Markup {
    let (mut out, state, details) = (Markup::default(), state(result), result.details.as_ref());
    let call = call.map(|call| with_final_arguments(call, details));
    let call = call.as_deref();
    let detail = |key: &str| details.and_then(|details| details[key].as_str());
    let diff = detail("diff").map(|diff| diff_lines(diff, detail("path").unwrap_or_default()));
    let short = diff.as_ref().is_some_and(|lines| lines.len() <= SHORT_DIFF);
    out.tags(if short { "<details open>" } else { "<details>" }).tags("<summary>").markup(&state_icon(state));
    let name = call.map_or(result.tool_name.as_str(), |call| &call.name);
    let traits = tools.traits(name);
    let subject = call.map(|call| traits.shown_argument.one_line(&call.arguments)).unwrap_or_default();
    summary(&mut out, name, &subject, &note(result, state));
    out.tags("</summary>\n<div class=\"inside\">\n");
    if let Some(call) = call {
        arguments(&mut out, call, diff.is_some());
    }
    match diff {
        Some(lines) => diff_block(&mut out, &lines),
        None => output(&mut out, result, call, traits.output),
    }
    out.tags("</div></details>");
    out
}

fn with_final_arguments<'a>(call: &'a ToolCall, details: Option<&Value>) -> Cow<'a, ToolCall> {
    match final_arguments(&call.arguments, details) {
        same if *same == call.arguments => Cow::Borrowed(call),
        changed => Cow::Owned(ToolCall { arguments: changed.clone(), ..call.clone() }),
    }
}

/// Renders a call that is running or waiting for approval.
pub(super) fn running(call: &ToolCall, tools: &ToolCatalog) -> Markup {
    let mut out = Markup::default();
    out.tags("<details class=\"tool\"><summary>").markup(&state_icon(ResultState::Running));
    summary(&mut out, &call.name, &tools.traits(&call.name).shown_argument.one_line(&call.arguments), "");
    out.tags("</summary>\n<div class=\"inside\">\n");
    arguments(&mut out, call, false);
    out.tags("</div></details>\n");
    out
}

/// Renders a call without a result. The live page hides it during a run.
pub(super) fn unfinished(call: &ToolCall, tools: &ToolCatalog) -> Markup {
    let mut out = Markup::default();
    out.tags("<details class=\"tool unfinished\"><summary>").markup(&state_icon(ResultState::NotRun));
    let argument = tools.traits(&call.name).shown_argument.one_line(&call.arguments);
    summary(&mut out, &call.name, &argument, "interrupted, no result");
    out.tags("</summary>\n<div class=\"inside\">\n");
    arguments(&mut out, call, false);
    out.tags("</div></details>\n");
    out
}

/// Renders a user's shell command.
pub(super) fn bash(bash: &BashExecutionMessage) -> Markup {
    let state = if !bash.cancelled && bash.exit_code == Some(0) {
        ResultState::Succeeded
    } else {
        ResultState::Failed
    };
    let mut notes = Vec::new();
    match (bash.cancelled, bash.exit_code) {
        (true, _) => notes.push("stopped".to_owned()),
        (false, Some(0)) => {}
        (false, Some(code)) => notes.push(format!("exit {code}")),
        (false, None) => notes.push("killed".to_owned()),
    }
    if bash.exclude_from_context {
        notes.push("not sent to the model".to_owned());
    }
    let mut out = Markup::default();
    out.tags("<details><summary>").markup(&state_icon(state));
    let prefix = if bash.exclude_from_context { "!!" } else { "!" };
    summary(&mut out, prefix, bash.command.lines().next().unwrap_or_default(), &notes.join(", "));
    out.tags("</summary>\n<div class=\"inside\">\n").markup(&code(&bash.command, Language::Named("sh")));
    command_output(&mut out, &bash.output);
    out.tags("</div></details>");
    out
}

/// Renders the blocks of a message, using `text` for text blocks.
pub(super) fn blocks(out: &mut Markup, blocks: &[UserBlock], text: impl Fn(&mut Markup, &str)) {
    for block in blocks {
        match block {
            UserBlock::Text { text: content } => text(out, content),
            UserBlock::Image { data, mime_type } => image(out, data, mime_type),
            UserBlock::Unknown => {}
        }
    }
}

fn image(out: &mut Markup, data: &str, mime_type: &str) {
    let is_base64 = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'+' | b'/' | b'=');
    if IMAGES.contains(&mime_type) && data.bytes().all(is_base64) {
        let address = format!("data:{mime_type};base64,{data}");
        out.tags("<img alt=\"image\" decoding=\"async\"").attribute("src", &address).tags(">\n");
    } else {
        out.tags("<p class=\"note\">An image that isn’t shown: ").text(mime_type).tags("</p>\n");
    }
}

fn state_icon(state: ResultState) -> Markup {
    let mut out = Markup::default();
    out.tags(match state {
        ResultState::Succeeded => "<span class=\"sign well\" role=\"img\" aria-label=\"done\">✓</span>",
        ResultState::Failed => "<span class=\"sign badly\" role=\"img\" aria-label=\"failed\">✗</span>",
        ResultState::NotRun => "<span class=\"sign unrun\" role=\"img\" aria-label=\"not run\">–</span>",
        ResultState::Running => "<span class=\"sign unrun\" role=\"img\" aria-label=\"waiting\">●</span>",
    });
    out
}

fn summary(out: &mut Markup, name: &str, subject: &str, note: &str) {
    out.tags(" <span class=\"name\">")
        .text(name)
        .tags("</span> <code class=\"about\">")
        .text(subject)
        .tags("</code>");
    if !note.is_empty() {
        out.tags(" <span class=\"note\">").text(note).tags("</span>");
    }
}

/// Renders a call's arguments. Long ones are omitted if a diff shows the same text.
fn arguments(out: &mut Markup, call: &ToolCall, has_diff: bool) {
    if let Some(raw) = &call.raw_arguments {
        out.tags("<p class=\"note\">Arguments that aren’t a JSON object:</p>\n");
        return literal(out, raw);
    }
    let path = call.arguments["path"].as_str().unwrap_or_default();
    for (name, value) in call.arguments.as_object().into_iter().flatten() {
        match value {
            Value::String(text) if name == "command" => {
                out.markup(&code(text, Language::Named("sh"))).tags("\n");
            }
            Value::String(text) if text.contains('\n') => {
                if !has_diff {
                    argument(out, name, None);
                    out.markup(&code(text, Language::OfFile(path))).tags("\n");
                }
            }
            Value::String(text) => argument(out, name, Some(text)),
            Value::Array(_) | Value::Object(_) if has_diff => {}
            Value::Array(_) | Value::Object(_) => {
                argument(out, name, None);
                let json = serde_json::to_string_pretty(value).unwrap_or_default();
                out.markup(&code(&json, Language::Named("json"))).tags("\n");
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {
                argument(out, name, Some(&value.to_string()));
            }
        }
    }
}

fn argument(out: &mut Markup, name: &str, value: Option<&str>) {
    out.tags("<p class=\"argument\"><span>").text(name).tags("</span>");
    if let Some(value) = value {
        out.tags(" <code>").text(value).tags("</code>");
    }
    out.tags("</p>\n");
}

/// Renders a tool's output; the content of a file is rendered as code.
fn output(out: &mut Markup, result: &ToolResultMessage, call: Option<&ToolCall>, kind: OutputKind) {
    let path = call.and_then(|call| call.arguments["path"].as_str()).filter(|_| !result.is_error);
    blocks(out, &result.content, |out, text| match (kind, path) {
        (OutputKind::File, Some(path)) => _ = out.markup(&code(text, Language::OfFile(path))).tags("\n"),
        (OutputKind::Command, _) => command_output(out, text),
        (OutputKind::File, None) | (OutputKind::Text | OutputKind::Listing | OutputKind::Diff, _) => {
            literal(out, text);
        }
    });
}

/// Renders text unchanged.
fn literal(out: &mut Markup, text: &str) {
    let text = text.trim_end_matches('\n');
    if !text.is_empty() {
        out.tags("<pre class=\"output\" tabindex=\"0\">").text(text).tags("\n</pre>\n");
    }
}

/// Renders the output of a command.
pub(super) fn command_output(out: &mut Markup, text: &str) {
    let text = text.trim_end();
    if !text.is_empty() {
        out.tags("<pre class=\"output\" tabindex=\"0\">").command_output(text).tags("\n</pre>\n");
    }
}

pub(super) fn diff_block(out: &mut Markup, lines: &[DiffLine]) {
    out.tags("<pre class=\"diff\" tabindex=\"0\"><code>");
    for line in lines {
        let (class, state_icon) = match line.kind {
            DiffKind::Gap => {
                out.tags("<span class=\"gap\">⋯ ").spans(&line.spans).tags("\n</span>");
                continue;
            }
            DiffKind::Added => ("<span class=\"line added\">", "+ "),
            DiffKind::Removed => ("<span class=\"line removed\">", "- "),
            DiffKind::Same => ("<span class=\"line\">", "  "),
        };
        out.tags(class)
            .tags("<span class=\"number\">")
            .number(line.number().unwrap_or_default())
            .tags("</span>")
            .tags(state_icon);
        // The newline is inside the element: a line is a block, so text between blocks would be another line.
        out.spans(&line.spans).tags("\n</span>");
    }
    out.tags("</code></pre>\n");
}

fn state(result: &ToolResultMessage) -> ResultState {
    if !result.is_error {
        return if exit_code(result).is_some_and(|code| code != 0) {
            ResultState::Failed
        } else {
            ResultState::Succeeded
        };
    }
    let text = joined_text(&result.content);
    // Older logs have "not begun:".
    let unrun = ["skipped:", "denied:", "not run:", "not started:", "not begun:", "aborted:"];
    if unrun.iter().any(|word| text.starts_with(word)) { ResultState::NotRun } else { ResultState::Failed }
}

fn exit_code(result: &ToolResultMessage) -> Option<i64> {
    result.details.as_ref()?["exitCode"].as_i64()
}

/// Returns a short note on the outcome.
fn note(result: &ToolResultMessage, state: ResultState) -> String {
    if state == ResultState::NotRun {
        return joined_text(&result.content).lines().next().unwrap_or_default().to_owned();
    }
    result_note(result.details.as_ref())
}
