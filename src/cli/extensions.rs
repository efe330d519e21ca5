//! Starts the user's and a trusted project's extensions; adds the settings' hooks.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::failure::CliFailure;
use super::wiring::{self, OpenedLog};
use crate::agent::extension::Extensions;
use crate::agent::extension::command_hook::HookEnvironment;
use crate::agent::extension::process::{Launch, ProcessOptions, StartPermission};
use crate::config::{Config, Project};

/// Starts every extension: the user's first, each group in the order of names.
pub(super) async fn start(
    config: &Config,
    project: Option<&Project>,
    opened: &OpenedLog,
) -> Result<Extensions, CliFailure> {
    let timeout = config.settings.extensions_timeout_ms();
    let mut extensions = Extensions::with_timeout(Duration::from_millis(timeout));
    let always: StartPermission = Arc::new(|| true);
    let of_user = config.user_extensions().into_iter();
    let mut launches: Vec<Launch> =
        of_user.map(|path| Launch { path, permit: Arc::clone(&always) }).collect();
    if let Some(project) = project {
        // Trust applies to the files as they were when the user agreed.
        let (trusted, paths) = (project.clone(), project.extensions());
        let permit: StartPermission = Arc::new(move || trusted.is_unchanged());
        launches.extend(paths.into_iter().map(|path| Launch { path, permit: Arc::clone(&permit) }));
    }
    let project_root = project.map(|project| project.root().to_owned());
    let (dirs, project) = (config.dirs.clone(), project.cloned());
    extensions.watch_for_new(move || {
        let of_project = project.as_ref().map(Project::extensions).unwrap_or_default();
        dirs.extensions().into_iter().chain(of_project).collect()
    });
    if !launches.is_empty() {
        let surroundings = ProcessOptions {
            runner: wiring::runner()?,
            session: opened.session(),
            cwd: opened.cwd().to_owned(),
            withheld_variables: config.withheld_variables(),
        };
        extensions.start(launches, &surroundings).await;
    }
    // Last, so that hooks see the calls as the extensions changed them.
    if !config.hooks.is_empty() {
        extensions.add_commands(config.hooks.clone(), hook_environment(config, project_root, opened.cwd())?);
    }
    Ok(extensions)
}

/// Returns the environment of hook commands: the same as for `bash`, but always without keys.
fn hook_environment(
    config: &Config,
    project_root: Option<PathBuf>,
    cwd: &Path,
) -> Result<HookEnvironment, CliFailure> {
    let root = project_root.unwrap_or_else(|| cwd.to_owned()).display().to_string();
    let variable = |name: &str| (name.to_owned(), root.clone());
    Ok(HookEnvironment {
        runner: wiring::command_runner(config)?,
        cwd: cwd.to_owned(),
        withheld_variables: config.withheld_variables(),
        variables: vec![variable("CLAUDE_PROJECT_DIR"), variable("TILLER_PROJECT_DIR")],
    })
}
