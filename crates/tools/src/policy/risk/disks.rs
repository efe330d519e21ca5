//! Judges programs that change disks, and writes to devices.

use std::path::Path;

use tiller_core::protected_path::follow_process_links;

use super::arguments::HARMLESS_DEVICES;
use super::kind::{Risk, RiskKind};

/// Prefixes of the names of disks in `/dev`.
const DISKS: &[&str] =
    &["disk", "dm-", "hd", "loop", "mapper", "md", "mmcblk", "nvme", "rdisk", "sd", "vd", "xvd", "zd"];

/// Programs that change a disk.
const DISK_TOOLS: &[&str] =
    &["blkdiscard", "cfdisk", "fdisk", "gdisk", "mke2fs", "mkntfs", "parted", "sfdisk", "sgdisk", "wipefs"];

/// Commands of `diskutil` that erase a disk or a volume, in lower case (macOS 15).
const ERASING_COMMANDS: &[&str] = &[
    "deletecontainer",
    "deletevolume",
    "erasedisk",
    "erasevolume",
    "partitiondisk",
    "randomdisk",
    "reformat",
    "secureerase",
    "zerodisk",
];

/// The options with which these programs only list.
const DISK_LISTINGS: &[(&str, &[&str])] = &[
    ("fdisk", &["-l", "--list"]),
    ("gdisk", &["-l"]),
    ("parted", &["-l", "--list"]),
    ("sfdisk", &["-J", "-d", "-l", "--dump", "--json", "--list"]),
    ("sgdisk", &["-p", "--print"]),
    ("wipefs", &["-n", "--no-act"]),
];

/// Programs some of whose commands change a disk.
const VOLUME_TOOLS: &[&str] = &[
    "badblocks",
    "cryptsetup",
    "hdparm",
    "lvremove",
    "mkswap",
    "nvme",
    "pvcreate",
    "pvremove",
    "vgremove",
    "zfs",
    "zpool",
];

/// Returns true for a program that changes disks or volumes.
pub(super) fn is_tool(name: &str) -> bool {
    changes_disk(name) || name == "diskutil" || VOLUME_TOOLS.contains(&name)
}

fn changes_disk(name: &str) -> bool {
    DISK_TOOLS.contains(&name) || name.starts_with("mkfs")
}

/// Finds the risk of a [tool](is_tool).
pub(super) fn judge_tool(name: &str, arguments: &[String]) -> Option<Risk> {
    let erases = |word: &String| ERASING_COMMANDS.contains(&word.to_ascii_lowercase().as_str());
    if name == "diskutil" && !arguments.iter().any(erases) {
        return None;
    }
    match changes_disk(name) || name == "diskutil" {
        true if lists_disks(name, arguments) => None,
        true => Some(Risk::new(RiskKind::Destroys, format!("changes a disk ({name})"))),
        false => Some(Risk::dangerous(format!("may change a disk ({name})"))),
    }
}

/// Returns true if a program that changes disks only lists one or all of them, or its own version.
fn lists_disks(name: &str, arguments: &[String]) -> bool {
    let is_version = |word: &String| ["--help", "--version"].contains(&word.as_str());
    if changes_disk(name) && arguments.iter().any(is_version) {
        return arguments.len() == 1;
    }
    let Some((_, listing)) = DISK_LISTINGS.iter().find(|(program, _)| *program == name) else { return false };
    let (options, operands): (Vec<_>, Vec<_>) = arguments.iter().partition(|word| word.starts_with('-'));
    let max_operands = usize::from(name != "parted");
    !options.is_empty()
        && options.iter().all(|word| listing.contains(&word.as_str()))
        && operands.len() <= max_operands
}

/// Returns true for the path of a device that a write may harm.
pub(super) fn is_device(path: &str) -> bool {
    let Some(name) = find_device_name(path) else { return false };
    !name.starts_with("shm/") && !HARMLESS_DEVICES.contains(&&*format!("/dev/{name}"))
}

/// Returns the name of a file in `/dev`.
fn find_device_name(path: &str) -> Option<String> {
    let real = follow_process_links(Path::new(path), Path::new(""));
    real.strip_prefix("/dev").ok().map(|name| name.display().to_string())
}

/// Returns the risk of a write to a device.
pub(super) fn write_to_device(path: &str) -> Risk {
    let is_disk = find_device_name(path).is_some_and(|name| DISKS.iter().any(|disk| name.starts_with(disk)));
    let kind = if is_disk { RiskKind::Destroys } else { RiskKind::Dangerous };
    Risk::new(kind, format!("writes to the device {path}"))
}
