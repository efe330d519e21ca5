use proptest::prelude::*;

use super::*;
use crate::{HighlightCache, Highlighting, RenderOptions, Role, Span, Wrap, markdown, texts};

const TEXT: &str = "# Plan\n\nFirst **look** at `x`:\n\n- one\n- two\n  - deep\n\n```rust\nfn a() {\n\n    b();\n}\n```\nThen\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> quote\n\nend.";

fn lines(stream: &mut MarkdownStream) -> Vec<Line> {
    stream.update_lines();
    stream.lines().cloned().collect()
}

#[test]
fn stream_result_is_independent_of_chunks() {
    let complete = texts(&markdown(TEXT, 30));
    for size in [1, 2, 3, 7, 50] {
        let mut stream = MarkdownStream::new(30);
        let chars: Vec<char> = TEXT.chars().collect();
        for piece in chars.chunks(size) {
            stream.push(&piece.iter().collect::<String>());
            stream.update_lines();
        }
        assert_eq!(texts(&lines(&mut stream)), complete, "pieces of {size}");
    }
}

#[test]
fn stream_highlighting_is_independent_of_chunks() {
    let complete = markdown(TEXT, 30);
    for size in [1, 3, 40] {
        let mut stream = MarkdownStream::new(30);
        let chars: Vec<char> = TEXT.chars().collect();
        for piece in chars.chunks(size) {
            stream.push(&piece.iter().collect::<String>());
            stream.update_lines();
        }
        let code = |lines: Vec<Line>| {
            let is_code = |line: &Line| line.text().contains("fn a()");
            lines.into_iter().find(is_code).map(|line| line.spans)
        };
        assert_eq!(code(lines(&mut stream)), code(complete.clone()), "pieces of {size}");
    }
}

#[test]
fn stream_complete_code_line_is_highlighted() {
    let mut stream = MarkdownStream::new(30);
    stream.push("```rust\nlet a = 1;\nlet");
    let rendered = lines(&mut stream);
    assert_eq!(rendered[1].spans[1], Span::new("let", Role::Keyword));
    assert_eq!(rendered[2].spans[1], Span::new("let", Role::Text));
    stream.push(" b;\n");
    let next_lines = lines(&mut stream);
    assert_eq!(next_lines[..2], rendered[..2]);
    assert_eq!(next_lines[2].spans[1], Span::new("let", Role::Keyword));
}

#[test]
fn stream_highlighting_limit_is_independent_of_chunks() {
    let piece = "```rust\nlet a = 1;\n```\n\n- in a list\n  ```rust\n  let b;\n  ```\n\n";
    let text = piece.repeat(code::MAX_SYNC_BYTES / 15);
    let mut stream = MarkdownStream::new(30);
    for at in (0..text.len()).step_by(997) {
        stream.push(&text[at..text.len().min(at + 997)]);
        stream.update_lines();
    }
    stream.push("end\n");
    let (highlighted, complete) = (lines(&mut stream), markdown(&format!("{text}end\n"), 30));
    assert!(highlighted == complete);
    let keywords = complete.iter().flat_map(|line| &line.spans).filter(|s| s.style.role == Role::Keyword);
    assert_eq!(keywords.count(), code::MAX_SYNC_BYTES / (11 + 7) * 2);
}

#[test]
fn stream_line_count_never_shrinks() {
    let mut stream = MarkdownStream::new(30);
    let mut max_lines = 0;
    for c in TEXT.chars() {
        stream.push(&c.to_string());
        let count = lines(&mut stream).len();
        assert!(count >= max_lines, "{max_lines} lines became {count} after {:?}", stream.text());
        max_lines = count;
    }
}

#[test]
fn stream_open_marks_are_not_shown() {
    let mut stream = MarkdownStream::new(30);
    let mut rendered = Vec::new();
    for c in "say **so** and `do`\n\n```sh\nls\n```\n".chars() {
        stream.push(&c.to_string());
        rendered.extend(texts(&lines(&mut stream)));
    }
    assert!(rendered.iter().all(|line| !line.contains(['*', '`'])), "{rendered:?}");
}

#[test]
fn stream_finished_block_is_not_parsed_again() {
    let mut stream = MarkdownStream::new(30);
    stream.push("one\n\ntwo\n\nthree\nfo");
    stream.update_lines();
    assert_eq!(&stream.text()[stream.unfinished..], "three\nfo");
    stream.push("ur\n\n```\na\nb\nc");
    stream.update_lines();
    assert_eq!(&stream.text()[stream.unfinished..], "c");
}

#[test]
fn stream_endless_block_is_finished() {
    let mut stream = MarkdownStream::new(30);
    for _ in 0..20 {
        stream.push(&"- another item of a list\n".repeat(100));
        stream.update_lines();
        assert!(stream.text.len() - stream.unfinished <= MAX_PART_BYTES);
    }
    assert_eq!(texts(&lines(&mut stream)), vec!["• another item of a list"; 2_000]);
}

#[test]
fn stream_long_paragraph_and_table_are_finished() {
    let mut stream = MarkdownStream::new(30);
    for _ in 0..500 {
        stream.push("some **words** of a paragraph\n");
        stream.update_lines();
        assert!(stream.text.len() - stream.unfinished <= MAX_PART_BYTES + 30);
    }
    assert_eq!(texts(&lines(&mut stream)).iter().filter(|line| line.is_empty()).count(), 0);
    stream.push("\n| a | b |\n|---|---|\n");
    for _ in 0..50 {
        stream.push(&"| one | two |\n".repeat(10));
        stream.update_lines();
    }
    assert_eq!(texts(&lines(&mut stream)).iter().filter(|line| *line == " one  two").count(), 500);
}

#[test]
fn stream_block_after_a_split_table_has_a_gap() {
    let (head, row) = ("| a | b |\n|---|---|\n", "| one | two |\n");
    let rows = (MAX_PART_BYTES - head.len()) / row.len();
    let padding = " ".repeat(MAX_PART_BYTES - head.len() - rows * row.len());
    let table = format!("{head}{}| one {padding}| two |\n", row.repeat(rows - 1));
    assert_eq!(table.len(), MAX_PART_BYTES);
    let mut stream = MarkdownStream::new(30);
    stream.push(&format!("{table}\nafter\n"));
    let rendered = texts(&lines(&mut stream));
    assert_eq!(rendered[rendered.len() - 3..], [" one  two", "", "after"]);
}

#[test]
fn stream_long_line_is_finished() {
    let mut stream = MarkdownStream::new(30);
    for _ in 0..500 {
        stream.push(&"again and ".repeat(10));
        stream.update_lines();
    }
    assert!(stream.text.len() - stream.unfinished <= MAX_PART_BYTES);
}

#[test]
fn stream_large_backlog_is_processed_in_parts() {
    let text = format!("{TEXT}\n\n").repeat(3 * MAX_BYTES_AT_ONCE / TEXT.len());
    let mut stream = MarkdownStream::new(30);
    stream.push(&text);
    let (mut from, mut rendered, mut times) = (0, Vec::new(), 0);
    while times == 0 || stream.has_pending_text() {
        let now = texts(&lines(&mut stream));
        assert!(now.starts_with(&rendered[..rendered.len().saturating_sub(1)]));
        assert!(from < stream.unfinished && stream.unfinished <= from + MAX_BYTES_AT_ONCE);
        (from, rendered, times) = (stream.unfinished, now, times + 1);
    }
    assert!(times >= 3, "{times}");
    assert!(rendered == texts(&markdown(&text, 30)));
}

#[test]
fn stream_very_long_code_line_is_processed() {
    let mut stream = MarkdownStream::new(30);
    stream.push(&format!("```\n{}\n```\n\nend", "x".repeat(2 * MAX_BYTES_AT_ONCE)));
    for _ in 0..3 {
        lines(&mut stream);
    }
    assert_eq!(texts(&lines(&mut stream)).last().unwrap(), "end");
    assert!(!stream.has_pending_text());
}

#[test]
fn stream_endless_code_line_rows_are_finished() {
    for (piece, width) in [("0123456789abcdef", 80), ("数字 {\"k\": 1}, ", 31), ("a\tb\u{1b}[0m", 40)] {
        let mut stream = MarkdownStream::new(width);
        let mut text = "```json\n[\n".to_owned();
        stream.push(&text);
        for _ in 0..300 {
            let more = piece.repeat(40);
            stream.push(&more);
            text.push_str(&more);
            stream.update_lines();
            let unfinished = stream.text.len() - stream.unfinished;
            assert!(unfinished <= MAX_PART_BYTES, "{unfinished} bytes are laid out with each frame");
            let rows = stream.tail.len();
            assert!(rows <= MAX_PART_BYTES / 20, "{rows}");
        }
        let mark = "```".repeat(100) + "\n]\n```\n\nend";
        stream.push(&mark);
        text.push_str(&mark);
        let rendered = lines(&mut stream);
        let complete = markdown(&text, width);
        if !piece.contains('\t') {
            assert_eq!(texts(&rendered), texts(&complete));
        }
        assert_eq!(
            texts(&rendered)[texts(&rendered).len() - 3..],
            texts(&complete)[texts(&complete).len() - 3..]
        );
        let begins = |lines: &[Line]| lines.iter().filter(|line| line.wrap == Wrap::Hard).count();
        assert_eq!(begins(&rendered), begins(&complete), "copied it is one line still");
    }
}

#[test]
fn stream_endless_word_rows_are_finished() {
    for (piece, width) in [("0123456789abcdef", 80), ("*数字_", 31), ("a\tb\u{1b}[0m", 40)] {
        let mut stream = MarkdownStream::new(width);
        stream.push("here: ");
        for _ in 0..300 {
            stream.push(&piece.repeat(40));
            stream.update_lines();
            let unfinished = stream.text.len() - stream.unfinished;
            assert!(unfinished <= MAX_PART_BYTES, "{unfinished} bytes are laid out with each frame");
            assert!(stream.tail.len() <= MAX_PART_BYTES / 20, "{}", stream.tail.len());
        }
        let rows = lines(&mut stream);
        let goes_on = |line: &&Line| matches!(line.wrap, Wrap::Soft { .. });
        assert!(rows.iter().filter(goes_on).count() + 1 == rows.len(), "copied it is one paragraph");
        if !piece.contains(['_', '\t']) {
            assert!(texts(&rows) == texts(&markdown(stream.text(), width)));
        }
        stream.push(" **more**\n");
        assert!(texts(&lines(&mut stream)).last().unwrap().ends_with("more"));
        stream.push("\n- item");
        let end = texts(&lines(&mut stream));
        assert_eq!(end[end.len() - 2..], ["", "• item"]);
    }
}

#[test]
fn stream_set_page_wraps_everything_again() {
    let mut stream = MarkdownStream::new(30);
    stream.push("one two three\n\nfour five");
    stream.update_lines();
    stream.set_layout(8);
    assert_eq!(texts(&lines(&mut stream)), ["one two", "three", "", "four", "five"]);
}

/// Generates parts of Markdown that open and close elements.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("```rust\nfn x() {}\n"),
        Just("```\n"),
        Just("| a | b |\n|---|---|\n"),
        Just("| 1 | 2 |\n"),
        Just("- item\n"),
        Just("  - deep\n"),
        Just("1. one\n\n"),
        Just("> quote\n"),
        Just("\n"),
        Just("words **bold** "),
        Just("`code` and [a link](http://a.b) "),
        Just("# Title\n"),
        Just("---\n"),
        Just("text\n"),
        Just("<b>html</b>\n"),
        Just("日本 👨\u{200d}👩\u{200d}👧 "),
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn stream_finished_lines_never_change(text in pieces(), width in 8_usize..60) {
        let mut stream = MarkdownStream::new(width);
        let mut finished: Vec<Line> = Vec::new();
        for c in text.chars() {
            stream.push(c.encode_utf8(&mut [0; 4]));
            stream.update_lines();
            prop_assert!(stream.finished.starts_with(&finished), "after {:?}", stream.text());
            finished.clone_from(&stream.finished);
            prop_assert!(stream.lines().all(|line| line.width() <= width), "after {:?}", stream.text());
        }
    }
}

#[test]
fn stream_long_paragraph_breaks_like_fresh_layout() {
    let line = |from: usize, count: usize| {
        let word = |at: usize| ["word", "*slanted*", "`code`", "a", "considerably"][at % 5];
        (from..from + count).map(word).collect::<Vec<_>>().join(" ")
    };
    let lines_of_source: String = (0..200).map(|at| format!("{}\n", line(at, 7 + at % 3))).collect();
    let broken_on_purpose: String = (0..200).map(|at| format!("{}  \n", line(at, 9))).collect();
    for text in [
        format!("{lines_of_source}\nThen {}\n\nand more", line(0, 40)),
        format!("{}\n\n- item", line(0, 2_000)),
        format!("{lines_of_source}# Title\n\nend"),
        format!("{lines_of_source}- item\n- another\n\nend"),
        format!("{lines_of_source}```\ncode\n```\nend"),
        format!("{broken_on_purpose}end"),
    ] {
        for (size, widths) in [(61, &[40][..]), (97, &[34, 57]), (700, &[30, 80, 33])] {
            let mut stream = MarkdownStream::new(30);
            let pieces = text.as_bytes().chunks(size).map(|piece| str::from_utf8(piece).unwrap());
            for (piece, width) in pieces.zip(widths.iter().cycle()) {
                stream.push(piece);
                stream.set_layout(*width);
                assert!(lines(&mut stream).iter().all(|line| line.width() <= *width));
                assert!(stream.text.len() - stream.unfinished <= MAX_PART_BYTES, "it is finished by and by");
            }
            let width = stream.layout.width;
            assert_eq!(texts(&lines(&mut stream)), texts(&markdown(&text, width)), "{size} {widths:?}");
        }
    }
}

#[test]
fn stream_open_elements_do_not_flicker() {
    for text in [
        "before\n\n```sh\nls -l\n# done\n```\nafter",
        "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\nafter",
        "some **bold words** and *more of them* and `code` end",
        "see [the docs](https://docs.example/a) and [more](https://b.example) end",
        "- in a list\n  ```rust\n  let a = [1, 2]; // *not* `marked`\n\n  let b = \"**\";\n  ```\n- next",
        "> quoted\n> ```\n> ls *.rs `which ls`\n> ```\n> and **more**\n\nafter",
        "1. one\n\n   ~~~~\n   ``` of [another\n   ~~~~\n2. two\n",
        "- [ ] to do\n- [x] done, *all* of it\n* [a link](https://a.b) in an item\n1. [x] counted\n",
        "    indented *code*\n    [of two lines\n\n- a list\n- behind it\n",
        "prose\n\n    let a = *b;\n\n    // and `more`\n\nafter",
        "> | a | b |\n> |---|---|\n> | 1 | 2 |\n\nafter",
        "said\n| a | b |\n|---|---|\n| 1 | 2 |\n\nafter",
        "code with marks: `co``de`, `` `a` `` and `[` and \\[ x \\] and `*` end",
    ] {
        let mut stream = MarkdownStream::new(80);
        let mut rendered: Vec<String> = Vec::new();
        for c in text.chars() {
            stream.push(c.encode_utf8(&mut [0; 4]));
            let now = texts(&lines(&mut stream));
            // All lines but the last are unchanged, and the last one continues.
            let stable = rendered.len().saturating_sub(1);
            assert_eq!(now.get(..stable), Some(&rendered[..stable]), "after {:?}", stream.text());
            if let (Some(before), Some(after)) = (rendered.last(), now.get(stable)) {
                assert!(after.starts_with(before.as_str()), "{before:?} became {after:?}");
            }
            rendered = now;
        }
    }
}

fn is_highlighted(lines: &[Line]) -> bool {
    lines.iter().flat_map(|line| &line.spans).any(|span| span.style.role == Role::Keyword)
}

fn highlight_all(cache: &HighlightCache) {
    cache.run_queued(&mut code::InProcess::default(), || std::ops::ControlFlow::Continue(()));
}

#[test]
fn stream_background_highlighting_updates_lines() {
    let cache = HighlightCache::default();
    let options = RenderOptions { code: Highlighting::Background(cache.clone()), ..RenderOptions::default() };
    let layout = LayoutOptions { width: 40, rendering: options };
    let mut stream = MarkdownStream::new(layout.clone());
    stream.push("```kotlin\nval stream = 1\nval");
    assert!(!is_highlighted(&lines(&mut stream)));
    highlight_all(&cache);
    // No new text arrived.
    let highlighted = lines(&mut stream);
    assert!(is_highlighted(&highlighted[..2]) && !is_highlighted(&highlighted[2..]), "{highlighted:?}");
    // Another layout is highlighted immediately.
    stream.set_layout(layout.with_width(30));
    assert_eq!(lines(&mut stream), highlighted);
    stream.push(" late = 2\n```\n\nend");
    let updated = lines(&mut stream);
    assert!(is_highlighted(&updated[..2]) && !is_highlighted(&updated[2..]));
    highlight_all(&cache);
    let highlighted = lines(&mut stream);
    assert!(is_highlighted(&highlighted[2..]));
    assert_eq!(markdown(stream.text(), layout.with_width(30)), highlighted);
}

#[test]
fn stream_final_code_block_keeps_highlighting() {
    let cache = HighlightCache::default();
    let options = RenderOptions { code: Highlighting::Background(cache.clone()), ..RenderOptions::default() };
    let layout = LayoutOptions { width: 40, rendering: options };
    let mut stream = MarkdownStream::new(layout.clone());
    stream.push("```kotlin\nval last = 1\n```");
    lines(&mut stream);
    highlight_all(&cache);
    let (text, highlighted) = (stream.text().to_owned(), lines(&mut stream));
    drop(stream);
    assert!(is_highlighted(&highlighted));
    assert_eq!(markdown(&text, layout), highlighted);
}

#[test]
fn stream_late_highlighting_finds_its_rows() {
    let cache = HighlightCache::default();
    let options = RenderOptions { code: Highlighting::Background(cache.clone()), ..RenderOptions::default() };
    let layout = LayoutOptions { width: 20, rendering: options };
    let code = "val row = \"one that is wrapped\"\n// two\nval three = 3\n";
    let text = format!("Before.\n\n```kotlin\n{code}```\n\nAfter.\n\n```kotlin\n{code}// four\n```\n");
    let mut stream = MarkdownStream::new(layout.clone());
    stream.push(&text);
    let plain = texts(&lines(&mut stream));
    highlight_all(&cache);
    let highlighted = lines(&mut stream);
    assert_eq!(texts(&highlighted), plain);
    assert_eq!(highlighted, markdown(&text, layout));
}

/// Generates parts of valid Markdown, including nested blocks.
fn nested() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("```rust\nfn x() {}\n\nlet y;\n```\n"),
        Just("  ```\n  a `b` *c\n  ```\n"),
        Just("> ```\n> a **b\n> ```\n"),
        Just("- item `c` **d**\n"),
        Just("  - deep\n"),
        Just("- [ ] task\n"),
        Just("1. one\n"),
        Just("   more of it\n"),
        Just("    code *x*\n"),
        Just("> quote **b**\n"),
        Just("\n"),
        Just("words **bold**\n"),
        Just("`code` and [a link](http://a.b)\n"),
        Just("## Title\n"),
        Just("text\n"),
        Just("\n\n"),
    ];
    proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]
    #[test]
    fn stream_shown_text_is_only_extended(text in nested()) {
        let mut stream = MarkdownStream::new(70);
        let mut rendered: Vec<String> = Vec::new();
        for c in text.chars() {
            stream.push(c.encode_utf8(&mut [0; 4]));
            let now = texts(&lines(&mut stream));
            let stable = rendered.len().saturating_sub(1);
            prop_assert_eq!(now.get(..stable), Some(&rendered[..stable]), "after {:?}", stream.text());
            if let (Some(before), Some(after)) = (rendered.last(), now.get(stable)) {
                // The last word may move to the next row.
                let before = &before[..before.rfind(' ').unwrap_or(0)];
                prop_assert!(after.starts_with(before), "{:?} became {:?} after {:?}", before, after, stream.text());
            }
            rendered = now;
        }
    }
}
