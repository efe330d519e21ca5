//! Just enough of a shell's grammar to tell commands apart. Where it can't be sure it splits too much rather than too
//! little: that costs a question, not a file.

mod braces;

/// One command of a line: its words, without quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Segment {
    pub words: Vec<String>,
    /// Files that its output is sent to.
    pub outputs: Vec<String>,
    /// The number of its statement in the line: a pipeline with all that is in it, be it a substitution, a group or a loop.
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

/// Words of the grammar that stand before another command.
const CONNECTORS: &[&str] = &["!", "do", "elif", "else", "then", "time"];

/// Characters by which a shell does more than run one command with plain arguments.
const METACHARACTERS: &str = ";&|<>()`$\\{}!#";

/// Those that are plain text in double quotes.
const PLAIN_IN_DOUBLE_QUOTES: &str = "|()";

/// Checks whether a line has a metacharacter that its quotes don't make plain text, a control character, or a quote that is
/// left open.
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

/// The words of a line that is one command with plain arguments; `None` when the shell would do more than run that:
/// lists, pipes, redirections, substitutions, assignments, and wildcards that may become options or lead out.
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

/// Checks whether a wildcard begins a word, which may become an option then (a file can be called `--output=x`), or stands in a path that
/// is absolute, leads upward or is hidden. The line has no escapes outside of single quotes.
fn has_risky_wildcard(line: &str) -> bool {
    any_wildcard(line, is_risky_before_wildcard)
}

/// Checks whether a wildcard stands outside of quotes. The line has no escapes outside of single quotes.
pub(super) fn has_wildcard(line: &str) -> bool {
    any_wildcard(line, |_| true)
}

/// Checks whether a wildcard outside of quotes stands behind a beginning of its word that is meant.
fn any_wildcard(line: &str, is_meant: impl Fn(&str) -> bool) -> bool {
    let mut quote = None;
    let mut word = String::new();
    for c in line.chars() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), _) if open == c => quote = None,
            (None, _) if is_blank(c) => word.clear(),
            (None, '*' | '?' | '[') if is_meant(&word) => return true,
            (None | Some(_), _) => word.push(c),
        }
    }
    false
}

fn is_risky_before_wildcard(word: &str) -> bool {
    let beneath = word.strip_prefix("./").unwrap_or(word);
    word.is_empty() || beneath.starts_with(['/', '~', '.']) || beneath.contains("/.")
}

/// Characters that stand, while a word is read, for a substitution in it and for braces outside of quotes. A command can't have the
/// first in it, and hardly has the others.
const SUBSTITUTION: char = '\0';
const OPEN: char = '\x01';
const CLOSE: char = '\x02';
const MARKS: [char; 3] = [SUBSTITUTION, OPEN, CLOSE];

/// The beginning of a word that is no argument: what the input is taken from, or nothing where `&>` stands.
const ASIDE: char = '\x03';

/// The number of here-documents of a line that are looked for, and how deep they are within each other.
const HEREDOCS: usize = 64;

/// The depth in substitutions and subshells at which a command still goes on behind a substitution in it. Deeper ones end it, for a command
/// that goes on is put before all that is in it.
const SUBSTITUTIONS: usize = 64;

/// The commands of a line, those in substitutions, subshells and here-documents included.
pub(super) fn segments(line: &str) -> Vec<Segment> {
    segments_of(line, HEREDOCS)
}

fn segments_of(line: &str, heredocs: usize) -> Vec<Segment> {
    let mut reader = Reader { heredocs, ..Reader::default() };
    let mut rest = line;
    while let Some(c) = take(&mut rest, |_| true) {
        match (reader.reading.quote, c) {
            // Nobody minds the apostrophe of a word in a comment.
            (Quote::None, '\'' | '"') if reader.comment.is_some() => {}
            (Quote::None, '\\') if reader.comment.is_some() => {
                let is_plain = |next: char| !"\n'\"".contains(next);
                take(&mut rest, is_plain).into_iter().for_each(|next| reader.push(next));
            }
            (Quote::Single | Quote::Escaped, '\'') | (Quote::Double, '"') => {
                reader.reading.quote = Quote::None
            }
            (Quote::Single, _) => reader.push(c),
            (Quote::Escaped, '\\') => reader.push(take_escape(&mut rest)),
            (Quote::Escaped, _) => reader.push(c),
            (_, '\\') => {
                take(&mut rest, |_| true)
                    .into_iter()
                    .filter(|next| *next != '\n')
                    .for_each(|next| reader.push(next));
            }
            (_, '`') => reader.enter_or_leave_backticks(),
            (_, '$') | (Quote::None, '<' | '>') if take(&mut rest, |next| next == '(').is_some() => {
                reader.substitute();
            }
            (Quote::Double, _) => reader.push(c),
            // `$'x'` and `$"x"` are `x`.
            (Quote::None, '$')
                if reader.comment.is_none() && take(&mut rest, |next| next == '\'').is_some() =>
            {
                reader.open(Quote::Escaped)
            }
            (Quote::None, '$') if rest.starts_with('"') => {}
            (Quote::None, '\'') => reader.open(Quote::Single),
            (Quote::None, '"') => reader.open(Quote::Double),
            (Quote::None, _) => reader.unquoted(c, &mut rest),
        }
    }
    reader.end();
    reader.segments
}

/// Takes the first character, if it is one that is meant.
fn take(rest: &mut &str, is_meant: impl Fn(char) -> bool) -> Option<char> {
    let first = rest.chars().next().filter(|c| is_meant(*c))?;
    *rest = &rest[first.len_utf8()..];
    Some(first)
}

/// Takes what stands behind a backslash in `$'…'` and returns its character; control characters are a space.
fn take_escape(rest: &mut &str) -> char {
    let Some(c) = take(rest, |_| true) else { return '\\' };
    let (radix, most, first) = match c {
        'x' => (16, 2, 0),
        'u' => (16, 4, 0),
        'U' => (16, 8, 0),
        '0'..='7' => (8, 2, c.to_digit(8).unwrap_or_default()),
        'a' | 'b' | 'c' | 'e' | 'E' | 'f' | 'n' | 'r' | 't' | 'v' => return ' ',
        _ => return c,
    };
    let mut code = first;
    for _ in 0..most {
        let Some(digit) = take(rest, |next| next.is_digit(radix)) else { break };
        code = code * radix + digit.to_digit(radix).unwrap_or_default();
    }
    char::from_u32(code).filter(|c| !c.is_control()).unwrap_or(' ')
}

/// Checks whether a shell splits words at a character: other Unicode blanks are part of a word.
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
    /// `$'…'`, in which a backslash escapes.
    Escaped,
    Double,
}

/// The kind of the next word, if it is no argument.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Redirect {
    #[default]
    None,
    Output,
    /// A file, or the number of an open one: `>&`.
    OutputOrDescriptor,
    Input,
    /// The line that ends a here-document, which may have tabs before it.
    Heredoc,
}

/// A command that is being read, as far as it got.
#[derive(Default)]
struct Reading {
    segment: Segment,
    word: Option<String>,
    redirect: Redirect,
    quote: Quote,
    /// Its index among the segments: before those of its substitutions, which may `cd`.
    at: usize,
}

#[derive(Default)]
struct Reader {
    segments: Vec<Segment>,
    reading: Reading,
    /// The commands that the substitutions and subshells being read stand in.
    outer: Vec<Reading>,
    in_backticks: bool,
    /// The depth in the outer ones at which the comment began that is being read.
    comment: Option<usize>,
    /// The statement that is being read, and the highest number that any has.
    statement: usize,
    last_statement: usize,
    /// Groups in braces and compound commands that are open: their commands are one statement.
    open: usize,
    /// Last lines of here-documents that begin with the next line.
    awaited: Vec<String>,
    /// The number of those that are still looked for.
    heredocs: usize,
}

impl Reader {
    /// Takes a character outside of quotes; `rest` is what follows.
    fn unquoted(&mut self, c: char, rest: &mut &str) {
        match c {
            '#' if self.is_between_words() => {
                self.comment.get_or_insert(self.outer.len());
                self.push(c);
            }
            '<' => self.take_input(rest),
            '>' => self.start_output(rest),
            // To other shells the command ends here.
            '&' if rest.starts_with('>') => self.set_aside(),
            '(' => self.enter_subshell(),
            ')' => self.leave(),
            '\n' => {
                self.end_segment();
                self.comment = None;
                self.take_heredocs(rest);
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

    /// Begins an output: `>`, `>|` that overwrites whatever the shell's options say, or `>&`. The second half of `>>` begins
    /// another one.
    fn start_output(&mut self, rest: &mut &str) {
        self.redirect(match take(rest, |next| "|&".contains(next)) {
            Some('&') => Redirect::OutputOrDescriptor,
            Some(_) | None => Redirect::Output,
        });
    }

    /// Marks that the next words are also judged as if it stood alone.
    fn set_aside(&mut self) {
        self.end_word();
        self.reading.segment.words.push(ASIDE.to_string());
    }

    /// Reads a `<`; the next word is no argument.
    fn take_input(&mut self, rest: &mut &str) {
        self.drop_descriptor();
        self.set_aside();
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

    /// Reads the here-documents that begin here as commands of their own: what quotes in them leave open ends with them. Without
    /// its last line it is none: `$((1 << 2))`.
    fn take_heredocs(&mut self, rest: &mut &str) {
        for last in std::mem::take(&mut self.awaited) {
            let Some(left) = self.heredocs.checked_sub(1) else { return };
            self.heredocs = left;
            let ends = |line: &str| line.trim_end_matches('\n').trim_start_matches('\t') == last;
            let mut at = 0;
            let Some(end) = rest.split_inclusive('\n').find(|line| {
                at += line.len();
                ends(line)
            }) else {
                continue;
            };
            let mut nested = segments_of(&rest[..at - end.len()], left);
            let first = self.last_statement + 1;
            for segment in &mut nested {
                segment.statement += first;
                self.last_statement = self.last_statement.max(segment.statement);
            }
            self.segments.extend(nested);
            self.reading.at = self.segments.len();
            *rest = &rest[at..];
        }
    }

    /// Ends the statement, unless something is open that goes on.
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
        self.reading.word.get_or_insert_default().push(c);
    }

    fn open(&mut self, quote: Quote) {
        self.reading.quote = quote;
        self.reading.word.get_or_insert_default();
    }

    fn is_between_words(&self) -> bool {
        self.reading.word.is_none()
    }

    /// Begins a substitution, in which quoting starts afresh; the command around it goes on behind it, if it isn't too deep.
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
        let inner = Reading { at: self.segments.len(), ..Reading::default() };
        self.outer.push(std::mem::replace(&mut self.reading, inner));
    }

    fn leave(&mut self) {
        self.end_segment();
        // What is taken for the end of a substitution ends a comment in it; the quote around it goes on.
        self.comment = self.comment.filter(|depth| *depth < self.outer.len() || *depth == 0);
        self.reading = self.outer.pop().unwrap_or_default();
        if self.is_between_words() {
            self.reading.at = self.segments.len();
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

    /// The `2` of `2>` is no argument, nor is the `{name}` of `{name}>`.
    fn drop_descriptor(&mut self) {
        let is_name =
            |word: &str| !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let is_descriptor = |word: &str| {
            let name = word.strip_prefix(OPEN).and_then(|word| word.strip_suffix(CLOSE));
            word.chars().all(|c| c.is_ascii_digit()) || name.is_some_and(is_name)
        };
        if self.reading.word.as_deref().is_some_and(is_descriptor) {
            self.reading.word = None;
        }
    }

    fn redirect(&mut self, redirect: Redirect) {
        self.drop_descriptor();
        self.end_word();
        self.reading.redirect = redirect;
    }

    fn end_word(&mut self) {
        let Some(word) = self.reading.word.take() else { return };
        let segment = &mut self.reading.segment;
        match std::mem::take(&mut self.reading.redirect) {
            Redirect::None => segment.words.push(word),
            // `2>&1`, `>&-` and `>&3-` name no file.
            Redirect::OutputOrDescriptor if word.chars().all(|c| c.is_ascii_digit() || c == '-') => {}
            Redirect::Output | Redirect::OutputOrDescriptor => segment.outputs.push(word),
            Redirect::Input => segment.words.push(format!("{ASIDE}{word}")),
            Redirect::Heredoc => {
                segment.words.push(format!("{ASIDE}{word}"));
                self.awaited.push(word);
            }
        }
    }

    fn end_segment(&mut self) {
        self.end_word();
        self.reading.redirect = Redirect::None;
        let mut segment = std::mem::take(&mut self.reading.segment);
        segment.statement = self.statement;
        self.count_compounds(&segment.words);
        let at = self.reading.at;
        self.segments.splice(at..at, with_pieces(&segment));
        self.reading.at = self.segments.len();
    }

    fn end(&mut self) {
        while !self.outer.is_empty() {
            self.leave();
        }
        self.end_segment();
    }
}

/// A command whose words still have marks, as one command, and behind it what stands before and behind each `<` and `&>` in it as
/// commands of their own.
fn with_pieces(marked: &Segment) -> Vec<Segment> {
    let words = marked.words.iter().filter(|word| !word.starts_with(ASIDE)).cloned().collect();
    let statement = marked.statement;
    let mut segments = pieces(&Segment { words, outputs: marked.outputs.clone(), statement });
    if marked.words.iter().any(|word| word.starts_with(ASIDE)) {
        let run = || Segment { statement, ..Segment::default() };
        let mut runs = vec![run()];
        for word in &marked.words {
            let plain = word.strip_prefix(ASIDE);
            if plain.is_some() {
                runs.push(run());
            }
            let word = plain.unwrap_or(word);
            runs.last_mut()
                .into_iter()
                .filter(|_| !word.is_empty())
                .for_each(|run| run.words.push(word.into()));
        }
        // The outputs come behind all that may `cd`.
        runs.last_mut().into_iter().for_each(|run| run.outputs.clone_from(&marked.outputs));
        segments.extend(runs.iter().flat_map(pieces));
    }
    segments
}

/// A command whose words still have marks, and behind it what stands between them as commands of their own. For what seems to
/// end a substitution may be the `)` of a pattern in it, and some programs run what they are given: `ssh ${host} reboot`.
fn pieces(marked: &Segment) -> Vec<Segment> {
    let plain = |words: &[String]| words.iter().flat_map(|word| braces::expand(word)).map(shown).collect();
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

/// Returns the part before the first mark of a word that has any.
fn head(word: &str) -> Option<String> {
    let (head, _) = word.split_once(MARKS)?;
    (!head.is_empty()).then(|| head.to_owned())
}

/// A word as the user knows it.
fn shown(word: String) -> String {
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
    fn a_line_falls_into_its_commands() {
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
    fn a_command_goes_on_behind_braces_and_substitutions() {
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
    fn a_command_goes_on_behind_what_its_input_and_output_are() {
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
    fn segments_of_one_pipeline_have_one_statement() {
        let statements = |line: &str| -> Vec<String> {
            let segments = segments(line);
            let most = segments.iter().map(|segment| segment.statement).max().unwrap_or_default();
            let of = |number| {
                let own = segments.iter().filter(move |segment| segment.statement == number);
                own.map(|segment| segment.words.join(" ")).collect::<Vec<_>>().join("|")
            };
            (0..=most).map(of).filter(|words| !words.is_empty()).collect()
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
    fn quotes_in_comments_and_here_documents_end_with_them() {
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
    fn many_here_documents_are_read_in_time_and_without_end() {
        for line in ["<<a\n".repeat(50_000), {
            let begin: String = (0..5_000).map(|at| format!("<<a{at}\n")).collect();
            let end: String = (0..5_000).rev().map(|at| format!("a{at}\n")).collect();
            begin + &end
        }] {
            assert!(segments(&(line + "sudo ls")).iter().any(|segment| segment.words == ["sudo", "ls"]));
        }
    }

    #[test]
    fn a_command_goes_on_behind_substitutions_only_so_deep() {
        let depth = SUBSTITUTIONS + 2;
        let words = words(&("a $(".repeat(depth) + "b" + &") c".repeat(depth)));
        let count = |meant: &str| words.iter().filter(|words| *words == meant).count();
        assert_eq!((count("a $(…) c"), count("a $(…)"), count("b")), (SUBSTITUTIONS, 2, 1));
    }

    #[test]
    fn deep_substitutions_are_read_in_time_and_with_their_quotes() {
        for line in [
            "$(".repeat(50_000) + "sudo ls",
            "a \"$(".repeat(50_000) + "sudo ls" + &")\"".repeat(50_000),
            "a \"$(".repeat(50_000) + "b" + &")\"".repeat(50_000) + "; sudo ls",
        ] {
            assert!(segments(&line).iter().any(|segment| segment.words == ["sudo", "ls"]));
        }
    }

    #[test]
    fn only_one_plain_command_is_simple() {
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
