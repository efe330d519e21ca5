use super::{highlight as highlighted, *};
use crate::texts;

fn highlight(code: &str, language: Language<'_>) -> Vec<Line> {
    highlighted(code, language, Highlighting::Sync)
}

/// Pieces with the roles that aren't plain text's.
fn marked(line: &Line) -> Vec<(&str, Role)> {
    let spans = line.spans.iter().filter(|span| span.style.role != Role::Text);
    spans.map(|span| (span.text.as_str(), span.style.role)).collect()
}

fn told(code: &str, language: &str) -> Vec<(String, Role)> {
    let lines = highlight(code, Language::Named(language));
    lines.iter().flat_map(marked).map(|(text, role)| (text.trim().to_owned(), role)).collect()
}

fn is(code: &str, language: &str, text: &str, role: Role) {
    let told = told(code, language);
    assert!(told.contains(&(text.to_owned(), role)), "{text} is no {role:?} in {told:?}");
}

#[test]
fn the_words_of_some_languages_are_told_apart() {
    let rust = "/// Says.\nfn say(self) -> Result<u8> { format!(\"a\\n\"); 12 }";
    for (text, role) in [
        ("/// Says.", Role::Comment),
        ("fn", Role::Keyword),
        ("say", Role::Function),
        ("Result", Role::Type),
        ("12", Role::Constant),
    ] {
        is(rust, "rust,ignore", text, role);
    }
    is("echo \"$HOME\" # home", "shell", "# home", Role::Comment);
    is("{\"key\": [true, \"v\"]}", "json", "\"key\"", Role::Name);
    is("{\"key\": [true, \"v\"]}", "json", "\"v\"", Role::String);
    is("-old\n+new", "diff", "+new", Role::DiffAdded);
    is("def f(x):\n  return x", "Python", "return", Role::Keyword);
    is("[a]\nb = 1", "toml", "1", Role::Constant);
    is("const x: string = `a${b}`", "ts", "const", Role::Keyword);
}

#[test]
fn what_spans_lines_is_remembered_from_line_to_line() {
    let lines = highlight("a /* b\nc\nd */;", Language::Named("c"));
    assert_eq!(marked(&lines[1]), [("c", Role::Comment)]);
    assert_eq!(marked(&lines[2]), [("d */", Role::Comment)]);
}

#[test]
fn a_file_is_known_by_its_name_or_its_ending() {
    for (path, code, word) in
        [("src/a.rs", "let a;", "let"), ("Makefile", "# all", "# all"), ("x/Dockerfile", "FROM a", "FROM")]
    {
        let lines = highlight(code, Language::OfFile(path));
        assert_eq!(marked(&lines[0]).first().map(|(text, _)| text.trim()), Some(word), "{path}");
    }
    assert_eq!(highlight("let", Language::OfFile("notes")), [Line::new("let", Role::Code)]);
}

#[test]
fn no_text_is_lost_or_added_whatever_the_language() {
    let code = "fn x() {\n\n\tlet s = \"\u{1f600}ü\";\u{1b}[31m // <b>\n}\n'unclosed\n";
    let plain = texts(&highlight(code, Language::Named("nothing")));
    for language in ["rust", "sh", "html", "json", "md", "yaml", "js", "python", "sql", "tex", "xml"] {
        assert_eq!(texts(&highlight(code, Language::Named(language))), plain, "{language}");
    }
}

#[test]
fn beyond_the_limits_code_stays_plain_and_whole() {
    let long = format!("let a = \"{}\";", "x".repeat(LONGEST_LINE));
    let lines = highlight(&format!("{long}\nlet b;"), Language::Named("rust"));
    assert_eq!(lines[0], Line::new(long, Role::Text));
    assert_eq!(marked(&lines[1]), [("let", Role::Keyword)]);

    let many = highlight(&"let a;\n".repeat(LARGEST_BLOCK / 7 + 5), Language::Named("rust"));
    assert_eq!(marked(&many[0]), [("let", Role::Keyword)]);
    assert_eq!(many.last(), Some(&Line::new("let a;", Role::Text)));
    assert_eq!(many.len(), LARGEST_BLOCK / 7 + 5);
}

#[test]
fn code_without_a_known_language_is_in_one_role() {
    assert_eq!(highlight("let a;", Language::Named("")), [Line::new("let a;", Role::Code)]);
    assert_eq!(highlight("let a;", Language::Named("text")), [Line::new("let a;", Role::Code)]);
    assert_eq!(highlight("let a;", Language::Named("quux")), [Line::new("let a;", Role::Code)]);
}
