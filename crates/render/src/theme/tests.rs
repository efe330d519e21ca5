//! Properties of every built-in theme.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::*;
use crate::{AnsiColor, Emphasis, Role};

/// Minimum contrast of text (WCAG 2.2, 1.4.3), and of text in high-contrast themes (1.4.6).
const MIN_CONTRAST: f64 = 4.5;
const MIN_HIGH_CONTRAST: f64 = 7.0;

/// Minimum distance, for color-blind people, between roles with opposite meanings: five times the smallest
/// visible difference of adjacent colors (about 0.02 in Oklab), because such roles are seldom adjacent.
const MIN_DISTANCE: f64 = 0.1;

/// Simulation of missing long or middle cones (Machado, Oliveira, Fernandes 2009, severity 1.0), on linear
/// components.
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

fn built_in_themes() -> Vec<Arc<Theme>> {
    ThemeRegistry::built_in().known().map(|known| Arc::clone(&known.theme)).collect()
}

fn find(name: &str) -> Arc<Theme> {
    Arc::clone(&ThemeRegistry::built_in().find(name).unwrap().theme)
}

/// Returns the colors of a role's text and background.
fn colors(theme: &Theme, role: Role) -> (Option<Rgb>, Rgb) {
    colors_at(theme, role, ColorDepth::Millions)
}

fn colors_at(theme: &Theme, role: Role, depth: ColorDepth) -> (Option<Rgb>, Rgb) {
    let style = theme.style(role, depth);
    let (fg, bg) = (style.fg.map(ThemeColor::value), style.bg.map_or(theme.background, ThemeColor::value));
    if style.emphasis.has(Emphasis::REVERSED) { (Some(bg), fg.unwrap_or(bg)) } else { (fg, bg) }
}

#[test]
fn themes_roles_have_enough_contrast_at_every_depth() {
    for theme in built_in_themes().iter().filter(|theme| theme.kind != ThemeKind::Both) {
        let minimum = if theme.name.starts_with("high-contrast") { MIN_HIGH_CONTRAST } else { MIN_CONTRAST };
        for role in ROLES {
            let (Some(text_color), background) = colors(theme, role) else { continue };
            let contrast = text_color.contrast(background);
            assert!(contrast >= minimum, "{}: {role:?} has a contrast of {contrast:.2}", theme.name);
            // The nearest of 256 colors may have a little less contrast.
            let (text_color, background) = colors_at(theme, role, ColorDepth::TwoHundredFiftySix);
            let contrast = text_color.unwrap().contrast(background);
            assert!(contrast >= 0.85 * minimum, "{}: {role:?} of 256 colors has {contrast:.2}", theme.name);
        }
    }
}

#[test]
fn themes_diff_backgrounds_differ_at_every_depth() {
    for theme in built_in_themes().iter().filter(|theme| theme.kind != ThemeKind::Both) {
        for depth in [ColorDepth::Millions, ColorDepth::TwoHundredFiftySix] {
            let background = |role| colors_at(theme, role, depth).1.point();
            let distance = background(Role::DiffAddedWord).distance(background(Role::DiffRemovedWord));
            assert!(distance >= MIN_DISTANCE, "{} at {depth:?}: {distance:.3}", theme.name);
        }
    }
}

#[test]
fn themes_define_every_role_and_the_background() {
    for text in built_in::TEXTS {
        let json: serde_json::Value = serde_json::from_str(text).unwrap();
        let defined: BTreeSet<&str> = json["roles"].as_object().unwrap().keys().map(String::as_str).collect();
        let roles: BTreeSet<&str> = ROLES.iter().map(|role| role_name(*role)).collect();
        assert_eq!(defined, roles, "{}", json["name"]);
        assert!(json["kind"].is_string() && json["ground"].is_string());
    }
}

#[test]
fn themes_kind_matches_background() {
    for theme in built_in_themes().iter().filter(|theme| theme.kind != ThemeKind::Both) {
        let dark = Background::from_color(theme.background) == Background::Dark;
        assert_eq!(theme.kind == ThemeKind::Dark, dark, "{}", theme.name);
        // The kind guessed from a theme's colors is the same.
        assert_eq!(file::guess_kind(&theme.styles), theme.kind, "{}", theme.name);
    }
}

#[test]
fn themes_color_blind_safe_roles_differ() {
    let opposites = [
        (Role::DiffAdded, Role::DiffRemoved),
        (Role::Success, Role::Error),
        (Role::Success, Role::Warning),
        (Role::Error, Role::Warning),
    ];
    for theme in [find("color-blind-safe"), find("color-blind-safe-light")] {
        for (a, b) in opposites {
            let text_color = |role| colors(&theme, role).0.unwrap();
            for (deficiency, matrix) in [("protanopia", PROTANOPIA), ("deuteranopia", DEUTERANOPIA)] {
                let distance = simulated(text_color(a), matrix)
                    .point()
                    .distance(simulated(text_color(b), matrix).point());
                assert!(
                    distance >= MIN_DISTANCE,
                    "{}: {a:?} and {b:?}, {deficiency}: {distance:.3}",
                    theme.name
                );
            }
        }
        let background = |role| colors(&theme, role).1;
        for matrix in [PROTANOPIA, DEUTERANOPIA] {
            let (a, b) = (background(Role::DiffAddedWord), background(Role::DiffRemovedWord));
            assert!(
                simulated(a, matrix).point().distance(simulated(b, matrix).point()) >= MIN_DISTANCE,
                "{}",
                theme.name
            );
        }
    }
    // Check of the measure: the usual red and green fail it.
    let dark = find("dark");
    let text_color = |role| simulated(colors(&dark, role).0.unwrap(), DEUTERANOPIA).point();
    assert!(text_color(Role::DiffAdded).distance(text_color(Role::DiffRemoved)) < MIN_DISTANCE);
}

/// Simulates the perception of a color by a color-blind person.
fn simulated(color: Rgb, matrix: [[f64; 3]; 3]) -> Rgb {
    let light = color.linear();
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
fn themes_no_color_uses_emphasis_only() {
    let theme = find("no-color");
    for depth in [ColorDepth::None, ColorDepth::Sixteen, ColorDepth::TwoHundredFiftySix, ColorDepth::Millions]
    {
        for role in ROLES {
            let style = theme.style(role, depth);
            assert_eq!((style.fg, style.bg), (None, None), "{role:?}");
        }
        for role in [Role::Accent, Role::Error, Role::Warning, Role::DiffAddedWord, Role::Link] {
            assert_ne!(theme.style(role, depth).emphasis, Emphasis::NONE, "{role:?}");
        }
    }
}

#[test]
fn themes_sixteen_colors_are_the_terminals_own() {
    for theme in built_in_themes() {
        for role in ROLES {
            let style = theme.style(role, ColorDepth::Sixteen);
            for color in [style.fg, style.bg].into_iter().flatten() {
                assert!(matches!(color, ThemeColor::Indexed(0..=15)), "{}: {role:?}", theme.name);
            }
        }
        let opposites = [(Role::DiffAdded, Role::DiffRemoved), (Role::Success, Role::Error)];
        for (a, b) in opposites.into_iter().filter(|_| theme.kind != ThemeKind::Both) {
            assert_ne!(
                theme.style(a, ColorDepth::Sixteen).fg,
                theme.style(b, ColorDepth::Sixteen).fg,
                "{}",
                theme.name
            );
        }
    }
}

#[test]
fn themes_ansi_colors_replace_terminal_colors() {
    let (gruvbox, dark) = (find("gruvbox"), find("dark"));
    assert_eq!(
        gruvbox.ansi_color(AnsiColor::Basic(1), ColorDepth::Millions),
        Some(ThemeColor::Rgb(Rgb(0xcc, 0x24, 0x1d)))
    );
    assert_eq!(gruvbox.ansi_color(AnsiColor::Basic(1), ColorDepth::Sixteen), Some(ThemeColor::Indexed(1)));
    assert_eq!(
        gruvbox.ansi_color(AnsiColor::Indexed(201), ColorDepth::Millions),
        Some(ThemeColor::Indexed(201))
    );
    assert_eq!(dark.ansi_color(AnsiColor::Basic(1), ColorDepth::Millions), Some(ThemeColor::Indexed(1)));
    assert_eq!(dark.ansi_color(AnsiColor::Indexed(201), ColorDepth::Sixteen), Some(ThemeColor::Indexed(13)));
    assert_eq!(gruvbox.ansi_color(AnsiColor::Basic(1), ColorDepth::None), None);
}

#[test]
fn themes_schema_accepts_every_theme_and_role() {
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
    let schema_roles: Vec<&str> =
        schema["$defs"]["roles"]["properties"].as_object().unwrap().keys().map(String::as_str).collect();
    let roles: Vec<&str> = ROLES.iter().map(|role| role_name(*role)).collect();
    assert_eq!(schema_roles, roles);
    let invalid = serde_json::json!({"name": "x", "roles": {"acent": "#fff"}});
    assert!(schemas.validate(&invalid, root).is_err());
}

#[test]
fn theme_parse_errors_name_path_and_hint() {
    let error_text = |rest: &str| Theme::parse(&format!(r##"{{"name": "x", {rest}}}"##)).unwrap_err().full();
    assert_eq!(
        error_text(r##""roles": {"acent": "#fff"}"##),
        "at roles.acent: unknown role (did you mean accent?)"
    );
    assert_eq!(
        error_text(r##""roles": {"accent": {"fg": "bleu"}}"##),
        "at roles.accent.fg: `bleu` is neither a color nor a variable (did you mean blue?)"
    );
    assert_eq!(
        error_text(r##""roles": {"accent": 300}"##),
        "at roles.accent: 300 is not one of the 256 colors, 0 to 255 at line 1 column 37"
    );
    assert!(error_text(r##""roles": {"accent": {"bald": true}}"##).starts_with("at roles.accent"));
    assert!(error_text(r##""roles": {}, "16": {"accent": "#123456"}"##).starts_with(
        "at 16.accent: `#123456` is not one of the sixteen colors (they are 0 to 15, or black,"
    ));
    assert!(
        error_text(r##""roles": {}, "ground": "blue""##)
            .starts_with("at ground: this needs a color with a fixed value")
    );
    assert!(
        error_text(r##""vars": {"a": "b", "b": "a"}, "roles": {"text": "a"}"##)
            .contains("refers to itself (give it a color)")
    );
    let truncated = Theme::parse("{\n").unwrap_err().full();
    assert_eq!(truncated, "line 2: invalid JSON: unexpected end of file");
    assert!(Theme::parse("{}").unwrap_err().full().contains("missing field `name`"));
}

#[test]
fn theme_parse_resolves_variables() {
    let text =
        r##"{"name": "x", "vars": {"a": "b", "b": 110}, "roles": {"accent": "a", "text": "default"}}"##;
    let theme = Theme::parse(text).unwrap();
    assert_eq!(theme.style(Role::Accent, ColorDepth::Millions).fg, Some(ThemeColor::Indexed(110)));
    assert_eq!(theme.style(Role::Text, ColorDepth::Millions), ThemeStyle::default());
    assert_eq!(theme.style(Role::Heading, ColorDepth::Sixteen).fg, Some(ThemeColor::Indexed(6)));
}

#[test]
fn background_from_color_and_variable() {
    assert_eq!(Background::from_color(Rgb(0xfd, 0xf6, 0xe3)), Background::Light);
    assert_eq!(Background::from_color(Rgb(0x28, 0x28, 0x28)), Background::Dark);
    assert_eq!(Background::parse_colorfgbg("0;default;15"), Some(Background::Light));
    assert_eq!(Background::parse_colorfgbg("15;0"), Some(Background::Dark));
    assert_eq!(Background::parse_colorfgbg("15;default"), None);
}
