//! The kind of an entry, by its `type`.

/// The kind of an entry, by its `type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the same as the entry types")]
pub enum EntryKind {
    Message,
    ModelChange,
    ThinkingLevelChange,
    Compaction,
    BranchSummary,
    ContextEdit,
    Custom,
    CustomMessage,
    Label,
    SessionInfo,
    Usage,
    Unknown,
}

impl EntryKind {
    /// All variants, each at the index given by its discriminant.
    pub(super) const ALL: [Self; 12] = [
        Self::Message,
        Self::ModelChange,
        Self::ThinkingLevelChange,
        Self::Compaction,
        Self::BranchSummary,
        Self::ContextEdit,
        Self::Custom,
        Self::CustomMessage,
        Self::Label,
        Self::SessionInfo,
        Self::Usage,
        Self::Unknown,
    ];

    /// Returns true if such an entry is a message of the context. (A compaction isn't, though its summary
    /// comes first.)
    pub(super) fn makes_message(self) -> bool {
        matches!(self, Self::Message | Self::BranchSummary | Self::CustomMessage)
    }

    pub(super) fn parse(name: &str) -> Self {
        match name {
            "message" => Self::Message,
            "model_change" => Self::ModelChange,
            "thinking_level_change" => Self::ThinkingLevelChange,
            "compaction" => Self::Compaction,
            "branch_summary" => Self::BranchSummary,
            "context_edit" => Self::ContextEdit,
            "custom" => Self::Custom,
            "custom_message" => Self::CustomMessage,
            "label" => Self::Label,
            "session_info" => Self::SessionInfo,
            "usage" => Self::Usage,
            _ => Self::Unknown,
        }
    }
}
