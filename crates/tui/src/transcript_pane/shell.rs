//! Events of `!` commands.

use tiller_core::ansi::{OutputBuffer, StyledText};
use tiller_core::id::EntryId;
use tiller_core::message::BashExecutionMessage;
use tiller_core::unit::UnixMs;

use crate::block::notice_level::NoticeLevel;
use crate::block::shell::{MAX_OUTPUT, Shell, ShellState};
use crate::block::{Block, BlockKind};
use crate::component::Context;
use crate::log_blocks::shell_record;
use crate::text::one_line;
use crate::transcript_pane::TranscriptPane;

/// The position of a finished command's entry in the transcript.
pub(super) enum ShellPlacement {
    /// Replaced the block of the running command.
    InPlace,
    /// Appended at the end, with the duration in milliseconds if the command was observed here.
    Below(Option<u64>),
}

impl TranscriptPane {
    /// Puts the entry of a finished command in place of its running block. If other blocks have followed in
    /// the meantime, the entry goes to the end, as in the log, and a note replaces the running block, because
    /// blocks keep their indexes.
    pub(super) fn place_shell_entry(
        &mut self,
        entry: &EntryId,
        record: &BashExecutionMessage,
    ) -> ShellPlacement {
        let watched = |block: &Block| match &block.kind {
            BlockKind::Shell(shell) => shell.id.is_some() && shell.command == record.command,
            _ => false,
        };
        let has_block_after = self.transcript.has_block_after(watched);
        let Some(block) = self.transcript.find_last(watched) else {
            return ShellPlacement::Below(None);
        };
        if has_block_after {
            let took_ms = match &block.kind {
                BlockKind::Shell(shell) => shell.took_ms(record),
                _ => None,
            };
            let text =
                format!("! {} started here; its output is below, where it ended", one_line(&record.command));
            *block = Block::notice(NoticeLevel::Note, text, None);
            return ShellPlacement::Below(took_ms);
        }
        block.entry = Some(entry.clone());
        if let BlockKind::Shell(shell) = &mut block.kind {
            *shell = shell_record(record, shell.took_ms(record));
        }
        block.invalidate();
        ShellPlacement::InPlace
    }

    /// Sets the duration of a command whose entry is at the end.
    pub(super) fn set_shell_duration(&mut self, entry: &EntryId, took: u64) {
        let logged = |block: &Block| block.entry.as_ref() == Some(entry);
        if let Some(block) = self.transcript.find_last(logged)
            && let BlockKind::Shell(Shell { state: ShellState::Finished { took_ms, .. }, .. }) =
                &mut block.kind
        {
            *took_ms = Some(took);
            block.invalidate();
        }
    }

    pub(super) fn bash_started(&mut self, id: &EntryId, command: &str, excluded: bool, since: UnixMs) {
        self.transcript.remove_banner();
        self.transcript.push(Block::new(BlockKind::Shell(Shell {
            id: Some(id.clone()),
            command: command.to_owned(),
            output: StyledText::default(),
            state: ShellState::Running { since, paper: Box::new(OutputBuffer::with_limit(MAX_OUTPUT)) },
            excluded,
        })));
        self.transcript.note_growth();
    }

    /// Follows the end after something was sent.
    pub(crate) fn sent(&mut self, to_model: bool, cx: &mut Context<'_>) {
        self.transcript.follow();
        self.unfocus();
        if to_model && cx.model.activity.bash_since.is_some() && self.runs_included_command() {
            cx.flash("The model doesn't wait for the command; it gets the output with a later request.");
        }
    }

    /// Returns true while a command is running whose output the model gets.
    pub(super) fn runs_included_command(&mut self) -> bool {
        let runs = |block: &Block| match &block.kind {
            BlockKind::Shell(Shell { state: ShellState::Running { .. }, excluded, .. }) => !excluded,
            _ => false,
        };
        self.transcript.find_last(runs).is_some()
    }

    fn with_shell(&mut self, id: &EntryId, change: impl FnOnce(&mut Shell)) {
        let named =
            |block: &Block| matches!(&block.kind, BlockKind::Shell(shell) if shell.id.as_ref() == Some(id));
        if let Some(block) = self.transcript.find_last(named)
            && let BlockKind::Shell(shell) = &mut block.kind
        {
            change(shell);
            block.invalidate();
        }
    }

    pub(super) fn bash_printed(&mut self, id: &EntryId, delta: &str) {
        self.with_shell(id, |shell| {
            if let ShellState::Running { paper, .. } = &mut shell.state {
                paper.push(delta.as_bytes());
            }
        });
        self.transcript.note_growth();
    }

    /// Sets the output that a command printed before this snapshot.
    pub(super) fn restore_bash_output(&mut self, id: &EntryId, printed: &OutputBuffer) {
        self.with_shell(id, |shell| {
            if let ShellState::Running { paper, .. } = &mut shell.state {
                **paper = printed.continuation(MAX_OUTPUT);
            }
        });
    }

    pub(super) fn bash_ended(&mut self, id: &EntryId, record: &BashExecutionMessage) {
        self.with_shell(id, |shell| {
            *shell = Shell { id: shell.id.take(), ..shell_record(record, shell.took_ms(record)) };
        });
    }
}
