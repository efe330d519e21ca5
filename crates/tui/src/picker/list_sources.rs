//! The source of each list whose items are loaded in the background.

use crate::list_kind::ListKind;
use crate::picker::source::ListSource;

/// The source of a list whose items are loaded in the background.
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
