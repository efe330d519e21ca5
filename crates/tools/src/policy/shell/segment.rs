//! A command of a line, and the reason a line can't be parsed.

use std::fmt;

/// One command of a line: its words, without quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::policy) struct Segment {
    pub words: Vec<String>,
    /// The words and inputs with wildcards, all of which are in quotes.
    pub quoted: Vec<String>,
    /// Files that its output is redirected to.
    pub outputs: Vec<String>,
    /// Indices of the outputs that it appends to.
    pub appended: Vec<usize>,
    /// Files that its input is redirected from.
    pub inputs: Vec<String>,
    /// Its here-documents and here-strings.
    pub texts: Vec<String>,
    /// The number of the command's statement in the line. A pipeline, with its substitutions, groups and
    /// loops, is one statement.
    pub statement: usize,
    /// True if the input is the output of an earlier command.
    pub reads_pipe: bool,
    /// The call of a function that the command is in.
    pub self_call: Option<SelfCall>,
}

/// A call of a function in the function itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::policy) enum SelfCall {
    /// One after the other.
    Sequential,
    /// In the background or in a pipe, in a condition or a loop.
    Beside,
    /// In the background or in a pipe, unconditionally.
    Multiplying,
}

impl Segment {
    pub(super) fn is_empty(&self) -> bool {
        self.words.is_empty() && self.outputs.is_empty() && self.inputs.is_empty()
    }
}

impl Segment {
    /// Formats the command as a line for a shell.
    pub(in crate::policy) fn to_line(&self) -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:=,@%+*?[]~".contains(c);
        // The head of a loop is listed as a command, but a shell would read on after it.
        let is_plain =
            |word: &str| !word.is_empty() && word.chars().all(plain) && !["case", "for"].contains(&word);
        let quoted = |word: &String| match is_plain(word) {
            true => word.clone(),
            false => format!("'{}'", word.replace('\'', r"'\''")),
        };
        let words = self.words.iter().map(quoted);
        let redirections = self.redirections().map(|(sign, path)| format!("{sign} {}", quoted(path)));
        words.chain(redirections).collect::<Vec<_>>().join(" ")
    }

    /// Lists the operators and files of the redirections.
    fn redirections(&self) -> impl Iterator<Item = (&'static str, &String)> {
        let inputs = self.inputs.iter().map(|path| ("<", path));
        let sign = |at: usize| if self.appended.contains(&at) { ">>" } else { ">" };
        inputs.chain(self.outputs.iter().enumerate().map(move |(at, path)| (sign(at), path)))
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words.join(" "))?;
        self.redirections().try_for_each(|(sign, path)| write!(f, " {sign} {path}"))
    }
}

/// The reason a line's commands are unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::policy) enum UnparsedLine {
    /// The line isn't valid shell syntax, with the parser's message.
    Syntax(String),
    /// A word isn't valid.
    Word(String),
    /// The line's commands are nested too deeply.
    TooNested,
}

impl UnparsedLine {
    pub(super) fn word(word: &str) -> Self {
        Self::Word(word.into())
    }
}

impl fmt::Display for UnparsedLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(message) => write!(f, "can't be checked: {message}"),
            Self::Word(word) => write!(f, "can't be checked: the word {word}"),
            Self::TooNested => write!(f, "can't be checked: commands are nested too deeply"),
        }
    }
}
