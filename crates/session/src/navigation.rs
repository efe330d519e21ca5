//! Navigation: the new leaf after the user selects an entry.

use tiller_core::id::EntryId;
use tiller_core::message::{Message, StopReason};

use super::error::SessionError;
use super::line_scan::LineRole;
use super::reader::Reader;
use super::tree::Tree;

/// The position at which a session continues after an entry was selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NavigationTarget {
    /// The parent of the next entry; `None` for a new root.
    pub entry: Option<EntryId>,
    /// Text for the editor: the selected user message, as typed.
    pub text: Option<String>,
}

impl Reader {
    /// Returns the target for a selected entry: for a user message its parent, with the message's text; for
    /// an answer with calls the last of their results; otherwise the entry itself.
    ///
    /// # Errors
    /// If there is no such entry, or it can't be read.
    pub fn navigation_target(&self, entry: &EntryId) -> Result<NavigationTarget, SessionError> {
        let target = self.entry(entry)?;
        let (entry, text) = match target.body.as_message().map(|message| &**message) {
            Some(Message::User(user)) => (target.parent, Some(user.as_typed())),
            Some(Message::Assistant(answer))
                if !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted)
                    && answer.tool_calls().next().is_some() =>
            {
                let tree = self.tree();
                let position = tree.nodes().iter().position(|node| node.id == target.id);
                let end = position.map(|position| tree.nodes()[last_result_of(&tree, position)].id.clone());
                (Some(end.unwrap_or(target.id)), None)
            }
            _ => (Some(target.id), None),
        };
        Ok(NavigationTarget { entry, text })
    }
}

/// Returns the last tool result after an answer with no other message in between; the answer itself if there
/// is none.
fn last_result_of(tree: &Tree, answer: usize) -> usize {
    let (mut position, mut end) = (answer, answer);
    let belongs_to_answer = |child: &&usize| {
        let node = &tree.nodes()[**child];
        node.role == Some(LineRole::ToolResult) || !node.is_conversation()
    };
    while let Some(&child) = tree.children(position).iter().rfind(belongs_to_answer) {
        position = child;
        if tree.nodes()[position].role == Some(LineRole::ToolResult) {
            end = position;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use tiller_core::unit::UnixMs;

    use super::*;
    use crate::entry_kind::EntryKind;
    use crate::tree::TreeNode;

    fn tree(entries: &[(Option<usize>, Option<LineRole>)]) -> Tree {
        let node = |(position, (parent, role)): (usize, &(Option<usize>, Option<LineRole>))| TreeNode {
            id: EntryId::new(format!("n{position}")),
            parent: *parent,
            kind: role.map_or(EntryKind::Custom, |_| EntryKind::Message),
            role: *role,
            timestamp: UnixMs(0),
        };
        Tree::new(entries.iter().enumerate().map(node).collect())
    }

    #[test]
    fn last_result_of_skips_annotations() {
        let (user, answer, result, annotation) =
            (Some(LineRole::User), Some(LineRole::Assistant), Some(LineRole::ToolResult), None);
        let tree = tree(&[
            (None, user),
            (Some(0), answer),
            (Some(1), annotation),
            (Some(2), result),
            (Some(3), annotation),
            (Some(4), result),
            (Some(5), annotation),
            (Some(6), answer),
            // A branch from the answer itself.
            (Some(1), user),
        ]);
        assert_eq!(last_result_of(&tree, 1), 5);
        assert_eq!(last_result_of(&tree, 7), 7);
    }
}
