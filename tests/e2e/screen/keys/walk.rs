//! Key sequences: each step presses a key of a row of the table and checks the screen.
//!
//! A sequence is data, and `page` compares the rows and keys of all sequences to the page that lists them. Each
//! step proves that its check can fail: the expected state must not hold before the key.

use super::chord;
use crate::sandbox::Sandbox;
use tiller_test_support::terminal::Terminal;

/// A sequence of keys in one terminal.
pub(super) struct KeySequence {
    pub(super) name: &'static str,
    pub(super) open: fn(&Sandbox) -> Terminal,
    pub(super) steps: &'static [Step],
}

/// A step of a sequence.
pub(super) enum Step {
    /// Presses a key of a row; all of this is shown then, and wasn't before.
    Press {
        row: &'static str,
        key: &'static str,
        checks: &'static [Check],
    },
    /// Types a string, or leads to the next step in another way.
    Type(&'static str),
    Wait(Check),
    /// Waits for a question, and until it takes keys.
    WaitForQuestion(&'static str),
    /// Acts outside the terminal.
    Run(fn(&Sandbox)),
}

/// The expected screen.
#[derive(Clone, Copy, Debug)]
pub(super) enum Check {
    Has(&'static str),
    Lacks(&'static str),
    /// The first row that isn't blank contains this.
    Top(&'static str),
    /// The cursor is this many rows below the editor's first, in this column.
    Cursor(usize, u16),
}

pub(super) const fn press(row: &'static str, key: &'static str, checks: &'static [Check]) -> Step {
    Step::Press { row, key, checks }
}

impl Check {
    fn holds(self, screen: &vt100::Screen) -> bool {
        let (_, columns) = screen.size();
        let rows: Vec<String> = screen.rows(0, columns.get()).map(|row| row.trim_end().to_owned()).collect();
        match self {
            Self::Has(text) => rows.join("\n").contains(text),
            Self::Lacks(text) => !rows.join("\n").contains(text),
            Self::Top(text) => rows.iter().find(|row| !row.is_empty()).is_some_and(|row| row.contains(text)),
            Self::Cursor(down, column) => {
                let editor = rows.iter().rposition(|row| row.contains('❯'));
                let (row, at) = screen.cursor_position();
                editor.is_some_and(|editor| editor + down == usize::from(row)) && at == column
            }
        }
    }
}

fn all_hold(checks: &[Check], screen: &vt100::Screen) -> bool {
    checks.iter().all(|checks| checks.holds(screen))
}

impl KeySequence {
    /// Runs all steps.
    pub(super) fn run(&self) {
        let sandbox = Sandbox::new();
        let mut terminal = (self.open)(&sandbox);
        for step in self.steps {
            self.step(step, &sandbox, &mut terminal);
        }
    }

    fn step(&self, step: &Step, sandbox: &Sandbox, terminal: &mut Terminal) {
        match step {
            Step::Press { row, key, checks } => {
                let context = format!("{}: what {key} ({row}) does: {checks:?}", self.name);
                let before = terminal.inspect(|screen| all_hold(checks, screen));
                assert!(!before, "{context}, is so already:\n{}", terminal.screen());
                terminal.send(std::str::from_utf8(&chord::bytes(key)).unwrap());
                terminal.wait_until_screen(&context, |screen| all_hold(checks, screen));
            }
            Step::Type(text) => terminal.send(text),
            Step::Wait(checks) => {
                terminal
                    .wait_until_screen(&format!("{}: {checks:?}", self.name), |screen| checks.holds(screen));
            }
            Step::WaitForQuestion(text) => terminal.wait_for_question(text),
            Step::Run(action) => action(sandbox),
        }
    }

    /// The rows and keys that it presses.
    pub(super) fn pressed_keys(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.steps.iter().filter_map(|step| match step {
            Step::Press { row, key, .. } => Some((*row, *key)),
            _ => None,
        })
    }
}
