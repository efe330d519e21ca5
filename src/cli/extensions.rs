//! Starts the user's extensions, and those of a trusted project.

use std::sync::Arc;
use std::time::Duration;

use super::failure::CliFailure;
use super::wiring::{self, OpenedLog};
use crate::agent::extension::Extensions;
use crate::agent::extension::process::{Launch, ProcessOptions, StartPermission};
use crate::config::{Config, Project};

/// Starts every extension: the user's first, each group in order of name.
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
        // Trust covers the files as they were when the user agreed.
        let (trusted, paths) = (project.clone(), project.extensions());
        let permit: StartPermission = Arc::new(move || trusted.is_unchanged());
        launches.extend(paths.into_iter().map(|path| Launch { path, permit: Arc::clone(&permit) }));
    }
    let (folders, project) = (config.folders.clone(), project.cloned());
    extensions.watch_for_new(move || {
        let of_project = project.as_ref().map(Project::extensions).unwrap_or_default();
        folders.extensions().into_iter().chain(of_project).collect()
    });
    if !launches.is_empty() {
        let surroundings = ProcessOptions {
            runner: wiring::runner()?,
            session: opened.session(),
            cwd: opened.cwd().to_owned(),
            withheld_variables: config.secret_names(),
            limits: wiring::output_limits(config),
        };
        extensions.start(launches, &surroundings).await;
    }
    Ok(extensions)
}
