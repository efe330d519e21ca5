//! The names of roles in theme files, and what a role looks like of which a theme says nothing.

use super::color::ThemeColor;
use super::style::ThemeStyle;
use crate::{Emphasis, Role};

macro_rules! roles {
    ($($role:ident = $name:literal),* $(,)?) => {
        /// Every role, in the order of their numbers.
        pub const ALL: [Role; [$($name),*].len()] = [$(Role::$role),*];

        /// The name of a role in a theme's file.
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

/// What stands in for a role that a theme doesn't give.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fallback {
    /// As another role, with more emphasis.
    Like(Role, Emphasis),
    /// This, in the terminal's own colours.
    Own(ThemeStyle),
}

pub(super) fn named(wanted: &str) -> Option<Role> {
    ALL.into_iter().find(|role| name(*role) == wanted)
}

/// What stands in for a role. No chain of them leads in a circle: each ends at a look.
pub(super) const fn fallback(role: Role) -> Fallback {
    const fn own(index: u8) -> Fallback {
        Fallback::Own(ThemeStyle::of(ThemeColor::Indexed(index)))
    }
    const fn like(role: Role) -> Fallback {
        Fallback::Like(role, Emphasis::NONE)
    }
    match role {
        Role::Text => Fallback::Own(ThemeStyle::PLAIN),
        Role::Muted => Fallback::Own(ThemeStyle::PLAIN.with(Emphasis::DIM)),
        Role::Accent => own(6),
        Role::Error => own(1),
        Role::Success => own(2),
        Role::Warning => own(3),
        Role::Link => own(4),
        Role::Keyword => own(5),
        Role::Heading | Role::Name => like(Role::Accent),
        Role::Code | Role::Constant | Role::Type => like(Role::Warning),
        Role::String => like(Role::Success),
        Role::Function => like(Role::Link),
        Role::Quote => like(Role::Muted),
        Role::User | Role::Operator => like(Role::Text),
        Role::DiffAdded => like(Role::Success),
        Role::DiffRemoved => like(Role::Error),
        Role::DiffAddedWord => Fallback::Like(Role::DiffAdded, Emphasis::REVERSED),
        Role::DiffRemovedWord => Fallback::Like(Role::DiffRemoved, Emphasis::REVERSED),
        Role::Thinking | Role::Comment => Fallback::Like(Role::Muted, Emphasis::ITALIC),
    }
}

/// A look for every role: those that are given, and for the others what stands in for them.
pub(super) fn complete(given: impl Fn(Role) -> Option<ThemeStyle>) -> [ThemeStyle; ALL.len()] {
    ALL.map(|role| stand_in(role, &given))
}

fn stand_in(role: Role, given: &impl Fn(Role) -> Option<ThemeStyle>) -> ThemeStyle {
    if let Some(look) = given(role) {
        return look;
    }
    match fallback(role) {
        Fallback::Like(other, emphasis) => stand_in(other, given).with(emphasis),
        Fallback::Own(look) => look,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_counted_in_their_order_and_have_names_of_their_own() {
        for (at, role) in ALL.into_iter().enumerate() {
            assert_eq!(role as usize, at, "{role:?}");
            assert_eq!(named(name(role)), Some(role));
        }
        assert_eq!(named("Accent"), None);
    }

    #[test]
    fn a_role_that_is_not_given_follows_the_one_it_is_like() {
        let look = ThemeStyle::of(ThemeColor::Indexed(100));
        let looks = complete(|role| (role == Role::Success).then_some(look));
        assert_eq!(looks[Role::DiffAddedWord as usize], look.with(Emphasis::REVERSED));
        assert_eq!(looks[Role::String as usize], look);
        assert_eq!(looks[Role::DiffRemoved as usize], ThemeStyle::of(ThemeColor::Indexed(1)));
        assert_eq!(looks[Role::Text as usize], ThemeStyle::PLAIN);
    }
}
