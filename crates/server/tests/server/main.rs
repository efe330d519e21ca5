//! The API through its router, with a scripted model.
#![allow(clippy::unwrap_used, reason = "a test's helpers may fail it as well")]

mod access;
mod branches;
mod every_operation;
mod messages;
mod response_check;
mod session_files;
mod sessions;
mod stream;
mod support;
