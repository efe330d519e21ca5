//! The panel above the editor that shows the task plan until all steps are done.

use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use tiller_core::task_plan::{PlanStep, StepStatus, TaskPlan};
use tiller_render::{Emphasis, Line, Role, Span, Style, truncate_to};

use crate::component::{Component, Context, Outcome, UiEvent, ViewContext};
use crate::draw;
use crate::keymap::table::{KeyCommand, KeyContext};
use crate::layout::MIN_SPACED_HEIGHT;
use crate::text::one_line;

/// Maximum number of steps that are shown; a longer plan scrolls to the current step.
const MAX_STEPS: usize = 6;

#[derive(Debug, Default)]
pub(crate) struct PlanPanel {
    is_folded: bool,
}

impl Component for PlanPanel {
    /// Handles the panel's key, which folds the plan to the current step, or shows all steps again.
    fn handle(&mut self, event: &UiEvent<'_>, cx: &mut Context<'_>) -> Outcome {
        match *event {
            UiEvent::Key(key)
                if cx.ui.keymap.command(KeyContext::Main, key) == Some(KeyCommand::FoldPlan) =>
            {
                self.is_folded = !self.is_folded;
                Outcome::Consumed
            }
            _ => Outcome::Ignored,
        }
    }

    fn render(&self, area: Rect, buffer: &mut Buffer, view: &ViewContext<'_>) {
        let lines = self.visible_lines(usize::from(area.height), view);
        draw::lines(&lines, area, buffer, &view.ui.theme);
    }
}

impl PlanPanel {
    pub(crate) fn rows_needed(&self, view: &ViewContext<'_>) -> usize {
        view.model.info.plan.as_ref().map_or(0, |plan| self.lines(plan, MAX_STEPS + 1, view).len())
    }

    /// The panel in at most `height` rows.
    fn visible_lines(&self, height: usize, view: &ViewContext<'_>) -> Vec<Line> {
        view.model.info.plan.as_ref().map(|plan| self.lines(plan, height, view)).unwrap_or_default()
    }

    fn lines(&self, plan: &TaskPlan, height: usize, view: &ViewContext<'_>) -> Vec<Line> {
        if plan.is_finished() || height == 0 {
            return Vec::new();
        }
        let width = usize::from(view.ui.size.0);
        if self.is_folded || view.ui.size.1 < MIN_SPACED_HEIGHT || height == 1 {
            return vec![folded(plan, width, view)];
        }
        let title = format!("  Plan: {} of {} done · ", plan.done(), plan.steps.len());
        let key = format!("{} to collapse", view.key_of(KeyCommand::FoldPlan));
        let room = plan.steps.len().min(height - 1);
        // The last finished step stays visible.
        let top = current(plan).saturating_sub(1).min(plan.steps.len() - room);
        let steps = plan.steps[top..].iter().take(room).map(|step| step_line(step, width));
        std::iter::once(Line::new(title + &key, Role::Muted)).chain(steps).collect()
    }
}

/// Returns the index of the step in progress, or of the first unfinished one.
fn current(plan: &TaskPlan) -> usize {
    let find = |status| plan.steps.iter().position(|step| step.status == status);
    find(StepStatus::InProgress).or_else(|| find(StepStatus::Pending)).unwrap_or(0)
}

/// Returns the row of a folded plan: its progress and the current step.
fn folded(plan: &TaskPlan, width: usize, view: &ViewContext<'_>) -> Line {
    let lead = format!("  Plan: {} of {} done · ", plan.done(), plan.steps.len());
    let key = format!(" · {}", view.key_of(KeyCommand::FoldPlan));
    let room = width.saturating_sub(lead.chars().count() + key.chars().count());
    let text = truncate_to(&one_line(&plan.steps[current(plan)].step), room);
    Line::from(vec![Span::new(lead, Role::Muted), Span::new(text, Role::Text), Span::new(key, Role::Muted)])
}

fn step_line(step: &PlanStep, width: usize) -> Line {
    let (sign, sign_role, role) = match step.status {
        StepStatus::Done => ("✓", Role::Success, Role::Muted),
        StepStatus::InProgress => ("▸", Role::Accent, Role::Text),
        StepStatus::Pending => ("·", Role::Muted, Role::Text),
    };
    let is_current = step.status == StepStatus::InProgress;
    let style = Style::from(role).with(if is_current { Emphasis::BOLD } else { Emphasis::NONE });
    let text = truncate_to(&one_line(&step.step), width.saturating_sub(4));
    Line::from(vec![Span::new(format!("  {sign} "), sign_role), Span::new(text, style)])
}

#[cfg(test)]
mod tests {
    use crossterm::event::KeyModifiers;
    use tiller_core::unit::UnixMs;

    use super::*;
    use crate::address::Address;
    use crate::component::FocusState;
    use crate::component::testing::Bench;
    use crate::layout::FoldDefaults;
    use crate::session_model::SessionModel;
    use crate::ui_context::UiContext;

    fn model(done: usize, pending: usize) -> SessionModel {
        let step = |number: usize| PlanStep {
            step: format!("step {number}"),
            status: match number {
                number if number <= done => StepStatus::Done,
                number if number == done + 1 => StepStatus::InProgress,
                _ => StepStatus::Pending,
            },
        };
        let mut model = SessionModel::default();
        model.info.plan = Some(TaskPlan { steps: (1..=done + 1 + pending).map(step).collect() });
        model
    }

    fn shown(panel: &PlanPanel, model: &SessionModel, height: usize) -> Vec<String> {
        let ui = UiContext::example();
        let view = ViewContext {
            model,
            ui: &ui,
            now: UnixMs(0),
            focus: FocusState::default(),
            folds: FoldDefaults::default(),
        };
        assert!(panel.rows_needed(&view) <= MAX_STEPS + 1);
        panel.visible_lines(height, &view).iter().map(Line::text).collect()
    }

    #[test]
    fn plan_panel_shows_the_steps_around_the_current_one() {
        let panel = PlanPanel::default();
        let title = "  Plan: 1 of 3 done · alt+t to collapse";
        assert_eq!(shown(&panel, &model(1, 1), 9), [title, "  ✓ step 1", "  ▸ step 2", "  · step 3"]);
        assert_eq!(shown(&panel, &model(4, 4), 4)[1..], ["  ✓ step 4", "  ▸ step 5", "  · step 6"]);
        assert_eq!(shown(&panel, &model(4, 0), 4)[1..], ["  ✓ step 3", "  ✓ step 4", "  ▸ step 5"]);
        let mut bench = Bench::of(panel, Address::Screen);
        assert_eq!(bench.chord(KeyModifiers::ALT, 't'), (Outcome::Consumed, Vec::new()));
        assert_eq!(bench.chord(KeyModifiers::ALT, 'q'), (Outcome::Ignored, Vec::new()));
        let panel = bench.component;
        assert_eq!(shown(&panel, &model(1, 1), 9), ["  Plan: 1 of 3 done · step 2 · alt+t"]);
    }

    #[test]
    fn plan_panel_finished_plan_is_hidden() {
        let mut model = model(1, 0);
        model.info.plan.as_mut().unwrap().steps[1].status = StepStatus::Done;
        assert_eq!(shown(&PlanPanel::default(), &model, 9), Vec::<String>::new());
        model.info.plan = None;
        assert_eq!(shown(&PlanPanel::default(), &model, 9), Vec::<String>::new());
    }
}
