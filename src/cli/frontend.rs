//! The choice of the front end from flags and the terminal.

use std::io::{self, IsTerminal};

use super::args::{CliArgs, PrintMode};
use crate::agent::Approver;
use crate::config::Environment;

/// A front end, and whether it can answer approval requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrontEnd {
    Tui,
    Print,
    Rpc(Approver),
    Plain(Approver),
    /// `tiller serve`.
    Server,
}

/// The process's standard streams and terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stdio {
    pub(super) stdin_is_terminal: bool,
    pub(super) stdout_is_terminal: bool,
    pub(super) term_kind: TermKind,
}

/// The display capability of the terminal, derived from `TERM`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TermKind {
    /// Full-screen drawing.
    Screen,
    /// Lines only: `TERM` is unset, empty or `dumb`.
    Lines,
}

impl TermKind {
    fn from_term(term: Option<&str>) -> Self {
        match term {
            None | Some("" | "dumb") => Self::Lines,
            Some(_) => Self::Screen,
        }
    }
}

impl Stdio {
    pub(super) fn from_process() -> Self {
        Self {
            stdin_is_terminal: io::stdin().is_terminal(),
            stdout_is_terminal: io::stdout().is_terminal(),
            term_kind: TermKind::from_term(Environment::of_process().value("TERM")),
        }
    }

    /// Returns the notice about a fallback to `--plain` that wasn't requested.
    pub(super) fn fallback_notice(self, arguments: &CliArgs) -> Option<&'static str> {
        let fell_back =
            matches!(FrontEnd::choose(arguments, self), FrontEnd::Plain(_)) && !arguments.print.plain;
        fell_back
            .then_some("this terminal can't show the TUI (TERM is dumb or unset); continuing as with --plain")
    }
}

impl FrontEnd {
    pub(super) fn choose(arguments: &CliArgs, stdio: Stdio) -> Self {
        let approver_if = |is_present| if is_present { Approver::Present } else { Approver::Absent };
        match arguments.print.mode {
            Some(PrintMode::Rpc) => Self::Rpc(approver_if(arguments.print.approvals)),
            _ if arguments.print.plain => Self::Plain(approver_if(stdio.stdin_is_terminal)),
            None if !arguments.print.print && stdio.stdout_is_terminal => match stdio.term_kind {
                TermKind::Screen => Self::Tui,
                TermKind::Lines => Self::Plain(approver_if(stdio.stdin_is_terminal)),
            },
            None | Some(PrintMode::Text | PrintMode::Json) => Self::Print,
        }
    }

    /// Returns the front end's name for the session log.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Tui => "tui",
            Self::Print => "print",
            Self::Rpc(_) => "rpc",
            Self::Plain(_) => "plain",
            Self::Server => "server",
        }
    }

    /// Returns true if a person watches: then runs need no limit.
    pub(super) const fn has_person(self) -> bool {
        matches!(self, Self::Tui | Self::Plain(Approver::Present))
    }

    /// Returns true if a session without a usable model gets the demo, whose answers say so. A script must not pass on
    /// canned answers; a client of the server is usually a page, and gets the model's name in any case.
    pub(super) const fn accepts_demo(self) -> bool {
        self.has_person() || matches!(self, Self::Server)
    }

    pub(super) const fn audience(self) -> Approver {
        match self {
            Self::Tui | Self::Server => Approver::Present,
            Self::Print => Approver::Absent,
            Self::Rpc(approver) | Self::Plain(approver) => approver,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    const TERMINAL: Stdio =
        Stdio { stdin_is_terminal: true, stdout_is_terminal: true, term_kind: TermKind::Screen };
    const DUMB: Stdio = Stdio { term_kind: TermKind::Lines, ..TERMINAL };
    const PIPES: Stdio =
        Stdio { stdin_is_terminal: false, stdout_is_terminal: false, term_kind: TermKind::Screen };

    fn front_end(line: &[&str], stdio: Stdio) -> FrontEnd {
        FrontEnd::choose(&CliArgs::try_parse_from(line).unwrap(), stdio)
    }

    #[test]
    fn front_end_follows_flags_and_terminal() {
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
            (vec!["tiller"], Stdio { term_kind: TermKind::Lines, ..PIPES }, FrontEnd::Print),
        ];
        for (line, stdio, front) in cases {
            assert_eq!(front_end(&line, stdio), front, "{line:?}");
        }
    }

    #[test]
    fn stdio_dumb_terminal_gets_fallback_notice() {
        for (term, term_kind) in [
            (None, TermKind::Lines),
            (Some(""), TermKind::Lines),
            (Some("dumb"), TermKind::Lines),
            (Some("xterm"), TermKind::Screen),
        ] {
            assert_eq!(TermKind::from_term(term), term_kind, "{term:?}");
        }
        let fallback_notice =
            |line: &[&str], stdio: Stdio| stdio.fallback_notice(&CliArgs::try_parse_from(line).unwrap());
        assert!(fallback_notice(&["tiller"], DUMB).is_some());
        assert_eq!(fallback_notice(&["tiller", "--plain"], DUMB), None);
        assert_eq!(fallback_notice(&["tiller"], TERMINAL), None);
        assert_eq!(fallback_notice(&["tiller", "-p"], DUMB), None);
    }

    #[test]
    fn front_end_flags_exclude_each_other() {
        for line in [["--plain", "--print"], ["--plain", "--mode=json"], ["--approvals", "--print"]] {
            assert!(CliArgs::try_parse_from([&["tiller"], &line[..]].concat()).is_err(), "{line:?}");
        }
    }
}
