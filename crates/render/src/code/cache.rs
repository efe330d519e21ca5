//! The highlight cache of a front end, and the queue of code to highlight.
//!
//! Loading grammars takes tens of milliseconds, compiling a language's patterns hundreds, and highlighting a
//! line a quarter of one: too slow for a frame. So a frame uses cached highlighting, leaves other code plain
//! and queues it here, and [`HighlightCache::run_queued`] highlights it on the thread of its caller.
//! Everything in the cache can be computed again.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::backend::{HighlightBackend, HighlightRequest, HighlightResponse, TokenSpans};
use super::language::{Language, LanguageId};
use super::limits::{CacheKey, HighlightedPrefix};
use super::streaming_lines::StreamingLines;

/// Capacity of the cache in bytes of code: enough for many screens.
const MAX_CACHED_BYTES: usize = 1024 * 1024;

/// Capacity of the queue. The oldest requests are dropped; they are queued again when their code is shown
/// again.
const MAX_QUEUED: usize = 64;

#[derive(Debug)]
struct QueuedBlock {
    key: CacheKey,
    request: HighlightRequest,
    bytes: usize,
}

enum HighlightTask {
    Whole(QueuedBlock),
    /// Lines of the streaming block with this number.
    StreamingCode(u64, HighlightRequest),
}

#[derive(Debug, Default)]
pub(super) struct CachedCode {
    entries: HashMap<CacheKey, Arc<Vec<TokenSpans>>>,
    /// Oldest first, with the size of the code in bytes.
    order: VecDeque<(CacheKey, usize)>,
    cached_bytes: usize,
    queue: VecDeque<QueuedBlock>,
    /// Streaming blocks, and ended blocks that aren't completely highlighted.
    streaming: BTreeMap<u64, StreamingLines>,
    /// Number of streaming blocks so far.
    last_number: u64,
    /// Number of changes that may affect earlier layouts.
    version: u64,
    /// True while a task is running.
    is_working: bool,
}

/// Highlighted code, and the queue of code to highlight. Clones share both; a front end needs one cache.
///
/// A layout with [`Highlighting::Background`](crate::Highlighting::Background) uses the cached highlighting
/// and queues other code.
#[derive(Clone, Debug, Default)]
pub struct HighlightCache(Arc<SharedCache>);

#[derive(Debug, Default)]
struct SharedCache {
    cache: Mutex<CachedCode>,
    /// Held while tasks run, so that two threads don't do the same work.
    work: Mutex<()>,
    /// Number of code blocks laid out so far that were awaiting highlighting.
    unhighlighted: AtomicU64,
}

impl PartialEq for HighlightCache {
    /// Compares identities, because two caches differ as soon as one is used.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for HighlightCache {}

impl HighlightCache {
    /// Counts a code block that is laid out before it is highlighted.
    pub(super) fn count_unhighlighted(&self) {
        self.0.unhighlighted.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of such blocks so far.
    pub(super) fn unhighlighted(&self) -> u64 {
        self.0.unhighlighted.load(Ordering::Relaxed)
    }

    /// Returns true if code is queued and no thread is working on it. Call [`run_queued`](Self::run_queued)
    /// to process it.
    #[must_use]
    pub fn has_queued(&self) -> bool {
        self.lock().has_work()
    }

    /// The generation of the cache: a layout made in another generation may be outdated. Streaming code
    /// doesn't count, because [`MarkdownStream::update_lines`](crate::MarkdownStream::update_lines) checks
    /// for it.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.lock().version
    }

    /// Highlights all queued code with `backend`; after each request, `after_each` decides whether to
    /// continue. A request may take half a second, so don't call this where someone waits.
    ///
    /// # Panics
    ///
    /// If a request made the highlighter panic: its code stays plain, and the panic resumes after the other
    /// requests.
    pub fn run_queued(
        &self,
        backend: &mut impl HighlightBackend,
        after_each: impl FnMut() -> ControlFlow<()>,
    ) {
        self.0.run_all(backend, after_each);
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, CachedCode> {
        self.0.lock()
    }

    /// Returns the highlighting of sanitized code; `None` queues it.
    pub(super) fn look_up(&self, language: Language<'_>, code: &str) -> Option<Arc<Vec<TokenSpans>>> {
        self.0.look_up(language, code)
    }
}

impl SharedCache {
    fn lock(&self) -> MutexGuard<'_, CachedCode> {
        // After a panic, at worst a request is unprocessed.
        self.cache.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_up(&self, language: Language<'_>, code: &str) -> Option<Arc<Vec<TokenSpans>>> {
        let extent = HighlightedPrefix::of_code(&LanguageId::new(language), code);
        let key = extent.key();
        let mut cache = self.lock();
        let tokens = cache.entries.get(&key).map(Arc::clone);
        if tokens.is_none() && !cache.is_queued(key) {
            cache.enqueue(QueuedBlock {
                key,
                request: HighlightRequest::complete(language, code),
                bytes: extent.bytes(),
            });
        }
        tokens
    }

    /// Processes the queue. A panic affects only its own request, and resumes after the others.
    fn run_all(&self, backend: &mut impl HighlightBackend, mut after_each: impl FnMut() -> ControlFlow<()>) {
        let _work = self.work.lock().unwrap_or_else(PoisonError::into_inner);
        let mut panic_payload = None;
        loop {
            // The lock is released during the work, because frames read the cache.
            let next = self.lock().next_task();
            let Some(task) = next else { break };
            // A panic leaves no visible partial state: the response belongs to this request alone.
            let response = catch_unwind(AssertUnwindSafe(|| backend.highlight(task.request())));
            let response = response.unwrap_or_else(|panic| {
                panic_payload = Some(panic);
                HighlightResponse::Failed
            });
            self.lock().store_response(task, response);
            if after_each().is_break() {
                self.lock().is_working = false;
                break;
            }
        }
        if let Some(panic) = panic_payload {
            resume_unwind(panic);
        }
    }
}

impl HighlightTask {
    fn request(&self) -> &HighlightRequest {
        match self {
            Self::Whole(queue) => &queue.request,
            Self::StreamingCode(_, request) => request,
        }
    }
}

impl CachedCode {
    /// Returns true if code is queued and no thread is working on it.
    fn has_work(&self) -> bool {
        !self.is_working && (!self.queue.is_empty() || self.streaming.values().any(StreamingLines::has_work))
    }

    /// Returns the next task. Streaming blocks come first, because they are visible.
    fn next_task(&mut self) -> Option<HighlightTask> {
        let streaming = self.streaming.iter().find(|(_, lines)| lines.has_work());
        let task =
            streaming.map(|(&number, lines)| HighlightTask::StreamingCode(number, lines.request(number)));
        let task = task.or_else(|| self.queue.pop_front().map(HighlightTask::Whole));
        self.is_working = task.is_some();
        task
    }

    fn store_response(&mut self, task: HighlightTask, response: HighlightResponse) {
        match (task, response) {
            (HighlightTask::Whole(QueuedBlock { key, bytes, .. }), response) => {
                // Code without token spans is plain, and isn't queued again.
                let tokens =
                    if let HighlightResponse::Tokens(tokens) = response { tokens } else { Vec::new() };
                self.insert(key, tokens, bytes);
                self.version += 1;
            }
            (HighlightTask::StreamingCode(number, _), response) => {
                let Some(lines) = self.streaming.get_mut(&number) else { return };
                lines.store_response(response);
                if lines.has_ended() && !lines.has_work() {
                    let (key, tokens, bytes) = lines.cache_entry();
                    self.insert(key, tokens, bytes);
                    self.version += 1;
                }
                self.remove_if_done(number);
            }
        }
    }

    /// Adds a streaming block; returns its number.
    pub(super) fn add_streaming(&mut self, lines: StreamingLines) -> u64 {
        self.last_number += 1;
        self.streaming.insert(self.last_number, lines);
        self.last_number
    }

    pub(super) fn streaming(&mut self, number: u64) -> Option<&mut StreamingLines> {
        self.streaming.get_mut(&number)
    }

    /// Completes a streaming block: from now on it can be looked up as complete code, though its last lines
    /// may be highlighted later.
    pub(super) fn end_streaming(&mut self, number: u64) {
        let Some(lines) = self.streaming.get_mut(&number) else { return };
        if lines.end() {
            let (key, tokens, bytes) = lines.cache_entry();
            self.insert(key, tokens, bytes);
        }
    }

    /// Marks a block as no longer in use.
    pub(super) fn release(&mut self, number: u64) {
        if let Some(lines) = self.streaming.get_mut(&number) {
            lines.release();
        }
        self.remove_if_done(number);
    }

    fn remove_if_done(&mut self, number: u64) {
        if self.streaming.get(&number).is_some_and(StreamingLines::is_done) {
            self.streaming.remove(&number);
        }
    }

    fn is_queued(&self, key: CacheKey) -> bool {
        self.queue.iter().any(|other| other.key == key)
    }

    fn enqueue(&mut self, queue: QueuedBlock) {
        if self.queue.len() == MAX_QUEUED {
            self.queue.pop_front();
        }
        self.queue.push_back(queue);
    }

    fn insert(&mut self, key: CacheKey, tokens: Vec<TokenSpans>, bytes: usize) {
        if self.entries.insert(key, Arc::new(tokens)).is_none() {
            self.order.push_back((key, bytes));
            self.cached_bytes += bytes;
        }
        while self.cached_bytes > MAX_CACHED_BYTES
            && let Some((oldest, bytes)) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
            self.cached_bytes -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::backend::{InProcess, spans};
    use super::super::streaming::StreamingCode;
    use super::*;
    use crate::Role;

    /// Panics on code that contains `bad`.
    struct PanicsOnBad(InProcess);

    impl HighlightBackend for PanicsOnBad {
        fn highlight(&mut self, request: &HighlightRequest) -> HighlightResponse {
            assert!(!request.lines.iter().any(|line| line.contains("bad")), "a fault of the highlighter's");
            self.0.highlight(request)
        }
    }

    fn queue(at: u64, language: &str, code: &str) -> QueuedBlock {
        let language = LanguageId::Named(language.into());
        let lines = code.lines().map(str::to_owned).collect();
        QueuedBlock {
            key: CacheKey(at),
            request: HighlightRequest { language, stream: None, lines },
            bytes: code.len(),
        }
    }

    fn continue_work() -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Adds a line to the first streaming block, and returns its highlighting.
    fn add_line(cache: &SharedCache, at: usize, line: &str) -> Option<TokenSpans> {
        let mut cache = cache.lock();
        let lines = cache.streaming(1).expect("there");
        lines.add_line(at, line);
        lines.tokens(at)
    }

    fn run_all(cache: &SharedCache) {
        cache.run_all(&mut InProcess::default(), continue_work);
    }

    #[test]
    fn cache_code_is_plain_until_highlighted() {
        let cache = SharedCache::default();
        let (language, code) = (Language::Named("rust"), "let cache = 1;\n// comment");
        assert!(cache.look_up(language, code).is_none() && cache.lock().has_work());
        let mut count = 0;
        cache.run_all(&mut InProcess::default(), || {
            count += 1;
            ControlFlow::Continue(())
        });
        assert_eq!((count, cache.lock().version), (1, 1));
        let tokens = cache.look_up(language, code).expect("highlighted");
        assert_eq!(tokens[0][0], (3, Role::Keyword));
        assert_eq!(spans("// comment", &tokens[1])[0].style.role, Role::Comment);
        assert!(!cache.lock().has_work() && cache.look_up(Language::Named("c"), code).is_none());
    }

    #[test]
    fn cache_panic_affects_only_its_own_request() {
        let cache = SharedCache::default();
        cache.lock().enqueue(queue(0, "c", "int bad = 7;"));
        cache.lock().enqueue(queue(1, "rust", "let good = 7;"));
        let run = || cache.run_all(&mut PanicsOnBad(InProcess::default()), continue_work);
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err(), "the panic is reported");
        let cache = cache.lock();
        assert!(!cache.is_working && cache.queue.is_empty(), "the next run starts afresh");
        assert!(cache.entries[&CacheKey(0)].is_empty(), "plain, and not requested again");
        assert_eq!(cache.entries[&CacheKey(1)][0][0], (3, Role::Keyword));
    }

    #[test]
    fn cache_streaming_lines_become_a_cached_block() {
        let cache = SharedCache::default();
        cache.lock().add_streaming(StreamingLines::new(LanguageId::Named("rust".into())));
        let line = |at, text| add_line(&cache, at, text);
        assert_eq!(line(0, "/* it arrives"), None);
        assert!(cache.lock().has_work());
        run_all(&cache);
        // Looked up again, for another layout.
        assert_eq!(line(0, "/* it arrives").expect("highlighted")[0].1, Role::Comment);
        assert_eq!(line(1, "bit by bit */"), None);
        cache.lock().end_streaming(1);
        let (language, code) = (Language::Named("rust"), "/* it arrives\nbit by bit */\n");
        assert_eq!(cache.look_up(language, code).expect("the first line's words").len(), 1);
        assert_eq!(cache.lock().version, 0);
        run_all(&cache);
        assert_eq!(cache.lock().version, 1, "it was laid out with a plain line");
        assert_eq!(cache.look_up(language, code).expect("highlighted")[1][0].1, Role::Comment);
        assert_eq!(line(1, "").expect("still to be had")[0].1, Role::Comment);
        cache.lock().release(1);
        assert!(cache.lock().streaming.is_empty());
    }

    #[test]
    fn cache_dropped_block_is_highlighted_and_removed() {
        let cache = HighlightCache::default();
        let streaming = StreamingCode::start(&cache, Language::Named("rust"));
        streaming.add_line(0, "let nobody_watches = 1;");
        drop(streaming);
        cache.run_queued(&mut InProcess::default(), continue_work);
        let tokens = cache.look_up(Language::Named("rust"), "let nobody_watches = 1;").expect("highlighted");
        assert_eq!(tokens[0][0].1, Role::Keyword);
        assert!(cache.lock().streaming.is_empty());
    }

    #[test]
    fn cache_lost_block_restarts_and_failed_one_is_plain() {
        let cache = SharedCache::default();
        cache.lock().add_streaming(StreamingLines::new(LanguageId::Named("rust".into())));
        let line = |at, text| add_line(&cache, at, text);
        line(0, "/* one");
        run_all(&cache);
        line(1, "two */");
        // A new backend has lost the state.
        run_all(&cache);
        assert_eq!(line(1, "").expect("highlighted")[0].1, Role::Comment);

        struct Failing(AtomicUsize);
        impl HighlightBackend for Failing {
            fn highlight(&mut self, _: &HighlightRequest) -> HighlightResponse {
                self.0.fetch_add(1, Ordering::Relaxed);
                HighlightResponse::Failed
            }
        }
        line(2, "let");
        let mut failing = Failing(AtomicUsize::new(0));
        cache.run_all(&mut failing, continue_work);
        assert_eq!(line(2, ""), Some(TokenSpans::new()));
        assert_eq!(line(3, "let"), Some(TokenSpans::new()), "nor is it tried again");
        cache.run_all(&mut failing, continue_work);
        assert_eq!(failing.0.into_inner(), 1);
        assert_eq!(line(1, "").expect("still cached")[0].1, Role::Comment);
    }

    #[test]
    fn cache_and_queue_are_bounded() {
        let mut cache = CachedCode::default();
        for at in 0..100 {
            cache.insert(CacheKey(at), vec![vec![(1, Role::Text)]], MAX_CACHED_BYTES / 10);
            cache.enqueue(queue(at, "", ""));
        }
        assert_eq!((cache.entries.len(), cache.order.len(), cache.queue.len()), (10, 10, MAX_QUEUED));
        assert!(cache.entries.contains_key(&CacheKey(99)));
    }
}
