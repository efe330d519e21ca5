//! The session log: a tree of entries in an append-only JSONL file, and the folder of such files.
//!
//! [`SessionManager`] makes, finds and opens logs. A [`Writer`] is the one who appends to a log; [`Reader`]s, of
//! which there may be many, look things up by position without disturbing it. The pure parts are in [`entry`], [`tree`]
//! and [`context`]. The format and its promises: docs/session-format.md.

mod branch_points;
mod catalog;
pub mod context;
mod disk;
pub mod entry;
mod error;
pub mod export;
mod fork;
mod head;
pub mod import;
mod index;
mod landing;
mod lines;
mod lock;
mod log;
mod manager;
pub mod marks;
mod migrate;
mod mint;
mod raw;
mod reader;
mod receipt;
mod repair;
mod tally;
mod trash;
pub mod tree;
mod verbs;
pub mod verify;
mod writer;

pub use branch_points::BranchPoints;
pub use catalog::{Backlog, Catalog, Hit, Listing, Page, Piece, Progress, SessionSummary};
pub use disk::{Disk, DiskFile, Facts, FileSystem, Identity};
pub use entry::{Entry, EntryBody};
pub use error::{SessionError, chain};
pub use head::Role;
pub use index::{EntryKind, Finding};
pub use landing::Landing;
pub use lock::{Holder, is_held};
pub use manager::{Placement, Scope, SessionManager};
pub use mint::Mint;
pub use reader::{Reader, Section};
pub use tally::{ModelUsage, Tally};
pub use trash::{Doomed, Farewell, take_back};
pub use verbs::{Summed, Visibility};
pub use writer::{Appended, Disturbance, Writer, sync};
