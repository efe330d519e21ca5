//! pi's theme format (`packages/coding-agent/docs/themes.md` of its repository, read in November 2026): maps
//! pi's tokens to roles.
//!
//! Backgrounds of boxes and colors of pi's status line have no counterpart here. Missing and unknown tokens
//! are ignored, because they differ between pi's versions.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::color::{Rgb, ThemeColor};
use super::definition::{Background, Theme, ThemeKind};
use super::error::ThemeError;
use super::file::{BACKGROUNDS, guess_kind, read};
use super::parse::{Variables, WrittenColor};
use super::role;
use super::style::ThemeStyle;
use crate::{Emphasis, Role};

#[derive(Debug, Deserialize)]
struct PiThemeFile {
    name: String,
    #[serde(default)]
    vars: Variables,
    colors: BTreeMap<String, WrittenColor>,
    #[serde(default)]
    export: BTreeMap<String, WrittenColor>,
}

/// Returns the token for a role, and the emphasis that pi gives it.
const fn token(role: Role) -> (&'static str, Emphasis) {
    let none = Emphasis::NONE;
    match role {
        Role::Text => ("text", none),
        Role::Muted => ("muted", none),
        Role::Accent => ("accent", none),
        Role::Heading => ("mdHeading", none),
        Role::Code => ("mdCode", none),
        Role::Link => ("mdLink", none),
        Role::Quote => ("mdQuoteBorder", none),
        Role::DiffAdded => ("toolDiffAdded", none),
        Role::DiffRemoved => ("toolDiffRemoved", none),
        Role::DiffAddedWord => ("toolDiffAdded", Emphasis::REVERSED),
        Role::DiffRemovedWord => ("toolDiffRemoved", Emphasis::REVERSED),
        Role::Error => ("error", none),
        Role::Success => ("success", none),
        Role::Warning => ("warning", none),
        Role::User => ("userMessageText", none),
        Role::Thinking => ("thinkingText", Emphasis::ITALIC),
        Role::Keyword => ("syntaxKeyword", none),
        Role::String => ("syntaxString", none),
        Role::Comment => ("syntaxComment", none),
        Role::Constant => ("syntaxNumber", none),
        Role::Function => ("syntaxFunction", none),
        Role::Type => ("syntaxType", none),
        Role::Operator => ("syntaxOperator", none),
        Role::Name => ("syntaxVariable", none),
    }
}

pub(super) fn parse(text: &str) -> Result<Theme, ThemeError> {
    let file: PiThemeFile = read(text)?;
    let mut own_styles: [Option<ThemeStyle>; role::ALL.len()] = [None; role::ALL.len()];
    for (style, role) in own_styles.iter_mut().zip(role::ALL) {
        let (token, emphasis) = token(role);
        if let Some(value) = file.colors.get(token) {
            let fg = file.vars.color(value, &format!("colors.{token}"))?;
            *style = Some(ThemeStyle { fg, ..ThemeStyle::PLAIN }.with(emphasis));
        }
    }
    let styles = role::complete(|role| own_styles[role as usize]);
    let page_background = page_background(&file)?;
    let kind = match page_background.map(Background::from_color) {
        Some(Background::Light) => ThemeKind::Light,
        Some(Background::Dark) => ThemeKind::Dark,
        None => guess_kind(&styles),
    };
    let background = page_background.unwrap_or(BACKGROUNDS[usize::from(kind == ThemeKind::Light)]);
    Ok(Theme { name: file.name, kind, background, styles, styles_16: role::complete(|_| None), ansi: None })
}

/// Returns the background of the pages that pi exports, the only one in its themes that resembles a
/// terminal's.
fn page_background(file: &PiThemeFile) -> Result<Option<Rgb>, ThemeError> {
    let Some(value) = file.export.get("pageBg") else { return Ok(None) };
    let color = file.vars.color(value, "export.pageBg")?;
    Ok(color.filter(|color| !matches!(color, ThemeColor::Indexed(0..=15))).map(ThemeColor::value))
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
        theme.style(role, ColorDepth::Millions)
    }

    #[test]
    fn pi_theme_tokens_map_to_roles() {
        let theme = Theme::parse(SMALL).unwrap();
        assert_eq!(
            (theme.name.as_str(), theme.kind, theme.background),
            ("small", ThemeKind::Dark, Rgb(0x18, 0x18, 0x1e))
        );
        assert_eq!(look(&theme, Role::Accent), ThemeStyle::from_fg(ThemeColor::Rgb(Rgb(0, 0xaa, 0xff))));
        assert_eq!(look(&theme, Role::Muted), ThemeStyle::from_fg(ThemeColor::Indexed(242)));
        assert_eq!(look(&theme, Role::Text), ThemeStyle::PLAIN);
        assert_eq!(
            look(&theme, Role::Thinking),
            ThemeStyle::from_fg(ThemeColor::Indexed(242)).with(Emphasis::ITALIC)
        );
        let added = ThemeStyle::from_fg(ThemeColor::Rgb(Rgb(0, 0xff, 0)));
        assert_eq!(look(&theme, Role::DiffAdded), added);
        assert_eq!(look(&theme, Role::DiffAddedWord), added.with(Emphasis::REVERSED));
        assert_eq!(look(&theme, Role::Name), ThemeStyle::from_fg(ThemeColor::Rgb(Rgb(0xff, 0xaa, 0))));
    }

    #[test]
    fn pi_theme_missing_token_uses_fallback() {
        let theme = Theme::parse(SMALL).unwrap();
        assert_eq!(look(&theme, Role::Heading), look(&theme, Role::Accent));
        assert_eq!(look(&theme, Role::Error), ThemeStyle::from_fg(ThemeColor::Indexed(1)));
    }

    #[test]
    fn pi_theme_unknown_color_names_its_path() {
        let text = SMALL.replace("\"alias\", \"muted\"", "\"primry\", \"muted\"");
        let error = Theme::parse(&text).unwrap_err();
        assert_eq!(
            error.full(),
            "at colors.accent: `primry` is neither a color nor a variable (did you mean primary?)"
        );
        let cycle = SMALL.replace("\"alias\": \"primary\"", "\"alias\": \"alias\"");
        assert!(
            matches!(Theme::parse(&cycle).unwrap_err(), ThemeError::Cycle { variable, .. } if variable == "alias")
        );
    }
}
