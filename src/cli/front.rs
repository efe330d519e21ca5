//! Which front end a command line asks for, and what follows from that.

use std::io::{self, IsTerminal};

use super::args::{Arguments, PrintMode};
use crate::agent::Audience;

/// Who will watch the session, and whether somebody there answers questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Front {
    Tui,
    Print,
    Rpc(Audience),
    Plain(Audience),
}

/// What stands at both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ends {
    pub(super) stdin_is_terminal: bool,
    pub(super) stdout_is_terminal: bool,
}

impl Ends {
    pub(super) fn of_process() -> Self {
        Self { stdin_is_terminal: io::stdin().is_terminal(), stdout_is_terminal: io::stdout().is_terminal() }
    }
}

impl Front {
    pub(super) fn choose(arguments: &Arguments, ends: Ends) -> Self {
        let somebody_if = |there| if there { Audience::Somebody } else { Audience::Nobody };
        match arguments.print.mode {
            Some(PrintMode::Rpc) => Self::Rpc(somebody_if(arguments.print.approvals)),
            _ if arguments.print.plain => Self::Plain(somebody_if(ends.stdin_is_terminal)),
            None if !arguments.print.print && ends.stdout_is_terminal => Self::Tui,
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
        matches!(self, Self::Tui | Self::Plain(Audience::Somebody))
    }

    pub(super) const fn audience(self) -> Audience {
        match self {
            Self::Tui => Audience::Somebody,
            Self::Print => Audience::Nobody,
            Self::Rpc(audience) | Self::Plain(audience) => audience,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    const TERMINAL: Ends = Ends { stdin_is_terminal: true, stdout_is_terminal: true };
    const PIPES: Ends = Ends { stdin_is_terminal: false, stdout_is_terminal: false };

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
            (vec!["tiller", "--mode", "rpc"], TERMINAL, Front::Rpc(Audience::Nobody)),
            (vec!["tiller", "--mode", "rpc", "--approvals"], PIPES, Front::Rpc(Audience::Somebody)),
            (vec!["tiller", "--plain"], TERMINAL, Front::Plain(Audience::Somebody)),
            (vec!["tiller", "--plain"], PIPES, Front::Plain(Audience::Nobody)),
        ];
        for (line, ends, front) in cases {
            assert_eq!(chosen(&line, ends), front, "{line:?}");
        }
    }

    #[test]
    fn flags_of_different_front_ends_exclude_each_other() {
        for line in [["--plain", "--print"], ["--plain", "--mode=json"], ["--approvals", "--print"]] {
            assert!(Arguments::try_parse_from([&["tiller"], &line[..]].concat()).is_err(), "{line:?}");
        }
    }
}
