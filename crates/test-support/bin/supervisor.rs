//! The supervisor as a separate program, for tests of crates that don't build `tiller`.

use std::process::ExitCode;

use tiller_tools::process::supervisor;

fn main() -> ExitCode {
    supervisor::main(std::env::args_os().skip(2))
}
