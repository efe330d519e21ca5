//! The facade library, and rules about the source code of all crates.
#![allow(clippy::unwrap_used, reason = "a test's helpers may fail it as well")]

mod agents_page;
mod circles;
mod contributing;
mod edges;
mod embedding;
mod events_page;
mod export;
mod extending;
mod layers;
mod links;
mod names;
mod providers_page;
mod source_code;
mod tool_names;
mod tools_page;
