//! The list of the agent's background jobs.

use tiller_core::background_job::{CommandJob, JobStatus};
use tiller_render::{Line, Role};

use crate::action::{Action, ListAction};
use crate::component::ViewContext;
use crate::list_kind::ListKind;
use crate::picker::detail_lines::{fact, heading, started};
use crate::picker::item::{PickerChoice, PickerItem};
use crate::picker::source::{ListFacts, ListResponse, ListSource};
use crate::text::one_line;

/// The background jobs; Enter stops one.
#[derive(Debug)]
pub(super) struct CommandJobList;

impl ListSource for CommandJobList {
    fn facts(&self) -> ListFacts {
        ListFacts {
            title: "jobs",
            kind: Some(ListKind::Jobs),
            has_preview: true,
            accept_hint: "stop",
            empty_text: "no background jobs in this session",
            ..ListFacts::default()
        }
    }

    fn accept(&self, choice: PickerChoice, _view: &ViewContext<'_>) -> ListResponse {
        match choice {
            PickerChoice::Job(id) => ListResponse::stay(Action::List(ListAction::StopJob(id))),
            _ => ListResponse::none(),
        }
    }
}

/// The jobs, the newest first.
pub(crate) fn items(jobs: &[CommandJob]) -> Vec<PickerItem> {
    jobs.iter().rev().map(item).collect()
}

fn item(job: &CommandJob) -> PickerItem {
    let (name, status) =
        (format!("{} {}", job.job_id, one_line(&job.short_command())), job.status.to_string());
    let mut detail = vec![
        heading(job.job_id.as_str()),
        fact("status", one_line(&status)),
        started(job.since),
        fact("last line", one_line(&job.last_line)),
        Line::default(),
    ];
    detail.extend(job.command.lines().map(|line| Line::new(one_line(line), Role::Text)));
    let role = if job.status.is_running() { Role::Text } else { Role::Muted };
    let short = match &job.status {
        JobStatus::Exited { exit_code } => format!("exit {exit_code}"),
        _ => status,
    };
    let note = if job.last_line.is_empty() { short } else { format!("{short} · {}", job.last_line) };
    PickerItem::new(name, PickerChoice::Job(job.job_id.clone()))
        .with_note(one_line(&note))
        .in_role(role)
        .with_detail(detail)
}
