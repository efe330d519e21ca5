use proptest::prelude::*;
use tiller_core::ansi::AnsiColor;

use super::*;
use crate::{BreakMode, Emphasis, Indent, Role, texts, wrap};

fn rendered(text: &str) -> Vec<String> {
    texts(&command_output(&StyledText::parse(text), Role::Muted))
}

fn styles(text: &str) -> Vec<(String, Style)> {
    let lines = command_output(&StyledText::parse(text), Role::Muted);
    lines.into_iter().flat_map(|line| line.spans).map(|span| (span.text, span.style)).collect()
}

fn muted() -> Style {
    Role::Muted.into()
}

#[test]
fn command_output_keeps_colors_and_emphasis() {
    let text = "\u{1b}[1;31mred\u{1b}[22m thin\u{1b}[0m plain \u{1b}[38;5;208mo\u{1b}[48;2;1;2;3mrgb\u{1b}[39;49;9ms\u{1b}[m.";
    let red = Style { fg: Some(AnsiColor::Basic(1)), ..muted() };
    let orange = Style { fg: Some(AnsiColor::Indexed(208)), ..muted() };
    assert_eq!(
        styles(text),
        [
            ("red".into(), red.with(Emphasis::BOLD)),
            (" thin".into(), red),
            (" plain ".into(), muted()),
            ("o".into(), orange),
            ("rgb".into(), Style { bg: Some(AnsiColor::Rgb(1, 2, 3)), ..orange }),
            ("s".into(), muted().with(Emphasis::STRIKE)),
            (".".into(), muted()),
        ]
    );
}

#[test]
fn command_output_color_syntax_variants() {
    let fg = |text: &str| styles(text)[0].1.fg;
    assert_eq!(fg("\u{1b}[38:2::9:8:7mx"), Some(AnsiColor::Rgb(9, 8, 7)));
    assert_eq!(fg("\u{1b}[38:2:9:8:7mx"), Some(AnsiColor::Rgb(9, 8, 7)));
    assert_eq!(fg("\u{1b}[38:5:3mx"), Some(AnsiColor::Basic(3)));
    assert_eq!(fg("\u{1b}[97mx"), Some(AnsiColor::Basic(15)));
    assert_eq!(
        fg("\u{1b}[58;5;3;31mx"),
        Some(AnsiColor::Basic(1)),
        "parameters of an underline color are skipped"
    );
    assert_eq!(fg("\u{1b}[38;5;999mx"), None);
}

#[test]
fn command_output_style_continues_over_newline() {
    let lines = command_output(&StyledText::parse("\u{1b}[32ma\nb\u{1b}[0m\nc\n"), Role::Text);
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[1].spans[0].style.fg, Some(AnsiColor::Basic(2)));
    assert_eq!(lines[2].spans[0].style.fg, None);
}

#[test]
fn command_output_progress_bar_shows_last_state() {
    assert_eq!(rendered("[#  ] 10%\r[## ] 20%\r\nend"), ["[## ] 20%", "end"]);
    assert_eq!(rendered("downloading\rok"), ["okwnloading"], "text that isn't overwritten stays");
    assert_eq!(rendered("downloading\r\u{1b}[Kok"), ["ok"]);
    assert_eq!(rendered("downloading\u{1b}[2K\u{1b}[1Gok"), ["ok"]);
    assert_eq!(rendered("- \u{8}\u{8}\\ \u{8}\u{8}| done"), ["| done"]);
    assert_eq!(rendered("日本\rab"), ["ab本"]);
    assert_eq!(rendered("日本\ra"), ["a 本"], "half a character is a space");
    assert_eq!(rendered("日本\r\u{1b}[31m.\u{1b}[K"), ["."]);
}

#[test]
fn command_output_other_sequences_are_removed() {
    let text = "a\u{1b}[2J\u{1b}[3;4Hb\u{1b}]0;title\u{7}c\u{1b}]8;;http://x\u{1b}\\d\u{1b}(Be\u{1b}Pq\u{1b}\\f\u{1b}=g\u{9b}1Ah\u{1b}[?25li";
    assert_eq!(rendered(text), ["abcdefghi"]);
}

#[test]
fn command_output_incomplete_sequence_ends_with_line() {
    assert_eq!(rendered("a\u{1b}]0;title\nb\u{1b}[1\nc\u{1b}"), ["a", "b", "c"]);
    assert_eq!(rendered("a\u{1b}[1;ü"), ["aü"]);
}

#[test]
fn command_output_expands_tabs_and_names_invisible_chars() {
    assert_eq!(rendered("a\tb\n日\tc"), ["a       b", "日      c"]);
    assert_eq!(rendered("x\u{202e}y\u{7}\u{0}"), ["x<U+202E>y"]);
}

#[test]
fn command_output_combining_mark_joins_previous_char() {
    assert_eq!(rendered("e\u{1b}[31m\u{301}"), ["e\u{301}"]);
    assert_eq!(rendered("👨\u{200d}👩\u{200d}👧 🇩🇪 👍🏽"), ["👨\u{200d}👩\u{200d}👧 🇩🇪 👍🏽"]);
}

#[test]
fn command_output_run_colors_only_its_characters() {
    let style_run = |start, length| StyleRun {
        start,
        length,
        style: SgrState { fg: Some(AnsiColor::Basic(1)), ..SgrState::default() },
    };
    let text = StyledText {
        text: "a\t\u{202e}b\nc\nde".into(),
        style_runs: vec![style_run(1, 2), style_run(6, 99)],
    };
    let red = |style: Style| style.fg.is_some();
    let lines = command_output(&text, Role::Text);
    let pieces = |line: &Line| -> Vec<(String, bool)> {
        let chunks = line.spans.chunk_by(|one, next| red(one.style) == red(next.style));
        chunks
            .map(|chunk| (chunk.iter().map(|span| span.text.as_str()).collect(), red(chunk[0].style)))
            .collect()
    };
    assert_eq!(
        pieces(&lines[0]),
        [("a".into(), false), ("       <U+202E>".into(), true), ("b".into(), false)]
    );
    assert_eq!(pieces(&lines[1]), [("c".into(), false)]);
    assert_eq!(pieces(&lines[2]), [("de".into(), true)]);
}

/// Generates text with terminal sequences and noise.
fn noise() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("\u{1b}[".to_owned()),
        Just("\u{1b}]8;;".to_owned()),
        Just("\r".to_owned()),
        Just("\u{8}\u{8}".to_owned()),
        Just("\t".to_owned()),
        Just("\n".to_owned()),
        Just("\u{1b}[2K".to_owned()),
        Just("\u{1b}[31;4m".to_owned()),
        Just("日👨\u{200d}👩🇩🇪e\u{301}".to_owned()),
        Just("\u{202e}\u{200d}\u{fe0f}\u{e0041}".to_owned()),
        proptest::collection::vec(any::<u8>(), 0..12)
            .prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
        any::<String>(),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn command_output_has_no_controls_and_fits_width(text in noise(), width in 8_usize..40) {
        for line in command_output(&StyledText::parse(&text), Role::Text) {
            prop_assert!(!line.text().contains(char::is_control), "{line:?}");
            prop_assert!(!line.text().contains(['\u{202e}', '\u{200b}', '\u{feff}', '\u{2066}']), "{line:?}");
            for row in wrap(&line.spans, width, &Indent::default(), BreakMode::Anywhere) {
                prop_assert!(row.width() <= width, "{row:?}");
            }
        }
    }
}
