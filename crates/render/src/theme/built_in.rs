//! The built-in themes from `themes/`.

/// The contents of their files, in display order; the first is for dark backgrounds, the second for light
/// ones.
pub(super) const TEXTS: [&str; 9] = [
    include_str!("../../../../themes/dark.json"),
    include_str!("../../../../themes/light.json"),
    include_str!("../../../../themes/high-contrast.json"),
    include_str!("../../../../themes/high-contrast-light.json"),
    include_str!("../../../../themes/color-blind-safe.json"),
    include_str!("../../../../themes/color-blind-safe-light.json"),
    include_str!("../../../../themes/gruvbox.json"),
    include_str!("../../../../themes/catppuccin.json"),
    include_str!("../../../../themes/no-color.json"),
];

/// The default for dark backgrounds.
pub(super) const DARK: &str = "dark";

/// The default for light backgrounds.
pub(super) const LIGHT: &str = "light";

/// The theme for terminals without colors.
pub(super) const COLORLESS: &str = "no-color";
