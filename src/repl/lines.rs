//! Reads lines from stdin. A line that ends in a backslash continues on the next one. The length of a line is
//! limited.

use std::io::{BufRead, BufReader, Read};

use tokio::sync::mpsc;

/// Capacity for lines read ahead, more than a person types ahead.
const MAX_QUEUED_LINES: usize = 64;

/// Maximum length of a line in bytes, including continuations: several times the largest context window.
const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// A line, or an error if it is too long.
pub(super) type LineResult = Result<String, LineTooLong>;

/// The error for a line that exceeds the limit.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("line longer than {} MiB ignored; attach a file to the prompt instead", MAX_LINE_BYTES / 1024 / 1024)]
pub(super) struct LineTooLong;

/// Starts a reader thread, because a blocking read of stdin can't be canceled.
pub(super) fn read(input: impl Read + Send + 'static) -> mpsc::Receiver<LineResult> {
    let (sender, lines) = mpsc::channel(MAX_QUEUED_LINES);
    std::thread::spawn(move || {
        let mut input = BufReader::new(input);
        while let Some(line) = next(&mut input, MAX_LINE_BYTES) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// Reads the next line without its line feed; `None` at the end of input or after a read error.
fn next(input: &mut impl BufRead, max_bytes: usize) -> Option<LineResult> {
    let mut partial: Option<LineResult> = None;
    loop {
        let Some(piece) = piece(input, max_bytes) else { return partial };
        let continues = piece.continues;
        let line = partial.take().unwrap_or_else(|| Ok(String::new()));
        let line = line.and_then(|line| {
            let text = piece.text?;
            if line.len() + text.len() > max_bytes { Err(LineTooLong) } else { Ok(line + &text) }
        });
        if !continues {
            return Some(line);
        }
        partial = Some(line.map(|line| line + "\n"));
    }
}

/// A piece of a line: text before a line feed, without a backslash at its end.
struct LinePiece {
    text: LineResult,
    continues: bool,
}

/// Reads up to a line feed. If the line is too long, only its end is kept, which shows whether it continues.
fn piece(input: &mut impl BufRead, max_bytes: usize) -> Option<LinePiece> {
    let (mut bytes, mut is_too_long) = (Vec::new(), false);
    loop {
        let limit = u64::try_from(max_bytes).unwrap_or(u64::MAX).saturating_add(1);
        let length = input.by_ref().take(limit).read_until(b'\n', &mut bytes).unwrap_or_default();
        if length == 0 && bytes.is_empty() {
            return None;
        }
        if length == 0 || bytes.ends_with(b"\n") {
            break;
        }
        if bytes.len() > max_bytes {
            is_too_long = true;
            bytes.drain(..bytes.len() - 2);
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    let (text, continues) = text.strip_suffix('\\').map_or((text, false), |text| (text, true));
    let text = if is_too_long || text.len() > max_bytes { Err(LineTooLong) } else { Ok(text.to_owned()) };
    Some(LinePiece { text, continues })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn next_backslash_continues_the_line() {
        let mut input = "one\r\ntwo \\\nand more\n\nlast\\".as_bytes();
        let lines: Vec<LineResult> = std::iter::from_fn(|| next(&mut input, 100)).collect();
        assert_eq!(lines, ["one", "two \nand more", "", "last\n"].map(|line| Ok(line.to_owned())));
    }

    #[test]
    fn next_too_long_line_is_an_error_with_its_continuations() {
        let mut input = "1234567890\n12345678901\nabc\\\n123456789\n12345678901\\\nmore\nend".as_bytes();
        let lines: Vec<LineResult> = std::iter::from_fn(|| next(&mut input, 10)).collect();
        let line = |text: &str| Ok(text.to_owned());
        assert_eq!(
            lines,
            [line("1234567890"), Err(LineTooLong), Err(LineTooLong), Err(LineTooLong), line("end")]
        );
    }

    #[test]
    fn next_endless_line_is_not_buffered() {
        let mut input = BufReader::new(std::io::repeat(b'x').take(100_000));
        assert_eq!(next(&mut input, 1_000), Some(Err(LineTooLong)));
        assert_eq!(next(&mut input, 1_000), None);
    }
}
