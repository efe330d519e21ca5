//! Tests of the catalog: lists, searches, and a missing or broken database.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use serde_json::json;
use tiller_core::message::{
    AssistantBlock, AssistantMessage, BashExecutionMessage, ToolResultMessage, Usage, UserBlock,
};
use tiller_session::entry::TillerEntry;
use tiller_session::{Catalog, PageRequest, QuarterUsage, SearchHit, SessionScope};

use super::*;

impl Sandbox {
    fn catalog_file(&self) -> PathBuf {
        self.root.path().join("state/sessions.db")
    }

    /// A manager with a catalog file.
    fn manager_with_catalog(&self) -> SessionManager {
        self.manager.clone().with_catalog(self.catalog_file())
    }

    /// A catalog that has scanned every log.
    fn refreshed(&self) -> Catalog {
        let mut catalog = self.manager_with_catalog().catalog().unwrap();
        catalog.refresh(SessionScope::Everywhere, |_| ()).unwrap();
        catalog
    }
}

/// Creates a session with these user messages.
fn session(manager: &SessionManager, texts: &[&str]) -> PathBuf {
    let mut writer = manager.create(NOW);
    for text in texts {
        append_user(&mut writer, text);
    }
    writer.reader().path().unwrap().to_owned()
}

fn append(path: &Path, body: EntryBody) {
    append_at(path, body, NOW);
}

fn append_at(path: &Path, body: EntryBody, now: UnixMs) {
    Writer::open(path).unwrap().append(body, now).unwrap();
}

fn touch(path: &Path, second: u64) {
    let time = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
    fs::File::options().append(true).open(path).unwrap().set_modified(time).unwrap();
}

fn search_texts(catalog: &mut Catalog, query: &str) -> Vec<String> {
    catalog.search(query, SessionScope::Everywhere, 20).unwrap().iter().map(bracketed).collect()
}

/// A hit's text with its match in brackets.
fn bracketed(hit: &SearchHit) -> String {
    let snippet = |snippet: &tiller_session::Snippet| match snippet.matched {
        true => format!("[{}]", snippet.text),
        false => snippet.text.clone(),
    };
    hit.snippet.iter().map(snippet).collect()
}

fn prompts(catalog: &mut Catalog) -> Vec<String> {
    let listing = catalog.page(SessionScope::Everywhere, PageRequest::default()).unwrap();
    listing.sessions.into_iter().filter_map(|session| session.first_prompt).collect()
}

fn answer(text: &str, cost: f64) -> EntryBody {
    let mut answer = AssistantMessage {
        content: vec![
            AssistantBlock::Thinking { thinking: "ponder".into(), thinking_signature: None },
            AssistantBlock::text(text),
        ],
        provider: "mock".into(),
        model: "m1".into(),
        ..AssistantMessage::default()
    };
    answer.usage.input = tiller_core::unit::Tokens(70);
    answer.usage.output = tiller_core::unit::Tokens(30);
    answer.usage.cost.total = tiller_core::unit::Usd(cost);
    EntryBody::message(Arc::new(Message::Assistant(answer)))
}

fn run(cwd: Option<&str>, remote: Option<&str>) -> EntryBody {
    EntryBody::from_tiller(&TillerEntry::Run {
        mode: "test".into(),
        resumed: true,
        version: "0".into(),
        cwd: cwd.map(str::to_owned),
        remote: remote.map(str::to_owned),
    })
}

#[test]
fn summary_shows_prompt_and_cost() {
    let sandbox = Sandbox::new();
    let path = session(&sandbox.manager, &["fix the parser"]);
    append(&path, answer("done", 0.25));
    append(&path, EntryBody::SessionInfo { name: Some("parser".into()) });
    let listing = sandbox.manager_with_catalog().list(SessionScope::ThisDirectory).unwrap();
    let mut summary = serde_json::to_value(&listing.sessions).unwrap();
    for key in ["id", "path", "modified", "bytes"] {
        assert!(!summary[0].as_object_mut().unwrap().remove(key).unwrap().is_null(), "{key}");
    }
    assert_eq!(
        summary,
        json!([{"cwd": CWD, "name": "parser", "firstPrompt": "fix the parser", "entries": 3, "messages": 2,
                "tokens": 100, "cost": 0.25, "lastActivity": NOW, "model": "mock/m1"}])
    );
}

#[test]
fn search_skips_tool_output_and_thinking() {
    let sandbox = Sandbox::new();
    let path = session(&sandbox.manager, &["naïve tokenizer"]);
    append(&path, answer("the lexer is fine", 0.0));
    let result = ToolResultMessage {
        tool_call_id: "c".into(),
        tool_name: "bash".into(),
        content: vec![UserBlock::Text { text: "printed".into() }],
        details: None,
        is_error: false,
        timestamp: NOW,
    };
    append(&path, EntryBody::message(Arc::new(Message::ToolResult(result))));
    let bash = |command: &str, exclude_from_context| BashExecutionMessage {
        command: command.into(),
        output: "printed".into(),
        exclude_from_context,
        ..BashExecutionMessage::default()
    };
    for record in [bash("make widgets", false), bash("make secrets", true)] {
        append(&path, EntryBody::message(Arc::new(Message::BashExecution(record))));
    }
    append(
        &path,
        EntryBody::BranchSummary {
            from_id: "root".into(),
            summary: "tried nom".into(),
            details: None,
            usage: None,
            made_by: None,
        },
    );
    append(&path, EntryBody::SessionInfo { name: Some("Überarbeitung".into()) });
    let mut catalog = sandbox.refreshed();
    assert_eq!(search_texts(&mut catalog, "NAIVE"), ["[naïve] tokenizer"]);
    assert_eq!(search_texts(&mut catalog, "lexer fin"), ["the [lexer] is [fine]"]);
    assert_eq!(search_texts(&mut catalog, "widgets"), ["make [widgets]"]);
    assert_eq!(search_texts(&mut catalog, "secrets"), ["make [secrets]"]);
    assert_eq!(search_texts(&mut catalog, "nom"), ["tried [nom]"]);
    assert_eq!(search_texts(&mut catalog, "uberarb"), ["[Überarbeitung]"]);
    for silent in ["printed", "ponder", "tokenize ", "naive lexer", "\" OR 1", "*", ""] {
        assert_eq!(search_texts(&mut catalog, silent), [""; 0], "{silent}");
    }
}

#[test]
fn search_equal_hits_are_newest_first() {
    let sandbox = Sandbox::new();
    let mut writer = sandbox.manager.create(NOW);
    let older = writer.append(user("crlf here"), NOW).unwrap().remove(0).id;
    let newer = writer.append(user("crlf here"), UnixMs(NOW.0 + 5)).unwrap().remove(0).id;
    let hits = sandbox.refreshed().search("crlf", SessionScope::Everywhere, 5).unwrap();
    let entries: Vec<_> = hits.iter().map(|hit| (&hit.entry, hit.timestamp)).collect();
    assert_eq!(entries, [(&newer, UnixMs(NOW.0 + 5)), (&older, NOW)]);
    let hits = sandbox.refreshed().search_sessions("crlf", SessionScope::Everywhere, 5).unwrap();
    assert_eq!(hits.len(), 1);
}

#[test]
fn search_stays_in_directory() {
    let sandbox = Sandbox::new();
    session(&sandbox.manager, &["here crlf"]);
    session(&sandbox.manager_of("/elsewhere"), &["there crlf"]);
    let mut catalog = sandbox.refreshed();
    let hits = catalog.search("crlf", SessionScope::ThisDirectory, 5).unwrap();
    assert_eq!(hits.iter().map(bracketed).collect::<Vec<_>>(), ["here [crlf]"]);
    assert_eq!(search_texts(&mut catalog, "crlf").len(), 2);
    // Sessions of another directory are not found.
    let other_catalog = SessionManager::new(Placement::Flat(sandbox.root.path().join("other")), CWD.into());
    let mut other_catalog = other_catalog.with_catalog(sandbox.catalog_file()).catalog().unwrap();
    assert_eq!(search_texts(&mut other_catalog, "crlf"), [""; 0]);
}

#[test]
fn search_follows_appends_and_deletions() {
    let sandbox = Sandbox::new();
    let path = session(&sandbox.manager, &["alpha one"]);
    let other = session(&sandbox.manager, &["alpha two"]);
    assert_eq!(search_texts(&mut sandbox.refreshed(), "alpha").len(), 2);
    append(&path, user("alpha three"));
    fs::remove_file(&other).unwrap();
    let mut catalog = sandbox.refreshed();
    let mut hits = search_texts(&mut catalog, "alpha");
    hits.sort();
    assert_eq!(hits, ["[alpha] one", "[alpha] three"]);
    assert_eq!(prompts(&mut catalog), ["alpha one"]);
}

#[test]
fn catalog_rewritten_log_is_read_again() {
    let sandbox = Sandbox::new();
    let path = session(&sandbox.manager, &["alpha one"]);
    assert_eq!(search_texts(&mut sandbox.refreshed(), "alpha").len(), 1);
    let text = fs::read_to_string(&path).unwrap().replace("alpha one", "omega first of all");
    fs::write(&path, text).unwrap();
    let mut catalog = sandbox.refreshed();
    assert_eq!(search_texts(&mut catalog, "alpha"), [""; 0]);
    assert_eq!(search_texts(&mut catalog, "omega"), ["[omega] first of all"]);
}

#[test]
fn catalog_log_changed_in_middle_is_read_again() {
    let sandbox = Sandbox::new();
    let filler = "x ".repeat(5_000);
    let path = session(&sandbox.manager, &[&filler, "alpha", &filler]);
    touch(&path, 100);
    assert_eq!(search_texts(&mut sandbox.refreshed(), "alpha").len(), 1);
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("alpha", "omega")).unwrap();
    touch(&path, 101);
    assert_eq!(search_texts(&mut sandbox.refreshed(), "omega"), ["[omega]"]);
    // Another file at its path, with the same length and time.
    let replacement = path.with_extension("new");
    fs::write(&replacement, fs::read_to_string(&path).unwrap().replace("omega", "gamma")).unwrap();
    touch(&replacement, 101);
    fs::rename(&replacement, &path).unwrap();
    assert_eq!(search_texts(&mut sandbox.refreshed(), "gamma"), ["[gamma]"]);
}

#[test]
fn catalog_known_log_is_not_opened() {
    let sandbox = Sandbox::new();
    let path = session(&sandbox.manager, &["alpha"]);
    touch(&path, 100);
    assert_eq!(prompts(&mut sandbox.refreshed()), ["alpha"]);
    // Same length and time as before: only opening the file shows the difference.
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("alpha", "omega")).unwrap();
    touch(&path, 100);
    assert_eq!(prompts(&mut sandbox.refreshed()), ["alpha"]);
    fs::remove_file(sandbox.catalog_file()).unwrap();
    assert_eq!(prompts(&mut sandbox.refreshed()), ["omega"]);
}

#[test]
fn page_reads_only_its_own_logs() {
    let sandbox = Sandbox::new();
    let paths: Vec<PathBuf> =
        ["a", "b", "c", "d"].iter().map(|text| session(&sandbox.manager, &[text])).collect();
    for (second, path) in (100..).zip(&paths) {
        touch(path, second);
    }
    let mut catalog = sandbox.manager_with_catalog().catalog().unwrap();
    let page = |offset, limit| PageRequest { offset, limit: Some(limit) };
    let mut page_ids = |page| {
        let listing = catalog.page(SessionScope::ThisDirectory, page).unwrap();
        let texts: Vec<String> = listing.sessions.into_iter().filter_map(|s| s.first_prompt).collect();
        (texts.join(" "), listing.more)
    };
    assert_eq!(page_ids(page(0, 2)), ("d c".into(), true));
    assert_eq!(page_ids(page(2, 2)), ("b a".into(), false));
    assert_eq!(page_ids(page(4, 2)), (String::new(), false));
    fs::remove_file(sandbox.catalog_file()).unwrap();
    let mut catalog = sandbox.manager_with_catalog().catalog().unwrap();
    catalog.page(SessionScope::Everywhere, page(0, 1)).unwrap();
    let indexed = catalog.indexed_sessions(SessionScope::Everywhere).unwrap();
    assert!((1..4).contains(&indexed.len()), "{indexed:?}");
}

#[test]
fn catalog_broken_file_is_recreated() {
    let sandbox = Sandbox::new();
    session(&sandbox.manager, &["alpha"]);
    sandbox.refreshed();
    fs::write(sandbox.catalog_file(), "no database at all".repeat(500)).unwrap();
    for leftover in ["db-wal", "db-shm"] {
        let _ = fs::remove_file(sandbox.catalog_file().with_extension(leftover));
    }
    assert_eq!(search_texts(&mut sandbox.refreshed(), "alpha"), ["[alpha]"]);
    // An older version, and wrong tables.
    for damage in ["PRAGMA user_version = -1", "DROP TABLE said", "DROP TABLE sessions"] {
        rusqlite::Connection::open(sandbox.catalog_file()).unwrap().execute_batch(damage).unwrap();
        assert_eq!(search_texts(&mut sandbox.refreshed(), "alpha"), ["[alpha]"], "{damage}");
    }
}

#[test]
fn catalog_breaking_while_open_is_recreated() {
    let sandbox = Sandbox::new();
    session(&sandbox.manager, &["alpha"]);
    let mut catalog = sandbox.refreshed();
    rusqlite::Connection::open(sandbox.catalog_file()).unwrap().execute_batch("DROP TABLE said").unwrap();
    assert_eq!(search_texts(&mut catalog, "alpha"), ["[alpha]"]);
}

#[test]
fn catalog_newer_version_is_left_alone() {
    let sandbox = Sandbox::new();
    session(&sandbox.manager, &["alpha"]);
    sandbox.refreshed();
    let open = || rusqlite::Connection::open(sandbox.catalog_file()).unwrap();
    open().execute_batch("PRAGMA user_version = 99; DELETE FROM sessions").unwrap();
    assert_eq!(search_texts(&mut sandbox.refreshed(), "alpha"), ["[alpha]"]);
    let count = open().query_row("SELECT count(*) FROM sessions", [], |row| row.get::<_, i64>(0));
    assert_eq!(count.unwrap(), 0, "nothing was written into it");
}

#[test]
fn catalog_without_file_still_works() {
    let sandbox = Sandbox::new();
    session(&sandbox.manager, &["alpha"]);
    // A file is in the place of the directory.
    fs::write(sandbox.root.path().join("state"), "").unwrap();
    let mut catalog = sandbox.refreshed();
    assert_eq!(
        (prompts(&mut catalog), search_texts(&mut catalog, "alp")),
        (vec!["alpha".into()], vec!["[alpha]".into()])
    );
    assert_eq!(catalog.page(SessionScope::ThisDirectory, PageRequest::default()).unwrap().sessions.len(), 1);
}

#[test]
fn catalog_file_is_private() {
    let sandbox = Sandbox::new();
    session(&sandbox.manager, &["alpha"]);
    let _catalog = sandbox.refreshed();
    for ending in ["db", "db-wal"] {
        let mode = fs::metadata(sandbox.catalog_file().with_extension(ending)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{ending}");
    }
    let dir = fs::metadata(sandbox.catalog_file().parent().unwrap()).unwrap();
    assert_eq!(dir.permissions().mode() & 0o777, 0o700);
}

#[test]
fn catalog_concurrent_reads_store_once() {
    let sandbox = Sandbox::new();
    let path = session(&sandbox.manager, &["alpha one"]);
    let (mut first_catalog, mut second_catalog) = (sandbox.refreshed(), sandbox.refreshed());
    append(&path, user("alpha two"));
    let (mut first, mut second) = (
        first_catalog.index_queue(SessionScope::Everywhere).unwrap(),
        second_catalog.index_queue(SessionScope::Everywhere).unwrap(),
    );
    assert_eq!((first.progress().done, first.progress().files), (0, 1));
    first_catalog.index_next(&mut first).unwrap();
    second_catalog.index_next(&mut second).unwrap();
    assert_eq!(search_texts(&mut second_catalog, "alpha").len(), 2);
}

#[test]
fn best_prefers_id_then_name_then_text() {
    let sandbox = Sandbox::new();
    let parser = session(&sandbox.manager, &["the lexer of crlf"]);
    let named = session(&sandbox.manager, &["something else"]);
    append(&named, EntryBody::SessionInfo { name: Some("Crlf hunt".into()) });
    let id = Reader::open(&parser).unwrap().id().to_string();
    let mut catalog = sandbox.manager_with_catalog().catalog().unwrap();
    let mut best = |query: &str| catalog.best_match(query, |_| ()).unwrap();
    assert_eq!(best(&id[id.len() - 6..]), Some(parser.clone()));
    assert_eq!(best("crlf"), Some(named));
    assert_eq!(best("lexer"), Some(parser));
    assert_eq!(best("nothing like that"), None);
}

#[test]
fn list_session_resumed_elsewhere_belongs_there() {
    let sandbox = Sandbox::new();
    let path = session(&sandbox.manager_of("/old/project"), &["moved"]);
    session(&sandbox.manager, &["older"]);
    touch(&path, 4_000_000_000);
    assert_ne!(sandbox.manager_with_catalog().most_recent().unwrap().as_ref(), Some(&path));
    sandbox.refreshed();
    append(&path, run(Some(CWD), None));
    touch(&path, 4_000_000_001);
    assert_eq!(sandbox.manager_with_catalog().most_recent().unwrap().as_ref(), Some(&path));
    let listing = sandbox.manager_with_catalog().list(SessionScope::ThisDirectory).unwrap();
    assert_eq!(listing.sessions.iter().map(|s| s.cwd.as_str()).collect::<Vec<_>>(), [CWD, CWD]);
    let old = sandbox.manager_of("/old/project").with_catalog(sandbox.catalog_file());
    assert_eq!(old.most_recent().unwrap(), None);
    // And back: a run without a recorded directory uses the header's.
    append(&path, run(None, None));
    assert_eq!(old.most_recent().unwrap().as_ref(), Some(&path));
}

#[test]
fn moved_here_matches_name_or_remote() {
    let sandbox = Sandbox::new();
    let by_name = session(&sandbox.manager_of("/gone/project"), &["by name"]);
    let by_remote = session(&sandbox.manager_of("/gone/other"), &["by remote"]);
    append(&by_remote, run(None, Some("git@host:me/project.git")));
    session(&sandbox.manager_of("/gone/stranger"), &["a stranger"]);
    let moved_project = sandbox.root.path().join("project");
    fs::create_dir(&moved_project).unwrap();
    session(&sandbox.manager_of(moved_project.to_str().unwrap()), &["still there"]);
    touch(&by_name, 300);
    touch(&by_remote, 200);
    let mut catalog = sandbox.manager_with_catalog().catalog().unwrap();
    let mut moved = |remote| -> Vec<PathBuf> {
        catalog.moved_projects(remote).unwrap().into_iter().map(|session| session.path).collect()
    };
    assert_eq!(moved(Some("https://host/me/project")), [by_name.clone(), by_remote]);
    assert_eq!(moved(None), [by_name]);
}

#[test]
fn most_recent_without_catalog_uses_last_run() {
    let sandbox = Sandbox::new();
    let moved_away = session(&sandbox.manager, &["moved away"]);
    append(&moved_away, run(Some("/elsewhere"), None));
    touch(&moved_away, 4_000_000_000);
    assert_eq!(sandbox.manager_with_catalog().most_recent().unwrap(), None);
    let own_session = session(&sandbox.manager_of("/gone/old"), &["moved here"]);
    append(&own_session, run(Some(CWD), None));
    let moved = sandbox.manager.catalog().unwrap().moved_projects(None).unwrap();
    assert_eq!(moved.iter().map(|session| &session.path).collect::<Vec<_>>(), [&own_session]);
    assert_eq!(moved[0].cwd, CWD);
}

#[test]
fn list_fixtures_agree_with_reader() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions-fixtures");
    let manager = SessionManager::new(Placement::Flat(dir.clone()), CWD.into());
    let listing = manager.catalog().unwrap().page(SessionScope::Everywhere, PageRequest::default()).unwrap();
    let (mut listed, mut read) = (Vec::new(), Vec::new());
    for file in fs::read_dir(dir).unwrap().map(|file| file.unwrap().path()) {
        let is_log = file.extension().is_some_and(|extension| extension == "jsonl");
        let Some(reader) = is_log.then(|| Reader::open(&file).ok()).flatten() else { continue };
        let summary = listing.sessions.iter().find(|summary| summary.path == file);
        listed.push(summary.map(|summary| {
            (summary.path.clone(), summary.entries, summary.name.clone(), summary.tokens, summary.cost)
        }));
        let usage = reader.usage();
        read.push(Some((file, reader.entry_count(), reader.name(), usage.total(), usage.cost.total)));
    }
    assert!(read.len() > 20, "{}", read.len());
    assert_eq!(listed, read);
}

#[test]
fn best_ambiguous_id_falls_back_to_text() {
    let sandbox = Sandbox::new();
    let dir = sandbox.sessions().join("--home-dev-project--");
    fs::create_dir_all(&dir).unwrap();
    for id in ["beef1111", "beef2222"] {
        let header = HEADER.replace(r#""id":"s1""#, &format!(r#""id":"{id}""#));
        fs::write(dir.join(format!("{id}.jsonl")), format!("{header}\n")).unwrap();
    }
    let mut catalog = sandbox.manager_with_catalog().catalog().unwrap();
    let error = catalog.best_match("beef", |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "`beef` matches 2 sessions; give more of the id");
    let hits = session(&sandbox.manager, &["roast beef"]);
    assert_eq!(catalog.best_match("beef", |_| ()).unwrap(), Some(hits));
}

#[test]
fn sessions_saying_gives_one_hit_per_session() {
    let sandbox = Sandbox::new();
    let one_mention = session(&sandbox.manager, &["the crlf in a sentence of many other words, said once"]);
    let many_mentions = session(&sandbox.manager, &["crlf"; 40]);
    let hits = sandbox.refreshed().search_sessions("crlf", SessionScope::Everywhere, 2).unwrap();
    let paths: Vec<&PathBuf> = hits.iter().map(|hit| &hit.session.path).collect();
    assert_eq!(paths, [&many_mentions, &one_mention]);
}

#[test]
fn catalog_busy_database_does_not_delay_lookup() {
    let sandbox = Sandbox::new();
    session(&sandbox.manager, &["alpha"]);
    sandbox.refreshed();
    for text in ["one", "two", "three"] {
        session(&sandbox.manager, &[text]);
    }
    let connection = rusqlite::Connection::open(sandbox.catalog_file()).unwrap();
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let start = std::time::Instant::now();
    let mut catalog = sandbox.manager_with_catalog().catalog().unwrap();
    assert_eq!(catalog.page(SessionScope::ThisDirectory, PageRequest::default()).unwrap().sessions.len(), 4);
    assert!(start.elapsed() < Duration::from_secs(3), "{:?}", start.elapsed());
    // Known records remain, and new ones are stored in the file.
    assert_eq!(catalog.indexed_sessions(SessionScope::Everywhere).unwrap().len(), 1);
    connection.execute_batch("ROLLBACK").unwrap();
    catalog.page(SessionScope::ThisDirectory, PageRequest::default()).unwrap();
    let count = connection.query_row("SELECT count(*) FROM sessions", [], |row| row.get::<_, i64>(0));
    assert_eq!(count.unwrap(), 4);
}

#[test]
fn sessions_named_matches_prefix_and_suffix() {
    let sandbox = Sandbox::new();
    let own_session = session(&sandbox.manager_with_catalog(), &["one"]);
    let id = Reader::open(&own_session).unwrap().id().clone();
    let mut catalog = sandbox.manager_with_catalog().catalog().unwrap();
    let mut paths = |part: &str, max_matches| {
        let search_texts = catalog.sessions_by_id(part, max_matches).unwrap();
        search_texts.into_iter().map(|session| session.path).collect::<Vec<_>>()
    };
    let (start, end) = (&id.as_str()[..12], id.short().to_lowercase());
    assert_eq!(paths(start, 9), std::slice::from_ref(&own_session));
    assert_eq!(paths(&end, 9), [own_session]);
    assert!(paths(&id.as_str()[1..9], 9).is_empty(), "neither end");
    assert!(paths(&end[3..], 9).is_empty(), "too short");
    assert!(paths(start, 0).is_empty(), "too many to mean one");
}

#[test]
fn sessions_of_agents_are_found_by_id_only() {
    let sandbox = Sandbox::new();
    let top = session(&sandbox.manager, &["one"]);
    let agents = sandbox.manager.for_agents_of(&Reader::open(&top).unwrap());
    let agent = session(&agents, &["scout"]);
    let nested = session(&agents.for_agents_of(&Reader::open(&agent).unwrap()), &["scout deeper"]);
    let mut catalog = sandbox.refreshed();
    for path in [&agent, &nested] {
        let id = Reader::open(path).unwrap().id().clone();
        assert_eq!(catalog.find_by_id(id.as_str()).unwrap(), *path);
        assert_eq!(catalog.best_match(&id.short().to_lowercase(), |_| ()).unwrap().as_ref(), Some(path));
        let found = catalog.sessions_by_id(id.short(), 9).unwrap();
        assert_eq!(found.iter().map(|session| &session.path).collect::<Vec<_>>(), [path]);
    }
    assert!(catalog.search("scout", SessionScope::Everywhere, 9).unwrap().is_empty());
    let listed = catalog.page(SessionScope::Everywhere, PageRequest::default()).unwrap().sessions;
    assert_eq!(listed.into_iter().map(|session| session.path).collect::<Vec<_>>(), [top]);
}

/// Usage as `(quarter, directory, model, input, output, cost)`.
fn usage_since(catalog: &mut Catalog, since: UnixMs) -> Vec<(i64, String, String, u64, u64, f64)> {
    let rows = catalog.usage_since(since).unwrap();
    let row = |row: QuarterUsage| {
        let usage = &row.usage;
        let (input, output, cost) = (usage.input.0, usage.output.0, usage.cost.total.0);
        (row.start.0 / QUARTER_MS, row.cwd, row.model, input, output, cost)
    };
    rows.into_iter().map(row).collect()
}

const QUARTER_MS: i64 = 900_000;

#[test]
fn usage_since_is_summed_by_quarter_directory_and_model() {
    let sandbox = Sandbox::new();
    let path = session(&sandbox.manager, &["a"]);
    let quarter = NOW.0 / QUARTER_MS;
    let at = |quarters: i64| UnixMs((quarter + quarters) * QUARTER_MS);
    let mut writer = Writer::open(&path).unwrap();
    for (quarters, cost) in [(1, 0.5), (1, 0.25), (2, 1.0)] {
        writer.append(answer("x", cost), at(quarters)).unwrap();
    }
    let usage = EntryBody::Usage {
        kind: "title".into(),
        provider: "mock".into(),
        model: "small".into(),
        usage: Usage { input: tiller_core::unit::Tokens(5), ..Usage::default() },
    };
    writer.append(usage, at(2)).unwrap();
    drop(writer);
    append_at(&session(&sandbox.manager, &["b"]), answer("y", 2.0), at(1));
    let mut catalog = sandbox.refreshed();
    let row = |quarters: i64, model: &str, input, output, cost| {
        (quarter + quarters, CWD.to_owned(), model.to_owned(), input, output, cost)
    };
    let later = [row(2, "mock/m1", 70, 30, 1.0), row(2, "mock/small", 5, 0, 0.0)];
    let all = [&[row(1, "mock/m1", 210, 90, 2.75)][..], &later].concat();
    assert_eq!(usage_since(&mut catalog, UnixMs(0)), all);
    assert_eq!(usage_since(&mut catalog, at(2)), later);

    append_at(&path, answer("z", 0.5), at(1));
    append_at(&path, run(Some("/moved"), None), at(3));
    catalog.refresh(SessionScope::Everywhere, |_| ()).unwrap();
    let other = row(1, "mock/m1", 70, 30, 2.0);
    let grown = (quarter + 1, "/moved".to_owned(), "mock/m1".to_owned(), 210, 90, 1.25);
    assert_eq!(usage_since(&mut catalog, at(1))[..2], [other.clone(), grown]);

    fs::remove_file(&path).unwrap();
    catalog.refresh(SessionScope::Everywhere, |_| ()).unwrap();
    assert_eq!(usage_since(&mut catalog, UnixMs(0)), [other]);
}

#[test]
fn usage_since_skips_what_a_fork_copied() {
    let sandbox = Sandbox::new();
    let path = session(&sandbox.manager, &["a"]);
    append(&path, answer("x", 0.5));
    let later = UnixMs(NOW.0 + 1);
    let reader = Reader::open(&path).unwrap();
    let mut fork = sandbox.manager.fork(&reader, None, later).unwrap();
    fork.append(answer("y", 0.25), later).unwrap();
    let costs: Vec<f64> = usage_since(&mut sandbox.refreshed(), UnixMs(0)).iter().map(|row| row.5).collect();
    assert_eq!(costs, [0.75]);
}
