//! `tiller settings`: prints every setting with its value and source.

use serde::Serialize;
use std::fmt::Write;

use super::args::CliArgs;
use super::failure::{CliFailure, DONE};
use super::stdout::print_text;
use super::trust::{self, TrustPrompt};
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
        print_text(&(serde_json::to_string_pretty(&rows).map_err(CliFailure::run)? + "\n"))?;
        return Ok(DONE);
    }
    let mut text = String::new();
    let width = TABLE.iter().map(|setting| setting.name.len()).max().unwrap_or_default();
    for setting in TABLE {
        let (value, source) = config.settings.value(setting);
        let value = value.map_or_else(|| "(unset)".to_owned(), ToString::to_string);
        let note =
            if problem(&config, setting).is_some() { "  (the value in the file is invalid)" } else { "" };
        let _ = writeln!(text, "{:<width$} {:<16} {}{note}", setting.name, value, source);
        let _ = writeln!(text, "    {} [{}]", setting.about.trim(), setting.env_name());
    }
    if !config.hooks.is_empty() {
        let _ = writeln!(text, "hooks\n    {}", config.hooks.list().join("\n    "));
    }
    print_text(&text)?;
    Ok(DONE)
}

/// Finds the problem with this setting in a settings file, if any.
fn problem<'a>(config: &'a Config, setting: &Setting) -> Option<&'a WrongSetting> {
    config.invalid.iter().find(|problem| problem.setting == Some(setting))
}

/// A setting as JSON.
#[derive(Serialize)]
pub(super) struct SettingRow<'a> {
    name: &'static str,
    value: Option<String>,
    source: String,
    default: &'static str,
    takes: String,
    environment: String,
    about: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    wrong: Option<&'a str>,
}

pub(super) fn rows(config: &Config) -> Vec<SettingRow<'_>> {
    let row = |setting: &&'static Setting| {
        let (value, source) = config.settings.value(setting);
        SettingRow {
            name: setting.name,
            value: value.map(ToString::to_string),
            source: source.to_string(),
            default: setting.default,
            takes: setting.kind.to_string(),
            environment: setting.env_name(),
            about: setting.about.trim(),
            wrong: problem(config, setting).map(|problem| problem.problem.as_str()),
        }
    };
    TABLE.iter().map(row).collect()
}
