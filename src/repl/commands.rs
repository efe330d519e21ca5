//! The REPL's commands, each of which returns the text to print.

use std::path::PathBuf;

use tiller_core::counted::counted;
use tokio::task::spawn_blocking;

use super::input::ReplCommand;
use super::tree;
use crate::agent::agents::TaskRecord;
use crate::agent::{
    AgentError, AgentSession, ApprovalMode, BranchSummary, ContextBreakdown, RuleStore, SessionStats, Status,
    ToolServerStatus,
};
use crate::background_job::CommandJob;
use crate::event::{QueueItem, QueueKind};
use crate::id::{EntryId, JobId, QueueId};
use crate::session::annotations::Annotations;
use crate::session::{SessionScope, SessionSummary, chain};
use crate::unit::{Tokens, UnixMs};

/// Maximum number of sessions to list.
const MAX_SESSIONS: usize = 20;

/// A command's output, or its error text.
pub(super) type CommandResult = Result<String, String>;

/// Runs a command. The REPL itself handles quitting and keys.
pub(super) async fn execute(
    agent: &AgentSession,
    rules: Option<&RuleStore>,
    command: ReplCommand,
) -> CommandResult {
    let result = match command {
        ReplCommand::Help => agent.slash_commands().await.map(|commands| super::help::text(&commands)),
        // Handled by the REPL.
        ReplCommand::Quit | ReplCommand::Login(_) | ReplCommand::Logout(_) => Ok(String::new()),
        ReplCommand::New => report_switch(agent.new_session().await, "new session"),
        ReplCommand::Resume(None) => sessions(agent).await,
        ReplCommand::Resume(Some(query)) => return resume(agent, &query).await,
        ReplCommand::Name(name) => {
            agent.rename(&*name).await.map(|()| format!("this session is named {name}\n"))
        }
        ReplCommand::Model(None) => models(agent).await,
        // An event reports the new model.
        ReplCommand::Model(Some(query)) => agent.set_model(query).await.map(|_| String::new()),
        ReplCommand::Thinking(None) => levels(agent).await,
        ReplCommand::Thinking(Some(level)) => {
            agent.set_thinking(level).await.map(|level| format!("thinking: {}\n", level.name()))
        }
        ReplCommand::Approval(None) => approval_modes(agent).await,
        ReplCommand::Approval(Some(mode)) => {
            agent.set_approval(mode).await.map(|()| format!("approval: {}, for this session\n", mode.name()))
        }
        ReplCommand::Plan => toggle_plan(agent).await,
        ReplCommand::Compact(instructions) => agent.compact(instructions).await.map(|_| String::new()),
        ReplCommand::Truncate => agent.truncate().await.map(|_| String::new()),
        ReplCommand::Session => session_facts(agent).await,
        ReplCommand::Agents => agents(agent).await,
        ReplCommand::Cost => cost(agent).await,
        ReplCommand::Context => agent.context_breakdown().await.map(|breakdown| context_text(&breakdown)),
        ReplCommand::Mcp => agent.tool_servers().await.map(|servers| servers_text(&servers)),
        ReplCommand::Jobs(to_stop) => jobs(agent, to_stop).await,
        ReplCommand::Tree => Ok(tree::text(&agent.reader())),
        ReplCommand::Go(fragment) => {
            let entry = find(agent, &fragment)?;
            report_switch(agent.navigate(entry, BranchSummary::None).await, "continuing from this entry")
        }
        ReplCommand::Fork(None) => Ok(tree::user_messages(&agent.reader())),
        ReplCommand::Fork(Some(fragment)) => {
            let entry = find(agent, &fragment)?;
            report_switch(agent.fork(entry).await, "forked into a new session")
        }
        ReplCommand::Clone => report_switch(agent.clone_session().await, "copied the session"),
        ReplCommand::Label(label) => return relabel(agent, label).await,
        ReplCommand::Permissions(None) => permissions(agent).await,
        ReplCommand::Permissions(Some(number)) => return revoke(agent, rules, &number).await,
        ReplCommand::AddDir(dir) => {
            agent.add_dir(dir).await.map(|allowed| format!("allowed for this session: {allowed}\n"))
        }
        ReplCommand::Queue => agent.state().await.map(|status| format_queue(&status.queue.items)),
        ReplCommand::Send(number) => {
            let id = find_queued(agent, &number).await?;
            agent.release_queued(id).await.map(|()| String::new())
        }
        ReplCommand::Drop(number) => {
            let id = find_queued(agent, &number).await?;
            agent.remove_queued(id).await.map(|item| format!("removed from the queue: {}\n", item.text))
        }
        ReplCommand::Stop => agent.abort().await.map(|items| format_returned(&items)),
        ReplCommand::Reload => reload(agent, rules).await,
    };
    result.map_err(|error| error_text(&error))
}

/// Reloads skills, templates and context files, and the settings rules.
async fn reload(agent: &AgentSession, rules: Option<&RuleStore>) -> Result<String, AgentError> {
    agent.reload().await?;
    if let Some(store) = rules {
        agent.reload_rules(store).await?;
    }
    Ok("reloaded\n".to_owned())
}

/// Formats an error with its hint.
pub(super) fn error_text(error: &AgentError) -> String {
    match error {
        AgentError::Running => "can't do that while the agent is running; /stop stops it".to_owned(),
        AgentError::Summarizing => "a summary is being written; /stop stops it".to_owned(),
        AgentError::Session(refused) => match refused.hint() {
            Some(hint) => format!("{}\n  hint: {hint}", chain(error)),
            None => chain(error),
        },
        AgentError::Model(_) => format!("{}\n  hint: /model lists the available models", chain(error)),
        _ => chain(error),
    }
}

/// Formats the queued messages that were returned because the run was stopped.
pub(super) fn format_returned(items: &[QueueItem]) -> String {
    items.iter().map(|item| format!("not delivered: {}\n", item.text)).collect()
}

fn find(agent: &AgentSession, fragment: &str) -> Result<EntryId, String> {
    agent.reader().find(fragment).map_err(|error| chain(&error))
}

fn report_switch(
    switched: Result<crate::agent::SessionSwitched, AgentError>,
    label: &str,
) -> Result<String, AgentError> {
    let switched = switched?;
    let editor = switched
        .editor
        .map(|text| format!("continuing before this message; edit it and send it again: {text}\n"));
    Ok(format!("{label}: session {}\n{}", switched.session.short(), editor.unwrap_or_default()))
}

async fn sessions(agent: &AgentSession) -> Result<String, AgentError> {
    let listing = agent.sessions(SessionScope::ThisDirectory).await?;
    let line = |session: &SessionSummary| {
        let title = tree::truncate(session.title().unwrap_or("(empty)"));
        format!("{}: {title}, {}\n", session.id.short(), counted(session.entries, "entry", "entries"))
    };
    let lines: String = listing.sessions.iter().take(MAX_SESSIONS).map(line).collect();
    Ok(if lines.is_empty() { "no sessions in this directory yet\n".to_owned() } else { lines })
}

async fn resume(agent: &AgentSession, query: &str) -> CommandResult {
    let listing = agent.sessions(SessionScope::ThisDirectory).await.map_err(|error| error_text(&error))?;
    let is_match =
        |session: &&SessionSummary| session.id.matches(query) || session.name.as_deref() == Some(query);
    let matches: Vec<&SessionSummary> = listing.sessions.iter().filter(is_match).collect();
    let path = match matches[..] {
        [session] => session.path.clone(),
        [] => find_in_other_directories(agent, query).await?,
        _ => return Err(format!("several sessions here match `{query}`; /resume lists them")),
    };
    if agent.reader().is_at(&path) {
        return Ok("this session is already open\n".to_owned());
    }
    report_switch(agent.open_session(path).await, "opened").map_err(|error| error_text(&error))
}

/// Finds a session of another directory by a part of its id.
async fn find_in_other_directories(agent: &AgentSession, part: &str) -> Result<PathBuf, String> {
    let mut catalog = agent.catalog().await.map_err(|error| error_text(&error))?;
    let fragment = part.to_owned();
    let session =
        spawn_blocking(move || catalog.find_by_id(&fragment)).await.map_err(|error| error.to_string())?;
    session.map_err(|_| {
        format!(
            "no session here is named `{part}`, and none elsewhere has that id; /resume lists the sessions"
        )
    })
}

async fn models(agent: &AgentSession) -> Result<String, AgentError> {
    let current = agent.state().await?.state.model;
    let models = agent.models().await?;
    let line = |model: crate::message::ModelRef| {
        let name = model.to_string();
        if model == current { format!("{name} (current)\n") } else { format!("{name}\n") }
    };
    Ok(models.iter().map(|model| model.reference()).map(line).collect())
}

async fn levels(agent: &AgentSession) -> Result<String, AgentError> {
    let current = agent.state().await?.state.thinking;
    let levels = agent.thinking_levels().await?;
    let names: Vec<&str> = levels.iter().map(|level| level.name()).collect();
    Ok(format!("thinking: {}; levels: {}\n", current.name(), names.join(", ")))
}

/// Enters plan mode, or leaves it for the previous mode.
async fn toggle_plan(agent: &AgentSession) -> Result<String, AgentError> {
    agent.toggle_plan().await?;
    let mode = agent.state().await?.state.approval;
    Ok(format!("approval: {mode}, for this session\n"))
}

async fn approval_modes(agent: &AgentSession) -> Result<String, AgentError> {
    let current = agent.state().await?.state.approval;
    let names = ApprovalMode::ALL.map(ApprovalMode::name);
    Ok(format!("approval: {current}; modes: {}\n", names.join(", ")))
}

async fn relabel(agent: &AgentSession, label: Option<String>) -> CommandResult {
    let reader = agent.reader();
    let entry = tree::newest_message(&reader).ok_or("there is nothing to label yet")?;
    if label.is_none() && !Annotations::has_label(&reader, &entry) {
        return Ok("the newest message has no label; /label NAME adds one\n".to_owned());
    }
    let message = match &label {
        Some(label) => format!("labeled {label}\n"),
        None => "label removed\n".to_owned(),
    };
    agent.label(entry, label).await.map(|()| message).map_err(|error| error_text(&error))
}

/// Lists the session rules, then the settings rules.
async fn permissions(agent: &AgentSession) -> Result<String, AgentError> {
    let of_session = agent.permissions().await?;
    let of_session = of_session
        .iter()
        .map(|rule| (format!("{}, this session", rule.tool()), tree::truncate(&rule.to_string())));
    let of_settings = agent.configured_rules().await?;
    let of_settings =
        of_settings.iter().map(|rule| (rule.source().to_string(), tree::truncate(&rule.to_string())));
    let all = of_session.chain(of_settings).enumerate();
    let text: String = all.map(|(at, (whose, rule))| format!("{}, {whose}: {rule}\n", at + 1)).collect();
    let none = || "no rules in this session or in the settings\n".to_owned();
    Ok(if text.is_empty() { none() } else { text })
}

/// Removes the rule with a number in [`permissions`]; a settings rule is removed from its file.
async fn revoke(agent: &AgentSession, rules: Option<&RuleStore>, number: &str) -> CommandResult {
    let of_session = agent.permissions().await.map_err(|error| error_text(&error))?;
    let of_settings = agent.configured_rules().await.map_err(|error| error_text(&error))?;
    let at = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let at = at.ok_or("no permission has this number; /permissions lists them")?;
    if let Some(permission) = of_session.get(at).cloned() {
        let message = format!("revoked: {permission}\n");
        return agent
            .revoke_permission(permission)
            .await
            .map(|()| message)
            .map_err(|error| error_text(&error));
    }
    let rule = of_settings.iter().nth(at - of_session.len()).cloned();
    let rule = rule.ok_or("no permission has this number; /permissions lists them")?;
    let store = rules.ok_or("there is no settings file here")?;
    let message = format!("removed from {}: {rule}\n", rule.source());
    agent.remove_rule(store, rule).await.map(|()| message).map_err(|error| error_text(&error))
}

async fn find_queued(agent: &AgentSession, number: &str) -> Result<QueueId, String> {
    let items = agent.state().await.map_err(|error| error_text(&error))?.queue.items;
    let at = number.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let item = at.and_then(|at| items.get(at));
    item.map(|item| item.id.clone())
        .ok_or_else(|| "no queued message has this number; /queue lists them".into())
}

fn format_queue(items: &[QueueItem]) -> String {
    let line = |(at, item): (usize, &QueueItem)| {
        let kind = match (item.held, item.kind) {
            (true, _) => "held",
            (false, QueueKind::Steer) => "steers",
            (false, QueueKind::FollowUp) => "follows up",
        };
        format!("{}, {kind}: {}\n", at + 1, tree::truncate(&item.text))
    };
    let text: String = items.iter().enumerate().map(line).collect();
    if text.is_empty() { "the queue is empty\n".to_owned() } else { text }
}

async fn session_facts(agent: &AgentSession) -> Result<String, AgentError> {
    let (status, stats) = (agent.state().await?, agent.stats().await?);
    let breakdown = agent.context_breakdown().await?;
    let files: String = breakdown.files().map(|path| format!("context file: {}\n", path.display())).collect();
    Ok(session_text(&status, &stats) + &files)
}

/// Lists the working agents with their activity, the finished ones, and the definitions.
async fn agents(agent: &AgentSession) -> Result<String, AgentError> {
    let now = UnixMs::from(std::time::SystemTime::now());
    let running = agent.running_agents().await?.into_iter().map(|agent| {
        let activity = agent.activity.state(agent.since, now);
        format!("{} {} working: {activity}\n", agent.start.name, agent.start.agent_id.short())
    });
    let ended =
        agent.agent_tasks().await?.into_iter().rev().filter_map(|TaskRecord { start, end, .. }| {
            let end = end?.error.unwrap_or_else(|| "finished".to_owned());
            Some(format!("{} {} {end}\n", start.name, start.agent_id.short()))
        });
    let defined = agent.agent_definitions().await?.into_iter();
    let defined = defined.map(|agent| format!("{}: {}\n", agent.name, agent.description));
    let text: String = running.chain(ended).chain(defined).collect();
    Ok(if text.is_empty() { "no agents\n".to_owned() } else { text })
}

async fn cost(agent: &AgentSession) -> Result<String, AgentError> {
    Ok(agent.stats().await?.cost_lines().join("\n") + "\n")
}

/// Formats the MCP servers.
fn servers_text(servers: &[ToolServerStatus]) -> String {
    if servers.is_empty() {
        return "no MCP servers\n".to_owned();
    }
    servers.iter().flat_map(ToolServerStatus::lines).map(|line| line + "\n").collect()
}

/// Stops a background job, or lists all.
async fn jobs(agent: &AgentSession, to_stop: Option<JobId>) -> Result<String, AgentError> {
    let Some(id) = to_stop else { return Ok(jobs_text(&agent.background_jobs().await?)) };
    agent.stop_background_job(id.clone()).await?;
    Ok(format!("stopped background job {id}\n"))
}

/// Formats the background jobs, one line per job, with the last line of its output.
fn jobs_text(jobs: &[CommandJob]) -> String {
    if jobs.is_empty() {
        return "no background jobs\n".to_owned();
    }
    let line = |job: &CommandJob| {
        let last = Some(&job.last_line).filter(|last| !last.is_empty());
        let last = last.map(|last| format!("  {last}\n")).unwrap_or_default();
        format!("{}: {}: {}\n{last}", job.job_id, job.status, job.short_command())
    };
    jobs.iter().map(line).collect()
}

/// Formats the contents of the context window, one line per part.
fn context_text(breakdown: &ContextBreakdown) -> String {
    let window = breakdown.context.window;
    let percent = |tokens: Tokens| tokens.0.saturating_mul(100) / window.0.max(1);
    let line =
        |label: &str, tokens: Tokens| format!("{label}: {tokens} tokens, {} percent\n", percent(tokens));
    let mut text = line("context", breakdown.used());
    for part in &breakdown.parts {
        let label = part.label(|path| format!("context file {}", path.display()));
        text += &format!("  {label}: about {} tokens, {} percent\n", part.tokens, percent(part.tokens));
    }
    text + &line("free", breakdown.free()) + &format!("window: {window} tokens\n")
}

fn session_text(status: &Status, stats: &SessionStats) -> String {
    let (state, usage) = (&status.state, &stats.session.usage);
    let file = state.path.as_ref().map_or("in memory".to_owned(), |path| path.display().to_string());
    let name = state.name.as_ref().map(|name| format!("name: {name}\n")).unwrap_or_default();
    let percent = state.context.used.0.saturating_mul(100) / state.context.window.0.max(1);
    let mut text = format!(
        "session: {}\n{name}file: {file}\ndirectory: {}\nmodel: {}, thinking {}\ncontext: {} of {} tokens, {percent} percent\n",
        state.session,
        state.cwd.display(),
        state.model,
        state.thinking.name(),
        state.context.used,
        state.context.window,
    );
    text += &format!(
        "messages: {}, {}, {}\ntokens: {} in, {} out; cost {}\n",
        counted(stats.session.user_messages, "prompt", "prompts"),
        counted(stats.session.assistant_messages, "answer", "answers"),
        counted(stats.session.tool_calls, "tool call", "tool calls"),
        usage.input + usage.cache_read + usage.cache_write,
        usage.output,
        usage.cost.total,
    );
    for used in &stats.session.models {
        text += &format!("  {}: {}\n", used.model, used.usage.cost.total);
    }
    text + &format!("approval: {}\n", state.approval)
}
