//! The list of a race: its lanes, and rows that resume and end it.

use tiller_core::counted::counted;
use tiller_engine::agents::{LaneState, RaceLane};
use tiller_render::{Line, Role};

use crate::action::{Action, ListAction};
use crate::component::ViewContext;
use crate::list_kind::ListKind;
use crate::picker::detail_lines::{fact, heading};
use crate::picker::item::{PickerChoice, PickerItem};
use crate::picker::source::{ListFacts, ListResponse, ListSource};
use crate::text::one_line;

/// Maximum lines of a check's output and of a diff in the preview.
const MAX_LINES: usize = 200;

/// The lanes; Enter picks a finished one, opens a running one, and resumes the race at an interrupted one.
#[derive(Debug)]
pub(super) struct LaneList;

impl ListSource for LaneList {
    fn facts(&self) -> ListFacts {
        ListFacts {
            title: "race",
            kind: Some(ListKind::Race),
            has_preview: true,
            accept_hint: "pick a result, open a running lane, or resume",
            empty_text: "no race: /race PROMPT starts one",
            keeps_hints: true,
            returns_to_start: true,
            ..ListFacts::default()
        }
    }

    fn accept(&self, choice: PickerChoice, _view: &ViewContext<'_>) -> ListResponse {
        match choice {
            PickerChoice::Agent { id, name } => {
                ListResponse::close(Action::List(ListAction::OpenAgent { id, name }))
            }
            PickerChoice::Lane(number) => ListResponse::close(Action::List(ListAction::PickLane(number))),
            PickerChoice::ResumeRace => ListResponse::stay(Action::List(ListAction::ResumeRace)),
            PickerChoice::StopRace => ListResponse::close(Action::List(ListAction::StopRace)),
            PickerChoice::DiscardRace => ListResponse::close(Action::List(ListAction::DiscardRace)),
            _ => ListResponse::none(),
        }
    }
}

/// Returns the lanes and the rows that resume and end the race, and the index of the first lane with a result, or
/// else of the first lane.
pub(crate) fn items(lanes: &[RaceLane]) -> (Vec<PickerItem>, usize) {
    let row = |label: &str, choice| PickerItem::new(label, choice).in_role(Role::Muted);
    let is_interrupted = lanes.iter().any(|lane| lane.state == LaneState::Interrupted);
    let resume = is_interrupted.then(|| row("resume the race", PickerChoice::ResumeRace));
    let is_over = lanes.iter().all(|lane| lane.state.is_over());
    let end = (!lanes.is_empty()).then(|| match is_over {
        true => row("discard the results", PickerChoice::DiscardRace),
        false => row("stop the race", PickerChoice::StopRace),
    });
    let first = lanes.iter().position(|lane| lane.state == LaneState::Finished).unwrap_or(0);
    (lanes.iter().map(item).chain(resume).chain(end).collect(), first)
}

fn item(lane: &RaceLane) -> PickerItem {
    let name = match &lane.model {
        Some(model) => format!("{} {}", lane.number, one_line(model)),
        None => format!("lane {}", lane.number),
    };
    let choice = match (&lane.state, &lane.agent_id) {
        (LaneState::Finished, _) => PickerChoice::Lane(lane.number),
        (LaneState::Interrupted, _) => PickerChoice::ResumeRace,
        (LaneState::Working, Some(id)) => {
            PickerChoice::Agent { id: id.clone(), name: format!("race-{}", lane.number) }
        }
        (LaneState::Failed(reason), _) => PickerChoice::Unavailable(one_line(reason)),
        (LaneState::Stopped, _) => {
            PickerChoice::Unavailable("the lane was stopped and has no result".to_owned())
        }
        _ => PickerChoice::Nothing,
    };
    let item = PickerItem::new(name.clone(), choice).with_note(note(lane)).with_detail(detail(&name, lane));
    item.identified_by(PickerChoice::Lane(lane.number))
}

/// State, check, cost, size of the changes, and the other work: the end may not fit into the row.
fn note(lane: &RaceLane) -> String {
    let check = match lane.check_text() {
        "" => String::new(),
        outcome => format!(" · check {outcome}"),
    };
    let changes = lane.changes.as_ref().map(|changes| format!(" · {changes}")).unwrap_or_default();
    format!("{}{check} · {}{changes} · {}", lane.state_text(), lane.activity.cost, work(lane))
}

/// Turns, tokens, denied calls and time.
fn work(lane: &RaceLane) -> String {
    let denied = match lane.activity.denied {
        0 => String::new(),
        denied => format!(" · {denied} denied"),
    };
    format!(
        "{} · {}{denied} · {}s",
        counted(lane.activity.turns, "turn", "turns"),
        counted(lane.activity.tokens, "token", "tokens"),
        lane.elapsed_ms / 1_000
    )
}

fn detail(name: &str, lane: &RaceLane) -> Vec<Line> {
    // The note may not fit into the row.
    let mut lines =
        vec![heading(name), fact("state", lane.state_text()), fact("cost", lane.activity.cost.to_string())];
    lines.push(fact("work", work(lane)));
    if let LaneState::Failed(reason) = &lane.state {
        lines.push(Line::new(one_line(reason), Role::Error));
    }
    let mut section = |title: &str, text: &str| {
        if !text.trim().is_empty() {
            lines.extend([Line::default(), Line::new(title.to_owned(), Role::Muted)]);
            lines.extend(text.lines().take(MAX_LINES).map(|line| Line::new(one_line(line), Role::Text)));
        }
    };
    if let Some(check) = &lane.check {
        section(&format!("check {}", lane.check_text()), &check.output);
    }
    if let Some(changes) = &lane.changes {
        let shown: usize =
            changes.patch.split_inclusive(|byte| *byte == b'\n').take(MAX_LINES).map(<[u8]>::len).sum();
        section("changes", &String::from_utf8_lossy(&changes.patch[..shown]));
    }
    lines
}

/// Returns a lane whose agent has started.
#[cfg(test)]
pub(crate) fn lane_in_state(number: usize, state: LaneState) -> RaceLane {
    RaceLane {
        number,
        model: None,
        agent_id: Some("an-agent".into()),
        state,
        activity: tiller_engine::agents::AgentActivity::default(),
        elapsed_ms: 0,
        check: None,
        changes: None,
        leaf: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picker::Picker;

    fn choices(states: impl IntoIterator<Item = LaneState>) -> Vec<(String, PickerChoice)> {
        let lanes = states.into_iter().enumerate().map(|(at, state)| lane_in_state(at + 1, state));
        let lanes: Vec<RaceLane> = lanes.collect();
        items(&lanes).0.into_iter().map(|item| (item.label, item.choice)).collect()
    }

    fn rows(states: &[LaneState]) -> (Vec<PickerItem>, usize) {
        let lanes = states.iter().enumerate().map(|(at, state)| lane_in_state(at + 1, state.clone()));
        items(&lanes.collect::<Vec<_>>())
    }

    /// Returns the selected row after the lanes have changed, if `selected` was before.
    fn selected_after_change(
        selected: &str,
        filter: &str,
        before: &[LaneState],
        after: &[LaneState],
    ) -> Option<String> {
        let (before, first) = rows(before);
        let row = before.iter().position(|item| item.label == selected).unwrap();
        let mut picker = Picker::with_items(&LaneList, "race".to_owned(), before, first);
        picker.step(isize::try_from(row).unwrap() - isize::try_from(first).unwrap());
        picker.edit(|line| line.push(filter));
        assert_eq!(picker.chosen().map(|item| item.label.as_str()), Some(selected));
        // The list is refreshed again and again.
        for _ in 0..2 {
            let (after, first) = rows(after);
            picker.fill(after, first);
        }
        picker.chosen().map(|item| item.label.clone())
    }

    #[test]
    fn race_selection_never_moves_to_discard_by_itself() {
        use LaneState::{Finished, Interrupted, Stopped, Working};
        let after = |selected: &str, before: [LaneState; 2], after: [LaneState; 2]| {
            selected_after_change(selected, "", &before, &after)
        };
        let lane = |number: usize| Some(format!("lane {number}"));
        assert_eq!(after("stop the race", [Working, Working], [Stopped, Finished]), lane(2));
        assert_eq!(after("stop the race", [Working, Working], [Stopped, Stopped]), lane(1));
        assert_eq!(after("resume the race", [Interrupted, Interrupted], [Working, Working]), lane(1));
        let kept = after("discard the results", [Interrupted, Finished], [Finished, Finished]);
        assert_eq!(kept.as_deref(), Some("discard the results"), "the user selected it");
        let filtered =
            selected_after_change("stop the race", "st", &[Working, Working], &[Finished, Finished]);
        assert_eq!(filtered, None, "only `discard the results` matches");
    }

    #[test]
    fn race_selection_stays_on_its_lane() {
        use LaneState::{Interrupted, Starting, Working};
        for (before, after) in [
            ([Starting, Starting, Starting], [Working, Working, Starting]),
            ([Interrupted, Interrupted, Interrupted], [Interrupted, Starting, Interrupted]),
        ] {
            let mut picker = Picker::with_items(&LaneList, "race".to_owned(), rows(&before).0, 0);
            picker.step(1);
            picker.fill(rows(&after).0, 0);
            assert_eq!(picker.chosen().map(|item| item.label.as_str()), Some("lane 2"));
        }
    }

    #[test]
    fn race_row_has_the_cost_before_the_work() {
        let lane = lane_in_state(1, LaneState::Finished);
        assert_eq!(note(&lane), "finished · $0.00 · 0 turns · 0 tokens · 0s");
    }

    #[test]
    fn race_row_shows_that_the_lane_waits_for_approval() {
        let mut lane = lane_in_state(1, LaneState::Working);
        lane.activity.approvals = 1;
        assert_eq!(note(&lane), "waiting for approval · $0.00 · 0 turns · 0 tokens · 0s");
    }

    #[test]
    fn race_items_offer_what_the_lanes_allow() {
        let row = |label: &str, choice| (label.to_owned(), choice);
        assert_eq!(choices([]), []);
        let working = row("lane 2", PickerChoice::Agent { id: "an-agent".into(), name: "race-2".to_owned() });
        assert_eq!(
            choices([LaneState::Finished, LaneState::Working]),
            [row("lane 1", PickerChoice::Lane(1)), working, row("stop the race", PickerChoice::StopRace)]
        );
        assert_eq!(
            choices([LaneState::Finished, LaneState::Interrupted]),
            [
                row("lane 1", PickerChoice::Lane(1)),
                row("lane 2", PickerChoice::ResumeRace),
                row("resume the race", PickerChoice::ResumeRace),
                row("discard the results", PickerChoice::DiscardRace),
            ]
        );
    }
}
