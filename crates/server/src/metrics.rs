//! Counters, as Prometheus reads them.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// Counters since the start.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// Responses by the first digit of their status.
    responses: [AtomicU64; 6],
    events: AtomicU64,
    resyncs: AtomicU64,
}

/// Values of this moment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Gauges {
    pub(crate) sessions: usize,
    pub(crate) running: usize,
    pub(crate) watchers: usize,
}

impl Metrics {
    pub(crate) fn count_response(&self, status: u16) {
        if let Some(counter) = self.responses.get(usize::from(status / 100)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn count_event(&self) {
        self.events.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_resync(&self) {
        self.resyncs.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the text format of Prometheus, version 0.0.4.
    pub(crate) fn text(&self, gauges: Gauges) -> String {
        let mut text = String::new();
        let mut metric = |name: &str, kind: &str, help: &str, values: &[(&str, u64)]| {
            let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
            for (labels, value) in values {
                let _ = writeln!(text, "{name}{labels} {value}");
            }
        };
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        metric("tiller_sessions_open", "gauge", "Open sessions.", &[("", gauges.sessions as u64)]);
        metric(
            "tiller_sessions_running",
            "gauge",
            "Open sessions with a run.",
            &[("", gauges.running as u64)],
        );
        metric("tiller_watchers", "gauge", "Open event streams.", &[("", gauges.watchers as u64)]);
        metric("tiller_events_total", "counter", "Session events.", &[("", value(&self.events))]);
        let help = "Streams that lost events and got a snapshot.";
        metric("tiller_stream_resyncs_total", "counter", help, &[("", value(&self.resyncs))]);
        let classes: Vec<(String, u64)> =
            (2..6).map(|class| (format!("{{class=\"{class}xx\"}}"), value(&self.responses[class]))).collect();
        let classes: Vec<(&str, u64)> =
            classes.iter().map(|(labels, count)| (labels.as_str(), *count)).collect();
        metric("tiller_http_responses_total", "counter", "Responses by class of status.", &classes);
        text
    }
}
