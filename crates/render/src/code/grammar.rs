//! Maps language names to grammars, and grammar scopes to roles.

use std::sync::LazyLock;

use syntect::parsing::Scope;

use crate::Role;

/// Common language names that no grammar has.
const ALIASES: [(&str, &str); 14] = [
    ("shell", "sh"),
    ("console", "sh"),
    ("shell-session", "sh"),
    ("golang", "go"),
    ("c#", "cs"),
    ("csharp", "cs"),
    ("f#", "fs"),
    ("jsonc", "json"),
    ("json5", "json"),
    ("jsonl", "json"),
    ("docker", "dockerfile"),
    ("node", "js"),
    ("mts", "ts"),
    ("powershell", "ps1"),
];

/// Language names that mean plain text.
const NO_CODE: [&str; 6] = ["text", "txt", "plain", "plaintext", "output", "none"];

/// The roles of scopes with these prefixes. The longest matching prefix counts.
const ROLES: [(&str, Role); 42] = [
    ("comment", Role::Comment),
    ("string", Role::String),
    ("constant", Role::Constant),
    ("constant.character.escape", Role::Operator),
    ("keyword", Role::Keyword),
    ("keyword.operator", Role::Operator),
    ("keyword.operator.word", Role::Keyword),
    ("keyword.operator.logical.python", Role::Keyword),
    ("storage", Role::Keyword),
    ("variable.language", Role::Keyword),
    ("variable.function", Role::Function),
    ("variable.annotation", Role::Function),
    ("entity.name.function", Role::Function),
    ("entity.name.macro", Role::Function),
    ("support.function", Role::Function),
    ("support.macro", Role::Function),
    ("entity.name.type", Role::Type),
    ("entity.name.class", Role::Type),
    ("entity.name.struct", Role::Type),
    ("entity.name.enum", Role::Type),
    ("entity.name.union", Role::Type),
    ("entity.name.trait", Role::Type),
    ("entity.name.interface", Role::Type),
    ("entity.name.impl", Role::Type),
    ("entity.name.namespace", Role::Type),
    ("entity.name.module", Role::Type),
    ("entity.other.inherited-class", Role::Type),
    ("support.class", Role::Type),
    ("support.type", Role::Type),
    ("support.type.property-name", Role::Name),
    ("entity.name.tag", Role::Name),
    ("entity.name.section", Role::Heading),
    ("entity.other.attribute-name", Role::Name),
    ("meta.mapping.key", Role::Name),
    ("meta.structure.dictionary.key", Role::Name),
    ("markup.heading", Role::Heading),
    ("markup.inserted", Role::DiffAdded),
    ("markup.deleted", Role::DiffRemoved),
    ("markup.underline.link", Role::Link),
    // Code interpolated in a string.
    ("meta.interpolation", Role::Text),
    ("meta.template.expression", Role::Text),
    ("source", Role::Text),
];

static SCOPES: LazyLock<Vec<(Scope, Role)>> = LazyLock::new(|| {
    let read = |(name, role): &(&str, Role)| Scope::new(name).ok().map(|scope| (scope, *role));
    let mut scopes: Vec<_> = ROLES.iter().filter_map(read).collect();
    scopes.sort_by_key(|(scope, _)| std::cmp::Reverse(scope.len()));
    scopes
});

/// Returns the role of a scope inside text of the role `around`.
pub(super) fn role(scope: Scope, around: Role) -> Role {
    let role = SCOPES.iter().find(|(prefix, _)| prefix.is_prefix_of(scope)).map(|(_, role)| *role);
    match (around, role) {
        // A quoted key is shown as a key, not as a string.
        (Role::Name, Some(Role::String)) => Role::Name,
        (_, Some(role)) => role,
        (around, None) => around,
    }
}

/// Returns the language's name after a fence: `rust` for `rust,ignore`.
pub(super) fn first_word(language: &str) -> &str {
    language.trim().split([',', ' ', '{']).next().unwrap_or_default()
}

/// Returns the part of a path that determines the language: the extension, or the file name if there is none.
pub(super) fn kind_of_file(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rfind('.').filter(|at| *at > 0).map_or(name, |at| &name[at..])
}

/// Returns true if `language` names code, whether it has a grammar or not.
pub(super) fn names_code(language: &str) -> bool {
    token(language).is_some()
}

/// Returns the token for looking up a grammar; `None` for plain text.
pub(super) fn token(language: &str) -> Option<String> {
    let word = first_word(language).to_lowercase();
    if word.is_empty() || NO_CODE.contains(&word.as_str()) {
        return None;
    }
    let alias = ALIASES.iter().find(|(name, _)| *name == word).map(|(_, token)| (*token).to_owned());
    Some(alias.unwrap_or(word))
}
