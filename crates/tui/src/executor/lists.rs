//! What is gathered for lists, and what is done in them.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tiller_core::message::ThinkingLevel;
use tiller_core::setting::{self, Setting, SettingSource, Settings};
use tiller_core::suggest;
use tiller_engine::compaction::Automatic;
use tiller_engine::queue::DeliveryMode;
use tiller_engine::retry::RetryMode;
use tiller_engine::turn::SteeringPoint;
use tiller_engine::{AgentError, ApprovalMode, Permission};
use tiller_render::theme::placed;
use tiller_session::{PageRequest, SessionError, SessionScope};
use tokio::task::{JoinSet, spawn_blocking};

use super::{ExecutorWorker, failed, now};
use crate::app::{ListAction, ListKind, ListResult, TaskOrigin, TaskResult};
use crate::completion::{ArgumentValues, list, list_files};
use crate::dialog::Dialog;
use crate::picker::{self, Extract, Levels, Models, PickerChoice, PickerItem, StatusText};
use crate::settings_store::{ProblemDiff, SaveEffect, SettingProblem, SettingsDiff};
use crate::theme::{self, ThemeFit};
use crate::tool_call::one_line;

/// Sessions that are offered after `/resume`; the list itself has all of them.
const OFFERED: usize = 60;

impl ExecutorWorker {
    pub(super) async fn gather(&self, list: ListKind) -> Result<Vec<TaskResult>, AgentError> {
        let agent = &self.agent;
        let (items, selected) = match list {
            ListKind::Models => picker::models(&self.models().await?),
            ListKind::Thinking => picker::levels(&self.levels().await?),
            ListKind::Approval => picker::modes(&agent.state().await?.state.approval),
            ListKind::Trust => (self.trust_items().await, 0),
            ListKind::Permissions => (picker::permissions(&agent.permissions().await?), 0),
            ListKind::Tools => (picker::tools(&agent.tools().await?), 0),
            ListKind::Settings => return Ok(vec![self.settings().await]),
            // They are known without looking.
            ListKind::Themes => return Ok(Vec::new()),
            ListKind::Logins | ListKind::Logouts => return Ok(self.key_holders(list).await),
            ListKind::Foreign => return Ok(self.foreign_logs().await),
        };
        Ok(vec![TaskResult::List(ListResult::Items { list, items, selected })])
    }

    /// What may follow a command: what its list would offer, or the newest sessions.
    async fn words(
        &self,
        of: ArgumentValues,
        beside: &mut JoinSet<()>,
    ) -> Result<Vec<TaskResult>, AgentError> {
        match of {
            ArgumentValues::Of(list) => {
                let words = |report| match report {
                    TaskResult::List(ListResult::Items { items, .. }) => {
                        TaskResult::List(ListResult::Words { of, items })
                    }
                    report => report,
                };
                Ok(self.gather(list).await?.into_iter().map(words).collect())
            }
            ArgumentValues::Sessions => {
                let mut catalog = self.agent.catalog().await?;
                self.read_beside(beside, move || {
                    let newest = catalog
                        .page(SessionScope::ThisDirectory, PageRequest { offset: 0, limit: Some(OFFERED) });
                    let sessions = newest.map(|listing| listing.sessions).unwrap_or_default();
                    TaskResult::List(ListResult::Words { of, items: picker::newest(&sessions, now()) })
                });
                Ok(Vec::new())
            }
        }
    }

    async fn levels(&self) -> Result<Levels, AgentError> {
        let state = self.agent.state().await?.state;
        Ok(Levels { can: self.agent.thinking_levels().await?, current: state.thinking, model: state.model })
    }

    async fn models(&self) -> Result<Models, AgentError> {
        let agent = &self.agent;
        let usable = agent.models().await?.iter().map(|model| (*model.facts).clone()).collect::<Vec<_>>();
        let cycled = agent.scoped_models().await?;
        // Where all of them are cycled through there is nothing to mark.
        let cycled = if cycled.len() == usable.len() { Vec::new() } else { cycled };
        Ok(Models {
            usable,
            locked: agent.locked_models().await?,
            cycled: cycled.iter().map(|scoped| scoped.model.reference()).collect(),
            current: Some(agent.state().await?.state.model),
        })
    }

    /// Does what was asked for in a list.
    pub(super) async fn in_list(
        &self,
        deed: ListAction,
        beside: &mut JoinSet<()>,
    ) -> Result<Vec<TaskResult>, AgentError> {
        match deed {
            ListAction::Gather(list) => self.gather(list).await,
            ListAction::GatherWords(words) => self.words(words, beside).await,
            ListAction::Narrow(narrowing) => {
                self.read_beside(beside, move || TaskResult::List(ListResult::Narrowed(narrowing.done())));
                Ok(Vec::new())
            }
            ListAction::WalkFiles(cwd) => {
                let protected = self.options.files.protected.clone();
                let list = move || ListResult::Files(Arc::new(list_files(&cwd, &protected)));
                self.read_beside(beside, move || TaskResult::List(list()));
                Ok(Vec::new())
            }
            ListAction::RankFiles(ranking) => {
                self.read_beside(beside, move || TaskResult::List(ListResult::Ranked(ranking.done())));
                Ok(Vec::new())
            }
            ListAction::ListPaths(wanted) => {
                self.read_beside(beside, move || TaskResult::List(ListResult::Listed(list(wanted))));
                Ok(Vec::new())
            }
            ListAction::Preview(path, extract) => {
                self.preview(path, extract, beside);
                Ok(Vec::new())
            }
            ListAction::SetApproval(mode) => self.set_approval(mode).await,
            ListAction::Trust => self.trust().await,
            ListAction::Revoke(permission) => self.revoke(permission).await,
            ListAction::AddFolder(typed) => self.add_folder(typed).await,
            ListAction::ToggleTool(name) => self.toggle_tool(name).await,
            ListAction::Set(setting, text) => Ok(self.set(setting, text).await),
            ListAction::NameSession(path, name) => {
                let word = match name.trim() {
                    "" => "it has no name any more".to_owned(),
                    name => format!("it is called {} now", one_line(name)),
                };
                Ok(match self.agent.name_session(path.clone(), name.clone()).await {
                    Err(error) => {
                        vec![TaskResult::List(ListResult::NotNamed { path, name, why: trouble(&error) })]
                    }
                    done => changed(done, word, None),
                })
            }
            ListAction::TrashSession(path) => {
                let done = self.agent.trash_session(path.clone()).await;
                Ok(changed(done, "moved to the trash".to_owned(), Some(path)))
            }
            ListAction::RestoreSession(path) => Ok(vec![self.restore(path).await]),
            ListAction::Key(order) => self.change_key(order).await,
            ListAction::Import(typed) => self.import(typed, beside).await,
        }
    }

    /// Reads the end of a session or what was found in it, unless another one is looked at by then.
    fn preview(&self, path: PathBuf, extract: Extract, beside: &mut JoinSet<()>) {
        let looked = Arc::clone(&self.looked);
        let number = looked.fetch_add(1, Ordering::Relaxed) + 1;
        let reports = self.reports.clone();
        beside.spawn_blocking(move || {
            if looked.load(Ordering::Relaxed) == number {
                let lines = picker::extract(&path, &extract);
                // Whoever would read it may be gone.
                let _ = reports.blocking_send(TaskResult::List(ListResult::Preview {
                    of: PickerChoice::Open(path),
                    lines,
                }));
            }
        });
    }

    async fn restore(&self, path: PathBuf) -> TaskResult {
        match self.agent.restore_session(path.clone()).await {
            Ok(()) => TaskResult::List(ListResult::SessionsChanged {
                word: StatusText::note("it is back"),
                trashed: None,
            }),
            Err(error) => TaskResult::List(ListResult::NotRestored { path, why: trouble(&error) }),
        }
    }

    /// Goes to a session; of one that another process writes to a fork is offered.
    pub(super) async fn open(&self, path: PathBuf) -> Result<Vec<TaskResult>, AgentError> {
        // By another name it would be one that somebody else holds: this very tiller.
        if self.agent.reader().is_at(&path) {
            return Ok(vec![TaskResult::List(ListResult::Said(StatusText::note(
                "that is the session that is open here",
            )))]);
        }
        match self.agent.open_session(path).await {
            Ok(moved) => Ok(vec![TaskResult::Moved(moved)]),
            Err(AgentError::Session(SessionError::Held { path, holder })) => {
                let by = holder.map(|holder| format!(" ({holder})")).unwrap_or_default();
                let items = vec![
                    PickerItem::new("go on in a fork of it", PickerChoice::ForkOf(path)),
                    PickerItem::new("stay here", PickerChoice::Nothing),
                ];
                let title = one_line(&format!("another tiller has it open{by}"));
                Ok(vec![
                    TaskResult::List(ListResult::Said(StatusText::note("another tiller has it open"))),
                    TaskResult::Ask(Dialog { title, items }),
                ])
            }
            Err(error) => Err(error),
        }
    }

    async fn set_approval(&self, mode: ApprovalMode) -> Result<Vec<TaskResult>, AgentError> {
        self.agent.set_approval(mode).await?;
        let state = Box::new(self.agent.state().await?.state);
        Ok(vec![
            TaskResult::State(state),
            TaskResult::Note(format!("approval: {}, for this session; /settings keeps it", mode.name())),
        ])
    }

    async fn trust_items(&self) -> Vec<PickerItem> {
        let none = || {
            let why = "nothing to trust: the project has no settings, .env or extensions";
            vec![PickerItem::new(why, PickerChoice::Cant(why.to_owned()))]
        };
        let Some(desk) = self.options.desks.trust.clone() else { return none() };
        spawn_blocking(move || desk.items()).await.unwrap_or_else(|_| none())
    }

    /// Trusts the project, and lets its settings take effect as `/reload` does.
    async fn trust(&self) -> Result<Vec<TaskResult>, AgentError> {
        let Some(desk) = self.options.desks.trust.clone() else { return Ok(Vec::new()) };
        let trusted = spawn_blocking(move || desk.trust()).await;
        let trusted = trusted.unwrap_or_else(|_| Err("the answer can't be kept".to_owned()));
        if let Err(what) = trusted {
            return Ok(vec![TaskResult::Failed { what, hint: None, text: None }]);
        }
        let (settings, failures) = self.renew_settings().await;
        let settings = settings.map(|settings| format!(" · {settings}")).unwrap_or_default();
        let note =
            format!("Project trusted{settings}. Its extensions and .env take effect at the next start.");
        Ok([TaskResult::Note(note)].into_iter().chain(failures).collect())
    }

    async fn revoke(&self, permission: Permission) -> Result<Vec<TaskResult>, AgentError> {
        let what = one_line(&permission.to_string());
        let word = match self.agent.revoke_permission(permission).await {
            Ok(()) => StatusText::note(format!("not allowed any more: {what}")),
            Err(error) => trouble(&error),
        };
        let items = picker::permissions(&self.agent.permissions().await?);
        Ok(vec![
            TaskResult::List(ListResult::Items { list: ListKind::Permissions, items, selected: 0 }),
            TaskResult::List(ListResult::Said(word)),
        ])
    }

    async fn add_folder(&self, typed: String) -> Result<Vec<TaskResult>, AgentError> {
        Ok(vec![match self.agent.add_folder(typed.clone()).await {
            Ok(permission) => {
                let what = one_line(&permission.to_string());
                TaskResult::Note(format!("allowed for this session: {what}; /permissions takes it back"))
            }
            Err(error) => {
                TaskResult::slip(format!("/add-dir {typed}"), (error.to_string(), None), TaskOrigin::Typed)
            }
        }])
    }

    async fn toggle_tool(&self, name: String) -> Result<Vec<TaskResult>, AgentError> {
        let tools = self.agent.tools().await?;
        let Some(meant) = tools.iter().find(|tool| tool.spec.name == name) else {
            let nearest = suggest::nearest(&name, tools.iter().map(|tool| tool.spec.name.as_str()));
            let instead =
                nearest.map_or("/tools lists them".to_owned(), |name| format!("did you mean {name}?"));
            let what = format!("there is no tool {}; {}", one_line(&name), one_line(&instead));
            let origin = TaskOrigin::List(ListKind::Tools);
            return Ok(vec![TaskResult::slip(format!("/tools {name}"), (what, None), origin)]);
        };
        let is_now = if meant.is_offered() { "is not offered any more" } else { "is offered" };
        let wanted = tools.iter().filter(|tool| tool.is_offered() != (tool.spec.name == name));
        self.agent.offer_tools(wanted.map(|tool| tool.spec.name.clone()).collect()).await?;
        let items = picker::tools(&self.agent.tools().await?);
        let word = StatusText::note(format!("{} {is_now}, from the next request on", one_line(&name)));
        Ok(vec![
            TaskResult::List(ListResult::Items { list: ListKind::Tools, items, selected: 0 }),
            TaskResult::List(ListResult::Said(word)),
        ])
    }

    /// The settings as they are now.
    async fn settings(&self) -> TaskResult {
        let Some(desk) = self.options.desks.settings.clone() else {
            return TaskResult::List(ListResult::Said(StatusText::trouble(
                "there is no file of settings here",
            )));
        };
        match spawn_blocking(move || desk.read()).await {
            Ok(Ok(settings)) => TaskResult::List(ListResult::Settings(Box::new(settings))),
            Ok(Err((what, hint))) => TaskResult::Failed { what, hint, text: None },
            Err(_) => TaskResult::List(ListResult::Said(StatusText::trouble("the settings can't be read"))),
        }
    }

    /// Writes a setting to the user's file and lets it take effect, now if it can.
    async fn set(&self, setting: &'static Setting, text: String) -> Vec<TaskResult> {
        let Some(desk) = self.options.desks.settings.clone() else { return Vec::new() };
        let written = spawn_blocking(move || {
            let before = desk.read()?;
            desk.write(setting, &text)?;
            let now = desk.read()?;
            desk.know(setting, &now);
            Ok((before, now))
        });
        let (before, settings): (Settings, Settings) = match written.await {
            Ok(Ok(settings)) => settings,
            Ok(Err((what, hint))) => {
                return vec![TaskResult::List(ListResult::Said(StatusText::trouble(with_hint(what, hint))))];
            }
            Err(_) => {
                return vec![TaskResult::List(ListResult::Said(StatusText::trouble(
                    "the file of settings can't be written",
                )))];
            }
        };
        let word = match settings.value(setting).1 {
            SettingSource::Default | SettingSource::File(_) => match self.apply(setting, &settings).await {
                Ok(SettingEffect::Now) => {
                    StatusText::note(format!("{}written, and in effect", step(setting, [&before, &settings])))
                }
                Ok(SettingEffect::NextStart) => {
                    let step = step(setting, [&before, &settings]);
                    StatusText::note(format!("{step}written; it takes effect from the next start on"))
                }
                Ok(SettingEffect::Never(trouble)) => StatusText::trouble(format!("written, but: {trouble}")),
                Err(error) => StatusText::trouble(format!("written, but: {error}")),
            },
            source => StatusText::note(format!("written, but {source} has the last word here")),
        };
        vec![
            TaskResult::List(ListResult::Settings(Box::new(settings))),
            TaskResult::List(ListResult::Said(word)),
        ]
    }

    /// Reads the settings anew and lets those take effect that can; what is to be said of them, and what went wrong or was passed
    /// over. One that could not be applied is tried again the next time.
    pub(super) async fn renew_settings(&self) -> (Option<String>, Vec<TaskResult>) {
        let Some(desk) = self.options.desks.settings.clone() else { return (None, Vec::new()) };
        let renewing = desk.clone();
        let SettingsDiff { changed, now, mut faults } = match spawn_blocking(move || renewing.renew()).await {
            Ok(Ok(renewed)) => renewed,
            Ok(Err((what, hint))) => return (None, vec![TaskResult::Failed { what, hint, text: None }]),
            Err(_) => return (None, Vec::new()),
        };
        let mut renewed = ReloadedSettings::default();
        for setting in changed {
            let applied = self.apply(setting, &now).await;
            if matches!(applied, Ok(SettingEffect::Now | SettingEffect::NextStart)) {
                desk.know(setting, &now);
            }
            match applied {
                // It runs as it was at the start all along.
                Ok(SettingEffect::NextStart) if desk.is_as_at_the_start(setting, &now) => {}
                applied => renewed.take(setting, &now, applied),
            }
        }
        faults.append(&mut renewed.faults);
        let is_left = faults.iter().any(SettingProblem::costs_everything);
        let ProblemDiff { new, gone } = desk.judge(&faults);
        let said = is_left.then(|| "the settings stay as they were".to_owned()).or(renewed.said());
        let reports = gone.into_iter().map(TaskResult::Mended);
        (said, reports.chain(new.iter().map(told)).chain(renewed.failures).collect())
    }

    /// Tells the agent of a setting that is another than before.
    async fn apply(&self, setting: &Setting, settings: &Settings) -> Result<SettingEffect, AgentError> {
        let agent = &self.agent;
        let is = |word| settings.is(setting, word);
        let mode = |all| if all { DeliveryMode::All } else { DeliveryMode::OneAtATime };
        let text = settings.text(setting).unwrap_or_default();
        if *setting == setting::STEERING_POINT {
            let after = is("after-answer");
            let point = if after { SteeringPoint::AfterAnswer } else { SteeringPoint::BetweenTools };
            agent.set_steering_point(point).await?;
        } else if *setting == setting::STEERING_MODE {
            agent.set_steering_mode(mode(is("all"))).await?;
        } else if *setting == setting::FOLLOW_UP_MODE {
            agent.set_follow_up_mode(mode(is("all"))).await?;
        } else if *setting == setting::RETRY_ENABLED {
            agent.set_auto_retry(if is("on") { RetryMode::On } else { RetryMode::Off }).await?;
        } else if *setting == setting::COMPACTION_ENABLED {
            agent.set_auto_compaction(if is("on") { Automatic::On } else { Automatic::Off }).await?;
        } else if *setting == setting::APPROVAL
            && let Some(mode) = ApprovalMode::parse(text)
        {
            agent.configure_approval(mode).await?;
        } else if *setting == setting::THINKING
            && let Some(level) = ThinkingLevel::parse(text)
        {
            agent.set_thinking(level).await?;
        } else if let Some(setting) = theme::setting_of(setting) {
            return Ok(self.wear(setting, text).await);
        } else {
            return Ok(SettingEffect::NextStart);
        }
        let state = Box::new(agent.state().await?.state);
        // Whoever would show it may be gone.
        let _ = self.reports.send(TaskResult::State(state)).await;
        Ok(SettingEffect::Now)
    }

    /// Has the front end wear what a setting names; a file that it hasn't read is read at the next start.
    async fn wear(&self, setting: &'static Setting, wanted: &str) -> SettingEffect {
        let name = placed(wanted, &self.options.cwd, self.options.home.as_deref());
        match theme::fit(&self.options.themes.library_now(), setting, &name) {
            ThemeFit::Known => {
                // Whoever would wear it may be gone.
                let _ = self.reports.send(TaskResult::List(ListResult::Theme(setting, name))).await;
                SettingEffect::Now
            }
            ThemeFit::Unread => SettingEffect::NextStart,
            ThemeFit::Wrong(trouble) => SettingEffect::Never(trouble),
        }
    }
}

/// What a setting was and is: `ask → auto: `; nothing where it is what it was.
fn step(setting: &Setting, [before, now]: [&Settings; 2]) -> String {
    match (shown(before, setting), shown(now, setting)) {
        (before, now) if before == now => String::new(),
        (before, now) => format!("{before} → {now}: "),
    }
}

fn shown(settings: &Settings, setting: &Setting) -> String {
    settings.value(setting).0.map_or_else(|| "unset".to_owned(), |value| one_line(&value.to_string()))
}

fn with_hint(what: String, hint: Option<String>) -> String {
    hint.map_or(what.clone(), |hint| format!("{what}; {hint}"))
}

/// A fault that wasn't there before, as it is told, and logged.
fn told(fault: &SettingProblem) -> TaskResult {
    tracing::warn!("{}", fault.said());
    if fault.costs_everything() {
        let hint = "everything stays as it was until /reload finds it right".to_owned();
        return TaskResult::Failed { what: fault.said(), hint: Some(hint), text: None };
    }
    TaskResult::Warning(fault.said())
}

/// When a setting takes effect.
enum SettingEffect {
    Now,
    NextStart,
    /// It can't, and why.
    Never(String),
}

/// What became of settings that were read anew.
#[derive(Default)]
struct ReloadedSettings {
    taken: Vec<String>,
    left: Vec<&'static str>,
    faults: Vec<SettingProblem>,
    failures: Vec<TaskResult>,
}

impl ReloadedSettings {
    fn take(&mut self, setting: &Setting, now: &Settings, applied: Result<SettingEffect, AgentError>) {
        match applied {
            Ok(SettingEffect::Now) => self.taken.push(format!("{} {}", setting.name, shown(now, setting))),
            Ok(SettingEffect::NextStart) => self.left.push(setting.name),
            Ok(SettingEffect::Never(trouble)) => {
                let what = format!("{}: {trouble}", setting.name);
                self.faults.push(SettingProblem { what, instead: None, cost: SaveEffect::Itself });
            }
            Err(error) => self.failures.push(match failed(&error, None) {
                TaskResult::Failed { what, hint, text } => {
                    TaskResult::Failed { what: format!("{}: {what}", setting.name), hint, text }
                }
                report => report,
            }),
        }
    }

    fn said(&self) -> Option<String> {
        let taken = (!self.taken.is_empty()).then(|| format!("{} now", self.taken.join(", ")));
        let left =
            (!self.left.is_empty()).then(|| format!("{} from the next start on", self.left.join(", ")));
        let words: Vec<String> = taken.into_iter().chain(left).collect();
        (!words.is_empty()).then(|| words.join("; "))
    }
}

/// What became of something done to a session of the list.
fn changed(done: Result<(), AgentError>, word: String, trashed: Option<PathBuf>) -> Vec<TaskResult> {
    vec![match done {
        Ok(()) => TaskResult::List(ListResult::SessionsChanged { word: StatusText::note(word), trashed }),
        Err(error) => TaskResult::List(ListResult::Said(trouble(&error))),
    }]
}

fn trouble(error: &AgentError) -> StatusText {
    match failed(error, None) {
        TaskResult::Failed { what, .. } => StatusText::trouble(what),
        _ => StatusText::trouble(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_setting_that_fails_keeps_none_of_the_others_from_being_told_of() {
        let (mut renewed, now) = (ReloadedSettings::default(), Settings::default());
        renewed.take(&setting::THINKING, &now, Err(AgentError::Running));
        renewed.take(&setting::APPROVAL, &now, Ok(SettingEffect::Now));
        renewed.take(&setting::SYNC, &now, Ok(SettingEffect::NextStart));
        let approval = shown(&now, &setting::APPROVAL);
        assert_eq!(renewed.said(), Some(format!("approval {approval} now; sync from the next start on")));
        let failures = &renewed.failures[..];
        assert!(matches!(failures, [TaskResult::Failed { what, .. }] if what.starts_with("thinking: ")));
    }
}
