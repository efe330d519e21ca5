//! Property test: after any sequence of operations, the log agrees with a simple model.

mod model;

use std::collections::BTreeMap;
use std::io::Write;
use tiller_core::setting::CompactionStrategy;

use futures_util::StreamExt;
use proptest::prelude::{Just, ProptestConfig, any, prop, prop_assert_eq, prop_oneof, proptest};
use proptest::strategy::Strategy as _;
use serde_json::{Value, json};
use tiller_core::event::QueueKind;
use tiller_core::id::CallId;
use tiller_core::message::{
    AssistantBlock, AssistantMessage, BashExecutionMessage, StopReason, SystemMessage, ThinkingLevel,
    ToolCall, ToolResultMessage, Usage, UserBlock,
};
use tiller_core::unit::Tokens;
use tiller_engine::built_in_tools;
use tiller_engine::compaction::{
    CompactionInput, CompactionOptions, CompactionPlan, RetentionLimits, first_message,
};
use tiller_engine::queue::Queue;
use tiller_provider::compat::Compat;
use tiller_provider::{
    Anthropic, Endpoint, Gemini, OpenAiChat, OpenAiResponses, Provider, Request, ToolChoice, catalog,
};
use tiller_session::annotations::Annotations;
use tiller_session::context::{ProjectedMessage, Projection, request_messages};
use tiller_session::entry::{
    Compaction, DeliveryReceipt, MessageEntry, QueueChange, Replacement, TillerEntry,
};
use tiller_test_support::mock_server::MockServer;

use super::*;
use model::{EntryContent, Name, Session};

const NAMES: [&str; 2] = ["parser", "lexer"];

/// An operation on a session. Numbers select among the existing items, modulo their count.
#[derive(Clone, Debug)]
enum Step {
    Prompt(String),
    Picture,
    Answer {
        text: String,
        calls: usize,
        end: StopReason,
        total: u64,
        model: bool,
    },
    Result(usize),
    Bash(bool),
    System(String),
    Model(bool),
    Level(usize),
    /// A compaction by tiller's plan: keeps this many messages.
    CompactByPlan(usize, CompactionStrategy),
    /// A compaction that keeps from an entry of the path on.
    Compact(usize),
    /// A compaction that keeps from any entry on, possibly of another branch.
    CompactAstray(usize),
    /// A compaction by another program that keeps none: it names its own id.
    CompactAll,
    Edit(usize, Option<String>),
    Foreign(String),
    Label(usize, bool),
    Name(bool),
    Spend(u64),
    Queue,
    Unqueue(usize),
    Deliver(usize),
    Branch(usize),
    BranchToStart,
    BranchWithSummary(usize, String),
    Reopen,
    Fork(usize),
}

fn any_step() -> impl proptest::strategy::Strategy<Value = Step> {
    let end = prop::sample::select(vec![
        StopReason::Stop,
        StopReason::Length,
        StopReason::ToolUse,
        StopReason::ToolUse,
        StopReason::Error,
        StopReason::Aborted,
    ]);
    let answer = (any::<String>(), 0..4_usize, end, 0..3_u64, any::<bool>()).prop_map(
        |(text, calls, end, total, model)| Step::Answer { text, calls, end, total: total * 700, model },
    );
    let message = prop_oneof![
        6 => any::<String>().prop_map(Step::Prompt),
        1 => Just(Step::Picture),
        6 => answer,
        6 => any::<usize>().prop_map(Step::Result),
        2 => any::<bool>().prop_map(Step::Bash),
        1 => any::<String>().prop_map(Step::System),
        1 => any::<String>().prop_map(Step::Foreign),
    ];
    let other_entry = prop_oneof![
        any::<bool>().prop_map(Step::Model),
        (0..6_usize).prop_map(Step::Level),
        (1..6_usize, prop::sample::select(vec![CompactionStrategy::Summarize, CompactionStrategy::Truncate]))
            .prop_map(|(first_kept, strategy)| Step::CompactByPlan(first_kept, strategy)),
        any::<usize>().prop_map(Step::Compact),
        any::<usize>().prop_map(Step::CompactAstray),
        Just(Step::CompactAll),
        (any::<usize>(), any::<Option<String>>()).prop_map(|(at, text)| Step::Edit(at, text)),
        (any::<usize>(), any::<bool>()).prop_map(|(at, set)| Step::Label(at, set)),
        any::<bool>().prop_map(Step::Name),
        (1..900_u64).prop_map(Step::Spend),
        Just(Step::Queue),
        any::<usize>().prop_map(Step::Unqueue),
        any::<usize>().prop_map(Step::Deliver),
    ];
    let moved = prop_oneof![
        4 => any::<usize>().prop_map(Step::Branch),
        1 => Just(Step::BranchToStart),
        2 => (any::<usize>(), any::<String>()).prop_map(|(at, text)| Step::BranchWithSummary(at, text)),
        2 => Just(Step::Reopen),
        1 => any::<usize>().prop_map(Step::Fork),
    ];
    prop_oneof![5 => message, 3 => other_entry, 2 => moved]
}

/// A session and its model.
struct Harness {
    sandbox: Sandbox,
    /// `None` while the log is closed.
    writer: Option<Writer>,
    model: Session,
    /// Entries buffered until the file is created.
    buffered: Vec<EntryContent>,
    /// Counter for unused names.
    serial: usize,
    /// The file's content after the last step.
    before: Vec<u8>,
}

impl Harness {
    fn new() -> Self {
        let sandbox = Sandbox::new();
        let writer = Some(sandbox.create());
        Self {
            sandbox,
            writer,
            model: Session::default(),
            buffered: Vec::new(),
            serial: 0,
            before: Vec::new(),
        }
    }

    fn writer(&mut self) -> &mut Writer {
        self.writer.as_mut().unwrap()
    }

    fn reader(&self) -> Reader {
        self.writer.as_ref().unwrap().reader()
    }

    /// Selects an entry, if there is any.
    fn pick(&self, number: usize) -> Option<String> {
        let count = self.model.entries.len();
        (count > 0).then(|| self.model.entries[number % count].id.clone())
    }

    fn unused(&mut self) -> usize {
        self.serial += 1;
        self.serial
    }

    /// Appends an entry, and expects it in the log together with buffered ones.
    fn append(&mut self, content: EntryContent, creates: bool) {
        let appended = self.writer().append(body(&content), NOW).unwrap();
        self.buffered.push(content);
        if creates || !self.model.entries.is_empty() {
            let buffered = std::mem::take(&mut self.buffered);
            assert_eq!(appended.len(), buffered.len());
            for (appended, content) in appended.iter().zip(buffered) {
                self.model.push(appended.id.as_str(), self.model.leaf(), content);
            }
        } else {
            assert!(appended.is_empty());
        }
    }

    fn run(&mut self, step: &Step) {
        match step {
            // Messages create the file; other entries are appended to it, or buffered.
            Step::Prompt(text) => {
                self.append(EntryContent::User { text: text.clone(), images: 0, delivers: None }, true)
            }
            Step::Picture => {
                self.append(EntryContent::User { text: "see".into(), images: 1, delivers: None }, true)
            }
            Step::Answer { text, calls, end, total, model } => {
                let calls = (0..*calls).map(|_| format!("call_{}", self.unused())).collect();
                let (text, model) = (text.clone(), model_name(*model));
                self.append(EntryContent::Answer { text, calls, end: *end, total: *total, model }, true);
            }
            Step::Result(number) => self.result(*number),
            Step::Bash(excluded) => {
                self.append(EntryContent::Bash { output: "out".into(), excluded: *excluded }, true)
            }
            Step::System(text) => self.append(EntryContent::System(text.clone()), true),
            Step::Foreign(text) => self.append(EntryContent::Foreign(text.clone()), true),
            Step::Model(which) => self.append(EntryContent::Model(model_name(*which)), false),
            Step::Level(number) => self.append(EntryContent::Level(ThinkingLevel::ALL[*number]), false),
            Step::Name(which) => self.append(EntryContent::Name(Name(NAMES[usize::from(*which)], 0)), false),
            Step::Spend(total) => self.append(EntryContent::Usage(*total), false),
            Step::Queue => {
                let id = self.writer().queue_id(NOW).as_str().to_owned();
                self.append(EntryContent::Queued(id), false);
            }
            _ if self.model.entries.is_empty() => {}
            Step::Unqueue(number) => {
                if let Some(id) = self.queued_id(*number) {
                    self.append(EntryContent::Unqueued(id), false);
                }
            }
            Step::Deliver(number) => {
                let delivers = self.queued_id(*number);
                self.append(EntryContent::User { text: "queued".into(), images: 0, delivers }, true);
            }
            step => self.run_on_entries(step),
        }
    }

    /// Runs the steps that need an entry.
    fn run_on_entries(&mut self, step: &Step) {
        let summary = || "Much was done.".to_owned();
        match step {
            Step::Compact(number) => {
                let path = self.reader().path_to(&self.reader().leaf().unwrap()).unwrap();
                let first_kept = path[number % path.len()].as_str().to_owned();
                self.append(EntryContent::Compaction { summary: summary(), first_kept }, true);
            }
            Step::CompactByPlan(first_kept, strategy) => self.compact_by_plan(*first_kept, *strategy),
            Step::CompactAstray(number) => {
                let first_kept = self.pick(*number).unwrap();
                self.append(EntryContent::Compaction { summary: summary(), first_kept }, true);
            }
            Step::CompactAll => self.compact_all(),
            Step::Edit(number, replacement) => {
                let target = self.pick(*number).unwrap();
                let is_summary = |content: &EntryContent| matches!(content, EntryContent::Compaction { .. });
                let entry = self.model.entries.iter().find(|entry| entry.id == target).unwrap();
                // The format doesn't define edits of compactions.
                if !is_summary(&entry.content) {
                    self.append(EntryContent::Edit { target, replacement: replacement.clone() }, false);
                }
            }
            Step::Label(number, set) => {
                let target = self.pick(*number).unwrap();
                let label = set.then(|| format!("label {}", number % 7));
                let appended = self.writer().label(&target.as_str().into(), label.as_deref(), NOW).unwrap();
                self.model.push(
                    appended[0].id.as_str(),
                    self.model.leaf(),
                    EntryContent::Label { target, label },
                );
            }
            Step::Branch(number) => self.branch(Some(number % self.model.entries.len()), None),
            Step::BranchToStart => self.branch(None, None),
            Step::BranchWithSummary(number, text) => {
                self.branch(Some(number % self.model.entries.len()), Some(text));
            }
            Step::Reopen => self.reopen(),
            Step::Fork(number) => self.fork(number % self.model.entries.len()),
            step => unreachable!("{step:?} needs no entry"),
        }
    }

    /// Appends a result of an existing call, or of an unknown one.
    fn result(&mut self, number: usize) {
        let calls = |content: &EntryContent| match content {
            EntryContent::Answer { calls, .. } => calls.clone(),
            _ => Vec::new(),
        };
        let mut ids: Vec<String> =
            self.model.entries.iter().flat_map(|entry| calls(&entry.content)).collect();
        // Most results belong to the newest calls.
        ids.drain(..ids.len().saturating_sub(4));
        ids.push("call_of_nobody".into());
        let call = ids[number % ids.len()].clone();
        self.append(EntryContent::Result { text: format!("of {call}"), call }, true);
    }

    fn queued_id(&self, number: usize) -> Option<String> {
        let queued_id = self.model.queued();
        (!queued_id.is_empty()).then(|| queued_id[number % queued_id.len()].clone())
    }

    fn branch(&mut self, to: Option<usize>, summary: Option<&str>) {
        let target = to.map(|to| EntryId::new(&self.model.entries[to].id));
        let appended = match summary {
            Some(text) => self.writer().branch_with_summary(target.as_ref(), text, NOW).unwrap(),
            None => self.writer().branch(target.as_ref(), NOW).unwrap(),
        };
        let content = summary.map_or(EntryContent::Other, |text| EntryContent::BranchSummary(text.into()));
        self.model.push(appended[0].id.as_str(), to, content);
    }

    fn close(&mut self) -> PathBuf {
        let path = self.reader().path().unwrap().to_owned();
        self.writer = None;
        path
    }

    fn reopen(&mut self) {
        let path = self.close();
        self.writer = Some(Writer::open(&path).unwrap());
    }

    /// Compacts by plan, and asserts that the kept messages start validly and that no answer is separated from its
    /// results.
    fn compact_by_plan(&mut self, first_kept: usize, strategy: CompactionStrategy) {
        let (reader, leaf) = (self.reader(), self.reader().leaf().unwrap());
        let (projection, _) = reader.projection(&leaf).unwrap();
        let first_message = reader.first_user_message(&leaf).unwrap().as_deref().and_then(first_message);
        let branch_details = reader.branch_details(&leaf).unwrap();
        let input = CompactionInput { projection, first_message, branch_details, tools: built_in_tools() };
        // Messages are counted, because the texts are too short for a summary to be shorter.
        let options = CompactionOptions { strategy, max_messages: Some(1), ..CompactionOptions::default() };
        let keep = RetentionLimits { tokens: Tokens(u64::MAX), messages: Some(first_kept) };
        let Ok(plan) = CompactionPlan::new(&input, keep, &options) else { return };
        let answers = vec!["Much was done.".to_owned(); plan.requests().len()];
        let entry = match strategy {
            CompactionStrategy::Truncate => plan.truncation_entry(),
            CompactionStrategy::Summarize | CompactionStrategy::Off => plan.summary_entry(&answers),
        };
        let Ok(Compaction { summary, first_kept_entry_id, .. }) = entry else { return };
        let before = request_messages(input.projection.messages.iter().map(|projected| &projected.message));
        self.append(
            EntryContent::Compaction { summary, first_kept: first_kept_entry_id.as_str().to_owned() },
            true,
        );
        let (projection, _) = self.reader().projection(&self.reader().leaf().unwrap()).unwrap();
        let request = request_messages(projection.messages.iter().map(|projected| &projected.message));
        assert!(matches!(*request[0], Message::User(_)), "{request:?}");
        assert!(before.ends_with(&request[1..]), "{request:?} is not the end of {before:?}");
        assert!(request.len() > 1, "nothing is kept");
    }

    fn compact_all(&mut self) {
        let path = self.close();
        let id = format!("{:08x}", self.unused());
        let parent = self.model.leaf().map(|leaf| self.model.entries[leaf].id.clone());
        let line = json!({"type": "compaction", "id": id, "parentId": parent, "timestamp": "2026-11-21T03:16:58.249Z",
            "summary": "Nothing is left.", "firstKeptEntryId": id, "tokensBefore": 1});
        let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(format!("{line}\n").as_bytes()).unwrap();
        let content = EntryContent::Compaction { summary: "Nothing is left.".into(), first_kept: id.clone() };
        self.model.push(&id, self.model.leaf(), content);
        self.writer = Some(Writer::open(&path).unwrap());
    }

    fn fork(&mut self, leaf: usize) {
        let from = self.reader();
        let fork = self.sandbox.manager.fork(&from, Some(&EntryId::new(&self.model.entries[leaf].id)), NOW);
        self.writer = Some(fork.unwrap());
        assert_eq!(fs::read(from.path().unwrap()).unwrap(), self.before, "a fork changed its parent");
        self.before.clear();
        let (mut model, added) = self.model.forked(leaf);
        let nodes = self.reader().tree().nodes().to_vec();
        assert_eq!(nodes.len(), model.entries.len() + added.len());
        for content in added {
            let at = model.entries.len();
            model.push(nodes[at].id.as_str(), model.leaf(), content);
        }
        self.model = model;
    }

    /// Asserts that the writer's reader, a fresh one and the model agree, and that no written byte changed.
    fn check(&mut self) {
        assert_agrees(&self.reader(), &self.model);
        let path = self.reader().path().unwrap().to_owned();
        if !path.exists() {
            assert!(self.model.entries.is_empty());
            return;
        }
        assert_agrees(&Reader::open(&path).unwrap(), &self.model);
        let bytes = fs::read(&path).unwrap();
        assert!(bytes.starts_with(&self.before), "what was written changed");
        self.before = bytes;
    }
}

fn model_name(is_large: bool) -> String {
    if is_large { "p/large" } else { "q/small" }.to_owned()
}

fn user_block(text: &str) -> UserBlock {
    UserBlock::Text { text: text.into() }
}

/// The entry body for a model entry.
fn body(content: &EntryContent) -> EntryBody {
    let queued = |change| EntryBody::from_tiller(&TillerEntry::Queue(change));
    match content {
        EntryContent::Model(model) => {
            let (provider, model_id) = model.split_once('/').unwrap();
            EntryBody::ModelChange { provider: provider.into(), model_id: model_id.into() }
        }
        EntryContent::Level(level) => EntryBody::ThinkingLevelChange { thinking_level: *level },
        EntryContent::Compaction { summary, first_kept } => EntryBody::Compaction(Compaction {
            summary: summary.clone(),
            first_kept_entry_id: first_kept.as_str().into(),
            tokens_before: Tokens(1),
            details: None,
            usage: None,
            made_by: None,
        }),
        EntryContent::Edit { target, replacement } => EntryBody::ContextEdit {
            target_id: target.as_str().into(),
            replacement: replacement.clone().map(|text| Replacement { content: Content::Text(text) }),
        },
        EntryContent::Foreign(text) => {
            let content = Content::Text(text.clone());
            EntryBody::CustomMessage { custom_type: "other".into(), content, display: true }
        }
        EntryContent::Name(name) => EntryBody::SessionInfo { name: Some(name.text()) },
        EntryContent::Usage(total) => EntryBody::Usage {
            kind: "compaction".into(),
            provider: "p".into(),
            model: "large".into(),
            usage: Usage { input: Tokens(*total), ..Usage::default() },
        },
        EntryContent::Queued(id) => {
            let queue_id = id.as_str().into();
            queued(QueueChange::Add {
                queue_id,
                kind: QueueKind::FollowUp,
                text: "queued".into(),
                typed: None,
                images: Vec::new(),
            })
        }
        EntryContent::Unqueued(id) => queued(QueueChange::Remove { queue_id: id.as_str().into() }),
        EntryContent::User { delivers, .. } => EntryBody::Message(MessageEntry {
            message: Arc::new(message(content)),
            tiller_queue_id: delivers.as_ref().map(|id| id.as_str().into()),
            tiller_receipt: delivers.as_ref().map(|_| DeliveryReceipt::default()),
        }),
        content => EntryBody::message(Arc::new(message(content))),
    }
}

fn message(content: &EntryContent) -> Message {
    match content {
        EntryContent::User { text, images, .. } => {
            let picture = UserBlock::Image { data: "aW1n".into(), mime_type: "image/png".into() };
            let pictures = (0..*images).map(|_| picture.clone());
            let content = Content::Blocks([user_block(text)].into_iter().chain(pictures).collect());
            Message::User(UserMessage { content, timestamp: NOW, typed: None })
        }
        EntryContent::Answer { text, calls, end, total, model } => {
            Message::Assistant(answer(text, calls, *end, *total, model))
        }
        EntryContent::Result { call, text } => Message::ToolResult(ToolResultMessage {
            tool_call_id: call.as_str().into(),
            tool_name: "look".into(),
            content: vec![user_block(text)],
            details: None,
            is_error: false,
            timestamp: NOW,
        }),
        EntryContent::Bash { output, excluded } => Message::BashExecution(BashExecutionMessage {
            command: "ls".into(),
            output: output.clone(),
            exclude_from_context: *excluded,
            ..BashExecutionMessage::default()
        }),
        EntryContent::System(text) => {
            Message::System(SystemMessage { content: text.clone(), timestamp: NOW })
        }
        content => unreachable!("{content:?} is no message"),
    }
}

fn answer(text: &str, calls: &[String], end: StopReason, total: u64, model: &str) -> AssistantMessage {
    let (provider, model) = model.split_once('/').unwrap();
    let text = AssistantBlock::text(text.to_owned());
    let call = |id: &String| {
        AssistantBlock::ToolCall(ToolCall::from_streamed(id.as_str().into(), "look".into(), ""))
    };
    // Some providers report no total.
    let usage = Usage { input: Tokens(total / 7 * 5), output: Tokens(total / 7 * 2), ..Usage::default() };
    AssistantMessage {
        content: [text].into_iter().chain(calls.iter().map(call)).collect(),
        provider: provider.into(),
        model: model.into(),
        usage,
        stop_reason: end,
        ..AssistantMessage::default()
    }
}

fn role_and_text(projected: &ProjectedMessage) -> (&'static str, String) {
    match &*projected.message {
        Message::User(user) => ("user", user.content.joined_text()),
        Message::Assistant(answer) => ("assistant", answer.joined_text()),
        Message::ToolResult(result) => ("toolResult", tiller_core::message::joined_text(&result.content)),
        Message::BashExecution(ran) => ("bashExecution", ran.output.clone()),
        Message::System(system) => ("system", system.content.clone()),
    }
}

fn assert_agrees(reader: &Reader, model: &Session) {
    assert_eq!(reader.findings(), []);
    let tree = reader.tree();
    let parents: Vec<Option<usize>> = tree.nodes().iter().map(|node| node.parent).collect();
    assert_eq!(parents, model.parents());
    let ids: Vec<&str> = tree.nodes().iter().map(|node| node.id.as_str()).collect();
    assert_eq!(ids, model.entries.iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>());
    assert_eq!(reader.leaf().map(|leaf| leaf.to_string()).as_deref(), ids.last().copied());
    assert_eq!(reader.name(), model.name());
    assert_eq!(reader.usage().total(), Tokens(model.total_tokens()));
    let annotations = Annotations::read(reader, &tree);
    let labels = (0..ids.len()).filter_map(|at| Some((at, annotations.label(at)?.to_owned())));
    assert_eq!(labels.collect::<BTreeMap<_, _>>(), model.labels());
    let queue = Queue::restore(&reader.tiller_entries().unwrap().0);
    assert_eq!(queue.items().iter().map(|item| item.id.as_str()).collect::<Vec<_>>(), model.queued());
    if let Some(leaf) = model.leaf() {
        assert_context_agrees(reader, model, leaf);
    }
}

fn assert_context_agrees(reader: &Reader, model: &Session, leaf: usize) {
    let (projection, damaged) = reader.projection(&EntryId::new(&model.entries[leaf].id)).unwrap();
    assert_eq!(damaged, []);
    let messages = model.context_messages(Some(leaf));
    let ids: Vec<&str> = projection.messages.iter().map(|message| message.entry.as_str()).collect();
    assert_eq!(ids, messages.iter().map(|messages| messages.id.as_str()).collect::<Vec<_>>());
    let (roles, texts): (Vec<&str>, Vec<String>) = projection.messages.iter().map(role_and_text).unzip();
    for ((messages, role), text) in messages.iter().zip(roles).zip(&texts) {
        assert_eq!(messages.role, role);
        assert!(
            if messages.wrapped { text.contains(&messages.text) } else { *text == messages.text },
            "{messages:?}: {text}"
        );
    }
    assert_eq!(projection.model.as_ref().map(ToString::to_string), model.model(Some(leaf)));
    assert_eq!(projection.thinking, model.level(Some(leaf)));
    assert_eq!(projection.tokens(), Tokens(model.tokens(Some(leaf), &texts)));
}

/// Asserts that every call has one result directly after its answer, in order, and every result its call.
pub(super) fn assert_paired(request: &[Arc<Message>]) {
    let mut open: Vec<&CallId> = Vec::new();
    for message in request {
        match &**message {
            Message::ToolResult(result) => {
                assert_eq!(open.first(), Some(&&result.tool_call_id));
                open.remove(0);
            }
            message => {
                assert!(open.is_empty(), "{open:?} have no result");
                match message {
                    Message::Assistant(answer) => {
                        assert_ne!(answer.stop_reason, StopReason::Error, "a failed answer is sent");
                        open.extend(answer.tool_calls().map(|call| &call.id));
                        assert!(open.is_empty() || answer.stop_reason != StopReason::Aborted);
                    }
                    Message::BashExecution(ran) => assert!(!ran.exclude_from_context, "`!!` is sent"),
                    Message::User(_) => {}
                    message => panic!("{message:?} is sent"),
                }
            }
        }
    }
    assert!(open.is_empty(), "{open:?} have no result");
}

/// The number of wire formats.
const FORMATS: usize = 4;

/// Providers with a server that rejects every request.
struct RejectingServer {
    server: MockServer,
    providers: [Box<dyn Provider>; FORMATS],
    runtime: tokio::runtime::Runtime,
}

impl RejectingServer {
    fn new() -> Self {
        let server = MockServer::start([]);
        let endpoint = |name: &str, url: String| Endpoint::new(name, url, "KEY").with_key("key".into());
        let open_ai = || endpoint("openai", format!("{}/v1/", server.url));
        let providers: [Box<dyn Provider>; FORMATS] = [
            Box::new(Anthropic::new(endpoint("anthropic", server.url.clone())).unwrap()),
            Box::new(OpenAiChat::new(open_ai(), Compat::COMMON).unwrap()),
            Box::new(OpenAiResponses::new(open_ai()).unwrap()),
            Box::new(Gemini::new(endpoint("gemini", server.url.clone())).unwrap()),
        ];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { server, providers, runtime }
    }

    /// The messages as encoded by each provider.
    fn encode(&self, request: &[Arc<Message>]) -> [Value; FORMATS] {
        let before = self.server.requests().len();
        for provider in &self.providers {
            let request = Request {
                model: Arc::new(catalog::list_models("anthropic").remove(0)),
                system: String::new(),
                messages: request.to_vec(),
                tools: Arc::new([]),
                tool_choice: ToolChoice::Auto,
                max_tokens: Tokens(4_000),
                temperature: None,
                thinking: ThinkingLevel::Off,
                cache_key: None,
            };
            self.runtime.block_on(provider.stream(request).collect::<Vec<_>>());
        }
        let requests = self.server.requests();
        assert_eq!(requests.len(), before + FORMATS, "a request was not sent");
        [(0, "messages"), (1, "messages"), (2, "input"), (3, "contents")]
            .map(|(at, key)| requests[before + at].body[key].clone())
    }
}

fn array(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The ids under `key` in the blocks of this type.
fn ids<'a>(blocks: &'a [Value], kind: &str, key: &str) -> Vec<&'a str> {
    blocks.iter().filter(|block| block["type"] == kind).map(|block| block[key].as_str().unwrap()).collect()
}

/// Asserts that roles alternate, no message or text is empty, and results directly follow their calls.
fn assert_anthropic_accepts(messages: &Value) {
    let mut called = Vec::new();
    let mut last = "";
    for message in array(messages) {
        let (role, blocks) = (message["role"].as_str().unwrap(), array(&message["content"]));
        assert_ne!(role, last, "{messages}");
        assert!(!blocks.is_empty(), "{messages}");
        let is_blank = |block: &Value| block["text"].as_str().is_some_and(|text| text.trim().is_empty());
        assert!(!blocks.iter().any(is_blank), "{messages}");
        let results = ids(blocks, "tool_result", "tool_use_id");
        assert_eq!(results, called, "{messages}");
        assert!(blocks[..results.len()].iter().all(|block| block["type"] == "tool_result"), "{messages}");
        called = ids(blocks, "tool_use", "id");
        last = role;
    }
    assert!(called.is_empty(), "{messages}");
}

/// Asserts that roles alternate, no content or text is empty, and results directly follow their calls.
fn assert_gemini_accepts(contents: &Value) {
    fn ids<'a>(parts: &'a [Value], kind: &str) -> Vec<&'a str> {
        parts.iter().filter_map(|part| part.get(kind)?["id"].as_str()).collect()
    }
    let mut called = Vec::new();
    let mut last = "";
    for content in array(contents) {
        let (role, parts) = (content["role"].as_str().unwrap(), array(&content["parts"]));
        assert_ne!(role, last, "{contents}");
        assert!(!parts.is_empty(), "{contents}");
        let is_blank = |part: &Value| part["text"].as_str().is_some_and(|text| text.trim().is_empty());
        assert!(!parts.iter().any(is_blank), "{contents}");
        let results = ids(parts, "functionResponse");
        assert_eq!(results, called, "{contents}");
        assert!(parts[..results.len()].iter().all(|part| part.get("functionResponse").is_some()));
        called = ids(parts, "functionCall");
        last = role;
    }
    assert!(called.is_empty(), "{contents}");
}

/// Asserts that results are directly after the message with their calls, and nowhere else.
fn assert_open_ai_accepts(messages: &Value) {
    let mut called: Vec<&str> = Vec::new();
    for message in array(messages) {
        if message["role"] == "tool" {
            assert_eq!(message["tool_call_id"].as_str(), called.first().copied(), "{messages}");
            called.remove(0);
            continue;
        }
        assert!(called.is_empty(), "{messages}");
        called = ids(array(&message["tool_calls"]), "function", "id");
    }
    assert!(called.is_empty(), "{messages}");
}

/// Asserts that results are after the answer with their calls, and before any user message.
fn assert_responses_accept(input: &Value) {
    let mut called: Vec<&str> = Vec::new();
    for item in array(input) {
        match item["type"].as_str() {
            Some("function_call") => called.push(item["call_id"].as_str().unwrap()),
            Some("function_call_output") => {
                assert_eq!(item["call_id"].as_str(), called.first().copied(), "{input}");
                called.remove(0);
            }
            Some(_) => {}
            None => assert!(called.is_empty(), "{input}"),
        }
    }
    assert!(called.is_empty(), "{input}");
}

/// Asserts that a projection of the newest messages is the end of the whole one, and counts the missing ones.
fn assert_end_of(newest: &Projection, complete: &Projection) {
    assert_eq!((&newest.model, newest.thinking), (&complete.model, complete.thinking));
    match newest.unloaded {
        None => assert_eq!(newest, complete),
        Some(unloaded) => {
            let head = usize::from(newest.compaction.is_some());
            assert!(complete.messages.ends_with(&newest.messages[head..]), "{newest:?}");
            assert_eq!(newest.messages[..head], complete.messages[..head]);
            assert_eq!(unloaded.messages + newest.messages.len(), complete.messages.len(), "{newest:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn session_random_steps_agree_with_model(
        steps in prop::collection::vec(any_step(), 1..40)
    ) {
        let mut harness = Harness::new();
        for step in &steps {
            harness.run(step);
            harness.check();
        }
        let reader = harness.reader();
        for node in reader.tree().nodes() {
            let (branch, damaged) = reader.branch(&node.id).unwrap();
            let complete = context::project(&branch);
            for size in [0, 3, 50] {
                assert_end_of(&reader.newest_projection(&node.id, Tokens(size)).unwrap().0, &complete);
            }
            prop_assert_eq!(reader.projection(&node.id).unwrap(), (complete, damaged));
        }
        if let Some(path) = reader.path().filter(|path| path.exists()) {
            prop_assert_eq!(tiller_test_support::format_check::check(&fs::read_to_string(path).unwrap()), Ok(()));
        }
        let server = RejectingServer::new();
        for leaf in harness.model.leaves() {
            assert_context_agrees(&reader, &harness.model, leaf);
            let (projection, _) = reader.projection(&EntryId::new(&harness.model.entries[leaf].id)).unwrap();
            let request = request_messages(projection.messages.iter().map(|projected| &projected.message));
            assert_paired(&request);
            let [anthropic, open_ai, responses, gemini] = server.encode(&request);
            assert_anthropic_accepts(&anthropic);
            assert_open_ai_accepts(&open_ai);
            assert_responses_accept(&responses);
            assert_gemini_accepts(&gemini);
        }
    }
}
