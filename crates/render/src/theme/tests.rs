//! What holds for every theme that tiller brings.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::*;
use crate::Emphasis;

/// Least contrast of what is read (WCAG 2.2, 1.4.3), and of it in the themes that are made for contrast (1.4.6).
const LEGIBLE: f64 = 4.5;
const ENHANCED: f64 = 7.0;

/// Least distance between two roles that mean opposite things, as somebody sees them who lacks one kind of cone: five times what
/// is just told apart side by side (about 0.02 in Oklab), because the two are seldom side by side.
const APART: f64 = 0.1;

/// What red and green are to somebody without long cones, and without middle ones (Machado, Oliveira, Fernandes 2009,
/// severity 1.0), on light.
const PROTANOPIA: [[f64; 3]; 3] = [
    [0.152_286, 1.052_583, -0.204_868],
    [0.114_503, 0.786_281, 0.099_216],
    [-0.003_882, -0.048_116, 1.051_998],
];
const DEUTERANOPIA: [[f64; 3]; 3] = [
    [0.367_322, 0.860_646, -0.227_968],
    [0.280_085, 0.672_501, 0.047_413],
    [-0.011_820, 0.042_940, 0.968_881],
];

fn all() -> Vec<Arc<Theme>> {
    ThemeRegistry::built_in().known().map(|known| Arc::clone(&known.theme)).collect()
}

fn find(name: &str) -> Arc<Theme> {
    Arc::clone(&ThemeRegistry::built_in().find(name).unwrap().theme)
}

/// The colours of a role's text and of what it stands on.
fn colours(theme: &Theme, role: Role) -> (Option<Rgb>, Rgb) {
    colours_of(theme, role, ColorDepth::Millions)
}

fn colours_of(theme: &Theme, role: Role, depth: ColorDepth) -> (Option<Rgb>, Rgb) {
    let look = theme.look(role, depth);
    let (fg, bg) = (look.fg.map(ThemeColor::value), look.bg.map_or(theme.ground, ThemeColor::value));
    if look.emphasis.has(Emphasis::REVERSED) { (Some(bg), fg.unwrap_or(bg)) } else { (fg, bg) }
}

#[test]
fn every_role_is_legible_on_its_ground_at_every_depth() {
    for theme in all().iter().filter(|theme| theme.kind != ThemeKind::Both) {
        let least = if theme.name.starts_with("high-contrast") { ENHANCED } else { LEGIBLE };
        for role in ROLES {
            let (Some(ink), ground) = colours(theme, role) else { continue };
            let contrast = ink.contrast(ground);
            assert!(contrast >= least, "{}: {role:?} has a contrast of {contrast:.2}", theme.name);
            // Of 256 colours the nearest may be a little worse, and must still do.
            let (ink, ground) = colours_of(theme, role, ColorDepth::TwoHundredFiftySix);
            let contrast = ink.unwrap().contrast(ground);
            assert!(contrast >= 0.85 * least, "{}: {role:?} of 256 colours has {contrast:.2}", theme.name);
        }
    }
}

#[test]
fn what_came_and_what_went_have_grounds_that_are_told_apart_at_every_depth() {
    for theme in all().iter().filter(|theme| theme.kind != ThemeKind::Both) {
        for depth in [ColorDepth::Millions, ColorDepth::TwoHundredFiftySix] {
            let ground = |role| colours_of(theme, role, depth).1.point();
            let distance = ground(Role::DiffAddedWord).distance(ground(Role::DiffRemovedWord));
            assert!(distance >= APART, "{} at {depth:?}: {distance:.3}", theme.name);
        }
    }
}

#[test]
fn every_theme_says_how_each_role_looks_and_what_ground_it_is_for() {
    for text in built_in::TEXTS {
        let json: serde_json::Value = serde_json::from_str(text).unwrap();
        let given: BTreeSet<&str> = json["roles"].as_object().unwrap().keys().map(String::as_str).collect();
        let roles: BTreeSet<&str> = ROLES.iter().map(|role| role_name(*role)).collect();
        assert_eq!(given, roles, "{}", json["name"]);
        assert!(json["kind"].is_string() && json["ground"].is_string());
    }
}

#[test]
fn the_kind_of_a_theme_is_that_of_its_ground() {
    for theme in all().iter().filter(|theme| theme.kind != ThemeKind::Both) {
        let dark = Background::of(theme.ground) == Background::Dark;
        assert_eq!(theme.kind == ThemeKind::Dark, dark, "{}", theme.name);
        // And what a theme looks like tells it, for those that don't say.
        assert_eq!(file::kind_of(&theme.looks), theme.kind, "{}", theme.name);
    }
}

#[test]
fn what_is_safe_for_colour_blind_people_stays_apart_in_their_eyes() {
    let opposites = [
        (Role::DiffAdded, Role::DiffRemoved),
        (Role::Success, Role::Error),
        (Role::Success, Role::Warning),
        (Role::Error, Role::Warning),
    ];
    for theme in [find("colour-blind-safe"), find("colour-blind-safe-light")] {
        for (a, b) in opposites {
            let ink = |role| colours(&theme, role).0.unwrap();
            for (sight, matrix) in [("protanopia", PROTANOPIA), ("deuteranopia", DEUTERANOPIA)] {
                let distance = seen(ink(a), matrix).point().distance(seen(ink(b), matrix).point());
                assert!(distance >= APART, "{}: {a:?} and {b:?}, {sight}: {distance:.3}", theme.name);
            }
        }
        let ground = |role| colours(&theme, role).1;
        for matrix in [PROTANOPIA, DEUTERANOPIA] {
            let (a, b) = (ground(Role::DiffAddedWord), ground(Role::DiffRemovedWord));
            assert!(seen(a, matrix).point().distance(seen(b, matrix).point()) >= APART, "{}", theme.name);
        }
    }
    // The measure can tell: the usual red and green are not safe.
    let dark = find("dark");
    let ink = |role| seen(colours(&dark, role).0.unwrap(), DEUTERANOPIA).point();
    assert!(ink(Role::DiffAdded).distance(ink(Role::DiffRemoved)) < APART);
}

/// A colour as somebody sees it.
fn seen(colour: Rgb, matrix: [[f64; 3]; 3]) -> Rgb {
    let light = colour.linear();
    let part = |row: [f64; 3]| {
        let light: f64 = row.iter().zip(light).map(|(weight, light)| weight * light).sum();
        let light = light.clamp(0.0, 1.0);
        let part = if light <= 0.003_130_8 { light * 12.92 } else { 1.055 * light.powf(1.0 / 2.4) - 0.055 };
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is 0 to 255")]
        let part = (part * 255.0).round() as u8;
        part
    };
    Rgb(part(matrix[0]), part(matrix[1]), part(matrix[2]))
}

#[test]
fn without_colours_there_are_none_and_what_matters_stands_out_all_the_same() {
    let theme = find("no-colour");
    for depth in [ColorDepth::None, ColorDepth::Sixteen, ColorDepth::TwoHundredFiftySix, ColorDepth::Millions]
    {
        for role in ROLES {
            let look = theme.look(role, depth);
            assert_eq!((look.fg, look.bg), (None, None), "{role:?}");
        }
        for role in [Role::Accent, Role::Error, Role::Warning, Role::DiffAddedWord, Role::Link] {
            assert_ne!(theme.look(role, depth).emphasis, Emphasis::NONE, "{role:?}");
        }
    }
}

#[test]
fn sixteen_colours_are_the_terminals_own() {
    for theme in all() {
        for role in ROLES {
            let look = theme.look(role, ColorDepth::Sixteen);
            for colour in [look.fg, look.bg].into_iter().flatten() {
                assert!(matches!(colour, ThemeColor::Indexed(0..=15)), "{}: {role:?}", theme.name);
            }
        }
        let opposites = [(Role::DiffAdded, Role::DiffRemoved), (Role::Success, Role::Error)];
        for (a, b) in opposites.into_iter().filter(|_| theme.kind != ThemeKind::Both) {
            assert_ne!(
                theme.look(a, ColorDepth::Sixteen).fg,
                theme.look(b, ColorDepth::Sixteen).fg,
                "{}",
                theme.name
            );
        }
    }
}

#[test]
fn colours_that_commands_paint_with_are_the_themes_where_it_names_them() {
    let (gruvbox, dark) = (find("gruvbox"), find("dark"));
    assert_eq!(
        gruvbox.printed(AnsiColor::Basic(1), ColorDepth::Millions),
        Some(ThemeColor::Rgb(Rgb(0xcc, 0x24, 0x1d)))
    );
    assert_eq!(gruvbox.printed(AnsiColor::Basic(1), ColorDepth::Sixteen), Some(ThemeColor::Indexed(1)));
    assert_eq!(
        gruvbox.printed(AnsiColor::Indexed(201), ColorDepth::Millions),
        Some(ThemeColor::Indexed(201))
    );
    assert_eq!(dark.printed(AnsiColor::Basic(1), ColorDepth::Millions), Some(ThemeColor::Indexed(1)));
    assert_eq!(dark.printed(AnsiColor::Indexed(201), ColorDepth::Sixteen), Some(ThemeColor::Indexed(13)));
    assert_eq!(gruvbox.printed(AnsiColor::Basic(1), ColorDepth::None), None);
}

#[test]
fn the_schema_takes_every_theme_and_knows_every_role() {
    let text = include_str!("../../../../themes/theme.schema.json");
    let schema: serde_json::Value = serde_json::from_str(text).unwrap();
    let (mut compiler, mut schemas) = (boon::Compiler::new(), boon::Schemas::new());
    compiler.add_resource("theme.schema.json", schema.clone()).unwrap();
    let root = compiler.compile("theme.schema.json", &mut schemas).unwrap();
    for text in built_in::TEXTS {
        let theme: serde_json::Value = serde_json::from_str(text).unwrap();
        if let Err(error) = schemas.validate(&theme, root) {
            panic!("{}: {error}", theme["name"]);
        }
    }
    let known: Vec<&str> =
        schema["$defs"]["roles"]["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    let roles: Vec<&str> = ROLES.iter().map(|role| role_name(*role)).collect();
    assert_eq!(known, roles);
    let wrong = serde_json::json!({"name": "x", "roles": {"acent": "#fff"}});
    assert!(schemas.validate(&wrong, root).is_err());
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_place_and_what_to_do() {
    let wrong = |rest: &str| Theme::parse(&format!(r##"{{"name": "x", {rest}}}"##)).unwrap_err().full();
    assert_eq!(
        wrong(r##""roles": {"acent": "#fff"}"##),
        "at roles.acent: there is no such role (did you mean accent?)"
    );
    assert_eq!(
        wrong(r##""roles": {"accent": {"fg": "bleu"}}"##),
        "at roles.accent.fg: `bleu` is no colour and no variable (did you mean blue?)"
    );
    assert_eq!(
        wrong(r##""roles": {"accent": 300}"##),
        "at roles.accent: 300 is not one of the 256 colours, 0 to 255 at line 1 column 37"
    );
    assert!(wrong(r##""roles": {"accent": {"bald": true}}"##).starts_with("at roles.accent"));
    assert!(
        wrong(r##""roles": {}, "16": {"accent": "#123456"}"##).starts_with(
            "at 16.accent: `#123456` is none of the sixteen colours (they are 0 to 15, or black,"
        )
    );
    assert!(wrong(r##""roles": {}, "ground": "blue""##).starts_with("at ground: a colour is needed here"));
    assert!(
        wrong(r##""vars": {"a": "b", "b": "a"}, "roles": {"text": "a"}"##)
            .contains("leads back to itself (give it a colour)")
    );
    assert!(Theme::parse("{").unwrap_err().full().contains("EOF while parsing"));
    assert!(Theme::parse("{}").unwrap_err().full().contains("missing field `name`"));
}

#[test]
fn variables_name_colours_and_other_variables() {
    let text =
        r##"{"name": "x", "vars": {"a": "b", "b": 110}, "roles": {"accent": "a", "text": "default"}}"##;
    let theme = Theme::parse(text).unwrap();
    assert_eq!(theme.look(Role::Accent, ColorDepth::Millions).fg, Some(ThemeColor::Indexed(110)));
    assert_eq!(theme.look(Role::Text, ColorDepth::Millions), ThemeStyle::default());
    assert_eq!(theme.look(Role::Heading, ColorDepth::Sixteen).fg, Some(ThemeColor::Indexed(6)));
}

#[test]
fn grounds_are_told_by_their_light_and_by_the_variable() {
    assert_eq!(Background::of(Rgb(0xfd, 0xf6, 0xe3)), Background::Light);
    assert_eq!(Background::of(Rgb(0x28, 0x28, 0x28)), Background::Dark);
    assert_eq!(Background::of_variable("0;default;15"), Some(Background::Light));
    assert_eq!(Background::of_variable("15;0"), Some(Background::Dark));
    assert_eq!(Background::of_variable("15;default"), None);
}
