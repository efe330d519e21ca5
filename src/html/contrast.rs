//! The contrast of the pages' colors, computed from the style sheet.

use std::collections::BTreeMap;

use super::head::STYLE_SHEET;

/// Minimum contrast of text (WCAG 2.2, success criterion 1.4.3).
const MIN_CONTRAST: f64 = 4.5;

/// A color in the light and in the dark theme, as red, green and blue.
type ThemeColors = [[u8; 3]; 2];

fn parse(colors: &str) -> Option<ThemeColors> {
    let (light, dark) = colors.strip_prefix("light-dark(#")?.split_once(')')?.0.split_once(", #")?;
    let channel = |hex: &str, at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    let color = |hex: &str| Some([channel(hex, 0)?, channel(hex, 2)?, channel(hex, 4)?]);
    Some([color(light)?, color(dark)?])
}

/// Returns the color variables (`--text`), and the colors of the classes of code (`.k`).
fn colors() -> BTreeMap<&'static str, ThemeColors> {
    let lines = STYLE_SHEET.lines().map(str::trim_start);
    let color = |line: &'static str| {
        let (name, value) = line.split_once(" { color: ").or_else(|| line.split_once(": "))?;
        Some((name, parse(value)?))
    };
    lines.filter_map(color).collect()
}

/// Returns the contrast ratio of two colors, from 1 to 21 (WCAG 2.2, "contrast ratio" and "relative
/// luminance").
fn contrast(a: [u8; 3], b: [u8; 3]) -> f64 {
    let linear = |channel: u8| {
        let value = f64::from(channel) / 255.0;
        if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
    };
    let luminance =
        |[red, green, blue]: [u8; 3]| 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn contrast_of_all_text_is_sufficient() {
    let colors = colors();
    let code: Vec<&str> = colors.keys().filter(|name| name.starts_with('.')).copied().collect();
    assert_eq!(code.len(), 8, "{code:?}");
    let texts = ["--text", "--muted", "--accent", "--well", "--badly"];
    let everywhere = texts.iter().flat_map(|text| [(*text, "--ground"), (*text, "--raised")]);
    // A changed word has no text color of its own.
    let in_code =
        code.iter().flat_map(|text| ["--raised", "--added", "--removed"].map(|ground| (*text, ground)));
    let others = [
        ("--ground", "--accent"),
        ("--text", "--mark"),
        ("--muted", "--added"),
        ("--muted", "--removed"),
        ("--text", "--added-word"),
        ("--text", "--removed-word"),
    ];
    let mut faint = Vec::new();
    for (text, ground) in everywhere.chain(in_code).chain(others) {
        for (theme, name) in ["light", "dark"].iter().enumerate() {
            let ratio = contrast(colors[text][theme], colors[ground][theme]);
            if ratio < MIN_CONTRAST {
                faint.push(format!("{name}: {text} on {ground}: {ratio:.2}"));
            }
        }
    }
    assert!(faint.is_empty(), "\n{}", faint.join("\n"));
}

#[test]
fn contrast_of_black_and_white_is_21() {
    assert!((contrast([0; 3], [255; 3]) - 21.0).abs() < 1e-9);
}
