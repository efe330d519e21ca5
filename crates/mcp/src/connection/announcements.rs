//! Counts the changes of a server's lists where its messages are read, so that a change announced before a result is
//! known when rmcp delivers the result; rmcp itself runs the handlers of notifications next to each other. On HTTP, this
//! is the order in which rmcp has received them, because they may come on different streams.

use std::borrow::Cow;

use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage, ServerNotification};
use rmcp::service::RoleClient;
use rmcp::transport::Transport;

use crate::list_changes::ListChanges;

/// A transport that counts the announced changes.
pub(super) struct CountingTransport<T> {
    transport: T,
    changes: ListChanges,
}

impl<T> CountingTransport<T> {
    pub(super) const fn new(transport: T, changes: ListChanges) -> Self {
        Self { transport, changes }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for CountingTransport<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.transport.send(message)
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        let message = self.transport.receive().await?;
        if announces_change(&message) {
            self.changes.announce();
        }
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.transport.close().await
    }
}

fn announces_change(message: &ServerJsonRpcMessage) -> bool {
    let ServerJsonRpcMessage::Notification(received) = message else { return false };
    matches!(
        received.notification,
        ServerNotification::ToolListChangedNotification(_)
            | ServerNotification::PromptListChangedNotification(_)
            | ServerNotification::ResourceListChangedNotification(_)
    )
}

#[cfg(test)]
mod tests {
    use rmcp::transport::async_rw::AsyncRwTransport;
    use serde_json::{Value, json};
    use tokio::io::{AsyncWriteExt as _, duplex, split};

    use super::*;

    #[tokio::test]
    async fn announcement_is_counted_before_the_result_that_follows_it() {
        let (near, mut far) = duplex(1 << 16);
        let (read, write) = split(near);
        let changes = ListChanges::default();
        let mut transport =
            CountingTransport::new(AsyncRwTransport::new_client(read, write), changes.clone());
        let notification = |name: &str| json!({"jsonrpc": "2.0", "method": format!("notifications/{name}")});
        let lists = ["tools", "prompts", "resources"];
        let mut messages: Vec<Value> =
            lists.iter().map(|list| notification(&format!("{list}/list_changed"))).collect();
        messages.push(json!({"jsonrpc": "2.0", "id": 1, "result": {"content": []}}));
        for message in messages {
            far.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        }
        let mut counts = Vec::new();
        while counts.len() < 4 {
            transport.receive().await.unwrap();
            counts.push(changes.announced());
        }
        assert_eq!(counts, [1, 2, 3, 3]);
    }
}
