//! The lists of prompts and resources. They are read after the tools, each with a short timeout, because some servers
//! never respond to such requests.

use std::sync::Arc;
use std::time::Duration;

use rmcp::service::{Peer, RoleClient};
use tiller_tools::tool::ToolServersEvent;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::Connection;
use crate::prompt::McpPrompt;
use crate::resource;
use crate::server::OptionalList;
use crate::tool::ToolServer;

/// The lists that are being read. Dropping it stops that.
pub(super) struct OptionalLists(JoinSet<ListRead>);

/// A list that was read.
pub(super) enum ListRead {
    Known(OptionalList),
    /// The list of prompts can't be read; a sentence with the reason.
    NoPrompts(String),
    NoResources(String),
    NoTemplates,
}

impl OptionalLists {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Waits for the next list; `None` if there is none. Cancel-safe.
    pub(super) async fn next(&mut self) -> Option<ListRead> {
        // Reading doesn't panic; if it did, there would be no list.
        self.0.join_next().await.map(|read| read.unwrap_or(ListRead::NoTemplates))
    }
}

impl Connection {
    /// Starts reading the lists that the server has.
    pub(super) fn optional_lists(&self, peer: &Peer<RoleClient>) -> OptionalLists {
        let mut lists = JoinSet::new();
        let info = peer.peer_info();
        let (server, limit) = (self.tool_server(), self.options.list_timeout);
        if info.as_ref().is_some_and(|info| info.capabilities.prompts.is_some()) {
            lists.spawn(read_prompts(peer.clone(), server.clone(), limit));
        } else {
            self.server.prompts_read();
        }
        if info.as_ref().is_some_and(|info| info.capabilities.resources.is_some()) {
            lists.spawn(read_resources(peer.clone(), server.name.clone(), limit));
            lists.spawn(read_templates(peer.clone(), server.name, limit));
        }
        OptionalLists(lists)
    }

    /// Publishes a list; one that can't be read stays as it was.
    pub(super) async fn publish_list(&self, read: ListRead) {
        let list = match read {
            ListRead::Known(list) => list,
            ListRead::NoPrompts(reason) => {
                self.server.prompts_read();
                return self.warn(format!("its prompts can't be listed: {reason}")).await;
            }
            ListRead::NoResources(reason) => {
                return self.warn(format!("its resources can't be listed: {reason}")).await;
            }
            ListRead::NoTemplates => return,
        };
        let is_prompts = matches!(list, OptionalList::Prompts(_));
        self.server.publish_list(list);
        if is_prompts {
            self.server.prompts_read();
        }
        self.emit(ToolServersEvent::Changed).await;
    }
}

async fn read_prompts(peer: Peer<RoleClient>, server: ToolServer, limit: Duration) -> ListRead {
    let prompts = |listed: Vec<rmcp::model::Prompt>| {
        let prompts = listed.into_iter().map(|declared| Arc::new(McpPrompt::new(declared, server.clone())));
        OptionalList::Prompts(prompts.collect())
    };
    let read = within(limit, peer.list_all_prompts()).await;
    read.map_or_else(ListRead::NoPrompts, |listed| ListRead::Known(prompts(listed)))
}

async fn read_resources(peer: Peer<RoleClient>, server: String, limit: Duration) -> ListRead {
    let read = within(limit, resource::list(&peer, &server)).await;
    read.map_or_else(ListRead::NoResources, |listed| ListRead::Known(OptionalList::Resources(listed)))
}

/// Many servers with resources don't know the request.
async fn read_templates(peer: Peer<RoleClient>, server: String, limit: Duration) -> ListRead {
    let read = within(limit, resource::list_templates(&peer, &server)).await;
    read.map_or(ListRead::NoTemplates, |listed| ListRead::Known(OptionalList::Templates(listed)))
}

async fn within<T, E: ToString>(
    limit: Duration,
    read: impl Future<Output = Result<T, E>>,
) -> Result<T, String> {
    match timeout(limit, read).await {
        Ok(read) => read.map_err(|error| error.to_string()),
        Err(_) => Err(format!("no response within {} s", limit.as_secs_f64())),
    }
}
