//! The prompts of earlier times, and which of them is shown.

/// Prompts of earlier times.
#[derive(Debug, Default)]
pub(super) struct HistoryCursor {
    /// Oldest first.
    prompts: Vec<String>,
    shown: Option<RecalledEntry>,
    /// What was typed and gave its place to a prompt, oldest first. None of it is among the prompts.
    replaced: Vec<String>,
}

/// A prompt of earlier times in the editor.
#[derive(Debug)]
struct RecalledEntry {
    at: usize,
    /// What was there before.
    before: String,
}

impl HistoryCursor {
    pub(super) fn new(prompts: Vec<String>) -> Self {
        Self { prompts, ..Self::default() }
    }

    pub(super) fn prompts(&self) -> &[String] {
        &self.prompts
    }

    /// Puts a prompt after the others; false when it is the same as the newest there.
    pub(super) fn remember(&mut self, text: &str) -> bool {
        if self.prompts.last().is_some_and(|last| last == text) {
            return false;
        }
        self.prompts.push(text.to_owned());
        true
    }

    /// Takes prompts from before all those that it has; those that were remembered meanwhile may be among them.
    pub(super) fn know_earlier(&mut self, mut earlier: Vec<String>) {
        while earlier.last().is_some_and(|last| self.prompts.contains(last)) {
            earlier.pop();
        }
        if let Some(shown) = &mut self.shown {
            shown.at += earlier.len();
        }
        self.prompts.splice(..0, earlier);
    }

    /// What is in the editor is no prompt of earlier times any more.
    pub(super) fn leave(&mut self) {
        self.shown = None;
    }

    /// Whether a prompt is shown, and this is it.
    pub(super) fn shows(&self, text: &str) -> bool {
        self.shown.as_ref().and_then(|shown| self.prompts.get(shown.at)).is_some_and(|prompt| prompt == text)
    }

    /// The prompt before the one that is shown, in the place of `now`.
    pub(super) fn earlier(&mut self, now: &str) -> Option<String> {
        let at = self.shown.as_ref().map_or(self.prompts.len(), |shown| shown.at);
        self.show(at.checked_sub(1)?, now)
    }

    /// The prompt after the one that is shown, in the place of `now`; after the newest what was there before.
    pub(super) fn later(&mut self, now: &str) -> Option<String> {
        let at = self.shown.as_ref()?.at;
        if at + 1 < self.prompts.len() {
            return self.show(at + 1, now);
        }
        let RecalledEntry { before, .. } = self.shown.take()?;
        self.keep(now);
        self.is_back(&before);
        Some(before)
    }

    /// The newest prompt that reads so; what is there now comes back below the newest.
    pub(super) fn find(&mut self, text: &str, now: &str) -> Option<String> {
        let at = self.prompts.iter().rposition(|prompt| prompt == text)?;
        self.show(at, now)
    }

    fn show(&mut self, at: usize, now: &str) -> Option<String> {
        self.keep(now);
        let before = self.shown.take().map_or_else(|| now.to_owned(), |shown| shown.before);
        self.shown = Some(RecalledEntry { at, before });
        self.prompts.get(at).cloned()
    }

    /// An edit was taken back, or made again, that put `now` in the place of `before`.
    pub(super) fn taken_back(&mut self, before: &str, now: &str) {
        self.is_back(now);
        let Some(shown) = &mut self.shown else { return };
        match self.prompts.iter().rposition(|prompt| prompt == now) {
            _ if shown.before == now => self.shown = None,
            Some(at) => {
                shown.at = at;
                self.keep(before);
            }
            None => {}
        }
    }

    /// What was typed and gave its place to a prompt, once.
    pub(super) fn take_replaced(&mut self) -> Vec<String> {
        std::mem::take(&mut self.replaced)
    }

    /// Signs in what gave its place stand for nothing from now on: what they stood for takes their place.
    pub(super) fn expand_replaced(&mut self, expand: impl Fn(&str) -> String) {
        self.replaced.iter_mut().for_each(|text| *text = expand(text));
    }

    fn keep(&mut self, typed: &str) {
        let is_known = |texts: &[String]| texts.iter().any(|text| text == typed);
        if !typed.trim().is_empty() && !is_known(&self.prompts) && !is_known(&self.replaced) {
            self.replaced.push(typed.to_owned());
        }
    }

    fn is_back(&mut self, text: &str) {
        self.replaced.retain(|replaced| replaced != text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompts_that_are_read_later_stand_before_those_of_now() {
        let mut recall = HistoryCursor::default();
        recall.remember("three");
        recall.remember("four");
        assert_eq!(recall.earlier("draft").as_deref(), Some("four"));
        recall.know_earlier(["one", "two", "three"].map(str::to_owned).to_vec());
        assert_eq!(recall.prompts(), ["one", "two", "three", "four"]);
        assert!(recall.shows("four"));
        assert_eq!(recall.earlier("four").as_deref(), Some("three"));
        assert_eq!(recall.earlier("three").as_deref(), Some("two"));
    }
}
