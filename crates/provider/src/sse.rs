//! Server-sent events, decoded from arbitrarily split bytes. Pure.
//!
//! It follows the WHATWG HTML standard, section 9.2.6 "Interpreting an event stream" (read November 2026),
//! with one difference: a last event without its blank line is still reported ([`SseDecoder::finish`]),
//! because some servers end that way. The wire formats interpret the events.

use std::borrow::Cow;
use std::time::Duration;

use memchr::memchr2;

/// Maximum size of an incomplete event or line, in bytes: 16 MiB. Providers send kilobytes; without a limit,
/// a server that never ends a line would fill memory.
pub(crate) const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// The optional byte order mark at the beginning of an event stream.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SseEvent {
    /// Its `event:` field; empty if it had none.
    pub name: String,
    /// Its `data:` fields, joined by newlines.
    pub data: String,
    /// The last `id:` of the stream so far.
    pub id: Option<String>,
    /// True if its data had invalid UTF-8, which is replaced with U+FFFD.
    pub is_damaged: bool,
}

/// An error for an event larger than `MAX_EVENT_BYTES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event of the stream is longer than {} MiB", MAX_EVENT_BYTES / (1024 * 1024))]
pub struct EventTooLong;

/// Decodes one stream. Each byte is scanned once, however the stream is split.
#[derive(Debug, Default)]
pub struct SseDecoder {
    line: Vec<u8>,
    after_carriage_return: bool,
    past_first_line: bool,
    event: Option<SseEvent>,
    id: Option<String>,
    retry: Option<Duration>,
}

impl SseDecoder {
    /// Decodes the next bytes and returns the events that they complete.
    ///
    /// # Errors
    /// If an unfinished event is too long; the stream can't be used any further.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<SseEvent>, EventTooLong> {
        let mut events = Vec::new();
        if self.after_carriage_return && !bytes.is_empty() {
            bytes = bytes.strip_prefix(b"\n").unwrap_or(bytes);
            self.after_carriage_return = false;
        }
        while let Some(end) = memchr2(b'\n', b'\r', bytes) {
            let (line, rest) = (&bytes[..end], &bytes[end + 1..]);
            self.check_length(line)?;
            events.extend(self.end_line(line));
            bytes = match bytes[end] {
                b'\r' if rest.is_empty() => {
                    self.after_carriage_return = true;
                    rest
                }
                b'\r' => rest.strip_prefix(b"\n").unwrap_or(rest),
                _ => rest,
            };
        }
        self.check_length(bytes)?;
        self.line.extend_from_slice(bytes);
        Ok(events)
    }

    /// Ends the stream: a last event without a line end or a blank line counts as complete.
    pub fn finish(mut self) -> Option<SseEvent> {
        if !self.line.is_empty() {
            self.end_line(b"");
        }
        self.dispatch()
    }

    /// Returns the reconnection delay from the server's last `retry:` field.
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    fn check_length(&self, piece: &[u8]) -> Result<(), EventTooLong> {
        let buffered = self.event.as_ref().map_or(0, |event| event.data.len());
        if buffered + self.line.len() + piece.len() > MAX_EVENT_BYTES { Err(EventTooLong) } else { Ok(()) }
    }

    /// Ends the current line, whose last bytes are `tail`.
    fn end_line(&mut self, tail: &[u8]) -> Option<SseEvent> {
        if self.line.is_empty() {
            return self.decode_line(tail);
        }
        let mut line = std::mem::take(&mut self.line);
        line.extend_from_slice(tail);
        let event = self.decode_line(&line);
        line.clear();
        self.line = line;
        event
    }

    fn decode_line(&mut self, mut line: &[u8]) -> Option<SseEvent> {
        if !self.past_first_line {
            line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
            self.past_first_line = true;
        }
        if line.is_empty() {
            return self.dispatch();
        }
        let text = String::from_utf8_lossy(line);
        let (field, value) = text.split_once(':').unwrap_or((&text, ""));
        self.decode_field(field, value.strip_prefix(' ').unwrap_or(value));
        if matches!(text, Cow::Owned(_)) && field == "data" {
            self.event.get_or_insert_default().is_damaged = true;
        }
        None
    }

    fn decode_field(&mut self, field: &str, value: &str) {
        match field {
            "data" => {
                let data = &mut self.event.get_or_insert_default().data;
                data.push_str(value);
                data.push('\n');
            }
            "event" => value.clone_into(&mut self.event.get_or_insert_default().name),
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" if value.bytes().all(|byte| byte.is_ascii_digit()) => {
                self.retry = value.parse().ok().map(Duration::from_millis);
            }
            // A comment has an empty field name; unknown fields have to be ignored.
            _ => {}
        }
    }

    /// Returns the current event; one without a `data:` line is dropped.
    fn dispatch(&mut self) -> Option<SseEvent> {
        let mut event = self.event.take()?;
        event.data.pop()?;
        event.id.clone_from(&self.id);
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decode(pieces: &[&[u8]]) -> Vec<SseEvent> {
        let mut decoder = SseDecoder::default();
        let mut events = Vec::new();
        for piece in pieces {
            events.extend(decoder.push(piece).unwrap());
        }
        events.extend(decoder.finish());
        events
    }

    fn event(name: &str, data: &str) -> SseEvent {
        SseEvent { name: name.into(), data: data.into(), ..SseEvent::default() }
    }

    #[test]
    fn decoder_lines_end_in_lf_cr_or_both() {
        for end in ["\n", "\r", "\r\n"] {
            let text = ["event: a", "data: 1", "", "data:2", "data", "data:  3", "", ""].join(end);
            assert_eq!(decode(&[text.as_bytes()]), [event("a", "1"), event("", "2\n\n 3")]);
        }
    }

    #[test]
    fn decoder_line_end_cut_in_two_is_one() {
        assert_eq!(decode(&[b"data: 1\r", b"\ndata: 2\r", b"\n\r", b"\n"]), [event("", "1\n2")]);
        assert_eq!(decode(&[b"data: 1\r", b"", b"\n\r", b"\r"]), [event("", "1")]);
    }

    #[test]
    fn decoder_comments_and_unknown_fields_are_ignored() {
        assert_eq!(decode(&[b": ping\n\nevent: x\n\nfoo: bar\ndata: 1\n\n"]), [event("", "1")]);
    }

    #[test]
    fn decoder_id_persists_and_retry_is_stored() {
        let mut decoder = SseDecoder::default();
        let events = decoder
            .push(b"id: 7\nretry: 1500\ndata: a\n\ndata: b\n\nid: x\0\nretry: 1s\ndata: c\n\n")
            .unwrap();
        assert!(events.iter().all(|event| event.id.as_deref() == Some("7")));
        assert_eq!(events.len(), 3);
        assert_eq!(decoder.retry(), Some(Duration::from_millis(1500)));
    }

    #[test]
    fn decoder_byte_order_mark_is_skipped() {
        assert_eq!(decode(&[b"\xEF\xBB", b"\xBFdata: 1\n\n"]), [event("", "1")]);
    }

    #[test]
    fn decoder_event_with_invalid_utf_8_is_damaged() {
        let events = decode(&[b"data: a\xff\n\n: \xff\ndata: b\n\n"]);
        let data: Vec<_> = events.iter().map(|event| (event.data.as_str(), event.is_damaged)).collect();
        assert_eq!(data, [("a\u{fffd}", true), ("b", false)]);
    }

    #[test]
    fn finish_completes_the_last_event() {
        assert_eq!(decode(&[b"data: 1\n\ndata: [DONE]"]), [event("", "1"), event("", "[DONE]")]);
        assert_eq!(decode(&[b"data: 1\n"]), [event("", "1")]);
    }

    #[test]
    fn decoder_endless_event_is_an_error() {
        let mut decoder = SseDecoder::default();
        let piece = vec![b'x'; MAX_EVENT_BYTES / 2];
        assert_eq!(decoder.push(&piece), Ok(vec![]));
        assert_eq!(decoder.push(&piece), Ok(vec![]));
        assert_eq!(decoder.push(b"x"), Err(EventTooLong));

        let mut decoder = SseDecoder::default();
        let line = [b"data: ".as_slice(), &vec![b'x'; 1024 * 1024], b"\n"].concat();
        let error = (0..17).map(|_| decoder.push(&line)).find(Result::is_err);
        assert_eq!(error, Some(Err(EventTooLong)));
    }

    #[test]
    fn decoder_long_line_in_small_pieces_is_linear() {
        // 8 MiB in pieces of 64 bytes: a decoder that scans its buffer again for each piece would need half a
        // trillion steps and never finish.
        let mut decoder = SseDecoder::default();
        decoder.push(b"data: ").unwrap();
        for _ in 0..8 * 1024 * 1024 / 64 {
            assert_eq!(decoder.push(&[b'x'; 64]), Ok(vec![]));
        }
        assert_eq!(decoder.push(b"\n\n").unwrap()[0].data.len(), 8 * 1024 * 1024);
    }

    fn stream() -> impl Strategy<Value = Vec<u8>> {
        let piece = prop_oneof![
            Just("data: ".to_owned()),
            Just("event: delta".to_owned()),
            Just(": comment".to_owned()),
            Just("id: 1".to_owned()),
            Just("\u{feff}".to_owned()),
            Just("\n".to_owned()),
            Just("\r".to_owned()),
            Just("\r\n".to_owned()),
            Just("\n\n".to_owned()),
            "[ -~äß€😀]{0,12}",
        ];
        let text = prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat().into_bytes());
        prop_oneof![4 => text, 1 => prop::collection::vec(any::<u8>(), 0..200)]
    }

    proptest! {
        #[test]
        fn decoder_any_split_of_a_stream_gives_the_same_events(
            bytes in stream(),
            cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..12),
        ) {
            let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            let expected = decode(&[&bytes]);
            prop_assert_eq!(&decode(&pieces), &expected);
            prop_assert_eq!(&decode(&single), &expected);
        }
    }
}
