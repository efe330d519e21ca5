//! Keys of a list. Typing filters; the list's own keys and Enter go to its [`ListSource`].

use crossterm::event::{KeyCode, KeyEvent};
use ratatui::buffer::Buffer;
use ratatui::layout::{Position, Rect};
use tiller_session::SessionScope;

use crate::action::{Action, ListAction};
use crate::component::{Component, Context, Outcome, UiEvent, ViewContext};
use crate::effect::{Effect, LeaveScope};
use crate::keymap::table::{KeyCommand, KeyContext};
use crate::line_input::{LineInput, typed_char};
use crate::list_click::handle_mouse;
use crate::message::TaskResult;
use crate::navigate::Navigate;
use crate::overlay::scroll::scroll_rows;
use crate::picker::item::PickerChoice;
use crate::picker::line_prompt::StatusText;
use crate::picker::sessions::SortOrder;
use crate::picker::source::ListResponse;
use crate::picker::{Picker, view};
use crate::shown_since::ShownSince;

impl Component for Picker {
    fn handle(&mut self, event: &UiEvent<'_>, cx: &mut Context<'_>) -> Outcome {
        match *event {
            UiEvent::Key(key) => self.handle_key(key, cx),
            UiEvent::Paste(text) => {
                self.edit(|line| line.push(text));
                self.search_sessions(cx);
                Outcome::Consumed
            }
            UiEvent::Mouse(event) => handle_mouse(self, event, cx),
            UiEvent::Text(_) => Outcome::Ignored,
        }
    }

    /// Starts background filtering, and the preview of a moved selection, if needed after an input.
    fn refresh(&mut self, cx: &mut Context<'_>) {
        let job = self.take_filter_job().map(ListAction::Filter).map(Action::List);
        job.into_iter().for_each(|job| cx.push(job));
        if let Some(choice) = self.take_moved_selection() {
            match &choice {
                Some(choice) => self.show_preview(choice, Vec::new()),
                None => self.show_nothing(),
            }
            let effect = self.source.select(choice.as_ref(), self.extract());
            effect.into_iter().for_each(|effect| cx.push(effect));
        }
    }

    fn take(&mut self, result: TaskResult, cx: &mut Context<'_>) -> Option<TaskResult> {
        let left = self.take_result(result);
        self.perform_queued(cx);
        left
    }

    fn rejected(&mut self, action: Action, cx: &mut Context<'_>) -> Option<Action> {
        self.take_back(action, cx)
    }

    fn lay_out(&mut self, area: Rect, _view: &ViewContext<'_>) {
        self.area = area;
    }

    fn render(&self, area: Rect, buffer: &mut Buffer, view: &ViewContext<'_>) {
        view::draw(self, area, buffer, view.ui);
    }

    fn cursor(&self, area: Rect, view: &ViewContext<'_>) -> Option<Position> {
        Some(view::cursor(self, area, view.ui))
    }
}

impl Picker {
    fn handle_key(&mut self, key: KeyEvent, cx: &mut Context<'_>) -> Outcome {
        self.set_status(None);
        let is_asking = self.prompt().is_some();
        let is_form = self.source.facts().is_form;
        let own = self.source.facts().context.filter(|_| !is_asking);
        if let Some(command) = own.and_then(|context| cx.ui.keymap.command(context, key)) {
            self.perform(command, cx);
            return Outcome::Consumed;
        }
        let command = cx.ui.keymap.command(KeyContext::Popup, key);
        if self.divert_stray_key(key, cx) || self.queue_while_loading(command, cx) {
            return Outcome::Consumed;
        }
        match command {
            Some(KeyCommand::Accept) if is_asking => return self.submit(cx),
            Some(KeyCommand::Accept) if self.is_visible_long_enough(cx.now) => return self.accept(cx),
            Some(KeyCommand::Accept) => {}
            Some(KeyCommand::Back) if is_asking && !is_form => drop(self.end_prompt()),
            // One level: clears the filter before closing the list.
            Some(KeyCommand::Back) if self.is_narrowed() => self.edit(LineInput::clear),
            Some(KeyCommand::Back) => return leave(Effect::Leave(LeaveScope::Top), cx),
            Some(KeyCommand::Close) if self.is_first_choice(cx) => return leave(Effect::quit(), cx),
            Some(KeyCommand::Close) => return leave(Effect::Leave(LeaveScope::All), cx),
            Some(KeyCommand::ClearFilter) => self.edit(LineInput::clear),
            Some(KeyCommand::DeleteWord) => self.edit(|line| _ = line.edit(key, command)),
            Some(KeyCommand::Switch) if !is_asking => self.switch_scope(),
            Some(command) if !is_asking || is_form => {
                scroll_rows(command, cx.ui.size).into_iter().for_each(|rows| self.step(rows));
                return Outcome::Consumed;
            }
            Some(_) => {}
            None => self.edit(|line| _ = line.edit(key, command)),
        }
        self.search_sessions(cx);
        Outcome::Consumed
    }

    /// Keeps a key out of a form that was typed before the form could be read: text goes on in the editor, and nothing
    /// is saved. The key that opened the form only repeats.
    fn divert_stray_key(&mut self, key: KeyEvent, cx: &mut Context<'_>) -> bool {
        let typed = typed_char(key);
        let is_stray = typed.is_some() || key.code == KeyCode::Enter;
        if !is_stray || !self.source.facts().is_form || self.is_visible_long_enough(cx.now) {
            return false;
        }
        self.set_appeared(ShownSince::at(cx.now));
        let opens = cx.ui.keymap.command(KeyContext::Approval, key) == Some(KeyCommand::AllowAlways);
        match typed.filter(|c| !opens && !c.is_ascii_digit()) {
            Some(c) => {
                cx.push(Effect::InsertText(c.to_string()));
                self.set_status(Some(StatusText::note("Typed too soon: your text is in the editor.")));
            }
            None => self.set_status(Some(StatusText::note("Ignored: pressed too soon."))),
        }
        true
    }

    /// Keeps a command for the rows that are still loading: a movement, or Enter after a filter. Without a filter,
    /// Enter would accept a row that nobody has seen.
    fn queue_while_loading(&mut self, command: Option<KeyCommand>, cx: &Context<'_>) -> bool {
        if !self.waiting || self.prompt().is_some() {
            return false;
        }
        match command {
            Some(KeyCommand::Accept) if !self.filter().is_empty() && self.is_visible_long_enough(cx.now) => {}
            Some(command) if scroll_rows(command, cx.ui.size).is_some() => {}
            _ => {
                // Another filter means another row.
                self.queued_commands.clear();
                return false;
            }
        }
        self.queued_commands.extend(command);
        true
    }

    /// Performs the commands given while the rows were loading.
    fn perform_queued(&mut self, cx: &mut Context<'_>) {
        if self.waiting {
            return;
        }
        for command in std::mem::take(&mut self.queued_commands) {
            match scroll_rows(command, cx.ui.size) {
                Some(rows) => self.step(rows),
                None => _ = self.accept(cx),
            }
        }
    }

    pub(super) fn accept(&mut self, cx: &mut Context<'_>) -> Outcome {
        self.settle();
        let choice = self.chosen().map(|item| item.choice.clone());
        let response = match choice {
            None => ListResponse::none(),
            Some(PickerChoice::Unavailable(reason)) => {
                ListResponse::Stay(Some(StatusText::error(reason)), Vec::new())
            }
            Some(choice) => self.source.accept(choice, cx),
        };
        self.respond(response, cx);
        Outcome::Consumed
    }

    /// Performs one of the list's own commands; commands of session lists change the displayed sessions.
    fn perform(&mut self, command: KeyCommand, cx: &mut Context<'_>) {
        if command == KeyCommand::Threads {
            return self.switch_order();
        }
        let choice = self.chosen().map(|item| item.choice.clone());
        let response = match (command, choice) {
            (KeyCommand::Rename, Some(PickerChoice::Open(path))) => return self.ask_for_name(path),
            (KeyCommand::Untrash, _) => ListResponse::stay(Effect::RestoreLastSession),
            (command, Some(choice)) => self.source.perform(command, choice),
            (_, None) => ListResponse::none(),
        };
        self.respond(response, cx);
    }

    /// Submits the prompt's line.
    fn submit(&mut self, cx: &mut Context<'_>) -> Outcome {
        let row = self.chosen().map(|item| item.choice.clone());
        if let Some(prompt) = self.end_prompt() {
            let response = self.source.submit(prompt, row.as_ref(), cx);
            self.respond(response, cx);
        }
        Outcome::Consumed
    }

    fn respond(&mut self, response: ListResponse, cx: &mut Context<'_>) {
        let effects = match response {
            ListResponse::Close(effects) => {
                cx.push(Effect::CloseTop);
                effects
            }
            ListResponse::Stay(status, effects) => {
                status.into_iter().for_each(|status| self.set_status(Some(status)));
                effects
            }
            ListResponse::Ask(prompt, status, effects) => {
                self.set_prompt(prompt);
                self.set_status(status);
                effects
            }
            ListResponse::OpenSession(path) => {
                let opens = self.begin_opening(&path);
                if opens { vec![Action::Navigate(Navigate::Open(path)).into()] } else { Vec::new() }
            }
        };
        effects.into_iter().for_each(|effect| cx.push(effect));
    }

    /// Starts a session search for the current filter.
    fn search_sessions(&self, cx: &mut Context<'_>) {
        let request = self.search_request().filter(|_| self.prompt().is_none());
        request.into_iter().for_each(|request| cx.push(Action::SearchSessions(request)));
    }

    /// Returns true for the session picker at the start, before the user does anything.
    fn is_first_choice(&self, cx: &Context<'_>) -> bool {
        self.session_browser().is_some() && self.is_deferred() && cx.focus.is_start_screen
    }

    /// Returns key hints besides movement, most important first; the view drops those that don't fit.
    pub(super) fn hints(&self) -> Vec<(KeyCommand, &'static str)> {
        use KeyCommand as K;
        if self.prompt().is_some() {
            return vec![(K::Accept, "save"), (K::Back, "cancel")];
        }
        let back = if self.is_narrowed() { "show all" } else { "back" };
        let facts = self.source.facts();
        let has_rows = self.waiting || self.chosen().is_some();
        let is_available =
            self.chosen().is_none_or(|item| !matches!(item.choice, PickerChoice::Unavailable(_)));
        let accept = (has_rows && is_available).then_some((K::Accept, facts.accept_hint));
        let mut hints: Vec<_> = accept.into_iter().chain([(K::Back, back)]).collect();
        hints.extend(facts.key_hints.iter().filter(|_| has_rows));
        if let Some(browser) = self.session_browser() {
            let other = if browser.scope == SessionScope::ThisDirectory {
                "all directories"
            } else {
                "this directory"
            };
            let order = if self.order() == Some(SortOrder::Threads) { "newest first" } else { "threads" };
            hints.push((K::Switch, other));
            hints.extend(browser.can_undo.then_some((K::Untrash, "undo")));
            hints.extend([(K::Rename, "rename"), (K::Trash, "trash")]);
            hints.push((K::Threads, order));
        }
        hints
    }
}

fn leave(effect: Effect, cx: &mut Context<'_>) -> Outcome {
    cx.push(effect);
    Outcome::Consumed
}
