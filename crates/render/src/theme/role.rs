//! The names of roles in theme files, and the fallbacks of roles that a theme doesn't define.

use super::color::ThemeColor;
use super::style::ThemeStyle;
use crate::{Emphasis, Role};

macro_rules! roles {
    ($($role:ident = $name:literal),* $(,)?) => {
        /// All roles, in the order of their discriminants.
        pub const ALL: [Role; [$($name),*].len()] = [$(Role::$role),*];

        /// Returns the name of a role in a theme file.
        #[must_use]
        pub const fn name(role: Role) -> &'static str {
            match role { $(Role::$role => $name),* }
        }
    };
}

roles! {
    Text = "text",
    Muted = "muted",
    Accent = "accent",
    Heading = "heading",
    Code = "code",
    Link = "link",
    Quote = "quote",
    DiffAdded = "diff-added",
    DiffRemoved = "diff-removed",
    DiffAddedWord = "diff-added-word",
    DiffRemovedWord = "diff-removed-word",
    Error = "error",
    Success = "success",
    Warning = "warning",
    User = "user",
    Thinking = "thinking",
    Keyword = "keyword",
    String = "string",
    Comment = "comment",
    Constant = "constant",
    Function = "function",
    Type = "type",
    Operator = "operator",
    Name = "name",
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RoleFallback {
    /// The style of another role with more emphasis.
    Like(Role, Emphasis),
    /// This style, in the terminal's own colors.
    Style(ThemeStyle),
}

pub(super) fn by_name(role_name: &str) -> Option<Role> {
    ALL.into_iter().find(|role| name(*role) == role_name)
}

/// Returns the fallback of a role. The chains have no cycles: each ends with a style.
pub(super) const fn fallback(role: Role) -> RoleFallback {
    const fn indexed(index: u8) -> RoleFallback {
        RoleFallback::Style(ThemeStyle::from_fg(ThemeColor::Indexed(index)))
    }
    const fn like(role: Role) -> RoleFallback {
        RoleFallback::Like(role, Emphasis::NONE)
    }
    match role {
        Role::Text => RoleFallback::Style(ThemeStyle::PLAIN),
        Role::Muted => RoleFallback::Style(ThemeStyle::PLAIN.with(Emphasis::DIM)),
        Role::Accent => indexed(6),
        Role::Error => indexed(1),
        Role::Success => indexed(2),
        Role::Warning => indexed(3),
        Role::Link => indexed(4),
        Role::Keyword => indexed(5),
        Role::Heading | Role::Name => like(Role::Accent),
        Role::Code | Role::Constant | Role::Type => like(Role::Warning),
        Role::String => like(Role::Success),
        Role::Function => like(Role::Link),
        Role::Quote => like(Role::Muted),
        Role::User | Role::Operator => like(Role::Text),
        Role::DiffAdded => like(Role::Success),
        Role::DiffRemoved => like(Role::Error),
        Role::DiffAddedWord => RoleFallback::Like(Role::DiffAdded, Emphasis::REVERSED),
        Role::DiffRemovedWord => RoleFallback::Like(Role::DiffRemoved, Emphasis::REVERSED),
        Role::Thinking | Role::Comment => RoleFallback::Like(Role::Muted, Emphasis::ITALIC),
    }
}

/// Returns a style for every role: the defined one, or its fallback.
pub(super) fn complete(defined: impl Fn(Role) -> Option<ThemeStyle>) -> [ThemeStyle; ALL.len()] {
    ALL.map(|role| resolve(role, &defined))
}

fn resolve(role: Role, defined: &impl Fn(Role) -> Option<ThemeStyle>) -> ThemeStyle {
    if let Some(style) = defined(role) {
        return style;
    }
    match fallback(role) {
        RoleFallback::Like(other, emphasis) => resolve(other, defined).with(emphasis),
        RoleFallback::Style(style) => style,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn role_order_and_names_are_unique() {
        for (at, role) in ALL.into_iter().enumerate() {
            assert_eq!(role as usize, at, "{role:?}");
            assert_eq!(by_name(name(role)), Some(role));
        }
        assert_eq!(by_name("Accent"), None);
    }

    #[test]
    fn complete_undefined_role_uses_fallback() {
        let style = ThemeStyle::from_fg(ThemeColor::Indexed(100));
        let styles = complete(|role| (role == Role::Success).then_some(style));
        assert_eq!(styles[Role::DiffAddedWord as usize], style.with(Emphasis::REVERSED));
        assert_eq!(styles[Role::String as usize], style);
        assert_eq!(styles[Role::DiffRemoved as usize], ThemeStyle::from_fg(ThemeColor::Indexed(1)));
        assert_eq!(styles[Role::Text as usize], ThemeStyle::PLAIN);
    }
}
