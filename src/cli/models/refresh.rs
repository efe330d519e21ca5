//! `tiller models refresh`: fetches and caches the model lists of usable providers.

use std::collections::BTreeMap;

use anyhow::{Context, anyhow};
use tiller_core::counted::counted;

use crate::cli::args::CliArgs;
use crate::cli::console::stderr_line;
use crate::cli::failure::{CliFailure, DONE, FAILED};
use crate::cli::stdout::print_text;
use crate::cli::trust::{self, TrustPrompt};
use crate::cli::wiring;
use crate::config::{Config, store_listed_models};
use crate::provider::catalog;
use crate::provider::descriptor::ProviderDescriptor;
use crate::provider::model_list::{self, ListedModel};

/// Maximum number of new models to name.
const MAX_NAMED: usize = 8;

pub(in crate::cli) fn run(arguments: &CliArgs, provider: Option<&str>) -> Result<u8, CliFailure> {
    let (config, _) = trust::config(arguments, TrustPrompt::Nobody)?;
    let mut servers = wiring::list_servers(arguments, &config);
    servers.retain(|(endpoint, _)| provider.is_none_or(|provider| endpoint.name == provider));
    if servers.is_empty() {
        return Err(no_provider_to_query(arguments, &config, provider));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.context("can't start the async runtime").map_err(CliFailure::run)?;
    let (mut lists, mut code) = (BTreeMap::new(), DONE);
    for (endpoint, format) in servers {
        match runtime.block_on(model_list::fetch(&endpoint, format)) {
            Ok(models) => {
                print_text(&summary(&endpoint.name, &models, config.listed_models(&endpoint.name)))?;
                lists.insert(endpoint.name, models);
            }
            Err(error) => {
                stderr_line!("error: {}", error.message_with_hint());
                code = FAILED;
            }
        }
    }
    store_listed_models(&config.dirs.listed_models(), lists).map_err(CliFailure::run)?;
    Ok(code)
}

/// Returns the reason no provider, or not the given one, can be queried.
fn no_provider_to_query(arguments: &CliArgs, config: &Config, provider: Option<&str>) -> CliFailure {
    let Some(name) = provider else {
        return CliFailure::usage(anyhow!("no provider has a key"))
            .hint("`tiller login PROVIDER` stores one");
    };
    match (ProviderDescriptor::find(name), wiring::connect_provider(arguments, config, name)) {
        (Some(server), _) if server.is_local() => {
            CliFailure::usage(anyhow!("the models of {} can't be cached", server.display_name))
                .hint("tiller queries the provider at every start; `tiller models` lists them")
        }
        (_, Err(error)) => CliFailure::usage(error),
        (_, Ok(_)) => wiring::no_provider(name),
    }
}

/// Summarizes a list: `anthropic: 12 models, 2 of them new: anthropic/a, anthropic/b`.
fn summary(provider: &str, models: &[ListedModel], before: &[ListedModel]) -> String {
    let is_new = |model: &&ListedModel| {
        catalog::facts(provider, &model.id).is_none() && before.iter().all(|other| other.id != model.id)
    };
    let new: Vec<&ListedModel> = models.iter().filter(is_new).collect();
    let count = counted(models.len(), "model", "models");
    if new.is_empty() {
        return format!("{provider}: {count}, none of them new\n");
    }
    let mut names: Vec<String> =
        new.iter().take(MAX_NAMED).map(|model| format!("{provider}/{}", model.id)).collect();
    if new.len() > MAX_NAMED {
        names.push(format!("and {} more", new.len() - MAX_NAMED));
    }
    format!("{provider}: {count}, {} of them new: {}\n", new.len(), names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn models(ids: &[&str]) -> Vec<ListedModel> {
        ids.iter().map(|id| ListedModel { id: (*id).to_owned(), ..ListedModel::default() }).collect()
    }

    #[test]
    fn summary_names_what_neither_catalog_nor_last_list_has() {
        let seen = models(&["seen"]);
        let all = models(&["claude-opus-5-5", "seen", "b"]);
        assert_eq!(summary("anthropic", &all, &seen), "anthropic: 3 models, 1 of them new: anthropic/b\n");
        assert_eq!(summary("anthropic", &seen, &seen), "anthropic: 1 model, none of them new\n");
        let many: Vec<String> = (0..10).map(|number| number.to_string()).collect();
        let many = models(&many.iter().map(String::as_str).collect::<Vec<_>>());
        assert!(summary("x", &many, &[]).ends_with("x/7, and 2 more\n"));
    }
}
