//! Loads the items of lists and performs the actions started in lists.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tiller_core::id::{JobId, SessionId};
use tiller_core::suggest;
use tiller_engine::{AgentError, ApprovalMode, Permission};
use tiller_session::{LockHolder, PageRequest, SessionError, SessionScope};
use tokio::task::{JoinSet, spawn_blocking};

use crate::action::ListAction;
use crate::clock::now;
use crate::completion::files::list_files;
use crate::completion::paths::list_paths_for;
use crate::completion::values::ArgumentValues;
use crate::dialog::Dialog;
use crate::executor::ExecutorWorker;
use crate::executor::errors::failure;
use crate::list_kind::ListKind;
use crate::message::{CompletionResult, ListResult, NamedAgent, TaskResult};
use crate::picker;
use crate::picker::agent_options::Levels;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::picker::line_prompt::StatusText;
use crate::picker::models::{Models, model_items};
use crate::picker::session_query::SessionExcerpt;
use crate::text::one_line;

/// Maximum number of sessions in the completion of `/resume`; the list itself shows all.
const MAX_SESSIONS: usize = 60;

impl ExecutorWorker {
    pub(super) async fn load_items(&self, list: ListKind) -> Result<Vec<TaskResult>, AgentError> {
        let agent = &self.agent;
        let (items, selected) = match list {
            ListKind::Models => model_items(&self.models().await?),
            ListKind::Thinking => picker::agent_options::levels(&self.levels().await?),
            ListKind::Approval => picker::agent_options::modes(&agent.state().await?.state.approval),
            ListKind::Trust => (self.trust_items().await, 0),
            ListKind::Permissions => (self.permissions().await?, 0),
            ListKind::RuleFiles => (self.rule_files().await, 0),
            ListKind::Agents => {
                let at_work = agent.running_agents().await?;
                let running = picker::agents::running_items(&at_work, now());
                let waiting = picker::agents::waiting_items(&agent.waiting_tasks().await?);
                let ended = picker::agents::ended_items(&agent.agent_tasks().await?, &at_work);
                let defined = picker::agents::defined_items(&agent.agent_definitions().await?);
                ([running, waiting, ended, defined].concat(), 0)
            }
            ListKind::Race => picker::race::items(&self.lanes()),
            ListKind::Jobs => (picker::command_jobs::items(&agent.background_jobs().await?), 0),
            ListKind::Tools => (picker::agent_options::tools(&agent.tools().await?), 0),
            ListKind::Settings => return Ok(vec![self.settings().await]),
            // The app has the themes itself.
            ListKind::Themes => return Ok(Vec::new()),
            ListKind::Logins | ListKind::Logouts => return Ok(self.credentials(list).await),
            ListKind::ForeignLogs => return Ok(self.foreign_logs().await),
        };
        Ok(vec![TaskResult::List(ListResult::Items { items, selected })])
    }

    /// Loads the values of a command's argument: the items of its list, or the newest sessions.
    async fn load_arguments(
        &self,
        of: ArgumentValues,
        background: &mut JoinSet<()>,
    ) -> Result<Vec<TaskResult>, AgentError> {
        match of {
            ArgumentValues::List(list) => {
                let words = |report| match report {
                    TaskResult::List(ListResult::Items { items, .. }) => {
                        TaskResult::Completion(CompletionResult::ArgumentValues { of, items })
                    }
                    report => report,
                };
                Ok(self.load_items(list).await?.into_iter().map(words).collect())
            }
            ArgumentValues::Sessions => {
                let mut catalog = self.agent.catalog().await?;
                self.read_in_background(background, move || {
                    let newest = catalog.page(
                        SessionScope::ThisDirectory,
                        PageRequest { offset: 0, limit: Some(MAX_SESSIONS) },
                    );
                    let sessions = newest.map(|listing| listing.sessions).unwrap_or_default();
                    TaskResult::Completion(CompletionResult::ArgumentValues {
                        of,
                        items: picker::sessions::newest(&sessions, now()),
                    })
                });
                Ok(Vec::new())
            }
        }
    }

    async fn levels(&self) -> Result<Levels, AgentError> {
        let state = self.agent.state().await?.state;
        Ok(Levels {
            supported: self.agent.thinking_levels().await?,
            current: state.thinking,
            model: state.model,
        })
    }

    async fn models(&self) -> Result<Models, AgentError> {
        let agent = &self.agent;
        let usable = agent.models().await?.iter().map(|model| (*model.facts).clone()).collect::<Vec<_>>();
        let cycled = agent.scoped_models().await?;
        // If all models are in the cycle, none is marked.
        let cycled = if cycled.len() == usable.len() { Vec::new() } else { cycled };
        Ok(Models {
            usable,
            locked: agent.locked_models().await?,
            cycled: cycled.iter().map(|scoped| scoped.model.reference()).collect(),
            current: Some(agent.state().await?.state.model),
        })
    }

    #[allow(clippy::too_many_lines, reason = "one arm an action")]
    pub(super) async fn perform_list_action(
        &mut self,
        action: ListAction,
        background: &mut JoinSet<()>,
    ) -> Result<Vec<TaskResult>, AgentError> {
        match action {
            ListAction::LoadItems(list) => self.load_items(list).await,
            ListAction::LoadArguments(words) => self.load_arguments(words, background).await,
            ListAction::Filter(narrowing) => {
                self.read_in_background(background, move || {
                    TaskResult::List(ListResult::Narrowed(narrowing.run()))
                });
                Ok(Vec::new())
            }
            ListAction::WalkFiles(cwd) => {
                let protected = self.options.files.hidden_dirs.clone();
                let list = move || CompletionResult::Files(Arc::new(list_files(&cwd, &protected)));
                self.read_in_background(background, move || TaskResult::Completion(list()));
                Ok(Vec::new())
            }
            ListAction::RankFiles(ranking) => {
                self.read_in_background(background, move || {
                    TaskResult::Completion(CompletionResult::Ranked(ranking.run()))
                });
                Ok(Vec::new())
            }
            ListAction::ListPaths(text) => {
                self.read_in_background(background, move || {
                    TaskResult::Completion(CompletionResult::Paths(list_paths_for(text)))
                });
                Ok(Vec::new())
            }
            ListAction::Preview(path, extract) => {
                self.preview(path, extract, background);
                Ok(Vec::new())
            }
            ListAction::SetApproval(mode) => self.set_approval(mode).await,
            ListAction::TogglePlan => self.toggle_plan().await,
            ListAction::Trust => self.trust().await,
            ListAction::Revoke(permission) => self.revoke(permission).await,
            ListAction::SaveRules { call, scope, rules } => self.save_rules(call, scope, rules).await,
            ListAction::RemoveRule(rule) => self.remove_rule(*rule).await,
            ListAction::OpenAgent { id, name } => self.open_agent(id, name).await,
            ListAction::StartRace(options) => self.start_race(options).await,
            ListAction::PickLane(number) => self.pick_lane(number).await,
            ListAction::ResumeRace => Ok(self.resume_race().await),
            ListAction::StopRace => Ok(self.stop_race().await),
            ListAction::DiscardRace => Ok(self.discard_race().await),
            ListAction::StopJob(id) => self.stop_job(id).await,
            ListAction::AddDir(typed) => self.add_dir(typed).await,
            ListAction::ToggleTool(name) => self.toggle_tool(name).await,
            ListAction::Set(setting, text) => Ok(self.write_setting(setting, text).await),
            ListAction::NameSession(path, name) => {
                let word = match name.trim() {
                    "" => "name removed".to_owned(),
                    name => format!("renamed to {}", one_line(name)),
                };
                Ok(match self.agent.name_session(path.clone(), name.clone()).await {
                    Err(error) => {
                        vec![TaskResult::List(ListResult::RenameFailed {
                            path,
                            name,
                            reason: error_status(&error),
                        })]
                    }
                    done => session_changed(done, word, None),
                })
            }
            ListAction::TrashSession(path) => {
                let done = self.agent.trash_session(path.clone()).await;
                Ok(session_changed(done, "moved to the trash".to_owned(), Some(path)))
            }
            ListAction::RestoreSession(path) => Ok(vec![self.restore(path).await]),
            ListAction::Key(order) => self.change_key(order).await,
            ListAction::Import(typed) => self.import(typed, background).await,
        }
    }

    /// Reads a session's last exchange or a search hit, unless a newer preview has been requested.
    fn preview(&self, path: PathBuf, extract: SessionExcerpt, background: &mut JoinSet<()>) {
        let looked = Arc::clone(&self.previews);
        let number = looked.fetch_add(1, Ordering::Relaxed) + 1;
        let reports = self.results.clone();
        background.spawn_blocking(move || {
            if looked.load(Ordering::Relaxed) == number {
                let lines = picker::sessions::read_excerpt(&path, &extract);
                // The loop may have ended.
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
                word: StatusText::note("restored"),
                trashed: None,
            }),
            Err(error) => TaskResult::List(ListResult::RestoreFailed { path, reason: error_status(&error) }),
        }
    }

    /// Switches to a session. If another process holds its lock, offers to attach to it or to fork it.
    pub(super) async fn open(&self, path: PathBuf) -> Result<Vec<TaskResult>, AgentError> {
        // The lock would report this process as another holder.
        if self.agent.reader().is_at(&path) {
            return Ok(vec![TaskResult::List(ListResult::Status(StatusText::note(
                "this session is already open",
            )))]);
        }
        match self.agent.open_session(path).await {
            Ok(moved) => Ok(vec![TaskResult::SessionSwitched(moved)]),
            Err(AgentError::Session(SessionError::Locked { path, holder })) => Ok(vec![
                TaskResult::List(ListResult::Status(StatusText::note(
                    "the session is open in another tiller process",
                ))),
                TaskResult::Dialog(self.locked_dialog(path, holder).await),
            ]),
            Err(error) => Err(error),
        }
    }

    async fn locked_dialog(&self, path: PathBuf, holder: Option<LockHolder>) -> Dialog {
        let by = holder.as_ref().map(|holder| format!(" ({holder})")).unwrap_or_default();
        let check = self.options.services.attaching.clone();
        let checked = spawn_blocking(move || check.zip(holder).is_some_and(|(check, by)| check.accepts(&by)));
        let attach = checked.await.unwrap_or(false).then(|| PickerChoice::Attach(path.clone()));
        let attach = attach.map(|attach| PickerItem::new("attach to it", attach));
        let others = [
            PickerItem::new("continue in a fork", PickerChoice::ForkOf(path)),
            PickerItem::new("stay here", PickerChoice::Nothing),
        ];
        let title = one_line(&format!("open elsewhere{by}"));
        Dialog { title, items: attach.into_iter().chain(others).collect() }
    }

    async fn set_approval(&self, mode: ApprovalMode) -> Result<Vec<TaskResult>, AgentError> {
        self.agent.set_approval(mode).await?;
        let state = Box::new(self.agent.state().await?.state);
        Ok(vec![
            TaskResult::State(state),
            TaskResult::Note(format!("Approval: {}, for this session; /settings saves it.", mode.name())),
        ])
    }

    /// Enters plan mode, or leaves it with the plan, which is its last answer, as the next prompt.
    async fn toggle_plan(&self) -> Result<Vec<TaskResult>, AgentError> {
        let plan = self.agent.toggle_plan().await?;
        let state = Box::new(self.agent.state().await?.state);
        let is_planning = state.approval == ApprovalMode::Plan.name();
        let note = match plan {
            _ if is_planning => {
                "Plan mode: read-only. /plan or shift+tab leaves it and puts the plan into the editor."
                    .to_owned()
            }
            Some(_) => format!(
                "Approval: {}. The plan is in the editor: enter sends it to the agent.",
                state.approval
            ),
            None => format!("Approval: {}. There is no plan yet.", state.approval),
        };
        let prompt =
            plan.map(|plan| TaskResult::BeforeDraft(format!("Carry out this plan:\n\n{}", plan.trim())));
        Ok([TaskResult::State(state), TaskResult::Note(note)].into_iter().chain(prompt).collect())
    }

    async fn trust_items(&self) -> Vec<PickerItem> {
        let none = || {
            let reason = "nothing to trust: this project has no files that need trust";
            vec![PickerItem::new(reason, PickerChoice::Unavailable(reason.to_owned()))]
        };
        let Some(service) = self.options.services.trust.clone() else { return none() };
        spawn_blocking(move || service.items()).await.unwrap_or_else(|_| none())
    }

    /// Trusts the project and applies its settings, like `/reload`.
    async fn trust(&self) -> Result<Vec<TaskResult>, AgentError> {
        let Some(service) = self.options.services.trust.clone() else { return Ok(Vec::new()) };
        let trusted = spawn_blocking(move || service.trust()).await;
        let trusted = trusted.unwrap_or_else(|_| Err("the trust decision can't be saved".to_owned()));
        if let Err(message) = trusted {
            return Ok(vec![TaskResult::Failed { message, hint: None, text: None }]);
        }
        let (settings, failures) = self.reload_settings().await;
        let settings = settings.map(|settings| format!(" · {settings}")).unwrap_or_default();
        let note = format!(
            "Project trusted{settings}. Its agents, extensions and .env take effect at the next start."
        );
        Ok([TaskResult::Note(note)].into_iter().chain(failures).collect())
    }

    async fn revoke(&self, permission: Permission) -> Result<Vec<TaskResult>, AgentError> {
        let revoked = one_line(&permission.to_string());
        let word = match self.agent.revoke_permission(permission).await {
            Ok(()) => StatusText::note(format!("revoked: {revoked}")),
            Err(error) => error_status(&error),
        };
        self.permissions_changed(word).await
    }

    async fn open_agent(&self, id: SessionId, name: String) -> Result<Vec<TaskResult>, AgentError> {
        let agent = self.agent.open_agent(id).await?;
        Ok(vec![TaskResult::AgentOpened(Box::new(NamedAgent { name, agent }))])
    }

    async fn stop_job(&self, id: JobId) -> Result<Vec<TaskResult>, AgentError> {
        let word = match self.agent.stop_background_job(id.clone()).await {
            Ok(()) => StatusText::note(format!("stopped: {id}")),
            Err(error) => error_status(&error),
        };
        let items = picker::command_jobs::items(&self.agent.background_jobs().await?);
        Ok(vec![
            TaskResult::List(ListResult::Items { items, selected: 0 }),
            TaskResult::List(ListResult::Status(word)),
        ])
    }

    async fn add_dir(&self, typed: String) -> Result<Vec<TaskResult>, AgentError> {
        Ok(vec![match self.agent.add_dir(typed.clone()).await {
            Ok(permission) => {
                let allowed = one_line(&permission.to_string());
                TaskResult::Note(format!("Allowed for this session: {allowed}. /permissions revokes it."))
            }
            Err(error) => TaskResult::invalid_input(format!("/add-dir {typed}"), (error.to_string(), None)),
        }])
    }

    async fn toggle_tool(&self, name: String) -> Result<Vec<TaskResult>, AgentError> {
        let tools = self.agent.tools().await?;
        let Some(meant) = tools.iter().find(|tool| tool.spec.name == name) else {
            let nearest = suggest::nearest(&name, tools.iter().map(|tool| tool.spec.name.as_str()));
            let instead =
                nearest.map_or("/tools lists the tools".to_owned(), |name| format!("did you mean {name}?"));
            let message = format!("unknown tool `{}`; {}", one_line(&name), one_line(&instead));
            return Ok(vec![TaskResult::invalid_input(format!("/tools {name}"), (message, None))]);
        };
        let is_now = if meant.is_offered() { "disabled" } else { "enabled" };
        let offered = tools.iter().filter(|tool| tool.is_offered() != (tool.spec.name == name));
        self.agent.offer_tools(offered.map(|tool| tool.spec.name.clone()).collect()).await?;
        let items = picker::agent_options::tools(&self.agent.tools().await?);
        let word = StatusText::note(format!("{} {is_now} starting with the next request", one_line(&name)));
        Ok(vec![
            TaskResult::List(ListResult::Items { items, selected: 0 }),
            TaskResult::List(ListResult::Status(word)),
        ])
    }
}

/// The result of changing a session in the list.
fn session_changed(done: Result<(), AgentError>, word: String, trashed: Option<PathBuf>) -> Vec<TaskResult> {
    vec![match done {
        Ok(()) => TaskResult::List(ListResult::SessionsChanged { word: StatusText::note(word), trashed }),
        Err(error) => TaskResult::List(ListResult::Status(error_status(&error))),
    }]
}

pub(super) fn error_status(error: &AgentError) -> StatusText {
    match failure(error, None) {
        TaskResult::Failed { message, .. } => StatusText::error(message),
        _ => StatusText::error(error.to_string()),
    }
}
