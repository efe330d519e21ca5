//! The log: appending one entry, and resuming a long session.
#![allow(clippy::unwrap_used, reason = "a benchmark fails by panicking")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use divan::{Bencher, black_box};
use tempfile::TempDir;
use tiller::session::{EntryBody, Reader, Writer};
use tiller::unit::UnixMs;
use tiller_test_support::long_log::{self, LogLength};

/// Entries of the long session: a quarter each of prompts, calls, results and answers.
const LONG: usize = 10_000;

/// Bytes of a result.
const OUTPUT: usize = 600;

/// The timestamp of all entries.
const NOW: UnixMs = UnixMs(1_795_231_018_249);

fn main() {
    divan::main();
}

fn body(at: usize) -> EntryBody {
    EntryBody::message(Arc::new(long_log::message(at, OUTPUT)))
}

fn log(dir: &TempDir, entries: usize, compacted_every: usize) -> PathBuf {
    long_log::write(dir.path(), LogLength { entries, bytes: entries * OUTPUT / 2, compacted_every })
}

fn context_of(path: &Path) -> usize {
    let reader = Reader::open(path).unwrap();
    reader.projection(&reader.leaf().unwrap()).unwrap().0.messages.len()
}

/// The cost of an append doesn't grow with the session.
#[divan::bench(args = [1, 1_000, 100_000])]
fn append_one_entry(bencher: Bencher, after: usize) {
    let dir = TempDir::new().unwrap();
    let mut writer = Writer::open(&log(&dir, after, 0)).unwrap();
    bencher.bench_local(|| writer.append(black_box(body(2)), NOW).unwrap());
}

#[divan::bench]
fn open_10_000_entries(bencher: Bencher) {
    let dir = TempDir::new().unwrap();
    let path = log(&dir, LONG, 0);
    bencher.bench_local(|| Reader::open(black_box(&path)).unwrap().entry_count());
}

/// Everything is in the context: linear in the path.
#[divan::bench(args = [1_000, 10_000])]
fn open_and_context(bencher: Bencher, entries: usize) {
    let dir = TempDir::new().unwrap();
    let path = log(&dir, entries, 0);
    bencher.bench_local(|| assert_eq!(context_of(black_box(&path)), entries));
}

/// The context after a compaction.
#[divan::bench(args = [1_000, 10_000, 100_000])]
fn open_and_context_of_a_compacted_session(bencher: Bencher, entries: usize) {
    let dir = TempDir::new().unwrap();
    let path = log(&dir, entries, 500);
    bencher.bench_local(|| context_of(black_box(&path)));
}
