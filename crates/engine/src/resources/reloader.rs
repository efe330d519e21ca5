//! The task that reloads resources, on request or after file changes followed by a quiet period.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::{ResourcePaths, Resources, WatchMode};
use crate::watch::FileWatcher;

/// Delay after a change, to collect further ones: an editor saves, a checkout writes many files.
const QUIET_PERIOD: Duration = Duration::from_millis(200);

/// Capacity of the request channel; callers send only a few at a time.
const REQUEST_CAPACITY: usize = 8;

/// A request to the task.
pub(crate) enum ReloadRequest {
    /// Reload now.
    Reload,
    /// Change the search paths.
    Change(Box<dyn FnOnce(&mut ResourcePaths) + Send>),
}

pub(crate) struct ReloadResult {
    pub(crate) resources: Arc<Resources>,
    /// True if a caller is waiting for the result.
    pub(crate) requested: bool,
    /// The reason changes can't be watched, reported once.
    pub(crate) watch_error: Option<String>,
}

/// State of the reload task.
pub(crate) struct ResourceReloader {
    current: Arc<Resources>,
    requests: mpsc::Receiver<ReloadRequest>,
    /// Signals from the watcher; one pending signal represents any number of changes.
    changes: mpsc::Receiver<()>,
    changed: mpsc::Sender<()>,
    watch: Option<FileWatcher>,
    /// The last reported problem of the watcher.
    reported_error: Option<String>,
}

impl ResourceReloader {
    /// Creates a reloader and its request channel.
    pub(crate) fn new(current: Arc<Resources>) -> (Self, mpsc::Sender<ReloadRequest>) {
        let (sender, requests) = mpsc::channel(REQUEST_CAPACITY);
        let (changed, changes) = mpsc::channel(1);
        (Self { current, requests, changes, changed, watch: None, reported_error: None }, sender)
    }

    /// Runs until the request channel is closed or a report fails.
    pub(crate) async fn run<F: Future<Output = bool>>(mut self, report: impl Fn(ReloadResult) -> F) {
        let mut next = (self.current.sources.watch == WatchMode::On).then_some(ReloadCause::Watch);
        loop {
            let (request, requested) = match next.take() {
                Some(ReloadCause::Watch) => (None, false),
                Some(ReloadCause::Request(request)) => (Some(request), true),
                None => match self.wait().await {
                    Some(ReloadCause::Request(request)) => (Some(request), true),
                    Some(ReloadCause::Watch) => (None, false),
                    None => return,
                },
            };
            let Some((reloader, error)) = self.read(request).await else { return };
            self = reloader;
            let resources = Arc::clone(&self.current);
            if !report(ReloadResult { resources, requested, watch_error: error }).await {
                return;
            }
        }
    }

    /// Waits for a request, or for changes followed by a quiet period.
    async fn wait(&mut self) -> Option<ReloadCause> {
        tokio::select! {
            biased;
            request = self.requests.recv() => Some(ReloadCause::Request(request?)),
            // `changed` is never dropped, so this doesn't end.
            Some(()) = self.changes.recv() => {
                sleep(QUIET_PERIOD).await;
                // Signals that have arrived in the meantime are covered by this reload.
                while self.changes.try_recv().is_ok() {}
                Some(ReloadCause::Watch)
            }
        }
    }

    /// Reloads on a blocking thread; `None` if the runtime is shutting down.
    async fn read(mut self, request: Option<ReloadRequest>) -> Option<(Self, Option<String>)> {
        let read = move || {
            if let Some(ReloadRequest::Change(change)) = request {
                self.change(change);
            }
            let start_error = self.start_watch();
            let error = self.reload().or(start_error);
            let is_known = error == self.reported_error;
            self.reported_error.clone_from(&error);
            (self, error.filter(|_| !is_known))
        };
        spawn_blocking(read).await.ok()
    }

    fn change(&mut self, change: impl FnOnce(&mut ResourcePaths)) {
        let mut resources = (*self.current).clone();
        change(Arc::make_mut(&mut resources.sources));
        self.current = Arc::new(resources);
    }

    /// Reloads, and watches the loaded paths. Returns the watcher's error.
    fn reload(&mut self) -> Option<String> {
        let mut resources = self.current.reloaded();
        let mut error = Vec::new();
        if let Some(watch) = self.watch.as_mut() {
            error = watch.follow(&resources.watched);
            if resources.watched != self.current.watched {
                // Newly watched paths may have changed since they were read.
                resources = resources.reloaded();
            }
        }
        self.current = Arc::new(resources);
        error.first().map(ToString::to_string)
    }

    /// Starts the watcher if it is enabled and not running. Returns the error if it can't be started; then
    /// nothing is watched.
    fn start_watch(&mut self) -> Option<String> {
        match self.current.sources.watch {
            WatchMode::Off => self.watch = None,
            WatchMode::On if self.watch.is_some() => {}
            WatchMode::On => {
                let changed = self.changed.clone();
                // A full channel already holds an unprocessed change.
                match FileWatcher::start(move || _ = changed.try_send(())) {
                    Ok(mut watch) => {
                        watch.follow(&self.current.watched);
                        self.watch = Some(watch);
                    }
                    Err(error) => {
                        self.change(|sources| sources.watch = WatchMode::Off);
                        return Some(format!(
                            "{error}; reload skills, templates and context files after changes"
                        ));
                    }
                }
            }
        }
        None
    }
}

enum ReloadCause {
    /// The watcher was started, or has reported a change.
    Watch,
    Request(ReloadRequest),
}
