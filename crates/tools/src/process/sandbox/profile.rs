//! The profile of a command's sandbox, its encoding for the supervisor, and the restrictions that systems
//! support.

use std::ffi::{OsStr, OsString};
use std::iter::Peekable;
use std::path::PathBuf;

/// The word before a profile.
const SANDBOX: &str = "--sandbox";

/// The rights of a command in the sandbox. Reading isn't restricted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxProfile {
    /// Directories and files that may be written to. Paths that don't exist when the command starts are
    /// ignored.
    pub writable: Vec<PathBuf>,
    /// Use of TCP.
    pub network: NetworkAccess,
}

/// Use of TCP by a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NetworkAccess {
    /// TCP connections and servers are denied, if the kernel supports that.
    #[default]
    Denied,
    /// TCP isn't restricted.
    Allowed,
}

/// The restrictions that the system supports for commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SandboxSupport {
    /// No restrictions.
    Missing,
    /// Landlock, with the version of its interface, as far as tiller distinguishes versions.
    Landlock {
        /// At least 2, the first version that allows moving files between directories.
        abi: u32,
    },
    /// macOS's `sandbox-exec`.
    Seatbelt,
}

impl SandboxSupport {
    /// Returns true if writes can be restricted.
    #[must_use]
    pub fn restricts_writing(self) -> bool {
        self != Self::Missing
    }

    /// Returns true if TCP can be denied.
    #[must_use]
    pub fn restricts_tcp(self) -> bool {
        match self {
            Self::Missing => false,
            // Linux 6.7.
            Self::Landlock { abi } => abi >= 4,
            Self::Seatbelt => true,
        }
    }
}

impl NetworkAccess {
    const fn word(self) -> &'static str {
        match self {
            Self::Denied => "no-tcp",
            Self::Allowed => "tcp",
        }
    }

    fn parse(word: &OsStr) -> Option<Self> {
        [Self::Denied, Self::Allowed].into_iter().find(|access| word == access.word())
    }
}

impl SandboxProfile {
    /// Returns the words for the supervisor: `--sandbox no-tcp COUNT PATH…`.
    pub(in crate::process) fn words(&self) -> Vec<OsString> {
        let count = self.writable.len().to_string();
        let head = [SANDBOX, self.network.word(), &count].map(OsString::from);
        let paths = self.writable.iter().map(|path| path.clone().into_os_string());
        head.into_iter().chain(paths).collect()
    }

    /// Takes a profile from the front of the words, if there is one.
    ///
    /// # Errors
    /// If it is malformed.
    pub(in crate::process) fn take(
        words: &mut Peekable<impl Iterator<Item = OsString>>,
    ) -> Result<Option<Self>, &'static str> {
        const MALFORMED: &str = "malformed sandbox profile";
        if words.next_if(|word| word == SANDBOX).is_none() {
            return Ok(None);
        }
        let network = words.next().and_then(|word| NetworkAccess::parse(&word)).ok_or(MALFORMED)?;
        let count = words.next().and_then(|word| word.to_str()?.parse().ok()).ok_or(MALFORMED)?;
        let writable: Vec<PathBuf> = words.take(count).map(PathBuf::from).collect();
        if writable.len() == count { Ok(Some(Self { writable, network })) } else { Err(MALFORMED) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profile_words_are_taken_back_before_the_program() {
        for (writable, network) in
            [(vec!["/a b".into(), "/tmp".into()], NetworkAccess::Denied), (vec![], NetworkAccess::Allowed)]
        {
            let profile = SandboxProfile { writable, network };
            let mut words = profile.words().into_iter().chain(["sh".into(), SANDBOX.into()]).peekable();
            assert_eq!(SandboxProfile::take(&mut words), Ok(Some(profile)));
            assert_eq!(words.collect::<Vec<_>>(), ["sh", SANDBOX]);
        }
    }

    #[test]
    fn profile_malformed_is_an_error() {
        for words in ["--sandbox", "--sandbox all 0 sh", "--sandbox tcp -1 sh", "--sandbox tcp 3 /a /b"] {
            let mut words = words.split(' ').map(OsString::from).peekable();
            assert!(SandboxProfile::take(&mut words).is_err());
        }
        let mut words = ["sh"].map(OsString::from).into_iter().peekable();
        assert_eq!(SandboxProfile::take(&mut words), Ok(None));
    }
}
