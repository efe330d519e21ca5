use tiller_core::ansi::AnsiColor;
use tiller_core::tool_spec::{Access, ShownArgument};

use super::*;
use crate::layout::{FoldDefaults, TEXT_WIDTH};
use crate::text::short_duration;
use serde_json::json;
use tiller_engine::built_in_tools;

fn done(name: &str, args: Value, text: &str, details: Value, is_error: bool) -> ToolCallBlock {
    let content = vec![UserBlock::Text { text: text.into() }];
    let outcome = ToolOutcome { content, details: Some(details) };
    let state = CallState::Done { outcome, is_error, took_ms: Some(1_250) };
    let traits = built_in_tools().traits(name);
    ToolCallBlock { id: "c".into(), name: name.into(), args, traits, state }
}

fn shown(call: &ToolCallBlock, width: usize) -> Vec<String> {
    let lines = call.lines(&RenderContext { width, ..RenderContext::default() });
    lines.iter().map(|line| line.text().trim_end().to_owned()).collect()
}

#[test]
fn tool_call_line_has_its_result() {
    let call = done("grep", json!({"pattern": "\\n", "path": "src"}), "…", json!({"matches": 6}), false);
    assert_eq!(
        shown(&call, 70),
        [r#"✓ grep       "\\n" src                         6 matches          1.2s"#]
    );
    assert_eq!(shown(&call, 24), [r#"✓ grep       "\\n…  6 m…"#]);
}

#[test]
fn tool_call_changed_by_a_hook_shows_what_ran() {
    let details = json!({"rewritten": {"by": ["hooks"], "arguments": {"command": "echo 2"}}});
    let call = done("bash", json!({"command": "echo 1"}), "2", details, false);
    assert_eq!(
        shown(&call, 80)[0],
        "✓ bash       echo 2                            changed by hooks             1.2s"
    );
}

#[test]
fn tool_call_line_fits_a_narrow_screen() {
    let stopped = "not run: the user stopped the agent";
    let call = done("bash", json!({"command": "sleep 7"}), stopped, json!({}), true);
    assert_eq!(shown(&call, 39)[0], "– bash       sleep 7   not run: the us…");
    let failed = json!({"exitCode": 1, "path": "a"});
    let failed = done("bash", json!({"command": "cargo test --workspace"}), "", failed, false);
    for width in 18..80 {
        for line in [&call, &failed].map(|call| shown(call, width).swap_remove(0)) {
            assert!(Span::new(line.as_str(), Role::Text).width() <= width, "{width}: {line}");
        }
    }
}

#[test]
fn tool_call_not_started_is_recognized_in_older_logs() {
    for text in ["not started: the run stopped", "not begun: the run was cut off"] {
        let result = format!("{text}; it had no effects");
        let line =
            shown(&done("bash", json!({"command": "x"}), &result, json!({}), true), 100).swap_remove(0);
        assert!(line.starts_with('–') && line.contains(text), "{line}");
    }
}

#[test]
fn tool_call_only_commands_interpret_escapes() {
    let open = RenderContext {
        width: 60,
        folds: FoldDefaults { output_open: true, ..FoldDefaults::default() },
        ..RenderContext::default()
    };
    let text = "10%\r20%\n\u{1b}[31mred\u{1b}[0m\r\n";
    let lines = |name: &str, details: Value| -> Vec<String> {
        let call = done(name, json!({"path": "x"}), text, details, false);
        call.lines(&open)[1..].iter().map(|line| line.text().trim_end().to_owned()).collect()
    };
    let as_it_is = ["  │ 10%␍20%", "  │ ␛[31mred␛[0m␍"];
    for name in ["read_file", "grep", "guard_look", "mcp"] {
        assert_eq!(lines(name, json!({})), as_it_is);
        assert_eq!(lines(name, json!({"exitCode": 0, "strokes": [[0, 3, "31"]]})), as_it_is);
    }
    for name in ["Bash", "shell", "local_shell", "exec_command"] {
        assert_eq!(lines(name, json!({"exitCode": 0, "strokes": [[0, 3, "31"]]})), as_it_is, "{name}");
    }
    assert_eq!(lines("bash", json!({"exitCode": 0})), ["  │ 20%", "  │ red"]);
}

#[test]
fn tool_call_is_shown_by_the_traits_of_its_tool() {
    let traits = ToolTraits {
        shown_argument: ShownArgument::Named("site"),
        output: OutputKind::Listing,
        ..ToolTraits::new(Access::Reads)
    };
    let tools = built_in_tools().with([("fetch".to_owned(), traits)]);
    let block = |name: &str| {
        let arguments = r#"{"path": "x", "site": "example.org"}"#;
        let call = ToolCall::from_streamed("c".into(), name.into(), arguments);
        let outcome = ToolOutcome { content: vec![UserBlock::Text { text: "a page".into() }], details: None };
        let state = CallState::Done { outcome, is_error: false, took_ms: None };
        ToolCallBlock { state, ..ToolCallBlock::new(&call, &tools) }
    };
    assert_eq!(shown(&block("fetch"), 60), ["✓ fetch      example.org"]);
    assert_eq!(shown(&block("unknown"), 60), ["✓ unknown    x", "  │ a page"]);
}

#[test]
fn tool_call_output_has_its_stored_colors() {
    let red = |call: &ToolCallBlock| -> String {
        let lines = call.lines(&RenderContext { width: 70, ..RenderContext::default() });
        let spans = lines.into_iter().flat_map(|line| line.spans);
        spans.filter(|span| span.style.fg == Some(AnsiColor::Basic(1))).map(|span| span.text).collect()
    };
    let style_runs = json!([[4, 3, "31"]]);
    let ended = json!({"exitCode": 1, "timedOut": false, "strokes": style_runs});
    let call = done("bash", json!({"command": "x"}), "one red two\n[exit code 1]", ended, true);
    assert_eq!(red(&call), "red");
    let late = json!({"exitCode": null, "timedOut": true, "strokes": style_runs});
    let call = done("bash", json!({"command": "x"}), "one red two\n[stopped after 1 s]", late, true);
    assert_eq!(red(&call), "red");
    let imported = done("shell", json!({}), "one red two", json!({"strokes": style_runs}), false);
    assert_eq!(red(&imported), "red");
    let mut call = done(
        "bash",
        json!({"command": "x"}),
        "aborted: the user stopped it",
        json!({"strokes": style_runs}),
        true,
    );
    let CallState::Done { outcome, .. } = &mut call.state else { unreachable!() };
    outcome.content.push(UserBlock::Text { text: "one red two".into() });
    assert_eq!(red(&call), "red");
    call.state = CallState::Running { since: UnixMs(0), partial: outcome_of("one red two", style_runs) };
    assert_eq!(red(&call), "red");
}

fn outcome_of(text: &str, style_runs: Value) -> ToolOutcome {
    let content = vec![UserBlock::Text { text: text.into() }];
    ToolOutcome { content, details: Some(json!({ "strokes": style_runs })) }
}

#[test]
fn tool_call_not_run_shows_reason_only() {
    let call = done("edit_file", json!({"path": "a.rs"}), "skipped: the user steered", json!({}), true);
    assert_eq!(shown(&call, 70), ["– edit_file  a.rs                            skipped: the user steered"]);
}

#[test]
fn tool_call_note_column_is_fixed() {
    let long = "find . -name '*.rs' -newer Cargo.toml -exec grep -n 'unwrap()' {} + | sort | head -40 | tac";
    let said =
        "denied: the user rejected it: not all of them, only those under src, and no tests at all please";
    for width in [79, 119] {
        let column = |command: &str, words: &str, state: Option<CallState>| {
            let mut call = done("bash", json!({"command": command}), said, json!({}), true);
            call.state = state.unwrap_or(call.state);
            let line = shown(&call, width).swap_remove(0);
            assert!(Span::new(line.clone(), Role::Text).width() <= width, "{line}");
            line.split_once(words).map(|(before, _)| before.chars().count())
        };
        let at = column("ls", "denied: the user rejected it", None);
        assert!(at.is_some());
        assert_eq!(column(long, "denied: the user rejected it", None), at);
        assert_eq!(column("ls", "needs approval", Some(CallState::AwaitsApproval)), at);
        // A short note leaves more room for the command.
        assert!(column(long, "needs approval", Some(CallState::AwaitsApproval)) > at);
    }
}

#[test]
fn tool_call_argument_leaves_room_for_note() {
    let path = "src/a/rather/long/path/that/is/longer/than/the/column/of/arguments.rs";
    let call = done("read_file", json!({"path": path}), "…", json!({"lines": 212}), false);
    let expected = format!("✓ read_file  {path}  212 lines            1.2s");
    assert_eq!(shown(&call, 109)[0], expected);
    let cut = &shown(&call, 79)[0];
    assert!(cut.contains("/longer/than/the/c…  212 lines  1.2s"), "{cut}");
    let wide = shown(&done("bash", json!({"command": "x".repeat(300)}), "", json!({}), false), 199);
    assert_eq!(Span::new(wide[0].as_str(), Role::Text).width(), TEXT_WIDTH, "no further than text goes");
}

#[test]
fn tool_call_unfolded_shows_whole_argument() {
    let unfolded = |command: &str| {
        let call = done("bash", json!({"command": command}), "", json!({"exitCode": 0}), false);
        let folds = FoldDefaults { output_open: true, ..FoldDefaults::default() };
        let lines = call.lines(&RenderContext { width: 60, folds, ..RenderContext::default() });
        lines.iter().map(|line| line.text().trim_end().to_owned()).skip(1).collect::<Vec<_>>()
    };
    assert_eq!(unfolded("cd src\ncargo test"), ["    cd src", "    cargo test"]);
    assert_eq!(unfolded("cargo test"), Vec::<String>::new());
    assert_eq!(unfolded(&["word"; 20].join(" ")).len(), 2);
}

#[test]
fn tool_call_error_is_prose_width_output_is_page_width() {
    let words = ["word"; 40].join(" ");
    let widest = |call: &ToolCallBlock| shown(call, 199)[1..].iter().map(|line| line.chars().count()).max();
    let failed = done("edit_file", json!({"path": "x"}), &words, json!({}), true);
    assert!(widest(&failed) <= Some(TEXT_WIDTH), "{:?}", widest(&failed));
    let printed = done("bash", json!({"command": "x"}), &words, json!({"exitCode": 0}), false);
    assert!(widest(&printed) > Some(TEXT_WIDTH), "{:?}", widest(&printed));
}

#[test]
fn tool_call_long_denial_is_repeated_below() {
    let why = "denied: the user rejected it: not all of them, only those in src";
    let call = done("bash", json!({"command": "ls"}), why, json!({}), true);
    assert_eq!(
        shown(&call, 70),
        [
            "– bash       ls                         denied: the user rejected it:…",
            "  │ denied: the user rejected it: not all of them, only those in src"
        ]
    );
    let why = "denied: the user rejected it: only those in src";
    let call = done("bash", json!({"command": "ls"}), why, json!({}), true);
    assert_eq!(shown(&call, 140).len(), 1);
    let call = done("bash", json!({"command": "ls"}), &format!("{why}\nand no tests"), json!({}), true);
    assert_eq!(shown(&call, 140)[1..], [format!("  │ {why}"), "  │ and no tests".to_owned()]);
    let why = "aborted: the user stopped it; it may have had effects";
    let call = done("bash", json!({"command": "ls"}), why, json!({}), true);
    assert_eq!(
        shown(&call, 77),
        ["– bash       ls                                aborted: the user stopped it"]
    );
}

#[test]
fn tool_call_aborted_shows_partial_output() {
    let mut call = done("bash", json!({"command": "x"}), "aborted: the user stopped it", json!({}), true);
    let CallState::Done { outcome, .. } = &mut call.state else { unreachable!() };
    outcome.content.push(UserBlock::Text { text: "one\ntwo\n".into() });
    assert_eq!(
        shown(&call, 72),
        ["– bash       x                              aborted: the user stopped it", "  │ one", "  │ two"]
    );
}

#[test]
fn tool_call_long_output_shows_both_ends() {
    let text: String = (1..=20).map(|n| format!("line {n}\n")).collect();
    let call = done("bash", json!({"command": "x"}), &text, json!({"exitCode": 1}), false);
    assert_eq!(
        shown(&call, 60)[1..],
        ["  │ line 1", "  │ line 2", "  │ … 16 more lines (ctrl+o)", "  │ line 19", "  │ line 20"]
    );
    assert!(shown(&call, 60)[0].starts_with("✗ bash"));
}

#[test]
fn tool_call_hidden_lines_are_counted_unwrapped() {
    let text: String = (1..=9).map(|n| format!("{n} {}\n", "x".repeat(70))).collect();
    let call = done("bash", json!({"command": "x"}), &text, json!({"exitCode": 0}), false);
    assert_eq!(shown(&call, 60)[3], "  │ … 7 more lines (ctrl+o)");
    let call = done("bash", json!({"command": "x"}), &"x".repeat(900), json!({"exitCode": 0}), false);
    assert_eq!(shown(&call, 60)[3], "  │ … 13 more rows (ctrl+o)");
}

#[test]
fn tool_call_truncated_output_shows_the_note_below() {
    let text: String = (1..=20).map(|n| format!("line {n}\n")).collect();
    let cut =
        "OUTPUT TRUNCATED: showing 20 of 99 characters from bash; full output in /tmp/tiller/output-a1.txt";
    let call = done(
        "bash",
        json!({"command": "x"}),
        &format!("{text}[{cut}]\n[exit code 1]"),
        json!({"exitCode": 1}),
        false,
    );
    let expected = [
        "  │ line 1",
        "  │ line 2",
        "  │ … 16 more lines (ctrl+o)",
        "  │ line 19",
        "  │ line 20",
        "    OUTPUT TRUNCATED: showing 20 of 99 characters from bash; full",
        "    output in /tmp/tiller/output-a1.txt",
    ];
    assert_eq!(shown(&call, 70)[1..], expected);
    let record = finished_output(
        ToolOutputBlock::Literal(&format!("{text}\n{cut}")),
        FOLDED,
        &RenderContext { width: 70, ..RenderContext::default() },
    );
    assert_eq!(record.iter().map(|line| line.text().trim_end().to_owned()).collect::<Vec<_>>(), expected);
}

#[test]
fn tool_call_empty_output_is_hidden() {
    let quiet =
        |text, code| done("bash", json!({"command": "x"}), text, json!({"exitCode": code}), code != 0);
    assert_eq!(shown(&quiet("[no output]", 0), 60).len(), 1);
    assert_eq!(shown(&quiet("[no output]\n[exit code 3]", 3), 60).len(), 1);
    assert_eq!(shown(&quiet("", 0), 60).len(), 1);
    assert_eq!(shown(&quiet("so\n[exit code 3]", 3), 60)[1..], ["  │ so"]);
}

#[test]
fn tool_call_error_wraps_at_words() {
    let call = done("edit_file", json!({"path": "x"}), "the text to replace is not there", json!({}), true);
    assert_eq!(shown(&call, 26)[1..], ["  │ the text to replace is", "  │ not there"]);
}

#[test]
fn tool_call_edit_shows_its_diff() {
    let details = json!({"diff": "@@ -3 +3 @@\n-a\n+b\n", "added": 1, "removed": 1});
    let call = done("edit_file", json!({"path": "x"}), "", details, false);
    assert_eq!(shown(&call, 60)[1..], ["      3 - a", "      3 + b"]);
}

#[test]
fn short_duration_has_at_most_two_units() {
    assert_eq!(
        [short_duration(40), short_duration(12_400), short_duration(185_000)],
        ["0.0s", "12s", "3m 05s"]
    );
    assert_eq!([noticeable_time(99), noticeable_time(100)], [None, Some("0.1s".to_owned())]);
}
