//! The process tree of the program: found, counted and killed.
//!
//! On Linux the supervisor adopts orphans, so all descendants of the program stay below it in the process
//! tree, even if they leave the group or the session. On other systems only the group is known, which a
//! daemon can leave.

use std::process::Child;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
#[cfg(target_os = "linux")]
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// The program and its descendants.
pub(super) struct ProcessTree {
    group: Pid,
}

/// Makes orphaned descendants children of the supervisor (child subreaper).
pub(super) fn adopt_orphans() {
    // Linux since 3.4. If it fails, the group is still killed.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_child_subreaper(true);
}

impl ProcessTree {
    /// Creates the tree of a program that leads its group.
    pub(super) fn new(program: &Child) -> Self {
        let pid = i32::try_from(program.id()).expect("a process id is a positive i32");
        Self { group: Pid::from_raw(pid) }
    }

    /// Returns true if no process is left. Call it only after waiting for the program itself, because it
    /// reaps ended children.
    #[cfg(target_os = "linux")]
    pub(super) fn is_gone(&self) -> bool {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => return false,
                Err(Errno::ECHILD) => return true,
                // EINVAL: ended by a real-time signal, which nix has no name for; the child is reaped anyway.
                Ok(_) | Err(Errno::EINVAL | Errno::EINTR) => {}
                Err(_) => return false,
            }
        }
    }

    /// Returns true if no process is left in the group.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn is_gone(&self) -> bool {
        killpg(self.group, None) == Err(Errno::ESRCH)
    }

    /// Sends SIGKILL to all processes; returns the number that received it. A zombie doesn't count.
    #[cfg(target_os = "linux")]
    pub(super) fn kill(&self) -> usize {
        let targets = descendants::list(Pid::this());
        // The group first, in one call: a process that forks faster than the tree is read would escape.
        let group = killpg(self.group, Signal::SIGKILL);
        match targets {
            Ok(targets) => {
                let outcomes = targets.into_iter().map(|pid| nix::sys::signal::kill(pid, Signal::SIGKILL));
                outcomes.filter(Result::is_ok).count()
            }
            Err(_) => usize::from(group.is_ok()),
        }
    }

    /// Sends SIGKILL to the group; returns 1 if any process received it, else 0.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn kill(&self) -> usize {
        usize::from(killpg(self.group, Signal::SIGKILL).is_ok())
    }
}

#[cfg(target_os = "linux")]
mod descendants {
    use std::{fs, io};

    use nix::unistd::Pid;

    /// The used fields of /proc/PID/stat.
    #[derive(Debug, PartialEq, Eq)]
    struct Stat {
        pid: i32,
        parent: i32,
        is_zombie: bool,
    }

    /// Lists all living processes below `ancestor`.
    pub(super) fn list(ancestor: Pid) -> io::Result<Vec<Pid>> {
        let stats: Vec<Stat> = fs::read_dir("/proc")?
            .flatten()
            .filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit))
            .filter_map(|entry| fs::read(entry.path().join("stat")).ok())
            .filter_map(|stat| parse(&String::from_utf8_lossy(&stat)))
            .collect();
        Ok(list_descendants(ancestor.as_raw(), &stats))
    }

    fn list_descendants(ancestor: i32, stats: &[Stat]) -> Vec<Pid> {
        let mut parents = vec![ancestor];
        let mut descendants = Vec::new();
        while let Some(parent) = parents.pop() {
            for child in stats.iter().filter(|stat| stat.parent == parent) {
                parents.push(child.pid);
                if !child.is_zombie {
                    descendants.push(Pid::from_raw(child.pid));
                }
            }
        }
        descendants
    }

    /// Parses `PID (NAME) STATE PARENT …`, proc_pid_stat(5). The name may contain any character, including
    /// parentheses and spaces.
    fn parse(stat: &str) -> Option<Stat> {
        let (pid, rest) = stat.split_once(" (")?;
        let (_, rest) = rest.rsplit_once(") ")?;
        let mut fields = rest.split(' ');
        let is_zombie = matches!(fields.next()?, "Z" | "X");
        Some(Stat { pid: pid.parse().ok()?, parent: fields.next()?.parse().ok()?, is_zombie })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn parse_name_with_parentheses_is_skipped() {
            let stat = parse("12 (evil) S 1 (x)) Z 7 12 12 0 -1").unwrap();
            assert_eq!(stat, Stat { pid: 12, parent: 7, is_zombie: true });
        }

        #[test]
        fn list_grandchild_of_zombie_is_found() {
            let stat = |pid, parent, is_zombie| Stat { pid, parent, is_zombie };
            let stats = [stat(5, 4, false), stat(4, 3, true), stat(3, 1, false), stat(9, 1, false)];
            assert_eq!(list_descendants(3, &stats), [Pid::from_raw(5)]);
        }
    }
}
