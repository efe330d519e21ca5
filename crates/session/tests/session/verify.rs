//! Tests of verification: every fixture's findings in full; it never fails, and it agrees with reading.

use proptest::prelude::*;
use tiller_session::verify::{Severity, verify};

use super::fixtures::dir;
use super::mutated::{any_mutation, mutated};
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
        &["2@115 note: blank line, ignored (and 2 more lines)"],
    ),
    (
        "bodies-that-are-no-objects",
        6,
        &[r#"3@310 error: damaged: invalid type: string "just text", expected internally tagged enum Message; the entry keeps its place in the tree, but its content is ignored"#, "4@416 error: damaged: invalid type: null, expected internally tagged enum Message; the entry keeps its place in the tree, but its content is ignored", "5@515 error: damaged: invalid type: integer `7`, expected a string; the entry keeps its place in the tree, but its content is ignored", "6@614 error: invalid timestamp 12; using the Unix epoch", "6@614 error: damaged: invalid type: sequence, expected a string; the entry keeps its place in the tree, but its content is ignored", "7@692 error: not readable (not a JSON object); it is kept and ignored", "8@700 error: not readable (not a JSON object); it is kept and ignored", r#"9@702 error: not readable (not a JSON object); it is kept and ignored"#, "10@709 error: not readable (not a JSON object); it is kept and ignored"],
    ),
    (
        "bom-header",
        3,
        &["1@0 note: begins with a byte order mark, which is ignored"],
    ),
    ("branch-summary", 9, &[]),
    ("branched", 10, &[]),
    (
        "command-cut-off",
        4,
        &["4@486 note: a user command started here and has no result; it is recorded as interrupted when the session continues"],
    ),
    ("compacted", 10, &[]),
    ("compacted-keeping-nothing", 8, &[]),
    (
        "compaction-astray",
        5,
        &["4@477 error: keeps the entries starting with m2, which is not on its branch; no entries are kept", "5@630 error: keeps the entries starting with gone, which is not on its branch; no entries are kept"],
    ),
    ("context-edited", 9, &[]),
    (
        "crlf",
        6,
        &["1@0 note: ends in CR LF, which is read as LF (and 6 more lines)"],
    ),
    (
        "custom-role",
        2,
        &[],
    ),
    (
        "cycle",
        3,
        &["2@109 error: its parent y2 comes later, on line 3, and is its descendant; the entry becomes a root", "4@463 error: the entry is its own parent; it becomes a root"],
    ),
    (
        "damaged-body",
        7,
        &["7@1325 error: damaged: unknown variant `oracle`, expected one of `user`, `assistant`, `toolResult`, `bashExecution`, `system`; the entry keeps its place in the tree, but its content is ignored"],
    ),
    (
        "damaged-header",
        1,
        &["1@0 error: not a session header (EOF while parsing a string); tiller can't open this file"],
    ),
    (
        "damaged-middle-line",
        5,
        &["5@575 error: not readable (EOF while parsing a string); it is kept and ignored", "6@636 note: its parent a4 was lost with the unreadable lines before it; the entry on line 4 is used instead", "6@636 error: result of call c1, which is not on its branch; it is not sent to models"],
    ),
    (
        "duplicate-ids",
        4,
        &["4@471 error: duplicate id d2, also on line 3; later references mean the nearest earlier entry"],
    ),
    (
        "empty",
        0,
        &["1@0 error: the file is empty; tiller can't open it"],
    ),
    (
        "empty-id",
        3,
        &["3@290 error: its id is empty, so other entries can't refer to it reliably"],
    ),
    ("foreign-aborted-tools", 10, &[]),
    ("foreign-bash", 16, &[]),
    (
        "foreign-killed-tools",
        7,
        &["6@929 note: call k1 has no result; models are informed that it was interrupted", "6@929 note: call k2 has no result; models are informed that it was interrupted", "6@929 note: call k3 has no result; models are informed that it was interrupted"],
    ),
    ("foreign-retried", 7, &[]),
    ("foreign-steered", 14, &[]),
    (
        "forked",
        6,
        &["3@328 note: its label refers to left, which was not copied into this fork; it has no effect", "5@627 note: its hiding refers to left, which was not copied into this fork; it has no effect"],
    ),
    (
        "half-pair-in-header",
        1,
        &[],
    ),
    (
        "half-surrogate-pair",
        3,
        &["3@301 note: contains a lone surrogate escape; it is read as U+FFFD"],
    ),
    ("header-only", 0, &[]),
    ("hidden-branch", 8, &[]),
    (
        "interrupted-call",
        5,
        &["5@572 note: call c1 has no result; models are informed that it was interrupted"],
    ),
    (
        "kept-id-twice",
        7,
        &["7@985 error: duplicate id k, also on line 3; later references mean the nearest earlier entry"],
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
        &["2@119 note: contains a lone surrogate escape; it is read as U+FFFD", "3@286 error: not UTF-8 starting at byte 125 of the line; invalid bytes are read as U+FFFD", "4@448 note: contains a lone surrogate escape; it is read as U+FFFD"],
    ),
    (
        "lost-targets",
        5,
        &["3@294 error: its label refers to gone, which is not on an earlier line; it has no effect", "4@409 error: its edit refers to m4, which is not on an earlier line; it has no effect", "5@533 error: its hiding refers to nowhere, which is not on an earlier line; it has no effect"],
    ),
    ("named-and-labelled", 9, &[]),
    (
        "no-header",
        6,
        &["1@0 error: not a session header (unknown variant `model_change`, expected `session`); tiller can't open this file"],
    ),
    (
        "no-utf-8",
        4,
        &["3@290 error: not UTF-8 starting at byte 144 of the line; invalid bytes are read as U+FFFD", "5@647 error: not readable (not UTF-8 starting at byte 0 of the line); it is kept and ignored"],
    ),
    (
        "orphan",
        2,
        &["3@287 error: its parent gone is not in the file; the entry becomes a root"],
    ),
    ("queue-left-over", 9, &[]),
    (
        "results-astray",
        8,
        &["5@1111 error: call c1 already has a result on line 4; models get only the first", "6@1346 error: result of call c9, which is not on its branch; it is not sent to models", "9@2051 error: result of call c2, which is not on its branch; it is not sent to models"],
    ),
    ("system-message", 2, &[]),
    (
        "torn-and-closed",
        2,
        &["3@297 note: torn: the line is incomplete (EOF while parsing a string) and was closed later; it is kept and ignored"],
    ),
    (
        "torn-and-written-on",
        4,
        &["4@477 error: damaged: key must be a string; the entry keeps its place in the tree, but its content is ignored", "5@783 note: its parent g4 was lost with the unreadable lines before it; the entry on line 4 is used instead"],
    ),
    (
        "torn-last-line",
        6,
        &["8@1766 note: torn: the file ends within this line (EOF while parsing a string); it is closed when the session continues"],
    ),
    ("two-roots", 3, &[]),
    (
        "unknown-types",
        7,
        &[r#"5@583 note: unknown entry type "hologram"; it is kept and ignored"#, r#"7@1122 note: unknown or invalid custom entry "tiller.later"; it is kept and ignored"#],
    ),
    (
        "unreadable-times",
        3,
        &[r#"2@120 error: invalid timestamp "yesterday"; using the Unix epoch"#, "3@283 error: no timestamp; using the Unix epoch"],
    ),
    (
        "usage-elsewhere",
        4,
        &[],
    ),
    (
        "usage-not-numbers",
        3,
        &[r#"3@299 error: invalid usage: `input` is "many"; its cost is not counted"#],
    ),
    (
        "version-1",
        1,
        &["1@0 note: version 1 of the format; this version of tiller writes version 3"],
    ),
    (
        "version-1-compacted",
        9,
        &["1@0 note: version 1 of the format; this version of tiller writes version 3"],
    ),
    (
        "version-2",
        3,
        &["1@0 note: version 2 of the format; this version of tiller writes version 3"],
    ),
    (
        "version-2-hook-message",
        3,
        &["1@0 note: version 2 of the format; this version of tiller writes version 3"],
    ),
    (
        "version-4",
        3,
        &["1@0 note: version 4 of the format is newer than this tiller's 3; the log is read-only"],
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
fn verify_fixtures_match_table() {
    for (name, entries, findings) in TABLE {
        let path = dir().join(format!("{name}.jsonl"));
        let findings = findings.iter().map(|&finding| finding.to_owned()).collect();
        assert_eq!(checked(&path), (entries, findings), "{name}");
    }
}

#[test]
fn verify_table_has_every_fixture() {
    let mut names: Vec<String> = fs::read_dir(dir())
        .unwrap()
        .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
        .collect();
    names.sort();
    assert_eq!(names, TABLE.map(|(name, ..)| name));
}

#[test]
fn verify_own_log_has_no_findings() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    let first = append_user(&mut writer, "one");
    let second = append_user(&mut writer, "two");
    writer.branch_with_summary(Some(&first), "two was said", NOW).unwrap();
    writer.label(&second, Some("left"), NOW).unwrap();
    writer.hide(&second, Visibility::Hidden, NOW).unwrap();
    writer.name(Some("numbers"), NOW).unwrap();
    let path = writer.reader().path().unwrap().to_owned();
    assert_eq!(checked(&path), (6, vec![]));
}

#[test]
fn verify_wrong_optional_key_is_ignored() {
    let sandbox = Sandbox::new();
    let header = HEADER.replace("}", r#","parentSession":7}"#);
    let one = line("a", None, "one");
    let odd =
        line("b", Some("a"), "two").replace(r#""type":"message","#, r#""type":"message","tillerQueueId":7,"#);
    assert_ne!(odd, line("b", Some("a"), "two"));
    let path = sandbox.file([&header, &one, &odd, ""].join("\n"));
    let reader = Reader::open(&path).unwrap();
    assert_eq!(
        (texts(&reader), reader.header().parent_session.clone()),
        (vec!["one".into(), "two".into()], None)
    );
    let (entries, findings) = checked(&path);
    assert_eq!(entries, 2);
    let expected = ["parentSession", "tillerQueueId"]
        .map(|key| format!("error: ignoring optional key `{key}`: 7 has the wrong type"));
    assert_eq!(findings.len(), 2, "{findings:?}");
    for (finding, expected) in findings.iter().zip(&expected) {
        assert!(finding.ends_with(expected), "{finding}");
    }
}

#[test]
fn verify_version_1_compaction_index_is_resolved() {
    let sandbox = Sandbox::new();
    let header = r#"{"type":"session","id":"s","timestamp":"2026-11-21T03:16:58.249Z","cwd":"/"}"#;
    let message = r#"{"type":"message","timestamp":"2026-11-21T03:16:58.249Z","message":{"role":"hookMessage","content":"x","timestamp":1}}"#;
    let compaction = |index: u64| {
        format!(
            r#"{{"type":"compaction","timestamp":"2026-11-21T03:16:58.249Z","summary":"x","firstKeptEntryIndex":{index},"tokensBefore":1}}"#
        )
    };
    let findings_of = |index| {
        let path = sandbox.file([header, message, &compaction(index), ""].join("\n"));
        checked(&path).1.split_off(1)
    };
    assert_eq!(findings_of(1), Vec::<String>::new());
    assert_eq!(
        findings_of(9),
        [
            "3@196 error: keeps the entries starting with entry 9, which is not on its branch; no entries are kept"
        ]
    );
}

#[test]
fn verify_many_branches_take_linear_time() {
    // Results of the same call on 20,000 branches, each of which has one: a walk that looks back along every branch
    // for every result would take minutes.
    let sandbox = Sandbox::new();
    let call = r#"{"type":"message","id":"a","parentId":null,"timestamp":"2026-11-21T03:16:58.249Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"x","arguments":{}}],"stopReason":"toolUse"}}"#;
    let result = |at: u32| {
        format!(
            r#"{{"type":"message","id":"r{at}","parentId":"a","timestamp":"2026-11-21T03:16:58.249Z","message":{{"role":"toolResult","toolCallId":"c","content":[]}}}}"#
        )
    };
    let lines: Vec<String> = std::iter::once(call.to_owned()).chain((0..20_000).map(result)).collect();
    let path = sandbox.log(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(checked(&path), (20_001, vec![]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn verify_mutated_log_agrees_with_reader(
        which in 0..TABLE.len(), mutations in prop::collection::vec(any_mutation(), 1..6)
    ) {
        let sandbox = Sandbox::new();
        let bytes = fs::read(dir().join(format!("{}.jsonl", TABLE[which].0))).unwrap();
        let path = sandbox.file(mutated(bytes, &mutations));
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
