//! A writer that sanitizes its text for a terminal.

use std::io::{self, Write};

use super::{ControlChars, sanitize};

/// Maximum number of buffered bytes of an unfinished line.
const MAX_BUFFERED: usize = 64 * 1024;

/// Replaces control, bidirectional and invisible characters as [`sanitize`] does. A line is written when it
/// ends, a partial line on flush.
#[derive(Debug)]
pub struct SanitizingWriter<W: Write> {
    inner: W,
    /// The text's end: an unfinished line.
    buffer: Vec<u8>,
}

impl<W: Write> SanitizingWriter<W> {
    /// Creates a writer around `inner`.
    pub fn new(inner: W) -> Self {
        Self { inner, buffer: Vec::new() }
    }

    /// Writes an escape sequence from tiller itself, after the text written so far.
    ///
    /// # Errors
    /// If `inner` fails.
    pub fn write_escape(&mut self, sequence: &'static str) -> io::Result<()> {
        self.write_buffered(self.buffer.len())?;
        self.inner.write_all(sequence.as_bytes())
    }

    fn write_buffered(&mut self, count: usize) -> io::Result<()> {
        if count == 0 {
            return Ok(());
        }
        let bytes: Vec<u8> = self.buffer.drain(..count).collect();
        self.inner.write_all(sanitize(&String::from_utf8_lossy(&bytes), ControlChars::Visible).as_bytes())
    }

    /// Returns the number of buffered bytes, without an incomplete character at the end.
    fn complete_length(&self) -> usize {
        match str::from_utf8(self.buffer.get(self.buffer.len().saturating_sub(3)..).unwrap_or_default()) {
            Ok(_) => self.buffer.len(),
            Err(_) => {
                let is_start = |byte: &u8| *byte >= 0xc0;
                let back = self.buffer.iter().rev().take(3).position(is_start).map_or(0, |at| at + 1);
                let start = self.buffer.len() - back;
                let is_incomplete =
                    str::from_utf8(&self.buffer[start..]).is_err_and(|error| error.error_len().is_none());
                if is_incomplete { start } else { self.buffer.len() }
            }
        }
    }
}

impl<W: Write> Write for SanitizingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        let whole_lines = memchr::memrchr(b'\n', &self.buffer).map_or(0, |at| at + 1);
        self.write_buffered(whole_lines)?;
        if self.buffer.len() > MAX_BUFFERED {
            self.write_buffered(self.complete_length())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_buffered(self.complete_length())?;
        self.inner.flush()
    }
}

impl<W: Write> Drop for SanitizingWriter<W> {
    fn drop(&mut self) {
        let _ = self.write_buffered(self.buffer.len());
        let _ = self.inner.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn output(pieces: &[&[u8]]) -> String {
        let mut out = Vec::new();
        let mut writer = SanitizingWriter::new(&mut out);
        for piece in pieces {
            writer.write_all(piece).unwrap();
            writer.flush().unwrap();
        }
        drop(writer);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn sanitizing_writer_attacks_are_shown() {
        for (attack, expected) in [
            ("\u{1b}]52;c;aGk=\u{7}", "␛]52;c;aGk=␇"),
            ("\u{1b}]0;title\u{1b}\\", "␛]0;title␛\\"),
            ("\u{1b}P+q544e\u{1b}\\", "␛P+q544e␛\\"),
            ("\u{1b}[2J\u{1b}[H", "␛[2J␛[H"),
            ("\u{9b}31m\u{9d}0;x\u{9c}", "<U+009B>31m<U+009D>0;x<U+009C>"),
            ("\u{202e}txt.exe\u{2066}", "<U+202E>txt.exe<U+2066>"),
            ("a\u{200b}b\u{ad}c", "a<U+200B>b<U+00AD>c"),
            ("over\rwritten\u{8}", "over␍written␈"),
        ] {
            assert_eq!(output(&[attack.as_bytes()]), expected);
            let bytes: Vec<&[u8]> = attack.as_bytes().chunks(1).collect();
            assert_eq!(output(&bytes), expected, "byte by byte");
        }
    }

    #[test]
    fn sanitizing_writer_plain_text_passes() {
        let text = "Größe 字 🙂 é\n> ";
        assert_eq!(output(&[text.as_bytes()]), text);
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(output(&bytes), text);
        assert_eq!(output(&[b"\xff\xc3"]), "\u{fffd}\u{fffd}");
    }

    #[test]
    fn sanitizing_writer_own_escapes_keep_their_place() {
        let mut out = Vec::new();
        let mut writer = SanitizingWriter::new(&mut out);
        writer.write_all(b"a \x1b[1m").unwrap();
        writer.write_escape("\u{1b}[1m").unwrap();
        writer.write_all(b"b").unwrap();
        drop(writer);
        assert_eq!(String::from_utf8(out).unwrap(), "a ␛[1m\u{1b}[1mb");
    }
}
