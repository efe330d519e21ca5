//! Names as a list for people.

/// Most names before the rest is only counted.
const LISTED: usize = 12;

/// The names, separated by commas.
pub(super) fn listing(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    match names.len() {
        0 => "none".to_owned(),
        count if count > LISTED => {
            format!("{} and {} more", names[..LISTED].join(", "), count - LISTED)
        }
        _ => names.join(", "),
    }
}
