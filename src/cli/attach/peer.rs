//! The process at the other end of a connection to this process's sessions.

use std::fs;
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use tokio::net::UnixStream;

use crate::files;

/// Maximum bytes of a process's status.
const MAX_STAT: u64 = 4 * 1024;

/// Maximum number of times that a walk is repeated because an ancestor has ended during it.
const MAX_WALKS: usize = 8;

/// Returns true if a tiller of this installation has started the process, as it starts the commands of its sessions.
/// Such a command must not control a session: it could approve its own calls and leave the sandbox. Known on Linux only;
/// a process that has ended or is unknown counts as started by tiller.
pub(super) fn is_started_by_tiller(stream: &UnixStream) -> bool {
    if !cfg!(target_os = "linux") {
        return false;
    }
    let process = stream.peer_cred().ok().and_then(|credentials| credentials.pid());
    let process = process.filter(|process| *process > 0);
    process.zip(program_of("self")).is_none_or(|(process, program)| descends_from(process, &program))
}

/// Returns true if an ancestor of the process runs the program. Orphaned commands are adopted by tiller, so they have it
/// as an ancestor too.
fn descends_from(process: i32, program: &Path) -> bool {
    (0..MAX_WALKS).find_map(|_| walk_to(process, program)).unwrap_or(true)
}

/// Walks up the ancestors; `None` if one has ended during the walk.
fn walk_to(mut process: i32, program: &Path) -> Option<bool> {
    while process > 1 {
        let Some(parent) = parent_of(process) else {
            // With `hidepid`, other users' processes can't be read, and none of them is the user's tiller.
            let is_hidden = kill(Pid::from_raw(process), None) == Err(Errno::EPERM);
            return is_hidden.then_some(false);
        };
        if program_of(&parent.to_string()).is_some_and(|found| found == program) {
            return Some(true);
        }
        process = parent;
    }
    Some(false)
}

fn parent_of(process: i32) -> Option<i32> {
    let stat = files::read_text(&PathBuf::from(format!("/proc/{process}/stat")), MAX_STAT).ok()?;
    // The name in parentheses may contain anything, and the state follows it.
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
}

/// Returns the executable of a process, also if an update has replaced the file since.
fn program_of(process: &str) -> Option<PathBuf> {
    let path = fs::read_link(format!("/proc/{process}/exe")).ok()?;
    Some(path.to_str().and_then(|path| path.strip_suffix(" (deleted)")).map_or(path.clone(), PathBuf::from))
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn descends_from_finds_any_ancestor() {
        let own = program_of("self").unwrap();
        // A shell between this process and the sleeping one.
        let mut child = Command::new("sh")
            .args(["-c", "sleep 60 & echo $!; wait"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(child.stdout.take().unwrap()), &mut line)
            .unwrap();
        let sleeping = line.trim().parse().unwrap();
        assert!(descends_from(sleeping, &own));
        assert!(!descends_from(sleeping, Path::new("/elsewhere/tiller")));
        assert!(!descends_from(std::process::id().try_into().unwrap(), &own), "it isn't its own ancestor");
        kill(Pid::from_raw(sleeping), nix::sys::signal::Signal::SIGKILL).unwrap();
        child.wait().unwrap();
        assert!(descends_from(sleeping, &own), "it has ended");
    }
}
