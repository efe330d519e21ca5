//! What tools were asked and what came of it, and commands of the user's own.

use serde_json::Value;

use super::markdown::code;
use super::markup::Markup;
use crate::message::{
    BashExecutionMessage, ToolCall, ToolResultMessage, UserBlock, joined_text, runs_commands,
};
use crate::render::{DiffKind, DiffLine, Language, diff_lines};

/// How far above a result its call is looked for, in entries that show: an answer makes hundreds of calls at most.
pub(super) const FARTHEST: usize = 1_000;

/// Lines of a diff that is shown unfolded.
const SHORT_DIFF: usize = 40;

/// Images that a browser shows and that run nothing.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ResultState {
    Well,
    Badly,
    /// It never began: skipped, denied, invalid.
    Unrun,
}

/// A result with the call it answers, if the log has that.
pub(super) fn result(result: &ToolResultMessage, call: Option<&ToolCall>) -> Markup {
    let (mut out, end, details) = (Markup::default(), end(result), result.details.as_ref());
    let detail = |key: &str| details.and_then(|details| details[key].as_str());
    let diff = detail("diff").map(|diff| diff_lines(diff, detail("path").unwrap_or_default()));
    let short = diff.as_ref().is_some_and(|lines| lines.len() <= SHORT_DIFF);
    out.tags(if short { "<details open>" } else { "<details>" }).tags("<summary>").markup(&sign(end));
    let name = call.map_or(result.tool_name.as_str(), |call| &call.name);
    let about = call.map(ToolCall::summary).unwrap_or_default();
    summary(&mut out, name, &about, &note(result, end));
    out.tags("</summary>\n<div class=\"inside\">\n");
    if let Some(call) = call {
        arguments(&mut out, call, diff.is_some());
    }
    match diff {
        Some(lines) => changes(&mut out, &lines),
        None => said(&mut out, result, call),
    }
    out.tags("</div></details>");
    out
}

/// A call that never got a result.
pub(super) fn lost(call: &ToolCall) -> Markup {
    let mut out = Markup::default();
    out.tags("<details class=\"tool\"><summary>").markup(&sign(ResultState::Unrun));
    summary(&mut out, &call.name, &call.summary(), "cut off, no result");
    out.tags("</summary>\n<div class=\"inside\">\n");
    arguments(&mut out, call, false);
    out.tags("</div></details>\n");
    out
}

/// A command of the user's own.
pub(super) fn bash(bash: &BashExecutionMessage) -> Markup {
    let end =
        if !bash.cancelled && bash.exit_code == Some(0) { ResultState::Well } else { ResultState::Badly };
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
    out.tags("<details><summary>").markup(&sign(end));
    let mark = if bash.exclude_from_context { "!!" } else { "!" };
    summary(&mut out, mark, bash.command.lines().next().unwrap_or_default(), &notes.join(", "));
    out.tags("</summary>\n<div class=\"inside\">\n").markup(&code(&bash.command, Language::Named("sh")));
    printed(&mut out, &bash.output);
    out.tags("</div></details>");
    out
}

/// What a user or a tool says in blocks, its text written by `text`.
pub(super) fn blocks(out: &mut Markup, blocks: &[UserBlock], text: impl Fn(&mut Markup, &str)) {
    for block in blocks {
        match block {
            UserBlock::Text { text: said } => text(out, said),
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

fn sign(end: ResultState) -> Markup {
    let mut out = Markup::default();
    out.tags(match end {
        ResultState::Well => "<span class=\"sign well\" role=\"img\" aria-label=\"done\">✓</span>",
        ResultState::Badly => "<span class=\"sign badly\" role=\"img\" aria-label=\"failed\">✗</span>",
        ResultState::Unrun => "<span class=\"sign unrun\" role=\"img\" aria-label=\"not run\">–</span>",
    });
    out
}

fn summary(out: &mut Markup, name: &str, about: &str, note: &str) {
    out.tags(" <span class=\"name\">")
        .text(name)
        .tags("</span> <code class=\"about\">")
        .text(about)
        .tags("</code>");
    if !note.is_empty() {
        out.tags(" <span class=\"note\">").text(note).tags("</span>");
    }
}

/// The arguments of a call. Where a diff shows what was changed, long ones would say it again.
fn arguments(out: &mut Markup, call: &ToolCall, has_diff: bool) {
    if let Some(raw) = &call.raw_arguments {
        out.tags("<p class=\"note\">Arguments that are no JSON object:</p>\n");
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

/// What a tool said; a file that it read is code.
fn said(out: &mut Markup, result: &ToolResultMessage, call: Option<&ToolCall>) {
    let file = call.filter(|call| call.name == "read_file" || call.name == "read");
    let file = file.and_then(|call| call.arguments["path"].as_str()).filter(|_| !result.is_error);
    let name = call.map_or(result.tool_name.as_str(), |call| &call.name);
    blocks(out, &result.content, |out, text| match file {
        Some(path) => _ = out.markup(&code(text, Language::OfFile(path))).tags("\n"),
        None if runs_commands(name) => printed(out, text),
        None => literal(out, text),
    });
}

/// What a tool put as it is: nothing in it is obeyed.
fn literal(out: &mut Markup, text: &str) {
    let text = text.trim_end_matches('\n');
    if !text.is_empty() {
        out.tags("<pre class=\"output\">").text(text).tags("\n</pre>\n");
    }
}

fn printed(out: &mut Markup, text: &str) {
    let text = text.trim_end();
    if !text.is_empty() {
        out.tags("<pre class=\"output\">").printed(text).tags("\n</pre>\n");
    }
}

fn changes(out: &mut Markup, lines: &[DiffLine]) {
    out.tags("<pre class=\"diff\"><code>");
    for line in lines {
        let (class, sign) = match line.kind {
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
            .tags(sign);
        // Its end stands inside it: a line is a block, and what stands between blocks would be a line of its own.
        out.spans(&line.spans).tags("\n</span>");
    }
    out.tags("</code></pre>\n");
}

fn end(result: &ToolResultMessage) -> ResultState {
    if !result.is_error {
        return if exit_code(result).is_some_and(|code| code != 0) {
            ResultState::Badly
        } else {
            ResultState::Well
        };
    }
    let text = joined_text(&result.content);
    let unrun = ["skipped:", "denied:", "not run:", "not begun:", "aborted:"];
    if unrun.iter().any(|word| text.starts_with(word)) { ResultState::Unrun } else { ResultState::Badly }
}

fn exit_code(result: &ToolResultMessage) -> Option<i64> {
    result.details.as_ref()?["exitCode"].as_i64()
}

/// What it came to, in a few words.
fn note(result: &ToolResultMessage, end: ResultState) -> String {
    if end == ResultState::Unrun {
        return joined_text(&result.content).lines().next().unwrap_or_default().to_owned();
    }
    let Some(details) = &result.details else { return String::new() };
    let count = |key: &str| details[key].as_u64();
    let plural = |n: u64, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
    match (count("added").zip(count("removed")), exit_code(result)) {
        (Some((added, removed)), _) => format!("+{added} −{removed}"),
        (None, _) if details["timedOut"].as_bool() == Some(true) => "timed out".to_owned(),
        (None, Some(code)) if code != 0 => format!("exit {code}"),
        (None, _) => match (count("lines"), count("matches"), count("files")) {
            (Some(n), ..) => plural(n, "line", "lines"),
            (_, Some(n), _) => plural(n, "match", "matches"),
            (.., Some(n)) => plural(n, "entry", "entries"),
            (None, None, None) => String::new(),
        },
    }
}
