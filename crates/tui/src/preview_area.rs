//! The position of a preview: beside the rows of a list, or below them.

use ratatui::layout::Rect;

/// The areas of a list's rows and of the preview.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PreviewSplit {
    pub(crate) rows: Rect,
    /// `None` without room for a preview.
    pub(crate) preview: Option<Rect>,
}

/// Splits the body of a list. `beside` is the width of the rows for a preview beside them; with `None`, the
/// preview is below them if the body has at least `min_height` rows.
pub(crate) fn split(body: Rect, beside: Option<u16>, min_height: u16) -> PreviewSplit {
    if let Some(width) = beside {
        let preview = Rect { x: body.x + width, width: body.width - width, ..body };
        return PreviewSplit { rows: Rect { width, ..body }, preview: Some(preview) };
    }
    if body.height < min_height {
        return PreviewSplit { rows: body, preview: None };
    }
    let height = body.height * 2 / 5;
    let rows = Rect { height: body.height - height, ..body };
    PreviewSplit { rows, preview: Some(Rect { y: rows.bottom(), height, ..body }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_preview_is_beside_below_or_nowhere() {
        let body = Rect::new(0, 2, 120, 20);
        let beside = split(body, Some(66), 16);
        assert_eq!((beside.rows, beside.preview), (Rect::new(0, 2, 66, 20), Some(Rect::new(66, 2, 54, 20))));
        let below = split(body, None, 16);
        assert_eq!((below.rows, below.preview), (Rect::new(0, 2, 120, 12), Some(Rect::new(0, 14, 120, 8))));
        assert_eq!(split(body, None, 21), PreviewSplit { rows: body, preview: None });
    }
}
