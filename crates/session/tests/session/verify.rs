//! Checking a log: every fixture's findings in full, and that checking never fails and agrees with reading.

use proptest::prelude::*;
use tiller_session::verify::{Severity, verify};

use super::fixtures::folder;
use super::mutated::{any_harm, harmed};
use super::*;

/// A log, how many entries it has, and its findings: `LINE@BYTE severity: what`.
type Row = (&'static str, usize, &'static [&'static str]);

#[rustfmt::skip]
const TABLE: [Row; 58] = [
    ("aborted-answer", 7, &[]),
    ("bash-commands", 3, &[]),
    (
        "blank-lines",
        3,
        &["2@115 note: a blank line, which is passed over (and 2 other lines are the same)"],
    ),
    (
        "bodies-that-are-no-objects",
        6,
        &[r#"3@310 error: damaged: invalid type: string "just text", expected internally tagged enum Message at line 1 column 104; it keeps its place in the tree, but nobody reads what it says"#, "4@416 error: damaged: invalid type: null, expected internally tagged enum Message at line 1 column 97; it keeps its place in the tree, but nobody reads what it says", "5@515 error: damaged: invalid type: integer `7`, expected a string; it keeps its place in the tree, but nobody reads what it says", "6@614 error: its timestamp 12 is no moment; it is taken for 1970", "6@614 error: damaged: invalid type: sequence, expected a string; it keeps its place in the tree, but nobody reads what it says", "7@692 error: not readable (not a JSON object); it is kept and passed over", "8@700 error: not readable (not a JSON object); it is kept and passed over", r#"9@702 error: not readable (not a JSON object); it is kept and passed over"#, "10@709 error: not readable (not a JSON object); it is kept and passed over"],
    ),
    (
        "bom-header",
        3,
        &["1@0 note: begins with a byte order mark, which is passed over"],
    ),
    ("branch-summary", 9, &[]),
    ("branched", 10, &[]),
    (
        "command-cut-off",
        4,
        &["4@486 note: a command of the user's own began here and has no record; one that says it was cut off is written when the session goes on"],
    ),
    ("compacted", 10, &[]),
    ("compacted-keeping-nothing", 8, &[]),
    (
        "compaction-astray",
        5,
        &["4@477 error: keeps the entries from m2 on, which is not on its branch; nothing is kept", "5@630 error: keeps the entries from gone on, which is not on its branch; nothing is kept"],
    ),
    ("context-edited", 9, &[]),
    (
        "crlf",
        6,
        &["1@0 note: ends in CR LF, which is read like LF (and 6 other lines are the same)"],
    ),
    (
        "custom-role",
        2,
        &[],
    ),
    (
        "cycle",
        3,
        &["2@109 error: its parent y2 comes later, on line 3 and follows it in turn; it is taken for a root", "4@463 error: it names itself as its parent; it is taken for a root"],
    ),
    (
        "damaged-body",
        7,
        &["7@1325 error: damaged: unknown variant `oracle`, expected one of `user`, `assistant`, `toolResult`, `bashExecution`, `system` at line 1 column 109; it keeps its place in the tree, but nobody reads what it says"],
    ),
    (
        "damaged-header",
        1,
        &["1@0 error: not the header of a session (EOF while parsing a string at line 1 column 45); tiller doesn't open this file"],
    ),
    (
        "damaged-middle-line",
        5,
        &["5@575 error: not readable (EOF while parsing a string at line 1 column 60); it is kept and passed over", "6@636 note: its parent a4 is lost with the unreadable lines before it; it follows the entry of line 4 instead", "6@636 error: the result of a call c1 that nobody made on its branch; no model gets it"],
    ),
    (
        "duplicate-ids",
        4,
        &["4@471 error: the id d2 is that of line 3 too; what follows here means the nearer one"],
    ),
    (
        "empty",
        0,
        &["1@0 error: the file is empty; tiller doesn't open it"],
    ),
    (
        "empty-id",
        3,
        &["3@290 error: its id is empty, so nothing can name it for certain"],
    ),
    ("foreign-aborted-tools", 10, &[]),
    ("foreign-bash", 16, &[]),
    (
        "foreign-killed-tools",
        7,
        &["6@929 note: its call k1 has no result; a model is told that it was interrupted", "6@929 note: its call k2 has no result; a model is told that it was interrupted", "6@929 note: its call k3 has no result; a model is told that it was interrupted"],
    ),
    ("foreign-retried", 7, &[]),
    ("foreign-steered", 14, &[]),
    (
        "forked",
        6,
        &["3@328 note: its label is about left, which stayed behind when this session was forked; it has no effect", "5@627 note: its hiding is about left, which stayed behind when this session was forked; it has no effect"],
    ),
    (
        "half-pair-in-header",
        1,
        &[],
    ),
    (
        "half-surrogate-pair",
        3,
        &["3@301 note: holds half a surrogate pair as an escape; it is read as U+FFFD"],
    ),
    ("header-only", 0, &[]),
    ("hidden-branch", 8, &[]),
    (
        "interrupted-call",
        5,
        &["5@572 note: its call c1 has no result; a model is told that it was interrupted"],
    ),
    (
        "kept-id-twice",
        7,
        &["7@985 error: the id k is that of line 3 too; what follows here means the nearer one"],
    ),
    (
        "keys-in-another-order",
        4,
        &[],
    ),
    ("left-leaf", 7, &[]),
    ("linear", 6, &[]),
    (
        "lone-surrogates",
        3,
        &["2@119 note: holds half a surrogate pair as an escape; it is read as U+FFFD", "3@286 error: not UTF-8 from byte 125 of the line on; what is no character is read as U+FFFD", "4@448 note: holds half a surrogate pair as an escape; it is read as U+FFFD"],
    ),
    (
        "lost-targets",
        5,
        &["3@294 error: its label is about gone, which is not in the lines before it; it has no effect", "4@409 error: its edit is about m4, which is not in the lines before it; it has no effect", "5@533 error: its hiding is about nowhere, which is not in the lines before it; it has no effect"],
    ),
    ("named-and-labelled", 9, &[]),
    (
        "no-header",
        6,
        &["1@0 error: not the header of a session (unknown variant `model_change`, expected `session` at line 1 column 22); tiller doesn't open this file"],
    ),
    (
        "no-utf-8",
        4,
        &["3@290 error: not UTF-8 from byte 144 of the line on; what is no character is read as U+FFFD", "5@647 error: not readable (not UTF-8 from byte 0 of the line on); it is kept and passed over"],
    ),
    (
        "orphan",
        2,
        &["3@287 error: its parent gone is nowhere in the file; it is taken for a root"],
    ),
    ("queue-left-over", 9, &[]),
    (
        "results-astray",
        8,
        &["5@1111 error: the call c1 has a result on line 4 already; a model gets only one", "6@1346 error: the result of a call c9 that nobody made on its branch; no model gets it", "9@2051 error: the result of a call c2 that nobody made on its branch; no model gets it"],
    ),
    ("system-message", 2, &[]),
    (
        "torn-and-closed",
        2,
        &["3@297 note: torn: it ends in the middle (EOF while parsing a string at line 1 column 90) and was closed later; it is kept and passed over"],
    ),
    (
        "torn-and-written-on",
        4,
        &["4@477 error: damaged: key must be a string at line 1 column 121; it keeps its place in the tree, but nobody reads what it says", "5@783 note: its parent g4 is lost with the unreadable lines before it; it follows the entry of line 4 instead"],
    ),
    (
        "torn-last-line",
        6,
        &["8@1766 note: torn: the file ends in the middle of it (EOF while parsing a string at line 1 column 142); it is closed when the session goes on"],
    ),
    ("two-roots", 3, &[]),
    (
        "unknown-types",
        7,
        &[r#"5@583 note: an entry of type "hologram", which tiller doesn't know; it is kept and passed over"#, r#"7@1122 note: a fact "tiller.later", which this tiller doesn't understand; it is kept and passed over"#],
    ),
    (
        "unreadable-times",
        3,
        &[r#"2@120 error: its timestamp "yesterday" is no moment; it is taken for 1970"#, "3@283 error: it has no timestamp; it is taken for 1970"],
    ),
    (
        "usage-elsewhere",
        4,
        &[],
    ),
    (
        "usage-not-numbers",
        3,
        &[r#"3@299 error: its usage is not in numbers: `input` is "many"; what it cost is not counted"#],
    ),
    (
        "version-1",
        1,
        &["1@0 note: version 1 of the format; this tiller writes 3"],
    ),
    (
        "version-1-compacted",
        9,
        &["1@0 note: version 1 of the format; this tiller writes 3"],
    ),
    (
        "version-2",
        3,
        &["1@0 note: version 2 of the format; this tiller writes 3"],
    ),
    (
        "version-2-hook-message",
        3,
        &["1@0 note: version 2 of the format; this tiller writes 3"],
    ),
    (
        "version-4",
        3,
        &["1@0 note: version 4 is newer than the 3 of this tiller, which only reads it"],
    ),
];

/// Entries and findings of a log, as the table has them.
fn checked(path: &Path) -> (usize, Vec<String>) {
    let checked = verify(path).unwrap();
    let row = |finding: &tiller_session::verify::GradedFinding| {
        format!("{}@{} {}: {}", finding.line, finding.byte, finding.severity.name(), finding.what)
    };
    (checked.entries, checked.findings.iter().map(row).collect())
}

#[test]
fn every_log_is_judged_as_the_table_says() {
    for (name, entries, findings) in TABLE {
        let path = folder().join(format!("{name}.jsonl"));
        let findings = findings.iter().map(|&finding| finding.to_owned()).collect();
        assert_eq!(checked(&path), (entries, findings), "{name}");
    }
}

#[test]
fn every_log_in_the_folder_is_judged() {
    let mut there: Vec<String> = fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    there.sort();
    assert_eq!(there, TABLE.map(|(name, ..)| name));
}

#[test]
fn a_log_that_tiller_writes_has_nothing_to_find() {
    let place = Place::new();
    let mut writer = place.create();
    let first = say(&mut writer, "one");
    let second = say(&mut writer, "two");
    writer.branch_with_summary(Some(&first), "two was said", NOW).unwrap();
    writer.label(&second, Some("left"), NOW).unwrap();
    writer.hide(&second, Visibility::Hidden, NOW).unwrap();
    writer.name(Some("numbers"), NOW).unwrap();
    let path = writer.reader().path().unwrap().to_owned();
    assert_eq!(checked(&path), (6, vec![]));
}

#[test]
fn optional_key_of_the_wrong_type_costs_only_itself() {
    let place = Place::new();
    let header = HEADER.replace("}", r#","parentSession":7}"#);
    let one = line("a", None, "one");
    let odd =
        line("b", Some("a"), "two").replace(r#""type":"message","#, r#""type":"message","tillerQueueId":7,"#);
    assert_ne!(odd, line("b", Some("a"), "two"));
    let path = place.file([&header, &one, &odd, ""].join("\n"));
    let reader = Reader::open(&path).unwrap();
    assert_eq!(
        (texts(&reader), reader.header().parent_session.clone()),
        (vec!["one".into(), "two".into()], None)
    );
    let (entries, findings) = checked(&path);
    assert_eq!(entries, 2);
    let expected = ["parentSession", "tillerQueueId"]
        .map(|key| format!("error: its optional key `{key}` is 7; it is read as absent"));
    assert_eq!(findings.len(), 2, "{findings:?}");
    for (finding, expected) in findings.iter().zip(&expected) {
        assert!(finding.ends_with(expected), "{finding}");
    }
}

#[test]
fn a_compaction_of_the_first_version_counts_entries() {
    let place = Place::new();
    let header = r#"{"type":"session","id":"s","timestamp":"2026-11-21T03:16:58.249Z","cwd":"/"}"#;
    let said = r#"{"type":"message","timestamp":"2026-11-21T03:16:58.249Z","message":{"role":"hookMessage","content":"x","timestamp":1}}"#;
    let compaction = |index: u64| {
        format!(
            r#"{{"type":"compaction","timestamp":"2026-11-21T03:16:58.249Z","summary":"x","firstKeptEntryIndex":{index},"tokensBefore":1}}"#
        )
    };
    let found = |index| {
        let path = place.file([header, said, &compaction(index), ""].join("\n"));
        checked(&path).1.split_off(1)
    };
    assert_eq!(found(1), Vec::<String>::new());
    assert_eq!(
        found(9),
        ["3@196 error: keeps the entries from entry 9 on, which is not on its branch; nothing is kept"]
    );
}

#[test]
fn one_branch_is_no_ancestor_of_another_however_many_there_are() {
    // Results of the same call on 20,000 branches, each of which has one: a walk that looks back along every branch for
    // every result would take minutes.
    let place = Place::new();
    let call = r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-11-21T03:16:58.249Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"x","arguments":{}}],"stopReason":"toolUse"}}"#;
    let result = |at: u32| {
        format!(
            r#"{{"type":"message","id":"r{at}","parentId":"a","timestamp":"2026-11-21T03:16:58.249Z","message":{{"role":"toolResult","toolCallId":"c","content":[]}}}}"#
        )
    };
    let lines: Vec<String> = std::iter::once(call.to_owned()).chain((0..20_000).map(result)).collect();
    let path = place.log(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(checked(&path), (20_001, vec![]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_to_a_file_it_can_be_checked_and_has_the_entries_that_a_reader_finds(
        which in 0..TABLE.len(), harms in prop::collection::vec(any_harm(), 1..6)
    ) {
        let place = Place::new();
        let bytes = fs::read(folder().join(format!("{}.jsonl", TABLE[which].0))).unwrap();
        let path = place.file(harmed(bytes, &harms));
        let checked = verify(&path).unwrap();
        if let Ok(reader) = Reader::open(&path) {
            prop_assert_eq!(checked.entries, reader.entry_count());
            let (_, damaged) = reader.entries().unwrap();
            let errors: Vec<u64> = checked.findings.iter()
                .filter(|finding| finding.severity == Severity::Error).map(|finding| finding.line).collect();
            for finding in damaged {
                let is_torn = checked.findings.iter().any(|graded| {
                    graded.line == finding.line && graded.what.contains("torn: ")
                });
                prop_assert!(is_torn || errors.contains(&finding.line), "{:?}", finding);
            }
        }
    }
}
