//! The loop: lines, events, signals and finished commands, one at a time.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::commands::{self, CommandResult};
use super::input::{InputLine, ReplCommand};
use super::lines::LineResult;
use super::login::{KeyPrompt, WantedKey};
use super::printer::Printer;
use super::question::{self, ReplQuestion};
use super::{InputMode, Interrupt, Outputs, PlainError, PlainExit, PlainOptions};
use crate::agent::{
    AgentError, AgentSession, BufferedSubscription, PromptOptions, Received, Snapshot, StreamingBehavior,
    Subscription,
};
use crate::event::{EventKind, RunOutcome};

/// How long a run that is stopped at the end may take to say so.
const GRACE: Duration = Duration::from_secs(1);

/// Runs it; the session is still to be closed.
pub(super) async fn run<Out: Write, Err: Write>(
    agent: &AgentSession,
    mut lines: mpsc::Receiver<LineResult>,
    outputs: Outputs<Out, Err>,
    mut interrupts: mpsc::Receiver<Interrupt>,
    options: PlainOptions,
) -> Result<PlainExit, PlainError> {
    let mut heard = Subscription::new(agent).buffered();
    let teller = Printer::new(outputs, options.manner);
    let keys = KeyPrompt::new(options.keys, options.hush);
    let mut talk = Repl::new(agent, (teller, keys), options.manner);
    for line in &options.banner {
        talk.teller.note(line)?;
    }
    if let Some(prompt) = options.prompt {
        talk.prompt(prompt, PromptOptions { attached: options.attached, ..PromptOptions::default() }).await?;
    }
    let mut has_lines = true;
    let ended = loop {
        if !has_lines && (talk.manner == InputMode::Conversation || talk.is_idle()) {
            break ReplEnd::Left;
        }
        talk.invite()?;
        let takes_lines = has_lines && (talk.manner == InputMode::Conversation || talk.is_idle());
        let ended = tokio::select! {
            biased;
            Some(interrupt) = interrupts.recv() => talk.interrupt(interrupt).await?,
            event = heard.next() => match event {
                Some(event) => {
                    let (was_asked, typed) = (!talk.questions.is_empty(), lines.len());
                    let ended = talk.hear(&event).await?;
                    if !was_asked && !talk.questions.is_empty() {
                        talk.pass_over(typed, &mut lines)?;
                    }
                    ended
                }
                None => return Err(AgentError::Closed.into()),
            },
            Some(told) = talk.jobs.join_next() => talk.told(told.unwrap_or_else(|e| Err(e.to_string())))?,
            line = lines.recv(), if takes_lines => {
                has_lines = line.is_some();
                talk.read(line, &mut lines).await?
            }
        };
        if let Some(ended) = ended {
            break ended;
        }
    };
    talk.wind_down(&mut heard).await?;
    Ok(match ended {
        ReplEnd::Interrupted => PlainExit::Interrupted,
        ReplEnd::Left if talk.has_failed && talk.manner == InputMode::Batch => PlainExit::Failed,
        ReplEnd::Left => PlainExit::Done,
    })
}

/// Why the loop is over.
enum ReplEnd {
    Left,
    Interrupted,
}

struct Repl<'a, Out, Err> {
    agent: &'a AgentSession,
    teller: Printer<Out, Err>,
    keys: KeyPrompt,
    /// The key that the next line is.
    wanted: Option<WantedKey>,
    manner: InputMode,
    /// Commands that take their time.
    jobs: JoinSet<CommandResult>,
    is_running: bool,
    has_bash: bool,
    /// What waits for the user's word; the first one was shown.
    questions: VecDeque<ReplQuestion>,
    /// Whether the one that was shown has its answer already.
    has_answered: bool,
    was_interrupted: bool,
    has_failed: bool,
}

impl<'a, Out: Write, Err: Write> Repl<'a, Out, Err> {
    fn new(
        agent: &'a AgentSession,
        (teller, keys): (Printer<Out, Err>, KeyPrompt),
        manner: InputMode,
    ) -> Self {
        Self {
            agent,
            teller,
            keys,
            wanted: None,
            manner,
            jobs: JoinSet::new(),
            is_running: false,
            has_bash: false,
            questions: VecDeque::new(),
            has_answered: false,
            was_interrupted: false,
            has_failed: false,
        }
    }

    fn is_idle(&self) -> bool {
        !self.is_running && !self.has_bash && self.jobs.is_empty()
    }

    fn invite(&mut self) -> io::Result<()> {
        let asks = !self.questions.is_empty() && !self.has_answered;
        if self.is_idle() || asks { self.teller.invite() } else { Ok(()) }
    }

    /// Takes what was read; `None` is the end.
    async fn read(
        &mut self,
        line: Option<LineResult>,
        lines: &mut mpsc::Receiver<LineResult>,
    ) -> io::Result<Option<ReplEnd>> {
        let ended = match line {
            Some(Ok(line)) => {
                let (was_wanted, typed) = (self.wanted.is_some(), lines.len());
                let ended = self.line(&line).await?;
                if self.wanted.is_some() && !was_wanted {
                    self.pass_over(typed, lines)?;
                }
                ended
            }
            Some(Err(too_long)) => self.told(Err(too_long.to_string()))?,
            None => {
                self.no_key()?;
                None
            }
        };
        Ok(ended)
    }

    async fn line(&mut self, line: &str) -> io::Result<Option<ReplEnd>> {
        self.was_interrupted = false;
        self.teller.was_answered();
        if let Some(wanted) = self.wanted.take() {
            self.jobs.spawn(self.keys.keep(self.agent, wanted, line));
            // What was asked meanwhile waited for the key.
            return if self.questions.is_empty() { Ok(None) } else { self.show_question().map(|()| None) };
        }
        // A command is none of the answers.
        let is_command = matches!(InputLine::parse(line), InputLine::Command(ReplCommand::Quit))
            || line.trim_start().starts_with('/');
        if let Some(question) = self.questions.front().filter(|_| !is_command) {
            let decided = match question {
                ReplQuestion::Approval(request) => {
                    let call = request.tool_call_id.clone();
                    self.agent.decide(call, question::decision(line, request)).await
                }
                ReplQuestion::Compaction(_) => {
                    self.agent.resolve_compaction(question::compaction_choice(line)).await
                }
            };
            self.has_answered = self.refused(decided)?;
            return Ok(None);
        }
        match InputLine::parse(line) {
            InputLine::Nothing => {}
            InputLine::Say(text) => self.say(text, Some(StreamingBehavior::Steer)).await?,
            InputLine::FollowUp(text) => self.say(text, Some(StreamingBehavior::FollowUp)).await?,
            InputLine::Now(text) => {
                let begun = self.agent.steer_now(text, PromptOptions::default()).await;
                self.is_running |= self.refused(begun)?;
            }
            InputLine::Bash(line, context) => {
                let begun = self.agent.bash(line, context).await;
                self.has_bash |= self.refused(begun)?;
            }
            InputLine::Command(ReplCommand::Quit) => return Ok(Some(ReplEnd::Left)),
            InputLine::Command(ReplCommand::Login(provider)) => self.log_in(provider.as_deref()).await?,
            InputLine::Command(ReplCommand::Logout(provider)) => {
                self.jobs.spawn(self.keys.forget(self.agent, provider));
            }
            InputLine::Command(command) => self.command(command).await?,
            InputLine::Other { name, whole } => self.other(&name, whole).await?,
            InputLine::Wrong(why) => return self.told(Err(why)),
        }
        Ok(None)
    }

    async fn say(&mut self, text: String, streaming_behavior: Option<StreamingBehavior>) -> io::Result<()> {
        self.prompt(text, PromptOptions { streaming_behavior, ..PromptOptions::default() }).await
    }

    async fn prompt(&mut self, text: String, options: PromptOptions) -> io::Result<()> {
        let begun = self.agent.prompt(text, options).await;
        self.is_running |= self.refused(begun)?;
        Ok(())
    }

    /// Tells why something was not done; answers whether it was.
    fn refused(&mut self, done: Result<(), AgentError>) -> io::Result<bool> {
        let is_done = done.is_ok();
        if let Err(error) = done {
            self.told(Err(commands::why(&error)))?;
        }
        Ok(is_done)
    }

    async fn command(&mut self, command: ReplCommand) -> io::Result<()> {
        let agent = self.agent.clone();
        if matches!(
            command,
            ReplCommand::Compact(_)
                | ReplCommand::Truncate
                | ReplCommand::Reload
                | ReplCommand::Session
                | ReplCommand::Resume(_)
        ) {
            self.jobs.spawn(async move { commands::perform(&agent, command).await });
            return Ok(());
        }
        let told = commands::perform(&agent, command).await;
        self.told(told).map(drop)
    }

    /// Waits for a key. Not while something else is asked: a line would be the answer to the wrong question.
    async fn log_in(&mut self, provider: Option<&str>) -> io::Result<()> {
        let Some(provider) = provider else {
            let told = self.keys.list().await;
            return self.told(told).map(drop);
        };
        if !self.questions.is_empty() {
            return self
                .told(Err("a question waits for its answer; /login comes after it".to_owned()))
                .map(drop);
        }
        match self.keys.want(provider).await {
            Ok((wanted, say)) => {
                self.wanted = Some(wanted);
                self.teller.note(&say)
            }
            Err(why) => self.told(Err(why)).map(drop),
        }
    }

    /// The key that was waited for doesn't come; answers whether one was.
    fn no_key(&mut self) -> io::Result<bool> {
        let was_wanted = self.wanted.take().is_some();
        if was_wanted {
            self.teller.note("no key was typed; everything is as it was")?;
        }
        Ok(was_wanted)
    }

    /// A skill, a template or an extension's command goes to the agent, which knows what it means.
    async fn other(&mut self, name: &str, whole: String) -> io::Result<()> {
        let known = self.agent.slash_commands().await.unwrap_or_default();
        if known.iter().any(|command| command.name == name) {
            return self.say(whole, Some(StreamingBehavior::Steer)).await;
        }
        self.told(Err(format!("there is no command /{name}; /help lists what there is"))).map(drop)
    }

    fn told(&mut self, told: CommandResult) -> io::Result<Option<ReplEnd>> {
        match told {
            Ok(text) => {
                self.teller.close_line()?;
                self.teller.say(&text)?;
            }
            Err(why) => {
                self.has_failed = true;
                self.teller.note(&format!("error: {why}"))?;
            }
        }
        Ok(None)
    }

    async fn hear(&mut self, heard: &Received) -> io::Result<Option<ReplEnd>> {
        self.teller.hear(heard)?;
        match heard {
            Received::Event(event) => self.follow(&event.kind)?,
            Received::Missed { .. } => {
                if let Ok(snapshot) = self.agent.snapshot().await {
                    self.take_up(*snapshot)?;
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
                self.unask(|question| {
                    matches!(question, ReplQuestion::Approval(request) if request.tool_call_id == *tool_call_id)
                })?;
            }
            EventKind::CompactionFailed { error_message, .. } => {
                self.ask(ReplQuestion::Compaction(error_message.clone()))?;
            }
            EventKind::CompactionStart { .. } | EventKind::CompactionEnd { .. } => {
                self.unask(|question| matches!(question, ReplQuestion::Compaction(_)))?;
            }
            _ => {}
        }
        Ok(())
    }

    fn ask(&mut self, question: ReplQuestion) -> io::Result<()> {
        self.questions.push_back(question);
        if self.questions.len() == 1 { self.show_question() } else { Ok(()) }
    }

    /// A question was answered, or nobody wants to know any more; the next one is shown.
    fn unask(&mut self, is_it: impl Fn(&ReplQuestion) -> bool) -> io::Result<()> {
        let was_shown = self.questions.front().is_some_and(&is_it);
        self.questions.retain(|question| !is_it(question));
        if was_shown { self.show_question() } else { Ok(()) }
    }

    /// So many lines were there before a question was shown: they are no answer to it.
    fn pass_over(&mut self, typed: usize, lines: &mut mpsc::Receiver<LineResult>) -> io::Result<()> {
        let typed = if self.manner == InputMode::Conversation { typed } else { 0 };
        for line in (0..typed).map_while(|_| lines.try_recv().ok()) {
            let line = line.unwrap_or_else(|too_long| too_long.to_string());
            // What was meant for a key isn't printed.
            let what = if self.wanted.is_some() { "" } else { &line };
            self.teller.note(&format!("typed before the question, so not taken: {what}"))?;
        }
        Ok(())
    }

    fn show_question(&mut self) -> io::Result<()> {
        self.has_answered = false;
        if self.wanted.is_some() {
            return Ok(());
        }
        match self.questions.front() {
            Some(question) => self.teller.note(&question.text()),
            None => Ok(()),
        }
    }

    /// Goes on from what is so now, after events were lost.
    fn take_up(&mut self, snapshot: Snapshot) -> io::Result<()> {
        self.is_running = snapshot.live.running_since.is_some();
        self.has_bash = snapshot.live.bash.is_some();
        let failed = snapshot.live.summary.and_then(|summary| summary.failed);
        let approvals =
            snapshot.live.approvals.into_iter().map(|request| ReplQuestion::Approval(Box::new(request)));
        self.questions = approvals.chain(failed.map(ReplQuestion::Compaction)).collect();
        self.show_question()
    }

    async fn interrupt(&mut self, interrupt: Interrupt) -> io::Result<Option<ReplEnd>> {
        if interrupt == Interrupt::Keyboard && self.no_key()? {
            return self.show_question().map(|()| None);
        }
        let is_patient = interrupt == Interrupt::Keyboard
            && self.manner == InputMode::Conversation
            && !std::mem::replace(&mut self.was_interrupted, true);
        match (is_patient, self.is_idle()) {
            (true, true) => self.teller.note("Ctrl+C again leaves; so do Ctrl+D and /quit")?,
            (true, false) => {
                self.teller.note("stopping; Ctrl+C again leaves")?;
                let stopped = self.agent.abort().await.map(|items| commands::handed_back(&items));
                return self.told(stopped.map_err(|error| commands::why(&error)));
            }
            (false, true) if self.manner == InputMode::Conversation && interrupt == Interrupt::Keyboard => {
                return Ok(Some(ReplEnd::Left));
            }
            (false, _) => return Ok(Some(ReplEnd::Interrupted)),
        }
        Ok(None)
    }

    /// Stops what runs and tells how it ended.
    async fn wind_down(&mut self, heard: &mut BufferedSubscription) -> io::Result<()> {
        if self.is_idle() {
            return self.teller.close_line();
        }
        // Nobody is there to hand back to what waits: it goes on waiting.
        let _ = self.agent.interrupt().await;
        let settled = async {
            while self.is_running || self.has_bash {
                let Some(heard) = heard.next().await else { break };
                self.hear(&heard).await?;
            }
            io::Result::Ok(())
        };
        timeout(GRACE, settled).await.unwrap_or(Ok(()))?;
        self.teller.close_line()
    }
}
