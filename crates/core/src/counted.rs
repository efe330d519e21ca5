//! Counts with their nouns. Pure.

use std::fmt::Display;

/// Returns a count with its noun: `1 entry`, `2 entries`.
#[must_use]
pub fn counted<N: Display + PartialEq + From<u8>>(count: N, one: &str, many: &str) -> String {
    let noun = if count == N::from(1) { one } else { many };
    format!("{count} {noun}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_one_is_singular() {
        let texts = [0, 1, 2].map(|count| counted(count, "entry", "entries"));
        assert_eq!(texts, ["0 entries", "1 entry", "2 entries"]);
    }
}
