//! Where choosing an entry leads.

use tiller_core::id::EntryId;
use tiller_core::message::{Message, StopReason};

use super::error::SessionError;
use super::line_scan::LineRole;
use super::reader::Reader;
use super::tree::Tree;

/// From where a session goes on once an entry was chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NavigationTarget {
    /// The entry that the next one follows; `None` at the very beginning.
    pub entry: Option<EntryId>,
    /// What is to be said again: the text of the message that was chosen, as it was typed.
    pub text: Option<String>,
}

impl Reader {
    /// Where choosing an entry leads: for a message of the user's to just before it, with its text; for an answer that made calls to behind
    /// their results, which belong to it; else to the entry itself.
    ///
    /// # Errors
    /// When there is no such entry, or it can't be read.
    pub fn landing(&self, entry: &EntryId) -> Result<NavigationTarget, SessionError> {
        let chosen = self.entry(entry)?;
        let (entry, text) = match chosen.body.as_message().map(|message| &**message) {
            Some(Message::User(user)) => (chosen.parent, Some(user.as_typed())),
            Some(Message::Assistant(answer))
                if !matches!(answer.stop_reason, StopReason::Error | StopReason::Aborted)
                    && answer.tool_calls().next().is_some() =>
            {
                let tree = self.tree();
                let at = tree.nodes().iter().position(|node| node.id == chosen.id);
                let end = at.map(|at| tree.nodes()[end_of_answer(&tree, at)].id.clone());
                (Some(end.unwrap_or(chosen.id)), None)
            }
            _ => (Some(chosen.id), None),
        };
        Ok(NavigationTarget { entry, text })
    }
}

/// The last result that follows an answer, with nothing said between; the answer if none does.
fn end_of_answer(tree: &Tree, answer: usize) -> usize {
    let (mut at, mut end) = (answer, answer);
    let goes_on = |child: &&usize| {
        let node = &tree.nodes()[**child];
        node.role == Some(LineRole::ToolResult) || !node.is_said()
    };
    while let Some(&child) = tree.children(at).iter().rfind(goes_on) {
        at = child;
        if tree.nodes()[at].role == Some(LineRole::ToolResult) {
            end = at;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use tiller_core::unit::UnixMs;

    use super::*;
    use crate::index::EntryKind;
    use crate::tree::TreeNode;

    fn tree(entries: &[(Option<usize>, Option<LineRole>)]) -> Tree {
        let node = |(at, (parent, role)): (usize, &(Option<usize>, Option<LineRole>))| TreeNode {
            id: EntryId::new(format!("n{at}")),
            parent: *parent,
            kind: role.map_or(EntryKind::Custom, |_| EntryKind::Message),
            role: *role,
            timestamp: UnixMs(0),
        };
        Tree::new(entries.iter().enumerate().map(node).collect())
    }

    #[test]
    fn an_answer_ends_behind_the_results_of_its_calls() {
        let (user, answer, result, noted) =
            (Some(LineRole::User), Some(LineRole::Assistant), Some(LineRole::ToolResult), None);
        let talk = tree(&[
            (None, user),
            (Some(0), answer),
            (Some(1), noted),
            (Some(2), result),
            (Some(3), noted),
            (Some(4), result),
            (Some(5), noted),
            (Some(6), answer),
            // Somebody once went back to the answer itself.
            (Some(1), user),
        ]);
        assert_eq!(end_of_answer(&talk, 1), 5);
        assert_eq!(end_of_answer(&talk, 7), 7);
    }
}
