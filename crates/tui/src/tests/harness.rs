//! The test harness: a front end with a scripted agent, clock and terminal.

use std::sync::Arc;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};
use tiller_core::entry_line::EntryLine;
use tiller_core::event::{ApprovalRequest, AssistantDelta, Event, EventKind, ToolOutcome};
use tiller_core::message::{
    AssistantBlock, AssistantMessage, Cost, Message, ModelRef, StopReason, ThinkingLevel, ToolCall,
    ToolResultMessage, Usage, UserBlock, UserMessage,
};
use tiller_core::unit::{Tokens, UnixMs, Usd};
use tiller_engine::{ContextUse, InFlight, SessionState, Snapshot};
use tiller_provider::catalog::ImageInput;
use tiller_session::EntryBody;
use tiller_session::entry::{DeliveryReceipt, MessageEntry};

use crate::action::{Action, ActionRequest};
use crate::address::{Address, OverlayId};
use crate::app::App;
use crate::list_kind::ListKind;
use crate::message::{LoadedSession, Msg, TaskReport, TaskResult};
use crate::overlay::Overlay;
use crate::transcript::section::LoadedPath;
use crate::ui_context::UiContext;
use crate::view::view;

/// 14:02 UTC.
pub(super) const START: i64 = 1_795_269_720_000;

/// The sizes at which views are drawn.
pub(super) const SIZES: [(u16, u16); 2] = [(80, 24), (120, 40)];

/// A front end under test with its clock and recorded actions.
pub(super) struct Harness {
    pub(super) app: App,
    pub(super) now: i64,
    pub(super) seq: u64,
    entries: usize,
    pub(super) actions: Vec<Action>,
}

impl Harness {
    pub(super) fn new(width: u16, height: u16) -> Self {
        let mut harness = Self {
            app: App::new(UiContext::example(), vec!["an earlier prompt".into()]),
            now: START,
            seq: 0,
            entries: 0,
            actions: Vec::new(),
        };
        harness.input(Msg::Resize { width, height });
        let snapshot = Snapshot { seq: 0, state: state(), in_progress: InFlight::default() };
        let newest = LoadedPath::default();
        harness.report_result(TaskResult::Loaded(Box::new(LoadedSession { snapshot, newest })));
        harness.report_result(TaskResult::Branch(Some("main".into())));
        harness
    }

    pub(super) fn input(&mut self, input: Msg) {
        let requests = self.app.update(input, UnixMs(self.now));
        self.actions.extend(requests.into_iter().map(|request| request.action));
        // Lays out the panels as a frame after each action would.
        self.app.lay_out_panels();
    }

    /// Delivers a result: a result for a list or its choices to the overlay on top, any other to the screen.
    pub(super) fn report_result(&mut self, result: TaskResult) {
        let to = match &result {
            TaskResult::List(_) => self.app.compositor.top().map(Overlay::address).unwrap_or_default(),
            _ => Address::Screen,
        };
        self.report_to(to, result);
    }

    /// Delivers a result; returns the actions that follow.
    pub(super) fn report(&mut self, result: TaskResult) -> Vec<Action> {
        self.actions.clear();
        self.report_result(result);
        std::mem::take(&mut self.actions)
    }

    /// Delivers a result to a part of the screen.
    pub(super) fn report_to(&mut self, to: Address, result: TaskResult) {
        self.input(Msg::TaskResult(TaskReport { to, result }));
    }

    /// Rejects an action that a part of the screen requested.
    pub(super) fn reject(&mut self, from: Address, action: Action) {
        self.app.reject(ActionRequest { from, action }, "Busy: try again in a moment.");
    }

    /// Returns the address of the list of this kind, or of a closed list if there is none.
    pub(super) fn list_address(&self, list: ListKind) -> Address {
        let open = self.app.compositor.overlays.iter().find(|overlay| overlay.is_list(list));
        open.map_or(Address::Overlay(OverlayId(u32::MAX)), Overlay::address)
    }

    pub(super) fn resize(&mut self, width: u16, height: u16) {
        self.input(Msg::Resize { width, height });
    }

    pub(super) fn event(&mut self, kind: EventKind) {
        self.seq += 1;
        let event = Event { kind, seq: self.seq, time: UnixMs(self.now) };
        self.input(Msg::Agent(Arc::new(event)));
    }

    pub(super) fn wait(&mut self, ms: i64) {
        self.now += ms;
        self.input(Msg::Tick);
    }

    pub(super) fn append(&mut self, said: MessageEntry) {
        self.entry(&EntryBody::Message(said));
    }

    pub(super) fn entry(&mut self, body: &EntryBody) {
        self.entries += 1;
        let mut line = serde_json::to_value(body).unwrap();
        line["id"] = Value::from(format!("e{}", self.entries));
        self.event(EventKind::EntryAppended {
            entry_id: format!("e{}", self.entries).as_str().into(),
            entry: EntryLine::new(&line.to_string()),
        });
    }

    pub(super) fn message(&mut self, message: Message) {
        self.append(MessageEntry { message: Arc::new(message), tiller_queue_id: None, tiller_receipt: None });
    }

    pub(super) fn user(&mut self, text: &str) {
        self.message(Message::User(UserMessage::text(text, UnixMs(self.now))));
    }

    pub(super) fn delta(&mut self, delta: AssistantDelta) {
        let usage = Usage { output: Tokens(1_234), ..Usage::default() };
        self.event(EventKind::MessageUpdate { usage, assistant_message_event: delta });
    }

    pub(super) fn text(&mut self, content_index: usize, text: &str) {
        self.delta(AssistantDelta::TextDelta { content_index, delta: text.into() });
    }

    pub(super) fn answer(&mut self, content: Vec<AssistantBlock>) {
        let answer =
            AssistantMessage { content, stop_reason: StopReason::ToolUse, ..AssistantMessage::default() };
        self.message(Message::Assistant(answer));
    }

    pub(super) fn start(&mut self, id: &str, name: &str) {
        let args = Value::Null;
        self.event(EventKind::ToolExecutionStart { tool_call_id: id.into(), tool_name: name.into(), args });
    }

    pub(super) fn result(&mut self, (id, name): (&str, &str), text: &str, details: Value, is_error: bool) {
        let content = vec![UserBlock::Text { text: text.into() }];
        let (tool_call_id, tool_name) = (id.into(), name.to_owned());
        let result = ToolResultMessage {
            tool_call_id,
            tool_name: tool_name.clone(),
            content,
            details: Some(details),
            is_error,
            timestamp: UnixMs(self.now),
        };
        let outcome = ToolOutcome::from(&result);
        self.message(Message::ToolResult(result));
        let tool_call_id = id.into();
        self.event(EventKind::ToolExecutionEnd { tool_call_id, tool_name, result: outcome, is_error });
    }

    pub(super) fn press(&mut self, code: KeyCode, modifiers: KeyModifiers) -> Vec<Action> {
        self.actions.clear();
        self.input(Msg::Key(KeyEvent::new(code, modifiers)));
        std::mem::take(&mut self.actions)
    }

    pub(super) fn key(&mut self, code: KeyCode) -> Vec<Action> {
        self.press(code, KeyModifiers::NONE)
    }

    pub(super) fn control(&mut self, c: char) -> Vec<Action> {
        self.press(KeyCode::Char(c), KeyModifiers::CONTROL)
    }

    pub(super) fn type_text(&mut self, text: &str) {
        for c in text.chars() {
            self.key(KeyCode::Char(c));
        }
    }

    pub(super) fn request_approval(&mut self) {
        self.event(EventKind::ApprovalRequested(ApprovalRequest {
            tool_call_id: "c2".into(),
            tool_name: "bash".into(),
            args: json!({"command": "cargo test parse\necho done", "timeout_s": 60}),
            reason: "runs a command".into(),
            rule: "bash: cargo test".into(),
            proposed: None,
            agent: None,
            cwd: None,
            preview: None,
            later: 0,
        }));
    }

    pub(super) fn screen(&mut self) -> String {
        let mut terminal = Terminal::new(TestBackend::new(self.app.ui.size.0, self.app.ui.size.1)).unwrap();
        let areas = self.app.prepare();
        terminal.draw(|frame| view(&self.app, &areas, frame)).unwrap();
        let buffer = terminal.backend().buffer();
        let row = |y| {
            let mut text = String::new();
            let mut x = 0;
            while x < buffer.area.width {
                let symbol = buffer[(x, y)].symbol();
                text.push_str(symbol);
                x += u16::try_from(unicode_width::UnicodeWidthStr::width(symbol).max(1)).unwrap();
            }
            text.trim_end().to_owned()
        };
        (0..buffer.area.height).map(row).collect::<Vec<_>>().join("\n")
    }
}

pub(crate) fn state() -> SessionState {
    SessionState {
        session: "01JD6X9QWERTYUIOPASDFGHJKL".into(),
        path: None,
        name: Some("fix-crlf".into()),
        cwd: "/home/ada/code/conf".into(),
        model: ModelRef { provider: "anthropic".into(), id: "claude-sonnet-4-5".into() },
        thinking: ThinkingLevel::High,
        image_input: ImageInput::Supported,
        context: ContextUse { used: Tokens(68_000), window: Tokens(200_000) },
        usage: Usage {
            input: Tokens(48_200),
            output: Tokens(3_149),
            cost: Cost { total: Usd(0.21), ..Cost::default() },
            ..Usage::default()
        },
        approval: "ask".into(),
        plan: None,
    }
}

pub(super) fn call(id: &str, name: &str, arguments: Value) -> AssistantBlock {
    AssistantBlock::ToolCall(ToolCall {
        id: id.into(),
        name: name.into(),
        arguments,
        raw_arguments: None,
        thought_signature: None,
    })
}

pub(super) fn text(text: &str) -> AssistantBlock {
    AssistantBlock::text(text)
}

/// Starts a run with two finished calls and a running command.
pub(super) fn at_work(harness: &mut Harness) {
    harness.user("the parser test fails on windows line endings, find out why");
    harness.event(EventKind::AgentStart);
    harness.wait(800);
    harness.answer(vec![
        AssistantBlock::Thinking {
            thinking: "Line endings: the lexer first.".into(),
            thinking_signature: None,
        },
        text("I'll look at the **tokenizer** first."),
        call("c0", "grep", json!({"pattern": "\\n", "path": "src/parse"})),
        call("c1", "read_file", json!({"path": "src/parse/lexer.rs"})),
        call("c2", "bash", json!({"command": "cargo test parse -- --nocapture"})),
        call("c3", "edit_file", json!({"path": "src/parse/lexer.rs"})),
    ]);
    harness.start("c0", "grep");
    harness.wait(40);
    harness.result(("c0", "grep"), "src/parse/lexer.rs:3: x", json!({"matches": 6}), false);
    harness.start("c1", "read_file");
    harness.result(("c1", "read_file"), "…", json!({"lines": 212}), false);
    harness.start("c2", "bash");
    harness.wait(12_400);
    let output: String = (1..=9).map(|n| format!("test case_{n} ... \u{1b}[32mok\u{1b}[0m\n")).collect();
    harness.event(EventKind::ToolExecutionUpdate {
        tool_call_id: "c2".into(),
        tool_name: "bash".into(),
        args: serde_json::Value::Null,
        partial_result: ToolOutcome { content: vec![UserBlock::Text { text: output }], details: None },
    });
}

pub(super) fn steered(harness: &mut Harness) {
    at_work(harness);
    let output: String = (1..=14).map(|n| format!("test case_{n} ... ok\n")).collect();
    harness.result(("c2", "bash"), &output, json!({"exitCode": 101, "timedOut": false}), false);
    harness.result(("c3", "edit_file"), "skipped: the user steered", json!({}), true);
    harness.append(MessageEntry {
        message: Arc::new(Message::User(UserMessage::text(
            "wait — the fixture itself has mixed endings",
            UnixMs(0),
        ))),
        tiller_queue_id: Some("q1".into()),
        tiller_receipt: Some(DeliveryReceipt {
            after_calls: 3,
            skipped_calls: 1,
            ..DeliveryReceipt::default()
        }),
    });
    harness.answer(vec![
        text("You're right: line 3 of `mixed.txt` ends in `\\r\\r\\n`."),
        call("c4", "edit_file", json!({"path": "tests/fixtures/mixed.txt"})),
    ]);
    harness.start("c4", "edit_file");
    let diff = "--- a\n+++ b\n@@ -2,3 +2,3 @@\n [section]\n-name = \"a\"\r\r\n+name = \"a\"\r\n port = 1\n";
    harness.result(("c4", "edit_file"), "edited", json!({"diff": diff, "added": 1, "removed": 1}), false);
}
