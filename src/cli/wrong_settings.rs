//! Invalid settings in non-interactive sessions, where nobody sees a warning.

use anyhow::anyhow;

use super::failure::CliFailure;
use super::frontend::FrontEnd;
use crate::config::{Config, WrongSetting};

/// Rejects invalid settings in a non-interactive session, which must not run with other settings than
/// intended. In an interactive session they are warnings, and the user can fix them while working.
pub(super) fn reject_wrong_settings(config: &Config, front: FrontEnd) -> Result<(), CliFailure> {
    match &*config.invalid {
        _ if front.has_person() => Ok(()),
        [] => Ok(()),
        invalid => {
            let messages: Vec<String> = invalid.iter().map(|invalid| invalid.problem.clone()).collect();
            Err(CliFailure::usage(anyhow!(messages.join("\n       "))).hint(WrongSetting::HINT))
        }
    }
}
