//! The themes that tiller brings, as they lie in `themes/`.

/// Their texts, in the order they are offered; the first is for dark grounds, the second for light ones.
pub(super) const TEXTS: [&str; 9] = [
    include_str!("../../../../themes/dark.json"),
    include_str!("../../../../themes/light.json"),
    include_str!("../../../../themes/high-contrast.json"),
    include_str!("../../../../themes/high-contrast-light.json"),
    include_str!("../../../../themes/colour-blind-safe.json"),
    include_str!("../../../../themes/colour-blind-safe-light.json"),
    include_str!("../../../../themes/gruvbox.json"),
    include_str!("../../../../themes/catppuccin.json"),
    include_str!("../../../../themes/no-colour.json"),
];

/// The one for dark grounds.
pub(super) const DARK: &str = "dark";

/// The one for light grounds.
pub(super) const LIGHT: &str = "light";

/// The one for terminals without colours.
pub(super) const COLOURLESS: &str = "no-colour";
