//! Colors: parsing, measuring, and replacement with the nearest available one.

use std::fmt;
use std::sync::LazyLock;

/// A 24-bit color.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rgb(
    /// Red.
    pub u8,
    /// Green.
    pub u8,
    /// Blue.
    pub u8,
);

/// A color for a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ThemeColor {
    /// An exact color.
    Rgb(Rgb),
    /// One of the 256 colors: the first 16 are chosen by the terminal's user, the others are fixed.
    Indexed(u8),
}

/// Names of the sixteen colors by index.
pub(super) const NAMES: [&str; 16] = [
    "black",
    "red",
    "green",
    "yellow",
    "blue",
    "magenta",
    "cyan",
    "white",
    "bright-black",
    "bright-red",
    "bright-green",
    "bright-yellow",
    "bright-blue",
    "bright-magenta",
    "bright-cyan",
    "bright-white",
];

/// The default values of the sixteen colors: xterm's (xterm 390, `XTerm-col.ad`).
const XTERM: [Rgb; 16] = [
    Rgb(0x00, 0x00, 0x00),
    Rgb(0xcd, 0x00, 0x00),
    Rgb(0x00, 0xcd, 0x00),
    Rgb(0xcd, 0xcd, 0x00),
    Rgb(0x00, 0x00, 0xee),
    Rgb(0xcd, 0x00, 0xcd),
    Rgb(0x00, 0xcd, 0xcd),
    Rgb(0xe5, 0xe5, 0xe5),
    Rgb(0x7f, 0x7f, 0x7f),
    Rgb(0xff, 0x00, 0x00),
    Rgb(0x00, 0xff, 0x00),
    Rgb(0xff, 0xff, 0x00),
    Rgb(0x5c, 0x5c, 0xff),
    Rgb(0xff, 0x00, 0xff),
    Rgb(0x00, 0xff, 0xff),
    Rgb(0xff, 0xff, 0xff),
];

/// The fixed colors among the 256, from index 16 on, in Oklab.
static FIXED_POINTS: LazyLock<Vec<OklabColor>> =
    LazyLock::new(|| (16..=255).map(|index| fixed_color(index).point()).collect());

impl Rgb {
    /// Black.
    pub const BLACK: Self = Self(0, 0, 0);
    /// White.
    pub const WHITE: Self = Self(255, 255, 255);

    /// Parses `#rrggbb` or `#rgb`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#')?;
        if !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let part = |at: usize, length: usize| u8::from_str_radix(&digits[at..at + length], 16).ok();
        match digits.len() {
            6 => Some(Self(part(0, 2)?, part(2, 2)?, part(4, 2)?)),
            3 => Some(Self(part(0, 1)? * 17, part(1, 1)? * 17, part(2, 1)? * 17)),
            _ => None,
        }
    }

    /// Parses X11's format (XParseColor): `rgb:1e1e/1e1e/2e2e`, one to four digits each.
    #[must_use]
    pub fn parse_x11(text: &str) -> Option<Self> {
        let digits = text.strip_prefix("rgb:").or_else(|| text.strip_prefix("rgba:"))?;
        let mut parts = digits.split('/').map(|part| {
            let max = (1_u32 << (4 * u32::try_from(part.len()).ok()?.min(4))) - 1;
            let value = u32::from_str_radix(part, 16).ok().filter(|value| *value <= max && max > 0)?;
            u8::try_from((value * 255 + max / 2) / max).ok()
        });
        Some(Self(parts.next()??, parts.next()??, parts.next()??))
    }

    /// Returns the relative luminance, from 0 for black to 1 for white (WCAG 2.2, "relative luminance").
    #[must_use]
    pub(crate) fn luminance(self) -> f64 {
        let [red, green, blue] = self.linear();
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// Returns the contrast ratio, from 1 to 21 (WCAG 2.2, "contrast ratio").
    #[must_use]
    pub fn contrast(self, other: Self) -> f64 {
        let (a, b) = (self.luminance(), other.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// Returns the linear components, from 0 to 1 (IEC 61966-2-1).
    pub(super) fn linear(self) -> [f64; 3] {
        let light = |part: u8| {
            let part = f64::from(part) / 255.0;
            if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
        };
        [light(self.0), light(self.1), light(self.2)]
    }

    /// Returns the position in a perceptually uniform space (Oklab, Björn Ottosson 2020).
    pub(super) fn point(self) -> OklabColor {
        let [red, green, blue] = self.linear();
        let long = (0.412_221_47 * red + 0.536_332_54 * green + 0.051_445_99 * blue).cbrt();
        let middle = (0.211_903_5 * red + 0.680_699_55 * green + 0.107_396_96 * blue).cbrt();
        let short = (0.088_302_46 * red + 0.281_718_84 * green + 0.629_978_7 * blue).cbrt();
        OklabColor {
            lightness: 0.210_454_26 * long + 0.793_617_8 * middle - 0.004_072_05 * short,
            green_red: 1.977_998_5 * long - 2.428_592_2 * middle + 0.450_593_7 * short,
            blue_yellow: 0.025_904_04 * long + 0.782_771_77 * middle - 0.808_675_77 * short,
        }
    }
}

impl fmt::Display for Rgb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// Chroma below which a color counts as gray (in Oklab, where the most saturated screen colors have about
/// 0.3).
const MIN_CHROMA: f64 = 0.03;

/// Cosine of the maximum angle between equal hues: 30°.
const SAME_HUE_COSINE: f64 = 0.866;

/// A color in Oklab; distances correspond to perceived differences.
#[derive(Clone, Copy, Debug)]
pub(super) struct OklabColor {
    lightness: f64,
    green_red: f64,
    blue_yellow: f64,
}

impl OklabColor {
    pub(super) fn distance(self, other: Self) -> f64 {
        let square = |a: f64, b: f64| (a - b) * (a - b);
        (square(self.lightness, other.lightness)
            + square(self.green_red, other.green_red)
            + square(self.blue_yellow, other.blue_yellow))
        .sqrt()
    }

    /// Returns the chroma, 0 for gray.
    fn chroma(self) -> f64 {
        self.green_red.hypot(self.blue_yellow)
    }

    /// Returns true if both colors have the same hue.
    fn has_hue_of(self, other: Self) -> bool {
        let dot_product = self.green_red * other.green_red + self.blue_yellow * other.blue_yellow;
        self.chroma() >= MIN_CHROMA && dot_product >= SAME_HUE_COSINE * self.chroma() * other.chroma()
    }
}

impl ThemeColor {
    /// Parses a literal color: `#rrggbb`, `#rgb`, or the name of one of the sixteen.
    pub(super) fn parse(text: &str) -> Option<Self> {
        if let Some(rgb) = Rgb::parse(text) {
            return Some(Self::Rgb(rgb));
        }
        let name = match text {
            "gray" | "grey" => "bright-black",
            name => name,
        };
        let at = NAMES.iter().position(|known| *known == name)?;
        u8::try_from(at).ok().map(Self::Indexed)
    }

    /// Returns the nearest of the fixed 256 colors.
    #[must_use]
    pub(crate) fn in_256(self) -> Self {
        let Self::Rgb(rgb) = self else { return self };
        let at = nearest(rgb, FIXED_POINTS.iter().copied());
        Self::Indexed(u8::try_from(at + 16).unwrap_or(u8::MAX))
    }

    /// Like [`in_256`](Self::in_256), for a background, whose hue has a meaning: a color with a hue doesn't
    /// become gray, although a gray is often nearer than one of the few dark colors.
    pub(super) fn background_in_256(self) -> Self {
        let Self::Rgb(rgb) = self else { return self };
        let (plain, target) = (self.in_256(), rgb.point());
        if target.chroma() < MIN_CHROMA || plain.value().point().chroma() >= MIN_CHROMA {
            return plain;
        }
        let distance = |(_, point): &(u8, &OklabColor)| point.distance(target);
        let candidates =
            (16..=u8::MAX).zip(FIXED_POINTS.iter()).filter(|(_, point)| point.has_hue_of(target));
        let nearest = candidates.min_by(|a, b| distance(a).total_cmp(&distance(b)));
        nearest.map_or(plain, |(index, _)| Self::Indexed(index))
    }

    /// Returns the nearest of the sixteen colors, assuming xterm's values.
    #[must_use]
    pub(crate) fn in_16(self) -> Self {
        if let Self::Indexed(0..=15) = self {
            return self;
        }
        let at = nearest(self.value(), XTERM.iter().map(|rgb| rgb.point()));
        Self::Indexed(u8::try_from(at).unwrap_or(7))
    }

    /// Returns the 24-bit value; for the first sixteen colors, xterm's.
    #[must_use]
    pub fn value(self) -> Rgb {
        match self {
            Self::Rgb(rgb) => rgb,
            Self::Indexed(index @ 0..=15) => XTERM[usize::from(index)],
            Self::Indexed(index) => fixed_color(index),
        }
    }
}

/// Returns one of the 256 colors from index 16 on: a cube of six steps each of red, green and blue, then
/// grays.
fn fixed_color(index: u8) -> Rgb {
    let level = |step: u8| if step == 0 { 0 } else { 55 + 40 * step };
    match index {
        232.. => {
            let gray = 8 + 10 * (index - 232);
            Rgb(gray, gray, gray)
        }
        _ => {
            let index = index.saturating_sub(16);
            Rgb(level(index / 36), level(index / 6 % 6), level(index % 6))
        }
    }
}

fn nearest(color: Rgb, candidates: impl Iterator<Item = OklabColor>) -> usize {
    let point = color.point();
    let distances = candidates.map(|candidate| point.distance(candidate)).enumerate();
    distances.min_by(|(_, a), (_, b)| a.total_cmp(b)).map_or(0, |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rgb_parse_reads_hexadecimal_only() {
        assert_eq!(Rgb::parse("#88c0d0"), Some(Rgb(0x88, 0xc0, 0xd0)));
        assert_eq!(Rgb::parse("#f0A"), Some(Rgb(0xff, 0x00, 0xaa)));
        for invalid in ["88c0d0", "#88c0d", "#88c0dg", "#", "#+88c0d", "#é12"] {
            assert_eq!(Rgb::parse(invalid), None, "{invalid}");
        }
        assert_eq!(Rgb(1, 2, 255).to_string(), "#0102ff");
    }

    #[test]
    fn rgb_parse_x11_reads_every_length() {
        assert_eq!(Rgb::parse_x11("rgb:1e1e/1e1e/2e2e"), Some(Rgb(0x1e, 0x1e, 0x2e)));
        assert_eq!(Rgb::parse_x11("rgb:ff/ff/ff"), Some(Rgb::WHITE));
        assert_eq!(Rgb::parse_x11("rgb:f/0/f"), Some(Rgb(255, 0, 255)));
        assert_eq!(Rgb::parse_x11("rgba:fdfd/f6f6/e3e3/ffff"), Some(Rgb(0xfd, 0xf6, 0xe3)));
        for invalid in ["rgb:", "rgb:ff/ff", "rgb:fffff/0/0", "#ffffff", "rgb:-1/0/0"] {
            assert_eq!(Rgb::parse_x11(invalid), None, "{invalid}");
        }
    }

    #[test]
    fn rgb_contrast_matches_wcag() {
        assert!((Rgb::BLACK.contrast(Rgb::WHITE) - 21.0).abs() < 1e-9);
        // A well-known example: the darkest gray that fails on white.
        assert!((Rgb(0x77, 0x77, 0x77).contrast(Rgb::WHITE) - 4.48).abs() < 0.01);
    }

    #[test]
    fn in_256_fixed_color_is_unchanged() {
        for index in 16..=255 {
            let nearest = ThemeColor::Rgb(fixed_color(index)).in_256();
            // Some grays are also in the cube.
            assert_eq!(nearest.value(), fixed_color(index), "{index}");
        }
        assert_eq!(ThemeColor::Indexed(3).in_256(), ThemeColor::Indexed(3));
        assert_eq!(ThemeColor::Rgb(Rgb(0xd7, 0xaf, 0x5f)).in_256(), ThemeColor::Indexed(179));
    }

    #[test]
    fn background_in_256_keeps_hue() {
        let dark_green = ThemeColor::Rgb(Rgb(0x1f, 0x4a, 0x2b));
        assert_eq!(dark_green.in_256(), ThemeColor::Indexed(238));
        assert_eq!(dark_green.background_in_256(), ThemeColor::Indexed(22));
        let unchanged =
            [Rgb(0x5c, 0x25, 0x29), Rgb(0x6e, 0x3a, 0x00), Rgb(0x50, 0x52, 0x55)].map(ThemeColor::Rgb);
        assert_eq!(
            unchanged.map(ThemeColor::background_in_256),
            unchanged.map(ThemeColor::in_256),
            "hued already, or a grey itself"
        );
        assert_eq!(ThemeColor::Indexed(238).background_in_256(), ThemeColor::Indexed(238));
    }

    #[test]
    fn in_16_takes_the_nearest() {
        assert_eq!(ThemeColor::Rgb(Rgb(0xf0, 0x10, 0x08)).in_16(), ThemeColor::Indexed(9));
        assert_eq!(ThemeColor::Indexed(231).in_16(), ThemeColor::Indexed(15));
        assert_eq!(ThemeColor::Indexed(12).in_16(), ThemeColor::Indexed(12));
    }

    #[test]
    fn theme_color_names_are_terminal_colors() {
        assert_eq!(ThemeColor::parse("bright-cyan"), Some(ThemeColor::Indexed(14)));
        assert_eq!(ThemeColor::parse("grey"), Some(ThemeColor::Indexed(8)));
        assert_eq!(ThemeColor::parse("#fff"), Some(ThemeColor::Rgb(Rgb::WHITE)));
        assert_eq!(ThemeColor::parse("mauve"), None);
    }
}
