//! Properties that hold for arbitrary bytes, one function per decoder or parser.
//!
//! Each function takes bytes from outside and panics if a property doesn't hold. `fuzz/` calls them from libFuzzer;
//! `tests/corpus.rs` calls them on stable Rust, with the seeds below `fuzz/corpus` and mutations of them.
#![allow(clippy::unwrap_used, reason = "a failed property is a panic")]

mod ansi;
mod answer;
mod import;
mod log;
mod shell;
mod sse;

pub use ansi::ansi_text;
pub use answer::{
    answer_split_everywhere, anthropic_answer, gemini_answer, openai_chat_answer, openai_responses_answer,
};
pub use import::{import_claude, import_codex, import_pi};
pub use log::session_log;
pub use shell::shell_policy;
pub use sse::sse_events;

/// Cuts bytes into pieces of 1 to 16 bytes. The positions depend on the bytes alone, so that a failure can be repeated.
fn cut(data: &[u8]) -> Vec<&[u8]> {
    // FNV-1a as the seed of a linear congruential generator (Knuth's MMIX constants).
    let mut state = data.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let (mut pieces, mut rest) = (Vec::new(), data);
    while !rest.is_empty() {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let length = usize::try_from(state >> 60).unwrap() + 1;
        let (piece, after) = rest.split_at(length.min(rest.len()));
        pieces.push(piece);
        rest = after;
    }
    pieces
}
