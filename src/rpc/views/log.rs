//! The user's messages in the log.

use serde::Serialize;
use serde_json::json;

use crate::id::EntryId;
use crate::message::{Message, joined_text};
use crate::session::Reader;

/// A message that `fork` accepts.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ForkMessage {
    entry_id: EntryId,
    text: String,
}

/// Returns the user's messages on the path to the leaf, for `fork`.
pub(in crate::rpc) fn fork_messages(reader: &Reader) -> impl Serialize {
    let path = reader.leaf().and_then(|leaf| reader.path_to(&leaf).ok()).unwrap_or_default();
    let message = |id: &EntryId| {
        let entry = reader.entry(id).ok()?;
        let Message::User(user) = &**entry.body.as_message()? else { return None };
        Some(ForkMessage { entry_id: id.clone(), text: joined_text(&user.content.to_blocks()) })
    };
    json!({"messages": path.iter().filter_map(message).collect::<Vec<_>>()})
}
