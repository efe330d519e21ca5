//! The `tiller` command.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

/// Longest that the words of a piece of code may take: many times what they take when their language first appears.
const LONGEST_PIECE: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    // What tiller starts itself as, which is nothing for people to type.
    match arguments.next() {
        Some(first) if first == tiller::process::supervisor::NAME => {
            tiller::process::supervisor::main(arguments)
        }
        Some(first) if first == tiller::render::SERVICE => words(),
        Some(first) if first == tiller::html::SERVICE => {
            tiller::html::serve(arguments, io::stdout().lock(), io::stderr().lock())
        }
        _ => {
            hide_environment();
            tiller::cli::main(std::env::args_os())
        }
    }
}

/// Keeps other processes of the user from reading `/proc/PID/environ` and the memory of this one: commands of the model
/// run as the same user, and the environment may hold keys. It also means that there is no core dump.
fn hide_environment() {
    // Linux since 2.3.20; elsewhere there is no such file. Without it tiller works all the same.
    #[cfg(target_os = "linux")]
    let _ = nix::sys::prctl::set_dumpable(false);
}

/// Tells words of code apart for the tiller that started this one.
fn words() -> ExitCode {
    match tiller::render::serve(io::stdin().lock(), io::stdout().lock(), LONGEST_PIECE) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever asked is gone, or a piece takes for ever.
        Err(_) => ExitCode::FAILURE,
    }
}
