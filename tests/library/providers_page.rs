//! The tables of docs/providers.md, which follow from the descriptors.

use std::fmt::Write as _;

use tiller::provider::catalog;
use tiller::provider::descriptor::{LOCAL_SERVERS, PROVIDERS};
use tiller::provider::wire_format::WireFormat;

fn wire_format(format: WireFormat) -> &'static str {
    match format {
        WireFormat::AnthropicMessages => "Messages",
        WireFormat::OpenAiChat => "Chat Completions",
        WireFormat::OpenAiResponses => "Responses",
        WireFormat::Gemini => "Gemini",
    }
}

/// The text between the comments `begin: NAME` and `end: NAME`.
fn section(page: &str, name: &str) -> String {
    let (_, rest) = page.split_once(&format!("<!-- begin: {name} -->\n")).unwrap();
    rest.split_once(&format!("<!-- end: {name} -->")).unwrap().0.to_owned()
}

#[test]
fn providers_page_has_the_tables_of_the_descriptors() {
    let page = std::fs::read_to_string(crate::source_code::root().join("docs/providers.md")).unwrap();
    let mut providers =
        "| provider | name | key | address | wire format | try it |\n|---|---|---|---|---|---|\n".to_owned();
    for provider in PROVIDERS {
        let model = &catalog::list_models(provider.name)[0].id;
        writeln!(
            providers,
            "| [{}](https://{}) | `{}` | `{}` | `{}` | {} | `tiller -p --model {}/{model} hi` |",
            provider.display_name,
            provider.page,
            provider.name,
            provider.key_variable,
            provider.base_url_variable,
            wire_format(provider.wire_format),
            provider.name,
        )
        .unwrap();
    }
    let mut servers = "| server | name | address | variable |\n|---|---|---|---|\n".to_owned();
    for server in LOCAL_SERVERS {
        writeln!(
            servers,
            "| [{}](https://{}) | `{}` | `{}` | `{}` |",
            server.display_name, server.page, server.name, server.base_url, server.base_url_variable
        )
        .unwrap();
    }
    assert_eq!(section(&page, "providers"), providers);
    assert_eq!(section(&page, "local servers"), servers);
}
