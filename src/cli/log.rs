//! Tiller's own log file, for those who look for a fault: never the screen, never a session.

use std::fs::{self, OpenOptions};
use std::sync::Mutex;

use tracing_subscriber::EnvFilter;

use crate::config::Config;
use crate::setting;

/// Begins to log to `tiller.log` in the state folder. A file that can't be made costs a warning, not the session.
pub(super) fn begin(config: &Config) -> Option<String> {
    let level = config.settings.text(&setting::LOG_LEVEL).unwrap_or("off");
    if level == "off" {
        return None;
    }
    let path = config.folders.state.join("tiller.log");
    let made = fs::create_dir_all(&config.folders.state)
        .and_then(|()| OpenOptions::new().append(true).create(true).open(&path));
    match made {
        Ok(file) => {
            // Only tiller's own words: what libraries log may hold what a user would not want in a file.
            let filter = EnvFilter::new(format!("off,tiller={level}"));
            let subscriber = tracing_subscriber::fmt()
                .with_env_filter(filter)
                .with_ansi(false)
                .with_writer(Mutex::new(file));
            // An embedder may have its own; then that one is used.
            let _ = subscriber.try_init();
            None
        }
        Err(error) => Some(format!("{}: can't be written: {error}", path.display())),
    }
}
