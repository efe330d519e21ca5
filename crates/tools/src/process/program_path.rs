//! The path of the running program.

use std::io;
use std::path::PathBuf;

/// Returns the path of the running program, to start it again as a supervisor.
///
/// # Errors
/// If the system can't determine it (never on Linux).
pub fn this_program() -> io::Result<PathBuf> {
    // The link stays valid when an upgrade replaces the file; the path from `current_exe` would not.
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}
