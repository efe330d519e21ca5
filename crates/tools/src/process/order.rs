//! The order that a waiting supervisor reads: the command and its folder.
//!
//! Encoding: the length of the rest as four bytes (big endian), then the folder, the program and its arguments,
//! separated by NUL.

use std::ffi::{OsStr, OsString};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// Maximum length of an encoded order, in bytes. An empty pipe accepts this much at once on every system (Linux 64 KiB,
/// macOS at least 16 KiB), so writing it never blocks.
const MAX_LEN: usize = 16 * 1024;

/// A command for a supervisor, to be encoded.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommandOrder<'a> {
    pub cwd: &'a Path,
    pub program: &'a OsStr,
    pub arguments: &'a [OsString],
}

/// A decoded order.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ReceivedOrder {
    pub cwd: PathBuf,
    pub program: OsString,
    pub arguments: Vec<OsString>,
}

impl CommandOrder<'_> {
    /// Encodes the order. Returns `None` if it is longer than [`MAX_LEN`], or contains a NUL.
    pub(super) fn encode(&self) -> Option<Vec<u8>> {
        let mut parts = vec![self.cwd.as_os_str(), self.program];
        parts.extend(self.arguments.iter().map(OsString::as_os_str));
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
    /// Reads exactly one order; `None` if the other end was closed before it.
    ///
    /// # Errors
    /// When reading fails or the order is malformed.
    pub(super) fn read(mut source: impl Read) -> io::Result<Option<Self>> {
        let mut length = [0; 4];
        match source.read_exact(&mut length) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            Err(error) => return Err(error),
        }
        let length = usize::try_from(u32::from_be_bytes(length)).unwrap_or(usize::MAX);
        if length > MAX_LEN {
            return Err(io::Error::other("the order is too long"));
        }
        let mut rest = vec![0; length];
        source.read_exact(&mut rest)?;
        let mut parts = rest.split(|byte| *byte == 0).map(|part| OsString::from_vec(part.to_vec()));
        let cwd = parts.next().unwrap_or_default().into();
        let program = parts.next().ok_or_else(|| io::Error::other("the order names no program"))?;
        Ok(Some(Self { cwd, program, arguments: parts.collect() }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_encoded_is_read_back_exactly() {
        let arguments = ["-c".into(), OsString::from_vec(b"echo \xff\n'a b'".to_vec()), "".into()];
        let order =
            CommandOrder { cwd: Path::new("/a b"), program: OsStr::new("/bin/sh"), arguments: &arguments };
        let mut bytes = order.encode().unwrap();
        bytes.extend_from_slice(b"more");
        let mut source = bytes.as_slice();
        let received = ReceivedOrder::read(&mut source).unwrap();
        let expected =
            ReceivedOrder { cwd: "/a b".into(), program: "/bin/sh".into(), arguments: arguments.into() };
        assert_eq!((received, source), (Some(expected), b"more".as_slice()));
    }

    #[test]
    fn order_too_long_or_with_nul_is_not_encoded() {
        for argument in ["x".repeat(MAX_LEN), "a\0b".to_owned()] {
            let arguments = [argument.into()];
            let order =
                CommandOrder { cwd: Path::new("/"), program: OsStr::new("sh"), arguments: &arguments };
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
