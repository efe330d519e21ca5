//! Tests of the index: ids, order and memory per entry.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;

/// Indexes entries with these ids, each the child of the one before. The entries for which `is_moved` is true
/// have another offset, as in a migrated log.
fn index(ids: &[String], is_moved: impl Fn(usize) -> bool) -> Index {
    let mut index = Index::default();
    index.count_header();
    let (mut offset, mut parent) = (100, "null".to_owned());
    for (at, id) in ids.iter().enumerate() {
        let line = format!(
            r#"{{"type":"label","id":"{id}","parentId":{parent},"timestamp":"2026-11-21T03:16:58.249Z"}}"#
        );
        let stored = if is_moved(at) { offset + 1 } else { offset };
        let number = at as u64 + 2;
        index.add_line(&LogLine { bytes: line.as_bytes(), number, offset, stored, closed: true }, |_| true);
        offset += line.len() as u64 + 1;
        parent = format!("\"{id}\"");
    }
    index
}

fn ulid(number: u128) -> String {
    Ulid((1_795_231_018_249 << 80) + number).to_string()
}

#[test]
fn index_ulid_entries_take_forty_bytes_each() {
    let ids: Vec<String> = (0..1_000).map(ulid).collect();
    let index = index(&ids, |_| false);
    assert_eq!(index.entries.counts(), (1_000, 0));
    assert!(index.id_map.is_in_order());
    assert_eq!(
        ids.iter().map(|id| index.position(id)).collect::<Vec<_>>(),
        (0..1_000).map(Some).collect::<Vec<_>>()
    );
    assert_eq!(index.position(&ulid(1_000)), None);
    assert_eq!(index.position(&ids[3].to_lowercase()), None, "an id is what it is, letter by letter");
    assert_eq!(index.greatest_id(), Some(EntryId::new(ulid(999))));
    assert_eq!(index.leaf(), Some(&EntryId::new(ulid(999))));
    assert_eq!(index.path(999), (0..1_000).collect::<Vec<_>>());
}

#[test]
fn greatest_id_ignores_ids_without_successor() {
    let end_of_time = "7".to_owned() + &"Z".repeat(25);
    let ids = [ulid(5), ulid(3), ulid(4).to_lowercase(), end_of_time, "zzzz".into()];
    let unpacked: [fn(usize) -> bool; 3] = [|_| false, |_| true, |position| position == 0];
    for is_unpacked in unpacked {
        assert_eq!(index(&ids, is_unpacked).greatest_id(), Some(EntryId::new(ulid(5))));
        assert_eq!(index(&["7303e144".into()], is_unpacked).greatest_id(), None);
    }
}

#[test]
fn last_job_is_the_highest_number_in_results() {
    let mut index = Index::default();
    let mut add = |number: u64, role: &str, text: &str, details: &str| {
        let line = format!(
            r#"{{"type":"message","id":"{}","parentId":null,"timestamp":"2026-11-21T03:16:58.249Z","message":{{"role":"{role}","content":{},"details":{details},"timestamp":1}}}}"#,
            ulid(number.into()),
            serde_json::json!(text),
        );
        let line = LogLine { bytes: line.as_bytes(), number, offset: number, stored: number, closed: true };
        index.add_line(&line, |_| true);
        index.last_job()
    };
    assert_eq!(add(1, "toolResult", "one", r#"{"path":"x"}"#), 0);
    assert_eq!(add(2, "toolResult", "one", r#"{"jobId":"job_12"}"#), 12);
    assert_eq!(add(3, "toolResult", "one", r#"{"jobId":"job_3","exitCode":1}"#), 12);
    assert_eq!(add(4, "toolResult", r#"{"jobId":"job_99"}"#, "{}"), 12);
    assert_eq!(add(5, "user", "one", r#"{"jobId":"job_99"}"#), 12);
    assert_eq!(add(6, "toolResult", "one", r#"{"jobId":"job_99999999999999999999"}"#), 12);
}

/// Generates ids of every form, from a small set so that duplicates occur.
fn any_id() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => (0_u128..40).prop_map(ulid),
        1 => (0_u128..4).prop_map(|number| ulid(number).to_lowercase()),
        1 => (0_u32..9).prop_map(|number| format!("{number:08x}")),
        1 => (0_u32..9).prop_map(|number| format!("0193b3a4-7f6e-7b1c-9a55-3c1f0e2d{number:04x}")),
        1 => "[a-c]{0,2}",
    ]
}

proptest! {
    #[test]
    fn position_duplicate_id_finds_last_entry(
        ascending in 0_u128..9,
        others in prop::collection::vec(any_id(), 0..60),
        rarely in 2_usize..40,
    ) {
        let ids: Vec<String> = (0..ascending).map(ulid).chain(others).collect();
        let index = index(&ids, |at| at % rarely == 1);
        let mut last = HashMap::new();
        let mut duplicates = Vec::new();
        for (at, id) in ids.iter().enumerate() {
            if last.insert(id.as_str(), at).is_some() {
                duplicates.push(at as u64 + 2);
            }
        }
        for (id, at) in &last {
            prop_assert_eq!(index.position(id), Some(*at), "{}", id);
        }
        prop_assert_eq!(index.position("not there"), None);
        prop_assert_eq!(index.entries().ids().map(|id| id.to_string()).collect::<Vec<_>>(), ids);
        prop_assert_eq!(index.findings().iter().map(|finding| finding.line).collect::<Vec<_>>(), duplicates);
    }
}
