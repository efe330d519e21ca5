//! The bodies and parameters of requests. Unknown fields are errors: a misspelled one must not be ignored.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};
use tiller_core::elicitation::ElicitationAction;
use tiller_core::event::{CompactionChoice, QueueKind};
use tiller_core::media::detect_media_type;
use tiller_core::message::{Image, ThinkingLevel};

use crate::problem::{INVALID, Problem};

/// A new session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CreateBody {
    /// The absolute path of the working directory, below one of the server's roots.
    pub(crate) workspace_path: PathBuf,
    /// The provider; default: the settings'.
    pub(crate) provider: Option<String>,
    /// The model: `[provider/]id[:thinking]`; default: the settings'.
    pub(crate) model: Option<String>,
    /// Allows every call that would need approval.
    #[serde(default)]
    pub(crate) auto_approve: bool,
    /// The session's name.
    pub(crate) name: Option<String>,
}

/// A session to be opened again.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ResumeBody {
    /// Another working directory, below one of the server's roots.
    pub(crate) workspace_path: Option<PathBuf>,
    /// The provider; default: the session's.
    pub(crate) provider: Option<String>,
    /// The model; default: the session's.
    pub(crate) model: Option<String>,
}

/// A message.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ChatBody {
    /// The text; may be empty if there are images.
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) images: Vec<ImageBody>,
    /// The treatment during a run, which otherwise is a conflict.
    pub(crate) behavior: Option<Behavior>,
}

/// The treatment of a message during a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Behavior {
    /// Delivered at the next gap between tool calls.
    Steer,
    /// Delivered when the agent has finished.
    FollowUp,
}

impl From<Behavior> for QueueKind {
    fn from(behavior: Behavior) -> Self {
        match behavior {
            Behavior::Steer => Self::Steer,
            Behavior::FollowUp => Self::FollowUp,
        }
    }
}

/// A message's text and images.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct MessageBody {
    /// The text; may be empty if there are images.
    pub(crate) message: String,
    #[serde(default)]
    pub(crate) images: Vec<ImageBody>,
}

/// An image, or a PDF file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ImageBody {
    /// Always `image`.
    #[serde(rename = "type", default)]
    _kind: Option<ImageTag>,
    /// Its bytes in base64.
    data: String,
    /// Its type: `image/png`, `image/jpeg`, `image/gif`, `image/webp` or `application/pdf`.
    mime_type: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum ImageTag {
    Image,
}

impl MessageBody {
    /// Returns the text and the images.
    pub(crate) fn check(self) -> Result<(String, Vec<Image>), Problem> {
        if self.images.is_empty() && self.message.trim().is_empty() {
            return Err(INVALID.detail("the field `message`: must not be empty without images"));
        }
        let image = |ImageBody { data, mime_type, .. }: ImageBody| {
            let bytes = BASE64.decode(&data).unwrap_or_default();
            let is_valid = detect_media_type(&bytes) == Some(mime_type.as_str());
            let invalid = || {
                INVALID.detail("the field `images`: expected a png, jpeg, gif, webp or pdf file in base64, with its type")
            };
            is_valid.then_some(Image { data, mime_type }).ok_or_else(invalid)
        };
        let images = self.images.into_iter().map(image).collect::<Result<_, _>>()?;
        Ok((self.message, images))
    }
}

/// The answer to an approval request.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ApprovalBody {
    /// True if the call may run.
    pub(crate) approved: bool,
    /// Also allows everything that the request's `rule` covers, until the session is closed.
    #[serde(default)]
    pub(crate) always: bool,
    /// The reason for a denial, for the model.
    pub(crate) reason: Option<String>,
}

/// The answer to a question.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ElicitationBody {
    /// `accept`, `decline` or `cancel`.
    pub(crate) action: ElicitationAction,
    /// The values by field name, with `accept`.
    #[serde(default)]
    pub(crate) content: Map<String, Value>,
}

/// The choice after a failed compaction.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CompactionBody {
    /// `retry`, `truncate` or `go_on`.
    pub(crate) choice: CompactionChoice,
}

/// The new queue.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct QueueBody {
    /// The messages that stay, in the order of delivery. The others are removed.
    pub(crate) items: Vec<QueuedBody>,
}

/// A queued message and its changes.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct QueuedBody {
    /// Its id.
    pub(crate) id: String,
    /// Another kind.
    pub(crate) kind: Option<Behavior>,
    /// Another text.
    pub(crate) text: Option<String>,
    /// `false` releases a message that an earlier process left.
    pub(crate) held: Option<bool>,
}

/// The kind of the messages to be removed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ClearQuery {
    /// The kind; default: all.
    pub(crate) kind: Option<Behavior>,
}

/// The entry to fork at.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ForkBody {
    /// The last entry of the new session; of a user message, the entry before it.
    pub(crate) entry_id: String,
}

/// The entry to go to.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct NavigateBody {
    /// The entry; of a user message, the entry before it.
    pub(crate) entry_id: String,
    /// The summary of the branch that is left: `true` to generate one, or its text; default: none.
    pub(crate) summary: Option<SummaryBody>,
    /// Instructions for a generated summary.
    pub(crate) instructions: Option<String>,
}

/// A summary of a branch.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "expected true, false or the summary's text")]
pub(crate) enum SummaryBody {
    /// Generated, or none.
    Generate(bool),
    /// The text.
    Text(String),
}

/// A label.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct LabelBody {
    /// The entry.
    pub(crate) entry_id: String,
    /// The label; without one, it is removed.
    pub(crate) label: Option<String>,
}

/// Instructions for a summary.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct CompactBody {
    /// Instructions for the summary.
    pub(crate) instructions: Option<String>,
}

/// A model.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ModelBody {
    /// The provider, if the model doesn't specify it.
    pub(crate) provider: Option<String>,
    /// `[provider/]id[:thinking]`, or part of an id.
    pub(crate) model: String,
}

/// A thinking level.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ThinkingBody {
    /// `off`, `minimal`, `low`, `medium`, `high` or `xhigh`.
    #[schemars(with = "String")]
    pub(crate) level: ThinkingLevel,
}

/// A user's command.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct BashBody {
    /// The command line.
    pub(crate) command: String,
    /// Keeps the command and its output from the model.
    #[serde(default)]
    pub(crate) exclude_from_context: bool,
}

/// A page of the list of sessions.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ListQuery {
    /// Maximum number of sessions, at most 200; default: 50.
    pub(crate) limit: Option<NonZeroUsize>,
    /// Number of sessions to skip.
    #[serde(default)]
    pub(crate) offset: usize,
    /// Words that a session must contain, the last one as a prefix. Without words, all sessions are listed.
    pub(crate) query: Option<String>,
}

/// The way to delete a session.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct DeleteQuery {
    /// Deletes the log instead of moving it to the trash.
    #[serde(default)]
    pub(crate) permanently: bool,
}

/// The first entry to send.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct EntriesQuery {
    /// The entry before the first one; default: the beginning.
    pub(crate) since: Option<String>,
}

/// The first event to send.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct StreamQuery {
    /// The event before the first one, for clients that can't set the header `Last-Event-ID`.
    pub(crate) last_event_id: Option<String>,
}

/// The working directory whose skills are listed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct SkillsQuery {
    /// The working directory, below one of the server's roots.
    pub(crate) workspace_path: PathBuf,
}
