//! `tiller --plain`: a conversation in the normal screen, or prompts from a pipe.

use std::io;

use super::first_prompt::{self, Stdin};
use super::frontend::FrontEnd;
use super::run::{RunInput, assembled, start, tell_first};
use super::signals;
use super::wiring::key_variables;
use super::wiring::output_limits;
use super::{CliFailure, DONE, FAILED, INTERRUPTED, login};
use crate::agent::Approver;
use crate::cli::console;
use crate::plain::{self, InputMode, Outputs, PlainError, PlainExit, PlainOptions};
use crate::provider::demo;

pub(super) async fn run(given: &RunInput, front: FrontEnd) -> Result<u8, CliFailure> {
    let arguments = &given.arguments;
    let assembled = assembled(given, front).await?;
    let cwd = assembled.parts.manager.cwd().to_owned();
    let limits = output_limits(&given.config);
    let first = first_prompt::first_prompt(&arguments.message, &cwd, limits, Stdin::Leave)?;
    let prompt = first.text();
    let manner = match front.audience() {
        Approver::Present => InputMode::Conversation,
        Approver::Absent => InputMode::Batch,
    };
    let model = &assembled.parts.first.model;
    let options = PlainOptions {
        prompt: (!prompt.is_empty()).then_some(prompt),
        attached: first.attached(),
        manner,
        keys: Some(login::desk(arguments, given.project.as_ref())),
        hush: (manner == InputMode::Conversation).then(login::hush),
        banner: banner(manner, &model.reference().to_string(), model.facts.provider == demo::NAME),
    };
    let _scratch = assembled.scratch;
    let agent = start(given, assembled.parts).await?;
    tell_first(&assembled.notices, &agent, "/queue lists them").await;
    let (interrupts, _watcher) = signals::pass_on(agent.clone(), manner);
    let outputs = Outputs { out: console::stdout(), err: console::stderr() };
    match plain::run(agent, io::stdin(), outputs, interrupts, options).await {
        Ok(PlainExit::Done) => Ok(DONE),
        Ok(PlainExit::Failed) => Ok(FAILED),
        Ok(PlainExit::Interrupted) => Ok(INTERRUPTED),
        // Whoever reads our output has seen enough.
        Err(PlainError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(DONE),
        Err(error) => Err(CliFailure::run(error)),
    }
}

fn banner(manner: InputMode, model: &str, is_demo: bool) -> Vec<String> {
    if manner == InputMode::Batch {
        return Vec::new();
    }
    let mut lines =
        vec![format!("tiller {}; {model} answers; /help lists what can be typed", env!("CARGO_PKG_VERSION"))];
    if is_demo {
        lines.push("This is the demo model: offline, its answers are canned, its tools really run.".into());
        let variables = key_variables();
        lines.push(format!("For a real model /login, or set {variables} and start tiller again."));
    }
    lines
}
