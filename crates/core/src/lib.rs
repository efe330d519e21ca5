//! Types shared by all crates: ids, units, messages, events, the table of settings, terminal text and front
//! matter. No I/O, clock or tasks.
pub mod ansi;
pub mod background_job;
pub mod counted;
pub mod delegated_task;
pub mod elicitation;
pub mod entry_line;
pub mod event;
pub mod front_matter;
pub mod id;
pub mod json_error;
pub mod media;
pub mod message;
pub mod os_error;
pub mod proposed_rules;
pub mod protected_path;
pub mod setting;
pub mod skill_message;
pub mod suggest;
pub mod surrogates;
pub mod task_plan;
pub mod tool_catalog;
pub mod tool_spec;
pub mod unit;
pub mod usage_text;
