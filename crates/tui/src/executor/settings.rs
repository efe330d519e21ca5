//! The settings: reads them for their list, writes one, and applies changes.

use tiller_core::setting::{self, Setting, SettingSource, Settings};
use tiller_engine::AgentError;
use tiller_render::theme::resolve_theme;
use tokio::task::spawn_blocking;

use crate::executor::ExecutorWorker;
use crate::executor::errors::failure;
use crate::message::{ListResult, TaskResult};
use crate::picker::line_prompt::StatusText;
use crate::settings_store::{ProblemDiff, ProblemScope, SettingProblem, SettingsDiff};
use crate::text::one_line;
use crate::theme;
use crate::theme::check::ThemeCheck;

impl ExecutorWorker {
    pub(super) async fn settings(&self) -> TaskResult {
        let Some(service) = self.options.services.settings.clone() else {
            return TaskResult::List(ListResult::Status(StatusText::error("there is no settings file here")));
        };
        match spawn_blocking(move || service.read()).await {
            Ok(Ok(settings)) => TaskResult::List(ListResult::Settings(Box::new(settings))),
            Ok(Err((message, hint))) => TaskResult::Failed { message, hint, text: None },
            Err(_) => TaskResult::List(ListResult::Status(StatusText::error("the settings can't be read"))),
        }
    }

    /// Writes a setting to the user's file and applies it, immediately if possible.
    pub(super) async fn write_setting(&self, setting: &'static Setting, text: String) -> Vec<TaskResult> {
        let Some(service) = self.options.services.settings.clone() else { return Vec::new() };
        let written = spawn_blocking(move || {
            let before = service.read()?;
            service.write(setting, &text)?;
            let now = service.read()?;
            service.acknowledge(setting, &now);
            Ok((before, now))
        });
        let (before, settings): (Settings, Settings) = match written.await {
            Ok(Ok(settings)) => settings,
            Ok(Err((message, hint))) => {
                return vec![TaskResult::List(ListResult::Status(StatusText::error(with_hint(
                    message, hint,
                ))))];
            }
            Err(_) => {
                return vec![TaskResult::List(ListResult::Status(StatusText::error(
                    "the settings file can't be written",
                )))];
            }
        };
        let word = match settings.value(setting).1 {
            SettingSource::Default | SettingSource::File(_) => match self.apply(setting, &settings).await {
                Ok(SettingEffect::Now) => StatusText::note(format!(
                    "{}saved and in effect",
                    change_of(setting, [&before, &settings])
                )),
                Ok(SettingEffect::NextStart) => {
                    let step = change_of(setting, [&before, &settings]);
                    StatusText::note(format!("{step}saved; takes effect at the next start"))
                }
                Ok(SettingEffect::Never(trouble)) => StatusText::error(format!("saved, but: {trouble}")),
                Err(error) => StatusText::error(format!("saved, but: {error}")),
            },
            source => StatusText::note(format!("saved, but {source} overrides it")),
        };
        vec![
            TaskResult::List(ListResult::Settings(Box::new(settings))),
            TaskResult::List(ListResult::Status(word)),
        ]
    }

    /// Reloads the settings and the rules, like [`reload_changed_settings`](Self::reload_changed_settings).
    /// Problems of the rules are reported with the settings; while there is one, the rules don't change.
    pub(super) async fn reload_settings(&self) -> (Option<String>, Vec<TaskResult>) {
        let (summary, results) = self.reload_changed_settings().await;
        let rules = self.reload_rules().await.then(|| "rules reloaded".to_owned());
        let said: Vec<String> = summary.into_iter().chain(rules).collect();
        ((!said.is_empty()).then(|| said.join(" · ")), results)
    }

    /// Reloads the settings and applies the changed ones. Returns a summary, and results for new and resolved
    /// problems. A setting that couldn't be applied is retried at the next reload.
    async fn reload_changed_settings(&self) -> (Option<String>, Vec<TaskResult>) {
        let Some(service) = self.options.services.settings.clone() else { return (None, Vec::new()) };
        let store = service.clone();
        let SettingsDiff { changed, now, problems: mut faults } =
            match spawn_blocking(move || store.reload()).await {
                Ok(Ok(renewed)) => renewed,
                Ok(Err((message, hint))) => {
                    return (None, vec![TaskResult::Failed { message, hint, text: None }]);
                }
                Err(_) => return (None, Vec::new()),
            };
        let mut renewed = ReloadedSettings::default();
        for setting in changed {
            let applied = self.apply(setting, &now).await;
            if matches!(applied, Ok(SettingEffect::Now | SettingEffect::NextStart)) {
                service.acknowledge(setting, &now);
            }
            match applied {
                // Unchanged since the start, so it needs no restart.
                Ok(SettingEffect::NextStart) if service.is_as_at_start(setting, &now) => {}
                applied => renewed.record(setting, &now, applied),
            }
        }
        faults.append(&mut renewed.problems);
        let is_left = faults.iter().any(SettingProblem::affects_everything);
        let ProblemDiff { new, gone } = service.diff_problems(&faults);
        let said = is_left.then(|| "settings unchanged".to_owned()).or(renewed.summary());
        let reports = gone.into_iter().map(TaskResult::Resolved);
        (said, reports.chain(new.iter().map(report_problem)).chain(renewed.failures).collect())
    }

    /// Applies a changed setting.
    async fn apply(&self, setting: &Setting, settings: &Settings) -> Result<SettingEffect, AgentError> {
        let agent = &self.agent;
        if *setting == setting::STEERING_POINT {
            agent.set_steering_point(settings.steering_point()).await?;
        } else if *setting == setting::STEERING_MODE {
            agent.set_steering_mode(settings.steering_mode()).await?;
        } else if *setting == setting::FOLLOW_UP_MODE {
            agent.set_follow_up_mode(settings.follow_up_mode()).await?;
        } else if *setting == setting::RETRY_ENABLED {
            agent.set_auto_retry(settings.retry_enabled()).await?;
        } else if *setting == setting::COMPACTION_ENABLED {
            agent.set_auto_compaction(settings.compaction_enabled()).await?;
        } else if *setting == setting::APPROVAL {
            agent.configure_approval(settings.approval_mode()).await?;
        } else if *setting == setting::THINKING {
            agent.set_thinking(settings.thinking()).await?;
        } else if let Some(setting) = theme::check::setting_of(setting) {
            let name = settings.value(setting).0.map(ToString::to_string).unwrap_or_default();
            return Ok(self.apply_theme(setting, &name).await);
        } else {
            return Ok(SettingEffect::NextStart);
        }
        let state = Box::new(agent.state().await?.state);
        // The loop may have ended.
        let _ = self.results.send(TaskResult::State(state)).await;
        Ok(SettingEffect::Now)
    }

    /// Applies the theme in a setting; a theme file that isn't loaded takes effect at the next start.
    async fn apply_theme(&self, setting: &'static Setting, text: &str) -> SettingEffect {
        let name = resolve_theme(text, &self.options.cwd, self.options.home.as_deref());
        match theme::check::check(&self.options.themes.library_now(), setting, &name) {
            ThemeCheck::Known => {
                // The loop may have ended.
                let _ = self.results.send(TaskResult::ThemeSetting(setting, name)).await;
                SettingEffect::Now
            }
            ThemeCheck::NotLoaded => SettingEffect::NextStart,
            ThemeCheck::Invalid(trouble) => SettingEffect::Never(trouble),
        }
    }
}

/// Describes the change of a setting: `ask → auto: `; empty if it didn't change.
fn change_of(setting: &Setting, [before, now]: [&Settings; 2]) -> String {
    match (shown(before, setting), shown(now, setting)) {
        (before, now) if before == now => String::new(),
        (before, now) => format!("{before} → {now}: "),
    }
}

fn shown(settings: &Settings, setting: &Setting) -> String {
    settings.value(setting).0.map_or_else(|| "unset".to_owned(), |value| one_line(&value.to_string()))
}

fn with_hint(message: String, hint: Option<String>) -> String {
    hint.map_or(message.clone(), |hint| format!("{message}; {hint}"))
}

/// Reports and logs a new problem.
fn report_problem(fault: &SettingProblem) -> TaskResult {
    tracing::warn!("{}", fault.message());
    if fault.affects_everything() {
        let hint = "all settings stay as they were; fix the file, then run /reload".to_owned();
        return TaskResult::Failed { message: fault.message(), hint: Some(hint), text: None };
    }
    TaskResult::Warning(fault.message())
}

/// The time when a setting takes effect.
enum SettingEffect {
    Now,
    NextStart,
    /// The setting can't be applied, for this reason.
    Never(String),
}

/// The outcome of reloading the settings.
#[derive(Default)]
struct ReloadedSettings {
    applied: Vec<String>,
    deferred: Vec<&'static str>,
    problems: Vec<SettingProblem>,
    failures: Vec<TaskResult>,
}

impl ReloadedSettings {
    fn record(&mut self, setting: &Setting, now: &Settings, applied: Result<SettingEffect, AgentError>) {
        match applied {
            Ok(SettingEffect::Now) => self.applied.push(format!("{} {}", setting.name, shown(now, setting))),
            Ok(SettingEffect::NextStart) => self.deferred.push(setting.name),
            Ok(SettingEffect::Never(trouble)) => {
                let what = format!("{}: {trouble}", setting.name);
                self.problems.push(SettingProblem { what, instead: None, scope: ProblemScope::Setting });
            }
            Err(error) => self.failures.push(match failure(&error, None) {
                TaskResult::Failed { message, hint, text } => {
                    TaskResult::Failed { message: format!("{}: {message}", setting.name), hint, text }
                }
                report => report,
            }),
        }
    }

    fn summary(&self) -> Option<String> {
        let taken = (!self.applied.is_empty()).then(|| format!("{} now", self.applied.join(", ")));
        let left =
            (!self.deferred.is_empty()).then(|| format!("{} at the next start", self.deferred.join(", ")));
        let words: Vec<String> = taken.into_iter().chain(left).collect();
        (!words.is_empty()).then(|| words.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reloaded_settings_one_failure_leaves_the_others_reported() {
        let (mut renewed, now) = (ReloadedSettings::default(), Settings::default());
        renewed.record(&setting::THINKING, &now, Err(AgentError::Running));
        renewed.record(&setting::APPROVAL, &now, Ok(SettingEffect::Now));
        renewed.record(&setting::SYNC, &now, Ok(SettingEffect::NextStart));
        let approval = shown(&now, &setting::APPROVAL);
        assert_eq!(renewed.summary(), Some(format!("approval {approval} now; sync at the next start")));
        let failures = &renewed.failures[..];
        assert!(
            matches!(failures, [TaskResult::Failed { message, .. }] if message.starts_with("thinking: "))
        );
    }
}
