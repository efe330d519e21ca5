//! tiller's theme format: JSON with a style for each role. `themes/theme.schema.json` describes it for
//! editors.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use tiller_core::json_error;

use super::color::{Rgb, ThemeColor};
use super::definition::{Theme, ThemeKind};
use super::error::ThemeError;
use super::parse::{Variables, WrittenColor, WrittenStyle};
use super::role;
use super::style::ThemeStyle;

/// The default backgrounds of dark and light themes.
pub(super) const BACKGROUNDS: [Rgb; 2] = [Rgb(0x16, 0x19, 0x1f), Rgb(0xff, 0xff, 0xff)];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ThemeFormat {
    Tiller,
    Pi,
}

#[derive(Deserialize)]
struct Probe {
    colors: Option<IgnoredAny>,
    roles: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ThemeFile {
    #[serde(rename = "$schema")]
    _schema: Option<String>,
    name: String,
    kind: Option<ThemeKind>,
    ground: Option<WrittenColor>,
    #[serde(default)]
    vars: Variables,
    roles: BTreeMap<String, WrittenStyle>,
    #[serde(default, rename = "16")]
    sixteen: BTreeMap<String, WrittenStyle>,
    ansi: Option<[WrittenColor; 16]>,
}

pub(super) fn detect_format(text: &str) -> Result<ThemeFormat, ThemeError> {
    let probe: Probe = read(text)?;
    Ok(if probe.roles.is_none() && probe.colors.is_some() { ThemeFormat::Pi } else { ThemeFormat::Tiller })
}

/// Parses JSON; an error names the path of the value.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, ThemeError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let read = serde_path_to_error::deserialize(&mut json);
    read.map_err(|error| match error.inner() {
        inner if inner.is_data() => {
            ThemeError::Form { path: error.path().to_string(), message: inner.to_string() }
        }
        inner => ThemeError::NotJson(json_error::in_file(inner)),
    })
}

pub(super) fn parse(text: &str) -> Result<Theme, ThemeError> {
    let file: ThemeFile = read(text)?;
    let parsed = parse_styles(&file.vars, &file.roles, "roles")?;
    let styles = role::complete(|role| parsed.get(role::name(role)).copied());
    let kind = file.kind.unwrap_or_else(|| guess_kind(&styles));
    let background = match &file.ground {
        Some(value) => fixed_color(&file.vars, value, "ground")?,
        None => BACKGROUNDS[usize::from(kind == ThemeKind::Light)],
    };
    let styles_16 = parse_styles_16(&file)?;
    let ansi = file.ansi.as_ref().map(|colors| parse_ansi(&file.vars, colors)).transpose()?;
    Ok(Theme { name: file.name, kind, background, styles, styles_16, ansi })
}

fn parse_styles(
    vars: &Variables,
    value: &BTreeMap<String, WrittenStyle>,
    section: &str,
) -> Result<BTreeMap<&'static str, ThemeStyle>, ThemeError> {
    let mut parsed = BTreeMap::new();
    for (name, style) in value {
        let path = format!("{section}.{name}");
        match role::by_name(name) {
            Some(role) => parsed.insert(role::name(role), vars.style(style, &path)?),
            None => return Err(ThemeError::UnknownRole { path }),
        };
    }
    Ok(parsed)
}

/// Returns the styles for sixteen colors: the theme's own, otherwise the fallback of each role. The nearest
/// color isn't used, because the user can define the sixteen colors freely.
fn parse_styles_16(file: &ThemeFile) -> Result<[ThemeStyle; role::ALL.len()], ThemeError> {
    // Variables aren't allowed here: they may have the names of the sixteen colors.
    let parsed = parse_styles(&Variables::default(), &file.sixteen, "16")?;
    for (name, style) in &parsed {
        for color in [style.fg, style.bg].into_iter().flatten() {
            if !matches!(color, ThemeColor::Indexed(0..=15)) {
                let value = color.value().to_string();
                return Err(ThemeError::NotOfSixteen { path: format!("16.{name}"), value });
            }
        }
    }
    Ok(role::complete(|role| parsed.get(role::name(role)).copied()))
}

fn parse_ansi(vars: &Variables, value: &[WrittenColor; 16]) -> Result<[Rgb; 16], ThemeError> {
    let mut colors = [Rgb::BLACK; 16];
    for (at, (color, value)) in colors.iter_mut().zip(value).enumerate() {
        *color = fixed_color(vars, value, &format!("ansi[{at}]"))?;
    }
    Ok(colors)
}

fn fixed_color(vars: &Variables, value: &WrittenColor, path: &str) -> Result<Rgb, ThemeError> {
    match vars.color(value, path)? {
        Some(color @ (ThemeColor::Rgb(_) | ThemeColor::Indexed(16..))) => Ok(color.value()),
        Some(ThemeColor::Indexed(_)) | None => Err(ThemeError::Form {
            path: path.to_owned(),
            message: "this needs a color with a fixed value, such as #1a1b26".to_owned(),
        }),
    }
}

/// Guesses the kind of a theme: the background with which most of its colors have more contrast.
pub(super) fn guess_kind(styles: &[ThemeStyle; role::ALL.len()]) -> ThemeKind {
    // Text with its own background says nothing about the terminal's.
    let colors = styles.iter().filter(|style| style.bg.is_none()).filter_map(|style| style.fg);
    let (mut light, mut dark) = (0, 0);
    for color in colors.filter(|color| !matches!(color, ThemeColor::Indexed(0..=15))) {
        let color = color.value();
        let count = if color.contrast(BACKGROUNDS[0]) >= color.contrast(BACKGROUNDS[1]) {
            &mut light
        } else {
            &mut dark
        };
        *count += 1;
    }
    match (light, dark) {
        (0, 0) => ThemeKind::Both,
        (light, dark) if light >= dark => ThemeKind::Dark,
        _ => ThemeKind::Light,
    }
}
