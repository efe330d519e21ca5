//! Tiller's own form of a theme: JSON by role. `themes/theme.schema.json` says the same to editors.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::color::{Rgb, ThemeColor};
use super::error::ThemeError;
use super::parse::{Variables, Written, WrittenLook};
use super::role;
use super::style::ThemeStyle;
use super::{Theme, ThemeKind};

/// The ground of a dark theme that names none, and of a light one.
pub(super) const GROUNDS: [Rgb; 2] = [Rgb(0x16, 0x19, 0x1f), Rgb(0xff, 0xff, 0xff)];

/// Whose form a file has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Own,
    Pi,
}

#[derive(Deserialize)]
struct Probe {
    colors: Option<IgnoredAny>,
    roles: Option<IgnoredAny>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "$schema")]
    _schema: Option<String>,
    name: String,
    kind: Option<ThemeKind>,
    ground: Option<Written>,
    #[serde(default)]
    vars: Variables,
    roles: BTreeMap<String, WrittenLook>,
    #[serde(default, rename = "16")]
    sixteen: BTreeMap<String, WrittenLook>,
    ansi: Option<[Written; 16]>,
}

/// Tells whose form a text has.
pub(super) fn form(text: &str) -> Result<Form, ThemeError> {
    let probe: Probe = read(text)?;
    Ok(if probe.roles.is_none() && probe.colors.is_some() { Form::Pi } else { Form::Own })
}

/// Reads JSON; an error says at which value.
pub(super) fn read<T: DeserializeOwned>(text: &str) -> Result<T, ThemeError> {
    let mut json = serde_json::Deserializer::from_str(text);
    let read = serde_path_to_error::deserialize(&mut json);
    read.map_err(|error| ThemeError::Form {
        place: error.path().to_string(),
        what: error.into_inner().to_string(),
    })
}

pub(super) fn parse(text: &str) -> Result<Theme, ThemeError> {
    let file: File = read(text)?;
    let looks = looks(&file.vars, &file.roles, "roles")?;
    let given = role::complete(|role| looks.get(role::name(role)).copied());
    let kind = file.kind.unwrap_or_else(|| kind_of(&given));
    let ground = match &file.ground {
        Some(written) => solid(&file.vars, written, "ground")?,
        None => GROUNDS[usize::from(kind == ThemeKind::Light)],
    };
    let sixteen = sixteen(&file)?;
    let ansi = file.ansi.as_ref().map(|colours| ansi(&file.vars, colours)).transpose()?;
    Ok(Theme { name: file.name, kind, ground, looks: given, sixteen, ansi })
}

fn looks(
    vars: &Variables,
    written: &BTreeMap<String, WrittenLook>,
    section: &str,
) -> Result<BTreeMap<&'static str, ThemeStyle>, ThemeError> {
    let mut looks = BTreeMap::new();
    for (name, look) in written {
        let place = format!("{section}.{name}");
        match role::named(name) {
            Some(role) => looks.insert(role::name(role), vars.look(look, &place)?),
            None => return Err(ThemeError::UnknownRole { place }),
        };
    }
    Ok(looks)
}

/// The looks on sixteen colours: what the theme says for them, else what stands in for each role, never the nearest colours:
/// those of a user's own sixteen may be any.
fn sixteen(file: &File) -> Result<[ThemeStyle; role::ALL.len()], ThemeError> {
    // Variables are of more colours, and may be called as one of the sixteen.
    let looks = looks(&Variables::default(), &file.sixteen, "16")?;
    for (name, look) in &looks {
        for colour in [look.fg, look.bg].into_iter().flatten() {
            if !matches!(colour, ThemeColor::Indexed(0..=15)) {
                let value = colour.value().to_string();
                return Err(ThemeError::NotOfSixteen { place: format!("16.{name}"), value });
            }
        }
    }
    Ok(role::complete(|role| looks.get(role::name(role)).copied()))
}

fn ansi(vars: &Variables, written: &[Written; 16]) -> Result<[Rgb; 16], ThemeError> {
    let mut colours = [Rgb::BLACK; 16];
    for (at, (colour, written)) in colours.iter_mut().zip(written).enumerate() {
        *colour = solid(vars, written, &format!("ansi[{at}]"))?;
    }
    Ok(colours)
}

/// A colour that is the same everywhere.
fn solid(vars: &Variables, written: &Written, place: &str) -> Result<Rgb, ThemeError> {
    match vars.colour(written, place)? {
        Some(colour @ (ThemeColor::Rgb(_) | ThemeColor::Indexed(16..))) => Ok(colour.value()),
        Some(ThemeColor::Indexed(_)) | None => Err(ThemeError::Form {
            place: place.to_owned(),
            what: "a colour is needed here that is the same everywhere, such as #1a1b26".to_owned(),
        }),
    }
}

/// What ground a theme is made for that doesn't say so: one that most of its colours are easier to read on.
pub(super) fn kind_of(looks: &[ThemeStyle; role::ALL.len()]) -> ThemeKind {
    // Text on a ground of its own says nothing.
    let inks = looks.iter().filter(|look| look.bg.is_none()).filter_map(|look| look.fg);
    let (mut light, mut dark) = (0, 0);
    for ink in inks.filter(|ink| !matches!(ink, ThemeColor::Indexed(0..=15))) {
        let ink = ink.value();
        let sum = if ink.contrast(GROUNDS[0]) >= ink.contrast(GROUNDS[1]) { &mut light } else { &mut dark };
        *sum += 1;
    }
    match (light, dark) {
        (0, 0) => ThemeKind::Both,
        (light, dark) if light >= dark => ThemeKind::Dark,
        _ => ThemeKind::Light,
    }
}
