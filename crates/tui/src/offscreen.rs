//! Draws a session's screen without a terminal, for screenshots, benchmarks and programs that display it
//! elsewhere.

use std::sync::Arc;

use crossterm::event::{KeyEvent, MouseEvent};
use jiff::tz::TimeZone;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use tiller_core::event::Event;
use tiller_core::unit::UnixMs;
use tiller_engine::{Snapshot, built_in_tools};
use tiller_session::Reader;

use crate::action::{Action, ActionRequest, BackgroundJob};
use crate::app::App;
use crate::executor::log_queries::{read_newest, read_part, search_log};
use crate::message::{ListResult, LoadedSession, Msg, TaskReport, TaskResult};
use crate::options::TuiOptions;
use crate::tree;
use crate::tree::search_worker::SearchControl;
use crate::ui_context::UiContext;
use crate::view::view;

/// A session's screen, drawn into memory exactly as [`run`](super::run) draws it on a terminal.
///
/// There is no agent: actions for the agent are ignored; queries of the log are answered.
pub struct OffScreen {
    app: App,
    reader: Reader,
    terminal: Terminal<TestBackend>,
}

impl OffScreen {
    /// Creates the screen from a snapshot and the session's log; `size` is columns and rows. Times are shown
    /// in UTC, so that the same session always looks the same.
    #[must_use]
    pub fn new(
        size: (u16, u16),
        snapshot: Snapshot,
        reader: Reader,
        options: &TuiOptions,
        now: UnixMs,
    ) -> Self {
        let (cwd, home) = (snapshot.state.cwd.clone(), options.home.clone());
        let ui = UiContext { size, ..UiContext::new(cwd, home, TimeZone::UTC.into(), &options.themes) };
        let Ok(terminal) = Terminal::new(TestBackend::new(size.0, size.1));
        let mut screen = Self { app: App::new(ui, Vec::new()), reader, terminal };
        let newest = read_newest(&screen.reader, built_in_tools());
        let loaded = LoadedSession { snapshot, newest };
        screen.apply(Msg::TaskResult(TaskResult::Loaded(Box::new(loaded)).into()), now);
        screen.app.lay_out_panels();
        screen
    }

    /// Applies an agent event.
    pub fn event(&mut self, event: Arc<Event>, now: UnixMs) {
        self.apply(Msg::Agent(event), now);
    }

    /// Handles a key.
    pub fn key(&mut self, key: KeyEvent, now: UnixMs) {
        self.apply(Msg::Key(key), now);
    }

    /// Handles a mouse event.
    pub fn mouse(&mut self, event: MouseEvent, now: UnixMs) {
        self.apply(Msg::Mouse(event), now);
    }

    /// Handles a paste.
    pub fn paste(&mut self, text: String, now: UnixMs) {
        self.apply(Msg::Paste(text), now);
    }

    /// Draws the screen at a point in time.
    pub fn draw(&mut self, now: UnixMs) -> &Buffer {
        self.app.now = now;
        let areas = self.app.prepare();
        let Ok(_) = self.terminal.draw(|frame| view(&self.app, &areas, frame));
        self.terminal.backend().buffer()
    }

    fn apply(&mut self, input: Msg, now: UnixMs) {
        for ActionRequest { from, action } in self.app.update(input, now) {
            let report = |screen: &mut Self, result| {
                screen.apply(Msg::TaskResult(TaskReport { to: from, result }), now)
            };
            match action {
                Action::Background(BackgroundJob::Tree(request)) => {
                    self.query_tree(&request).into_iter().for_each(|result| report(self, result));
                }
                Action::Background(BackgroundJob::ReadPart(request)) => {
                    let read = read_part(&self.reader, request);
                    report(self, read);
                }
                Action::Background(BackgroundJob::Search(lookup)) => {
                    let mut all = Vec::new();
                    search_log(&self.reader, &lookup, |hits| {
                        all.push(hits);
                        true
                    });
                    all.into_iter().for_each(|hits| report(self, TaskResult::SearchHits(hits)));
                }
                _ => {}
            }
        }
    }

    /// Answers a request of the tree.
    fn query_tree(&self, request: &tree::request::TreeRequest) -> Vec<TaskResult> {
        let mut all: Vec<tree::request::TreeResult> =
            tree::loader::load(&self.reader, &built_in_tools(), request).into_iter().collect();
        if let tree::request::TreeRequest::Search(query) = request {
            let tell = |result| {
                all.push(result);
                SearchControl::Yes
            };
            tree::search_worker::search_entries(&self.reader, query, || SearchControl::Yes, tell);
        }
        let session = self.reader.id();
        let result = |news| TaskResult::List(ListResult::Tree { session: session.clone(), news });
        all.into_iter().map(result).collect()
    }
}
