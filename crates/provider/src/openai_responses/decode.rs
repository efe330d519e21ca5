//! Decoding of Responses' events into [`StreamEvent`]s.
//!
//! Servers differ: some send no deltas, some only the final response, some omit ids and indices. All of that
//! is accepted; unknown events and items are traced. A known event with an unexpected shape, an event of an
//! item that has ended, an unfinished call and an end without a final response count as damage: the answer is
//! interrupted, so that none of its tool calls run.

use std::borrow::Cow;

use serde_json::value::RawValue;
use tiller_core::id::CallId;
use tiller_core::message::StopReason;

use super::events::{
    CompleteItem, FinalResponse, ItemEvent, ItemHead, ResponseEvent, ResponseUsage, TypedEvent,
    arguments_text, complete_text,
};
use super::message_signature::MessageSignature;
use super::output_item::{OutputItem, OutputItemKind, PartKey, PartKind};
use super::reasoning_item::ReasoningItem;
use crate::StreamEvent;
use crate::error::{ProviderFault, classify, parse_error_response};
use crate::http::{Damage, Decode, filtered, incomplete, trace};
use crate::sse::SseEvent;

/// The data of an event that some servers send after the last one.
const DONE: &str = "[DONE]";

const NO_ITEM: Damage = Damage::Order("an item event refers to no item");

/// Distinguishes events of known types from ignored ones.
enum EventClass {
    Known,
    Unknown,
}

/// The amount of text in an event of a part: a delta or the complete text.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextAmount {
    Delta,
    Complete,
}

/// Decodes one answer.
pub(super) struct ResponsesDecoder {
    /// Part of the generated ids of calls without one.
    stamp: String,
    /// The items so far. An item's index is the number of its block.
    items: Vec<OutputItem>,
}

impl Decode for ResponsesDecoder {
    fn decode_event(&mut self, event: &SseEvent, parts: &mut Vec<StreamEvent>) -> Result<(), ProviderFault> {
        match self.decode(&event.data, parts) {
            Ok(Ok(EventClass::Known)) => Ok(()),
            Ok(Ok(EventClass::Unknown)) => {
                parts.push(trace("unknown_event", event));
                Ok(())
            }
            Ok(Err(fault)) => Err(fault),
            Err(damage) => Err(damage.report(event, parts)),
        }
    }

    /// An answer is complete only after its final response, which ends the stream before this is called.
    fn end_stream(&mut self, _parts: &mut Vec<StreamEvent>) -> Result<(), ProviderFault> {
        Err(incomplete())
    }
}

impl ResponsesDecoder {
    pub(super) fn new(stamp: String) -> Self {
        Self { stamp, items: Vec::new() }
    }

    /// Decodes an event. The inner error was reported by the provider; the outer one is damage.
    fn decode(
        &mut self,
        data: &str,
        parts: &mut Vec<StreamEvent>,
    ) -> Result<Result<EventClass, ProviderFault>, Damage> {
        if data.trim() == DONE {
            return Ok(Ok(EventClass::Known));
        }
        let name = match serde_json::from_str(data)? {
            TypedEvent { name: Some(name), .. } => name,
            TypedEvent { error: Some(_), .. } => Cow::Borrowed("error"),
            TypedEvent { .. } => return Err(Damage::Order("an event has no type")),
        };
        if let Some((kind, extent)) = part_event(&name) {
            return self.decode_part(kind, extent, serde_json::from_str(data)?, parts).map(Ok);
        }
        let recognized = match &*name {
            "response.output_item.added" => self.add_item(serde_json::from_str(data)?, parts)?,
            "response.output_item.done" => {
                let ItemEvent { output_index, item, .. } = serde_json::from_str(data)?;
                self.finish_item(output_index, item.ok_or(NO_ITEM)?, parts)?
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                let ResponseEvent { response } = serde_json::from_str(data)?;
                return self.finish(&name, response, parts);
            }
            "error" => return Ok(Err(classify(&parse_error_response(0, data)))),
            "response.created"
            | "response.queued"
            | "response.in_progress"
            | "response.content_part.added"
            | "response.content_part.done"
            | "response.reasoning_summary_part.added"
            | "response.reasoning_summary_part.done"
            | "response.output_text.annotation.added" => EventClass::Known,
            _ => EventClass::Unknown,
        };
        Ok(Ok(recognized))
    }

    fn decode_part(
        &mut self,
        kind: PartKind,
        extent: TextAmount,
        event: ItemEvent<'_>,
        parts: &mut Vec<StreamEvent>,
    ) -> Result<EventClass, Damage> {
        let index = if kind == PartKind::Summary { event.summary_index } else { event.content_index };
        let key = (kind, index.filter(|_| kind != PartKind::Arguments).unwrap_or(0));
        let at = match self.find(event.output_index, event.item_id.as_deref()) {
            Some(at) => at,
            None if kind == PartKind::Arguments => {
                return Err(Damage::Order("arguments belong to no tool call"));
            }
            None => self.start(event.output_index, event.item_id, kind.item(), parts),
        };
        let item = &mut self.items[at];
        if item.kind != kind.item() {
            return Err(Damage::Order("an event does not fit its item"));
        }
        match extent {
            TextAmount::Delta if !item.is_open => {
                return Err(Damage::Order("a delta belongs to no open item"));
            }
            TextAmount::Delta => {
                item.push(key, event.delta.ok_or(Damage::Order("a delta has no text"))?, parts)
            }
            TextAmount::Complete if item.is_open => {
                let text = event.text.or(event.refusal).map(complete_text);
                complete(item, key, text.or(arguments_text(event.arguments)?), parts)?;
            }
            TextAmount::Complete => {}
        }
        Ok(EventClass::Known)
    }

    fn add_item(&mut self, event: ItemEvent<'_>, parts: &mut Vec<StreamEvent>) -> Result<EventClass, Damage> {
        let head: ItemHead<'_> = serde_json::from_str(event.item.ok_or(NO_ITEM)?.get())?;
        let Some(kind) = head.known_kind() else { return Ok(EventClass::Unknown) };
        if self.find(event.output_index, head.id.as_deref()).is_some_and(|at| self.items[at].is_open)
            && (event.output_index.is_some() || head.id.is_some())
        {
            return Err(Damage::Order("an item began within another"));
        }
        self.start_item(event.output_index, kind, head, parts)?;
        Ok(EventClass::Known)
    }

    /// Adds the text that an item still lacks, and ends it. An item that has already ended is ignored.
    fn finish_item(
        &mut self,
        index: Option<u64>,
        json: &RawValue,
        parts: &mut Vec<StreamEvent>,
    ) -> Result<EventClass, Damage> {
        let head: ItemHead<'_> = serde_json::from_str(json.get())?;
        let Some(kind) = head.known_kind() else { return Ok(EventClass::Unknown) };
        let is_other = |item: &OutputItem| item.id.is_some() && head.id.is_some() && item.id != head.id;
        let at = match self.find(index, head.id.as_deref()) {
            Some(at) if self.items[at].is_open && self.items[at].kind != kind => {
                return Err(Damage::Order("the end of an item does not fit its beginning"));
            }
            Some(at) if self.items[at].is_open => at,
            Some(at) if !is_other(&self.items[at]) => return Ok(EventClass::Known),
            Some(_) | None => self.start_item(index, kind, head, parts)?,
        };
        let CompleteItem { summary, content, phase, arguments } = serde_json::from_str(json.get())?;
        let item = &mut self.items[at];
        let mut signature = None;
        match kind {
            OutputItemKind::Message => {
                for (index, part) in (0..).zip(content.into_iter().flatten()) {
                    let refusal = part.refusal.filter(|refusal| !refusal.is_empty());
                    let kind = if refusal.is_some() { PartKind::Refusal } else { PartKind::Text };
                    complete(item, (kind, index), refusal.or(part.text).map(complete_text), parts)?;
                }
                signature = MessageSignature::signature(item.id.as_deref(), phase);
            }
            OutputItemKind::Reasoning => {
                for (index, part) in (0..).zip(summary.into_iter().flatten()) {
                    complete(item, (PartKind::Summary, index), part.text.map(complete_text), parts)?;
                }
                for (index, part) in (0..).zip(content.into_iter().flatten()) {
                    complete(item, (PartKind::ReasoningText, index), part.text.map(complete_text), parts)?;
                }
                signature = ReasoningItem::parse(json)?.and_then(|item| serde_json::to_string(&item).ok());
            }
            OutputItemKind::Call => {
                complete(item, (PartKind::Arguments, 0), arguments_text(arguments)?, parts)?;
            }
        }
        item.end(signature, parts);
        Ok(EventClass::Known)
    }

    fn start_item(
        &mut self,
        index: Option<u64>,
        kind: OutputItemKind,
        head: ItemHead<'_>,
        parts: &mut Vec<StreamEvent>,
    ) -> Result<usize, Damage> {
        let given = |text: Option<String>| text.filter(|text| !text.is_empty());
        let item_id = given(head.id);
        if kind != OutputItemKind::Call {
            return Ok(self.start(index, item_id, kind, parts));
        }
        let name = given(head.name).ok_or(Damage::Order("a tool call has no name"))?;
        let block = self.items.len();
        let id = given(head.call_id).or_else(|| item_id.clone());
        let id = id.unwrap_or_else(|| format!("call_{}_{block}", self.stamp));
        parts.push(StreamEvent::Call { block, id: CallId::new(id), name });
        self.items.push(OutputItem::new(index, item_id, kind, block));
        Ok(block)
    }

    /// Starts a message or reasoning. Its block begins immediately, so that the blocks are in the order of
    /// the items.
    fn start(
        &mut self,
        index: Option<u64>,
        id: Option<String>,
        kind: OutputItemKind,
        parts: &mut Vec<StreamEvent>,
    ) -> usize {
        let (block, text) = (self.items.len(), String::new());
        parts.push(match kind {
            OutputItemKind::Reasoning => StreamEvent::Thinking { block, text },
            OutputItemKind::Message | OutputItemKind::Call => StreamEvent::Text { block, text },
        });
        self.items.push(OutputItem::new(index, id, kind, block));
        block
    }

    /// Finds the item of an event: the last one with its id or its index. Either may be wrong: some servers
    /// change ids, and some give every item the index 0. Without both it is the last item, if that is open.
    fn find(&self, index: Option<u64>, id: Option<&str>) -> Option<usize> {
        let id = id.filter(|id| !id.is_empty());
        if index.is_none() && id.is_none() {
            return self.items.last().filter(|item| item.is_open).map(|_| self.items.len() - 1);
        }
        let last = |is_match: &dyn Fn(&OutputItem) -> bool| self.items.iter().rposition(is_match);
        last(&|item| id.is_some() && item.id.as_deref() == id)
            .or_else(|| last(&|item| index.is_some() && item.index == index))
    }

    /// Decodes the final response.
    fn finish(
        &mut self,
        event_name: &str,
        json: &RawValue,
        parts: &mut Vec<StreamEvent>,
    ) -> Result<Result<EventClass, ProviderFault>, Damage> {
        let response: FinalResponse<'_> = serde_json::from_str(json.get())?;
        let counts = response.usage.and_then(|usage| serde_json::from_str::<ResponseUsage>(usage.get()).ok());
        parts.extend(counts.map(|counts| StreamEvent::Usage(counts.usage())));
        let status = response.status.as_deref().unwrap_or_default();
        if event_name == "response.failed" || matches!(status, "failed" | "cancelled") {
            return Ok(Err(classify(&parse_error_response(0, json.get()))));
        }
        let is_complete = event_name == "response.completed" && status != "incomplete";
        let reason = response.incomplete_details.and_then(|details| details.reason);
        if !is_complete && reason.as_deref() == Some("content_filter") {
            return Ok(Err(filtered()));
        }
        self.finish_items(&response.output.unwrap_or_default(), is_complete, parts)?;
        let has_calls = self.items.iter().any(|item| item.kind == OutputItemKind::Call);
        parts.push(StreamEvent::Finished(match (is_complete, has_calls) {
            // Regardless of the reason, the last call may be truncated.
            (false, _) => StopReason::Length,
            (true, true) => StopReason::ToolUse,
            (true, false) => StopReason::Stop,
        }));
        Ok(Ok(EventClass::Known))
    }

    /// Ends the open items using the final response, whose items are added if no others came.
    fn finish_items(
        &mut self,
        output: &[&RawValue],
        is_complete: bool,
        parts: &mut Vec<StreamEvent>,
    ) -> Result<(), Damage> {
        let is_new = self.items.is_empty();
        for (index, json) in (0..).zip(output) {
            let head: ItemHead<'_> = serde_json::from_str(json.get())?;
            let found = self.find(Some(index), head.id.as_deref()).map(|at| &self.items[at]);
            if is_new || found.is_some_and(|item| item.is_open && Some(item.kind) == head.known_kind()) {
                self.finish_item(Some(index), json, parts)?;
            }
        }
        for item in self.items.iter_mut().filter(|item| item.is_open) {
            if is_complete && item.kind == OutputItemKind::Call {
                return Err(Damage::Order("a tool call is not finished"));
            }
            item.end(None, parts);
        }
        Ok(())
    }
}

/// Returns the kind of part that an event type refers to.
fn part_event(name: &str) -> Option<(PartKind, TextAmount)> {
    let (part, extent) = match name.rsplit_once('.')? {
        (part, "delta") => (part, TextAmount::Delta),
        (part, "done") => (part, TextAmount::Complete),
        _ => return None,
    };
    let kind = match part {
        "response.output_text" => PartKind::Text,
        "response.refusal" => PartKind::Refusal,
        "response.reasoning_summary_text" => PartKind::Summary,
        "response.reasoning_text" => PartKind::ReasoningText,
        "response.function_call_arguments" => PartKind::Arguments,
        _ => return None,
    };
    Some((kind, extent))
}

fn complete(
    item: &mut OutputItem,
    key: PartKey,
    whole: Option<String>,
    parts: &mut Vec<StreamEvent>,
) -> Result<(), Damage> {
    whole.map_or(Ok(()), |whole| item.complete(key, whole, parts))
}

#[cfg(test)]
mod tests;
