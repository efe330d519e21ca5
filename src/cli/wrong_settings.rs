//! Invalid settings in non-interactive sessions, where no warning is seen.

use anyhow::anyhow;

use super::failure::CliFailure;
use super::frontend::FrontEnd;
use crate::config::{Config, WrongSetting};

/// Rejects invalid settings in a non-interactive session: such a run must not use other settings than intended. A
/// person sees them as warnings instead and can fix them while working.
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
