//! Resources of a server: their list, and reading one.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ClientRequest, ReadResourceRequest, ReadResourceRequestParams, ServerResult};
use rmcp::service::{Peer, RoleClient};
use tiller_core::message::{UserBlock, joined_text};
use tiller_tools::tool::{ServedResource, ToolProgress};

use crate::link::LivePeer;
use crate::requests::{Answered, Exchange};
use crate::result;

/// Lists the resources and resource templates of a server.
///
/// # Errors
/// A sentence with the reason.
pub(crate) async fn list(peer: &Peer<RoleClient>, server: &str) -> Result<Vec<ServedResource>, String> {
    let has_resources = peer.peer_info().is_some_and(|info| info.capabilities.resources.is_some());
    if !has_resources {
        return Ok(Vec::new());
    }
    let listed = peer.list_all_resources().await;
    let listed = listed.map_err(|error| format!("its resources can't be listed: {error}"))?;
    // Many servers with resources don't know the request.
    let templates = peer.list_all_resource_templates().await.unwrap_or_default();
    let resource = |uri: String, name: String, description: Option<String>, is_template: bool| {
        let description = description.unwrap_or_default().lines().next().unwrap_or_default().to_owned();
        ServedResource { server: server.to_owned(), uri, name, description, is_template }
    };
    let resources = listed.into_iter().map(|listed| {
        resource(
            listed.uri.clone(),
            listed.title.clone().unwrap_or(listed.name.clone()),
            listed.description.clone(),
            false,
        )
    });
    let templates = templates.into_iter().map(|listed| {
        resource(
            listed.uri_template.clone(),
            listed.title.clone().unwrap_or(listed.name.clone()),
            listed.description.clone(),
            true,
        )
    });
    Ok(resources.chain(templates).collect())
}

/// Reads a resource as text; a line stands for other content.
///
/// # Errors
/// A sentence with the reason.
pub(crate) async fn read(live: &Arc<LivePeer>, uri: String, limit: Duration) -> Result<String, String> {
    let exchange = Exchange { live, limit, progress: ToolProgress::new(drop) };
    let answered = exchange.perform(|input, state| {
        let mut params = ReadResourceRequestParams::new(uri.clone());
        (params.input_responses, params.request_state) = (input, state);
        ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
    });
    let Answered { result: ServerResult::ReadResourceResult(read), .. } = answered.await? else {
        return Err("its answer is not a resource".to_owned());
    };
    let blocks: Vec<UserBlock> = read.contents.into_iter().map(result::resource).map(without_image).collect();
    Ok(joined_text(&blocks))
}

fn without_image(block: UserBlock) -> UserBlock {
    match block {
        UserBlock::Image { mime_type, .. } => UserBlock::Text { text: format!("[an image: {mime_type}]") },
        other => other,
    }
}
