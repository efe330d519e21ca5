//! Journeys through the real binary.
#![allow(clippy::unwrap_used, reason = "a test's helpers may fail it as well")]

mod support;

mod journeys {
    mod command_line;
    mod house;
    mod print;
    mod survival;
}
