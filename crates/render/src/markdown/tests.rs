use super::*;
use crate::{RenderOptions, texts};

fn lines(text: &str, width: usize) -> Vec<String> {
    texts(&markdown(text, width))
}

#[test]
fn markdown_blocks_are_separated_by_blank_lines() {
    assert_eq!(
        lines("# Title\ntext\n\n---\n> quoted\n> more\n>\n> end", 20),
        ["Title", "", "text", "", "────────────────────", "", "│ quoted more", "│", "│ end"]
    );
}

#[test]
fn markdown_lists_nest_number_and_wrap() {
    let text = "intro\n- one two three\n  1. first\n  2. second\n- [x] done\n- [ ] open\n\nafter";
    assert_eq!(
        lines(text, 11),
        ["intro", "", "• one two", "  three", "  1. first", "  2. second", "☑ done", "☐ open", "", "after"]
    );
}

#[test]
fn markdown_list_keeps_blank_lines_of_source() {
    assert_eq!(lines("- a\n\n  b\n\n- c", 20), ["• a", "", "  b", "", "• c"]);
    assert_eq!(
        lines("- a\n  b\n\n- c\n- d", 20),
        ["• a b", "", "• c", "• d"],
        "whatever the parser calls loose"
    );
    let code = "- a\n  ```\n  x\n  ```\n\n- b\n  - c\n\n- d\n\ne";
    assert_eq!(lines(code, 20), ["• a", "    x", "", "• b", "  • c", "", "• d", "", "e"]);
    assert_eq!(lines("> - a\n>\n> - b", 20), ["│ • a", "│", "│ • b"]);
}

#[test]
fn markdown_code_block_has_language_and_wrap_marks() {
    assert_eq!(lines("```\nlet a = b;\n```", 8), ["  let a", "↳ = b;"]);
    assert_eq!(
        lines("do\n```rust,ignore\nfn x() {\n\n\tlet  a;\n}\n```\nend", 30),
        ["do", "", "  rust", "  fn x() {", "", "      let  a;", "  }", "", "end"]
    );
}

#[test]
fn markdown_code_in_item_is_indented() {
    assert_eq!(lines("1. run\n   ```\n   ls\n   ```", 30), ["1. run", "     ls"]);
}

#[test]
fn markdown_styles_combine() {
    let lines = markdown("**bold *both* `code`** [site](http://a.b) <http://c.d>", 80);
    assert_eq!(lines[0].text(), "bold both code site (http://a.b) http://c.d");
    let style = |text: &str| lines[0].spans.iter().find(|span| span.text == text).unwrap().style;
    assert_eq!(style("both").emphasis, Emphasis::BOLD.and(Emphasis::ITALIC));
    assert_eq!(style("code"), Style::from(Role::Code).with(Emphasis::BOLD));
    assert_eq!(style("site").role, Role::Link);
}

#[test]
fn markdown_table_cells_are_wrapped() {
    let text = "| name | n |\n|---|--:|\n| a long name | 1 |\n| b | 200 |\n";
    assert_eq!(
        lines(text, 30),
        [" name           n", "──────────────────", " a long name    1", " b            200"]
    );
    assert_eq!(
        lines(text, 14),
        [" name       n", "──────────────", " a long     1", " name", " b        200"]
    );
}

#[test]
fn markdown_narrow_table_is_a_list() {
    let text = "| a | b | c |\n|---|---|---|\n| 12345678 | 12345678 | 12345678 |\n";
    assert_eq!(lines(text, 13), ["a: 12345678", "b: 12345678", "c: 12345678"]);
}

#[test]
fn markdown_control_characters_are_removed() {
    let lines = lines("a \u{1b}[2Jb `\u{1b}]0;x\u{7}c`\n\n```\n\u{1b}[31md\n```\n\n[x](http://\u{1b}c)", 40);
    assert!(lines.iter().all(|line| !line.contains(char::is_control)), "{lines:?}");
}

/// An example of every Markdown element.
const EVERYTHING: &str = include_str!("everything.md");

#[test]
fn markdown_all_elements_snapshot() {
    for width in [40, 100] {
        let lines = markdown(EVERYTHING, width);
        assert!(lines.iter().all(|line| line.width() <= width), "{lines:?}");
        insta::assert_snapshot!(format!("markdown_{width}"), texts(&lines).join("\n"));
    }
}

#[test]
fn markdown_heading_levels_differ_without_color() {
    let styles: Vec<(String, Emphasis)> = (1..=6)
        .map(|level| {
            let line = markdown(&format!("{} T", "#".repeat(level)), 40).remove(0);
            (line.text(), line.spans.last().unwrap().style.emphasis)
        })
        .collect();
    for (at, style) in styles.iter().enumerate() {
        assert!(!styles[at + 1..].contains(style), "{style:?}");
    }
}

#[test]
fn markdown_link_address_is_written_unless_live_and_honest() {
    let live = LayoutOptions {
        width: 80,
        rendering: RenderOptions { links: LinkStyle::Live, ..RenderOptions::default() },
    };
    let at_both_widths =
        |text: &str| [live.clone(), 80.into()].map(|page: LayoutOptions| markdown(text, page)[0].text());
    assert_eq!(at_both_widths("[site](https://a.b)"), ["site", "site (https://a.b)"]);
    assert_eq!(at_both_widths("<https://a.b>"), ["https://a.b", "https://a.b"]);
    assert_eq!(at_both_widths("[x](docs/a.md)"), ["x (docs/a.md)", "x (docs/a.md)"]);
    assert_eq!(
        at_both_widths("[good.example](https://evil.example)")[0],
        "good.example (https://evil.example)"
    );
    assert_eq!(at_both_widths("[](https://a.b)")[0], " (https://a.b)");
    assert_eq!(at_both_widths("[![alt](https://a.b/i.png)](https://a.b)")[0], "▣ alt");
}

#[test]
fn markdown_wrapped_link_has_target_on_each_line() {
    let lines = markdown("[some words that wrap](https://a.b)", 10);
    let links = lines.iter().flat_map(|line| &line.spans).filter(|span| span.style.role == Role::Link);
    assert!(
        links.clone().count() == 2 && links.clone().all(|span| span.link.as_deref() == Some("https://a.b"))
    );
    assert_eq!(markdown("[x](javascript:alert(1))", 40)[0].spans[0].link, None);
}

#[test]
fn markdown_wide_layout_limits_prose_not_code() {
    let text = format!("{}\n\n```text\n{}\n```", "word ".repeat(60), "code".repeat(45));
    let widths: Vec<usize> = markdown(&text, 200).iter().map(Line::width).collect();
    assert_eq!(widths.iter().filter(|width| (100..=120).contains(*width)).count(), 2, "{widths:?}");
    assert_eq!(widths.iter().filter(|width| **width > 180).count(), 1, "{widths:?}");
}

#[test]
fn markdown_item_blocks_keep_gaps_of_source() {
    let tight_list = "- one\n  ```\n  code\n  ```\n  - deep\n";
    for text in [tight_list.to_owned(), format!("{tight_list}\n- two")] {
        assert_eq!(lines(&text, 30)[..3], ["• one", "    code", "  • deep"], "{text}");
    }
    let loose_quote = "> - one\n>\n>   more\n>   > said\n";
    assert_eq!(lines(loose_quote, 30), ["│ • one", "│", "│   more", "│   │ said"]);
}
