//! Brace expansion: `a{b,c}` becomes two words. `{}`, `@{0}` and `{1..3}` aren't changed, because they lead
//! to no other path. Unquoted braces are represented by marks; quoted ones are plain text.

/// Marks of unquoted braces in a word that is being parsed; a command is unlikely to contain the characters.
pub(super) const OPEN: char = '\x01';
pub(super) const CLOSE: char = '\x02';

/// Maximum number of words expanded from one word; nobody types more.
const MAX_EXPANDED: usize = 64;

/// Expands a word with braces: `a{b,c}` becomes `ab` and `ac`. A word with too many alternatives becomes `$`,
/// which may be anything.
pub(super) fn expand(word: &str) -> Vec<String> {
    let mut words = vec![];
    let mut open = vec![word.to_owned()];
    while let Some(word) = open.pop() {
        if words.len() + open.len() + word.matches(OPEN).count() > MAX_EXPANDED {
            return vec!["$".into()];
        }
        match alternatives(&word) {
            Some(more) => open.extend(more.into_iter().rev()),
            None => words.push(word),
        }
    }
    words
}

/// Expands the first braces with commas in a word.
fn alternatives(word: &str) -> Option<Vec<String>> {
    word.match_indices(OPEN).filter(|(at, _)| !word[..*at].ends_with('$')).find_map(|(at, _)| {
        let mut depth = 0_usize;
        let mut marks = vec![at];
        for (end, c) in word.char_indices().skip_while(|(end, _)| *end <= at) {
            match c {
                OPEN => depth += 1,
                ',' if depth == 0 => marks.push(end),
                CLOSE if depth > 0 => depth -= 1,
                CLOSE => {
                    marks.push(end);
                    let expanded = |mark: &[usize]| {
                        format!("{}{}{}", &word[..at], &word[mark[0] + 1..mark[1]], &word[end + 1..])
                    };
                    return (marks.len() > 2).then(|| marks.windows(2).map(expanded).collect());
                }
                _ => {}
            }
        }
        None
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(word: &str) -> Vec<String> {
        let marked = word.replace('{', &OPEN.to_string()).replace('}', &CLOSE.to_string());
        expand(&marked).iter().map(|word| word.replace(OPEN, "{").replace(CLOSE, "}")).collect()
    }

    #[test]
    fn expand_braces_with_commas_is_many_words() {
        for (word, expected) in [
            ("a{b,c}d", "abd acd"),
            ("{src,../other}", "src ../other"),
            ("{a,b}{c,d}", "ac ad bc bd"),
            ("{a,{b,c}d,}", "a bd cd "),
            ("{a{b,c}}", "{ab} {ac}"),
            ("{}{x}@{0}", "{}{x}@{0}"),
            ("${x,,}{a,b}", "${x,,}a ${x,,}b"),
            ("{a,b", "{a,b"),
            ("{ä,ö}ü", "äü öü"),
        ] {
            assert_eq!(words(word).join(" "), expected, "{word}");
        }
    }

    #[test]
    fn expand_quoted_braces_is_unchanged() {
        assert_eq!(expand("{a,b}"), ["{a,b}"]);
    }

    #[test]
    fn expand_too_many_words_is_unknown() {
        assert_eq!(words(&"{a,b}".repeat(20)), ["$"]);
        assert_eq!(words(&"{".repeat(100_000)), ["$"]);
        assert_eq!(words(&"{a,b}".repeat(5)).len(), 32);
    }
}
