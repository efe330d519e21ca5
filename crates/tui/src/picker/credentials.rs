//! `/login` and `/logout`: the lists of providers and their API keys. Keys are entered here and never shown.

use tiller_core::counted::counted;
use tiller_engine::{CredentialOrigin, ProviderCredential, SUBSCRIPTION_NOTE};
use tiller_render::{Role, Span};

use crate::action::{Action, ListAction};
use crate::component::ViewContext;
use crate::list_kind::ListKind;
use crate::login::{KeyInput, LoginRequest};
use crate::message::ListResult;
use crate::picker::item::{PickerChoice, PickerItem};
use crate::picker::line_prompt::{LinePrompt, StatusText};
use crate::picker::source::{ListFacts, ListResponse, ListSource};
use crate::text::one_line;

/// The providers; Enter asks for a key.
#[derive(Debug)]
pub(super) struct LoginList;

/// The providers with a stored key; Enter removes it.
#[derive(Debug)]
pub(super) struct LogoutList;

impl ListSource for LoginList {
    fn facts(&self) -> ListFacts {
        ListFacts {
            title: "log in",
            kind: Some(ListKind::Logins),
            accept_hint: "set key",
            ..ListFacts::default()
        }
    }

    fn accept(&self, choice: PickerChoice, _view: &ViewContext<'_>) -> ListResponse {
        match choice {
            PickerChoice::Login(provider) => ListResponse::ask(key_prompt(provider)),
            _ => ListResponse::none(),
        }
    }

    /// Submits a key. The prompt stays until the key is stored, so that a wrong key can be corrected.
    fn submit(
        &self,
        prompt: LinePrompt,
        _row: Option<&PickerChoice>,
        _view: &ViewContext<'_>,
    ) -> ListResponse {
        let PickerChoice::Login(provider) = &prompt.purpose else { return ListResponse::none() };
        let key = KeyInput::new(prompt.typed.text());
        if key.is_empty() {
            return ListResponse::Stay(Some(StatusText::note("no key entered; nothing changed")), Vec::new());
        }
        let store = Action::List(ListAction::Key(LoginRequest::Store(provider.clone(), key)));
        ListResponse::Ask(prompt, Some(StatusText::note("saving…")), vec![store.into()])
    }
}

impl ListSource for LogoutList {
    fn facts(&self) -> ListFacts {
        ListFacts {
            title: "log out",
            kind: Some(ListKind::Logouts),
            accept_hint: "remove key",
            empty_text: "no stored API keys",
            ..ListFacts::default()
        }
    }

    fn accept(&self, choice: PickerChoice, _view: &ViewContext<'_>) -> ListResponse {
        let PickerChoice::Logout(provider) = choice else { return ListResponse::none() };
        let remove = Action::List(ListAction::Key(LoginRequest::Remove(provider)));
        ListResponse::stay_with("removing the key…", remove)
    }
}

/// The masked prompt for a provider's key.
pub(super) fn key_prompt(provider: String) -> LinePrompt {
    let label = format!("key for {}", one_line(&provider));
    LinePrompt::masked(PickerChoice::Login(provider), label)
}

/// All providers with the sources of their keys.
pub(crate) fn logins(credentials: &[ProviderCredential]) -> Vec<PickerItem> {
    credentials
        .iter()
        .map(|credential| item(credential, PickerChoice::Login(credential.provider.clone())))
        .collect()
}

/// Returns the results that fill the list of `/login`, in order: with the items, an unknown provider in
/// `/login NAME` becomes an error, which replaces the note.
pub(crate) fn login_results(credentials: &[ProviderCredential]) -> [ListResult; 2] {
    let note = ListResult::Status(StatusText::note(SUBSCRIPTION_NOTE));
    [note, ListResult::Items { items: logins(credentials), selected: 0 }]
}

pub(crate) fn logouts(credentials: &[ProviderCredential]) -> Vec<PickerItem> {
    let with_key = credentials.iter().filter(|credential| credential.origin != CredentialOrigin::Missing);
    with_key.map(|credential| item(credential, PickerChoice::Logout(credential.provider.clone()))).collect()
}

fn item(credential: &ProviderCredential, choice: PickerChoice) -> PickerItem {
    let (lead, note, role) = match &credential.origin {
        CredentialOrigin::Missing if credential.needs_no_key() => {
            ("– ", "no key (not required)".to_owned(), Role::Muted)
        }
        CredentialOrigin::Missing => ("– ", "no key".to_owned(), Role::Muted),
        CredentialOrigin::Stored => ("✓ ", "key in auth.json".to_owned(), Role::Text),
        CredentialOrigin::External(place) => ("✓ ", format!("key from {}", one_line(place)), Role::Text),
    };
    PickerItem::new(one_line(&credential.provider), choice).with_lead(lead).with_note(note).in_role(role)
}

/// Maximum number of dots for a key; the number after the dots is exact.
const MAX_DOTS: usize = 24;

/// Returns a masked line: dots and the number of characters, which shows whether the whole key was pasted.
pub(crate) fn masked(characters: usize) -> [Span; 2] {
    let dots = Span::new("•".repeat(characters.min(MAX_DOTS)), Role::Text);
    let count = match characters {
        0 => "  type or paste it; it is not shown".to_owned(),
        count => format!("  {}", counted(count, "character", "characters")),
    };
    [dots, Span::new(count, Role::Muted)]
}

#[cfg(test)]
mod tests {
    use tiller_render::Line;

    use super::*;

    #[test]
    fn masked_shows_only_the_length() {
        let shown = |count| Line::from(masked(count).to_vec()).text();
        assert_eq!(shown(3), "•••  3 characters");
        assert_eq!(shown(108), format!("{}  108 characters", "•".repeat(MAX_DOTS)));
    }
}
