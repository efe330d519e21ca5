//! Lists of names in messages.

/// Maximum number of names; further ones are only counted.
const MAX_LISTED_NAMES: usize = 12;

/// Joins names with commas.
pub(super) fn join_names(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    match names.len() {
        0 => "none".to_owned(),
        count if count > MAX_LISTED_NAMES => {
            format!("{} and {} more", names[..MAX_LISTED_NAMES].join(", "), count - MAX_LISTED_NAMES)
        }
        _ => names.join(", "),
    }
}
