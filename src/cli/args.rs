//! What can be typed.

mod sessions;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

use crate::config::FlagValue;
use crate::setting;

pub(super) use sessions::{ExportFormat, ForeignProgram, SessionsCommand};

/// The agent session that never loses, never lags, and never has to be abandoned.
#[derive(Debug, Parser)]
#[command(name = "tiller", version, about, max_term_width = 100)]
pub(super) struct CliArgs {
    #[command(subcommand)]
    pub(super) command: Option<CliCommand>,
    /// What to say first; @FILE puts a file's text in
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
    pub(super) place: PlaceArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub(super) struct PrintArgs {
    /// No screen: run the prompt to its end, the answer on stdout (implied without a terminal)
    #[arg(short, long)]
    pub(super) print: bool,
    /// What is printed: the answer, every event as a JSON line, or a conversation in JSON lines on stdin and stdout (implies -p)
    #[arg(long, value_enum)]
    pub(super) mode: Option<PrintMode>,
    /// With --mode rpc: the client answers calls that ask
    #[arg(long, requires = "mode")]
    pub(super) approvals: bool,
    /// No screen, but a conversation: prompt lines in, text out, nothing redrawn
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
    /// Go on with the most recent session of this directory
    #[arg(short = 'c', long = "continue", group = "which")]
    pub(super) recent: bool,
    /// Pick a session, or go on with the one that QUERY means best: a part of its id, its name, or words said in it
    #[arg(short = 'r', long = "resume", value_name = "QUERY", num_args = 0..=1, default_missing_value = "", group = "which")]
    pub(super) resume: Option<String>,
    /// Open this session: a file, an id, or 4 characters or more of an id's beginning or end
    #[arg(long, value_name = "PATH|ID", group = "which")]
    pub(super) session: Option<String>,
    /// A new session from another one: its whole path, or up to ENTRY
    #[arg(long, value_name = "PATH|ID[@ENTRY]", group = "which")]
    pub(super) fork: Option<String>,
    /// A fresh session (the default)
    #[arg(long, group = "which")]
    pub(super) new: bool,
    /// Keep nothing on disk
    #[arg(long, group = "which")]
    pub(super) no_session: bool,
    /// Put and look for logs in this folder
    #[arg(long, value_name = "DIR", global = true)]
    pub(super) session_dir: Option<String>,
    /// Name the session
    #[arg(long)]
    pub(super) name: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Model")]
pub(super) struct ModelArgs {
    /// Model to ask: [PROVIDER/]ID[:THINKING], or a part of an id
    #[arg(long)]
    pub(super) model: Option<String>,
    /// Provider to ask: anthropic, openai, scripted, demo
    #[arg(long)]
    pub(super) provider: Option<String>,
    /// Key for that provider (the environment is the safer place)
    #[arg(long)]
    pub(super) api_key: Option<String>,
    /// How much to think: off, minimal, low, medium, high, xhigh
    #[arg(long, value_name = "LEVEL")]
    pub(super) thinking: Option<String>,
    /// Models to cycle through: patterns separated by commas, each with :THINKING if you like
    #[arg(long, value_name = "LIST")]
    pub(super) models: Option<String>,
    /// Sampling temperature
    #[arg(long, value_name = "T")]
    pub(super) temperature: Option<String>,
    /// Most tokens of one answer
    #[arg(long, value_name = "N")]
    pub(super) max_tokens: Option<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Agent")]
pub(super) struct AgentArgs {
    /// Tools to offer, separated by commas
    #[arg(long, value_name = "LIST", conflicts_with = "no_tools")]
    pub(super) tools: Option<String>,
    /// Offer no tools
    #[arg(long)]
    pub(super) no_tools: bool,
    /// Most model requests of one run
    #[arg(long, value_name = "N")]
    pub(super) max_turns: Option<String>,
    /// Which calls are asked about
    #[arg(long, value_enum, conflicts_with = "yes")]
    pub(super) approval: Option<Approval>,
    /// Allow every call that would be asked about
    #[arg(short, long)]
    pub(super) yes: bool,
    /// Replace the system prompt
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(super) system_prompt: Option<String>,
    /// Add to the system prompt
    #[arg(long, value_name = "TEXT|@FILE")]
    pub(super) append_system_prompt: Option<String>,
    /// Load this skill, or the skills of this folder (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(super) skill: Vec<PathBuf>,
    /// Load this prompt template, or the templates of this folder (repeatable)
    #[arg(long, value_name = "PATH")]
    pub(super) prompt_template: Vec<PathBuf>,
    /// Load no skills but those of --skill
    #[arg(long)]
    pub(super) no_skills: bool,
    /// Load no templates but those of --prompt-template
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
    ReadOnly,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Place")]
pub(super) struct PlaceArgs {
    /// Work in this directory
    #[arg(long, value_name = "DIR", global = true)]
    pub(super) cwd: Option<PathBuf>,
    /// Let tools reach this folder, too; with :ro behind it they may only read there (repeatable)
    #[arg(long, value_name = "DIR[:ro]")]
    pub(super) add_dir: Vec<String>,
    /// Let the project's own settings, extensions and .env take effect, now and until they change
    #[arg(long, global = true)]
    pub(super) trust_project: bool,
    /// Read keys from this file instead of the user's .env
    #[arg(long, value_name = "FILE", global = true)]
    pub(super) env_file: Option<PathBuf>,
    /// How the screen looks: a theme's name, or its file; more of them make more files known (repeatable)
    #[arg(long, value_name = "NAME|PATH")]
    pub(super) theme: Vec<String>,
    /// Level of tiller's own log file: off, error, warn, info, debug or trace
    #[arg(long, value_name = "LEVEL", global = true)]
    pub(super) log_level: Option<String>,
    /// Log at level debug (or --log-level), to stderr too; in the TUI, to the log file only
    #[arg(short, long, global = true)]
    pub(super) verbose: bool,
    /// Write every event of the agent to this file, as `--mode json` prints them; an existing file is overwritten
    #[arg(long, value_name = "FILE")]
    pub(super) trace: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(super) enum CliCommand {
    /// Look at sessions; check, name, label, hide, move, export, import and remove them
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Keep the key of a provider, typed or from stdin; without PROVIDER say which there are
    Login {
        /// Whose key: anthropic, openai
        provider: Option<String>,
    },
    /// Take the key of a provider away again
    Logout {
        /// Whose key: anthropic, openai
        provider: Option<String>,
    },
    /// Show every setting with its value and where that comes from
    Settings {
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// List the models with their limits and prices, and whether there is a key for them
    Models {
        /// Only models whose provider/id contains this
        query: Option<String>,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the completion script of a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page (roff): tiller man | man -l -
    Man,
}

impl PlaceArgs {
    /// The log level that --verbose stands for, unless --log-level names one.
    fn verbose_level(&self) -> Option<String> {
        (self.verbose && self.log_level.is_none()).then(|| "debug".to_owned())
    }
}

impl CliArgs {
    /// The flags that are settings.
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
            (&setting::LOG_LEVEL, "--log-level", &self.place.log_level),
            (&setting::LOG_LEVEL, "--verbose", &self.place.verbose_level()),
            (&setting::THEME, "--theme", &self.place.theme.first().cloned()),
        ];
        let given = texts.into_iter().filter_map(|(setting, flag, value)| {
            value.clone().map(|value| FlagValue { setting, flag, value })
        });
        let approval = self.agent.approval.map(|approval| {
            let value = approval.to_possible_value().expect("no variant is skipped").get_name().to_owned();
            FlagValue { setting: &setting::APPROVAL, flag: "--approval", value }
        });
        let refused = [
            (&setting::SKILLS, "--no-skills", self.agent.no_skills),
            (&setting::TEMPLATES, "--no-templates", self.agent.no_templates),
            (&setting::CONTEXT_FILES, "--no-context-files", self.agent.no_context_files),
        ];
        let refused = refused.into_iter().filter(|(_, _, is_given)| *is_given);
        let refused = refused.map(|(setting, flag, _)| FlagValue { setting, flag, value: "off".to_owned() });
        given.chain(approval).chain(refused).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        CliArgs::command().debug_assert();
    }

    #[test]
    fn two_ways_to_choose_a_session_exclude_each_other() {
        assert!(CliArgs::try_parse_from(["tiller", "-c", "--session", "x"]).is_err());
        assert!(CliArgs::try_parse_from(["tiller", "-c", "-r"]).is_err());
        assert!(CliArgs::try_parse_from(["tiller", "-c", "go on"]).is_ok());
    }

    #[test]
    fn a_query_may_follow_the_wish_to_resume() {
        let resume = |line: &[&str]| CliArgs::try_parse_from(line).unwrap().session.resume;
        assert_eq!(resume(&["tiller", "-r"]).as_deref(), Some(""));
        assert_eq!(resume(&["tiller", "-p", "-r", "parser", "go on"]).as_deref(), Some("parser"));
        assert_eq!(resume(&["tiller", "--resume=parser"]).as_deref(), Some("parser"));
        assert_eq!(resume(&["tiller", "parser"]), None);
    }

    #[test]
    fn a_command_may_follow_flags_but_not_the_words_of_a_message() {
        let message = |line: &[&str]| {
            let arguments = CliArgs::try_parse_from(line).unwrap();
            (arguments.command.is_some(), arguments.message)
        };
        assert_eq!(message(&["tiller", "--model", "opus", "settings"]), (true, Vec::new()));
        assert_eq!(message(&["tiller", "fix", "settings"]), (false, vec!["fix".into(), "settings".into()]));
        assert_eq!(message(&["tiller", "--", "settings"]), (false, vec!["settings".into()]));
    }

    #[test]
    fn verbose_raises_the_log_level_unless_it_is_named() {
        let level = |line: &[&str]| {
            let flags = CliArgs::try_parse_from(line).unwrap().settings();
            flags.into_iter().map(|flag| (flag.flag, flag.value)).collect::<Vec<_>>()
        };
        assert_eq!(level(&["tiller", "-v"]), [("--verbose", "debug".to_owned())]);
        assert_eq!(level(&["tiller", "-v", "--log-level", "info"]), [("--log-level", "info".to_owned())]);
    }

    #[test]
    fn flags_that_are_settings_reach_the_table() {
        let line = ["tiller", "--max-turns", "3", "--approval", "read-only", "--no-skills"];
        let arguments = CliArgs::try_parse_from(line).unwrap();
        let flags: Vec<_> =
            arguments.settings().into_iter().map(|flag| (flag.setting.name, flag.value)).collect();
        let expected = [("max_turns", "3"), ("approval", "read-only"), ("skills", "off")];
        assert_eq!(flags, expected.map(|(name, value)| (name, value.to_owned())));
    }
}
