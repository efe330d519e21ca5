//! Tests of leaves and branches across reopening.

use tiller_session::annotations::Annotations;
use tiller_session::tree::TreeRow;
use tiller_session::{EntryKind, Section, SessionError};

use super::*;

fn reopened(writer: Writer) -> Writer {
    let path = writer.reader().path().unwrap().to_owned();
    drop(writer);
    Writer::open(&path).unwrap()
}

#[test]
fn reopen_keeps_tree_and_leaf() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    let first = append_user(&mut writer, "one");
    append_user(&mut writer, "two");
    writer.branch(Some(&first), NOW).unwrap();
    let last = append_user(&mut writer, "three");
    let before = (writer.reader().tree().nodes().to_vec(), entries_of(&writer.reader()));
    let writer = reopened(writer);
    assert_eq!((writer.reader().tree().nodes().to_vec(), entries_of(&writer.reader())), before);
    assert_eq!(writer.reader().leaf(), Some(last));
    assert_eq!(writer.reader().findings(), []);
}

#[test]
fn branch_continues_from_chosen_entry() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    let first = append_user(&mut writer, "one");
    append_user(&mut writer, "two");
    let moved = writer.branch(Some(&first), NOW).unwrap().remove(0).id;
    let third = append_user(&mut writer, "three");
    let reader = writer.reader();
    assert_eq!(reader.path_to(&third).unwrap(), [first, moved, third]);
    assert_eq!(texts(&reader), ["one", "three"]);
    assert_eq!(reader.tree().branch_count(), 2);
}

#[test]
fn sections_add_up_to_path() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    let ids: Vec<EntryId> =
        ["one", "two", "three", "four"].iter().map(|text| append_user(&mut writer, text)).collect();
    writer.branch(Some(&ids[1]), NOW).unwrap();
    let leaf = (0..4).map(|_| append_user(&mut writer, "more")).last().unwrap();
    let reader = writer.reader();
    let path = reader.path_to(&leaf).unwrap();
    assert_eq!(path.len(), 7);
    for size in 1..9 {
        let sections = reader.sections(&leaf, size).unwrap();
        let counts: Vec<usize> = sections.iter().map(|section| section.count).collect();
        assert_eq!(counts, path.chunks(size).map(<[EntryId]>::len).collect::<Vec<_>>());
        let section_ids: Vec<EntryId> =
            sections.iter().flat_map(|section| reader.ids(section).unwrap()).collect();
        assert_eq!(section_ids, path, "in sections of {size}");
    }
    let missing_section = Section { last: "gone".into(), count: 3 };
    assert!(
        matches!(reader.ids(&missing_section), Err(SessionError::NoEntry(id)) if id == missing_section.last)
    );
    assert!(reader.sections(&missing_section.last, 3).is_err());
    let next_section = Section { last: ids[1].clone(), count: 300 };
    assert_eq!(reader.ids(&next_section).unwrap(), ids[..2]);
}

#[test]
fn branch_without_message_survives_reopening() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    let first = append_user(&mut writer, "one");
    append_user(&mut writer, "two");
    writer.branch(Some(&first), NOW).unwrap();
    let mut writer = reopened(writer);
    assert_eq!(texts(&writer.reader()), ["one"]);
    append_user(&mut writer, "three");
    assert_eq!(texts(&writer.reader()), ["one", "three"]);
}

#[test]
fn branch_before_first_entry_works() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    append_user(&mut writer, "one");
    writer.branch(None, NOW).unwrap();
    assert_eq!(texts(&writer.reader()), Vec::<String>::new());
    let mut writer = reopened(writer);
    assert_eq!(texts(&writer.reader()), Vec::<String>::new());
    append_user(&mut writer, "two");
    assert_eq!(texts(&writer.reader()), ["two"]);
    assert_eq!(writer.reader().findings(), []);
}

#[test]
fn branch_unknown_entry_is_error() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    append_user(&mut writer, "one");
    let path = writer.reader().path().unwrap().to_owned();
    let before = fs::read(&path).unwrap();
    let error = writer.branch(Some(&"nowhere".into()), NOW);
    assert!(matches!(error, Err(SessionError::NoEntry(id)) if id.as_str() == "nowhere"));
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn reader_sees_later_appends() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    let reader = writer.reader();
    append_user(&mut writer, "one");
    assert_eq!(texts(&reader), ["one"]);
}

#[test]
fn find_matches_prefix_and_suffix_of_id() {
    let sandbox = Sandbox::new();
    let path = sandbox.log(&[&line("aaaa1111", None, "one"), &line("aaaa2222", Some("aaaa1111"), "two")]);
    let reader = Reader::open(&path).unwrap();
    assert_eq!(reader.find("1111").unwrap().as_str(), "aaaa1111");
    assert_eq!(reader.find("AAAA2").unwrap().as_str(), "aaaa2222");
    let error = |fragment| {
        let error = reader.find(fragment).unwrap_err();
        assert_eq!(error.hint(), Some("`tiller sessions tree` shows the entries of a session"));
        error.to_string()
    };
    assert_eq!(error("aaaa"), "`aaaa` matches 2 entries; give more of the id");
    assert_eq!(error("bbbb"), "no entry `bbbb` in this session");
    assert_eq!(error("aaa"), "`aaa` is too short; give at least 4 characters of the id");
}

/// The texts of the tree view, in order, with labels in brackets.
fn lines_of(reader: &Reader) -> Vec<String> {
    let tree = reader.tree();
    let marks = Annotations::read(reader, &tree);
    let hiding_ancestors = marks.hiding_ancestors(&tree, reader.leaf().as_ref());
    let rows = tree.rows(reader.leaf().as_ref(), |at, node| {
        node.kind == EntryKind::Message && hiding_ancestors[at].is_none()
    });
    let text = |row: &TreeRow| {
        let entry = reader.entry(&tree.nodes()[row.node].id).unwrap();
        let label = marks.label(row.node).map(|label| format!(" [{label}]")).unwrap_or_default();
        text_of(entry.body.as_message().unwrap()) + &label
    };
    rows.iter().map(text).collect()
}

#[test]
fn label_last_one_wins_and_can_be_removed() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    let first = append_user(&mut writer, "one");
    let second = append_user(&mut writer, "two");
    writer.label(&first, Some(" start "), NOW).unwrap();
    writer.label(&second, Some("the\n\u{1b}middle"), NOW).unwrap();
    writer.label(&first, Some("begin"), NOW).unwrap();
    assert_eq!(lines_of(&writer.reader()), ["one [begin]", "two [the middle]"]);
    writer.label(&second, None, NOW).unwrap();
    writer.label(&first, Some("  "), NOW).unwrap();
    assert_eq!(lines_of(&writer.reader()), ["one", "two"]);
    let error = writer.label(&"nowhere".into(), Some("x"), NOW);
    assert!(matches!(error, Err(SessionError::NoEntry(id)) if id.as_str() == "nowhere"));
    assert_eq!(texts(&writer.reader()), ["one", "two"]);
}

#[test]
fn hide_branch_can_be_undone() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    let first = append_user(&mut writer, "one");
    let abandoned = append_user(&mut writer, "left");
    let leaf = append_user(&mut writer, "further left");
    writer.branch(Some(&first), NOW).unwrap();
    append_user(&mut writer, "two");
    writer.hide(&abandoned, Visibility::Hidden, NOW).unwrap();
    let mut writer = reopened(writer);
    assert_eq!(lines_of(&writer.reader()), ["one", "two"]);
    assert!(writer.reader().entry(&leaf).is_ok(), "nothing is lost");
    writer.hide(&abandoned, Visibility::Shown, NOW).unwrap();
    assert_eq!(lines_of(&writer.reader()), ["one", "left", "further left", "two"]);
    assert_eq!(texts(&writer.reader()), ["one", "two"]);
}

#[test]
fn hide_current_branch_is_error() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    let first = append_user(&mut writer, "one");
    append_user(&mut writer, "two");
    let before = fs::read(writer.reader().path().unwrap()).unwrap();
    let error = writer.hide(&first, Visibility::Hidden, NOW).unwrap_err();
    assert!(matches!(&error, SessionError::InUse(id) if *id == first), "{error}");
    assert!(error.hint().unwrap().contains("switch to another branch first"));
    assert_eq!(fs::read(writer.reader().path().unwrap()).unwrap(), before);
}

#[test]
fn hide_continued_branch_is_shown_along_path() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    let first = append_user(&mut writer, "one");
    let abandoned = append_user(&mut writer, "left");
    append_user(&mut writer, "further left");
    writer.branch(Some(&first), NOW).unwrap();
    writer.hide(&abandoned, Visibility::Hidden, NOW).unwrap();
    assert_eq!(lines_of(&writer.reader()), ["one"]);
    writer.branch(Some(&abandoned), NOW).unwrap();
    append_user(&mut writer, "on");
    assert_eq!(lines_of(&writer.reader()), ["one", "left", "on"]);
}

#[test]
fn branch_with_summary_adds_summary_message() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    let first = append_user(&mut writer, "one");
    let second = append_user(&mut writer, "two");
    writer.branch_with_summary(Some(&first), "two was tried", NOW).unwrap();
    let writer = reopened(writer);
    let reader = writer.reader();
    let summary = reader.entry(&reader.leaf().unwrap()).unwrap();
    let body = EntryBody::BranchSummary {
        from_id: second.to_string(),
        summary: "two was tried".into(),
        details: None,
        usage: None,
        made_by: None,
    };
    assert_eq!((summary.parent, summary.body), (Some(first), body));
    let texts = texts(&reader);
    assert_eq!((texts.len(), texts[0].as_str()), (2, "one"));
    assert!(texts[1].contains("two was tried"), "{texts:?}");
}

#[test]
fn branch_with_summary_before_first_entry_works() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.create();
    append_user(&mut writer, "one");
    writer.branch_with_summary(None, "one was tried", NOW).unwrap();
    append_user(&mut writer, "two");
    let reader = writer.reader();
    assert_eq!(texts(&reader).len(), 2);
    assert_eq!(reader.tree().nodes().iter().filter(|node| node.parent.is_none()).count(), 2);
    assert_eq!(reader.findings(), []);
}

#[test]
fn label_duplicate_id_means_nearest_earlier() {
    let sandbox = Sandbox::new();
    let label = |id: &str, parent: &str, text: &str| {
        format!(r#"{{"type":"label","id":"{id}","parentId":"{parent}","targetId":"a","label":"{text}"}}"#)
    };
    let lines = [
        line("a", None, "old"),
        label("l1", "a", "first"),
        line("a", Some("l1"), "new"),
        label("l2", "a", "second"),
    ];
    let path = sandbox.log(&lines.each_ref().map(String::as_str));
    let reader = Reader::open(&path).unwrap();
    let (tree, marks) = (reader.tree(), Annotations::read(&reader, &reader.tree()));
    assert_eq!(tree.nodes().len(), 4);
    assert_eq!((marks.label(0), marks.label(2)), (Some("first"), Some("second")));
}
