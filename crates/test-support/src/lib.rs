//! Shared support for tests and benchmarks: a mock model server, a faulty file system, a program in a
//! pseudo-terminal, long logs, a strict checker of the log format, and screens as SVG.
#![allow(missing_docs, reason = "used by tests only")]
#![allow(clippy::unwrap_used, reason = "a test that can't be set up has failed")]

pub mod faulty_disk;
pub mod format_check;
pub mod long_log;
pub mod mock_server;
pub mod svg;
pub mod terminal;
