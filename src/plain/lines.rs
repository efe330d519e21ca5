//! Lines of stdin; one that ends in a backslash goes on in the next.

use std::io::{BufRead, BufReader, Read};

use tokio::sync::mpsc;

/// Lines that may wait: more than a person types ahead.
const WAITING: usize = 64;

/// Reads on a thread of its own, for a read of stdin can't be called off.
pub(super) fn read(input: impl Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(WAITING);
    std::thread::spawn(move || {
        let mut input = BufReader::new(input);
        while let Some(line) = next(&mut input) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// The next line without its end; `None` when there is none. What can't be read is an end.
fn next(input: &mut impl BufRead) -> Option<String> {
    let mut whole: Option<String> = None;
    loop {
        let mut bytes = Vec::new();
        let length = input.read_until(b'\n', &mut bytes).unwrap_or_default();
        if length == 0 {
            return whole;
        }
        let text = String::from_utf8_lossy(&bytes);
        let text = text.strip_suffix('\n').unwrap_or(&text);
        let text = text.strip_suffix('\r').unwrap_or(text);
        let line = whole.take().unwrap_or_default();
        match text.strip_suffix('\\') {
            Some(text) => whole = Some(line + text + "\n"),
            None => return Some(line + text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_ends_in_a_backslash_goes_on_in_the_next() {
        let mut input = "one\r\ntwo \\\nand more\n\nlast\\".as_bytes();
        let lines: Vec<String> = std::iter::from_fn(|| next(&mut input)).collect();
        assert_eq!(lines, ["one", "two \nand more", "", "last\n"]);
    }
}
