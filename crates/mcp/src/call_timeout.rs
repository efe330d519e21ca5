//! The timeout of a request: it restarts with each activity, and pauses while a question waits for the user.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use crate::running_requests::RequestsState;

/// Waits for the response; `None` after the limit without activity. Time in which the server's question waits for the
/// user doesn't count.
pub(crate) async fn within<T>(
    limit: Duration,
    response: impl Future<Output = T>,
    mut activity: watch::Receiver<u64>,
    mut state: watch::Receiver<RequestsState>,
) -> Option<T> {
    let mut response = std::pin::pin!(response);
    let mut deadline = Instant::now() + limit;
    loop {
        let is_asking = state.borrow_and_update().questions > 0;
        tokio::select! {
            biased;
            response = &mut response => return Some(response),
            // The senders live as long as the connection and the entry of this request.
            _ = activity.changed() => deadline = Instant::now() + limit,
            _ = state.changed() => {
                if is_asking {
                    deadline = Instant::now() + limit;
                }
            }
            () = sleep_until(deadline), if !is_asking => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::sleep;

    use super::*;
    use crate::running_requests::RunningRequests;

    const LIMIT: Duration = Duration::from_secs(10);
    const ALMOST: Duration = Duration::from_secs(9);

    async fn ask_for_an_hour(requests: &RunningRequests) {
        let _waiting = requests.waiting_for_user();
        sleep(Duration::from_secs(3_600)).await;
    }

    #[tokio::test(start_paused = true)]
    async fn within_time_of_the_user_does_not_count() {
        let (requests, (_alive, activity)) = (RunningRequests::default(), watch::channel(0));
        let response = async {
            sleep(ALMOST).await;
            ask_for_an_hour(&requests).await;
            sleep(ALMOST).await;
            "answered"
        };
        assert_eq!(within(LIMIT, response, activity, requests.state.subscribe()).await, Some("answered"));
    }

    #[tokio::test(start_paused = true)]
    async fn within_silence_after_the_answer_counts() {
        let (requests, (_alive, activity)) = (RunningRequests::default(), watch::channel(0));
        let response = async {
            ask_for_an_hour(&requests).await;
            pending::<()>().await;
        };
        let start = Instant::now();
        assert_eq!(within(LIMIT, response, activity, requests.state.subscribe()).await, None);
        assert_eq!(start.elapsed().as_secs(), 3_610);
    }

    #[tokio::test(start_paused = true)]
    async fn within_activity_starts_the_limit_anew() {
        let (requests, (alive, activity)) = (RunningRequests::default(), watch::channel(0));
        let response = async {
            sleep(ALMOST).await;
            alive.send_modify(|signs| *signs += 1);
            pending::<()>().await;
        };
        let start = Instant::now();
        assert_eq!(within(LIMIT, response, activity, requests.state.subscribe()).await, None);
        assert_eq!(start.elapsed().as_secs(), 19);
    }
}
