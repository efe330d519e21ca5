//! Journeys through the real binary.
#![allow(clippy::unwrap_used, reason = "a test's helpers may fail it as well")]

#[path = "support/picture.rs"]
mod picture;
#[path = "support/strict.rs"]
mod strict;
mod support;
#[path = "support/terminal.rs"]
mod terminal;

mod journeys {
    mod attacks;
    mod command_line;
    mod compaction;
    mod expansion;
    mod export;
    mod held;
    mod house;
    mod import;
    mod kills;
    mod login;
    mod plain;
    mod print;
    mod resuming;
    mod rpc;
    mod screen {
        mod approvals;
        mod attaching;
        mod branches;
        mod commands;
        mod endings;
        mod expansion;
        mod faults;
        mod keys;
        mod lists;
        mod login;
        mod moving;
        mod opening;
        mod queue;
        mod steering;
        mod talk;
        mod terminals;
        mod themes;
        mod tour;
        mod tree;
        mod typing;
        mod words;
    }
    mod shell;
    mod survival;
    mod trust;
    mod trying;
    mod verbs;
}
