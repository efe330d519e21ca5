//! Which word before the cursor asks to be completed, and as what.

/// What the text before the cursor asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum CompletionKind {
    #[default]
    Nothing,
    /// A command that begins or sounds like this, the slash left out.
    Command(String),
    /// What may follow this command.
    Argument { command: String, typed: String },
    /// A file of the project, after `@`.
    File(String),
    /// A path that begins elsewhere than with the project's files, after `@`.
    Place(String),
    /// A path that Tab completed so far.
    Path(String),
}

impl CompletionKind {
    /// What was typed of it.
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

    /// Characters before the cursor that an offer takes the place of.
    pub(super) fn length(&self) -> usize {
        let typed = self.typed().chars().count();
        match self {
            Self::Nothing | Self::Argument { .. } | Self::Path(_) => typed,
            // The sign before it goes too.
            Self::Command(_) => typed + 1,
            Self::File(words) | Self::Place(words) if words.contains(' ') => typed + 2,
            Self::File(_) | Self::Place(_) => typed + 1,
        }
    }
}

/// What is asked for by the text before the cursor; `is_command` says whether all of the text is one line that begins with a slash.
pub(crate) fn asked(before: &str, is_command: bool) -> CompletionKind {
    if let Some(words) = file(before) {
        return match is_elsewhere(words) {
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

/// Whether a path says where it begins, so that it isn't looked for among the project's files.
fn is_elsewhere(path: &str) -> bool {
    ["/", "~/", "./", "../"].iter().any(|start| path.starts_with(start))
}

/// What follows an `@` that begins a word: to the cursor without a space, or from a quote that isn't closed.
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

/// The path before the cursor: a word with a slash in it, or `~`. The first word of a command is none.
pub(super) fn path(before: &str) -> Option<&str> {
    let word = before.rsplit(char::is_whitespace).next().unwrap_or(before);
    let word = word.strip_prefix('@').filter(|path| is_elsewhere(path)).unwrap_or(word);
    let is_path = word.contains('/') || word == "~" || word == "." || word == "..";
    let is_command = before.len() == word.len() && word.starts_with('/') && !word[1..].contains('/');
    (is_path && !is_command).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_before_the_cursor_says_what_is_asked_for() {
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
            assert_eq!(asked(before, is_command), expected, "{before}");
        }
    }

    #[test]
    fn a_word_with_a_slash_is_a_path_unless_it_is_a_command() {
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
