//! Scanning of many logs in batches, the newest first.

use std::path::PathBuf;
use std::thread;

use super::log_record::{self, LogRecord, LogScan};
use super::scan::{FileStamp, LogFile};
use super::{Catalog, RecordState, if_appended_only};
use crate::error::SessionError;
use crate::manager::SessionScope;

/// Maximum number of logs per batch; they are scanned in parallel and stored in one transaction.
const BATCH: usize = 16;

/// Number of bytes after which a batch is full.
const BATCH_BYTES: u64 = 32 << 20;

/// Maximum number of threads that read logs; more would only wait for the disk.
const MAX_READERS: usize = 4;

/// Logs without an up-to-date record.
#[derive(Debug, Default)]
pub struct IndexQueue {
    /// The logs to scan, the newest last.
    pending: Vec<LogFile>,
    files: usize,
    bytes: u64,
}

/// Progress of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexProgress {
    /// Number of scanned logs.
    pub done: usize,
    /// Number of all logs.
    pub files: usize,
    /// Bytes of the scanned logs.
    pub bytes_done: u64,
    /// Bytes of all logs.
    pub bytes: u64,
}

impl IndexQueue {
    /// The progress so far.
    #[must_use]
    pub fn progress(&self) -> IndexProgress {
        let pending_bytes: u64 = self.pending.iter().map(|file| file.stamp.size).sum();
        IndexProgress {
            done: self.files - self.pending.len(),
            files: self.files,
            bytes_done: self.bytes.saturating_sub(pending_bytes),
            bytes: self.bytes,
        }
    }

    /// Returns true if no log is left.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Removes and returns the next batch, the newest logs.
    fn next_batch(&mut self) -> Vec<LogFile> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < BATCH && bytes < BATCH_BYTES {
            let Some(file) = self.pending.pop() else { break };
            bytes += file.stamp.size;
            batch.push(file);
        }
        batch
    }
}

impl Catalog {
    /// Returns the logs to scan before a search covers all logs.
    ///
    /// # Errors
    /// If a directory exists but can't be read.
    pub fn index_queue(&mut self, scope: SessionScope) -> Result<IndexQueue, SessionError> {
        let scan = self.scan()?;
        let mut queue = IndexQueue::default();
        for file in scan.files.iter().rev() {
            let is_stale = match scan.record_state(file) {
                RecordState::Fresh(known) => {
                    if scope == SessionScope::ThisDirectory && known.cwd != self.cwd {
                        continue;
                    }
                    false
                }
                RecordState::Stale => true,
                RecordState::Unknown if scope == SessionScope::Everywhere => true,
                RecordState::Unknown => {
                    if !self.may_belong_to_cwd(file)
                        || log_record::header_cwd(&file.path).as_ref() != Some(&self.cwd)
                    {
                        continue;
                    }
                    true
                }
            };
            queue.files += 1;
            queue.bytes += file.stamp.size;
            if is_stale {
                queue.pending.push(file.clone());
            }
        }
        Ok(queue)
    }

    /// Scans the next batch of a queue, the newest logs first, and stores the results.
    ///
    /// # Errors
    /// If the results can't be stored.
    pub fn index_next(&mut self, queue: &mut IndexQueue) -> Result<(), SessionError> {
        let mut files = Vec::new();
        for file in queue.next_batch() {
            let record = self.with_database(|database| database.record(&file.path))?;
            let record = record.and_then(|record| if_appended_only(&file, record));
            files.push((file, record));
        }
        let scans = scan_in_parallel(files);
        self.with_database(|database| database.store_with_long_timeout(&scans))
    }

    /// Scans all logs without an up-to-date record; `on_progress` is called between batches.
    ///
    /// # Errors
    /// Returns the same errors as [`Catalog::index_queue`] and [`Catalog::index_next`].
    pub fn refresh(
        &mut self,
        scope: SessionScope,
        mut on_progress: impl FnMut(IndexProgress),
    ) -> Result<(), SessionError> {
        let mut queue = self.index_queue(scope)?;
        while !queue.is_empty() {
            on_progress(queue.progress());
            let restarts = self.restarts;
            self.index_next(&mut queue)?;
            if self.restarts != restarts {
                // The database was recreated empty.
                queue = self.index_queue(scope)?;
            }
        }
        on_progress(queue.progress());
        Ok(())
    }
}

/// Scans logs on several threads; unreadable ones are omitted.
fn scan_in_parallel(files: Vec<(LogFile, Option<LogRecord>)>) -> Vec<(PathBuf, FileStamp, u64, LogScan)> {
    let threads = thread::available_parallelism().map_or(1, usize::from).min(MAX_READERS);
    let chunk = files.len().div_ceil(threads).max(1);
    let mut files = files.into_iter();
    let chunks = std::iter::from_fn(|| {
        let chunk: Vec<_> = files.by_ref().take(chunk).collect();
        (!chunk.is_empty()).then_some(chunk)
    });
    thread::scope(|scope| {
        let tasks: Vec<_> = chunks
            .map(|chunk| scope.spawn(|| chunk.into_iter().filter_map(scan_file).collect::<Vec<_>>()))
            .collect();
        tasks.into_iter().flat_map(|task| task.join().unwrap_or_default()).collect()
    })
}

fn scan_file((file, record): (LogFile, Option<LogRecord>)) -> Option<(PathBuf, FileStamp, u64, LogScan)> {
    let start = record.as_ref().map_or(0, |record| record.progress.upto);
    match log_record::scan_log(&file.path, record) {
        Ok(scan) => Some((file.path, file.stamp, start, scan)),
        Err(error) => {
            tracing::warn!(path = %file.path.display(), %error, "the session can't be read");
            None
        }
    }
}
