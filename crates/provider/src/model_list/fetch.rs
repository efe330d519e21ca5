//! Fetches a server's list of models.

use std::collections::HashSet;
use std::sync::Arc;

use super::{ListedModel, ModelPage, parse_page};
use crate::error::{ProviderFault, hints};
use crate::http::{Endpoint, EndpointClient, into_error};
use crate::wire_format::WireFormat;
use crate::{FailureKind, ProviderError};

/// Maximum number of pages: a faulty server may never end its list.
const MAX_PAGES: usize = 50;

/// Fetches the list of a server's models. A page that names itself as the next one is the last.
///
/// # Errors
/// If the server can't be reached, refuses the request, or returns anything other than a list of models.
pub async fn fetch(endpoint: &Endpoint, format: WireFormat) -> Result<Vec<ListedModel>, ProviderError> {
    let wire = Arc::new(EndpointClient::new(endpoint.clone())?);
    let first = match format {
        WireFormat::AnthropicMessages => "/v1/models?limit=1000",
        WireFormat::Gemini => "/models?pageSize=1000",
        WireFormat::OpenAiChat | WireFormat::OpenAiResponses => "/models",
    };
    let (mut models, mut seen, mut path) = (Vec::new(), HashSet::new(), first.to_owned());
    for _ in 0..MAX_PAGES {
        let body = wire.get(&path).await.map_err(|fault| into_error(endpoint, fault))?;
        let Some(ModelPage { models: found, next }) = parse_page(&body) else {
            let fault = ProviderFault::new(FailureKind::Fatal, "expected a list of models");
            return Err(into_error(
                endpoint,
                fault.with_hint(format!("check {}", hints::server_setting(&endpoint.name))),
            ));
        };
        models.extend(found.into_iter().filter(|model| seen.insert(model.id.clone())));
        match next.map(|next| next_path(first, &next)) {
            Some(next) if next != path => path = next,
            Some(_) | None => break,
        }
    }
    Ok(models)
}

/// Returns the path of the next page. If `next` is a URL, its query replaces that of the first page, else
/// `next` is added to it.
fn next_path(first: &str, next: &str) -> String {
    let (path, size) = first.split_once('?').unwrap_or((first, ""));
    match next.split_once('?') {
        Some((_, query)) => format!("{path}?{query}"),
        None if size.is_empty() => format!("{path}?{next}"),
        None => format!("{path}?{size}&{next}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn fetch_ends_at_a_page_that_names_itself() {
        let page = r#"{"data": [{"id": "m"}], "has_more": true, "last_id": "m"}"#;
        let reply = || tiller_test_support::mock_server::Reply::status(200, page);
        let server = tiller_test_support::mock_server::MockServer::start([reply(), reply(), reply()]);
        let endpoint = Endpoint::new("x", &server.url, "X_KEY");
        let models = fetch(&endpoint, WireFormat::AnthropicMessages).await.unwrap();
        assert_eq!((models.len(), server.requests().len()), (1, 2));
    }

    #[test]
    fn next_path_keeps_the_size_of_a_page() {
        assert_eq!(next_path("/v1/models?limit=1000", "after_id=x"), "/v1/models?limit=1000&after_id=x");
        assert_eq!(next_path("/models", "/api/v1/models?offset=500"), "/models?offset=500");
        assert_eq!(next_path("/models?pageSize=1000", "pageToken=t"), "/models?pageSize=1000&pageToken=t");
    }
}
