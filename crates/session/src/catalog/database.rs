//! The catalog's SQLite database: a record per log, a full-text index of messages, and usage over time.
//!
//! Everything is derived from the logs and may be deleted at any time. The index stores positions instead of
//! text, which is read from the logs when it is shown.

use std::fs;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use tiller_core::unit::UnixMs;

use super::log_record::{LogRecord, LogScan};
use super::scan::FileStamp;
use super::usage_table::{self, QuarterUsage};

/// Version of the tables. An older database is recreated, a newer one is left alone.
const SCHEMA_VERSION: i64 = 4;

/// Timeout of a lookup while another process is writing; short, because the user waits.
const BUSY_TIMEOUT: Duration = Duration::from_millis(200);

/// Timeout for scanning many logs; longer, because dropped results would be missing from the search.
const LONG_BUSY_TIMEOUT: Duration = Duration::from_secs(5);

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
";

#[derive(Debug)]
pub(super) struct Database {
    connection: Connection,
    /// The file; `None` for a temporary database, which is deleted with its connection.
    path: Option<PathBuf>,
}

/// State of a log at its last scan.
#[derive(Clone, Debug)]
pub(super) struct KnownLog {
    pub(super) stamp: FileStamp,
    pub(super) cwd: String,
}

/// An entry that matches a query.
#[derive(Debug)]
pub(super) struct EntryMatch {
    pub(super) path: PathBuf,
    pub(super) entry: String,
    pub(super) position: usize,
    pub(super) start: u64,
    pub(super) length: usize,
    pub(super) timestamp: i64,
    pub(super) stamp: FileStamp,
    pub(super) record: LogRecord,
}

#[derive(Debug)]
pub(super) struct SearchFilter<'a> {
    /// Only logs below this directory.
    pub(super) root: &'a Path,
    /// Only logs of this working directory; `None` for all.
    pub(super) cwd: Option<&'a str>,
    /// Maximum number of results.
    pub(super) limit: usize,
    pub(super) unit: SearchUnit,
}

/// The unit of search results.
#[derive(Clone, Copy, Debug)]
pub(super) enum SearchUnit {
    /// Every matching entry.
    Entry,
    /// The best entry of each session.
    Session,
}

impl Database {
    /// Opens the database file, creating it if needed; a damaged or older one is recreated.
    pub(super) fn open(path: &Path) -> rusqlite::Result<Self> {
        match Self::open_once(path) {
            Err(error) if is_damage(&error) => {
                tracing::warn!(path = %path.display(), %error, "the session catalog is damaged; it is rebuilt");
                Self::recreate(path)
            }
            Ok(None) => {
                tracing::info!(path = %path.display(), "the session catalog has an older version; it is rebuilt");
                Self::recreate(path)
            }
            Ok(Some(database)) => Ok(database),
            Err(error) => Err(error),
        }
    }

    /// Deletes the file and creates it again.
    pub(super) fn recreate(path: &Path) -> rusqlite::Result<Self> {
        for ending in ["", "-wal", "-shm"] {
            let mut name = path.as_os_str().to_owned();
            name.push(ending);
            let _ = fs::remove_file(name);
        }
        Self::open_once(path)?.ok_or(rusqlite::Error::InvalidQuery)
    }

    /// Opens a temporary database, deleted on drop.
    pub(super) fn temporary() -> rusqlite::Result<Self> {
        let connection = Connection::open("")?;
        create_tables(&connection)?;
        Ok(Self { connection, path: None })
    }

    pub(super) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Opens the file; `None` if its tables have an older version.
    fn open_once(path: &Path) -> rusqlite::Result<Option<Self>> {
        make_file(path).map_err(|error| {
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CANTOPEN);
            rusqlite::Error::SqliteFailure(code, Some(error.to_string()))
        })?;
        let connection = Connection::open(path)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.pragma_update(None, "journal_mode", "wal")?;
        // A power failure may lose the newest rows, which are then scanned again, but never damages the file.
        connection.pragma_update(None, "synchronous", "normal")?;
        let database = Self { connection, path: Some(path.to_owned()) };
        database.prepare().map(|is_current| is_current.then_some(database))
    }

    /// Creates missing tables; returns false if the tables have an older version.
    fn prepare(&self) -> rusqlite::Result<bool> {
        match self.version()? {
            SCHEMA_VERSION => return Ok(true),
            0 => {}
            older if older < SCHEMA_VERSION => return Ok(false),
            _ => return Err(rusqlite::Error::InvalidQuery),
        }
        let transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        // Another process may have created them while this one waited.
        if self.version()? == 0 {
            create_tables(&transaction)?;
        }
        transaction.commit()?;
        Ok(true)
    }

    fn version(&self) -> rusqlite::Result<i64> {
        self.connection.pragma_query_value(None, "user_version", |row| row.get(0))
    }

    /// Returns all known logs below a directory.
    pub(super) fn known(&self, root: &Path) -> rusqlite::Result<Vec<(PathBuf, KnownLog)>> {
        let prefix = prefix(root);
        let mut select = self.connection.prepare_cached(
            "SELECT path, size, modified, inode, cwd FROM sessions WHERE substr(path, 1, ?1) = ?2",
        )?;
        let read_row = |row: &Row<'_>| {
            Ok((path_from_bytes(row.get(0)?), KnownLog { stamp: read_stamp(row, 1)?, cwd: row.get(4)? }))
        };
        select.query_map(params![prefix.len(), prefix], read_row)?.collect()
    }

    /// Returns the record of a log, and the file stamp that it is for.
    pub(super) fn record(&self, path: &Path) -> rusqlite::Result<Option<(FileStamp, LogRecord)>> {
        let mut select = self
            .connection
            .prepare_cached("SELECT size, modified, inode, digest FROM sessions WHERE path = ?1")?;
        let read_row = |row: &Row<'_>| Ok((read_stamp(row, 0)?, parse_record(row.get(3)?)));
        let row = select.query_row([path.as_os_str().as_bytes()], read_row).optional()?;
        Ok(row.and_then(|(stamp, record)| Some((stamp, record?))))
    }

    /// Returns the usage of the logs below a directory, from the quarter of an hour that contains `since`.
    pub(super) fn usage_since(&self, root: &Path, since: UnixMs) -> rusqlite::Result<Vec<QuarterUsage>> {
        usage_table::select(&self.connection, &prefix(root), since)
    }

    /// Stores scan results in one transaction. A log that another process has already scanned further is
    /// skipped.
    pub(super) fn store(&mut self, scans: &[(PathBuf, FileStamp, u64, LogScan)]) -> rusqlite::Result<()> {
        let mut transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        for (path, stamp, start, scan) in scans {
            store_log(&mut transaction, path, stamp, *start, scan)?;
        }
        transaction.commit()
    }

    /// Like [`Database::store`], with the longer busy timeout.
    pub(super) fn store_with_long_timeout(
        &mut self,
        scans: &[(PathBuf, FileStamp, u64, LogScan)],
    ) -> rusqlite::Result<()> {
        self.connection.busy_timeout(LONG_BUSY_TIMEOUT)?;
        let stored = self.store(scans);
        self.connection.busy_timeout(BUSY_TIMEOUT)?;
        stored
    }

    /// Removes deleted logs.
    pub(super) fn remove(&mut self, paths: &[PathBuf]) -> rusqlite::Result<()> {
        let transaction = Transaction::new_unchecked(&self.connection, TransactionBehavior::Immediate)?;
        for path in paths {
            let path = path.as_os_str().as_bytes();
            let key: Option<i64> = transaction
                .query_row("SELECT key FROM sessions WHERE path = ?1", [path], |row| row.get(0))
                .optional()?;
            if let Some(key) = key {
                remove_words(&transaction, key)?;
                usage_table::remove(&transaction, key)?;
                transaction.execute("DELETE FROM sessions WHERE key = ?1", [key])?;
            }
        }
        transaction.commit()
    }

    /// Searches for entries, best matches first, then by time.
    pub(super) fn search(&self, words: &str, filter: &SearchFilter<'_>) -> rusqlite::Result<Vec<EntryMatch>> {
        let prefix = prefix(filter.root);
        // Scores are rounded; otherwise no two would be equal, and the time would never count.
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
        let limit = i64::try_from(filter.limit).unwrap_or(i64::MAX);
        let max_per_session = match filter.unit {
            SearchUnit::Entry => i64::MAX,
            SearchUnit::Session => 1,
        };
        let query_params = params![words, prefix.len(), prefix, filter.cwd, limit, max_per_session];
        let rows = select.query_map(query_params, read_match)?;
        rows.collect()
    }

    /// Returns snippets around the matched words, with the indices of their `texts`. `marks` enclose each
    /// match.
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

fn create_tables(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(TABLES)?;
    connection.execute_batch(usage_table::TABLE)?;
    connection.pragma_update(None, "user_version", SCHEMA_VERSION)
}

fn store_log(
    transaction: &mut Transaction<'_>,
    path: &Path,
    stamp: &FileStamp,
    start: u64,
    scan: &LogScan,
) -> rusqlite::Result<()> {
    let bytes = path.as_os_str().as_bytes();
    let stored_record = transaction
        .prepare_cached("SELECT key, digest FROM sessions WHERE path = ?1")?
        .query_row([bytes], |row| Ok((row.get::<_, i64>(0)?, parse_record(row.get(1)?))))
        .optional()?;
    let stored_end =
        stored_record.as_ref().and_then(|(_, record)| record.as_ref()).map(|record| record.progress.upto);
    if !scan.is_from_start && stored_end != Some(start) {
        return Ok(());
    }
    if let Some((key, _)) = stored_record.filter(|_| scan.is_from_start) {
        remove_words(transaction, key)?;
        usage_table::remove(transaction, key)?;
    }
    let record = serde_json::to_string(&scan.record).expect("a record has only string keys");
    let key: i64 = transaction
        .prepare_cached(
            "INSERT INTO sessions (path, size, modified, inode, cwd, digest) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (path) DO UPDATE SET size = ?2, modified = ?3, inode = ?4, cwd = ?5, digest = ?6
             RETURNING key",
        )?
        .query_row(
            params![bytes, stamp.size, stamp.modified_ns, stamp.inode, scan.record.cwd, record],
            |row| row.get(0),
        )?;
    usage_table::add(transaction, key, &scan.usage)?;
    let mut insert_position = transaction.prepare_cached(
        "INSERT INTO said (session, entry, position, start, length, moment) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    let mut words = transaction.prepare_cached("INSERT INTO words (rowid, said) VALUES (?1, ?2)")?;
    for text in &scan.texts {
        let timestamp_ms = text.timestamp.0;
        let row_id = insert_position.insert(params![
            key,
            text.entry,
            text.position,
            text.offset,
            text.length,
            timestamp_ms
        ])?;
        words.execute(params![row_id, text.text])?;
    }
    Ok(())
}

fn remove_words(transaction: &Transaction<'_>, session: i64) -> rusqlite::Result<()> {
    transaction
        .execute("DELETE FROM words WHERE rowid IN (SELECT key FROM said WHERE session = ?1)", [session])?;
    transaction.execute("DELETE FROM said WHERE session = ?1", [session])?;
    Ok(())
}

/// Creates the file and its directory, accessible by the owner only.
fn make_file(path: &Path) -> io::Result<()> {
    if let Some(dir) = path.parent() {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir)?;
    }
    fs::OpenOptions::new().append(true).create(true).mode(0o600).open(path).map(drop)
}

/// Returns true if another process is writing.
pub(super) fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => true,
        // A missing table or column.
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

fn path_from_bytes(bytes: Vec<u8>) -> PathBuf {
    std::ffi::OsString::from_vec(bytes).into()
}

fn read_stamp(row: &Row<'_>, at: usize) -> rusqlite::Result<FileStamp> {
    Ok(FileStamp { size: row.get(at)?, modified_ns: row.get(at + 1)?, inode: row.get(at + 2)? })
}

/// Parses a stored record; an invalid one counts as missing, and the log is read again.
fn parse_record(text: String) -> Option<LogRecord> {
    serde_json::from_str(&text).ok()
}

fn read_match(row: &Row<'_>) -> rusqlite::Result<EntryMatch> {
    Ok(EntryMatch {
        path: path_from_bytes(row.get(0)?),
        entry: row.get(1)?,
        position: row.get(2)?,
        start: row.get(3)?,
        length: row.get(4)?,
        timestamp: row.get(5)?,
        stamp: read_stamp(row, 6)?,
        record: parse_record(row.get(9)?).unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use tiller_core::unit::UnixMs;

    use super::*;
    use crate::catalog::log_record::SearchText;

    /// Creates a scan result, for two processes that read from the same byte at the same time.
    fn scan(end: u64, words: &str, is_from_start: bool) -> LogScan {
        let text = SearchText {
            entry: "e".into(),
            position: 0,
            offset: 1,
            length: 1,
            timestamp: UnixMs(0),
            text: words.into(),
        };
        let mut scan = LogScan { texts: vec![text], is_from_start, ..LogScan::default() };
        scan.record.progress.upto = end;
        scan
    }

    #[test]
    fn store_same_range_twice_is_stored_once() {
        let mut database = Database::temporary().unwrap();
        let mut store = |start: u64, scan: LogScan| {
            let stamp = FileStamp { size: scan.record.progress.upto, modified_ns: 0, inode: 0 };
            database.store(&[("/s/a.jsonl".into(), stamp, start, scan)]).unwrap();
            let filter = SearchFilter { root: Path::new("/s"), cwd: None, limit: 9, unit: SearchUnit::Entry };
            database.search("alpha", &filter).unwrap().len()
        };
        assert_eq!(store(0, scan(10, "alpha", true)), 1);
        assert_eq!(store(10, scan(20, "alpha", false)), 2);
        assert_eq!(store(10, scan(20, "alpha", false)), 2, "the other one was first");
        assert_eq!(store(0, scan(20, "alpha", true)), 1, "all of it anew");
    }
}
