//! What is told of the user's own commands.

use tiller_core::ansi::{OutputBuffer, StyledText};
use tiller_core::id::EntryId;
use tiller_core::message::BashExecutionMessage;
use tiller_core::unit::UnixMs;

use crate::app::App;
use crate::block::{Block, BlockKind, MOST_OUTPUT, NoticeLevel, Shell, ShellState};
use crate::log_blocks::shell_record;
use crate::tool_call::one_line;

/// Where the record of a command stands.
pub(super) enum ShellPlacement {
    /// Where it was watched.
    There,
    /// At the end: with how long it took, if it was watched.
    Below(Option<u64>),
}

impl App {
    /// The record of a command that was watched is on the screen already. Where something was said meanwhile the record stands
    /// behind that, as in the log, and here a word that it does: blocks keep their numbers.
    pub(super) fn adopt_shell(&mut self, entry: &EntryId, record: &BashExecutionMessage) -> ShellPlacement {
        let watched = |block: &Block| match &block.kind {
            BlockKind::Shell(shell) => shell.id.is_some() && shell.command == record.command,
            _ => false,
        };
        let is_overtaken = self.transcript.is_overtaken(watched);
        let Some(block) = self.transcript.find_last(watched) else { return ShellPlacement::Below(None) };
        if is_overtaken {
            let took_ms = match &block.kind {
                BlockKind::Shell(shell) => shell.took_ms(record),
                _ => None,
            };
            let text = format!("! {} began here and stands below, where it ended", one_line(&record.command));
            *block = Block::notice(NoticeLevel::Note, text, None);
            return ShellPlacement::Below(took_ms);
        }
        block.entry = Some(entry.clone());
        if let BlockKind::Shell(shell) = &mut block.kind {
            *shell = shell_record(record, shell.took_ms(record));
        }
        block.touch();
        ShellPlacement::There
    }

    /// Says of a record at the end how long its command took.
    pub(super) fn time_shell(&mut self, entry: &EntryId, took: u64) {
        let logged = |block: &Block| block.entry.as_ref() == Some(entry);
        if let Some(block) = self.transcript.find_last(logged)
            && let BlockKind::Shell(Shell { state: ShellState::Over { took_ms, .. }, .. }) = &mut block.kind
        {
            *took_ms = Some(took);
            block.touch();
        }
    }

    pub(super) fn bash_began(&mut self, id: &EntryId, command: &str, excluded: bool, since: UnixMs) {
        self.work.bash_since = Some(since);
        self.transcript.remove_banner();
        self.transcript.push(Block::new(BlockKind::Shell(Shell {
            id: Some(id.clone()),
            command: command.to_owned(),
            output: StyledText::default(),
            state: ShellState::Runs { since, paper: Box::new(OutputBuffer::keeping(MOST_OUTPUT)) },
            excluded,
        })));
        self.transcript.grew();
    }

    /// Says of a message that goes to the model while a command of the user's own runs how the two stand to each other.
    pub(crate) fn tell_beside_command(&mut self) {
        let runs = |block: &Block| match &block.kind {
            BlockKind::Shell(Shell { state: ShellState::Runs { .. }, excluded, .. }) => !excluded,
            _ => false,
        };
        if self.work.bash_since.is_some() && self.transcript.find_last(runs).is_some() {
            self.flash("the model doesn't wait for the command: it reads the output later on");
        }
    }

    fn with_shell(&mut self, id: &EntryId, change: impl FnOnce(&mut Shell)) {
        let named =
            |block: &Block| matches!(&block.kind, BlockKind::Shell(shell) if shell.id.as_ref() == Some(id));
        if let Some(block) = self.transcript.find_last(named)
            && let BlockKind::Shell(shell) = &mut block.kind
        {
            change(shell);
            block.touch();
        }
    }

    pub(super) fn bash_printed(&mut self, id: &EntryId, delta: &str) {
        self.with_shell(id, |shell| {
            if let ShellState::Runs { paper, .. } = &mut shell.state {
                paper.push(delta.as_bytes());
            }
        });
        self.transcript.grew();
    }

    /// What a command had printed before anybody watched it here, or since.
    pub(super) fn bash_had_printed(&mut self, id: &EntryId, printed: &OutputBuffer) {
        self.with_shell(id, |shell| {
            if let ShellState::Runs { paper, .. } = &mut shell.state {
                **paper = printed.carried(MOST_OUTPUT);
            }
        });
    }

    pub(super) fn bash_ended(&mut self, id: &EntryId, record: &BashExecutionMessage) {
        self.work.bash_since = None;
        self.with_shell(id, |shell| {
            *shell = Shell { id: shell.id.take(), ..shell_record(record, shell.took_ms(record)) };
        });
    }
}
