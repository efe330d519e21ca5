//! What a fork adds to the lines that it copies: what waited in the original doesn't wait in it, and its name says that it
//! is a copy.

use tiller_core::id::EntryId;
use tiller_core::unit::UnixMs;

use super::entry::{self, Entry, EntryBody, QueueChange, TillerEntry};
use super::id_gen::IdGenerator;
use super::reader::{Reader, waiting};

/// What stands behind the name of a session that was forked.
const MARK: &str = " (fork";

/// The entries that follow a copied path, whose own facts are `path`, in order.
pub(super) fn additions(from: &Reader, path: &[Entry]) -> Vec<EntryBody> {
    let removed = waiting(path)
        .into_iter()
        .map(|queue_id| EntryBody::own(&TillerEntry::Queue(QueueChange::Remove { queue_id })));
    let name = from.name().map(|name| EntryBody::SessionInfo { name: Some(name_of_fork(&name)) });
    removed.chain(name).collect()
}

/// The lines of these entries, one after the other behind `leaf`.
pub(super) fn lines(bodies: Vec<EntryBody>, leaf: &EntryId, mint: &mut IdGenerator, now: UnixMs) -> String {
    let (mut lines, mut leaf) = (String::new(), leaf.clone());
    for body in bodies {
        let entry = Entry { id: mint.entry(now), parent: Some(leaf), timestamp: now, body };
        lines.push_str(&entry::encode(&entry));
        leaf = entry.id;
    }
    lines
}

/// `parser` becomes `parser (fork)`, that `parser (fork 2)`, and so on.
fn name_of_fork(name: &str) -> String {
    let Some((trunk, number)) = name.strip_suffix(')').and_then(|name| name.rsplit_once(MARK)) else {
        return format!("{name}{MARK})");
    };
    match number.trim_start().parse::<u64>() {
        _ if number.is_empty() => format!("{trunk}{MARK} 2)"),
        Ok(number) => format!("{trunk}{MARK} {})", number.saturating_add(1)),
        Err(_) => format!("{name}{MARK})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_fork_counts_on() {
        let names = ["parser", "parser (fork)", "parser (fork 2)", "a (fork", "a (forked)"];
        assert_eq!(
            names.map(name_of_fork),
            ["parser (fork)", "parser (fork 2)", "parser (fork 3)", "a (fork (fork)", "a (forked) (fork)"]
        );
    }
}
