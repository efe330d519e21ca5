//! The sandbox for a command: the files that it may write to, and whether it may use TCP.
//!
//! A [`SandboxProfile`] is passed with the command to the supervisor, as words before the program. On Linux
//! the supervisor restricts itself with Landlock before it starts the program, so that the program and all
//! its descendants inherit the restriction, which can't be lifted. The supervisor can still kill them. On
//! macOS the program is started through `sandbox-exec`.

#[cfg(target_os = "linux")]
mod landlock;
mod profile;
#[cfg(any(target_os = "macos", test))]
mod seatbelt;

pub use profile::{NetworkAccess, SandboxProfile, SandboxSupport};

impl SandboxSupport {
    /// Detects the support of the system.
    #[must_use]
    pub fn detect() -> Self {
        #[cfg(target_os = "linux")]
        return landlock::detect();
        #[cfg(target_os = "macos")]
        return seatbelt::detect();
        #[cfg(not(any(target_os = "linux", target_os = "macos")))]
        return Self::Missing;
    }
}

impl SandboxProfile {
    /// Restricts this process, which must have only one thread, and all processes that it starts later.
    ///
    /// # Errors
    /// If the kernel rejects the restriction, or has no Landlock.
    #[cfg(target_os = "linux")]
    pub(super) fn restrict_this_process(&self) -> Result<(), String> {
        landlock::restrict(self)
    }

    /// Returns the command that starts the program in the sandbox.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn wrap(&self, program: std::ffi::OsString) -> Vec<std::ffi::OsString> {
        #[cfg(target_os = "macos")]
        return seatbelt::wrap(self, program);
        #[cfg(not(target_os = "macos"))]
        return vec![program];
    }
}
