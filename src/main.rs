//! The `tiller` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if arguments.next().is_some_and(|first| first == tiller::process::helper::NAME) {
        return tiller::process::helper::main(arguments);
    }
    tiller::cli::main(std::env::args_os())
}
