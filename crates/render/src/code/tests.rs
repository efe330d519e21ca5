use super::limits::{MAX_BLOCK_BYTES, MAX_LINE_BYTES};
use super::{highlight as highlight_in_mode, *};
use crate::texts;

fn highlight(code: &str, language: Language<'_>) -> Vec<Line> {
    highlight_in_mode(code, language, &Highlighting::Sync)
}

/// Returns the spans whose role isn't plain text.
fn marked(line: &Line) -> Vec<(&str, Role)> {
    let spans = line.spans.iter().filter(|span| span.style.role != Role::Text);
    spans.map(|span| (span.text.as_str(), span.style.role)).collect()
}

fn tokens(code: &str, language: &str) -> Vec<(String, Role)> {
    let lines = highlight(code, Language::Named(language));
    lines.iter().flat_map(marked).map(|(text, role)| (text.trim().to_owned(), role)).collect()
}

fn assert_role(code: &str, language: &str, text: &str, role: Role) {
    let tokens = tokens(code, language);
    assert!(tokens.contains(&(text.to_owned(), role)), "{text} is no {role:?} in {tokens:?}");
}

#[test]
fn highlight_some_languages_have_roles() {
    let rust = "/// Says.\nfn say(self) -> Result<u8> { format!(\"a\\n\"); 12 }";
    for (text, role) in [
        ("/// Says.", Role::Comment),
        ("fn", Role::Keyword),
        ("say", Role::Function),
        ("Result", Role::Type),
        ("12", Role::Constant),
    ] {
        assert_role(rust, "rust,ignore", text, role);
    }
    assert_role("echo \"$HOME\" # home", "shell", "# home", Role::Comment);
    assert_role("{\"key\": [true, \"v\"]}", "json", "\"key\"", Role::Name);
    assert_role("{\"key\": [true, \"v\"]}", "json", "\"v\"", Role::String);
    assert_role("-old\n+new", "diff", "+new", Role::DiffAdded);
    assert_role("def f(x):\n  return x", "Python", "return", Role::Keyword);
    assert_role("[a]\nb = 1", "toml", "1", Role::Constant);
    assert_role("const x: string = `a${b}`", "ts", "const", Role::Keyword);
}

#[test]
fn highlight_comment_spans_lines() {
    let lines = highlight("a /* b\nc\nd */;", Language::Named("c"));
    assert_eq!(marked(&lines[1]), [("c", Role::Comment)]);
    assert_eq!(marked(&lines[2]), [("d */", Role::Comment)]);
}

#[test]
fn highlight_file_language_from_name_or_extension() {
    for (path, code, word) in
        [("src/a.rs", "let a;", "let"), ("Makefile", "# all", "# all"), ("x/Dockerfile", "FROM a", "FROM")]
    {
        let lines = highlight(code, Language::OfFile(path));
        assert_eq!(marked(&lines[0]).first().map(|(text, _)| text.trim()), Some(word), "{path}");
    }
    assert_eq!(highlight("let", Language::OfFile("notes")), [Line::new("let", Role::Code)]);
}

#[test]
fn highlight_keeps_the_text() {
    let code = "fn x() {\n\n\tlet s = \"\u{1f600}ü\";\u{1b}[31m // <b>\n}\n'unclosed\n";
    let plain = texts(&highlight(code, Language::Named("nothing")));
    for language in ["rust", "sh", "html", "json", "md", "yaml", "js", "python", "sql", "tex", "xml"] {
        assert_eq!(texts(&highlight(code, Language::Named(language))), plain, "{language}");
    }
}

#[test]
fn highlight_beyond_limits_is_plain() {
    let long_line = format!("let a = \"{}\";", "x".repeat(MAX_LINE_BYTES));
    let lines = highlight(&format!("{long_line}\nlet b;"), Language::Named("rust"));
    assert_eq!(lines[0], Line::new(long_line, Role::Text));
    assert_eq!(marked(&lines[1]), [("let", Role::Keyword)]);

    let many = highlight(&"let a;\n".repeat(MAX_BLOCK_BYTES / 7 + 5), Language::Named("rust"));
    assert_eq!(marked(&many[0]), [("let", Role::Keyword)]);
    assert_eq!(many.last(), Some(&Line::new("let a;", Role::Text)));
    assert_eq!(many.len(), MAX_BLOCK_BYTES / 7 + 5);
}

#[test]
fn highlight_unknown_language_has_one_role() {
    assert_eq!(highlight("let a;", Language::Named("")), [Line::new("let a;", Role::Code)]);
    assert_eq!(highlight("let a;", Language::Named("text")), [Line::new("let a;", Role::Code)]);
    assert_eq!(highlight("let a;", Language::Named("quux")), [Line::new("let a;", Role::Code)]);
}
