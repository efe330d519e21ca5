//! Layout of a whole call: a command with highlighting, a file change as a diff, any other call by its
//! arguments. Pure.

use std::path::Path;

use serde_json::Value;
use tiller_core::event::{ApprovalRequest, FileChange, Preview};
use tiller_core::tool_catalog::ToolCatalog;
use tiller_render::{
    BreakMode, ControlChars, Indent, Language, LayoutOptions, Line, RenderOptions, Role, Span, diff,
    highlight, sanitize, wrap,
};

use crate::text::{one_line, short_duration};

/// The working directory of commands, the session's tools, and the options for laying out text.
pub(crate) struct LayoutContext<'a> {
    pub(super) cwd: &'a Path,
    pub(super) home: Option<&'a Path>,
    pub(super) tools: &'a ToolCatalog,
    pub(super) options: RenderOptions,
}

/// The prefix of each line.
const BAR: &str = "  │ ";

/// Width of `BAR` in columns.
const BAR_WIDTH: usize = 4;

/// Returns the lines of a call, wrapped to `width`.
pub(super) fn lines(request: &ApprovalRequest, context: &LayoutContext<'_>, width: usize) -> Vec<Line> {
    match &request.preview {
        Some(Preview::Change(change)) => {
            change_lines(change, LayoutOptions { width, rendering: context.options.clone() })
        }
        Some(Preview::Failure { message }) => {
            let mut lines =
                row(&[Span::new(format!("this call would fail: {}", one_line(message)), Role::Error)], width);
            lines.extend(arguments(request, context.tools, width));
            lines
        }
        None => match request.args["command"].as_str() {
            Some(command) => command_lines(command, request, context, width),
            None => arguments(request, context.tools, width),
        },
    }
}

pub(super) fn without_bar(line: &Line) -> Line {
    let spans = line.spans.iter().skip(usize::from(line.spans.first().is_some_and(|span| span.text == BAR)));
    spans.cloned().collect::<Vec<_>>().into()
}

fn row(spans: &[Span], width: usize) -> Vec<Line> {
    wrap(spans, width, &Indent::all(vec![Span::new(BAR, Role::Warning)]), BreakMode::Anywhere)
}

fn change_lines(change: &FileChange, page: LayoutOptions) -> Vec<Line> {
    let head = [
        Span::new(one_line(&change.path), Role::Text),
        Span::new(format!("  +{} −{}", change.added, change.removed), Role::Muted),
    ];
    let mut lines = row(&head, page.width);
    let room = page.width.saturating_sub(BAR_WIDTH).max(1);
    for mut line in diff(&change.diff, &change.path, page.with_width(room)) {
        line.spans.insert(0, Span::new(BAR, Role::Warning));
        lines.push(line);
    }
    lines
}

fn command_lines(
    command: &str,
    request: &ApprovalRequest,
    context: &LayoutContext<'_>,
    width: usize,
) -> Vec<Line> {
    let code = highlight(command, Language::Named("bash"), &context.options.code);
    let mut lines: Vec<Line> = code.iter().flat_map(|line| row(&line.spans, width)).collect();
    let mut facts = vec![format!("in {}", display_cwd(context))];
    if let Some(limit_s) = request.args["timeout"].as_u64() {
        facts.push(format!("timeout {}", short_duration(limit_s.saturating_mul(1_000))));
    }
    lines.extend(row(&[Span::new(facts.join(" · "), Role::Muted)], width));
    for (name, value) in other_arguments(&request.args, &["command", "timeout"]) {
        lines.extend(argument_lines(name, value, width));
    }
    lines
}

fn display_cwd(context: &LayoutContext<'_>) -> String {
    let cwd = match context.home.and_then(|home| context.cwd.strip_prefix(home).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
        Some(rest) => format!("~/{}", rest.display()),
        None => context.cwd.display().to_string(),
    };
    one_line(&cwd)
}

fn other_arguments<'a>(args: &'a Value, shown: &'a [&str]) -> impl Iterator<Item = (&'a String, &'a Value)> {
    args.as_object().into_iter().flatten().filter(|(name, _)| !shown.contains(&name.as_str()))
}

/// Returns the main argument of the call, then the others.
fn arguments(request: &ApprovalRequest, tools: &ToolCatalog, width: usize) -> Vec<Line> {
    let main = tools.traits(&request.tool_name).shown_argument.text(&request.args);
    let mut lines = Vec::new();
    for line in sanitize(&main, ControlChars::Visible).lines() {
        lines.extend(row(&[Span::new(line, Role::Code)], width));
    }
    let others = other_arguments(&request.args, &[]).filter(|(_, value)| value.as_str() != Some(&main));
    lines.extend(others.flat_map(|(name, value)| argument_lines(name, value, width)));
    if lines.is_empty() {
        lines = row(&[Span::new("no arguments", Role::Muted)], width);
    }
    lines
}

fn argument_lines(name: &str, value: &Value, width: usize) -> Vec<Line> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(_) | Value::Object(_) => serde_json::to_string_pretty(value).unwrap_or_default(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
    };
    let (name, text) = (one_line(name), sanitize(&text, ControlChars::Visible));
    if !text.contains('\n') {
        let spans = [Span::new(format!("{name}: "), Role::Muted), Span::new(text.as_ref(), Role::Text)];
        return row(&spans, width);
    }
    let mut lines = row(&[Span::new(format!("{name}:"), Role::Muted)], width);
    lines.extend(text.lines().flat_map(|line| row(&[Span::new(format!("  {line}"), Role::Text)], width)));
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tiller_engine::built_in_tools;

    use super::*;

    fn request(tool: &str, args: Value, preview: Option<Preview>) -> ApprovalRequest {
        let (reason, rule) = ("it asks".into(), String::new());
        ApprovalRequest {
            tool_call_id: "c".into(),
            tool_name: tool.into(),
            args,
            reason,
            rule,
            proposed: None,
            agent: None,
            cwd: None,
            preview,
            later: 0,
        }
    }

    fn shown_lines(request: &ApprovalRequest, width: usize) -> Vec<String> {
        let context = LayoutContext {
            cwd: Path::new("/home/ada/code"),
            home: Some(Path::new("/home/ada")),
            tools: &built_in_tools(),
            options: RenderOptions::default(),
        };
        lines(request, &context, width).iter().map(|line| line.text().trim_end().to_owned()).collect()
    }

    #[test]
    fn call_lines_of_command_show_directory_and_timeout() {
        let args = json!({"command": "cargo test\necho \u{1b}[31m", "timeout": 600, "why": "to see"});
        assert_eq!(
            shown_lines(&request("bash", args, None), 60),
            ["  │ cargo test", "  │ echo ␛[31m", "  │ in ~/code · timeout 10m 00s", "  │ why: to see"]
        );
        let long = request("bash", json!({"command": "x".repeat(20)}), None);
        assert_eq!(shown_lines(&long, 14)[..2], ["  │ xxxxxxxxxx", "  │ xxxxxxxxxx"]);
    }

    #[test]
    fn call_lines_of_command_show_escape_sequences() {
        let args = json!({"command": "echo \u{1b}]0; rm -r x #\u{7}\u{9b}1m"});
        assert_eq!(shown_lines(&request("bash", args, None), 60)[0], "  │ echo ␛]0; rm -r x #␇<U+009B>1m");
    }

    #[test]
    fn call_lines_of_change_are_its_diff() {
        let change = FileChange {
            path: "src/a.rs".into(),
            diff: "@@ -3 +3 @@\n-a\n+b\n\\ diff truncated\n".into(),
            added: 1,
            removed: 1,
        };
        let request = request("edit_file", json!({"path": "src/a.rs"}), Some(Preview::Change(change)));
        assert_eq!(
            shown_lines(&request, 60),
            ["  │ src/a.rs  +1 −1", "  │   3 - a", "  │   3 + b", "  │   ⋯ diff truncated"]
        );
    }

    #[test]
    fn call_lines_of_failing_call_show_error_and_arguments() {
        let failure = Preview::Failure { message: "a.rs does not exist".into() };
        let request = request("edit_file", json!({"path": "a.rs", "old_text": "a\nb"}), Some(failure));
        assert_eq!(
            shown_lines(&request, 60),
            [
                "  │ this call would fail: a.rs does not exist",
                "  │ a.rs",
                "  │ old_text:",
                "  │   a",
                "  │   b"
            ]
        );
    }

    #[test]
    fn call_lines_of_other_call_show_its_arguments() {
        let args = json!({"count": 2, "where": {"in": "prod"}, "name": "web"});
        assert_eq!(
            shown_lines(&request("deploy", args, None), 60),
            ["  │ web", "  │ count: 2", "  │ where:", "  │   {", "  │     \"in\": \"prod\"", "  │   }"]
        );
        assert_eq!(shown_lines(&request("deploy", json!({}), None), 60), ["  │ no arguments"]);
    }
}
