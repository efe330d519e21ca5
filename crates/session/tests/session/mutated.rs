//! Property tests of mutated logs: reading and appending never panic and never lose a byte.

use std::time::{Duration, Instant};

use proptest::prelude::*;
use tiller_session::SessionError;
use tiller_session::annotations::Annotations;
use tiller_session::context::request_messages;

use super::fixtures::dir;
use super::random::assert_paired;
use super::*;

/// Default number of cases; `PROPTEST_CASES` overrides it.
const CASES: u32 = 400;

/// Time limit per file, generous for a busy machine.
const HANGS: Duration = Duration::from_secs(10);

/// Nesting beyond every parser's limit.
const DEEP: usize = 10_000;

/// A mutation of a file. Numbers select a position, modulo the length.
#[derive(Clone, Debug)]
pub(super) enum Mutation {
    /// Replaces a byte.
    Flip(usize, u8),
    Delete(usize, usize),
    Insert(usize, &'static str),
    Cut(usize),
    /// Duplicates a range.
    Double(usize, usize),
    DoubleLine(usize),
    SwapLines(usize, usize),
    DropLine(usize),
    /// Replaces a digit.
    Number(usize, &'static str),
    Nest(usize, &'static str),
}

const INSERTED: [&str; 14] =
    ["\0", "\r", "\n", "\r\n", "\u{feff}", "\"", "\\", "{", "}", "]", ",", "null", "\\ud800", "\u{2028}"];

const NUMBERS: [&str; 6] =
    ["1e999", "-1", "18446744073709551616", "0.5", "99999999999999999999999999999999", "1E-7"];

const NESTS: [&str; 3] = ["[", "{\"a\":", "[[{\"message\":"];

pub(super) fn any_mutation() -> impl Strategy<Value = Mutation> {
    let at = any::<usize>;
    prop_oneof![
        6 => (at(), any::<u8>()).prop_map(|(at, byte)| Mutation::Flip(at, byte)),
        3 => (at(), 0..200_usize).prop_map(|(at, length)| Mutation::Delete(at, length)),
        4 => (at(), prop::sample::select(INSERTED.to_vec())).prop_map(|(at, text)| Mutation::Insert(at, text)),
        1 => at().prop_map(Mutation::Cut),
        2 => (at(), 0..400_usize).prop_map(|(at, length)| Mutation::Double(at, length)),
        2 => at().prop_map(Mutation::DoubleLine),
        2 => (at(), at()).prop_map(|(first, second)| Mutation::SwapLines(first, second)),
        2 => at().prop_map(Mutation::DropLine),
        2 => (at(), prop::sample::select(NUMBERS.to_vec())).prop_map(|(at, text)| Mutation::Number(at, text)),
        1 => (at(), prop::sample::select(NESTS.to_vec())).prop_map(|(at, text)| Mutation::Nest(at, text)),
    ]
}

/// Applies mutations to a file.
pub(super) fn mutated(mut bytes: Vec<u8>, mutations: &[Mutation]) -> Vec<u8> {
    for mutation in mutations {
        let length = bytes.len().max(1);
        let end = |at: usize, count: usize| (at + count).min(bytes.len());
        match *mutation {
            Mutation::Flip(at, byte) => {
                bytes.iter_mut().skip(at % length).take(1).for_each(|target| *target = byte)
            }
            Mutation::Cut(at) => bytes.truncate(at % length),
            Mutation::Delete(at, count) if !bytes.is_empty() => {
                let at = at % length;
                bytes.drain(at..end(at, count));
            }
            Mutation::Double(at, count) if !bytes.is_empty() => {
                let at = at % length;
                let repeated = bytes[at..end(at, count)].to_vec();
                bytes.splice(at..at, repeated);
            }
            Mutation::Insert(at, text) if !bytes.is_empty() => insert(&mut bytes, at % length, text),
            Mutation::Nest(at, text) if !bytes.is_empty() => {
                insert(&mut bytes, at % length, &text.repeat(DEEP))
            }
            Mutation::Number(at, text) => {
                let digits: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at].is_ascii_digit()).collect();
                if let Some(&digit) = digits.get(at % digits.len().max(1)) {
                    bytes.splice(digit..=digit, text.bytes());
                }
            }
            Mutation::DoubleLine(_) | Mutation::SwapLines(..) | Mutation::DropLine(_) => {
                mutate_lines(&mut bytes, mutation)
            }
            Mutation::Delete(..) | Mutation::Double(..) | Mutation::Insert(..) | Mutation::Nest(..) => {}
        }
    }
    bytes
}

fn insert(bytes: &mut Vec<u8>, at: usize, text: &str) {
    bytes.splice(at..at, text.bytes());
}

fn mutate_lines(bytes: &mut Vec<u8>, mutation: &Mutation) {
    let mut lines: Vec<Vec<u8>> = bytes.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let count = lines.len().max(1);
    match *mutation {
        _ if lines.is_empty() => {}
        Mutation::DoubleLine(at) => lines.insert(at % count, lines[at % count].clone()),
        Mutation::SwapLines(first, second) => lines.swap(first % count, second % count),
        Mutation::DropLine(at) => drop(lines.remove(at % count)),
        _ => {}
    }
    *bytes = lines.concat();
}

fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(CASES)
}

/// Reads everything of a log, without changing it.
fn read_everything(reader: &Reader) {
    let (entries, damaged) = reader.entries().unwrap();
    assert_eq!(entries.len() + damaged.len(), reader.entry_count());
    let tree = reader.tree();
    assert_eq!(tree.nodes().len(), reader.entry_count());
    let rows = tree.rows(reader.leaf().as_ref(), |_, _| true);
    assert_eq!(rows.len(), reader.entry_count(), "an entry is not drawn");
    let unseen = Annotations::read(reader, &tree).hiding_ancestors(&tree, reader.leaf().as_ref());
    assert_eq!(unseen.len(), reader.entry_count());
    let (_, _) = (reader.name(), reader.first_prompt());
    reader.tiller_entries().unwrap();
    for node in tree.nodes() {
        assert_eq!(reader.find(node.id.as_str()).unwrap(), node.id);
        let (projection, _) = reader.projection(&node.id).unwrap();
        let (branch, damaged) = reader.branch(&node.id).unwrap();
        // If a compaction's first kept entry is damaged, the reader keeps the entries after it.
        if damaged.is_empty() {
            assert_eq!(projection, context::project(&branch), "to {}", node.id);
        }
        let _ = projection.tokens();
        assert_paired(&request_messages(projection.messages.iter().map(|projected| &projected.message)));
    }
}

/// Appends to the log, and asserts that nothing is lost.
fn append_entries(path: &Path, version: u64) {
    let before = fs::read(path).unwrap();
    let mut writer = match Writer::open(path) {
        Ok(writer) => writer,
        Err(SessionError::Version { .. }) if version > 3 => return,
        Err(error) => panic!("it can be read, but not continued: {error}"),
    };
    let id = append_user(&mut writer, "on");
    let continued = writer.reader().path().unwrap().to_owned();
    assert_eq!(continued == path, version == 3);
    drop(writer);
    let after = fs::read(path).unwrap();
    assert!(if version == 3 { after.starts_with(&before) } else { after == before });
    let reader = Reader::open(&continued).unwrap();
    assert_eq!(reader.leaf().as_ref(), Some(&id));
    assert_eq!(texts(&reader).pop().as_deref(), Some("on"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), ..ProptestConfig::default() })]

    #[test]
    fn session_mutated_log_can_be_read_and_extended(
        which in any::<usize>(), mutations in prop::collection::vec(any_mutation(), 1..6)
    ) {
        let mut fixtures: Vec<PathBuf> =
            fs::read_dir(dir()).unwrap().map(|entry| entry.unwrap().path()).collect();
        fixtures.sort();
        let bytes = mutated(fs::read(&fixtures[which % fixtures.len()]).unwrap(), &mutations);
        let sandbox = Sandbox::new();
        let path = sandbox.file(&bytes);
        let start = Instant::now();
        match Reader::open(&path) {
            Ok(reader) => {
                read_everything(&reader);
                prop_assert_eq!(&fs::read(&path).unwrap(), &bytes, "looking at it changed it");
                append_entries(&path, reader.header().version);
            }
            Err(error) => {
                prop_assert!(error.hint().is_some(), "{} doesn't say what to do", error);
                prop_assert!(Writer::open(&path).is_err(), "it can be continued, but not read");
                prop_assert_eq!(&fs::read(&path).unwrap(), &bytes, "looking at it changed it");
            }
        }
        prop_assert!(start.elapsed() < HANGS);
    }
}
