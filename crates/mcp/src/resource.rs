//! A server's resources: their list, and reading one.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ClientRequest, ReadResourceRequest, ReadResourceRequestParams, ServerResult};
use rmcp::service::{Peer, RoleClient, ServiceError};
use tiller_core::message::{UserBlock, joined_text};
use tiller_tools::tool::{ServedResource, ToolProgress};

use crate::link::LivePeer;
use crate::requests::{RequestAnswer, RequestExchange};
use crate::result;

/// Lists the resources of a server.
///
/// # Errors
/// If the server doesn't return a list.
pub(crate) async fn list(peer: &Peer<RoleClient>, server: &str) -> Result<Vec<ServedResource>, ServiceError> {
    let listed = peer.list_all_resources().await?;
    let resource = |listed: rmcp::model::Resource| ServedResource {
        server: server.to_owned(),
        uri: listed.uri.clone(),
        name: listed.title.clone().unwrap_or(listed.name.clone()),
        description: first_line(listed.description.as_deref()),
        is_template: false,
    };
    Ok(listed.into_iter().map(resource).collect())
}

/// Lists the resource templates of a server.
///
/// # Errors
/// If the server doesn't return a list.
pub(crate) async fn list_templates(
    peer: &Peer<RoleClient>,
    server: &str,
) -> Result<Vec<ServedResource>, ServiceError> {
    let listed = peer.list_all_resource_templates().await?;
    let template = |listed: rmcp::model::ResourceTemplate| ServedResource {
        server: server.to_owned(),
        uri: listed.uri_template.clone(),
        name: listed.title.clone().unwrap_or(listed.name.clone()),
        description: first_line(listed.description.as_deref()),
        is_template: true,
    };
    Ok(listed.into_iter().map(template).collect())
}

fn first_line(description: Option<&str>) -> String {
    description.and_then(|text| text.lines().next()).unwrap_or_default().to_owned()
}

/// Reads a resource as text; other content is replaced by a line of text.
///
/// # Errors
/// A sentence with the reason.
pub(crate) async fn read(live: &Arc<LivePeer>, uri: String, limit: Duration) -> Result<String, String> {
    let exchange = RequestExchange { live, limit, progress: ToolProgress::new(drop) };
    let answered = exchange.perform(|input, state| {
        let mut params = ReadResourceRequestParams::new(uri.clone());
        (params.input_responses, params.request_state) = (input, state);
        ClientRequest::ReadResourceRequest(ReadResourceRequest::new(params))
    });
    let RequestAnswer { result: ServerResult::ReadResourceResult(read), .. } = answered.await? else {
        return Err("its response is not a resource".to_owned());
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
