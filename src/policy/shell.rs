//! Just enough of a shell's grammar to tell commands apart. Where it can't be sure it splits too much rather than too
//! little: that costs a question, not a file.

mod braces;

/// One command of a line: its words, without quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Segment {
    pub words: Vec<String>,
    /// Files that its output is sent to.
    pub outputs: Vec<String>,
}

/// The words of a line that is one command with plain arguments; `None` when the shell would do more than run that:
/// lists, pipes, redirections, substitutions, assignments.
pub(super) fn simple_words(line: &str) -> Option<Vec<String>> {
    if line.contains(|c: char| ";&|<>()`$\\{}!#".contains(c) || (c.is_control() && c != '\t')) {
        return None;
    }
    let mut segments = segments(line);
    let segment = segments.pop().filter(|_| segments.is_empty())?;
    (!segment.words.first()?.contains('=')).then_some(segment.words)
}

/// What stands, while a word is read, for a substitution in it and for braces outside of quotes. A command can't have the
/// first in it, and hardly has the others.
const SUBSTITUTION: char = '\0';
const OPEN: char = '\x01';
const CLOSE: char = '\x02';
const MARKS: [char; 3] = [SUBSTITUTION, OPEN, CLOSE];

/// The commands of a line, those in substitutions and subshells included.
pub(super) fn segments(line: &str) -> Vec<Segment> {
    let mut reader = Reader::default();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (reader.reading.quote, c) {
            (Quote::Single, '\'') | (Quote::Double, '"') => reader.reading.quote = Quote::None,
            (Quote::Single, _) => reader.push(c),
            (_, '\\') => {
                chars.next().into_iter().filter(|next| *next != '\n').for_each(|next| reader.push(next))
            }
            (_, '`') => reader.enter_or_leave_backticks(),
            (_, '$') | (Quote::None, '<' | '>') if chars.next_if_eq(&'(').is_some() => reader.substitute(),
            (Quote::Double, _) => reader.push(c),
            (Quote::None, '\'') => reader.open(Quote::Single),
            (Quote::None, '"') => reader.open(Quote::Double),
            (Quote::None, '>') => reader.redirect(),
            (Quote::None, '(') => reader.enter_subshell(),
            (Quote::None, ')') => reader.leave(),
            (Quote::None, '&') if reader.reading.redirects => reader.push(c),
            (Quote::None, ';' | '&' | '|' | '\n' | '<') => reader.end_segment(),
            (Quote::None, '{' | '}') if reader.is_between_words() && chars.peek().is_none_or(ends_word) => {
                reader.end_segment();
            }
            (Quote::None, '{') => reader.push(OPEN),
            (Quote::None, '}') => reader.push(CLOSE),
            (Quote::None, c) if c.is_whitespace() => reader.end_word(),
            (Quote::None, c) => reader.push(c),
        }
    }
    reader.end();
    reader.segments
}

fn ends_word(c: &char) -> bool {
    c.is_whitespace() || ";&|<>()`".contains(*c)
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Quote {
    #[default]
    None,
    Single,
    Double,
}

/// A command that is being read, as far as it got.
#[derive(Default)]
struct Reading {
    segment: Segment,
    word: Option<String>,
    redirects: bool,
    quote: Quote,
    /// Where it goes among the segments: before those of its substitutions, which may `cd`.
    at: usize,
}

#[derive(Default)]
struct Reader {
    segments: Vec<Segment>,
    reading: Reading,
    /// What the substitutions and subshells being read stand in.
    outer: Vec<Reading>,
    in_backticks: bool,
}

impl Reader {
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

    /// Begins a substitution, in which quoting starts afresh; the command around it goes on behind it.
    fn substitute(&mut self) {
        self.push(SUBSTITUTION);
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

    fn redirect(&mut self) {
        // The `2` of `2>` is no argument, nor is the `{name}` of `{name}>`.
        let is_descriptor = |word: &str| {
            word.chars().all(|c| c.is_ascii_digit()) || (word.starts_with(OPEN) && word.ends_with(CLOSE))
        };
        if self.reading.word.as_deref().is_some_and(is_descriptor) {
            self.reading.word = None;
        }
        self.end_word();
        self.reading.redirects = true;
    }

    fn end_word(&mut self) {
        let Some(word) = self.reading.word.take() else { return };
        if std::mem::take(&mut self.reading.redirects) {
            self.reading.segment.outputs.push(word);
        } else {
            self.reading.segment.words.push(word);
        }
    }

    fn end_segment(&mut self) {
        self.end_word();
        self.reading.redirects = false;
        let segment = std::mem::take(&mut self.reading.segment);
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

/// A command whose words still have marks, and behind it what stands between them as commands of their own. For what seems to
/// end a substitution may be the `)` of a pattern in it, and some programs run what they are given: `ssh ${host} reboot`.
fn with_pieces(marked: &Segment) -> Vec<Segment> {
    let plain = |words: &[String]| words.iter().flat_map(|word| braces::expanded(word)).map(shown).collect();
    let mut segments = vec![Segment { words: plain(&marked.words), outputs: plain(&marked.outputs) }];
    if marked.words.iter().chain(&marked.outputs).any(|word| word.contains(MARKS)) {
        let mut piece =
            Segment { words: vec![], outputs: marked.outputs.iter().filter_map(|word| head(word)).collect() };
        for word in &marked.words {
            for (at, part) in word.split(MARKS).enumerate() {
                if at > 0 {
                    segments.push(std::mem::take(&mut piece));
                }
                if !part.is_empty() {
                    piece.words.push(part.to_owned());
                }
            }
        }
        segments.push(piece);
    }
    segments.retain(|segment| *segment != Segment::default());
    segments
}

/// What stands before the first mark of a word that has any.
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
            ("(cd x; ls) > out 2>&1", vec!["cd x", "ls", ""]),
            ("make 2>err >>log a", vec!["make a"]),
            ("exec {log}>err a", vec!["exec a"]),
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
    fn only_one_plain_command_is_simple() {
        assert_eq!(simple_words("cargo test 'a b'").unwrap(), ["cargo", "test", "a b"]);
        for line in ["", "a;b", "a $X", "A=1 b", "a > b", "a \\\n b", "!!", "a # b"] {
            assert_eq!(simple_words(line), None, "{line}");
        }
    }
}
