//! The footer: directory, session, model, context, cost, approval mode, and a pending call under an overlay.

use std::borrow::Borrow;

use tiller_core::counted::counted;
use tiller_core::message::ThinkingLevel;
use tiller_engine::remote_session::ConnectionState;
use tiller_render::{Line, Role, Span, truncate_to};

use crate::component::ViewContext;
use crate::keymap::table::KeyCommand;
use crate::layout::right_aligned;
use crate::path_display::shortened;
use crate::text::one_line;

/// An item of the right side; the highest rank is dropped first.
struct FooterItem {
    text: String,
    role: Role,
    rank: u8,
}

/// The space for the items: columns of directory, branch and session name, and the highest rank shown on the
/// right.
struct FooterSpace {
    dir: usize,
    branch: usize,
    name: usize,
    rank: u8,
}

impl FooterSpace {
    const fn new(dir: usize, branch: usize, name: usize, rank: u8) -> Self {
        Self { dir, branch, name, rank }
    }
}

/// Upper limit of the displayed context use, in percent.
const MAX_PERCENT: u64 = 999;

/// The steps in which items are dropped until everything fits. The directory is dropped last, because users
/// run several terminals side by side.
const LAYOUTS: [FooterSpace; 11] = [
    FooterSpace::new(36, usize::MAX, 30, TOKENS),
    FooterSpace::new(36, usize::MAX, 16, TOKENS),
    FooterSpace::new(36, usize::MAX, 30, COST),
    FooterSpace::new(36, 32, 16, COST),
    FooterSpace::new(20, 24, 16, COST),
    FooterSpace::new(20, 16, 12, COST),
    FooterSpace::new(16, 12, 12, CONTEXT),
    FooterSpace::new(16, 12, 0, CONTEXT),
    FooterSpace::new(16, 12, 0, APPROVAL),
    FooterSpace::new(16, 0, 0, APPROVAL),
    FooterSpace::new(0, 0, 0, APPROVAL),
];

const MODEL: u8 = 0;
const APPROVAL: u8 = 1;
const CONTEXT: u8 = 2;
const COST: u8 = 3;
const TOKENS: u8 = 4;

pub(crate) fn line(view: &ViewContext<'_>) -> Line {
    let width = usize::from(view.ui.size.0).saturating_sub(2);
    let (facts, with_key) = (right(view, FooterHint::None), right(view, FooterHint::Key));
    // The key of the approval mode is dropped first.
    let layouts = LAYOUTS.iter().take(1).map(|space| (space, &with_key));
    for (space, facts) in layouts.chain(LAYOUTS.iter().map(|space| (space, &facts))) {
        let left = left(view, space);
        let right: Vec<&FooterItem> = facts.iter().filter(|fact| fact.rank <= space.rank).collect();
        if right.is_empty() || total_width(&left) + total_width(&right) + 2 > width {
            continue;
        }
        let mut spans = vec![Span::new(" ", Role::Text)];
        spans.extend(joined(&left));
        return right_aligned(spans, joined(&right), width + 1);
    }
    let text: Vec<&str> =
        facts.iter().filter(|fact| fact.rank <= APPROVAL).map(|fact| fact.text.as_str()).collect();
    Line::new(format!(" {}", truncate_to(&text.join(" "), width)), Role::Muted)
}

fn total_width<F: Borrow<FooterItem>>(facts: &[F]) -> usize {
    let gaps = 2 * facts.len().saturating_sub(1);
    facts.iter().map(|fact| span(fact.borrow()).width()).sum::<usize>() + gaps
}

fn joined<F: Borrow<FooterItem>>(facts: &[F]) -> Vec<Span> {
    let mut spans = Vec::new();
    for fact in facts {
        if !spans.is_empty() {
            spans.push(Span::new("  ", Role::Text));
        }
        spans.push(span(fact.borrow()));
    }
    spans
}

fn span(fact: &FooterItem) -> Span {
    Span::new(fact.text.clone(), fact.role)
}

/// Maximum columns of an agent's name.
const AGENT_NAME: usize = 20;

fn left(view: &ViewContext<'_>, space: &FooterSpace) -> Vec<FooterItem> {
    let mut facts = Vec::new();
    let mut add = |text: String, role| facts.push(FooterItem { text, role, rank: MODEL });
    if space.dir > 0 {
        let dir = shortened(&view.ui.cwd, view.ui.home.as_deref(), space.dir);
        let branch = view.model.info.branch.as_ref().filter(|_| space.branch > 0);
        let branch =
            branch.map(|branch| format!(" ({})", truncate_to(branch, space.branch))).unwrap_or_default();
        add(format!("{dir}{branch}"), Role::Muted);
    }
    if let Some(agent) = view.ui.agents.last() {
        let key = view.key_of(KeyCommand::Agents);
        add(
            format!("agent {} ({key} returns)", truncate_to(&one_line(&agent.name), AGENT_NAME)),
            Role::Accent,
        );
        return facts;
    }
    // An unnamed fork looks like its parent, so its id is shown.
    let fork = view.model.info.fork_id.as_ref().map(|id| format!("fork {}", id.short()));
    if let Some(name) = view.model.info.name.as_ref().or(fork.as_ref()).filter(|_| space.name > 0) {
        add(truncate_to(name, space.name), Role::Text);
    }
    facts
}

/// Returns the tool of a pending call that is covered by an overlay other than the call's page.
fn covered_question<'a>(view: &ViewContext<'a>) -> Option<&'a str> {
    let is_covered = view.focus.is_covered && !view.focus.is_on_call_page;
    let pending = view.model.activity.approvals.first().filter(|_| is_covered)?;
    Some(pending.request.tool_name.as_str())
}

/// Display of the approval mode: with its key, or alone.
#[derive(Clone, Copy, PartialEq, Eq)]
enum FooterHint {
    None,
    Key,
}

fn right(view: &ViewContext<'_>, hint: FooterHint) -> Vec<FooterItem> {
    let facts = &view.model.info;
    let mut shown = Vec::new();
    let mut add = |text: String, role, rank| shown.push(FooterItem { text, role, rank });
    if let ConnectionState::Lost { attempt } = facts.connection {
        add(format!("disconnected, attempt {attempt}"), Role::Warning, MODEL);
    }
    if let Some(tool) = covered_question(view) {
        add(format!("? {} needs approval", truncate_to(&one_line(tool), 20)), Role::Warning, MODEL);
    }
    match view.model.activity.background_jobs {
        0 => {}
        1 => add("1 job".to_owned(), Role::Text, APPROVAL),
        jobs => add(format!("{jobs} jobs"), Role::Text, APPROVAL),
    }
    match view.model.activity.agents {
        0 => {}
        agents => add(counted(agents, "agent", "agents"), Role::Text, APPROVAL),
    }
    if let Some(model) = &facts.model {
        let thinking = match facts.thinking {
            ThinkingLevel::Off => String::new(),
            level => format!(" · {}", level.name()),
        };
        add(format!("{}{thinking}", truncate_to(&model.id, 32)), Role::Text, MODEL);
    }
    if let Some(percent) = (facts.context.used.0 * 100).checked_div(facts.context.window.0) {
        let role = match percent {
            0..=69 => Role::Muted,
            70..=89 => Role::Warning,
            _ => Role::Error,
        };
        let percent = if percent > MAX_PERCENT { format!(">{MAX_PERCENT}") } else { percent.to_string() };
        add(format!("ctx {percent}%"), role, CONTEXT);
    }
    let input = facts.usage.input + facts.usage.cache_read + facts.usage.cache_write;
    if input.0 > 0 || facts.usage.output.0 > 0 {
        add(format!("↑{input} ↓{}", facts.usage.output), Role::Muted, TOKENS);
    }
    if facts.usage.cost.total.0 > 0.0 {
        add(facts.usage.cost.total.to_string(), Role::Muted, COST);
    }
    if !facts.approval.is_empty() {
        let role = if facts.approval == "yes" { Role::Warning } else { Role::Muted };
        let key = Some(view.ui.keymap.key_of(KeyCommand::NextApproval));
        let key = key.filter(|key| hint == FooterHint::Key && !key.is_empty());
        let key = key.map(|key| format!(" ({key})")).unwrap_or_default();
        add(format!("{}{key}", facts.approval), role, APPROVAL);
    }
    shown
}

#[cfg(test)]
mod tests {
    use tiller_core::message::{Cost, ModelRef, Usage};
    use tiller_core::unit::{Tokens, UnixMs, Usd};
    use tiller_engine::ContextUse;

    use super::*;
    use crate::component::FocusState;
    use crate::layout::FoldDefaults;
    use crate::session_model::{SessionInfo, SessionModel};
    use crate::ui_context::UiContext;

    fn shown(info: SessionInfo, width: u16) -> String {
        shown_in("/home/ada/code/conf", info, width)
    }

    fn shown_in(cwd: &str, info: SessionInfo, width: u16) -> String {
        let model = SessionModel { info, ..SessionModel::default() };
        let ui = UiContext { size: (width, 24), cwd: cwd.into(), ..UiContext::example() };
        let focus = FocusState::default();
        line(&ViewContext { model: &model, ui: &ui, now: UnixMs(0), focus, folds: FoldDefaults::default() })
            .text()
    }

    fn info() -> SessionInfo {
        SessionInfo {
            model: Some(ModelRef { provider: "anthropic".into(), id: "claude-sonnet-4-5".into() }),
            context: ContextUse { used: Tokens(68_000), window: Tokens(200_000) },
            usage: Usage { input: Tokens(48_200), output: Tokens(3_149), ..Usage::default() },
            approval: "ask".into(),
            branch: Some("main".into()),
            name: Some("fix-crlf".into()),
            ..SessionInfo::default()
        }
    }

    #[test]
    fn footer_shows_the_session_and_what_is_left_of_the_width() {
        let lost = SessionInfo { connection: ConnectionState::Lost { attempt: 2 }, ..info() };
        let fork = SessionInfo { name: None, fork_id: Some("01JD6X9QWERTYUIOPASDFGHJKL".into()), ..info() };
        let rows = [
            ("wide", info(), 120),
            ("narrow", info(), 60),
            ("tiny", info(), 20),
            ("fork", fork, 120),
            ("lost", lost, 120),
            ("empty", SessionInfo::default(), 80),
        ];
        let rows = rows.map(|(name, info, width)| format!("{name:<7}│{}", shown(info, width)));
        insta::assert_snapshot!(rows.join("\n"), @r"
        wide   │ ~/code/conf (main)  fix-crlf                                       claude-sonnet-4-5  ctx 34%  ↑48k ↓3.1k  ask (alt+a)
        narrow │ ~/code/conf (main)         claude-sonnet-4-5  ctx 34%  ask
        tiny   │ claude-sonnet-4-5…
        fork   │ ~/code/conf (main)  fork FGHJKL                                    claude-sonnet-4-5  ctx 34%  ↑48k ↓3.1k  ask (alt+a)
        lost   │ ~/code/conf (main)  fix-crlf              disconnected, attempt 2  claude-sonnet-4-5  ctx 34%  ↑48k ↓3.1k  ask (alt+a)
        empty  │
        ");
    }

    #[test]
    fn footer_of_a_named_fork_needs_no_id() {
        let fork_id = Some("01JD6X9QWERTYUIOPASDFGHJKL".into());
        let named = shown(SessionInfo { fork_id, ..info() }, 120);
        assert!(!named.contains("fork "), "{named}");
    }

    #[test]
    fn footer_drops_items_stepwise() {
        let cwd = "/home/ada/clients/a-company-with-a-long-name/services/payment-gateway";
        let branch = "feature/JIRA-1234-make-the-parser-take-mixed-line-endings";
        let cost = Cost { total: Usd(0.21), ..Cost::default() };
        let row = |width| {
            let usage = Usage { cost: cost.clone(), ..info().usage };
            let thinking = ThinkingLevel::High;
            let info = SessionInfo { branch: Some(branch.into()), usage, thinking, ..info() };
            format!("{width:>3}│{}", shown_in(cwd, info, width).trim_end())
        };
        insta::assert_snapshot!([200, 140, 120, 100, 80, 60, 40].map(row).join("\n"), @r"
        200│ …/services/payment-gateway (feature/JIRA-1234-make-the-parser-take-mixed-line-endings)  fix-crlf                                     claude-sonnet-4-5 · high  ctx 34%  ↑48k ↓3.1k  $0.21  ask (alt+a)
        140│ …/services/payment-gateway (feature/JIRA-1234-make-the-pars…)  fix-crlf                      claude-sonnet-4-5 · high  ctx 34%  $0.21  ask
        120│ …/services/payment-gateway (feature/JIRA-1234-make-the-pars…)  fix-crlf  claude-sonnet-4-5 · high  ctx 34%  $0.21  ask
        100│ …/payment-gateway (feature/JIRA-12…)  fix-crlf       claude-sonnet-4-5 · high  ctx 34%  $0.21  ask
         80│ …payment-gateway (feature/JIR…)         claude-sonnet-4-5 · high  ctx 34%  ask
         60│ …payment-gateway             claude-sonnet-4-5 · high  ask
         40│          claude-sonnet-4-5 · high  ask
        ");
    }
}
