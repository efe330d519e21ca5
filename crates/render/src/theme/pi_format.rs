//! Themes of pi (`packages/coding-agent/docs/themes.md` of its repository, read in November 2026): its tokens, mapped to roles.
//!
//! Grounds of boxes and the colours of its status line have no counterpart here; tokens that are missing or unknown are
//! passed over, because its versions differ in them.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Theme;
use super::color::{Rgb, ThemeColor};
use super::error::ThemeError;
use super::file::{GROUNDS, kind_of, read};
use super::parse::{Variables, Written};
use super::role;
use super::style::ThemeStyle;
use super::{Background, ThemeKind};
use crate::{Emphasis, Role};

#[derive(Debug, Deserialize)]
struct File {
    name: String,
    #[serde(default)]
    vars: Variables,
    colors: BTreeMap<String, Written>,
    #[serde(default)]
    export: BTreeMap<String, Written>,
}

/// The token that says how a role looks, and what emphasis pi gives it.
const fn token(role: Role) -> (&'static str, Emphasis) {
    let plain = Emphasis::NONE;
    match role {
        Role::Text => ("text", plain),
        Role::Muted => ("muted", plain),
        Role::Accent => ("accent", plain),
        Role::Heading => ("mdHeading", plain),
        Role::Code => ("mdCode", plain),
        Role::Link => ("mdLink", plain),
        Role::Quote => ("mdQuoteBorder", plain),
        Role::DiffAdded => ("toolDiffAdded", plain),
        Role::DiffRemoved => ("toolDiffRemoved", plain),
        Role::DiffAddedWord => ("toolDiffAdded", Emphasis::REVERSED),
        Role::DiffRemovedWord => ("toolDiffRemoved", Emphasis::REVERSED),
        Role::Error => ("error", plain),
        Role::Success => ("success", plain),
        Role::Warning => ("warning", plain),
        Role::User => ("userMessageText", plain),
        Role::Thinking => ("thinkingText", Emphasis::ITALIC),
        Role::Keyword => ("syntaxKeyword", plain),
        Role::String => ("syntaxString", plain),
        Role::Comment => ("syntaxComment", plain),
        Role::Constant => ("syntaxNumber", plain),
        Role::Function => ("syntaxFunction", plain),
        Role::Type => ("syntaxType", plain),
        Role::Operator => ("syntaxOperator", plain),
        Role::Name => ("syntaxVariable", plain),
    }
}

pub(super) fn parse(text: &str) -> Result<Theme, ThemeError> {
    let file: File = read(text)?;
    let mut given: [Option<ThemeStyle>; role::ALL.len()] = [None; role::ALL.len()];
    for (look, role) in given.iter_mut().zip(role::ALL) {
        let (token, emphasis) = token(role);
        if let Some(written) = file.colors.get(token) {
            let fg = file.vars.colour(written, &format!("colors.{token}"))?;
            *look = Some(ThemeStyle { fg, ..ThemeStyle::PLAIN }.with(emphasis));
        }
    }
    let looks = role::complete(|role| given[role as usize]);
    let page = page(&file)?;
    let kind = match page.map(Background::of) {
        Some(Background::Light) => ThemeKind::Light,
        Some(Background::Dark) => ThemeKind::Dark,
        None => kind_of(&looks),
    };
    let ground = page.unwrap_or(GROUNDS[usize::from(kind == ThemeKind::Light)]);
    Ok(Theme { name: file.name, kind, ground, looks, sixteen: role::complete(|_| None), ansi: None })
}

/// The ground of the pages that pi exports: the only ground that its themes name which is about as a terminal's.
fn page(file: &File) -> Result<Option<Rgb>, ThemeError> {
    let Some(written) = file.export.get("pageBg") else { return Ok(None) };
    let colour = file.vars.colour(written, "export.pageBg")?;
    Ok(colour.filter(|colour| !matches!(colour, ThemeColor::Indexed(0..=15))).map(ThemeColor::value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::theme::{ColorDepth, ThemeError};

    const SMALL: &str = r##"{
        "$schema": "https://example.com/theme-schema.json",
        "name": "small",
        "vars": {"primary": "#00aaff", "secondary": 242, "alias": "primary"},
        "colors": {
            "accent": "alias", "muted": "secondary", "text": "", "dim": 240,
            "toolDiffAdded": "#00ff00", "syntaxVariable": "#ffaa00", "thinkingText": "secondary",
            "selectedBg": "#2d2d30", "statusLineModel": "#d787af"
        },
        "export": {"pageBg": "#18181e"}
    }"##;

    fn look(theme: &Theme, role: Role) -> ThemeStyle {
        theme.look(role, ColorDepth::Millions)
    }

    #[test]
    fn tokens_are_roles_here() {
        let theme = Theme::parse(SMALL).unwrap();
        assert_eq!(
            (theme.name.as_str(), theme.kind, theme.ground),
            ("small", ThemeKind::Dark, Rgb(0x18, 0x18, 0x1e))
        );
        assert_eq!(look(&theme, Role::Accent), ThemeStyle::of(ThemeColor::Rgb(Rgb(0, 0xaa, 0xff))));
        assert_eq!(look(&theme, Role::Muted), ThemeStyle::of(ThemeColor::Indexed(242)));
        assert_eq!(look(&theme, Role::Text), ThemeStyle::PLAIN);
        assert_eq!(
            look(&theme, Role::Thinking),
            ThemeStyle::of(ThemeColor::Indexed(242)).with(Emphasis::ITALIC)
        );
        let added = ThemeStyle::of(ThemeColor::Rgb(Rgb(0, 0xff, 0)));
        assert_eq!(look(&theme, Role::DiffAdded), added);
        assert_eq!(look(&theme, Role::DiffAddedWord), added.with(Emphasis::REVERSED));
        assert_eq!(look(&theme, Role::Name), ThemeStyle::of(ThemeColor::Rgb(Rgb(0xff, 0xaa, 0))));
    }

    #[test]
    fn what_it_does_not_say_is_as_the_role_it_is_like() {
        let theme = Theme::parse(SMALL).unwrap();
        assert_eq!(look(&theme, Role::Heading), look(&theme, Role::Accent));
        assert_eq!(look(&theme, Role::Error), ThemeStyle::of(ThemeColor::Indexed(1)));
    }

    #[test]
    fn a_wrong_colour_is_named_with_its_place() {
        let text = SMALL.replace("\"alias\", \"muted\"", "\"primry\", \"muted\"");
        let error = Theme::parse(&text).unwrap_err();
        assert_eq!(
            error.full(),
            "at colors.accent: `primry` is no colour and no variable (did you mean primary?)"
        );
        let circle = SMALL.replace("\"alias\": \"primary\"", "\"alias\": \"alias\"");
        assert!(
            matches!(Theme::parse(&circle).unwrap_err(), ThemeError::Circle { variable, .. } if variable == "alias")
        );
    }
}
