//! The task that reads resources anew: when files change, once it is quiet, and when somebody asks.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::{ResourcePaths, Resources, WatchMode};
use crate::watch::FileWatcher;

/// How long a change waits for others: an editor saves, a checkout writes many files.
const QUIET: Duration = Duration::from_millis(200);

/// Orders that may wait; nobody gives more of them at once than a few.
const ORDERS: usize = 8;

/// What the task is told.
pub(crate) enum ReloadRequest {
    /// Read everything now.
    Reload,
    /// Look in other places from now on.
    Change(Box<dyn FnOnce(&mut ResourcePaths) + Send>),
}

/// What the task read.
pub(crate) struct Read {
    pub(crate) resources: Arc<Resources>,
    /// Whether somebody waits for it.
    pub(crate) ordered: bool,
    /// Why changes aren't noticed, told once.
    pub(crate) trouble: Option<String>,
}

/// The task's own possessions.
pub(crate) struct ResourceReloader {
    current: Arc<Resources>,
    orders: mpsc::Receiver<ReloadRequest>,
    /// Told of changes by the watch; one that waits stands for any number.
    changes: mpsc::Receiver<()>,
    changed: mpsc::Sender<()>,
    watch: Option<FileWatcher>,
    /// What isn't noticed, as it was told last.
    told: Option<String>,
}

impl ResourceReloader {
    /// A keeper of what was read last, and where to give it orders.
    pub(crate) fn new(current: Arc<Resources>) -> (Self, mpsc::Sender<ReloadRequest>) {
        let (sender, orders) = mpsc::channel(ORDERS);
        let (changed, changes) = mpsc::channel(1);
        (Self { current, orders, changes, changed, watch: None, told: None }, sender)
    }

    /// Works until the orders end or nobody reads the reports.
    pub(crate) async fn keep<F: Future<Output = bool>>(mut self, report: impl Fn(Read) -> F) {
        let mut next = (self.current.sources.watching == WatchMode::On).then_some(Next::Watch);
        loop {
            let (order, ordered) = match next.take() {
                Some(Next::Watch) => (None, false),
                Some(Next::Order(order)) => (Some(order), true),
                None => match self.wait().await {
                    Some(Next::Order(order)) => (Some(order), true),
                    Some(Next::Watch) => (None, false),
                    None => return,
                },
            };
            let Some((keeper, trouble)) = self.read(order).await else { return };
            self = keeper;
            let resources = Arc::clone(&self.current);
            if !report(Read { resources, ordered, trouble }).await {
                return;
            }
        }
    }

    /// Waits for an order, or for changes and quiet after them.
    async fn wait(&mut self) -> Option<Next> {
        tokio::select! {
            biased;
            order = self.orders.recv() => Some(Next::Order(order?)),
            // `changed` is never dropped, so this doesn't end.
            Some(()) = self.changes.recv() => {
                sleep(QUIET).await;
                // What came meanwhile is read now.
                while self.changes.try_recv().is_ok() {}
                Some(Next::Watch)
            }
        }
    }

    /// Reads everything where that may take its time; `None` when the runtime ends.
    async fn read(mut self, order: Option<ReloadRequest>) -> Option<(Self, Option<String>)> {
        let read = move || {
            if let Some(ReloadRequest::Change(change)) = order {
                self.change(change);
            }
            let begun = self.begin_watch();
            let trouble = self.reload().or(begun);
            let is_known = trouble == self.told;
            self.told.clone_from(&trouble);
            (self, trouble.filter(|_| !is_known))
        };
        spawn_blocking(read).await.ok()
    }

    fn change(&mut self, change: impl FnOnce(&mut ResourcePaths)) {
        let mut resources = (*self.current).clone();
        change(Arc::make_mut(&mut resources.sources));
        self.current = Arc::new(resources);
    }

    /// Reads everything, and watches what was read. Answers with what can't be watched.
    fn reload(&mut self) -> Option<String> {
        let mut resources = self.current.reloaded();
        let mut trouble = Vec::new();
        if let Some(watch) = self.watch.as_mut() {
            trouble = watch.follow(&resources.watched);
            if resources.watched != self.current.watched {
                // What is watched only now may have changed since it was read.
                resources = resources.reloaded();
            }
        }
        self.current = Arc::new(resources);
        trouble.first().map(ToString::to_string)
    }

    /// Watches if it should and doesn't yet. Answers with why it can't, after which nothing is watched.
    fn begin_watch(&mut self) -> Option<String> {
        match self.current.sources.watching {
            WatchMode::Off => self.watch = None,
            WatchMode::On if self.watch.is_some() => {}
            WatchMode::On => {
                let changed = self.changed.clone();
                // A full channel holds a change that hasn't been looked at.
                match FileWatcher::start(move || _ = changed.try_send(())) {
                    Ok(mut watch) => {
                        watch.follow(&self.current.watched);
                        self.watch = Some(watch);
                    }
                    Err(error) => {
                        self.change(|sources| sources.watching = WatchMode::Off);
                        return Some(format!(
                            "{error}; ask for skills, templates and context files to be read anew"
                        ));
                    }
                }
            }
        }
        None
    }
}

/// Why everything is read now.
enum Next {
    /// The watch begins, or told of changes.
    Watch,
    Order(ReloadRequest),
}
