//! Hooks as commands in settings files, in the format of Claude Code: docs/hooks.md.
//!
//! All commands together form one extension. The commands that match an event run in parallel, and the
//! strictest answer applies.

mod answer;
mod run;
mod settings;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Map, Value, json};
use tiller_core::event::{CompactionReason, Event, EventKind};
use tiller_core::id::CallId;
use tiller_core::message::{ToolCall, UserBlock, joined_text};
use tiller_tools::tool::ToolOutput;

use super::host::WarningSender;
use super::{
    CallVerdict, EventDetail, Extension, Extensions, HookError, HookFuture, PromptVerdict, ResultChange,
    RunEnd, RunEndVerdict, SessionOpening,
};
use answer::{HookAnswer, HookDecision};
use settings::{HookCommand, HookMoment};

pub use run::HookEnvironment;
pub use settings::{HookProblems, HookSettings};

/// Added to the longest time limit of a command, because killing it takes a moment.
const KILL_TIME: Duration = Duration::from_secs(5);

/// Maximum length of a command line in a message, in characters.
const MAX_QUOTE: usize = 60;

/// The argument that names a file.
const PATH: &str = "path";

/// Claude Code's name for it.
const FILE_PATH: &str = "file_path";

impl Extensions {
    /// Adds the commands in settings files as one extension, if there are any. Add it last, so that it sees
    /// the arguments of calls after all other changes.
    pub fn add_commands(&mut self, settings: HookSettings, environment: HookEnvironment) {
        if !settings.is_empty() {
            let (warn, state) = (self.warn(), Mutex::default());
            self.add(Arc::new(CommandHooks { settings, environment, warn, state }));
        }
    }
}

struct CommandHooks {
    settings: HookSettings,
    environment: HookEnvironment,
    warn: WarningSender,
    /// Locked only for reads and changes, never across an await.
    state: Mutex<HookState>,
}

#[derive(Default)]
struct HookState {
    session: Option<SessionOpening>,
    /// Texts that `PreToolUse` hooks will add to the results of calls in progress.
    call_contexts: HashMap<CallId, String>,
    /// Warnings already shown; each is shown once.
    shown: HashSet<String>,
}

impl CommandHooks {
    fn change<T>(&self, change: impl FnOnce(&mut HookState) -> T) -> T {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs the matching commands and combines their answers.
    async fn run(&self, moment: HookMoment, subject: &str, fields: Value) -> HookAnswer {
        let commands = self.settings.matching(moment, subject);
        if commands.is_empty() {
            return HookAnswer::default();
        }
        let input = self.input(moment, fields);
        combine(self.answers(&commands, &input).await)
    }

    /// Runs the commands that match a call. If a command changes the arguments, the others run again with the
    /// new arguments, so that a change can't bypass a guard.
    async fn review(&self, call: &ToolCall) -> HookAnswer {
        let commands = self.settings.matching(HookMoment::PreToolUse, &call.name);
        let input = |call: &ToolCall| self.input(HookMoment::PreToolUse, call_fields(call));
        let answers = self.answers(&commands, &input(call)).await;
        let answers: Vec<HookAnswer> = answers.into_iter().map(|answer| own_answer(answer, call)).collect();
        let left = commands.iter().zip(&answers).filter(|(_, answer)| answer.arguments.is_none());
        let others: Vec<HookCommand> = left.map(|(command, _)| command.clone()).collect();
        let answer = combine(answers);
        let Some(arguments) = answer.arguments.clone() else { return answer };
        let changed = ToolCall { arguments, ..call.clone() };
        let again = self.answers(&others, &input(&changed)).await;
        let again = combine(again.into_iter().map(|answer| own_answer(answer, &changed)).collect());
        answer.and(HookAnswer { context: None, ..again })
    }

    /// Runs commands in parallel.
    async fn answers(&self, commands: &[HookCommand], input: &Value) -> Vec<HookAnswer> {
        join_all(commands.iter().map(|command| self.answer(command, input))).await
    }

    /// Runs a command. Its failure is shown.
    async fn answer(&self, command: &HookCommand, input: &Value) -> HookAnswer {
        let HookCommand { moment, line, timeout, .. } = command;
        let output = self.environment.run(line, input, *timeout).await;
        let mut answer = match output {
            Ok(output) => HookAnswer::parse(*moment, &output),
            Err(reason) => HookDecision::Failed(reason).into(),
        };
        if let HookDecision::Failed(reason) = &mut answer.decision {
            *reason = format!("{}: {reason}", quote(line));
            self.show_failure(*moment, reason);
        }
        tracing::debug!(event = moment.name(), command = line, decision = ?answer.decision, "hook command");
        answer
    }

    /// Returns the JSON for stdin.
    fn input(&self, moment: HookMoment, fields: Value) -> Value {
        let session = self.change(|state| state.session.clone());
        let (id, log) = session.map_or((None, None), |opening| (Some(opening.session), opening.log));
        let common = json!({
            "session_id": id,
            "transcript_path": log,
            "cwd": self.environment.cwd,
            "hook_event_name": moment.name(),
        });
        let entries = |value: Value| if let Value::Object(entries) = value { entries } else { Map::new() };
        Value::Object(entries(common).into_iter().chain(entries(fields)).collect())
    }

    /// Runs the commands of an event at which they can't request approval.
    async fn run_and_report(&self, moment: HookMoment, subject: &str, fields: Value) -> HookAnswer {
        let answer = self.run(moment, subject, fields).await;
        if let HookDecision::Ask(reason) = &answer.decision {
            self.show_failure(moment, reason);
        }
        answer
    }

    fn show_failure(&self, moment: HookMoment, reason: &str) {
        self.show(format!("{} hook failed: {reason}", moment.name()));
    }

    /// Shows a warning the first time it occurs.
    fn show(&self, warning: String) {
        if self.change(|state| state.shown.insert(warning.clone())) {
            self.warn.send(warning);
        }
    }

    /// Runs the commands before a compaction. They can't prevent it.
    async fn before_compaction(&self, reason: CompactionReason) {
        let trigger = match reason {
            CompactionReason::Manual => "manual",
            CompactionReason::Threshold | CompactionReason::Overflow => "auto",
        };
        let fields = json!({"trigger": trigger});
        let answer = self.run_and_report(HookMoment::PreCompact, trigger, fields).await;
        if let HookDecision::Block(reason) | HookDecision::End(reason) = answer.decision {
            self.show(format!("PreCompact hook: {reason} (a hook can't prevent a compaction)"));
        }
    }
}

impl Extension for CommandHooks {
    fn name(&self) -> &str {
        "hooks"
    }

    fn label(&self) -> String {
        "hook".to_owned()
    }

    fn hook_timeout(&self) -> Option<Duration> {
        Some(self.settings.longest_timeout() + KILL_TIME)
    }

    fn session_start<'a>(&'a self, opening: &'a SessionOpening) -> HookFuture<'a, Option<String>> {
        self.change(|state| {
            state.session = Some(opening.clone());
            state.call_contexts.clear();
        });
        Box::pin(async move {
            let source = opening.source.name();
            let fields = json!({"source": source});
            let answer = self.run_and_report(HookMoment::SessionStart, source, fields).await;
            if let HookDecision::Block(reason) | HookDecision::End(reason) = answer.decision {
                self.show(format!("SessionStart hook: {reason}"));
            }
            Ok(answer.context)
        })
    }

    fn prompt_submit<'a>(&'a self, prompt: &'a str) -> HookFuture<'a, PromptVerdict> {
        Box::pin(async move {
            let fields = json!({"prompt": prompt});
            let HookAnswer { decision, context, .. } =
                self.run_and_report(HookMoment::UserPromptSubmit, "", fields).await;
            Ok(match decision {
                HookDecision::Block(reason) | HookDecision::End(reason) => PromptVerdict::Reject { reason },
                HookDecision::Proceed | HookDecision::Ask(_) | HookDecision::Failed(_) => {
                    PromptVerdict::Accept { context }
                }
            })
        })
    }

    fn tool_call<'a>(&'a self, call: &'a ToolCall) -> HookFuture<'a, CallVerdict> {
        Box::pin(async move {
            let HookAnswer { decision, context, arguments } = self.review(call).await;
            self.change(|state| match context {
                Some(context) => _ = state.call_contexts.insert(call.id.clone(), context),
                None => _ = state.call_contexts.remove(&call.id),
            });
            match (decision, arguments) {
                (HookDecision::Failed(reason), _) => {
                    // The failure of a command has been shown, but not that two of them contradict each other.
                    self.show_failure(HookMoment::PreToolUse, &reason);
                    Err(HookError::shown(reason))
                }
                (HookDecision::Block(reason) | HookDecision::End(reason), _) => {
                    Ok(CallVerdict::Deny { reason })
                }
                (HookDecision::Proceed, None) => Ok(CallVerdict::Allow),
                (HookDecision::Ask(reason), None) => Ok(CallVerdict::Ask { reason }),
                (HookDecision::Proceed, Some(arguments)) => {
                    Ok(CallVerdict::Rewrite { arguments, approval: None })
                }
                (HookDecision::Ask(reason), Some(arguments)) => {
                    Ok(CallVerdict::Rewrite { arguments, approval: Some(reason) })
                }
            }
        })
    }

    fn tool_result<'a>(&'a self, call: &'a ToolCall, output: &'a ToolOutput) -> HookFuture<'a, ResultChange> {
        Box::pin(async move {
            let mut fields = call_fields(call);
            fields["tool_response"] = json!({
                "content": joined_text(&output.content),
                "details": output.details,
                "is_error": output.is_error,
            });
            let HookAnswer { decision, context, .. } =
                self.run_and_report(HookMoment::PostToolUse, &call.name, fields).await;
            let reason = match decision {
                HookDecision::Block(reason) | HookDecision::End(reason) => Some(reason),
                HookDecision::Proceed | HookDecision::Ask(_) | HookDecision::Failed(_) => None,
            };
            let before = self.change(|state| state.call_contexts.remove(&call.id));
            let notes: Vec<UserBlock> =
                before.into_iter().chain(reason).chain(context).map(hook_block).collect();
            let content = (!notes.is_empty()).then(|| output.content.iter().cloned().chain(notes).collect());
            Ok(ResultChange { content, is_error: None })
        })
    }

    fn run_end(&self, end: RunEnd) -> HookFuture<'_, RunEndVerdict> {
        Box::pin(async move {
            let fields = json!({"stop_hook_active": end.is_continued});
            Ok(match self.run_and_report(HookMoment::Stop, "", fields).await.decision {
                HookDecision::Block(instruction) => RunEndVerdict::Continue { instruction },
                HookDecision::Proceed
                | HookDecision::Ask(_)
                | HookDecision::Failed(_)
                | HookDecision::End(_) => RunEndVerdict::Finish,
            })
        })
    }

    fn session_event<'a>(&'a self, event: &'a Event) -> HookFuture<'a, ()> {
        Box::pin(async move {
            if let EventKind::CompactionStart { reason } = &event.kind {
                self.before_compaction(*reason).await;
            }
            Ok(())
        })
    }

    fn event_detail(&self) -> EventDetail {
        if self.settings.has(HookMoment::PreCompact) { EventDetail::Whole } else { EventDetail::Nothing }
    }
}

fn combine(answers: Vec<HookAnswer>) -> HookAnswer {
    answers.into_iter().fold(HookAnswer::default(), HookAnswer::and)
}

/// Returns a call's fields. Adds Claude Code's name `file_path` for `path`, for hooks written for Claude Code.
fn call_fields(call: &ToolCall) -> Value {
    let mut input = call.arguments.clone();
    if let (Some(path), Some(entries)) = (call.arguments.get(PATH), input.as_object_mut()) {
        entries.entry(FILE_PATH).or_insert_with(|| path.clone());
    }
    json!({"tool_name": call.name, "tool_use_id": call.id, "tool_input": input})
}

fn own_answer(answer: HookAnswer, call: &ToolCall) -> HookAnswer {
    let arguments = answer.arguments.map(|arguments| own_arguments(arguments, call));
    HookAnswer { arguments, ..answer }
}

/// Removes the name that [`call_fields`] added from the arguments that a hook returns for a call. A path that the hook
/// has changed there replaces `path`.
fn own_arguments(mut arguments: Value, call: &ToolCall) -> Value {
    let was_added = call.arguments.get(PATH).is_some() && call.arguments.get(FILE_PATH).is_none();
    let Some(entries) = arguments.as_object_mut().filter(|_| was_added) else { return arguments };
    if let Some(path) = entries.remove(FILE_PATH)
        && (Some(&path) != call.arguments.get(PATH) || !entries.contains_key(PATH))
    {
        entries.insert(PATH.to_owned(), path);
    }
    arguments
}

/// Returns a hook's text as a block of a result.
fn hook_block(text: String) -> UserBlock {
    UserBlock::Text { text: format!("[hook] {text}") }
}

/// Returns the beginning of a command line for messages.
fn quote(line: &str) -> String {
    let first = line.lines().next().unwrap_or_default();
    match first.char_indices().nth(MAX_QUOTE) {
        Some((end, _)) => format!("{}…", &first[..end]),
        None => first.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_path_has_two_names_for_hooks_only() {
        let call = |arguments: Value| ToolCall {
            id: "c".into(),
            name: "write_file".into(),
            arguments,
            raw_arguments: None,
            thought_signature: None,
        };
        let written = call(json!({"path": "a", "content": "x"}));
        let input = call_fields(&written)["tool_input"].take();
        assert_eq!(input, json!({"path": "a", "file_path": "a", "content": "x"}));
        assert_eq!(own_arguments(input, &written), written.arguments);
        let returned = |arguments: Value| own_arguments(arguments, &written)["path"].take();
        assert_eq!(returned(json!({"path": "a", "file_path": "b"})), "b");
        assert_eq!(returned(json!({"path": "b", "file_path": "a"})), "b");
        assert_eq!(returned(json!({"file_path": "a"})), "a");
        for of_server in [json!({"file_path": "a"}), json!({})] {
            assert_eq!(own_arguments(json!({"file_path": "b"}), &call(of_server)), json!({"file_path": "b"}));
        }
    }
}
