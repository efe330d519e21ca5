//! The prompt history and the position in it.

/// The prompt history with the recalled prompt.
#[derive(Debug, Default)]
pub(super) struct HistoryCursor {
    /// Oldest first.
    prompts: Vec<String>,
    shown: Option<RecalledEntry>,
    /// Drafts replaced with a recalled prompt, oldest first. None of them is in the history.
    replaced: Vec<String>,
}

/// A recalled prompt.
#[derive(Debug)]
struct RecalledEntry {
    at: usize,
    /// The draft when recalling started.
    before: String,
}

impl HistoryCursor {
    pub(super) fn new(prompts: Vec<String>) -> Self {
        Self { prompts, ..Self::default() }
    }

    pub(super) fn prompts(&self) -> &[String] {
        &self.prompts
    }

    /// Appends a prompt; returns false if it equals the newest one.
    pub(super) fn remember(&mut self, text: &str) -> bool {
        if self.prompts.last().is_some_and(|last| last == text) {
            return false;
        }
        self.prompts.push(text.to_owned());
        true
    }

    /// Adds older prompts at the front, except those already remembered.
    pub(super) fn prepend(&mut self, mut earlier: Vec<String>) {
        while earlier.last().is_some_and(|last| self.prompts.contains(last)) {
            earlier.pop();
        }
        if let Some(shown) = &mut self.shown {
            shown.at += earlier.len();
        }
        self.prompts.splice(..0, earlier);
    }

    /// Ends recalling: the editor's text is no longer a recalled prompt.
    pub(super) fn reset(&mut self) {
        self.shown = None;
    }

    /// Returns true if `text` is the recalled prompt, unedited.
    pub(super) fn is_showing(&self, text: &str) -> bool {
        self.shown.as_ref().and_then(|shown| self.prompts.get(shown.at)).is_some_and(|prompt| prompt == text)
    }

    /// Replaces `now` with the prompt before the recalled one.
    pub(super) fn previous(&mut self, now: &str) -> Option<String> {
        let at = self.shown.as_ref().map_or(self.prompts.len(), |shown| shown.at);
        self.show(at.checked_sub(1)?, now)
    }

    /// Replaces `now` with the prompt after the recalled one; after the newest, returns the draft.
    pub(super) fn next(&mut self, now: &str) -> Option<String> {
        let at = self.shown.as_ref()?.at;
        if at + 1 < self.prompts.len() {
            return self.show(at + 1, now);
        }
        let RecalledEntry { before, .. } = self.shown.take()?;
        self.save_draft(now);
        self.remove_draft(&before);
        Some(before)
    }

    /// Recalls the newest prompt with this text. The current text comes after the newest prompt.
    pub(super) fn find(&mut self, text: &str, now: &str) -> Option<String> {
        let at = self.prompts.iter().rposition(|prompt| prompt == text)?;
        self.show(at, now)
    }

    fn show(&mut self, at: usize, now: &str) -> Option<String> {
        self.save_draft(now);
        let before = self.shown.take().map_or_else(|| now.to_owned(), |shown| shown.before);
        self.shown = Some(RecalledEntry { at, before });
        self.prompts.get(at).cloned()
    }

    /// Updates the position after an undo or redo that replaced `before` with `now`.
    pub(super) fn after_undo(&mut self, before: &str, now: &str) {
        self.remove_draft(now);
        let Some(shown) = &mut self.shown else { return };
        match self.prompts.iter().rposition(|prompt| prompt == now) {
            _ if shown.before == now => self.shown = None,
            Some(at) => {
                shown.at = at;
                self.save_draft(before);
            }
            None => {}
        }
    }

    /// Returns and clears the replaced drafts.
    pub(super) fn take_replaced(&mut self) -> Vec<String> {
        std::mem::take(&mut self.replaced)
    }

    /// Expands placeholders in the replaced drafts, before the placeholders are dropped.
    pub(super) fn expand_replaced(&mut self, expand: impl Fn(&str) -> String) {
        self.replaced.iter_mut().for_each(|text| *text = expand(text));
    }

    fn save_draft(&mut self, typed: &str) {
        let is_known = |texts: &[String]| texts.iter().any(|text| text == typed);
        if !typed.trim().is_empty() && !is_known(&self.prompts) && !is_known(&self.replaced) {
            self.replaced.push(typed.to_owned());
        }
    }

    fn remove_draft(&mut self, text: &str) {
        self.replaced.retain(|replaced| replaced != text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn history_prepended_prompts_come_first() {
        let mut recall = HistoryCursor::default();
        recall.remember("three");
        recall.remember("four");
        assert_eq!(recall.previous("draft").as_deref(), Some("four"));
        recall.prepend(["one", "two", "three"].map(str::to_owned).to_vec());
        assert_eq!(recall.prompts(), ["one", "two", "three", "four"]);
        assert!(recall.is_showing("four"));
        assert_eq!(recall.previous("four").as_deref(), Some("three"));
        assert_eq!(recall.previous("three").as_deref(), Some("two"));
    }
}
