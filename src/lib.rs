//! Tiller: a coding agent's session as a thing that lasts.
pub mod event;
pub mod id;
pub mod instructions;
pub mod message;
pub mod policy;
pub mod process;
pub mod provider;
pub mod setting;
pub mod tool;
pub mod unit;
pub mod workspace;
