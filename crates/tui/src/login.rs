//! `/login` and `/logout`: keys of providers, asked for in a list and never shown.
//!
//! What is typed is a [`Key`] from the moment it is taken: it goes to the desk of keys and nowhere else, no history and no draft, and
//! whoever prints an action prints no key.

use secrecy::SecretString;
use tiller_engine::{CredentialOrigin, KeyChangeOutcome, ProviderCredential};
use tiller_render::{Role, Span};

use super::app::{Action, App, ListAction, ListKind};
use super::block::NoticeLevel;
use super::keymap::KeyCommand;
use super::overlay::Overlay;
use super::picker::{LineInput, Picker, PickerChoice, PickerItem, StatusText};
use super::tool_call::one_line;

/// A key as it was typed.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct KeyInput(String);

impl KeyInput {
    pub(super) fn of(typed: &str) -> Self {
        Self(typed.trim().to_owned())
    }

    pub(super) fn secret(self) -> SecretString {
        self.0.into()
    }
}

impl std::fmt::Debug for KeyInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

/// What is to be done with a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LoginRequest {
    /// Keep it for this provider.
    Keep(String, KeyInput),
    /// Take that of this provider away.
    Forget(String),
}

/// What became of it.
#[derive(Debug)]
pub(super) struct LoginResult {
    pub(super) said: String,
    pub(super) hint: Option<String>,
    pub(super) answers: KeyChangeOutcome,
}

impl App {
    /// Offers the providers, beginning with these words; where they mean one, asks for its key.
    pub(super) fn log_in(&mut self, words: &str) -> Vec<Action> {
        let mut words = words.split_whitespace();
        let provider = words.next().unwrap_or_default();
        if words.next().is_some() {
            self.flash("a key doesn't go into that line; it is asked for, and not shown");
        }
        self.offer_providers("log in", ListKind::Logins, provider)
    }

    /// Takes a key away, or offers those that there are.
    pub(super) fn log_out(&mut self, provider: &str) -> Vec<Action> {
        if provider.is_empty() {
            return self.offer_providers("log out", ListKind::Logouts, "");
        }
        vec![Action::InList(ListAction::Key(LoginRequest::Forget(provider.to_owned())))]
    }

    fn offer_providers(&mut self, title: &str, list: ListKind, words: &str) -> Vec<Action> {
        let mut picker = Picker::waiting_for(title, list).narrowed_to(words);
        if !words.is_empty() {
            // Before it is known which providers there are: a key that is pasted at once must not be read.
            picker.ask_for_key(words.to_owned());
        }
        self.popups.push(Overlay::Pick(Box::new(picker)));
        vec![Action::InList(ListAction::Gather(list))]
    }

    /// A key was kept or taken away.
    pub(super) fn key_changed(&mut self, news: LoginResult) -> Vec<Action> {
        let LoginResult { said, hint, answers } = news;
        let is_done = |popup: &Overlay| popup.lists(ListKind::Logins) || popup.lists(ListKind::Logouts);
        self.popups.retain(|popup| !is_done(popup));
        let key = self.place.keymap.key_of(KeyCommand::PickModel);
        let hint = match answers {
            KeyChangeOutcome::ItsModel | KeyChangeOutcome::AsBefore => hint,
            KeyChangeOutcome::Another => hint.or_else(|| Some(format!("{key} chooses a model"))),
            KeyChangeOutcome::First(model) => {
                let chosen = format!("{model} answers from the next turn on; {key} chooses another");
                Some(hint.map_or(chosen.clone(), |hint| format!("{chosen}; {hint}")))
            }
            KeyChangeOutcome::Nobody => {
                Some(format!("the next prompt needs another model: {key} chooses one"))
            }
            KeyChangeOutcome::LastResort(model) => {
                Some(format!("{model} answers now, for nobody else can be asked; /login gives a key"))
            }
        };
        self.say(NoticeLevel::Note, said, hint);
        // Whoever chose a model without a key goes on choosing.
        let chooses = self.popups.iter().any(|popup| popup.lists(ListKind::Models));
        if chooses { vec![Action::InList(ListAction::Gather(ListKind::Models))] } else { Vec::new() }
    }
}

impl Picker {
    /// It is known now which providers there are: the key that is asked for is that of the one which the words mean. Where they mean
    /// none, or several, what was typed is forgotten.
    pub(super) fn go_on_to_key(&mut self) {
        let asked = self.asking().filter(|_| self.list == Some(ListKind::Logins));
        let Some(PickerChoice::Login(words)) = asked.map(|asking| asking.of.clone()) else { return };
        let named = PickerChoice::Login(words.clone());
        let is_known = (0..self.items.len()).any(|at| self.items[at].choice == named);
        let only = self.chosen().filter(|_| self.counts().0 == 1).map(|item| item.choice.clone());
        let meant = if is_known { Some(named) } else { only };
        let typed = self.stop_asking().map(|asking| asking.typed);
        match (meant, typed) {
            (Some(PickerChoice::Login(provider)), Some(typed)) => {
                self.ask_for_key(provider);
                self.edit(|line| *line = typed);
            }
            _ => {
                self.edit(LineInput::clear);
                self.say(Some(StatusText::trouble(format!("no provider goes by `{}`", one_line(&words)))));
            }
        }
    }

    /// Asks for the key of a provider.
    pub(super) fn ask_for_key(&mut self, provider: String) {
        let what = format!("key of {}", one_line(&provider));
        self.ask_unseen(PickerChoice::Login(provider), what);
    }

    /// What is to be done with the key that was typed; an empty one is none.
    pub(super) fn typed_key(&mut self, provider: String, typed: &str) -> Vec<Action> {
        let key = KeyInput::of(typed);
        if key.0.is_empty() {
            self.say(Some(StatusText::note("no key was typed; everything is as it was")));
            return Vec::new();
        }
        self.say(Some(StatusText::note("keeping it…")));
        vec![Action::InList(ListAction::Key(LoginRequest::Keep(provider, key)))]
    }
}

/// Every provider, and where its key comes from.
pub(super) fn logins(holders: &[ProviderCredential]) -> Vec<PickerItem> {
    holders.iter().map(|holder| item(holder, PickerChoice::Login(holder.provider.clone()))).collect()
}

/// The providers whose key could be taken away.
pub(super) fn logouts(holders: &[ProviderCredential]) -> Vec<PickerItem> {
    let held = holders.iter().filter(|holder| holder.from != CredentialOrigin::Nowhere);
    held.map(|holder| item(holder, PickerChoice::Logout(holder.provider.clone()))).collect()
}

fn item(holder: &ProviderCredential, choice: PickerChoice) -> PickerItem {
    let (lead, note, role) = match &holder.from {
        CredentialOrigin::Nowhere => ("– ", "no key".to_owned(), Role::Muted),
        CredentialOrigin::Kept => ("✓ ", "key in auth.json".to_owned(), Role::Text),
        CredentialOrigin::Elsewhere(place) => ("✓ ", format!("key from {}", one_line(place)), Role::Text),
    };
    PickerItem::new(one_line(&holder.provider), choice).with_lead(lead).with_note(note).in_role(role)
}

/// Most dots that stand for a key; how long it is stands behind them.
const DOTS: usize = 24;

/// What is shown of a line that nobody may read: dots, and their number, which tells a whole key from half of one.
pub(super) fn masked(characters: usize) -> [Span; 2] {
    let dots = Span::new("•".repeat(characters.min(DOTS)), Role::Text);
    let count = match characters {
        0 => "  type or paste it; it is not shown".to_owned(),
        1 => "  1 character".to_owned(),
        many => format!("  {many} characters"),
    };
    [dots, Span::new(count, Role::Muted)]
}

/// Characters of the shortest word that is taken for a key.
const SHORTEST_KEY: usize = 20;

/// Whether a line may hold a key, typed where it doesn't belong: it goes into no history.
pub(super) fn may_hold_key(line: &str) -> bool {
    let mut words = line.split_whitespace();
    let is_given = words.next() == Some("/login") && words.nth(1).is_some();
    is_given || line.split(|c: char| !(c.is_alphanumeric() || "-_".contains(c))).any(is_key)
}

/// Whether a word is made as providers make keys: `sk-…`.
fn is_key(word: &str) -> bool {
    word.starts_with("sk-") && word.len() >= SHORTEST_KEY && word.contains(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use tiller_render::Line;

    use super::*;

    #[test]
    fn what_is_made_like_a_key_is_taken_for_one_wherever_it_stands() {
        for line in [
            "sk-ant-api03-0123456789abcdefghij",
            "! export KEY=sk-proj-abcdefghij0123456789",
            "/login openai x",
        ] {
            assert!(may_hold_key(line), "{line}");
        }
        for line in [
            "/login openai",
            "what is sk-learn?",
            "sk-learn-has-no-digits-in-it",
            "the risk-averse-strategy-2024-edition",
        ] {
            assert!(!may_hold_key(line), "{line}");
        }
    }

    #[test]
    fn an_action_with_a_key_prints_none() {
        let action = Action::InList(ListAction::Key(LoginRequest::Keep(
            "anthropic".into(),
            KeyInput::of(" sk-hush\n"),
        )));
        let printed = format!("{action:?}");
        assert!(printed.contains("anthropic") && !printed.contains("hush"), "{printed}");
        assert_eq!(
            KeyInput::of(" sk-hush\n"),
            KeyInput("sk-hush".into()),
            "space around it is no part of it"
        );
    }

    #[test]
    fn only_a_login_with_more_than_a_provider_may_hold_a_key() {
        assert!(may_hold_key("/login anthropic sk-hush"));
        assert!(!may_hold_key("/login anthropic"));
        assert!(!may_hold_key("explain /login anthropic sk"));
    }

    #[test]
    fn dots_say_how_long_a_key_is_and_no_more() {
        let shown = |count| Line::from(masked(count).to_vec()).text();
        assert_eq!(shown(3), "•••  3 characters");
        assert_eq!(shown(108), format!("{}  108 characters", "•".repeat(DOTS)));
    }
}
