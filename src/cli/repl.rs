//! `tiller --plain`: a line-based conversation on a terminal, or prompts from a pipe.

use std::io;

use super::first_prompt::{self, Stdin};
use super::frontend::FrontEnd;
use super::run_input::RunInput;
use super::signals;
use super::start::{print_notices, start, wire};

use super::failure::{CliFailure, DONE, FAILED, INTERRUPTED};
use super::trusted_project::TrustedProject;
use super::wiring::{add_local_models, key_variables, output_limits};
use super::{login, rules};
use crate::agent::Approver;
use crate::cli::console;
use crate::provider::demo;
use crate::repl::{self, InputMode, Outputs, ReplError, ReplExit, ReplOptions};

pub(super) async fn run(input: &RunInput, front: FrontEnd) -> Result<u8, CliFailure> {
    let arguments = &input.arguments;
    let wired = wire(input, front).await?;
    let cwd = wired.parts.manager.cwd().to_owned();
    let limits = output_limits(&input.config);
    let first = first_prompt::read_first_prompt(&arguments.message, &cwd, limits, Stdin::Ignore)?;
    let (prompt, prompt_options) = first.into_parts();
    let input_mode = match front.audience() {
        Approver::Present => InputMode::Conversation,
        Approver::Absent => InputMode::Batch,
    };
    let model = &wired.parts.first.model;
    let trusted = TrustedProject::new(input.project.clone());
    let options = ReplOptions {
        prompt: (!prompt.is_empty()).then_some(prompt),
        prompt_options,
        input_mode,
        keys: Some(login::credential_store(arguments, &trusted)),
        rules: Some(rules::rule_store(input, trusted)),
        echo_guard: (input_mode == InputMode::Conversation).then(login::echo_guard),
        banner: banner(input_mode, &model.reference().to_string(), model.facts.provider == demo::NAME),
    };
    let _scratch = wired.scratch;
    let agent = start(input, wired.parts).await?;
    add_local_models(input, agent.clone());
    print_notices(&wired.notices, &agent, "/queue lists them").await;
    let (interrupts, _watcher) = signals::forward_signals(agent.clone(), input_mode);
    let outputs = Outputs { out: console::stdout(), err: console::stderr() };
    match repl::run(agent, io::stdin(), outputs, interrupts, options).await {
        Ok(ReplExit::Done) => Ok(DONE),
        Ok(ReplExit::Failed) => Ok(FAILED),
        Ok(ReplExit::Interrupted) => Ok(INTERRUPTED),
        // The reader of stdout has exited.
        Err(ReplError::Output(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(DONE),
        Err(error) => Err(CliFailure::run(error)),
    }
}

fn banner(input_mode: InputMode, model: &str, is_demo: bool) -> Vec<String> {
    if input_mode == InputMode::Batch {
        return Vec::new();
    }
    let mut lines =
        vec![format!("tiller {} · {model} · /help lists the commands", env!("CARGO_PKG_VERSION"))];
    if is_demo {
        lines.push("This is the demo model: offline, with canned answers and real tool calls.".into());
        lines.push(format!("For a real model: /login, or set {} and restart tiller.", key_variables()));
    }
    lines
}
