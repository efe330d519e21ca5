//! `tiller models`: the models known by name, from the catalog, `models.json`, servers' lists and this
//! machine.

pub(super) mod refresh;

use std::collections::BTreeSet;

use anyhow::anyhow;
use serde::Serialize;

use super::args::CliArgs;
use super::console::stderr_line;
use super::failure::{CliFailure, DONE};
use super::stdout::print_text;
use super::trust::{self, TrustPrompt};
use super::wiring::{self, ModelList};
use crate::config::{self, Config};
use crate::message::ThinkingLevel;
use crate::provider::catalog::{self, ModelFacts, Price};
use crate::provider::descriptor::{LOCAL_SERVERS, PROVIDERS, ProviderDescriptor};
use crate::provider::{ImageInput, ProviderRegistry};
use crate::unit::Tokens;

/// A model and the state of its provider.
struct ModelRow {
    facts: ModelFacts,
    has_key: bool,
    /// True if requests to it can be sent: there is a key, or its server needs none.
    is_usable: bool,
    /// The reason its provider can't be used.
    problem: Option<String>,
}

pub(super) fn run(arguments: &CliArgs, query: Option<&str>, json: bool) -> Result<u8, CliFailure> {
    let (config, _) = trust::config(arguments, TrustPrompt::Nobody)?;
    let ModelList { providers, configured } = wiring::named_models(arguments, &config)?;
    let notices = config.notices().chain(wiring::misconfigured_notices(&providers, &config));
    notices.for_each(|notice| stderr_line!("warning: {notice}"));
    let usable = providers.models().into_iter().map(|model| (*model.facts).clone()).chain(configured);
    let usable = usable.map(|facts| row(&config, arguments, facts, None));
    let unavailable = providers.unavailable_models().map(|facts| {
        let problem = problem(&providers, &config, &facts.provider);
        let problem = problem.unwrap_or_else(|| missing_key(&facts.provider));
        row(&config, arguments, facts.clone(), Some(problem))
    });
    let mut listed = BTreeSet::new();
    let mut rows: Vec<ModelRow> = usable.chain(unavailable).filter(|row| row.matches(query)).collect();
    rows.retain(|row| listed.insert(row.name()));
    if let (Some(query), []) = (query, &rows[..]) {
        let hint = match &*providers.nearest(query) {
            [] => "--model PROVIDER/ID also accepts unlisted ids".to_owned(),
            nearest => format!("did you mean {}?", nearest.join(" or ")),
        };
        return Err(CliFailure::run(anyhow!("no model matches `{query}`")).hint(hint));
    }
    if json {
        let rows: Vec<ModelJson<'_>> = rows.iter().map(ModelJson::from).collect();
        print_text(&(serde_json::to_string_pretty(&rows).map_err(CliFailure::run)? + "\n"))?;
    } else if query.is_some() {
        print_text(&table(&rows))?;
    } else {
        let usable: Vec<ModelRow> = rows.into_iter().filter(|row| row.is_usable).collect();
        print_text(&(table(&usable) + &unusable(&providers, &config)))?;
    }
    Ok(DONE)
}

/// Lists the providers that can't be used, each with the reason.
fn unusable(providers: &ProviderRegistry, config: &Config) -> String {
    let known = PROVIDERS.iter().chain(LOCAL_SERVERS).map(|descriptor| descriptor.name);
    let names: Vec<&str> = known.chain(config.own_providers()).collect();
    let reasons: Vec<(&str, String)> =
        names.into_iter().filter_map(|name| Some((name, problem(providers, config, name)?))).collect();
    if reasons.is_empty() {
        return String::new();
    }
    let width = reasons.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    let lines: Vec<String> =
        reasons.iter().map(|(name, reason)| format!("  {name:<width$}  {reason}\n")).collect();
    format!("\nNot currently usable (`tiller models QUERY` lists their models too):\n{}", lines.concat())
}

/// Returns the reason a provider can't be used; `None` for a usable one.
fn problem(providers: &ProviderRegistry, config: &Config, name: &str) -> Option<String> {
    if providers.names().any(|usable| usable == name) {
        return None;
    }
    let broken = providers.misconfigured().find(|(provider, _)| *provider == name);
    Some(match (broken, ProviderDescriptor::find(name)) {
        (Some((_, reason)), _) => reason.to_owned(),
        (None, Some(server)) if server.is_local() => {
            providers.refusal(name).map_or_else(|| not_running(config, server), str::to_owned)
        }
        (None, _) => missing_key(name),
    })
}

fn not_running(config: &Config, server: &ProviderDescriptor) -> String {
    let configured = config.access(server.name).and_then(|access| access.base_url);
    let url = configured.as_deref().unwrap_or(server.base_url);
    // A password in the URL isn't shown.
    let url = url.split_once('@').map_or(url, |(_, host)| host);
    format!("not running at {url} ({}), or it has no models that call tools", server.base_url_variable)
}

fn missing_key(provider: &str) -> String {
    format!("no key: set {}, or run `tiller login {provider}`", config::key_name(provider))
}

fn row(config: &Config, arguments: &CliArgs, facts: ModelFacts, problem: Option<String>) -> ModelRow {
    let has_flag = wiring::has_flag_key(arguments, config, &facts.provider);
    let has_key = has_flag || config.key_source(&facts.provider).is_some();
    ModelRow { has_key, is_usable: problem.is_none(), problem, facts }
}

impl ModelRow {
    fn name(&self) -> String {
        format!("{}/{}", self.facts.provider, self.facts.id)
    }

    fn matches(&self, query: Option<&str>) -> bool {
        query.is_none_or(|query| query.is_empty() || self.facts.is_named(query))
    }

    fn key(&self) -> &'static str {
        match (self.has_key, self.is_usable) {
            (true, _) => "yes",
            (false, true) => "not needed",
            (false, false) => "missing",
        }
    }

    fn cells(&self) -> [String; 6] {
        let facts = &self.facts;
        let price =
            facts.price.map_or("-".to_owned(), |price| format!("{} / {}", price.input.0, price.output.0));
        let thinks = match facts.thinking.min_level() {
            None => "no",
            Some(ThinkingLevel::Off) => "yes",
            Some(_) => "always",
        };
        let limits = [facts.window, facts.max_output].map(|tokens| tokens.to_string());
        let [window, output] = limits;
        [self.name(), window, output, thinks.to_owned(), price, self.key().to_owned()]
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ModelJson<'a> {
    provider: &'a str,
    id: &'a str,
    window: Tokens,
    max_output: Tokens,
    thinking: Vec<ThinkingLevel>,
    /// `None` if unknown.
    images: Option<bool>,
    pdf: bool,
    price: Option<Price>,
    /// Source and date of the facts; `None` for a model that isn't in the catalog.
    source: Option<&'static str>,
    has_key: bool,
    usable: bool,
    /// The reason it isn't usable.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<&'a str>,
}

impl<'a> From<&'a ModelRow> for ModelJson<'a> {
    fn from(row: &'a ModelRow) -> Self {
        let facts = &row.facts;
        Self {
            provider: &facts.provider,
            id: &facts.id,
            window: facts.window,
            max_output: facts.max_output,
            thinking: facts.levels().to_vec(),
            images: match facts.image_input {
                ImageInput::Supported => Some(true),
                ImageInput::Unsupported => Some(false),
                ImageInput::Unknown => None,
            },
            pdf: facts.takes_pdf,
            price: facts.price,
            source: catalog::facts(&facts.provider, &facts.id).and_then(|_| catalog::source(&facts.provider)),
            has_key: row.has_key,
            usable: row.is_usable,
            problem: row.problem.as_deref(),
        }
    }
}

const HEAD: [&str; 6] = ["MODEL", "WINDOW", "MAX OUTPUT", "THINKING", "$/M IN / OUT", "KEY"];

fn table(rows: &[ModelRow]) -> String {
    let cells = rows.iter().map(ModelRow::cells);
    let cells: Vec<[String; 6]> = std::iter::once(HEAD.map(str::to_owned)).chain(cells).collect();
    let width = |column: usize| cells.iter().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: [usize; 6] = std::array::from_fn(width);
    let line = |row: &[String; 6]| {
        let padded = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
    };
    cells.iter().map(line).collect()
}
