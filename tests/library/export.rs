//! Exported sessions: logs, Markdown and pages.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as they do")]

mod tags;

use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tempfile::TempDir;
use tiller::html::{self, LiveOutlines};
use tiller::session::export::{self, transcript};
use tiller::session::{Reader, context};
use tiller::skill_message;
use tiller::unit::UnixMs;

const NOW: UnixMs = UnixMs(1_795_269_720_000);

const HEADER: &str = r#"{"type":"session","version":3,"id":"01KAHSESSION","timestamp":"2026-11-21T14:02:00.000Z","cwd":"/home/ada/conf"}"#;

/// A log of these lines after a header, in a temporary directory.
fn log(lines: &[impl ToString]) -> (TempDir, PathBuf) {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("log.jsonl");
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    fs::write(&path, format!("{HEADER}\n{}\n", lines.join("\n"))).unwrap();
    (dir, path)
}

fn message(id: &str, parent: Option<&str>, message: Value) -> Value {
    json!({"type": "message", "id": id, "parentId": parent, "timestamp": "2026-11-21T14:02:07.000Z", "message": message})
}

fn user(id: &str, parent: Option<&str>, text: &str) -> Value {
    message(id, parent, json!({"role": "user", "content": text}))
}

fn answer(id: &str, parent: &str, content: Value) -> Value {
    let usage = json!({"input": 1200, "output": 340, "totalTokens": 1540, "cost": {"total": 0.0121}});
    let answer = json!({"role": "assistant", "content": content, "provider": "p", "model": "m-1", "usage": usage, "stopReason": "stop"});
    message(id, Some(parent), answer)
}

fn result(id: &str, parent: &str, call: &str, text: &str, details: Value) -> Value {
    let result = json!({"role": "toolResult", "toolCallId": call, "toolName": "t", "content": [{"type": "text", "text": text}], "isError": false, "details": details});
    message(id, Some(parent), result)
}

fn page_of(path: &Path) -> String {
    let reader = Reader::open(path).unwrap();
    html::page(&reader, reader.leaf().as_ref()).unwrap()
}

fn transcript_of(path: &Path) -> String {
    let reader = Reader::open(path).unwrap();
    let entries = reader.leaf().map(|leaf| reader.branch(&leaf).unwrap().0).unwrap_or_default();
    transcript(reader.header(), "A title", &entries)
}

/// The text between the first occurrences of two marks.
fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, rest) = text.split_once(from).unwrap();
    rest.split_once(to).unwrap().0
}

/// A session with everything that a page shows.
fn conversation() -> Vec<Value> {
    let diff =
        "--- a/l.rs\n+++ b/l.rs\n@@ -9,3 +9,3 @@\n fn a() {\n-    let x = \"a\";\n+    let x = \"b\";\n }\n";
    let image = json!({"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"});
    vec![
        json!({"type": "model_change", "id": "m1", "parentId": null, "timestamp": "2026-11-21T14:02:01.000Z", "provider": "p", "modelId": "m-1"}),
        message(
            "u1",
            Some("m1"),
            json!({"role": "user", "content": [{"type": "text", "text": "look\nat this"}, image]}),
        ),
        answer(
            "a1",
            "u1",
            json!([
                {"type": "thinking", "thinking": "**Hm**\n\nthink"},
                {"type": "text", "text": "Like so:\n\n```rust\nlet a = 1;\n```\n"},
                {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "cargo test"}},
                {"type": "toolCall", "id": "c2", "name": "edit_file", "arguments": {"path": "l.rs", "old_text": "a\nb"}},
                {"type": "toolCall", "id": "c3", "name": "grep", "arguments": {"pattern": "x"}}
            ]),
        ),
        result("r1", "a1", "c1", "\u{1b}[31mred\u{1b}[0m\n", json!({"exitCode": 1})),
        user("u2", Some("r1"), "another way"),
        result("r2", "r1", "c2", "edited", json!({"diff": diff, "added": 1, "removed": 1})),
        json!({"type": "compaction", "id": "k1", "parentId": "r2", "timestamp": "2026-11-21T14:02:09.000Z", "summary": "So far", "firstKeptEntryId": "r2", "tokensBefore": 171_000}),
        user("u3", Some("k1"), "go on"),
        json!({"type": "label", "id": "l1", "parentId": "u3", "targetId": "u3", "label": "here"}),
        answer("a2", "u3", json!([{"type": "text", "text": "Done."}])),
    ]
}

#[test]
fn export_branch_has_own_header_and_unchanged_lines() {
    let lines = [
        r#"{ "id":"a", "type":"message",  "parentId":null, "later":{"x":[1E5, 0.10]}, "message":{"role":"user","content":"one","mood":"good"}}"#,
        r#"{"type":"hologram","id":"b","parentId":"a","beams":3}"#,
        r#"{"type":"message","id":"x","parentId":"a","message":{"role":"user","content":"left"}}"#,
        r#"{"type":"message","id":"c","parentId":"b","message":{"role":"user","content":"two\ud83e\udd80"}}"#,
    ];
    let (dir, path) = log(&lines);
    let reader = Reader::open(&path).unwrap();
    let mut bytes = Vec::new();
    export::export_branch(&reader, Some(&"c".into()), NOW, &mut bytes).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let (header, body) = text.split_once('\n').unwrap();
    assert_eq!(body.lines().collect::<Vec<_>>(), [lines[0], lines[1], lines[3]]);
    let header: Value = serde_json::from_str(header).unwrap();
    assert_eq!(header["parentSession"], path.display().to_string());
    assert_ne!(header["id"], "01KAHSESSION");

    let copy = dir.path().join("copy.jsonl");
    fs::write(&copy, &text).unwrap();
    let copy = Reader::open(&copy).unwrap();
    let context = |reader: &Reader| context::project(&reader.branch(&"c".into()).unwrap().0).messages;
    assert_eq!(context(&copy), context(&reader));
    assert_eq!(copy.findings(), []);
}

#[test]
fn export_whole_log_is_unchanged() {
    let (_dir, path) = log(&[r#"{"type":"message","id":"a","parentId":null}"#]);
    let mut bytes = fs::read(&path).unwrap();
    bytes.extend(b"\xff\xfe not JSON\r\n\n{\"type\":\"torn");
    fs::write(&path, &bytes).unwrap();
    let mut exported = Vec::new();
    export::export_log(&Reader::open(&path).unwrap(), &mut exported).unwrap();
    assert_eq!(exported, bytes);
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions-fixtures")).unwrap() {
        let path = file.unwrap().path();
        if let Ok(reader) = Reader::open(&path) {
            let mut exported = Vec::new();
            export::export_log(&reader, &mut exported).unwrap();
            assert!(exported == fs::read(&path).unwrap(), "{}", path.display());
        }
    }
}

#[test]
fn export_page_omits_hidden_branch() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions-fixtures/hidden-branch.jsonl");
    let page = page_of(&path);
    assert!(!page.contains("Left.") && !page.contains("Off."), "{page}");
    assert!(page.contains("entries hidden"), "{page}");
}

#[test]
fn export_transcript_fences_tool_output() {
    let (_dir, path) = log(&conversation());
    insta::assert_snapshot!(transcript_of(&path));
}

/// A prompt from a template, with an image, and one from a skill.
fn expanded() -> Vec<Value> {
    let image = json!({"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"});
    let expanded_content =
        json!([{"type": "text", "text": "# Review\n\nLook at <b>all</b> of it.\n```"}, image]);
    let skill = skill_message::skill_message("tidy", "/s/tidy/SKILL.md", "Tidy up.", "with care");
    vec![
        message(
            "u1",
            None,
            json!({"role": "user", "content": expanded_content, "tillerTyped": "/review <all>"}),
        ),
        message("u2", Some("u1"), json!({"role": "user", "content": skill})),
    ]
}

#[test]
fn export_transcript_folds_expanded_text() {
    let (_dir, path) = log(&expanded());
    let text = transcript_of(&path);
    let body = text.split_once(" UTC\n\n").unwrap().1;
    assert_eq!(
        body,
        "/review <all>\n\n<details><summary>Sent to the model</summary>\n\n# Review\n\n\
         Look at <b>all</b> of it.\n```\n```\n\n</details>\n\n*Image: `image/png`, 9 bytes*\n\n\
         ## User · 2026-11-21 14:02 UTC\n\n/skill:tidy with care\n\n<details><summary>Sent to the model</summary>\n\n\
         <skill name=\"tidy\" location=\"/s/tidy/SKILL.md\">\nTidy up.\n</skill>\n\nwith care\n\n</details>\n"
    );
}

#[test]
fn export_page_folds_expanded_text() {
    let (_dir, path) = log(&expanded());
    let page = page_of(&path);
    let first = between(&page, "id=\"u1\"", "</article>");
    let body = first.split_once("</header>\n").unwrap().1;
    let beginning = "<p class=\"said\">/review &lt;all&gt;</p>\n<details class=\"made\"><summary>text sent to the model</summary>\n\
                     <div class=\"prose\"><h3 class=\"first\">Review</h3>\n<p>Look at &lt;b&gt;all&lt;/b&gt; of it.</p>";
    assert!(body.starts_with(beginning), "{body}");
    assert!(body.contains("</div></details>\n<img alt=\"image\""), "{body}");
    let second = between(&page, "id=\"u2\"", "</article>");
    assert!(
        second.contains("<p class=\"said\">/skill:tidy with care</p>\n<details class=\"made\">"),
        "{second}"
    );
    assert!(second.contains("Tidy up."), "{second}");
}

#[test]
fn export_page_shows_a_session() {
    let (_dir, path) = log(&conversation());
    let page = page_of(&path);
    insta::assert_snapshot!(between(&page, "<body>\n", "<script>"));
    assert_eq!(page, page_of(&path));
}

#[test]
fn export_page_marks_the_prompt_without_an_answer() {
    let mut lines = vec![
        user("u1", None, "first"),
        answer("a1", "u1", json!([{"type": "text", "text": "One."}])),
        user("u2", Some("a1"), "second"),
        user("u3", Some("u2"), "steered"),
        json!({"type": "model_change", "id": "m1", "parentId": "u3", "timestamp": "2026-11-21T14:02:08.000Z", "provider": "p", "modelId": "m-1"}),
    ];
    let marked = |page: &str| -> Vec<String> {
        let articles =
            page.split("<article").skip(1).filter(|article| article.contains("! not answered: tiller"));
        articles.map(|article| between(article, " id=\"", "\"").to_owned()).collect()
    };
    let (_dir, path) = log(&lines);
    assert_eq!(marked(&page_of(&path)), ["u3"]);

    lines.push(answer("a2", "m1", json!([{"type": "text", "text": "Two."}])));
    let (_dir, path) = log(&lines);
    assert_eq!(marked(&page_of(&path)), [""; 0]);
    let later = LiveOutlines::default().entries(&Reader::open(&path).unwrap(), Some(&"m1".into())).unwrap();
    assert_eq!(article_ids(&later.articles), ["u3", "m1", "a2"]);
}

#[test]
fn export_page_policy_allows_only_its_own_scripts() {
    let (_dir, path) = log(&conversation());
    let page = page_of(&path);
    let hash = |text: &str| format!("&#39;sha256-{}&#39;", BASE64_STANDARD.encode(Sha256::digest(text)));
    let scripts: Vec<String> =
        page.split("<script>").skip(1).map(|part| hash(part.split_once("</script>").unwrap().0)).collect();
    let policy = between(&page, "Content-Security-Policy\" content=\"", "\">");
    assert_eq!(
        policy,
        format!(
            "default-src &#39;none&#39;; img-src data:; style-src {}; script-src {}; base-uri &#39;none&#39;; form-action &#39;none&#39;",
            hash(between(&page, "<style>", "</style>")),
            scripts.join(" ")
        )
    );
}

#[test]
fn export_page_escapes_text_of_the_log() {
    let evil = "\"'><script>alert(1)</script><!-- --></pre></template></style>\u{2028}<img src=x onerror=y> [a](javascript:b) [c](<data:text/html,d>)";
    let call = json!({"type": "toolCall", "id": evil, "name": evil, "arguments": {"path": evil, "command": evil, evil: [evil], "n": format!("{evil}\n{evil}")}});
    let image = |mime: &str, data: &str| json!({"type": "image", "mimeType": mime, "data": data});
    let mut lines = vec![
        user(evil, None, evil),
        answer(
            "a",
            evil,
            json!([{"type": "text", "text": evil}, {"type": "text", "text": format!("```{evil}\n{evil}\n```")}, {"type": "thinking", "thinking": evil}, call, {"type": "toolCall", "id": "lost", "name": evil, "arguments": {}}]),
        ),
        result("r", "a", evil, evil, json!({"diff": format!("@@ -1 +1 @@\n-{evil}\n+{evil}!")})),
        message(
            "i",
            Some("r"),
            json!({"role": "user", "content": [image("image/svg+xml", "AA=="), image("image/png", "\"><script>"), image("image/png\"><b>", "AA==")]}),
        ),
        message(
            "b",
            Some("i"),
            json!({"role": "bashExecution", "command": evil, "output": evil, "cancelled": false, "truncated": false}),
        ),
        message(
            "f",
            Some("b"),
            json!({"role": "assistant", "content": [], "model": evil, "stopReason": "error", "errorMessage": evil}),
        ),
        message("s", Some("f"), json!({"role": "system", "content": evil})),
        json!({"type": "label", "id": "l", "parentId": "s", "targetId": "a", "label": evil}),
        json!({"type": "custom_message", "id": "x", "parentId": "l", "customType": evil, "content": evil, "display": true}),
        json!({"type": "model_change", "id": "y", "parentId": "x", "provider": evil, "modelId": evil}),
        json!({"type": "context_edit", "id": "z", "parentId": "y", "targetId": evil, "replacement": null}),
        json!({"type": "session_info", "id": "w", "parentId": "z", "name": evil}),
    ];
    for (id, kind) in [("v1", "compaction"), ("v2", "branch_summary")] {
        lines.push(json!({"type": kind, "id": id, "parentId": "w", "summary": evil, "firstKeptEntryId": "w", "fromId": evil}));
    }
    let (_dir, path) = log(&lines);
    let page = page_of(&path);
    tags::check(&page);
    assert!(!page.contains('\u{2028}'));
    assert!(page.matches("alert(1)").count() > 20, "what is evil is shown all the same");
}

#[test]
fn export_page_other_branches_are_in_a_template() {
    let (_dir, path) = log(&conversation());
    let reader = Reader::open(&path).unwrap();
    let ids = |html: &str| -> Vec<String> {
        let articles = html.split("<article").skip(1);
        articles.map(|article| between(article, " id=\"", "\"").to_owned()).collect()
    };
    let parts = |leaf: &str| {
        let page = html::page(&reader, Some(&leaf.into())).unwrap();
        (ids(between(&page, "<main>", "</main>")), ids(between(&page, "<template", "</template>")))
    };
    assert_eq!(
        parts("a2"),
        (["m1", "u1", "a1", "r1", "r2", "k1", "u3", "a2"].map(Into::into).into(), vec!["u2".into()])
    );
    assert_eq!(
        parts("u2"),
        (
            ["m1", "u1", "a1", "r1", "u2"].map(Into::into).into(),
            ["r2", "k1", "u3", "a2"].map(Into::into).into()
        )
    );
}

#[test]
fn export_every_readable_log() {
    let mut page_count = 0;
    for file in fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/sessions-fixtures")).unwrap() {
        let path = file.unwrap().path();
        if Reader::open(&path).is_ok() {
            tags::check(&page_of(&path));
            assert!(transcript_of(&path).starts_with("# A title\n"), "{}", path.display());
            page_count += 1;
        }
    }
    assert!(page_count > 20, "only {page_count} fixtures were read");
}

fn article_ids(articles: &str) -> Vec<&str> {
    articles.split("<article").skip(1).map(|article| between(article, " id=\"", "\"")).collect()
}

#[test]
fn live_entries_contain_all_that_later_ones_change() {
    let (_dir, path) = log(&conversation());
    let reader = Reader::open(&path).unwrap();
    let outlines = LiveOutlines::default();
    let since = |id: &str| outlines.entries(&reader, Some(&id.into())).unwrap();
    let all = outlines.entries(&reader, None).unwrap();
    assert_eq!(article_ids(&all.articles), ["m1", "u1", "a1", "r1", "u2", "r2", "k1", "u3", "a2"]);
    assert_eq!((all.leaf, all.last), (Some(9), Some("a2".into())));
    // The second branch from r1 begins, and a call of a1 gets its result.
    assert_eq!(article_ids(&since("u2").articles), ["a1", "r1", "r2", "k1", "u3", "a2"]);
    // The label of u3 is new, and a2 is below it.
    assert_eq!(article_ids(&since("u3").articles), ["u3", "a2"]);
    assert!(since("u3").articles.contains("<span class=\"label\">here</span>"));
    let none = since("a2");
    assert_eq!((none.articles.as_str(), none.outline, none.leaf), ("", None, Some(9)));
    assert!(outlines.entries(&reader, Some(&"none".into())).is_err());
}

#[test]
fn live_entries_resend_the_outline_if_a_row_is_new() {
    let lines: Vec<Value> = conversation().into_iter().take(4).collect();
    let (_dir, path) = log(&lines);
    let reader = Reader::open(&path).unwrap();
    let outline = |id: &str| LiveOutlines::default().entries(&reader, Some(&id.into())).unwrap().outline;
    assert_eq!(outline("a1"), None, "a result has no row");
    let rows = outline("u1").unwrap();
    assert!(rows.contains("href=\"#u1\"") && rows.contains("href=\"#a1\""), "{rows}");
}

#[test]
fn live_entries_after_updates_are_those_of_the_log() {
    // At the end an id of an earlier entry, whose address becomes another one.
    let repeated = user("u2", Some("a2"), "once more");
    let written: Vec<String> = conversation().iter().chain([&repeated]).map(ToString::to_string).collect();
    let hiding = include_str!("../../sessions-fixtures/hidden-branch.jsonl");
    let hiding: Vec<String> = hiding.lines().skip(1).map(str::to_owned).collect();
    for lines in [written, hiding] {
        let outlines = LiveOutlines::default();
        for count in 1..=lines.len() {
            let (_dir, path) = log(&lines[..count]);
            let reader = Reader::open(&path).unwrap();
            let whole = LiveOutlines::default().entries(&reader, None).unwrap();
            assert_eq!(outlines.entries(&reader, None).unwrap(), whole, "{count} entries");
        }
    }
}

#[test]
fn live_entries_of_an_update_are_read_alone() {
    let (_dir, path) = log(&conversation());
    let outlines = LiveOutlines::default();
    outlines.entries(&Reader::open(&path).unwrap(), None).unwrap();
    let changed = fs::read_to_string(&path).unwrap().replace("another way", "ANOTHER WAY");
    fs::write(&path, format!("{changed}{}\n", user("u4", Some("a2"), "more"))).unwrap();
    let rows = outlines.entries(&Reader::open(&path).unwrap(), Some(&"a2".into())).unwrap().outline.unwrap();
    assert!(rows.contains("another way") && rows.contains("more"), "{rows}");
}

#[test]
fn live_page_policy_allows_itself_and_no_other_host() {
    let page = html::live_page();
    let policy = between(page, "Content-Security-Policy\" content=\"", "\">").replace("&#39;", "'");
    let hash = |text: &str| format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)));
    let hashes = |start: &str, end: &str| -> String {
        let parts = page.split(start).skip(1).map(|part| hash(part.split_once(end).unwrap().0));
        parts.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(
        policy,
        format!(
            "default-src 'none'; connect-src 'self'; img-src data:; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
            hashes("<style>", "</style>"),
            hashes("<script>", "</script>")
        )
    );
    for outside in ["http://", "https://", "//cdn", "@import", " src=", "onclick"] {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(page.matches("innerHTML").count(), 1, "only the server's HTML is parsed");
}

#[test]
fn live_page_has_the_styles_and_scripts_of_an_export() {
    let (_dir, path) = log(&conversation());
    let (page, export) = (html::live_page(), page_of(&path));
    assert!(page.contains(between(&export, "<style>", "</style>")));
    for part in export.split("<script>").skip(1) {
        assert!(page.contains(part.split_once("</script>").unwrap().0));
    }
}

#[test]
fn live_fragments_escape_their_text() {
    let evil = "<script>\"'\u{202e}";
    let fragments = [
        html::render_text(evil),
        html::render_markdown(evil),
        html::render_output(&format!("\u{1b}[31m{evil}")),
        html::render_diff(&format!("@@ -1 +1 @@\n-a\n+{evil}"), "a.txt"),
        html::render_call(evil.to_owned(), json!({"command": evil, evil: [evil]})),
    ];
    for fragment in fragments {
        tags::check_fragment(&fragment);
        assert!(fragment.contains("&lt;script&gt;") && !fragment.contains('\u{202e}'), "{fragment}");
    }
    assert!(
        html::render_call("bash".into(), json!({"command": "ls"}))
            .contains("<code class=\"about\">ls</code>")
    );
}
