//! The user's shell commands that are refused: programs that need a terminal, and a lone `cd`. Pure.

/// The reason to refuse a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandRefusal {
    /// This program needs its own terminal.
    NeedsTerminal(String),
    /// The command only changes the directory of its own shell.
    OnlyChangesDirectory,
}

/// The condition under which a program needs a terminal.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TerminalNeed {
    /// Always, except with one of these arguments.
    Unless(&'static [&'static str]),
    /// If its output isn't redirected.
    Output,
    /// If nothing follows its name.
    Alone,
    /// If no command follows the host.
    WithoutCommand,
}

/// Interactive programs.
const PROGRAMS: &[(&str, TerminalNeed)] = &[
    ("vim", TerminalNeed::Unless(&["-es", "-Es"])),
    ("vi", TerminalNeed::Unless(&["-es", "-Es"])),
    ("nvim", TerminalNeed::Unless(&["-es", "-Es", "--headless"])),
    ("nano", TerminalNeed::Unless(&[])),
    ("emacs", TerminalNeed::Unless(&["--batch", "-batch", "--script"])),
    ("less", TerminalNeed::Output),
    ("more", TerminalNeed::Output),
    ("man", TerminalNeed::Output),
    ("top", TerminalNeed::Unless(&["-b", "-bn1", "-l"])),
    ("htop", TerminalNeed::Unless(&[])),
    ("tmux", TerminalNeed::Alone),
    ("screen", TerminalNeed::Alone),
    ("bash", TerminalNeed::Alone),
    ("sh", TerminalNeed::Alone),
    ("zsh", TerminalNeed::Alone),
    ("fish", TerminalNeed::Alone),
    ("python", TerminalNeed::Alone),
    ("python3", TerminalNeed::Alone),
    ("node", TerminalNeed::Alone),
    ("irb", TerminalNeed::Alone),
    ("psql", TerminalNeed::Alone),
    ("mysql", TerminalNeed::Alone),
    ("sqlite3", TerminalNeed::Alone),
    ("ssh", TerminalNeed::WithoutCommand),
];

/// Options of `ssh` that take a value (OpenSSH 9.9, ssh(1)).
const SSH_WITH_VALUE: &str = "BbcDEeFIiJLlmOoPpQRSWw";

/// Returns the reason to refuse a command line; only its first word counts.
#[must_use]
pub fn unrunnable(line: &str) -> Option<CommandRefusal> {
    let line = line.trim();
    let end = line.find(['|', ';', '&', '<', '>', '\n']).unwrap_or(line.len());
    let (command, rest) = line.split_at(end);
    let mut words = command.split_whitespace();
    let first = words.next()?;
    let arguments: Vec<&str> = words.collect();
    if first == "cd" {
        return rest.is_empty().then_some(CommandRefusal::OnlyChangesDirectory);
    }
    let name = first.rsplit('/').next().unwrap_or(first);
    let (_, needs) = PROGRAMS.iter().find(|(program, _)| *program == name)?;
    let is_redirected = rest.starts_with(['<', '>']) || rest.starts_with('|') && !rest.starts_with("||");
    let only_prints_info = arguments.iter().any(|argument| matches!(*argument, "--version" | "--help"));
    let is_interactive = !only_prints_info
        && match needs {
            TerminalNeed::Unless(batch) => !arguments.iter().any(|argument| batch.contains(argument)),
            TerminalNeed::Output => !is_redirected,
            TerminalNeed::Alone => arguments.is_empty() && !is_redirected,
            TerminalNeed::WithoutCommand => !is_redirected && is_ssh_without_command(&arguments),
        };
    is_interactive.then(|| CommandRefusal::NeedsTerminal(name.to_owned()))
}

/// Returns true if the arguments of `ssh` name at most a host, and no mode without a shell.
fn is_ssh_without_command(arguments: &[&str]) -> bool {
    let mut operands = 0;
    let mut words = arguments.iter();
    while let Some(argument) = words.next() {
        match argument.strip_prefix('-') {
            Some(option) if option.starts_with(['N', 'f', 'V', 'G', 'Q', 'O', 'T']) => return false,
            Some(option) => {
                // `-p 22` takes the next word, `-p22` doesn't.
                if option.len() == 1 && option.chars().all(|letter| SSH_WITH_VALUE.contains(letter)) {
                    words.next();
                }
            }
            None => operands += 1,
        }
    }
    operands < 2
}

impl CommandRefusal {
    /// Returns the message for the user; `other_place` names a place where the program can run.
    #[must_use]
    pub fn message(&self, other_place: &str) -> String {
        match self {
            Self::NeedsTerminal(program) => {
                format!("not run: {program} is interactive; run it {other_place}")
            }
            Self::OnlyChangesDirectory => "not run: each command starts in the session's directory, so cd \
                has no effect on the next one; write cd DIR && COMMAND, or start tiller with --cwd DIR"
                .to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unrunnable_interactive_programs_are_refused() {
        let cases = [
            "vim x",
            "/usr/bin/vi",
            "nvim",
            "nano a b",
            "emacs -nw x",
            "less x",
            "man ls",
            "top",
            "htop -d 5",
            "python",
            "python3",
            "node",
            "ssh host",
            "ssh -p 22 host",
            "ssh -i key -A me@host",
            "ssh",
            "  vim x; ls",
            "vim x && ls",
            "less x || true",
        ];
        for line in cases {
            assert!(matches!(unrunnable(line), Some(CommandRefusal::NeedsTerminal(_))), "{line}");
        }
    }

    #[test]
    fn unrunnable_commands_that_end_by_themselves_are_allowed() {
        let cases = [
            "",
            "ls",
            "git log",
            "vim --version",
            "nvim --headless +q",
            "emacs --batch x",
            "less x | head",
            "man ls > ls.txt",
            "top -b -n 1",
            "python x.py",
            "python -c 'print(1)'",
            "python < x.py",
            "node x.js",
            "ssh host uptime",
            "ssh -p 22 host ls -l",
            "ssh -N host",
            "ssh host < x.sh",
            "echo vim",
            "vimdiff.sh",
            "cargo test; vim x",
            "cd src && ls",
            "cd src; ls",
            "cdx",
        ];
        for line in cases {
            assert_eq!(unrunnable(line), None, "{line}");
        }
    }

    #[test]
    fn unrunnable_lone_cd_is_refused() {
        for line in ["cd", "cd src", " cd .. "] {
            assert_eq!(unrunnable(line), Some(CommandRefusal::OnlyChangesDirectory), "{line}");
        }
    }
}
