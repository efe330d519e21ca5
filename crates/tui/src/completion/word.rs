//! Detects the word to complete before the cursor, and its kind.

/// The kind of completion, with the typed text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum CompletionKind {
    #[default]
    Nothing,
    /// A command name, without the slash.
    Command(String),
    Argument {
        command: String,
        typed: String,
    },
    /// A file of the project, after `@`.
    File(String),
    /// A path outside the project's files, after `@`.
    Place(String),
    /// The part of a path that Tab has completed so far.
    Path(String),
}

impl CompletionKind {
    /// The typed part of the word.
    pub(crate) fn typed(&self) -> &str {
        match self {
            Self::Nothing => "",
            Self::Command(typed)
            | Self::Argument { typed, .. }
            | Self::File(typed)
            | Self::Place(typed)
            | Self::Path(typed) => typed,
        }
    }

    /// Returns the number of characters before the cursor that a candidate replaces.
    pub(super) fn length(&self) -> usize {
        let typed = self.typed().chars().count();
        match self {
            Self::Nothing | Self::Argument { .. } | Self::Path(_) => typed,
            // Including the prefix character.
            Self::Command(_) => typed + 1,
            Self::File(words) | Self::Place(words) if words.contains(' ') => typed + 2,
            Self::File(_) | Self::Place(_) => typed + 1,
        }
    }
}

/// Detects the completion kind; `is_command` is true if the text is one line that starts with a slash.
pub(crate) fn completion_kind(before: &str, is_command: bool) -> CompletionKind {
    if let Some(words) = file(before) {
        return match is_explicit(words) {
            true => CompletionKind::Place(words.to_owned()),
            false => CompletionKind::File(words.to_owned()),
        };
    }
    let Some(line) = before.strip_prefix('/').filter(|_| is_command) else { return CompletionKind::Nothing };
    match line.split_once(char::is_whitespace) {
        None => CompletionKind::Command(line.to_owned()),
        Some((command, typed)) => {
            CompletionKind::Argument { command: command.to_owned(), typed: typed.trim_start().to_owned() }
        }
    }
}

/// Returns true if a path is absolute or explicitly relative, so that it isn't searched among the project's
/// files.
fn is_explicit(path: &str) -> bool {
    ["/", "~/", "./", "../"].iter().any(|start| path.starts_with(start))
}

/// Returns the text after an `@` that starts a word: up to the cursor without a space, or after an unclosed
/// quote.
fn file(before: &str) -> Option<&str> {
    let begins = |at: usize| {
        before[..at].chars().next_back().is_none_or(|c| c.is_whitespace() || "([{\"'".contains(c))
    };
    let quoted = before.rfind("@\"").filter(|at| begins(*at)).map(|at| &before[at + 2..]);
    if let Some(words) = quoted.filter(|words| words.contains(' ') && !words.contains(['"', '\n'])) {
        return Some(words);
    }
    let at = before.rfind('@').filter(|at| begins(*at))?;
    Some(&before[at + 1..]).filter(|words| !words.contains(char::is_whitespace) && !words.contains('"'))
}

/// Returns the path before the cursor: a word with a slash, or `~`, `.`, `..`. The first word of a command
/// doesn't count.
pub(crate) fn path(before: &str) -> Option<&str> {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or(before);
    let word = word.strip_prefix('@').filter(|path| is_explicit(path)).unwrap_or(word);
    let is_path = word.contains('/') || word == "~" || word == "." || word == "..";
    let is_command = before.len() == word.len() && word.starts_with('/') && !word[1..].contains('/');
    (is_path && !is_command).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn completion_kind_follows_the_word() {
        let file = |words: &str| CompletionKind::File(words.into());
        let cases = [
            ("look at @src/ma", false, file("src/ma")),
            ("@", false, file("")),
            ("@/etc/pa", false, CompletionKind::Place("/etc/pa".into())),
            ("see @~/no", false, CompletionKind::Place("~/no".into())),
            ("@../no", false, CompletionKind::Place("../no".into())),
            ("(@\"/my no", false, CompletionKind::Place("/my no".into())),
            ("(@lib", false, file("lib")),
            ("see @\"my no", false, file("my no")),
            ("see @\"my notes.md\" and", false, CompletionKind::Nothing),
            ("mail ada@example", false, CompletionKind::Nothing),
            ("@done and", false, CompletionKind::Nothing),
            ("/mod", true, CompletionKind::Command("mod".into())),
            (
                "/thinking  hi",
                true,
                CompletionKind::Argument { command: "thinking".into(), typed: "hi".into() },
            ),
            ("/mod", false, CompletionKind::Nothing),
            ("hello", false, CompletionKind::Nothing),
        ];
        for (before, is_command, expected) in cases {
            assert_eq!(completion_kind(before, is_command), expected, "{before}");
        }
    }

    #[test]
    fn path_word_with_slash_unless_command() {
        let cases = [
            ("see ./src/m", Some("./src/m")),
            ("~/", Some("~/")),
            ("/usr/lo", Some("/usr/lo")),
            ("see @/usr/lo", Some("/usr/lo")),
            ("@~/no", Some("~/no")),
            ("/model", None),
            ("word", None),
        ];
        for (before, expected) in cases {
            assert_eq!(path(before), expected, "{before}");
        }
    }
}
