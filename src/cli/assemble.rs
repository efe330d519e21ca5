//! Putting a session together: configuration, sessions, models, tools, agent.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow};
use secrecy::SecretString;
use tempfile::TempDir;

use super::added::{self, Added};
use super::args::Arguments;
use super::choose::{self, Found};
use super::front::Front;
use super::{Failure, USAGE, input, remote, sources};
use crate::agent::compaction::{Automatic, CompactionOptions, Strategy};
use crate::agent::extension::Extensions;
use crate::agent::queue::DeliveryMode;
use crate::agent::retry::{RetryMode, RetryOptions};
use crate::agent::{
    AgentOptions, Choice, Offer, Parts, ProviderChange, Resources, SyncPolicy, SystemPrompt, turn,
};
use crate::config::{self, Config, Environment, Given, Project};
use crate::id::SessionId;
use crate::message::ThinkingLevel;
use crate::policy::{Asking, Mode, Policy};
use crate::process::Runner;
use crate::provider::anthropic::{self, Anthropic};
use crate::provider::demo::{self, Demo};
use crate::provider::openai_chat::{self, OpenAiChat};
use crate::provider::scripted::{self, Scripted};
use crate::provider::{Endpoint, Known, Model, ModelError, Provider, Providers, Timeouts, catalog};
use crate::session::{Placement, Reader, SessionError, SessionManager, Writer};
use crate::setting::{self, Source};
use crate::tool::{BashTimes, OutputLimits, ToolEnvironment, Tools};
use crate::unit::{Tokens, UnixMs};
use crate::workspace::Workspace;

/// Most requests of a run that nobody watches, unless a setting says otherwise.
const UNWATCHED_TURNS: u64 = 100;

/// Reads the configuration that these arguments lead to, with the part of a project that is trusted.
pub(super) fn config(arguments: &Arguments, trusted: Option<&Project>) -> Result<Config, Failure> {
    let (flags, env_file) = (arguments.settings(), arguments.place.env_file.as_deref());
    Ok(Config::load(Environment::of_process(), Given { flags: &flags, env_file, trusted })?)
}

/// The real path of the directory to work in.
pub(super) fn cwd(arguments: &Arguments) -> Result<PathBuf, Failure> {
    let named = arguments.place.cwd.clone().unwrap_or_else(|| PathBuf::from("."));
    let real = named.canonicalize().with_context(|| format!("can't work in {}", named.display()));
    let real = real.map_err(Failure::usage)?;
    if real.is_dir() {
        Ok(real)
    } else {
        Err(Failure::usage(anyhow!("{} is not a directory", real.display())))
    }
}

/// The sessions of a directory.
pub(super) fn manager(arguments: &Arguments, config: &Config, cwd: PathBuf) -> SessionManager {
    let placement = if arguments.session.no_session {
        Placement::Memory
    } else if let Some(folder) = config.settings.text(&setting::SESSION_DIR) {
        Placement::Flat(cwd.join(folder))
    } else {
        Placement::ByDirectory(config.folders.sessions())
    };
    let is_kept = placement != Placement::Memory;
    let manager = SessionManager::new(placement, cwd);
    if is_kept { manager.with_catalog(config.folders.state.join("sessions.db")) } else { manager }
}

/// Everything a session is made of, and what the user should be told first.
pub(super) struct Assembled {
    pub(super) parts: Parts,
    pub(super) notices: Vec<String>,
    /// Whether the user picks a session first.
    pub(super) pick: bool,
    /// To be kept until the session is closed.
    pub(super) scratch: Scratch,
}

/// The folder for outputs that are over the limits.
pub(super) enum Scratch {
    Lasting(PathBuf),
    /// Nothing is to stay on disk: it goes when this is dropped.
    Passing(TempDir),
}

impl Scratch {
    fn choose(arguments: &Arguments, config: &Config) -> Result<Self, Failure> {
        if !arguments.session.no_session {
            return Ok(Self::Lasting(config.folders.state.join("outputs")));
        }
        let made = tempfile::Builder::new().prefix("tiller-").tempdir();
        made.map(Self::Passing).context("can't make a folder for long outputs").map_err(Failure::run)
    }

    pub(super) fn path(&self) -> PathBuf {
        match self {
            Self::Lasting(path) => path.clone(),
            Self::Passing(folder) => folder.path().to_owned(),
        }
    }
}

/// A session that is open for writing, the folder it belongs to, and how it was come by.
pub(super) struct Opened {
    manager: SessionManager,
    begun: Begun,
    /// The repository's origin.
    remote: Option<String>,
}

/// Which session is to be opened.
pub(super) enum Which {
    /// The one that the arguments name.
    Named,
    /// A fork of the one at this path, whatever they name.
    ForkOf(PathBuf),
    /// The one that was chosen.
    Chosen(Found),
}

/// Opens or makes a session.
pub(super) fn open(
    arguments: &Arguments,
    config: &Config,
    front: Front,
    which: Which,
) -> Result<Opened, Failure> {
    let manager = manager(arguments, config, cwd(arguments)?);
    let remote = remote::of(manager.cwd());
    let begun = match which {
        Which::Named => session(arguments, &manager, remote.as_deref(), front)?,
        Which::Chosen(found) => begin(&manager, found)?,
        Which::ForkOf(path) => {
            let reader = Reader::open(&path)?;
            let notice = Some(format!("this is a fork of {}", path.display()));
            Begun { notice, ..manager.fork(&reader, reader.leaf().as_ref(), now())?.into() }
        }
    };
    Ok(Opened { manager, begun, remote })
}

impl Opened {
    pub(super) fn session(&self) -> SessionId {
        self.begun.writer.reader().id().clone()
    }

    pub(super) fn cwd(&self) -> &Path {
        self.manager.cwd()
    }
}

/// What starts programs.
pub(super) fn runner() -> Result<Runner, Failure> {
    Runner::this_program().context("can't find tiller's own program").map_err(Failure::run)
}

/// Puts everything together around a session and the extensions that take part in it.
pub(super) fn assemble_around(
    Opened { manager, begun, remote }: Opened,
    arguments: &Arguments,
    config: &Config,
    front: Front,
    mut extensions: Extensions,
) -> Result<Assembled, Failure> {
    let cwd = manager.cwd().to_owned();
    let mut notices = config.warnings.clone();
    notices.extend(begun.notices(&cwd));
    let Begun { writer, pick, .. } = begun;
    let providers = scoped(providers(arguments, config)?, config, &mut notices);
    let added = added::folders(&arguments.place.add_dir, &cwd)?;
    let chosen = model(arguments, config, &providers, front)?;
    notices.extend(chosen.notice);
    let runner = command_runner(config)?;
    let limits = output_limits(config);
    let scratch = Scratch::choose(arguments, config)?;
    let environment = |workspace| ToolEnvironment {
        limits,
        bash: bash_times(config),
        ..ToolEnvironment::new(workspace, runner.clone(), scratch.path())
    };
    let mut sources = sources::of(arguments, config, (&cwd, front), &scratch);
    notices.extend(extensions.unreachable_commands(&sources.taken));
    extensions.contribute(&mut sources);
    let resources = Resources::load(sources);
    let tools = tools(&resources, (&cwd, &added), environment)?;
    let tools = extensions.equip(tools, &mut notices);
    let offer = offer(arguments, config, &tools)?;
    let folders = added.iter().map(added::told).collect();
    let system_prompt = SystemPrompt { folders, ..system_prompt(arguments, &cwd)? };
    let parts = Parts {
        manager,
        writer,
        providers,
        model: chosen.model,
        thinking: chosen.thinking,
        choice: chosen.choice,
        thinking_choice: chosen.thinking_choice,
        tools,
        extensions,
        runner,
        system_prompt,
        resources,
        options: AgentOptions {
            remote,
            offer,
            ..options(arguments, config, (front, cwd), (limits, scratch.path()))
        },
    };
    Ok(Assembled { parts, notices, pick, scratch })
}

/// The session to begin with.
struct Begun {
    writer: Writer,
    notice: Option<String>,
    pick: bool,
}

impl From<Writer> for Begun {
    fn from(writer: Writer) -> Self {
        Self { writer, notice: None, pick: false }
    }
}

impl Begun {
    /// What there is to be said of it: how it was come by, of where it is, what is wrong with its log.
    fn notices(&self, cwd: &Path) -> Vec<String> {
        let reader = self.writer.reader();
        let home = Path::new(&reader.header().cwd);
        let elsewhere = (home != cwd && home.exists()).then(|| {
            let (home, cwd) = (home.display(), cwd.display());
            format!("this session is of {home} and stays in its list; commands run in {cwd}")
        });
        let findings = reader.findings();
        let findings = findings.iter().map(|finding| {
            format!("session log, line {} (byte {}): {}", finding.line, finding.byte, finding.what)
        });
        self.notice.clone().into_iter().chain(elsewhere).chain(findings).collect()
    }
}

/// The same providers with what is cycled through; patterns that mean nothing are told of.
fn scoped(mut providers: Providers, config: &Config, notices: &mut Vec<String>) -> Providers {
    let unmatched = providers.limit_scope(config.settings.list(&setting::MODELS).unwrap_or_default());
    notices.extend(unmatched.iter().map(|pattern| format!("models: no usable model matches `{pattern}`")));
    providers
}

fn session(
    arguments: &Arguments,
    manager: &SessionManager,
    remote: Option<&str>,
    front: Front,
) -> Result<Begun, Failure> {
    let asked = &arguments.session;
    if let Some(words) = &asked.session {
        return Ok(manager.open(&manager.find(words)?)?.into());
    }
    if let Some(words) = &asked.fork {
        let (path, entry) = forked(manager, words)?;
        let reader = Reader::open(&path)?;
        let entry = entry.map(|entry| reader.find(entry)).transpose()?.or_else(|| reader.leaf());
        return Ok(manager.fork(&reader, entry.as_ref(), now())?.into());
    }
    let chosen = match &asked.resume {
        Some(words) => choose::by_words(manager, words, remote, front)?,
        None if asked.recent => choose::most_recent(manager, remote, front)?,
        None => Found::Fresh,
    };
    begin(manager, chosen)
}

fn begin(manager: &SessionManager, found: Found) -> Result<Begun, Failure> {
    Ok(match found {
        Found::Log(path) => manager.open(&path)?.into(),
        Found::Moved(path, notice) => Begun { notice: Some(notice), ..manager.open(&path)?.into() },
        Found::Fresh => manager.create(now()).into(),
        Found::Pick => Begun { pick: true, ..manager.create(now()).into() },
    })
}

/// The log to fork and the entry that was named. A path may hold an `@` of its own, so all of the words come first.
fn forked<'a>(manager: &SessionManager, words: &'a str) -> Result<(PathBuf, Option<&'a str>), SessionError> {
    match (manager.find(words), words.rsplit_once('@')) {
        (Err(SessionError::NotFound(_)), Some((session, entry))) if !entry.contains('/') => {
            Ok((manager.find(session)?, Some(entry)))
        }
        (found, _) => Ok((found?, None)),
    }
}

pub(super) fn now() -> UnixMs {
    std::time::SystemTime::now().into()
}

/// Who can be asked: providers with a key, the script that was named, and the demo when it was named or nobody else is
/// there.
fn providers(arguments: &Arguments, config: &Config) -> Result<Providers, Failure> {
    let mut providers = Providers::default();
    if let Some(window) = config.settings.count(&setting::WINDOW) {
        providers.assume_window(Tokens(window));
    }
    let named = config.settings.text(&setting::PROVIDER);
    if arguments.model.api_key.is_some() && named.is_none() {
        return Err(
            Failure::usage(anyhow!("whose key is --api-key?")).hint("name the provider with --provider")
        );
    }
    for name in PUBLIC {
        match public(arguments, config, name)? {
            ProviderChange::Open(provider, models) => providers.add(provider, models),
            ProviderChange::Shut { provider, key_name } => {
                providers.lock(&provider, key_name, catalog::known(&provider));
            }
        }
    }
    if named == Some(scripted::NAME) {
        let path = config.settings.text(&setting::MODEL).ok_or_else(|| {
            Failure::usage(anyhow!("--provider scripted needs --model with the path of a script"))
        })?;
        let script = Scripted::load(path.as_ref()).map_err(Failure::usage)?;
        let facts = vec![script.facts()];
        providers.add(Arc::new(script), facts);
    }
    if providers.is_empty() || named == Some(demo::NAME) {
        providers.add(Arc::new(Demo), vec![Demo::facts()]);
    }
    Ok(providers)
}

/// The providers that everybody can have a key of.
pub(super) const PUBLIC: [&str; 2] = ["anthropic", "openai"];

/// One of these as it can be asked now, or that it can't.
pub(super) fn public(
    arguments: &Arguments,
    config: &Config,
    name: &'static str,
) -> Result<ProviderChange, Failure> {
    let models = catalog::known(name);
    let base_url = if name == "anthropic" { anthropic::BASE_URL } else { openai_chat::BASE_URL };
    let Some(endpoint) = endpoint(arguments, config, name, base_url) else {
        return Ok(ProviderChange::Shut { provider: name.to_owned(), key_name: config::key_name(name) });
    };
    let provider: Arc<dyn Provider> = if name == "anthropic" {
        Arc::new(Anthropic::new(endpoint).map_err(Failure::usage)?)
    } else {
        Arc::new(OpenAiChat::new(endpoint).map_err(Failure::usage)?)
    };
    Ok(ProviderChange::Open(provider, models))
}

/// Where a provider is, if there is a key for it or a server of the user's own.
fn endpoint(arguments: &Arguments, config: &Config, provider: &str, base_url: &str) -> Option<Endpoint> {
    let named = config.settings.text(&setting::PROVIDER) == Some(provider);
    let typed = arguments.model.api_key.as_ref().filter(|_| named);
    let access = config.access(provider);
    let server = access.as_ref().and_then(|access| access.base_url.as_deref());
    let mut endpoint = Endpoint::new(provider, server.unwrap_or(base_url), config::key_name(provider));
    let seconds = |setting| config.settings.count(setting).map(Duration::from_secs);
    let Timeouts { first_byte, stall, .. } = endpoint.timeouts;
    endpoint.timeouts.first_byte = seconds(&setting::REQUEST_FIRST_BYTE_S).unwrap_or(first_byte);
    endpoint.timeouts.stall = seconds(&setting::REQUEST_STALL_S).unwrap_or(stall);
    let key = typed.map(|key| SecretString::from(key.clone()));
    match key.or_else(|| access.as_ref().and_then(|access| access.key.clone())) {
        Some(key) => Some(endpoint.with_key(key)),
        None => access.map(|_| endpoint),
    }
}

struct Chosen {
    model: Model,
    thinking: ThinkingLevel,
    choice: Choice,
    thinking_choice: Choice,
    notice: Option<String>,
}

fn model(
    arguments: &Arguments,
    config: &Config,
    providers: &Providers,
    front: Front,
) -> Result<Chosen, Failure> {
    let provider = config.settings.text(&setting::PROVIDER);
    let words = config.settings.text(&setting::MODEL);
    let on_flags = arguments.model.model.is_some() || arguments.model.provider.is_some();
    let choice = if on_flags { Choice::Caller } else { Choice::Log };
    let level_on_flags = arguments.model.thinking.is_some();
    if let Some(provider) = provider.filter(|provider| providers.names().all(|name| name != *provider)) {
        return Err(no_provider(provider));
    }
    let (model, level, known) = match (provider, words) {
        (Some(provider), Some(words)) => in_provider(providers, provider, words)?,
        (None, Some(words)) => {
            let found = providers.find(words).map_err(not_found)?;
            (found.model, found.thinking, found.known)
        }
        (None, None) if providers.is_scoped() => first_listed(providers, front)?,
        (provider, None) => (first(providers, provider, front)?, None, Known::Yes),
    };
    let thinking = level.or_else(|| config.settings.text(&setting::THINKING).and_then(ThinkingLevel::parse));
    let thinking = model.facts.clamp(thinking.unwrap_or_default());
    let notice = (known == Known::Assumed).then(|| {
        format!(
            "{} is not in the catalogue: assuming a window of {} (setting window) and answers of {} tokens, and no prices",
            model.reference(),
            model.facts.window,
            model.facts.max_output
        )
    });
    let thinking_choice = if level_on_flags { Choice::Caller } else { choice };
    Ok(Chosen { model, thinking, choice, thinking_choice, notice })
}

/// A model of one provider: a part of a listed id, or any id at all.
fn in_provider(
    providers: &Providers,
    provider: &str,
    words: &str,
) -> Result<(Model, Option<ThinkingLevel>, Known), Failure> {
    if provider == scripted::NAME {
        let (model, known) = providers.find_in(provider, words).map_err(Failure::usage)?;
        return Ok((model, None, known));
    }
    let prefix = format!("{provider}/");
    let full = if words.starts_with(&prefix) { words.to_owned() } else { format!("{prefix}{words}") };
    let found = providers.find(&full).map_err(Failure::usage)?;
    Ok((found.model, found.thinking, found.known))
}

/// Where nothing else is said, the first of the models that are cycled through.
fn first_listed(
    providers: &Providers,
    front: Front,
) -> Result<(Model, Option<ThinkingLevel>, Known), Failure> {
    match providers.scoped().into_iter().next() {
        Some(scoped) => Ok((scoped.model, scoped.thinking, Known::Yes)),
        None => Ok((first(providers, None, front)?, None, Known::Yes)),
    }
}

fn first(providers: &Providers, provider: Option<&str>, front: Front) -> Result<Model, Failure> {
    let models = providers.models();
    let fits = |model: &&Model| provider.is_none_or(|provider| model.facts.provider == provider);
    let model = models.iter().find(fits).cloned();
    match model {
        Some(model) if !front.has_person() && provider.is_none() && model.facts.provider == demo::NAME => {
            Err(connect(Failure::usage(anyhow!("there is no model to ask"))))
        }
        Some(model) => Ok(model),
        None => Err(Failure::usage(anyhow!("which model? --model names one"))),
    }
}

fn no_provider(provider: &str) -> Failure {
    let name = provider.to_uppercase();
    match provider {
        "anthropic" | "openai" => Failure::usage(anyhow!("there is no key for {provider}"))
            .hint(format!("`tiller login {provider}` keeps one; {name}_API_KEY or --api-key gives one")),
        other => Failure::usage(anyhow!("there is no provider `{other}`"))
            .hint("providers are anthropic, openai, scripted and demo"),
    }
}

/// An error that names the missing key needs no hint.
fn not_found(error: ModelError) -> Failure {
    match error {
        ModelError::NoKey { .. } => Failure::usage(error),
        ModelError::Unknown { .. } | ModelError::NoProvider { .. } => connect(Failure::usage(error)),
    }
}

/// How to come by a model.
const CONNECT: &str = "`tiller login`, or set ANTHROPIC_API_KEY or OPENAI_API_KEY, or try --provider demo";

fn connect(failure: Failure) -> Failure {
    Failure { code: USAGE, ..failure.hint(CONNECT) }
}

pub(super) fn output_limits(config: &Config) -> OutputLimits {
    let count =
        |setting| usize::try_from(config.settings.count(setting).unwrap_or(u64::MAX)).unwrap_or(usize::MAX);
    OutputLimits {
        max_lines: count(&setting::TOOL_OUTPUT_MAX_LINES),
        max_chars: count(&setting::TOOL_OUTPUT_MAX_CHARS),
    }
}

fn tools(
    resources: &Resources,
    (cwd, added): (&Path, &[Added]),
    environment: impl FnOnce(Workspace) -> ToolEnvironment,
) -> Result<Tools, Failure> {
    let readable = resources.readable(cwd).into_iter();
    let workspace = Workspace::new(cwd).map_err(Failure::usage)?;
    let workspace =
        added.iter().fold(workspace, |workspace, (path, purpose)| workspace.with_folder(path, *purpose));
    let workspace = readable.fold(workspace, Workspace::with_readable);
    Ok(Tools::built_in(environment(workspace)))
}

/// Which of all tools, those of extensions among them, the model is told of.
fn offer(arguments: &Arguments, config: &Config, tools: &Tools) -> Result<Offer, Failure> {
    if arguments.agent.no_tools {
        return Ok(Offer::Only { names: Vec::new(), says: "--no-tools".to_owned() });
    }
    let Some(names) = config.settings.list(&setting::TOOLS) else { return Ok(Offer::All) };
    tools.restrict(names).map_err(Failure::usage)?;
    let says = match config.settings.value(&setting::TOOLS).1 {
        source @ (Source::File(_) | Source::Project(_)) => format!("the setting tools in {source}"),
        source => source.to_string(),
    };
    Ok(Offer::Only { names: names.to_vec(), says })
}

fn compaction(config: &Config) -> CompactionOptions {
    let settings = &config.settings;
    let tokens = |setting| settings.count(setting).map(Tokens);
    let messages =
        |setting| settings.count(setting).map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    CompactionOptions {
        strategy: match settings.text(&setting::COMPACTION_STRATEGY) {
            Some("truncate") => Strategy::Truncate,
            Some("off") => Strategy::Off,
            Some(_) | None => Strategy::Summarize,
        },
        automatic: if settings.is(&setting::COMPACTION_ENABLED, "off") {
            Automatic::Off
        } else {
            Automatic::On
        },
        reserve: tokens(&setting::COMPACTION_RESERVE_TOKENS),
        keep: tokens(&setting::COMPACTION_KEEP_TOKENS),
        max_messages: messages(&setting::COMPACTION_MAX_MESSAGES),
        keep_messages: messages(&setting::COMPACTION_KEEP_MESSAGES),
    }
}

fn retry(config: &Config) -> RetryOptions {
    let count = |setting| config.settings.count(setting).unwrap_or_default();
    RetryOptions {
        mode: if config.settings.is(&setting::RETRY_ENABLED, "off") { RetryMode::Off } else { RetryMode::On },
        max: u32::try_from(count(&setting::RETRY_MAX)).unwrap_or(u32::MAX),
        base: Duration::from_millis(count(&setting::RETRY_BASE_MS)),
        cap: Duration::from_millis(count(&setting::RETRY_CAP_MS)),
    }
}

/// How commands are run, whoever wants them.
fn command_runner(config: &Config) -> Result<Runner, Failure> {
    let settings = &config.settings;
    let mut runner = runner()?;
    if let Some(shell) = settings.text(&setting::BASH_SHELL) {
        runner = runner.in_shell(shell).map_err(Failure::usage)?;
    }
    if let Some(prefix) = settings.text(&setting::BASH_PREFIX) {
        runner = runner.with_prefix(prefix);
    }
    if settings.is(&setting::BASH_INHERIT_KEYS, "off") {
        runner = runner.withholding(config::key_names());
    }
    Ok(runner)
}

fn bash_times(config: &Config) -> BashTimes {
    let seconds = |setting| config.settings.count(setting).unwrap_or_default();
    BashTimes {
        timeout_s: seconds(&setting::BASH_TIMEOUT_S),
        max_timeout_s: seconds(&setting::BASH_MAX_TIMEOUT_S),
    }
}

fn system_prompt(arguments: &Arguments, cwd: &Path) -> Result<SystemPrompt, Failure> {
    let text =
        |given: &Option<String>| given.as_deref().map(|text| input::text_or_file(text, cwd)).transpose();
    Ok(SystemPrompt {
        replaced_by: text(&arguments.agent.system_prompt)?,
        appended: text(&arguments.agent.append_system_prompt)?,
        date: now().to_iso()[..10].to_owned(),
        folders: Vec::new(),
    })
}

fn options(
    arguments: &Arguments,
    config: &Config,
    (front, cwd): (Front, PathBuf),
    (output, scratch): (OutputLimits, PathBuf),
) -> AgentOptions {
    let settings = &config.settings;
    let delivery = |setting| {
        if settings.is(setting, "all") { DeliveryMode::All } else { DeliveryMode::OneAtATime }
    };
    let turn = turn::TurnOptions {
        steering_point: match settings.is(&setting::STEERING_POINT, "after-answer") {
            true => turn::SteeringPoint::AfterAnswer,
            false => turn::SteeringPoint::BetweenTools,
        },
        steering_mode: delivery(&setting::STEERING_MODE),
        follow_up_mode: delivery(&setting::FOLLOW_UP_MODE),
        groups: if settings.is(&setting::PARALLEL_TOOLS, "off") {
            turn::Groups::Off
        } else {
            turn::Groups::On
        },
        max_turns: settings.count(&setting::MAX_TURNS).or((!front.has_person()).then_some(UNWATCHED_TURNS)),
    };
    AgentOptions {
        turn,
        retry: retry(config),
        compaction: compaction(config),
        sync: match settings.text(&setting::SYNC) {
            Some("always") => SyncPolicy::Always,
            Some("never") => SyncPolicy::Never,
            Some(_) | None => SyncPolicy::Turn,
        },
        max_tokens: Tokens(settings.count(&setting::MAX_TOKENS).unwrap_or_default()),
        temperature: settings.number(&setting::TEMPERATURE),
        policy: Policy {
            mode: settings.text(&setting::APPROVAL).and_then(Mode::parse).unwrap_or_default(),
            asking: if arguments.agent.yes { Asking::Yes } else { Asking::User },
            root: cwd,
        },
        audience: front.audience(),
        output,
        scratch,
        mode: front.name(),
        offer: Offer::All,
        remote: None,
    }
}
