//! The session log: a tree of entries in an append-only JSONL file, and the directory of such files.
//!
//! [`SessionManager`] creates, finds and opens logs. A log has one [`Writer`]; any number of [`Reader`]s read
//! it by position without blocking the writer. The pure parts are in [`entry`], [`tree`] and [`context`].
//! docs/session-format.md describes the format and its guarantees.

mod agents_dir;
pub mod annotations;
mod branch_points;
mod catalog;
pub mod context;
mod delete;
mod delivery_receipt;
mod encoded_head;
pub mod entry;
mod entry_kind;
mod error;
pub mod export;
mod fnv;
mod fork;
mod fs;
mod graft;
mod id_gen;
pub mod import;
mod index;
mod json;
mod line_scan;
mod lines;
mod lock;
mod lock_holder;
mod log;
mod lossy;
mod manager;
mod migrate;
mod mirror;
mod navigation;
mod operations;
mod raw;
mod reader;
mod speaker;
mod totals;
pub mod tree;
pub mod verify;
mod writer;

pub use branch_points::BranchPoints;
pub use catalog::{
    Catalog, IndexProgress, IndexQueue, PageRequest, QuarterUsage, SearchHit, SessionList, SessionSummary,
    Snippet,
};
pub use delete::{DeleteMode, PendingDelete, restore_from_trash};
pub use entry::{Entry, EntryBody};
pub use entry_kind::EntryKind;
pub use error::{SessionError, chain};
pub use fs::{FileIdentity, FileMetadata, Fs, FsFile, OsFs};
pub use graft::Graft;
pub use id_gen::IdGenerator;
pub use index::Finding;
pub use json::{entries_json, tree_json};
pub use line_scan::LineRole;
pub use lock::{is_locked, lock_holder};
pub use lock_holder::{LockHolder, host_name};
pub use manager::{Placement, SessionManager, SessionScope};
pub use mirror::MirrorLog;
pub use navigation::NavigationTarget;
pub use operations::{BranchSummaryText, Visibility, normalize_name};
pub use reader::{Reader, Section};
pub use speaker::{Speaker, UNANSWERED};
pub use totals::{ModelUsage, Totals};
pub use writer::{AppendedEntry, ExternalChange, Writer, sync};
