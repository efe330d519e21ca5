//! Answers of hook commands: parsing of exit codes and of JSON on stdout, and selection of the strictest
//! answer. Pure.

use serde::Deserialize;
use serde_json::Value;
use tiller_tools::process::ExitStatus;

use super::settings::HookMoment;

/// The exit code that blocks the event.
const BLOCK: i32 = 2;

/// Maximum length of one command's context, in characters; the rest is omitted.
const MAX_CONTEXT: usize = 20_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HookOutput {
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// The answer of a hook, or of several hooks together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HookAnswer {
    pub(super) decision: HookDecision,
    /// Text for the model.
    pub(super) context: Option<String>,
    /// New arguments for a call.
    pub(super) arguments: Option<Value>,
}

/// A decision, from lenient to strict.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum HookDecision {
    #[default]
    Proceed,
    /// The user must approve, for this reason.
    Ask(String),
    /// The hook reached no decision, for this reason.
    Failed(String),
    /// The event is blocked, for this reason.
    Block(String),
    /// The agent must stop, for this reason.
    End(String),
}

impl HookDecision {
    /// Returns the stricter of the two; the first if they are equal.
    fn stricter(self, other: Self) -> Self {
        if other.strictness() > self.strictness() { other } else { self }
    }

    const fn strictness(&self) -> u8 {
        match self {
            Self::Proceed => 0,
            Self::Ask(_) => 1,
            Self::Failed(_) => 2,
            Self::Block(_) => 3,
            Self::End(_) => 4,
        }
    }
}

impl From<HookDecision> for HookAnswer {
    fn from(decision: HookDecision) -> Self {
        Self { decision, ..Self::default() }
    }
}

impl HookAnswer {
    /// Combines two answers: the stricter decision (the first if they are equal) and the context of both. If
    /// both change the arguments, and differ, neither change can be used.
    pub(super) fn and(self, other: Self) -> Self {
        let conflict = match (&self.arguments, &other.arguments) {
            (Some(first), Some(second)) if first != second => {
                HookDecision::Failed("two hooks return different `updatedInput`".to_owned())
            }
            _ => HookDecision::Proceed,
        };
        let decision = self.decision.stricter(other.decision).stricter(conflict);
        let arguments = self.arguments.or(other.arguments);
        let context = match (self.context, other.context) {
            (Some(first), Some(second)) => Some(format!("{first}\n{second}")),
            (first, second) => first.or(second),
        };
        Self { decision, context, arguments }
    }

    /// Parses a command's output.
    pub(super) fn parse(moment: HookMoment, output: &HookOutput) -> Self {
        match output.status {
            ExitStatus::Code(0) => Self::parse_success(moment, output.stdout.trim()),
            ExitStatus::Code(BLOCK) => {
                let reason = output.stderr.trim();
                let reason = if reason.is_empty() { "a hook blocked it and gave no reason" } else { reason };
                HookDecision::Block(reason.to_owned()).into()
            }
            status => {
                let failure = status.failure().unwrap_or_default();
                let line = output.stderr.lines().map(str::trim).find(|line| !line.is_empty());
                let line = line.map(|line| format!(": {line}")).unwrap_or_default();
                HookDecision::Failed(format!("{failure}{line}")).into()
            }
        }
    }

    fn parse_success(moment: HookMoment, stdout: &str) -> Self {
        let adds_text = matches!(moment, HookMoment::SessionStart | HookMoment::UserPromptSubmit);
        if stdout.starts_with('{') {
            let fields = serde_json::from_str::<AnswerFields>(stdout);
            return match fields.map_err(|error| format!("its output is not valid: {error}")) {
                Ok(fields) => {
                    let context = fields.specific.additional_context.as_deref().and_then(shorten);
                    let decision = fields.decision(moment).unwrap_or_else(HookDecision::Failed);
                    let arguments =
                        fields.specific.updated_input.filter(|_| moment == HookMoment::PreToolUse);
                    Self { decision, context, arguments }
                }
                Err(reason) => HookDecision::Failed(reason).into(),
            };
        }
        let context = if adds_text { shorten(stdout) } else { None };
        Self { context, ..Self::default() }
    }
}

/// Returns the start of a text for the model; `None` if it is blank.
fn shorten(text: &str) -> Option<String> {
    let text = text.trim();
    match text.char_indices().nth(MAX_CONTEXT) {
        _ if text.is_empty() => None,
        None => Some(text.to_owned()),
        Some((end, _)) => Some(format!("{}\n[rest omitted]", &text[..end])),
    }
}

/// The JSON on stdout. Other fields are ignored.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct AnswerFields {
    #[serde(rename = "continue")]
    continues: Option<bool>,
    stop_reason: Option<String>,
    decision: Option<String>,
    reason: Option<String>,
    #[serde(rename = "hookSpecificOutput")]
    specific: SpecificFields,
}

/// The fields of one event.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct SpecificFields {
    permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    additional_context: Option<String>,
    updated_input: Option<Value>,
}

impl AnswerFields {
    /// Returns the strictest decision, or the error in one of the decisions.
    fn decision(&self, moment: HookMoment) -> Result<HookDecision, String> {
        if self.continues == Some(false) {
            return Ok(HookDecision::End(reason(self.stop_reason.as_ref())));
        }
        let decision = match self.decision.as_deref() {
            Some("block") => HookDecision::Block(reason(self.reason.as_ref())),
            None | Some("approve") => HookDecision::Proceed,
            Some(other) => return Err(format!("unknown decision `{other}`")),
        };
        let permission = match moment {
            HookMoment::PreToolUse => self.permission()?,
            _ => HookDecision::Proceed,
        };
        Ok(decision.stricter(permission))
    }

    fn permission(&self) -> Result<HookDecision, String> {
        let fields = &self.specific;
        let why = || reason(fields.permission_decision_reason.as_ref());
        match fields.permission_decision.as_deref() {
            Some("deny") => Ok(HookDecision::Block(why())),
            None | Some("allow") => Ok(HookDecision::Proceed),
            Some("ask") => Ok(HookDecision::Ask(why())),
            Some(other) => Err(format!("unknown permissionDecision `{other}`")),
        }
    }
}

fn reason(given_reason: Option<&String>) -> String {
    let text = given_reason.map(|text| text.trim()).filter(|text| !text.is_empty());
    text.unwrap_or("a hook gave no reason").to_owned()
}

#[cfg(test)]
mod tests {
    use HookDecision::{Ask, Block, End, Failed, Proceed};
    use HookMoment::{PostToolUse, PreToolUse, SessionStart, Stop, UserPromptSubmit};
    use serde_json::json;

    use super::*;

    fn output(status: ExitStatus, stdout: &str, stderr: &str) -> HookOutput {
        HookOutput { status, stdout: stdout.to_owned(), stderr: stderr.to_owned() }
    }

    #[test]
    fn answer_exit_code_decides() {
        for (moment, code, stdout, stderr, decision, context) in [
            (PreToolUse, 0, "", "", Proceed, None),
            (PreToolUse, 0, "checked\n", "note", Proceed, None),
            (UserPromptSubmit, 0, "on branch x\n", "", Proceed, Some("on branch x")),
            (SessionStart, 0, " \n", "", Proceed, None),
            (PreToolUse, 2, "", "not\nhere\n", Block("not\nhere".into()), None),
            (Stop, 2, "{}", " ", Block("a hook blocked it and gave no reason".into()), None),
            (PreToolUse, 1, "", "\nboom\nat line 2", Failed("exit code 1: boom".into()), None),
            (PostToolUse, 127, "", "", Failed("exit code 127".into()), None),
        ] {
            let answer = HookAnswer::parse(moment, &output(ExitStatus::Code(code), stdout, stderr));
            let context = context.map(str::to_owned);
            let expected = HookAnswer { decision, context, arguments: None };
            assert_eq!(answer, expected, "{moment:?} {code} {stdout:?} {stderr:?}");
        }
        let killed = HookAnswer::parse(Stop, &output(ExitStatus::Signal(9), "", ""));
        assert_eq!(killed.decision, Failed("killed by signal 9 (SIGKILL)".into()));
    }

    #[test]
    fn answer_json_decides() {
        let specific = |fields: Value| json!({"hookSpecificOutput": fields});
        let permission = |decision: &str| {
            specific(json!({"permissionDecision": decision, "permissionDecisionReason": "why"}))
        };
        for (moment, json, expected) in [
            (PreToolUse, json!({"suppressOutput": true}), Proceed),
            (PreToolUse, json!({"decision": "approve"}), Proceed),
            (PreToolUse, json!({"decision": "block", "reason": "no"}), Block("no".into())),
            (PreToolUse, json!({"decision": "maybe"}), Failed("unknown decision `maybe`".into())),
            (PreToolUse, permission("allow"), Proceed),
            (PreToolUse, permission("ask"), Ask("why".into())),
            (PreToolUse, permission("deny"), Block("why".into())),
            (PreToolUse, permission("defer"), Failed("unknown permissionDecision `defer`".into())),
            (PostToolUse, permission("deny"), Proceed),
            (Stop, json!({"continue": false, "stopReason": "enough"}), End("enough".into())),
            (Stop, json!({"continue": false, "decision": "block"}), End("a hook gave no reason".into())),
            (Stop, json!({"continue": true, "decision": "block"}), Block("a hook gave no reason".into())),
        ] {
            let answer = HookAnswer::parse(moment, &output(ExitStatus::Code(0), &json.to_string(), ""));
            assert_eq!(answer, expected.into(), "{moment:?} {json}");
        }
        let broken = HookAnswer::parse(PreToolUse, &output(ExitStatus::Code(0), "{\"decision\":", ""));
        let Failed(reason) = broken.decision else { panic!("{broken:?}") };
        assert!(reason.starts_with("its output is not valid: "), "{reason}");
    }

    #[test]
    fn answer_json_context_is_taken_and_cut() {
        let json = |text: &str| json!({"hookSpecificOutput": {"additionalContext": text}}).to_string();
        let parse = |text: &str| {
            HookAnswer::parse(PostToolUse, &output(ExitStatus::Code(0), &json(text), "")).context
        };
        assert_eq!(parse("formatted\n").as_deref(), Some("formatted"));
        assert_eq!(parse(" "), None);
        let long = "é".repeat(MAX_CONTEXT);
        assert_eq!(parse(&long), Some(long.clone()));
        assert_eq!(parse(&format!("{long}é")), Some(format!("{long}\n[rest omitted]")));
    }

    #[test]
    fn answer_updated_input_must_be_the_only_one() {
        let fields =
            json!({"permissionDecision": "ask", "permissionDecisionReason": "why", "updatedInput": {"n": 2}});
        let text = json!({"hookSpecificOutput": fields}).to_string();
        let parse = |moment| HookAnswer::parse(moment, &output(ExitStatus::Code(0), &text, ""));
        let changed = |n| HookAnswer { arguments: Some(json!({ "n": n })), ..HookAnswer::default() };
        assert_eq!(parse(PreToolUse), HookAnswer { decision: Ask("why".into()), ..changed(2) });
        assert_eq!(parse(PostToolUse), HookAnswer::default());
        assert_eq!(changed(2).and(Proceed.into()).and(changed(2)), changed(2));
        let conflict = changed(2).and(changed(3)).decision;
        assert_eq!(conflict, Failed("two hooks return different `updatedInput`".into()));
    }

    #[test]
    fn answer_strictest_of_several_wins() {
        let ordered = [Proceed, Ask("a".into()), Failed("f".into()), Block("b".into()), End("e".into())];
        for (at, lenient) in ordered.iter().enumerate() {
            for strict in &ordered[at..] {
                let pair = |first: &HookDecision, second: &HookDecision| {
                    HookAnswer::from(first.clone()).and(second.clone().into()).decision
                };
                assert_eq!((&pair(lenient, strict), &pair(strict, lenient)), (strict, strict));
            }
        }
        assert_eq!(
            HookAnswer::from(Block("1".into())).and(Block("2".into()).into()).decision,
            Block("1".into())
        );
        let context = |text: &str| HookAnswer { context: Some(text.into()), ..HookAnswer::default() };
        assert_eq!(context("1").and(context("2")), context("1\n2"));
        assert_eq!(context("1").and(Proceed.into()), context("1"));
    }
}
