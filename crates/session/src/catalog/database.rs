//! The catalog's tables in SQLite: what is known of each log, and an index of the words said in them.
//!
//! Everything here is made from the logs and may be thrown away at any time. The index holds no texts, only where each
//! word was said; texts are read from the logs when they are shown.

use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::log_record::{LogRecord, Look};
use super::scan::Stamp;

/// The tables' version; another one is thrown away if it is older, and left alone if it is newer.
const SCHEMA: i64 = 2;

/// How long a look-up waits for another tiller to write: a person waits for it.
const PATIENCE: Duration = Duration::from_millis(200);

/// How long the reading of many logs waits for that. What it finds is searched afterwards, and would be missing.
const LONG_PATIENCE: Duration = Duration::from_secs(5);

const TABLES: &str = "
    CREATE TABLE sessions (
        key INTEGER PRIMARY KEY,
        path BLOB NOT NULL UNIQUE,
        size INTEGER NOT NULL,
        modified INTEGER NOT NULL,
        inode INTEGER NOT NULL,
        cwd TEXT NOT NULL,
        digest TEXT NOT NULL
    );
    CREATE TABLE said (
        key INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        entry TEXT NOT NULL,
        position INTEGER NOT NULL,
        start INTEGER NOT NULL,
        length INTEGER NOT NULL,
        moment INTEGER NOT NULL
    );
    CREATE INDEX said_by_session ON said (session);
    CREATE VIRTUAL TABLE words USING fts5 (
        said, content = '', contentless_delete = 1, tokenize = 'unicode61 remove_diacritics 2'
    );
    PRAGMA user_version = 2;
";

/// The tables.
#[derive(Debug)]
pub(super) struct Database {
    connection: Connection,
    /// The file; `None` for one that goes with its connection.
    path: Option<PathBuf>,
}

/// A log as it was when it was looked at last.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) stamp: Stamp,
    pub(super) cwd: String,
}

/// An entry in which words were found.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    pub(super) entry: String,
    pub(super) position: usize,
    pub(super) start: u64,
    pub(super) length: usize,
    pub(super) moment: i64,
    pub(super) stamp: Stamp,
    pub(super) digest: LogRecord,
}

/// Which entries are looked through.
#[derive(Debug)]
pub(super) struct Extent<'a> {
    /// Logs beneath this folder.
    pub(super) root: &'a Path,
    /// Of this directory; `None` for all.
    pub(super) cwd: Option<&'a str>,
    /// At most so many.
    pub(super) limit: usize,
    /// What counts as one.
    pub(super) each: Each,
}

/// What a search finds.
#[derive(Clone, Copy, Debug)]
pub(super) enum Each {
    /// Every entry that says the words.
    Entry,
    /// The best entry of each session.
    Session,
}

impl Database {
    /// Opens the tables in a file, making it where there is none; one that is damaged or of an older version is made anew.
    pub(super) fn open(path: &Path) -> rusqlite::Result<Self> {
        match Self::open_once(path) {
            Err(error) if is_damage(&error) => {
                tracing::warn!(path = %path.display(), %error, "the catalog of sessions is damaged; it is made anew");
                Self::make_anew(path)
            }
            Ok(None) => {
                tracing::info!(path = %path.display(), "the catalog of sessions is of an older version; it is made anew");
                Self::make_anew(path)
            }
            Ok(Some(database)) => Ok(database),
            Err(error) => Err(error),
        }
    }

    /// Throws a file away and makes it anew.
    pub(super) fn make_anew(path: &Path) -> rusqlite::Result<Self> {
        for ending in ["", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            let _ = fs::remove_file(name);
        }
        Self::open_once(path)?.ok_or(rusqlite::Error::InvalidQuery)
    }

    /// Tables in a file of the system's own, which goes when this is dropped.
    pub(super) fn passing() -> rusqlite::Result<Self> {
        let connection = Connection::open("")?;
        connection.execute_batch(TABLES)?;
        Ok(Self { connection, path: None })
    }

    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// `None` when the tables are of an older version.
    fn open_once(path: &Path) -> rusqlite::Result<Option<Self>> {
        make_file(path).map_err(|error| {
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
            rusqlite::Error::SqliteFailure(code, Some(error.to_string()))
        })?;
        let connection = Connection::open(path)?;
        connection.busy_timeout(PATIENCE)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        // A power cut may cost the newest rows, which are read again; never the file.
        connection.pragma_update(None, "synchronous", "normal")?;
        let database = Self { connection, path: Some(path.to_owned()) };
        database.prepare().map(|is_current| is_current.then_some(database))
    }

    /// Makes the tables where there are none; false when they are of an older version.
    fn prepare(&self) -> rusqlite::Result<bool> {
        match self.version()? {
            SCHEMA => return Ok(true),
            0 => {}
            older if older < SCHEMA => return Ok(false),
            _ => return Err(rusqlite::Error::InvalidQuery),
        }
        let making = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        // Another tiller may have made them while this one waited.
        if self.version()? == 0 {
            making.execute_batch(TABLES)?;
        }
        making.commit()?;
        Ok(true)
    }

    fn version(&self) -> rusqlite::Result<i64> {
        self.connection.pragma_query_value(None, "user_version", |row| row.get(0))
    }

    /// Every log that is known beneath a folder.
    pub(super) fn known(&self, root: &Path) -> rusqlite::Result<Vec<(PathBuf, Known)>> {
        let prefix = prefix(root);
        let mut select = self.connection.prepare_cached(
            "SELECT path, size, modified, inode, cwd FROM sessions WHERE substr(path, 1, ?1) = ?2",
        )?;
        let known =
            |row: &Row<'_>| Ok((path_of(row.get(0)?), Known { stamp: stamp_of(row, 1)?, cwd: row.get(4)? }));
        select.query_map(params![prefix.len(), prefix], known)?.collect()
    }

    /// What is known of a log, and of which size and moment that is.
    pub(super) fn digest(&self, path: &Path) -> rusqlite::Result<Option<(Stamp, LogRecord)>> {
        let mut select = self
            .connection
            .prepare_cached("SELECT size, modified, inode, digest FROM sessions WHERE path = ?1")?;
        let found = |row: &Row<'_>| Ok((stamp_of(row, 0)?, digest_of(row.get(3)?)));
        let found = select.query_row([path.as_os_str().as_bytes()], found).optional()?;
        Ok(found.and_then(|(stamp, digest)| Some((stamp, digest?))))
    }

    /// Takes in what looks at logs found, all in one transaction. A log that another tiller read on meanwhile is left as it is.
    pub(super) fn store(&mut self, looks: &[(PathBuf, Stamp, u64, Look)]) -> rusqlite::Result<()> {
        let mut writing = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        for (path, stamp, from, look) in looks {
            store_one(&mut writing, path, stamp, *from, look)?;
        }
        writing.commit()
    }

    /// As [`Database::store`], waiting longer for another tiller that writes.
    pub(super) fn store_patiently(&mut self, looks: &[(PathBuf, Stamp, u64, Look)]) -> rusqlite::Result<()> {
        self.connection.busy_timeout(LONG_PATIENCE)?;
        let stored = self.store(looks);
        self.connection.busy_timeout(PATIENCE)?;
        stored
    }

    /// Forgets logs that are gone.
    pub(super) fn forget(&mut self, paths: &[PathBuf]) -> rusqlite::Result<()> {
        let writing = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        for path in paths {
            let path = path.as_os_str().as_bytes();
            let key: Option<i64> = writing
                .query_row("SELECT key FROM sessions WHERE path = ?1", [path], |row| row.get(0))
                .optional()?;
            if let Some(key) = key {
                forget_words(&writing, key)?;
                writing.execute("DELETE FROM sessions WHERE key = ?1", [key])?;
            }
        }
        writing.commit()
    }

    /// Where these words were said, the best first; of equals the newest.
    pub(super) fn places(&self, words: &str, extent: &Extent<'_>) -> rusqlite::Result<Vec<Place>> {
        let prefix = prefix(extent.root);
        // Scores are rounded, or no two would be equal and the moment never count.
        let mut select = self.connection.prepare_cached(
            "WITH found AS MATERIALIZED (
                 SELECT rowid AS key, round(bm25(words), 1) AS score FROM words WHERE words MATCH ?1
             ), ranked AS (
                 SELECT said.key, score, moment,
                     row_number() OVER (PARTITION BY said.session ORDER BY score, moment DESC) AS rank
                 FROM found JOIN said ON said.key = found.key JOIN sessions ON sessions.key = said.session
                 WHERE substr(path, 1, ?2) = ?3 AND (?4 IS NULL OR cwd = ?4)
             ), best AS MATERIALIZED (
                 SELECT key, score FROM ranked WHERE rank <= ?6 ORDER BY score, moment DESC LIMIT ?5
             )
             SELECT path, entry, position, start, length, moment, size, modified, inode, digest
             FROM best JOIN said ON said.key = best.key JOIN sessions ON sessions.key = said.session
             ORDER BY score, moment DESC",
        )?;
        let limit = i64::try_from(extent.limit).unwrap_or(i64::MAX);
        let each = match extent.each {
            Each::Entry => i64::MAX,
            Each::Session => 1,
        };
        let wanted = params![words, prefix.len(), prefix, extent.cwd, limit, each];
        let rows = select.query_map(wanted, place)?;
        rows.collect()
    }

    /// The parts of each text around these words, by the texts' places in the list. `marks` stand before and after a word.
    pub(super) fn snippets(
        &self,
        words: &str,
        texts: &[String],
        marks: [char; 2],
    ) -> rusqlite::Result<Vec<(usize, String)>> {
        self.connection.execute_batch(
            "CREATE VIRTUAL TABLE IF NOT EXISTS temp.shown USING fts5 (said, tokenize = 'unicode61 remove_diacritics 2');
             DELETE FROM temp.shown;",
        )?;
        let mut insert =
            self.connection.prepare_cached("INSERT INTO temp.shown (rowid, said) VALUES (?1, ?2)")?;
        for (at, text) in texts.iter().enumerate() {
            insert.execute(params![at, text])?;
        }
        let mut select = self.connection.prepare_cached(
            "SELECT rowid, snippet(shown, 0, ?2, ?3, '…', 24) FROM temp.shown WHERE shown MATCH ?1",
        )?;
        let [before, after] = marks.map(String::from);
        let rows = select.query_map(params![words, before, after], |row| Ok((row.get(0)?, row.get(1)?)))?;
        rows.collect()
    }
}

fn store_one(
    writing: &mut Transaction<'_>,
    path: &Path,
    stamp: &Stamp,
    from: u64,
    look: &Look,
) -> rusqlite::Result<()> {
    let bytes = path.as_os_str().as_bytes();
    let before = writing
        .prepare_cached("SELECT key, digest FROM sessions WHERE path = ?1")?
        .query_row([bytes], |row| Ok((row.get::<_, i64>(0)?, digest_of(row.get(1)?))))
        .optional()?;
    let upto = before.as_ref().and_then(|(_, digest)| digest.as_ref()).map(|digest| digest.extent.upto);
    if !look.anew && upto != Some(from) {
        return Ok(());
    }
    if let Some((key, _)) = before.filter(|_| look.anew) {
        forget_words(writing, key)?;
    }
    let digest = serde_json::to_string(&look.digest).expect("a digest has only string keys");
    let key: i64 = writing
        .prepare_cached(
            "INSERT INTO sessions (path, size, modified, inode, cwd, digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (path) DO UPDATE SET size = ?2, modified = ?3, inode = ?4, cwd = ?5, digest = ?6
             RETURNING key",
        )?
        .query_row(
            params![bytes, stamp.size, stamp.modified_ns, stamp.inode, look.digest.cwd, digest],
            |row| row.get(0),
        )?;
    let mut place = writing.prepare_cached(
        "INSERT INTO said (session, entry, position, start, length, moment) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let mut words = writing.prepare_cached("INSERT INTO words (rowid, said) VALUES (?1, ?2)")?;
    for said in &look.said {
        let moment = said.moment.0;
        let said_at =
            place.insert(params![key, said.entry, said.position, said.offset, said.length, moment])?;
        words.execute(params![said_at, said.words])?;
    }
    Ok(())
}

fn forget_words(writing: &Transaction<'_>, session: i64) -> rusqlite::Result<()> {
    writing
        .execute("DELETE FROM words WHERE rowid IN (SELECT key FROM said WHERE session = ?1)", [session])?;
    writing.execute("DELETE FROM said WHERE session = ?1", [session])?;
    Ok(())
}

/// Makes the file and its folder, for its owner's eyes only.
fn make_file(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    fs::OpenOptions::new().append(true).create(true).mode(0o600).open(path).map(drop)
}

/// Whether another process writes.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Whether the file itself is to blame.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => true,
        // A table that isn't there, or isn't what its version says.
        Some(ErrorCode::Unknown) => error.to_string().contains("no such "),
        Some(_) | None => false,
    }
}

fn prefix(root: &Path) -> Vec<u8> {
    let mut bytes = root.as_os_str().as_bytes().to_vec();
    if bytes.last() != Some(&b'/') {
        bytes.push(b'/');
    }
    bytes
}

fn path_of(bytes: Vec<u8>) -> PathBuf {
    std::ffi::OsString::from_vec(bytes).into()
}

fn stamp_of(row: &Row<'_>, at: usize) -> rusqlite::Result<Stamp> {
    Ok(Stamp { size: row.get(at)?, modified_ns: row.get(at + 1)?, inode: row.get(at + 2)? })
}

/// What can't be read is as good as unknown, and read from the log again.
fn digest_of(text: String) -> Option<LogRecord> {
    serde_json::from_str(&text).ok()
}

fn place(row: &Row<'_>) -> rusqlite::Result<Place> {
    Ok(Place {
        path: path_of(row.get(0)?),
        entry: row.get(1)?,
        position: row.get(2)?,
        start: row.get(3)?,
        length: row.get(4)?,
        moment: row.get(5)?,
        stamp: stamp_of(row, 6)?,
        digest: digest_of(row.get(9)?).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use tiller_core::unit::UnixMs;

    use super::*;
    use crate::catalog::log_record::Said;

    /// What two tillers find that read on from the same byte at the same time.
    fn look(upto: u64, words: &str, anew: bool) -> Look {
        let said = Said {
            entry: "e".into(),
            position: 0,
            offset: 1,
            length: 1,
            moment: UnixMs(0),
            words: words.into(),
        };
        let mut look = Look { said: vec![said], anew, ..Look::default() };
        look.digest.extent.upto = upto;
        look
    }

    #[test]
    fn what_two_tillers_read_at_once_is_kept_once() {
        let mut database = Database::passing().unwrap();
        let mut store = |from: u64, look: Look| {
            let stamp = Stamp { size: look.digest.extent.upto, modified_ns: 0, inode: 0 };
            database.store(&[("/s/a.jsonl".into(), stamp, from, look)]).unwrap();
            let extent = Extent { root: Path::new("/s"), cwd: None, limit: 9, each: Each::Entry };
            database.places("alpha", &extent).unwrap().len()
        };
        assert_eq!(store(0, look(10, "alpha", true)), 1);
        assert_eq!(store(10, look(20, "alpha", false)), 2);
        assert_eq!(store(10, look(20, "alpha", false)), 2, "the other one was first");
        assert_eq!(store(0, look(20, "alpha", true)), 1, "all of it anew");
    }
}
