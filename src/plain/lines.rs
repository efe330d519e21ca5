//! Lines of stdin; one that ends in a backslash goes on in the next. None is longer than a model could read.

use std::io::{BufRead, BufReader, Read};

use tokio::sync::mpsc;

/// Lines that may wait: more than a person types ahead.
const WAITING: usize = 64;

/// Longest line in bytes, with those that it goes on in: several times the largest window.
const LONGEST: usize = 16 * 1024 * 1024;

/// A line, or that it was longer than is taken and passed over.
pub(super) type LineResult = Result<String, TooLong>;

/// Why a line isn't taken.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("a line was longer than {} MiB and is not taken; a prompt can name a file instead", LONGEST / 1024 / 1024)]
pub(super) struct TooLong;

/// Reads on a thread of its own, for a read of stdin can't be called off.
pub(super) fn read(input: impl Read + Send + 'static) -> mpsc::Receiver<LineResult> {
    let (sender, lines) = mpsc::channel(WAITING);
    std::thread::spawn(move || {
        let mut input = BufReader::new(input);
        while let Some(line) = next(&mut input, LONGEST) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// The next line without its end; `None` when there is none. What can't be read is an end.
fn next(input: &mut impl BufRead, longest: usize) -> Option<LineResult> {
    let mut whole: Option<LineResult> = None;
    loop {
        let Some(piece) = piece(input, longest) else { return whole };
        let goes_on = piece.goes_on;
        let line = whole.take().unwrap_or_else(|| Ok(String::new()));
        let line = line.and_then(|line| {
            let text = piece.text?;
            if line.len() + text.len() > longest { Err(TooLong) } else { Ok(line + &text) }
        });
        if !goes_on {
            return Some(line);
        }
        whole = Some(line.map(|line| line + "\n"));
    }
}

/// What stands before a line feed, without the backslash at its end.
struct LinePiece {
    text: LineResult,
    goes_on: bool,
}

/// Reads up to a line feed. Of what is too long only the end is kept, which says whether it goes on.
fn piece(input: &mut impl BufRead, longest: usize) -> Option<LinePiece> {
    let (mut bytes, mut is_too_long) = (Vec::new(), false);
    loop {
        let most = u64::try_from(longest).unwrap_or(u64::MAX).saturating_add(1);
        let length = input.by_ref().take(most).read_until(b'\n', &mut bytes).unwrap_or_default();
        if length == 0 && bytes.is_empty() {
            return None;
        }
        if length == 0 || bytes.ends_with(b"\n") {
            break;
        }
        if bytes.len() > longest {
            is_too_long = true;
            bytes.drain(..bytes.len() - 2);
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    let text = text.strip_suffix('\n').unwrap_or(&text);
    let text = text.strip_suffix('\r').unwrap_or(text);
    let (text, goes_on) = text.strip_suffix('\\').map_or((text, false), |text| (text, true));
    let text = if is_too_long || text.len() > longest { Err(TooLong) } else { Ok(text.to_owned()) };
    Some(LinePiece { text, goes_on })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_ends_in_a_backslash_goes_on_in_the_next() {
        let mut input = "one\r\ntwo \\\nand more\n\nlast\\".as_bytes();
        let lines: Vec<LineResult> = std::iter::from_fn(|| next(&mut input, 100)).collect();
        assert_eq!(lines, ["one", "two \nand more", "", "last\n"].map(|line| Ok(line.to_owned())));
    }

    #[test]
    fn a_line_that_is_too_long_costs_only_itself_and_what_it_goes_on_in() {
        let mut input = "1234567890\n12345678901\nabc\\\n123456789\n12345678901\\\nmore\nend".as_bytes();
        let lines: Vec<LineResult> = std::iter::from_fn(|| next(&mut input, 10)).collect();
        let whole = |text: &str| Ok(text.to_owned());
        assert_eq!(lines, [whole("1234567890"), Err(TooLong), Err(TooLong), Err(TooLong), whole("end")]);
    }

    #[test]
    fn what_has_no_end_is_not_held() {
        let mut input = BufReader::new(std::io::repeat(b'x').take(100_000));
        assert_eq!(next(&mut input, 1_000), Some(Err(TooLong)));
        assert_eq!(next(&mut input, 1_000), None);
    }
}
