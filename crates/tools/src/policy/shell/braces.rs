//! Expands braces in a word: `a{b,c}` is two words. `{}`, `@{0}` and `{1..3}` are left as they are, for they
//! lead nowhere else. The braces are marks here, for quoted ones mean nothing.

use super::{CLOSE, OPEN};

/// The most words that one with braces may become; nobody types more.
const MOST_EXPANDED: usize = 64;

/// The words that one with braces becomes: `a{b,c}` is `ab` and `ac`. Whatever has too many is a `$`: it may be anything.
pub(super) fn expand(word: &str) -> Vec<String> {
    let mut words = vec![];
    let mut open = vec![word.to_owned()];
    while let Some(word) = open.pop() {
        if words.len() + open.len() + word.matches(OPEN).count() > MOST_EXPANDED {
            return vec!["$".into()];
        }
        match alternatives(&word) {
            Some(more) => open.extend(more.into_iter().rev()),
            None => words.push(word),
        }
    }
    words
}

/// Lists the words that one may become by the first of its braces with commas between them.
fn alternatives(word: &str) -> Option<Vec<String>> {
    word.match_indices(OPEN).filter(|(at, _)| !word[..*at].ends_with('$')).find_map(|(at, _)| {
        let mut depth = 0_usize;
        let mut marks = vec![at];
        for (here, c) in word.char_indices().skip_while(|(here, _)| *here <= at) {
            match c {
                OPEN => depth += 1,
                ',' if depth == 0 => marks.push(here),
                CLOSE if depth > 0 => depth -= 1,
                CLOSE => {
                    marks.push(here);
                    let with = |mark: &[usize]| {
                        format!("{}{}{}", &word[..at], &word[mark[0] + 1..mark[1]], &word[here + 1..])
                    };
                    return (marks.len() > 2).then(|| marks.windows(2).map(with).collect());
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
    fn braces_with_commas_are_as_many_words() {
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
    fn quoted_braces_mean_nothing() {
        assert_eq!(expand("{a,b}"), ["{a,b}"]);
    }

    #[test]
    fn too_many_words_are_anything() {
        assert_eq!(words(&"{a,b}".repeat(20)), ["$"]);
        assert_eq!(words(&"{".repeat(100_000)), ["$"]);
        assert_eq!(words(&"{a,b}".repeat(5)).len(), 32);
    }
}
