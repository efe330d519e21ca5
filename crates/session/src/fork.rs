//! Entries that a fork adds after the copied lines: removals of queued messages, and a name that marks the
//! copy.

use tiller_core::id::EntryId;
use tiller_core::unit::UnixMs;

use super::entry::{self, Entry, EntryBody, QueueChange, TillerEntry};
use super::id_gen::IdGenerator;
use super::reader::{Reader, queued_ids};

/// Suffix of a forked session's name.
const FORK_SUFFIX: &str = " (fork";

/// Returns the entries to add after a copied path; `path` has the tiller entries of the path, in order.
pub(super) fn fork_entries(from: &Reader, path: &[Entry]) -> Vec<EntryBody> {
    let removed = queued_ids(path)
        .into_iter()
        .map(|queue_id| EntryBody::from_tiller(&TillerEntry::Queue(QueueChange::Remove { queue_id })));
    let name = from.name().map(|name| EntryBody::SessionInfo { name: Some(fork_name(&name)) });
    removed.chain(name).collect()
}

/// Encodes these entries as lines, each the child of the one before; the first is the child of `leaf`.
pub(super) fn encode_lines(
    bodies: Vec<EntryBody>,
    leaf: &EntryId,
    ids: &mut IdGenerator,
    now: UnixMs,
) -> String {
    let (mut lines, mut leaf) = (String::new(), leaf.clone());
    for body in bodies {
        let entry = Entry { id: ids.entry(now), parent: Some(leaf), timestamp: now, body };
        lines.push_str(&entry::encode(&entry));
        leaf = entry.id;
    }
    lines
}

/// Returns the name of a fork: `parser (fork)` for `parser`, `parser (fork 2)` for `parser (fork)`, and so
/// on.
fn fork_name(name: &str) -> String {
    let Some((base, number)) = name.strip_suffix(')').and_then(|name| name.rsplit_once(FORK_SUFFIX)) else {
        return format!("{name}{FORK_SUFFIX})");
    };
    match number.trim_start().parse::<u64>() {
        _ if number.is_empty() => format!("{base}{FORK_SUFFIX} 2)"),
        Ok(number) => format!("{base}{FORK_SUFFIX} {})", number.saturating_add(1)),
        Err(_) => format!("{name}{FORK_SUFFIX})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fork_name_counts_up() {
        let names = ["parser", "parser (fork)", "parser (fork 2)", "a (fork", "a (forked)"];
        assert_eq!(
            names.map(fork_name),
            ["parser (fork)", "parser (fork 2)", "parser (fork 3)", "a (fork (fork)", "a (forked) (fork)"]
        );
    }
}
