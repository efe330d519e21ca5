//! A writer that lets no control character through to a terminal.

use std::io::{self, Write};

use super::{ControlChars, sanitize};

/// Bytes of an unfinished line that are held back at most.
const LONGEST_HELD: usize = 64 * 1024;

/// Shows control, bidirectional and invisible characters as [`clean`] does, instead of sending them. Text is passed on at
/// each line's end, and what there is of a line when flushed.
#[derive(Debug)]
pub struct SanitizingWriter<W: Write> {
    inner: W,
    /// The end of what was written: an unfinished line.
    held: Vec<u8>,
}

impl<W: Write> SanitizingWriter<W> {
    /// A writer that passes its text on to `inner`.
    pub fn new(inner: W) -> Self {
        Self { inner, held: Vec::new() }
    }

    /// Passes on an escape sequence of tiller's own, after what was written before.
    ///
    /// # Errors
    /// When `inner` fails.
    pub fn write_escape(&mut self, sequence: &'static str) -> io::Result<()> {
        self.pass_on(self.held.len())?;
        self.inner.write_all(sequence.as_bytes())
    }

    fn pass_on(&mut self, count: usize) -> io::Result<()> {
        if count == 0 {
            return Ok(());
        }
        let bytes: Vec<u8> = self.held.drain(..count).collect();
        self.inner.write_all(sanitize(&String::from_utf8_lossy(&bytes), ControlChars::Visible).as_bytes())
    }

    /// Bytes before a character at the end that is cut off.
    fn complete(&self) -> usize {
        match str::from_utf8(self.held.get(self.held.len().saturating_sub(3)..).unwrap_or_default()) {
            Ok(_) => self.held.len(),
            Err(_) => {
                let is_start = |byte: &u8| *byte >= 0xc0;
                let back = self.held.iter().rev().take(3).position(is_start).map_or(0, |at| at + 1);
                let start = self.held.len() - back;
                let is_cut =
                    str::from_utf8(&self.held[start..]).is_err_and(|error| error.error_len().is_none());
                if is_cut { start } else { self.held.len() }
            }
        }
    }
}

impl<W: Write> Write for SanitizingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.held.extend_from_slice(bytes);
        let whole_lines = memchr::memrchr(b'\n', &self.held).map_or(0, |at| at + 1);
        self.pass_on(whole_lines)?;
        if self.held.len() > LONGEST_HELD {
            self.pass_on(self.complete())?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pass_on(self.complete())?;
        self.inner.flush()
    }
}

impl<W: Write> Drop for SanitizingWriter<W> {
    fn drop(&mut self) {
        let _ = self.pass_on(self.held.len());
        let _ = self.inner.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(pieces: &[&[u8]]) -> String {
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
        for (attack, shown) in [
            ("\u{1b}]52;c;aGk=\u{7}", "␛]52;c;aGk=␇"),
            ("\u{1b}]0;title\u{1b}\\", "␛]0;title␛\\"),
            ("\u{1b}P+q544e\u{1b}\\", "␛P+q544e␛\\"),
            ("\u{1b}[2J\u{1b}[H", "␛[2J␛[H"),
            ("\u{9b}31m\u{9d}0;x\u{9c}", "<U+009B>31m<U+009D>0;x<U+009C>"),
            ("\u{202e}txt.exe\u{2066}", "<U+202E>txt.exe<U+2066>"),
            ("a\u{200b}b\u{ad}c", "a<U+200B>b<U+00AD>c"),
            ("over\rwritten\u{8}", "over␍written␈"),
        ] {
            assert_eq!(written(&[attack.as_bytes()]), shown);
            let bytes: Vec<&[u8]> = attack.as_bytes().chunks(1).collect();
            assert_eq!(written(&bytes), shown, "byte by byte");
        }
    }

    #[test]
    fn sanitizing_writer_plain_text_passes() {
        let text = "Größe 字 🙂 é\n> ";
        assert_eq!(written(&[text.as_bytes()]), text);
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(written(&bytes), text);
        assert_eq!(written(&[b"\xff\xc3"]), "\u{fffd}\u{fffd}");
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
