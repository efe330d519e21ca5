//! The `tiller` command.

fn main() {}
