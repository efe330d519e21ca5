//! The label of a delivered queued message.

use tiller_core::event::QueueKind;
use tiller_core::unit::UnixMs;
use tiller_session::entry::DeliveryReceipt;

use super::layout::RenderContext;

/// Formats the time and kind of the delivery: `steered 14:03`, `queued 14:01, sent 14:05`.
pub(super) fn label(receipt: &DeliveryReceipt, at: UnixMs, ctx: &RenderContext) -> String {
    let sent = ctx.clock_time(at);
    let queued = receipt.waited.queued_at.map(|queued| ctx.clock_time(queued));
    match (receipt.kind, queued) {
        (QueueKind::FollowUp, Some(queued)) if queued != sent => format!("queued {queued}, sent {sent}"),
        (QueueKind::FollowUp | QueueKind::Steer, _) => format!("{} {sent}", receipt.label()),
    }
}

#[cfg(test)]
mod tests {
    use tiller_session::entry::QueueHistory;

    use super::*;

    #[test]
    fn receipt_follow_up_shows_queue_time_if_different() {
        let ctx = RenderContext::default();
        let receipt = |kind, queued_at| DeliveryReceipt {
            kind,
            waited: QueueHistory { queued_at: Some(UnixMs(queued_at)), ..QueueHistory::default() },
            ..DeliveryReceipt::default()
        };
        let at = UnixMs(3_900_000);
        assert_eq!(label(&receipt(QueueKind::FollowUp, 60_000), at, &ctx), "queued 00:01, sent 01:05");
        assert_eq!(label(&receipt(QueueKind::FollowUp, 3_900_001), at, &ctx), "queued 01:05");
        assert_eq!(label(&receipt(QueueKind::Steer, 60_000), at, &ctx), "steered 01:05");
    }
}
