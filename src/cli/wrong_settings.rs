//! Settings that are wrong, where nobody sees a warning.

use anyhow::anyhow;

use super::failure::CliFailure;
use super::frontend::FrontEnd;
use crate::config::{Config, WrongSetting};

/// Rejects wrong settings where nobody watches: such a run must not use other settings than intended. A person
/// sees them as warnings instead and can fix them while working.
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
