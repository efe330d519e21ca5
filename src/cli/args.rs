//! The command line's arguments.

mod mcp;
mod models;
mod serve;
mod sessions;

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::agent::agents::DEFAULT_LANES;
use crate::config::FlagValue;
use crate::setting;

pub(super) use mcp::{McpAddArgs, McpCommand};
pub(super) use models::ModelsCommand;
pub(super) use serve::ServeArgs;
pub(super) use sessions::{ExportFormat, ForeignProgram, SessionsCommand};

/// A coding agent for the terminal with durable, branching sessions.
#[derive(Debug, Parser)]
#[command(name = "tiller", version, about, max_term_width = 100)]
pub(super) struct CliArgs {
    #[command(subcommand)]
    pub(super) command: Option<CliCommand>,
    /// Initial prompt; @FILE attaches a text file, an image or a PDF file
    #[arg(value_name = "MESSAGE|@FILE")]
    pub(super) message: Vec<String>,
    #[command(flatten)]
    pub(super) print: PrintArgs,
    #[command(flatten)]
    pub(super) session: SessionArgs,
    #[command(flatten)]
    pub(super) model: ModelArgs,
    #[command(flatten)]
    pub(super) agent: AgentArgs,
    #[command(flatten)]
    pub(super) environment: EnvironmentArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(super) struct PrintArgs {
    /// Run one prompt and print the answer to stdout (implied unless stdout is a terminal)
    #[arg(short, long)]
    pub(super) print: bool,
    /// Output format: the answer, every event as a JSON line, or JSON-lines RPC on stdin and stdout (text and
    /// json imply -p)
    #[arg(long, value_enum)]
    pub(super) mode: Option<PrintMode>,
    /// With --mode rpc: the client answers approval requests
    #[arg(long, requires = "mode")]
    pub(super) approvals: bool,
    /// With --mode json or rpc: also send the deltas and partial output of agents
    #[arg(long, requires = "mode")]
    pub(super) agent_deltas: bool,
    /// Line-based front end: reads prompts line by line and prints plain text
    #[arg(long, conflicts_with_all = ["print", "mode"])]
    pub(super) plain: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum PrintMode {
    Text,
    Json,
    Rpc,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Session")]
pub(super) struct SessionArgs {
    /// Continue the most recent session in this directory
    #[arg(short = 'c', long = "continue", group = "which")]
    pub(super) recent: bool,
    /// Resume a session: open the session list, or the best match for QUERY (id fragment, name or text)
    #[arg(short = 'r', long = "resume", value_name = "QUERY", num_args = 0..=1, default_missing_value = "", group = "which")]
    pub(super) resume: Option<String>,
    /// Open this session: a file, an id, or at least 4 characters from the start or end of an id
    #[arg(long, value_name = "PATH|ID", group = "which")]
    pub(super) session: Option<String>,
    /// Start a new session with a copy of another one's current branch, optionally only up to ENTRY
    #[arg(long, value_name = "PATH|ID[@ENTRY]", group = "which")]
    pub(super) fork: Option<String>,
    /// Attach to a session that is open on a server or in another tiller process
    #[arg(long, value_name = "URL|PATH|ID", group = "which", conflicts_with_all = ["plain", "print", "mode"])]
    pub(super) attach: Option<String>,
    /// Start a new session (the default)
    #[arg(long, group = "which")]
    pub(super) new: bool,
    /// Don't save the session
    #[arg(long, group = "which")]
    pub(super) no_session: bool,
    /// Directory for session files
    #[arg(long, value_name = "DIR", global = true)]
    pub(super) session_dir: Option<String>,
    /// Name the session
    #[arg(long)]
    pub(super) name: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub(super) struct ModelArgs {
    /// Model: [PROVIDER/]ID[:THINKING], or part of an id
    #[arg(long)]
    pub(super) model: Option<String>,
    /// Provider: one that `tiller login` lists, a local server, one defined in models.json, scripted or demo
    #[arg(long)]
    pub(super) provider: Option<String>,
    /// API key for the provider given by --provider or, without it, by --model (environment variables are safer)
    #[arg(long, value_name = "KEY")]
    pub(super) api_key: Option<String>,
    /// The provider of `api_key`, if neither --provider nor --model names it
    #[arg(skip)]
    pub(super) key_provider: Option<String>,
    #[arg(skip)]
    pub(super) precedence: ModelPrecedence,
    /// Thinking level: off, minimal, low, medium, high, xhigh
    #[arg(long, value_name = "LEVEL")]
    pub(super) thinking: Option<String>,
    /// Models to cycle through: comma-separated patterns, each with an optional :THINKING
    #[arg(long, value_name = "LIST")]
    pub(super) models: Option<String>,
    /// Sampling temperature
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(super) temperature: Option<String>,
    /// Maximum tokens per answer
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) max_tokens: Option<String>,
}

/// The precedence of the options for model, provider and thinking level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ModelPrecedence {
    /// They replace a session's own.
    #[default]
    Arguments,
    /// A session's own replace them.
    Session,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Agent")]
pub(super) struct AgentArgs {
    /// Tools to offer, comma-separated
    #[arg(long, value_name = "LIST", conflicts_with = "no_tools")]
    pub(super) tools: Option<String>,
    /// Offer no tools
    #[arg(long)]
    pub(super) no_tools: bool,
    /// Maximum model requests per run
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(super) max_turns: Option<String>,
    /// Approval mode: which tool calls need approval
    #[arg(long, value_enum, value_name = "MODE", conflicts_with = "yes")]
    pub(super) approval: Option<Approval>,
    /// Approve every call that needs approval, except access to hosts on your local network
    #[arg(short, long)]
    pub(super) yes: bool,
    /// Sandbox for the model's commands: `workspace` limits writes to the workspace, temporary directories and
    /// caches, `read-only` to temporary directories, `off` disables it
    #[arg(long, value_enum, value_name = "MODE")]
    pub(super) sandbox: Option<SandboxChoice>,
    /// Replace the system prompt
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(super) system_prompt: Option<String>,
    /// Append to the system prompt
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(super) append_system_prompt: Option<String>,
    /// Load this skill, or the skills in this directory (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(super) skill: Vec<PathBuf>,
    /// Load this prompt template, or the templates in this directory (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(super) prompt_template: Vec<PathBuf>,
    /// Load only the skills given by --skill
    #[arg(long)]
    pub(super) no_skills: bool,
    /// Load only the templates given by --prompt-template
    #[arg(long)]
    pub(super) no_templates: bool,
    /// Don't read AGENTS.md, CLAUDE.md or AGENT.md
    #[arg(long)]
    pub(super) no_context_files: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Approval {
    Ask,
    Auto,
    Plan,
    ReadOnly,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum SandboxChoice {
    Off,
    Workspace,
    ReadOnly,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Environment")]
pub(super) struct EnvironmentArgs {
    /// Work in this directory
    #[arg(long, value_name = "DIR", global = true)]
    pub(super) cwd: Option<PathBuf>,
    /// Let tools access this directory too; read-only with the suffix :ro (repeatable)
    #[arg(long, value_name = "DIR[:ro]")]
    pub(super) add_dir: Vec<String>,
    /// Trust the project's settings, extensions, hooks, agents, MCP servers, themes and .env until they change
    #[arg(long, global = true)]
    pub(super) trust_project: bool,
    /// Read API keys from this file instead of the user's .env
    #[arg(long, value_name = "FILE", global = true)]
    pub(super) env_file: Option<PathBuf>,
    /// Theme name or file; repeat to add more files to the theme list
    #[arg(long, value_name = "NAME|PATH")]
    pub(super) theme: Vec<String>,
    /// Level of tiller's own log: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", global = true)]
    pub(super) log_level: Option<String>,
    /// Log at debug level (or the one set by --log-level) and print the log to stderr too (except in the TUI)
    #[arg(short, long, global = true)]
    pub(super) verbose: bool,
    /// Write every agent event to this file, as `--mode json` prints them; overwrites an existing file
    #[arg(long, value_name = "FILE")]
    pub(super) trace: Option<PathBuf>,
    /// Export spans and metrics to this OpenTelemetry collector (overrides the setting telemetry.otlp)
    #[arg(long, value_name = "URL", global = true)]
    pub(super) otlp: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(super) enum PolicyCommand {
    /// Show the rule and risk for each command in a command line, and the decision in each mode
    Explain {
        /// The command line, after --
        #[arg(required = true, value_name = "COMMAND", num_args = 1.., trailing_var_arg = true)]
        command: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the configured rules and the file each comes from
    Rules,
}

#[derive(Debug, Subcommand)]
pub(super) enum AgentsCommand {
    /// List project, user and built-in agents and the files that define them
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

/// The lane to continue with after a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RacePick {
    /// The first one that passes the check.
    Passed,
    /// The one with this number.
    Lane(usize),
}

impl FromStr for RacePick {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text, text.parse()) {
            ("passed", _) => Ok(Self::Passed),
            (_, Ok(number)) => Ok(Self::Lane(number)),
            (_, Err(_)) => Err("neither a lane number nor `passed`"),
        }
    }
}

fn parse_days(text: &str) -> Result<u16, &'static str> {
    match text.parse() {
        Ok(days @ 1..) => Ok(days),
        Ok(0) | Err(_) => Err("expected a whole number from 1 to 65535"),
    }
}

#[derive(Clone, Debug, Args)]
pub(super) struct RaceArgs {
    /// The prompt (required unless --resume is given)
    #[arg(required_unless_present = "resume_race")]
    pub(super) prompt: Option<String>,
    /// Resume an interrupted race, or one with no result picked yet. Uses this directory's most
    /// recent session; to choose another: tiller --session ID race --resume
    #[arg(long = "resume", id = "resume_race", conflicts_with_all = ["prompt", "lanes", "models", "check", "from"])]
    pub(super) resume: bool,
    /// Number of agents to run (each is a lane)
    #[arg(short = 'n', long, value_name = "N", default_value_t = DEFAULT_LANES, conflicts_with = "models")]
    pub(super) lanes: usize,
    /// One lane for each of these models, separated by commas
    #[arg(long, value_name = "A,B")]
    pub(super) models: Option<String>,
    /// Shell command that checks each result in its worktree; exit code 0 means passed
    #[arg(long, value_name = "COMMAND")]
    pub(super) check: Option<String>,
    /// Continue from this entry instead of the end of the current branch
    #[arg(long, value_name = "ENTRY")]
    pub(super) from: Option<String>,
    /// Continue with this lane, or with the first one that passes the check, instead of prompting
    #[arg(long, value_name = "LANE|passed")]
    pub(super) pick: Option<RacePick>,
    /// Print the lanes as JSON, with the picked one marked
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Debug, Subcommand)]
pub(super) enum CliCommand {
    /// List, show, search, check, edit, export, import and remove sessions
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Store a provider's API key (prompted, or from stdin); without PROVIDER, list providers
    Login {
        /// Provider, such as anthropic
        provider: Option<String>,
    },
    /// Remove a provider's stored API key
    Logout {
        /// Provider, such as anthropic; `tiller login` lists them
        provider: String,
    },
    /// Show every setting with its value and source
    Settings {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check the installation, keys, sandbox, terminal and MCP servers; exit code 1 if something is broken
    Doctor {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List the permission rules, or explain the decision for a command
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// List models with their limits, prices and API key status
    #[command(args_conflicts_with_subcommands = true)]
    Models {
        #[command(subcommand)]
        command: Option<ModelsCommand>,
        /// Filter by text in provider/id; includes providers without a key
        query: Option<String>,
        /// Print JSON, with all models
        #[arg(long)]
        json: bool,
    },
    /// Show tokens, cache hits and cost of all sessions by day, model and project
    Stats {
        /// Number of days, including today
        #[arg(long, value_name = "N", default_value_t = 30, value_parser = parse_days)]
        days: u16,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List, add, remove and test MCP servers
    #[command(subcommand)]
    Mcp(McpCommand),
    /// List the agents that tasks can be delegated to
    #[command(subcommand)]
    Agents(AgentsCommand),
    /// Give a prompt to several agents, each in a git worktree, and continue with one result
    Race(RaceArgs),
    /// Serve sessions over HTTP, with server-sent events
    Serve(ServeArgs),
    /// Print a shell's completion script
    Completions { shell: Shell },
    /// Print the manual page (roff): tiller man | man -l -
    Man,
}

impl EnvironmentArgs {
    /// Returns the log level of `--verbose`, unless `--log-level` is given.
    fn verbose_level(&self) -> Option<String> {
        (self.verbose && self.log_level.is_none()).then(|| "debug".to_owned())
    }
}

impl SessionArgs {
    /// Continues the most recent session, unless an option names another one.
    pub(super) fn or_most_recent(self) -> Self {
        let names_one = self.resume.is_some()
            || [&self.session, &self.fork, &self.attach].iter().any(|option| option.is_some())
            || self.new
            || self.no_session;
        Self { recent: self.recent || !names_one, ..self }
    }
}

impl CliArgs {
    /// Returns the flags that set settings, with their values.
    pub(super) fn settings(&self) -> Vec<FlagValue> {
        let texts = [
            (&setting::PROVIDER, "--provider", &self.model.provider),
            (&setting::MODEL, "--model", &self.model.model),
            (&setting::THINKING, "--thinking", &self.model.thinking),
            (&setting::MODELS, "--models", &self.model.models),
            (&setting::TEMPERATURE, "--temperature", &self.model.temperature),
            (&setting::MAX_TOKENS, "--max-tokens", &self.model.max_tokens),
            (&setting::TOOLS, "--tools", &self.agent.tools),
            (&setting::MAX_TURNS, "--max-turns", &self.agent.max_turns),
            (&setting::SESSION_DIR, "--session-dir", &self.session.session_dir),
            (&setting::LOG_LEVEL, "--log-level", &self.environment.log_level),
            (&setting::LOG_LEVEL, "--verbose", &self.environment.verbose_level()),
            (&setting::TELEMETRY_OTLP, "--otlp", &self.environment.otlp),
            (&setting::THEME, "--theme", &self.environment.theme.first().cloned()),
        ];
        let serve = match &self.command {
            Some(CliCommand::Serve(serve)) => vec![
                (&setting::SERVER_LISTEN, "--listen", &serve.listen),
                (&setting::SERVER_NODE, "--node", &serve.node),
            ],
            _ => Vec::new(),
        };
        let flags = texts.into_iter().chain(serve).filter_map(|(setting, flag, value)| {
            value.clone().map(|value| FlagValue { setting, flag, value })
        });
        let approval = self.agent.approval.map(|approval| FlagValue {
            setting: &setting::APPROVAL,
            flag: "--approval",
            value: word(approval),
        });
        let sandbox = self.agent.sandbox.map(|mode| FlagValue {
            setting: &setting::SANDBOX_MODE,
            flag: "--sandbox",
            value: word(mode),
        });
        let disabled = [
            (&setting::SKILLS, "--no-skills", self.agent.no_skills),
            (&setting::TEMPLATES, "--no-templates", self.agent.no_templates),
            (&setting::CONTEXT_FILES, "--no-context-files", self.agent.no_context_files),
        ];
        let disabled = disabled.into_iter().filter(|(_, _, is_disabled)| *is_disabled);
        let disabled =
            disabled.map(|(setting, flag, _)| FlagValue { setting, flag, value: "off".to_owned() });
        flags.chain(approval).chain(sandbox).chain(disabled).collect()
    }
}

/// Returns the name of a value as typed.
fn word(choice: impl ValueEnum) -> String {
    choice.to_possible_value().expect("no variant is skipped").get_name().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn args_definition_is_valid() {
        CliArgs::command().debug_assert();
    }

    #[test]
    fn args_session_choices_exclude_each_other() {
        assert!(CliArgs::try_parse_from(["tiller", "-c", "--session", "x"]).is_err());
        assert!(CliArgs::try_parse_from(["tiller", "-c", "-r"]).is_err());
        assert!(CliArgs::try_parse_from(["tiller", "-c", "go on"]).is_ok());
    }

    #[test]
    fn args_resume_takes_an_optional_query() {
        let resume = |line: &[&str]| CliArgs::try_parse_from(line).unwrap().session.resume;
        assert_eq!(resume(&["tiller", "-r"]).as_deref(), Some(""));
        assert_eq!(resume(&["tiller", "-p", "-r", "parser", "go on"]).as_deref(), Some("parser"));
        assert_eq!(resume(&["tiller", "--resume=parser"]).as_deref(), Some("parser"));
        assert_eq!(resume(&["tiller", "parser"]), None);
    }

    #[test]
    fn args_logout_needs_a_provider() {
        let provider = |line: &[&str]| match CliArgs::try_parse_from(line).ok()?.command {
            Some(CliCommand::Logout { provider }) => Some(provider),
            _ => None,
        };
        assert_eq!(provider(&["tiller", "logout"]), None);
        assert_eq!(provider(&["tiller", "logout", "openai"]).as_deref(), Some("openai"));
    }

    #[test]
    fn args_race_needs_a_prompt_or_resume() {
        let race = |line: &[&str]| match CliArgs::try_parse_from(line).ok()?.command {
            Some(CliCommand::Race(race)) => Some((race.prompt, race.resume)),
            _ => None,
        };
        assert_eq!(race(&["tiller", "race", "Go."]), Some((Some("Go.".to_owned()), false)));
        assert_eq!(race(&["tiller", "-c", "race", "--resume", "--pick", "1"]), Some((None, true)));
        assert_eq!(race(&["tiller", "-r", "parser", "race", "--resume"]), Some((None, true)));
        assert_eq!(race(&["tiller", "race"]), None);
        assert_eq!(race(&["tiller", "race", "--resume", "Go."]), None);
        assert_eq!(race(&["tiller", "race", "--resume", "-n", "2"]), None);
    }

    #[test]
    fn args_command_follows_flags_but_not_message() {
        let message = |line: &[&str]| {
            let arguments = CliArgs::try_parse_from(line).unwrap();
            (arguments.command.is_some(), arguments.message)
        };
        assert_eq!(message(&["tiller", "--model", "opus", "settings"]), (true, Vec::new()));
        assert_eq!(message(&["tiller", "fix", "settings"]), (false, vec!["fix".into(), "settings".into()]));
        assert_eq!(message(&["tiller", "--", "settings"]), (false, vec!["settings".into()]));
    }

    #[test]
    fn args_verbose_sets_log_level_unless_given() {
        let level = |line: &[&str]| {
            let flags = CliArgs::try_parse_from(line).unwrap().settings();
            flags.into_iter().map(|flag| (flag.flag, flag.value)).collect::<Vec<_>>()
        };
        assert_eq!(level(&["tiller", "-v"]), [("--verbose", "debug".to_owned())]);
        assert_eq!(level(&["tiller", "-v", "--log-level", "info"]), [("--log-level", "info".to_owned())]);
    }

    #[test]
    fn args_numbers_may_be_negative() {
        let line = ["tiller", "--max-tokens", "-3", "--max-turns", "-1", "--temperature", "-0.5"];
        let flags = CliArgs::try_parse_from(line).unwrap().settings();
        let values: Vec<_> = flags.iter().map(|flag| flag.value.as_str()).collect();
        assert_eq!(values, ["-0.5", "-3", "-1"], "the settings' own errors name the valid values");
    }

    #[test]
    fn args_setting_flags_are_listed() {
        let line = ["tiller", "--max-turns", "3", "--approval", "read-only", "--no-skills"];
        let arguments = CliArgs::try_parse_from(line).unwrap();
        let flags: Vec<_> =
            arguments.settings().into_iter().map(|flag| (flag.setting.name, flag.value)).collect();
        let expected = [("max_turns", "3"), ("approval", "read-only"), ("skills", "off")];
        assert_eq!(flags, expected.map(|(name, value)| (name, value.to_owned())));
    }
}
