//! Suggestions for misspelled names. Pure.

/// Returns the candidate that is most similar to a name, if it is similar enough; the first candidate with
/// the name as a prefix takes precedence.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let with_prefix = candidates.clone().find(|candidate| !name.is_empty() && candidate.starts_with(name));
    let similar = candidates.filter_map(|candidate| Some((edits_if_similar(name, candidate)?, candidate)));
    with_prefix.or_else(|| similar.min().map(|(_, candidate)| candidate))
}

/// Returns the edits between a name and a candidate; `None` if they aren't similar.
///
/// The limit is one edit per three letters of the longer name, and at most three edits. Two swapped letters
/// are one edit.
#[must_use]
pub fn edits_if_similar(name: &str, candidate: &str) -> Option<usize> {
    let edits = if is_typo(name, candidate) { 1 } else { distance(name, candidate) };
    let longest = name.chars().count().max(candidate.chars().count());
    (!name.is_empty() && edits <= (longest / 3).clamp(1, 3)).then_some(edits)
}

/// Checks whether a line is a quit command of a shell or an editor, which is never meant for a model.
#[must_use]
pub fn is_quit_word(line: &str) -> bool {
    matches!(line, "exit" | "quit" | ":q" | ":q!" | ":wq" | ":x")
}

/// Checks whether a word differs from another one by a single typo: a letter too many, missing or wrong, or
/// two swapped letters.
#[must_use]
pub fn is_typo(word: &str, command: &str) -> bool {
    let differing: Vec<(char, char)> = word.chars().zip(command.chars()).filter(|(a, b)| a != b).collect();
    let are_swapped = word.chars().count() == command.chars().count()
        && matches!(differing[..], [(a, b), (c, d)] if (a, b) == (d, c));
    distance(word, command) == 1 || are_swapped
}

/// Returns the edit distance (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let change = corner + usize::from(x != *y);
            corner = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(corner + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_slip_one_letter_or_two_swapped_is_true() {
        for word in ["comit", "committ", "commot", "comimt"] {
            assert!(is_typo(word, "commit"), "{word}");
        }
        for word in ["commit", "comet", "moccit", ""] {
            assert!(!is_typo(word, "commit"), "{word}");
        }
    }

    #[test]
    fn nearest_typo_is_some_and_other_word_is_none() {
        let suggestion = |name| nearest(name, ["commit", "debug", "review"].into_iter());
        assert_eq!(suggestion("comit"), Some("commit"));
        assert_eq!(suggestion("rev"), Some("review"));
        assert_eq!(suggestion("deploy"), None);
        assert_eq!(suggestion(""), None);
    }

    #[test]
    fn nearest_half_of_a_short_name_differs_is_none() {
        let commands = ["exit", "help", "login", "settings", "compact"];
        let cases = [
            ("init", None),
            ("hlep", Some("help")),
            ("exti", Some("exit")),
            ("lgoin", Some("login")),
            ("setings", Some("settings")),
            ("contract", None),
        ];
        for (name, expected) in cases {
            assert_eq!(nearest(name, commands.into_iter()), expected, "{name}");
        }
    }
}
