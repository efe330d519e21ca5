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

use super::{Worker, failed, now};
use crate::app::{InList, List, ListNews, Origin, Report};
use crate::call::one_line;
use crate::complete::{Words, list, list_files};
use crate::desk::{Cost, Fault, News, Verdict};
use crate::picker::{self, Choice, Extract, Item, Levels, Models, Word};
use crate::question::Question;
use crate::theme::{self, Fit};

/// Sessions that are offered after `/resume`; the list itself has all of them.
const OFFERED: usize = 60;

impl Worker {
    pub(super) async fn gather(&self, list: List) -> Result<Vec<Report>, AgentError> {
        let agent = &self.agent;
        let (items, selected) = match list {
            List::Models => picker::models(&self.models().await?),
            List::Thinking => picker::levels(&self.levels().await?),
            List::Approval => picker::modes(&agent.state().await?.state.approval),
            List::Trust => (self.trust_items().await, 0),
            List::Permissions => (picker::permissions(&agent.permissions().await?), 0),
            List::Tools => (picker::tools(&agent.tools().await?), 0),
            List::Settings => return Ok(vec![self.settings().await]),
            // They are known without looking.
            List::Themes => return Ok(Vec::new()),
            List::Logins | List::Logouts => return Ok(self.key_holders(list).await),
            List::Foreign => return Ok(self.foreign_logs().await),
        };
        Ok(vec![Report::List(ListNews::Items { list, items, selected })])
    }

    /// What may follow a command: what its list would offer, or the newest sessions.
    async fn words(&self, of: Words, beside: &mut JoinSet<()>) -> Result<Vec<Report>, AgentError> {
        match of {
            Words::Of(list) => {
                let words = |report| match report {
                    Report::List(ListNews::Items { items, .. }) => {
                        Report::List(ListNews::Words { of, items })
                    }
                    report => report,
                };
                Ok(self.gather(list).await?.into_iter().map(words).collect())
            }
            Words::Sessions => {
                let mut catalog = self.agent.catalog().await?;
                self.read_beside(beside, move || {
                    let newest = catalog
                        .page(SessionScope::ThisDirectory, PageRequest { offset: 0, limit: Some(OFFERED) });
                    let sessions = newest.map(|listing| listing.sessions).unwrap_or_default();
                    Report::List(ListNews::Words { of, items: picker::newest(&sessions, now()) })
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
        deed: InList,
        beside: &mut JoinSet<()>,
    ) -> Result<Vec<Report>, AgentError> {
        match deed {
            InList::Gather(list) => self.gather(list).await,
            InList::GatherWords(words) => self.words(words, beside).await,
            InList::Narrow(narrowing) => {
                self.read_beside(beside, move || Report::List(ListNews::Narrowed(narrowing.done())));
                Ok(Vec::new())
            }
            InList::WalkFiles(cwd) => {
                let protected = self.options.files.protected.clone();
                let list = move || ListNews::Files(Arc::new(list_files(&cwd, &protected)));
                self.read_beside(beside, move || Report::List(list()));
                Ok(Vec::new())
            }
            InList::RankFiles(ranking) => {
                self.read_beside(beside, move || Report::List(ListNews::Ranked(ranking.done())));
                Ok(Vec::new())
            }
            InList::ListPaths(wanted) => {
                self.read_beside(beside, move || Report::List(ListNews::Listed(list(wanted))));
                Ok(Vec::new())
            }
            InList::Preview(path, extract) => {
                self.preview(path, extract, beside);
                Ok(Vec::new())
            }
            InList::SetApproval(mode) => self.set_approval(mode).await,
            InList::Trust => self.trust().await,
            InList::Revoke(permission) => self.revoke(permission).await,
            InList::AddFolder(typed) => self.add_folder(typed).await,
            InList::ToggleTool(name) => self.toggle_tool(name).await,
            InList::Set(setting, text) => Ok(self.set(setting, text).await),
            InList::NameSession(path, name) => {
                let word = match name.trim() {
                    "" => "it has no name any more".to_owned(),
                    name => format!("it is called {} now", one_line(name)),
                };
                Ok(match self.agent.name_session(path.clone(), name.clone()).await {
                    Err(error) => {
                        vec![Report::List(ListNews::NotNamed { path, name, why: trouble(&error) })]
                    }
                    done => changed(done, word, None),
                })
            }
            InList::TrashSession(path) => {
                let done = self.agent.trash_session(path.clone()).await;
                Ok(changed(done, "moved to the trash".to_owned(), Some(path)))
            }
            InList::RestoreSession(path) => Ok(vec![self.restore(path).await]),
            InList::Key(order) => self.change_key(order).await,
            InList::Import(typed) => self.import(typed, beside).await,
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
                let _ =
                    reports.blocking_send(Report::List(ListNews::Preview { of: Choice::Open(path), lines }));
            }
        });
    }

    async fn restore(&self, path: PathBuf) -> Report {
        match self.agent.restore_session(path.clone()).await {
            Ok(()) => {
                Report::List(ListNews::SessionsChanged { word: Word::note("it is back"), trashed: None })
            }
            Err(error) => Report::List(ListNews::NotRestored { path, why: trouble(&error) }),
        }
    }

    /// Goes to a session; of one that another process writes to a fork is offered.
    pub(super) async fn open(&self, path: PathBuf) -> Result<Vec<Report>, AgentError> {
        // By another name it would be one that somebody else holds: this very tiller.
        if self.agent.reader().is_at(&path) {
            return Ok(vec![Report::List(ListNews::Said(Word::note(
                "that is the session that is open here",
            )))]);
        }
        match self.agent.open_session(path).await {
            Ok(moved) => Ok(vec![Report::Moved(moved)]),
            Err(AgentError::Session(SessionError::Held { path, holder })) => {
                let by = holder.map(|holder| format!(" ({holder})")).unwrap_or_default();
                let items = vec![
                    Item::new("go on in a fork of it", Choice::ForkOf(path)),
                    Item::new("stay here", Choice::Nothing),
                ];
                let title = one_line(&format!("another tiller has it open{by}"));
                Ok(vec![
                    Report::List(ListNews::Said(Word::note("another tiller has it open"))),
                    Report::Ask(Question { title, items }),
                ])
            }
            Err(error) => Err(error),
        }
    }

    async fn set_approval(&self, mode: ApprovalMode) -> Result<Vec<Report>, AgentError> {
        self.agent.set_approval(mode).await?;
        let state = Box::new(self.agent.state().await?.state);
        Ok(vec![
            Report::State(state),
            Report::Note(format!("approval: {}, for this session; /settings keeps it", mode.name())),
        ])
    }

    async fn trust_items(&self) -> Vec<Item> {
        let none = || {
            let why = "nothing to trust: the project has no settings, .env or extensions";
            vec![Item::new(why, Choice::Cant(why.to_owned()))]
        };
        let Some(desk) = self.options.desks.trust.clone() else { return none() };
        spawn_blocking(move || desk.items()).await.unwrap_or_else(|_| none())
    }

    /// Trusts the project, and lets its settings take effect as `/reload` does.
    async fn trust(&self) -> Result<Vec<Report>, AgentError> {
        let Some(desk) = self.options.desks.trust.clone() else { return Ok(Vec::new()) };
        let trusted = spawn_blocking(move || desk.trust()).await;
        let trusted = trusted.unwrap_or_else(|_| Err("the answer can't be kept".to_owned()));
        if let Err(what) = trusted {
            return Ok(vec![Report::Failed { what, hint: None, text: None }]);
        }
        let (settings, failures) = self.renew_settings().await;
        let settings = settings.map(|settings| format!(" · {settings}")).unwrap_or_default();
        let note =
            format!("Project trusted{settings}. Its extensions and .env take effect at the next start.");
        Ok([Report::Note(note)].into_iter().chain(failures).collect())
    }

    async fn revoke(&self, permission: Permission) -> Result<Vec<Report>, AgentError> {
        let what = one_line(&permission.to_string());
        let word = match self.agent.revoke_permission(permission).await {
            Ok(()) => Word::note(format!("not allowed any more: {what}")),
            Err(error) => trouble(&error),
        };
        let items = picker::permissions(&self.agent.permissions().await?);
        Ok(vec![
            Report::List(ListNews::Items { list: List::Permissions, items, selected: 0 }),
            Report::List(ListNews::Said(word)),
        ])
    }

    async fn add_folder(&self, typed: String) -> Result<Vec<Report>, AgentError> {
        Ok(vec![match self.agent.add_folder(typed.clone()).await {
            Ok(permission) => {
                let what = one_line(&permission.to_string());
                Report::Note(format!("allowed for this session: {what}; /permissions takes it back"))
            }
            Err(error) => Report::slip(format!("/add-dir {typed}"), (error.to_string(), None), Origin::Typed),
        }])
    }

    async fn toggle_tool(&self, name: String) -> Result<Vec<Report>, AgentError> {
        let tools = self.agent.tools().await?;
        let Some(meant) = tools.iter().find(|tool| tool.spec.name == name) else {
            let nearest = suggest::nearest(&name, tools.iter().map(|tool| tool.spec.name.as_str()));
            let instead =
                nearest.map_or("/tools lists them".to_owned(), |name| format!("did you mean {name}?"));
            let what = format!("there is no tool {}; {}", one_line(&name), one_line(&instead));
            let origin = Origin::List(List::Tools);
            return Ok(vec![Report::slip(format!("/tools {name}"), (what, None), origin)]);
        };
        let is_now = if meant.is_offered() { "is not offered any more" } else { "is offered" };
        let wanted = tools.iter().filter(|tool| tool.is_offered() != (tool.spec.name == name));
        self.agent.offer_tools(wanted.map(|tool| tool.spec.name.clone()).collect()).await?;
        let items = picker::tools(&self.agent.tools().await?);
        let word = Word::note(format!("{} {is_now}, from the next request on", one_line(&name)));
        Ok(vec![
            Report::List(ListNews::Items { list: List::Tools, items, selected: 0 }),
            Report::List(ListNews::Said(word)),
        ])
    }

    /// The settings as they are now.
    async fn settings(&self) -> Report {
        let Some(desk) = self.options.desks.settings.clone() else {
            return Report::List(ListNews::Said(Word::trouble("there is no file of settings here")));
        };
        match spawn_blocking(move || desk.read()).await {
            Ok(Ok(settings)) => Report::List(ListNews::Settings(Box::new(settings))),
            Ok(Err((what, hint))) => Report::Failed { what, hint, text: None },
            Err(_) => Report::List(ListNews::Said(Word::trouble("the settings can't be read"))),
        }
    }

    /// Writes a setting to the user's file and lets it take effect, now if it can.
    async fn set(&self, setting: &'static Setting, text: String) -> Vec<Report> {
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
                return vec![Report::List(ListNews::Said(Word::trouble(with_hint(what, hint))))];
            }
            Err(_) => {
                return vec![Report::List(ListNews::Said(Word::trouble(
                    "the file of settings can't be written",
                )))];
            }
        };
        let word = match settings.value(setting).1 {
            SettingSource::Default | SettingSource::File(_) => match self.apply(setting, &settings).await {
                Ok(Effect::Now) => {
                    Word::note(format!("{}written, and in effect", step(setting, [&before, &settings])))
                }
                Ok(Effect::NextStart) => {
                    let step = step(setting, [&before, &settings]);
                    Word::note(format!("{step}written; it takes effect from the next start on"))
                }
                Ok(Effect::Never(trouble)) => Word::trouble(format!("written, but: {trouble}")),
                Err(error) => Word::trouble(format!("written, but: {error}")),
            },
            source => Word::note(format!("written, but {source} has the last word here")),
        };
        vec![Report::List(ListNews::Settings(Box::new(settings))), Report::List(ListNews::Said(word))]
    }

    /// Reads the settings anew and lets those take effect that can; what is to be said of them, and what went wrong or was passed
    /// over. One that could not be applied is tried again the next time.
    pub(super) async fn renew_settings(&self) -> (Option<String>, Vec<Report>) {
        let Some(desk) = self.options.desks.settings.clone() else { return (None, Vec::new()) };
        let renewing = desk.clone();
        let News { changed, now, mut faults } = match spawn_blocking(move || renewing.renew()).await {
            Ok(Ok(renewed)) => renewed,
            Ok(Err((what, hint))) => return (None, vec![Report::Failed { what, hint, text: None }]),
            Err(_) => return (None, Vec::new()),
        };
        let mut renewed = Renewed::default();
        for setting in changed {
            let applied = self.apply(setting, &now).await;
            if matches!(applied, Ok(Effect::Now | Effect::NextStart)) {
                desk.know(setting, &now);
            }
            match applied {
                // It runs as it was at the start all along.
                Ok(Effect::NextStart) if desk.is_as_at_the_start(setting, &now) => {}
                applied => renewed.take(setting, &now, applied),
            }
        }
        faults.append(&mut renewed.faults);
        let is_left = faults.iter().any(Fault::costs_everything);
        let Verdict { new, gone } = desk.judge(&faults);
        let said = is_left.then(|| "the settings stay as they were".to_owned()).or(renewed.said());
        let reports = gone.into_iter().map(Report::Mended);
        (said, reports.chain(new.iter().map(told)).chain(renewed.failures).collect())
    }

    /// Tells the agent of a setting that is another than before.
    async fn apply(&self, setting: &Setting, settings: &Settings) -> Result<Effect, AgentError> {
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
            return Ok(Effect::NextStart);
        }
        let state = Box::new(agent.state().await?.state);
        // Whoever would show it may be gone.
        let _ = self.reports.send(Report::State(state)).await;
        Ok(Effect::Now)
    }

    /// Has the front end wear what a setting names; a file that it hasn't read is read at the next start.
    async fn wear(&self, setting: &'static Setting, wanted: &str) -> Effect {
        let name = placed(wanted, &self.options.cwd, self.options.home.as_deref());
        match theme::fit(&self.options.themes.library_now(), setting, &name) {
            Fit::Known => {
                // Whoever would wear it may be gone.
                let _ = self.reports.send(Report::List(ListNews::Theme(setting, name))).await;
                Effect::Now
            }
            Fit::Unread => Effect::NextStart,
            Fit::Wrong(trouble) => Effect::Never(trouble),
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
fn told(fault: &Fault) -> Report {
    tracing::warn!("{}", fault.said());
    if fault.costs_everything() {
        let hint = "everything stays as it was until /reload finds it right".to_owned();
        return Report::Failed { what: fault.said(), hint: Some(hint), text: None };
    }
    Report::Warning(fault.said())
}

/// When a setting takes effect.
enum Effect {
    Now,
    NextStart,
    /// It can't, and why.
    Never(String),
}

/// What became of settings that were read anew.
#[derive(Default)]
struct Renewed {
    taken: Vec<String>,
    left: Vec<&'static str>,
    faults: Vec<Fault>,
    failures: Vec<Report>,
}

impl Renewed {
    fn take(&mut self, setting: &Setting, now: &Settings, applied: Result<Effect, AgentError>) {
        match applied {
            Ok(Effect::Now) => self.taken.push(format!("{} {}", setting.name, shown(now, setting))),
            Ok(Effect::NextStart) => self.left.push(setting.name),
            Ok(Effect::Never(trouble)) => {
                let what = format!("{}: {trouble}", setting.name);
                self.faults.push(Fault { what, instead: None, cost: Cost::Itself });
            }
            Err(error) => self.failures.push(match failed(&error, None) {
                Report::Failed { what, hint, text } => {
                    Report::Failed { what: format!("{}: {what}", setting.name), hint, text }
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
fn changed(done: Result<(), AgentError>, word: String, trashed: Option<PathBuf>) -> Vec<Report> {
    vec![match done {
        Ok(()) => Report::List(ListNews::SessionsChanged { word: Word::note(word), trashed }),
        Err(error) => Report::List(ListNews::Said(trouble(&error))),
    }]
}

fn trouble(error: &AgentError) -> Word {
    match failed(error, None) {
        Report::Failed { what, .. } => Word::trouble(what),
        _ => Word::trouble(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_setting_that_fails_keeps_none_of_the_others_from_being_told_of() {
        let (mut renewed, now) = (Renewed::default(), Settings::default());
        renewed.take(&setting::THINKING, &now, Err(AgentError::Running));
        renewed.take(&setting::APPROVAL, &now, Ok(Effect::Now));
        renewed.take(&setting::SYNC, &now, Ok(Effect::NextStart));
        let approval = shown(&now, &setting::APPROVAL);
        assert_eq!(renewed.said(), Some(format!("approval {approval} now; sync from the next start on")));
        let failures = &renewed.failures[..];
        assert!(matches!(failures, [Report::Failed { what, .. }] if what.starts_with("thinking: ")));
    }
}
