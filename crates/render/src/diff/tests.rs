use super::*;
use crate::{CopyAs, texts};

const DIFF: &str = "--- a/x\n+++ b/x\n@@ -9,4 +9,4 @@ fn main\n let a = 1;\n-let b = 2;\n+let b = 3;\n }\n@@ -40 +40,2 @@\n+new\r\n end\n\\ No newline at end of file\n";

#[test]
fn diff_only_newline_ends_a_line() {
    let unified = "@@ -1,3 +1,3 @@\n a\rb\u{2028}c\u{c}d\r\n-x\ty\r\n+x\tz\r\n e\n";
    let lines = diff(unified, "a.txt", 60);
    assert_eq!(texts(&lines), ["  1   a␍b<U+2028>c␌d␍", "  2 - x   y␍", "  2 + x   z␍", "  3   e"]);
    let spans = lines[1].content().iter();
    let copy_as: Vec<CopyAs> =
        spans.map(|span| span.style.copy_as).filter(|copy_as| *copy_as != CopyAs::Itself).collect();
    assert_eq!(copy_as, [CopyAs::Char('\t'), CopyAs::Nothing, CopyAs::Nothing]);
}

#[test]
fn diff_lines_have_number_and_sign() {
    assert_eq!(
        texts(&diff(DIFF, "x", 40)),
        [
            "  9   let a = 1;",
            " 10 - let b = 2;",
            " 10 + let b = 3;",
            " 11   }",
            "  ⋯",
            " 40 + new␍",
            " 41   end"
        ]
    );
}

#[test]
fn diff_wide_layout_has_both_numbers() {
    assert_eq!(
        texts(&diff(DIFF, "x", 100))[..5],
        ["  9   9   let a = 1;", " 10     - let b = 2;", "     10 + let b = 3;", " 11  11   }", "  ⋯"]
    );
    assert_eq!(texts(&diff("@@ -0,0 +1 @@\n+all new\n", "", 100)), ["  1 + all new"]);
}

#[test]
fn diff_changed_words_are_marked() {
    let lines = diff(DIFF, "", 40);
    let words: Vec<&Span> = lines
        .iter()
        .flat_map(|line| &line.spans)
        .filter(|span| span.style.role == Role::DiffAddedWord)
        .collect();
    assert_eq!(words.iter().map(|span| span.text.as_str()).collect::<Vec<_>>(), ["3"]);
}

#[test]
fn diff_rewritten_line_has_no_marked_words() {
    let lines =
        diff_lines("@@ -1 +1,2 @@\n-  let one = two;\n+  let one = three;\n+  // quite another\n", "");
    let marked = |line: &DiffLine| {
        let is_word = |span: &&Span| matches!(span.style.role, Role::DiffAddedWord | Role::DiffRemovedWord);
        line.spans.iter().filter(is_word).map(|span| span.text.clone()).collect::<Vec<_>>()
    };
    assert_eq!(lines.iter().map(marked).collect::<Vec<_>>(), [vec!["two"], vec!["three"], vec![]]);
}

#[test]
fn diff_code_keeps_line_background() {
    let lines = diff_lines(DIFF, "src/x.rs");
    let span = |line: &DiffLine, text: &str| line.spans.iter().find(|span| span.text == text).cloned();
    let keyword = span(&lines[2], "let").unwrap();
    assert_eq!((keyword.style.role, keyword.style.background_role), (Role::Keyword, Some(Role::DiffAdded)));
    assert_eq!(span(&lines[1], "let").unwrap().style.background_role, Some(Role::DiffRemoved));
    assert_eq!(span(&lines[0], "let").unwrap().style, Role::Keyword.into());
    assert_eq!(span(&lines[2], "3").unwrap().style.role, Role::DiffAddedWord);
    for (highlighted, plain) in lines.iter().zip(diff_lines(DIFF, "")) {
        assert_eq!(highlighted.text(), plain.text());
    }
}

#[test]
fn diff_sides_are_highlighted_separately() {
    let lines = diff_lines("@@ -1,3 +1,3 @@\n-/* old\n+let a;\n b */\n c\n", "x.rs");
    let roles = |at: usize| lines[at].spans.iter().map(|span| span.style.role).collect::<Vec<_>>();
    assert!(!roles(2).contains(&Role::Comment), "the comment was on the old side: {:?}", lines[2]);
}

#[test]
fn diff_long_line_is_wrapped() {
    let lines = diff("@@ -1 +1 @@\n+abcdefghij\n", "", 12);
    assert_eq!(texts(&lines), ["  1 + abcdef", "      ghij"]);
}

#[test]
fn diff_truncation_note_is_a_gap() {
    assert_eq!(
        texts(&diff("@@ -1 +1 @@\n+a\n\\ diff truncated\n", "", 40)),
        ["  1 + a", "  ⋯ diff truncated"]
    );
}
