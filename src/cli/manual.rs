//! `tiller completions` and `tiller man`, generated from the definition of the command line.

use anyhow::Context;
use clap::CommandFactory;
use clap_complete::Shell;

use super::args::Arguments;
use super::out::write;
use super::{DONE, Failure};

pub(super) fn completions(shell: Shell) -> Result<u8, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "tiller", &mut script);
    write(&script)?;
    Ok(DONE)
}

pub(super) fn man_page() -> Result<u8, Failure> {
    let mut page = Vec::new();
    let rendered = clap_mangen::Man::new(Arguments::command()).render(&mut page);
    rendered.context("can't render the manual page").map_err(Failure::run)?;
    write(&page)?;
    Ok(DONE)
}
