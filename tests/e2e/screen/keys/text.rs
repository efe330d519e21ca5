//! Keys for editing text.

use super::open_idle;
use super::walk::Check::{Cursor, Has};
use super::walk::Step::{Type, Wait};
use super::walk::{KeySequence, press};

pub(super) const MOVES: KeySequence = KeySequence {
    name: "moving in the text",
    open: open_idle,
    steps: &[
        Type("one two three"),
        Wait(Cursor(0, 16)),
        press("cursor_left", "left", &[Cursor(0, 15)]),
        press("cursor_left", "ctrl+b", &[Cursor(0, 14)]),
        press("cursor_right", "right", &[Cursor(0, 15)]),
        press("line_start", "ctrl+a", &[Cursor(0, 3)]),
        press("line_end", "ctrl+e", &[Cursor(0, 16)]),
        press("line_start", "home", &[Cursor(0, 3)]),
        press("line_end", "end", &[Cursor(0, 16)]),
        press("word_left", "alt+b", &[Cursor(0, 11)]),
        press("word_left", "alt+left", &[Cursor(0, 7)]),
        press("word_left", "ctrl+left", &[Cursor(0, 3)]),
        press("word_right", "alt+f", &[Cursor(0, 6)]),
        press("word_right", "alt+right", &[Cursor(0, 10)]),
        press("word_right", "ctrl+right", &[Cursor(0, 16)]),
        press("newline", "shift+enter", &[Cursor(1, 3)]),
        Type("four"),
        Wait(Has(" ❯ one two three\n   four\n")),
        press("newline", "ctrl+j", &[Cursor(2, 3)]),
        Type("five"),
        Wait(Has("   four\n   five\n")),
        press("text_start", "alt+<", &[Cursor(0, 3)]),
        press("text_end", "alt+>", &[Cursor(2, 7)]),
        press("cursor_up", "up", &[Cursor(1, 7)]),
        press("cursor_down", "down", &[Cursor(2, 7)]),
        press("delete_back", "backspace", &[Has("   fiv\n")]),
        press("delete_back", "shift+backspace", &[Has("   fi\n")]),
        press("delete_back", "ctrl+h", &[Has("   f\n")]),
    ],
};

pub(super) const CUTS: KeySequence = KeySequence {
    name: "cutting and putting in",
    open: open_idle,
    steps: &[
        Type("abcdef\x1b[H"),
        Wait(Cursor(0, 3)),
        press("delete_forward", "delete", &[Has(" ❯ bcdef\n")]),
        press("delete_forward", "ctrl+d", &[Has(" ❯ cdef\n")]),
        Type("\x1b[C"),
        Wait(Cursor(0, 4)),
        press("delete_to_line_end", "ctrl+k", &[Has(" ❯ c\n")]),
        press("delete_to_line_start", "ctrl+u", &[Has(" ❯ Describe a task")]),
        Type("one two three"),
        Wait(Has(" ❯ one two three\n")),
        press("delete_word_back", "ctrl+w", &[Has(" ❯ one two\n")]),
        press("delete_word_back", "alt+backspace", &[Has(" ❯ one\n")]),
        press("delete_word_back", "ctrl+backspace", &[Has(" ❯ Describe a task")]),
        Type("four five six\x1b[H"),
        Wait(Cursor(0, 3)),
        press("delete_word_forward", "alt+d", &[Has(" ❯  five six\n")]),
        press("delete_word_forward", "alt+delete", &[Has(" ❯  six\n")]),
        press("delete_word_forward", "ctrl+delete", &[Has(" ❯ Describe a task")]),
        press("yank", "ctrl+y", &[Has(" ❯ four five six\n")]),
        press("yank_before", "alt+y", &[Has(" ❯ one two three\n")]),
    ],
};

pub(super) const UNDOES: KeySequence = KeySequence {
    name: "taking back",
    open: open_idle,
    steps: &[
        Type("one two three four five six"),
        Wait(Has(" ❯ one two three four five six\n")),
        press("undo", "alt+u", &[Has(" ❯ one two three four five\n")]),
        press("undo", "ctrl+_", &[Has(" ❯ one two three four\n")]),
        press("undo", "ctrl+-", &[Has(" ❯ one two three\n")]),
        press("undo", "ctrl+shift+-", &[Has(" ❯ one two\n")]),
        press("undo", "ctrl+7", &[Has(" ❯ one\n")]),
        press("redo", "alt+r", &[Has(" ❯ one two\n")]),
        press("redo", "alt+_", &[Has(" ❯ one two three\n")]),
    ],
};
