//! Lines of an image.

use tiller_render as render;
use tiller_render::Line;

use crate::layout::RenderContext;

/// Returns the description line of an image, and the image if the terminal can display it.
pub(crate) fn image_lines(mime_type: &str, data: &str, ctx: &RenderContext) -> Vec<Line> {
    render::render_image(mime_type, data, ctx.width, ctx.images)
}
