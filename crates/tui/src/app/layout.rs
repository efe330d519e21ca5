//! Layout: the areas of the components. Drawing then only reads.

use crate::app::App;
use crate::composer::view::SIGN_WIDTH;
use crate::frame_pacer::Dirty;
use crate::overlay::Overlay;
use crate::pager::Pager;
use crate::view::ScreenAreas;

impl App {
    /// Lays out the screen; drawing then only reads.
    pub(crate) fn prepare(&mut self) -> ScreenAreas {
        let areas = self.lay_out_panels();
        let ctx = self.transcript.render_context(&self.view_context());
        if let Some(Overlay::Tree(tree)) = self.compositor.top_mut() {
            tree.prepare(self.ui.size, &self.ui.keymap, &ctx);
        }
        self.lay_out_page();
        let view = view!(self);
        self.transcript.lay_out(&view);
        if self.transcript.content().lags() {
            self.dirty = self.dirty.max(Dirty::BySession);
        }
        areas
    }

    /// Lays out the editor and the approval panel; gives the rest to the transcript.
    pub(crate) fn lay_out_panels(&mut self) -> ScreenAreas {
        let (width, height) = self.ui.size;
        self.composer.editor.lay_out(width.saturating_sub(SIGN_WIDTH), height / 3);
        let areas = ScreenAreas::compute(self);
        let view = view!(self);
        self.approvals.lay_out(usize::from(areas.approval.height), &view);
        self.transcript.set_area(areas.transcript);
        areas
    }

    /// Lays out the page over the transcript, if any.
    pub(crate) fn lay_out_page(&mut self) {
        if !matches!(self.compositor.top(), Some(Overlay::Pager(_))) {
            return;
        }
        let footer = ScreenAreas::compute(self).footer.height;
        let (width, height) = self.ui.size;
        let foot = u16::try_from(self.approvals.page_foot(&self.view_context()).len()).unwrap_or(u16::MAX);
        if let Some(Overlay::Pager(page)) = self.compositor.top_mut() {
            let rows = height.saturating_sub(footer).saturating_sub(2).saturating_sub(foot);
            page.lay_out(Pager::columns(width), usize::from(rows));
        }
    }
}
