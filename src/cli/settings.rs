//! `tiller settings`: every setting, its value, and where that comes from.

use std::fmt::Write;

use super::args::CliArgs;
use super::stdout::say;
use super::trust::{self, TrustPrompt};
use super::{CliFailure, DONE};
use crate::cli::console::stderr_line;
use crate::config::{Config, WrongSetting};
use crate::setting::{Setting, TABLE};

pub(super) fn run(arguments: &CliArgs, json: bool) -> Result<u8, CliFailure> {
    let (config, _) = trust::config(arguments, TrustPrompt::Nobody)?;
    for warning in config.notices() {
        stderr_line!("warning: {warning}");
    }
    if json {
        let rows = rows(&config);
        say(&(serde_json::to_string_pretty(&rows).map_err(CliFailure::run)? + "\n"))?;
        return Ok(DONE);
    }
    let mut text = String::new();
    for setting in TABLE {
        let (value, source) = config.settings.value(setting);
        let value = value.map_or_else(|| "(unset)".to_owned(), ToString::to_string);
        let wrong =
            if wrong(&config, setting).is_some() { "  (what the file says is not taken)" } else { "" };
        let _ = writeln!(text, "{:<24} {:<16} {}{wrong}", setting.name, value, source);
        let _ = writeln!(text, "    {} [{}]", setting.about.trim(), setting.env_name());
    }
    say(&text)?;
    Ok(DONE)
}

/// What is wrong with this setting in a file.
fn wrong<'a>(config: &'a Config, setting: &Setting) -> Option<&'a WrongSetting> {
    config.wrong.iter().find(|wrong| wrong.setting == Some(setting))
}

/// Every setting as JSON.
pub(super) fn rows(config: &Config) -> Vec<serde_json::Value> {
    let row = |setting: &&Setting| {
        let (value, source) = config.settings.value(setting);
        let mut row = serde_json::json!({
            "name": setting.name,
            "value": value.map(ToString::to_string),
            "source": source.to_string(),
            "default": setting.default,
            "takes": setting.kind.to_string(),
            "environment": setting.env_name(),
            "about": setting.about.trim(),
        });
        if let Some(wrong) = wrong(config, setting) {
            row["wrong"] = wrong.what.clone().into();
        }
        row
    };
    TABLE.iter().map(row).collect()
}
