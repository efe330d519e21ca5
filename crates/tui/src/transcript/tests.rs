use std::ops::Range;
use std::sync::Arc;

use proptest::prelude::*;
use tiller_core::message::{
    AssistantBlock, AssistantMessage, Message, StopReason, ToolCall, UserBlock, UserMessage,
};
use tiller_engine::built_in_tools;
use tiller_render::MarkdownStream;
use tiller_session::context::{project, unanswered_calls};
use tiller_session::{EntryBody, Section};

use super::*;
use crate::block::BlockKind;
use crate::layout::FoldDefaults;
use crate::transcript::jump_target::{Direction, JumpTarget};
use crate::transcript::row::ShownRows;
use crate::transcript::selection::{Granularity, TextPos};

fn entry(at: usize, message: Message) -> Entry {
    let body = EntryBody::message(Arc::new(message));
    Entry { id: EntryId::new(format!("e{at}")), parent: None, timestamp: UnixMs(0), body }
}

fn said(at: usize) -> Entry {
    entry(at, Message::User(UserMessage::text(format!("m{at}"), UnixMs(0))))
}

fn answered(at: usize, text: &str) -> Entry {
    let content = vec![AssistantBlock::text(text)];
    entry(at, Message::Assistant(AssistantMessage { content, ..AssistantMessage::default() }))
}

fn shown(transcript: &Transcript) -> Vec<String> {
    let text = |row: Option<ShownRows<'_>>| row.map(|row| row.line.text()).unwrap_or_default();
    transcript.visible().map(text).map(|text| text.trim_start_matches("▌ ").trim_end().to_owned()).collect()
}

fn transcript(count: usize) -> Transcript {
    Transcript::of(0, LoadedPath::from_path(&[], (0..count).map(said).collect()))
}

/// Creates a path of `count` prompts, of which the last ones are in memory.
fn long(count: usize, read: usize) -> Transcript {
    Transcript::of(0, LoadedPath::from_path(&ids(0..count - read), (count - read..count).map(said).collect()))
}

fn ids(numbers: Range<usize>) -> Vec<EntryId> {
    numbers.map(|at| EntryId::new(format!("e{at}"))).collect()
}

/// Returns the numbers of the requested entries.
fn numbers(wanted: &SectionRequest) -> Range<usize> {
    let last: usize = wanted.section.last.as_str()[1..].parse().unwrap();
    last + 1 - wanted.section.count..last + 1
}

/// Reads all requested parts; returns their number.
fn read_wanted(transcript: &mut Transcript) -> usize {
    let wanted = transcript.take_requests();
    for wanted in &wanted {
        let entries: Vec<Entry> = numbers(wanted).map(said).collect();
        transcript.insert_section(wanted, &entries, &[]);
    }
    wanted.len()
}

fn in_memory(transcript: &Transcript) -> usize {
    transcript.parts.iter().filter_map(Chunk::blocks).map(<[Block]>::len).sum()
}

fn draw(transcript: &mut Transcript, height: usize, ctx: &RenderContext) -> Vec<String> {
    transcript.lay_out(height, ctx);
    shown(transcript)
}

#[test]
fn transcript_follows_its_end() {
    let (mut transcript, ctx) = (transcript(10), RenderContext::default());
    assert_eq!(draw(&mut transcript, 3, &ctx), ["m8", "", "m9"]);
    transcript.append(&said(10), UnixMs(0));
    assert_eq!(draw(&mut transcript, 3, &ctx), ["m9", "", "m10"]);
}

#[test]
fn transcript_scrolled_up_counts_new_blocks() {
    let (mut transcript, ctx) = (transcript(10), RenderContext::default());
    transcript.lay_out(3, &ctx);
    transcript.scroll_up(4, &ctx);
    assert_eq!(draw(&mut transcript, 3, &ctx), ["m6", "", "m7"]);
    assert_eq!(transcript.new_below(), None);
    transcript.append(&said(10), UnixMs(0));
    transcript.append(&said(11), UnixMs(0));
    assert_eq!((draw(&mut transcript, 3, &ctx)[0].as_str(), transcript.new_below()), ("m6", Some(2)));
    transcript.scroll_down(100, &ctx);
    assert_eq!((draw(&mut transcript, 3, &ctx)[2].as_str(), transcript.new_below()), ("m11", None));
    assert!(transcript.follows());
}

#[test]
fn transcript_removed_block_is_not_counted() {
    let is_notice = |block: &Block| matches!(block.kind, BlockKind::Notice { .. });
    let away = |warned: Warned| {
        let (mut transcript, ctx) = (transcript(10), RenderContext::default());
        let warn = |transcript: &mut Transcript| transcript.notice(NoticeLevel::Warning, "careful", None);
        if warned == Warned::Before {
            warn(&mut transcript);
        }
        transcript.lay_out(3, &ctx);
        transcript.scroll_up(4, &ctx);
        if warned == Warned::After {
            warn(&mut transcript);
        }
        let added = transcript.added();
        transcript.remove_last(is_notice);
        assert_eq!(transcript.added(), added, "a search tells by it whether something came");
        transcript.append(&said(10), UnixMs(0));
        assert!(transcript.added() > added);
        transcript.new_below()
    };
    assert_eq!((away(Warned::Before), away(Warned::After)), (Some(1), Some(1)));
}

/// Time of a warning that is later removed: before the end was left, or after.
#[derive(Clone, Copy, PartialEq)]
enum Warned {
    Before,
    After,
}

#[test]
fn transcript_streaming_block_keeps_place() {
    let (mut transcript, ctx) = (transcript(3), RenderContext::default());
    transcript.notice(NoticeLevel::Warning, "careful", None);
    let mut stream = MarkdownStream::new(80);
    stream.push("one\n\ntwo\n\nthree");
    transcript.live.push(Block::new(BlockKind::StreamingAnswer(Box::new(stream))));
    transcript.lay_out(3, &ctx);
    transcript.scroll_up(2, &ctx);
    assert_eq!(draw(&mut transcript, 3, &ctx), ["one", "", "two"]);
    transcript.remove_last(|block| matches!(block.kind, BlockKind::Notice { .. }));
    assert_eq!(draw(&mut transcript, 3, &ctx), ["one", "", "two"]);
    assert_eq!(transcript.top().map(|(at, _)| at.block), Some(3));
}

#[test]
fn transcript_near_parts_are_read_in_place() {
    let (mut transcript, ctx) = (long(250, 10), RenderContext::default());
    draw(&mut transcript, 3, &ctx);
    transcript.scroll_up(1_000, &ctx);
    assert_eq!(draw(&mut transcript, 3, &ctx), ["", "m240", ""]);
    assert_eq!(read_wanted(&mut transcript), 1);
    assert_eq!(draw(&mut transcript, 3, &ctx), ["", "m240", ""]);
    transcript.scroll_up(2, &ctx);
    assert_eq!(draw(&mut transcript, 3, &ctx)[..2], ["", "m239"]);
}

#[test]
fn transcript_memory_stays_bounded() {
    let (mut transcript, ctx) = (long(10_000, 100), RenderContext::default());
    draw(&mut transcript, 20, &ctx);
    let mut most = 0;
    for _ in 0..2_000 {
        transcript.scroll_up(10, &ctx);
        draw(&mut transcript, 20, &ctx);
        read_wanted(&mut transcript);
        draw(&mut transcript, 20, &ctx);
        most = most.max(in_memory(&transcript));
    }
    assert_eq!(draw(&mut transcript, 20, &ctx)[0], "m0");
    assert!(most <= 900, "{most} blocks were in memory");
    for _ in 0..2_000 {
        transcript.scroll_down(10, &ctx);
        draw(&mut transcript, 20, &ctx);
        read_wanted(&mut transcript);
    }
    assert_eq!(draw(&mut transcript, 20, &ctx)[19], "m9999");
    assert!(transcript.follows());
}

#[test]
fn transcript_top_skips_parts_between() {
    let (mut transcript, ctx) = (long(100_000, 100), RenderContext::default());
    draw(&mut transcript, 3, &ctx);
    transcript.jump_to(JumpTarget::Top);
    assert_eq!(draw(&mut transcript, 3, &ctx)[2], "m99999", "what is on the screen stays until it is read");
    let mut parts = read_wanted(&mut transcript);
    assert_eq!(draw(&mut transcript, 3, &ctx), ["m0", "", "m1"]);
    parts += read_wanted(&mut transcript);
    assert!(parts <= 3, "{parts} parts were read");
    transcript.follow();
    assert_eq!(draw(&mut transcript, 3, &ctx)[2], "m99999");
}

#[test]
fn transcript_stale_read_is_dropped() {
    let (mut transcript, ctx) = (long(500, 10), RenderContext::default());
    draw(&mut transcript, 3, &ctx);
    let wanted = transcript.take_requests().remove(0);
    let others: Vec<EntryId> = (0..200).map(|at| EntryId::new(format!("f{at}"))).collect();
    transcript.replace(LoadedPath::from_path(&others, vec![said(9)]));
    draw(&mut transcript, 3, &ctx);
    assert_eq!(transcript.take_requests().len(), 1);
    transcript.insert_section(&wanted, &[said(1)], &[]);
    transcript.scroll_up(10, &ctx);
    assert_eq!(draw(&mut transcript, 3, &ctx), ["", "m9"]);
}

#[test]
fn transcript_lays_out_visible_blocks_only() {
    let (mut transcript, ctx) = (transcript(1_000), RenderContext::default());
    transcript.lay_out(10, &ctx);
    let is_measured = |block: &&Block| block.line(0).is_some();
    let measured = |transcript: &Transcript| transcript.newest().filter(is_measured).count();
    assert!(measured(&transcript) <= 10);
    let open = RenderContext {
        folds: FoldDefaults { output_open: true, thinking_open: true },
        ..RenderContext::default()
    };
    transcript.reset_folds();
    transcript.lay_out(10, &open);
    assert!(measured(&transcript) <= 10, "unfolding everything lays out what is visible");
}

#[test]
fn transcript_short_cannot_scroll() {
    let (mut transcript, ctx) = (transcript(2), RenderContext::default());
    transcript.lay_out(20, &ctx);
    transcript.scroll_up(5, &ctx);
    assert_eq!(draw(&mut transcript, 20, &ctx), ["m0", "", "m1"]);
    assert!(transcript.follows());
}

#[test]
fn transcript_top_line_survives_rewrap() {
    let words: String = (0..400).map(|n| format!("w{n} ")).collect();
    let entries = [said(0), answered(1, &format!("First.\n\n{words}")), said(2)];
    let (mut transcript, wide) =
        (Transcript::of(0, LoadedPath::from_path(&[], entries.to_vec())), RenderContext::default());
    draw(&mut transcript, 5, &wide);
    transcript.scroll_up(20, &wide);
    let top = draw(&mut transcript, 5, &wide)[0].clone();
    let first = top.split(' ').next().unwrap().to_owned();
    for width in [33, 61, 20, 80] {
        let ctx = RenderContext { width, ..RenderContext::default() };
        let rows = draw(&mut transcript, 5, &ctx);
        assert!(rows[0].contains(&first), "{first} at {width}: {rows:?}");
    }
}

fn call(at: usize, text: &str, calls: &[&str]) -> Entry {
    let mut content = vec![AssistantBlock::text(text)];
    content.extend(calls.iter().map(|id| {
        let arguments = serde_json::json!({"command": "ls"});
        AssistantBlock::ToolCall(ToolCall {
            id: (*id).into(),
            name: "bash".into(),
            arguments,
            raw_arguments: None,
            thought_signature: None,
        })
    }));
    let answer =
        AssistantMessage { content, stop_reason: StopReason::ToolUse, ..AssistantMessage::default() };
    entry(at, Message::Assistant(answer))
}

fn result(at: usize, id: &str, text: &str, ms: i64) -> Entry {
    let result = ToolResultMessage {
        tool_call_id: id.into(),
        tool_name: "bash".into(),
        content: vec![UserBlock::Text { text: text.into() }],
        details: Some(serde_json::json!({"exitCode": 0})),
        is_error: false,
        timestamp: UnixMs(ms),
    };
    Entry { timestamp: UnixMs(ms), ..entry(at, Message::ToolResult(result)) }
}

#[test]
fn transcript_own_fold_survives_reload() {
    let output: String = (0..30).map(|n| format!("line {n}\n")).collect();
    let mut entries = vec![call(0, "look", &["c"]), result(1, "c", &output, 0)];
    entries.extend((2..100).map(said));
    let path: Vec<EntryId> = (0..1_100).map(|at| EntryId::new(format!("e{at}"))).collect();
    let newest: Vec<Entry> = (1_100..1_200).map(said).collect();
    let (mut transcript, ctx) =
        (Transcript::of(0, LoadedPath::from_path(&path, newest)), RenderContext::default());
    let read = |transcript: &mut Transcript| {
        for wanted in transcript.take_requests() {
            let first = numbers(&wanted).start == 0;
            let others: Vec<Entry> = numbers(&wanted).map(said).collect();
            transcript.insert_section(&wanted, if first { &entries } else { &others }, &[]);
        }
    };
    draw(&mut transcript, 40, &ctx);
    transcript.jump_to(JumpTarget::Top);
    read(&mut transcript);
    assert!(draw(&mut transcript, 40, &ctx).contains(&"  │ … 26 more lines (ctrl+o)".to_owned()));
    assert!(transcript.toggle(BlockPos { part: 0, block: 1 }, &ctx));
    assert!(draw(&mut transcript, 40, &ctx).contains(&"  │ line 20".to_owned()));
    assert!(
        draw(&mut transcript, 40, &RenderContext { width: 30, ..RenderContext::default() })
            .contains(&"  │ line 20".to_owned())
    );
    transcript.follow();
    draw(&mut transcript, 40, &ctx);
    assert!(!transcript.is_read(0), "it was forgotten");
    transcript.jump_to(JumpTarget::Top);
    read(&mut transcript);
    assert!(draw(&mut transcript, 40, &ctx).contains(&"  │ line 20".to_owned()));
    transcript.reset_folds();
    assert!(!draw(&mut transcript, 40, &ctx).contains(&"  │ line 20".to_owned()));
}

#[test]
fn reload_other_part_bounds_keep_top_line() {
    for pages in [2, 30, 60] {
        let (mut transcript, ctx) = (long(300, 150), RenderContext::default());
        draw(&mut transcript, 4, &ctx);
        transcript.scroll_up(pages * 4, &ctx);
        let before = draw(&mut transcript, 4, &ctx);
        transcript.keep_anchor();
        let former = transcript.replace(LoadedPath::from_path(&ids(0..310), (310..320).map(said).collect()));
        transcript.restore_anchor(former);
        while read_wanted(&mut transcript) > 0 {}
        assert_eq!(draw(&mut transcript, 4, &ctx), before, "{pages} pages up");
        assert!(!transcript.follows());
    }
}

#[test]
fn reload_missing_top_line_ends_search() {
    let (mut transcript, ctx) = (long(300, 150), RenderContext::default());
    draw(&mut transcript, 4, &ctx);
    transcript.scroll_up(100, &ctx);
    transcript.keep_anchor();
    let others: Vec<EntryId> = (0..310).map(|at| EntryId::new(format!("e{}", at + 1_000))).collect();
    let former = transcript.replace(LoadedPath::from_path(&others, (1_310..1_320).map(said).collect()));
    transcript.restore_anchor(former);
    let mut parts = 0;
    while let count @ 1.. = read_wanted(&mut transcript) {
        parts += count;
    }
    assert!(parts <= 5, "{parts}");
    assert_eq!(draw(&mut transcript, 1, &ctx), ["m1319"]);
}

#[test]
fn transcript_result_in_next_part_is_applied() {
    let mut transcript =
        Transcript::of(0, LoadedPath::from_path(&["e0".into()], vec![result(1, "c", "out", 0), said(2)]));
    draw(&mut transcript, 10, &RenderContext::default());
    let wanted = transcript.take_requests().remove(0);
    assert_eq!(wanted.ahead, Some(Section { last: "e2".into(), count: 2 }));
    transcript.insert_section(&wanted, &[call(0, "look", &["c"])], &[result(1, "c", "out", 0)]);
    let rows = draw(&mut transcript, 10, &RenderContext::default());
    assert_eq!((rows[1].starts_with("✓ bash"), rows[2].as_str()), (true, "  │ out"), "{rows:?}");
}

#[test]
fn transcript_call_durations_follow_the_log() {
    let at = |ms: i64, entry: Entry| Entry { timestamp: UnixMs(ms), ..entry };
    let entries =
        [at(1_000, call(0, "look", &["a", "b"])), result(1, "a", "out", 3_500), result(2, "b", "out", 4_000)];
    let mut transcript = Transcript::of(0, LoadedPath::from_path(&[], entries.to_vec()));
    let rows = draw(&mut transcript, 10, &RenderContext::default());
    let times: Vec<&str> =
        rows.iter().filter(|row| row.starts_with('✓')).filter_map(|row| row.rsplit(' ').next()).collect();
    assert_eq!(times, ["2.5s", "0.5s"]);
}

#[test]
fn transcript_crash_states_match_the_log() {
    let answer = Entry { id: "01JAV7E0000000000000000000".into(), ..call(1, "look", &["a", "b", "c"]) };
    let entries = [said(0), answer, result(2, "a", "out", 5)];
    let mut transcript = Transcript::of(0, LoadedPath::from_path(&[], entries.to_vec()));
    transcript.close_calls();
    let rows = draw(&mut transcript, 10, &RenderContext::default());
    let told = |rows: &[String]| rows.iter().filter(|row| row.starts_with('–')).cloned().collect::<Vec<_>>();
    let told_at_once = told(&rows);
    assert!(told_at_once[0].contains("interrupted, no result"), "{rows:?}");
    assert!(told_at_once[1].contains("not started: the run stopped"), "{rows:?}");
    let open = unanswered_calls(&project(&entries).messages, &built_in_tools());
    let mended = open
        .iter()
        .zip(3..)
        .map(|((call, fate), at)| entry(at, Message::ToolResult(fate.result(call, UnixMs(9)))));
    let again: Vec<Entry> = entries.iter().cloned().chain(mended).collect();
    let mut transcript = Transcript::of(0, LoadedPath::from_path(&[], again));
    assert_eq!(told(&draw(&mut transcript, 10, &RenderContext::default())), told_at_once, "and so it stays");
}

#[test]
fn transcript_interrupted_call_shows_a_later_result() {
    let mut transcript =
        Transcript::of(0, LoadedPath::from_path(&[], vec![said(0), call(1, "look", &["a", "b"])]));
    transcript.close_calls();
    transcript.append(&result(2, "a", "what it had done", 9), UnixMs(9));
    transcript.close_calls();
    let rows = draw(&mut transcript, 10, &RenderContext::default());
    let lost = rows.iter().filter(|row| row.contains("interrupted, no result")).count();
    assert!(lost == 1 && rows.iter().any(|row| row.contains("what it had done")), "{rows:?}");
}

#[test]
fn transcript_foreign_calls_are_never_not_run() {
    let entries = [said(0), call(1, "look", &["a", "b"])];
    let mut transcript = Transcript::of(0, LoadedPath::from_path(&[], entries.to_vec()));
    transcript.close_calls();
    let rows = draw(&mut transcript, 10, &RenderContext::default());
    let lost = rows.iter().filter(|row| row.contains("interrupted, no result")).count();
    assert_eq!(lost, 2, "{rows:?}");
}

#[test]
fn transcript_unanswered_until_followed() {
    let mut transcript = transcript(2);
    assert_eq!(transcript.unanswered(), Some(&"e1".into()));
    transcript.append(&answered(2, "yes"), UnixMs(0));
    assert_eq!(transcript.unanswered(), None);
}

#[test]
fn jump_prompt_reads_parts_between() {
    let mut path: Vec<Entry> = (0..400).map(|at| answered(at, &format!("a{at}"))).collect();
    path[7] = said(7);
    path[350] = said(350);
    let newest = LoadedPath::from_path(&ids(0..390), path[390..].to_vec());
    let (mut transcript, ctx) = (Transcript::of(0, newest), RenderContext::default());
    draw(&mut transcript, 5, &ctx);
    let mut go = |toward| {
        transcript.go_to_prompt(toward);
        for _ in 0..10 {
            transcript.reach_goal();
            for wanted in transcript.take_requests() {
                transcript.insert_section(&wanted, &path[numbers(&wanted)], &[]);
            }
            draw(&mut transcript, 5, &ctx);
        }
        draw(&mut transcript, 5, &ctx)[1].clone()
    };
    assert_eq!(go(Direction::Older), "m350");
    assert_eq!(go(Direction::Older), "m7");
    assert_eq!(go(Direction::Newer), "m350");
    go(Direction::Newer);
    assert!(transcript.follows());
}

fn growing(text: &str) -> Block {
    let mut stream = MarkdownStream::new(80);
    stream.push(text);
    Block::new(BlockKind::StreamingAnswer(Box::new(stream)))
}

/// An event while the user is reading.
#[derive(Clone, Debug)]
enum Happens {
    Text(String),
    Answered,
    Said,
    Word,
    Call,
}

fn happening() -> impl Strategy<Value = Happens> {
    prop_oneof![
        4 => "[a-z*`#\n -]{1,40}".prop_map(Happens::Text),
        1 => Just(Happens::Answered),
        1 => Just(Happens::Said),
        1 => Just(Happens::Word),
        1 => Just(Happens::Call),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn transcript_scrolled_up_is_stable(
        up in 12..60usize,
        events in prop::collection::vec(happening(), 1..80),
    ) {
        let (mut transcript, ctx) = (transcript(60), RenderContext::default());
        draw(&mut transcript, 10, &ctx);
        transcript.scroll_up(up, &ctx);
        let before = draw(&mut transcript, 10, &ctx);
        for (at, event) in events.into_iter().enumerate() {
            let at = at + 100;
            match event {
                Happens::Text(text) => match transcript.live.last_mut().map(|block| &mut block.kind) {
                    Some(BlockKind::StreamingAnswer(stream)) => stream.push(&text),
                    _ => transcript.live.push(growing(&text)),
                },
                Happens::Answered => transcript.append(&answered(at, "so it is"), UnixMs(0)),
                Happens::Said if transcript.live.is_empty() => transcript.append(&said(at), UnixMs(0)),
                Happens::Said | Happens::Word => transcript.notice(NoticeLevel::Note, "by the way", None),
                Happens::Call if transcript.live.is_empty() => {
                    transcript.append(&call(at, "look", &["c"]), UnixMs(0));
                    transcript.append(&result(at, "c", "out", 1), UnixMs(1));
                }
                Happens::Call => {}
            }
            prop_assert_eq!(&draw(&mut transcript, 10, &ctx), &before);
        }
    }
}

#[test]
fn transcript_inside_streaming_answer_is_stable() {
    let (mut transcript, ctx) = (transcript(3), RenderContext::default());
    let text: String = (0..60).map(|n| format!("- item {n}\n")).collect();
    transcript.live.push(Block::new(BlockKind::Thinking(String::new())));
    transcript.live.push(growing(&text));
    draw(&mut transcript, 10, &ctx);
    transcript.scroll_up(15, &ctx);
    let before = draw(&mut transcript, 10, &ctx);
    assert!(before[0].contains("item 3"), "{before:?}");
    transcript.notice(NoticeLevel::Note, "by the way", None);
    assert_eq!(draw(&mut transcript, 10, &ctx), before);
    transcript.append(&answered(9, &text), UnixMs(0));
    assert_eq!(draw(&mut transcript, 10, &ctx), before);
}

#[test]
fn transcript_long_run_drops_old_parts() {
    let (mut transcript, ctx) = (transcript(1), RenderContext::default());
    for at in 1..2_000 {
        transcript.begin_part();
        transcript.append(&answered(at, "so"), UnixMs(0));
        draw(&mut transcript, 10, &ctx);
    }
    assert!(in_memory(&transcript) <= 500, "{} blocks are in memory", in_memory(&transcript));
    assert!(transcript.shows(&"e1999".into()));
}

/// Returns the rows of the screen, with the selection in brackets.
fn selected(transcript: &mut Transcript, ctx: &RenderContext) -> Option<String> {
    transcript.selected_text(ctx).map(|copied| copied.text)
}

fn spot(transcript: &Transcript, row: usize, column: usize) -> TextPos {
    transcript.text_pos_at(row, column).unwrap()
}

#[test]
fn selection_joins_lines_without_margins() {
    let markdown = "> one two three four\n\n- item\n\n```rust\nfn x() {\n    y\n}\n```";
    let mut transcript = Transcript::of(0, LoadedPath::from_path(&[], vec![said(0), answered(1, markdown)]));
    let ctx = RenderContext { width: 18, ..RenderContext::default() };
    let rows = draw(&mut transcript, 20, &ctx);
    assert_eq!(rows[2..5], ["│ one two three", "│ four", ""]);
    transcript.select(spot(&transcript, 0, 2), Granularity::Character);
    transcript.select_to(spot(&transcript, rows.len() - 1, 5));
    assert_eq!(
        selected(&mut transcript, &ctx).as_deref(),
        Some("m0\n\none two three four\n\n• item\n\n  rust\nfn x() {\n    y\n}")
    );
    transcript.select(spot(&transcript, 3, 5), Granularity::Line);
    assert_eq!(selected(&mut transcript, &ctx).as_deref(), Some("one two three four"));
    transcript.select(spot(&transcript, 2, 9), Granularity::Word);
    assert_eq!(selected(&mut transcript, &ctx).as_deref(), Some("two"));
    transcript.select_to(spot(&transcript, 3, 5));
    assert_eq!(selected(&mut transcript, &ctx).as_deref(), Some("two three four"));
}

#[test]
fn selection_copies_source_text() {
    let markdown = "a\u{200b}b\n\n```make\nall:\n\tcc\t-o x\u{1b}[0m\n```";
    let mut transcript = Transcript::of(0, LoadedPath::from_path(&[], vec![answered(0, markdown)]));
    let ctx = RenderContext { width: 18, ..RenderContext::default() };
    let rows = draw(&mut transcript, 20, &ctx);
    assert_eq!(rows, ["a<U+200B>b", "", "  make", "  all:", "      cc  -o x␛[", "↳ 0m"]);
    transcript.select(spot(&transcript, 0, 0), Granularity::Character);
    transcript.select_to(spot(&transcript, 5, 9));
    let text = selected(&mut transcript, &ctx).unwrap();
    assert_eq!(
        text, "a\u{200b}b\n\n  make\nall:\n\tcc\t-o x␛[0m",
        "an escape character does harm where it is pasted"
    );
    transcript.select(spot(&transcript, 4, 9), Granularity::Line);
    assert_eq!(selected(&mut transcript, &ctx).as_deref(), Some("\tcc\t-o x␛[0m"));
}

#[test]
fn selection_wide_characters_are_whole() {
    let mut transcript = Transcript::of(
        0,
        LoadedPath::from_path(&[], vec![answered(0, "日本語 👨\u{200d}👩\u{200d}👧 e\u{301}x")]),
    );
    let ctx = RenderContext::default();
    draw(&mut transcript, 5, &ctx);
    transcript.select(spot(&transcript, 0, 5), Granularity::Character);
    transcript.select_to(spot(&transcript, 0, 6));
    assert_eq!(selected(&mut transcript, &ctx).as_deref(), Some("本語"));
    transcript.select(spot(&transcript, 0, 12), Granularity::Character);
    transcript.select_to(spot(&transcript, 0, 9));
    assert_eq!(selected(&mut transcript, &ctx).as_deref(), Some("👨\u{200d}👩\u{200d}👧 e\u{301}"));
}

#[test]
fn selection_stays_with_text() {
    let (mut transcript, ctx) = (transcript(10), RenderContext::default());
    draw(&mut transcript, 5, &ctx);
    transcript.select(spot(&transcript, 2, 3), Granularity::Word);
    assert_eq!(selected(&mut transcript, &ctx).as_deref(), Some("m8"));
    for at in 10..30 {
        transcript.append(&said(at), UnixMs(0));
        draw(&mut transcript, 5, &ctx);
    }
    assert_eq!(selected(&mut transcript, &ctx).as_deref(), Some("m8"));
    assert!(transcript.visible().flatten().all(|row| transcript.selected(&row).is_none()));
}

#[test]
fn transcript_equal_failures_merge_also_on_reload() {
    let failed = |at, error: &str| {
        let answer = AssistantMessage {
            stop_reason: StopReason::Error,
            error_message: Some(error.into()),
            ..AssistantMessage::default()
        };
        entry(at, Message::Assistant(answer))
    };
    let entries = [
        said(0),
        failed(1, "overloaded"),
        failed(2, "overloaded"),
        failed(3, "overloaded"),
        failed(4, "no route"),
        failed(5, "overloaded"),
    ];
    let mut told = Transcript::of(0, LoadedPath::from_path(&[], entries[..1].to_vec()));
    for entry in &entries[1..] {
        told.append(entry, UnixMs(0));
        told.notice(NoticeLevel::Note, "meanwhile", None);
    }
    let ctx = RenderContext::default();
    let is_failure = |line: &String| line.trim_start().starts_with('✗');
    let failures = |mut transcript: Transcript| -> Vec<String> {
        let lines = draw(&mut transcript, 40, &ctx);
        lines.iter().filter(|line| is_failure(line)).map(|line| line.trim().to_owned()).collect()
    };
    assert!((0..6).all(|at| told.shows(&EntryId::new(format!("e{at}")))));
    let expected = ["✗ overloaded  3 attempts", "✗ no route", "✗ overloaded"];
    assert_eq!(failures(told), expected);
    assert_eq!(failures(Transcript::of(0, LoadedPath::from_path(&[], entries.to_vec()))), expected);
}

/// Returns an answer to a request sent at a given time; with an error, the request failed after some text.
fn tried(at: usize, sent: i64, text: &str, error: Option<&str>) -> Entry {
    let content = Some(text).filter(|text| !text.is_empty());
    let answer = AssistantMessage {
        content: content.into_iter().map(AssistantBlock::text).collect(),
        stop_reason: error.map_or(StopReason::Stop, |_| StopReason::Error),
        error_message: error.map(str::to_owned),
        timestamp: UnixMs(sent),
        ..AssistantMessage::default()
    };
    entry(at, Message::Assistant(answer))
}

/// Returns the blocks of entries that were appended one by one, and of the same entries read again.
fn told_and_read(entries: &[Entry]) -> [Vec<String>; 2] {
    let mut told = Transcript::of(0, LoadedPath::from_path(&[], entries[..1].to_vec()));
    for entry in &entries[1..] {
        told.append(entry, UnixMs(0));
    }
    let read = Transcript::of(0, LoadedPath::from_path(&[], entries.to_vec()));
    [told, read].map(|mut transcript| {
        let lines = draw(&mut transcript, 40, &RenderContext::default());
        lines.into_iter().map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect()
    })
}

#[test]
fn transcript_recovered_failures_are_one_line() {
    let overloaded = Some("anthropic: Overloaded (HTTP status 529) → try again later");
    let entries = [
        said(0),
        tried(1, 1_000, "The first", Some("anthropic: the stream broke off")),
        tried(2, 4_000, "The first", overloaded),
        tried(3, 10_000, "The first of all.", None),
        said(4),
        tried(5, 20_000, "", overloaded),
        tried(6, 22_000, "Again.", None),
    ];
    for lines in told_and_read(&entries) {
        let expected = [
            "m0",
            "· overloaded; attempt 3 succeeded after 9 s",
            "The first of all.",
            "m4",
            "· overloaded; attempt 2 succeeded after 2 s",
            "Again.",
        ];
        assert_eq!(lines, expected);
    }
}

#[test]
fn transcript_final_failures_stay() {
    let entries =
        [said(0), tried(1, 1_000, "", Some("openai: no route")), said(2), tried(3, 10_000, "Here.", None)];
    for lines in told_and_read(&entries) {
        assert!(lines.iter().any(|line| line == "✗ openai: no route"), "{lines:?}");
        assert!(!lines.iter().any(|line| line.contains("succeeded")), "{lines:?}");
    }
}

#[test]
fn transcript_calls_after_failures_get_results() {
    let call = ToolCall {
        id: "c1".into(),
        name: "bash".into(),
        arguments: serde_json::Value::Null,
        raw_arguments: None,
        thought_signature: None,
    };
    let asks = AssistantMessage {
        content: vec![AssistantBlock::ToolCall(call)],
        stop_reason: StopReason::ToolUse,
        ..AssistantMessage::default()
    };
    let result = ToolResultMessage {
        tool_call_id: "c1".into(),
        tool_name: "bash".into(),
        content: vec![UserBlock::Text { text: "a.txt".into() }],
        details: None,
        is_error: false,
        timestamp: UnixMs(0),
    };
    let entries = [
        said(0),
        tried(1, 0, "One", Some("no route")),
        tried(2, 0, "One", Some("no route")),
        entry(3, Message::Assistant(asks)),
        entry(4, Message::ToolResult(result)),
    ];
    for lines in told_and_read(&entries) {
        assert!(lines.iter().any(|line| line.starts_with("✓ bash")), "{lines:?}");
        assert!(lines.iter().any(|line| line == "│ a.txt"), "{lines:?}");
    }
}
