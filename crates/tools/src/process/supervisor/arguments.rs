//! The arguments that make tiller's binary a supervisor.

/// The argument that makes tiller's binary run as the supervisor.
pub const NAME: &str = "__run";

/// The argument after [`NAME`] that passes stdin through and keeps stderr separate.
pub(crate) const CONVERSE: &str = "--converse";

/// The argument after [`NAME`] that makes the supervisor read its order from stdin.
pub(crate) const STANDBY: &str = "--standby";

/// The argument after [`NAME`] that makes the process the supervisor.
#[cfg(target_os = "linux")]
pub(super) const SUPERVISED: &str = "--supervised";
