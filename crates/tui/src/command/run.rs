//! What commands do once they are typed.
//!
//! What goes wrong is told in one of two ways. A slip in what was typed is a passing line, and the typed text is in the editor again, to
//! be mended; what failed while it was done stays in the transcript, as `✗`.

use tiller_core::setting::{self, TABLE};
use tiller_core::suggest;
use tiller_engine::{BashContext, unrunnable};

use super::super::app::{Action, App, Beside, Change, Go, InList, List, Origin, Own, Say, Typed};
use super::super::approval::Asked;
use super::super::help;
use super::super::keymap::KeyCommand;
use super::super::keys::When;
use super::super::page::Page;
use super::super::picker::Word;
use super::super::popup::Popup;
use super::super::transcript::Copied;
use super::super::tree::Purpose;
use super::{Meaning, Verb, level, mode, parse};
use crate::call::one_line;

/// The command of a line that is for the shell, and whether the model reads what it prints.
fn shell_command(line: &str) -> Option<(&str, BashContext)> {
    let private = line.strip_prefix("!!").map(str::trim).filter(|command| !command.is_empty());
    let shared = || line.strip_prefix('!').map(str::trim).filter(|command| !command.is_empty());
    let private = private.map(|command| (command, BashContext::Exclude));
    private.or_else(|| shared().map(|command| (command, BashContext::Include)))
}

fn said(text: String, when: When) -> Say {
    match when {
        When::AtOnce => Say::SteerNow(text),
        When::Next => Say::Steer(text),
        When::Afterwards => Say::FollowUp(text),
    }
}

impl App {
    /// Says or does what a line says.
    pub(crate) fn carry_out(&mut self, text: String, when: When) -> Vec<Action> {
        let line = text.trim();
        if let Some((command, context)) = shell_command(line) {
            return self.run_in_shell(line, command, context);
        }
        if suggest::is_quit_word(line) {
            return self.command(Verb::Quit, "");
        }
        match parse(line, &self.facts.commands) {
            Meaning::Known(command, argument) if command.argument.is_empty() && !argument.is_empty() => {
                let name = command.name;
                self.slip(line.to_owned(), format!("/{name} takes no words: take away what stands behind it"))
            }
            Meaning::Known(command, argument) => self.command(command.verb, argument),
            Meaning::Unknown { name, nearest } => {
                let instead =
                    nearest.map_or("/help lists them".to_owned(), |name| format!("did you mean /{name}?"));
                self.slip(text.clone(), format!("there is no command /{name}; {instead}"))
            }
            Meaning::Agent(whole) if whole == line => vec![Action::Say(said(text, when))],
            Meaning::Agent(whole) => vec![Action::Say(said(whole.into_owned(), when))],
            Meaning::Text => vec![Action::Say(said(text, when))],
        }
    }

    /// Runs a command in the shell, unless it can't do there what it is typed for.
    fn run_in_shell(&mut self, line: &str, command: &str, context: BashContext) -> Vec<Action> {
        if let Some(why) = unrunnable(command) {
            let suspend = self.place.keymap.key_of(KeyCommand::Suspend);
            let elsewhere = format!("in another one, or suspend tiller with {suspend}");
            return self.slip(line.to_owned(), why.message(&elsewhere));
        }
        vec![Action::Say(Say::Bash(command.to_owned(), context))]
    }

    /// Whether a line would be carried out here instead of being said.
    pub(crate) fn means_command(&self, line: &str) -> bool {
        let line = line.trim();
        suggest::is_quit_word(line)
            || line.starts_with('!')
            || !matches!(parse(line, &self.facts.commands), Meaning::Agent(_) | Meaning::Text)
    }

    fn command(&mut self, verb: Verb, argument: &str) -> Vec<Action> {
        let words = Some(argument.to_owned()).filter(|words| !words.is_empty());
        match verb {
            Verb::New => vec![Action::Go(Go::New)],
            Verb::Resume => self.browse(argument),
            Verb::Tree => self.open_tree(Purpose::Go),
            Verb::Fork => self.open_tree(Purpose::Fork),
            Verb::Clone => vec![Action::Go(Go::Clone)],
            Verb::Name if argument.is_empty() => self.ask_for_name(),
            Verb::Name => vec![Action::Change(Change::Rename(argument.to_owned()))],
            Verb::Label => vec![Action::Change(Change::Label(words))],
            Verb::Compact => vec![Action::Compact(words)],
            Verb::Truncate => vec![Action::Truncate],
            Verb::Model if argument.is_empty() => self.pick("models", List::Models),
            Verb::Model => vec![Action::Change(Change::SetModel(argument.to_owned()))],
            Verb::Thinking if argument.is_empty() => self.pick("thinking", List::Thinking),
            Verb::Thinking => match level(argument) {
                Ok(level) => vec![Action::Change(Change::SetThinking(level))],
                Err(what) => self.slip(format!("/thinking {argument}"), what),
            },
            Verb::Approval if argument.is_empty() => self.pick("approval", List::Approval),
            Verb::Approval => match mode(argument) {
                Ok(mode) => vec![Action::InList(InList::SetApproval(mode))],
                Err(what) => self.slip(format!("/approval {argument}"), what),
            },
            Verb::Permissions => self.pick("permissions", List::Permissions),
            Verb::Trust => self.pick("trust this project?", List::Trust),
            Verb::AddDir if argument.is_empty() => self.ask_for("/add-dir ", "a folder follows /add-dir"),
            Verb::AddDir => vec![Action::InList(InList::AddFolder(argument.to_owned()))],
            Verb::Tools if argument.is_empty() => self.pick("tools", List::Tools),
            Verb::Tools => vec![Action::InList(InList::ToggleTool(argument.to_owned()))],
            Verb::Settings => match argument.split_once(char::is_whitespace) {
                Some((name, value)) => self.set(name, value.trim()),
                None => self.pick_from("settings", List::Settings, argument),
            },
            Verb::Copy => self.copy(argument),
            Verb::FollowUp if argument.is_empty() => {
                self.ask_for("/followup ", "a message follows /followup")
            }
            Verb::FollowUp => vec![Action::Say(Say::FollowUp(argument.to_owned()))],
            Verb::Session => vec![Action::ShowFacts { width: Page::columns(self.place.size.0) }],
            Verb::Context => vec![Action::ShowContext { width: Page::columns(self.place.size.0) }],
            Verb::Export => vec![Action::Export(argument.to_owned())],
            Verb::Import => self.import(argument),
            Verb::Login => self.log_in(argument),
            Verb::Logout => self.log_out(argument),
            Verb::Theme if argument.is_empty() => self.pick_theme(),
            Verb::Theme => self.wear_theme(argument),
            Verb::Reload => vec![Action::ReadResources],
            Verb::Logs => vec![Action::Beside(Beside::ShowLogs)],
            Verb::Help => {
                let page = help::page(&self.place.keymap, &self.facts.commands);
                self.read_help("help", page)
            }
            Verb::Hotkeys => {
                let keys = help::keys(&self.place.keymap);
                self.read_help("keys", keys)
            }
            Verb::Quit => vec![Action::Own(Own::Quit)],
        }
    }

    fn ask_for(&mut self, beginning: &str, what: &str) -> Vec<Action> {
        self.editor.set_text(beginning);
        self.flash(what);
        Vec::new()
    }

    fn ask_for_name(&mut self) -> Vec<Action> {
        let what = match &self.facts.name {
            Some(name) => format!("it is called {name}; another name follows /name"),
            None => "it has no name yet; one follows /name".to_owned(),
        };
        self.ask_for("/name ", &what)
    }

    /// Says of something typed that it can't be meant, and gives it back to be mended; where the editor holds a reason to be given, to
    /// the history.
    pub(crate) fn slip(&mut self, typed: impl Into<Typed>, what: impl Into<String>) -> Vec<Action> {
        let typed = typed.into();
        if self.work.approvals.first().is_some_and(Asked::is_reasoning) {
            // The editor holds what is for another, and soon nothing.
            let text = self.editor.adopt(&typed.text, &typed.images);
            self.editor.remember(&text);
            self.flash(format!("{}; what you typed is in the prompt history", what.into()));
        } else {
            self.put_before_draft(&typed);
            self.flash(what);
        }
        Vec::new()
    }

    /// The same of something that was carried out. What was chosen in a list is there still; what was typed is a draft again, also
    /// beneath a list that was opened meanwhile.
    pub(crate) fn slipped(&mut self, typed: Typed, what: String, origin: Origin) {
        let is_chosen = |list| self.popups.last().is_some_and(|popup| popup.lists(list));
        if !matches!(origin, Origin::List(list) if is_chosen(list)) {
            self.slip(typed, what.clone());
        }
        if let Some(picker) = self.popups.last_mut().and_then(Popup::as_picker) {
            picker.say(Some(Word::trouble(what)));
        }
    }

    /// Sets a setting as its list would.
    fn set(&mut self, name: &str, value: &str) -> Vec<Action> {
        let slip = match setting::named(name) {
            Some(setting) => match self.setting_trouble(setting, value) {
                None => return vec![Action::InList(InList::Set(setting, value.to_owned()))],
                Some(trouble) => trouble,
            },
            None => {
                let nearest = suggest::nearest(name, TABLE.iter().map(|setting| setting.name));
                let instead =
                    nearest.map_or("/settings lists them".to_owned(), |name| format!("did you mean {name}?"));
                format!("there is no setting {}; {instead}", one_line(name))
            }
        };
        self.slip(format!("/settings {name} {value}"), slip)
    }

    /// Copies an answer: the last one, or the one of that number from the end.
    fn copy(&mut self, number: &str) -> Vec<Action> {
        let from_end = if number.is_empty() { Some(1) } else { number.parse().ok() };
        let Some(from_end) = from_end.filter(|from_end: &usize| *from_end > 0) else {
            let what = "which answer? /copy 1 copies the last one, /copy 2 the one before";
            return self.slip(format!("/copy {number}"), what);
        };
        if let Some(text) = self.transcript.answer(from_end) {
            let (text, what) = (
                text.to_owned(),
                match from_end {
                    1 => "the last answer".to_owned(),
                    from_end => format!("answer {from_end} from the end"),
                },
            );
            return vec![Action::Own(Own::Copy(Copied { text, what }))];
        }
        match self.transcript.answers() {
            0 => {
                self.flash("there is no answer to copy yet");
                Vec::new()
            }
            count => {
                let what = match (self.transcript.is_read_whole(), count) {
                    (true, 1) => "there is one answer so far: /copy copies it".to_owned(),
                    (true, count) => {
                        format!("there are {count} answers so far: /copy {count} copies the first")
                    }
                    (false, count) => {
                        format!("the last {count} answers are read so far; scroll up to read more")
                    }
                };
                self.slip(format!("/copy {number}"), what)
            }
        }
    }
}
