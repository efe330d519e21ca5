//! The list of models.

use tiller_core::message::ModelRef;
use tiller_core::unit::{Usd, thousands};
use tiller_engine::LockedModel;
use tiller_provider::catalog::{ImageInput, ModelFacts};
use tiller_render::{Line, Role};

use crate::action::{Action, SessionEdit};
use crate::component::ViewContext;
use crate::effect::{Effect, OverlayRequest};
use crate::keymap::table::{KeyCommand, KeyContext};
use crate::list_kind::ListKind;
use crate::picker::detail_lines::{fact, heading, mark};
use crate::picker::item::{PickerChoice, PickerItem};
use crate::picker::source::{ListFacts, ListResponse, ListSource};

/// The models; Enter selects one, or prompts for a missing key.
#[derive(Debug)]
pub(super) struct ModelList;

impl ListSource for ModelList {
    fn facts(&self) -> ListFacts {
        ListFacts {
            title: "models",
            kind: Some(ListKind::Models),
            has_preview: true,
            context: Some(KeyContext::Models),
            key_hints: &[(KeyCommand::ModelAndThinking, "select and set thinking level")],
            ..ListFacts::default()
        }
    }

    fn accept(&self, choice: PickerChoice, _view: &ViewContext<'_>) -> ListResponse {
        match choice {
            PickerChoice::Model(name) => ListResponse::close(Action::Edit(SessionEdit::SetModel(name))),
            // The list stays open beneath; it continues once the key is stored.
            PickerChoice::LockedModel(provider) => {
                ListResponse::stay(Effect::Open(OverlayRequest::Login(provider)))
            }
            _ => ListResponse::none(),
        }
    }

    fn perform(&self, command: KeyCommand, choice: PickerChoice) -> ListResponse {
        match (command, choice) {
            (KeyCommand::ModelAndThinking, PickerChoice::Model(name)) => ListResponse::Close(vec![
                Action::Edit(SessionEdit::SetModel(name)).into(),
                Effect::Open(OverlayRequest::list(ListKind::Thinking)),
            ]),
            _ => ListResponse::none(),
        }
    }
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Models {
    pub(crate) usable: Vec<ModelFacts>,
    /// Models whose provider has no key.
    pub(crate) locked: Vec<LockedModel>,
    /// Models in the cycle; empty for all.
    pub(crate) cycled: Vec<ModelRef>,
    pub(crate) current: Option<ModelRef>,
}

/// Returns the models as items, usable ones first, and the index of the current one.
pub(crate) fn model_items(models: &Models) -> (Vec<PickerItem>, usize) {
    let is_current = |facts: &ModelFacts| models.current.as_ref() == Some(&reference(facts));
    let usable = models.usable.iter().map(|facts| {
        let is_cycled = models.cycled.contains(&reference(facts));
        let model = reference(facts);
        let note = [is_cycled.then(|| "cycled".to_owned()), Some(note(facts))];
        let item = PickerItem::new(model.display_name(), PickerChoice::Model(model.to_string()))
            .with_lead(mark(is_current(facts)));
        item.with_note(note.into_iter().flatten().collect::<Vec<_>>().join(" · ")).with_detail(detail(facts))
    });
    let locked = models.locked.iter().map(|locked| {
        let name = reference(&locked.facts).to_string();
        let missing = format!("add its key with /login, or set {} before the next start", locked.key_name);
        let mut detail = detail(&locked.facts);
        detail.extend([Line::default(), Line::new(format!("{missing}."), Role::Warning)]);
        let item = PickerItem::new(name, PickerChoice::LockedModel(locked.facts.provider.clone()));
        let item = item.with_lead(mark(false));
        item.with_note(format!("needs {}", locked.key_name)).in_role(Role::Muted).with_detail(detail)
    });
    let selected = models.usable.iter().position(is_current).unwrap_or(0);
    (usable.chain(locked).collect(), selected)
}

fn reference(facts: &ModelFacts) -> ModelRef {
    ModelRef { provider: facts.provider.clone(), id: facts.id.clone() }
}

fn note(facts: &ModelFacts) -> String {
    let price = facts.price.map(|price| format!("{}/{}", dollars(price.input), dollars(price.output)));
    let thinks = facts.thinks().then(|| "thinks".to_owned());
    let text_only = (facts.image_input == ImageInput::Unsupported).then(|| "text only".to_owned());
    let notes = [thinks, text_only, price, Some(facts.window.to_string())];
    notes.into_iter().flatten().collect::<Vec<_>>().join(" · ")
}

/// Formats a price in short form: `$3`, `$0.25`.
fn dollars(price: Usd) -> String {
    let text = price.to_string();
    text.strip_suffix(".00").map_or(text.clone(), str::to_owned)
}

fn detail(facts: &ModelFacts) -> Vec<Line> {
    let tokens = |tokens: tiller_core::unit::Tokens| {
        format!("{} tokens", thousands(usize::try_from(tokens.0).unwrap_or(usize::MAX)))
    };
    let levels: Vec<&str> = facts.levels().iter().map(|level| level.name()).collect();
    let mut lines = vec![
        heading(&facts.id),
        fact("provider", facts.provider.clone()),
        fact("window", tokens(facts.window)),
        fact("answer", format!("up to {}", tokens(facts.max_output))),
        fact("thinking", if facts.thinks() { levels.join(", ") } else { "no".to_owned() }),
    ];
    match facts.price {
        Some(price) => lines.extend([
            fact("input", format!("{} per million tokens", price.input)),
            fact("output", format!("{} per million tokens", price.output)),
            fact("cache", format!("{} read, {} written", price.cache_read, price.cache_write)),
        ]),
        None if facts.has_unknown_cost() => lines.push(fact("price", "unknown")),
        None => lines.push(fact("price", "free")),
    }
    lines.push(fact("accepts", input_types(facts.image_input)));
    lines
}

const fn input_types(sight: ImageInput) -> &'static str {
    match sight {
        ImageInput::Supported => "text and images",
        ImageInput::Unsupported => "text only",
        ImageInput::Unknown => "text; images unknown",
    }
}

#[cfg(test)]
mod tests {
    use tiller_provider::catalog;

    use super::*;

    #[test]
    fn models_without_key_are_last() {
        let usable = catalog::list_models("anthropic");
        let current = usable.get(1).map(reference);
        let facts = catalog::list_models("openai").remove(0);
        let locked = vec![LockedModel { facts, key_name: "OPENAI_API_KEY".into() }];
        let cycled = vec![reference(&usable[0])];
        let count = usable.len();
        let (items, selected) = model_items(&Models { usable, locked, cycled, current });
        assert_eq!((items.len(), selected), (count + 1, 1));
        assert_eq!((items[1].lead.as_str(), items[0].lead.as_str()), ("● ", "  "));
        assert!(items[0].note.starts_with("cycled · "), "{}", items[0].note);
        let last = items.last().unwrap();
        assert_eq!((last.note.as_str(), last.role), ("needs OPENAI_API_KEY", Role::Muted));
        assert_eq!(last.choice, PickerChoice::LockedModel("openai".into()));
    }
}
