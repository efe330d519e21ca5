//! The source of each list whose items are loaded in the background.

use crate::list_kind::ListKind;
use crate::picker::source::ListSource;

/// Returns the source of a list whose items are loaded in the background.
pub(crate) fn list_source(kind: ListKind) -> &'static dyn ListSource {
    match kind {
        ListKind::Models => &super::models::ModelList,
        ListKind::Thinking => &super::agent_options::ThinkingList,
        ListKind::Approval => &super::agent_options::ApprovalModeList,
        ListKind::Permissions => &super::agent_options::PermissionList,
        ListKind::RuleFiles => &super::rule_form::RuleForm,
        ListKind::Race => &super::race::LaneList,
        ListKind::Agents => &super::agents::AgentList,
        ListKind::Jobs => &super::command_jobs::CommandJobList,
        ListKind::Trust => &super::agent_options::TrustQuestion,
        ListKind::Tools => &super::agent_options::ToolList,
        ListKind::Settings => &super::settings::SettingList,
        ListKind::Themes => &super::themes::ThemeList,
        ListKind::Logins => &super::credentials::LoginList,
        ListKind::Logouts => &super::credentials::LogoutList,
        ListKind::ForeignLogs => &super::foreign_logs::ForeignLogList,
    }
}

#[cfg(test)]
mod tests {
    use tiller_core::id::JobId;
    use tiller_core::message::ThinkingLevel;
    use tiller_core::unit::UnixMs;
    use tiller_engine::ApprovalMode;

    use super::*;
    use crate::action::{Action, ListAction, SessionEdit};
    use crate::component::{FocusState, ViewContext};
    use crate::effect::{Effect, OverlayRequest};
    use crate::keymap::table::KeyCommand;
    use crate::layout::FoldDefaults;
    use crate::picker::item::PickerChoice;
    use crate::picker::source::ListResponse;
    use crate::session_model::SessionModel;
    use crate::ui_context::UiContext;

    #[test]
    fn list_source_accepts_its_choices() {
        let (model, ui) = (SessionModel::default(), UiContext::example());
        let focus = FocusState::default();
        let view =
            ViewContext { model: &model, ui: &ui, now: UnixMs(0), focus, folds: FoldDefaults::default() };
        let stay = |action: ListAction| ListResponse::stay(Action::List(action));
        let close = |action: Action| ListResponse::close(action);
        let agent = || PickerChoice::Agent { id: "s1".into(), name: "reviewer".into() };
        let opened = ListAction::OpenAgent { id: "s1".into(), name: "reviewer".into() };
        let job = || JobId::new("j1");
        let rows = [
            (
                ListKind::Models,
                PickerChoice::Model("opus".into()),
                close(Action::Edit(SessionEdit::SetModel("opus".into()))),
            ),
            (
                ListKind::Models,
                PickerChoice::LockedModel("openai".into()),
                ListResponse::stay(Effect::Open(OverlayRequest::Login("openai".into()))),
            ),
            (
                ListKind::Thinking,
                PickerChoice::Thinking(ThinkingLevel::High),
                close(Action::Edit(SessionEdit::SetThinking(ThinkingLevel::High))),
            ),
            (
                ListKind::Approval,
                PickerChoice::Approval(ApprovalMode::Auto),
                close(Action::List(ListAction::SetApproval(ApprovalMode::Auto))),
            ),
            (ListKind::Agents, agent(), close(Action::List(opened))),
            (ListKind::Jobs, PickerChoice::Job(job()), stay(ListAction::StopJob(job()))),
            (ListKind::Tools, PickerChoice::Tool("bash".into()), stay(ListAction::ToggleTool("bash".into()))),
            (ListKind::Trust, PickerChoice::Trust, close(Action::List(ListAction::Trust))),
            (ListKind::Trust, PickerChoice::Nothing, ListResponse::Close(Vec::new())),
            (
                ListKind::Themes,
                PickerChoice::Theme("gruvbox".into()),
                ListResponse::close(Effect::ApplyTheme("gruvbox".into())),
            ),
            (ListKind::Models, PickerChoice::Nothing, ListResponse::none()),
        ];
        for (kind, choice, expected) in rows {
            assert_eq!(list_source(kind).accept(choice.clone(), &view), expected, "{kind:?}: {choice:?}");
        }
    }

    #[test]
    fn list_source_performs_its_own_commands() {
        let model = || PickerChoice::Model("opus".into());
        let then_thinking = ListResponse::Close(vec![
            Action::Edit(SessionEdit::SetModel("opus".into())).into(),
            Effect::Open(OverlayRequest::list(ListKind::Thinking)),
        ]);
        let rows = [
            (ListKind::Models, KeyCommand::ModelAndThinking, model(), then_thinking),
            (ListKind::Models, KeyCommand::Revoke, model(), ListResponse::none()),
            (ListKind::Tools, KeyCommand::Revoke, PickerChoice::Tool("bash".into()), ListResponse::none()),
        ];
        for (kind, command, choice, expected) in rows {
            assert_eq!(list_source(kind).perform(command, choice), expected, "{kind:?}: {command:?}");
        }
    }
}
