//! The form for the rules that would allow a pending call: a line to edit, and the settings files to save it to.

use std::path::Path;

use tiller_core::id::CallId;
use tiller_core::proposed_rules::ProposedRules;
use tiller_core::setting::SettingScope;
use tiller_engine::{ConfiguredRules, RuleFile};
use tiller_render::{Line, Role};

use crate::action::{Action, ListAction};
use crate::component::ViewContext;
use crate::list_kind::ListKind;
use crate::path_display::shortened;
use crate::pattern_subject::PatternSubject;
use crate::picker::detail_lines::{fact, heading};
use crate::picker::input_rows::is_wholly_shown;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::picker::line_prompt::{LinePrompt, StatusText};
use crate::picker::source::{ListFacts, ListResponse, ListSource};
use crate::text::one_line;

/// Maximum columns of a path; longer paths are shortened.
const PATH_WIDTH: usize = 60;

/// The reason a line that isn't completely visible can't be saved.
const TOO_LONG: &str = "the rule doesn't fit on the screen: shorten it, or enlarge the window";

/// The settings files; Enter saves the rules of the line to the selected one.
#[derive(Debug)]
pub(crate) struct RuleForm;

impl ListSource for RuleForm {
    fn facts(&self) -> ListFacts {
        ListFacts {
            title: "always allow",
            kind: Some(ListKind::RuleFiles),
            has_preview: true,
            is_form: true,
            accept_hint: "save",
            empty_text: "there is no settings file here",
            ..ListFacts::default()
        }
    }

    fn accept(&self, _choice: PickerChoice, _view: &ViewContext<'_>) -> ListResponse {
        ListResponse::none()
    }

    fn submit(&self, prompt: LinePrompt, row: Option<&PickerChoice>, view: &ViewContext<'_>) -> ListResponse {
        let (PickerChoice::Rules(call, tool, _), Some(PickerChoice::RuleFile(scope))) =
            (&prompt.purpose, row)
        else {
            return ListResponse::ask(prompt);
        };
        let rules = ProposedRules::parse(tool, prompt.typed.text());
        let hidden = (!is_wholly_shown(&prompt, view.ui)).then(|| TOO_LONG.to_owned());
        if let Some(problem) = hidden.or_else(|| find_problem(&rules, &prompt.before)) {
            return ListResponse::Ask(prompt, Some(StatusText::error(problem)), Vec::new());
        }
        let save = Action::List(ListAction::SaveRules { call: call.clone(), scope: *scope, rules });
        ListResponse::Ask(prompt, Some(StatusText::note("saving…")), vec![save.into()])
    }
}

/// Returns the reason rules can't be saved. An empty line doesn't mean a rule for every call of the tool.
fn find_problem(rules: &ProposedRules, before: &str) -> Option<String> {
    if rules.patterns.is_empty() && !before.is_empty() {
        return Some("an empty rule would cover every call of the tool: type what it covers".to_owned());
    }
    ConfiguredRules::check_proposed(rules).err()
}

/// The prompt with the rules to edit.
pub(super) fn rule_prompt(call: CallId, rules: &ProposedRules, subject: PatternSubject) -> LinePrompt {
    let purpose = PickerChoice::Rules(call, rules.tool.clone(), subject);
    LinePrompt::new(purpose, one_line(&rules.tool), &rules.line()).with_blank_hint("every call of the tool")
}

/// Returns the row that is selected first: the project's file for rules whose meaning depends on the
/// directory.
pub(super) fn first_row(prompt: &LinePrompt, items: &[PickerItem]) -> Option<usize> {
    let PickerChoice::Rules(_, tool, _) = &prompt.purpose else { return None };
    let of_project = |item: &PickerItem| item.choice == PickerChoice::RuleFile(SettingScope::Project);
    let rules = ProposedRules::parse(tool, &prompt.before);
    items.iter().position(of_project).filter(|_| rules.has_relative_path())
}

/// Adds the syntax of the edited patterns to the details of the settings files.
pub(super) fn with_pattern_syntax(prompt: &LinePrompt, items: Vec<PickerItem>) -> Vec<PickerItem> {
    let PickerChoice::Rules(_, _, subject) = &prompt.purpose else { return items };
    let syntax = subject.syntax();
    if syntax.is_empty() {
        return items;
    }
    let add = |item: PickerItem| {
        let mut detail = item.detail.to_vec();
        detail.push(Line::default());
        detail.extend(syntax.iter().map(|line| Line::new(*line, Role::Muted)));
        item.with_detail(detail)
    };
    items.into_iter().map(add).collect()
}

/// The settings files that rules can be saved to.
pub(crate) fn rule_file_items(files: &[RuleFile], home: Option<&Path>) -> Vec<PickerItem> {
    let item = |file: &RuleFile| {
        let (label, about) = match file.scope {
            SettingScope::User => ("in your settings", "the rule applies in all directories"),
            SettingScope::Project => {
                ("in the project's settings", "the rule applies to everyone who trusts the project")
            }
        };
        let path = shortened(&file.path, home, PATH_WIDTH);
        let detail =
            vec![heading(label), Line::default(), fact("file", path.clone()), Line::new(about, Role::Text)];
        PickerItem::new(label, PickerChoice::RuleFile(file.scope)).with_note(path).with_detail(detail)
    };
    files.iter().map(item).collect()
}

/// Formats rules for a message.
pub(crate) fn rules_text(rules: &ProposedRules) -> String {
    match rules.line() {
        line if line.is_empty() => format!("every call of {}", one_line(&rules.tool)),
        line => format!("{} `{}`", one_line(&rules.tool), one_line(&line)),
    }
}
