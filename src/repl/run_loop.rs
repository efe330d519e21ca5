//! The REPL's loop, which handles lines, events, signals and finished commands one at a time.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::commands::{self, CommandResult};
use super::elicitation::{DialogStep, ElicitationDialog};
use super::input::{InputLine, ReplCommand};
use super::lines::LineResult;
use super::login::{KeyPrompt, PendingLogin};
use super::options::{InputMode, Interrupt, Outputs, ReplError, ReplExit, ReplOptions};
use super::printer::EventPrinter;
use super::question::{self, ApprovalAnswer, ReplQuestion};
use crate::agent::{
    AgentError, AgentSession, BufferedSubscription, PromptOptions, RuleStore, Snapshot, StreamingBehavior,
    Subscription, SubscriptionItem,
};
use crate::elicitation::{ElicitationAnswer, ElicitationKind, ElicitationRequest};
use crate::event::{EventKind, RunOutcome};
use crate::files::web_page::open_web_page;
use crate::id::CallId;
use crate::proposed_rules::ProposedRules;
use crate::setting::SettingScope;

/// Time for a run that is stopped at exit to finish.
const STOP_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs the REPL; the caller closes the session.
pub(super) async fn run<Out: Write, Err: Write>(
    agent: &AgentSession,
    mut lines: mpsc::Receiver<LineResult>,
    outputs: Outputs<Out, Err>,
    mut interrupts: mpsc::Receiver<Interrupt>,
    options: ReplOptions,
) -> Result<ReplExit, ReplError> {
    let mut subscription = Subscription::new(agent).buffered();
    let printer = EventPrinter::new(outputs, options.input_mode, agent.tool_catalog());
    let keys = KeyPrompt::new(options.keys, options.echo_guard);
    let mut repl = Repl::new(agent, (printer, keys, options.rules), options.input_mode);
    for line in &options.banner {
        repl.printer.note(line)?;
    }
    if let Some(prompt) = options.prompt {
        repl.prompt(prompt, options.prompt_options).await?;
    }
    let mut has_lines = true;
    let end = loop {
        if !has_lines && (repl.input_mode == InputMode::Conversation || repl.is_idle()) {
            break ReplEnd::Quit;
        }
        repl.show_prompt()?;
        let takes_lines = has_lines && (repl.input_mode == InputMode::Conversation || repl.is_idle());
        let end = tokio::select! {
            biased;
            Some(interrupt) = interrupts.recv() => repl.interrupt(interrupt).await?,
            event = subscription.next() => match event {
                Some(event) => {
                    let (was_asked, count) = (!repl.questions.is_empty(), lines.len());
                    let end = repl.handle(&event).await?;
                    if !was_asked && !repl.questions.is_empty() {
                        repl.discard_lines(count, &mut lines)?;
                    }
                    end
                }
                None => return Err(AgentError::Closed.into()),
            },
            Some(report) = repl.jobs.join_next() => repl.report(report.unwrap_or_else(|e| Err(e.to_string())))?,
            line = lines.recv(), if takes_lines => {
                has_lines = line.is_some();
                repl.read(line, &mut lines).await?
            }
        };
        if let Some(end) = end {
            break end;
        }
    };
    repl.finish(&mut subscription).await?;
    Ok(match end {
        ReplEnd::Interrupted => ReplExit::Interrupted,
        ReplEnd::Quit if repl.has_failed && repl.input_mode == InputMode::Batch => ReplExit::Failed,
        ReplEnd::Quit => ReplExit::Done,
    })
}

/// The reason the loop ended.
enum ReplEnd {
    Quit,
    Interrupted,
}

struct Repl<'a, Out, Err> {
    agent: &'a AgentSession,
    printer: EventPrinter<Out, Err>,
    keys: KeyPrompt,
    rules: Option<RuleStore>,
    pending_login: Option<PendingLogin>,
    input_mode: InputMode,
    /// Commands that are running in the background.
    jobs: JoinSet<CommandResult>,
    is_running: bool,
    has_bash: bool,
    /// Questions for the user; the first one is shown.
    questions: VecDeque<ReplQuestion>,
    /// True if the shown question is already answered.
    is_answered: bool,
    /// True if the next line may be an answer to a question that its server has withdrawn.
    drops_line: bool,
    was_interrupted: bool,
    has_failed: bool,
}

impl<'a, Out: Write, Err: Write> Repl<'a, Out, Err> {
    fn new(
        agent: &'a AgentSession,
        (printer, keys, rules): (EventPrinter<Out, Err>, KeyPrompt, Option<RuleStore>),
        input_mode: InputMode,
    ) -> Self {
        Self {
            agent,
            printer,
            keys,
            rules,
            pending_login: None,
            input_mode,
            jobs: JoinSet::new(),
            is_running: false,
            has_bash: false,
            questions: VecDeque::new(),
            is_answered: false,
            drops_line: false,
            was_interrupted: false,
            has_failed: false,
        }
    }

    fn is_idle(&self) -> bool {
        !self.is_running && !self.has_bash && self.jobs.is_empty()
    }

    fn show_prompt(&mut self) -> io::Result<()> {
        let has_question = !self.questions.is_empty() && !self.is_answered;
        if self.is_idle() || has_question { self.printer.show_prompt() } else { Ok(()) }
    }

    /// Handles a line; `None` is the end of input.
    async fn read(
        &mut self,
        line: Option<LineResult>,
        lines: &mut mpsc::Receiver<LineResult>,
    ) -> io::Result<Option<ReplEnd>> {
        let end = match line {
            Some(Ok(line)) => {
                let (was_pending, count) = (self.pending_login.is_some(), lines.len());
                let end = self.line(&line).await?;
                if self.pending_login.is_some() && !was_pending {
                    self.discard_lines(count, lines)?;
                }
                end
            }
            Some(Err(too_long)) => self.report(Err(too_long.to_string()))?,
            None => {
                self.cancel_login()?;
                None
            }
        };
        Ok(end)
    }

    /// Returns true if a line is a command, which is never an answer. The value of a field may look like a
    /// command: a path, or a word such as `quit`.
    fn is_command(&self, line: &InputLine, begins_with_slash: bool) -> bool {
        match self.questions.front() {
            Some(ReplQuestion::Elicitation(dialog)) if dialog.is_at_field() => {
                begins_with_slash && matches!(line, InputLine::Command(_))
            }
            _ => begins_with_slash || matches!(line, InputLine::Command(ReplCommand::Quit)),
        }
    }

    async fn line(&mut self, line: &str) -> io::Result<Option<ReplEnd>> {
        self.was_interrupted = false;
        let is_late = std::mem::take(&mut self.drops_line);
        self.printer.clear_prompt();
        if let Some(pending_login) = self.pending_login.take() {
            self.jobs.spawn(self.keys.store_key(self.agent, pending_login, line));
            // Questions that arrived while the key was read were delayed.
            return if self.questions.is_empty() { Ok(None) } else { self.show_question().map(|()| None) };
        }
        let is_slash_command = line.trim_start().starts_with('/');
        let agent_commands = match is_slash_command {
            true => self.agent.slash_commands().await.unwrap_or_default(),
            false => Vec::new(),
        };
        let parsed = InputLine::parse(line, &agent_commands);
        if is_late && !(is_slash_command && matches!(parsed, InputLine::Command(_))) {
            self.printer.note(&format!("ignored, typed for the withdrawn question: {line}"))?;
            return Ok(None);
        }
        let is_command = self.is_command(&parsed, is_slash_command);
        if !self.questions.is_empty() && !is_command {
            return self.answer_question(line).await.map(|()| None);
        }
        match parsed {
            InputLine::Empty => {}
            InputLine::Prompt(text) => self.send(text, Some(StreamingBehavior::Steer)).await?,
            InputLine::FollowUp(text) => self.send(text, Some(StreamingBehavior::FollowUp)).await?,
            InputLine::Now(text) => {
                let started = self.agent.steer_now(text, PromptOptions::default()).await;
                self.is_running |= self.report_refusal(started)?;
            }
            InputLine::Bash(line, context) => {
                let started = self.agent.bash(line, context).await;
                self.has_bash |= self.report_refusal(started)?;
            }
            InputLine::Command(ReplCommand::Quit) => return Ok(Some(ReplEnd::Quit)),
            InputLine::Command(ReplCommand::Login(provider)) => self.log_in(provider.as_deref()).await?,
            InputLine::Command(ReplCommand::Logout(provider)) => {
                self.jobs.spawn(self.keys.remove_key(self.agent, provider));
            }
            InputLine::Command(command) => self.command(command).await?,
            InputLine::Invalid(error) => return self.report(Err(error)),
        }
        Ok(None)
    }

    async fn answer_question(&mut self, line: &str) -> io::Result<()> {
        let result = match self.questions.front_mut() {
            None => return Ok(()),
            Some(ReplQuestion::Elicitation(dialog)) => {
                let step = dialog.answer(line);
                let request = dialog.request.clone();
                return self.follow_dialog(step, &request).await;
            }
            Some(ReplQuestion::Approval(request)) => {
                let call = request.tool_call_id.clone();
                match question::approval_answer(line, request) {
                    ApprovalAnswer::Decide(decision) => self.agent.decide(call, decision).await,
                    ApprovalAnswer::Save(rules) => return self.save_rules(&call, rules).await,
                }
            }
            Some(ReplQuestion::Compaction(_)) => {
                self.agent.resolve_compaction(question::compaction_choice(line)).await
            }
        };
        self.is_answered = self.report_refusal(result)?;
        Ok(())
    }

    async fn send(&mut self, text: String, streaming_behavior: Option<StreamingBehavior>) -> io::Result<()> {
        self.prompt(text, PromptOptions { streaming_behavior, ..PromptOptions::default() }).await
    }

    async fn prompt(&mut self, text: String, options: PromptOptions) -> io::Result<()> {
        let started = self.agent.prompt(text, options).await;
        self.is_running |= self.report_refusal(started)?;
        Ok(())
    }

    /// Prints the error of a refused request; returns true if there was none.
    fn report_refusal(&mut self, result: Result<(), AgentError>) -> io::Result<bool> {
        let is_done = result.is_ok();
        if let Err(error) = result {
            self.report(Err(commands::error_text(&error)))?;
        }
        Ok(is_done)
    }

    /// Saves rules for a pending call. If that fails, or the rules don't allow the call, the question stays
    /// open.
    async fn save_rules(&mut self, call: &CallId, rules: ProposedRules) -> io::Result<()> {
        let Some(store) = &self.rules else {
            return self.report(Err("there is no settings file here".to_owned())).map(drop);
        };
        match self.agent.save_rules(store, SettingScope::User, rules).await {
            Ok(waiting) if waiting.contains(call) => self
                .report(Err(
                    "saved, but the rule doesn't allow this call, which still needs approval".to_owned()
                ))
                .map(drop),
            Ok(_) => {
                self.is_answered = true;
                self.printer.note("saved in your settings: the rule applies in all directories")
            }
            Err(error) => self.report(Err(commands::error_text(&error))).map(drop),
        }
    }

    async fn command(&mut self, command: ReplCommand) -> io::Result<()> {
        let (agent, rules) = (self.agent.clone(), self.rules.clone());
        if matches!(
            command,
            ReplCommand::Compact(_)
                | ReplCommand::Truncate
                | ReplCommand::Reload
                | ReplCommand::Session
                | ReplCommand::Resume(_)
        ) {
            self.jobs.spawn(async move { commands::execute(&agent, rules.as_ref(), command).await });
            return Ok(());
        }
        let report = commands::execute(&agent, rules.as_ref(), command).await;
        self.report(report).map(drop)
    }

    /// Starts reading a key. Refused while a question is open, because the line could be taken for its
    /// answer.
    async fn log_in(&mut self, provider: Option<&str>) -> io::Result<()> {
        let Some(provider) = provider else {
            let report = self.keys.list().await;
            return self.report(report).map(drop);
        };
        if !self.questions.is_empty() {
            return self.report(Err("answer the open question first, then use /login".to_owned())).map(drop);
        }
        match self.keys.start(provider).await {
            Ok((pending_login, prompt)) => {
                self.pending_login = Some(pending_login);
                self.printer.note(&prompt)
            }
            Err(error) => self.report(Err(error)).map(drop),
        }
    }

    /// Cancels a pending `/login`; returns true if there was one.
    fn cancel_login(&mut self) -> io::Result<bool> {
        let was_pending = self.pending_login.take().is_some();
        if was_pending {
            self.printer.note("no key entered; nothing was changed")?;
        }
        Ok(was_pending)
    }

    fn report(&mut self, report: CommandResult) -> io::Result<Option<ReplEnd>> {
        match report {
            Ok(text) => {
                self.printer.close_line()?;
                self.printer.print(&text)?;
            }
            Err(error) => {
                self.has_failed = true;
                self.printer.note(&format!("error: {error}"))?;
            }
        }
        Ok(None)
    }

    async fn handle(&mut self, received: &SubscriptionItem) -> io::Result<Option<ReplEnd>> {
        self.printer.handle(received)?;
        match received {
            SubscriptionItem::Event(event) => self.follow(&event.kind)?,
            SubscriptionItem::Missed { .. } => {
                if let Ok(snapshot) = self.agent.snapshot().await {
                    self.restore(*snapshot)?;
                }
            }
        }
        Ok(None)
    }

    fn follow(&mut self, event: &EventKind) -> io::Result<()> {
        match event {
            EventKind::AgentStart => self.is_running = true,
            EventKind::AgentEnd { outcome, .. } => self.has_failed |= *outcome != RunOutcome::Completed,
            EventKind::AgentSettled => (self.is_running, self.was_interrupted) = (false, false),
            EventKind::BashExecutionEnd { .. } => self.has_bash = false,
            EventKind::ApprovalRequested(request) => {
                self.ask(ReplQuestion::Approval(Box::new(request.clone())))?;
            }
            EventKind::ApprovalResolved { tool_call_id, .. } => {
                self.remove_question(|question| {
                    matches!(question, ReplQuestion::Approval(request) if request.tool_call_id == *tool_call_id)
                })?;
            }
            EventKind::ElicitationRequested(request) => {
                let dialog = ElicitationDialog::new(request.clone());
                self.ask(ReplQuestion::Elicitation(Box::new(dialog)))?;
            }
            EventKind::ElicitationResolved { elicitation_id, withdrawn, .. } => {
                let is_it = |question: &ReplQuestion| matches!(question, ReplQuestion::Elicitation(dialog) if dialog.request.elicitation_id == *elicitation_id);
                // The user may have typed part of a line.
                self.drops_line |=
                    *withdrawn && !self.is_answered && self.questions.front().is_some_and(is_it);
                if self.drops_line {
                    self.printer.note(
                        "your next line is ignored, because it may be meant for the withdrawn question",
                    )?;
                }
                self.remove_question(is_it)?;
            }
            EventKind::CompactionFailed { error_message, .. } => {
                self.ask(ReplQuestion::Compaction(error_message.clone()))?;
            }
            EventKind::CompactionStart { .. } | EventKind::CompactionEnd { .. } => {
                self.remove_question(|question| matches!(question, ReplQuestion::Compaction(_)))?;
            }
            _ => {}
        }
        Ok(())
    }

    /// Shows the next question of a dialog, or sends its answer.
    async fn follow_dialog(&mut self, step: DialogStep, request: &ElicitationRequest) -> io::Result<()> {
        let answer = match step {
            DialogStep::Ask(note) => {
                note.into_iter().try_for_each(|note| self.printer.note(&note))?;
                return self.show_question();
            }
            DialogStep::Answer(answer) => answer,
        };
        if let (ElicitationAnswer::Accept(_), ElicitationKind::Url { url, .. }) = (&answer, &request.kind) {
            let url = url.clone();
            self.jobs.spawn(async move {
                let opened = tokio::task::spawn_blocking(move || open_web_page(&url)).await;
                match opened {
                    Ok(Ok(())) => Ok("The address was opened in the browser.\n".to_owned()),
                    Ok(Err(error)) => Ok(format!(
                        "Can't open the browser: {error}. Open the address yourself.
"
                    )),
                    Err(error) => Err(error.to_string()),
                }
            });
        }
        self.is_answered = match self.agent.answer_elicitation(request.elicitation_id.clone(), answer).await {
            // It was withdrawn at this moment; the event follows.
            Err(AgentError::NotFound(_)) => true,
            answered => self.report_refusal(answered)?,
        };
        Ok(())
    }

    fn ask(&mut self, question: ReplQuestion) -> io::Result<()> {
        self.questions.push_back(question);
        if self.questions.len() == 1 { self.show_question() } else { Ok(()) }
    }

    /// Removes questions that are answered or obsolete, and shows the next one.
    fn remove_question(&mut self, matches: impl Fn(&ReplQuestion) -> bool) -> io::Result<()> {
        let was_shown = self.questions.front().is_some_and(&matches);
        self.questions.retain(|question| !matches(question));
        if was_shown { self.show_question() } else { Ok(()) }
    }

    /// Discards the lines that were read before a question was shown, because they can't be answers to it.
    fn discard_lines(&mut self, count: usize, lines: &mut mpsc::Receiver<LineResult>) -> io::Result<()> {
        let count = if self.input_mode == InputMode::Conversation { count } else { 0 };
        for line in (0..count).map_while(|_| lines.try_recv().ok()) {
            let line = line.unwrap_or_else(|too_long| too_long.to_string());
            // A line that may be a key isn't printed.
            let text = if self.pending_login.is_some() { "" } else { &line };
            self.printer.note(&format!("ignored, typed before the question: {text}"))?;
        }
        Ok(())
    }

    fn show_question(&mut self) -> io::Result<()> {
        self.is_answered = false;
        if self.pending_login.is_some() {
            return Ok(());
        }
        match self.questions.front() {
            Some(question) => self.printer.note(&question.text(&self.agent.tool_catalog())),
            None => Ok(()),
        }
    }

    /// Restores the state from a snapshot after events were lost.
    fn restore(&mut self, snapshot: Snapshot) -> io::Result<()> {
        self.is_running = snapshot.in_progress.running_since.is_some();
        self.has_bash = snapshot.in_progress.bash.is_some();
        let failed = snapshot.in_progress.summary.and_then(|summary| summary.failed);
        let approvals = snapshot
            .in_progress
            .approvals
            .into_iter()
            .map(|request| ReplQuestion::Approval(Box::new(request)));
        let elicitations = snapshot.in_progress.elicitations.into_iter();
        let elicitations =
            elicitations.map(|request| ReplQuestion::Elicitation(Box::new(ElicitationDialog::new(request))));
        self.questions = approvals.chain(elicitations).chain(failed.map(ReplQuestion::Compaction)).collect();
        self.show_question()
    }

    async fn interrupt(&mut self, interrupt: Interrupt) -> io::Result<Option<ReplEnd>> {
        if interrupt == Interrupt::Keyboard && self.cancel_login()? {
            return self.show_question().map(|()| None);
        }
        let is_first = interrupt == Interrupt::Keyboard
            && self.input_mode == InputMode::Conversation
            && !std::mem::replace(&mut self.was_interrupted, true);
        match (is_first, self.is_idle()) {
            (true, true) => self.printer.note("press Ctrl+C again to quit (or Ctrl+D, or /quit)")?,
            (true, false) => {
                self.printer.note("stopping; press Ctrl+C again to quit")?;
                let aborted = self.agent.abort().await.map(|items| commands::format_returned(&items));
                return self.report(aborted.map_err(|error| commands::error_text(&error)));
            }
            (false, true)
                if self.input_mode == InputMode::Conversation && interrupt == Interrupt::Keyboard =>
            {
                return Ok(Some(ReplEnd::Quit));
            }
            (false, _) => return Ok(Some(ReplEnd::Interrupted)),
        }
        Ok(None)
    }

    /// Stops the run and prints how it ended.
    async fn finish(&mut self, subscription: &mut BufferedSubscription) -> io::Result<()> {
        if self.is_idle() {
            return self.printer.close_line();
        }
        // Queued messages stay in the session's queue.
        let _ = self.agent.interrupt().await;
        let settled = async {
            while self.is_running || self.has_bash {
                let Some(received) = subscription.next().await else { break };
                self.handle(&received).await?;
            }
            io::Result::Ok(())
        };
        timeout(STOP_TIMEOUT, settled).await.unwrap_or(Ok(()))?;
        self.printer.close_line()
    }
}
