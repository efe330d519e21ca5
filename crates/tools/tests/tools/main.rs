//! The built-in tools and child processes, through their public API and with the real supervisor.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as they do")]

mod built_in;
mod git;
mod github;
mod jobs;
mod process;
mod sandbox;
mod web_fetch;
mod workspace_attacks;
