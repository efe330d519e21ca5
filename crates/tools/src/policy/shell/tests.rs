//! The commands that the parser lists for a line.

use super::*;

fn words(line: &str) -> Vec<String> {
    parse(line).unwrap().iter().map(|segment| segment.words.join(" ")).collect()
}

#[test]
fn parse_line_lists_its_commands() {
    for (line, expected) in [
        ("a b; c && d|e & f\ng", vec!["a b", "c", "d", "e", "f", "g"]),
        ("echo 'a; b' \"c | d\" e\\;f", vec!["echo a; b c | d e;f"]),
        ("a $'b' $\"c $d\" '$'e $", vec!["a b c $d $e $"]),
        ("a $'b\\'; c' d; e", vec!["a b'; c d", "e"]),
        ("a $'\\x2egi\\164\\u002f\\U0000002f\\q\\n'", vec!["a .git//q "]),
        ("(cd x; ls) > out 2>&1", vec!["cd x", "ls", ""]),
        ("make 2>err >>log a", vec!["make a"]),
        ("exec {log}>err {log_2}<in a", vec!["exec {log} {log_2} a"]),
        ("a {b,c}>d", vec!["a b c"]),
        ("a {}>b {c}d}>e", vec!["a {} {c}d}"]),
        ("f() { a; }; { b;}", vec!["a", "b"]),
        ("a '{' \"{b,c}\" \\}", vec!["a { {b,c} }"]),
        ("time ! a | b", vec!["a", "b"]),
        ("X=1 Y=(a 'b c') d", vec!["X=1 Y=(a b c) d"]),
        ("case $x in a) b;; *) c;; esac", vec!["case $x a *", "b", "c"]),
        ("for x in a b; do c $x; done", vec!["for x in a b", "c $x"]),
        ("for ((i=0; i<$(a); i++)); do b; done", vec!["a", "b"]),
        ("if a; then b; elif c; then d; else e; fi", vec!["a", "b", "c", "d", "e"]),
        ("until a; do b; done; while c; do d; done", vec!["a", "b", "c", "d"]),
        ("[[ -f a && $(b) == c ]] && d", vec!["[[ a $(…) c", "b", "d"]),
        ("coproc a; (( $(b) )); c", vec!["a", "b", "c"]),
        ("!(a)", vec!["a"]),
        ("x=([$(a)]=1)", vec!["x=($(…) 1)", "a"]),
        ("# don't\na # it's", vec!["a"]),
        ("", vec![]),
    ] {
        assert_eq!(words(line), expected, "{line}");
    }
}

#[test]
fn parse_substitution_is_listed_after_its_command() {
    for (line, expected) in [
        ("a x@{0} c", vec!["a x@{0} c"]),
        ("a \"${x}\" ${x} c", vec!["a ${x} ${x} c"]),
        ("a {b,c}d", vec!["a bd cd"]),
        ("a $(b c) d; e", vec!["a $(…) d", "b c", "e"]),
        ("echo \"$(rm 'x)')\" `y` z", vec!["echo $(…) $(…) z", "rm x)", "y"]),
        ("a \"x $(b \"$(c; d)\") y\" z", vec!["a x $(…) y z", "b $(…)", "c", "d"]),
        ("cat <(curl u) -n > >(tee x)", vec!["cat $(…) -n", "curl u", "tee x"]),
        ("a ${x:-$(b)} $((1 + $(c)))", vec!["a ${x:-$(b)} $((…))", "b", "c"]),
        ("a \"${x[$(b)]}\"", vec!["a ${x[$(b)]}", "b"]),
        ("cat > >(sh) <<E\nb\nE", vec!["cat", "sh", "b"]),
        ("a $(case x in (y) b;; esac) c", vec!["a $(…) c", "case x y", "b"]),
    ] {
        assert_eq!(words(line), expected, "{line}");
    }
}

#[test]
fn parse_redirection_names_its_file() {
    for (line, words, outputs, inputs) in [
        ("a >x", "a", "x", ""),
        ("a >>x", "a", "x", ""),
        ("a >|x b", "a b", "x", ""),
        ("a 2>|x", "a", "x", ""),
        ("a {fd}>|x", "a {fd}", "x", ""),
        ("a >&x b", "a b", "x", ""),
        ("a &>x", "a", "x", ""),
        ("a &>>x", "a", "x", ""),
        ("a <>x", "a", "x", ""),
        ("a 2>&1", "a", "", ""),
        ("a >&- b", "a b", "", ""),
        ("a >x 2>&1 b", "a b", "x", ""),
        ("a >x 2>y", "a", "x y", ""),
        ("a '>x'", "a >x", "", ""),
        ("rm < x -rf /", "rm -rf /", "", "x"),
        ("a <&3 b", "a b", "", ""),
        ("a > $(b)/c", "a", "$(…)/c", ""),
        ("a > x$(b)/c", "a", "x$(…)/c x", ""),
    ] {
        let segment = &parse(line).unwrap()[0];
        let named = (segment.words.join(" "), segment.outputs.join(" "), segment.inputs.join(" "));
        assert_eq!(named, (words.into(), outputs.into(), inputs.into()), "{line}");
    }
    let shown = parse("a >x 2>>'y z' <w").unwrap()[0].to_string();
    assert_eq!(shown, "a < w > x >> y z");
    assert_eq!(parse("a &>>'y z'").unwrap()[0].to_line(), "a >> 'y z'");
    // Other shells run the text after `&>` as a separate command.
    assert_eq!(words("git push &> /dev/null -f"), ["git push -f", "-f"]);
}

#[test]
fn parse_pipeline_is_one_statement() {
    let statements = |line: &str| -> Vec<String> {
        let segments = parse(line).unwrap();
        let last = segments.iter().map(|segment| segment.statement).max().unwrap_or_default();
        let join = |number| {
            let members = segments.iter().filter(move |segment| segment.statement == number);
            members.map(|segment| segment.words.join(" ")).collect::<Vec<_>>().join("|")
        };
        (0..=last).map(join).filter(|words| !words.is_empty()).collect()
    };
    for (line, expected) in [
        ("a | b |& c; d", vec!["a|b|c", "d"]),
        ("a && b || c & d\ne", vec!["a", "b", "c", "d", "e"]),
        ("a | while b; do c; done | d; e", vec!["a|b|c|d", "e"]),
        ("if a; then if b; then c; fi; fi; d", vec!["a|b|c", "d"]),
        ("{ a; b; } | c; d", vec!["a|b|c", "d"]),
        ("a \"$(b; c)\"; d", vec!["a $(…)|b|c", "d"]),
        ("a <<E\nb; c\nE\nd", vec!["a", "b", "c", "d"]),
    ] {
        assert_eq!(statements(line), expected, "{line}");
    }
    let reads: Vec<bool> =
        parse("a | { b; c; } | d; e").unwrap().iter().map(|segment| segment.reads_pipe).collect();
    assert_eq!(reads, [false, true, true, true, false]);
}

#[test]
fn parse_here_document_is_read_as_commands() {
    for (line, expected) in [
        ("bash <<EOF\nsudo ls\nEOF\nb", vec!["bash", "sudo ls", "b"]),
        ("bash <<< 'sudo ls'", vec!["bash", "sudo ls"]),
        ("cat <<EOF | sh\nsudo ls\nEOF", vec!["cat", "sudo ls", "sh"]),
        ("sh -c \"$(cat <<'E'\nsudo ls\nE\n)\"", vec!["sh -c $(…)", "cat", "sudo ls"]),
        // `cat` and `tee` only copy it.
        ("cat > x <<EOF\nsudo ls $(b)\nEOF\nc", vec!["cat", "b", "c"]),
        ("cat > x <<'EOF'\nsudo ls $(b)\nEOF\nc", vec!["cat", "c"]),
        // Text for other programs may not be commands.
        ("x <<EOF\nit's\nEOF\nb", vec!["x", "b"]),
        ("a <<A <<-B\nx\nA\n\ty\n\tB\nb", vec!["a", "x", "y", "b"]),
        ("echo $((1 << 2))\nb 'c\n2'", vec!["echo $((…))", "b c\n2"]),
    ] {
        assert_eq!(words(line), expected, "{line}");
    }
}

#[test]
fn parse_other_text_is_an_error() {
    for line in [
        "a \"$(b  # )\n c\n)\"",
        "a ${ b; }",
        "a 'b",
        "a | | b",
        "a; }",
        "if a",
        "a $(b",
        "(a",
        "bash <<E\n'x\nE",
    ] {
        assert!(parse(line).is_err(), "{line}: {:?}", parse(line));
    }
}

#[test]
fn simple_words_only_one_plain_command_is_some() {
    assert_eq!(simple_words("cargo test 'a b'").unwrap(), ["cargo", "test", "a b"]);
    for line in ["", "a;b", "a $X", "A=1 b", "a > b", "a \\\n b", "!!", "a # b"] {
        assert_eq!(simple_words(line), None, "{line}");
    }
}

#[test]
fn simple_words_risky_wildcard_is_none() {
    for line in [
        "a *",
        "a ?x",
        "a [-]x",
        "a ''*",
        "a \"\"*",
        "a ~/.s*/x",
        "a /e*",
        "a ../*",
        "a .s*/x",
        "a ./.s*",
        "a x/.*/y",
    ] {
        assert_eq!(simple_words(line), None, "{line}");
    }
    for line in ["a '*.rs'", "a \"*\"", "a src/*.rs", "a ./*.rs", "a x*", "a --glob=*.rs", "a '/x.*'"] {
        assert!(simple_words(line).is_some(), "{line}");
    }
}

#[test]
fn parse_nested_line_is_read_or_refused() {
    for (opened, closed) in [
        ("(", ")"),
        ("((", "))"),
        ("{ ", "; }"),
        ("$((", "))"),
        ("${x:-", "}"),
        ("\"$(", ")\""),
        ("a $(", ")"),
        ("`", ""),
        ("if ", ""),
        ("a[", "]"),
        ("[[ ( ", ") ]]"),
        ("case a in ", ""),
        ("x=(", ")"),
        ("<(", ")"),
        ("+(", ")"),
        ("f() { ", "; }"),
        ("( { ", "; } )"),
        ("if (", ") fi"),
        ("( \")\"; ", ")"),
        ("( \\); ", ")"),
        (";if true;then ", ""),
        ("[[ a && ", ""),
        ("a && ", ""),
        ("coproc ", ""),
        ("function f ", ""),
        ("! ", ""),
        ("ls && ", ""),
        ("a <<E\n", "E\n"),
        ("'", "'"),
        ("\\", ""),
    ] {
        for depth in [3, 12, 30, 1_000] {
            let line = opened.repeat(depth) + "ls" + &closed.repeat(depth);
            // The parser neither exhausts the stack nor takes more time than all other tests.
            drop(parse(&line));
            drop(parse(&opened.repeat(depth)));
        }
    }
    assert!(parse(&("( { ".repeat(5) + "ls" + &"; } )".repeat(5))).is_ok());
    assert_eq!(parse(&("(".repeat(13) + "ls")), Err(UnparsedLine::TooNested));
    assert_eq!(parse(&("{ ".repeat(33) + "ls")), Err(UnparsedLine::TooNested));
}
