//! The session log: a tree of entries in an append-only JSONL file, and the folder of such files.
//!
//! [`SessionManager`] makes, finds and opens logs. A [`Writer`] is the one who appends to a log; [`Reader`]s, of
//! which there may be many, look things up by position without disturbing it. The pure parts are in [`entry`], [`tree`]
//! and [`context`]. The format and its promises: docs/session-format.md.

pub mod context;
pub mod entry;
mod error;
pub mod import;
mod index;
mod log;
mod manager;
mod mint;
mod reader;
pub mod tree;
mod writer;

pub use entry::{Entry, EntryBody};
pub use error::SessionError;
pub use index::{EntryKind, Finding};
pub use manager::{Listing, Placement, Scope, SessionManager, SessionSummary};
pub use mint::Mint;
pub use reader::Reader;
pub use writer::{Appended, Writer, sync};
