//! Failed requests that a later try made good: in the transcript their blocks give way to one line. Pure.

use tiller_core::id::EntryId;
use tiller_core::message::advice_in;
use tiller_core::unit::UnixMs;

use super::block::{Block, BlockKind};

/// The change of a list of blocks once an answer follows failed requests.
#[derive(Debug)]
pub(super) struct Recovery {
    /// The place of the first block of the failed requests, where the line stands.
    pub(super) at: usize,
    /// The line.
    pub(super) block: Block,
    /// The other blocks of the failed requests, from the end on.
    pub(super) gone: Vec<usize>,
}

/// Finds the failed requests at the end of some blocks, for an answer whose request was sent at a moment. Summaries and notices
/// between them stay.
pub(super) fn find_recovery(blocks: &[Block], sent: UnixMs) -> Option<Recovery> {
    let mut places = Vec::new();
    let (mut tries, mut first_sent, mut reason) = (0, sent, None);
    let mut entry: Option<&EntryId> = None;
    for (at, block) in blocks.iter().enumerate().rev() {
        match &block.kind {
            BlockKind::Failure { text, times, sent } => {
                (tries, first_sent) = (tries + times, *sent);
                reason.get_or_insert_with(|| reason_of(text));
                entry = block.entry.as_ref();
                places.push(at);
            }
            BlockKind::Rule { .. } => {}
            _ if block.entry.is_none() => {}
            // As far as the failed answer came.
            _ if entry.is_some() && block.entry.as_ref() == entry => places.push(at),
            _ => break,
        }
    }
    let at = places.pop()?;
    let kind =
        BlockKind::Recovered { reason: reason?, attempt: tries + 1, waited_ms: sent.since_ms(first_sent) };
    Some(Recovery { at, block: Block::of(blocks[at].entry.as_ref()?, kind), gone: places })
}

/// Returns what went wrong without the provider's name before it, and without the status and the advice behind it.
fn reason_of(error: &str) -> String {
    let (what, _) = advice_in(error.trim());
    let what = match what.split_once(": ") {
        Some((provider, what)) if !provider.contains(' ') => what,
        Some(_) | None => what,
    };
    let what = what.split(" (HTTP status").next().unwrap_or(what).trim().trim_end_matches('.');
    let mut letters = what.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain([second]).chain(letters).collect()
        }
        _ => what.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_of_an_error_is_in_words() {
        let cases = [
            ("anthropic: Overloaded (HTTP status 529) → try again later", "overloaded"),
            ("openai: TLS handshake failed", "TLS handshake failed"),
            ("the stream broke off: nothing came", "the stream broke off: nothing came"),
            ("", ""),
        ];
        for (error, expected) in cases {
            assert_eq!(reason_of(error), expected, "{error}");
        }
    }
}
