//! The table itself. Each row is a static [`Setting`] and a typed accessor of [`Settings`].

use super::choice::{
    ApprovalMode, ColorMode, CompactionStrategy, DeliveryMode, ImageMode, LogLevel, NotifyMode, ProgressMode,
    SandboxMode, SteeringPoint, Switch, SyncPolicy, ThinkingLevel,
};
use super::value::FromSetting;
use super::{Setting, SettingKind, SettingScope, Settings};

/// Declares the rows: `NAME, accessor: type = "dotted.name", kind, "default"`, then optional parts.
macro_rules! table {
    ($($(#[doc = $about:literal])+ $konst:ident, $accessor:ident: $type:ty = $name:literal, $kind:expr,
        $default:literal $(, aliases $aliases:expr)? $(, scope $scope:expr)?;)*) => {
        $($(#[doc = $about])+ pub static $konst: Setting = Setting {
            name: $name, kind: $kind, default: $default, aliases: table!(@ $($aliases)?),
            scope: table!(@scope $($scope)?), about: concat!($($about),+),
        };)*

        /// All settings, in display order.
        pub static TABLE: &[&Setting] = &[$(&$konst),*];

        impl Settings {
            $($(#[doc = $about])+
            #[must_use]
            pub fn $accessor(&self) -> $type {
                FromSetting::from_setting(self.value(&$konst).0).expect("the row's type has all its values")
            })*
        }

        #[cfg(test)]
        mod tests {
            use super::*;

            #[test]
            fn table_types_have_the_defaults() {
                let settings = Settings::default();
                $(let _ = settings.$accessor();)*
            }
        }
    };
    (@scope $scope:expr) => { $scope };
    (@scope) => { SettingScope::Project };
    (@ $aliases:expr) => { $aliases };
    (@) => { &[] };
}

table! {
    /// Provider to use if no model is given.
    PROVIDER, provider: Option<&str> = "provider", SettingKind::Text, "";
    /// Model to start with: `[provider/]id[:thinking]`.
    MODEL, model: Option<&str> = "model", SettingKind::Text, "";
    /// Context window, in tokens, of models that tiller's catalog doesn't know; unset: 128,000.
    WINDOW, window: Option<u64> = "window", SettingKind::Count { min: 1_024, max: 100_000_000 }, "";
    /// Models to cycle through: patterns in order, each optionally with `:thinking`; unset: all models.
    MODELS, models: Option<&[String]> = "models", SettingKind::List, "";
    /// Models to fall back to, in order, when retries are exhausted; in effect until the run ends.
    FALLBACK, fallback: Option<&[String]> = "fallback", SettingKind::List, "";
    /// Spending limit per session in US dollars; tiller prompts before exceeding it; unset: no limit.
    BUDGET_SESSION_USD, budget_session_usd: Option<f64> = "budget.session_usd", SettingKind::Number { min: 0.01, max: 1_000_000.0 }, "", scope SettingScope::User;
    /// Spending limit per day, for all sessions, in US dollars; tiller prompts before exceeding it; unset: no limit.
    BUDGET_DAY_USD, budget_day_usd: Option<f64> = "budget.day_usd", SettingKind::Number { min: 0.01, max: 1_000_000.0 }, "", scope SettingScope::User;
    /// Thinking level of the model.
    THINKING, thinking: ThinkingLevel = "thinking", ThinkingLevel::KIND, "off";
    /// Sampling temperature; unset: the provider's default.
    TEMPERATURE, temperature: Option<f64> = "temperature", SettingKind::Number { min: 0.0, max: 2.0 }, "";
    /// Maximum tokens per answer, including thinking, capped at the model's own limit; unset: that limit, at most
    /// 32,000.
    MAX_TOKENS, max_tokens: Option<u64> = "max_tokens", SettingKind::Count { min: 1, max: 1_000_000 }, "", aliases &["AGENT_MAX_TOKENS"];
    /// Approval mode: `ask` requires approval for commands that are neither read-only nor sandboxed, `auto` only
    /// for dangerous ones; `plan` denies changes; `read-only` also denies all commands.
    APPROVAL, approval_mode: ApprovalMode = "approval", ApprovalMode::KIND, "ask";
    /// Maximum number of model requests in a run; unset: no limit in the TUI, 100 elsewhere.
    MAX_TURNS, max_turns: Option<u64> = "max_turns", SettingKind::Count { min: 1, max: 1_000_000 }, "", aliases &["AGENT_MAX_ITERATIONS"];
    /// Tools to offer the model; unset or on: all, off: none.
    TOOLS, tools: Option<&[String]> = "tools", SettingKind::ListOrSwitch, "", aliases &["TOOLS_ENABLED"];
    /// Load project, user and built-in skills.
    SKILLS, skills: Switch = "skills", Switch::KIND, "on";
    /// Load project, user and built-in prompt templates.
    TEMPLATES, templates: Switch = "templates", Switch::KIND, "on";
    /// Let the model delegate tasks to project, user and built-in agents.
    AGENTS_ENABLED, agents_enabled: Switch = "agents.enabled", Switch::KIND, "on";
    /// Maximum number of agents that a session runs at once; doesn't limit races.
    AGENTS_PARALLEL, agents_parallel: usize = "agents.parallel", SettingKind::Count { min: 1, max: 100 }, "4";
    /// Maximum depth of nested delegation.
    AGENTS_MAX_DEPTH, agents_max_depth: usize = "agents.max_depth", SettingKind::Count { min: 1, max: 10 }, "3";
    /// Maximum number of requests by a session and all its agents.
    AGENTS_MAX_TURNS, agents_max_turns: Option<u64> = "agents.max_turns", SettingKind::Count { min: 1, max: 1_000_000 }, "", scope SettingScope::User;
    /// Maximum time in seconds that a session and its agents can spend working.
    AGENTS_MAX_TIME_S, agents_max_time_s: Option<u64> = "agents.max_time_s", SettingKind::Count { min: 1, max: 1_000_000 }, "", scope SettingScope::User;
    /// Maximum number of tokens used by a session and all its agents.
    AGENTS_MAX_TOKENS, agents_max_tokens: Option<u64> = "agents.max_tokens", SettingKind::Count { min: 1, max: 1_000_000_000_000 }, "", scope SettingScope::User;
    /// Maximum cost of a session and all its agents, in US dollars.
    AGENTS_MAX_COST_USD, agents_max_cost_usd: Option<f64> = "agents.max_cost_usd", SettingKind::Number { min: 0.01, max: 1_000_000.0 }, "", scope SettingScope::User;
    /// Read the user's and the project's AGENTS.md, CLAUDE.md and AGENT.md.
    CONTEXT_FILES, context_files: Switch = "context_files", Switch::KIND, "on";
    /// Use the mouse to scroll, fold and select in the TUI; off leaves the mouse to the terminal.
    MOUSE, mouse: Switch = "mouse", Switch::KIND, "on", scope SettingScope::User;
    /// Reload skills, templates, agents and context files when they change.
    WATCH, watch: Switch = "watch", Switch::KIND, "on";
    /// Delivery point of steering messages.
    STEERING_POINT, steering_point: SteeringPoint = "steering_point", SteeringPoint::KIND, "between-tools";
    /// Deliver waiting steering messages all together or one at a time.
    STEERING_MODE, steering_mode: DeliveryMode = "steering_mode", DeliveryMode::KIND, "all";
    /// Deliver waiting follow-up messages all together or one at a time.
    FOLLOW_UP_MODE, follow_up_mode: DeliveryMode = "follow_up_mode", DeliveryMode::KIND, "one-at-a-time";
    /// Run consecutive calls to read-only tools in parallel.
    PARALLEL_TOOLS, parallel_tools: Switch = "parallel_tools", Switch::KIND, "on";
    /// Retry requests that failed with a transient error.
    RETRY_ENABLED, retry_enabled: Switch = "retry.enabled", Switch::KIND, "on";
    /// Maximum number of retries.
    RETRY_MAX, retry_max: u32 = "retry.max", SettingKind::Count { min: 0, max: 100 }, "5";
    /// Delay before the first retry, in ms; doubles with each retry, plus jitter.
    RETRY_BASE_MS, retry_base_ms: u64 = "retry.base_ms", SettingKind::Count { min: 0, max: 3_600_000 }, "2000";
    /// Maximum delay between two retries, in ms, unless the provider requests a longer one.
    RETRY_CAP_MS, retry_cap_ms: u64 = "retry.cap_ms", SettingKind::Count { min: 0, max: 3_600_000 }, "60000";
    /// Timeout in seconds for the first byte of a response and between content chunks (pings don't count); unset: 300,
    /// or 900 for a server on this machine or the local network.
    REQUEST_FIRST_BYTE_S, request_first_byte_s: Option<u64> = "request.first_byte_s", SettingKind::Count { min: 1, max: 86_400 }, "";
    /// Seconds without any data (pings count as data) after which an answer is treated as interrupted.
    REQUEST_STALL_S, request_stall_s: u64 = "request.stall_s", SettingKind::Count { min: 1, max: 86_400 }, "120";
    /// Look for model servers on this machine: Ollama, LM Studio, llama.cpp, vLLM. Explicitly configured servers are
    /// always queried.
    LOCAL_SERVERS, local_servers: Switch = "local_servers", Switch::KIND, "on", scope SettingScope::User;
    /// PEM file of certificates to trust for provider connections, in addition to the system's.
    REQUEST_CA_FILE, request_ca_file: Option<&str> = "request.ca_file", SettingKind::Text, "", scope SettingScope::User;
    /// Default timeout for bash tool commands, in seconds; a call can request a longer one.
    BASH_TIMEOUT_S, bash_timeout_s: u64 = "bash.timeout_s", SettingKind::Count { min: 1, max: 86_400 }, "120";
    /// Longest timeout of a bash call, in seconds. It also limits bash.timeout_s, but not background jobs.
    BASH_MAX_TIMEOUT_S, bash_max_timeout_s: u64 = "bash.max_timeout_s", SettingKind::Count { min: 1, max: 86_400 }, "600";
    /// Shell for commands: an absolute path, or a name on PATH; unset: bash, else sh.
    BASH_SHELL, bash_shell: Option<&str> = "bash.shell", SettingKind::Text, "", scope SettingScope::User;
    /// Shell line that runs before every command, such as `source .venv/bin/activate`.
    BASH_PREFIX, bash_prefix: Option<&str> = "bash.prefix", SettingKind::Text, "", scope SettingScope::User;
    /// Pass the environment variables with providers' API keys to commands.
    BASH_INHERIT_KEYS, bash_inherit_keys: Switch = "bash.inherit_keys", Switch::KIND, "off", scope SettingScope::User;
    /// URL of the GitHub REST API for the `github` tools; unset: github.com. On GitHub Enterprise Server it ends in
    /// `/api/v3`.
    GITHUB_API_URL, github_api_url: Option<&str> = "github.api_url", SettingKind::Text, "", aliases &["GITHUB_API_URL"], scope SettingScope::User;
    /// Sandbox for the model's commands: `workspace` limits writes to the workspace, temporary directories and caches,
    /// `read-only` to temporary directories, `off` disables it; ignored on systems without a sandbox.
    SANDBOX_MODE, sandbox_mode: SandboxMode = "sandbox.mode", SandboxMode::KIND, "workspace", scope SettingScope::User;
    /// Let commands in the sandbox use TCP.
    SANDBOX_NETWORK, sandbox_network: Switch = "sandbox.network", Switch::KIND, "off", scope SettingScope::User;
    /// Extra directories and files that commands may write to in sandbox mode `workspace`: absolute paths or `~/…`.
    SANDBOX_WRITABLE, sandbox_writable: Option<&[String]> = "sandbox.writable", SettingKind::List, "", scope SettingScope::User;
    /// Maximum lines of a tool result.
    TOOL_OUTPUT_MAX_LINES, tool_output_max_lines: usize = "tool_output.max_lines", SettingKind::Count { min: 1, max: 1_000_000 }, "2000";
    /// Maximum characters of a tool result.
    TOOL_OUTPUT_MAX_CHARS, tool_output_max_chars: usize = "tool_output.max_chars", SettingKind::Count { min: 1, max: 10_000_000 }, "40000";
    /// Compact the conversation automatically before it exceeds the model's context window.
    COMPACTION_ENABLED, compaction_enabled: Switch = "compaction.enabled", Switch::KIND, "on", aliases &["COMPACT_ENABLED"];
    /// Handling of older messages: `summarize` replaces them with a summary, `truncate` drops all but the first, `off`
    /// keeps everything.
    COMPACTION_STRATEGY, compaction_strategy: CompactionStrategy = "compaction.strategy", CompactionStrategy::KIND, "summarize";
    /// Tokens of the context window to keep free; unset: 16,384, at most a quarter of the window.
    COMPACTION_RESERVE_TOKENS, compaction_reserve_tokens: Option<u64> = "compaction.reserve_tokens", SettingKind::Count { min: 1, max: 10_000_000 }, "";
    /// Tokens of recent messages that compaction keeps; unset: 20,000, at most a third of the window.
    COMPACTION_KEEP_TOKENS, compaction_keep_tokens: Option<u64> = "compaction.keep_tokens", SettingKind::Count { min: 1, max: 10_000_000 }, "";
    /// Fraction of the context window above which a conversation is compacted, such as 0.8; unset or 0: only
    /// compaction.reserve_tokens counts.
    COMPACTION_THRESHOLD, compaction_threshold: Option<f64> = "compaction.threshold", SettingKind::Number { min: 0.0, max: 1.0 }, "", aliases &["COMPACT_THRESHOLD"];
    /// Number of messages above which a conversation is compacted; unset: no limit.
    COMPACTION_MAX_MESSAGES, compaction_max_messages: Option<usize> = "compaction.max_messages", SettingKind::Count { min: 2, max: 1_000_000 }, "", aliases &["AGENT_MAX_MESSAGES", "COMPACT_THRESHOLD"];
    /// Number of recent messages that compaction keeps; unset: half of compaction.max_messages, or all of them with
    /// `truncate`.
    COMPACTION_KEEP_MESSAGES, compaction_keep_messages: Option<usize> = "compaction.keep_messages", SettingKind::Count { min: 1, max: 1_000_000 }, "", aliases &["COMPACT_KEEP_RECENT"];
    /// Sync policy of the session log: after every entry (`always`), before each request and at the end of a
    /// run (`turn`), or only on close (`never`).
    SYNC, sync_policy: SyncPolicy = "sync", SyncPolicy::KIND, "turn";
    /// Directory that holds all session logs directly, without a subdirectory for each working directory.
    SESSION_DIR, session_dir: Option<&str> = "session_dir", SettingKind::Text, "", scope SettingScope::User;
    /// Timeout of an extension's hook, in milliseconds; if a hook that guards calls times out, the call needs approval.
    EXTENSIONS_TIMEOUT_MS, extensions_timeout_ms: u64 = "extensions.timeout_ms", SettingKind::Count { min: 10, max: 600_000 }, "5000";
    /// Startup timeout for MCP servers, in seconds; the first request waits until all have started or failed.
    MCP_START_TIMEOUT_S, mcp_start_timeout_s: u64 = "mcp.start_timeout_s", SettingKind::Count { min: 1, max: 600 }, "30";
    /// Seconds without a response or progress after which an MCP tool call is canceled.
    MCP_TIMEOUT_S, mcp_timeout_s: u64 = "mcp.timeout_s", SettingKind::Count { min: 1, max: 86_400 }, "300";
    /// Fraction of the context window for MCP tool declarations; if they exceed it, the model gets a search tool
    /// instead; 1 turns this off.
    MCP_SEARCH_THRESHOLD, mcp_search_threshold: f64 = "mcp.search_threshold", SettingKind::Number { min: 0.0, max: 1.0 }, "0.1";
    /// Show images inline if the terminal supports it, or as a line of text.
    IMAGES, image_mode: ImageMode = "images", ImageMode::KIND, "auto";
    /// Theme: a name, the path of a theme file, or `auto` to follow the terminal background (`theme_dark` /
    /// `theme_light`).
    THEME, theme: &str = "theme", SettingKind::Text, "auto";
    /// Theme for dark terminal backgrounds.
    THEME_DARK, theme_dark: &str = "theme_dark", SettingKind::Text, "dark";
    /// Theme for light terminal backgrounds.
    THEME_LIGHT, theme_light: &str = "theme_light", SettingKind::Text, "light";
    /// Number of colors that the terminal supports; auto detects it from the environment.
    COLORS, color_mode: ColorMode = "colors", ColorMode::KIND, "auto";
    /// Show the session's name and state in the terminal title.
    TERMINAL_TITLE, terminal_title: Switch = "terminal.title", Switch::KIND, "on";
    /// Report progress to the terminal (OSC 9;4): if supported, always, or never.
    TERMINAL_PROGRESS, terminal_progress: ProgressMode = "terminal.progress", ProgressMode::KIND, "auto";
    /// Alert when a long run ends or a call needs approval while the terminal is unfocused: desktop notification, bell
    /// or off.
    NOTIFY, notify_mode: NotifyMode = "notify.mode", NotifyMode::KIND, "auto";
    /// Minimum run time, in seconds, for the end of a run to trigger an alert.
    NOTIFY_AFTER_S, notify_after_s: u64 = "notify.after_s", SettingKind::Count { min: 0, max: 86_400 }, "10";
    /// Address and port that `tiller serve` listens on.
    SERVER_LISTEN, server_listen: &str = "server.listen", SettingKind::Text, "127.0.0.1:4747", scope SettingScope::User;
    /// Name of the machine in the sessions of `tiller serve`; unset: its host name.
    SERVER_NODE, server_node: Option<&str> = "server.node", SettingKind::Text, "", scope SettingScope::User;
    /// URL of an OpenTelemetry collector that receives spans and metrics over OTLP/HTTP; unset: nothing is exported.
    TELEMETRY_OTLP, telemetry_otlp: Option<&str> = "telemetry.otlp", SettingKind::Text, "", scope SettingScope::User;
    /// Export the text of prompts, answers, arguments and results too.
    TELEMETRY_CONTENT, telemetry_content: Switch = "telemetry.content", Switch::KIND, "off", scope SettingScope::User;
    /// Level of messages in tiller's own log file.
    LOG_LEVEL, log_level: LogLevel = "log.level", LogLevel::KIND, "warn";
    /// Path of the log file, relative to the state directory; unset: `tiller.log`.
    LOG_FILE, log_file: Option<&str> = "log.file", SettingKind::Text, "", scope SettingScope::User;
}
