//! The supervisor's exit report: one line, `code 0 leftovers 2`, `signal 9 leftovers 0` or `failed REASON`.

use super::exit::{Exit, ExitStatus};

/// The result of a supervised command.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ExitReport {
    /// The command ran and ended.
    Ended(Exit),
    /// The command could not be run.
    Failed(String),
}

impl ExitReport {
    pub(super) fn encode(&self) -> String {
        match self {
            Self::Ended(Exit { status, leftovers }) => {
                let (kind, number) = match status {
                    ExitStatus::Code(code) => ("code", code),
                    ExitStatus::Signal(signal) => ("signal", signal),
                };
                format!("{kind} {number} leftovers {leftovers}\n")
            }
            Self::Failed(reason) => format!("failed {}\n", reason.replace('\n', " ")),
        }
    }

    /// Parses the report at the end of the supervisor's stderr; `None` when it is missing or incomplete.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let line = text.strip_suffix('\n')?.rsplit('\n').next()?;
        if let Some(reason) = line.strip_prefix("failed ") {
            return Some(Self::Failed(reason.to_owned()));
        }
        let words: Vec<&str> = line.split(' ').collect();
        let [kind, number, "leftovers", leftovers] = words[..] else { return None };
        let number = number.parse().ok()?;
        let status = match kind {
            "code" => ExitStatus::Code(number),
            "signal" => ExitStatus::Signal(number),
            _ => return None,
        };
        Some(Self::Ended(Exit { status, leftovers: leftovers.parse().ok()? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_report_encoded_is_parsed_back() {
        for report in [
            ExitReport::Ended(Exit { status: ExitStatus::Code(3), leftovers: 0 }),
            ExitReport::Ended(Exit { status: ExitStatus::Signal(9), leftovers: 2 }),
            ExitReport::Failed("no such shell".into()),
        ] {
            assert_eq!(ExitReport::parse(&format!("a program's words\n{}", report.encode())), Some(report));
        }
    }

    #[test]
    fn exit_report_torn_is_none() {
        for text in ["", "code", "code 1 leftovers 0", "thread main panicked\n", "code x leftovers 0\n"] {
            assert_eq!(ExitReport::parse(text), None, "{text:?}");
        }
    }
}
