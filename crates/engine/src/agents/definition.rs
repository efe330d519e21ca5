//! Definitions of agents: Markdown files whose front matter describes an agent and whose body is its
//! instructions. Pure.
//!
//! The keys are `name`, `description`, `tools`, `excluded_tools`, `model`, `thinking`, `max_turns`, `max_tokens`,
//! `max_cost_usd`, `timeout`, `skills`, `approval`, `isolation` and `background`.
//! Files for Claude Code (`.claude/agents`, November 2026) load unchanged: its tool names, model aliases and permission
//! modes are translated, and its other keys are ignored.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use tiller_core::front_matter;
use tiller_core::message::ThinkingLevel;
use tiller_core::unit::{Tokens, Usd};
use tiller_files::search_path::ResourceOrigin;
use tiller_tools::policy::ApprovalMode;

use super::isolation::Isolation;
use super::usage_limits::UsageLimit;
use crate::definition_files::FileDefinition;
use crate::foreign_tools::translate_selection;

/// Maximum length of a description, in characters; the model reads the descriptions in a list.
const MAX_DESCRIPTION: usize = 1_024;

/// The definition of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentDefinition {
    /// The name that selects the agent for a task.
    pub name: String,
    /// When to use the agent, read by the delegating model.
    pub description: String,
    /// The names of the agent's tools and tool sets; `None` for all tools of the delegating agent.
    pub tools: Option<Vec<String>>,
    /// Tools withheld from the agent.
    pub excluded_tools: Vec<String>,
    /// The model, in the syntax of `--model`; `None` for the delegating agent's model.
    pub model: Option<String>,
    /// The thinking level; `None` for the delegating agent's level.
    pub thinking: Option<ThinkingLevel>,
    /// Maximum number of requests for one task.
    pub max_turns: Option<u64>,
    /// Limits on the tokens and the cost of one task.
    pub limit: UsageLimit,
    /// Time limit of one task.
    pub timeout: Option<Duration>,
    /// Names of the agent's skills; `None` for all.
    pub skills: Option<Vec<String>>,
    /// The approval mode, unless the delegating agent's mode is stricter.
    pub approval: Option<ApprovalMode>,
    /// The directory that the agent works in.
    pub isolation: Isolation,
    /// True if [`delegate_to_agent`](super::Delegation) returns without waiting for the answer.
    pub background: bool,
    /// Tools withheld because the file allows only some of their calls (`Bash(git log:*)`): no policy rule
    /// could reject all other calls.
    pub restricted_tools: Vec<String>,
    /// The agent's instructions.
    pub instructions: String,
    /// Path of the file; a name in angle brackets for a built-in definition.
    pub path: PathBuf,
    /// The place where the definition was found.
    pub origin: ResourceOrigin,
}

/// Front matter of a definition. Keys that Claude Code spells differently have its spelling as an alias.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct AgentFrontMatter {
    name: Option<String>,
    description: Option<String>,
    tools: Option<NameList>,
    #[serde(alias = "disallowedTools")]
    excluded_tools: Option<NameList>,
    model: Option<String>,
    thinking: Option<String>,
    /// Claude Code's key for `thinking`.
    effort: Option<String>,
    #[serde(alias = "maxTurns")]
    max_turns: Option<WholeNumber>,
    max_tokens: Option<WholeNumber>,
    max_cost_usd: Option<DecimalOrText>,
    timeout: Option<WholeNumber>,
    skills: Option<NameList>,
    approval: Option<String>,
    #[serde(rename = "permissionMode")]
    permission_mode: Option<String>,
    isolation: Option<String>,
    background: Option<Flag>,
}

/// A boolean, or a string in front matter that isn't YAML.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Flag {
    Bool(bool),
    Text(String),
}

impl Flag {
    fn value(&self, key: &str) -> Result<bool, String> {
        match self {
            Self::Bool(flag) => Ok(*flag),
            Self::Text(text) => text.trim().parse().map_err(|_| format!("`{key}` must be true or false")),
        }
    }
}

/// A list of names, or names separated by commas.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum NameList {
    Text(String),
    List(Vec<String>),
}

impl NameList {
    fn names(&self) -> Vec<String> {
        let texts = match self {
            Self::Text(text) => split_outside_parentheses(text),
            Self::List(items) => items.iter().map(String::as_str).collect(),
        };
        texts.iter().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty()).collect()
    }
}

/// A whole number, or a string in front matter that isn't YAML.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum WholeNumber {
    Number(u64),
    Text(String),
}

impl WholeNumber {
    fn value(&self, key: &str) -> Result<u64, String> {
        let number = match self {
            Self::Number(number) => Some(*number),
            Self::Text(text) => text.trim().parse().ok(),
        };
        number.filter(|number| *number > 0).ok_or_else(|| format!("`{key}` must be a whole number above 0"))
    }
}

/// An amount in dollars, or a string in front matter that isn't YAML.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum DecimalOrText {
    Number(f64),
    Text(String),
}

impl DecimalOrText {
    fn value(&self) -> Result<Usd, String> {
        let amount = match self {
            Self::Number(amount) => Some(*amount),
            Self::Text(text) => text.trim().parse().ok(),
        };
        let amount = amount.filter(|amount| *amount > 0.0 && amount.is_finite());
        amount.map(Usd).ok_or_else(|| "`max_cost_usd` must be a number above 0".to_owned())
    }
}

/// Claude Code's permission modes and the corresponding approval modes. `acceptEdits` is tiller's `ask`, in
/// which writes in the workspace need no approval.
const PERMISSION_MODES: &[(&str, ApprovalMode)] = &[
    ("default", ApprovalMode::Ask),
    ("acceptEdits", ApprovalMode::Ask),
    ("dontAsk", ApprovalMode::Ask),
    ("auto", ApprovalMode::Auto),
    ("bypassPermissions", ApprovalMode::Auto),
    ("plan", ApprovalMode::ReadOnly),
];

impl FileDefinition for AgentDefinition {
    const NOUN: &'static str = "agent";
    /// A definition is part of every request of its agent: 64 KiB are about 16,000 tokens.
    const MAX_BYTES: usize = 64 * 1024;
    const MAX_COUNT: usize = 200;
    const MAX_DEPTH: usize = 8;

    fn parse(bytes: &[u8], path: &Path, origin: ResourceOrigin) -> Result<Self, String> {
        if bytes.len() > Self::MAX_BYTES {
            return Err(format!("larger than {} KiB", Self::MAX_BYTES / 1024));
        }
        let text = std::str::from_utf8(bytes).map_err(|_| "not UTF-8 text".to_owned())?;
        let (head, body) =
            front_matter::parse::<AgentFrontMatter>(text).map_err(|error| error.to_string())?;
        let file_name = path.file_stem().unwrap_or_default().to_string_lossy();
        let name = head.name.as_deref().map(str::trim).filter(|name| !name.is_empty()).unwrap_or(&file_name);
        if !name.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '.')) {
            return Err(format!("invalid name `{name}`; use only letters, digits, -, _, : and ."));
        }
        let description = head.description.as_deref().map(one_line).filter(|text| !text.is_empty());
        let description = description.ok_or_else(|| front_matter::missing(text, "description"))?;
        if body.is_empty() {
            return Err("no instructions after the front matter".to_owned());
        }
        let number =
            |value: &Option<WholeNumber>, key| value.as_ref().map(|value| value.value(key)).transpose();
        Ok(Self {
            name: name.to_owned(),
            description: description.chars().take(MAX_DESCRIPTION).collect(),
            tools: head.tools.as_ref().map(unrestricted_tools).filter(|names| names != &["*"]),
            excluded_tools: head.excluded_tools.as_ref().map(tool_names).unwrap_or_default(),
            model: head.model.filter(|model| !matches!(model.trim(), "" | "inherit")),
            thinking: match (&head.thinking, &head.effort) {
                (Some(level), _) => Some(thinking("thinking", level)?),
                (None, Some(level)) => Some(thinking("effort", level)?),
                (None, None) => None,
            },
            max_turns: number(&head.max_turns, "max_turns")?,
            limit: UsageLimit {
                tokens: number(&head.max_tokens, "max_tokens")?.map(Tokens),
                cost: head.max_cost_usd.as_ref().map(DecimalOrText::value).transpose()?,
                ..UsageLimit::default()
            },
            timeout: number(&head.timeout, "timeout")?.map(Duration::from_secs),
            skills: head.skills.as_ref().map(NameList::names),
            approval: approval(head.approval.as_deref(), head.permission_mode.as_deref())?,
            isolation: head.isolation.as_deref().map(isolation).transpose()?.unwrap_or_default(),
            background: head.background.map_or(Ok(false), |flag| flag.value("background"))?,
            restricted_tools: head.tools.as_ref().map(restricted_tools).unwrap_or_default(),
            instructions: body.to_owned(),
            path: path.to_owned(),
            origin,
        })
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn path(&self) -> &Path {
        &self.path
    }

    fn origin(&self) -> ResourceOrigin {
        self.origin
    }

    fn problem(&self) -> Option<String> {
        let tools = self.restricted_tools.join(", ");
        (!tools.is_empty()).then(|| {
            format!("agent `{}` doesn't get {tools}: tools can't be restricted to some calls", self.name)
        })
    }
}

/// Parses the thinking level, the value of this key.
fn thinking(key: &str, name: &str) -> Result<ThinkingLevel, String> {
    let level = match name.trim() {
        // Claude Code's highest level.
        "max" => Some(ThinkingLevel::ALL[ThinkingLevel::ALL.len() - 1]),
        name => ThinkingLevel::parse(name),
    };
    level.ok_or_else(|| {
        format!("`{key}` must be one of {}", ThinkingLevel::ALL.map(|level| level.name()).join(", "))
    })
}

fn approval(mode: Option<&str>, permission_mode: Option<&str>) -> Result<Option<ApprovalMode>, String> {
    if let Some(name) = mode {
        let modes = ApprovalMode::ALL.map(ApprovalMode::name).join(", ");
        let parsed = ApprovalMode::parse(name.trim());
        return parsed.map(Some).ok_or_else(|| format!("`approval` must be one of {modes}"));
    }
    let known =
        permission_mode.and_then(|name| PERMISSION_MODES.iter().find(|(theirs, _)| *theirs == name.trim()));
    Ok(known.map(|(_, mode)| *mode))
}

fn isolation(name: &str) -> Result<Isolation, String> {
    match name.trim() {
        "" | "none" => Ok(Isolation::None),
        "worktree" => Ok(Isolation::Worktree),
        _ => Err("`isolation` must be worktree or none".to_owned()),
    }
}

/// Returns true for a name that is restricted to some calls, such as `Bash(git log:*)`. `Bash(*)` is
/// unrestricted.
fn is_restricted(name: &str) -> bool {
    name.split_once('(').is_some_and(|(_, calls)| !matches!(calls.trim_end_matches(')').trim(), "*" | ""))
}

/// Returns the tools in a list that aren't restricted to some calls.
fn unrestricted_tools(list: &NameList) -> Vec<String> {
    tool_names(&NameList::List(list.names().into_iter().filter(|name| !is_restricted(name)).collect()))
}

/// Returns the tools that a list contains only with a restriction.
fn restricted_tools(list: &NameList) -> Vec<String> {
    let mut names: Vec<String> = list.names().into_iter().filter(|name| is_restricted(name)).collect();
    let others = unrestricted_tools(list);
    names
        .retain(|name| !tool_names(&NameList::List(vec![name.clone()])).iter().all(|it| others.contains(it)));
    names
}

/// Translates Claude Code's names. Restrictions in parentheses are dropped: an exclusion covers the whole
/// tool.
fn tool_names(list: &NameList) -> Vec<String> {
    let translate = |name: &String| {
        let name = name.split('(').next().unwrap_or_default().trim();
        translate_selection(name)
    };
    let mut names: Vec<String> = list.names().iter().map(translate).collect();
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

/// Splits at commas outside parentheses, so that `Bash(git add, git commit)` stays whole.
fn split_outside_parentheses(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let parts = text.split(move |c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    parts.collect()
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<AgentDefinition, String> {
        AgentDefinition::parse(text.as_bytes(), Path::new("/p/helper.md"), ResourceOrigin::Project)
    }

    fn minimal() -> AgentDefinition {
        AgentDefinition {
            name: "helper".into(),
            description: "helps".into(),
            tools: None,
            excluded_tools: Vec::new(),
            model: None,
            thinking: None,
            max_turns: None,
            limit: UsageLimit::default(),
            timeout: None,
            skills: None,
            approval: None,
            isolation: Isolation::None,
            background: false,
            restricted_tools: Vec::new(),
            instructions: "Help.".into(),
            path: "/p/helper.md".into(),
            origin: ResourceOrigin::Project,
        }
    }

    #[test]
    fn definition_needs_a_description_and_instructions() {
        assert_eq!(parse("---\ndescription: helps\n---\nHelp.\n"), Ok(minimal()));
        let missing = "no front matter; it needs at least `description`";
        assert_eq!(parse("Help."), Err(missing.to_owned()));
        let empty = "no instructions after the front matter";
        assert_eq!(parse("---\ndescription: helps\n---\n"), Err(empty.to_owned()));
        let name = "invalid name `a b`; use only letters, digits, -, _, : and .";
        assert_eq!(parse("---\nname: a b\ndescription: c\n---\nx"), Err(name.to_owned()));
    }

    #[test]
    fn definition_has_all_keys() {
        let text = "---\nname: scout\ndescription: looks\ntools: [grep, files]\nmodel: openai/gpt-6.2:high\nthinking: low\n\
            max_turns: 7\nmax_tokens: 90000\nmax_cost_usd: 0.5\ntimeout: 90\nskills: [debug]\napproval: read-only\n\
            isolation: worktree\nbackground: true\n---\nLook.";
        let strings = |names: &[&str]| Some(names.iter().map(|name| (*name).to_owned()).collect());
        let expected = AgentDefinition {
            name: "scout".into(),
            description: "looks".into(),
            tools: strings(&["grep", "files"]),
            model: Some("openai/gpt-6.2:high".into()),
            thinking: Some(ThinkingLevel::Low),
            max_turns: Some(7),
            limit: UsageLimit { tokens: Some(Tokens(90_000)), cost: Some(Usd(0.5)), ..UsageLimit::default() },
            timeout: Some(Duration::from_secs(90)),
            skills: strings(&["debug"]),
            approval: Some(ApprovalMode::ReadOnly),
            isolation: Isolation::Worktree,
            background: true,
            instructions: "Look.".into(),
            ..minimal()
        };
        assert_eq!(parse(text), Ok(expected));
    }

    #[test]
    fn definition_of_claude_code_is_translated() {
        let text = "---\nname: reviewer\ndescription: Use PROACTIVELY: after changes.\n\
            tools: Read, Grep, Bash(git diff:*, git log:*), mcp__db__query\ndisallowedTools: Write, Task, mcp__web\nmodel: inherit\n\
            permissionMode: plan\nmaxTurns: 12\ncolor: blue\n---\nReview.";
        let parsed = parse(text).unwrap();
        assert_eq!(
            parsed.problem().unwrap(),
            "agent `reviewer` doesn't get Bash(git diff:*, git log:*): tools can't be \
                                               restricted to some calls"
        );
        assert_eq!(parsed.tools.unwrap(), ["read_file", "grep", "mcp__db__query"]);
        assert_eq!(parsed.excluded_tools, ["write_file", "agents", "mcp__web__*"]);
        assert_eq!((parsed.model, parsed.approval), (None, Some(ApprovalMode::ReadOnly)));
        assert_eq!(parsed.max_turns, Some(12));
        assert_eq!(parsed.description, "Use PROACTIVELY: after changes.");
    }

    #[test]
    fn definition_of_claude_code_with_a_sentence_keeps_its_tools() {
        let description = "Use it. Examples: <example>Context: rain. user: \"hi\"</example>";
        for tools in ["Read, Bash", "[Read, Bash]", "\n  - Read\n  - Bash", "\n- Read\n- Bash"] {
            let definition =
                parse(&format!("---\ndescription: {description}\ntools: {tools}\n---\nHelp.")).unwrap();
            let names = Some(vec!["read_file".to_owned(), "bash".to_owned()]);
            assert_eq!(
                (definition.description.as_str(), &definition.tools),
                (description, &names),
                "{tools}"
            );
        }
    }

    #[test]
    fn definition_restriction_never_widens_a_tool() {
        let tools = |list: &str| {
            let parsed = parse(&format!("---\ndescription: x\ntools: {list}\n---\ny")).unwrap();
            (parsed.tools.unwrap(), parsed.restricted_tools)
        };
        let strings = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(tools("Bash(git log:*)"), (strings(&[]), strings(&["Bash(git log:*)"])));
        assert_eq!(tools("Bash, Bash(git log:*)"), (strings(&["bash"]), strings(&[])));
        assert_eq!(tools("Bash(*), Read"), (strings(&["bash", "read_file"]), strings(&[])));
    }

    #[test]
    fn definition_with_an_invalid_value_names_the_key() {
        let error = |line: &str| parse(&format!("---\ndescription: x\n{line}\n---\ny")).unwrap_err();
        assert_eq!(error("max_turns: 0"), "`max_turns` must be a whole number above 0");
        assert_eq!(error("max_cost_usd: free"), "`max_cost_usd` must be a number above 0");
        assert_eq!(error("isolation: container"), "`isolation` must be worktree or none");
        assert_eq!(error("background: later"), "`background` must be true or false");
        assert_eq!(error("timeout: soon"), "`timeout` must be a whole number above 0");
        assert_eq!(error("approval: never"), "`approval` must be one of ask, auto, plan, read-only");
        for key in ["thinking", "effort"] {
            let expected = format!("`{key}` must be one of off, minimal, low, medium, high, xhigh");
            assert_eq!(error(&format!("{key}: 3")), expected);
        }
    }
}
