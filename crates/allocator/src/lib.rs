//! Returns freed memory to the system. The only crate with unsafe code
//! (docs/decisions/0017-one-crate-has-unsafe-code.md).

/// Asks the C library to return its free memory to the system. glibc keeps free memory between allocations that are
/// in use; others return it by themselves, so there this does nothing. Meanwhile, other threads may have to wait for
/// memory.
pub fn return_free_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[expect(unsafe_code, reason = "glibc has no safe interface")]
    // SAFETY: it has no pointers as arguments, and any thread may call it at any time (malloc_trim(3)).
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod tests {
    use super::*;

    /// Returns the resident memory of the process in bytes (proc_pid_status(5)).
    fn resident() -> usize {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() * 1_024
    }

    #[test]
    fn free_memory_between_allocations_is_returned() {
        const SIZE: usize = 50_000_000;
        let blocks: Vec<Vec<u8>> = (0..SIZE / 1_000).map(|_| vec![1; 1_000]).collect();
        // One block in a hundred stays in use.
        let kept: Vec<Vec<u8>> =
            blocks.into_iter().enumerate().filter(|(at, _)| at % 100 == 0).map(|(_, block)| block).collect();
        let before = resident();
        return_free_memory();
        let returned = before.saturating_sub(resident());
        assert!(returned > SIZE / 2, "{returned} bytes of {SIZE}");
        assert_eq!(kept.len(), SIZE / 100_000);
    }
}
