//! End-to-end tests through the real binary.
#![allow(clippy::unwrap_used, reason = "a test's helpers may fail it as well")]

mod agents;
mod attacks;
mod command_line;
mod compaction;
mod doctor;
mod expansion;
mod export;
mod hooks;
mod import;
mod kills;
mod locked_sessions;
mod login;
mod mcp;
mod memory;
mod plain;
mod policy;
mod print;
mod providers;
mod resuming;
mod retries;
mod rpc;
mod sandbox;
mod sandboxed_commands;
mod screen {
    mod approvals;
    mod attaching;
    mod branches;
    mod commands;
    mod endings;
    mod expansion;
    mod faults;
    mod jobs;
    mod keys;
    mod lists;
    mod login;
    mod moving;
    mod opening;
    mod plan;
    mod plan_mode;
    mod prompting;
    mod queue;
    mod saved_rules;
    mod steering;
    mod terminals;
    mod themes;
    mod tour;
    mod tree;
    mod typing;
    mod workers;
}
mod session_commands;
mod shell;
mod stats;
mod survival;
mod trust;
