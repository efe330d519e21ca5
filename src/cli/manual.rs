//! `tiller completions` and `tiller man`, generated from the definition of the command line.

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

use super::args::CliArgs;
use super::failure::{CliFailure, DONE};
use super::stdout::write;

pub(super) fn completions(shell: Shell) -> Result<u8, CliFailure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut CliArgs::command(), "tiller", &mut script);
    write(&script)?;
    Ok(DONE)
}

pub(super) fn man_page() -> Result<u8, CliFailure> {
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(CliArgs::command()).render(&mut page);
    rendered.context("can't render the manual page").map_err(CliFailure::run)?;
    write(&page)?;
    Ok(DONE)
}
