//! Server-sent events.

use tiller_provider::sse::{SseDecoder, SseEvent};

/// Decodes an event stream.
///
/// - Pieces give the same events as the whole.
/// - Names and ids hold no line ends; data holds no carriage returns.
/// - Events that are written to a stream are read back.
///
/// # Panics
/// If a property doesn't hold.
pub fn sse_events(data: &[u8]) {
    let events = decode(&[data]);
    assert_eq!(decode(&super::cut(data)), events, "pieces differ from the whole");
    assert_eq!(decode(&data.chunks(1).collect::<Vec<_>>()), events, "bytes differ from the whole");
    for SseEvent { name, data, id, .. } in &events {
        assert!(!name.contains(['\r', '\n']), "a line end in the name {name:?}");
        assert!(!data.contains('\r'), "a carriage return in {data:?}");
        assert!(!id.as_deref().is_some_and(|id| id.contains(['\r', '\n', '\0'])), "bad id {id:?}");
    }
    let encoded: String = events.iter().map(encode).collect();
    // The encoded text is UTF-8, so nothing in it is damaged.
    let readable = events.into_iter().map(|event| SseEvent { is_damaged: false, ..event });
    assert_eq!(decode(&[encoded.as_bytes()]), readable.collect::<Vec<_>>(), "written events differ");
}

/// Decodes pieces of a stream that are far below the size limit.
fn decode(pieces: &[&[u8]]) -> Vec<SseEvent> {
    let mut decoder = SseDecoder::default();
    let mut events: Vec<SseEvent> =
        pieces.iter().flat_map(|piece| decoder.push(piece).expect("an event of a few kilobytes")).collect();
    events.extend(decoder.finish());
    events
}

fn encode(event: &SseEvent) -> String {
    let mut text = format!("event: {}\n", event.name);
    if let Some(id) = &event.id {
        text += &format!("id: {id}\n");
    }
    for line in event.data.split('\n') {
        text += &format!("data: {line}\n");
    }
    text + "\n"
}
