//! Scrolling of lists, pages and the transcript.

use crate::keymap::table::KeyCommand;

/// Lines per step of the wheel in the transcript and in pages; in lists a step moves the selection to the next row.
pub(crate) const WHEEL_LINES: usize = 3;

/// Returns the number of rows by which a command scrolls a list or a page on a screen of this size; `None`
/// for other commands.
pub(crate) fn scroll_rows(command: KeyCommand, size: (u16, u16)) -> Option<isize> {
    let page = isize::try_from(size.1 / 2).unwrap_or(10).max(1);
    match command {
        KeyCommand::Up => Some(-1),
        KeyCommand::Down => Some(1),
        KeyCommand::PopupPageUp => Some(-page),
        KeyCommand::PopupPageDown => Some(page),
        KeyCommand::First => Some(isize::MIN / 2),
        KeyCommand::Last => Some(isize::MAX / 2),
        _ => None,
    }
}
