use proptest::prelude::*;
use serde_json::json;

use super::*;

fn text(raw: &str) -> String {
    StyledText::parse(raw).text
}

fn red() -> SgrState {
    SgrState { fg: Some(AnsiColor::Basic(1)), ..SgrState::default() }
}

#[test]
fn styled_text_has_only_readable_text() {
    for (raw, expected) in [
        ("a\tb\nc", "a\tb\nc"),
        ("\u{1b}[1;31mred\u{1b}[0m", "red"),
        ("\u{1b}]0;title\u{7}x\u{1b}]8;;u\u{1b}\\y", "xy"),
        ("\u{1b}(Bx\u{1b}cy", "xy"),
        ("a\r\nb\r\r\n", "a\nb\n"),
        ("nul\0 bell\u{7} c1\u{85} del\u{7f}", "nul bell c1 del"),
        ("cut \u{1b}[3", "cut "),
        ("open \u{1b}]0;title\nnext", "open \nnext"),
        ("\u{feff}mark \u{202e}", "\u{feff}mark \u{202e}"),
        ("spaces  \r\n", "spaces  \n"),
    ] {
        assert_eq!(text(raw), expected, "{raw:?}");
    }
}

#[test]
fn styled_text_overwritten_line_has_its_last_state() {
    for (raw, expected) in [
        ("[#  ] 10%\r[## ] 20%\r\nend", "[## ] 20%\nend"),
        ("downloading\rok", "okwnloading"),
        ("downloading\r           \rok\n", "ok\n"),
        ("downloading\r\u{1b}[Kok", "ok"),
        ("downloading\u{1b}[2K\u{1b}[1Gok", "ok"),
        ("- \u{8}\u{8}\\ \u{8}\u{8}| done", "| done"),
        ("日本\rab", "ab本"),
        ("日本\ra", "a 本"),
        ("a\tb\rxy", "xy      b"),
        ("a\tb\r\tc", "a\tc"),
        ("abc\r\td", "abc\td"),
    ] {
        assert_eq!(text(raw), expected, "{raw:?}");
    }
}

#[test]
fn style_runs_cover_the_colored_text() {
    let printed = StyledText::parse("é\u{1b}[31mred\nre\u{1b}[1md\u{1b}[0m plain");
    assert_eq!(printed.text, "éred\nred plain");
    let style_run = |start, length, sgr| StyleRun { start, length, style: sgr };
    let bold = SgrState { emphasis: Emphasis::BOLD, ..red() };
    assert_eq!(printed.style_runs, [style_run(1, 3, red()), style_run(5, 2, red()), style_run(7, 1, bold)]);
    let end = printed.suffix_from(4);
    assert_eq!((end.text.as_str(), end.style_runs[0]), ("d\nred plain", style_run(0, 1, red())));
}

#[test]
fn style_runs_are_encoded_as_sgr() {
    let raw = "\u{1b}[1;4;92;48;5;208ma\u{1b}[0;38;2;1;2;3mb\u{1b}[0;7;40mc";
    let json_runs = serde_json::to_value(StyledText::parse(raw).style_runs).unwrap();
    assert_eq!(json_runs, json!([[0, 1, "1;4;92;48;5;208"], [1, 1, "38;2;1;2;3"], [2, 1, "7;40"]]));
    assert_eq!(parse_style_runs(&json_runs), StyledText::parse(raw).style_runs);
    assert_eq!(
        parse_style_runs(&json!([[0, 1, "31"], "no", [-1, 2, "1"]])),
        [StyleRun { start: 0, length: 1, style: red() }]
    );
}

#[test]
fn styled_text_stored_raw_is_parsed() {
    let style_runs = vec![StyleRun { start: 9, length: 1, style: red() }];
    assert_eq!(StyledText::from_stored("a\tb", style_runs.clone()).style_runs, style_runs);
    assert_eq!(StyledText::from_stored("a\rb\u{1b}[31mc", style_runs), StyledText::parse("b\u{1b}[31mc"));
}

#[test]
fn style_runs_over_the_limit_keep_the_last() {
    let mut buffer = OutputBuffer::default();
    for n in 0..3 * MAX_STYLE_RUNS {
        buffer.push(format!("\u{1b}[3{}mx", n % 7).as_bytes());
    }
    let style_runs = buffer.styled_text().style_runs;
    assert_eq!((style_runs.len(), style_runs.last().unwrap().end()), (MAX_STYLE_RUNS, 3 * MAX_STYLE_RUNS));
}

#[test]
fn buffer_endless_line_can_be_overwritten_at_its_end() {
    let raw = format!("{}\rab", "x".repeat(16 * 1024 + 5));
    assert_eq!(text(&raw), format!("{}abxxx", "x".repeat(16 * 1024)));
}

#[test]
fn buffer_endless_input_stays_within_its_limit() {
    let mut buffer = OutputBuffer::with_limit(1_000);
    for chunk in ["1234567\n", "y", "\u{1b}]0;title", "\u{7}", "\u{1b}[1;1", "m", "\u{301}"] {
        for _ in 0..5_000 {
            buffer.push(chunk.as_bytes());
        }
        assert!(buffer.tail(usize::MAX).text.len() < 20_000);
    }
    assert!(buffer.is_cut());
    assert_eq!(buffer.lines(), 5_001);
    let printed = buffer.tail(10);
    assert!(printed.text.len() < 20_000);
}

#[test]
fn buffer_kept_text_begins_with_a_line_and_has_styles() {
    let mut buffer = OutputBuffer::with_limit(20);
    for n in 0..100 {
        buffer.push(format!("{n} \u{1b}[31mred\u{1b}[m\n").as_bytes());
    }
    let printed = buffer.styled_text();
    assert!(printed.text.len() <= 47 && printed.text.ends_with("98 red\n99 red\n"), "{printed:?}");
    let last = printed.style_runs.last().unwrap();
    let colored: String = printed.text.chars().skip(last.start).take(last.length).collect();
    assert_eq!((colored.as_str(), printed.text.chars().count()), ("red", last.end() + 1));
    assert_eq!((buffer.lines(), printed.text.chars().next().unwrap().is_ascii_digit()), (100, true));
}

/// Random bytes, including control sequences of terminals.
fn noise() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just("\u{1b}[".as_bytes().to_vec()),
        Just("\u{1b}]8;;".as_bytes().to_vec()),
        Just(b"\r".to_vec()),
        Just(b"\x08\x08".to_vec()),
        Just(b"\t".to_vec()),
        Just(b"\n".to_vec()),
        Just("\u{1b}[2K".as_bytes().to_vec()),
        Just("\u{1b}[31;4m".as_bytes().to_vec()),
        Just("日👨\u{200d}👩🇩🇪e\u{301}".as_bytes().to_vec()),
        Just("\u{202e}\u{200d}\u{fe0f}\u{e0041}".as_bytes().to_vec()),
        proptest::collection::vec(any::<u8>(), 0..12),
        any::<String>().prop_map(String::into_bytes),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

#[test]
fn buffer_copy_continues_in_the_current_line() {
    for (before, after, expected) in [
        ("a\n10%", "\r20%", "a\n20%"),
        ("a\n\u{1b}[31mred", " on\r\u{1b}[Kno", "a\nno"),
        ("a\u{1b}[3", "1mred", "ared"),
        ("ab\u{8}", "c", "ac"),
    ] {
        let mut buffer = OutputBuffer::default();
        buffer.push(before.as_bytes());
        let mut copy = buffer.continuation(1_000);
        buffer.push(after.as_bytes());
        copy.push(after.as_bytes());
        assert_eq!((copy.styled_text().text.as_str(), copy.styled_text()), (expected, buffer.styled_text()));
    }
    let mut buffer = OutputBuffer::default();
    buffer.push(b"one\ntwo\nthree gr\xc3");
    let mut copy = buffer.continuation(4);
    copy.push("üße".as_bytes());
    assert_eq!(copy.styled_text().text, "two\nthree grüße");
    assert!(copy.is_cut() && copy.lines() == 3);
}

proptest! {
    #[test]
    fn buffer_copied_at_any_point_gives_the_same_text(before in any::<String>(), raw in noise(), after in any::<String>()) {
        let before = format!("{before}{}", String::from_utf8_lossy(&raw));
        let mut buffer = OutputBuffer::default();
        buffer.push(before.as_bytes());
        let mut copy = buffer.continuation(usize::MAX);
        for buffer in [&mut buffer, &mut copy] {
            buffer.push(after.as_bytes());
        }
        prop_assert_eq!(buffer.styled_text(), copy.styled_text());
    }

    #[test]
    fn buffer_input_in_any_pieces_gives_the_same_text(raw in noise(), size in 1_usize..9) {
        let (mut complete, mut pieces) = (OutputBuffer::default(), OutputBuffer::default());
        complete.push(&raw);
        raw.chunks(size).for_each(|piece| pieces.push(piece));
        prop_assert_eq!(complete.styled_text(), pieces.styled_text());
    }

    #[test]
    fn buffer_noise_leaves_plain_text_and_ordered_styles(raw in noise()) {
        let mut buffer = OutputBuffer::default();
        buffer.push(&raw);
        let StyledText { text, style_runs } = buffer.styled_text();
        prop_assert!(!text.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')), "{text:?}");
        let mut end = 0;
        for style_run in style_runs {
            prop_assert!(style_run.start >= end && style_run.length > 0);
            end = style_run.end();
        }
        prop_assert!(end <= text.chars().count());
    }
}
