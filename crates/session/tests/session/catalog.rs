//! Many logs: what is known of them, what was said in them, and what happens when the catalog is gone or broken.

use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, SystemTime};

use serde_json::json;
use tiller_core::message::{
    AssistantBlock, AssistantMessage, BashExecutionMessage, ToolResultMessage, UserBlock,
};
use tiller_session::entry::TillerEntry;
use tiller_session::{Catalog, PageRequest, SearchHit, SessionScope};

use super::*;

impl Place {
    fn catalog_file(&self) -> PathBuf {
        self.root.path().join("state/sessions.db")
    }

    /// A manager that keeps its catalog in a file.
    fn kept(&self) -> SessionManager {
        self.manager.clone().with_catalog(self.catalog_file())
    }

    /// A catalog that has read every log.
    fn refreshed(&self) -> Catalog {
        let mut catalog = self.kept().catalog().unwrap();
        catalog.refresh(SessionScope::Everywhere, |_| ()).unwrap();
        catalog
    }
}

/// A session of a manager in which this was said.
fn session(manager: &SessionManager, texts: &[&str]) -> PathBuf {
    let mut writer = manager.create(NOW);
    for text in texts {
        say(&mut writer, text);
    }
    writer.reader().path().unwrap().to_owned()
}

fn append(path: &Path, body: EntryBody) {
    Writer::open(path).unwrap().append(body, NOW).unwrap();
}

fn touch(path: &Path, second: u64) {
    let moment = SystemTime::UNIX_EPOCH + Duration::from_secs(second);
    fs::File::options().append(true).open(path).unwrap().set_modified(moment).unwrap();
}

fn found(catalog: &mut Catalog, words: &str) -> Vec<String> {
    catalog.search(words, SessionScope::Everywhere, 20).unwrap().iter().map(marked).collect()
}

/// A hit's text with its match in brackets.
fn marked(hit: &SearchHit) -> String {
    let piece = |piece: &tiller_session::Snippet| match piece.matched {
        true => format!("[{}]", piece.text),
        false => piece.text.clone(),
    };
    hit.snippet.iter().map(piece).collect()
}

fn prompts(catalog: &mut Catalog) -> Vec<String> {
    let listing = catalog.page(SessionScope::Everywhere, PageRequest::default()).unwrap();
    listing.sessions.into_iter().filter_map(|session| session.first_prompt).collect()
}

fn answer(text: &str, cost: f64) -> EntryBody {
    let mut answer = AssistantMessage {
        content: vec![
            AssistantBlock::Thinking { thinking: "ponder".into(), thinking_signature: None },
            AssistantBlock::Text { text: text.into() },
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
    EntryBody::own(&TillerEntry::Run {
        mode: "test".into(),
        resumed: true,
        version: "0".into(),
        cwd: cwd.map(str::to_owned),
        remote: remote.map(str::to_owned),
    })
}

#[test]
fn a_summary_says_what_a_session_was_about_and_what_it_cost() {
    let place = Place::new();
    let path = session(&place.manager, &["fix the parser"]);
    append(&path, answer("done", 0.25));
    append(&path, EntryBody::SessionInfo { name: Some("parser".into()) });
    let listing = place.kept().list(SessionScope::ThisDirectory).unwrap();
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
fn what_was_said_is_found_and_what_was_printed_or_thought_is_not() {
    let place = Place::new();
    let path = session(&place.manager, &["naïve tokenizer"]);
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
    let mut catalog = place.refreshed();
    assert_eq!(found(&mut catalog, "NAIVE"), ["[naïve] tokenizer"]);
    assert_eq!(found(&mut catalog, "lexer fin"), ["the [lexer] is [fine]"]);
    assert_eq!(found(&mut catalog, "widgets"), ["make [widgets]"]);
    assert_eq!(found(&mut catalog, "secrets"), ["make [secrets]"]);
    assert_eq!(found(&mut catalog, "nom"), ["tried [nom]"]);
    assert_eq!(found(&mut catalog, "uberarb"), ["[Überarbeitung]"]);
    for silent in ["printed", "ponder", "tokenize ", "naive lexer", "\" OR 1", "*", ""] {
        assert_eq!(found(&mut catalog, silent), [""; 0], "{silent}");
    }
}

#[test]
fn a_hit_names_the_entry_and_the_newer_of_equals_comes_first() {
    let place = Place::new();
    let mut writer = place.manager.create(NOW);
    let older = writer.append(user("crlf here"), NOW).unwrap().remove(0).id;
    let newer = writer.append(user("crlf here"), UnixMs(NOW.0 + 5)).unwrap().remove(0).id;
    let hits = place.refreshed().search("crlf", SessionScope::Everywhere, 5).unwrap();
    let entries: Vec<_> = hits.iter().map(|hit| (&hit.entry, hit.timestamp)).collect();
    assert_eq!(entries, [(&newer, UnixMs(NOW.0 + 5)), (&older, NOW)]);
    let hits = place.refreshed().sessions_saying("crlf", SessionScope::Everywhere, 5).unwrap();
    assert_eq!(hits.len(), 1);
}

#[test]
fn a_search_of_one_directory_stays_in_it() {
    let place = Place::new();
    session(&place.manager, &["here crlf"]);
    session(&place.manager_of("/elsewhere"), &["there crlf"]);
    let mut catalog = place.refreshed();
    let hits = catalog.search("crlf", SessionScope::ThisDirectory, 5).unwrap();
    assert_eq!(hits.iter().map(marked).collect::<Vec<_>>(), ["here [crlf]"]);
    assert_eq!(found(&mut catalog, "crlf").len(), 2);
    // Another folder of sessions has nothing to do with it.
    let other = SessionManager::new(Placement::Flat(place.root.path().join("other")), CWD.into());
    let mut other = other.with_catalog(place.catalog_file()).catalog().unwrap();
    assert_eq!(found(&mut other, "crlf"), [""; 0]);
}

#[test]
fn what_was_appended_is_found_and_what_is_gone_is_not() {
    let place = Place::new();
    let path = session(&place.manager, &["alpha one"]);
    let other = session(&place.manager, &["alpha two"]);
    assert_eq!(found(&mut place.refreshed(), "alpha").len(), 2);
    append(&path, user("alpha three"));
    fs::remove_file(&other).unwrap();
    let mut catalog = place.refreshed();
    let mut said = found(&mut catalog, "alpha");
    said.sort();
    assert_eq!(said, ["[alpha] one", "[alpha] three"]);
    assert_eq!(prompts(&mut catalog), ["alpha one"]);
}

#[test]
fn a_log_that_was_written_anew_is_read_anew() {
    let place = Place::new();
    let path = session(&place.manager, &["alpha one"]);
    assert_eq!(found(&mut place.refreshed(), "alpha").len(), 1);
    let text = fs::read_to_string(&path).unwrap().replace("alpha one", "omega first of all");
    fs::write(&path, text).unwrap();
    let mut catalog = place.refreshed();
    assert_eq!(found(&mut catalog, "alpha"), [""; 0]);
    assert_eq!(found(&mut catalog, "omega"), ["[omega] first of all"]);
}

#[test]
fn a_log_of_which_only_the_middle_changed_is_read_anew() {
    let place = Place::new();
    let filler = "x ".repeat(5_000);
    let path = session(&place.manager, &[&filler, "alpha", &filler]);
    touch(&path, 100);
    assert_eq!(found(&mut place.refreshed(), "alpha").len(), 1);
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("alpha", "omega")).unwrap();
    touch(&path, 101);
    assert_eq!(found(&mut place.refreshed(), "omega"), ["[omega]"]);
    // Another file in its place, as long and as old.
    let anew = path.with_extension("new");
    fs::write(&anew, fs::read_to_string(&path).unwrap().replace("omega", "gamma")).unwrap();
    touch(&anew, 101);
    fs::rename(&anew, &path).unwrap();
    assert_eq!(found(&mut place.refreshed(), "gamma"), ["[gamma]"]);
}

#[test]
fn a_known_log_is_not_opened_again() {
    let place = Place::new();
    let path = session(&place.manager, &["alpha"]);
    touch(&path, 100);
    assert_eq!(prompts(&mut place.refreshed()), ["alpha"]);
    // As long and as old as before: only who opens it sees the difference.
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("alpha", "omega")).unwrap();
    touch(&path, 100);
    assert_eq!(prompts(&mut place.refreshed()), ["alpha"]);
    fs::remove_file(place.catalog_file()).unwrap();
    assert_eq!(prompts(&mut place.refreshed()), ["omega"]);
}

#[test]
fn a_page_reads_only_the_logs_that_it_shows() {
    let place = Place::new();
    let paths: Vec<PathBuf> =
        ["a", "b", "c", "d"].iter().map(|text| session(&place.manager, &[text])).collect();
    for (second, path) in (100..).zip(&paths) {
        touch(path, second);
    }
    let mut catalog = place.kept().catalog().unwrap();
    let page = |offset, limit| PageRequest { offset, limit: Some(limit) };
    let mut shown = |page| {
        let listing = catalog.page(SessionScope::ThisDirectory, page).unwrap();
        let texts: Vec<String> = listing.sessions.into_iter().filter_map(|s| s.first_prompt).collect();
        (texts.join(" "), listing.more)
    };
    assert_eq!(shown(page(0, 2)), ("d c".into(), true));
    assert_eq!(shown(page(2, 2)), ("b a".into(), false));
    assert_eq!(shown(page(4, 2)), (String::new(), false));
    fs::remove_file(place.catalog_file()).unwrap();
    let mut catalog = place.kept().catalog().unwrap();
    catalog.page(SessionScope::Everywhere, page(0, 1)).unwrap();
    let known = catalog.known(SessionScope::Everywhere).unwrap();
    assert!((1..4).contains(&known.len()), "{known:?}");
}

#[test]
fn a_broken_catalog_is_made_anew() {
    let place = Place::new();
    session(&place.manager, &["alpha"]);
    place.refreshed();
    fs::write(place.catalog_file(), "no database at all".repeat(500)).unwrap();
    for leftover in ["db-wal", "db-shm"] {
        let _ = fs::remove_file(place.catalog_file().with_extension(leftover));
    }
    assert_eq!(found(&mut place.refreshed(), "alpha"), ["[alpha]"]);
    // Of an older version, and with tables that aren't what they should be.
    for damage in ["PRAGMA user_version = -1", "DROP TABLE said", "DROP TABLE sessions"] {
        rusqlite::Connection::open(place.catalog_file()).unwrap().execute_batch(damage).unwrap();
        assert_eq!(found(&mut place.refreshed(), "alpha"), ["[alpha]"], "{damage}");
    }
}

#[test]
fn a_catalog_that_breaks_while_it_is_open_is_made_anew() {
    let place = Place::new();
    session(&place.manager, &["alpha"]);
    let mut catalog = place.refreshed();
    rusqlite::Connection::open(place.catalog_file()).unwrap().execute_batch("DROP TABLE said").unwrap();
    assert_eq!(found(&mut catalog, "alpha"), ["[alpha]"]);
}

#[test]
fn a_catalog_of_a_newer_tiller_is_left_alone() {
    let place = Place::new();
    session(&place.manager, &["alpha"]);
    place.refreshed();
    let open = || rusqlite::Connection::open(place.catalog_file()).unwrap();
    open().execute_batch("PRAGMA user_version = 99; DELETE FROM sessions").unwrap();
    assert_eq!(found(&mut place.refreshed(), "alpha"), ["[alpha]"]);
    let count = open().query_row("SELECT count(*) FROM sessions", [], |row| row.get::<_, i64>(0));
    assert_eq!(count.unwrap(), 0, "nothing was written into it");
}

#[test]
fn without_a_place_for_the_catalog_everything_works_all_the_same() {
    let place = Place::new();
    session(&place.manager, &["alpha"]);
    // A file stands where the folder should be.
    fs::write(place.root.path().join("state"), "").unwrap();
    let mut catalog = place.refreshed();
    assert_eq!(
        (prompts(&mut catalog), found(&mut catalog, "alp")),
        (vec!["alpha".into()], vec!["[alpha]".into()])
    );
    assert_eq!(catalog.page(SessionScope::ThisDirectory, PageRequest::default()).unwrap().sessions.len(), 1);
}

#[test]
fn only_its_owner_may_read_the_catalog() {
    let place = Place::new();
    session(&place.manager, &["alpha"]);
    let _catalog = place.refreshed();
    for ending in ["db", "db-wal"] {
        let mode = fs::metadata(place.catalog_file().with_extension(ending)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{ending}");
    }
    let folder = fs::metadata(place.catalog_file().parent().unwrap()).unwrap();
    assert_eq!(folder.permissions().mode() & 0o777, 0o700);
}

#[test]
fn two_catalogs_that_read_at_once_count_nothing_twice() {
    let place = Place::new();
    let path = session(&place.manager, &["alpha one"]);
    let (mut one, mut two) = (place.refreshed(), place.refreshed());
    append(&path, user("alpha two"));
    let (mut first, mut second) =
        (one.backlog(SessionScope::Everywhere).unwrap(), two.backlog(SessionScope::Everywhere).unwrap());
    assert_eq!((first.progress().done, first.progress().files), (0, 1));
    one.work(&mut first).unwrap();
    two.work(&mut second).unwrap();
    assert_eq!(found(&mut two, "alpha").len(), 2);
}

#[test]
fn words_name_a_session_by_id_then_name_then_what_was_said() {
    let place = Place::new();
    let parser = session(&place.manager, &["the lexer of crlf"]);
    let named = session(&place.manager, &["something else"]);
    append(&named, EntryBody::SessionInfo { name: Some("Crlf hunt".into()) });
    let id = Reader::open(&parser).unwrap().id().to_string();
    let mut catalog = place.kept().catalog().unwrap();
    let mut best = |words: &str| catalog.best(words, |_| ()).unwrap();
    assert_eq!(best(&id[id.len() - 6..]), Some(parser.clone()));
    assert_eq!(best("crlf"), Some(named));
    assert_eq!(best("lexer"), Some(parser));
    assert_eq!(best("nothing like that"), None);
}

#[test]
fn a_session_that_was_gone_on_with_elsewhere_is_at_home_there() {
    let place = Place::new();
    let path = session(&place.manager_of("/old/project"), &["moved"]);
    session(&place.manager, &["older"]);
    touch(&path, 4_000_000_000);
    assert_ne!(place.kept().most_recent().unwrap().as_ref(), Some(&path));
    place.refreshed();
    append(&path, run(Some(CWD), None));
    touch(&path, 4_000_000_001);
    assert_eq!(place.kept().most_recent().unwrap().as_ref(), Some(&path));
    let listing = place.kept().list(SessionScope::ThisDirectory).unwrap();
    assert_eq!(listing.sessions.iter().map(|s| s.cwd.as_str()).collect::<Vec<_>>(), [CWD, CWD]);
    let old = place.manager_of("/old/project").with_catalog(place.catalog_file());
    assert_eq!(old.most_recent().unwrap(), None);
    // And back again: without a word of its own a run is where the header says.
    append(&path, run(None, None));
    assert_eq!(old.most_recent().unwrap().as_ref(), Some(&path));
}

#[test]
fn a_project_that_moved_is_known_by_its_name_or_its_remote() {
    let place = Place::new();
    let by_name = session(&place.manager_of("/gone/project"), &["by name"]);
    let by_remote = session(&place.manager_of("/gone/other"), &["by remote"]);
    append(&by_remote, run(None, Some("git@host:me/project.git")));
    session(&place.manager_of("/gone/stranger"), &["a stranger"]);
    let there = place.root.path().join("project");
    fs::create_dir(&there).unwrap();
    session(&place.manager_of(there.to_str().unwrap()), &["still there"]);
    touch(&by_name, 300);
    touch(&by_remote, 200);
    let mut catalog = place.kept().catalog().unwrap();
    let mut moved = |remote| -> Vec<PathBuf> {
        catalog.moved_here(remote).unwrap().into_iter().map(|session| session.path).collect()
    };
    assert_eq!(moved(Some("https://host/me/project")), [by_name.clone(), by_remote]);
    assert_eq!(moved(None), [by_name]);
}

#[test]
fn without_the_catalog_a_session_is_at_home_where_it_was_gone_on_with_last() {
    let place = Place::new();
    let elsewhere = session(&place.manager, &["moved away"]);
    append(&elsewhere, run(Some("/elsewhere"), None));
    touch(&elsewhere, 4_000_000_000);
    assert_eq!(place.kept().most_recent().unwrap(), None);
    let here = session(&place.manager_of("/gone/old"), &["moved here"]);
    append(&here, run(Some(CWD), None));
    let moved = place.manager.catalog().unwrap().moved_here(None).unwrap();
    assert_eq!(moved.iter().map(|session| &session.path).collect::<Vec<_>>(), [&here]);
    assert_eq!(moved[0].cwd, CWD);
}

#[test]
fn every_fixture_that_opens_is_listed_with_what_the_reader_finds_in_it() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../sessions-fixtures");
    let manager = SessionManager::new(Placement::Flat(folder.clone()), CWD.into());
    let listing = manager.catalog().unwrap().page(SessionScope::Everywhere, PageRequest::default()).unwrap();
    let (mut listed, mut read) = (Vec::new(), Vec::new());
    for file in fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()) {
        let is_log = file.extension().is_some_and(|ending| ending == "jsonl");
        let Some(reader) = is_log.then(|| Reader::open(&file).ok()).flatten() else { continue };
        let summary = listing.sessions.iter().find(|summary| summary.path == file);
        listed.push(summary.map(|it| (it.path.clone(), it.entries, it.name.clone(), it.tokens, it.cost)));
        let usage = reader.usage();
        read.push(Some((file, reader.entry_count(), reader.name(), usage.total(), usage.cost.total)));
    }
    assert!(read.len() > 20, "{}", read.len());
    assert_eq!(listed, read);
}

#[test]
fn a_part_of_several_ids_says_how_many_unless_it_was_said_somewhere() {
    let place = Place::new();
    let folder = place.sessions().join("--home-dev-project--");
    fs::create_dir_all(&folder).unwrap();
    for id in ["beef1111", "beef2222"] {
        let header = HEADER.replace(r#""id":"s1""#, &format!(r#""id":"{id}""#));
        fs::write(folder.join(format!("{id}.jsonl")), format!("{header}\n")).unwrap();
    }
    let mut catalog = place.kept().catalog().unwrap();
    let error = catalog.best("beef", |_| ()).unwrap_err();
    assert_eq!(error.to_string(), "`beef` names 2 sessions; give more of the id");
    let said = session(&place.manager, &["roast beef"]);
    assert_eq!(catalog.best("beef", |_| ()).unwrap(), Some(said));
}

#[test]
fn one_session_that_says_a_word_often_does_not_hide_the_others() {
    let place = Place::new();
    let quiet = session(&place.manager, &["the crlf in a sentence of many other words, said once"]);
    let loud = session(&place.manager, &["crlf"; 40]);
    let hits = place.refreshed().sessions_saying("crlf", SessionScope::Everywhere, 2).unwrap();
    let paths: Vec<&PathBuf> = hits.iter().map(|hit| &hit.session.path).collect();
    assert_eq!(paths, [&loud, &quiet]);
}

#[test]
fn a_look_up_does_not_wait_for_another_tiller_that_writes() {
    let place = Place::new();
    session(&place.manager, &["alpha"]);
    place.refreshed();
    for text in ["one", "two", "three"] {
        session(&place.manager, &[text]);
    }
    let other = rusqlite::Connection::open(place.catalog_file()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let begun = std::time::Instant::now();
    let mut catalog = place.kept().catalog().unwrap();
    assert_eq!(catalog.page(SessionScope::ThisDirectory, PageRequest::default()).unwrap().sessions.len(), 4);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    // What was known is known still, and what is found from now on is kept in the file.
    assert_eq!(catalog.known(SessionScope::Everywhere).unwrap().len(), 1);
    other.execute_batch("ROLLBACK").unwrap();
    catalog.page(SessionScope::ThisDirectory, PageRequest::default()).unwrap();
    let count = other.query_row("SELECT count(*) FROM sessions", [], |row| row.get::<_, i64>(0));
    assert_eq!(count.unwrap(), 4);
}

#[test]
fn sessions_are_found_by_either_end_of_their_id_wherever_they_are() {
    let place = Place::new();
    let here = session(&place.kept(), &["one"]);
    let id = Reader::open(&here).unwrap().id().clone();
    let mut catalog = place.kept().catalog().unwrap();
    let mut paths = |part: &str, most| {
        let found = catalog.sessions_named(part, most).unwrap();
        found.into_iter().map(|session| session.path).collect::<Vec<_>>()
    };
    let (start, end) = (&id.as_str()[..12], id.short().to_lowercase());
    assert_eq!(paths(start, 9), std::slice::from_ref(&here));
    assert_eq!(paths(&end, 9), [here]);
    assert!(paths(&id.as_str()[1..9], 9).is_empty(), "neither end");
    assert!(paths(&end[3..], 9).is_empty(), "too short");
    assert!(paths(start, 0).is_empty(), "too many to mean one");
}
