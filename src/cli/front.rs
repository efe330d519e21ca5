//! Which front end a command line asks for, and what follows from that.

use std::io::{self, IsTerminal};

use super::args::{Arguments, PrintMode};
use crate::agent::Approver;
use crate::config::Environment;

/// Who will watch the session, and whether somebody there answers questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Front {
    Tui,
    Print,
    Rpc(Approver),
    Plain(Approver),
}

/// What stands at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) stdin_is_terminal: bool,
    pub(super) stdout_is_terminal: bool,
    pub(super) powers: Powers,
}

/// What a terminal can show, going by its name in `TERM`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Powers {
    /// A screen that is drawn anew.
    Screen,
    /// Lines, and nothing else is known of it: it has no name, or is called dumb.
    Lines,
}

impl Powers {
    fn of(term: Option<&str>) -> Self {
        match term {
            None | Some("" | "dumb") => Self::Lines,
            Some(_) => Self::Screen,
        }
    }
}

impl Ends {
    pub(super) fn of_process() -> Self {
        Self {
            stdin_is_terminal: io::stdin().is_terminal(),
            stdout_is_terminal: io::stdout().is_terminal(),
            powers: Powers::of(Environment::of_process().value("TERM")),
        }
    }

    /// Why there is no screen though nobody asked for lines; `None` where there is one, or was to be none.
    pub(super) fn excuse(self, arguments: &Arguments) -> Option<&'static str> {
        let fell_back = matches!(Front::choose(arguments, self), Front::Plain(_)) && !arguments.print.plain;
        fell_back.then_some(
            "this terminal can't show a screen (TERM is dumb or not set): going on as with --plain",
        )
    }
}

impl Front {
    pub(super) fn choose(arguments: &Arguments, ends: Ends) -> Self {
        let somebody_if = |there| if there { Approver::Present } else { Approver::Absent };
        match arguments.print.mode {
            Some(PrintMode::Rpc) => Self::Rpc(somebody_if(arguments.print.approvals)),
            _ if arguments.print.plain => Self::Plain(somebody_if(ends.stdin_is_terminal)),
            None if !arguments.print.print && ends.stdout_is_terminal => match ends.powers {
                Powers::Screen => Self::Tui,
                Powers::Lines => Self::Plain(somebody_if(ends.stdin_is_terminal)),
            },
            None | Some(PrintMode::Text | PrintMode::Json) => Self::Print,
        }
    }

    /// The word for it in the log.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Tui => "tui",
            Self::Print => "print",
            Self::Rpc(_) => "rpc",
            Self::Plain(_) => "plain",
        }
    }

    /// Whether a person sits before it, so that a run needs no limit and the demo deceives nobody.
    pub(super) const fn has_person(self) -> bool {
        matches!(self, Self::Tui | Self::Plain(Approver::Present))
    }

    pub(super) const fn audience(self) -> Approver {
        match self {
            Self::Tui => Approver::Present,
            Self::Print => Approver::Absent,
            Self::Rpc(audience) | Self::Plain(audience) => audience,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    const TERMINAL: Ends = Ends { stdin_is_terminal: true, stdout_is_terminal: true, powers: Powers::Screen };
    const DUMB: Ends = Ends { powers: Powers::Lines, ..TERMINAL };
    const PIPES: Ends = Ends { stdin_is_terminal: false, stdout_is_terminal: false, powers: Powers::Screen };

    fn chosen(line: &[&str], ends: Ends) -> Front {
        Front::choose(&Arguments::try_parse_from(line).unwrap(), ends)
    }

    #[test]
    fn the_front_end_follows_from_flags_and_terminals() {
        let cases = [
            (vec!["tiller"], TERMINAL, Front::Tui),
            (vec!["tiller"], PIPES, Front::Print),
            (vec!["tiller", "-p"], TERMINAL, Front::Print),
            (vec!["tiller", "--mode", "json"], TERMINAL, Front::Print),
            (vec!["tiller", "--mode", "rpc"], TERMINAL, Front::Rpc(Approver::Absent)),
            (vec!["tiller", "--mode", "rpc", "--approvals"], PIPES, Front::Rpc(Approver::Present)),
            (vec!["tiller", "--plain"], TERMINAL, Front::Plain(Approver::Present)),
            (vec!["tiller", "--plain"], PIPES, Front::Plain(Approver::Absent)),
            (vec!["tiller"], DUMB, Front::Plain(Approver::Present)),
            (vec!["tiller", "-p"], DUMB, Front::Print),
            (vec!["tiller"], Ends { powers: Powers::Lines, ..PIPES }, Front::Print),
        ];
        for (line, ends, front) in cases {
            assert_eq!(chosen(&line, ends), front, "{line:?}");
        }
    }

    #[test]
    fn a_terminal_without_a_name_is_dumb_and_lines_nobody_asked_for_are_explained() {
        for (term, powers) in [
            (None, Powers::Lines),
            (Some(""), Powers::Lines),
            (Some("dumb"), Powers::Lines),
            (Some("xterm"), Powers::Screen),
        ] {
            assert_eq!(Powers::of(term), powers, "{term:?}");
        }
        let excuse = |line: &[&str], ends: Ends| ends.excuse(&Arguments::try_parse_from(line).unwrap());
        assert!(excuse(&["tiller"], DUMB).is_some());
        assert_eq!(excuse(&["tiller", "--plain"], DUMB), None);
        assert_eq!(excuse(&["tiller"], TERMINAL), None);
        assert_eq!(excuse(&["tiller", "-p"], DUMB), None);
    }

    #[test]
    fn flags_of_different_front_ends_exclude_each_other() {
        for line in [["--plain", "--print"], ["--plain", "--mode=json"], ["--approvals", "--print"]] {
            assert!(Arguments::try_parse_from([&["tiller"], &line[..]].concat()).is_err(), "{line:?}");
        }
    }
}
