//! Reading many logs, the newest first, some at a time.

use std::path::PathBuf;
use std::thread;

use super::log_record::{self, LogRecord, Look};
use super::scan::{File, Stamp};
use super::{Catalog, Standing, grown};
use crate::error::SessionError;
use crate::manager::SessionScope;

/// Logs that are read side by side, and kept in one transaction.
const BATCH: usize = 16;

/// Bytes after which a batch is full.
const BATCH_BYTES: u64 = 32 << 20;

/// Most threads that read logs; more would only wait for the disk.
const READERS: usize = 4;

/// Logs that a catalog has still to read.
#[derive(Debug, Default)]
pub struct IndexQueue {
    /// The newest last.
    todo: Vec<File>,
    files: usize,
    bytes: u64,
}

/// How far the reading of logs is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexProgress {
    /// Logs that are known.
    pub done: usize,
    /// Logs there are.
    pub files: usize,
    /// Bytes of the logs that are known.
    pub bytes_done: u64,
    /// Bytes of all.
    pub bytes: u64,
}

impl IndexQueue {
    /// How far it is.
    #[must_use]
    pub fn progress(&self) -> IndexProgress {
        let left: u64 = self.todo.iter().map(|file| file.stamp.size).sum();
        IndexProgress {
            done: self.files - self.todo.len(),
            files: self.files,
            bytes_done: self.bytes.saturating_sub(left),
            bytes: self.bytes,
        }
    }

    /// Whether all is read.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.todo.is_empty()
    }

    /// The next logs to read, the newest of them.
    fn take(&mut self) -> Vec<File> {
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < BATCH && bytes < BATCH_BYTES {
            let Some(file) = self.todo.pop() else { break };
            bytes += file.stamp.size;
            batch.push(file);
        }
        batch
    }
}

impl Catalog {
    /// The logs that have still to be read before a search finds everything.
    ///
    /// # Errors
    /// When a folder is there and can't be read.
    pub fn backlog(&mut self, scope: SessionScope) -> Result<IndexQueue, SessionError> {
        let survey = self.survey()?;
        let mut backlog = IndexQueue::default();
        for file in survey.files.iter().rev() {
            let wanted = match survey.standing(file) {
                Standing::Fresh(known) => {
                    if scope == SessionScope::ThisDirectory && known.cwd != self.cwd {
                        continue;
                    }
                    false
                }
                Standing::Stale => true,
                Standing::Unknown if scope == SessionScope::Everywhere => true,
                Standing::Unknown => {
                    if !self.may_be_here(file)
                        || log_record::header_cwd(&file.path).as_ref() != Some(&self.cwd)
                    {
                        continue;
                    }
                    true
                }
            };
            backlog.files += 1;
            backlog.bytes += file.stamp.size;
            if wanted {
                backlog.todo.push(file.clone());
            }
        }
        Ok(backlog)
    }

    /// Reads some of the logs of a backlog, the newest first, and keeps what they say.
    ///
    /// # Errors
    /// When it can't be kept anywhere.
    pub fn work(&mut self, backlog: &mut IndexQueue) -> Result<(), SessionError> {
        let mut todo = Vec::new();
        for file in backlog.take() {
            let before = self.ask(|database| database.digest(&file.path))?;
            let before = before.and_then(|before| grown(&file, before));
            todo.push((file, before));
        }
        let looks = side_by_side(todo);
        self.ask(|database| database.store_patiently(&looks))
    }

    /// Reads all logs that aren't known yet; `told` hears how far it is.
    ///
    /// # Errors
    /// As [`Catalog::backlog`] and [`Catalog::work`].
    pub fn refresh(
        &mut self,
        scope: SessionScope,
        mut told: impl FnMut(IndexProgress),
    ) -> Result<(), SessionError> {
        let mut backlog = self.backlog(scope)?;
        while !backlog.is_empty() {
            told(backlog.progress());
            let restarts = self.restarts;
            self.work(&mut backlog)?;
            if self.restarts != restarts {
                // What was known before is not known any more.
                backlog = self.backlog(scope)?;
            }
        }
        told(backlog.progress());
        Ok(())
    }
}

/// Looks into logs on several threads; one that can't be read is left out.
fn side_by_side(todo: Vec<(File, Option<LogRecord>)>) -> Vec<(PathBuf, Stamp, u64, Look)> {
    let readers = thread::available_parallelism().map_or(1, usize::from).min(READERS);
    let share = todo.len().div_ceil(readers).max(1);
    let mut todo = todo.into_iter();
    let shares = std::iter::from_fn(|| {
        let share: Vec<_> = todo.by_ref().take(share).collect();
        (!share.is_empty()).then_some(share)
    });
    thread::scope(|scope| {
        let tasks: Vec<_> = shares
            .map(|share| scope.spawn(|| share.into_iter().filter_map(look).collect::<Vec<_>>()))
            .collect();
        tasks.into_iter().flat_map(|task| task.join().unwrap_or_default()).collect()
    })
}

fn look((file, before): (File, Option<LogRecord>)) -> Option<(PathBuf, Stamp, u64, Look)> {
    let from = before.as_ref().map_or(0, |digest| digest.extent.upto);
    match log_record::look(&file.path, before) {
        Ok(look) => Some((file.path, file.stamp, from, look)),
        Err(error) => {
            tracing::warn!(path = %file.path.display(), %error, "the session can't be read");
            None
        }
    }
}
