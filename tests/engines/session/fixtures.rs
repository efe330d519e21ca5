//! Every log in `sessions-fixtures`, read: entries, leaf, context, model, thinking and findings.

use super::*;

/// What a log amounts to.
#[derive(Debug, PartialEq)]
struct Read {
    name: String,
    entries: usize,
    leaf: Option<String>,
    context_messages: usize,
    model: Option<String>,
    thinking: &'static str,
    /// Line and byte of each finding, those of bodies after those of heads.
    findings: Vec<(u64, u64)>,
}

/// A row of the table: entries, leaf, messages of the context, findings. The model and level are those of `linear`.
fn row(name: &str, entries: usize, leaf: &str, context_messages: usize, findings: &[(u64, u64)]) -> Read {
    Read {
        name: name.into(),
        entries,
        leaf: (!leaf.is_empty()).then(|| leaf.into()),
        context_messages,
        model: Some("anthropic/claude-opus-5-5".into()),
        thinking: "medium",
        findings: findings.to_vec(),
    }
}

/// The same for a log that says nothing of a model.
fn plain(name: &str, entries: usize, leaf: &str, context_messages: usize, findings: &[(u64, u64)]) -> Read {
    Read { model: None, thinking: "off", ..row(name, entries, leaf, context_messages, findings) }
}

/// Where they are.
pub(super) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions-fixtures")
}

fn fixture(name: &str) -> Reader {
    Reader::open(&folder().join(format!("{name}.jsonl"))).unwrap()
}

fn read(name: &str) -> Result<Read, String> {
    let path = folder().join(format!("{name}.jsonl"));
    let reader = Reader::open(&path)
        .map_err(|error| error.to_string().replace(&path.display().to_string(), "PATH"))?;
    let (_, damaged) = reader.entries().unwrap();
    let projection = projection(&reader);
    Ok(Read {
        name: name.into(),
        entries: reader.entry_count(),
        leaf: reader.leaf().map(|leaf| leaf.to_string()),
        context_messages: projection.message_count(),
        model: projection.model.as_ref().map(ToString::to_string),
        thinking: projection.thinking.name(),
        findings: places(&[reader.findings(), damaged].concat()),
    })
}

/// The table.
fn expected() -> Vec<Read> {
    vec![
        row("aborted-answer", 7, "b3", 5, &[]),
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
        plain("half-surrogate-pair", 3, "m3", 2, &[(3, 301)]),
        plain("header-only", 0, "", 0, &[]),
        Read { thinking: "off", ..row("hidden-branch", 8, "m8", 3, &[]) },
        row("interrupted-call", 5, "a5", 3, &[]),
        row("left-leaf", 7, "b1", 0, &[]),
        row("linear", 6, "a6", 4, &[]),
        plain("lost-targets", 5, "m5", 2, &[]),
        row("named-and-labelled", 9, "b3", 4, &[]),
        plain("no-utf-8", 4, "m4", 3, &[(5, 647), (3, 290)]),
        plain("orphan", 2, "o2", 1, &[(3, 287)]),
        row("queue-left-over", 9, "q3", 5, &[]),
        plain("results-astray", 8, "m8", 2, &[]),
        plain("system-message", 2, "s2", 1, &[]),
        plain("torn-and-closed", 2, "m3", 2, &[(3, 297)]),
        row("torn-last-line", 6, "a6", 4, &[(8, 1766)]),
        plain("two-roots", 3, "r3", 2, &[]),
        row("unknown-types", 7, "b3", 3, &[]),
        plain("unreadable-times", 3, "m3", 3, &[]),
        plain("usage-not-numbers", 3, "m3", 2, &[(3, 299)]),
        row("version-4", 3, "a3", 1, &[]),
    ]
}

/// Logs that can't be opened, and why.
const REFUSED: [(&str, &str); 5] = [
    ("damaged-header", "session file PATH, line 1: not the header of a session"),
    ("empty", "session file PATH, line 1: the file is empty"),
    ("no-header", "session file PATH, line 1: not the header of a session"),
    (
        "version-1",
        "session file PATH: version 1 of the log can't be read by this tiller, which writes version 3",
    ),
    (
        "version-2",
        "session file PATH: version 2 of the log can't be read by this tiller, which writes version 3",
    ),
];

#[test]
fn every_log_reads_as_the_table_says() {
    for expected in expected() {
        assert_eq!(read(&expected.name).as_ref(), Ok(&expected));
    }
}

#[test]
fn logs_that_cannot_be_opened_say_why() {
    for (name, reason) in REFUSED {
        let refused = read(name).unwrap_err();
        assert!(refused.starts_with(reason), "{refused}");
    }
}

#[test]
fn every_log_in_the_folder_is_in_the_table() {
    let mut known: Vec<String> = expected().into_iter().map(|row| row.name).collect();
    known.extend(REFUSED.map(|(name, _)| name.to_owned()));
    known.sort();
    let files = fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let mut there: Vec<String> =
        files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    there.sort();
    assert_eq!(there, known);
}

#[test]
fn every_log_that_can_be_opened_can_be_gone_on_with_without_losing_a_byte() {
    let place = Place::new();
    for row in expected().iter().filter(|row| row.name != "version-4") {
        let before = fs::read(folder().join(format!("{}.jsonl", row.name))).unwrap();
        let path = place.file(&before);
        let mut writer = Writer::open(&path).unwrap();
        say(&mut writer, "on");
        drop(writer);
        assert!(fs::read(&path).unwrap().starts_with(&before), "{}", row.name);
        let reader = Reader::open(&path).unwrap();
        assert_eq!(projection(&reader).message_count(), row.context_messages + 1, "{}", row.name);
        assert_eq!(texts(&reader).pop().as_deref(), Some("on"), "{}", row.name);
    }
}

#[test]
fn a_call_cut_off_is_answered_in_what_is_sent() {
    let projection = projection(&fixture("interrupted-call"));
    let sent = context::sendable(projection.messages.iter().map(|projected| &projected.message));
    let results: Vec<(&str, bool)> = sent
        .iter()
        .filter_map(|message| match &**message {
            Message::ToolResult(result) => Some((result.tool_call_id.as_str(), result.is_error)),
            _ => None,
        })
        .collect();
    assert_eq!(results, [("c1", true), ("c2", false)]);
    let open: Vec<_> = context::unanswered(&projection.messages).into_iter().map(|call| call.id).collect();
    assert_eq!(open.iter().map(|id| id.as_str()).collect::<Vec<_>>(), ["c1"]);
}

#[test]
fn an_edit_and_a_compaction_read_as_the_format_says() {
    let edited = projection(&fixture("context-edited"));
    let results: Vec<String> = edited
        .messages
        .iter()
        .filter_map(|projected| match &*projected.message {
            Message::ToolResult(result) => Some(tiller::message::joined_text(&result.content)),
            _ => None,
        })
        .collect();
    assert_eq!(results, ["(cut)"]);
    let compacted = projection(&fixture("compacted"));
    let ids: Vec<&str> = compacted.messages.iter().map(|projected| projected.entry.as_str()).collect();
    assert_eq!(ids, ["b3", "b1", "b2", "b4"]);
    assert!(texts(&fixture("compacted"))[0].contains("Files were listed."));
}
