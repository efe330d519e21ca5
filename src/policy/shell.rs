//! Just enough of a shell's grammar to tell commands apart. Where it can't be sure it splits too much rather than too
//! little: that costs a question, not a file.

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

/// The commands of a line, those in substitutions and subshells included.
pub(super) fn segments(line: &str) -> Vec<Segment> {
    let mut reader = Reader::default();
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        match (reader.quote, c) {
            (Quote::Single, '\'') | (Quote::Double, '"') => reader.quote = Quote::None,
            (Quote::Single, _) => reader.push(c),
            (_, '\\') => {
                chars.next().into_iter().filter(|next| *next != '\n').for_each(|next| reader.push(next))
            }
            (_, '`') => reader.enter_or_leave_backticks(),
            (_, '$') if chars.next_if_eq(&'(').is_some() => reader.enter(),
            (Quote::Double, _) => reader.push(c),
            (Quote::None, '\'') => reader.open(Quote::Single),
            (Quote::None, '"') => reader.open(Quote::Double),
            (Quote::None, '>') => reader.redirect(),
            (Quote::None, '(') => reader.enter(),
            (Quote::None, ')') => reader.leave(),
            (Quote::None, '&') if reader.redirects => reader.push(c),
            (Quote::None, ';' | '&' | '|' | '\n' | '{' | '}' | '<') => reader.end_segment(),
            (Quote::None, c) if c.is_whitespace() => reader.end_word(),
            (Quote::None, c) => reader.push(c),
        }
    }
    reader.end_segment();
    reader.segments
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Quote {
    #[default]
    None,
    Single,
    Double,
}

#[derive(Default)]
struct Reader {
    segments: Vec<Segment>,
    segment: Segment,
    word: Option<String>,
    quote: Quote,
    /// The quotes that the substitutions being read stand in.
    outer: Vec<Quote>,
    in_backticks: bool,
    redirects: bool,
}

impl Reader {
    fn push(&mut self, c: char) {
        self.word.get_or_insert_default().push(c);
    }

    fn open(&mut self, quote: Quote) {
        self.quote = quote;
        self.word.get_or_insert_default();
    }

    /// Begins a substitution, in which quoting starts afresh.
    fn enter(&mut self) {
        self.end_segment();
        self.outer.push(std::mem::take(&mut self.quote));
    }

    fn leave(&mut self) {
        self.end_segment();
        self.quote = self.outer.pop().unwrap_or_default();
    }

    fn enter_or_leave_backticks(&mut self) {
        if self.in_backticks {
            self.leave();
        } else {
            self.enter();
        }
        self.in_backticks = !self.in_backticks;
    }

    fn redirect(&mut self) {
        // The digit of `2>` is no argument.
        if self.word.as_deref().is_some_and(|word| word.chars().all(|c| c.is_ascii_digit())) {
            self.word = None;
        }
        self.end_word();
        self.redirects = true;
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if std::mem::take(&mut self.redirects) {
            self.segment.outputs.push(word);
        } else {
            self.segment.words.push(word);
        }
    }

    fn end_segment(&mut self) {
        self.end_word();
        self.redirects = false;
        let segment = std::mem::take(&mut self.segment);
        if segment != Segment::default() {
            self.segments.push(segment);
        }
    }
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
            ("echo \"$(rm 'x)')\" `y` z", vec!["echo ", "rm x)", "y", "z"]),
            ("(cd x; ls) > out 2>&1", vec!["cd x", "ls", ""]),
            ("cat <(curl u)", vec!["cat", "curl u"]),
            ("make 2>err >>log a", vec!["make a"]),
        ] {
            assert_eq!(words(line), expected, "{line}");
        }
        assert_eq!(segments("make 2>err >>log a")[0].outputs, ["err", "log"]);
    }

    #[test]
    fn only_one_plain_command_is_simple() {
        assert_eq!(simple_words("cargo test 'a b'").unwrap(), ["cargo", "test", "a b"]);
        for line in ["", "a;b", "a $X", "A=1 b", "a > b", "a \\\n b", "!!", "a # b"] {
            assert_eq!(simple_words(line), None, "{line}");
        }
    }
}
