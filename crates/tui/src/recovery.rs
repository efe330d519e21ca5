//! Replaces failed requests with one line in the transcript after a successful retry. Pure.

use tiller_core::id::EntryId;
use tiller_core::message::split_advice;
use tiller_core::unit::UnixMs;

use super::block::{Block, BlockKind};

/// The change to a block list when an answer follows failed requests.
#[derive(Debug)]
pub(super) struct DraftRecovery {
    /// The index of the first block of the failed requests, which is replaced with the line.
    pub(super) at: usize,
    pub(super) block: Block,
    /// The indexes of the other blocks of the failed requests, in descending order.
    pub(super) missing: Vec<usize>,
}

/// Finds the failed requests at the end of the blocks, for an answer whose request was sent at `sent`.
/// Summaries and notices between them are kept.
pub(super) fn find_recovery(blocks: &[Block], sent: UnixMs) -> Option<DraftRecovery> {
    let mut indexes = Vec::new();
    let (mut tries, mut first_sent, mut reason) = (0, sent, None);
    let mut entry: Option<&EntryId> = None;
    for (at, block) in blocks.iter().enumerate().rev() {
        match &block.kind {
            BlockKind::Failure { text, times, sent } => {
                (tries, first_sent) = (tries + times, *sent);
                reason.get_or_insert_with(|| reason_of(text));
                entry = block.entry.as_ref();
                indexes.push(at);
            }
            BlockKind::Rule { .. } => {}
            _ if block.entry.is_none() => {}
            // The partial answer of the failed request.
            _ if entry.is_some() && block.entry.as_ref() == entry => indexes.push(at),
            _ => break,
        }
    }
    let at = indexes.pop()?;
    let kind =
        BlockKind::Recovered { reason: reason?, attempt: tries + 1, waited_ms: sent.since_ms(first_sent) };
    Some(DraftRecovery { at, block: Block::from_entry(blocks[at].entry.as_ref()?, kind), missing: indexes })
}

/// Shortens an error to its reason, without the provider's name, the HTTP status and the advice.
fn reason_of(error: &str) -> String {
    let (reason, _) = split_advice(error.trim());
    let reason = match reason.split_once(": ") {
        Some((provider, reason)) if !provider.contains(' ') => reason,
        Some(_) | None => reason,
    };
    let reason = reason.split(" (HTTP status").next().unwrap_or(reason).trim().trim_end_matches('.');
    let mut letters = reason.chars();
    match (letters.next(), letters.next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain([second]).chain(letters).collect()
        }
        _ => reason.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reason_of_error_is_shortened() {
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
