//! Tiller: a coding agent's session as a thing that lasts.
pub mod agent;
pub mod event;
pub mod id;
pub mod message;
pub mod provider;
pub mod render;
pub mod session;
pub mod setting;
pub mod tool;
pub mod tui;
pub mod unit;
