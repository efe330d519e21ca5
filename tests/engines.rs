//! The engines through their public faces.
#![allow(clippy::unwrap_used, reason = "a test's helpers may fail it as well")]

#[path = "../examples/embed.rs"]
#[allow(dead_code, reason = "its main is for whoever runs it")]
mod embed_example;
#[path = "support/long_log.rs"]
mod long_log;
#[path = "support/strict.rs"]
mod strict;
mod support;

mod engines {
    mod agent;
    mod edges;
    mod export;
    mod extending;
    mod faulty;
    mod layers;
    mod process;
    mod session;
    mod source_code;
    mod tools;
}
