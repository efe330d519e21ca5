//! What tests and benchmarks of several crates share: a server that plays a model, a disk that fails, a program in a
//! pseudo-terminal, long logs, a strict reader of the log format, screens as SVG.
#![allow(missing_docs, reason = "used by tests only")]
#![allow(clippy::unwrap_used, reason = "a test that can't be set up has failed")]

pub mod faulty_disk;
pub mod format_check;
pub mod long_log;
pub mod mock_server;
pub mod svg;
pub mod terminal;
