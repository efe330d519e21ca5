//! Tests of reading every log in `sessions-fixtures`: entries, leaf, context, model, thinking level and findings.

use tiller_core::message::Usage;
use tiller_core::tool_catalog::ToolCatalog;

use super::*;

/// The expected properties of a log.
#[derive(Debug, PartialEq)]
struct LogProperties {
    name: String,
    entries: usize,
    leaf: Option<String>,
    context_messages: usize,
    model: Option<String>,
    thinking: &'static str,
    /// Line and byte of each finding; those of heads come before those of bodies.
    findings: Vec<(u64, u64)>,
}

/// A row of the table: entries, leaf, messages of the context, findings. The model and level are those of `linear`.
fn row(
    name: &str,
    entries: usize,
    leaf: &str,
    context_messages: usize,
    findings: &[(u64, u64)],
) -> LogProperties {
    LogProperties {
        name: name.into(),
        entries,
        leaf: (!leaf.is_empty()).then(|| leaf.into()),
        context_messages,
        model: Some("anthropic/claude-opus-5-5".into()),
        thinking: "medium",
        findings: findings.to_vec(),
    }
}

/// The same for a log without a model.
fn plain(
    name: &str,
    entries: usize,
    leaf: &str,
    context_messages: usize,
    findings: &[(u64, u64)],
) -> LogProperties {
    LogProperties { model: None, thinking: "off", ..row(name, entries, leaf, context_messages, findings) }
}

/// The same for a log of another program.
fn foreign(name: &str, entries: usize, leaf: &str, context_messages: usize) -> LogProperties {
    let model = Some("local/small-2".into());
    LogProperties { model, thinking: "low", ..row(name, entries, leaf, context_messages, &[]) }
}

/// The directory of the fixtures.
pub(super) fn dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions-fixtures")
}

pub(super) fn fixture(name: &str) -> Reader {
    Reader::open(&dir().join(format!("{name}.jsonl"))).unwrap()
}

fn read(name: &str) -> Result<LogProperties, String> {
    let path = dir().join(format!("{name}.jsonl"));
    let reader = Reader::open(&path)
        .map_err(|error| error.to_string().replace(&path.display().to_string(), "PATH"))?;
    let (_, damaged) = reader.entries().unwrap();
    let projection = projection(&reader);
    Ok(LogProperties {
        name: name.into(),
        entries: reader.entry_count(),
        leaf: reader.leaf().map(|leaf| leaf.to_string()),
        context_messages: projection.message_count(),
        model: projection.model.as_ref().map(ToString::to_string),
        thinking: projection.thinking.name(),
        findings: positions(&[reader.findings(), damaged].concat()),
    })
}

fn expected() -> Vec<LogProperties> {
    logs().into_iter().chain(foreign_logs()).collect()
}

/// Logs in the form of other programs.
fn foreign_logs() -> Vec<LogProperties> {
    vec![
        foreign("foreign-aborted-tools", 10, "5eed0031", 7),
        LogProperties {
            model: Some("local/large-2".into()),
            thinking: "high",
            ..foreign("foreign-bash", 16, "5eed0062", 6)
        },
        foreign("foreign-killed-tools", 7, "5eed0013", 4),
        foreign("foreign-retried", 7, "5eed0013", 2),
        foreign("foreign-steered", 14, "5eed0035", 11),
    ]
}

fn logs() -> Vec<LogProperties> {
    vec![
        row("aborted-answer", 7, "b3", 5, &[]),
        plain(
            "bodies-that-are-no-objects",
            6,
            "n6",
            2,
            &[(7, 692), (8, 700), (9, 702), (10, 709), (3, 310), (4, 416), (5, 515), (6, 614)],
        ),
        plain("half-pair-in-header", 1, "w1", 1, &[]),
        plain("kept-id-twice", 7, "t7", 4, &[(7, 985)]),
        plain("torn-and-written-on", 4, "g5", 3, &[(5, 783), (4, 477)]),
        LogProperties { thinking: "off", ..row("usage-elsewhere", 4, "e4", 4, &[]) },
        plain("custom-role", 2, "c2", 2, &[]),
        LogProperties { thinking: "off", ..row("keys-in-another-order", 4, "k\\4", 3, &[]) },
        plain("lone-surrogates", 3, "l\u{fffd}", 3, &[]),
        LogProperties { thinking: "high", ..row("version-1-compacted", 9, "ddcaa2c3baafdca4", 4, &[]) },
        LogProperties { thinking: "off", ..row("version-2-hook-message", 3, "h3", 3, &[]) },
        plain("version-1", 1, "edf518e1824e1d35", 1, &[]),
        row("version-2", 3, "a3", 1, &[]),
        plain("bash-commands", 3, "x3", 3, &[]),
        row("blank-lines", 3, "a3", 1, &[]),
        row("bom-header", 3, "a3", 1, &[]),
        row("branch-summary", 9, "b3", 3, &[]),
        row("branched", 10, "b4", 4, &[]),
        plain("command-cut-off", 4, "m4", 2, &[]),
        row("compacted", 10, "b4", 4, &[]),
        row("compacted-keeping-nothing", 8, "b2", 2, &[]),
        plain("compaction-astray", 5, "m5", 2, &[]),
        row("context-edited", 9, "b3", 4, &[]),
        row("crlf", 6, "a6", 4, &[]),
        plain("cycle", 3, "y3", 1, &[(2, 109), (4, 463)]),
        row("damaged-body", 7, "b1", 4, &[(7, 1325)]),
        row("damaged-middle-line", 5, "a6", 3, &[(5, 575), (6, 636)]),
        plain("duplicate-ids", 4, "d3", 3, &[(4, 471)]),
        plain("empty-id", 3, "m3", 3, &[]),
        plain("forked", 6, "m6", 1, &[]),
        plain("half-surrogate-pair", 3, "m3", 3, &[]),
        plain("header-only", 0, "", 0, &[]),
        LogProperties { thinking: "off", ..row("hidden-branch", 8, "m8", 3, &[]) },
        row("interrupted-call", 5, "a5", 3, &[]),
        row("left-leaf", 7, "b1", 0, &[]),
        row("linear", 6, "a6", 4, &[]),
        plain("lost-targets", 5, "m5", 2, &[]),
        row("named-and-labelled", 9, "b3", 4, &[]),
        plain("no-utf-8", 4, "m4", 4, &[(5, 647)]),
        plain("orphan", 2, "o2", 1, &[(3, 287)]),
        row("queue-left-over", 9, "q3", 5, &[]),
        plain("results-astray", 8, "m8", 2, &[]),
        plain("system-message", 2, "s2", 1, &[]),
        plain("torn-and-closed", 2, "m3", 2, &[(3, 297)]),
        row("torn-last-line", 6, "a6", 4, &[(8, 1766)]),
        plain("two-roots", 3, "r3", 2, &[]),
        row("unknown-types", 7, "b3", 3, &[]),
        plain("unreadable-times", 3, "m3", 3, &[]),
        LogProperties { thinking: "off", ..row("usage-not-numbers", 3, "m3", 3, &[]) },
        row("version-4", 3, "a3", 1, &[]),
    ]
}

/// Logs that can't be opened, with the error.
const INVALID: [(&str, &str); 3] = [
    ("damaged-header", "session file PATH, line 1: not a session header"),
    ("empty", "session file PATH, line 1: the file is empty"),
    ("no-header", "session file PATH, line 1: not a session header"),
];

#[test]
fn reader_fixtures_match_table() {
    for expected in expected() {
        assert_eq!(read(&expected.name).as_ref(), Ok(&expected));
    }
}

#[test]
fn reader_bad_fixtures_name_the_reason() {
    for (name, reason) in INVALID {
        let error = read(name).unwrap_err();
        assert!(error.starts_with(reason), "{error}");
    }
}

#[test]
fn reader_table_has_every_fixture() {
    let mut names: Vec<String> = expected().into_iter().map(|row| row.name).collect();
    names.extend(INVALID.map(|(name, _)| name.to_owned()));
    names.sort();
    let files = fs::read_dir(dir()).unwrap().map(|entry| entry.unwrap().path());
    let mut files: Vec<String> =
        files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    files.sort();
    assert_eq!(files, names);
}

#[test]
fn writer_fixtures_are_extended_without_loss() {
    let sandbox = Sandbox::new();
    for row in expected().iter().filter(|row| row.name != "version-4") {
        let before = fs::read(dir().join(format!("{}.jsonl", row.name))).unwrap();
        let path = sandbox.file(&before);
        let mut writer = Writer::open(&path).unwrap();
        append_user(&mut writer, "on");
        let continued = writer.reader().path().unwrap().to_owned();
        drop(writer);
        let is_older = row.name.starts_with("version-");
        assert_eq!(continued == path, !is_older, "{}", row.name);
        let after = fs::read(&path).unwrap();
        assert!(if is_older { after == before } else { after.starts_with(&before) }, "{}", row.name);
        let reader = Reader::open(&continued).unwrap();
        assert_eq!(projection(&reader).message_count(), row.context_messages + 1, "{}", row.name);
        assert_eq!(texts(&reader).pop().as_deref(), Some("on"), "{}", row.name);
    }
}

#[test]
fn sendable_interrupted_fixture_gets_result() {
    let projection = projection(&fixture("interrupted-call"));
    let request = context::request_messages(projection.messages.iter().map(|projected| &projected.message));
    let results: Vec<(&str, bool)> = request
        .iter()
        .filter_map(|message| match &**message {
            Message::ToolResult(result) => Some((result.tool_call_id.as_str(), result.is_error)),
            _ => None,
        })
        .collect();
    assert_eq!(results, [("c1", true), ("c2", false)]);
    let open: Vec<_> = context::unanswered_calls(&projection.messages, &ToolCatalog::default())
        .into_iter()
        .map(|(call, _)| call.id)
        .collect();
    assert_eq!(open.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["c1"]);
}

#[test]
fn project_fixture_edits_and_compaction() {
    let edited = projection(&fixture("context-edited"));
    let results: Vec<String> = edited
        .messages
        .iter()
        .filter_map(|projected| match &*projected.message {
            Message::ToolResult(result) => Some(tiller_core::message::joined_text(&result.content)),
            _ => None,
        })
        .collect();
    assert_eq!(results, ["(cut)"]);
    let compacted = projection(&fixture("compacted"));
    let ids: Vec<&str> = compacted.messages.iter().map(|projected| projected.entry.as_str()).collect();
    assert_eq!(ids, ["b3", "b1", "b2", "b4"]);
    assert!(texts(&fixture("compacted"))[0].contains("Files were listed."));
}

#[test]
fn writer_version_1_continues_in_version_3_file() {
    let sandbox = Sandbox::new();
    let path = sandbox.file(fs::read(dir().join("version-1-compacted.jsonl")).unwrap());
    let files = || fs::read_dir(path.parent().unwrap()).unwrap().count();
    let (older, before) = (Reader::open(&path).unwrap(), files());
    assert_eq!((older.header().version, older.id().as_str()), (1, "version-1-compacted"));
    let expected = ["Files were listed.", "And now?", "", "Go on."];
    let read = texts(&older);
    assert_eq!(read.len(), expected.len());
    assert!(read.iter().zip(expected).all(|(text, expected)| text.contains(expected)), "{read:?}");
    assert_eq!(older.usage().total(), tiller_core::unit::Tokens(330));

    drop(Writer::open(&path).unwrap());
    assert_eq!(files(), before, "opening made a file");
    let mut writer = Writer::open(&path).unwrap();
    let next = append_user(&mut writer, "on");
    let new = Reader::open(writer.reader().path().unwrap()).unwrap();
    assert_eq!(new.header().version, 3);
    assert_eq!(new.header().parent_session.as_deref(), path.to_str());
    assert_eq!(new.path_to(&next).unwrap().len(), 10);
    assert_eq!(entries_of(&new), entries_of(&writer.reader()));
    let old_ids = older.path_to(&older.leaf().unwrap()).unwrap();
    assert_eq!(new.path_to(&next).unwrap()[..9], old_ids);
    let text = fs::read_to_string(new.path().unwrap()).unwrap();
    assert!(text.contains(r#""firstKeptEntryId":""#) && !text.contains("firstKeptEntryIndex"), "{text}");
}

#[test]
fn writer_torn_version_1_continues_after_last_line() {
    let sandbox = Sandbox::new();
    let log = fs::read_to_string(dir().join("version-1-compacted.jsonl")).unwrap();
    let path = sandbox.file(&log[..log.len() - 9]);
    assert_eq!(positions(&Reader::open(&path).unwrap().findings()).len(), 1);
    let mut writer = Writer::open(&path).unwrap();
    append_user(&mut writer, "on");
    let new = Reader::open(writer.reader().path().unwrap()).unwrap();
    assert_eq!(entries_of(&new), entries_of(&writer.reader()));
    assert_eq!(texts(&new).last().map(String::as_str), Some("on"));
    assert_eq!(new.entry_count(), 9);
}

#[test]
fn reader_partial_reads_agree_with_full_read() {
    for row in expected() {
        let reader = fixture(&row.name);
        for node in reader.tree().nodes() {
            let full = context::project(&reader.branch(&node.id).unwrap().0);
            assert_eq!(reader.projection(&node.id).unwrap().0, full, "{} to {}", row.name, node.id);
        }
        let spent = reader.entries().unwrap().0.iter().fold(Usage::default(), |mut sum, entry| {
            match &entry.body {
                EntryBody::Usage { usage, .. } | EntryBody::BranchSummary { usage: Some(usage), .. } => {
                    sum.add(usage)
                }
                EntryBody::Compaction(compaction) => sum.add(&compaction.usage.clone().unwrap_or_default()),
                body => {
                    if let Some(Message::Assistant(answer)) = body.as_message().map(|message| &**message) {
                        sum.add(&answer.usage);
                    }
                }
            }
            sum
        });
        assert_eq!(reader.usage(), spent, "{}", row.name);
    }
}

#[test]
fn reader_usage_is_that_of_the_answer() {
    assert_eq!(fixture("usage-elsewhere").usage().total(), tiller_core::unit::Tokens(45));
}

#[test]
fn writer_older_version_operations_make_new_file() {
    let sandbox = Sandbox::new();
    let bytes = fs::read(dir().join("version-1-compacted.jsonl")).unwrap();
    let operations: [fn(&mut Writer, &EntryId); 3] = [
        |writer, _| drop(writer.name(Some("new"), NOW).unwrap()),
        |writer, first| drop(writer.label(first, Some("here"), NOW).unwrap()),
        |writer, first| drop(writer.branch(Some(first), NOW).unwrap()),
    ];
    for operation in operations {
        let path = sandbox.file(&bytes);
        let mut writer = Writer::open(&path).unwrap();
        let first = writer.reader().tree().nodes()[0].id.clone();
        operation(&mut writer, &first);
        let new = Reader::open(writer.reader().path().unwrap()).unwrap();
        assert_eq!(new.entry_count(), 10);
        assert_eq!(fs::read(&path).unwrap(), bytes);
    }
}

#[test]
fn reader_garbage_file_has_few_findings() {
    let sandbox = Sandbox::new();
    let path = sandbox.file(format!("{HEADER}\n{}", "{nonsense\n".repeat(100_000)));
    let findings = Reader::open(&path).unwrap().findings();
    assert_eq!(findings.len(), 100);
    assert!(findings.last().unwrap().what.ends_with("; so are the 99900 lines after it"), "{findings:?}");
    let error = Reader::open(&sandbox.file("{\n".repeat(100_000))).unwrap_err();
    assert!(matches!(error, tiller_session::SessionError::Header { .. }), "{error}");
}
