//! Which front end a command line asks for, and what follows from that.

use std::io::{self, IsTerminal};

use super::args::{CliArgs, PrintMode};
use crate::agent::Approver;
use crate::config::Environment;

/// Who will watch the session, and whether somebody there answers questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrontEnd {
    Tui,
    Print,
    Rpc(Approver),
    Plain(Approver),
}

/// What stands at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stdio {
    pub(super) stdin_is_terminal: bool,
    pub(super) stdout_is_terminal: bool,
    pub(super) powers: TermKind,
}

/// What a terminal can show, going by its name in `TERM`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TermKind {
    /// A screen that is drawn anew.
    Screen,
    /// Lines, and nothing else is known of it: it has no name, or is called dumb.
    Lines,
}

impl TermKind {
    fn of(term: Option<&str>) -> Self {
        match term {
            None | Some("" | "dumb") => Self::Lines,
            Some(_) => Self::Screen,
        }
    }
}

impl Stdio {
    pub(super) fn of_process() -> Self {
        Self {
            stdin_is_terminal: io::stdin().is_terminal(),
            stdout_is_terminal: io::stdout().is_terminal(),
            powers: TermKind::of(Environment::of_process().value("TERM")),
        }
    }

    /// Why there is no screen though nobody asked for lines; `None` where there is one, or was to be none.
    pub(super) fn excuse(self, arguments: &CliArgs) -> Option<&'static str> {
        let fell_back =
            matches!(FrontEnd::choose(arguments, self), FrontEnd::Plain(_)) && !arguments.print.plain;
        fell_back.then_some(
            "this terminal can't show a screen (TERM is dumb or not set): going on as with --plain",
        )
    }
}

impl FrontEnd {
    pub(super) fn choose(arguments: &CliArgs, ends: Stdio) -> Self {
        let somebody_if = |there| if there { Approver::Present } else { Approver::Absent };
        match arguments.print.mode {
            Some(PrintMode::Rpc) => Self::Rpc(somebody_if(arguments.print.approvals)),
            _ if arguments.print.plain => Self::Plain(somebody_if(ends.stdin_is_terminal)),
            None if !arguments.print.print && ends.stdout_is_terminal => match ends.powers {
                TermKind::Screen => Self::Tui,
                TermKind::Lines => Self::Plain(somebody_if(ends.stdin_is_terminal)),
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

    const TERMINAL: Stdio =
        Stdio { stdin_is_terminal: true, stdout_is_terminal: true, powers: TermKind::Screen };
    const DUMB: Stdio = Stdio { powers: TermKind::Lines, ..TERMINAL };
    const PIPES: Stdio =
        Stdio { stdin_is_terminal: false, stdout_is_terminal: false, powers: TermKind::Screen };

    fn chosen(line: &[&str], ends: Stdio) -> FrontEnd {
        FrontEnd::choose(&CliArgs::try_parse_from(line).unwrap(), ends)
    }

    #[test]
    fn the_front_end_follows_from_flags_and_terminals() {
        let cases = [
            (vec!["tiller"], TERMINAL, FrontEnd::Tui),
            (vec!["tiller"], PIPES, FrontEnd::Print),
            (vec!["tiller", "-p"], TERMINAL, FrontEnd::Print),
            (vec!["tiller", "--mode", "json"], TERMINAL, FrontEnd::Print),
            (vec!["tiller", "--mode", "rpc"], TERMINAL, FrontEnd::Rpc(Approver::Absent)),
            (vec!["tiller", "--mode", "rpc", "--approvals"], PIPES, FrontEnd::Rpc(Approver::Present)),
            (vec!["tiller", "--plain"], TERMINAL, FrontEnd::Plain(Approver::Present)),
            (vec!["tiller", "--plain"], PIPES, FrontEnd::Plain(Approver::Absent)),
            (vec!["tiller"], DUMB, FrontEnd::Plain(Approver::Present)),
            (vec!["tiller", "-p"], DUMB, FrontEnd::Print),
            (vec!["tiller"], Stdio { powers: TermKind::Lines, ..PIPES }, FrontEnd::Print),
        ];
        for (line, ends, front) in cases {
            assert_eq!(chosen(&line, ends), front, "{line:?}");
        }
    }

    #[test]
    fn a_terminal_without_a_name_is_dumb_and_lines_nobody_asked_for_are_explained() {
        for (term, powers) in [
            (None, TermKind::Lines),
            (Some(""), TermKind::Lines),
            (Some("dumb"), TermKind::Lines),
            (Some("xterm"), TermKind::Screen),
        ] {
            assert_eq!(TermKind::of(term), powers, "{term:?}");
        }
        let excuse = |line: &[&str], ends: Stdio| ends.excuse(&CliArgs::try_parse_from(line).unwrap());
        assert!(excuse(&["tiller"], DUMB).is_some());
        assert_eq!(excuse(&["tiller", "--plain"], DUMB), None);
        assert_eq!(excuse(&["tiller"], TERMINAL), None);
        assert_eq!(excuse(&["tiller", "-p"], DUMB), None);
    }

    #[test]
    fn flags_of_different_front_ends_exclude_each_other() {
        for line in [["--plain", "--print"], ["--plain", "--mode=json"], ["--approvals", "--print"]] {
            assert!(CliArgs::try_parse_from([&["tiller"], &line[..]].concat()).is_err(), "{line:?}");
        }
    }
}
