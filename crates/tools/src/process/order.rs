//! The order that a waiting supervisor reads: the command and its directory.
//!
//! Encoding: the length of the rest as four bytes (big endian), then the directory and the words of the
//! command, separated by NUL. The words are the same as the arguments of a supervisor without standby: the
//! sandbox, if any, the program and its arguments.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// Maximum length of an encoded order, in bytes. An empty pipe accepts this much in one write on every system
/// (Linux 64 KiB, macOS at least 16 KiB), so writing it never blocks.
const MAX_LEN: usize = 16 * 1024;

#[derive(Clone, Copy, Debug)]
pub(super) struct CommandOrder<'a> {
    pub cwd: &'a Path,
    pub words: &'a [OsString],
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct ReceivedOrder {
    pub cwd: PathBuf,
    pub words: Vec<OsString>,
}

impl CommandOrder<'_> {
    /// Encodes the order. Returns `None` if it is longer than [`MAX_LEN`], or contains a NUL.
    pub(super) fn encode(&self) -> Option<Vec<u8>> {
        let words = self.words.iter().map(OsString::as_os_str);
        let parts: Vec<&OsStr> = [self.cwd.as_os_str()].into_iter().chain(words).collect();
        if parts.iter().any(|part| part.as_bytes().contains(&0)) {
            return None;
        }
        let rest = parts.iter().map(|part| part.as_bytes()).collect::<Vec<_>>().join(&0);
        let length = u32::try_from(rest.len()).ok()?;
        let order = [&length.to_be_bytes(), rest.as_slice()].concat();
        Some(order).filter(|order| order.len() <= MAX_LEN)
    }
}

impl ReceivedOrder {
    /// Reads exactly one order; `None` if the other end was closed before.
    ///
    /// # Errors
    /// If reading fails or the order is malformed.
    pub(super) fn read(mut source: impl Read) -> io::Result<Option<Self>> {
        let mut length = [0; 4];
        match source.read_exact(&mut length) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if length > MAX_LEN {
            return Err(io::Error::other("the request is too long"));
        }
        let mut rest = vec![0; length];
        source.read_exact(&mut rest)?;
        let mut parts = rest.split(|byte| *byte == 0).map(|part| OsString::from_vec(part.to_vec()));
        let cwd = parts.next().unwrap_or_default().into();
        let words: Vec<OsString> = parts.collect();
        if words.is_empty() {
            return Err(io::Error::other("the request names no program"));
        }
        Ok(Some(Self { cwd, words }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_encoded_is_read_back_exactly() {
        let words =
            ["/bin/sh".into(), "-c".into(), OsString::from_vec(b"echo \xff\n'a b'".to_vec()), "".into()];
        let order = CommandOrder { cwd: Path::new("/a b"), words: &words };
        let mut bytes = order.encode().unwrap();
        bytes.extend_from_slice(b"more");
        let mut source = bytes.as_slice();
        let received = ReceivedOrder::read(&mut source).unwrap();
        let expected = ReceivedOrder { cwd: "/a b".into(), words: words.into() };
        assert_eq!((received, source), (Some(expected), b"more".as_slice()));
    }

    #[test]
    fn order_too_long_or_with_nul_is_not_encoded() {
        for argument in ["x".repeat(MAX_LEN), "a\0b".to_owned()] {
            let words = ["sh".into(), argument.into()];
            let order = CommandOrder { cwd: Path::new("/"), words: &words };
            assert_eq!(order.encode(), None);
        }
    }

    #[test]
    fn order_closed_early_is_none_or_error() {
        assert_eq!(ReceivedOrder::read(&b""[..]).unwrap(), None);
        assert!(ReceivedOrder::read(&b"\0\0\0\x09/"[..]).is_err());
        assert!(ReceivedOrder::read(&b"\xff\xff\xff\xff/"[..]).is_err());
        assert!(ReceivedOrder::read(&b"\0\0\0\x01/"[..]).is_err());
    }
}
