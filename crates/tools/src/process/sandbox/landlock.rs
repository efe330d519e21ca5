//! Landlock, Linux's sandbox for programs without privileges: <https://docs.kernel.org/userspace-api/landlock.html>.

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope, path_beneath_rules,
};

use super::profile::{NetworkAccess, SandboxProfile, SandboxSupport};

/// Device files that commands write to. `pts` is the directory of terminals, for programs that create one.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
];

/// Returns the rights to create, change, move and remove files. Requests to devices (`ioctl`, from version 5)
/// and connections to local sockets (from version 9) aren't restricted, because builds use both.
fn writing() -> BitFlags<AccessFs> {
    AccessFs::from_write(ABI::V3)
}

/// Detects the version of the kernel's interface, up to 6: later versions add nothing that tiller uses.
pub(super) fn detect() -> SandboxSupport {
    let requires = || Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let steps = [
        requires().handle_access(AccessFs::from_all(ABI::V1)).is_ok(),
        requires().handle_access(AccessFs::Refer).is_ok(),
        requires().handle_access(AccessFs::Truncate).is_ok(),
        requires().handle_access(AccessNet::ConnectTcp).is_ok(),
        requires().handle_access(AccessFs::IoctlDev).is_ok(),
        requires().scope(Scope::Signal).is_ok(),
    ];
    match steps.into_iter().map_while(|is_supported| is_supported.then_some(())).count() {
        // Version 1 denies all moves between directories.
        0 | 1 => SandboxSupport::Missing,
        abi => SandboxSupport::Landlock { abi: u32::try_from(abi).unwrap_or(u32::MAX) },
    }
}

/// Restricts this thread and its future children. Also sets `no_new_privs`, so `sudo` has no effect.
pub(super) fn restrict(profile: &SandboxProfile) -> Result<(), String> {
    let status = try_restrict(profile).map_err(|error| format!("can't start the sandbox: {error}"))?;
    match status {
        RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
        RulesetStatus::NotEnforced => Err("can't start the sandbox: the kernel has no Landlock".into()),
    }
}

fn try_restrict(profile: &SandboxProfile) -> Result<RulesetStatus, RulesetError> {
    let mut ruleset = Ruleset::default().handle_access(writing())?;
    if profile.network == NetworkAccess::Denied {
        ruleset = ruleset.handle_access(AccessNet::from_all(ABI::V4))?;
    }
    let created = ruleset
        .create()?
        .add_rules(path_beneath_rules(DEVICES, writing()))?
        .add_rules(path_beneath_rules(&profile.writable, writing()))?;
    Ok(created.restrict_self()?.ruleset)
}
