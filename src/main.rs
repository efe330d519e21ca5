//! The `tiller` command: the command line, and the worker processes that it starts.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

/// Time limit for one highlighting request, many times the duration of the first use of a language.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    // The arguments that start worker processes; users never type them.
    match arguments.next() {
        Some(first) if first == tiller::process::supervisor::NAME => {
            tiller::process::supervisor::main(arguments)
        }
        Some(first) if first == tiller::render::WORKER_ARGUMENT => highlight(),
        Some(first) if first == tiller::html::WORKER_ARGUMENT => {
            tiller::html::run_worker(arguments, io::stdout().lock(), io::stderr().lock())
        }
        _ => {
            hide_environment();
            tiller::cli::main(std::env::args_os())
        }
    }
}

/// Prevents the user's other processes from reading this one's memory and `/proc/PID/environ`: the model's
/// commands run as the same user, and the environment may contain keys. It also disables core dumps.
fn hide_environment() {
    // Linux since 2.3.20; other systems have no such file. If it fails, tiller works without it.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_dumpable(false);
}

/// Highlights code for the tiller process that started this one.
fn highlight() -> ExitCode {
    match tiller::render::serve_highlighting(io::stdin().lock(), io::stdout().lock(), REQUEST_TIMEOUT) {
        Ok(()) => ExitCode::SUCCESS,
        // The parent has exited, or a request exceeded the time limit.
        Err(_) => ExitCode::FAILURE,
    }
}
