//! Layout: the areas of the components. Drawing then only reads.

use ratatui::layout::Rect;

use crate::app::App;
use crate::component::Component;
use crate::frame_pacer::Dirty;
use crate::screen_areas::ScreenAreas;

impl App {
    /// Lays out the screen; drawing then only reads.
    pub(crate) fn prepare(&mut self) -> ScreenAreas {
        let areas = self.lay_out_panels();
        let view = view!(self);
        let foot = u16::try_from(self.approvals.page_foot(&view).len()).unwrap_or(u16::MAX);
        let (width, height) = self.ui.size;
        let free = height.saturating_sub(areas.footer.height).saturating_sub(foot);
        self.compositor.lay_out(Rect::new(0, 0, width, free), &view);
        self.transcript.lay_out(areas.transcript, &view);
        if self.transcript.content().lags() {
            self.dirty = self.dirty.max(Dirty::BySession);
        }
        areas
    }

    /// Lays out the panels; gives the rest to the transcript.
    pub(crate) fn lay_out_panels(&mut self) -> ScreenAreas {
        self.composer.wrap_text(self.ui.size);
        let areas = ScreenAreas::compute(self);
        let view = view!(self);
        self.approvals.lay_out(areas.approval, &view);
        self.queue.lay_out(areas.queue, &view);
        self.composer.lay_out(areas.editor, &view);
        self.composer.lay_out_completion(areas.completion);
        self.transcript.set_area(areas.transcript);
        self.areas = areas;
        areas
    }
}
