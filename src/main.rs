//! The `tiller` command.

use std::io;
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    // What tiller starts itself as, which is nothing for people to type.
    match arguments.next() {
        Some(first) if first == tiller::process::helper::NAME => tiller::process::helper::main(arguments),
        Some(first) if first == tiller::render::SERVICE => words(),
        _ => tiller::cli::main(std::env::args_os()),
    }
}

/// Tells words of code apart for the tiller that started this one.
fn words() -> ExitCode {
    match tiller::render::serve(io::stdin().lock(), io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever asked is gone.
        Err(_) => ExitCode::FAILURE,
    }
}
