//! Every fuzz target on stable Rust: its seeds, and mutations of them that are the same in every run.
#![allow(clippy::unwrap_used, reason = "a test that can't be set up has failed")]

use std::fs;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, RngSeed, TestRunner};
use tiller_fuzz_targets as targets;

/// Bytes that mean something to one of the formats.
const TOKENS: [&[u8]; 24] = [
    b"\0",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\t",
    b"\x08",
    b"\x1b[",
    b"\x1b]8;;",
    b"\xff",
    b"\xef\xbb\xbf",
    b"\"",
    b"\\",
    b"\\ud800",
    b"'",
    b"{",
    b"}",
    b"]",
    b",",
    b":",
    b"null",
    b"-1e300",
    b"$(",
    b"<<a",
];

/// A change of a seed.
#[derive(Clone, Debug)]
enum Mutation {
    Replace(Index, u8),
    Insert(Index, &'static [u8]),
    Delete(Index, usize),
    /// Copies a range to another position.
    Copy(Index, usize, Index),
    SwapLines(Index, Index),
    CopyLine(Index, Index),
    DeleteLine(Index),
    /// Replaces a string or name by another one of the seed.
    SwapWords(Index, Index),
    /// Keeps the first lines, and puts the last lines of another seed behind them.
    Join(Index, Index, Index),
}

fn mutation() -> impl Strategy<Value = Mutation> {
    let at = any::<Index>;
    prop_oneof![
        1 => (at(), any::<u8>()).prop_map(|(at, byte)| Mutation::Replace(at, byte)),
        1 => (at(), select(TOKENS.to_vec())).prop_map(|(at, token)| Mutation::Insert(at, token)),
        1 => (at(), 1_usize..64).prop_map(|(at, length)| Mutation::Delete(at, length)),
        1 => (at(), 1_usize..64, at()).prop_map(|(source, length, to)| Mutation::Copy(source, length, to)),
        3 => (at(), at()).prop_map(|(one, other)| Mutation::SwapLines(one, other)),
        1 => (at(), at()).prop_map(|(source, to)| Mutation::CopyLine(source, to)),
        1 => at().prop_map(Mutation::DeleteLine),
        1 => (at(), at()).prop_map(|(one, other)| Mutation::SwapWords(one, other)),
        1 => (at(), at(), at()).prop_map(|(seed, end, start)| Mutation::Join(seed, end, start)),
    ]
}

fn mutate(mut bytes: Vec<u8>, mutation: &Mutation, seeds: &[Vec<u8>]) -> Vec<u8> {
    let len = bytes.len();
    let range = |at: &Index, length: usize| {
        let start = at.index(len.max(1)).min(len);
        start..(start + length).min(len)
    };
    match mutation {
        Mutation::Replace(at, byte) => bytes[range(at, 1)].fill(*byte),
        Mutation::Insert(at, token) => drop(bytes.splice(range(at, 0), token.iter().copied())),
        Mutation::Delete(at, length) => drop(bytes.drain(range(at, *length))),
        Mutation::Copy(source, length, to) => {
            let copied = bytes[range(source, *length)].to_vec();
            bytes.splice(range(to, 0), copied);
        }
        Mutation::SwapLines(..) | Mutation::CopyLine(..) | Mutation::DeleteLine(_) => {
            bytes = mutate_lines(&bytes, mutation);
        }
        Mutation::SwapWords(one, other) => {
            let words = words(&bytes);
            if !words.is_empty() {
                let (one, other) = (one.index(words.len()), other.index(words.len()));
                let copied = bytes[words[one].clone()].to_vec();
                bytes.splice(words[other].clone(), copied);
            }
        }
        Mutation::Join(seed, end, start) => {
            let (own_lines, other) = (lines(&bytes), lines(&seeds[seed.index(seeds.len())]));
            let (end, start) = (end.index(own_lines.len() + 1), start.index(other.len() + 1));
            bytes = [&own_lines[..end], &other[start..]].concat().concat();
        }
    }
    bytes
}

fn mutate_lines(bytes: &[u8], mutation: &Mutation) -> Vec<u8> {
    let mut lines = lines(bytes);
    let count = lines.len().max(1);
    match mutation {
        _ if lines.is_empty() => {}
        Mutation::SwapLines(one, other) => lines.swap(one.index(count), other.index(count)),
        Mutation::CopyLine(source, to) => lines.insert(to.index(count), lines[source.index(count)]),
        Mutation::DeleteLine(at) => drop(lines.remove(at.index(count))),
        _ => unreachable!("{mutation:?} is not about lines"),
    }
    lines.concat()
}

/// Lines with their line ends.
fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The positions of runs of letters, digits and the like.
fn words(bytes: &[u8]) -> Vec<Range<usize>> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-./".contains(byte) || !byte.is_ascii();
    let mut words = Vec::new();
    let mut at = 0;
    for run in bytes.chunk_by(|one, other| is_word(one) == is_word(other)) {
        if is_word(&run[0]) {
            words.push(at..at + run.len());
        }
        at += run.len();
    }
    words
}

/// The files of a directory whose names have an extension. Inputs found by libFuzzer have none.
fn files(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.is_file() && path.extension().is_some());
    paths.sort();
    paths.into_iter().map(|path| (path.display().to_string(), fs::read(&path).unwrap())).collect()
}

/// The names of a directory's entries, without extensions.
fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let mut names: Vec<_> = entries.map(|path| path.file_stem().unwrap().display().to_string()).collect();
    names.sort();
    names
}

/// Runs a target with its seeds, the seeds of other directories, and `cases` mutations of both.
fn run(name: &str, other_dirs: &[&str], cases: u32, target: fn(&[u8])) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let seed_files = files(&root.join("fuzz/corpus").join(name));
    assert!(!seed_files.is_empty(), "{name} has no seeds");
    let other_dirs = other_dirs.iter().flat_map(|dir| files(&root.join(dir)));
    let (names, seeds): (Vec<_>, Vec<_>) = seed_files.into_iter().chain(other_dirs).unzip();
    target(b"");
    for (name, seed) in names.iter().zip(&seeds) {
        catch_unwind(|| target(seed)).unwrap_or_else(|_| panic!("the seed {name} fails"));
    }
    let config =
        Config { cases, failure_persistence: None, rng_seed: RngSeed::Fixed(0), ..Config::default() };
    let inputs = (any::<Index>(), vec(mutation(), 1..6)).prop_map(|(seed, mutations)| {
        let seed = seeds[seed.index(seeds.len())].clone();
        mutations.iter().fold(seed, |bytes, mutation| mutate(bytes, mutation, &seeds))
    });
    let result = TestRunner::new(config).run(&inputs, |input| {
        let text = String::from_utf8_lossy(&input).into_owned();
        catch_unwind(AssertUnwindSafe(|| target(&input)))
            .map_err(|_| TestCaseError::fail(format!("input: {text:?}")))
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn ansi_text_holds_for_mutated_seeds() {
    run("ansi_text", &[], 500, targets::ansi_text);
}

#[test]
fn anthropic_answer_holds_for_mutated_seeds() {
    run("anthropic_answer", &[], 400, targets::anthropic_answer);
}

#[test]
fn gemini_answer_holds_for_mutated_seeds() {
    run("gemini_answer", &[], 400, targets::gemini_answer);
}

#[test]
fn openai_chat_answer_holds_for_mutated_seeds() {
    run("openai_chat_answer", &[], 400, targets::openai_chat_answer);
}

#[test]
fn openai_responses_answer_holds_for_mutated_seeds() {
    run("openai_responses_answer", &[], 400, targets::openai_responses_answer);
}

/// Splits the seeds of a target into two pieces at every position.
fn split_everywhere(target: &str, least_positions: usize) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let mut positions = 0;
    for (name, seed) in files(&corpus.join(target)) {
        catch_unwind(|| targets::answer_split_everywhere(target, &seed)).unwrap_or_else(|_| panic!("{name}"));
        positions += seed.len() + 1;
    }
    assert!(positions > least_positions, "{positions}");
}

#[test]
fn anthropic_answers_may_be_split_anywhere() {
    split_everywhere("anthropic_answer", 15_000);
}

#[test]
fn gemini_answers_may_be_split_anywhere() {
    split_everywhere("gemini_answer", 15_000);
}

#[test]
fn openai_chat_answers_may_be_split_anywhere() {
    split_everywhere("openai_chat_answer", 35_000);
}

#[test]
fn openai_responses_answers_may_be_split_anywhere() {
    split_everywhere("openai_responses_answer", 40_000);
}

#[test]
fn sse_events_holds_for_mutated_seeds() {
    run("sse_events", &["fuzz/corpus/anthropic_answer"], 500, targets::sse_events);
}

#[test]
fn shell_policy_holds_for_mutated_seeds() {
    run("shell_policy", &[], 250, targets::shell_policy);
}

#[test]
fn session_log_holds_for_mutated_seeds() {
    run("session_log", &["sessions-fixtures"], 250, targets::session_log);
}

#[test]
fn import_claude_holds_for_mutated_seeds() {
    run("import_claude", &["tests/foreign/claude"], 200, targets::import_claude);
}

#[test]
fn import_codex_holds_for_mutated_seeds() {
    run("import_codex", &["tests/foreign/codex/sessions"], 200, targets::import_codex);
}

#[test]
fn import_pi_holds_for_mutated_seeds() {
    run("import_pi", &["tests/foreign/pi"], 200, targets::import_pi);
}

#[test]
fn fuzz_dir_has_one_binary_and_one_corpus_per_target() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let binaries = names(&fuzz.join("fuzz_targets"));
    assert_eq!(names(&fuzz.join("corpus")), binaries);
    let manifest = fs::read_to_string(fuzz.join("Cargo.toml")).unwrap();
    for name in &binaries {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
    }
    assert_eq!(manifest.matches("[[bin]]").count(), binaries.len());
}
