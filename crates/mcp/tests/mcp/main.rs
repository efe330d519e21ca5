//! The client against a server that is written with the same SDK, over both transports.
#![allow(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as they do")]

mod elicitation;
#[path = "../../test-server/handler.rs"]
mod handler;
mod http;
mod login;
mod servers;
mod stdio;
