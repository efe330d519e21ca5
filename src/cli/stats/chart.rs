//! Bars drawn with text.

/// The characters of bars.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BarStyle {
    /// Block characters, with a resolution of an eighth of a column.
    Blocks,
    /// `#`, one per column.
    Ascii,
}

/// Parts of a full block, from one eighth to seven.
const PARTS: [char; 7] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// Draws a bar for this part of `width` columns, from 0 to 1. A part above 0 is always visible.
pub(super) fn bar(part: f64, width: usize, style: BarStyle) -> String {
    let steps = match style {
        BarStyle::Blocks => PARTS.len() + 1,
        BarStyle::Ascii => 1,
    };
    // A terminal's width is a small number, and the part is between 0 and 1.
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let length = (part.clamp(0.0, 1.0) * (width * steps) as f64).round() as usize;
    let length = if part > 0.0 { length.max(1) } else { 0 };
    match style {
        BarStyle::Blocks => {
            let rest = (length % steps).checked_sub(1).map(|at| PARTS[at]);
            "█".repeat(length / steps).chars().chain(rest).collect()
        }
        BarStyle::Ascii => "#".repeat(length),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bar_length_is_the_part_of_the_width() {
        let bars = |style| [0.0, 0.001, 0.5, 0.66, 1.0, 2.0].map(|part| bar(part, 5, style));
        assert_eq!(bars(BarStyle::Blocks), ["", "▏", "██▌", "███▎", "█████", "█████"]);
        assert_eq!(bars(BarStyle::Ascii), ["", "#", "###", "###", "#####", "#####"]);
    }
}
