//! The first screen of a fresh session, which is there until the first message. Facts that have to be looked up are added when they
//! are known, so that the start doesn't wait for them.

use std::path::{Path, PathBuf};

use tiller_core::id::SessionId;
use tiller_core::message::ModelRef;
use tiller_core::unit::UnixMs;
use tiller_engine::{AgentSession, ApprovalMode, CommandSource};
use tiller_render::{self as render, Emphasis, Line, Role, Span, Style, cut_to};
use tiller_session::{Catalog, PageRequest, SessionScope};

use super::app::{App, TaskResult};
use super::block::{Block, BlockKind};
use super::keymap::KeyCommand;
use super::path_display::at_home;
use super::picker::{age, mode_about};
use super::tool_call::one_line;

/// Columns of the name of a fact.
const NAME: usize = 10;

/// The text above the editor of a fresh session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Banner {
    /// The first one stands out; long ones are wrapped.
    lines: Vec<String>,
    /// Names and values: one row each, cut where it is too long.
    facts: Vec<(&'static str, String)>,
}

/// The facts that have to be looked up.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Welcome {
    /// The context files that the model reads.
    pub(super) files: Vec<PathBuf>,
    /// The title of the newest other session of this directory, and when it was written to.
    pub(super) last: Option<(String, UnixMs)>,
}

/// Looks the facts up.
pub(super) async fn gather(agent: &AgentSession) -> TaskResult {
    let breakdown = agent.context_breakdown().await;
    let files = breakdown.map(|breakdown| breakdown.files().cloned().collect()).unwrap_or_default();
    let here = agent.reader().id().clone();
    let last = match agent.catalog().await {
        Ok(catalog) => tokio::task::spawn_blocking(move || last_session(catalog, &here)).await,
        Err(_) => Ok(None),
    };
    TaskResult::Welcome(Welcome { files, last: last.unwrap_or_default() })
}

fn last_session(mut catalog: Catalog, here: &SessionId) -> Option<(String, UnixMs)> {
    let page = PageRequest { offset: 0, limit: Some(2) };
    let sessions = catalog.page(SessionScope::ThisDirectory, page).ok()?.sessions;
    let last = sessions.into_iter().find(|session| session.id != *here)?;
    Some((one_line(last.title()?), last.modified))
}

impl Banner {
    /// Its text, for searching and copying.
    pub(super) fn texts(&self) -> Vec<String> {
        let facts = self.facts.iter().map(|(name, fact)| format!("{name}: {fact}"));
        self.lines.iter().cloned().chain(facts).collect()
    }

    /// Its rows.
    pub(super) fn rows(&self, width: usize) -> Vec<Line> {
        let title = Style::from(Role::Accent).with(Emphasis::BOLD);
        let (first, rest) =
            self.lines.split_first().map_or((None, &[][..]), |(first, rest)| (Some(first), rest));
        let title = first.into_iter().flat_map(|line| render::plain(line, title, width));
        let facts = self.facts.iter().map(|(name, fact)| {
            let room = width.saturating_sub(NAME);
            Line::from(vec![
                Span::new(format!("{name:<NAME$}"), Role::Muted),
                Span::new(cut_to(&one_line(fact), room), Role::Text),
            ])
        });
        let muted = Style::from(Role::Muted);
        let rest = rest.iter().flat_map(|line| render::plain(line, muted, width));
        title.chain(facts).chain(rest).collect()
    }
}

impl App {
    /// The text in an empty editor until the first message.
    pub(super) fn placeholder(&self) -> Option<String> {
        let shows = self.transcript.has_banner() && self.editor.is_empty() && !self.is_working();
        let help = self.place.keymap.key_of(KeyCommand::Help);
        shows.then(|| format!("Type what you want done · / commands · @ files · ! shell · {help} help"))
    }

    /// Puts the banner above a fresh session.
    pub(super) fn open_with_banner(&mut self) {
        let banner = self.banner();
        self.transcript.open_with(Block::new(BlockKind::Banner(Box::new(banner))));
    }

    /// Updates the banner with the facts known by now, while it is there.
    pub(super) fn refresh_banner(&mut self) {
        if self.transcript.has_banner() {
            let banner = self.banner();
            self.transcript.set_banner(banner);
        }
    }

    fn banner(&self) -> Banner {
        let facts = [
            ("model", self.facts.model.as_ref().map(|model| self.model_fact(model))),
            ("context", self.context_fact()),
            ("skills", self.skills_fact()),
            ("approval", self.approval_fact()),
            ("last here", self.last_fact()),
        ];
        let facts = facts.into_iter().filter_map(|(name, fact)| Some((name, fact?))).collect();
        Banner { lines: self.place.banner.clone(), facts }
    }

    fn model_fact(&self, model: &ModelRef) -> String {
        let known = self.place.keys.iter().find(|known| known.provider == model.provider);
        let source = known.map(|known| format!(" · {}", known.source)).unwrap_or_default();
        format!("{} of {}{source}", model.id, model.provider)
    }

    fn context_fact(&self) -> Option<String> {
        let welcome = self.facts.welcome.as_ref()?;
        let shown = |path: &PathBuf| shown(path, &self.place.cwd, self.place.home.as_deref());
        let files: Vec<String> = welcome.files.iter().map(shown).collect();
        Some(if files.is_empty() { "no AGENTS.md or CLAUDE.md here".to_owned() } else { files.join(", ") })
    }

    fn skills_fact(&self) -> Option<String> {
        let skills = self.facts.commands.iter().filter(|command| command.source == CommandSource::Skill);
        let names: Vec<&str> = skills.map(|skill| skill.name.trim_start_matches("skill:")).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }

    fn approval_fact(&self) -> Option<String> {
        let mode = self.facts.approval.as_str();
        let about = match ApprovalMode::parse(mode) {
            Some(mode) => mode_about(mode),
            None if mode == "yes" => "nothing asks",
            None => return None,
        };
        Some(format!("{mode}: {about} · /approval"))
    }

    fn last_fact(&self) -> Option<String> {
        let (title, at) = self.facts.welcome.as_ref()?.last.as_ref()?;
        /// Characters of a title, so that what resumes it has room too.
        const TITLE: usize = 32;
        let age = age(*at, self.now);
        Some(format!("“{}”, {age} · /resume or tiller -c", cut_to(title, TITLE)))
    }
}

/// A path as seen from the working directory, or from home.
fn shown(path: &Path, cwd: &Path, home: Option<&Path>) -> String {
    match path.strip_prefix(cwd) {
        Ok(inner) => inner.display().to_string(),
        Err(_) => at_home(path, home),
    }
}
