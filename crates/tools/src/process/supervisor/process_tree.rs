//! Everything the program started: found, counted and killed.
//!
//! On Linux the helper adopts orphans, so whatever the program started stays below it in the tree of processes, also
//! when it left the group or the session. Elsewhere there is only the group, which a daemon can leave.

use std::process::Child;

use nix::errno::Errno;
use nix::sys::signal::{Signal, killpg};
#[cfg(target_os = "linux")]
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// The program and all that descends from it.
pub(super) struct ProcessTree {
    group: Pid,
}

/// Lets processes whose parent has ended become the helper's children.
pub(super) fn adopt_orphans() {
    // Linux since 3.4. Should it fail after all, the group is still killed.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_child_subreaper(true);
}

impl ProcessTree {
    /// The family of a program that leads its group.
    pub(super) fn of(program: &Child) -> Self {
        let pid = i32::try_from(program.id()).expect("a process id is a positive i32");
        Self { group: Pid::from_raw(pid) }
    }

    /// Whether nobody is left. Call it only when the program itself has been waited for: it buries what has ended.
    #[cfg(target_os = "linux")]
    pub(super) fn is_gone(&self) -> bool {
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) => return false,
                Err(Errno::ECHILD) => return true,
                // EINVAL: ended by a real-time signal, which nix has no name for, and buried all the same.
                Ok(_) | Err(Errno::EINVAL | Errno::EINTR) => {}
                Err(_) => return false,
            }
        }
    }

    /// Whether nobody is left in the group.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn is_gone(&self) -> bool {
        killpg(self.group, None) == Err(Errno::ESRCH)
    }

    /// Sends everybody a kill; says how many got it. A zombie doesn't count.
    #[cfg(target_os = "linux")]
    pub(super) fn kill(&self) -> usize {
        let victims = descendants::of(Pid::this());
        // The group at one stroke first, or something that forks faster than it is counted gets away.
        let group = killpg(self.group, Signal::SIGKILL);
        match victims {
            Ok(victims) => {
                let outcomes = victims.into_iter().map(|pid| nix::sys::signal::kill(pid, Signal::SIGKILL));
                outcomes.filter(Result::is_ok).count()
            }
            Err(_) => usize::from(group.is_ok()),
        }
    }

    /// Sends everybody in the group a kill; says whether there was one to get it.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn kill(&self) -> usize {
        usize::from(killpg(self.group, Signal::SIGKILL).is_ok())
    }
}

#[cfg(target_os = "linux")]
mod descendants {
    use std::{fs, io};

    use nix::unistd::Pid;

    /// One line of /proc/PID/stat, as far as it matters.
    #[derive(Debug, PartialEq, Eq)]
    struct Stat {
        pid: i32,
        parent: i32,
        is_zombie: bool,
    }

    /// All living processes below `ancestor`.
    pub(super) fn of(ancestor: Pid) -> io::Result<Vec<Pid>> {
        let everybody: Vec<Stat> = fs::read_dir("/proc")?
            .flatten()
            .filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit))
            .filter_map(|entry| fs::read(entry.path().join("stat")).ok())
            .filter_map(|stat| parse(&String::from_utf8_lossy(&stat)))
            .collect();
        Ok(below(ancestor.as_raw(), &everybody))
    }

    fn below(ancestor: i32, everybody: &[Stat]) -> Vec<Pid> {
        let mut parents = vec![ancestor];
        let mut found = Vec::new();
        while let Some(parent) = parents.pop() {
            for child in everybody.iter().filter(|stat| stat.parent == parent) {
                parents.push(child.pid);
                if !child.is_zombie {
                    found.push(Pid::from_raw(child.pid));
                }
            }
        }
        found
    }

    /// `PID (NAME) STATE PARENT …`, proc_pid_stat(5). The name may hold anything, parentheses and spaces included.
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
        fn a_name_with_parentheses_does_not_confuse_the_fields() {
            let stat = parse("12 (evil) S 1 (x)) Z 7 12 12 0 -1").unwrap();
            assert_eq!(stat, Stat { pid: 12, parent: 7, is_zombie: true });
        }

        #[test]
        fn grandchildren_are_found_through_zombies() {
            let stat = |pid, parent, is_zombie| Stat { pid, parent, is_zombie };
            let everybody = [stat(5, 4, false), stat(4, 3, true), stat(3, 1, false), stat(9, 1, false)];
            assert_eq!(below(3, &everybody), [Pid::from_raw(5)]);
        }
    }
}
