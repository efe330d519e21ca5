//! A parser for just enough of the shell's grammar to separate the commands of a line. In doubt it splits too much
//! rather than too little: that costs a question, not a file.

mod braces;

use braces::{CLOSE, OPEN};

/// One command of a line: its words, without quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Segment {
    pub words: Vec<String>,
    /// Files that its output is redirected to.
    pub outputs: Vec<String>,
    /// The number of its statement in the line. A pipeline, with its substitutions, groups and loops, is one statement.
    pub statement: usize,
}

impl Segment {
    fn is_empty(&self) -> bool {
        self.words.is_empty() && self.outputs.is_empty()
    }
}

/// Words that open a compound command, and words that close one.
const OPENERS: &[&str] = &["case", "for", "if", "select", "until", "while"];
const CLOSERS: &[&str] = &["done", "esac", "fi"];

/// Keywords that precede another command.
const CONNECTORS: &[&str] = &["!", "do", "elif", "else", "then", "time"];

/// Characters with which a shell does more than run one command with plain arguments.
const METACHARACTERS: &str = ";&|<>()`$\\{}!#";

/// Metacharacters that are plain text in double quotes.
const PLAIN_IN_DOUBLE_QUOTES: &str = "|()";

/// Checks whether a line has an unquoted metacharacter, a control character, or an unclosed quote.
fn has_metacharacter(line: &str) -> bool {
    let mut quote = None;
    for c in line.chars() {
        let is_meta = match (quote, c) {
            (_, c) if c.is_control() => c != '\t',
            (None, '\'' | '"') => {
                quote = Some(c);
                false
            }
            (Some(open), _) if open == c => {
                quote = None;
                false
            }
            (Some('\''), _) => false,
            (Some(_), c) if PLAIN_IN_DOUBLE_QUOTES.contains(c) => false,
            (Some(_) | None, c) => METACHARACTERS.contains(c),
        };
        if is_meta {
            return true;
        }
    }
    quote.is_some()
}

/// Returns the words of a line that is one command with plain arguments; `None` for lists, pipes, redirections,
/// substitutions, assignments, and wildcards that may become options or lead out of the folder.
pub(super) fn simple_words(line: &str) -> Option<Vec<String>> {
    if has_metacharacter(line) {
        return None;
    }
    if has_risky_wildcard(line) {
        return None;
    }
    let mut segments = segments(line);
    let segment = segments.pop().filter(|_| segments.is_empty())?;
    (!segment.words.first()?.contains('=')).then_some(segment.words)
}

/// Checks whether a wildcard begins a word, which may make it an option (a file can be called `--output=x`), or is part
/// of a path that is absolute, leads upward or is hidden. The line has no escapes outside of single quotes.
fn has_risky_wildcard(line: &str) -> bool {
    any_wildcard(line, is_risky_before_wildcard)
}

/// Checks for a wildcard outside of quotes. The line has no escapes outside of single quotes.
pub(super) fn has_wildcard(line: &str) -> bool {
    any_wildcard(line, |_| true)
}

/// Checks for an unquoted wildcard after a word prefix for which `is_match` holds.
fn any_wildcard(line: &str, is_match: impl Fn(&str) -> bool) -> bool {
    let mut quote = None;
    let mut word = String::new();
    for c in line.chars() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, _) if is_blank(c) => word.clear(),
            (None, '*' | '?' | '[') if is_match(&word) => return true,
            (None | Some(_), _) => word.push(c),
        }
    }
    false
}

fn is_risky_before_wildcard(word: &str) -> bool {
    let rest = word.strip_prefix("./").unwrap_or(word);
    word.is_empty() || rest.starts_with(['/', '~', '.']) || rest.contains("/.")
}

/// The mark of a substitution in a word that is being parsed; a command can't contain the character.
const SUBSTITUTION: char = '\0';

/// All marks.
const MARKS: [char; 3] = [SUBSTITUTION, OPEN, CLOSE];

/// Prefix of a word that is no argument: the source of a redirected input, or an empty word for `&>`.
const PART: char = '\x03';

/// Maximum number of here-documents per line that are parsed, and their maximum nesting depth.
const HEREDOCS: usize = 64;

/// The nesting depth of substitutions and subshells up to which a command continues after a substitution in it. A
/// deeper one ends the command, because a continued command is inserted before all commands in its substitutions.
const SUBSTITUTIONS: usize = 64;

/// Splits a line into its commands, those in substitutions, subshells and here-documents included.
pub(super) fn segments(line: &str) -> Vec<Segment> {
    segments_of(line, HEREDOCS)
}

fn segments_of(line: &str, heredocs: usize) -> Vec<Segment> {
    let mut parser = LineParser { heredocs, ..LineParser::default() };
    let mut rest = line;
    while let Some(c) = take(&mut rest, |_| true) {
        match (parser.command.quote, c) {
            // An apostrophe in a comment is no quote.
            (Quote::None, '\'' | '"') if parser.comment.is_some() => {}
            (Quote::None, '\\') if parser.comment.is_some() => {
                let is_plain = |next: char| !"\n'\"".contains(next);
                take(&mut rest, is_plain).into_iter().for_each(|next| parser.push(next));
            }
            (Quote::Single | Quote::Escaped, '\'') | (Quote::Double, '"') => {
                parser.command.quote = Quote::None
            }
            (Quote::Single, _) => parser.push(c),
            (Quote::Escaped, '\\') => parser.push(take_escape(&mut rest)),
            (Quote::Escaped, _) => parser.push(c),
            (_, '\\') => {
                take(&mut rest, |_| true)
                    .into_iter()
                    .filter(|next| *next != '\n')
                    .for_each(|next| parser.push(next));
            }
            (_, '`') => parser.enter_or_leave_backticks(),
            (_, '$') | (Quote::None, '<' | '>') if take(&mut rest, |next| next == '(').is_some() => {
                parser.substitute();
            }
            (Quote::Double, _) => parser.push(c),
            // `$'x'` and `$"x"` are `x`.
            (Quote::None, '$')
                if parser.comment.is_none() && take(&mut rest, |next| next == '\'').is_some() =>
            {
                parser.open(Quote::Escaped)
            }
            (Quote::None, '$') if rest.starts_with('"') => {}
            (Quote::None, '\'') => parser.open(Quote::Single),
            (Quote::None, '"') => parser.open(Quote::Double),
            (Quote::None, _) => parser.parse_unquoted(c, &mut rest),
        }
    }
    parser.end();
    parser.segments
}

/// Removes and returns the first character, if it matches.
fn take(rest: &mut &str, is_match: impl Fn(char) -> bool) -> Option<char> {
    let first = rest.chars().next().filter(|c| is_match(*c))?;
    *rest = &rest[first.len_utf8()..];
    Some(first)
}

/// Parses the escape after a backslash in `$'…'` and returns its character; a control character becomes a space.
fn take_escape(rest: &mut &str) -> char {
    let Some(c) = take(rest, |_| true) else { return '\\' };
    let (radix, max, first) = match c {
        'x' => (16, 2, 0),
        'u' => (16, 4, 0),
        'U' => (16, 8, 0),
        '0'..='7' => (8, 2, c.to_digit(8).unwrap_or_default()),
        'a' | 'b' | 'c' | 'e' | 'E' | 'f' | 'n' | 'r' | 't' | 'v' => return ' ',
        _ => return c,
    };
    let mut code = first;
    for _ in 0..max {
        let Some(digit) = take(rest, |next| next.is_digit(radix)) else { break };
        code = code * radix + digit.to_digit(radix).unwrap_or_default();
    }
    char::from_u32(code).filter(|c| !c.is_control()).unwrap_or(' ')
}

/// Checks whether a shell splits words at a character. Other Unicode blanks are part of a word.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n')
}

fn ends_word(c: char) -> bool {
    is_blank(c) || ";&|<>()`".contains(c)
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Quote {
    #[default]
    None,
    Single,
    /// `$'…'`, with backslash escapes.
    Escaped,
    Double,
}

/// The kind of redirection that the next word belongs to.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Redirect {
    #[default]
    None,
    Output,
    /// A file, or a file descriptor: `>&`.
    OutputOrDescriptor,
    Input,
    /// The delimiter line of a here-document; tabs before it are ignored.
    Heredoc,
}

/// A partially parsed command.
#[derive(Default)]
struct OpenCommand {
    segment: Segment,
    word: Option<String>,
    redirect: Redirect,
    quote: Quote,
    /// Its index among the segments: before those of its substitutions, which may `cd`.
    at: usize,
}

#[derive(Default)]
struct LineParser {
    segments: Vec<Segment>,
    command: OpenCommand,
    /// The commands that contain the current substitution or subshell.
    outer: Vec<OpenCommand>,
    in_backticks: bool,
    /// The depth in `outer` at which the current comment began.
    comment: Option<usize>,
    /// The current statement, and the highest number of any.
    statement: usize,
    last_statement: usize,
    /// The number of open brace groups and compound commands: their commands form one statement.
    open: usize,
    /// Delimiters of the here-documents that begin with the next line.
    heredoc_delimiters: Vec<String>,
    /// The number of here-documents that may still be parsed.
    heredocs: usize,
}

impl LineParser {
    /// Parses a character outside of quotes; `rest` is the text after it.
    fn parse_unquoted(&mut self, c: char, rest: &mut &str) {
        match c {
            '#' if self.is_between_words() => {
                self.comment.get_or_insert(self.outer.len());
                self.push(c);
            }
            '<' => self.start_input(rest),
            '>' => self.start_output(rest),
            // In other shells the command ends at this point.
            '&' if rest.starts_with('>') => self.begin_part(),
            '(' => self.enter_subshell(),
            ')' => self.leave(),
            '\n' => {
                self.end_segment();
                self.comment = None;
                self.parse_heredocs(rest);
                self.end_statement();
            }
            '|' if !rest.starts_with('|') => {
                take(rest, |next| next == '&');
                self.end_segment();
            }
            ';' | '&' | '|' => {
                self.end_segment();
                self.end_statement();
            }
            '{' | '}' if self.is_between_words() && rest.chars().next().is_none_or(ends_word) => {
                self.end_segment();
                self.open = if c == '{' { self.open + 1 } else { self.open.saturating_sub(1) };
            }
            '{' => self.push(OPEN),
            '}' => self.push(CLOSE),
            c if is_blank(c) => self.end_word(),
            c => self.push(c),
        }
    }

    /// Begins an output redirection: `>`, `>|` (overwrites despite `noclobber`), or `>&`. The second half of `>>`
    /// begins another one.
    fn start_output(&mut self, rest: &mut &str) {
        self.redirect(match take(rest, |next| "|&".contains(next)) {
            Some('&') => Redirect::OutputOrDescriptor,
            Some(_) | None => Redirect::Output,
        });
    }

    /// Marks the next words to be judged also as a command of their own.
    fn begin_part(&mut self) {
        self.end_word();
        self.command.segment.words.push(PART.to_string());
    }

    /// Parses a `<`; the next word is no argument.
    fn start_input(&mut self, rest: &mut &str) {
        self.drop_descriptor();
        self.begin_part();
        // `<&3`
        take(rest, |next| next == '&');
        let is_double = take(rest, |next| next == '<').is_some();
        let is_string = is_double && take(rest, |next| next == '<').is_some();
        if is_double && !is_string {
            take(rest, |next| next == '-');
            self.redirect(Redirect::Heredoc);
        } else {
            self.redirect(Redirect::Input);
        }
    }

    /// Parses the here-documents that begin in `rest` as commands of their own; quotes that they leave open end with
    /// them. Without a delimiter line there is no here-document: `$((1 << 2))`.
    fn parse_heredocs(&mut self, rest: &mut &str) {
        for last in std::mem::take(&mut self.heredoc_delimiters) {
            let Some(depth_left) = self.heredocs.checked_sub(1) else { return };
            self.heredocs = depth_left;
            let ends = |line: &str| line.trim_end_matches('\n').trim_start_matches('\t') == last;
            let mut at = 0;
            let Some(end) = rest.split_inclusive('\n').find(|line| {
                at += line.len();
                ends(line)
            }) else {
                continue;
            };
            let mut nested = segments_of(&rest[..at - end.len()], depth_left);
            let first = self.last_statement + 1;
            for segment in &mut nested {
                segment.statement += first;
                self.last_statement = self.last_statement.max(segment.statement);
            }
            self.segments.extend(nested);
            self.command.at = self.segments.len();
            *rest = &rest[at..];
        }
    }

    /// Ends the statement, unless a group, compound command or substitution is open.
    fn end_statement(&mut self) {
        if self.outer.is_empty() && self.open == 0 {
            self.last_statement += 1;
            self.statement = self.last_statement;
        }
    }

    /// Counts the compound commands that the words of a command open or close.
    fn count_compounds(&mut self, words: &[String]) {
        let mut words = words.iter().map(String::as_str).skip_while(|word| CONNECTORS.contains(word));
        match words.next() {
            Some(word) if OPENERS.contains(&word) => {
                self.open += 1;
                self.open += words.take_while(|word| OPENERS.contains(word)).count();
            }
            Some(word) if CLOSERS.contains(&word) => self.open = self.open.saturating_sub(1),
            Some(_) | None => {}
        }
    }

    fn push(&mut self, c: char) {
        self.command.word.get_or_insert_default().push(c);
    }

    fn open(&mut self, quote: Quote) {
        self.command.quote = quote;
        self.command.word.get_or_insert_default();
    }

    fn is_between_words(&self) -> bool {
        self.command.word.is_none()
    }

    /// Begins a substitution with fresh quoting; unless it is too deep, the command around it continues after it.
    fn substitute(&mut self) {
        self.push(SUBSTITUTION);
        if self.outer.len() >= SUBSTITUTIONS {
            self.end_segment();
        }
        self.enter();
    }

    fn enter_subshell(&mut self) {
        self.end_segment();
        self.enter();
    }

    fn enter(&mut self) {
        let inner = OpenCommand { at: self.segments.len(), ..OpenCommand::default() };
        self.outer.push(std::mem::replace(&mut self.command, inner));
    }

    fn leave(&mut self) {
        self.end_segment();
        // The assumed end of a substitution ends a comment in it; the quote around it continues.
        self.comment = self.comment.filter(|depth| *depth < self.outer.len() || *depth == 0);
        self.command = self.outer.pop().unwrap_or_default();
        if self.is_between_words() {
            self.command.at = self.segments.len();
        }
    }

    fn enter_or_leave_backticks(&mut self) {
        if self.in_backticks {
            self.leave();
        } else {
            self.substitute();
        }
        self.in_backticks = !self.in_backticks;
    }

    /// Drops a file descriptor: the `2` of `2>` is no argument, nor is the `{name}` of `{name}>`.
    fn drop_descriptor(&mut self) {
        let is_name =
            |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let is_descriptor = |word: &str| {
            let name = word.strip_prefix(OPEN).and_then(|word| word.strip_suffix(CLOSE));
            word.chars().all(|c| c.is_ascii_digit()) || name.is_some_and(is_name)
        };
        if self.command.word.as_deref().is_some_and(is_descriptor) {
            self.command.word = None;
        }
    }

    fn redirect(&mut self, redirect: Redirect) {
        self.drop_descriptor();
        self.end_word();
        self.command.redirect = redirect;
    }

    fn end_word(&mut self) {
        let Some(word) = self.command.word.take() else { return };
        let segment = &mut self.command.segment;
        match std::mem::take(&mut self.command.redirect) {
            Redirect::None => segment.words.push(word),
            // `2>&1`, `>&-` and `>&3-` name no file.
            Redirect::OutputOrDescriptor if word.chars().all(|c| c.is_ascii_digit() || c == '-') => {}
            Redirect::Output | Redirect::OutputOrDescriptor => segment.outputs.push(word),
            Redirect::Input => segment.words.push(format!("{PART}{word}")),
            Redirect::Heredoc => {
                segment.words.push(format!("{PART}{word}"));
                self.heredoc_delimiters.push(word);
            }
        }
    }

    fn end_segment(&mut self) {
        self.end_word();
        self.command.redirect = Redirect::None;
        let mut segment = std::mem::take(&mut self.command.segment);
        segment.statement = self.statement;
        self.count_compounds(&segment.words);
        let at = self.command.at;
        self.segments.splice(at..at, with_pieces(&segment));
        self.command.at = self.segments.len();
    }

    fn end(&mut self) {
        while !self.outer.is_empty() {
            self.leave();
        }
        self.end_segment();
    }
}

/// Returns a command whose words still have marks, followed by the parts before and after each `<` and `&>` in it as
/// commands of their own.
fn with_pieces(marked: &Segment) -> Vec<Segment> {
    let words = marked.words.iter().filter(|word| !word.starts_with(PART)).cloned().collect();
    let statement = marked.statement;
    let mut segments = pieces(&Segment { words, outputs: marked.outputs.clone(), statement });
    if marked.words.iter().any(|word| word.starts_with(PART)) {
        let part = || Segment { statement, ..Segment::default() };
        let mut parts = vec![part()];
        for word in &marked.words {
            let plain = word.strip_prefix(PART);
            if plain.is_some() {
                parts.push(part());
            }
            let word = plain.unwrap_or(word);
            parts
                .last_mut()
                .into_iter()
                .filter(|_| !word.is_empty())
                .for_each(|part| part.words.push(word.into()));
        }
        // The outputs come after all parts that may `cd`.
        parts.last_mut().into_iter().for_each(|part| part.outputs.clone_from(&marked.outputs));
        segments.extend(parts.iter().flat_map(pieces));
    }
    segments
}

/// Returns a command whose words still have marks, followed by the parts between them as commands of their own. The
/// assumed end of a substitution may be the `)` of a pattern in it, and some programs run their arguments: `ssh ${host}
/// reboot`.
fn pieces(marked: &Segment) -> Vec<Segment> {
    let plain = |words: &[String]| words.iter().flat_map(|word| braces::expand(word)).map(unmark).collect();
    let statement = marked.statement;
    let mut segments =
        vec![Segment { words: plain(&marked.words), outputs: plain(&marked.outputs), statement }];
    if marked.words.iter().chain(&marked.outputs).any(|word| word.contains(MARKS)) {
        let outputs = marked.outputs.iter().filter_map(|word| head(word)).collect();
        let mut piece = Segment { words: vec![], outputs, statement };
        for word in &marked.words {
            for (at, part) in word.split(MARKS).enumerate() {
                if at > 0 {
                    segments.push(std::mem::replace(&mut piece, Segment { statement, ..Segment::default() }));
                }
                if !part.is_empty() {
                    piece.words.push(part.to_owned());
                }
            }
        }
        segments.push(piece);
    }
    segments.retain(|segment| !segment.is_empty());
    segments
}

/// Returns the part of a word before its first mark; `None` without a mark.
fn head(word: &str) -> Option<String> {
    let (head, _) = word.split_once(MARKS)?;
    (!head.is_empty()).then(|| head.to_owned())
}

/// Returns a word as the user typed it.
fn unmark(word: String) -> String {
    if !word.contains(MARKS) {
        return word;
    }
    word.replace(SUBSTITUTION, "$(…)").replace(OPEN, "{").replace(CLOSE, "}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        segments(line).iter().map(|segment| segment.words.join(" ")).collect()
    }

    #[test]
    fn segments_line_is_split_into_commands() {
        for (line, expected) in [
            ("a b; c && d|e & f\ng", vec!["a b", "c", "d", "e", "f", "g"]),
            ("echo 'a; b' \"c | d\" e\\;f", vec!["echo a; b c | d e;f"]),
            ("a $'b' $\"c $d\" '$'e $", vec!["a b c $d $e $"]),
            ("a $'b\\'; c' d; e", vec!["a b'; c d", "e"]),
            ("a $'\\x2egi\\164\\u002f\\U0000002f\\q\\n'", vec!["a .git//q "]),
            ("(cd x; ls) > out 2>&1", vec!["cd x", "ls", ""]),
            ("make 2>err >>log a", vec!["make a"]),
            ("exec {log}>err {log_2}<in a", vec!["exec a", "exec", "in a"]),
            ("a {b,c}>d", vec!["a b c", "a", "b,c"]),
            ("a {}>b {c}d}>e", vec!["a {} {c}d}", "a", "c", "d"]),
            ("f() { a; }; { b;}", vec!["f", "a", "b"]),
            ("a '{' \"{b,c}\" \\}", vec!["a { {b,c} }"]),
        ] {
            assert_eq!(words(line), expected, "{line}");
        }
        assert_eq!(segments("make 2>err >>log a")[0].outputs, ["err", "log"]);
    }

    #[test]
    fn segments_command_continues_after_substitution() {
        for (line, expected) in [
            ("a {} -b", vec!["a {} -b", "a", "-b"]),
            ("a x@{0} c", vec!["a x@{0} c", "a x@", "0", "c"]),
            ("a \"${x}\" ${x} c", vec!["a ${x} ${x} c", "a ${x} $", "x", "c"]),
            ("a {b,c}d", vec!["a bd cd", "a", "b,c", "d"]),
            ("a $(b c) d; e", vec!["a $(…) d", "a", "d", "b c", "e"]),
            ("echo \"$(rm 'x)')\" `y` z", vec!["echo $(…) $(…) z", "echo", "z", "rm x)", "y"]),
            ("a \"x $(b \"$(c; d)\") y\" z", vec!["a x $(…) y z", "a x ", " y z", "b $(…)", "b", "c", "d"]),
            ("cat <(curl u) -n", vec!["cat $(…) -n", "cat", "-n", "curl u"]),
            ("a $(case x in y) b;; esac) c", vec!["a $(…) b", "a", "b", "case x in y", "esac", "c"]),
            ("a $(b; c", vec!["a $(…)", "a", "b", "c"]),
            ("(a `b` c) d", vec!["a $(…) c", "a", "c", "b", "d"]),
        ] {
            assert_eq!(words(line), expected, "{line}");
        }
        let outputs = segments("a > $(b)/c$(d) e").into_iter().map(|segment| segment.outputs.join(" "));
        assert_eq!(outputs.collect::<Vec<_>>(), ["$(…)/c$(…)", "", "", ""]);
    }

    #[test]
    fn segments_command_continues_after_redirection() {
        for (line, expected) in [
            ("rm < x -rf /", vec!["rm -rf /", "rm", "x -rf /"]),
            ("rm 0<x -r y", vec!["rm -r y", "rm", "x -r y"]),
            ("git push &> /dev/null -f", vec!["git push -f", "git push", "-f"]),
            ("a &>>x b; c & d >&2 e", vec!["a b", "a", "b", "c", "d e"]),
            ("a <&3 b <>c d", vec!["a b d", "a", "3 b", "d"]),
            ("a <<<x b\nc", vec!["a b", "a", "x b", "c"]),
            ("a >b& c", vec!["a", "c"]),
        ] {
            assert_eq!(words(line), expected, "{line}");
        }
        assert_eq!(segments("a &> x b")[0].outputs, ["x"]);
    }

    #[test]
    fn segments_each_redirection_names_its_output() {
        for (line, words, outputs) in [
            ("a >x", "a", "x"),
            ("a >>x", "a", "x"),
            ("a >|x b", "a b", "x"),
            ("a >| x", "a", "x"),
            ("a 2>|x", "a", "x"),
            ("a {fd}>|x", "a", "x"),
            ("a >&x b", "a b", "x"),
            ("a >& x", "a", "x"),
            ("a 2>&x", "a", "x"),
            ("a &>x", "a", "x"),
            ("a &>>x", "a", "x"),
            ("a <>x", "a", "x"),
            ("a 3<> x", "a", "x"),
            ("a 2>&1", "a", ""),
            ("a >&- b", "a b", ""),
            ("a >&3- b", "a b", ""),
            ("a >x 2>&1 b", "a b", "x"),
            ("a >x 2>y", "a", "x y"),
            ("a '>x'", "a >x", ""),
        ] {
            let segment = &segments(line)[0];
            assert_eq!(
                (segment.words.join(" "), segment.outputs.join(" ")),
                (words.into(), outputs.into()),
                "{line}"
            );
        }
    }

    #[test]
    fn segments_pipeline_is_one_statement() {
        let statements = |line: &str| -> Vec<String> {
            let segments = segments(line);
            let max = segments.iter().map(|segment| segment.statement).max().unwrap_or_default();
            let join_statement = |number| {
                let members = segments.iter().filter(move |segment| segment.statement == number);
                members.map(|segment| segment.words.join(" ")).collect::<Vec<_>>().join("|")
            };
            (0..=max).map(join_statement).filter(|words| !words.is_empty()).collect()
        };
        for (line, expected) in [
            ("a | b |& c; d", vec!["a|b|c", "d"]),
            ("a && b || c & d\ne", vec!["a", "b", "c", "d", "e"]),
            ("a | while b; do c; done | d; e", vec!["a|while b|do c|done|d", "e"]),
            ("if a; then if b; then c; fi; fi; d", vec!["if a|then if b|then c|fi|fi", "d"]),
            ("{ a; b; } | c; d", vec!["a|b|c", "d"]),
            ("(a; b) | c; d", vec!["a|b|c", "d"]),
            ("a \"$(b; c)\"; d", vec!["a $(…)|a|b|c", "d"]),
            ("{ a <<E\nb; c\nE\n} | d", vec!["a|a|E|d", "b", "c"]),
        ] {
            assert_eq!(statements(line), expected, "{line}");
        }
    }

    #[test]
    fn segments_quote_in_comment_or_heredoc_ends_with_it() {
        for (line, expected) in [
            ("# don't\nsudo ls", vec!["# dont", "sudo ls"]),
            ("# a $'b\nc", vec!["# a $b", "c"]),
            ("a # it's \\\nb", vec!["a # its", "b"]),
            ("a \"$(b # c)\" d; e", vec!["a $(…) d", "a", "d", "b # c", "e"]),
            ("# (a) :) don't\nb", vec!["#", "a", ":", "dont", "b"]),
            ("a#'b\nc' ${#x} d", vec!["a#b\nc ${#x} d", "a#b\nc $", "#x", "d"]),
            ("cat > x <<EOF\nit's\nEOF\nsudo ls", vec!["cat", "cat", "EOF", "its", "sudo ls"]),
            ("cat <<-'E F' b\n\"x\n\tE F\nc", vec!["cat b", "cat", "E F b", "x", "c"]),
            ("a <<A <<B\nx'\nA\ny'\nB\nb", vec!["a", "a", "A", "B", "x", "y", "b"]),
            (
                "bash <<A\nsudo ls; cat <<B\nB\nA\nb",
                vec!["bash", "bash", "A", "sudo ls", "cat", "cat", "B", "b"],
            ),
            ("echo $((1 << 2))\nb 'c\n2'", vec!["echo $(…)", "echo", "1", "1", "2", "b c\n2"]),
            ("a \"$(cat <<A\nit's\nA\n)\" b\nc", vec!["a $(…) b", "a", "b", "cat", "cat", "A", "its", "c"]),
        ] {
            let words: Vec<String> =
                words(line).iter().map(|words| words.trim_end_matches('\n').into()).collect();
            assert_eq!(words, expected, "{line}");
        }
    }

    #[test]
    fn segments_many_heredocs_are_parsed_in_time() {
        for line in ["<<a\n".repeat(50_000), {
            let begin: String = (0..5_000).map(|at| format!("<<a{at}\n")).collect();
            let end: String = (0..5_000).rev().map(|at| format!("a{at}\n")).collect();
            begin + &end
        }] {
            assert!(segments(&(line + "sudo ls")).iter().any(|segment| segment.words == ["sudo", "ls"]));
        }
    }

    #[test]
    fn segments_command_continues_up_to_maximum_depth() {
        let depth = SUBSTITUTIONS + 2;
        let words = words(&("a $(".repeat(depth) + "b" + &") c".repeat(depth)));
        let count = |meant: &str| words.iter().filter(|words| *words == meant).count();
        assert_eq!((count("a $(…) c"), count("a $(…)"), count("b")), (SUBSTITUTIONS, 2, 1));
    }

    #[test]
    fn segments_deep_substitutions_are_parsed_in_time() {
        for line in [
            "$(".repeat(50_000) + "sudo ls",
            "a \"$(".repeat(50_000) + "sudo ls" + &")\"".repeat(50_000),
            "a \"$(".repeat(50_000) + "b" + &")\"".repeat(50_000) + "; sudo ls",
        ] {
            assert!(segments(&line).iter().any(|segment| segment.words == ["sudo", "ls"]));
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
}
